/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes and trains networks by a recipe (scant_recipe), for experiments and projects.
 * `scant train` also makes its network here (scant_recipe_make()), but then moves an
 * earlier training aside, writes train.json and calls scant_net_train() itself.
 *
 * Members of an ensemble are trained independently, side by side: up to one for each
 * thread of the context, with the threads shared equally. The weights do not depend on
 * the thread count as long as there is at most one thread per member.
 */
#ifndef SCANT_LOOP_LEARN_H
#define SCANT_LOOP_LEARN_H

#include <stdbool.h>

#include "nn/network.h"

/* The training of one member. */
typedef struct learn_job {
    size_t member;
    /* Callbacks run on the thread that called learn_train(). Members that train side by
     * side report about ten times a second, not after every step. */
    scant_train_opts opts;
    /* If the checkpoint cannot be read, start over with a warning instead of failing. */
    bool start_over;
    bool done;               /* out: trained, and its weights are in the network */
    scant_train_state state; /* out: how the training ended */
} learn_job;

/* Returns status; on failure frees *net and sets it to NULL. */
scant_status learn_free_on_failure(scant_status status, scant_net **net);

/* Whether a training that ended so has collapsed. */
bool learn_has_collapsed(scant_status status, const scant_train_state *state);
/* Says that it has, and that it is repeated. signs: scant_train_signs_text(). */
void learn_warn_repeated(scant_ctx *ctx, const char *signs);

/* Mutes the messages of a context until the end of the scope:
 *     AUTO(learn_unmute) learn_mute mute = learn_mute_log(ctx); */
typedef struct learn_mute {
    scant_ctx *ctx;
    void (*log)(void *user, scant_log_level level, const char *text);
} learn_mute;
learn_mute learn_mute_log(scant_ctx *ctx);
void learn_unmute(learn_mute *mute);

/* Trains members of net, which was made by the recipe for data. The first failure cancels
 * the others. When cancelled, each job that has begun has written its checkpoint. */
scant_status learn_train(scant_net *net, const scant_data *data,
                         const scant_recipe *recipe, learn_job *jobs, size_t n);

#endif
