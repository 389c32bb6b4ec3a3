/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes safetensors files.
 *
 * The same code measures the header and then writes it into one block; tensor bytes are
 * written from where they are. The header is parsed before anything is written, so a file
 * that could not be read is never written.
 */
#include "data/safetensors.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/mem.h"
#include "data/dtype.h"
#include "data/file.h"

enum { LENGTH_SIZE = 8, ALIGNMENT = 8, NUMBER = 24 };

/* A text buffer; with out NULL it only measures. */
typedef struct text {
    char *out;
    size_t size;
} text;

static void add(text *t, const char *bytes, size_t size) {
    if (t->out) memcpy(t->out + t->size, bytes, size);
    t->size += size;
}

static void add_plain(text *t, const char *string) { add(t, string, strlen(string)); }

static void add_number(text *t, size_t number) {
    char digits[NUMBER];
    add(t, digits, (size_t)snprintf(digits, sizeof digits, "%zu", number));
}

static void add_string(text *t, const char *string) {
    add(t, "\"", 1);
    for (; *string; string++) {
        unsigned char c = (unsigned char)*string;
        char escape[8];
        if (c == '"' || c == '\\')
            add(t, (const char[]){'\\', *string}, 2);
        else if (c < 0x20)
            add(t, escape, (size_t)snprintf(escape, sizeof escape, "\\u%04x", c));
        else
            add(t, string, 1);
    }
    add(t, "\"", 1);
}

static void add_meta(text *t, const scant_setting *meta, size_t n_meta) {
    add_plain(t, "\"__metadata__\":{");
    for (size_t i = 0; i < n_meta; i++) {
        if (i) add(t, ",", 1);
        add_string(t, meta[i].key);
        add(t, ":", 1);
        add_string(t, meta[i].value);
    }
    add(t, "}", 1);
}

static void add_tensor(text *t, const scant__tensor *item, size_t begin, size_t end) {
    add_string(t, item->name);
    add_plain(t, ":{\"dtype\":\"");
    add_plain(t, scant__tensor_dtype_name(item->dtype));
    add_plain(t, "\",\"shape\":[");
    for (size_t i = 0; i < item->ndim; i++) {
        if (i) add(t, ",", 1);
        add_number(t, item->shape[i]);
    }
    add_plain(t, "],\"data_offsets\":[");
    add_number(t, begin);
    add(t, ",", 1);
    add_number(t, end);
    add_plain(t, "]}");
}

/* pieces[1...] are the tensors' bytes. */
static void add_header(text *t, const scant__tensor *items, const scant__piece *pieces,
                       size_t count, const scant_setting *meta, size_t n_meta) {
    size_t at = 0;
    add(t, "{", 1);
    if (n_meta) add_meta(t, meta, n_meta);
    for (size_t i = 0; i < count; i++) {
        if (i || n_meta) add(t, ",", 1);
        add_tensor(t, &items[i], at, at + pieces[i + 1].size);
        at += pieces[i + 1].size;
    }
    add(t, "}", 1);
    while ((t->size + LENGTH_SIZE) % ALIGNMENT) add(t, " ", 1);
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
 * reader would. */
static scant_status make_header(scant_ctx *ctx, const char *path,
                                const scant__tensor *items, scant__piece *pieces,
                                size_t count, const scant_setting *meta, size_t n_meta,
                                size_t data_size, char **out) {
    text header = {.out = NULL};
    add_header(&header, items, pieces, count, meta, n_meta);
    size_t size = header.size;
    if (size > SCANT__TENSOR_HEADER)
        return scant__fail(ctx, SCANT_EINPUT,
                           "%s: the header has %zu bytes, at most %d are allowed", path,
                           size, SCANT__TENSOR_HEADER);
    char *block = scant__alloc(ctx, LENGTH_SIZE + size, 1);
    if (!block) return SCANT_ENOMEM;
    for (size_t i = 0; i < LENGTH_SIZE; i++)
        block[i] = (char)(unsigned char)((uint64_t)size >> (8 * i));
    header = (text){.out = block + LENGTH_SIZE};
    add_header(&header, items, pieces, count, meta, n_meta);
    pieces[0] = (scant__piece){block, LENGTH_SIZE + size};
    scant_status status = scant__tensors_check(ctx, path, header.out, size, data_size);
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
