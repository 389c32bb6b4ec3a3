/* SPDX-License-Identifier: Apache-2.0
 *
 * Features of items in cache/features.npy: rows of the user's files, or the features that
 * a backbone computes from images. Only missing rows are computed, and rows survive an
 * interruption.
 *
 * cache/features.txt lists the inputs: the backbone and its weights, or the files, with
 * sizes and times. If the list has only grown, rows are added; otherwise all rows are
 * computed again. If an input file is missing (an unmounted disk), existing rows stay
 * valid.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/text.h"
#include "data/dataset.h"
#include "data/file.h"
#include "data/rowcache.h"
#include "data/source.h"
#include "loop/project.h"
#include "nn/inference.h"
#include "scant/project.h"

enum { BLOCK_BYTES = 4 << 20 };

/* ---- inputs ------------------------------------------------------------------------ */

scant_status project_has_kind(scant_project *project, store_kind kind, bool *out) {
    AUTO(scant__arena_end) scant__arena arena = {.ctx = store_ctx(project)};
    store_source *sources;
    size_t n;
    *out = false;
    TRY(store_sources(project, &arena, &sources, &n));
    for (size_t i = 0; i < n; i++) *out |= sources[i].kind == kind;
    return SCANT_OK;
}

scant_status project_has_features(scant_project *project, bool *out) {
    *out = store_backbone(project, NULL) != NULL;
    return *out ? SCANT_OK : project_has_kind(project, STORE_FEATURES, out);
}

typedef struct feature_state {
    scant__arena arena;
    scant__text inputs;    /* the text of features.txt */
    const char *list_path; /* path of features.txt */
    size_t n;              /* items */
    bool lost;             /* an input is missing */
    bool begun, ready;
} feature_state;

static void feature_state_end(feature_state *r) {
    scant__text_end(&r->inputs);
    scant__arena_end(&r->arena);
}

/* Lists a file's name, size and time; for FILE.npz:KEY, those of the archive. */
static void add_file(feature_state *r, const char *path) {
    char file[4096];
    struct stat as;
    const char *colon = strrchr(path, ':');
    int length = colon ? (int)(colon - path) : (int)strlen(path);
    bool there = stat(path, &as) == 0;
    snprintf(file, sizeof file, "%.*s", length, path);
    if (!there) there = stat(file, &as) == 0;
    scant__text_add(&r->inputs, path);
    if (there)
        scant__text_addf(&r->inputs, " %lld %lld.%09ld", (long long)as.st_size,
                         (long long)as.st_mtim.tv_sec, as.st_mtim.tv_nsec);
    scant__text_add(&r->inputs, "\n");
    r->lost = r->lost || !there;
}

static scant_status list_inputs(scant_project *project, feature_state *r) {
    const char *weights, *backbone = store_backbone(project, &weights);
    store_source *sources;
    size_t n = 0;
    scant__text_add(&r->inputs, "scant features 1\n");
    if (backbone) {
        scant__text_addf(&r->inputs, "%s ", backbone);
        add_file(r, weights);
    } else {
        TRY(store_sources(project, &r->arena, &sources, &n));
    }
    for (size_t i = 0; i < n; i++)
        if (sources[i].kind == STORE_FEATURES) add_file(r, sources[i].path);
    return r->inputs.failed ? SCANT_ENOMEM : SCANT_OK;
}

/* Whether features.txt is a prefix of the list of inputs; *whole: they are equal. */
static bool is_begun(const feature_state *r, bool *whole) {
    AUTO(scant__source_close) scant__source file = {0};
    *whole = false;
    if (access(r->list_path, R_OK) != 0 ||
        scant__source_map(r->arena.ctx, r->list_path, &file) != SCANT_OK)
        return false;
    bool same =
        file.size <= r->inputs.size && memcmp(file.bytes, r->inputs.data, file.size) == 0;
    *whole = same && file.size == r->inputs.size;
    return same && file.size > 0;
}

/* ---- rows -------------------------------------------------------------------------- */

static scant_status copy_rows(scant_project *project, scant__arena *arena, size_t have,
                              size_t n, size_t width, scant__rowcache *growing) {
    size_t most = size_max(1, BLOCK_BYTES / size_max(1, width * sizeof(float)));
    float *rows = TRY_NEW(arena, float, size_mul(size_min(most, n - have), width));
    for (size_t i = have; i < n; i += most) {
        size_t count = size_min(most, n - i);
        TRY(scant__tick(arena->ctx, "reading features", i - have, n - have));
        TRY(store_features_read(project, i, count, rows));
        TRY(scant__rowcache_append(growing, rows, count));
    }
    return SCANT_OK;
}

static scant_status append_features(void *arg, const nn_outputs *outputs) {
    return scant__rowcache_append(arg, outputs->features, outputs->count);
}

static scant_status run_backbone(scant_project *project, scant__arena *arena,
                                 scant_net *net, size_t have, size_t n,
                                 scant__rowcache *growing) {
    AUTO(scant_data_auto) scant_data *data = NULL;
    bool files;
    TRY(project_images_open(project, STORE_BACKBONE_SIDE, &files, &data));
    size_t *rows = TRY_NEW(arena, size_t, n - have);
    for (size_t i = have; i < n; i++) rows[i - have] = i;
    scant_status status = nn_infer(net, data, rows, n - have,
                                   &(nn_inference){.phase = "reading images",
                                                   .fn = append_features,
                                                   .arg = growing,
                                                   .first_only = true});
    project_images_warn(data);
    return status;
}

static scant_status fill(scant_project *project, size_t n) {
    AUTO(scant__arena_end) scant__arena arena = {.ctx = store_ctx(project)};
    AUTO(scant_net_auto) scant_net *net = NULL;
    AUTO(scant__rowcache_auto) scant__rowcache *growing = NULL;
    const char *path, *weights, *backbone = store_backbone(project, &weights);
    size_t width, have;
    TRY(project_array_path(project, &arena, PROJECT_FEATURES, 0, &path));
    if (backbone)
        TRY(store_backbone_open(arena.ctx, backbone, weights, &net));
    else
        TRY(store_features_width(project, &width));
    if (net) width = scant_net_features(net);
    TRY(scant__rowcache_open(arena.ctx, path, width, &growing, &have));
    if (have >= n) return SCANT_OK;
    return net ? run_backbone(project, &arena, net, have, n, growing)
               : copy_rows(project, &arena, have, n, width, growing);
}

/* ---- state ------------------------------------------------------------------------- */

static scant_status check_state(scant_project *project, feature_state *r) {
    const scant_array *array;
    bool whole;
    r->begun = is_begun(r, &whole);
    r->ready = false;
    if (!whole && !r->lost) return SCANT_OK;
    TRY(project_array(project, PROJECT_FEATURES, 0, &array));
    r->ready = array && scant_array_shape(array)[0] >= r->n;
    return SCANT_OK;
}

static scant_status prepare(scant_project *project, bool wait) {
    scant_ctx *ctx = store_ctx(project);
    AUTO(feature_state_end)
    feature_state r = {.arena = {.ctx = ctx}, .inputs = {.ctx = ctx}};
    AUTO(scant_hold_auto) scant_hold *hold = NULL;
    const char *path;
    bool features;
    TRY(project_has_features(project, &features));
    if (!features) return SCANT_OK;
    TRY(store_items(project, &r.n));
    TRY(list_inputs(project, &r));
    TRY(project_cache_path(project, &r.arena, "features.txt", &r.list_path));
    TRY(check_state(project, &r));
    if (r.ready) return SCANT_OK;
    TRY(project_hold(project, "cache", wait, &hold));
    if (!hold) return SCANT_OK;
    TRY(check_state(project,
                    &r)); /* the last holder of the lock may have done the work */
    if (r.ready) return SCANT_OK;
    if (r.lost) return fill(project, r.n); /* fails, naming the missing file */
    TRY(project_array_path(project, &r.arena, PROJECT_FEATURES, 0, &path));
    if (!r.begun) unlink(path);
    TRY(scant_file_write(ctx, r.list_path, r.inputs.data, r.inputs.size));
    return fill(project, r.n);
}

scant_status scant_project_prepare(scant_project *project) {
    NEED(project);
    return prepare(project, true);
}

/* ---- reading ----------------------------------------------------------------------- */

scant_status project_features_cached(scant_project *project, const scant_array **out) {
    AUTO(scant__arena_end) scant__arena arena = {.ctx = store_ctx(project)};
    store_model model = {0}; /* 0: the items' own features */
    bool features;
    *out = NULL;
    TRY(project_has_features(project, &features));
    if (!features) {
        TRY(store_model_last(project, &arena, &model));
        if (!model.number) return SCANT_OK;
    }
    if (features && !store_backbone(project, NULL)) TRY(prepare(project, false));
    return project_array(project, PROJECT_FEATURES, model.number, out);
}

scant_status scant_project_features(scant_project *project, scant_array **out) {
    *out = NULL;
    NEED(project);
    const scant_array *mapped;
    TRY(project_features_cached(project, &mapped));
    return mapped ? scant_array_open(store_ctx(project), scant_array_name(mapped), out)
                  : SCANT_OK;
}
