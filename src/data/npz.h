/* SPDX-License-Identifier: Apache-2.0
 *
 * .npz: a zip archive of .npy files, as np.savez and np.savez_compressed write it.
 */
#ifndef SCANT_DATA_NPZ_H
#define SCANT_DATA_NPZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/ctx.h"

typedef struct scant__npz_member {
    const unsigned char *bytes; /* as stored; within the archive's bytes */
    size_t packed;              /* how many */
    size_t size;                /* and once inflated */
    uint32_t crc;               /* of the inflated bytes */
    bool deflated;
} scant__npz_member;

bool scant__npz_magic(const unsigned char *bytes, size_t size);

/* Finds the member KEY or KEY.npy (of two with one name the last, as Python does); with
 * key NULL the only .npy there is. The archive's directory is checked as far as it is
 * used. Else SCANT_EINPUT; an unknown key's message lists what there is. name starts
 * messages. */
scant_status scant__npz_find(scant_ctx *ctx, const char *name, const char *key,
                             const unsigned char *bytes, size_t size,
                             scant__npz_member *out);

/* Inflates a deflated member and checks its sum. *out is new, from scant__alloc(). */
scant_status scant__npz_inflate(scant_ctx *ctx, const char *name,
                                const scant__npz_member *member, void **out);

#endif
