/* SPDX-License-Identifier: Apache-2.0
 *
 * The samples of `scant train`: training set, validation set, test set.
 */
#include "cli/train.h"

/* Moves a training row and its weight within the lists. */
static void move_row(train_job *job, size_t to, size_t from) {
    job->rows[to] = job->rows[from];
    if (job->weights) job->weights[to] = job->weights[from];
}

/* Lists the labelled rows of --indices, or of all the data. */
static void leave_unlabelled(train_job *job) {
    scant_train_opts *o = &job->args.train;
    const int32_t *labels = scant_data_labels(job->data);
    size_t all = job->rows ? o->n_rows : scant_data_count(job->data);
    if (!job->rows) {
        job->rows = cli_calloc(all, sizeof *job->rows);
        for (size_t i = 0; i < all; i++) job->rows[i] = i;
    }
    o->n_rows = 0;
    for (size_t i = 0; i < all; i++)
        if (!labels || labels[job->rows[i]] >= 0) move_row(job, o->n_rows++, i);
    if (!o->n_rows)
        cli_die(CLI_BAD_INPUT, "%s: none of %zu samples has a label (-1 is none)",
                job->args.net.data, all);
    if (o->n_rows < all && !job->net.ui.quiet && !train_by_method(job))
        cli_note("%zu of %zu samples have no label (-1) and are left out",
                 all - o->n_rows, all);
}

/* Draws the validation set from the training set. */
static void hold_out(train_job *job) {
    scant_train_opts *o = &job->args.train;
    size_t wanted = job->args.validation, n = o->n_rows;
    scant_picks *picks;
    if (!wanted) return;
    if (wanted >= n)
        cli_die(CLI_BAD_INPUT,
                "--validation %zu leaves nothing of %zu samples to train on", wanted, n);
    net_try(&job->net,
            scant_select(job->net.ctx, "random", &(scant_evidence){.rows = n}, wanted,
                         &(scant_select_opts){.seed = job->args.net.common.seed},
                         &picks));
    bool *out = cli_calloc(n, sizeof *out);
    size_t *valid = cli_calloc(wanted, sizeof *valid);
    for (size_t i = 0; i < picks->count; i++) out[picks->items[i].index] = true;
    scant_picks_free(job->net.ctx, picks);
    o->valid = job->data;
    o->valid_rows = valid;
    o->n_rows = 0;
    for (size_t i = 0; i < n; i++) {
        if (out[i])
            valid[o->n_valid_rows++] = job->rows[i];
        else
            move_row(job, o->n_rows++, i);
    }
}

/* Warns if all labels are equal: the network would always predict that class. */
static void warn_of_one_class(const train_job *job) {
    const int32_t *labels = scant_data_labels(job->data);
    size_t n = job->args.train.n_rows;
    if (!labels || job->net.ui.quiet) return;
    for (size_t i = 1; i < n; i++)
        if (labels[job->rows[i]] != labels[job->rows[0]]) return;
    cli_warning(
        "%s: all %zu samples to train on are of one class (%d): the network cannot "
        "learn to tell classes apart",
        job->args.net.data, n, (int)labels[job->rows[0]]);
}

void train_open_samples(train_job *job) {
    train_args *a = &job->args;
    job->data = net_open_data(&job->net, &a->net, false);
    if (!scant_data_labels(job->data) && !scant_data_targets(job->data))
        cli_die(CLI_BAD_INPUT, "%s has no labels to train on: give --labels FILE",
                a->net.data);
    job->rows = net_read_rows(&job->net, a->net.indices, job->data, &a->train.n_rows);
    train_read_weights(job);
    leave_unlabelled(job);
    hold_out(job);
    a->train.rows = job->rows;
    a->train.weights = job->weights;
    train_open_unlabelled(job);
    net_open_test(&job->net, &a->net, job->data, &a->test);
    net_check_samples(&job->net, &a->net, a->test.spec, job->data, a->test.data);
    warn_of_one_class(job);
}
