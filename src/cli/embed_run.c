/* SPDX-License-Identifier: Apache-2.0
 *
 * The outputs of `scant embed`, block by block. A block takes 64 MiB at most, unless one
 * sample takes more.
 */
#include <stdio.h>

#include "cli/embed.h"
#include "core/argmax.h"

enum { BLOCK = 1024, BLOCK_BYTES = 64 << 20, SKETCH = 512 };

static const double reprint = 2.0; /* seconds between two plain lines */

/* ---- progress ---------------------------------------------------------------------- */

void embed_progress(void *user, const char *phase, double fraction) {
    embed_job *job = user;
    cli_ui *ui = &job->net.ui;
    double now = cli_now();
    char text[160], left[32];
    if (job->begun == 0) { /* opening, fitting or evaluating */
        cli_ui_progress(ui, phase, fraction);
        return;
    }
    double within = (job->pass + fraction) / job->passes;
    double done = (double)job->done + within * (double)job->now;
    double spent = now - job->begun, rate = spent > 0 ? done / spent : 0;
    if (!ui->bar || done <= 0 || (!ui->terminal && now - ui->shown < reprint)) return;
    snprintf(text, sizeof text, "%.0f of %zu samples (%.0f%%)  %.0f samples/s  %s left",
             done, job->n, 100 * done / (double)job->n, rate,
             cli_clock(((double)job->n - done) / rate, left, sizeof left));
    cli_ui_line(ui, text, !ui->terminal);
    if (!ui->terminal) ui->shown = now;
}

/* ---- set-up ------------------------------------------------------------------------ */

/* Gradients at labels need logits, for the predicted classes of unlabelled samples. */
static bool needs(const embed_job *job, int which) {
    return job->args.arrays[which] || (which == EMBED_LOGITS && job->labelled);
}

static void make_blocks(embed_job *job) {
    size_t classes = scant_net_classes(job->network), bytes = 64;
    if (!job->args.sketch) job->args.sketch = SKETCH;
    const size_t widths[] = {
        [EMBED_FEATURES] = scant_net_features(job->network),
        [EMBED_PROBS] = classes,
        [EMBED_LOGITS] = classes,
        [EMBED_CALIBRATED] = classes,
        [EMBED_GRADIENTS] = job->args.sketch,
        [EMBED_SAMPLES] = scant_net_draws(job->network) * classes,
    };
    bool outputs = false;
    for (int i = 0; i < EMBED_ARRAYS; i++) {
        job->arrays[i].width = widths[i];
        if (needs(job, i)) bytes += widths[i] * sizeof(float);
        outputs = outputs || (i != EMBED_GRADIENTS && needs(job, i));
    }
    job->passes = (outputs ? 1u : 0u) + (job->args.arrays[EMBED_GRADIENTS] ? 1u : 0u);
    job->block = size_min(size_min(job->args.batch ? job->args.batch : BLOCK, job->n),
                          size_max(BLOCK_BYTES / bytes, 1));
    for (int i = 0; i < EMBED_ARRAYS; i++)
        if (needs(job, i))
            job->arrays[i].block = cli_calloc(job->block * widths[i], sizeof(float));
    job->block_rows = cli_calloc(job->block, sizeof *job->block_rows);
    job->block_labels = cli_calloc(job->block, sizeof *job->block_labels);
    job->label_block = cli_calloc(job->block, sizeof *job->label_block);
}

static void free_writers(void *arg) {
    embed_job *job = arg;
    for (int i = 0; i < EMBED_ARRAYS; i++) scant_writer_free(job->arrays[i].writer);
    scant_writer_free(job->labels);
}

static void open_writers(embed_job *job) {
    size_t m = scant_net_draws(job->network), classes = scant_net_classes(job->network);
    cli_defer(free_writers, job);
    for (int i = 0; i < EMBED_ARRAYS; i++) {
        bool draws = i == EMBED_SAMPLES;
        size_t plain[] = {job->n, job->arrays[i].width}, drawn[] = {m, job->n, classes};
        if (job->args.arrays[i])
            net_try(&job->net,
                    scant_writer_open(job->net.ctx, job->args.arrays[i], SCANT_F32,
                                      draws ? 3 : 2, draws ? drawn : plain,
                                      &job->arrays[i].writer));
    }
    if (job->args.labels_out)
        net_try(&job->net, scant_writer_open(job->net.ctx, job->args.labels_out,
                                             SCANT_I64, 1, &job->n, &job->labels));
}

/* ---- a block ----------------------------------------------------------------------- */

/* Returns the classes for the loss: the label of each labelled sample, the predicted
 * class of the others. NULL: no sample is labelled. */
static const int32_t *gradient_labels(embed_job *job) {
    const int32_t *labels = scant_data_labels(job->data);
    size_t classes = scant_net_classes(job->network);
    if (!job->labelled) return NULL;
    for (size_t i = 0; i < job->now; i++) {
        size_t row = job->block_rows[i];
        job->block_labels[i] =
            job->labelled[row] && labels[row] >= 0
                ? labels[row]
                : (int32_t)scant__argmax(job->arrays[EMBED_LOGITS].block + i * classes,
                                         classes);
    }
    return job->block_labels;
}

static scant_status take_gradients(embed_job *job) {
    scant_gradient_opts opts = {
        .last_layer = net_is(job->args.layers, "last"),
        .labels = gradient_labels(job),
        .outputs = scant_net_classes(job->network) == 1, /* regression */
        .sketch = job->args.sketch,
        .seed = job->args.net.common.seed,
    };
    scant_gradients out = {.sketches = job->arrays[EMBED_GRADIENTS].block};
    return scant_net_gradients(job->network, job->data, job->block_rows, job->now, &opts,
                               &out);
}

/* Writes the block's rows of each posterior draw. */
static scant_status write_samples(embed_job *job) {
    size_t row = scant_net_classes(job->network) * sizeof(float), bytes = job->now * row;
    const char *block = (const char *)job->arrays[EMBED_SAMPLES].block;
    for (size_t s = 0; s < scant_net_draws(job->network); s++)
        TRY(scant_writer_put(job->arrays[EMBED_SAMPLES].writer,
                             (s * job->n + job->done) * row, block + s * bytes, bytes));
    return SCANT_OK;
}

static scant_status write_block(embed_job *job) {
    const int32_t *labels = scant_data_labels(job->data);
    if (job->arrays[EMBED_SAMPLES].writer) TRY(write_samples(job));
    for (int i = 0; i < EMBED_SAMPLES; i++)
        if (job->arrays[i].writer)
            TRY(scant_writer_append(job->arrays[i].writer, job->arrays[i].block,
                                    job->now * job->arrays[i].width * sizeof(float)));
    if (!job->labels) return SCANT_OK;
    for (size_t i = 0; i < job->now; i++)
        job->label_block[i] = labels[job->block_rows[i]];
    return scant_writer_append(job->labels, job->label_block,
                               job->now * sizeof *job->label_block);
}

static scant_status run_block(embed_job *job) {
    scant_outputs out = {.features = job->arrays[EMBED_FEATURES].block,
                         .logits = job->arrays[EMBED_LOGITS].block,
                         .probs = job->arrays[EMBED_PROBS].block,
                         .calibrated = job->arrays[EMBED_CALIBRATED].block,
                         .temperature = job->temperature,
                         .draws = job->arrays[EMBED_SAMPLES].block};
    for (size_t i = 0; i < job->now; i++)
        job->block_rows[i] = job->rows ? job->rows[job->done + i] : job->done + i;
    job->pass = 0;
    if (out.features || out.logits || out.probs || out.calibrated || out.draws) {
        TRY(scant_net_predict(job->network, job->data, job->block_rows, job->now, &out));
        job->pass++;
    }
    if (job->args.arrays[EMBED_GRADIENTS]) TRY(take_gradients(job));
    return write_block(job);
}

static scant_status run_blocks(embed_job *job) {
    for (; job->done < job->n; job->done += job->now) {
        job->now = size_min(job->n - job->done, job->block);
        TRY(run_block(job));
        if (cli_interrupted()) return SCANT_ECANCELLED;
    }
    return SCANT_OK;
}

/* ---- all blocks and files ---------------------------------------------------------- */

static void close_writer(embed_job *job, scant_writer **writer) {
    scant_writer *w = *writer;
    *writer = NULL;
    if (w) net_try(&job->net, scant_writer_finish(w));
}

static void write_ids(embed_job *job) {
    scant__text text = CLI_TEXT;
    for (size_t i = 0; i < job->n; i++) {
        const char *name =
            scant_data_sample_name(job->data, job->rows ? job->rows[i] : i);
        if (strchr(name, '\n'))
            cli_die(CLI_BAD_INPUT,
                    "%s: the name '%s' has a line break, which --ids-out cannot hold",
                    job->args.net.data, name);
        scant__text_addf(&text, "%s\n", name);
    }
    net_try(&job->net,
            scant_file_write(job->net.ctx, job->args.ids_out, text.data, text.size));
}

void embed_run(embed_job *job) {
    make_blocks(job);
    open_writers(job);
    job->begun = cli_now();
    scant_status status = run_blocks(job);
    job->begun = 0; /* evaluations have their own progress bar */
    cli_ui_clear(&job->net.ui);
    if (status == SCANT_ECANCELLED)
        cli_die(CLI_INTERRUPTED, "interrupted; nothing was written");
    net_try(&job->net, status);
    if (job->args.ids_out) write_ids(job);
    if (job->args.classes_out) embed_write_classes(job);
    for (int i = 0; i < EMBED_ARRAYS; i++) close_writer(job, &job->arrays[i].writer);
    close_writer(job, &job->labels);
    embed_note_classes(job);
}
