/* SPDX-License-Identifier: Apache-2.0
 *
 * Gradient descent as in the theorems: on the whole loss 1/2 |f - Y|^2, with a constant
 * rate, without momentum, in evaluation mode. (Training, nn/train.c, uses batches, means
 * over samples and running statistics.) Gradients come from the same tracer as kernels,
 * so both belong to the same function; they are added up in double.
 *
 * The largest rate that is stable for any Y depends on the largest eigenvalue of the full
 * kernel J J^T (samples times outputs). The kernel's mean over classes bounds it only up
 * to a factor, so it is found by power iteration: J^T v is a backward pass, and J u the
 * difference of outputs of two networks with slightly different weights. |J^T v|^2 for a
 * unit v is at most the largest eigenvalue, so the result is never too large, up to
 * rounding; errors of the difference only slow down convergence.
 *
 * Cost: a forward and a backward pass for each step; two forward passes and one backward
 * pass for each power iteration, at most 30. Memory: two vectors of the parameters in
 * double, the outputs, and the tracer's plan.
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
    scant__arena arena;
    const scant_data *data;
    const size_t *rows;
    size_t n, classes;
    const int32_t *labels;
    bool last_layer;
    double *total; /* the gradient, packed as the weights */
    float *values; /* a copy of the weights */
    float *v;      /* (n, classes) */
} work;

/* Whether descent changes a parameter. */
static bool moves(const work *w, size_t param) {
    const nn_net *shape = w->t.net->net;
    const nn_node *head = &shape->nodes[shape->head];
    if (!shape->params[param].trained) return false;
    if (!w->last_layer) return true;
    return (int)param == head->weight || (head->bias && (int)param == head->bias_at);
}

/* Adds by * total to the weights that descent changes. */
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

/* Computes L, and its gradient in total. */
static scant_status loss_pass(work *w, bool gradient, double *loss) {
    size_t c = w->classes;
    *loss = 0;
    memset(w->total, 0, w->t.net->weights->n_trained * sizeof *w->total);
    for (size_t first = 0; first < w->n; first += w->t.batch) {
        size_t count = size_min(w->t.batch, w->n - first);
        TRY(nn_tracer_forward(&w->t, w->data, w->rows, first, count));
        const float *f = nn_tracer_logits(&w->t);
        for (size_t i = 0; i < count * c; i++) {
            bool own = w->labels[first + i / c] == (int32_t)(i % c);
            double off = (double)f[i] - (own ? 1 : 0);
            w->t.d_logits[i] = (float)off;
            *loss += off * off / 2;
        }
        if (gradient) TRY(add_gradient(w));
        TRY(scant__tick(w->t.net->ctx, NULL, 0, 0)); /* allows cancelling */
    }
    return SCANT_OK;
}

/* total = J^T v */
static scant_status back(work *w, const float *v) {
    size_t c = w->classes;
    memset(w->total, 0, w->t.net->weights->n_trained * sizeof *w->total);
    for (size_t first = 0; first < w->n; first += w->t.batch) {
        size_t count = size_min(w->t.batch, w->n - first);
        TRY(nn_tracer_forward(&w->t, w->data, w->rows, first, count));
        memcpy(w->t.d_logits, v + first * c, count * c * sizeof *v);
        TRY(add_gradient(w));
        TRY(scant__tick(w->t.net->ctx, NULL, 0, 0));
    }
    return SCANT_OK;
}

/* out += by * f */
static scant_status outputs(work *w, float by, float *out) {
    size_t c = w->classes;
    for (size_t first = 0; first < w->n; first += w->t.batch) {
        size_t count = size_min(w->t.batch, w->n - first);
        TRY(nn_tracer_forward(&w->t, w->data, w->rows, first, count));
        const float *f = nn_tracer_logits(&w->t);
        for (size_t i = 0; i < count * c; i++) out[first * c + i] += by * f[i];
        TRY(scant__tick(w->t.net->ctx, NULL, 0, 0));
    }
    return SCANT_OK;
}

/* ---- the largest eigenvalue ------------------------------------------------------ */

static double make_unit(float *v, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (double)v[i] * (double)v[i];
    double length = sqrt(sum);
    for (size_t i = 0; length > 0 && i < n; i++) v[i] = (float)((double)v[i] / length);
    return length;
}

/* v = J u for u = total, by a central difference with a step of a thousandth of the
 * weights' length. */
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

static scant_status take_room(work *w) {
    const nn_weights *weights = w->t.net->weights;
    w->total = scant__arena_alloc(&w->arena, weights->n_trained, sizeof *w->total);
    w->values = scant__arena_alloc(&w->arena, weights->n_floats, sizeof *w->values);
    w->v = scant__arena_alloc(&w->arena, size_mul(w->n, w->classes), sizeof *w->v);
    return w->total && w->values && w->v ? SCANT_OK : SCANT_ENOMEM;
}

static scant_status descend(work *w, const study_descent_opts *o, double *losses,
                            double *rate) {
    scant_ctx *ctx = w->t.net->ctx;
    double top = 0;
    TRY(take_room(w));
    if (!(*rate > 0)) {
        TRY(largest(w, &top));
        if (!(top > 0))
            return scant__fail(ctx, SCANT_EINPUT,
                               "the outputs do not depend on the weights, so descent "
                               "has no effect");
        *rate = 1 / top;
    }
    for (size_t i = 0; i <= o->steps; i++) {
        TRY(scant__tick(ctx, "descent", i, o->steps));
        scant_status status = loss_pass(w, i < o->steps, &losses[i]);
        bool diverged = i && status == SCANT_EINPUT; /* outputs that are not finite */
        if (diverged || (status == SCANT_OK && !isfinite(losses[i])))
            return scant__fail(ctx, SCANT_EINPUT,
                               "the loss after %zu steps of rate %g is not finite: use a "
                               "smaller rate",
                               i, *rate);
        TRY(status);
        if (i < o->steps) move(w, -*rate);
    }
    return SCANT_OK;
}

scant_status study_net_descend(scant_net *net, const scant_data *data, const size_t *rows,
                               size_t n, const int32_t *labels,
                               const study_descent_opts *opts, double *losses,
                               double *rate) {
    study_descent_opts o = opts ? *opts : (study_descent_opts){0};
    double used = o.rate;
    if (!o.steps) o.steps = 100;
    TRY(nn_input_check(net, data));
    TRY(nn_input_rows_check(net->ctx, data, rows, &n));
    if (!(o.rate >= 0) || !isfinite(o.rate))
        return scant__fail(net->ctx, SCANT_EUSAGE,
                           "the rate is %g, expected a positive number", o.rate);
    for (size_t i = 0; i < n; i++)
        if (labels[i] < 0 || (size_t)labels[i] >= net->net->classes)
            return scant__fail(net->ctx, SCANT_EINPUT,
                               "labels: number %zu is %d, expected a class from 0 to %zu",
                               i, (int)labels[i], net->net->classes - 1);
    work w = {.data = data,
              .rows = rows,
              .n = n,
              .classes = net->net->classes,
              .labels = labels,
              .last_layer = o.last_layer != 0};
    scant__arena_init(&w.arena, net->ctx);
    scant_status s = nn_tracer_open(&w.t, net, n, NN_SCOPE_REST);
    if (s == SCANT_OK) s = descend(&w, &o, losses, &used);
    scant__arena_end(&w.arena);
    nn_tracer_close(&w.t);
    if (rate) *rate = used;
    return s;
}
