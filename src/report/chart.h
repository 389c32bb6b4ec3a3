/* SPDX-License-Identifier: Apache-2.0
 *
 * Charts as SVG: the elements that all charts share, and the charts of a report. A chart
 * has three forms: for a page on a wide and on a narrow screen (styled by the page), and
 * as a file of its own. None needs a script, a font or another file, and all are readable
 * on light and on dark backgrounds.
 *
 * A strategy has the same colour in all charts. random is grey; the others take seven
 * colours that people with any kind of colour vision can tell apart (after Okabe and Ito,
 * darker for white paper), then the same colours with other dashes and marks.
 */
#ifndef SCANT_REPORT_CHART_H
#define SCANT_REPORT_CHART_H

#include "report/measures.h"

typedef enum chart_form { CHART_WIDE = 1, CHART_NARROW, CHART_FILE } chart_form;

/* The data that the charts of a report show. */
typedef struct report_view {
    const report_results *r;
    const report_measures *m;
    size_t baseline;         /* index of "random"; n_strategies: none */
    const scant_pair *pairs; /* each other strategy compared with random */
    size_t n_pairs;
} report_view;

typedef struct chart {
    scant__text *out;
    chart_form form;
    double width, height;
} chart;

/* The style sheet of charts, included in every page and chart file. */
extern const char report_chart_style[];

/* Begins a chart; chart_end() ends it. name: the SVG's class, for scripts and tests.
 * heading: drawn at the top, in files only. title and about are for screen readers. */
void chart_begin(const chart *c, const char *name, const char *heading, const char *title,
                 const char *about);
void chart_end(const chart *c);

void chart_line(const chart *c, const char *class_name, double x1, double y1, double x2,
                double y2);
void chart_box(const chart *c, const char *class_name, double x, double y, double width,
               double height, double radius);
/* Begins a text; anchor: start, middle or end. The caller adds words and "</text>". */
void chart_text_begin(const chart *c, double x, double y, const char *anchor,
                      const char *class_name);
/* Adds words, cut to `most` characters with an ellipsis at the end if longer. */
void chart_text(const chart *c, double x, double y, const char *anchor,
                const char *class_name, const char *words, size_t most);
/* Adds a grey text that runs upwards, centred at (x, y). */
void chart_text_up(const chart *c, double x, double y, const char *words);

/* The style of a series. */
typedef struct chart_style {
    unsigned colour; /* number of the CSS class: 3 is "k3"; 0: grey */
    unsigned shape;  /* number of the dashes and the mark */
} chart_style;

chart_style chart_style_number(size_t i); /* style of series or class i; not grey */
chart_style chart_style_of(const report_results *r, size_t strategy);
const char *chart_dashes(chart_style style); /* a stroke-dasharray; "": a solid line */
/* Begins a line's path; the caller adds points and "\"/>". */
void chart_path_begin(scant__text *out, chart_style style);
/* The outline of a mark of size 10 as a path relative to its middle. */
const char *chart_shape(chart_style style);
/* Begins a mark; the caller may add a title, and adds "</path>". */
void chart_mark(scant__text *out, chart_style style, double x, double y, double size);
/* Adds a legend entry: 28 pixels of the series' line, then words. */
void chart_key(const chart *c, chart_style style, double x, double y, const char *words);

/* How numbers are written beside an axis. */
typedef enum chart_labels {
    CHART_PLAIN,
    CHART_PERCENT,
    CHART_COUNTS, /* "9500", "12.5 k" */
    CHART_POWERS  /* values are logarithms to base 10; labels are 10^value */
} chart_labels;

/* An axis from low to high with ticks at round numbers. */
typedef struct chart_axis {
    double low, high;   /* the values at its ends */
    double from, to;    /* the pixels of low and high */
    double step, first; /* distance of ticks; value of the first */
    int decimals;
    chart_labels labels;
} chart_axis;

/* round: extends low..high to multiples of half a tick. */
chart_axis chart_axis_of(double low, double high, double from, double to, int ticks,
                         bool round);
double chart_pixel(const chart_axis *axis, double value);
/* Draw grid lines, numbers at the ticks and the axis title (words; "": none). */
void chart_draw_x(const chart *c, const chart_axis *x, double top, double bottom,
                  const char *words);
void chart_draw_y(const chart *c, const chart_axis *y, double left, double right,
                  const char *words);
/* Adds a count: "9500", "12.5 k", "1.5 M". */
void chart_add_count(scant__text *out, double value);
/* Adds a duration: "850 ms", "3.2 s", "4.5 min", "2.1 h". */
void chart_add_seconds(scant__text *out, double seconds);

/* Returns the length of the longest strategy name in characters, at most `most`. */
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

/* Whether there is data for a chart. A chart without data must not be drawn. */
bool report_has_curves(const report_view *view);
bool report_has_differences(const report_view *view);
bool report_has_efficiency(const report_view *view);
bool report_has_overlap(const report_view *view);
bool report_has_balance(const report_view *view);
bool report_has_calibration(const report_view *view);
bool report_has_theory(const report_view *view);

/* Returns the number of labels at which a strategy's mean curve reaches random's final
 * result; NaN: it never does. Requires report_has_efficiency(). */
double report_needed(const report_view *view, size_t strategy);
/* Returns the overlap of two strategies at the largest number of labels that both have,
 * and sets *labels to that number. NaN: none. */
double report_overlap_of(const report_view *view, size_t a, size_t b, uint64_t *labels);

#endif
