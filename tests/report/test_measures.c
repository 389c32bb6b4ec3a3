/* SPDX-License-Identifier: Apache-2.0
 *
 * Measures of results compared with hand-computed ones: means, deviations, areas,
 * overlaps, labels needed, pairs; and the CSV files to the byte.
 */
#include <locale.h>
#include <math.h>
#include <stdio.h>

#include "report/measures.h"
#include "scant/train.h"
#include "support.h"

#define CURVE "strategy,seed,round,labels,accuracy,loss,train_seconds,select_seconds\n"
#define PICKS "strategy,seed,round,rank,index,weight,score,label\n"

/* a has a run of three rounds and one of two; b has one point; c has two rounds. */
static const char small_curve[] = CURVE "a,0,0,10,0.2,1,1,0\n"
                                        "a,0,1,20,0.4,1,2,0.5\n"
                                        "a,0,2,40,0.6,1,3,0.5\n"
                                        "a,1,0,10,0.4,1,1,0\n"
                                        "a,1,1,20,0.6,1,1,1\n"
                                        "b,0,0,10,0.3,1,4,0\n"
                                        "c,0,0,10,0.3,1,1,0\n"
                                        "c,0,1,20,0.7,1,1,0\n";
static const char small_picks[] = PICKS "a,0,0,0,1,1,0,0\n"
                                        "a,0,0,1,2,1,0,1\n"
                                        "a,0,1,0,3,1,0,2\n"
                                        "a,0,2,0,4,1,0,2\n"
                                        "a,1,0,0,2,1,0,1\n"
                                        "a,1,0,1,5,1,0,0\n"
                                        "a,1,1,0,3,1,0,2\n"
                                        "b,0,0,0,1,1,0,0\n"
                                        "b,0,0,1,2,1,0,1\n"
                                        "b,0,0,2,9,1,0,0\n"
                                        "c,0,0,0,1,1,0,0\n"
                                        "c,0,1,0,3,1,0,2\n"
                                        "c,0,1,1,4,1,0,2\n";

typedef struct job {
    scant_ctx *ctx;
    report_results r;
    report_measures m;
} job;

static job measure_all(const char *curve, const char *picks, const char *bins) {
    job j = {.ctx = ctx_threads(1)};
    scant_status status = report_results_parse(
        j.ctx,
        (report_bytes[REPORT_FILES]){{curve, strlen(curve)},
                                     {picks, picks ? strlen(picks) : 0},
                                     {bins, bins ? strlen(bins) : 0}},
        &j.r);
    if (status != SCANT_OK) fail_msg("%s", scant_ctx_errmsg(j.ctx));
    assert_int_equal(report_measure(&j.r, &j.m), SCANT_OK);
    return j;
}

static job measure(const char *curve, const char *picks) {
    return measure_all(curve, picks, NULL);
}

static void end(job *j) {
    report_results_close(&j->r);
    scant_ctx_free(j->ctx);
}

static void assert_near(double got, double want) {
    if (!(fabs(got - want) < 1e-14)) fail_msg("%.17g, expected %.17g", got, want);
}

static void assert_text(job *j,
                        void (*write)(scant__text *, const report_results *,
                                      const report_measures *),
                        const char *want) {
    scant__text text;
    char *bytes;
    size_t size;
    scant__text_init(&text, j->ctx);
    write(&text, &j->r, &j->m);
    scant__text_bytes(&text, "", 1);
    assert_int_equal(scant__text_take(&text, &bytes, &size), SCANT_OK);
    assert_string_equal(bytes, want);
    scant_bytes_free(j->ctx, bytes);
}

/* ---- means, areas, overlaps -------------------------------------------------------- */

/* The standard deviation of 0.2 and 0.4 is sqrt(0.02), as is that of 0.4 and 0.6. */
static void a_mean_is_over_the_runs_that_have_the_labels(void **state) {
    (void)state;
    job j = measure(small_curve, small_picks);
    const report_level *a = j.m.curves[0].levels;
    assert_int_equal(j.m.curves[0].n, 3);
    assert_near(a[0].mean, 0.3);
    assert_near(a[0].std, sqrt(0.02));
    assert_near(a[1].mean, 0.5);
    assert_near(a[2].mean, 0.6);
    assert_true(a[2].std == 0 && a[2].runs == 1 && a[1].runs == 2);
    assert_true(a[0].labels == 10 && a[1].labels == 20 && a[2].labels == 40);
    end(&j);
}

/* Both runs of a reach 20 labels, with 0.4 and 0.6; one reaches 40. */
static void the_end_is_the_last_level_of_all_runs(void **state) {
    (void)state;
    job j = measure(small_curve, small_picks);
    assert_int_equal(j.m.common_curves[0].n, 2);
    assert_true(j.m.common_curves[0].levels[0].mean == j.m.curves[0].levels[0].mean);
    assert_true(j.m.common_curves[0].levels[1].mean == j.m.curves[0].levels[1].mean);
    assert_true(j.m.ends[0].labels == 20 && j.m.ends[0].runs == 2);
    assert_near(j.m.ends[0].mean, 0.5);
    assert_near(j.m.ends[0].std, sqrt(0.02));
    /* the mean does not reach what only one run reaches */
    assert_true(isnan(report_labels_to_reach(&j.r, &j.m.common_curves[0], 0.55)));
    assert_true(j.m.ends[1].labels == 10 && j.m.ends[1].mean == 0.3);
    end(&j);
}

/* At 15, 20 and 25 labels the runs have 0.3 and 0.4, 0.4 and 0.5, 0.4 and 0.6. The second
 * strategy's runs have no labels in common. */
static void means_interpolate_between_points(void **state) {
    (void)state;
    job j = measure(CURVE "a,0,0,10,0.2,1,1,1\na,0,1,20,0.4,1,1,1\na,0,2,30,0.4,1,1,1\n"
                          "a,1,0,15,0.4,1,1,1\na,1,1,25,0.6,1,1,1\n"
                          "b,0,0,10,0.2,1,1,1\nb,1,0,20,0.4,1,1,1\n",
                    NULL);
    static const double want[] = {0.35, 0.45, 0.5};
    assert_int_equal(j.m.common_curves[0].n, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_true(j.m.common_curves[0].levels[i].labels == 15 + 5 * i);
        assert_near(j.m.common_curves[0].levels[i].mean, want[i]);
        assert_int_equal(j.m.common_curves[0].levels[i].runs, 2);
    }
    assert_near(j.m.ends[0].std, sqrt(0.02));
    assert_true(j.m.ends[1].labels == 20 && j.m.ends[1].runs == 1);
    assert_int_equal(j.m.common_curves[1].n, 2);
    assert_near(report_value_at(&j.r, &j.r.runs[0], 12), 0.24);
    assert_true(isnan(report_value_at(&j.r, &j.r.runs[0], 9)));
    assert_true(isnan(report_value_at(&j.r, &j.r.runs[0], 31)));
    end(&j);
}

/* (10 x 0.3 + 20 x 0.5) / 30 and 0.5; the area of one point is its value. */
static void an_area_is_a_trapezoidal_mean_over_the_span(void **state) {
    (void)state;
    job j = measure(small_curve, small_picks);
    assert_near(j.m.area[0], 13.0 / 30);
    assert_near(j.m.area[1], 0.5);
    assert_near(j.m.areas[0].mean, (13.0 / 30 + 0.5) / 2);
    assert_near(j.m.areas[0].std, (0.5 - 13.0 / 30) / sqrt(2));
    assert_true(j.m.areas[1].mean == 0.3 && j.m.areas[1].std == 0);
    assert_near(j.m.areas[2].mean, 0.5);
    assert_near(j.m.train_seconds[0], (6 + 2) / 2.0);
    assert_near(j.m.select_seconds[0], (1 + 1) / 2.0);
    end(&j);
}

/* With 10 labels a has {1,2,5}, b {1,2,9}, c {1}; with 20, a also has 3, and c also 3 and
 * 4. b does not reach 20, and only a reaches 40. */
static void overlaps_compare_unions_over_seeds(void **state) {
    (void)state;
    job j = measure(small_curve, small_picks);
    static const struct {
        uint64_t labels;
        size_t a, b;
        double iou;
    } want[] = {{10, 0, 1, 2.0 / 4},
                {10, 0, 2, 1.0 / 3},
                {10, 1, 2, 1.0 / 3},
                {20, 0, 2, 2.0 / 5}};
    assert_int_equal(j.m.n_overlaps, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_true(j.m.overlaps[i].labels == want[i].labels);
        assert_true(j.m.overlaps[i].a == want[i].a && j.m.overlaps[i].b == want[i].b);
        assert_near(j.m.overlaps[i].iou, want[i].iou);
    }
    end(&j);
}

/* Random picks. */
static void overlaps_match_plain_sets(void **state) {
    (void)state;
    enum { RUNS = 3, ROUNDS = 6, EACH = 7, POOL = 60 };
    static char curve[8192], picks[65536];
    static bool has[2][ROUNDS][POOL];
    size_t c = (size_t)snprintf(curve, sizeof curve, CURVE);
    size_t p = (size_t)snprintf(picks, sizeof picks, PICKS);
    memset(has, 0, sizeof has);
    for (size_t s = 0; s < 2; s++)
        for (size_t seed = 0; seed < RUNS; seed++)
            for (size_t t = 0; t < ROUNDS; t++) {
                c += (size_t)snprintf(curve + c, sizeof curve - c,
                                      "s%zu,%zu,%zu,%zu,0.5,1,1,1\n", s, seed, t,
                                      (t + 1) * EACH);
                for (size_t k = 0; k < EACH; k++) {
                    uint64_t at = ((s * RUNS + seed) * ROUNDS + t) * EACH + k;
                    size_t index = (size_t)(unit_at(5, at) * POOL);
                    p += (size_t)snprintf(picks + p, sizeof picks - p,
                                          "s%zu,%zu,%zu,%zu,%zu,1,0,0\n", s, seed, t, k,
                                          index);
                    for (size_t u = t; u < ROUNDS; u++) has[s][u][index] = true;
                }
            }
    job j = measure(curve, picks);
    assert_int_equal(j.m.n_overlaps, ROUNDS);
    for (size_t t = 0; t < ROUNDS; t++) {
        double both = 0, any = 0;
        for (size_t i = 0; i < POOL; i++) {
            both += has[0][t][i] && has[1][t][i];
            any += has[0][t][i] || has[1][t][i];
        }
        assert_near(j.m.overlaps[t].iou, both / any);
    }
    end(&j);
}

/* Without an initial set, both sets are empty in round 0. */
static void empty_sets_are_equal(void **state) {
    (void)state;
    job j = measure(CURVE "a,0,0,0,0.1,1,1,1\na,0,1,1,0.2,1,1,1\n"
                          "b,0,0,0,0.1,1,1,1\nb,0,1,1,0.2,1,1,1\n",
                    PICKS "a,0,1,0,1,1,0,0\nb,0,1,0,2,1,0,0\n");
    assert_int_equal(j.m.n_overlaps, 2);
    assert_true(j.m.overlaps[0].iou == 1 && j.m.overlaps[1].iou == 0);
    end(&j);
}

/* ---- the files --------------------------------------------------------------------- */

static void tables_match_the_documented_format(void **state) {
    (void)state;
    job j = measure(CURVE "\"a,b\",0,0,10,0.25,1,1,0\n\"a,b\",0,1,30,0.75,1,2,0.5\n"
                          "\"a,b\",1,0,10,0.5,1,1,0\n\"a,b\",1,1,30,0.5,1,2,0.5\n"
                          "c,0,0,10,0.1,1,1,0\n",
                    PICKS "\"a,b\",0,0,0,1,1,0,0\nc,0,0,0,1,1,0,0\nc,0,0,1,2,1,0,0\n");
    assert_text(&j, report_write_summary,
                "strategy,labels,mean,std,runs\n"
                "\"a,b\",10,0.375,0.1767766952966369,2\n"
                "\"a,b\",30,0.625,0.1767766952966369,2\n"
                "c,10,0.1,0,1\n");
    assert_text(&j, report_write_auc,
                "strategy,mean,std,runs\n\"a,b\",50,0,2\nc,10,0,1\n");
    assert_text(&j, report_write_overlap,
                "labels,strategy_a,strategy_b,iou\n10,\"a,b\",c,0.5\n");
    end(&j);
}

/* The written files are those that were read. */
static void merged_files_read_back_the_same(void **state) {
    (void)state;
    job j = measure(small_curve, small_picks);
    scant__text text[2];
    char *bytes[2];
    size_t size[2];
    for (size_t i = 0; i < 2; i++) scant__text_init(&text[i], j.ctx);
    report_write_file(&text[0], &j.r, REPORT_CURVE);
    report_write_file(&text[1], &j.r, REPORT_PICKS);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(scant__text_take(&text[i], &bytes[i], &size[i]), SCANT_OK);
    assert_int_equal(size[0], strlen(small_curve));
    assert_memory_equal(bytes[0], small_curve, size[0]);
    assert_int_equal(size[1], strlen(small_picks));
    assert_memory_equal(bytes[1], small_picks, size[1]);
    for (size_t i = 0; i < 2; i++) scant_bytes_free(j.ctx, bytes[i]);
    end(&j);
}

static void numbers_do_not_depend_on_the_locale(void **state) {
    (void)state;
    if (!setlocale(LC_ALL, "de_DE.UTF-8")) skip();
    job j = measure(CURVE "a,0,0,10,0.5,1,1.5,0\n", NULL);
    assert_text(&j, report_write_summary,
                "strategy,labels,mean,std,runs\na,10,0.5,0,1\n");
    scant__text text;
    char *bytes;
    size_t size;
    scant__text_init(&text, j.ctx);
    report_add_fixed(&text, -1234.5678, 2);
    report_add_fixed(&text, -0.0001, 2);
    scant__text_bytes(&text, "", 1);
    assert_int_equal(scant__text_take(&text, &bytes, &size), SCANT_OK);
    assert_string_equal(bytes, "-1234.570.00");
    scant_bytes_free(j.ctx, bytes);
    end(&j);
    setlocale(LC_ALL, "C");
}

/* ---- labels needed, classes -------------------------------------------------------- */

static void labels_needed_interpolate_between_points(void **state) {
    (void)state;
    job j = measure(CURVE "a,0,0,10,0.2,1,1,1\na,0,1,30,0.6,1,1,1\na,0,2,50,0.5,1,1,1\n",
                    NULL);
    const report_curve *a = j.m.curves;
    assert_near(report_labels_to_reach(&j.r, a, 0.3), 15);
    assert_true(report_labels_to_reach(&j.r, a, 0.1) == 10);
    assert_near(report_labels_to_reach(&j.r, a, 0.6), 30);
    assert_true(isnan(report_labels_to_reach(&j.r, a, 0.61)));
    j.r.regression = true; /* as errors: 0.1 is never reached */
    assert_true(report_labels_to_reach(&j.r, a, 0.4) == 10);
    assert_true(isnan(report_labels_to_reach(&j.r, a, 0.1)));
    end(&j);
}

/* Without the initial set, random picked classes 1, 1, 2. */
static void classes_are_counted_without_the_initial_set(void **state) {
    (void)state;
    job j = measure(CURVE "random,0,0,1,0.2,1,1,1\nrandom,0,1,4,0.6,1,1,1\n", PICKS
                    "random,0,0,0,1,1,0,3\nrandom,0,1,0,2,1,0,1\nrandom,0,1,1,3,1,0,1\n"
                    "random,0,1,2,4,1,0,2\n");
    assert_int_equal(j.m.n_labels, 4);
    assert_true(j.m.picked[0] == 0 && j.m.picked[1] == 2 && j.m.picked[2] == 1);
    assert_true(j.m.picked[3] == 0);
    assert_near(j.m.balance[1], 2.0 / 3);
    assert_string_equal(j.m.balance_of, "random's picks");
    end(&j);
    j = measure(CURVE "a,0,0,1,0.2,1,1,1\n", PICKS "a,0,0,0,1,1,0,0.5\n");
    assert_int_equal(j.m.n_labels, 0); /* 0.5 is no class */
    end(&j);
}

/* ---- pairs ------------------------------------------------------------------------- */

/* Seeds 0 and 1 are complete for both; the runs of seed 2 end at different labels; only a
 * has seed 3. Areas: a 40 and 50, b 30 and 20 percent; at the end: a 60 and 60, b 50 and
 * 20. */
static const char pair_curve[] = CURVE "b,0,0,10,0.1,1,1,1\nb,0,1,20,0.5,1,1,1\n"
                                       "b,1,0,10,0.2,1,1,1\nb,1,1,20,0.2,1,1,1\n"
                                       "b,2,0,10,0.2,1,1,1\nb,2,1,20,0.2,1,1,1\n"
                                       "a,0,0,10,0.2,1,1,1\na,0,1,20,0.6,1,1,1\n"
                                       "a,1,0,10,0.4,1,1,1\na,1,1,20,0.6,1,1,1\n"
                                       "a,2,0,10,0.4,1,1,1\na,3,0,10,0.4,1,1,1\n";

static void pairs_use_seeds_with_the_same_span(void **state) {
    (void)state;
    job j = measure(pair_curve, NULL);
    scant_pair *pairs;
    size_t n;
    assert_int_equal(report_compare(&j.r, &j.m, j.r.n_strategies, &pairs, &n), SCANT_OK);
    assert_int_equal(n, 1);
    assert_true(pairs->a == 1 && pairs->b == 0); /* each with those before it */
    assert_int_equal(pairs->seeds, 2);
    assert_int_equal(pairs->others, 1);
    assert_true(fabs(pairs->auc.mean_a - 45) < 1e-12);
    assert_true(fabs(pairs->auc.mean - 20) < 1e-12);   /* the mean of 10 and 30 */
    assert_true(fabs(pairs->final.mean - 25) < 1e-12); /* the mean of 10 and 40 */
    /* t = 20 / (sqrt(200) / sqrt(2)) = 2; p = 1 - 2 atan(2) / pi for one degree of
     * freedom
     */
    assert_true(fabs(pairs->auc.t - 2) < 1e-12);
    assert_true(fabs(pairs->auc.p - (1 - 2 * atan(2) / M_PI)) < 1e-12);
    assert_true(pairs->auc.p_holm == pairs->auc.p && pairs->auc.p_flips == 0.5);
    /* at 10 labels three seeds are common, with differences 0.1, 0.2, 0.2: t = 5, p =
     * 0.038; at 20 labels two are */
    assert_int_equal(pairs->levels, 2);
    assert_int_equal(pairs->wins_a, 1);
    assert_int_equal(pairs->wins_b, 0);
    assert_int_equal(report_compare(&j.r, &j.m, 1, &pairs, &n), SCANT_OK);
    assert_true(n == 1 && pairs->a == 0 && pairs->b == 1 && pairs->auc.mean < 0);
    assert_true(pairs->wins_a == 0 && pairs->wins_b == 1);
    end(&j);
}

/* Seed 0: b has 0.2, 0.4, 0.6, which gives 0.5 at the 25 labels where a ends with 0.8;
 * areas: b 5.25 / 15, a 7.5 / 15. Seed 1: a stays at 0.2 and ends at 20 labels; areas: b
 * 0.3, a 0.2. */
static void runs_of_different_length_are_compared_up_to_the_shorter_end(void **state) {
    (void)state;
    job j = measure(CURVE "b,0,0,10,0.2,1,1,1\nb,0,1,20,0.4,1,1,1\nb,0,2,30,0.6,1,1,1\n"
                          "b,1,0,10,0.2,1,1,1\nb,1,1,20,0.4,1,1,1\nb,1,2,30,0.6,1,1,1\n"
                          "a,0,0,10,0.2,1,1,1\na,0,1,15,0.4,1,1,1\na,0,2,25,0.8,1,1,1\n"
                          "a,1,0,10,0.2,1,1,1\na,1,1,15,0.2,1,1,1\na,1,2,20,0.2,1,1,1\n",
                    NULL);
    scant_pair *pairs;
    size_t n;
    assert_int_equal(report_compare(&j.r, &j.m, j.r.n_strategies, &pairs, &n), SCANT_OK);
    assert_int_equal(pairs->seeds, 2);
    assert_true(pairs->cut == 2 && pairs->others == 0 && pairs->unrelated == 0);
    assert_true(pairs->from == 10 && pairs->to_least == 20 && pairs->to_most == 25);
    assert_true(fabs(pairs->auc.mean_a - (50 + 20) / 2.0) < 1e-12);
    assert_true(fabs(pairs->auc.mean_b - (35 + 30) / 2.0) < 1e-12);
    assert_true(fabs(pairs->final.mean_a - (80 + 20) / 2.0) < 1e-12);
    assert_true(fabs(pairs->final.mean_b - (50 + 40) / 2.0) < 1e-12);
    end(&j);
}

/* Both runs of seed 1 are unfinished. Those of seed 2 have fewer rounds but all labels:
 * the pool was used up. */
static void unfinished_runs_of_equal_length_are_not_compared(void **state) {
    (void)state;
    job j = measure(CURVE "b,0,0,10,0.2,1,1,1\nb,0,1,20,0.4,1,1,1\nb,0,2,30,0.6,1,1,1\n"
                          "b,1,0,10,0.2,1,1,1\nb,1,1,20,0.4,1,1,1\n"
                          "b,2,0,10,0.2,1,1,1\nb,2,1,30,0.4,1,1,1\n"
                          "a,0,0,10,0.2,1,1,1\na,0,1,20,0.4,1,1,1\na,0,2,30,0.8,1,1,1\n"
                          "a,1,0,10,0.2,1,1,1\na,1,1,20,0.9,1,1,1\n"
                          "a,2,0,10,0.2,1,1,1\na,2,1,30,0.5,1,1,1\n",
                    NULL);
    scant_pair *pairs;
    size_t n;
    assert_int_equal(report_compare(&j.r, &j.m, j.r.n_strategies, &pairs, &n), SCANT_OK);
    assert_true(pairs->seeds == 2 && pairs->others == 1 && pairs->cut == 0);
    assert_int_equal(pairs->to_least, 30);
    assert_true(fabs(pairs->final.mean - (20 + 10) / 2.0) < 1e-12);
    end(&j);
}

/* a has only round 0, where both have the same network. */
static void runs_without_a_common_span_are_not_compared(void **state) {
    (void)state;
    job j = measure(CURVE "b,0,0,10,0.2,1,1,1\nb,0,1,20,0.4,1,1,1\na,0,0,10,0.2,1,1,1\n",
                    NULL);
    scant_pair *pairs;
    size_t n;
    assert_int_equal(report_compare(&j.r, &j.m, j.r.n_strategies, &pairs, &n), SCANT_OK);
    assert_true(pairs->seeds == 0 && pairs->others == 1 && isnan(pairs->auc.mean));
    assert_string_equal(report_why_not(pairs), "runs too short");
    end(&j);
}

/* a and b begin with samples 1 and 2, c with one other sample, d with the same rows of
 * other data, e with another number of samples. f has no picks. */
static void runs_with_different_initial_sets_are_not_compared(void **state) {
    (void)state;
    job j = measure(CURVE "a,0,0,2,0.2,1,1,1\na,0,1,4,0.4,1,1,1\n"
                          "b,0,0,2,0.2,1,1,1\nb,0,1,4,0.4,1,1,1\n"
                          "c,0,0,2,0.2,1,1,1\nc,0,1,4,0.4,1,1,1\n"
                          "d,0,0,2,0.2,1,1,1\nd,0,1,4,0.4,1,1,1\n"
                          "e,0,0,1,0.2,1,1,1\ne,0,1,4,0.4,1,1,1\n"
                          "f,0,0,2,0.2,1,1,1\nf,0,1,4,0.4,1,1,1\n",
                    PICKS "a,0,0,0,1,1,0,5\na,0,0,1,2,1,0,6\na,0,1,0,7,1,0,5\n"
                          "b,0,0,0,2,1,0,6\nb,0,0,1,1,1,0,5\nb,0,1,0,8,1,0,5\n"
                          "c,0,0,0,1,1,0,5\nc,0,0,1,3,1,0,6\n"
                          "d,0,0,0,1,1,0,6\nd,0,0,1,2,1,0,5\n");
    scant_pair *pairs;
    size_t n;
    assert_int_equal(report_compare(&j.r, &j.m, 0, &pairs, &n), SCANT_OK);
    assert_int_equal(n, 5);
    assert_true(pairs[0].seeds == 1 && pairs[0].unrelated == 0);
    for (size_t i = 1; i < 4; i++) {
        assert_true(pairs[i].seeds == 0 && pairs[i].unrelated == 1);
        assert_true(pairs[i].levels == 0 && pairs[i].others == 0);
    }
    assert_string_equal(report_why_not(&pairs[1]), "began with other samples");
    assert_true(pairs[4].seeds == 1);
    end(&j);
}

/* c is 10 points above b with both seeds. Such a pair cannot be tested but counts in the
 * Holm correction: a's p is one of two. d has one seed and does not count. */
static void equal_differences_are_not_significant(void **state) {
    (void)state;
    job j = measure(CURVE "b,0,0,10,0.3,1,1,1\nb,1,0,10,0.2,1,1,1\n"
                          "a,0,0,10,0.4,1,1,1\na,1,0,10,0.5,1,1,1\n"
                          "c,0,0,10,0.4,1,1,1\nc,1,0,10,0.3,1,1,1\n"
                          "d,0,0,10,0.4,1,1,1\n",
                    NULL);
    scant_pair *pairs;
    size_t n;
    assert_int_equal(report_compare(&j.r, &j.m, 0, &pairs, &n), SCANT_OK);
    assert_int_equal(n, 3);
    assert_true(fabs(pairs[1].auc.mean - 10) < 1e-12);
    assert_true(isnan(pairs[1].auc.p) && isnan(pairs[1].auc.p_holm));
    assert_true(isnan(pairs[1].auc.low) && pairs[1].auc.p_flips == 0.5);
    assert_true(pairs[1].levels == 1 && pairs[1].wins_a == 0);
    assert_true(fabs(pairs[0].auc.p_holm - 2 * pairs[0].auc.p) < 1e-12);
    assert_true(isnan(pairs[2].auc.p_holm) && isnan(pairs[2].auc.p_flips_holm));
    end(&j);
}

static void one_seed_gives_a_difference_but_no_interval(void **state) {
    (void)state;
    job j = measure(CURVE "a,0,0,10,0.2,1,1,1\nb,0,0,10,0.3,1,1,1\nc,1,0,10,0.3,1,1,1\n",
                    NULL);
    scant_pair *pairs;
    size_t n;
    assert_int_equal(report_compare(&j.r, &j.m, j.r.n_strategies, &pairs, &n), SCANT_OK);
    assert_int_equal(n, 3);
    assert_true(pairs[0].seeds == 1 && fabs(pairs[0].auc.mean - 10) < 1e-12);
    assert_true(isnan(pairs[0].auc.low) && isnan(pairs[0].auc.p_holm));
    assert_true(isnan(pairs[0].auc.p_flips) && pairs[0].levels == 0);
    assert_true(pairs[1].seeds == 0 && isnan(pairs[1].auc.mean));
    end(&j);
    j = measure(CURVE, NULL);
    assert_int_equal(report_compare(&j.r, &j.m, 0, &pairs, &n), SCANT_OK);
    assert_int_equal(n, 0);
    end(&j);
}

/* ---- calibration ------------------------------------------------------------------- */

/* a's second run lacks the last round; b's last round has no bins after scaling; one run
 * of c has no bins; the two runs of d have none in common. */
static void calibration_uses_the_last_round_that_all_runs_have(void **state) {
    (void)state;
    static const char curve[] =
        "strategy,seed,round,labels,accuracy,loss,train_seconds,select_seconds\n"
        "a,0,0,5,0,1,1,1\na,0,1,10,0,1,1,1\na,0,2,15,0,1,1,1\n"
        "a,1,0,5,0,1,1,1\na,1,1,11,0,1,1,1\n"
        "b,0,0,5,0,1,1,1\nb,0,1,10,0,1,1,1\n"
        "c,0,0,5,0,1,1,1\nc,1,0,5,0,1,1,1\n"
        "d,0,0,5,0,1,1,1\nd,1,0,5,0,1,1,1\n";
    static const char bins[] =
        "strategy,seed,round,when,temperature,bin,count,confidence,accuracy\n"
        "a,0,1,before,1,8,10,0.5,0.3\na,0,1,before,1,15,30,0.96,0.9\n"
        "a,0,1,after,2,8,40,0.5,0.45\n"
        "a,0,2,before,1,15,40,1,1\na,0,2,after,9,15,40,1,1\n"
        "a,1,0,before,1,1,1,0,0\na,1,0,after,9,1,1,0,1\n"
        "a,1,1,before,1,8,40,0.6,0.5\na,1,1,after,3,9,40,0.6,0.5\n"
        "b,0,0,before,1,4,2,0.25,1\nb,0,0,after,1,4,2,0.25,0\nb,0,1,before,1,4,2,0,1\n"
        "c,1,0,before,1,4,2,0.25,0.5\n"
        "d,0,0,before,1,4,2,0.25,0.5\nd,1,0,after,1,4,2,0.25,0.5\n";
    job j = measure_all(curve, NULL, bins);
    const report_reliability *a = &j.m.reliability[0], *b = a + 1, *c = a + 2, *d = a + 3;
    assert_int_equal(a->runs, 2);
    assert_true(a->round == 1 && a->labels_least == 10 && a->labels_most == 11);
    /* (10*0.2 + 30*0.06)/40 = 0.095 and 0.1; 0.05 and 0.1 */
    assert_near(a->error[REPORT_BEFORE].mean, 0.0975);
    assert_near(a->error[REPORT_BEFORE].std, 0.005 / sqrt(2));
    assert_near(a->error[REPORT_AFTER].mean, 0.075);
    assert_near(a->temperature.mean, 2.5);
    assert_near(a->bins[REPORT_BEFORE][7].count, 50);
    assert_near(a->bins[REPORT_BEFORE][7].confidence, 0.58); /* (10*.5 + 40*.6)/50 */
    assert_near(a->bins[REPORT_BEFORE][7].accuracy, 0.46);
    assert_near(a->count[REPORT_BEFORE], 80);
    assert_near(a->count[REPORT_AFTER], 80);
    assert_true(b->runs == 1 && b->round == 0); /* the last round with both */
    assert_near(b->error[REPORT_BEFORE].mean, 0.75);
    assert_true(c->runs == 1 && c->error[REPORT_AFTER].n == 0);
    assert_near(c->error[REPORT_BEFORE].mean, 0.25);
    assert_near(c->error[REPORT_BEFORE].std, 0);
    assert_int_equal(d->runs, 0);
    end(&j);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mean_is_over_the_runs_that_have_the_labels),
        cmocka_unit_test(the_end_is_the_last_level_of_all_runs),
        cmocka_unit_test(means_interpolate_between_points),
        cmocka_unit_test(an_area_is_a_trapezoidal_mean_over_the_span),
        cmocka_unit_test(overlaps_compare_unions_over_seeds),
        cmocka_unit_test(overlaps_match_plain_sets),
        cmocka_unit_test(empty_sets_are_equal),
        cmocka_unit_test(tables_match_the_documented_format),
        cmocka_unit_test(merged_files_read_back_the_same),
        cmocka_unit_test(numbers_do_not_depend_on_the_locale),
        cmocka_unit_test(labels_needed_interpolate_between_points),
        cmocka_unit_test(classes_are_counted_without_the_initial_set),
        cmocka_unit_test(pairs_use_seeds_with_the_same_span),
        cmocka_unit_test(runs_of_different_length_are_compared_up_to_the_shorter_end),
        cmocka_unit_test(unfinished_runs_of_equal_length_are_not_compared),
        cmocka_unit_test(runs_without_a_common_span_are_not_compared),
        cmocka_unit_test(runs_with_different_initial_sets_are_not_compared),
        cmocka_unit_test(equal_differences_are_not_significant),
        cmocka_unit_test(one_seed_gives_a_difference_but_no_interval),
        cmocka_unit_test(calibration_uses_the_last_round_that_all_runs_have),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
