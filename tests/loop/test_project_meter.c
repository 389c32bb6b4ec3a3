/* SPDX-License-Identifier: Apache-2.0
 *
 * The meter on models with made-up predictions, so that every figure can be computed by
 * hand; and on a simulated project.
 */
#include "projects.h"

#include "scant/project.h"
#include "store/store.h"

/* An audit set of forty items, the first of them with labels, and nothing else. */
static void begin(lab *l, const char *name, size_t labelled) {
    static const scant_setting settings[] = {{"audit_every", "1"}, {"audit_most", "40"}};
    lab_make(l, ctx_threads(1), name,
             (lab_opts){.n = 200,
                        .d = 2,
                        .classes = 2,
                        .noise = 0.3,
                        .seed = 9,
                        .settings = settings,
                        .n_settings = 2});
    assert_int_equal(lab_answer(l, labelled, false), labelled);
}

typedef struct said {
    size_t labels;
    double agreement;
    size_t from, to; /* in audit order, its predictions of these are right */
} said;

/* Returns the size of the audit set. */
static size_t add_model(lab *l, said s) {
    enum { MOST = 100 };
    scant__arena arena;
    size_t *items, n, number;
    int32_t *labels, verdicts[MOST];
    scant__arena_init(&arena, l->ctx);
    OK(store_audit(l->project, &arena, &items, &labels, &n));
    assert_true(n <= MOST);
    for (size_t i = 0; i < n; i++) {
        int32_t truth = l->truth[items[i]];
        assert_true(labels[i] == truth || labels[i] < 0);
        verdicts[i] = i >= s.from && i < s.to ? truth : 1 - truth;
    }
    store_model model = {.labels = s.labels,
                         .classes = 2,
                         .items = l->n,
                         .file = "models/none.safetensors",
                         .agreement = s.agreement,
                         .over_random = NAN,
                         .over_random_low = NAN,
                         .over_random_high = NAN};
    OK(store_model_add(l->project, &model, items, verdicts, n, &number));
    scant__arena_end(&arena);
    return n;
}

static scant_meter meter_of(lab *l) {
    scant_meter m;
    OK(scant_project_meter(l->project, &m));
    return m;
}

static void assert_near(double a, double b, double within) {
    if (!(fabs(a - b) <= within)) fail_msg("%.17g is not %.17g", a, b);
}

static void without_a_model_the_meter_is_empty(void **state) {
    (void)state;
    lab l;
    char *text;
    begin(&l, "nothing", 40);
    scant_meter m = meter_of(&l);
    assert_int_equal(m.last.model, 0);
    assert_true(isnan(m.last.accuracy) && isnan(m.per_ten) && isnan(m.over_random));
    assert_true(!m.narrow && !m.fading && !m.agreeing && !m.stop);
    OK(scant_project_advice(l.project, &m, &text));
    assert_non_null(
        strstr(text, "There is no model yet: it needs labels of at least two"));
    scant_bytes_free(l.ctx, text);
    lab_answer(&l, 20, false); /* of other items: the audit set has its labels */
    OK(scant_project_advice(l.project, &m, &text));
    assert_non_null(strstr(text, "There is no model yet, but there are labels to train"));
    scant_bytes_free(l.ctx, text);
    lab_end(&l);
}

/* 36 of 40: 0.9, and by tables an interval from 0.7634 to 0.9721. */
static void accuracy_is_the_share_of_audited_items_that_are_right(void **state) {
    (void)state;
    lab l;
    begin(&l, "share", 40);
    add_model(&l, (said){20, NAN, 0, 36});
    scant_meter m = meter_of(&l);
    assert_int_equal(m.last.model, 1);
    assert_int_equal(m.last.audited, 40);
    assert_int_equal(m.last.right, 36);
    assert_int_equal(m.last.labels, 20);
    assert_near(m.last.accuracy, 0.9, 1e-12);
    assert_near(m.last.low, 0.7634, 5e-5);
    assert_near(m.last.high, 0.9721, 5e-5);
    assert_string_equal(m.last.file, "models/none.safetensors");
    assert_true(isnan(m.per_ten) && !m.fading); /* one model alone has no gain */
    lab_end(&l);
}

static void gain_compares_models_within_the_last_labels(void **state) {
    (void)state;
    lab l;
    begin(&l, "gain", 40);
    add_model(&l, (said){20, NAN, 0, 30});
    add_model(&l, (said){40, 0.99, 0, 36});
    scant_meter m = meter_of(&l);
    assert_near(m.per_ten, 6.0 / 40 * 10 / 20, 1e-12);
    /* 7 and 1 of 42: 6/42 + 1.96 sqrt((8/42 - (6/42)^2) / 42) */
    assert_near(m.per_ten_high,
                (6.0 / 42 + 1.959964 * sqrt((8.0 / 42 - 36.0 / 1764) / 42)) / 2, 1e-6);
    assert_false(m.fading);
    add_model(&l, (said){45, 0.99, 2, 38});
    m = meter_of(&l); /* five labels are too few: still from the first model */
    assert_near(m.per_ten, 6.0 / 40 * 10 / 25, 1e-12);
    add_model(&l, (said){60, 0.99, 2, 38});
    m = meter_of(&l);
    assert_near(m.per_ten, 6.0 / 40 * 10 / 40, 1e-12);
    OK(scant_project_set(l.project, "stop_labels", "20"));
    m = meter_of(&l); /* from the model of 40 labels, which was right on as many items */
    assert_near(m.per_ten, 0, 1e-12);
    assert_true(m.fading && m.per_ten_high > 0);
    OK(scant_project_set(l.project, "stop_labels", "3"));
    m = meter_of(&l); /* rounds are longer: from the last model ten labels away */
    assert_near(m.per_ten, 0, 1e-12);
    lab_end(&l);
}

static void figures_near_a_limit_have_enough_digits(void **state) {
    (void)state;
    lab l;
    char *text;
    begin(&l, "near", 40);
    add_model(&l, (said){20, NAN, 0, 35});
    add_model(&l, (said){71, 0.99, 0, 36}); /* 2.5 points in 51 labels: 0.490 per ten */
    OK(scant_project_set(l.project, "stop_labels", "60"));
    scant_meter m = meter_of(&l);
    assert_true(m.fading);
    OK(scant_project_advice(l.project, &m, &text));
    assert_non_null(strstr(text, "gained 0.49 points"));
    assert_non_null(strstr(text, ", below 0.50;"));
    scant_bytes_free(l.ctx, text);
    OK(scant_project_set(l.project, "stop_gain", "0.2"));
    OK(scant_project_advice(l.project, &m, &text));
    assert_non_null(strstr(text, "gained 0.5 points"));
    assert_non_null(strstr(text, ", below 20.0;"));
    scant_bytes_free(l.ctx, text);
    lab_end(&l);
}

static void stopping_needs_all_three_checks(void **state) {
    (void)state;
    lab l;
    char *text;
    begin(&l, "stop", 40);
    OK(scant_project_set(l.project, "stop_width", "0.1"));
    add_model(&l, (said){20, NAN, 0, 36});
    add_model(&l, (said){40, 0.99, 0, 36});
    add_model(&l, (said){60, 0.98, 0, 36});
    scant_meter m = meter_of(&l);
    assert_true(!m.narrow && m.fading && m.agreeing && !m.stop);
    OK(scant_project_advice(l.project, &m, &text));
    assert_non_null(strstr(text, "right on 90 % of the items (95 % interval: 76 % to "
                                 "97 %), evaluated on 40 items drawn at random"));
    assert_non_null(strstr(text, "Go on labelling."));
    assert_non_null(strstr(text, "(not yet) the interval is 20.9 points wide; needed: "
                                 "at most 10.0"));
    scant_bytes_free(l.ctx, text);
    OK(scant_project_set(l.project, "stop_width", "0.21"));
    m = meter_of(&l);
    assert_true(m.narrow && m.stop);
    OK(scant_project_advice(l.project, &m, &text));
    assert_non_null(strstr(text, "You can stop"));
    assert_non_null(strstr(text, "it may hold once by chance"));
    scant_bytes_free(l.ctx, text);
    OK(scant_project_set(l.project, "stop_agreement", "0.985"));
    m = meter_of(&l); /* only the first of the last two pairs agrees */
    assert_true(!m.agreeing && !m.stop);
    lab_end(&l);
}

typedef struct points {
    scant_model_point all[8];
    size_t n;
} points;

static scant_status note_point(void *user, const scant_model_point *point) {
    points *p = user;
    p->all[p->n++] = *point;
    return SCANT_OK;
}

/* ---- items added later ------------------------------------------------------------- */

static void add_items(lab *l, size_t more) {
    char path[500];
    size_t added;
    snprintf(path, sizeof path, "%s-more.npy", l->dir);
    l->x = realloc(l->x, (l->n + more) * l->d * sizeof *l->x);
    l->truth = realloc(l->truth, (l->n + more) * sizeof *l->truth);
    const lab_opts o = {.d = l->d, .classes = 2, .noise = 0.3, .seed = 9};
    for (size_t i = l->n; i < l->n + more; i++)
        draw_point(&o, i, l->x + i * l->d, &l->truth[i]);
    write_features(l->ctx, path, l->x + l->n * l->d, more, l->d);
    OK(scant_project_add(l->project, &(scant_source){.features = path}, &added));
    assert_int_equal(added, more);
    l->n += more;
}

static void items_added_later_do_not_change_earlier_figures(void **state) {
    (void)state;
    lab l;
    char *text;
    begin(&l, "added", 40);
    OK(scant_project_set(l.project, "stop_width", "0.21"));
    add_model(&l, (said){20, NAN, 0, 36});
    add_model(&l, (said){40, 0.99, 0, 36});
    add_model(&l, (said){60, 0.99, 0, 36});
    assert_true(meter_of(&l).stop);
    add_items(&l, 100);
    scant_meter m = meter_of(&l);
    assert_int_equal(m.last.audited, 40);
    assert_int_equal(m.last.right, 36);
    assert_int_equal(m.added, 100);
    assert_true(m.narrow && m.fading && m.agreeing && !m.stop);
    OK(scant_project_advice(l.project, &m, &text));
    assert_non_null(strstr(text, "100 items were added after this model"));
    assert_non_null(strstr(text, "Go on labelling."));
    scant_bytes_free(l.ctx, text);
    /* the next model is evaluated on all, up to the first item without an answer */
    size_t withheld = add_model(&l, (said){90, 0.99, 0, SIZE_MAX});
    assert_true(withheld > 45);
    points p = {.n = 0};
    m = meter_of(&l);
    assert_true(m.last.audited < 20 && m.added == 0);
    OK(scant_project_models(l.project, note_point, &p));
    for (size_t i = 0; i < 3; i++) assert_int_equal(p.all[i].audited, 40);
    /* the gain still compares both models on the earlier items */
    assert_near(m.per_ten, 4.0 / 40 * 10 / 50, 1e-12);
    assert_int_equal(lab_answer(&l, withheld - 40, false), withheld - 40);
    m = meter_of(&l);
    assert_int_equal(m.last.audited, withheld);
    lab_end(&l);
}

/* ---- items without a label --------------------------------------------------------- */

static void items_left_out_are_reported(void **state) {
    (void)state;
    scant_lease leases[5];
    lab l;
    size_t person, n;
    char *text;
    begin(&l, "left-out", 10);
    OK(scant_project_person(l.project, "ann", &person));
    OK(scant_project_next(l.project, person, 5, leases, &n));
    assert_int_equal(n, 5);
    for (size_t i = 0; i < 5; i++) {
        const scant_answer answer = {.item = leases[i].item,
                                     .kind =
                                         i < 3 ? SCANT_ANSWER_UNSURE : SCANT_ANSWER_SKIP,
                                     .spent = 1000,
                                     .lease = leases[i].key};
        OK(scant_project_answer(l.project, person, &answer, 1, NULL));
    }
    lab_answer(&l, 5, false);
    add_model(&l, (said){90, 0.99, 0, SIZE_MAX});
    scant_meter m = meter_of(&l);
    assert_int_equal(m.last.audited, 15);
    assert_int_equal(m.last.right, 15);
    assert_int_equal(m.left_out, 5);
    OK(scant_project_advice(l.project, &m, &text));
    assert_non_null(strstr(text, "5 more items of the audit set are skipped, "
                                 "unsure or disputed; counted as wrong, the accuracy "
                                 "would be 75 %"));
    scant_bytes_free(l.ctx, text);
    lab_end(&l);
}

/* Labels that are given after a training count for its model, too. */
static void later_labels_count_for_earlier_models(void **state) {
    (void)state;
    const scant_setting settings[] = {{"audit_every", "2"}};
    lab l;
    points before = {.n = 0}, after = {.n = 0};
    lab_make(&l, ctx_threads(2), "later",
             (lab_opts){.n = 300,
                        .d = 4,
                        .classes = 3,
                        .noise = 0.6,
                        .seed = 31,
                        .settings = settings,
                        .n_settings = 1});
    lab_answer(&l, 40, false);
    OK(scant_project_train(l.project, NULL, NULL));
    OK(scant_project_models(l.project, note_point, &before));
    lab_query(&l, "margin", 30);
    lab_answer(&l, 60, false);
    OK(scant_project_train(l.project, NULL, NULL));
    OK(scant_project_models(l.project, note_point, &after));
    assert_int_equal(before.n, 1);
    assert_int_equal(after.n, 2);
    assert_true(after.all[0].audited > before.all[0].audited);
    assert_int_equal(after.all[0].audited, after.all[1].audited);
    assert_int_equal(after.all[0].labels, before.all[0].labels);
    assert_int_equal(after.all[0].round, 0);
    assert_int_equal(after.all[1].round, 1);
    assert_true(isnan(after.all[0].agreement));
    assert_true(after.all[1].agreement > 0.5 && after.all[1].agreement <= 1);
    scant_meter m = meter_of(&l);
    assert_int_equal(m.over_random_labels, 40); /* of 50; 20 of those were picked */
    assert_true(m.over_random_low <= m.over_random &&
                m.over_random <= m.over_random_high);
    lab_end(&l);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_model_the_meter_is_empty),
        cmocka_unit_test(accuracy_is_the_share_of_audited_items_that_are_right),
        cmocka_unit_test(gain_compares_models_within_the_last_labels),
        cmocka_unit_test(figures_near_a_limit_have_enough_digits),
        cmocka_unit_test(stopping_needs_all_three_checks),
        cmocka_unit_test(items_added_later_do_not_change_earlier_figures),
        cmocka_unit_test(items_left_out_are_reported),
        cmocka_unit_test(later_labels_count_for_earlier_models),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
