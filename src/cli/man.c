/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant man`: the manual page scant(1) in mdoc, from the tables that --help reads. The
 * build installs its output.
 */
#include <string.h>

#include "cli/cli.h"
#include "cli/select.h"
#include "core/utf8.h"

/* When the page last changed. Not the build date: builds are reproducible. */
static const char man_date[] = "November 17, 2026";

enum { MAN_COLUMNS = 72 };

/* One word, safe in running text and as an argument of a macro. */
static void man_word(scant__text *text, const char *word, size_t length) {
    if (length > 0 && strchr(".'", word[0])) scant__text_add(text, "\\&");
    for (size_t at = 0; at < length;) {
        uint32_t code;
        size_t taken = scant__utf8_next(word + at, length - at, &code);
        if (code == '\\')
            scant__text_add(text, "\\e");
        else if (code == '-')
            scant__text_add(text, "\\-");
        else if (code == '"')
            scant__text_add(text, "\\(dq");
        else if (code == '\'')
            scant__text_add(text, "\\(aq");
        else if (code >= 0x80)
            scant__text_addf(text, "\\[u%04X]", (unsigned)code);
        else
            scant__text_bytes(text, word + at, 1);
        at += taken;
    }
}

static bool ends_sentence(const char *word, size_t length) {
    while (length > 0 && strchr(")'\"", word[length - 1])) length--;
    return length > 0 && strchr(".!?", word[length - 1]);
}

/* Running text, one sentence a line for mdoc; an empty line starts a paragraph. */
static void man_words(scant__text *text, const char *words) {
    size_t line = text->size; /* where it starts */
    if (!words) return;
    for (;;) {
        size_t blanks = strspn(words, " \n"), length = strcspn(words + blanks, " \n");
        if (length == 0) break;
        if (strncmp(words, "\n\n", 2) == 0) {
            scant__text_add(text, text->size > line ? "\n.Pp\n" : ".Pp\n");
            line = text->size;
        }
        words += blanks;
        if (text->size > line) scant__text_add(text, " ");
        man_word(text, words, length);
        words += length;
        if (ends_sentence(words - length, length) ||
            text->size - line > MAN_COLUMNS - 8) {
            scant__text_add(text, "\n");
            line = text->size;
        }
    }
    if (text->size > line) scant__text_add(text, "\n");
}

/* A macro with one argument that is not read as a macro itself. */
static void man_macro(scant__text *text, const char *macro, const char *argument) {
    scant__text_addf(text, ".%s ", macro);
    if (strlen(argument) <= 3) scant__text_add(text, "\\&");
    for (const char *at = argument;;) {
        size_t length = strcspn(at, " ");
        man_word(text, at, length);
        if (!at[length]) break;
        scant__text_add(text, "\\ ");
        at += length + 1;
    }
    scant__text_add(text, "\n");
}

static void man_flag(scant__text *text, const cli_flag *flag, bool first, bool last) {
    const char *arg = flag->row->arg ? flag->row->arg : flag->row->choices;
    scant__text help = CLI_TEXT;
    if (first) {
        scant__text_add(text, ".Pp\n");
        man_words(text, flag->row->group);
        scant__text_add(text, ".Bl -tag -width Ds\n");
    }
    scant__text_addf(text, ".It Fl \\-%s", flag->name);
    if (arg) scant__text_addf(text, " Ar \\&%s", arg);
    scant__text_add(text, "\n");
    cli_flag_help(&help, flag->row);
    man_words(text, help.data);
    scant__text_end(&help);
    if (last) scant__text_add(text, ".El\n");
}

static void man_commands(scant__text *text) {
    size_t count;
    const cli_command *const *list = cli_commands(&count);
    for (size_t i = 0; i < count; i++) {
        if (list[i]->hidden) continue;
        scant__text_addf(text, ".Ss scant %s\n", list[i]->name);
        man_words(text, list[i]->about);
        cli_each_flag(list[i], text, man_flag);
    }
}

static void man_option(scant__text *text, const scant_option *option) {
    scant__text help = CLI_TEXT;
    cli_option_help(&help, option);
    scant__text_bytes(&help, "", 1);
    man_macro(text, "It Sy", option->key);
    man_words(text, help.data);
    scant__text_end(&help);
}

static void man_evidence(scant__text *text, unsigned kinds, unsigned or_kinds) {
    scant__text flags = CLI_TEXT;
    select_evidence_ways(&flags, kinds, or_kinds);
    scant__text_bytes(&flags, "", 1);
    man_words(text, flags.data);
    scant__text_end(&flags);
}

static void man_options(scant__text *text, const scant_strategy_info *info) {
    if (!info->n_options) return;
    scant__text_add(text, ".Pp\nOptions:\n.Bl -tag -width Ds -compact\n");
    for (size_t i = 0; i < info->n_options; i++) man_option(text, &info->options[i]);
    scant__text_add(text, ".El\n");
}

static void man_figures(scant__text *text, const scant_strategy_info *info) {
    if (!info->n_figures) return;
    scant__text_add(text, ".Pp\nFigures (info in JSON):\n.Bl -tag -width Ds -compact\n");
    for (size_t i = 0; i < info->n_figures; i++) {
        man_macro(text, "It Sy", info->figures[i].name);
        man_words(text, info->figures[i].help);
    }
    scant__text_add(text, ".El\n");
}

static void man_strategy(scant__text *text, const scant_strategy_info *info) {
    unsigned uses = info->uses & ~info->needs;
    man_macro(text, "It Sy", info->name);
    man_words(text, info->summary);
    if (info->use && *info->use) {
        scant__text_add(text, ".Pp\n");
        man_words(text, info->use);
    }
    scant__text_add(text, ".Pp\nNeeds:\n");
    man_evidence(text, info->needs, info->or_needs);
    if (uses) {
        scant__text_add(text, ".br\nCan use:\n");
        man_evidence(text, uses, 0);
    }
    scant__text_add(text, ".br\nScore:\n");
    man_words(text, info->score);
    if (info->paper && *info->paper) {
        scant__text_add(text, ".br\nPaper:\n");
        man_words(text, info->paper);
    }
    man_options(text, info);
    man_figures(text, info);
}

static void man_synopsis(scant__text *text) {
    size_t count;
    const cli_command *const *list = cli_commands(&count);
    scant__text_add(text, ".Sh SYNOPSIS\n");
    for (size_t i = 0; i < count; i++) {
        if (list[i]->hidden) continue;
        scant__text_addf(text, ".Nm\n.Cm %s\n", list[i]->name);
        man_words(text, list[i]->synopsis);
        if (!list[i]->also) continue;
        scant__text_addf(text, ".Nm\n.Cm %s\n", list[i]->name);
        man_words(text, list[i]->also);
    }
    scant__text_add(text, ".Nm\n.Fl \\-help | \\-version\n");
}

static void man_exits(scant__text *text) {
    size_t count;
    const cli_exit_row *exits = cli_exit_table(&count);
    scant__text_add(text, ".Sh EXIT STATUS\n.Bl -tag -width 3n -compact\n");
    for (size_t i = 0; i < count; i++) {
        scant__text_addf(text, ".It %d\n", exits[i].status);
        man_words(text, exits[i].meaning);
    }
    scant__text_add(text, ".El\n");
}

static void man_examples(scant__text *text) {
    size_t count;
    const cli_command *const *list = cli_commands(&count);
    scant__text_add(text, ".Sh EXAMPLES\n");
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < list[i]->n_examples && !list[i]->hidden; j++) {
            man_words(text, list[i]->examples[j].what);
            man_macro(text, "Dl", list[i]->examples[j].call);
            scant__text_add(text, ".Pp\n");
        }
    }
    text->size -= strlen(".Pp\n"); /* none after the last */
}

static int run(const cli_command *command, int argc, char **argv) {
    cli_parsed parsed;
    scant__text text = CLI_TEXT;
    int status = cli_parse(command, argc, argv, NULL, &parsed);
    if (status != CLI_DONE) return status;
    if (parsed.help) return cli_print_page(command);
    scant__text_addf(&text,
                     ".\\\" Written by 'scant man'; do not edit.\n.Dd %s\n.Dt SCANT 1\n"
                     ".Os\n.Sh NAME\n.Nm scant\n"
                     ".Nd choose which unlabelled samples to label next\n",
                     man_date);
    man_synopsis(&text);
    scant__text_add(&text,
                    ".Sh DESCRIPTION\n"
                    "You have a million unlabelled samples and money for five hundred "
                    "labels:\n.Nm\nsays which five hundred.\n");
    man_commands(&text);
    scant__text_add(&text, ".Sh STRATEGIES\n.Bl -tag -width Ds\n");
    size_t count;
    const scant_strategy_info *const *list = scant_strategies(&count);
    for (size_t i = 0; i < count; i++) man_strategy(&text, list[i]);
    scant__text_add(&text,
                    ".El\n.Sh ENVIRONMENT\n.Bl -tag -width NO_COLOR\n.It Ev NO_COLOR\n"
                    "Set and not empty: messages have no colour, even on a terminal.\n"
                    ".El\n");
    man_exits(&text);
    man_examples(&text);
    return cli_print(&text);
}

const cli_command cli_cmd_man = {
    .name = "man",
    .synopsis = "",
    .summary = "print the manual page",
    .about = "Prints the manual page, as mdoc: scant man | man -l -",
    .hidden = true,
    .run = run,
};
