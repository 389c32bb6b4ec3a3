/* SPDX-License-Identifier: Apache-2.0
 *
 * A project's items in two dimensions. The axes are the first two principal components of
 * an even sample of items (report/projection.h). They are computed once and kept until
 * the features change, so the map does not move when labels and picks change. The
 * components follow from the sample's coordinates y = X v: v = X' y / y' y.
 *
 * Both axes have the same scale, with nearly all of the sample within 0.9 of the centre;
 * items beyond 1 are drawn at the border.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "data/array.h"
#include "report/projection.h"
#include "scant/project.h"
#include "store/store.h"

enum { SAMPLE = 4000 };
static const double INSIDE = 0.995; /* share of the sample within 0.9 */

typedef struct axes {
    scant_ctx *ctx;
    struct stat as; /* of the file of features */
    size_t n, d;
    double *mean, *v; /* (d), and (2, d) divided by the scale */
} axes;

static void axes_end(void *of) {
    axes *a = of;
    scant__free(a->ctx, a->mean);
    scant__free(a->ctx, a->v);
    scant__free(a->ctx, a);
}

/* ---- axes -------------------------------------------------------------------------- */

typedef struct fitting {
    scant__arena arena;
    const float *x;
    size_t n, d, m;
    size_t *rows; /* m of them */
    float *some;  /* m x d */
    double *at;   /* m x 2 */
} fitting;

static scant_status sample(fitting *f) {
    report_sample s = report_sample_begin(f->n, SAMPLE);
    f->rows = scant__arena_alloc(&f->arena, size_min(f->n, SAMPLE), sizeof *f->rows);
    if (!f->rows) return SCANT_ENOMEM;
    for (size_t i = 0; i < f->n; i++)
        if (report_sample_takes(&s)) f->rows[f->m++] = i;
    f->some = scant__arena_alloc(&f->arena, f->m, size_mul(f->d, sizeof *f->some));
    f->at = scant__arena_alloc(&f->arena, f->m, 2 * sizeof *f->at);
    if (!f->some || !f->at) return SCANT_ENOMEM;
    for (size_t i = 0; i < f->m; i++)
        memcpy(f->some + i * f->d, f->x + f->rows[i] * f->d, f->d * sizeof *f->some);
    return SCANT_OK;
}

static scant_status project_sample(fitting *f, report_axes *shown) {
    scant_ctx *ctx = f->arena.ctx;
    scant_array *array;
    select_pool pool;
    const size_t shape[] = {f->m, f->d};
    TRY(scant_array_wrap(ctx, "features", f->some, SCANT_F32, 2, shape, &array));
    scant_evidence evidence = {.features = array};
    scant_status status =
        select_pool_open(ctx, &evidence, SCANT_FEATURES, "the map", &pool);
    if (status == SCANT_OK) status = select_pool_read(&f->arena, &pool);
    for (size_t i = 0; i < f->m; i++) f->rows[i] = i;
    if (status == SCANT_OK)
        status = report_project(&f->arena, &pool, f->rows, f->m, f->at, shown);
    scant_array_free(array);
    return status;
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

/* Overwrites the coordinates. */
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
    fitting f = {.x = (const float *)features->data, .n = a->n, .d = a->d};
    report_axes shown;
    scant__arena_init(&f.arena, a->ctx);
    scant_status status = sample(&f);
    if (status == SCANT_OK) take_mean(&f, a);
    if (status == SCANT_OK && a->d > 2) status = project_sample(&f, &shown);
    if (status == SCANT_OK) {
        for (size_t axis = 0; axis < 2 && a->d > 2; axis++) take_component(&f, axis, a);
        for (size_t axis = 0; axis < a->d && a->d <= 2; axis++)
            a->v[axis * a->d + axis] = 1;
        scale(&f, a);
    }
    scant__arena_end(&f.arena);
    return status;
}

static bool is_same(const struct stat *a, const struct stat *b) {
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static scant_status find_axes(scant_project *project, const scant_array *features,
                              const axes **out) {
    scant_ctx *ctx = store_ctx(project);
    void **slot = store_attached(project, STORE_MAP, axes_end);
    struct stat as;
    *out = *slot;
    if (stat(scant_array_name(features), &as) != 0) as = (struct stat){0};
    if (*slot && is_same(&((axes *)*slot)->as, &as)) return SCANT_OK;
    if (*slot) axes_end(*slot);
    *slot = NULL;
    axes *a = scant__zalloc(ctx, 1, sizeof *a);
    if (!a) return SCANT_ENOMEM;
    *a = (axes){.ctx = ctx,
                .as = as,
                .n = scant_array_shape(features)[0],
                .d = scant_array_shape(features)[1]};
    a->mean = scant__alloc(ctx, a->d, sizeof *a->mean);
    a->v = scant__zalloc(ctx, a->d, 2 * sizeof *a->v);
    scant_status status = a->mean && a->v ? fit(features, a) : SCANT_ENOMEM;
    if (status != SCANT_OK) {
        axes_end(a);
        return status;
    }
    *out = *slot = a;
    return SCANT_OK;
}

/* ---- which items ------------------------------------------------------------------- */

typedef struct choice {
    size_t n, most, count;
    size_t *items;
    unsigned char *taken; /* a byte for each item */
} choice;

static void take(choice *c, size_t item) {
    if (item >= c->n || c->taken[item] || c->count == c->most) return;
    c->taken[item] = 1;
    c->items[c->count++] = item;
}

/* Picks, then labelled items, then an even sample of the others. */
static scant_status choose(scant_project *project, scant__arena *arena, choice *c) {
    size_t n_items, n_picked, labelled = 0, rest = 0;
    TRY(store_items(project, &n_items));
    int64_t *labels = scant__arena_alloc(arena, n_items, sizeof *labels);
    size_t *picked = scant__arena_alloc(arena, c->most + 1, sizeof *picked);
    c->taken = scant__arena_zalloc(arena, c->n + 1, 1);
    if (!labels || !picked || !c->taken) return SCANT_ENOMEM;
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

static scant_status draw(scant_project *project, const scant_array *features, size_t most,
                         size_t *items, float *xy, size_t *n) {
    const axes *a;
    scant__arena arena;
    choice c = {.n = scant_array_shape(features)[0], .most = most, .items = items};
    TRY(find_axes(project, features, &a));
    scant__arena_init(&arena, store_ctx(project));
    scant_status status = choose(project, &arena, &c);
    scant__arena_end(&arena);
    for (size_t i = 0; i < c.count && status == SCANT_OK; i++) {
        double at[2];
        place(a, (const float *)features->data + items[i] * a->d, at);
        xy[2 * i] = within(at[0]);
        xy[2 * i + 1] = within(at[1]);
    }
    if (status == SCANT_OK) *n = c.count;
    return status;
}

scant_status scant_project_map(scant_project *project, size_t most, size_t *items,
                               float *xy, size_t *n) {
    scant_array *features;
    *n = 0;
    TRY(scant_project_features(project, &features));
    if (!features)
        return scant__fail(store_ctx(project), SCANT_ENOTREADY,
                           "there are no features yet to draw a map by: train a model "
                           "first");
    scant_status status = SCANT_OK;
    if (scant_array_shape(features)[0] && most)
        status = draw(project, features, most, items, xy, n);
    scant_array_free(features);
    return status;
}
