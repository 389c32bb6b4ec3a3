/* SPDX-License-Identifier: Apache-2.0
 *
 * "Did you mean ...?", and lists of known names.
 */
#include <string.h>

#include "cli/cli.h"
#include "core/near.h"
#include "scant/train.h"

const char *cli_suggest(const char *word, const char *before, const void *names,
                        size_t count, cli_name_at name_at) {
    const char *best = scant__nearest_typo(word, names, count, name_at);
    return best ? cli_format("; did you mean '%s%s'?", before, best) : "";
}

/* Prints "unknown strategy 'bagde'; did you mean ...", or all names if none is close. */
static _Noreturn void unknown(const cli_command *command, const char *what,
                              const char *word, size_t count, cli_name_at name_at) {
    scant__text text = CLI_TEXT;
    const char *hint = cli_suggest(word, "", NULL, count, name_at);
    if (*hint) cli_usage(command, "unknown %s '%s'%s", what, word, hint);
    for (size_t i = 0; i < count; i++)
        scant__text_addf(&text, "%s%s", i ? ", " : "", name_at(NULL, i));
    cli_usage(command, "unknown %s '%s'; known: %s", what, word, text.data);
}

const char *cli_strategy_name(size_t i) {
    size_t count;
    const scant_strategy_info *const *list = scant_strategies(&count);
    return i < count ? list[i]->name : NULL;
}

static const char *strategy_name(const void *names, size_t i) {
    (void)names;
    return cli_strategy_name(i);
}

const scant_strategy_info *cli_strategy(const cli_command *command, const char *name) {
    size_t count;
    scant_strategies(&count);
    const scant_strategy_info *found = scant_strategy_find(name);
    if (!found) unknown(command, "strategy", name, count, strategy_name);
    return found;
}

const char *cli_model_name(size_t i) {
    size_t count;
    const scant_model_info *const *list = scant_models(&count);
    return i < count ? list[i]->name : NULL;
}

static const char *model_name(const void *names, size_t i) {
    (void)names;
    return cli_model_name(i);
}

const scant_model_info *cli_model(const cli_command *command, const char *name) {
    size_t count;
    const scant_model_info *model = scant_model_find(name);
    if (model) return model;
    scant_models(&count);
    unknown(command, "model", name, count, model_name);
}

static const char *option_key(const void *names, size_t i) {
    return ((const scant_option *)names)[i].key;
}

/* The library checks values; keys are checked here to suggest the nearest one. */
void cli_check_options(const cli_command *command, const scant_strategy_info *strategy,
                       const cli_settings *settings) {
    const char *name = strategy->name;
    size_t n = strategy->n_options;
    for (size_t i = 0; i < settings->count; i++) {
        const char *key = settings->items[i].key;
        scant__text known = CLI_TEXT;
        size_t at = 0;
        while (at < n && strcmp(strategy->options[at].key, key) != 0) at++;
        if (at < n) continue;
        if (!n) cli_usage(command, "%s has no options, got '%s'", name, key);
        for (size_t j = 0; j < n; j++)
            scant__text_addf(&known, "%s%s", j ? ", " : "", strategy->options[j].key);
        cli_usage(command, "%s has no option '%s'%s; it has: %s", name, key,
                  cli_suggest(key, "", strategy->options, n, option_key), known.data);
    }
}
