/* SPDX-License-Identifier: Apache-2.0
 *
 * The samples of `scant train`: training set, validation set, test set.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/train.h"
#include "scant/train.h"

static bool usable(const scant_data *data, size_t row) {
    const int32_t *labels = scant_data_labels(data);
    return !labels || labels[row] >= 0;
}

/* Moves a training sample to another place, with its weight. */
static void keep_row(train_job *job, size_t to, size_t from) {
    job->rows[to] = job->rows[from];
    if (job->weights) job->weights[to] = job->weights[from];
}

/* The rows of --indices, or all, without those that have no label. */
static int leave_unlabelled(train_job *job) {
    size_t all = job->rows ? job->n_rows : scant_data_count(job->data), kept = 0;
    if (!job->rows) {
        job->rows = cli_calloc(all, sizeof *job->rows);
        for (size_t i = 0; i < all; i++) job->rows[i] = i;
    }
    for (size_t i = 0; i < all; i++)
        if (usable(job->data, job->rows[i])) keep_row(job, kept++, i);
    job->n_rows = kept;
    if (!job->n_rows) {
        cli_error("%s: none of %zu samples has a label (-1 is none)",
                  job->args.samples.spec, all);
        return CLI_BAD_INPUT;
    }
    if (job->n_rows < all && !job->net.ui.quiet && !train_by_method(job))
        cli_note("%zu of %zu samples have no label (-1) and are left out",
                 all - job->n_rows, all);
    return CLI_DONE;
}

/* Moves the picks, which are places in rows, to the validation set. */
static void take_out(train_job *job, const scant_picks *picks) {
    bool *out = cli_calloc(job->n_rows, sizeof *out);
    size_t kept = 0;
    job->valid = cli_calloc(picks->count, sizeof *job->valid);
    for (size_t i = 0; i < picks->count; i++) out[picks->items[i].index] = true;
    for (size_t i = 0; i < job->n_rows; i++) {
        if (out[i])
            job->valid[job->n_valid++] = job->rows[i];
        else
            keep_row(job, kept++, i);
    }
    job->n_rows = kept;
    free(out);
}

static int hold_out(train_job *job) {
    size_t wanted = job->args.validation;
    scant_picks *picks;
    if (!wanted) return CLI_DONE;
    if (wanted >= job->n_rows) {
        cli_error("--validation %zu leaves nothing of %zu samples to train on", wanted,
                  job->n_rows);
        return CLI_BAD_INPUT;
    }
    scant_status status =
        scant_select(job->net.ctx, "random", &(scant_evidence){.rows = job->n_rows},
                     wanted, &(scant_select_opts){.seed = job->args.means.seed}, &picks);
    if (status != SCANT_OK) return net_failed(&job->net, status);
    take_out(job, picks);
    scant_picks_free(job->net.ctx, picks);
    return CLI_DONE;
}

static int open_test(train_job *job) {
    const train_args *a = &job->args;
    net_test test = {.spec = a->test, .labels = a->test_labels};
    int status = net_open_test(&job->net, &a->samples, &a->means, job->data, &test);
    job->test = test.data;
    job->test_rows = test.rows;
    job->n_test = test.n;
    return status;
}

/* A network trained on one class always predicts it. */
static void warn_of_one_class(const train_job *job) {
    const int32_t *labels = scant_data_labels(job->data);
    if (!labels || job->net.ui.quiet) return;
    for (size_t i = 1; i < job->n_rows; i++)
        if (labels[job->rows[i]] != labels[job->rows[0]]) return;
    cli_warning(
        "%s: all %zu samples to train on are of one class (%d): the network cannot "
        "learn to tell classes apart",
        job->args.samples.spec, job->n_rows, (int)labels[job->rows[0]]);
}

int train_open_samples(train_job *job) {
    const train_args *a = &job->args;
    int status = net_open_data(&job->net, &a->samples, &a->means, false, &job->data);
    if (status != CLI_DONE) return status;
    if (!scant_data_labels(job->data) && !scant_data_targets(job->data)) {
        cli_error("%s has no labels to train on: give --labels FILE", a->samples.spec);
        return CLI_BAD_INPUT;
    }
    status =
        net_read_rows(&job->net, a->samples.indices, job->data, &job->rows, &job->n_rows);
    if (status == CLI_DONE) status = train_read_weights(job);
    if (status == CLI_DONE) status = leave_unlabelled(job);
    if (status == CLI_DONE) status = hold_out(job);
    if (status == CLI_DONE) status = train_open_unlabelled(job);
    if (status == CLI_DONE) status = open_test(job);
    if (status == CLI_DONE)
        status = net_check_samples(&job->net, &a->samples, a->test, job->data, job->test);
    if (status == CLI_DONE) warn_of_one_class(job);
    return status;
}
