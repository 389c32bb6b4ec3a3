/* SPDX-License-Identifier: Apache-2.0
 *
 * The first picks of a strategy as images: thumbnails.npy (u1, K x h x w x c) has the
 * pixels, and thumbnails.csv the index and label of each.
 */
#include "report/page.h"

#include <inttypes.h>

#include "data/array.h"
#include "data/images.h"
#include "report/results_int.h"

/* ---- images of a folder ------------------------------------------------------------ */

static scant_status check_shape(scant_ctx *ctx, report_images *p) {
    const scant_array *a = p->array;
    bool flat = a->ndim == 3; /* one channel */
    if (a->dtype != SCANT_U8 || (a->ndim != 4 && !flat))
        return scant__fail(ctx, SCANT_EINPUT,
                           "%s: images are expected as an array of bytes, count x "
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
                       "%s: images of %zu x %zu with %zu channels; 1 or 3 channels and "
                       "sides of 1 to %d are expected",
                       a->name, p->height, p->width, p->channels, SHEET_SIDE);
}

scant_status report_images_open(report_results *r, size_t folder, report_images *out) {
    const report_folder *f = &r->folders[folder];
    scant_ctx *ctx = r->arena.ctx;
    *out = (report_images){0};
    if (!f->n_thumbnails) return SCANT_OK;
    char *path = report_path(&r->arena, f->path, "thumbnails.npy");
    if (!path) return SCANT_ENOMEM;
    if (!report_file_exists(path)) return SCANT_OK;
    TRY(scant_array_open(ctx, path, &out->array));
    TRY(check_shape(ctx, out));
    for (size_t i = 0; i < f->n_thumbnails; i++)
        if (f->thumbnails[i].row >= out->count)
            return scant__fail(ctx, SCANT_EINPUT,
                               "%s/thumbnails.csv: names row %" PRIu64
                               ", but thumbnails.npy has %zu (from 0)",
                               f->path, f->thumbnails[i].row, out->count);
    return SCANT_OK;
}

void report_images_close(report_images *images) {
    scant_array_free(images->array);
    *images = (report_images){0};
}

static const report_thumbnail *find(const report_folder *f, uint64_t index) {
    size_t at = REPORT_COUNT_FIRST(f->n_thumbnails, i, f->thumbnails[i].index < index);
    bool found = at < f->n_thumbnails && f->thumbnails[at].index == index;
    return found ? &f->thumbnails[at] : NULL;
}

static report_sheet sheet_of_run(const report_results *r, const report_run *run) {
    report_sheet sheet = {.folder = run->folder, .seed = run->seed};
    size_t first = 0;
    while (first < run->n_picks && !run->picks[first].round) first++;
    for (size_t i = first; i < run->n_picks && sheet.n < SHEET_IMAGES; i++) {
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

/* ---- a sheet as PNG ---------------------------------------------------------------- */

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

/* Copies image number `image` to column `x` of a sheet that is `sheet_width` pixels wide.
 * A grey pixel is repeated in all three channels. */
static void copy_image(const report_images *p, size_t image, size_t x, size_t sheet_width,
                       unsigned char *rgb) {
    const unsigned char *from =
        p->array->data + image * p->height * p->width * p->channels;
    for (size_t y = 0; y < p->height; y++) {
        unsigned char *to = rgb + 3 * (y * sheet_width + x);
        for (size_t i = 0; i < 3 * p->width; i++)
            to[i] = p->channels == 3 ? from[i] : from[i / 3];
        from += p->width * p->channels;
    }
}

scant_status report_sheet_write(scant__text *out, const report_images *p,
                                const report_sheet *sheet) {
    AUTO(scant__arena_end) scant__arena arena = {.ctx = out->ctx};
    size_t width = p->width * sheet->n, size = 0;
    void *png = NULL;
    unsigned char *rgb = TRY_NEW(&arena, unsigned char, 3 * p->height * width);
    for (size_t i = 0; i < sheet->n; i++)
        copy_image(p, (size_t)sheet->items[i]->row, i * p->width, width, rgb);
    TRY(scant__encode_png(out->ctx, rgb, width, p->height, p->channels == 1, &png,
                          &size));
    add_base64(out, png, size);
    scant__free(out->ctx, png);
    return SCANT_OK;
}
