/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant set`: lists or changes a project's settings.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/project.h"
#include "scant/project.h"

typedef struct set_args {
    const char *format;
    net_means means;
} set_args;

static const scant_option flags[] = {
    OPT_CHOICE("format", "text|json", NULL, offsetof(set_args, format), NET_OUTPUT,
               "of the list: for people (default) or for programs"),
    OPT_SWITCH("quiet", NULL, offsetof(set_args, means.quiet), NET_OUTPUT, "errors only"),
};

static const cli_example examples[] = {
    {"All settings, their values and meaning:", "scant set birds"},
    {"Batches of 20, picked by badge:", "scant set birds batch=20 strategy=badge"},
};

/* ---- listing ----------------------------------------------------------------------- */

static void text_key(scant__text *text, const scant_option *key, const char *value) {
    enum { COLUMN = 26 };
    char expected[SCANT__EXPECTED];
    size_t line = text->size;
    scant__text help = CLI_TEXT;
    scant__text_addf(text, "%s = %s", key->key, value);
    if (text->size - line >= COLUMN) scant__text_add(text, "\n"); /* too long */
    cli_text_pad(text, COLUMN);
    scant__text_addf(&help, "%s (%s", key->help,
                     scant__option_expected(key, NULL, expected));
    if (*key->value && strcmp(value, key->value) != 0)
        scant__text_addf(&help, "; default %s", key->value);
    scant__text_add(&help, ")");
    scant__text_bytes(&help, "", 1);
    cli_text_wrap(text, COLUMN, help.data);
    scant__text_end(&help);
}

static int list(project_job *job, bool json) {
    size_t count;
    const scant_option *rows = scant_project_options(&count);
    scant__text text = CLI_TEXT;
    for (size_t i = 0; i < count; i++) {
        const scant_option *key = &rows[i];
        const char *value = scant_project_get(job->project, key->key);
        if (!json) {
            text_key(&text, key, value ? value : "");
            continue;
        }
        scant__text_add(&text, i ? ",\n " : "{");
        scant__text_json(&text, key->key);
        scant__text_add(&text, ": ");
        scant__text_json(&text, value);
    }
    if (json) scant__text_add(&text, "}\n");
    return cli_print(&text);
}

/* ---- setting ----------------------------------------------------------------------- */

static int check_setting(const cli_command *command, const char *word) {
    const char *equals = strchr(word, '=');
    if (!equals || equals == word)
        return cli_usage(command, "a setting is KEY=VALUE, not '%s'", word);
    char *key = cli_strndup(word, (size_t)(equals - word));
    int status = project_check_key(command, key);
    free(key);
    return status;
}

/* All or none. */
static int change(project_job *job, const char *const *words, size_t n) {
    scant_setting *settings = cli_calloc(n, sizeof *settings);
    char **keys = cli_calloc(n, sizeof *keys);
    for (size_t i = 0; i < n; i++) {
        const char *equals = strchr(words[i], '=');
        keys[i] = cli_strndup(words[i], (size_t)(equals - words[i]));
        settings[i] = (scant_setting){keys[i], equals + 1};
    }
    scant_status done = scant_project_set_all(job->project, settings, n);
    for (size_t i = 0; i < n; i++) free(keys[i]);
    free(keys);
    free(settings);
    return done == SCANT_OK ? CLI_DONE : project_failed(job, done);
}

static int run(const cli_command *command, int argc, char **argv) {
    set_args args = {0};
    project_job job = {0};
    cli_parsed parsed;
    bool over;
    int status = project_parse(command, argc, argv, &args, &parsed, &over);
    if (status != CLI_DONE || over) return status;
    if (args.format && parsed.n_operands > 1)
        return cli_usage(command, "--format cannot be combined with KEY=VALUE");
    for (size_t i = 1; i < parsed.n_operands && status == CLI_DONE; i++)
        status = check_setting(command, parsed.operands[i]);
    if (status != CLI_DONE) return status;
    status = project_open(&job, command, parsed.operand, &args.means);
    if (status == CLI_DONE && parsed.n_operands > 1)
        status = change(&job, parsed.operands + 1, parsed.n_operands - 1);
    if (status == CLI_DONE && parsed.n_operands == 1)
        status = list(&job, args.format && strcmp(args.format, "json") == 0);
    project_end(&job);
    return status;
}

const cli_command cli_cmd_set = {
    .name = "set",
    .synopsis = "DIR [KEY=VALUE]...",
    .summary = "list or change a project's settings",
    .about = "Without KEY=VALUE lists all settings with their values and meaning. A "
             "running server uses a changed setting from its next request on.",
    .operand = CLI_PROJECT_SETTINGS,
    .project = true,
    .tables = {CLI_FLAGS(flags)},
    .examples = examples,
    .n_examples = CLI_COUNT_OF(examples),
    .run = run,
};
