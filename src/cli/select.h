/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant select` in its parts: what was asked (select.c), inputs and which of them a call
 * uses (inputs.c; in words: needs.c), the plan (plan.c), the files that are written
 * (targets.c), the picks in three formats (output.c), the picture (plot.c).
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
    const char *inputs[N_INPUTS]; /* NULL: not given, or dropped as not used */
    const char *temperature;      /* likewise; as it was written */
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

/* One call under way. */
typedef struct select_job {
    const cli_command *command;
    const scant_strategy_info *strategy;
    select_args args;
    double temperature; /* 0: to be fitted, or none */
    unsigned used;      /* scant_evidence_kind bits: what the call reads */
    scant__text state;  /* what --state held */
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
    double seconds; /* that choosing took */
} select_job;

const scant_input *select_input(input which);

/* Of scant_evidence_kind bits, for help too. "--features and --probs (or --logits)" */
void select_evidence_flags(scant__text *text, unsigned kinds);
/* The same, and ", or --samples" where or_kinds is not 0. */
void select_evidence_ways(scant__text *text, unsigned kinds, unsigned or_kinds);
/* "features, probs" or "any input"; a JSON list of the same. */
void select_evidence_names(scant__text *text, unsigned kinds);
void select_evidence_json(scant__text *text, unsigned kinds);
/* "--probs probs.npy --features features.npy": the least that a call needs. */
void select_evidence_example(scant__text *text, unsigned kinds);

/* Says why a call of the library failed; returns the exit status. */
int select_failed(select_job *job, scant_status status);

/* Fills arrays, ids and evidence; says nothing. */
scant_status select_open_inputs(select_job *job);
void select_close_inputs(select_job *job);

/* Each returns an exit status; what is not CLI_DONE has been said. */

/* That no output is an input, also one that will not be used, or another output. */
int select_check_overwrites(const select_job *job);
/* Before anything is opened, with a context; drops what is not used. */
int select_check_inputs(select_job *job);
/* Once the plan tells how many rows there are. */
int select_check_ids(const select_job *job);

bool select_to_stdout(const select_args *args); /* the picks */
/* Whether what is to be written can be. */
int select_check_targets(const select_job *job);
int select_read_state(select_job *job);
int select_write_picks(select_job *job);
int select_write(select_job *job); /* all files, in order */
int select_print_plan(const select_job *job);

int select_check_plot(const select_job *job);
int select_plan(select_job *job); /* of the selection and the picture */
int select_draw(select_job *job);

#endif
