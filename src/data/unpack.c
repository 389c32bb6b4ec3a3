/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads gzip (with zlib) and xz (with liblzma) through one interface.
 *
 * A file's end states its unpacked size (gzip's last four bytes, xz's index). This is
 * only a hint: if it is right, memory is allocated once and nothing is copied. A hint of
 * PLAUSIBLE times the packed size or more is ignored; memory then starts at the packed
 * size. Memory that is full grows by half.
 */
#define ZLIB_CONST /* next_in is const */
#include "data/unpack.h"

#include <lzma.h>
#include <string.h>
#include <zlib.h>

#include "core/mem.h"

enum {
    STEP = 1 << 22, /* bytes between checks for cancellation; below zlib's 32 bits */
    PLAUSIBLE = 64,
    SMALLEST = 1 << 16
};

struct scant__unpack {
    scant_ctx *ctx;
    const char *name;
    const unsigned char *bytes;
    size_t size, at; /* number of packed bytes; how many were consumed */
    bool xz, done;
    z_stream z;
    lzma_allocator allocator;
    lzma_stream lzma;
};

static bool is_gzip(const unsigned char *bytes, size_t size) {
    return size >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

static bool is_xz(const unsigned char *bytes, size_t size) {
    return size >= 6 && memcmp(bytes, "\xfd\x37zXZ\0", 6) == 0;
}

bool scant__is_packed(const unsigned char *bytes, size_t size) {
    return is_gzip(bytes, size) || is_xz(bytes, size);
}

static void *zlib_alloc(void *ctx, uInt items, uInt size) {
    return scant__alloc(ctx, items, size);
}

static void *lzma_alloc(void *ctx, size_t items, size_t size) {
    return scant__alloc(ctx, items, size);
}

static void release(void *ctx, void *block) { scant__free(ctx, block); }

static scant_status damaged(const scant__unpack *u, const char *what) {
    return scant__refuse(u->ctx, u->name, "the %s file %s", u->xz ? "xz" : "gzip", what);
}

scant_status scant__unpack_open(scant_ctx *ctx, const char *name,
                                const unsigned char *bytes, size_t size,
                                scant__unpack **out) {
    *out = NULL;
    scant__unpack *u = scant__alloc(ctx, 1, sizeof *u);
    if (!u) return SCANT_ENOMEM;
    *u = (scant__unpack){.ctx = ctx, .name = name, .bytes = bytes, .size = size};
    u->xz = is_xz(bytes, size);
    bool ready;
    if (u->xz) {
        u->allocator = (lzma_allocator){lzma_alloc, release, ctx};
        u->lzma = (lzma_stream)LZMA_STREAM_INIT;
        u->lzma.allocator = &u->allocator;
        ready = lzma_stream_decoder(&u->lzma, ctx->cap, 0) == LZMA_OK;
    } else {
        u->z = (z_stream){.zalloc = zlib_alloc, .zfree = release, .opaque = ctx};
        ready = inflateInit2(&u->z, MAX_WBITS + 16) == Z_OK;
    }
    if (!ready) { /* the only cause is lack of memory; the allocator set the message */
        scant__free(ctx, u);
        return SCANT_ENOMEM;
    }
    *out = u;
    return SCANT_OK;
}

/* step_gzip() and step_xz() write up to `room` bytes to out, set *wrote to the number
 * written, and set u->done at the end of the stream. */
static scant_status step_gzip(scant__unpack *u, unsigned char *out, size_t room,
                              size_t *wrote) {
    size_t left = u->size - u->at, give = size_min(left, STEP);
    u->z.next_in = u->bytes + u->at;
    u->z.avail_in = (uInt)give;
    u->z.next_out = out;
    u->z.avail_out = (uInt)room;
    int code = inflate(&u->z, Z_NO_FLUSH);
    u->at += give - u->z.avail_in;
    *wrote = room - u->z.avail_out;
    if (code == Z_MEM_ERROR) return SCANT_ENOMEM;
    if (code == Z_BUF_ERROR) return damaged(u, "is cut short");
    if (code != Z_OK && code != Z_STREAM_END) return damaged(u, "is damaged");
    u->done = code == Z_STREAM_END;
    return SCANT_OK;
}

static scant_status step_xz(scant__unpack *u, unsigned char *out, size_t room,
                            size_t *wrote) {
    size_t left = u->size - u->at, give = size_min(left, STEP);
    u->lzma.next_in = u->bytes + u->at;
    u->lzma.avail_in = give;
    u->lzma.next_out = out;
    u->lzma.avail_out = room;
    lzma_ret code = lzma_code(&u->lzma, LZMA_RUN);
    u->at += give - u->lzma.avail_in;
    *wrote = room - u->lzma.avail_out;
    if (code == LZMA_MEM_ERROR) return SCANT_ENOMEM;
    if (code == LZMA_MEMLIMIT_ERROR)
        return scant__fail(u->ctx, SCANT_ENOMEM,
                           "%s: unpacking needs %llu bytes of memory, %zu are allowed",
                           u->name, (unsigned long long)lzma_memusage(&u->lzma),
                           u->ctx->cap);
    if (code == LZMA_OPTIONS_ERROR || code == LZMA_UNSUPPORTED_CHECK)
        return damaged(u, "uses a feature that this liblzma does not support");
    if (code != LZMA_OK && code != LZMA_STREAM_END && code != LZMA_BUF_ERROR)
        return damaged(u, "is damaged");
    u->done = code == LZMA_STREAM_END;
    if (!u->done && !*wrote && u->at == u->size) return damaged(u, "is cut short");
    return SCANT_OK;
}

scant_status scant__unpack_read(scant__unpack *u, void *out, size_t want, size_t *got) {
    *got = 0;
    while (*got < want && !u->done) {
        size_t room = size_min(want - *got, STEP), wrote;
        TRY(scant__tick(u->ctx, "unpacking", u->at, u->size));
        TRY((u->xz ? step_xz : step_gzip)(u, (unsigned char *)out + *got, room, &wrote));
        *got += wrote;
    }
    if (u->done && u->at < u->size) return damaged(u, "has data after its end");
    return SCANT_OK;
}

void scant__unpack_free(scant__unpack *u) {
    if (!u) return;
    if (u->xz)
        lzma_end(&u->lzma);
    else
        inflateEnd(&u->z);
    scant__free(u->ctx, u);
}

/* ---- whole files ------------------------------------------------------------------- */

/* The unpacked size from the index at the end of an xz file; 0: unknown. */
static uint64_t xz_hint(scant_ctx *ctx, const unsigned char *bytes, size_t size) {
    lzma_allocator allocator = {lzma_alloc, release, ctx};
    lzma_stream_flags flags;
    lzma_index *index = NULL;
    uint64_t limit = SMALLEST * 16, hint = 0;
    size_t at = 0;
    if (size < 2 * LZMA_STREAM_HEADER_SIZE) return 0;
    const unsigned char *footer = bytes + size - LZMA_STREAM_HEADER_SIZE;
    if (lzma_stream_footer_decode(&flags, footer) != LZMA_OK ||
        flags.backward_size > size - 2 * LZMA_STREAM_HEADER_SIZE)
        return 0;
    if (lzma_index_buffer_decode(&index, &limit, &allocator,
                                 footer - (size_t)flags.backward_size, &at,
                                 (size_t)flags.backward_size) != LZMA_OK)
        return 0;
    hint = lzma_index_uncompressed_size(index);
    lzma_index_end(index, &allocator);
    return hint;
}

/* The size of the first allocation. It is one byte more than the hint, so that the end of
 * the stream is seen without growing. */
static size_t first_room(scant_ctx *ctx, const unsigned char *bytes, size_t size) {
    uint64_t hint = 0;
    if (is_xz(bytes, size))
        hint = xz_hint(ctx, bytes, size);
    else if (size >= 4)
        for (size_t i = 0; i < 4; i++) hint |= (uint64_t)bytes[size - 4 + i] << (8 * i);
    size_t most = size_mul(size, PLAUSIBLE);
    return hint && hint < most ? (size_t)hint + 1 : size_max(size, SMALLEST);
}

scant_status scant__unpack_source(scant_ctx *ctx, const char *name,
                                  scant__source *source) {
    if (!scant__is_packed(source->bytes, source->size)) return SCANT_OK;
    AUTO(scant__unpack_auto) scant__unpack *u = NULL;
    AUTO(scant__source_close) scant__source whole = {.ctx = ctx};
    size_t room = 0, need = first_room(ctx, source->bytes, source->size), got;
    TRY(scant__unpack_open(ctx, name, source->bytes, source->size, &u));
    while (whole.size == room) {
        unsigned char *block = scant__realloc(ctx, whole.owned, whole.size, need);
        if (!block)
            return scant__fail(
                ctx, SCANT_ENOMEM,
                "%s: does not fit in memory when unpacked (%zu of %zu bytes in use)",
                name, ctx->used, ctx->cap);
        whole.owned = block;
        whole.bytes = block;
        room = need;
        need = size_add(room, room / 2);
        TRY(scant__unpack_read(u, block + whole.size, room - whole.size, &got));
        whole.size += got;
    }
    scant__source_close(source);
    *source = whole;
    whole = (scant__source){0};
    return SCANT_OK;
}

/* ---- members of an .npz ------------------------------------------------------------ */

/* Checksums are verified for inflated members only. Verifying a stored member would read
 * a whole pool before its first block is needed. */
static scant_status damaged_member(scant_ctx *ctx, const char *name, const char *what) {
    return scant__refuse(ctx, name, "the archive is damaged: %s", what);
}

/* Inflates to out. An extra byte, `beyond`, detects a member larger than declared. */
static scant_status inflate_member(scant_ctx *ctx, const char *name,
                                   const scant__npz_member *member, z_stream *z,
                                   unsigned char *out) {
    size_t in = 0, done = 0;
    unsigned char beyond;
    uLong crc = crc32(0, NULL, 0);
    int code = Z_OK;
    while (code != Z_STREAM_END) {
        TRY(scant__tick(ctx, "inflating", done, member->size));
        uInt give = (uInt)size_min(member->packed - in, STEP);
        uInt room = (uInt)size_min(member->size - done, STEP);
        z->next_in = member->bytes + in;
        z->avail_in = give;
        z->next_out = room ? out + done : &beyond;
        z->avail_out = room ? room : 1;
        code = inflate(z, Z_NO_FLUSH);
        if (code == Z_MEM_ERROR) return SCANT_ENOMEM; /* zlib_alloc() set the error */
        if (code == Z_BUF_ERROR)
            return damaged_member(ctx, name, "the member is cut short");
        if (code != Z_OK && code != Z_STREAM_END)
            return damaged_member(ctx, name, "the member is not deflated data");
        if (!room && !z->avail_out)
            return damaged_member(ctx, name, "the member is larger than declared");
        in += give - z->avail_in;
        if (room) {
            crc = crc32(crc, out + done, room - z->avail_out);
            done += room - z->avail_out;
        }
    }
    if (done != member->size)
        return damaged_member(ctx, name, "the member is smaller than declared");
    if (crc != member->crc)
        return damaged_member(ctx, name, "the member's checksum is wrong");
    return SCANT_OK;
}

scant_status scant__npz_inflate(scant_ctx *ctx, const char *name,
                                const scant__npz_member *member, void **out) {
    z_stream z = {.zalloc = zlib_alloc, .zfree = release, .opaque = ctx};
    *out = NULL;
    unsigned char *bytes = scant__alloc(ctx, member->size, 1);
    if (!bytes)
        return scant__fail(ctx, SCANT_ENOMEM,
                           "%s: inflating it needs %zu bytes of memory (%zu of %zu in "
                           "use); uncompressed (np.savez or np.save) it needs none",
                           name, scant__alloc_cost(member->size), ctx->used, ctx->cap);
    int code = inflateInit2(&z, -MAX_WBITS);
    scant_status status = SCANT_ENOMEM;
    if (code == Z_OK)
        status = inflate_member(ctx, name, member, &z, bytes);
    else if (code != Z_MEM_ERROR)
        status =
            scant__fail(ctx, SCANT_EINTERNAL, "%s: zlib cannot be initialised", name);
    inflateEnd(&z);
    if (status == SCANT_OK)
        *out = bytes;
    else
        scant__free(ctx, bytes);
    return status;
}
