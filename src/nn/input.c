/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading is cheap from memory and expensive from image files, so threads get small
 * blocks of samples.
 */
#include "nn/input.h"
#include "scant/train.h"

#include <float.h>
#include <math.h>
#include <string.h>

scant_status nn_input_check(scant_net *net, const scant_data *data) {
    size_t shape[3];
    scant_data_shape(data, shape);
    nn_shape s = nn_net_input(net->net);
    bool same = shape[0] == s.c && shape[1] == s.h && shape[2] == s.w;
    bool rows =
        !scant__data_is_image(data) && scant__data_width(data) == nn_shape_size(s);
    if (same || rows) return SCANT_OK;
    return scant__fail(net->ctx, SCANT_EINPUT,
                       "%s has samples of %zux%zux%zu (channels, height, width), but the "
                       "network takes %zux%zux%zu",
                       scant_data_name(data), shape[0], shape[1], shape[2], s.c, s.h,
                       s.w);
}

scant_status nn_input_rows_check(scant_ctx *ctx, const scant_data *data,
                                 const size_t *rows, size_t *n) {
    size_t all = scant_data_count(data);
    if (!rows) {
        *n = all;
        return SCANT_OK;
    }
    for (size_t i = 0; i < *n; i++)
        if (rows[i] >= all)
            return scant__fail(ctx, SCANT_EINPUT,
                               "%s has %zu samples, so there is no sample %zu",
                               scant_data_name(data), all, rows[i]);
    return SCANT_OK;
}

void nn_input_scale(const scant_net *net, float *row) {
    if (!net->scaled) return;
    nn_shape s = nn_net_input(net->net);
    size_t plane = s.h * s.w;
    for (size_t c = 0; c < s.c; c++) {
        float mean = net->mean[c], by = 1 / net->deviation[c], *p = row + c * plane;
        for (size_t i = 0; i < plane; i++) p[i] = (p[i] - mean) * by;
    }
}

scant_status nn_input_row(const scant_net *net, const scant_data *data, size_t row,
                          float *out, scant__fault *fault) {
    TRY(scant__data_read(data, row, out, fault));
    nn_input_scale(net, out);
    return SCANT_OK;
}

typedef struct feed {
    const scant_net *net;
    const scant_data *data;
    const size_t *rows;
    size_t n, width;
    float *out;
} feed;

enum { FEED_BLOCK = 8 };

static scant_status feed_block(void *arg, size_t block, unsigned worker,
                               scant__fault *fault) {
    (void)worker;
    const feed *f = arg;
    size_t to = size_min((block + 1) * FEED_BLOCK, f->n);
    for (size_t i = block * FEED_BLOCK; i < to; i++)
        TRY(nn_input_row(f->net, f->data, f->rows[i], f->out + i * f->width, fault));
    return SCANT_OK;
}

scant_status nn_input_rows(scant_net *net, const scant_data *data, const size_t *rows,
                           size_t n, float *out) {
    feed f = {net, data, rows, n, scant__data_width(data), out};
    return scant__parfor(net->ctx, NULL, (n + FEED_BLOCK - 1) / FEED_BLOCK, feed_block,
                         &f);
}

unsigned nn_input_threads(const scant_net *net, const scant_data *data) {
    return scant_data_sample_name(data, 0) ? net->ctx->threads : 1;
}

/* ---- scaling ---- */

enum { SCALING_SAMPLES = 10000, SCALING_BLOCK = 50 };

typedef struct moments {
    const scant_data *data;
    const size_t *rows; /* NULL: all samples */
    size_t samples, stride, channels, plane;
    float *row;   /* per worker: one sample */
    double *sums; /* per block: sum and sum of squares of each channel */
} moments;

static scant_status moments_block(void *arg, size_t block, unsigned worker,
                                  scant__fault *fault) {
    moments *m = arg;
    size_t to = size_min((block + 1) * SCALING_BLOCK, m->samples);
    float *row = m->row + worker * m->channels * m->plane;
    double *sums = m->sums + block * 2 * m->channels;
    for (size_t i = block * SCALING_BLOCK; i < to; i++) {
        size_t at = i * m->stride;
        TRY(scant__data_read(m->data, m->rows ? m->rows[at] : at, row, fault));
        for (size_t c = 0; c < m->channels; c++) {
            double sum = 0, squares = 0;
            for (size_t k = 0; k < m->plane; k++) {
                double x = (double)row[c * m->plane + k];
                sum += x;
                squares += x * x;
            }
            sums[2 * c] += sum;
            sums[2 * c + 1] += squares;
        }
    }
    return SCANT_OK;
}

float nn_input_deviation(double mean, double variance) {
    double deviation = sqrt(variance);
    bool constant = !(variance > 1e-12 * mean * mean) || deviation < (double)FLT_MIN;
    return constant ? 1 : (float)deviation;
}

static void moments_end(const moments *m, size_t blocks, float *mean, float *deviation) {
    double n = (double)m->samples * (double)m->plane;
    for (size_t c = 0; c < m->channels; c++) {
        double sum = 0, squares = 0;
        for (size_t b = 0; b < blocks; b++) {
            sum += m->sums[(b * m->channels + c) * 2];
            squares += m->sums[(b * m->channels + c) * 2 + 1];
        }
        double mu = sum / n, var = squares / n - mu * mu;
        mean[c] = (float)mu;
        deviation[c] = nn_input_deviation(mu, var);
    }
}

scant_status nn_input_fit_scaling(scant_net *net, const scant_data *data,
                                  const size_t *rows, size_t n) {
    if (net->scaled || !scant__data_is_image(data)) return SCANT_OK;
    size_t shape[3];
    TRY(nn_input_rows_check(net->ctx, data, rows, &n));
    scant_data_shape(data, shape);
    moments m = {.data = data,
                 .rows = rows,
                 .stride = (n + SCALING_SAMPLES - 1) / SCALING_SAMPLES,
                 .channels = shape[0],
                 .plane = shape[1] * shape[2]};
    if (!n) return SCANT_OK;
    m.samples = (n + m.stride - 1) / m.stride;
    size_t blocks = (m.samples + SCALING_BLOCK - 1) / SCALING_BLOCK;
    AUTO(scant__arena_end) scant__arena arena = {.ctx = net->ctx};
    m.row = TRY_NEW(&arena, float, net->ctx->threads *m.channels *m.plane);
    m.sums = TRY_ZERO(&arena, double, blocks * 2 * m.channels);
    float *mean = TRY_NEW(&arena, float, 2 * m.channels);
    TRY(scant__parfor(net->ctx, "measuring pixels", blocks, moments_block, &m));
    moments_end(&m, blocks, mean, mean + m.channels);
    return scant_net_set_scaling(net, mean, mean + m.channels);
}

scant_status scant_net_fit_scaling(scant_net *net, const scant_data *data) {
    NEED(net && data);
    TRY(nn_input_check(net, data));
    return nn_input_fit_scaling(net, data, NULL, 0);
}
