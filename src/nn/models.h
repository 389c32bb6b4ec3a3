/* SPDX-License-Identifier: Apache-2.0
 *
 * The architectures by name.
 */
#ifndef SCANT_NN_MODELS_H
#define SCANT_NN_MODELS_H

#include "nn/net.h"
#include "scant/train.h"

/* Writes down the model called name for the shape and options given. On SCANT_OK *out is
 * new: nn_net_destroy() ends it; else NULL, and the text says what the model cannot take.
 */
scant_status nn_model_build(scant_ctx *ctx, const char *name, const scant_net_opts *opts,
                            nn_net **out);

#endif
