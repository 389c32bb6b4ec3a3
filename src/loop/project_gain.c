/* SPDX-License-Identifier: Apache-2.0
 *
 * Networks tested on labels that they were not trained on: a model's temperature, and the
 * gain of picking over random labels. If one of the networks collapses twice, the result
 * is unknown.
 *
 * The gain: audited items are drawn at random, so models trained on them are like those
 * of a project that labels at random. Five such models are trained on four fifths of the
 * audited items and tested on the rest; one model is trained on as many labels of the
 * training set and tested on all audited items. So each audited item has two predictions,
 * by models that have not seen it and learned from equally many labels. The gain is the
 * accuracy of the single model minus that of the five. Its interval is that of Bonett and
 * Price (2012) for paired proportions: Wald's with one more pair of each kind of
 * difference. It is valid for few pairs, and not of width 0 if no pair differs. It treats
 * pairs as independent, although those of a fold share a model, and does not include the
 * variance over other draws of labels.
 *
 * The single model is trained on the project's first labels, in order of arrival: those
 * chosen at random at the start and those that a strategy picked. So the gain includes
 * the random start, and is less than that of the picks alone. It is unknown if fewer than
 * half were picked. Labels from elsewhere (files, similar items, spare picks) are left
 * out; because strategies have seen them, the gain is also unknown if they are more than
 * a quarter of the compared labels.
 */
#include <math.h>

#include "core/argmax.h"
#include "loop/crossfit.h"
#include "loop/learn.h"
#include "loop/project.h"
#include "scant/project.h"

enum { LEAST_AUDITED = 20, PICKED = 2, OTHERS = 4 /* shares: 1/2, 1/4 */ };
static const double NORMAL = 1.959963984540054; /* 97.5 % quantile */

/* ---- cross-fitting ----------------------------------------------------------------- */

/* Networks of the project, each trained without some of the labels. */
typedef struct folding {
    scant_project *project;
    const project_settings *settings;
    const project_samples *samples;
    const project_training *all;
    const char *phase;
    size_t steps; /* total steps of the phase, for the progress bar */
    size_t most;  /* maximum number of labels that a fold is trained on */
    scant__arena *arena;
    size_t *kept, *held;
    int32_t *labels;
    bool collapsed; /* a training has collapsed twice; the others are left out */
} folding;

static scant_status folding_begin(folding *f) {
    size_t n = f->all->n;
    f->kept = TRY_NEW(f->arena, size_t, n + 1);
    f->held = TRY_NEW(f->arena, size_t, n + 1);
    f->labels = TRY_NEW(f->arena, int32_t, n + 1);
    return SCANT_OK;
}

/* Trains a network, without the warnings of its training. Fails with SCANT_ENOTREADY if
 * it collapses twice. */
static scant_status learn(folding *f, const project_training *training, scant_net **out) {
    scant_ctx *ctx = store_ctx(f->project);
    AUTO(learn_unmute) learn_mute mute = learn_mute_log(ctx);
    project_signs signs;
    TRY(project_learn(f->project, f->settings, f->samples, training, out, &signs));
    f->collapsed = !*out;
    if (*out) return SCANT_OK;
    return scant__fail(ctx, SCANT_ENOTREADY, "%s: a training collapsed (%s)", f->phase,
                       signs.found);
}

/* A collapse is no failure: it is only warned of. */
static scant_status folding_end(const folding *f, scant_status status) {
    scant_ctx *ctx = store_ctx(f->project);
    if (!f->collapsed) return status;
    scant__warn(ctx, "%s: the result is unknown", ctx->err);
    return SCANT_OK;
}

/* Trains a network and writes the logits of some items. */
static scant_status train_and_predict(folding *f, const project_training *training,
                                      const size_t *rows, size_t n, float *logits) {
    AUTO(scant_net_auto) scant_net *net = NULL;
    TRY(learn(f, training, &net));
    return scant_net_predict(net, f->samples->data, rows, n,
                             &(scant_outputs){.logits = logits});
}

static scant_status fit_fold(void *user, size_t fold, const size_t *kept, size_t n_kept,
                             const size_t *held, size_t n_held, float *logits) {
    folding *f = user;
    project_training part = *f->all;
    TRY(scant__tick(store_ctx(f->project), f->phase, fold, f->steps));
    part.n = size_min(n_kept, f->most);
    for (size_t i = 0; i < part.n; i++) {
        f->kept[i] = f->all->rows[kept[i]];
        f->labels[i] = f->all->labels[kept[i]];
    }
    for (size_t i = 0; i < n_held; i++) f->held[i] = f->all->rows[held[i]];
    part.rows = f->kept;
    part.labels = f->labels;
    part.seed = project_seed(f->all->seed, fold, PROJECT_SEED_FOLDS);
    part.report = NULL;
    return train_and_predict(f, &part, f->held, n_held, logits);
}

static loop_crossfit crossfit_of(folding *f) {
    return (loop_crossfit){.n = f->all->n,
                           .folds = size_min(LOOP_FOLDS, f->all->n),
                           .classes = f->settings->classes,
                           .seed = f->all->seed,
                           .user = f,
                           .fit = fit_fold};
}

scant_status project_temperature(scant_project *project, const project_settings *settings,
                                 const project_samples *samples,
                                 const project_training *labelled, double *out) {
    AUTO(scant__arena_end) scant__arena arena = {.ctx = store_ctx(project)};
    folding f = {.project = project,
                 .arena = &arena,
                 .settings = settings,
                 .samples = samples,
                 .all = labelled,
                 .phase = "calibrating",
                 .steps = size_min(LOOP_FOLDS, labelled->n),
                 .most = SIZE_MAX};
    TRY(folding_begin(&f));
    const loop_crossfit c = crossfit_of(&f);
    return folding_end(&f,
                       loop_crossfit_temperature(&c, arena.ctx, labelled->labels, out));
}

/* ---- gain over random -------------------------------------------------------------- */

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

/* right[i]: a model trained on random labels predicts audited item i correctly. */
static scant_status test_random(folding *f, bool *right) {
    const loop_crossfit c = crossfit_of(f);
    size_t *places;
    float *logits;
    TRY(loop_crossfit_logits(&c, f->arena, &logits, &places));
    for (size_t i = 0; i < c.n; i++)
        right[places[i]] = (int32_t)scant__argmax(logits + i * c.classes, c.classes) ==
                           f->all->labels[places[i]];
    return SCANT_OK;
}

static scant_status test_picked(folding *f, const project_training *picked,
                                const bool *right, project_gain *out) {
    const project_training *audited = f->all;
    size_t classes = f->settings->classes, better = 0, worse = 0;
    project_training training = *picked;
    float *logits = TRY_NEW(f->arena, float, size_mul(audited->n, classes));
    training.seed = project_seed(audited->seed, LOOP_FOLDS, PROJECT_SEED_FOLDS);
    training.report = NULL;
    TRY(train_and_predict(f, &training, audited->rows, audited->n, logits));
    for (size_t i = 0; i < audited->n; i++) {
        bool mine =
            (int32_t)scant__argmax(logits + i * classes, classes) == audited->labels[i];
        better += mine && !right[i];
        worse += !mine && right[i];
    }
    *out = project_gain_of(better, worse, audited->n);
    return SCANT_OK;
}

static scant_status compare(folding *f, const project_training *picked,
                            project_gain *out) {
    TRY(folding_begin(f));
    bool *right = TRY_ZERO(f->arena, bool, f->all->n);
    TRY(test_random(f, right));
    return test_picked(f, picked, right, out);
}

/* Copies the first `most` labels that were random or picked to rows and labels. False:
 * there are too few of them, too few picked or too many from elsewhere. */
static bool gather(const project_training *all, const unsigned char *origins, size_t most,
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

scant_status project_over_random(scant_project *project, const project_settings *settings,
                                 const project_samples *samples,
                                 const project_training *training,
                                 const unsigned char *origins,
                                 const project_training *audited, project_gain *out,
                                 size_t *labels) {
    AUTO(scant__arena_end) scant__arena arena = {.ctx = store_ctx(project)};
    folding f = {.project = project,
                 .arena = &arena,
                 .settings = settings,
                 .samples = samples,
                 .all = audited,
                 .phase = "comparing with random",
                 .steps = LOOP_FOLDS + 1};
    project_training picked = *training;
    f.most = audited->n - (audited->n + LOOP_FOLDS - 1) / LOOP_FOLDS;
    *out = (project_gain){NAN, NAN, NAN};
    *labels = 0;
    if (audited->n < LEAST_AUDITED || training->n < f.most) return SCANT_OK;
    size_t *rows = TRY_NEW(&arena, size_t, f.most);
    int32_t *used = TRY_NEW(&arena, int32_t, f.most);
    if (!gather(training, origins, f.most, rows, used)) return SCANT_OK;
    picked.rows = rows;
    picked.labels = used;
    picked.n = f.most;
    *labels = f.most;
    return folding_end(&f, compare(&f, &picked, out));
}
