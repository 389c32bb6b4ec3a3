/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant ntk` in two files: the call (ntk.c), and its output (ntk_json.c).
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

typedef struct ntk_job {
    net_job net; /* first: it is the callbacks' user */
    ntk_args args;
    net_samples given;  /* as in the call, before the network changes them */
    scant_net *network; /* NULL: the call names none */
    scant_data *data;
    scant_net *reader; /* its features are the rows of --kernel; the network if named */
    /* Samples: the n that are studied, then the others of --against. */
    size_t *rows, n, all;
    size_t *places, n_against; /* of --against, in rows */
    size_t classes;
    int32_t *labels; /* of the n samples; NULL: none has one */
    net_test test;   /* for --fit */
    scant_lab_opts opts;
    scant_lab *lab;
} ntk_job;

/* These return an exit status; if it is not CLI_DONE, the error has been printed. */

/* The study as JSON, to --out or standard output. */
int ntk_write(ntk_job *job);
int ntk_write_page(ntk_job *job);
int ntk_write_kernel(ntk_job *job);

#endif
