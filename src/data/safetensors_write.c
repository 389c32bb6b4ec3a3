/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes safetensors files.
 *
 * The tensors' bytes go to the file from where they are. Before anything is written the
 * header is checked as a reader would: a file that cannot be read again is not written.
 */
#include "data/safetensors.h"

#include <stdint.h>

#include "core/json.h"
#include "core/utf8.h"
#include "data/array.h"
#include "data/file.h"

enum { LENGTH_SIZE = 8, ALIGNMENT = 8 };

static void add_meta(scant__json *out, const scant_setting *meta, size_t n_meta) {
    scant__json_open(out, "__metadata__", '{');
    for (size_t i = 0; i < n_meta; i++)
        scant__json_string(out, meta[i].key, meta[i].value);
    scant__json_close(out, '}');
}

static void add_tensor(scant__json *out, const scant__tensor *item, size_t begin,
                       size_t end) {
    scant__json_open(out, item->name, '{');
    scant__json_string(out, "dtype", scant__tensor_dtype_name(item->dtype));
    scant__json_open(out, "shape", '[');
    for (size_t i = 0; i < item->ndim; i++) scant__json_size(out, NULL, item->shape[i]);
    scant__json_close(out, ']');
    scant__json_open(out, "data_offsets", '[');
    scant__json_size(out, NULL, begin);
    scant__json_size(out, NULL, end);
    scant__json_close(out, ']');
    scant__json_close(out, '}');
}

/* pieces[1...]: the tensors' bytes. */
static void add_header(scant__json *out, const scant__tensor *items,
                       const scant__piece *pieces, size_t count,
                       const scant_setting *meta, size_t n_meta) {
    size_t at = 0;
    scant__json_open(out, NULL, '{');
    if (n_meta) add_meta(out, meta, n_meta);
    for (size_t i = 0; i < count; i++) {
        add_tensor(out, &items[i], at, at + pieces[i + 1].size);
        at += pieces[i + 1].size;
    }
    scant__json_close(out, '}');
    while (out->text.size % ALIGNMENT) scant__text_add(&out->text, " ");
}

/* JSON would replace malformed bytes, and the tensor could not be found again. */
static scant_status check_names(scant_ctx *ctx, const char *path,
                                const scant__tensor *items, size_t count,
                                const scant_setting *meta, size_t n_meta) {
    for (size_t i = 0; i < count; i++)
        if (!scant__utf8_valid(items[i].name))
            return scant__fail(ctx, SCANT_EINPUT,
                               "%s: the name of tensor %zu is not UTF-8", path, i);
    for (size_t i = 0; i < n_meta; i++)
        if (!scant__utf8_valid(meta[i].key) || !scant__utf8_valid(meta[i].value))
            return scant__fail(ctx, SCANT_EINPUT,
                               "%s: entry %zu of the metadata is not UTF-8", path, i);
    return SCANT_OK;
}

static scant_status measure(scant_ctx *ctx, const char *path, const scant__tensor *items,
                            size_t count, scant__piece *pieces, size_t *total) {
    *total = 0;
    for (size_t i = 0; i < count; i++) {
        size_t item = scant__tensor_item(items[i].dtype), elements;
        if (!item || items[i].ndim > SCANT__TENSOR_DIMS)
            return scant__fail(
                ctx, SCANT_EUSAGE,
                "%s: tensor %zu: its dtype or number of dimensions is invalid", path, i);
        if (!scant__shape_count(items[i].ndim, items[i].shape, item, &elements) ||
            !scant__add(*total, elements * item, total) || *total > PTRDIFF_MAX)
            return scant__fail(ctx, SCANT_EUSAGE,
                               "%s: tensor %zu: more bytes than can be addressed", path,
                               i);
        pieces[i + 1] = (scant__piece){items[i].bytes, elements * item};
    }
    return SCANT_OK;
}

/* *out (also pieces[0]) is a new block with the length and the header, checked like a
 * file being read. */
static scant_status make_header(scant_ctx *ctx, const char *path,
                                const scant__tensor *items, scant__piece *pieces,
                                size_t count, const scant_setting *meta, size_t n_meta,
                                size_t data_size, char **out) {
    scant__json header = {.text = {.ctx = ctx}};
    size_t size;
    char *block;
    TRY(check_names(ctx, path, items, count, meta, n_meta));
    scant__text_bytes(&header.text, (const char[LENGTH_SIZE]){0}, LENGTH_SIZE);
    add_header(&header, items, pieces, count, meta, n_meta);
    TRY(scant__text_take(&header.text, &block, &size));
    pieces[0] = (scant__piece){block, size};
    size -= LENGTH_SIZE;
    for (size_t i = 0; i < LENGTH_SIZE; i++)
        block[i] = (char)(unsigned char)((uint64_t)size >> (8 * i));
    scant_status status =
        size <= SCANT__TENSOR_HEADER
            ? scant__tensors_check(ctx, path, block + LENGTH_SIZE, size, data_size)
            : scant__fail(ctx, SCANT_EINPUT,
                          "%s: the header has %zu bytes, at most %d are allowed", path,
                          size, SCANT__TENSOR_HEADER);
    if (status == SCANT_OK)
        *out = block;
    else
        scant__free(ctx, block);
    return status;
}

static scant_status write_pieces(scant_ctx *ctx, const char *path,
                                 const scant__tensor *items, scant__piece *pieces,
                                 size_t count, const scant_setting *meta, size_t n_meta) {
    size_t data_size;
    char *header = NULL;
    TRY(measure(ctx, path, items, count, pieces, &data_size));
    TRY(make_header(ctx, path, items, pieces, count, meta, n_meta, data_size, &header));
    scant_status status = scant__file_write_pieces(ctx, path, pieces, count + 1);
    scant__free(ctx, header);
    return status;
}

scant_status scant__tensors_write(scant_ctx *ctx, const char *path,
                                  const scant__tensor *items, size_t count,
                                  const scant_setting *meta, size_t n_meta) {
    scant__piece *pieces = scant__alloc(ctx, size_add(count, 1), sizeof *pieces);
    if (!pieces) return SCANT_ENOMEM;
    scant_status status = write_pieces(ctx, path, items, pieces, count, meta, n_meta);
    scant__free(ctx, pieces);
    return status;
}
