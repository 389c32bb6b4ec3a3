/* SPDX-License-Identifier: Apache-2.0
 *
 * A project's handle and its database, as this layer's own files see them.
 *
 * Statements are kept by the address of their text, so a text is a literal or static.
 * What must hold together is done by store_write() or store_read(): a function that runs
 * within one transaction, and whose failure undoes it.
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
    STORE_STATEMENTS = 256,         /* room for kept ones; a power of two */
    STORE_KEYS = 24,                /* room for settings */
    STORE_ONCE = 64,                /* bytes of scant_answer.once at most */
    STORE_PERSON = 100,             /* bytes of a person's name at most */
    STORE_CLASS = 200               /* and of a class's */
};

typedef struct store_kept {
    const char *sql;
    sqlite3_stmt *statement;
} store_kept;

typedef enum store_waiting {
    STORE_WAITING_UNKNOWN,
    STORE_WAITING, /* a commit waits until it is on the disk */
    STORE_NOT_WAITING
} store_waiting;

struct scant_project {
    scant_ctx *ctx;
    char *dir;  /* absolute */
    char *file; /* "DIR/project.db", for messages */
    sqlite3 *db;
    store_kept kept[STORE_STATEMENTS];
    bool writing; /* within store_write() */
    store_waiting waiting;
    int64_t clock; /* what time it is, of tests alone; 0: the machine's clock */

    uint64_t seed;
    int64_t created;
    char *key;                       /* random */
    char *kind, *backbone, *weights; /* the last two NULL: none */

    char *values[STORE_KEYS]; /* what scant_project_get() gave last */
    char **classes;           /* names, as far as they are known; these only grow */
    size_t n_classes, class_room;
    char *person;      /* what scant_project_person_name() gave last */
    scant__text lines; /* strings of the last scant_project_item() */

    scant__names unknown_ids; /* of the last import */
    const char **unknown_list;

    /* store_attached(): ended by detach() before all else. */
    void *attached[STORE_SLOTS];
    void (*detach[STORE_SLOTS])(void *attached);
};

int64_t store_now(const scant_project *project); /* milliseconds since 1970 */
/* Text of the context's memory; NULL with the error text set. */
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
/* NULL where the number is 0: "none". */
static inline store_value store_some(size_t value) {
    return value ? store_size(value) : (store_value){.type = SQLITE_NULL};
}
/* NULL where the number is NaN: "not known". */
static inline store_value store_real(double value) {
    return (store_value){.type = value == value ? SQLITE_FLOAT : SQLITE_NULL,
                         .real = value};
}
/* NULL is NULL. The text must stay until the statement has run. */
static inline store_value store_text(const char *text) {
    return (store_value){.type = text ? SQLITE_TEXT : SQLITE_NULL, .text = text};
}

#define STORE_NONE NULL, 0
#define STORE_VALUES(...)                                                                \
    (const store_value[]){__VA_ARGS__},                                                  \
        sizeof((const store_value[]){__VA_ARGS__}) / sizeof(store_value)

/* The status and sentence for what SQLite says of the database. */
scant_status store_failed(scant_project *project, int code);
/* The database has what no writer of ours puts there. */
scant_status store_damaged(scant_project *project, const char *what);

/* Binds values to a kept statement that is before its first row. */
scant_status store_ask(scant_project *project, const char *sql, const store_value *values,
                       size_t n, sqlite3_stmt **out);
/* *row: there is one; else the statement is done and reset. Also on failure. */
scant_status store_row(scant_project *project, sqlite3_stmt *statement, bool *row);
void store_end(sqlite3_stmt *statement); /* before its last row */
/* The same with a statement that is not kept: for rows during which a callback may use
 * the project. store_close_rows() ends it; NULL is fine. */
scant_status store_open_rows(scant_project *project, const char *sql,
                             const store_value *values, size_t n, sqlite3_stmt **out);
void store_close_rows(sqlite3_stmt *statement);
/* Runs a statement to its end. */
scant_status store_do(scant_project *project, const char *sql, const store_value *values,
                      size_t n);
/* The first number of the first row; otherwise where there is none, or it is NULL. */
scant_status store_one(scant_project *project, const char *sql, const store_value *values,
                       size_t n, int64_t otherwise, int64_t *out);
/* A script of several statements. */
scant_status store_script(scant_project *project, const char *sql);

/* A column as a number of 0 .. limit - 1; anything else is damage. */
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

/* fn within one transaction that others see as a whole, or not at all. store_write()
 * within another is part of that; store_read() is store.h's. What store_write_passing()
 * does is lost where the power goes, unless something that lasts was done after it; a
 * program that ends loses nothing. For leases. */
scant_status store_write(scant_project *project, store_work *fn, void *arg);
scant_status store_write_passing(scant_project *project, store_work *fn, void *arg);

/* ---- schema.c ---- */

/* Makes all tables in an empty database. */
scant_status store_schema_create(scant_project *project);
/* SCANT_EINPUT where the file is not a project's database, or of another version. */
scant_status store_schema_check(scant_project *project);

/* ---- open.c ---- */

/* A handle with an open database, of no checked content. create: the file is new. */
scant_status store_handle_open(scant_ctx *ctx, const char *dir, bool create,
                               scant_project **out);
/* Reads what the handle keeps of meta. */
scant_status store_facts_read(scant_project *project);
scant_status store_meta_set(scant_project *project, const char *key, const char *value);
/* A number of meta; otherwise where it is not there. */
scant_status store_meta_number(scant_project *project, const char *key, int64_t otherwise,
                               int64_t *out);
scant_status store_event_add(scant_project *project, const char *kind, const char *json);

/* ---- settings.c ---- */

/* SCANT_EUSAGE where there is no such key, or it must not be that. */
scant_status store_setting_check(scant_ctx *ctx, const char *key, const char *value);
scant_status store_setting_put(scant_project *project, const char *key,
                               const char *value);
/* SCANT_EUSAGE where one of those that were put cannot be with another: a strategy that
 * asks draws of a model, and models without. */
scant_status store_settings_fit(scant_project *project, const scant_setting *changed,
                                size_t n);
/* store_number() that can fail. automatic (may be NULL): it is "auto". */
scant_status store_setting(scant_project *project, const char *key, double *number,
                           bool *automatic);

/* ---- people.c, within a transaction ---- */

scant_status store_person_check(scant_ctx *ctx, const char *name);
/* The status of a check of a name that a file has: with the line, where it is refused. */
scant_status store_name_line(scant_ctx *ctx, const char *file, size_t line,
                             const char *what, scant_status status);
/* Where the text without the blanks around it begins, and its length. */
const char *store_trim(const char *text, size_t *length);
/* Adds the person where the name is new. */
scant_status store_person_put(scant_project *project, const char *name, size_t *person);
scant_status store_class_check(scant_ctx *ctx, const char *name);
/* The class of a name; *there false: none. */
scant_status store_class_find(scant_project *project, const char *name, bool *there,
                              size_t *label);
scant_status store_class_put(scant_project *project, const char *name, size_t *label);
/* The class whose name is nearest to one that is none; NULL: none is near. Borrowed. */
const char *store_class_near(scant_project *project, const char *name);
/* The item of an id; *there false: none. */
scant_status store_item_find(scant_project *project, const char *id, bool *there,
                             size_t *item);

/* ---- state.c, answer.c: within store_write() ---- */

/* A new line of the history and what follows from it. */
typedef struct store_entry {
    size_t item; /* no copy */
    size_t person;
    scant_answer_kind kind;
    size_t label;  /* of a label */
    int64_t at;    /* negative: now */
    int64_t spent; /* negative: not known */
    scant_role role;
    size_t round, model;
    int64_t undoes; /* 0: none */
    const char *once;
} store_entry;
scant_status store_entry_add(scant_project *project, const store_entry *entry,
                             int64_t *number);
/* An answer from a file: of a copy it is its original's. at negative: now. */
typedef enum store_imported {
    STORE_IMPORTED,
    STORE_REPEATED, /* the person says just that of it already: nothing is stored */
    STORE_OLDER     /* after `at` the person has said something else, or taken back an
                     * answer, likewise */
} store_imported;
scant_status store_import_put(scant_project *project, size_t item, size_t person,
                              scant_answer_kind kind, size_t label, int64_t at,
                              store_imported *out); /* may be NULL */
/* What follows from the standing answers to an item, anew: its state, its place in the
 * queue, the tallies. entry: the one that is to blame for a change. */
scant_status store_refresh(scant_project *project, size_t item, int64_t entry);
/* The item itself, or what it is a copy of. */
scant_status store_original(scant_project *project, size_t item, size_t *original);
/* Kept counts: what they count of, and all of them anew. */
scant_status store_tally(scant_project *project, const char *name, int64_t more);
scant_status store_tally_recount(scant_project *project);
/* There is a new model; what is withheld has its places in the queue. */
scant_status store_tally_trained(scant_project *project);
scant_status store_tally_front(scant_project *project);

/* ---- audit.c: within store_write() ---- */

uint64_t store_audit_key(uint64_t seed, size_t item);
uint64_t store_fill_key(uint64_t seed, size_t item);
/* The place in the queue of an item that has neither label nor unsure, and is in it: why
 * it is, and *key. */
int64_t store_open_place(const scant_project *project, size_t item, bool audit,
                         bool skipped, int64_t *key);
/* Which items are withheld, by the settings and how many there are, anew. */
scant_status store_audit_apply(scant_project *project);
/* The same for items from first on, where the last that is withheld is known: in time
 * proportional to them. */
scant_status store_audit_extend(scant_project *project, size_t first);
/* The audit key up to which each of the first `items` items has been answered or passed
 * over; only labels below it are a fair sample of those. INT64_MAX: of all items. */
scant_status store_audit_front(scant_project *project, int64_t items, int64_t *key);

/* ---- leases.c: within store_write() ---- */

enum { STORE_LEASES_KEPT = 7 * 24 * 3600 * 1000 }; /* milliseconds after they ran out */

/* The item is the person's; whoever had it before has it no more. */
scant_status store_lease_give(scant_project *project, size_t person, size_t item,
                              scant_role role, size_t round, size_t model,
                              scant_lease *out);
/* Whose the item is now; 0: nobody's. */
scant_status store_lease_holder(scant_project *project, size_t item, size_t *person);
/* The end of a lease that is given now. */
scant_status store_lease_until(scant_project *project, int64_t *until);
/* SCANT_ENOTFOUND where there is no such person. */
scant_status store_person_known(scant_project *project, size_t person);

#endif
