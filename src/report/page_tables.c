/* SPDX-License-Identifier: Apache-2.0
 *
 * The tables of report.html: the numbers of its charts.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/json.h"
#include "report/compare.h"
#include "report/page.h"
#include "scant/train.h"

static const char none[] = "<td class=\"soft\">\xe2\x80\x93</td>";

void page_add_name(scant__text *out, const report_view *view, size_t strategy) {
    report_addf(out, "<span class=\"key k%u\"></span>%s",
                chart_style_of(view->r, strategy).colour,
                view->r->strategies[strategy].name);
}

void page_add_amount(scant__text *out, const report_view *view, double value, bool sign) {
    if (sign && value > 0) scant__text_add(out, "+");
    report_addf(out, view->r->regression ? "%g" : "%.2f", value);
}

void page_add_spread(scant__text *out, const report_view *view, double mean, double std) {
    page_add_amount(out, view, mean, false);
    scant__text_add(out, " <span class=\"soft\">\xc2\xb1 ");
    page_add_amount(out, view, std, false);
    scant__text_add(out, "</span>");
}

static double unit(const report_view *view) { return view->r->regression ? 1 : 100; }

/* columns: the headings after the first one, separated by '|'. */
static void begin(scant__text *out, const char *caption, const char *columns) {
    report_addf(out,
                "<div class=\"scroll\" tabindex=\"0\"><table><caption>%s</caption>"
                "<thead><tr><th scope=\"col\">strategy</th>",
                caption);
    while (*columns) {
        size_t length = strcspn(columns, "|");
        scant__text_add(out, "<th scope=\"col\">");
        scant__text_bytes(out, columns, length);
        scant__text_add(out, "</th>");
        columns += length + (columns[length] == '|');
    }
}

static void strategy_columns(scant__text *out, const report_view *view) {
    for (size_t s = 0; s < view->r->n_strategies; s++) {
        scant__text_add(out, "<th scope=\"col\">");
        page_add_name(out, view, s);
        scant__text_add(out, "</th>");
    }
}

static void body(scant__text *out) { scant__text_add(out, "</tr></thead><tbody>\n"); }

static void row(scant__text *out, const report_view *view, size_t strategy, bool top) {
    scant__text_add(out, top ? "<tr class=\"top\"><th scope=\"row\">"
                             : "<tr><th scope=\"row\">");
    page_add_name(out, view, strategy);
    scant__text_add(out, "</th>");
}

static void end(scant__text *out) { scant__text_add(out, "</tbody></table></div>\n"); }

/* A cell with a number of so many decimals (-1: six digits), or a dash for NaN. */
static void cell(scant__text *out, double value, int decimals, const char *unit) {
    if (isnan(value)) {
        scant__text_add(out, none);
        return;
    }
    scant__text_add(out, "<td>");
    if (decimals < 0)
        report_add_number(out, value);
    else
        report_add_fixed(out, value, decimals);
    report_addf(out, "%s</td>", unit);
}

static void spread_cell(scant__text *out, const report_view *view, double mean,
                        double std) {
    scant__text_add(out, "<td>");
    page_add_spread(out, view, mean, std);
    scant__text_add(out, "</td>");
}

static void add_p(scant__text *out, double p) {
    if (p < 0.0005)
        scant__text_add(out, "<td>&lt; 0.001</td>");
    else
        cell(out, p, 3, "");
}

/* ---- areas and differences --------------------------------------------------------- */

static const scant_pair *pair_of(const report_view *view, size_t strategy) {
    for (size_t i = 0; i < view->n_pairs; i++)
        if (view->pairs[i].a == strategy) return &view->pairs[i];
    return NULL;
}

/* Colour and star mark differences that are significant after the correction. */
static void add_difference(scant__text *out, const report_view *view,
                           const scant_pair *pair) {
    if (!pair) {
        scant__text_add(out, none);
        return;
    }
    if (!pair->seeds) {
        report_addf(out, "<td class=\"soft\">%s</td>", report_why_not(pair));
        return;
    }
    const scant_difference *d = &pair->auc;
    bool significant = d->p_holm < 0.05;
    bool better = view->r->regression ? d->mean < 0 : d->mean > 0;
    report_addf(out, "<td><span class=\"%s\">",
                !significant ? ""
                : better     ? "good"
                             : "bad");
    page_add_amount(out, view, d->mean, true);
    scant__text_add(out, significant ? "&#8201;*</span></td>" : "</span></td>");
}

const char *page_plural(size_t n) { return n == 1 ? "" : "s"; }

/* A sentence for each strategy of which labels or seeds are left out. */
void page_add_left_out(scant__text *out, const report_view *view) {
    for (size_t i = 0; i < view->n_pairs; i++) {
        const scant_pair *pair = &view->pairs[i];
        if (!pair->cut && !pair->others && !pair->unrelated) continue;
        scant__text_add(out, "<p class=\"note\">");
        page_add_name(out, view, pair->a);
        scant__text_add(out, ": ");
        if (pair->cut) {
            report_addf(out, "compared from %" PRIu64 " to ", pair->from);
            if (pair->to_most > pair->to_least)
                report_addf(out, "between %" PRIu64 " and ", pair->to_least);
            report_addf(out, "%" PRIu64 " labels, as far as both runs of a seed go. ",
                        pair->to_most);
        }
        if (pair->others)
            report_addf(
                out,
                "%zu seed%s left out: a run is shorter than others of its "
                "strategy (maybe not finished), or the two runs have no labels in "
                "common beyond the first. ",
                pair->others, page_plural(pair->others));
        if (pair->unrelated)
            report_addf(out,
                        "%zu seed%s left out: the two runs began with other samples, so "
                        "they belong to different experiments.",
                        pair->unrelated, page_plural(pair->unrelated));
        scant__text_add(out, "</p>\n");
    }
}

size_t page_best_area(const report_view *view) {
    size_t best = 0;
    for (size_t s = 1; s < view->r->n_strategies; s++) {
        double lead = view->m->areas[s].mean - view->m->areas[best].mean;
        if (view->r->regression ? lead < 0 : lead > 0) best = s;
    }
    return best;
}

void page_table_areas(scant__text *out, const report_view *view) {
    const report_results *r = view->r;
    size_t best = page_best_area(view);
    begin(
        out,
        r->regression
            ? "Mean \xc2\xb1 standard deviation over runs; final: at the last number of "
              "labels that all of them have. *: p below 0.05, corrected by Holm."
            : "In percent: mean \xc2\xb1 standard deviation over runs; final: at the "
              "last "
              "number of labels that all of them have. *: p below 0.05, corrected by "
              "Holm.",
        r->regression ? "area under the error|final error"
                      : "area under the curve|final accuracy");
    scant__text_add(out,
                    view->n_pairs ? "<th scope=\"col\">area, against random</th>" : "");
    scant__text_add(out,
                    "<th scope=\"col\">final labels</th><th scope=\"col\">runs</th>");
    body(out);
    for (size_t s = 0; s < r->n_strategies; s++) {
        const report_level *last = &view->m->ends[s];
        const report_spread *area = &view->m->areas[s];
        row(out, view, s, s == best && r->n_strategies > 1);
        spread_cell(out, view, unit(view) * area->mean, unit(view) * area->std);
        spread_cell(out, view, unit(view) * last->mean, unit(view) * last->std);
        if (view->n_pairs) add_difference(out, view, pair_of(view, s));
        report_addf(out, "<td>%" PRIu64, last->labels);
        if (last->runs < r->strategies[s].n_runs)
            report_addf(out, " <span class=\"soft\">(%zu of the runs)</span>",
                        last->runs);
        report_addf(out, "</td><td>%zu</td></tr>\n", area->n);
    }
    end(out);
}

static void difference_cells(scant__text *out, const report_view *view,
                             const scant_difference *d, size_t seeds) {
    if (!seeds) {
        scant__text_addf(out, "%s%s%s", none, none, none);
        return;
    }
    scant__text_add(out, "<td>");
    page_add_amount(out, view, d->mean, true);
    scant__text_add(out, "</td>");
    if (isnan(d->low)) {
        scant__text_add(out,
                        seeds < 2 ? none : "<td class=\"soft\">all seeds alike</td>");
        add_p(out, d->p_holm);
        return;
    }
    scant__text_add(out, "<td>");
    page_add_amount(out, view, d->low, true);
    scant__text_add(out, " to ");
    page_add_amount(out, view, d->high, true);
    scant__text_add(out, "</td>");
    add_p(out, d->p_holm);
}

void page_table_differences(scant__text *out, const report_view *view) {
    begin(out,
          view->r->regression
              ? "Strategy minus random, paired by seed; uncorrected intervals, p by the "
                "paired t-test, corrected by Holm."
              : "Strategy minus random in percentage points, paired by seed; uncorrected "
                "intervals, p by the paired t-test, corrected by Holm.",
          "seeds|area|95 % interval|p|final|95 % interval|p");
    body(out);
    for (size_t i = 0; i < view->n_pairs; i++) {
        const scant_pair *pair = &view->pairs[i];
        row(out, view, pair->a, false);
        report_addf(out, "<td>%zu</td>", pair->seeds);
        difference_cells(out, view, &pair->auc, pair->seeds);
        difference_cells(out, view, &pair->final, pair->seeds);
        scant__text_add(out, "</tr>\n");
    }
    end(out);
}

/* ---- curves ------------------------------------------------------------------------ */

/* The least number of labels, at least `from`, that any strategy has; false: none. */
static bool next_labels(const report_view *view, uint64_t from, uint64_t *out) {
    bool found = false;
    for (size_t s = 0; s < view->r->n_strategies; s++) {
        const report_curve *curve = &view->m->curves[s];
        size_t at = report_level_from(curve, from);
        if (at == curve->n) continue;
        if (!found || curve->levels[at].labels < *out) *out = curve->levels[at].labels;
        found = true;
    }
    return found;
}

void page_table_curves(scant__text *out, const report_view *view) {
    const report_results *r = view->r;
    uint64_t labels = 0;
    report_addf(out,
                "<div class=\"scroll\" tabindex=\"0\"><table><caption>%s mean \xc2\xb1 "
                "standard deviation over runs.</caption><thead><tr><th scope=\"col\">"
                "labels</th>",
                r->regression ? "Test error:" : "Test accuracy in percent:");
    strategy_columns(out, view);
    body(out);
    for (; next_labels(view, labels, &labels); labels++) {
        report_addf(out, "<tr><th scope=\"row\">%" PRIu64 "</th>", labels);
        for (size_t s = 0; s < r->n_strategies; s++) {
            const report_level *l = report_level_at(&view->m->curves[s], labels);
            if (l)
                spread_cell(out, view, unit(view) * l->mean, unit(view) * l->std);
            else
                scant__text_add(out, none);
        }
        scant__text_add(out, "</tr>\n");
    }
    end(out);
}

/* ---- the other tables -------------------------------------------------------------- */

void page_table_efficiency(scant__text *out, const report_view *view) {
    const report_curve *base = &view->m->wholes[view->baseline];
    double goal = view->m->ends[view->baseline].mean;
    double whole = report_labels_to_reach(view->r, base, goal);
    begin(out,
          "From mean curves as far as all runs of a strategy go, interpolated linearly.",
          "labels needed|relative to random");
    body(out);
    for (size_t s = 0; s < view->r->n_strategies; s++) {
        double needed = report_labels_to_reach(view->r, &view->m->wholes[s], goal);
        row(out, view, s, false);
        if (isnan(needed))
            report_addf(out, "<td>not with %" PRIu64 "</td>", view->m->ends[s].labels);
        else
            cell(out, needed, 0, "");
        cell(out, isnan(needed) || whole > 0 ? 100 * needed / whole : 100, 0, " %");
        scant__text_add(out, "</tr>\n");
    }
    end(out);
}

void page_table_time(scant__text *out, const report_view *view) {
    begin(out, "Mean over runs.", "training|selection|selection, share");
    body(out);
    for (size_t s = 0; s < view->r->n_strategies; s++) {
        double train = view->m->train_seconds[s], pick = view->m->select_seconds[s];
        row(out, view, s, false);
        scant__text_add(out, "<td>");
        chart_add_seconds(out, train);
        scant__text_add(out, "</td><td>");
        chart_add_seconds(out, pick);
        scant__text_add(out, "</td>");
        cell(out, train + pick > 0 ? 100 * pick / (train + pick) : 0, 1, " %");
        scant__text_add(out, "</tr>\n");
    }
    end(out);
}

void page_table_overlap(scant__text *out, const report_view *view) {
    size_t n = view->r->n_strategies;
    begin(out, "Intersection over union in percent, at the most labels that both have.",
          "");
    strategy_columns(out, view);
    body(out);
    for (size_t a = 0; a < n; a++) {
        row(out, view, a, false);
        for (size_t b = 0; b < n; b++) {
            uint64_t labels;
            double iou = a == b ? (double)NAN : report_overlap_of(view, a, b, &labels);
            cell(out, 100 * iou, 1, "");
        }
        scant__text_add(out, "</tr>\n");
    }
    end(out);
}

void page_table_balance(scant__text *out, const report_view *view) {
    const report_measures *m = view->m;
    char number[32];
    begin(out, "Share of each class among the picks, in percent.", "");
    for (size_t c = 0; c < m->n_labels; c++)
        report_addf(out, "<th scope=\"col\">%s</th>",
                    report_class_name(view->r, c, number));
    body(out);
    for (size_t s = 0; s < view->r->n_strategies; s++) {
        const double *picked = &m->picked[s * m->n_labels];
        double all = 0;
        for (size_t c = 0; c < m->n_labels; c++) all += picked[c];
        row(out, view, s, false);
        for (size_t c = 0; c < m->n_labels; c++)
            cell(out, all > 0 ? 100 * picked[c] / all : 0, 1, "");
        scant__text_add(out, "</tr>\n");
    }
    end(out);
}

void page_table_calibration(scant__text *out, const report_view *view) {
    begin(out,
          "Expected calibration error in percent: mean \xc2\xb1 standard deviation over "
          "runs, before and after scaling; T is the mean.",
          "before|after|T|labels|runs");
    body(out);
    for (size_t s = 0; s < view->r->n_strategies; s++) {
        const report_reliability *c = &view->m->reliability[s];
        row(out, view, s, false);
        for (size_t when = 0; when < REPORT_WHENS; when++)
            if (c->error[when].n)
                spread_cell(out, view, 100 * c->error[when].mean,
                            100 * c->error[when].std);
            else
                scant__text_add(out, none);
        cell(out, c->temperature.n ? c->temperature.mean : (double)NAN, 2, "");
        if (!c->runs)
            scant__text_add(out, none);
        else if (c->labels_least == c->labels_most)
            report_addf(out, "<td>%" PRIu64 "</td>", c->labels_most);
        else
            report_addf(out, "<td>%" PRIu64 " to %" PRIu64 "</td>", c->labels_least,
                        c->labels_most);
        report_addf(out, "<td>%zu</td></tr>\n", c->runs);
    }
    end(out);
}

/* A strategy's mean at the first or the last of its numbers of labels. */
static void add_theory(scant__text *out, const report_curve *curve, bool last,
                       bool power) {
    double mean = curve->n ? curve->levels[last ? curve->n - 1 : 0].mean : (double)NAN;
    cell(out, power ? pow(10, mean) : mean, -1, "");
}

void page_table_theory(scant__text *out, const report_view *view) {
    begin(out,
          "Means over runs at the first and the last number of labels; geometric means "
          "for \xce\xbb.",
          "\xce\xbb, first|\xce\xbb, last|R, first|R, last");
    body(out);
    for (size_t s = 0; s < view->r->n_strategies; s++) {
        row(out, view, s, false);
        for (size_t i = 0; i < 2 * REPORT_THEORIES; i++)
            add_theory(out, &view->m->theory[i / 2][s], i % 2, i / 2 == REPORT_LAMBDA);
        scant__text_add(out, "</tr>\n");
    }
    end(out);
}

void page_add_data(scant__text *out, const report_view *view) {
    scant__text_addf(out,
                     "<script type=\"application/json\" id=\"data\">{\"regression\":%s,"
                     "\"series\":[",
                     view->r->regression ? "true" : "false");
    for (size_t s = 0; s < view->r->n_strategies; s++) {
        const report_curve *curve = &view->m->curves[s];
        scant__text_add(out, s ? ",\n{\"name\":" : "\n{\"name\":");
        scant__text_json_script(out, view->r->strategies[s].name);
        scant__text_addf(out, ",\"colour\":%u,\"points\":[",
                         chart_style_of(view->r, s).colour);
        for (size_t i = 0; i < curve->n; i++) {
            scant__text_addf(out, "%s[%" PRIu64 ",", i ? "," : "",
                             curve->levels[i].labels);
            report_addf(out, "%g,%g,%zu]", curve->levels[i].mean, curve->levels[i].std,
                        curve->levels[i].runs);
        }
        scant__text_add(out, "]}");
    }
    scant__text_add(out, "]}</script>\n");
}
