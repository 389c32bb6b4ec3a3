/* SPDX-License-Identifier: Apache-2.0
 *
 * Pseudo-labels (Lee 2013): a confident prediction becomes the label of its sample,
 *     mean CE(labelled) + w(t) sum_i [max p_i > threshold] CE(z_i, argmax p_i) / n,
 * from one weak view and one pass, over all n unlabelled samples of a batch.
 */

#include "core/argmax.h"
#include "ssl/ssl.h"

typedef struct pseudo {
    const ssl_setup *setup;
    int32_t *labels; /* pseudo-labels of a batch */
    float *counts;   /* 1 if the pseudo-label counts, else 0 */
} pseudo;

static void view(void *arg, uint64_t draw, const float *in, float *const *out,
                 void *scratch) {
    const pseudo *p = arg;
    (void)scratch;
    ssl_weak(p->setup, draw, in, out[0]);
}

static void evaluate(void *arg, const nn_unlabelled *u, nn_method_result *result) {
    pseudo *p = arg;
    size_t c = u->classes;
    float weight = (float)ssl_weight(p->setup, u);
    for (size_t i = 0; i < u->n; i++) {
        const float *z = u->logits + i * c;
        p->labels[i] = (int32_t)scant__argmax(z, c);
        p->counts[i] = nn_confidence(z, c) > p->setup->o.ssl.threshold;
        if (!(p->counts[i] > 0)) continue;
        result->kept++;
        result->counts[p->labels[i]]++;
    }
    nn_targets wanted = {.labels = p->labels, .weights = p->counts};
    result->loss = nn_loss(&wanted, u->n, c, u->logits, u->d).loss;
    for (size_t i = 0; i < u->n * c; i++) u->d[i] *= weight;
}

static scant_status begin(ssl_setup *s) {
    nn_method *m = &s->method;
    pseudo *p = m->arg = TRY_NEW(s->arena, pseudo, 1);
    p->setup = s;
    p->labels = TRY_NEW(s->arena, int32_t, m->batch);
    p->counts = TRY_NEW(s->arena, float, m->batch);
    m->grad_views = 1;
    m->view = view;
    m->evaluate = evaluate;
    return SCANT_OK;
}

static const scant_setting defaults[] = {
    {"optimizer", "adam"}, {"lr", "3e-4"}, {"schedule", "late"}, {"batch", "100"}};

const ssl_kind ssl_pseudo_label = {
    .info = {.name = "pseudo-label",
             .summary = "the network's own confident predictions are labels",
             .paper = "Lee 2013",
             .takes = "mu unlabelled_weight threshold ramp noise",
             .defaults = defaults,
             .n_defaults = sizeof defaults / sizeof *defaults},
    .begin = begin,
};
