/* SPDX-License-Identifier: Apache-2.0
 *
 * HTML pages that need no other file, network, font or script. All text from files is
 * escaped. report.html has a script that only shows values under the pointer.
 */
#ifndef SCANT_REPORT_PAGE_H
#define SCANT_REPORT_PAGE_H

#include "report/chart.h"

/* Any page (page_style.c). It is begun in two steps, between which the caller may add to
 * its style sheet; script: whether it will have one. The body begins with an open
 * <header>. */
void page_begin(scant__text *out, const char *title, bool script);
void page_begin_body(scant__text *out, const char *title);
/* file: the name of the chart's file, to link to; NULL: none. */
void page_section_begin(scant__text *out, const char *id, const char *heading,
                        const char *file);

/* report.html. folder: where the page will be, next to charts/ and the tables. */
scant_status report_write_page(scant__text *out, report_results *results,
                               const report_view *view, const char *folder);

extern const char report_page_script[];

/* Parts of it (page_tables.c). */
/* The strategy with the best area under its curve: the first of equals. */
size_t page_best_area(const report_view *view);
const char *page_plural(size_t n); /* "" or "s" */
void page_add_name(scant__text *out, const report_view *view, size_t strategy);
void page_add_amount(scant__text *out, const report_view *view, double value, bool sign);
void page_add_spread(scant__text *out, const report_view *view, double mean, double std);
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
void page_add_data(scant__text *out, const report_view *view); /* for the script */

#endif
