/* SPDX-License-Identifier: Apache-2.0
 *
 * Audited items for a batch that is handed out otherwise than by scant_project_next(),
 * which mixes them in by itself: without them a loop in a shell would never learn how
 * good its models are.
 *
 * As many as bring the audited part of all labels to one in audit_every, were all of the
 * batch labelled. A share that is behind (labels were imported, say) is caught up with,
 * but never by more than half of a batch: people wait for the model, too.
 */
#include "core/ctx.h"
#include "scant/project.h"
#include "store/store.h"

/* How many of a batch. An item that was asked about is done with, whatever was said: of
 * what cannot be told more is not learned by asking again. */
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
