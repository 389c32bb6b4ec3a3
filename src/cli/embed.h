/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant embed` in its parts: the call (embed.c), block by block (embed_run.c).
 */
#ifndef SCANT_CLI_EMBED_H
#define SCANT_CLI_EMBED_H

#include "cli/net.h"
#include "scant/train.h"

/* The arrays of floats, in the order of flags. */
enum {
    EMBED_FEATURES,
    EMBED_PROBS,
    EMBED_LOGITS,
    EMBED_CALIBRATED,
    EMBED_GRADIENTS,
    EMBED_SAMPLES, /* m x n x C: the others are of two dimensions */
    EMBED_ARRAYS
};

typedef struct embed_args {
    net_samples samples;
    net_model model;
    const char *part, *from;
    cli_files members;
    const char *arrays[EMBED_ARRAYS]; /* files to write; NULL: not asked for */
    const char *labels_out, *ids_out, *classes_out;
    const char *layers, *labelled;
    const char *temperature, *calibrate_on;
    bool evaluate;
    const char *format;
    size_t sketch, batch;
    net_means means;
} embed_args;

/* One read-out under way. */
typedef struct embed_job {
    net_job net; /* first: it is the callbacks' user */
    embed_args args;
    net_samples given; /* as in the call, before the network has had a say */
    scant_net *network;
    scant_data *data;
    size_t *rows, n; /* NULL: all */
    double temperature;
    size_t *fitted, n_fitted; /* samples that the temperature was fitted to, or NULL */
    bool *labelled; /* a sample of the data each: its label may be looked at; or NULL */
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

/* ---- by labels (embed_judge.c) ---- */

/* Numbers the data's classes as the network's, where both have names. */
int embed_match(embed_job *job);
/* The temperature that --temperature says, or that fits --calibrate-on. */
int embed_fit(embed_job *job);
/* --evaluate: judges the network by the samples and prints it. */
int embed_judge(embed_job *job);
/* --classes-out, and a note of which column is which class. */
/* Whether the network knows names of its classes; says so where not. */
bool embed_has_names(const embed_job *job);
int embed_write_classes(embed_job *job);
void embed_tell_classes(const embed_job *job);

#endif
