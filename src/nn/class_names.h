/* SPDX-License-Identifier: Apache-2.0
 *
 * What a network's classes are called, and how a file of weights has it: names with
 * commas between, where a comma, a percent sign and all that is not printable ASCII is %
 * and two hexadecimal digits, a byte each. So any bytes that a folder may be called come
 * back as they were.
 */
#ifndef SCANT_NN_CLASS_NAMES_H
#define SCANT_NN_CLASS_NAMES_H

#include "data/names.h"
#include "nn/network.h"
#include "scant/train.h"

/* In arena; *out NULL: there are none, or more than a megabyte of them. */
scant_status nn_class_names_text(const scant_net *net, scant__arena *arena,
                                 const char **out);
/* On SCANT_OK *out is new: scant__names_end() ends it. Fails where text is not n names;
 * path is what messages call the file. */
scant_status nn_class_names_read(scant_ctx *ctx, const char *path, const char *text,
                                 size_t n, scant__names *out);
/* Those of the data, where they are as many as the network's classes. */
scant_status nn_class_names_take(scant_net *net, const scant_data *data);

#endif
