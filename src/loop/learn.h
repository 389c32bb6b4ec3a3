/* SPDX-License-Identifier: Apache-2.0
 *
 * The learner: networks made by a recipe (scant_recipe) and trained. Experiments,
 * projects and `scant train` all train through this file.
 *
 * An ensemble is a loop around one training. Members train side by side, as many at once
 * as the context has threads, each with an equal share of them. Up to one thread a member
 * the weights do not depend on the thread count.
 */
#ifndef SCANT_LOOP_LEARN_H
#define SCANT_LOOP_LEARN_H

#include <stdbool.h>

#include "scant/train.h"

/* The training of one member. */
typedef struct learn_job {
    size_t member;
    /* Called back on the thread that called learn_train(). The report of a member that
     * trains beside others comes about ten times a second, not after every step. */
    scant_train_opts opts;
    /* A checkpoint that cannot be read costs a warning: the training starts over. Without
     * this it fails. */
    bool start_over;
    bool done;               /* out: trained, and its weights are in the network */
    scant_train_state state; /* out: how the training ended */
} learn_job;

/* Trains members of net, which was made by the recipe for data. The first that fails
 * cancels the others. When cancelled, each job that has begun has left its checkpoint. */
scant_status learn_train(scant_net *net, const scant_data *data,
                         const scant_recipe *recipe, learn_job *jobs, size_t n);

#endif
