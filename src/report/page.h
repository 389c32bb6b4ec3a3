/* SPDX-License-Identifier: Apache-2.0
 *
 * report.html: one page that needs nothing else: no network, no font, no script to be
 * read. (A script shows values under the pointer.) All text from files is escaped.
 */
#ifndef SCANT_REPORT_PAGE_H
#define SCANT_REPORT_PAGE_H

#include "report/chart.h"

/* folder: where the page will lie, beside charts/ and the tables. */
scant_status report_write_page(scant__text *out, report_results *results,
                               const report_view *view, const char *folder);

/* Parts of it. (page_style.c, page_tables.c) */
extern const char *const report_page_style[]; /* NULL ends it */
extern const char report_page_script[];
/* A page from its first byte to where its title is to come, and from there to within its
 * style, which "</style>" ends. script: whether it will have one. */
void page_begin_head(scant__text *out, bool script);
void page_add_style(scant__text *out);

/* The strategy with the best area under its curve: of equals the first. */
size_t page_best_area(const report_view *view);
const char *page_plural(size_t n); /* the s of many */
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
