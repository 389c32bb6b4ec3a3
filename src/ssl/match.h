/* SPDX-License-Identifier: Apache-2.0
 *
 * What FixMatch, FreeMatch and SoftMatch share: the prediction for a weak view is the
 * label of the strong view,
 *     mean CE(labelled) + weight * sum_i w_i CE(strong_i, label_i) / n,
 * where n is the number of unlabelled samples of a batch. The methods differ in the
 * weights w_i.
 *
 * If the network normalises by the batch, labelled samples, weak and strong views go
 * through it together. Otherwise a sample's outputs do not depend on the batch: weak
 * views take a pass without gradient, and only the strong views that count are evaluated.
 * Without dropout both ways give the same numbers up to rounding.
 *
 * The averaged network has the running statistics of the trained one, as in the public
 * code. That code updates them with momentum 0.001; here it is the usual 0.1 unless
 * norm_momentum is set, because with 0.001 the initial statistics dominate for some
 * thousand steps.
 *
 * With the option align the predictions for weak views are aligned first (align.h).
 */
#ifndef SCANT_SSL_MATCH_H
#define SCANT_SSL_MATCH_H

#include "ssl/ssl.h"

/* Defaults of training, those of FixMatch's public code. */
#define SSL_MATCH_DEFAULTS                                                               \
    {"optimizer", "sgd"}, {"lr", "0.03"}, {"nesterov", "yes"}, {"weight_decay", "5e-4"}, \
        {"decay_weights_only", "yes"}, {"schedule", "fixmatch"}, {"ema", "0.999"},       \
        {"batch", "64"}, {                                                               \
        "mu", "7"                                                                        \
    }

/* Options that all three read, and the rest of their info: `defaults` is an array. */
#define SSL_MATCH_TAKES "mu unlabelled_weight cut noise drop align darp_target"
#define SSL_MATCH_INFO                                                                   \
    .defaults = defaults, .n_defaults = sizeof defaults / sizeof *defaults,              \
    .uses_labelled = true

typedef struct ssl_match ssl_match;

/* Set by ssl_match_begin(), except the last members. */
struct ssl_match {
    const ssl_setup *setup;
    const scant_ssl_opts *o;
    bool mixed;        /* all views go through the network together */
    size_t n, classes; /* numbers of unlabelled samples and classes */
    /* a batch's weak views: */
    float *probs;           /* predictions, aligned */
    float *confidence;      /* the largest probability of each */
    int32_t *labels;        /* pseudo-labels */
    float *weights;         /* from 0, does not count, to 1 */
    int32_t *chosen_labels; /* the same of those that count */
    float *chosen_weights;
    float *mean; /* align: running mean of predictions, then a stamp; else NULL */
    /* set by the method: */
    void *arg;
    bool unaligned_labels; /* pseudo-labels come from the predictions before alignment */
    /* Sets the weights of a batch; may replace the labels. */
    void (*weigh)(ssl_match *m, const nn_unlabelled *u);
    /* Adds the gradient of a further loss to d (n x classes): of n strong views with
     * these weights. NULL: there is none. */
    void (*add)(ssl_match *m, size_t n, const float *logits, const float *weights,
                float *d);
    bool (*check)(const ssl_match *m); /* checks the state read from a file; or NULL */
};

/* Fills s->method. */
scant_status ssl_match_begin(ssl_setup *s, ssl_match **out);
/* Adds a vector to the method's state. */
void ssl_match_store(ssl_setup *s, const char *name, float *numbers, size_t count);
/* The decay of running means of predictions. */
double ssl_match_decay(const ssl_match *m, const nn_unlabelled *u);
/* Whether all of n numbers are probabilities, up to rounding. */
bool ssl_match_probabilities(const float *x, size_t n);

#endif
