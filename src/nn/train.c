/* SPDX-License-Identifier: Apache-2.0
 *
 * The training loop: forward, loss, backward, update, epoch after epoch until an end
 * condition holds.
 *
 * Everything a step needs is allocated before the first one, except plans for a method
 * that chooses samples: those for smaller batches are made when first needed. Validation
 * and the checkpoint allocate, too. A loss that is not finite ends training with the
 * weights of the last epoch whose following loss was finite, because the step that ruins
 * weights comes before the one that shows it. The last step's weights are tested on its
 * own batch.
 */
#include "nn/train.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "nn/class_names.h"
#include "nn/inference.h"
#include "scant/train.h"

/* ---- set-up ---- */

/* Weight decay applies to weights and, unless disabled, to all other trained parameters
 * except rho, where 0 is not a small deviation. */
static scant_status plan_decay(nn_trainer *t) {
    const nn_net *net = t->net->net;
    const nn_weights *w = t->net->weights;
    t->decays = scant__arena_alloc(&t->arena, net->n_params, sizeof *t->decays);
    if (!t->decays) return SCANT_ENOMEM;
    for (size_t i = 0; i < net->n_params; i++) {
        const nn_param *p = &net->params[i];
        if (!p->trained || p->role == NN_RHO) continue;
        if (t->opts.decay_weights_only && p->role != NN_WEIGHT) continue;
        t->decays[t->n_decays++] =
            (nn_span){w->slices[i].at, w->slices[i].at + w->slices[i].room};
    }
    return SCANT_OK;
}

static float *vector(nn_trainer *t, size_t n, bool wanted, scant_status *s) {
    if (!wanted) return NULL;
    float *v = scant__arena_zalloc(&t->arena, n, sizeof *v);
    if (!v) *s = SCANT_ENOMEM;
    return v;
}

static scant_status set_up(nn_trainer *t) {
    nn_plan *plan;
    TRY(nn_input_fit_scaling(t->net, t->data, NULL, 0));
    if (!t->opts.labels) TRY(nn_class_names_take(t->net, t->data));
    TRY(nn_train_samples(t));
    TRY(nn_train_check_valid(t));
    const nn_method *m = t->method;
    size_t others = m ? m->graded * m->batch : 0;
    TRY(nn_network_plan(t->net, t->batch + others, NN_TRAIN, &plan));
    size_t last = t->n % t->batch; /* the smaller batch at an epoch's end */
    if (!m && last && t->per_epoch * t->batch > t->n)
        TRY(nn_network_plan(t->net, last, NN_TRAIN, &plan));
    TRY(nn_train_aside(t));
    const nn_weights *w = t->net->weights;
    scant_status s = SCANT_OK;
    bool adam = t->optim.kind == NN_ADAM;
    t->first = vector(t, w->n_trained, adam || t->opts.momentum > 0, &s);
    t->second = vector(t, w->n_trained, adam, &s);
    t->average = vector(t, w->n_trained, t->opts.ema > 0, &s);
    t->good = vector(t, w->n_floats, true, &s);
    t->best = vector(t, w->n_floats, t->opts.patience > 0, &s);
    t->counts = vector(t, nn_trainer_classes(t), m != NULL, &s);
    t->found.counts = vector(t, nn_trainer_classes(t), m != NULL, &s);
    if (s != SCANT_OK) return s;
    memcpy(t->good, w->values, w->n_floats * sizeof *t->good);
    if (t->best) memcpy(t->best, w->values, w->n_floats * sizeof *t->best);
    if (t->average) memcpy(t->average, w->values, w->n_trained * sizeof *t->average);
    t->best_score = -INFINITY;
    t->state.steps = t->opts.steps ? t->opts.steps : t->opts.epochs * t->per_epoch;
    t->state.epochs = (t->state.steps + t->per_epoch - 1) / t->per_epoch;
    t->state.valid_loss = t->state.valid_accuracy = -1;
    t->state.unlabelled_loss = t->state.kept = t->state.balance = -1;
    return plan_decay(t);
}

/* ---- an epoch's end ---- */

static scant_status validate(nn_trainer *t) {
    if (!t->opts.valid) return SCANT_OK;
    scant_evaluation e;
    nn_weights *w = t->net->weights;
    nn_train_swap_average(t);
    scant_status s = nn_evaluate(t->net, t->opts.valid, t->opts.valid_rows,
                                 t->opts.n_valid_rows, true, &e, NULL);
    if (s == SCANT_EINPUT && isnan(e.loss)) return nn_train_diverged(t);
    if (s == SCANT_OK) {
        t->state.valid_loss = e.loss;
        t->state.valid_accuracy = e.accuracy;
        double score = scant_data_targets(t->opts.valid) ? -e.loss : e.accuracy;
        if (t->best && score > t->best_score) {
            t->best_score = score;
            t->best_epoch = t->state.epoch;
            memcpy(t->best, w->values, w->n_floats * sizeof *t->best);
        }
    }
    nn_train_swap_average(t);
    return s;
}

/* Checks the end conditions at an epoch's end. */
static void check_end(nn_trainer *t) {
    if (t->opts.until > 0 && t->state.accuracy >= t->opts.until)
        t->state.stopped = SCANT_STOP_UNTIL;
    if (t->best && t->state.epoch - t->best_epoch >= t->opts.patience)
        t->state.stopped = SCANT_STOP_PATIENCE;
    if (!t->state.stopped && t->state.step >= t->state.steps)
        t->state.stopped = SCANT_STOP_EPOCHS;
}

static bool at_end_of_epoch(const nn_trainer *t) {
    return t->state.step % t->per_epoch == 0 || t->state.step == t->state.steps;
}

/* ---- the loop ---- */

/* How evenly pseudo-labels cover the classes: their entropy relative to the maximum. */
static double balance(const float *counts, size_t classes) {
    double sum = 0, entropy = 0;
    for (size_t k = 0; k < classes; k++) sum += (double)counts[k];
    if (!(sum > 0) || classes < 2) return -1;
    for (size_t k = 0; k < classes; k++) {
        double p = (double)counts[k] / sum;
        if (p > 0) entropy -= p * log(p);
    }
    return entropy / log((double)classes);
}

static void measure_others(nn_trainer *t) {
    double seen = (double)t->sum_seen;
    if (!t->sum_seen) return;
    t->state.unlabelled_loss = t->sum_other / seen;
    t->state.kept = (double)t->sum_kept / seen;
    t->state.balance = balance(t->counts, nn_trainer_classes(t));
}

static void measure(nn_trainer *t, double began, size_t first) {
    scant_train_state *s = &t->state;
    size_t samples = t->sum_samples ? t->sum_samples : 1;
    s->loss = t->sum_loss / (double)samples;
    s->accuracy = (double)t->sum_correct / (double)samples;
    if (t->method) measure_others(t);
    s->seconds = scant__now() - began;
    double a_step = t->method ? (double)(t->batch + t->method->batch)
                              : (double)t->n / (double)t->per_epoch;
    if (s->seconds > 0)
        s->samples_per_second = (double)(s->step - first) * a_step / s->seconds;
}

/* Writes the checkpoint, but not more often than once a second: an epoch may be a step or
 * two, cheaper than syncing a file. A crash loses at most a second's work plus an epoch.
 * */
static scant_status save_sometimes(nn_trainer *t) {
    const double pause = 1;
    bool due = t->state.stopped || scant__now() - t->kept_at >= pause;
    if (t->opts.only_cancelled || !due) return SCANT_OK;
    TRY(nn_train_save(t, t->opts.checkpoint));
    t->kept_at = scant__now();
    return SCANT_OK;
}

/* All work at an epoch's end. Until the sums are reset it is still to be done, also after
 * resuming. */
static scant_status end_epoch(nn_trainer *t) {
    scant_train_state *s = &t->state;
    TRY(validate(t));
    check_end(t);
    t->sum_loss = 0;
    t->sum_correct = t->sum_samples = 0;
    t->sum_other = 0;
    t->sum_kept = t->sum_seen = 0;
    if (t->counts) memset(t->counts, 0, nn_trainer_classes(t) * sizeof *t->counts);
    if (t->opts.report) t->opts.report(t->opts.user, s);
    /* after the report: after a crash in between, an epoch is reported twice rather than
     * never */
    return save_sometimes(t);
}

/* A training that was read from a file may stand at an epoch's end. */
static scant_status run_epochs(nn_trainer *t, double began) {
    scant_train_state *s = &t->state;
    if (!s->step || !at_end_of_epoch(t)) return SCANT_OK;
    s->epoch = (s->step - 1) / t->per_epoch + 1;
    s->epoch_ended = 1;
    if (!t->sum_samples) {
        check_end(t);
        return SCANT_OK;
    }
    measure(t, began, s->step);
    return end_epoch(t);
}

static scant_status run(nn_trainer *t, scant__prefetch *prefetch) {
    scant_train_state *s = &t->state;
    double began = scant__now();
    size_t first = s->step, slot;
    t->kept_at = began;
    TRY(run_epochs(t, began));
    while (s->step < s->steps && !s->stopped) {
        s->epoch = s->step / t->per_epoch + 1;
        TRY(scant__prefetch_take(prefetch, &slot));
        TRY(nn_train_step(t, &t->batches[slot]));
        s->step++;
        s->epoch_ended = at_end_of_epoch(t);
        measure(t, began, first);
        if (s->step == s->steps) TRY(nn_train_check_weights(t, &t->batches[slot]));
        if (s->epoch_ended)
            TRY(end_epoch(t));
        else if (t->opts.report)
            t->opts.report(t->opts.user, s);
        if (!s->stopped) TRY(scant__tick(t->ctx, "training", s->step, s->steps));
    }
    return SCANT_OK;
}

static scant_status finish(nn_trainer *t, scant_status status) {
    nn_weights *w = t->net->weights;
    if (status == SCANT_ECANCELLED) {
        t->state.stopped = SCANT_STOP_CANCELLED;
        scant_status kept = nn_train_save(t, t->opts.checkpoint);
        if (kept != SCANT_OK) return kept;
        return scant__fail(t->ctx, SCANT_ECANCELLED, "cancelled after step %zu of %zu",
                           t->state.step, t->state.steps);
    }
    if (status == SCANT_OK) status = nn_train_save(t, t->opts.leave);
    if (status != SCANT_OK) return status;
    if (t->best)
        memcpy(w->values, t->best, w->n_floats * sizeof *w->values);
    else if (t->average)
        memcpy(w->values, t->average, w->n_trained * sizeof *w->values);
    return SCANT_OK;
}

scant_status nn_train(scant_net *net, const scant_data *data,
                      const scant_train_opts *opts, const nn_method *method,
                      scant_train_state *state) {
    nn_trainer t = {.ctx = net->ctx, .net = net, .data = data, .method = method};
    scant__prefetch *prefetch = NULL;
    scant__arena_init(&t.arena, net->ctx);
    scant_status s = nn_train_settle(&t, opts);
    if (s == SCANT_OK) s = set_up(&t);
    const char *from = t.opts.resume_from ? t.opts.resume_from : t.opts.checkpoint;
    bool there = from && (access(from, F_OK) == 0 || errno != ENOENT);
    if (s == SCANT_OK && t.opts.resume && there)
        s = nn_train_load(&t, from);
    else if (s == SCANT_OK && t.opts.warm)
        s = nn_train_warm(&t);
    if (s == SCANT_OK) s = nn_train_prefetch(&t, t.state.step, &prefetch);
    if (s == SCANT_OK) s = finish(&t, run(&t, prefetch));
    scant__prefetch_end(prefetch);
    if (state) *state = t.state;
    scant__arena_end(&t.arena);
    return s;
}
