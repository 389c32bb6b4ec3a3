/* SPDX-License-Identifier: Apache-2.0
 *
 * The fourteen operations of strong augmentation, on pictures of bytes.
 *
 * A picture is c planes of h x w bytes, as samples are. in and out must not overlap;
 * every byte of out is written. Nothing is allocated, nothing can fail.
 */
#ifndef SCANT_DATA_OPERATIONS_H
#define SCANT_DATA_OPERATIONS_H

#include <stdbool.h>
#include <stddef.h>

/* Append only: a number here decides what a seed gives. */
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

/* Whether a level may be negative: left or right, up or down. */
bool scant__operation_signed(scant__operation operation);

void scant__operate(scant__operation operation, int level, const unsigned char *in,
                    unsigned char *out, size_t c, size_t h, size_t w);

/* The square of side pixels about pixel (y, x) made grey (127); it may reach beyond the
 * picture. Of an even side the larger half lies before the pixel. */
void scant__cutout(unsigned char *picture, size_t c, size_t h, size_t w, size_t y,
                   size_t x, size_t side);

#endif
