/* SPDX-License-Identifier: Apache-2.0
 *
 * The network handle: structure, weights, and cached plans.
 */
#ifndef SCANT_NN_NETWORK_H
#define SCANT_NN_NETWORK_H

#include "core/mem.h"
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
    bool trained;             /* its weights are not the initial ones: trained, or read */
    bool scaled;              /* input is scaled: (x - mean) / deviation */
    float *mean, *deviation;  /* per channel; one allocation */
    scant__names class_names; /* empty, or one per class */
    struct nn_draws *drawn;   /* cached posterior draws (nn/draws.h); NULL if none yet */
    scant_net **members;      /* further members of its ensemble */
    size_t n_members, room_members;
    scant_net_opts opts; /* options of its creation; strings point into words[] */
    char words[6][16];
};

DEFINE_AUTO(scant_net, scant_net)

/* Sets *out to the plan for a batch size and mode, cached or new. net owns it; valid
 * until the next call (longer if memory allows). */
scant_status nn_network_plan(scant_net *net, size_t batch, nn_mode mode, nn_plan **out);

/* Checks mean and deviation as scant_net_set_scaling() does. */
scant_status nn_network_check_scaling(const scant_net *net, const float *mean,
                                      const float *deviation);

/* ---- class names (class_names.c) ---- */

/* Encodes the class names for a weights file: separated by commas; commas, spaces,
 * percent signs and bytes that are not printable ASCII become % and two hexadecimal
 * digits. Allocated in arena; *out is NULL if there are none or more than a megabyte. */
scant_status nn_class_names_text(const scant_net *net, scant__arena *arena,
                                 const char **out);
/* Decodes n class names; fails if text is not n names. On SCANT_OK *out is new; free it
 * with scant__names_end(). Messages start with path. */
scant_status nn_class_names_read(scant_ctx *ctx, const char *path, const char *text,
                                 size_t n, scant__names *out);
/* Takes the data's class names if it has any, and as many classes as the network. */
scant_status nn_class_names_take(scant_net *net, const scant_data *data);

#endif
