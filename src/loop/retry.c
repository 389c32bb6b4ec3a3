/* SPDX-License-Identifier: Apache-2.0
 *
 * A training that has collapsed is repeated once with other initial weights and another
 * order of samples (loop.retry_collapsed), in the same network. Both seeds depend on the
 * run's seed, the round and the part alone. Whether it has collapsed is decided by the
 * signs of its state, never by test samples. The second network is kept, whatever its
 * signs; but if the second training diverges, the run fails.
 *
 * Between the two trainings the part's state is LOOP_COLLAPSED. The second training has
 * no checkpoint: if it is cancelled, a later call starts it over.
 */
#include <math.h>
#include <string.h>

#include "loop/loop.h"
#include "scant/train.h"

loop_health loop_health_of(const scant_train_state *s, size_t trainings) {
    bool known = !(s->gradient_norm < 0), finite = isfinite(s->gradient_norm);
    return (loop_health){.trainings = trainings,
                         .signs = s->signs,
                         .dead = known ? s->dead : -1,
                         .gradient_norm = known && finite ? s->gradient_norm : -1};
}

loop_health loop_health_worst(const loop_health *trainings, size_t n) {
    loop_health worst = {.dead = -1, .gradient_norm = -1};
    for (size_t i = 0; i < n; i++) {
        const loop_health *h = &trainings[i];
        worst.trainings = size_max(worst.trainings, h->trainings);
        worst.signs |= h->signs;
        worst.dead = fmax(worst.dead, h->dead);
        worst.gradient_norm = fmax(worst.gradient_norm, h->gradient_norm);
    }
    return worst;
}

/* Networks that continue from the last round have no other initial weights. */
bool loop_retries(const loop_run *run) {
    const loop_settings *set = &run->job->e->set;
    return set->retry_collapsed && (set->reinit || run->round.number == 0);
}

static void note(loop_run *run, size_t part, const scant_train_state *state,
                 size_t trainings) {
    loop_partial *p = &run->state.partial;
    loop_health health = loop_health_of(state, trainings);
    if (part == LOOP_QUERY) {
        p->query_health = health;
        return;
    }
    p->epochs[part] = state->epoch;
    p->healths[part] = health;
    run->round.trained[part] = *state;
    run->round.trained[part].dead_layer = NULL; /* may be freed before the state */
}

/* Members of an ensemble train side by side; if one has diverged the others were
 * cancelled, and that is a failure. */
bool loop_training_ended(loop_run *run, size_t part, const learn_job *job,
                         scant_status status) {
    char *state = loop_part_state(run, part);
    char text[SCANT_SIGNS_TEXT];
    bool again = *state == LOOP_COLLAPSED;
    bool failed =
        status != SCANT_OK && status != SCANT_ECANCELLED && run->recipe.members > 1;
    if (job->done) status = SCANT_OK;
    bool cancelled = status == SCANT_ECANCELLED;
    if (cancelled && !again) loop_training_cancelled(run, part, &job->opts);
    if (cancelled || (status != SCANT_OK && run->recipe.members > 1)) return false;
    bool repeats =
        !again && loop_retries(run) && learn_has_collapsed(status, &job->state);
    if (status != SCANT_OK && !repeats) return false;
    note(run, part, &job->state, again ? 2 : 1);
    *state = repeats ? LOOP_COLLAPSED : LOOP_TRAINED;
    if (repeats && !failed)
        learn_warn_repeated(run->ctx, scant_train_signs_text(&job->state, text));
    return repeats;
}

static scant_status copy_weights(scant_net *from, scant_net *to) {
    AUTO(scant__arena_end) scant__arena arena = {.ctx = from->ctx};
    float *weights = TRY_NEW(&arena, float, from->net->n_floats);
    TRY(nn_weights_get(from->weights, weights));
    to->trained = from->trained;
    return nn_weights_set(to->weights, weights);
}

scant_status loop_retry_prepare(loop_run *run, size_t part, scant_net *net,
                                learn_job *job) {
    AUTO(scant_net_auto) scant_net *other = NULL;
    size_t round = run->round.number;
    job->opts.seed = loop_net_seed(run, round, part, LOOP_SEED_RETRY_TRAINING);
    job->opts.checkpoint = job->opts.resume_from = NULL;
    job->opts.resume = false;
    TRY(loop_net_make(run, loop_net_seed(run, round, part, LOOP_SEED_RETRY_WEIGHTS), 1,
                      &other));
    return copy_weights(other, net);
}
