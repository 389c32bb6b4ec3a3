/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a plan's steps.
 */
#include <string.h>

#include "nn/conv_strips.h"
#include "nn/conv_taps.h"
#include "nn/noise.h"
#include "nn/plan_int.h"

/* The random number generator of a training step. */
static scant__rng step_rng(uint64_t seed, uint64_t step, uint32_t purpose) {
    scant__rng steps = {seed, purpose};
    return (scant__rng){scant__rng_u64(&steps, step), purpose};
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
    scant__rng rng = step_rng(seed, step, SCANT__RNG_NOISE);
    return nn_noise_forward(p->ctx, &noise, &rng, a, c);
}

static scant_status run_step(nn_plan *p, const nn_step *s, uint64_t seed, uint64_t step) {
    if (s->kind == NN_STEP_OP) return nn_op_run(s->op, s->pass);
    nn_weights *w = p->weights;
    const nn_node *node = &p->net->nodes[s->node];
    const float *a = nn_ref_data(p, s->a), *bias = NULL;
    float *b = nn_ref_data(p, s->b), *c = nn_ref_data(p, s->c), *db = NULL;
    void *scratch = nn_tensor_data(p, p->scratch);
    switch (s->kind) {
    case NN_STEP_TAPS_FORWARD:
        if (node->bias) bias = nn_weights_at(w, node->bias_at);
        return nn_taps_apply(p->ctx, node, p->batch, false, a, b, bias, c, scratch);
    case NN_STEP_TAPS_DATA:
        return nn_taps_apply(p->ctx, node, p->batch, true, a, b, NULL, c, scratch);
    case NN_STEP_TAPS:
    case NN_STEP_STRIPS:
        if (node->bias) db = nn_grads_at(w, node->bias_at);
        return (s->kind == NN_STEP_TAPS ? nn_taps_weights : nn_strips_weights)(
            p->ctx, node, p->batch, a, b, c, db, scratch);
    case NN_STEP_NOISE:
    case NN_STEP_NOISE_BACK:
        return run_noise(p, s, seed, step);
    case NN_STEP_FRONT:
        return nn_stack_forward(p->stack, w->values, p->batch, a, c);
    case NN_STEP_FRONT_BACK:
        return nn_stack_backward(p->stack, w->values, p->batch, a, w->grads, NULL);
    default:
        nn_pointwise(p->ctx, (nn_pointwise_op)s->kind,
                     &(nn_elements){.act = s->act ? s->act->act : NN_ACT_NONE,
                                    .slope = s->act ? s->act->slope : 0,
                                    .scale = node->scale,
                                    .rate = node->rate,
                                    .a = a,
                                    .b = b,
                                    .out = c,
                                    .kept = (unsigned char *)b,
                                    .rng = step_rng(seed, step, SCANT__RNG_DROPOUT),
                                    .first = (uint64_t)s->node << 32,
                                    .n = p->tensors[s->c].bytes / sizeof(float)});
        return SCANT_OK;
    }
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
    if (rho != NN_NONE && p->mode != NN_TRAIN) /* no noise: outputs ignore rho */
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
