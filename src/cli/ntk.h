/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant ntk` in its parts: the call (ntk.c), what is computed (ntk_run.c), where the
 * kernel comes from (ntk_matrix.c), regression with it (ntk_fit.c), and what is written
 * of it (ntk_json.c).
 */
#ifndef SCANT_CLI_NTK_H
#define SCANT_CLI_NTK_H

#include "cli/net.h"
#include "scant/study.h"

typedef struct ntk_args {
    net_samples samples;
    net_model model;
    const char *part, *from, *kernel, *layers, *against;
    size_t classes;
    bool bias, full, fit;
    const char *test, *test_labels;
    double ridge;
    size_t sketch;
    double rate;
    size_t agreement, start, draw, descend;
    const char *out, *page, *kernel_out;
    net_means means;
} ntk_args;

/* A study under way. */
typedef struct ntk_job {
    net_job net; /* first: it is the callbacks' user */
    ntk_args args;
    net_samples given;  /* as in the call, before the network has had a say */
    scant_net *network; /* NULL: none is named */
    scant_data *data;
    bool last_layer;
    size_t depth;      /* of --kernel; 0: the kernel is the network's own */
    scant_net *reader; /* of --kernel: whose features it is of; the network, if named */
    float *features;   /* those, of all rows; NULL: not read yet */
    /* Samples: the n that are studied, then those of --against that are none of them. */
    size_t *rows, n, all;
    size_t *places, n_against; /* of --against, among rows */
    size_t classes, outputs;   /* 0: no labels; rows of the kernel a sample */
    int32_t *labels;           /* of rows; NULL: none has one */
    float *f;                  /* n x classes: what the network says; NULL: not asked */
    double *k;       /* the kernel of the n: n * outputs squared; NULL: a sketch */
    double *reduced; /* the mean over outputs, n x n; k itself where there is one */
    double *wide;    /* the mean over outputs of all rows; reduced where they are n */
    scant_study *study;
    scant_sketch_error sketch; /* of --sketch */
    double mmd;                /* of --against */
    scant_agreement *agreed;
    net_test test; /* of --fit */
    scant_regression fitted;
    struct {
        double rate, *losses, *predicted;
        double least;       /* the eigenvalue that the theorem is of */
        size_t above;       /* steps that shrank the loss by less than it says */
        double moved, norm; /* largest move of an eigenvalue; spectral norm of Kt - K0 */
    } descent;
    double seconds; /* that the kernel took */
} ntk_job;

/* These return an exit status; what is not CLI_DONE has been said. */

/* What the kernel, and what is done with it, takes at most; whether that fits. */
int ntk_check_memory(ntk_job *job);
/* The kernel between the job's rows, full or reduced: count samples from rows on, count *
 * outputs squared. The one place that knows what kernel it is. */
int ntk_matrix(ntk_job *job, size_t count, bool full, double *out);
/* Between count others (rows of data) and the job's n, count * outputs by n * outputs. */
int ntk_between(ntk_job *job, const scant_data *data, const size_t *rows, size_t count,
                double *out);
/* How many samples to judge by are looked at together, with a kernel of n. */
size_t ntk_block(const ntk_job *job, size_t n);
/* Regression with the kernel, judged. */
int ntk_fit(ntk_job *job);
/* What --sketch and the rest say of a sketch. */
scant_sketch_opts ntk_sketch_opts(const ntk_job *job);
/* Kernel, study and what else is asked for. */
int ntk_run(ntk_job *job);
void ntk_run_end(ntk_job *job);
/* The study as JSON, to --out or standard output. */
int ntk_write(ntk_job *job);
int ntk_write_page(ntk_job *job);
int ntk_write_kernel(ntk_job *job);

#endif
