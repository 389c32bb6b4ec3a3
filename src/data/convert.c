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

typedef void convert_fn(const void *from, size_t n, void *to);

/* A function that sets to[i] = (type)of(from[i]), LANES at a time, then the rest. */
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
    convert_fn *f32, *f64, *i64; /* i64 NULL: not an integer */
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

/* Writes elements as type, of size bytes, by convert. Native elements of that type are
 * only copied, aligned or not. */
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
