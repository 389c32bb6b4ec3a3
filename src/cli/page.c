/* SPDX-License-Identifier: Apache-2.0
 *
 * Help as plain text, all of it from tables.
 */
#include <math.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/select.h"
#include "scant/project.h"

enum { HELP_COLUMN = 24 };

/* At most so many. */
static void add_examples(cli_text *text, const cli_command *command, size_t most) {
    for (size_t i = 0; i < command->n_examples && i < most; i++) {
        cli_text_pad(text, 2);
        cli_text_wrap(text, 2, command->examples[i].what);
        cli_text_addf(text, "    %s\n", command->examples[i].call);
    }
}

static void add_commands(cli_text *text, bool project) {
    size_t count;
    const cli_command *const *list = cli_commands(&count);
    for (size_t i = 0; i < count; i++) {
        if (list[i]->hidden || list[i]->project != project) continue;
        cli_text_addf(text, "  %s", list[i]->name);
        cli_text_pad(text, 15);
        cli_text_wrap(text, 15, list[i]->summary);
    }
}

void cli_page_program(cli_text *text) {
    size_t count;
    cli_text_add(text, "scant: which of your unlabelled samples are worth labelling?\n\n"
                       "Usage: scant COMMAND ...\n\nCommands\n");
    add_commands(text, false);
    cli_text_add(text, "\nProjects, for people who label\n");
    add_commands(text, true);
    cli_text_add(text,
                 "  train        (above) with a project's folder: train a model on its "
                 "labels\n");
    cli_text_add(text,
                 "\n'scant COMMAND --help' explains a command; 'scant completion bash' "
                 "prints a\ncompletion script; 'scant --version' tells the version.\n");
    cli_text_add(text, "\nExamples\n");
    add_examples(text, &cli_cmd_new, 1);
    add_examples(text, &cli_cmd_serve, 1);
    add_examples(text, &cli_cmd_select, SIZE_MAX);
    const cli_exit_row *exits = cli_exit_table(&count);
    cli_text_add(text, "\nExit status\n");
    for (size_t i = 0; i < count; i++)
        cli_text_addf(text, "  %-5d%s\n", exits[i].status, exits[i].meaning);
}

static void add_flags(cli_text *text, const cli_flag *flags, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || strcmp(flags[i].group, flags[i - 1].group) != 0)
            cli_text_addf(text, "\n%s\n", flags[i].group);
        size_t line = text->size;
        cli_text_addf(text, "  --%s", flags[i].name);
        if (flags[i].arg) cli_text_addf(text, " %s", flags[i].arg);
        if (text->size - line >= HELP_COLUMN) cli_text_add(text, "\n"); /* too long */
        cli_text_pad(text, HELP_COLUMN);
        cli_text_wrap(text, HELP_COLUMN, flags[i].help);
    }
}

static void add_keys(cli_text *text) {
    const scant_experiment_key *key;
    const char *section = "";
    cli_text_add(text, "\nKeys of an experiment (section.key: default)\n");
    for (size_t i = 0; (key = scant_experiment_key_at(i)); i++) {
        if (strcmp(section, key->section) != 0)
            cli_text_addf(text, "  [%s]\n", key->section);
        section = key->section;
        size_t line = text->size;
        cli_text_addf(text, "  %s = %s", key->key, key->value);
        if (text->size - line >= HELP_COLUMN) cli_text_add(text, "\n"); /* too long */
        cli_text_pad(text, HELP_COLUMN);
        cli_text help = {0};
        bool words = strchr(key->choices, '|') && strcmp(key->choices, "yes|no") != 0;
        cli_text_addf(&help, "%s%s%s%s", key->help, words ? " (" : "",
                      words ? key->choices : "", words ? ")" : "");
        cli_text_bytes(&help, "", 1);
        cli_text_wrap(text, HELP_COLUMN, help.data);
        cli_text_end(&help);
    }
    cli_text_pad(text, 2);
    cli_text_wrap(text, 2,
                  "and a strategy's own options in [loop], as npc.candidates = 500; "
                  "dynamic.layers, egl.layers, crc.layers, npc.kernel and bss.kernel are "
                  "last or all: gradients of the last layer or of the whole network; the "
                  "last three also ntk:depth=K, an infinitely wide network's kernel");
}

static void add_settings(cli_text *text) {
    const scant_project_key *key;
    cli_text_add(text, "\nSettings of a project (key = default)\n");
    for (size_t i = 0; (key = scant_project_key_at(i)); i++) {
        size_t line = text->size;
        cli_text_addf(text, "  %s = %s", key->key, key->value);
        if (text->size - line >= HELP_COLUMN) cli_text_add(text, "\n"); /* too long */
        cli_text_pad(text, HELP_COLUMN);
        cli_text help = {0};
        cli_text_addf(&help, "%s (%s)", key->help, key->choices);
        cli_text_bytes(&help, "", 1);
        cli_text_wrap(text, HELP_COLUMN, help.data);
        cli_text_end(&help);
    }
}

void cli_page_command(cli_text *text, const cli_command *command) {
    size_t count;
    cli_text_addf(text, "Usage: scant %s%s%s\n", command->name,
                  *command->synopsis ? " " : "", command->synopsis);
    if (command->also)
        cli_text_addf(text, "       scant %s %s\n", command->name, command->also);
    cli_text_add(text, "\n");
    cli_text_wrap(text, 0, command->about);
    if (command->operand == CLI_STRATEGY) {
        const scant_strategy_info *const *list = scant_strategies(&count);
        cli_text_add(text, "\nStrategies\n  ");
        cli_text names = {0};
        for (size_t i = 0; i < count; i++) cli_text_addf(&names, "%s ", list[i]->name);
        cli_text_bytes(&names, "", 1);
        cli_text_wrap(text, 2, names.data);
        cli_text_end(&names);
    }
    add_flags(text, command->flags, command->n_flags);
    if (command == &cli_cmd_run) add_keys(text);
    if (command == &cli_cmd_new || command == &cli_cmd_set) add_settings(text);
    const cli_flag *common = cli_common_flags(&count);
    add_flags(text, common, count);
    if (command->n_examples) cli_text_add(text, "\nExamples\n");
    add_examples(text, command, SIZE_MAX);
}

int cli_print_page(const cli_command *command) {
    cli_text text = {0};
    cli_page_command(&text, command);
    return cli_print(&text);
}

/* "a, b, c:K (K from 1 to 9)" of "a|b|c:K" */
static void add_choices(cli_text *text, const scant_option *option) {
    for (const char *word = option->choices;;) {
        size_t size = strcspn(word, "|");
        cli_text_bytes(text, word, size);
        if (size > 2 && memcmp(word + size - 2, ":K", 2) == 0)
            cli_text_addf(text, " (K from %.9g to %.9g)", option->min, option->max);
        if (!word[size]) return;
        cli_text_add(text, ", ");
        word += size + 1;
    }
}

void cli_option_range(cli_text *text, const scant_option *option) {
    const char *what = option->kind == SCANT_OPTION_COUNT ? "a whole number" : "a number";
    if (option->kind == SCANT_OPTION_SWITCH) {
        cli_text_add(text, "0 or 1");
    } else if (option->kind == SCANT_OPTION_CHOICE) {
        cli_text_add(text, "one of ");
        add_choices(text, option);
    } else if (option->open) {
        cli_text_addf(text, "%s above %.9g and below %.9g", what, option->min,
                      option->max);
    } else if (isfinite(option->max) && option->max < 1e15) {
        cli_text_addf(text, "%s from %.9g to %.9g", what, option->min, option->max);
    } else if (isfinite(option->min)) {
        cli_text_addf(text, "%s of at least %.9g", what, option->min);
    } else {
        cli_text_add(text, what);
    }
    if (option->kind == SCANT_OPTION_NUMBER && isinf(option->max))
        cli_text_add(text, ", or inf");
}

void cli_option_help(cli_text *text, const scant_option *option) {
    cli_text_addf(text, "%s (", option->help ? option->help : "");
    cli_option_range(text, option);
    if (option->value)
        cli_text_addf(text, "; default %s", option->value);
    else
        cli_text_addf(text, "; default: %s", option->otherwise);
    if (option->kernel_value)
        cli_text_addf(text, ", with --kernel %s", option->kernel_value);
    cli_text_add(text, ")");
}

static void entry(cli_text *text, const char *name, const char *value) {
    if (!value || !*value) return;
    cli_text_add(text, name);
    cli_text_pad(text, 10);
    cli_text_wrap(text, 10, value);
}

static void evidence_entry(cli_text *text, const char *name, unsigned kinds,
                           unsigned or_kinds) {
    cli_text flags = {0};
    select_evidence_ways(&flags, kinds, or_kinds);
    cli_text_bytes(&flags, "", 1);
    entry(text, name, flags.data);
    cli_text_end(&flags);
}

/* One of a list; a long name has a line of its own. */
static void list_entry(cli_text *text, const char *name, const char *help) {
    enum { COLUMN = 16 };
    cli_text_addf(text, strlen(name) + 4 > COLUMN ? "  %s\n" : "  %s", name);
    cli_text_pad(text, COLUMN);
    cli_text_wrap(text, COLUMN, help);
}

void cli_page_strategy(cli_text *text, const scant_strategy_info *info) {
    cli_text_addf(text, "%s: ", info->name);
    cli_text_wrap(text, 0, info->summary);
    cli_text_add(text, "\n");
    entry(text, "Use", info->use);
    evidence_entry(text, "Needs", info->needs, info->or_needs);
    evidence_entry(text, "Can use", info->uses & ~info->needs, 0);
    if (info->kernel)
        entry(text, "Kernel", "--kernel ntk:depth=K, instead of inner products");
    entry(text, "Score", info->score);
    entry(text, "Paper", info->paper);
    if (info->n_options) cli_text_add(text, "\nOptions (--opt KEY=VALUE)\n");
    for (size_t i = 0; i < info->n_options; i++) {
        const scant_option *option = &info->options[i];
        cli_text line = {0};
        cli_option_help(&line, option);
        cli_text_bytes(&line, "", 1);
        list_entry(text, option->key, line.data);
        cli_text_end(&line);
    }
    if (info->n_figures) cli_text_add(text, "\nFigures (\"info\" in the JSON output)\n");
    for (size_t i = 0; i < info->n_figures; i++)
        list_entry(text, info->figures[i].name, info->figures[i].help);
    cli_text_addf(text, "\nExample\n    scant select %s --batch 100", info->name);
    select_evidence_example(text, info->needs);
    cli_text_add(text, "\n");
}
