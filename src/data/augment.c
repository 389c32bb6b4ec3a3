/* SPDX-License-Identifier: Apache-2.0
 *
 * Reflection excludes the edge, like NumPy's "reflect": ... 2 1 | 0 1 2 ... Images of
 * fewer than eight pixels a side are not shifted.
 */
#include "data/augment.h"

#include <string.h>

/* Uniform on -most..most. */
static ptrdiff_t draw_shift(const scant__rng *rng, uint64_t index, size_t most) {
    return (ptrdiff_t)scant__rng_below(rng, index, 2 * most + 1) - (ptrdiff_t)most;
}

/* Reflects at into 0..size-1; at lies less than size outside. */
static size_t reflect(ptrdiff_t at, size_t size) {
    if (at < 0) at = -at;
    if ((size_t)at >= size) at = 2 * ((ptrdiff_t)size - 1) - at;
    return (size_t)at;
}

/* Pixel x of out is pixel x + shift of in (reflected at the borders), or, if mirrored,
 * goes to the same distance from the row's end. size is a compile-time constant after
 * inlining. */
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

void scant__augment_flip_crop(const float *in, float *out, size_t c, size_t h, size_t w,
                              uint64_t seed, uint64_t draw, bool flip) {
    const scant__rng rng = {seed, SCANT__RNG_AUGMENT};
    scant__augment_move(scant__augment_draw(&rng, draw, h, w, flip), in, out, c, h, w);
}
