/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading results: rows in any order, merged folders, and malformed files.
 */
#include <math.h>
#include <sys/stat.h>

#include "data/support.h"
#include "report/results.h"
#include "scant/train.h"

#define CURVE "strategy,seed,round,labels,accuracy,loss,train_seconds,select_seconds\n"
#define PICKS "strategy,seed,round,rank,index,weight,score,label\n"

static report_results parse(scant_ctx *ctx, const char *curve, const char *picks) {
    report_results r;
    scant_status status = report_results_parse(
        ctx,
        (report_bytes[REPORT_FILES]){{curve, strlen(curve)},
                                     {picks, picks ? strlen(picks) : 0}},
        &r);
    if (status != SCANT_OK) fail_msg("%s", scant_ctx_errmsg(ctx));
    return r;
}

static scant_status parse_curve(scant_ctx *ctx, const char *curve, size_t size,
                                report_results *out) {
    return report_results_parse(ctx, (report_bytes[REPORT_FILES]){{curve, size}}, out);
}

static void rows_and_columns_may_be_in_any_order(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(1);
    report_results r =
        parse(ctx,
              "\xef\xbb\xbfround,extra,strategy,seed,labels,accuracy,loss,train_seconds,"
              "select_seconds,best_accuracy\r\n"
              "1,x,\"b,\"\"q\"\"\",7,30,0.5,nan,1,2,0.6\r\n"
              "0,y,\"b,\"\"q\"\"\",7,20,.25,inf,1,2,\n\n"
              "0,z,a,18446744073709551615,20,1,0,0,0,1",
              PICKS "a,18446744073709551615,0,1,9007199254740992,1,0,3\n"
                    "\"b,\"\"q\"\"\",7,1,1,5,1e-3,-2.5,-1\n"
                    "\"b,\"\"q\"\"\",7,1,0,4,1,0,\n"
                    "\"b,\"\"q\"\"\",7,0,0,3,1,0,2\n");
    assert_int_equal(r.n_strategies, 2);
    assert_string_equal(r.strategies[0].name, "b,\"q\"");
    assert_string_equal(r.strategies[1].name, "a");
    const report_run *run = &r.runs[0];
    assert_int_equal(run->n_points, 2);
    assert_true(run->points[0].labels == 20 && run->points[1].labels == 30);
    assert_true(run->points[0].accuracy == 0.25 && isnan(run->points[0].best));
    assert_true(run->points[1].best == 0.6 && isnan(run->points[1].loss));
    assert_true(r.has_best && !r.regression);
    assert_int_equal(run->n_picks, 3);
    assert_true(run->picks[0].index == 3 && run->picks[1].index == 4);
    assert_true(run->picks[2].index == 5 && run->picks[2].score == -2.5);
    assert_true(isnan(run->picks[1].label) && run->picks[2].label == -1);
    assert_true(r.runs[1].seed == UINT64_MAX);
    assert_true(r.runs[1].picks[0].index == (uint64_t)1 << 53);
    report_results_close(&r);
    scant_ctx_free(ctx);
}

/* A round's picks are written before it is trained: they can be ahead of the curve. */
static void picks_ahead_of_the_curve_are_left_out(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(1);
    report_results r = parse(ctx, CURVE "a,0,0,10,0.1,1,1,1\na,1,0,10,0.1,1,1,1\n",
                             PICKS "a,0,0,0,1,1,0,0\na,0,1,0,2,1,0,0\n"
                                   "a,1,0,0,3,1,0,0\nb,0,0,0,4,1,0,0\na,9,0,0,5,1,0,0\n");
    assert_int_equal(r.n_picks, 2);
    assert_int_equal(r.runs[0].n_picks, 1);
    assert_true(r.runs[0].picks->index == 1 && r.runs[1].picks->index == 3);
    report_results_close(&r);
    r = parse(ctx, CURVE, PICKS);
    assert_int_equal(r.n_strategies, 0);
    report_results_close(&r);
    r = parse(ctx, CURVE "a,0,0,10,0.1,1,1,1\n", NULL);
    assert_int_equal(r.n_picks, 0);
    report_results_close(&r);
    scant_ctx_free(ctx);
}

static void a_column_of_errors_means_regression(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(1);
    report_results r =
        parse(ctx,
              "strategy,seed,round,labels,accuracy,loss,train_seconds,select_seconds,"
              "error\na,0,0,10,,1,1,1,12.5\na,0,1,20,nan,1,1,1,11\n",
              NULL);
    assert_true(r.regression);
    assert_true(report_value(&r, &r.points[0]) == 12.5);
    report_results_close(&r);
    scant_ctx_free(ctx);
}

static void messages_name_file_and_line(void **state) {
    (void)state;
    static const struct {
        const char *curve, *picks, *file, *says;
    } cases[] = {
        {"", NULL, "curve.csv", "is empty"},
        {"strategy,seed\n", NULL, "curve.csv", "has no column 'round'"},
        {"strategy,strategy\n", NULL, "curve.csv", "two columns are named 'strategy'"},
        {CURVE "a,0,0,10,0.5,1,1\n", NULL, "curve.csv", "line 2 has 7 cells"},
        {CURVE "a,0,0,10,0.5,1,1,1,1\n", NULL, "curve.csv", "line 2 has 9 cells"},
        {CURVE "\n\na,0,0,10,1.5,1,1,1\n", NULL, "curve.csv",
         "line 4, column 'accuracy': a fraction from 0 to 1 is expected, not '1.5'"},
        {CURVE "a,0,0,10,,1,1,1\n", NULL, "curve.csv", "line 2: the accuracy is missing"},
        {"strategy,seed,round,labels,accuracy,loss,train_seconds,select_seconds,error\n"
         "a,0,0,10,,1,1,1,5\na,0,1,20,,1,1,1,nan\n",
         NULL, "curve.csv", "line 3: the error is missing"},
        {CURVE "a,0,0,1,0,1,1e101,1\n", NULL, "curve.csv", "from 0 to 1e100"},
        {CURVE "a,-1,0,10,0,1,1,1\n", NULL, "curve.csv", "column 'seed'"},
        {CURVE "a,18446744073709551616,0,10,0,1,1,1\n", NULL, "curve.csv",
         "column 'seed'"},
        {CURVE "a,0,0x1,10,0,1,1,1\n", NULL, "curve.csv", "column 'round'"},
        {CURVE "a,0,4294967295,10,0,1,1,1\n", NULL, "curve.csv",
         "column 'round': a whole number from 0 to 2^32 - 2 is expected"},
        {CURVE "a,0,0,9007199254740993,0,1,1,1\n", NULL, "curve.csv", "column 'labels'"},
        {CURVE "a,0,0,1,0,wide,1,1\n", NULL, "curve.csv", "column 'loss'"},
        {CURVE "a,0,0,1,0,1,-1,1\n", NULL, "curve.csv", "column 'train_seconds'"},
        {CURVE "a,0,0,1,0,1,1,nan\n", NULL, "curve.csv", "column 'select_seconds'"},
        {CURVE ",0,0,1,0,1,1,1\n", NULL, "curve.csv",
         "a name of 1 to 255 bytes is expected"},
        {CURVE "a,0,0,1,0,1,1,1\na,0,0,2,0,1,1,1\n", NULL, "results/curve.csv",
         "line 3: round 0 of a with seed 0 occurs twice"},
        {CURVE "a,0,0,9,0,1,1,1\na,0,1,8,0,1,1,1\n", NULL, "results/curve.csv",
         "line 3: 8 labels, but the round before had 9"},
        {CURVE "\"a,0\n", NULL, "curve.csv", "line 2 opens is never closed"},
        {CURVE, "", "picks.csv", "is empty"},
        {CURVE, PICKS "a,0,0,0,-5,1,0,0\n", "picks.csv", "column 'index'"},
        {CURVE, PICKS "a,0,0,0,5,one,0,0\n", "picks.csv", "column 'weight'"},
        {CURVE, PICKS "a,0,0,0,5,1,0,cat\n", "picks.csv", "column 'label'"},
        {CURVE, PICKS "a,0,0,4294967296,5,1,0,0\n", "picks.csv", "column 'rank'"},
    };
    scant_ctx *ctx = ctx_threads(1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        report_results r;
        const char *picks = cases[i].picks;
        assert_int_equal(
            report_results_parse(
                ctx,
                (report_bytes[REPORT_FILES]){{cases[i].curve, strlen(cases[i].curve)},
                                             {picks, picks ? strlen(picks) : 0}},
                &r),
            SCANT_EINPUT);
        assert_says(ctx, cases[i].file, cases[i].says);
    }
    report_results r;
    assert_int_equal(parse_curve(ctx, CURVE "\0", sizeof CURVE, &r), SCANT_EINPUT);
    assert_says(ctx, "curve.csv", "zero byte");
    scant_ctx_free(ctx);
}

#define BINS "strategy,seed,round,when,temperature,bin,count,confidence,accuracy\n"
#define TWO "a,0,0,1,0,1,1,1\na,0,1,2,0,1,1,1\n"

static scant_status parse_bins(scant_ctx *ctx, const char *bins, size_t size,
                               report_results *out) {
    return report_results_parse(
        ctx,
        (report_bytes[REPORT_FILES]){
            {CURVE TWO, strlen(CURVE TWO)}, {NULL, 0}, {bins, size}},
        out);
}

static void bins_are_read_in_any_order(void **state) {
    (void)state;
    static const char bins[] =
        BINS "a,0,1,after,1.5,15,4,0.99,0.75\na,0,1,before,1,15,3,1,1\n"
             "a,0,0,before,,2,1,0.1,0\na,0,1,before,1,3,2,0.2,0.5\n"
             "a,0,1,before,1,9,0,,\n"                               /* empty */
             "a,0,2,before,1,9,1,0.5,1\na,5,0,before,1,9,1,0.5,1\n" /* no such round */
             "b,0,0,before,1,9,1,0.5,1\n";
    scant_ctx *ctx = ctx_threads(1);
    report_results r;
    size_t n;
    assert_int_equal(parse_bins(ctx, bins, sizeof bins - 1, &r), SCANT_OK);
    assert_int_equal(r.n_bins, 4);
    const report_bin *b = report_bins_of(r.runs, 1, REPORT_BEFORE, &n);
    assert_int_equal(n, 2);
    assert_true(b[0].bin == 2 && b[1].bin == 14 && b[0].count == 2);
    b = report_bins_of(r.runs, 1, REPORT_AFTER, &n);
    assert_int_equal(n, 1);
    assert_true(b->temperature == 1.5 && b->confidence == 0.99 && b->accuracy == 0.75);
    b = report_bins_of(r.runs, 0, REPORT_BEFORE, &n);
    assert_true(n == 1 && b->bin == 1 && isnan(b->temperature));
    assert_null(report_bins_of(r.runs, 0, REPORT_AFTER, &n));
    assert_null(report_bins_of(r.runs, 2, REPORT_BEFORE, &n));
    report_results_close(&r);
    for (size_t size = 0; size < sizeof bins; size++) { /* truncated */
        scant_status status = parse_bins(ctx, bins, size, &r);
        assert_true(status == SCANT_OK || status == SCANT_EINPUT);
        if (status == SCANT_OK) report_results_close(&r);
    }
    scant_ctx_free(ctx);
}

static void wrong_bins_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *bins, *says;
    } cases[] = {
        {"", "is empty"},
        {"strategy,seed,round,when,bin,count,confidence\n", "no column 'accuracy'"},
        {BINS "a,0,0,during,1,1,1,0,0\n", "line 2, column 'when': before or after"},
        {BINS "a,0,0,before,1,0,1,0,0\n", "column 'bin': a number from 1 to 15"},
        {BINS "a,0,0,before,1,16,1,0,0\n", "column 'bin'"},
        {BINS "a,0,0,before,1,18446744073709551617,1,0,0\n", "column 'bin'"},
        {BINS "a,0,0,before,1,1,-1,0,0\n", "column 'count'"},
        {BINS "a,0,0,before,1,1,1,1.5,0\n", "column 'confidence'"},
        {BINS "a,0,0,before,1,1,1,nan,0\n", "needs a confidence and an accuracy"},
        {BINS "a,0,0,before,1,1,1,0,\n", "needs a confidence and an accuracy"},
        {BINS "a,0,0,before,-1,1,1,0,0\n", "column 'temperature'"},
        {BINS "a,0,4294967296,before,1,1,1,0,0\n", "column 'round'"},
        {BINS "a,0,0,after,2,1,1,0,0\na,0,0,before,1,1,1,0,0\na,0,0,after,2,1,1,0,0\n",
         "line 4: bin 1 of round 0 of a with seed 0 occurs twice"},
    };
    enum { CASES = sizeof cases / sizeof *cases };
    scant_ctx *ctx = ctx_threads(1);
    for (size_t i = 0; i < CASES; i++) {
        report_results r;
        if (parse_bins(ctx, cases[i].bins, strlen(cases[i].bins), &r) != SCANT_EINPUT)
            fail_msg("accepted: %s", cases[i].bins);
        assert_says(ctx, i + 1 < CASES ? "calibration.csv" : "results/calibration.csv",
                    cases[i].says);
    }
    scant_ctx_free(ctx);
}

/* Names have up to 255 bytes; there are up to 1024 strategies. */
#define TRAININGS "strategy,seed,round,trainings,signs,dead,gradient_norm\n"

static scant_status parse_trainings(scant_ctx *ctx, const char *rows, size_t size,
                                    report_results *out) {
    return report_results_parse(
        ctx,
        (report_bytes[REPORT_FILES]){[REPORT_CURVE] = {CURVE TWO, strlen(CURVE TWO)},
                                     [REPORT_TRAININGS] = {rows, size}},
        out);
}

static void trainings_are_read_in_any_order(void **state) {
    (void)state;
    static const char rows[] =
        TRAININGS "a,0,1,2,dead-units loss,0.95,0\n"
                  "a,0,2,1,loss,1,1\na,5,0,1,loss,1,1\nb,0,0,1,loss,1,1\n" /* unknown */
                  "a,0,0,1,,,inf\n";
    scant_ctx *ctx = ctx_threads(1);
    report_results r;
    assert_int_equal(parse_trainings(ctx, rows, sizeof rows - 1, &r), SCANT_OK);
    const report_point *p = r.runs->points;
    assert_true(p[0].trainings == 1 && !p[0].signs && !report_collapsed(&p[0]));
    assert_true(isnan(p[0].dead) && isnan(p[0].gradient_norm));
    assert_true(p[1].trainings == 2 && report_collapsed(&p[1]));
    assert_true(p[1].signs == (SCANT_SIGN_DEAD | SCANT_SIGN_LOSS));
    assert_true(p[1].dead == 0.95 && p[1].gradient_norm == 0);
    report_results_close(&r);
    for (size_t size = 0; size < sizeof rows; size++) { /* truncated */
        scant_status status = parse_trainings(ctx, rows, size, &r);
        assert_true(status == SCANT_OK || status == SCANT_EINPUT);
        if (status == SCANT_OK) report_results_close(&r);
    }
    /* without the file, nothing is known */
    assert_int_equal(parse_trainings(ctx, NULL, 0, &r), SCANT_OK);
    assert_true(!r.points->trainings && !r.points->signs && isnan(r.points->dead));
    report_results_close(&r);
    scant_ctx_free(ctx);
}

/* Rows of curve.csv in no order, and of trainings.csv in another one. */
static void trainings_belong_to_their_run_and_round(void **state) {
    (void)state;
    enum { RUNS = 3, ROUNDS = 40, ALL = RUNS * ROUNDS };
    static char curve[1 << 14], trainings[1 << 14];
    size_t c = (size_t)snprintf(curve, sizeof curve, CURVE);
    size_t t = (size_t)snprintf(trainings, sizeof trainings, TRAININGS);
    for (size_t i = 0; i < ALL; i++) {
        size_t k = i * 7 % ALL, j = i * 11 % ALL; /* each is a permutation */
        c += (size_t)snprintf(curve + c, sizeof curve - c, "a,%zu,%zu,%zu,0.5,1,1,1\n",
                              k % RUNS, k / RUNS, k / RUNS + 1);
        if (j % 5 == 0) continue; /* no row */
        t += (size_t)snprintf(trainings + t, sizeof trainings - t,
                              "a,%zu,%zu,1,,0,%zu\na,%zu,%zu,1,,0,0\n", j % RUNS,
                              j / RUNS, j, j % RUNS, ROUNDS + j); /* the other: unknown */
    }
    scant_ctx *ctx = ctx_threads(1);
    report_results r;
    assert_int_equal(
        report_results_parse(
            ctx,
            (report_bytes[REPORT_FILES]){
                [REPORT_CURVE] = {curve, c}, [REPORT_TRAININGS] = {trainings, t}},
            &r),
        SCANT_OK);
    assert_int_equal(r.n_runs, RUNS);
    for (size_t i = 0; i < ALL; i++) {
        const report_point *p = &r.runs[i % RUNS].points[i / RUNS];
        assert_int_equal(p->round, i / RUNS);
        assert_int_equal(p->trainings, i % 5 != 0);
        if (i % 5) assert_true(p->gradient_norm == (double)i);
    }
    report_results_close(&r);
    scant_ctx_free(ctx);
}

static void wrong_trainings_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *rows, *says;
    } cases[] = {
        {"", "is empty"},
        {"strategy,seed,round,signs\n", "no column 'trainings'"},
        {"strategy,seed,round,trainings\n", "no column 'signs'"},
        {TRAININGS "a,0,0,0,,0,0\n",
         "line 2, column 'trainings': at least 1 is expected, not 0"},
        {TRAININGS "a,0,0,-1,,0,0\n", "column 'trainings'"},
        {TRAININGS "a,0,0,1,\x01"
                   "bad,0,0\n",
         "line 2, column 'signs': names of signs such as 'dead-units loss' are expected, "
         "not '?bad'"},
        {TRAININGS "a,0,0,1,loss loss,0,0\n", "column 'signs'"},
        {TRAININGS "z,0,0,1,los,0,0\n", "column 'signs'"}, /* also of unknown runs */
        {TRAININGS "a,0,0,1,,1.01,0\n", "column 'dead': a fraction from 0 to 1"},
        {TRAININGS "a,0,0,1,,0,-1\n", "column 'gradient_norm': a number from 0 to 1e100"},
        {TRAININGS "a,0,0,1,,0,0\na,0,1,1,,0,0\na,0,0,1,,0,0\n",
         "line 4: round 0 of a with seed 0 occurs twice"},
    };
    scant_ctx *ctx = ctx_threads(1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        report_results r;
        assert_int_equal(parse_trainings(ctx, cases[i].rows, strlen(cases[i].rows), &r),
                         SCANT_EINPUT);
        assert_says(ctx, "trainings.csv", cases[i].says);
    }
    scant_ctx_free(ctx);
}

static void names_and_strategies_are_limited(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(1);
    report_results r;
    static char text[65536];
    char name[300];
    memset(name, 'n', sizeof name);
    name[255] = 0;
    snprintf(text, sizeof text, CURVE "%s,0,0,1,0,1,1,1\n", name);
    r = parse(ctx, text, NULL);
    assert_int_equal(strlen(r.strategies[0].name), 255);
    report_results_close(&r);
    snprintf(text, sizeof text, CURVE "%sx,0,0,1,0,1,1,1\n", name);
    assert_int_equal(parse_curve(ctx, text, strlen(text), &r), SCANT_EINPUT);
    size_t used = (size_t)snprintf(text, sizeof text, CURVE);
    for (int i = 0; i < 1025; i++)
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "s%d,0,0,1,0,1,1,1\n", i);
    assert_int_equal(parse_curve(ctx, text, used, &r), SCANT_EINPUT);
    assert_says(ctx, "curve.csv", "more than 1024 strategies");
    scant_ctx_free(ctx);
}

/* ---- folders ----------------------------------------------------------------------- */

static void put_text(const char *name, const char *text) {
    put(name, text, strlen(text));
}

static const char *folder(const char *name, const char *curve, const char *picks) {
    char file[64];
    const char *path = path_of(name);
    mkdir(path, 0777);
    snprintf(file, sizeof file, "%s/curve.csv", name);
    put(file, curve, strlen(curve));
    snprintf(file, sizeof file, "%s/picks.csv", name);
    if (picks) put(file, picks, strlen(picks));
    return path_of(name);
}

static void folders_are_merged_by_seed_or_kept_apart(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(1);
    const char *paths[] = {
        folder("one", CURVE "random,0,0,10,0.1,1,1,1\nbadge,0,0,10,0.2,1,1,1\n", NULL),
        folder("two",
               CURVE "npc,0,0,10,0.3,1,1,1\nrandom,1,0,10,0.4,1,1,1\n"
                     "badge,1,0,10,0.5,1,1,1\nbadge,0,0,10,0.6,1,1,1\n",
               PICKS "badge,0,0,0,77,1,0,0\n"),
    };
    report_results r;
    assert_int_equal(report_results_open(ctx, paths, 2, &r), SCANT_OK);
    static const char *const names[] = {"random", "badge (one)", "npc", "badge (two)"};
    static const size_t runs[] = {2, 1, 1, 2};
    assert_int_equal(r.n_strategies, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(r.strategies[i].name, names[i]);
        assert_int_equal(r.strategies[i].n_runs, runs[i]);
    }
    assert_true(r.strategies[0].runs[1].points->accuracy == 0.4);
    assert_true(r.strategies[3].runs[0].seed == 0 && r.strategies[3].runs[1].seed == 1);
    assert_true(r.strategies[3].runs[0].points->accuracy == 0.6);
    assert_true(r.strategies[3].runs[0].picks->index == 77);
    assert_int_equal(report_strategy_find(&r, "npc"), 2);
    assert_int_equal(report_strategy_find(&r, "badge"), 4);
    report_results_close(&r);

    /* folders of the same name are told apart by their paths */
    mkdir(path_of("deep"), 0777);
    const char *alike[] = {paths[0],
                           folder("deep/one", CURVE "badge,0,0,10,0.6,1,1,1\n", NULL)};
    assert_int_equal(report_results_open(ctx, alike, 2, &r), SCANT_OK);
    assert_non_null(strstr(r.strategies[1].name, "/one)"));
    assert_non_null(strstr(r.strategies[2].name, "/deep/one)"));
    report_results_close(&r);
    scant_ctx_free(ctx);
}

static void unsuitable_folders_are_refused(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(1);
    report_results r;
    const char *good = folder("good", CURVE "a,0,0,10,0.1,1,1,1\n", NULL);
    mkdir(path_of("empty"), 0777);
    const char *absent[] = {path_of("absent")}, *file[] = {put("file", "x", 1)};
    const char *empty[] = {path_of("empty")}, *twice[] = {good, path_of("./good/")};
    assert_int_equal(report_results_open(ctx, absent, 1, &r), SCANT_EINPUT);
    assert_says(ctx, absent[0], "No such file");
    assert_int_equal(report_results_open(ctx, file, 1, &r), SCANT_EINPUT);
    assert_says(ctx, file[0], "is not a folder");
    assert_int_equal(report_results_open(ctx, empty, 1, &r), SCANT_EINPUT);
    assert_says(ctx, empty[0], "no curve.csv");
    assert_int_equal(report_results_open(ctx, twice, 2, &r), SCANT_EUSAGE);
    assert_says(ctx, twice[1], "given twice");
    folder("numbers",
           "strategy,seed,round,labels,accuracy,loss,train_seconds,select_seconds,error\n"
           "a,5,0,10,,1,1,1,2\n",
           NULL);
    const char *mixed[] = {good, path_of("numbers")};
    assert_int_equal(report_results_open(ctx, mixed, 2, &r), SCANT_EINPUT);
    assert_says(ctx, mixed[1], "the folders have both");
    scant_ctx_free(ctx);
}

static void class_names_and_thumbnails_are_read(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(1);
    report_results r;
    char number[32];
    const char *paths[] = {folder("named", CURVE "a,0,0,10,0.1,1,1,1\n", NULL)};
    put_text("named/classes.csv", "label,name,count\n2,bag,30\n0,\"shirt, long\",10\n");
    put_text("named/thumbnails.csv", "row,index,label\n1,9,2\n0,4,0\n");
    put("named/experiment.ini", "[loop]\0\n", 8);
    assert_int_equal(report_results_open(ctx, paths, 1, &r), SCANT_OK);
    assert_int_equal(r.n_classes, 3);
    assert_string_equal(report_class_name(&r, 0, number), "shirt, long");
    assert_string_equal(report_class_name(&r, 1, number), "1");
    assert_string_equal(report_class_name(&r, 5, number), "5");
    assert_true(r.classes[2].count == 30 && isnan(r.classes[1].count));
    assert_int_equal(r.folders[0].n_thumbnails, 2);
    assert_true(r.folders[0].thumbnails[0].index == 4); /* sorted */
    assert_string_equal(r.folders[0].experiment, "[loop]?\n");
    report_results_close(&r);
    put_text("named/classes.csv", "label,name\n100000,x\n");
    assert_int_equal(report_results_open(ctx, paths, 1, &r), SCANT_EINPUT);
    assert_non_null(strstr(scant_ctx_errmsg(ctx), "classes.csv: line 2"));
    put_text("named/classes.csv", "label,name\n0,x\n");
    put_text("named/thumbnails.csv", "row,index,label\n1,9\n");
    assert_int_equal(report_results_open(ctx, paths, 1, &r), SCANT_EINPUT);
    assert_non_null(strstr(scant_ctx_errmsg(ctx), "thumbnails.csv: line 2"));
    scant_ctx_free(ctx);
}

/* ---- memory ------------------------------------------------------------------------ */

static void failed_allocations_leak_nothing(void **state) {
    (void)state;
    const char *paths[] = {folder("mem", CURVE "a,0,0,10,0.1,1,1,1\nb,0,0,9,1,1,1,1\n",
                                  PICKS "a,0,0,0,1,1,0,0\n")};
    put_text("mem/classes.csv", "label,name\n0,x\n");
    put_text("mem/trainings.csv", TRAININGS "a,0,0,2,loss,0,1\n");
    put_text("mem/thumbnails.csv", "row,index,label,name\n0,1,0,x\n");
    for (size_t fail_at = 0;; fail_at++) {
        memory m;
        scant_ctx *ctx = ctx_counting(&m);
        report_results r;
        m.calls = 0;
        m.fail_at = fail_at;
        scant_status status = report_results_open(ctx, paths, 1, &r);
        bool done = status == SCANT_OK;
        if (!done) assert_int_equal(status, SCANT_ENOMEM);
        if (done) report_results_close(&r);
        ctx_end(ctx, &m);
        if (done) {
            assert_true(fail_at > 10);
            return;
        }
    }
}

/* A good file, truncated at every byte, is read or refused with a message. */
static void truncated_files_are_read_or_refused(void **state) {
    (void)state;
    const char curve[] = CURVE "a,0,0,10,0.125,1,1,1\n\"b\"\"\",1,0,20,0.5,-1.5e3,1,1\n";
    scant_ctx *ctx = ctx_threads(1);
    size_t good = 0;
    for (size_t size = 0; size < sizeof curve; size++) {
        report_results r;
        scant_status status = parse_curve(ctx, curve, size, &r);
        if (status == SCANT_OK) {
            good++;
            report_results_close(&r);
        } else {
            assert_int_equal(status, SCANT_EINPUT);
            assert_true(scant_ctx_errmsg(ctx)[0] != 0);
        }
    }
    assert_in_range(good, 4, 20);
    scant_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_and_columns_may_be_in_any_order),
        cmocka_unit_test(picks_ahead_of_the_curve_are_left_out),
        cmocka_unit_test(a_column_of_errors_means_regression),
        cmocka_unit_test(messages_name_file_and_line),
        cmocka_unit_test(bins_are_read_in_any_order),
        cmocka_unit_test(wrong_bins_are_refused),
        cmocka_unit_test(trainings_are_read_in_any_order),
        cmocka_unit_test(trainings_belong_to_their_run_and_round),
        cmocka_unit_test(wrong_trainings_are_refused),
        cmocka_unit_test(names_and_strategies_are_limited),
        cmocka_unit_test(folders_are_merged_by_seed_or_kept_apart),
        cmocka_unit_test(unsuitable_folders_are_refused),
        cmocka_unit_test(class_names_and_thumbnails_are_read),
        cmocka_unit_test(failed_allocations_leak_nothing),
        cmocka_unit_test(truncated_files_are_read_or_refused),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
