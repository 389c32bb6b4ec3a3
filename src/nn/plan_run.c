/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a plan's steps.
 */
#include <string.h>

#include "nn/conv_strips.h"
#include "nn/conv_taps.h"
#include "nn/noise.h"
#include "nn/plan_int.h"
#include "nn/pointwise.h"

static scant_status run_strips(nn_plan *p, const nn_step *s) {
    const nn_node *node = &p->net->nodes[s->node];
    float *dw = nn_ref_is_param(s->c) ? nn_grads_at(p->weights, node->weight)
                                      : nn_tensor_data(p, s->c);
    float *db = node->bias ? nn_grads_at(p->weights, node->bias_at) : NULL;
    return nn_strips_weights(p->ctx, p->net, node, p->batch, nn_tensor_data(p, s->a),
                             nn_tensor_data(p, s->b), dw, db,
                             nn_tensor_data(p, p->scratch));
}

static scant_status run_noise(nn_plan *p, const nn_step *s, uint64_t seed,
                              uint64_t step) {
    const nn_node *node = &p->net->nodes[s->node];
    nn_noise noise = {.n = p->batch,
                      .classes = node->shape.c,
                      .width = nn_shape_size(p->net->nodes[node->in[1]].shape),
                      .h = nn_tensor_data(p, s->b),
                      .rho = nn_weights_at(p->weights, node->rho),
                      .work = nn_tensor_data(p, p->places[s->node].work),
                      .scratch = nn_tensor_data(p, p->scratch)};
    const float *a = nn_tensor_data(p, s->a);
    float *c = nn_tensor_data(p, s->c);
    if (s->kind == NN_STEP_NOISE_BACK)
        return nn_noise_back(p->ctx, &noise, a, c, nn_grads_at(p->weights, node->rho));
    scant__rng steps = {seed, SCANT__RNG_NOISE};
    scant__rng rng = {scant__rng_u64(&steps, step), SCANT__RNG_NOISE};
    return nn_noise_forward(p->ctx, &noise, &rng, a, c);
}

static scant_status run_step(nn_plan *p, const nn_step *s, uint64_t seed, uint64_t step) {
    if (s->kind == NN_STEP_OP) return nn_op_run(s->op, s->pass);
    if (s->kind == NN_STEP_STRIPS) return run_strips(p, s);
    if (s->kind == NN_STEP_NOISE || s->kind == NN_STEP_NOISE_BACK)
        return run_noise(p, s, seed, step);
    size_t n = p->tensors[s->c].bytes / sizeof(float);
    const nn_node *node = &p->net->nodes[s->node];
    const float *a = nn_tensor_data(p, s->a);
    float *c = nn_tensor_data(p, s->c);
    switch (s->kind) {
    case NN_STEP_APPLY:
        nn_apply(p->ctx, s->act, s->slope, a, c, n);
        break;
    case NN_STEP_SUM:
        nn_sum(p->ctx, s->act, s->slope, a, nn_tensor_data(p, s->b), c, n);
        break;
    case NN_STEP_MASK:
        nn_mask(p->ctx, s->act, s->slope, a, nn_tensor_data(p, s->b), c, n);
        break;
    case NN_STEP_SCALE:
        nn_scale(p->ctx, s->scale, a, c, n);
        break;
    case NN_STEP_DROP: {
        /* a seed per step, and in it 2^32 numbers per layer */
        scant__rng steps = {seed, SCANT__RNG_DROPOUT};
        scant__rng rng = {scant__rng_u64(&steps, step), SCANT__RNG_DROPOUT};
        uint64_t first = (uint64_t)s->node << 32;
        nn_drop(p->ctx, &rng, first, s->scale, a, c,
                (unsigned char *)nn_tensor_data(p, s->b), n);
        break;
    }
    case NN_STEP_DROP_BACK:
        nn_drop_back(p->ctx, s->scale, (unsigned char *)nn_tensor_data(p, s->b), a, c, n);
        break;
    case NN_STEP_TAPS_FORWARD:
        return nn_taps_forward(p->ctx, p->net, node, p->batch, a, nn_tensor_data(p, s->b),
                               node->bias ? nn_weights_at(p->weights, node->bias_at)
                                          : NULL,
                               c, nn_tensor_data(p, p->scratch));
    case NN_STEP_TAPS_DATA:
        return nn_taps_data(p->ctx, p->net, node, p->batch, a, nn_tensor_data(p, s->b), c,
                            nn_tensor_data(p, p->scratch));
    case NN_STEP_TAPS: {
        float *db = node->bias ? nn_grads_at(p->weights, node->bias_at) : NULL;
        return nn_taps_weights(p->ctx, p->net, node, p->batch, a, nn_tensor_data(p, s->b),
                               c, db, nn_tensor_data(p, p->scratch));
    }
    case NN_STEP_FRONT:
        return nn_stack_forward(p->stack, p->weights->values, p->batch, a, c);
    case NN_STEP_FRONT_BACK:
        return nn_stack_backward(p->stack, p->weights->values, p->batch, a,
                                 p->weights->grads, NULL);
    case NN_STEP_OP:
    case NN_STEP_STRIPS:
    case NN_STEP_NOISE:
    case NN_STEP_NOISE_BACK:
        break;
    }
    return SCANT_OK;
}

static scant_status run(nn_plan *p, size_t from, size_t to, bool weights, uint64_t seed,
                        uint64_t step) {
    scant_status status = SCANT_OK;
    int threads = scant__threads_enter(p->ctx);
    for (size_t i = from; i < to && status == SCANT_OK; i++)
        if (weights || !p->steps[i].of_weights)
            status = run_step(p, &p->steps[i], seed, step);
    scant__threads_leave(threads);
    return status;
}

scant_status nn_plan_forward(nn_plan *p, uint64_t seed, uint64_t step) {
    return run(p, 0, p->n_forward, true, seed, step);
}

scant_status nn_plan_backward(nn_plan *p) {
    int rho = p->net->nodes[p->net->n_nodes - 1].rho;
    if (rho != NN_NONE && p->mode != NN_TRAIN) /* nothing depends on rho then */
        memset(nn_grads_at(p->weights, rho), 0,
               p->net->params[rho].count * sizeof *p->weights->grads);
    return run(p, p->n_forward, p->n_steps, true, 0, 0);
}

scant_status nn_plan_backward_trace(nn_plan *p) {
    return run(p, p->n_forward, p->n_steps, false, 0, 0);
}

size_t nn_plan_batch(const nn_plan *p) { return p->batch; }
float *nn_plan_input(nn_plan *p) { return nn_tensor_data(p, p->input); }
float *nn_plan_logits(nn_plan *p) { return nn_tensor_data(p, p->logits); }
float *nn_plan_d_logits(nn_plan *p) { return nn_tensor_data(p, p->d_logits); }
const float *nn_plan_features(nn_plan *p) { return nn_tensor_data(p, p->features); }

/* Running variance uses the unbiased estimate, like torch. */
void nn_plan_keep_statistics(nn_plan *p, double momentum) {
    for (size_t i = 0; i < p->net->n_nodes; i++) {
        const nn_node *node = &p->net->nodes[i];
        if (node->kind != NN_NORM) continue;
        nn_shape s = node->shape;
        double n = (double)p->batch * (double)s.h * (double)s.w;
        double unbiased = n > 1 ? n / (n - 1) : 1;
        const float *mean = nn_tensor_data(p, p->places[i].mean);
        const float *var = nn_tensor_data(p, p->places[i].var);
        float *run_mean = nn_weights_at(p->weights, node->mean);
        float *run_var = nn_weights_at(p->weights, node->var);
        for (size_t c = 0; c < s.c; c++) {
            double m = (double)run_mean[c], v = (double)run_var[c];
            run_mean[c] = (float)(m + momentum * ((double)mean[c] - m));
            run_var[c] = (float)(v + momentum * (unbiased * (double)var[c] - v));
        }
    }
}

scant_status nn_plan_trace(nn_plan *p, int node, const float **input,
                           const float **d_output) {
    const float **out[2] = {input, d_output};
    for (int k = 0; k < 2; k++) {
        nn_place *place = &p->places[node];
        if (!out[k]) continue;
        *out[k] = place->unfold[k] ? p->copy[k] : nn_tensor_data(p, place->trace[k]);
        if (!place->unfold[k]) continue;
        int threads = scant__threads_enter(p->ctx);
        scant_status status = nn_op_run(place->unfold[k], NN_FORWARD);
        scant__threads_leave(threads);
        TRY(status);
    }
    return SCANT_OK;
}
