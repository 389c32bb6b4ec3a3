/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a command line by a command's table of flags: "--flag value" or "--flag=value",
 * flags and operands in any order, "--" ends the flags. A flag counts once, except those
 * that collect. A value that looks like a flag must be given with '=': that
 * "--out --quiet" forgot a name is the likelier story.
 */
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

/* Whether an earlier flag has the group. */
static bool has_group(const cli_command *command, const char *group, size_t before) {
    cli_flag flag;
    for (size_t i = 0; i < before && cli_flag_at(command, i, &flag); i++)
        if (strcmp(flag.row->group, group) == 0) return true;
    return false;
}

void cli_each_flag(const cli_command *command, scant__text *text,
                   void (*add)(scant__text *text, const cli_flag *flag, bool first,
                               bool last)) {
    cli_flag lead, flag, next;
    for (size_t i = 0; cli_flag_at(command, i, &lead); i++) {
        if (has_group(command, lead.row->group, i)) continue;
        for (size_t k = i; cli_flag_at(command, k, &flag); k++) {
            if (strcmp(flag.row->group, lead.row->group) != 0) continue;
            bool last = true;
            for (size_t j = k + 1; last && cli_flag_at(command, j, &next); j++)
                last = strcmp(next.row->group, lead.row->group) != 0;
            add(text, &flag, k == i, last);
        }
    }
}

void cli_flag_help(scant__text *text, const scant_option *row) {
    bool shown = row->value && *row->value && row->kind != SCANT_OPTION_SWITCH;
    scant__text_add(text, row->help);
    if (shown) scant__text_addf(text, " (default %s)", row->value);
    if (!row->value && row->otherwise)
        scant__text_addf(text, " (default: %s)", row->otherwise);
}

static const char *flag_name(const void *names, size_t i) {
    return ((const cli_flag *)names)[i].name;
}

static int unknown_flag(const cli_command *command, const char *word, size_t length) {
    char *bare = cli_strndup(word, length);
    size_t count = cli_flag_find(command, "");
    cli_flag *all = cli_calloc(count, sizeof *all);
    for (size_t i = 0; i < count; i++) cli_flag_at(command, i, &all[i]);
    char *hint = cli_suggest(bare + strspn(bare, "-"), "--", all, count, flag_name);
    cli_usage(command, "unknown flag '%s'%s", bare, hint);
    free(hint);
    free(all);
    free(bare);
    return CLI_USAGE;
}

/* Cuts the word of argv in two, at its '='. */
static int add_setting(const cli_command *command, const cli_flag *flag, char *value,
                       cli_settings *settings) {
    char *equals = strchr(value, '=');
    if (!equals || equals == value)
        return cli_usage(command, "--%s is '%s', expected %s", flag->name, value,
                         flag->row->arg);
    *equals = '\0';
    for (size_t i = 0; i < settings->count; i++)
        if (strcmp(settings->items[i].key, value) == 0)
            return cli_usage(command, "--%s %s is given twice", flag->name, value);
    settings->items =
        cli_grow(settings->items, settings->count + 1, sizeof *settings->items);
    settings->items[settings->count++] = (scant_setting){value, equals + 1};
    return CLI_DONE;
}

static int add_file(const char *value, cli_files *files) {
    files->items = cli_grow(files->items, files->count + 1, sizeof *files->items);
    files->items[files->count++] = value;
    return CLI_DONE;
}

int cli_store(const cli_command *command, const cli_flag *flag, const char *text,
              void *values) {
    char expected[SCANT__EXPECTED];
    scant__value value;
    if (!scant__option_read(flag->row, text, &value))
        return cli_usage(command, "--%s is '%s', expected %s", flag->name, text,
                         scant__option_expected(flag->row, text, expected));
    if (flag->row->kind == SCANT_OPTION_BYTES && !value.whole)
        value.whole = 1; /* 0 is the library's default */
    scant__option_store(flag->row, text, &value, (char *)values + flag->base);
    return CLI_DONE;
}

/* The flag at argv[*i]; moves *i on where its value is the next word. */
static int parse_flag(const cli_command *command, int argc, char **argv, int *i,
                      void *values, bool *seen) {
    char *word = argv[*i], *name = word + 2, *value = NULL;
    size_t length = strcspn(name, "=");
    char *bare = cli_strndup(name, word[1] == '-' ? length : 0);
    size_t number = cli_flag_find(command, bare);
    cli_flag flag;
    free(bare);
    if (!cli_flag_at(command, number, &flag))
        return unknown_flag(command, word, strcspn(word, "="));
    bool attached = name[length] == '=', on = flag.row->kind == SCANT_OPTION_SWITCH;
    if (on) {
        if (attached) return cli_usage(command, "--%s takes no value", flag.name);
    } else if (attached) {
        value = name + length + 1;
    } else if (*i + 1 < argc && strncmp(argv[*i + 1], "--", 2) != 0) {
        value = argv[++*i];
    }
    if (!on && !(value && *value))
        return cli_usage(command, "--%s needs a value: --%s %s", flag.name, flag.name,
                         flag.row->arg ? flag.row->arg : flag.row->choices);
    void *at = (char *)values + flag.base + flag.row->at;
    if (flag.row->kind == SCANT_OPTION_SETTINGS)
        return add_setting(command, &flag, value, at);
    if (flag.row->kind == SCANT_OPTION_FILES) return add_file(value, at);
    if (seen[number]) return cli_usage(command, "--%s is given twice", flag.name);
    seen[number] = true;
    return cli_store(command, &flag, on ? "yes" : value, values);
}

int cli_parse_seen(const cli_command *command, int argc, char **argv, void *values,
                   cli_parsed *parsed, bool *seen) {
    bool flags_over = false, many = command->operand == CLI_FOLDERS ||
                                    command->operand == CLI_PROJECT_SETTINGS;
    int status = CLI_DONE;
    *parsed = (cli_parsed){.operands = (const char *const *)argv};
    for (int i = 0; i < argc && status == CLI_DONE; i++) {
        char *word = argv[i];
        if (!flags_over && strcmp(word, "--") == 0) {
            flags_over = true;
        } else if (!flags_over && (!strcmp(word, "--help") || !strcmp(word, "-h"))) {
            parsed->help = true;
        } else if (!flags_over && word[0] == '-' && word[1]) {
            status = parse_flag(command, argc, argv, &i, values, seen);
        } else if (command->operand == CLI_NOTHING || (parsed->operand && !many)) {
            status = cli_usage(command, "'%s' is one word too many", word);
        } else {
            argv[parsed->n_operands++] = word; /* a place that was read before */
            parsed->operand = argv[0];
        }
    }
    return status;
}

int cli_parse(const cli_command *command, int argc, char **argv, void *values,
              cli_parsed *parsed) {
    bool *seen = cli_calloc(cli_flag_find(command, ""), sizeof *seen);
    int status = cli_parse_seen(command, argc, argv, values, parsed, seen);
    free(seen);
    return status;
}

void cli_flag_json(scant__text *text, const cli_flag *flag, const void *values) {
    const scant_option *row = flag->row;
    const char *word = "";
    char number[SCANT__NUMBER];
    scant__value value = {0};
    if (row->kind != SCANT_OPTION_SETTINGS && row->kind != SCANT_OPTION_FILES)
        word = scant__option_text(row, (const char *)values + flag->base, number);
    bool unset = row->kind == SCANT_OPTION_BYTES && strcmp(word, "0") == 0;
    if (!*word || unset || !scant__option_read(row, word, &value))
        scant__text_add(text, "null");
    else if (row->kind == SCANT_OPTION_SWITCH)
        scant__text_add(text, value.number != 0 ? "true" : "false");
    else if (row->kind == SCANT_OPTION_NUMBER)
        scant__text_json_number(text, value.number);
    else if (row->kind == SCANT_OPTION_COUNT || row->kind == SCANT_OPTION_BYTES)
        scant__text_add(text, word);
    else /* a seed, too: JSON's numbers are doubles to many */
        scant__text_json(text, word);
}
