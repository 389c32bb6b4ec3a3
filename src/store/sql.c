/* SPDX-License-Identifier: Apache-2.0
 *
 * Statements, their failures, and transactions.
 *
 * A failure of the disk (full, gone, not to be written) is SCANT_EIO; one of what the
 * file holds is SCANT_EINPUT, also where a statement of ours does not fit the schema, as
 * the statements are fixed and tested. Whatever fails within a transaction is rolled
 * back, and the handle can be used again.
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
                           "%s: is no database of a project, or is damaged",
                           project->file);
    default:
        return scant__fail(project->ctx, status, "%s: %s: %s", project->file,
                           status == SCANT_EIO      ? "cannot be written"
                           : status == SCANT_ENOMEM ? "no memory for it"
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

/* The place of a text among those kept, or where it would go; NULL: there is no room. */
static store_kept *find_kept(scant_project *project, const char *sql) {
    size_t at = (size_t)(((uintptr_t)sql * 0x9e3779b97f4a7c15u) >> 32);
    for (size_t i = 0; i < STORE_STATEMENTS; i++) {
        store_kept *kept = &project->kept[(at + i) % STORE_STATEMENTS];
        if (!kept->sql || kept->sql == sql) return kept;
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
    store_kept *kept = find_kept(project, sql);
    *out = NULL;
    if (!kept)
        return scant__fail(project->ctx, SCANT_EINTERNAL, "too many statements are kept");
    if (!kept->sql) {
        TRY(compile(project, sql, SQLITE_PREPARE_PERSISTENT, &kept->statement));
        kept->sql = sql;
    }
    sqlite3_reset(kept->statement);
    TRY(bind(project, kept->statement, values, n));
    *out = kept->statement;
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
    TRY(store_ask(project, sql, values, n, &statement));
    TRY(store_row(project, statement, &row));
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

/* Ends a transaction that failed. The sentence that says why stays. */
static void roll_back(scant_project *project) {
    for (size_t i = 0; i < STORE_STATEMENTS; i++) /* one that is open would hold it */
        if (project->kept[i].sql) sqlite3_reset(project->kept[i].statement);
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

/* Whether commits wait for the disk. A statement that is kept would not do: this one acts
 * when it is compiled. */
static scant_status set_waiting(scant_project *project, store_waiting waiting) {
    if (project->waiting == waiting) return SCANT_OK;
    project->waiting = STORE_WAITING_UNKNOWN;
    TRY(store_script(project, waiting == STORE_WAITING ? "PRAGMA synchronous = FULL"
                                                       : "PRAGMA synchronous = NORMAL"));
    project->waiting = waiting;
    return SCANT_OK;
}

static scant_status write_by(scant_project *project, store_waiting waiting,
                             store_work *fn, void *arg) {
    if (project->writing) return fn(project, arg);
    TRY(set_waiting(project, waiting));
    project->writing = true;
    scant_status status = transact(project, "BEGIN IMMEDIATE", fn, arg);
    project->writing = false;
    return status;
}

scant_status store_write(scant_project *project, store_work *fn, void *arg) {
    return write_by(project, STORE_WAITING, fn, arg);
}

scant_status store_write_passing(scant_project *project, store_work *fn, void *arg) {
    return write_by(project, STORE_NOT_WAITING, fn, arg);
}

scant_status store_read(scant_project *project, store_work *fn, void *arg) {
    if (!sqlite3_get_autocommit(project->db)) return fn(project, arg);
    return transact(project, "BEGIN", fn, arg);
}
