/* SPDX-License-Identifier: Apache-2.0
 *
 * Sums in double, and one Cholesky factorization (quantities.h).
 */
#include "study/quantities.h"

#include <math.h>
#include <string.h>

#include "core/blas.h"
#include "core/mem.h"
#include "linalg/dense.h"
#include "linalg/products.h"

/* ---- checks ---------------------------------------------------------------------- */

scant_status study_check_kernel(scant_ctx *ctx, const double *k, size_t n) {
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            if (!isfinite(k[i * n + j]))
                return scant__fail(ctx, SCANT_EINPUT,
                                   "row %zu, column %zu of the kernel is not finite", i,
                                   j);
    return SCANT_OK;
}

scant_status study_check_labels(scant_ctx *ctx, const int32_t *labels, size_t n,
                                size_t classes, size_t *labelled) {
    *labelled = 0;
    for (size_t i = 0; i < n; i++) {
        if (labels[i] < -1 || (labels[i] >= 0 && (size_t)labels[i] >= classes))
            return scant__fail(ctx, SCANT_EINPUT,
                               "sample %zu has the label %d, expected -1 (none) to %zu",
                               i, (int)labels[i], classes - 1);
        *labelled += labels[i] >= 0;
    }
    return SCANT_OK;
}

double study_alignment(const double *k, size_t n, const int32_t *labels) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        double row = 0;
        for (size_t j = 0; labels[i] >= 0 && j < n; j++)
            if (labels[j] == labels[i]) row += k[i * n + j];
        sum += row;
    }
    return sum;
}

/* ---- the bound B ----------------------------------------------------------------- */

enum { POWERS = 24 }; /* powers of ten tried as jitter before K is rejected */

typedef struct bound_call {
    const double *k;
    size_t n, classes;
    const int32_t *labels;
    double unit;             /* the smallest jitter above 0; 0: K = 0 */
    double zero;             /* lower limit of the jitter; 0: try without jitter first */
    double *factor, *solved; /* (n, n), (n, classes) */
    double jitter, bound;
} bound_call;

static bool factorize(bound_call *c, double jitter) {
    size_t n = c->n;
    double most = 0, least = INFINITY;
    memcpy(c->factor, c->k, n * n * sizeof *c->factor);
    for (size_t i = 0; i < n; i++) {
        c->factor[i * n + i] += jitter;
        most = fmax(most, c->factor[i * n + i]);
    }
    if (!la_cholesky(n, c->factor, n)) return false;
    for (size_t i = 0; i < n; i++) least = fmin(least, c->factor[i * n + i]);
    return least * least > 1e-12 * most;
}

static scant_status bound_block(void *arg, size_t block, unsigned worker,
                                scant__fault *fault) {
    bound_call *c = arg;
    size_t n = c->n, columns = c->classes;
    double sum = 0, jitter = 0, next = c->unit;
    int power = 0;
    (void)block, (void)worker;
    while (jitter < c->zero && c->unit > 0 && power++ <= POWERS)
        jitter = next, next *= 10;
    while (!factorize(c, jitter)) {
        if (!(c->unit > 0)) { /* then K = 0 */
            c->jitter = 0, c->bound = INFINITY;
            return SCANT_OK;
        }
        if (power++ > POWERS)
            return scant__fault_set(fault, SCANT_EINPUT,
                                    "the matrix of %zu rows is not a kernel: it has "
                                    "eigenvalues far below zero",
                                    n);
        jitter = next;
        next *= 10;
    }
    memset(c->solved, 0, n * columns * sizeof *c->solved);
    for (size_t i = 0; i < n; i++)
        if (c->labels[i] >= 0) c->solved[i * columns + (size_t)c->labels[i]] = 1;
    la_solve_lower(n, columns, c->factor, n, c->solved, columns);
    for (size_t i = 0; i < n * columns; i++) sum += c->solved[i] * c->solved[i];
    c->jitter = jitter;
    c->bound = sqrt(2 * sum / (double)n);
    return SCANT_OK;
}

scant_status study_bound(scant_ctx *ctx, const double *k, size_t n, const int32_t *labels,
                         size_t classes, double zero, double *jitter, double *bound) {
    bound_call c = {.k = k, .n = n, .classes = classes, .labels = labels, .zero = zero};
    AUTO(scant__arena_end) scant__arena arena = {.ctx = ctx};
    size_t labelled;
    *jitter = *bound = 0;
    if (!n || !classes) return SCANT_OK;
    TRY(la_fits(ctx, n));
    TRY(la_fits(ctx, classes));
    TRY(study_check_kernel(ctx, k, n));
    TRY(study_check_labels(ctx, labels, n, classes, &labelled));
    for (size_t i = 0; i < n; i++) c.unit += k[i * n + i];
    c.unit *= 1e-8 / (double)n;
    c.factor = TRY_NEW(&arena, double, size_mul(n, n));
    c.solved = TRY_NEW(&arena, double, size_mul(n, classes));
    TRY(scant__blas_for(ctx, NULL, 1, bound_block, &c));
    *jitter = c.jitter;
    *bound = c.bound;
    return SCANT_OK;
}

/* ---- comparisons of sets --------------------------------------------------------- */

/* Returns the sum of k[a[i]][b[j]] over positions i != j. */
static double pairs_apart(const double *k, size_t apart, const size_t *a, size_t n,
                          const size_t *b, size_t m) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        const double *from = k + a[i] * apart;
        double row = 0;
        for (size_t j = 0; j < m; j++)
            if (j != i) row += from[b[j]];
        sum += row;
    }
    return sum;
}

double study_mmd_square(const double *k, size_t apart, const size_t *s0, size_t m,
                        const size_t *s, size_t count) {
    if (m > count) return study_mmd_square(k, apart, s, count, s0, m);
    if (m < 2) return 0;
    double a = (double)m, b = (double)count;
    return pairs_apart(k, apart, s0, m, s0, m) / (a * (a - 1)) +
           pairs_apart(k, apart, s, count, s, count) / (b * (b - 1)) -
           2 * (pairs_apart(k, apart, s0, m, s, count) / (a * (b - 1)));
}

double study_mmd(const double *k, size_t apart, const size_t *s0, size_t m,
                 const size_t *s, size_t count) {
    return sqrt(fmax(0, study_mmd_square(k, apart, s0, m, s, count)));
}

double study_kendall(const double *a, const double *b, size_t n) {
    double order = 0, apart_a = 0, apart_b = 0; /* pairs; below 2^53 */
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++) {
            int x = (a[i] > a[j]) - (a[i] < a[j]), y = (b[i] > b[j]) - (b[i] < b[j]);
            order += x * y;
            apart_a += x != 0;
            apart_b += y != 0;
        }
    return apart_a > 0 && apart_b > 0 ? order / sqrt(apart_a * apart_b) : (double)NAN;
}

double study_training_dynamics(const double *k, size_t n, const int32_t *labels,
                               size_t classes, const float *f) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        const float *a = f + i * classes;
        double row = 0;
        for (size_t j = 0; j <= i; j++) {
            const float *b = f + j * classes;
            double dot = 0; /* <a - e_y, b - e_z>, multiplied out */
            for (size_t c = 0; c < classes; c++) dot += (double)a[c] * (double)b[c];
            if (labels[j] >= 0) dot -= (double)a[labels[j]];
            if (labels[i] >= 0) dot -= (double)b[labels[i]];
            if (labels[i] >= 0 && labels[i] == labels[j]) dot += 1;
            row += (j < i ? k[i * n + j] + k[j * n + i] : k[i * n + i]) * dot;
        }
        sum += row;
    }
    return sum;
}

/* ---- the spectrum ---------------------------------------------------------------- */

void study_spectrum_of(const double *values, size_t n, double tolerance,
                       study_spectrum *out) {
    *out = (study_spectrum){.smallest = n ? INFINITY : 0};
    for (size_t i = 0; i < n; i++) {
        out->trace += values[i];
        out->largest = fmax(out->largest, values[i]);
        out->smallest = fmin(out->smallest, values[i]);
    }
    double least = INFINITY, sum = 0, squares = 0, top = out->largest;
    for (size_t i = 0; top > 0 && i < n; i++) {
        double part = fmax(0, values[i] / top);
        sum += part;
        squares += part * part;
        if (!(part > tolerance)) continue;
        out->rank++;
        least = fmin(least, values[i]);
    }
    out->positive = out->rank ? least : 0;
    out->part = out->rank ? top / least : (double)INFINITY;
    out->condition = out->rank == n && n ? top / out->smallest : (double)INFINITY;
    out->dimension = squares > 0 ? sum * sum / squares : 0;
}

void study_energies(const double *vectors, size_t n, const int32_t *labels,
                    size_t classes, double *energy, double *room) {
    for (size_t i = 0; i < n; i++) {
        const double *v = vectors + i * n;
        memset(room, 0, classes * sizeof *room);
        for (size_t j = 0; j < n; j++)
            if (labels[j] >= 0) room[labels[j]] += v[j];
        energy[i] = 0;
        for (size_t c = 0; c < classes; c++) energy[i] += room[c] * room[c];
    }
}

double study_residual(const double *values, const double *energy, size_t n, double rate,
                      double t) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        double shrink = fabs(1 - rate * fmax(0, values[i]));
        if (energy[i] > 0) sum += pow(shrink, 2 * t) * energy[i];
    }
    return sum;
}

double study_steps(const double *values, const double *energy, size_t n, double rate,
                   double part) {
    double goal = part * study_residual(values, energy, n, rate, 0), low = 0, high = 1;
    const double most = 0x1p50;
    if (!(part < 1)) return 0;
    while (!(study_residual(values, energy, n, rate, high) <= goal)) {
        if (high >= most) return INFINITY;
        low = high;
        high *= 2;
    }
    while (high - low > 1) { /* E_t^2 is convex in t: it passes the goal only once here */
        double middle = floor((low + high) / 2);
        if (study_residual(values, energy, n, rate, middle) <= goal)
            high = middle;
        else
            low = middle;
    }
    return high;
}

study_interval study_theorem1(double labelled, double alignment, double rate, double t) {
    return (study_interval){labelled - 2 * t * rate * alignment,
                            labelled - rate * alignment};
}

study_interval study_theorem2(double labelled, double alignment, double largest,
                              double smallest, study_factors *factors) {
    double low = labelled > 0 ? labelled * labelled / alignment : 0;
    double paper = smallest > 0 ? largest / smallest : (double)INFINITY;
    /* (a + b)^2 / (4 a b) with a / b = paper, without overflow */
    double sharp = isinf(paper) ? (double)INFINITY : (paper + 2 + 1 / paper) / 4;
    if (factors) *factors = (study_factors){paper, sharp};
    return (study_interval){low, labelled > 0 ? low * sharp : 0};
}
