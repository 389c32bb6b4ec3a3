/* SPDX-License-Identifier: Apache-2.0
 *
 * "Did you mean ...?": the known name with the fewest slips (a letter more, less, other,
 * or two swapped) from what was typed, if a third of the word or less is wrong; or a name
 * that starts as the word does.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

enum { LONGEST = 40 }; /* no name is longer; longer words have no neighbour */

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* Edit distance with swaps of neighbours (optimal string alignment), three rows kept. */
static size_t slips(const char *a, const char *b) {
    size_t rows[3][LONGEST + 1], n = strlen(a), m = strlen(b);
    size_t *before = rows[0], *last = rows[1], *now = rows[2];
    if (n > LONGEST || m > LONGEST) return LONGEST;
    for (size_t j = 0; j <= m; j++) before[j] = last[j] = j;
    for (size_t i = 1; i <= n; i++) {
        now[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t other = last[j - 1] + (a[i - 1] != b[j - 1]);
            now[j] = least(other, least(last[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = least(now[j], before[j - 2] + 1);
        }
        size_t *spare = before;
        before = last;
        last = now;
        now = spare;
    }
    return last[m];
}

char *cli_suggest(const char *word, const char *before, const void *names, size_t count,
                  cli_name_at name_at) {
    const char *best = NULL;
    size_t length = strlen(word), fewest = (length + 2) / 3 + 1; /* must be beaten */
    for (size_t i = 0; i < count; i++) {
        const char *name = name_at(names, i);
        size_t wrong = slips(word, name);
        if (length >= 2 && strncmp(word, name, length) == 0) wrong = least(wrong, 1);
        if (wrong < fewest) {
            fewest = wrong;
            best = name;
        }
    }
    cli_text text = {0};
    if (best) cli_text_addf(&text, "; did you mean '%s%s'?", before, best);
    char *answer = cli_strndup(text.data ? text.data : "", text.size);
    cli_text_end(&text);
    return answer;
}

/* "unknown strategy 'bagde'; did you mean ...", or all there are where none is near. */
static int unknown(const cli_command *command, const char *what, const char *word,
                   const void *names, size_t count, cli_name_at name_at) {
    cli_text text = {0};
    char *hint = cli_suggest(word, "", names, count, name_at);
    for (size_t i = 0; i < count; i++)
        cli_text_addf(&text, "%s%s", i ? ", " : "", name_at(names, i));
    if (*hint)
        cli_usage(command, "unknown %s '%s'%s", what, word, hint);
    else
        cli_usage(command, "unknown %s '%s'; known: %.*s", what, word, (int)text.size,
                  text.size ? text.data : "");
    cli_text_end(&text);
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

const scant_model_info *cli_model_find(const char *name) {
    size_t count;
    const scant_model_info *const *list = scant_models(&count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i]->name, name) == 0) return list[i];
    return NULL;
}
