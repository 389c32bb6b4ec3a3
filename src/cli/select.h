/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of `scant select`: the command (select.c), inputs (select_inputs.c; in words:
 * select_needs.c), --dry-run (select_plan.c), output files (targets.c), the picks in
 * three formats (output.c), --plot (plot.c).
 */
#ifndef SCANT_CLI_SELECT_H
#define SCANT_CLI_SELECT_H

#include "cli/cli.h"
#include "cli/ui.h"

/* The arrays, in the order of scant_inputs(). */
typedef enum input {
    IN_FEATURES,
    IN_PROBS,
    IN_LOGITS,
    IN_CALIBRATED,
    IN_CALIBRATE_ON,
    IN_GRADIENTS,
    IN_SAMPLES,
    IN_LABELS,
    IN_CANDIDATES,
    N_INPUTS
} input;

typedef struct select_args {
    const char *inputs[N_INPUTS]; /* NULL: not given, or not used */
    const char *temperature;      /* likewise; as written */
    const char *state;            /* likewise */
    const char *ids;
    const char *kernel;
    size_t batch;
    uint64_t seed;
    size_t threads;
    size_t memory;
    cli_settings settings;
    const char *out, *format, *plot;
    bool dry_run, quiet, progress;
} select_args;

/* The state of one call. */
typedef struct select_job {
    const cli_command *command;
    const scant_strategy_info *strategy;
    select_args args;
    double temperature; /* 0: to be fitted, or none */
    unsigned used;      /* scant_evidence_kind bits that the call reads */
    scant__text state;  /* contents of --state */
    cli_ui ui;
    scant_ctx *ctx;
    scant_array *arrays[N_INPUTS];
    scant_ids *ids;
    scant_evidence evidence;
    scant_select_opts opts;
    scant_selection *selection;
    scant_plan plan;
    scant_picks *picks;
    void *picture; /* of --plot */
    size_t picture_size;
    double seconds; /* time of the selection */
} select_job;

const scant_input *select_input(input which);

/* scant_evidence_kind bits as "--features and --probs (or --logits)". */
void select_evidence_flags(scant__text *text, unsigned kinds);
/* The same, followed by ", or --samples" if or_kinds is not 0. */
void select_evidence_ways(scant__text *text, unsigned kinds, unsigned or_kinds);
/* As "features, probs" or "any input"; and as a JSON list. */
void select_evidence_names(scant__text *text, unsigned kinds);
void select_evidence_json(scant__text *text, unsigned kinds);
/* As "--probs probs.npy --features features.npy", for an example. */
void select_evidence_example(scant__text *text, unsigned kinds);

/* Prints the library's error; returns the exit status. */
int select_failed(select_job *job, scant_status status);

/* Fills arrays, ids and evidence; prints nothing. */
scant_status select_open_inputs(select_job *job);
void select_close_inputs(select_job *job);

/* Each returns an exit status; if it is not CLI_DONE, the error has been printed. */

/* Checks that no output is an input (used or not) or another output. */
int select_check_overwrites(const select_job *job);
/* Checks the inputs before any is opened; drops unused ones. Needs job->ctx. */
int select_check_inputs(select_job *job);
/* Checks the number of ids against the plan's rows. */
int select_check_ids(const select_job *job);

bool select_to_stdout(const select_args *args); /* the picks */
/* Checks that the output files can be written. */
int select_check_targets(const select_job *job);
int select_read_state(select_job *job);
int select_write_picks(select_job *job);
int select_write(select_job *job); /* all files, in order */
int select_print_plan(const select_job *job);

int select_check_plot(const select_job *job);
int select_plan(select_job *job); /* of the selection and the picture */
int select_draw(select_job *job);

#endif
