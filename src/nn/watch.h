/* SPDX-License-Identifier: Apache-2.0
 *
 * Watches a training for signs that it fails (scant_train_sign). It only observes: the
 * weights do not depend on it.
 *
 * The steps are divided into windows. A window is a twentieth of all steps, but not
 * longer than a quarter of the steps before it, so that a training that stops early has
 * windows, too. It has at least ten steps and a hundred samples. During a window the
 * watch sums the loss, compares the outputs of each step's samples, counts pseudo-labels,
 * measures the gradient's norm at every eighth step, and marks the units that had a
 * gradient. At the window's end it compares the sums with what any training should reach;
 * the result holds until the end of the next window.
 *
 * A unit (an output of a dense layer, a channel of a convolution or normalisation) with a
 * ReLU behind it is dead if the gradient of its bias was exactly 0 in every step of the
 * window: the ReLU was 0 for all samples, so no step can change its weights. If all units
 * of a layer are dead, the layers before it have no gradient either; they are not
 * counted. Once the labels are solved (the loss is practically 0), no unit has a
 * gradient: then none counts as dead.
 *
 * Cost per step: one comparison for each watched unit, a pass over the outputs, and at
 * every eighth step one over the gradient.
 */
#ifndef SCANT_NN_WATCH_H
#define SCANT_NN_WATCH_H

#include "nn/network.h"
#include "scant/train.h"

/* A layer whose units can die. */
typedef struct nn_watched {
    int node, bias;
    size_t first, count; /* its units, in nn_watch.alive */
} nn_watched;

/* What a window showed. */
typedef struct nn_watched_window {
    size_t end;            /* number of its last step; 0: no window is complete */
    size_t unlabelled;     /* number of unlabelled samples */
    double loss, noise;    /* mean loss; its standard error over the steps */
    double kept;           /* mean weight of the pseudo-labels, 0 to 1 */
    double spread;         /* mean variance of an output between the samples of a step;
                              negative: unknown, because steps have one sample each */
    double dead;           /* largest share of dead units of a layer */
    size_t dead_layer;     /* 1 + index of that layer; 0: none has dead units */
    double gradient_norm;  /* mean; negative: no window is complete */
    double pseudo_classes; /* effective number of classes of the pseudo-labels; 0: none */
} nn_watched_window;

typedef struct nn_watch {
    nn_watched *layers;
    size_t n_layers, n_units, n_classes;
    bool has_act;     /* the network has activations */
    double constant;  /* loss of the best constant prediction; 0: unknown */
    double diversity; /* effective number of classes of the labels; 0: unknown */
    /* The current window. A checkpoint has these and the members below. */
    float *alive;  /* per unit: 1 if it had a gradient, else 0 */
    float *counts; /* per class: number of pseudo-labels; NULL: there are none */
    size_t begin;  /* number of steps before it */
    double loss, squares, norm, kept, spread;
    size_t samples, norms, unlabelled, compared;
    double start_loss, start_spread; /* of the first step */
    nn_watched_window last;          /* the last complete window */
    size_t signs;                    /* scant_train_sign bits: what it is found to show */
} nn_watch;

/* What a step did. */
typedef struct nn_watched_step {
    size_t step, steps;   /* number of the step, from 1; their total */
    size_t warmup;        /* steps of the warm-up */
    double loss;          /* mean loss of the labelled samples */
    const float *outputs; /* of these samples, samples x classes */
    size_t samples;
    double kept;         /* sum of the weights with which unlabelled samples counted */
    size_t unlabelled;   /* number of unlabelled samples */
    const float *counts; /* per class: pseudo-labels; NULL: there are none */
} nn_watched_step;

/* The samples that the loss is computed on. */
typedef struct nn_watched_samples {
    size_t n;
    const int32_t *labels; /* of each sample; NULL: targets */
    const float *targets;  /* by row of the data */
    const size_t *rows;    /* of each sample */
    const float *weights;  /* of each sample; NULL: 1 each */
    bool drawn;            /* weights are sampling probabilities, not factors */
    bool squared;          /* the loss is the squared error */
    bool pseudo;           /* the method has pseudo-labels */
} nn_watched_samples;

/* Finds the layers to watch, and what a constant prediction reaches. Arrays are allocated
 * in arena. */
scant_status nn_watch_begin(nn_watch *watch, scant__arena *arena, const nn_net *net,
                            const nn_watched_samples *samples);
/* Watches a step, after its backward pass. Returns whether a window is complete. */
bool nn_watch_step(nn_watch *watch, const nn_weights *weights, const nn_watched_step *s);
/* Returns the window that would end now: the current one if it is long enough, else the
 * last one. The current window goes on, so that the training can be continued. */
nn_watched_window nn_watch_now(const nn_watch *watch, size_t steps);
/* Sets the last window to one of a training that stops after `steps` steps, perhaps fewer
 * than planned, and finds its signs. */
void nn_watch_stop(nn_watch *watch, const nn_watched_window *window, size_t steps,
                   size_t warmup);
/* Whether a window is late enough for signs in a training of `steps` steps. */
bool nn_watch_is_late(const nn_watched_window *window, size_t steps, size_t warmup);

#endif
