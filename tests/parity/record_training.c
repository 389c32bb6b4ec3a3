/* SPDX-License-Identifier: Apache-2.0
 *
 * record_training MODEL DATA LABELS OUT [KEY=VALUE]...: trains a network with scant's own
 * training and writes what another program needs to repeat it. steps.py calls it.
 *
 * LABELS is a file of labels, or "-" for data that has its own. A KEY is a training
 * option as in experiment files (lr, momentum, ...), or "seed", or "rows": train on the
 * first so many samples. The folder OUT, which must exist, gets
 *
 *   weights.safetensors  the initial weights, with the scaling in their metadata
 *   steps.txt            a line for each step: its loss, then the rows of its mini-batch
 *
 * The rows are those that the training reads: the data set that it is given records each
 * read. The loss is computed from the mean loss since the start of the epoch, which the
 * training reports after each step.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/option.h"
#include "data/dataset_int.h"

static scant_ctx *ctx;

static int fail(const char *what) {
    fprintf(stderr, "record_training: %s: %s\n", what, scant_ctx_errmsg(ctx));
    return 1;
}

/* ---- recording ---- */

/* The reads of a training. In-memory data is read by one thread, batch after batch. */
static struct {
    const scant_data *data;
    size_t *rows, n, room;
} reads;

static scant_status record_read(const scant_data *data, size_t row, float *out,
                                scant__fault *fault) {
    (void)data;
    if (reads.n == reads.room)
        return scant__fault_set(fault, SCANT_EINTERNAL, "more reads than samples");
    reads.rows[reads.n++] = row;
    return reads.data->read(reads.data, row, out, fault);
}

typedef struct record {
    FILE *file;
    size_t n, batch;       /* samples of an epoch; of a full mini-batch */
    size_t in_epoch, done; /* samples finished: in this epoch, in all */
    double sum;            /* of the losses of the samples of this epoch */
    double *losses;        /* by step */
    size_t *counts;        /* samples by step */
} record;

static void after_step(void *user, const scant_train_state *state) {
    record *r = user;
    size_t left = r->n - r->in_epoch, count = left < r->batch ? left : r->batch;
    r->in_epoch += count;
    double sum = state->loss * (double)r->in_epoch;
    r->losses[state->step - 1] = (sum - r->sum) / (double)count;
    r->counts[state->step - 1] = count;
    r->sum = sum;
    if (r->in_epoch == r->n) r->in_epoch = 0, r->sum = 0;
}

static bool write_steps(const char *folder, const record *r, size_t steps) {
    char path[4096];
    snprintf(path, sizeof path, "%s/steps.txt", folder);
    FILE *file = fopen(path, "w");
    size_t at = 0;
    if (!file) return false;
    for (size_t i = 0; i < steps; i++) {
        fprintf(file, "%.17g", r->losses[i]);
        for (size_t k = 0; k < r->counts[i]; k++) fprintf(file, " %zu", reads.rows[at++]);
        fputc('\n', file);
    }
    return fclose(file) == 0 && at == reads.n;
}

/* ---- options ---- */

/* Sets an option from "KEY=VALUE"; values stay in text. */
static bool set_option(char *text, scant_train_opts *opts, size_t *rows) {
    size_t n;
    const scant_option *table = scant_train_options(&n);
    char *value = strchr(text, '=');
    if (!value) return false;
    *value++ = 0;
    scant__value parsed;
    if (strcmp(text, "seed") == 0) return scant__uint_read(value, &opts->seed);
    if (strcmp(text, "rows") == 0) {
        uint64_t count;
        if (!scant__uint_read(value, &count)) return false;
        *rows = (size_t)count;
        return true;
    }
    const scant_option *option = scant__option_find(table, n, text);
    if (!option || !scant__option_read(option, value, &parsed)) return false;
    scant__option_store(option, value, &parsed, opts);
    return true;
}

/* ---- training ---- */

static scant_status open_data(const char *spec, const char *labels, scant_data **out) {
    const scant_data_opts opts = {.labels = strcmp(labels, "-") == 0 ? NULL : labels};
    return scant_data_open(ctx, spec, &opts, out);
}

static scant_status make_net(const char *model, const scant_data *data, uint64_t seed,
                             const char *folder, scant_net **out) {
    char path[4096];
    scant_net_opts opts = {.classes = scant_data_classes(data), .seed = seed};
    scant_data_shape(data, opts.shape);
    snprintf(path, sizeof path, "%s/weights.safetensors", folder);
    TRY(scant_net_create(ctx, model, &opts, out));
    TRY(scant_net_fit_scaling(*out, data));
    return scant_net_save(*out, path);
}

static scant_status train(scant_net *net, const scant_data *data, scant_train_opts *opts,
                          record *r) {
    scant_data recorded = *data;
    reads.data = data;
    recorded.read = record_read;
    opts->user = r;
    opts->report = after_step;
    return scant_net_train(net, &recorded, opts, NULL);
}

int main(int argc, char **argv) {
    scant_data *data;
    scant_net *net;
    scant_train_opts opts;
    size_t n = 0;
    if (argc < 5 || scant_ctx_create(&(scant_ctx_opts){.threads = 1}, &ctx) != SCANT_OK) {
        fprintf(stderr, "record_training MODEL DATA LABELS OUT [KEY=VALUE]...\n");
        return 2;
    }
    scant_train_defaults(NULL, NULL, &opts);
    for (int i = 5; i < argc; i++)
        if (!set_option(argv[i], &opts, &n)) return fail(argv[i]);
    if (open_data(argv[2], argv[3], &data) != SCANT_OK) return fail(argv[2]);
    if (!n || n > scant_data_count(data) || !opts.steps) return fail("rows and steps");
    reads.room = opts.steps * opts.batch;
    reads.rows = malloc(reads.room * sizeof *reads.rows);
    size_t *rows = malloc(n * sizeof *rows);
    record r = {.n = n,
                .batch = opts.batch,
                .losses = malloc(opts.steps * sizeof *r.losses),
                .counts = malloc(opts.steps * sizeof *r.counts)};
    if (!rows || !reads.rows || !r.losses || !r.counts) return fail("memory");
    for (size_t i = 0; i < n; i++) rows[i] = i;
    opts.rows = rows;
    opts.n_rows = n;
    if (make_net(argv[1], data, opts.seed, argv[4], &net) != SCANT_OK)
        return fail(argv[1]);
    if (train(net, data, &opts, &r) != SCANT_OK) return fail("training");
    if (!write_steps(argv[4], &r, opts.steps)) return fail(argv[4]);
    free(rows), free(reads.rows), free(r.losses), free(r.counts);
    scant_net_free(net);
    scant_data_free(data);
    scant_ctx_free(ctx);
    return 0;
}
