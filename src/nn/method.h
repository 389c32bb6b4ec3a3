/* SPDX-License-Identifier: Apache-2.0
 *
 * What a way of learning from samples without labels adds to a step of training; the
 * layer ssl has one for each. Supervised training is the one loop (train.c) without any
 * of it.
 *
 * A step takes `batch` samples of `rows` beside its labelled ones. Both come in a new
 * random order every time all have been seen, and a batch may span two orders. Of each
 * sample `view` makes graded + aside inputs, ahead of the step and by several threads.
 * The aside ones, if any, go through a pass without gradient first: with dropout and the
 * batch's statistics, as in training, but leaving nothing behind. Then all graded ones go
 * through the network behind the labelled samples in one batch, and `judge` says what
 * they cost. An epoch is once over rows.
 *
 * A step may be broken off in the middle of its passes and is then done again, perhaps by
 * another process that has read the checkpoint: what choose and judge change must come
 * out the same the second time.
 */
#ifndef SCANT_NN_METHOD_H
#define SCANT_NN_METHOD_H

#include "data/augment_views.h"
#include "nn/network.h"
#include "scant/train.h"

/* What a step saw of samples without labels. */
typedef struct nn_seen {
    size_t step, steps;  /* the step's number, from 0; how many there will be */
    size_t n, classes;   /* samples */
    const size_t *items; /* which: places in rows */
    const float *aside;  /* logits without gradient, n x classes; NULL: none */
    /* those of the n, in that order, whose graded views went through the network; NULL:
     * all */
    const size_t *chosen;
    size_t n_chosen;
    /* of the graded views: for each view a block of n_block rows, of which the first
     * n_chosen are looked at */
    size_t n_block;
    const float *logits;
    float *d; /* the gradient by them; zero where nothing is written */
} nn_seen;

typedef struct nn_found {
    double loss;   /* of samples without labels, before it is weighed */
    size_t kept;   /* how many of them counted */
    float *counts; /* a class each, 0 so far: pseudo-labels that were used */
} nn_found;

/* Numbers of the method's own that a checkpoint keeps. */
typedef struct nn_kept {
    const char *name;
    float *numbers;
    size_t count;
} nn_kept;

enum { NN_KEPT = 4, NN_VIEWS = 3 };

typedef struct nn_method {
    const char *name;
    void *arg; /* of the functions below */
    const size_t *rows;
    size_t n, batch;           /* of rows; of a step */
    unsigned graded, aside;    /* views; together at most NN_VIEWS, aside 0 or 1 */
    bool teacher;              /* aside views are looked at by the averaged weights */
    bool grows;                /* the average forgets more quickly in the beginning */
    const scant__views *views; /* how labelled samples are changed, weakly; NULL: not */
    size_t scratch;            /* bytes that view needs */
    uint64_t hash;             /* of options that must be the same to go on */
    nn_kept kept[NN_KEPT];
    size_t n_kept;
    /* One sample, as the data has it, to graded + aside inputs, before a network's
     * scaling. By any thread. draw: one for each sample of each step. */
    void (*view)(void *arg, uint64_t draw, const float *in, float *const *out,
                 void *scratch);
    /* After the pass without gradient: which samples' graded views are worth a pass. A
     * permutation of 0..n-1 goes to chosen; returns how many of its first are meant.
     * NULL: all are. Only where one view is graded. */
    size_t (*choose)(void *arg, const nn_seen *seen, size_t *chosen);
    void (*judge)(void *arg, const nn_seen *seen, nn_found *found);
    /* Whether the kept numbers, read from a file, can be what they say. NULL: always. */
    bool (*check)(void *arg);
} nn_method;

/* Trains as scant_net_train() says, with the method (NULL: supervised). What the method
 * stands for must be filled in opts. */
scant_status nn_train(scant_net *net, const scant_data *data,
                      const scant_train_opts *opts, const nn_method *method,
                      scant_train_state *state);

/* Refuses an option: "what is VALUE: it must be wants". */
scant_status nn_train_wrong(scant_ctx *ctx, const char *what, double value,
                            const char *wants);

#endif
