/* SPDX-License-Identifier: Apache-2.0
 *
 * Element types and element counts. An unknown dtype gets the table's first row.
 */
#include "data/array.h"

#include <string.h>

#include "core/mem.h"

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

bool scant__dtype_is_float(scant_dtype dtype) {
    return dtypes[row(dtype)].code[0] == 'f';
}

bool scant__dtype_is_integer(scant_dtype dtype) {
    char kind = dtypes[row(dtype)].code[0];
    return kind == 'i' || kind == 'u';
}

scant_dtype scant__dtype_find(char kind, size_t size) {
    for (size_t i = 1; i < DTYPES; i++)
        if (dtypes[i].code[0] == kind && dtypes[i].size == size) return (scant_dtype)i;
    return (scant_dtype)0;
}

bool scant__little_endian(void) {
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return first == 1;
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
