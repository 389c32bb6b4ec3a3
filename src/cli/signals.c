/* SPDX-License-Identifier: Apache-2.0
 *
 * Handles SIGINT, SIGTERM and SIGHUP, and SIGBUS from mapped files that shrink. The flags
 * and the text are globals because no pointer can be passed to a signal handler.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/ui.h"

static volatile sig_atomic_t interrupted, has_written;
static const char *volatile first_message;

/* Sets the flag before printing, because the next signal may come at once, on another
 * thread. Only SIGINT quits as the second signal: a closing terminal and timeout(1) send
 * their signals twice. */
static void on_interrupt(int number) {
    static const char last[] = "\nscant: quitting at once; nothing more is saved\n";
    int kept = errno;
    bool before = interrupted != 0, quit = before && number == SIGINT;
    interrupted = 1;
    const char *text = quit ? has_written ? last : NULL : before ? NULL : first_message;
    if (text) {
        has_written = 1;
        ssize_t ignored = write(STDERR_FILENO, text, strlen(text));
        (void)ignored;
    }
    if (quit) _exit(CLI_INTERRUPTED);
    errno = kept;
}

static void on_bus_error(int number) {
    static const char text[] =
        "scant: an input file can no longer be read: it was probably truncated\n";
    (void)number;
    ssize_t ignored = write(STDERR_FILENO, text, sizeof text - 1);
    (void)ignored;
    _exit(CLI_BAD_INPUT);
}

void cli_signals_begin(void) {
    struct sigaction action = {0}, old;
    sigemptyset(&action.sa_mask);
    /* No SA_RESTART: a blocked write must return. Signals that the parent process ignores
     * stay ignored, such as SIGINT of a background job. */
    action.sa_handler = on_interrupt;
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < CLI_COUNT_OF(ends); i++)
        if (sigaction(ends[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(ends[i], &action, NULL);
    action.sa_handler = on_bus_error;
    sigaction(SIGBUS, &action, NULL);
}

void cli_signals_set_message(const char *text) { first_message = text; }

bool cli_interrupted(void) { return interrupted != 0; }
