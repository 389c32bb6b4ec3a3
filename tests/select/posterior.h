/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the tests of strategies that read posterior draws: pools, and entropies in
 * long double.
 */
#ifndef SCANT_TESTS_SELECT_POSTERIOR_H
#define SCANT_TESTS_SELECT_POSTERIOR_H

#include <math.h>

#include "select/pools.h"

/* Posterior draws (m, n, C): the softmax of `common` times a logit that all draws share
 * plus `apart` times one of their own. */
static inline given posterior(uint64_t seed, size_t m, size_t n, size_t c, double common,
                              double apart) {
    double *p = malloc(m * n * c * sizeof *p);
    for (size_t s = 0; s < m; s++)
        for (size_t i = 0; i < n; i++) {
            double *row = p + (s * n + i) * c, sum = 0;
            for (size_t k = 0; k < c; k++)
                sum += row[k] = exp(common * normal_at(seed, i * c + k) +
                                    apart * normal_at(seed + 1, (s * n + i) * c + k));
            for (size_t k = 0; k < c; k++) row[k] /= sum;
        }
    return (given){.n = n, .c = c, .m = m, .samples = p};
}

static inline void posterior_end(given *g) {
    free((void *)(uintptr_t)g->samples);
    g->samples = NULL;
}

static inline double *rows_of(const given *g, size_t sample, size_t row) {
    return (double *)(uintptr_t)g->samples + (sample * g->n + row) * g->c;
}

static inline long double plogp(long double p) { return p > 0 ? p * logl(p) : 0; }

/* The mean over draws of a row's entropy. */
static inline long double mean_entropy(const given *g, size_t row) {
    long double sum = 0;
    for (size_t s = 0; s < g->m; s++)
        for (size_t k = 0; k < g->c; k++) sum -= plogp(rows_of(g, s, row)[k]);
    return sum / g->m;
}

/* The entropy of all label strings of rows; chance (m): of the labels before, by draw. */
static inline long double strings_entropy(const given *g, const size_t *rows,
                                          size_t count, const long double *chance) {
    long double sum = 0, next[128];
    if (!count) {
        for (size_t s = 0; s < g->m; s++) sum += chance[s];
        return -plogp(sum / g->m);
    }
    for (size_t k = 0; k < g->c; k++) {
        for (size_t s = 0; s < g->m; s++) next[s] = chance[s] * rows_of(g, s, *rows)[k];
        sum += strings_entropy(g, rows + 1, count - 1, next);
    }
    return sum;
}

/* The mutual information of the labels of rows and the model, by enumerating all label
 * strings. m <= 128. */
static inline long double joint_information(const given *g, const size_t *rows,
                                            size_t count) {
    long double chance[128], sum;
    for (size_t s = 0; s < g->m; s++) chance[s] = 1;
    sum = strings_entropy(g, rows, count, chance);
    for (size_t i = 0; i < count; i++) sum -= mean_entropy(g, rows[i]);
    return sum;
}

#endif
