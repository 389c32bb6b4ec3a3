/* SPDX-License-Identifier: Apache-2.0
 *
 * Charts with a row for each strategy: area under the curve, difference to random, labels
 * needed, time.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "core/size.h"
#include "report/chart.h"
#include "report/compare.h"
#include "scant/train.h"

enum { ROW = 30, MARGIN = 14, BAR = 14 };

typedef struct rows {
    chart c;
    const report_view *view;
    chart_axis x;
    double top, bottom; /* of the rows */
} rows;

typedef struct rows_opts {
    size_t n;                                   /* rows */
    double values;                              /* pixels for the numbers at the right */
    double legend;                              /* pixels for a legend above */
    double low, high;                           /* of the axis */
    chart_labels labels;                        /* of it */
    const char *words;                          /* below it */
    const char *name, *heading, *title, *about; /* of chart_begin() */
} rows_opts;

static double row_height(chart_form form) {
    return form == CHART_NARROW ? ROW + 14 : ROW;
}

/* Begins a chart and draws its axis. Names stand at the left of their rows, and above
 * them on narrow screens. */
static rows rows_begin(scant__text *out, const report_view *view, chart_form form,
                       const rows_opts *o) {
    bool narrow = form == CHART_NARROW;
    rows f = {.c = {out, form, narrow ? 380 : 1000, 0}, .view = view};
    f.top = (form == CHART_FILE ? 56 : 10) + o->legend;
    f.bottom = f.top + row_height(form) * (double)o->n + 8;
    f.c.height = f.bottom + 44;
    double left = narrow ? 8 : 8.2 * (double)chart_longest_name(view->r, 26) + 24;
    double right = f.c.width - (narrow ? 14 : o->values) - MARGIN;
    f.x = chart_axis_of(o->low, o->high, left, right, narrow ? 4 : 8, true);
    f.x.labels = o->labels;
    chart_begin(&f.c, o->name, o->heading, o->title, o->about);
    chart_draw_x(&f.c, &f.x, f.top, f.bottom, o->words);
    return f;
}

/* The middle of the marks of row i. */
static double row_at(const rows *f, size_t i) {
    return f->top + row_height(f->c.form) * ((double)i + 1) - ROW / 2.0;
}

static void begin_row(const rows *f, size_t i, size_t strategy) {
    const char *name = f->view->r->strategies[strategy].name;
    report_addf(f->c.out, "<g class=\"row k%u\">",
                chart_style_of(f->view->r, strategy).colour);
    if (f->c.form == CHART_NARROW)
        chart_text(&f->c, f->x.from, row_at(f, i) - 15, "start", "own strong small", name,
                   30);
    else
        chart_text(&f->c, f->x.from - 14, row_at(f, i) + 4.5, "end", "own strong", name,
                   26);
}

/* Numbers stand at the right of a row, or above it on narrow screens. */
static void begin_value(const rows *f, double y) {
    bool narrow = f->c.form == CHART_NARROW;
    chart_text_begin(&f->c, f->c.width - 10, narrow ? y - 15 : y + 4.5, "end",
                     narrow ? "small" : "");
}

static void end_row(const rows *f) { scant__text_add(f->c.out, "</g>\n"); }

/* In percent for accuracies; errors as they are. */
static void add_amount(scant__text *out, const report_results *r, double value,
                       bool sign) {
    report_addf(out, "%s", sign && value > 0 ? "+" : "");
    report_addf(out, r->regression ? "%g" : "%.2f", value);
}

/* ---- areas ------------------------------------------------------------------------- */

static void add_spread(scant__text *out, const report_results *r, double mean,
                       double std) {
    add_amount(out, r, mean, false);
    scant__text_add(out, " \xc2\xb1 ");
    add_amount(out, r, std, false);
}

static void draw_area(const rows *f, size_t s) {
    const report_results *r = f->view->r;
    const report_strategy *strategy = &r->strategies[s];
    report_spread all = f->view->m->areas[s];
    double unit = r->regression ? 1 : 100, y = row_at(f, s);
    begin_row(f, s, s);
    for (size_t i = 0; i < strategy->n_runs; i++)
        report_addf(
            f->c.out, "<circle class=\"dot\" r=\"4\" cx=\"%f\" cy=\"%f\"/>",
            chart_pixel(&f->x, unit * f->view->m->area[&strategy->runs[i] - r->runs]), y);
    if (all.std > 0)
        chart_line(&f->c, "whisker", chart_pixel(&f->x, unit * (all.mean - all.std)), y,
                   chart_pixel(&f->x, unit * (all.mean + all.std)), y);
    chart_mark(f->c.out, (chart_style){0, 3}, chart_pixel(&f->x, unit * all.mean), y, 10);
    report_addf(f->c.out, "<title>%s: ", strategy->name);
    add_spread(f->c.out, r, unit * all.mean, unit * all.std);
    scant__text_add(f->c.out, "</title></path>");
    begin_value(f, y);
    add_spread(f->c.out, r, unit * all.mean, unit * all.std);
    scant__text_add(f->c.out, "</text>");
    end_row(f);
}

void report_chart_areas(scant__text *out, const report_view *view, chart_form form) {
    const report_results *r = view->r;
    double unit = r->regression ? 1 : 100, low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < r->n_runs; i++) {
        low = fmin(low, unit * view->m->area[i]);
        high = fmax(high, unit * view->m->area[i]);
    }
    for (size_t s = 0; s < r->n_strategies; s++) {
        low = fmin(low, unit * (view->m->areas[s].mean - view->m->areas[s].std));
        high = fmax(high, unit * (view->m->areas[s].mean + view->m->areas[s].std));
    }
    rows f = rows_begin(
        out, view, form,
        &(rows_opts){
            .n = r->n_strategies,
            .values = 130,
            .low = low,
            .high = high,
            .labels = r->regression ? CHART_PLAIN : CHART_PERCENT,
            .words = "area under the curve",
            .name = "areas",
            .heading = "Area under the learning curve",
            .title = "Area under the learning curve, by strategy",
            .about =
                "A dot for each run; the diamond is the mean over seeds, the bar one "
                "standard deviation. The numbers are in auc.csv."});
    for (size_t s = 0; s < r->n_strategies; s++) draw_area(&f, s);
    chart_end(&f.c);
}

/* ---- differences ------------------------------------------------------------------- */

/* Some strategy must share a seed with random. */
bool report_has_differences(const report_view *view) {
    for (size_t i = 0; i < view->n_pairs; i++)
        if (view->pairs[i].seeds) return true;
    return false;
}

static void add_interval(scant__text *out, const report_results *r,
                         const scant_pair *pair) {
    add_amount(out, r, pair->auc.mean, true);
    if (!isnan(pair->auc.low)) {
        scant__text_add(out, " [");
        add_amount(out, r, pair->auc.low, true);
        scant__text_add(out, ", ");
        add_amount(out, r, pair->auc.high, true);
        scant__text_add(out, "]");
    }
    scant__text_addf(out, ", n = %zu", pair->seeds);
}

static void draw_difference(const rows *f, size_t i) {
    const scant_pair *pair = &f->view->pairs[i];
    double y = row_at(f, i);
    begin_row(f, i, pair->a);
    if (!isnan(pair->auc.low))
        chart_line(&f->c, "whisker", chart_pixel(&f->x, pair->auc.low), y,
                   chart_pixel(&f->x, pair->auc.high), y);
    if (pair->seeds) {
        chart_mark(f->c.out, (chart_style){0, 0}, chart_pixel(&f->x, pair->auc.mean), y,
                   11);
        report_addf(f->c.out, "<title>%s: ", f->view->r->strategies[pair->a].name);
        add_interval(f->c.out, f->view->r, pair);
        scant__text_add(f->c.out, "</title></path>");
    }
    begin_value(f, y);
    if (pair->seeds)
        add_interval(f->c.out, f->view->r, pair);
    else
        scant__text_add(f->c.out, report_why_not(pair));
    scant__text_add(f->c.out, "</text>");
    end_row(f);
}

void report_chart_differences(scant__text *out, const report_view *view,
                              chart_form form) {
    double low = 0, high = 0;
    for (size_t i = 0; i < view->n_pairs; i++) {
        const scant_pair *pair = &view->pairs[i];
        if (!pair->seeds) continue;
        low = fmin(low, fmin(pair->auc.mean, pair->auc.low)); /* fmin() ignores NaN */
        high = fmax(high, fmax(pair->auc.mean, pair->auc.high));
    }
    rows f = rows_begin(
        out, view, form,
        &(rows_opts){.n = view->n_pairs,
                     .values = 210,
                     .low = low,
                     .high = high,
                     .words = view->r->regression ? "difference in error (left is better)"
                                                  : "difference in percentage points",
                     .name = "differences",
                     .heading = "Difference to random in area under the curve",
                     .title = "Difference to random in area under the curve",
                     .about = "The mean over seeds of the difference to random with the "
                              "same seed, and its 95 % interval by Student's t."});
    double zero = chart_pixel(&f.x, 0);
    chart_line(&f.c, "zero", zero, f.top, zero, f.bottom);
    for (size_t i = 0; i < view->n_pairs; i++) draw_difference(&f, i);
    chart_end(&f.c);
}

/* ---- labels needed ----------------------------------------------------------------- */

bool report_has_efficiency(const report_view *view) {
    return view->baseline < view->r->n_strategies && view->r->n_strategies > 1 &&
           view->m->wholes[view->baseline].n > 1;
}

static void draw_needed(const rows *f, size_t s, double goal, double whole) {
    double y = row_at(f, s);
    double needed = report_labels_to_reach(f->view->r, &f->view->m->wholes[s], goal);
    begin_row(f, s, s);
    if (isnan(needed)) {
        chart_text_begin(&f->c, f->x.from + 6, y + 4.5, "start", "soft");
        report_addf(f->c.out, "not with %" PRIu64 " labels</text>",
                    f->view->m->ends[s].labels);
    } else {
        double from = chart_pixel(&f->x, 0), to = chart_pixel(&f->x, needed);
        chart_box(&f->c, "bar", from, y - BAR / 2, fmax(to - from, 2), BAR, 3);
        begin_value(f, y);
        chart_add_count(f->c.out, needed);
        if (s != f->view->baseline && needed < whole && whole > 0)
            report_addf(f->c.out, " (%d %% fewer)",
                        (int)lround(100 * (1 - needed / whole)));
        scant__text_add(f->c.out, "</text>");
    }
    end_row(f);
}

void report_chart_efficiency(scant__text *out, const report_view *view, chart_form form) {
    const report_results *r = view->r;
    const report_curve *base = &view->m->wholes[view->baseline];
    double goal = view->m->ends[view->baseline].mean;
    double whole = report_labels_to_reach(r, base, goal), most = whole;
    for (size_t s = 0; s < r->n_strategies; s++)
        most = fmax(most, report_labels_to_reach(r, &view->m->wholes[s], goal));
    rows f = rows_begin(
        out, view, form,
        &(rows_opts){.n = r->n_strategies,
                     .values = 150,
                     .high = most,
                     .labels = CHART_COUNTS,
                     .words = "labelled samples",
                     .name = "efficiency",
                     .heading = "Labels needed to reach random's final result",
                     .title = "Labels needed to reach random's final result",
                     .about = "Where the mean curve of a strategy first reaches the last "
                              "value of random's, each as far as all its runs go."});
    double line = chart_pixel(&f.x, whole);
    chart_line(&f.c, "zero", line, f.top, line, f.bottom);
    for (size_t s = 0; s < r->n_strategies; s++) draw_needed(&f, s, goal, whole);
    chart_end(&f.c);
}

/* ---- time -------------------------------------------------------------------------- */

static void draw_bar(const rows *f, const char *colour, double from, double to,
                     double middle, double height) {
    report_addf(f->c.out, "<g class=\"%s\">", colour);
    chart_box(&f->c, "bar", from, middle - height / 2, to - from, height, 2);
    scant__text_add(f->c.out, "</g>");
}

static void draw_time(const rows *f, size_t s) {
    double y = row_at(f, s);
    double train = f->view->m->train_seconds[s], pick = f->view->m->select_seconds[s];
    double middle = chart_pixel(&f->x, train);
    begin_row(f, s, s);
    draw_bar(f, "k1", chart_pixel(&f->x, 0), middle, y, BAR);
    draw_bar(f, "k5", middle + 1, chart_pixel(&f->x, train + pick), y, BAR);
    begin_value(f, y);
    chart_add_seconds(f->c.out, train);
    scant__text_add(f->c.out, " + ");
    chart_add_seconds(f->c.out, pick);
    scant__text_add(f->c.out, "</text>");
    end_row(f);
}

static void draw_legend(const rows *f, double x, const char *colour, const char *words) {
    draw_bar(f, colour, x, x + 12, f->top - 16, 12);
    chart_text(&f->c, x + 18, f->top - 12, "start", "", words, 20);
}

void report_chart_time(scant__text *out, const report_view *view, chart_form form) {
    const report_results *r = view->r;
    double most = 0;
    for (size_t s = 0; s < r->n_strategies; s++)
        most = fmax(most, view->m->train_seconds[s] + view->m->select_seconds[s]);
    rows f = rows_begin(
        out, view, form,
        &(rows_opts){.n = r->n_strategies,
                     .values = 150,
                     .legend = 24,
                     .high = most > 0 ? most : 1,
                     .words = "seconds per run",
                     .name = "time",
                     .heading = "Time per run",
                     .title = "Seconds per run, in training and in selection",
                     .about = "The mean over runs of train_seconds and select_seconds in "
                              "curve.csv."});
    draw_legend(&f, f.x.from, "k1", "training");
    draw_legend(&f, f.x.from + 110, "k5", "selection");
    for (size_t s = 0; s < r->n_strategies; s++) draw_time(&f, s);
    chart_end(&f.c);
}
