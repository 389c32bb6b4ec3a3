/* SPDX-License-Identifier: Apache-2.0
 *
 * Networks tested on labels that they were not trained on: a model's temperature, and the
 * gain of picking over random labels.
 *
 * The gain: audited items are drawn at random, so models trained on them are what a
 * project without a strategy would have. Five such models are trained on four fifths of
 * the audited items and tested on the rest; one model is trained on as many labels of the
 * training set and tested on all audited items. So each audited item has two predictions,
 * by models that have not seen it and learned from equally many labels. The gain is the
 * mean difference. Its interval is that of Bonett and Price (2012) for paired
 * proportions: Wald's with one more pair of each kind of difference, which holds for few
 * pairs, too, and has a width where no pair differs. It takes pairs as independent,
 * although those of a fold share a model, and does not include the spread over other
 * draws of labels.
 *
 * The labels of the one model are the project's first, in the order in which they came:
 * those chosen at random at the start and those that a strategy picked. So the gain is
 * that of the project at this number of labels, its start included, which is less than
 * that of the picks alone. Where fewer than half were picked it is unknown: chance would
 * be compared with chance. Labels that came in another way (files, similar items, spare
 * picks) are left out. Strategies have seen them, so the gain is unknown where they are
 * more than a quarter of the others.
 */
#include <math.h>

#include "core/argmax.h"
#include "loop/crossfit.h"
#include "loop/project.h"
#include "scant/project.h"

enum { LEAST_AUDITED = 20, PICKED = 2, OTHERS = 4 /* a half; a quarter */ };
static const double NORMAL = 1.959963984540054; /* 97.5 % of it are below */

/* ---- cross-fitting ----------------------------------------------------------------- */

/* Networks of the project, each trained without some of the labels. */
typedef struct folding {
    scant_project *project;
    const project_settings *settings;
    const project_samples *samples;
    const project_training *all;
    const char *phase;
    size_t steps; /* of the phase */
    size_t most;  /* labels to learn from, in each fold */
    scant__arena arena;
    size_t *kept, *held;
    int32_t *labels;
} folding;

static scant_status folding_begin(folding *f) {
    size_t n = f->all->n;
    scant__arena_init(&f->arena, store_ctx(f->project));
    f->kept = scant__arena_alloc(&f->arena, n + 1, sizeof *f->kept);
    f->held = scant__arena_alloc(&f->arena, n + 1, sizeof *f->held);
    f->labels = scant__arena_alloc(&f->arena, n + 1, sizeof *f->labels);
    return f->kept && f->held && f->labels ? SCANT_OK : SCANT_ENOMEM;
}

/* Trains a network and writes the logits of some items. */
static scant_status train_and_predict(const folding *f, const project_training *training,
                                      const size_t *rows, size_t n, float *logits) {
    scant_net *net;
    TRY(project_learn(f->project, f->settings, f->samples, training, &net));
    scant_status status = scant_net_predict(net, f->samples->data, rows, n,
                                            &(scant_outputs){.logits = logits});
    scant_net_free(net);
    return status;
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
    folding f = {.project = project,
                 .settings = settings,
                 .samples = samples,
                 .all = labelled,
                 .phase = "calibrating",
                 .steps = size_min(LOOP_FOLDS, labelled->n),
                 .most = SIZE_MAX};
    scant_status status = folding_begin(&f);
    const loop_crossfit c = crossfit_of(&f);
    if (status == SCANT_OK)
        status = loop_crossfit_temperature(&c, store_ctx(project), labelled->labels, out);
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

/* right[i]: whether a model of random labels predicts the i-th audited item right. */
static scant_status test_random(folding *f, bool *right) {
    const loop_crossfit c = crossfit_of(f);
    size_t *places;
    float *logits;
    TRY(loop_crossfit_logits(&c, &f->arena, &logits, &places));
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
    float *logits =
        scant__arena_alloc(&f->arena, audited->n, size_mul(classes, sizeof *logits));
    if (!logits) return SCANT_ENOMEM;
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
    bool *right = scant__arena_zalloc(&f->arena, f->all->n, sizeof *right);
    if (!right) return SCANT_ENOMEM;
    TRY(test_random(f, right));
    return test_picked(f, picked, right, out);
}

/* The first `most` labels that chance or a strategy chose, into rows and labels. False:
 * they cannot be compared with chance. */
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
    folding f = {.project = project,
                 .settings = settings,
                 .samples = samples,
                 .all = audited,
                 .phase = "comparing with random",
                 .steps = LOOP_FOLDS + 1};
    scant_ctx *ctx = store_ctx(project);
    project_training picked = *training;
    f.most = audited->n - (audited->n + LOOP_FOLDS - 1) / LOOP_FOLDS;
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
