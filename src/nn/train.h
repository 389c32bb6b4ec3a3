/* SPDX-License-Identifier: Apache-2.0
 *
 * Internals of training: train.c runs the steps, train_step.c is one step, train_opts.c
 * resolves options, train_batches.c provides samples, train_state.c is the checkpoint.
 */
#ifndef SCANT_NN_TRAIN_H
#define SCANT_NN_TRAIN_H

#include "core/prefetch.h"
#include "nn/input.h"
#include "nn/loss.h"
#include "nn/method.h"
#include "nn/optim.h"
#include "scant/train.h"

/* A batch being prepared, with `room` for samples. */
typedef struct nn_batch {
    size_t count;
    size_t *picks; /* positions in trainer.rows */
    float *input;
    int32_t *labels;
    float *targets, *weights;
    float *row; /* one sample, before augmentation */
    /* with a method: the unlabelled samples, positions in its rows. Their graded views
     * follow the labelled samples in input, view after view. */
    size_t *items;
    float *aside;
    void *scratch;
} nn_batch;

/* Samples handed out cyclically, in a new random order each pass. */
typedef struct nn_cycle {
    size_t n;
    uint32_t purpose; /* of random numbers */
    size_t *order;    /* of pass order_of */
    uint64_t order_of;
} nn_cycle;

enum { NN_BATCHES = 4 };

typedef struct nn_trainer {
    scant_ctx *ctx;
    scant_net *net;
    const scant_data *data;
    const nn_method *method; /* NULL: supervised */
    scant_train_opts opts;   /* with every default filled in */
    scant__arena arena;
    nn_optim_opts optim;
    nn_schedule_kind schedule;
    bool squared;
    bool changed; /* samples are augmented by views */
    scant__views views;
    /* samples: */
    size_t n, batch, per_epoch; /* steps per epoch */
    const size_t *rows;
    const int32_t *labels; /* in the order of rows; or */
    const float *targets;  /* by row of the data */
    double *running;       /* cumulative weights, if samples are drawn by weight */
    nn_cycle cycle, others;
    nn_batch batches[NN_BATCHES];
    /* unlabelled samples of a step: */
    nn_seen seen;
    nn_mode aside_mode;
    uint64_t aside_seed;
    float *aside_logits;
    size_t *chosen;
    nn_found found; /* of this step: counted once it is done */
    /* vectors like weights->values; NULL: not needed */
    float *first, *second; /* the optimiser's, for trained parameters only */
    float *average;        /* of the weights */
    float *good; /* all values at the end of the last good epoch: the next batch's loss
                    was finite */
    size_t good_epoch; /* its number */
    float *best;       /* all values at the best validation score */
    double best_score;
    size_t best_epoch;
    nn_span *decays; /* where weight decay applies */
    size_t n_decays;
    size_t before;  /* steps of the earlier training that moments and average come from */
    double kept_at; /* time of the last checkpoint, or the start */
    /* progress: */
    double sum_loss;
    size_t sum_correct, sum_samples;
    double sum_other; /* unlabelled samples: their loss, */
    size_t sum_kept, sum_seen;
    float *counts; /* and their pseudo-labels per class */
    scant_train_state state;
} nn_trainer;

static inline size_t nn_trainer_classes(const nn_trainer *t) {
    return scant_net_classes(t->net);
}

/* Checks the call and fills in every default. */
scant_status nn_train_settle(nn_trainer *t, const scant_train_opts *opts);
/* Chooses the samples and allocates batches. */
scant_status nn_train_samples(nn_trainer *t);
/* Checks that validation samples exist and have valid labels. */
scant_status nn_train_check_valid(nn_trainer *t);
/* Starts prefetching batches from step `first` on. */
scant_status nn_train_prefetch(nn_trainer *t, size_t first, scant__prefetch **out);

/* Prepares the method's pass without gradient, if it has one. */
scant_status nn_train_aside(nn_trainer *t);
/* Forward, loss, backward, update. A loss that is not finite ends the training. */
scant_status nn_train_step(nn_trainer *t, const nn_batch *b);
/* Tests the weights on the batch of the step before. */
scant_status nn_train_check_weights(nn_trainer *t, const nn_batch *b);
/* Restores the weights of the last good epoch and reports the error. */
scant_status nn_train_diverged(nn_trainer *t);
/* Swaps the averaged weights in, or out again. */
void nn_train_swap_average(nn_trainer *t);

/* Writes and reads the checkpoint (path NULL: none). One of another training is refused.
 * */
scant_status nn_train_save(nn_trainer *t, const char *path);
scant_status nn_train_load(nn_trainer *t, const char *path);
/* Starts from the end of another training of the same network: opts.warm. */
scant_status nn_train_warm(nn_trainer *t);

#endif
