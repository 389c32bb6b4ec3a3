/* SPDX-License-Identifier: Apache-2.0
 *
 * Plants trainings that collapse: the linker replaces scant_net_train() by a function
 * that adds a sign to the final state of those with a given seed (tests/CMakeLists.txt).
 * Trainings run on one thread.
 */
#ifndef SCANT_TESTS_LOOP_PLANTED_H
#define SCANT_TESTS_LOOP_PLANTED_H

#include <string.h>

#include "scant/train.h"

enum { PLANTED = 8 };

/* Seeds of trainings; 0: none. */
static struct {
    uint64_t collapsed[PLANTED]; /* end with a sign, whatever the network */
    uint64_t diverges[2];
    uint64_t still; /* does not change the weights */
    uint64_t watched;
    size_t warmup; /* of the watched training */
} planted;

scant_status __real_scant_net_train(scant_net *net, const scant_data *data,
                                    const scant_train_opts *opts,
                                    scant_train_state *state);
scant_status __wrap_scant_net_train(scant_net *net, const scant_data *data,
                                    const scant_train_opts *opts,
                                    scant_train_state *state);

scant_status __wrap_scant_net_train(scant_net *net, const scant_data *data,
                                    const scant_train_opts *opts,
                                    scant_train_state *state) {
    scant_train_opts o = *opts;
    if (planted.still && o.seed == planted.still) o.lr = 1e-30;
    for (size_t i = 0; i < 2; i++)
        if (planted.diverges[i] && o.seed == planted.diverges[i]) o.lr = 1e30;
    scant_status status = __real_scant_net_train(net, data, &o, state);
    if (planted.watched && o.seed == planted.watched) planted.warmup = o.warmup;
    for (size_t i = 0; i < PLANTED && status == SCANT_OK; i++)
        if (planted.collapsed[i] && o.seed == planted.collapsed[i])
            state->signs |= SCANT_SIGN_LOSS;
    return status;
}

static inline void plant_nothing(void) { memset(&planted, 0, sizeof planted); }

#endif
