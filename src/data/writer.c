/* SPDX-License-Identifier: Apache-2.0
 *
 * .npy files written in pieces.
 *
 * The header with the shape is written first; the file appears only after as many bytes
 * were written as the shape needs. Nothing is buffered, so pieces should be large. After
 * a failed piece all later calls fail and the file never appears.
 */
#include <string.h>

#include "data/file.h"
#include "data/npy.h"

struct scant_writer {
    scant__outfile file;
    size_t header;            /* bytes before the elements */
    size_t promised, written; /* bytes of elements expected, and written so far */
    scant_status failed;
    char path[];
};

scant_status scant_writer_open(scant_ctx *ctx, const char *path, scant_dtype dtype,
                               size_t ndim, const size_t *shape, scant_writer **out) {
    *out = NULL;
    NEED(ctx);
    scant_array array = {.name = (char *)(uintptr_t)path};
    unsigned char header[SCANT__NPY_HEADER];
    size_t length = strlen(path) + 1;
    TRY(scant__array_set_shape(ctx, &array, dtype, ndim, shape));
    AUTO(scant_writer_auto) scant_writer *w = scant__alloc(ctx, 1, sizeof *w + length);
    if (!w) return SCANT_ENOMEM;
    w->file.ctx = ctx;
    w->file.fd = -1;
    w->header = scant__npy_format(&array, header);
    w->promised = array.count * array.item;
    w->written = 0;
    w->failed = SCANT_OK;
    memcpy(w->path, path, length);
    TRY(scant__outfile_open(ctx, w->path, &w->file));
    TRY(scant__outfile_write(&w->file, header, w->header));
    *out = TAKE(w);
    return SCANT_OK;
}

void scant__writer_temporary(scant_writer *w) { w->file.unsynced = true; }

/* Writes a piece at offset `at` of the elements, or after the last piece if `at` is
 * SIZE_MAX. */
static scant_status write_piece(scant_writer *w, size_t at, const void *data,
                                size_t bytes) {
    if (w->failed != SCANT_OK) return w->failed;
    w->failed = scant__outfile_write_at(&w->file, at == SIZE_MAX ? at : w->header + at,
                                        data, bytes);
    if (w->failed == SCANT_OK) w->written += bytes;
    return w->failed;
}

scant_status scant_writer_append(scant_writer *w, const void *data, size_t bytes) {
    NEED(w);
    if (bytes > w->promised - w->written)
        w->failed = scant__fail(
            w->file.ctx, SCANT_EUSAGE,
            "%s: the shape has %zu bytes of elements; %zu more after %zu are too many",
            w->path, w->promised, bytes, w->written);
    return write_piece(w, SIZE_MAX, data, bytes);
}

scant_status scant_writer_put(scant_writer *w, size_t at, const void *data,
                              size_t bytes) {
    NEED(w);
    if (at > w->promised || bytes > w->promised - at || bytes > w->promised - w->written)
        w->failed =
            scant__fail(w->file.ctx, SCANT_EUSAGE,
                        "%s: cannot write %zu bytes at %zu: %zu of %zu are written",
                        w->path, bytes, at, w->written, w->promised);
    return write_piece(w, at, data, bytes);
}

scant_status scant_writer_finish(scant_writer *writer) {
    NEED(writer);
    AUTO(scant_writer_auto) scant_writer *w = writer;
    TRY(w->failed);
    if (w->written < w->promised)
        return scant__fail(w->file.ctx, SCANT_EUSAGE,
                           "%s: only %zu of %zu bytes of elements were written", w->path,
                           w->written, w->promised);
    return scant__outfile_commit(&w->file);
}

void scant_writer_free(scant_writer *w) {
    if (!w) return;
    scant__outfile_abandon(&w->file);
    scant__free(w->file.ctx, w);
}
