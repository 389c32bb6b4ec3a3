/* SPDX-License-Identifier: Apache-2.0
 *
 * Weight files: they include the scaling, files that do not fit leave the network
 * unchanged, and messages say what is wrong without control characters from the file.
 */
#include "../data/support.h"

#include <locale.h>

#include "data/safetensors.h"
#include "nn/network.h"
#include "scant/train.h"

static scant_ctx *ctx;

static int setup(void **state) {
    ctx = ctx_threads(1);
    return make_dir(state);
}

static int teardown(void **state) {
    scant_ctx_free(ctx);
    return remove_dir(state);
}

static void must(scant_status s) {
    if (s != SCANT_OK) fail_msg("%s", scant_ctx_errmsg(ctx));
}

static void assert_error(scant_status got, scant_status want, const char *words) {
    assert_int_equal(got, want);
    if (!strstr(scant_ctx_errmsg(ctx), words))
        fail_msg("message \"%s\" does not contain \"%s\"", scant_ctx_errmsg(ctx), words);
}

static scant_net *create(const char *model, scant_net_opts opts) {
    scant_net *net;
    must(scant_net_create(ctx, model, &opts, &net));
    return net;
}

/* Writes a linear network with `features` inputs and two classes, all weights `weight`.
 * more: the name of an additional tensor; NULL: none. */
static const char *linear_file(const char *name, size_t features, float weight,
                               const scant_setting *meta, size_t n_meta,
                               const char *more) {
    static float w[64], b[2];
    for (size_t i = 0; i < 64; i++) w[i] = weight;
    scant__tensor items[] = {{.name = "fc.weight",
                              .dtype = SCANT_F32,
                              .ndim = 2,
                              .shape = {2, features},
                              .bytes = (unsigned char *)w},
                             {.name = "fc.bias",
                              .dtype = SCANT_F32,
                              .ndim = 1,
                              .shape = {2},
                              .bytes = (unsigned char *)b},
                             {.name = more,
                              .dtype = SCANT_F32,
                              .ndim = 1,
                              .shape = {2},
                              .bytes = (unsigned char *)b}};
    const char *path = path_of(name);
    must(scant__tensors_write(ctx, path, items, more ? 3 : 2, meta, n_meta));
    return path;
}

static float first_weight(scant_net *net) {
    float *plain = malloc(net->net->n_floats * sizeof *plain);
    must(nn_weights_get(net->weights, plain));
    float first = plain[0];
    free(plain);
    return first;
}

/* ---- scaling ---- */

static void scaling_of_any_number_of_channels_is_saved(void **state) {
    (void)state;
    static const size_t channels[] = {1, 3, 16, 17, 300};
    for (size_t k = 0; k < 5; k++) {
        size_t c = channels[k];
        float mean[300], deviation[300];
        for (size_t i = 0; i < c; i++) {
            mean[i] = -(float)unit_at(1, i) / 3e5f;
            deviation[i] = (float)unit_at(2, i) + 1e-7f;
        }
        scant_net *net =
            create("gapcnn", (scant_net_opts){.shape = {c, 4, 4}, .width = 2});
        scant_net *again;
        must(scant_net_set_scaling(net, mean, deviation));
        must(scant_net_save(net, path_of("scaled")));
        must(scant_net_open(ctx, path_of("scaled"), NULL, NULL, &again));
        assert_true(again->scaled);
        assert_memory_equal(again->mean, mean, c * sizeof *mean);
        assert_memory_equal(again->deviation, deviation, c * sizeof *mean);
        scant_net_free(again);
        scant_net_free(net);
    }
}

/* The programs that write and read a file may have different locales. */
static void scaling_is_saved_alike_in_any_locale(void **state) {
    (void)state;
    float mean[] = {0.25f, -1.5f}, deviation[] = {0.1f, 3.5f};
    if (!setlocale(LC_ALL, "de_DE.UTF-8")) skip();
    scant_net *again,
        *net = create("linear",
                      (scant_net_opts){.shape = {2, 1, 1}, .classes = 2, .dropout = 0.5});
    must(scant_net_set_scaling(net, mean, deviation));
    must(scant_net_save(net, path_of("german")));
    setlocale(LC_ALL, "C");
    must(scant_net_open(ctx, path_of("german"), NULL, NULL, &again));
    assert_memory_equal(again->mean, mean, sizeof mean);
    assert_memory_equal(again->deviation, deviation, sizeof deviation);
    assert_true(again->opts.dropout == 0.5);
    scant_net_free(again);
    setlocale(LC_ALL, "de_DE.UTF-8");
    must(scant_net_open(ctx, path_of("german"), NULL, NULL, &again));
    assert_memory_equal(again->mean, mean, sizeof mean);
    assert_string_equal(localeconv()->decimal_point, ",");
    setlocale(LC_ALL, "C");
    scant_net_free(again);
    scant_net_free(net);
}

static void scaling_too_long_for_the_header_is_refused(void **state) {
    (void)state;
    enum { MANY = 200000 };
    float *numbers = malloc(MANY * sizeof *numbers);
    for (size_t i = 0; i < MANY; i++) numbers[i] = (float)unit_at(3, i) + 0.1f;
    scant_net *net =
        create("linear", (scant_net_opts){.shape = {MANY, 1, 1}, .classes = 1});
    must(scant_net_set_scaling(net, numbers, numbers));
    assert_error(scant_net_save(net, path_of("large")), SCANT_EINPUT, "header");
    scant_net_free(net);
    free(numbers);
}

/* Files of other programs: three planes get ImageNet's scaling, three features none. */
static void only_images_get_the_default_scaling(void **state) {
    (void)state;
    scant_net *net;
    const char *path = linear_file("foreign", 3, 1, NULL, 0, NULL);
    must(
        scant_net_open(ctx, path, "linear", &(scant_net_opts){.shape = {3, 1, 1}}, &net));
    assert_false(net->scaled);
    scant_net_free(net);
    path = linear_file("foreign", 12, 1, NULL, 0, NULL);
    must(
        scant_net_open(ctx, path, "linear", &(scant_net_opts){.shape = {3, 2, 2}}, &net));
    assert_true(net->scaled && net->mean[1] == .456f && net->deviation[2] == .225f);
    scant_net_free(net);
}

static void malformed_scaling_is_refused(void **state) {
    (void)state;
    static const scant_setting wrong[][3] = {
        {{"scant.model", "linear"}, {"scant.mean", "1,2"}, {"scant.deviation", "1,1,1"}},
        {{"scant.model", "linear"},
         {"scant.mean", "1,2,3"},
         {"scant.deviation", "1,1,x"}},
        {{"scant.model", "linear"},
         {"scant.mean", "1,2,3,4"},
         {"scant.deviation", "1,1,1"}},
        {{"scant.model", "linear"}, {"scant.mean", "1,2,3"}, {"scant.width", "0"}},
        {{"scant.model", "linear"},
         {"scant.mean", "1,2,3"},
         {"scant.deviation", "1,0,1"}},
    };
    for (size_t i = 0; i < 5; i++) {
        const char *path = linear_file("wrong", 3, 7, wrong[i], 3, NULL);
        scant_net *net;
        scant_net_opts o = {.shape = {3, 1, 1}, .classes = 2};
        const char *words = i == 4 ? "a positive deviation" : "not 3 numbers each";
        assert_error(scant_net_open(ctx, path, NULL, &o, &net), SCANT_EINPUT, words);
        assert_null(net);
        net = create("linear", o);
        float mean[] = {9, 9, 9}, before = first_weight(net);
        must(scant_net_set_scaling(net, mean, mean));
        assert_error(scant_net_load(net, path, false), SCANT_EINPUT, words);
        assert_true(first_weight(net) == before); /* unchanged */
        assert_true(net->mean[0] == 9);
        scant_net_free(net);
    }
}

static void options_out_of_range_are_refused(void **state) {
    static const struct {
        scant_setting meta;
        const char *words;
    } wrong[] = {
        {{"scant.samples", "2000000"}, "scant.samples is 2000000, expected a whole"},
        {{"scant.prior", "-5"}, "scant.prior is -5, expected a number"},
        {{"scant.draw_seed", "12abc"}, "scant.draw_seed is 12abc, expected a whole"},
        {{"scant.draw_seed", "99999999999999999999999"}, "expected a whole number"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const scant_setting meta[] = {
            {"scant.model", "linear"}, {"scant.bayes", "variational"}, wrong[i].meta};
        const char *path = linear_file("range", 3, 7, meta, 3, NULL);
        scant_net_opts o = {.shape = {3, 1, 1}, .classes = 2};
        scant_net *net;
        assert_error(scant_net_open(ctx, path, NULL, &o, &net), SCANT_EINPUT,
                     wrong[i].words);
        assert_null(net);
    }
}

static void loading_takes_the_scaling_of_our_files(void **state) {
    (void)state;
    const scant_setting ours = {"scant.model", "linear"};
    float nine[] = {9, 9, 9};
    scant_net *net = create("linear", (scant_net_opts){.shape = {3, 1, 1}, .classes = 2});
    must(scant_net_set_scaling(net, nine, nine));
    /* another program's file has no scaling: the network's stays */
    must(scant_net_load(net, linear_file("f", 3, 5, NULL, 0, NULL), false));
    assert_true(net->scaled && net->mean[0] == 9);
    assert_true(first_weight(net) == 5);
    must(scant_net_load(net, linear_file("f", 3, 6, &ours, 1, NULL), false));
    assert_false(net->scaled);
    assert_true(first_weight(net) == 6);
    scant_net_free(net);
}

/* ---- files that do not fit ---- */

static void too_many_classes_are_refused(void **state) {
    (void)state;
    scant_net *net;
    scant__tensor item = {.name = "fc.weight",
                          .dtype = SCANT_F32,
                          .ndim = 2,
                          .shape = {2000000, 0},
                          .bytes = (const unsigned char *)""};
    must(scant__tensors_write(ctx, path_of("many"), &item, 1, NULL, 0));
    assert_error(scant_net_open(ctx, path_of("many"), "linear", NULL, &net), SCANT_EINPUT,
                 "2000000 classes, expected 1 to 1048576");
    assert_says(ctx, path_of("many"), "linear");
}

static void another_head_allows_only_tensors_of_the_last_layer_to_differ(void **state) {
    (void)state;
    scant_net *net = create("linear", (scant_net_opts){.shape = {4, 1, 1}, .classes = 5});
    must(scant_net_load(net, linear_file("h", 4, 1, NULL, 0, NULL), true));
    must(scant_net_load(net, linear_file("h", 4, 1, NULL, 0, "fc.more"), true));
    assert_error(scant_net_load(net, linear_file("h", 4, 1, NULL, 0, "fc1.weight"), true),
                 SCANT_EINPUT, "fc1.weight is not in the network");
    assert_error(scant_net_load(net, linear_file("h", 4, 1, NULL, 0, "fc"), true),
                 SCANT_EINPUT, "fc is not in the network");
    scant_net_free(net);
}

static void messages_replace_control_characters_of_a_file(void **state) {
    (void)state;
    scant_net *net = create("linear", (scant_net_opts){.shape = {4, 1, 1}, .classes = 2});
    assert_error(scant_net_load(net, linear_file("e", 4, 1, NULL, 0, "\033[2Jx"), 0),
                 SCANT_EINPUT, "?[2Jx is not");
    scant_net_free(net);
    scant_setting meta[] = {{"scant.model", "linear"}, {"scant.activation", "\033c"}};
    assert_error(
        scant_net_open(ctx, linear_file("e", 4, 1, meta, 2, NULL), NULL, NULL, &net),
        SCANT_EINPUT, "activation is ?c, expected one of relu|");
    assert_says(ctx, path_of("e"), "activation");
    meta[0].value = "\033d";
    assert_error(
        scant_net_open(ctx, linear_file("e", 4, 1, meta, 1, NULL), NULL, NULL, &net),
        SCANT_EINPUT, "no model '?d'");
    assert_says(ctx, path_of("e"), "there is no model");
    /* a wrong option of the caller is a usage error */
    meta[0].value = "linear";
    assert_error(scant_net_open(ctx, linear_file("e", 4, 1, meta, 1, NULL), NULL,
                                &(scant_net_opts){.width = 3}, &net),
                 SCANT_EUSAGE, "linear has no option width");
}

static void integer_weights_are_refused(void **state) {
    (void)state;
    static int64_t w[8] = {1, 2, 3, 4}, b[2];
    scant__tensor items[] = {
        {.name = "fc.weight",
         .dtype = SCANT_I64,
         .ndim = 2,
         .shape = {2, 4},
         .bytes = (unsigned char *)w},
        {.name = "fc.bias", .ndim = 1, .shape = {2}, .bytes = (unsigned char *)b},
        {.name = "bn.num_batches_tracked",
         .dtype = SCANT_I64,
         .ndim = 0,
         .bytes = (unsigned char *)b}};
    const scant_dtype floats[] = {SCANT_F16, SCANT_F32, SCANT_F64,
                                  (scant_dtype)SCANT__BF16};
    scant_net *net = create("linear", (scant_net_opts){.shape = {4, 1, 1}, .classes = 2});
    items[1].dtype = SCANT_F32;
    must(scant__tensors_write(ctx, path_of("int"), items, 3, NULL, 0));
    float before = first_weight(net);
    assert_error(scant_net_load(net, path_of("int"), false), SCANT_EINPUT,
                 "fc.weight has I64, not floats");
    assert_true(first_weight(net) == before);
    must(scant_net_load(net, path_of("int"),
                        true)); /* a differing head is allowed and not read */
    assert_true(first_weight(net) == before);
    for (size_t i = 0; i < 4; i++) {
        items[0].dtype = floats[i];
        must(scant__tensors_write(ctx, path_of("float"), items, 3, NULL, 0));
        must(scant_net_load(net, path_of("float"), false));
    }
    scant_net_free(net);
}

/* ---- class names ---- */

static void class_names_survive_a_file(void **state) {
    (void)state;
    static const char *const names[] = {"cat", NULL,        "a,b%2C",     "line\nbreak",
                                        " ",   "\xff\xfe.", "caf\xc3\xa9"};
    scant_net *net = create("linear", (scant_net_opts){.shape = {3, 1, 1}, .classes = 7});
    scant_net *again;
    assert_null(scant_net_class_name(net, 0));
    must(scant_net_set_class_names(net, names));
    must(scant_net_save(net, path_of("named")));
    must(scant_net_open(ctx, path_of("named"), NULL, NULL, &again));
    for (size_t i = 0; i < 7; i++) {
        if (names[i])
            assert_string_equal(scant_net_class_name(again, i), names[i]);
        else
            assert_null(scant_net_class_name(again, i));
    }
    assert_null(scant_net_class_name(again, 7));
    scant_net_free(again);
    /* a new head does not get them */
    must(scant_net_start(ctx, path_of("named"), "linear",
                         &(scant_net_opts){.shape = {3, 1, 1}, .classes = 2}, &again));
    assert_null(scant_net_class_name(again, 0));
    scant_net_free(again);
    scant_net_free(net);
}

static void malformed_lists_of_class_names_are_refused(void **state) {
    (void)state;
    static const char *const wrong[] = {"",       "cat",       "cat,dog,eel", "cat,d g",
                                        "cat,%4", "cat,%zz",   "cat,%00",     "cat,%c3",
                                        "a,b,",   "a,\xc3\xa9"};
    scant_net *net = create("linear", (scant_net_opts){.shape = {3, 1, 1}, .classes = 2});
    float before = first_weight(net);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const scant_setting meta = {"scant.class_names", wrong[i]};
        assert_error(scant_net_load(net, linear_file("n", 3, 7, &meta, 1, NULL), false),
                     SCANT_EINPUT, "list of 2 names");
        assert_true(first_weight(net) == before);
    }
    const scant_setting right = {"scant.class_names",
                                 "%2c,x"}; /* hexadecimal digits must be capitals */
    assert_error(scant_net_load(net, linear_file("n", 3, 7, &right, 1, NULL), false),
                 SCANT_EINPUT, "list of 2 names");
    scant_net_free(net);
}

/* A megabyte of names; the weights are saved. */
static void class_names_too_long_for_the_header_are_left_out(void **state) {
    (void)state;
    enum { MANY = 20000 };
    const char **names = malloc(MANY * sizeof *names);
    for (size_t i = 0; i < MANY; i++)
        names[i] = "a name of some sixty letters, a name of some sixty letters";
    scant_net *again,
        *net = create("linear", (scant_net_opts){.shape = {1, 1, 1}, .classes = MANY});
    must(scant_net_set_class_names(net, names));
    must(scant_net_save(net, path_of("long")));
    must(scant_net_open(ctx, path_of("long"), NULL, NULL, &again));
    assert_null(scant_net_class_name(again, 0));
    scant_net_free(again);
    scant_net_free(net);
    free(names);
}

/* ---- memory ---- */

static void a_failed_allocation_leaves_the_network_unchanged(void **state) {
    (void)state;
    const scant_setting meta[] = {{"scant.model", "linear"},
                                  {"scant.mean", "1,2,3"},
                                  {"scant.deviation", "1,1,1"},
                                  {"scant.class_names", "a,b"}};
    const char *path = linear_file("scaled", 3, 5, meta, 4, NULL);
    bool done = false;
    for (size_t at = 0; !done && at < 1000; at++) {
        memory m;
        scant_ctx *counting = ctx_counting(&m);
        scant_net *net, *opened;
        scant_net_opts o = {.shape = {3, 1, 1}, .classes = 2};
        assert_int_equal(scant_net_create(counting, "linear", &o, &net), SCANT_OK);
        float before = first_weight(net);
        m.fail_at = m.calls + at;
        scant_status s = scant_net_load(net, path, false);
        bool taken = s == SCANT_OK;
        assert_true(first_weight(net) == (taken ? 5 : before));
        assert_true(net->scaled == taken);
        assert_true((scant_net_class_name(net, 1) != NULL) == taken);
        if (taken) s = scant_net_save(net, path_of("saved"));
        if (s == SCANT_OK) s = scant_net_open(counting, path, NULL, NULL, &opened);
        done = s == SCANT_OK;
        if (done)
            scant_net_free(opened);
        else
            assert_int_equal(s, SCANT_ENOMEM);
        scant_net_free(net);
        ctx_end(counting, &m);
    }
    assert_true(done);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scaling_of_any_number_of_channels_is_saved),
        cmocka_unit_test(scaling_is_saved_alike_in_any_locale),
        cmocka_unit_test(scaling_too_long_for_the_header_is_refused),
        cmocka_unit_test(only_images_get_the_default_scaling),
        cmocka_unit_test(malformed_scaling_is_refused),
        cmocka_unit_test(options_out_of_range_are_refused),
        cmocka_unit_test(loading_takes_the_scaling_of_our_files),
        cmocka_unit_test(too_many_classes_are_refused),
        cmocka_unit_test(another_head_allows_only_tensors_of_the_last_layer_to_differ),
        cmocka_unit_test(messages_replace_control_characters_of_a_file),
        cmocka_unit_test(integer_weights_are_refused),
        cmocka_unit_test(class_names_survive_a_file),
        cmocka_unit_test(malformed_lists_of_class_names_are_refused),
        cmocka_unit_test(class_names_too_long_for_the_header_are_left_out),
        cmocka_unit_test(a_failed_allocation_leaves_the_network_unchanged),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
