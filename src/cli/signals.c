/* SPDX-License-Identifier: Apache-2.0
 *
 * Handles SIGINT, SIGTERM and SIGHUP, and SIGBUS from mapped files that shrink. The first
 * signal asks the command to end. If it has not ended 2 s later, the program ends anyway,
 * because a library may not come back; a command that saves has longer once it has seen
 * the signal. A second signal of the same kind ends the program at once. The flags and
 * the text are globals because no pointer can be passed to a signal handler.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/ui.h"

enum {
    GRACE = 2,      /* seconds from the first signal to the end */
    SAVING = 30,    /* seconds if the command saves and has seen the signal */
    REPEAT_MS = 300 /* closing terminals and timeout(1) send a signal twice */
};

static volatile sig_atomic_t interrupted, noticed, saves, has_written;
static const char *volatile first_message;
static struct timespec first_at[NSIG]; /* when each signal came first */

static void say(const char *text) {
    ssize_t ignored = write(STDERR_FILENO, text, strlen(text));
    (void)ignored;
}

/* Whether this signal is a person's second one, and not a copy of the first. */
static bool is_second(int number) {
    struct timespec now, *first = &first_at[number];
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (!first->tv_sec && !first->tv_nsec) {
        *first = now;
        return false;
    }
    return number == SIGINT || (now.tv_sec - first->tv_sec) * 1000 +
                                       (now.tv_nsec - first->tv_nsec) / 1000000 >=
                                   REPEAT_MS;
}

/* Sets the flag before printing, because the next signal may come at once, on another
 * thread. */
static void on_interrupt(int number) {
    int kept = errno;
    bool before = interrupted != 0, quit = is_second(number);
    interrupted = 1;
    if (!before) alarm(GRACE);
    if (quit && has_written) say("\nscant: quitting at once; nothing more is saved\n");
    if (quit) _exit(CLI_INTERRUPTED);
    if (!before && first_message) {
        has_written = 1;
        say(first_message);
    }
    errno = kept;
}

/* A step of the work takes too long, or a library of others does not come back. */
static void on_deadline(int number) {
    static volatile sig_atomic_t extended;
    int kept = errno;
    (void)number;
    if (!saves || !noticed || extended) {
        say("scant: it did not end by itself: quitting; nothing more is saved\n");
        _exit(CLI_INTERRUPTED);
    }
    extended = 1;
    alarm(SAVING - GRACE);
    errno = kept;
}

static void on_bus_error(int number) {
    (void)number;
    say("scant: an input file can no longer be read: it was probably truncated\n");
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
    action.sa_handler = on_deadline;
    sigaction(SIGALRM, &action, NULL);
    signal(SIGXFSZ, SIG_IGN); /* a write above `ulimit -f` is an error like others */
    action.sa_handler = on_bus_error;
    sigaction(SIGBUS, &action, NULL);
}

void cli_signals_set_message(const char *text) { first_message = text; }

void cli_signals_allow_saving(void) { saves = 1; }

bool cli_interrupted(void) {
    if (interrupted) noticed = 1;
    return interrupted != 0;
}
