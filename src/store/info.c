/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts of a project. The web page requests them with every item, so most are stored
 * counters; only people, and picks of the last round, are counted here.
 */
#include "scant/project.h"
#include "store/store_int.h"

static size_t at_least_0(int64_t number) { return number > 0 ? (size_t)number : 0; }

static scant_status read_counters(scant_project *project, scant_project_info *out) {
    const struct {
        const char *name;
        size_t *to;
    } counters[] = {{"copies", &out->copies},      {"labelled", &out->labelled},
                    {"training", &out->training},  {"disputed", &out->disputed},
                    {"skipped", &out->skipped},    {"unsure", &out->unsure},
                    {"withheld", &out->withheld},  {"audited", &out->audited},
                    {"untrained", &out->untrained}};
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
        *counters[i].to =
            at_least_0(TRY_ONE(project, 0, "SELECT n FROM tally WHERE name = ?1",
                               store_text(counters[i].name)));
    return SCANT_OK;
}

/* ?1: the last round. */
#define PICKED                                                                           \
    "SELECT count(*) FROM rounds CROSS JOIN picks USING (round)"                         \
    " WHERE round = ?1 AND place < batch"

static scant_status count_rounds(scant_project *project, scant_project_info *out) {
    out->rounds = at_least_0(TRY_ONE(project, 0, "SELECT max(round) FROM rounds"));
    out->models = at_least_0(TRY_ONE(project, 0, "SELECT max(model) FROM models"));
    store_value last = store_size(out->rounds);
    out->round_model = at_least_0(
        TRY_ONE(project, 0, "SELECT model FROM rounds WHERE round = ?1", last));
    out->picked = at_least_0(TRY_ONE(project, 0, PICKED, last));
    out->waiting = at_least_0(
        TRY_ONE(project, 0,
                PICKED " AND NOT EXISTS"
                       " (SELECT 1 FROM answers WHERE answers.item = picks.item)",
                last));
    return SCANT_OK;
}

scant_status scant_project_info_get(scant_project *project, scant_project_info *out) {
    NEED(project);
    AUTO(store_tx_end) store_tx tx = TRY_BEGIN(project, STORE_READ);
    *out = (scant_project_info){.dir = project->dir,
                                .kind = project->kind,
                                .key = project->key,
                                .created = project->created};
    TRY(store_items(project, &out->items));
    TRY(store_classes(project, &out->classes));
    out->people = at_least_0(TRY_ONE(project, 0, "SELECT count(*) FROM people"));
    out->entries = at_least_0(TRY_ONE(project, 0, "SELECT max(entry) FROM labels"));
    out->learnable = TRY_ONE(project, 0,
                             "SELECT count(*) FROM"
                             " (SELECT 1 FROM classes WHERE learned > 0 LIMIT 2)") > 1;
    TRY(read_counters(project, out));
    TRY(count_rounds(project, out));
    return store_commit(&tx);
}
