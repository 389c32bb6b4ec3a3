/* SPDX-License-Identifier: Apache-2.0
 *
 * Training methods in experiments: which keys belong to the chosen method, and which
 * samples of the pool train without labels.
 *
 * A key of another method is checked, but has no effect and is not printed; a warning
 * names it. So the same file can be run with another method.
 */
#include <stdio.h>
#include <string.h>

#include "core/option.h"
#include "loop/loop.h"
#include "scant/train.h"

bool loop_supervised(const loop_settings *set) {
    return strcmp(set->training.method, "supervised") == 0;
}

/* ---- keys -------------------------------------------------------------------------- */

static size_t train_key(const char *key) { return loop_key_find("train", key); }

static const char *chosen(const scant_experiment *e) {
    const char *name = e->texts[train_key("method")];
    return name ? name : "supervised";
}

bool loop_key_counts(const scant_experiment *e, const loop_key *key) {
    return !key->methods || scant__has_word(key->methods, chosen(e));
}

static void add_word(char *list, size_t size, const char *word) {
    size_t used = strlen(list);
    snprintf(list + used, size - used, "%s%s", used ? ", " : "", word);
}

/* The key of the option align of the chosen method. */
static void align_key(const scant_experiment *e, char out[60]) {
    snprintf(out, 60, "%s_align", chosen(e));
}

/* Whether a key of the chosen method has no effect because darp or, for the target, align
 * is off by default. If a file says "no" itself, its keys are ignored on purpose. */
static bool lacks_darp(const scant_experiment *e, const char *key) {
    char align[60];
    bool asked = e->texts[train_key("darp")] != NULL;
    if (strncmp(key, "darp_", 5) != 0 || asked) return false;
    align_key(e, align);
    return strcmp(key, "darp_target") != 0 ||
           (!e->texts[train_key(align)] && !e->set.training.ssl.align);
}

void loop_method_warn(const scant_experiment *e) {
    char others[1000] = "", darp[100] = "", off[60];
    loop_key key;
    for (size_t i = 0; loop_key_at(i, &key); i++) {
        if (!key.methods || !e->texts[i]) continue;
        if (!loop_key_counts(e, &key))
            add_word(others, sizeof others, key.key);
        else if (lacks_darp(e, key.key))
            add_word(darp, sizeof darp, key.key);
    }
    if (*others)
        scant__warn(e->ctx, "ignored because train.method = %s: %s", chosen(e), others);
    align_key(e, off);
    if (strcmp(chosen(e), "fixmatch") == 0) snprintf(off, sizeof off, "darp");
    if (*darp) scant__warn(e->ctx, "ignored because train.%s = no: %s", off, darp);
}

scant_status loop_method_check(scant_experiment *e) {
    const scant_train_opts *o = &e->set.training;
    bool supervised = loop_supervised(&e->set);
    const struct {
        bool wrong;
        const char *key, *value, *why;
    } rules[] = {
        {supervised && strcmp(o->augment, "noise") == 0, "train.augment", o->augment,
         "only methods that learn from unlabelled samples add noise"},
        {!supervised && strcmp(e->set.task, "regression") == 0, "train.method", o->method,
         "it needs classes, and data.task = regression has none"},
        {!supervised && strcmp(o->loss, "ce") != 0, "train.loss", o->loss,
         "methods that learn from unlabelled samples need ce"},
        {o->ssl.darp && o->ssl.align, "train.darp", "yes",
         "align also moves predictions to a class distribution: use one of them"},
        {strcmp(o->method, "mean-teacher") == 0 && o->ema == 0, "train.ema", "0",
         "mean-teacher needs an average: expected above 0"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].wrong)
            return loop_refuse(e, rules[i].key, "is %s, but %s", rules[i].value,
                               rules[i].why);
    return SCANT_OK;
}

/* ---- unlabelled samples of a training ---------------------------------------------- */

/* Sets the unlabelled rows: the pool without the labelled rows. */
static scant_status list_rest(loop_run *run, const loop_labelled *labelled,
                              scant_train_opts *o) {
    const loop_split *split = &run->split;
    size_t n = 0, *rows = TRY_NEW(&run->round.arena, size_t, split->n_pool + 1);
    bool *taken = TRY_ZERO(&run->round.arena, bool, split->n_pool + 1);
    for (size_t i = 0; i < labelled->n; i++)
        taken[loop_place(split->pool, split->n_pool, labelled->rows[i])] = true;
    for (size_t i = 0; i < split->n_pool; i++)
        if (!taken[i]) rows[n++] = split->pool[i];
    o->unlabelled = rows;
    o->n_unlabelled = n;
    return SCANT_OK;
}

/* Returns true, with a warning, if all samples are labelled. In round 0 that is an error,
 * which the training reports. */
static bool used_up(loop_run *run, const scant_train_opts *o) {
    if (o->n_unlabelled || !run->round.number) return false;
    scant__warn(run->ctx, "round %zu: all samples are labelled; training is supervised",
                run->round.number);
    return true;
}

scant_status loop_method_options(loop_run *run, const loop_labelled *labelled,
                                 scant_train_opts *o) {
    const loop_settings *set = &run->job->e->set;
    if (loop_supervised(set)) return SCANT_OK;
    o->ssl.darp_target = run->job->samples.darp_target;
    o->ssl.labelled_target = strcmp(set->darp_target, "labelled") == 0;
    o->unlabelled = run->split.pool;
    o->n_unlabelled = run->split.n_pool;
    if (!scant_method_find(o->method)->uses_labelled) TRY(list_rest(run, labelled, o));
    if (!used_up(run, o)) return SCANT_OK;
    o->unlabelled = NULL;
    o->method = "supervised";
    if (strcmp(set->training.augment, "noise") == 0) o->augment = "none";
    return SCANT_OK;
}
