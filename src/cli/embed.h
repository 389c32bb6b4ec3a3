/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant embed` in its parts: the call (embed.c), block by block (embed_run.c).
 */
#ifndef SCANT_CLI_EMBED_H
#define SCANT_CLI_EMBED_H

#include "cli/net.h"

/* The arrays of floats, in the order of flags. */
enum { EMBED_FEATURES, EMBED_PROBS, EMBED_LOGITS, EMBED_GRADIENTS, EMBED_ARRAYS };

typedef struct embed_args {
    net_samples samples;
    net_model model;
    const char *part, *from;
    const char *arrays[EMBED_ARRAYS]; /* files to write; NULL: not asked for */
    const char *labels_out, *ids_out;
    const char *layers, *labelled;
    size_t sketch, batch;
    net_means means;
} embed_args;

/* One read-out under way. */
typedef struct embed_job {
    net_job net; /* first: it is the callbacks' user */
    embed_args args;
    scant_net *network;
    scant_data *data;
    size_t *rows, n; /* NULL: all */
    bool *labelled;  /* a sample of the data each: its label may be looked at; or NULL */
    struct {
        size_t width; /* numbers a sample */
        float *block;
        scant_writer *writer;
    } arrays[EMBED_ARRAYS];
    scant_writer *labels;
    int64_t *label_block;
    size_t *block_rows;
    int32_t *block_labels; /* classes that gradients are taken at */
    size_t block;          /* samples at most */
    size_t done, now;      /* before the block under way; in it */
    unsigned pass, passes; /* over a block: read-outs, gradients */
    double begun;          /* 0: not yet */
} embed_job;

/* Callback of a context whose user is the job. */
void embed_progress(void *user, const char *phase, double fraction);
/* Reads out all samples and writes all files, or none; an exit status, said. */
int embed_run(embed_job *job);
void embed_run_end(embed_job *job);

#endif
