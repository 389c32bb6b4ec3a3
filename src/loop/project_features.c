/* SPDX-License-Identifier: Apache-2.0
 *
 * Features of items in cache/features.npy: rows of the user's files, or the features that
 * a backbone computes from images. Only missing rows are computed, and rows survive an
 * interruption.
 *
 * cache/features.txt lists their inputs: the backbone and its weights, or the files, with
 * sizes and times. If the list has only grown, rows are added; otherwise all rows are
 * computed again. If an input file is missing (an unmounted disk), existing rows stay
 * valid.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/text.h"
#include "data/file.h"
#include "data/rowcache.h"
#include "loop/project.h"
#include "nn/inference.h"
#include "scant/project.h"

enum { BLOCK_BYTES = 4 << 20 };

/* ---- inputs ------------------------------------------------------------------------ */

static scant_status note_kind(void *user, const store_source *source) {
    bool *features = user;
    *features = *features || source->kind == STORE_FEATURES;
    return SCANT_OK;
}

scant_status project_has_features(scant_project *project, bool *out) {
    *out = store_backbone(project, NULL) != NULL;
    return *out ? SCANT_OK : store_sources(project, note_kind, out);
}

typedef struct inputs {
    scant__text text;
    bool lost; /* a file is missing */
} inputs;

/* A file's name, size and time; FILE.npz:KEY has those of the archive. */
static void add_file(inputs *m, const char *path) {
    scant__text *text = &m->text;
    char file[4096];
    struct stat as;
    const char *colon = strrchr(path, ':');
    int length = colon ? (int)(colon - path) : (int)strlen(path);
    bool there = stat(path, &as) == 0;
    snprintf(file, sizeof file, "%.*s", length, path);
    if (!there) there = stat(file, &as) == 0;
    scant__text_add(text, path);
    if (there)
        scant__text_addf(text, " %lld %lld.%09ld", (long long)as.st_size,
                         (long long)as.st_mtim.tv_sec, as.st_mtim.tv_nsec);
    scant__text_add(text, "\n");
    m->lost = m->lost || !there;
}

static scant_status add_source(void *user, const store_source *source) {
    if (source->kind == STORE_FEATURES) add_file(user, source->path);
    return SCANT_OK;
}

static scant_status list_inputs(scant_project *project, char **out, size_t *size,
                                bool *lost) {
    inputs m = {.lost = false};
    const char *weights, *backbone = store_backbone(project, &weights);
    scant__text_init(&m.text, store_ctx(project));
    scant__text_add(&m.text, "scant features 1\n");
    scant_status status = SCANT_OK;
    if (backbone) {
        scant__text_addf(&m.text, "%s ", backbone);
        add_file(&m, weights);
    } else {
        status = store_sources(project, add_source, &m);
    }
    *lost = m.lost;
    if (status == SCANT_OK) return scant__text_take(&m.text, out, size);
    scant__text_end(&m.text);
    return status;
}

/* Whether the file is a beginning of text; *whole: it is all of it. */
static bool is_begun(const char *path, const char *text, size_t size, bool *whole) {
    bool same = true;
    size_t at = 0;
    FILE *file = fopen(path, "rb");
    *whole = false;
    if (!file) return false;
    for (int c = getc(file); c != EOF && same; c = getc(file), at++)
        same = at < size && (unsigned char)text[at] == c;
    fclose(file);
    *whole = same && at == size;
    return same && at > 0;
}

/* ---- rows -------------------------------------------------------------------------- */

static scant_status copy_rows(scant_project *project, size_t have, size_t n, size_t width,
                              scant__rowcache *growing) {
    scant_ctx *ctx = store_ctx(project);
    size_t most = size_max(1, BLOCK_BYTES / size_max(1, width * sizeof(float)));
    float *rows = scant__alloc(ctx, size_min(most, n - have), width * sizeof *rows);
    scant_status status = rows ? SCANT_OK : SCANT_ENOMEM;
    for (size_t i = have; i < n && status == SCANT_OK; i += most) {
        size_t count = size_min(most, n - i);
        status = scant__tick(ctx, "reading features", i - have, n - have);
        if (status == SCANT_OK) status = store_features_read(project, i, count, rows);
        if (status == SCANT_OK) status = scant__rowcache_append(growing, rows, count);
    }
    scant__free(ctx, rows);
    return status;
}

static scant_status append_said(void *arg, const nn_outputs *said) {
    return scant__rowcache_append(arg, said->features, said->count);
}

static scant_status run_backbone(scant_project *project, scant_net *net, size_t have,
                                 size_t n, scant__rowcache *growing) {
    scant_ctx *ctx = store_ctx(project);
    scant_data *data;
    bool files;
    TRY(project_images_open(project, STORE_BACKBONE_SIDE, &files, &data));
    size_t *rows = scant__alloc(ctx, n - have, sizeof *rows);
    scant_status status = rows ? SCANT_OK : SCANT_ENOMEM;
    for (size_t i = have; rows && i < n; i++) rows[i - have] = i;
    if (status == SCANT_OK)
        status = nn_infer(net, data, rows, n - have,
                          &(nn_inference){.phase = "reading images",
                                          .fn = append_said,
                                          .arg = growing,
                                          .alone = true});
    project_images_warn(data);
    scant__free(ctx, rows);
    scant_data_free(data);
    return status;
}

static scant_status open_backbone(scant_project *project, scant_net **out) {
    const char *weights, *name = store_backbone(project, &weights);
    return store_backbone_open(store_ctx(project), name, weights, out);
}

static scant_status fill(scant_project *project, size_t n) {
    scant_ctx *ctx = store_ctx(project);
    bool backbone = store_backbone(project, NULL) != NULL;
    scant_net *net = NULL;
    scant__rowcache *growing = NULL;
    size_t width = 0, have = 0;
    scant_status status;
    char *path = project_cache_path(project, "features.npy");
    if (!path) return SCANT_ENOMEM;
    if (backbone)
        status = open_backbone(project, &net);
    else
        status = store_features_width(project, &width);
    if (net) width = scant_net_features(net);
    if (status == SCANT_OK)
        status = scant__rowcache_open(ctx, path, width, &growing, &have);
    if (status == SCANT_OK && have < n)
        status = net ? run_backbone(project, net, have, n, growing)
                     : copy_rows(project, have, n, width, growing);
    scant__rowcache_close(growing);
    scant_net_free(net);
    scant__free(ctx, path);
    return status;
}

/* ---- readiness --------------------------------------------------------------------- */

typedef struct readiness {
    char *inputs, *npy, *txt; /* the list of inputs; the paths of the two files */
    size_t size;              /* of inputs */
    size_t n;                 /* items */
    bool lost;                /* an input is missing */
    bool begun, ready;
} readiness;

static void ready_end(scant_ctx *ctx, readiness *r) {
    scant__free(ctx, r->inputs);
    scant__free(ctx, r->npy);
    scant__free(ctx, r->txt);
}

static scant_status ready_look(scant_project *project, readiness *r) {
    const scant_array *array;
    bool whole;
    r->begun = is_begun(r->txt, r->inputs, r->size, &whole);
    r->ready = false;
    if (!whole && !r->lost) return SCANT_OK;
    TRY(project_array(project, PROJECT_FEATURES, r->npy, &array));
    r->ready = array && scant_array_shape(array)[0] >= r->n;
    return SCANT_OK;
}

static scant_status ready_begin(scant_project *project, readiness *r) {
    *r = (readiness){0};
    TRY(store_items(project, &r->n));
    TRY(list_inputs(project, &r->inputs, &r->size, &r->lost));
    r->npy = project_cache_path(project, "features.npy");
    r->txt = project_cache_path(project, "features.txt");
    if (!r->npy || !r->txt) return SCANT_ENOMEM;
    return ready_look(project, r);
}

/* With the lock held: its last holder may have done the work. */
static scant_status prepare_held(scant_project *project, readiness *r) {
    TRY(ready_look(project, r));
    if (r->ready) return SCANT_OK;
    if (r->lost) return fill(project, r->n); /* fails, naming the missing file */
    if (!r->begun) unlink(r->npy);
    TRY(scant_file_write(store_ctx(project), r->txt, r->inputs, r->size));
    return fill(project, r->n);
}

static scant_status prepare(scant_project *project, bool wait) {
    scant_ctx *ctx = store_ctx(project);
    readiness r;
    scant_hold *hold;
    bool features;
    TRY(project_has_features(project, &features));
    if (!features) return SCANT_OK;
    scant_status status = ready_begin(project, &r);
    if (status == SCANT_OK && !r.ready) {
        status = project_hold(project, "cache", wait, &hold);
        if (status == SCANT_OK && hold) {
            status = prepare_held(project, &r);
            scant_hold_free(hold);
        }
    }
    ready_end(ctx, &r);
    return status;
}

scant_status scant_project_prepare(scant_project *project) {
    return prepare(project, true);
}

/* ---- reading ----------------------------------------------------------------------- */

/* Features of the last model, if that is a network that reads images. */
static scant_status net_features(scant_project *project, const scant_array **out) {
    scant_ctx *ctx = store_ctx(project);
    scant__arena arena;
    store_model model;
    bool there;
    *out = NULL;
    scant__arena_init(&arena, ctx);
    scant_status status = store_model_last(project, &arena, &there, &model);
    if (status == SCANT_OK && there) {
        char *path = project_cache_of(project, "net-features", model.number);
        status =
            path ? project_array(project, PROJECT_FEATURES, path, out) : SCANT_ENOMEM;
        scant__free(ctx, path);
    }
    scant__arena_end(&arena);
    return status;
}

scant_status project_features_now(scant_project *project, const scant_array **out) {
    scant_ctx *ctx = store_ctx(project);
    bool features;
    *out = NULL;
    TRY(project_has_features(project, &features));
    if (!features) return net_features(project, out);
    if (!store_backbone(project, NULL)) TRY(prepare(project, false));
    char *path = project_cache_path(project, "features.npy");
    if (!path) return SCANT_ENOMEM;
    scant_status status = project_array(project, PROJECT_FEATURES, path, out);
    scant__free(ctx, path);
    return status;
}

scant_status scant_project_features(scant_project *project, scant_array **out) {
    const scant_array *mapped;
    *out = NULL;
    TRY(project_features_now(project, &mapped));
    return mapped ? scant_array_open(store_ctx(project), scant_array_name(mapped), out)
                  : SCANT_OK;
}
