/* SPDX-License-Identifier: Apache-2.0
 *
 * Semi-supervised methods. Each is a file that implements nn/method.h. ssl_train.c
 * resolves options and samples, views.c makes views, methods.c lists the methods.
 */
#ifndef SCANT_SSL_SSL_H
#define SCANT_SSL_SSL_H

#include "nn/input.h"
#include "nn/loss.h"
#include "nn/method.h"
#include "scant/train.h"

/* A training being prepared. Allocations come from the arena. */
typedef struct ssl_setup {
    scant_ctx *ctx;
    scant_net *net;
    const scant_data *data;
    scant_train_opts o; /* options, with the method's defaults */
    scant__arena *arena;
    size_t classes;
    double *counts;       /* per class: number of labels */
    const double *target; /* weight per class, for darp and align; NULL: uniform */
    bool *trains;         /* per sample: used for training, labelled or not */
    bool mixed;           /* all views go through the network together */
    bool augmented;       /* false: views are copies of the sample */
    scant__views views;
    nn_method method; /* rows, n, batch, views and scratch are set before begin */
} ssl_setup;

typedef struct ssl_kind {
    scant_method_info info;                  /* first member: ssl_find() casts it */
    scant_status (*begin)(ssl_setup *setup); /* NULL: supervised */
} ssl_kind;

extern const ssl_kind ssl_supervised, ssl_fixmatch, ssl_freematch, ssl_softmatch,
    ssl_mean_teacher, ssl_pi, ssl_pseudo_label;

const ssl_kind *ssl_find(const char *name); /* NULL: unknown */

/* scant_net_train(). mixed: FixMatch evaluates all views in one pass, as if the network
 * normalised by the batch. */
scant_status ssl_train(scant_net *net, const scant_data *data,
                       const scant_train_opts *opts, bool mixed,
                       scant_train_state *state);

/* Fits the augmentation to the training samples: sets views and augmented. */
scant_status ssl_views_fit(ssl_setup *setup);

/* Make a weak or strong view of a sample; a copy if not setup->augmented. */
void ssl_weak(const ssl_setup *setup, uint64_t draw, const float *in, float *out);
void ssl_strong(const ssl_setup *setup, uint64_t draw, const float *in, float *out,
                void *scratch);

/* The weight of unlabelled samples at step t: the option unlabelled_weight, times
 * exp(-5 (1 - t / ramp)^2) until step `ramp` (Laine and Aila 2017); ramp 0: 0.4 of all
 * steps. */
double ssl_weight(const ssl_setup *setup, const nn_unlabelled *u);

#endif
