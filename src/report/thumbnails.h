/* SPDX-License-Identifier: Apache-2.0
 *
 * The first picks of a strategy as images: thumbnails.npy (u1, K x h x w x c) has the
 * pixels, thumbnails.csv the pick of each.
 */
#ifndef SCANT_REPORT_THUMBNAILS_H
#define SCANT_REPORT_THUMBNAILS_H

#include "report/markup.h"
#include "report/results.h"

enum { SHEET_IMAGES = 24, SHEET_SIDE = 64 };

/* The images of a folder; array NULL: none. */
typedef struct report_images {
    scant_array *array;
    size_t count, height, width, channels;
} report_images;

/* Picks of a strategy's first round after the initial set, best first. */
typedef struct report_sheet {
    const report_thumbnail *items[SHEET_IMAGES];
    size_t ranks[SHEET_IMAGES];
    size_t n;
    size_t folder;
    uint64_t seed;
} report_sheet;

/* Opens the images of a folder if both files exist. */
scant_status report_images_open(report_results *results, size_t folder,
                                report_images *out);
void report_images_close(report_images *pictures);

/* The sheet of the run with the most images. */
report_sheet report_sheet_of(const report_results *results, size_t strategy);
/* Adds the images side by side, as a PNG file in base 64. */
scant_status report_sheet_write(scant__text *out, const report_images *pictures,
                                const report_sheet *sheet);

#endif
