/* SPDX-License-Identifier: Apache-2.0 */
#include "report/chart.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/size.h"
#include "core/utf8.h"

enum { COLOURS = 7, STYLES = 4 };

/* Uses currentColor, since many SVG converters do not support CSS variables. */
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
    ".chart .mark{stroke:#171c23}.chart .paper{fill:#171c23}"
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
    if (c->form == CHART_FILE) { /* a page would show <title> as a tooltip */
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

/* Returns the size in bytes of the first `characters` characters, or of all if there are
 * fewer. */
static size_t bytes_of(const char *words, size_t size, size_t characters) {
    uint32_t code;
    size_t at = 0;
    while (characters-- && at < size)
        at += scant__utf8_next(words + at, size - at, &code);
    return at;
}

void chart_text(const chart *c, double x, double y, const char *anchor,
                const char *class_name, const char *words, size_t most) {
    size_t size = strlen(words);
    bool fits = bytes_of(words, size, most) == size;
    chart_text_begin(c, x, y, anchor, class_name);
    report_addf(c->out, "%.*s", (int)(fits ? size : bytes_of(words, size, most - 1)),
                words);
    scant__text_add(c->out, fits ? "</text>" : "\xe2\x80\xa6</text>");
}

void chart_text_up(const chart *c, double x, double y, const char *words) {
    report_addf(c->out, "<g transform=\"translate(%f %f) rotate(-90)\">", x, y);
    chart_text(c, 0, 0, "middle", "soft", words, 80);
    scant__text_add(c->out, "</g>\n");
}

/* ---- series ------------------------------------------------------------------------ */

/* Also true for "random (folder)", a name in merged results. */
static bool is_random(const report_results *r, size_t strategy) {
    const char *name = r->strategies[strategy].name;
    return strcmp(name, "random") == 0 || strncmp(name, "random (", 8) == 0;
}

chart_style chart_style_number(size_t i) {
    return (chart_style){(unsigned)(1 + i % COLOURS), (unsigned)(i / COLOURS % STYLES)};
}

chart_style chart_style_of(const report_results *r, size_t strategy) {
    size_t randoms = 0;
    for (size_t i = 0; i < strategy; i++) randoms += is_random(r, i);
    if (is_random(r, strategy)) return (chart_style){0, (unsigned)(randoms % STYLES)};
    return chart_style_number(strategy - randoms);
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

const char *chart_shape(chart_style style) {
    static const char *const shapes[STYLES] = {"m-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0z",
                                               "m-4.5-4.5h9v9h-9z", "m0-6l5.5 9.5h-11z",
                                               "m0-6l6 6l-6 6l-6-6z"};
    return shapes[style.shape];
}

void chart_mark(scant__text *out, chart_style style, double x, double y, double size) {
    report_addf(out, "<path class=\"mark\" transform=\"translate(%f %f)", x, y);
    if (size != 10) report_addf(out, " scale(%.2f)", size / 10);
    report_addf(out, "\" d=\"%s\">", chart_shape(style));
}

void chart_key(const chart *c, chart_style style, double x, double y, const char *words) {
    report_addf(c->out, "<g class=\"k%u\">", style.colour);
    chart_path_begin(c->out, style);
    report_addf(c->out, "M%f %fh28\"/></g>", x, y);
    chart_text(c, x + 36, y + 4.5, "start", "", words, 60);
    scant__text_add(c->out, "\n");
}

/* ---- axes -------------------------------------------------------------------------- */

/* Returns a tick distance of 1, 2 or 5 times a power of ten. */
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

/* Sets *value to tick i. False: i is past the last tick. */
static bool find_tick(const chart_axis *a, size_t i, double *value) {
    *value = a->first + (double)i * a->step;
    return i < 100 && *value <= a->high + 1e-9 * a->step;
}

static void add_label(scant__text *out, const chart_axis *a, double value) {
    if (a->labels == CHART_POWERS) { /* two significant digits: 250, not 2.5e+02 */
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
    double size = fabs(value);
    if (size < 1e4)
        report_add_number(out, round(value));
    else if (size < 1e6)
        report_addf(out, "%g k", round(value / 10) / 100);
    else if (size < 1e15)
        report_addf(out, "%g M", round(value / 1e4) / 100);
    else
        report_add_number(out, value);
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
    report_addf(out, "%.*f%s", units[i].decimals, seconds / units[i].unit, units[i].name);
}

size_t chart_longest_name(const report_results *r, size_t most) {
    size_t longest = 1;
    for (size_t i = 0; i < r->n_strategies; i++)
        longest = size_max(longest, scant__utf8_count(r->strategies[i].name,
                                                      strlen(r->strategies[i].name)));
    return size_min(longest, most);
}
