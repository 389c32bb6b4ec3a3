/* SPDX-License-Identifier: Apache-2.0
 *
 * The gain over random: none for random picks, much for picks of all of many classes; and
 * it is not known before there is something to compare.
 */
#include "projects.h"

#include "loop/project.h"
#include "scant/project.h"

enum {
    N = 1500,
    D = 10,
    CLASSES = 24,
    AUDITED = 60,
    LEARNED = 48,
    TRIALS = 40,
    FEWER = 10
};

/* So many classes that a few dozen random items miss some of them. */
static void make_many(lab *l, scant_ctx *ctx, const char *name,
                      const scant_setting *settings, size_t n_settings) {
    lab_make(l, ctx, name,
             (lab_opts){.n = N,
                        .d = D,
                        .classes = CLASSES,
                        .noise = 0.2,
                        .seed = 77,
                        .settings = settings,
                        .n_settings = n_settings});
}

typedef struct trial {
    scant__arena arena;
    project_settings settings;
    project_samples samples;
    size_t order[N];
} trial;

static void trial_begin(trial *t, lab *l) {
    scant__arena_init(&t->arena, l->ctx);
    t->samples = (project_samples){0};
    OK(project_settings_read(l->project, &t->settings));
    OK(project_samples_open(l->project, project_side(&t->settings), &t->arena,
                            &t->samples));
}

static void trial_end(trial *t) {
    project_samples_close(&t->samples);
    scant__arena_end(&t->arena);
}

static void shuffle(size_t *order, uint64_t seed) {
    for (size_t i = 0; i < N; i++) order[i] = i;
    for (size_t i = N - 1; i > 0; i--) {
        size_t j = (size_t)(unit_at(seed, i) * (double)(i + 1)), kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
}

/* Audited items are the first of a random order. Training items are the next ones or, if
 * even, the next ones with equally many of each class. */
static project_gain try_once(trial *t, lab *l, uint64_t seed, bool even, size_t *labels) {
    size_t rows[LEARNED], n = 0, of_class[CLASSES] = {0};
    int32_t said[LEARNED], audit_said[AUDITED];
    unsigned char origins[LEARNED];
    project_gain gain;
    shuffle(t->order, seed);
    for (size_t i = 0; i < AUDITED; i++) audit_said[i] = l->truth[t->order[i]];
    for (size_t i = AUDITED; i < N && n < LEARNED; i++) {
        size_t item = t->order[i];
        if (even && of_class[l->truth[item]]++ >= LEARNED / CLASSES) continue;
        origins[n] = STORE_BY_STRATEGY;
        rows[n] = item;
        said[n++] = l->truth[item];
    }
    const project_training training = {
        .rows = rows, .labels = said, .n = n, .seed = seed};
    const project_training audited = {
        .rows = t->order, .labels = audit_said, .n = AUDITED, .seed = seed};
    OK(project_over_random(l->project, &t->settings, &t->samples, &training, origins,
                           &audited, &gain, labels));
    return gain;
}

typedef struct found {
    size_t covered, above; /* intervals that contain 0; that are above it */
} found;

static found try_often(const char *name, bool even, size_t trials) {
    static trial t;
    scant_ctx *ctx = ctx_threads(1);
    found f = {0};
    double mean = 0;
    lab l;
    make_many(&l, ctx, name, NULL, 0);
    trial_begin(&t, &l);
    for (uint64_t i = 0; i < trials; i++) {
        size_t labels;
        project_gain g = try_once(&t, &l, 1000 + i, even, &labels);
        assert_int_equal(labels, LEARNED);
        assert_true(g.low <= g.mean && g.mean <= g.high);
        f.covered += g.low <= 0 && g.high >= 0;
        f.above += g.low > 0;
        mean += g.mean / (double)trials;
    }
    print_message("%s: the mean gain is %.3f; of %zu intervals %zu contain 0, %zu "
                  "are above it\n",
                  name, mean, trials, f.covered, f.above);
    trial_end(&t);
    lab_end(&l);
    return f;
}

/* Nine of ten are expected: the interval does not include the random draw of labels. */
static void random_picks_gain_nothing_over_random(void **state) {
    (void)state;
    found f = try_often("chance", false, TRIALS);
    assert_true(f.covered >= TRIALS * 4 / 5);
}

static void picks_of_every_class_gain_over_random(void **state) {
    (void)state;
    found f = try_often("even", true, FEWER);
    assert_true(f.above >= FEWER / 2);
    assert_int_equal(f.covered + f.above, FEWER);
}

/* ---- collapsed trainings ----------------------------------------------------------- */

/* Networks that predict the same for all items would give a gain, and a temperature. */
static void collapsed_trainings_do_not_count(void **state) {
    static const scant_setting broken[] = {{"model", "mlp"}, {"lr", "10"}};
    static trial t;
    (void)state;
    lab l;
    size_t rows[LEARNED], labels;
    int32_t said[LEARNED];
    double temperature;
    make_many(&l, ctx_threads(1), "collapsed", broken, 2);
    trial_begin(&t, &l);
    project_gain g = try_once(&t, &l, 1000, false, &labels);
    assert_int_equal(labels, LEARNED); /* compared, but of no use */
    assert_true(isnan(g.mean) && isnan(g.low) && isnan(g.high));
    for (size_t i = 0; i < LEARNED; i++) rows[i] = i, said[i] = l.truth[i];
    OK(project_temperature(
        l.project, &t.settings, &t.samples,
        &(project_training){.rows = rows, .labels = said, .n = LEARNED, .seed = 3},
        &temperature));
    assert_true(temperature == 0);
    trial_end(&t);
    lab_end(&l);
}

/* ---- which labels ------------------------------------------------------------------ */

static size_t labels_compared(lab *l) {
    scant_meter m;
    OK(scant_project_train(l->project, NULL, NULL));
    OK(scant_project_meter(l->project, &m));
    assert_int_equal(isnan(m.over_random), m.over_random_labels == 0);
    return m.over_random_labels;
}

/* Half of the items are of the audit set. */
static const scant_setting half[] = {{"audit_every", "2"}};

static void random_rounds_are_not_compared_with_random(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(2);
    lab l;
    char *text;
    scant_meter m;
    make_many(&l, ctx, "random-rounds", half, 1);
    for (size_t i = 0; i < 3; i++) {
        lab_query(&l, "random", 30);
        lab_answer(&l, 60, false);
        assert_int_equal(labels_compared(&l), 0);
    }
    OK(scant_project_meter(l.project, &m));
    OK(scant_project_advice(l.project, &m, &text));
    assert_non_null(strstr(text, "The gain over random picks is not known yet"));
    scant_bytes_free(ctx, text);
    lab_end(&l);
}

static void picks_are_compared_once_they_are_half_of_the_labels(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(2);
    lab l;
    make_many(&l, ctx, "picked-rounds", half, 1);
    lab_query(&l, "random", 30);
    lab_answer(&l, 60, false);
    assert_int_equal(labels_compared(&l), 0); /* 24 of 30, all random */
    lab_query(&l, "margin", 30);
    lab_answer(&l, 40, false);
    assert_int_equal(labels_compared(&l), 0); /* 40 of 50, 10 picked */
    lab_answer(&l, 20, false);
    assert_int_equal(labels_compared(&l), 0); /* 48 of 60, 18 picked */
    lab_query(&l, "margin", 30);
    lab_answer(&l, 60, false);
    assert_int_equal(labels_compared(&l), 72); /* of 90, 42 picked */
    lab_end(&l);
}

/* Imported labels of items that no round has picked. */
static void imported_labels_of_other_items_do_not_count_as_picks(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(2);
    lab l;
    char path[500];
    make_many(&l, ctx, "imported", half, 1);
    lab_query(&l, "random", 10);
    lab_answer(&l, 20, false);
    snprintf(path, sizeof path, "%s/many.csv", dir);
    FILE *f = fopen(path, "w");
    fprintf(f, "id,label\n");
    for (size_t i = 0; i < 400; i++) fprintf(f, "%zu,%c\n", i, 'a' + l.truth[i]);
    fclose(f);
    OK(scant_project_import(l.project, path, NULL, NULL));
    assert_int_equal(labels_compared(&l), 0);
    lab_query(&l, "margin", 40);
    lab_answer(&l, 80, false);
    assert_int_equal(labels_compared(&l), 0); /* too few of the labels are picks */
    lab_end(&l);
}

/* A batch that is labelled elsewhere and imported. */
static void imported_labels_of_picks_count_as_picks(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(2);
    scant__arena arena;
    store_snapshot read;
    scant_picks *picks;
    lab l;
    char path[500];
    size_t counts[3] = {0};
    make_many(&l, ctx, "by-file", half, 1);
    lab_query(&l, "random", 20);
    lab_answer(&l, 40, false);
    OK(scant_project_train(l.project, NULL, NULL));
    OK(scant_project_query(
        l.project,
        &(scant_project_query_opts){.strategy = "margin", .batch = 15, .spare = 10},
        &picks, NULL));
    assert_int_equal(picks->count, 15);
    snprintf(path, sizeof path, "%s/back.csv", dir);
    FILE *f = fopen(path, "w");
    fprintf(f, "id,label\n");
    for (size_t i = 0; i < 25; i++) /* the spare items follow the picks */
        fprintf(f, "%zu,%c\n", picks->items[i].index,
                'a' + l.truth[picks->items[i].index]);
    fclose(f);
    OK(scant_project_import(l.project, path, NULL, NULL));
    scant__arena_init(&arena, ctx);
    OK(store_snapshot_read(l.project, &arena, &read));
    assert_int_equal(read.n, 45);
    for (size_t i = 0; i < read.n; i++) counts[read.origins[i]]++;
    assert_int_equal(counts[STORE_BY_CHANCE], 20);
    assert_int_equal(counts[STORE_BY_STRATEGY], 15);
    assert_int_equal(counts[STORE_BY_OTHERS], 10);
    scant__arena_end(&arena);
    scant_picks_free(ctx, picks);
    lab_end(&l);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_picks_gain_nothing_over_random),
        cmocka_unit_test(picks_of_every_class_gain_over_random),
        cmocka_unit_test(collapsed_trainings_do_not_count),
        cmocka_unit_test(random_rounds_are_not_compared_with_random),
        cmocka_unit_test(picks_are_compared_once_they_are_half_of_the_labels),
        cmocka_unit_test(imported_labels_of_other_items_do_not_count_as_picks),
        cmocka_unit_test(imported_labels_of_picks_count_as_picks),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
