/* SPDX-License-Identifier: Apache-2.0
 *
 * Architectures by name.
 */
#ifndef SCANT_NN_MODELS_H
#define SCANT_NN_MODELS_H

#include "nn/net.h"
#include "scant/train.h"

/* Builds the model called name for the given shape and options. On SCANT_OK *out is new,
 * freed by nn_net_destroy(); else NULL, and the error text says what the model cannot
 * take. */
scant_status nn_model_build(scant_ctx *ctx, const char *name, const scant_net_opts *opts,
                            nn_net **out);

#endif
