/* SPDX-License-Identifier: Apache-2.0
 *
 * Reflection is without the edge, as NumPy's "reflect": ... 2 1 | 0 1 2 ... A picture of
 * less than eight pixels is not shifted.
 */
#include "data/augment.h"

#include "core/rng.h"

/* A shift of -most to most, all alike. */
static ptrdiff_t draw_shift(const scant__rng *rng, uint64_t index, size_t most) {
    return (ptrdiff_t)scant__rng_below(rng, index, 2 * most + 1) - (ptrdiff_t)most;
}

/* at, or its mirror image inside 0..size-1; it lies less than size outside. */
static size_t reflect(ptrdiff_t at, size_t size) {
    if (at < 0) at = -at;
    if ((size_t)at >= size) at = 2 * ((ptrdiff_t)size - 1) - at;
    return (size_t)at;
}

/* out[x] = in[x + shift], continued by reflection. */
static void shift_row(const float *in, float *out, size_t w, ptrdiff_t shift) {
    size_t from = shift < 0 ? (size_t)-shift : 0;
    size_t to = shift > 0 ? w - (size_t)shift : w;
    for (size_t x = 0; x < from; x++) out[x] = in[reflect((ptrdiff_t)x + shift, w)];
    for (size_t x = from; x < to; x++) out[x] = in[(ptrdiff_t)x + shift];
    for (size_t x = to; x < w; x++) out[x] = in[reflect((ptrdiff_t)x + shift, w)];
}

static void mirror_row(float *row, size_t w) {
    for (size_t x = 0; x < w / 2; x++) {
        float swap = row[x];
        row[x] = row[w - 1 - x];
        row[w - 1 - x] = swap;
    }
}

void scant__augment_flip_crop(const float *in, float *out, size_t c, size_t h, size_t w,
                              uint64_t seed, uint64_t draw, bool flip) {
    const scant__rng rng = {seed, SCANT__RNG_AUGMENT};
    ptrdiff_t down = draw_shift(&rng, 4 * draw, h / 8);
    ptrdiff_t across = draw_shift(&rng, 4 * draw + 1, w / 8);
    bool mirrored = flip && scant__rng_below(&rng, 4 * draw + 2, 2);
    /* to shift what is mirrored is to mirror what is shifted the other way */
    if (mirrored) across = -across;
    for (size_t plane = 0; plane < c; plane++, in += h * w)
        for (size_t y = 0; y < h; y++, out += w) {
            shift_row(in + reflect((ptrdiff_t)y + down, h) * w, out, w, across);
            if (mirrored) mirror_row(out, w);
        }
}
