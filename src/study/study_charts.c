/* SPDX-License-Identifier: Apache-2.0
 *
 * The charts of a page about a kernel. The vertical axis may be logarithmic. Large data
 * is thinned to about POINTS points of a line, or 4 POINTS dots.
 */
#include "study/study_charts.h"

#include <math.h>

#include "core/size.h"

enum { POINTS = 400, LEVELS = 12 };

typedef struct plot {
    chart c;
    chart_axis x, y;
} plot;

typedef struct plot_opts {
    const char *name, *title, *about, *x_words, *y_words;
    double x_low, x_high, y_low, y_high;
    bool log; /* y is logarithmic; y_low and y_high are logarithms */
} plot_opts;

static plot plot_begin(scant__text *out, chart_form form, const plot_opts *o) {
    bool narrow = form == CHART_NARROW;
    plot p = {.c = {out, form, narrow ? 480 : 1040, narrow ? 340 : 380}};
    double bottom = p.c.height - 46;
    p.x = chart_axis_of(o->x_low, o->x_high, 74, p.c.width - 18, narrow ? 5 : 10, false);
    p.y = chart_axis_of(o->y_low, o->y_high, bottom, 26, 6, true);
    if (o->log) p.y.labels = CHART_POWERS;
    if (o->log && p.y.step < 1) { /* ticks are powers of ten */
        p.y.step = 1;
        p.y.first = ceil(p.y.low - 1e-9);
    }
    chart_begin(&p.c, o->name, o->title, o->title, o->about);
    chart_draw_x(&p.c, &p.x, p.y.to, bottom, o->x_words);
    chart_draw_y(&p.c, &p.y, p.x.from, p.x.to, o->y_words);
    return p;
}

static double pixel_y(const plot *p, double value) {
    return chart_pixel(&p->y, p->y.labels == CHART_POWERS ? log10(value) : value);
}

/* Returns the step between drawn points, so that at most `most` of n are drawn. */
static size_t step_of(size_t n, size_t most) {
    return n > most ? (n + most - 1) / most : 1;
}

/* Draws a line through (first + i, values[i]). On a logarithmic axis values of 0 or less
 * are left out. */
static void draw_line(const plot *p, chart_style style, double first,
                      const double *values, size_t n) {
    scant__text *out = p->c.out;
    size_t step = step_of(n, POINTS);
    const char *command = "M";
    report_addf(out, "<g class=\"k%u\">", style.colour);
    chart_path_begin(out, style);
    for (size_t i = 0; i < n; i = i + 1 < n && i + step >= n ? n - 1 : i + step) {
        bool shown = p->y.labels != CHART_POWERS || values[i] > 0;
        if (!isfinite(values[i]) || !shown) continue;
        report_addf(out, "%s%f %f", command, chart_pixel(&p->x, first + (double)i),
                    fmin(p->y.from, pixel_y(p, values[i])));
        command = "L";
    }
    scant__text_add(out, *command == 'L' ? "\"/></g>\n" : "M0 0\"/></g>\n");
}

/* Widens low..high to the logarithms of the positive values. */
static void log_range(const double *values, size_t n, double *low, double *high) {
    for (size_t i = 0; i < n; i++) {
        if (!(values[i] > 0) || !isfinite(values[i])) continue;
        *low = fmin(*low, log10(values[i]));
        *high = fmax(*high, log10(values[i]));
    }
}

void study_chart_spectrum(scant__text *out, const scant_lab *v, chart_form form) {
    const scant_study *s = v->study;
    double low = INFINITY, high = -INFINITY, floor = s->tolerance * s->largest;
    log_range(s->values, s->n_values, &low, &high);
    if (!(high >= low)) low = -1, high = 0;
    if (floor > 0) low = fmax(low, log10(floor) - 1);
    plot p = plot_begin(
        out, form,
        &(plot_opts){.name = "spectrum",
                     .title = "Eigenvalues of the kernel",
                     .about = "Eigenvalues, largest first, on a logarithmic scale.",
                     .x_words = "rank of the eigenvalue, largest first",
                     .y_words = "eigenvalue",
                     .x_low = 1,
                     .x_high = fmax(2, (double)s->n_values),
                     .y_low = low,
                     .y_high = high,
                     .log = true});
    draw_line(&p, (chart_style){1, 0}, 1, s->values, s->n_values);
    if (s->rank < s->n_values && floor > 0 && log10(floor) >= p.y.low) {
        double y = pixel_y(&p, floor);
        chart_line(&p.c, "zero", p.x.from, y, p.x.to, y);
        chart_text(&p.c, p.x.to, y - 6, "end", "soft small", "below: counted as 0", 40);
    }
    chart_end(&p.c);
}

void study_chart_labels(scant__text *out, const scant_lab *v, chart_form form) {
    const scant_study *s = v->study;
    double sum = 0, all = (double)size_max(1, s->labelled);
    size_t step = step_of(s->n_values, POINTS);
    plot p = plot_begin(
        out, form,
        &(plot_opts){.name = "labels",
                     .title = "Labels along the eigenvectors",
                     .about = "The share of the labels' squared length along the first "
                              "eigenvectors of the kernel.",
                     .x_words = "eigenvectors, largest eigenvalue first",
                     .y_words = "share of the labels, %",
                     .x_low = 1,
                     .x_high = fmax(2, (double)s->n_values),
                     .y_low = 0,
                     .y_high = 100});
    scant__text_add(out, "<g class=\"k3\">");
    chart_path_begin(out, (chart_style){3, 0});
    for (size_t i = 0; i < s->n_values; i++) {
        sum += s->energy[i];
        if (i % step && i + 1 < s->n_values) continue;
        report_addf(out, "%s%f %f", i ? "L" : "M", chart_pixel(&p.x, (double)i + 1),
                    chart_pixel(&p.y, 100 * sum / all));
    }
    scant__text_add(out, "\"/></g>\n");
    chart_end(&p.c);
}

void study_chart_agreement(scant__text *out, const scant_lab *v, chart_form form) {
    const scant_agreement *g = v->agreement;
    plot_opts o = {.name = "agreement",
                   .title = "Alignment and training dynamics of random sets",
                   .about = "A dot for each set: alignment on the horizontal axis, "
                            "training dynamics on the vertical one.",
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
    size_t step = step_of(g->sets, 4 * POINTS);
    for (size_t i = 0; i < g->sets; i += step)
        report_addf(out, "<circle class=\"dot\" cx=\"%f\" cy=\"%f\" r=\"4\"/>",
                    chart_pixel(&p.x, g->alignment[i]),
                    chart_pixel(&p.y, g->dynamics[i]));
    scant__text_add(out, "</g>\n");
    chart_end(&p.c);
}

void study_chart_descent(scant__text *out, const scant_lab *v, chart_form form) {
    const chart_style measured = {1, 0}, predicted = {2, 1}, bound = {0, 0};
    double low = INFINITY, high = -INFINITY, first = v->losses[0];
    log_range(v->losses, v->steps + 1, &low, &high);
    log_range(v->predicted, v->steps + 1, &low, &high);
    if (!(high >= low)) low = -1, high = 0;
    plot p = plot_begin(
        out, form,
        &(plot_opts){.name = "descent",
                     .title = "The loss, step by step",
                     .about = "Measured and predicted loss after each step, on a "
                              "logarithmic scale.",
                     .x_words = "steps of gradient descent",
                     .y_words = "loss",
                     .x_high = (double)v->steps,
                     .y_low = low,
                     .y_high = high,
                     .log = true});
    double end = first * pow(v->factor, (double)v->steps), key = p.x.to - 210;
    if (first > 0 && end > 0) { /* a straight line on this axis */
        scant__text_add(out, "<g class=\"k0\">");
        chart_line(&p.c, "whisker", p.x.from, pixel_y(&p, first), p.x.to,
                   fmin(p.y.from, pixel_y(&p, end)));
        scant__text_add(out, "</g>\n");
        chart_key(&p.c, bound, key, p.y.to + 80, "the theorem's bound");
    }
    draw_line(&p, measured, 0, v->losses, v->steps + 1);
    draw_line(&p, predicted, 0, v->predicted, v->steps + 1);
    chart_key(&p.c, measured, key, p.y.to + 40, "measured");
    chart_key(&p.c, predicted, key, p.y.to + 60, "predicted by the kernel");
    chart_end(&p.c);
}

/* ---- the kernel by classes --------------------------------------------------------- */

static void sort_by_class(const scant_lab *v, size_t *order) {
    size_t at = 0, n = v->study->samples;
    for (size_t i = 0; !v->labels && i < n; i++) order[i] = i;
    if (!v->labels) return;
    for (int32_t c = 0; c < (int32_t)v->classes; c++)
        for (size_t i = 0; i < n; i++)
            if (v->labels[i] == c) order[at++] = i;
    for (size_t i = 0; i < n; i++)
        if (v->labels[i] < 0) order[at++] = i;
}

static double cosine(const scant_lab *v, size_t i, size_t j) {
    size_t n = v->study->samples;
    double scale = v->k[i * n + i] * v->k[j * n + j];
    return scale > 0 ? v->k[i * n + j] / sqrt(scale) : 0;
}

/* Returns the mean cosine of a block. Leaves out pairs of a sample with itself, unless
 * the block is such a pair. */
static double block_mean(const scant_lab *v, const size_t *order, size_t a, size_t a_end,
                         size_t b, size_t b_end) {
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

void study_heat_of(const scant_lab *v, size_t *order, study_heat *h) {
    size_t n = v->study->samples;
    sort_by_class(v, order);
    *h = (study_heat){
        .cells = size_min(n, STUDY_HEAT_CELLS), .low = INFINITY, .high = -INFINITY};
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

static size_t level_of(const study_heat *h, double value) {
    double part = h->high > h->low ? (value - h->low) / (h->high - h->low) : 1;
    return size_min(LEVELS - 1, (size_t)(part * LEVELS));
}

static double shade(size_t level) { return 0.06 + 0.94 * (double)level / (LEVELS - 1); }

static void draw_legend(const chart *c, const study_heat *h, double x, double y) {
    double side = 16;
    scant__text_add(c->out, "<g class=\"k1\">");
    for (size_t level = 0; level < LEVELS; level++)
        report_addf(c->out,
                    "<rect class=\"bar\" fill-opacity=\"%.2f\" x=\"%f\" y=\"%f\" "
                    "width=\"%f\" height=\"10\"/>",
                    shade(level), x + side * (double)level, y, side);
    scant__text_add(c->out, "</g>");
    chart_text_begin(c, x, y + 26, "start", "soft small");
    report_addf(c->out, "%.3f</text>", h->low);
    chart_text_begin(c, x + side * LEVELS, y + 26, "end", "soft small");
    report_addf(c->out, "%.3f</text>\n", h->high);
}

/* Draws all cells of a level as one path, to keep the file small. */
static void draw_level(scant__text *out, const study_heat *h, size_t level, double left,
                       double top, double side) {
    bool any = false;
    for (size_t i = 0; i < h->cells * h->cells; i++) {
        if (level_of(h, h->value[i]) != level) continue;
        if (!any)
            report_addf(out, "<path class=\"bar\" fill-opacity=\"%.2f\" d=\"",
                        shade(level));
        any = true;
        report_addf(out, "M%f %fh%fv%fh%fz", left + side * (double)(i % h->cells),
                    top + side * (double)(i / h->cells), side, side, -side);
    }
    if (any) scant__text_add(out, "\"/>");
}

void study_chart_heat(scant__text *out, const study_heat *h, chart_form form) {
    bool narrow = form == CHART_NARROW;
    chart c = {out, form, narrow ? 480 : 1040, narrow ? 500 : 540};
    double cells = (double)h->cells;
    double side = floor((narrow ? 440.0 : 480.0) / cells * 10) / 10;
    double left = (c.width - side * cells) / 2, top = 6, size = side * cells;
    chart_begin(&c, "heat", "The kernel", "The kernel between samples, by class",
                "A matrix of cosines: rows and columns are samples, sorted by class.");
    scant__text_add(out, "<g class=\"k1\">");
    for (size_t level = 0; level < LEVELS; level++)
        draw_level(out, h, level, left, top, side);
    scant__text_add(out, "</g>\n");
    for (size_t b = 0; b < h->n_borders; b++) {
        double at = side * (double)h->borders[b];
        chart_line(&c, "zero", left + at, top, left + at, top + size);
        chart_line(&c, "zero", left, top + at, left + size, top + at);
    }
    draw_legend(&c, h, left, top + size + 10);
    chart_end(&c);
}
