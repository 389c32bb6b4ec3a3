/* SPDX-License-Identifier: Apache-2.0
 *
 * Decompression of gzip and xz files, in pieces or whole, and of members of .npz files.
 *
 * A file must be one stream. Trailing data, truncation and checksum errors are refused.
 * The context counts all memory.
 */
#ifndef SCANT_DATA_UNPACK_H
#define SCANT_DATA_UNPACK_H

#include "core/mem.h"
#include "data/source.h"

typedef struct scant__unpack scant__unpack;

/* Whether the first bytes are those of gzip or xz. */
bool scant__is_packed(const unsigned char *bytes, size_t size);

/* bytes must be packed. Messages start with name. bytes and name must outlive the handle.
 * On SCANT_OK *out is new, to be freed by scant__unpack_free(); else NULL. */
scant_status scant__unpack_open(scant_ctx *ctx, const char *name,
                                const unsigned char *bytes, size_t size,
                                scant__unpack **out);
/* Reads up to want bytes; *got is less only at the end of an intact stream. */
scant_status scant__unpack_read(scant__unpack *unpack, void *out, size_t want,
                                size_t *got);
void scant__unpack_free(scant__unpack *unpack); /* NULL is fine */
DEFINE_AUTO(scant__unpack, scant__unpack)

/* Replaces a packed source by its unpacked bytes. Other sources stay unchanged, as does
 * every source on failure. Memory grows with the output, because the size stored in the
 * file is unreliable. */
scant_status scant__unpack_source(scant_ctx *ctx, const char *name,
                                  scant__source *source);

/* ---- .npz: a zip archive of .npy files, as written by np.savez and
 * np.savez_compressed ---- */

typedef struct scant__npz_member {
    const unsigned char *bytes; /* the member as stored, borrowed from the archive */
    size_t packed;              /* stored size */
    size_t size;                /* inflated size */
    uint32_t crc;               /* of the inflated bytes */
    bool deflated;
} scant__npz_member;

bool scant__npz_magic(const unsigned char *bytes, size_t size);

/* Finds the member KEY or KEY.npy (the last of equal names, as in Python), or the only
 * .npy if key is NULL. Checks the parts of the directory that it uses. SCANT_EINPUT if
 * they are damaged or the key is unknown (the message lists the keys). Messages start
 * with name. */
scant_status scant__npz_find(scant_ctx *ctx, const char *name, const char *key,
                             const unsigned char *bytes, size_t size,
                             scant__npz_member *out);

/* Inflates a member and verifies its checksum. *out is new, from scant__alloc(). */
scant_status scant__npz_inflate(scant_ctx *ctx, const char *name,
                                const scant__npz_member *member, void **out);

#endif
