/* SPDX-License-Identifier: Apache-2.0
 *
 * A project's handle and its database; internal to this layer.
 *
 * Compiled statements are cached by the address of their text, so SQL must be a literal
 * or static. store_write() and store_read() run a function in one transaction, which is
 * rolled back if the function fails.
 */
#ifndef SCANT_STORE_INT_H
#define SCANT_STORE_INT_H

#include <sqlite3.h>

#include "core/text.h"
#include "data/names.h"
#include "scant/project.h"
#include "store/codes.h"
#include "store/store.h"

enum {
    STORE_APPLICATION = 0x5363616e, /* "Scan": PRAGMA application_id */
    STORE_VERSION = 2,              /* PRAGMA user_version */
    STORE_STATEMENTS = 256,         /* slots of the cache; a power of two */
    STORE_KEYS = 24,                /* most settings */
    STORE_ONCE = 64,                /* most bytes of scant_answer.once */
    STORE_PERSON = 100,             /* most bytes of a person's name */
    STORE_CLASS = 200               /* most bytes of a class's name */
};

typedef struct store_cached {
    const char *sql;
    sqlite3_stmt *statement;
} store_cached;

typedef enum store_sync {
    STORE_SYNC_UNKNOWN,
    STORE_SYNC_FULL,  /* a commit is fsynced */
    STORE_SYNC_NORMAL /* a power cut may lose the last commits */
} store_sync;

struct scant_project {
    scant_ctx *ctx;
    char *dir;  /* absolute */
    char *file; /* "DIR/project.db", for messages */
    sqlite3 *db;
    store_cached cached[STORE_STATEMENTS];
    bool writing; /* within store_write() */
    store_sync sync;
    int64_t clock; /* for tests: the time; 0: the system's clock */

    uint64_t seed;
    int64_t created;
    char *key;                       /* random */
    char *kind, *backbone, *weights; /* the last two NULL: none */

    char *values[STORE_KEYS]; /* last results of scant_project_get() */
    char **classes;           /* names read so far; classes are only ever added */
    size_t n_classes, class_room;
    char *person;      /* last result of scant_project_person_name() */
    scant__text lines; /* strings of the last scant_project_item() */

    scant__names unknown_ids; /* of the last import */
    const char **unknown_list;

    /* store_attached(): freed by detach() when the project is closed. */
    void *attached[STORE_SLOTS];
    void (*detach[STORE_SLOTS])(void *attached);
};

int64_t store_now(const scant_project *project); /* milliseconds since 1970 */
/* A copy in the context's memory; NULL with the error message set. */
char *store_strdup(scant_ctx *ctx, const char *text);

/* ---- sql.c: statements ---- */

typedef struct store_value {
    int type; /* SQLITE_INTEGER, SQLITE_FLOAT, SQLITE_TEXT, SQLITE_NULL */
    int64_t integer;
    double real;
    const char *text;
} store_value;

static inline store_value store_int(int64_t value) {
    return (store_value){.type = SQLITE_INTEGER, .integer = value};
}
static inline store_value store_size(size_t value) { return store_int((int64_t)value); }
/* NULL if the number is 0 ("none"). */
static inline store_value store_some(size_t value) {
    return value ? store_size(value) : (store_value){.type = SQLITE_NULL};
}
/* NULL if the number is NaN ("unknown"). */
static inline store_value store_real(double value) {
    return (store_value){.type = value == value ? SQLITE_FLOAT : SQLITE_NULL,
                         .real = value};
}
/* NULL is NULL. The text must outlive the statement. */
static inline store_value store_text(const char *text) {
    return (store_value){.type = text ? SQLITE_TEXT : SQLITE_NULL, .text = text};
}

#define STORE_NONE NULL, 0
#define STORE_VALUES(...)                                                                \
    (const store_value[]){__VA_ARGS__},                                                  \
        sizeof((const store_value[]){__VA_ARGS__}) / sizeof(store_value)

/* Sets status and message for an error code of SQLite. */
scant_status store_failed(scant_project *project, int code);
/* Fails with SCANT_EINPUT: the content of the database is invalid. */
scant_status store_damaged(scant_project *project, const char *what);

/* A cached statement with values bound, before its first row. */
scant_status store_ask(scant_project *project, const char *sql, const store_value *values,
                       size_t n, sqlite3_stmt **out);
/* Steps to the next row. Without one (*row false), and on failure, the statement is
 * reset. */
scant_status store_row(scant_project *project, sqlite3_stmt *statement, bool *row);
void store_end(sqlite3_stmt *statement); /* resets it before its last row */
/* store_ask() and the first store_row(). */
scant_status store_first(scant_project *project, const char *sql,
                         const store_value *values, size_t n, sqlite3_stmt **out,
                         bool *row);
/* A statement that is not cached, so that the project may be used while its rows are
 * read; store_close_rows() frees it (NULL is fine). store_each() calls fn for every row
 * of such a statement. */
scant_status store_open_rows(scant_project *project, const char *sql,
                             const store_value *values, size_t n, sqlite3_stmt **out);
void store_close_rows(sqlite3_stmt *statement);
typedef scant_status store_row_fn(scant_project *project, sqlite3_stmt *row, void *arg);
scant_status store_each(scant_project *project, const char *sql,
                        const store_value *values, size_t n, store_row_fn *fn, void *arg);
/* Runs a statement to its end. */
scant_status store_do(scant_project *project, const char *sql, const store_value *values,
                      size_t n);
/* The number in the first row; `otherwise` if there is no row, or it is NULL. */
scant_status store_one(scant_project *project, const char *sql, const store_value *values,
                       size_t n, int64_t otherwise, int64_t *out);
/* A script of several statements. */
scant_status store_script(scant_project *project, const char *sql);

/* A column with a number below limit; fails with store_damaged() on any other. */
scant_status store_index(scant_project *project, sqlite3_stmt *statement, int column,
                         size_t limit, size_t *out);
static inline const char *store_string(sqlite3_stmt *statement, int column) {
    return (const char *)sqlite3_column_text(statement, column);
}
static inline double store_double(sqlite3_stmt *statement, int column) {
    return sqlite3_column_type(statement, column) == SQLITE_NULL
               ? __builtin_nan("")
               : sqlite3_column_double(statement, column);
}
static inline int64_t store_number_or(sqlite3_stmt *statement, int column,
                                      int64_t otherwise) {
    return sqlite3_column_type(statement, column) == SQLITE_NULL
               ? otherwise
               : sqlite3_column_int64(statement, column);
}
static inline size_t store_count(sqlite3_stmt *statement, int column) {
    int64_t value = sqlite3_column_int64(statement, column);
    return value > 0 ? (size_t)value : 0;
}

/* Runs fn in one transaction; nested calls join the outer one. (store_read() is in
 * store.h.) store_write_unsynced(), for leases, does not fsync: a power cut may lose what
 * it wrote, the end of the program does not. */
scant_status store_write(scant_project *project, store_work *fn, void *arg);
scant_status store_write_unsynced(scant_project *project, store_work *fn, void *arg);

/* ---- schema.c ---- */

/* Makes all tables in an empty database. */
scant_status store_schema_create(scant_project *project);
/* SCANT_EINPUT where the file is not a project's database, or of another version. */
scant_status store_schema_check(scant_project *project);

/* ---- open.c ---- */

/* A handle with an open database whose content is not checked. create: make the file. */
scant_status store_handle_open(scant_ctx *ctx, const char *dir, bool create,
                               scant_project **out);
/* Reads the fields of the handle that come from meta. */
scant_status store_facts_read(scant_project *project);
scant_status store_meta_set(scant_project *project, const char *key, const char *value);
/* A number in meta; `otherwise` if it is missing. */
scant_status store_meta_number(scant_project *project, const char *key, int64_t otherwise,
                               int64_t *out);
scant_status store_event_add(scant_project *project, const char *kind, const char *json);
/* The same with the text of a builder, which it frees. */
scant_status store_event_take(scant_project *project, const char *kind,
                              scant__text *text);

/* ---- settings.c ---- */

/* SCANT_EUSAGE if there is no such key, or the value is invalid. */
scant_status store_setting_check(scant_ctx *ctx, const char *key, const char *value);
scant_status store_setting_put(scant_project *project, const char *key,
                               const char *value);
/* SCANT_EUSAGE if the changed settings contradict others: a strategy that needs
 * posterior draws, and a model without them. */
scant_status store_settings_fit(scant_project *project, const scant_setting *changed,
                                size_t n);
/* store_number() that can fail. automatic (may be NULL): the value is "auto". */
scant_status store_setting(scant_project *project, const char *key, double *number,
                           bool *automatic);

/* ---- people.c, within a transaction ---- */

scant_status store_person_check(scant_ctx *ctx, const char *name);
/* Adds file and line to the message if the check of a name in a file failed. */
scant_status store_name_line(scant_ctx *ctx, const char *file, size_t line,
                             const char *what, scant_status status);
/* The text without blanks around it: where it begins, and its length. */
const char *store_trim(const char *text, size_t *length);
/* Adds the person if the name is new. */
scant_status store_person_put(scant_project *project, const char *name, size_t *person);
scant_status store_class_check(scant_ctx *ctx, const char *name);
/* The class with a name; *there false: there is none. */
scant_status store_class_find(scant_project *project, const char *name, bool *there,
                              size_t *label);
scant_status store_class_put(scant_project *project, const char *name, size_t *label);
/* The class name most similar to an unknown one; NULL: none is similar. Borrowed. */
const char *store_class_near(scant_project *project, const char *name);
/* The item with an id; *there false: there is none. */
scant_status store_item_find(scant_project *project, const char *id, bool *there,
                             size_t *item);

/* ---- state.c, answer.c: within store_write() ---- */

/* Adds an entry to the history and updates the derived tables. */
typedef struct store_entry {
    size_t item; /* never a copy */
    size_t person;
    scant_answer_kind kind;
    size_t label;  /* of SCANT_ANSWER_LABEL */
    int64_t at;    /* negative: now */
    int64_t spent; /* negative: unknown */
    scant_role role;
    size_t round, model;
    int64_t undoes; /* 0: none */
    const char *once;
} store_entry;
scant_status store_entry_add(scant_project *project, const store_entry *entry,
                             int64_t *number);
/* Stores an answer from a file; an answer to a copy is stored for its original. at
 * negative: now. */
typedef enum store_imported {
    STORE_IMPORTED,
    STORE_REPEATED, /* it is the person's current answer: nothing is stored */
    STORE_OLDER     /* the person has given or undone an answer after `at`: likewise */
} store_imported;
scant_status store_import_put(scant_project *project, size_t item, size_t person,
                              scant_answer_kind kind, size_t label, int64_t at,
                              store_imported *out); /* may be NULL */
/* Updates an item's state, its place in the queue and the counters from its current
 * answers. entry: the history entry that caused the change. */
scant_status store_refresh(scant_project *project, size_t item, int64_t entry);
/* The item itself, or the item it is a copy of. */
scant_status store_original(scant_project *project, size_t item, size_t *original);
/* Counters, rows of the table tally: add to one; recount all of them. */
scant_status store_counter_add(scant_project *project, const char *name, int64_t more);
scant_status store_counters_recount(scant_project *project);
/* Updates the counters after a training, and after a change of the audit queue. */
scant_status store_counters_trained(scant_project *project);
scant_status store_counters_audit(scant_project *project);

/* ---- audit.c: within store_write() ---- */

uint64_t store_audit_key(uint64_t seed, size_t item);
uint64_t store_fill_key(uint64_t seed, size_t item);
/* The queue.kind and *key of an item that has neither a label nor an unsure. */
int64_t store_open_place(const scant_project *project, size_t item, bool audit,
                         bool skipped, int64_t *key);
/* Draws the audit set according to the settings and the number of items. */
scant_status store_audit_apply(scant_project *project);
/* Extends the audit set to items from first on, in time proportional to their number. */
scant_status store_audit_extend(scant_project *project, size_t first);
/* The first audit key, among the first `items` items, that nobody has answered or
 * skipped; INT64_MAX: there is none. Only labels below it are a random sample. */
scant_status store_audit_front(scant_project *project, int64_t items, int64_t *key);

/* ---- leases.c: within store_write() ---- */

enum { STORE_LEASES_KEPT = 7 * 24 * 3600 * 1000 }; /* milliseconds after they expired */

/* Leases the item to the person; an earlier lease of it ends. */
scant_status store_lease_give(scant_project *project, size_t person, size_t item,
                              scant_role role, size_t round, size_t model,
                              scant_lease *out);
/* The person's live lease of an item; key 0: there is none. */
scant_status store_lease_find(scant_project *project, size_t person, size_t item,
                              scant_lease *out);
/* The person who holds the item's lease; 0: nobody. */
scant_status store_lease_holder(scant_project *project, size_t item, size_t *person);
/* When a lease that begins now expires. */
scant_status store_lease_until(scant_project *project, int64_t *until);
/* SCANT_ENOTFOUND if there is no such person. */
scant_status store_person_known(scant_project *project, size_t person);

#endif
