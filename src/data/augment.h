/* SPDX-License-Identifier: Apache-2.0
 *
 * Pictures changed a little at random, so that a network does not learn them by heart.
 */
#ifndef SCANT_DATA_AUGMENT_H
#define SCANT_DATA_AUGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/rng.h"

/* in (c, h, w) mirrored left to right every other time (where flip is set: not for
 * digits), then continued by reflection by an eighth of its sides (4 pixels of 32) and
 * cut back to its size at a random place. The same for the same seed and draw, which the
 * caller counts: below 2^62, one for each sample of each epoch. out must not overlap in.
 */
void scant__augment_flip_crop(const float *in, float *out, size_t c, size_t h, size_t w,
                              uint64_t seed, uint64_t draw, bool flip);

/* ---- its two halves, for other streams of random numbers and other pixels ---- */

typedef struct scant__move {
    ptrdiff_t down, across; /* from where in the picture its first pixel comes */
    bool mirrored;
} scant__move;

/* Of the numbers 4 draw, 4 draw + 1 and 4 draw + 2 of rng. */
scant__move scant__augment_draw(const scant__rng *rng, uint64_t draw, size_t h, size_t w,
                                bool flip);
/* Moves a picture (c, h, w); out must not overlap in. */
void scant__augment_move(scant__move move, const float *in, float *out, size_t c,
                         size_t h, size_t w);
void scant__augment_move_bytes(scant__move move, const unsigned char *in,
                               unsigned char *out, size_t c, size_t h, size_t w);

#endif
