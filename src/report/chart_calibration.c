/* SPDX-License-Identifier: Apache-2.0
 *
 * Reliability diagrams, one a strategy, side by side: accuracy by confidence, before
 * scaling (dashes) and after (a line).
 */
#include <math.h>
#include <stdio.h>

#include "core/size.h"
#include "report/chart.h"
#include "scant/train.h"

enum { MOST_PANELS = 64, LEGEND = 30, NAMES = 44, UNDER = 46 };

typedef struct panel {
    chart *c;
    const report_view *view;
    size_t strategy;
    double left, top; /* of all of it */
    chart_axis x, y;  /* in percent */
} panel;

bool report_has_calibration(const report_view *view) {
    bool any = false;
    for (size_t s = 0; s < view->r->n_strategies; s++)
        any = any || view->m->reliability[s].runs;
    return any && view->r->n_strategies <= MOST_PANELS;
}

static void add_error(scant__text *out, const report_reliability *c) {
    scant__text_add(out, "error ");
    report_add_fixed(out, 100 * c->error[REPORT_BEFORE].mean, 2);
    if (c->error[REPORT_AFTER].n) {
        scant__text_add(out, " \xe2\x86\x92 ");
        report_add_fixed(out, 100 * c->error[REPORT_AFTER].mean, 2);
    }
    scant__text_add(out, " %");
}

static void draw_axes(const panel *p) {
    double value;
    for (size_t i = 0; chart_tick(&p->x, i, &value); i++) {
        double x = chart_place(&p->x, value), y = chart_place(&p->y, value);
        chart_line(p->c, "grid", x, p->y.from, x, p->y.to);
        chart_line(p->c, "grid", p->x.from, y, p->x.to, y);
        chart_text(p->c, x, p->y.from + 14, "middle", "soft small");
        scant__text_addf(p->c->out, "%.0f</text>", value);
        chart_text(p->c, p->x.from - 6, y + 4, "end", "soft small");
        scant__text_addf(p->c->out, "%.0f</text>", value);
    }
    chart_line(p->c, "axis", p->x.from, p->y.from, p->x.to, p->y.to);
    chart_words(p->c, (p->x.from + p->x.to) / 2, p->y.from + 29, "middle", "soft small",
                "confidence, %", 20);
    scant__text_add(p->c->out, "<g transform=\"translate(");
    report_add_tenths(p->c->out, p->left + 11);
    scant__text_add(p->c->out, " ");
    report_add_tenths(p->c->out, (p->y.from + p->y.to) / 2);
    scant__text_add(p->c->out, ") rotate(-90)\">");
    chart_words(p->c, 0, 0, "middle", "soft small", "accuracy, %", 20);
    scant__text_add(p->c->out, "</g>\n");
}

static void draw_dot(const panel *p, uint32_t when, const report_bin *bin, double share) {
    scant__text *out = p->c->out;
    scant__text_addf(out, "<circle class=\"%s\"", when == REPORT_AFTER ? "mark" : "dot");
    chart_at(p->c, "cx", chart_place(&p->x, 100 * bin->confidence));
    chart_at(p->c, "cy", chart_place(&p->y, 100 * bin->accuracy));
    chart_at(p->c, "r", 2 + 5 * sqrt(share));
    scant__text_add(out, ">");
    chart_title_begin(p->c, p->view->r->strategies[p->strategy].name);
    scant__text_add(out, when == REPORT_AFTER ? ", after: " : ", before: ");
    scant__text_add(out, "confidence ");
    report_add_fixed(out, 100 * bin->confidence, 1);
    scant__text_add(out, " %, accuracy ");
    report_add_fixed(out, 100 * bin->accuracy, 1);
    scant__text_add(out, " %, ");
    report_add_fixed(out, 100 * share, 1);
    scant__text_add(out, " % of the samples");
    chart_title_end(p->c);
    scant__text_add(out, "</circle>");
}

static void draw_diagram(const panel *p, uint32_t when) {
    const report_reliability *c = &p->view->m->reliability[p->strategy];
    scant__text *out = p->c->out;
    bool first = true;
    if (!c->error[when].n) return;
    scant__text_addf(out, "<path class=\"line\"%s d=\"",
                     when == REPORT_AFTER ? ""
                                          : " stroke-dasharray=\"3 5\" opacity=\".6\"");
    for (size_t b = 0; b < SCANT_CALIBRATION_BINS; b++) {
        const report_bin *bin = &c->bins[when][b];
        if (!(bin->count > 0)) continue;
        scant__text_add(out, first ? "M" : "L");
        report_add_tenths(out, chart_place(&p->x, 100 * bin->confidence));
        scant__text_add(out, " ");
        report_add_tenths(out, chart_place(&p->y, 100 * bin->accuracy));
        first = false;
    }
    scant__text_add(out, "\"/>");
    for (size_t b = 0; b < SCANT_CALIBRATION_BINS; b++)
        if (c->bins[when][b].count > 0)
            draw_dot(p, when, &c->bins[when][b], c->bins[when][b].count / c->count[when]);
}

static void draw_panel(const panel *p) {
    const report_results *r = p->view->r;
    scant__text_addf(p->c->out, "<g class=\"panel k%u\">",
                     chart_look_of(r, p->strategy).colour);
    chart_words(p->c, p->x.from, p->top + 15, "start", "own strong",
                r->strategies[p->strategy].name, p->c->form == CHART_NARROW ? 16 : 24);
    chart_text(p->c, p->x.from, p->top + 32, "start", "soft small");
    add_error(p->c->out, &p->view->m->reliability[p->strategy]);
    scant__text_add(p->c->out, "</text>");
    draw_axes(p);
    draw_diagram(p, REPORT_BEFORE);
    draw_diagram(p, REPORT_AFTER);
    scant__text_add(p->c->out, "</g>\n");
}

/* What dashes and line are. */
static void draw_legend(const chart *c, double left, double top, bool scaled) {
    static const struct {
        const char *attributes, *words;
    } lines[] = {{" stroke-dasharray=\"3 5\" opacity=\".6\"", "before scaling"},
                 {"", "after scaling"}};
    for (size_t i = 0; i < 1 + (size_t)scaled; i++) {
        double x = left + 160 * (double)i;
        scant__text_addf(c->out, "<g class=\"k0\"><path class=\"line\"%s d=\"M",
                         lines[i].attributes);
        report_add_tenths(c->out, x);
        scant__text_add(c->out, " ");
        report_add_tenths(c->out, top + 10);
        scant__text_add(c->out, "h28\"/></g>");
        chart_words(c, x + 36, top + 14.5, "start", "", lines[i].words, 20);
    }
    scant__text_add(c->out, "\n");
}

void report_chart_calibration(scant__text *out, const report_view *view,
                              chart_form form) {
    bool narrow = form == CHART_NARROW, scaled = false;
    double head = form == CHART_FILE ? 46 : 0, side = narrow ? 128 : 190;
    double wide = narrow ? 188 : 248, tall = NAMES + side + UNDER;
    size_t n = 0, columns = narrow ? 2 : 4, at = 0;
    for (size_t s = 0; s < view->r->n_strategies; s++) {
        n += view->m->reliability[s].runs > 0;
        scaled = scaled || view->m->reliability[s].error[REPORT_AFTER].n;
    }
    columns = size_min(columns, n);
    size_t rows = (n + columns - 1) / columns;
    chart c = {out, form, narrow ? 380 : 1000, head + LEGEND + tall * (double)rows};
    double left = (c.width - wide * (double)columns) / 2;
    chart_begin(&c, "calibration", "Calibration: accuracy by confidence",
                "A reliability diagram a strategy, on the test set, before and after "
                "scaling by a temperature. On the diagonal confidence is accuracy. The "
                "numbers are in calibration.csv.");
    if (form == CHART_FILE)
        chart_words(&c, 20, 30, "start", "heading", "Calibration", 40);
    draw_legend(&c, left + 46, head, scaled);
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
