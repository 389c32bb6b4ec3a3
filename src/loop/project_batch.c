/* SPDX-License-Identifier: Apache-2.0
 *
 * Items of the audit set for a batch that is not handed out by scant_project_next(),
 * which mixes them in by itself: without them a loop in a shell would have no accuracy.
 *
 * After the batch is labelled, one label in audit_every is of the audit set. If there are
 * too few so far (after an import, say), a batch makes up for it, with at most half of
 * its items.
 */
#include "core/ctx.h"
#include "scant/project.h"
#include "store/store.h"

/* How many of a batch. Answered and skipped items both count as seen: asking again about
 * an unclear item does not help. */
static size_t share(size_t labelled, size_t seen, double every, size_t batch) {
    if (!(every >= 1)) return 0;
    double due = ((double)labelled + (double)batch) / every - (double)seen;
    size_t most = batch - batch / 2;
    if (due < 1) return 0;
    return due < (double)most ? (size_t)due : most;
}

scant_status scant_project_audit(scant_project *project, size_t batch, size_t *items,
                                 size_t *n) {
    scant_project_info info;
    scant__arena arena;
    size_t *order, count, seen;
    double every = store_number(project, "audit_every");
    *n = 0;
    TRY(scant_project_info_get(project, &info));
    scant__arena_init(&arena, store_ctx(project));
    scant_status status = store_audit_open(project, &arena, &order, &count, &seen);
    if (status == SCANT_OK) {
        *n = size_min(share(info.labelled, seen, every, batch), count);
        for (size_t i = 0; i < *n; i++) items[i] = order[i];
    }
    scant__arena_end(&arena);
    return status;
}
