/* SPDX-License-Identifier: Apache-2.0
 *
 * SoftMatch (Chen et al. 2023; match.h): all pseudo-labels count, with the weight
 *     exp(-min(confidence - m, 0)^2 / (2 v / 4)),
 * where m and v are running mean and variance of the confidence, initially 1 / classes
 * and 1. By default predictions are aligned to the uniform distribution (align); as in
 * the public code this changes the confidence, while the pseudo-labels are those of the
 * predictions as they are.
 *
 * The running means have decay 0.999 in the paper, for a million steps; here it depends
 * on the number of steps (running.h). The variance counts as at least 1e-10, so that
 * equal confidences have weight 1.
 */
#include <math.h>

#include "ssl/adaptive.h"
#include "ssl/match.h"
#include "ssl/running.h"

static const double LEAST = 1e-10, WIDTH = 0.25; /* (1/2)^2 */

/* ---- weights ---- */

void ssl_softmatch_init(size_t c, float *state) {
    state[0] = 1 / (float)c;
    state[1] = 1;
}

void ssl_softmatch_average(size_t n, const float *confidence, double decay,
                           float *state) {
    double mean = ssl_mean(n, 1, confidence), squares = 0;
    for (size_t i = 0; i < n; i++)
        squares += ((double)confidence[i] - mean) * ((double)confidence[i] - mean);
    state[0] = ssl_running(decay, state[0], mean);
    state[1] = ssl_running(decay, state[1], n > 1 ? squares / (double)(n - 1) : 0);
}

double ssl_softmatch_weight(const float *state, double confidence) {
    double off = fmin(confidence - (double)state[0], 0);
    return exp(-off * off / (2 * WIDTH * fmax((double)state[1], LEAST)));
}

static void weigh(ssl_match *m, const nn_unlabelled *u) {
    float *state = m->arg;
    if (ssl_running_begins(&state[SSL_SOFTMATCH_STATE], u->step))
        ssl_softmatch_average(u->n, m->confidence, ssl_match_decay(m, u), state);
    for (size_t i = 0; i < u->n; i++)
        m->weights[i] = (float)ssl_softmatch_weight(state, (double)m->confidence[i]);
}

/* ---- setup ---- */

static bool check(const ssl_match *m) {
    const float *state = m->arg;
    return ssl_match_probabilities(state, SSL_SOFTMATCH_STATE) &&
           state[SSL_SOFTMATCH_STATE] >= 0;
}

static scant_status begin(ssl_setup *s) {
    ssl_match *m;
    TRY(ssl_match_begin(s, &m));
    float *state = m->arg = TRY_ZERO(s->arena, float, SSL_SOFTMATCH_STATE + 1);
    ssl_softmatch_init(s->classes, state);
    ssl_match_store(s, "confidence", state, SSL_SOFTMATCH_STATE + 1);
    m->unaligned_labels = true;
    m->weigh = weigh;
    m->check = check;
    return SCANT_OK;
}

static const scant_setting defaults[] = {SSL_MATCH_DEFAULTS, {"align", "yes"}};

const ssl_kind ssl_softmatch = {
    .info = {.name = "softmatch",
             .summary = "FixMatch with weights that rise with the confidence",
             .paper = "Chen et al. 2023",
             .takes = SSL_MATCH_TAKES " prediction_ema",
             SSL_MATCH_INFO},
    .begin = begin,
};
