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

static void fill_double(double *value, double usual) {
    if (*value == 0) *value = usual;
}

static void fill_count(size_t *value, size_t usual) {
    if (!*value) *value = usual;
}

static void fill_word(const char **value, const char *usual) {
    if (!*value) *value = usual;
}

static void fill_own(scant_ssl_opts *o, const scant_ssl_opts *usual) {
    fill_count(&o->mu, usual->mu);
    fill_double(&o->weight, usual->weight);
    fill_double(&o->threshold, usual->threshold);
    fill_double(&o->darp_alpha, 2);
    fill_count(&o->darp_every, 10);
    fill_double(&o->darp_warmup, 0.4);
    fill_double(&o->noise, 0.3);
    fill_double(&o->drop, 0.2);
}

void scant_method_fill(const scant_method_info *method, scant_train_opts *o) {
    const scant_train_opts *usual = &method->usual;
    if (!usual->optimizer) return; /* supervised: the training core's */
    fill_word(&o->optimizer, usual->optimizer);
    if (strcmp(o->optimizer, usual->optimizer) == 0) {
        fill_double(&o->lr, usual->lr);
        if (!o->nesterov && o->momentum >= 0) o->nesterov = usual->nesterov;
    }
    fill_word(&o->schedule, usual->schedule);
    fill_count(&o->batch, usual->batch);
    fill_double(&o->ema, usual->ema);
    fill_double(&o->weight_decay, usual->weight_decay);
    if (!o->decay_weights_only && o->weight_decay > 0)
        o->decay_weights_only = usual->decay_weights_only;
    fill_own(&o->ssl, &usual->ssl);
}

/* ---- what methods share ---- */

double ssl_ramp(size_t step, size_t ramp, size_t steps) {
    double last = ramp ? (double)ramp : 0.4 * (double)steps;
    double left = last > 0 ? 1 - fmin((double)step / last, 1) : 0;
    return exp(-5 * left * left);
}
