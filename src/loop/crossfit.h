/* SPDX-License-Identifier: Apache-2.0
 *
 * Cross-fitting: every labelled sample is predicted by a network that was trained without
 * it.
 */
#ifndef SCANT_LOOP_CROSSFIT_H
#define SCANT_LOOP_CROSSFIT_H

#include "core/mem.h"

enum { LOOP_FOLDS = 5 };

/* Samples are numbered by their position in the labelled set, 0 to n - 1. */
typedef struct loop_crossfit {
    size_t n, folds, classes;
    uint64_t seed; /* assigns samples to folds */
    void *user;
    /* Trains on the samples kept and writes the logits of those held out. */
    scant_status (*fit)(void *user, size_t fold, const size_t *kept, size_t n_kept,
                        const size_t *held, size_t n_held, float *logits);
} loop_crossfit;

/* Computes n x classes logits, fold after fold; row i belongs to sample places[i]. Both
 * arrays are in the arena. */
scant_status loop_crossfit_logits(const loop_crossfit *c, scant__arena *arena,
                                  float **logits, size_t **places);
/* The temperature that fits these logits best, given the samples' labels. 0 if n < 2. */
scant_status loop_crossfit_temperature(const loop_crossfit *c, scant_ctx *ctx,
                                       const int32_t *labels, double *out);

#endif
