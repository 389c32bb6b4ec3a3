/* SPDX-License-Identifier: Apache-2.0
 *
 * The handle of a project: opening, basic facts, closing.
 *
 * Opening reads a few rows, however many items there are. The file is untrusted input:
 * its schema can only call SQLite's harmless functions, and numbers are checked before
 * they are used as indices.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "data/file.h"
#include "data/paths.h"
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

char *store_path(scant_project *project, const char *name) {
    return scant__path_join(project->ctx, project->dir, name);
}

void **store_attached(scant_project *project, store_slot slot,
                      void (*detach)(void *attached)) {
    project->detach[slot] = detach;
    return &project->attached[slot];
}

const char *store_backbone(scant_project *project, const char **weights) {
    if (weights) *weights = project->weights;
    return project->backbone;
}

scant_status store_items(scant_project *project, size_t *n) {
    int64_t last;
    TRY(store_one(project, "SELECT max(item) FROM items", STORE_NONE, -1, &last));
    if (last < -1 || last >= INT64_MAX / 2)
        return store_damaged(project, "an item's number");
    *n = (size_t)(last + 1);
    return SCANT_OK;
}

scant_status store_classes(scant_project *project, size_t *n) {
    int64_t last;
    TRY(store_one(project, "SELECT max(class) FROM classes", STORE_NONE, -1, &last));
    if (last < -1 || last >= INT32_MAX) return store_damaged(project, "a class's number");
    *n = (size_t)(last + 1);
    return SCANT_OK;
}

/* ---- meta -------------------------------------------------------------------------- */

scant_status store_meta_set(scant_project *project, const char *key, const char *value) {
    return store_do(project,
                    "INSERT INTO meta (key, value) VALUES (?1, ?2)"
                    " ON CONFLICT (key) DO UPDATE SET value = ?2",
                    STORE_VALUES(store_text(key), store_text(value)));
}

scant_status store_meta_number(scant_project *project, const char *key, int64_t otherwise,
                               int64_t *out) {
    return store_one(project, "SELECT CAST(value AS INTEGER) FROM meta WHERE key = ?1",
                     STORE_VALUES(store_text(key)), otherwise, out);
}

/* *out is new; NULL if there is no such key. */
static scant_status meta_text(scant_project *project, const char *key, char **out) {
    sqlite3_stmt *statement;
    bool row;
    *out = NULL;
    TRY(store_first(project, "SELECT value FROM meta WHERE key = ?1",
                    STORE_VALUES(store_text(key)), &statement, &row));
    if (!row) return SCANT_OK;
    const char *text = store_string(statement, 0);
    *out = store_strdup(project->ctx, text ? text : "");
    store_end(statement);
    return *out ? SCANT_OK : SCANT_ENOMEM;
}

scant_status store_facts_read(scant_project *project) {
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
    if (tries >= STORE_WAIT_SECONDS * 250) return 0; /* ignores the short first naps */
    nanosleep(&(struct timespec){.tv_nsec = nap < most ? nap : most}, NULL);
    return 1;
}

static scant_status configure(scant_project *project) {
    project->sync = STORE_SYNC_FULL;
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
    project->dir = store_strdup(project->ctx, realpath(dir, real) ? real : dir);
    if (!project->dir) return SCANT_ENOMEM;
    project->file = store_path(project, "project.db");
    if (!project->file) return SCANT_ENOMEM;
    if (!create) TRY(no_project(project->ctx, dir, project->file));
    int code = sqlite3_open_v2(project->file, &project->db, flags, NULL);
    if (!project->db) code = SQLITE_NOMEM;
    if (code != SQLITE_OK)
        return scant__fail(project->ctx, code == SQLITE_NOMEM ? SCANT_ENOMEM : SCANT_EIO,
                           "%s: cannot be opened: %s", project->file,
                           project->db ? sqlite3_errmsg(project->db) : "out of memory");
    return configure(project);
}

scant_status store_handle_open(scant_ctx *ctx, const char *dir, bool create,
                               scant_project **out) {
    *out = NULL;
    scant_project *project = scant__zalloc(ctx, 1, sizeof *project);
    if (!project) return SCANT_ENOMEM;
    project->ctx = ctx;
    scant__text_init(&project->lines, ctx);
    scant_status status = open_database(project, dir, create);
    if (status == SCANT_OK)
        *out = project;
    else
        scant_project_free(project);
    return status;
}

static scant_status check_file(scant_project *project) {
    TRY(store_schema_check(project)); /* before anything is written */
    TRY(store_script(project, "PRAGMA journal_mode = WAL"));
    return store_facts_read(project);
}

scant_status scant_project_open(scant_ctx *ctx, const char *dir, scant_project **out) {
    TRY(store_handle_open(ctx, dir, false, out));
    scant_status status = check_file(*out);
    if (status == SCANT_OK) return SCANT_OK;
    scant_project_free(*out);
    *out = NULL;
    return status;
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
    for (size_t i = 0; i < project->n_classes; i++) scant__free(ctx, project->classes[i]);
    scant__free(ctx, project->classes);
    scant__free(ctx, project->person);
    scant__text_end(&project->lines);
    scant__names_end(ctx, &project->unknown_ids);
    scant__free(ctx, (void *)project->unknown_list);
    scant__free(ctx, project->kind);
    scant__free(ctx, project->key);
    scant__free(ctx, project->backbone);
    scant__free(ctx, project->weights);
    scant__free(ctx, project->dir);
    scant__free(ctx, project->file);
    scant__free(ctx, project);
}
