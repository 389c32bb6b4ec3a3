/* SPDX-License-Identifier: Apache-2.0
 *
 * The tables of the page: what the charts show, in numbers.
 */
#include <inttypes.h>
#include <math.h>

#include "report/compare.h"
#include "report/page.h"
#include "scant/train.h"

static const char none[] = "<td class=\"soft\">\xe2\x80\x93</td>";

void page_add_name(scant__text *out, const report_view *view, size_t strategy) {
    scant__text_addf(out, "<span class=\"key k%u\"></span>",
                     chart_look_of(view->r, strategy).colour);
    report_add_escaped(out, view->r->strategies[strategy].name);
}

void page_add_amount(scant__text *out, const report_view *view, double value, bool sign) {
    if (sign && value > 0) scant__text_add(out, "+");
    if (view->r->regression)
        report_add_number(out, value);
    else
        report_add_fixed(out, value, 2);
}

void page_add_spread(scant__text *out, const report_view *view, double mean, double std) {
    page_add_amount(out, view, mean, false);
    scant__text_add(out, " <span class=\"soft\">\xc2\xb1 ");
    page_add_amount(out, view, std, false);
    scant__text_add(out, "</span>");
}

static double unit(const report_view *view) { return view->r->regression ? 1 : 100; }

static void begin(scant__text *out, const char *caption) {
    scant__text_addf(out,
                     "<div class=\"scroll\" tabindex=\"0\"><table><caption>%s</caption>"
                     "<thead><tr><th scope=\"col\">strategy</th>",
                     caption);
}

static void column(scant__text *out, const char *words) {
    scant__text_addf(out, "<th scope=\"col\">%s</th>", words);
}

static void body(scant__text *out) { scant__text_add(out, "</tr></thead><tbody>\n"); }

static void row(scant__text *out, const report_view *view, size_t strategy, bool top) {
    scant__text_addf(out, "<tr%s><th scope=\"row\">", top ? " class=\"top\"" : "");
    page_add_name(out, view, strategy);
    scant__text_add(out, "</th>");
}

static void end(scant__text *out) { scant__text_add(out, "</tbody></table></div>\n"); }

static void add_p(scant__text *out, double p) {
    if (isnan(p)) {
        scant__text_add(out, none);
    } else if (p < 0.0005) {
        scant__text_add(out, "<td>&lt; 0.001</td>");
    } else {
        scant__text_add(out, "<td>");
        report_add_fixed(out, p, 3);
        scant__text_add(out, "</td>");
    }
}

/* ---- areas and differences --------------------------------------------------------- */

static const scant_pair *pair_of(const report_view *view, size_t strategy) {
    for (size_t i = 0; i < view->n_pairs; i++)
        if (view->pairs[i].a == strategy) return &view->pairs[i];
    return NULL;
}

/* Colour and star say what holds after the correction: of many strategies one has an
 * interval without 0 by chance. */
static void add_difference(scant__text *out, const report_view *view,
                           const scant_pair *pair) {
    if (!pair) {
        scant__text_add(out, none);
        return;
    }
    if (!pair->seeds) {
        scant__text_addf(out, "<td class=\"soft\">%s</td>", report_why_not(pair));
        return;
    }
    const scant_difference *d = &pair->auc;
    bool sure = d->p_holm < 0.05,
         better = view->r->regression ? d->mean < 0 : d->mean > 0;
    scant__text_addf(out, "<td><span class=\"%s\">",
                     !sure    ? ""
                     : better ? "good"
                              : "bad");
    page_add_amount(out, view, d->mean, true);
    scant__text_add(out, sure ? "&#8201;*</span></td>" : "</span></td>");
}

const char *page_plural(size_t n) { return n == 1 ? "" : "s"; }

/* What the differences leave out, a sentence a strategy. */
void page_add_left_out(scant__text *out, const report_view *view) {
    for (size_t i = 0; i < view->n_pairs; i++) {
        const scant_pair *pair = &view->pairs[i];
        if (!pair->cut && !pair->others && !pair->unrelated) continue;
        scant__text_add(out, "<p class=\"note\">");
        page_add_name(out, view, pair->a);
        scant__text_add(out, ": ");
        if (pair->cut) {
            scant__text_addf(out, "compared from %" PRIu64 " to ", pair->from);
            if (pair->to_most > pair->to_least)
                scant__text_addf(out, "between %" PRIu64 " and ", pair->to_least);
            scant__text_addf(out,
                             "%" PRIu64 " labels, as far as both runs of a seed go. ",
                             pair->to_most);
        }
        if (pair->others)
            scant__text_addf(out,
                             "%zu seed%s left out: a run is shorter than others of its "
                             "strategy (not finished, maybe), or the two have no labels "
                             "in common beyond the first. ",
                             pair->others, page_plural(pair->others));
        if (pair->unrelated)
            scant__text_addf(
                out,
                "%zu seed%s left out: the two runs began with other samples, "
                "so they are not of one experiment.",
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
    begin(out,
          r->regression
              ? "Mean \xc2\xb1 standard deviation over runs; the end is where all of "
                "them have come to. *: p below 0.05, corrected by Holm."
              : "In percent: mean \xc2\xb1 standard deviation over runs; the end is "
                "where all of them have come to. *: p below 0.05, corrected by Holm.");
    column(out, r->regression ? "area under the error" : "area under the curve");
    column(out, r->regression ? "error in the end" : "accuracy in the end");
    if (view->n_pairs) column(out, "area, against random");
    column(out, "labels in the end");
    column(out, "runs");
    body(out);
    for (size_t s = 0; s < r->n_strategies; s++) {
        const report_level *last = &view->m->ends[s];
        row(out, view, s, s == best && r->n_strategies > 1);
        scant__text_add(out, "<td>");
        page_add_spread(out, view, unit(view) * view->m->areas[s].mean,
                        unit(view) * view->m->areas[s].std);
        scant__text_add(out, "</td><td>");
        page_add_spread(out, view, unit(view) * last->mean, unit(view) * last->std);
        scant__text_add(out, "</td>");
        if (view->n_pairs) add_difference(out, view, pair_of(view, s));
        scant__text_addf(out, "<td>%" PRIu64, last->labels);
        if (last->runs < r->strategies[s].n_runs)
            scant__text_addf(out, " <span class=\"soft\">(%zu of the runs)</span>",
                             last->runs);
        scant__text_addf(out, "</td><td>%zu</td></tr>\n", view->m->areas[s].n);
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
    begin(out, view->r->regression
                   ? "Strategy minus random, paired by seed; intervals each alone, p by "
                     "the paired t-test, corrected by Holm."
                   : "Strategy minus random in percentage points, paired by seed; "
                     "intervals each alone, p by the paired t-test, corrected by Holm.");
    column(out, "seeds");
    column(out, "area");
    column(out, "95 % interval");
    column(out, "p");
    column(out, "in the end");
    column(out, "95 % interval");
    column(out, "p");
    body(out);
    for (size_t i = 0; i < view->n_pairs; i++) {
        const scant_pair *pair = &view->pairs[i];
        row(out, view, pair->a, false);
        scant__text_addf(out, "<td>%zu</td>", pair->seeds);
        difference_cells(out, view, &pair->auc, pair->seeds);
        difference_cells(out, view, &pair->final, pair->seeds);
        scant__text_add(out, "</tr>\n");
    }
    end(out);
}

/* ---- curves ------------------------------------------------------------------------ */

/* The least number of labels from a bound on that any strategy has; false: none. */
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
    scant__text_addf(
        out,
        "<div class=\"scroll\" tabindex=\"0\"><table><caption>%s mean \xc2\xb1 "
        "standard deviation over runs.</caption><thead><tr><th scope=\"col\">"
        "labels</th>",
        r->regression ? "Test error:" : "Test accuracy in percent:");
    for (size_t s = 0; s < r->n_strategies; s++) {
        scant__text_add(out, "<th scope=\"col\">");
        page_add_name(out, view, s);
        scant__text_add(out, "</th>");
    }
    body(out);
    for (; next_labels(view, labels, &labels); labels++) {
        scant__text_addf(out, "<tr><th scope=\"row\">%" PRIu64 "</th>", labels);
        for (size_t s = 0; s < r->n_strategies; s++) {
            const report_level *l = report_level_at(&view->m->curves[s], labels);
            if (!l) {
                scant__text_add(out, none);
                continue;
            }
            scant__text_add(out, "<td>");
            page_add_spread(out, view, unit(view) * l->mean, unit(view) * l->std);
            scant__text_add(out, "</td>");
        }
        scant__text_add(out, "</tr>\n");
    }
    end(out);
}

/* ---- the rest ---------------------------------------------------------------------- */

void page_table_efficiency(scant__text *out, const report_view *view) {
    const report_curve *base = &view->m->wholes[view->baseline];
    double goal = view->m->ends[view->baseline].mean;
    double whole = report_labels_to_reach(view->r, base, goal);
    begin(out,
          "Of mean curves as far as all runs of a strategy go, between two points in "
          "a straight line.");
    column(out, "labels needed");
    column(out, "of random's");
    body(out);
    for (size_t s = 0; s < view->r->n_strategies; s++) {
        double needed = report_labels_to_reach(view->r, &view->m->wholes[s], goal);
        row(out, view, s, false);
        if (isnan(needed)) {
            scant__text_addf(out, "<td>not with %" PRIu64 "</td>%s</tr>\n",
                             view->m->ends[s].labels, none);
            continue;
        }
        scant__text_add(out, "<td>");
        report_add_fixed(out, needed, 0);
        scant__text_add(out, "</td><td>");
        report_add_fixed(out, whole > 0 ? 100 * needed / whole : 100, 0);
        scant__text_add(out, " %</td></tr>\n");
    }
    end(out);
}

void page_table_time(scant__text *out, const report_view *view) {
    begin(out, "Mean over runs.");
    column(out, "training");
    column(out, "selection");
    column(out, "selection, share");
    body(out);
    for (size_t s = 0; s < view->r->n_strategies; s++) {
        double train = view->m->train_seconds[s], pick = view->m->select_seconds[s];
        row(out, view, s, false);
        scant__text_add(out, "<td>");
        chart_add_seconds(out, train);
        scant__text_add(out, "</td><td>");
        chart_add_seconds(out, pick);
        scant__text_add(out, "</td><td>");
        report_add_fixed(out, train + pick > 0 ? 100 * pick / (train + pick) : 0, 1);
        scant__text_add(out, " %</td></tr>\n");
    }
    end(out);
}

void page_table_overlap(scant__text *out, const report_view *view) {
    size_t n = view->r->n_strategies;
    begin(out, "Intersection over union in percent, at the most labels that both have.");
    for (size_t s = 0; s < n; s++) {
        scant__text_add(out, "<th scope=\"col\">");
        page_add_name(out, view, s);
        scant__text_add(out, "</th>");
    }
    body(out);
    for (size_t a = 0; a < n; a++) {
        row(out, view, a, false);
        for (size_t b = 0; b < n; b++) {
            uint64_t labels;
            double iou = a == b ? (double)NAN : report_overlap_of(view, a, b, &labels);
            if (isnan(iou)) {
                scant__text_add(out, none);
                continue;
            }
            scant__text_add(out, "<td>");
            report_add_fixed(out, 100 * iou, 1);
            scant__text_add(out, "</td>");
        }
        scant__text_add(out, "</tr>\n");
    }
    end(out);
}

void page_table_balance(scant__text *out, const report_view *view) {
    const report_measures *m = view->m;
    char number[32];
    begin(out, "Share of each class among the picks, in percent.");
    for (size_t c = 0; c < m->n_labels; c++) {
        scant__text_add(out, "<th scope=\"col\">");
        report_add_escaped(out, report_class_name(view->r, c, number));
        scant__text_add(out, "</th>");
    }
    body(out);
    for (size_t s = 0; s < view->r->n_strategies; s++) {
        const double *picked = &m->picked[s * m->n_labels];
        double all = 0;
        for (size_t c = 0; c < m->n_labels; c++) all += picked[c];
        row(out, view, s, false);
        for (size_t c = 0; c < m->n_labels; c++) {
            scant__text_add(out, "<td>");
            report_add_fixed(out, all > 0 ? 100 * picked[c] / all : 0, 1);
            scant__text_add(out, "</td>");
        }
        scant__text_add(out, "</tr>\n");
    }
    end(out);
}

static void add_error(scant__text *out, const report_view *view,
                      const report_spread *error) {
    if (!error->n) {
        scant__text_add(out, none);
        return;
    }
    scant__text_add(out, "<td>");
    page_add_spread(out, view, 100 * error->mean, 100 * error->std);
    scant__text_add(out, "</td>");
}

void page_table_calibration(scant__text *out, const report_view *view) {
    begin(out, "Expected calibration error in percent: mean \xc2\xb1 standard deviation "
               "over runs, before and after scaling; T is the mean.");
    column(out, "before");
    column(out, "after");
    column(out, "T");
    column(out, "labels");
    column(out, "runs");
    body(out);
    for (size_t s = 0; s < view->r->n_strategies; s++) {
        const report_reliability *c = &view->m->reliability[s];
        row(out, view, s, false);
        add_error(out, view, &c->error[REPORT_BEFORE]);
        add_error(out, view, &c->error[REPORT_AFTER]);
        if (c->temperature.n) {
            scant__text_add(out, "<td>");
            report_add_fixed(out, c->temperature.mean, 2);
            scant__text_add(out, "</td>");
        } else {
            scant__text_add(out, none);
        }
        if (!c->runs)
            scant__text_add(out, none);
        else if (c->labels_least == c->labels_most)
            scant__text_addf(out, "<td>%" PRIu64 "</td>", c->labels_most);
        else
            scant__text_addf(out, "<td>%" PRIu64 " to %" PRIu64 "</td>", c->labels_least,
                             c->labels_most);
        scant__text_addf(out, "<td>%zu</td></tr>\n", c->runs);
    }
    end(out);
}

/* A strategy's mean at the first or last number of labels that has one. */
static void add_theory(scant__text *out, const report_curve *curve, bool last,
                       bool power) {
    if (!curve->n) {
        scant__text_add(out, none);
        return;
    }
    double mean = curve->levels[last ? curve->n - 1 : 0].mean;
    scant__text_add(out, "<td>");
    report_add_number(out, power ? pow(10, mean) : mean);
    scant__text_add(out, "</td>");
}

void page_table_theory(scant__text *out, const report_view *view) {
    begin(out, "Means over runs at the first and the last number of labels that have "
               "them, those of \xce\xbb geometric.");
    column(out, "\xce\xbb, first");
    column(out, "\xce\xbb, last");
    column(out, "R, first");
    column(out, "R, last");
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
        report_add_json(out, view->r->strategies[s].name);
        scant__text_addf(out, ",\"colour\":%u,\"points\":[",
                         chart_look_of(view->r, s).colour);
        for (size_t i = 0; i < curve->n; i++) {
            scant__text_addf(out, "%s[%" PRIu64 ",", i ? "," : "",
                             curve->levels[i].labels);
            report_add_number(out, curve->levels[i].mean);
            scant__text_add(out, ",");
            report_add_number(out, curve->levels[i].std);
            scant__text_addf(out, ",%zu]", curve->levels[i].runs);
        }
        scant__text_add(out, "]}");
    }
    scant__text_add(out, "]}</script>\n");
}
