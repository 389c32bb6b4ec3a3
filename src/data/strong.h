/* SPDX-License-Identifier: Apache-2.0
 *
 * Weak and strong views of a sample, for training on samples without labels: what a
 * network says of the one is what it should say of the other (FixMatch; Sohn et al.
 * 2020).
 *
 * A trainer makes them of what scant__data_read() gives, before a network's scaling; one
 * call a sample makes both. They are a function of the sample, the seed and the draw's
 * number, not of threads: draw is one for each sample of each step (the step times the
 * samples of a step, plus the place in it), below 2^60, and for features such that draw
 * times their count stays below 2^61.
 *
 * Nothing is allocated, nothing can fail. out must not overlap in or scratch.
 */
#ifndef SCANT_DATA_STRONG_H
#define SCANT_DATA_STRONG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/rng.h"
#include "data/operations.h"

typedef struct scant__views {
    size_t c, h, w; /* a sample's shape */
    bool pictures;  /* else c h w features */
    /* of pictures */
    bool flip;       /* left to right: not for digits */
    size_t cut;      /* side of the grey square in pixels; 0: half the shorter side */
    float low, high; /* the numbers that are black and white; both 0: 0 and 1, as of bytes
                      */
    /* of features */
    float noise;         /* deviation, in units of a feature's own */
    float drop;          /* the part of features that a strong view loses, 0 to 1 */
    const float *middle; /* what a lost feature is instead; NULL: 0 */
    const float *spread; /* features' deviations; NULL: 1 */
} scant__views;

/* Bytes that a strong view needs beside its result; nothing is kept in them. */
size_t scant__views_scratch(const scant__views *views);

/* With rng = {seed, SCANT__RNG_AUGMENT} pictures are those of scant__augment_flip_crop().
 */
void scant__augment_weak(const scant__views *views, const scant__rng *rng, uint64_t draw,
                         const float *in, float *out);
void scant__augment_strong(const scant__views *views, const scant__rng *rng,
                           uint64_t draw, const float *in, float *out, void *scratch);

/* The same of pictures whose pixels are bytes. */
void scant__augment_weak_bytes(const scant__views *views, const scant__rng *rng,
                               uint64_t draw, const unsigned char *in,
                               unsigned char *out);
void scant__augment_strong_bytes(const scant__views *views, const scant__rng *rng,
                                 uint64_t draw, const unsigned char *in,
                                 unsigned char *out, void *scratch);

/* ---- what a draw does, apart from doing it ---- */

typedef struct scant__turn {
    scant__operation operation;
    int level;
} scant__turn;

enum { SCANT__TURNS = 2 };

/* The operations of a strong view of a picture, in their order; returns how many. */
size_t scant__strong_turns(const scant__rng *rng, uint64_t draw,
                           scant__turn turns[SCANT__TURNS]);

#endif
