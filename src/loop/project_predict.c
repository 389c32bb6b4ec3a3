/* SPDX-License-Identifier: Apache-2.0
 *
 * Predictions of the last model for all items, in cache/: probabilities and, for a
 * network that reads images, its features. There is a column for each class of the
 * project; it is 0 for classes that the model does not know.
 *
 * A missing file is computed from the weights. If items or classes were added, existing
 * rows are copied and the network only predicts the new ones.
 */
#include <errno.h>
#include <stdio.h>
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
    size_t known, classes;          /* of the network; of the project, no fewer */
    size_t width;                   /* of features */
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

static scant_status write_block(void *arg, const nn_outputs *said) {
    output *s = arg;
    TRY(write_probs(s, said->probs ? said->probs : said->logits, s->known, !said->probs,
                    said->count));
    if (!s->features) return SCANT_OK;
    return scant_writer_append(s->features, said->features,
                               said->count * s->width * sizeof(float));
}

static scant_status copy_features(const output *s, const scant_array *old, size_t n) {
    return scant_writer_append(s->features, old->data, n * s->width * sizeof(float));
}

/* Rows of this model that exist already. */
typedef struct earlier {
    const scant_array *probs, *features;
    size_t n;
} earlier;

static scant_status write_rows(scant_ctx *ctx, scant_net *net,
                               const project_samples *samples, const earlier *old,
                               output *s) {
    size_t rest = samples->n - old->n;
    if (old->n)
        TRY(write_probs(s, (const float *)old->probs->data,
                        scant_array_shape(old->probs)[1], false, old->n));
    if (old->n && s->features) TRY(copy_features(s, old->features, old->n));
    if (!rest) return SCANT_OK;
    size_t *rows = scant__alloc(ctx, rest, sizeof *rows);
    if (!rows) return SCANT_ENOMEM;
    for (size_t i = 0; i < rest; i++) rows[i] = old->n + i;
    scant_status status =
        nn_infer(net, samples->data, rows, rest,
                 &(nn_inference){.phase = "predicting", .fn = write_block, .arg = s});
    scant__free(ctx, rows);
    return status;
}

static scant_status open_writer(scant_ctx *ctx, const char *path, size_t n, size_t width,
                                scant_writer **out) {
    TRY(scant_writer_open(ctx, path, SCANT_F32, 2, (size_t[]){n, width}, out));
    scant__writer_temporary(*out); /* it can be computed again */
    return SCANT_OK;
}

/* Features first: a reader that finds probabilities also finds features. */
static scant_status finish(output *s, scant_status status) {
    if (s->features) {
        if (status == SCANT_OK)
            status = scant_writer_finish(s->features);
        else
            scant_writer_free(s->features);
    }
    if (status == SCANT_OK) return scant_writer_finish(s->probs);
    scant_writer_free(s->probs);
    return status;
}

static scant_status write_all(scant_project *project, scant_net *net,
                              const project_samples *samples, size_t model,
                              const earlier *old) {
    scant_ctx *ctx = store_ctx(project);
    output s = {.known = scant_net_classes(net), .width = scant_net_features(net)};
    TRY(store_classes(project, &s.classes));
    s.classes = size_max(s.classes, s.known);
    char *probs = project_cache_of(project, "probs", model);
    char *features = project_cache_of(project, "net-features", model);
    s.rows = scant__alloc(ctx, ROWS, size_mul(s.classes, sizeof *s.rows));
    scant_status status = probs && features && s.rows ? SCANT_OK : SCANT_ENOMEM;
    if (status == SCANT_OK)
        status = open_writer(ctx, probs, samples->n, s.classes, &s.probs);
    if (status == SCANT_OK && !samples->features)
        status = open_writer(ctx, features, samples->n, s.width, &s.features);
    if (status == SCANT_OK) status = write_rows(ctx, net, samples, old, &s);
    status = finish(&s, status);
    project_images_warn(samples->data);
    scant__free(ctx, s.rows);
    scant__free(ctx, features);
    scant__free(ctx, probs);
    return status;
}

scant_status project_predict_all(scant_project *project, scant_net *net,
                                 const project_samples *samples, size_t model) {
    return write_all(project, net, samples, model, &(earlier){0});
}

void project_predict_forget(scant_project *project, size_t model) {
    static const char *const names[] = {"probs", "net-features"};
    for (size_t i = 0; i < 2 && model > 2; i++) {
        char *path = project_cache_of(project, names[i], model - 2);
        if (path) unlink(path);
        scant__free(store_ctx(project), path);
    }
}

/* ---- reading ----------------------------------------------------------------------- */

scant_status project_net_open(scant_project *project, const store_model *model,
                              scant_net **out) {
    scant_ctx *ctx = store_ctx(project);
    char *path = store_path(project, model->file);
    *out = NULL;
    if (!path) return SCANT_ENOMEM;
    scant_status status;
    if (access(path, F_OK) != 0 && errno == ENOENT)
        status =
            scant__fail(ctx, SCANT_ENOTREADY,
                        "%s: is missing, and so are its predictions in cache/: train "
                        "again",
                        path);
    else
        status = scant_net_open(ctx, path, NULL, NULL, out);
    scant__free(ctx, path);
    return status;
}

/* Rows that can be copied: those in both files. */
static scant_status find_earlier(scant_project *project, const store_model *model,
                                 const project_samples *samples, size_t classes,
                                 const char *probs, earlier *old) {
    scant_ctx *ctx = store_ctx(project);
    *old = (earlier){0};
    TRY(project_array(project, PROJECT_PROBS, probs, &old->probs));
    if (!old->probs || scant_array_shape(old->probs)[1] > classes) return SCANT_OK;
    size_t n = scant_array_shape(old->probs)[0];
    if (!samples->features) {
        char *path = project_cache_of(project, "net-features", model->number);
        if (!path) return SCANT_ENOMEM;
        scant_status status =
            project_array(project, PROJECT_FEATURES, path, &old->features);
        scant__free(ctx, path);
        if (status != SCANT_OK) return status;
        n = old->features ? size_min(n, scant_array_shape(old->features)[0]) : 0;
    }
    old->n = size_min(n, samples->n);
    return SCANT_OK;
}

static scant_status recompute(scant_project *project, const store_model *model,
                              size_t classes, const char *path) {
    scant__arena arena;
    scant_net *net;
    project_samples samples;
    earlier old;
    size_t shape[3];
    TRY(project_net_open(project, model, &net));
    scant_net_shape(net, shape);
    scant__arena_init(&arena, store_ctx(project));
    scant_status status = project_samples_open(project, shape[1], &arena, &samples);
    if (status == SCANT_OK) {
        status = find_earlier(project, model, &samples, classes, path, &old);
        if (status == SCANT_OK && old.n && !samples.features &&
            scant_array_shape(old.features)[1] != scant_net_features(net))
            old.n = 0;
        if (status == SCANT_OK)
            status = write_all(project, net, &samples, model->number, &old);
        project_samples_close(&samples);
    }
    scant__arena_end(&arena);
    scant_net_free(net);
    return status;
}

static bool fits(const scant_array *array, size_t n, size_t classes) {
    return array && scant_array_shape(array)[0] >= n &&
           scant_array_shape(array)[1] == classes;
}

/* *fresh: the file covers all items and classes. */
static scant_status look(scant_project *project, const char *path,
                         const scant_array **out, size_t *classes, bool *fresh) {
    size_t n;
    TRY(store_items(project, &n));
    TRY(store_classes(project, classes));
    TRY(project_array(project, PROJECT_PROBS, path, out));
    *fresh = fits(*out, n, *classes);
    return SCANT_OK;
}

/* Only one program computes; others wait and then find the file. */
static scant_status make(scant_project *project, const store_model *model,
                         const char *path, const scant_array **out) {
    scant_hold *hold;
    size_t classes;
    bool fresh;
    TRY(project_hold(project, "predict", true, &hold));
    scant_status status = look(project, path, out, &classes, &fresh);
    if (status == SCANT_OK && !fresh) {
        status = recompute(project, model, classes, path);
        if (status == SCANT_OK) status = project_array(project, PROJECT_PROBS, path, out);
        if (status == SCANT_OK && !*out)
            status = scant__fail(store_ctx(project), SCANT_EIO,
                                 "%s: was deleted as soon as it was written", path);
    }
    scant_hold_free(hold);
    return status;
}

static scant_status find(scant_project *project, const store_model *model, bool now,
                         const char *path, const scant_array **out) {
    size_t classes;
    bool fresh;
    TRY(look(project, path, out, &classes, &fresh));
    return fresh || now ? SCANT_OK : make(project, model, path, out);
}

static scant_status predicted(scant_project *project, bool now, const scant_array **out,
                              size_t *model) {
    scant_ctx *ctx = store_ctx(project);
    scant__arena arena;
    store_model last;
    bool there;
    *out = NULL;
    *model = 0;
    scant__arena_init(&arena, ctx);
    scant_status status = store_model_last(project, &arena, &there, &last);
    if (status == SCANT_OK && there) {
        char *path = project_cache_of(project, "probs", last.number);
        status = path ? find(project, &last, now, path, out) : SCANT_ENOMEM;
        scant__free(ctx, path);
        *model = last.number;
    }
    scant__arena_end(&arena);
    return status;
}

scant_status project_predicted(scant_project *project, const scant_array **out,
                               size_t *model) {
    return predicted(project, false, out, model);
}

scant_status project_predicted_now(scant_project *project, const scant_array **out,
                                   size_t *model) {
    return predicted(project, true, out, model);
}

scant_status scant_project_predict(scant_project *project, scant_array **out,
                                   size_t *model) {
    const scant_array *mapped;
    size_t number;
    *out = NULL;
    TRY(project_predicted(project, &mapped, &number));
    if (!number)
        return scant__fail(store_ctx(project), SCANT_ENOTREADY,
                           "%s: there is no model yet: train one first",
                           store_dir(project));
    if (model) *model = number;
    return scant_array_open(store_ctx(project), scant_array_name(mapped), out);
}

scant_status scant_project_predicted(scant_project *project, scant_array **out,
                                     size_t *model) {
    const scant_array *mapped;
    *out = NULL;
    TRY(project_predicted_now(project, &mapped, model));
    return mapped ? scant_array_open(store_ctx(project), scant_array_name(mapped), out)
                  : SCANT_OK;
}
