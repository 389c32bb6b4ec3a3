/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the tests of projects: a temporary folder, projects with random features,
 * and direct queries of the database.
 */
#ifndef SCANT_TESTS_STORE_SUPPORT_H
#define SCANT_TESTS_STORE_SUPPORT_H

#include <dirent.h>

#include "../folder.h"

#include "scant/project.h"
#include "store/store_int.h"

static memory mem;
static scant_ctx *ctx;

static inline int begin(void **state) {
    ctx = ctx_counting(&mem);
    return make_dir(state);
}

static inline int end(void **state) {
    scant_ctx_free(ctx);
    assert_int_equal(mem.live, 0);
    return remove_dir(state);
}

static inline const char *put_text(const char *name, const char *text) {
    return put(name, text, strlen(text));
}

#define OK(call)                                                                         \
    do {                                                                                 \
        if ((call) != SCANT_OK) fail_msg("%s", scant_ctx_errmsg(ctx));                   \
    } while (0)

/* The call must fail with this status and a message that contains words. */
#define REFUSED(call, status, words)                                                     \
    do {                                                                                 \
        assert_int_equal(call, status);                                                  \
        if (!strstr(scant_ctx_errmsg(ctx), words))                                       \
            fail_msg("message \"%s\" does not contain \"%s\"", scant_ctx_errmsg(ctx),    \
                     words);                                                             \
    } while (0)

/* Writes n rows of d features. Row i depends on seed and d only, so a longer file begins
 * with the same rows. */
static inline const char *put_features(const char *name, size_t n, size_t d,
                                       uint64_t seed) {
    const char *path = path_of(name);
    float *rows = malloc(n * d * sizeof *rows);
    scant_array *array;
    void *bytes;
    size_t size;
    assert_non_null(rows);
    for (size_t i = 0; i < n * d; i++) rows[i] = (float)unit_at(seed, i);
    OK(scant_array_wrap(ctx, name, rows, SCANT_F32, 2, (size_t[]){n, d}, &array));
    OK(scant_array_encode(ctx, array, &bytes, &size));
    OK(scant_file_write(ctx, path, bytes, size));
    scant_bytes_free(ctx, bytes);
    scant_array_free(array);
    free(rows);
    return path;
}

static const char *const abc[] = {"a", "b", "c"};

/* A project of n feature rows with classes a, b and c. */
static inline scant_project *make_project(const char *name, size_t n,
                                          const scant_setting *settings,
                                          size_t n_settings) {
    scant_project *project;
    char file[64];
    snprintf(file, sizeof file, "%s.npy", name);
    scant_project_opts opts = {.source = {.features = put_features(file, n, 3, 7)},
                               .classes = abc,
                               .n_classes = 3,
                               .seed = 5,
                               .settings = settings,
                               .n_settings = n_settings};
    OK(scant_project_create(ctx, path_of(name), &opts, &project));
    return project;
}

/* The first column of the first row of a query; -999: no row. */
static inline int64_t ask(scant_project *project, const char *sql) {
    sqlite3_stmt *s;
    if (sqlite3_prepare_v2(project->db, sql, -1, &s, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(project->db));
    int64_t value = sqlite3_step(s) == SQLITE_ROW ? sqlite3_column_int64(s, 0) : -999;
    sqlite3_finalize(s);
    return value;
}

/* Steps of SQLite's virtual machine in the cached statements since the last call. */
static inline int64_t steps_taken(scant_project *project) {
    int64_t sum = 0;
    for (size_t i = 0; i < STORE_STATEMENTS; i++)
        if (project->cached[i].sql)
            sum += sqlite3_stmt_status(project->cached[i].statement,
                                       SQLITE_STMTSTATUS_VM_STEP, 1);
    return sum;
}

static inline scant_project_info info_of(scant_project *project) {
    scant_project_info info;
    OK(scant_project_info_get(project, &info));
    return info;
}

/* The number of entries of a folder, with hidden ones that begin with .n. */
static inline size_t entries_of(const char *path) {
    DIR *folder = opendir(path);
    size_t n = 0;
    assert_non_null(folder);
    for (const struct dirent *e; (e = readdir(folder));)
        n += e->d_name[0] != '.' || e->d_name[1] == 'n';
    closedir(folder);
    return n;
}

/* A context's `cancel`, called while files are read: a running statement would keep the
 * log from being written back to the database. */
static inline int no_statement_runs(void *user) {
    scant_project *const *project = user;
    for (sqlite3_stmt *s = NULL; *project && (s = sqlite3_next_stmt((*project)->db, s));)
        if (sqlite3_stmt_busy(s)) fail_msg("while reading: %s", sqlite3_sql(s));
    return 0;
}

#endif
