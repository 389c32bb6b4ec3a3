/* SPDX-License-Identifier: Apache-2.0
 *
 * The study of a kernel matrix: one eigendecomposition and one Cholesky factorization,
 * and the quantities of study/quantities.h. Memory besides the matrix: 3 n^2 doubles for
 * eigenvectors, n^2 without labels; then n^2 for the bound.
 *
 * A full kernel has a row for each sample and output. Y is one vector then: the row of a
 * sample's own class has the label 0, the others have none.
 */
#include "study/study.h"

#include <math.h>
#include <string.h>

#include "linalg/dense.h"
#include "study/quantities.h"

_Static_assert((int)SCANT_STUDY_ROWS == (int)LA_EIGH_MOST, "as in scant/study.h");

/* A study and the arena of its lists. */
typedef struct owned {
    scant_study study;
    scant__arena arena;
} owned;

scant_study *study_new(scant_ctx *ctx, size_t n, bool energy, bool start,
                       study_lists *lists, const scant_study *begun) {
    owned *o = scant__zalloc(ctx, 1, sizeof *o);
    if (!o) return NULL;
    scant_study *s = &o->study;
    *o = (owned){.study = *begun, .arena = {.ctx = ctx}};
    *lists = (study_lists){scant__arena_zalloc(&o->arena, n, sizeof(double)), NULL, NULL};
    if (energy) lists->energy = scant__arena_zalloc(&o->arena, n, sizeof(double));
    if (start) lists->start = scant__arena_zalloc(&o->arena, n, sizeof(double));
    s->n_values = n;
    s->values = lists->values;
    s->energy = lists->energy;
    s->start_energy = lists->start;
    if (s->values && (!energy || s->energy) && (!start || s->start_energy)) return s;
    scant_study_free(ctx, s);
    return NULL;
}

void scant_study_free(scant_ctx *ctx, scant_study *study) {
    owned *o = (owned *)(void *)study;
    if (!o) return;
    scant__arena_end(&o->arena);
    scant__free(ctx, o);
}

void study_end(scant_study **study) {
    owned *o = (owned *)(void *)*study;
    if (o) scant_study_free(o->arena.ctx, *study);
}

/* ---- numbers from spectrum and energies ------------------------------------------ */

/* Returns the energy that descent does not reduce: rest, and the energy along
 * eigenvectors whose eigenvalue counts as 0. */
static double unreachable(const scant_study *s, const double *energy, double rest) {
    for (size_t i = s->rank; i < s->n_values; i++) rest += energy[i];
    return rest;
}

static double residual(const scant_study *s, const double *energy, double rest,
                       double rate, double t) {
    return study_residual(s->values, energy, s->rank, rate, t) +
           unreachable(s, energy, rest);
}

static double steps(const scant_study *s, const double *energy, double rest, double rate,
                    double part) {
    double all = residual(s, energy, rest, rate, 0), left = unreachable(s, energy, rest);
    /* without the unreachable part, the goal is (part all - left) / (all - left) */
    if (!(all > 0)) return 0;
    if (!(part * all > left)) return INFINITY;
    return study_steps(s->values, energy, s->rank, rate,
                       (part * all - left) / (all - left));
}

static void complete_descent(scant_study *s, size_t classes) {
    double top = s->largest;
    if (!(s->rate > 0)) s->rate = top > 0 ? 1 / top : (double)NAN;
    s->stable_rate = top > 0 ? 2 / top : (double)NAN;
    s->mean_rate =
        classes && top > 0 ? (double)(s->samples * classes) / top : (double)NAN;
    s->sufficient_rate = top > 0 ? s->positive / top / top : (double)NAN;
    s->contraction = top > 0
                         ? fmax(fabs(1 - s->rate * s->positive), fabs(1 - s->rate * top))
                         : (double)NAN;
    s->tenth = s->hundredth = s->start_tenth = s->start_hundredth = NAN;
    if (s->energy) {
        s->tenth = steps(s, s->energy, s->rest, s->rate, 0.1);
        s->hundredth = steps(s, s->energy, s->rest, s->rate, 0.01);
    }
    if (s->start_energy) {
        s->start_tenth = steps(s, s->start_energy, s->start_rest, s->rate, 0.1);
        s->start_hundredth = steps(s, s->start_energy, s->start_rest, s->rate, 0.01);
    }
}

static void complete_spectrum(scant_study *s, double noise) {
    study_spectrum spectrum;
    if (!(s->tolerance > 0)) s->tolerance = STUDY_RANK_TOLERANCE;
    study_spectrum_of(s->values, s->n_values, s->tolerance, &spectrum);
    if (spectrum.largest >
        0) { /* a matrix of n^2 independent errors has sqrt(n) times the norm of one */
        double rows = (double)(s->samples * s->outputs);
        double explained = noise * spectrum.trace / sqrt(rows) / spectrum.largest;
        s->tolerance = fmin(0.5, fmax(s->tolerance, explained));
    }
    study_spectrum_of(s->values, s->n_values, s->tolerance, &spectrum);
    s->trace = spectrum.trace;
    s->largest = spectrum.largest;
    s->smallest = spectrum.smallest;
    s->positive = spectrum.positive;
    s->rank = spectrum.rank;
    s->condition = spectrum.condition;
    s->positive_condition = spectrum.part;
    s->dimension = spectrum.dimension;
    if (s->n_values < s->samples * s->outputs) { /* other eigenvalues are 0 */
        s->smallest = fmin(0, s->smallest);
        s->condition = INFINITY;
    }
}

/* Returns Tr(R^T K R), R = start - Y, from the eigenvalues; NaN: start is unknown. */
static double dynamics(const scant_study *s) {
    double sum = 0;
    if (!s->start_energy) return NAN;
    for (size_t i = 0; i < s->n_values; i++) sum += s->values[i] * s->start_energy[i];
    return sum;
}

void study_complete(scant_study *s, size_t classes, double noise) {
    complete_spectrum(s, noise);
    complete_descent(s, classes);
    s->dynamics = dynamics(s);
    if (!s->energy) {
        s->alignment = s->alignment_part = s->bound = s->jitter = NAN;
        s->half_square = s->low = s->factor = s->sharp_factor = NAN;
        return;
    }
    double labelled = (double)s->labelled;
    s->alignment_part = s->largest > 0 && labelled > 0
                            ? s->alignment / (labelled * s->largest)
                            : (double)NAN;
    if (isnan(s->bound)) { /* a sketch has no bound */
        s->half_square = s->low = s->factor = s->sharp_factor = NAN;
        return;
    }
    study_factors factors;
    study_interval ends = study_theorem2(labelled, s->alignment + s->jitter * labelled,
                                         s->largest + s->jitter,
                                         fmax(0, s->smallest + s->jitter), &factors);
    s->half_square = (double)s->samples / 2 * s->bound * s->bound;
    s->low = ends.low;
    s->factor = factors.paper;
    s->sharp_factor = factors.kantorovich;
}

scant_descent scant_study_descent(const scant_study *s, double rate, double t) {
    scant_descent d = {NAN, NAN, NAN};
    if (!s->energy) return d;
    study_interval ends = study_theorem1((double)s->labelled, s->alignment, rate, t);
    d.left = residual(s, s->energy, s->rest, rate, t);
    d.low = fmax(0, ends.low);
    d.high = ends.high;
    return d;
}

double scant_study_loss(const scant_study *s, double rate, double t) {
    if (!s->start_energy) return NAN;
    return residual(s, s->start_energy, s->start_rest, rate, t) / 2;
}

/* ---- the study of a matrix ------------------------------------------------------- */

typedef struct work {
    scant_ctx *ctx;
    scant__arena *arena;
    const double *k;
    size_t n;              /* rows */
    const int32_t *labels; /* labels of the kernel's rows; NULL: none */
    size_t classes;        /* classes of those labels */
    const double *left;    /* (n, classes): start - Y; NULL: unknown */
    study_lists lists;
} work;

/* Computes the energy of `left` along each eigenvector. */
static void energies_of(const double *vectors, size_t n, const double *left,
                        size_t classes, double *energy, double *room) {
    for (size_t i = 0; i < n; i++) {
        memset(room, 0, classes * sizeof *room);
        for (size_t j = 0; j < n; j++)
            for (size_t c = 0; c < classes; c++)
                room[c] += vectors[i * n + j] * left[j * classes + c];
        energy[i] = 0;
        for (size_t c = 0; c < classes; c++) energy[i] += room[c] * room[c];
    }
}

static void reverse(double *x, size_t n) {
    for (size_t i = 0; i < n / 2; i++) {
        double keep = x[i];
        x[i] = x[n - 1 - i];
        x[n - 1 - i] = keep;
    }
}

/* Computes eigenvalues and energies. Frees the eigenvectors, so that the bound can use
 * their memory. */
static scant_status decompose(work *w, const scant_study *s) {
    AUTO(scant__arena_end) scant__arena arena = {.ctx = w->ctx};
    size_t n = w->n;
    bool wanted = w->labels != NULL;
    double *sums = TRY_NEW(&arena, double, size_max(1, w->classes));
    double *vectors = TRY_NEW(&arena, double, size_mul(n, n));
    double *room = TRY_NEW(&arena, double, la_eigh_room(n, wanted));
    memcpy(vectors, w->k, n * n * sizeof *vectors);
    TRY(scant__tick(w->ctx, "eigenvalues", 0, 1));
    TRY(la_eigh_alone(w->ctx, n, vectors, wanted, w->lists.values, room));
    TRY(scant__tick(w->ctx, "eigenvalues", 1, 1));
    if (s->energy) {
        study_energies(vectors, n, w->labels, w->classes, w->lists.energy, sums);
        reverse(w->lists.energy, n);
    }
    if (s->start_energy) {
        energies_of(vectors, n, w->left, w->classes, w->lists.start, sums);
        reverse(w->lists.start, n);
    }
    reverse(w->lists.values, n);
    return SCANT_OK;
}

/* Lays out labels and start - Y by the rows of the kernel. */
static scant_status lay_out(work *w, const scant_study *s, const int32_t *labels,
                            size_t classes, const float *start) {
    size_t outputs = s->outputs;
    if (!labels) return SCANT_OK;
    int32_t *rows = TRY_NEW(w->arena, int32_t, w->n);
    double *left = TRY_NEW(w->arena, double, size_mul(s->samples, classes));
    for (size_t i = 0; i < w->n; i++) {
        int32_t label = labels[i / outputs];
        bool own = label >= 0 && (size_t)label == i % outputs;
        rows[i] = outputs == 1 ? label : own ? 0 : -1;
    }
    for (size_t i = 0; start && i < s->samples * classes; i++)
        left[i] = (double)start[i] - (labels[i / classes] == (int32_t)(i % classes));
    w->labels = rows;
    w->left = left;
    w->classes = outputs == 1 ? classes : 1;
    return SCANT_OK;
}

static scant_status study(work *w, scant_study *s, const int32_t *labels, size_t classes,
                          const float *start, double noise) {
    TRY(lay_out(w, s, labels, classes, start));
    TRY(decompose(w, s));
    if (labels) {
        complete_spectrum(s, noise);
        double zero = s->rank < w->n ? s->tolerance * s->largest : 0;
        s->alignment = study_alignment(w->k, w->n, w->labels);
        TRY(study_bound(w->ctx, w->k, w->n, w->labels, w->classes, zero, &s->jitter,
                        &s->bound));
        s->bound *= sqrt((double)s->outputs); /* n in 2 / n counts samples, not rows */
    }
    study_complete(s, classes, noise);
    return SCANT_OK;
}

scant_status scant_study_kernel(scant_ctx *ctx, const double *k, size_t samples,
                                const int32_t *labels, size_t classes,
                                const scant_study_opts *opts, scant_study **out) {
    *out = NULL;
    NEED(ctx);
    scant_study_opts o = opts ? *opts : (scant_study_opts){0};
    size_t outputs = o.outputs ? o.outputs : 1, labelled = 0;
    AUTO(scant__arena_end) scant__arena arena = {.ctx = ctx};
    work w = {.ctx = ctx, .arena = &arena, .k = k, .n = size_mul(samples, outputs)};
    if (!samples) return scant__fail(ctx, SCANT_EINPUT, "the kernel has no samples");
    if (labels && (!classes || (outputs > 1 && outputs != classes)))
        return scant__fail(ctx, SCANT_EUSAGE,
                           "there are %zu classes, but %zu outputs for each sample",
                           classes, outputs);
    if (!(o.rate >= 0) || !isfinite(o.rate) || !(o.tolerance >= 0 && o.tolerance < 1) ||
        !(o.noise >= 0))
        return scant__fail(ctx, SCANT_EUSAGE,
                           "expected a rate of at least 0, a tolerance from 0 to 1 and "
                           "a noise of at least 0");
    TRY(la_eigh_fits(ctx, w.n));
    TRY(study_check_kernel(ctx, k, w.n));
    if (labels) TRY(study_check_labels(ctx, labels, samples, classes, &labelled));
    bool start = o.start && labelled == samples;
    AUTO(study_end)
    scant_study *s = study_new(ctx, w.n, labels != NULL, start, &w.lists,
                               &(scant_study){.samples = samples,
                                              .outputs = outputs,
                                              .labelled = labelled,
                                              .rate = o.rate,
                                              .tolerance = o.tolerance});
    if (!s) return SCANT_ENOMEM;
    TRY(study(&w, s, labels, classes, start ? o.start : NULL, o.noise));
    *out = s;
    s = NULL;
    return SCANT_OK;
}

size_t scant_study_memory(size_t samples, size_t classes, size_t outputs) {
    size_t n = size_mul(samples, outputs ? outputs : 1), doubles = size_mul(4, n);
    doubles = size_add(doubles, size_mul(size_add(classes, 1), samples));
    doubles = size_add(doubles, size_mul(n, n));
    doubles = size_add(doubles, la_eigh_room(n, classes != 0));
    return size_add(size_mul(doubles, sizeof(double)), 16 << 10); /* overhead of blocks */
}

/* ---- sets of rows ---------------------------------------------------------------- */

static scant_status check_rows(scant_ctx *ctx, const size_t *rows, size_t count,
                               size_t n) {
    for (size_t i = 0; i < count; i++)
        if (rows[i] >= n)
            return scant__fail(ctx, SCANT_EINPUT,
                               "row %zu is out of range: the kernel has %zu", rows[i], n);
    return SCANT_OK;
}

/* Copies rows to order: first those that are in both sets, ascending; a row that occurs
 * several times, as often as it occurs in both. own, other: how often each of the n rows
 * occurs in the two sets. spare: n, overwritten. */
static void shared_first(const size_t *rows, size_t count, const size_t *own,
                         const size_t *other, size_t n, size_t *spare, size_t *order) {
    size_t at = 0;
    for (size_t r = 0; r < n; r++) {
        spare[r] = size_min(own[r], other[r]);
        for (size_t i = 0; i < spare[r]; i++) order[at++] = r;
    }
    for (size_t i = 0; i < count; i++)
        if (spare[rows[i]])
            spare[rows[i]]--;
        else
            order[at++] = rows[i];
}

scant_status study_kernel_mmd(scant_ctx *ctx, const double *k, size_t n, const size_t *s0,
                              size_t m, const size_t *s, size_t count, double *out) {
    AUTO(scant__arena_end) scant__arena arena = {.ctx = ctx};
    *out = (double)NAN;
    TRY(check_rows(ctx, s0, m, n));
    TRY(check_rows(ctx, s, count, n));
    if (m < 2 || count < 2) return SCANT_OK;
    size_t *a = TRY_ZERO(&arena, size_t, n), *b = TRY_ZERO(&arena, size_t, n);
    size_t *spare = TRY_NEW(&arena, size_t, n);
    size_t *first = TRY_NEW(&arena, size_t, m), *second = TRY_NEW(&arena, size_t, count);
    for (size_t i = 0; i < m; i++) a[s0[i]]++;
    for (size_t i = 0; i < count; i++) b[s[i]]++;
    shared_first(s0, m, a, b, n, spare, first);
    shared_first(s, count, b, a, n, spare, second);
    *out = study_mmd(k, n, first, m, second, count);
    return SCANT_OK;
}
