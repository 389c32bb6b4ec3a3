/* SPDX-License-Identifier: Apache-2.0
 *
 * The first picks of a strategy as pictures: thumbnails.npy (u1, K x h x w x c) holds
 * them, thumbnails.csv tells which pick each is of.
 */
#ifndef SCANT_REPORT_THUMBNAILS_H
#define SCANT_REPORT_THUMBNAILS_H

#include "report/markup.h"
#include "report/results.h"

enum { SHEET_PICTURES = 24, SHEET_SIDE = 64 };

/* The pictures of a folder; array NULL: there are none. */
typedef struct report_pictures {
    scant_array *array;
    size_t count, height, width, channels;
} report_pictures;

/* A strategy's: picks of its first round beyond the initial set, best first. */
typedef struct report_sheet {
    const report_thumbnail *items[SHEET_PICTURES];
    size_t ranks[SHEET_PICTURES];
    size_t n;
    size_t folder;
    uint64_t seed;
} report_sheet;

/* Opens a folder's pictures where both files are there. */
scant_status report_pictures_open(report_results *results, size_t folder,
                                  report_pictures *out);
void report_pictures_close(report_pictures *pictures);

/* Of the run of which there are most pictures. */
report_sheet report_sheet_of(const report_results *results, size_t strategy);
/* The sheet's pictures side by side as the text of a PNG file in base 64. */
scant_status report_sheet_write(scant__text *out, const report_pictures *pictures,
                                const report_sheet *sheet);

#endif
