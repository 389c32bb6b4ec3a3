/* SPDX-License-Identifier: Apache-2.0 */
#include "report/chart.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/size.h"

enum { COLOURS = 7, STYLES = 4 };

/* currentColor rather than variables: converters of SVG know it, too. */
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
    /* words need more contrast than lines do */
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

void chart_begin(chart *c, const char *name, const char *title, const char *about) {
    scant__text *out = c->out;
    bool file = c->form == CHART_FILE;
    scant__text_addf(
        out, "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart %s %s\" ", name,
        file                      ? "file"
        : c->form == CHART_NARROW ? "narrow"
                                  : "wide");
    if (file)
        scant__text_addf(out, "width=\"%d\" height=\"%d\" ", (int)c->width,
                         (int)c->height);
    scant__text_addf(out, "viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"",
                     (int)c->width, (int)c->height);
    report_add_escaped(out, title);
    scant__text_add(out, "\">");
    if (file) { /* in a page it would pop up over the whole chart */
        scant__text_add(out, "<title>");
        report_add_escaped(out, title);
        scant__text_add(out, "</title><style>");
        scant__text_add(out, report_chart_style);
        scant__text_add(out, "</style>");
        chart_box(c, "paper", 0, 0, c->width, c->height, 0);
    }
    scant__text_add(out, "<desc>");
    report_add_escaped(out, about);
    scant__text_add(out, "</desc>\n");
}

void chart_end(chart *c) { scant__text_add(c->out, "</svg>\n"); }

void chart_at(const chart *c, const char *attribute, double value) {
    scant__text_addf(c->out, " %s=\"", attribute);
    report_add_tenths(c->out, value);
    scant__text_add(c->out, "\"");
}

void chart_line(const chart *c, const char *class_name, double x1, double y1, double x2,
                double y2) {
    scant__text_addf(c->out, "<line class=\"%s\"", class_name);
    chart_at(c, "x1", x1);
    chart_at(c, "y1", y1);
    chart_at(c, "x2", x2);
    chart_at(c, "y2", y2);
    scant__text_add(c->out, "/>");
}

void chart_box(const chart *c, const char *class_name, double x, double y, double width,
               double height, double radius) {
    scant__text_addf(c->out, "<rect class=\"%s\"", class_name);
    chart_at(c, "x", x);
    chart_at(c, "y", y);
    chart_at(c, "width", fmax(width, 0));
    chart_at(c, "height", height);
    if (radius > 0) chart_at(c, "rx", radius);
    scant__text_add(c->out, "/>");
}

void chart_text(const chart *c, double x, double y, const char *anchor,
                const char *class_name) {
    scant__text_add(c->out, "<text");
    chart_at(c, "x", x);
    chart_at(c, "y", y);
    if (strcmp(anchor, "start") != 0)
        scant__text_addf(c->out, " text-anchor=\"%s\"", anchor);
    if (*class_name) scant__text_addf(c->out, " class=\"%s\"", class_name);
    scant__text_add(c->out, ">");
}

void chart_words(const chart *c, double x, double y, const char *anchor,
                 const char *class_name, const char *words, size_t most) {
    chart_text(c, x, y, anchor, class_name);
    chart_add_short(c->out, words, most);
    scant__text_add(c->out, "</text>");
}

/* Bytes that continue a character do not count as one. */
static size_t characters(const char *words) {
    size_t count = 0;
    for (; *words; words++) count += ((unsigned char)*words & 0xC0) != 0x80;
    return count;
}

void chart_add_short(scant__text *out, const char *words, size_t most) {
    char piece[512];
    size_t size = strlen(words), seen = 0, cut = 0;
    if (characters(words) <= most && size < sizeof piece) {
        report_add_escaped(out, words);
        return;
    }
    while (cut < size && cut < sizeof piece - 1) {
        bool starts = ((unsigned char)words[cut] & 0xC0) != 0x80;
        if (starts && seen++ == most - 1) break;
        cut++;
    }
    memcpy(piece, words, cut);
    piece[cut] = 0;
    report_add_escaped(out, piece);
    scant__text_add(out, "\xe2\x80\xa6");
}

void chart_title_begin(const chart *c, const char *name) {
    scant__text_add(c->out, "<title>");
    report_add_escaped(c->out, name);
}

void chart_title_end(const chart *c) { scant__text_add(c->out, "</title>"); }

/* ---- looks ------------------------------------------------------------------------- */

/* Also "random (folder)", of several folders. */
static bool is_random(const report_results *r, size_t strategy) {
    const char *name = r->strategies[strategy].name;
    return strcmp(name, "random") == 0 || strncmp(name, "random (", 8) == 0;
}

chart_look chart_look_of(const report_results *r, size_t strategy) {
    size_t randoms = 0;
    for (size_t i = 0; i < strategy; i++) randoms += is_random(r, i);
    if (is_random(r, strategy)) return (chart_look){0, (unsigned)(randoms % STYLES)};
    size_t place = strategy - randoms;
    return (chart_look){(unsigned)(1 + place % COLOURS),
                        (unsigned)(place / COLOURS % STYLES)};
}

const char *chart_dashes(chart_look look) {
    static const char *const dashes[STYLES] = {"", "7 5", "1.5 5", "9 4 1.5 4"};
    return dashes[look.style];
}

void chart_mark(scant__text *out, chart_look look, double x, double y, double size) {
    static const char *const shapes[STYLES] = {/* of size 10, around 0 */
                                               "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0z",
                                               "M-4.5-4.5h9v9h-9z", "M0-6l5.5 9.5h-11z",
                                               "M0-6l6 6l-6 6l-6-6z"};
    scant__text_add(out, "<path class=\"mark\" transform=\"translate(");
    report_add_tenths(out, x);
    scant__text_add(out, " ");
    report_add_tenths(out, y);
    scant__text_add(out, ")");
    if (size != 10) {
        scant__text_add(out, " scale(");
        report_add_fixed(out, size / 10, 2);
        scant__text_add(out, ")");
    }
    scant__text_addf(out, "\" d=\"%s\">", shapes[look.style]);
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
    if (!(a.high - a.low > 1e-9 * size)) { /* one value */
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

double chart_place(const chart_axis *a, double value) {
    return a->from + (value - a->low) / (a->high - a->low) * (a->to - a->from);
}

bool chart_tick(const chart_axis *a, size_t i, double *value) {
    *value = a->first + (double)i * a->step;
    return i < 100 && *value <= a->high + 1e-9 * a->step;
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
        longest = size_max(longest, characters(r->strategies[i].name));
    return size_min(longest, most);
}
