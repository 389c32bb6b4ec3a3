/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the program share: exit statuses, text, messages, and the tables that
 * commands and flags are written in. Parsing, --help, the manual page and completion all
 * read the same tables, so a flag is one row and cannot be documented wrongly.
 *
 * The program never calls setlocale(): printf and strtod see the C locale, so numbers
 * look the same everywhere.
 */
#ifndef SCANT_CLI_H
#define SCANT_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/json.h"
#include "core/option.h"
#include "core/text.h"
#include "scant/train.h"

#if defined(__GNUC__)
#define CLI_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define CLI_PRINTF(fmt, args)
#endif

#define CLI_COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

/* ---- exit statuses ----------------------------------------------------------------- */

enum {
    CLI_DONE = 0,
    CLI_FAILED = 1, /* our own fault */
    CLI_USAGE = 2,
    CLI_BAD_INPUT = 3,
    CLI_SYSTEM = 4, /* no memory, or no place to write */
    CLI_STOP = 10,  /* done, and there is no need to go on */
    CLI_INTERRUPTED = 130
};

typedef struct cli_exit_row {
    int status;
    const char *meaning;
} cli_exit_row;

const cli_exit_row *cli_exit_table(size_t *count); /* what people are told */
int cli_exit_of(scant_status status);

/* ---- text (text.c) ----------------------------------------------------------------- */

/* These end the program with CLI_SYSTEM if memory runs out. */
void *cli_calloc(size_t count, size_t size);
void *cli_grow(void *block, size_t count, size_t size);
char *cli_strndup(const char *text, size_t length);
void cli_no_memory(void);

/* An empty text that ends the program likewise. */
#define CLI_TEXT ((scant__text){.no_memory = cli_no_memory})

enum { CLI_COLUMNS = 80 };

/* Blanks up to column of the current line; at least one where the line is not empty. */
void cli_text_pad(scant__text *text, size_t column);
/* Words from the current column on, broken before CLI_COLUMNS, further lines indented.
 * Ends the line. A newline in words starts a new line. */
void cli_text_wrap(scant__text *text, size_t indent, const char *words);

/* An option's value as JSON: a number if its kind is numeric and JSON can hold it.
 * (values.c) */
void cli_json_setting(scant__text *text, scant_option_kind kind, const char *value);

/* ---- messages (say.c) -------------------------------------------------------------- */

void cli_error(const char *format, ...) CLI_PRINTF(1, 2);
void cli_warning(const char *format, ...) CLI_PRINTF(1, 2);
void cli_note(const char *format, ...) CLI_PRINTF(1, 2);
/* Writes text to stdout and ends it: CLI_DONE, or CLI_SYSTEM after a message. */
int cli_print(scant__text *text);
/* The same for bytes that stay the caller's. CLI_INTERRUPTED after Ctrl-C. */
int cli_write_stdout(const void *bytes, size_t size);

/* ---- files (files.c) --------------------------------------------------------------- */

/* A file and the flag that names it. */
typedef struct cli_path {
    const char *flag, *path; /* path NULL: not given */
} cli_path;

/* Whether a file could be written there; CLI_DONE, or CLI_SYSTEM after a message. */
int cli_check_file(const char *path);
int cli_cannot_write(const char *path, const char *why); /* says so: CLI_SYSTEM */
int cli_cannot_read(const char *path, const char *why);  /* says so: CLI_BAD_INPUT */
/* All of a regular file of at most that many bytes; CLI_BAD_INPUT after a message. */
int cli_read_file(const char *path, size_t most, scant__text *text);
bool cli_exists(const char *path);

/* ---- flags (flags.c, values.c) ----------------------------------------------------- */

/* Some flags of a command: rows, and where the struct that they fill stands in the
 * command's own. A row's key with '-' for '_' is the flag. */
typedef struct cli_table {
    const scant_option *rows;
    size_t n;
    const scant_option *(*list)(size_t *n); /* instead of rows: a table of the library */
    size_t base;
} cli_table;

#define CLI_FLAGS(rows)                                                                  \
    { rows, CLI_COUNT_OF(rows), NULL, 0 }
#define CLI_FLAGS_AT(rows, base)                                                         \
    { rows, CLI_COUNT_OF(rows), NULL, base }
#define CLI_SHARED(list, base)                                                           \
    { NULL, 0, list, base }

typedef struct cli_settings {
    scant_setting *items;
    size_t count;
} cli_settings;

typedef struct cli_files {
    const char **items; /* free() */
    size_t count;
} cli_files;

bool cli_read_number(const char *text, size_t min, size_t max, size_t *out);
/* A number, finite, in decimal. */
bool cli_read_real(const char *text, double *out);
/* The same, and above 0. */
bool cli_read_positive(const char *text, double *out);

/* ---- commands ---------------------------------------------------------------------- */

/* What a command takes beside flags; completion offers it. */
typedef enum cli_operand {
    CLI_NOTHING,
    CLI_STRATEGY,
    CLI_MODEL_NAME,
    CLI_TOPIC, /* a command or a strategy */
    CLI_PATH,  /* a file */
    CLI_SHELL,
    CLI_FOLDERS,         /* any number of them */
    CLI_PROJECT,         /* a folder */
    CLI_PROJECT_SETTINGS /* a folder, and KEY=VALUE any number of times */
} cli_operand;

typedef struct cli_example {
    const char *what, *call;
} cli_example;

enum { CLI_TABLES = 8 };

typedef struct cli_command {
    const char *name;
    const char *synopsis; /* after the name */
    const char *also;     /* another way to call it; NULL: there is none */
    const char *summary;  /* one line */
    const char *about;    /* paragraphs */
    cli_operand operand;
    bool hidden;  /* for builds, not for people */
    bool project; /* works on a project */
    cli_table tables[CLI_TABLES];
    const cli_example *examples;
    size_t n_examples;
    /* argv starts after the command's name; returns the exit status. */
    int (*run)(const struct cli_command *command, int argc, char **argv);
} cli_command;

extern const cli_command cli_cmd_select, cli_cmd_strategies, cli_cmd_models,
    cli_cmd_train, cli_cmd_embed, cli_cmd_ntk, cli_cmd_run, cli_cmd_report,
    cli_cmd_compare, cli_cmd_new, cli_cmd_add, cli_cmd_serve, cli_cmd_status,
    cli_cmd_query, cli_cmd_label, cli_cmd_predict, cli_cmd_export, cli_cmd_log,
    cli_cmd_set, cli_cmd_help, cli_cmd_man, cli_cmd_completion;

const cli_command *const *cli_commands(size_t *count);
const cli_command *cli_command_find(const char *name);

/* A flag of a command. */
typedef struct cli_flag {
    const scant_option *row;
    char name[40]; /* without the dashes */
    size_t base;
} cli_flag;

/* The flags from i = 0 on, in the order of the tables; false: no more. */
bool cli_flag_at(const cli_command *command, size_t i, cli_flag *out);
/* The number of a flag; that of all flags if there is none. */
size_t cli_flag_find(const cli_command *command, const char *name);
/* The flags by their groups, for pages: calls add for each, first: of its group. */
void cli_each_flag(const cli_command *command, scant__text *text,
                   void (*add)(scant__text *text, const cli_flag *flag, bool first,
                               bool last));
/* A flag's help, with its default. */
void cli_flag_help(scant__text *text, const scant_option *row);

typedef struct cli_parsed {
    const char *operand;         /* the first, or NULL */
    const char *const *operands; /* all of them; of CLI_FOLDERS and CLI_PROJECT_SETTINGS
                                  * several */
    size_t n_operands;
    bool help;
} cli_parsed;

/* Reads flags into values (the command's struct) by the command's table. CLI_DONE, or
 * CLI_USAGE after a message. Strings are borrowed from argv, whose first words become the
 * operands; the list of settings is new.
 */
int cli_parse(const cli_command *command, int argc, char **argv, void *values,
              cli_parsed *parsed);

/* The same, and which flags were given: a bool each, in the order of the table. */
int cli_parse_seen(const cli_command *command, int argc, char **argv, void *values,
                   cli_parsed *parsed, bool *seen);
/* One flag's value into values, as if it had been given; not of a list. A string is
 * borrowed. CLI_DONE, or CLI_USAGE after a message. */
int cli_store(const cli_command *command, const cli_flag *flag, const char *value,
              void *values);
/* The value that a flag has in values, as JSON; null where it has none. */
void cli_flag_json(scant__text *text, const cli_flag *flag, const void *values);

/* That none of the files to write is one to read, or another to write; CLI_USAGE after a
 * message. (files.c) */
int cli_check_overwrites(const cli_command *command, const cli_path *outs, size_t n_outs,
                         const cli_path *ins, size_t n_ins);

/* A message, where to read on, and CLI_USAGE. */
int cli_usage(const cli_command *command, const char *format, ...) CLI_PRINTF(2, 3);

/* ---- names and pages --------------------------------------------------------------- */

/* The name nearest to word, as "; did you mean X?" with X behind before, or an empty
 * string where none is near. The answer is new. (suggest.c) */
typedef const char *(*cli_name_at)(const void *names, size_t i);
char *cli_suggest(const char *word, const char *before, const void *names, size_t count,
                  cli_name_at name_at);
/* Says that there is no such strategy or model; returns CLI_USAGE. */
int cli_unknown_strategy(const cli_command *command, const char *word);
int cli_unknown_model(const cli_command *command, const char *word);
/* That the keys are options of a strategy; CLI_USAGE after a message. */
int cli_check_options(const cli_command *command, const scant_strategy_info *strategy,
                      const cli_settings *settings);
const scant_model_info *cli_model_find(const char *name); /* or NULL */
/* The i-th name; NULL: no more. */
const char *cli_strategy_name(size_t i);
const char *cli_model_name(size_t i);

/* What people read (page.c). */
void cli_page_program(scant__text *text);
void cli_page_command(scant__text *text, const cli_command *command);
int cli_print_page(const cli_command *command); /* that of --help */
void cli_page_strategy(scant__text *text, const scant_strategy_info *info);
/* "0 or 1", "a whole number from 1 to 5", "one of last, best:K (K from 1 to 9)" */
void cli_option_range(scant__text *text, const scant_option *option);
/* Its help, range and default, in one sentence. */
void cli_option_help(scant__text *text, const scant_option *option);

#endif
