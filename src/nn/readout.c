/* SPDX-License-Identifier: Apache-2.0
 *
 * Read-outs: what a network says of samples, batch by batch.
 *
 * Samples of the next batch are read while the network computes this one. Where the last
 * batch is smaller it is filled up with zeros, and what comes of them is thrown away: a
 * plan of its own would have to be made first.
 */
#include <math.h>
#include <string.h>

#include "core/ahead.h"
#include "nn/feed.h"
#include "nn/loss.h"
#include "nn/readout.h"

enum { SLOTS = 3, BYTES_AIM = 256 << 20 };

/* Batches as large as pays, as small as the memory asks for. */
size_t nn_readout_batch(const scant_net *net, size_t n) {
    size_t sample = 1;
    for (size_t i = 0; i < net->net->n_nodes; i++)
        sample = size_max(sample, nn_shape_size(net->net->nodes[i].shape));
    size_t batch = BYTES_AIM / (4 * sample * sizeof(float));
    batch = size_max(1, size_min(batch, 256));
    return size_min(batch, size_max(n, 1));
}

typedef struct stream {
    scant_net *net;
    const scant_data *data;
    const size_t *rows;
    size_t n, batch, width;
    float *slots;
} stream;

static scant_status fill(void *arg, size_t item, size_t slot, scant__fault *fault) {
    const stream *s = arg;
    float *out = s->slots + slot * s->batch * s->width;
    for (size_t i = 0; i < s->batch; i++) {
        size_t at = item * s->batch + i;
        if (at >= s->n) {
            memset(out + i * s->width, 0, s->width * sizeof *out);
            continue;
        }
        TRY(nn_feed_row(s->net, s->data, s->rows ? s->rows[at] : at, out + i * s->width,
                        fault));
    }
    return SCANT_OK;
}

scant_status nn_readout(scant_net *net, const scant_data *data, const size_t *rows,
                        size_t n, const char *phase, nn_readout_fn fn, void *arg) {
    TRY(nn_feed_check(net, data));
    TRY(nn_feed_rows_check(net->ctx, data, rows, &n));
    if (!n) return SCANT_OK;
    stream s = {net, data, rows, n, nn_readout_batch(net, n), scant__data_width(data),
                NULL};
    nn_plan *plan;
    TRY(nn_network_plan(net, s.batch, NN_PREDICT, &plan));
    s.slots = scant__alloc(net->ctx, SLOTS * s.batch, s.width * sizeof *s.slots);
    if (!s.slots) return SCANT_ENOMEM;
    size_t batches = (n + s.batch - 1) / s.batch, slot;
    scant__ahead *ahead = NULL;
    scant_status status =
        scant__ahead_start(net->ctx,
                           &(scant__ahead_job){.last = batches,
                                               .slots = SLOTS,
                                               .threads = nn_feed_threads(net, data),
                                               .arg = &s,
                                               .fill = fill},
                           &ahead);
    for (size_t b = 0; b < batches && status == SCANT_OK; b++) {
        status = scant__ahead_take(ahead, &slot);
        if (status != SCANT_OK) break;
        memcpy(nn_plan_input(plan), s.slots + slot * s.batch * s.width,
               s.batch * s.width * sizeof *s.slots);
        status = nn_plan_forward(plan, 0, 0);
        size_t count = size_min(s.batch, n - b * s.batch);
        if (status == SCANT_OK) status = fn(arg, plan, b * s.batch, count);
        if (status == SCANT_OK) status = scant__tick(net->ctx, phase, b + 1, batches);
    }
    scant__ahead_end(ahead);
    scant__free(net->ctx, s.slots);
    return status;
}

/* ---- predictions ---- */

typedef struct predict {
    const scant_outputs *out;
    size_t features, classes;
} predict;

static scant_status predict_batch(void *arg, nn_plan *plan, size_t first, size_t count) {
    const predict *p = arg;
    const float *logits = nn_plan_logits(plan);
    size_t d = p->features, c = p->classes;
    if (p->out->features)
        memcpy(p->out->features + first * d, nn_plan_features(plan),
               count * d * sizeof(float));
    if (p->out->logits)
        memcpy(p->out->logits + first * c, logits, count * c * sizeof(float));
    if (p->out->probs) nn_softmax(count, c, logits, 1, p->out->probs + first * c);
    if (p->out->calibrated)
        nn_softmax(count, c, logits, p->out->temperature, p->out->calibrated + first * c);
    return SCANT_OK;
}

scant_status scant_net_predict(scant_net *net, const scant_data *data, const size_t *rows,
                               size_t n, const scant_outputs *outputs) {
    predict p = {outputs, scant_net_features(net), scant_net_classes(net)};
    if (outputs->calibrated &&
        !(outputs->temperature > 0 && isfinite(outputs->temperature)))
        return scant__fail(net->ctx, SCANT_EUSAGE, "temperature is %g, not above 0",
                           outputs->temperature);
    return nn_readout(net, data, rows, n, "reading out", predict_batch, &p);
}

/* ---- evaluation ---- */

enum { BINS = 15 };

typedef struct judge {
    scant_ctx *ctx;
    const scant_data *data;
    const int32_t *labels;
    const float *targets;
    const size_t *rows;
    size_t classes, samples, correct;
    double loss;
    struct {
        double confidence;
        size_t count, correct;
    } bins[BINS];
    float *logits;   /* all of them, for the temperature */
    int32_t *chosen; /* labels in the order of rows */
} judge;

static scant_status not_finite(judge *j, size_t row) {
    j->loss = (double)NAN;
    return scant__fail(j->ctx, SCANT_EINPUT,
                       "what the network says of sample %zu of %s is not a finite number",
                       row, scant_data_name(j->data));
}

static scant_status judge_batch(void *arg, nn_plan *plan, size_t first, size_t count) {
    judge *j = arg;
    size_t c = j->classes;
    const float *logits = nn_plan_logits(plan);
    for (size_t i = 0; i < count; i++) {
        size_t row = j->rows ? j->rows[first + i] : first + i;
        const float *z = logits + i * c;
        if (j->targets) {
            nn_score s =
                nn_loss(&(nn_wanted){.targets = j->targets + row}, 1, c, z, NULL);
            if (!s.finite) return not_finite(j, row);
            j->loss += s.loss;
            continue;
        }
        int32_t label = j->labels[row];
        if (label < 0 || (size_t)label >= c)
            return scant__fail(j->ctx, SCANT_EINPUT,
                               "%s: sample %zu has label %d, the network %zu classes",
                               scant_data_name(j->data), row, (int)label, c);
        nn_score s = nn_loss(&(nn_wanted){.labels = &label}, 1, c, z, NULL);
        j->loss += s.loss;
        j->correct += s.correct;
        double confidence = nn_confidence(z, c);
        if (!s.finite) return not_finite(j, row);
        size_t bin = size_min((size_t)(confidence * BINS), BINS - 1);
        j->bins[bin].confidence += confidence;
        j->bins[bin].count++;
        j->bins[bin].correct += s.correct;
        j->chosen[first + i] = label;
        memcpy(j->logits + (first + i) * c, z, c * sizeof *z);
    }
    j->samples += count;
    return SCANT_OK;
}

static double calibration_error(const judge *j) {
    double error = 0;
    for (int b = 0; b < BINS; b++)
        error += fabs(j->bins[b].confidence - (double)j->bins[b].correct);
    return error / (double)j->samples;
}

scant_status scant_net_evaluate(scant_net *net, const scant_data *data,
                                const size_t *rows, size_t n, scant_evaluation *out) {
    memset(out, 0, sizeof *out);
    TRY(nn_feed_rows_check(net->ctx, data, rows, &n));
    judge j = {.ctx = net->ctx,
               .data = data,
               .labels = scant_data_labels(data),
               .targets = scant_data_targets(data),
               .rows = rows,
               .classes = scant_net_classes(net)};
    if (!j.labels && !j.targets)
        return scant__fail(net->ctx, SCANT_EINPUT, "%s has no labels to judge by",
                           scant_data_name(data));
    if (j.targets && j.classes != 1)
        return scant__fail(net->ctx, SCANT_EINPUT,
                           "%s has one number a sample, the network gives %zu",
                           scant_data_name(data), j.classes);
    scant__arena arena;
    scant__arena_init(&arena, net->ctx);
    scant_status s = SCANT_OK;
    if (j.labels) {
        j.targets = NULL;
        j.logits = scant__arena_alloc(&arena, size_max(n, 1), j.classes * sizeof(float));
        j.chosen = scant__arena_alloc(&arena, size_max(n, 1), sizeof(int32_t));
        if (!j.logits || !j.chosen) s = SCANT_ENOMEM;
    }
    if (s == SCANT_OK) s = nn_readout(net, data, rows, n, "evaluating", judge_batch, &j);
    if (s == SCANT_OK && j.samples) {
        out->samples = j.samples;
        out->loss = j.loss / (double)j.samples;
        out->accuracy = (double)j.correct / (double)j.samples;
        if (j.labels) {
            out->calibration = calibration_error(&j);
            out->temperature = nn_temperature(j.logits, j.chosen, j.samples, j.classes);
        }
    }
    if (s != SCANT_OK && isnan(j.loss)) out->loss = j.loss; /* that is why */
    scant__arena_end(&arena);
    return s;
}
