/* SPDX-License-Identifier: Apache-2.0
 *
 * One training step.
 *
 * With a method, labelled samples and then the grad views of unlabelled ones form one
 * batch, so that normalisation uses both. If the method chooses some unlabelled samples,
 * the others skip the pass; such a method must not be used with a network that normalises
 * by the batch. A plan has a fixed size, so the number chosen is rounded up to 0, 1/4,
 * 1/2, 3/4 or all of them, each with its own plan made on first use; surplus rows have no
 * gradient.
 */
#include <math.h>
#include <string.h>

#include "nn/noise.h"
#include "nn/train.h"

enum { SIZES = 4 };

scant_status nn_train_diverged(nn_trainer *t) {
    nn_weights *w = t->net->weights;
    memcpy(w->values, t->good, w->n_floats * sizeof *w->values);
    t->state.signs |= SCANT_SIGN_DIVERGED;
    return scant__fail(t->ctx, SCANT_EINPUT,
                       "the loss is not a finite number at step %zu (epoch %zu): the "
                       "weights are those of the end of epoch %zu; a smaller lr than "
                       "%g, a longer warmup than %zu steps or clip may help",
                       t->state.step + 1, t->state.epoch, t->good_epoch, t->opts.lr,
                       t->warmup);
}

void nn_train_swap_average(nn_trainer *t) {
    const nn_weights *w = t->net->weights;
    if (t->average) nn_optim_swap(t->ctx, w->n_trained, w->values, t->average);
}

/* ---- unlabelled samples ---- */

scant_status nn_train_nograd(nn_trainer *t) {
    const nn_method *m = t->method;
    nn_plan *plan;
    if (!m || !m->nograd_views) return SCANT_OK;
    const nn_net *net = t->net->net;
    bool random =
        nn_net_has(net, NN_DROPOUT) || nn_net_has(net, NN_NORM) || nn_is_variational(net);
    t->nograd_mode = random ? NN_TRAIN : NN_PREDICT;
    t->nograd_seed = scant__rng_u64(&(scant__rng){t->opts.seed, SCANT__RNG_NOGRAD}, 0);
    t->nograd_logits = TRY_NEW(&t->arena, float, m->batch *nn_trainer_classes(t));
    t->chosen = TRY_NEW(&t->arena, size_t, m->batch);
    return nn_network_plan(t->net, m->batch, t->nograd_mode, &plan);
}

static scant_status nograd_pass(nn_trainer *t, const nn_batch *b) {
    const nn_method *m = t->method;
    size_t width = scant__data_width(t->data);
    nn_plan *plan;
    TRY(nn_network_plan(t->net, m->batch, t->nograd_mode, &plan));
    memcpy(nn_plan_input(plan), b->nograd_input,
           m->batch * width * sizeof *b->nograd_input);
    if (m->teacher) nn_train_swap_average(t);
    scant_status status = nn_plan_forward(plan, t->nograd_seed, t->state.step);
    if (m->teacher) nn_train_swap_average(t);
    TRY(status);
    memcpy(t->nograd_logits, nn_plan_logits(plan),
           m->batch * t->unlabelled.classes * sizeof *t->nograd_logits);
    return SCANT_OK;
}

/* Sets the members of t->unlabelled that are known before the pass with gradient. */
static scant_status begin_unlabelled(nn_trainer *t, const nn_batch *b) {
    const nn_method *m = t->method;
    t->unlabelled = (nn_unlabelled){.step = t->state.step,
                                    .steps = t->state.steps,
                                    .n = m->batch,
                                    .classes = nn_trainer_classes(t),
                                    .items = b->items,
                                    .n_chosen = m->batch,
                                    .n_block = m->batch};
    if (!m->nograd_views) return SCANT_OK;
    TRY(nograd_pass(t, b));
    t->unlabelled.nograd_logits = t->nograd_logits;
    if (!m->choose) return SCANT_OK;
    size_t part = (m->batch + SIZES - 1) / SIZES;
    t->unlabelled.n_chosen = m->choose(m->arg, &t->unlabelled, t->chosen);
    t->unlabelled.n_block =
        size_min(m->batch, (t->unlabelled.n_chosen + part - 1) / part * part);
    t->unlabelled.chosen = t->chosen;
    return SCANT_OK;
}

static void copy_input(const nn_trainer *t, const nn_batch *b, float *input) {
    const nn_unlabelled *u = &t->unlabelled;
    size_t width = scant__data_width(t->data),
           views = t->method ? t->method->grad_views : 0;
    const float *other = b->input + b->count * width;
    bool some = t->method && u->chosen;
    memcpy(input, b->input,
           (b->count + (some ? 0 : views * u->n)) * width * sizeof *input);
    if (!some) return;
    input += b->count * width;
    for (size_t i = 0; i < u->n_block; i++)
        memcpy(input + i * width, other + u->chosen[i] * width, width * sizeof *input);
}

static bool all_finite(const float *x, size_t n) {
    int finite = 1;
    for (size_t i = 0; i < n; i++) finite &= isfinite(x[i]) != 0;
    return finite;
}

/* ---- one step ---- */

/* The pass with gradient, and the loss of the labelled samples. */
static scant_status forward_pass(nn_trainer *t, const nn_batch *b, nn_plan **plan,
                                 nn_score *score) {
    size_t c = nn_trainer_classes(t);
    size_t others = t->method ? t->method->grad_views * t->unlabelled.n_block : 0;
    TRY(nn_network_plan(t->net, b->count + others, NN_TRAIN, plan));
    copy_input(t, b, nn_plan_input(*plan));
    TRY(nn_plan_forward(*plan, t->opts.seed, t->state.step));
    nn_targets wanted = {.weights = b->weights};
    if (t->squared)
        wanted.targets = b->targets;
    else
        wanted.labels = b->labels;
    *score =
        nn_loss(&wanted, b->count, c, nn_plan_logits(*plan), nn_plan_d_logits(*plan));
    score->finite &= all_finite(nn_plan_logits(*plan) + b->count * c, others * c);
    return score->finite && isfinite(score->loss) ? SCANT_OK : nn_train_diverged(t);
}

static scant_status evaluate(nn_trainer *t, const nn_batch *b, nn_plan *plan) {
    const nn_method *m = t->method;
    nn_unlabelled *u = &t->unlabelled;
    size_t at = b->count * u->classes, others = m->grad_views * u->n_block * u->classes;
    nn_method_result *result = &t->result;
    u->logits = nn_plan_logits(plan) + at;
    u->d = nn_plan_d_logits(plan) + at;
    memset(u->d, 0, others * sizeof *u->d);
    result->loss = 0;
    result->kept = 0;
    memset(result->counts, 0, u->classes * sizeof *result->counts);
    m->evaluate(m->arg, u, result);
    return isfinite(result->loss) ? SCANT_OK : nn_train_diverged(t);
}

static void count_unlabelled(nn_trainer *t) {
    const nn_method_result *result = &t->result;
    t->sum_unlabelled_loss += result->loss * (double)t->unlabelled.n;
    t->sum_kept += result->kept;
    t->sum_unlabelled += t->unlabelled.n;
    for (size_t k = 0; k < t->unlabelled.classes; k++) t->counts[k] += result->counts[k];
}

static void average(nn_trainer *t) {
    const nn_weights *w = t->net->weights;
    double decay = t->opts.ema;
    if (!t->average) return;
    if (t->method && t->method->grows)
        decay = fmin(decay, 1 - 1 / (double)(t->before + t->state.step + 1));
    nn_optim_average(t->ctx, decay, w->n_trained, w->values, t->average);
}

scant_status nn_train_step(nn_trainer *t, const nn_batch *b) {
    nn_weights *w = t->net->weights;
    nn_plan *plan;
    nn_score score;
    if (t->method) TRY(begin_unlabelled(t, b));
    TRY(forward_pass(t, b, &plan, &score));
    if (t->state.step % t->per_epoch == 0) {
        memcpy(t->good, w->values, w->n_floats * sizeof *t->good);
        t->good_epoch = t->state.epoch - 1;
    }
    if (t->squared && t->labels) /* accuracy of one-hot targets */
        score.correct = nn_loss(&(nn_targets){.labels = b->labels}, b->count,
                                nn_trainer_classes(t), nn_plan_logits(plan), NULL)
                            .correct;
    if (t->method) TRY(evaluate(t, b, plan));
    TRY(nn_plan_backward(plan));
    nn_kl_add(w, 1 / (double)t->n);
    nn_plan_keep_statistics(plan, t->opts.norm_momentum);
    t->state.lr = t->opts.lr *
                  nn_schedule(t->opts.schedule, t->state.step, t->state.steps, t->warmup);
    nn_optim_step(t->ctx, &t->optim, t->before + t->state.step + 1, t->state.lr,
                  w->n_trained, w->values, w->grads, t->first, t->second, t->decays,
                  t->n_decays);
    average(t);
    t->sum_loss += score.loss * (double)b->count;
    t->sum_correct += score.correct;
    t->sum_samples += b->count;
    if (t->method) count_unlabelled(t);
    nn_train_watch(t, b, nn_plan_logits(plan), score.loss);
    return SCANT_OK;
}

scant_status nn_train_check_weights(nn_trainer *t, const nn_batch *b) {
    nn_plan *plan;
    nn_score score;
    return forward_pass(t, b, &plan, &score);
}
