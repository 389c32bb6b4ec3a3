/* SPDX-License-Identifier: Apache-2.0
 *
 * A strategy's picks: which evidence it needs, the temperature of calibrated
 * probabilities, the reading, the call of the strategy.
 *
 * The temperature is fitted on the validation set. Without one it is cross-fitted on the
 * labelled set: five short trainings, each without a fifth of it.
 *
 * With dynamic.layers = all and egl.layers = all gradients are those of the whole network
 * (slopes, lengths). With npc.kernel, bss.kernel or crc.layers = all the features are
 * sketches of Jacobians; that kernel includes biases, so the strategy appends none. With
 * ntk:depth=K they are the samples themselves, for a kernel that needs no network.
 */
#include <string.h>

#include "core/number.h"
#include "loop/crossfit.h"
#include "loop/loop.h"
#include "scant/train.h"

enum { SHORT = 4, SHORT_EPOCHS = 10 }; /* a short training's part, and its least epochs */

/* ---- which evidence ---------------------------------------------------------------- */

/* What a strategy reads of the whole network's gradients; 0: their kernel, as features.
 */
static unsigned gradient_bits(const loop_arm *arm) {
    if (strcmp(arm->info->name, "dynamic") == 0) return SCANT_SLOPES;
    return strcmp(arm->info->name, "egl") == 0 ? SCANT_LENGTHS : 0;
}

static bool is_kernel(const loop_arm *arm) { return arm->whole && !gradient_bits(arm); }

static scant_status inputs(scant_ctx *ctx, const loop_arm *arm, unsigned given,
                           unsigned *used, unsigned *missing) {
    return scant_select_inputs(ctx, arm->info->name,
                               &(scant_select_opts){.settings = arm->settings,
                                                    .n_settings = arm->n_settings,
                                                    .kernel = arm->kernel},
                               given, used, missing);
}

static scant_status lacks_samples(scant_ctx *ctx, const loop_arm *arm,
                                  const loop_settings *set) {
    const char *name = arm->info->name;
    if (strcmp(set->task, "regression") == 0)
        return scant__fail(ctx, SCANT_EUSAGE,
                           "%s needs class probabilities, and data.task = regression has "
                           "none",
                           name);
    if (strcmp(set->bayes, "none") != 0)
        return scant__fail(ctx, SCANT_EUSAGE,
                           "%s asks where draws of a network disagree, and with "
                           "model.samples = 1 nothing can",
                           name);
    return scant__fail(ctx, SCANT_EUSAGE,
                       "%s asks where several networks disagree, and one says one thing "
                       "of a sample: model.bayes = variational, dropout or ensemble "
                       "gives several",
                       name);
}

/* A strategy cannot use more draws than there are. */
static scant_status check_projections(scant_ctx *ctx, const loop_arm *arm,
                                      const loop_settings *set) {
    double wanted;
    for (size_t i = 0; i < arm->n_settings; i++)
        if (strcmp(arm->settings[i].key, "projections") == 0 &&
            scant__number_parse(arm->settings[i].value, &wanted) &&
            wanted > (double)set->samples)
            return scant__fail(ctx, SCANT_EUSAGE,
                               "%s.projections is %s, and model.samples gives it %zu",
                               arm->info->name, arm->settings[i].value, set->samples);
    return SCANT_OK;
}

scant_status loop_evidence_bits(scant_ctx *ctx, const loop_arm *arm,
                                const loop_settings *set, unsigned *used) {
    bool regression = strcmp(set->task, "regression") == 0;
    unsigned given = SCANT_FEATURES | SCANT_LABELS | SCANT_ROWS | SCANT_STATE, missing;
    if (!regression) given |= SCANT_PROBS | SCANT_CALIBRATED;
    if (!regression && loop_is_bayesian(set)) given |= SCANT_SAMPLES;
    if (arm->whole && !regression) given |= gradient_bits(arm);
    TRY(inputs(ctx, arm, given, used, &missing));
    if (missing == SCANT_GRADIENTS)
        TRY(inputs(ctx, arm, given | SCANT_GRADIENTS, used, &missing));
    if (missing & SCANT_SAMPLES) return lacks_samples(ctx, arm, set);
    if (missing)
        return scant__fail(ctx, SCANT_EUSAGE,
                           "%s needs class probabilities, and data.task = regression has "
                           "none",
                           arm->info->name);
    return *used & SCANT_SAMPLES ? check_projections(ctx, arm, set) : SCANT_OK;
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
    loop_tell(user, "calibrating", 0);
}

/* A network of the run, briefly trained on part. */
static scant_status train_fold(loop_run *run, size_t fold, size_t n_folds,
                               const loop_labelled *part, scant_net **out) {
    const loop_settings *set = &run->job->e->set;
    size_t epochs = size_min(set->training.epochs,
                             size_max(set->training.epochs / SHORT, SHORT_EPOCHS));
    size_t round = run->round.number, members = run->recipe.members;
    learn_job *jobs = scant__arena_zalloc(&run->round.arena, members, sizeof *jobs);
    scant_train_opts o;
    if (!jobs) return SCANT_ENOMEM;
    TRY(loop_net_make(run, loop_seed(run->seed, round, fold, LOOP_SEED_FOLDS), out));
    scant_status status = loop_train_options(run, part, epochs, &o);
    for (size_t i = 0; i < members; i++) {
        jobs[i] = (learn_job){.member = i, .opts = o};
        jobs[i].opts.seed =
            loop_seed(run->seed, round, (i + 1) * n_folds + fold, LOOP_SEED_FOLDS);
        jobs[i].opts.user = run;
        jobs[i].opts.report = on_step;
    }
    if (status == SCANT_OK)
        status = learn_train(*out, run->job->samples.train, &run->recipe, jobs, members);
    if (status == SCANT_OK) return SCANT_OK;
    scant_net_free(*out);
    *out = NULL;
    return status;
}

typedef struct folding {
    loop_run *run;
    size_t n_folds;
    size_t *kept, *held;
    float *weights;
} folding;

static scant_status fit_fold(void *user, size_t fold, const size_t *kept, size_t n_kept,
                             const size_t *held, size_t n_held, float *logits) {
    const folding *f = user;
    const loop_labelled *all = &f->run->round.labelled;
    for (size_t i = 0; i < n_kept; i++) {
        f->kept[i] = all->rows[kept[i]];
        if (all->weights) f->weights[i] = all->weights[kept[i]];
    }
    for (size_t i = 0; i < n_held; i++) f->held[i] = all->rows[held[i]];
    loop_labelled part = {
        .rows = f->kept, .weights = all->weights ? f->weights : NULL, .n = n_kept};
    scant_net *net;
    TRY(train_fold(f->run, fold, f->n_folds, &part, &net));
    scant_status status = scant_net_predict(net, f->run->job->samples.train, f->held,
                                            n_held, &(scant_outputs){.logits = logits});
    scant_net_free(net);
    return status;
}

static scant_status fit_crosswise(loop_run *run, double *out) {
    const loop_labelled *all = &run->round.labelled;
    scant__arena *arena = &run->round.arena;
    size_t n = all->n, n_folds = size_min(LOOP_FOLDS, n);
    folding f = {run, n_folds, scant__arena_alloc(arena, n + 1, sizeof *f.kept),
                 scant__arena_alloc(arena, n + 1, sizeof *f.held),
                 scant__arena_alloc(arena, n + 1, sizeof *f.weights)};
    int32_t *labels = scant__arena_alloc(arena, n + 1, sizeof *labels);
    if (!f.kept || !f.held || !f.weights || !labels) return SCANT_ENOMEM;
    for (size_t i = 0; i < n; i++)
        labels[i] = scant_data_labels(run->job->samples.train)[all->rows[i]];
    const loop_crossfit c = {
        .n = n,
        .folds = n_folds,
        .classes = run->job->samples.classes,
        .seed = loop_seed(run->seed, run->round.number, 0, LOOP_SEED_PICKS),
        .user = &f,
        .fit = fit_fold};
    return loop_crossfit_temperature(&c, run->ctx, labels, out);
}

/* The folds' networks warn of nothing that the round's own has not warned of. */
static scant_status calibrate(loop_run *run, scant_net *net) {
    void (*log)(void *, scant_log_level, const char *) = run->ctx->opts.log;
    if (run->split.n_valid) return loop_fit_held_out(run, net, &run->round.temperature);
    run->ctx->opts.log = NULL;
    scant_status status = fit_crosswise(run, &run->round.temperature);
    run->ctx->opts.log = log;
    return status;
}

/* ---- picks ------------------------------------------------------------------------- */

static scant_status read_evidence(loop_run *run, loop_evidence *evidence) {
    loop_reading what = {.net = run->query_net ? run->query_net : run->net,
                         .data = run->job->samples.train,
                         .rows = run->split.pool,
                         .n = run->split.n_pool,
                         .labelled = &run->round.labelled,
                         .seed = run->seed,
                         .draws_path = loop_draws_path(run)};
    if (run->arm->kernel)
        what.features = LOOP_INPUTS;
    else if (is_kernel(run->arm))
        what.features = LOOP_JACOBIANS;
    if (!what.draws_path) return SCANT_ENOMEM;
    TRY(loop_evidence_bits(run->ctx, run->arm, &run->job->e->set, &what.bits));
    if (what.bits & SCANT_CALIBRATED) TRY(calibrate(run, what.net));
    what.temperature = run->round.temperature;
    return loop_evidence_read(evidence, &what);
}

/* The strategy's options; a kernel has its biases in it. */
static scant_status settings_of(loop_run *run, const scant_setting **out) {
    const loop_arm *arm = run->arm;
    scant_setting *mine =
        scant__arena_alloc(&run->round.arena, arm->n_settings + 1, sizeof *mine);
    if (!mine) return SCANT_ENOMEM;
    for (size_t i = 0; i < arm->n_settings; i++) {
        mine[i] = arm->settings[i];
        if (is_kernel(arm) && strcmp(mine[i].key, "bias") == 0) mine[i].value = "0";
    }
    *out = mine;
    return SCANT_OK;
}

static scant_status pick(loop_run *run, const loop_evidence *evidence, size_t batch,
                         scant_picks **out) {
    scant_select_opts opts = {
        .seed = loop_seed(run->seed, run->round.number, 0, LOOP_SEED_PICKS),
        .n_settings = run->arm->n_settings,
        .kernel = run->arm->kernel,
        .state = run->state.memory,
        .state_size = run->state.memory_size};
    TRY(settings_of(run, &opts.settings));
    return scant_select(run->ctx, run->arm->info->name, &evidence->view, batch, &opts,
                        out);
}

scant_status loop_choose(loop_run *run, size_t batch, scant_picks **out) {
    loop_evidence evidence;
    *out = NULL;
    loop_clock(run, LOOP_READING);
    loop_tell(run, "reading out", 0);
    loop_evidence_init(&evidence, run->ctx);
    scant_status status = read_evidence(run, &evidence);
    loop_clock(run, LOOP_PICKING);
    loop_tell(run, "picking", 0);
    if (status == SCANT_OK) status = pick(run, &evidence, batch, out);
    loop_evidence_end(&evidence);
    return status;
}
