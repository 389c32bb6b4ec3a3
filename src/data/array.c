/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays opened from a file, wrapped around the caller's memory, or encoded as .npy.
 * The struct and its name are one block.
 */
#include "data/array.h"

#include <math.h>
#include <string.h>

#include "core/mem.h"
#include "data/npy.h"

scant_array *scant__array_create(scant_ctx *ctx, const char *name) {
    size_t length = strlen(name) + 1;
    scant_array *array = scant__alloc(ctx, sizeof *array + length, 1);
    if (!array) return NULL;
    *array = (scant_array){.ctx = ctx, .name = (char *)(array + 1)};
    memcpy(array->name, name, length);
    return array;
}

scant_status scant_array_open(scant_ctx *ctx, const char *spec, scant_array **out) {
    scant__source source = {0};
    scant__npy header;
    scant_array *array = NULL;
    *out = NULL;
    scant_status status = scant__source_open(ctx, spec, &source);
    if (status != SCANT_OK) return status;
    status = scant__npy_parse(ctx, spec, source.bytes, source.size, SCANT__NPY_NUMBERS,
                              &header);
    if (status == SCANT_OK && !(array = scant__array_create(ctx, spec)))
        status = SCANT_ENOMEM;
    if (status != SCANT_OK) {
        scant__source_close(ctx, &source);
        return status;
    }
    array->data = source.bytes + header.offset;
    array->dtype = scant__dtype_find(header.kind, header.item);
    array->swapped = header.swapped;
    array->item = header.item;
    array->ndim = header.ndim;
    memcpy(array->shape, header.shape, sizeof array->shape);
    array->count = header.count;
    array->source = source;
    *out = array;
    return SCANT_OK;
}

scant_status scant__array_set_shape(scant_ctx *ctx, scant_array *array, scant_dtype dtype,
                                    size_t ndim, const size_t *shape) {
    array->dtype = dtype;
    array->item = scant__dtype_size(dtype);
    array->ndim = ndim;
    if (!array->item)
        return scant__fail(ctx, SCANT_EUSAGE, "%s: %d is not a dtype", array->name,
                           (int)dtype);
    if (ndim > SCANT_MAX_DIMS)
        return scant__fail(ctx, SCANT_EUSAGE,
                           "%s: has %zu dimensions, at most %d are supported",
                           array->name, ndim, SCANT_MAX_DIMS);
    for (size_t i = 0; i < ndim; i++) array->shape[i] = shape[i];
    if (!scant__shape_count(ndim, shape, array->item, &array->count))
        return scant__fail(ctx, SCANT_EUSAGE, "%s: its shape is too large to address",
                           array->name);
    return SCANT_OK;
}

scant_status scant_array_wrap(scant_ctx *ctx, const char *name, const void *data,
                              scant_dtype dtype, size_t ndim, const size_t *shape,
                              scant_array **out) {
    *out = NULL;
    scant_array *array = scant__array_create(ctx, name);
    if (!array) return SCANT_ENOMEM;
    array->data = data;
    scant_status status = scant__array_set_shape(ctx, array, dtype, ndim, shape);
    if (status == SCANT_OK && array->count && !data)
        status = scant__fail(ctx, SCANT_EUSAGE, "%s: data is NULL, expected %zu elements",
                             name, array->count);
    if (status == SCANT_OK)
        *out = array;
    else
        scant_array_free(array);
    return status;
}

void scant_array_free(scant_array *array) {
    if (!array) return;
    scant__source_close(array->ctx, &array->source);
    scant__free(array->ctx, array);
}

const char *scant_array_name(const scant_array *array) { return array->name; }
scant_dtype scant_array_dtype(const scant_array *array) { return array->dtype; }
size_t scant_array_ndim(const scant_array *array) { return array->ndim; }
const size_t *scant_array_shape(const scant_array *array) { return array->shape; }

static scant_status check_range(scant_ctx *ctx, const scant_array *array, size_t first,
                                size_t count) {
    if (first <= array->count && count <= array->count - first) return SCANT_OK;
    return scant__fail(ctx, SCANT_EUSAGE,
                       "%s: has %zu elements; cannot read %zu from element %zu",
                       array->name, array->count, count, first);
}

scant_status scant_array_floats(scant_ctx *ctx, const scant_array *array, size_t first,
                                size_t count, float *out) {
    TRY(check_range(ctx, array, first, count));
    scant__array_read_f32(array, first, count, out);
    for (size_t i = 0; i < count; i++)
        if (!isfinite(out[i]))
            return scant__fail(ctx, SCANT_EINPUT,
                               "%s: element %zu is not a finite number", array->name,
                               first + i);
    return SCANT_OK;
}

scant_status scant_array_integers(scant_ctx *ctx, const scant_array *array, size_t first,
                                  size_t count, int64_t *out) {
    if (!scant__dtype_is_integer(array->dtype))
        return scant__fail(ctx, SCANT_EINPUT, "%s: has dtype %s, expected integers",
                           array->name, scant__dtype_name(array->dtype));
    TRY(check_range(ctx, array, first, count));
    scant__array_read_i64(array, first, count, out);
    if (array->dtype != SCANT_U64) return SCANT_OK;
    for (size_t i = 0; i < count; i++)
        if (out[i] == INT64_MAX)
            return scant__fail(ctx, SCANT_EINPUT, "%s: element %zu is too large",
                               array->name, first + i);
    return SCANT_OK;
}

scant_status scant_array_encode(scant_ctx *ctx, const scant_array *array, void **bytes,
                                size_t *size) {
    unsigned char header[SCANT__NPY_HEADER];
    size_t length = scant__npy_format(array, header), data = array->count * array->item;
    *bytes = NULL;
    *size = 0;
    unsigned char *out = scant__alloc(ctx, length + data, 1);
    if (!out) return SCANT_ENOMEM;
    memcpy(out, header, length);
    if (data) memcpy(out + length, array->data, data);
    *bytes = out;
    *size = length + data;
    return SCANT_OK;
}

void scant_bytes_free(scant_ctx *ctx, void *bytes) { scant__free(ctx, bytes); }
