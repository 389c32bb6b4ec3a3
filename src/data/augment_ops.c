/* SPDX-License-Identifier: Apache-2.0
 *
 * RandAugment's operations (Cubuk, Zoph, Shlens, Le 2020) with the ranges of FixMatch
 * (Sohn et al. 2020). Results equal Pillow's ImageOps, ImageEnhance, rotate() and
 * transform() with nearest neighbours, byte for byte.
 *
 *     operation                    effect at level v
 *     Identity                     nothing
 *     AutoContrast                 each channel's range becomes 0 to 255
 *     Equalize                     each channel's histogram becomes about flat
 *     Brightness, Color,           blend of .05 + .09 v of the image with black, with its
 *     Contrast, Sharpness          grey image, with its mean grey, with a smoothed image
 *     Posterize                    the highest 4 + floor(.4 v) bits are kept
 *     Solarize                     bytes b >= 256 - floor(25.6 v) become 255 - b
 *     Rotate                       3 v degrees about the centre, positive: anticlockwise
 *     ShearX, ShearY               shear by .03 v, the upper left corner stays in place
 *     TranslateX, TranslateY       floor(.03 v side) pixels, positive to the left and up
 *
 * Geometric operations fill pixels whose source lies outside of the image with black.
 *
 * For single-channel images Color is the identity and the other thirteen operations work
 * as for colour images. With any channel count other than one or three the grey image is
 * the mean of the channels, not the luma.
 *
 * Each operation is one pass over the image, or two if it needs a histogram or a mean
 * first. Operations on values use a table of 256 bytes, geometric ones an affine map from
 * out to in.
 */
#include "data/augment_views.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

typedef struct job {
    const unsigned char *in;
    unsigned char *out;
    size_t c, h, w;
    int level;
} job;

static size_t plane_of(const job *j) { return j->h * j->w; }

/* ---- byte tables ---- */

static void look_up(const unsigned char *in, unsigned char *out, size_t n,
                    const unsigned char *table) {
    for (size_t i = 0; i < n; i++) out[i] = table[in[i]];
}

static void look_up_all(const job *j, const unsigned char *table) {
    look_up(j->in, j->out, j->c * plane_of(j), table);
}

static void identity(const job *j) { memcpy(j->out, j->in, j->c * plane_of(j)); }

static void posterize(const job *j) {
    unsigned char table[256];
    int gone = 4 - j->level * 4 / 10; /* number of low bits cleared */
    for (int b = 0; b < 256; b++) table[b] = (unsigned char)(b >> gone << gone);
    look_up_all(j, table);
}

static void solarize(const job *j) {
    unsigned char table[256];
    int from = 256 - j->level * 256 / 10;
    for (int b = 0; b < 256; b++) table[b] = (unsigned char)(b < from ? b : 255 - b);
    look_up_all(j, table);
}

/* Makes the table for AutoContrast. Returns false if all bytes are equal. */
static bool stretch_table(const unsigned char *in, size_t n, unsigned char *table) {
    int low = 255, high = 0;
    for (size_t i = 0; i < n; i++) {
        low = in[i] < low ? in[i] : low;
        high = in[i] > high ? in[i] : high;
    }
    if (low >= high) return false;
    double scale = 255.0 / (high - low), offset = -low * scale;
    for (int b = 0; b < 256; b++) {
        double to = b * scale + offset;
        table[b] = (unsigned char)(to < 0 ? 0 : to > 255 ? 255 : to);
    }
    return true;
}

/* Makes the table for Equalize. Returns false if fewer than 255 pixels are below the
 * largest value. */
static bool even_table(const unsigned char *in, size_t n, unsigned char *table) {
    size_t histogram[256] = {0}, last = 255;
    for (size_t i = 0; i < n; i++) histogram[in[i]]++;
    while (last > 0 && !histogram[last]) last--;
    size_t step = (n - histogram[last]) / 255, sum = step / 2;
    if (!step) return false;
    for (size_t b = 0; b < 256; b++) {
        size_t to = sum / step;
        table[b] = (unsigned char)(to < 255 ? to : 255);
        sum += histogram[b];
    }
    return true;
}

/* Builds and applies one table per channel. */
static void by_channel(const job *j, bool (*make)(const unsigned char *in, size_t n,
                                                  unsigned char *table)) {
    size_t n = plane_of(j);
    unsigned char table[256];
    for (size_t c = 0; c < j->c; c++) {
        const unsigned char *in = j->in + c * n;
        if (make(in, n, table))
            look_up(in, j->out + c * n, n, table);
        else
            memcpy(j->out + c * n, in, n);
    }
}

static void autocontrast(const job *j) { by_channel(j, stretch_table); }
static void equalize(const job *j) { by_channel(j, even_table); }

/* ---- blends of the image with a degraded one ---- */

static float kept(const job *j) { return (float)(.05 + .09 * j->level); }

/* Interpolates from poor (degraded) to rich; truncates as Pillow does. */
static inline unsigned char blend(int poor, int rich, float part) {
    return (unsigned char)(int)((float)poor + part * (float)(rich - poor));
}

static void blend_all(const job *j, int poor) {
    unsigned char table[256];
    float part = kept(j);
    for (int b = 0; b < 256; b++) table[b] = blend(poor, b, part);
    look_up_all(j, table);
}

static void brightness(const job *j) { blend_all(j, 0); }

/* For three channels the luma with the ITU-R 601 weights, which are in 65536ths. */
static void grey_image(const job *j, unsigned char *out) {
    size_t n = plane_of(j);
    const unsigned char *in = j->in;
    if (j->c == 1) {
        memcpy(out, in, n);
        return;
    }
    if (j->c == 3) {
        for (size_t i = 0; i < n; i++)
            out[i] = (unsigned char)((in[i] * 19595u + in[n + i] * 38470u +
                                      in[2 * n + i] * 7471u + 0x8000u) >>
                                     16);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        size_t sum = j->c / 2;
        for (size_t c = 0; c < j->c; c++) sum += in[c * n + i];
        out[i] = (unsigned char)(sum / j->c);
    }
}

/* The first channel of out holds the grey image, so it is processed last. */
static void color(const job *j) {
    size_t n = plane_of(j);
    float part = kept(j);
    grey_image(j, j->out);
    for (size_t c = j->c; c-- > 0;) {
        const unsigned char *in = j->in + c * n, *grey = j->out;
        unsigned char *out = j->out + c * n;
        for (size_t i = 0; i < n; i++) out[i] = blend(grey[i], in[i], part);
    }
}

static void contrast(const job *j) {
    size_t n = plane_of(j);
    uint64_t sum = 0;
    grey_image(j, j->out); /* temporary: only its mean is used */
    for (size_t i = 0; i < n; i++) sum += j->out[i];
    blend_all(j, n ? (int)((2 * sum + n) / (2 * n)) : 0);
}

/* Sharpens a row except its first and last pixel. A smoothed pixel is the mean of 3 x 3
 * pixels, the centre counted five times; adding 6 before dividing by 13 rounds. */
static void sharpen_row(const unsigned char *above, const unsigned char *row,
                        const unsigned char *below, unsigned char *out, size_t w,
                        float part) {
    for (size_t x = 1; x + 1 < w; x++) {
        int sum = above[x - 1] + above[x] + above[x + 1] + row[x - 1] + 5 * row[x] +
                  row[x + 1] + below[x - 1] + below[x] + below[x + 1];
        out[x] = blend((sum + 6) / 13, row[x], part);
    }
}

static void sharpness(const job *j) {
    size_t w = j->w;
    identity(j); /* keeps the border */
    for (size_t c = 0; c < j->c; c++)
        for (size_t y = 1; y + 1 < j->h; y++) {
            const unsigned char *row = j->in + (c * j->h + y) * w;
            sharpen_row(row - w, row, row + w, j->out + (c * j->h + y) * w, w, kept(j));
        }
}

/* ---- geometry ---- */

/* Maps the centre of each pixel of out to a point of in; the pixel of in around this
 * point gives the value. Fixed point in 65536ths, so a step is an exact addition. */
typedef struct affine {
    int64_t x, y;             /* source of the centre of out's first pixel */
    int64_t x_right, y_right; /* step for one pixel to the right */
    int64_t x_down, y_down;   /* step for one pixel down */
} affine;

static int64_t fixed(double x) { return (int64_t)floor(x * 65536 + .5); }

static bool inside(int64_t at, size_t size) { return at >= 0 && (size_t)at < size; }

/* Writes row y of out, for a map in which each row of out is a shifted row of in. */
static void copy_row(const job *j, const affine *a, size_t y) {
    size_t n = plane_of(j), w = j->w;
    int64_t shift = a->x >> 16, from = a->y >> 16;
    size_t before = shift < 0 ? (size_t)-shift : 0, after = shift > 0 ? (size_t)shift : 0;
    bool none = !inside(from, j->h) || before >= w || after >= w;
    for (size_t c = 0; c < j->c; c++) {
        unsigned char *out = j->out + c * n + y * w;
        memset(out, 0, w);
        if (none) continue;
        memcpy(out + before, j->in + c * n + (size_t)from * w + after,
               w - before - after);
    }
}

static void map_row(const job *j, const affine *a, size_t y) {
    size_t n = plane_of(j);
    unsigned char *out = j->out + y * j->w;
    int64_t at_x = a->x, at_y = a->y;
    for (size_t x = 0; x < j->w; x++, at_x += a->x_right, at_y += a->y_right) {
        bool there = inside(at_x >> 16, j->w) && inside(at_y >> 16, j->h);
        size_t from = there ? (size_t)(at_y >> 16) * j->w + (size_t)(at_x >> 16) : 0;
        for (size_t c = 0; c < j->c; c++)
            out[c * n + x] = there ? j->in[c * n + from] : 0;
    }
}

static void map(const job *j, const double right[2], const double down[2],
                const double origin[2]) {
    affine a = {.x = fixed(origin[0] + right[0] * .5 + down[0] * .5),
                .y = fixed(origin[1] + right[1] * .5 + down[1] * .5),
                .x_right = fixed(right[0]),
                .y_right = fixed(right[1]),
                .x_down = fixed(down[0]),
                .y_down = fixed(down[1])};
    bool rows = a.x_right == 65536 && a.y_right == 0;
    for (size_t y = 0; y < j->h; y++, a.x += a.x_down, a.y += a.y_down)
        (rows ? copy_row : map_row)(j, &a, y);
}

static void rotate(const job *j) {
    const double pi = 3.14159265358979323846;
    double angle = 3 * j->level * pi / 180, cosine = cos(angle), sine = sin(angle);
    double x = (double)j->w / 2, y = (double)j->h / 2;
    map(j, (double[]){cosine, sine}, (double[]){-sine, cosine},
        (double[]){x - cosine * x + sine * y, y - sine * x - cosine * y});
}

static void shear_x(const job *j) {
    map(j, (double[]){1, 0}, (double[]){.03 * j->level, 1}, (double[]){0, 0});
}

static void shear_y(const job *j) {
    map(j, (double[]){1, .03 * j->level}, (double[]){0, 1}, (double[]){0, 0});
}

/* The length of a translation, negative for a negative level. Cannot overflow, because
 * |level| is at most 9 and `size` is the side of an image. */
static double pixels(int level, size_t size) {
    int64_t way = (level < 0 ? -level : level) * (int64_t)size * 3 / 100;
    return (double)(level < 0 ? -way : way);
}

static void translate_x(const job *j) {
    map(j, (double[]){1, 0}, (double[]){0, 1}, (double[]){pixels(j->level, j->w), 0});
}

static void translate_y(const job *j) {
    map(j, (double[]){1, 0}, (double[]){0, 1}, (double[]){0, pixels(j->level, j->h)});
}

/* ---- table of operations ---- */

static const struct {
    void (*run)(const job *j);
    bool either; /* has a direction: the level may be negative */
} operations[SCANT__OPERATIONS] = {
    [SCANT__IDENTITY] = {identity, false},
    [SCANT__AUTOCONTRAST] = {autocontrast, false},
    [SCANT__EQUALIZE] = {equalize, false},
    [SCANT__BRIGHTNESS] = {brightness, false},
    [SCANT__COLOR] = {color, false},
    [SCANT__CONTRAST] = {contrast, false},
    [SCANT__SHARPNESS] = {sharpness, false},
    [SCANT__POSTERIZE] = {posterize, false},
    [SCANT__SOLARIZE] = {solarize, false},
    [SCANT__ROTATE] = {rotate, true},
    [SCANT__SHEAR_X] = {shear_x, true},
    [SCANT__SHEAR_Y] = {shear_y, true},
    [SCANT__TRANSLATE_X] = {translate_x, true},
    [SCANT__TRANSLATE_Y] = {translate_y, true},
};

bool scant__operation_signed(scant__operation operation) {
    return operations[operation].either;
}

void scant__operate(scant__operation operation, int level, const unsigned char *in,
                    unsigned char *out, size_t c, size_t h, size_t w) {
    operations[operation].run(&(job){in, out, c, h, w, level});
}

void scant__cutout(unsigned char *image, size_t c, size_t h, size_t w, size_t y, size_t x,
                   size_t side) {
    size_t before = side / 2, after = side - before;
    size_t top = y > before ? y - before : 0, left = x > before ? x - before : 0;
    size_t bottom = h - y > after ? y + after : h, right = w - x > after ? x + after : w;
    for (size_t plane = 0; plane < c; plane++)
        for (size_t row = top; row < bottom; row++)
            memset(image + (plane * h + row) * w + left, 127, right - left);
}
