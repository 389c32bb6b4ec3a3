/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside `scant run`: run.c reads the call, run_show.c tells of it.
 */
#ifndef SCANT_CLI_RUN_H
#define SCANT_CLI_RUN_H

#include "cli/net.h"
#include "scant/train.h"

typedef struct run_args {
    cli_settings settings;
    const char *out, *format;
    size_t jobs, run_threads;
    net_means means;
    bool resume, print, skip_bad;
} run_args;

/* A run as far as it was heard of. */
typedef struct run_seen {
    const char *strategy;
    uint64_t seed;
    size_t round, rounds, labels;
    double accuracy, loss, fraction, seconds, left;
    double train_loss, unlabelled_loss, kept, balance; /* of the training */
    const char *phase;
    bool active, over; /* over: it has ended, one way or the other */
    size_t n_points, room;
    double *points; /* labels, accuracy (numbers to predict: error), ... */
} run_seen;

typedef struct run_job {
    net_job net; /* first: the callbacks' user */
    run_args args;
    scant_experiment *experiment;
    run_seen *runs;
    size_t n_runs;
    size_t lines; /* live ones on the terminal */
    double drawn; /* when */
    bool errors;  /* numbers are predicted: there is no accuracy */
    bool interrupted;
} run_job;

void run_hear(void *user, const scant_run_event *event);
void run_show_clear(run_job *job); /* takes live lines off the screen */
/* Whether every run has ended, and some have rounds to tell of. */
bool run_all_over(const run_job *job);
/* The table that ends an experiment. */
int run_print_table(run_job *job);
void run_show_end(run_job *job);

#endif
