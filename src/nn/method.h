/* SPDX-License-Identifier: Apache-2.0
 *
 * The interface of a semi-supervised method, which extends a training step. Each method
 * of src/ssl implements it; supervised training is the same loop (train.c) without a
 * method.
 *
 * A step takes `batch` unlabelled samples of `rows` besides its labelled ones. Both are
 * reshuffled after every pass, and a batch may span two passes. `view` makes grad_views +
 * nograd_views inputs of each sample, before the step and on several threads. The nograd
 * views, if any, first go through a pass without gradient: with dropout and batch
 * statistics as in training, but without updating anything. Then the labelled samples and
 * all grad views go through the network in one batch, and `evaluate` computes the loss of
 * the grad views. An epoch is one pass over rows.
 *
 * A step may be interrupted and repeated, perhaps by another process that has loaded the
 * checkpoint: choose and evaluate must be deterministic and idempotent.
 */
#ifndef SCANT_NN_METHOD_H
#define SCANT_NN_METHOD_H

#include "data/augment_views.h"
#include "nn/network.h"
#include "scant/train.h"

/* The unlabelled samples of a step and the network's outputs for them. */
typedef struct nn_unlabelled {
    size_t step;  /* step number, from 0 */
    size_t steps; /* total steps */
    size_t n;     /* number of samples */
    size_t classes;
    const size_t *items;        /* the samples' positions in rows */
    const float *nograd_logits; /* logits without gradient, n x classes, or NULL */
    /* the samples (0..n-1) whose grad views were evaluated, in order; NULL for all */
    const size_t *chosen;
    size_t n_chosen;
    /* grad views: a block of n_block rows per view; the first n_chosen are valid */
    size_t n_block;
    const float *logits;
    float *d; /* gradient by the logits; initially 0 */
} nn_unlabelled;

typedef struct nn_method_result {
    double loss;   /* loss of the unlabelled samples, before weighting */
    double kept;   /* sum of the weights, 0 to 1, with which unlabelled samples counted */
    float *counts; /* per class: the same sum of its pseudo-labels; initially 0 */
} nn_method_result;

/* A vector of the method's state that a checkpoint stores. */
typedef struct nn_method_vector {
    const char *name;
    float *numbers;
    size_t count;
} nn_method_vector;

enum { NN_VECTORS = 4, NN_VIEWS = 3 };

typedef struct nn_method {
    const char *name;
    void *arg; /* passed to the functions below */
    const size_t *rows;
    size_t n;                  /* number of rows */
    size_t batch;              /* unlabelled samples per step */
    unsigned grad_views;       /* views in the pass with gradient */
    unsigned nograd_views;     /* 0 or 1; at most NN_VIEWS together */
    bool teacher;              /* the pass without gradient uses the averaged weights */
    bool grows;                /* the average warms up: its decay is smaller at first */
    const scant__views *views; /* weak augmentation of labelled samples, or NULL */
    size_t scratch;            /* bytes of scratch for view */
    uint64_t hash;             /* hash of settings that nn_train_hash() does not include;
                                * must match on resuming */
    nn_method_vector vectors[NN_VECTORS];
    size_t n_vectors;
    /* Makes grad_views + nograd_views inputs of one sample, before the network's scaling.
     * Thread-safe. draw: a different number for each sample and step. */
    void (*view)(void *arg, uint64_t draw, const float *in, float *const *out,
                 void *scratch);
    /* Chooses, after the pass without gradient, the samples whose grad view is
     * evaluated: the first k entries of chosen, a permutation of 0..n-1. Returns k.
     * If NULL, all are evaluated. Only if grad_views is 1. */
    size_t (*choose)(void *arg, const nn_unlabelled *u, size_t *chosen);
    void (*evaluate)(void *arg, const nn_unlabelled *u, nn_method_result *result);
    /* Checks vectors after they were read from a file. If NULL, they are always valid. */
    bool (*check)(void *arg);
} nn_method;

/* scant_net_train() with a method (supervised if NULL). Options implied by the method
 * must be set in opts. */
scant_status nn_train(scant_net *net, const scant_data *data,
                      const scant_train_opts *opts, const nn_method *method,
                      scant_train_state *state);

/* Sets all options to their defaults for an optimizer (the default one if NULL). */
void nn_train_defaults(const char *optimizer, scant_train_opts *opts);
/* Sets one option from a valid text. */
void nn_train_set(scant_train_opts *opts, const char *key, const char *text);
/* Hashes the options, except the batch size and the end conditions. */
uint64_t nn_train_hash(uint64_t hash, const scant_train_opts *opts);
/* Fails if an option is out of range or the struct was not filled with defaults. */
scant_status nn_train_check(scant_ctx *ctx, const scant_train_opts *opts);

#endif
