/* SPDX-License-Identifier: Apache-2.0
 *
 * The empirical neural tangent kernel: inner products of the outputs' gradients between
 * samples, with respect to all trained parameters or those of the last layer.
 *
 * Both sides are cut into blocks of samples whose traces fit in memory. A trace has, for
 * every layer, its input, and for each class the gradient with respect to its output (one
 * backward pass for each class). For each pair of blocks the layers' parts are added up:
 *
 *   dense          sum over outputs (d.d') times (x.x' + 1): no gradient is formed;
 *   convolution,   products of gradient rows, one row for each sample and class, for as
 *   normalisation  many of the layer's channels at a time as memory allows.
 *
 * Products are in float over at most PIECE numbers, and added up in double. If both sides
 * are the same samples, half of the pairs are computed and the result is exactly
 * symmetric.
 *
 * Cost: C backward passes for each sample and pair of blocks, and n m C P multiply-adds
 * for P parameters of convolutions (C^2 if full). Memory: half of nn_share() for traces,
 * half for rows. Blocks depend on sizes and the memory cap, not on threads.
 */
#include <string.h>

#include "core/blas.h"
#include "linalg/gemm_f32.h"
#include "linalg/products.h"
#include "nn/input.h"
#include "nn/persample.h"
#include "scant/study.h"
#include "study/study.h"

enum {
    PIECE = 4096,      /* maximum length of an inner product in float */
    TILE_ROWS = 256,   /* maximum samples (times classes if full) in a tile */
    TILE_LEAST = 8,    /* minimum samples in a tile, or all of a block; fewer are slow */
    TILES_ACROSS = 8,  /* tiles along a side of a block, to keep threads busy */
    SHARE_MOST = 2048, /* maximum megabytes for blocks */
    BLOCKS_FEW = 8     /* with more blocks, repeated traces take most of the time */
};

/* A block of samples with its traces, layer by layer: x (samples, inputs of the layer), d
 * (samples, classes, outputs of the layer), and rows of gradients. */
typedef struct side {
    const scant_data *data;
    const size_t *rows;
    size_t n;
    size_t first, count; /* the block; count 0: none yet */
    float *x, *d, *g;
} side;

typedef struct work {
    nn_tracer t;
    scant__arena *arena;
    size_t classes;
    bool full;
    bool scaled;       /* as study_net_scaled_kernel() */
    bool half;         /* both sides are the same samples */
    size_t block;      /* maximum samples in a block */
    size_t tile;       /* samples in a tile */
    size_t x, d;       /* floats for each sample: x and d of all layers */
    size_t row_floats; /* maximum floats of a row of g */
    float *room;       /* buffers of the workers */
    size_t room_each;
    double *out;
    size_t out_row; /* numbers of a row of out */
    /* Current layer: */
    const nn_layer *layer;
    size_t x_at, d_at;        /* offsets of the layer in x and d, in floats per sample */
    size_t channel, channels; /* first channel and number of channels in g */
    const side *a, *b;
    const side *forming;
} work;

/* ---- traces ---- */

static scant_status keep_inputs(work *w, side *s, size_t at) {
    size_t to = 0;
    const float *x, *d;
    for (size_t i = 0; i < w->t.n_layers; i++) {
        const nn_layer *l = &w->t.layers[i];
        TRY(nn_tracer_layer(&w->t, i, &x, &d));
        memcpy(s->x + to * w->block + at * l->x, x, w->t.count * l->x * sizeof *x);
        to += l->x;
    }
    return SCANT_OK;
}

static scant_status keep_class(work *w, side *s, size_t at, size_t c) {
    size_t to = 0;
    const float *d;
    for (size_t i = 0; i < w->t.n_layers; i++) {
        const nn_layer *l = &w->t.layers[i];
        TRY(nn_tracer_layer(&w->t, i, NULL, &d));
        float *into = s->d + (to * w->block + at * l->d) * w->classes;
        for (size_t k = 0; k < w->t.count; k++)
            memcpy(into + (k * w->classes + c) * l->d, d + k * l->d, l->d * sizeof *d);
        to += l->d;
    }
    return SCANT_OK;
}

/* Computes the traces of the block that starts at sample `first`, unless s has them. */
static scant_status side_fill(work *w, side *s, size_t first) {
    size_t count = size_min(w->block, s->n - first), classes = w->classes;
    if (s->count && s->first == first) return SCANT_OK;
    s->count = 0;
    for (size_t at = 0; at < count; at += w->t.batch) {
        size_t some = size_min(w->t.batch, count - at);
        TRY(nn_tracer_forward(&w->t, s->data, s->rows, first + at, some));
        for (size_t c = 0; c < classes; c++) {
            memset(w->t.d_logits, 0, some * classes * sizeof *w->t.d_logits);
            for (size_t i = 0; i < some; i++) w->t.d_logits[i * classes + c] = 1;
            TRY(nn_tracer_backward(&w->t, false));
            if (c == 0) TRY(keep_inputs(w, s, at));
            TRY(keep_class(w, s, at, c));
        }
        TRY(scant__tick(w->t.net->ctx, NULL, 0, 0)); /* allows cancelling */
    }
    s->first = first;
    s->count = count;
    return SCANT_OK;
}

/* ---- products of a pair of blocks ---- */

/* A tile: n samples of one block, from position a on, and m of the other, from b on. */
typedef struct tile {
    size_t a, n, b, m;
} tile;

static tile tile_at(const work *w, size_t task) {
    size_t across = (w->b->count + w->tile - 1) / w->tile;
    tile t = {.a = task / across * w->tile, .b = task % across * w->tile};
    t.n = size_min(w->tile, w->a->count - t.a);
    t.m = size_min(w->tile, w->b->count - t.b);
    return t;
}

static size_t tiles(const work *w) {
    return ((w->a->count + w->tile - 1) / w->tile) *
           ((w->b->count + w->tile - 1) / w->tile);
}

/* Adds products (rows of a by rows of b) to the result, multiplied by `by` (n, m) if that
 * is not NULL. There is a row for each sample, and if full for each class of it. */
static void add_tile(const work *w, const tile *t, const float *products,
                     const float *by) {
    size_t each = w->full ? w->classes : 1, columns = t->m * each;
    double share = w->full ? 1 : 1 / (double)w->classes;
    for (size_t i = 0; i < t->n * each; i++) {
        double *out = w->out + ((w->a->first + t->a) * each + i) * w->out_row +
                      (w->b->first + t->b) * each;
        const float *row = products + i * columns;
        const float *times = by ? by + i / each * t->m : NULL;
        for (size_t j = 0; j < columns; j++)
            out[j] += share * (double)row[j] * (times ? (double)times[j / each] : 1);
    }
}

/* Adds the products of rows (sample, class) of `width` numbers; a, b: the first rows. */
static void multiply(const work *w, const tile *t, const float *a, const float *b,
                     size_t width, const float *by, float *products) {
    size_t classes = w->classes, apart = classes * width;
    for (size_t at = 0; at < width; at += PIECE) {
        size_t some = size_min(PIECE, width - at);
        if (w->full) {
            la_snt(t->n * classes, t->m * classes, some, a + at, width, b + at, width,
                   products, t->m * classes);
            add_tile(w, t, products, by);
            continue;
        }
        for (size_t c = 0; c < classes; c++) {
            la_snt(t->n, t->m, some, a + c * width + at, apart, b + c * width + at, apart,
                   products, t->m);
            add_tile(w, t, products, by);
        }
    }
}

static scant_status dense_tile(void *arg, size_t task, unsigned worker,
                               scant__fault *fault) {
    (void)fault;
    const work *w = arg;
    const nn_layer *l = w->layer;
    tile t = tile_at(w, task);
    float *by = w->room + worker * w->room_each, *products = by + w->tile * w->tile;
    const float *xa = w->a->x + w->x_at * w->block, *xb = w->b->x + w->x_at * w->block;
    const float *da = w->a->d + w->d_at * w->block * w->classes;
    const float *db = w->b->d + w->d_at * w->block * w->classes;
    la_snt(t.n, t.m, l->width, xa + t.a * l->x, l->x, xb + t.b * l->x, l->x, by, t.m);
    if (w->scaled)
        for (size_t i = 0; i < t.n * t.m; i++) by[i] *= 2 / (float)l->width;
    else if (l->bias)
        for (size_t i = 0; i < t.n * t.m; i++) by[i] += 1;
    multiply(w, &t, da + t.a * w->classes * l->d, db + t.b * w->classes * l->d, l->d, by,
             products);
    return SCANT_OK;
}

/* Returns how many floats one channel takes in a gradient row. */
static size_t layer_row(const nn_layer *l) { return l->width + (l->bias ? 1 : 0); }

static size_t row_width(const work *w) { return w->channels * layer_row(w->layer); }

static scant_status rows_tile(void *arg, size_t task, unsigned worker,
                              scant__fault *fault) {
    (void)fault;
    const work *w = arg;
    tile t = tile_at(w, task);
    size_t width = row_width(w), sample = w->classes * width;
    multiply(w, &t, w->a->g + t.a * sample, w->b->g + t.b * sample, width, NULL,
             w->room + worker * w->room_each);
    return SCANT_OK;
}

/* Computes the gradient rows of one sample, for all classes. */
static scant_status form_rows(void *arg, size_t sample, unsigned worker,
                              scant__fault *fault) {
    (void)fault;
    const work *w = arg;
    const nn_layer *l = w->layer;
    const side *s = w->forming;
    const float *x = s->x + w->x_at * w->block + sample * l->x;
    const float *d = s->d + (w->d_at * w->block + sample * l->d) * w->classes;
    size_t width = row_width(w);
    nn_part part = {.first = w->channel,
                    .count = w->channels,
                    .copies = w->classes,
                    .out = s->g + sample * w->classes * width,
                    .stride = width};
    nn_layer_gradient(l, x, d, &part, w->room + worker * w->room_each);
    return SCANT_OK;
}

static scant_status form(work *w, const side *s) {
    w->forming = s;
    return scant__blas_for(w->t.net->ctx, NULL, s->count, form_rows, w);
}

static scant_status add_rows(work *w) {
    const nn_layer *l = w->layer;
    size_t most = size_max(1, size_min(l->rows, w->row_floats / layer_row(l)));
    for (w->channel = 0; w->channel < l->rows; w->channel += most) {
        w->channels = size_min(most, l->rows - w->channel);
        TRY(form(w, w->a));
        if (w->b != w->a) TRY(form(w, w->b));
        TRY(scant__blas_for(w->t.net->ctx, NULL, tiles(w), rows_tile, w));
    }
    return SCANT_OK;
}

static scant_status add_pair(work *w, const side *a, const side *b) {
    w->a = a;
    w->b = b;
    w->x_at = w->d_at = 0;
    for (size_t i = 0; i < w->t.n_layers; i++) {
        const nn_layer *l = w->layer = &w->t.layers[i];
        if (l->node->kind == NN_DENSE)
            TRY(scant__blas_for(w->t.net->ctx, NULL, tiles(w), dense_tile, w));
        else
            TRY(add_rows(w));
        w->x_at += l->x;
        w->d_at += l->d;
    }
    return SCANT_OK;
}

/* ---- the kernel ---- */

/* Chooses the sizes of blocks, gradient rows and tiles. */
static void cut(work *w, size_t samples) {
    size_t traces =
        size_mul(2 * sizeof(float), size_add(w->x, size_mul(w->classes, w->d)));
    size_t least = 0, most = 0; /* floats of a row of g: one channel, a whole layer */
    size_t share = nn_share(w->t.net->ctx, (size_t)SHARE_MOST << 20) / 2;
    for (size_t i = 0; i < w->t.n_layers; i++) {
        const nn_layer *l = &w->t.layers[i];
        if (l->node->kind == NN_DENSE) continue;
        least = size_max(least, layer_row(l));
        most = size_max(most, size_mul(l->rows, layer_row(l)));
    }
    size_t row =
        size_mul(2 * sizeof(float), w->classes); /* bytes for each float of a row */
    w->block = size_min(samples, share / size_max(1, traces));
    if (least) w->block = size_min(w->block, share / size_mul(row, least));
    w->block = size_max(1, w->block);
    w->row_floats = size_min(most, share / size_mul(row, w->block));
    w->row_floats = size_max(w->row_floats, least);
    size_t samples_tile = w->full ? TILE_ROWS / w->classes : TILE_ROWS;
    size_t eighth = (w->block + TILES_ACROSS - 1) / TILES_ACROSS;
    eighth = size_min(size_max(eighth, TILE_LEAST), w->block);
    w->tile = size_max(1, size_min(samples_tile, eighth));
}

static scant_status side_room(work *w, side *s) {
    size_t classes = size_mul(w->block, w->classes);
    s->x = TRY_NEW(w->arena, float, size_mul(w->x, w->block));
    s->d = TRY_NEW(w->arena, float, size_mul(w->d, classes));
    s->g = TRY_NEW(w->arena, float, size_mul(w->row_floats, classes));
    return SCANT_OK;
}

static scant_status take_room(work *w, side *a, side *b) {
    size_t each = w->full ? w->classes : 1;
    for (size_t i = 0; i < w->t.n_layers; i++) {
        w->x = size_add(w->x, w->t.layers[i].x);
        w->d = size_add(w->d, w->t.layers[i].d);
        w->room_each = size_max(w->room_each, nn_layer_room(&w->t.layers[i]));
    }
    cut(w, size_max(a->n, b->n));
    size_t rows = w->tile * each;
    size_t products = size_add(size_mul(w->tile, w->tile), size_mul(rows, rows));
    w->room_each = size_max(w->room_each, products);
    w->room_each = size_add(w->room_each, 15) / 16 * 16;
    w->room = TRY_NEW(w->arena, float, size_mul(w->t.net->ctx->threads, w->room_each));
    TRY(side_room(w, a));
    return w->half && w->block >= a->n ? SCANT_OK : side_room(w, b); /* b is a */
}

static bool same_samples(const side *a, const side *b) {
    if (a->data != b->data || a->n != b->n) return false;
    for (size_t i = 0; i < a->n; i++)
        if ((a->rows ? a->rows[i] : i) != (b->rows ? b->rows[i] : i)) return false;
    return true;
}

/* Warns if there are many blocks, because the traces of a block are computed again for
 * every other block. */
static void warn_of_blocks(const work *w, size_t samples) {
    size_t blocks = (samples + w->block - 1) / w->block;
    scant_ctx *ctx = w->t.net->ctx;
    if (blocks <= BLOCKS_FEW || nn_share(ctx, SIZE_MAX) >= (size_t)SHARE_MOST << 20)
        return;
    scant__warn(ctx,
                "little memory: the kernel of %zu samples is computed in blocks of %zu, "
                "and their gradients up to %zu times; more memory would make it faster",
                samples, w->block, blocks);
}

static scant_status run(work *w, side *a, side *b) {
    scant_ctx *ctx = w->t.net->ctx;
    bool half = w->half = same_samples(a, b);
    TRY(take_room(w, a, b));
    warn_of_blocks(w, size_max(a->n, b->n));
    size_t down = (a->n + w->block - 1) / w->block, done = 0;
    size_t across = (b->n + w->block - 1) / w->block;
    size_t pairs = half ? down * (down + 1) / 2 : size_mul(down, across);
    for (size_t i = 0; i < down; i++) {
        TRY(side_fill(w, a, i * w->block));
        for (size_t j = 0; j < (half ? i + 1 : across); j++) {
            TRY(scant__tick(ctx, "kernel", done++, pairs));
            bool same = half && i == j;
            if (!same) TRY(side_fill(w, b, j * w->block));
            TRY(add_pair(w, a, same ? a : b));
        }
    }
    for (size_t i = 0; half && i < w->out_row; i++)
        for (size_t j = 0; j < i; j++)
            w->out[j * w->out_row + i] = w->out[i * w->out_row + j];
    return scant__tick(ctx, "kernel", pairs, pairs);
}

static void close_work(work *w) { nn_tracer_close(&w->t); }

static scant_status compute(scant_net *net, const scant_data *data, const size_t *rows,
                            size_t n, const scant_data *other, const size_t *other_rows,
                            size_t m, bool last_layer, bool full, bool scaled,
                            double *out) {
    TRY(nn_input_check(net, data));
    TRY(nn_input_check(net, other));
    TRY(nn_input_rows_check(net->ctx, data, rows, &n));
    TRY(nn_input_rows_check(net->ctx, other, other_rows, &m));
    if (!n || !m) return SCANT_OK;
    side a = {.data = data, .rows = rows, .n = n};
    side b = {.data = other, .rows = other_rows, .n = m};
    AUTO(scant__arena_end) scant__arena arena = {.ctx = net->ctx};
    AUTO(close_work)
    work w = {.arena = &arena,
              .classes = net->net->classes,
              .full = full,
              .scaled = scaled,
              .out = out};
    size_t each = w.full ? w.classes : 1;
    w.out_row = m * each;
    memset(out, 0, n * each * w.out_row * sizeof *out);
    TRY(nn_tracer_open(&w.t, net, size_max(n, m),
                       last_layer ? NN_SCOPE_LAST : NN_SCOPE_ALL));
    return run(&w, &a, &b);
}

scant_status scant_net_kernel(scant_net *net, const scant_data *data, const size_t *rows,
                              size_t n, const scant_data *other, const size_t *other_rows,
                              size_t m, bool last_layer, bool full, double *out) {
    NEED(net && data);
    return compute(net, data, rows, n, other, other_rows, m, last_layer, full, false,
                   out);
}

scant_status study_net_scaled_kernel(scant_net *net, const scant_data *data,
                                     const size_t *rows, size_t n, double *out) {
    return compute(net, data, rows, n, data, rows, n, false, false, true, out);
}
