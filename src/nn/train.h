/* SPDX-License-Identifier: Apache-2.0
 *
 * Internals of training: train.c is the loop, train_step.c one step, train_options.c the
 * table of options, train_batches.c the batches, train_signs.c what the watch (watch.h)
 * found, train_state.c the checkpoint.
 */
#ifndef SCANT_NN_TRAIN_H
#define SCANT_NN_TRAIN_H

#include "core/prefetch.h"
#include "data/safetensors.h"
#include "nn/input.h"
#include "nn/loss.h"
#include "nn/method.h"
#include "nn/optim.h"
#include "nn/watch.h"
#include "scant/train.h"

/* The default learning rates, and both as text for the help. */
#define NN_SGD_LR 0.01
#define NN_ADAM_LR 0.001
#define NN_LR_TEXT NN_QUOTED(NN_SGD_LR) "; adam: " NN_QUOTED(NN_ADAM_LR)
/* The longest warm-up that is not asked for. */
#define NN_WARMUP 200
#define NN_WARMUP_TEXT NN_QUOTED(NN_WARMUP)
#define NN_QUOTED(number) NN_QUOTED_AS_IS(number)
#define NN_QUOTED_AS_IS(number) #number

/* A batch being prepared. */
typedef struct nn_batch {
    size_t count;
    size_t *picks; /* positions in trainer.rows */
    float *input;
    int32_t *labels;
    float *targets, *weights;
    float *row; /* one sample, before augmentation */
    /* with a method: unlabelled samples, as positions in the method's rows. Their grad
     * views follow the labelled samples in input, view after view. */
    size_t *items;
    float *nograd_input;
    void *scratch;
} nn_batch;

/* Samples handed out cyclically, in a new random order each pass. */
typedef struct nn_cycle {
    size_t n;
    uint32_t purpose; /* purpose of its random numbers */
    size_t *order;    /* order of pass order_of */
    uint64_t order_of;
} nn_cycle;

enum { NN_BATCHES = 4 };

typedef struct nn_trainer {
    scant_ctx *ctx;
    scant_net *net;
    const scant_data *data;
    const nn_method *method; /* NULL if supervised */
    scant_train_opts opts;   /* options, with every default filled in */
    scant__arena arena;
    nn_optim_opts optim;
    bool squared;
    bool augmented; /* by views */
    scant__views views;
    /* samples: */
    size_t n, batch;
    size_t per_epoch; /* steps per epoch */
    const size_t *rows;
    const int32_t *labels; /* in the order of rows; NULL for regression */
    const float *targets;  /* regression: by row of the data */
    double *cumulative;    /* cumulative weights, if samples are drawn by weight */
    nn_cycle cycle, unlabelled_cycle;
    nn_batch batches[NN_BATCHES];
    /* unlabelled samples of a step: */
    nn_unlabelled unlabelled;
    nn_mode nograd_mode;
    uint64_t nograd_seed;
    float *nograd_logits;
    size_t *chosen;
    nn_method_result result; /* of the current step, added up when it is complete */
    /* vectors like weights->values; NULL if not needed */
    float *first, *second; /* the optimiser's moments, for trained parameters only */
    float *average;        /* average of the weights */
    float *good;       /* all values after the last epoch that a finite loss followed */
    size_t good_epoch; /* number of that epoch */
    float *best;       /* all values at the best validation score */
    double best_score;
    size_t best_epoch;
    nn_watched_window best_window; /* the last window at that epoch */
    double until;                  /* opts.until */
    size_t until_epoch;            /* the first epoch with that accuracy; 0: none yet */
    nn_span *decays;               /* spans of parameters with weight decay */
    size_t n_decays;
    size_t warmup;
    nn_watch watch;
    uint64_t warned; /* signs that a warning was given for */
    size_t before;   /* warm start: steps of the trainings that the moments come from */
    double kept_at;  /* time of the last checkpoint, or the start */
    /* progress: */
    double sum_loss;
    size_t sum_correct, sum_samples;
    double sum_unlabelled_loss;
    double sum_kept;
    size_t sum_unlabelled;
    float *counts; /* pseudo-labels per class */
    scant_train_state state;
} nn_trainer;

static inline size_t nn_trainer_classes(const nn_trainer *t) {
    return scant_net_classes(t->net);
}

/* Chooses the training samples, checks the validation set, and allocates batches. */
scant_status nn_train_samples(nn_trainer *t);
/* Starts prefetching batches from step `first` on. */
scant_status nn_train_prefetch(nn_trainer *t, size_t first, scant__prefetch **out);

/* Prepares the method's pass without gradient, if it has one. */
scant_status nn_train_nograd(nn_trainer *t);
/* Runs forward, loss, backward, update. A loss that is not finite ends the training. */
scant_status nn_train_step(nn_trainer *t, const nn_batch *b);
/* Tests that the weights give a finite loss on the batch of the last step. */
scant_status nn_train_check_weights(nn_trainer *t, const nn_batch *b);
/* Restores the weights of the last good epoch and reports the error. */
scant_status nn_train_diverged(nn_trainer *t);
/* Watches the step that is complete, of batch b with these outputs and this loss, and
 * warns. */
void nn_train_watch(nn_trainer *t, const nn_batch *b, const float *outputs, double loss);
/* Finds the signs of a training that stops before its last step, and warns. */
void nn_train_watch_stop(nn_trainer *t);
/* Returns the signs of the best weights. Those of the end stand if the best ones are from
 * a part of the training that has no signs. */
void nn_train_watch_best(nn_trainer *t);
/* Shows the results of the watch in the state. */
void nn_train_show_signs(nn_trainer *t);
/* Swaps the averaged weights in, or out again. */
void nn_train_swap_average(nn_trainer *t);

/* Writes the checkpoint, unless path is NULL. */
scant_status nn_train_save(nn_trainer *t, const char *path);
/* The checksum that a checkpoint with this content has. */
uint64_t nn_train_checksum(const scant__tensors *file);
/* Reads a checkpoint; refuses that of another training. */
scant_status nn_train_load(nn_trainer *t, const char *path);
/* Starts from another training's checkpoint (opts.warm) of the same network. */
scant_status nn_train_warm(nn_trainer *t);

#endif
