/* SPDX-License-Identifier: Apache-2.0 */
#include "ssl/match.h"

#include <math.h>

#include "core/argmax.h"
#include "ssl/align.h"
#include "ssl/running.h"

enum { STEPS = 1 << 20 };

/* ---- running means ---- */

double ssl_running_decay(double option, size_t steps) {
    if (!isnan(option)) return option;
    return fmin(fmax(1 - 100 / (double)steps, 0.9), 0.999);
}

bool ssl_running_begins(float *stamp, size_t step) {
    float now = 1 + (float)(step % STEPS); /* representable as a float */
    if (*stamp == now) return false;
    *stamp = now;
    return true;
}

double ssl_match_decay(const ssl_match *m, const nn_unlabelled *u) {
    return ssl_running_decay(m->o->prediction_ema, u->steps);
}

/* ---- views ---- */

static void view(void *arg, uint64_t draw, const float *in, float *const *out,
                 void *scratch) {
    const ssl_match *m = arg;
    ssl_weak(m->setup, draw, in, out[m->mixed ? 0 : 1]);
    ssl_strong(m->setup, draw, in, out[m->mixed ? 1 : 0], scratch);
}

/* ---- pseudo-labels ---- */

static void align(ssl_match *m, const nn_unlabelled *u) {
    size_t c = m->classes;
    bool first = m->mean[c] == 0;
    if (ssl_running_begins(&m->mean[c], u->step))
        ssl_align_average(u->n, c, m->probs, ssl_match_decay(m, u), first, m->mean);
    ssl_align(u->n, c, m->setup->target, m->mean, m->probs);
}

/* Sets labels, if `labels`, and confidence from the predictions. */
static void read_predictions(ssl_match *m, size_t n, bool labels) {
    for (size_t i = 0; i < n; i++) {
        const float *q = m->probs + i * m->classes;
        size_t k = scant__argmax(q, m->classes);
        if (labels) m->labels[i] = (int32_t)k;
        m->confidence[i] = q[k];
    }
}

/* Sets the batch's pseudo-labels and their weights from its weak views' logits. */
static void decide(ssl_match *m, const nn_unlabelled *u, const float *weak) {
    nn_softmax(u->n, m->classes, weak, 1, m->probs);
    read_predictions(m, u->n, true);
    if (m->mean) {
        align(m, u);
        read_predictions(m, u->n, !m->unaligned_labels);
    }
    m->weigh(m, u);
}

static size_t choose(void *arg, const nn_unlabelled *u, size_t *chosen) {
    ssl_match *m = arg;
    size_t n = 0, last = u->n;
    bool any = m->o->weight > 0 || m->add;
    decide(m, u, u->nograd_logits);
    for (size_t i = 0; i < u->n; i++) {
        bool wanted = m->weights[i] > 0 && any;
        if (wanted) {
            m->chosen_labels[n] = m->labels[i];
            m->chosen_weights[n] = m->weights[i];
        }
        chosen[wanted ? n++ : --last] = i;
    }
    return n;
}

/* ---- loss of unlabelled samples ---- */

static void evaluate(void *arg, const nn_unlabelled *u, nn_method_result *result) {
    ssl_match *m = arg;
    size_t c = m->classes, block = u->n_block * c;
    nn_targets wanted = {
        .labels = m->chosen_labels, .weights = m->chosen_weights, .divide = (double)u->n};
    const float *strong = u->logits;
    float *d = u->d;
    if (m->mixed) {
        decide(m, u, u->logits);
        strong += block;
        d += block;
        wanted.labels = m->labels;
        wanted.weights = m->weights;
    }
    result->loss = nn_loss(&wanted, u->n_chosen, c, strong, d).loss;
    for (size_t i = 0; i < u->n_chosen * c; i++) d[i] *= (float)m->o->weight;
    if (m->add) m->add(m, u->n_chosen, strong, wanted.weights, d);
    for (size_t i = 0; i < u->n; i++) {
        result->kept += (double)m->weights[i];
        result->counts[m->labels[i]] += m->weights[i];
    }
}

/* ---- setup ---- */

bool ssl_match_probabilities(const float *x, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!(x[i] >= 0 && x[i] <= 1.001f)) return false;
    return true;
}

static bool check(void *arg) {
    const ssl_match *m = arg;
    size_t c = m->classes;
    if (m->mean && !(ssl_match_probabilities(m->mean, c) && m->mean[c] >= 0))
        return false;
    return !m->check || m->check(m);
}

void ssl_match_store(ssl_setup *s, const char *name, float *numbers, size_t count) {
    nn_method *m = &s->method;
    m->vectors[m->n_vectors++] = (nn_method_vector){name, numbers, count};
}

scant_status ssl_match_begin(ssl_setup *s, ssl_match **out) {
    nn_method *to = &s->method;
    ssl_match *m = *out = to->arg = TRY_NEW(s->arena, ssl_match, 1);
    *m = (ssl_match){.setup = s, .o = &s->o.ssl, .n = to->n, .classes = s->classes};
    m->mixed = s->mixed || nn_net_has(s->net->net, NN_NORM);
    m->probs = TRY_NEW(s->arena, float, size_mul(to->batch, s->classes));
    m->confidence = TRY_NEW(s->arena, float, to->batch);
    m->labels = TRY_NEW(s->arena, int32_t, to->batch);
    m->weights = TRY_NEW(s->arena, float, to->batch);
    m->chosen_labels = TRY_NEW(s->arena, int32_t, to->batch);
    m->chosen_weights = TRY_NEW(s->arena, float, to->batch);
    if (s->o.ssl.align) {
        m->mean = TRY_ZERO(s->arena, float, s->classes + 1);
        ssl_match_store(s, "mean_prediction", m->mean, s->classes + 1);
    }
    to->grad_views = m->mixed ? 2 : 1;
    to->nograd_views = m->mixed ? 0 : 1;
    to->view = view;
    to->choose = m->mixed ? NULL : choose;
    to->evaluate = evaluate;
    to->check = check;
    return SCANT_OK;
}
