/* SPDX-License-Identifier: Apache-2.0
 *
 * Weak and strong views of a sample for consistency training on unlabelled samples
 * (FixMatch; Sohn et al. 2020).
 *
 * The input is the output of scant__data_read(), before the network's scaling. A view
 * depends only on the sample, the seed and `draw`, not on threads. `draw` is
 * step * samples per step + position. It must be below 2^60, and `draw` times the number
 * of features below 2^61.
 *
 * Allocates nothing and cannot fail. out must not overlap in or scratch.
 */
#ifndef SCANT_DATA_AUGMENT_VIEWS_H
#define SCANT_DATA_AUGMENT_VIEWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/rng.h"

/* ---- the fourteen operations of strong augmentation on 8-bit images ---- */

/* Append only: the numeric values determine what a seed produces. */
typedef enum scant__operation {
    SCANT__IDENTITY,
    SCANT__AUTOCONTRAST,
    SCANT__EQUALIZE,
    SCANT__BRIGHTNESS,
    SCANT__COLOR,
    SCANT__CONTRAST,
    SCANT__SHARPNESS,
    SCANT__POSTERIZE,
    SCANT__SOLARIZE,
    SCANT__ROTATE,
    SCANT__SHEAR_X,
    SCANT__SHEAR_Y,
    SCANT__TRANSLATE_X,
    SCANT__TRANSLATE_Y,
    SCANT__OPERATIONS
} scant__operation;

enum { SCANT__LEVELS = 9 }; /* levels are 1 to 9 */

/* Whether the operation has a direction: its level may be negative. */
bool scant__operation_signed(scant__operation operation);

/* An image is c planes of h x w bytes. Every byte of out is written. */
void scant__operate(scant__operation operation, int level, const unsigned char *in,
                    unsigned char *out, size_t c, size_t h, size_t w);

/* Paints a grey (127) square of `side` pixels centred at (y, x), clipped to the image.
 * If `side` is even, one more row and column lie before (y, x) than after it. */
void scant__cutout(unsigned char *image, size_t c, size_t h, size_t w, size_t y, size_t x,
                   size_t side);

/* ---- views ---- */

typedef struct scant__views {
    size_t c, h, w; /* a sample's shape */
    bool images;    /* false: c h w features */
    /* images: */
    bool flip;       /* mirrors left to right at random; unsuitable for digits */
    size_t cut;      /* side of the grey square in pixels; 0: half the shorter side */
    float low, high; /* values of black and white; both 0 means 0 and 1 */
    /* features: */
    float noise;         /* standard deviation of the noise, in units of spread */
    float drop;          /* fraction of features that a strong view drops, 0 to 1 */
    const float *middle; /* replacement of each dropped feature; NULL: 0 */
    const float *spread; /* standard deviation of each feature; NULL: 1 */
} scant__views;

/* Size in bytes of the scratch of a strong view, whose content no later call needs. */
size_t scant__views_scratch(const scant__views *views);

/* A weak view: images are moved by scant__augment_draw(), features get noise. */
void scant__augment_weak(const scant__views *views, const scant__rng *rng, uint64_t draw,
                         const float *in, float *out);
void scant__augment_strong(const scant__views *views, const scant__rng *rng,
                           uint64_t draw, const float *in, float *out, void *scratch);

/* The same for images of bytes; scratch may equal in. */
void scant__augment_strong_bytes(const scant__views *views, const scant__rng *rng,
                                 uint64_t draw, const unsigned char *in,
                                 unsigned char *out, void *scratch);

/* ---- random parameters of a view ---- */

typedef struct scant__move {
    ptrdiff_t down, across; /* offset of the first pixel in the source image */
    bool mirrored;
} scant__move;

/* Draws a weak view: the image (h, w) is mirrored left to right with probability 1/2, if
 * flip is true. It is then padded by reflection by an eighth of each side (4 pixels of
 * 32), and a random window of the original size is cropped. Uses the numbers 4 draw to
 * 4 draw + 2 of rng. */
scant__move scant__augment_draw(const scant__rng *rng, uint64_t draw, size_t h, size_t w,
                                bool flip);
/* Applies move to an image (c, h, w); out must not overlap in. */
void scant__augment_move(scant__move move, const float *in, float *out, size_t c,
                         size_t h, size_t w);
void scant__augment_move_bytes(scant__move move, const unsigned char *in,
                               unsigned char *out, size_t c, size_t h, size_t w);

typedef struct scant__augment_step {
    scant__operation operation;
    int level;
} scant__augment_step;

enum { SCANT__AUGMENT_STEPS = 2 };

/* Draws the operations of a strong view of an image, in order; returns their number. */
size_t scant__strong_steps(const scant__rng *rng, uint64_t draw,
                           scant__augment_step steps[SCANT__AUGMENT_STEPS]);

#endif
