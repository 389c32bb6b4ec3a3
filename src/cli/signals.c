/* SPDX-License-Identifier: Apache-2.0
 *
 * Ctrl-C, what else asks a program to end (SIGTERM, SIGHUP), and files that shrink under
 * us. The flag and the text are the program's only mutable globals: a signal handler has
 * nowhere else to look.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/ui.h"

static volatile sig_atomic_t interrupted, spoken;
static const char *volatile said; /* at the first Ctrl-C */

/* The flag is set before anything is said: whoever reads that may send the next signal,
 * and another thread may be the one to take it. Only a second Ctrl-C is impatience: a
 * terminal that closes and timeout(1) send theirs twice. */
static void on_interrupt(int number) {
    static const char last[] = "\nscant: quitting at once; nothing more is saved\n";
    int kept = errno;
    bool before = interrupted != 0, quit = before && number == SIGINT;
    interrupted = 1;
    const char *text = quit ? spoken ? last : NULL : before ? NULL : said;
    if (text) {
        spoken = 1;
        ssize_t ignored = write(STDERR_FILENO, text, strlen(text));
        (void)ignored;
    }
    if (quit) _exit(CLI_INTERRUPTED);
    errno = kept;
}

static void on_bus_error(int number) {
    static const char text[] =
        "scant: an input file cannot be read any more: was it cut short meanwhile?\n";
    (void)number;
    ssize_t ignored = write(STDERR_FILENO, text, sizeof text - 1);
    (void)ignored;
    _exit(CLI_BAD_INPUT);
}

void cli_signals_begin(void) {
    struct sigaction action = {0}, old;
    sigemptyset(&action.sa_mask);
    /* No SA_RESTART: a write that waits for a reader must end. A shell that runs us in
     * the background has Ctrl-C ignored; it stays so. */
    action.sa_handler = on_interrupt;
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < CLI_COUNT_OF(ends); i++)
        if (sigaction(ends[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(ends[i], &action, NULL);
    action.sa_handler = on_bus_error;
    sigaction(SIGBUS, &action, NULL);
}

void cli_signals_say(const char *text) { said = text; }

bool cli_interrupted(void) { return interrupted != 0; }
