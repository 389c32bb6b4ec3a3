/* SPDX-License-Identifier: Apache-2.0
 *
 * Warnings, a progress bar and signals during long work. (ui.c, signals.c)
 */
#ifndef SCANT_CLI_UI_H
#define SCANT_CLI_UI_H

#include <stdbool.h>
#include <stddef.h>

#include "scant/scant.h"

typedef struct cli_ui {
    bool quiet;                       /* show errors only */
    bool bar;                         /* show progress */
    bool terminal;                    /* rewrite one line instead of printing several */
    double begun, shown, phase_begun; /* seconds; shown: time of the last update */
    char phase[64];
    size_t width; /* width of the line shown */
    /* removes the command's own live output before a message; or NULL */
    void (*clear)(void *user);
} cli_ui;

double cli_now(void); /* seconds of a monotonic clock */

void cli_ui_begin(cli_ui *ui, bool quiet, bool progress);
/* Removes the bar from the screen until the next progress report. */
void cli_ui_clear(cli_ui *ui);

/* Shows text instead of the bar. On a terminal the line is rewritten at most ten times a
 * second, more often only if `due`. If stderr is not a terminal, only `due` text is
 * printed. */
void cli_ui_line(cli_ui *ui, const char *text, bool due);
/* Returns the number of columns a line may use. */
size_t cli_ui_room(void);
/* Formats seconds as "1:02" or "1:00:02". */
const char *cli_clock(double seconds, char *out, size_t size);

/* Callbacks of a scant_ctx whose user is a cli_ui, or starts with one. */
void cli_ui_log(void *user, scant_log_level level, const char *text);
void cli_ui_progress(void *user, const char *phase, double fraction);
int cli_ui_cancel(void *user);

/* Installs handlers: the first Ctrl-C or SIGTERM sets a flag and ends the program 2 s
 * later at the latest, the second ends it at once. If a mapped file shrinks, the program
 * ends with a message. */
void cli_signals_begin(void);
bool cli_interrupted(void);
/* A command that saves what it has has 30 s once it has called cli_interrupted(). */
void cli_signals_allow_saving(void);
/* Sets the message for the first Ctrl-C: static text with a newline, or NULL. */
void cli_signals_set_message(const char *text);

#endif
