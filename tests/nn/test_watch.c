/* SPDX-License-Identifier: Apache-2.0
 *
 * The watch over a training: that it finds what was planted, with counts and losses
 * computed by hand, that it is silent otherwise, and that it does not depend on
 * interruptions. And the automatic warm-up.
 */
#include <math.h>
#include <stdbool.h>

#include "../data/support.h"

#include "core/rng.h"
#include "nn/network.h"
#include "nn/train.h"
#include "scant/train.h"
#include "train_opts.h"

typedef struct fixture {
    scant_ctx *ctx;
    scant_data *data;
    scant_net *net;
    char warning[4096]; /* all of them */
    int warnings;
    int stop_after; /* cancel at this check; 0: never */
} fixture;

static int cancelled(void *user) {
    fixture *f = user;
    return f->stop_after && --f->stop_after == 0;
}

static void on_log(void *user, scant_log_level level, const char *text) {
    fixture *f = user;
    if (level != SCANT_LOG_WARNING) return;
    size_t used = strlen(f->warning);
    snprintf(f->warning + used, sizeof f->warning - used, "%s\n", text);
    f->warnings++;
}

static void assert_near(double got, double want, double off) {
    if (!(fabs(got - want) <= off)) fail_msg("%.12g, expected %.12g", got, want);
}

/* 300 samples of `data`; C classes (0: the data's). */
static void begin_with(fixture *f, const char *data, const char *model,
                       scant_net_opts o) {
    scant_ctx_opts opts = {.threads = 2, .user = f, .log = on_log, .cancel = cancelled};
    scant_data_opts d = {
        .count = 300, .seed = 3, .regression = strcmp(data, "waves") == 0};
    *f = (fixture){0};
    assert_int_equal(scant_ctx_create(&opts, &f->ctx), SCANT_OK);
    assert_int_equal(scant_data_open(f->ctx, data, &d, &f->data), SCANT_OK);
    scant_data_shape(f->data, o.shape);
    if (!o.classes) o.classes = scant_data_classes(f->data);
    assert_int_equal(scant_net_create(f->ctx, model, &o, &f->net), SCANT_OK);
}

static void begin(fixture *f, const char *model, scant_net_opts o) {
    begin_with(f, "blobs", model, o);
}

static void end(fixture *f) {
    scant_net_free(f->net);
    scant_data_free(f->data);
    scant_ctx_free(f->ctx);
}

static scant_train_state train(fixture *f, scant_train_opts o) {
    scant_train_state state;
    if (scant_net_train(f->net, f->data, &o, &state) != SCANT_OK)
        fail_msg("%s", scant_ctx_errmsg(f->ctx));
    return state;
}

/* Sets the biases of the first `count` units of a layer to -1000, so that they are dead,
 * and those of the others to 3, so that they are not. */
static void kill_units(fixture *f, const char *bias, size_t count) {
    const nn_param *p = nn_net_find(f->net->net, bias);
    float *w = malloc(f->net->net->n_floats * sizeof *w);
    assert_non_null(p);
    assert_int_equal(nn_weights_get(f->net->weights, w), SCANT_OK);
    for (size_t i = 0; i < p->count; i++) w[p->offset + i] = i < count ? -1000 : 3;
    assert_int_equal(nn_weights_set(f->net->weights, w), SCANT_OK);
    free(w);
}

static const scant_net_opts small = {.width = 20, .depth = 2};

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
    assert_non_null(strstr(f.warning, "pseudo-labels count"));
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
    assert_non_null(strstr(scant_train_signs_text(&s, text), "only 0% of the pseudo"));
    s.signs = SCANT_SIGN_LOSS;
    s.loss = 12345;
    snprintf(want, sizeof want, "the loss is %.4g,", s.window_loss);
    assert_non_null(strstr(scant_train_signs_text(&s, text), want));
    assert_null(strstr(text, "12345"));
    end(&f);
}

/* Labels of all classes, but the unlabelled samples are of one: their pseudo-labels are
 * of one class, too. */
static void pseudo_labels_of_few_classes_are_a_sign(void **state) {
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
    assert_true(s.signs & SCANT_SIGN_CLASSES);
    assert_true((double)s.pseudo_classes < 1.5);
    assert_true((double)s.label_classes > 2.5);
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
            &(nn_watched_step){.step = step, .steps = 10000, .loss = 1, .samples = 1});
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

/* ---- warm-up ----------------------------------------------------------------------- */

/* The rate of the first step is lr / warmup. */
static double first_rate(const char *model, scant_net_opts net, scant_train_opts o) {
    fixture f;
    scant_train_state s;
    begin(&f, model, net);
    f.stop_after = 1;
    scant_status status = scant_net_train(f.net, f.data, &o, &s);
    assert_true(status == SCANT_OK || status == SCANT_ECANCELLED);
    end(&f);
    return s.lr;
}

static void the_automatic_warm_up_is_for_networks_whose_units_may_die(void **state) {
    const scant_train_opts o = TRAIN_OPTS(NULL, NULL, with.lr = 1, with.steps = 50000);
    scant_net_opts tanh = small;
    scant_train_opts fewer = o;
    (void)state;
    tanh.activation = "tanh";
    fewer.steps = 100;
    assert_near(first_rate("mlp", small, o), 1.0 / NN_WARMUP, 1e-12);
    assert_near(first_rate("mlp", small, fewer), 1.0 / 10, 1e-12);
    assert_near(first_rate("mlp", tanh, o), 1, 0);
    assert_near(first_rate("linear", (scant_net_opts){0}, o), 1, 0);
    fewer.warmup = 0;
    assert_near(first_rate("mlp", small, fewer), 1, 0);
    fewer.warmup = 4;
    assert_near(first_rate("mlp", small, fewer), 0.25, 0);
}

/* Weights that were trained, or read from a file, are past their first steps; those of an
 * untrained network in a file are not. */
static void trained_weights_have_no_automatic_warm_up(void **state) {
    const char *path = path_of("trained.safetensors");
    (void)state;
    for (int steps = 0; steps <= 100; steps += 100) {
        fixture f;
        scant_net *net;
        scant_train_state s;
        begin(&f, "mlp", small);
        scant_train_opts o = TRAIN_OPTS(NULL, NULL, with.steps = 100);
        if (steps) {
            assert_int_equal(train(&f, o).warmup, 10);
            assert_int_equal(train(&f, o).warmup, 0);
        }
        assert_int_equal(scant_net_save(f.net, path), SCANT_OK);
        scant_net_opts start = {.classes = scant_data_classes(f.data)};
        assert_int_equal(scant_net_start(f.ctx, path, NULL, &start, &net), SCANT_OK);
        assert_int_equal(scant_net_train(net, f.data, &o, &s), SCANT_OK);
        assert_int_equal(s.warmup, steps ? 0 : 10);
        assert_int_equal(scant_net_reset(net, 1), SCANT_OK);
        assert_int_equal(scant_net_train(net, f.data, &o, &s), SCANT_OK);
        assert_int_equal(s.warmup, 10);
        o.warmup = 7; /* asked for */
        assert_int_equal(scant_net_train(net, f.data, &o, &s), SCANT_OK);
        assert_int_equal(s.warmup, 7);
        scant_net_free(net);
        remove(path);
        end(&f);
    }
}

/* The warm-up is that of the beginning, although the network is trained by then. */
static void a_resumed_training_keeps_its_warm_up(void **state) {
    const char *path = path_of("warmup.safetensors");
    fixture f;
    scant_train_state s;
    (void)state;
    begin(&f, "mlp", small);
    scant_train_opts o = TRAIN_OPTS(NULL, NULL, with.steps = 100, with.checkpoint = path);
    f.stop_after = 5;
    assert_int_equal(scant_net_train(f.net, f.data, &o, &s), SCANT_ECANCELLED);
    f.stop_after = 0;
    o.resume = true;
    assert_int_equal(train(&f, o).warmup, 10);
    remove(path);
    end(&f);
}

static void a_warm_up_longer_than_the_training_is_refused(void **state) {
    fixture f;
    (void)state;
    begin(&f, "mlp", small);
    scant_train_opts o = TRAIN_OPTS(NULL, NULL, with.steps = 30, with.warmup = 31);
    assert_int_equal(scant_net_train(f.net, f.data, &o, NULL), SCANT_EUSAGE);
    assert_non_null(strstr(scant_ctx_errmsg(f.ctx), "warmup of 31 steps"));
    assert_non_null(strstr(scant_ctx_errmsg(f.ctx), "30 steps"));
    o.warmup = 30;
    assert_int_equal(scant_net_train(f.net, f.data, &o, NULL), SCANT_OK);
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
        cmocka_unit_test(an_empty_mask_is_a_sign),
        cmocka_unit_test(the_text_has_the_figures_of_the_window),
        cmocka_unit_test(pseudo_labels_of_few_classes_are_a_sign),
        cmocka_unit_test(a_training_that_stops_early_is_watched_to_its_end),
        cmocka_unit_test(a_late_death_shows_although_the_training_stops_early),
        cmocka_unit_test(signs_are_of_the_weights_that_patience_returns),
        cmocka_unit_test(an_interruption_does_not_change_the_sums_of_a_window),
        cmocka_unit_test(the_automatic_warm_up_is_for_networks_whose_units_may_die),
        cmocka_unit_test(trained_weights_have_no_automatic_warm_up),
        cmocka_unit_test(a_resumed_training_keeps_its_warm_up),
        cmocka_unit_test(a_warm_up_longer_than_the_training_is_refused),
        cmocka_unit_test(signs_are_read_back_from_their_names),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
