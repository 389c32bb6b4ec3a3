/* SPDX-License-Identifier: Apache-2.0 */
#include "linalg/rows.h"

size_t la_rows_bytes(const la_rows *rows) {
    return rows->d * la_kernels_for(rows->type)->size;
}

size_t la_rows_scratch(const la_rows *rows, size_t count) {
    return rows->base ? 0 : count * la_rows_bytes(rows);
}

const void *la_rows_get(const la_rows *rows, size_t first, size_t count, void *scratch) {
    if (rows->base)
        return (const unsigned char *)rows->base + first * la_rows_bytes(rows);
    rows->fetch(rows->self, first, count, scratch);
    return scratch;
}
