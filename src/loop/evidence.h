/* SPDX-License-Identifier: Apache-2.0
 *
 * The evidence reader: computes the arrays that strategies read, using a network.
 */
#ifndef SCANT_LOOP_EVIDENCE_H
#define SCANT_LOOP_EVIDENCE_H

#include "core/mem.h"
#include "scant/train.h"

/* The source of SCANT_FEATURES. */
typedef enum loop_features {
    LOOP_LAST_LAYER, /* the inputs of the last layer */
    LOOP_JACOBIANS,  /* sketches of the outputs' Jacobians: inner products estimate the
                      * whole network's tangent kernel, summed over outputs */
    LOOP_INPUTS      /* the samples, scaled as the network sees them */
} loop_features;

/* Labelled samples. */
typedef struct loop_labelled {
    const size_t *rows;
    const int32_t *labels; /* NULL: the data's own */
    const float *weights;  /* NULL: 1 each */
    size_t n;
} loop_labelled;

typedef struct loop_evidence_opts {
    scant_net *net;
    const scant_data *data;
    const size_t *rows; /* n samples of data, ascending: the pool */
    size_t n;
    const loop_labelled *labelled; /* a subset of rows */
    unsigned bits;                 /* which evidence: SCANT_FEATURES, ... */
    loop_features features;
    uint64_t seed;          /* seed of the sketches */
    double temperature;     /* temperature of SCANT_CALIBRATED; 0: use 1 */
    const char *draws_path; /* temporary file for SCANT_DRAWS */
} loop_evidence_opts;

typedef struct loop_evidence {
    scant__arena arena;
    scant_evidence view; /* for scant_select(); its arrays are owned */
} loop_evidence;

/* The index of a row in rows, which must be ascending; n: not found. */
size_t loop_place(const size_t *rows, size_t n, size_t row);
int loop_compare(const void *a, const void *b); /* two size_t, for qsort() */

void loop_evidence_init(loop_evidence *evidence, scant_ctx *ctx);
void loop_evidence_end(loop_evidence *evidence);
/* Adds the evidence in reading->bits, and always labels: -1 for rows without one. */
scant_status loop_evidence_read(loop_evidence *evidence,
                                const loop_evidence_opts *reading);
/* Adds or replaces an array: input is its name in scant_inputs(), data is borrowed.
 * Shape: n x width, or n if width is 0. */
scant_status loop_evidence_wrap(loop_evidence *evidence, const char *input,
                                const void *data, scant_dtype dtype, size_t n,
                                size_t width);
/* Adds the posterior draws (SCANT_DRAWS) only. */
scant_status loop_evidence_draw(loop_evidence *evidence,
                                const loop_evidence_opts *reading);

#endif
