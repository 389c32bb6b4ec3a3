/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant strategies [NAME]`: what there is to choose by.
 */
#include <string.h>

#include "cli/cli.h"
#include "cli/select.h"

typedef struct strategies_args {
    const char *format;
} strategies_args;

static const cli_flag flags[] = {
    {"format", "text|json", CLI_CHOICE, offsetof(strategies_args, format), 0, 0, "Output",
     "for people (default) or for programs"},
};

static void json_field(cli_text *text, const char *name, const char *value) {
    cli_text_addf(text, ", \"%s\": ", name);
    value = value ? value : "";
    cli_json_string(text, value, strlen(value));
}

/* Names of inputs as a list; two inputs that stand in for each other count as one. */
static void json_kinds(cli_text *text, const char *name, unsigned kinds) {
    cli_text names = {0};
    select_evidence_names(&names, kinds);
    cli_text_addf(text, ", \"%s\": [", name);
    for (size_t at = 0; at < names.size;) {
        size_t end = at;
        while (end < names.size && names.data[end] != ',') end++;
        if (at) cli_text_add(text, ", ");
        cli_json_string(text, names.data + at, end - at);
        at = end + 2;
    }
    cli_text_add(text, "]");
    cli_text_end(&names);
}

static void json_option(cli_text *text, const scant_option *option) {
    cli_text range = {0};
    cli_option_range(&range, option);
    cli_text_add(text, "{\"key\": ");
    cli_json_string(text, option->key, strlen(option->key));
    cli_text_add(text, ", \"default\": ");
    if (option->value) {
        cli_json_setting(text, option->kind, option->value);
    } else {
        cli_text_add(text, "null");
        json_field(text, "otherwise", option->otherwise);
    }
    if (option->kernel_value) {
        cli_text_add(text, ", \"with_kernel\": ");
        cli_json_setting(text, option->kind, option->kernel_value);
    }
    cli_text_add(text, ", \"values\": ");
    cli_json_string(text, range.data, range.size);
    json_field(text, "help", option->help);
    cli_text_add(text, "}");
    cli_text_end(&range);
}

static void json_strategy(cli_text *text, const scant_strategy_info *info) {
    cli_text_add(text, "{\"name\": ");
    cli_json_string(text, info->name, strlen(info->name));
    json_field(text, "summary", info->summary);
    json_field(text, "use", info->use);
    json_kinds(text, "needs", info->needs);
    json_kinds(text, "or_needs", info->or_needs);
    json_kinds(text, "uses", info->uses & ~info->needs);
    json_field(text, "score", info->score);
    json_field(text, "paper", info->paper);
    cli_text_addf(text, ", \"kernel\": %s", info->kernel ? "true" : "false");
    cli_text_add(text, ", \"options\": [");
    for (size_t i = 0; i < info->n_options; i++) {
        if (i) cli_text_add(text, ", ");
        json_option(text, &info->options[i]);
    }
    cli_text_add(text, "], \"figures\": [");
    for (size_t i = 0; i < info->n_figures; i++) {
        const char *name = info->figures[i].name;
        cli_text_add(text, i ? ", {\"name\": " : "{\"name\": ");
        cli_json_string(text, name, strlen(name));
        json_field(text, "help", info->figures[i].help);
        cli_text_add(text, "}");
    }
    cli_text_add(text, "]}");
}

static void json_list(cli_text *text) {
    size_t count;
    const scant_strategy_info *const *list = scant_strategies(&count);
    cli_text_add(text, "[");
    for (size_t i = 0; i < count; i++) {
        if (i) cli_text_add(text, ",\n ");
        json_strategy(text, list[i]);
    }
    cli_text_add(text, "]\n");
}

/* Writes words over the blanks at a column of a line, which starts at line. */
static void overlay(cli_text *text, size_t line, size_t column, const cli_text *words) {
    memcpy(text->data + line + column, words->data, words->size);
}

/* One strategy: its name, what it needs (a line a way) and what it picks. */
static void text_row(cli_text *text, const scant_strategy_info *info, size_t needs,
                     size_t summary) {
    cli_text words = {0};
    size_t line = text->size;
    cli_text_pad(text, summary);
    cli_text_wrap(text, summary, info->summary);
    cli_text_add(&words, info->name);
    overlay(text, line, 0, &words);
    words.size = 0;
    select_evidence_names(&words, info->needs);
    overlay(text, line, needs, &words);
    words.size = 0;
    cli_text_add(&words, "or ");
    select_evidence_names(&words, info->or_needs);
    const char *end = memchr(text->data + line, '\n', text->size - line);
    line = (size_t)(end - text->data) + 1;
    if (info->or_needs && line < text->size) {
        overlay(text, line, needs, &words);
    } else if (info->or_needs) { /* what it picks takes one line only */
        cli_text_pad(text, needs);
        cli_text_bytes(text, words.data, words.size);
        cli_text_add(text, "\n");
    }
    cli_text_end(&words);
}

static void text_list(cli_text *text) {
    size_t count, name = 4, needs = 5;
    const scant_strategy_info *const *list = scant_strategies(&count);
    cli_text kinds = {0};
    for (size_t i = 0; i < count; i++) {
        if (strlen(list[i]->name) > name) name = strlen(list[i]->name);
        kinds.size = 0;
        select_evidence_names(&kinds, list[i]->needs);
        if (kinds.size > needs) needs = kinds.size;
        kinds.size = 0;
        select_evidence_names(&kinds, list[i]->or_needs);
        if (list[i]->or_needs && kinds.size + 3 > needs) needs = kinds.size + 3;
    }
    cli_text_end(&kinds);
    name += 2;
    needs += name + 2;
    cli_text_add(text, "NAME");
    cli_text_pad(text, name);
    cli_text_add(text, "NEEDS");
    cli_text_pad(text, needs);
    cli_text_add(text, "PICKS\n");
    for (size_t i = 0; i < count; i++) text_row(text, list[i], name, needs);
}

static int run(const cli_command *command, int argc, char **argv) {
    strategies_args args = {0};
    cli_parsed parsed;
    cli_text text = {0};
    int status = cli_parse(command, argc, argv, &args, &parsed);
    if (status != CLI_DONE) return status;
    bool json = args.format && strcmp(args.format, "json") == 0;
    if (parsed.help) {
        cli_page_command(&text, command);
    } else if (parsed.operand) {
        const scant_strategy_info *info = scant_strategy_find(parsed.operand);
        if (!info) return cli_unknown_strategy(command, parsed.operand);
        if (json) {
            json_strategy(&text, info);
            cli_text_add(&text, "\n");
        } else {
            cli_page_strategy(&text, info);
        }
    } else if (json) {
        json_list(&text);
    } else {
        text_list(&text);
    }
    return cli_print(&text);
}

static const cli_example examples[] = {
    {"All of them, and one with its options:",
     "scant strategies; scant strategies badge"},
};

const cli_command cli_cmd_strategies = {
    .name = "strategies",
    .synopsis = "[NAME]",
    .summary = "list the strategies, or explain one",
    .about =
        "Without a name: a table of all strategies with the inputs they need. With one: "
        "when to take it, what it needs, its options, what its score and its figures "
        "mean, its paper.",
    .operand = CLI_STRATEGY,
    .flags = flags,
    .n_flags = CLI_COUNT_OF(flags),
    .examples = examples,
    .n_examples = CLI_COUNT_OF(examples),
    .run = run,
};
