/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant help [COMMAND|STRATEGY]`.
 */
#include "cli/cli.h"

static void run(const cli_call *call) {
    const char *word = call->operand;
    scant__text text = CLI_TEXT;
    if (!word)
        cli_page_program(&text);
    else if (cli_command_find(word))
        cli_page_command(&text, cli_command_find(word));
    else if (scant_strategy_find(word))
        cli_page_strategy(&text, scant_strategy_find(word));
    else
        cli_usage(call->command, "'%s' is neither a command nor a strategy", word);
    cli_print(&text);
}

const cli_command cli_cmd_help = {
    .name = "help",
    .synopsis = "[COMMAND|STRATEGY]",
    .summary = "explain a command or a strategy",
    .about = "The same as --help after a command, or as 'scant strategies NAME'.",
    .operand = CLI_TOPIC,
    .run = run,
};
