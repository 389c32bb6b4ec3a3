/* SPDX-License-Identifier: Apache-2.0
 *
 * How an experiment's networks are trained where they learn from more than labels: keys
 * that are a method's own, what it is usually trained with, and which samples of the pool
 * train without their labels.
 *
 * A method's defaults are those of scant_method_fill(), so that `scant train` and an
 * experiment that say the same do the same. They are filled in as texts, as if somebody
 * had written them: what is printed has them, and does not hang on what a later version
 * finds usual. A key of another method is read and checked, says nothing, is not printed,
 * and a warning tells it: whoever plays a file again with another method need not strip
 * it, and whoever forgot to name the method hears of it.
 */
#include <stdio.h>
#include <string.h>

#include "core/number.h"
#include "loop/loop.h"
#include "scant/train.h"

static const char *const names[LOOP_METHODS] = {"fixmatch", "mean-teacher", "pi",
                                                "pseudo-label"};

size_t loop_method_find(const char *name) {
    size_t i = 0;
    while (i < LOOP_METHODS && strcmp(names[i], name) != 0) i++;
    return i;
}

bool loop_supervised(const loop_settings *set) {
    return loop_method_find(set->method) == LOOP_METHODS;
}

/* ---- keys -------------------------------------------------------------------------- */

static size_t train_key(const char *key) { return loop_key_find("train", key); }

static bool given(const scant_experiment *e, const char *key) {
    return e->texts[train_key(key)] != NULL;
}

static const char *chosen(const scant_experiment *e) {
    const char *name = e->texts[train_key("method")];
    return name ? name : "supervised";
}

bool loop_key_counts(const scant_experiment *e, size_t key) {
    const char *method = loop_keys()[key].method;
    return !method || strcmp(method, chosen(e)) == 0;
}

static void put(scant_experiment *e, const char *key, const char *text) {
    if (!given(e, key)) e->texts[train_key(key)] = text;
}

static scant_status put_number(scant_experiment *e, const char *key, double value) {
    char text[SCANT__NUMBER];
    if (given(e, key)) return SCANT_OK;
    const char *number = scant__number_shortest(value > 0 ? value : 0, 6, text);
    char *kept = scant__arena_strdup(&e->arena, number);
    if (!kept) return SCANT_ENOMEM;
    put(e, key, kept);
    return SCANT_OK;
}

/* A number as the library's options have it: 0 is not given, -1 a zero. What is no number
 * is given, and told of when it is read. */
static double number_of(const scant_experiment *e, const char *key) {
    double value = 0;
    const char *text = e->texts[train_key(key)];
    if (!text) return 0;
    return scant__number_parse(text, &value) ? scant_or_none(value) : 1;
}

/* Likewise yes, no, or not given. */
static int switch_of(const scant_experiment *e, const char *key) {
    bool on = false;
    const char *text = e->texts[train_key(key)];
    if (!text) return 0;
    return loop_read_switch(text, &on) && on ? 1 : -1;
}

static void put_switch(scant_experiment *e, const char *key, int on) {
    put(e, key, on > 0 ? "yes" : "no");
}

static scant_status put_usual(scant_experiment *e, const scant_method_info *method) {
    scant_train_opts o = {.optimizer = e->texts[train_key("optimizer")],
                          .momentum = number_of(e, "momentum"),
                          .nesterov = switch_of(e, "nesterov"),
                          .weight_decay = number_of(e, "weight_decay"),
                          .decay_weights_only = switch_of(e, "decay_weights_only"),
                          .schedule = e->texts[train_key("schedule")],
                          .ema = number_of(e, "ema")};
    scant_method_fill(method, &o);
    put(e, "optimizer", o.optimizer);
    put(e, "schedule", o.schedule);
    put(e, "augment", "auto");
    put_switch(e, "nesterov", o.nesterov);
    put_switch(e, "decay_weights_only", o.decay_weights_only);
    e->set.usual_lr = o.lr;
    if (o.lr != 0) TRY(put_number(e, "lr", o.lr)); /* else it is the optimizer's */
    TRY(put_number(e, "batch", (double)o.batch));
    TRY(put_number(e, "ema", o.ema));
    return put_number(e, "weight_decay", o.weight_decay);
}

/* One warning of all keys that are another method's, and one of DARP's where nothing was
 * said of DARP itself. */
static void warn_of_idle(const scant_experiment *e) {
    const loop_key *keys = loop_keys();
    char idle[400] = "", darp[100] = "";
    bool asked = given(e, "darp");
    for (size_t i = 0; i < LOOP_KEYS; i++) {
        if (!keys[i].method || !e->texts[i]) continue;
        bool counts = loop_key_counts(e, i);
        if (counts && (asked || strncmp(keys[i].info.key, "darp_", 5) != 0)) continue;
        char *list = counts ? darp : idle;
        size_t size = counts ? sizeof darp : sizeof idle, used = strlen(list);
        snprintf(list + used, size - used, "%s%s", used ? ", " : "", keys[i].info.key);
    }
    if (*idle)
        scant__warn(e->ctx, "train.method is %s: keys of other methods say nothing: %s",
                    chosen(e), idle);
    if (*darp) scant__warn(e->ctx, "without train.darp = yes say nothing: %s", darp);
}

scant_status loop_method_fill(scant_experiment *e) {
    const scant_method_info *info = scant_method_find(chosen(e));
    const char *warm = e->texts[train_key("warm")];
    warn_of_idle(e);
    if (warm && strcmp(warm, "no") != 0) put(e, "reinit", "no");
    if (!info || loop_method_find(info->name) == LOOP_METHODS) return SCANT_OK;
    return put_usual(e, info);
}

static scant_status wrong(scant_experiment *e, const char *key, const char *why) {
    return loop_wrong(e, e->origins[train_key(key)], "train.%s is %s: %s", key,
                      e->texts[train_key(key)], why);
}

scant_status loop_method_check(scant_experiment *e) {
    const loop_settings *s = &e->set;
    bool supervised = loop_supervised(s);
    if (supervised && strcmp(s->augment, "noise") == 0)
        return wrong(e, "augment",
                     "that is of methods which learn from samples without labels");
    if (supervised) return SCANT_OK;
    if (strcmp(s->task, "regression") == 0)
        return wrong(e, "method",
                     "it needs classes, and data.task = regression has none");
    if (strcmp(s->loss, "ce") != 0)
        return wrong(e, "loss", "methods that learn from samples without labels need ce");
    if (strcmp(s->method, "mean-teacher") == 0 && s->ema == 0)
        return wrong(e, "ema", "the teacher of mean-teacher is that average");
    return SCANT_OK;
}

/* ---- a training -------------------------------------------------------------------- */

static scant_ssl_opts own_options(const loop_job *job, size_t method) {
    const loop_settings *set = &job->e->set;
    const loop_method *m = &set->methods[method];
    scant_ssl_opts o = {.mu = m->mu,
                        .weight = scant_or_none(m->weight),
                        .threshold = m->threshold,
                        .ramp = m->ramp,
                        .cut = m->cut,
                        .noise = scant_or_none(m->noise),
                        .drop = scant_or_none(m->drop)};
    if (method != LOOP_FIXMATCH) return o;
    o.darp = set->darp;
    o.darp_target = job->samples.darp_target;
    o.darp_alpha = scant_or_none(set->darp_alpha);
    o.darp_every = set->darp_every;
    o.darp_warmup = scant_or_none(set->darp_warmup);
    return o;
}

/* The pool, without those that train with their labels. */
static scant_status list_rest(loop_run *run, const loop_labelled *labelled, size_t **out,
                              size_t *n_out) {
    const loop_split *split = &run->split;
    scant__arena *arena = &run->round.arena;
    size_t n = 0, *rows = scant__arena_alloc(arena, split->n_pool + 1, sizeof *rows);
    bool *taken = scant__arena_zalloc(arena, split->n_pool + 1, sizeof *taken);
    if (!rows || !taken) return SCANT_ENOMEM;
    for (size_t i = 0; i < labelled->n; i++)
        taken[loop_split_place(split, labelled->rows[i])] = true;
    for (size_t i = 0; i < split->n_pool; i++)
        if (!taken[i]) rows[n++] = split->pool[i];
    *out = rows;
    *n_out = n;
    return SCANT_OK;
}

/* In the end there may be nothing left without a label; what began so is wrong, though,
 * and the training says it. */
static bool used_up(loop_run *run, const scant_train_opts *o) {
    if (o->n_unlabelled || !run->round.number) return false;
    scant__warn(run->ctx,
                "no sample is left without a label in round %zu: it trains by labels "
                "alone",
                run->round.number);
    return true;
}

scant_status loop_method_options(loop_run *run, const loop_labelled *labelled,
                                 scant_train_opts *o) {
    const loop_settings *set = &run->job->e->set;
    size_t method = loop_method_find(set->method);
    bool automatic = strcmp(set->augment, "auto") == 0;
    o->augment = automatic ? NULL : set->augment;
    if (method == LOOP_METHODS) return SCANT_OK;
    o->unlabelled = run->split.pool;
    o->n_unlabelled = run->split.n_pool;
    if (method != LOOP_FIXMATCH) {
        size_t *rows;
        TRY(list_rest(run, labelled, &rows, &o->n_unlabelled));
        o->unlabelled = rows;
    }
    if (used_up(run, o)) {
        o->unlabelled = NULL;
        if (strcmp(set->augment, "noise") == 0) o->augment = NULL;
        return SCANT_OK;
    }
    o->method = set->method;
    o->ssl = own_options(run->job, method);
    o->weight_decay = scant_or_none(set->weight_decay);
    o->ema = scant_or_none(set->ema);
    return SCANT_OK;
}
