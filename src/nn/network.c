/* SPDX-License-Identifier: Apache-2.0
 *
 * Creates and frees networks.
 */
#include "nn/network.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "nn/draws.h"
#include "scant/train.h"

/* Stores the options, with the model's init if none is given, and copies their strings.
 */
static void keep_options(scant_net *n, const scant_net_opts *opts) {
    if (opts) n->opts = *opts;
    const char **words[] = {&n->opts.activation, &n->opts.norm,  &n->opts.stem,
                            &n->opts.head,       &n->opts.bayes, &n->opts.init};
    for (int i = 0; i < 6; i++)
        if (*words[i]) {
            snprintf(n->words[i], sizeof n->words[i], "%s", *words[i]);
            *words[i] = n->words[i];
        }
    if (!n->opts.init) n->opts.init = scant_model_find(n->net->model)->init;
}

scant_status scant_net_create(scant_ctx *ctx, const char *model,
                              const scant_net_opts *opts, scant_net **out) {
    *out = NULL;
    NEED(ctx);
    AUTO(scant_net_auto) scant_net *n = scant__zalloc(ctx, 1, sizeof *n);
    if (!n) return SCANT_ENOMEM;
    n->ctx = ctx;
    TRY(nn_model_build(ctx, model, opts, &n->net));
    size_t channels = nn_net_input(n->net).c;
    n->mean = scant__alloc(ctx, 2 * channels, sizeof *n->mean);
    if (!n->mean) return SCANT_ENOMEM;
    n->deviation = n->mean + channels;
    keep_options(n, opts);
    TRY(nn_backend_open(ctx, &n->backend));
    TRY(nn_weights_create(n->net, n->backend, opts ? opts->seed : 0, &n->weights));
    *out = n;
    n = NULL;
    return SCANT_OK;
}

scant_status scant_model_parameters(scant_ctx *ctx, const char *model,
                                    const scant_net_opts *opts, size_t *count) {
    NEED(ctx);
    AUTO(nn_net_auto) nn_net *net = NULL;
    TRY(nn_model_build(ctx, model, opts, &net));
    *count = net->n_trained;
    return SCANT_OK;
}

void scant_net_free(scant_net *n) {
    if (!n) return;
    for (int i = 0; i < NN_PLANS; i++) nn_plan_destroy(n->plans[i].plan);
    for (size_t i = 0; i < n->n_members; i++) scant_net_free(n->members[i]);
    scant__free(n->ctx, n->members);
    nn_draws_free(n->drawn);
    nn_weights_destroy(n->weights);
    nn_backend_close(n->backend);
    nn_net_free(n->net);
    scant__free(n->ctx, n->mean);
    scant__names_end(&n->class_names);
    scant__free(n->ctx, n);
}

scant_status scant_net_reset(scant_net *n, uint64_t seed) {
    NEED(n);
    AUTO(scant__arena_end) scant__arena arena = {.ctx = n->ctx};
    float *plain = TRY_NEW(&arena, float, n->net->n_floats);
    nn_weights_draw(n->net, seed, plain);
    n->trained = false;
    return nn_weights_set(n->weights, plain);
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
    NEED(n);
    size_t c = nn_net_input(n->net).c;
    TRY(nn_network_check_scaling(n, mean, deviation));
    memcpy(n->mean, mean, c * sizeof *mean);
    memcpy(n->deviation, deviation, c * sizeof *deviation);
    n->scaled = true;
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
    NEED(net && member);
    TRY(check_member(net, member));
    TRY_PUSH(net->ctx, net->members, net->n_members, net->room_members, member);
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
    if (s == SCANT_ENOMEM) { /* cached plans may use up the memory */
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
