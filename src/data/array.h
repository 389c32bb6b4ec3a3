/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays as the library's own files see them: raw bytes with a type, read by blocks.
 */
#ifndef SCANT_DATA_ARRAY_H
#define SCANT_DATA_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/ctx.h"

struct scant_array {
    scant_ctx *ctx;
    char *name; /* what messages call it: the path as the user gave it, or wrap's name */
    const unsigned char *data;
    scant_dtype dtype;
    bool swapped; /* stored in the other byte order */
    size_t item;  /* bytes an element */
    size_t ndim;
    size_t shape[SCANT_MAX_DIMS];
    size_t count; /* elements: product of shape; count * item does not overflow */
    /* what close gives back: */
    void *map;
    size_t map_size;
    void *owned; /* inflated bytes, from scant__alloc */
};

/* A handle that holds nothing but its name; NULL with the error text set. For readers of
 * other formats than .npy, which fill in the rest. */
scant_array *scant__array_create(scant_ctx *ctx, const char *name);

const char *scant__dtype_name(scant_dtype dtype); /* "float32" */
bool scant__dtype_is_float(scant_dtype dtype);
bool scant__dtype_is_integer(scant_dtype dtype);

/* True where data may be used as it stands as elements of dtype: native byte order and
 * aligned. */
bool scant__array_is_direct(const scant_array *array, scant_dtype dtype);

/* Elements first..first+count-1 in C order, converted (exactly for every type that out
 * can hold: f2, f4, u1 in float; those and f8 in double). The range must lie inside. */
void scant__array_read_f32(const scant_array *array, size_t first, size_t count,
                           float *out);
void scant__array_read_f64(const scant_array *array, size_t first, size_t count,
                           double *out);
/* Integers. A uint64 above INT64_MAX comes out as INT64_MAX. Only for integer dtypes. */
void scant__array_read_i64(const scant_array *array, size_t first, size_t count,
                           int64_t *out);

#endif
