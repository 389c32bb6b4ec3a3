/* SPDX-License-Identifier: Apache-2.0
 *
 * The charts of a page about a kernel; study_page.c puts them together.
 */
#ifndef SCANT_STUDY_CHARTS_H
#define SCANT_STUDY_CHARTS_H

#include "report/chart.h"
#include "scant/study.h"

/* The last three need energies, an agreement and losses, respectively. */
void study_chart_spectrum(scant__text *out, const scant_lab *v, chart_form form);
void study_chart_labels(scant__text *out, const scant_lab *v, chart_form form);
void study_chart_agreement(scant__text *out, const scant_lab *v, chart_form form);
void study_chart_descent(scant__text *out, const scant_lab *v, chart_form form);

/* The kernel as cosines between samples, sorted by class. If there are many samples, a
 * cell is the mean over a block of them. */
enum { STUDY_HEAT_CELLS = 64 }; /* maximum cells in a row */
typedef struct study_heat {
    size_t cells; /* cells in a row */
    double value[STUDY_HEAT_CELLS * STUDY_HEAT_CELLS];
    double low, high;
    size_t borders[STUDY_HEAT_CELLS]; /* first cell of each class but the first */
    size_t n_borders;
} study_heat;

/* Computes heat. order: a buffer of one entry for each sample. */
void study_heat_of(const scant_lab *v, size_t *order, study_heat *heat);
void study_chart_heat(scant__text *out, const study_heat *heat, chart_form form);

#endif
