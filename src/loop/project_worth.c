/* SPDX-License-Identifier: Apache-2.0
 *
 * Networks asked about labels that they have not seen: how far a model is to be believed
 * (its temperature), and what picking was worth.
 *
 * What picking is worth: audited items are drawn at random, so models that learn from
 * those are what one would have got without a strategy. Five of them learn from four
 * fifths of the audited items each and are asked about the last fifth; beside them one
 * model learns from as many labels of the training set and is asked about all. On every
 * audited item there are then two verdicts of models that have not seen it and that
 * learned from equally many labels. The gain is the mean difference; its interval is
 * Bonett and Price's for paired shares (2012): Wald's with one more pair of each kind of
 * difference, which is right for few pairs, too, and is no point where no pair differs.
 * It takes pairs as independent, and those of a fold share a model; what other models on
 * other draws of as many labels would give is not in it.
 *
 * The labels beside the random ones are the first of the project, in the order in which
 * they came: those by chance that it began with and those that a strategy picked, which
 * knew all before it. So it is the project as it stood at that number of labels, start
 * and all: its gain is less than that of the picks alone. Where fewer than half were
 * picked, chance would be compared with chance, and it is not known. Labels that came by
 * another way (files, look-alikes, what lies behind a batch) are left out: they are no
 * strategy's. But strategies have seen them, so that where they are more than a quarter
 * of the others it is not known either.
 */
#include <math.h>

#include "core/rng.h"
#include "loop/project.h"
#include "nn/loss.h"
#include "scant/project.h"

enum { FOLDS = 5, LEAST_AUDITED = 20, PICKED = 2, OTHERS = 4 /* a half; a quarter */ };
static const double NORMAL = 1.959963984540054; /* 97.5 % of it are below */

/* ---- without a fifth --------------------------------------------------------------- */

typedef struct folding {
    scant_project *project;
    const project_recipe *recipe;
    const project_samples *samples;
    const project_lesson *all;
    size_t folds, most; /* most: labels to learn from, of each fold */
    scant__arena arena;
    size_t *order, *kept, *out;
    int32_t *kept_labels;
    float *logits;
} folding;

static scant_status folding_begin(folding *f) {
    size_t n = f->all->n;
    scant__arena_init(&f->arena, store_ctx(f->project));
    f->order = scant__arena_alloc(&f->arena, n, sizeof *f->order);
    f->kept = scant__arena_alloc(&f->arena, n, sizeof *f->kept);
    f->out = scant__arena_alloc(&f->arena, n, sizeof *f->out);
    f->kept_labels = scant__arena_alloc(&f->arena, n, sizeof *f->kept_labels);
    f->logits =
        scant__arena_alloc(&f->arena, n, size_mul(f->recipe->classes, sizeof *f->logits));
    if (!f->order || !f->kept || !f->out || !f->kept_labels || !f->logits)
        return SCANT_ENOMEM;
    const scant__rng rng = {f->all->seed, SCANT__RNG_FOLD};
    scant__rng_shuffle(&rng, 0, n, f->order);
    return SCANT_OK;
}

/* Logits of the labels left out, at their places from `filled` on; *n of them. places:
 * which label of all each is. */
static scant_status do_fold(folding *f, size_t k, float *logits, size_t *places,
                            size_t *n) {
    const project_lesson *all = f->all;
    size_t kept = 0, out = 0;
    for (size_t i = 0; i < all->n; i++) {
        size_t at = f->order[i];
        if (i % f->folds == k) {
            places[out] = at;
            f->out[out++] = all->rows[at];
        } else if (kept < f->most) {
            f->kept[kept] = all->rows[at];
            f->kept_labels[kept++] = all->labels[at];
        }
    }
    project_lesson lesson = {.rows = f->kept,
                             .labels = f->kept_labels,
                             .n = kept,
                             .pool = all->pool,
                             .n_pool = all->n_pool,
                             .seed = project_seed(all->seed, k, PROJECT_SEED_FOLDS),
                             .brief = all->brief};
    scant_net *net;
    *n = out;
    TRY(project_net_train(f->project, f->recipe, f->samples, &lesson, &net));
    scant_status status = scant_net_predict(net, f->samples->data, f->out, out,
                                            &(scant_outputs){.logits = logits});
    scant_net_free(net);
    return status;
}

/* ---- temperature ------------------------------------------------------------------- */

static scant_status fit(folding *f, double *out) {
    size_t n = f->all->n, filled = 0, count;
    TRY(folding_begin(f));
    size_t *places = scant__arena_alloc(&f->arena, n, sizeof *places);
    int32_t *labels = scant__arena_alloc(&f->arena, n, sizeof *labels);
    if (!places || !labels) return SCANT_ENOMEM;
    for (size_t k = 0; k < f->folds; k++) {
        TRY(scant__tick(store_ctx(f->project), "calibrating", k, f->folds));
        TRY(do_fold(f, k, f->logits + filled * f->recipe->classes, places + filled,
                    &count));
        filled += count;
    }
    for (size_t i = 0; i < n; i++) labels[i] = f->all->labels[places[i]];
    *out = nn_temperature(f->logits, labels, n, f->recipe->classes);
    return SCANT_OK;
}

scant_status project_temperature(scant_project *project, const project_recipe *recipe,
                                 const project_samples *samples,
                                 const project_lesson *labelled, double *out) {
    folding f = {.project = project,
                 .recipe = recipe,
                 .samples = samples,
                 .all = labelled,
                 .folds = size_min(FOLDS, labelled->n),
                 .most = SIZE_MAX};
    *out = 0;
    if (labelled->n < 2) return SCANT_OK; /* there is nothing to fit it to */
    scant_status status = fit(&f, out);
    scant__arena_end(&f.arena);
    return status;
}

/* ---- what picking is worth --------------------------------------------------------- */

project_gain project_gain_of(size_t second, size_t first, size_t n) {
    project_gain g = {NAN, NAN, NAN};
    if (n < 2) return g;
    double all = (double)n + 2;
    double p = ((double)second + 1) / all, q = ((double)first + 1) / all, d = p - q;
    double reach = NORMAL * sqrt((p + q - d * d) / all);
    g.mean = ((double)second - (double)first) / (double)n;
    g.low = fmax(-1, d - reach);
    g.high = fmin(1, d + reach);
    return g;
}

/* right[i]: whether a model on random labels has the i-th audited item right. */
static scant_status judge_random(folding *f, unsigned char *right) {
    size_t count, classes = f->recipe->classes;
    size_t *places = scant__arena_alloc(&f->arena, f->all->n, sizeof *places);
    if (!places) return SCANT_ENOMEM;
    for (size_t k = 0; k < f->folds; k++) {
        TRY(scant__tick(store_ctx(f->project), "comparing with random", k, f->folds + 1));
        TRY(do_fold(f, k, f->logits, places, &count));
        for (size_t i = 0; i < count; i++)
            right[places[i]] =
                (int32_t)scant_likeliest(f->logits + i * classes, classes) ==
                f->all->labels[places[i]];
    }
    return SCANT_OK;
}

static scant_status judge_picked(folding *f, const project_lesson *picked,
                                 const unsigned char *right, project_gain *out) {
    const project_lesson *audited = f->all;
    size_t classes = f->recipe->classes, better = 0, worse = 0;
    project_lesson lesson = *picked;
    scant_net *net;
    lesson.seed = project_seed(audited->seed, f->folds, PROJECT_SEED_FOLDS);
    lesson.report = NULL;
    TRY(project_net_train(f->project, f->recipe, f->samples, &lesson, &net));
    scant_status status =
        scant_net_predict(net, f->samples->data, audited->rows, audited->n,
                          &(scant_outputs){.logits = f->logits});
    scant_net_free(net);
    for (size_t i = 0; i < audited->n && status == SCANT_OK; i++) {
        bool mine = (int32_t)scant_likeliest(f->logits + i * classes, classes) ==
                    audited->labels[i];
        better += mine && !right[i];
        worse += !mine && right[i];
    }
    *out = project_gain_of(better, worse, audited->n);
    return status;
}

static scant_status compare(folding *f, const project_lesson *picked, project_gain *out) {
    TRY(folding_begin(f));
    unsigned char *right = scant__arena_zalloc(&f->arena, f->all->n, 1);
    if (!right) return SCANT_ENOMEM;
    TRY(judge_random(f, right));
    return judge_picked(f, picked, right, out);
}

/* The first labels by chance or a strategy, `most` of them, into rows and labels. False:
 * that is nothing to compare with chance. */
static bool gather(const project_lesson *all, const unsigned char *origins, size_t most,
                   size_t *rows, int32_t *labels) {
    size_t n = 0, picked = 0, others = 0;
    for (size_t i = 0; i < all->n && n < most; i++) {
        if (origins[i] == STORE_BY_OTHERS) {
            others++;
            continue;
        }
        rows[n] = all->rows[i];
        labels[n++] = all->labels[i];
        picked += origins[i] == STORE_BY_STRATEGY;
    }
    return n == most && PICKED * picked >= most && OTHERS * others <= most;
}

scant_status project_over_random(scant_project *project, const project_recipe *recipe,
                                 const project_samples *samples,
                                 const project_lesson *training,
                                 const unsigned char *origins,
                                 const project_lesson *audited, project_gain *out,
                                 size_t *labels) {
    folding f = {.project = project,
                 .recipe = recipe,
                 .samples = samples,
                 .all = audited,
                 .folds = FOLDS};
    scant_ctx *ctx = store_ctx(project);
    project_lesson picked = *training;
    f.most = audited->n - (audited->n + FOLDS - 1) / FOLDS;
    *out = (project_gain){NAN, NAN, NAN};
    *labels = 0;
    if (audited->n < LEAST_AUDITED || training->n < f.most) return SCANT_OK;
    size_t *rows = scant__alloc(ctx, f.most, sizeof *rows);
    int32_t *said = scant__alloc(ctx, f.most, sizeof *said);
    scant_status status = rows && said ? SCANT_OK : SCANT_ENOMEM;
    if (status == SCANT_OK && gather(training, origins, f.most, rows, said)) {
        picked.rows = rows;
        picked.labels = said;
        picked.n = f.most;
        status = compare(&f, &picked, out);
        scant__arena_end(&f.arena);
        if (status == SCANT_OK) *labels = f.most;
    }
    scant__free(ctx, said);
    scant__free(ctx, rows);
    return status;
}
