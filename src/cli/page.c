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
static void add_examples(scant__text *text, const cli_command *command, size_t most) {
    for (size_t i = 0; i < command->n_examples && i < most; i++) {
        cli_text_pad(text, 2);
        cli_text_wrap(text, 2, command->examples[i].what);
        scant__text_addf(text, "    %s\n", command->examples[i].call);
    }
}

static void add_commands(scant__text *text, bool project) {
    size_t count;
    const cli_command *const *list = cli_commands(&count);
    for (size_t i = 0; i < count; i++) {
        if (list[i]->hidden || list[i]->project != project) continue;
        scant__text_addf(text, "  %s", list[i]->name);
        cli_text_pad(text, 15);
        cli_text_wrap(text, 15, list[i]->summary);
    }
}

void cli_page_program(scant__text *text) {
    size_t count;
    scant__text_add(text,
                    "scant: which of your unlabelled samples are worth labelling?\n\n"
                    "Usage: scant COMMAND ...\n\nCommands\n");
    add_commands(text, false);
    scant__text_add(text, "\nProjects, for people who label\n");
    add_commands(text, true);
    scant__text_add(
        text, "  train        (above) with a project's folder: train a model on its "
              "labels\n");
    scant__text_add(
        text, "\n'scant COMMAND --help' explains a command; 'scant completion bash' "
              "prints a\ncompletion script; 'scant --version' tells the version.\n");
    scant__text_add(text, "\nExamples\n");
    add_examples(text, &cli_cmd_new, 1);
    add_examples(text, &cli_cmd_serve, 1);
    add_examples(text, &cli_cmd_select, SIZE_MAX);
    const cli_exit_row *exits = cli_exit_table(&count);
    scant__text_add(text, "\nExit status\n");
    for (size_t i = 0; i < count; i++)
        scant__text_addf(text, "  %-5d%s\n", exits[i].status, exits[i].meaning);
}

/* What stands on the line since `line`, then help in a column of its own. */
static void add_help(scant__text *text, size_t line, scant__text *help) {
    if (text->size - line >= HELP_COLUMN) scant__text_add(text, "\n"); /* too long */
    cli_text_pad(text, HELP_COLUMN);
    cli_text_wrap(text, HELP_COLUMN, help->data);
    scant__text_end(help);
}

static void add_flag(scant__text *text, const cli_flag *flag, bool first, bool last) {
    const char *arg = flag->row->arg ? flag->row->arg : flag->row->choices;
    scant__text help = CLI_TEXT;
    (void)last;
    if (first) scant__text_addf(text, "\n%s\n", flag->row->group);
    size_t line = text->size;
    scant__text_addf(text, "  --%s", flag->name);
    if (arg) scant__text_addf(text, " %s", arg);
    cli_flag_help(&help, flag->row);
    add_help(text, line, &help);
}

static void add_keys(scant__text *text) {
    scant_experiment_key key;
    const char *section = "";
    scant__text_add(text, "\nKeys of an experiment (section.key: default)\n");
    for (size_t i = 0; scant_experiment_key_at(i, &key); i++) {
        if (strcmp(section, key.section) != 0)
            scant__text_addf(text, "  [%s]\n", key.section);
        section = key.section;
        size_t line = text->size;
        scant__text help = CLI_TEXT;
        scant__text_addf(text, "  %s = %s", key.key, key.value);
        scant__text_add(&help, key.option->help);
        if (key.option->kind == SCANT_OPTION_CHOICE)
            scant__text_addf(&help, " (%s)", key.option->choices);
        add_help(text, line, &help);
    }
    cli_text_pad(text, 2);
    cli_text_wrap(text, 2,
                  "and a strategy's own options in [loop], as npc.candidates = 500; "
                  "dynamic.layers, egl.layers, crc.layers, npc.kernel and bss.kernel are "
                  "last or all: gradients of the last layer or of the whole network; the "
                  "last three also ntk:depth=K, an infinitely wide network's kernel");
}

static void add_settings(scant__text *text) {
    size_t count;
    const scant_option *rows = scant_project_options(&count);
    scant__text_add(text, "\nSettings of a project (key = default)\n");
    for (size_t i = 0; i < count; i++) {
        char expected[SCANT__EXPECTED];
        size_t line = text->size;
        scant__text help = CLI_TEXT;
        scant__text_addf(text, "  %s = %s", rows[i].key, rows[i].value);
        scant__text_addf(&help, "%s (%s)", rows[i].help,
                         scant__option_expected(&rows[i], NULL, expected));
        add_help(text, line, &help);
    }
}

void cli_page_command(scant__text *text, const cli_command *command) {
    size_t count;
    scant__text_addf(text, "Usage: scant %s%s%s\n", command->name,
                     *command->synopsis ? " " : "", command->synopsis);
    if (command->also)
        scant__text_addf(text, "       scant %s %s\n", command->name, command->also);
    scant__text_add(text, "\n");
    cli_text_wrap(text, 0, command->about);
    if (command->operand == CLI_STRATEGY) {
        const scant_strategy_info *const *list = scant_strategies(&count);
        scant__text_add(text, "\nStrategies\n  ");
        scant__text names = CLI_TEXT;
        for (size_t i = 0; i < count; i++) scant__text_addf(&names, "%s ", list[i]->name);
        scant__text_bytes(&names, "", 1);
        cli_text_wrap(text, 2, names.data);
        scant__text_end(&names);
    }
    cli_each_flag(command, text, add_flag);
    if (command == &cli_cmd_run) add_keys(text);
    if (command == &cli_cmd_new || command == &cli_cmd_set) add_settings(text);
    if (command->n_examples) scant__text_add(text, "\nExamples\n");
    add_examples(text, command, SIZE_MAX);
}

int cli_print_page(const cli_command *command) {
    scant__text text = CLI_TEXT;
    cli_page_command(&text, command);
    return cli_print(&text);
}

/* "a, b, c:K (K from 1 to 9)" of "a|b|c:K" */
static void add_choices(scant__text *text, const scant_option *option) {
    for (const char *word = option->choices;;) {
        size_t size = strcspn(word, "|");
        scant__text_bytes(text, word, size);
        if (size > 2 && memcmp(word + size - 2, ":K", 2) == 0)
            scant__text_addf(text, " (K from %.9g to %.9g)", option->min, option->max);
        if (!word[size]) return;
        scant__text_add(text, ", ");
        word += size + 1;
    }
}

void cli_option_range(scant__text *text, const scant_option *option) {
    const char *what = option->kind == SCANT_OPTION_COUNT ? "a whole number" : "a number";
    if (option->kind == SCANT_OPTION_SWITCH) {
        scant__text_add(text, "0 or 1");
    } else if (option->kind == SCANT_OPTION_CHOICE) {
        scant__text_add(text, "one of ");
        add_choices(text, option);
    } else if (option->open) {
        scant__text_addf(text, "%s above %.9g and below %.9g", what, option->min,
                         option->max);
    } else if (isfinite(option->max) && option->max < 1e15) {
        scant__text_addf(text, "%s from %.9g to %.9g", what, option->min, option->max);
    } else if (isfinite(option->min)) {
        scant__text_addf(text, "%s of at least %.9g", what, option->min);
    } else {
        scant__text_add(text, what);
    }
    if (option->kind == SCANT_OPTION_NUMBER && isinf(option->max))
        scant__text_add(text, ", or inf");
}

void cli_option_help(scant__text *text, const scant_option *option) {
    scant__text_addf(text, "%s (", option->help ? option->help : "");
    cli_option_range(text, option);
    if (option->value)
        scant__text_addf(text, "; default %s", option->value);
    else
        scant__text_addf(text, "; default: %s", option->otherwise);
    if (option->kernel_value)
        scant__text_addf(text, ", with --kernel %s", option->kernel_value);
    scant__text_add(text, ")");
}

static void entry(scant__text *text, const char *name, const char *value) {
    if (!value || !*value) return;
    scant__text_add(text, name);
    cli_text_pad(text, 10);
    cli_text_wrap(text, 10, value);
}

static void evidence_entry(scant__text *text, const char *name, unsigned kinds,
                           unsigned or_kinds) {
    scant__text flags = CLI_TEXT;
    select_evidence_ways(&flags, kinds, or_kinds);
    scant__text_bytes(&flags, "", 1);
    entry(text, name, flags.data);
    scant__text_end(&flags);
}

/* One of a list; a long name has a line of its own. */
static void list_entry(scant__text *text, const char *name, const char *help) {
    enum { COLUMN = 16 };
    scant__text_addf(text, strlen(name) + 4 > COLUMN ? "  %s\n" : "  %s", name);
    cli_text_pad(text, COLUMN);
    cli_text_wrap(text, COLUMN, help);
}

void cli_page_strategy(scant__text *text, const scant_strategy_info *info) {
    scant__text_addf(text, "%s: ", info->name);
    cli_text_wrap(text, 0, info->summary);
    scant__text_add(text, "\n");
    entry(text, "Use", info->use);
    evidence_entry(text, "Needs", info->needs, info->or_needs);
    evidence_entry(text, "Can use", info->uses & ~info->needs, 0);
    if (info->kernel)
        entry(text, "Kernel", "--kernel ntk:depth=K, instead of inner products");
    entry(text, "Score", info->score);
    entry(text, "Paper", info->paper);
    if (info->n_options) scant__text_add(text, "\nOptions (--opt KEY=VALUE)\n");
    for (size_t i = 0; i < info->n_options; i++) {
        const scant_option *option = &info->options[i];
        scant__text line = CLI_TEXT;
        cli_option_help(&line, option);
        scant__text_bytes(&line, "", 1);
        list_entry(text, option->key, line.data);
        scant__text_end(&line);
    }
    if (info->n_figures)
        scant__text_add(text, "\nFigures (\"info\" in the JSON output)\n");
    for (size_t i = 0; i < info->n_figures; i++)
        list_entry(text, info->figures[i].name, info->figures[i].help);
    scant__text_addf(text, "\nExample\n    scant select %s --batch 100", info->name);
    select_evidence_example(text, info->needs);
    scant__text_add(text, "\n");
}
