/* SPDX-License-Identifier: Apache-2.0
 *
 * The training loop: forward, loss, backward, update, epoch after epoch until an end
 * condition holds.
 *
 * Everything a step needs is allocated before the first one, except plans for a method
 * that chooses samples: those for smaller batches are made when first needed. Validation
 * and checkpoints also allocate. A loss that is not finite ends training. An earlier
 * step has caused it, so training returns to the weights of the last epoch that a finite
 * loss followed. After the last step, the same batch is run again to test the weights.
 */
#include "nn/train.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "nn/inference.h"
#include "scant/train.h"

/* ---- options ---- */

/* Sets the augmentation; a method brings its own. */
static scant_status settle_views(nn_trainer *t) {
    scant_train_opts *o = &t->opts;
    nn_shape s = nn_net_input(t->net->net);
    if (!o->augment || strcmp(o->augment, "auto") == 0) o->augment = "none";
    if (t->method) {
        t->augmented = t->method->views != NULL;
        if (t->augmented) t->views = *t->method->views;
        return SCANT_OK;
    }
    bool flip = strcmp(o->augment, "flip-crop") == 0;
    t->augmented = flip || strcmp(o->augment, "crop") == 0;
    t->views = (scant__views){.c = s.c, .h = s.h, .w = s.w, .images = true, .flip = flip};
    if (!t->augmented && strcmp(o->augment, "none") != 0)
        return scant__fail(t->ctx, SCANT_EUSAGE,
                           "augment is none, flip-crop or crop, not '%s'", o->augment);
    if (t->augmented && !scant__data_is_image(t->data))
        return scant__fail(t->ctx, SCANT_EUSAGE,
                           "augment=%s changes images, and %s has none", o->augment,
                           scant_data_name(t->data));
    return SCANT_OK;
}

/* Checks options against each other and the data, and fills in defaults that depend on
 * them. nn_train_check() checks the range of each option (train_options.c). */
static scant_status settle(nn_trainer *t) {
    scant_train_opts *o = &t->opts;
    bool adam = strcmp(o->optimizer, "adam") == 0;
    bool numbers = scant_data_targets(t->data) != NULL;
    if (!o->loss) o->loss = numbers ? "mse" : "ce";
    t->squared = strcmp(o->loss, "mse") == 0;
    t->optim = (nn_optim_opts){.kind = adam ? NN_ADAM : NN_SGD,
                               .momentum = o->momentum,
                               .beta2 = o->beta2,
                               .nesterov = o->nesterov && o->momentum > 0,
                               .weight_decay = o->weight_decay,
                               .clip = o->clip};
    const struct {
        bool wrong;
        const char *text;
    } checks[] = {
        {o->nesterov && adam, "nesterov needs the sgd optimizer"},
        {o->until > 0 && t->squared && numbers,
         "until is an accuracy, which regression does not have"},
        {o->until_extra && !(o->until > 0), "until_extra needs until"},
        {o->patience && !o->valid, "patience needs samples to validate on"},
        {o->draw && !o->weights, "drawing by weight needs weights"},
        {o->resume && !o->checkpoint, "resume needs a checkpoint"},
    };
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        if (checks[i].wrong)
            return scant__fail(t->ctx, SCANT_EUSAGE, "%s", checks[i].text);
    TRY(settle_views(t));
    return nn_input_check(t->net, t->data);
}

/* ---- set-up ---- */

/* Weight decay applies to weights and, unless disabled, to all other trained parameters
 * except rho: rho = 0 does not mean a small deviation. */
static scant_status plan_decay(nn_trainer *t) {
    const nn_net *net = t->net->net;
    const nn_slice *slices = t->net->weights->slices;
    t->decays = TRY_NEW(&t->arena, nn_span, net->n_params);
    for (size_t i = 0; i < net->n_params; i++) {
        const nn_param *p = &net->params[i];
        if (!p->trained || p->role == NN_RHO) continue;
        if (t->opts.decay_weights_only && p->role != NN_WEIGHT) continue;
        t->decays[t->n_decays++] = (nn_span){slices[i].at, slices[i].at + slices[i].room};
    }
    return SCANT_OK;
}

/* Allocates the optimiser's vectors and copies of the weights. */
static scant_status make_vectors(nn_trainer *t) {
    const nn_weights *w = t->net->weights;
    scant__arena *arena = &t->arena;
    bool adam = t->optim.kind == NN_ADAM;
    if (adam || t->opts.momentum > 0) t->first = TRY_ZERO(arena, float, w->n_trained);
    if (adam) t->second = TRY_ZERO(arena, float, w->n_trained);
    if (t->opts.ema > 0) t->average = TRY_NEW(arena, float, w->n_trained);
    if (t->opts.patience > 0) t->best = TRY_NEW(arena, float, w->n_floats);
    t->good = TRY_NEW(arena, float, w->n_floats);
    memcpy(t->good, w->values, w->n_floats * sizeof *t->good);
    if (t->best) memcpy(t->best, w->values, w->n_floats * sizeof *t->best);
    if (t->average) memcpy(t->average, w->values, w->n_trained * sizeof *t->average);
    if (!t->method) return SCANT_OK;
    t->counts = TRY_ZERO(arena, float, nn_trainer_classes(t));
    t->result.counts = TRY_ZERO(arena, float, nn_trainer_classes(t));
    return SCANT_OK;
}

/* Whether units may die in the first steps: nothing scales the input of a ReLU. */
static bool is_fragile(const nn_trainer *t) {
    return t->watch.n_layers > 0 && !nn_net_has(t->net->net, NN_NORM);
}

/* Sets the warm-up; the number of steps is known. Weights that were trained before have
 * left the first steps behind. */
static scant_status settle_warmup(nn_trainer *t) {
    size_t steps = t->state.steps;
    bool fresh = !t->net->trained && !t->opts.warm;
    t->warmup = t->opts.warmup;
    if (t->warmup == SIZE_MAX)
        t->warmup = fresh && is_fragile(t) ? size_min(steps / 10, NN_WARMUP) : 0;
    if (t->warmup <= steps) return SCANT_OK;
    return scant__fail(t->ctx, SCANT_EUSAGE,
                       "the warmup of %zu steps is longer than the training, which has "
                       "%zu steps",
                       t->warmup, steps);
}

static scant_status begin_watch(nn_trainer *t) {
    return nn_watch_begin(&t->watch, &t->arena, t->net->net,
                          &(nn_watched_samples){.n = t->n,
                                                .labels = t->labels,
                                                .targets = t->targets,
                                                .rows = t->rows,
                                                .weights = t->opts.weights,
                                                .drawn = t->opts.draw,
                                                .squared = t->squared,
                                                .pseudo = t->method != NULL});
}

static scant_status set_up(nn_trainer *t) {
    nn_plan *plan;
    TRY(settle(t));
    TRY(nn_input_fit_scaling(t->net, t->data, NULL, 0));
    if (!t->opts.labels) TRY(nn_class_names_take(t->net, t->data));
    TRY(nn_train_samples(t));
    const nn_method *m = t->method;
    size_t others = m ? m->grad_views * m->batch : 0;
    TRY(nn_network_plan(t->net, t->batch + others, NN_TRAIN, &plan));
    size_t last = t->n % t->batch; /* size of an epoch's smaller last batch */
    if (!m && last && t->per_epoch * t->batch > t->n)
        TRY(nn_network_plan(t->net, last, NN_TRAIN, &plan));
    TRY(nn_train_nograd(t));
    TRY(make_vectors(t));
    t->best_score = -INFINITY;
    t->until = t->opts.until;
    t->state.steps = t->opts.steps ? t->opts.steps : t->opts.epochs * t->per_epoch;
    t->state.epochs = (t->state.steps + t->per_epoch - 1) / t->per_epoch;
    t->state.valid_loss = t->state.valid_accuracy = -1;
    t->state.unlabelled_loss = t->state.kept = t->state.balance = -1;
    TRY(begin_watch(t));
    TRY(settle_warmup(t));
    nn_train_show_signs(t);
    return plan_decay(t);
}

/* ---- end of an epoch ---- */

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
            t->best_window = nn_watch_now(&t->watch, t->state.step);
            memcpy(t->best, w->values, w->n_floats * sizeof *t->best);
        }
    }
    nn_train_swap_average(t);
    return s;
}

/* Checks the end conditions after an epoch. */
static void check_end(nn_trainer *t) {
    if (t->until > 0 && !t->until_epoch && t->state.accuracy >= t->until)
        t->until_epoch = t->state.epoch;
    if (t->until_epoch && t->state.epoch >= t->until_epoch &&
        t->state.epoch - t->until_epoch >= t->opts.until_extra)
        t->state.stopped = SCANT_STOP_UNTIL;
    if (t->best && t->state.epoch - t->best_epoch >= t->opts.patience)
        t->state.stopped = SCANT_STOP_PATIENCE;
    if (!t->state.stopped && t->state.step >= t->state.steps)
        t->state.stopped = SCANT_STOP_EPOCHS;
    if (t->state.stopped) nn_train_watch_stop(t);
}

static bool at_end_of_epoch(const nn_trainer *t) {
    return t->state.step % t->per_epoch == 0 || t->state.step == t->state.steps;
}

/* ---- training loop ---- */

/* Balance of the pseudo-labels over the classes: their entropy divided by its maximum. */
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

static void measure_unlabelled(nn_trainer *t) {
    double seen = (double)t->sum_unlabelled;
    if (!t->sum_unlabelled) return;
    t->state.unlabelled_loss = t->sum_unlabelled_loss / seen;
    t->state.kept = t->sum_kept / seen;
    t->state.balance = balance(t->counts, nn_trainer_classes(t));
}

static void measure(nn_trainer *t, double began, size_t first) {
    scant_train_state *s = &t->state;
    size_t samples = t->sum_samples ? t->sum_samples : 1;
    s->loss = t->sum_loss / (double)samples;
    s->accuracy = (double)t->sum_correct / (double)samples;
    if (t->method) measure_unlabelled(t);
    s->seconds = scant__now() - began;
    double a_step = t->method ? (double)(t->batch + t->method->batch)
                              : (double)t->n / (double)t->per_epoch;
    if (s->seconds > 0)
        s->samples_per_second = (double)(s->step - first) * a_step / s->seconds;
}

/* Writes the checkpoint, at most once a second: a short epoch costs less than an fsync. A
 * crash loses at most a second's work plus an epoch. */
static scant_status save_sometimes(nn_trainer *t) {
    const double pause = 1;
    bool due = t->state.stopped || scant__now() - t->kept_at >= pause;
    if (t->opts.only_cancelled || !due) return SCANT_OK;
    TRY(nn_train_save(t, t->opts.checkpoint));
    t->kept_at = scant__now();
    return SCANT_OK;
}

/* Validation, end conditions and report at an epoch's end. Nonzero sums mean, also
 * after resuming, that this has not been done yet. */
static scant_status end_epoch(nn_trainer *t) {
    scant_train_state *s = &t->state;
    TRY(validate(t));
    check_end(t);
    t->sum_loss = 0;
    t->sum_correct = t->sum_samples = 0;
    t->sum_unlabelled_loss = 0;
    t->sum_kept = 0;
    t->sum_unlabelled = 0;
    if (t->counts) memset(t->counts, 0, nn_trainer_classes(t) * sizeof *t->counts);
    if (t->opts.report) t->opts.report(t->opts.user, s);
    /* after the report: a crash in between repeats a report instead of losing it */
    return save_sometimes(t);
}

/* After resuming at an epoch's end: finishes that epoch, if this has not been done. */
static scant_status run_epochs(nn_trainer *t, double began) {
    scant_train_state *s = &t->state;
    if (!s->step || !at_end_of_epoch(t)) return SCANT_OK;
    s->epoch = (s->step - 1) / t->per_epoch + 1;
    s->epoch_ended = true;
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
        TRY(nn_train_save(t, t->opts.checkpoint));
        return scant__fail(t->ctx, SCANT_ECANCELLED, "cancelled after step %zu of %zu",
                           t->state.step, t->state.steps);
    }
    TRY(status);
    TRY(nn_train_save(t, t->opts.warm_out));
    if (t->best) {
        memcpy(w->values, t->best, w->n_floats * sizeof *w->values);
        nn_train_watch_best(t);
    } else if (t->average) {
        memcpy(w->values, t->average, w->n_trained * sizeof *w->values);
    }
    return SCANT_OK;
}

static scant_status train(nn_trainer *t) {
    AUTO(scant__prefetch_auto) scant__prefetch *prefetch = NULL;
    TRY(set_up(t));
    const char *from = t->opts.resume_from ? t->opts.resume_from : t->opts.checkpoint;
    bool there = from && (access(from, F_OK) == 0 || errno != ENOENT);
    if (t->opts.resume && there)
        TRY(nn_train_load(t, from));
    else if (t->opts.warm)
        TRY(nn_train_warm(t));
    TRY(nn_train_prefetch(t, t->state.step, &prefetch));
    return finish(t, run(t, prefetch));
}

scant_status nn_train(scant_net *net, const scant_data *data,
                      const scant_train_opts *opts, const nn_method *method,
                      scant_train_state *state) {
    nn_trainer t = {.ctx = net->ctx,
                    .arena = {.ctx = net->ctx},
                    .net = net,
                    .data = data,
                    .method = method,
                    .opts = *opts};
    scant_status s = train(&t);
    if (t.state.step) net->trained = true;
    if (state) *state = t.state;
    scant__arena_end(&t.arena);
    return s;
}
