/* SPDX-License-Identifier: Apache-2.0 */
#include "linalg/rows.h"

#include <string.h>

size_t la_rows_bytes(const la_rows *rows) {
    return rows->d * la_kernels_for(rows->type)->size;
}

static const unsigned char *direct(const la_rows *rows, size_t row) {
    size_t at = rows->list ? rows->list[row] : row;
    return (const unsigned char *)rows->base + at * la_rows_bytes(rows);
}

/* Returns how many of the `count` rows from `first` on are contiguous. */
static size_t run_of(const size_t *list, size_t first, size_t count) {
    size_t run = 1;
    if (!list) return count;
    while (run < count && list[first + run] == list[first] + run) run++;
    return run;
}

/* Copies rows into out: from memory if they are direct, else by fetch(). */
static void gather(const la_rows *rows, size_t first, size_t count, unsigned char *out) {
    size_t bytes = la_rows_bytes(rows);
    for (size_t i = 0, run; i < count; i += run) {
        run = run_of(rows->list, first + i, count - i);
        if (rows->base)
            memcpy(out + i * bytes, direct(rows, first + i), run * bytes);
        else
            rows->fetch(rows->self, rows->list ? rows->list[first + i] : first + i, run,
                        out + i * bytes);
    }
}

size_t la_rows_scratch(const la_rows *rows, size_t count) {
    return rows->base && !rows->list ? 0 : count * la_rows_bytes(rows);
}

const void *la_rows_get(const la_rows *rows, size_t first, size_t count, void *scratch) {
    if (count && rows->base && run_of(rows->list, first, count) == count)
        return direct(rows, first);
    gather(rows, first, count, scratch);
    return scratch;
}

size_t la_rows_point_scratch(const la_rows *rows, size_t count) {
    return rows->base ? 0 : count * la_rows_bytes(rows);
}

void la_rows_point(const la_rows *rows, const size_t *which, size_t first, size_t count,
                   void *scratch, const void **out) {
    size_t bytes = la_rows_bytes(rows);
    unsigned char *at = scratch;
    for (size_t i = 0, run; i < count; i += run) {
        size_t row = which ? which[first + i] : first + i;
        run = run_of(which ? which + first : NULL, i, count - i);
        const unsigned char *from = at + i * bytes;
        if (!rows->base)
            gather(rows, row, run, at + i * bytes);
        else if (!rows->list)
            from = direct(rows, row);
        for (size_t r = 0; r < run; r++)
            out[i + r] =
                rows->base && rows->list ? direct(rows, row + r) : from + r * bytes;
    }
}
