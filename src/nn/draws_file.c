/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes every draw's probabilities for every sample to a file of m planes of n x
 * classes. Samples come in batches, each of which is a piece of every plane; batches are
 * collected until the pieces are large.
 */
#include "data/file.h"
#include "nn/inference.h"
#include "scant/train.h"

enum {
    BYTES = 8 << 20, /* buffer size, unless a single sample needs more */
    SHARE = 8        /* or this fraction of the memory cap, if less */
};

typedef struct gather {
    scant_writer *writer;
    size_t m, n, classes;
    bool lasting;
    size_t rows;         /* capacity */
    size_t batch;        /* maximum batch */
    size_t first, count; /* collected so far */
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

static scant_status take(void *arg, const nn_outputs *said) {
    gather *g = arg;
    g->count += said->count;
    if (g->count + g->batch > g->rows || g->first + g->count == g->n) TRY(write_out(g));
    g->reading.samples = g->block + g->count * g->classes;
    return SCANT_OK;
}

static scant_status check(scant_net *net, const gather *g) {
    if (g->classes == 1)
        return scant__fail(
            net->ctx, SCANT_EINPUT,
            "samples need class probabilities, but the network has one output, a number");
    if (g->m == 1)
        return scant__fail(
            net->ctx, SCANT_EINPUT,
            "the network makes only one prediction per sample; samples need "
            "bayes=variational or dropout with at least two draws, or an ensemble");
    return SCANT_OK;
}

static scant_status run(scant_net *net, const scant_data *data, const size_t *rows,
                        gather *g, const char *path) {
    size_t each = size_mul(size_mul(g->m, g->classes), sizeof(float));
    size_t bytes = size_min(BYTES, net->ctx->cap / SHARE);
    g->rows = size_max(1, size_min(bytes / size_max(each, 1), g->n));
    g->batch = size_min(g->rows, nn_infer_batch(net, g->n));
    g->block = scant__alloc(net->ctx, g->rows, each);
    if (!g->block) return SCANT_ENOMEM;
    g->reading = (nn_inference){.phase = "drawing",
                                .fn = take,
                                .arg = g,
                                .most = g->batch,
                                .samples = g->block,
                                .apart = g->rows * g->classes};
    scant_status s = scant_writer_open(net->ctx, path, SCANT_F32, 3,
                                       (size_t[]){g->m, g->n, g->classes}, &g->writer);
    if (s == SCANT_OK && !g->lasting) scant__writer_temporary(g->writer);
    if (s == SCANT_OK) s = nn_infer(net, data, rows, g->n, &g->reading);
    if (s == SCANT_OK)
        s = scant_writer_finish(g->writer);
    else
        scant_writer_free(g->writer);
    scant__free(net->ctx, g->block);
    return s;
}

scant_status nn_samples(scant_net *net, const scant_data *data, const size_t *rows,
                        size_t n, const char *path, bool lasting) {
    gather g = {.m = scant_net_draws(net),
                .n = rows ? n : scant_data_count(data),
                .classes = scant_net_classes(net),
                .lasting = lasting};
    TRY(check(net, &g));
    return run(net, data, rows, &g, path);
}

scant_status scant_net_samples(scant_net *net, const scant_data *data, const size_t *rows,
                               size_t n, const char *path) {
    return nn_samples(net, data, rows, n, path, true);
}
