/* SPDX-License-Identifier: Apache-2.0
 *
 * A network's class names and their encoding in a weights file: separated by commas, with
 * commas, percent signs and bytes other than printable ASCII written as % and two
 * hexadecimal digits. Any file name survives the round trip.
 */
#ifndef SCANT_NN_CLASS_NAMES_H
#define SCANT_NN_CLASS_NAMES_H

#include "data/names.h"
#include "nn/network.h"
#include "scant/train.h"

/* Allocated in arena; *out is NULL if there are none or more than a megabyte of them. */
scant_status nn_class_names_text(const scant_net *net, scant__arena *arena,
                                 const char **out);
/* On SCANT_OK *out is new; free it with scant__names_end(). Fails unless text is n names;
 * path starts messages. */
scant_status nn_class_names_read(scant_ctx *ctx, const char *path, const char *text,
                                 size_t n, scant__names *out);
/* Takes the data's class names if there is one per class of the network. */
scant_status nn_class_names_take(scant_net *net, const scant_data *data);

#endif
