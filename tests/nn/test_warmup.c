/* SPDX-License-Identifier: Apache-2.0
 *
 * The automatic warm-up, and a warm-up that is too long.
 */
#include "watched.h"

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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_automatic_warm_up_is_for_networks_whose_units_may_die),
        cmocka_unit_test(trained_weights_have_no_automatic_warm_up),
        cmocka_unit_test(a_resumed_training_keeps_its_warm_up),
        cmocka_unit_test(a_warm_up_longer_than_the_training_is_refused),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
