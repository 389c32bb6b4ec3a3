/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of `scant ntk`: the call (ntk.c) and its output (ntk_json.c).
 */
#ifndef SCANT_CLI_NTK_H
#define SCANT_CLI_NTK_H

#include "cli/net_args.h"
#include "scant/study.h"

typedef struct ntk_args {
    net_args net;
    scant_lab_opts lab; /* some options are set by flags, the others by the command */
    const char *kernel, *layers, *against;
    bool bias, full, fit, infinite;
    const char *out, *page, *kernel_out;
    net_test test;
} ntk_args;

typedef struct ntk_job {
    net_job net; /* first member: the callbacks get a pointer to it */
    ntk_args args;
    scant_data *data;
    scant_lab *lab;
} ntk_job;

/* Writes the study as JSON to --out or standard output. */
void ntk_write(ntk_job *job);
void ntk_write_page(ntk_job *job);
void ntk_write_kernel(ntk_job *job);

#endif
