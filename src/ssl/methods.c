/* SPDX-License-Identifier: Apache-2.0
 *
 * All ways of training, and what they share.
 */
#include <math.h>
#include <string.h>

#include "scant/train.h"
#include "ssl/ssl.h"

const ssl_kind ssl_supervised = {
    .info = {.name = "supervised", .summary = "labelled samples alone", .paper = ""},
};

/* ---- the list ---- */

static const scant_method_info *const infos[] = {&ssl_supervised.info, &ssl_fixmatch.info,
                                                 &ssl_mean_teacher.info, &ssl_pi.info,
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
    return (const ssl_kind *)scant_method_find(name); /* which begins with its info */
}

/* ---- defaults ---- */

/* Whether a method's default is of its own optimizer only. */
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

/* ---- what methods share ---- */

double ssl_ramp(size_t step, size_t ramp, size_t steps) {
    double last = ramp ? (double)ramp : 0.4 * (double)steps;
    double left = last > 0 ? 1 - fmin((double)step / last, 1) : 0;
    return exp(-5 * left * left);
}
