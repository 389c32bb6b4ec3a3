/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of element types, and the element count of a shape.
 */
#ifndef SCANT_DATA_DTYPE_H
#define SCANT_DATA_DTYPE_H

#include "data/array.h"

size_t scant__dtype_size(scant_dtype dtype);      /* bytes; 0: not a dtype */
const char *scant__dtype_code(scant_dtype dtype); /* NumPy's code: "f4" */
/* The dtype of NumPy's kind letter and size; 0 if there is none. */
scant_dtype scant__dtype_find(char kind, size_t size);
bool scant__little_endian(void); /* this machine's byte order */

/* Product of the dimensions; false if that many elements of item bytes cannot be
 * addressed. As in NumPy, zero dimensions are left out of the check, so the product of
 * any subset of the dimensions does not overflow either. */
bool scant__shape_count(size_t ndim, const size_t *shape, size_t item, size_t *count);

#endif
