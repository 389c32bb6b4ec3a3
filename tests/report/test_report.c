/* SPDX-License-Identifier: Apache-2.0
 *
 * The files of a report: which are written, what page and charts contain for all kinds of
 * results, that names are escaped, and failures. tests/browser tests how the page looks
 * and that it loads nothing.
 */
#include <math.h>
#include <sys/stat.h>
#include <time.h>

#include "data/support.h"
#include "report/page.h"
#include "report/results.h"
#include "scant/train.h"

#define CURVE "strategy,seed,round,labels,accuracy,loss,train_seconds,select_seconds\n"
#define PICKS "strategy,seed,round,rank,index,weight,score,label\n"

static void put_text(const char *name, const char *text) {
    put(name, text, strlen(text));
}

static const char *folder(const char *name, const char *curve, const char *picks) {
    char file[64];
    mkdir(path_of(name), 0777);
    snprintf(file, sizeof file, "%s/curve.csv", name);
    put_text(file, curve);
    snprintf(file, sizeof file, "%s/picks.csv", name);
    if (picks) put_text(file, picks);
    return path_of(name);
}

/* A file's text, which the caller frees; NULL: there is no such file. */
static char *text_of(const char *name) {
    FILE *f = fopen(path_of(name), "rb");
    if (!f) return NULL;
    char *text = calloc(1, 4 << 20);
    assert_non_null(text);
    assert_true(fread(text, 1, (4 << 20) - 1, f) > 0 || feof(f));
    fclose(f);
    return text;
}

static size_t count(const char *text, const char *part) {
    size_t n = 0;
    for (const char *at = strstr(text, part); at; at = strstr(at + 1, part)) n++;
    return n;
}

static void assert_reports(scant_ctx *ctx, const char *path) {
    if (scant_report(ctx, &path, 1, NULL) != SCANT_OK)
        fail_msg("%s", scant_ctx_errmsg(ctx));
}

/* Three strategies over four rounds and two seeds. */
static const char *usual_results(const char *name) {
    static char curve[8192], picks[8192];
    static const char *const strategies[] = {"random", "badge", "npc"};
    size_t c = (size_t)snprintf(curve, sizeof curve, CURVE);
    size_t p = (size_t)snprintf(picks, sizeof picks, PICKS);
    for (size_t s = 0; s < 3; s++)
        for (size_t seed = 0; seed < 2; seed++)
            for (size_t t = 0; t < 4; t++) {
                c += (size_t)snprintf(curve + c, sizeof curve - c,
                                      "%s,%zu,%zu,%zu,0.%zu%zu,1,2,1\n", strategies[s],
                                      seed, t, 10 * (t + 1), 3 + t, s + seed);
                p += (size_t)snprintf(picks + p, sizeof picks - p,
                                      "%s,%zu,%zu,0,%zu,1,0,%zu\n", strategies[s], seed,
                                      t, t ? 100 * s + 10 * seed + t : seed, t % 3);
            }
    return folder(name, curve, picks);
}

/* ---- contents ---------------------------------------------------------------------- */

static void all_files_are_written_and_reproducible(void **state) {
    (void)state;
    static const char *const names[] = {
        "all/summary.csv",           "all/auc.csv",
        "all/overlap.csv",           "all/report.html",
        "all/charts/curves.svg",     "all/charts/areas.svg",
        "all/charts/time.svg",       "all/charts/differences.svg",
        "all/charts/efficiency.svg", "all/charts/overlap.svg",
        "all/charts/balance.svg"};
    scant_ctx *ctx = ctx_threads(1);
    const char *path = usual_results("all");
    assert_reports(ctx, path);
    char *before[11];
    for (size_t i = 0; i < 11; i++) assert_non_null(before[i] = text_of(names[i]));
    assert_reports(ctx, path);
    for (size_t i = 0; i < 11; i++) {
        char *again = text_of(names[i]);
        assert_string_equal(before[i], again);
        free(before[i]);
        free(again);
    }
    assert_null(text_of("all/sources.txt"));
    scant_ctx_free(ctx);
}

/* A strategy's curve is a path with one point per number of labels. */
static void charts_have_a_point_for_every_number(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(1);
    assert_reports(ctx, usual_results("count"));
    char *svg = text_of("count/charts/curves.svg");
    assert_int_equal(count(svg, "class=\"line\""), 3);
    assert_int_equal(count(svg, "class=\"mark\""), 3 * 4);
    for (const char *at = strstr(svg, "class=\"line\""); at;
         at = strstr(at + 1, "class=\"line\"")) {
        size_t points = 0;
        for (const char *c = strstr(at, " d=\"") + 4; *c != '"'; c++)
            points += *c == 'M' || *c == 'L';
        assert_int_equal(points, 4);
    }
    free(svg);
    svg = text_of("count/charts/areas.svg");
    assert_int_equal(count(svg, "class=\"dot\""), 6); /* one per run */
    free(svg);
    svg = text_of("count/charts/differences.svg");
    assert_int_equal(count(svg, "class=\"row "), 2);
    free(svg);
    svg = text_of("count/charts/overlap.svg");
    assert_int_equal(count(svg, "class=\"cell "), 9);
    free(svg);
    svg = text_of("count/charts/balance.svg");
    assert_int_equal(count(svg, "class=\"cell "), 9);
    free(svg);
    svg = text_of("count/charts/time.svg");
    assert_int_equal(count(svg, "class=\"row "), 3);
    free(svg);
    scant_ctx_free(ctx);
}

/* The number in a cell is light only on a dark cell, also in the pool's row, whose cells
 * have no colour. */
static void numbers_are_light_on_dark_cells_only(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(1);
    const char *path = usual_results("onto");
    put_text("onto/classes.csv", "label,name,count\n0,a,900\n1,b,50\n2,c,50\n");
    assert_reports(ctx, path);
    char *svg = text_of("onto/charts/balance.svg");
    size_t cells = 0, light = 0;
    for (char *at = strstr(svg, "class=\"cell "), *next; at; at = next) {
        next = strstr(at + 1, "class=\"cell "); /* this cell ends there */
        if (next) *next++ = 0;
        const char *shade = strstr(at, "fill-opacity=\"");
        double strength = shade ? strtod(shade + 14, NULL) : 0;
        bool onto = strstr(at, " onto\"") != NULL;
        assert_int_equal(onto, strength > 0.6);
        light += onto;
        cells++;
    }
    assert_int_equal(cells, 4 * 3);
    assert_true(light > 0);
    free(svg);
    scant_ctx_free(ctx);
}

#define BINS "strategy,seed,round,when,temperature,bin,count,confidence,accuracy\n"

/* One diagram per strategy that has bins, with one point per bin and the errors. */
static void calibration_is_shown_before_and_after(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(1);
    const char *path = usual_results("bins");
    put_text("bins/calibration.csv", BINS "badge,0,3,before,1,15,10,0.95,0.5\n"
                                          "badge,0,3,before,1,10,10,0.65,0.5\n"
                                          "badge,0,3,after,2.5,9,20,0.55,0.5\n"
                                          "npc,1,3,before,1,8,20,0.5,0.25\n");
    assert_reports(ctx, path);
    char *svg = text_of("bins/charts/calibration.svg");
    assert_int_equal(count(svg, "class=\"panel "), 2);
    assert_int_equal(count(svg, "class=\"dot\""), 3); /* before */
    assert_int_equal(count(svg, "class=\"mark\""), 1);
    assert_int_equal(count(svg, "error 30.00 \xe2\x86\x92 5.00 %"), 1);
    assert_int_equal(count(svg, "error 25.00 %"), 1);
    assert_int_equal(count(svg,
                           "badge, after: confidence 55.0 %, accuracy 50.0 %, 100.0 % "
                           "of the samples"),
                     1);
    assert_int_equal(count(svg, "<script"), 0);
    free(svg);
    char *page = text_of("bins/report.html");
    const char *part = strstr(page, "<section id=\"calibration\"");
    assert_non_null(part);
    assert_int_equal(count(part, "chart calibration wide"), 1);
    assert_int_equal(count(part, "chart calibration narrow"), 1);
    assert_non_null(strstr(part, "badge</th><td>30.00 <span class=\"soft\">\xc2\xb1 0.00"
                                 "</span></td><td>5.00 <span class=\"soft\">\xc2\xb1 0.00"
                                 "</span></td><td>2.50</td><td>40</td><td>1</td>"));
    assert_int_equal(count(page, "<a href=\"calibration.csv\">"), 1);
    free(page);
    /* without the file, the page says so and the chart is removed */
    remove(path_of("bins/calibration.csv"));
    assert_reports(ctx, path);
    assert_null(text_of("bins/charts/calibration.svg"));
    page = text_of("bins/report.html");
    assert_int_equal(count(page, "There is no calibration.csv"), 1);
    free(page);
    scant_ctx_free(ctx);
}

#define TRAININGS "strategy,seed,round,trainings,signs,dead,gradient_norm\n"

/* The section, the alert and the mark of the curve's numbers appear if something is to
 * say, and only then. */
static void collapsed_trainings_are_shown_first(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(1);
    const char *path = usual_results("health");
    put_text("health/trainings.csv",
             TRAININGS "random,0,0,1,,0,1\nrandom,0,1,2,,0.25,1\n"
                       "badge,1,2,2,dead-units loss,0.995,0\nnpc,0,3,1,loss,,\n"
                       "npc,1,0,1,few-pseudo-labels,0,1\n");
    assert_reports(ctx, path);
    char *page = text_of("health/report.html");
    assert_non_null(strstr(page, "<b>2 of 5 trainings collapsed</b>; their accuracies"));
    assert_int_equal(count(page, "<a href=\"#trainings\">"), 2);
    assert_int_equal(count(page, "<a href=\"trainings.csv\">"), 1);
    char *part = strstr(page, "<section id=\"trainings\"");
    assert_non_null(part);
    assert_non_null(
        strstr(part, "There were 5 trainings, one for each round of each run. 2 "
                     "collapsed and were repeated with another seed; 2 are "
                     "collapsed in the end. Signs at the end: dead-units 1, loss 2, "
                     "few-pseudo-labels 1. A training has collapsed if"));
    static const char *const rows[] = {
        "badge</th><td>1</td><td>2</td><td>30</td><td>52.00 %</td><td><span "
        "class=\"bad\">collapsed: dead-units loss</span></td><td>99.5 %</td><td>2</td>",
        "npc</th><td>0</td><td>3</td><td>40</td><td>62.00 %</td><td><span "
        "class=\"bad\">collapsed: loss</span></td>",
        "random</th><td>0</td><td>1</td><td>20</td><td>40.00 %</td><td>none</td>"
        "<td>25.0 %</td><td>2</td>",
        "npc</th><td>1</td><td>0</td><td>10</td><td>33.00 %</td><td>few-pseudo-labels"
        "</td>"};
    for (size_t i = 0; i < 4; i++) { /* in this order */
        part = strstr(part, rows[i]);
        if (!part) fail_msg("row %zu is missing", i);
    }
    assert_null(strstr(part, " more, see"));
    /* Means that include a collapsed training: in the curve's table two, among the areas
     * and final accuracies badge's area, npc's area and npc's last accuracy. */
    assert_int_equal(count(page, "</span> \xe2\x80\xa0</td>"), 2 + 3);
    assert_int_equal(count(page, "\xe2\x80\xa0: with a run whose training collapsed"), 2);
    part = strstr(page, "<table><caption>In percent: mean");
    assert_non_null(part);
    static const unsigned marks[][2] = {{0, 0}, {1, 0}, {1, 1}}; /* random, badge, npc */
    for (size_t s = 0; s < 3; s++)
        for (size_t k = 0; k < 2; k++) {
            part = strstr(part, "<td>") + 4;
            const char *end = strstr(part, "</td>");
            assert_non_null(end);
            assert_int_equal(strncmp(end - 3, "\xe2\x80\xa0", 3) == 0, marks[s][k]);
            if (k) part = strstr(part, "</tr>");
            assert_non_null(part);
        }
    free(page);
    /* all went well, or the folder has no such table */
    put_text("health/trainings.csv", TRAININGS "random,0,0,1,,0,1\n");
    for (int i = 0; i < 2; i++) {
        assert_reports(ctx, path);
        page = text_of("health/report.html");
        assert_int_equal(count(page, "#trainings"), 0);
        assert_int_equal(count(page, "id=\"trainings\""), 0);
        assert_int_equal(count(page, "\xe2\x80\xa0"), 0);
        free(page);
        remove(path_of("health/trainings.csv"));
    }
    scant_ctx_free(ctx);
}

static void the_list_of_trainings_is_bounded(void **state) {
    (void)state;
    static char curve[8192], trainings[8192];
    size_t c = (size_t)snprintf(curve, sizeof curve, CURVE);
    size_t t = (size_t)snprintf(trainings, sizeof trainings, TRAININGS);
    for (int i = 0; i < 60; i++) {
        c += (size_t)snprintf(curve + c, sizeof curve - c, "a,0,%d,%d,0.1,1,1,1\n", i,
                              i + 1);
        t += (size_t)snprintf(trainings + t, sizeof trainings - t, "a,0,%d,2,%s,0,1\n", i,
                              i == 59 ? "loss" : "");
    }
    scant_ctx *ctx = ctx_threads(1);
    const char *path = folder("bounded", curve, NULL);
    put_text("bounded/trainings.csv", trainings);
    assert_reports(ctx, path);
    char *page = text_of("bounded/report.html");
    const char *part = strstr(page, "<section id=\"trainings\"");
    assert_non_null(part);
    const char *end = strstr(part, "</section>");
    assert_non_null(end);
    page[end - page] = 0;
    assert_int_equal(count(part, "<tr><th scope=\"row\">"), 50);
    assert_int_equal(count(part, "And 10 more, see trainings.csv"), 1);
    assert_non_null(
        strstr(page, "<b>1 of 60 trainings collapsed</b>; its accuracy is in"));
    assert_int_equal(count(part, "collapsed: loss"), 1); /* the last round comes first */
    free(page);
    scant_ctx_free(ctx);
}

static void trainings_of_several_folders_are_joined(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(1);
    const char *dirs[] = {
        folder("sick", CURVE "a,0,0,10,0.1,1,1,1\nb,0,0,10,0.3,1,1,1\n", NULL),
        folder("old", CURVE "a,0,0,10,0.3,1,1,1\na,0,1,20,0.3,1,1,1\n", NULL),
        folder("well", CURVE "b,5,0,10,0.3,1,1,1\n", NULL)};
    put_text("sick/trainings.csv", TRAININGS "a,0,0,2,diverged,0.5,\nb,0,0,2,,0,0.25\n");
    put_text("well/trainings.csv", TRAININGS "b,5,0,1,few-pseudo-labels,,1e-3\n");
    assert_int_equal(scant_report(ctx, dirs, 3, path_of("cured")), SCANT_OK);
    char *text = text_of("cured/trainings.csv");
    assert_string_equal(text, TRAININGS "a (sick),0,0,2,diverged,0.5,\n"
                                        "b,0,0,2,,0,0.25\n"
                                        "b,5,0,1,few-pseudo-labels,,0.001\n");
    free(text);
    scant_trainings *t, *again;
    const char *cured[] = {path_of("cured")};
    assert_int_equal(scant_trainings_read(ctx, dirs, 3, &t), SCANT_OK);
    assert_int_equal(scant_trainings_read(ctx, cured, 1, &again), SCANT_OK);
    for (int i = 0; i < 2; i++) {
        const scant_trainings *one = i ? again : t;
        assert_true(one->count == 3 && one->repeated == 2 && one->collapsed == 1);
        assert_int_equal(one->n_listed, 3);
        assert_string_equal(one->listed[0].strategy, "a (sick)");
        assert_true(one->listed[0].labels == 10 && one->listed[0].value == 0.1);
        assert_true(one->listed[0].dead == 0.5 && isnan(one->listed[0].gradient_norm));
        assert_true(one->listed[1].seed == 0 && one->listed[2].seed == 5);
        assert_int_equal(scant_trainings_count(one, SCANT_SIGN_DIVERGED), 1);
        assert_int_equal(scant_trainings_count(one, SCANT_SIGN_LOSS), 0);
    }
    scant_trainings_free(ctx, t);
    scant_trainings_free(ctx, again);
    put_text("well/trainings.csv", TRAININGS "b,5,0,1,tired,,1\n");
    assert_int_equal(scant_trainings_read(ctx, dirs, 3, &t), SCANT_EINPUT);
    assert_says(ctx, path_of("well/trainings.csv"), "line 2, column 'signs'");
    assert_null(t);
    assert_int_equal(scant_trainings_read(ctx, dirs, 0, &t), SCANT_EUSAGE);
    scant_trainings_free(ctx, NULL);
    scant_ctx_free(ctx);
}

#define THEORY "strategy,seed,round,labels,layers,lambda,largest,ratio,epochs\n"

/* Two panels with a line for each strategy that has numbers; lambda's mean is geometric.
 * Lines without a run or round in curve.csv do not count. */
static void theory_is_shown_as_means(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(1);
    const char *path = usual_results("theory");
    put_text("theory/theory.csv", THEORY "badge,0,0,10,last,1,5,1.5,3\n"
                                         "badge,1,0,10,last,0.01,5,0.5,3\n"
                                         "badge,0,3,40,last,0.0001,5,,3\n"
                                         "npc,0,1,20,last,,,,3\n"
                                         "npc,1,0,10,last,2,5,,3\n"
                                         "npc,1,9,99,last,1e-9,5,,3\n"
                                         "npc,7,0,10,last,1e-9,5,7,3\n"
                                         "another,0,0,10,last,1e-9,5,7,3\n");
    assert_reports(ctx, path);
    char *svg = text_of("theory/charts/theory.svg");
    assert_int_equal(count(svg, "class=\"line\""), 3); /* two of lambda, one of R */
    assert_int_equal(count(svg, "class=\"mark\""), 4);
    assert_int_equal(count(svg, "badge: 10 labels, 0.1 \xc3\x97/\xc3\xb7 25.9"), 1);
    assert_int_equal(count(svg, "badge: 40 labels, 0.0001 \xc3\x97/\xc3\xb7 1 (1 run)"),
                     1);
    assert_int_equal(count(svg, "badge: 10 labels, 1 \xc2\xb1 0.707107 (2 runs)"), 1);
    assert_int_equal(count(svg, "npc: 10 labels, 2 "), 1);
    assert_int_equal(count(svg, "<script"), 0);
    free(svg);
    char *page = text_of("theory/report.html");
    const char *part = strstr(page, "<section id=\"theory\"");
    assert_non_null(part);
    assert_int_equal(count(part, "chart theory wide"), 1);
    assert_int_equal(count(part, "chart theory narrow"), 1);
    assert_non_null(strstr(part, "badge</th><td>0.1</td><td>0.0001</td><td>1</td>"
                                 "<td>1</td></tr>"));
    assert_int_equal(count(page, "<a href=\"theory.csv\">"), 1);
    free(page);
    remove(path_of("theory/theory.csv"));
    assert_reports(ctx, path);
    assert_null(text_of("theory/charts/theory.svg"));
    page = text_of("theory/report.html");
    assert_int_equal(count(page, "There is no theory.csv"), 1);
    free(page);
    scant_ctx_free(ctx);
}

/* The axis begins at 10 labels and ends at 40. */
static void points_match_the_axes(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(1);
    assert_reports(
        ctx, folder("place", CURVE "a,0,0,10,0.2,1,1,1\na,0,1,40,0.4,1,1,1\n", NULL));
    char *svg = text_of("place/charts/curves.svg");
    double a[8], x[2], y[2];
    const char *axes = strstr(svg, "data-axes=\"");
    assert_int_equal(sscanf(axes + 11, "%lf %lf %lf %lf %lf %lf %lf %lf", a, a + 1, a + 2,
                            a + 3, a + 4, a + 5, a + 6, a + 7),
                     8);
    const char *line = strstr(strstr(svg, "class=\"line\""), " d=\"M");
    assert_int_equal(sscanf(line + 5, "%lf %lfL%lf %lf", x, y, x + 1, y + 1), 4);
    assert_true(a[0] == 10 && a[1] == 40 && fabs(x[0] - a[2]) < 0.11);
    assert_true(fabs(x[1] - a[3]) < 0.11);
    for (size_t i = 0; i < 2; i++) {
        double value = 20 + 20 * (double)i;
        double want = a[6] + (value - a[4]) / (a[5] - a[4]) * (a[7] - a[6]);
        assert_true(fabs(y[i] - want) < 0.11);
    }
    free(svg);
    scant_ctx_free(ctx);
}

static void sparse_results_are_reported(void **state) {
    (void)state;
    static const struct {
        const char *curve, *picks, *says;
    } cases[] = {
        {CURVE, NULL, "There is nothing to show yet"},
        {CURVE "a,0,0,10,0.5,1,1,1\n", NULL, "1 strategy, 1 seed, 10 labels, 1 run"},
        {CURVE "random,0,0,0,0,1,0,0\n", PICKS, "1 strategy"},
        {CURVE "random,0,0,10,0.5,1,1,1\nb,1,0,10,0.5,1,1,1\n",
         PICKS "random,0,0,0,1,1,0,0\n", "2 strategies"},
        {CURVE "random,0,0,10,0.5,1,1,1\nb,0,0,10,0.6,1,1,1\n", NULL,
         "one seed: no interval"},
        {CURVE "a,0,0,10,0.5,1,1,1\na,0,1,20,0.5,1,1,1\na,1,0,10,0.4,1,1,1\n", NULL,
         "1 of 2 runs has fewer rounds"},
        {"strategy,seed,round,labels,accuracy,loss,train_seconds,select_seconds,error\n"
         "random,0,0,10,,1,1,1,1234.5\nb,0,0,10,,1,1,1,0.001\n",
         PICKS "b,0,0,0,1,1,0,3.25\n", "Test error"},
        {CURVE "a,0,0,9007199254740992,0.5,1,1e100,1e100\n", NULL, "1 run"},
    };
    scant_ctx *ctx = ctx_threads(1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char name[32], file[64];
        snprintf(name, sizeof name, "little%zu", i);
        assert_reports(ctx, folder(name, cases[i].curve, cases[i].picks));
        snprintf(file, sizeof file, "%s/report.html", name);
        char *page = text_of(file);
        if (!strstr(page, cases[i].says)) fail_msg("case %zu: %s", i, cases[i].says);
        assert_null(strstr(page, "nan"));
        assert_null(strstr(page, "inf\""));
        assert_non_null(strstr(page, "</html>"));
        free(page);
    }
    scant_ctx_free(ctx);
}

/* ---- text from files --------------------------------------------------------------- */

static void markup_in_names_is_escaped(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(1);
    const char *path = folder(
        "nasty",
        CURVE "\"</script><img src=x onerror=alert(1)>&\"\"'\xff\",0,0,10,0.5,1,1,1\n"
              "random,0,0,10,0.5,1,1,1\n",
        PICKS "\"</script><img src=x onerror=alert(1)>&\"\"'\xff\",0,0,0,1,1,0,1\n"
              "random,0,0,0,1,1,0,1\n");
    put_text("nasty/classes.csv", "label,name\n1,\"<b onclick=\"\"x\"\">\"\n");
    put_text("nasty/experiment.ini",
             "[data]\ntrain = <i>\n[model]\nname = </title><script>\n\t# </pre>\n");
    assert_reports(ctx, path);
    char *page = text_of("nasty/report.html");
    assert_null(strstr(page, "<img"));
    assert_null(strstr(page, "<b onclick"));
    assert_null(strstr(page, "<i>"));
    assert_int_equal(count(page, "</title>") - count(page, "<title>"), 0);
    assert_int_equal(count(page, "<script"), 2);
    assert_int_equal(count(page, "</script>"), 2);
    assert_int_equal(count(page, "</pre>"), 1);
    assert_non_null(strstr(page, "# &lt;/pre&gt;"));
    assert_non_null(strstr(page, "\\u003c/script\\u003e"));
    free(page);
    for (size_t i = 0; i < 2; i++) {
        char *svg = text_of(i ? "nasty/charts/curves.svg" : "nasty/charts/overlap.svg");
        assert_null(strstr(svg, "<img"));
        assert_non_null(strstr(svg, "&lt;/script&gt;"));
        free(svg);
    }
    scant_ctx_free(ctx);
}

/* ---- images ------------------------------------------------------------------------ */

static void images_are_those_of_the_first_picks(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(1);
    unsigned char pixels[3 * 2 * 2] = {0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23};
    buffer b = npy(1, NPY("|u1", "(3, 2, 2, 1)"), pixels, sizeof pixels);
    const char *path = folder("sheet", CURVE "a,5,0,1,0.5,1,1,1\na,5,1,4,0.5,1,1,1\n",
                              PICKS "a,5,0,0,7,1,0,0\na,5,1,0,30,1,0,1\na,5,1,1,8,1,0,1\n"
                                    "a,5,1,2,10,1,0,0\n");
    put_text("sheet/thumbnails.csv",
             "row,index,label,name\n0,10,0,shirt\n2,30,1,bag\n1,7,0,initial\n");
    put_buffer("sheet/thumbnails.npy", &b);
    report_results r;
    report_images images;
    assert_int_equal(report_results_open(ctx, &path, 1, &r), SCANT_OK);
    assert_int_equal(report_images_open(&r, 0, &images), SCANT_OK);
    report_sheet sheet = report_sheet_of(&r, 0);
    assert_int_equal(sheet.n, 2); /* 8 has no image, 7 is in the initial set */
    assert_true(sheet.items[0]->index == 30 && sheet.items[1]->index == 10);
    assert_true(sheet.ranks[0] == 1 && sheet.ranks[1] == 3 && sheet.seed == 5);
    report_images_close(&images);
    report_results_close(&r);
    assert_reports(ctx, path);
    char *page = text_of("sheet/report.html");
    assert_non_null(strstr(page, "data:image/png;base64,iVBORw0KGgo"));
    assert_int_equal(count(page, "<i role=\"img\""), 2);
    assert_non_null(strstr(page, "pick 3, sample 10: shirt"));
    free(page);
    scant_ctx_free(ctx);
}

static void wrong_images_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *header, *csv, *says;
        size_t size;
    } cases[] = {
        {NPY("<f4", "(1, 1, 1, 1)"), "row,index,label\n0,1,0\n", "array of bytes", 4},
        {NPY("|u1", "(2, 2)"), "row,index,label\n0,1,0\n", "array of bytes", 4},
        {NPY("|u1", "(1, 65, 1, 1)"), "row,index,label\n0,1,0\n", "65 x 1", 65},
        {NPY("|u1", "(1, 2, 1, 2)"), "row,index,label\n0,1,0\n", "2 channels", 4},
        {NPY("|u1", "(1, 0, 1, 1)"), "row,index,label\n0,1,0\n", "0 x 1", 0},
        {NPY("|u1", "(1, 2, 2, 1)"), "row,index,label\n1,1,0\n", "names row 1", 4},
    };
    scant_ctx *ctx = ctx_threads(1);
    const char *path = folder("wrong", CURVE "a,0,0,1,0.5,1,1,1\n", PICKS);
    unsigned char zeros[128] = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        buffer b = npy(1, cases[i].header, zeros, cases[i].size);
        put_buffer("wrong/thumbnails.npy", &b);
        put_text("wrong/thumbnails.csv", cases[i].csv);
        assert_int_equal(scant_report(ctx, &path, 1, NULL), SCANT_EINPUT);
        if (!strstr(scant_ctx_errmsg(ctx), cases[i].says))
            fail_msg("message \"%s\" does not contain \"%s\"", scant_ctx_errmsg(ctx),
                     cases[i].says);
    }
    scant_ctx_free(ctx);
}

/* ---- several folders --------------------------------------------------------------- */

static void folders_are_merged_into_a_new_one(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(1);
    const char *dirs[] = {
        folder("east", CURVE "a,0,0,10,0.1,1,1,1\n", PICKS "a,0,0,0,1,1,0,0\n"),
        folder("west", CURVE "a,0,0,10,0.3,1,1,1\nb,0,0,10,0.3,1,1,1\n", NULL)};
    const char *out = path_of("joined");
    assert_int_equal(scant_report(ctx, dirs, 2, NULL), SCANT_EUSAGE);
    assert_int_equal(scant_report(ctx, dirs, 2, dirs[1]), SCANT_EUSAGE);
    assert_says(ctx, dirs[1], "one of the folders");
    assert_int_equal(scant_report(ctx, dirs, 0, out), SCANT_EUSAGE);
    assert_int_equal(scant_report(ctx, dirs, 2, out), SCANT_OK);
    assert_int_equal(scant_report(ctx, dirs, 2, out), SCANT_OK); /* and again */
    char *text = text_of("joined/curve.csv");
    assert_string_equal(text, CURVE "a (east),0,0,10,0.1,1,1,1\n"
                                    "a (west),0,0,10,0.3,1,1,1\nb,0,0,10,0.3,1,1,1\n");
    free(text);
    text = text_of("joined/sources.txt");
    assert_int_equal(count(text, "\n"), 2);
    free(text);
    assert_int_equal(scant_report(ctx, &out, 1, NULL), SCANT_OK); /* a merged folder */
    /* existing results are not overwritten */
    assert_int_equal(scant_report(ctx, dirs, 1, dirs[1]), SCANT_EUSAGE);
    assert_says(ctx, dirs[1], "results of its own");
    assert_null(text_of("west/summary.csv"));
    scant_ctx_free(ctx);
}

static void failed_writes_are_reported(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(1);
    const char *path = folder("blocked", CURVE "a,0,0,10,0.1,1,1,1\n", NULL);
    put_text("blocked/charts", "a file");
    assert_int_equal(scant_report(ctx, &path, 1, NULL), SCANT_EIO);
    assert_says(ctx, path, "cannot be created");
    assert_int_equal(scant_report(ctx, &path, 1, path_of("blocked/charts/below")),
                     SCANT_EIO);
    assert_int_equal(scant_report(ctx, &path, 1, path_of("blocked/charts")), SCANT_EIO);
    scant_ctx_free(ctx);
}

static void parent_folders_are_created(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(1);
    const char *path = usual_results("below"), *out = path_of("new/and/deep/");
    assert_int_equal(scant_report(ctx, &path, 1, out), SCANT_OK);
    char *page = text_of("new/and/deep/report.html");
    assert_non_null(page);
    free(page);
    scant_ctx_free(ctx);
}

/* With one strategy there are no differences. Other files stay. */
static void charts_of_earlier_results_are_removed(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(1);
    const char *path = usual_results("again");
    assert_reports(ctx, path);
    put_text("again/charts/mine.svg", "<svg/>");
    assert_reports(ctx, folder("again", CURVE "a,0,0,10,0.1,1,1,1\n", PICKS));
    static const char *const gone[] = {"differences", "efficiency", "overlap", "balance"};
    for (size_t i = 0; i < 4; i++) {
        char name[64];
        snprintf(name, sizeof name, "again/charts/%s.svg", gone[i]);
        assert_null(text_of(name));
    }
    char *mine = text_of("again/charts/mine.svg"), *curves;
    assert_string_equal(mine, "<svg/>");
    assert_non_null(curves = text_of("again/charts/curves.svg"));
    free(mine);
    free(curves);
    scant_ctx_free(ctx);
}

/* ---- claims of a page -------------------------------------------------------------- */

/* random has 0.5 with three seeds, `sure` is 0.010, 0.011 and 0.013 above it (p = 0.006),
 * and `others` more strategies are equal to random on average. */
static char *page_of_many(scant_ctx *ctx, size_t others) {
    static char curve[8192];
    size_t c = (size_t)snprintf(curve, sizeof curve,
                                CURVE "random,0,0,10,0.5,1,1,1\nrandom,1,0,10,0.5,1,1,1\n"
                                      "random,2,0,10,0.5,1,1,1\nsure,0,0,10,0.51,1,1,1\n"
                                      "sure,1,0,10,0.511,1,1,1\n"
                                      "sure,2,0,10,0.513,1,1,1\n");
    for (size_t i = 0; i < others; i++)
        c += (size_t)snprintf(curve + c, sizeof curve - c,
                              "s%zu,0,0,10,0.49,1,1,1\ns%zu,1,0,10,0.5,1,1,1\n"
                              "s%zu,2,0,10,0.51,1,1,1\n",
                              i, i, i);
    char name[32], file[64];
    snprintf(name, sizeof name, "claims%zu", others);
    snprintf(file, sizeof file, "%s/report.html", name);
    assert_reports(ctx, folder(name, curve, NULL));
    return text_of(file);
}

static void
only_differences_that_are_significant_after_correction_are_marked(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(1);
    char *page = page_of_many(ctx, 0);
    assert_int_equal(count(page, "<span class=\"good\">+1.13&#8201;*</span>"), 1);
    free(page);
    page = page_of_many(ctx, 11); /* 12 times 0.006 is more than 0.05 */
    assert_int_equal(count(page, "class=\"good\""), 0);
    assert_int_equal(count(page, "class=\"bad\""), 0);
    assert_non_null(strstr(page, "+1.13"));
    assert_non_null(strstr(page, "An interval alone"));
    free(page);
    scant_ctx_free(ctx);
}

static void a_page_says_what_cannot_be_compared(void **state) {
    (void)state;
    static const struct {
        const char *curve, *picks, *says[3];
    } cases[] = {
        /* the same difference with both seeds */
        {CURVE "random,0,0,10,0.5,1,1,1\nrandom,1,0,10,0.4,1,1,1\n"
               "b,0,0,10,0.6,1,1,1\nb,1,0,10,0.5,1,1,1\n",
         NULL,
         {"the same for all 2 seeds: no interval", "no spread", "+10.00, n = 2"}},
        /* fewer labels per round */
        {CURVE "random,0,0,10,0.5,1,1,1\nrandom,0,1,30,0.6,1,1,1\n"
               "b,0,0,10,0.5,1,1,1\nb,0,1,20,0.7,1,1,1\n",
         NULL,
         {"compared from 10 to 20 labels, as far as both", "1 of 2 runs ends with fewer",
          "one seed: no interval"}},
        /* another initial set */
        {CURVE "random,0,0,1,0.5,1,1,1\nb,0,0,1,0.6,1,1,1\n",
         PICKS "random,0,0,0,1,1,0,0\nb,0,0,0,2,1,0,0\n",
         {"No strategy has a run that can be compared", "the two runs began with other",
          "<td class=\"soft\">began with other samples</td>"}},
        /* only one of two runs has round 1 */
        {CURVE "random,0,0,10,0.25,1,1,1\nrandom,0,1,20,0.75,1,1,1\n"
               "random,1,0,10,0.25,1,1,1\n",
         NULL,
         {"<td>25.00 <span class=\"soft\">\xc2\xb1 0.00</span></td><td>10</td><td>2</td>",
          "There is no other strategy than random", "more than one round that all runs"}},
        {CURVE "random,0,0,10,0.5,1,1,1\nrandom,0,1,30,0.6,1,1,1\n"
               "b,0,0,10,0.5,1,1,1\nb,0,1,30,0.55,1,1,1\n",
         NULL,
         {"not with 30 labels", "<td>not with 30</td>", "-2.50, n = 1"}},
    };
    scant_ctx *ctx = ctx_threads(1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char name[32], file[64];
        snprintf(name, sizeof name, "unknown%zu", i);
        assert_reports(ctx, folder(name, cases[i].curve, cases[i].picks));
        snprintf(file, sizeof file, "%s/report.html", name);
        char *page = text_of(file);
        for (size_t k = 0; k < 3; k++)
            if (!strstr(page, cases[i].says[k]))
                fail_msg("case %zu: %s", i, cases[i].says[k]);
        assert_null(strstr(page, "nan"));
        free(page);
    }
    scant_ctx_free(ctx);
}

typedef struct warnings {
    size_t count;
    char text[512];
} warnings;

static void log_warning(void *self, scant_log_level level, const char *text) {
    warnings *h = self;
    assert_int_equal(level, SCANT_LOG_WARNING);
    h->count++;
    snprintf(h->text, sizeof h->text, "%s", text);
}

#define EXPERIMENT(train, strategies, more)                                              \
    "[data]\ntrain = " train "\npool = 100\n[loop]\nstrategies = " strategies            \
    "\nseeds = 1"                                                                        \
    "\n" more

static void differing_experiments_are_reported(void **state) {
    (void)state;
    static const struct {
        const char *a, *b, *differ;
    } cases[] = {
        {EXPERIMENT("x.npy", "a", ""), EXPERIMENT("x.npy", "b,c", "b.k = 3\n"), NULL},
        {EXPERIMENT("x.npy", "a", ""), EXPERIMENT("x.npy", "b,\n    c", ""), NULL},
        {EXPERIMENT("x.npy", "a", ""), EXPERIMENT("y.npy", "b", ""), "data.train"},
        {EXPERIMENT("long/x\n    .npy", "a", ""), EXPERIMENT("long/x.npy", "b", ""),
         NULL},
        {EXPERIMENT("long/x\n    .npy", "a", ""), EXPERIMENT("long/x\n    .csv", "b", ""),
         "data.train"},
        {EXPERIMENT("x.npy", "a", "a.k = 1\nbatch = 5\n"),
         EXPERIMENT("y.npy", "a", "a.k = 2\nbatch = 5"), "data.train, loop.a.k"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        warnings h = {0};
        scant_ctx *ctx;
        scant_ctx_opts opts = {.threads = 1, .user = &h, .log = log_warning};
        assert_int_equal(scant_ctx_create(&opts, &ctx), SCANT_OK);
        const char *dirs[] = {folder("left", CURVE "a,0,0,10,0.1,1,1,1\n", NULL),
                              folder("right", CURVE "b,0,0,10,0.3,1,1,1\n", NULL)};
        put_text("left/experiment.ini", cases[i].a);
        put_text("right/experiment.ini", cases[i].b);
        assert_int_equal(scant_report(ctx, dirs, 2, path_of("sides")), SCANT_OK);
        char *page = text_of("sides/report.html"), expected[128];
        assert_int_equal(strstr(page, "The experiments differ") != NULL,
                         cases[i].differ != NULL);
        assert_int_equal(h.count, cases[i].differ != NULL);
        if (cases[i].differ) {
            snprintf(expected, sizeof expected, "differ in %s:", cases[i].differ);
            if (!strstr(h.text, expected)) fail_msg("%s", h.text);
            snprintf(expected, sizeof expected, "differ</b> in %s:", cases[i].differ);
            assert_non_null(strstr(page, expected));
        }
        free(page);
        scant_ctx_free(ctx);
    }
}

/* One row per level. Searching all levels for each row would take half a minute. */
static void a_long_table_is_written_fast(void **state) {
    (void)state;
    enum { LEVELS = 300000 };
    scant_ctx *ctx = ctx_threads(1);
    report_level *levels = calloc(LEVELS, sizeof *levels);
    assert_non_null(levels);
    for (size_t i = 0; i < LEVELS; i++)
        levels[i] = (report_level){.labels = i, .runs = 1};
    report_curve curves[] = {{levels, LEVELS}, {levels, 1}};
    report_strategy strategies[] = {{.name = "a"}, {.name = "b"}};
    report_results r = {.strategies = strategies, .n_strategies = 2};
    report_measures m = {.curves = curves};
    report_view view = {.r = &r, .m = &m, .baseline = 2};
    scant__text text;
    scant__text_init(&text, ctx);
    clock_t begin = clock();
    page_table_curves(&text, &view);
    assert_true((double)(clock() - begin) / CLOCKS_PER_SEC < 10);
    assert_false(text.failed);
    size_t rows = 0; /* not by strstr(): sanitizers check the whole text in each call */
    for (size_t i = 0; i + 4 <= text.size; i++)
        rows += memcmp(text.data + i, "<tr>", 4) == 0;
    assert_int_equal(rows, LEVELS + 1);
    scant__text_end(&text);
    free(levels);
    scant_ctx_free(ctx);
}

static void failed_allocations_leak_nothing(void **state) {
    (void)state;
    const char *path = usual_results("torture");
    unsigned char pixel = 7;
    buffer b = npy(1, NPY("|u1", "(1, 1, 1, 1)"), &pixel, 1);
    put_buffer("torture/thumbnails.npy", &b);
    put_text("torture/thumbnails.csv", "row,index,label\n0,1,0\n");
    put_text("torture/trainings.csv", TRAININGS "badge,0,1,2,loss,0,1\n");
    for (size_t fail_at = 0;; fail_at++) {
        memory m;
        scant_ctx *ctx = ctx_counting(&m);
        m.calls = 0;
        m.fail_at = fail_at;
        scant_trainings *t = NULL;
        scant_status status = scant_report(ctx, &path, 1, NULL);
        if (status == SCANT_OK) status = scant_trainings_read(ctx, &path, 1, &t);
        if (status != SCANT_OK) assert_int_equal(status, SCANT_ENOMEM);
        scant_trainings_free(ctx, t);
        ctx_end(ctx, &m);
        if (status != SCANT_OK) continue;
        assert_true(fail_at > 60);
        return;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_files_are_written_and_reproducible),
        cmocka_unit_test(charts_have_a_point_for_every_number),
        cmocka_unit_test(numbers_are_light_on_dark_cells_only),
        cmocka_unit_test(calibration_is_shown_before_and_after),
        cmocka_unit_test(collapsed_trainings_are_shown_first),
        cmocka_unit_test(the_list_of_trainings_is_bounded),
        cmocka_unit_test(trainings_of_several_folders_are_joined),
        cmocka_unit_test(theory_is_shown_as_means),
        cmocka_unit_test(points_match_the_axes),
        cmocka_unit_test(sparse_results_are_reported),
        cmocka_unit_test(markup_in_names_is_escaped),
        cmocka_unit_test(images_are_those_of_the_first_picks),
        cmocka_unit_test(wrong_images_are_refused),
        cmocka_unit_test(folders_are_merged_into_a_new_one),
        cmocka_unit_test(failed_writes_are_reported),
        cmocka_unit_test(parent_folders_are_created),
        cmocka_unit_test(charts_of_earlier_results_are_removed),
        cmocka_unit_test(
            only_differences_that_are_significant_after_correction_are_marked),
        cmocka_unit_test(a_page_says_what_cannot_be_compared),
        cmocka_unit_test(differing_experiments_are_reported),
        cmocka_unit_test(a_long_table_is_written_fast),
        cmocka_unit_test(failed_allocations_leak_nothing),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
