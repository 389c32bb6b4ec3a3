/* SPDX-License-Identifier: Apache-2.0
 *
 * Pseudo-labels (Lee 2013): a confident prediction for an unlabelled sample is its label,
 *     mean CE(labelled) + w(t) sum_i [max p_i > threshold] CE(z_i, argmax p_i) / n,
 * from one weak view and one pass, over all n such samples of a batch.
 */
#include <string.h>

#include "core/argmax.h"
#include "scant/project.h"
#include "ssl/ssl.h"

typedef struct pseudo {
    ssl_change change;
    double weight, threshold;
    size_t ramp;
    int32_t *labels; /* of a batch */
    float *counts;   /* whether they count: 0 or 1 */
} pseudo;

static void view(void *arg, uint64_t draw, const float *in, float *const *out,
                 void *scratch) {
    const pseudo *p = arg;
    (void)scratch;
    ssl_weak(&p->change, draw, in, out[0]);
}

static void evaluate(void *arg, const nn_seen *seen, nn_found *found) {
    pseudo *p = arg;
    size_t c = seen->classes;
    float weight = (float)(p->weight * ssl_ramp(seen->step, p->ramp, seen->steps));
    for (size_t i = 0; i < seen->n; i++) {
        const float *z = seen->logits + i * c;
        p->labels[i] = (int32_t)scant__argmax(z, c);
        p->counts[i] = nn_confidence(z, c) > p->threshold;
        if (!(p->counts[i] > 0)) continue;
        found->kept++;
        found->counts[p->labels[i]]++;
    }
    nn_wanted wanted = {.labels = p->labels, .weights = p->counts};
    found->loss = nn_loss(&wanted, seen->n, c, seen->logits, seen->d).loss;
    for (size_t i = 0; i < seen->n * c; i++) seen->d[i] *= weight;
}

static scant_status begin(ssl_setup *s) {
    nn_method *m = &s->method;
    pseudo *p = scant__arena_zalloc(&s->arena, 1, sizeof *p);
    if (!p) return SCANT_ENOMEM;
    p->change = ssl_change_of(s);
    p->weight = s->o.ssl.weight;
    p->threshold = s->o.ssl.threshold;
    p->ramp = s->o.ssl.ramp;
    p->labels = scant__arena_alloc(&s->arena, m->batch, sizeof *p->labels);
    p->counts = scant__arena_alloc(&s->arena, m->batch, sizeof *p->counts);
    if (!p->labels || !p->counts) return SCANT_ENOMEM;
    m->arg = p;
    m->graded = 1;
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
