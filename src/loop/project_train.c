/* SPDX-License-Identifier: Apache-2.0
 *
 * Trains a project's next model, from the lock to the database.
 *
 * The model learns from the labels of store_snapshot_read(), without the audit set; a
 * semi-supervised method also uses the candidates. The weights are written first, then
 * the predictions of all items, then the row in the database, which adds the model. So a
 * killed call leaves the last model intact, and the next call uses the same number again.
 * So does a training that collapsed: nothing but an event is written.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/argmax.h"
#include "core/clock.h"
#include "core/json.h"
#include "data/file.h"
#include "loop/project.h"
#include "scant/project.h"

enum { WHO = 320, NAME = 48, SMALL = 1024 /* values of an image */ };

typedef struct training {
    scant_project *project;
    const scant_project_train_opts *opts;
    scant__arena arena;
    project_settings settings;
    project_samples samples;
    project_training labelled;
    store_snapshot read;
    int32_t *before; /* the previous model's class of each item; NULL: unknown */
    size_t n_before;
    store_model model;
    char file[NAME];
    double began;
} training;

/* ---- labels ------------------------------------------------------------------------ */

static scant_status check_labels(const training *t) {
    const project_training *l = &t->labelled;
    scant_ctx *ctx = store_ctx(t->project);
    for (size_t i = 1; i < l->n; i++)
        if (l->labels[i] != l->labels[0]) return SCANT_OK;
    if (!l->n)
        return scant__fail(ctx, SCANT_ENOTREADY,
                           "%s: there is no label to learn from yet (models never learn "
                           "from the audit set)",
                           store_dir(t->project));
    return scant__fail(
        ctx, SCANT_ENOTREADY, "%s: a model needs labels of two classes, and %s '%s'",
        store_dir(t->project), l->n > 1 ? "all labels are" : "the only label is",
        scant_project_class(t->project, (size_t)l->labels[0]));
}

static scant_status read_labels(training *t) {
    store_model last;
    TRY(store_items(t->project, &t->labelled.n_items));
    TRY(store_snapshot_read(t->project, &t->arena, &t->read));
    t->labelled.rows = t->read.items;
    t->labelled.labels = t->read.labels;
    t->labelled.n = t->read.n;
    t->labelled.pool = t->read.candidates;
    t->labelled.n_pool = t->read.n_candidates;
    t->model.entry = t->read.entry;
    TRY(check_labels(t));
    TRY(store_model_last(t->project, &t->arena, &last));
    t->model.number = last.number + 1;
    snprintf(t->file, sizeof t->file, "models/%04zu.safetensors", t->model.number);
    t->model.file = t->file;
    t->model.labels = t->labelled.n;
    t->model.seed = t->opts->seed ? t->opts->seed
                                  : project_seed(store_seed(t->project), t->model.number,
                                                 PROJECT_SEED_TRAINING);
    t->labelled.seed = t->model.seed;
    t->labelled.user = t->opts->user;
    t->labelled.report = t->opts->report;
    return SCANT_OK;
}

/* ---- agreement --------------------------------------------------------------------- */

static int32_t class_of(const scant_array *probs, size_t item) {
    size_t classes = scant_array_shape(probs)[1];
    return (int32_t)scant__argmax((const float *)probs->data + item * classes, classes);
}

/* Reads the previous model's predictions, before anything is changed. If there are none,
 * or they cannot be used, the agreement is unknown. */
static scant_status read_previous(training *t) {
    const scant_array *probs;
    size_t model;
    scant_status status = project_predictions(t->project, &probs, &model);
    if (status == SCANT_ENOTREADY || status == SCANT_EUSAGE || status == SCANT_EINPUT)
        return SCANT_OK;
    if (status != SCANT_OK) return status;
    if (!probs) return SCANT_OK;
    size_t n = scant_array_shape(probs)[0];
    t->before = TRY_NEW(&t->arena, int32_t, n);
    t->n_before = n;
    for (size_t i = 0; i < n; i++) t->before[i] = class_of(probs, i);
    return SCANT_OK;
}

/* Maps the predictions of the new model, which is not in the database yet. */
static scant_status read_predictions(training *t, const scant_array **out) {
    TRY(project_array(t->project, PROJECT_PROBS, t->model.number, out));
    if (*out) return SCANT_OK;
    return scant__fail(
        store_ctx(t->project), SCANT_EIO,
        "%s/cache: the new model's predictions were deleted during training: train again",
        store_dir(t->project));
}

static scant_status measure_agreement(training *t, const scant_array *now) {
    int64_t *items;
    size_t n, asked = 0, same = 0;
    t->model.agreement = NAN;
    if (!t->before) return SCANT_OK;
    TRY(store_candidates(t->project, &t->arena, &items, &n));
    for (size_t i = 0; i < n; i++) {
        size_t item = (size_t)items[i];
        if (item >= t->n_before || item >= scant_array_shape(now)[0]) continue;
        asked++;
        same += t->before[item] == class_of(now, item);
    }
    if (asked) t->model.agreement = (double)same / (double)asked;
    return SCANT_OK;
}

/* ---- the audit set ----------------------------------------------------------------- */

/* Whether six more trainings take seconds, not minutes. */
static bool is_cheap(const project_samples *s) {
    size_t shape[3];
    scant_data_shape(s->data, shape);
    return s->features || shape[0] * shape[1] * shape[2] <= SMALL;
}

static scant_status compare_with_random(training *t) {
    const store_snapshot *read = &t->read;
    project_training audited = {
        .pool = t->labelled.pool, .n_pool = t->labelled.n_pool, .seed = t->model.seed};
    project_gain gain = {NAN, NAN, NAN};
    size_t *rows = TRY_NEW(&t->arena, size_t, read->n_audit + 1);
    int32_t *labels = TRY_NEW(&t->arena, int32_t, read->n_audit + 1);
    for (size_t i = 0; i < read->n_audit; i++) {
        if (read->audit_labels[i] < 0 || read->audit[i] >= t->samples.n) continue;
        rows[audited.n] = read->audit[i];
        labels[audited.n++] = read->audit_labels[i];
    }
    audited.rows = rows;
    audited.labels = labels;
    if (is_cheap(&t->samples))
        TRY(project_over_random(t->project, &t->settings, &t->samples, &t->labelled,
                                read->origins, &audited, &gain,
                                &t->model.over_random_labels));
    t->model.over_random = gain.mean;
    t->model.over_random_low = gain.low;
    t->model.over_random_high = gain.high;
    return SCANT_OK;
}

static scant_status record(training *t, const scant_array *now) {
    size_t known = 0, n = t->read.n_audit, *audit = t->read.audit;
    int32_t *predicted = TRY_NEW(&t->arena, int32_t, n + 1);
    for (size_t i = 0; i < n; i++) {
        if (audit[i] >= scant_array_shape(now)[0]) continue; /* an item added later */
        audit[known] = audit[i];
        predicted[known++] = class_of(now, audit[i]);
    }
    t->model.classes = t->settings.classes;
    t->model.items = scant_array_shape(now)[0];
    t->model.seconds = scant__now() - t->began;
    return store_model_add(t->project, &t->model, audit, predicted, known,
                           &t->model.number);
}

static scant_status add_event(const training *t) {
    AUTO(scant__json_end) scant__json json = {.text.ctx = store_ctx(t->project)};
    scant__json_open(&json, NULL, '{');
    JSON_MEMBERS(&json, MEMBER("model", t->model.number),
                 MEMBER("labels", t->model.labels));
    scant__json_rounded(&json, "seconds", t->model.seconds, 3);
    scant__json_close(&json, '}');
    return json.text.failed ? SCANT_ENOMEM
                            : scant_project_event(t->project, "trained", json.text.data);
}

/* ---- entry point ------------------------------------------------------------------- */

static scant_status learn(training *t) {
    AUTO(scant_net_auto) scant_net *net = NULL;
    const char *dir = store_dir(t->project);
    const char *folder = scant__arena_format(&t->arena, "%s/models", dir);
    const char *path = scant__arena_format(&t->arena, "%s/%s", dir, t->file);
    if (!folder || !path) return SCANT_ENOMEM;
    project_signs signs;
    TRY(project_learn(t->project, &t->settings, &t->samples, &t->labelled, &net, &signs));
    if (!net)
        return project_collapse_fail(t->project, &t->settings, &t->labelled, &signs,
                                     t->model.number - 1);
    TRY(scant_project_check(t->project));
    TRY(scant__folder_make_in(t->arena.ctx, dir, folder));
    TRY(scant_net_save(net, path));
    return project_predict_all(t->project, net, &t->samples, t->model.number);
}

static scant_status work(training *t) {
    const scant_array *now;
    TRY(read_labels(t));
    TRY(project_settings_read(t->project, &t->settings));
    TRY(read_previous(t));
    TRY(project_samples_open(t->project, project_side(&t->settings), &t->arena,
                             &t->samples));
    TRY(learn(t));
    TRY(compare_with_random(t));
    TRY(read_predictions(t, &now));
    TRY(measure_agreement(t, now));
    TRY(record(t, now));
    project_predict_forget(t->project, t->model.number);
    return add_event(t);
}

static void describe(char who[WHO]) {
    char host[128] = "?", when[32] = "?";
    time_t now = time(NULL);
    struct tm parts;
    gethostname(host, sizeof host - 1);
    if (localtime_r(&now, &parts)) strftime(when, sizeof when, "%H:%M:%S", &parts);
    snprintf(who, WHO, "process %ld on %s, training since %s", (long)getpid(), host,
             when);
}

static void training_end(training *t) {
    project_samples_close(&t->samples);
    scant__arena_end(&t->arena);
}

scant_status scant_project_train(scant_project *project,
                                 const scant_project_train_opts *opts, size_t *model) {
    NEED(project);
    const scant_project_train_opts none = {0};
    AUTO(scant_hold_auto) scant_hold *hold = NULL;
    AUTO(training_end)
    training t = {.project = project,
                  .opts = opts ? opts : &none,
                  .arena = {.ctx = store_ctx(project)},
                  .began = scant__now()};
    char who[WHO];
    describe(who);
    TRY(scant_project_hold(project, "train", who, &hold));
    TRY(work(&t));
    if (model) *model = t.model.number;
    return SCANT_OK;
}
