/* SPDX-License-Identifier: Apache-2.0
 *
 * FixMatch (Sohn et al. 2020; match.h): a pseudo-label counts if its confidence is at
 * least the threshold.
 *
 * With DARP (darp.h) the last predictions for all samples' weak views are stored and
 * refined every few steps; pseudo-labels and confidence then come from the refined
 * predictions. Before the first refinement this is plain FixMatch. Stored predictions are
 * initially uniform.
 */
#include <math.h>
#include <string.h>

#include "core/argmax.h"
#include "ssl/darp.h"
#include "ssl/match.h"
#include "ssl/running.h"

/* DARP */
typedef struct refinement {
    ssl_darp *darp;
    float *stored;  /* n x classes: the last weak predictions */
    float *refined; /* n x classes */
    float *pseudo;  /* n: pseudo-label k if it counts, else -1 - k */
    float *state; /* multipliers, then 1 + step of the last refinement, or 0: none yet */
} refinement;

/* ---- pseudo-labels ---- */

/* Rounds multipliers to floats, as a checkpoint stores them, so that a resumed training
 * starts with the same multipliers. */
static void refine(const ssl_match *m) {
    refinement *r = m->arg;
    double *multipliers = ssl_darp_multipliers(r->darp);
    size_t c = m->classes;
    for (size_t k = 0; k < c; k++) multipliers[k] = (double)r->state[k];
    ssl_darp_refine(r->darp, r->stored, r->refined);
    for (size_t k = 0; k < c; k++) {
        float multiplier = (float)multipliers[k];
        r->state[k] = isfinite(multiplier) ? multiplier : 0;
    }
    for (size_t i = 0; i < m->n; i++) {
        const float *x = r->refined + i * c;
        size_t k = scant__argmax(x, c);
        r->pseudo[i] = (double)x[k] >= m->o->threshold ? (float)k : -1 - (float)k;
    }
}

static void store(const ssl_match *m, const nn_unlabelled *u) {
    size_t c = m->classes;
    refinement *r = m->arg;
    for (size_t i = 0; i < u->n; i++)
        memcpy(r->stored + u->items[i] * c, m->probs + i * c, c * sizeof *r->stored);
    bool begun = r->state[c] != 0;
    bool late = (double)u->step >= m->o->darp_warmup * (double)u->steps;
    bool due = begun ? u->step % m->o->darp_every == 0 : late;
    if (due && ssl_running_begins(&r->state[c], u->step)) refine(m);
}

static void weigh(ssl_match *m, const nn_unlabelled *u) {
    const refinement *r = m->arg;
    if (r) store(m, u);
    bool refined = r && r->state[m->classes] != 0;
    for (size_t i = 0; i < u->n; i++) {
        m->weights[i] = (double)m->confidence[i] >= m->o->threshold;
        if (!refined) continue;
        float pseudo = r->pseudo[u->items[i]];
        m->weights[i] = pseudo >= 0;
        m->labels[i] = (int32_t)(pseudo >= 0 ? pseudo : -1 - pseudo);
    }
}

/* ---- setup ---- */

static bool check(const ssl_match *m) {
    const refinement *r = m->arg;
    size_t c = m->classes;
    if (!ssl_match_probabilities(r->stored, m->n * c)) return false;
    for (size_t i = 0; i < m->n; i++) {
        float v = r->pseudo[i], k = v >= 0 ? v : -1 - v;
        if (!(k >= 0 && k < (float)c) || k != floorf(k)) return false;
    }
    for (size_t k = 0; k <= c; k++)
        if (!isfinite(r->state[k])) return false;
    return r->state[c] >= 0;
}

static scant_status begin_darp(ssl_setup *s, ssl_match *m) {
    size_t n = m->n, c = m->classes;
    refinement *r = m->arg = TRY_NEW(s->arena, refinement, 1);
    r->stored = TRY_NEW(s->arena, float, size_mul(n, c));
    r->refined = TRY_NEW(s->arena, float, size_mul(n, c));
    r->pseudo = TRY_ZERO(s->arena, float, n);
    r->state = TRY_ZERO(s->arena, float, c + 1);
    for (size_t i = 0; i < n * c; i++) r->stored[i] = 1 / (float)c;
    TRY(ssl_darp_create(s->arena, n, c,
                        &(ssl_darp_opts){.target = s->target, .alpha = m->o->darp_alpha},
                        &r->darp));
    ssl_match_store(s, "pseudo_labels", r->stored, n * c);
    ssl_match_store(s, "verdicts", r->pseudo, n);
    ssl_match_store(s, "darp", r->state, c + 1);
    m->check = check;
    return SCANT_OK;
}

static scant_status begin(ssl_setup *s) {
    ssl_match *m;
    TRY(ssl_match_begin(s, &m));
    m->weigh = weigh;
    return s->o.ssl.darp ? begin_darp(s, m) : SCANT_OK;
}

static const scant_setting defaults[] = {SSL_MATCH_DEFAULTS};

const ssl_kind ssl_fixmatch = {
    .info = {.name = "fixmatch",
             .summary =
                 "confident predictions for weak views are the labels of strong views",
             .paper = "Sohn et al. 2020; DARP: Kim et al. 2020",
             .takes = SSL_MATCH_TAKES " threshold darp darp_alpha darp_every darp_warmup",
             SSL_MATCH_INFO},
    .begin = begin,
};
