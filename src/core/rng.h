/* SPDX-License-Identifier: Apache-2.0
 *
 * Counter-based random numbers (Philox4x32-10; Salmon, Moraes, Dror, Shaw, "Parallel
 * random numbers: as easy as 1, 2, 3", 2011): a pure function of (seed, purpose, index).
 * Nothing is carried from one draw to the next, so threads, blocks and resumed work see
 * the same numbers.
 */
#ifndef SCANT_CORE_RNG_H
#define SCANT_CORE_RNG_H

#include <stddef.h>
#include <stdint.h>

/* Streams that never meet. Append only: a number here decides what a seed gives. */
typedef enum scant__purpose {
    SCANT__RNG_SHUFFLE = 1, /* random order of rows */
    SCANT__RNG_PROPOSE,     /* proposals of D^2 sampling */
    SCANT__RNG_ACCEPT,      /* their acceptance */
    SCANT__RNG_BATCH,       /* random batches to choose from */
    SCANT__RNG_LABELS,      /* strings of labels drawn from a posterior */
    SCANT__RNG_ROW,         /* proposals of rows by leverage */
    SCANT__RNG_KEEP,        /* whether they are kept */
    SCANT__RNG_ARM,         /* which arm a bandit plays */
    SCANT__RNG_POINTS,      /* coordinates of made-up samples */
    SCANT__RNG_AUGMENT,     /* flips and shifts of pictures */
    SCANT__RNG_WEIGHTS,     /* what a network starts with */
    SCANT__RNG_DROPOUT,     /* which numbers are dropped */
    SCANT__RNG_EPOCH,       /* the order of samples in an epoch */
    SCANT__RNG_DRAW,        /* samples drawn by weight */
    SCANT__RNG_SKETCH,      /* which bucket and sign a number of a gradient has */
    SCANT__RNG_FLIPS,       /* signs of a permutation test */
    SCANT__RNG_POOL,        /* which samples an experiment chooses from */
    SCANT__RNG_VALIDATION,  /* and which it watches */
    SCANT__RNG_TEST,        /* and which it judges by */
    SCANT__RNG_INITIAL,     /* and which are labelled first */
    SCANT__RNG_ROUND,       /* seeds of an experiment's rounds */
    SCANT__RNG_FOLD,        /* which fifth of the labelled a sample is held out with */
    SCANT__RNG_WEAK,        /* samples without labels, changed a little */
    SCANT__RNG_STRONG,      /* and the same changed much */
    SCANT__RNG_OTHERS,      /* the order of samples without labels */
    SCANT__RNG_ASIDE,       /* what is dropped in a pass without gradient */
    SCANT__RNG_NOISE,       /* a variational layer's, in training */
    SCANT__RNG_POSTERIOR,   /* weights drawn from a posterior */
    SCANT__RNG_MEMBER,      /* seeds of an ensemble's members */
    SCANT__RNG_LANDMARKS,   /* rows that a kernel is known by */
    SCANT__RNG_AUDIT,       /* a project's items, in the order they are audited in */
    SCANT__RNG_FILL,        /* and in the order they are asked about for want of better */
    SCANT__RNG_TURN         /* which of some items is an audited one */
} scant__purpose;

typedef struct scant__rng {
    uint64_t seed;
    uint32_t purpose;
} scant__rng;

/* The raw block: ten rounds over counter with key. */
void scant__philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

uint64_t scant__rng_u64(const scant__rng *rng, uint64_t index);
/* n blocks of 128 random bits each, from index first on: many bits at once. The first
 * half of a block is scant__rng_u64() of its index. */
void scant__rng_blocks(const scant__rng *rng, uint64_t first, size_t n,
                       uint64_t (*out)[2]);
double scant__rng_unit(const scant__rng *rng, uint64_t index); /* [0, 1), 53 bits */
/* Uniform on 0..n-1, without bias; n > 0. */
uint64_t scant__rng_below(const scant__rng *rng, uint64_t index, uint64_t n);
/* Standard normal, by Box and Muller: of the uniform numbers 2 index and 2 index + 1. The
 * pair's second is independent of its first, which is what scant__rng_normal() gives. */
double scant__rng_normal(const scant__rng *rng, uint64_t index);
void scant__rng_normal_pair(const scant__rng *rng, uint64_t index, double out[2]);
/* 0..n-1 in a random order (Fisher and Yates): of numbers first + 1, ..., first + n - 1.
 */
void scant__rng_shuffle(const scant__rng *rng, uint64_t first, size_t n, size_t *order);

#endif
