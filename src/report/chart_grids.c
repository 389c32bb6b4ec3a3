/* SPDX-License-Identifier: Apache-2.0
 *
 * Charts that are grids of cells: the overlap of each pair of strategies, and the share
 * of each class among a strategy's picks.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/size.h"
#include "report/chart.h"

enum { MOST_CELLS = 64 };
static const double PI_4 = 0.70710678118654752; /* sine of 45 degrees */

typedef struct grid {
    chart c;
    double left, top, cell_width, cell_height;
    const char *digits; /* CSS class of numbers in cells; NULL: no room for them */
} grid;

static grid grid_begin(scant__text *out, const report_view *view, chart_form form,
                       size_t rows, size_t columns, size_t longest) {
    bool narrow = form == CHART_NARROW;
    grid g = {.c = {out, form, narrow ? 380 : 1000, 0}};
    size_t most = narrow ? 13 : 26;
    double name = narrow ? 6.6 : 8.2;
    g.left = name * (double)chart_longest_name(view->r, most) + 20;
    /* column names rise at 45 degrees; the last one reaches beyond its column */
    double rise = PI_4 * name * (double)size_min(longest, 14) + 16;
    double head = form == CHART_FILE ? 44 : 0;
    g.top = head + rise + 4;
    double room = g.c.width - g.left - (narrow ? rise * 0.75 : rise);
    g.cell_width = fmin(narrow ? 44 : 68, room / (double)columns);
    g.cell_height = fmin(narrow ? 30 : 36, fmax(16, g.cell_width));
    g.c.height = g.top + g.cell_height * (double)rows + 12;
    g.digits = g.cell_width >= 34 ? "" : g.cell_width >= 26 ? "small" : "tiny";
    if (g.cell_width < 19) g.digits = NULL;
    if (!narrow) /* centred */
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
    report_addf(g->c.out, "<g class=\"k%u\" transform=\"translate(%f %f) rotate(-45)\">",
                colour, column_at(g, column) + g->cell_width / 2 + 3, g->top - 7);
    chart_text(&g->c, 0, 0, "start",
               g->c.form == CHART_NARROW ? "own strong small" : "own strong", name, 14);
    scant__text_add(g->c.out, "</g>");
}

static void draw_row_name(const grid *g, size_t row, unsigned colour, const char *name) {
    bool narrow = g->c.form == CHART_NARROW;
    report_addf(g->c.out, "<g class=\"k%u\">", colour);
    chart_text(&g->c, g->left - 10, row_at(g, row) + g->cell_height / 2 + 4.5, "end",
               narrow ? "own strong small" : "own strong", name, narrow ? 13 : 26);
    scant__text_add(g->c.out, "</g>");
}

/* Begins a cell; strength: the opacity of its colour, 0 to 1. The caller adds a title and
 * "</g>". */
static void begin_cell(const grid *g, size_t row, size_t column, unsigned colour,
                       double strength) {
    double gap = g->cell_width > 12 ? 1.5 : 0.5;
    double x = column_at(g, column) + gap, y = row_at(g, row) + gap;
    double width = g->cell_width - 2 * gap, height = g->cell_height - 2 * gap;
    report_addf(g->c.out, "<g class=\"cell k%u\">", colour);
    chart_box(&g->c, "empty", x, y, width, height, 3);
    if (!(strength > 0)) return;
    report_addf(g->c.out, "<g fill-opacity=\"%.3f\">", strength);
    chart_box(&g->c, "bar", x, y, width, height, 3);
    scant__text_add(g->c.out, "</g>");
}

static void cell_number(const grid *g, size_t row, size_t column, double strength,
                        double value, int decimals) {
    if (!g->digits) return;
    report_addf(
        g->c.out,
        "<text x=\"%f\" y=\"%f\" text-anchor=\"middle\" class=\"%s%s\">%.*f</text>",
        column_at(g, column) + g->cell_width / 2, row_at(g, row) + g->cell_height / 2 + 4,
        g->digits, strength > 0.6 ? " onto" : "", decimals, value);
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

/* most: the largest overlap, which has the strongest colour. */
static void draw_overlap(const grid *g, const report_view *view, size_t a, size_t b,
                         double most) {
    const report_results *r = view->r;
    uint64_t labels = 0;
    double iou = a == b ? 1 : report_overlap_of(view, a, b, &labels);
    double strength = a == b ? 0.18 : most > 0 && iou > 0 ? 0.9 * iou / most : 0;
    bool own = a == b;
    begin_cell(g, a, b, own ? 0 : 1, strength);
    if (!own && !isnan(iou)) {
        report_addf(g->c.out,
                    "<title>%s and %s: %.1f %% in common at %" PRIu64 " labels</title>",
                    r->strategies[a].name, r->strategies[b].name, 100 * iou, labels);
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
            most = fmax(most, report_overlap_of(view, a, b, &labels)); /* skips NaN */
    grid g = grid_begin(out, view, form, n, n, chart_longest_name(r, 14));
    chart_begin(&g.c, "overlap", "Overlap of labelled samples, %",
                "Overlap of the labelled samples of two strategies",
                "Intersection over union of the labelled sets, in percent, over all "
                "seeds, at the most labels that both have. The numbers are in "
                "overlap.csv.");
    for (size_t b = 0; b < n; b++)
        draw_column_name(&g, b, chart_style_of(r, b).colour, r->strategies[b].name);
    for (size_t a = 0; a < n; a++) {
        draw_row_name(&g, a, chart_style_of(r, a).colour, r->strategies[a].name);
        for (size_t b = 0; b < n; b++) draw_overlap(&g, view, a, b, most);
        scant__text_add(out, "\n");
    }
    chart_end(&g.c);
}

/* ---- classes among the picks ------------------------------------------------------- */

bool report_has_balance(const report_view *view) {
    return view->m->n_labels > 1 && view->m->n_labels <= MOST_CELLS;
}

/* Draws the share of a class. With compare, the cell is orange if the share is above the
 * class's share in `balance` and blue if below, in full colour from a factor of four;
 * without compare it has no colour. If there is no `balance`, the cell is blue, and its
 * opacity is the share. */
static void draw_share(const grid *g, const report_view *view, size_t row, size_t label,
                       const char *who, double share, bool compare) {
    const double *balance = view->m->balance;
    double strength = fmin(1, share), times = 1;
    char number[32];
    if (compare && balance) {
        times = balance[label] > 0 ? share / balance[label] : share > 0 ? 4 : 1;
        strength = fmin(1, fabs(log2(fmax(times, 0.01))) / 2);
    }
    if (!compare && balance)
        strength = 0; /* the pool's row is what others compare with */
    begin_cell(g, row, label, compare && balance && times > 1 ? 2 : 1, strength);
    report_addf(g->c.out, "<title>%s, %s: %.1f %%", who,
                report_class_name(view->r, label, number), 100 * share);
    if (compare && balance && balance[label] > 0)
        report_addf(g->c.out, ", %.2f times its share of %s", times, view->m->balance_of);
    scant__text_add(g->c.out, "</title>");
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
    draw_row_name(g, row, chart_style_of(r, s).colour, r->strategies[s].name);
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
    for (size_t c = 0; c < m->n_labels; c++)
        longest = size_max(longest, strlen(report_class_name(r, c, number)));
    grid g = grid_begin(out, view, form, rows, m->n_labels, longest);
    chart_begin(&g.c, "balance", "Classes among the picks, %",
                "Share of each class among a strategy's picks",
                "In percent, without the initial set, over all seeds. Orange: more than "
                "the share to compare with; blue: less.");
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
