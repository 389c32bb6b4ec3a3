/* SPDX-License-Identifier: Apache-2.0
 *
 * Files for the report: names of the classes, and thumbnails of the first picks of each
 * strategy with the first seed.
 *
 *   classes.csv     label,name,count (count: in the pool)
 *   thumbnails.npy  u1, K x h x w x c, sides of at most 64, c 1 or 3
 *   thumbnails.csv  row,index,label,name (row of thumbnails.npy, index in the training
 *                   data, class)
 */
#include <math.h>
#include <string.h>

#include "data/array.h"
#include "data/dataset.h"
#include "loop/loop.h"
#include "scant/train.h"

enum { SHOWN = 24, SIDE = 64 };

static void add_class_name(scant__text *text, const scant_data *data, int32_t label) {
    const char *name = scant_data_class_name(data, (size_t)label);
    scant__text_csv(text, name ? name : "");
}

static scant_status put(loop_job *job, const char *name, scant__text *text) {
    const char *path = loop_path(job, name);
    if (!path || text->failed) return SCANT_ENOMEM;
    return scant_file_write(job->ctx, path, text->data, text->size);
}

static scant_status write_classes(loop_job *job) {
    const loop_samples *s = &job->samples;
    const int32_t *labels = scant_data_labels(s->train);
    AUTO(scant__arena_end) scant__arena arena = {.ctx = job->ctx};
    AUTO(scant__text_end) scant__text text = {.ctx = job->ctx};
    size_t *counts = TRY_ZERO(&arena, size_t, s->classes);
    for (size_t i = 0; i < s->n_rows; i++) counts[labels[s->rows[i]]]++;
    scant__text_add(&text, "label,name,count\n");
    for (size_t c = 0; c < s->classes; c++) {
        scant__text_addf(&text, "%zu,", c);
        add_class_name(&text, s->train, (int32_t)c);
        scant__text_addf(&text, ",%zu\n", counts[c]);
    }
    return put(job, "classes.csv", &text);
}

/* ---- thumbnails -------------------------------------------------------------------- */

typedef struct sheet {
    size_t channels, height, width; /* size of a sample */
    size_t shown, high, wide;       /* size of a thumbnail; shown: channels */
    float *planes;
    unsigned char *bytes;
    size_t *rows, n;
} sheet;

/* The mean of the pixels that a pixel of the thumbnail covers. */
static double shrink(const sheet *s, size_t c, size_t y, size_t x) {
    size_t y0 = y * s->height / s->high, x0 = x * s->width / s->wide;
    size_t y1 = size_max((y + 1) * s->height / s->high, y0 + 1);
    size_t x1 = size_max((x + 1) * s->width / s->wide, x0 + 1);
    double sum = 0;
    for (size_t v = y0; v < y1; v++)
        for (size_t u = x0; u < x1; u++)
            sum += (double)s->planes[(c * s->height + v) * s->width + u];
    return sum / (double)((y1 - y0) * (x1 - x0));
}

/* Draws a thumbnail: 0 is black and 1 is white, or the sample's smallest and largest
 * value if these are outside. */
static void draw(const sheet *s, unsigned char *out) {
    size_t numbers = s->channels * s->height * s->width;
    double low = 0, high = 1;
    for (size_t i = 0; i < numbers; i++) {
        low = fmin(low, (double)s->planes[i]);
        high = fmax(high, (double)s->planes[i]);
    }
    for (size_t y = 0; y < s->high; y++)
        for (size_t x = 0; x < s->wide; x++)
            for (size_t c = 0; c < s->shown; c++) {
                double light = (shrink(s, c, y, x) - low) / (high - low);
                *out++ = (unsigned char)(255 * fmin(fmax(light, 0), 1) + 0.5);
            }
}

static bool listed(const sheet *s, size_t row) {
    for (size_t i = 0; i < s->n; i++)
        if (s->rows[i] == row) return true;
    return false;
}

/* The first picks of the first round, for each strategy's run with the first seed. */
static void list_picks(const loop_job *job, sheet *s) {
    for (size_t i = 0; i < job->n_runs; i += job->e->n_seeds) {
        const loop_run *run = &job->runs[i];
        if (run->shown_points < 2) continue;
        size_t from = run->state.ends[0], to = size_min(run->state.ends[1], from + SHOWN);
        for (size_t k = from; k < to; k++)
            if (!listed(s, run->state.picks[k].index))
                s->rows[s->n++] = run->state.picks[k].index;
    }
}

static scant_status write_thumbnails(loop_job *job, const sheet *s) {
    const size_t shape[] = {s->n, s->high, s->wide, s->shown};
    const char *path = loop_path(job, "thumbnails.npy");
    AUTO(scant_array_auto) scant_array *array = NULL;
    void *bytes;
    size_t size;
    if (!path) return SCANT_ENOMEM;
    TRY(scant_array_wrap(job->ctx, "thumbnails", s->bytes, SCANT_U8, 4, shape, &array));
    TRY(scant_array_encode(job->ctx, array, &bytes, &size));
    scant_status status = scant_file_write(job->ctx, path, bytes, size);
    scant_bytes_free(job->ctx, bytes);
    return status;
}

static scant_status write_names(loop_job *job, const sheet *s) {
    const scant_data *train = job->samples.train;
    const int32_t *labels = scant_data_labels(train);
    AUTO(scant__text_end) scant__text text = {.ctx = job->ctx};
    scant__text_add(&text, "row,index,label,name\n");
    for (size_t i = 0; i < s->n; i++) {
        int32_t label = labels ? labels[s->rows[i]] : 0;
        scant__text_addf(&text, "%zu,%zu,%d,", i, s->rows[i], (int)label);
        if (labels) add_class_name(&text, train, label);
        scant__text_add(&text, "\n");
    }
    return put(job, "thumbnails.csv", &text);
}

static scant_status draw_all(loop_job *job, scant__arena *arena, sheet *s) {
    const scant_data *train = job->samples.train;
    size_t pixels = s->high * s->wide * s->shown;
    s->rows = TRY_NEW(arena, size_t, job->e->n_strategies * SHOWN);
    s->planes = TRY_NEW(arena, float, scant__data_width(train));
    list_picks(job, s);
    if (!s->n) return SCANT_OK;
    s->bytes = TRY_NEW(arena, unsigned char, size_mul(s->n, pixels));
    for (size_t i = 0; i < s->n; i++) {
        scant__fault fault;
        scant_status status = scant__data_read(train, s->rows[i], s->planes, &fault);
        if (status != SCANT_OK) return scant__fail(job->ctx, status, "%s", fault.text);
        draw(s, s->bytes + i * pixels);
    }
    TRY(write_thumbnails(job, s));
    return write_names(job, s);
}

scant_status loop_sheet_write(loop_job *job) {
    const scant_data *train = job->samples.train;
    size_t shape[3];
    AUTO(scant__arena_end) scant__arena arena = {.ctx = job->ctx};
    if (!job->samples.regression) TRY(write_classes(job));
    if (!scant__data_is_image(train)) return SCANT_OK;
    scant_data_shape(train, shape);
    size_t longer = size_max(shape[1], shape[2]);
    sheet s = {.channels = shape[0], .height = shape[1], .width = shape[2]};
    s.shown = shape[0] >= 3 ? 3 : 1;
    s.high = longer > SIDE ? size_max(shape[1] * SIDE / longer, 1) : shape[1];
    s.wide = longer > SIDE ? size_max(shape[2] * SIDE / longer, 1) : shape[2];
    return draw_all(job, &arena, &s);
}
