/* SPDX-License-Identifier: Apache-2.0
 *
 * Opening and printing experiments.
 */
#include "loop/experiment.h"

#include <stdio.h>
#include <string.h>

#include "core/near.h"
#include "core/option.h"
#include "data/ini.h"
#include "data/source.h"
#include "scant/train.h"

const char loop_origin_set[] = "--set";

scant_status loop_wrong(scant_experiment *e, const char *origin, const char *format,
                        ...) {
    char text[SCANT__ERR_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!origin) return scant__fail(e->ctx, SCANT_EUSAGE, "%s", text);
    return scant__fail(e->ctx, origin == loop_origin_set ? SCANT_EUSAGE : SCANT_EINPUT,
                       "%s: %s", origin, text);
}

scant_status loop_refuse(scant_experiment *e, const char *name, const char *format, ...) {
    char text[SCANT__ERR_SIZE], section[16];
    const char *dot = strchr(name, '.');
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    snprintf(section, sizeof section, "%.*s", (int)(dot - name), name);
    return loop_wrong(e, e->origins[loop_key_find(section, dot + 1)], "%s %s", name,
                      text);
}

/* ---- values ------------------------------------------------------------------------ */

static const char *section_name(const void *names, size_t i) {
    (void)names;
    return loop_section_at(i);
}

static bool is_section(const char *name) {
    const char *known;
    for (size_t i = 0; (known = loop_section_at(i)); i++)
        if (strcmp(known, name) == 0) return true;
    return false;
}

/* empty: the message for a section without a name. */
static scant_status check_section(scant_experiment *e, const char *section,
                                  const char *origin, const char *empty) {
    size_t count = 0;
    if (is_section(section)) return SCANT_OK;
    while (loop_section_at(count)) count++;
    if (!*section)
        return loop_wrong(e, origin, "%s; sections are data, model, train and loop",
                          empty);
    return loop_wrong(e, origin, "unknown section [%s]; the nearest is [%s]", section,
                      scant__nearest(section, NULL, count, section_name));
}

static const char *key_name(const void *names, size_t i) {
    return ((const loop_key *)names)[i].key;
}

/* Suggests the section that has the key, else the nearest key of this section. */
static scant_status unknown_key(scant_experiment *e, const char *section, const char *key,
                                const char *origin) {
    loop_key *keys = TRY_NEW(&e->arena, loop_key, e->n_keys), one;
    size_t count = 0;
    for (size_t i = 0; loop_key_at(i, &one); i++) {
        if (strcmp(one.key, key) == 0)
            return loop_wrong(e, origin, "unknown key %s.%s; the nearest is %s.%s",
                              section, key, one.section, key);
        if (strcmp(one.section, section) == 0) keys[count++] = one;
    }
    return loop_wrong(e, origin, "unknown key %s.%s; the nearest is %s.%s", section, key,
                      section, scant__nearest(key, keys, count, key_name));
}

static scant_status given_twice(scant_experiment *e, const char *section, const char *key,
                                const char *origin, const char *before) {
    if (origin == loop_origin_set)
        return loop_wrong(e, origin, "%s.%s is given twice", section, key);
    return loop_wrong(e, origin, "%s.%s is given twice; the first is at %s", section, key,
                      before);
}

static scant_status assign_option(scant_experiment *e, const char *key, char *value,
                                  const char *origin, bool override) {
    char *strategy = scant__arena_strdup(&e->arena, key);
    if (!strategy) return SCANT_ENOMEM;
    char *name = strchr(strategy, '.') + 1;
    name[-1] = 0;
    TRY(loop_check_option(e, strategy, name, value, origin));
    const loop_option *before = loop_option_find(e, strategy, name);
    if (before && !override) return given_twice(e, "loop", key, origin, before->origin);
    return loop_option_set(e, strategy, name, value, origin);
}

scant_status loop_assign(scant_experiment *e, const char *section, const char *key,
                         const char *value, const char *origin, bool override) {
    TRY(check_section(e, section, origin, "there is a key before the first [section]"));
    size_t i = loop_key_find(section, key);
    bool option = i == e->n_keys && strcmp(section, "loop") == 0 && strchr(key, '.');
    if (i == e->n_keys && !option) return unknown_key(e, section, key, origin);
    if (!scant__ini_fits(value))
        return loop_wrong(e, origin,
                          "%s.%s has a value that cannot be written to a file: it has a "
                          "control character, a blank at an end, a blank before ';' or "
                          "'#', or is long and has no place to break a line at",
                          section, key);
    char *kept = scant__arena_strdup(&e->arena, value);
    if (!kept) return SCANT_ENOMEM;
    if (option) return assign_option(e, key, kept, origin, override);
    if (e->texts[i] && !override)
        return given_twice(e, section, key, origin, e->origins[i]);
    e->texts[i] = kept;
    e->origins[i] = origin;
    return SCANT_OK;
}

/* Sets "section.key". It overrides the file; giving a setting twice fails. */
static scant_status assign_setting(scant_experiment *e, const scant_setting *setting,
                                   const scant_setting *before, size_t n_before) {
    char section[64] = "";
    const char *dot = strchr(setting->key, '.');
    size_t length = dot ? (size_t)(dot - setting->key) : 0;
    if (!dot || !length || length >= sizeof section)
        return loop_wrong(e, loop_origin_set,
                          "'%s' is not a key: settings are section.key=value, as "
                          "loop.batch=20",
                          setting->key);
    memcpy(section, setting->key, length);
    for (size_t i = 0; i < n_before; i++)
        if (strcmp(before[i].key, setting->key) == 0)
            return given_twice(e, section, dot + 1, loop_origin_set, loop_origin_set);
    return loop_assign(e, section, dot + 1, setting->value, loop_origin_set, true);
}

/* ---- rules across keys ------------------------------------------------------------- */

static scant_status check_whole(scant_experiment *e) {
    const loop_settings *s = &e->set;
    const scant_train_opts *t = &s->training;
    bool regression = strcmp(s->task, "regression") == 0;
    bool sgd = strcmp(t->optimizer, "sgd") == 0 && t->momentum != 0;
    const struct {
        bool wrong;
        const char *key, *why;
    } rules[] = {
        {t->patience && !s->validation, "train.patience",
         "needs data.validation: samples for early stopping"},
        {regression && t->until > 0, "train.until",
         "is an accuracy, and data.task = regression has none"},
        {t->until_extra && !(t->until > 0), "train.until_extra", "needs train.until"},
        {regression && strcmp(s->initial_how, "balanced") == 0, "loop.initial_how",
         "= balanced needs classes"},
        {strcmp(s->initial_how, "none") != 0 && !s->initial, "loop.initial",
         "is 0, expected at least 1, or loop.initial_how = none to pick by an untrained "
         "network"},
        {t->nesterov && !sgd, "train.nesterov", "needs the sgd optimizer with momentum"},
        {!*s->train && *s->train_labels, "data.train_labels", "needs data.train"},
        {!*s->test && *s->test_labels, "data.test_labels", "needs data.test"},
        {s->warm && s->reinit, "train.reinit",
         "= yes and train.warm = yes contradict each other: new weights, or the last "
         "round's"},
    };
    if (regression && strcmp(t->loss, "mse") != 0)
        return loop_refuse(e, "train.loss",
                           "is %s, expected mse, as data.task = regression", t->loss);
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].wrong) return loop_refuse(e, rules[i].key, "%s", rules[i].why);
    if (t->steps && t->warmup != SIZE_MAX && t->warmup > t->steps)
        return loop_refuse(e, "train.warmup",
                           "is %zu, expected at most %zu (train.steps)", t->warmup,
                           t->steps);
    TRY(loop_bayes_check(e));
    return loop_method_check(e);
}

/* ---- files ------------------------------------------------------------------------- */

typedef struct file_reader {
    scant_experiment *e;
    const char *path;
} file_reader;

static scant_status on_section(void *user, const char *section, size_t line) {
    file_reader *r = user;
    const char *origin = scant__arena_format(&r->e->arena, "%s:%zu", r->path, line);
    if (!origin) return SCANT_ENOMEM;
    return check_section(r->e, section, origin, "a section has no name");
}

static scant_status on_value(void *user, const char *section, const char *key,
                             const char *value, size_t line) {
    file_reader *r = user;
    const char *origin = scant__arena_format(&r->e->arena, "%s:%zu", r->path, line);
    return origin ? loop_assign(r->e, section, key, value, origin, false) : SCANT_ENOMEM;
}

static scant_status read_file(scant_experiment *e, const char *path) {
    file_reader reader = {e, path};
    scant__ini ini = {on_section, on_value, &reader};
    AUTO(scant__source_close) scant__source source = {0};
    TRY(scant__source_map(e->ctx, path, &source));
    return scant__ini_read(e->ctx, path, source.bytes, source.size, &ini);
}

static scant_status fill(scant_experiment *e, const char *path,
                         const scant_setting *settings, size_t count) {
    e->n_keys = loop_key_find("", "");
    e->texts = TRY_ZERO(&e->arena, const char *, e->n_keys);
    e->origins = TRY_ZERO(&e->arena, const char *, e->n_keys);
    if (path) TRY(read_file(e, path));
    for (size_t i = 0; i < count; i++) TRY(assign_setting(e, &settings[i], settings, i));
    TRY(loop_parse(e));
    TRY(loop_resolve(e));
    return check_whole(e);
}

scant_status scant_experiment_open(scant_ctx *ctx, const char *path,
                                   const scant_setting *settings, size_t count,
                                   scant_experiment **out) {
    *out = NULL;
    NEED(ctx);
    scant_experiment *e = scant__zalloc(ctx, 1, sizeof *e);
    if (!e) return SCANT_ENOMEM;
    e->ctx = e->arena.ctx = ctx;
    scant_status status = fill(e, path, settings, count);
    if (status == SCANT_OK)
        *out = e;
    else
        scant_experiment_free(e);
    return status;
}

void scant_experiment_free(scant_experiment *e) {
    if (!e) return;
    scant__free(e->ctx, e->options);
    scant__arena_end(&e->arena);
    scant__free(e->ctx, e);
}

/* ---- printing ---------------------------------------------------------------------- */

/* Prints options in the order of scant_strategies() and of each strategy's table. */
static void print_options(const scant_experiment *e, scant__text *text) {
    size_t count;
    const scant_strategy_info *const *list = scant_strategies(&count);
    for (size_t s = 0; s < count; s++)
        for (size_t k = 0; k < loop_option_count(list[s]); k++) {
            const loop_option *o =
                loop_option_find(e, list[s]->name, loop_option_name(list[s], k));
            char name[128];
            if (!o) continue;
            snprintf(name, sizeof name, "%s.%s", o->strategy, o->key);
            scant__ini_write(text, name, o->value);
        }
}

void loop_print(const scant_experiment *e, scant__text *text) {
    char number[SCANT__NUMBER];
    const char *section = "";
    loop_key key;
    for (size_t i = 0; loop_key_at(i, &key); i++) {
        if (!loop_key_counts(e, &key)) continue;
        if (strcmp(section, key.section) != 0)
            scant__text_addf(text, "%s[%s]\n", *section ? "\n" : "", key.section);
        section = key.section;
        const char *value = e->texts[i];
        if (!value || !*value)
            value = scant__option_text(key.row, (const char *)&e->set + key.base, number);
        scant__ini_write(text, key.key, value);
    }
    print_options(e, text);
}

scant_status scant_experiment_print(scant_experiment *e, void **bytes, size_t *size) {
    NEED(e);
    scant__text text = {.ctx = e->ctx};
    char *out;
    loop_print(e, &text);
    scant_status status = scant__text_take(&text, &out, size);
    *bytes = out;
    return status;
}
