/* SPDX-License-Identifier: Apache-2.0
 *
 * Weak image augmentation: random mirroring and shifting.
 */
#ifndef SCANT_DATA_AUGMENT_H
#define SCANT_DATA_AUGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/rng.h"

/* Mirrors in (c, h, w) left to right with probability 1/2 (if flip; not for digits), then
 * pads it by reflection by an eighth of each side (4 pixels of 32) and crops a random
 * window of the original size. Deterministic in (seed, draw); draw is below 2^62, one per
 * sample and epoch. out must not overlap in. */
void scant__augment_flip_crop(const float *in, float *out, size_t c, size_t h, size_t w,
                              uint64_t seed, uint64_t draw, bool flip);

/* ---- its two steps, for other random streams and pixel types ---- */

typedef struct scant__move {
    ptrdiff_t down, across; /* offset of the first pixel in the source image */
    bool mirrored;
} scant__move;

/* Uses the numbers 4 draw, 4 draw + 1 and 4 draw + 2 of rng. */
scant__move scant__augment_draw(const scant__rng *rng, uint64_t draw, size_t h, size_t w,
                                bool flip);
/* Applies move to an image (c, h, w); out must not overlap in. */
void scant__augment_move(scant__move move, const float *in, float *out, size_t c,
                         size_t h, size_t w);
void scant__augment_move_bytes(scant__move move, const unsigned char *in,
                               unsigned char *out, size_t c, size_t h, size_t w);

#endif
