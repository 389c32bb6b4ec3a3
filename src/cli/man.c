/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant man`: the manual page scant(1) in mdoc, from the tables that --help reads. The
 * build installs its output.
 */
#include <string.h>

#include "cli/cli.h"
#include "cli/select.h"

/* When what the page says last changed; not the day of the build, which must not show. */
static const char man_date[] = "November 17, 2026";

enum { MAN_COLUMNS = 72 };

/* One word, safe in running text and as an argument of a macro. */
static void man_word(cli_text *text, const char *word, size_t length) {
    if (length > 0 && strchr(".'", word[0])) cli_text_add(text, "\\&");
    for (size_t at = 0; at < length;) {
        uint32_t code;
        size_t taken = cli_utf8(word + at, length - at, &code);
        if (code == '\\')
            cli_text_add(text, "\\e");
        else if (code == '-')
            cli_text_add(text, "\\-");
        else if (code == '"')
            cli_text_add(text, "\\(dq");
        else if (code == '\'')
            cli_text_add(text, "\\(aq");
        else if (code >= 0x80)
            cli_text_addf(text, "\\[u%04X]", (unsigned)code);
        else
            cli_text_bytes(text, word + at, 1);
        at += taken;
    }
}

static bool ends_sentence(const char *word, size_t length) {
    while (length > 0 && strchr(")'\"", word[length - 1])) length--;
    return length > 0 && strchr(".!?", word[length - 1]);
}

/* Running text: a line a sentence, as mdoc wants it; an empty line starts a paragraph. */
static void man_words(cli_text *text, const char *words) {
    size_t line = text->size; /* where it starts */
    if (!words) return;
    for (;;) {
        size_t blanks = strspn(words, " \n"), length = strcspn(words + blanks, " \n");
        if (length == 0) break;
        if (strncmp(words, "\n\n", 2) == 0) {
            cli_text_add(text, text->size > line ? "\n.Pp\n" : ".Pp\n");
            line = text->size;
        }
        words += blanks;
        if (text->size > line) cli_text_add(text, " ");
        man_word(text, words, length);
        words += length;
        if (ends_sentence(words - length, length) ||
            text->size - line > MAN_COLUMNS - 8) {
            cli_text_add(text, "\n");
            line = text->size;
        }
    }
    if (text->size > line) cli_text_add(text, "\n");
}

/* A macro with one argument that is not read as a macro itself. */
static void man_macro(cli_text *text, const char *macro, const char *argument) {
    cli_text_addf(text, ".%s ", macro);
    if (strlen(argument) <= 3) cli_text_add(text, "\\&");
    for (const char *at = argument;;) {
        size_t length = strcspn(at, " ");
        man_word(text, at, length);
        if (!at[length]) break;
        cli_text_add(text, "\\ ");
        at += length + 1;
    }
    cli_text_add(text, "\n");
}

static void man_flags(cli_text *text, const cli_flag *flags, size_t count) {
    for (size_t i = 0; i < count; i++) {
        bool first = i == 0 || strcmp(flags[i].group, flags[i - 1].group) != 0;
        bool last = i + 1 == count || strcmp(flags[i].group, flags[i + 1].group) != 0;
        if (first) {
            cli_text_add(text, ".Pp\n");
            man_words(text, flags[i].group);
            cli_text_add(text, ".Bl -tag -width Ds\n");
        }
        cli_text_addf(text, ".It Fl \\-%s", flags[i].name);
        if (flags[i].arg) cli_text_addf(text, " Ar \\&%s", flags[i].arg);
        cli_text_add(text, "\n");
        man_words(text, flags[i].help);
        if (last) cli_text_add(text, ".El\n");
    }
}

static void man_commands(cli_text *text) {
    size_t count;
    const cli_command *const *list = cli_commands(&count);
    for (size_t i = 0; i < count; i++) {
        if (list[i]->hidden) continue;
        cli_text_addf(text, ".Ss scant %s\n", list[i]->name);
        man_words(text, list[i]->about);
        man_flags(text, list[i]->flags, list[i]->n_flags);
    }
}

static void man_option(cli_text *text, const scant_option *option) {
    cli_text help = {0};
    cli_option_help(&help, option);
    cli_text_bytes(&help, "", 1);
    man_macro(text, "It Sy", option->key);
    man_words(text, help.data);
    cli_text_end(&help);
}

static void man_evidence(cli_text *text, unsigned kinds, unsigned or_kinds) {
    cli_text flags = {0};
    select_evidence_ways(&flags, kinds, or_kinds);
    cli_text_bytes(&flags, "", 1);
    man_words(text, flags.data);
    cli_text_end(&flags);
}

static void man_options(cli_text *text, const scant_strategy_info *info) {
    if (!info->n_options) return;
    cli_text_add(text, ".Pp\nOptions:\n.Bl -tag -width Ds -compact\n");
    for (size_t i = 0; i < info->n_options; i++) man_option(text, &info->options[i]);
    cli_text_add(text, ".El\n");
}

static void man_figures(cli_text *text, const scant_strategy_info *info) {
    if (!info->n_figures) return;
    cli_text_add(text, ".Pp\nFigures (info in JSON):\n.Bl -tag -width Ds -compact\n");
    for (size_t i = 0; i < info->n_figures; i++) {
        man_macro(text, "It Sy", info->figures[i].name);
        man_words(text, info->figures[i].help);
    }
    cli_text_add(text, ".El\n");
}

static void man_strategy(cli_text *text, const scant_strategy_info *info) {
    unsigned uses = info->uses & ~info->needs;
    man_macro(text, "It Sy", info->name);
    man_words(text, info->summary);
    if (info->use && *info->use) {
        cli_text_add(text, ".Pp\n");
        man_words(text, info->use);
    }
    cli_text_add(text, ".Pp\nNeeds:\n");
    man_evidence(text, info->needs, info->or_needs);
    if (uses) {
        cli_text_add(text, ".br\nCan use:\n");
        man_evidence(text, uses, 0);
    }
    cli_text_add(text, ".br\nScore:\n");
    man_words(text, info->score);
    if (info->paper && *info->paper) {
        cli_text_add(text, ".br\nPaper:\n");
        man_words(text, info->paper);
    }
    man_options(text, info);
    man_figures(text, info);
}

static void man_synopsis(cli_text *text) {
    size_t count;
    const cli_command *const *list = cli_commands(&count);
    cli_text_add(text, ".Sh SYNOPSIS\n");
    for (size_t i = 0; i < count; i++) {
        if (list[i]->hidden) continue;
        cli_text_addf(text, ".Nm\n.Cm %s\n", list[i]->name);
        man_words(text, list[i]->synopsis);
        if (!list[i]->also) continue;
        cli_text_addf(text, ".Nm\n.Cm %s\n", list[i]->name);
        man_words(text, list[i]->also);
    }
    cli_text_add(text, ".Nm\n.Fl \\-help | \\-version\n");
}

static void man_exits(cli_text *text) {
    size_t count;
    const cli_exit_row *exits = cli_exit_table(&count);
    cli_text_add(text, ".Sh EXIT STATUS\n.Bl -tag -width 3n -compact\n");
    for (size_t i = 0; i < count; i++) {
        cli_text_addf(text, ".It %d\n", exits[i].status);
        man_words(text, exits[i].meaning);
    }
    cli_text_add(text, ".El\n");
}

static void man_examples(cli_text *text) {
    size_t count;
    const cli_command *const *list = cli_commands(&count);
    cli_text_add(text, ".Sh EXAMPLES\n");
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < list[i]->n_examples && !list[i]->hidden; j++) {
            man_words(text, list[i]->examples[j].what);
            man_macro(text, "Dl", list[i]->examples[j].call);
            cli_text_add(text, ".Pp\n");
        }
    }
    text->size -= strlen(".Pp\n"); /* none after the last */
}

static int run(const cli_command *command, int argc, char **argv) {
    cli_parsed parsed;
    cli_text text = {0};
    int status = cli_parse(command, argc, argv, NULL, &parsed);
    if (status != CLI_DONE) return status;
    if (parsed.help) return cli_print_page(command);
    cli_text_addf(&text,
                  ".\\\" Written by 'scant man'; do not edit.\n.Dd %s\n.Dt SCANT 1\n"
                  ".Os\n.Sh NAME\n.Nm scant\n"
                  ".Nd choose which unlabelled samples to label next\n",
                  man_date);
    man_synopsis(&text);
    cli_text_add(&text,
                 ".Sh DESCRIPTION\n"
                 "You have a million unlabelled samples and money for five hundred "
                 "labels:\n.Nm\nsays which five hundred.\n");
    man_commands(&text);
    cli_text_add(&text, ".Sh STRATEGIES\n.Bl -tag -width Ds\n");
    size_t count;
    const scant_strategy_info *const *list = scant_strategies(&count);
    for (size_t i = 0; i < count; i++) man_strategy(&text, list[i]);
    cli_text_add(&text,
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
