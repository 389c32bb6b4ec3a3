/* SPDX-License-Identifier: Apache-2.0
 *
 * Help as plain text, all of it from tables.
 */
#include <string.h>

#include "cli/cli.h"
#include "cli/select.h"
#include "scant/project.h"

enum { FLAG_COLUMN = 24 };

/* Adds at most `most` examples. */
static void add_examples(scant__text *text, const cli_command *command, size_t most) {
    for (size_t i = 0; i < most && command->examples[i].what; i++) {
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
    scant__text_add(text, "\nProjects: labelling by people\n");
    add_commands(text, true);
    scant__text_add(
        text, "  train        (above) with a project's folder: train a model on its "
              "labels\n");
    scant__text_add(
        text, "\n'scant COMMAND --help' explains a command; 'scant completion bash' "
              "prints a\ncompletion script; 'scant --version' prints the version.\n");
    scant__text_add(text, "\nExamples\n");
    add_examples(text, &cli_cmd_new, 1);
    add_examples(text, &cli_cmd_serve, 1);
    add_examples(text, &cli_cmd_select, CLI_EXAMPLES);
    const cli_exit_row *exits = cli_exit_table(&count);
    scant__text_add(text, "\nExit status\n");
    for (size_t i = 0; i < count; i++)
        scant__text_addf(text, "  %-5d%s\n", exits[i].status, exits[i].meaning);
}

/* ---- lists ------------------------------------------------------------------------- */

void cli_write_flags(scant__text *text, const cli_formatter *formatter,
                     const cli_command *command) {
    cli_flag lead, flag;
    for (size_t i = 0; cli_flag_at(command, i, &lead); i++) {
        const char *group = lead.row->group;
        size_t first = 0; /* first flag of the group */
        while (cli_flag_at(command, first, &flag) && strcmp(flag.row->group, group))
            first++;
        if (first < i) continue;
        formatter->list(text, group);
        for (size_t k = i; cli_flag_at(command, k, &flag); k++) {
            const char *arg = flag.row->arg ? flag.row->arg : flag.row->choices;
            if (strcmp(flag.row->group, group) == 0)
                formatter->item(
                    text,
                    cli_format("--%s%s%s", flag.name, arg ? " " : "", arg ? arg : ""),
                    cli_flag_help(flag.row));
        }
        formatter->end(text);
    }
}

static void write_fact(scant__text *text, const cli_formatter *formatter,
                       const char *name, const char *words) {
    if (words && *words) formatter->fact(text, name, words);
}

void cli_write_strategy(scant__text *text, const cli_formatter *formatter,
                        const scant_strategy_info *info) {
    unsigned uses = info->uses & ~info->needs;
    write_fact(text, formatter, "Use", info->use);
    write_fact(text, formatter, "Needs", select_kinds_text(info->needs, info->or_needs));
    write_fact(text, formatter, "Can use", select_kinds_text(uses, 0));
    if (info->kernel)
        write_fact(text, formatter, "Kernel",
                   "--kernel ntk:depth=K, instead of inner products");
    write_fact(text, formatter, "Score", info->score);
    write_fact(text, formatter, "Paper", info->paper);
    if (info->n_options) formatter->list(text, "Options (--opt KEY=VALUE)");
    for (size_t i = 0; i < info->n_options; i++)
        formatter->item(text, info->options[i].key, cli_option_help(&info->options[i]));
    if (info->n_options) formatter->end(text);
    if (info->n_figures) formatter->list(text, "Figures (\"info\" in the JSON output)");
    for (size_t i = 0; i < info->n_figures; i++)
        formatter->item(text, info->figures[i].name, info->figures[i].help);
    if (info->n_figures) formatter->end(text);
}

const char *cli_option_help(const scant_option *option) {
    char expected[SCANT__EXPECTED];
    const char *kernel = option->kernel_value;
    return cli_format("%s (%s; default%s %s%s%s)", option->help,
                      scant__option_expected(option, NULL, expected),
                      option->value ? "" : ":",
                      option->value ? option->value : option->otherwise,
                      kernel ? ", with --kernel " : "", kernel ? kernel : "");
}

const char *cli_flag_help(const scant_option *row) {
    bool shown = row->value && *row->value && row->kind != SCANT_OPTION_SWITCH;
    if (shown) return cli_format("%s (default %s)", row->help, row->value);
    if (!row->value && row->otherwise)
        return cli_format("%s (default: %s)", row->help, row->otherwise);
    return row->help;
}

/* ---- plain text -------------------------------------------------------------------- */

static void page_fact(scant__text *text, const char *name, const char *words) {
    scant__text_add(text, name);
    cli_text_pad(text, 10);
    cli_text_wrap(text, 10, words);
}

static void page_list(scant__text *text, const char *heading) {
    scant__text_addf(text, "\n%s\n", heading);
}

/* Adds a name and its help; a long name gets its own line. */
static void add_item(scant__text *text, size_t column, const char *name,
                     const char *help) {
    scant__text_addf(text, strlen(name) + 4 > column ? "  %s\n" : "  %s", name);
    cli_text_pad(text, column);
    cli_text_wrap(text, column, help);
}

static void page_item(scant__text *text, const char *name, const char *help) {
    add_item(text, strncmp(name, "--", 2) == 0 ? FLAG_COLUMN : 16, name, help);
}

static void page_end(scant__text *text) { (void)text; }

static const cli_formatter formatter = {page_fact, page_list, page_item, page_end};

static void add_keys(scant__text *text) {
    scant_experiment_key key;
    const char *section = "";
    scant__text_add(text, "\nKeys of an experiment (section.key: default)\n");
    for (size_t i = 0; scant_experiment_key_at(i, &key); i++) {
        const scant_option *o = key.option;
        if (strcmp(section, key.section) != 0)
            scant__text_addf(text, "  [%s]\n", key.section);
        section = key.section;
        add_item(text, FLAG_COLUMN, cli_format("%s = %s", key.key, key.value),
                 o->kind == SCANT_OPTION_CHOICE
                     ? cli_format("%s (%s)", o->help, o->choices)
                     : o->help);
    }
    cli_text_pad(text, 2);
    cli_text_wrap(text, 2,
                  "and a strategy's own options in [loop], such as npc.candidates = 500; "
                  "dynamic.layers, egl.layers, crc.layers, npc.kernel and bss.kernel are "
                  "last or all: gradients of the last layer or of the whole network; the "
                  "last three also ntk:depth=K, an infinitely wide network's kernel");
}

static void add_settings(scant__text *text) {
    size_t count;
    const scant_option *rows = scant_project_options(&count);
    char expected[SCANT__EXPECTED];
    scant__text_add(text, "\nSettings of a project (key = default)\n");
    for (size_t i = 0; i < count; i++)
        add_item(text, FLAG_COLUMN, cli_format("%s = %s", rows[i].key, rows[i].value),
                 cli_format("%s (%s)", rows[i].help,
                            scant__option_expected(&rows[i], NULL, expected)));
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
        scant__text names = CLI_TEXT;
        for (size_t i = 0; i < count; i++) scant__text_addf(&names, "%s ", list[i]->name);
        scant__text_add(text, "\nStrategies\n  ");
        cli_text_wrap(text, 2, names.data);
    }
    cli_write_flags(text, &formatter, command);
    if (command == &cli_cmd_run) add_keys(text);
    if (command == &cli_cmd_new || command == &cli_cmd_set) add_settings(text);
    if (command->examples[0].what) scant__text_add(text, "\nExamples\n");
    add_examples(text, command, CLI_EXAMPLES);
}

/* 'scant select STRATEGY --help' prints the strategy's page. */
void cli_print_page(const cli_call *call) {
    scant__text text = CLI_TEXT;
    if (call->command == &cli_cmd_select && call->operand) {
        cli_page_strategy(&text, cli_strategy(call->command, call->operand));
        scant__text_add(&text, "\n'scant select --help' lists all flags.\n");
    } else {
        cli_page_command(&text, call->command);
    }
    cli_print(&text);
}

void cli_page_strategy(scant__text *text, const scant_strategy_info *info) {
    scant__text_addf(text, "%s: ", info->name);
    cli_text_wrap(text, 0, info->summary);
    scant__text_add(text, "\n");
    cli_write_strategy(text, &formatter, info);
    scant__text_addf(text, "\nExample\n    scant select %s --batch 100%s\n", info->name,
                     select_example(info->needs));
}
