/* SPDX-License-Identifier: Apache-2.0
 *
 * Which network a project has, and how it is trained.
 *
 * With features: one dense layer on columns that are brought to mean 0 and deviation 1
 * (which the weights' file keeps), by stochastic gradients with momentum, as many steps
 * whatever the number of labels is, and with a weight decay that matters: a pretrained
 * network's thousand features and fifty labels fit in many ways, and the short one is
 * right most often. A tenth of a second for 500 labels of 1280 features.
 *
 * Without: a small network on the pixels. LeNet-5 for small grey pictures, three
 * convolutions for others, a hidden layer for what is too small for either. Some seconds.
 *
 * Settings override each of these: model, side, epochs, lr, method, bayes,
 * samples.
 */
#include <string.h>

#include "loop/project.h"
#include "scant/project.h"

enum {
    HEAD_STEPS = 600,
    HEAD_EPOCHS = 10, /* at least: of thousands of labels */
    HEAD_WIDTH = 1000,
    PIXEL_STEPS = 400,
    PIXEL_EPOCHS = 10,
    PIXEL_BATCH = 64,
    BATCH = 128,
    SIDE = 32,
    WIDTH = 32, /* of three convolutions */
    BRIEF = 4   /* a brief training's part */
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

scant_status project_recipe_read(scant_project *project, project_recipe *out) {
    const char *bayes = word(project, "bayes");
    *out = (project_recipe){.model = word(project, "model"),
                            .method = word(project, "method"),
                            .bayes = bayes && strcmp(bayes, "none") ? bayes : NULL,
                            .side = (size_t)number(project, "side"),
                            .epochs = (size_t)number(project, "epochs"),
                            .lr = number(project, "lr"),
                            .draws = (size_t)number(project, "samples")};
    if (out->method && strcmp(out->method, "supervised") == 0) out->method = NULL;
    return store_classes(project, &out->classes);
}

size_t project_side(const project_recipe *recipe) {
    return recipe->side ? recipe->side : SIDE;
}

/* ---- networks ---------------------------------------------------------------------- */

static scant_net_opts net_options(const project_recipe *r, const scant_data *data,
                                  const char *model, uint64_t seed) {
    scant_net_opts o = {.classes = r->classes, .seed = seed};
    scant_data_shape(data, o.shape);
    if (strcmp(model, "gapcnn") == 0) o.width = WIDTH;
    if (r->bayes) {
        o.bayes = r->bayes;
        o.samples = r->draws;
        o.draw_seed = seed;
    }
    return o;
}

/* The first that takes samples of that shape. */
static const char *choose(scant_ctx *ctx, const project_recipe *r,
                          const project_samples *s) {
    size_t shape[3], count;
    if (r->model) return r->model;
    if (s->features) return "linear";
    scant_data_shape(s->data, shape);
    bool grey = shape[0] == 1 && shape[1] <= 40 && shape[2] <= 40;
    const char *const models[] = {grey ? "lenet5" : "gapcnn", "gapcnn"};
    for (size_t i = 0; i < 2; i++) {
        scant_net_opts o = net_options(r, s->data, models[i], 0);
        if (scant_model_parameters(ctx, models[i], &o, &count) == SCANT_OK)
            return models[i];
    }
    return "mlp";
}

/* Photographs are not decoded only to be measured. */
static scant_status scale(const project_samples *s, scant_net *net) {
    static const float mean[] = {.45f, .45f, .45f}, deviation[] = {.27f, .27f, .27f};
    if (s->mean) return scant_net_set_scaling(net, s->mean, s->deviation);
    if (s->files) return scant_net_set_scaling(net, mean, deviation);
    return scant_net_fit_scaling(net, s->data);
}

static scant_status create(scant_project *project, const project_recipe *r,
                           const project_samples *s, uint64_t seed, scant_net **out) {
    scant_ctx *ctx = store_ctx(project);
    const char *model = choose(ctx, r, s);
    scant_net_opts o = net_options(r, s->data, model, seed);
    TRY(scant_net_create(ctx, model, &o, out));
    const char **names = scant__alloc(ctx, r->classes, sizeof *names);
    scant_status status = names ? SCANT_OK : SCANT_ENOMEM;
    for (size_t i = 0; names && i < r->classes; i++)
        names[i] = scant_project_class(project, i);
    if (status == SCANT_OK) status = scant_net_set_class_names(*out, names);
    if (status == SCANT_OK) status = scale(s, *out);
    scant__free(ctx, names);
    if (status == SCANT_OK) return SCANT_OK;
    scant_net_free(*out);
    *out = NULL;
    return status;
}

/* ---- training ---------------------------------------------------------------------- */

/* Steps that make about the same work of ten labels and of a thousand, and of many at
 * least so many epochs. */
static size_t steps_for(size_t n, size_t batch, size_t steps, size_t epochs) {
    size_t of_epoch = (n + batch - 1) / batch;
    return size_max(steps, of_epoch * epochs);
}

static scant_train_opts plain_options(const project_recipe *r, const project_samples *s,
                                      size_t n) {
    size_t shape[3];
    scant_data_shape(s->data, shape);
    bool variational = r->bayes && strcmp(r->bayes, "variational") == 0;
    if (!s->features)
        return (scant_train_opts){
            .optimizer = "adam",
            .lr = PIXEL_LR,
            .weight_decay = variational ? 0 : PIXEL_DECAY,
            .decay_weights_only = 1,
            .schedule = "cosine",
            .batch = PIXEL_BATCH,
            .steps = steps_for(n, PIXEL_BATCH, PIXEL_STEPS, PIXEL_EPOCHS)};
    double wide = (double)shape[0] / HEAD_WIDTH; /* more columns, steeper losses */
    return (scant_train_opts){.optimizer = "sgd",
                              .lr = wide > 1 ? HEAD_LR / wide : HEAD_LR,
                              .weight_decay = variational ? 0 : HEAD_DECAY,
                              .decay_weights_only = 1,
                              .schedule = "cosine",
                              .batch = BATCH,
                              .steps = steps_for(n, BATCH, HEAD_STEPS, HEAD_EPOCHS)};
}

/* What a method learns from without labels: the pool, and the items with labels, too. Not
 * all others of the data, as it would by itself: those that are withheld are judged by.
 */
static scant_status look_at(scant_ctx *ctx, const project_samples *s,
                            const project_lesson *lesson, size_t **rows, size_t *n) {
    size_t count = 0, all = size_add(lesson->n_pool, lesson->n);
    *rows = scant__alloc(ctx, all, sizeof **rows);
    if (!*rows) return SCANT_ENOMEM;
    for (size_t i = 0; i < lesson->n_pool; i++)
        if ((size_t)lesson->pool[i] < s->n) (*rows)[count++] = (size_t)lesson->pool[i];
    for (size_t i = 0; i < lesson->n; i++) (*rows)[count++] = lesson->rows[i];
    *n = count;
    return SCANT_OK;
}

/* A method of learning from items without labels has its own ways; it gets as many steps
 * as the plain one. */
static scant_train_opts options(const project_recipe *r, const project_samples *s,
                                const project_lesson *lesson) {
    scant_train_opts o = plain_options(r, s, lesson->n);
    if (r->method) o = (scant_train_opts){.method = r->method, .steps = o.steps};
    if (r->lr > 0) o.lr = r->lr;
    if (r->epochs) {
        size_t batch = o.batch ? o.batch : BATCH;
        o.steps = r->epochs * ((lesson->n + batch - 1) / batch);
    }
    if (lesson->brief) o.steps = size_max(1, o.steps / BRIEF);
    o.labels = lesson->labels;
    o.rows = lesson->rows;
    o.n_rows = lesson->n;
    o.seed = lesson->seed;
    o.user = lesson->user;
    o.report = lesson->report;
    return o;
}

/* Pictures in files are decoded once and not once an epoch, where they fit. */
static scant_status train(scant_ctx *ctx, const project_samples *s, scant_train_opts *o,
                          scant_net *net) {
    size_t shape[3];
    scant_data_shape(s->data, shape);
    size_t each = size_mul(size_mul(shape[0] * shape[1], shape[2]), sizeof(float));
    if (!s->files || o->method || size_mul(each, o->n_rows) > scant_ctx_memory(ctx) / 4)
        return scant_net_train(net, s->data, o, NULL);
    scant_data *copy;
    TRY(project_copy_open(ctx, s->data, o->rows, o->n_rows, &copy));
    size_t *rows = scant__alloc(ctx, o->n_rows, sizeof *rows);
    for (size_t i = 0; rows && i < o->n_rows; i++) rows[i] = i;
    o->rows = rows;
    scant_status status = rows ? scant_net_train(net, copy, o, NULL) : SCANT_ENOMEM;
    scant__free(ctx, rows);
    scant_data_free(copy);
    return status;
}

static scant_status make(scant_project *project, const project_recipe *recipe,
                         const project_samples *samples, const project_lesson *lesson,
                         scant_net **out) {
    scant_ctx *ctx = store_ctx(project);
    scant_train_opts o = options(recipe, samples, lesson);
    size_t *unlabelled = NULL;
    TRY(create(project, recipe, samples,
               project_seed(lesson->seed, 0, PROJECT_SEED_WEIGHTS), out));
    scant_status status = SCANT_OK;
    if (o.method) status = look_at(ctx, samples, lesson, &unlabelled, &o.n_unlabelled);
    o.unlabelled = unlabelled;
    if (status == SCANT_OK) status = train(ctx, samples, &o, *out);
    scant__free(ctx, unlabelled);
    if (status == SCANT_OK) return SCANT_OK;
    scant_net_free(*out);
    *out = NULL;
    return status;
}

/* A step of a head is a tenth of a millisecond: threads would wait for each other most of
 * the time, and for a very long time where a server's other threads are at work. */
scant_status project_net_train(scant_project *project, const project_recipe *recipe,
                               const project_samples *samples,
                               const project_lesson *lesson, scant_net **out) {
    scant_ctx *ctx = store_ctx(project);
    unsigned threads = ctx->threads;
    *out = NULL;
    if (samples->features) ctx->threads = 1;
    scant_status status = make(project, recipe, samples, lesson, out);
    ctx->threads = threads;
    return status;
}
