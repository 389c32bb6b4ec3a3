/* SPDX-License-Identifier: Apache-2.0
 *
 * Resizes with the triangle filter, widened when shrinking, in two passes: horizontally
 * on each row as it arrives, then vertically. The first pass rounds its results to bytes.
 *
 * To equal PIL's results exactly, weights are computed in double, normalised, and rounded
 * to 22 fraction bits; sums start at one half and are shifted. Only the columns and rows
 * within the crop are computed. The cost is rows * cropped columns * taps + cropped
 * pixels * taps multiplications, and memory for as many rows as there are taps.
 */
#include "data/images.h"

#include <math.h>
#include <string.h>

#include "core/mem.h"

enum { BITS = 22, HALF = 1 << (BITS - 1) };

/* ---- sizes ------------------------------------------------------------------------- */

/* (size - side) / 2 rounded to nearest, ties to even, as in Python. */
static size_t crop_at(size_t size, size_t side) {
    size_t both = size - side, half = both / 2;
    return both % 2 ? half + half % 2 : half;
}

/* The resized length of a side; shorter is the length of the shorter side. */
static size_t resized(size_t length, size_t shorter, size_t side) {
    size_t target = (side * 16 + 7) / 14; /* side * 8 / 7, rounded */
    if (length == shorter) return target;
    return (size_t)((double)(target * length) / (double)shorter);
}

scant__fit scant__fit_middle(size_t width, size_t height, size_t side) {
    size_t shorter = size_min(width, height);
    size_t wide = resized(width, shorter, side), high = resized(height, shorter, side);
    return (scant__fit){wide, high, crop_at(wide, side), crop_at(high, side), side, side};
}

scant__fit scant__fit_whole(size_t width, size_t height, size_t most) {
    size_t longer = size_max(width, height);
    if (longer > most) {
        double scale = (double)most / (double)longer;
        width = size_max((size_t)lround((double)width * scale), 1);
        height = size_max((size_t)lround((double)height * scale), 1);
    }
    return (scant__fit){width, height, 0, 0, width, height};
}

/* ---- weights ----------------------------------------------------------------------- */

static double reach(size_t in, size_t out) {
    double scale = (double)in / (double)out;
    return scale < 1 ? 1 : scale;
}

static size_t most_taps(size_t in, size_t out) {
    return (size_t)ceil(reach(in, out)) * 2 + 1;
}

static double triangle(double x) {
    x = fabs(x);
    return x < 1 ? 1 - x : 0;
}

/* Sets taps i: the weights of pixel `at` if `in` pixels are resized to `out` pixels. */
static void weigh(scant__taps *taps, size_t i, size_t at, size_t in, size_t out) {
    double scale = (double)in / (double)out, wide = reach(in, out), shrink = 1 / wide;
    double centre = ((double)at + .5) * scale, sum = 0;
    double low = centre - wide + .5, high = centre + wide + .5;
    size_t first = low < 0 ? 0 : (size_t)low;
    size_t last = high > (double)in ? in : (size_t)high;
    int32_t *weight = taps->weight + i * taps->most;
    taps->first[i] = first;
    taps->count[i] = last - first;
    for (size_t k = 0; k < last - first; k++)
        sum += triangle(((double)(k + first) - centre + .5) * shrink);
    for (size_t k = 0; k < last - first; k++) {
        double w = triangle(((double)(k + first) - centre + .5) * shrink);
        weight[k] = (int32_t)(.5 + w / sum * (1 << BITS));
    }
}

static unsigned char clip(int32_t sum) {
    sum >>= BITS;
    return (unsigned char)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
}

/* ---- rows -------------------------------------------------------------------------- */

/* Returns space for count items of size bytes at *at and moves *at past it, aligned to
 * eight bytes. */
static void *take(unsigned char **at, size_t count, size_t size) {
    void *room = *at;
    *at += (count * size + 7) / 8 * 8;
    return room;
}

static size_t taps_bytes(const scant__taps *taps, size_t results) {
    return size_mul(results,
                    size_add(2 * sizeof(size_t), size_mul(taps->most, sizeof(int32_t))));
}

static void take_taps(scant__taps *taps, size_t results, unsigned char **at) {
    taps->first = take(at, results, sizeof(size_t));
    taps->count = take(at, results, sizeof(size_t));
    taps->weight = take(at, results * taps->most, sizeof(int32_t));
}

scant_status scant__resize_begin(scant__resize *r, scant_ctx *ctx, size_t width,
                                 size_t height, const scant__fit *fit,
                                 scant__resize_fn *emit, void *self,
                                 scant__fault *fault) {
    *r = (scant__resize){.ctx = ctx,
                         .width = fit->width,
                         .height = fit->height,
                         .across.most = most_taps(width, fit->wide),
                         .down.most = most_taps(height, fit->high),
                         .emit = emit,
                         .self = self};
    size_t bytes =
        size_add(taps_bytes(&r->across, r->width), taps_bytes(&r->down, r->height));
    bytes = size_add(bytes, size_mul(r->width, size_mul(r->down.most, 3)));
    bytes = size_add(bytes, size_mul(r->width, 3 * (sizeof(int32_t) + 1)));
    r->block = scant__worker_alloc(ctx, size_add(bytes, 72), 1, fault);
    if (!r->block) return SCANT_ENOMEM;
    unsigned char *at = r->block;
    take_taps(&r->across, r->width, &at);
    take_taps(&r->down, r->height, &at);
    r->sum = take(&at, 3 * r->width, sizeof(int32_t));
    r->ring = take(&at, r->down.most * r->width, 3);
    r->line = take(&at, r->width, 3);
    for (size_t i = 0; i < r->width; i++)
        weigh(&r->across, i, fit->left + i, width, fit->wide);
    for (size_t i = 0; i < r->height; i++)
        weigh(&r->down, i, fit->top + i, height, fit->high);
    return SCANT_OK;
}

void scant__resize_end(scant__resize *r) { scant__free(r->ctx, r->block); }

static void pass_across(const scant__resize *r, const unsigned char *rgb,
                        unsigned char *out) {
    for (size_t x = 0; x < r->width; x++, out += 3) {
        const int32_t *weight = r->across.weight + x * r->across.most;
        const unsigned char *in = rgb + 3 * r->across.first[x];
        int32_t red = HALF, green = HALF, blue = HALF;
        for (size_t k = 0; k < r->across.count[x]; k++, in += 3) {
            red += weight[k] * in[0];
            green += weight[k] * in[1];
            blue += weight[k] * in[2];
        }
        out[0] = clip(red);
        out[1] = clip(green);
        out[2] = clip(blue);
    }
}

static void pass_down(const scant__resize *r, size_t y) {
    const int32_t *weight = r->down.weight + y * r->down.most;
    size_t n = 3 * r->width, first = r->down.first[y];
    for (size_t i = 0; i < n; i++) r->sum[i] = HALF;
    for (size_t k = 0; k < r->down.count[y]; k++) {
        const unsigned char *in = r->ring + (first + k) % r->down.most * n;
        for (size_t i = 0; i < n; i++) r->sum[i] += weight[k] * in[i];
    }
    for (size_t i = 0; i < n; i++) r->line[i] = clip(r->sum[i]);
    r->emit(r->self, y, r->line);
}

void scant__resize_row(scant__resize *r, const unsigned char *rgb) {
    size_t y = r->seen++;
    if (y < r->down.first[0] || r->done == r->height) return; /* outside the crop */
    pass_across(r, rgb, r->ring + y % r->down.most * 3 * r->width);
    for (; r->done < r->height; r->done++) {
        if (r->down.first[r->done] + r->down.count[r->done] > y + 1) break;
        pass_down(r, r->done);
    }
}
