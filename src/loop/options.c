/* SPDX-License-Identifier: Apache-2.0
 *
 * Which strategies run with which options. An option is given, or a preset's, or the
 * strategy's own default; that is also what printing shows.
 */
#include <stdlib.h>
#include <string.h>

#include "core/near.h"
#include "core/option.h"
#include "loop/experiment.h"
#include "scant/train.h"

/* Options that are no strategy's but say what evidence it gets. */
typedef struct layers_of {
    const char *strategy, *key;
    bool kernel; /* or a kernel that needs no network */
} layers_of;
static const layers_of layered[] = {{"dynamic", "layers", false},
                                    {"egl", "layers", false},
                                    {"crc", "layers", true},
                                    {"npc", "kernel", true},
                                    {"bss", "kernel", true}};
enum { LAYERED = sizeof layered / sizeof *layered };

static const layers_of *layers_named(const char *strategy) {
    for (size_t i = 0; i < LAYERED; i++)
        if (!strcmp(layered[i].strategy, strategy)) return &layered[i];
    return NULL;
}

static bool is_kernel(const char *value) {
    return strcmp(value, "last") != 0 && strcmp(value, "all") != 0;
}

static const layers_of *layers_find(const char *strategy, const char *key) {
    const layers_of *l = layers_named(strategy);
    return l && !strcmp(l->key, key) ? l : NULL;
}

/* What the sparse-approximation paper reports its figures with: a table of its own for
 * each data set, NAME, and of that the one strategy's part, NAME-iht and NAME-greedy. Two
 * of its tables are of CIFAR-10. Those of Bayesian networks are of samples of the
 * posterior; older names go on. */
typedef struct preset {
    const char *name, *strategy, *alpha, *beta, *source; /* source NULL: by default */
} preset;
#define PRESET(old, name, source, iht_alpha, iht_beta, greedy_alpha, greedy_beta)        \
    {name, "sparse-iht", iht_alpha, iht_beta, source},                                   \
        {name, "sparse-greedy", greedy_alpha, greedy_beta, source},                      \
        {name "-iht", "sparse-iht", iht_alpha, iht_beta, source},                        \
        {name "-greedy", "sparse-greedy", greedy_alpha, greedy_beta, source},            \
        {old, "sparse-iht", iht_alpha, iht_beta, source}, {                              \
        old, "sparse-greedy", greedy_alpha, greedy_beta, source                          \
    }
static const preset presets[] = {
    PRESET("sparse-mnist", "mnist", "gradient", "1e-8", "1e-4", "1e-8", "0.1"),
    PRESET("sparse-svhn", "svhn", "gradient", "1e-8", "1e-4", "0.1", "0.1"),
    PRESET("sparse-cifar10", "cifar10-general", "gradient", "1e-8", "1e-6", "1e-2",
           "0.1"),
    PRESET("sparse-bayes-fmnist", "fashion-mnist", "samples", "1", "1e-3", "2", "0.5"),
    PRESET("sparse-bayes-cifar10", "cifar10-bayes", "samples", "1", "1e-6", "2", "1"),
    PRESET("sparse-bayes-cifar100", "cifar100", "samples", "1", "1e-6", "1", "0.5"),
};
#undef PRESET
enum { PRESETS = sizeof presets / sizeof *presets };

/* ---- names ------------------------------------------------------------------------- */

static const char *strategy_name(const void *names, size_t i) {
    return ((const scant_strategy_info *const *)names)[i]->name;
}

static const char *option_name(const void *names, size_t i) {
    const scant_strategy_info *info = names;
    if (i < info->n_options) return info->options[i].key;
    const layers_of *l = layers_named(info->name);
    return l ? l->key : "";
}

static const char *preset_name(const void *names, size_t i) {
    (void)names;
    return presets[i].name;
}

static scant_status unknown_strategy(scant_experiment *e, const char *origin,
                                     const char *word) {
    size_t count;
    const scant_strategy_info *const *list = scant_strategies(&count);
    return loop_wrong(e, origin, "'%s' is no strategy; the nearest is '%s'", word,
                      scant__nearest(word, list, count, strategy_name));
}

static size_t count_options(const scant_strategy_info *info) {
    return info->n_options + (layers_named(info->name) != NULL);
}

/* ---- one option -------------------------------------------------------------------- */

static scant_status check_layers(scant_experiment *e, const layers_of *l,
                                 const char *value, const char *origin) {
    unsigned used, missing;
    const scant_select_opts opts = {.kernel = value};
    scant_status status = SCANT_EUSAGE;
    if (!is_kernel(value)) return SCANT_OK;
    if (l->kernel)
        status = scant_select_inputs(e->ctx, l->strategy, &opts, ~0u, &used, &missing);
    if (status != SCANT_EUSAGE) return status;
    return loop_wrong(e, origin, "loop.%s.%s is '%s', expected one of last|all%s",
                      l->strategy, l->key, value,
                      l->kernel ? "|ntk:depth=K, K from 1 to 100" : "");
}

static scant_status check_value(scant_experiment *e, const char *strategy,
                                const char *key, const char *value, const char *origin) {
    unsigned used, missing;
    const scant_setting setting = {key, value};
    const scant_select_opts opts = {.settings = &setting, .n_settings = 1};
    const layers_of *found = layers_find(strategy, key);
    if (found) return check_layers(e, found, value, origin);
    scant_status status =
        scant_select_inputs(e->ctx, strategy, &opts, ~0u, &used, &missing);
    if (status != SCANT_EUSAGE) return status;
    char why[SCANT__ERR_SIZE];
    memcpy(why, e->ctx->err, sizeof why);
    return loop_wrong(e, origin, "%s", why);
}

scant_status loop_check_option(scant_experiment *e, const char *name, const char *value,
                               const char *origin) {
    const char *dot = strchr(name, '.');
    char strategy[64] = "";
    if (dot && (size_t)(dot - name) < sizeof strategy)
        memcpy(strategy, name, (size_t)(dot - name));
    const scant_strategy_info *info = scant_strategy_find(strategy);
    if (!info) {
        size_t many;
        const scant_strategy_info *const *list = scant_strategies(&many);
        return loop_wrong(
            e, origin,
            "unknown key loop.%s: there is no such strategy; the nearest is "
            "'%s'",
            name, scant__nearest(strategy, list, many, strategy_name));
    }
    const char *key = dot + 1;
    size_t count = count_options(info);
    bool known = layers_find(info->name, key) != NULL;
    for (size_t i = 0; i < info->n_options; i++)
        known = known || strcmp(info->options[i].key, key) == 0;
    if (!known && !count)
        return loop_wrong(e, origin, "unknown key loop.%s: %s has no options", name,
                          info->name);
    if (!known)
        return loop_wrong(e, origin, "unknown key loop.%s; the nearest is loop.%s.%s",
                          name, info->name,
                          scant__nearest(key, info, count, option_name));
    return check_value(e, info->name, key, value, origin);
}

static loop_option *find_option(scant_experiment *e, const char *strategy,
                                const char *key) {
    for (size_t i = 0; i < e->n_options; i++)
        if (!strcmp(e->options[i].strategy, strategy) && !strcmp(e->options[i].key, key))
            return &e->options[i];
    return NULL;
}

scant_status loop_option_set(scant_experiment *e, const char *strategy, const char *key,
                             const char *value, const char *origin) {
    loop_option *o = find_option(e, strategy, key);
    if (o) {
        o->value = value;
        o->origin = origin;
        return SCANT_OK;
    }
    if (e->n_options == e->room_options) {
        size_t room = e->room_options ? 2 * e->room_options : 32;
        loop_option *more = scant__arena_alloc(&e->arena, room, sizeof *more);
        if (!more) return SCANT_ENOMEM;
        if (e->n_options) memcpy(more, e->options, e->n_options * sizeof *more);
        e->options = more;
        e->room_options = room;
    }
    e->options[e->n_options++] = (loop_option){strategy, key, value, origin};
    return SCANT_OK;
}

/* ---- lists ------------------------------------------------------------------------- */

/* The next word of a list, copied; NULL at its end. */
static char *next_word(scant_experiment *e, const char **at, scant_status *status) {
    const char *from = *at;
    if (!from) return NULL;
    size_t length = strcspn(from, ",");
    *at = from[length] ? from + length + 1 : NULL;
    while (length && strchr(" \t", *from)) from++, length--;
    while (length && strchr(" \t", from[length - 1])) length--;
    char *word = scant__arena_alloc(&e->arena, length + 1, 1);
    if (!word) {
        *status = SCANT_ENOMEM;
        return NULL;
    }
    memcpy(word, from, length);
    word[length] = 0;
    return word;
}

static size_t count_words(const char *text) {
    size_t n = 1;
    for (; *text; text++) n += *text == ',';
    return n;
}

static scant_status read_strategies(scant_experiment *e) {
    const char *origin = e->origins[loop_key_find("loop", "strategies")];
    const char *at = e->set.strategies, *word;
    scant_status status = SCANT_OK;
    e->arms = scant__arena_zalloc(&e->arena, count_words(at), sizeof *e->arms);
    if (!e->arms) return SCANT_ENOMEM;
    while ((word = next_word(e, &at, &status))) {
        const scant_strategy_info *info = scant_strategy_find(word);
        if (!info) return unknown_strategy(e, origin, word);
        for (size_t i = 0; i < e->n_arms; i++)
            if (e->arms[i].info == info)
                return loop_wrong(e, origin, "loop.strategies has '%s' twice", word);
        e->arms[e->n_arms++].info = info;
    }
    return status;
}

static scant_status read_seeds(scant_experiment *e) {
    const char *origin = e->origins[loop_key_find("loop", "seeds")];
    const char *at = e->set.seeds, *word;
    scant_status status = SCANT_OK;
    e->seeds = scant__arena_zalloc(&e->arena, count_words(at), sizeof *e->seeds);
    if (!e->seeds) return SCANT_ENOMEM;
    while ((word = next_word(e, &at, &status))) {
        uint64_t seed;
        if (!scant__whole_read(word, &seed))
            return loop_wrong(e, origin,
                              "loop.seeds has '%s', expected whole numbers with commas "
                              "between",
                              word);
        for (size_t i = 0; i < e->n_seeds; i++)
            if (e->seeds[i] == seed)
                return loop_wrong(e, origin, "loop.seeds has %s twice", word);
        e->seeds[e->n_seeds++] = seed;
    }
    if (status != SCANT_OK || !*e->set.query_seed) return status;
    if (scant__whole_read(e->set.query_seed, &e->query_seed)) return SCANT_OK;
    return loop_wrong(e, e->origins[loop_key_find("loop", "query_seed")],
                      "loop.query_seed is '%s', expected a whole number",
                      e->set.query_seed);
}

/* ---- presets and defaults ---------------------------------------------------------- */

static scant_status preset_option(scant_experiment *e, const char *strategy,
                                  const char *key, const char *value) {
    if (!value || find_option(e, strategy, key)) return SCANT_OK;
    return loop_option_set(e, strategy, key, value, NULL);
}

static scant_status apply_preset(scant_experiment *e) {
    const char *name = e->set.preset;
    const char *origin = e->origins[loop_key_find("loop", "preset")];
    bool known = false;
    if (!*name) return SCANT_OK;
    for (size_t i = 0; i < PRESETS; i++) {
        const preset *p = &presets[i];
        if (strcmp(p->name, name) != 0) continue;
        known = true;
        TRY(preset_option(e, p->strategy, "alpha", p->alpha));
        TRY(preset_option(e, p->strategy, "beta", p->beta));
        TRY(preset_option(e, p->strategy, "source", p->source));
    }
    if (known) return SCANT_OK;
    if (!strcmp(name, "cifar10") || !strncmp(name, "cifar10-", 8))
        return loop_wrong(e, origin,
                          "loop.preset is '%s', which is none: those of CIFAR-10 are "
                          "cifar10-general and cifar10-bayes, each also with -iht or "
                          "-greedy at its end",
                          name);
    return loop_wrong(e, origin,
                      "loop.preset is '%s', which is none; the nearest is '%s'", name,
                      scant__nearest(name, presets, PRESETS, preset_name));
}

/* Where networks say several things of a sample, what compares rows by that does. */
static scant_status fill_source(scant_experiment *e, const scant_strategy_info *info) {
    bool has = false;
    if (!loop_is_bayesian(&e->set)) return SCANT_OK;
    for (size_t i = 0; i < info->n_options; i++)
        has = has || strcmp(info->options[i].key, "source") == 0;
    if (!has || find_option(e, info->name, "source")) return SCANT_OK;
    return loop_option_set(e, info->name, "source", "samples", NULL);
}

static scant_status fill_options(scant_experiment *e, const scant_strategy_info *info) {
    const layers_of *l = layers_named(info->name);
    const loop_option *given = l ? find_option(e, info->name, l->key) : NULL;
    bool layers = l && !given, kernel = given && is_kernel(given->value);
    TRY(fill_source(e, info));
    for (size_t i = 0; i < info->n_options; i++) {
        const scant_option *o = &info->options[i];
        const char *value = kernel && o->kernel_value ? o->kernel_value : o->value;
        if (value && !find_option(e, info->name, o->key))
            TRY(loop_option_set(e, info->name, o->key, value, NULL));
    }
    return layers ? loop_option_set(e, info->name, l->key, "last", NULL) : SCANT_OK;
}

/* Its settings, all at once: they may contradict each other. */
static scant_status settle_arm(scant_experiment *e, loop_arm *arm) {
    unsigned used, missing;
    scant_setting *settings =
        scant__arena_alloc(&e->arena, e->n_options + 1, sizeof *settings);
    if (!settings) return SCANT_ENOMEM;
    for (size_t i = 0; i < e->n_options; i++) {
        const loop_option *o = &e->options[i];
        if (strcmp(o->strategy, arm->info->name) != 0) continue;
        if (!layers_find(o->strategy, o->key)) {
            settings[arm->n_settings++] = (scant_setting){o->key, o->value};
            continue;
        }
        arm->whole = strcmp(o->value, "all") == 0;
        arm->kernel = is_kernel(o->value) ? o->value : NULL;
    }
    arm->settings = settings;
    return scant_select_inputs(e->ctx, arm->info->name,
                               &(scant_select_opts){.settings = settings,
                                                    .n_settings = arm->n_settings,
                                                    .kernel = arm->kernel},
                               ~0u, &used, &missing);
}

scant_status loop_resolve(scant_experiment *e) {
    TRY(read_strategies(e));
    TRY(read_seeds(e));
    TRY(apply_preset(e));
    for (size_t i = 0; i < e->n_arms; i++) TRY(fill_options(e, e->arms[i].info));
    for (size_t i = 0; i < e->n_arms; i++) TRY(settle_arm(e, &e->arms[i]));
    return SCANT_OK;
}
