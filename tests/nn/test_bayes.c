/* SPDX-License-Identifier: Apache-2.0
 *
 * Ensembles, files of posterior draws, and whether Bayesian networks learn.
 */
#include "bayes.h"
#include "scant/train.h"
#include "train_opts.h"

/* ---- ensembles ---- */

static void an_ensemble_is_the_mean_of_its_members(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_of(2, 0);
    scant_data *data = data_of(ctx, 270, 28, 0);
    scant_net *nets[3];
    predictions each[3];
    scant_net_opts o = {.shape = {1, 28, 28}, .classes = 4};
    nets[0] = net_of(ctx, "mlp", o);
    o.seed = 1, o.bayes = "variational", o.draws = 5;
    nets[1] = net_of(ctx, "lenet5", o);
    o.bayes = "dropout", o.draws = 3;
    nets[2] = net_of(ctx, "mlp", o);
    /* members differ in scaling */
    OK(scant_net_set_scaling(nets[1], &(float){0.5f}, &(float){0.25f}));
    OK(scant_net_set_scaling(nets[2], &(float){0.1f}, &(float){2}));
    for (int i = 0; i < 3; i++) each[i] = predict(nets[i], data);
    for (int i = 1; i < 3; i++) OK(scant_net_join(nets[0], nets[i]));
    assert_int_equal(scant_net_members(nets[0]), 3);
    assert_int_equal(scant_net_draws(nets[0]), 1 + 5 + 3);
    assert_ptr_equal(scant_net_member(nets[0], 0), nets[0]);
    assert_ptr_equal(scant_net_member(nets[0], 2), nets[2]);
    assert_null(scant_net_member(nets[0], 3));
    predictions all = predict(nets[0], data);
    size_t plane = all.n * all.c, draw = 0;
    assert_near(all.features, each[0].features, all.n * all.d, 1e-5);
    for (int i = 0; i < 3; i++) {
        assert_near(all.samples + draw * plane, each[i].samples, each[i].m * plane, 1e-6);
        draw += each[i].m;
    }
    for (size_t i = 0; i < plane; i++) {
        double mean = ((double)each[0].probs[i] + 5 * (double)each[1].probs[i] +
                       3 * (double)each[2].probs[i]) /
                      9;
        assert_true(fabs(mean - (double)all.probs[i]) < 1e-6);
        assert_true(fabs(log(mean) - (double)all.logits[i]) < 1e-5);
    }
    for (int i = 0; i < 3; i++) predictions_free(&each[i]);
    predictions_free(&all);
    scant_net_free(nets[0]);
    scant_data_free(data);
    scant_ctx_free(ctx);
}

/* Training and its validation use the first member only. */
static void training_an_ensemble_trains_its_first_member(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_of(2, 0);
    scant_data *data;
    OK(scant_data_open(ctx, "moons", &(scant_data_opts){.count = 200}, &data));
    scant_net_opts o = {.shape = {2, 1, 1}, .classes = 2};
    scant_net *net = net_of(ctx, "mlp", o), *alone = net_of(ctx, "mlp", o);
    o.seed = 1;
    OK(scant_net_join(net, net_of(ctx, "mlp", o)));
    scant_train_opts t = TRAIN_OPTS(NULL, NULL, with.epochs = 3, with.valid = data);
    scant_train_state a, b;
    OK(scant_net_train(net, data, &t, &a));
    OK(scant_net_train(alone, data, &t, &b));
    assert_true(a.valid_loss == b.valid_loss);
    scant_evaluation both, one;
    OK(scant_net_evaluate(net, data, NULL, 0, &both));
    OK(scant_net_evaluate(alone, data, NULL, 0, &one));
    assert_true(one.loss == b.valid_loss && both.loss != one.loss);
    scant_net_free(net);
    scant_net_free(alone);
    scant_data_free(data);
    scant_ctx_free(ctx);
}

static void unsuitable_members_are_refused_and_not_freed(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_of(1, 0), *elsewhere = ctx_of(1, 0);
    scant_net_opts o = {.shape = {6, 1, 1}, .classes = 2};
    scant_net *net = net_of(ctx, "mlp", o), *other;
    assert_int_equal(scant_net_join(net, net), SCANT_EUSAGE);
    o.classes = 3;
    other = net_of(ctx, "mlp", o);
    assert_int_equal(scant_net_join(net, other), SCANT_EINPUT);
    assert_non_null(strstr(scant_ctx_errmsg(ctx), "same classes"));
    scant_net_free(other);
    o.classes = 2, o.shape[0] = 7;
    other = net_of(ctx, "mlp", o);
    assert_int_equal(scant_net_join(net, other), SCANT_EINPUT);
    scant_net_free(other);
    o.shape[0] = 6;
    other = net_of(elsewhere, "mlp", o);
    assert_int_equal(scant_net_join(net, other), SCANT_EUSAGE);
    scant_net_free(other);
    other = net_of(ctx, "mlp", o);
    OK(scant_net_set_class_names(net, (const char *[]){"cat", "dog"}));
    OK(scant_net_set_class_names(other, (const char *[]){"dog", "cat"}));
    assert_int_equal(scant_net_join(net, other), SCANT_EINPUT);
    OK(scant_net_set_class_names(other, (const char *[]){"cat", "dog"}));
    OK(scant_net_join(net, other));
    scant_net *third = net_of(ctx, "mlp", o);
    assert_int_equal(scant_net_join(third, net), SCANT_EUSAGE); /* net is an ensemble */
    scant_net_free(third);
    scant_net_free(net);
    scant_ctx_free(ctx);
    scant_ctx_free(elsewhere);
}

/* ---- files of posterior draws ---- */

static float *read_file(scant_ctx *ctx, const char *path, size_t shape[3]) {
    scant_array *array;
    OK(scant_array_open(ctx, path, &array));
    assert_int_equal(scant_array_ndim(array), 3);
    assert_int_equal(scant_array_dtype(array), SCANT_F32);
    memcpy(shape, scant_array_shape(array), 3 * sizeof *shape);
    size_t n = shape[0] * shape[1] * shape[2];
    float *x = floats_of(n);
    OK(scant_array_floats(ctx, array, 0, n, x));
    scant_array_free(array);
    return x;
}

/* So many draws that the rows are written in several blocks. */
static void the_file_has_the_probabilities_of_each_draw(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_of(2, 0);
    scant_data *data = data_of(ctx, 600, 0, 3);
    scant_net_opts o = {.shape = {3, 1, 1},
                        .classes = 4,
                        .width = 8,
                        .bayes = "variational",
                        .draws = 2000};
    scant_net *net = net_of(ctx, "mlp", o);
    const char *path = path_of("s.npy");
    size_t shape[3], rows[] = {5, 599, 5};
    predictions s = predict(net, data);
    OK(scant_net_write_draws(net, data, NULL, 0, path));
    float *file = read_file(ctx, path, shape);
    assert_int_equal(shape[0], 2000);
    assert_int_equal(shape[1], 600);
    assert_int_equal(shape[2], 4);
    assert_memory_equal(file, s.samples, (size_t)2000 * 600 * 4 * sizeof *file);
    free(file);
    OK(scant_net_write_draws(net, data, rows, 3, path));
    file = read_file(ctx, path, shape);
    assert_int_equal(shape[1], 3);
    for (size_t m = 0; m < 2000; m++)
        for (size_t i = 0; i < 3; i++)
            assert_near(file + (m * 3 + i) * 4, s.samples + (m * 600 + rows[i]) * 4, 4,
                        1e-6);
    free(file);
    predictions_free(&s);
    scant_net_free(net);
    scant_data_free(data);
    scant_ctx_free(ctx);
}

static void a_failed_call_keeps_the_old_file(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_of(1, 0);
    scant_data *data = data_of(ctx, 20, 0, 3);
    scant_net_opts o = {.shape = {3, 1, 1}, .classes = 4, .width = 8};
    const char *path = path_of("old.npy");
    put("old.npy", "old", 3);
    scant_net *net = net_of(ctx, "mlp", o);
    assert_int_equal(scant_net_write_draws(net, data, NULL, 0, path), SCANT_EINPUT);
    assert_non_null(strstr(scant_ctx_errmsg(ctx), "only one prediction"));
    scant_net_free(net);
    o.bayes = "variational", o.draws = 1;
    net = net_of(ctx, "mlp", o);
    assert_int_equal(scant_net_write_draws(net, data, NULL, 0, path), SCANT_EINPUT);
    scant_net_free(net);
    o.draws = 3;
    net = net_of(ctx, "mlp", o);
    assert_int_equal(scant_net_write_draws(net, data, (size_t[]){20}, 1, path),
                     SCANT_EINPUT);
    assert_int_equal(scant_net_write_draws(net, data, NULL, 0, path_of("no/such.npy")),
                     SCANT_EIO);
    assert_int_equal(scant_net_write_draws(net, data, NULL, 0, "/dev/null"), SCANT_EIO);
    cancel_now = 1;
    assert_int_equal(scant_net_write_draws(net, data, NULL, 0, path), SCANT_ECANCELLED);
    cancel_now = 0;
    char text[8] = {0};
    FILE *f = fopen(path, "rb");
    assert_int_equal(fread(text, 1, 8, f), 3);
    fclose(f);
    assert_string_equal(text, "old");
    scant_net_free(net);
    scant_data_free(data);
    scant_ctx_free(ctx);
}

/* 32 MB of numbers are written under a cap of 24 MB. */
static void the_file_may_be_larger_than_the_memory_cap(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_of(2, (size_t)24 << 20);
    scant_data *data = data_of(ctx, 20000, 0, 2);
    scant_net *net = net_of(
        ctx, "linear",
        (scant_net_opts){
            .shape = {2, 1, 1}, .classes = 2, .bayes = "variational", .draws = 200});
    OK(scant_net_write_draws(net, data, NULL, 0, path_of("large.npy")));
    struct stat info;
    assert_int_equal(stat(path_of("large.npy"), &info), 0);
    assert_true(info.st_size > 30 << 20);
    assert_true(scant_ctx_memory_peak(ctx) < (size_t)24 << 20);
    scant_net_free(net);
    scant_data_free(data);
    scant_ctx_free(ctx);
    /* the weights of all draws must fit; the message says how much they need */
    ctx = ctx_of(1, (size_t)8 << 20);
    data = data_of(ctx, 20, 0, 100);
    net = net_of(
        ctx, "linear",
        (scant_net_opts){
            .shape = {100, 1, 1}, .classes = 10, .bayes = "variational", .draws = 5000});
    assert_int_equal(scant_net_write_draws(net, data, NULL, 0, path_of("large.npy")),
                     SCANT_ENOMEM);
    if (!strstr(scant_ctx_errmsg(ctx), "needs 20000"))
        fail_msg("%s", scant_ctx_errmsg(ctx));
    scant_net_free(net);
    scant_data_free(data);
    scant_ctx_free(ctx);
}

static scant_status create_train_and_predict(scant_ctx *ctx) {
    scant_data *data = NULL;
    scant_net *net = NULL, *other = NULL;
    scant_net_opts o = {
        .shape = {2, 1, 1}, .classes = 2, .width = 4, .bayes = "variational", .draws = 3};
    scant_data_opts d = {.count = 12};
    float probs[24];
    scant_status s = scant_data_open(ctx, "moons", &d, &data);
    if (s == SCANT_OK) s = scant_net_create(ctx, "mlp", &o, &net);
    o.bayes = "dropout";
    if (s == SCANT_OK) s = scant_net_create(ctx, "mlp", &o, &other);
    scant_train_opts one = TRAIN_OPTS(NULL, NULL, with.steps = 1);
    if (s == SCANT_OK) s = scant_net_train(net, data, &one, NULL);
    if (s == SCANT_OK) {
        s = scant_net_join(net, other);
        if (s == SCANT_OK) other = NULL;
    }
    if (s == SCANT_OK)
        s = scant_net_predict(net, data, NULL, 0, &(scant_outputs){.probs = probs});
    if (s == SCANT_OK) s = scant_net_write_draws(net, data, NULL, 0, path_of("t.npy"));
    scant_net_free(net);
    scant_net_free(other);
    scant_data_free(data);
    return s;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    memory m;
    scant_ctx *ctx = ctx_counting(&m);
    size_t before = m.calls;
    OK(create_train_and_predict(ctx));
    size_t calls = m.calls - before, failed = 0;
    ctx_end(ctx, &m);
    for (size_t i = 0; i < calls; i++) {
        ctx = ctx_counting(&m);
        m.fail_at = m.calls + i;
        scant_status s =
            create_train_and_predict(ctx); /* may succeed: a plan is tried twice */
        assert_true(s == SCANT_ENOMEM || s == SCANT_OK);
        failed += s != SCANT_OK;
        ctx_end(ctx, &m);
    }
    assert_true(failed > calls / 2);
}

/* ---- training ---- */

static double accuracy_of(const char *bayes, scant_evaluation *e) {
    scant_ctx *ctx = ctx_of(2, 0);
    scant_data *data, *test;
    OK(scant_data_open(ctx, "moons", &(scant_data_opts){.count = 200}, &data));
    OK(scant_data_open(ctx, "moons", &(scant_data_opts){.count = 400, .test = 1}, &test));
    scant_net *net = net_of(
        ctx, "mlp",
        (scant_net_opts){.shape = {2, 1, 1}, .classes = 2, .width = 64, .bayes = bayes});
    scant_train_state state;
    scant_train_opts o = TRAIN_OPTS(NULL, "adam", with.lr = 0.01, with.warmup = 0,
                                    with.epochs = 60, with.valid = test);
    OK(scant_net_train(net, data, &o, &state));
    OK(scant_net_evaluate(net, test, NULL, 0, e));
    assert_true(state.valid_accuracy == e->accuracy); /* validation uses draws, too */
    scant_net_free(net);
    scant_data_free(data);
    scant_data_free(test);
    scant_ctx_free(ctx);
    return e->accuracy;
}

static void bayesian_networks_learn_moons(void **state) {
    (void)state;
    scant_evaluation e;
    assert_true(accuracy_of("variational", &e) > 0.95);
    assert_true(accuracy_of("dropout", &e) > 0.95);
}

/* Trains on a whole data set: only in soak runs. */
static void variational_lenet5_is_within_a_point_of_the_plain_network(void **state) {
    (void)state;
    if (!soaking()) skip();
    static const char *const kinds[] = {"none", "variational"};
    double accuracy[2];
    for (int k = 0; k < 2; k++) {
        scant_ctx *ctx = ctx_of(2, 0);
        scant_data *data, *test;
        if (scant_data_open(ctx, "fashion-mnist", NULL, &data) != SCANT_OK) {
            print_message("%s\n", scant_ctx_errmsg(ctx));
            scant_ctx_free(ctx);
            skip();
        }
        OK(scant_data_open(ctx, "fashion-mnist", &(scant_data_opts){.test = 1}, &test));
        scant_net *net =
            net_of(ctx, "lenet5", (scant_net_opts){.classes = 10, .bayes = kinds[k]});
        scant_train_opts o = TRAIN_OPTS(NULL, "adam", with.epochs = 5);
        OK(scant_net_train(net, data, &o, NULL));
        scant_evaluation e;
        OK(scant_net_evaluate(net, test, NULL, 0, &e));
        accuracy[k] = e.accuracy;
        print_message("%s: accuracy %.4f, loss %.4f, calibration error %.4f\n", kinds[k],
                      e.accuracy, e.loss, e.calibration);
        scant_net_free(net);
        scant_data_free(data);
        scant_data_free(test);
        scant_ctx_free(ctx);
    }
    assert_true(accuracy[1] > accuracy[0] - 0.01);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_ensemble_is_the_mean_of_its_members),
        cmocka_unit_test(training_an_ensemble_trains_its_first_member),
        cmocka_unit_test(unsuitable_members_are_refused_and_not_freed),
        cmocka_unit_test(the_file_has_the_probabilities_of_each_draw),
        cmocka_unit_test(a_failed_call_keeps_the_old_file),
        cmocka_unit_test(the_file_may_be_larger_than_the_memory_cap),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(bayesian_networks_learn_moons),
        cmocka_unit_test(variational_lenet5_is_within_a_point_of_the_plain_network),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
