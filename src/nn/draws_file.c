/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes every draw's probabilities for every sample to a file of m planes of n x
 * classes. A batch of samples is a part of every plane. Batches are collected until the
 * buffer is full, so that each write is large.
 */
#include "data/file.h"
#include "nn/inference.h"
#include "scant/train.h"

enum {
    BYTES = 8 << 20, /* buffer size, unless a single sample needs more */
    SHARE = 8        /* at most 1/SHARE of the memory cap */
};

typedef struct gather {
    scant_writer *writer;
    size_t m, n, classes;
    size_t rows;         /* capacity of block in samples */
    size_t batch;        /* maximum batch size */
    size_t first, count; /* samples first..first+count-1 are in block */
    float *block;        /* m x rows x classes */
    nn_inference reading;
} gather;

static scant_status write_out(gather *g) {
    for (size_t s = 0; s < g->m; s++)
        TRY(scant_writer_put(
            g->writer, (s * g->n + g->first) * g->classes * sizeof(float),
            g->block + s * g->rows * g->classes, g->count * g->classes * sizeof(float)));
    g->first += g->count;
    g->count = 0;
    return SCANT_OK;
}

static scant_status take(void *arg, const nn_outputs *outputs) {
    gather *g = arg;
    g->count += outputs->count;
    if (g->count + g->batch > g->rows || g->first + g->count == g->n) TRY(write_out(g));
    g->reading.samples = g->block + g->count * g->classes;
    return SCANT_OK;
}

scant_status nn_samples(scant_net *net, const scant_data *data, const size_t *rows,
                        size_t n, const char *path, bool sync) {
    AUTO(scant__arena_end) scant__arena arena = {.ctx = net->ctx};
    gather g = {.m = scant_net_draws(net),
                .n = rows ? n : scant_data_count(data),
                .classes = scant_net_classes(net)};
    if (g.classes == 1)
        return scant__fail(net->ctx, SCANT_EINPUT,
                           "posterior draws are class probabilities, but the network has "
                           "one output, a number");
    if (g.m == 1)
        return scant__fail(
            net->ctx, SCANT_EINPUT,
            "the network makes only one prediction per sample; posterior draws need "
            "bayes=variational or dropout with at least two draws, or an ensemble");
    size_t each = size_mul(size_mul(g.m, g.classes), sizeof(float));
    size_t bytes = size_min(BYTES, net->ctx->cap / SHARE);
    g.rows = size_max(1, size_min(bytes / size_max(each, 1), g.n));
    g.batch = size_min(g.rows, nn_infer_batch(net, g.n));
    g.block = TRY_NEW(&arena, float, size_mul(g.rows, each / sizeof(float)));
    g.reading = (nn_inference){.phase = "drawing",
                               .fn = take,
                               .arg = &g,
                               .most = g.batch,
                               .samples = g.block,
                               .stride = g.rows * g.classes};
    TRY(scant_writer_open(net->ctx, path, SCANT_F32, 3, (size_t[]){g.m, g.n, g.classes},
                          &g.writer));
    if (!sync) scant__writer_temporary(g.writer);
    scant_status s = nn_infer(net, data, rows, g.n, &g.reading);
    if (s == SCANT_OK) return scant_writer_finish(g.writer);
    scant_writer_free(g.writer);
    return s;
}

scant_status scant_net_write_draws(scant_net *net, const scant_data *data,
                                   const size_t *rows, size_t n, const char *path) {
    NEED(net && data);
    return nn_samples(net, data, rows, n, path, true);
}
