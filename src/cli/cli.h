/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the program share: exit statuses, text, messages, and the tables that
 * commands and flags are written in. Parsing, --help, the manual page and completion all
 * read the same tables, so a flag is described in one row only.
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
    CLI_FAILED = 1, /* any other error */
    CLI_USAGE = 2,
    CLI_BAD_INPUT = 3,
    CLI_SYSTEM = 4, /* out of memory, or a file cannot be written */
    CLI_STOP = 10,  /* success; the stop rule holds, or no items are left */
    CLI_INTERRUPTED = 130
};

typedef struct cli_exit_row {
    int status;
    const char *meaning;
} cli_exit_row;

const cli_exit_row *cli_exit_table(size_t *count); /* all statuses, explained */
int cli_exit_of(scant_status status);

/* ---- starting the program (start.c) ------------------------------------------------ */

void cli_start(void); /* called first; prepares the libraries */

/* ---- ending the program (end.c) ---------------------------------------------------- */

/* Functions return results, not statuses: a command ends the program where it finds an
 * error. Cleanup, such as closing a project, is deferred. Callbacks of the library must
 * not end the program, because other threads may be running. Running out of memory is the
 * exception: it ends the program at once, without the deferred calls. These functions are
 * not thread-safe. */

/* Calls fn(arg) when the program ends, in reverse order of registration. */
void cli_defer(void (*fn)(void *arg), void *arg);
_Noreturn void cli_exit(int status);
/* Prints the message and exits with that status. */
_Noreturn void cli_die(int status, const char *format, ...) CLI_PRINTF(2, 3);

/* ---- memory (end.c) ---------------------------------------------------------------- */

/* Memory lives until the program ends, so commands free only large blocks that they no
 * longer need. If memory runs out, these functions end the program with CLI_SYSTEM. */
void *cli_calloc(size_t count, size_t size);
void *cli_grow(void *block, size_t count, size_t size);
char *cli_strndup(const char *text, size_t length);
char *cli_format(const char *format, ...) CLI_PRINTF(1, 2);

/* An empty text and an empty JSON writer whose memory lives until the program ends. */
#define CLI_TEXT ((scant__text){.grow = cli_grow_bytes})
#define CLI_JSON ((scant__json){.text = CLI_TEXT})
void *cli_grow_bytes(void *block, size_t size); /* for CLI_TEXT */

/* ---- text in columns (columns.c) --------------------------------------------------- */

enum { CLI_COLUMNS = 80 };

/* Pads the current line with blanks up to `column`. Adds at least one blank, unless the
 * line is empty. */
void cli_text_pad(scant__text *text, size_t column);
/* Writes words at the current column and ends the line. Wraps lines at CLI_COLUMNS and
 * indents further ones by `indent`. A newline in words starts a new line. */
void cli_text_wrap(scant__text *text, size_t indent, const char *words);

/* ---- messages (message.c) ---------------------------------------------------------- */

void cli_error(const char *format, ...) CLI_PRINTF(1, 2);
void cli_warning(const char *format, ...) CLI_PRINTF(1, 2);
void cli_note(const char *format, ...) CLI_PRINTF(1, 2);
/* Writes to standard output. */
void cli_print(const scant__text *text);
void cli_write_stdout(const void *bytes, size_t size);

/* ---- files (files.c) --------------------------------------------------------------- */

/* A file and the flag that names it. */
typedef struct cli_path {
    const char *flag, *path; /* path NULL: not given */
} cli_path;

/* Checks that the file can be written. */
void cli_check_file(const char *path);
_Noreturn void cli_cannot_write(const char *path, const char *why);
_Noreturn void cli_cannot_read(const char *path, const char *why);
/* Reads a regular file of at most `most` bytes. */
void cli_read_file(const char *path, size_t most, scant__text *text);
bool cli_exists(const char *path);
void cli_check_stdout(void); /* checks that standard output can be written */

/* ---- flags (flags.c) --------------------------------------------------------------- */

/* Some flags of a command. They fill the struct at offset `base` in the command's struct.
 * A flag's name is the key of its row, with '-' instead of '_'. */
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
    const char **items;
    size_t count;
} cli_files;

bool cli_read_number(const char *text, size_t min, size_t max, size_t *out);
/* Reads a finite decimal number. */
bool cli_read_real(const char *text, double *out);
bool cli_read_positive(const char *text, double *out); /* likewise, and above 0 */
/* Writes an option's value: as a number if it is a finite number and the option is not a
 * choice, else as a string. */
void cli_json_setting(scant__json *json, const char *key, scant_option_kind kind,
                      const char *value);

/* ---- commands ---------------------------------------------------------------------- */

/* The operands of a command. Parsing, help and completion depend on them. */
typedef enum cli_operand {
    CLI_NOTHING,
    CLI_STRATEGY,
    CLI_MODEL_NAME,
    CLI_TOPIC, /* a command or a strategy */
    CLI_PATH,  /* a file */
    CLI_SHELL,
    CLI_FOLDERS,         /* one or more folders */
    CLI_PROJECT,         /* a folder */
    CLI_PROJECT_SETTINGS /* a folder, then any number of KEY=VALUE */
} cli_operand;

typedef struct cli_example {
    const char *what, *call;
} cli_example;

enum { CLI_TABLES = 8, CLI_EXAMPLES = 8 };

/* The command line of a command. Strings are borrowed from argv. */
typedef struct cli_call {
    const struct cli_command *command;
    void *args;                  /* the command's struct, filled from the flags */
    const bool *given;           /* whether each flag was given, in table order */
    const char *operand;         /* the first operand, or NULL */
    const char *const *operands; /* all operands */
    size_t n_operands;
    bool help;
} cli_call;

typedef struct cli_command {
    const char *name;
    const char *synopsis; /* the words after the name */
    const char *also;     /* a second synopsis, or NULL */
    const char *summary;  /* one-line description */
    const char *about;    /* description in paragraphs */
    cli_operand operand;
    bool hidden;  /* used by builds; not listed in the help */
    bool project; /* works on a project */
    cli_table tables[CLI_TABLES];
    cli_example examples[CLI_EXAMPLES]; /* unused elements are NULL */
    const char *missing; /* error if the operand is missing; NULL: it is optional */
    size_t args_size;    /* size of the struct that the flags fill */
    void (*defaults)(void *args);      /* sets args before parsing; NULL: all zero */
    void (*run)(const cli_call *call); /* returns for CLI_DONE, else calls cli_exit() */
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

/* Gets the i-th flag, from 0, in the order of the tables. False: there are no more. */
bool cli_flag_at(const cli_command *command, size_t i, cli_flag *out);
/* Returns the index of a flag, or the number of flags if there is no such flag. */
size_t cli_flag_find(const cli_command *command, const char *name);

/* Reads the words after the command's name. Moves the operands to the start of argv. */
cli_call cli_parse(const cli_command *command, int argc, char **argv);
/* Stores one flag's value in values, as if it had been given; not for flags that are
 * lists. A string is borrowed. */
void cli_store(const cli_command *command, const cli_flag *flag, const char *value,
               void *values);
/* Writes the value that a flag has in `values`; null if it has none. */
void cli_flag_json(scant__json *json, const char *key, const cli_flag *flag,
                   const void *values);

/* Checks that no output is an input or another output. (files.c) */
void cli_check_overwrites(const cli_command *command, const cli_path *outs, size_t n_outs,
                          const cli_path *ins, size_t n_ins);

/* Prints the message and the command's --help call, and exits with CLI_USAGE. */
_Noreturn void cli_usage(const cli_command *command, const char *format, ...)
    CLI_PRINTF(2, 3);

/* ---- names and help pages ---------------------------------------------------------- */

/* Returns "; did you mean 'X'?", where X is `before` followed by the name closest to
 * word. Returns "" if no name is close. (suggest.c) */
typedef const char *(*cli_name_at)(const void *names, size_t i);
const char *cli_suggest(const char *word, const char *before, const void *names,
                        size_t count, cli_name_at name_at);
/* Find a strategy or a model by name. If there is none, end the program with a message
 * that suggests a name or lists all. */
const scant_strategy_info *cli_strategy(const cli_command *command, const char *name);
const scant_model_info *cli_model(const cli_command *command, const char *name);
/* Checks that the keys are options of a strategy. */
void cli_check_options(const cli_command *command, const scant_strategy_info *strategy,
                       const cli_settings *settings);
/* Return the i-th name; NULL: there are no more. */
const char *cli_strategy_name(size_t i);
const char *cli_model_name(size_t i);

/* Help pages (help_page.c). */
void cli_page_program(scant__text *text);
void cli_page_command(scant__text *text, const cli_command *command);
void cli_print_page(const cli_call *call); /* prints the page of --help */
void cli_page_strategy(scant__text *text, const scant_strategy_info *info);

/* Writes lists of flags and strategies: as plain text (help_page.c) or as mdoc (man.c).
 */
typedef struct cli_formatter {
    void (*fact)(scant__text *text, const char *name, const char *words);
    void (*list)(scant__text *text, const char *heading);
    void (*item)(scant__text *text, const char *name, const char *help);
    void (*end)(scant__text *text); /* ends a list */
} cli_formatter;

void cli_write_flags(scant__text *text, const cli_formatter *formatter,
                     const cli_command *command);
void cli_write_strategy(scant__text *text, const cli_formatter *formatter,
                        const scant_strategy_info *info);
const char *cli_flag_help(const scant_option *row);      /* includes the default */
const char *cli_option_help(const scant_option *option); /* includes range and default */

#endif
