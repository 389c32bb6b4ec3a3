/* SPDX-License-Identifier: Apache-2.0
 *
 * A project's recipe: its network and how it is trained.
 *
 * With features: one dense layer on columns scaled to mean 0 and deviation 1 (stored in
 * the weights file), trained by SGD with momentum for a number of steps that hardly
 * depends on the number of labels. The weight decay is large: with a thousand features
 * and fifty labels many weights fit, and those of smallest norm generalise best. Training
 * takes a tenth of a second for 500 labels of 1280 features.
 *
 * Without features: a small network on the pixels, trained in seconds. LeNet-5 for small
 * grey images, three convolutions for others, an MLP for images too small for either.
 *
 * The settings model, side, epochs, lr, method, bayes and samples override these.
 *
 * A training that collapsed is repeated once with another seed, which depends on the
 * first one alone. Two collapsed trainings give no network.
 */
#include <string.h>

#include "data/dataset.h"
#include "loop/learn.h"
#include "loop/project.h"
#include "scant/project.h"

enum {
    HEAD_STEPS = 600,
    HEAD_EPOCHS = 10, /* minimum, for thousands of labels */
    HEAD_WIDTH = 1000,
    PIXEL_STEPS = 400,
    PIXEL_EPOCHS = 10,
    PIXEL_BATCH = 64,
    BATCH = 128,
    SIDE = 32,
    WIDTH = 32, /* of the three convolutions */
    BRIEF = 4   /* a brief training has 1/BRIEF of the steps */
};
static const double HEAD_LR = 0.01, HEAD_DECAY = 0.05;
static const double PIXEL_LR = 0.001, PIXEL_DECAY = 1e-4;

/* ---- settings ---------------------------------------------------------------------- */

static bool is_auto(const char *value) {
    return !value || !*value || strcmp(value, "auto") == 0;
}

static const char *word(scant_project *project, const char *key) {
    const char *value = scant_project_get(project, key);
    return is_auto(value) ? NULL : value;
}

static double number(scant_project *project, const char *key) {
    return word(project, key) ? store_number(project, key) : 0;
}

scant_status project_settings_read(scant_project *project, project_settings *out) {
    const char *bayes = word(project, "bayes");
    *out = (project_settings){.model = word(project, "model"),
                              .method = word(project, "method"),
                              .bayes = bayes && strcmp(bayes, "none") ? bayes : NULL,
                              .side = (size_t)number(project, "side"),
                              .epochs = (size_t)number(project, "epochs"),
                              .lr = number(project, "lr"),
                              .draws = (size_t)number(project, "samples")};
    if (out->method && strcmp(out->method, "supervised") == 0) out->method = NULL;
    return store_classes(project, &out->classes);
}

size_t project_side(const project_settings *set) { return set->side ? set->side : SIDE; }

/* ---- networks ---------------------------------------------------------------------- */

static scant_net_opts net_options(const project_settings *set, const scant_data *data,
                                  const char *model, uint64_t seed) {
    scant_net_opts o = {.classes = set->classes, .seed = seed};
    scant_data_shape(data, o.shape);
    if (strcmp(model, "gapcnn") == 0) o.width = WIDTH;
    if (set->bayes) {
        o.bayes = set->bayes;
        o.draws = set->draws;
        o.draw_seed = seed;
    }
    return o;
}

/* The first model that accepts the samples' shape. */
static const char *choose_model(scant_ctx *ctx, const project_settings *set,
                                const project_samples *s) {
    size_t shape[3], count;
    if (set->model) return set->model;
    if (s->features) return "linear";
    scant_data_shape(s->data, shape);
    bool grey = shape[0] == 1 && shape[1] <= 40 && shape[2] <= 40;
    const char *const models[] = {grey ? "lenet5" : "gapcnn", "gapcnn"};
    for (size_t i = 0; i < 2; i++) {
        scant_net_opts o = net_options(set, s->data, models[i], 0);
        if (scant_model_parameters(ctx, models[i], &o, &count) == SCANT_OK)
            return models[i];
    }
    return "mlp";
}

/* ---- training ---------------------------------------------------------------------- */

/* A fixed number of steps, so that ten labels take about as long as a thousand; with many
 * labels, at least `epochs` epochs. */
static size_t steps_for(size_t n, size_t batch, size_t steps, size_t epochs) {
    size_t of_epoch = (n + batch - 1) / batch;
    return size_max(steps, of_epoch * epochs);
}

static scant_train_opts plain_options(const project_settings *set,
                                      const project_samples *s, size_t n) {
    size_t shape[3];
    scant_data_shape(s->data, shape);
    bool variational = set->bayes && strcmp(set->bayes, "variational") == 0;
    scant_train_opts o;
    scant_train_defaults(NULL, s->features ? "sgd" : "adam", &o);
    o.schedule = "cosine";
    o.decay_weights_only = true;
    if (!s->features) {
        o.lr = PIXEL_LR;
        o.weight_decay = variational ? 0 : PIXEL_DECAY;
        o.batch = PIXEL_BATCH;
        o.steps = steps_for(n, PIXEL_BATCH, PIXEL_STEPS, PIXEL_EPOCHS);
        return o;
    }
    double wide = (double)shape[0] / HEAD_WIDTH; /* more columns need a smaller rate */
    o.lr = wide > 1 ? HEAD_LR / wide : HEAD_LR;
    o.weight_decay = variational ? 0 : HEAD_DECAY;
    o.batch = BATCH;
    o.steps = steps_for(n, BATCH, HEAD_STEPS, HEAD_EPOCHS);
    return o;
}

/* A semi-supervised method has its own defaults, but the steps of a supervised one. */
static scant_train_opts train_options(const project_settings *set,
                                      const project_samples *s,
                                      const project_training *t) {
    scant_train_opts o = plain_options(set, s, t->n);
    size_t steps = o.steps;
    if (set->method) {
        scant_train_defaults(set->method, NULL, &o);
        o.steps = steps;
    }
    if (set->lr > 0) o.lr = set->lr;
    if (set->epochs) o.steps = set->epochs * ((t->n + o.batch - 1) / o.batch);
    if (t->brief) o.steps = size_max(1, o.steps / BRIEF);
    o.labels = t->labels;
    o.rows = t->rows;
    o.n_rows = t->n;
    o.seed = t->seed;
    o.user = t->user;
    o.report = t->report;
    return o;
}

/* Sets the unlabelled rows of a semi-supervised method: the pool, and the labelled items
 * if the method uses them or nothing else is left. The default would be all items,
 * including the audit set. */
static scant_status list_unlabelled(const project_samples *s, const project_training *t,
                                    scant__arena *arena, scant_train_opts *o) {
    size_t n = 0;
    size_t *rows = TRY_NEW(arena, size_t, size_add(t->n_pool, t->n));
    for (size_t i = 0; i < t->n_pool; i++)
        if ((size_t)t->pool[i] < s->n) rows[n++] = (size_t)t->pool[i];
    bool labelled = !n || scant_method_find(o->method)->uses_labelled;
    for (size_t i = 0; labelled && i < t->n; i++) rows[n++] = t->rows[i];
    o->unlabelled = rows;
    o->n_unlabelled = n;
    return SCANT_OK;
}

static scant_status make_recipe(scant_project *project, const project_settings *set,
                                const project_samples *s, const project_training *t,
                                scant__arena *arena, scant_recipe *out) {
    /* fixed for images in files: measuring would decode all of them */
    static const float mean[] = {.45f, .45f, .45f}, deviation[] = {.27f, .27f, .27f};
    const char *model = choose_model(store_ctx(project), set, s);
    const char **names = TRY_NEW(arena, const char *, set->classes);
    for (size_t i = 0; i < set->classes; i++) names[i] = scant_project_class(project, i);
    *out =
        (scant_recipe){.model = model,
                       .net = net_options(set, s->data, model,
                                          project_seed(t->seed, 0, PROJECT_SEED_WEIGHTS)),
                       .mean = s->mean    ? s->mean
                               : s->files ? mean
                                          : NULL,
                       .deviation = s->mean ? s->deviation : deviation,
                       .class_names = names,
                       .train = train_options(set, s, t)};
    return set->method ? list_unlabelled(s, t, arena, &out->train) : SCANT_OK;
}

/* Whether images in files are decoded once, into memory, instead of in every epoch. */
static bool is_copied(scant_ctx *ctx, const project_samples *s,
                      const scant_train_opts *o) {
    size_t each = size_mul(scant__data_width(s->data), sizeof(float));
    return s->files && !o->unlabelled &&
           size_mul(each, o->n_rows) <= scant_ctx_memory(ctx) / 4;
}

static scant_status learn_copy(scant_ctx *ctx, const project_samples *s,
                               scant_recipe *recipe, scant__arena *arena, scant_net **out,
                               scant_train_state *state) {
    AUTO(scant_data_auto) scant_data *copy = NULL;
    scant_train_opts *o = &recipe->train;
    size_t *rows = TRY_NEW(arena, size_t, o->n_rows);
    TRY(project_copy_open(ctx, s->data, o->rows, o->n_rows, &copy));
    for (size_t i = 0; i < o->n_rows; i++) rows[i] = i;
    o->rows = rows;
    return scant_learn(ctx, copy, recipe, out, state);
}

/* With features one thread is used: a step takes 0.1 ms, so threads would mostly wait for
 * each other, especially in a busy server. */
static scant_status learn_once(scant_project *project, const project_settings *set,
                               const project_samples *s, const project_training *training,
                               scant_net **out, scant_train_state *state) {
    scant_ctx *ctx = store_ctx(project);
    AUTO(scant__arena_end) scant__arena arena = {.ctx = ctx};
    unsigned threads = ctx->threads;
    scant_recipe recipe;
    *out = NULL;
    *state = (scant_train_state){0};
    TRY(make_recipe(project, set, s, training, &arena, &recipe));
    if (s->features) ctx->threads = 1;
    scant_status status = is_copied(ctx, s, &recipe.train)
                              ? learn_copy(ctx, s, &recipe, &arena, out, state)
                              : scant_learn(ctx, s->data, &recipe, out, state);
    ctx->threads = threads;
    return status;
}

/* Frees a collapsed network and describes its signs. */
static bool drop_collapsed(scant_status status, const scant_train_state *state,
                           scant_net **net, project_signs *signs) {
    if (!learn_has_collapsed(status, state)) return false;
    signs->signs = state->signs;
    scant_train_signs_text(state, signs->found);
    scant_net_free(*net);
    *net = NULL;
    return true;
}

scant_status project_learn(scant_project *project, const project_settings *set,
                           const project_samples *s, const project_training *training,
                           scant_net **out, project_signs *signs) {
    project_training again = *training;
    scant_train_state state;
    *signs = (project_signs){0};
    scant_status status = learn_once(project, set, s, training, out, &state);
    if (!drop_collapsed(status, &state, out, signs)) return status;
    learn_warn_repeated(store_ctx(project), signs->found);
    again.seed = project_seed(training->seed, 1, PROJECT_SEED_TRAINING);
    status = learn_once(project, set, s, &again, out, &state);
    return drop_collapsed(status, &state, out, signs) ? SCANT_OK : status;
}
