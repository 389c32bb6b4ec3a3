/* SPDX-License-Identifier: Apache-2.0
 *
 * The main program and the table of commands. Each command has its own file.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

static const cli_command *const commands[] = {
    &cli_cmd_select,  &cli_cmd_strategies, &cli_cmd_models, &cli_cmd_train,
    &cli_cmd_embed,   &cli_cmd_ntk,        &cli_cmd_run,    &cli_cmd_report,
    &cli_cmd_compare, &cli_cmd_new,        &cli_cmd_add,    &cli_cmd_serve,
    &cli_cmd_status,  &cli_cmd_query,      &cli_cmd_label,  &cli_cmd_predict,
    &cli_cmd_export,  &cli_cmd_log,        &cli_cmd_set,    &cli_cmd_help,
    &cli_cmd_man,     &cli_cmd_completion,
};

const cli_command *const *cli_commands(size_t *count) {
    *count = CLI_COUNT_OF(commands);
    return commands;
}

const cli_command *cli_command_find(const char *name) {
    for (size_t i = 0; i < CLI_COUNT_OF(commands); i++)
        if (strcmp(commands[i]->name, name) == 0) return commands[i];
    return NULL;
}

static const cli_exit_row exits[] = {
    {CLI_DONE, "done"},
    {CLI_FAILED, "any other error"},
    {CLI_USAGE, "the command line is wrong"},
    {CLI_BAD_INPUT, "an input is wrong; the message names file, row and value"},
    {CLI_SYSTEM, "out of memory, or the output cannot be written"},
    {CLI_STOP,
     "done, and more labels are unlikely to help (the stop rule), or none are left"},
    {CLI_INTERRUPTED, "interrupted with Ctrl-C"},
};

const cli_exit_row *cli_exit_table(size_t *count) {
    *count = CLI_COUNT_OF(exits);
    return exits;
}

int cli_exit_of(scant_status status) {
    static const int statuses[] = {
        [SCANT_OK] = CLI_DONE,          [SCANT_EUSAGE] = CLI_USAGE,
        [SCANT_EINPUT] = CLI_BAD_INPUT, [SCANT_ENOMEM] = CLI_SYSTEM,
        [SCANT_EIO] = CLI_SYSTEM,       [SCANT_ECANCELLED] = CLI_INTERRUPTED,
        [SCANT_EINTERNAL] = CLI_FAILED, [SCANT_ECONFLICT] = CLI_USAGE,
        [SCANT_ENOTFOUND] = CLI_USAGE,  [SCANT_ENOTREADY] = CLI_USAGE,
    };
    size_t i = (size_t)status;
    return i < CLI_COUNT_OF(statuses) ? statuses[i] : CLI_FAILED;
}

/* Opens /dev/null for closed standard streams. Without this, the next file opened would
 * become that stream and receive its output. A closed stdout is opened for reading only,
 * so that writes to it fail. */
static void fill_standard_streams(void) {
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
        if (open("/dev/null", fd == STDERR_FILENO ? O_WRONLY : O_RDONLY) < 0)
            exit(CLI_SYSTEM);
    }
}

static const char *command_name(const void *names, size_t i) {
    const cli_command *const *list = names;
    return list[i]->name;
}

static _Noreturn void unknown_command(const char *word) {
    if (word[0] == '-') cli_usage(NULL, "unknown flag '%s'", word);
    if (scant_strategy_find(word))
        cli_usage(NULL, "'%s' is a strategy; did you mean 'scant select %s'?", word,
                  word);
    cli_usage(NULL, "unknown command '%s'%s", word,
              cli_suggest(word, "", commands, CLI_COUNT_OF(commands), command_name));
}

int main(int argc, char **argv) {
    fill_standard_streams();
    cli_start();
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is a write error like any other */
    scant__text text = CLI_TEXT;
    if (argc < 2) {
        cli_page_program(&text);
        fwrite(text.data, 1, text.size, stderr);
        cli_exit(CLI_USAGE);
    }
    const char *word = argv[1];
    if (strcmp(word, "--version") == 0) {
        scant__text_addf(&text, "scant %s\n", scant_version());
        cli_print(&text);
        cli_exit(CLI_DONE);
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        cli_page_program(&text);
        cli_print(&text);
        cli_exit(CLI_DONE);
    }
    const cli_command *command = cli_command_find(word);
    if (!command) unknown_command(word);
    cli_call call = cli_parse(command, argc - 2, argv + 2);
    if (call.help)
        cli_print_page(&call);
    else if (command->missing && !call.operand)
        cli_usage(command, "%s", command->missing);
    else
        command->run(&call);
    cli_exit(CLI_DONE);
}
