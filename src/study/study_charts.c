/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines and dots over two axes, of which the upright one may be logarithmic: then the
 * axis is of the logarithm, and ticks are powers of ten. Of many points some hundred are
 * drawn.
 */
#include <math.h>
#include <string.h>

#include "core/size.h"
#include "scant/study.h"
#include "study/study_charts.h"

enum { POINTS = 400, LEVELS = 12 };

typedef struct plot {
    chart c;
    chart_axis x, y;
    bool log; /* y is of logarithms */
} plot;

typedef struct plot_opts {
    const char *name, *title, *about, *x_words, *y_words;
    double x_low, x_high, y_low, y_high;
    bool log;
} plot_opts;

/* "250", "0.25", "25 k", "2.5 M" */
static void add_tick(scant__text *out, const chart_axis *axis, double value) {
    if (axis->high >= 1e4)
        chart_add_count(out, value);
    else
        report_add_fixed(out, value, axis->decimals);
}

static void draw_ticks(const plot *p) {
    double value;
    for (size_t i = 0; chart_tick(&p->x, i, &value); i++) {
        double x = chart_place(&p->x, value);
        chart_line(&p->c, "grid", x, p->y.from, x, p->y.to);
        chart_text(&p->c, x, p->y.from + 18, "middle", "soft small");
        add_tick(p->c.out, &p->x, value);
        scant__text_add(p->c.out, "</text>");
    }
    for (size_t i = 0; chart_tick(&p->y, i, &value); i++) {
        double y = chart_place(&p->y, value);
        chart_line(&p->c, "grid", p->x.from, y, p->x.to, y);
        chart_text(&p->c, p->x.from - 8, y + 4, "end", "soft small");
        if (p->log)
            report_add_number(p->c.out, pow(10, value));
        else
            add_tick(p->c.out, &p->y, value);
        scant__text_add(p->c.out, "</text>");
    }
    chart_line(&p->c, "axis", p->x.from, p->y.from, p->x.to, p->y.from);
}

static plot plot_begin(scant__text *out, chart_form form, const plot_opts *o) {
    bool narrow = form == CHART_NARROW;
    plot p = {.c = {out, form, narrow ? 480 : 1040, narrow ? 340 : 380}, .log = o->log};
    p.x = chart_axis_of(o->x_low, o->x_high, 74, p.c.width - 18, narrow ? 5 : 10, false);
    p.y = chart_axis_of(o->y_low, o->y_high, p.c.height - 52, 26, 6, true);
    if (o->log && p.y.step < 1) { /* ticks are powers of ten */
        p.y.step = 1;
        p.y.first = ceil(p.y.low - 1e-9);
    }
    chart_begin(&p.c, o->name, o->title, o->about);
    draw_ticks(&p);
    chart_words(&p.c, (p.x.from + p.x.to) / 2, p.c.height - 10, "middle", "soft small",
                o->x_words, 100);
    chart_words(&p.c, p.x.from, 12, "start", "soft small", o->y_words, 100);
    return p;
}

static double place_y(const plot *p, double value) {
    return chart_place(&p->y, p->log ? log10(value) : value);
}

/* Through (first + i, values[i]), of which what a logarithm cannot show is left out. */
static void draw_line(const plot *p, const char *colour, const char *dashes, double first,
                      const double *values, size_t n) {
    scant__text *out = p->c.out;
    size_t step = n > POINTS ? (n + POINTS - 1) / POINTS : 1;
    bool begun = false;
    scant__text_addf(out, "<g class=\"%s\"><path class=\"line\"", colour);
    if (*dashes) scant__text_addf(out, " stroke-dasharray=\"%s\"", dashes);
    scant__text_add(out, " d=\"");
    for (size_t i = 0; i < n; i = i + 1 < n && i + step >= n ? n - 1 : i + step) {
        if (!isfinite(values[i]) || (p->log && !(values[i] > 0))) continue;
        scant__text_add(out, begun ? "L" : "M");
        report_add_tenths(out, chart_place(&p->x, first + (double)i));
        scant__text_add(out, " ");
        report_add_tenths(out, fmin(p->y.from, place_y(p, values[i])));
        begun = true;
    }
    scant__text_add(out, begun ? "\"/></g>\n" : "M0 0\"/></g>\n");
}

/* A word in the line's own colour at the right edge of the chart, row rows down. */
static void draw_key(const plot *p, const char *colour, const char *dashes, size_t row,
                     const char *words) {
    double y = p->y.to + 40 + 20 * (double)row, x = p->x.to - 8; /* below the bound */
    scant__text_addf(p->c.out, "<g class=\"%s\">", colour);
    scant__text_add(p->c.out, "<path class=\"line\"");
    if (*dashes) scant__text_addf(p->c.out, " stroke-dasharray=\"%s\"", dashes);
    scant__text_add(p->c.out, " d=\"M");
    report_add_tenths(p->c.out, x - 28);
    scant__text_add(p->c.out, " ");
    report_add_tenths(p->c.out, y);
    scant__text_add(p->c.out, "h28\"/>");
    chart_words(&p->c, x - 36, y + 4, "end", "own small", words, 60);
    scant__text_add(p->c.out, "</g>\n");
}

/* The least and largest logarithm of what is above 0. */
static void log_range(const double *values, size_t n, double *low, double *high) {
    for (size_t i = 0; i < n; i++) {
        if (!(values[i] > 0) || !isfinite(values[i])) continue;
        *low = fmin(*low, log10(values[i]));
        *high = fmax(*high, log10(values[i]));
    }
}

void kernel_chart_spectrum(scant__text *out, const scant_study_view *v, chart_form form) {
    const scant_study *s = v->study;
    double low = INFINITY, high = -INFINITY, floor = s->tolerance * s->largest;
    log_range(s->values, s->n_values, &low, &high);
    if (!(high >= low)) low = -1, high = 0;
    if (floor > 0) low = fmax(low, log10(floor) - 1);
    plot p = plot_begin(out, form,
                        &(plot_opts){.name = "spectrum",
                                     .title = "Eigenvalues of the kernel",
                                     .about = "Eigenvalues, largest first, on a "
                                              "logarithmic scale.",
                                     .x_words = "which, largest first",
                                     .y_words = "eigenvalue",
                                     .x_low = 1,
                                     .x_high = fmax(2, (double)s->n_values),
                                     .y_low = low,
                                     .y_high = high,
                                     .log = true});
    draw_line(&p, "k1", "", 1, s->values, s->n_values);
    if (s->rank < s->n_values && floor > 0 && log10(floor) >= p.y.low) {
        double y = place_y(&p, floor);
        chart_line(&p.c, "zero", p.x.from, y, p.x.to, y);
        chart_words(&p.c, p.x.to, y - 6, "end", "soft small", "what is below counts as 0",
                    40);
    }
    chart_end(&p.c);
}

/* The part of labels in the first i directions, for all i. */
void kernel_chart_labels(scant__text *out, const scant_study_view *v, chart_form form) {
    const scant_study *s = v->study;
    double sum = 0, all = (double)size_max(1, s->labelled);
    plot p = plot_begin(out, form,
                        &(plot_opts){.name = "labels",
                                     .title = "Labels in the kernel's directions",
                                     .about = "The part of the labels' squared length in "
                                              "the first directions of the kernel.",
                                     .x_words = "directions, of the largest eigenvalues "
                                                "first",
                                     .y_words = "part of the labels, %",
                                     .x_low = 1,
                                     .x_high = fmax(2, (double)s->n_values),
                                     .y_low = 0,
                                     .y_high = 100});
    size_t step = s->n_values > POINTS ? (s->n_values + POINTS - 1) / POINTS : 1;
    scant__text_add(out, "<g class=\"k3\"><path class=\"line\" d=\"");
    for (size_t i = 0; i < s->n_values; i++) {
        sum += s->energy[i];
        if (i % step && i + 1 < s->n_values) continue;
        scant__text_add(out, i ? "L" : "M");
        report_add_tenths(out, chart_place(&p.x, (double)i + 1));
        scant__text_add(out, " ");
        report_add_tenths(out, chart_place(&p.y, 100 * sum / all));
    }
    scant__text_add(out, "\"/></g>\n");
    chart_end(&p.c);
}

void kernel_chart_agreement(scant__text *out, const scant_study_view *v,
                            chart_form form) {
    const scant_agreement *g = v->agreement;
    plot_opts o = {.name = "agreement",
                   .title = "Alignment and training dynamics of random sets",
                   .about =
                       "A dot a set: its alignment across, its training dynamics up.",
                   .x_words = "alignment A",
                   .y_words = "training dynamics G",
                   .x_low = INFINITY,
                   .x_high = -INFINITY,
                   .y_low = INFINITY,
                   .y_high = -INFINITY};
    for (size_t i = 0; i < g->sets; i++) {
        o.x_low = fmin(o.x_low, g->alignment[i]);
        o.x_high = fmax(o.x_high, g->alignment[i]);
        o.y_low = fmin(o.y_low, g->dynamics[i]);
        o.y_high = fmax(o.y_high, g->dynamics[i]);
    }
    plot p = plot_begin(out, form, &o);
    scant__text_add(out, "<g class=\"k1\">");
    size_t step = g->sets > 4 * POINTS ? (g->sets + 4 * POINTS - 1) / (4 * POINTS) : 1;
    for (size_t i = 0; i < g->sets; i += step) {
        scant__text_add(out, "<circle class=\"dot\"");
        chart_at(&p.c, "cx", chart_place(&p.x, g->alignment[i]));
        chart_at(&p.c, "cy", chart_place(&p.y, g->dynamics[i]));
        scant__text_add(out, " r=\"4\"/>");
    }
    scant__text_add(out, "</g>\n");
    chart_end(&p.c);
}

void kernel_chart_descent(scant__text *out, const scant_study_view *v, chart_form form) {
    double low = INFINITY, high = -INFINITY, last = v->losses[0];
    log_range(v->losses, v->steps + 1, &low, &high);
    log_range(v->predicted, v->steps + 1, &low, &high);
    if (!(high >= low)) low = -1, high = 0;
    plot p = plot_begin(out, form,
                        &(plot_opts){.name = "descent",
                                     .title = "The loss, step by step",
                                     .about = "Measured and predicted loss after each "
                                              "step, on a logarithmic scale.",
                                     .x_words = "steps of gradient descent",
                                     .y_words = "loss",
                                     .x_high = (double)v->steps,
                                     .y_low = low,
                                     .y_high = high,
                                     .log = true});
    double end = last * pow(v->factor, (double)v->steps);
    if (last > 0 && end > 0) { /* a straight line, as far as it is on the chart */
        double y = fmin(p.y.from, place_y(&p, end));
        scant__text_add(out, "<g class=\"k0\">");
        chart_line(&p.c, "whisker", p.x.from, place_y(&p, last), p.x.to, y);
        scant__text_add(out, "</g>\n");
        draw_key(&p, "k0", "", 2, "the theorem's bound");
    }
    draw_line(&p, "k1", "", 0, v->losses, v->steps + 1);
    draw_line(&p, "k2", "7 5", 0, v->predicted, v->steps + 1);
    draw_key(&p, "k1", "", 0, "measured");
    draw_key(&p, "k2", "7 5", 1, "predicted by the kernel");
    chart_end(&p.c);
}

/* ---- the kernel by classes --------------------------------------------------------- */

static void sort_by_class(const scant_study_view *v, size_t *order) {
    size_t at = 0, n = v->study->samples;
    for (size_t i = 0; !v->labels && i < n; i++) order[i] = i;
    if (!v->labels) return;
    for (int32_t c = 0; c < (int32_t)v->classes; c++)
        for (size_t i = 0; i < n; i++)
            if (v->labels[i] == c) order[at++] = i;
    for (size_t i = 0; i < n; i++)
        if (v->labels[i] < 0) order[at++] = i;
}

static double cosine(const scant_study_view *v, size_t i, size_t j) {
    size_t n = v->study->samples;
    double scale = v->k[i * n + i] * v->k[j * n + j];
    return scale > 0 ? v->k[i * n + j] / sqrt(scale) : 0;
}

/* A sample with itself is left out where there are other pairs. */
static double block_mean(const scant_study_view *v, const size_t *order, size_t a,
                         size_t a_end, size_t b, size_t b_end) {
    double sum = 0, count = 0;
    bool alone = a_end - a == 1 && b_end - b == 1;
    for (size_t i = a; i < a_end; i++)
        for (size_t j = b; j < b_end; j++) {
            if (i == j && !alone) continue;
            sum += cosine(v, order[i], order[j]);
            count++;
        }
    return sum / count;
}

void kernel_heat_of(const scant_study_view *v, size_t *order, kernel_heat *h) {
    size_t n = v->study->samples;
    sort_by_class(v, order);
    *h = (kernel_heat){
        .cells = size_min(n, KERNEL_CELLS), .low = INFINITY, .high = -INFINITY};
    size_t m = h->cells;
    for (size_t i = 0; i < m; i++) {
        size_t first = order[i * n / m];
        if (v->labels && i && v->labels[first] != v->labels[order[(i - 1) * n / m]])
            h->borders[h->n_borders++] = i;
        for (size_t j = 0; j < m; j++) {
            double mean = block_mean(v, order, i * n / m, (i + 1) * n / m, j * n / m,
                                     (j + 1) * n / m);
            h->value[i * m + j] = mean;
            h->low = fmin(h->low, mean);
            h->high = fmax(h->high, mean);
        }
    }
}

static size_t level_of(const kernel_heat *h, double value) {
    double part = h->high > h->low ? (value - h->low) / (h->high - h->low) : 1;
    return size_min(LEVELS - 1, (size_t)(part * LEVELS));
}

static double shade(size_t level) { return 0.06 + 0.94 * (double)level / (LEVELS - 1); }

static void draw_legend(const chart *c, const kernel_heat *h, double x, double y) {
    double side = 16;
    scant__text_add(c->out, "<g class=\"k1\">");
    for (size_t level = 0; level < LEVELS; level++) {
        scant__text_add(c->out, "<rect class=\"bar\" fill-opacity=\"");
        report_add_fixed(c->out, shade(level), 2);
        scant__text_add(c->out, "\"");
        chart_at(c, "x", x + side * (double)level);
        chart_at(c, "y", y);
        chart_at(c, "width", side);
        chart_at(c, "height", 10);
        scant__text_add(c->out, "/>");
    }
    scant__text_add(c->out, "</g>");
    chart_text(c, x, y + 26, "start", "soft small");
    report_add_fixed(c->out, h->low, 3);
    scant__text_add(c->out, "</text>");
    chart_text(c, x + side * LEVELS, y + 26, "end", "soft small");
    report_add_fixed(c->out, h->high, 3);
    scant__text_add(c->out, "</text>\n");
}

void kernel_chart_heat(scant__text *out, const kernel_heat *h, chart_form form) {
    bool narrow = form == CHART_NARROW;
    chart c = {out, form, narrow ? 480 : 1040, narrow ? 500 : 540};
    size_t m = h->cells;
    double side = floor((narrow ? 440.0 : 480.0) / (double)m * 10) / 10;
    double left = (c.width - side * (double)m) / 2, top = 6;
    chart_begin(&c, "heat", "The kernel between samples, by class",
                "A square matrix of cosines: rows and columns are samples, those of a "
                "class together.");
    scant__text_add(out, "<g class=\"k1\">");
    for (size_t level = 0; level < LEVELS; level++) { /* a path each: small */
        bool any = false;
        for (size_t i = 0; i < m * m; i++) {
            if (level_of(h, h->value[i]) != level) continue;
            if (!any) {
                scant__text_add(out, "<path class=\"bar\" fill-opacity=\"");
                report_add_fixed(out, shade(level), 2);
                scant__text_add(out, "\" d=\"");
            }
            any = true;
            scant__text_add(out, "M");
            report_add_tenths(out, left + side * (double)(i % m));
            scant__text_add(out, " ");
            report_add_tenths(out, top + side * (double)(i / m));
            scant__text_add(out, "h");
            report_add_tenths(out, side);
            scant__text_add(out, "v");
            report_add_tenths(out, side);
            scant__text_add(out, "h-");
            report_add_tenths(out, side);
            scant__text_add(out, "z");
        }
        if (any) scant__text_add(out, "\"/>");
    }
    scant__text_add(out, "</g>\n");
    for (size_t b = 0; b < h->n_borders; b++) {
        double at = side * (double)h->borders[b], size = side * (double)m;
        chart_line(&c, "zero", left + at, top, left + at, top + size);
        chart_line(&c, "zero", left, top + at, left + size, top + at);
    }
    draw_legend(&c, h, left, top + side * (double)m + 10);
    chart_end(&c);
}
