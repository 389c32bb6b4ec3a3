/* SPDX-License-Identifier: Apache-2.0
 *
 * Predictions of the last model for all items, in cache/: probabilities and, for a
 * network that reads images, its features. There is a column for each class of the
 * project; it is 0 for classes that were added after the training.
 *
 * A missing file is computed from the weights. If items or classes were added, existing
 * rows are copied and the network only predicts the new ones.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "data/file.h"
#include "loop/project.h"
#include "nn/inference.h"
#include "nn/loss.h"
#include "scant/project.h"

/* ---- writing ----------------------------------------------------------------------- */

typedef struct output {
    scant_writer *probs, *features; /* features may be NULL */
    size_t known, classes;          /* of the network; of the project (>= known) */
    size_t width;                   /* columns of features */
    float *rows;                    /* ROWS x classes: a buffer */
} output;

enum { ROWS = 512 };

/* Writes n rows of `known` probabilities (or the softmax of logits), padded with 0. */
static scant_status write_probs(output *s, const float *from, size_t known, bool logits,
                                size_t n) {
    for (size_t first = 0; first < n; first += ROWS) {
        size_t count = size_min(ROWS, n - first);
        for (size_t i = 0; i < count; i++) {
            const float *row = from + (first + i) * known;
            float *to = s->rows + i * s->classes;
            if (logits)
                nn_softmax(1, known, row, 1, to);
            else
                memcpy(to, row, known * sizeof *to);
            for (size_t c = known; c < s->classes; c++) to[c] = 0;
        }
        TRY(scant_writer_append(s->probs, s->rows, count * s->classes * sizeof *s->rows));
    }
    return SCANT_OK;
}

static scant_status write_block(void *arg, const nn_outputs *outputs) {
    output *s = arg;
    TRY(write_probs(s, outputs->probs ? outputs->probs : outputs->logits, s->known,
                    !outputs->probs, outputs->count));
    if (!s->features) return SCANT_OK;
    return scant_writer_append(s->features, outputs->features,
                               outputs->count * s->width * sizeof(float));
}

/* Existing rows of this model's files. */
typedef struct earlier {
    const scant_array *probs, *features;
    size_t n;
} earlier;

static scant_status write_rows(scant__arena *arena, scant_net *net,
                               const project_samples *samples, const earlier *old,
                               output *s) {
    size_t rest = samples->n - old->n;
    if (old->n)
        TRY(write_probs(s, (const float *)old->probs->data,
                        scant_array_shape(old->probs)[1], false, old->n));
    if (old->n && s->features)
        TRY(scant_writer_append(s->features, old->features->data,
                                old->n * s->width * sizeof(float)));
    if (!rest) return SCANT_OK;
    size_t *rows = TRY_NEW(arena, size_t, rest);
    for (size_t i = 0; i < rest; i++) rows[i] = old->n + i;
    return nn_infer(net, samples->data, rows, rest,
                    &(nn_inference){.phase = "predicting", .fn = write_block, .arg = s});
}

static scant_status open_writer(scant_project *project, scant__arena *arena,
                                project_array_kind which, size_t model, size_t n,
                                size_t width, scant_writer **out) {
    const char *path;
    TRY(project_array_path(project, arena, which, model, &path));
    TRY(scant_writer_open(arena->ctx, path, SCANT_F32, 2, (size_t[]){n, width}, out));
    scant__writer_temporary(*out); /* not fsynced: it can be computed again */
    return SCANT_OK;
}

static void output_end(output *s) {
    scant_writer_free(s->features);
    scant_writer_free(s->probs);
}

/* Renames the completed file into place. */
static scant_status finish(scant_writer **file) {
    scant_writer *taken = *file;
    *file = NULL;
    return scant_writer_finish(taken);
}

static scant_status write_all(scant_project *project, scant_net *net,
                              const project_samples *samples, size_t model,
                              const earlier *old) {
    AUTO(scant__arena_end) scant__arena arena = {.ctx = store_ctx(project)};
    AUTO(output_end)
    output s = {.known = scant_net_classes(net), .width = scant_net_features(net)};
    TRY(store_classes(project, &s.classes));
    s.classes = size_max(s.classes, s.known);
    s.rows = TRY_NEW(&arena, float, size_mul(ROWS, s.classes));
    TRY(open_writer(project, &arena, PROJECT_PROBS, model, samples->n, s.classes,
                    &s.probs));
    if (!samples->features)
        TRY(open_writer(project, &arena, PROJECT_FEATURES, model, samples->n, s.width,
                        &s.features));
    scant_status status = write_rows(&arena, net, samples, old, &s);
    project_images_warn(samples->data);
    if (status != SCANT_OK) return status;
    /* Features first: a reader that finds probabilities also finds features. */
    if (s.features) TRY(finish(&s.features));
    return finish(&s.probs);
}

scant_status project_predict_all(scant_project *project, scant_net *net,
                                 const project_samples *samples, size_t model) {
    return write_all(project, net, samples, model, &(earlier){0});
}

void project_predict_forget(scant_project *project, size_t model) {
    AUTO(scant__arena_end) scant__arena arena = {.ctx = store_ctx(project)};
    const char *path;
    for (int which = 0; which < PROJECT_ARRAYS && model > 2; which++)
        if (project_array_path(project, &arena, (project_array_kind)which, model - 2,
                               &path) == SCANT_OK)
            unlink(path);
}

/* ---- reading ----------------------------------------------------------------------- */

scant_status project_net_open(scant_project *project, const store_model *model,
                              scant_net **out) {
    AUTO(scant__arena_end) scant__arena arena = {.ctx = store_ctx(project)};
    const char *path =
        scant__arena_format(&arena, "%s/%s", store_dir(project), model->file);
    *out = NULL;
    if (!path) return SCANT_ENOMEM;
    if (access(path, F_OK) == 0 || errno != ENOENT)
        return scant_net_open(arena.ctx, path, NULL, NULL, out);
    return scant__fail(
        arena.ctx, SCANT_ENOTREADY,
        "%s: is missing, and cache/ has no predictions of this model: train "
        "again",
        path);
}

/* Finds the rows that can be copied: those that all needed files have. */
static scant_status find_earlier(scant_project *project, size_t model,
                                 const project_samples *samples, size_t classes,
                                 size_t width, earlier *old) {
    TRY(project_array(project, PROJECT_PROBS, model, &old->probs));
    if (!old->probs || scant_array_shape(old->probs)[1] > classes) return SCANT_OK;
    size_t n = scant_array_shape(old->probs)[0];
    if (!samples->features) {
        TRY(project_array(project, PROJECT_FEATURES, model, &old->features));
        if (!old->features || scant_array_shape(old->features)[1] != width)
            return SCANT_OK;
        n = size_min(n, scant_array_shape(old->features)[0]);
    }
    old->n = size_min(n, samples->n);
    return SCANT_OK;
}

static scant_status recompute(scant_project *project, const store_model *model,
                              size_t classes) {
    AUTO(scant__arena_end) scant__arena arena = {.ctx = store_ctx(project)};
    AUTO(scant_net_auto) scant_net *net = NULL;
    AUTO(project_samples_close) project_samples samples = {0};
    earlier old = {0};
    size_t shape[3];
    TRY(project_net_open(project, model, &net));
    scant_net_shape(net, shape);
    TRY(project_samples_open(project, shape[1], &arena, &samples));
    TRY(find_earlier(project, model->number, &samples, classes, scant_net_features(net),
                     &old));
    return write_all(project, net, &samples, model->number, &old);
}

/* *fresh: the file covers all items and classes. */
static scant_status find_predictions(scant_project *project, size_t model,
                                     const scant_array **out, size_t *classes,
                                     bool *fresh) {
    size_t n;
    TRY(store_items(project, &n));
    TRY(store_classes(project, classes));
    TRY(project_array(project, PROJECT_PROBS, model, out));
    *fresh =
        *out && scant_array_shape(*out)[0] >= n && scant_array_shape(*out)[1] == *classes;
    return SCANT_OK;
}

static scant_status map_predictions(scant_project *project, bool cached_only,
                                    const scant_array **out, size_t *model) {
    AUTO(scant__arena_end) scant__arena arena = {.ctx = store_ctx(project)};
    AUTO(scant_hold_auto) scant_hold *hold = NULL;
    store_model last;
    size_t classes;
    bool fresh;
    *out = NULL;
    TRY(store_model_last(project, &arena, &last));
    *model = last.number;
    if (!last.number) return SCANT_OK;
    TRY(find_predictions(project, last.number, out, &classes, &fresh));
    if (fresh || cached_only) return SCANT_OK;
    /* Only one program computes; others wait and then find the file. */
    TRY(project_hold(project, "predict", true, &hold));
    TRY(find_predictions(project, last.number, out, &classes, &fresh));
    if (fresh) return SCANT_OK;
    TRY(recompute(project, &last, classes));
    TRY(project_array(project, PROJECT_PROBS, last.number, out));
    if (*out) return SCANT_OK;
    return scant__fail(arena.ctx, SCANT_EIO,
                       "%s/cache/probs-%04zu.npy: was deleted as soon as it was written",
                       store_dir(project), last.number);
}

scant_status project_predictions(scant_project *project, const scant_array **out,
                                 size_t *model) {
    return map_predictions(project, false, out, model);
}

scant_status project_predictions_cached(scant_project *project, const scant_array **out,
                                        size_t *model) {
    return map_predictions(project, true, out, model);
}

scant_status scant_project_predict(scant_project *project, scant_array **out,
                                   size_t *model) {
    *out = NULL;
    NEED(project);
    const scant_array *mapped;
    size_t number;
    TRY(project_predictions(project, &mapped, &number));
    if (!number)
        return scant__fail(store_ctx(project), SCANT_ENOTREADY,
                           "%s: there is no model yet: train one first",
                           store_dir(project));
    if (model) *model = number;
    return scant_array_open(store_ctx(project), scant_array_name(mapped), out);
}

scant_status scant_project_predict_cached(scant_project *project, scant_array **out,
                                          size_t *model) {
    *out = NULL;
    NEED(project);
    const scant_array *mapped;
    TRY(project_predictions_cached(project, &mapped, model));
    return mapped ? scant_array_open(store_ctx(project), scant_array_name(mapped), out)
                  : SCANT_OK;
}
