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

static const cli_flag common[] = {
    {.name = "help", .kind = CLI_SWITCH, .group = "Other", .help = "this text"},
};

const cli_flag *cli_common_flags(size_t *count) {
    *count = CLI_COUNT_OF(common);
    return common;
}

static const char *flag_name(const void *names, size_t i) {
    return ((const cli_flag *)names)[i].name;
}

static const cli_flag *find(const cli_command *command, const char *name, size_t length) {
    for (size_t i = 0; i < command->n_flags; i++) {
        const cli_flag *flag = &command->flags[i];
        if (strlen(flag->name) == length && memcmp(flag->name, name, length) == 0)
            return flag;
    }
    return NULL;
}

static int unknown_flag(const cli_command *command, const char *word, size_t length) {
    char *bare = cli_strndup(word, length);
    const char *name = bare + strspn(bare, "-");
    char *hint = cli_suggest(name, "--", command->flags, command->n_flags, flag_name);
    cli_usage(command, "unknown flag '%s'%s", bare, hint);
    free(hint);
    free(bare);
    return CLI_USAGE;
}

/* Cuts the word of argv in two, at its '='. */
static int add_setting(const cli_command *command, const cli_flag *flag, char *value,
                       cli_settings *settings) {
    char *equals = strchr(value, '=');
    if (!equals || equals == value)
        return cli_usage(command, "--%s wants %s, not '%s'", flag->name, flag->arg,
                         value);
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

static int bad_number(const cli_command *command, const cli_flag *flag,
                      const char *value) {
    if (flag->max == SIZE_MAX)
        return cli_usage(command, "--%s wants a whole number of at least %zu, not '%s'",
                         flag->name, flag->min, value);
    return cli_usage(command, "--%s wants a whole number from %zu to %zu, not '%s'",
                     flag->name, flag->min, flag->max, value);
}

static int bad_real(const cli_command *command, const cli_flag *flag, const char *value) {
    char range[64] = "of at least 0 and below 1"; /* CLI_FRACTION */
    if (flag->kind == CLI_POSITIVE && flag->max)
        snprintf(range, sizeof range, "above 0 and at most %zu", flag->max);
    else if (flag->kind == CLI_POSITIVE)
        snprintf(range, sizeof range, "above 0");
    else if (flag->kind == CLI_AMOUNT && flag->max == SIZE_MAX)
        snprintf(range, sizeof range, "of at least %zu", flag->min);
    else if (flag->kind == CLI_AMOUNT)
        snprintf(range, sizeof range, "from %zu to %zu", flag->min, flag->max);
    return cli_usage(command, "--%s wants a number %s, not '%s'", flag->name, range,
                     value);
}

static bool read_real(const cli_flag *flag, const char *text, double *out) {
    double value;
    if (!cli_read_real(text, &value)) return false;
    if (flag->kind == CLI_POSITIVE && !(value > 0)) return false;
    if (flag->kind == CLI_POSITIVE && flag->max && value > (double)flag->max)
        return false;
    if (flag->kind == CLI_FRACTION && !(value >= 0 && value < 1)) return false;
    if (flag->kind == CLI_AMOUNT && value < (double)flag->min) return false;
    if (flag->kind == CLI_AMOUNT && value > (double)flag->max) return false;
    *out = value;
    return true;
}

int cli_store(const cli_command *command, const cli_flag *flag, const char *value,
              void *values) {
    void *at = (char *)values + flag->at;
    switch (flag->kind) {
    case CLI_SWITCH:
        *(bool *)at = true;
        return CLI_DONE;
    case CLI_CHOICE:
        if (!cli_is_choice(flag->arg, value))
            return cli_usage(command, "--%s is one of %s, not '%s'", flag->name,
                             flag->arg, value);
        *(const char **)at = value;
        return CLI_DONE;
    case CLI_FILE:
    case CLI_ARRAY:
    case CLI_WORD:
        *(const char **)at = value;
        return CLI_DONE;
    case CLI_MODEL:
        if (!cli_model_find(value)) return cli_unknown_model(command, value);
        *(const char **)at = value;
        return CLI_DONE;
    case CLI_PICKER:
        if (!scant_strategy_find(value)) return cli_unknown_strategy(command, value);
        *(const char **)at = value;
        return CLI_DONE;
    case CLI_POSITIVE:
    case CLI_FRACTION:
    case CLI_AMOUNT:
        return read_real(flag, value, at) ? CLI_DONE : bad_real(command, flag, value);
    case CLI_NUMBER:
        if (cli_read_number(value, flag->min, flag->max, at)) return CLI_DONE;
        return bad_number(command, flag, value);
    case CLI_SEED:
        if (cli_read_seed(value, at)) return CLI_DONE;
        return cli_usage(command, "--%s wants a whole number from 0 to %llu, not '%s'",
                         flag->name, (unsigned long long)UINT64_MAX, value);
    case CLI_SIZE:
        if (cli_read_size(value, at)) return CLI_DONE;
        return cli_usage(command, "--%s wants a size as 512M or 4G, not '%s'", flag->name,
                         value);
    case CLI_SETTING:
    case CLI_FILES:
        break; /* lists */
    }
    return CLI_FAILED;
}

/* The flag at argv[*i]; moves *i on where its value is the next word. */
static int parse_flag(const cli_command *command, int argc, char **argv, int *i,
                      void *values, bool *seen) {
    char *word = argv[*i], *name = word + 2, *value = NULL;
    size_t length = strcspn(name, "=");
    const cli_flag *flag = word[1] == '-' ? find(command, name, length) : NULL;
    if (!flag) return unknown_flag(command, word, strcspn(word, "="));
    bool attached = name[length] == '=';
    if (flag->kind == CLI_SWITCH) {
        if (attached) return cli_usage(command, "--%s takes no value", flag->name);
    } else if (attached) {
        value = name + length + 1;
    } else if (*i + 1 < argc && strncmp(argv[*i + 1], "--", 2) != 0) {
        value = argv[++*i];
    }
    if (flag->kind != CLI_SWITCH && !(value && *value))
        return cli_usage(command, "--%s needs a value: --%s %s", flag->name, flag->name,
                         flag->arg);
    void *at = (char *)values + flag->at;
    if (flag->kind == CLI_SETTING) return add_setting(command, flag, value, at);
    if (flag->kind == CLI_FILES) return add_file(value, at);
    if (seen[flag - command->flags])
        return cli_usage(command, "--%s is given twice", flag->name);
    seen[flag - command->flags] = true;
    return cli_store(command, flag, value, values);
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
    bool *seen = cli_calloc(command->n_flags, sizeof *seen);
    int status = cli_parse_seen(command, argc, argv, values, parsed, seen);
    free(seen);
    return status;
}

void cli_flag_json(scant__text *text, const cli_flag *flag, const void *values) {
    const void *at = (const char *)values + flag->at;
    const char *word;
    switch (flag->kind) {
    case CLI_SWITCH:
        scant__text_add(text, *(const bool *)at ? "true" : "false");
        return;
    case CLI_NUMBER:
    case CLI_SIZE:
        if (*(const size_t *)at < (flag->kind == CLI_SIZE ? 1 : flag->min)) break;
        scant__text_addf(text, "%zu", *(const size_t *)at);
        return;
    case CLI_SEED: /* as a string: JSON's numbers are doubles to many */
        scant__text_addf(text, "\"%llu\"", (unsigned long long)*(const uint64_t *)at);
        return;
    case CLI_AMOUNT:
    case CLI_POSITIVE:
    case CLI_FRACTION:
        if (flag->kind == CLI_POSITIVE && !(*(const double *)at > 0)) break;
        scant__text_json_number(text, *(const double *)at);
        return;
    case CLI_FILE:
    case CLI_ARRAY:
    case CLI_CHOICE:
    case CLI_WORD:
    case CLI_MODEL:
    case CLI_PICKER:
        word = *(const char *const *)at;
        if (!word) break;
        scant__text_json(text, word);
        return;
    case CLI_SETTING:
    case CLI_FILES:
        break;
    }
    scant__text_add(text, "null");
}
