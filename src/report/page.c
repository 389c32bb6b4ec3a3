/* SPDX-License-Identifier: Apache-2.0 */
#include "report/page.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "report/experiment.h"
#include "report/results_int.h"
#include "report/thumbnails.h"
#include "scant/train.h"

typedef struct page {
    scant__text *out;
    report_results *r;
    const report_view *view;
    const char *folder;
    uint64_t first_labels, last_labels;
    size_t n_seeds, unfinished;
    size_t apart; /* runs with all rounds, but with fewer labels than others */
} page;

/* ---- what the experiment was ------------------------------------------------------- */

static const char *last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static void add_title(const page *p) {
    const char *data = report_experiment_value(&p->r->folders[0], "data", "train");
    const char *model = report_experiment_value(&p->r->folders[0], "model", "name");
    if (p->r->n_folders > 1) {
        scant__text_addf(p->out, "%zu experiments side by side", p->r->n_folders);
    } else if (data && *data && model && *model) {
        scant__text_add(p->out, "Active learning on ");
        report_add_escaped(p->out, last_part(data));
        scant__text_add(p->out, " with ");
        report_add_escaped(p->out, model);
    } else {
        scant__text_add(p->out, "Active learning: ");
        report_add_escaped(p->out, p->r->folders[0].label);
    }
}

static void survey(page *p) {
    const report_results *r = p->r;
    size_t longest = report_longest(r);
    p->first_labels = UINT64_MAX;
    for (size_t i = 0; i < r->n_runs; i++) {
        const report_run *run = &r->runs[i];
        p->unfinished += run->n_points < longest;
        if (run->points->labels < p->first_labels) p->first_labels = run->points->labels;
        if (report_last(run)->labels > p->last_labels)
            p->last_labels = report_last(run)->labels;
    }
    for (size_t i = 0; i < r->n_runs; i++)
        p->apart += r->runs[i].n_points == longest &&
                    report_last(&r->runs[i])->labels < p->last_labels;
    for (size_t s = 0; s < r->n_strategies; s++)
        p->n_seeds = size_max(p->n_seeds, r->strategies[s].n_runs);
}

/* ---- the top ----------------------------------------------------------------------- */

static void add_toggles(const page *p) {
    for (size_t s = 0; s < p->r->n_strategies; s++)
        scant__text_addf(p->out, "body:has(#t%zu:not(:checked)) .s%zu{display:none}", s,
                         s);
}

static void add_head(const page *p) {
    scant__text *out = p->out;
    page_begin_head(out, true);
    add_title(p);
    page_add_style(out);
    add_toggles(p);
    scant__text_add(out, "\n</style>\n</head>\n<body>\n");
}

static void add_lead(const page *p) {
    const report_results *r = p->r;
    scant__text_addf(p->out, "<p class=\"lead\">%zu strateg%s, %zu seed%s, ",
                     r->n_strategies, r->n_strategies == 1 ? "y" : "ies", p->n_seeds,
                     page_plural(p->n_seeds));
    if (r->n_runs && p->first_labels == p->last_labels)
        scant__text_addf(p->out, "%" PRIu64 " labels, ", p->last_labels);
    else if (r->n_runs)
        scant__text_addf(p->out, "from %" PRIu64 " to %" PRIu64 " labels, ",
                         p->first_labels, p->last_labels);
    scant__text_addf(p->out, "%zu run%s", r->n_runs, page_plural(r->n_runs));
    if (r->n_folders > 1) scant__text_add(p->out, ": ");
    for (size_t i = 0; i < r->n_folders && r->n_folders > 1; i++) {
        if (i) scant__text_add(p->out, ", ");
        report_add_escaped(p->out, r->folders[i].label);
    }
    scant__text_add(p->out, "</p>\n");
}

static void add_alerts(const page *p) {
    if (!p->r->n_runs)
        scant__text_add(p->out,
                        "<p class=\"alert\">There is nothing to show yet: no run has "
                        "finished a round.</p>\n");
    if (p->unfinished)
        scant__text_addf(
            p->out,
            "<p class=\"alert\"><b>%zu of %zu runs %s fewer rounds than the "
            "longest</b>, maybe because they are not finished. Means are over the "
            "runs that have a number of labels, and areas over each run's own "
            "span: compare with care.</p>\n",
            p->unfinished, p->r->n_runs, p->unfinished == 1 ? "has" : "have");
    if (p->apart)
        scant__text_addf(
            p->out,
            "<p class=\"alert\"><b>%zu of %zu runs %s with fewer labels than others</b> "
            "of as many rounds. Areas are over each run's own span; differences are over "
            "the labels that both have.</p>\n",
            p->apart, p->r->n_runs, p->apart == 1 ? "ends" : "end");
    if (p->r->differ) {
        scant__text_add(p->out, "<p class=\"alert\"><b>The experiments differ</b> in ");
        report_add_escaped(p->out, p->r->differ);
        scant__text_add(p->out, ": what is told of their runs together is not of the "
                                "strategies alone.</p>\n");
    }
}

/* ---- figures ----------------------------------------------------------------------- */

static void figure_best(const page *p, size_t best) {
    const report_spread *area = &p->view->m->areas[best];
    double unit = p->r->regression ? 1 : 100;
    scant__text_add(p->out,
                    "<div class=\"figure\"><span>Best area under the curve</span><b>");
    report_add_escaped(p->out, p->r->strategies[best].name);
    scant__text_add(p->out, "</b><span>");
    page_add_amount(p->out, p->view, unit * area->mean, false);
    scant__text_add(p->out, " \xc2\xb1 ");
    page_add_amount(p->out, p->view, unit * area->std, false);
    scant__text_addf(p->out, "%s, %zu run%s</span></div>\n", p->r->regression ? "" : " %",
                     area->n, page_plural(area->n));
}

static void figure_difference(const page *p, size_t best) {
    const scant_pair *pair = NULL;
    for (size_t i = 0; i < p->view->n_pairs; i++)
        if (p->view->pairs[i].a == best) pair = &p->view->pairs[i];
    if (!pair || !pair->seeds) return;
    scant__text_add(p->out, "<div class=\"figure\"><span>Its lead over random</span><b>");
    page_add_amount(p->out, p->view, pair->auc.mean, true);
    scant__text_addf(p->out, "%s</b><span>", p->r->regression ? "" : " points");
    if (!isnan(pair->auc.low)) {
        scant__text_add(p->out, "95 % interval ");
        page_add_amount(p->out, p->view, pair->auc.low, true);
        scant__text_add(p->out, " to ");
        page_add_amount(p->out, p->view, pair->auc.high, true);
        scant__text_addf(p->out, ", %zu seeds</span></div>\n", pair->seeds);
    } else if (pair->seeds > 1) {
        scant__text_addf(p->out, "the same for all %zu seeds: no interval</span></div>\n",
                         pair->seeds);
    } else {
        scant__text_add(p->out, "one seed: no interval</span></div>\n");
    }
}

static void figure_saved(const page *p) {
    if (!report_has_efficiency(p->view)) return;
    const report_curve *base = &p->view->m->wholes[p->view->baseline];
    double goal = p->view->m->ends[p->view->baseline].mean, least = INFINITY;
    double whole = report_labels_to_reach(p->r, base, goal);
    size_t who = p->r->n_strategies;
    for (size_t s = 0; s < p->r->n_strategies; s++) {
        double needed = report_labels_to_reach(p->r, &p->view->m->wholes[s], goal);
        if (s == p->view->baseline || !(needed < least)) continue;
        least = needed;
        who = s;
    }
    if (who == p->r->n_strategies || !(least < whole)) return;
    scant__text_addf(p->out,
                     "<div class=\"figure\"><span>Fewer labels than random</span><b>"
                     "%d&#8201;%%</b><span>",
                     (int)lround(100 * (1 - least / whole)));
    report_add_escaped(p->out, p->r->strategies[who].name);
    scant__text_add(p->out, " needs ");
    report_add_fixed(p->out, least, 0);
    scant__text_add(p->out, " where random needs ");
    report_add_fixed(p->out, whole, 0);
    scant__text_add(p->out, "</span></div>\n");
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

typedef struct section {
    const char *id, *heading, *note;
    bool (*has)(const report_view *view); /* NULL: always */
    const char *without;                  /* what is said where there is nothing */
    report_chart draw;
    void (*table)(scant__text *out, const report_view *view);
    bool open; /* the table is shown at once */
} section;

static const section sections[] = {
    {"curves", "Learning curves",
     "Means over seeds; the bands are one standard deviation to either side. Point at "
     "the chart for values; a tick takes a strategy off it.",
     report_has_curves, "", report_chart_curves, page_table_curves, false},
    {"areas", "Area under the curve",
     "The mean height of each run's curve over its labels: the higher, the sooner a "
     "strategy was good. A dot is a run, a diamond the mean, a bar one standard "
     "deviation.",
     report_has_curves, "", report_chart_areas, page_table_areas, true},
    {"differences", "Difference to random",
     "Each run's area minus that of random with the same seed, which starts from the "
     "same samples and the same weights. Mean over n seeds and its 95 % interval by "
     "Student's t. An interval alone that leaves out 0 is hardly chance; of many that "
     "are looked at some do by chance, so go by p, which is corrected for their number.",
     report_has_differences,
     "There is no run of random to compare with: put random among the strategies.",
     report_chart_differences, page_table_differences, false},
    {"efficiency", "Label efficiency",
     "How many labels a strategy's mean curve needs to be as good as random's is in the "
     "end (the line).",
     report_has_efficiency,
     "This needs random and another strategy, and more than one round that all runs of "
     "random have.",
     report_chart_efficiency, page_table_efficiency, false},
    {"overlap", "Overlap",
     "Of the samples that either of two strategies had labelled in the end, initial sets "
     "included, the share that both had, in percent, over all seeds.",
     report_has_overlap, "This needs picks of two strategies (and of no more than 64).",
     report_chart_overlap, page_table_overlap, false},
    {"balance", "Classes that were picked", NULL, report_has_balance,
     "The picks tell of no classes, or of more than 64.", report_chart_balance,
     page_table_balance, false},
    {"calibration", "Calibration",
     "How far networks are to be believed, on the test set: of the samples whose "
     "confidence (the largest probability) is in the same fifteenth, the share that is "
     "right, over all seeds. Below the diagonal a network is too sure, above it not sure "
     "enough; the larger a dot, the more samples. The expected calibration error is the "
     "mean distance to the diagonal. After: with probabilities softmax(z / T), T fitted "
     "to other samples than those of the test set; not there where there were none "
     "(data.validation holds some out). Of each strategy at the last round that all its "
     "runs have come to, or have a T in.",
     report_has_calibration,
     "There is no calibration.csv with bins of these runs (or there are more than 64 "
     "strategies).",
     report_chart_calibration, page_table_calibration, true},
    {"theory", "Theory",
     "Of the network that picks, means over seeds. \xce\xbb is the smallest eigenvalue "
     "of the labelled samples' kernel that is not 0 by structure, its mean geometric: "
     "the larger, the faster training converges. R compares what the samples of a batch "
     "add to the speed of the loss' fall one by one with what they add together: at 1 "
     "neither stands in the way of the others.",
     report_has_theory,
     "There is no theory.csv with eigenvalues of these runs (loop.theory).",
     report_chart_theory, page_table_theory, false},
    {"time", "Time", "Seconds a run, mean over seeds.", report_has_curves, "",
     report_chart_time, page_table_time, false},
};
enum { SECTIONS = sizeof sections / sizeof *sections };

static void add_nav(const page *p) {
    scant__text_add(p->out, "<nav aria-label=\"On this page\">");
    for (size_t i = 0; i < SECTIONS; i++)
        scant__text_addf(p->out, "<a href=\"#%s\">%s</a> ", sections[i].id,
                         sections[i].heading);
    scant__text_add(p->out,
                    "<a href=\"#pictures\">First picks</a> <a href=\"#experiment\">"
                    "Experiment</a> <a href=\"#files\">Files</a></nav>\n");
}

static void begin_section(const page *p, const char *id, const char *heading,
                          bool drawn) {
    scant__text_addf(p->out,
                     "<section id=\"%s\" aria-labelledby=\"h-%s\"><div class=\"head\">"
                     "<h2 id=\"h-%s\">%s</h2>",
                     id, id, id, heading);
    if (drawn) scant__text_addf(p->out, "<a href=\"charts/%s.svg\">as a file</a>", id);
    scant__text_add(p->out, "</div>\n");
}

/* A tick box a strategy, with its line as it is drawn; works without a script. */
static void add_keys(const page *p) {
    if (p->r->n_strategies < 2) return;
    scant__text_add(p->out,
                    "<fieldset class=\"keys\" aria-label=\"Strategies to show\">");
    for (size_t s = 0; s < p->r->n_strategies; s++) {
        chart_look look = chart_look_of(p->r, s);
        scant__text_addf(
            p->out,
            "<label class=\"k%u\"><input type=\"checkbox\" id=\"t%zu\" checked>"
            "<svg class=\"chart\" viewBox=\"0 0 34 14\" aria-hidden=\"true\">"
            "<path d=\"M1 7H33\" stroke=\"currentColor\" stroke-width=\"2.5\" "
            "stroke-dasharray=\"%s\"/>",
            look.colour, s, chart_dashes(look));
        chart_mark(p->out, look, 17, 7, 9);
        scant__text_add(p->out, "</path></svg><span>");
        report_add_escaped(p->out, p->r->strategies[s].name);
        scant__text_add(p->out, "</span></label>");
    }
    scant__text_add(p->out, "</fieldset>\n");
}

static void add_balance_note(const page *p) {
    scant__text_add(p->out, "<p class=\"note\">Share of each class among what a strategy "
                            "picked after the initial set, in percent, over all seeds. ");
    if (p->view->m->balance)
        scant__text_addf(
            p->out,
            "Orange: more often than the class occurs in %s; blue: less often; "
            "full colour from four times on.",
            p->view->m->balance_of);
    scant__text_add(p->out, "</p>\n");
}

/* Instead of a section's chart. Where there is random, but nothing of it can be compared
 * with, that is told by strategy. */
static void add_missing(const page *p, const section *s) {
    const char *words = *s->without ? s->without : "Nothing yet.";
    bool differences = s->draw == report_chart_differences;
    if (differences && p->view->n_pairs)
        words = "No strategy has a run that can be compared with one of random.";
    else if (differences && p->view->baseline < p->r->n_strategies)
        words = "There is no other strategy than random.";
    scant__text_addf(p->out, "<p class=\"note\">%s</p>\n", words);
    if (differences) page_add_left_out(p->out, p->view);
    scant__text_add(p->out, "</section>\n");
}

static void add_section(const page *p, const section *s) {
    bool there = !s->has || s->has(p->view);
    begin_section(p, s->id, s->heading, there);
    if (!there) {
        add_missing(p, s);
        return;
    }
    if (s->note)
        scant__text_addf(p->out, "<p class=\"note\">%s</p>\n", s->note);
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

/* ---- pictures ---------------------------------------------------------------------- */

static void add_picture(const page *p, const report_sheet *sheet, size_t i,
                        size_t width) {
    const report_thumbnail *t = sheet->items[i];
    char number[32];
    const char *name =
        *t->name ? t->name : report_class_name(p->r, (size_t)t->label, number);
    scant__text_addf(p->out, "<li title=\"pick %zu, sample %" PRIu64 ": ",
                     sheet->ranks[i], t->index);
    report_add_escaped(p->out, name);
    scant__text_addf(p->out,
                     "\"><i role=\"img\" aria-label=\"pick %zu\" "
                     "style=\"background-position:-%zupx 0\"></i><span>",
                     sheet->ranks[i], i * width);
    report_add_escaped(p->out, name);
    scant__text_add(p->out, "</span></li>");
}

static scant_status add_sheet(const page *p, const report_pictures *pictures,
                              const report_sheet *sheet, size_t s) {
    size_t side = size_max(pictures->width, pictures->height);
    size_t scale = size_max(1, 60 / side);
    size_t width = scale * pictures->width, height = scale * pictures->height;
    scant__text_add(p->out, "<h3>");
    page_add_name(p->out, p->view, s);
    scant__text_addf(p->out,
                     " <span class=\"soft\">seed %" PRIu64 "</span></h3>\n<style>.p%zu i"
                     "{width:%zupx;height:%zupx;background-size:%zupx %zupx;"
                     "background-image:url(data:image/png;base64,",
                     sheet->seed, s, width, height, width * sheet->n, height);
    TRY(report_sheet_write(p->out, pictures, sheet));
    scant__text_addf(p->out, ")}</style>\n<ol class=\"sheet p%zu\">", s);
    for (size_t i = 0; i < sheet->n; i++) add_picture(p, sheet, i, width);
    scant__text_add(p->out, "</ol>\n");
    return SCANT_OK;
}

static scant_status add_folder_pictures(const page *p, size_t folder, size_t *shown) {
    report_pictures pictures;
    scant_status status = SCANT_OK;
    TRY(report_pictures_open(p->r, folder, &pictures));
    for (size_t s = 0; pictures.array && s < p->r->n_strategies && status == SCANT_OK;
         s++) {
        report_sheet sheet = report_sheet_of(p->r, s);
        if (!sheet.n || sheet.folder != folder) continue;
        status = add_sheet(p, &pictures, &sheet, s);
        ++*shown;
    }
    report_pictures_close(&pictures);
    return status;
}

static scant_status add_pictures(const page *p) {
    size_t shown = 0;
    begin_section(p, "pictures", "First picks", false);
    scant__text_add(p->out,
                    "<p class=\"note\">What each strategy asked for first, beyond the "
                    "initial set, best first.</p>\n");
    for (size_t i = 0; i < p->r->n_folders; i++) TRY(add_folder_pictures(p, i, &shown));
    if (!shown)
        scant__text_add(p->out,
                        "<p class=\"note\">There are no pictures of these picks.</p>");
    scant__text_add(p->out, "</section>\n");
    return SCANT_OK;
}

/* ---- the end ----------------------------------------------------------------------- */

static void add_lines(scant__text *out, const char *text) {
    char piece[1024];
    while (*text) { /* escaping knows no line ends and tabs */
        size_t length = size_min(strcspn(text, "\n\t\r"), sizeof piece - 1);
        memcpy(piece, text, length);
        piece[length] = 0;
        report_add_escaped(out, piece);
        text += length;
        if (*text == '\n') scant__text_add(out, "\n");
        if (*text == '\t') scant__text_add(out, "\t");
        if (*text && strchr("\n\t\r", *text)) text++;
    }
}

static void add_experiments(const page *p) {
    bool any = false;
    begin_section(p, "experiment", "Experiment", false);
    for (size_t i = 0; i < p->r->n_folders; i++) {
        const report_folder *folder = &p->r->folders[i];
        if (!folder->experiment) continue;
        any = true;
        if (p->r->n_folders > 1) {
            scant__text_add(p->out, "<h3>");
            report_add_escaped(p->out, folder->label);
            scant__text_add(p->out, "</h3>");
        }
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
        bool made; /* with the page */
    } files[] = {{"curve.csv", "a row a round of every run", false},
                 {"picks.csv", "what was picked, round by round", false},
                 {"calibration.csv", "confidence and accuracy, by bins", false},
                 {"theory.csv", "what theory says of every round", false},
                 {"summary.csv", "means at every number of labels", true},
                 {"auc.csv", "areas under the curves", true},
                 {"overlap.csv", "overlaps at every number of labels", true},
                 {"experiment.ini", "runs the experiment again", false},
                 {"log.jsonl", "what happened, an event a line", false}};
    begin_section(p, "files", "Files", false);
    scant__text_add(p->out, "<ul class=\"files\">");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char *path = report_path(&p->r->arena, p->folder, files[i].name);
        if (!path) return SCANT_ENOMEM;
        if (!files[i].made && !report_file_exists(path)) continue;
        scant__text_addf(p->out,
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
    add_head(&p);
    scant__text_add(out, "<header><h1>");
    add_title(&p);
    scant__text_add(out, "</h1>\n");
    add_lead(&p);
    add_nav(&p);
    scant__text_add(out, "</header>\n<main>\n");
    add_alerts(&p);
    add_figures(&p);
    for (size_t i = 0; i < SECTIONS; i++) add_section(&p, &sections[i]);
    TRY(add_pictures(&p));
    add_experiments(&p);
    TRY(add_files(&p));
    scant__text_addf(out,
                     "</main>\n<footer>Made by scant %s from curve.csv, picks.csv, "
                     "calibration.csv and theory.csv."
                     "</footer>\n<div id=\"tip\" role=\"status\"></div>\n",
                     scant_version());
    page_add_data(out, view);
    scant__text_add(out, "<script>\n");
    scant__text_add(out, report_page_script);
    scant__text_add(out, "</script>\n</body>\n</html>\n");
    return SCANT_OK;
}
