/* SPDX-License-Identifier: Apache-2.0
 *
 * A training that has collapsed is repeated once with other initial weights and another
 * order of samples (loop.retry_collapsed). Both seeds depend on the run's seed, the round
 * and the part alone. Whether it has collapsed is decided by the signs of its state,
 * never by test samples. The second network is kept, whatever its signs.
 *
 * The second training has no checkpoint: if it is cancelled, a later call repeats the
 * first one too.
 */
#include <math.h>
#include <string.h>

#include "loop/loop.h"
#include "scant/train.h"

loop_health loop_health_of(const scant_train_state *s, size_t trainings) {
    bool known = s->gradient_norm >= 0;
    return (loop_health){.trainings = trainings,
                         .signs = s->signs,
                         .dead = known ? s->dead : -1,
                         .gradient_norm = known ? s->gradient_norm : -1};
}

loop_health loop_health_worst(const loop_health *members, size_t n) {
    loop_health worst = {.dead = -1, .gradient_norm = -1};
    for (size_t i = 0; i < n; i++) {
        const loop_health *h = &members[i];
        worst.trainings = size_max(worst.trainings, h->trainings);
        worst.signs |= h->signs;
        worst.dead = fmax(worst.dead, h->dead);
        worst.gradient_norm = fmax(worst.gradient_norm, h->gradient_norm);
    }
    return worst;
}

bool loop_is_retried(const loop_run *run, scant_status status,
                     const scant_train_state *state) {
    const loop_settings *set = &run->job->e->set;
    bool fresh = set->reinit || (run->round.number == 0 && !set->warm);
    return set->retry_collapsed && fresh && learn_has_collapsed(status, state);
}

static scant_status copy_weights(scant_net *from, scant_net *to) {
    AUTO(scant__arena_end) scant__arena arena = {.ctx = from->ctx};
    float *weights = TRY_NEW(&arena, float, from->net->n_floats);
    TRY(nn_weights_get(from->weights, weights));
    to->trained = from->trained;
    return nn_weights_set(to->weights, weights);
}

static void warn(loop_run *run, const scant_train_state *state) {
    char text[SCANT_SIGNS_TEXT];
    scant__warn(run->ctx,
                "the training has collapsed (%s): it is repeated once with "
                "another seed",
                scant_train_signs_text(state, text));
}

static scant_status train_again(loop_run *run, size_t part, learn_job *job) {
    AUTO(scant_net_auto) scant_net *net = NULL;
    size_t round = run->round.number;
    TRY(loop_net_make(run, loop_seed(run->seed, round, part, LOOP_SEED_RETRY_WEIGHTS), 1,
                      &net));
    job->member = 0;
    job->opts.seed = loop_seed(run->seed, round, part, LOOP_SEED_RETRY_TRAINING);
    job->opts.checkpoint = job->opts.resume_from = NULL;
    job->opts.resume = false;
    TRY(learn_train(net, run->job->samples.train, &run->recipe, job, 1));
    return copy_weights(net, loop_part(run, part));
}

scant_status loop_retry(loop_run *run, size_t part, learn_job *job) {
    loop_partial *p = &run->state.partial;
    warn(run, &job->state);
    p->parts[part] = LOOP_NOT_BEGUN; /* until the second training is done */
    TRY(train_again(run, part, job));
    p->parts[part] = LOOP_TRAINED;
    p->epochs[part] = job->state.epoch;
    p->healths[part] = loop_health_of(&job->state, 2);
    run->round.trained[part] = job->state;
    return SCANT_OK;
}
