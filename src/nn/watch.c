/* SPDX-License-Identifier: Apache-2.0
 *
 * What the signs mean, and where their bounds come from:
 *
 * - dead: at least DEAD of a layer's units are dead. Or at least MANY of them are, and
 *   the loss is not below UNLEARNT times that of the best constant prediction.
 * - loss: the network predicts the same for all samples: the variance of its outputs is
 *   below SAME times the constant's loss, so that it cannot improve the loss by more than
 *   that, and has fallen below FALL times that of the first step; and the loss is not
 *   below that of the best constant prediction, up to its standard error. Or the loss has
 *   risen RISE times above both the constant's and that of the first step. A network that
 *   has only learned little does not have this sign; one without activations cannot get
 *   stuck, so it never has it.
 * - mask: less than MASK of the unlabelled samples are used.
 * - classes: the effective number of classes is exp(entropy). That of the pseudo-labels,
 *   less 1, is less than CLASSES times that of the labels, less 1. It is no collapse:
 *   labels may be of all classes equally, and the samples not.
 *
 * If the loss is below SOLVED times that of the best constant prediction, the labels are
 * solved: the gradient is 0 for living units too, so no unit counts as dead. Nor does one
 * in a window of fewer than SAMPLES samples: it may be 0 for those by chance.
 *
 * No sign is given for a window that ends within the warm-up, the first quarter of the
 * steps or the first LEAST steps; mask and classes are given in the second half only,
 * because pseudo-labels begin with the easiest classes. docs/networks.md has the
 * measurements that the bounds are from.
 */
#include "nn/watch.h"

#include <math.h>
#include <string.h>

#include "nn/optim.h"

enum { WINDOWS = 20, SHORTEST = 10, SAMPLES = 100, LEAST = 20, NORM_EVERY = 8 };
static const double DEAD = 0.9, MANY = 0.6, UNLEARNT = 0.25, SAME = 4e-4, FALL = 0.5,
                    RISE = 1.25, MASK = 0.01, CLASSES = 0.5;
static const double SOLVED = 1e-6;

/* ---- which layers ------------------------------------------------------------------ */

static bool can_die(nn_act act) { return act == NN_ACT_RELU || act == NN_ACT_RELU6; }

static size_t uses(const nn_net *net, int node) {
    size_t n = 0;
    for (size_t i = 1; i < net->n_nodes; i++)
        n += (size_t)(net->nodes[i].in[0] == node) + (net->nodes[i].in[1] == node);
    return n;
}

/* The layer whose units die with this activation; NN_NONE: none, or nothing shows it. */
static int layer_of(const nn_net *net, const nn_node *act) {
    if (act->kind != NN_ACT || !can_die(act->act)) return NN_NONE;
    const nn_node *layer = &net->nodes[act->in[0]];
    bool weighted =
        layer->kind == NN_CONV || layer->kind == NN_DENSE || layer->kind == NN_NORM;
    if (!weighted || layer->bias_at == NN_NONE || uses(net, act->in[0]) > 1)
        return NN_NONE;
    return net->params[layer->bias_at].trained ? act->in[0] : NN_NONE;
}

static scant_status find_layers(nn_watch *w, scant__arena *arena, const nn_net *net) {
    w->layers = TRY_NEW(arena, nn_watched, net->n_nodes);
    for (size_t i = 1; i < net->n_nodes; i++) {
        int layer = layer_of(net, &net->nodes[i]);
        if (layer == NN_NONE) continue;
        int bias = net->nodes[layer].bias_at;
        size_t count = net->params[bias].count;
        w->layers[w->n_layers++] = (nn_watched){layer, bias, w->n_units, count};
        w->n_units += count;
    }
    w->alive = TRY_ZERO(arena, float, w->n_units + 1);
    return SCANT_OK;
}

/* ---- what a constant prediction reaches -------------------------------------------- */

static double weight_of(const nn_watched_samples *s, size_t i) {
    return s->weights ? (double)s->weights[i] : 1;
}

/* exp(entropy) of the shares of n numbers; 0 if they are all 0. */
static double effective_number(const float *numbers, size_t n) {
    double sum = 0, entropy = 0;
    for (size_t k = 0; k < n; k++) sum += (double)numbers[k];
    for (size_t k = 0; k < n; k++) {
        double share = sum > 0 ? (double)numbers[k] / sum : 0;
        if (share > 0) entropy -= share * log(share);
    }
    return sum > 0 ? exp(entropy) : 0;
}

/* The loss of predicting each class by its share. */
static double constant_label(const nn_watched_samples *s, const float *sums, size_t c,
                             double total, double diversity) {
    double squares = 0;
    if (!s->squared) return log(diversity);
    for (size_t k = 0; k < c; k++)
        squares += (double)sums[k] / total * ((double)sums[k] / total);
    return (1 - squares) / (double)c;
}

/* The loss of predicting the mean: the variance. */
static double constant_target(const nn_watched_samples *s, double total) {
    double mean = 0, sum = 0;
    for (size_t i = 0; i < s->n; i++)
        mean += weight_of(s, i) * (double)s->targets[s->rows[i]] / total;
    for (size_t i = 0; i < s->n; i++) {
        double off = (double)s->targets[s->rows[i]] - mean;
        sum += weight_of(s, i) * off * off;
    }
    return sum / total;
}

static scant_status find_constant(nn_watch *w, scant__arena *arena,
                                  const nn_watched_samples *s) {
    double total = 0, loss;
    float *sums = TRY_ZERO(arena, float, w->n_classes);
    for (size_t i = 0; i < s->n; i++) {
        total += weight_of(s, i);
        if (s->labels) sums[s->labels[i]] += (float)weight_of(s, i);
    }
    if (!(total > 0)) return SCANT_OK;
    if (s->labels) {
        w->diversity = effective_number(sums, w->n_classes);
        loss = constant_label(s, sums, w->n_classes, total, w->diversity);
    } else {
        loss = constant_target(s, total);
    }
    w->constant = s->drawn ? loss : loss * total / (double)s->n;
    return SCANT_OK;
}

scant_status nn_watch_begin(nn_watch *w, scant__arena *arena, const nn_net *net,
                            const nn_watched_samples *s) {
    *w = (nn_watch){.n_classes = net->classes,
                    .has_act = nn_net_has(net, NN_ACT),
                    .last = {.gradient_norm = -1}};
    if (s->pseudo) w->counts = TRY_ZERO(arena, float, net->classes);
    TRY(find_layers(w, arena, net));
    return find_constant(w, arena, s);
}

/* ---- steps ------------------------------------------------------------------------- */

static void watch_units(nn_watch *w, const nn_weights *weights) {
    for (size_t i = 0; i < w->n_layers; i++) {
        const nn_watched *layer = &w->layers[i];
        const float *gradient = weights->grads + weights->slices[layer->bias].at;
        float *alive = w->alive + layer->first;
        for (size_t k = 0; k < layer->count; k++)
            if (gradient[k] != 0) alive[k] = 1;
    }
}

/* The sum of squared deviations from their mean of n numbers with these sums. */
static double deviations(double sum, double squares, size_t n) {
    return fmax(squares - sum * sum / (double)n, 0);
}

/* The sum over samples and classes of the squared deviations of the outputs from their
 * mean over the samples. What all outputs of a sample have in common does not count if
 * there are several classes: it does not tell them apart. */
static double deviations_of(const float *outputs, size_t n, size_t c) {
    double total = 0, sum = 0,
           squares = 0; /* the last two: of the samples' mean output */
    for (size_t i = 0; i < n && c > 1; i++) {
        double mean = 0;
        for (size_t k = 0; k < c; k++) mean += (double)outputs[i * c + k] / (double)c;
        sum += mean;
        squares += mean * mean;
    }
    for (size_t k = 0; k < c; k++) {
        double one = 0, ones = 0;
        for (size_t i = 0; i < n; i++) {
            one += (double)outputs[i * c + k];
            ones += (double)outputs[i * c + k] * (double)outputs[i * c + k];
        }
        total += deviations(one, ones, n);
    }
    return fmax(total - (double)c * deviations(sum, squares, n), 0);
}

/* Compares the samples of a step with each other: between steps the weights change. */
static void watch_outputs(nn_watch *w, const nn_watched_step *s) {
    size_t c = w->n_classes;
    if (!s->outputs || s->samples < 2) return;
    w->spread += deviations_of(s->outputs, s->samples, c) / (double)c;
    w->compared += s->samples - 1;
}

/* Whether the window's loss is practically 0; constant 0: compared with 1. */
static bool is_solved(const nn_watch *w, double loss) {
    return w->samples && loss < SOLVED * (w->constant > 0 ? w->constant : 1);
}

/* Finds the layer with the largest share of dead units, from the last layer back to the
 * first one whose units are all dead. */
static void find_dead(const nn_watch *w, nn_watched_window *window) {
    if (w->samples < SAMPLES || is_solved(w, window->loss)) return;
    for (size_t i = w->n_layers; i-- > 0 && window->dead < 1;) {
        const nn_watched *layer = &w->layers[i];
        size_t dead = 0;
        for (size_t k = 0; k < layer->count; k++) dead += w->alive[layer->first + k] == 0;
        double share = (double)dead / (double)layer->count;
        if (share <= window->dead) continue;
        window->dead = share;
        window->dead_layer = i + 1;
    }
}

/* The standard error of the window's mean loss, from the losses of its steps. */
static double noise_of(const nn_watch *w, size_t steps) {
    if (!w->samples || steps < 2) return 0;
    double mean = w->loss / (double)w->samples;
    double variance = w->squares / (double)w->samples - mean * mean;
    return sqrt(fmax(variance, 0) / (double)(steps - 1));
}

/* The current window, if it ends after `end` steps. */
static nn_watched_window measure(const nn_watch *w, size_t end) {
    double seen = w->unlabelled ? (double)w->unlabelled : 1;
    nn_watched_window window = {.end = end,
                                .unlabelled = w->unlabelled,
                                .loss = w->samples ? w->loss / (double)w->samples : 0,
                                .noise = noise_of(w, end - w->begin),
                                .kept = w->kept / seen,
                                .spread =
                                    w->compared ? w->spread / (double)w->compared : -1,
                                .gradient_norm = w->last.gradient_norm};
    if (w->norms) window.gradient_norm = w->norm / (double)w->norms;
    if (w->counts) window.pseudo_classes = effective_number(w->counts, w->n_classes);
    find_dead(w, &window);
    return window;
}

bool nn_watch_is_late(const nn_watched_window *window, size_t steps, size_t warmup) {
    return window->end > warmup && 4 * window->end > steps && window->end >= LEAST;
}

static bool are_units_dead(const nn_watch *w) {
    const nn_watched_window *last = &w->last;
    bool unlearnt = w->constant > 0 && last->loss >= UNLEARNT * w->constant;
    return last->dead >= DEAD || (unlearnt && last->dead >= MANY);
}

/* 1 class is the least possible; so with two classes, half of it is 1.5. */
static bool are_classes_few(const nn_watch *w) {
    return w->counts && w->last.pseudo_classes - 1 < CLASSES * (w->diversity - 1);
}

static bool is_loss_bad(const nn_watch *w) {
    const nn_watched_window *last = &w->last;
    bool same = last->spread >= 0 && last->spread < SAME * w->constant &&
                last->spread <= FALL * w->start_spread;
    if (!w->has_act || !(w->constant > 0)) return false;
    return (same && last->loss + last->noise >= w->constant) ||
           last->loss >= RISE * fmax(w->constant, w->start_loss);
}

/* Finds the signs of the last window, in a training of `steps` steps. */
static void find_signs(nn_watch *w, size_t steps, size_t warmup) {
    const nn_watched_window *last = &w->last;
    w->signs = 0;
    if (!nn_watch_is_late(last, steps, warmup)) return;
    if (are_units_dead(w)) w->signs |= SCANT_SIGN_DEAD;
    if (is_loss_bad(w)) w->signs |= SCANT_SIGN_LOSS;
    if (2 * last->end <= steps || !last->unlabelled) return;
    if (last->kept < MASK)
        w->signs |= SCANT_SIGN_MASK; /* too few pseudo-labels to compare their classes */
    else if (are_classes_few(w))
        w->signs |= SCANT_SIGN_CLASSES;
}

static void begin_window(nn_watch *w, size_t begin) {
    w->begin = begin;
    w->loss = w->squares = w->norm = w->kept = w->spread = 0;
    w->samples = w->norms = w->unlabelled = w->compared = 0;
    memset(w->alive, 0, w->n_units * sizeof *w->alive);
    if (w->counts) memset(w->counts, 0, w->n_classes * sizeof *w->counts);
}

/* The smallest number of steps of a window, for steps of this many samples. */
static size_t shortest(size_t samples) {
    return size_max(SHORTEST, (SAMPLES + samples - 1) / size_max(samples, 1));
}

/* Whether the current window ends after this step. The last one ends with the training
 * and may be longer, so that none is shorter. */
static bool ends(const nn_watch *w, const nn_watched_step *s) {
    size_t length =
        size_max(size_min(s->steps / WINDOWS, w->begin / 4), shortest(s->samples));
    return s->step == s->steps ||
           (s->step - w->begin >= length && s->steps - s->step >= length);
}

bool nn_watch_step(nn_watch *w, const nn_weights *weights, const nn_watched_step *s) {
    bool complete = ends(w, s);
    watch_units(w, weights);
    watch_outputs(w, s);
    if (s->step == 1) {
        w->start_loss = s->loss;
        w->start_spread = w->compared ? w->spread / (double)w->compared : 0;
    }
    w->loss += s->loss * (double)s->samples;
    w->squares += s->loss * s->loss * (double)s->samples;
    w->samples += s->samples;
    w->kept += s->kept;
    w->unlabelled += s->unlabelled;
    for (size_t k = 0; w->counts && s->counts && k < w->n_classes; k++)
        w->counts[k] += s->counts[k];
    if (complete || s->step % NORM_EVERY == 0) {
        w->norm += nn_optim_norm(weights->ctx, weights->grads, weights->n_trained);
        w->norms++;
    }
    if (!complete) return false;
    w->last = measure(w, s->step);
    find_signs(w, s->steps, s->warmup);
    begin_window(w, s->step);
    return true;
}

nn_watched_window nn_watch_now(const nn_watch *w, size_t steps) {
    bool is_long = steps - w->begin >= SHORTEST && w->samples >= SAMPLES;
    return is_long ? measure(w, steps) : w->last;
}

void nn_watch_stop(nn_watch *w, const nn_watched_window *window, size_t steps,
                   size_t warmup) {
    w->last = *window;
    find_signs(w, steps, warmup);
}
