/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of `scant run`: the command (run.c), its display (run_show.c).
 */
#ifndef SCANT_CLI_RUN_H
#define SCANT_CLI_RUN_H

#include "cli/net_args.h"
#include "scant/train.h"

typedef struct run_args {
    cli_settings settings;
    const char *out, *format;
    size_t jobs, run_threads;
    net_common common;
    bool resume, print, skip_bad;
} run_args;

typedef struct run_point {
    double labels, value; /* value: accuracy, or error for regression */
} run_point;

/* The state of a run, from its events so far. */
typedef struct run_progress {
    scant_run_event last; /* last event; strategy NULL: none yet */
    double accuracy, loss;
    bool active, over; /* over: finished or failed */
    run_point *points;
    size_t n_points;
} run_progress;

typedef struct run_job {
    net_job net; /* first member: the callbacks get a pointer to it */
    const run_args *args;
    scant_experiment *experiment;
    run_progress *runs;
    size_t n_runs;
    size_t lines; /* number of live lines on the terminal */
    double drawn; /* time of the last drawing */
    bool errors;  /* regression: points are errors */
    bool interrupted;
} run_job;

void run_on_event(void *user, const scant_run_event *event);
void run_show_clear(run_job *job); /* removes live lines from the screen */
/* Whether every run has ended, and at least one of them has finished a round. */
bool run_all_ended(const run_job *job);
/* Prints the table at the end of an experiment. */
void run_print_table(const run_job *job);

#endif
