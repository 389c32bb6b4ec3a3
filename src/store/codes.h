/* SPDX-License-Identifier: Apache-2.0
 *
 * The numbers that the database stores for kinds, roles and states. The schema and all
 * statements use these names: "kind = " SQL_LABEL is "kind = 1". They are macros, not
 * bound values, because SQLite uses a partial index only if the literal is in the query.
 */
#ifndef SCANT_STORE_CODES_H
#define SCANT_STORE_CODES_H

#include "scant/project.h"
#include "store/store.h"

#define SQL(code) SQL_TEXT(code)
#define SQL_TEXT(code) #code

/* labels.kind, answers.kind: scant_answer_kind */
#define DB_LABEL 1
#define SQL_LABEL SQL(DB_LABEL)
#define DB_SKIP 2
#define SQL_SKIP SQL(DB_SKIP)
#define DB_UNSURE 3
#define SQL_UNSURE SQL(DB_UNSURE)
#define DB_UNDO 4 /* labels only */
#define SQL_UNDO SQL(DB_UNDO)
_Static_assert(DB_LABEL == SCANT_ANSWER_LABEL && DB_SKIP == SCANT_ANSWER_SKIP &&
                   DB_UNSURE == SCANT_ANSWER_UNSURE && DB_UNDO == SCANT_ANSWER_UNDO,
               "the database stores scant_answer_kind");

/* labels.role, answers.role, leases.role: scant_role */
#define DB_PICK 1
#define SQL_PICK SQL(DB_PICK)
#define DB_AUDIT 2
#define SQL_AUDIT SQL(DB_AUDIT)
#define DB_OVERLAP 3
#define SQL_OVERLAP SQL(DB_OVERLAP)
#define DB_FILL 4
#define SQL_FILL SQL(DB_FILL)
#define DB_ALIKE 5
#define DB_IMPORT 6
#define SQL_IMPORT SQL(DB_IMPORT)
_Static_assert(DB_PICK == SCANT_ROLE_PICK && DB_AUDIT == SCANT_ROLE_AUDIT &&
                   DB_OVERLAP == SCANT_ROLE_OVERLAP && DB_FILL == SCANT_ROLE_FILL &&
                   DB_ALIKE == SCANT_ROLE_ALIKE && DB_IMPORT == SCANT_ROLE_IMPORT,
               "the database stores scant_role");
/* Roles that count towards audit_every: all but second opinions and imports. */
#define DB_ROLE_IS_ASKED "role NOT IN (" SQL_OVERLAP ", " SQL_IMPORT ")"

/* sources.kind: store_kind */
#define DB_FILES 1
#define SQL_FILES SQL(DB_FILES)
#define DB_ARRAY 2
#define DB_FEATURES 3
#define SQL_FEATURES SQL(DB_FEATURES)
_Static_assert(DB_FILES == (int)STORE_FILES && DB_ARRAY == (int)STORE_ARRAY &&
                   DB_FEATURES == (int)STORE_FEATURES,
               "the database stores store_kind");

/* items.withheld */
#define DB_NOT_WITHHELD 0
#define SQL_NOT_WITHHELD SQL(DB_NOT_WITHHELD)
#define DB_WITHHELD 1 /* in the audit set: neither picked nor trained on */
#define SQL_WITHHELD SQL(DB_WITHHELD)
#define DB_AUDIT_GROUP 2 /* shares a group with it: also not picked or trained on */
#define SQL_AUDIT_GROUP SQL(DB_AUDIT_GROUP)

/* queue.kind: why an item is in the queue. Copies, unanswered items with DB_AUDIT_GROUP
 * and items with enough answers are not in it. */
#define DB_FRESH 0 /* without answers; ordered by store_fill_key() */
#define SQL_FRESH SQL(DB_FRESH)
#define DB_SKIPPED 1 /* only skips; ordered by store_fill_key() */
#define SQL_SKIPPED SQL(DB_SKIPPED)
#define DB_AUDIT_FRESH 2 /* in the audit set, without answers; in the audit order */
#define SQL_AUDIT_FRESH SQL(DB_AUDIT_FRESH)
#define DB_AUDIT_SKIPPED 3 /* in the audit set, only skips; in the audit order */
#define SQL_AUDIT_SKIPPED SQL(DB_AUDIT_SKIPPED)
#define DB_OPINION 4 /* fewer answers than `overlap`; ordered by last entry */
#define SQL_OPINION SQL(DB_OPINION)
_Static_assert(DB_SKIPPED == DB_FRESH + 1 && DB_AUDIT_SKIPPED == DB_AUDIT_FRESH + 1,
               "store_queue_place() adds one for a skipped item");
#define DB_MAY_PICK "kind IN (" SQL_FRESH ", " SQL_SKIPPED ")"
#define DB_AUDIT_OPEN "kind IN (" SQL_AUDIT_FRESH ", " SQL_AUDIT_SKIPPED ")"

/* Condition: models are trained on the item. */
#define DB_IN_TRAINING "label >= 0 AND withheld = " SQL_NOT_WITHHELD
/* The last entry that the last model was trained on. */
#define DB_LAST_TRAINED                                                                  \
    "coalesce((SELECT entry FROM models ORDER BY model DESC LIMIT 1), 0)"

#endif
