/* SPDX-License-Identifier: Apache-2.0
 *
 * .npz: a zip archive of .npy files, as written by np.savez and np.savez_compressed.
 */
#ifndef SCANT_DATA_NPZ_H
#define SCANT_DATA_NPZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/ctx.h"

typedef struct scant__npz_member {
    const unsigned char *bytes; /* as stored; inside the archive's bytes */
    size_t packed;              /* stored size */
    size_t size;                /* inflated size */
    uint32_t crc;               /* of the inflated bytes */
    bool deflated;
} scant__npz_member;

bool scant__npz_magic(const unsigned char *bytes, size_t size);

/* Finds the member KEY or KEY.npy (the last of equal names, as in Python); with key NULL
 * the only .npy. Checks as much of the directory as it uses. Else SCANT_EINPUT; the
 * message for an unknown key lists the known ones. name starts messages. */
scant_status scant__npz_find(scant_ctx *ctx, const char *name, const char *key,
                             const unsigned char *bytes, size_t size,
                             scant__npz_member *out);

/* Inflates a member and verifies its checksum. *out is new, from scant__alloc(). */
scant_status scant__npz_inflate(scant_ctx *ctx, const char *name,
                                const scant__npz_member *member, void **out);

#endif
