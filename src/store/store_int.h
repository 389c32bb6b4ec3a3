/* SPDX-License-Identifier: Apache-2.0
 *
 * A project's handle and its database; internal to this layer.
 *
 * Compiled statements are cached by the address of their text, so SQL must be a literal
 * or static.
 */
#ifndef SCANT_STORE_INT_H
#define SCANT_STORE_INT_H

#include <sqlite3.h>
#include <sys/stat.h>

#include "core/text.h"
#include "data/names.h"
#include "scant/project.h"
#include "store/codes.h"
#include "store/store.h"

enum {
    STORE_APPLICATION = 0x5363616e, /* "Scan": PRAGMA application_id */
    STORE_VERSION = 3,              /* PRAGMA user_version */
    STORE_STATEMENTS = 256,         /* slots of the cache; a power of two */
    STORE_KEYS = 24,                /* maximum number of settings */
    STORE_ONCE = 64,                /* maximum bytes of scant_answer.once */
    STORE_PERSON = 100,             /* maximum bytes of a person's name */
    STORE_CLASS = 200,              /* maximum bytes of a class's name */
    STORE_TEXT = 256 * 1024         /* maximum bytes of an item's text and of its id */
};

typedef struct store_cached {
    const char *sql;
    sqlite3_stmt *statement;
} store_cached;

/* Which file a path named; inode 0: not known. */
typedef struct store_file {
    dev_t device;
    ino_t inode;
} store_file;

/* The database's file at the last check. */
typedef struct store_seen {
    off_t size; /* 0: none yet */
    unsigned char header[100];
    uint32_t checkpoint[4]; /* which checkpoint was the last; see lost.c */
} store_seen;

struct scant_project {
    scant_ctx *ctx;
    scant__arena arena; /* strings that live as long as the handle */
    const char *dir;    /* absolute */
    const char *file;   /* "DIR/project.db" */
    const char *log_file;
    store_file database, log; /* lost.c */
    store_seen seen;
    sqlite3 *db;
    store_cached cached[STORE_STATEMENTS];
    bool writing;    /* a transaction that writes is open */
    store_mode sync; /* current PRAGMA synchronous; STORE_READ: unknown */
    int64_t clock;   /* for tests: the time; 0: the system's clock */

    uint64_t seed;
    int64_t created;
    const char *key;                       /* random */
    const char *kind, *backbone, *weights; /* the last two may be NULL */

    char *values[STORE_KEYS]; /* last results of scant_project_get() */
    const char **classes;     /* names read so far; classes are only ever added */
    size_t n_classes, class_room;
    char *person;      /* last result of scant_project_person_name() */
    scant__arena item; /* strings of the last scant_project_item() */

    scant__names unknown_ids; /* unknown ids of the last import */
    const char **unknown_list;

    /* store_attached(): freed by detach() when the project is closed. */
    void *attached[STORE_SLOTS];
    void (*detach[STORE_SLOTS])(void *attached);
};

DEFINE_AUTO(scant_project, scant_project)

int64_t store_now(const scant_project *project); /* milliseconds since 1970 */
/* Copies a string to the context's memory. NULL: no memory; the error message is set. */
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
/* SQL NULL if the number is 0 ("none"). */
static inline store_value store_size_or_null(size_t value) {
    return value ? store_size(value) : (store_value){.type = SQLITE_NULL};
}
/* SQL NULL if the number is NaN ("unknown"). */
static inline store_value store_real(double value) {
    return (store_value){.type = value == value ? SQLITE_FLOAT : SQLITE_NULL,
                         .real = value};
}
/* A NULL text is SQL NULL. The text must outlive the statement. */
static inline store_value store_text(const char *text) {
    return (store_value){.type = text ? SQLITE_TEXT : SQLITE_NULL, .text = text};
}

/* A statement and the values of ?1, ?2, ...: element 0 has the statement's text, an
 * element of type 0 ends the list. (.text is the last member of store_value, so the next
 * initializer is element 1.) */
enum { STORE_BOUND = 15 }; /* text, up to 13 values, end of the list */
#define STORE_SQL(...)                                                                   \
    (const store_value[STORE_BOUND]) { [0].text = __VA_ARGS__ }

/* Sets status and message for an error code of SQLite. */
scant_status store_failed(scant_project *project, int code);
/* Fails with SCANT_EINPUT: the content of the database is invalid. */
scant_status store_damaged(scant_project *project, const char *what);

/* A running statement, at one of its rows. */
typedef struct store_cursor {
    scant_project *project;
    sqlite3_stmt *statement;
    bool is_own; /* not from the cache: finalized at the end */
} store_cursor;

/* Runs the following block for every row:
 *     STORE_EACH(row, project, "SELECT id FROM items WHERE item = ?1", store_size(item))
 *         TRY(fn(user, store_string(row, 0)));
 * The block may use the project in any way and may leave the loop. If the statement
 * fails, the calling function returns the status. */
#define STORE_EACH(row, project, ...)                                                    \
    for (AUTO(store_end) store_cursor row = TRY_QUERY(project, __VA_ARGS__);             \
         TRY_ROW(row);)
#define TRY_QUERY(project, ...)                                                          \
    __extension__({                                                                      \
        store_cursor try_query_;                                                         \
        TRY(store_query(project, STORE_SQL(__VA_ARGS__), &try_query_));                  \
        try_query_;                                                                      \
    })
#define TRY_ROW(row)                                                                     \
    __extension__({                                                                      \
        bool try_row_;                                                                   \
        TRY(store_row(row, &try_row_));                                                  \
        try_row_;                                                                        \
    })
/* Prepares a statement and binds its values. On failure *out is zeroed. */
scant_status store_query(scant_project *project, const store_value *sql,
                         store_cursor *out);
/* Steps to the next row; *there false: no more rows. */
scant_status store_row(store_cursor cursor, bool *there);
void store_end(store_cursor *cursor);

/* Runs a statement to its end. */
#define store_do(project, ...) store_run(project, STORE_SQL(__VA_ARGS__))
scant_status store_run(scant_project *project, const store_value *sql);
/* The number in the first row; `otherwise` if there is no row, or it is NULL:
 *     int64_t n = TRY_ONE(project, 0, "SELECT count(*) FROM people"); */
#define TRY_ONE(project, otherwise, ...)                                                 \
    __extension__({                                                                      \
        int64_t try_one_ = otherwise;                                                    \
        TRY(store_one(project, STORE_SQL(__VA_ARGS__), &try_one_));                      \
        try_one_;                                                                        \
    })
scant_status store_one(scant_project *project, const store_value *sql, int64_t *out);
/* Runs several statements. */
scant_status store_script(scant_project *project, const char *sql);

/* Columns of a row. */
static inline int64_t store_integer(store_cursor row, int column) {
    return sqlite3_column_int64(row.statement, column);
}
static inline int64_t store_integer_or(store_cursor row, int column, int64_t otherwise) {
    return sqlite3_column_type(row.statement, column) == SQLITE_NULL
               ? otherwise
               : store_integer(row, column);
}
static inline size_t store_count(store_cursor row, int column) { /* negative: 0 */
    int64_t value = store_integer(row, column);
    return value > 0 ? (size_t)value : 0;
}
static inline double store_double(store_cursor row, int column) { /* NULL: NaN */
    return sqlite3_column_type(row.statement, column) == SQLITE_NULL
               ? __builtin_nan("")
               : sqlite3_column_double(row.statement, column);
}
static inline const char *store_string(store_cursor row, int column) { /* or NULL */
    return (const char *)sqlite3_column_text(row.statement, column);
}
static inline const char *store_name(store_cursor row, int column) { /* NULL: "" */
    const char *text = store_string(row, column);
    return text ? text : "";
}
/* Reads a number from 0 to limit - 1; fails with store_damaged() on any other. */
scant_status store_index(store_cursor row, int column, size_t limit, size_t *out);

/* ---- schema.c ---- */

/* Creates all tables in an empty database. */
scant_status store_schema_create(scant_project *project);
/* SCANT_EINPUT if the file is not a project's database, or has another version. */
scant_status store_schema_check(scant_project *project);

/* ---- open.c ---- */

/* Opens a handle without checking the database's content. create: creates the file. */
scant_status store_handle_open(scant_ctx *ctx, const char *dir, bool create,
                               scant_project **out);
/* Reads the fields of the handle that come from meta. */
scant_status store_meta_read(scant_project *project);
scant_status store_meta_set(scant_project *project, const char *key, store_value value);
/* A number in meta; `otherwise` if it is missing. */
scant_status store_meta_number(scant_project *project, const char *key, int64_t otherwise,
                               int64_t *out);
scant_status store_event_add(scant_project *project, const char *kind,
                             const scant__text *json);

/* ---- lost.c ---- */

/* Notes which file was opened, for scant_project_check(). */
scant_status store_file_note(scant_project *project);
/* The same for the write-ahead log, once SQLite has opened it. */
scant_status store_log_note(scant_project *project);

/* ---- source_rows.c ---- */

/* Opens an array of images, or returns the open one. Borrowed: it stays open until
 * another source is read. */
scant_status store_open_images(scant_project *project, const char *path,
                               const scant_data **out);

/* ---- fingerprint.c ---- */

/* Checks that the sources with this path (NULL: all) have the content that their items
 * had when they were added. SCANT_EINPUT if not; the message says what is different.
 * Cheap if the file is unchanged; else it reads all items. Of images in files only a
 * sample is read. known: the message of an earlier refusal, or NULL; then items are not
 * read again. */
scant_status store_source_check(scant_project *project, const char *path,
                                const char *known);

/* ---- settings.c ---- */

/* SCANT_EUSAGE if there is no such key, or the value is invalid. */
scant_status store_setting_check(scant_ctx *ctx, const char *key, const char *value);
scant_status store_setting_put(scant_project *project, const char *key,
                               const char *value);
/* Returns `failure` if the changed settings contradict others: the strategy needs
 * posterior draws and bayes is none. */
scant_status store_settings_check(scant_project *project, const scant_setting *changed,
                                  size_t n, scant_status failure);
/* Reads a setting as a number: "auto" is NaN, "yes" is 1, other words are 0. (In
 * store_number(), "auto" and errors are 0.) */
scant_status store_setting(scant_project *project, const char *key, double *number);

/* ---- people.c, within a transaction ---- */

scant_status store_person_check(scant_ctx *ctx, const char *name);
/* Adds file and line to the message if the check of a name in a file failed. */
scant_status store_name_line(scant_ctx *ctx, const char *file, size_t line,
                             const char *what, scant_status status);
/* Trims blanks at both ends: returns the beginning and sets the length of the rest. */
const char *store_trim(const char *text, size_t *length);
/* Sets project->person to the name; NULL: no such person. */
scant_status store_person_name(scant_project *project, size_t person);
/* Adds the person if the name is new. */
scant_status store_person_put(scant_project *project, const char *name, size_t *person);
scant_status store_class_check(scant_ctx *ctx, const char *name);
/* Finds the class with a name; *there false: none. */
scant_status store_class_find(scant_project *project, const char *name, bool *there,
                              size_t *label);
scant_status store_class_put(scant_project *project, const char *name, size_t *label);
/* The class name most similar to an unknown one; NULL: there are no classes. Borrowed. */
const char *store_class_near(scant_project *project, const char *name);
/* Finds the item with an id; *there false: none. */
scant_status store_item_find(scant_project *project, const char *id, bool *there,
                             size_t *item);

/* ---- derived.c, answer.c: within a transaction ---- */

/* A new entry of the history; store_entry_add() also updates the derived tables. */
typedef struct store_entry {
    size_t item; /* never a copy */
    size_t person;
    scant_answer_kind kind;
    size_t label;  /* the class, if kind is SCANT_ANSWER_LABEL */
    int64_t at;    /* negative: now */
    int64_t spent; /* negative: unknown */
    scant_role role;
    size_t round, model;
    int64_t undoes; /* 0: none */
    const char *once;
} store_entry;
scant_status store_entry_add(scant_project *project, const store_entry *entry,
                             int64_t *number);
/* Imports an answer. An answer to a copy is stored for its original. at negative: now. */
typedef enum store_imported {
    STORE_IMPORTED,
    STORE_REPEATED, /* equal to the person's current answer: not stored */
    STORE_OLDER     /* the person has answered or undone after `at`: not stored */
} store_imported;
scant_status store_import_put(scant_project *project, size_t item, size_t person,
                              scant_answer_kind kind, size_t label, int64_t at,
                              store_imported *out); /* may be NULL */
/* Updates an item's state, its place in the queue and the counters from its current
 * answers. entry: the history entry that caused the change. */
scant_status store_refresh(scant_project *project, size_t item, int64_t entry);
/* The item itself, or the item it is a copy of. */
scant_status store_original(scant_project *project, size_t item, size_t *original);
/* Counters are rows of the table tally. The first function adds to one counter, the
 * second recomputes all of them. */
scant_status store_counter_add(scant_project *project, const char *name, int64_t more);
scant_status store_counters_recount(scant_project *project);
/* The first updates "untrained" after a training; the second updates "audited" after a
 * change of the audit items in the queue. */
scant_status store_counters_trained(scant_project *project);
scant_status store_counters_audit(scant_project *project);

/* ---- audit.c: within a transaction ---- */

uint64_t store_audit_key(uint64_t seed, size_t item);
uint64_t store_fill_key(uint64_t seed, size_t item);
/* Returns queue.kind and sets *key for an item that nobody has labelled or marked unsure.
 */
int64_t store_queue_place(const scant_project *project, size_t item, bool audit,
                          bool skipped, int64_t *key);
/* Draws the audit set according to the settings and the number of items. */
scant_status store_audit_apply(scant_project *project);
/* Extends the audit set to items from first on, in time proportional to their number. */
scant_status store_audit_extend(scant_project *project, size_t first);
/* The smallest audit key of items below `items` that nobody has answered or skipped;
 * INT64_MAX: none. Labelled items with smaller keys are a random sample. */
scant_status store_audit_front(scant_project *project, int64_t items, int64_t *key);

/* ---- leases.c: within a transaction ---- */

enum { STORE_LEASES_KEPT = 7 * 24 * 3600 * 1000 }; /* milliseconds after expiry */

/* Leases the item to the person; an earlier lease of it ends. */
scant_status store_lease_give(scant_project *project, size_t person, size_t item,
                              scant_role role, size_t round, size_t model,
                              scant_lease *out);
/* The person's live lease of an item, even if it has expired; key 0: none. */
scant_status store_lease_find(scant_project *project, size_t person, size_t item,
                              scant_lease *out);
/* The person to whom the item is leased now; 0: nobody. */
scant_status store_lease_holder(scant_project *project, size_t item, size_t *person);
/* The time at which a lease that begins now expires. */
scant_status store_lease_until(scant_project *project, int64_t *until);
/* Deletes leases that ended long ago and shortens those that end too late. */
scant_status store_leases_clean(scant_project *project);
/* SCANT_ENOTFOUND if there is no such person. */
scant_status store_person_known(scant_project *project, size_t person);

#endif
