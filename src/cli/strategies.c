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

static void json_field(scant__text *text, const char *name, const char *value) {
    scant__text_addf(text, ", \"%s\": ", name);
    value = value ? value : "";
    scant__text_json(text, value);
}

static void json_option(scant__text *text, const scant_option *option) {
    scant__text range = CLI_TEXT;
    cli_option_range(&range, option);
    scant__text_add(text, "{\"key\": ");
    scant__text_json(text, option->key);
    scant__text_add(text, ", \"default\": ");
    if (option->value) {
        cli_json_setting(text, option->kind, option->value);
    } else {
        scant__text_add(text, "null");
        json_field(text, "otherwise", option->otherwise);
    }
    if (option->kernel_value) {
        scant__text_add(text, ", \"with_kernel\": ");
        cli_json_setting(text, option->kind, option->kernel_value);
    }
    scant__text_add(text, ", \"values\": ");
    scant__text_json_bytes(text, range.data, range.size);
    json_field(text, "help", option->help);
    scant__text_add(text, "}");
    scant__text_end(&range);
}

static void json_strategy(scant__text *text, const scant_strategy_info *info) {
    scant__text_add(text, "{\"name\": ");
    scant__text_json(text, info->name);
    json_field(text, "summary", info->summary);
    json_field(text, "use", info->use);
    scant__text_add(text, ", \"needs\": ");
    select_evidence_json(text, info->needs);
    scant__text_add(text, ", \"or_needs\": ");
    select_evidence_json(text, info->or_needs);
    scant__text_add(text, ", \"uses\": ");
    select_evidence_json(text, info->uses & ~info->needs);
    json_field(text, "score", info->score);
    json_field(text, "paper", info->paper);
    scant__text_addf(text, ", \"kernel\": %s", info->kernel ? "true" : "false");
    scant__text_add(text, ", \"options\": [");
    for (size_t i = 0; i < info->n_options; i++) {
        if (i) scant__text_add(text, ", ");
        json_option(text, &info->options[i]);
    }
    scant__text_add(text, "], \"figures\": [");
    for (size_t i = 0; i < info->n_figures; i++) {
        const char *name = info->figures[i].name;
        scant__text_add(text, i ? ", {\"name\": " : "{\"name\": ");
        scant__text_json(text, name);
        json_field(text, "help", info->figures[i].help);
        scant__text_add(text, "}");
    }
    scant__text_add(text, "]}");
}

static void json_list(scant__text *text) {
    size_t count;
    const scant_strategy_info *const *list = scant_strategies(&count);
    scant__text_add(text, "[");
    for (size_t i = 0; i < count; i++) {
        if (i) scant__text_add(text, ",\n ");
        json_strategy(text, list[i]);
    }
    scant__text_add(text, "]\n");
}

/* Overwrites the blanks at a column of the line that starts at offset `line`. */
static void overlay(scant__text *text, size_t line, size_t column,
                    const scant__text *words) {
    memcpy(text->data + line + column, words->data, words->size);
}

/* One strategy: its name, what it needs (one line for each set of inputs) and what it
 * picks. */
static void text_row(scant__text *text, const scant_strategy_info *info, size_t needs,
                     size_t summary) {
    scant__text words = CLI_TEXT;
    size_t line = text->size;
    cli_text_pad(text, summary);
    cli_text_wrap(text, summary, info->summary);
    scant__text_add(&words, info->name);
    overlay(text, line, 0, &words);
    words.size = 0;
    select_evidence_names(&words, info->needs);
    overlay(text, line, needs, &words);
    words.size = 0;
    scant__text_add(&words, "or ");
    select_evidence_names(&words, info->or_needs);
    const char *end = memchr(text->data + line, '\n', text->size - line);
    line = (size_t)(end - text->data) + 1;
    if (info->or_needs && line < text->size) {
        overlay(text, line, needs, &words);
    } else if (info->or_needs) { /* the summary is one line */
        cli_text_pad(text, needs);
        scant__text_bytes(text, words.data, words.size);
        scant__text_add(text, "\n");
    }
    scant__text_end(&words);
}

static void text_list(scant__text *text) {
    size_t count, name = 4, needs = 5;
    const scant_strategy_info *const *list = scant_strategies(&count);
    scant__text kinds = CLI_TEXT;
    for (size_t i = 0; i < count; i++) {
        if (strlen(list[i]->name) > name) name = strlen(list[i]->name);
        kinds.size = 0;
        select_evidence_names(&kinds, list[i]->needs);
        if (kinds.size > needs) needs = kinds.size;
        kinds.size = 0;
        select_evidence_names(&kinds, list[i]->or_needs);
        if (list[i]->or_needs && kinds.size + 3 > needs) needs = kinds.size + 3;
    }
    scant__text_end(&kinds);
    name += 2;
    needs += name + 2;
    scant__text_add(text, "NAME");
    cli_text_pad(text, name);
    scant__text_add(text, "NEEDS");
    cli_text_pad(text, needs);
    scant__text_add(text, "PICKS\n");
    for (size_t i = 0; i < count; i++) text_row(text, list[i], name, needs);
}

static int run(const cli_command *command, int argc, char **argv) {
    strategies_args args = {0};
    cli_parsed parsed;
    scant__text text = CLI_TEXT;
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
            scant__text_add(&text, "\n");
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
    .about = "Without a name: a table of all strategies and the inputs they need. With a "
             "name: when to use it, its inputs, its options, the meaning of its score "
             "and figures, and its paper.",
    .operand = CLI_STRATEGY,
    .tables = {CLI_FLAGS(flags)},
    .examples = examples,
    .n_examples = CLI_COUNT_OF(examples),
    .run = run,
};
