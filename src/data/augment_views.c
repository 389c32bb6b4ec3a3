/* SPDX-License-Identifier: Apache-2.0
 *
 * A weak view of an image is mirrored at random and shifted. Pixels that come in at an
 * edge are reflected without the edge itself, like NumPy's "reflect": ... 2 1 | 0 1 2 ...
 * Along a side of fewer than eight pixels an image is not shifted.
 *
 * A strong view of an image is a weak view, then two of the fourteen operations, drawn
 * with replacement, each applied with probability 1/2 at a random level and direction,
 * then a grey square at a random pixel (Cutout; DeVries and Taylor 2017). By default the
 * square is half as wide as the shorter side of the image, which gives FixMatch's 16
 * pixels for images of 32. The paper covers no other sizes; a fixed 16 would hide most of
 * a small image and little of a large one.
 *
 * Operations work on bytes, so a float image is quantised to 256 levels between its black
 * and white. An image that was read from bytes stays bit-identical.
 *
 * Views of features go beyond the papers, which treat images only. The weak view adds
 * nearly normal noise: the sum of eight random bytes, within 4.9 standard deviations. The
 * strong view adds the same noise and drops some features, like a denoising autoencoder.
 * Unlike dropout, it does not scale up the remaining features.
 *
 * A weak view of an image uses the random numbers 4 draw to 4 draw + 2. A strong view
 * uses 16 draw + i: i = 0 to 2 for the weak view in it, 4 to 11 for the operations, 12
 * and 13 for the square. A feature uses 64 random bits for noise, and 32 bits, from index
 * 2^63 on, to decide whether it is dropped.
 *
 * Cost on one core of the development machine for 32 x 32 colour pixels: 3 microseconds
 * for a weak view, 9 for a strong one, of which half convert floats to bytes and back.
 */
#include "data/augment_views.h"

#include <string.h>

#include "core/size.h"

enum { NUMBERS = 16, OPERATIONS_AT = 4, CUTOUT_AT = 12, BLOCKS = 32 };

static size_t width_of(const scant__views *v) { return v->c * v->h * v->w; }

size_t scant__views_scratch(const scant__views *v) {
    return v->images ? size_mul(2, width_of(v)) : 0;
}

/* ---- weak views of images ---- */

/* Uniform on -most..most. */
static ptrdiff_t draw_shift(const scant__rng *rng, uint64_t index, size_t most) {
    return (ptrdiff_t)scant__rng_below(rng, index, 2 * most + 1) - (ptrdiff_t)most;
}

/* Reflects index `at` into 0..size-1. Requires -size < at < 2 * size - 1. */
static size_t reflect(ptrdiff_t at, size_t size) {
    if (at < 0) at = -at;
    if ((size_t)at >= size) at = 2 * ((ptrdiff_t)size - 1) - at;
    return (size_t)at;
}

/* Copies pixel `from` of in to pixel x of out, or, if mirrored, to pixel w - 1 - x. size
 * (bytes per pixel) is a compile-time constant after inlining. */
static inline void move_pixel(const unsigned char *in, unsigned char *out, size_t w,
                              size_t x, size_t from, bool mirrored, size_t size) {
    memcpy(out + (mirrored ? w - 1 - x : x) * size, in + from * size, size);
}

static inline void move_row(const unsigned char *in, unsigned char *out, size_t w,
                            ptrdiff_t shift, bool mirrored, size_t size) {
    size_t from = shift < 0 ? (size_t)-shift : 0;
    size_t to = shift > 0 ? w - (size_t)shift : w;
    for (size_t x = 0; x < from; x++)
        move_pixel(in, out, w, x, reflect((ptrdiff_t)x + shift, w), mirrored, size);
    for (size_t x = to; x < w; x++)
        move_pixel(in, out, w, x, reflect((ptrdiff_t)x + shift, w), mirrored, size);
    size_t first = (size_t)((ptrdiff_t)from + shift);
    if (!mirrored) {
        memcpy(out + from * size, in + first * size, (to - from) * size);
        return;
    }
    for (size_t i = 0; i < to - from; i++)
        move_pixel(in, out, w, from + i, first + i, true, size);
}

static inline void move_image(const scant__move *move, const unsigned char *in,
                              unsigned char *out, size_t c, size_t h, size_t w,
                              size_t size) {
    size_t row = w * size;
    for (size_t plane = 0; plane < c; plane++, in += h * row)
        for (size_t y = 0; y < h; y++, out += row)
            move_row(in + reflect((ptrdiff_t)y + move->down, h) * row, out, w,
                     move->across, move->mirrored, size);
}

void scant__augment_move(scant__move move, const float *in, float *out, size_t c,
                         size_t h, size_t w) {
    move_image(&move, (const unsigned char *)in, (unsigned char *)out, c, h, w,
               sizeof *in);
}

void scant__augment_move_bytes(scant__move move, const unsigned char *in,
                               unsigned char *out, size_t c, size_t h, size_t w) {
    move_image(&move, in, out, c, h, w, 1);
}

scant__move scant__augment_draw(const scant__rng *rng, uint64_t draw, size_t h, size_t w,
                                bool flip) {
    scant__move move = {.down = draw_shift(rng, 4 * draw, h / 8),
                        .across = draw_shift(rng, 4 * draw + 1, w / 8),
                        .mirrored = flip && scant__rng_below(rng, 4 * draw + 2, 2)};
    /* shifting a mirrored image is mirroring an image shifted the other way */
    if (move.mirrored) move.across = -move.across;
    return move;
}

/* ---- strong views of images ---- */

size_t scant__strong_steps(const scant__rng *rng, uint64_t draw,
                           scant__augment_step steps[SCANT__AUGMENT_STEPS]) {
    size_t n = 0;
    for (uint64_t i = 0; i < SCANT__AUGMENT_STEPS; i++) {
        uint64_t at = NUMBERS * draw + OPERATIONS_AT + 4 * i;
        if (scant__rng_below(rng, at, 2)) continue;
        scant__augment_step *t = &steps[n++];
        t->operation = (scant__operation)scant__rng_below(rng, at + 1, SCANT__OPERATIONS);
        t->level = 1 + (int)scant__rng_below(rng, at + 2, SCANT__LEVELS);
        if (scant__operation_signed(t->operation) && scant__rng_below(rng, at + 3, 2))
            t->level = -t->level;
    }
    return n;
}

static void cut(const scant__views *v, const scant__rng *rng, uint64_t draw,
                unsigned char *image) {
    size_t side = v->cut ? v->cut : size_min(v->h, v->w) / 2;
    uint64_t at = NUMBERS * draw + CUTOUT_AT;
    size_t y = (size_t)scant__rng_below(rng, at, v->h);
    size_t x = (size_t)scant__rng_below(rng, at + 1, v->w);
    scant__cutout(image, v->c, v->h, v->w, y, x, side);
}

static scant__move draw_move(const scant__views *v, const scant__rng *rng,
                             uint64_t draw) {
    return scant__augment_draw(rng, draw, v->h, v->w, v->flip);
}

void scant__augment_strong_bytes(const scant__views *v, const scant__rng *rng,
                                 uint64_t draw, const unsigned char *in,
                                 unsigned char *out, void *scratch) {
    scant__augment_step steps[SCANT__AUGMENT_STEPS];
    size_t n = scant__strong_steps(rng, draw, steps);
    unsigned char *to = out, *next = scratch;
    scant__augment_move_bytes(draw_move(v, rng, NUMBERS / 4 * draw), in, to, v->c, v->h,
                              v->w);
    for (size_t i = 0; i < n; i++) {
        scant__operate(steps[i].operation, steps[i].level, to, next, v->c, v->h, v->w);
        unsigned char *swap = to;
        to = next;
        next = swap;
    }
    if (to != out) memcpy(out, to, width_of(v));
    cut(v, rng, draw, out);
}

static float white(const scant__views *v) {
    return v->low == 0 && v->high == 0 ? 1 : v->high;
}

static void to_bytes(const scant__views *v, const float *in, unsigned char *out) {
    size_t n = width_of(v);
    float low = v->low, by = 255 / (white(v) - low);
    for (size_t i = 0; i < n; i++) {
        float x = (in[i] - low) * by + .5f;
        x = x > 0 ? x : 0;
        x = x < 255 ? x : 255;
        out[i] = (unsigned char)(int)x;
    }
}

static void to_floats(const scant__views *v, const unsigned char *in, float *out) {
    size_t n = width_of(v);
    float low = v->low, range = white(v) - low;
    for (size_t i = 0; i < n; i++) out[i] = (float)in[i] / 255 * range + low;
}

/* ---- views of features ---- */

/* Nearly normal: the sum of eight random bytes, centred and scaled to unit deviation. */
static inline float bell(uint64_t bits) {
    const uint64_t every_other = 0x00ff00ff00ff00ff;
    uint64_t pairs = (bits & every_other) + (bits >> 8 & every_other);
    int sum = (int)(pairs * 0x0001000100010001 >> 48);
    return (float)(sum - 1020) * 4.784196e-3f; /* 1 / sqrt(8 (256^2 - 1) / 12) */
}

static void add_noise(const scant__views *v, const scant__rng *rng, uint64_t draw,
                      const float *in, float *out) {
    size_t n = width_of(v), blocks = (n + 1) / 2;
    uint64_t first = draw * blocks, bits[BLOCKS][2];
    for (size_t at = 0, some; at < blocks; at += some) {
        some = size_min(blocks - at, BLOCKS);
        scant__rng_blocks(rng, first + at, some, bits);
        for (size_t i = 2 * at; i < size_min(2 * (at + some), n); i++)
            out[i] = in[i] + v->noise * (v->spread ? v->spread[i] : 1) *
                                 bell(bits[i / 2 - at][i % 2]);
    }
}

static void drop_some(const scant__views *v, const scant__rng *rng, uint64_t draw,
                      float *out) {
    size_t n = width_of(v), blocks = (n + 3) / 4;
    uint64_t first = ((uint64_t)1 << 63) + draw * blocks, bits[BLOCKS][2];
    uint64_t below = (uint64_t)((double)v->drop * 0x1p32);
    for (size_t at = 0, some; at < blocks; at += some) {
        some = size_min(blocks - at, BLOCKS);
        scant__rng_blocks(rng, first + at, some, bits);
        for (size_t i = 4 * at; i < size_min(4 * (at + some), n); i++)
            if ((bits[i / 4 - at][i / 2 % 2] >> (i % 2 ? 32 : 0) & 0xffffffff) < below)
                out[i] = v->middle ? v->middle[i] : 0;
    }
}

/* ---- views of images or features ---- */

void scant__augment_weak(const scant__views *v, const scant__rng *rng, uint64_t draw,
                         const float *in, float *out) {
    if (v->images)
        scant__augment_move(draw_move(v, rng, draw), in, out, v->c, v->h, v->w);
    else
        add_noise(v, rng, draw, in, out);
}

void scant__augment_strong(const scant__views *v, const scant__rng *rng, uint64_t draw,
                           const float *in, float *out, void *scratch) {
    if (!v->images) {
        add_noise(v, rng, draw, in, out);
        drop_some(v, rng, draw, out);
        return;
    }
    unsigned char *bytes = scratch, *made = bytes + width_of(v);
    to_bytes(v, in, bytes);
    scant__augment_strong_bytes(v, rng, draw, bytes, made, bytes);
    to_floats(v, made, out);
}
