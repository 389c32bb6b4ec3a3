/* SPDX-License-Identifier: Apache-2.0
 *
 * A project's items in two dimensions. The axes are the first two principal components of
 * an even sample of items (report/projection.h), or the features if there are one or two.
 * They are computed once and kept until the features change, so the map does not move
 * when labels and picks change. The components v follow from the coordinates y = X v of
 * the sample: v = X' y / y' y.
 *
 * Both axes have the same scale, with nearly all of the sample within 0.9 of the centre;
 * items beyond 1 are drawn at the border.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "loop/project.h"
#include "report/projection.h"
#include "scant/project.h"

enum { SAMPLE = 4000 };
static const double INSIDE = 0.995; /* share of the sample within 0.9 */

typedef struct axes {
    scant__arena arena;
    struct stat as; /* of the features file */
    size_t d;
    double *mean, *v; /* (d), and (2, d) divided by the scale */
} axes;

static void axes_end(void *of) {
    axes *a = of;
    scant_ctx *ctx = a->arena.ctx;
    scant__arena_end(&a->arena);
    scant__free(ctx, a);
}

/* ---- axes -------------------------------------------------------------------------- */

typedef struct fitting {
    scant__arena *arena;
    const float *x;
    size_t n, d, m;
    size_t *rows; /* sampled rows, m */
    float *some;  /* m x d */
    double *at;   /* m x 2 */
} fitting;

static scant_status sample(fitting *f) {
    report_sample s = report_sample_begin(f->n, SAMPLE);
    f->rows = TRY_NEW(f->arena, size_t, size_min(f->n, SAMPLE));
    for (size_t i = 0; i < f->n; i++)
        if (report_sample_takes(&s)) f->rows[f->m++] = i;
    f->some = TRY_NEW(f->arena, float, size_mul(f->m, f->d));
    f->at = TRY_NEW(f->arena, double, 2 * f->m);
    for (size_t i = 0; i < f->m; i++)
        memcpy(f->some + i * f->d, f->x + f->rows[i] * f->d, f->d * sizeof *f->some);
    return SCANT_OK;
}

static scant_status project_sample(fitting *f, report_axes *shown) {
    AUTO(scant_array_auto) scant_array *array = NULL;
    scant_ctx *ctx = f->arena->ctx;
    select_pool pool;
    const size_t shape[] = {f->m, f->d};
    TRY(scant_array_wrap(ctx, "features", f->some, SCANT_F32, 2, shape, &array));
    scant_evidence evidence = {.features = array};
    TRY(select_pool_open(ctx, &evidence, SCANT_FEATURES, "the map", &pool));
    TRY(select_pool_read(f->arena, &pool));
    for (size_t i = 0; i < f->m; i++) f->rows[i] = i;
    return report_project(f->arena, &pool, f->rows, f->m, f->at, shown);
}

static void take_mean(const fitting *f, axes *a) {
    for (size_t j = 0; j < f->d; j++) a->mean[j] = 0;
    for (size_t i = 0; i < f->m; i++)
        for (size_t j = 0; j < f->d; j++)
            a->mean[j] += (double)f->some[i * f->d + j] / (double)f->m;
}

static void take_component(const fitting *f, size_t axis, axes *a) {
    double *v = a->v + axis * f->d, mean = 0, square = 0;
    for (size_t i = 0; i < f->m; i++) mean += f->at[2 * i + axis] / (double)f->m;
    for (size_t i = 0; i < f->m; i++) {
        double y = f->at[2 * i + axis] - mean;
        for (size_t j = 0; j < f->d; j++)
            v[j] += y * ((double)f->some[i * f->d + j] - a->mean[j]);
    }
    for (size_t j = 0; j < f->d; j++) square += v[j] * v[j];
    for (size_t j = 0; j < f->d && square > 0; j++) v[j] /= sqrt(square);
}

static void place(const axes *a, const float *row, double out[2]) {
    out[0] = out[1] = 0;
    for (size_t j = 0; j < a->d; j++) {
        double x = (double)row[j] - a->mean[j];
        out[0] += x * a->v[j];
        out[1] += x * a->v[a->d + j];
    }
}

static int by_size(const void *a, const void *b) {
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Scales the axes; overwrites the coordinates in f->at. */
static void scale(fitting *f, axes *a) {
    for (size_t i = 0; i < f->m; i++) {
        double at[2];
        place(a, f->some + i * f->d, at);
        f->at[i] = fmax(fabs(at[0]), fabs(at[1]));
    }
    qsort(f->at, f->m, sizeof *f->at, by_size);
    double most = f->at[(size_t)(INSIDE * (double)(f->m - 1))];
    if (!(most > 0)) most = f->at[f->m - 1];
    for (size_t j = 0; j < 2 * a->d && most > 0; j++) a->v[j] *= 0.9 / most;
}

static scant_status fit(const scant_array *features, axes *a) {
    AUTO(scant__arena_end) scant__arena arena = {.ctx = a->arena.ctx};
    fitting f = {.arena = &arena,
                 .x = (const float *)features->data,
                 .n = scant_array_shape(features)[0],
                 .d = a->d};
    report_axes shown;
    a->mean = TRY_NEW(&a->arena, double, a->d);
    a->v = TRY_ZERO(&a->arena, double, 2 * a->d);
    TRY(sample(&f));
    take_mean(&f, a);
    if (a->d > 2) TRY(project_sample(&f, &shown));
    for (size_t axis = 0; axis < size_min(a->d, 2); axis++)
        if (a->d > 2)
            take_component(&f, axis, a);
        else
            a->v[axis * a->d + axis] = 1;
    scale(&f, a);
    return SCANT_OK;
}

static scant_status find_axes(scant_project *project, const scant_array *features,
                              const axes **out) {
    scant_ctx *ctx = store_ctx(project);
    void **slot = store_attached(project, STORE_MAP, axes_end);
    struct stat as;
    if (stat(scant_array_name(features), &as) != 0) as = (struct stat){0};
    *out = *slot;
    if (*out && project_same_file(&(*out)->as, &as)) return SCANT_OK;
    if (*slot) axes_end(*slot);
    axes *a = *slot = scant__zalloc(ctx, 1, sizeof *a);
    if (!a) return SCANT_ENOMEM;
    *a = (axes){.arena = {.ctx = ctx}, .as = as, .d = scant_array_shape(features)[1]};
    scant_status status = fit(features, a);
    if (status != SCANT_OK) {
        axes_end(a);
        *slot = NULL;
    }
    *out = *slot;
    return status;
}

/* ---- choice of items --------------------------------------------------------------- */

typedef struct choice {
    size_t n, most, count;
    size_t *items;
    unsigned char *taken; /* n flags */
} choice;

static void take(choice *c, size_t item) {
    if (item >= c->n || c->taken[item] || c->count == c->most) return;
    c->taken[item] = 1;
    c->items[c->count++] = item;
}

/* Chooses all picks, then labelled items, then others, until there are c->most. If a
 * group does not fit, chooses an even sample of it. */
static scant_status choose(scant_project *project, scant__arena *arena, choice *c) {
    size_t n_items, n_picked, labelled = 0, rest = 0;
    TRY(store_items(project, &n_items));
    int64_t *labels = TRY_NEW(arena, int64_t, n_items);
    size_t *picked = TRY_NEW(arena, size_t, c->most + 1);
    c->taken = TRY_ZERO(arena, unsigned char, c->n + 1);
    TRY(scant_project_labels(project, labels, n_items));
    TRY(scant_project_picked(project, c->most, picked, &n_picked));
    for (size_t i = 0; i < size_min(n_picked, c->most); i++) take(c, picked[i]);
    size_t n = size_min(c->n, n_items);
    for (size_t i = 0; i < n; i++) {
        labelled += !c->taken[i] && labels[i] >= 0;
        rest += !c->taken[i] && labels[i] < 0;
    }
    report_sample known = report_sample_begin(labelled, c->most - c->count);
    for (size_t i = 0; i < n; i++)
        if (!c->taken[i] && labels[i] >= 0 && report_sample_takes(&known)) take(c, i);
    report_sample others = report_sample_begin(rest, c->most - c->count);
    for (size_t i = 0; i < n; i++)
        if (!c->taken[i] && labels[i] < 0 && report_sample_takes(&others)) take(c, i);
    return SCANT_OK;
}

static float within(double x) { return (float)fmax(-1, fmin(1, x)); }

scant_status scant_project_map(scant_project *project, size_t most, size_t *items,
                               float *xy, size_t *n) {
    NEED(project);
    AUTO(scant__arena_end) scant__arena arena = {.ctx = store_ctx(project)};
    AUTO(scant_array_auto) scant_array *features = NULL;
    const axes *a;
    *n = 0;
    TRY(scant_project_features(project, &features));
    if (!features)
        return scant__fail(arena.ctx, SCANT_ENOTREADY,
                           "the map needs features: train a model first");
    choice c = {.n = scant_array_shape(features)[0], .most = most, .items = items};
    if (!c.n || !most) return SCANT_OK;
    TRY(find_axes(project, features, &a));
    TRY(choose(project, &arena, &c));
    for (size_t i = 0; i < c.count; i++) {
        double at[2];
        place(a, (const float *)features->data + items[i] * a->d, at);
        xy[2 * i] = within(at[0]);
        xy[2 * i + 1] = within(at[1]);
    }
    *n = c.count;
    return SCANT_OK;
}
