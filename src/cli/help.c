/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant help [COMMAND|STRATEGY]`.
 */
#include "cli/cli.h"

static int run(const cli_command *command, int argc, char **argv) {
    cli_parsed parsed;
    scant__text text = CLI_TEXT;
    int status = cli_parse(command, argc, argv, NULL, &parsed);
    if (status != CLI_DONE) return status;
    if (parsed.help) {
        cli_page_command(&text, command);
    } else if (!parsed.operand) {
        cli_page_program(&text);
    } else if (cli_command_find(parsed.operand)) {
        cli_page_command(&text, cli_command_find(parsed.operand));
    } else if (scant_strategy_find(parsed.operand)) {
        cli_page_strategy(&text, scant_strategy_find(parsed.operand));
    } else {
        return cli_usage(command, "'%s' is neither a command nor a strategy",
                         parsed.operand);
    }
    return cli_print(&text);
}

const cli_command cli_cmd_help = {
    .name = "help",
    .synopsis = "[COMMAND|STRATEGY]",
    .summary = "explain a command or a strategy",
    .about = "The same as --help after a command, or as 'scant strategies NAME'.",
    .operand = CLI_TOPIC,
    .run = run,
};
