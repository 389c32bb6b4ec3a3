/* SPDX-License-Identifier: Apache-2.0 */
#include "select/options.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/number.h"
#include "linalg/ntk.h"
#include "scant/study.h"

/* Which word of "a|b|c:K" text is; -1: none. */
static int choice_of(const scant_option *o, const char *text, double *param) {
    size_t length = strlen(text);
    int which = 0;
    for (const char *word = o->choices;; which++) {
        size_t size = strcspn(word, "|"), stem = size > 2 ? size - 1 : 0; /* "c:" */
        if (size == length && !memcmp(word, text, size) && word[size - 1] != 'K')
            return which;
        if (stem && !memcmp(word + size - 2, ":K", 2) && length > stem &&
            !memcmp(word, text, stem) && scant__number_parse(text + stem, param) &&
            floor(*param) == *param && *param >= o->min && *param <= o->max)
            return which;
        if (!word[size]) return -1;
        word += size + 1;
    }
}

static scant_status parse(scant_ctx *ctx, const char *strategy, const scant_option *o,
                          select_value *value) {
    const char *text = value->text;
    double *out = &value->number;
    if (o->kind == SCANT_OPTION_CHOICE) {
        int which = choice_of(o, text, &value->param);
        if (which < 0 && strstr(o->choices, ":K"))
            return scant__fail(ctx, SCANT_EUSAGE,
                               "%s: %s is '%s', expected one of %s, K from %g to %g",
                               strategy, o->key, text, o->choices, o->min, o->max);
        if (which < 0)
            return scant__fail(ctx, SCANT_EUSAGE, "%s: %s is '%s', expected one of %s",
                               strategy, o->key, text, o->choices);
        *out = which;
        return SCANT_OK;
    }
    bool whole = o->kind != SCANT_OPTION_NUMBER;
    double min = o->kind == SCANT_OPTION_SWITCH ? 0 : o->min;
    double max = o->kind == SCANT_OPTION_SWITCH ? 1 : o->max;
    if (scant__number_parse(text, out) && (!whole || floor(*out) == *out) &&
        *out >= min && *out <= max && !(o->open && (*out == min || *out == max)))
        return SCANT_OK;
    if (o->kind == SCANT_OPTION_SWITCH)
        return scant__fail(ctx, SCANT_EUSAGE, "%s: %s is '%s', expected 0 or 1", strategy,
                           o->key, text);
    return scant__fail(ctx, SCANT_EUSAGE,
                       o->open
                           ? "%s: %s is '%s', expected a %snumber above %g and below %g"
                           : "%s: %s is '%s', expected a %snumber from %g to %g",
                       strategy, o->key, text, whole ? "whole " : "", min, max);
}

static scant_status unknown(scant_ctx *ctx, const scant_strategy_info *info,
                            const char *key) {
    char known[512];
    size_t used = 0;
    known[0] = 0;
    for (size_t i = 0; i < info->n_options && used < sizeof known; i++)
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "",
                                 info->options[i].key);
    if (!info->n_options)
        return scant__fail(ctx, SCANT_EUSAGE, "%s has no option '%s'; it has none",
                           info->name, key);
    return scant__fail(ctx, SCANT_EUSAGE, "%s has no option '%s'; it has: %s", info->name,
                       key, known);
}

scant_status select_options_resolve(scant__arena *arena, const scant_strategy *strategy,
                                    const scant_setting *settings, size_t n_settings,
                                    bool kernel, select_value **out) {
    const scant_strategy_info *info = &strategy->info;
    select_value *values =
        scant__arena_zalloc(arena, info->n_options + 1, sizeof *values);
    if (!values) return SCANT_ENOMEM;
    for (size_t i = 0; i < n_settings; i++) {
        size_t k = 0;
        while (k < info->n_options && strcmp(info->options[k].key, settings[i].key)) k++;
        if (k == info->n_options) return unknown(arena->ctx, info, settings[i].key);
        if (values[k].text)
            return scant__fail(arena->ctx, SCANT_EUSAGE, "%s: %s is given twice",
                               info->name, settings[i].key);
        values[k].text = scant__arena_strdup(arena, settings[i].value);
        if (!values[k].text) return SCANT_ENOMEM;
    }
    for (size_t k = 0; k < info->n_options; k++) {
        const scant_option *o = &info->options[k];
        const char *otherwise = kernel && o->kernel_value ? o->kernel_value : o->value;
        values[k].number = -1;
        if (!values[k].text && !otherwise) continue; /* the call decides */
        if (!values[k].text) values[k].text = scant__arena_strdup(arena, otherwise);
        if (!values[k].text) return SCANT_ENOMEM;
        TRY(parse(arena->ctx, info->name, o, &values[k]));
    }
    *out = values;
    return SCANT_OK;
}

/* ---- kernels ----------------------------------------------------------------------- */

/* "npc, crc, bss" */
static const char *takers(char *out, size_t size) {
    size_t count, used = 0;
    const scant_strategy_info *const *all = scant_strategies(&count);
    out[0] = 0;
    for (size_t i = 0; i < count && used < size; i++)
        if (all[i]->kernel)
            used += (size_t)snprintf(out + used, size - used, "%s%s", used ? ", " : "",
                                     all[i]->name);
    return out;
}

scant_status scant_kernel_parse(scant_ctx *ctx, const char *text, size_t *depth) {
    static const char start[] = "ntk:depth=";
    size_t length = strlen(start);
    double number;
    bool known = strncmp(text, start, length) == 0 &&
                 scant__number_parse(text + length, &number) && floor(number) == number &&
                 number >= 1 && number <= LA_NTK_DEPTH;
    if (!known)
        return scant__fail(ctx, SCANT_EUSAGE,
                           "the kernel is '%s', expected ntk:depth=K, K from 1 to %d",
                           text, LA_NTK_DEPTH);
    *depth = (size_t)number;
    return SCANT_OK;
}

scant_status select_kernel_parse(scant_ctx *ctx, const scant_strategy *strategy,
                                 const char *text, size_t *depth) {
    char names[128];
    if (!strategy->info.kernel)
        return scant__fail(ctx, SCANT_EUSAGE, "%s takes no kernel; these do: %s",
                           strategy->info.name, takers(names, sizeof names));
    return scant_kernel_parse(ctx, text, depth);
}

/* ---- a call's values --------------------------------------------------------------- */

static select_value *value_of(const select_req *req, const char *key) {
    const scant_strategy_info *info = &req->strategy->info;
    size_t k = 0;
    while (k < info->n_options && strcmp(info->options[k].key, key)) k++;
    assert(k < info->n_options);
    return &req->values[k];
}

double select_option(const select_req *req, const char *key) {
    return value_of(req, key)->number;
}

double select_option_param(const select_req *req, const char *key) {
    return value_of(req, key)->param;
}

const char *select_option_text(const select_req *req, const char *key) {
    return value_of(req, key)->text;
}

bool select_option_is_set(const select_req *req, const char *key) {
    return value_of(req, key)->text != NULL;
}

scant_status select_option_settle(select_req *req, const char *key, const char *fmt,
                                  ...) {
    const scant_strategy_info *info = &req->strategy->info;
    select_value *value = value_of(req, key);
    char text[64];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    value->text = scant__arena_strdup(req->arena, text);
    if (!value->text) return SCANT_ENOMEM;
    return parse(req->ctx, info->name, &info->options[value - req->values], value);
}
