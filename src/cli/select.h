/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant select` in its parts: what was asked (select.c), inputs and what a strategy
 * wants of them (inputs.c), the plan (plan.c), the picks in three formats (output.c).
 */
#ifndef SCANT_CLI_SELECT_H
#define SCANT_CLI_SELECT_H

#include "cli/cli.h"
#include "cli/ui.h"

/* The arrays, in the order of flags and evidence. */
typedef enum input {
    IN_FEATURES,
    IN_PROBS,
    IN_LOGITS,
    IN_CALIBRATED,
    IN_GRADIENTS,
    IN_SAMPLES,
    IN_LABELS,
    IN_CANDIDATES,
    N_INPUTS
} input;

typedef struct select_args {
    const char *inputs[N_INPUTS]; /* NULL: not given, or dropped as not used */
    const char *ids;
    size_t batch;
    uint64_t seed;
    size_t threads;
    size_t memory;
    cli_settings settings;
    const char *out, *format;
    bool dry_run, quiet, progress;
} select_args;

typedef enum select_format { FORMAT_CSV, FORMAT_JSON, FORMAT_NPY } select_format;

/* One call under way. */
typedef struct select_job {
    const cli_command *command;
    const scant_strategy_info *strategy;
    select_args args;
    select_format format;
    cli_ui ui;
    scant_ctx *ctx;
    scant_array *arrays[N_INPUTS];
    scant_ids *ids;
    scant_evidence evidence;
    scant_select_opts opts;
    scant_plan plan;
    scant_picks *picks;
    double seconds; /* that choosing took */
} select_job;

const char *select_input_flag(input which); /* "features" */

/* "--probs (or --logits) and --features", of scant_evidence_kind bits. Used by help too.
 */
void select_evidence_flags(cli_text *text, unsigned kinds, const char *before_last);
/* "probs, features" or "any input" */
void select_evidence_names(cli_text *text, unsigned kinds);
/* "--probs probs.npy --features features.npy": the least that a call needs. */
void select_evidence_example(cli_text *text, unsigned kinds);

/* Says why a call of the library failed; returns the exit status. */
int select_failed(select_job *job, scant_status status);

/* Fills arrays, ids and evidence; says nothing. */
scant_status select_open_inputs(select_job *job);
void select_close_inputs(select_job *job);

/* Each returns an exit status; what is not CLI_DONE has been said. */

/* Before anything is opened; drops what is not used. */
int select_check_inputs(select_job *job);
/* Once the plan tells how many rows there are. */
int select_check_ids(const select_job *job);
/* Settles the format and whether it can be written. */
int select_check_output(select_job *job);
int select_write(select_job *job);
int select_print_plan(const select_job *job);

#endif
