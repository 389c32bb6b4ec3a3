/* SPDX-License-Identifier: Apache-2.0
 *
 * Folders of pictures: class folders (labels are their places in the order of their
 * names' bytes), or pictures by themselves, without labels. Only names are held; a
 * picture is decoded, turned as EXIF says, resized and cut whenever it is read.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "core/mem.h"
#include "data/decode.h"
#include "data/folder.h"
#include "data/map.h"
#include "data/resize.h"
#include "data/samples_int.h"

enum { DEFAULT_SIDE = 224, MAX_SIDE = 4096, MAX_DEPTH = 16 };

/* ---- reading one ------------------------------------------------------------------- */

typedef struct sink {
    const scant_data *data;
    scant__fault *fault;
    float *out;
    size_t width, height;
    int orientation;
    unsigned char *whole; /* of a picture that must be turned; else NULL */
    size_t rows;          /* of whole that are filled */
    scant__resize resize;
} sink;

static bool is_turned(const sink *s) { return s->orientation >= 5; }

static scant_status on_begin(void *self, size_t width, size_t height, int orientation) {
    sink *s = self;
    scant_ctx *ctx = s->data->ctx;
    s->width = width;
    s->height = height;
    s->orientation = orientation;
    if (orientation != 1 &&
        !(s->whole = scant__worker_alloc(ctx, size_mul(width, height), 3, s->fault)))
        return SCANT_ENOMEM;
    return scant__resize_begin(&s->resize, ctx, is_turned(s) ? height : width,
                               is_turned(s) ? width : height, s->data->shape[1],
                               s->data->unit, s->out, s->fault);
}

static void on_row(void *self, const unsigned char *rgb) {
    sink *s = self;
    if (s->whole)
        memcpy(s->whole + s->rows++ * 3 * s->width, rgb, 3 * s->width);
    else
        scant__resize_row(&s->resize, rgb);
}

/* Where pixel (x, y) of the picture as it is to be seen stands in the file. EXIF's eight:
 * as it is, mirrored, upside down, upside down and mirrored, and the same of the picture
 * with rows for columns. */
static const unsigned char *pixel(const sink *s, size_t x, size_t y) {
    size_t right = s->width - 1, bottom = s->height - 1, column, row;
    bool turned = is_turned(s);
    bool from_right = s->orientation == 2 || s->orientation == 3 || s->orientation == 7 ||
                      s->orientation == 8;
    bool from_bottom = s->orientation == 3 || s->orientation == 4 ||
                       s->orientation == 6 || s->orientation == 7;
    column = turned ? y : x;
    row = turned ? x : y;
    if (from_right) column = right - column;
    if (from_bottom) row = bottom - row;
    return s->whole + 3 * (row * s->width + column);
}

static scant_status turn(sink *s) {
    size_t width = is_turned(s) ? s->height : s->width;
    size_t height = is_turned(s) ? s->width : s->height;
    unsigned char *row = scant__worker_alloc(s->data->ctx, width, 3, s->fault);
    if (!row) return SCANT_ENOMEM;
    for (size_t y = 0; y < height; y++) {
        for (size_t x = 0; x < width; x++) memcpy(row + 3 * x, pixel(s, x, y), 3);
        scant__resize_row(&s->resize, row);
    }
    scant__free(s->data->ctx, row);
    return SCANT_OK;
}

static scant_status decode(const scant_data *data, const char *path,
                           const scant__map *map, float *out, scant__fault *fault) {
    sink s = {.data = data, .fault = fault, .out = out, .resize.ctx = data->ctx};
    const scant__decode job = {.ctx = data->ctx,
                               .name = path,
                               .bytes = map->bytes,
                               .size = map->size,
                               .fault = fault,
                               .begin = on_begin,
                               .row = on_row,
                               .self = &s};
    scant_status status = scant__decode_picture(&job);
    if (status == SCANT_OK && s.whole) status = turn(&s);
    scant__resize_end(&s.resize);
    scant__free(data->ctx, s.whole);
    return status;
}

static scant_status read_picture(const scant_data *data, size_t row, float *out,
                                 scant__fault *fault) {
    char path[PATH_MAX];
    scant__map map;
    int length = snprintf(path, sizeof path, "%s/%s", data->name,
                          scant__names_get(&data->sample_names, row));
    if (length < 0 || (size_t)length >= sizeof path)
        return scant__fault_set(fault, SCANT_EINPUT, "%s: sample %zu has too long a path",
                                data->name, row);
    TRY(scant__map_open(path, path, &map, fault));
    scant_status status = decode(data, path, &map, out, fault);
    scant__map_close(&map);
    return status;
}

/* ---- finding them ------------------------------------------------------------------ */

typedef struct walk {
    scant_data *data;
    size_t room;    /* of data->labels */
    size_t ignored; /* files that are no pictures */
} walk;

static bool is_picture(const char *name) {
    return scant__ends_with(name, ".png") || scant__ends_with(name, ".jpg") ||
           scant__ends_with(name, ".jpeg");
}

static scant_status add_picture(walk *w, const char *name, int32_t label) {
    scant_data *data = w->data;
    TRY(scant__names_add(data->ctx, &data->sample_names, name, strlen(name)));
    if (label < 0) return SCANT_OK;
    void *labels = data->labels;
    scant_status status = scant__grow(data->ctx, &labels, &w->room,
                                      data->sample_names.count, sizeof *data->labels);
    data->labels = labels;
    if (status == SCANT_OK) data->labels[data->sample_names.count - 1] = label;
    return status;
}

static scant_status walk_folder(walk *w, const char *below, int32_t label, int depth);

/* The names are of things in the folder that is called below, from spec on. */
static scant_status walk_names(walk *w, const char *below, const scant__names *files,
                               const scant__names *folders, int32_t label, int depth) {
    scant_ctx *ctx = w->data->ctx;
    scant_status status = SCANT_OK;
    for (size_t i = 0; i < files->count + folders->count && status == SCANT_OK; i++) {
        bool file = i < files->count;
        const char *name = file ? scant__names_get(files, i)
                                : scant__names_get(folders, i - files->count);
        if (file && !is_picture(name)) {
            w->ignored++;
            continue;
        }
        char *path = scant__path_join(ctx, below, name);
        if (!path) return SCANT_ENOMEM;
        status =
            file ? add_picture(w, path, label) : walk_folder(w, path, label, depth + 1);
        scant__free(ctx, path);
    }
    return status;
}

static scant_status walk_folder(walk *w, const char *below, int32_t label, int depth) {
    scant_ctx *ctx = w->data->ctx;
    scant__names files = {0}, folders = {0};
    if (depth > MAX_DEPTH)
        return scant__fail(ctx, SCANT_EINPUT,
                           "%s: %s is more than %d folders deep (a link to itself?)",
                           w->data->name, below, MAX_DEPTH);
    TRY(scant__tick(ctx, NULL, 0, 0)); /* may a user have had enough? */
    char *path = scant__path_join(ctx, w->data->name, below);
    if (!path) return SCANT_ENOMEM;
    scant_status status = scant__folder_list(ctx, path, &files, &folders);
    if (status == SCANT_OK) status = walk_names(w, below, &files, &folders, label, depth);
    scant__names_end(ctx, &files);
    scant__names_end(ctx, &folders);
    scant__free(ctx, path);
    return status;
}

/* Class folders: each is a class, also one without pictures, so that the same folders
 * mean the same labels in data to train and to test with. */
static scant_status walk_classes(walk *w, const scant__names *folders) {
    scant_data *data = w->data;
    size_t bare = 0;
    for (size_t i = 0; i < folders->count; i++) {
        const char *name = scant__names_get(folders, i);
        size_t before = data->sample_names.count;
        TRY(scant__names_add(data->ctx, &data->class_names, name, strlen(name)));
        TRY(walk_folder(w, name, (int32_t)i, 1));
        bare += data->sample_names.count == before;
    }
    if (bare && data->sample_names.count)
        scant__warn(data->ctx, "%s: %zu of %zu class folders have no pictures",
                    data->name, bare, folders->count);
    return SCANT_OK;
}

static scant_status walk_root(walk *w, const scant__names *files,
                              const scant__names *folders) {
    scant_data *data = w->data;
    TRY(walk_classes(w, folders));
    if (data->sample_names.count) {
        data->own = true;
        data->classes = folders->count;
        w->ignored += files->count;
    } else {
        scant__names_end(data->ctx, &data->class_names);
        for (size_t i = 0; i < files->count; i++) {
            const char *name = scant__names_get(files, i);
            if (is_picture(name))
                TRY(add_picture(w, name, -1));
            else
                w->ignored++;
        }
    }
    if (!data->sample_names.count)
        return scant__fail(data->ctx, SCANT_EINPUT,
                           "%s: has no pictures (.png, .jpg, .jpeg), neither in class "
                           "folders nor by themselves",
                           data->name);
    if (w->ignored)
        scant__warn(data->ctx,
                    "%s: %zu file%s not used: no picture (.png, .jpg, .jpeg), or in no "
                    "class folder",
                    data->name, w->ignored, w->ignored == 1 ? " is" : "s are");
    return SCANT_OK;
}

scant_status scant__data_open_pictures(scant_data *data, const char *spec,
                                       const scant_data_opts *opts) {
    scant__names files = {0}, folders = {0};
    walk w = {.data = data};
    size_t side = opts->side ? opts->side : DEFAULT_SIDE;
    if (side > MAX_SIDE)
        return scant__fail(data->ctx, SCANT_EUSAGE,
                           "%s: pictures of %zu pixels a side are asked for; %d are the "
                           "most",
                           spec, side, MAX_SIDE);
    scant_status status = scant__folder_list(data->ctx, spec, &files, &folders);
    if (status == SCANT_OK) status = walk_root(&w, &files, &folders);
    scant__names_end(data->ctx, &files);
    scant__names_end(data->ctx, &folders);
    if (status != SCANT_OK) return status;
    if (opts->regression && data->own)
        return scant__fail(data->ctx, SCANT_EUSAGE,
                           "%s: has class folders, not numbers to predict", spec);
    data->count = data->sample_names.count;
    data->shape[0] = 3;
    data->shape[1] = data->shape[2] = side;
    data->pictures = true;
    data->read = read_picture;
    return SCANT_OK;
}
