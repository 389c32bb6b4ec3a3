/* SPDX-License-Identifier: Apache-2.0
 *
 * Learning curves: means over seeds, bands of one standard deviation, and names at the
 * ends of the curves except on narrow screens. The theory chart has such a panel for
 * lambda, on a logarithmic axis, and one for the ratio R if theory.csv has it.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "core/size.h"
#include "report/chart.h"

enum { MARKS = 40, NAME_LINE = 17, MOST_NAMES = 400 };

typedef struct frame {
    chart c;
    const report_view *view;
    const report_curve *curves; /* one for each strategy; may have no levels */
    chart_labels labels;
    chart_axis x, y;
    double unit;
} frame;

bool report_has_curves(const report_view *view) { return view->r->n_points > 0; }

bool report_has_theory(const report_view *view) {
    for (size_t s = 0; s < view->r->n_strategies; s++)
        if (view->m->theory[REPORT_LAMBDA][s].n) return true;
    return false;
}

static void find_ranges(const frame *f, double x[2], double y[2]) {
    x[0] = y[0] = INFINITY;
    x[1] = y[1] = -INFINITY;
    for (size_t s = 0; s < f->view->r->n_strategies; s++)
        for (size_t i = 0; i < f->curves[s].n; i++) {
            const report_level *l = &f->curves[s].levels[i];
            x[0] = fmin(x[0], (double)l->labels);
            x[1] = fmax(x[1], (double)l->labels);
            y[0] = fmin(y[0], l->mean - l->std);
            y[1] = fmax(y[1], l->mean + l->std);
        }
}

static void add_point(const frame *f, const char *command, const report_level *l,
                      double value) {
    report_addf(f->c.out, "%s%f %f", command, chart_pixel(&f->x, (double)l->labels),
                chart_pixel(&f->y, f->unit * value));
}

static void draw_band(const frame *f, const report_curve *curve) {
    bool any = false;
    for (size_t i = 0; i < curve->n; i++) any = any || curve->levels[i].std > 0;
    if (!any || curve->n < 2) return;
    scant__text_add(f->c.out, "<path class=\"band\" d=\"");
    for (size_t i = 0; i < curve->n; i++)
        add_point(f, i ? "L" : "M", &curve->levels[i],
                  curve->levels[i].mean + curve->levels[i].std);
    for (size_t i = curve->n; i-- > 0;)
        add_point(f, "L", &curve->levels[i],
                  curve->levels[i].mean - curve->levels[i].std);
    scant__text_add(f->c.out, "z\"/>");
}

static void draw_whisker(const frame *f, const report_level *l) {
    double x = chart_pixel(&f->x, (double)l->labels);
    chart_line(&f->c, "whisker", x, chart_pixel(&f->y, f->unit * (l->mean - l->std)), x,
               chart_pixel(&f->y, f->unit * (l->mean + l->std)));
}

static void add_value(const frame *f, const report_level *l) {
    scant__text *out = f->c.out;
    report_addf(out, ": %" PRIu64 " labels, ", l->labels);
    if (f->labels == CHART_PERCENT)
        report_addf(out, "%.2f \xc2\xb1 %.2f %%", 100 * l->mean, 100 * l->std);
    else if (f->labels == CHART_POWERS)
        report_addf(out, "%g \xc3\x97/\xc3\xb7 %g", pow(10, l->mean), pow(10, l->std));
    else
        report_addf(out, "%g \xc2\xb1 %g", l->mean, l->std);
    report_addf(out, " (%zu run%s)", l->runs, l->runs == 1 ? "" : "s");
}

static void draw_marks(const frame *f, size_t s) {
    const report_curve *curve = &f->curves[s];
    size_t every = (curve->n + MARKS - 1) / MARKS;
    double size = f->c.form == CHART_NARROW ? 5 : curve->n > 24 ? 6 : 7;
    for (size_t i = 0; i < curve->n; i++) {
        const report_level *l = &curve->levels[i];
        if (i % every && i + 1 < curve->n) continue;
        chart_mark(f->c.out, chart_style_of(f->view->r, s),
                   chart_pixel(&f->x, (double)l->labels),
                   chart_pixel(&f->y, f->unit * l->mean), size);
        report_addf(f->c.out, "<title>%s", f->view->r->strategies[s].name);
        add_value(f, l);
        scant__text_add(f->c.out, "</title></path>");
    }
}

static void draw_curve(const frame *f, size_t s) {
    const report_curve *curve = &f->curves[s];
    chart_style style = chart_style_of(f->view->r, s);
    if (!curve->n) return;
    report_addf(f->c.out, "<g class=\"series s%zu k%u\">", s, style.colour);
    draw_band(f, curve);
    if (curve->n == 1) draw_whisker(f, curve->levels);
    chart_path_begin(f->c.out, style);
    for (size_t i = 0; i < curve->n; i++)
        add_point(f, i ? "L" : "M", &curve->levels[i], curve->levels[i].mean);
    scant__text_add(f->c.out, "\"/>");
    draw_marks(f, s);
    scant__text_add(f->c.out, "</g>\n");
}

/* ---- names at the ends of curves --------------------------------------------------- */

typedef struct end_name {
    size_t strategy;
    double x, y, at; /* x, y: the end of the curve; at: y of the name */
} end_name;

static int by_height(const void *a, const void *b) {
    const end_name *p = a, *q = b;
    if (p->y != q->y) return p->y < q->y ? -1 : 1;
    return (p->strategy > q->strategy) - (p->strategy < q->strategy);
}

/* Sets `at` of each name. Names that would overlap form a block of lines around the mean
 * y of their curves' ends; blocks that would overlap are merged. */
static void spread(end_name *names, size_t n, double top, double bottom) {
    double line = fmin(NAME_LINE, (bottom - top) / (double)size_max(n, 1));
    size_t sizes[MOST_NAMES], blocks = 0, first = 0;
    /* sums: over the names of a block, y minus the name's offset from the block's top */
    double starts[MOST_NAMES], sums[MOST_NAMES];
    for (size_t i = 0; i < n; i++) {
        sizes[blocks] = 1;
        sums[blocks] = names[i].y;
        for (;; blocks--) {
            double size = (double)sizes[blocks], room = line * (size - 1);
            double start = sums[blocks] / size;
            starts[blocks] = fmax(top, fmin(start, bottom - room));
            if (!blocks) break;
            double before = (double)sizes[blocks - 1];
            if (starts[blocks - 1] + before * line <= starts[blocks]) break;
            sums[blocks - 1] += sums[blocks] - size * before * line;
            sizes[blocks - 1] += sizes[blocks];
        }
        blocks++;
    }
    for (size_t b = 0; b < blocks; first += sizes[b++])
        for (size_t i = 0; i < sizes[b]; i++)
            names[first + i].at = starts[b] + line * (double)i;
}

static void draw_names(const frame *f) {
    const report_results *r = f->view->r;
    end_name names[MOST_NAMES];
    size_t n = 0;
    for (size_t s = 0; s < size_min(r->n_strategies, MOST_NAMES); s++) {
        const report_curve *curve = &f->curves[s];
        if (!curve->n) continue;
        const report_level *last = &curve->levels[curve->n - 1];
        names[n++] = (end_name){s, chart_pixel(&f->x, (double)last->labels),
                                chart_pixel(&f->y, f->unit * last->mean), 0};
    }
    qsort(names, n, sizeof *names, by_height);
    spread(names, n, f->y.to - 10, f->y.from);
    for (size_t i = 0; i < n; i++) {
        report_addf(f->c.out, "<g class=\"series s%zu k%u\">", names[i].strategy,
                    chart_style_of(r, names[i].strategy).colour);
        chart_line(&f->c, "lead", names[i].x + 5, names[i].y, f->x.to + 18, names[i].at);
        chart_text(&f->c, f->x.to + 22, names[i].at + 4, "start", "own strong",
                   r->strategies[names[i].strategy].name, 24);
        scant__text_add(f->c.out, "</g>");
    }
    scant__text_add(f->c.out, "\n");
}

/* Adds the axes' ranges for the page's script, which shows values under the pointer. */
static void add_geometry(const frame *f) {
    report_addf(
        f->c.out, "<g class=\"geometry\" data-axes=\"%g %g %g %g %g %g %g %g\"></g>",
        f->x.low, f->x.high, f->x.from, f->x.to, f->y.low, f->y.high, f->y.from, f->y.to);
}

/* Draws a panel between top and bottom: axes, curves and names. */
static void draw_panel(frame *f, double top, double bottom, const char *words) {
    bool narrow = f->c.form == CHART_NARROW;
    double names = narrow ? 0 : 8.2 * (double)chart_longest_name(f->view->r, 24) + 26;
    double x[2], y[2];
    find_ranges(f, x, y);
    f->x = chart_axis_of(x[0], x[1], narrow ? 46 : 58, f->c.width - 14 - names,
                         narrow ? 5 : 9, false);
    f->y =
        chart_axis_of(f->unit * y[0], f->unit * y[1], bottom, top, narrow ? 5 : 7, true);
    f->x.labels = CHART_COUNTS;
    f->y.labels = f->labels;
    chart_draw_x(&f->c, &f->x, bottom, bottom, "labelled samples");
    chart_draw_y(&f->c, &f->y, f->x.from, f->x.to, words);
    for (size_t s = f->view->r->n_strategies; s-- > 0;) draw_curve(f, s);
    if (!narrow) draw_names(f);
}

/* A panel is at least as high as the names beside it. */
static double panel_height(const report_view *view, chart_form form, double least) {
    double lines = (double)view->r->n_strategies * NAME_LINE;
    return form == CHART_NARROW ? least : fmax(least, lines + 10);
}

void report_chart_curves(scant__text *out, const report_view *view, chart_form form) {
    bool narrow = form == CHART_NARROW, error = view->r->regression;
    double head = form == CHART_FILE ? 74 : 40;
    double high = panel_height(view, form, (narrow ? 290 : 430) - head);
    frame f = {.c = {out, form, narrow ? 380 : 1000, head + high + 50},
               .view = view,
               .curves = view->m->curves,
               .labels = error ? CHART_PLAIN : CHART_PERCENT,
               .unit = error ? 1 : 100};
    chart_begin(&f.c, "curves", "Learning curves",
                error ? "Learning curves: test error by labelled samples"
                      : "Learning curves: test accuracy by labelled samples",
                "A line for each strategy: the mean over seeds, with a band of one "
                "standard deviation. The numbers are in summary.csv.");
    draw_panel(&f, head, head + high, error ? "test error" : "test accuracy");
    add_geometry(&f);
    chart_end(&f.c);
}

void report_chart_theory(scant__text *out, const report_view *view, chart_form form) {
    static const char *const words[REPORT_THEORIES] = {
        "\xce\xbb: smallest eigenvalue of the kernel", "R(Q|S) of the batch"};
    bool narrow = form == CHART_NARROW, ratio = false;
    double head = form == CHART_FILE ? 74 : 40, gap = 100;
    double high = panel_height(view, form, narrow ? 200 : 260);
    for (size_t s = 0; s < view->r->n_strategies; s++)
        ratio = ratio || view->m->theory[REPORT_RATIO][s].n;
    frame f = {.c = {out, form, narrow ? 380 : 1000,
                     head + high + (ratio ? gap + high : 0) + 50},
               .view = view,
               .unit = 1};
    chart_begin(&f.c, "theory", "Theory",
                "Eigenvalues and training dynamics, by labelled samples",
                "A line for each strategy: the mean over seeds, with a band of one "
                "standard deviation. The numbers are in theory.csv.");
    for (size_t i = 0; i < (ratio ? REPORT_THEORIES : 1); i++) {
        f.curves = view->m->theory[i];
        f.labels = i == REPORT_LAMBDA ? CHART_POWERS : CHART_PLAIN;
        double top = head + (double)i * (high + gap);
        draw_panel(&f, top, top + high, words[i]);
    }
    chart_end(&f.c);
}
