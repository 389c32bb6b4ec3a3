/* SPDX-License-Identifier: Apache-2.0
 *
 * Counter-based random numbers (Philox4x32-10; Salmon, Moraes, Dror, Shaw, "Parallel
 * random numbers: as easy as 1, 2, 3", 2011): a pure function of (seed, purpose, index).
 * It has no state, so results do not depend on threads, on blocks or on whether work was
 * resumed.
 */
#ifndef SCANT_CORE_RNG_H
#define SCANT_CORE_RNG_H

#include <stddef.h>
#include <stdint.h>

/* Independent streams. Only append: renumbering would change the results of a seed. */
typedef enum scant__purpose {
    SCANT__RNG_SHUFFLE = 1, /* random order of rows */
    SCANT__RNG_PROPOSE,     /* proposals of D^2 sampling */
    SCANT__RNG_ACCEPT,      /* acceptance in D^2 sampling */
    SCANT__RNG_BATCH,       /* random batches of rows */
    SCANT__RNG_LABELS,      /* labels drawn from a posterior or for synthetic data */
    SCANT__RNG_ROW,         /* proposals of rows by leverage */
    SCANT__RNG_KEEP,        /* acceptance of rows by leverage */
    SCANT__RNG_ARM,         /* which arm a bandit plays */
    SCANT__RNG_POINTS,      /* coordinates of synthetic samples */
    SCANT__RNG_AUGMENT,     /* flips and shifts of images */
    SCANT__RNG_WEIGHTS,     /* initial weights */
    SCANT__RNG_DROPOUT,     /* which activations are dropped */
    SCANT__RNG_EPOCH,       /* the order of samples in an epoch */
    SCANT__RNG_DRAW,        /* samples drawn by weight */
    SCANT__RNG_SKETCH,      /* bucket and sign of a gradient's entry */
    SCANT__RNG_FLIPS,       /* signs of a permutation test */
    SCANT__RNG_POOL,        /* an experiment's pool */
    SCANT__RNG_VALIDATION,  /* an experiment's validation set */
    SCANT__RNG_TEST,        /* an experiment's test set */
    SCANT__RNG_INITIAL,     /* an experiment's initial labelled set */
    SCANT__RNG_ROUND,       /* seeds of an experiment's rounds */
    SCANT__RNG_FOLD,        /* the fold of a labelled sample */
    SCANT__RNG_WEAK,        /* weak augmentation of unlabelled samples */
    SCANT__RNG_STRONG,      /* strong augmentation of unlabelled samples */
    SCANT__RNG_UNLABELLED,  /* the order of unlabelled samples */
    SCANT__RNG_NOGRAD,      /* dropout in a pass without gradient */
    SCANT__RNG_NOISE,       /* noise of a variational layer in training */
    SCANT__RNG_POSTERIOR,   /* weights drawn from a posterior */
    SCANT__RNG_MEMBER,      /* seeds of an ensemble's members */
    SCANT__RNG_LANDMARKS,   /* landmark rows of a kernel */
    SCANT__RNG_AUDIT,       /* the audit order of a project's items */
    SCANT__RNG_FILL,        /* the random order of items with role `fill` */
    SCANT__RNG_TURN         /* the position of the audit item among the next items */
} scant__purpose;

typedef struct scant__rng {
    uint64_t seed;
    uint32_t purpose;
} scant__rng;

/* The raw Philox function: ten rounds on counter with key. */
void scant__philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

uint64_t scant__rng_u64(const scant__rng *rng, uint64_t index);
/* n blocks of 128 random bits each, for indices first, first + 1, ... The first half of a
 * block equals scant__rng_u64() for its index. */
void scant__rng_blocks(const scant__rng *rng, uint64_t first, size_t n,
                       uint64_t (*out)[2]);
double scant__rng_unit(const scant__rng *rng, uint64_t index); /* [0, 1), 53 bits */
/* Uniform on 0..n-1, without bias; n > 0. */
uint64_t scant__rng_below(const scant__rng *rng, uint64_t index, uint64_t n);
/* Standard normal (Box and Muller), from the uniform numbers 2 index and 2 index + 1. The
 * two of a pair are independent; the first equals scant__rng_normal(). */
double scant__rng_normal(const scant__rng *rng, uint64_t index);
void scant__rng_normal_pair(const scant__rng *rng, uint64_t index, double out[2]);
/* Sets order to 0..n-1 in a random order (Fisher and Yates). Uses indices first + 1 to
 * first + n - 1. */
void scant__rng_shuffle(const scant__rng *rng, uint64_t first, size_t n, size_t *order);

#endif
