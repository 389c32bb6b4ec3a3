/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays inside the library: typed raw bytes, read in blocks.
 */
#ifndef SCANT_DATA_ARRAY_H
#define SCANT_DATA_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/mem.h"
#include "data/source.h"

struct scant_array {
    scant_ctx *ctx;
    char *name; /* for messages: the user's path, or the name passed to wrap */
    const unsigned char *data;
    scant_dtype dtype;
    bool swapped; /* stored in the non-native byte order */
    size_t item;  /* bytes per element */
    size_t ndim;
    size_t shape[SCANT_MAX_DIMS];
    size_t count;         /* product of shape; count * item does not overflow */
    scant__source source; /* owns data; empty if the caller does */
};

DEFINE_AUTO(scant_array, scant_array)
DEFINE_AUTO(scant_writer, scant_writer)
DEFINE_AUTO(scant_ids, scant_ids)

/* Creates a handle with only its name set; the caller sets the rest. On failure returns
 * NULL and sets the message. */
scant_array *scant__array_create(scant_ctx *ctx, const char *name);
/* Sets dtype, item, ndim, shape and count; SCANT_EUSAGE if they are invalid. */
scant_status scant__array_set_shape(scant_ctx *ctx, scant_array *array, scant_dtype dtype,
                                    size_t ndim, const size_t *shape);

/* ---- element types ---- */

const char *scant__dtype_name(scant_dtype dtype); /* "float32" */
bool scant__dtype_is_integer(scant_dtype dtype);
size_t scant__dtype_size(scant_dtype dtype);      /* bytes; 0: not a dtype */
const char *scant__dtype_code(scant_dtype dtype); /* NumPy's code: "f4" */
/* Finds the dtype of NumPy's kind letter and size; 0: there is none. */
scant_dtype scant__dtype_find(char kind, size_t size);
enum { SCANT__LITTLE_ENDIAN = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ };

/* Sets *count to the product of the dimensions. Returns false if elements of `item` bytes
 * in this shape cannot be addressed. As in NumPy, the check ignores zero dimensions, so
 * the product of any subset of the dimensions does not overflow either. */
bool scant__shape_count(size_t ndim, const size_t *shape, size_t item, size_t *count);

/* ---- reading ---- */

/* Whether data can be used as elements of dtype without conversion: same dtype, native
 * byte order, aligned. */
bool scant__array_is_direct(const scant_array *array, scant_dtype dtype);

/* Read elements first..first+count-1, which must exist, in C order. The conversion is
 * exact if the type of out can hold every value of the dtype: float can hold f2, f4 and
 * integers of up to 16 bits, double also f8 and integers of 32 bits. */
void scant__array_read_f32(const scant_array *array, size_t first, size_t count,
                           float *out);
void scant__array_read_f64(const scant_array *array, size_t first, size_t count,
                           double *out);
/* Integer dtypes only. A uint64 above INT64_MAX becomes INT64_MAX. */
void scant__array_read_i64(const scant_array *array, size_t first, size_t count,
                           int64_t *out);

#endif
