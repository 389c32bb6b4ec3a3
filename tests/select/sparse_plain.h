/* SPDX-License-Identifier: Apache-2.0
 *
 * Pools, and plain dense versions of sparse-greedy and sparse-iht: Phi as a matrix, every
 * step as in the paper.
 */
#ifndef SCANT_TESTS_SELECT_SPARSE_PLAIN_H
#define SCANT_TESTS_SELECT_SPARSE_PLAIN_H

#include <math.h>
#include <stdio.h>

#include "select/sparse.h"
#include "select/strategy.h"
#include "support.h"

/* ---- pools ------------------------------------------------------------------------ */

typedef struct pool {
    size_t n, d, c, m; /* m > 0: posterior draws, not probabilities and features */
    double *h, *p, *q, *samples;
    int32_t *labels;     /* NULL: none */
    int64_t *candidates; /* NULL: all; else the first half of the rows, descending */
    double temperature;  /* > 0: p are logits */
    bool narrow;         /* handed over as float */
} pool;

static double *numbers(size_t count) {
    double *out = calloc(count + 1, sizeof *out);
    assert_non_null(out);
    return out;
}

static void to_probs(double *row, size_t c, double temperature) {
    double sum = 0;
    for (size_t k = 0; k < c; k++) row[k] = exp(row[k] / temperature), sum += row[k];
    for (size_t k = 0; k < c; k++) row[k] /= sum;
}

/* kinds > 0: rows are copies of that many different ones. */
static pool pool_make(uint64_t seed, size_t n, size_t d, size_t c, size_t m,
                      size_t kinds) {
    pool p = {.n = n, .d = d, .c = c, .m = m};
    p.h = numbers(n * d), p.p = numbers(n * c), p.q = numbers(n * c);
    p.samples = numbers(m * n * c);
    for (size_t i = 0; i < n; i++) {
        size_t like = kinds ? (i * 7 + i / 3) % kinds : i;
        for (size_t k = 0; k < d; k++) p.h[i * d + k] = normal_at(seed, like * d + k);
        for (size_t k = 0; k < c; k++)
            p.p[i * c + k] = p.q[i * c + k] = 2 * normal_at(seed + 1, like * c + k);
        to_probs(p.p + i * c, c, 1);
        to_probs(p.q + i * c, c, 1.7);
        for (size_t s = 0; s < m; s++) {
            double *row = p.samples + (s * n + i) * c;
            for (size_t k = 0; k < c; k++)
                row[k] = 2 * normal_at(seed + 2, (s * n + like) * c + k);
            to_probs(row, c, 1);
        }
    }
    return p;
}

static void pool_end(pool *p) {
    free(p->h);
    free(p->p);
    free(p->q);
    free(p->samples);
    free(p->labels);
    free(p->candidates);
}

/* Rounds to float, so that both sides see the same values. */
static void pool_narrow(pool *p) {
    for (size_t i = 0; i < p->n * p->d; i++) p->h[i] = (double)(float)p->h[i];
    for (size_t i = 0; i < p->n * p->c; i++) {
        p->p[i] = (double)(float)p->p[i];
        p->q[i] = (double)(float)p->q[i];
    }
    for (size_t i = 0; i < p->m * p->n * p->c; i++)
        p->samples[i] = (double)(float)p->samples[i];
    p->narrow = true;
}

static void pool_restrict(pool *p) {
    p->labels = calloc(p->n, sizeof *p->labels);
    p->candidates = calloc(p->n, sizeof *p->candidates);
    for (size_t i = 0; i < p->n; i++) {
        p->labels[i] = i % 4 == 1 ? (int32_t)(i % p->c) : -1;
        p->candidates[i] = (int64_t)(p->n / 2 - 1 - i);
    }
}

static bool may_pick(const pool *p, size_t row) {
    return (!p->labels || p->labels[row] < 0) && (!p->candidates || row < p->n / 2);
}

/* ---- calls ------------------------------------------------------------------------ */

typedef struct call {
    scant_ctx *ctx;
    scant_evidence e;
    scant_array *array[8];
    void *copy[8];
    size_t count;
} call;

static const scant_array *give(call *c, const pool *p, const char *name,
                               const double *data, size_t ndim, const size_t *shape) {
    size_t size = 1;
    scant_array **at = &c->array[c->count];
    for (size_t i = 0; i < ndim; i++) size *= shape[i];
    float *copy = p->narrow ? malloc((size + 1) * sizeof *copy) : NULL;
    for (size_t i = 0; copy && i < size; i++) copy[i] = (float)data[i];
    c->copy[c->count++] = copy;
    assert_int_equal(scant_array_wrap(c->ctx, name,
                                      copy ? (const void *)copy : (const void *)data,
                                      copy ? SCANT_F32 : SCANT_F64, ndim, shape, at),
                     SCANT_OK);
    return *at;
}

static call call_begin(scant_ctx *ctx, const pool *p) {
    call c = {.ctx = ctx};
    size_t rows[3] = {p->m, p->n, p->c}, half = p->n / 2;
    if (p->m) {
        c.e.draws = give(&c, p, "samples", p->samples, 3, rows);
    } else {
        c.e.features = give(&c, p, "features", p->h, 2, (size_t[]){p->n, p->d});
        const scant_array *probs = give(&c, p, "probs", p->p, 2, rows + 1);
        *(p->temperature > 0 ? &c.e.logits : &c.e.probs) = probs;
        c.e.temperature = p->temperature;
        if (!(p->temperature > 0))
            c.e.calibrated = give(&c, p, "calibrated", p->q, 2, rows + 1);
    }
    if (p->labels) {
        assert_int_equal(scant_array_wrap(ctx, "labels", p->labels, SCANT_I32, 1, &p->n,
                                          &c.array[c.count]),
                         SCANT_OK);
        c.e.labels = c.array[c.count++];
    }
    if (p->candidates) {
        assert_int_equal(scant_array_wrap(ctx, "candidates", p->candidates, SCANT_I64, 1,
                                          &half, &c.array[c.count]),
                         SCANT_OK);
        c.e.candidates = c.array[c.count++];
    }
    return c;
}

static void call_end(call *c) {
    for (size_t i = 0; i < c->count; i++) {
        scant_array_free(c->array[i]);
        free(c->copy[i]);
    }
}

/* Options as "key=value key=value". */
typedef struct settings {
    char text[200];
    scant_setting all[10];
    size_t count;
} settings;

static void settings_of(settings *s, const char *text) {
    s->count = 0;
    snprintf(s->text, sizeof s->text, "%s", text);
    for (char *at = strtok(s->text, " "); at; at = strtok(NULL, " ")) {
        char *value = strchr(at, '=');
        *value++ = 0;
        s->all[s->count++] = (scant_setting){at, value};
    }
}

static scant_picks *picks_of(scant_ctx *ctx, const pool *p, const char *strategy,
                             size_t batch, const char *options) {
    settings s;
    settings_of(&s, options);
    call c = call_begin(ctx, p);
    scant_picks *picks = NULL;
    scant_select_opts opts = {.settings = s.all, .n_settings = s.count};
    if (scant_select(ctx, strategy, &c.e, batch, &opts, &picks) != SCANT_OK)
        fail_msg("%s", scant_ctx_errmsg(ctx));
    call_end(&c);
    return picks;
}

static double figure(const scant_picks *picks, const char *name) {
    for (size_t i = 0; i < picks->n_info; i++)
        if (!strcmp(picks->info[i].name, name)) return picks->info[i].value;
    fail_msg("no figure %s", name);
    return 0;
}

/* ---- the plain versions ------------------------------------------------------------ */

typedef struct dense {
    size_t n, b, size;
    size_t *rows;
    double *phi, *v, *sigma; /* phi: (n, size) */
    double alpha, beta;
} dense;

static void dense_gradients(dense *d, const pool *p, bool bias) {
    size_t width = p->d + bias;
    for (size_t j = 0; j < d->n; j++) {
        const double *h = p->h + d->rows[j] * p->d, *a = p->p + d->rows[j] * p->c,
                     *q = p->q + d->rows[j] * p->c;
        double square = bias, q2 = 0, sum = 0;
        for (size_t k = 0; k < p->d; k++) square += h[k] * h[k];
        for (size_t c = 0; c < p->c; c++) q2 += q[c] * q[c];
        for (size_t c = 0; c < p->c; c++) {
            sum += q[c] * sqrt(1 - 2 * q[c] + q2);
            for (size_t k = 0; k < width; k++)
                d->phi[j * d->size + c * width + k] =
                    (a[c] - q[c]) * (k < p->d ? h[k] : 1) / (double)d->b;
        }
        d->sigma[j] = sqrt(square) * sum / (double)d->n;
    }
}

static void dense_samples(dense *d, const pool *p) {
    for (size_t j = 0; j < d->n; j++) {
        double *mean = d->phi + j * d->size, *g = numbers(p->m * p->c);
        double *chance = numbers(p->c);
        for (size_t y = 0; y < p->c; y++) {
            double average = 0;
            for (size_t s = 0; s < p->m; s++) {
                double x = p->samples[(s * p->n + d->rows[j]) * p->c + y];
                chance[y] += x / (double)p->m;
                g[s * p->c + y] = -log(fmax(x, 1e-12));
                average += g[s * p->c + y] / (double)p->m;
            }
            for (size_t s = 0; s < p->m; s++) g[s * p->c + y] -= average;
        }
        for (size_t s = 0; s < p->m; s++)
            for (size_t y = 0; y < p->c; y++) mean[s] += chance[y] * g[s * p->c + y];
        for (size_t y = 0; y < p->c; y++) {
            double square = 0;
            for (size_t s = 0; s < p->m; s++) square += pow(g[s * p->c + y] - mean[s], 2);
            d->sigma[j] += chance[y] * sqrt(square) / (double)d->n;
        }
        for (size_t s = 0; s < p->m; s++) mean[s] /= (double)d->b;
        free(g);
        free(chance);
    }
}

static dense dense_make(const pool *p, size_t batch, bool bias, double alpha,
                        double beta) {
    dense d = {.alpha = alpha, .beta = beta};
    d.rows = calloc(p->n, sizeof *d.rows);
    for (size_t i = 0; i < p->n; i++)
        if (may_pick(p, i)) d.rows[d.n++] = i;
    d.b = batch < d.n ? batch : d.n;
    d.size = p->m ? p->m : p->c * (p->d + bias);
    d.phi = numbers(d.n * d.size), d.v = numbers(d.size), d.sigma = numbers(d.n);
    if (p->m)
        dense_samples(&d, p);
    else
        dense_gradients(&d, p, bias);
    for (size_t j = 0; j < d.n; j++)
        for (size_t k = 0; k < d.size; k++)
            d.v[k] += d.phi[j * d.size + k] * (double)d.b / (double)d.n;
    return d;
}

static void dense_end(dense *d) {
    free(d->rows);
    free(d->phi);
    free(d->v);
    free(d->sigma);
}

/* out = Phi w, minus v if minus */
static void dense_image(const dense *d, const double *w, bool minus, double *out) {
    for (size_t k = 0; k < d->size; k++) out[k] = minus ? -d->v[k] : 0;
    for (size_t j = 0; j < d->n; j++)
        for (size_t k = 0; w[j] != 0 && k < d->size; k++)
            out[k] += w[j] * d->phi[j * d->size + k];
}

static double dot(const double *x, const double *y, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

static double dense_f1(const dense *d, const double *w) {
    double *r = numbers(d->size), sum;
    dense_image(d, w, true, r);
    sum = dot(r, r, d->size);
    for (size_t j = 0; j < d->n; j++) sum += d->beta * (w[j] - 1) * (w[j] - 1);
    free(r);
    return sum;
}

static inline double dense_f(const dense *d, const double *w) {
    double sum = dense_f1(d, w);
    for (size_t j = 0; j < d->n; j++)
        if (w[j] > 0) sum -= d->alpha * d->sigma[j] * d->sigma[j];
    return sum;
}

static void dense_gradient(const dense *d, const double *w, double *out) {
    double *r = numbers(d->size);
    dense_image(d, w, true, r);
    for (size_t j = 0; j < d->n; j++)
        out[j] = 2 * dot(r, d->phi + j * d->size, d->size) + 2 * d->beta * (w[j] - 1);
    free(r);
}

static double dense_line(const dense *d, const double *u, const double *w) {
    double *r = numbers(d->size), *image = numbers(d->size), above, below = 0;
    dense_image(d, w, true, r);
    dense_image(d, u, false, image);
    above = dot(r, image, d->size);
    below = dot(image, image, d->size);
    for (size_t j = 0; j < d->n; j++) {
        above += d->beta * (w[j] - 1) * u[j];
        below += d->beta * u[j] * u[j];
    }
    free(r);
    free(image);
    return below < 1e-300 ? 0 : above / below;
}

static void dense_debias_and_clip(const dense *d, double *w) {
    double *u = numbers(d->n);
    dense_gradient(d, w, u);
    for (size_t j = 0; j < d->n; j++)
        if (w[j] == 0) u[j] = 0;
    double mu = dense_line(d, u, w);
    for (size_t j = 0; j < d->n; j++) w[j] = fmax(0, w[j] - mu * u[j]);
    free(u);
}

/* picks and scores: b entries. */
static inline void dense_greedy(const dense *d, double tau, double *w, size_t *picks,
                                double *scores) {
    double *slope = numbers(d->n), *one = numbers(d->n);
    bool *taken = calloc(d->n, sizeof *taken);
    for (size_t t = 0; t < d->b; t++) {
        size_t best = d->n;
        dense_gradient(d, w, slope);
        for (size_t j = 0; j < d->n; j++) {
            slope[j] = -tau * slope[j] + d->alpha * d->sigma[j] * d->sigma[j];
            if (!taken[j] && (best == d->n || slope[j] > slope[best])) best = j;
        }
        taken[best] = true, picks[t] = best, scores[t] = slope[best];
        one[best] = 1;
        w[best] -= dense_line(d, one, w);
        one[best] = 0;
        dense_debias_and_clip(d, w);
    }
    free(slope);
    free(one);
    free(taken);
}

static double dense_worth(const dense *d, size_t j, double s, bool printed) {
    double kept = printed ? -pow(fmin(s, 0), 2) / 2 : pow(fmax(s, 0), 2) / 2;
    return kept + d->alpha * d->sigma[j] * d->sigma[j];
}

/* One iteration, which updates w and z; chosen: n flags, b of them set. */
static inline void dense_iteration(const dense *d, bool printed, double *w, double *z,
                                   bool *chosen, double *point) {
    double *slope = numbers(d->n), *old = numbers(d->n);
    memcpy(old, w, d->n * sizeof *w);
    dense_gradient(d, z, slope);
    double mu = dense_line(d, slope, z);
    for (size_t j = 0; j < d->n; j++) {
        point[j] = z[j] - mu * slope[j];
        w[j] = chosen[j] = false;
    }
    for (size_t t = 0; t < d->b; t++) {
        size_t best = d->n;
        for (size_t j = 0; j < d->n; j++)
            if (!chosen[j] &&
                (best == d->n || dense_worth(d, j, point[j], printed) >
                                     dense_worth(d, best, point[best], printed)))
                best = j;
        chosen[best] = true, w[best] = fmax(0, point[best]);
    }
    dense_debias_and_clip(d, w);
    for (size_t j = 0; j < d->n; j++) slope[j] = w[j] - old[j];
    double tau = dense_line(d, slope, w);
    for (size_t j = 0; j < d->n; j++) z[j] = w[j] - tau * slope[j];
    free(slope);
    free(old);
}

#endif
