/* SPDX-License-Identifier: Apache-2.0
 *
 * Statements, errors and transactions.
 *
 * Disk errors (full, gone, read-only) and waiting too long for another writer are
 * SCANT_EIO; running out of memory is SCANT_ENOMEM. All other errors are SCANT_EINPUT:
 * our statements are fixed and tested, so one that does not fit the schema means that the
 * file is damaged. A failed transaction is rolled back; the handle stays usable.
 */
#include <stdint.h>
#include <string.h>

#include "scant/project.h"
#include "store/store_int.h"

/* ---- errors ------------------------------------------------------------------------ */

scant_status store_failed(scant_project *project, int code) {
    scant_ctx *ctx = project->ctx;
    const char *file = project->file, *why = sqlite3_errmsg(project->db);
    switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return scant__fail(ctx, SCANT_EIO,
                           "%s: another program has been writing to it for %d seconds",
                           file, STORE_WAIT_SECONDS);
    case SQLITE_NOTADB:
        return scant__fail(ctx, SCANT_EINPUT,
                           "%s: is not the database of a project, or is damaged", file);
    case SQLITE_NOMEM:
        return scant__fail(ctx, SCANT_ENOMEM, "%s: out of memory: %s", file, why);
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
        return scant__fail(ctx, SCANT_EIO, "%s: cannot be written: %s", file, why);
    default:
        return scant__fail(ctx, SCANT_EINPUT, "%s: is damaged: %s", file, why);
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
                         const store_value *values) {
    for (int at = 1; values[at].type; at++) {
        const store_value *v = &values[at];
        int code;
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

scant_status store_query(scant_project *project, const store_value *sql,
                         store_cursor *out) {
    store_cached *cached = find_cached(project, sql[0].text);
    AUTO(store_end) store_cursor cursor = {.project = project};
    *out = cursor;
    if (!cached)
        return scant__fail(project->ctx, SCANT_EINTERNAL, "too many cached statements");
    if (!cached->sql) {
        TRY(compile(project, sql[0].text, SQLITE_PREPARE_PERSISTENT, &cached->statement));
        cached->sql = sql[0].text;
    }
    cursor.is_own = sqlite3_stmt_busy(cached->statement); /* in use by an outer loop */
    if (cursor.is_own)
        TRY(compile(project, sql[0].text, 0, &cursor.statement));
    else
        cursor.statement = cached->statement;
    TRY(bind(project, cursor.statement, sql));
    *out = cursor;
    cursor.statement = NULL;
    return SCANT_OK;
}

scant_status store_row(store_cursor cursor, bool *there) {
    int code = sqlite3_step(cursor.statement);
    *there = code == SQLITE_ROW;
    return *there || code == SQLITE_DONE ? SCANT_OK : store_failed(cursor.project, code);
}

void store_end(store_cursor *cursor) {
    if (cursor->is_own)
        sqlite3_finalize(cursor->statement);
    else
        sqlite3_reset(cursor->statement);
}

scant_status store_run(scant_project *project, const store_value *sql) {
    AUTO(store_end) store_cursor cursor = {0};
    bool row = true;
    TRY(store_query(project, sql, &cursor));
    while (row) TRY(store_row(cursor, &row));
    return SCANT_OK;
}

scant_status store_one(scant_project *project, const store_value *sql, int64_t *out) {
    AUTO(store_end) store_cursor cursor = {0};
    bool row;
    TRY(store_query(project, sql, &cursor));
    TRY(store_row(cursor, &row));
    if (row) *out = store_integer_or(cursor, 0, *out);
    return SCANT_OK;
}

scant_status store_script(scant_project *project, const char *sql) {
    int code = sqlite3_exec(project->db, sql, NULL, NULL, NULL);
    return code == SQLITE_OK ? SCANT_OK : store_failed(project, code);
}

scant_status store_index(store_cursor row, int column, size_t limit, size_t *out) {
    int64_t value = store_integer(row, column);
    if (value < 0 || (uint64_t)value >= limit)
        return store_damaged(row.project, "a number is out of its range");
    *out = (size_t)value;
    return SCANT_OK;
}

/* ---- transactions ------------------------------------------------------------------ */

/* Sets whether commits are fsynced. Not a cached statement: this PRAGMA takes effect when
 * it is compiled. */
static scant_status set_sync(scant_project *project, store_mode mode) {
    if (project->sync == mode) return SCANT_OK;
    project->sync = STORE_READ;
    TRY(store_script(project, mode == STORE_WRITE ? "PRAGMA synchronous = FULL"
                                                  : "PRAGMA synchronous = NORMAL"));
    project->sync = mode;
    return SCANT_OK;
}

scant_status store_begin(scant_project *project, store_mode mode, store_tx *out) {
    bool writes = mode != STORE_READ;
    *out = (store_tx){0};
    if (writes ? project->writing : !sqlite3_get_autocommit(project->db)) return SCANT_OK;
    if (writes) TRY(scant_project_check(project));
    if (writes) TRY(set_sync(project, mode));
    TRY(store_do(project, writes ? "BEGIN IMMEDIATE" : "BEGIN"));
    project->writing = writes;
    *out = (store_tx){project};
    return SCANT_OK;
}

scant_status store_commit(store_tx *tx) {
    if (!tx->project) return SCANT_OK;
    scant_project *project = tx->project;
    bool writes = project->writing;
    if (writes) TRY(scant_project_check(project));
    TRY(store_do(project, "COMMIT"));
    project->writing = false;
    tx->project = NULL;
    return writes ? scant_project_check(project) : SCANT_OK;
}

/* Rolls back unless committed. The context keeps the error message of the failed call.
 * Statements that write were reset: their cursors end before the transaction does. */
void store_tx_end(store_tx *tx) {
    if (!tx->project) return;
    tx->project->writing = false;
    if (!sqlite3_get_autocommit(tx->project->db))
        sqlite3_exec(tx->project->db, "ROLLBACK", NULL, NULL, NULL);
}
