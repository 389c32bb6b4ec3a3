/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant embed`, block by block. A block of all outputs takes 64 MiB at most, unless a
 * single sample takes more.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/embed.h"
#include "core/argmax.h"
#include "scant/train.h"

enum { BLOCK = 1024, BLOCK_BYTES = 64 << 20, SKETCH = 512 };

static const double reprint = 2.0; /* seconds between two plain lines */

/* ---- progress ---------------------------------------------------------------------- */

void embed_progress(void *user, const char *phase, double fraction) {
    embed_job *job = user;
    cli_ui *ui = &job->net.ui;
    double now = cli_now();
    char text[160], left[32];
    if (job->begun == 0) { /* still opening */
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

static void set_widths(embed_job *job) {
    size_t classes = scant_net_classes(job->network);
    if (!job->args.sketch) job->args.sketch = SKETCH;
    job->arrays[EMBED_FEATURES].width = scant_net_features(job->network);
    job->arrays[EMBED_PROBS].width = classes;
    job->arrays[EMBED_LOGITS].width = classes;
    job->arrays[EMBED_CALIBRATED].width = classes;
    job->arrays[EMBED_GRADIENTS].width = job->args.sketch;
    job->arrays[EMBED_SAMPLES].width = scant_net_draws(job->network) * classes;
}

/* Gradients at labels need the classes that are predicted for the rest. */
static bool needs(const embed_job *job, int which) {
    return job->args.arrays[which] || (which == EMBED_LOGITS && job->labelled);
}

static void make_blocks(embed_job *job) {
    size_t bytes = 64, most = job->args.batch ? job->args.batch : BLOCK;
    for (int i = 0; i < EMBED_ARRAYS; i++)
        if (needs(job, i)) bytes += job->arrays[i].width * sizeof(float);
    job->block = BLOCK_BYTES / bytes;
    if (job->block < 1) job->block = 1;
    if (job->block > most) job->block = most;
    if (job->block > job->n) job->block = job->n;
    for (int i = 0; i < EMBED_ARRAYS; i++)
        if (needs(job, i))
            job->arrays[i].block =
                cli_calloc(job->block * job->arrays[i].width, sizeof(float));
    job->block_rows = cli_calloc(job->block, sizeof *job->block_rows);
    job->block_labels = cli_calloc(job->block, sizeof *job->block_labels);
    job->label_block = cli_calloc(job->block, sizeof *job->label_block);
    job->passes = job->args.arrays[EMBED_GRADIENTS] ? 1 : 0;
    if (needs(job, EMBED_FEATURES) || needs(job, EMBED_PROBS) ||
        needs(job, EMBED_LOGITS) || needs(job, EMBED_CALIBRATED) ||
        needs(job, EMBED_SAMPLES))
        job->passes++;
}

static scant_status open_writer(embed_job *job, int which) {
    size_t m = scant_net_draws(job->network), classes = scant_net_classes(job->network);
    bool draws = which == EMBED_SAMPLES;
    size_t plain[] = {job->n, job->arrays[which].width}, drawn[] = {m, job->n, classes};
    return scant_writer_open(job->net.ctx, job->args.arrays[which], SCANT_F32,
                             draws ? 3 : 2, draws ? drawn : plain,
                             &job->arrays[which].writer);
}

static scant_status open_writers(embed_job *job) {
    scant_status status = SCANT_OK;
    for (int i = 0; i < EMBED_ARRAYS && status == SCANT_OK; i++)
        if (job->args.arrays[i]) status = open_writer(job, i);
    if (status == SCANT_OK && job->args.labels_out)
        status = scant_writer_open(job->net.ctx, job->args.labels_out, SCANT_I64, 1,
                                   (size_t[]){job->n}, &job->labels);
    return status;
}

/* ---- a block ----------------------------------------------------------------------- */

/* The label of a labelled sample, the predicted class of another. */
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
        .last_layer = job->args.layers && strcmp(job->args.layers, "last") == 0,
        .labels = gradient_labels(job),
        .sketch = job->args.sketch,
        .seed = job->args.means.seed,
    };
    scant_gradients out = {.sketches = job->arrays[EMBED_GRADIENTS].block};
    return scant_net_gradients(job->network, job->data, job->block_rows, job->now, &opts,
                               &out);
}

/* A piece of each draw's plane. */
static scant_status write_samples(embed_job *job) {
    size_t row = scant_net_classes(job->network) * sizeof(float), bytes = job->now * row;
    const char *block = (const char *)job->arrays[EMBED_SAMPLES].block;
    scant_status status = SCANT_OK;
    for (size_t s = 0; s < scant_net_draws(job->network) && status == SCANT_OK; s++)
        status =
            scant_writer_put(job->arrays[EMBED_SAMPLES].writer,
                             (s * job->n + job->done) * row, block + s * bytes, bytes);
    return status;
}

static scant_status write_block(embed_job *job) {
    const int32_t *labels = scant_data_labels(job->data);
    scant_status status = SCANT_OK;
    if (job->arrays[EMBED_SAMPLES].writer) status = write_samples(job);
    for (int i = 0; i < EMBED_SAMPLES && status == SCANT_OK; i++)
        if (job->arrays[i].writer)
            status = scant_writer_append(job->arrays[i].writer, job->arrays[i].block,
                                         job->now * job->arrays[i].width * sizeof(float));
    if (status != SCANT_OK || !job->labels) return status;
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
                         .samples = job->arrays[EMBED_SAMPLES].block};
    scant_status status = SCANT_OK;
    for (size_t i = 0; i < job->now; i++)
        job->block_rows[i] = job->rows ? job->rows[job->done + i] : job->done + i;
    job->pass = 0;
    if (out.features || out.logits || out.probs || out.calibrated || out.samples) {
        status =
            scant_net_predict(job->network, job->data, job->block_rows, job->now, &out);
        job->pass++;
    }
    if (status == SCANT_OK && job->args.arrays[EMBED_GRADIENTS])
        status = take_gradients(job);
    return status == SCANT_OK ? write_block(job) : status;
}

/* ---- the end ----------------------------------------------------------------------- */

static scant_status close_writer(scant_writer **writer) {
    scant_writer *w = *writer;
    *writer = NULL;
    return w ? scant_writer_finish(w) : SCANT_OK;
}

static int write_ids(embed_job *job) {
    scant__text text = CLI_TEXT;
    int status = CLI_DONE;
    for (size_t i = 0; i < job->n && status == CLI_DONE; i++) {
        const char *name =
            scant_data_sample_name(job->data, job->rows ? job->rows[i] : i);
        if (strchr(name, '\n')) {
            cli_error("%s: the name '%s' has a line break in it, which --ids-out cannot "
                      "hold",
                      job->args.samples.spec, name);
            status = CLI_BAD_INPUT;
        }
        scant__text_addf(&text, "%s\n", name);
    }
    scant_status written = SCANT_OK;
    if (status == CLI_DONE)
        written = scant_file_write(job->net.ctx, job->args.ids_out, text.data, text.size);
    scant__text_end(&text);
    return written == SCANT_OK ? status : net_failed(&job->net, written);
}

static int finish(embed_job *job) {
    scant_status status = SCANT_OK;
    if (job->args.ids_out) {
        int named = write_ids(job);
        if (named != CLI_DONE) return named;
    }
    if (job->args.classes_out) {
        int named = embed_write_classes(job);
        if (named != CLI_DONE) return named;
    }
    for (int i = 0; i < EMBED_ARRAYS && status == SCANT_OK; i++)
        status = close_writer(&job->arrays[i].writer);
    if (status == SCANT_OK) status = close_writer(&job->labels);
    if (status != SCANT_OK) return net_failed(&job->net, status);
    embed_tell_classes(job);
    return CLI_DONE;
}

int embed_run(embed_job *job) {
    set_widths(job);
    make_blocks(job);
    scant_status status = open_writers(job);
    job->begun = cli_now();
    for (; status == SCANT_OK && job->done < job->n; job->done += job->now) {
        job->now = job->n - job->done < job->block ? job->n - job->done : job->block;
        status = run_block(job);
        if (status == SCANT_OK && cli_interrupted()) status = SCANT_ECANCELLED;
    }
    job->begun = 0; /* what follows has its own progress bar */
    cli_ui_clear(&job->net.ui);
    if (status == SCANT_ECANCELLED) {
        cli_error("interrupted; nothing was written");
        return CLI_INTERRUPTED;
    }
    return status == SCANT_OK ? finish(job) : net_failed(&job->net, status);
}

void embed_run_end(embed_job *job) {
    for (int i = 0; i < EMBED_ARRAYS; i++) {
        scant_writer_free(job->arrays[i].writer);
        free(job->arrays[i].block);
    }
    scant_writer_free(job->labels);
    free(job->block_rows);
    free(job->block_labels);
    free(job->label_block);
}
