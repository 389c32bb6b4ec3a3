/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of `scant embed`: the call (embed.c), the outputs (embed_run.c), labels and
 * classes (embed_evaluate.c).
 */
#ifndef SCANT_CLI_EMBED_H
#define SCANT_CLI_EMBED_H

#include "cli/net_args.h"

/* The output arrays of floats. */
enum {
    EMBED_FEATURES,
    EMBED_PROBS,
    EMBED_LOGITS,
    EMBED_CALIBRATED,
    EMBED_GRADIENTS,
    EMBED_SAMPLES, /* m x n x C; the other arrays have two dimensions */
    EMBED_ARRAYS
};

typedef struct embed_args {
    net_args net;
    cli_files members;
    const char *arrays[EMBED_ARRAYS]; /* output files; NULL: not written */
    const char *labels_out, *ids_out, *classes_out;
    const char *layers, *labelled;
    const char *temperature, *calibrate_on;
    bool evaluate;
    const char *format;
    size_t sketch, batch;
} embed_args;

typedef struct embed_job {
    net_job net; /* first member: the callbacks get a pointer to it */
    embed_args args;
    scant_net *network;
    scant_data *data;
    size_t *rows, n; /* samples to use; rows NULL: all */
    double temperature;
    size_t *fitted, n_fitted; /* samples used to fit the temperature, or NULL */
    bool *labelled; /* for each sample: whether its gradient uses its label; or NULL */
    struct {
        size_t width; /* numbers per sample */
        float *block;
        scant_writer *writer;
    } arrays[EMBED_ARRAYS];
    scant_writer *labels;
    int64_t *label_block;
    size_t *block_rows;
    int32_t *block_labels; /* classes whose loss gradients are computed */
    size_t block;          /* maximum number of samples in a block */
    size_t done, now;      /* number of samples before and in the current block */
    unsigned pass, passes; /* passes done and needed per block: outputs, gradients */
    double begun;          /* start time; 0: not started */
} embed_job;

/* The progress callback; user is an embed_job. */
void embed_progress(void *user, const char *phase, double fraction);
/* Computes all outputs, then writes the files: none appears before. */
void embed_run(embed_job *job);

/* Renumbers the data's classes to match the network's, if both have names. */
void embed_match(embed_job *job);
/* Reads --temperature, or fits it to --calibrate-on. */
void embed_fit(embed_job *job);
/* --evaluate: prints the network's loss, accuracy and calibration on the samples. */
void embed_evaluate(embed_job *job);
void embed_write_classes(embed_job *job);
/* Prints the class of each column. */
void embed_note_classes(const embed_job *job);

#endif
