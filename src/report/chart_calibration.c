/* SPDX-License-Identifier: Apache-2.0
 *
 * Reliability diagrams, one for each strategy, side by side: accuracy by confidence,
 * before scaling (dashed) and after (solid).
 */
#include <math.h>

#include "core/size.h"
#include "report/chart.h"

enum { MOST_PANELS = 64, LEGEND = 30, NAMES = 44, UNDER = 46 };

typedef struct panel {
    const chart *c;
    const report_view *view;
    size_t strategy;
    double left, top; /* corner of the whole panel */
    chart_axis x, y;  /* in percent */
} panel;

bool report_has_calibration(const report_view *view) {
    bool any = false;
    for (size_t s = 0; s < view->r->n_strategies; s++)
        any = any || view->m->reliability[s].runs;
    return any && view->r->n_strategies <= MOST_PANELS;
}

static void draw_axes(const panel *p) {
    chart_draw_x(p->c, &p->x, p->y.to, p->y.from, "confidence, %");
    chart_draw_y(p->c, &p->y, p->x.from, p->x.to, "");
    chart_line(p->c, "axis", p->x.from, p->y.from, p->x.to, p->y.to);
    chart_text_up(p->c, p->left + 11, (p->y.from + p->y.to) / 2, "accuracy, %");
}

static void draw_dot(const panel *p, uint32_t when, const report_bin *bin, double share) {
    bool after = when == REPORT_AFTER;
    report_addf(p->c->out,
                "<circle class=\"%s\" cx=\"%f\" cy=\"%f\" r=\"%f\"><title>%s, %s: "
                "confidence %.1f %%, accuracy %.1f %%, %.1f %% of the samples</title>"
                "</circle>",
                after ? "mark" : "dot", chart_pixel(&p->x, 100 * bin->confidence),
                chart_pixel(&p->y, 100 * bin->accuracy), 2 + 5 * sqrt(share),
                p->view->r->strategies[p->strategy].name, after ? "after" : "before",
                100 * bin->confidence, 100 * bin->accuracy, 100 * share);
}

/* Dashed before scaling, solid after. */
static chart_style style_of(uint32_t when) {
    return (chart_style){0, when == REPORT_AFTER ? 0 : 1};
}

static void draw_diagram(const panel *p, uint32_t when) {
    const report_reliability *c = &p->view->m->reliability[p->strategy];
    const char *command = "M";
    if (!c->error[when].n) return;
    chart_path_begin(p->c->out, style_of(when));
    for (size_t b = 0; b < SCANT_CALIBRATION_BINS; b++) {
        const report_bin *bin = &c->bins[when][b];
        if (!(bin->count > 0)) continue;
        report_addf(p->c->out, "%s%f %f", command,
                    chart_pixel(&p->x, 100 * bin->confidence),
                    chart_pixel(&p->y, 100 * bin->accuracy));
        command = "L";
    }
    scant__text_add(p->c->out, "\"/>");
    for (size_t b = 0; b < SCANT_CALIBRATION_BINS; b++)
        if (c->bins[when][b].count > 0)
            draw_dot(p, when, &c->bins[when][b], c->bins[when][b].count / c->count[when]);
}

static void draw_panel(const panel *p) {
    const report_results *r = p->view->r;
    const report_spread *error = p->view->m->reliability[p->strategy].error;
    scant__text *out = p->c->out;
    report_addf(out, "<g class=\"panel k%u\">", chart_style_of(r, p->strategy).colour);
    chart_text(p->c, p->x.from, p->top + 15, "start", "own strong",
               r->strategies[p->strategy].name, p->c->form == CHART_NARROW ? 16 : 24);
    chart_text_begin(p->c, p->x.from, p->top + 32, "start", "soft small");
    report_addf(out, "error %.2f", 100 * error[REPORT_BEFORE].mean);
    if (error[REPORT_AFTER].n)
        report_addf(out, " \xe2\x86\x92 %.2f", 100 * error[REPORT_AFTER].mean);
    scant__text_add(out, " %</text>");
    draw_axes(p);
    draw_diagram(p, REPORT_BEFORE);
    draw_diagram(p, REPORT_AFTER);
    scant__text_add(out, "</g>\n");
}

void report_chart_calibration(scant__text *out, const report_view *view,
                              chart_form form) {
    bool narrow = form == CHART_NARROW, scaled = false;
    double head = form == CHART_FILE ? 46 : 0, side = narrow ? 128 : 190;
    double wide = narrow ? 188 : 248, tall = NAMES + side + UNDER;
    size_t n = 0, at = 0;
    for (size_t s = 0; s < view->r->n_strategies; s++) {
        n += view->m->reliability[s].runs > 0;
        scaled = scaled || view->m->reliability[s].error[REPORT_AFTER].n;
    }
    size_t columns = size_min(narrow ? 2 : 4, n), rows = (n + columns - 1) / columns;
    chart c = {out, form, narrow ? 380 : 1000, head + LEGEND + tall * (double)rows};
    double left = (c.width - wide * (double)columns) / 2;
    chart_begin(&c, "calibration", "Calibration", "Calibration: accuracy by confidence",
                "A reliability diagram for each strategy, on the test set, before and "
                "after temperature scaling. On the diagonal, confidence equals accuracy. "
                "The numbers are in calibration.csv.");
    chart_key(&c, style_of(REPORT_BEFORE), left + 46, head + 10, "before scaling");
    if (scaled)
        chart_key(&c, style_of(REPORT_AFTER), left + 206, head + 10, "after scaling");
    for (size_t s = 0; s < view->r->n_strategies; s++) {
        if (!view->m->reliability[s].runs) continue;
        panel p = {.c = &c, .view = view, .strategy = s};
        p.left = left + wide * (double)(at % columns);
        p.top = head + LEGEND + tall * (double)(at / columns);
        double bottom = p.top + NAMES + side;
        p.x = chart_axis_of(0, 100, p.left + 46, p.left + 46 + side, 5, false);
        p.y = chart_axis_of(0, 100, bottom, bottom - side, 5, false);
        draw_panel(&p);
        at++;
    }
    chart_end(&c);
}
