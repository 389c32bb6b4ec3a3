/* SPDX-License-Identifier: Apache-2.0 */
#include "report/thumbnails.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <png.h>

#include "data/array.h"
#include "report/results_int.h"

/* ---- which pictures ---------------------------------------------------------------- */

static scant_status check_shape(scant_ctx *ctx, report_pictures *p) {
    const scant_array *a = p->array;
    bool flat = a->ndim == 3; /* one channel, not said */
    if (a->dtype != SCANT_U8 || (a->ndim != 4 && !flat))
        return scant__fail(ctx, SCANT_EINPUT,
                           "%s: pictures are expected as an array of bytes, count x "
                           "height x width x channels",
                           a->name);
    p->count = a->shape[0];
    p->height = a->shape[1];
    p->width = a->shape[2];
    p->channels = flat ? 1 : a->shape[3];
    bool good = p->height >= 1 && p->height <= SHEET_SIDE && p->width >= 1 &&
                p->width <= SHEET_SIDE && (p->channels == 1 || p->channels == 3);
    if (good) return SCANT_OK;
    return scant__fail(ctx, SCANT_EINPUT,
                       "%s: pictures of %zu x %zu with %zu channels; 1 or 3 channels and "
                       "sides of 1 to %d are expected",
                       a->name, p->height, p->width, p->channels, SHEET_SIDE);
}

static scant_status check_rows(scant_ctx *ctx, const report_folder *folder,
                               const report_pictures *p) {
    for (size_t i = 0; i < folder->n_thumbnails; i++)
        if (folder->thumbnails[i].row >= p->count)
            return scant__fail(ctx, SCANT_EINPUT,
                               "%s/thumbnails.csv: names row %llu, but thumbnails.npy "
                               "has %zu (from 0)",
                               folder->path,
                               (unsigned long long)folder->thumbnails[i].row, p->count);
    return SCANT_OK;
}

scant_status report_pictures_open(report_results *r, size_t folder,
                                  report_pictures *out) {
    const report_folder *f = &r->folders[folder];
    scant_ctx *ctx = r->arena.ctx;
    *out = (report_pictures){0};
    if (!f->n_thumbnails) return SCANT_OK;
    char *path = report_path(&r->arena, f->path, "thumbnails.npy");
    if (!path) return SCANT_ENOMEM;
    if (!report_file_exists(path)) return SCANT_OK;
    TRY(scant_array_open(ctx, path, &out->array));
    scant_status status = check_shape(ctx, out);
    if (status == SCANT_OK) status = check_rows(ctx, f, out);
    if (status != SCANT_OK) report_pictures_close(out);
    return status;
}

void report_pictures_close(report_pictures *pictures) {
    scant_array_free(pictures->array);
    *pictures = (report_pictures){0};
}

static const report_thumbnail *find(const report_folder *folder, uint64_t index) {
    size_t low = 0, high = folder->n_thumbnails;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (folder->thumbnails[middle].index < index)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < folder->n_thumbnails && folder->thumbnails[low].index == index;
    return found ? &folder->thumbnails[low] : NULL;
}

static report_sheet sheet_of_run(const report_results *r, const report_run *run) {
    report_sheet sheet = {.folder = run->folder, .seed = run->seed};
    size_t first = 0;
    while (first < run->n_picks && !run->picks[first].round) first++;
    for (size_t i = first; i < run->n_picks && sheet.n < SHEET_PICTURES; i++) {
        if (run->picks[i].round != run->picks[first].round) break;
        const report_thumbnail *t = find(&r->folders[run->folder], run->picks[i].index);
        if (!t) continue;
        sheet.ranks[sheet.n] = i - first + 1;
        sheet.items[sheet.n++] = t;
    }
    return sheet;
}

report_sheet report_sheet_of(const report_results *r, size_t strategy) {
    report_sheet best = {0};
    for (size_t i = 0; i < r->strategies[strategy].n_runs; i++) {
        report_sheet sheet = sheet_of_run(r, &r->strategies[strategy].runs[i]);
        if (sheet.n > best.n) best = sheet;
    }
    return best;
}

/* ---- PNG --------------------------------------------------------------------------- */

typedef struct writer {
    scant_ctx *ctx;
    scant__text bytes;
    png_struct *png;
    png_info *info;
    unsigned char row[SHEET_PICTURES * SHEET_SIDE * 3];
} writer;

static void *png_alloc(png_struct *png, png_alloc_size_t size) {
    writer *w = png_get_mem_ptr(png);
    return scant__alloc(w->ctx, size, 1);
}

static void png_release(png_struct *png, void *block) {
    writer *w = png_get_mem_ptr(png);
    scant__free(w->ctx, block);
}

static void on_error(png_struct *png, const char *text) {
    (void)text; /* memory: the allocator has said so */
    png_longjmp(png, 1);
}

static void on_warning(png_struct *png, const char *text) {
    (void)png;
    (void)text;
}

static void on_write(png_struct *png, png_byte *bytes, size_t size) {
    writer *w = png_get_io_ptr(png);
    scant__text_bytes(&w->bytes, (const char *)bytes, size);
}

static void on_flush(png_struct *png) { (void)png; }

/* Row y of all pictures, side by side. */
static void fill_row(writer *w, const report_pictures *p, const report_sheet *sheet,
                     size_t y) {
    size_t stride = p->width * p->channels;
    for (size_t i = 0; i < sheet->n; i++) {
        size_t picture = (size_t)sheet->items[i]->row;
        memcpy(w->row + i * stride, p->array->data + (picture * p->height + y) * stride,
               stride);
    }
}

/* Apart, as what is set before setjmp() must not be changed after it. */
static scant_status write_png(writer *w, const report_pictures *p,
                              const report_sheet *sheet) {
    if (setjmp(png_jmpbuf(w->png))) return SCANT_ENOMEM;
    png_set_write_fn(w->png, w, on_write, on_flush);
    png_set_IHDR(
        w->png, w->info, (png_uint_32)(p->width * sheet->n), (png_uint_32)p->height, 8,
        p->channels == 3 ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_NONE,
        PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(w->png, w->info);
    for (size_t y = 0; y < p->height; y++) {
        fill_row(w, p, sheet, y);
        png_write_row(w->png, w->row);
    }
    png_write_end(w->png, w->info);
    return SCANT_OK;
}

static void add_base64(scant__text *out, const unsigned char *bytes, size_t size) {
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < size; i += 3) {
        size_t left = size - i;
        unsigned long bits = (unsigned long)bytes[i] << 16;
        if (left > 1) bits |= (unsigned long)bytes[i + 1] << 8;
        if (left > 2) bits |= bytes[i + 2];
        char four[4] = {digits[bits >> 18], digits[bits >> 12 & 63],
                        left > 1 ? digits[bits >> 6 & 63] : '=',
                        left > 2 ? digits[bits & 63] : '='};
        scant__text_bytes(out, four, 4);
    }
}

scant_status report_sheet_write(scant__text *out, const report_pictures *p,
                                const report_sheet *sheet) {
    scant_ctx *ctx = out->ctx;
    char *png = NULL;
    size_t size = 0;
    writer *w = scant__zalloc(ctx, 1, sizeof *w);
    if (!w) return SCANT_ENOMEM;
    w->ctx = ctx;
    scant__text_init(&w->bytes, ctx);
    w->png = png_create_write_struct_2(PNG_LIBPNG_VER_STRING, w, on_error, on_warning, w,
                                       png_alloc, png_release);
    if (w->png) w->info = png_create_info_struct(w->png);
    scant_status status = w->info ? write_png(w, p, sheet) : SCANT_ENOMEM;
    if (w->png) png_destroy_write_struct(&w->png, &w->info);
    scant_status taken = scant__text_take(&w->bytes, &png, &size);
    if (status == SCANT_OK) status = taken;
    if (status == SCANT_OK) add_base64(out, (const unsigned char *)png, size);
    if (taken == SCANT_OK) scant__free(ctx, png);
    scant__free(ctx, w);
    return status;
}
