/* SPDX-License-Identifier: Apache-2.0
 *
 * The evidence reader: what a network says of a pool, as the arrays that strategies read.
 */
#ifndef SCANT_LOOP_EVIDENCE_H
#define SCANT_LOOP_EVIDENCE_H

#include "core/mem.h"
#include "scant/train.h"

/* What SCANT_FEATURES are made of. */
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

typedef struct loop_reading {
    scant_net *net;
    const scant_data *data;
    const size_t *rows; /* n samples of data, ascending: the pool */
    size_t n;
    const loop_labelled *labelled; /* some of rows */
    unsigned bits;                 /* which evidence: SCANT_FEATURES, ... */
    loop_features features;
    uint64_t seed;          /* of sketches */
    double temperature;     /* of SCANT_CALIBRATED; 0: 1 */
    const char *draws_path; /* of SCANT_SAMPLES: a file that is gone after the call */
} loop_reading;

enum {
    LOOP_FEATURES,
    LOOP_PROBS,
    LOOP_LOGITS,
    LOOP_CALIBRATED,
    LOOP_GRADIENTS,
    LOOP_SLOPES,
    LOOP_LENGTHS,
    LOOP_LABELS,
    LOOP_DRAWS,
    LOOP_CANDIDATES,
    LOOP_EVIDENCE
};

typedef struct loop_evidence {
    scant__arena arena;
    scant_array *arrays[LOOP_EVIDENCE];
    scant_evidence view; /* of the arrays, for scant_select() */
} loop_evidence;

void loop_evidence_init(loop_evidence *evidence, scant_ctx *ctx);
void loop_evidence_end(loop_evidence *evidence);
/* Adds what bits ask for. Labels are always there: -1 where a row has none. */
scant_status loop_evidence_read(loop_evidence *evidence, const loop_reading *reading);
/* Adds an array (borrowed), n x width or, where width is 0, n; it replaces the one
 * before.
 */
scant_status loop_evidence_wrap(loop_evidence *evidence, size_t which, const void *data,
                                scant_dtype dtype, size_t n, size_t width);
/* Draws of the posterior, SCANT_SAMPLES alone. */
scant_status loop_evidence_draw(loop_evidence *evidence, const loop_reading *reading);

#endif
