/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls a strategy: finds which evidence it needs, fits the temperature of calibrated
 * probabilities, reads the evidence and picks.
 *
 * The temperature is fitted on the validation set. Without one it is cross-fitted on the
 * labelled set: five short trainings, each without a fifth of it. One that has collapsed
 * is repeated like those of a round; if that does not help, the temperature is 1.
 *
 * With dynamic.layers = all or egl.layers = all, gradients are those of the whole network
 * (slopes, lengths). With npc.kernel, bss.kernel or crc.layers = all, features are
 * sketches of Jacobians; their kernel includes biases, so the strategy appends none. With
 * ntk:depth=K, features are the samples themselves, for a kernel that needs no network.
 */
#include <string.h>

#include "core/number.h"
#include "loop/crossfit.h"
#include "loop/loop.h"
#include "scant/train.h"

enum { SHORT = 4, SHORT_EPOCHS = 10 }; /* 1/4 of the epochs, at least 10 */

/* ---- evidence needed --------------------------------------------------------------- */

/* Whether features are sketches of Jacobians, for the whole network's tangent kernel. */
static bool is_kernel(const loop_strategy *strategy) {
    return strategy->all_layers && strategy->info->kernel;
}

/* Fails with a message: probabilities or posterior draws are missing. */
static scant_status fail_missing(scant_ctx *ctx, const loop_strategy *strategy,
                                 const loop_settings *set, unsigned missing) {
    const char *why = "needs several posterior draws: set model.bayes = variational, "
                      "dropout or ensemble";
    if (strcmp(set->bayes, "none") != 0)
        why = "needs several posterior draws, but model.samples is 1";
    if (!(missing & SCANT_DRAWS) || strcmp(set->task, "regression") == 0)
        why = "needs class probabilities, but data.task is regression";
    return scant__fail(ctx, SCANT_EUSAGE, "%s %s", strategy->info->name, why);
}

/* Fails if `projections` exceeds the number of draws. */
static scant_status check_projections(scant_ctx *ctx, const loop_strategy *strategy,
                                      const loop_settings *set) {
    double wanted;
    for (size_t i = 0; i < strategy->n_settings; i++)
        if (strcmp(strategy->settings[i].key, "projections") == 0 &&
            scant__number_parse(strategy->settings[i].value, &wanted) &&
            wanted > (double)set->samples)
            return scant__fail(
                ctx, SCANT_EUSAGE,
                "loop.%s.projections is %s, expected at most %zu (model.samples)",
                strategy->info->name, strategy->settings[i].value, set->samples);
    return SCANT_OK;
}

scant_status loop_evidence_bits(scant_ctx *ctx, const loop_strategy *strategy,
                                const loop_settings *set, unsigned *used) {
    bool regression = strcmp(set->task, "regression") == 0;
    const char *name = strategy->info->name;
    const scant_select_opts opts = {.settings = strategy->settings,
                                    .n_settings = strategy->n_settings,
                                    .kernel = strategy->kernel};
    unsigned given = SCANT_FEATURES | SCANT_LABELS | SCANT_ROWS | SCANT_STATE, missing;
    if (!regression) given |= SCANT_PROBS | SCANT_CALIBRATED;
    if (!regression && loop_is_bayesian(set)) given |= SCANT_DRAWS;
    if (strategy->all_layers && !regression) given |= SCANT_SLOPES | SCANT_LENGTHS;
    TRY(scant_select_inputs(ctx, name, &opts, given, used, &missing));
    if (missing == SCANT_GRADIENTS)
        TRY(scant_select_inputs(ctx, name, &opts, given | SCANT_GRADIENTS, used,
                                &missing));
    if (missing) return fail_missing(ctx, strategy, set, missing);
    return *used & SCANT_DRAWS ? check_projections(ctx, strategy, set) : SCANT_OK;
}

/* ---- temperature ------------------------------------------------------------------- */

scant_status loop_fit_held_out(loop_run *run, scant_net *net, double *out) {
    scant_evaluation e;
    TRY(scant_net_evaluate(net, run->job->samples.train, run->split.valid,
                           run->split.n_valid, &e));
    *out = e.temperature;
    return SCANT_OK;
}

static void on_step(void *user, const scant_train_state *state) {
    (void)state;
    loop_report_progress(user, "calibrating", 0);
}

/* Steps of an epoch, as the trainer counts them: a pass over the unlabelled samples, if
 * there are any. A last batch of one labelled sample, which the trainer leaves out if the
 * network normalises by the batch, is not counted. */
static size_t steps_per_epoch(const scant_train_opts *o) {
    size_t labelled = o->n_rows / o->batch + (o->n_rows % o->batch > 1);
    size_t batch = size_mul(o->batch, o->ssl.mu);
    return size_max(o->unlabelled ? (o->n_unlabelled + batch - 1) / batch : labelled, 1);
}

/* Shortens the warm-up like the training, and to at most all of its steps: a fold has
 * fewer samples than the round. */
static void shorten_warmup(const loop_settings *set, size_t epochs, scant_train_opts *o) {
    size_t steps = o->steps ? o->steps : epochs * steps_per_epoch(o);
    if (o->warmup == SIZE_MAX) return;
    o->warmup = size_min(loop_steps(o->warmup, epochs, set->training.epochs), steps);
}

typedef struct folding {
    loop_run *run;
    size_t n_folds;
    size_t *kept, *held;
    float *weights;
    bool collapsed; /* a training, and its repetition */
} folding;

/* Seeds of a fold's network (use 0) and of the trainings of its members (1, 2, ...).
 * again: of the repetition. */
static uint64_t fold_seed(const loop_run *run, size_t fold, size_t n_folds, size_t use,
                          bool again) {
    size_t round = run->round.number;
    uint64_t seed = loop_seed(run->seed, round, use * n_folds + fold, LOOP_SEED_FOLDS);
    return again ? loop_seed(seed, round, 0, LOOP_SEED_RETRY_TRAINING) : seed;
}

/* Whether a member's training has collapsed. One that has diverged has failed and
 * cancelled the others: then *status becomes SCANT_OK. */
static bool has_collapsed(const learn_job *jobs, size_t n, scant_status *status) {
    bool collapsed = false, diverged = false;
    for (size_t i = 0; i < n; i++) {
        collapsed |= jobs[i].done && learn_has_collapsed(SCANT_OK, &jobs[i].state);
        diverged |= !jobs[i].done && learn_has_collapsed(*status, &jobs[i].state);
    }
    if (diverged) *status = SCANT_OK;
    return collapsed || diverged;
}

/* Makes and trains a fold's network; *out NULL: its training has collapsed. */
static scant_status train_once(loop_run *run, const folding *f, size_t fold, bool again,
                               const scant_train_opts *o, scant_net **out) {
    size_t members = run->recipe.members;
    learn_job *jobs = TRY_NEW(&run->round.arena, learn_job, members);
    TRY(loop_net_make(run, fold_seed(run, fold, f->n_folds, 0, again), members, out));
    for (size_t i = 0; i < members; i++) {
        jobs[i] = (learn_job){.member = i, .opts = *o};
        jobs[i].opts.seed = fold_seed(run, fold, f->n_folds, i + 1, again);
        jobs[i].opts.user = run;
        jobs[i].opts.report = on_step;
    }
    scant_status status =
        learn_train(*out, run->job->samples.train, &run->recipe, jobs, members);
    if (has_collapsed(jobs, members, &status)) {
        scant_net_free(*out);
        *out = NULL;
    }
    return learn_free_on_failure(status, out);
}

/* Makes a network and trains it briefly on the samples of `part`; *out NULL: its training
 * has collapsed, and so has its repetition. */
static scant_status train_fold(const folding *f, size_t fold, const loop_labelled *part,
                               scant_net **out) {
    loop_run *run = f->run;
    const loop_settings *set = &run->job->e->set;
    size_t epochs = size_min(set->training.epochs,
                             size_max(set->training.epochs / SHORT, SHORT_EPOCHS));
    scant_train_opts o;
    TRY(loop_train_options(run, part, epochs, &o));
    shorten_warmup(set, epochs, &o);
    TRY(train_once(run, f, fold, false, &o, out));
    return *out || !set->retry_collapsed ? SCANT_OK
                                         : train_once(run, f, fold, true, &o, out);
}

static scant_status fit_fold(void *user, size_t fold, const size_t *kept, size_t n_kept,
                             const size_t *held, size_t n_held, float *logits) {
    folding *f = user;
    const loop_labelled *all = &f->run->round.labelled;
    for (size_t i = 0; i < n_kept; i++) {
        f->kept[i] = all->rows[kept[i]];
        if (all->weights) f->weights[i] = all->weights[kept[i]];
    }
    for (size_t i = 0; i < n_held; i++) f->held[i] = all->rows[held[i]];
    loop_labelled part = {
        .rows = f->kept, .weights = all->weights ? f->weights : NULL, .n = n_kept};
    AUTO(scant_net_auto) scant_net *net = NULL;
    if (!f->collapsed) TRY(train_fold(f, fold, &part, &net));
    f->collapsed = !net;
    if (f->collapsed) { /* no other fold is needed */
        memset(logits, 0,
               size_mul(n_held, f->run->job->samples.classes) * sizeof *logits);
        return SCANT_OK;
    }
    return scant_net_predict(net, f->run->job->samples.train, f->held, n_held,
                             &(scant_outputs){.logits = logits});
}

/* The temperature is 1 if a training has collapsed. Messages of the folds' networks are
 * muted: they repeat those of the round's network. */
static scant_status fit_crosswise(loop_run *run, double *out, bool *collapsed) {
    AUTO(learn_unmute) learn_mute mute = learn_mute_log(run->ctx);
    const loop_labelled *all = &run->round.labelled;
    scant__arena *arena = &run->round.arena;
    size_t n = all->n, n_folds = size_min(LOOP_FOLDS, n);
    folding f = {.run = run,
                 .n_folds = n_folds,
                 .kept = TRY_NEW(arena, size_t, n + 1),
                 .held = TRY_NEW(arena, size_t, n + 1),
                 .weights = TRY_NEW(arena, float, n + 1)};
    int32_t *labels = TRY_NEW(arena, int32_t, n + 1);
    for (size_t i = 0; i < n; i++)
        labels[i] = scant_data_labels(run->job->samples.train)[all->rows[i]];
    const loop_crossfit c = {
        .n = n,
        .folds = n_folds,
        .classes = run->job->samples.classes,
        .seed = loop_seed(run->seed, run->round.number, 0, LOOP_SEED_PICKS),
        .user = &f,
        .fit = fit_fold};
    TRY(loop_crossfit_temperature(&c, run->ctx, labels, out));
    *collapsed = f.collapsed;
    if (f.collapsed) *out = 1;
    return SCANT_OK;
}

static scant_status calibrate(loop_run *run, scant_net *net) {
    bool collapsed;
    if (run->split.n_valid) return loop_fit_held_out(run, net, &run->round.temperature);
    TRY(fit_crosswise(run, &run->round.temperature, &collapsed));
    if (collapsed)
        scant__warn(run->ctx,
                    "a training for calibrated probabilities has collapsed%s: their "
                    "temperature is 1",
                    run->job->e->set.retry_collapsed ? ", and so has its repetition"
                                                     : "");
    return SCANT_OK;
}

/* ---- picks ------------------------------------------------------------------------- */

static scant_status read_evidence(loop_run *run, loop_evidence *evidence) {
    loop_evidence_opts what = {.net = run->query_net ? run->query_net : run->net,
                               .data = run->job->samples.train,
                               .rows = run->split.pool,
                               .n = run->split.n_pool,
                               .labelled = &run->round.labelled,
                               .seed = run->seed,
                               .draws_path = scant__arena_format(
                                   &run->round.arena, "%s.samples.npy", run->path)};
    if (run->strategy->kernel)
        what.features = LOOP_INPUTS;
    else if (is_kernel(run->strategy))
        what.features = LOOP_JACOBIANS;
    if (!what.draws_path) return SCANT_ENOMEM;
    TRY(loop_evidence_bits(run->ctx, run->strategy, &run->job->e->set, &what.bits));
    if (what.bits & SCANT_CALIBRATED) TRY(calibrate(run, what.net));
    what.temperature = run->round.temperature;
    return loop_evidence_read(evidence, &what);
}

/* The strategy's options; bias is 0 for a tangent kernel, which includes biases. */
static scant_status settings_of(loop_run *run, const scant_setting **out) {
    const loop_strategy *strategy = run->strategy;
    scant_setting *mine =
        TRY_NEW(&run->round.arena, scant_setting, strategy->n_settings + 1);
    for (size_t i = 0; i < strategy->n_settings; i++) {
        mine[i] = strategy->settings[i];
        if (is_kernel(strategy) && strcmp(mine[i].key, "bias") == 0) mine[i].value = "0";
    }
    *out = mine;
    return SCANT_OK;
}

static scant_status pick(loop_run *run, const loop_evidence *evidence, size_t batch,
                         scant_picks **out) {
    scant_select_opts opts = {
        .seed = loop_seed(run->seed, run->round.number, 0, LOOP_SEED_PICKS),
        .n_settings = run->strategy->n_settings,
        .kernel = run->strategy->kernel,
        .state = run->state.strategy_state,
        .state_size = run->state.strategy_state_size};
    TRY(settings_of(run, &opts.settings));
    return scant_select(run->ctx, run->strategy->info->name, &evidence->view, batch,
                        &opts, out);
}

scant_status loop_choose(loop_run *run, size_t batch, scant_picks **out) {
    AUTO(loop_evidence_end) loop_evidence evidence = {.arena = {.ctx = run->ctx}};
    *out = NULL;
    loop_timer_begin(run, LOOP_READING);
    loop_report_progress(run, "computing predictions", 0);
    TRY(read_evidence(run, &evidence));
    loop_timer_begin(run, LOOP_PICKING);
    loop_report_progress(run, "picking", 0);
    return pick(run, &evidence, batch, out);
}
