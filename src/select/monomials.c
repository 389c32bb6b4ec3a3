/* SPDX-License-Identifier: Apache-2.0 */
#include "select/monomials.h"

#include <assert.h>
#include <string.h>

/* binom(d + degree, degree), one factor at a time; every intermediate product is an
 * integer. */
size_t select_monomials_count(size_t d, size_t degree, bool constant) {
    size_t count = 1;
    for (size_t i = 1; i <= degree; i++) {
        if (d > SIZE_MAX - i || !scant__mul(count, d + i, &count)) return SIZE_MAX;
        count /= i;
    }
    return count - !constant;
}

size_t select_monomials_memory(size_t count) {
    enum { SPARE = 256 };
    return 2 * (count * sizeof(uint32_t) + SPARE);
}

/* A monomial of the next degree is one of the last degree times a variable. To list each
 * once, the variable's index is at least the largest index in the other factor. */
static void fill(select_monomials *m, size_t d, size_t degree) {
    size_t first = m->constant, at = first + d, from = first;
    for (size_t g = 2; g <= degree; g++) {
        size_t end = at;
        for (size_t p = from; p < end; p++) {
            size_t least = g == 2 ? p : m->factor[p];
            for (size_t k = least; k < first + d; k++, at++)
                m->parent[at] = (uint32_t)p, m->factor[at] = (uint32_t)k;
        }
        from = end;
    }
    assert(at == m->count);
}

scant_status select_monomials_init(select_monomials *m, scant__arena *arena,
                                   const la_rows *x, double scale, size_t degree,
                                   bool constant) {
    assert(x->type == LA_F64);
    *m = (select_monomials){.x = x, .scale = scale, .constant = constant};
    m->count = select_monomials_count(x->d, degree, constant);
    m->parent = TRY_NEW(arena, uint32_t, m->count);
    m->factor = TRY_NEW(arena, uint32_t, m->count);
    fill(m, x->d, degree);
    return SCANT_OK;
}

static void fetch(const void *self, size_t first, size_t count, void *out) {
    const select_monomials *m = self;
    size_t d = m->x->d;
    for (size_t i = 0; i < count; i++) {
        double *row = (double *)out + i * m->count, *linear = row + m->constant;
        const double *x = la_rows_get(m->x, first + i, 1, linear);
        if (m->constant) row[0] = 1;
        for (size_t k = 0; k < d; k++) linear[k] = x[k] * m->scale;
        for (size_t k = m->constant + d; k < m->count; k++)
            row[k] = row[m->parent[k]] * row[m->factor[k]];
    }
}

void select_monomial_rows(const select_monomials *m, la_rows *out) {
    *out =
        (la_rows){.n = m->x->n, .d = m->count, .type = LA_F64, .fetch = fetch, .self = m};
}
