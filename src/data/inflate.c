/* SPDX-License-Identifier: Apache-2.0
 *
 * Deflated members of an .npz, inflated into memory.
 *
 * The sum is checked here, where every byte is touched anyway. It is not for stored
 * members: that would read the whole of a pool before the first block of it is wanted.
 */
#define ZLIB_CONST /* next_in is const */
#include <zlib.h>

#include "core/mem.h"
#include "data/npz.h"

enum {
    STEP = 1 << 24
}; /* bytes between looks at the cancel flag; below zlib's 32 bits */

static void *zlib_alloc(void *ctx, uInt items, uInt size) {
    return scant__alloc(ctx, items, size);
}

static void zlib_free(void *ctx, void *block) { scant__free(ctx, block); }

static scant_status damaged(scant_ctx *ctx, const char *name, const char *what) {
    return scant__fail(ctx, SCANT_EINPUT, "%s: the archive is damaged: %s", name, what);
}

static uInt at_most_step(size_t n) { return n < STEP ? (uInt)n : STEP; }

/* Runs z, ready to go, over the member. A byte of room beyond the end shows a member that
 * is larger than it said. */
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
        if (code == Z_MEM_ERROR) return SCANT_ENOMEM; /* zlib_alloc() has said so */
        if (code == Z_BUF_ERROR) return damaged(ctx, name, "the member is cut short");
        if (code != Z_OK && code != Z_STREAM_END)
            return damaged(ctx, name, "the member is not deflated data");
        if (!room && !z->avail_out)
            return damaged(ctx, name, "the member is larger than it says");
        in += give - z->avail_in;
        if (room) {
            crc = crc32(crc, out + done, room - z->avail_out);
            done += room - z->avail_out;
        }
    }
    if (done != member->size)
        return damaged(ctx, name, "the member is smaller than it says");
    if (crc != member->crc) return damaged(ctx, name, "the member's checksum is wrong");
    return SCANT_OK;
}

scant_status scant__npz_inflate(scant_ctx *ctx, const char *name,
                                const scant__npz_member *member, void **out) {
    z_stream z = {.zalloc = zlib_alloc, .zfree = zlib_free, .opaque = ctx};
    *out = NULL;
    unsigned char *bytes = scant__alloc(ctx, member->size, 1);
    if (!bytes)
        return scant__fail(
            ctx, SCANT_ENOMEM,
            "%s: needs %zu bytes of memory to be inflated (%zu of %zu in use): "
            "store it uncompressed (np.savez, or np.save), then none is needed",
            name, scant__alloc_cost(member->size), ctx->used, ctx->cap);
    scant_status status = SCANT_ENOMEM;
    int code = inflateInit2(&z, -MAX_WBITS);
    if (code == Z_OK) {
        status = run(ctx, name, member, &z, bytes);
        inflateEnd(&z);
    } else if (code != Z_MEM_ERROR) {
        status = scant__fail(ctx, SCANT_EINTERNAL, "%s: zlib does not start", name);
    }
    if (status == SCANT_OK)
        *out = bytes;
    else
        scant__free(ctx, bytes);
    return status;
}
