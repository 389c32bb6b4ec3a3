/* SPDX-License-Identifier: Apache-2.0
 *
 * Charts as SVG: what they share, and the charts of a report. A chart comes in three
 * forms: for a page on a wide and on a narrow screen (styled by the page), and as a file
 * that stands alone. None needs a script, a font or another file; all are readable on
 * light and on dark.
 *
 * A strategy has a colour of its own in all charts: random is grey, the others go through
 * seven colours that people with any kind of colour vision tell apart (after Okabe and
 * Ito, dark enough on white), and beyond seven through dashes and marks.
 */
#ifndef SCANT_REPORT_CHART_H
#define SCANT_REPORT_CHART_H

#include "report/measures.h"
#include "scant/train.h"

typedef enum chart_form { CHART_WIDE = 1, CHART_NARROW, CHART_FILE } chart_form;

/* All that charts show. */
typedef struct report_view {
    const report_results *r;
    const report_measures *m;
    size_t baseline;         /* the strategy "random", or n_strategies */
    const scant_pair *pairs; /* each other strategy with it */
    size_t n_pairs;
} report_view;

typedef struct chart {
    scant__text *out;
    chart_form form;
    double width, height;
} chart;

/* What styles charts: part of a page's style, and of every file. */
extern const char report_chart_style[];

/* Ends with chart_end(). title and about are for those who cannot see it. */
void chart_begin(chart *c, const char *name, const char *title, const char *about);
void chart_end(chart *c);

/* "x1="..."": an attribute that is a number. */
void chart_at(const chart *c, const char *attribute, double value);
void chart_line(const chart *c, const char *class_name, double x1, double y1, double x2,
                double y2);
/* Its corners are round by the radius. */
void chart_box(const chart *c, const char *class_name, double x, double y, double width,
               double height, double radius);
/* Begins a text; anchor: start, middle or end. The caller adds words and "</text>". */
void chart_text(const chart *c, double x, double y, const char *anchor,
                const char *class_name);
/* A text of at most so many characters, an ellipsis for the rest. */
void chart_words(const chart *c, double x, double y, const char *anchor,
                 const char *class_name, const char *words, size_t most);
void chart_add_short(scant__text *out, const char *words, size_t most);
/* "strategy name" as the words that explain an element. */
void chart_title_begin(const chart *c, const char *name);
void chart_title_end(const chart *c);

/* A strategy's colour class "k3", and its dashes and mark beyond seven. */
typedef struct chart_look {
    unsigned colour; /* 0: grey */
    unsigned style;  /* of its dashes and its mark */
} chart_look;

chart_look chart_look_of(const report_results *r, size_t strategy);
const char *chart_dashes(chart_look look); /* a stroke-dasharray, or "" */
void chart_mark(scant__text *out, chart_look look, double x, double y, double size);

/* An axis from low to high with ticks at round numbers. */
typedef struct chart_axis {
    double low, high;   /* what is shown */
    double from, to;    /* where, in pixels */
    double step, first; /* of ticks */
    int decimals;
} chart_axis;

/* Room is left around low..high where round is set, up to half a tick. */
chart_axis chart_axis_of(double low, double high, double from, double to, int ticks,
                         bool round);
double chart_place(const chart_axis *axis, double value);
/* Calls up tick i; false past the last. */
bool chart_tick(const chart_axis *axis, size_t i, double *value);
/* "12", "1.2 k" */
void chart_add_count(scant__text *out, double value);
/* "850 ms", "3.2 s", "4.5 min", "2.1 h" */
void chart_add_seconds(scant__text *out, double seconds);

/* Characters of the longest strategy's name, as far as they are shown. */
size_t chart_longest_name(const report_results *r, size_t most);

typedef void (*report_chart)(scant__text *out, const report_view *view, chart_form form);

void report_chart_curves(scant__text *out, const report_view *view, chart_form form);
void report_chart_areas(scant__text *out, const report_view *view, chart_form form);
void report_chart_differences(scant__text *out, const report_view *view, chart_form form);
void report_chart_efficiency(scant__text *out, const report_view *view, chart_form form);
void report_chart_time(scant__text *out, const report_view *view, chart_form form);
void report_chart_overlap(scant__text *out, const report_view *view, chart_form form);
void report_chart_balance(scant__text *out, const report_view *view, chart_form form);
void report_chart_calibration(scant__text *out, const report_view *view, chart_form form);
void report_chart_theory(scant__text *out, const report_view *view, chart_form form);

/* Whether there is anything to show; the charts expect so. */
bool report_has_curves(const report_view *view);
bool report_has_differences(const report_view *view);
bool report_has_efficiency(const report_view *view);
bool report_has_overlap(const report_view *view);
bool report_has_balance(const report_view *view);
bool report_has_calibration(const report_view *view);
bool report_has_theory(const report_view *view);

/* Overlap of two strategies where both have most labels; NaN: none. */
double report_overlap_of(const report_view *view, size_t a, size_t b, uint64_t *labels);

#endif
