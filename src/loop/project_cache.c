/* SPDX-License-Identifier: Apache-2.0
 *
 * Files below cache/, and the arrays that stay mapped while a project is open. A file
 * that was replaced or has grown (its inode, size or time differs) is mapped again.
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

scant_status project_cache_path(scant_project *project, scant__arena *arena,
                                const char *name, const char **out) {
    *out = scant__arena_format(arena, "%s/cache", store_dir(project));
    if (!*out) return SCANT_ENOMEM;
    TRY(scant_project_check(project));
    TRY(scant__folder_make_in(store_ctx(project), store_dir(project), *out));
    *out = scant__arena_format(arena, "%s/%s", *out, name);
    return *out ? SCANT_OK : SCANT_ENOMEM;
}

scant_status project_array_path(scant_project *project, scant__arena *arena,
                                project_array_kind which, size_t model,
                                const char **out) {
    const char *name =
        model ? scant__arena_format(arena, "%s-%04zu.npy",
                                    which == PROJECT_PROBS ? "probs" : "net-features",
                                    model)
              : "features.npy";
    return name ? project_cache_path(project, arena, name, out) : SCANT_ENOMEM;
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
    scant_array_free(a->arrays[which].array);
    a->arrays[which] = (mapped){0};
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

bool project_same_file(const struct stat *a, const struct stat *b) {
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

scant_status project_array(scant_project *project, project_array_kind which, size_t model,
                           const scant_array **out) {
    AUTO(scant__arena_end) scant__arena arena = {.ctx = store_ctx(project)};
    attached *a = attached_of(project);
    const char *path;
    struct stat as;
    *out = NULL;
    if (!a) return SCANT_ENOMEM;
    mapped *m = &a->arrays[which];
    TRY(project_array_path(project, &arena, which, model, &path));
    if (stat(path, &as) != 0) return SCANT_OK;
    if (!m->array || strcmp(scant_array_name(m->array), path) != 0 ||
        !project_same_file(&m->as, &as)) {
        forget(a, which);
        scant_status status = scant_array_open(arena.ctx, path, &m->array);
        if (status == SCANT_ENOMEM) return status;
        if (status != SCANT_OK) return SCANT_OK; /* damaged: treated as missing */
        m->as = as;
    }
    if (scant_array_ndim(m->array) == 2 && scant__array_is_direct(m->array, SCANT_F32))
        *out = m->array;
    return SCANT_OK;
}

scant_status project_inverse(scant_project *project, const scant_array *features,
                             const float **out) {
    AUTO(scant__arena_end) scant__arena arena = {.ctx = store_ctx(project)};
    attached *a = attached_of(project);
    size_t width = scant_array_shape(features)[1];
    if (!a) return SCANT_ENOMEM;
    if (!a->inverse) {
        float *mean = TRY_NEW(&arena, float, width);
        float *deviation = TRY_NEW(&arena, float, width);
        TRY(project_columns(arena.ctx, features, mean, deviation));
        a->inverse = scant__alloc(arena.ctx, width, sizeof *a->inverse);
        if (!a->inverse) return SCANT_ENOMEM;
        for (size_t j = 0; j < width; j++) a->inverse[j] = 1 / deviation[j];
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

/* ---- seeds ------------------------------------------------------------------------- */

uint64_t project_seed(uint64_t seed, size_t number, enum project_seed_use use) {
    const scant__rng rng = {seed, SCANT__RNG_ROUND};
    return scant__rng_u64(&rng, number * PROJECT_SEED_USES + use);
}
