/* SPDX-License-Identifier: Apache-2.0
 *
 * Charts with a row for each strategy: area under the curve, difference to random, labels
 * needed, time.
 */
#include <inttypes.h>
#include <math.h>

#include "report/chart.h"

enum { ROW = 30, MARGIN = 14, BAR = 14 };

typedef struct rows {
    chart c;
    const report_view *view;
    chart_axis x;
    double top, bottom; /* edges of the rows' area */
} rows;

typedef struct rows_opts {
    bool pairs;          /* a row for each pair, not for each strategy */
    double values;       /* pixels for the numbers at the right */
    bool legend;         /* whether to draw the legend of times */
    double low, high;    /* range of the axis */
    double line;         /* where to draw a line; NaN: nowhere */
    chart_labels labels; /* format of the axis' numbers */
    const char *words;   /* text below the axis */
    const char *name, *heading, *title, *about;      /* for chart_begin() */
    void (*draw)(const rows *f, size_t i, double y); /* y: the middle of row i */
} rows_opts;

/* Begins the number of a row: at its right, or above it on narrow screens. */
static void begin_value(const rows *f, double y) {
    bool narrow = f->c.form == CHART_NARROW;
    chart_text_begin(&f->c, f->c.width - 10, narrow ? y - 15 : y + 4.5, "end",
                     narrow ? "small" : "");
}

static void draw_row(const rows *f, const rows_opts *o, size_t i, double y) {
    const report_results *r = f->view->r;
    size_t strategy = o->pairs ? f->view->pairs[i].a : i;
    const char *name = r->strategies[strategy].name;
    report_addf(f->c.out, "<g class=\"row k%u\">", chart_style_of(r, strategy).colour);
    if (f->c.form == CHART_NARROW)
        chart_text(&f->c, f->x.from, y - 15, "start", "own strong small", name, 30);
    else
        chart_text(&f->c, f->x.from - 14, y + 4.5, "end", "own strong", name, 26);
    o->draw(f, i, y);
    scant__text_add(f->c.out, "</g>\n");
}

static void draw_key(const rows *f, double x, const char *bar, const char *words) {
    chart_box(&f->c, bar, x, f->top - 22, 12, 12, 2);
    chart_text(&f->c, x + 18, f->top - 12, "start", "", words, 20);
}

/* Draws a chart. Names are at the left of their rows, or above them on narrow screens. */
static void draw_rows(scant__text *out, const report_view *view, chart_form form,
                      const rows_opts *o) {
    bool narrow = form == CHART_NARROW;
    size_t n = o->pairs ? view->n_pairs : view->r->n_strategies;
    double height = narrow ? ROW + 14 : ROW;
    rows f = {.c = {out, form, narrow ? 380 : 1000, 0}, .view = view};
    f.top = (form == CHART_FILE ? 56 : 10) + (o->legend ? 24 : 0);
    f.bottom = f.top + height * (double)n + 8;
    f.c.height = f.bottom + 44;
    double left = narrow ? 8 : 8.2 * (double)chart_longest_name(view->r, 26) + 24;
    double right = f.c.width - (narrow ? 14 : o->values) - MARGIN;
    f.x = chart_axis_of(o->low, o->high, left, right, narrow ? 4 : 8, true);
    f.x.labels = o->labels;
    chart_begin(&f.c, o->name, o->heading, o->title ? o->title : o->heading, o->about);
    chart_draw_x(&f.c, &f.x, f.top, f.bottom, o->words);
    double line = chart_pixel(&f.x, o->line);
    if (!isnan(line)) chart_line(&f.c, "zero", line, f.top, line, f.bottom);
    if (o->legend) {
        draw_key(&f, f.x.from, "bar k1", "training");
        draw_key(&f, f.x.from + 110, "bar k5", "selection");
    }
    for (size_t i = 0; i < n; i++)
        draw_row(&f, o, i, f.top + height * ((double)i + 1) - ROW / 2.0);
    chart_end(&f.c);
}

/* ---- areas ------------------------------------------------------------------------- */

static void draw_area(const rows *f, size_t s, double y) {
    const report_results *r = f->view->r;
    const report_strategy *strategy = &r->strategies[s];
    report_spread all = f->view->m->areas[s];
    double unit = report_unit(r), mean = unit * all.mean, std = unit * all.std;
    int decimals = report_decimals(r);
    for (size_t i = 0; i < strategy->n_runs; i++)
        report_addf(
            f->c.out, "<circle class=\"dot\" r=\"4\" cx=\"%f\" cy=\"%f\"/>",
            chart_pixel(&f->x, unit * f->view->m->area[&strategy->runs[i] - r->runs]), y);
    if (std > 0)
        chart_line(&f->c, "whisker", chart_pixel(&f->x, mean - std), y,
                   chart_pixel(&f->x, mean + std), y);
    chart_mark(f->c.out, (chart_style){0, 3}, chart_pixel(&f->x, mean), y, 10);
    report_addf(f->c.out, "<title>%s: %.*f \xc2\xb1 %.*f</title></path>", strategy->name,
                decimals, mean, decimals, std);
    begin_value(f, y);
    report_addf(f->c.out, "%.*f \xc2\xb1 %.*f</text>", decimals, mean, decimals, std);
}

void report_chart_areas(scant__text *out, const report_view *view, chart_form form) {
    const report_results *r = view->r;
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < r->n_runs; i++) {
        low = fmin(low, view->m->area[i]);
        high = fmax(high, view->m->area[i]);
    }
    for (size_t s = 0; s < r->n_strategies; s++) {
        low = fmin(low, view->m->areas[s].mean - view->m->areas[s].std);
        high = fmax(high, view->m->areas[s].mean + view->m->areas[s].std);
    }
    draw_rows(out, view, form,
              &(rows_opts){
                  .values = 130,
                  .low = report_unit(r) * low,
                  .high = report_unit(r) * high,
                  .line = NAN,
                  .labels = r->regression ? CHART_PLAIN : CHART_PERCENT,
                  .words = "area under the curve",
                  .name = "areas",
                  .heading = "Area under the learning curve",
                  .title = "Area under the learning curve, by strategy",
                  .about = "A dot for each run; the diamond is the mean over seeds, the "
                           "bar one standard deviation. The numbers are in auc.csv.",
                  .draw = draw_area});
}

/* ---- differences ------------------------------------------------------------------- */

/* Whether some strategy has a seed that is compared with random. */
bool report_has_differences(const report_view *view) {
    for (size_t i = 0; i < view->n_pairs; i++)
        if (view->pairs[i].seeds) return true;
    return false;
}

static void add_interval(scant__text *out, const report_results *r,
                         const scant_pair *pair) {
    int decimals = report_decimals(r);
    report_addf(out, "%+.*f", decimals, pair->auc.mean);
    if (!isnan(pair->auc.low))
        report_addf(out, " [%+.*f, %+.*f]", decimals, pair->auc.low, decimals,
                    pair->auc.high);
    report_addf(out, ", n = %zu", pair->seeds);
}

static void draw_difference(const rows *f, size_t i, double y) {
    const scant_pair *pair = &f->view->pairs[i];
    const report_results *r = f->view->r;
    if (!pair->seeds) {
        begin_value(f, y);
        report_addf(f->c.out, "%s</text>", report_why_not(pair));
        return;
    }
    if (!isnan(pair->auc.low))
        chart_line(&f->c, "whisker", chart_pixel(&f->x, pair->auc.low), y,
                   chart_pixel(&f->x, pair->auc.high), y);
    chart_mark(f->c.out, (chart_style){0, 0}, chart_pixel(&f->x, pair->auc.mean), y, 11);
    report_addf(f->c.out, "<title>%s: ", r->strategies[pair->a].name);
    add_interval(f->c.out, r, pair);
    scant__text_add(f->c.out, "</title></path>");
    begin_value(f, y);
    add_interval(f->c.out, r, pair);
    scant__text_add(f->c.out, "</text>");
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
    draw_rows(
        out, view, form,
        &(rows_opts){.pairs = true,
                     .values = 210,
                     .low = low,
                     .high = high,
                     .words = view->r->regression ? "difference in error (left is better)"
                                                  : "difference in percentage points",
                     .name = "differences",
                     .heading = "Difference to random in area under the curve",
                     .about = "The mean over seeds of the difference to random with the "
                              "same seed, and its 95 % interval by Student's t.",
                     .draw = draw_difference});
}

/* ---- labels needed ----------------------------------------------------------------- */

bool report_has_efficiency(const report_view *view) {
    return view->baseline < view->r->n_strategies && view->r->n_strategies > 1 &&
           view->m->common_curves[view->baseline].n > 1;
}

double report_needed(const report_view *view, size_t strategy) {
    return report_labels_to_reach(view->r, &view->m->common_curves[strategy],
                                  view->m->ends[view->baseline].mean);
}

static void draw_needed(const rows *f, size_t s, double y) {
    double needed = report_needed(f->view, s);
    double whole = report_needed(f->view, f->view->baseline);
    if (isnan(needed)) {
        chart_text_begin(&f->c, f->x.from + 6, y + 4.5, "start", "soft");
        report_addf(f->c.out, "not with %" PRIu64 " labels</text>",
                    f->view->m->ends[s].labels);
        return;
    }
    double from = chart_pixel(&f->x, 0), to = chart_pixel(&f->x, needed);
    chart_box(&f->c, "bar", from, y - BAR / 2, fmax(to - from, 2), BAR, 3);
    begin_value(f, y);
    chart_add_count(f->c.out, needed);
    if (s != f->view->baseline && needed < whole && whole > 0)
        report_addf(f->c.out, " (%d %% fewer)", (int)lround(100 * (1 - needed / whole)));
    scant__text_add(f->c.out, "</text>");
}

void report_chart_efficiency(scant__text *out, const report_view *view, chart_form form) {
    double whole = report_needed(view, view->baseline), most = whole;
    for (size_t s = 0; s < view->r->n_strategies; s++)
        most = fmax(most, report_needed(view, s));
    draw_rows(
        out, view, form,
        &(rows_opts){
            .values = 150,
            .high = most,
            .line = whole,
            .labels = CHART_COUNTS,
            .words = "labelled samples",
            .name = "efficiency",
            .heading = "Labels needed to reach random's final result",
            .about =
                "Where the mean curve of a strategy first reaches the last "
                "value of random's, over the labels that all runs of a strategy have.",
            .draw = draw_needed});
}

/* ---- time -------------------------------------------------------------------------- */

static void draw_time(const rows *f, size_t s, double y) {
    double train = f->view->m->train_seconds[s], pick = f->view->m->select_seconds[s];
    double from = chart_pixel(&f->x, 0), middle = chart_pixel(&f->x, train);
    double to = chart_pixel(&f->x, train + pick);
    chart_box(&f->c, "bar k1", from, y - BAR / 2, middle - from, BAR, 2);
    chart_box(&f->c, "bar k5", middle + 1, y - BAR / 2, to - middle - 1, BAR, 2);
    begin_value(f, y);
    chart_add_seconds(f->c.out, train);
    scant__text_add(f->c.out, " + ");
    chart_add_seconds(f->c.out, pick);
    scant__text_add(f->c.out, "</text>");
}

void report_chart_time(scant__text *out, const report_view *view, chart_form form) {
    double most = 0;
    for (size_t s = 0; s < view->r->n_strategies; s++)
        most = fmax(most, view->m->train_seconds[s] + view->m->select_seconds[s]);
    draw_rows(
        out, view, form,
        &(rows_opts){.values = 150,
                     .legend = true,
                     .high = most > 0 ? most : 1,
                     .line = NAN,
                     .words = "seconds per run",
                     .name = "time",
                     .heading = "Time per run",
                     .title = "Seconds per run, in training and in selection",
                     .about = "The mean over runs of train_seconds and select_seconds in "
                              "curve.csv.",
                     .draw = draw_time});
}
