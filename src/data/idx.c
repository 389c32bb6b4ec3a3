/* SPDX-License-Identifier: Apache-2.0
 *
 * IDX files as arrays.
 */
#include "data/idx.h"

#include <string.h>

#include "core/mem.h"
#include "data/filetype.h"
#include "data/source.h"
#include "data/unpack.h"

enum { MAX_DIMS = 4, MAX_HEADER = 4 + 4 * MAX_DIMS };

static const struct {
    unsigned char code;
    scant_dtype dtype;
} types[] = {{0x08, SCANT_U8},  {0x09, SCANT_I8},  {0x0b, SCANT_I16},
             {0x0c, SCANT_I32}, {0x0d, SCANT_F32}, {0x0e, SCANT_F64}};

static scant_dtype find_type(unsigned char code) {
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].code == code) return types[i].dtype;
    return 0;
}

bool scant__idx_magic(const unsigned char *bytes, size_t size) {
    return size >= 4 && !bytes[0] && !bytes[1] && find_type(bytes[2]) && bytes[3] >= 1 &&
           bytes[3] <= MAX_DIMS;
}

/* Sets type, shape and count from a complete header. */
static scant_status read_header(scant_ctx *ctx, const unsigned char *header,
                                scant_array *array) {
    array->dtype = find_type(header[2]);
    array->item = scant__dtype_size(array->dtype);
    array->swapped = array->item > 1 && scant__little_endian();
    array->ndim = header[3];
    for (size_t i = 0; i < array->ndim; i++) {
        const unsigned char *p = header + 4 + 4 * i;
        array->shape[i] =
            (size_t)p[0] << 24 | (size_t)p[1] << 16 | (size_t)p[2] << 8 | p[3];
    }
    if (!scant__shape_count(array->ndim, array->shape, array->item, &array->count))
        return scant__fail(ctx, SCANT_EINPUT,
                           "%s: its header asks for more than can be addressed",
                           array->name);
    return SCANT_OK;
}

static scant_status cut_short(scant_ctx *ctx, const char *name) {
    return scant__fail(ctx, SCANT_EINPUT, "%s: its header is cut short", name);
}

static scant_status not_idx(scant_ctx *ctx, const char *name, const unsigned char *bytes,
                            size_t size) {
    if (!size) return scant__fail(ctx, SCANT_EINPUT, "%s: is empty, not IDX", name);
    return scant__fail(ctx, SCANT_EINPUT, "%s: is not an IDX file; it looks like %s",
                       name, scant__filetype_name(bytes, size));
}

/* Bytes after the header; read_header() ruled out overflow. */
static size_t body_size(const scant_array *array) { return array->count * array->item; }

static scant_status wrong_size(scant_ctx *ctx, const scant_array *array, size_t found,
                               const char *more) {
    return scant__fail(ctx, SCANT_EINPUT,
                       "%s: %zu bytes of elements expected by its header, %zu%s found",
                       array->name, body_size(array), found, more);
}

static scant_status open_plain(scant_ctx *ctx, scant__source *source,
                               scant_array *array) {
    const unsigned char *bytes = source->bytes;
    if (!scant__idx_magic(bytes, source->size))
        return not_idx(ctx, array->name, bytes, source->size);
    size_t header = 4 + 4 * (size_t)bytes[3];
    if (source->size < header) return cut_short(ctx, array->name);
    TRY(read_header(ctx, bytes, array));
    if (source->size - header != body_size(array))
        return wrong_size(ctx, array, source->size - header, "");
    array->data = bytes + header;
    array->source = *source;
    *source = (scant__source){0}; /* taken over */
    return SCANT_OK;
}

static scant_status unpack_into(scant_ctx *ctx, scant__unpack *u, scant_array *array) {
    unsigned char header[MAX_HEADER], beyond;
    size_t got, size;
    TRY(scant__unpack_read(u, header, 4, &got));
    if (!scant__idx_magic(header, got)) return not_idx(ctx, array->name, header, got);
    size = 4 * (size_t)header[3];
    TRY(scant__unpack_read(u, header + 4, size, &got));
    if (got < size) return cut_short(ctx, array->name);
    TRY(read_header(ctx, header, array));
    size = body_size(array);
    array->source.owned = scant__alloc(ctx, size, 1);
    if (!array->source.owned)
        return scant__fail(ctx, SCANT_ENOMEM,
                           "%s: unpacking needs %zu bytes of memory (%zu of %zu in use); "
                           "an uncompressed file needs none",
                           array->name, scant__alloc_cost(size), ctx->used, ctx->cap);
    array->data = array->source.owned;
    TRY(scant__unpack_read(u, array->source.owned, size, &got));
    if (got < size) return wrong_size(ctx, array, got, "");
    TRY(scant__unpack_read(u, &beyond, 1, &got));
    return got ? wrong_size(ctx, array, size, " and more") : SCANT_OK;
}

static scant_status open_packed(scant_ctx *ctx, const scant__source *source,
                                scant_array *array) {
    scant__unpack *u;
    TRY(scant__unpack_open(ctx, array->name, source->bytes, source->size, &u));
    scant_status status = unpack_into(ctx, u, array);
    scant__unpack_close(u);
    return status;
}

scant_status scant__idx_open(scant_ctx *ctx, const char *path, scant_array **out) {
    scant__source source;
    *out = NULL;
    TRY(scant__source_open(ctx, path, &source));
    scant_array *array = scant__array_create(ctx, path);
    scant_status status = SCANT_ENOMEM;
    if (array)
        status = scant__is_packed(source.bytes, source.size)
                     ? open_packed(ctx, &source, array)
                     : open_plain(ctx, &source, array);
    scant__source_close(ctx, &source);
    if (status == SCANT_OK)
        *out = array;
    else
        scant_array_free(array);
    return status;
}
