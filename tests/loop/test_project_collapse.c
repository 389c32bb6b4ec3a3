/* SPDX-License-Identifier: Apache-2.0
 *
 * Trainings of a project that collapse, because that is planted or because of a learning
 * rate that is hundreds of times too large: they are repeated once, and give no model if
 * that does not help.
 */
#include <sys/stat.h>

#include "planted.h"
#include "projects.h"

#include "loop/project.h"

static const scant_setting sound[] = {{"model", "mlp"}, {"lr", "auto"}};
static const scant_setting broken[] = {{"model", "mlp"}, {"lr", "10"}};

static const lab_opts plain = {.n = 300,
                               .d = 6,
                               .classes = 3,
                               .noise = 0.5,
                               .seed = 5,
                               .settings = broken,
                               .n_settings = 2};

static void set(lab *l, const scant_setting settings[2]) {
    OK(scant_project_set_all(l->project, settings, 2));
}

static scant_status train(lab *l) { return scant_project_train(l->project, NULL, NULL); }

static scant_collapse collapse_of(lab *l) {
    scant_collapse c;
    OK(scant_project_collapse(l->project, &c));
    return c;
}

static bool has_file(const lab *l, const char *name) {
    char path[600];
    struct stat as;
    snprintf(path, sizeof path, "%s/%s", l->dir, name);
    return stat(path, &as) == 0;
}

static void assert_advice(lab *l, const char *words, bool said) {
    scant_meter m;
    char *text;
    OK(scant_project_meter(l->project, &m));
    OK(scant_project_advice(l->project, &m, &text));
    if ((strstr(text, words) != NULL) != said)
        fail_msg("'%s' %s: %s", words, said ? "is missing" : "is there", text);
    scant_bytes_free(l->ctx, text);
}

/* ---- no model ---------------------------------------------------------------------- */

static void a_collapsed_training_gives_no_model(void **state) {
    (void)state;
    lab l;
    scant_meter m;
    scant_array *p;
    scant_project_info info;
    size_t model;
    lab_make(&l, ctx_threads(2), "none", plain);
    lab_answer(&l, 40, false);
    assert_int_equal(collapse_of(&l).at, 0);
    assert_int_equal(train(&l), SCANT_ENOTREADY);
    assert_says(l.ctx, l.dir, "there is still no model");
    assert_false(has_file(&l, "models/0001.safetensors"));
    assert_false(has_file(&l, "cache/probs-0001.npy"));
    OK(scant_project_meter(l.project, &m));
    assert_int_equal(m.last.model, 0);
    assert_int_equal(scant_project_predict(l.project, &p, &model), SCANT_ENOTREADY);
    lab_query(&l, NULL, 5); /* at random */
    OK(scant_project_info_get(l.project, &info));
    assert_int_equal(info.round_model, 0);
    scant_collapse c = collapse_of(&l);
    assert_true(c.at > 0 && c.same);
    assert_int_equal(c.labels, info.training);
    assert_int_equal(c.model, 0);
    assert_true(c.signs & SCANT_SIGNS_COLLAPSED);
    assert_advice(&l, "The last training failed", true);
    assert_advice(&l, "another seed (scant train --seed) may help", true);
    assert_advice(&l, "there are labels to train one", false);
    lab_end(&l);
}

/* ---- the model before -------------------------------------------------------------- */

static void the_model_before_stays_in_use(void **state) {
    (void)state;
    lab l;
    scant_meter m;
    scant_array *before, *after;
    scant_project_info info;
    size_t model;
    lab_make(&l, ctx_threads(2), "before", plain);
    set(&l, sound);
    lab_answer(&l, 40, false);
    OK(train(&l));
    OK(scant_project_predict(l.project, &before, &model));
    lab_answer(&l, 10, false);
    set(&l, broken);
    assert_int_equal(train(&l), SCANT_ENOTREADY);
    assert_says(l.ctx, l.dir, "model 1 is still used");
    OK(scant_project_predict(l.project, &after, &model));
    assert_int_equal(model, 1);
    assert_memory_equal(before->data, after->data, l.n * l.classes * sizeof(float));
    OK(scant_project_meter(l.project, &m));
    assert_int_equal(m.last.model, 1);
    lab_query(&l, "margin", 5);
    OK(scant_project_info_get(l.project, &info));
    assert_int_equal(info.round_model, 1);
    assert_int_equal(collapse_of(&l).model, 1);
    assert_advice(&l, "model 1 is still used", true);
    assert_advice(&l, "The accuracy is not known yet", m.last.audited == 0);
    scant_array_free(before);
    scant_array_free(after);
    lab_end(&l);
}

static void a_new_model_ends_the_collapse(void **state) {
    (void)state;
    lab l;
    size_t model;
    lab_make(&l, ctx_threads(2), "ends", plain);
    lab_answer(&l, 40, false);
    assert_int_equal(train(&l), SCANT_ENOTREADY);
    set(&l, sound);
    OK(scant_project_train(l.project, NULL, &model));
    assert_int_equal(model, 1);
    assert_int_equal(collapse_of(&l).at, 0);
    assert_advice(&l, "failed", false);
    lab_end(&l);
}

/* ---- what has changed since -------------------------------------------------------- */

static void labels_and_settings_of_trainings_are_compared(void **state) {
    (void)state;
    lab l;
    scant_lease lease;
    size_t person, n;
    lab_make(&l, ctx_threads(2), "same", plain);
    lab_answer(&l, 40, false);
    assert_int_equal(train(&l), SCANT_ENOTREADY);
    lab_reopen(&l);
    assert_true(collapse_of(&l).same);
    set(&l, sound);
    assert_false(collapse_of(&l).same || collapse_of(&l).same_settings);
    assert_true(collapse_of(&l).at > 0);
    set(&l, broken);
    OK(scant_project_set(l.project, "batch", "7")); /* not of trainings */
    assert_true(collapse_of(&l).same);
    OK(scant_project_person(l.project, "ann", &person));
    OK(scant_project_next(l.project, person, 1, &lease, &n));
    const scant_answer skip = {
        .item = lease.item, .kind = SCANT_ANSWER_SKIP, .spent = 1, .lease = lease.key};
    OK(scant_project_answer(l.project, person, &skip, 1, NULL)); /* no label */
    assert_true(collapse_of(&l).same);
    lab_answer(&l, 5, false);
    assert_false(collapse_of(&l).same);
    assert_true(collapse_of(&l).same_settings);
    lab_end(&l);
}

/* Plants the collapse of a training with a seed, and of its repetition. */
static void plant_twice(uint64_t seed) {
    planted.collapsed[0] = seed;
    planted.collapsed[1] = project_seed(seed, 1, PROJECT_SEED_TRAINING);
}

static scant_status train_with(lab *l, uint64_t seed) {
    return scant_project_train(l->project, &(scant_project_train_opts){.seed = seed},
                               NULL);
}

static void add_items(lab *l, const char *name) {
    size_t added;
    const char *path = path_of(name);
    write_features(l->ctx, path, l->x, 10, l->d);
    OK(scant_project_add(l->project, &(scant_source){.features = path}, &added));
    assert_int_equal(added, 10);
}

/* Only a semi-supervised method learns from them. */
static void new_items_count_for_methods_that_learn_from_them(void **state) {
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        lab l;
        lab_make(&l, ctx_threads(2), i ? "pool" : "nopool", plain);
        set(&l, sound);
        if (i) OK(scant_project_set(l.project, "method", "pseudo-label"));
        lab_answer(&l, 40, false);
        plant_twice(7);
        assert_int_equal(train_with(&l, 7), SCANT_ENOTREADY);
        assert_true(collapse_of(&l).same);
        add_items(&l, i ? "more1.npy" : "more0.npy");
        scant_collapse c = collapse_of(&l);
        assert_true(c.same == !i && c.same_settings == !i);
        plant_nothing();
        lab_end(&l);
    }
}

/* ---- repetitions ------------------------------------------------------------------- */

static void count_repetitions(void *user, scant_log_level level, const char *text) {
    if (level == SCANT_LOG_WARNING && strstr(text, "repeated once")) ++*(int *)user;
}

static void a_collapsed_training_is_repeated_once_with_another_seed(void **state) {
    enum { SEED = 9 };
    (void)state;
    scant_ctx *ctx;
    lab l;
    int repeated = 0;
    scant_ctx_opts opts = {.threads = 2, .user = &repeated, .log = count_repetitions};
    assert_int_equal(scant_ctx_create(&opts, &ctx), SCANT_OK);
    lab_make(&l, ctx, "again", plain);
    set(&l, sound);
    lab_answer(&l, 40, false);
    OK(train_with(&l, SEED));
    assert_int_equal(repeated, 0);
    planted.collapsed[0] = SEED;
    OK(train_with(&l, SEED));
    assert_int_equal(repeated, 1);
    assert_int_equal(collapse_of(&l).at, 0);
    plant_twice(SEED);
    assert_int_equal(train_with(&l, SEED), SCANT_ENOTREADY);
    assert_int_equal(repeated, 2);
    assert_int_equal(collapse_of(&l).signs, SCANT_SIGN_LOSS);
    plant_nothing();
    lab_end(&l);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_collapsed_training_gives_no_model),
        cmocka_unit_test(the_model_before_stays_in_use),
        cmocka_unit_test(a_new_model_ends_the_collapse),
        cmocka_unit_test(labels_and_settings_of_trainings_are_compared),
        cmocka_unit_test(new_items_count_for_methods_that_learn_from_them),
        cmocka_unit_test(a_collapsed_training_is_repeated_once_with_another_seed),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
