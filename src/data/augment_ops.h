/* SPDX-License-Identifier: Apache-2.0
 *
 * The fourteen operations of strong augmentation on 8-bit images.
 *
 * An image is c planes of h x w bytes. in and out must not overlap; every byte of out is
 * written. Allocates nothing and cannot fail.
 */
#ifndef SCANT_DATA_AUGMENT_OPS_H
#define SCANT_DATA_AUGMENT_OPS_H

#include <stdbool.h>
#include <stddef.h>

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

enum { SCANT__LEVELS = 9 }; /* a level is 1 to 9 */

/* Whether the level has a direction and may be negative. */
bool scant__operation_signed(scant__operation operation);

void scant__operate(scant__operation operation, int level, const unsigned char *in,
                    unsigned char *out, size_t c, size_t h, size_t w);

/* Paints a grey (127) square of side pixels centred at (y, x), clipped to the image. For
 * an even side the larger half lies before the centre. */
void scant__cutout(unsigned char *image, size_t c, size_t h, size_t w, size_t y, size_t x,
                   size_t side);

#endif
