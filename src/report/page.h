/* SPDX-License-Identifier: Apache-2.0
 *
 * HTML pages that need no other file, no network and no font. All text from files is
 * escaped. Only report.html has a script, which shows values under the pointer.
 */
#ifndef SCANT_REPORT_PAGE_H
#define SCANT_REPORT_PAGE_H

#include "report/chart.h"

/* Begin a page (page_style.c) in two steps; between them the caller may add to its style
 * sheet. script: whether the page has a script. The body starts with an open <header>. */
void page_begin(scant__text *out, const char *title, bool script);
void page_begin_body(scant__text *out, const char *title);
/* Begins a section with a link to charts/FILE.svg; file NULL: no link. */
void page_section_begin(scant__text *out, const char *id, const char *heading,
                        const char *file);

/* report.html. folder: where the page will be, next to charts/ and the tables. */
scant_status report_write_page(scant__text *out, report_results *results,
                               const report_view *view, const char *folder);

extern const char report_page_script[];

/* A section of report.html: a chart, also written to charts/ID.svg, and its table. */
typedef struct page_section {
    const char *id, *heading;
    const char *note;                     /* above the chart; NULL: page.c writes it */
    bool (*has)(const report_view *view); /* whether there is anything to show */
    const char *without;                  /* text if there is nothing to show */
    report_chart draw;
    void (*table)(scant__text *out, const report_view *view);
    bool open; /* whether the table is unfolded */
} page_section;

enum { PAGE_SECTIONS = 9 };
extern const page_section page_sections[PAGE_SECTIONS];

/* Parts of report.html (page_tables.c). */
/* Returns the strategy with the best area under its curve, the first of equal ones. */
size_t page_best_area(const report_view *view);
/* Returns the comparison of a strategy with random; NULL: none. */
const scant_pair *page_pair_of(const report_view *view, size_t strategy);
const char *page_plural(size_t n); /* "" or "s" */
void page_add_name(scant__text *out, const report_view *view, size_t strategy);
void page_add_left_out(scant__text *out, const report_view *view);
void page_table_areas(scant__text *out, const report_view *view);
void page_table_curves(scant__text *out, const report_view *view);
void page_table_differences(scant__text *out, const report_view *view);
void page_table_efficiency(scant__text *out, const report_view *view);
void page_table_time(scant__text *out, const report_view *view);
void page_table_overlap(scant__text *out, const report_view *view);
void page_table_balance(scant__text *out, const report_view *view);
void page_table_calibration(scant__text *out, const report_view *view);
void page_table_theory(scant__text *out, const report_view *view);
void page_table_trainings(scant__text *out, const report_view *view);
void page_add_data(scant__text *out, const report_view *view); /* JSON for the script */

/* Images of picks (thumbnails.c). */
enum { SHEET_IMAGES = 24, SHEET_SIDE = 64 };

/* The images of a folder; array NULL: none. */
typedef struct report_images {
    scant_array *array;
    size_t count, height, width, channels;
} report_images;

/* The picks of a run's first round after the initial set that have images, best first. */
typedef struct report_sheet {
    const report_thumbnail *items[SHEET_IMAGES];
    size_t ranks[SHEET_IMAGES];
    size_t n;
    size_t folder;
    uint64_t seed;
} report_sheet;

/* Opens the images of a folder if thumbnails.csv and thumbnails.npy exist. The caller
 * closes them, also on failure. */
scant_status report_images_open(report_results *results, size_t folder,
                                report_images *out);
void report_images_close(report_images *images);

/* Returns the sheet of the strategy's run with the most images. */
report_sheet report_sheet_of(const report_results *results, size_t strategy);
/* Adds the images side by side, as a PNG file in base 64. */
scant_status report_sheet_write(scant__text *out, const report_images *images,
                                const report_sheet *sheet);

#endif
