/* SPDX-License-Identifier: Apache-2.0
 *
 * The training and test samples of an experiment.
 *
 * Without `test` the data's own test part is used. Where it has none, test_size samples
 * of train are held out by seed 0, and no run may pick them.
 *
 * All images in files are read once at the start, so that a missing or damaged one is
 * reported now, not hours later in a run.
 */
#include <stdio.h>
#include <string.h>

#include "core/hash.h"
#include "core/number.h"
#include "core/parfor.h"
#include "core/rng.h"
#include "data/array.h"
#include "data/dataset.h"
#include "loop/loop.h"
#include "scant/train.h"

static const char *or_null(const char *text) { return *text ? text : NULL; }

/* ---- opening ----------------------------------------------------------------------- */

/* The default image size of a model; 0: none. */
static size_t model_side(const char *name) {
    const scant_model_info *model = scant_model_find(name);
    return model && model->shape[1] > 1 ? model->shape[1] : 0;
}

static scant_status open_part(const scant_experiment *e, const char *spec,
                              const char *labels, bool test, size_t at_least,
                              scant_data **out) {
    enum { DRAWN = 1000 };
    const loop_settings *set = &e->set;
    scant_data_opts opts = {.labels = or_null(labels),
                            .test = test,
                            .regression = strcmp(set->task, "regression") == 0,
                            .side =
                                set->data.side ? set->data.side : model_side(set->model),
                            .count = size_max(DRAWN, at_least)};
    return scant_data_open(e->ctx, spec, &opts, out);
}

static scant_status need_labels(scant_ctx *ctx, const scant_data *data, const char *key) {
    if (scant_data_labels(data) || scant_data_targets(data)) return SCANT_OK;
    return scant__fail(ctx, SCANT_EINPUT,
                       "%s: has no labels: set data.%s to a file of labels",
                       scant_data_name(data), key);
}

static scant_status open_both(const scant_experiment *e, loop_samples *s) {
    const loop_settings *set = &e->set;
    if (!*set->train)
        return scant__fail(e->ctx, SCANT_EUSAGE,
                           "data.train is missing: the samples to choose from");
    TRY(open_part(e, set->train, set->train_labels, false, set->pool, &s->train));
    TRY(need_labels(e->ctx, s->train, "train_labels"));
    if (*set->test)
        TRY(open_part(e, set->test, set->test_labels, true, set->test_size, &s->test));
    else if (scant_data_has_test(s->train))
        TRY(open_part(e, set->train, "", true, set->test_size, &s->test));
    else if (set->test_size)
        s->test = s->train;
    else
        return scant__fail(e->ctx, SCANT_EINPUT,
                           "%s: has no part to test with: give data.test, or "
                           "data.test_size to hold out samples of data.train",
                           scant_data_name(s->train));
    return need_labels(e->ctx, s->test, "test_labels");
}

/* Renumbers the classes of the test set to match those of train, by name. */
static scant_status match_classes(scant__arena *arena, const loop_samples *s) {
    bool any = false;
    if (s->test == s->train || s->regression) return SCANT_OK;
    const char **names = TRY_NEW(arena, const char *, s->classes);
    for (size_t c = 0; c < s->classes; c++) {
        names[c] = scant_data_class_name(s->train, c);
        any = any || names[c];
    }
    return any ? scant_data_renumber(s->test, names, s->classes) : SCANT_OK;
}

/* ---- usable samples ---------------------------------------------------------------- */

typedef struct checker {
    const scant_data *data;
    float *rows; /* a buffer of one sample for each worker */
    bool *bad;
    scant__fault *first; /* for each block: the first error */
} checker;

enum { BLOCK = 16 };

static scant_status check_block(void *arg, size_t block, unsigned worker,
                                scant__fault *fault) {
    checker *l = arg;
    size_t width = scant__data_width(l->data), n = scant_data_count(l->data);
    for (size_t i = block * BLOCK; i < size_min((block + 1) * BLOCK, n); i++) {
        scant_status status =
            scant__data_read(l->data, i, l->rows + worker * width, fault);
        if (status == SCANT_ENOMEM) return status;
        l->bad[i] = status != SCANT_OK;
        if (l->bad[i] && !l->first[block].text[0]) l->first[block] = *fault;
    }
    return SCANT_OK;
}

static scant_status tell_bad(scant_ctx *ctx, const scant_data *data, const checker *l,
                             bool skip) {
    enum { NAMED = 3 };
    size_t count = 0, n = scant_data_count(data);
    const char *why = "";
    char names[512] = "";
    for (size_t i = 0; i < n; i++) {
        if (!l->bad[i]) continue;
        size_t used = strlen(names);
        if (!count) why = l->first[i / BLOCK].text;
        if (count < NAMED)
            snprintf(names + used, sizeof names - used, "%s%s", count ? ", " : "",
                     scant_data_sample_name(data, i));
        count++;
    }
    const char *more = count > NAMED ? ", ..." : "";
    if (count && !skip)
        return scant__fail(ctx, SCANT_EINPUT,
                           "%s: %zu of %zu images cannot be read: %s%s (%s); "
                           "--skip-bad leaves them out",
                           scant_data_name(data), count, n, names, more, why);
    if (count)
        scant__warn(
            ctx, "%s: %zu of %zu images cannot be read and %s left out: %s%s (%s)",
            scant_data_name(data), count, n, count == 1 ? "is" : "are", names, more, why);
    return SCANT_OK;
}

/* Marks samples that cannot be read; sets *bad to NULL if samples are not in files. */
static scant_status find_bad(scant_ctx *ctx, scant__arena *arena, const scant_data *data,
                             bool skip, bool **bad) {
    size_t n = scant_data_count(data), blocks = (n + BLOCK - 1) / BLOCK;
    *bad = NULL;
    if (!scant_data_sample_name(data, 0)) return SCANT_OK;
    AUTO(scant__arena_end) scant__arena scratch = {.ctx = ctx};
    checker l = {
        .data = data,
        .rows = TRY_NEW(&scratch, float, size_mul(ctx->threads, scant__data_width(data))),
        .bad = TRY_ZERO(arena, bool, n),
        .first = TRY_ZERO(&scratch, scant__fault, blocks)};
    *bad = l.bad;
    TRY(scant__parfor(ctx, "checking images", blocks, check_block, &l));
    return tell_bad(ctx, data, &l, skip);
}

/* Lists the rows that have a label and can be read. */
static scant_status list_rows(scant_ctx *ctx, scant__arena *arena, const scant_data *data,
                              bool skip, size_t **rows, size_t *count) {
    const int32_t *labels = scant_data_labels(data);
    size_t n = scant_data_count(data), kept = 0, without = 0;
    bool *bad;
    TRY(find_bad(ctx, arena, data, skip, &bad));
    *rows = TRY_NEW(arena, size_t, n);
    for (size_t i = 0; i < n; i++) {
        bool labelled = !labels || labels[i] >= 0;
        without += !labelled;
        if (labelled && !(bad && bad[i])) (*rows)[kept++] = i;
    }
    *count = kept;
    if (without)
        scant__warn(ctx, "%s: %zu of %zu samples have no label (-1) and are left out",
                    scant_data_name(data), without, n);
    if (kept) return SCANT_OK;
    return scant__fail(ctx, SCANT_EINPUT, "%s: has no sample with a label",
                       scant_data_name(data));
}

/* Reduces the test set to the first test_size rows of a shuffle by seed 0. If it is a
 * part of train, removes it from the rows that may be picked. */
static scant_status cut_test(const scant_experiment *e, scant__arena *arena,
                             loop_samples *s) {
    size_t n = s->n_test, keep = e->set.test_size, kept = 0;
    if (s->test == s->train && keep >= n)
        return scant__fail(e->ctx, SCANT_EINPUT,
                           "data.test_size is %zu, expected less than %zu, so that "
                           "samples of %s are left for training",
                           keep, n, scant_data_name(s->train));
    if (keep > n)
        return scant__fail(e->ctx, SCANT_EINPUT,
                           "data.test_size is %zu, but %s has %zu samples with a label",
                           keep, scant_data_name(s->test), n);
    if (!keep || (keep == n && s->test != s->train)) return SCANT_OK;
    bool *taken = TRY_ZERO(arena, bool, scant_data_count(s->test));
    loop_shuffle(0, SCANT__RNG_TEST, s->test_rows, n);
    for (size_t i = 0; i < keep; i++) taken[s->test_rows[i]] = true;
    s->n_test = 0;
    for (size_t i = 0; i < scant_data_count(s->test); i++)
        if (taken[i]) s->test_rows[s->n_test++] = i;
    if (s->test != s->train) return SCANT_OK;
    for (size_t i = 0; i < s->n_rows; i++)
        if (!taken[s->rows[i]]) s->rows[kept++] = s->rows[i];
    s->n_rows = kept;
    return SCANT_OK;
}

static scant_status check_test(const scant_experiment *e, const loop_samples *s) {
    const int32_t *labels = scant_data_labels(s->test);
    for (size_t i = 0; labels && i < s->n_test; i++)
        if ((size_t)labels[s->test_rows[i]] >= s->classes)
            return scant__fail(e->ctx, SCANT_EINPUT,
                               "%s: sample %zu has label %d, but %s has %zu classes (0 "
                               "to %zu)",
                               scant_data_name(s->test), s->test_rows[i],
                               (int)labels[s->test_rows[i]], scant_data_name(s->train),
                               s->classes, s->classes - 1);
    return SCANT_OK;
}

/* ---- target of darp and align ------------------------------------------------------ */

static scant_status check_target(scant_ctx *ctx, const char *path, const float *parts,
                                 size_t n) {
    double sum = 0;
    for (size_t k = 0; k < n; k++) {
        if (!(parts[k] >= 0))
            return scant__fail(ctx, SCANT_EINPUT,
                               "%s: the share of class %zu is %g, expected at least 0",
                               path, k, (double)parts[k]);
        sum += (double)parts[k];
    }
    if (sum > 0) return SCANT_OK;
    return scant__fail(ctx, SCANT_EINPUT,
                       "%s: the shares of all classes are 0, expected one above 0", path);
}

static scant_status read_target(const scant_experiment *e, scant__arena *arena,
                                loop_samples *s) {
    const loop_settings *set = &e->set;
    const char *path = set->darp_target;
    scant_ctx *ctx = e->ctx;
    AUTO(scant_array_auto) scant_array *array = NULL;
    bool needed =
        !loop_supervised(set) && (set->training.ssl.darp || set->training.ssl.align);
    if (!needed || !*path || strcmp(path, "labelled") == 0) return SCANT_OK;
    TRY(scant_array_open(ctx, path, &array));
    size_t n = scant_array_ndim(array) == 1 ? scant_array_shape(array)[0] : 0;
    char shape[200];
    if (n != s->classes)
        return scant__fail(
            ctx, SCANT_EINPUT,
            "%s: has shape %s, expected %zu numbers, one for each class", path,
            scant__shape_format(scant_array_shape(array), scant_array_ndim(array), shape,
                                sizeof shape),
            s->classes);
    float *parts = TRY_NEW(arena, float, n);
    s->darp_target = TRY_NEW(arena, double, n);
    TRY(scant_array_floats(ctx, array, 0, n, parts));
    TRY(check_target(ctx, path, parts, n));
    for (size_t k = 0; k < n; k++) s->darp_target[k] = (double)parts[k];
    return SCANT_OK;
}

/* ---- hash and entry point ---------------------------------------------------------- */

/* Hashes row numbers and labels, but not pixels, which may be many. */
static uint64_t hash_part(uint64_t hash, const scant_data *data, const size_t *rows,
                          size_t n_rows) {
    const int32_t *labels = scant_data_labels(data);
    const float *targets = scant_data_targets(data);
    const uint64_t counts[] = {scant_data_count(data), n_rows};
    hash = scant__hash(hash, counts, sizeof counts);
    for (size_t i = 0; i < n_rows; i++) {
        uint64_t row = rows[i];
        hash = scant__hash(hash, &row, sizeof row);
    }
    if (labels) hash = scant__hash(hash, labels, counts[0] * sizeof *labels);
    if (targets) hash = scant__hash(hash, targets, counts[0] * sizeof *targets);
    return hash;
}

static uint64_t hash_of(const loop_samples *s) {
    uint64_t hash = hash_part(SCANT__HASH_FIRST, s->train, s->rows, s->n_rows);
    hash = hash_part(hash, s->test, s->test_rows, s->n_test);
    if (s->darp_target)
        hash = scant__hash(hash, s->darp_target, s->classes * sizeof *s->darp_target);
    return hash ? hash : 1;
}

scant_status loop_samples_open(const scant_experiment *e, bool skip_bad,
                               scant__arena *arena, loop_samples *s) {
    *s = (loop_samples){.regression = strcmp(e->set.task, "regression") == 0};
    TRY(open_both(e, s));
    s->classes = s->regression ? 1 : scant_data_classes(s->train);
    if (!s->regression && s->classes < 2)
        return scant__fail(e->ctx, SCANT_EINPUT, "%s: has only one class",
                           scant_data_name(s->train));
    TRY(match_classes(arena, s));
    TRY(list_rows(e->ctx, arena, s->train, skip_bad, &s->rows, &s->n_rows));
    if (s->test == s->train) {
        s->test_rows = TRY_NEW(arena, size_t, s->n_rows);
        memcpy(s->test_rows, s->rows, s->n_rows * sizeof *s->rows);
        s->n_test = s->n_rows;
    } else {
        TRY(list_rows(e->ctx, arena, s->test, skip_bad, &s->test_rows, &s->n_test));
    }
    TRY(cut_test(e, arena, s));
    TRY(check_test(e, s));
    TRY(read_target(e, arena, s));
    s->hash = hash_of(s);
    return SCANT_OK;
}

void loop_samples_close(loop_samples *s) {
    if (s->test != s->train) scant_data_free(s->test);
    scant_data_free(s->train);
}
