/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a command line by a command's table of flags: "--flag value" or "--flag=value",
 * flags and operands in any order, "--" ends the flags. Giving a flag twice is an error,
 * except for flags that are lists. A value that starts with "--" must be given with '=':
 * in "--out --quiet" the value of --out was probably forgotten.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static const scant_option common[] = {OPT_SWITCH("help", NULL, 0, "Other", "this text")};

bool cli_flag_at(const cli_command *command, size_t i, cli_flag *out) {
    static const cli_table last = CLI_FLAGS(common);
    for (size_t t = 0; t <= CLI_TABLES; t++) {
        const cli_table *table = t < CLI_TABLES ? &command->tables[t] : &last;
        size_t n = table->n;
        const scant_option *rows = table->list ? table->list(&n) : table->rows;
        if (i >= n) {
            i -= n;
            continue;
        }
        *out = (cli_flag){.row = &rows[i], .base = table->base};
        snprintf(out->name, sizeof out->name, "%s", rows[i].key);
        for (char *at = out->name; *at; at++)
            if (*at == '_') *at = '-';
        return true;
    }
    return false;
}

size_t cli_flag_find(const cli_command *command, const char *name) {
    cli_flag flag;
    size_t i = 0;
    while (cli_flag_at(command, i, &flag) && strcmp(flag.name, name) != 0) i++;
    return i;
}

static const char *flag_name(const void *names, size_t i) {
    return ((const cli_flag *)names)[i].name;
}

static _Noreturn void unknown_flag(const cli_command *command, const char *word) {
    char *bare = cli_strndup(word, strcspn(word, "="));
    size_t count = cli_flag_find(command, "");
    cli_flag *all = cli_calloc(count, sizeof *all);
    for (size_t i = 0; i < count; i++) cli_flag_at(command, i, &all[i]);
    cli_usage(command, "unknown flag '%s'%s", bare,
              cli_suggest(bare + strspn(bare, "-"), "--", all, count, flag_name));
}

/* Adds KEY=VALUE to settings. Replaces the '=' of the argv word by a zero byte. */
static void add_setting(const cli_command *command, const cli_flag *flag, char *value,
                        cli_settings *settings) {
    char *equals = strchr(value, '=');
    if (!equals || equals == value)
        cli_usage(command, "--%s is '%s', expected %s", flag->name, value,
                  flag->row->arg);
    *equals = '\0';
    for (size_t i = 0; i < settings->count; i++)
        if (strcmp(settings->items[i].key, value) == 0)
            cli_usage(command, "--%s %s is given twice", flag->name, value);
    settings->items =
        cli_grow(settings->items, settings->count + 1, sizeof *settings->items);
    settings->items[settings->count++] = (scant_setting){value, equals + 1};
}

static void add_file(const char *value, cli_files *files) {
    files->items = cli_grow(files->items, files->count + 1, sizeof *files->items);
    files->items[files->count++] = value;
}

void cli_store(const cli_command *command, const cli_flag *flag, const char *text,
               void *values) {
    char expected[SCANT__EXPECTED];
    scant__value value;
    if (!scant__option_read(flag->row, text, &value))
        cli_usage(command, "--%s is '%s', expected %s", flag->name, text,
                  scant__option_expected(flag->row, text, expected));
    if (flag->row->kind == SCANT_OPTION_BYTES && !value.whole)
        value.whole = 1; /* 0 would mean the library's default */
    scant__option_store(flag->row, text, &value, (char *)values + flag->base);
}

/* Reads the flag at argv[*i]; increments *i if its value is the next word. */
static void parse_flag(const cli_command *command, int argc, char **argv, int *i,
                       void *args, bool *given) {
    char *word = argv[*i], *name = word + 2, *value = NULL;
    size_t length = strcspn(name, "=");
    size_t number =
        cli_flag_find(command, cli_strndup(name, word[1] == '-' ? length : 0));
    cli_flag flag;
    if (!cli_flag_at(command, number, &flag)) unknown_flag(command, word);
    bool attached = name[length] == '=', on = flag.row->kind == SCANT_OPTION_SWITCH;
    if (on && attached) cli_usage(command, "--%s takes no value", flag.name);
    if (attached)
        value = name + length + 1;
    else if (!on && *i + 1 < argc && strncmp(argv[*i + 1], "--", 2) != 0)
        value = argv[++*i];
    if (!on && !(value && *value))
        cli_usage(command, "--%s needs a value: --%s %s", flag.name, flag.name,
                  flag.row->arg ? flag.row->arg : flag.row->choices);
    void *at = (char *)args + flag.base + flag.row->at;
    bool collects =
        flag.row->kind == SCANT_OPTION_SETTINGS || flag.row->kind == SCANT_OPTION_FILES;
    if (given[number] && !collects) cli_usage(command, "--%s is given twice", flag.name);
    given[number] = true;
    if (flag.row->kind == SCANT_OPTION_SETTINGS)
        add_setting(command, &flag, value, at);
    else if (flag.row->kind == SCANT_OPTION_FILES)
        add_file(value, at);
    else
        cli_store(command, &flag, on ? "yes" : value, args);
}

cli_call cli_parse(const cli_command *command, int argc, char **argv) {
    bool *given = cli_calloc(cli_flag_find(command, ""), sizeof *given);
    bool flags_over = false, many = command->operand == CLI_FOLDERS ||
                                    command->operand == CLI_PROJECT_SETTINGS;
    cli_call call = {.command = command,
                     .args = cli_calloc(1, command->args_size),
                     .given = given,
                     .operands = (const char *const *)argv};
    if (command->defaults) command->defaults(call.args);
    for (int i = 0; i < argc; i++) {
        char *word = argv[i];
        if (!flags_over && strcmp(word, "--") == 0) {
            flags_over = true;
        } else if (!flags_over && (!strcmp(word, "--help") || !strcmp(word, "-h"))) {
            call.help = true;
        } else if (!flags_over && word[0] == '-' && word[1]) {
            parse_flag(command, argc, argv, &i, call.args, given);
        } else if (command->operand == CLI_NOTHING || (call.operand && !many)) {
            cli_usage(command, "unexpected argument '%s'", word);
        } else {
            argv[call.n_operands++] = word; /* overwrites a word that was already read */
            call.operand = argv[0];
        }
    }
    return call;
}

void cli_flag_json(scant__json *json, const char *key, const cli_flag *flag,
                   const void *values) {
    const scant_option *row = flag->row;
    const char *word = "";
    char number[SCANT__NUMBER];
    scant__value value = {0};
    if (row->kind != SCANT_OPTION_SETTINGS && row->kind != SCANT_OPTION_FILES)
        word = scant__option_text(row, (const char *)values + flag->base, number);
    bool unset = row->kind == SCANT_OPTION_BYTES && strcmp(word, "0") == 0;
    if (!*word || unset || !scant__option_read(row, word, &value))
        scant__json_null(json, key);
    else if (value.word)
        scant__json_string(json, key, word);
    else if (row->kind == SCANT_OPTION_SWITCH)
        scant__json_bool(json, key, value.number != 0);
    else if (row->kind == SCANT_OPTION_NUMBER)
        scant__json_number(json, key, value.number);
    else if (row->kind == SCANT_OPTION_COUNT || row->kind == SCANT_OPTION_BYTES)
        scant__json_size(json, key, value.whole);
    else /* a seed is a string: many programs read JSON numbers as doubles */
        scant__json_string(json, key, word);
}

/* ---- values ------------------------------------------------------------------------ */

bool cli_read_number(const char *text, size_t min, size_t max, size_t *out) {
    uint64_t value;
    if (!scant__uint_read(text, &value) || value < min || value > max) return false;
    *out = (size_t)value;
    return true;
}

bool cli_read_real(const char *text, double *out) {
    return scant__number_parse(text, out) && isfinite(*out);
}

bool cli_read_positive(const char *text, double *out) {
    return cli_read_real(text, out) && *out > 0;
}

void cli_json_setting(scant__json *json, const char *key, scant_option_kind kind,
                      const char *value) {
    double number;
    if (value && kind != SCANT_OPTION_CHOICE && cli_read_real(value, &number))
        scant__json_number(json, key, number);
    else
        scant__json_string(json, key, value);
}
