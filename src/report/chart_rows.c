/* SPDX-License-Identifier: Apache-2.0
 *
 * Charts with a row a strategy: areas under the curves, differences to random, labels
 * that are needed, time that is spent.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/size.h"
#include "report/chart.h"
#include "report/compare.h"
#include "scant/train.h"

enum { ROW = 30, MARGIN = 14 };

typedef struct rows {
    chart c;
    const report_view *view;
    chart_axis x;
    double top; /* of the first row */
} rows;

/* Rows of n strategies between room for their names and for numbers. Where a screen is
 * narrow the names stand above their rows. */
static rows rows_begin(scant__text *out, const report_view *view, chart_form form,
                       size_t n, double values, double legend) {
    bool narrow = form == CHART_NARROW;
    rows f = {.view = view};
    f.c = (chart){out, form, narrow ? 380 : 1000, 0};
    f.top = (form == CHART_FILE ? 56 : 10) + legend;
    f.c.height = f.top + (narrow ? ROW + 14 : ROW) * (double)n + 52;
    double names = narrow ? 8 : 8.2 * (double)chart_longest_name(view->r, 26) + 24;
    double right = narrow ? 14 : values;
    f.x.from = names;
    f.x.to = f.c.width - right - MARGIN;
    return f;
}

static void set_axis(rows *f, double low, double high) {
    f->x = chart_axis_of(low, high, f->x.from, f->x.to, f->c.form == CHART_NARROW ? 4 : 8,
                         true);
}

static double row_height(const rows *f) {
    return f->c.form == CHART_NARROW ? ROW + 14 : ROW;
}

/* The middle of row i's marks. */
static double row_at(const rows *f, size_t i) {
    return f->top + row_height(f) * ((double)i + 1) - ROW / 2.0;
}

static void draw_heading(const rows *f, const char *words) {
    if (f->c.form == CHART_FILE)
        chart_words(&f->c, 20, 30, "start", "heading", words, 80);
}

static void draw_axis(const rows *f, const char *unit, const char *words) {
    double value, bottom = f->c.height - 44;
    for (size_t i = 0; chart_tick(&f->x, i, &value); i++) {
        double x = chart_place(&f->x, value);
        chart_line(&f->c, "grid", x, f->top, x, bottom);
        chart_text(&f->c, x, bottom + 17, "middle", "soft");
        if (*unit)
            report_add_fixed(f->c.out, value, f->x.decimals);
        else
            chart_add_count(f->c.out, value);
        scant__text_addf(f->c.out, "%s</text>", strcmp(unit, " ") == 0 ? "" : unit);
    }
    chart_words(&f->c, (f->x.from + f->x.to) / 2, bottom + 36, "middle", "soft", words,
                80);
    scant__text_add(f->c.out, "\n");
}

static void begin_row(const rows *f, size_t i, size_t strategy) {
    const char *name = f->view->r->strategies[strategy].name;
    chart_look look = chart_look_of(f->view->r, strategy);
    scant__text_addf(f->c.out, "<g class=\"row k%u\">", look.colour);
    if (f->c.form == CHART_NARROW)
        chart_words(&f->c, f->x.from, row_at(f, i) - 15, "start", "own strong small",
                    name, 30);
    else
        chart_words(&f->c, f->x.from - 14, row_at(f, i) + 4.5, "end", "own strong", name,
                    26);
}

/* A row's numbers stand at its right, or beside its name above it. */
static void begin_value(const rows *f, double y) {
    bool narrow = f->c.form == CHART_NARROW;
    chart_text(&f->c, f->c.width - 10, narrow ? y - 15 : y + 4.5, "end",
               narrow ? "small" : "");
}

static void end_row(const rows *f) { scant__text_add(f->c.out, "</g>\n"); }

/* In percent of accuracy, or as errors are. */
static void add_amount(scant__text *out, const report_results *r, double value,
                       bool sign) {
    if (sign && value > 0) scant__text_add(out, "+");
    if (r->regression)
        report_add_number(out, value);
    else
        report_add_fixed(out, value, 2);
}

/* ---- areas ------------------------------------------------------------------------- */

static void draw_area(const rows *f, size_t s) {
    const report_results *r = f->view->r;
    const report_strategy *strategy = &r->strategies[s];
    report_spread all = f->view->m->areas[s];
    double unit = r->regression ? 1 : 100, y = row_at(f, s);
    begin_row(f, s, s);
    for (size_t i = 0; i < strategy->n_runs; i++) {
        scant__text_add(f->c.out, "<circle class=\"dot\" r=\"4\"");
        chart_at(
            &f->c, "cx",
            chart_place(&f->x, unit * f->view->m->area[&strategy->runs[i] - r->runs]));
        chart_at(&f->c, "cy", y);
        scant__text_add(f->c.out, "/>");
    }
    if (all.std > 0)
        chart_line(&f->c, "whisker", chart_place(&f->x, unit * (all.mean - all.std)), y,
                   chart_place(&f->x, unit * (all.mean + all.std)), y);
    chart_mark(f->c.out, (chart_look){0, 3}, chart_place(&f->x, unit * all.mean), y, 10);
    chart_title_begin(&f->c, strategy->name);
    scant__text_add(f->c.out, ": ");
    add_amount(f->c.out, r, unit * all.mean, false);
    scant__text_add(f->c.out, " \xc2\xb1 ");
    add_amount(f->c.out, r, unit * all.std, false);
    chart_title_end(&f->c);
    scant__text_add(f->c.out, "</path>");
    begin_value(f, y);
    add_amount(f->c.out, r, unit * all.mean, false);
    scant__text_add(f->c.out, " \xc2\xb1 ");
    add_amount(f->c.out, r, unit * all.std, false);
    scant__text_add(f->c.out, "</text>");
    end_row(f);
}

void report_chart_areas(scant__text *out, const report_view *view, chart_form form) {
    const report_results *r = view->r;
    rows f = rows_begin(out, view, form, r->n_strategies, 130, 0);
    double unit = r->regression ? 1 : 100, low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < r->n_runs; i++) {
        low = fmin(low, unit * view->m->area[i]);
        high = fmax(high, unit * view->m->area[i]);
    }
    for (size_t s = 0; s < r->n_strategies; s++) {
        low = fmin(low, unit * (view->m->areas[s].mean - view->m->areas[s].std));
        high = fmax(high, unit * (view->m->areas[s].mean + view->m->areas[s].std));
    }
    set_axis(&f, low, high);
    chart_begin(&f.c, "areas", "Area under the learning curve, by strategy",
                "A dot a run; the diamond is the mean over seeds, the bar one standard "
                "deviation. The numbers are in auc.csv.");
    draw_heading(&f, "Area under the learning curve");
    draw_axis(&f, r->regression ? " " : "%", "area under the curve");
    for (size_t s = 0; s < r->n_strategies; s++) draw_area(&f, s);
    chart_end(&f.c);
}

/* ---- differences ------------------------------------------------------------------- */

/* Of random there must be another with at least one seed in common. */
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
        chart_line(&f->c, "whisker", chart_place(&f->x, pair->auc.low), y,
                   chart_place(&f->x, pair->auc.high), y);
    if (pair->seeds) {
        chart_mark(f->c.out, (chart_look){0, 0}, chart_place(&f->x, pair->auc.mean), y,
                   11);
        chart_title_begin(&f->c, f->view->r->strategies[pair->a].name);
        scant__text_add(f->c.out, ": ");
        add_interval(f->c.out, f->view->r, pair);
        chart_title_end(&f->c);
        scant__text_add(f->c.out, "</path>");
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
    rows f = rows_begin(out, view, form, view->n_pairs, 210, 0);
    double low = 0, high = 0;
    for (size_t i = 0; i < view->n_pairs; i++) {
        const scant_pair *pair = &view->pairs[i];
        if (!pair->seeds) continue;
        low = fmin(low, fmin(pair->auc.mean, pair->auc.low)); /* of NaN, the other */
        high = fmax(high, fmax(pair->auc.mean, pair->auc.high));
    }
    set_axis(&f, low, high);
    chart_begin(&f.c, "differences", "Difference to random in area under the curve",
                "The mean over seeds of the difference to random with the same seed, and "
                "its 95 % interval by Student's t.");
    draw_heading(&f, "Difference to random in area under the curve");
    draw_axis(&f, " ",
              view->r->regression ? "difference in error (left is better)"
                                  : "difference in percentage points");
    chart_line(&f.c, "zero", chart_place(&f.x, 0), f.top, chart_place(&f.x, 0),
               f.c.height - 44);
    for (size_t i = 0; i < view->n_pairs; i++) draw_difference(&f, i);
    chart_end(&f.c);
}

/* ---- labels that are needed -------------------------------------------------------- */

bool report_has_efficiency(const report_view *view) {
    return view->baseline < view->r->n_strategies && view->r->n_strategies > 1 &&
           view->m->wholes[view->baseline].n > 1;
}

static void draw_needed(const rows *f, size_t s, double goal, double whole) {
    double y = row_at(f, s), tall = 14;
    double needed = report_labels_to_reach(f->view->r, &f->view->m->wholes[s], goal);
    begin_row(f, s, s);
    if (isnan(needed)) {
        char words[64];
        snprintf(words, sizeof words, "not with %" PRIu64 " labels",
                 f->view->m->ends[s].labels);
        chart_words(&f->c, f->x.from + 6, y + 4.5, "start", "soft", words, 40);
    } else {
        double from = chart_place(&f->x, 0), to = chart_place(&f->x, needed);
        chart_box(&f->c, "bar", from, y - tall / 2, fmax(to - from, 2), tall, 3);
        begin_value(f, y);
        chart_add_count(f->c.out, needed);
        if (s != f->view->baseline && needed < whole && whole > 0)
            scant__text_addf(f->c.out, " (%d %% fewer)",
                             (int)lround(100 * (1 - needed / whole)));
        scant__text_add(f->c.out, "</text>");
    }
    end_row(f);
}

void report_chart_efficiency(scant__text *out, const report_view *view, chart_form form) {
    const report_results *r = view->r;
    const report_curve *base = &view->m->wholes[view->baseline];
    rows f = rows_begin(out, view, form, r->n_strategies, 150, 0);
    double goal = view->m->ends[view->baseline].mean;
    double whole = report_labels_to_reach(r, base, goal), most = whole;
    for (size_t s = 0; s < r->n_strategies; s++)
        most = fmax(most, report_labels_to_reach(r, &view->m->wholes[s], goal));
    set_axis(&f, 0, most);
    chart_begin(&f.c, "efficiency", "Labels needed to be as good as random is in the end",
                "Where the mean curve of a strategy's runs first reaches what random's "
                "ends with, each as far as all its runs go.");
    draw_heading(&f, "Labels needed to be as good as random is in the end");
    draw_axis(&f, "", "labelled samples");
    chart_line(&f.c, "zero", chart_place(&f.x, whole), f.top, chart_place(&f.x, whole),
               f.c.height - 44);
    for (size_t s = 0; s < r->n_strategies; s++) draw_needed(&f, s, goal, whole);
    chart_end(&f.c);
}

/* ---- time -------------------------------------------------------------------------- */

static void draw_time(const rows *f, size_t s) {
    double y = row_at(f, s), tall = 14;
    double train = f->view->m->train_seconds[s], pick = f->view->m->select_seconds[s];
    double zero = chart_place(&f->x, 0), middle = chart_place(&f->x, train);
    double end = chart_place(&f->x, train + pick);
    begin_row(f, s, s);
    scant__text_add(f->c.out, "<g class=\"k1\">");
    chart_box(&f->c, "bar", zero, y - tall / 2, middle - zero, tall, 2);
    scant__text_add(f->c.out, "</g><g class=\"k5\">");
    chart_box(&f->c, "bar", middle + 1, y - tall / 2, end - middle - 1, tall, 2);
    scant__text_add(f->c.out, "</g>");
    begin_value(f, y);
    chart_add_seconds(f->c.out, train);
    scant__text_add(f->c.out, " + ");
    chart_add_seconds(f->c.out, pick);
    scant__text_add(f->c.out, "</text>");
    end_row(f);
}

static void draw_kinds(const rows *f) {
    static const struct {
        const char *colour, *words;
        double x;
    } kinds[] = {{"k1", "training", 0}, {"k5", "selection", 110}};
    for (size_t i = 0; i < 2; i++) {
        double x = f->x.from + kinds[i].x;
        scant__text_addf(f->c.out, "<g class=\"%s\">", kinds[i].colour);
        chart_box(&f->c, "bar", x, f->top - 22, 12, 12, 2);
        scant__text_add(f->c.out, "</g>");
        chart_words(&f->c, x + 18, f->top - 12, "start", "", kinds[i].words, 20);
    }
}

void report_chart_time(scant__text *out, const report_view *view, chart_form form) {
    const report_results *r = view->r;
    rows f = rows_begin(out, view, form, r->n_strategies, 150, 24);
    double most = 0;
    for (size_t s = 0; s < r->n_strategies; s++)
        most = fmax(most, view->m->train_seconds[s] + view->m->select_seconds[s]);
    set_axis(&f, 0, most > 0 ? most : 1);
    chart_begin(&f.c, "time", "Seconds a run, in training and in selection",
                "The mean over runs of what curve.csv tells as train_seconds and "
                "select_seconds.");
    draw_heading(&f, "Time a run");
    draw_kinds(&f);
    draw_axis(&f, " ", "seconds a run");
    for (size_t s = 0; s < r->n_strategies; s++) draw_time(&f, s);
    chart_end(&f.c);
}
