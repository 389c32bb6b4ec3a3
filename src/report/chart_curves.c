/* SPDX-License-Identifier: Apache-2.0
 *
 * The learning curves: means over seeds, bands of one deviation, names at the curves'
 * ends where there is room for them. And what theory says of every round, in two such
 * panels: lambda, in powers of ten, and the ratio.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "core/size.h"
#include "report/chart.h"

enum { MARKS = 40, NAME_LINE = 17, MOST_NAMES = 400 };

typedef enum scale { PLAIN, PERCENT, POWERS } scale; /* what values are shown as */

typedef struct frame {
    chart c;
    const report_view *view;
    const report_curve *curves; /* a strategy each; one may have no levels */
    const char *words;          /* beside the axis of values */
    scale scale;
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

/* A number as it stands at the axis, and in words. */
static void add_tick(const frame *f, double value) {
    if (f->scale == POWERS) { /* two digits that count, and 250 rather than 2.5e+02 */
        double unit = pow(10, floor(value) - 1);
        scant__text_number(f->c.out, round(pow(10, value) / unit) * unit, 6);
    } else {
        report_add_fixed(f->c.out, value, f->y.decimals);
    }
    if (f->scale == PERCENT) scant__text_add(f->c.out, "%");
}

static void draw_axes(const frame *f) {
    const chart *c = &f->c;
    double value, bottom = f->y.from, top = f->y.to;
    for (size_t i = 0; chart_tick(&f->y, i, &value); i++) {
        double y = chart_place(&f->y, value);
        chart_line(c, "grid", f->x.from, y, f->x.to, y);
        chart_text(c, f->x.from - 8, y + 4, "end", "soft");
        add_tick(f, value);
        scant__text_add(c->out, "</text>");
    }
    for (size_t i = 0; chart_tick(&f->x, i, &value); i++) {
        double x = chart_place(&f->x, value);
        chart_line(c, "axis", x, bottom, x, bottom + 5);
        chart_text(c, x, bottom + 20, "middle", "soft");
        chart_add_count(c->out, value);
        scant__text_add(c->out, "</text>");
    }
    chart_line(c, "axis", f->x.from, bottom, f->x.to, bottom);
    chart_words(c, (f->x.from + f->x.to) / 2, bottom + 40, "middle", "soft",
                "labelled samples", 40);
    chart_words(c, 4, top - 14, "start", "soft", f->words, 60);
    scant__text_add(c->out, "\n");
}

static void add_point(const frame *f, const char *command, double labels, double value) {
    scant__text_add(f->c.out, command);
    report_add_tenths(f->c.out, chart_place(&f->x, labels));
    scant__text_add(f->c.out, " ");
    report_add_tenths(f->c.out, chart_place(&f->y, f->unit * value));
}

static void draw_band(const frame *f, const report_curve *curve) {
    bool any = false;
    for (size_t i = 0; i < curve->n; i++) any = any || curve->levels[i].std > 0;
    if (!any || curve->n < 2) return;
    scant__text_add(f->c.out, "<path class=\"band\" d=\"");
    for (size_t i = 0; i < curve->n; i++) {
        const report_level *l = &curve->levels[i];
        add_point(f, i ? "L" : "M", (double)l->labels, l->mean + l->std);
    }
    for (size_t i = curve->n; i-- > 0;) {
        const report_level *l = &curve->levels[i];
        add_point(f, "L", (double)l->labels, l->mean - l->std);
    }
    scant__text_add(f->c.out, "z\"/>");
}

static void draw_whisker(const frame *f, const report_level *l) {
    double x = chart_place(&f->x, (double)l->labels);
    chart_line(&f->c, "whisker", x, chart_place(&f->y, f->unit * (l->mean - l->std)), x,
               chart_place(&f->y, f->unit * (l->mean + l->std)));
}

static void add_value(const frame *f, const report_level *l) {
    scant__text *out = f->c.out;
    scant__text_addf(out, ": %" PRIu64 " labels, ", l->labels);
    if (f->scale == PERCENT) {
        report_add_fixed(out, 100 * l->mean, 2);
        scant__text_add(out, " \xc2\xb1 ");
        report_add_fixed(out, 100 * l->std, 2);
        scant__text_add(out, " %");
    } else if (f->scale == POWERS) {
        report_add_number(out, pow(10, l->mean));
        scant__text_add(out, " \xc3\x97/\xc3\xb7 ");
        report_add_number(out, pow(10, l->std));
    } else {
        report_add_number(out, l->mean);
        scant__text_add(out, " \xc2\xb1 ");
        report_add_number(out, l->std);
    }
    scant__text_addf(out, " (%zu run%s)", l->runs, l->runs == 1 ? "" : "s");
}

static void draw_marks(const frame *f, size_t s) {
    const report_curve *curve = &f->curves[s];
    chart_look look = chart_look_of(f->view->r, s);
    size_t every = (curve->n + MARKS - 1) / MARKS;
    double size = f->c.form == CHART_NARROW ? 5 : curve->n > 24 ? 6 : 7;
    for (size_t i = 0; i < curve->n; i++) {
        const report_level *l = &curve->levels[i];
        if (i % every && i + 1 < curve->n) continue;
        chart_mark(f->c.out, look, chart_place(&f->x, (double)l->labels),
                   chart_place(&f->y, f->unit * l->mean), size);
        chart_title_begin(&f->c, f->view->r->strategies[s].name);
        add_value(f, l);
        chart_title_end(&f->c);
        scant__text_add(f->c.out, "</path>");
    }
}

static void draw_curve(const frame *f, size_t s) {
    const report_curve *curve = &f->curves[s];
    chart_look look = chart_look_of(f->view->r, s);
    if (!curve->n) return;
    scant__text_addf(f->c.out, "<g class=\"series s%zu k%u\">", s, look.colour);
    draw_band(f, curve);
    if (curve->n == 1) draw_whisker(f, curve->levels);
    scant__text_add(f->c.out, "<path class=\"line\"");
    if (*chart_dashes(look))
        scant__text_addf(f->c.out, " stroke-dasharray=\"%s\"", chart_dashes(look));
    scant__text_add(f->c.out, " d=\"");
    for (size_t i = 0; i < curve->n; i++)
        add_point(f, i ? "L" : "M", (double)curve->levels[i].labels,
                  curve->levels[i].mean);
    scant__text_add(f->c.out, "\"/>");
    draw_marks(f, s);
    scant__text_add(f->c.out, "</g>\n");
}

/* ---- names at the curves' ends ----------------------------------------------------- */

typedef struct end_name {
    size_t strategy;
    double x, y, at; /* the curve's end; where the name stands */
} end_name;

static int by_height(const void *a, const void *b) {
    const end_name *p = a, *q = b;
    if (p->y != q->y) return p->y < q->y ? -1 : 1;
    return (p->strategy > q->strategy) - (p->strategy < q->strategy);
}

/* Names that would touch stand together, a line apart, around the middle of their curves'
 * ends. A block is kept at its first name: how many they are, and where it begins. */
static void spread(end_name *names, size_t n, double top, double bottom) {
    double line = fmin(NAME_LINE, (bottom - top) / (double)size_max(n, 1));
    size_t sizes[MOST_NAMES], blocks = 0, first = 0;
    double starts[MOST_NAMES], sums[MOST_NAMES]; /* sums: of ends, less their places */
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
        names[n++] = (end_name){s, chart_place(&f->x, (double)last->labels),
                                chart_place(&f->y, f->unit * last->mean), 0};
    }
    qsort(names, n, sizeof *names, by_height);
    spread(names, n, f->y.to - 10, f->y.from);
    for (size_t i = 0; i < n; i++) {
        scant__text_addf(f->c.out, "<g class=\"series s%zu k%u\">", names[i].strategy,
                         chart_look_of(r, names[i].strategy).colour);
        chart_line(&f->c, "lead", names[i].x + 5, names[i].y, f->x.to + 18, names[i].at);
        chart_words(&f->c, f->x.to + 22, names[i].at + 4, "start", "own strong",
                    r->strategies[names[i].strategy].name, 24);
        scant__text_add(f->c.out, "</g>");
    }
    scant__text_add(f->c.out, "\n");
}

/* What a script needs to find values under the pointer. */
static void add_geometry(const frame *f) {
    const chart_axis *axes[] = {&f->x, &f->y};
    scant__text_add(f->c.out, "<g class=\"geometry\" data-axes=\"");
    for (size_t i = 0; i < 2; i++) {
        const double numbers[] = {axes[i]->low, axes[i]->high, axes[i]->from,
                                  axes[i]->to};
        for (size_t k = 0; k < 4; k++) {
            report_add_number(f->c.out, numbers[k]);
            scant__text_add(f->c.out, i == 1 && k == 3 ? "\"></g>" : " ");
        }
    }
}

/* Axes between top and bottom, and what stands in them. */
static void draw_panel(frame *f, double top, double bottom) {
    bool narrow = f->c.form == CHART_NARROW;
    double names = narrow ? 0 : 8.2 * (double)chart_longest_name(f->view->r, 24) + 26;
    double x[2], y[2];
    find_ranges(f, x, y);
    f->x = chart_axis_of(x[0], x[1], narrow ? 46 : 58, f->c.width - 14 - names,
                         narrow ? 5 : 9, false);
    f->y =
        chart_axis_of(f->unit * y[0], f->unit * y[1], bottom, top, narrow ? 5 : 7, true);
    draw_axes(f);
    for (size_t s = f->view->r->n_strategies; s-- > 0;) draw_curve(f, s);
    if (!narrow) draw_names(f);
}

/* Of a panel: as high as its names want. */
static double panel_height(const report_view *view, chart_form form, double least) {
    double lines = (double)view->r->n_strategies * NAME_LINE;
    return form == CHART_NARROW ? least : fmax(least, lines + 10);
}

void report_chart_curves(scant__text *out, const report_view *view, chart_form form) {
    const report_results *r = view->r;
    bool narrow = form == CHART_NARROW;
    double head = form == CHART_FILE ? 74 : 40;
    double high = panel_height(view, form, (narrow ? 290 : 430) - head);
    frame f = {.view = view,
               .curves = view->m->curves,
               .words = r->regression ? "test error" : "test accuracy",
               .scale = r->regression ? PLAIN : PERCENT,
               .unit = r->regression ? 1 : 100};
    f.c = (chart){out, form, narrow ? 380 : 1000, head + high + 50};
    chart_begin(&f.c, "curves",
                r->regression ? "Learning curves: test error by labelled samples"
                              : "Learning curves: test accuracy by labelled samples",
                "A line a strategy: the mean over seeds, with a band of one standard "
                "deviation. The numbers are in summary.csv.");
    if (form == CHART_FILE)
        chart_words(&f.c, 20, 30, "start", "heading", "Learning curves", 40);
    draw_panel(&f, head, head + high);
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
    frame f = {.view = view, .unit = 1};
    f.c = (chart){out, form, narrow ? 380 : 1000,
                  head + high + (ratio ? gap + high : 0) + 50};
    chart_begin(&f.c, "theory", "What theory says of each round, by labelled samples",
                "A line a strategy: the mean over seeds, with a band of one standard "
                "deviation. The numbers are in theory.csv.");
    if (form == CHART_FILE) chart_words(&f.c, 20, 30, "start", "heading", "Theory", 40);
    for (size_t i = 0; i < (ratio ? REPORT_THEORIES : 1); i++) {
        f.curves = view->m->theory[i];
        f.words = words[i];
        f.scale = i == REPORT_LAMBDA ? POWERS : PLAIN;
        double top = head + (double)i * (high + gap);
        draw_panel(&f, top, top + high);
    }
    chart_end(&f.c);
}
