/* SPDX-License-Identifier: Apache-2.0
 *
 * The batches of a training, prefetched by threads. The samples of a step and their
 * augmentation depend only on the seed and the step number, not on threads, so a resumed
 * training sees the same batches.
 *
 * An epoch is a new random order of all n samples, or n draws if samples are drawn by
 * weight. A last batch of a single sample is left out if the network normalises by the
 * batch, because one sample has no variance. With a method (method.h) all batches have
 * the same size, and a batch may continue with the next random order.
 */
#include <math.h>
#include <string.h>

#include "core/rng.h"
#include "nn/train.h"
#include "scant/train.h"

/* ---- choosing samples ---- */

/* Takes the caller's samples, or all labelled ones. */
static scant_status choose_rows(nn_trainer *t) {
    const scant_train_opts *o = &t->opts;
    t->n = o->n_rows;
    t->rows = o->rows;
    if (o->rows) return nn_input_rows_check(t->ctx, t->data, o->rows, &t->n);
    size_t all = scant_data_count(t->data), n = 0;
    const int32_t *labels = scant_data_labels(t->data);
    size_t *rows = TRY_NEW(&t->arena, size_t, size_max(all, 1));
    if (o->labels || o->weights)
        return scant__fail(t->ctx, SCANT_EUSAGE,
                           "labels or weights of samples need rows");
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
                           "regression needs loss=mse and a network with one output: it "
                           "has %zu and loss=%s",
                           classes, o->loss);
    }
    if (!own && !o->labels)
        return scant__fail(t->ctx, SCANT_EINPUT, "%s has no labels to train on",
                           scant_data_name(t->data));
    int32_t *labels = TRY_NEW(&t->arena, int32_t, t->n);
    for (size_t i = 0; i < t->n; i++) {
        labels[i] = o->labels ? o->labels[i] : own[t->rows[i]];
        TRY(check_label(t, t->data, t->rows[i], labels[i]));
    }
    t->labels = labels;
    return SCANT_OK;
}

/* Checks that validation samples exist and have valid labels: at the start, not after the
 * first epoch. */
static scant_status check_valid(nn_trainer *t) {
    const scant_data *valid = t->opts.valid;
    if (!valid) return SCANT_OK;
    size_t n = t->opts.n_valid_rows;
    const size_t *rows = t->opts.valid_rows;
    const int32_t *labels = scant_data_labels(valid);
    TRY(nn_input_check(t->net, valid));
    TRY(nn_input_rows_check(t->ctx, valid, rows, &n));
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
    if (t->opts.draw) t->cumulative = TRY_NEW(&t->arena, double, t->n);
    for (size_t i = 0; i < t->n; i++) {
        if (!(w[i] >= 0) || !isfinite(w[i]))
            return scant__fail(t->ctx, SCANT_EINPUT,
                               "sample %zu has weight %g, expected 0 or more", t->rows[i],
                               (double)w[i]);
        sum += (double)w[i];
        if (t->cumulative) t->cumulative[i] = sum;
    }
    if (sum > 0) return SCANT_OK;
    return scant__fail(t->ctx, SCANT_EINPUT, "all samples have weight 0");
}

static scant_status batch_room(nn_trainer *t, nn_batch *b) {
    const nn_method *m = t->method;
    scant__arena *arena = &t->arena;
    size_t width = scant__data_width(t->data), c = scant_net_classes(t->net);
    size_t inputs = t->batch + (m ? m->grad_views * m->batch : 0);
    b->picks = TRY_NEW(arena, size_t, t->batch);
    b->input = TRY_NEW(arena, float, size_mul(inputs, width));
    b->row = TRY_NEW(arena, float, width);
    b->labels = TRY_NEW(arena, int32_t, t->batch);
    b->weights = TRY_NEW(arena, float, t->batch);
    if (t->squared) b->targets = TRY_NEW(arena, float, size_mul(t->batch, c));
    if (!m) return SCANT_OK;
    b->items = TRY_NEW(arena, size_t, m->batch);
    b->scratch = TRY_NEW(arena, char, size_max(m->scratch, 1));
    if (m->nograd_views)
        b->nograd_input = TRY_NEW(arena, float, size_mul(m->batch, width));
    return SCANT_OK;
}

/* Sets samples per step and steps per epoch. */
static scant_status choose_batch(nn_trainer *t) {
    const nn_method *m = t->method;
    bool norm = nn_net_has(t->net->net, NN_NORM);
    t->batch = m ? t->opts.batch : size_min(t->opts.batch, t->n);
    if (m) {
        t->per_epoch = (m->n + m->batch - 1) / m->batch;
        return SCANT_OK;
    }
    t->per_epoch = (t->n + t->batch - 1) / t->batch;
    if (t->n % t->batch == 1 && t->per_epoch > 1 && norm) t->per_epoch--;
    if (t->n == 1 && norm)
        return scant__fail(t->ctx, SCANT_EINPUT,
                           "one sample is not enough: %s normalises by the batch",
                           t->net->net->model);
    return SCANT_OK;
}

static scant_status begin_cycle(nn_trainer *t, nn_cycle *c, size_t n, uint32_t purpose) {
    *c = (nn_cycle){.n = n, .purpose = purpose, .order_of = UINT64_MAX};
    c->order = TRY_NEW(&t->arena, size_t, n);
    return SCANT_OK;
}

scant_status nn_train_samples(nn_trainer *t) {
    TRY(choose_rows(t));
    if (!t->n)
        return scant__fail(t->ctx, SCANT_EINPUT, "%s has no labelled samples to train on",
                           scant_data_name(t->data));
    TRY(check_labels(t));
    TRY(check_weights(t));
    TRY(choose_batch(t));
    TRY(begin_cycle(t, &t->cycle, t->n, SCANT__RNG_EPOCH));
    if (t->method)
        TRY(begin_cycle(t, &t->unlabelled_cycle, t->method->n, SCANT__RNG_UNLABELLED));
    for (int i = 0; i < NN_BATCHES; i++) TRY(batch_room(t, &t->batches[i]));
    return check_valid(t);
}

/* ---- batches ---- */

/* Writes the samples at positions first..first+count-1 of the concatenated passes. */
static void hand_out(const nn_trainer *t, nn_cycle *c, uint64_t first, size_t count,
                     size_t *out) {
    scant__rng rng = {t->opts.seed, c->purpose};
    for (size_t n; count; first += n, out += n, count -= n) {
        uint64_t pass = first / c->n;
        size_t at = (size_t)(first % c->n);
        n = size_min(count, c->n - at);
        if (c->order_of != pass) scant__rng_shuffle(&rng, pass * c->n, c->n, c->order);
        c->order_of = pass;
        memcpy(out, c->order + at, n * sizeof *out);
    }
}

/* The first sample whose cumulative weight exceeds u times the total, u uniform. */
static size_t draw(const nn_trainer *t, uint64_t index) {
    scant__rng rng = {t->opts.seed, SCANT__RNG_DRAW};
    double target = scant__rng_unit(&rng, index) * t->cumulative[t->n - 1];
    size_t low = 0, high = t->n - 1;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (t->cumulative[middle] > target)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static void prepare(void *arg, size_t item, size_t slot) {
    nn_trainer *t = arg;
    nn_batch *b = &t->batches[slot];
    const nn_method *m = t->method;
    uint64_t epoch = item / t->per_epoch, at = item % t->per_epoch * t->batch;
    b->count = m ? t->batch : size_min(t->batch, t->n - (size_t)at);
    if (m)
        hand_out(t, &t->unlabelled_cycle, (uint64_t)item * m->batch, m->batch, b->items);
    if (t->cumulative) {
        for (size_t i = 0; i < b->count; i++)
            b->picks[i] = draw(t, (uint64_t)item * t->batch + i);
        return;
    }
    uint64_t first = m ? (uint64_t)item * t->batch : epoch * t->n + at;
    hand_out(t, &t->cycle, first, b->count, b->picks);
}

static void set_target(const nn_trainer *t, nn_batch *b, size_t i) {
    size_t pick = b->picks[i], c = scant_net_classes(t->net);
    b->weights[i] = t->opts.weights && !t->cumulative ? t->opts.weights[pick] : 1;
    if (t->targets) {
        b->targets[i] = t->targets[t->rows[pick]];
        return;
    }
    b->labels[i] = t->labels[pick];
    if (!t->squared) return;
    memset(b->targets + i * c, 0, c * sizeof *b->targets); /* one-hot */
    b->targets[i * c + (size_t)t->labels[pick]] = 1;
}

/* Augments before the network's scaling, because noise is in the data's units. */
static scant_status fill_labelled(const nn_trainer *t, nn_batch *b, size_t item,
                                  scant__fault *fault) {
    size_t width = scant__data_width(t->data);
    scant__rng rng = {t->opts.seed, SCANT__RNG_AUGMENT};
    for (size_t i = 0; i < b->count; i++) {
        float *to = b->input + i * width;
        TRY(scant__data_read(t->data, t->rows[b->picks[i]], t->augmented ? b->row : to,
                             fault));
        if (t->augmented)
            scant__augment_weak(&t->views, &rng, (uint64_t)item * t->batch + i, b->row,
                                to);
        nn_input_scale(t->net, to);
        set_target(t, b, i);
    }
    return SCANT_OK;
}

static scant_status fill_unlabelled(const nn_trainer *t, nn_batch *b, size_t item,
                                    scant__fault *fault) {
    const nn_method *m = t->method;
    size_t width = scant__data_width(t->data);
    float *inputs = b->input + b->count * width, *out[NN_VIEWS];
    for (size_t i = 0; i < m->batch; i++) {
        for (size_t v = 0; v < m->grad_views; v++)
            out[v] = inputs + (v * m->batch + i) * width;
        if (m->nograd_views) out[m->grad_views] = b->nograd_input + i * width;
        TRY(scant__data_read(t->data, m->rows[b->items[i]], b->row, fault));
        m->view(m->arg, (uint64_t)item * m->batch + i, b->row, out, b->scratch);
        for (size_t v = 0; v < m->grad_views + m->nograd_views; v++)
            nn_input_scale(t->net, out[v]);
    }
    return SCANT_OK;
}

static scant_status fill(void *arg, size_t item, size_t slot, scant__fault *fault) {
    nn_trainer *t = arg;
    nn_batch *b = &t->batches[slot];
    TRY(fill_labelled(t, b, item, fault));
    return t->method ? fill_unlabelled(t, b, item, fault) : SCANT_OK;
}

scant_status nn_train_prefetch(nn_trainer *t, size_t first, scant__prefetch **out) {
    return scant__prefetch_start(
        t->ctx,
        &(scant__prefetch_job){.first = first,
                               .last = t->state.steps,
                               .slots = NN_BATCHES,
                               .threads = nn_input_threads(t->net, t->data),
                               .arg = t,
                               .prepare = prepare,
                               .fill = fill},
        out);
}
