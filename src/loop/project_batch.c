/* SPDX-License-Identifier: Apache-2.0
 *
 * Adds items of the audit set to a batch that is not handed out by scant_project_next(),
 * which mixes them in itself. Without them a loop in a shell could not measure accuracy.
 *
 * After the batch is labelled, one label in audit_every belongs to the audit set. If the
 * audit set has too few labels (for example after an import), the batch has more of its
 * items, but at most half.
 */
#include "core/ctx.h"
#include "scant/project.h"
#include "store/store.h"

/* The number of items of the audit set in a batch. `seen` counts answered and skipped
 * items: asking again about an unclear item does not help. */
static size_t share(size_t labelled, size_t seen, double every, size_t batch) {
    if (!(every >= 1)) return 0;
    double due = ((double)labelled + (double)batch) / every - (double)seen;
    size_t most = batch - batch / 2;
    if (due < 1) return 0;
    return due < (double)most ? (size_t)due : most;
}

scant_status scant_project_audit(scant_project *project, size_t batch, size_t *items,
                                 size_t *n) {
    NEED(project);
    AUTO(scant__arena_end) scant__arena arena = {.ctx = store_ctx(project)};
    scant_project_info info;
    size_t *order, count, seen;
    double every = store_number(project, "audit_every");
    *n = 0;
    TRY(scant_project_info_get(project, &info));
    TRY(store_audit_open(project, &arena, &order, &count, &seen));
    *n = size_min(share(info.labelled, seen, every, batch), count);
    for (size_t i = 0; i < *n; i++) items[i] = order[i];
    return SCANT_OK;
}
