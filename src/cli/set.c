/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant set`: lists or changes a project's settings.
 */
#include <string.h>

#include "cli/project_args.h"

typedef struct set_args {
    const char *format;
    net_common common;
} set_args;

static const scant_option flags[] = {
    OPT_CHOICE("format", "text|json", NULL, offsetof(set_args, format), NET_OUTPUT,
               "of the list: for people (default) or for programs"),
    OPT_SWITCH("quiet", NULL, offsetof(set_args, common.quiet), NET_OUTPUT,
               "errors only"),
};

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
    cli_text_wrap(text, COLUMN, help.data);
}

static void list(project_job *job, bool json) {
    size_t count;
    const scant_option *rows = scant_project_options(&count);
    scant__json out = {.text = CLI_TEXT, .lines = 1};
    if (json) scant__json_open(&out, NULL, '{');
    for (size_t i = 0; i < count; i++) {
        const char *value = scant_project_get(job->project, rows[i].key);
        if (json)
            scant__json_string(&out, rows[i].key, value);
        else
            text_key(&out.text, &rows[i], value ? value : "");
    }
    if (json) scant__json_close(&out, '}');
    if (json) scant__text_add(&out.text, "\n");
    cli_print(&out.text);
}

static scant_setting read_setting(const cli_command *command, const char *word) {
    const char *equals = strchr(word, '=');
    if (!equals || equals == word)
        cli_usage(command, "a setting is KEY=VALUE, not '%s'", word);
    char *key = cli_strndup(word, (size_t)(equals - word));
    project_check_key(command, key);
    return (scant_setting){key, equals + 1};
}

static void run(const cli_call *call) {
    const set_args *args = call->args;
    size_t n = call->n_operands - 1;
    scant_setting *settings = cli_calloc(n, sizeof *settings);
    if (args->format && n)
        cli_usage(call->command, "--format cannot be combined with KEY=VALUE");
    for (size_t i = 0; i < n; i++)
        settings[i] = read_setting(call->command, call->operands[i + 1]);
    project_job *job = project_open(call, &args->common);
    if (n)
        project_try(job, scant_project_set_all(job->project, settings, n));
    else
        list(job, project_is_json(args->format));
}

const cli_command cli_cmd_set = {
    .name = "set",
    .synopsis = "DIR [KEY=VALUE]...",
    .summary = "list or change a project's settings",
    .about = "Without KEY=VALUE lists all settings with their values and meaning. A "
             "running server uses a changed setting from its next request on.",
    .operand = CLI_PROJECT_SETTINGS,
    .project = true,
    .args_size = sizeof(set_args),
    .missing = PROJECT_MISSING,
    .tables = {CLI_FLAGS(flags)},
    .examples =
        {
            {"All settings, their values and meaning:", "scant set birds"},
            {"Batches of 20, picked by badge:",
             "scant set birds batch=20 strategy=badge"},
        },
    .run = run,
};
