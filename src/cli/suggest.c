/* SPDX-License-Identifier: Apache-2.0
 *
 * "Did you mean ...?", and lists of known names.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "core/near.h"
#include "scant/train.h"

char *cli_suggest(const char *word, const char *before, const void *names, size_t count,
                  cli_name_at name_at) {
    const char *best = scant__nearest_typo(word, names, count, name_at);
    scant__text text = CLI_TEXT;
    if (best) scant__text_addf(&text, "; did you mean '%s%s'?", before, best);
    char *answer = cli_strndup(text.data ? text.data : "", text.size);
    scant__text_end(&text);
    return answer;
}

/* "unknown strategy 'bagde'; did you mean ...", or all names if none is close. */
static int unknown(const cli_command *command, const char *what, const char *word,
                   const void *names, size_t count, cli_name_at name_at) {
    scant__text text = CLI_TEXT;
    char *hint = cli_suggest(word, "", names, count, name_at);
    for (size_t i = 0; i < count; i++)
        scant__text_addf(&text, "%s%s", i ? ", " : "", name_at(names, i));
    if (*hint)
        cli_usage(command, "unknown %s '%s'%s", what, word, hint);
    else
        cli_usage(command, "unknown %s '%s'; known: %.*s", what, word, (int)text.size,
                  text.size ? text.data : "");
    scant__text_end(&text);
    free(hint);
    return CLI_USAGE;
}

static const char *strategy_name(const void *names, size_t i) {
    const scant_strategy_info *const *list = names;
    return list[i]->name;
}

int cli_unknown_strategy(const cli_command *command, const char *word) {
    size_t count;
    const scant_strategy_info *const *list = scant_strategies(&count);
    return unknown(command, "strategy", word, list, count, strategy_name);
}

static const char *model_name(const void *names, size_t i) {
    const scant_model_info *const *list = names;
    return list[i]->name;
}

int cli_unknown_model(const cli_command *command, const char *word) {
    size_t count;
    const scant_model_info *const *list = scant_models(&count);
    return unknown(command, "model", word, list, count, model_name);
}

const char *cli_strategy_name(size_t i) {
    size_t count;
    const scant_strategy_info *const *list = scant_strategies(&count);
    return i < count ? list[i]->name : NULL;
}

const char *cli_model_name(size_t i) {
    size_t count;
    const scant_model_info *const *list = scant_models(&count);
    return i < count ? list[i]->name : NULL;
}

const scant_model_info *cli_model_find(const char *name) {
    size_t count;
    const scant_model_info *const *list = scant_models(&count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i]->name, name) == 0) return list[i];
    return NULL;
}

static const char *option_key(const void *names, size_t i) {
    return ((const scant_option *)names)[i].key;
}

static int unknown_option(const cli_command *command, const scant_strategy_info *s,
                          const char *key) {
    if (s->n_options == 0)
        return cli_usage(command, "%s has no options, got '%s'", s->name, key);
    scant__text known = CLI_TEXT;
    for (size_t j = 0; j < s->n_options; j++)
        scant__text_addf(&known, "%s%s", j ? ", " : "", s->options[j].key);
    char *hint = cli_suggest(key, "", s->options, s->n_options, option_key);
    cli_usage(command, "%s has no option '%s'%s; it has: %.*s", s->name, key, hint,
              (int)known.size, known.data);
    free(hint);
    scant__text_end(&known);
    return CLI_USAGE;
}

/* The library checks values; keys are checked here to suggest the nearest one. */
int cli_check_options(const cli_command *command, const scant_strategy_info *strategy,
                      const cli_settings *settings) {
    for (size_t i = 0; i < settings->count; i++) {
        const char *key = settings->items[i].key;
        size_t at = 0;
        while (at < strategy->n_options && strcmp(strategy->options[at].key, key) != 0)
            at++;
        if (at == strategy->n_options) return unknown_option(command, strategy, key);
    }
    return CLI_DONE;
}
