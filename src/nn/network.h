/* SPDX-License-Identifier: Apache-2.0
 *
 * The handle: a network, its weights, and the plans made for it so far.
 */
#ifndef SCANT_NN_NETWORK_H
#define SCANT_NN_NETWORK_H

#include "data/names.h"
#include "nn/plan.h"
#include "scant/train.h"

enum { NN_PLANS = 9 }; /* kept; the one unused longest makes room */

struct scant_net {
    scant_ctx *ctx;
    nn_net *net;
    nn_backend *backend;
    nn_weights *weights;
    struct {
        nn_plan *plan;
        nn_mode mode;
        uint64_t used;
    } plans[NN_PLANS];
    uint64_t clock;
    float *mean, *deviation; /* a channel each, taken off and divided by; NULL: nothing */
    scant__names class_names; /* empty, or one a class */
    struct nn_draws *drawn;   /* of its last layer (nn/draws.h); NULL: none yet */
    scant_net **members;      /* further ones of the ensemble that it stands for */
    size_t n_members;
    scant_net_opts opts; /* what it was made with; words point into words[] */
    char words[5][16];
};

/* The plan for batches of that size: one made before, or a new one. Borrowed from net;
 * it stays until another is asked for (and longer where memory allows). */
scant_status nn_network_plan(scant_net *net, size_t batch, nn_mode mode, nn_plan **out);

/* What scant_net_set_scaling() refuses. */
scant_status nn_network_check_scaling(const scant_net *net, const float *mean,
                                      const float *deviation);

#endif
