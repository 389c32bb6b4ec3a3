/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads elements of any type as float, double or int64.
 *
 * Unaligned or byte-swapped elements are copied, a few kilobytes at a time, to an aligned
 * native buffer; then one plain loop per pair of types converts them. The loops run over
 * LANES, a constant, because gcc at -O2 does not vectorize loops of unknown length.
 *
 * Stateless and allocation-free: any number of threads may read one array.
 */
#include <assert.h>
#include <string.h>

#include "data/array.h"

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

/* Elements first..first+count-1 aligned and native: in place, or copied to c. */
static const void *native(const scant_array *array, size_t first, size_t count,
                          chunk *c) {
    const unsigned char *from = array->data + first * array->item;
    if (!array->swapped && aligned(array)) return from;
    memcpy(c, from, count * array->item);
    if (array->swapped) swap_bytes(c, count, array->item);
    return c;
}

/* Exact. A subnormal half is normal as a float: its bits are placed under the exponent of
 * 2^-14, whose hidden one is then subtracted. Branch-free, so it vectorizes, and without
 * float subnormals, so flush-to-zero does not change it. */
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

/* out[i] = (to)of(from[i]), LANES at a time, then the rest. */
#define CONVERT(type, of, to)                                                            \
    do {                                                                                 \
        const type *restrict in = from;                                                  \
        size_t i_ = 0;                                                                   \
        for (; i_ + LANES <= n; i_ += LANES)                                             \
            for (size_t j_ = 0; j_ < LANES; j_++) out[i_ + j_] = (to)of(in[i_ + j_]);    \
        for (; i_ < n; i_++) out[i_] = (to)of(in[i_]);                                   \
    } while (0)

static void convert_f32(scant_dtype dtype, const void *from, size_t n,
                        float *restrict out) {
    switch (dtype) {
    case SCANT_F16:
        CONVERT(uint16_t, HALF, float);
        break;
    case SCANT_F32:
        memcpy(out, from, n * sizeof *out);
        break;
    case SCANT_F64:
        CONVERT(double, SAME, float);
        break;
    case SCANT_U8:
        CONVERT(uint8_t, SAME, float);
        break;
    case SCANT_I8:
        CONVERT(int8_t, SAME, float);
        break;
    case SCANT_U16:
        CONVERT(uint16_t, SAME, float);
        break;
    case SCANT_I16:
        CONVERT(int16_t, SAME, float);
        break;
    case SCANT_U32:
        CONVERT(uint32_t, SAME, float);
        break;
    case SCANT_I32:
        CONVERT(int32_t, SAME, float);
        break;
    case SCANT_U64:
        CONVERT(uint64_t, SAME, float);
        break;
    case SCANT_I64:
        CONVERT(int64_t, SAME, float);
        break;
    }
}

static void convert_f64(scant_dtype dtype, const void *from, size_t n,
                        double *restrict out) {
    switch (dtype) {
    case SCANT_F16:
        CONVERT(uint16_t, HALF, double);
        break;
    case SCANT_F32:
        CONVERT(float, SAME, double);
        break;
    case SCANT_F64:
        memcpy(out, from, n * sizeof *out);
        break;
    case SCANT_U8:
        CONVERT(uint8_t, SAME, double);
        break;
    case SCANT_I8:
        CONVERT(int8_t, SAME, double);
        break;
    case SCANT_U16:
        CONVERT(uint16_t, SAME, double);
        break;
    case SCANT_I16:
        CONVERT(int16_t, SAME, double);
        break;
    case SCANT_U32:
        CONVERT(uint32_t, SAME, double);
        break;
    case SCANT_I32:
        CONVERT(int32_t, SAME, double);
        break;
    case SCANT_U64:
        CONVERT(uint64_t, SAME, double);
        break;
    case SCANT_I64:
        CONVERT(int64_t, SAME, double);
        break;
    }
}

static void convert_i64(scant_dtype dtype, const void *from, size_t n,
                        int64_t *restrict out) {
    switch (dtype) {
    case SCANT_U8:
        CONVERT(uint8_t, SAME, int64_t);
        break;
    case SCANT_I8:
        CONVERT(int8_t, SAME, int64_t);
        break;
    case SCANT_U16:
        CONVERT(uint16_t, SAME, int64_t);
        break;
    case SCANT_I16:
        CONVERT(int16_t, SAME, int64_t);
        break;
    case SCANT_U32:
        CONVERT(uint32_t, SAME, int64_t);
        break;
    case SCANT_I32:
        CONVERT(int32_t, SAME, int64_t);
        break;
    case SCANT_U64:
        CONVERT(uint64_t, CLIP, int64_t);
        break;
    case SCANT_I64:
        memcpy(out, from, n * sizeof *out);
        break;
    case SCANT_F16:
    case SCANT_F32:
    case SCANT_F64:
        assert(scant__dtype_is_integer(dtype));
        break;
    }
}

/* Elements of the wanted type in native order are only copied, aligned or not. */
static bool copied(const scant_array *array, scant_dtype dtype, size_t first,
                   size_t count, void *out) {
    assert(first <= array->count && count <= array->count - first);
    if (array->dtype != dtype || array->swapped) return false;
    if (count) memcpy(out, array->data + first * array->item, count * array->item);
    return true;
}

/* Elements per step: all if no copy is needed. */
static size_t step(const scant_array *array, size_t count) {
    bool whole = !array->swapped && aligned(array);
    return whole || count < CHUNK ? count : CHUNK;
}

void scant__array_read_f32(const scant_array *array, size_t first, size_t count,
                           float *out) {
    chunk c;
    if (copied(array, SCANT_F32, first, count, out)) return;
    for (size_t n; count; first += n, out += n, count -= n) {
        n = step(array, count);
        convert_f32(array->dtype, native(array, first, n, &c), n, out);
    }
}

void scant__array_read_f64(const scant_array *array, size_t first, size_t count,
                           double *out) {
    chunk c;
    if (copied(array, SCANT_F64, first, count, out)) return;
    for (size_t n; count; first += n, out += n, count -= n) {
        n = step(array, count);
        convert_f64(array->dtype, native(array, first, n, &c), n, out);
    }
}

void scant__array_read_i64(const scant_array *array, size_t first, size_t count,
                           int64_t *out) {
    chunk c;
    if (copied(array, SCANT_I64, first, count, out)) return;
    for (size_t n; count; first += n, out += n, count -= n) {
        n = step(array, count);
        convert_i64(array->dtype, native(array, first, n, &c), n, out);
    }
}
