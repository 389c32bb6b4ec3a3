/* SPDX-License-Identifier: Apache-2.0
 *
 * The tables of report.html: the numbers of its charts.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/json.h"
#include "report/page.h"

enum { TRAININGS = 50 }; /* most rows of the table of trainings */

static const char none[] = "<td class=\"soft\">\xe2\x80\x93</td>";

void page_add_name(scant__text *out, const report_view *view, size_t strategy) {
    report_addf(out, "<span class=\"key k%u\"></span>%s",
                chart_style_of(view->r, strategy).colour,
                view->r->strategies[strategy].name);
}

/* Begins a table. columns: headings, separated by '|'. */
static void begin(scant__text *out, const char *caption, const char *columns) {
    report_addf(out,
                "<div class=\"scroll\" tabindex=\"0\"><table><caption>%s</caption>"
                "<thead><tr>",
                caption);
    while (*columns) {
        size_t length = strcspn(columns, "|");
        scant__text_add(out, "<th scope=\"col\">");
        scant__text_bytes(out, columns, length);
        scant__text_add(out, "</th>");
        columns += length + (columns[length] == '|');
    }
}

static void begin_rows(scant__text *out) {
    scant__text_add(out, "</tr></thead><tbody>\n");
}

static void begin_row(scant__text *out, const report_view *view, size_t strategy,
                      bool top) {
    scant__text_add(out, top ? "<tr class=\"top\"><th scope=\"row\">"
                             : "<tr><th scope=\"row\">");
    page_add_name(out, view, strategy);
    scant__text_add(out, "</th>");
}

static void end_row(scant__text *out) { scant__text_add(out, "</tr>\n"); }

static void end(scant__text *out) { scant__text_add(out, "</tbody></table></div>\n"); }

/* Adds the cells of a strategy's row. */
typedef void (*add_cells)(scant__text *out, const report_view *view, size_t s);

/* Adds a row for each strategy, and ends the table. */
static void add_rows(scant__text *out, const report_view *view, add_cells cells) {
    begin_rows(out);
    for (size_t s = 0; s < view->r->n_strategies; s++) {
        begin_row(out, view, s, false);
        cells(out, view, s);
        end_row(out);
    }
    end(out);
}

static void strategy_columns(scant__text *out, const report_view *view) {
    for (size_t s = 0; s < view->r->n_strategies; s++) {
        scant__text_add(out, "<th scope=\"col\">");
        page_add_name(out, view, s);
        scant__text_add(out, "</th>");
    }
}

/* Adds a cell with a number (decimals -1: six digits), or a dash for NaN. */
static void cell(scant__text *out, double value, int decimals, const char *unit) {
    if (isnan(value))
        scant__text_add(out, none);
    else
        report_addf(out, "<td>%.*f%s</td>", decimals, value, unit);
}

/* Adds a cell with mean and deviation: accuracies in percent, or errors; then a mark. */
static void spread_cell(scant__text *out, const report_view *view, double mean,
                        double std, const char *mark) {
    int decimals = report_decimals(view->r);
    double unit = report_unit(view->r);
    report_addf(out, "<td>%.*f <span class=\"soft\">\xc2\xb1 %.*f</span>%s</td>",
                decimals, unit * mean, decimals, unit * std, mark);
}

/* ---- means with a collapsed training ----------------------------------------------- */

static const char *mark(bool collapsed) { return collapsed ? " \xe2\x80\xa0" : ""; }

/* Explains the mark in a caption, if a table may have it. */
static const char *mark_note(const report_view *view) {
    return view->m->trainings.collapsed
               ? " \xe2\x80\xa0: with a run whose training collapsed."
               : "";
}

/* Whether a mean at that number of labels includes a run whose training collapsed. */
static bool has_collapsed(const report_strategy *strategy, uint64_t labels) {
    for (size_t i = 0; i < strategy->n_runs; i++) {
        const report_point *point = report_point_at(&strategy->runs[i], labels);
        if (point && report_collapsed(point)) return true;
    }
    return false;
}

/* The same for means over whole curves. */
static bool any_collapsed(const report_strategy *strategy) {
    for (size_t i = 0; i < strategy->n_runs; i++)
        for (size_t k = 0; k < strategy->runs[i].n_points; k++)
            if (report_collapsed(&strategy->runs[i].points[k])) return true;
    return false;
}

/* ---- areas and differences --------------------------------------------------------- */

const scant_pair *page_pair_of(const report_view *view, size_t strategy) {
    for (size_t i = 0; i < view->n_pairs; i++)
        if (view->pairs[i].a == strategy) return &view->pairs[i];
    return NULL;
}

/* Colour and star mark differences that are significant after the correction. */
static void add_difference(scant__text *out, const report_view *view,
                           const scant_pair *pair) {
    if (!pair) {
        scant__text_add(out, none);
    } else if (!pair->seeds) {
        report_addf(out, "<td class=\"soft\">%s</td>", report_why_not(pair));
    } else {
        const scant_difference *d = &pair->auc;
        bool significant = d->p_holm < 0.05;
        bool better = view->r->regression ? d->mean < 0 : d->mean > 0;
        const char *colour = !significant ? "" : better ? "good" : "bad";
        report_addf(out, "<td><span class=\"%s\">%+.*f", colour, report_decimals(view->r),
                    d->mean);
        scant__text_add(out, significant ? "&#8201;*</span></td>" : "</span></td>");
    }
}

const char *page_plural(size_t n) { return n == 1 ? "" : "s"; }

/* Adds a note for each comparison from which labels or seeds are left out. */
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
    char columns[160], caption[240];
    snprintf(columns, sizeof columns,
             "strategy|area under the %s|final %s%s|final labels|runs",
             r->regression ? "error" : "curve", r->regression ? "error" : "accuracy",
             view->n_pairs ? "|area, against random" : "");
    snprintf(caption, sizeof caption,
             "%s \xc2\xb1 standard deviation over runs; final: at the last number of "
             "labels that all of them have. *: p below 0.05, corrected by Holm.%s",
             r->regression ? "Mean" : "In percent: mean", mark_note(view));
    begin(out, caption, columns);
    begin_rows(out);
    for (size_t s = 0; s < r->n_strategies; s++) {
        const report_level *last = &view->m->ends[s];
        const report_spread *area = &view->m->areas[s];
        begin_row(out, view, s, s == best && r->n_strategies > 1);
        spread_cell(out, view, area->mean, area->std,
                    mark(any_collapsed(&r->strategies[s])));
        spread_cell(out, view, last->mean, last->std,
                    mark(has_collapsed(&r->strategies[s], last->labels)));
        if (view->n_pairs) add_difference(out, view, page_pair_of(view, s));
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
    int decimals = report_decimals(view->r);
    if (!seeds) {
        scant__text_addf(out, "%s%s%s", none, none, none);
        return;
    }
    report_addf(out, "<td>%+.*f</td>", decimals, d->mean);
    if (!isnan(d->low))
        report_addf(out, "<td>%+.*f to %+.*f</td>", decimals, d->low, decimals, d->high);
    else
        scant__text_add(out, seeds < 2 ? none : "<td class=\"soft\">no spread</td>");
    if (d->p_holm < 0.0005)
        scant__text_add(out, "<td>&lt; 0.001</td>");
    else
        cell(out, d->p_holm, 3, "");
}

void page_table_differences(scant__text *out, const report_view *view) {
    begin(out,
          view->r->regression
              ? "Strategy minus random, paired by seed; uncorrected intervals, p by the "
                "paired t-test, corrected by Holm."
              : "Strategy minus random in percentage points, paired by seed; uncorrected "
                "intervals, p by the paired t-test, corrected by Holm.",
          "strategy|seeds|area|95 % interval|p|final|95 % interval|p");
    begin_rows(out);
    for (size_t i = 0; i < view->n_pairs; i++) {
        const scant_pair *pair = &view->pairs[i];
        begin_row(out, view, pair->a, false);
        report_addf(out, "<td>%zu</td>", pair->seeds);
        difference_cells(out, view, &pair->auc, pair->seeds);
        difference_cells(out, view, &pair->final, pair->seeds);
        end_row(out);
    }
    end(out);
}

/* ---- curves ------------------------------------------------------------------------ */

/* Sets *out to the least number of labels >= from that any strategy has. False: none. */
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

static void curve_cell(scant__text *out, const report_view *view, size_t s,
                       uint64_t labels) {
    const report_level *l = report_level_at(&view->m->curves[s], labels);
    if (!l)
        scant__text_add(out, none);
    else
        spread_cell(out, view, l->mean, l->std,
                    mark(has_collapsed(&view->r->strategies[s], labels)));
}

void page_table_curves(scant__text *out, const report_view *view) {
    const report_results *r = view->r;
    uint64_t labels = 0;
    char caption[200];
    snprintf(caption, sizeof caption, "%s: mean \xc2\xb1 standard deviation over runs.%s",
             r->regression ? "Test error" : "Test accuracy in percent", mark_note(view));
    begin(out, caption, "labels");
    strategy_columns(out, view);
    begin_rows(out);
    for (; next_labels(view, labels, &labels); labels++) {
        report_addf(out, "<tr><th scope=\"row\">%" PRIu64 "</th>", labels);
        for (size_t s = 0; s < r->n_strategies; s++) curve_cell(out, view, s, labels);
        end_row(out);
    }
    end(out);
}

/* ---- the other tables -------------------------------------------------------------- */

static void efficiency_cells(scant__text *out, const report_view *view, size_t s) {
    double needed = report_needed(view, s), whole = report_needed(view, view->baseline);
    if (isnan(needed))
        report_addf(out, "<td>not with %" PRIu64 "</td>", view->m->ends[s].labels);
    else
        cell(out, needed, 0, "");
    cell(out, isnan(needed) || whole > 0 ? 100 * needed / whole : 100, 0, " %");
}

void page_table_efficiency(scant__text *out, const report_view *view) {
    begin(out,
          "From mean curves over the labels that all runs of a strategy have, "
          "interpolated linearly.",
          "strategy|labels needed|relative to random");
    add_rows(out, view, efficiency_cells);
}

static void time_cells(scant__text *out, const report_view *view, size_t s) {
    double train = view->m->train_seconds[s], pick = view->m->select_seconds[s];
    scant__text_add(out, "<td>");
    chart_add_seconds(out, train);
    scant__text_add(out, "</td><td>");
    chart_add_seconds(out, pick);
    scant__text_add(out, "</td>");
    cell(out, train + pick > 0 ? 100 * pick / (train + pick) : 0, 1, " %");
}

void page_table_time(scant__text *out, const report_view *view) {
    begin(out, "Mean over runs.", "strategy|training|selection|selection, share");
    add_rows(out, view, time_cells);
}

static void overlap_cells(scant__text *out, const report_view *view, size_t a) {
    for (size_t b = 0; b < view->r->n_strategies; b++) {
        uint64_t labels;
        cell(out, a == b ? (double)NAN : 100 * report_overlap_of(view, a, b, &labels), 1,
             "");
    }
}

void page_table_overlap(scant__text *out, const report_view *view) {
    begin(out, "Intersection over union in percent, at the most labels that both have.",
          "strategy");
    strategy_columns(out, view);
    add_rows(out, view, overlap_cells);
}

static void balance_cells(scant__text *out, const report_view *view, size_t s) {
    size_t n = view->m->n_labels;
    const double *picked = &view->m->picked[s * n];
    double all = 0;
    for (size_t c = 0; c < n; c++) all += picked[c];
    for (size_t c = 0; c < n; c++) cell(out, all > 0 ? 100 * picked[c] / all : 0, 1, "");
}

void page_table_balance(scant__text *out, const report_view *view) {
    char number[32];
    begin(out, "Share of each class among the picks, in percent.", "strategy");
    for (size_t c = 0; c < view->m->n_labels; c++)
        report_addf(out, "<th scope=\"col\">%s</th>",
                    report_class_name(view->r, c, number));
    add_rows(out, view, balance_cells);
}

static void calibration_cells(scant__text *out, const report_view *view, size_t s) {
    const report_reliability *c = &view->m->reliability[s];
    for (size_t when = 0; when < REPORT_WHENS; when++)
        if (c->error[when].n)
            report_addf(out, "<td>%.2f <span class=\"soft\">\xc2\xb1 %.2f</span></td>",
                        100 * c->error[when].mean, 100 * c->error[when].std);
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
    report_addf(out, "<td>%zu</td>", c->runs);
}

void page_table_calibration(scant__text *out, const report_view *view) {
    begin(out,
          "Expected calibration error in percent: mean \xc2\xb1 standard deviation over "
          "runs, before and after scaling; T is the mean.",
          "strategy|before|after|T|labels|runs");
    add_rows(out, view, calibration_cells);
}

/* Adds means at the first and the last level of a strategy. */
static void theory_cells(scant__text *out, const report_view *view, size_t s) {
    for (size_t i = 0; i < 2 * REPORT_THEORIES; i++) {
        const report_curve *curve = &view->m->theory[i / 2][s];
        size_t at = i % 2 ? curve->n - 1 : 0;
        double mean = curve->n ? curve->levels[at].mean : (double)NAN;
        cell(out, i / 2 == REPORT_LAMBDA ? pow(10, mean) : mean, -1, "");
    }
}

void page_table_theory(scant__text *out, const report_view *view) {
    begin(out,
          "Means over runs at the first and the last number of labels; geometric means "
          "for \xce\xbb.",
          "strategy|\xce\xbb, first|\xce\xbb, last|R, first|R, last");
    add_rows(out, view, theory_cells);
}

static void training_row(scant__text *out, const report_view *view,
                         const scant_training *t, bool collapsed) {
    char names[SCANT_SIGNS_SIZE];
    scant_train_sign_names(t->signs, names);
    begin_row(out, view, report_strategy_find(view->r, t->strategy), false);
    report_addf(out, "<td>%" PRIu64 "</td><td>%zu</td><td>%" PRIu64 "</td>", t->seed,
                t->round, t->labels);
    cell(out, report_unit(view->r) * t->value, report_decimals(view->r),
         view->r->regression ? "" : " %");
    if (collapsed)
        report_addf(out, "<td><span class=\"bad\">collapsed: %s</span></td>", names);
    else
        report_addf(out, "<td>%s</td>", *names ? names : "none");
    cell(out, 100 * t->dead, 1, " %");
    report_addf(out, "<td>%zu</td>", t->trainings);
    end_row(out);
}

void page_table_trainings(scant__text *out, const report_view *view) {
    const scant_trainings *t = &view->m->trainings;
    begin(out,
          "Trainings that collapsed, were repeated or have signs; those that ended "
          "collapsed come first. Signs and dead units (the largest share of a layer) are "
          "those of the last training; for an ensemble, the worst of its members.",
          t->regression
              ? "strategy|seed|round|labels|error|signs at the end|dead units|trainings"
              : "strategy|seed|round|labels|accuracy|signs at the end|dead units|"
                "trainings");
    begin_rows(out);
    for (size_t i = 0; i < t->n_listed && i < TRAININGS; i++)
        training_row(out, view, &t->listed[i], i < t->collapsed);
    end(out);
    if (t->n_listed > TRAININGS)
        report_addf(out, "<p class=\"note\">And %zu more, see trainings.csv.</p>\n",
                    t->n_listed - TRAININGS);
}

void page_add_data(scant__text *out, const report_view *view) {
    AUTO(scant__json_end) scant__json json = {.text.ctx = out->ctx};
    scant__json_open(&json, NULL, '{');
    scant__json_bool(&json, "regression", view->r->regression);
    scant__json_open(&json, "series", '[');
    for (size_t s = 0; s < view->r->n_strategies; s++) {
        const report_curve *curve = &view->m->curves[s];
        scant__json_open(&json, NULL, '{');
        scant__json_string(&json, "name", view->r->strategies[s].name);
        scant__json_size(&json, "colour", chart_style_of(view->r, s).colour);
        scant__json_open(&json, "points", '[');
        for (size_t i = 0; i < curve->n; i++) {
            const report_level *l = &curve->levels[i];
            scant__json_open(&json, NULL, '[');
            scant__json_integer(&json, NULL, (int64_t)l->labels);
            scant__json_rounded(&json, NULL, l->mean, 6);
            scant__json_rounded(&json, NULL, l->std, 6);
            scant__json_size(&json, NULL, l->runs);
            scant__json_close(&json, ']');
        }
        scant__json_close(&json, ']');
        scant__json_close(&json, '}');
    }
    scant__json_close(&json, ']');
    scant__json_close(&json, '}');
    out->failed |= json.text.failed;
    scant__text_add(out, "<script type=\"application/json\" id=\"data\">");
    if (!json.text.failed) scant__text_json_script(out, json.text.data);
    scant__text_add(out, "</script>\n");
}
