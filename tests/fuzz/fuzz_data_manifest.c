/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a manifest: rows come in order, each has an id, path, text or row, and no
 * path leads out of the folder.
 */
#include "fuzz_data_memfile.h"

#include <string.h>

#include "data/manifest.h"

static scant_status on_row(void *user, const scant__manifest_row *row) {
    size_t *line = user;
    const char *const all[] = {row->id, row->path, row->text, row->label, row->group};
    if (row->line < *line) abort();
    *line = row->line;
    if (!row->id && !row->path && !row->text && !row->has_row) abort();
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i] && !strlen(all[i])) abort();
    if (row->path && strcmp(row->path, "..") == 0) abort();
    return SCANT_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    scant_ctx *ctx = fuzz_ctx();
    memfile f = memfile_open(data, size);
    size_t line = 1;
    scant_status status = scant__manifest_read(ctx, f.path, on_row, &line);
    if (status != SCANT_OK) check_failure(ctx, status, NULL);
    if (ctx->used) abort();
    close(f.fd);
    scant_ctx_free(ctx);
    return 0;
}
