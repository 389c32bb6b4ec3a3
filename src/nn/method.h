/* SPDX-License-Identifier: Apache-2.0
 *
 * The interface of a semi-supervised method: what it adds to a training step. Each method
 * of src/ssl implements it; supervised training is the same loop (train.c) without a
 * method.
 *
 * A step takes `batch` unlabelled samples of `rows` beside its labelled ones. Both are
 * reshuffled after every pass, and a batch may span two passes. `view` makes graded +
 * aside inputs of each sample, before the step and on several threads. The aside inputs,
 * if any, first go through a pass without gradient: with dropout and batch statistics as
 * in training, but without updating anything. Then all graded inputs go through the
 * network behind the labelled samples in one batch, and `evaluate` computes their loss.
 * An epoch is one pass over rows.
 *
 * A step may be interrupted and repeated, perhaps by another process that has loaded the
 * checkpoint: choose and evaluate must be deterministic and idempotent.
 */
#ifndef SCANT_NN_METHOD_H
#define SCANT_NN_METHOD_H

#include "data/augment_views.h"
#include "nn/network.h"
#include "scant/train.h"

/* What a step sees of the unlabelled samples. */
typedef struct nn_seen {
    size_t step, steps;  /* step number, from 0; total steps */
    size_t n, classes;   /* samples */
    const size_t *items; /* positions in rows */
    const float *aside;  /* logits without gradient, n x classes; NULL: none */
    /* those of the n, in this order, whose graded views were evaluated; NULL: all */
    const size_t *chosen;
    size_t n_chosen;
    /* graded views: per view a block of n_block rows, of which the first n_chosen are
     * valid */
    size_t n_block;
    const float *logits;
    float *d; /* gradient by the logits; zero where nothing is written */
} nn_seen;

typedef struct nn_found {
    double loss;   /* of the unlabelled samples, before weighting */
    size_t kept;   /* how many of them counted */
    float *counts; /* pseudo-labels used, per class; starts at 0 */
} nn_found;

/* A method's own numbers that a checkpoint stores. */
typedef struct nn_kept {
    const char *name;
    float *numbers;
    size_t count;
} nn_kept;

enum { NN_KEPT = 4, NN_VIEWS = 3 };

typedef struct nn_method {
    const char *name;
    void *arg; /* passed to the functions below */
    const size_t *rows;
    size_t n, batch;        /* of rows; per step */
    unsigned graded, aside; /* number of views; at most NN_VIEWS together, aside 0 or 1 */
    bool teacher;           /* the averaged weights evaluate the aside views */
    bool grows;             /* the average warms up: it forgets faster in the beginning */
    const scant__views *views; /* weak augmentation of labelled samples; NULL: none */
    size_t scratch;            /* bytes of scratch for view */
    uint64_t hash;             /* of what must match on resuming beside the options */
    nn_kept kept[NN_KEPT];
    size_t n_kept;
    /* Makes graded + aside inputs of one sample, before the network's scaling.
     * Thread-safe. draw: one per sample and step. */
    void (*view)(void *arg, uint64_t draw, const float *in, float *const *out,
                 void *scratch);
    /* After the pass without gradient: which samples' graded views to evaluate. Writes a
     * permutation of 0..n-1 to chosen and returns how many of its first to evaluate.
     * NULL: all. Only with one graded view. */
    size_t (*choose)(void *arg, const nn_seen *seen, size_t *chosen);
    void (*evaluate)(void *arg, const nn_seen *seen, nn_found *found);
    /* Checks the kept numbers after reading them from a file. NULL: always valid. */
    bool (*check)(void *arg);
} nn_method;

/* scant_net_train() with a method (NULL: supervised). Options implied by the method must
 * be set in opts. */
scant_status nn_train(scant_net *net, const scant_data *data,
                      const scant_train_opts *opts, const nn_method *method,
                      scant_train_state *state);

/* Defaults of the table of options and of the optimizer (NULL: the table's). */
void nn_train_defaults(const char *optimizer, scant_train_opts *opts);
/* Sets one option by its text, which must be a value of it. */
void nn_train_set(scant_train_opts *opts, const char *key, const char *text);
/* Hashes the options, except the batch size and those that say when a training ends. */
uint64_t nn_train_hash(uint64_t hash, const scant_train_opts *opts);
/* Whether every option is within its range. */
scant_status nn_train_check(scant_ctx *ctx, const scant_train_opts *opts);

#endif
