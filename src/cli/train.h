/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant train` in its parts: the call and the work (train.c), the folder that it fills
 * (train_dir.c), its samples (train_samples.c) and their weights (train_weights.c),
 * learning from samples without labels (train_method.c), what people see of it
 * (train_report.c). A project's is another matter (train_project.c).
 */
#ifndef SCANT_CLI_TRAIN_H
#define SCANT_CLI_TRAIN_H

#include <jansson.h>
#include <stdio.h>

#include "cli/net.h"
#include "scant/train.h"

typedef struct train_args {
    net_samples samples;
    const char *test, *test_labels;
    size_t validation;
    const char *sample_weights, *picks;
    bool draw;
    net_model model;
    scant_train_opts train; /* the settings of it */
    const char *unlabelled, *darp_target;
    net_means means;
    const char *out, *format;
    bool resume, overwrite;
} train_args;

/* One training under way. */
typedef struct train_job {
    net_job net; /* first: it is the callbacks' user */
    train_args args;
    bool *seen;     /* which flags were given */
    json_t *stored; /* train.json of the training that goes on: args borrow */
    bool made;      /* DIR was not there before */
    bool aside;     /* files of a training before are there under other names */
    bool extended;  /* --resume, and further than it was begun to go */
    scant_data *data, *test;
    size_t *rows, n_rows; /* to train on */
    float *weights;       /* theirs; NULL: 1 each */
    size_t *valid, n_valid;
    size_t *unlabelled, n_unlabelled; /* to train on without labels */
    double *darp_target;              /* a class each; NULL: uniform */
    size_t *test_rows, n_test;        /* to judge by */
    scant_net *network;
    bool training; /* the library's own bar stays away */
    scant_train_state state;
    size_t first_step; /* of this call; where a resumed training began to go on */
    bool reported;     /* a step was */
    scant_evaluation judged;
    bool has_judged;
    scant_calibration scaled; /* with the temperature of the validation samples */
    bool has_scaled;
    size_t done_epoch, done_step; /* before this call, whole ones; as the state has it */
    struct {
        size_t epoch; /* 0: none yet */
        double loss, accuracy;
    } best; /* on the validation samples: whose weights --patience keeps */
    FILE *log;
    scant_train_state untold; /* the last epoch's, where the log has no line of it */
    scant__text old_log;      /* of the training that goes on */
} train_job;

/* ---- the folder (train_dir.c) ---- */

/* DIR/name; new: free(). */
char *train_path(const train_job *job, const char *name);
/* Whether DIR may be used; with --resume, also what was given before and is not now. */
int train_look(train_job *job);
/* Makes DIR ready, with train.json in it. Where the training is finished already, says
 * so: *finished, and there is nothing more to do. */
int train_begin_dir(train_job *job, bool *finished);
/* The training has begun: what --overwrite set aside goes. */
void train_forget_old(train_job *job);
/* Takes back what train_begin_dir() made, for a training that could not begin. */
void train_undo_dir(train_job *job);
int train_write(train_job *job, const char *name, const scant__text *text);
/* Opens the log for what comes from that epoch on. */
void train_open_log(train_job *job, size_t epoch);
/* Events of the log. Of many short epochs some alone have a line: whether this one. */
bool train_log_epoch(train_job *job, const scant_train_state *state);
void train_log_end(train_job *job, const char *error); /* error NULL: it went well */

/* ---- samples (train_samples.c) ---- */

/* Opens those of --data and --test, and holds out those of --validation. */
int train_open_samples(train_job *job);

/* ---- weights of samples (train_weights.c) ---- */

/* --sample-weights of the rows, or --picks: rows and weights. */
int train_read_weights(train_job *job);

/* ---- methods (train_method.c) ---- */

bool train_by_method(const train_job *job); /* not supervised */
/* Whether a flag stands in this call. */
bool train_given(const train_job *job, const char *name);
/* Fills in what the method usually has, where no flag says else. */
void train_settle_method(train_job *job);
int train_check_method(const train_job *job);
/* The samples that train without labels, once those with labels are known. */
int train_open_unlabelled(train_job *job);

/* ---- people (train_report.c) ---- */

const char *train_stop_name(scant_stop stop); /* "epochs" */
/* The live line; told: where there is no terminal, it is printed now. */
void train_show(train_job *job, const scant_train_state *state, bool told);
int train_print_result(train_job *job); /* and keeps it in DIR */

/* ---- of a project (train_project.c) ---- */

/* seen: which flags were given; those of other trainings are refused. */
int train_project(const cli_command *command, const train_args *args, const bool *seen,
                  const char *dir);

#endif
