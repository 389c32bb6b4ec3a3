/* SPDX-License-Identifier: Apache-2.0
 *
 * .npy files written in pieces.
 *
 * The header fixes the shape in advance; exactly that many bytes must be written before
 * the file appears. Nothing is buffered, so pieces should be large. After a failed piece
 * all later calls fail and the file never appears.
 */
#include <string.h>

#include "core/mem.h"
#include "data/file.h"
#include "data/npy.h"

struct scant_writer {
    scant__outfile file;
    size_t header;            /* bytes before the elements */
    size_t promised, written; /* bytes of elements */
    scant_status failed;
    char path[];
};

static scant_status open_file(scant_ctx *ctx, scant_writer *w, const scant_array *array) {
    unsigned char header[SCANT__NPY_HEADER];
    size_t length = scant__npy_format(array, header);
    w->header = length;
    TRY(scant__outfile_open(ctx, w->path, &w->file));
    scant_status status = scant__outfile_write(&w->file, header, length);
    if (status != SCANT_OK) scant__outfile_abandon(&w->file);
    return status;
}

scant_status scant_writer_open(scant_ctx *ctx, const char *path, scant_dtype dtype,
                               size_t ndim, const size_t *shape, scant_writer **out) {
    scant_array array = {.name = (char *)(uintptr_t)path};
    size_t length = strlen(path) + 1;
    *out = NULL;
    TRY(scant__array_set_shape(ctx, &array, dtype, ndim, shape));
    scant_writer *w = scant__alloc(ctx, 1, sizeof *w + length);
    if (!w) return SCANT_ENOMEM;
    memcpy(w->path, path, length);
    w->promised = array.count * array.item;
    w->written = 0;
    w->failed = SCANT_OK;
    scant_status status = open_file(ctx, w, &array);
    if (status == SCANT_OK)
        *out = w;
    else
        scant__free(ctx, w);
    return status;
}

void scant__writer_temporary(scant_writer *w) { w->file.passing = true; }

scant_status scant_writer_append(scant_writer *w, const void *data, size_t bytes) {
    if (bytes > w->promised - w->written)
        w->failed = scant__fail(w->file.ctx, SCANT_EUSAGE,
                                "%s: has room for %zu bytes of elements, not for %zu "
                                "after %zu",
                                w->path, w->promised, bytes, w->written);
    if (w->failed != SCANT_OK) return w->failed;
    w->failed = scant__outfile_write(&w->file, data, bytes);
    if (w->failed == SCANT_OK) w->written += bytes;
    return w->failed;
}

scant_status scant_writer_put(scant_writer *w, size_t at, const void *data,
                              size_t bytes) {
    if (at > w->promised || bytes > w->promised - at || bytes > w->promised - w->written)
        w->failed = scant__fail(w->file.ctx, SCANT_EUSAGE,
                                "%s: has room for %zu bytes of elements, not for %zu "
                                "from %zu on after %zu",
                                w->path, w->promised, bytes, at, w->written);
    if (w->failed != SCANT_OK) return w->failed;
    w->failed = scant__outfile_write_at(&w->file, w->header + at, data, bytes);
    if (w->failed == SCANT_OK) w->written += bytes;
    return w->failed;
}

scant_status scant_writer_finish(scant_writer *w) {
    scant_ctx *ctx = w->file.ctx;
    scant_status status = w->failed;
    if (status == SCANT_OK && w->written < w->promised)
        status = scant__fail(ctx, SCANT_EUSAGE,
                             "%s: only %zu of %zu bytes of elements were written",
                             w->path, w->written, w->promised);
    if (status == SCANT_OK)
        status = scant__outfile_commit(&w->file);
    else
        scant__outfile_abandon(&w->file);
    scant__free(ctx, w);
    return status;
}

void scant_writer_free(scant_writer *w) {
    if (!w) return;
    scant__outfile_abandon(&w->file);
    scant__free(w->file.ctx, w);
}
