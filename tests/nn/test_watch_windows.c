/* SPDX-License-Identifier: Apache-2.0
 *
 * The windows of the watch: the figures of pseudo-labels in them, trainings that stop
 * early, and interruptions.
 */
#include "watched.h"

/* ---- pseudo-labels ----------------------------------------------------------------- */

static scant_train_opts fixmatch(const size_t *rows) {
    return TRAIN_OPTS("fixmatch", NULL, with.rows = rows, with.n_rows = 30,
                      with.batch = 16, with.steps = 80);
}

static void an_empty_mask_is_a_sign(void **state) {
    size_t rows[30];
    fixture f;
    (void)state;
    for (size_t i = 0; i < 30; i++) rows[i] = i;
    begin(&f, "mlp", small);
    scant_train_opts o = fixmatch(rows);
    assert_int_equal(train(&f, o).signs, 0);
    o.ssl.threshold = 1; /* no confidence reaches this */
    o.lr = 1e-3;
    scant_train_state s = train(&f, o);
    assert_int_equal(s.signs, SCANT_SIGN_MASK);
    assert_false(s.signs & SCANT_SIGNS_COLLAPSED); /* it has learned from labels */
    assert_non_null(strstr(f.warning, "pseudo-labels are used; a lower threshold"));
    assert_null(strstr(f.warning, "warmup"));
    end(&f);
}

/* Figures of the epoch are planted; the text must not have them. */
static void the_text_has_the_figures_of_the_window(void **state) {
    char text[SCANT_SIGNS_TEXT], want[64];
    size_t rows[30];
    fixture f;
    (void)state;
    for (size_t i = 0; i < 30; i++) rows[i] = i;
    begin(&f, "mlp", small);
    scant_train_opts o = fixmatch(rows);
    o.ssl.threshold = 1;
    o.lr = 1e-3;
    scant_train_state s = train(&f, o);
    assert_int_equal(s.signs, SCANT_SIGN_MASK);
    s.kept = 0.69;
    assert_non_null(strstr(scant_train_signs_text(&s, text), "0% of the pseudo"));
    s.signs = SCANT_SIGN_LOSS;
    s.loss = 12345;
    snprintf(want, sizeof want, "the loss is %.4g,", s.window_loss);
    assert_non_null(strstr(scant_train_signs_text(&s, text), want));
    assert_null(strstr(text, "12345"));
    end(&f);
}

/* Labels of all classes, but the unlabelled samples are of one: their pseudo-labels are
 * of one class, too. They are right, so the training has not collapsed. */
static void pseudo_labels_of_few_classes_are_a_sign_but_no_collapse(void **state) {
    size_t rows[300], others[300], n = 0;
    fixture f;
    (void)state;
    begin(&f, "mlp", small);
    const int32_t *labels = scant_data_labels(f.data);
    for (size_t i = 0; i < 300; i++) {
        rows[i] = i;
        if (labels[i] == 1) others[n++] = i;
    }
    scant_train_opts o = fixmatch(rows);
    o.unlabelled = others;
    o.n_unlabelled = n;
    scant_train_state s = train(&f, o);
    assert_int_equal(s.signs, SCANT_SIGN_CLASSES);
    assert_false(s.signs & SCANT_SIGNS_COLLAPSED);
    assert_non_null(strstr(f.warning, "unless the samples are as unequal, align"));
    assert_true((double)s.pseudo_classes < 1.5);
    assert_true((double)s.label_classes > 2.5);
    end(&f);
}

/* A watch without layers after one window of pseudo-labels, `counts` of each of `c`
 * classes, with labels of all classes equally. Returns the signs. */
static size_t signs_of_counts(fixture *f, const float *counts, size_t c) {
    nn_slice slice = {.at = 0};
    float sums[4] = {0}, none[1] = {0};
    nn_weights weights = {.ctx = f->ctx, .grads = none, .slices = &slice};
    nn_watch w = {.n_classes = c,
                  .diversity = (double)c,
                  .alive = none,
                  .counts = sums,
                  .last = {.gradient_norm = -1}};
    for (size_t step = 1; step <= 20; step++)
        nn_watch_step(&w, &weights,
                      &(nn_watched_step){.step = step,
                                         .steps = 20,
                                         .loss = 0.1,
                                         .samples = 16,
                                         .kept = 100,
                                         .unlabelled = 100,
                                         .counts = counts});
    return w.signs;
}

/* exp(entropy) is 1 for one class and at most 2 for two: the bound is between. With
 * shares 0.9 and 0.1 it is 1.384, with 0.85 and 0.15 1.526. */
static void one_of_two_classes_is_few(void **state) {
    fixture f;
    (void)state;
    begin(&f, "mlp", small);
    assert_int_equal(signs_of_counts(&f, (const float[]){100, 0}, 2), SCANT_SIGN_CLASSES);
    assert_int_equal(signs_of_counts(&f, (const float[]){90, 10}, 2), SCANT_SIGN_CLASSES);
    assert_int_equal(signs_of_counts(&f, (const float[]){85, 15}, 2), 0);
    assert_int_equal(signs_of_counts(&f, (const float[]){100}, 1), 0);
    end(&f);
}

/* ---- stops ------------------------------------------------------------------------- */

/* All units of a layer are dead, so the accuracy never changes. Both trainings stop
 * within the first quarter of the steps planned. */
static void a_training_that_stops_early_is_watched_to_its_end(void **state) {
    size_t rows[300];
    (void)state;
    for (size_t i = 0; i < 300; i++) rows[i] = i;
    for (int until = 0; until < 2; until++) {
        fixture f;
        begin(&f, "mlp", small);
        kill_units(&f, "fc2.bias", 20);
        scant_train_opts o = TRAIN_OPTS(NULL, NULL, with.epochs = 100, with.lr = 1e-6,
                                        with.batch = 10, with.warmup = 0);
        if (until) {
            o.until = 0.2;
        } else {
            o.patience = 2;
            o.valid = f.data;
            o.valid_rows = rows;
            o.n_valid_rows = 300;
        }
        scant_train_state s = train(&f, o);
        assert_int_equal(s.stopped, until ? SCANT_STOP_UNTIL : SCANT_STOP_PATIENCE);
        assert_int_equal(s.step, until ? 30 : 90);
        assert_true(s.signs & SCANT_SIGN_DEAD);
        assert_true(s.dead == 1);
        assert_true(f.warnings > 0);
        end(&f);
    }
}

/* The units die after half of the steps done: windows are short enough to show it. */
static void a_late_death_shows_although_the_training_stops_early(void **state) {
    fixture f;
    nn_watch w = {.n_layers = 1, .n_units = 4, .last = {.gradient_norm = -1}};
    float grads[4] = {0};
    (void)state;
    begin(&f, "mlp", small);
    nn_watched layer = {.node = 0, .bias = 0, .count = 4};
    float alive[4] = {0};
    nn_slice slice = {.at = 0};
    nn_weights weights = {.ctx = f.ctx, .grads = grads, .slices = &slice};
    w.layers = &layer;
    w.alive = alive;
    for (size_t step = 1; step <= 100; step++) {
        for (size_t k = 0; k < 4; k++) grads[k] = step <= 60;
        nn_watch_step(
            &w, &weights,
            &(nn_watched_step){.step = step, .steps = 10000, .loss = 1, .samples = 10});
        assert_int_equal(w.signs, 0);
    }
    nn_watched_window now = nn_watch_now(&w, 100);
    nn_watch_stop(&w, &now, 100, 0);
    assert_int_equal(w.signs, SCANT_SIGN_DEAD);
    /* within the warm-up there are no signs */
    nn_watch_stop(&w, &now, 100, 100);
    assert_int_equal(w.signs, 0);
    end(&f);
}

static void die_after_epoch_8(void *user, const scant_train_state *s) {
    fixture *f = user;
    if (s->epoch_ended && s->epoch == 8) kill_units(f, "fc2.bias", 20);
}

/* The loss falls in every epoch, until all units die. Patience returns the weights of the
 * best epoch, which are alive. An interruption after the death does not change that. */
static void signs_are_of_the_weights_that_patience_returns(void **state) {
    const char *path = path_of("best.safetensors");
    size_t rows[300];
    (void)state;
    for (size_t i = 0; i < 300; i++) rows[i] = i;
    for (int interrupted = 0; interrupted < 2; interrupted++) {
        fixture f;
        scant_train_state s;
        begin_with(&f, "waves", "mlp",
                   (scant_net_opts){.width = 20, .depth = 2, .classes = 1});
        scant_train_opts o =
            TRAIN_OPTS(NULL, NULL, with.epochs = 100, with.lr = 1e-3, with.batch = 10,
                       with.patience = 4, with.valid = f.data, with.valid_rows = rows,
                       with.n_valid_rows = 300, with.warmup = 0,
                       with.report = die_after_epoch_8, with.user = &f);
        if (interrupted) {
            o.checkpoint = path;
            f.stop_after = 10 * 30; /* in the tenth epoch */
            assert_int_equal(scant_net_train(f.net, f.data, &o, &s), SCANT_ECANCELLED);
            f.stop_after = 0;
            o.resume = true;
        }
        s = train(&f, o);
        assert_int_equal(s.stopped, SCANT_STOP_PATIENCE);
        assert_int_equal(s.epoch, 12); /* epoch 8 was the best one */
        assert_non_null(strstr(f.warning, "always 0"));
        assert_int_equal(s.signs, 0);
        assert_true(s.dead < 0.9);
        remove(path);
        end(&f);
    }
}

/* ---- interruptions ----------------------------------------------------------------- */

/* What the window that ends with a step showed. */
typedef struct first_window {
    size_t step; /* the window's last step */
    scant_train_state found;
} first_window;

static void take_first_window(void *user, const scant_train_state *s) {
    first_window *w = user;
    if (s->step == w->step) w->found = *s;
}

static void assert_same_window(const scant_train_state *a, const scant_train_state *b) {
    assert_true(a->window_loss == b->window_loss);
    assert_true(a->window_kept == b->window_kept);
    assert_true(a->gradient_norm == b->gradient_norm);
    assert_true(a->pseudo_classes == b->pseudo_classes);
    assert_true(a->dead == b->dead);
    assert_int_equal(a->signs, b->signs);
}

/* Compares the first window that ends after an interruption: it needs the sums of the
 * steps before it. Later windows would be equal without them. */
static void an_interruption_does_not_change_the_sums_of_a_window(void **state) {
    const char *path = path_of("watch.safetensors");
    size_t rows[30];
    bool some = false; /* pseudo-labels count in part */
    (void)state;
    for (size_t i = 0; i < 30; i++) rows[i] = i;
    for (int stop = 3; stop < 60; stop += 7) {
        fixture a, b;
        scant_train_state rest;
        /* windows of ten steps; the one that is interrupted, or just began */
        first_window whole = {.step = (size_t)stop / 10 * 10 + 10}, resumed = whole;
        begin(&a, "mlp", small), begin(&b, "mlp", small);
        kill_units(&a, "fc2.bias", 19), kill_units(&b, "fc2.bias", 19);
        scant_train_opts o = fixmatch(rows);
        o.ssl.threshold = 0.5;
        o.report = take_first_window;
        o.user = &whole;
        scant_train_state end_a = train(&a, o);
        o.user = &resumed;
        o.checkpoint = path;
        b.stop_after = stop;
        assert_int_equal(scant_net_train(b.net, b.data, &o, &rest), SCANT_ECANCELLED);
        assert_true(rest.step < whole.step);
        b.stop_after = 0;
        o.resume = true;
        rest = train(&b, o);
        assert_int_equal(resumed.found.step, whole.step);
        assert_true(whole.found.window_loss > 0);
        some |= whole.found.window_kept > 0 && whole.found.window_kept < 1;
        assert_same_window(&whole.found, &resumed.found);
        assert_same_window(&end_a, &rest);
        assert_string_equal(end_a.dead_layer, rest.dead_layer);
        remove(path);
        end(&a), end(&b);
    }
    assert_true(some);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_mask_is_a_sign),
        cmocka_unit_test(the_text_has_the_figures_of_the_window),
        cmocka_unit_test(pseudo_labels_of_few_classes_are_a_sign_but_no_collapse),
        cmocka_unit_test(one_of_two_classes_is_few),
        cmocka_unit_test(a_training_that_stops_early_is_watched_to_its_end),
        cmocka_unit_test(a_late_death_shows_although_the_training_stops_early),
        cmocka_unit_test(signs_are_of_the_weights_that_patience_returns),
        cmocka_unit_test(an_interruption_does_not_change_the_sums_of_a_window),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
