/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of `scant select`: the command (select.c), the inputs (select_inputs.c) and
 * their names in messages and help (select_needs.c), the plan and --dry-run
 * (select_plan.c), output files (select_output.c), --plot (plot.c).
 */
#ifndef SCANT_CLI_SELECT_H
#define SCANT_CLI_SELECT_H

#include "cli/net_args.h"

/* The arrays, in the order of scant_inputs(); tests/select/test_inputs.c checks it. */
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
    const char *temperature;      /* as given; NULL: not given, or not used */
    const char *state;            /* NULL: not given, or not used */
    const char *ids, *kernel;
    size_t batch;
    net_common common;
    cli_settings settings;
    const char *out, *format, *plot;
    bool dry_run;
} select_args;

/* The state of one call. */
typedef struct select_job {
    net_job net; /* first member: the callbacks get a pointer to it */
    const scant_strategy_info *strategy;
    select_args *args;
    double temperature; /* 0: to be fitted, or not given */
    unsigned used;      /* scant_evidence_kind bits that the call reads */
    scant_array *arrays[N_INPUTS];
    scant_ids *ids;
    scant_evidence evidence;
    scant_select_opts opts;
    scant_selection *selection;
    scant_plan plan;
    scant_picks *picks;
    void *plot; /* file content for --plot */
    size_t plot_size;
    double seconds; /* duration of the selection */
} select_job;

const scant_input *select_input(input which);
/* Lists one input for each of the kinds; returns their number. */
enum { SELECT_KINDS = 16 };
size_t select_inputs_of(unsigned kinds, const scant_input *out[SELECT_KINDS]);
/* Returns flags, such as "--features and --probs (or --logits)", followed by those of
 * or_kinds, such as ", or --samples", if it is not 0. */
const char *select_kinds_text(unsigned kinds, unsigned or_kinds);
const char *select_names(unsigned kinds);   /* "features, probs", "any input" */
const char *select_example(unsigned kinds); /* " --probs probs.npy" */

/* Ends the program with the library's error unless status is SCANT_OK. */
void select_try(select_job *job, scant_status status);

/* Checks the inputs before any is opened; drops unused ones. */
void select_check_inputs(select_job *job);
void select_open_inputs(select_job *job);

/* Checks that no output is an input (used or not) or another output. */
void select_check_overwrites(const select_job *job);
/* Checks that the outputs can be written. */
void select_check_targets(const select_job *job);
void select_read_state(select_job *job);
void select_write(select_job *job); /* writes all output files */

void select_plan(select_job *job); /* plans the selection and the plot */
void select_print_plan(const select_job *job);

void select_check_plot(const select_job *job);
scant_evidence select_plot_evidence(const select_job *job);
void select_draw(select_job *job);

#endif
