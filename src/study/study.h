/* SPDX-License-Identifier: Apache-2.0
 *
 * What those who make a study (scant.h) another way than from a matrix share with
 * study.c: a spectrum and the labels' energies in its directions are all it takes.
 */
#ifndef SCANT_STUDY_STUDY_H
#define SCANT_STUDY_STUDY_H

#include <stdbool.h>

#include "core/mem.h"
#include "scant/study.h"

/* A study's lists, to be filled in; the study's own. */
typedef struct study_lists {
    double *values, *energy, *start; /* NULL: not wanted */
} study_lists;

/* A study with lists of n numbers, all 0; NULL: no memory. scant_study_free() ends it. */
scant_study *study_new(scant_ctx *ctx, size_t n, bool energy, bool start,
                       study_lists *lists);
/* Fills in what follows from values (largest first), energies, rests, samples, labelled,
 * alignment, bound, jitter, rate and tolerance (0: the default). noise: of the kernel's
 * numbers (scant_study_opts). */
void study_judge(scant_study *study, size_t classes, double noise);

#endif
