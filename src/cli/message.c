/* SPDX-License-Identifier: Apache-2.0
 *
 * Data goes to stdout, everything else to stderr. A message is one line, "scant: ...";
 * control characters, as in file names, are shown as '?'.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/ui.h"

/* no-color.org: no colour if NO_COLOR is set and not empty. */
static bool wants_colour(void) {
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    if (no && *no) return false;
    return isatty(STDERR_FILENO) && !(term && strcmp(term, "dumb") == 0);
}

static void write_message(const char *label, const char *colour, const char *format,
                          va_list args) {
    char line[2048];
    int length = vsnprintf(line, sizeof line, format, args);
    if (length < 0) return;
    for (char *c = line; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7F) *c = '?';
    const char *cut = (size_t)length >= sizeof line ? "..." : "";
    if (wants_colour())
        fprintf(stderr, "\033[%smscant:%s\033[0m %s%s\n", colour, label, line, cut);
    else
        fprintf(stderr, "scant:%s %s%s\n", label, line, cut);
}

void cli_error(const char *format, ...) {
    va_list args;
    va_start(args, format);
    write_message("", "1;31", format, args);
    va_end(args);
}

void cli_warning(const char *format, ...) {
    va_list args;
    va_start(args, format);
    write_message(" warning:", "1;33", format, args);
    va_end(args);
}

void cli_note(const char *format, ...) {
    va_list args;
    va_start(args, format);
    write_message(" note:", "1", format, args);
    va_end(args);
}

void cli_die(int status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    write_message("", "1;31", format, args);
    va_end(args);
    cli_exit(status);
}

void cli_usage(const cli_command *command, const char *format, ...) {
    va_list args;
    va_start(args, format);
    write_message("", "1;31", format, args);
    va_end(args);
    fprintf(stderr, "Try 'scant %s%s--help'.\n", command ? command->name : "",
            command ? " " : "");
    cli_exit(CLI_USAGE);
}

void cli_write_stdout(const void *bytes, size_t size) {
    const char *at = bytes;
    while (size > 0) {
        ssize_t done = write(STDOUT_FILENO, at, size);
        if (done < 0 && errno == EINTR) {
            if (cli_interrupted()) cli_exit(CLI_INTERRUPTED);
            continue;
        }
        if (done < 0)
            cli_die(CLI_SYSTEM, "cannot write to standard output: %s", strerror(errno));
        at += done;
        size -= (size_t)done;
    }
}

void cli_print(const scant__text *text) { cli_write_stdout(text->data, text->size); }
