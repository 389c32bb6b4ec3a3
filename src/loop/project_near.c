/* SPDX-License-Identifier: Apache-2.0
 *
 * Similar items, and why an item may be worth labelling. Distances are Euclidean between
 * standardized features, divided by the square root of twice the number of columns, so
 * that unrelated items are about 1 apart. A search is one pass over the mapped features
 * on all threads; the deviations are cached with the handle.
 */
#include <math.h>
#include <string.h>

#include "core/argmax.h"
#include "core/parfor.h"
#include "core/rng.h"
#include "linalg/topk.h"
#include "loop/project.h"
#include "scant/project.h"

enum { BLOCK = 512, SAMPLE = 300, BEST = 1024 };

/* ---- distances --------------------------------------------------------------------- */

typedef struct metric {
    const float *x;
    size_t n, d;
    const float *inverse; /* 1 / deviation of each column */
} metric;

static double distance(const metric *s, const float *a, const float *b) {
    float sums[8] = {0};
    size_t j = 0;
    double sum = 0;
    for (; j + 8 <= s->d; j += 8)
        for (size_t k = 0; k < 8; k++) {
            float v = (a[j + k] - b[j + k]) * s->inverse[j + k];
            sums[k] += v * v;
        }
    for (; j < s->d; j++) {
        float v = (a[j] - b[j]) * s->inverse[j];
        sum += (double)(v * v);
    }
    for (size_t k = 0; k < 8; k++) sum += (double)sums[k];
    return sqrt(sum / (2 * (double)s->d));
}

static scant_status metric_open(scant_project *project, metric *out) {
    const scant_array *array;
    *out = (metric){0};
    TRY(project_features_cached(project, &array));
    if (!array) return SCANT_OK;
    out->x = (const float *)array->data;
    out->n = scant_array_shape(array)[0];
    out->d = scant_array_shape(array)[1];
    return project_inverse(project, array, &out->inverse);
}

/* ---- nearest ----------------------------------------------------------------------- */

typedef struct search {
    const metric *by;
    const float *to;
    const int64_t *items; /* n items, in any order */
    size_t n, count;
    la_scored *best; /* blocks x count */
    size_t *found;   /* for each block */
} search;

static scant_status search_block(void *arg, size_t block, unsigned worker,
                                 scant__fault *fault) {
    (void)worker;
    (void)fault;
    search *s = arg;
    size_t to = size_min((block + 1) * BLOCK, s->n);
    la_topk top;
    la_topk_init(&top, s->best + block * s->count, s->count);
    for (size_t i = block * BLOCK; i < to; i++) {
        size_t item = (size_t)s->items[i];
        if (item >= s->by->n) continue;
        la_topk_offer(&top, -distance(s->by, s->to, s->by->x + item * s->by->d), item);
    }
    s->found[block] = top.count;
    return SCANT_OK;
}

/* Writes the `count` items nearest to a row to out, nearest first; *n: their number. */
static scant_status nearest(scant__arena *arena, const metric *by, const float *to,
                            const int64_t *items, size_t n_items, size_t count,
                            la_scored *out, size_t *n) {
    size_t blocks = (n_items + BLOCK - 1) / BLOCK;
    search s = {by, to, items, n_items, size_min(count, BLOCK), NULL, NULL};
    la_topk top;
    *n = 0;
    if (!blocks || !count) return SCANT_OK;
    s.best = TRY_NEW(arena, la_scored, size_mul(blocks, s.count));
    s.found = TRY_NEW(arena, size_t, blocks);
    TRY(scant__parfor(arena->ctx, NULL, blocks, search_block, &s));
    la_topk_init(&top, out, count);
    for (size_t b = 0; b < blocks; b++)
        for (size_t i = 0; i < s.found[b]; i++)
            la_topk_offer(&top, s.best[b * s.count + i].score,
                          s.best[b * s.count + i].index);
    la_topk_sort(&top);
    *n = top.count;
    return SCANT_OK;
}

static scant_status check_item(scant_project *project, size_t item) {
    size_t n;
    TRY(store_items(project, &n));
    if (item < n) return SCANT_OK;
    return scant__fail(store_ctx(project), SCANT_ENOTFOUND,
                       "there is no item %zu: there are %zu, counted from 0", item, n);
}

/* ---- similar items ----------------------------------------------------------------- */

scant_status scant_project_alike(scant_project *project, size_t item, size_t count,
                                 size_t *items, size_t *n) {
    NEED(project);
    AUTO(scant__arena_end) scant__arena arena = {.ctx = store_ctx(project)};
    int64_t *candidates;
    size_t n_candidates, kept = 0;
    metric by;
    *n = 0;
    TRY(check_item(project, item));
    TRY(metric_open(project, &by));
    if (item >= by.n)
        return scant__fail(arena.ctx, SCANT_ENOTREADY,
                           "similar items cannot be found without features: %s",
                           by.n ? "the item is new" : "train a model first");
    count = size_min(count, BEST);
    TRY(store_candidates(project, &arena, &candidates, &n_candidates));
    for (size_t i = 0; i < n_candidates; i++)
        if ((size_t)candidates[i] != item) candidates[kept++] = candidates[i];
    la_scored *best = TRY_NEW(&arena, la_scored, count + 1);
    TRY(nearest(&arena, &by, by.x + item * by.d, candidates, kept, count, best, n));
    for (size_t i = 0; i < *n; i++) items[i] = best[i].index;
    return SCANT_OK;
}

/* ---- why an item was picked -------------------------------------------------------- */

typedef struct entropy_count {
    const float *probs;
    size_t classes, n;
    double entropy;
    size_t *less; /* for each block: items with a lower entropy */
} entropy_count;

static double entropy_of(const float *p, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        if (p[i] > 0) sum -= (double)(p[i] * logf(p[i]));
    return sum;
}

static scant_status entropy_block(void *arg, size_t block, unsigned worker,
                                  scant__fault *fault) {
    (void)worker;
    (void)fault;
    entropy_count *s = arg;
    size_t to = size_min((block + 1) * BLOCK, s->n), count = 0;
    for (size_t i = block * BLOCK; i < to; i++)
        count += entropy_of(s->probs + i * s->classes, s->classes) < s->entropy;
    s->less[block] = count;
    return SCANT_OK;
}

static scant_status ask_model(scant_project *project, size_t item, scant__arena *arena,
                              scant_why *why) {
    const scant_array *probs;
    TRY(project_predictions_cached(project, &probs, &why->model));
    if (!probs || item >= scant_array_shape(probs)[0]) return SCANT_OK;
    size_t n = scant_array_shape(probs)[0], classes = scant_array_shape(probs)[1];
    const float *p = (const float *)probs->data + item * classes;
    size_t first = scant__argmax(p, classes), second = first == 0;
    for (size_t c = 0; c < classes; c++)
        if (c != first && p[c] > p[second]) second = c;
    why->class_1 = (int64_t)first;
    why->p_1 = (double)p[first];
    if (classes > 1) {
        why->class_2 = (int64_t)second;
        why->p_2 = (double)p[second];
    }
    size_t blocks = (n + BLOCK - 1) / BLOCK, less = 0;
    entropy_count s = {(const float *)probs->data, classes, n, entropy_of(p, classes),
                       NULL};
    why->entropy = classes > 1 ? s.entropy / log((double)classes) : 0;
    s.less = TRY_NEW(arena, size_t, blocks);
    TRY(scant__parfor(arena->ctx, NULL, blocks, entropy_block, &s));
    for (size_t b = 0; b < blocks; b++) less += s.less[b];
    why->more_certain = n > 1 ? (double)less / (double)(n - 1) : 0;
    return SCANT_OK;
}

typedef struct farther {
    const metric *by;
    const int64_t *items;    /* n: a sample of the unlabelled items */
    const int64_t *labelled; /* n_labelled */
    size_t n, n_labelled;
    double than;
    unsigned char *out; /* n flags: farther from all labelled items than `than` */
} farther;

enum { FAR_BLOCK = 16 };

static scant_status farther_block(void *arg, size_t block, unsigned worker,
                                  scant__fault *fault) {
    (void)worker;
    (void)fault;
    farther *f = arg;
    const metric *s = f->by;
    size_t to = size_min((block + 1) * FAR_BLOCK, f->n);
    for (size_t i = block * FAR_BLOCK; i < to; i++) {
        const float *row = s->x + (size_t)f->items[i] * s->d;
        bool far = true;
        for (size_t j = 0; j < f->n_labelled && far; j++)
            far = distance(s, row, s->x + (size_t)f->labelled[j] * s->d) > f->than;
        f->out[i] = far;
    }
    return SCANT_OK;
}

/* Sets why->more_novel: the share of sampled unlabelled items with a higher novelty. */
static scant_status compare_novelty(scant_project *project, const metric *by,
                                    const int64_t *labelled, size_t n_labelled,
                                    scant__arena *arena, scant_why *why) {
    int64_t *items;
    size_t n, kept = 0, far = 0;
    const scant__rng rng = {project_seed(store_seed(project), 0, PROJECT_SEED_SAMPLE),
                            SCANT__RNG_SHUFFLE};
    TRY(store_candidates(project, arena, &items, &n));
    for (size_t i = 0; i < n; i++)
        if ((size_t)items[i] < by->n) items[kept++] = items[i];
    for (size_t i = 0; i < kept && kept > SAMPLE && i < SAMPLE; i++) {
        size_t at = i + (size_t)scant__rng_below(&rng, i, kept - i);
        int64_t swap = items[i];
        items[i] = items[at];
        items[at] = swap;
    }
    farther f = {by,         items,        labelled, size_min(kept, SAMPLE),
                 n_labelled, why->novelty, NULL};
    f.out = TRY_ZERO(arena, unsigned char, f.n + 1);
    TRY(scant__parfor(arena->ctx, NULL, (f.n + FAR_BLOCK - 1) / FAR_BLOCK, farther_block,
                      &f));
    for (size_t i = 0; i < f.n; i++) far += f.out[i];
    if (f.n) why->more_novel = (double)far / (double)f.n;
    return SCANT_OK;
}

/* Finds the nearest labelled items, without the audit set, and the novelty. */
static scant_status find_neighbours(scant_project *project, const metric *by, size_t item,
                                    scant__arena *arena, scant_why *why) {
    size_t *rows, n, kept = 0;
    int32_t *labels;
    int64_t entry;
    la_scored best[SCANT_WHY_NEIGHBOURS];
    TRY(store_training(project, arena, &rows, &labels, &n, &entry));
    int64_t *labelled = TRY_NEW(arena, int64_t, n + 1);
    for (size_t i = 0; i < n; i++)
        if (rows[i] != item && rows[i] < by->n) labelled[kept++] = (int64_t)rows[i];
    TRY(nearest(arena, by, by->x + item * by->d, labelled, kept, SCANT_WHY_NEIGHBOURS,
                best, &why->n_neighbours));
    for (size_t i = 0; i < why->n_neighbours; i++) {
        why->neighbours[i] = best[i].index;
        why->distances[i] = -best[i].score;
    }
    if (!why->n_neighbours) return SCANT_OK;
    why->novelty = why->distances[0];
    return compare_novelty(project, by, labelled, kept, arena, why);
}

scant_status scant_project_why(scant_project *project, size_t item, scant_why *out) {
    NEED(project);
    AUTO(scant__arena_end) scant__arena arena = {.ctx = store_ctx(project)};
    metric by;
    *out = (scant_why){.class_1 = -1, .class_2 = -1};
    out->p_1 = out->p_2 = out->entropy = out->more_certain = NAN;
    out->novelty = out->more_novel = NAN;
    TRY(check_item(project, item));
    TRY(ask_model(project, item, &arena, out));
    TRY(metric_open(project, &by));
    if (item >= by.n) return SCANT_OK;
    return find_neighbours(project, &by, item, &arena, out);
}
