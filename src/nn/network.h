/* SPDX-License-Identifier: Apache-2.0
 *
 * The network handle: structure, weights, and cached plans.
 */
#ifndef SCANT_NN_NETWORK_H
#define SCANT_NN_NETWORK_H

#include "data/names.h"
#include "nn/plan.h"
#include "scant/train.h"

enum { NN_PLANS = 9 }; /* cached plans; the least recently used one is replaced */

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
    float *mean, *deviation;  /* per channel: subtracted, divided by; NULL: none */
    scant__names class_names; /* empty, or one per class */
    struct nn_draws *drawn;   /* of its last layer (nn/draws.h); NULL: none yet */
    scant_net **members;      /* further members of its ensemble */
    size_t n_members;
    scant_net_opts opts; /* as created; strings point into words[] */
    char words[5][16];
};

/* The plan for this batch size, cached or new. Borrowed from net; valid until the next
 * call (longer if memory allows). */
scant_status nn_network_plan(scant_net *net, size_t batch, nn_mode mode, nn_plan **out);

/* The checks of scant_net_set_scaling(). */
scant_status nn_network_check_scaling(const scant_net *net, const float *mean,
                                      const float *deviation);

#endif
