/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays opened from a file, wrapped around the caller's memory, or encoded as .npy.
 * The struct and its name are one block.
 */

#include <assert.h>
#include <math.h>
#include <string.h>

#include "data/npy.h"

/* ---- element types ----------------------------------------------------------------- */

/* Indexed by scant_dtype; row 0 is for unknown dtypes. */
static const struct {
    const char *name, *code;
    unsigned char size;
} dtypes[] = {
    [0] = {"unknown", "V0", 0},         [SCANT_F16] = {"float16", "f2", 2},
    [SCANT_F32] = {"float32", "f4", 4}, [SCANT_F64] = {"float64", "f8", 8},
    [SCANT_U8] = {"uint8", "u1", 1},    [SCANT_I8] = {"int8", "i1", 1},
    [SCANT_U16] = {"uint16", "u2", 2},  [SCANT_I16] = {"int16", "i2", 2},
    [SCANT_U32] = {"uint32", "u4", 4},  [SCANT_I32] = {"int32", "i4", 4},
    [SCANT_U64] = {"uint64", "u8", 8},  [SCANT_I64] = {"int64", "i8", 8},
};

enum { DTYPES = sizeof dtypes / sizeof *dtypes };

static size_t row(scant_dtype dtype) {
    return (size_t)dtype < DTYPES ? (size_t)dtype : 0;
}

const char *scant__dtype_name(scant_dtype dtype) { return dtypes[row(dtype)].name; }
const char *scant__dtype_code(scant_dtype dtype) { return dtypes[row(dtype)].code; }
size_t scant__dtype_size(scant_dtype dtype) { return dtypes[row(dtype)].size; }

bool scant__dtype_is_integer(scant_dtype dtype) {
    char kind = dtypes[row(dtype)].code[0];
    return kind == 'i' || kind == 'u';
}

scant_dtype scant__dtype_find(char kind, size_t size) {
    for (size_t i = 1; i < DTYPES; i++)
        if (dtypes[i].code[0] == kind && dtypes[i].size == size) return (scant_dtype)i;
    return (scant_dtype)0;
}

bool scant__shape_count(size_t ndim, const size_t *shape, size_t item, size_t *count) {
    size_t product = 1, bytes;
    bool empty = false;
    for (size_t i = 0; i < ndim; i++) {
        if (!shape[i])
            empty = true;
        else if (!scant__mul(product, shape[i], &product))
            return false;
    }
    *count = empty ? 0 : product;
    return scant__mul(product, item, &bytes) && bytes <= PTRDIFF_MAX;
}

/* ---- handles ----------------------------------------------------------------------- */

scant_array *scant__array_create(scant_ctx *ctx, const char *name) {
    size_t length = strlen(name) + 1;
    scant_array *array = scant__alloc(ctx, sizeof *array + length, 1);
    if (!array) return NULL;
    *array = (scant_array){.ctx = ctx, .name = (char *)(array + 1)};
    memcpy(array->name, name, length);
    return array;
}

scant_status scant_array_open(scant_ctx *ctx, const char *spec, scant_array **out) {
    *out = NULL;
    NEED(ctx);
    scant__npy header;
    AUTO(scant_array_auto) scant_array *array = scant__array_create(ctx, spec);
    if (!array) return SCANT_ENOMEM;
    TRY(scant__source_open(ctx, spec, &array->source));
    TRY(scant__npy_parse(ctx, spec, array->source.bytes, array->source.size,
                         SCANT__NPY_NUMBERS, &header));
    array->data = array->source.bytes + header.offset;
    array->dtype = scant__dtype_find(header.kind, header.item);
    array->swapped = header.swapped;
    array->item = header.item;
    array->ndim = header.ndim;
    memcpy(array->shape, header.shape, sizeof array->shape);
    array->count = header.count;
    *out = TAKE(array);
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
    NEED(ctx);
    AUTO(scant_array_auto) scant_array *array = scant__array_create(ctx, name);
    if (!array) return SCANT_ENOMEM;
    array->data = data;
    TRY(scant__array_set_shape(ctx, array, dtype, ndim, shape));
    if (array->count && !data)
        return scant__fail(ctx, SCANT_EUSAGE, "%s: data is NULL, expected %zu elements",
                           name, array->count);
    *out = TAKE(array);
    return SCANT_OK;
}

void scant_array_free(scant_array *array) {
    if (!array) return;
    scant__source_close(&array->source);
    scant__free(array->ctx, array);
}

const char *scant_array_name(const scant_array *array) { return array->name; }
scant_dtype scant_array_dtype(const scant_array *array) { return array->dtype; }
size_t scant_array_ndim(const scant_array *array) { return array->ndim; }
const size_t *scant_array_shape(const scant_array *array) { return array->shape; }

/* ---- reading ----------------------------------------------------------------------- */

/* Unaligned or byte-swapped elements are first copied, CHUNK at a time, to an aligned
 * native buffer. One loop per pair of types converts elements, LANES at a time: gcc at
 * -O2 does not vectorize loops of unknown length.
 *
 * Stateless and allocation-free: any number of threads may read one array. */

enum { CHUNK = 1024, LANES = 16 };

typedef union chunk {
    unsigned char bytes[CHUNK * 8];
    uint16_t u2[CHUNK];
    uint32_t u4[CHUNK];
    uint64_t u8[CHUNK];
    float f4[CHUNK];
    double f8[CHUNK];
} chunk;

static bool aligned(const scant_array *array) {
    return (uintptr_t)array->data % array->item == 0;
}

bool scant__array_is_direct(const scant_array *array, scant_dtype dtype) {
    return array->dtype == dtype && !array->swapped && aligned(array);
}

static void swap_bytes(chunk *c, size_t count, size_t item) {
    if (item == 2)
        for (size_t i = 0; i < count; i++) c->u2[i] = __builtin_bswap16(c->u2[i]);
    else if (item == 4)
        for (size_t i = 0; i < count; i++) c->u4[i] = __builtin_bswap32(c->u4[i]);
    else if (item == 8)
        for (size_t i = 0; i < count; i++) c->u8[i] = __builtin_bswap64(c->u8[i]);
}

/* Returns elements first..first+count-1, aligned and native: in place or copied to c. */
static const void *native(const scant_array *array, size_t first, size_t count,
                          chunk *c) {
    const unsigned char *from = array->data + first * array->item;
    if (!array->swapped && aligned(array)) return from;
    memcpy(c, from, count * array->item);
    if (array->swapped) swap_bytes(c, count, array->item);
    return c;
}

/* Converts float16 to float exactly. The fraction bits of a subnormal half become those
 * of a float at 2^-14, from which 2^-14 is then subtracted. There is no branch, so loops
 * vectorize, and no subnormal float, so flush-to-zero does not change the result. */
static inline float half(uint16_t h) {
    const uint32_t rebias = (uint32_t)(127 - 15) << 23;
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, rest = (uint32_t)(h & 0x7fff) << 13;
    uint32_t tiny_bits = rest + rebias + (1u << 23);
    float tiny, out;
    memcpy(&tiny, &tiny_bits, sizeof tiny);
    tiny -= 0x1p-14f;
    memcpy(&tiny_bits, &tiny, sizeof tiny);
    uint32_t is_tiny = 0u - (rest < 1u << 23);
    uint32_t is_huge = 0u - (rest >= 31u << 23); /* infinities and NaN */
    uint32_t bits = rest + rebias + (is_huge & rebias);
    bits = sign | (tiny_bits & is_tiny) | (bits & ~is_tiny);
    memcpy(&out, &bits, sizeof out);
    return out;
}

#define SAME(x) (x)
#define HALF(x) half(x)
#define CLIP(x) ((x) > INT64_MAX ? INT64_MAX : (x))

typedef void convert_fn(const void *from, size_t n, void *to);

/* Defines a function that sets to[i] = (to_type)of(from[i]). */
#define CONVERT(name, from_type, of, to_type)                                            \
    static void name(const void *from, size_t n, void *to) {                             \
        const from_type *restrict in = from;                                             \
        to_type *restrict out = to;                                                      \
        size_t i = 0;                                                                    \
        for (; i + LANES <= n; i += LANES)                                               \
            for (size_t j = 0; j < LANES; j++) out[i + j] = (to_type)of(in[i + j]);      \
        for (; i < n; i++) out[i] = (to_type)of(in[i]);                                  \
    }
#define CONVERT_FLOAT(code, type, of)                                                    \
    CONVERT(code##_to_f32, type, of, float)                                              \
    CONVERT(code##_to_f64, type, of, double)
#define CONVERT_INTEGER(code, type, of)                                                  \
    CONVERT_FLOAT(code, type, SAME)                                                      \
    CONVERT(code##_to_i64, type, of, int64_t)

CONVERT_FLOAT(f16, uint16_t, HALF)
CONVERT_FLOAT(f32, float, SAME)
CONVERT_FLOAT(f64, double, SAME)
CONVERT_INTEGER(u8, uint8_t, SAME)
CONVERT_INTEGER(i8, int8_t, SAME)
CONVERT_INTEGER(u16, uint16_t, SAME)
CONVERT_INTEGER(i16, int16_t, SAME)
CONVERT_INTEGER(u32, uint32_t, SAME)
CONVERT_INTEGER(i32, int32_t, SAME)
CONVERT_INTEGER(u64, uint64_t, CLIP)
CONVERT_INTEGER(i64, int64_t, SAME)

static const struct {
    convert_fn *f32, *f64, *i64; /* i64 is NULL for floats */
} converters[] = {
    [SCANT_F16] = {f16_to_f32, f16_to_f64, NULL},
    [SCANT_F32] = {f32_to_f32, f32_to_f64, NULL},
    [SCANT_F64] = {f64_to_f32, f64_to_f64, NULL},
    [SCANT_U8] = {u8_to_f32, u8_to_f64, u8_to_i64},
    [SCANT_I8] = {i8_to_f32, i8_to_f64, i8_to_i64},
    [SCANT_U16] = {u16_to_f32, u16_to_f64, u16_to_i64},
    [SCANT_I16] = {i16_to_f32, i16_to_f64, i16_to_i64},
    [SCANT_U32] = {u32_to_f32, u32_to_f64, u32_to_i64},
    [SCANT_I32] = {i32_to_f32, i32_to_f64, i32_to_i64},
    [SCANT_U64] = {u64_to_f32, u64_to_f64, u64_to_i64},
    [SCANT_I64] = {i64_to_f32, i64_to_f64, i64_to_i64},
};

/* Reads elements as `type`, which has `size` bytes, with convert(). Elements that have
 * this type and the native byte order are copied, aligned or not. */
static void read_as(const scant_array *array, size_t first, size_t count,
                    scant_dtype type, size_t size, convert_fn *convert, void *to) {
    bool in_place = !array->swapped && aligned(array);
    unsigned char *out = to;
    chunk c;
    assert(first <= array->count && count <= array->count - first);
    if (array->dtype == type && !array->swapped) {
        if (count) memcpy(out, array->data + first * size, count * size);
        return;
    }
    for (size_t n; count; first += n, out += n * size, count -= n) {
        n = in_place || count < CHUNK ? count : CHUNK;
        convert(native(array, first, n, &c), n, out);
    }
}

void scant__array_read_f32(const scant_array *array, size_t first, size_t count,
                           float *out) {
    read_as(array, first, count, SCANT_F32, sizeof *out, converters[array->dtype].f32,
            out);
}

void scant__array_read_f64(const scant_array *array, size_t first, size_t count,
                           double *out) {
    read_as(array, first, count, SCANT_F64, sizeof *out, converters[array->dtype].f64,
            out);
}

void scant__array_read_i64(const scant_array *array, size_t first, size_t count,
                           int64_t *out) {
    assert(scant__dtype_is_integer(array->dtype));
    read_as(array, first, count, SCANT_I64, sizeof *out, converters[array->dtype].i64,
            out);
}

static scant_status check_range(scant_ctx *ctx, const scant_array *array, size_t first,
                                size_t count) {
    if (first <= array->count && count <= array->count - first) return SCANT_OK;
    return scant__fail(ctx, SCANT_EUSAGE,
                       "%s: has %zu elements; cannot read %zu from element %zu",
                       array->name, array->count, count, first);
}

scant_status scant_array_floats(scant_ctx *ctx, const scant_array *array, size_t first,
                                size_t count, float *out) {
    NEED(ctx && array);
    TRY(check_range(ctx, array, first, count));
    scant__array_read_f32(array, first, count, out);
    for (size_t i = 0; i < count; i++)
        if (!isfinite(out[i]))
            return scant__refuse(ctx, array->name, "element %zu is not a finite number",
                                 first + i);
    return SCANT_OK;
}

scant_status scant_array_integers(scant_ctx *ctx, const scant_array *array, size_t first,
                                  size_t count, int64_t *out) {
    NEED(ctx && array);
    if (!scant__dtype_is_integer(array->dtype))
        return scant__refuse(ctx, array->name, "has dtype %s, expected integers",
                             scant__dtype_name(array->dtype));
    TRY(check_range(ctx, array, first, count));
    scant__array_read_i64(array, first, count, out);
    if (array->dtype != SCANT_U64) return SCANT_OK;
    for (size_t i = 0; i < count; i++)
        if (out[i] == INT64_MAX)
            return scant__refuse(ctx, array->name, "element %zu is too large", first + i);
    return SCANT_OK;
}

scant_status scant_array_encode(scant_ctx *ctx, const scant_array *array, void **bytes,
                                size_t *size) {
    NEED(ctx && array);
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
