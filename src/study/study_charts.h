/* SPDX-License-Identifier: Apache-2.0
 *
 * The charts of a page about a kernel (kernel_charts.c), each in the form that is asked
 * for; kernel_page.c puts them together.
 */
#ifndef SCANT_STUDY_CHARTS_H
#define SCANT_STUDY_CHARTS_H

#include "report/chart.h"
#include "scant/study.h"

/* What a chart cannot show of a view, it expects not to be asked for. */
void kernel_chart_spectrum(scant__text *out, const scant_study_view *v, chart_form form);
void kernel_chart_labels(scant__text *out, const scant_study_view *v, chart_form form);
void kernel_chart_agreement(scant__text *out, const scant_study_view *v, chart_form form);
void kernel_chart_descent(scant__text *out, const scant_study_view *v, chart_form form);

/* The kernel as cosines between samples, which come by their classes: means over blocks
 * of samples where there are many. */
enum { KERNEL_CELLS = 64 }; /* a side at most */
typedef struct kernel_heat {
    size_t cells;
    double value[KERNEL_CELLS * KERNEL_CELLS];
    double low, high;
    size_t borders[KERNEL_CELLS]; /* cells that begin another class than the one before */
    size_t n_borders;
} kernel_heat;

/* order: room for a number a sample. */
void kernel_heat_of(const scant_study_view *v, size_t *order, kernel_heat *heat);
void kernel_chart_heat(scant__text *out, const kernel_heat *heat, chart_form form);

#endif
