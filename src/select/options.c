/* SPDX-License-Identifier: Apache-2.0 */
#include "select/strategy.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/number.h"
#include "core/option.h"
#include "linalg/ntk.h"
#include "scant/study.h"

static scant_status parse(scant_ctx *ctx, const char *strategy, const scant_option *o,
                          select_value *value) {
    scant__value read;
    char expected[SCANT__EXPECTED];
    if (!scant__option_read(o, value->text, &read))
        return scant__fail(ctx, SCANT_EUSAGE, "%s: %s is '%s', expected %s", strategy,
                           o->key, value->text,
                           scant__option_expected(o, value->text, expected));
    value->number = read.number;
    value->param = read.param;
    if (o->kind == SCANT_OPTION_SWITCH) /* "0" or "1", which JSON can show as a number */
        value->text = read.number != 0 ? "1" : "0";
    return SCANT_OK;
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
        return scant__fail(ctx, SCANT_EUSAGE, "%s has no option '%s'; it has no options",
                           info->name, key);
    return scant__fail(ctx, SCANT_EUSAGE, "%s has no option '%s'; it has: %s", info->name,
                       key, known);
}

scant_status select_options_resolve(scant__arena *arena, const scant_strategy *strategy,
                                    const scant_setting *settings, size_t n_settings,
                                    bool kernel, select_value **out) {
    const scant_strategy_info *info = &strategy->info;
    select_value *values = TRY_ZERO(arena, select_value, info->n_options + 1);
    for (size_t i = 0; i < n_settings; i++) {
        const scant_option *o =
            scant__option_find(info->options, info->n_options, settings[i].key);
        if (!o) return unknown(arena->ctx, info, settings[i].key);
        size_t k = (size_t)(o - info->options);
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
        if (!values[k].text && !otherwise) continue; /* the strategy sets it later */
        if (!values[k].text) values[k].text = otherwise;
        TRY(parse(arena->ctx, info->name, o, &values[k]));
    }
    *out = values;
    return SCANT_OK;
}

/* ---- kernels ----------------------------------------------------------------------- */

/* Lists the strategies that take a kernel: "npc, crc, bss". */
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
    NEED(ctx);
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

/* ---- option values of a call ------------------------------------------------------- */

static select_value *value_of(const scant_selection *sel, const char *key) {
    const scant_strategy_info *info = &sel->strategy->info;
    const scant_option *o = scant__option_find(info->options, info->n_options, key);
    assert(o);
    return &sel->values[o - info->options];
}

double select_option(const scant_selection *sel, const char *key) {
    return value_of(sel, key)->number;
}

double select_option_param(const scant_selection *sel, const char *key) {
    return value_of(sel, key)->param;
}

const char *select_option_text(const scant_selection *sel, const char *key) {
    return value_of(sel, key)->text;
}

bool select_option_is_set(const scant_selection *sel, const char *key) {
    return value_of(sel, key)->text != NULL;
}

scant_status select_option_settle(scant_selection *sel, const char *key, const char *fmt,
                                  ...) {
    const scant_strategy_info *info = &sel->strategy->info;
    select_value *value = value_of(sel, key);
    char text[64];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    value->text = scant__arena_strdup(sel->arena, text);
    if (!value->text) return SCANT_ENOMEM;
    return parse(sel->ctx, info->name, &info->options[value - sel->values], value);
}
