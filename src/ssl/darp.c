/* SPDX-License-Identifier: Apache-2.0
 *
 * Minimises sum_i KL(x_i | a_i) / H_i over x whose rows sum to 1 and whose columns sum to
 * the classes' counts; H_i is the entropy of a_i, so confident rows change least. By
 * Lagrange, x_ik is proportional to a_ik exp(-v_k H_i), with a multiplier v_k per class.
 *
 * First, noise is removed from a: each class keeps only its floor(alpha * count) largest
 * entries, scaled to sum to the count; then 1e-6 is added to all entries and rows are
 * normalised.
 *
 * The paper's code alternates, ten times, between normalising rows and solving for one
 * column at a time. Here all multipliers are found together, by Newton's method on the
 * convex function that they minimise,
 *     f(v) = sum_i log(sum_k a_ik exp(-v_k H_i)) / H_i + sum_k count_k v_k,
 * whose gradient is the columns' deficit and whose Hessian is sum_i H_i (diag(x_i) - x_i
 * x_i^T), in a few passes. A step that does not lower f is halved. Multipliers of an
 * earlier call can be a bad start: if the search does not converge from them within some
 * passes, it restarts at 0. If no x has such sums (f has no minimum), it stops with the
 * current x after a maximum number of passes, which is lower for larger matrices.
 *
 * The result is the limit of the paper's alternation, which ten iterations do not always
 * reach. If a class is predicted far too often, noise removal leaves many of its rows
 * with the same tiny H. Then multipliers grow large, and the optimal x splits all these
 * rows in the same way, so none stays confident; after ten iterations many still are.
 *
 * A row whose H is 0 is unchanged. A class whose column sum is 0 is ignored.
 *
 * Cost: n c exponentials and n c^2 / 2 products per pass (halving skips the products);
 * three passes over a for the noise. Starting with multipliers of 0 takes some tens of
 * passes, with those of ten steps ago two or three. Blocks of rows do not depend on the
 * thread count, and their sums are added in order.
 */
#include "ssl/darp.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "core/parfor.h"

enum {
    BLOCKS = 32,
    ROWS = 256,
    /* maximum number of passes: ENTRIES / (n c), but from PASSES to PASSES_MOST */
    PASSES = 200,
    PASSES_MOST = 2000,
    ENTRIES = 100000000,
    WARM = 60, /* maximum passes from multipliers of an earlier call */
    BITS = 11, /* bits per step of the radix selection */
    BINS = 1 << BITS
};

static const double TINY = 1e-6;    /* from the paper's code */
static const double FROZEN = 1e-12; /* smaller entropies are treated as 0 */
static const double FAR = 700;      /* maximum exponent */

/* The entries of a column that are kept. */
typedef struct column {
    uint32_t least; /* bits of the smallest kept entry */
    size_t last;    /* entries equal to the smallest are kept up to this row */
    double scale;
} column;

struct ssl_darp {
    scant_ctx *ctx;
    size_t n, c, blocks, rows; /* rows: rows per block */
    double alpha, tolerance;
    double *counts;
    double *v, *trial, *step; /* per class */
    double *gradient, *curve; /* c; Hessian, c x c, lower triangle */
    double *sums;             /* per block: f, column sums, a row, then curve */
    float *entropy;           /* per row */
    column *columns;
    /* current inputs: */
    const float *a;
    float *x;
    const double *at;
    double low, span; /* minimum and range of the multipliers */
    bool curved;      /* compute the Hessian */
};

static size_t sums_size(size_t c) { return 1 + 2 * c + c * c; }

scant_status ssl_darp_create(scant__arena *arena, size_t n, size_t c,
                             const ssl_darp_opts *o, ssl_darp **out) {
    ssl_darp *d = *out = TRY_NEW(arena, ssl_darp, 1);
    size_t rows = size_max(ROWS, (n + BLOCKS - 1) / BLOCKS), square = size_mul(c, c);
    *d = (ssl_darp){.ctx = arena->ctx,
                    .n = n,
                    .c = c,
                    .rows = rows,
                    .blocks = (n + rows - 1) / rows,
                    .alpha = o->alpha,
                    .tolerance = o->tolerance > 0 ? o->tolerance : 0.1};
    d->sums = TRY_NEW(arena, double, size_mul(d->blocks, size_add(1 + 2 * c, square)));
    d->entropy = TRY_NEW(arena, float, n);
    d->columns = TRY_NEW(arena, column, c);
    d->counts = TRY_NEW(arena, double, c);
    d->v = TRY_ZERO(arena, double, c);
    d->trial = TRY_NEW(arena, double, c);
    d->step = TRY_NEW(arena, double, c);
    d->gradient = TRY_NEW(arena, double, c);
    d->curve = TRY_NEW(arena, double, square);
    double sum = 0;
    for (size_t k = 0; k < c; k++) sum += o->target ? o->target[k] : 1;
    for (size_t k = 0; k < c; k++)
        d->counts[k] = (double)n * (o->target ? o->target[k] : 1) / sum;
    return SCANT_OK;
}

double *ssl_darp_multipliers(ssl_darp *d) { return d->v; }

/* ---- noise removal ---- */

static uint32_t bits_of(float x) { /* order-preserving for non-negative numbers */
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* The keep-th largest entry of a column, by radix selection with BITS bits at a time;
 * *ties: how many of the `keep` largest equal it. */
static uint32_t find_least(const ssl_darp *d, size_t k, size_t keep, size_t *ties) {
    uint32_t least = 0;
    for (int shift = 2 * BITS; shift >= 0; shift -= BITS) {
        size_t bins[BINS] = {0}, bin = BINS - 1;
        for (size_t i = 0; i < d->n; i++) {
            uint32_t bits = bits_of(d->a[i * d->c + k]);
            if (shift == 2 * BITS || bits >> (shift + BITS) == least >> (shift + BITS))
                bins[bits >> shift & (BINS - 1)]++;
        }
        while (bins[bin] < keep) keep -= bins[bin--];
        least |= (uint32_t)bin << shift;
    }
    *ties = keep;
    return least;
}

static void read_column(void *arg, size_t k) {
    ssl_darp *d = arg;
    column *out = &d->columns[k];
    double keep = floor(d->alpha * d->counts[k]), sum = 0;
    size_t ties = d->n;
    *out = (column){.least = 0, .last = d->n, .scale = 1};
    if (keep < 1)
        out->least = UINT32_MAX;
    else if (keep < (double)d->n)
        out->least = find_least(d, k, (size_t)keep, &ties);
    for (size_t i = 0; i < d->n; i++) {
        float x = d->a[i * d->c + k];
        uint32_t bits = bits_of(x);
        if (bits < out->least || (bits == out->least && !ties)) continue;
        if (bits == out->least && --ties == 0) out->last = i;
        sum += (double)x;
    }
    out->scale = (d->counts[k] + TINY) / (sum + TINY);
}

static bool stays(const column *k, float x, size_t i) {
    uint32_t bits = bits_of(x);
    return bits > k->least || (bits == k->least && i <= k->last);
}

/* -p log(p + 1e-6) */
static double entropy_of(double p) { return p > 0 ? -p * log(p + TINY) : 0; }

/* Removes noise from a row and returns its entropy. Removed entries are all equal, so
 * their logarithm is computed once. */
static double clean_row(const ssl_darp *d, size_t i, const float *a, float *x) {
    size_t c = d->c, gone = 0;
    double sum = (double)c * TINY, entropy = 0;
    for (size_t k = 0; k < c; k++) {
        bool kept = stays(&d->columns[k], a[k], i);
        double p = kept ? (double)a[k] * d->columns[k].scale : 0;
        sum += p;
        x[k] = kept ? (float)(p + TINY) : 0;
    }
    for (size_t k = 0; k < c; k++) {
        gone += x[k] == 0;
        if (x[k] > 0) entropy += entropy_of((double)x[k] / sum);
        x[k] = (float)((x[k] > 0 ? (double)x[k] : TINY) / sum);
    }
    return entropy + (double)gone * entropy_of(TINY / sum);
}

/* Sets x to a block's cleaned rows, and their entropies. */
static void clean(void *arg, size_t block) {
    ssl_darp *d = arg;
    size_t c = d->c, to = size_min((block + 1) * d->rows, d->n);
    for (size_t i = block * d->rows; i < to; i++) {
        const float *a = d->a + i * c;
        float *x = d->x + i * c;
        double entropy = 0;
        if (d->alpha > 0)
            entropy = clean_row(d, i, a, x);
        else
            for (size_t k = 0; k < c; k++) {
                x[k] = a[k];
                entropy += entropy_of((double)a[k]);
            }
        d->entropy[i] = (float)fmax(entropy, 0);
    }
}

/* ---- multipliers ---- */

/* exp(-t) for t up to 1/16, to about 1e-12. */
static inline double exp_small(double t) {
    const double third = 1.0 / 3, fifth = 1.0 / 5, sixth = 1.0 / 6;
    return 1 - t * (1 - t * 0.5 *
                            (1 - t * third *
                                     (1 - t * 0.25 * (1 - t * fifth * (1 - t * sixth)))));
}

/* A row of entropy 0 is unchanged: p = a. Returns its part of f. */
static double frozen_row(const ssl_darp *d, const float *a, double *p) {
    double linear = 0;
    for (size_t k = 0; k < d->c; k++) {
        p[k] = (double)a[k];
        linear -= p[k] * d->at[k];
    }
    return linear;
}

/* Sets p to row i of x at the current multipliers. Returns the row's part of f. */
static double row_at(const ssl_darp *d, size_t i, double *restrict p) {
    size_t c = d->c;
    const float *restrict a = d->x + i * c;
    const double *restrict at = d->at;
    double h = (double)d->entropy[i], low = d->low, sum = 0;
    if (h < FROZEN) return frozen_row(d, a, p);
    if (d->span * h < 1.0 / 16)
        for (size_t k = 0; k < c; k++) p[k] = (double)a[k] * exp_small((at[k] - low) * h);
    else
        for (size_t k = 0; k < c; k++) {
            double t = (at[k] - low) * h;
            p[k] = (double)a[k] * exp(t < FAR ? -t : -FAR);
        }
    for (size_t k = 0; k < c; k++) sum += p[k];
    double by = 1 / sum;
    for (size_t k = 0; k < c; k++) p[k] *= by;
    return log(sum) / h - low;
}

static void sum_block(void *arg, size_t block) {
    ssl_darp *d = arg;
    size_t c = d->c, to = size_min((block + 1) * d->rows, d->n);
    double *f = d->sums + block * sums_size(c);
    double *columns = f + 1, *p = columns + c, *curve = p + c;
    memset(f, 0, (d->curved ? sums_size(c) : 1 + c) * sizeof *f);
    for (size_t i = block * d->rows; i < to; i++) {
        *f += row_at(d, i, p);
        double h = (double)d->entropy[i];
        for (size_t k = 0; k < c; k++) columns[k] += p[k];
        if (!d->curved || h < FROZEN) continue;
        for (size_t k = 0; k < c; k++) {
            double by = h * p[k], *row = curve + k * c;
            for (size_t j = 0; j <= k; j++) row[j] -= by * p[j];
            row[k] += by;
        }
    }
}

static void aim(ssl_darp *d, const double *v) {
    d->at = v;
    d->low = d->span = v[0];
    for (size_t k = 1; k < d->c; k++) {
        d->low = fmin(d->low, v[k]);
        d->span = fmax(d->span, v[k]);
    }
    d->span -= d->low;
}

/* Turns column sums into deficits. Classes whose sum is 0 are ignored: their deficit is
 * spread over the others, because rows sum to 1. */
static void set_deficits(ssl_darp *d) {
    double *sums = d->gradient, mean = 0;
    size_t some = 0;
    for (size_t k = 0; k < d->c; k++) {
        bool none = sums[k] == 0;
        sums[k] = none ? (double)NAN : d->counts[k] - sums[k];
        if (none) continue;
        mean += sums[k];
        some++;
    }
    for (size_t k = 0; k < d->c; k++)
        sums[k] = isnan(sums[k]) ? 0 : sums[k] - mean / (double)some;
}

/* Returns f at v and sets its gradient and, if curved, its Hessian. */
static double value_at(ssl_darp *d, const double *v, bool curved) {
    size_t c = d->c, square = curved ? c * c : 0;
    double f = 0;
    aim(d, v);
    d->curved = curved;
    scant__loop(d->ctx, d->blocks, sum_block, d);
    memset(d->gradient, 0, c * sizeof *d->gradient);
    memset(d->curve, 0, square * sizeof *d->curve);
    for (size_t b = 0; b < d->blocks; b++) {
        const double *sums = d->sums + b * sums_size(c), *curve = sums + 1 + 2 * c;
        f += sums[0];
        for (size_t k = 0; k < c; k++) d->gradient[k] += sums[1 + k];
        for (size_t k = 0; k < square; k++) d->curve[k] += curve[k];
    }
    set_deficits(d);
    for (size_t k = 0; k < c; k++) f += d->counts[k] * v[k];
    return f;
}

static double error_of(const ssl_darp *d) {
    double most = 0;
    for (size_t k = 0; k < d->c; k++) most = fmax(most, fabs(d->gradient[k]));
    return most;
}

/* step = Hessian^-1 gradient, by Cholesky. f is constant along the vector of ones, and
 * the gradient is orthogonal to it, so the Hessian is regularised in this direction.
 * False: the Hessian's trace is not positive. */
static bool solve(ssl_darp *d) {
    size_t c = d->c;
    double *l = d->curve, *y = d->step, trace = 0;
    for (size_t k = 0; k < c; k++) trace += l[k * c + k];
    double lift = trace / (double)(c * c);
    if (!(lift > 0)) return false;
    for (size_t i = 0; i < c; i++) {
        double right = d->gradient[i];
        for (size_t j = 0; j <= i; j++) {
            double sum = l[i * c + j] + lift;
            for (size_t k = 0; k < j; k++) sum -= l[i * c + k] * l[j * c + k];
            if (j < i)
                l[i * c + j] = sum / l[j * c + j];
            else
                l[i * c + i] = sqrt(fmax(sum, 1e-12 * lift));
        }
        for (size_t k = 0; k < i; k++) right -= l[i * c + k] * y[k];
        y[i] = right / l[i * c + i];
    }
    for (size_t i = c; i-- > 0;) {
        for (size_t k = i + 1; k < c; k++) y[i] -= l[k * c + i] * y[k];
        y[i] /= l[i * c + i];
    }
    return true;
}

/* Takes a Newton step, halved until it lowers f, and updates *f, gradient and Hessian.
 * Usually the full step lowers f, so the first trial also computes the Hessian. False: no
 * step lowers f, or there were `most` passes. */
static bool newton_step(ssl_darp *d, size_t most, double *f, size_t *passes) {
    size_t c = d->c;
    double slope = 0, part = 1;
    if (!solve(d)) return false;
    for (size_t k = 0; k < c; k++) slope += d->step[k] * d->gradient[k];
    if (!(slope > 0) || !isfinite(slope)) return false;
    for (; *passes < most && part > DBL_EPSILON; part /= 2) {
        for (size_t k = 0; k < c; k++) d->trial[k] = d->v[k] - part * d->step[k];
        double there = value_at(d, d->trial, part == 1);
        ++*passes;
        if (!(there <= *f - 1e-4 * part * slope)) continue;
        memcpy(d->v, d->trial, c * sizeof *d->v);
        *f = there;
        if (part < 1) value_at(d, d->v, true), ++*passes;
        return true;
    }
    return false;
}

/* Subtracts the lowest multiplier from all, because only differences matter. */
static void normalise(ssl_darp *d) {
    aim(d, d->v);
    double low = d->low;
    for (size_t k = 0; k < d->c; k++) d->v[k] -= low;
    aim(d, d->v);
}

static void write_block(void *arg, size_t block) {
    ssl_darp *d = arg;
    size_t c = d->c, to = size_min((block + 1) * d->rows, d->n);
    double *p = d->sums + block * sums_size(c);
    for (size_t i = block * d->rows; i < to; i++) {
        row_at(d, i, p);
        for (size_t k = 0; k < c; k++) d->x[i * c + k] = (float)p[k];
    }
}

static size_t passes_most(const ssl_darp *d) {
    size_t entries = size_max(1, size_mul(d->n, d->c));
    return size_min(PASSES_MOST, size_max(PASSES, ENTRIES / entries));
}

/* Newton's method from the current multipliers. False: not converged. */
static bool newton(ssl_darp *d, size_t most, size_t *passes) {
    double f = value_at(d, d->v, true);
    ++*passes;
    while (error_of(d) > d->tolerance)
        if (!newton_step(d, most, &f, passes)) return false;
    return true;
}

static bool any(const double *v, size_t c) {
    for (size_t k = 0; k < c; k++)
        if (v[k] != 0) return true;
    return false;
}

ssl_darp_result ssl_darp_refine(ssl_darp *d, const float *a, float *x) {
    ssl_darp_result result = {0};
    d->a = a;
    d->x = x;
    if (d->alpha > 0) scant__loop(d->ctx, d->c, read_column, d);
    scant__loop(d->ctx, d->blocks, clean, d);
    bool warm = any(d->v, d->c), met = warm && newton(d, WARM, &result.passes);
    if (warm && !met) memset(d->v, 0, d->c * sizeof *d->v);
    if (!met && !newton(d, passes_most(d), &result.passes)) {
        value_at(d, d->v, false); /* the gradient may be that of a rejected trial */
        result.passes++;
    }
    result.error = error_of(d);
    normalise(d);
    scant__loop(d->ctx, d->blocks, write_block, d);
    return result;
}
