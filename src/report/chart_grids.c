/* SPDX-License-Identifier: Apache-2.0
 *
 * Charts that are grids of cells: overlaps of strategies, and how often each picked a
 * class.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "core/size.h"
#include "report/chart.h"

enum { MOST_CELLS = 64, NAMES_TOP = 96 };
static const double PI_4 = 0.70710678118654752; /* sine of 45 degrees */

typedef struct grid {
    chart c;
    double left, top, cell_width, cell_height;
    const char *digits; /* the class of numbers in cells; "": no room for them */
} grid;

static grid grid_begin(scant__text *out, const report_view *view, chart_form form,
                       size_t rows, size_t columns, size_t longest) {
    bool narrow = form == CHART_NARROW;
    grid g = {.c = {out, form, narrow ? 380 : 1000, 0}};
    size_t most = narrow ? 13 : 26;
    double name = narrow ? 6.6 : 8.2;
    g.left = name * (double)chart_longest_name(view->r, most) + 20;
    /* names of columns rise at 45 degrees, and reach beyond the last one */
    double rise = PI_4 * name * (double)size_min(longest, 14) + 16;
    double head = form == CHART_FILE ? 44 : 0;
    g.top = head + rise + 4;
    double room = g.c.width - g.left - (narrow ? rise * 0.75 : rise);
    g.cell_width = fmin(narrow ? 44 : 68, room / (double)columns);
    g.cell_height = fmin(narrow ? 30 : 36, fmax(16, g.cell_width));
    g.c.height = g.top + g.cell_height * (double)rows + 12;
    g.digits = g.cell_width >= 34 ? "" : g.cell_width >= 26 ? "small" : "tiny";
    if (g.cell_width < 19) g.digits = NULL;
    if (!narrow) /* in the middle */
        g.left += fmax(0, (room - g.cell_width * (double)columns) / 2);
    return g;
}

static double column_at(const grid *g, size_t column) {
    return g->left + g->cell_width * (double)column;
}

static double row_at(const grid *g, size_t row) {
    return g->top + g->cell_height * (double)row;
}

static void draw_column_name(const grid *g, size_t column, unsigned colour,
                             const char *name) {
    scant__text_addf(g->c.out, "<g class=\"k%u\" transform=\"translate(", colour);
    report_add_tenths(g->c.out, column_at(g, column) + g->cell_width / 2 + 3);
    scant__text_add(g->c.out, " ");
    report_add_tenths(g->c.out, g->top - 7);
    scant__text_add(g->c.out, ") rotate(-45)\">");
    chart_words(&g->c, 0, 0, "start",
                g->c.form == CHART_NARROW ? "own strong small" : "own strong", name, 14);
    scant__text_add(g->c.out, "</g>");
}

static void draw_row_name(const grid *g, size_t row, unsigned colour, const char *name) {
    bool narrow = g->c.form == CHART_NARROW;
    scant__text_addf(g->c.out, "<g class=\"k%u\">", colour);
    chart_words(&g->c, g->left - 10, row_at(g, row) + g->cell_height / 2 + 4.5, "end",
                narrow ? "own strong small" : "own strong", name, narrow ? 13 : 26);
    scant__text_add(g->c.out, "</g>");
}

/* A cell filled by strength, 0 to 1; the caller adds a title and ends the group. */
static void begin_cell(const grid *g, size_t row, size_t column, unsigned colour,
                       double strength) {
    double gap = g->cell_width > 12 ? 1.5 : 0.5;
    scant__text_addf(g->c.out, "<g class=\"cell k%u\">", colour);
    chart_box(&g->c, "empty", column_at(g, column) + gap, row_at(g, row) + gap,
              g->cell_width - 2 * gap, g->cell_height - 2 * gap, 3);
    if (strength > 0) {
        scant__text_add(g->c.out, "<rect class=\"bar\" fill-opacity=\"");
        report_add_fixed(g->c.out, strength, 3);
        scant__text_add(g->c.out, "\"");
        chart_at(&g->c, "x", column_at(g, column) + gap);
        chart_at(&g->c, "y", row_at(g, row) + gap);
        chart_at(&g->c, "width", g->cell_width - 2 * gap);
        chart_at(&g->c, "height", g->cell_height - 2 * gap);
        scant__text_add(g->c.out, " rx=\"3\"/>");
    }
}

static void cell_number(const grid *g, size_t row, size_t column, double strength,
                        double value, int decimals) {
    char class_name[32];
    if (!g->digits) return;
    snprintf(class_name, sizeof class_name, "%s%s", g->digits,
             strength > 0.6 ? " onto" : "");
    chart_text(&g->c, column_at(g, column) + g->cell_width / 2,
               row_at(g, row) + g->cell_height / 2 + 4, "middle", class_name);
    report_add_fixed(g->c.out, value, decimals);
    scant__text_add(g->c.out, "</text>");
}

/* ---- overlaps ---------------------------------------------------------------------- */

bool report_has_overlap(const report_view *view) {
    return view->m->n_overlaps && view->r->n_strategies <= MOST_CELLS;
}

double report_overlap_of(const report_view *view, size_t a, size_t b, uint64_t *labels) {
    size_t low = size_min(a, b), high = size_max(a, b);
    for (size_t i = view->m->n_overlaps; i-- > 0;) {
        const report_overlap *o = &view->m->overlaps[i];
        if (o->a != low || o->b != high) continue;
        *labels = o->labels;
        return o->iou;
    }
    return NAN;
}

/* most: the largest overlap of two, which is shown in full colour. */
static void draw_overlap(const grid *g, const report_view *view, size_t a, size_t b,
                         double most) {
    const report_results *r = view->r;
    uint64_t labels = 0;
    double iou = a == b ? 1 : report_overlap_of(view, a, b, &labels);
    double strength = a == b ? 0.18 : most > 0 && iou > 0 ? 0.9 * iou / most : 0;
    bool own = a == b;
    begin_cell(g, a, b, own ? 0 : 1, strength);
    if (!own && !isnan(iou)) {
        chart_title_begin(&g->c, r->strategies[a].name);
        scant__text_add(g->c.out, " and ");
        report_add_escaped(g->c.out, r->strategies[b].name);
        scant__text_add(g->c.out, ": ");
        report_add_fixed(g->c.out, 100 * iou, 1);
        scant__text_addf(g->c.out, " %% in common at %" PRIu64 " labels", labels);
        chart_title_end(&g->c);
        cell_number(g, a, b, strength, 100 * iou, g->cell_width < 44 ? 0 : 1);
    }
    scant__text_add(g->c.out, "</g>");
}

void report_chart_overlap(scant__text *out, const report_view *view, chart_form form) {
    const report_results *r = view->r;
    size_t n = r->n_strategies;
    uint64_t labels;
    double most = 0;
    for (size_t a = 0; a < n; a++)
        for (size_t b = a + 1; b < n; b++)
            most = fmax(most, report_overlap_of(view, a, b, &labels)); /* not NaN */
    grid g = grid_begin(out, view, form, n, n, chart_longest_name(r, 14));
    chart_begin(&g.c, "overlap", "Overlap of what strategies had labelled",
                "Samples that both had labelled as a share of those that either had, in "
                "percent, over all seeds, at the most labels both have. The numbers are "
                "in overlap.csv.");
    if (form == CHART_FILE)
        chart_words(&g.c, 20, 30, "start", "heading", "Overlap of labelled samples, %",
                    60);
    for (size_t b = 0; b < n; b++)
        draw_column_name(&g, b, chart_look_of(r, b).colour, r->strategies[b].name);
    for (size_t a = 0; a < n; a++) {
        draw_row_name(&g, a, chart_look_of(r, a).colour, r->strategies[a].name);
        for (size_t b = 0; b < n; b++) draw_overlap(&g, view, a, b, most);
        scant__text_add(out, "\n");
    }
    chart_end(&g.c);
}

/* ---- classes ----------------------------------------------------------------------- */

bool report_has_balance(const report_view *view) {
    return view->m->n_labels > 1 && view->m->n_labels <= MOST_CELLS;
}

/* Blue where a class was picked less often than there are of it, orange where more; full
 * at a fourth and at four times. Without anything to compare with, blue by the share. */
static void draw_share(const grid *g, const report_view *view, size_t row, size_t label,
                       const char *who, double share, bool compare) {
    const double *balance = view->m->balance;
    double strength = fmin(1, share), times = 1;
    char number[32];
    if (compare && balance) {
        times = balance[label] > 0 ? share / balance[label] : share > 0 ? 4 : 1;
        strength = fmin(1, fabs(log2(fmax(times, 0.01))) / 2);
    }
    begin_cell(g, row, label, compare && balance && times > 1 ? 2 : 1,
               compare || !balance ? strength : 0);
    chart_title_begin(&g->c, who);
    scant__text_add(g->c.out, ", ");
    report_add_escaped(g->c.out, report_class_name(view->r, label, number));
    scant__text_add(g->c.out, ": ");
    report_add_fixed(g->c.out, 100 * share, 1);
    scant__text_add(g->c.out, " %");
    if (compare && balance && balance[label] > 0) {
        scant__text_add(g->c.out, ", ");
        report_add_fixed(g->c.out, times, 2);
        scant__text_add(g->c.out, " times its share of ");
        scant__text_add(g->c.out, view->m->balance_of);
    }
    chart_title_end(&g->c);
    cell_number(g, row, label, strength, 100 * share, g->cell_width < 44 ? 0 : 1);
    scant__text_add(g->c.out, "</g>");
}

static void draw_balance_row(const grid *g, const report_view *view, size_t row,
                             size_t s) {
    const report_results *r = view->r;
    size_t n = view->m->n_labels;
    const double *picked = &view->m->picked[s * n];
    double all = 0;
    for (size_t c = 0; c < n; c++) all += picked[c];
    draw_row_name(g, row, chart_look_of(r, s).colour, r->strategies[s].name);
    for (size_t c = 0; c < n && all > 0; c++)
        draw_share(g, view, row, c, r->strategies[s].name, picked[c] / all, true);
    scant__text_add(g->c.out, "\n");
}

void report_chart_balance(scant__text *out, const report_view *view, chart_form form) {
    const report_results *r = view->r;
    const report_measures *m = view->m;
    bool pool = m->balance && r->n_classes == m->n_labels && m->balance_of[0] == 't';
    size_t rows = r->n_strategies + pool, longest = 2;
    char number[32];
    for (size_t c = 0; c < m->n_labels; c++) {
        size_t size = 0;
        for (const char *at = report_class_name(r, c, number); *at; at++) size++;
        longest = size_max(longest, size);
    }
    grid g = grid_begin(out, view, form, rows, m->n_labels, longest);
    chart_begin(&g.c, "balance", "Share of each class in what strategies picked",
                "In percent, the initial set left out, over all seeds. Orange: more than "
                "the class's share to compare with; blue: less.");
    if (form == CHART_FILE)
        chart_words(&g.c, 20, 30, "start", "heading", "Classes among the picks, %", 60);
    for (size_t c = 0; c < m->n_labels; c++)
        draw_column_name(&g, c, 0, report_class_name(r, c, number));
    for (size_t s = 0; s < r->n_strategies; s++) draw_balance_row(&g, view, s, s);
    if (pool) {
        draw_row_name(&g, r->n_strategies, 0, "the pool");
        for (size_t c = 0; c < m->n_labels; c++)
            draw_share(&g, view, r->n_strategies, c, "the pool", m->balance[c], false);
    }
    chart_end(&g.c);
}
