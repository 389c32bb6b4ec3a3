/* SPDX-License-Identifier: Apache-2.0
 *
 * Encodes a sample for display, shrunk with the filter that resizes samples. A large JPEG
 * is decoded at a reduced size, but at least twice the requested one, so that the filter
 * determines the quality.
 *
 * Of two channels the first is shown, of more than three the first three. Values from 0
 * (black) to 1 (white) are shown; others are clipped.
 */
#include <math.h>
#include <string.h>

#include "data/dataset_int.h"
#include "data/images.h"

enum { QUALITY = 88 };

typedef struct canvas {
    scant_ctx *ctx;
    scant__fault fault;
    size_t most;
    bool shrunk;
    scant__fit fit;
    scant__resize resize;
    unsigned char *pixels; /* the result, three bytes per pixel */
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

/* ---- drawing ----------------------------------------------------------------------- */

static scant_status draw_file(canvas *c, const scant_data *data, size_t row, bool *png) {
    char path[PATH_MAX];
    AUTO(scant__map_close) scant__map map = {0};
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
    return status;
}

static unsigned char to_byte(float value) {
    return (unsigned char)lrintf(255 * fminf(fmaxf(value, 0), 1));
}

static scant_status draw_array(canvas *c, const scant_data *data, size_t at) {
    AUTO(scant__arena_end) scant__arena arena = {.ctx = c->ctx};
    size_t channels = data->shape[0], height = data->shape[1], width = data->shape[2];
    float *planes = TRY_NEW(&arena, float, scant__data_width(data));
    unsigned char *row = TRY_NEW(&arena, unsigned char, size_mul(width, 3));
    TRY(data->read(data, at, planes, &c->fault));
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

/* ---- encoding ---------------------------------------------------------------------- */

static void end(canvas *c) {
    scant__resize_end(&c->resize);
    scant__free(c->ctx, c->pixels);
}

scant_status scant__data_image_file(const scant_data *data, size_t row, size_t most,
                                    void **bytes, size_t *size, const char **type) {
    AUTO(end) canvas c = {.ctx = data->ctx, .most = most, .resize.ctx = data->ctx};
    bool png = true;
    *bytes = NULL;
    if (row >= data->count)
        return scant__fail(data->ctx, SCANT_EUSAGE, "%s: has no sample %zu, only %zu",
                           data->name, row, data->count);
    if (!most)
        return scant__fail(data->ctx, SCANT_EUSAGE,
                           "%s: the longest side allowed for an image is 0 pixels, "
                           "expected at least 1",
                           data->name);
    while (data->part) data = data->part(data, &row);
    if (!data->images)
        return scant__refuse(data->ctx, data->name, "has feature rows, not images");
    scant_status status =
        data->files ? draw_file(&c, data, row, &png) : draw_array(&c, data, row);
    if (status != SCANT_OK)
        return c.fault.text[0] ? scant__fail(c.ctx, status, "%s", c.fault.text) : status;
    *type = png ? "image/png" : "image/jpeg";
    bool grey = !data->files && data->shape[0] < 3;
    size_t width = c.fit.width, height = c.fit.height;
    return png ? scant__encode_png(c.ctx, c.pixels, width, height, grey, bytes, size)
               : scant__encode_jpeg(c.ctx, c.pixels, width, height, QUALITY, bytes, size);
}
