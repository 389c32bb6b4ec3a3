/* SPDX-License-Identifier: Apache-2.0
 *
 * Statements, their failures, and transactions.
 *
 * Disk errors (full, gone, read-only) are SCANT_EIO. All others are SCANT_EINPUT: our
 * statements are fixed and tested, so one that does not fit the schema means that the
 * file is damaged. A failed transaction is rolled back; the handle stays usable.
 */
#include <stdint.h>
#include <string.h>

#include "scant/project.h"
#include "store/store_int.h"

/* ---- failures ---------------------------------------------------------------------- */

static scant_status kind_of_failure(int code) {
    switch (code & 0xff) {
    case SQLITE_NOMEM:
        return SCANT_ENOMEM;
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return SCANT_EIO;
    default:
        return SCANT_EINPUT;
    }
}

scant_status store_failed(scant_project *project, int code) {
    scant_status status = kind_of_failure(code);
    const char *why = sqlite3_errmsg(project->db);
    switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return scant__fail(project->ctx, status,
                           "%s: another program has been writing to it for %d seconds",
                           project->file, STORE_WAIT_SECONDS);
    case SQLITE_NOTADB:
        return scant__fail(project->ctx, status,
                           "%s: is not the database of a project, or is damaged",
                           project->file);
    default:
        return scant__fail(project->ctx, status, "%s: %s: %s", project->file,
                           status == SCANT_EIO      ? "cannot be written"
                           : status == SCANT_ENOMEM ? "out of memory"
                                                    : "is damaged",
                           why);
    }
}

scant_status store_damaged(scant_project *project, const char *what) {
    return scant__fail(project->ctx, SCANT_EINPUT, "%s: is damaged: %s", project->file,
                       what);
}

/* ---- statements -------------------------------------------------------------------- */

static scant_status compile(scant_project *project, const char *sql, unsigned flags,
                            sqlite3_stmt **out) {
    int code = sqlite3_prepare_v3(project->db, sql, -1, flags, out, NULL);
    return code == SQLITE_OK ? SCANT_OK : store_failed(project, code);
}

/* The statement's slot in the cache, or a free one; NULL: the cache is full. */
static store_cached *find_cached(scant_project *project, const char *sql) {
    size_t at = (size_t)(((uintptr_t)sql * 0x9e3779b97f4a7c15u) >> 32);
    for (size_t i = 0; i < STORE_STATEMENTS; i++) {
        store_cached *cached = &project->cached[(at + i) % STORE_STATEMENTS];
        if (!cached->sql || cached->sql == sql) return cached;
    }
    return NULL;
}

static scant_status bind(scant_project *project, sqlite3_stmt *statement,
                         const store_value *values, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const store_value *v = &values[i];
        int at = (int)i + 1, code = SQLITE_OK;
        if (v->type == SQLITE_INTEGER)
            code = sqlite3_bind_int64(statement, at, v->integer);
        else if (v->type == SQLITE_FLOAT)
            code = sqlite3_bind_double(statement, at, v->real);
        else if (v->type == SQLITE_TEXT)
            code = sqlite3_bind_text(statement, at, v->text, -1, SQLITE_STATIC);
        else
            code = sqlite3_bind_null(statement, at);
        if (code != SQLITE_OK) return store_failed(project, code);
    }
    return SCANT_OK;
}

scant_status store_ask(scant_project *project, const char *sql, const store_value *values,
                       size_t n, sqlite3_stmt **out) {
    store_cached *cached = find_cached(project, sql);
    *out = NULL;
    if (!cached)
        return scant__fail(project->ctx, SCANT_EINTERNAL, "too many cached statements");
    if (!cached->sql) {
        TRY(compile(project, sql, SQLITE_PREPARE_PERSISTENT, &cached->statement));
        cached->sql = sql;
    }
    sqlite3_reset(cached->statement);
    TRY(bind(project, cached->statement, values, n));
    *out = cached->statement;
    return SCANT_OK;
}

scant_status store_row(scant_project *project, sqlite3_stmt *statement, bool *row) {
    int code = sqlite3_step(statement);
    *row = code == SQLITE_ROW;
    if (*row) return SCANT_OK;
    scant_status status = code == SQLITE_DONE ? SCANT_OK : store_failed(project, code);
    sqlite3_reset(statement);
    return status;
}

void store_end(sqlite3_stmt *statement) { sqlite3_reset(statement); }

scant_status store_open_rows(scant_project *project, const char *sql,
                             const store_value *values, size_t n, sqlite3_stmt **out) {
    TRY(compile(project, sql, 0, out));
    scant_status status = bind(project, *out, values, n);
    if (status == SCANT_OK) return SCANT_OK;
    store_close_rows(*out);
    *out = NULL;
    return status;
}

void store_close_rows(sqlite3_stmt *statement) { sqlite3_finalize(statement); }

scant_status store_each(scant_project *project, const char *sql,
                        const store_value *values, size_t n, store_row_fn *fn,
                        void *arg) {
    sqlite3_stmt *rows;
    bool row = true;
    TRY(store_open_rows(project, sql, values, n, &rows));
    scant_status status = SCANT_OK;
    while (status == SCANT_OK && row) {
        status = store_row(project, rows, &row);
        if (status == SCANT_OK && row) status = fn(project, rows, arg);
    }
    store_close_rows(rows);
    return status;
}

scant_status store_first(scant_project *project, const char *sql,
                         const store_value *values, size_t n, sqlite3_stmt **out,
                         bool *row) {
    TRY(store_ask(project, sql, values, n, out));
    return store_row(project, *out, row);
}

scant_status store_do(scant_project *project, const char *sql, const store_value *values,
                      size_t n) {
    sqlite3_stmt *statement;
    bool row = true;
    TRY(store_ask(project, sql, values, n, &statement));
    while (row) TRY(store_row(project, statement, &row));
    return SCANT_OK;
}

scant_status store_one(scant_project *project, const char *sql, const store_value *values,
                       size_t n, int64_t otherwise, int64_t *out) {
    sqlite3_stmt *statement;
    bool row;
    *out = otherwise;
    TRY(store_first(project, sql, values, n, &statement, &row));
    if (!row) return SCANT_OK;
    if (sqlite3_column_type(statement, 0) != SQLITE_NULL)
        *out = sqlite3_column_int64(statement, 0);
    store_end(statement);
    return SCANT_OK;
}

scant_status store_script(scant_project *project, const char *sql) {
    int code = sqlite3_exec(project->db, sql, NULL, NULL, NULL);
    return code == SQLITE_OK ? SCANT_OK : store_failed(project, code);
}

scant_status store_index(scant_project *project, sqlite3_stmt *statement, int column,
                         size_t limit, size_t *out) {
    int64_t value = sqlite3_column_int64(statement, column);
    if (value < 0 || (uint64_t)value >= limit)
        return store_damaged(project, "a number is out of its range");
    *out = (size_t)value;
    return SCANT_OK;
}

/* ---- transactions ------------------------------------------------------------------ */

/* Ends a failed transaction; the context keeps its error message. */
static void roll_back(scant_project *project) {
    for (size_t i = 0; i < STORE_STATEMENTS;
         i++) /* an open one would block the rollback */
        if (project->cached[i].sql) sqlite3_reset(project->cached[i].statement);
    if (!sqlite3_get_autocommit(project->db))
        sqlite3_exec(project->db, "ROLLBACK", NULL, NULL, NULL);
}

static scant_status transact(scant_project *project, const char *begin, store_work *fn,
                             void *arg) {
    TRY(store_do(project, begin, STORE_NONE));
    scant_status status = fn(project, arg);
    if (status == SCANT_OK) status = store_do(project, "COMMIT", STORE_NONE);
    if (status != SCANT_OK) roll_back(project);
    return status;
}

/* Whether commits are fsynced. Not a cached statement: this PRAGMA takes effect when it
 * is compiled. */
static scant_status set_sync(scant_project *project, store_sync sync) {
    if (project->sync == sync) return SCANT_OK;
    project->sync = STORE_SYNC_UNKNOWN;
    TRY(store_script(project, sync == STORE_SYNC_FULL ? "PRAGMA synchronous = FULL"
                                                      : "PRAGMA synchronous = NORMAL"));
    project->sync = sync;
    return SCANT_OK;
}

static scant_status write_by(scant_project *project, store_sync sync, store_work *fn,
                             void *arg) {
    if (project->writing) return fn(project, arg);
    TRY(set_sync(project, sync));
    project->writing = true;
    scant_status status = transact(project, "BEGIN IMMEDIATE", fn, arg);
    project->writing = false;
    return status;
}

scant_status store_write(scant_project *project, store_work *fn, void *arg) {
    return write_by(project, STORE_SYNC_FULL, fn, arg);
}

scant_status store_write_unsynced(scant_project *project, store_work *fn, void *arg) {
    return write_by(project, STORE_SYNC_NORMAL, fn, arg);
}

scant_status store_read(scant_project *project, store_work *fn, void *arg) {
    if (!sqlite3_get_autocommit(project->db)) return fn(project, arg);
    return transact(project, "BEGIN", fn, arg);
}
