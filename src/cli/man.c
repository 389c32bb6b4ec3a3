/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant man`: the manual page scant(1) in mdoc, from the tables that --help reads. The
 * build installs its output.
 */
#include <string.h>

#include "cli/cli.h"
#include "core/utf8.h"

/* Date of the last change of the page; not the build date: builds are reproducible. */
static const char man_date[] = "November 17, 2026";

enum { MAN_COLUMNS = 72 };

/* Writes one word, escaped for running text and for macro arguments. */
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

/* Writes text, one sentence per line for mdoc; an empty line starts a paragraph. */
static void man_words(scant__text *text, const char *words) {
    size_t line = text->size; /* start of the current line */
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

/* Writes a macro with one argument, escaped so that it is not read as a macro. */
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

static void man_fact(scant__text *text, const char *name, const char *words) {
    scant__text_addf(text, ".br\n%s:\n", name);
    man_words(text, words);
}

static void man_list(scant__text *text, const char *heading) {
    scant__text_add(text, ".Pp\n");
    man_words(text, heading);
    scant__text_add(text, ".Bl -tag -width Ds\n");
}

static void man_item(scant__text *text, const char *name, const char *help) {
    size_t length = strcspn(name, " ");
    if (strncmp(name, "--", 2) != 0)
        man_macro(text, "It Sy", name);
    else if (name[length])
        scant__text_addf(text, ".It Fl \\-%.*s Ar \\&%s\n", (int)length - 2, name + 2,
                         name + length + 1);
    else
        scant__text_addf(text, ".It Fl \\-%s\n", name + 2);
    man_words(text, help);
}

static void man_end(scant__text *text) { scant__text_add(text, ".El\n"); }

static const cli_formatter formatter = {man_fact, man_list, man_item, man_end};

static void man_commands(scant__text *text) {
    size_t count;
    const cli_command *const *list = cli_commands(&count);
    for (size_t i = 0; i < count; i++) {
        if (list[i]->hidden) continue;
        scant__text_addf(text, ".Ss scant %s\n", list[i]->name);
        man_words(text, list[i]->about);
        cli_write_flags(text, &formatter, list[i]);
    }
}

static void man_strategies(scant__text *text) {
    size_t count;
    const scant_strategy_info *const *list = scant_strategies(&count);
    scant__text_add(text, ".Sh STRATEGIES\n.Bl -tag -width Ds\n");
    for (size_t i = 0; i < count; i++) {
        man_macro(text, "It Sy", list[i]->name);
        man_words(text, list[i]->summary);
        cli_write_strategy(text, &formatter, list[i]);
    }
    scant__text_add(text, ".El\n");
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
        if (list[i]->hidden) continue;
        for (const cli_example *e = list[i]->examples; e->what; e++) {
            man_words(text, e->what);
            man_macro(text, "Dl", e->call);
            scant__text_add(text, ".Pp\n");
        }
    }
    text->size -= strlen(".Pp\n"); /* no .Pp after the last one */
}

static void run(const cli_call *call) {
    scant__text text = CLI_TEXT;
    (void)call;
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
    man_strategies(&text);
    scant__text_add(&text,
                    ".Sh ENVIRONMENT\n.Bl -tag -width NO_COLOR\n.It Ev NO_COLOR\n"
                    "If set and not empty, messages have no colour, even on a terminal.\n"
                    ".El\n");
    man_exits(&text);
    man_examples(&text);
    cli_print(&text);
}

const cli_command cli_cmd_man = {
    .name = "man",
    .synopsis = "",
    .summary = "print the manual page",
    .about = "Prints the manual page, as mdoc: scant man | man -l -",
    .hidden = true,
    .run = run,
};
