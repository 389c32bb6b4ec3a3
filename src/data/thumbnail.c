/* SPDX-License-Identifier: Apache-2.0
 *
 * Encodes a sample for display, shrunk with the filter that resizes samples. A large JPEG
 * is decoded at a reduced size, but at least twice the requested one, so that the filter
 * determines the quality.
 *
 * Images with two channels show the first, those with more than three the first three.
 * Values from 0 to 1 map to black to white; others are clipped.
 */
#include <math.h>
#include <string.h>

#include "core/mem.h"
#include "data/dataset_int.h"
#include "data/decode.h"
#include "data/encode.h"
#include "data/resize.h"
#include "scant/train.h"

enum { QUALITY = 88 };

typedef struct canvas {
    scant_ctx *ctx;
    scant__fault fault;
    size_t most;
    bool shrunk;
    scant__fit fit;
    scant__resize resize;
    unsigned char *pixels; /* of the result */
} canvas;

static void on_result(void *self, size_t y, const unsigned char *rgb) {
    const canvas *c = self;
    size_t stride = 3 * c->fit.width;
    memcpy(c->pixels + y * stride, rgb, stride);
}

static scant_status on_begin(void *self, size_t width, size_t height, int orientation) {
    canvas *c = self;
    (void)orientation;
    c->fit = scant__fit_whole(width, height, c->most);
    c->shrunk = c->fit.width != width || c->fit.height != height;
    c->pixels =
        scant__worker_alloc(c->ctx, size_mul(c->fit.width, c->fit.height), 3, &c->fault);
    if (!c->pixels) return SCANT_ENOMEM;
    return scant__resize_begin(&c->resize, c->ctx, width, height, &c->fit, on_result, c,
                               &c->fault);
}

static void on_row(void *self, const unsigned char *rgb) {
    scant__resize_row(&((canvas *)self)->resize, rgb);
}

/* ---- geometry ---------------------------------------------------------------------- */

static scant_status draw_file(canvas *c, const scant_data *data, size_t row, bool *png) {
    char path[PATH_MAX];
    scant__map map;
    TRY(scant__data_map_file(data, row, path, &map, &c->fault));
    const scant__decode job = {.ctx = c->ctx,
                               .name = path,
                               .bytes = map.bytes,
                               .size = map.size,
                               .fault = &c->fault,
                               .begin = on_begin,
                               .row = on_row,
                               .self = c,
                               .least = size_mul(c->most, 2)};
    scant_status status = scant__decode_upright(&job);
    *png = map.size >= 4 && memcmp(map.bytes, "\x89PNG", 4) == 0 && !c->shrunk;
    scant__map_close(&map);
    return status;
}

static unsigned char to_byte(float value) {
    return (unsigned char)lrintf(255 * fminf(fmaxf(value, 0), 1));
}

static scant_status draw_planes(canvas *c, const scant_data *data, const float *planes,
                                unsigned char *row) {
    size_t channels = data->shape[0], height = data->shape[1], width = data->shape[2];
    TRY(on_begin(c, width, height, 1));
    for (size_t y = 0; y < height; y++) {
        for (size_t x = 0; x < width; x++)
            for (size_t k = 0; k < 3; k++) {
                size_t plane = channels < 3 ? 0 : k;
                row[3 * x + k] = to_byte(planes[(plane * height + y) * width + x]);
            }
        on_row(c, row);
    }
    return SCANT_OK;
}

static scant_status draw_array(canvas *c, const scant_data *data, size_t at) {
    float *planes =
        scant__worker_alloc(c->ctx, scant__data_width(data), sizeof *planes, &c->fault);
    unsigned char *row = scant__worker_alloc(c->ctx, data->shape[2], 3, &c->fault);
    scant_status status =
        planes && row ? data->read(data, at, planes, &c->fault) : SCANT_ENOMEM;
    if (status == SCANT_OK) status = draw_planes(c, data, planes, row);
    scant__free(c->ctx, planes);
    scant__free(c->ctx, row);
    return status;
}

/* ---- whole file ---------------------------------------------------------------------
 */

static scant_status encode(const canvas *c, bool png, bool grey, void **bytes,
                           size_t *size, const char **type) {
    const scant__fit *fit = &c->fit;
    *type = png ? "image/png" : "image/jpeg";
    if (png)
        return scant__encode_png(c->ctx, c->pixels, fit->width, fit->height, grey, bytes,
                                 size);
    return scant__encode_jpeg(c->ctx, c->pixels, fit->width, fit->height, QUALITY, bytes,
                              size);
}

scant_status scant__data_image_file(const scant_data *data, size_t row, size_t most,
                                    void **bytes, size_t *size, const char **type) {
    canvas c = {.ctx = data->ctx, .most = most, .resize.ctx = data->ctx};
    bool png = true;
    *bytes = NULL;
    if (row >= data->count || !most)
        return scant__fail(data->ctx, SCANT_EUSAGE,
                           "%s: has no sample %zu of at most %zu pixels a side",
                           data->name, row, most);
    while (data->part) data = data->part(data, &row);
    if (!data->images)
        return scant__fail(data->ctx, SCANT_EINPUT, "%s: has feature rows, not images",
                           data->name);
    scant_status status =
        data->files ? draw_file(&c, data, row, &png) : draw_array(&c, data, row);
    if (status != SCANT_OK)
        scant__fail(data->ctx, status, "%s", c.fault.text);
    else
        status = encode(&c, png, !data->files && data->shape[0] < 3, bytes, size, type);
    scant__resize_end(&c.resize);
    scant__free(data->ctx, c.pixels);
    return status;
}
