/* SPDX-License-Identifier: Apache-2.0
 *
 * Weak and strong views of a sample for consistency training on unlabelled samples
 * (FixMatch; Sohn et al. 2020).
 *
 * The input is the output of scant__data_read(), before the network's scaling; one call
 * per sample makes both views. A view is a function of the sample, the seed and the draw
 * number, not of threads. draw is step * samples per step + position, below 2^60; for
 * features draw times their count must stay below 2^61.
 *
 * Allocates nothing and cannot fail. out must not overlap in or scratch.
 */
#ifndef SCANT_DATA_AUGMENT_VIEWS_H
#define SCANT_DATA_AUGMENT_VIEWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/rng.h"
#include "data/augment_ops.h"

typedef struct scant__views {
    size_t c, h, w; /* a sample's shape */
    bool images;    /* false: c h w features */
    /* images: */
    bool flip;       /* left to right; not for digits */
    size_t cut;      /* side of the grey square in pixels; 0: half the shorter side */
    float low, high; /* values of black and white; both 0: 0 and 1, as for bytes */
    /* features: */
    float noise;         /* deviation, relative to a feature's own */
    float drop;          /* fraction of features that a strong view drops, 0 to 1 */
    const float *middle; /* replaces a dropped feature; NULL: 0 */
    const float *spread; /* each feature's deviation; NULL: 1 */
} scant__views;

/* Bytes of scratch for a strong view; nothing is kept in it between calls. */
size_t scant__views_scratch(const scant__views *views);

/* With rng = {seed, SCANT__RNG_AUGMENT} images equal scant__augment_flip_crop()'s. */
void scant__augment_weak(const scant__views *views, const scant__rng *rng, uint64_t draw,
                         const float *in, float *out);
void scant__augment_strong(const scant__views *views, const scant__rng *rng,
                           uint64_t draw, const float *in, float *out, void *scratch);

/* The same for images of bytes; scratch may equal in. */
void scant__augment_weak_bytes(const scant__views *views, const scant__rng *rng,
                               uint64_t draw, const unsigned char *in,
                               unsigned char *out);
void scant__augment_strong_bytes(const scant__views *views, const scant__rng *rng,
                                 uint64_t draw, const unsigned char *in,
                                 unsigned char *out, void *scratch);

/* ---- the operations of a draw ---- */

typedef struct scant__augment_step {
    scant__operation operation;
    int level;
} scant__augment_step;

enum { SCANT__AUGMENT_STEPS = 2 };

/* The operations of a strong view of an image, in order; returns how many. */
size_t scant__strong_steps(const scant__rng *rng, uint64_t draw,
                           scant__augment_step steps[SCANT__AUGMENT_STEPS]);

#endif
