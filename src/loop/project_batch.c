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
#include "store/store.h"

/* How many of a batch. */
static size_t share(const scant_project_info *info, double every, size_t batch) {
    if (!(every >= 1)) return 0;
    double due = ((double)info->labelled + (double)batch) / every - (double)info->audited;
    size_t most = batch - batch / 2;
    if (due < 1) return 0;
    return due < (double)most ? (size_t)due : most;
}

scant_status scant_project_audit(scant_project *project, size_t batch, size_t *items,
                                 size_t *n) {
    scant_project_info info;
    scant__arena arena;
    size_t *order, count, want;
    int32_t *labels;
    *n = 0;
    TRY(scant_project_info_get(project, &info));
    want = share(&info, store_number(project, "audit_every"), batch);
    if (!want) return SCANT_OK;
    scant__arena_init(&arena, store_ctx(project));
    scant_status status = store_audit(project, &arena, &order, &labels, &count);
    for (size_t i = 0; status == SCANT_OK && i < count && *n < want; i++)
        if (labels[i] < 0) items[(*n)++] = order[i];
    scant__arena_end(&arena);
    return status;
}
