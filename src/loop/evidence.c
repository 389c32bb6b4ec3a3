/* SPDX-License-Identifier: Apache-2.0
 *
 * What a strategy needs to know of the pool, and nothing else, read out of a network in
 * one pass; and the picks.
 *
 *  - features, logits: of every row of the pool
 *  - calibrated: logits and a temperature. It is fitted on the validation set; without
 *    one, on labelled samples that networks were asked about which had not seen them:
 *    five short trainings, each without a fifth of the labelled set.
 *  - slopes (dynamic.layers = all): |g|^2 and <g, g_S> of every row, g being the whole
 *    network's loss gradient at the label of a labelled row and at the predicted class of
 *    another, g_S the labelled rows' sum. Exact, and no gradient is ever there: a summed
 *    pass over the labelled rows, then one forwards and backwards over the pool.
 *  - lengths (egl.layers = all): of such gradients at every class, weighted by the
 *    probabilities; a backward pass over the pool for each
 *  - gradients: sketches of those, for who takes them as features (bss)
 *  - samples: what every draw of the network, or every member, says of every row. They
 *    may be more than fits in memory, so they go through a file, which has lost its name
 *    by the time that it is read: nothing is left of it however the run ends.
 *  - npc.kernel = all, bss.kernel, crc.layers likewise: features whose inner products are
 * estimates of the whole network's tangent kernel, summed over classes: sketches of the
 * outputs' Jacobians. The kernel has the biases in it, so the strategy appends none.
 *  - npc.kernel = ntk:depth=K, bss.kernel, crc.layers likewise: the samples themselves,
 * scaled as the network sees them, for a kernel that needs no network.
 */
#include <string.h>
#include <unistd.h>

#include "core/number.h"
#include "core/rng.h"
#include "loop/loop.h"
#include "nn/inference.h"
#include "nn/input.h"
#include "nn/loss.h"
#include "scant/train.h"

enum { SKETCH = 512, LEAST_SKETCH = 32, FOLDS = 5, SHORT = 4, SHORT_EPOCHS = 10 };

/* ---- which ------------------------------------------------------------------------- */

/* What of the whole network's gradients an arm wants; 0: its kernel, as features. */
static unsigned measures(const loop_arm *arm) {
    if (strcmp(arm->info->name, "dynamic") == 0) return SCANT_SLOPES;
    return strcmp(arm->info->name, "egl") == 0 ? SCANT_LENGTHS : 0;
}

static bool is_kernel(const loop_arm *arm) { return arm->whole && !measures(arm); }

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

/* A number of samples that a strategy is to use must be there. */
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
    if (arm->whole && !regression) given |= measures(arm);
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

/* Of the validation set. */
scant_status loop_fit_held_out(loop_run *run, scant_net *net, double *out) {
    scant_evaluation e;
    TRY(scant_net_evaluate(net, run->job->samples.train, run->split.valid,
                           run->split.n_valid, &e));
    *out = e.temperature;
    return SCANT_OK;
}

typedef struct folds {
    size_t *rows, *kept, *out; /* the labelled, shuffled; those trained on; held out */
    float *weights;
    float *logits;
    int32_t *labels;
    size_t filled; /* of logits and labels */
} folds;

/* Trains without fold k and asks about it. */
static scant_status do_fold(loop_run *run, const loop_labelled *labelled, folds *f,
                            size_t k, size_t n_folds) {
    const loop_samples *s = &run->job->samples;
    const loop_settings *set = &run->job->e->set;
    size_t kept = 0, out = 0;
    for (size_t i = 0; i < labelled->n; i++) {
        size_t at = f->rows[i]; /* place in labelled */
        if (i % n_folds == k) {
            f->out[out++] = labelled->rows[at];
            continue;
        }
        if (labelled->weights) f->weights[kept] = labelled->weights[at];
        f->kept[kept++] = labelled->rows[at];
    }
    size_t epochs = size_min(set->epochs, size_max(set->epochs / SHORT, SHORT_EPOCHS));
    loop_labelled part = {f->kept, labelled->weights ? f->weights : NULL, kept};
    scant_net *net;
    TRY(loop_net_make(run, loop_seed(run->seed, run->round, k, LOOP_SEED_FOLDS), &net));
    loop_lesson lessons[LOOP_MEMBERS];
    for (size_t m = 0; m < run->n_members; m++) {
        size_t number = (m + 1) * n_folds + k;
        uint64_t seed = loop_seed(run->seed, run->round, number, LOOP_SEED_FOLDS);
        lessons[m] = (loop_lesson){m, seed, LOOP_ASIDE};
    }
    scant_status status =
        loop_members_train(run, net, &part, lessons, run->n_members, epochs);
    float *logits = f->logits + f->filled * s->classes;
    if (status == SCANT_OK)
        status = scant_net_predict(net, s->train, f->out, out,
                                   &(scant_outputs){.logits = logits});
    for (size_t i = 0; i < out; i++)
        f->labels[f->filled + i] = scant_data_labels(s->train)[f->out[i]];
    f->filled += out;
    scant_net_free(net);
    return status;
}

static scant_status fit_crosswise(loop_run *run, const loop_labelled *labelled,
                                  double *out) {
    size_t n = labelled->n, classes = run->job->samples.classes;
    size_t n_folds = size_min(FOLDS, n);
    scant__arena arena;
    folds f = {0};
    *out = 0;
    if (n < 2) return SCANT_OK; /* there is nothing to fit it to */
    scant__arena_init(&arena, run->ctx);
    f.rows = scant__arena_alloc(&arena, n, sizeof *f.rows);
    f.kept = scant__arena_alloc(&arena, n, sizeof *f.kept);
    f.out = scant__arena_alloc(&arena, n, sizeof *f.out);
    f.weights = scant__arena_alloc(&arena, n, sizeof *f.weights);
    f.logits = scant__arena_alloc(&arena, n, classes * sizeof *f.logits);
    f.labels = scant__arena_alloc(&arena, n, sizeof *f.labels);
    bool all = f.rows && f.kept && f.out && f.weights && f.logits && f.labels;
    scant_status status = all ? SCANT_OK : SCANT_ENOMEM;
    if (all)
        scant__rng_shuffle(
            &(scant__rng){loop_seed(run->seed, run->round, 0, LOOP_SEED_PICKS),
                          SCANT__RNG_FOLD},
            0, n, f.rows);
    for (size_t k = 0; k < n_folds && status == SCANT_OK; k++)
        status = do_fold(run, labelled, &f, k, n_folds);
    if (status == SCANT_OK) *out = nn_temperature(f.logits, f.labels, f.filled, classes);
    scant__arena_end(&arena);
    return status;
}

/* ---- reading out ------------------------------------------------------------------- */

enum { FEATURES, LOGITS, GRADIENTS, SLOPES, LENGTHS, LABELS, SAMPLES, EVIDENCE };

typedef struct readout {
    loop_run *run;
    scant_net *net;
    const loop_labelled *labelled;
    scant__arena arena;
    unsigned used;
    size_t n;
    float *features, *logits, *sketches;
    double *slopes, *lengths;
    int64_t *labels; /* of the labelled rows of the pool; else -1 */
    size_t feature_width;
    double temperature; /* 0: none */
    scant_array *arrays[EVIDENCE];
    scant_evidence evidence;
} readout;

static scant_status mark_labels(readout *r) {
    const loop_samples *s = &r->run->job->samples;
    const int32_t *labels = scant_data_labels(s->train);
    r->labels = scant__arena_alloc(&r->arena, r->n, sizeof *r->labels);
    if (!r->labels) return SCANT_ENOMEM;
    for (size_t i = 0; i < r->n; i++) r->labels[i] = -1;
    for (size_t i = 0; i < r->labelled->n; i++) {
        size_t row = r->labelled->rows[i];
        r->labels[loop_split_place(&r->run->split, row)] = labels ? labels[row] : 0;
    }
    return SCANT_OK;
}

static scant_status predict(readout *r) {
    const loop_samples *s = &r->run->job->samples;
    bool kernel = is_kernel(r->run->arm) || r->run->arm->kernel;
    if (r->used & SCANT_FEATURES && !kernel) {
        r->feature_width = scant_net_features(r->net);
        r->features =
            scant__arena_alloc(&r->arena, r->n, r->feature_width * sizeof(float));
        if (!r->features) return SCANT_ENOMEM;
    }
    if (r->used & (SCANT_PROBS | SCANT_CALIBRATED | SCANT_GRADIENTS) && !s->regression) {
        r->logits = scant__arena_alloc(&r->arena, r->n, s->classes * sizeof(float));
        if (!r->logits) return SCANT_ENOMEM;
    }
    if (!r->features && !r->logits) return SCANT_OK;
    return scant_net_predict(
        r->net, s->train, r->run->split.pool, r->n,
        &(scant_outputs){.features = r->features, .logits = r->logits});
}

static int32_t predicted(const float *logits, size_t classes) {
    size_t best = 0;
    for (size_t c = 1; c < classes; c++)
        if (logits[c] > logits[best]) best = c;
    return (int32_t)best;
}

/* Loss gradients; of numbers to predict, the output's own. */
static scant_status sketch_gradients(readout *r) {
    const loop_samples *s = &r->run->job->samples;
    int32_t *labels = scant__arena_alloc(&r->arena, r->n, sizeof *labels);
    r->sketches = scant__arena_alloc(&r->arena, r->n, SKETCH * sizeof(float));
    if (!labels || !r->sketches) return SCANT_ENOMEM;
    for (size_t i = 0; i < r->n && r->logits; i++)
        labels[i] = r->labels[i] >= 0 ? (int32_t)r->labels[i]
                                      : predicted(r->logits + i * s->classes, s->classes);
    scant_gradient_opts opts = {.labels = r->logits ? labels : NULL,
                                .sketch = SKETCH,
                                .outputs = s->regression,
                                .seed = r->run->seed};
    return scant_net_gradients(r->net, s->train, r->run->split.pool, r->n, &opts,
                               &(scant_gradients){.sketches = r->sketches});
}

/* At the labels of rows, which are labelled; or, labels being NULL, at what is predicted.
 * Slopes go to the rows' places in the pool. */
static scant_status measure(readout *r, const size_t *rows, size_t n,
                            const int32_t *labels, const float *direction) {
    const scant_gradient_opts opts = {.labels = labels, .direction = direction};
    double *norms = scant__arena_alloc(&r->arena, n, sizeof *norms);
    double *products = scant__arena_alloc(&r->arena, n, sizeof *products);
    if (!norms || !products) return SCANT_ENOMEM;
    if (n)
        TRY(scant_net_gradients(
            r->net, r->run->job->samples.train, rows, n, &opts,
            &(scant_gradients){.norms = norms, .products = direction ? products : NULL}));
    for (size_t i = 0; i < n; i++) {
        double *slope = r->slopes + 2 * loop_split_place(&r->run->split, rows[i]);
        slope[0] = norms[i];
        slope[1] = direction ? products[i] : 0;
    }
    return SCANT_OK;
}

static scant_status measure_slopes(readout *r) {
    const loop_labelled *known = r->labelled;
    const size_t *pool = r->run->split.pool;
    size_t n_rest = 0;
    const int32_t *all = scant_data_labels(r->run->job->samples.train);
    int32_t *labels = scant__arena_alloc(&r->arena, known->n + 1, sizeof *labels);
    size_t *rest = scant__arena_alloc(&r->arena, r->n, sizeof *rest);
    float *sum = NULL;
    r->slopes = scant__arena_alloc(&r->arena, r->n, 2 * sizeof *r->slopes);
    if (!labels || !rest || !r->slopes) return SCANT_ENOMEM;
    for (size_t i = 0; i < known->n; i++) labels[i] = all[known->rows[i]];
    for (size_t i = 0; i < r->n; i++)
        if (r->labels[i] < 0) rest[n_rest++] = pool[i];
    if (known->n) {
        sum = scant__arena_alloc(&r->arena, scant_net_parameters(r->net), sizeof *sum);
        if (!sum) return SCANT_ENOMEM;
        TRY(scant_net_gradients(r->net, r->run->job->samples.train, known->rows, known->n,
                                &(scant_gradient_opts){.labels = labels},
                                &(scant_gradients){.sum = sum}));
    }
    TRY(measure(r, known->rows, known->n, labels, sum));
    return measure(r, rest, n_rest, NULL, sum);
}

static scant_status measure_lengths(readout *r) {
    r->lengths = scant__arena_alloc(&r->arena, r->n, sizeof *r->lengths);
    if (!r->lengths) return SCANT_ENOMEM;
    return scant_net_gradients(r->net, r->run->job->samples.train, r->run->split.pool,
                               r->n, NULL, &(scant_gradients){.lengths = r->lengths});
}

static scant_status read_samples(readout *r) {
    const scant_data *data = r->run->job->samples.train;
    r->feature_width = scant__data_width(data);
    r->features =
        scant__arena_alloc(&r->arena, r->n, size_mul(r->feature_width, sizeof(float)));
    if (!r->features) return SCANT_ENOMEM;
    return nn_input_rows(r->net, data, r->run->split.pool, r->n, r->features);
}

static scant_status sketch_kernel(readout *r) {
    const loop_samples *s = &r->run->job->samples;
    size_t sketch = size_max(SKETCH / s->classes, LEAST_SKETCH);
    r->feature_width = size_mul(sketch, s->classes);
    r->features =
        scant__arena_alloc(&r->arena, r->n, size_mul(r->feature_width, sizeof(float)));
    if (!r->features) return SCANT_ENOMEM;
    scant_gradient_opts opts = {.sketch = sketch, .outputs = 1, .seed = r->run->seed};
    return scant_net_gradients(r->net, s->train, r->run->split.pool, r->n, &opts,
                               &(scant_gradients){.sketches = r->features});
}

static scant_status calibrate(readout *r) {
    double t;
    if (r->run->split.n_valid)
        TRY(loop_fit_held_out(r->run, r->net, &t));
    else
        TRY(fit_crosswise(r->run, r->labelled, &t));
    r->temperature = t > 0 ? t : 1;
    r->run->temperature = t;
    return SCANT_OK;
}

static scant_status wrap(readout *r, size_t which, const char *name, const void *data,
                         scant_dtype dtype, size_t width, const scant_array **out) {
    const size_t shape[] = {r->n, width};
    if (!data) return SCANT_OK;
    TRY(scant_array_wrap(r->run->ctx, name, data, dtype, width ? 2 : 1, shape,
                         &r->arrays[which]));
    *out = r->arrays[which];
    return SCANT_OK;
}

static scant_status draw_samples(readout *r) {
    loop_run *run = r->run;
    char *path = loop_samples_path(run);
    if (!path) return SCANT_ENOMEM;
    scant_status status =
        nn_samples(r->net, run->job->samples.train, run->split.pool, r->n, path, false);
    if (status == SCANT_OK) {
        status = scant_array_open(run->ctx, path, &r->arrays[SAMPLES]);
        unlink(path);
    }
    r->evidence.samples = r->arrays[SAMPLES];
    scant__free(run->ctx, path);
    return status;
}

static scant_status gather(readout *r) {
    const loop_samples *s = &r->run->job->samples;
    scant_evidence *e = &r->evidence;
    TRY(mark_labels(r));
    TRY(predict(r));
    if (r->used & SCANT_GRADIENTS) TRY(sketch_gradients(r));
    if (r->used & SCANT_SLOPES) TRY(measure_slopes(r));
    if (r->used & SCANT_LENGTHS) TRY(measure_lengths(r));
    if (r->used & SCANT_FEATURES && is_kernel(r->run->arm)) TRY(sketch_kernel(r));
    if (r->run->arm->kernel) TRY(read_samples(r));
    if (r->used & SCANT_CALIBRATED) TRY(calibrate(r));
    if (r->used & SCANT_SAMPLES) TRY(draw_samples(r));
    bool probs = r->used & (SCANT_PROBS | SCANT_CALIBRATED);
    TRY(wrap(r, FEATURES, "features", r->features, SCANT_F32, r->feature_width,
             &e->features));
    TRY(wrap(r, LOGITS, "logits", probs ? r->logits : NULL, SCANT_F32, s->classes,
             &e->logits));
    TRY(wrap(r, GRADIENTS, "gradients", r->sketches, SCANT_F32, SKETCH, &e->gradients));
    TRY(wrap(r, SLOPES, "slopes", r->slopes, SCANT_F64, 2, &e->slopes));
    TRY(wrap(r, LENGTHS, "lengths", r->lengths, SCANT_F64, 0, &e->lengths));
    TRY(wrap(r, LABELS, "labels", r->labels, SCANT_I64, 0, &e->labels));
    e->temperature = r->temperature;
    return SCANT_OK;
}

/* ---- picks ------------------------------------------------------------------------- */

/* The arm's settings; a kernel has its biases in it. */
static scant_status settings_of(readout *r, const scant_setting **out) {
    const loop_arm *arm = r->run->arm;
    scant_setting *mine =
        scant__arena_alloc(&r->arena, arm->n_settings + 1, sizeof *mine);
    if (!mine) return SCANT_ENOMEM;
    for (size_t i = 0; i < arm->n_settings; i++) {
        mine[i] = arm->settings[i];
        if (is_kernel(arm) && strcmp(mine[i].key, "bias") == 0) mine[i].value = "0";
    }
    *out = mine;
    return SCANT_OK;
}

static scant_status pick(readout *r, size_t batch, scant_picks **out) {
    const loop_run *run = r->run;
    const scant_setting *settings;
    TRY(settings_of(r, &settings));
    scant_select_opts opts = {.seed =
                                  loop_seed(run->seed, run->round, 0, LOOP_SEED_PICKS),
                              .settings = settings,
                              .n_settings = run->arm->n_settings,
                              .kernel = run->arm->kernel,
                              .state = run->state.memory,
                              .state_size = run->state.memory_size};
    return scant_select(run->ctx, run->arm->info->name, &r->evidence, batch, &opts, out);
}

scant_status loop_choose(loop_run *run, const loop_labelled *labelled, size_t batch,
                         scant_picks **out) {
    readout r = {.run = run,
                 .net = run->asker ? run->asker : run->net,
                 .labelled = labelled,
                 .n = run->split.n_pool};
    *out = NULL;
    loop_clock(run, LOOP_READING);
    loop_tell(run, "reading out", 0);
    scant__arena_init(&r.arena, run->ctx);
    scant_status status =
        loop_evidence_bits(run->ctx, run->arm, &run->job->e->set, &r.used);
    if (status == SCANT_OK) status = gather(&r);
    loop_clock(run, LOOP_PICKING);
    loop_tell(run, "picking", 0);
    if (status == SCANT_OK) status = pick(&r, batch, out);
    for (size_t i = 0; i < EVIDENCE; i++) scant_array_free(r.arrays[i]);
    scant__arena_end(&r.arena);
    return status;
}
