/* SPDX-License-Identifier: Apache-2.0
 *
 * Ways of learning from samples without labels: each is a file that fills in what the
 * training core (nn/method.h) asks for. train.c settles the options and the samples,
 * views.c how samples are changed, methods.c lists them all.
 */
#ifndef SCANT_SSL_SSL_H
#define SCANT_SSL_SSL_H

#include "nn/input.h"
#include "nn/loss.h"
#include "nn/method.h"
#include "scant/train.h"

/* A training in the making. What is allocated comes from the arena. */
typedef struct ssl_setup {
    scant_ctx *ctx;
    scant_net *net;
    const scant_data *data;
    scant_train_opts o; /* with the method's defaults */
    scant__arena arena;
    size_t classes;
    bool *trains; /* a sample each: it takes part, with a label or without */
    bool mixed;   /* all views go through the network together */
    bool changed; /* samples are, as views says */
    scant__views views;
    nn_method method; /* rows, n, batch, views and scratch are set for begin */
} ssl_setup;

typedef struct ssl_kind {
    scant_method_info info;                  /* first: methods.c lists kinds by it */
    scant_status (*begin)(ssl_setup *setup); /* NULL: supervised */
} ssl_kind;

extern const ssl_kind ssl_supervised, ssl_fixmatch, ssl_mean_teacher, ssl_pi,
    ssl_pseudo_label;

const ssl_kind *ssl_find(const char *name); /* NULL: there is none */

/* scant_net_train(). mixed: FixMatch looks at all views in one pass, as it does where the
 * network normalises by the batch. */
scant_status ssl_train(scant_net *net, const scant_data *data,
                       const scant_train_opts *opts, bool mixed,
                       scant_train_state *state);

/* What samples are changed by, fitted to those that train: views and changed. */
scant_status ssl_views_fit(ssl_setup *setup);

/* How a sample is changed, as a method's functions see it. */
typedef struct ssl_change {
    bool changed;
    scant__views views;
    uint64_t seed;
} ssl_change;

ssl_change ssl_change_of(const ssl_setup *setup);
void ssl_weak(const ssl_change *change, uint64_t draw, const float *in, float *out);
void ssl_strong(const ssl_change *change, uint64_t draw, const float *in, float *out,
                void *scratch);

/* exp(-5 (1 - t / ramp)^2) until step t is the ramp's, then 1 (Laine and Aila 2017);
 * ramp 0: 0.4 of all steps. */
double ssl_ramp(size_t step, size_t ramp, size_t steps);

#endif
