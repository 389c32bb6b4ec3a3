/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the tests of products: a small matrix of floats or doubles, read directly or
 * through a fetch function.
 */
#ifndef SCANT_TESTS_LINALG_MATRIX_H
#define SCANT_TESTS_LINALG_MATRIX_H

#include <stdbool.h>

#include "linalg/rows.h"
#include "support.h"

static const unsigned thread_counts[] = {1, 2, 3};
enum { THREAD_COUNTS = sizeof thread_counts / sizeof *thread_counts };

static inline void matrix_fetch(const void *self, size_t first, size_t count, void *out) {
    const la_rows *direct = self;
    size_t bytes = direct->d * la_kernels_for(direct->type)->size;
    memcpy(out, (const unsigned char *)direct->base + first * bytes, count * bytes);
}

typedef struct matrix {
    la_rows rows, direct; /* for the test; what matrix_fetch() copies from */
    double *value;        /* (n, d) */
    void *data;
} matrix;

/* All values are exact as float. Row 3 is a copy of row 2. m must not be moved. */
static inline void matrix_make(matrix *m, uint64_t seed, size_t n, size_t d, la_type type,
                               bool direct) {
    size_t pitch = d;
    m->value = malloc(n * d * sizeof(double));
    m->data = calloc(n * pitch, la_kernels_for(type)->size);
    assert_true(m->value && m->data);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < d; k++) {
            double x = (double)(float)(2 * unit_at(seed, (i == 3 ? 2 : i) * d + k) - 0.8);
            m->value[i * d + k] = x;
            if (type == LA_F64)
                ((double *)m->data)[i * pitch + k] = x;
            else
                ((float *)m->data)[i * pitch + k] = (float)x;
        }
    m->direct = (la_rows){.n = n, .d = d, .type = type, .base = m->data};
    m->rows = m->direct;
    if (!direct)
        m->rows.base = NULL, m->rows.fetch = matrix_fetch, m->rows.self = &m->direct;
}

static inline void matrix_end(matrix *m) {
    free(m->value);
    free(m->data);
}

#endif
