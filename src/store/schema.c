/* SPDX-License-Identifier: Apache-2.0
 *
 * The schema; docs/store.md explains its tables. PRAGMA user_version is STORE_VERSION: a
 * change of the schema needs a new number. Databases of another number are refused
 * (store_schema_check()).
 */
#include <stdio.h>

#include "scant/project.h"
#include "store/store_int.h"

/* Settings, classes, people, sources and items. */
static const char items_sql[] =
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)"
    "  STRICT, WITHOUT ROWID;"
    "CREATE TABLE settings (key TEXT PRIMARY KEY, value TEXT NOT NULL)"
    "  STRICT, WITHOUT ROWID;"
    "CREATE TABLE classes (class INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,"
    "  learned INTEGER NOT NULL DEFAULT 0) STRICT;"
    "CREATE INDEX classes_learned ON classes (class) WHERE learned > 0;"
    "CREATE TABLE people (person INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,"
    "  answers INTEGER NOT NULL DEFAULT 0, opinions INTEGER NOT NULL DEFAULT 0) STRICT;"
    "CREATE TABLE sources (source INTEGER PRIMARY KEY, kind INTEGER NOT NULL"
    "  CHECK (kind BETWEEN " SQL_FILES " AND " SQL_FEATURES "),"
    "  path TEXT NOT NULL, manifest TEXT,"
    "  first INTEGER NOT NULL, count INTEGER NOT NULL, size INTEGER NOT NULL,"
    "  time INTEGER NOT NULL, hash INTEGER NOT NULL, shape TEXT NOT NULL) STRICT;"
    "CREATE TABLE items (item INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,"
    "  source INTEGER NOT NULL REFERENCES sources, row INTEGER, path TEXT, text TEXT,"
    "  grp TEXT, copy_of INTEGER REFERENCES items, print INTEGER NOT NULL,"
    "  audit INTEGER NOT NULL, withheld INTEGER NOT NULL"
    "  CHECK (withheld BETWEEN " SQL_NOT_WITHHELD " AND " SQL_AUDIT_GROUP ")) STRICT;"
    "CREATE INDEX items_print ON items (print);"
    "CREATE INDEX items_path ON items (path) WHERE path IS NOT NULL;"
    "CREATE INDEX items_grp ON items (grp) WHERE grp IS NOT NULL;"
    "CREATE INDEX items_withheld ON items (audit) WHERE withheld = " SQL_WITHHELD ";"
    "CREATE INDEX items_beside ON items (item) WHERE withheld = " SQL_AUDIT_GROUP ";"
    "CREATE INDEX items_copies ON items (copy_of) WHERE copy_of IS NOT NULL;";

/* Models, rounds and the history. */
static const char history_sql[] =
    "CREATE TABLE models (model INTEGER PRIMARY KEY, at INTEGER NOT NULL,"
    "  entry INTEGER NOT NULL, seed INTEGER NOT NULL, labels INTEGER NOT NULL,"
    "  classes INTEGER NOT NULL, items INTEGER NOT NULL, file TEXT NOT NULL,"
    "  seconds REAL, agreement REAL, over_random REAL, over_random_low REAL,"
    "  over_random_high REAL, over_random_labels INTEGER NOT NULL) STRICT;"
    "CREATE TABLE verdicts (model INTEGER NOT NULL REFERENCES models,"
    "  item INTEGER NOT NULL REFERENCES items, class INTEGER NOT NULL,"
    "  PRIMARY KEY (model, item)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE rounds (round INTEGER PRIMARY KEY, at INTEGER NOT NULL,"
    "  strategy TEXT NOT NULL, seed INTEGER NOT NULL, model INTEGER REFERENCES models,"
    "  batch INTEGER NOT NULL, options TEXT NOT NULL,"
    "  start INTEGER NOT NULL DEFAULT 0) STRICT;"
    "CREATE TABLE picks (round INTEGER NOT NULL REFERENCES rounds,"
    "  place INTEGER NOT NULL, item INTEGER NOT NULL REFERENCES items,"
    "  weight REAL, score REAL, PRIMARY KEY (round, place)) STRICT, WITHOUT ROWID;"

    "CREATE TABLE labels (entry INTEGER PRIMARY KEY AUTOINCREMENT,"
    "  item INTEGER NOT NULL REFERENCES items, person INTEGER NOT NULL REFERENCES people,"
    "  kind INTEGER NOT NULL CHECK (kind BETWEEN " SQL_LABEL " AND " SQL_UNDO "),"
    "  class INTEGER REFERENCES classes, at INTEGER NOT NULL, spent INTEGER,"
    "  role INTEGER NOT NULL CHECK (role BETWEEN " SQL_PICK " AND " SQL_IMPORT "),"
    "  round INTEGER REFERENCES rounds, model INTEGER REFERENCES models,"
    "  undoes INTEGER UNIQUE REFERENCES labels, once TEXT,"
    "  CHECK ((kind = " SQL_LABEL ") = (class IS NOT NULL)),"
    "  CHECK ((kind = " SQL_UNDO ") = (undoes IS NOT NULL))) STRICT;"
    "CREATE UNIQUE INDEX labels_once ON labels (person, once) WHERE once IS NOT NULL;"
    "CREATE INDEX labels_person ON labels (person);"
    "CREATE INDEX labels_undone ON labels (item, person) WHERE kind = " SQL_UNDO ";"
    "CREATE TRIGGER labels_stay BEFORE UPDATE ON labels"
    "  BEGIN SELECT RAISE(ABORT, 'the history only grows'); END;"
    "CREATE TRIGGER labels_keep BEFORE DELETE ON labels"
    "  BEGIN SELECT RAISE(ABORT, 'the history only grows'); END;";

/* Derived tables, leases and events. */
static const char derived_sql[] =
    "CREATE TABLE answers (item INTEGER NOT NULL REFERENCES items,"
    "  person INTEGER NOT NULL REFERENCES people,"
    "  entry INTEGER NOT NULL REFERENCES labels, kind INTEGER NOT NULL, class INTEGER,"
    "  role INTEGER NOT NULL, PRIMARY KEY (item, person)) STRICT, WITHOUT ROWID;"
    "CREATE UNIQUE INDEX answers_person ON answers (person, entry);"
    "CREATE TABLE states (item INTEGER PRIMARY KEY REFERENCES items,"
    "  label INTEGER NOT NULL, answers INTEGER NOT NULL, skips INTEGER NOT NULL,"
    "  unsures INTEGER NOT NULL, disputed INTEGER NOT NULL,"
    "  since INTEGER NOT NULL, last INTEGER NOT NULL) STRICT;"
    "CREATE INDEX states_since ON states (since) WHERE label >= 0;"
    "CREATE TABLE queue (item INTEGER PRIMARY KEY REFERENCES items,"
    "  kind INTEGER NOT NULL, key INTEGER NOT NULL) STRICT;"
    "CREATE INDEX queue_order ON queue (kind, key);"
    "CREATE TABLE tally (name TEXT PRIMARY KEY, n INTEGER NOT NULL)"
    "  STRICT, WITHOUT ROWID;"
    "CREATE TABLE leases (lease INTEGER PRIMARY KEY, key INTEGER NOT NULL UNIQUE,"
    "  item INTEGER NOT NULL REFERENCES items, person INTEGER NOT NULL REFERENCES people,"
    "  until INTEGER NOT NULL, role INTEGER NOT NULL, round INTEGER, model INTEGER,"
    "  live INTEGER NOT NULL) STRICT;"
    "CREATE UNIQUE INDEX leases_live ON leases (item) WHERE live = 1;"
    "CREATE INDEX leases_item ON leases (item);"
    "CREATE INDEX leases_person ON leases (person) WHERE live = 1;"
    "CREATE INDEX leases_until ON leases (until);"
    "CREATE TABLE events (event INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL,"
    "  kind TEXT NOT NULL, text TEXT NOT NULL) STRICT;";

scant_status store_schema_create(scant_project *project) {
    char text[64];
    snprintf(text, sizeof text, "PRAGMA application_id = %d; PRAGMA user_version = %d",
             STORE_APPLICATION, STORE_VERSION);
    TRY(store_script(project, text));
    TRY(store_script(project, items_sql));
    TRY(store_script(project, history_sql));
    return store_script(project, derived_sql);
}

scant_status store_schema_check(scant_project *project) {
    if (TRY_ONE(project, 0, "PRAGMA application_id") != STORE_APPLICATION)
        return scant__fail(
            project->ctx, SCANT_EINPUT,
            "%s: is not the database of a scant project, but of another program",
            project->file);
    int64_t version = TRY_ONE(project, 0, "PRAGMA user_version");
    if (version == STORE_VERSION) return SCANT_OK;
    return scant__fail(project->ctx, SCANT_EINPUT,
                       version > STORE_VERSION
                           ? "%s: was written by a later version of scant (the database "
                             "has version %lld, this program reads %d): use that version"
                           : "%s: was written by an earlier version of scant (the "
                             "database has version %lld, this program reads %d): export "
                             "its labels with that version, and import them into a "
                             "new project",
                       project->file, (long long)version, STORE_VERSION);
}
