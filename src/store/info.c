/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts of a project. The page asks for them with every item, so they are read from
 * counters; only the picks of the last round are counted here.
 */
#include "scant/project.h"
#include "store/store_int.h"

static scant_status count(scant_project *project, const char *sql,
                          const store_value *values, size_t n, size_t *out) {
    int64_t number;
    TRY(store_one(project, sql, values, n, 0, &number));
    *out = number > 0 ? (size_t)number : 0;
    return SCANT_OK;
}

static scant_status counter(scant_project *project, const char *name, size_t *out) {
    return count(project, "SELECT n FROM tally WHERE name = ?1",
                 STORE_VALUES(store_text(name)), out);
}

static scant_status count_states(scant_project *project, scant_project_info *out) {
    TRY(counter(project, "copies", &out->copies));
    TRY(counter(project, "labelled", &out->labelled));
    TRY(counter(project, "training", &out->training));
    TRY(counter(project, "disputed", &out->disputed));
    TRY(counter(project, "skipped", &out->skipped));
    TRY(counter(project, "unsure", &out->unsure));
    TRY(counter(project, "withheld", &out->withheld));
    TRY(counter(project, "audited", &out->audited));
    size_t learned;
    TRY(count(project,
              "SELECT count(*) FROM (SELECT 1 FROM classes WHERE learned > 0 LIMIT 2)",
              STORE_NONE, &learned));
    out->learnable = learned > 1;
    return counter(project, "untrained", &out->untrained);
}

static scant_status count_rounds(scant_project *project, scant_project_info *out) {
    TRY(count(project, "SELECT max(round) FROM rounds", STORE_NONE, &out->rounds));
    TRY(count(project, "SELECT max(model) FROM models", STORE_NONE, &out->models));
    TRY(count(project, "SELECT model FROM rounds WHERE round = ?1",
              STORE_VALUES(store_size(out->rounds)), &out->round_model));
    TRY(count(project,
              "SELECT count(*) FROM rounds CROSS JOIN picks USING (round)"
              " WHERE round = ?1 AND place < batch",
              STORE_VALUES(store_size(out->rounds)), &out->picked));
    return count(project,
                 "SELECT count(*) FROM rounds CROSS JOIN picks USING (round)"
                 " WHERE round = ?1 AND place < batch AND NOT EXISTS"
                 " (SELECT 1 FROM answers WHERE answers.item = picks.item)",
                 STORE_VALUES(store_size(out->rounds)), &out->waiting);
}

static scant_status read_info(scant_project *project, void *arg) {
    scant_project_info *out = arg;
    *out = (scant_project_info){.dir = project->dir,
                                .kind = project->kind,
                                .key = project->key,
                                .created = project->created};
    TRY(store_items(project, &out->items));
    TRY(store_classes(project, &out->classes));
    TRY(count(project, "SELECT count(*) FROM people", STORE_NONE, &out->people));
    TRY(count(project, "SELECT max(entry) FROM labels", STORE_NONE, &out->entries));
    TRY(count_states(project, out));
    return count_rounds(project, out);
}

scant_status scant_project_info_get(scant_project *project, scant_project_info *out) {
    return store_read(project, read_info, out);
}
