/* SPDX-License-Identifier: Apache-2.0 */
#include "report/chart.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/size.h"
#include "core/utf8.h"

enum { COLOURS = 7, STYLES = 4 };

/* currentColor instead of variables, which many SVG converters do not support. */
const char report_chart_style[] =
    ".chart{font-family:system-ui,-apple-system,\"Segoe UI\",Roboto,\"Helvetica Neue\","
    "Arial,sans-serif;font-size:13px;font-variant-numeric:tabular-nums}"
    ".chart text{fill:#1f2733}"
    ".chart .soft{fill:#5a6675}"
    ".chart .small{font-size:11px}"
    ".chart .tiny{font-size:9.5px}"
    ".chart .strong{font-weight:600}"
    ".chart .own{fill:currentColor}"
    ".chart .heading{font-size:17px;font-weight:650}"
    ".chart .grid{stroke:#e4e8ee;stroke-width:1}"
    ".chart .axis{stroke:#b6bfcb;stroke-width:1}"
    ".chart .zero{stroke:#5a6675;stroke-width:1.5}"
    ".chart .lead{stroke:currentColor;stroke-width:1;opacity:.35;fill:none}"
    ".chart .band{fill:currentColor;opacity:.13}"
    ".chart .line{stroke:currentColor;stroke-width:2.25;fill:none;"
    "stroke-linejoin:round;stroke-linecap:round}"
    ".chart .mark{fill:currentColor;stroke:#fff;stroke-width:1}"
    ".chart .dot{fill:currentColor;opacity:.4}"
    ".chart .whisker{stroke:currentColor;stroke-width:2;stroke-linecap:round}"
    ".chart .bar{fill:currentColor}"
    ".chart .track{fill:#eef1f5}"
    ".chart .paper{fill:#fff}"
    ".chart .onto{fill:#fff}"
    ".chart .empty{fill:#f3f5f8}"
    ".k0{color:#6b7684}.k1{color:#0072b2}.k2{color:#c4510a}.k3{color:#00835f}"
    ".k4{color:#a64d86}.k5{color:#b57700}.k6{color:#2a8fc7}.k7{color:#7d7300}"
    /* text needs more contrast than lines */
    "@media(prefers-color-scheme:light){.chart .k5 .own{fill:#946000}"
    ".chart .k6 .own{fill:#1c76a8}}"
    "@media(prefers-color-scheme:dark){"
    ".chart text{fill:#e8edf4}.chart .soft{fill:#9fabba}.chart .own{fill:currentColor}"
    ".chart .grid{stroke:#2a323d}.chart .axis{stroke:#4c5767}.chart .zero{stroke:#9fabba}"
    ".chart .mark{stroke:#171c23}.chart .track{fill:#232b35}.chart .paper{fill:#171c23}"
    ".chart .onto{fill:#10141a}.chart .empty{fill:#1e252e}.chart .band{opacity:.18}"
    ".k0{color:#a3aebb}.k1{color:#4aa8e8}.k2{color:#ff8a4c}.k3{color:#2fc796}"
    ".k4{color:#e391c3}.k5{color:#f2b134}.k6{color:#8bd3ff}.k7{color:#e6da4a}}"
    "@media print{.chart .band{opacity:.2}}";

/* ---- elements ---------------------------------------------------------------------- */

void chart_begin(const chart *c, const char *name, const char *heading, const char *title,
                 const char *about) {
    static const char *const forms[] = {
        [CHART_WIDE] = "wide", [CHART_NARROW] = "narrow", [CHART_FILE] = "file"};
    scant__text *out = c->out;
    int width = (int)c->width, height = (int)c->height;
    report_addf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart %s %s\" ",
                name, forms[c->form]);
    if (c->form == CHART_FILE)
        report_addf(out, "width=\"%d\" height=\"%d\" ", width, height);
    report_addf(out, "viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\">", width,
                height, title);
    if (c->form == CHART_FILE) { /* in a page a title would pop up over the whole chart */
        report_addf(out, "<title>%s</title><style>", title);
        scant__text_add(out, report_chart_style);
        scant__text_add(out, "</style>");
        chart_box(c, "paper", 0, 0, c->width, c->height, 0);
        chart_text(c, 20, 30, "start", "heading", heading, 80);
    }
    report_addf(out, "<desc>%s</desc>\n", about);
}

void chart_end(const chart *c) { scant__text_add(c->out, "</svg>\n"); }

void chart_line(const chart *c, const char *class_name, double x1, double y1, double x2,
                double y2) {
    report_addf(c->out, "<line class=\"%s\" x1=\"%f\" y1=\"%f\" x2=\"%f\" y2=\"%f\"/>",
                class_name, x1, y1, x2, y2);
}

void chart_box(const chart *c, const char *class_name, double x, double y, double width,
               double height, double radius) {
    report_addf(c->out, "<rect class=\"%s\" x=\"%f\" y=\"%f\" width=\"%f\" height=\"%f\"",
                class_name, x, y, fmax(width, 0), height);
    if (radius > 0) report_addf(c->out, " rx=\"%f\"", radius);
    scant__text_add(c->out, "/>");
}

void chart_text_begin(const chart *c, double x, double y, const char *anchor,
                      const char *class_name) {
    report_addf(c->out, "<text x=\"%f\" y=\"%f\"", x, y);
    if (strcmp(anchor, "start") != 0) report_addf(c->out, " text-anchor=\"%s\"", anchor);
    if (*class_name) report_addf(c->out, " class=\"%s\"", class_name);
    scant__text_add(c->out, ">");
}

static void add_short(scant__text *out, const char *words, size_t most) {
    char piece[512];
    size_t size = strlen(words), cut = 0;
    uint32_t code;
    if (scant__utf8_count(words, size) <= most && size < sizeof piece) {
        report_add_escaped(out, words);
        return;
    }
    for (size_t seen = 1; seen < most && cut < size; seen++) {
        size_t step = scant__utf8_next(words + cut, size - cut, &code);
        if (cut + step >= sizeof piece) break;
        cut += step;
    }
    memcpy(piece, words, cut);
    piece[cut] = 0;
    report_add_escaped(out, piece);
    scant__text_add(out, "\xe2\x80\xa6");
}

void chart_text(const chart *c, double x, double y, const char *anchor,
                const char *class_name, const char *words, size_t most) {
    chart_text_begin(c, x, y, anchor, class_name);
    add_short(c->out, words, most);
    scant__text_add(c->out, "</text>");
}

/* ---- series ------------------------------------------------------------------------ */

/* Also "random (folder)", of several folders. */
static bool is_random(const report_results *r, size_t strategy) {
    const char *name = r->strategies[strategy].name;
    return strcmp(name, "random") == 0 || strncmp(name, "random (", 8) == 0;
}

chart_style chart_style_of(const report_results *r, size_t strategy) {
    size_t randoms = 0;
    for (size_t i = 0; i < strategy; i++) randoms += is_random(r, i);
    if (is_random(r, strategy)) return (chart_style){0, (unsigned)(randoms % STYLES)};
    size_t place = strategy - randoms;
    return (chart_style){(unsigned)(1 + place % COLOURS),
                         (unsigned)(place / COLOURS % STYLES)};
}

const char *chart_dashes(chart_style style) {
    static const char *const dashes[STYLES] = {"", "7 5", "1.5 5", "9 4 1.5 4"};
    return dashes[style.shape];
}

void chart_path_begin(scant__text *out, chart_style style) {
    const char *dashes = chart_dashes(style);
    scant__text_add(out, "<path class=\"line\"");
    if (*dashes) report_addf(out, " stroke-dasharray=\"%s\"", dashes);
    scant__text_add(out, " d=\"");
}

void chart_mark(scant__text *out, chart_style style, double x, double y, double size) {
    static const char *const shapes[STYLES] = {/* of size 10, around 0 */
                                               "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0z",
                                               "M-4.5-4.5h9v9h-9z", "M0-6l5.5 9.5h-11z",
                                               "M0-6l6 6l-6 6l-6-6z"};
    report_addf(out, "<path class=\"mark\" transform=\"translate(%f %f)", x, y);
    if (size != 10) report_addf(out, " scale(%.2f)", size / 10);
    report_addf(out, "\" d=\"%s\">", shapes[style.shape]);
}

void chart_key(const chart *c, chart_style style, double x, double y, const char *words) {
    report_addf(c->out, "<g class=\"k%u\">", style.colour);
    chart_path_begin(c->out, style);
    report_addf(c->out, "M%f %fh28\"/></g>", x, y);
    chart_text(c, x + 36, y + 4.5, "start", "", words, 60);
    scant__text_add(c->out, "\n");
}

/* ---- axes -------------------------------------------------------------------------- */

/* 1, 2 or 5 times a power of ten. */
static double round_step(double span, int ticks) {
    double raw = span / ticks, power = pow(10, floor(log10(raw)));
    double part = raw / power;
    return power * (part <= 1 ? 1 : part <= 2 ? 2 : part <= 5 ? 5 : 10);
}

chart_axis chart_axis_of(double low, double high, double from, double to, int ticks,
                         bool round) {
    chart_axis a = {.low = low, .high = high, .from = from, .to = to};
    double size = fmax(fabs(low), fabs(high));
    if (!(a.high - a.low > 1e-9 * size)) { /* a single value */
        double room = size > 0 ? size / 10 : 1;
        a.low -= room;
        a.high += room;
    }
    a.step = round_step(a.high - a.low, ticks);
    if (round) { /* to half a tick */
        double half = a.step / 2;
        a.low = half * floor(a.low / half + 1e-9);
        a.high = half * ceil(a.high / half - 1e-9);
    }
    a.first = a.step * ceil(a.low / a.step - 1e-9);
    double digits = ceil(-log10(a.step) - 1e-9);
    a.decimals = digits > 0 ? digits < 9 ? (int)digits : 9 : 0;
    return a;
}

double chart_pixel(const chart_axis *a, double value) {
    return a->from + (value - a->low) / (a->high - a->low) * (a->to - a->from);
}

/* Tick i; false past the last. */
static bool find_tick(const chart_axis *a, size_t i, double *value) {
    *value = a->first + (double)i * a->step;
    return i < 100 && *value <= a->high + 1e-9 * a->step;
}

static void add_label(scant__text *out, const chart_axis *a, double value) {
    if (a->labels == CHART_POWERS) { /* two digits, but 250 instead of 2.5e+02 */
        double unit = pow(10, floor(value) - 1);
        scant__text_number(out, round(pow(10, value) / unit) * unit, 6);
    } else if (a->labels == CHART_COUNTS || fabs(a->high) >= 1e4) {
        chart_add_count(out, value);
    } else {
        report_add_fixed(out, value, a->decimals);
    }
    scant__text_add(out, a->labels == CHART_PERCENT ? "%</text>" : "</text>");
}

void chart_draw_x(const chart *c, const chart_axis *x, double top, double bottom,
                  const char *words) {
    double value;
    for (size_t i = 0; find_tick(x, i, &value); i++) {
        double at = chart_pixel(x, value);
        chart_line(c, "grid", at, top, at, bottom + 4);
        chart_text_begin(c, at, bottom + 19, "middle", "soft");
        add_label(c->out, x, value);
    }
    if (*words)
        chart_text(c, (x->from + x->to) / 2, bottom + 38, "middle", "soft", words, 80);
    scant__text_add(c->out, "\n");
}

void chart_draw_y(const chart *c, const chart_axis *y, double left, double right,
                  const char *words) {
    double value;
    for (size_t i = 0; find_tick(y, i, &value); i++) {
        double at = chart_pixel(y, value);
        chart_line(c, "grid", left, at, right, at);
        chart_text_begin(c, left - 8, at + 4, "end", "soft");
        add_label(c->out, y, value);
    }
    chart_line(c, "axis", left, y->from, right, y->from);
    if (*words) chart_text(c, 4, y->to - 14, "start", "soft", words, 60);
    scant__text_add(c->out, "\n");
}

void chart_add_count(scant__text *out, double value) {
    if (fabs(value) >= 1e15) {
        report_add_number(out, value);
    } else if (fabs(value) >= 1e6) {
        report_add_number(out, round(value / 1e4) / 100);
        scant__text_add(out, " M");
    } else if (fabs(value) >= 1e4) {
        report_add_number(out, round(value / 10) / 100);
        scant__text_add(out, " k");
    } else {
        report_add_number(out, round(value));
    }
}

void chart_add_seconds(scant__text *out, double seconds) {
    static const struct {
        double below, unit;
        int decimals;
        const char *name;
    } units[] = {{0.9995, 1e-3, 0, " ms"}, {9.95, 1, 1, " s"},    {99.5, 1, 0, " s"},
                 {597, 60, 1, " min"},     {5970, 60, 0, " min"}, {35820, 3600, 1, " h"},
                 {INFINITY, 3600, 0, " h"}};
    size_t i = seconds > 0 ? 0 : 2;
    while (seconds >= units[i].below && i + 1 < sizeof units / sizeof *units) i++;
    report_add_fixed(out, seconds / units[i].unit, units[i].decimals);
    scant__text_add(out, units[i].name);
}

size_t chart_longest_name(const report_results *r, size_t most) {
    size_t longest = 1;
    for (size_t i = 0; i < r->n_strategies; i++)
        longest = size_max(longest, scant__utf8_count(r->strategies[i].name,
                                                      strlen(r->strategies[i].name)));
    return size_min(longest, most);
}
