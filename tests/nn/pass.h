/* SPDX-License-Identifier: Apache-2.0
 *
 * A forward and backward pass of a network over a batch, with all its results; and the
 * parser of a network's options.
 */
#ifndef SCANT_TESTS_NN_PASS_H
#define SCANT_TESTS_NN_PASS_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "nn/loss.h"
#include "nn/network.h"
#include "scant/train.h"

/* Parses "KEY=VALUE,...". opts points into text, which is modified. */
static inline bool options_read(char *text, scant_net_opts *opts) {
    char *rest = text;
    for (char *word; (word = strtok_r(rest, ",", &rest));) {
        char *value = strchr(word, '=');
        if (!value) return false;
        *value++ = 0;
        if (strcmp(word, "norm") == 0)
            opts->norm = value;
        else if (strcmp(word, "head") == 0)
            opts->head = value;
        else if (strcmp(word, "stem") == 0)
            opts->stem = value;
        else if (strcmp(word, "activation") == 0)
            opts->activation = value;
        else if (strcmp(word, "width") == 0)
            opts->width = strtoul(value, NULL, 10);
        else if (strcmp(word, "depth") == 0)
            opts->depth = strtoul(value, NULL, 10);
        else if (strcmp(word, "classes") == 0)
            opts->classes = strtoul(value, NULL, 10);
        else
            return false;
    }
    return true;
}

typedef struct pass {
    size_t rows, classes, width; /* width of the embedding */
    double loss;                 /* mean cross-entropy */
    float *logits, *embedding;
    float *grads; /* of trained parameters, in plain order */
    float *state; /* all parameters and buffers afterwards, in plain order */
} pass;

static inline void pass_end(pass *p) {
    free(p->logits);
    free(p->embedding);
    free(p->grads);
    free(p->state);
    *p = (pass){0};
}

static inline float *floats(size_t count) { return malloc(count * sizeof(float)); }

/* mode: NN_TRAIN, or NN_TRACE for a gradient with running statistics. The caller frees
 * *out by pass_end(), also after a failure. */
static inline scant_status pass_run(scant_net *net, nn_mode mode, size_t rows,
                                    const float *x, const int32_t *y, pass *out) {
    nn_plan *plan;
    size_t input = nn_shape_size(nn_net_input(net->net)) * rows;
    pass p = {.rows = rows,
              .classes = scant_net_classes(net),
              .width = scant_net_features(net)};
    *out = p;
    TRY(nn_network_plan(net, rows, mode, &plan));
    p.logits = floats(rows * p.classes);
    p.embedding = floats(rows * p.width);
    p.grads = floats(net->net->n_trained);
    p.state = floats(net->net->n_floats);
    *out = p;
    if (!p.logits || !p.embedding || !p.grads || !p.state) return SCANT_ENOMEM;
    memcpy(nn_plan_input(plan), x, input * sizeof *x);
    TRY(nn_plan_forward(plan, 0, 0));
    memcpy(p.logits, nn_plan_logits(plan), rows * p.classes * sizeof *x);
    memcpy(p.embedding, nn_plan_features(plan), rows * p.width * sizeof *x);
    out->loss = nn_loss(&(nn_targets){.labels = y}, rows, p.classes, p.logits,
                        nn_plan_d_logits(plan))
                    .loss;
    TRY(nn_plan_backward(plan));
    TRY(nn_weights_unpack(net->weights, net->weights->grads, true, p.grads));
    if (mode == NN_TRAIN) nn_plan_keep_statistics(plan, 0.1);
    return nn_weights_get(net->weights, p.state);
}

#endif
