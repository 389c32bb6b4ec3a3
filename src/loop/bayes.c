/* SPDX-License-Identifier: Apache-2.0
 *
 * Bayesian networks and ensembles: checks the keys model.bayes, samples, prior and
 * hidden, and sets the network's options. model.samples is the number of posterior draws,
 * or of an ensemble's members.
 *
 * A key without effect (samples with bayes = none, prior with dropout) is kept with a
 * warning, so that the same file can be run with another model.bayes.
 */
#include <string.h>

#include "loop/loop.h"
#include "scant/train.h"

enum { MANY = 20 }; /* warn above so many members: draws were probably meant */

static size_t key_of(const char *key) { return loop_key_find("model", key); }

bool loop_is_ensemble(const loop_settings *set) {
    return strcmp(set->bayes, "ensemble") == 0;
}

bool loop_is_bayesian(const loop_settings *set) {
    return strcmp(set->bayes, "none") != 0 && set->samples > 1;
}

size_t loop_members(const loop_settings *set) {
    return loop_is_ensemble(set) ? set->samples : 1;
}

/* Replaces 0 by the defaults; then the default is printed instead of the given text. */
void loop_bayes_fill(scant_experiment *e) {
    loop_settings *s = &e->set;
    if (strcmp(s->bayes, "none") == 0) return;
    if (!s->samples) {
        s->samples = loop_is_ensemble(s) ? 5 : 100;
        e->texts[key_of("samples")] = NULL;
    }
    bool saved = *s->weights; /* the weights file has its own dropout rate */
    if (strcmp(s->bayes, "dropout") == 0 && s->net.dropout == 0 && !saved) {
        s->net.dropout = 0.5;
        e->texts[key_of("dropout")] = NULL;
    }
}

static void warn_of(scant_experiment *e, const char *key, const char *of) {
    scant__warn(e->ctx, "model.%s is ignored: it needs model.bayes = %s, but that is %s",
                key, of, e->set.bayes);
}

scant_status loop_bayes_check(scant_experiment *e) {
    const loop_settings *s = &e->set;
    bool none = strcmp(s->bayes, "none") == 0;
    bool variational = strcmp(s->bayes, "variational") == 0;
    if (none && s->samples) warn_of(e, "samples", "dropout, variational or ensemble");
    if (!variational && s->prior != 1) warn_of(e, "prior", "variational");
    if (!loop_is_ensemble(s)) return SCANT_OK;
    if (s->samples < 2 || s->samples > LOOP_MEMBERS)
        return loop_refuse(e, "model.samples",
                           "is %zu, expected 2 to %d: members of an ensemble "
                           "(model.bayes)",
                           s->samples, LOOP_MEMBERS);
    if (s->samples > MANY)
        scant__warn(
            e->ctx,
            "model.samples is %zu: with model.bayes = ensemble, so many members are "
            "trained each round",
            s->samples);
    if (s->initial_models * s->samples > LOOP_PARTS)
        return loop_refuse(
            e, "train.initial_models",
            "is %zu, but with ensembles of %zu members it can be %zu at most",
            s->initial_models, s->samples, (size_t)LOOP_PARTS / s->samples);
    if (*s->query_seed)
        return loop_refuse(e, "loop.query_seed",
                           "cannot be combined with model.bayes = ensemble");
    return SCANT_OK;
}

void loop_bayes_options(const loop_settings *set, uint64_t seed, scant_net_opts *o) {
    o->hidden = set->hidden == SIZE_MAX ? 0 : set->hidden;
    o->no_hidden = set->hidden == 0;
    if (strcmp(set->bayes, "none") == 0 || loop_is_ensemble(set)) return;
    o->bayes = set->bayes;
    o->draws = set->samples;
    o->draw_seed = seed;
    if (strcmp(set->bayes, "variational") == 0) o->prior = set->prior;
}
