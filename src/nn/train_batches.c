/* SPDX-License-Identifier: Apache-2.0
 *
 * The samples of a training, batch after batch, made ready by threads ahead of the one
 * that computes. Which samples a step sees and how they are changed is a function of the
 * seed and the step's number: not of threads, and a resumed training sees what it would
 * have seen.
 *
 * An epoch is a new random order of all samples; where samples are drawn by weight, as
 * many draws as there are samples. A last batch of a single sample is left out where the
 * network normalises by the batch, as one sample has no variance.
 */
#include <math.h>
#include <string.h>

#include "core/rng.h"
#include "data/augment.h"
#include "nn/train.h"

static bool normalises(const nn_net *net) {
    for (size_t i = 0; i < net->n_nodes; i++)
        if (net->nodes[i].kind == NN_NORM) return true;
    return false;
}

/* ---- which samples ---- */

/* All that have a label, where the caller named none. */
static scant_status choose_rows(nn_trainer *t) {
    const scant_train_opts *o = &t->opts;
    t->n = o->n_rows;
    t->rows = o->rows;
    if (o->rows) return nn_feed_rows_check(t->ctx, t->data, o->rows, &t->n);
    size_t all = scant_data_count(t->data), n = 0;
    const int32_t *labels = scant_data_labels(t->data);
    size_t *rows = scant__arena_alloc(&t->arena, size_max(all, 1), sizeof *rows);
    if (!rows) return SCANT_ENOMEM;
    if (o->labels || o->weights)
        return scant__fail(t->ctx, SCANT_EUSAGE,
                           "labels or weights of samples need the rows they are of");
    for (size_t i = 0; i < all; i++)
        if (!labels || labels[i] >= 0) rows[n++] = i;
    t->rows = rows;
    t->n = n;
    return SCANT_OK;
}

static scant_status check_label(nn_trainer *t, const scant_data *data, size_t row,
                                int32_t label) {
    size_t classes = scant_net_classes(t->net);
    if (label >= 0 && (size_t)label < classes) return SCANT_OK;
    return scant__fail(
        t->ctx, SCANT_EINPUT,
        "%s: sample %zu has label %d, but the network has %zu classes (0 to "
        "%zu)",
        scant_data_name(data), row, (int)label, classes, classes - 1);
}

static scant_status check_labels(nn_trainer *t) {
    const scant_train_opts *o = &t->opts;
    const int32_t *own = scant_data_labels(t->data);
    size_t classes = scant_net_classes(t->net);
    t->targets = o->labels ? NULL : scant_data_targets(t->data);
    if (t->targets) {
        if (classes == 1 && t->squared) return SCANT_OK;
        return scant__fail(t->ctx, SCANT_EUSAGE,
                           "numbers to predict need loss=mse and a network with one "
                           "output: it has %zu and loss=%s",
                           classes, o->loss);
    }
    if (!own && !o->labels)
        return scant__fail(t->ctx, SCANT_EINPUT, "%s has no labels to train on",
                           scant_data_name(t->data));
    int32_t *labels = scant__arena_alloc(&t->arena, t->n, sizeof *labels);
    if (!labels) return SCANT_ENOMEM;
    for (size_t i = 0; i < t->n; i++) {
        labels[i] = o->labels ? o->labels[i] : own[t->rows[i]];
        TRY(check_label(t, t->data, t->rows[i], labels[i]));
    }
    t->labels = labels;
    return SCANT_OK;
}

/* Now, and not when the first epoch has ended. */
scant_status nn_train_check_valid(nn_trainer *t) {
    const scant_data *valid = t->opts.valid;
    if (!valid) return SCANT_OK;
    size_t n = t->opts.n_valid_rows;
    const size_t *rows = t->opts.valid_rows;
    const int32_t *labels = scant_data_labels(valid);
    TRY(nn_feed_check(t->net, valid));
    TRY(nn_feed_rows_check(t->ctx, valid, rows, &n));
    if (!n)
        return scant__fail(t->ctx, SCANT_EINPUT, "%s has no samples to validate on",
                           scant_data_name(valid));
    if (!labels && (!scant_data_targets(valid) || !t->targets))
        return scant__fail(t->ctx, SCANT_EINPUT, "%s has no labels to validate with",
                           scant_data_name(valid));
    for (size_t i = 0; labels && i < n; i++) {
        size_t row = rows ? rows[i] : i;
        TRY(check_label(t, valid, row, labels[row]));
    }
    return SCANT_OK;
}

static scant_status check_weights(nn_trainer *t) {
    const float *w = t->opts.weights;
    double sum = 0;
    if (!w) return SCANT_OK;
    if (t->opts.draw) {
        t->running = scant__arena_alloc(&t->arena, t->n, sizeof *t->running);
        if (!t->running) return SCANT_ENOMEM;
    }
    for (size_t i = 0; i < t->n; i++) {
        if (!(w[i] >= 0) || !isfinite(w[i]))
            return scant__fail(t->ctx, SCANT_EINPUT,
                               "sample %zu has weight %g: weights are 0 or more",
                               t->rows[i], (double)w[i]);
        sum += (double)w[i];
        if (t->running) t->running[i] = sum;
    }
    if (sum > 0) return SCANT_OK;
    return scant__fail(t->ctx, SCANT_EINPUT, "all samples have weight 0");
}

static scant_status batch_room(nn_trainer *t, nn_batch *b) {
    size_t width = scant__data_width(t->data), c = scant_net_classes(t->net);
    b->picks = scant__arena_alloc(&t->arena, t->batch, sizeof *b->picks);
    b->input = scant__arena_alloc(&t->arena, t->batch, width * sizeof *b->input);
    b->row = scant__arena_alloc(&t->arena, width, sizeof *b->row);
    b->labels = scant__arena_alloc(&t->arena, t->batch, sizeof *b->labels);
    b->weights = scant__arena_alloc(&t->arena, t->batch, sizeof *b->weights);
    if (t->squared)
        b->targets = scant__arena_alloc(&t->arena, t->batch, c * sizeof *b->targets);
    bool all = b->picks && b->input && b->row && b->labels && b->weights;
    return all && (b->targets || !t->squared) ? SCANT_OK : SCANT_ENOMEM;
}

scant_status nn_train_samples(nn_trainer *t) {
    TRY(choose_rows(t));
    if (!t->n)
        return scant__fail(t->ctx, SCANT_EINPUT, "%s has no labelled samples to train on",
                           scant_data_name(t->data));
    TRY(check_labels(t));
    TRY(check_weights(t));
    t->batch = size_min(t->opts.batch, t->n);
    t->per_epoch = (t->n + t->batch - 1) / t->batch;
    if (t->n % t->batch == 1 && t->per_epoch > 1 && normalises(t->net->net))
        t->per_epoch--;
    if (t->n == 1 && normalises(t->net->net))
        return scant__fail(t->ctx, SCANT_EINPUT,
                           "one sample is not enough: %s normalises by the batch",
                           t->net->net->model);
    t->order = scant__arena_alloc(&t->arena, t->n, sizeof *t->order);
    t->order_of = SIZE_MAX;
    if (!t->order) return SCANT_ENOMEM;
    for (int i = 0; i < NN_BATCHES; i++) TRY(batch_room(t, &t->batches[i]));
    return SCANT_OK;
}

/* ---- batches ---- */

static void shuffle(nn_trainer *t, size_t epoch) {
    scant__rng rng = {t->opts.seed, SCANT__RNG_EPOCH};
    scant__rng_shuffle(&rng, (uint64_t)epoch * t->n, t->n, t->order);
    t->order_of = epoch;
}

/* The first sample whose running sum exceeds u of the total. */
static size_t draw(const nn_trainer *t, uint64_t index) {
    scant__rng rng = {t->opts.seed, SCANT__RNG_DRAW};
    double want = scant__rng_unit(&rng, index) * t->running[t->n - 1];
    size_t low = 0, high = t->n - 1;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (t->running[middle] > want)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static void prepare(void *arg, size_t item, size_t slot) {
    nn_trainer *t = arg;
    nn_batch *b = &t->batches[slot];
    size_t epoch = item / t->per_epoch, at = item % t->per_epoch * t->batch;
    b->count = size_min(t->batch, t->n - at);
    if (t->running) {
        for (size_t i = 0; i < b->count; i++)
            b->picks[i] = draw(t, (uint64_t)item * t->batch + i);
        return;
    }
    if (t->order_of != epoch) shuffle(t, epoch);
    memcpy(b->picks, t->order + at, b->count * sizeof *b->picks);
}

static void want(const nn_trainer *t, nn_batch *b, size_t i) {
    size_t pick = b->picks[i], c = scant_net_classes(t->net);
    b->weights[i] = t->opts.weights && !t->running ? t->opts.weights[pick] : 1;
    if (t->targets) {
        b->targets[i] = t->targets[t->rows[pick]];
        return;
    }
    b->labels[i] = t->labels[pick];
    if (!t->squared) return;
    memset(b->targets + i * c, 0, c * sizeof *b->targets); /* one-hot */
    b->targets[i * c + (size_t)t->labels[pick]] = 1;
}

static scant_status fill(void *arg, size_t item, size_t slot, scant__fault *fault) {
    const nn_trainer *t = arg;
    nn_batch *b = &((nn_trainer *)arg)->batches[slot];
    size_t width = scant__data_width(t->data);
    nn_shape s = nn_net_input(t->net->net);
    for (size_t i = 0; i < b->count; i++) {
        float *to = b->input + i * width;
        TRY(nn_feed_row(t->net, t->data, t->rows[b->picks[i]], t->crop ? b->row : to,
                        fault));
        if (t->crop)
            scant__augment_flip_crop(b->row, to, s.c, s.h, s.w, t->opts.seed,
                                     (uint64_t)item * t->batch + i, t->flip);
        want(t, b, i);
    }
    return SCANT_OK;
}

scant_status nn_train_ahead(nn_trainer *t, size_t first, scant__ahead **out) {
    return scant__ahead_start(
        t->ctx,
        &(scant__ahead_job){.first = first,
                            .last = t->state.steps,
                            .slots = NN_BATCHES,
                            .threads = nn_feed_threads(t->net, t->data),
                            .arg = t,
                            .prepare = prepare,
                            .fill = fill},
        out);
}
