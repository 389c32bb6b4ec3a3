/* SPDX-License-Identifier: Apache-2.0
 *
 * Decompression of gzip and xz files, in pieces or whole, and of members of .npz files.
 *
 * A file is one stream; trailing data, truncation and checksum errors are refused. All
 * memory is counted by the context.
 */
#ifndef SCANT_DATA_UNPACK_H
#define SCANT_DATA_UNPACK_H

#include "core/mem.h"
#include "data/source.h"

typedef struct scant__unpack scant__unpack;

/* Whether the first bytes are those of gzip or xz. */
bool scant__is_packed(const unsigned char *bytes, size_t size);

/* bytes must be packed and outlive the handle; name (also borrowed) starts messages. On
 * SCANT_OK *out is new, freed by scant__unpack_free(); else NULL. */
scant_status scant__unpack_open(scant_ctx *ctx, const char *name,
                                const unsigned char *bytes, size_t size,
                                scant__unpack **out);
/* Reads up to want bytes; *got is less only at the end of an intact stream. */
scant_status scant__unpack_read(scant__unpack *unpack, void *out, size_t want,
                                size_t *got);
void scant__unpack_free(scant__unpack *unpack); /* NULL is fine */
DEFINE_AUTO(scant__unpack, scant__unpack)

/* Replaces a packed source by its unpacked bytes; leaves others unchanged. Memory grows
 * with the output because the size stored in the file is unreliable. On failure the
 * source is unchanged. */
scant_status scant__unpack_source(scant_ctx *ctx, const char *name,
                                  scant__source *source);

/* ---- .npz: a zip archive of .npy files, as written by np.savez and
 * np.savez_compressed ---- */

typedef struct scant__npz_member {
    const unsigned char *bytes; /* as stored; inside the archive's bytes */
    size_t packed;              /* stored size */
    size_t size;                /* inflated size */
    uint32_t crc;               /* of the inflated bytes */
    bool deflated;
} scant__npz_member;

bool scant__npz_magic(const unsigned char *bytes, size_t size);

/* Finds the member KEY or KEY.npy (the last of equal names, as in Python); with key NULL
 * the only .npy. Checks the parts of the directory that it uses; SCANT_EINPUT if they are
 * damaged or the key is unknown (the message lists the keys). name starts messages. */
scant_status scant__npz_find(scant_ctx *ctx, const char *name, const char *key,
                             const unsigned char *bytes, size_t size,
                             scant__npz_member *out);

/* Inflates a member and verifies its checksum. *out is new, from scant__alloc(). */
scant_status scant__npz_inflate(scant_ctx *ctx, const char *name,
                                const scant__npz_member *member, void **out);

#endif
