/* SPDX-License-Identifier: Apache-2.0
 *
 * The handle of a project: opening, constant members, closing.
 *
 * Opening reads a few rows, independent of the number of items. The file is untrusted
 * input: its schema may only call functions that SQLite marks innocuous, and numbers are
 * checked before they are used as indices.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "data/file.h"
#include "scant/project.h"
#include "store/store_int.h"

/* ---- helpers ---------------------------------------------------------------------- */

int64_t store_now(const scant_project *project) {
    struct timespec now;
    if (project->clock) return project->clock;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

char *store_strdup(scant_ctx *ctx, const char *text) {
    size_t size = strlen(text) + 1;
    char *copy = scant__alloc(ctx, size, 1);
    return copy ? memcpy(copy, text, size) : NULL;
}

scant_ctx *store_ctx(const scant_project *project) { return project->ctx; }
const char *store_dir(const scant_project *project) { return project->dir; }
uint64_t store_seed(const scant_project *project) { return project->seed; }

void **store_attached(scant_project *project, store_slot slot,
                      void (*detach)(void *attached)) {
    project->detach[slot] = detach;
    return &project->attached[slot];
}

const char *store_backbone(scant_project *project, const char **weights) {
    if (weights) *weights = project->weights;
    return project->backbone;
}

/* The number of rows numbered 0 to last (-1: none); fails unless last < limit. */
static scant_status count_rows(scant_project *project, int64_t last, int64_t limit,
                               const char *what, size_t *n) {
    if (last < -1 || last >= limit) return store_damaged(project, what);
    *n = (size_t)(last + 1);
    return SCANT_OK;
}

scant_status store_items(scant_project *project, size_t *n) {
    int64_t last = TRY_ONE(project, -1, "SELECT max(item) FROM items");
    return count_rows(project, last, INT64_MAX / 2, "an item's number", n);
}

scant_status store_classes(scant_project *project, size_t *n) {
    int64_t last = TRY_ONE(project, -1, "SELECT max(class) FROM classes");
    return count_rows(project, last, INT32_MAX, "a class's number", n);
}

/* ---- meta -------------------------------------------------------------------------- */

scant_status store_meta_set(scant_project *project, const char *key, store_value value) {
    return store_do(project,
                    "INSERT INTO meta (key, value) VALUES (?1, ?2)"
                    " ON CONFLICT (key) DO UPDATE SET value = ?2",
                    store_text(key), value);
}

scant_status store_meta_number(scant_project *project, const char *key, int64_t otherwise,
                               int64_t *out) {
    *out = TRY_ONE(project, otherwise,
                   "SELECT CAST(value AS INTEGER) FROM meta WHERE key = ?1",
                   store_text(key));
    return SCANT_OK;
}

/* *out stays unchanged if there is no such key. */
static scant_status meta_text(scant_project *project, const char *key, const char **out) {
    STORE_EACH(row, project, "SELECT value FROM meta WHERE key = ?1", store_text(key)) {
        *out = scant__arena_strdup(&project->arena, store_name(row, 0));
        if (!*out) return SCANT_ENOMEM;
    }
    return SCANT_OK;
}

scant_status store_meta_read(scant_project *project) {
    int64_t seed;
    TRY(store_meta_number(project, "seed", 0, &seed));
    TRY(store_meta_number(project, "created", 0, &project->created));
    project->seed = (uint64_t)seed;
    TRY(meta_text(project, "kind", &project->kind));
    TRY(meta_text(project, "key", &project->key));
    if (!project->kind || !project->key)
        return store_damaged(project, "meta has no kind or no key");
    TRY(meta_text(project, "backbone", &project->backbone));
    return meta_text(project, "weights", &project->weights);
}

/* ---- the database ------------------------------------------------------------------ */

/* Waits for another writer. SQLite's own busy handler sleeps up to a tenth of a second
 * between tries, which fifty people at once would notice. */
static int wait_for_others(void *arg, int tries) {
    const long least = 200000, most = 4000000; /* nanoseconds */
    long nap = least * (1 + tries);
    (void)arg;
    if (tries >= STORE_WAIT_SECONDS * 250) return 0; /* at 4 ms each */
    nanosleep(&(struct timespec){.tv_nsec = nap < most ? nap : most}, NULL);
    return 1;
}

static scant_status configure(scant_project *project) {
    project->sync = STORE_WRITE;
    sqlite3_busy_handler(project->db, wait_for_others, NULL);
    sqlite3_extended_result_codes(project->db, 1);
    sqlite3_db_config(project->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(project->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(project->db, SQLITE_DBCONFIG_ENABLE_FKEY, 1, NULL);
    return store_script(project,
                        "PRAGMA cell_size_check = ON; PRAGMA cache_size = -16384;"
                        "PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY;");
}

static scant_status no_project(scant_ctx *ctx, const char *dir, const char *file) {
    struct stat st;
    char why[SCANT__ERRNO_TEXT];
    if (stat(dir, &st) != 0)
        return scant__fail(ctx, SCANT_EINPUT, "%s: is not a project: %s", dir,
                           scant__errno_text(errno, why));
    if (!S_ISDIR(st.st_mode))
        return scant__fail(ctx, SCANT_EINPUT,
                           "%s: is not a project: expected a folder with project.db",
                           dir);
    if (stat(file, &st) != 0 && errno == ENOENT)
        return scant__fail(ctx, SCANT_EINPUT,
                           "%s: is not a project: it contains no project.db", dir);
    if (!S_ISREG(st.st_mode))
        return scant__fail(ctx, SCANT_EINPUT, "%s: is not a file", file);
    return SCANT_OK;
}

static scant_status open_database(scant_project *project, const char *dir, bool create) {
    char real[PATH_MAX];
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE;
    if (create) flags |= SQLITE_OPEN_CREATE | SQLITE_OPEN_EXCLUSIVE;
    project->dir = scant__arena_strdup(&project->arena, realpath(dir, real) ? real : dir);
    if (!project->dir) return SCANT_ENOMEM;
    project->file = scant__arena_format(&project->arena, "%s/project.db", project->dir);
    project->log_file =
        scant__arena_format(&project->arena, "%s/project.db-wal", project->dir);
    if (!project->file || !project->log_file) return SCANT_ENOMEM;
    if (!create) TRY(no_project(project->ctx, dir, project->file));
    int code = sqlite3_open_v2(project->file, &project->db, flags, NULL);
    if (!project->db) code = SQLITE_NOMEM;
    if (code != SQLITE_OK)
        return scant__fail(project->ctx, code == SQLITE_NOMEM ? SCANT_ENOMEM : SCANT_EIO,
                           "%s: cannot be opened: %s", project->file,
                           project->db ? sqlite3_errmsg(project->db) : "out of memory");
    TRY(store_file_note(project));
    return configure(project);
}

scant_status store_handle_open(scant_ctx *ctx, const char *dir, bool create,
                               scant_project **out) {
    AUTO(scant_project_auto)
    scant_project *project = scant__zalloc(ctx, 1, sizeof *project);
    *out = NULL;
    if (!project) return SCANT_ENOMEM;
    project->ctx = project->arena.ctx = project->item.ctx = ctx;
    TRY(open_database(project, dir, create));
    *out = project;
    project = NULL;
    return SCANT_OK;
}

scant_status scant_project_open(scant_ctx *ctx, const char *dir, scant_project **out) {
    *out = NULL;
    NEED(ctx);
    AUTO(scant_project_auto) scant_project *project = NULL;
    TRY(store_handle_open(ctx, dir, false, &project));
    TRY(store_schema_check(project)); /* before anything is written */
    TRY(store_script(project, "PRAGMA journal_mode = WAL"));
    TRY(store_meta_read(project));
    TRY(store_log_note(project)); /* reading has opened the log */
    *out = project;
    project = NULL;
    return SCANT_OK;
}

void scant_project_free(scant_project *project) {
    if (!project) return;
    scant_ctx *ctx = project->ctx;
    for (size_t i = 0; i < STORE_SLOTS; i++)
        if (project->attached[i]) project->detach[i](project->attached[i]);
    for (size_t i = 0; i < STORE_STATEMENTS; i++)
        sqlite3_finalize(project->cached[i].statement);
    sqlite3_close_v2(project->db);
    for (size_t i = 0; i < STORE_KEYS; i++) scant__free(ctx, project->values[i]);
    scant__free(ctx, project->classes);
    scant__free(ctx, project->person);
    scant__arena_end(&project->item);
    scant__names_end(&project->unknown_ids);
    scant__free(ctx, (void *)project->unknown_list);
    scant__arena_end(&project->arena);
    scant__free(ctx, project);
}
