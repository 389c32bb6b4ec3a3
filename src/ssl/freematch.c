/* SPDX-License-Identifier: Apache-2.0
 *
 * FreeMatch (Wang et al. 2023; match.h): a pseudo-label of class k counts if its
 * confidence is at least
 *     t p_k / max_j p_j,
 * where t is the running mean of the confidence and p that of the predictions, both
 * initially 1 / classes. So the threshold rises with the network's confidence, and is
 * lower for classes that are predicted less.
 *
 * The fairness loss (adaptive.h), times its weight, is added to the other losses. It
 * keeps the network, while it is uncertain, from predicting few classes only. Its sign
 * and form are those of the paper. Classes that no strong view is predicted as add a
 * constant in the public code and nothing here; the gradient is the same.
 *
 * The running means have decay 0.999 in the paper, for a million steps; here it depends
 * on the number of steps (running.h). The paper's bounds of t for single data sets (SVHN)
 * are left out.
 */
#include <math.h>
#include <string.h>

#include "core/argmax.h"
#include "ssl/adaptive.h"
#include "ssl/match.h"
#include "ssl/running.h"

typedef struct freematch {
    float *state; /* adaptive.h, then a stamp */
    float *strong;
    double *scratch;
} freematch;

/* ---- thresholds ---- */

void ssl_freematch_init(size_t c, float *state) {
    for (size_t i = 0; i < SSL_FREEMATCH_STATE(c); i++) state[i] = 1 / (float)c;
}

void ssl_freematch_average(size_t n, size_t c, const float *probs, const int32_t *labels,
                           double decay, float *state) {
    double confidence = 0;
    float *p = state, *h = state + c, *t = state + 2 * c;
    for (size_t k = 0; k < c; k++) {
        size_t named = 0;
        for (size_t i = 0; i < n; i++) named += (size_t)labels[i] == k;
        p[k] = ssl_running(decay, p[k], ssl_mean(n, c, probs + k));
        h[k] = ssl_running(decay, h[k], (double)named / (double)n);
    }
    for (size_t i = 0; i < n; i++) confidence += (double)probs[i * c + (size_t)labels[i]];
    *t = ssl_running(decay, *t, confidence / (double)n);
}

double ssl_freematch_threshold(size_t c, const float *state, size_t k) {
    float most = state[scant__argmax(state, c)];
    return (double)state[2 * c] * ((double)state[k] / (double)most);
}

static void weigh(ssl_match *m, const nn_unlabelled *u) {
    const freematch *f = m->arg;
    size_t c = m->classes;
    if (ssl_running_begins(&f->state[SSL_FREEMATCH_STATE(c)], u->step))
        ssl_freematch_average(u->n, c, m->probs, m->labels, ssl_match_decay(m, u),
                              f->state);
    for (size_t i = 0; i < u->n; i++) {
        double least = ssl_freematch_threshold(c, f->state, (size_t)m->labels[i]);
        m->weights[i] = (double)m->confidence[i] >= least;
    }
}

/* ---- fairness loss ---- */

static double ratio(double p, double h) { return h > 0 ? p / h : 0; }

static void divide_by_sum(double *x, size_t c) {
    double sum = 0;
    for (size_t k = 0; k < c; k++) sum += x[k];
    for (size_t k = 0; k < c; k++) x[k] /= sum;
}

/* Sets p and h to the means of the predictions and of their most likely classes, over the
 * views whose weight is above 0. Returns the number of these views. */
static size_t count_views(size_t n, size_t c, const float *probs, const float *weights,
                          double *p, double *h) {
    size_t used = 0;
    memset(p, 0, c * sizeof *p);
    memset(h, 0, c * sizeof *h);
    for (size_t i = 0; i < n; i++) {
        const float *q = probs + i * c;
        if (!(weights[i] > 0)) continue;
        used++;
        h[scant__argmax(q, c)]++;
        for (size_t k = 0; k < c; k++) p[k] += (double)q[k];
    }
    for (size_t k = 0; k < c && used; k++) p[k] /= (double)used, h[k] /= (double)used;
    return used;
}

/* Adds scale times the gradient of sum_k g_k mean_i q_ik by the logits to d. */
static void add_gradient(size_t n, size_t c, const float *probs, const float *weights,
                         const double *g, double scale, float *d) {
    for (size_t i = 0; i < n; i++) {
        const float *q = probs + i * c;
        double mean = 0;
        if (!(weights[i] > 0)) continue;
        for (size_t k = 0; k < c; k++) mean += g[k] * (double)q[k];
        for (size_t k = 0; k < c; k++)
            d[i * c + k] += (float)(scale * (double)q[k] * (g[k] - mean));
    }
}

double ssl_fairness(size_t n, size_t c, const float *state, const float *logits,
                    const float *weights, double scale, float *probs, double *scratch,
                    float *d) {
    double *a = scratch, *p = a + c, *h = p + c, loss = 0, sum = 0, some = 0;
    nn_softmax(n, c, logits, 1, probs);
    size_t used = count_views(n, c, probs, weights, p, h);
    if (!used) return 0;
    for (size_t k = 0; k < c; k++) a[k] = ratio((double)state[k], (double)state[c + k]);
    divide_by_sum(a, c);
    for (size_t k = 0; k < c; k++) {
        sum += ratio(p[k], h[k]);
        if (h[k] > 0) some += a[k];
    }
    for (size_t k = 0; k < c; k++) {
        double b = ratio(p[k], h[k]) / sum;
        if (h[k] > 0) loss += a[k] * log(b);
        /* the derivative by p_k, in the place of h_k */
        h[k] = h[k] > 0 ? (a[k] / b - some) / (h[k] * sum) : 0;
    }
    add_gradient(n, c, probs, weights, h, scale / (double)used, d);
    return loss;
}

static void add(ssl_match *m, size_t n, const float *logits, const float *weights,
                float *d) {
    const freematch *f = m->arg;
    ssl_fairness(n, m->classes, f->state, logits, weights, m->o->fairness, f->strong,
                 f->scratch, d);
}

/* ---- setup ---- */

static bool check(const ssl_match *m) {
    const freematch *f = m->arg;
    size_t size = SSL_FREEMATCH_STATE(m->classes);
    bool some = false; /* a class with both means above 0: the fairness loss divides */
    for (size_t k = 0; k < m->classes; k++)
        some = some || (f->state[k] > 0 && f->state[m->classes + k] > 0);
    return some && ssl_match_probabilities(f->state, size) && f->state[size] >= 0;
}

static scant_status begin(ssl_setup *s) {
    ssl_match *m;
    size_t size = SSL_FREEMATCH_STATE(s->classes) + 1;
    TRY(ssl_match_begin(s, &m));
    freematch *f = m->arg = TRY_NEW(s->arena, freematch, 1);
    f->state = TRY_ZERO(s->arena, float, size);
    f->strong = TRY_NEW(s->arena, float, size_mul(s->method.batch, s->classes));
    f->scratch = TRY_NEW(s->arena, double, size_mul(3, s->classes));
    ssl_freematch_init(s->classes, f->state);
    ssl_match_store(s, "thresholds", f->state, size);
    m->weigh = weigh;
    m->add = m->o->fairness > 0 ? add : NULL;
    m->check = check;
    return SCANT_OK;
}

static const scant_setting defaults[] = {SSL_MATCH_DEFAULTS};

const ssl_kind ssl_freematch = {
    .info = {.name = "freematch",
             .summary = "FixMatch with thresholds that follow the network's confidence",
             .paper = "Wang et al. 2023",
             .takes = SSL_MATCH_TAKES " prediction_ema fairness",
             SSL_MATCH_INFO},
    .begin = begin,
};
