/* SPDX-License-Identifier: Apache-2.0
 *
 * The progress bar: on a terminal one line, rewritten ten times a second. If stderr is
 * not a terminal, a plain line every two seconds, on request. Short work shows nothing.
 */
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/ui.h"
#include "core/clock.h"

static const double patience = 0.3; /* seconds before anything is shown */
static const double redraw = 0.1;   /* seconds between two updates of the bar */
static const double reprint = 2.0;  /* seconds between two plain lines */

enum { BAR = 24, LINE = 200 };

double cli_now(void) { return scant__now(); }

void cli_ui_begin(cli_ui *ui, bool quiet, bool progress) {
    *ui = (cli_ui){.quiet = quiet, .terminal = isatty(STDERR_FILENO) != 0};
    ui->bar = !quiet && (progress || ui->terminal);
    ui->begun = cli_now();
}

void cli_ui_clear(cli_ui *ui) {
    if (!ui->terminal || ui->width == 0) return;
    fprintf(stderr, "\r%*s\r", (int)ui->width, "");
    fflush(stderr);
    ui->width = 0;
}

void cli_ui_log(void *user, scant_log_level level, const char *text) {
    cli_ui *ui = user;
    if (ui->quiet) return;
    cli_ui_clear(ui);
    if (ui->clear) ui->clear(user);
    if (level == SCANT_LOG_WARNING)
        cli_warning("%s", text);
    else
        cli_note("%s", text);
}

int cli_ui_cancel(void *user) {
    (void)user;
    return cli_interrupted();
}

const char *cli_clock(double seconds, char *out, size_t size) {
    unsigned long s = seconds < 1e9 ? (unsigned long)(seconds + 0.5) : 0;
    if (s >= 3600)
        snprintf(out, size, "%lu:%02lu:%02lu", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(out, size, "%lu:%02lu", s / 60, s % 60);
    return out;
}

/* The last column stays free, because some terminals would wrap the line. */
size_t cli_ui_room(void) {
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 2) return 79;
    return size.ws_col < LINE ? size.ws_col - 1u : LINE - 1u;
}

static void draw(cli_ui *ui, const char *text) {
    char line[LINE];
    size_t room = cli_ui_room();
    int length = snprintf(line, room + 1, "%s", text);
    size_t width = length < 0 ? 0 : (size_t)length < room ? (size_t)length : room;
    size_t rest = ui->width > width ? ui->width - width : 0;
    fprintf(stderr, "\r%s%*s", line, (int)rest, "");
    fflush(stderr);
    ui->width = width;
}

void cli_ui_line(cli_ui *ui, const char *text, bool due) {
    double now = cli_now();
    if (ui->quiet) return;
    if (!ui->terminal) {
        if (due) fprintf(stderr, "scant: %s\n", text);
        return;
    }
    if (now - ui->begun < patience || (!due && now - ui->shown < redraw)) return;
    ui->shown = now;
    draw(ui, text);
}

void cli_ui_progress(void *user, const char *phase, double fraction) {
    cli_ui *ui = user;
    double now = cli_now();
    if (!ui->bar) return;
    if (strncmp(ui->phase, phase, sizeof ui->phase - 1) != 0) {
        snprintf(ui->phase, sizeof ui->phase, "%s", phase);
        ui->phase_begun = now;
    }
    if (now - ui->begun < patience || now - ui->shown < (ui->terminal ? redraw : reprint))
        return;
    ui->shown = now;
    fraction = fraction > 0 ? fraction < 1 ? fraction : 1 : 0; /* NaN becomes 0 */

    char line[LINE], bar[BAR + 1], elapsed[32], left[32], eta[48] = "";
    double spent = now - ui->phase_begun;
    if (fraction > 0.005 && fraction < 1 && spent > patience)
        snprintf(eta, sizeof eta, ", %s left",
                 cli_clock(spent * (1 - fraction) / fraction, left, sizeof left));
    cli_clock(now - ui->begun, elapsed, sizeof elapsed);
    if (!ui->terminal) {
        fprintf(stderr, "scant: %s: %.0f%%, %s elapsed%s\n", phase, 100 * fraction,
                elapsed, eta);
        return;
    }
    for (int i = 0; i < BAR; i++) bar[i] = i < (int)(fraction * BAR + 0.5) ? '#' : '.';
    bar[BAR] = '\0';
    snprintf(line, sizeof line, "%-20s [%s] %3.0f%%  %s%s", phase, bar, 100 * fraction,
             elapsed, eta);
    draw(ui, line);
}
