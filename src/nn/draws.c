/* SPDX-License-Identifier: Apache-2.0 */
#include "nn/draws.h"

#include <math.h>
#include <string.h>

#include "core/parfor.h"
#include "core/rng.h"
#include "nn/kernels.h"
#include "nn/noise.h"
#include "scant/train.h"

enum {
    ROWS = 32,             /* samples per block */
    FLOATS_AIM = 256 << 10 /* logits per block and group */
};

static size_t round_up(size_t n) { return (n + NN_LANES - 1) / NN_LANES * NN_LANES; }

/* Draws per group; does not change results. */
static size_t group_of(size_t m, size_t classes) {
    size_t fit = FLOATS_AIM / ROWS / size_max(classes, 1) / NN_LANES * NN_LANES;
    size_t most = size_min(round_up(m), NN_DRAWS_MOST);
    return size_max(NN_LANES, size_min(fit, most));
}

/* Number of draws in the group that starts at `first`, rounded up to whole vectors. */
static size_t draws_in(const nn_draws *d, size_t first) {
    return size_min(d->group, round_up(d->m - first));
}

void nn_draws_free(nn_draws *d) {
    if (!d) return;
    scant__arena_end(&d->arena);
    scant__free(d->arena.ctx, d);
}

/* ---- drawing ---- */

typedef struct draw_job {
    nn_draws *d;
    uint64_t seed;
    double rate; /* dropout rate */
} draw_job;

/* The weights of class k in a draw: one per feature, *stride floats apart. */
static float *column_at(const nn_draws *d, size_t draw, size_t k, size_t *stride) {
    size_t first = draw / d->group * d->group, in = draws_in(d, first);
    size_t column = k * in + (draw - first), panel = column / NN_PANEL * NN_PANEL;
    *stride = size_min(NN_PANEL, d->classes * in - panel);
    return d->w + (first * d->classes + panel) * d->width + (column - panel);
}

/* Makes one draw. Draws m, m+1, ... are the padding of the last vector: zero. */
static scant_status draw_block(void *arg, size_t block, unsigned worker,
                               scant__fault *fault) {
    const draw_job *j = arg;
    const nn_draws *d = j->d;
    scant__rng draws = {j->seed, SCANT__RNG_POSTERIOR};
    scant__rng rng = {scant__rng_u64(&draws, block), SCANT__RNG_POSTERIOR};
    float by = (float)(1 / (1 - j->rate));
    double pair[2] = {0};
    size_t i = 0, stride;
    (void)worker, (void)fault;
    for (size_t k = 0; k < d->classes; k++) {
        float *column = column_at(d, block, k, &stride);
        for (size_t f = 0; f < d->width; f++, i++) {
            float value = 0;
            if (block < d->m && d->rho) {
                if (i % 2 == 0) scant__rng_normal_pair(&rng, i / 2, pair);
                value = (float)((double)d->mean[i] + (double)d->rho[i] * pair[i % 2]);
            } else if (block < d->m && scant__rng_unit(&rng, f) >= j->rate) {
                value = by * d->mean[i];
            }
            column[f * stride] = value;
        }
    }
    return SCANT_OK;
}

/* ---- the posterior ---- */

/* Copies the current last layer; rho becomes the standard deviations. */
static scant_status copy_posterior(scant_net *net, nn_draws *d) {
    const nn_net *shape = net->net;
    const nn_node *head = &shape->nodes[shape->head];
    size_t n = d->classes * d->width;
    memset(d->bias, 0, d->classes * sizeof *d->bias);
    TRY(nn_weights_get_one(net->weights, head->weight, d->mean));
    for (size_t i = 0; i < n; i++) d->mean[i] *= head->scale;
    if (head->bias) TRY(nn_weights_get_one(net->weights, head->bias_at, d->bias));
    if (!d->rho) return SCANT_OK;
    TRY(nn_weights_get_one(net->weights, shape->nodes[shape->n_nodes - 1].rho, d->rho));
    for (size_t i = 0; i < n; i++) d->rho[i] = (float)nn_softplus((double)d->rho[i]);
    return SCANT_OK;
}

static scant_status set_posterior(scant_net *net, nn_draws *d) {
    const nn_net *shape = net->net;
    d->m = shape->draws;
    d->classes = shape->classes;
    d->width = scant_net_features(net);
    d->group = group_of(d->m, d->classes);
    d->mean = TRY_NEW(&d->arena, float, size_mul(d->classes, d->width));
    d->bias = TRY_NEW(&d->arena, float, d->classes);
    if (shape->bayes == NN_BAYES_VARIATIONAL)
        d->rho = TRY_NEW(&d->arena, float, size_mul(d->classes, d->width));
    return copy_posterior(net, d);
}

static bool same_floats(const float *a, const float *b, size_t n) {
    return (!a && !b) || (a && b && memcmp(a, b, n * sizeof *a) == 0);
}

scant_status nn_draws_of(scant_net *net, const nn_draws **out) {
    const nn_net *shape = net->net;
    nn_draws *old = net->drawn;
    *out = NULL;
    if (shape->bayes == NN_BAYES_NONE) return SCANT_OK;
    AUTO(nn_draws_auto) nn_draws *d = scant__zalloc(net->ctx, 1, sizeof *d);
    if (!d) return SCANT_ENOMEM;
    d->arena.ctx = net->ctx;
    TRY(set_posterior(net, d));
    size_t n = d->classes * d->width, all = round_up(d->m);
    if (old && same_floats(old->mean, d->mean, n) && same_floats(old->rho, d->rho, n) &&
        same_floats(old->bias, d->bias, d->classes)) {
        *out = old;
        return SCANT_OK;
    }
    nn_draws_free(old);
    net->drawn = NULL;
    d->w = TRY_NEW(&d->arena, float, size_mul(size_mul(all, d->classes), d->width));
    draw_job job = {d, shape->draw_seed, (double)shape->nodes[shape->features].rate};
    TRY(scant__parfor(net->ctx, NULL, all, draw_block, &job));
    *out = net->drawn = d;
    d = NULL;
    return SCANT_OK;
}

/* ---- predictions ---- */

typedef struct add_job {
    const nn_draws *d;
    const nn_kernels *kernels;
    const float *h;
    size_t n, stride, room_each;
    double *sums;
    float *samples, *room;
} add_job;

/* Floats per thread: logits of a block and a group. */
static size_t room_each(size_t classes) {
    return size_max(FLOATS_AIM, size_mul(ROWS * NN_LANES, classes));
}

size_t nn_draws_room(const scant_ctx *ctx, size_t classes) {
    return size_mul(ctx->threads, room_each(classes));
}

/* Regression: adds the outputs themselves. */
static void add_outputs(const nn_draws *d, float *z, size_t live, double *sums) {
    for (size_t s = 0; s < live; s++) {
        z[s] += d->bias[0];
        *sums += (double)z[s];
    }
}

static void add_row(const add_job *j, float *z, size_t first, size_t row) {
    const nn_draws *d = j->d;
    size_t c = d->classes, in = draws_in(d, first), live = size_min(in, d->m - first);
    double *sums = j->sums + row * c;
    if (c == 1)
        add_outputs(d, z, live, sums);
    else
        j->kernels->draws(z, c, in, live, d->bias, sums);
    if (!j->samples) return;
    for (size_t s = 0; s < live; s++) {
        float *to = j->samples + (first + s) * j->stride + row * c;
        for (size_t k = 0; k < c; k++) to[k] = z[k * in + s];
    }
}

static scant_status add_block(void *arg, size_t block, unsigned worker,
                              scant__fault *fault) {
    const add_job *j = arg;
    const nn_draws *d = j->d;
    size_t from = block * ROWS, count = size_min(ROWS, j->n - from), c = d->classes;
    float *z = j->room + worker * j->room_each;
    (void)fault;
    for (size_t first = 0; first < d->m; first += d->group) {
        size_t columns = c * draws_in(d, first);
        j->kernels->panels(j->h + from * d->width, count, d->width,
                           d->w + first * c * d->width, columns, z);
        for (size_t i = 0; i < count; i++) add_row(j, z + i * columns, first, from + i);
    }
    return SCANT_OK;
}

scant_status nn_draws_add(scant_ctx *ctx, const nn_draws *d, const float *h, size_t n,
                          double *sums, float *samples, size_t stride, float *room) {
    add_job j = {.d = d,
                 .kernels = nn_kernels_best(),
                 .h = h,
                 .n = n,
                 .stride = stride,
                 .room_each = room_each(d->classes),
                 .sums = sums,
                 .samples = samples,
                 .room = room};
    return scant__parfor(ctx, NULL, (n + ROWS - 1) / ROWS, add_block, &j);
}
