/* SPDX-License-Identifier: Apache-2.0
 *
 * Training a project's model: what it trains on and what not, the files it leaves, and
 * that cache/ can be deleted.
 */
#include "projects.h"

#include "scant/project.h"
#include "store/store.h"

static const lab_opts plain = {.n = 300, .d = 6, .classes = 3, .noise = 0.5, .seed = 5};

static size_t train(lab *l) {
    size_t model = 0;
    OK(scant_project_train(l->project, NULL, &model));
    return model;
}

static scant_array *predict(lab *l, size_t *model) {
    scant_array *p;
    OK(scant_project_predict(l->project, &p, model));
    return p;
}

/* A project with a first model, trained after forty answers. */
static void lab_trained(lab *l, const char *name) {
    lab_make(l, ctx_threads(2), name, plain);
    lab_answer(l, 40, false);
    train(l);
}

static const float *numbers(const scant_array *a) { return (const float *)a->data; }

static size_t largest(const float *x, size_t n) {
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        if (x[i] > x[best]) best = i;
    return best;
}

/* ---- learning ---------------------------------------------------------------------- */

static void a_model_learns_the_labels(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(2);
    lab l;
    size_t model, right = 0;
    lab_make(&l, ctx, "learns", plain);
    assert_int_equal(lab_answer(&l, 90, false), 90);
    assert_int_equal(train(&l), 1);
    scant_array *p = predict(&l, &model);
    assert_int_equal(model, 1);
    assert_int_equal(scant_array_shape(p)[0], l.n);
    assert_int_equal(scant_array_shape(p)[1], l.classes);
    for (size_t i = 0; i < l.n; i++) {
        const float *row = numbers(p) + i * l.classes;
        double sum = 0;
        for (size_t c = 0; c < l.classes; c++) sum += (double)row[c];
        assert_true(fabs(sum - 1) < 1e-5);
        right += largest(row, l.classes) == (size_t)l.truth[i];
    }
    assert_true(right > l.n * 8 / 10);
    scant_array_free(p);
    lab_end(&l);
}

static char *weights_after(const char *name, bool wrong, unsigned threads, size_t *size) {
    scant_ctx *ctx = ctx_threads(threads);
    lab l;
    lab_make(&l, ctx, name, plain);
    lab_answer(&l, 60, wrong);
    train(&l);
    char *bytes = lab_read(&l, "models/0001.safetensors", size);
    lab_end(&l);
    return bytes;
}

/* Wrong labels of the whole audit set must not change a bit of the weights. */
static void labels_of_the_audit_set_are_not_trained_on(void **state) {
    (void)state;
    size_t n, m;
    char *a = weights_after("true", false, 2, &n);
    char *b = weights_after("poisoned", true, 2, &m);
    assert_int_equal(n, m);
    assert_memory_equal(a, b, n);
    free(a);
    free(b);
}

/* Rotates the rows of the audit set. Training rows stay, and so do the mean and deviation
 * of each column. */
static void rotate_audit_set(lab *l) {
    scant__arena arena;
    size_t *items, n;
    int32_t *labels;
    float *kept = malloc(l->d * sizeof *kept);
    scant__arena_init(&arena, l->ctx);
    OK(store_audit(l->project, &arena, &items, &labels, &n));
    assert_true(n > 10);
    memcpy(kept, l->x + items[0] * l->d, l->d * sizeof *kept);
    for (size_t i = 0; i < n; i++)
        memcpy(l->x + items[i] * l->d,
               i + 1 < n ? l->x + items[i + 1] * l->d : (const float *)kept,
               l->d * sizeof *kept);
    scant__arena_end(&arena);
    free(kept);
}

static char *weights_by(const char *method, bool turned, size_t *size) {
    const scant_setting settings[] = {{"method", method}};
    scant_ctx *ctx = ctx_threads(2);
    lab_opts o = plain;
    lab l;
    o.settings = settings;
    o.n_settings = 1;
    lab_make(&l, ctx, turned ? "turned" : "straight", o);
    if (turned) {
        rotate_audit_set(&l);
        scant_project_free(l.project);
        lab_remove(&l, "");
        lab_open(&l, "turned", &o);
    }
    lab_answer(&l, 60, false);
    train(&l);
    char *bytes = lab_read(&l, "models/0001.safetensors", size);
    scant_project_free(l.project);
    l.project = NULL;
    lab_remove(&l, "");
    lab_end(&l);
    return bytes;
}

/* Also where unlabelled items are trained on. */
static void no_method_trains_on_the_audit_set(void **state) {
    static const char *const methods[] = {"fixmatch", "freematch", "softmatch", "pi",
                                          "pseudo-label"};
    (void)state;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        size_t n, m;
        char *a = weights_by(methods[i], false, &n);
        char *b = weights_by(methods[i], true, &m);
        assert_int_equal(n, m);
        if (memcmp(a, b, n) != 0) fail_msg("%s has seen the audit set", methods[i]);
        free(a);
        free(b);
    }
}

/* Steps of the first epoch. */
static void note_epoch(void *user, const scant_train_state *state) {
    size_t *steps = user;
    if (!*steps && state->epoch_ended) *steps = state->step;
}

/* An epoch is one pass over the unlabelled items, 100 a step. */
static void labelled_items_do_not_train_without_their_labels(void **state) {
    static const char *const methods[] = {"mean-teacher", "pi", "pseudo-label"};
    static const char *const names[] = {"rest-teacher", "rest-pi", "rest-pseudo"};
    (void)state;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        const scant_setting settings[] = {{"method", methods[i]}};
        lab_opts o = {.n = 700, .d = 6, .classes = 3, .noise = 0.5, .seed = 5};
        lab l;
        scant__arena arena;
        int64_t *left;
        size_t n_left, steps = 0;
        o.settings = settings;
        o.n_settings = 1;
        lab_make(&l, ctx_threads(1), names[i], o);
        lab_answer(&l, 250, false);
        scant__arena_init(&arena, l.ctx);
        OK(store_candidates(l.project, &arena, &left, &n_left));
        assert_true(n_left > 200 && n_left < 450);
        OK(scant_project_train(
            l.project, &(scant_project_train_opts){.user = &steps, .report = note_epoch},
            NULL));
        assert_int_equal(steps, (n_left + 99) / 100);
        scant__arena_end(&arena);
        lab_end(&l);
    }
}

static void every_method_trains_when_all_items_are_labelled(void **state) {
    static const char *const methods[] = {"fixmatch",     "freematch", "softmatch",
                                          "mean-teacher", "pi",        "pseudo-label"};
    (void)state;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        const scant_setting settings[] = {{"method", methods[i]}};
        lab_opts o = {.n = 40, .d = 6, .classes = 3, .noise = 0.5, .seed = 5};
        lab l;
        o.settings = settings;
        o.n_settings = 1;
        lab_make(&l, ctx_threads(2), methods[i], o);
        lab_answer(&l, SIZE_MAX, false);
        assert_int_equal(train(&l), 1);
        lab_end(&l);
    }
}

static void the_same_seed_gives_the_same_weights_on_any_number_of_threads(void **state) {
    (void)state;
    size_t n, m;
    char *a = weights_after("one-thread", false, 1, &n);
    char *b = weights_after("two-threads", false, 2, &m);
    assert_int_equal(n, m);
    assert_memory_equal(a, b, n);
    free(a);
    free(b);
}

static void a_given_seed_is_used(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(2);
    lab l;
    size_t sizes[3];
    char *bytes[3];
    const uint64_t seeds[] = {7, 7, 8};
    const char *const files[] = {"models/0001.safetensors", "models/0002.safetensors",
                                 "models/0003.safetensors"};
    lab_make(&l, ctx, "seeds", plain);
    lab_answer(&l, 40, false);
    for (size_t i = 0; i < 3; i++) {
        OK(scant_project_train(l.project, &(scant_project_train_opts){.seed = seeds[i]},
                               NULL));
        bytes[i] = lab_read(&l, files[i], &sizes[i]);
    }
    assert_int_equal(sizes[0], sizes[1]);
    assert_memory_equal(bytes[0], bytes[1], sizes[0]);
    assert_true(sizes[0] != sizes[2] || memcmp(bytes[0], bytes[2], sizes[0]) != 0);
    for (size_t i = 0; i < 3; i++) free(bytes[i]);
    lab_end(&l);
}

/* ---- too few labels ---------------------------------------------------------------- */

static void without_labels_of_two_classes_there_is_no_model(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(1);
    lab l;
    scant_array *p;
    size_t model;
    lab_make(&l, ctx, "none",
             (lab_opts){.n = 40, .d = 2, .classes = 2, .noise = 0.1, .seed = 3});
    assert_int_equal(scant_project_train(l.project, NULL, &model), SCANT_ENOTREADY);
    assert_says(ctx, l.dir, "no label to learn from");
    for (size_t i = 0; i < l.n; i++) l.truth[i] = 1; /* all answers are of one class */
    lab_answer(&l, 12, false);
    assert_int_equal(scant_project_train(l.project, NULL, &model), SCANT_ENOTREADY);
    assert_says(ctx, l.dir, "two classes");
    assert_int_equal(scant_project_predict(l.project, &p, &model), SCANT_ENOTREADY);
    assert_null(p);
    lab_end(&l);
}

static void two_labelled_items_are_enough(void **state) {
    (void)state;
    const scant_setting settings[] = {{"audit_every", "0"}};
    scant_ctx *ctx = ctx_threads(1);
    lab l = {.ctx = ctx, .n = 2, .d = 1, .classes = 2};
    float x[] = {-1, 1};
    int32_t truth[] = {0, 1};
    size_t model;
    l.x = x, l.truth = truth;
    lab_open(&l, "two", &(lab_opts){.settings = settings, .n_settings = 1});
    assert_int_equal(lab_answer(&l, 5, false), 2);
    train(&l);
    scant_array *p = predict(&l, &model);
    assert_true(numbers(p)[0] > 0.5f && numbers(p)[3] > 0.5f);
    scant_array_free(p);
    scant_project_free(l.project);
    scant_ctx_free(ctx);
}

/* Nothing can be learned from equal rows, but all numbers stay finite. */
static void equal_rows_do_no_harm(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(2);
    lab l = {.ctx = ctx, .n = 50, .d = 3, .classes = 2};
    float x[150];
    int32_t truth[50];
    size_t model;
    scant_why why;
    for (size_t i = 0; i < 150; i++) x[i] = 7;
    for (size_t i = 0; i < 50; i++) truth[i] = i % 2;
    l.x = x, l.truth = truth;
    lab_open(&l, "alike", &(lab_opts){.seed = 2});
    if (lab_answer(&l, 10, false) >= 10) { /* copies are handed out once */
        train(&l);
        scant_array *p = predict(&l, &model);
        for (size_t i = 0; i < 100; i++) assert_true(isfinite(numbers(p)[i]));
        scant_array_free(p);
        OK(scant_project_why(l.project, 3, &why));
        assert_true(why.novelty == 0);
    }
    scant_project_free(l.project);
    scant_ctx_free(ctx);
}

/* ---- cache/ ------------------------------------------------------------------------ */

static size_t bytes_of(const lab *l) { return l->n * l->classes * sizeof(float); }

/* The first model's probabilities of all items. The caller frees them. */
static float *probabilities(lab *l) {
    size_t model;
    scant_array *p = predict(l, &model);
    float *copy = malloc(bytes_of(l));
    assert_int_equal(model, 1);
    memcpy(copy, numbers(p), bytes_of(l));
    scant_array_free(p);
    return copy;
}

static void assert_probabilities(lab *l, const float *before) {
    float *now = probabilities(l);
    assert_memory_equal(before, now, bytes_of(l));
    free(now);
}

static void all_of_cache_can_be_deleted(void **state) {
    (void)state;
    lab l;
    lab_trained(&l, "deleted");
    float *before = probabilities(&l);
    for (int reopen = 0; reopen < 2; reopen++) {
        lab_remove(&l, "cache");
        if (reopen) lab_reopen(&l);
        assert_probabilities(&l, before);
    }
    lab_remove(&l, "cache");
    assert_int_equal(train(&l), 2);
    free(before);
    lab_end(&l);
}

static void without_cache_and_weights_the_error_says_train_again(void **state) {
    (void)state;
    lab l;
    scant_array *p;
    size_t model;
    lab_trained(&l, "lost");
    lab_remove(&l, "models/0001.safetensors");
    p = predict(&l, &model); /* cache/ still has them */
    scant_array_free(p);
    lab_remove(&l, "cache");
    assert_int_equal(scant_project_predict(l.project, &p, &model), SCANT_ENOTREADY);
    assert_non_null(strstr(scant_ctx_errmsg(l.ctx), "train again"));
    assert_int_equal(train(&l), 2); /* only the agreement is not known */
    p = predict(&l, &model);
    assert_int_equal(model, 2);
    scant_array_free(p);
    lab_end(&l);
}

static void damaged_files_of_cache_are_computed_again(void **state) {
    (void)state;
    static const char *const names[] = {"cache/probs-0001.npy", "cache/features.npy"};
    lab l;
    lab_trained(&l, "damaged");
    float *before = probabilities(&l);
    for (size_t i = 0; i < 2; i++) {
        char path[500];
        snprintf(path, sizeof path, "%s/%s", l.dir, names[i]);
        FILE *f = fopen(path, "wb");
        fputs("\x93NUMPY what is this?", f);
        fclose(f);
        if (i) lab_remove(&l, "cache/probs-0001.npy");
        assert_probabilities(&l, before);
    }
    free(before);
    lab_end(&l);
}

/* The disk of the source may be unmounted, or its folder moved. */
static void cached_features_outlive_their_file(void **state) {
    (void)state;
    lab l;
    size_t model;
    char features[420], away[430];
    lab_trained(&l, "moved");
    snprintf(features, sizeof features, "%s.npy", l.dir);
    snprintf(away, sizeof away, "%s.away", features);
    assert_int_equal(rename(features, away), 0);
    assert_int_equal(train(&l), 2);
    scant_array_free(predict(&l, &model));
    lab_remove(&l, "cache");
    lab_reopen(&l);
    assert_true(scant_project_train(l.project, NULL, NULL) != SCANT_OK);
    assert_says(l.ctx, features, "");
    assert_int_equal(rename(away, features), 0);
    assert_int_equal(train(&l), 3);
    lab_end(&l);
}

static void a_changed_file_of_features_is_read_again_once_accepted(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(2);
    lab l;
    scant_array *array;
    char features[420];
    lab_make(&l, ctx, "other", plain);
    OK(scant_project_features(l.project, &array));
    assert_memory_equal(array->data, l.x, l.n * l.d * sizeof *l.x);
    scant_array_free(array);
    for (size_t i = 0; i < l.n * l.d; i++) l.x[i] = -l.x[i];
    snprintf(features, sizeof features, "%s.npy", l.dir);
    write_features(ctx, features, l.x, l.n, l.d);
    assert_int_equal(scant_project_features(l.project, &array), SCANT_EINPUT);
    assert_says(ctx, features, "has changed since its items were added");
    OK(scant_project_accept_changed(l.project, NULL));
    OK(scant_project_prepare(l.project));
    OK(scant_project_features(l.project, &array));
    assert_memory_equal(array->data, l.x, l.n * l.d * sizeof *l.x);
    scant_array_free(array);
    lab_end(&l);
}

/* ---- items and classes added later ------------------------------------------------- */

/* Checks the predictions that exist without running a network; rows 0: none. */
static void assert_predicted(lab *l, size_t model, size_t rows, size_t columns) {
    scant_array *p;
    size_t number;
    OK(scant_project_predict_cached(l->project, &p, &number));
    assert_int_equal(number, model);
    assert_int_equal(p != NULL, rows > 0);
    if (p) assert_int_equal(scant_array_shape(p)[0], rows);
    if (p) assert_int_equal(scant_array_shape(p)[1], columns);
    scant_array_free(p);
}

static void items_and_classes_added_later_are_predicted(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(2);
    lab l;
    size_t model, added, label;
    char more[500];
    lab_make(&l, ctx, "later", plain);
    assert_predicted(&l, 0, 0, 0);
    lab_answer(&l, 60, false);
    train(&l);
    lab_remove(&l, "cache");
    assert_predicted(&l, 1, 0, 0);
    scant_array *p = predict(&l, &model);
    float first[3];
    memcpy(first, numbers(p), sizeof first);
    scant_array_free(p);

    OK(scant_project_class_add(l.project, "later", &label));
    assert_predicted(&l, 1, l.n, 3); /* reading them computes nothing */
    p = predict(&l, &model);
    assert_int_equal(scant_array_shape(p)[1], 4);
    assert_memory_equal(first, numbers(p), sizeof first);
    for (size_t i = 0; i < l.n; i++) assert_true(numbers(p)[i * 4 + 3] == 0);
    scant_array_free(p);

    snprintf(more, sizeof more, "%s-more.npy", l.dir);
    write_features(ctx, more, l.x, 25, l.d); /* the same points, as new items */
    for (size_t i = 0; i < 25 * l.d; i++) l.x[i] += 1e-3f; /* else they are copies */
    write_features(ctx, more, l.x, 25, l.d);
    char manifest[500], line[64];
    snprintf(manifest, sizeof manifest, "%s-more.csv", l.dir);
    FILE *f = fopen(manifest, "w");
    fputs("id,row\n", f);
    for (int i = 0; i < 25; i++) {
        snprintf(line, sizeof line, "new%d,%d\n", i, i);
        fputs(line, f);
    }
    fclose(f);
    OK(scant_project_add(
        l.project, &(scant_source){.features = more, .manifest = manifest}, &added));
    assert_int_equal(added, 25);
    assert_predicted(&l, 1, l.n, 4);
    p = predict(&l, &model);
    assert_int_equal(scant_array_shape(p)[0], l.n + 25);
    for (size_t i = 0; i < 4 * (l.n + 25); i++) assert_true(isfinite(numbers(p)[i]));
    assert_true(fabsf(numbers(p)[0] - numbers(p)[4 * l.n]) < 0.01f);
    scant_array_free(p);
    assert_int_equal(train(&l), 2);
    p = predict(&l, &model);
    assert_true(numbers(p)[3] > 0 && numbers(p)[3] < 0.34f); /* known now, no labels */
    scant_array_free(p);
    lab_end(&l);
}

static void a_second_training_is_refused_and_the_error_names_the_first(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(1), *other = ctx_threads(1);
    lab l;
    scant_project *again;
    scant_hold *hold;
    lab_make(&l, ctx, "held", plain);
    lab_answer(&l, 40, false);
    OK(scant_project_open(other, l.dir, &again));
    assert_int_equal(scant_project_hold(again, "train", "somebody else", &hold),
                     SCANT_OK);
    assert_int_equal(scant_project_train(l.project, NULL, NULL), SCANT_ECONFLICT);
    assert_non_null(strstr(scant_ctx_errmsg(ctx), "somebody else"));
    scant_hold_free(hold);
    assert_int_equal(train(&l), 1);
    scant_project_free(again);
    lab_end(&l);
    scant_ctx_free(other);
}

/* ---- memory ------------------------------------------------------------------------ */

/* Every step-th allocation of a training fails in turn: the call reports it, and the next
 * one works. */
static void a_failed_allocation_leaves_a_project_that_works(void **state) {
    (void)state;
    memory m;
    scant_ctx *ctx = ctx_counting(&m);
    lab l;
    size_t failed = 0, step;
    const scant_setting settings[] = {{"epochs", "2"}};
    lab_make(&l, ctx, "memory",
             (lab_opts){.n = 60,
                        .d = 2,
                        .classes = 2,
                        .noise = 0.2,
                        .seed = 4,
                        .settings = settings,
                        .n_settings = 1});
    lab_answer(&l, 30, false);
    m.calls = 0;
    train(&l);
    step = m.calls / 150 + 1;
    for (size_t at = 0;; at += step) {
        m.calls = 0;
        m.fail_at = at;
        scant_status status = scant_project_train(l.project, NULL, NULL);
        bool done = m.calls <= at;
        m.fail_at = SIZE_MAX;
        if (status != SCANT_OK) {
            assert_int_equal(status, SCANT_ENOMEM);
            failed++;
        }
        if (done) break;
    }
    assert_true(failed > 20);
    train(&l);
    lab_close(&l);
    ctx_end(ctx, &m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_learns_the_labels),
        cmocka_unit_test(labels_of_the_audit_set_are_not_trained_on),
        cmocka_unit_test(no_method_trains_on_the_audit_set),
        cmocka_unit_test(labelled_items_do_not_train_without_their_labels),
        cmocka_unit_test(every_method_trains_when_all_items_are_labelled),
        cmocka_unit_test(the_same_seed_gives_the_same_weights_on_any_number_of_threads),
        cmocka_unit_test(a_given_seed_is_used),
        cmocka_unit_test(without_labels_of_two_classes_there_is_no_model),
        cmocka_unit_test(two_labelled_items_are_enough),
        cmocka_unit_test(equal_rows_do_no_harm),
        cmocka_unit_test(all_of_cache_can_be_deleted),
        cmocka_unit_test(without_cache_and_weights_the_error_says_train_again),
        cmocka_unit_test(damaged_files_of_cache_are_computed_again),
        cmocka_unit_test(cached_features_outlive_their_file),
        cmocka_unit_test(a_changed_file_of_features_is_read_again_once_accepted),
        cmocka_unit_test(items_and_classes_added_later_are_predicted),
        cmocka_unit_test(a_second_training_is_refused_and_the_error_names_the_first),
        cmocka_unit_test(a_failed_allocation_leaves_a_project_that_works),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
