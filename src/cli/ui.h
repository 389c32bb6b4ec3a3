/* SPDX-License-Identifier: Apache-2.0
 *
 * Long work in front of a person: warnings, a progress bar, Ctrl-C. (ui.c, signals.c)
 */
#ifndef SCANT_CLI_UI_H
#define SCANT_CLI_UI_H

#include <stdbool.h>
#include <stddef.h>

#include "scant/scant.h"

typedef struct cli_ui {
    bool quiet;                       /* errors only */
    bool bar;                         /* show progress at all */
    bool terminal;                    /* one line that is rewritten, rather than lines */
    double begun, shown, phase_begun; /* seconds; shown: when last */
    char phase[64];
    size_t width; /* of what stands on the line now */
    /* takes what a command has put on the screen away, before a message; or NULL */
    void (*clear)(void *user);
} cli_ui;

double cli_now(void); /* seconds on a clock that only goes forward */

void cli_ui_begin(cli_ui *ui, bool quiet, bool progress);
/* Takes the bar off the screen; it comes back with the next progress. */
void cli_ui_clear(cli_ui *ui);

/* A line of one's own instead of the bar's: rewritten on a terminal, ten times a second
 * at most unless it is due; elsewhere printed where it is due. */
void cli_ui_line(cli_ui *ui, const char *text, bool due);
/* Columns that a line may take. */
size_t cli_ui_room(void);
/* "1:02", "1:00:02" */
const char *cli_clock(double seconds, char *out, size_t size);

/* Callbacks of a scant_ctx whose user is a cli_ui, or starts with one. */
void cli_ui_log(void *user, scant_log_level level, const char *text);
void cli_ui_progress(void *user, const char *phase, double fraction);
int cli_ui_cancel(void *user);

/* From here on the first Ctrl-C is noted, the second ends the program; a mapped file that
 * shrinks ends it with a sentence. */
void cli_signals_begin(void);
bool cli_interrupted(void);
/* What is said at once at the first Ctrl-C, where what is under way takes a while to end.
 * Static text, with its line end; NULL: nothing. */
void cli_signals_say(const char *text);

#endif
