/* SPDX-License-Identifier: Apache-2.0
 *
 * Inflates compressed members of an .npz into memory.
 *
 * The checksum is verified here because every byte is touched anyway. Stored members are
 * not verified: that would read a whole pool before its first block is needed.
 */
#define ZLIB_CONST /* next_in is const */
#include <zlib.h>

#include "core/mem.h"
#include "data/npz.h"

enum { STEP = 1 << 24 }; /* bytes between checks for cancellation; below zlib's 32 bits */

static void *zlib_alloc(void *ctx, uInt items, uInt size) {
    return scant__alloc(ctx, items, size);
}

static void zlib_free(void *ctx, void *block) { scant__free(ctx, block); }

static scant_status damaged(scant_ctx *ctx, const char *name, const char *what) {
    return scant__fail(ctx, SCANT_EINPUT, "%s: the archive is damaged: %s", name, what);
}

static uInt at_most_step(size_t n) { return n < STEP ? (uInt)n : STEP; }

/* Inflates the member with an initialised z. One spare byte of room detects a member
 * larger than declared. */
static scant_status run(scant_ctx *ctx, const char *name, const scant__npz_member *member,
                        z_stream *z, unsigned char *out) {
    size_t in = 0, done = 0;
    unsigned char beyond;
    uLong crc = crc32(0, NULL, 0);
    int code = Z_OK;
    while (code != Z_STREAM_END) {
        TRY(scant__tick(ctx, "inflating", done, member->size));
        uInt give = at_most_step(member->packed - in);
        uInt room = at_most_step(member->size - done);
        z->next_in = member->bytes + in;
        z->avail_in = give;
        z->next_out = room ? out + done : &beyond;
        z->avail_out = room ? room : 1;
        code = inflate(z, Z_NO_FLUSH);
        if (code == Z_MEM_ERROR) return SCANT_ENOMEM; /* zlib_alloc() set the error */
        if (code == Z_BUF_ERROR) return damaged(ctx, name, "the member is cut short");
        if (code != Z_OK && code != Z_STREAM_END)
            return damaged(ctx, name, "the member is not deflated data");
        if (!room && !z->avail_out)
            return damaged(ctx, name, "the member is larger than declared");
        in += give - z->avail_in;
        if (room) {
            crc = crc32(crc, out + done, room - z->avail_out);
            done += room - z->avail_out;
        }
    }
    if (done != member->size)
        return damaged(ctx, name, "the member is smaller than declared");
    if (crc != member->crc) return damaged(ctx, name, "the member's checksum is wrong");
    return SCANT_OK;
}

scant_status scant__npz_inflate(scant_ctx *ctx, const char *name,
                                const scant__npz_member *member, void **out) {
    z_stream z = {.zalloc = zlib_alloc, .zfree = zlib_free, .opaque = ctx};
    *out = NULL;
    unsigned char *bytes = scant__alloc(ctx, member->size, 1);
    if (!bytes)
        return scant__fail(ctx, SCANT_ENOMEM,
                           "%s: inflating it needs %zu bytes of memory (%zu of %zu in "
                           "use); uncompressed (np.savez or np.save) it needs none",
                           name, scant__alloc_cost(member->size), ctx->used, ctx->cap);
    scant_status status = SCANT_ENOMEM;
    int code = inflateInit2(&z, -MAX_WBITS);
    if (code == Z_OK) {
        status = run(ctx, name, member, &z, bytes);
        inflateEnd(&z);
    } else if (code != Z_MEM_ERROR) {
        status =
            scant__fail(ctx, SCANT_EINTERNAL, "%s: zlib cannot be initialised", name);
    }
    if (status == SCANT_OK)
        *out = bytes;
    else
        scant__free(ctx, bytes);
    return status;
}
