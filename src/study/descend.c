/* SPDX-License-Identifier: Apache-2.0
 *
 * Gradient descent as in the theorems: on the whole loss 1/2 |f - Y|^2, with a constant
 * rate, without momentum, in evaluation mode. (Training, nn/train.c, uses mini-batches,
 * the mean loss over samples, and normalises with each mini-batch's statistics.) The
 * tracer that computes kernels also computes the gradients, so both belong to the same
 * function. Gradients are added up in double.
 *
 * The largest rate that is stable for any Y depends on the largest eigenvalue of the full
 * kernel J J^T (samples times outputs). The kernel's mean over classes bounds this
 * eigenvalue only up to a factor, so power iteration computes it: J^T v is a backward
 * pass, and J u the difference of outputs of two networks with slightly different
 * weights. |J^T v|^2 for a unit v is at most the largest eigenvalue, so the result is
 * never too large, up to rounding; errors of the difference only slow down convergence.
 *
 * Cost: a forward and a backward pass for each step; three forward passes and one
 * backward pass for each power iteration, at most 30. Memory: two vectors of the
 * parameters, one of them in double, the outputs, and the tracer's plan.
 */
#include <math.h>
#include <string.h>

#include "core/rng.h"
#include "nn/input.h"
#include "nn/persample.h"
#include "study/study.h"

enum { POWER_STEPS = 30 };

typedef struct work {
    nn_tracer t;
    const scant_lab_opts *o;
    size_t n, classes;
    double *total; /* the gradient, packed like the weights */
    float *values; /* a copy of the weights */
    float *v;      /* (n, classes): the vector of power iteration */
} work;

/* Whether descent changes a parameter. */
static bool moves(const work *w, size_t param) {
    const nn_net *shape = w->t.net->net;
    const nn_node *head = &shape->nodes[shape->head];
    if (!shape->params[param].trained) return false;
    if (!w->o->last_layer) return true;
    return (int)param == head->weight || (head->bias && (int)param == head->bias_at);
}

/* Adds `by` times total to the weights that descent changes. */
static void move(work *w, double by) {
    nn_weights *weights = w->t.net->weights;
    for (size_t p = 0; p < w->t.net->net->n_params; p++) {
        const nn_slice *s = &weights->slices[p];
        for (size_t i = s->at; moves(w, p) && i < s->at + s->room; i++)
            weights->values[i] = (float)((double)weights->values[i] + by * w->total[i]);
    }
}

static double length_of_total(const work *w) {
    const nn_weights *weights = w->t.net->weights;
    double sum = 0;
    for (size_t p = 0; p < w->t.net->net->n_params; p++) {
        const nn_slice *s = &weights->slices[p];
        for (size_t i = s->at; moves(w, p) && i < s->at + s->room; i++)
            sum += w->total[i] * w->total[i];
    }
    return sqrt(sum);
}

/* ---- passes over all samples ----------------------------------------------------- */

static scant_status add_gradient(work *w) {
    nn_weights *weights = w->t.net->weights;
    TRY(nn_tracer_backward(&w->t, true));
    for (size_t i = 0; i < weights->n_trained; i++)
        w->total[i] += (double)weights->grads[i];
    return SCANT_OK;
}

/* Computes the outputs of the block of samples that starts at `first`. *f NULL: no
 * samples are left. */
static scant_status next_block(work *w, size_t first, size_t *count, const float **f) {
    *f = NULL;
    if (first >= w->n) return SCANT_OK;
    *count = size_min(w->t.batch, w->n - first);
    TRY(scant__tick(w->t.net->ctx, NULL, 0, 0)); /* allows cancelling */
    TRY(nn_tracer_forward(&w->t, w->o->data, w->o->rows, first, *count));
    *f = nn_tracer_logits(&w->t);
    return SCANT_OK;
}

/* Computes the loss, and (if `gradient`) its gradient in total. */
static scant_status loss_pass(work *w, bool gradient, double *loss) {
    size_t c = w->classes, count;
    const float *f;
    *loss = 0;
    memset(w->total, 0, w->t.net->weights->n_trained * sizeof *w->total);
    for (size_t first = 0;; first += count) {
        TRY(next_block(w, first, &count, &f));
        if (!f) return SCANT_OK;
        for (size_t i = 0; i < count * c; i++) {
            bool own = w->o->labels[first + i / c] == (int32_t)(i % c);
            double off = (double)f[i] - (own ? 1 : 0);
            w->t.d_logits[i] = (float)off;
            *loss += off * off / 2;
        }
        if (gradient) TRY(add_gradient(w));
    }
}

/* total = J^T v */
static scant_status back(work *w, const float *v) {
    size_t c = w->classes, count;
    const float *f;
    memset(w->total, 0, w->t.net->weights->n_trained * sizeof *w->total);
    for (size_t first = 0;; first += count) {
        TRY(next_block(w, first, &count, &f));
        if (!f) return SCANT_OK;
        memcpy(w->t.d_logits, v + first * c, count * c * sizeof *v);
        TRY(add_gradient(w));
    }
}

/* out += by * f */
static scant_status outputs(work *w, float by, float *out) {
    size_t c = w->classes, count;
    const float *f;
    for (size_t first = 0;; first += count) {
        TRY(next_block(w, first, &count, &f));
        if (!f) return SCANT_OK;
        for (size_t i = 0; i < count * c; i++) out[first * c + i] += by * f[i];
    }
}

/* ---- the largest eigenvalue ------------------------------------------------------ */

static double make_unit(float *v, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (double)v[i] * (double)v[i];
    double length = sqrt(sum);
    for (size_t i = 0; length > 0 && i < n; i++) v[i] = (float)((double)v[i] / length);
    return length;
}

/* v = J u for u = total, up to a factor: by a central difference with a step whose length
 * is a thousandth of the weights' length. `length`: that of u. */
static scant_status forth(work *w, double length) {
    nn_weights *weights = w->t.net->weights;
    double size = 0;
    for (size_t i = 0; i < weights->n_trained; i++)
        size += (double)weights->values[i] * (double)weights->values[i];
    double step = 1e-3 * fmax(sqrt(size), 1e-3) / length;
    memcpy(w->values, weights->values, weights->n_floats * sizeof *w->values);
    memset(w->v, 0, w->n * w->classes * sizeof *w->v);
    move(w, step);
    scant_status s = outputs(w, 1, w->v);
    memcpy(weights->values, w->values, weights->n_floats * sizeof *w->values);
    move(w, -step);
    if (s == SCANT_OK) s = outputs(w, -1, w->v);
    memcpy(weights->values, w->values, weights->n_floats * sizeof *w->values);
    return s;
}

static scant_status largest(work *w, double *out) {
    scant__rng rng = {0, SCANT__RNG_POINTS};
    size_t n = w->n * w->classes;
    *out = 0;
    for (size_t i = 0; i < n; i++) w->v[i] = (float)scant__rng_normal(&rng, i);
    make_unit(w->v, n);
    for (size_t i = 0; i < POWER_STEPS; i++) {
        double before = *out;
        TRY(scant__tick(w->t.net->ctx, "stable rate", i, POWER_STEPS));
        TRY(back(w, w->v));
        double length = length_of_total(w);
        *out = fmax(*out, length * length);
        if (!(length > 0) || *out < before * (1 + 1e-4)) break;
        TRY(forth(w, length));
        if (!(make_unit(w->v, n) > 0)) break;
    }
    return scant__tick(w->t.net->ctx, "stable rate", 1, 1);
}

/* ---- the descent ----------------------------------------------------------------- */

static scant_status descend(work *w, double *losses, double *rate) {
    scant_ctx *ctx = w->t.net->ctx;
    double top = 0;
    if (!(*rate > 0)) {
        TRY(largest(w, &top));
        if (!(top > 0))
            return scant__fail(ctx, SCANT_EINPUT,
                               "the outputs do not depend on the weights, so descent "
                               "has no effect");
        *rate = 1 / top;
    }
    size_t steps = w->o->steps;
    for (size_t i = 0; i <= steps; i++) {
        TRY(scant__tick(ctx, "descent", i, steps));
        scant_status status = loss_pass(w, i < steps, &losses[i]);
        bool diverged = i && status == SCANT_EINPUT; /* outputs that are not finite */
        if (diverged || (status == SCANT_OK && !isfinite(losses[i])))
            return scant__fail(ctx, SCANT_EINPUT,
                               "the loss after %zu steps of rate %g is not finite: use a "
                               "smaller rate",
                               i, *rate);
        TRY(status);
        if (i < steps) move(w, -*rate);
    }
    return SCANT_OK;
}

static void close_work(work *w) { nn_tracer_close(&w->t); }

scant_status study_net_descend(const scant_lab_opts *o, double *losses, double *rate) {
    scant_net *net = o->net;
    size_t n = o->n;
    TRY(nn_input_check(net, o->data));
    TRY(nn_input_rows_check(net->ctx, o->data, o->rows, &n));
    if (!(*rate >= 0) || !isfinite(*rate))
        return scant__fail(net->ctx, SCANT_EUSAGE,
                           "the rate is %g, expected a positive number", *rate);
    for (size_t i = 0; i < n; i++)
        if (o->labels[i] < 0 || (size_t)o->labels[i] >= net->net->classes)
            return scant__fail(net->ctx, SCANT_EINPUT,
                               "labels: number %zu is %d, expected a class from 0 to %zu",
                               i, (int)o->labels[i], net->net->classes - 1);
    AUTO(scant__arena_end) scant__arena arena = {.ctx = net->ctx};
    AUTO(close_work) work w = {.o = o, .n = n, .classes = net->net->classes};
    TRY(nn_tracer_open(&w.t, net, n, NN_SCOPE_REST));
    w.total = TRY_NEW(&arena, double, net->weights->n_trained);
    w.values = TRY_NEW(&arena, float, net->weights->n_floats);
    w.v = TRY_NEW(&arena, float, size_mul(n, w.classes));
    return descend(&w, losses, rate);
}
