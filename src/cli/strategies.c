/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant strategies [NAME]`: lists the strategies, or explains one.
 */
#include <string.h>

#include "cli/cli.h"
#include "cli/select.h"

typedef struct strategies_args {
    const char *format;
} strategies_args;

static const scant_option flags[] = {
    OPT_CHOICE("format", "text|json", NULL, offsetof(strategies_args, format), "Output",
               "for people (default) or for programs"),
};

static void json_kinds(scant__json *json, const char *key, unsigned kinds) {
    const scant_input *list[SELECT_KINDS];
    size_t count = select_inputs_of(kinds, list);
    scant__json_open(json, key, '[');
    if (kinds & SCANT_ROWS) scant__json_string(json, NULL, "any input");
    for (size_t i = 0; i < count; i++) scant__json_string(json, NULL, list[i]->name);
    scant__json_close(json, ']');
}

static void json_option(scant__json *json, const scant_option *option) {
    char expected[SCANT__EXPECTED];
    scant__json_open(json, NULL, '{');
    scant__json_string(json, "key", option->key);
    cli_json_setting(json, "default", option->kind, option->value);
    if (!option->value) scant__json_string(json, "otherwise", option->otherwise);
    if (option->kernel_value)
        cli_json_setting(json, "with_kernel", option->kind, option->kernel_value);
    scant__json_string(json, "values", scant__option_expected(option, NULL, expected));
    scant__json_string(json, "help", option->help);
    scant__json_close(json, '}');
}

static void json_strategy(scant__json *json, const scant_strategy_info *info) {
    scant__json_open(json, NULL, '{');
    scant__json_string(json, "name", info->name);
    scant__json_string(json, "summary", info->summary);
    scant__json_string(json, "use", info->use ? info->use : "");
    json_kinds(json, "needs", info->needs);
    json_kinds(json, "or_needs", info->or_needs);
    json_kinds(json, "uses", info->uses & ~info->needs);
    scant__json_string(json, "score", info->score);
    scant__json_string(json, "paper", info->paper ? info->paper : "");
    scant__json_bool(json, "kernel", info->kernel);
    scant__json_bool(json, "ranked", info->ranked);
    scant__json_open(json, "options", '[');
    for (size_t i = 0; i < info->n_options; i++) json_option(json, &info->options[i]);
    scant__json_close(json, ']');
    scant__json_open(json, "figures", '[');
    for (size_t i = 0; i < info->n_figures; i++) {
        scant__json_open(json, NULL, '{');
        scant__json_string(json, "name", info->figures[i].name);
        scant__json_string(json, "help", info->figures[i].help);
        scant__json_close(json, '}');
    }
    scant__json_close(json, ']');
    scant__json_close(json, '}');
}

static void json_list(scant__json *json) {
    size_t count;
    const scant_strategy_info *const *list = scant_strategies(&count);
    scant__json_open(json, NULL, '[');
    for (size_t i = 0; i < count; i++) json_strategy(json, list[i]);
    scant__json_close(json, ']');
}

/* Adds one strategy: its name, its inputs (one line per set) and what it picks. */
static void text_row(scant__text *text, const scant_strategy_info *info, size_t needs,
                     size_t column) {
    scant__text summary = CLI_TEXT;
    cli_text_pad(&summary, column);
    cli_text_wrap(&summary, column, info->summary);
    const char *line = summary.data;
    for (size_t i = 0; *line || (i < 2 && info->or_needs); i++) {
        line += *line ? column : 0;
        size_t length = strcspn(line, "\n");
        if (i == 0) scant__text_add(text, info->name);
        if (i == 0 || (i == 1 && info->or_needs)) {
            cli_text_pad(text, needs);
            scant__text_addf(text, "%s%s", i ? "or " : "",
                             select_names(i ? info->or_needs : info->needs));
        }
        if (length) cli_text_pad(text, column);
        scant__text_bytes(text, line, length);
        scant__text_add(text, "\n");
        line += length + (line[length] != 0);
    }
}

static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

static void text_list(scant__text *text) {
    size_t count, name = 4, needs = 5;
    const scant_strategy_info *const *list = scant_strategies(&count);
    for (size_t i = 0; i < count; i++) {
        name = larger(name, strlen(list[i]->name));
        needs = larger(needs, strlen(select_names(list[i]->needs)));
        if (list[i]->or_needs)
            needs = larger(needs, strlen(select_names(list[i]->or_needs)) + 3);
    }
    name += 2;
    needs += name + 2;
    scant__text_add(text, "NAME");
    cli_text_pad(text, name);
    scant__text_add(text, "NEEDS");
    cli_text_pad(text, needs);
    scant__text_add(text, "PICKS\n");
    for (size_t i = 0; i < count; i++) text_row(text, list[i], name, needs);
}

static void run(const cli_call *call) {
    const strategies_args *args = call->args;
    const scant_strategy_info *info =
        call->operand ? cli_strategy(call->command, call->operand) : NULL;
    scant__json json = {.text = CLI_TEXT, .lines = 1};
    if (args->format && strcmp(args->format, "json") == 0) {
        if (info)
            json_strategy(&json, info);
        else
            json_list(&json);
        scant__text_add(&json.text, "\n");
    } else if (info) {
        cli_page_strategy(&json.text, info);
    } else {
        text_list(&json.text);
    }
    cli_print(&json.text);
}

const cli_command cli_cmd_strategies = {
    .name = "strategies",
    .synopsis = "[NAME]",
    .summary = "list the strategies, or explain one",
    .about = "Without a name: a table of all strategies and the inputs they need. With a "
             "name: when to use it, its inputs, its options, the meaning of its score "
             "and figures, and its paper.",
    .operand = CLI_STRATEGY,
    .tables = {CLI_FLAGS(flags)},
    .examples =
        {
            {"All of them, and one with its options:",
             "scant strategies; scant strategies badge"},
        },
    .args_size = sizeof(strategies_args),
    .run = run,
};
