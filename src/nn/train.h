/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside training: train.c runs the steps, train_opts.c says what they are to be,
 * train_batches.c brings the samples, train_state.c keeps a file to go on from.
 */
#ifndef SCANT_NN_TRAIN_H
#define SCANT_NN_TRAIN_H

#include "core/ahead.h"
#include "nn/feed.h"
#include "nn/loss.h"
#include "nn/optim.h"

/* A batch on its way: `room` samples fit. */
typedef struct nn_batch {
    size_t count;
    size_t *picks; /* positions in trainer.rows */
    float *input;
    int32_t *labels;
    float *targets, *weights;
    float *row; /* one sample, before it is changed at random */
} nn_batch;

enum { NN_BATCHES = 4 };

typedef struct nn_trainer {
    scant_ctx *ctx;
    scant_net *net;
    const scant_data *data;
    scant_train_opts opts; /* every default filled in */
    scant__arena arena;
    nn_optim_opts optim;
    nn_schedule_kind schedule;
    bool squared, crop, flip;
    /* samples */
    size_t n, batch, per_epoch; /* steps an epoch */
    const size_t *rows;
    const int32_t *labels; /* in the order of rows; or */
    const float *targets;  /* by row of the data */
    double *running;       /* sums of weights, where samples are drawn */
    size_t *order;         /* of the epoch that order_of names */
    size_t order_of;
    nn_batch batches[NN_BATCHES];
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
    /* where it stands */
    double sum_loss;
    size_t sum_correct, sum_samples;
    scant_train_state state;
} nn_trainer;

/* Checks the call and fills in every default. */
scant_status nn_train_settle(nn_trainer *t, const scant_train_opts *opts);
/* Which samples, and room for batches of them. */
scant_status nn_train_samples(nn_trainer *t);
/* Whether samples to validate on are there and have labels that fit. */
scant_status nn_train_check_valid(nn_trainer *t);
/* Batches from step `first` on. */
scant_status nn_train_ahead(nn_trainer *t, size_t first, scant__ahead **out);

/* The file to go on from. Reading one that is of another training is refused. */
scant_status nn_train_keep(nn_trainer *t);
scant_status nn_train_recall(nn_trainer *t);

#endif
