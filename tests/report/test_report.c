/* SPDX-License-Identifier: Apache-2.0
 *
 * The files that a report writes: which there are, what a page and its charts hold,
 * whatever the results are; that strange names stay text; that a failure leaves nothing
 * half done. How the page looks and that it asks for nothing is tested in a browser
 * (tests/browser).
 */
#include <math.h>
#include <sys/stat.h>

#include "data/support.h"
#include "report/chart.h"
#include "report/results.h"
#include "report/sheet.h"

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

/* A file's text; the caller frees it. NULL: it is not there. */
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
static const char *usual(const char *name) {
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

/* ---- what there is ----------------------------------------------------------------- */

static void every_file_is_there_and_the_same_again(void **state) {
    (void)state;
    static const char *const names[] = {
        "all/summary.csv",           "all/auc.csv",
        "all/overlap.csv",           "all/report.html",
        "all/charts/curves.svg",     "all/charts/areas.svg",
        "all/charts/time.svg",       "all/charts/differences.svg",
        "all/charts/efficiency.svg", "all/charts/overlap.svg",
        "all/charts/balance.svg"};
    scant_ctx *ctx = ctx_threads(1);
    const char *path = usual("all");
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
    scant_ctx_destroy(ctx);
}

/* The curve of a strategy is a path of as many places as it has numbers of labels. */
static void charts_have_a_place_for_every_number(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(1);
    assert_reports(ctx, usual("count"));
    char *svg = text_of("count/charts/curves.svg");
    assert_int_equal(count(svg, "class=\"line\""), 3);
    assert_int_equal(count(svg, "class=\"mark\""), 3 * 4);
    for (const char *at = strstr(svg, "class=\"line\""); at;
         at = strstr(at + 1, "class=\"line\"")) {
        size_t places = 0;
        for (const char *c = strstr(at, " d=\"") + 4; *c != '"'; c++)
            places += *c == 'M' || *c == 'L';
        assert_int_equal(places, 4);
    }
    free(svg);
    svg = text_of("count/charts/areas.svg");
    assert_int_equal(count(svg, "class=\"dot\""), 6); /* runs */
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
    scant_ctx_destroy(ctx);
}

/* Values lie where the axis says: 10 labels at its left end, 40 at its right. */
static void points_lie_where_the_axes_say(void **state) {
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
    scant_ctx_destroy(ctx);
}

static void little_is_enough(void **state) {
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
    scant_ctx_destroy(ctx);
}

/* ---- text from files --------------------------------------------------------------- */

static void names_stay_text(void **state) {
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
    scant_ctx_destroy(ctx);
}

/* ---- pictures ---------------------------------------------------------------------- */

static void pictures_are_those_of_the_first_picks(void **state) {
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
    report_pictures pictures;
    assert_int_equal(report_results_open(ctx, &path, 1, &r), SCANT_OK);
    assert_int_equal(report_pictures_open(&r, 0, &pictures), SCANT_OK);
    report_sheet sheet = report_sheet_of(&r, 0);
    assert_int_equal(sheet.n, 2); /* of 8 there is none, and 7 is of the initial set */
    assert_true(sheet.items[0]->index == 30 && sheet.items[1]->index == 10);
    assert_true(sheet.ranks[0] == 1 && sheet.ranks[1] == 3 && sheet.seed == 5);
    report_pictures_close(&pictures);
    report_results_close(&r);
    assert_reports(ctx, path);
    char *page = text_of("sheet/report.html");
    assert_non_null(strstr(page, "data:image/png;base64,iVBORw0KGgo"));
    assert_int_equal(count(page, "<i role=\"img\""), 2);
    assert_non_null(strstr(page, "pick 3, sample 10: shirt"));
    free(page);
    scant_ctx_destroy(ctx);
}

static void pictures_that_are_wrong_are_refused(void **state) {
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
            fail_msg("\"%s\" should say \"%s\"", scant_ctx_errmsg(ctx), cases[i].says);
    }
    scant_ctx_destroy(ctx);
}

/* ---- several folders --------------------------------------------------------------- */

static void folders_are_put_together_elsewhere(void **state) {
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
    assert_int_equal(scant_report(ctx, &out, 1, NULL), SCANT_OK); /* of itself */
    /* results are not written over */
    assert_int_equal(scant_report(ctx, dirs, 1, dirs[1]), SCANT_EUSAGE);
    assert_says(ctx, dirs[1], "results of its own");
    assert_null(text_of("west/summary.csv"));
    scant_ctx_destroy(ctx);
}

static void what_cannot_be_written_is_told(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(1);
    const char *path = folder("blocked", CURVE "a,0,0,10,0.1,1,1,1\n", NULL);
    put_text("blocked/charts", "a file");
    assert_int_equal(scant_report(ctx, &path, 1, NULL), SCANT_EIO);
    assert_says(ctx, path, "cannot be made");
    assert_int_equal(scant_report(ctx, &path, 1, path_of("no/such/place")), SCANT_EIO);
    scant_ctx_destroy(ctx);
}

static void a_report_without_memory_gives_everything_back(void **state) {
    (void)state;
    const char *path = usual("torture");
    unsigned char pixel = 7;
    buffer b = npy(1, NPY("|u1", "(1, 1, 1, 1)"), &pixel, 1);
    put_buffer("torture/thumbnails.npy", &b);
    put_text("torture/thumbnails.csv", "row,index,label\n0,1,0\n");
    for (size_t fail_at = 0;; fail_at++) {
        memory m;
        scant_ctx *ctx = ctx_counting(&m);
        m.calls = 0;
        m.fail_at = fail_at;
        scant_status status = scant_report(ctx, &path, 1, NULL);
        if (status != SCANT_OK) assert_int_equal(status, SCANT_ENOMEM);
        ctx_end(ctx, &m);
        if (status != SCANT_OK) continue;
        assert_true(fail_at > 60);
        return;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_file_is_there_and_the_same_again),
        cmocka_unit_test(charts_have_a_place_for_every_number),
        cmocka_unit_test(points_lie_where_the_axes_say),
        cmocka_unit_test(little_is_enough),
        cmocka_unit_test(names_stay_text),
        cmocka_unit_test(pictures_are_those_of_the_first_picks),
        cmocka_unit_test(pictures_that_are_wrong_are_refused),
        cmocka_unit_test(folders_are_put_together_elsewhere),
        cmocka_unit_test(what_cannot_be_written_is_told),
        cmocka_unit_test(a_report_without_memory_gives_everything_back),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
