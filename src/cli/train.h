/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of `scant train`: the call and the work (train.c), the folder (train_dir.c)
 * and its log (train_log.c), samples (train_samples.c) and their weights
 * (train_weights.c), methods that learn from unlabelled samples (train_method.c), and the
 * output (train_report.c). train_project.c trains a model of a project instead.
 */
#ifndef SCANT_CLI_TRAIN_H
#define SCANT_CLI_TRAIN_H

#include <stdio.h>

#include "cli/net_args.h"

typedef struct train_args {
    net_args net;
    net_test test;
    size_t validation;
    const char *sample_weights, *picks;
    scant_train_opts train; /* some options are set by flags, the others by the command */
    const char *unlabelled, *darp_target;
    bool no_align;
    const char *out, *format;
    bool overwrite;
} train_args;

typedef struct train_job {
    net_job net; /* first member: the callbacks get a pointer to it */
    train_args args;
    const bool *given; /* which flags were given */
    size_t *rows;      /* args.train.rows, not const */
    float *weights;    /* args.train.weights, not const */
    scant_data *data;
    scant_net *network;
    bool training;           /* scant_net_train() runs: no progress bar of the library */
    scant_train_state state; /* final state */
    bool reported;           /* a step was reported */
    size_t first_step;       /* number of steps done before this call */
    /* The output folder. */
    bool made;     /* this call created it */
    bool aside;    /* files of an earlier training were renamed */
    bool cleared;  /* renaming is complete: files without ".old" are this call's */
    bool kept;     /* this call's files are final; the renamed ones are deleted */
    bool extended; /* --resume with other --epochs, --steps, --until, --until-extra or
                      --patience */
    size_t done_epoch, done_step; /* position of the resumed checkpoint */
    /* The log. */
    FILE *log;
    scant__text old_log;        /* log of the resumed training */
    scant_train_state unlogged; /* last epoch, if it is not in the log */
    struct {
        size_t epoch; /* 0: none yet */
        double loss, accuracy;
    } best; /* best epoch on the validation set; --patience keeps its weights */
    /* The evaluation on the test set. */
    bool evaluated, calibrated;
    scant_evaluation evaluation;
    scant_calibration scaled; /* at the temperature fitted to the validation set */
} train_job;

/* Whether there is an accuracy: labels are classes. */
static inline bool train_has_accuracy(const train_job *job) {
    return !job->args.net.data_opts.regression;
}

/* ---- the folder (train_dir.c) ---- */

char *train_path(const train_job *job, const char *name); /* DIR/name */
/* Checks that DIR may be used; with --resume, fills in flags of the earlier call. */
void train_check_dir(train_job *job);
/* Prepares DIR and writes train.json. If the training is finished already, says so (with
 * --format json prints the result) and ends the program. At exit restores the earlier
 * state of DIR, except with --resume or after train_discard_old(). */
void train_begin_dir(train_job *job);
/* Call after the first step: deletes the files that --overwrite has renamed, so that DIR
 * is not restored at exit. */
void train_discard_old(train_job *job);
void train_write(train_job *job, const char *name, const scant__text *text);

/* ---- the log (train_log.c) ---- */

/* Opens the log and removes events from `epoch` on. May be called in callbacks: a failure
 * does not end the program, but nothing is logged. */
void train_open_log(train_job *job, size_t epoch);
/* Logs an epoch; with many short epochs, only some. Returns whether it was logged. */
bool train_log_epoch(train_job *job, const scant_train_state *state);
void train_log_end(train_job *job, const char *error); /* error NULL: none */
const char *train_stop_name(scant_stop stop);          /* "epochs" */

/* ---- samples (train_samples.c, train_weights.c) ---- */

/* Opens --data and --test, and holds out the validation set. */
void train_open_samples(train_job *job);
/* Reads --sample-weights, or the rows and weights of --picks. */
void train_read_weights(train_job *job);

/* ---- methods (train_method.c) ---- */

/* Whether the method learns from unlabelled samples. */
bool train_by_method(const train_job *job);
/* Whether the flag was given in this call. */
bool train_given(const train_job *job, const char *name);
/* Gives options without a flag in this call the method's defaults. */
void train_set_defaults(train_job *job);
void train_check_method(const train_job *job);
/* Lists the unlabelled training samples. train_open_samples() calls it, once the labelled
 * ones are listed. */
void train_open_unlabelled(train_job *job);

/* ---- output (train_report.c) ---- */

/* Adds what the library's watch found: gradient_norm, dead, dead_layer, signs. */
void train_json_signs(scant__json *json, const scant_train_state *state);

/* Shows the live line; without a terminal, prints it only if `due`. */
void train_show(train_job *job, const scant_train_state *state, bool due);
/* Prints the result and writes result.json. */
void train_print_result(train_job *job);

/* ---- projects (train_project.c) ---- */

/* Trains a model of the operand, a project. */
void train_project(const cli_call *call);

#endif
