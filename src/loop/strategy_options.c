/* SPDX-License-Identifier: Apache-2.0
 *
 * The strategies of an experiment and their options. The value of an option is the given
 * one, else the preset's, else the default (fill_options()). scant_experiment_print()
 * prints this value.
 */
#include <stdlib.h>
#include <string.h>

#include "core/near.h"
#include "core/option.h"
#include "loop/experiment.h"
#include "scant/train.h"

/* Options of the loop: a strategy's evidence comes from the last layer (value "last") or
 * the whole network ("all"). If the strategy accepts kernels, the value can also be a
 * kernel that needs no network. */
typedef struct layers_of {
    const char *strategy, *key;
} layers_of;
static const layers_of layered[] = {{"dynamic", "layers"},
                                    {"egl", "layers"},
                                    {"crc", "layers"},
                                    {"npc", "kernel"},
                                    {"bss", "kernel"}};
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

/* Options of the sparse-approximation paper's experiments: NAME for each data set, and
 * NAME-iht and NAME-greedy for one strategy. There are two for CIFAR-10. Those of the
 * paper's Bayesian experiments compare posterior draws (source = samples). Older names of
 * presets remain valid. */
typedef struct preset {
    const char *name, *strategy, *alpha, *beta, *source; /* source NULL: the default */
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

const char *loop_option_name(const void *names, size_t i) {
    const scant_strategy_info *info = names;
    return i < info->n_options ? info->options[i].key : layers_named(info->name)->key;
}

static const char *preset_name(const void *names, size_t i) {
    (void)names;
    return presets[i].name;
}

static const char *nearest_strategy(const char *word) {
    size_t count;
    const scant_strategy_info *const *list = scant_strategies(&count);
    return scant__nearest(word, list, count, strategy_name);
}

size_t loop_option_count(const scant_strategy_info *info) {
    return info->n_options + (layers_named(info->name) != NULL);
}

static bool has_option(const scant_strategy_info *info, const char *key) {
    for (size_t i = 0; i < loop_option_count(info); i++)
        if (strcmp(loop_option_name(info, i), key) == 0) return true;
    return false;
}

/* ---- one option -------------------------------------------------------------------- */

/* Checks that a strategy accepts these options. */
static scant_status try_options(scant_experiment *e, const char *strategy,
                                const scant_select_opts *opts) {
    unsigned used, missing;
    return scant_select_inputs(e->ctx, strategy, opts, ~0u, &used, &missing);
}

static scant_status check_layers(scant_experiment *e, const layers_of *l,
                                 const char *value, const char *origin) {
    scant_status status = SCANT_EUSAGE;
    bool kernel = scant_strategy_find(l->strategy)->kernel;
    if (!is_kernel(value)) return SCANT_OK;
    if (kernel)
        status = try_options(e, l->strategy, &(scant_select_opts){.kernel = value});
    if (status != SCANT_EUSAGE) return status;
    return loop_wrong(e, origin, "loop.%s.%s is '%s', expected one of last|all%s",
                      l->strategy, l->key, value,
                      kernel ? "|ntk:depth=K, K from 1 to 100" : "");
}

static scant_status check_value(scant_experiment *e, const char *strategy,
                                const char *key, const char *value, const char *origin) {
    const scant_setting setting = {key, value};
    const layers_of *found = layers_find(strategy, key);
    if (found) return check_layers(e, found, value, origin);
    scant_status status = try_options(
        e, strategy, &(scant_select_opts){.settings = &setting, .n_settings = 1});
    if (status != SCANT_EUSAGE) return status;
    char why[SCANT__ERR_SIZE];
    memcpy(why, e->ctx->err, sizeof why);
    return loop_wrong(e, origin, "%s", why);
}

scant_status loop_check_option(scant_experiment *e, const char *strategy, const char *key,
                               const char *value, const char *origin) {
    const scant_strategy_info *info = scant_strategy_find(strategy);
    if (!info)
        return loop_wrong(e, origin,
                          "unknown key loop.%s.%s: there is no such strategy; the "
                          "nearest is '%s'",
                          strategy, key, nearest_strategy(strategy));
    if (has_option(info, key)) return check_value(e, strategy, key, value, origin);
    size_t count = loop_option_count(info);
    if (!count)
        return loop_wrong(e, origin, "unknown key loop.%s.%s: %s has no options",
                          strategy, key, strategy);
    return loop_wrong(e, origin, "unknown key loop.%s.%s; the nearest is loop.%s.%s",
                      strategy, key, strategy,
                      scant__nearest(key, info, count, loop_option_name));
}

loop_option *loop_option_find(const scant_experiment *e, const char *strategy,
                              const char *key) {
    for (size_t i = 0; i < e->n_options; i++)
        if (!strcmp(e->options[i].strategy, strategy) && !strcmp(e->options[i].key, key))
            return &e->options[i];
    return NULL;
}

scant_status loop_option_set(scant_experiment *e, const char *strategy, const char *key,
                             const char *value, const char *origin) {
    loop_option *o = loop_option_find(e, strategy, key);
    const loop_option new = {strategy, key, value, origin};
    if (o)
        *o = new;
    else
        TRY_PUSH(e->ctx, e->options, e->n_options, e->room_options, new);
    return SCANT_OK;
}

/* ---- lists ------------------------------------------------------------------------- */

/* Cuts the next word off a comma-separated list; NULL: none left. */
static char *next_word(char **list) {
    char *word = *list;
    if (!word) return NULL;
    char *end = word + strcspn(word, ",");
    *list = *end ? end + 1 : NULL;
    while (end > word && strchr(" \t", end[-1])) end--;
    *end = 0;
    return word + strspn(word, " \t");
}

static scant_status read_strategies(scant_experiment *e) {
    char *list = scant__arena_strdup(&e->arena, e->set.strategies);
    if (!list) return SCANT_ENOMEM;
    e->strategies = TRY_ZERO(&e->arena, loop_strategy, strlen(list) + 1);
    for (const char *word; (word = next_word(&list));) {
        const scant_strategy_info *info = scant_strategy_find(word);
        if (!info)
            return loop_wrong(e, e->origins[loop_key_find("loop", "strategies")],
                              "'%s' is not a strategy; the nearest is '%s'", word,
                              nearest_strategy(word));
        for (size_t i = 0; i < e->n_strategies; i++)
            if (e->strategies[i].info == info)
                return loop_refuse(e, "loop.strategies", "has '%s' twice", word);
        e->strategies[e->n_strategies++].info = info;
    }
    return SCANT_OK;
}

static scant_status read_seed(scant_experiment *e, const char *name, const char *text,
                              uint64_t *out) {
    if (!*text || scant__uint_read(text, out)) return SCANT_OK;
    return loop_refuse(e, name, "is '%s', expected a whole number", text);
}

static scant_status read_seeds(scant_experiment *e) {
    char *list = scant__arena_strdup(&e->arena, e->set.seeds);
    if (!list) return SCANT_ENOMEM;
    e->seeds = TRY_ZERO(&e->arena, uint64_t, strlen(list) + 1);
    for (const char *word; (word = next_word(&list));) {
        uint64_t *seed = &e->seeds[e->n_seeds];
        if (!scant__uint_read(word, seed))
            return loop_refuse(e, "loop.seeds",
                               "has '%s', expected whole numbers separated by commas",
                               word);
        for (size_t i = 0; i < e->n_seeds; i++)
            if (e->seeds[i] == *seed)
                return loop_refuse(e, "loop.seeds", "has %s twice", word);
        e->n_seeds++;
    }
    TRY(read_seed(e, "loop.query_seed", e->set.query_seed, &e->query_seed));
    return read_seed(e, "loop.initial_seed", e->set.initial_seed, &e->initial_seed);
}

/* ---- presets and defaults ---------------------------------------------------------- */

/* Sets an option, unless it already has a value. */
static scant_status preset_option(scant_experiment *e, const char *strategy,
                                  const char *key, const char *value) {
    if (!value || loop_option_find(e, strategy, key)) return SCANT_OK;
    return loop_option_set(e, strategy, key, value, NULL);
}

static scant_status apply_preset(scant_experiment *e) {
    const char *name = e->set.preset;
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
        return loop_refuse(e, "loop.preset",
                           "is '%s', which is not a preset: those of CIFAR-10 are "
                           "cifar10-general and cifar10-bayes, each also with -iht or "
                           "-greedy at its end",
                           name);
    return loop_refuse(e, "loop.preset",
                       "is '%s', which is not a preset; the nearest is '%s'", name,
                       scant__nearest(name, presets, PRESETS, preset_name));
}

/* Fills in defaults. With posterior draws, the default of `source` is samples. */
static scant_status fill_options(scant_experiment *e, const scant_strategy_info *info) {
    const layers_of *l = layers_named(info->name);
    const loop_option *given = l ? loop_option_find(e, info->name, l->key) : NULL;
    bool kernel = given && is_kernel(given->value);
    if (loop_is_bayesian(&e->set) && has_option(info, "source"))
        TRY(preset_option(e, info->name, "source", "samples"));
    for (size_t i = 0; i < info->n_options; i++) {
        const scant_option *o = &info->options[i];
        const char *value = kernel && o->kernel_value ? o->kernel_value : o->value;
        TRY(preset_option(e, info->name, o->key, value));
    }
    return l ? preset_option(e, info->name, l->key, "last") : SCANT_OK;
}

/* Collects a strategy's settings and checks them together: they may conflict. */
static scant_status resolve_strategy(scant_experiment *e, loop_strategy *strategy) {
    scant_setting *settings = TRY_NEW(&e->arena, scant_setting, e->n_options + 1);
    for (size_t i = 0; i < e->n_options; i++) {
        const loop_option *o = &e->options[i];
        if (strcmp(o->strategy, strategy->info->name) != 0) continue;
        if (!layers_find(o->strategy, o->key)) {
            settings[strategy->n_settings++] = (scant_setting){o->key, o->value};
            continue;
        }
        strategy->all_layers = strcmp(o->value, "all") == 0;
        strategy->kernel = is_kernel(o->value) ? o->value : NULL;
    }
    strategy->settings = settings;
    return try_options(e, strategy->info->name,
                       &(scant_select_opts){.settings = settings,
                                            .n_settings = strategy->n_settings,
                                            .kernel = strategy->kernel});
}

scant_status loop_resolve(scant_experiment *e) {
    TRY(read_strategies(e));
    TRY(read_seeds(e));
    TRY(apply_preset(e));
    for (size_t i = 0; i < e->n_strategies; i++)
        TRY(fill_options(e, e->strategies[i].info));
    for (size_t i = 0; i < e->n_strategies; i++)
        TRY(resolve_strategy(e, &e->strategies[i]));
    return SCANT_OK;
}
