/* SPDX-License-Identifier: Apache-2.0
 *
 * Files below cache/, and the arrays that stay mapped while a handle is open. A file that
 * was replaced or has grown (inode, size or time differ) is mapped again.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/rng.h"
#include "data/file.h"
#include "loop/project.h"
#include "scant/project.h"

char *project_cache_path(scant_project *project, const char *name) {
    char below[64];
    char *folder = store_path(project, "cache");
    if (!folder) return NULL;
    scant_status status = scant__folder_make(store_ctx(project), folder);
    scant__free(store_ctx(project), folder);
    if (status != SCANT_OK) return NULL;
    snprintf(below, sizeof below, "cache/%s", name);
    return store_path(project, below);
}

char *project_cache_of(scant_project *project, const char *name, size_t model) {
    char file[64];
    snprintf(file, sizeof file, "%s-%04zu.npy", name, model);
    return project_cache_path(project, file);
}

scant_status project_hold(scant_project *project, const char *lock, bool wait,
                          scant_hold **out) {
    scant_ctx *ctx = store_ctx(project);
    const struct timespec pause = {.tv_nsec = 50 * 1000 * 1000};
    char who[64];
    snprintf(who, sizeof who, "process %ld, filling cache/", (long)getpid());
    for (bool told = false;; told = true) {
        scant_status status = scant_project_hold(project, lock, who, out);
        if (status != SCANT_ECONFLICT) return status;
        if (!wait) return SCANT_OK;
        if (!told) scant__warn(ctx, "%s; waiting for it", ctx->err);
        TRY(scant__tick(ctx, "waiting", 0, 0));
        nanosleep(&pause, NULL);
    }
}

enum { NOTE = 64 };

/* ---- mapped arrays ----------------------------------------------------------------- */

typedef struct mapped {
    char *path;
    struct stat as;
    scant_array *array;
} mapped;

typedef struct attached {
    scant_ctx *ctx;
    mapped arrays[PROJECT_ARRAYS];
    char note[NOTE];
    float *inverse; /* 1 / deviation of the columns of the mapped features, or NULL */
} attached;

static void forget(attached *a, project_array_kind which) {
    mapped *m = &a->arrays[which];
    scant_array_free(m->array);
    scant__free(a->ctx, m->path);
    *m = (mapped){0};
    if (which != PROJECT_FEATURES) return;
    scant__free(a->ctx, a->inverse);
    a->inverse = NULL;
}

static void detach(void *of) {
    attached *a = of;
    for (size_t i = 0; i < PROJECT_ARRAYS; i++) forget(a, (project_array_kind)i);
    scant__free(a->ctx, a);
}

static attached *attached_of(scant_project *project) {
    void **slot = store_attached(project, STORE_LOOP, detach);
    if (*slot) return *slot;
    attached *a = scant__zalloc(store_ctx(project), 1, sizeof *a);
    if (a) a->ctx = store_ctx(project);
    *slot = a;
    return a;
}

static bool is_same(const mapped *m, const char *path, const struct stat *as) {
    return m->array && strcmp(m->path, path) == 0 && m->as.st_ino == as->st_ino &&
           m->as.st_dev == as->st_dev && m->as.st_size == as->st_size &&
           m->as.st_mtim.tv_sec == as->st_mtim.tv_sec &&
           m->as.st_mtim.tv_nsec == as->st_mtim.tv_nsec;
}

scant_status project_array(scant_project *project, project_array_kind which,
                           const char *path, const scant_array **out) {
    scant_ctx *ctx = store_ctx(project);
    attached *a = attached_of(project);
    struct stat as;
    *out = NULL;
    if (!a) return SCANT_ENOMEM;
    mapped *m = &a->arrays[which];
    if (stat(path, &as) != 0) return SCANT_OK;
    if (!is_same(m, path, &as)) {
        forget(a, which);
        scant_status status = scant_array_open(ctx, path, &m->array);
        if (status == SCANT_ENOMEM) return status;
        if (status != SCANT_OK) return SCANT_OK; /* damaged: treated as missing */
        m->as = as;
        size_t length = strlen(path) + 1;
        m->path = scant__alloc(ctx, length, 1);
        if (!m->path) {
            forget(a, which);
            return SCANT_ENOMEM;
        }
        memcpy(m->path, path, length);
    }
    if (scant_array_ndim(m->array) == 2 && scant__array_is_direct(m->array, SCANT_F32))
        *out = m->array;
    return SCANT_OK;
}

scant_status project_inverse(scant_project *project, const scant_array *features,
                             const float **out) {
    scant_ctx *ctx = store_ctx(project);
    attached *a = attached_of(project);
    *out = NULL;
    if (!a) return SCANT_ENOMEM;
    if (!a->inverse) {
        size_t width = scant_array_shape(features)[1];
        float *mean = scant__alloc(ctx, width, sizeof *mean);
        float *inverse = scant__alloc(ctx, width, sizeof *inverse);
        scant_status status = SCANT_ENOMEM;
        if (mean && inverse) status = project_columns(ctx, features, mean, inverse);
        scant__free(ctx, mean);
        if (status != SCANT_OK) {
            scant__free(ctx, inverse);
            return status;
        }
        for (size_t j = 0; j < width; j++) inverse[j] = 1 / inverse[j];
        a->inverse = inverse;
    }
    *out = a->inverse;
    return SCANT_OK;
}

scant_status project_note(scant_project *project, const char **text) {
    attached *a = attached_of(project);
    if (!a) return SCANT_ENOMEM;
    snprintf(a->note, sizeof a->note, "%s", *text);
    *text = a->note;
    return SCANT_OK;
}

/* ---- numbers ----------------------------------------------------------------------- */

uint64_t project_seed(uint64_t seed, size_t number, enum project_seed_use use) {
    const scant__rng rng = {seed, SCANT__RNG_ROUND};
    return scant__rng_u64(&rng, number * PROJECT_SEED_USES + use);
}
