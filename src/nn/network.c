/* SPDX-License-Identifier: Apache-2.0
 *
 * Creates and frees networks.
 */
#include "nn/network.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "nn/draws.h"
#include "nn/models.h"
#include "scant/train.h"

/* Copies the options' strings. */
static void keep_options(scant_net *n, const scant_net_opts *opts) {
    if (opts) n->opts = *opts;
    const char **words[] = {&n->opts.activation, &n->opts.norm, &n->opts.stem,
                            &n->opts.head, &n->opts.bayes};
    for (int i = 0; i < 5; i++)
        if (*words[i]) {
            snprintf(n->words[i], sizeof n->words[i], "%s", *words[i]);
            *words[i] = n->words[i];
        }
}

scant_status scant_net_create(scant_ctx *ctx, const char *model,
                              const scant_net_opts *opts, scant_net **out) {
    *out = NULL;
    scant_net *n = scant__zalloc(ctx, 1, sizeof *n);
    if (!n) return SCANT_ENOMEM;
    n->ctx = ctx;
    scant_status s = nn_model_build(ctx, model, opts, &n->net);
    if (s == SCANT_OK) keep_options(n, opts);
    if (s == SCANT_OK) s = nn_backend_open(ctx, &n->backend);
    if (s == SCANT_OK)
        s = nn_weights_create(n->net, n->backend, opts ? opts->seed : 0, &n->weights);
    if (s != SCANT_OK) {
        scant_net_free(n);
        return s;
    }
    *out = n;
    return SCANT_OK;
}

scant_status scant_model_parameters(scant_ctx *ctx, const char *model,
                                    const scant_net_opts *opts, size_t *count) {
    nn_net *net;
    TRY(nn_model_build(ctx, model, opts, &net));
    *count = net->n_trained;
    nn_net_destroy(net);
    return SCANT_OK;
}

void scant_net_free(scant_net *n) {
    if (!n) return;
    for (int i = 0; i < NN_PLANS; i++) nn_plan_destroy(n->plans[i].plan);
    for (size_t i = 0; i < n->n_members; i++) scant_net_free(n->members[i]);
    scant__free(n->ctx, n->members);
    nn_draws_destroy(n->ctx, n->drawn);
    nn_weights_destroy(n->weights);
    nn_backend_close(n->backend);
    nn_net_destroy(n->net);
    scant__free(n->ctx, n->mean);
    scant__free(n->ctx, n->deviation);
    scant__names_end(n->ctx, &n->class_names);
    scant__free(n->ctx, n);
}

scant_status scant_net_reset(scant_net *n, uint64_t seed) {
    float *plain = scant__alloc(n->ctx, n->net->n_floats, sizeof *plain);
    if (!plain) return SCANT_ENOMEM;
    nn_weights_draw(n->net, seed, plain);
    scant_status s = nn_weights_set(n->weights, plain);
    scant__free(n->ctx, plain);
    return s;
}

scant_status nn_network_check_scaling(const scant_net *n, const float *mean,
                                      const float *deviation) {
    size_t c = nn_net_input(n->net).c;
    for (size_t i = 0; i < c; i++)
        if (!isfinite(mean[i]) || !isfinite(deviation[i]) || deviation[i] <= 0)
            return scant__fail(n->ctx, SCANT_EINPUT,
                               "scaling of channel %zu: mean is %g and deviation %g, "
                               "expected finite numbers and a positive deviation",
                               i, (double)mean[i], (double)deviation[i]);
    return SCANT_OK;
}

scant_status scant_net_set_scaling(scant_net *n, const float *mean,
                                   const float *deviation) {
    size_t c = nn_net_input(n->net).c;
    TRY(nn_network_check_scaling(n, mean, deviation));
    if (!n->mean) n->mean = scant__alloc(n->ctx, c, sizeof *mean);
    if (!n->deviation) n->deviation = scant__alloc(n->ctx, c, sizeof *deviation);
    if (!n->mean || !n->deviation) {
        scant__free(n->ctx, n->mean);
        n->mean = NULL;
        return SCANT_ENOMEM;
    }
    memcpy(n->mean, mean, c * sizeof *mean);
    memcpy(n->deviation, deviation, c * sizeof *deviation);
    return SCANT_OK;
}

size_t scant_net_parameters(const scant_net *n) { return n->net->n_trained; }

void scant_net_shape(const scant_net *n, size_t shape[3]) {
    nn_shape s = nn_net_input(n->net);
    shape[0] = s.c;
    shape[1] = s.h;
    shape[2] = s.w;
}

size_t scant_net_classes(const scant_net *n) { return n->net->classes; }

size_t scant_net_features(const scant_net *n) {
    return nn_shape_size(n->net->nodes[n->net->features].shape);
}

/* ---- ensembles ---- */

static scant_status check_member(const scant_net *net, const scant_net *member) {
    nn_shape a = nn_net_input(net->net), b = nn_net_input(member->net);
    size_t classes = net->net->classes;
    if (member == net || member->n_members || member->ctx != net->ctx)
        return scant__fail(net->ctx, SCANT_EUSAGE,
                           "a member of an ensemble must be another network of the same "
                           "context and not itself an ensemble");
    if (a.c != b.c || a.h != b.h || a.w != b.w || classes != member->net->classes)
        return scant__fail(net->ctx, SCANT_EINPUT,
                           "members of an ensemble must have the same classes and sample "
                           "shape: %s has %zux%zux%zu and %zu, %s %zux%zux%zu and %zu",
                           net->net->model, a.c, a.h, a.w, classes, member->net->model,
                           b.c, b.h, b.w, member->net->classes);
    for (size_t i = 0; i < classes; i++) {
        const char *own = scant_net_class_name(net, i);
        const char *other = scant_net_class_name(member, i);
        if (own && other && strcmp(own, other) != 0)
            return scant__fail(net->ctx, SCANT_EINPUT,
                               "members of an ensemble must have the same classes: class "
                               "%zu has another name in member %zu",
                               i, net->n_members + 2);
    }
    return SCANT_OK;
}

scant_status scant_net_join(scant_net *net, scant_net *member) {
    TRY(check_member(net, member));
    size_t n = net->n_members;
    scant_net **members = scant__alloc(net->ctx, n + 1, sizeof *members);
    if (!members) return SCANT_ENOMEM;
    if (n) memcpy(members, net->members, n * sizeof *members);
    members[n] = member;
    scant__free(net->ctx, net->members);
    net->members = members;
    net->n_members = n + 1;
    return SCANT_OK;
}

size_t scant_net_members(const scant_net *net) { return net->n_members + 1; }

scant_net *scant_net_member(scant_net *net, size_t i) {
    if (i == 0) return net;
    return i <= net->n_members ? net->members[i - 1] : NULL;
}

size_t scant_net_draws(const scant_net *net) {
    size_t draws = net->net->draws;
    for (size_t i = 0; i < net->n_members; i++) draws += net->members[i]->net->draws;
    return draws;
}

/* ---- plans ---- */

/* Frees a plan; returns whether there was one. */
static bool drop_plan(scant_net *n, int i) {
    bool was = n->plans[i].plan != NULL;
    nn_plan_destroy(n->plans[i].plan);
    n->plans[i].plan = NULL;
    n->plans[i].used = 0;
    return was;
}

scant_status nn_network_plan(scant_net *n, size_t batch, nn_mode mode, nn_plan **out) {
    int oldest = 0;
    for (int i = 0; i < NN_PLANS; i++) {
        if (n->plans[i].plan && n->plans[i].mode == mode &&
            nn_plan_batch(n->plans[i].plan) == batch) {
            n->plans[i].used = ++n->clock;
            *out = n->plans[i].plan;
            return SCANT_OK;
        }
        if (n->plans[i].used < n->plans[oldest].used) oldest = i;
    }
    drop_plan(n, oldest);
    scant_status s = nn_plan_create(n->weights, batch, mode, &n->plans[oldest].plan);
    if (s == SCANT_ENOMEM) { /* other plans may take up the memory */
        bool dropped = false;
        for (int i = 0; i < NN_PLANS; i++) dropped |= drop_plan(n, i);
        if (dropped) s = nn_plan_create(n->weights, batch, mode, &n->plans[oldest].plan);
    }
    TRY(s);
    n->plans[oldest].mode = mode;
    n->plans[oldest].used = ++n->clock;
    *out = n->plans[oldest].plan;
    return SCANT_OK;
}
