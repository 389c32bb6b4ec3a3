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
    FLOATS_AIM = 256 << 10 /* logits per block */
};

static size_t round_up(size_t n) { return (n + NN_LANES - 1) / NN_LANES * NN_LANES; }

/* Draws per group; does not change results. */
static size_t group_of(size_t m, size_t classes) {
    size_t fit = FLOATS_AIM / ROWS / size_max(classes, 1) / NN_LANES * NN_LANES;
    size_t most = size_min(round_up(m), NN_DRAWS_MOST);
    return size_max(NN_LANES, size_min(fit, most));
}

/* Draws in the group that begins with `first`, padded to whole vectors. */
static size_t draws_in(const nn_draws *d, size_t first) {
    return size_min(d->group, round_up(d->m - first));
}

void nn_draws_destroy(scant_ctx *ctx, nn_draws *d) {
    if (!d) return;
    scant__free(ctx, d->w);
    scant__free(ctx, d->mean);
    scant__free(ctx, d->rho);
    scant__free(ctx, d->bias);
    scant__free(ctx, d);
}

/* ---- drawing ---- */

typedef struct draw_job {
    nn_draws *d;
    uint64_t seed;
    double rate; /* for dropout */
} draw_job;

/* The weights of a class under a draw: one per feature, *apart floats apart. */
static float *column_at(const nn_draws *d, size_t draw, size_t k, size_t *apart) {
    size_t first = draw / d->group * d->group, in = draws_in(d, first);
    size_t column = k * in + (draw - first), panel = column / NN_PANEL * NN_PANEL;
    *apart = size_min(NN_PANEL, d->classes * in - panel);
    return d->w + (first * d->classes + panel) * d->width + (column - panel);
}

static void draw_law(const nn_draws *d, const scant__rng *rng, size_t draw) {
    double pair[2] = {0};
    size_t i = 0, apart;
    for (size_t k = 0; k < d->classes; k++) {
        float *column = column_at(d, draw, k, &apart);
        for (size_t j = 0; j < d->width; j++, i++) {
            if (i % 2 == 0) scant__rng_normal_pair(rng, i / 2, pair);
            column[j * apart] =
                (float)((double)d->mean[i] + (double)d->rho[i] * pair[i % 2]);
        }
    }
}

static void draw_dropped(const nn_draws *d, const scant__rng *rng, size_t draw,
                         double rate) {
    float by = (float)(1 / (1 - rate));
    size_t apart;
    for (size_t k = 0; k < d->classes; k++) {
        float *column = column_at(d, draw, k, &apart);
        for (size_t j = 0; j < d->width; j++) {
            bool dropped = scant__rng_unit(rng, j) < rate;
            column[j * apart] = dropped ? 0 : by * d->mean[k * d->width + j];
        }
    }
}

static void draw_nothing(const nn_draws *d, size_t draw) {
    size_t apart;
    for (size_t k = 0; k < d->classes; k++) {
        float *column = column_at(d, draw, k, &apart);
        for (size_t j = 0; j < d->width; j++) column[j * apart] = 0;
    }
}

static scant_status draw_block(void *arg, size_t block, unsigned worker,
                               scant__fault *fault) {
    const draw_job *j = arg;
    const nn_draws *d = j->d;
    scant__rng draws = {j->seed, SCANT__RNG_POSTERIOR};
    scant__rng rng = {scant__rng_u64(&draws, block), SCANT__RNG_POSTERIOR};
    (void)worker, (void)fault;
    if (block >= d->m)
        draw_nothing(d, block);
    else if (d->rho)
        draw_law(d, &rng, block);
    else
        draw_dropped(d, &rng, block, j->rate);
    return SCANT_OK;
}

/* ---- the posterior ---- */

/* Copies the current last layer. rho holds deviations. */
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

static scant_status new_draws(scant_net *net, nn_draws **out) {
    const nn_net *shape = net->net;
    size_t width = scant_net_features(net), classes = shape->classes;
    scant_ctx *ctx = net->ctx;
    nn_draws *d = *out = scant__zalloc(ctx, 1, sizeof *d);
    if (!d) return SCANT_ENOMEM;
    *d = (nn_draws){.m = shape->draws, .classes = classes, .width = width};
    d->group = group_of(d->m, classes);
    d->mean = scant__alloc(ctx, classes, size_mul(width, sizeof *d->mean));
    d->bias = scant__alloc(ctx, classes, sizeof *d->bias);
    if (shape->bayes == NN_BAYES_VARIATIONAL)
        d->rho = scant__alloc(ctx, classes, size_mul(width, sizeof *d->rho));
    bool law = d->rho || shape->bayes != NN_BAYES_VARIATIONAL;
    scant_status s = d->mean && d->bias && law ? copy_posterior(net, d) : SCANT_ENOMEM;
    if (s == SCANT_OK) return SCANT_OK;
    nn_draws_destroy(ctx, d);
    *out = NULL;
    return s;
}

static bool same_floats(const float *a, const float *b, size_t n) {
    return (!a && !b) || (a && b && memcmp(a, b, n * sizeof *a) == 0);
}

scant_status nn_draws_of(scant_net *net, const nn_draws **out) {
    const nn_net *shape = net->net;
    nn_draws *d, *old = net->drawn;
    *out = NULL;
    if (shape->bayes == NN_BAYES_NONE) return SCANT_OK;
    TRY(new_draws(net, &d));
    size_t n = d->classes * d->width, all = round_up(d->m);
    if (old && same_floats(old->mean, d->mean, n) && same_floats(old->rho, d->rho, n) &&
        same_floats(old->bias, d->bias, d->classes)) {
        nn_draws_destroy(net->ctx, d);
        *out = old;
        return SCANT_OK;
    }
    nn_draws_destroy(net->ctx, old);
    net->drawn = NULL;
    d->w = scant__alloc(net->ctx, size_mul(all, d->classes), d->width * sizeof *d->w);
    draw_job job = {d, shape->draw_seed, (double)shape->nodes[shape->features].rate};
    scant_status s =
        d->w ? scant__parfor(net->ctx, NULL, all, draw_block, &job) : SCANT_ENOMEM;
    if (s != SCANT_OK) {
        nn_draws_destroy(net->ctx, d);
        return s;
    }
    *out = net->drawn = d;
    return SCANT_OK;
}

/* ---- samples ---- */

typedef struct add_job {
    const nn_draws *d;
    const nn_kernels *kernels;
    const float *h;
    size_t n, apart, room_each;
    double *sums;
    float *samples, *room;
} add_job;

/* Logits of a block under a group. */
static size_t room_each(size_t classes) {
    return size_max(FLOATS_AIM, size_mul(ROWS * NN_LANES, classes));
}

size_t nn_draws_room(const scant_ctx *ctx, size_t classes) {
    return size_mul(ctx->threads, room_each(classes));
}

/* Regression outputs are not logits. */
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
        float *to = j->samples + (first + s) * j->apart + row * c;
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
                          double *sums, float *samples, size_t apart, float *room) {
    add_job j = {.d = d,
                 .kernels = nn_kernels_best(),
                 .h = h,
                 .n = n,
                 .apart = apart,
                 .room_each = room_each(d->classes),
                 .sums = sums,
                 .samples = samples,
                 .room = room};
    return scant__parfor(ctx, NULL, (n + ROWS - 1) / ROWS, add_block, &j);
}
