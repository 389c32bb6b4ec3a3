/* SPDX-License-Identifier: Apache-2.0
 *
 * The watch over a training: that it finds what was planted, with counts and losses
 * computed by hand, and that it is silent otherwise.
 */
#include "watched.h"

/* ---- dead units -------------------------------------------------------------------- */

static void a_sound_training_has_no_signs(void **state) {
    fixture f;
    (void)state;
    begin(&f, "mlp", small);
    scant_train_state s = train(&f, TRAIN_OPTS(NULL, NULL, with.epochs = 20));
    assert_int_equal(s.signs, 0);
    assert_int_equal(f.warnings, 0);
    assert_true(s.gradient_norm > 0);
    assert_true(s.dead < 0.5);
    end(&f);
}

static void dead_units_are_counted_in_the_worst_layer(void **state) {
    static const struct {
        size_t first, second; /* dead units of the layers, of 20 each */
        double share;
        const char *layer;
    } cases[] = {{0, 19, 0.95, "fc2"},
                 {19, 0, 0.95, "fc1"},
                 {18, 19, 0.95, "fc2"},
                 /* nothing in fc2 lives: the layers before it have no gradient */
                 {0, 20, 1, "fc2"},
                 {20, 3, 1, "fc1"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture f;
        begin(&f, "mlp", small);
        kill_units(&f, "fc1.bias", cases[i].first);
        kill_units(&f, "fc2.bias", cases[i].second);
        scant_train_state s =
            train(&f, TRAIN_OPTS(NULL, NULL, with.steps = 40, with.lr = 1e-6));
        assert_true(s.signs & SCANT_SIGN_DEAD);
        assert_near(s.dead, cases[i].share, 1e-12);
        assert_string_equal(s.dead_layer, cases[i].layer);
        assert_non_null(strstr(f.warning, cases[i].layer));
        assert_non_null(strstr(f.warning, "warmup"));
        end(&f);
    }
}

/* Without learning, 12 of 20 dead units are a sign; with it, 18 are. */
static void many_dead_units_are_a_sign_if_little_is_learned(void **state) {
    static const struct {
        size_t dead;
        bool learns, sign;
    } cases[] = {{11, false, false}, {12, false, true}, {17, false, true},
                 {12, true, false},  {17, true, false}, {18, true, true}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture f;
        begin(&f, "mlp", small);
        kill_units(&f, "fc1.bias", cases[i].dead);
        float lr = cases[i].learns ? 1e-2F : 1e-6F;
        scant_train_state s =
            train(&f, TRAIN_OPTS(NULL, NULL, with.steps = 200, with.lr = lr));
        bool learned = s.window_loss < 0.25 * s.constant_loss;
        assert_int_equal(learned, cases[i].learns);
        assert_near(s.dead, (double)cases[i].dead / 20, 1e-12);
        assert_int_equal((s.signs & SCANT_SIGN_DEAD) != 0, cases[i].sign);
        end(&f);
    }
}

static void only_relu_units_can_die(void **state) {
    static const char *const others[] = {"tanh", "leaky", "sigmoid", "swish"};
    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        fixture f;
        scant_net_opts o = small;
        o.activation = others[i];
        begin(&f, "mlp", o);
        kill_units(&f, "fc1.bias", 20);
        scant_train_state s =
            train(&f, TRAIN_OPTS(NULL, NULL, with.steps = 40, with.lr = 1e-6));
        assert_false(s.signs & SCANT_SIGN_DEAD);
        assert_null(s.dead_layer);
        end(&f);
    }
}

/* Scales the last layer's weights, and so the margins. */
static void scale_weights(fixture *f, const char *weight, float factor) {
    const nn_param *p = nn_net_find(f->net->net, weight);
    float *w = malloc(f->net->net->n_floats * sizeof *w);
    assert_non_null(p);
    assert_int_equal(nn_weights_get(f->net->weights, w), SCANT_OK);
    for (size_t i = 0; i < p->count; i++) w[p->offset + i] *= factor;
    assert_int_equal(nn_weights_set(f->net->weights, w), SCANT_OK);
    free(w);
}

static size_t largest(const float *x, size_t n) {
    size_t best = 0;
    for (size_t i = 1; i < n; i++) best = x[i] > x[best] ? i : best;
    return best;
}

/* With its own predictions as labels and margins of thousands, a network's loss and its
 * gradients are exactly 0. */
static void a_solved_training_has_no_dead_units(void **state) {
    size_t rows[300];
    int32_t labels[300];
    float logits[300 * 8];
    fixture f;
    (void)state;
    begin(&f, "mlp", small);
    size_t c = scant_data_classes(f.data);
    assert_true(c <= 8);
    scale_weights(&f, "fc3.weight", 1e9F);
    for (size_t i = 0; i < 300; i++) rows[i] = i;
    assert_int_equal(
        scant_net_predict(f.net, f.data, rows, 300, &(scant_outputs){.logits = logits}),
        SCANT_OK);
    for (size_t i = 0; i < 300; i++) labels[i] = (int32_t)largest(logits + i * c, c);
    scant_train_state s =
        train(&f, TRAIN_OPTS(NULL, NULL, with.steps = 40, with.lr = 1e-6,
                             with.rows = rows, with.n_rows = 300, with.labels = labels));
    assert_true(s.gradient_norm == 0);
    assert_int_equal(s.signs, 0);
    assert_true(s.dead == 0);
    assert_null(s.dead_layer);
    end(&f);
}

/* Each of 40 units has a gradient for one sample of 40. In ten steps of one sample 30 of
 * them have none. */
static void a_few_samples_show_no_dead_units(void **state) {
    enum { UNITS = 40 };
    float grads[UNITS], alive[UNITS] = {0};
    nn_watched layer = {.node = 0, .bias = 0, .count = UNITS};
    nn_slice slice = {.at = 0};
    fixture f;
    (void)state;
    begin(&f, "mlp", small);
    for (size_t batch = 1; batch <= 10; batch += 9) {
        nn_weights weights = {.ctx = f.ctx, .grads = grads, .slices = &slice};
        nn_watch w = {.layers = &layer,
                      .n_layers = 1,
                      .n_units = UNITS,
                      .alive = alive,
                      .constant = 1,
                      .last = {.gradient_norm = -1}};
        size_t windows = 0;
        for (size_t step = 1; step <= 220; step++) {
            for (size_t k = 0; k < UNITS; k++) grads[k] = step % UNITS == k;
            windows += nn_watch_step(
                &w, &weights,
                &(nn_watched_step){
                    .step = step, .steps = 220, .loss = 1, .samples = batch});
            if (batch == 1) assert_int_equal(w.signs, 0);
        }
        assert_true(batch == 1 ? windows == 2 : windows > 10);
        assert_int_equal(w.signs, batch == 1 ? 0 : SCANT_SIGN_DEAD);
    }
    end(&f);
}

/* Fewer samples than it takes to know. */
static void a_short_training_has_no_dead_units(void **state) {
    fixture f;
    (void)state;
    begin(&f, "mlp", small);
    kill_units(&f, "fc2.bias", 20);
    scant_train_opts o =
        TRAIN_OPTS(NULL, NULL, with.lr = 1e-6, with.batch = 3, with.steps = 33);
    assert_true(train(&f, o).dead == 0);
    o.steps = 34;
    assert_true(train(&f, o).dead == 1);
    end(&f);
}

/* Without a bias nothing shows whether a unit lives. */
static void without_biases_dead_units_are_unknown(void **state) {
    fixture f;
    (void)state;
    begin(&f, "onehidden", (scant_net_opts){.width = 20, .activation = "relu"});
    assert_true(train(&f, TRAIN_OPTS(NULL, NULL, with.steps = 40)).dead < 0);
    end(&f);
}

/* ---- the loss ---------------------------------------------------------------------- */

/* The loss of predicting the shares of the classes, from the samples of each class. */
static void the_constant_loss_is_the_entropy_of_the_labels(void **state) {
    int32_t labels[300];
    size_t rows[300];
    float weights[300];
    fixture f;
    (void)state;
    for (size_t i = 0; i < 300; i++) {
        rows[i] = i;
        labels[i] = i < 225;          /* shares 1/4 and 3/4 */
        weights[i] = i < 225 ? 1 : 3; /* weighted shares 1/2, 1/2; mean weight 1.5 */
    }
    begin(&f, "mlp", (scant_net_opts){.width = 8, .classes = 2});
    scant_train_opts o = TRAIN_OPTS(NULL, NULL, with.steps = 20, with.rows = rows,
                                    with.n_rows = 300, with.labels = labels);
    double entropy = -0.25 * log(0.25) - 0.75 * log(0.75);
    scant_train_state s = train(&f, o);
    assert_near(s.constant_loss, entropy, 1e-6);
    assert_near((double)s.label_classes, exp(entropy), 1e-6);
    o.weights = weights;
    assert_near(train(&f, o).constant_loss, 1.5 * log(2.0), 1e-6);
    o.draw = true; /* drawn by weight: the loss itself has no weights */
    assert_near(train(&f, o).constant_loss, log(2), 1e-6);
    o.loss = "mse"; /* one-hot targets: (1 - 1/4 - 1/4) / 2 */
    assert_near(train(&f, o).constant_loss, 0.25, 1e-6);
    end(&f);
}

static void the_constant_loss_of_a_regression_is_the_variance(void **state) {
    fixture f;
    double mean = 0, variance = 0;
    (void)state;
    begin_with(&f, "waves", "mlp", (scant_net_opts){.width = 8, .classes = 1});
    const float *targets = scant_data_targets(f.data);
    for (size_t i = 0; i < 300; i++) mean += (double)targets[i] / 300;
    for (size_t i = 0; i < 300; i++)
        variance += ((double)targets[i] - mean) * ((double)targets[i] - mean) / 300;
    scant_train_state s = train(&f, TRAIN_OPTS(NULL, NULL, with.steps = 20));
    assert_near(s.constant_loss, variance, 1e-9);
    end(&f);
}

/* A sigmoid of -1000 is 0, so the network predicts the same for all samples, and no
 * hidden weight has a gradient. */
static void begin_constant(fixture *f) {
    scant_net_opts o = small;
    o.activation = "sigmoid";
    begin(f, "mlp", o);
    kill_units(f, "fc2.bias", 20);
}

static void a_network_that_predicts_the_same_for_all_samples_is_a_sign(void **state) {
    fixture f;
    (void)state;
    begin_constant(&f);
    scant_train_state s = train(&f, TRAIN_OPTS(NULL, NULL, with.steps = 60));
    assert_int_equal(s.signs, SCANT_SIGN_LOSS);
    assert_int_equal(f.warnings, 1); /* once */
    end(&f);
}

/* tanh does not die; its loss is tens of times that of the first step. */
static void a_loss_that_rises_is_a_sign(void **state) {
    fixture f;
    (void)state;
    scant_net_opts o = small;
    o.activation = "tanh";
    begin(&f, "mlp", o);
    scant_train_state s =
        train(&f, TRAIN_OPTS(NULL, NULL, with.steps = 60, with.lr = 100));
    assert_int_equal(s.signs, SCANT_SIGN_LOSS);
    end(&f);
}

/* The loss is that of the first step, above that of a constant prediction, because the
 * rate is too small to learn anything. But the network is not stuck. */
static void a_training_that_has_learned_little_has_no_sign(void **state) {
    static const char *const models[] = {"mlp", "linear"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        fixture f;
        begin(&f, models[i], (scant_net_opts){.width = i ? 0 : 20});
        scant_train_state s =
            train(&f, TRAIN_OPTS(NULL, NULL, with.steps = 60, with.lr = 1e-9));
        assert_true(s.window_loss > 0.99 * s.constant_loss);
        assert_int_equal(s.signs, 0);
        end(&f);
    }
}

/* The initial outputs are nearly equal, and become different slowly. */
static void nearly_equal_outputs_at_the_start_are_no_sign(void **state) {
    fixture f;
    (void)state;
    begin(&f, "mlp", small);
    scale_weights(&f, "fc3.weight", 1e-3F);
    scant_train_state s =
        train(&f, TRAIN_OPTS(NULL, NULL, with.steps = 40, with.lr = 1e-6));
    assert_true(s.window_loss > 0.99 * s.constant_loss);
    assert_int_equal(s.signs, 0);
    end(&f);
}

/* Class 1 with a probability of 0.5 to 0.62, whatever the sample: 40 steps with dropout
 * bring the training loss hardly below that of a constant prediction, or not at all. */
static void weak_labels_are_no_sign(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 8; seed++) {
        fixture f;
        size_t rows[300];
        int32_t labels[300];
        scant__rng rng = {seed, 1};
        begin(&f, "mlp",
              (scant_net_opts){.width = 64, .classes = 2, .dropout = 0.5, .seed = seed});
        const int32_t *classes = scant_data_labels(f.data);
        for (size_t i = 0; i < 300; i++) {
            double p = classes[i] == 0 ? 0.62 : 0.5;
            rows[i] = i;
            labels[i] = scant__rng_unit(&rng, i) < p;
        }
        scant_train_state s =
            train(&f, TRAIN_OPTS(NULL, NULL, with.steps = 40, with.rows = rows,
                                 with.n_rows = 300, with.labels = labels, with.batch = 32,
                                 with.seed = seed));
        assert_true(s.window_loss > 0.95 * s.constant_loss);
        assert_int_equal(s.signs, 0);
        end(&f);
    }
}

static void the_first_steps_and_the_warm_up_have_no_signs(void **state) {
    static const size_t steps[] = {19, 60, 60}, warmup[] = {0, 60, 0};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        fixture f;
        begin_constant(&f);
        scant_train_opts o =
            TRAIN_OPTS(NULL, NULL, with.steps = steps[i], with.warmup = warmup[i]);
        assert_int_equal(train(&f, o).signs, i < 2 ? 0 : SCANT_SIGN_LOSS);
        end(&f);
    }
}

/* Labels of one class have a constant loss of 0, which no loss is below. */
static void one_class_is_no_sign(void **state) {
    int32_t labels[300] = {0};
    size_t rows[300];
    fixture f;
    (void)state;
    for (size_t i = 0; i < 300; i++) rows[i] = i;
    begin(&f, "mlp", (scant_net_opts){.width = 8});
    scant_train_state s =
        train(&f, TRAIN_OPTS(NULL, NULL, with.steps = 60, with.rows = rows,
                             with.n_rows = 300, with.labels = labels));
    assert_true(s.constant_loss == 0);
    assert_int_equal(s.signs, 0);
    end(&f);
}

static void a_training_that_diverges_says_so(void **state) {
    fixture f;
    scant_train_state s;
    (void)state;
    begin(&f, "mlp", small);
    scant_train_opts o = TRAIN_OPTS(NULL, NULL, with.lr = 1e30, with.epochs = 20);
    assert_int_equal(scant_net_train(f.net, f.data, &o, &s), SCANT_EINPUT);
    assert_true(s.signs & SCANT_SIGN_DIVERGED);
    assert_true(s.signs & SCANT_SIGNS_COLLAPSED);
    end(&f);
}

static void signs_are_read_back_from_their_names(void **state) {
    char names[SCANT_SIGNS_SIZE];
    (void)state;
    for (uint64_t signs = 0; signs < 32; signs++)
        assert_int_equal(scant_train_signs_of(scant_train_sign_names(signs, names)),
                         signs);
    assert_string_equal(scant_train_sign_names(3, names), "dead-units loss");
    assert_int_equal(scant_train_signs_of("losses dead"), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sound_training_has_no_signs),
        cmocka_unit_test(dead_units_are_counted_in_the_worst_layer),
        cmocka_unit_test(many_dead_units_are_a_sign_if_little_is_learned),
        cmocka_unit_test(only_relu_units_can_die),
        cmocka_unit_test(a_solved_training_has_no_dead_units),
        cmocka_unit_test(a_few_samples_show_no_dead_units),
        cmocka_unit_test(a_short_training_has_no_dead_units),
        cmocka_unit_test(without_biases_dead_units_are_unknown),
        cmocka_unit_test(the_constant_loss_is_the_entropy_of_the_labels),
        cmocka_unit_test(the_constant_loss_of_a_regression_is_the_variance),
        cmocka_unit_test(a_network_that_predicts_the_same_for_all_samples_is_a_sign),
        cmocka_unit_test(a_loss_that_rises_is_a_sign),
        cmocka_unit_test(a_training_that_has_learned_little_has_no_sign),
        cmocka_unit_test(nearly_equal_outputs_at_the_start_are_no_sign),
        cmocka_unit_test(weak_labels_are_no_sign),
        cmocka_unit_test(the_first_steps_and_the_warm_up_have_no_signs),
        cmocka_unit_test(one_class_is_no_sign),
        cmocka_unit_test(a_training_that_diverges_says_so),
        cmocka_unit_test(signs_are_read_back_from_their_names),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
