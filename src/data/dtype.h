/* SPDX-License-Identifier: Apache-2.0
 *
 * The types of elements, one table; and how many elements a shape has.
 */
#ifndef SCANT_DATA_DTYPE_H
#define SCANT_DATA_DTYPE_H

#include "data/array.h"

size_t scant__dtype_size(scant_dtype dtype);      /* bytes; 0: no dtype */
const char *scant__dtype_code(scant_dtype dtype); /* as NumPy writes it: "f4" */
/* The dtype of NumPy's kind letter and size; 0 where there is none. */
scant_dtype scant__dtype_find(char kind, size_t size);
bool scant__little_endian(void); /* this machine's byte order */

/* Product of the dimensions; false where so many elements of item bytes cannot be
 * addressed. Zeros are left out of that check, as NumPy does: the product of any of the
 * dimensions does not overflow either. */
bool scant__shape_count(size_t ndim, const size_t *shape, size_t item, size_t *count);

#endif
