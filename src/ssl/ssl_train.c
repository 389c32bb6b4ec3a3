/* SPDX-License-Identifier: Apache-2.0
 *
 * Training by any method: resolves options, finds the unlabelled samples, and runs the
 * training core with the method.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/hash.h"
#include "scant/train.h"
#include "ssl/ssl.h"

/* ---- options ---- */

static scant_status check_target(const ssl_setup *s) {
    const double *target = s->target;
    double sum = 0;
    for (size_t k = 0; target && k < s->classes; k++) {
        if (!(target[k] >= 0) || !isfinite(target[k]))
            return scant__fail(s->ctx, SCANT_EUSAGE,
                               "darp_target of class %zu is %g, expected a finite number "
                               "of at least 0",
                               k, target[k]);
        sum += target[k];
    }
    if (!target || (sum > 0 && isfinite(sum))) return SCANT_OK;
    return scant__fail(s->ctx, SCANT_EUSAGE,
                       "darp_target sums to %g, expected a finite number above 0", sum);
}

static scant_status check(const ssl_setup *s, const ssl_kind *kind) {
    const scant_train_opts *o = &s->o;
    if (o->loss && strcmp(o->loss, "ce") != 0)
        return scant__fail(s->ctx, SCANT_EUSAGE,
                           "method=%s needs loss=ce: it learns from classes",
                           kind->info.name);
    if (!o->labels && scant_data_targets(s->data))
        return scant__fail(s->ctx, SCANT_EUSAGE,
                           "method=%s needs classes, but %s has regression targets",
                           kind->info.name, scant_data_name(s->data));
    if (s->classes < 2)
        return scant__fail(s->ctx, SCANT_EUSAGE,
                           "method=%s needs a network with at least two classes",
                           kind->info.name);
    if (o->batch * o->ssl.mu > 1 << 20)
        return scant__fail(s->ctx, SCANT_EUSAGE,
                           "batch times mu is %zu, expected at most 1048576",
                           o->batch * o->ssl.mu);
    if (o->ssl.darp && o->ssl.align)
        return scant__fail(s->ctx, SCANT_EUSAGE,
                           "darp cannot be combined with align: both move predictions to "
                           "a class distribution");
    return SCANT_OK;
}

/* ---- samples ---- */

static scant_status mark(const ssl_setup *s, const size_t *rows, size_t n, bool *marks) {
    TRY(nn_input_rows_check(s->ctx, s->data, rows, &n));
    for (size_t i = 0; i < n; i++) marks[rows[i]] = true;
    return SCANT_OK;
}

/* Marks the samples that train with a label. */
static scant_status mark_labelled(ssl_setup *s) {
    const scant_train_opts *o = &s->o;
    const int32_t *labels = scant_data_labels(s->data);
    size_t all = scant_data_count(s->data);
    s->trains = TRY_ZERO(s->arena, bool, all);
    if (o->rows) return mark(s, o->rows, o->n_rows, s->trains);
    for (size_t i = 0; i < all; i++) s->trains[i] = labels && labels[i] >= 0;
    return SCANT_OK;
}

/* Lists all samples outside the validation set; without labelled ones, unless the method
 * uses them as unlabelled samples. */
static scant_status list_unlabelled(ssl_setup *s, bool uses_labelled, size_t *rows) {
    scant_train_opts *o = &s->o;
    size_t all = scant_data_count(s->data);
    bool *held = TRY_ZERO(s->arena, bool, all);
    if (o->valid == s->data && o->valid_rows)
        TRY(mark(s, o->valid_rows, o->n_valid_rows, held));
    o->n_unlabelled = 0;
    for (size_t i = 0; i < all; i++)
        if (!held[i] && (uses_labelled || !s->trains[i])) rows[o->n_unlabelled++] = i;
    o->unlabelled = rows;
    return SCANT_OK;
}

/* Resolves augmentation and unlabelled samples. rows: a buffer for all samples. */
static scant_status resolve(ssl_setup *s, const ssl_kind *kind, size_t *rows) {
    if (!s->o.augment || strcmp(s->o.augment, "auto") == 0)
        s->o.augment = scant__data_is_image(s->data) ? "crop" : "noise";
    TRY(mark_labelled(s));
    return s->o.unlabelled ? SCANT_OK
                           : list_unlabelled(s, kind->info.uses_labelled, rows);
}

scant_status scant_train_resolve(scant_ctx *ctx, const scant_data *data,
                                 scant_train_opts *opts, size_t *rows) {
    NEED(ctx && data);
    AUTO(scant__arena_end) scant__arena arena = {.ctx = ctx};
    ssl_setup s = {.ctx = ctx, .arena = &arena, .data = data, .o = *opts};
    if (!s.o.method) s.o.method = ssl_supervised.info.name;
    TRY(nn_train_check(ctx, &s.o));
    const ssl_kind *kind = ssl_find(s.o.method);
    if (!kind->begin) return SCANT_OK;
    if (!rows && !s.o.unlabelled)
        return scant__fail(ctx, SCANT_EUSAGE,
                           "scant_train_resolve() needs room for the unlabelled rows");
    TRY(resolve(&s, kind, rows));
    *opts = s.o;
    return SCANT_OK;
}

static scant_status find_samples(ssl_setup *s, const ssl_kind *kind) {
    nn_method *m = &s->method;
    size_t *rows = NULL;
    if (!s->o.unlabelled) rows = TRY_NEW(s->arena, size_t, scant_data_count(s->data));
    TRY(resolve(s, kind, rows));
    m->rows = s->o.unlabelled;
    m->n = s->o.n_unlabelled;
    TRY(mark(s, m->rows, m->n, s->trains));
    if (m->n) return SCANT_OK;
    return scant__fail(s->ctx, SCANT_EINPUT,
                       "%s: every sample has a label, but method=%s needs unlabelled "
                       "ones: use method=supervised",
                       scant_data_name(s->data), kind->info.name);
}

static scant_status count_labels(ssl_setup *s) {
    const scant_train_opts *o = &s->o;
    const int32_t *own = scant_data_labels(s->data);
    size_t n = o->rows ? o->n_rows : scant_data_count(s->data);
    s->counts = TRY_ZERO(s->arena, double, s->classes);
    for (size_t i = 0; i < n && (o->labels || own); i++) {
        int32_t label = o->labels ? o->labels[i] : own[o->rows ? o->rows[i] : i];
        if (label >= 0 && (size_t)label < s->classes) s->counts[label]++;
    }
    return SCANT_OK;
}

/* Warns about classes that no labelled sample has: pseudo-labels rarely find them. */
static void warn_of_classes(const ssl_setup *s) {
    size_t missing = 0, used = 0;
    char list[200] = "";
    for (size_t k = 0; k < s->classes; k++) {
        if (s->counts[k] > 0) continue;
        if (missing++ < 20)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%zu",
                                     missing > 1 ? ", " : "", k);
    }
    if (missing)
        scant__warn(s->ctx,
                    "%s: no sample is labelled as class %s%s: %s may not be learnt",
                    scant_data_name(s->data), list, missing > 20 ? ", ..." : "",
                    missing > 1 ? "they" : "it");
}

/* The class distribution that darp or align aims at. */
static scant_status find_target(ssl_setup *s) {
    const scant_ssl_opts *o = &s->o.ssl;
    s->target = o->labelled_target ? s->counts : o->darp_target;
    if (s->target && (o->darp || o->align))
        s->method.hash =
            scant__hash(SCANT__HASH_FIRST, s->target, s->classes * sizeof *s->target);
    return check_target(s);
}

/* ---- ssl_train() ---- */

static scant_status set_up(ssl_setup *s, const ssl_kind *kind) {
    nn_method *m = &s->method;
    TRY(check(s, kind));
    TRY(nn_input_check(s->net, s->data));
    TRY(find_samples(s, kind));
    TRY(ssl_views_fit(s));
    TRY(count_labels(s));
    TRY(find_target(s));
    warn_of_classes(s);
    m->name = kind->info.name;
    m->batch = s->o.batch * s->o.ssl.mu;
    m->views = s->augmented ? &s->views : NULL;
    m->scratch = scant__views_scratch(&s->views);
    return kind->begin(s);
}

scant_status ssl_train(scant_net *net, const scant_data *data,
                       const scant_train_opts *opts, bool mixed,
                       scant_train_state *state) {
    AUTO(scant__arena_end) scant__arena arena = {.ctx = net->ctx};
    ssl_setup s = {.ctx = net->ctx,
                   .arena = &arena,
                   .net = net,
                   .data = data,
                   .mixed = mixed,
                   .classes = scant_net_classes(net)};
    if (state) *state = (scant_train_state){0};
    scant_train_defaults(NULL, NULL, &s.o);
    if (opts) s.o = *opts;
    if (!s.o.method) s.o.method = ssl_supervised.info.name;
    TRY(nn_train_check(net->ctx, &s.o));
    const ssl_kind *kind = ssl_find(s.o.method);
    if (!kind->begin) {
        if (s.o.unlabelled)
            return scant__fail(
                net->ctx, SCANT_EUSAGE,
                "unlabelled samples need a semi-supervised method, such as fixmatch");
        return nn_train(net, data, &s.o, NULL, state);
    }
    TRY(set_up(&s, kind));
    return nn_train(net, data, &s.o, &s.method, state);
}

scant_status scant_net_train(scant_net *net, const scant_data *data,
                             const scant_train_opts *opts, scant_train_state *state) {
    NEED(net && data);
    return ssl_train(net, data, opts, false, state);
}
