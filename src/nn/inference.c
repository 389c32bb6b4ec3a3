/* SPDX-License-Identifier: Apache-2.0
 *
 * Inference, batch by batch.
 *
 * The next batch is read while the network computes. A smaller last batch is padded with
 * zeros and the surplus outputs are dropped, because another batch size would need its
 * own plan. Ensemble members run over each batch in turn, so samples are read once.
 * Outputs that are not finite are refused, whatever they are for.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "core/prefetch.h"
#include "nn/draws.h"
#include "nn/inference.h"
#include "nn/input.h"
#include "nn/loss.h"
#include "scant/train.h"

enum { SLOTS = 3, BYTES_AIM = 256 << 20 };

/* At most 256 samples, fewer if activations would exceed about BYTES_AIM. */
size_t nn_infer_batch(const scant_net *net, size_t n) {
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
    bool raw; /* samples are unscaled: each member scales its own input */
    float *slots;
} stream;

static scant_status fill(void *arg, size_t item, size_t slot, scant__fault *fault) {
    const stream *s = arg;
    float *out = s->slots + slot * s->batch * s->width;
    for (size_t i = 0; i < s->batch; i++, out += s->width) {
        size_t at = item * s->batch + i;
        if (at >= s->n) {
            memset(out, 0, s->width * sizeof *out);
            continue;
        }
        size_t row = s->rows ? s->rows[at] : at;
        TRY(s->raw ? scant__data_read(s->data, row, out, fault)
                   : nn_input_row(s->net, s->data, row, out, fault));
    }
    return SCANT_OK;
}

/* ---- averages over members and draws ---- */

typedef struct average {
    bool many;    /* several members or posterior draws; false: logits stay unchanged */
    size_t draws; /* number of draws of all members */
    double *sums; /* batch x classes */
    float *probs, *logits;
    float *room; /* scratch of nn_draws_add() */
} average;

static scant_status average_room(scant_net *net, size_t members, size_t batch,
                                 bool sampled, scant__arena *arena, average *c) {
    size_t classes = net->net->classes;
    for (size_t i = 0; i < members; i++) {
        scant_net *m = scant_net_member(net, i);
        c->draws += m->net->draws;
        c->many = c->many || m->net->bayes != NN_BAYES_NONE || i > 0;
    }
    if (!c->many && !sampled) return SCANT_OK;
    c->sums = TRY_NEW(arena, double, size_mul(batch, classes));
    c->probs = TRY_NEW(arena, float, size_mul(batch, 2 * classes));
    c->room = TRY_NEW(arena, float, nn_draws_room(net->ctx, classes));
    c->logits = c->probs + batch * classes;
    return SCANT_OK;
}

/* A network without draws counts as one draw. */
static void add_plain(const float *logits, size_t n, size_t classes, double *sums,
                      float *samples, float *probs) {
    if (classes > 1)
        nn_softmax(n, classes, logits, 1, probs);
    else
        memcpy(probs, logits, n * sizeof *probs);
    for (size_t i = 0; i < n * classes; i++) sums[i] += (double)probs[i];
    if (samples) memcpy(samples, probs, n * classes * sizeof *samples);
}

/* Averages all draws and sets logits whose softmax is the mean. A mean below FLT_MIN
 * counts as FLT_MIN, so no logit is infinite. */
static void finish_average(const average *c, size_t n, size_t classes) {
    const double least = (double)FLT_MIN;
    for (size_t i = 0; i < n * classes; i++) {
        double mean = c->sums[i] / (double)c->draws;
        c->probs[i] = classes > 1 ? (float)mean : 1;
        if (classes > 1) mean = log(mean < least ? least : mean);
        c->logits[i] = (float)mean;
    }
}

/* Runs one member on a batch. */
static scant_status run_member(scant_net *m, const stream *s, const float *input,
                               size_t count, nn_plan **plan) {
    TRY(nn_network_plan(m, s->batch, NN_PREDICT, plan));
    float *to = nn_plan_input(*plan);
    memcpy(to, input, s->batch * s->width * sizeof *to);
    for (size_t i = 0; s->raw && i < count; i++) nn_input_scale(m, to + i * s->width);
    return nn_plan_forward(*plan, 0, 0);
}

static scant_status run_batch(const stream *s, average *c, nn_inference *r,
                              size_t members, const float *input, nn_outputs *batch) {
    size_t classes = s->net->net->classes, n = batch->count, draw = 0;
    nn_plan *plan;
    if (c->sums) memset(c->sums, 0, n * classes * sizeof *c->sums);
    for (size_t i = 0; i < members; i++) {
        scant_net *m = scant_net_member(s->net, i);
        TRY(run_member(m, s, input, n, &plan));
        if (i == 0) batch->features = nn_plan_features(plan);
        if (i == 0) batch->logits = nn_plan_logits(plan);
        float *samples = r->samples ? r->samples + draw * r->stride : NULL;
        draw += m->net->draws;
        if (!c->sums) continue;
        const nn_draws *draws = m->drawn;
        if (m->net->bayes != NN_BAYES_NONE)
            TRY(nn_draws_add(m->ctx, draws, nn_plan_features(plan), n, c->sums, samples,
                             r->stride, c->room));
        else
            add_plain(nn_plan_logits(plan), n, classes, c->sums, samples, c->probs);
    }
    if (!c->many) return SCANT_OK;
    finish_average(c, n, classes);
    batch->logits = c->logits;
    batch->probs = c->probs;
    return SCANT_OK;
}

static bool all_finite(const float *x, size_t n) {
    int finite = 1;
    for (size_t i = 0; i < n; i++) finite &= isfinite(x[i]) != 0;
    return finite;
}

/* Fails at the first sample with features or logits that are not finite. The logits are
 * those of all members and draws, so they also cover probabilities. */
static scant_status check_outputs(const stream *s, nn_inference *r,
                                  const nn_outputs *batch) {
    size_t classes = s->net->net->classes, width = scant_net_features(s->net);
    for (size_t i = 0; i < batch->count; i++) {
        size_t at = batch->first + i;
        if (all_finite(batch->logits + i * classes, classes) &&
            all_finite(batch->features + i * width, width))
            continue;
        r->infinite = true;
        return scant__fail(s->net->ctx, SCANT_EINPUT,
                           "%s: the network's outputs for sample %zu are not finite",
                           scant_data_name(s->data), s->rows ? s->rows[at] : at);
    }
    return SCANT_OK;
}

static scant_status run_batches(stream *s, average *c, nn_inference *r, size_t members) {
    size_t batches = (s->n + s->batch - 1) / s->batch, slot;
    scant_ctx *ctx = s->net->ctx;
    scant__prefetch_job job = {.last = batches,
                               .slots = SLOTS,
                               .threads = nn_input_threads(s->net, s->data),
                               .arg = s,
                               .fill = fill};
    AUTO(scant__prefetch_auto) scant__prefetch *prefetch = NULL;
    TRY(scant__prefetch_start(ctx, &job, &prefetch));
    for (size_t b = 0; b < batches; b++) {
        nn_outputs batch = {.first = b * s->batch};
        batch.count = size_min(s->batch, s->n - batch.first);
        TRY(scant__prefetch_take(prefetch, &slot));
        TRY(run_batch(s, c, r, members, s->slots + slot * s->batch * s->width, &batch));
        TRY(check_outputs(s, r, &batch));
        TRY(r->fn(r->arg, &batch));
        TRY(scant__tick(ctx, r->phase, b + 1, batches));
    }
    return SCANT_OK;
}

scant_status nn_infer(scant_net *net, const scant_data *data, const size_t *rows,
                      size_t n, nn_inference *r) {
    TRY(nn_input_check(net, data));
    TRY(nn_input_rows_check(net->ctx, data, rows, &n));
    if (!n) return SCANT_OK;
    size_t members = r->first_only ? 1 : 1 + net->n_members;
    stream s = {.net = net,
                .data = data,
                .rows = rows,
                .n = n,
                .batch = nn_infer_batch(net, n),
                .width = scant__data_width(data),
                .raw = members > 1};
    if (r->most) s.batch = size_min(s.batch, r->most);
    average c = {0};
    nn_plan *plan;
    const nn_draws *draws;
    AUTO(scant__arena_end) scant__arena arena = {.ctx = net->ctx};
    for (size_t i = 0; i < members; i++) {
        TRY(nn_network_plan(scant_net_member(net, i), s.batch, NN_PREDICT, &plan));
        TRY(nn_draws_of(scant_net_member(net, i), &draws));
    }
    TRY(average_room(net, members, s.batch, r->samples != NULL, &arena, &c));
    s.slots = TRY_NEW(&arena, float, size_mul(SLOTS * s.batch, s.width));
    return run_batches(&s, &c, r, members);
}

/* ---- predictions ---- */

typedef struct predict {
    const scant_outputs *out;
    size_t features, classes;
    nn_inference reading;
} predict;

static scant_status predict_batch(void *arg, const nn_outputs *batch) {
    predict *p = arg;
    const scant_outputs *out = p->out;
    size_t d = p->features, c = p->classes, at = batch->first * c, n = batch->count;
    if (out->features)
        memcpy(out->features + batch->first * d, batch->features, n * d * sizeof(float));
    if (out->logits) memcpy(out->logits + at, batch->logits, n * c * sizeof(float));
    if (out->probs && batch->probs)
        memcpy(out->probs + at, batch->probs, n * c * sizeof(float));
    else if (out->probs)
        nn_softmax(n, c, batch->logits, 1, out->probs + at);
    if (out->calibrated)
        nn_softmax(n, c, batch->logits, out->temperature, out->calibrated + at);
    if (out->draws) p->reading.samples += n * c;
    return SCANT_OK;
}

scant_status scant_net_predict(scant_net *net, const scant_data *data, const size_t *rows,
                               size_t n, const scant_outputs *outputs) {
    NEED(net && data);
    predict p = {outputs,
                 scant_net_features(net),
                 scant_net_classes(net),
                 {.phase = "computing predictions",
                  .fn = predict_batch,
                  .samples = outputs->draws}};
    if (outputs->calibrated &&
        !(outputs->temperature > 0 && isfinite(outputs->temperature)))
        return scant__fail(net->ctx, SCANT_EUSAGE,
                           "temperature is %g, expected a positive number",
                           outputs->temperature);
    p.reading.arg = &p;
    p.reading.stride = (rows ? n : scant_data_count(data)) * p.classes;
    return nn_infer(net, data, rows, n, &p.reading);
}

/* ---- evaluation ---- */

typedef struct evaluation {
    scant_ctx *ctx;
    const scant_data *data;
    const int32_t *labels;
    const float *targets;
    const size_t *rows;
    size_t classes, samples, correct;
    double loss;
    float *logits;   /* logits of all samples, for calibration and the temperature */
    int32_t *chosen; /* labels in the order of rows */
} evaluation;

static scant_status evaluate_batch(void *arg, const nn_outputs *batch) {
    evaluation *e = arg;
    size_t c = e->classes, first = batch->first;
    for (size_t i = 0; i < batch->count; i++) {
        size_t row = e->rows ? e->rows[first + i] : first + i;
        const float *z = batch->logits + i * c;
        if (e->targets) {
            nn_score s =
                nn_loss(&(nn_targets){.targets = e->targets + row}, 1, c, z, NULL);
            e->loss += s.loss;
            continue;
        }
        int32_t label = e->labels[row];
        if (label < 0 || (size_t)label >= c)
            return scant__fail(
                e->ctx, SCANT_EINPUT,
                "%s: sample %zu has label %d, but the network has %zu classes",
                scant_data_name(e->data), row, (int)label, c);
        nn_score s = nn_loss(&(nn_targets){.labels = &label}, 1, c, z, NULL);
        e->loss += s.loss;
        e->correct += s.correct;
        e->chosen[first + i] = label;
        memcpy(e->logits + (first + i) * c, z, c * sizeof *z);
    }
    e->samples += batch->count;
    return SCANT_OK;
}

static void evaluate_calibration(const evaluation *e, scant_evaluation *out,
                                 scant_calibration *scaled) {
    const size_t n = e->samples, c = e->classes;
    out->calibration = nn_calibration(e->logits, e->chosen, n, c, 1, out->bins);
    out->temperature = nn_temperature(e->logits, e->chosen, n, c);
    if (scaled)
        scaled->error =
            nn_calibration(e->logits, e->chosen, n, c, scaled->temperature, scaled->bins);
}

scant_status nn_evaluate(scant_net *net, const scant_data *data, const size_t *rows,
                         size_t n, bool first_only, scant_evaluation *out,
                         scant_calibration *scaled) {
    memset(out, 0, sizeof *out);
    TRY(nn_input_rows_check(net->ctx, data, rows, &n));
    evaluation e = {.ctx = net->ctx,
                    .data = data,
                    .labels = scant_data_labels(data),
                    .targets = scant_data_targets(data),
                    .rows = rows,
                    .classes = scant_net_classes(net)};
    if (!e.labels && !e.targets)
        return scant__fail(net->ctx, SCANT_EINPUT, "%s has no labels to evaluate with",
                           scant_data_name(data));
    if (e.targets && e.classes != 1)
        return scant__fail(
            net->ctx, SCANT_EINPUT,
            "%s has one target per sample, but the network has %zu outputs",
            scant_data_name(data), e.classes);
    AUTO(scant__arena_end) scant__arena arena = {.ctx = net->ctx};
    if (e.labels) {
        e.targets = NULL;
        e.logits = TRY_NEW(&arena, float, size_mul(size_max(n, 1), e.classes));
        e.chosen = TRY_NEW(&arena, int32_t, size_max(n, 1));
    }
    nn_inference r = {
        .phase = "evaluating", .fn = evaluate_batch, .arg = &e, .first_only = first_only};
    scant_status s = nn_infer(net, data, rows, n, &r);
    if (r.infinite) out->loss = (double)NAN;
    TRY(s);
    if (!e.samples) return SCANT_OK;
    out->samples = e.samples;
    out->loss = e.loss / (double)e.samples;
    out->accuracy = (double)e.correct / (double)e.samples;
    if (e.labels) evaluate_calibration(&e, out, scaled);
    return SCANT_OK;
}

scant_status scant_net_evaluate(scant_net *net, const scant_data *data,
                                const size_t *rows, size_t n, scant_evaluation *out) {
    NEED(net && data);
    return nn_evaluate(net, data, rows, n, false, out, NULL);
}

scant_status scant_net_evaluate_at(scant_net *net, const scant_data *data,
                                   const size_t *rows, size_t n, double temperature,
                                   scant_evaluation *out, scant_calibration *scaled) {
    NEED(net && data);
    *scaled = (scant_calibration){.temperature = temperature};
    if (!(temperature > 0 && isfinite(temperature)))
        return scant__fail(net->ctx, SCANT_EUSAGE,
                           "temperature is %g, expected a positive number", temperature);
    return nn_evaluate(net, data, rows, n, false, out, scaled);
}
