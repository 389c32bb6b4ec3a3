/* SPDX-License-Identifier: Apache-2.0
 *
 * IDX, the format of MNIST: two zero bytes, the type, the number of dimensions, each
 * dimension as four bytes big-endian, then the elements, big-endian too.
 */
#ifndef SCANT_DATA_IDX_H
#define SCANT_DATA_IDX_H

#include "data/array.h"

/* Whether the bytes start like IDX. */
bool scant__idx_magic(const unsigned char *bytes, size_t size);

/* Opens a file, plain (then it is mapped), gzip or xz. Its size must match the header
 * exactly; never unpacks more. Otherwise like scant_array_open(). */
scant_status scant__idx_open(scant_ctx *ctx, const char *path, scant_array **out);

#endif
