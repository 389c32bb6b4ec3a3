/* SPDX-License-Identifier: Apache-2.0
 *
 * The schema, as the steps that led to it. docs/store.md says what it means.
 *
 * A database's user_version is how many steps it has behind it. A step that was published
 * is never changed: what is to be otherwise is a step of its own, at the end.
 */
#include <stdio.h>

#include "scant/project.h"
#include "store/store_int.h"

/* Items and what is about them. */
static const char step_1_items[] =
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)"
    "  STRICT, WITHOUT ROWID;"
    "CREATE TABLE settings (key TEXT PRIMARY KEY, value TEXT NOT NULL)"
    "  STRICT, WITHOUT ROWID;"
    "CREATE TABLE classes (class INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;"
    "CREATE TABLE people (person INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;"
    "CREATE TABLE sources (source INTEGER PRIMARY KEY,"
    "  kind INTEGER NOT NULL CHECK (kind BETWEEN 1 AND 3),"
    "  path TEXT NOT NULL, manifest TEXT,"
    "  first INTEGER NOT NULL, count INTEGER NOT NULL) STRICT;"
    "CREATE TABLE items (item INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,"
    "  source INTEGER NOT NULL REFERENCES sources, row INTEGER, path TEXT, text TEXT,"
    "  grp TEXT, copy_of INTEGER REFERENCES items, print INTEGER NOT NULL,"
    "  audit INTEGER NOT NULL, withheld INTEGER NOT NULL"
    "  CHECK (withheld BETWEEN 0 AND 2)) STRICT;"
    "CREATE INDEX items_print ON items (print);"
    "CREATE INDEX items_path ON items (path) WHERE path IS NOT NULL;"
    "CREATE INDEX items_grp ON items (grp) WHERE grp IS NOT NULL;"
    "CREATE INDEX items_withheld ON items (audit) WHERE withheld = 1;"
    "CREATE INDEX items_beside ON items (item) WHERE withheld = 2;"
    "CREATE INDEX items_copies ON items (copy_of) WHERE copy_of IS NOT NULL;";

/* Models, rounds and the history. */
static const char step_1_history[] =
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
    "  kind INTEGER NOT NULL CHECK (kind BETWEEN 1 AND 4),"
    "  class INTEGER REFERENCES classes, at INTEGER NOT NULL, spent INTEGER,"
    "  role INTEGER NOT NULL CHECK (role BETWEEN 1 AND 6),"
    "  round INTEGER REFERENCES rounds, model INTEGER REFERENCES models,"
    "  undoes INTEGER UNIQUE REFERENCES labels, once TEXT,"
    "  CHECK ((kind = 1) = (class IS NOT NULL)),"
    "  CHECK ((kind = 4) = (undoes IS NOT NULL))) STRICT;"
    "CREATE UNIQUE INDEX labels_once ON labels (person, once) WHERE once IS NOT NULL;"
    "CREATE INDEX labels_person ON labels (person);"
    "CREATE TRIGGER labels_stay BEFORE UPDATE ON labels"
    "  BEGIN SELECT RAISE(ABORT, 'the history only grows'); END;"
    "CREATE TRIGGER labels_keep BEFORE DELETE ON labels"
    "  BEGIN SELECT RAISE(ABORT, 'the history only grows'); END;";

/* What follows from the history, and what passes. */
static const char step_1_derived[] =
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
    "  kind INTEGER NOT NULL, asked INTEGER NOT NULL, key INTEGER NOT NULL) STRICT;"
    "CREATE INDEX queue_order ON queue (kind, asked, key);"
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

/* Counts that would otherwise be counted anew whenever somebody asks: labels that models
 * learn from, of each class; those since the last model; those that count for the audit;
 * answers that stand, of each person. */
static const char step_2_counts[] =
    "ALTER TABLE classes ADD COLUMN learned INTEGER NOT NULL DEFAULT 0;"
    "CREATE INDEX classes_learned ON classes (class) WHERE learned > 0;"
    "UPDATE classes SET learned = n FROM"
    "  (SELECT label, count(*) AS n FROM states JOIN items USING (item)"
    "   WHERE label >= 0 AND withheld = 0 GROUP BY label) WHERE class = label;"
    "INSERT OR REPLACE INTO tally (name, n)"
    "  SELECT 'untrained', count(*) FROM states JOIN items USING (item)"
    "  WHERE label >= 0 AND withheld = 0 AND since > coalesce"
    "   ((SELECT entry FROM models ORDER BY model DESC LIMIT 1), 0);"
    "INSERT OR REPLACE INTO tally (name, n) VALUES ('front',"
    "  coalesce((SELECT min(key) FROM queue WHERE kind = 2), 9223372036854775807));"
    "INSERT OR REPLACE INTO tally (name, n)"
    "  SELECT 'audited', count(*) FROM items JOIN states USING (item)"
    "  WHERE withheld = 1 AND label >= 0"
    "  AND audit < (SELECT n FROM tally WHERE name = 'front');"
    "ALTER TABLE people ADD COLUMN answers INTEGER NOT NULL DEFAULT 0;"
    "UPDATE people SET answers ="
    "  (SELECT count(*) FROM answers a WHERE a.person = people.person);";

/* Second opinions in the order of their last answers, whoever was asked first; each
 * person's place in it. */
static const char step_2_opinions[] =
    "ALTER TABLE people ADD COLUMN opinions INTEGER NOT NULL DEFAULT 0;"
    "DROP INDEX queue_order;"
    "ALTER TABLE queue DROP COLUMN asked;"
    "CREATE INDEX queue_order ON queue (kind, key);";

/* What people have taken back, for files that still say it. */
static const char step_2_undone[] =
    "CREATE INDEX labels_undone ON labels (item, person) WHERE kind = 4;";

/* Names have no blanks around them any more: those that had lose them, unless another has
 * the name that is left. The characters are people.c's is_blank(). */
#define BARE                                                                             \
    "trim(name, char(9, 10, 11, 12, 13, 32, 133, 160, 173, 847, 4447, 4448, 5760, 6158," \
    " 8192, 8193, 8194, 8195, 8196, 8197, 8198, 8199, 8200, 8201, 8202, 8203, 8204,"     \
    " 8205, 8232, 8233, 8239, 8287, 8288, 8289, 8290, 8291, 8292, 10240, 12288, 12644,"  \
    " 65279, 65440))"
#define BARE_NAMES(table)                                                                \
    "UPDATE OR IGNORE " table " SET name = " BARE "  WHERE name <> " BARE " AND " BARE   \
    " <> '';"
static const char step_2_names[] = BARE_NAMES("classes") BARE_NAMES("people");

const store_step store_steps[] = {
    {{step_1_items, step_1_history, step_1_derived}},
    {{step_2_counts, step_2_opinions, step_2_undone, step_2_names}}};
const size_t store_version = sizeof store_steps / sizeof *store_steps;

typedef struct migration {
    const store_step *steps;
    size_t n;
} migration;

static scant_status refuse_later(scant_project *project, int64_t version, size_t n) {
    return scant__fail(project->ctx, SCANT_EINPUT,
                       "%s: was written by a later version of scant (the database has "
                       "version %lld, this program knows %zu): use that one",
                       project->file, (long long)version, n);
}

static scant_status take_steps(scant_project *project, void *arg) {
    const migration *m = arg;
    int64_t version;
    char text[64];
    TRY(store_one(project, "PRAGMA user_version", STORE_NONE, 0, &version));
    if (version < 0 || (uint64_t)version > m->n)
        return refuse_later(project, version, m->n);
    for (size_t i = (size_t)version; i < m->n; i++)
        for (size_t j = 0; j < STORE_SCRIPTS && m->steps[i].sql[j]; j++)
            TRY(store_script(project, m->steps[i].sql[j]));
    snprintf(text, sizeof text, "PRAGMA user_version = %zu", m->n);
    return store_script(project, text);
}

scant_status store_migrate(scant_project *project, const store_step *steps, size_t n) {
    int64_t version;
    TRY(store_one(project, "PRAGMA user_version", STORE_NONE, 0, &version));
    if (version >= 0 && (uint64_t)version == n) return SCANT_OK;
    if (version < 0 || (uint64_t)version > n) return refuse_later(project, version, n);
    return store_write(project, take_steps, &(migration){steps, n});
}
