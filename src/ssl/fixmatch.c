/* SPDX-License-Identifier: Apache-2.0
 *
 * FixMatch (Sohn et al. 2020): a confident prediction for the weak view is the label of
 * the strong view,
 *     mean CE(labelled) + weight * sum_i [max q_i >= threshold] CE(strong_i, argmax q_i)
 *                                  / n,
 * where n is the number of unlabelled samples of a batch, confident or not.
 *
 * If the network normalises by the batch, labelled samples, weak and strong views go
 * through it together. Otherwise a sample's outputs do not depend on the batch: weak
 * views take a pass without gradient, and only the strong views that count are evaluated.
 * Without dropout both ways give the same numbers up to rounding.
 *
 * The averaged network has the running statistics of the trained one, as in the public
 * code. That code updates them with momentum 0.001; here it is the usual 0.1 unless
 * norm_momentum is set, because with 0.001 the initial statistics dominate for some
 * thousand steps.
 *
 * With DARP (darp.h) the last predictions for all samples' weak views are stored and
 * refined every few steps; pseudo-labels and confidence then come from the refined
 * predictions. Before the first refinement this is plain FixMatch. Stored predictions are
 * initially uniform.
 */
#include <math.h>
#include <string.h>

#include "core/argmax.h"
#include "core/hash.h"
#include "ssl/darp.h"
#include "ssl/ssl.h"

enum { STEPS = 1 << 20 };

typedef struct fixmatch {
    const ssl_setup *setup;
    const scant_ssl_opts *o;
    bool mixed;        /* all views go through the network together */
    size_t n, classes; /* numbers of unlabelled samples and classes */
    float *probs;      /* probabilities of a batch's weak views */
    int32_t *labels;   /* pseudo-labels of a batch */
    float *counts;     /* 1 if the pseudo-label counts, else 0 */
    int32_t *compact;  /* pseudo-labels that count */
    /* DARP; NULL: off */
    ssl_darp *darp;
    float *stored;  /* n x classes: the last weak predictions */
    float *refined; /* n x classes */
    float *pseudo;  /* n: pseudo-label k if it counts, else -1 - k */
    float *state; /* multipliers, then 1 + step of the last refinement, or 0: none yet */
} fixmatch;

/* ---- views ---- */

static void view(void *arg, uint64_t draw, const float *in, float *const *out,
                 void *scratch) {
    const fixmatch *f = arg;
    ssl_weak(f->setup, draw, in, out[f->mixed ? 0 : 1]);
    ssl_strong(f->setup, draw, in, out[f->mixed ? 1 : 0], scratch);
}

/* ---- pseudo-labels ---- */

/* Rounds multipliers to floats, as a checkpoint stores them, so that a resumed training
 * starts with the same multipliers. */
static void refine(fixmatch *f, float step) {
    double *multipliers = ssl_darp_multipliers(f->darp);
    size_t c = f->classes;
    for (size_t k = 0; k < c; k++) multipliers[k] = (double)f->state[k];
    ssl_darp_refine(f->darp, f->stored, f->refined);
    for (size_t k = 0; k < c; k++) {
        float multiplier = (float)multipliers[k];
        f->state[k] = isfinite(multiplier) ? multiplier : 0;
    }
    f->state[c] = step;
    for (size_t i = 0; i < f->n; i++) {
        const float *x = f->refined + i * c;
        size_t k = scant__argmax(x, c);
        f->pseudo[i] = (double)x[k] >= f->o->threshold ? (float)k : -1 - (float)k;
    }
}

static void store(fixmatch *f, const nn_unlabelled *u) {
    size_t c = f->classes;
    for (size_t i = 0; i < u->n; i++)
        memcpy(f->stored + u->items[i] * c, f->probs + i * c, c * sizeof *f->stored);
    float step = 1 + (float)(u->step % STEPS); /* representable as a float */
    bool begun = f->state[c] != 0;
    bool late = (double)u->step >= f->o->darp_warmup * (double)u->steps;
    bool due = begun ? u->step % f->o->darp_every == 0 && f->state[c] != step : late;
    if (due) refine(f, step); /* only once, even if a step is repeated */
}

/* Sets the batch's pseudo-labels, and whether each counts, from its weak views' logits.
 */
static void decide(fixmatch *f, const nn_unlabelled *u, const float *weak) {
    size_t c = f->classes;
    nn_softmax(u->n, c, weak, 1, f->probs);
    if (f->darp) store(f, u);
    bool refined = f->darp && f->state[c] != 0;
    for (size_t i = 0; i < u->n; i++) {
        const float *q = f->probs + i * c;
        size_t k = scant__argmax(q, c);
        f->labels[i] = (int32_t)k;
        f->counts[i] = (double)q[k] >= f->o->threshold;
        if (!refined) continue;
        float pseudo = f->pseudo[u->items[i]];
        f->counts[i] = pseudo >= 0;
        f->labels[i] = (int32_t)(pseudo >= 0 ? pseudo : -1 - pseudo);
    }
}

static size_t choose(void *arg, const nn_unlabelled *u, size_t *chosen) {
    fixmatch *f = arg;
    size_t n = 0, last = u->n;
    decide(f, u, u->nograd_logits);
    for (size_t i = 0; i < u->n; i++) {
        bool wanted = f->counts[i] > 0 && f->o->weight > 0;
        if (wanted) f->compact[n] = f->labels[i];
        chosen[wanted ? n++ : --last] = i;
    }
    return n;
}

/* ---- loss of unlabelled samples ---- */

static void evaluate(void *arg, const nn_unlabelled *u, nn_method_result *result) {
    fixmatch *f = arg;
    size_t c = f->classes, block = u->n_block * c;
    nn_targets wanted = {.labels = f->compact, .divide = (double)u->n};
    const float *strong = u->logits;
    float *d = u->d;
    if (f->mixed) {
        decide(f, u, u->logits);
        strong += block;
        d += block;
        wanted.labels = f->labels;
        wanted.weights = f->counts;
    }
    result->loss = nn_loss(&wanted, u->n_chosen, c, strong, d).loss;
    for (size_t i = 0; i < u->n_chosen * c; i++) d[i] *= (float)f->o->weight;
    for (size_t i = 0; i < u->n; i++) {
        if (!(f->counts[i] > 0)) continue;
        result->kept++;
        result->counts[f->labels[i]]++;
    }
}

/* ---- setup ---- */

static bool check(void *arg) {
    const fixmatch *f = arg;
    size_t c = f->classes;
    for (size_t i = 0; i < f->n * c; i++)
        if (!(f->stored[i] >= 0 && f->stored[i] <= 1.001f)) return false;
    for (size_t i = 0; i < f->n; i++) {
        float v = f->pseudo[i], k = v >= 0 ? v : -1 - v;
        if (!(k >= 0 && k < (float)c) || k != floorf(k)) return false;
    }
    for (size_t k = 0; k <= c; k++)
        if (!isfinite(f->state[k])) return false;
    return f->state[c] >= 0;
}

static scant_status begin_darp(ssl_setup *s, fixmatch *f) {
    const scant_ssl_opts *o = f->o;
    nn_method *m = &s->method;
    size_t n = f->n, c = f->classes;
    f->stored = TRY_NEW(s->arena, float, size_mul(n, c));
    f->refined = TRY_NEW(s->arena, float, size_mul(n, c));
    f->pseudo = TRY_ZERO(s->arena, float, n);
    f->state = TRY_ZERO(s->arena, float, c + 1);
    for (size_t i = 0; i < n * c; i++) f->stored[i] = 1 / (float)c;
    TRY(ssl_darp_create(
        s->arena, n, c,
        &(ssl_darp_opts){.target = o->darp_target, .alpha = o->darp_alpha}, &f->darp));
    m->vectors[0] = (nn_method_vector){"pseudo_labels", f->stored, n * c};
    m->vectors[1] = (nn_method_vector){"verdicts", f->pseudo, n};
    m->vectors[2] = (nn_method_vector){"darp", f->state, c + 1};
    m->n_vectors = 3;
    m->check = check;
    if (o->darp_target)
        m->hash =
            scant__hash(SCANT__HASH_FIRST, o->darp_target, c * sizeof *o->darp_target);
    return SCANT_OK;
}

static scant_status begin(ssl_setup *s) {
    nn_method *m = &s->method;
    fixmatch *f = m->arg = TRY_NEW(s->arena, fixmatch, 1);
    *f = (fixmatch){.setup = s, .o = &s->o.ssl, .n = m->n, .classes = s->classes};
    f->mixed = s->mixed || nn_net_has(s->net->net, NN_NORM);
    f->probs = TRY_NEW(s->arena, float, size_mul(m->batch, s->classes));
    f->labels = TRY_NEW(s->arena, int32_t, m->batch);
    f->compact = TRY_NEW(s->arena, int32_t, m->batch);
    f->counts = TRY_NEW(s->arena, float, m->batch);
    m->grad_views = f->mixed ? 2 : 1;
    m->nograd_views = f->mixed ? 0 : 1;
    m->view = view;
    m->choose = f->mixed ? NULL : choose;
    m->evaluate = evaluate;
    return s->o.ssl.darp ? begin_darp(s, f) : SCANT_OK;
}

static const scant_setting defaults[] = {
    {"optimizer", "sgd"},
    {"lr", "0.03"},
    {"nesterov", "yes"},
    {"weight_decay", "5e-4"},
    {"decay_weights_only", "yes"},
    {"schedule", "fixmatch"},
    {"ema", "0.999"},
    {"batch", "64"},
    {"mu", "7"},
};

const ssl_kind ssl_fixmatch = {
    .info = {.name = "fixmatch",
             .summary =
                 "confident predictions for weak views are the labels of strong views",
             .paper = "Sohn et al. 2020; DARP: Kim et al. 2020",
             .takes = "mu unlabelled_weight threshold cut noise drop darp darp_target "
                      "darp_alpha darp_every darp_warmup",
             .defaults = defaults,
             .n_defaults = sizeof defaults / sizeof *defaults,
             .uses_labelled = true},
    .begin = begin,
};
