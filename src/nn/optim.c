/* SPDX-License-Identifier: Apache-2.0
 *
 * A step is memory-bound: it reads and writes each vector once (the gradient twice with
 * clipping), in blocks distributed over threads.
 */
#include "nn/optim.h"

#include <math.h>
#include <string.h>

#include "core/size.h"

enum { BLOCK = 1 << 14, SUMS = 64, CHAINS = 8 };

typedef struct job {
    const nn_optim_opts *o;
    size_t n;
    float lr, scale;           /* scale: factor that clips the gradient */
    float first_by, second_by; /* Adam's bias corrections */
    /* 1 - beta, computed in double: 1 - 0.999f has a relative error of 1.3e-5 */
    float first_adds, second_adds;
    float *w, *m, *v;
    const float *g;
    const nn_span *decays;
    size_t n_decays;
    double *sums;
} job;

/* Updates weights from..to-1, which share the same decay. */
static void sgd(const job *j, size_t from, size_t to, float decay) {
    float mu = (float)j->o->momentum, lr = j->lr, scale = j->scale;
    float *restrict w = j->w, *restrict m = j->m;
    const float *restrict g = j->g;
    if (!m) {
        for (size_t i = from; i < to; i++) w[i] -= lr * (scale * g[i] + decay * w[i]);
    } else if (j->o->nesterov) {
        for (size_t i = from; i < to; i++) {
            float d = scale * g[i] + decay * w[i];
            m[i] = mu * m[i] + d;
            w[i] -= lr * (d + mu * m[i]);
        }
    } else {
        for (size_t i = from; i < to; i++) {
            m[i] = mu * m[i] + (scale * g[i] + decay * w[i]);
            w[i] -= lr * m[i];
        }
    }
}

static void adam(const job *j, size_t from, size_t to, float decay) {
    float b1 = (float)j->o->momentum, b2 = (float)(j->o->beta2 > 0 ? j->o->beta2 : 0.999);
    float a1 = j->first_adds, a2 = j->second_adds;
    float eps = (float)(j->o->epsilon > 0 ? j->o->epsilon : 1e-8);
    float lr = j->lr * j->first_by, by = j->second_by, scale = j->scale;
    float *restrict w = j->w, *restrict m = j->m, *restrict v = j->v;
    const float *restrict g = j->g;
    for (size_t i = from; i < to; i++) {
        float d = scale * g[i] + decay * w[i];
        m[i] = b1 * m[i] + a1 * d;
        v[i] = b2 * v[i] + a2 * d * d;
        w[i] -= lr * m[i] / (sqrtf(v[i]) * by + eps);
    }
}

static void part(const job *j, size_t from, size_t to, float decay) {
    if (from >= to) return;
    if (j->o->kind == NN_ADAM)
        adam(j, from, to, decay);
    else
        sgd(j, from, to, decay);
}

static void step_block(void *arg, size_t block) {
    const job *j = arg;
    size_t at = block * BLOCK, end = size_min(at + BLOCK, j->n);
    for (size_t i = 0; i < j->n_decays && at < end; i++) {
        nn_span d = j->decays[i];
        if (d.to <= at) continue;
        if (d.from >= end) break;
        part(j, at, d.from, 0); /* weights before the span: no decay */
        if (d.from > at) at = d.from;
        part(j, at, size_min(d.to, end), (float)j->o->weight_decay);
        at = size_min(d.to, end);
    }
    part(j, at, end, 0);
}

/* Sums squares; the number of blocks does not depend on the thread count. */
static void norm_block(void *arg, size_t block) {
    const job *j = arg;
    size_t each = (j->n + SUMS - 1) / SUMS;
    size_t i = block * each, end = size_min(i + each, j->n);
    double chains[CHAINS] = {0}, sum = 0;
    for (; i < end && end - i >= CHAINS; i += CHAINS)
        for (size_t k = 0; k < CHAINS; k++)
            chains[k] += (double)j->g[i + k] * (double)j->g[i + k];
    for (; i < end; i++) sum += (double)j->g[i] * (double)j->g[i];
    for (size_t k = 0; k < CHAINS; k++) sum += chains[k];
    j->sums[block] = sum;
}

double nn_optim_norm(const scant_ctx *ctx, const float *g, size_t n) {
    double sums[SUMS], total = 0;
    scant__loop(ctx, SUMS, norm_block, &(job){.n = n, .g = g, .sums = sums});
    for (int i = 0; i < SUMS; i++) total += sums[i];
    return sqrt(total);
}

static float clipping(const scant_ctx *ctx, const nn_optim_opts *o, const float *g,
                      size_t n) {
    if (!(o->clip > 0)) return 1;
    double norm = nn_optim_norm(ctx, g, n);
    return norm > o->clip ? (float)(o->clip / norm) : 1;
}

void nn_optim_step(const scant_ctx *ctx, const nn_optim_opts *o, size_t step, double lr,
                   size_t n, float *w, const float *g, float *m, float *v,
                   const nn_span *decays, size_t n_decays) {
    double b1 = o->momentum, b2 = o->beta2 > 0 ? o->beta2 : 0.999;
    job j = {.o = o,
             .n = n,
             .lr = (float)lr,
             .scale = clipping(ctx, o, g, n),
             .first_by = (float)(1 / (1 - pow(b1, (double)step))),
             .second_by = (float)(1 / sqrt(1 - pow(b2, (double)step))),
             .first_adds = (float)(1 - b1),
             .second_adds = (float)(1 - b2),
             .w = w,
             .m = m,
             .v = v,
             .g = g,
             .decays = o->weight_decay > 0 ? decays : NULL,
             .n_decays = o->weight_decay > 0 ? n_decays : 0};
    scant__loop(ctx, (n + BLOCK - 1) / BLOCK, step_block, &j);
}

static void average_block(void *arg, size_t block) {
    const job *j = arg;
    float keep = j->lr, add = j->scale;
    for (size_t i = block * BLOCK; i < size_min((block + 1) * BLOCK, j->n); i++)
        j->m[i] = keep * j->m[i] + add * j->g[i];
}

void nn_optim_average(const scant_ctx *ctx, double decay, size_t n, const float *w,
                      float *average) {
    scant__loop(ctx, (n + BLOCK - 1) / BLOCK, average_block,
                &(job){.n = n,
                       .g = w,
                       .m = average,
                       .lr = (float)decay,
                       .scale = (float)(1 - decay)});
}

static void swap_block(void *arg, size_t block) {
    const job *j = arg;
    for (size_t i = block * BLOCK; i < size_min((block + 1) * BLOCK, j->n); i++) {
        float keep = j->w[i];
        j->w[i] = j->m[i];
        j->m[i] = keep;
    }
}

void nn_optim_swap(const scant_ctx *ctx, size_t n, float *a, float *b) {
    scant__loop(ctx, (n + BLOCK - 1) / BLOCK, swap_block, &(job){.n = n, .w = a, .m = b});
}

double nn_schedule(const char *name, size_t step, size_t total, size_t warmup) {
    const double pi = 3.14159265358979323846;
    double at = total ? (double)step / (double)total : 0;
    double factor = 1;
    if (strcmp(name, "cosine") == 0) factor = (1 + cos(pi * at)) / 2;
    if (strcmp(name, "step") == 0) factor = at < 0.5 ? 1 : at < 0.75 ? 0.1 : 0.01;
    if (strcmp(name, "fixmatch") == 0) factor = cos(7 * pi * at / 16);
    if (strcmp(name, "late") == 0) factor = at < 0.8 ? 1 : 0.2;
    if (step < warmup) factor *= (double)(step + 1) / (double)warmup;
    return factor;
}
