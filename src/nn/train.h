/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside training: train.c runs the steps, train_step.c is one of them, train_opts.c says
 * what they are to be, train_batches.c brings the samples, train_state.c keeps a file to
 * go on from.
 */
#ifndef SCANT_NN_TRAIN_H
#define SCANT_NN_TRAIN_H

#include "core/ahead.h"
#include "nn/input.h"
#include "nn/loss.h"
#include "nn/method.h"
#include "nn/optim.h"
#include "scant/train.h"

/* A batch on its way: `room` samples fit. */
typedef struct nn_batch {
    size_t count;
    size_t *picks; /* positions in trainer.rows */
    float *input;
    int32_t *labels;
    float *targets, *weights;
    float *row; /* one sample, before it is changed at random */
    /* of a method: the samples without labels, places in its rows. Their graded views
     * stand in input behind the labelled samples, view after view. */
    size_t *items;
    float *aside;
    void *scratch;
} nn_batch;

/* Samples that are handed out again and again, in a new random order each time. */
typedef struct nn_cycle {
    size_t n;
    uint32_t purpose; /* of random numbers */
    size_t *order;    /* of the pass that order_of names */
    uint64_t order_of;
} nn_cycle;

enum { NN_BATCHES = 4 };

typedef struct nn_trainer {
    scant_ctx *ctx;
    scant_net *net;
    const scant_data *data;
    const nn_method *method; /* NULL: supervised */
    scant_train_opts opts;   /* every default filled in */
    scant__arena arena;
    nn_optim_opts optim;
    nn_schedule_kind schedule;
    bool squared;
    bool changed; /* samples are, at random, as views says */
    scant__views views;
    /* samples */
    size_t n, batch, per_epoch; /* steps an epoch */
    const size_t *rows;
    const int32_t *labels; /* in the order of rows; or */
    const float *targets;  /* by row of the data */
    double *running;       /* sums of weights, where samples are drawn */
    nn_cycle cycle, others;
    nn_batch batches[NN_BATCHES];
    /* what a step saw of samples without labels */
    nn_seen seen;
    nn_mode aside_mode;
    uint64_t aside_seed;
    float *aside_logits;
    size_t *chosen;
    nn_found found; /* of this step: counted once it is done */
    /* vectors like weights->values; NULL: not needed */
    float *first, *second; /* the optimiser's, of trained ones alone */
    float *average;        /* of the weights */
    float *good;           /* all values, of the last epoch's end that went well: the next
                            * batch's loss was finite with them */
    size_t good_epoch;     /* which */
    float *best;           /* all values, when validation was best */
    double best_score;
    size_t best_epoch;
    nn_span *decays; /* where weight decay applies */
    size_t n_decays;
    size_t before;  /* steps of the training that its moments and average come from */
    double kept_at; /* when the checkpoint was written, or else the training began */
    /* where it stands */
    double sum_loss;
    size_t sum_correct, sum_samples;
    double sum_other; /* of samples without labels: their loss, */
    size_t sum_kept, sum_seen;
    float *counts; /* and their pseudo-labels, a class each */
    scant_train_state state;
} nn_trainer;

static inline size_t nn_trainer_classes(const nn_trainer *t) {
    return scant_net_classes(t->net);
}

/* Checks the call and fills in every default. */
scant_status nn_train_settle(nn_trainer *t, const scant_train_opts *opts);
/* Which samples, and room for batches of them. */
scant_status nn_train_samples(nn_trainer *t);
/* Whether samples to validate on are there and have labels that fit. */
scant_status nn_train_check_valid(nn_trainer *t);
/* Batches from step `first` on. */
scant_status nn_train_ahead(nn_trainer *t, size_t first, scant__ahead **out);

/* The pass without gradient and room for what comes of it, where a method has one. */
scant_status nn_train_aside(nn_trainer *t);
/* Forward, loss, backward, update. A loss that is not finite ends the training. */
scant_status nn_train_step(nn_trainer *t, const nn_batch *b);
/* Whether the weights are still fine, on the batch of the step before. */
scant_status nn_train_try(nn_trainer *t, const nn_batch *b);
/* The weights of the last good epoch come back, and a sentence is said. */
scant_status nn_train_spoiled(nn_trainer *t);
/* Swaps the averaged weights in, or out again. */
void nn_train_swap_average(nn_trainer *t);

/* The file to go on from. Reading one that is of another training is refused. */
scant_status nn_train_keep(nn_trainer *t, const char *path); /* NULL: none */
scant_status nn_train_recall(nn_trainer *t, const char *path);
/* Begins where another training of the same network ended: opts.warm. */
scant_status nn_train_warm(nn_trainer *t);

#endif
