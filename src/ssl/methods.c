/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of training methods, their defaults, and functions they share.
 */
#include <math.h>
#include <string.h>

#include "scant/train.h"
#include "ssl/ssl.h"

const ssl_kind ssl_supervised = {
    .info = {.name = "supervised", .summary = "labelled samples alone", .paper = ""},
};

/* ---- table of methods ---- */

static const scant_method_info *const infos[] = {
    &ssl_supervised.info,  &ssl_fixmatch.info,     &ssl_freematch.info,
    &ssl_softmatch.info,   &ssl_mean_teacher.info, &ssl_pi.info,
    &ssl_pseudo_label.info};
enum { INFOS = sizeof infos / sizeof *infos };

const scant_method_info *const *scant_methods(size_t *count) {
    *count = INFOS;
    return infos;
}

const scant_method_info *scant_method_find(const char *name) {
    for (size_t i = 0; i < INFOS; i++)
        if (strcmp(infos[i]->name, name) == 0) return infos[i];
    return NULL;
}

const ssl_kind *ssl_find(const char *name) {
    return (const ssl_kind *)scant_method_find(name); /* info is its first member */
}

/* ---- defaults ---- */

/* Whether a method's default for a key applies only with the method's own optimizer. */
static bool is_of_optimizer(const char *key) {
    return strcmp(key, "lr") == 0 || strcmp(key, "nesterov") == 0;
}

void scant_train_defaults(const char *method, const char *optimizer,
                          scant_train_opts *o) {
    const scant_method_info *info = method ? scant_method_find(method) : NULL;
    if (!info) info = &ssl_supervised.info;
    nn_train_defaults(optimizer, o);
    o->method = info->name;
    bool own = true;
    for (size_t i = 0; i < info->n_defaults; i++) {
        const scant_setting *s = &info->defaults[i];
        if (strcmp(s->key, "optimizer") == 0) {
            own = !optimizer || strcmp(optimizer, s->value) == 0;
            if (!own) continue;
        }
        if (own || !is_of_optimizer(s->key)) nn_train_set(o, s->key, s->value);
    }
}

/* ---- shared functions ---- */

double ssl_weight(const ssl_setup *s, const nn_unlabelled *u) {
    size_t ramp = s->o.ssl.ramp;
    double last = ramp ? (double)ramp : 0.4 * (double)u->steps;
    double left = last > 0 ? 1 - fmin((double)u->step / last, 1) : 0;
    return s->o.ssl.weight * exp(-5 * left * left);
}
