/* SPDX-License-Identifier: Apache-2.0
 *
 * Similar items, why an item was picked, and the map, compared with slow computations.
 */
#include "projects.h"
#include "scant/project.h"

static const lab_opts plain = {.n = 400, .d = 7, .classes = 3, .noise = 0.5, .seed = 21};

/* Distance in standard deviations, up to a common factor. */
static double distance_of(const lab *l, size_t a, size_t b) {
    double sum = 0;
    for (size_t j = 0; j < l->d; j++) {
        double mean = 0, square = 0;
        for (size_t i = 0; i < l->n; i++) mean += (double)l->x[i * l->d + j];
        mean /= (double)l->n;
        for (size_t i = 0; i < l->n; i++)
            square += pow((double)l->x[i * l->d + j] - mean, 2);
        double v = (double)l->x[a * l->d + j] - (double)l->x[b * l->d + j];
        sum += v * v / (square / (double)l->n);
    }
    return sqrt(sum / (2 * (double)l->d));
}

static scant_status note_barred(void *user, const scant_item *item) {
    bool *barred = user;
    barred[item->item] = item->audit || item->answers;
    return SCANT_OK;
}

static void similar_items_are_the_nearest_that_may_be_picked(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(2);
    lab l;
    size_t items[9], n;
    lab_make(&l, ctx, "alike", plain);
    bool *barred = calloc(l.n, sizeof *barred);
    lab_answer(&l, 50, false);
    OK(scant_project_items(l.project, 0, SIZE_MAX, note_barred, barred));
    OK(scant_project_alike(l.project, 17, 9, items, &n));
    assert_int_equal(n, 9);
    double last = 0;
    for (size_t k = 0; k < 9; k++) {
        assert_true(items[k] != 17 && !barred[items[k]]);
        double d = distance_of(&l, 17, items[k]);
        assert_true(d >= last - 1e-5);
        last = d;
    }
    size_t nearer = 0;
    for (size_t i = 0; i < l.n; i++)
        nearer += i != 17 && !barred[i] && distance_of(&l, 17, i) < last - 1e-5;
    assert_int_equal(nearer, 8);
    free(barred);
    lab_end(&l);
}

static void why_has_neighbours_before_the_first_model(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(2);
    lab l;
    scant_why why;
    lab_make(&l, ctx, "why", plain);
    OK(scant_project_why(l.project, 3, &why));
    assert_int_equal(why.model, 0);
    assert_int_equal(why.n_neighbours, 0);
    assert_true(isnan(why.entropy) && isnan(why.novelty) && why.class_1 == -1);
    lab_answer(&l, 40, false);
    OK(scant_project_why(l.project, 3, &why));
    assert_int_equal(why.n_neighbours, SCANT_WHY_NEIGHBOURS);
    int64_t *labels = malloc(l.n * sizeof *labels);
    OK(scant_project_labels(l.project, labels, l.n));
    double last = 0;
    for (size_t k = 0; k < why.n_neighbours; k++) {
        double d = distance_of(&l, 3, why.neighbours[k]);
        assert_true(labels[why.neighbours[k]] >= 0); /* trained on: not withheld */
        assert_true(fabs(d - why.distances[k]) < 1e-4 && d >= last - 1e-5);
        last = d;
    }
    assert_true(why.novelty == why.distances[0]);
    assert_true(why.more_novel >= 0 && why.more_novel <= 1);
    free(labels);
    lab_end(&l);
}

static void why_has_the_models_prediction(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(2);
    lab l;
    scant_why why;
    scant_array *p;
    size_t model, surer = 0;
    lab_make(&l, ctx, "holds", plain);
    lab_answer(&l, 40, false);
    OK(scant_project_train(l.project, NULL, NULL));
    OK(scant_project_predict(l.project, &p, &model));
    const float *x = (const float *)p->data;
    double entropies[400];
    for (size_t i = 0; i < l.n; i++) {
        entropies[i] = 0;
        for (size_t c = 0; c < 3; c++)
            entropies[i] -= (double)x[3 * i + c] * log((double)x[3 * i + c] + 1e-30);
    }
    OK(scant_project_why(l.project, 9, &why));
    assert_int_equal(why.model, 1);
    assert_true(fabs(why.p_1 - (double)x[27 + why.class_1]) < 1e-7);
    assert_true(fabs(why.p_2 - (double)x[27 + why.class_2]) < 1e-7);
    assert_true(why.p_1 >= why.p_2 && why.class_1 != why.class_2);
    assert_true(fabs(why.entropy - entropies[9] / log(3)) < 1e-5);
    for (size_t i = 0; i < l.n; i++) surer += entropies[i] < entropies[9];
    assert_true(fabs(why.more_certain - (double)surer / (double)(l.n - 1)) < 0.006);
    assert_int_equal(scant_project_why(l.project, l.n, &why), SCANT_ENOTFOUND);
    scant_array_free(p);
    lab_end(&l);
}

/* ---- the map ----------------------------------------------------------------------- */

static void the_map_shows_all_items_within_its_frame(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(2);
    lab l;
    size_t items[400], n;
    float xy[800], largest = 0;
    bool seen[400] = {false};
    lab_make(&l, ctx, "map", plain);
    OK(scant_project_map(l.project, 400, items, xy, &n));
    assert_int_equal(n, 400);
    for (size_t i = 0; i < n; i++) {
        assert_false(seen[items[i]]);
        seen[items[i]] = true;
        assert_true(fabsf(xy[2 * i]) <= 1 && fabsf(xy[2 * i + 1]) <= 1);
        largest = fmaxf(largest, fabsf(xy[2 * i]));
    }
    assert_true(largest > 0.85f);
    lab_end(&l);
}

/* Points near a line: the first axis is the line, the second the offset from it, and the
 * map keeps distances. */
static void the_map_keeps_distances(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(1);
    lab l = {.ctx = ctx, .n = 100, .d = 3, .classes = 2};
    float x[300], xy[200];
    int32_t truth[100] = {0};
    size_t items[100], n;
    for (size_t i = 0; i < 100; i++) {
        double t = ((double)i - 49.5) / 10, s = (i % 2 ? 0.5 : -0.5) + 0.01 * (double)i;
        x[3 * i] = (float)(0.6 * t + 0.8 * s + 5);
        x[3 * i + 1] = (float)(0.8 * t - 0.6 * s);
        x[3 * i + 2] = -1;
    }
    l.x = x, l.truth = truth;
    lab_open(&l, "line", &(lab_opts){.seed = 1});
    OK(scant_project_map(l.project, 100, items, xy, &n));
    double scale = 0, at[100][2];
    for (size_t i = 0; i < n; i++)
        at[items[i]][0] = (double)xy[2 * i], at[items[i]][1] = (double)xy[2 * i + 1];
    for (size_t i = 1; i < 98; i++) { /* the outermost may be moved to the border */
        double shown = hypot(at[i][0] - at[50][0], at[i][1] - at[50][1]), sum = 0;
        for (size_t j = 0; j < 3; j++)
            sum += pow((double)x[3 * i + j] - (double)x[150 + j], 2);
        if (i == 50) continue;
        if (scale == 0) scale = shown / sqrt(sum);
        assert_true(fabs(shown / sqrt(sum) / scale - 1) < 1e-4);
    }
    scant_project_free(l.project);
    scant_ctx_free(ctx);
}

static void a_small_map_has_picks_and_labels_first(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(2);
    lab l;
    size_t items[60], n, picked[10], n_picked, found = 0, known = 0;
    float xy[120];
    lab_make(&l, ctx, "small", plain);
    lab_answer(&l, 30, false);
    lab_query(&l, "coreset", 10);
    OK(scant_project_map(l.project, 60, items, xy, &n));
    assert_int_equal(n, 60);
    OK(scant_project_picked(l.project, 10, picked, &n_picked));
    int64_t *labels = malloc(l.n * sizeof *labels);
    OK(scant_project_labels(l.project, labels, l.n));
    size_t all = 0;
    for (size_t i = 0; i < l.n; i++) all += labels[i] >= 0;
    for (size_t i = 0; i < n; i++) {
        known += labels[items[i]] >= 0;
        for (size_t j = 0; j < 10; j++) found += items[i] == picked[j];
    }
    assert_int_equal(found, 10);
    assert_int_equal(known, all);
    free(labels);
    lab_end(&l);
}

static void labels_do_not_move_the_map(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(2);
    lab l;
    size_t items[400], more[400], n;
    float xy[800], then[800], place[800];
    lab_make(&l, ctx, "still", plain);
    OK(scant_project_map(l.project, 400, items, xy, &n));
    for (size_t i = 0; i < n; i++)
        memcpy(place + 2 * items[i], xy + 2 * i, 2 * sizeof *xy);
    lab_answer(&l, 30, false);
    lab_reopen(&l);
    OK(scant_project_map(l.project, 400, more, then, &n));
    for (size_t i = 0; i < n; i++)
        assert_memory_equal(place + 2 * more[i], then + 2 * i, 2 * sizeof *xy);
    lab_end(&l);
}

static void one_column_has_a_map_too(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(1);
    lab l = {.ctx = ctx, .n = 5, .d = 1, .classes = 2};
    float x[] = {1, 2, 3, 4, 5}, xy[10];
    int32_t truth[5] = {0};
    size_t items[5], n;
    l.x = x, l.truth = truth;
    lab_open(&l, "column", &(lab_opts){.seed = 1});
    OK(scant_project_map(l.project, 5, items, xy, &n));
    assert_int_equal(n, 5);
    for (size_t i = 0; i < n; i++) assert_true(xy[2 * i + 1] == 0);
    scant_project_free(l.project);
    scant_ctx_free(ctx);
}

/* ---- memory ------------------------------------------------------------------------ */

static scant_status call_all(lab *l) {
    scant_why why;
    scant_meter meter;
    size_t items[50], n;
    float xy[100];
    char *text;
    scant_status status = scant_project_why(l->project, 3, &why);
    if (status == SCANT_OK) status = scant_project_alike(l->project, 3, 5, items, &n);
    if (status == SCANT_OK) status = scant_project_map(l->project, 50, items, xy, &n);
    if (status == SCANT_OK) status = scant_project_meter(l->project, &meter);
    if (status == SCANT_OK) status = scant_project_advice(l->project, &meter, &text);
    if (status == SCANT_OK) scant_bytes_free(l->ctx, text);
    return status;
}

static void a_failed_allocation_is_reported(void **state) {
    (void)state;
    memory m;
    scant_ctx *ctx = ctx_counting(&m);
    lab l;
    size_t failed = 0;
    lab_make(&l, ctx, "memory", plain);
    lab_answer(&l, 40, false);
    OK(scant_project_train(l.project, NULL, NULL));
    for (size_t at = 0;; at++) {
        lab_reopen(&l); /* nothing is in memory */
        m.calls = 0;
        m.fail_at = at;
        scant_status status = call_all(&l);
        bool done = m.calls <= at;
        m.fail_at = SIZE_MAX;
        if (status != SCANT_OK) assert_int_equal(status, SCANT_ENOMEM);
        failed += status != SCANT_OK;
        if (done) break;
    }
    assert_true(failed > 20);
    lab_close(&l);
    ctx_end(ctx, &m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(similar_items_are_the_nearest_that_may_be_picked),
        cmocka_unit_test(why_has_neighbours_before_the_first_model),
        cmocka_unit_test(why_has_the_models_prediction),
        cmocka_unit_test(the_map_shows_all_items_within_its_frame),
        cmocka_unit_test(the_map_keeps_distances),
        cmocka_unit_test(a_small_map_has_picks_and_labels_first),
        cmocka_unit_test(labels_do_not_move_the_map),
        cmocka_unit_test(one_column_has_a_map_too),
        cmocka_unit_test(a_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
