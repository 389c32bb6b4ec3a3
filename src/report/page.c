/* SPDX-License-Identifier: Apache-2.0 */
#include "report/page.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/results_int.h"

typedef struct page {
    scant__text *out;
    report_results *r;
    const report_view *view;
    const char *folder;
    uint64_t first_labels, last_labels;
    size_t n_seeds, unfinished;
    size_t shorter; /* runs with all rounds, but with fewer labels than others */
    char title[512];
} page;

/* ---- title and totals -------------------------------------------------------------- */

static void make_title(page *p) {
    const report_folder *first = &p->r->folders[0];
    const char *data = report_experiment_value(first, "data", "train");
    const char *model = report_experiment_value(first, "model", "name");
    size_t size = sizeof p->title;
    const char *slash = data ? strrchr(data, '/') : NULL;
    if (slash && slash[1]) data = slash + 1;
    if (p->r->n_folders > 1)
        snprintf(p->title, size, "%zu experiments side by side", p->r->n_folders);
    else if (data && *data && model && *model)
        snprintf(p->title, size, "Active learning on %.200s with %.200s", data, model);
    else
        snprintf(p->title, size, "Active learning: %.400s", first->label);
}

static void survey(page *p) {
    const report_results *r = p->r;
    size_t longest = 0;
    p->first_labels = UINT64_MAX;
    for (size_t s = 0; s < r->n_strategies; s++) {
        const report_strategy *strategy = &r->strategies[s];
        p->n_seeds = size_max(p->n_seeds, strategy->n_runs);
        longest = size_max(longest, strategy->most_points);
        if (strategy->most_labels > p->last_labels)
            p->last_labels = strategy->most_labels;
    }
    for (size_t i = 0; i < r->n_runs; i++) {
        const report_run *run = &r->runs[i];
        p->unfinished += run->n_points < longest;
        p->shorter +=
            run->n_points == longest && report_last(run)->labels < p->last_labels;
        if (run->points->labels < p->first_labels) p->first_labels = run->points->labels;
    }
}

/* ---- head of the page -------------------------------------------------------------- */

static void add_toggles(const page *p) {
    for (size_t s = 0; s < p->r->n_strategies; s++)
        report_addf(p->out, "body:has(#t%zu:not(:checked)) .s%zu{display:none}", s, s);
}

static void add_lead(const page *p) {
    const report_results *r = p->r;
    report_addf(p->out, "<p class=\"lead\">%zu strateg%s, %zu seed%s, ", r->n_strategies,
                r->n_strategies == 1 ? "y" : "ies", p->n_seeds, page_plural(p->n_seeds));
    if (r->n_runs && p->first_labels == p->last_labels)
        report_addf(p->out, "%" PRIu64 " labels, ", p->last_labels);
    else if (r->n_runs)
        report_addf(p->out, "from %" PRIu64 " to %" PRIu64 " labels, ", p->first_labels,
                    p->last_labels);
    report_addf(p->out, "%zu run%s", r->n_runs, page_plural(r->n_runs));
    for (size_t i = 0; i < r->n_folders && r->n_folders > 1; i++)
        report_addf(p->out, "%s%s", i ? ", " : ": ", r->folders[i].label);
    scant__text_add(p->out, "</p>\n");
}

static void add_alerts(const page *p) {
    if (!p->r->n_runs)
        scant__text_add(p->out,
                        "<p class=\"alert\">There is nothing to show yet: no run has "
                        "finished a round.</p>\n");
    if (p->unfinished)
        report_addf(p->out,
                    "<p class=\"alert\"><b>%zu of %zu runs %s fewer rounds than the "
                    "longest</b>; they may be unfinished. A mean is over the runs that "
                    "have that number of labels, and an area is over the run's own range "
                    "of labels: compare with care.</p>\n",
                    p->unfinished, p->r->n_runs, p->unfinished == 1 ? "has" : "have");
    if (p->shorter)
        report_addf(
            p->out,
            "<p class=\"alert\"><b>%zu of %zu runs %s with fewer labels than "
            "others</b> of as many rounds. An area is over the run's own range of "
            "labels; differences are over the labels that both runs have.</p>\n",
            p->shorter, p->r->n_runs, p->shorter == 1 ? "ends" : "end");
    if (p->r->differ)
        report_addf(p->out,
                    "<p class=\"alert\"><b>The experiments differ</b> in %s: differences "
                    "between their runs are not due to the strategies alone.</p>\n",
                    p->r->differ);
}

static void add_collapsed(const page *p) {
    const scant_trainings *t = &p->view->m->trainings;
    if (!t->collapsed) return;
    report_addf(p->out, "<p class=\"alert\"><b>%zu of %zu trainings collapsed</b>; ",
                t->collapsed, t->count);
    if (t->collapsed == 1)
        report_addf(p->out, "its %s is", t->regression ? "error" : "accuracy");
    else
        report_addf(p->out, "their %s are", t->regression ? "errors" : "accuracies");
    scant__text_add(p->out, " in all figures. See <a href=\"#trainings\">Trainings</a>."
                            "</p>\n");
}

/* ---- key figures ------------------------------------------------------------------- */

static void figure_best(const page *p, size_t best) {
    const report_spread *area = &p->view->m->areas[best];
    double unit = report_unit(p->r);
    int decimals = report_decimals(p->r);
    report_addf(p->out,
                "<div class=\"figure\"><span>Best area under the curve</span><b>%s</b>"
                "<span>%.*f \xc2\xb1 %.*f%s, %zu run%s</span></div>\n",
                p->r->strategies[best].name, decimals, unit * area->mean, decimals,
                unit * area->std, p->r->regression ? "" : " %", area->n,
                page_plural(area->n));
}

static void figure_difference(const page *p, size_t best) {
    const scant_pair *pair = page_pair_of(p->view, best);
    int decimals = report_decimals(p->r);
    if (!pair || !pair->seeds) return;
    report_addf(p->out,
                "<div class=\"figure\"><span>Its lead over random</span><b>%+.*f%s</b>"
                "<span>",
                decimals, pair->auc.mean, p->r->regression ? "" : " points");
    if (!isnan(pair->auc.low))
        report_addf(p->out, "95 %% interval %+.*f to %+.*f, %zu seeds", decimals,
                    pair->auc.low, decimals, pair->auc.high, pair->seeds);
    else if (pair->seeds > 1)
        report_addf(p->out, "the same for all %zu seeds: no interval", pair->seeds);
    else
        scant__text_add(p->out, "one seed: no interval");
    scant__text_add(p->out, "</span></div>\n");
}

static void figure_saved(const page *p) {
    if (!report_has_efficiency(p->view)) return;
    double whole = report_needed(p->view, p->view->baseline), least = whole;
    size_t best = p->view->baseline;
    for (size_t s = 0; s < p->r->n_strategies; s++) {
        double needed = report_needed(p->view, s);
        if (!(needed < least)) continue;
        least = needed;
        best = s;
    }
    if (best == p->view->baseline) return;
    report_addf(p->out,
                "<div class=\"figure\"><span>Fewer labels than random</span><b>"
                "%d&#8201;%%</b><span>%s needs %.0f where random needs %.0f</span>"
                "</div>\n",
                (int)lround(100 * (1 - least / whole)), p->r->strategies[best].name,
                least, whole);
}

static void figure_time(const page *p) {
    double all = 0;
    for (size_t s = 0; s < p->r->n_strategies; s++)
        all += (p->view->m->train_seconds[s] + p->view->m->select_seconds[s]) *
               (double)p->r->strategies[s].n_runs;
    scant__text_add(p->out,
                    "<div class=\"figure\"><span>Time, all runs together</span><b>");
    chart_add_seconds(p->out, all);
    scant__text_add(p->out, "</b><span>training and selection</span></div>\n");
}

static void add_figures(const page *p) {
    if (!p->r->n_runs) return;
    size_t best = page_best_area(p->view);
    scant__text_add(p->out, "<div class=\"figures\">\n");
    figure_best(p, best);
    figure_difference(p, best);
    figure_saved(p);
    figure_time(p);
    scant__text_add(p->out, "</div>\n");
}

/* ---- sections ---------------------------------------------------------------------- */

const page_section page_sections[PAGE_SECTIONS] = {
    {"curves", "Learning curves",
     "Means over seeds; a band is one standard deviation to either side. Point at the "
     "chart to see values; untick a strategy to hide it.",
     report_has_curves, "Nothing yet.", report_chart_curves, page_table_curves, false},
    {"areas", "Area under the curve",
     "The mean height of a run's curve over its labels: the higher, the sooner the "
     "strategy reached a good result. A dot is a run, a diamond the mean, a bar one "
     "standard deviation.",
     report_has_curves, "Nothing yet.", report_chart_areas, page_table_areas, true},
    {"differences", "Difference to random",
     "The area of each run minus that of random with the same seed, which starts from "
     "the same samples and weights. Mean over n seeds and its 95 % interval by Student's "
     "t. An interval alone that excludes 0 is unlikely to be chance; among many "
     "intervals some exclude 0 by chance, so use p, which is corrected for their number.",
     report_has_differences,
     "There is no run of random to compare with: put random among the strategies.",
     report_chart_differences, page_table_differences, false},
    {"efficiency", "Label efficiency",
     "Labels that a strategy's mean curve needs to reach the final result of random (the "
     "line).",
     report_has_efficiency,
     "This needs random and another strategy, and more than one round that all runs of "
     "random have.",
     report_chart_efficiency, page_table_efficiency, false},
    {"overlap", "Overlap",
     "Intersection over union of the labelled sets of two strategies at the end, initial "
     "sets included, in percent, over all seeds.",
     report_has_overlap, "This needs picks of two strategies (and of no more than 64).",
     report_chart_overlap, page_table_overlap, false},
    {"balance", "Picked classes", NULL, report_has_balance,
     "The picks have no classes, or more than 64.", report_chart_balance,
     page_table_balance, false},
    {"calibration", "Calibration",
     "Accuracy by confidence on the test set, over all seeds. Samples are put into 15 "
     "bins by their confidence, the largest probability. Below the diagonal a network is "
     "overconfident, above it underconfident; the larger a dot, the more samples. The "
     "expected calibration error is the mean distance to the diagonal. After: with "
     "probabilities softmax(z / T), T fitted to validation samples (data.validation); "
     "not "
     "shown if there were none. Each strategy is shown at the last round that all its "
     "runs have finished, or in which all have a T.",
     report_has_calibration,
     "There is no calibration.csv with bins of these runs (or there are more than 64 "
     "strategies).",
     report_chart_calibration, page_table_calibration, true},
    {"theory", "Theory",
     "Means over seeds, for the network that picks. \xce\xbb is the smallest eigenvalue "
     "of the labelled samples' kernel that is not 0 by structure (a geometric mean): the "
     "larger, the faster training converges. R is the sum of the single samples' gains "
     "in training speed divided by the gain of their batch: near 1 they add up.",
     report_has_theory,
     "There is no theory.csv with eigenvalues of these runs (loop.theory).",
     report_chart_theory, page_table_theory, false},
    {"time", "Time", "Seconds per run, mean over seeds.", report_has_curves,
     "Nothing yet.", report_chart_time, page_table_time, false},
};

static void add_nav(const page *p) {
    scant__text_add(p->out, "<nav aria-label=\"On this page\">");
    for (size_t i = 0; i < PAGE_SECTIONS; i++)
        report_addf(p->out, "<a href=\"#%s\">%s</a> ", page_sections[i].id,
                    page_sections[i].heading);
    if (p->view->m->trainings.n_listed)
        scant__text_add(p->out, "<a href=\"#trainings\">Trainings</a> ");
    scant__text_add(p->out,
                    "<a href=\"#pictures\">First picks</a> <a href=\"#experiment\">"
                    "Experiment</a> <a href=\"#files\">Files</a></nav>\n");
}

/* Adds a checkbox for each strategy, with its line style. Works without a script. */
static void add_keys(const page *p) {
    if (p->r->n_strategies < 2) return;
    scant__text_add(p->out,
                    "<fieldset class=\"keys\" aria-label=\"Strategies to show\">");
    for (size_t s = 0; s < p->r->n_strategies; s++) {
        chart_style style = chart_style_of(p->r, s);
        report_addf(p->out,
                    "<label class=\"k%u\"><input type=\"checkbox\" id=\"t%zu\" checked>"
                    "<svg class=\"chart\" viewBox=\"0 0 34 14\" aria-hidden=\"true\">"
                    "<path d=\"M1 7H33\" stroke=\"currentColor\" stroke-width=\"2.5\" "
                    "stroke-dasharray=\"%s\"/>",
                    style.colour, s, chart_dashes(style));
        chart_mark(p->out, style, 17, 7, 9);
        report_addf(p->out, "</path></svg><span>%s</span></label>",
                    p->r->strategies[s].name);
    }
    scant__text_add(p->out, "</fieldset>\n");
}

static void add_balance_note(const page *p) {
    scant__text_add(p->out, "<p class=\"note\">Share of each class among a strategy's "
                            "picks after the initial set, in percent, over all seeds. ");
    if (p->view->m->balance)
        report_addf(p->out,
                    "Orange: more often than the class occurs in %s; blue: less often; "
                    "full colour from a factor of four.",
                    p->view->m->balance_of);
    scant__text_add(p->out, "</p>\n");
}

/* Adds the reason why a section has no chart. */
static void add_missing(const page *p, const page_section *s) {
    const char *words = s->without;
    bool differences = s->draw == report_chart_differences;
    if (differences && p->view->n_pairs)
        words = "No strategy has a run that can be compared with one of random.";
    else if (differences && p->view->baseline < p->r->n_strategies)
        words = "There is no other strategy than random.";
    report_addf(p->out, "<p class=\"note\">%s</p>\n", words);
    if (differences) page_add_left_out(p->out, p->view);
    scant__text_add(p->out, "</section>\n");
}

static void add_section(const page *p, const page_section *s) {
    bool there = s->has(p->view);
    page_section_begin(p->out, s->id, s->heading, there ? s->id : NULL);
    if (!there) {
        add_missing(p, s);
        return;
    }
    if (s->note)
        report_addf(p->out, "<p class=\"note\">%s</p>\n", s->note);
    else
        add_balance_note(p);
    if (s->draw == report_chart_differences) page_add_left_out(p->out, p->view);
    if (s->draw == report_chart_curves) add_keys(p);
    s->draw(p->out, p->view, CHART_WIDE);
    s->draw(p->out, p->view, CHART_NARROW);
    scant__text_add(p->out, s->open ? "" : "<details><summary>Numbers</summary>\n");
    s->table(p->out, p->view);
    scant__text_add(p->out, s->open ? "</section>\n" : "</details></section>\n");
}

/* ---- trainings --------------------------------------------------------------------- */

/* Adds how many trainings end with each sign. */
static void add_signs(const page *p) {
    const scant_trainings *t = &p->view->m->trainings;
    char name[SCANT_SIGNS_SIZE];
    const char *before = " Signs at the end: ";
    for (uint64_t sign = 1; *scant_train_sign_names(sign, name); sign <<= 1) {
        size_t n = scant_trainings_count(t, sign);
        if (!n) continue;
        report_addf(p->out, "%s%s %zu", before, name, n);
        before = ", ";
    }
    if (*before == ',') scant__text_add(p->out, ".");
}

static void add_trainings(const page *p) {
    const scant_trainings *t = &p->view->m->trainings;
    if (!t->n_listed) return;
    page_section_begin(p->out, "trainings", "Trainings", NULL);
    report_addf(
        p->out,
        "<p class=\"note\">There %s %zu training%s, one for each round of each run. %zu "
        "collapsed and %s repeated with another seed; %zu %s collapsed in the end.",
        t->count == 1 ? "was" : "were", t->count, page_plural(t->count), t->repeated,
        t->repeated == 1 ? "was" : "were", t->collapsed,
        t->collapsed == 1 ? "is" : "are");
    add_signs(p);
    if (t->collapsed)
        report_addf(p->out,
                    " A training has collapsed if it ends with dead-units, loss "
                    "or diverged: its network is of no use, but its %s is in "
                    "the curves, means and comparisons.",
                    t->regression ? "error" : "accuracy");
    scant__text_add(p->out, "</p>\n");
    page_table_trainings(p->out, p->view);
    scant__text_add(p->out, "</section>\n");
}

/* ---- images of picks --------------------------------------------------------------- */

static void add_image(const page *p, const report_sheet *sheet, size_t i, size_t width) {
    const report_thumbnail *t = sheet->items[i];
    char number[32];
    const char *name =
        *t->name ? t->name : report_class_name(p->r, (size_t)t->label, number);
    report_addf(p->out,
                "<li title=\"pick %zu, sample %" PRIu64
                ": %s\"><i role=\"img\" aria-label=\"pick %zu\" "
                "style=\"background-position:-%zupx 0\"></i><span>%s</span></li>",
                sheet->ranks[i], t->index, name, sheet->ranks[i], i * width, name);
}

static scant_status add_sheet(const page *p, const report_images *images,
                              const report_sheet *sheet, size_t s) {
    size_t side = size_max(images->width, images->height);
    size_t scale = size_max(1, 60 / side);
    size_t width = scale * images->width, height = scale * images->height;
    scant__text_add(p->out, "<h3>");
    page_add_name(p->out, p->view, s);
    report_addf(p->out,
                " <span class=\"soft\">seed %" PRIu64 "</span></h3>\n<style>.p%zu i"
                "{width:%zupx;height:%zupx;background-size:%zupx %zupx;"
                "background-image:url(data:image/png;base64,",
                sheet->seed, s, width, height, width * sheet->n, height);
    TRY(report_sheet_write(p->out, images, sheet));
    report_addf(p->out, ")}</style>\n<ol class=\"sheet p%zu\">", s);
    for (size_t i = 0; i < sheet->n; i++) add_image(p, sheet, i, width);
    scant__text_add(p->out, "</ol>\n");
    return SCANT_OK;
}

static scant_status add_folder_images(const page *p, size_t folder, size_t *shown) {
    AUTO(report_images_close) report_images images = {0};
    TRY(report_images_open(p->r, folder, &images));
    for (size_t s = 0; images.array && s < p->r->n_strategies; s++) {
        report_sheet sheet = report_sheet_of(p->r, s);
        if (!sheet.n || sheet.folder != folder) continue;
        TRY(add_sheet(p, &images, &sheet, s));
        ++*shown;
    }
    return SCANT_OK;
}

static scant_status add_images(const page *p) {
    size_t shown = 0;
    page_section_begin(p->out, "pictures", "First picks", NULL);
    scant__text_add(p->out,
                    "<p class=\"note\">The first picks of each strategy after the "
                    "initial set, best first.</p>\n");
    for (size_t i = 0; i < p->r->n_folders; i++) TRY(add_folder_images(p, i, &shown));
    if (!shown)
        scant__text_add(p->out,
                        "<p class=\"note\">There are no images of these picks.</p>");
    scant__text_add(p->out, "</section>\n");
    return SCANT_OK;
}

/* ---- experiments and files --------------------------------------------------------- */

static void add_lines(scant__text *out, const char *text) {
    while (*text) { /* report_addf() would replace line ends and tabs */
        size_t length = strcspn(text, "\n\t\r");
        report_addf(out, "%.*s", (int)length, text);
        text += length;
        if (*text == '\n') scant__text_add(out, "\n");
        if (*text == '\t') scant__text_add(out, "\t");
        if (*text) text++;
    }
}

static void add_experiments(const page *p) {
    bool any = false;
    page_section_begin(p->out, "experiment", "Experiment", NULL);
    for (size_t i = 0; i < p->r->n_folders; i++) {
        const report_folder *folder = &p->r->folders[i];
        if (!folder->experiment) continue;
        any = true;
        if (p->r->n_folders > 1) report_addf(p->out, "<h3>%s</h3>", folder->label);
        scant__text_add(p->out, "<pre tabindex=\"0\">");
        add_lines(p->out, folder->experiment);
        scant__text_add(p->out, "</pre>\n");
    }
    if (!any)
        scant__text_add(p->out, "<p class=\"note\">There is no experiment.ini.</p>");
    scant__text_add(p->out, "</section>\n");
}

static scant_status add_files(const page *p) {
    static const struct {
        const char *name, *what;
        bool made; /* written together with the page */
    } files[] = {{"curve.csv", "results of every round of every run", false},
                 {"picks.csv", "picks of every round", false},
                 {"calibration.csv", "confidence and accuracy, by bins", false},
                 {"theory.csv", "kernel quantities of every round", false},
                 {"trainings.csv", "how the training of every round went", false},
                 {"summary.csv", "means at every number of labels", true},
                 {"auc.csv", "areas under the curves", true},
                 {"overlap.csv", "overlaps at every number of labels", true},
                 {"experiment.ini", "settings, to run the experiment again", false},
                 {"log.jsonl", "events, one per line", false}};
    page_section_begin(p->out, "files", "Files", NULL);
    scant__text_add(p->out, "<ul class=\"files\">");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char *path = report_path(&p->r->arena, p->folder, files[i].name);
        if (!path) return SCANT_ENOMEM;
        if (!files[i].made && !report_file_exists(path)) continue;
        report_addf(p->out,
                    "<li><a href=\"%s\">%s</a> <span class=\"soft\">%s</span></li>",
                    files[i].name, files[i].name, files[i].what);
    }
    scant__text_add(p->out, "</ul></section>\n");
    return SCANT_OK;
}

scant_status report_write_page(scant__text *out, report_results *r,
                               const report_view *view, const char *folder) {
    page p = {.out = out, .r = r, .view = view, .folder = folder};
    survey(&p);
    make_title(&p);
    page_begin(out, p.title, true);
    add_toggles(&p);
    page_begin_body(out, p.title);
    add_lead(&p);
    add_nav(&p);
    scant__text_add(out, "</header>\n<main>\n");
    add_alerts(&p);
    add_collapsed(&p);
    add_figures(&p);
    for (size_t i = 0; i < PAGE_SECTIONS; i++) add_section(&p, &page_sections[i]);
    add_trainings(&p);
    TRY(add_images(&p));
    add_experiments(&p);
    TRY(add_files(&p));
    report_addf(out,
                "</main>\n<footer>Made by scant %s from curve.csv, picks.csv, "
                "calibration.csv, theory.csv and trainings.csv."
                "</footer>\n<div id=\"tip\" role=\"status\"></div>\n",
                scant_version());
    page_add_data(out, view);
    scant__text_add(out, "<script>\n");
    scant__text_add(out, report_page_script);
    scant__text_add(out, "</script>\n</body>\n</html>\n");
    return SCANT_OK;
}
