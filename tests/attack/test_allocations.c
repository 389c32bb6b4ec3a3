/* SPDX-License-Identifier: Apache-2.0
 *
 * Every call of scant/scant.h, scant/train.h and scant/study.h that can fail, with each
 * of its allocations failing in turn.
 */
#include <math.h>

#include "scant/study.h"
#include "torture.h"

enum { N = 40, D = 4, C = 3, SIDE = 8 };

static float x[N * D], probs[N * C];
static int64_t classes[N], some[N]; /* some: -1 for most rows */
static unsigned char pixels[N * SIDE * SIDE];

static scant_array *wrapped(const char *name, const void *data, scant_dtype dtype,
                            size_t rows, size_t columns) {
    scant_array *array;
    const size_t shape[] = {rows, columns};
    must(scant_array_wrap(ctx, name, data, dtype, columns ? 2 : 1, shape, &array));
    return array;
}

static void write_npy(const char *path, scant_array *array) {
    void *bytes;
    size_t size;
    must(scant_array_encode(ctx, array, &bytes, &size));
    must(scant_file_write(ctx, path, bytes, size));
    scant_bytes_free(ctx, bytes);
    scant_array_free(array);
}

static int make_inputs(void **state) {
    const size_t images[] = {N, SIDE, SIDE};
    scant_array *array;
    if (make_dir(state) != 0) return -1;
    for (size_t i = 0; i < N; i++) {
        classes[i] = (int64_t)(i % C);
        some[i] = i < 12 ? classes[i] : -1;
        for (size_t j = 0; j < D; j++)
            x[i * D + j] = (float)(normal_at(1, i * D + j) / 4 + 3 * (j == i % C));
        for (size_t c = 0; c < C; c++) probs[i * C + c] = c == i % C ? 0.5f : 0.25f;
    }
    for (size_t i = 0; i < sizeof pixels; i++)
        pixels[i] = (unsigned char)(256 * unit_at(2, i));
    torture_open();
    write_npy(path_of("x.npy"), wrapped("x", x, SCANT_F32, N, D));
    write_npy(path_of("y.npy"), wrapped("y", some, SCANT_I64, N, 0));
    must(scant_array_wrap(ctx, "pixels", pixels, SCANT_U8, 3, images, &array));
    write_npy(path_of("pixels.npy"), array);
    put("ids.txt", "a\nb\nc\n", 6);
    put("table.csv", "p,q,label\n1,2,red\n3,4,blue\n5,1,red\n", 35);
    torture_close();
    return 0;
}

/* ---- arrays and files -------------------------------------------------------------- */

static void contexts(void **state) {
    (void)state;
    for (size_t at = 0;; at++) {
        memory m = {.fail_at = at};
        scant_ctx *one;
        scant_status s = scant_ctx_create(&(scant_ctx_opts){.user = &m,
                                                            .allocate = memory_allocate,
                                                            .release = memory_release},
                                          &one);
        assert_int_equal(s == SCANT_OK, one != NULL);
        scant_ctx_free(one);
        assert_int_equal(m.live, 0);
        if (m.calls <= at) break;
    }
}

static scant_status write_parts(void) {
    const size_t shape[] = {2, D};
    scant_writer *writer;
    scant_status s =
        scant_writer_open(ctx, path_of("w.npy"), SCANT_F32, 2, shape, &writer);
    if (s != SCANT_OK) return s;
    s = scant_writer_append(writer, x, D * sizeof *x);
    if (s == SCANT_OK) s = scant_writer_put(writer, D * sizeof *x, x + D, D * sizeof *x);
    if (s == SCANT_OK) return scant_writer_finish(writer);
    scant_writer_free(writer);
    return s;
}

static void arrays_and_files(void **state) {
    (void)state;
    scant_array *a, *b;
    scant_ids *ids;
    void *bytes;
    size_t size;
    int64_t whole[N];
    float real[N];
    const size_t shape[] = {N};
    torture_open();
    TORTURE_UNDO(scant_array_open(ctx, path_of("x.npy"), &a), scant_array_free(a));
    TORTURE_UNDO(scant_array_wrap(ctx, "c", classes, SCANT_I64, 1, shape, &b),
                 scant_array_free(b));
    TORTURE(scant_array_integers(ctx, b, 0, N, whole));
    TORTURE(scant_array_floats(ctx, a, 0, N, real));
    TORTURE_UNDO(scant_array_encode(ctx, a, &bytes, &size), scant_bytes_free(ctx, bytes));
    TORTURE(scant_file_write(ctx, path_of("f"), bytes, size));
    TORTURE(write_parts());
    TORTURE_UNDO(scant_ids_open(ctx, path_of("ids.txt"), &ids), scant_ids_free(ids));
    scant_ids_free(ids);
    scant_bytes_free(ctx, bytes);
    scant_array_free(a);
    scant_array_free(b);
    torture_close();
}

/* ---- selection --------------------------------------------------------------------- */

static scant_status open_and_run(const scant_evidence *e, scant_picks **out) {
    scant_selection *one; /* can run only once */
    scant_status s = scant_selection_open(ctx, "badge", e, 5, NULL, &one);
    if (s == SCANT_OK) s = scant_selection_run(one, out);
    scant_selection_free(one);
    return s;
}

static void selection(void **state) {
    (void)state;
    scant_selection *one;
    scant_picks *picks, *all;
    scant_plan plan;
    void *bytes;
    size_t size, need;
    unsigned used, missing;
    torture_open();
    scant_array *const arrays[] = {wrapped("x", x, SCANT_F32, N, D),
                                   wrapped("p", probs, SCANT_F32, N, C),
                                   wrapped("y", some, SCANT_I64, N, 0)};
    const scant_evidence e = {
        .features = arrays[0], .probs = arrays[1], .labels = arrays[2]};
    TORTURE(scant_select_inputs(ctx, "badge", NULL, SCANT_FEATURES, &used, &missing));
    TORTURE_UNDO(scant_selection_open(ctx, "badge", &e, 5, NULL, &one),
                 scant_selection_free(one));
    TORTURE(scant_selection_plan(one, &plan));
    scant_selection_free(one);
    TORTURE_UNDO(open_and_run(&e, &picks), scant_picks_free(ctx, picks));
    TORTURE_UNDO(scant_select(ctx, "npc", &e, 4, NULL, &all), scant_picks_free(ctx, all));
    TORTURE(scant_plot_plan(ctx, &e, picks->count, &need));
    TORTURE_UNDO(scant_plot_picks(ctx, &e, picks, &bytes, &size),
                 scant_bytes_free(ctx, bytes));
    scant_bytes_free(ctx, bytes);
    scant_picks_free(ctx, picks);
    scant_picks_free(ctx, all);
    for (size_t i = 0; i < 3; i++) scant_array_free(arrays[i]);
    torture_close();
}

/* ---- networks ---------------------------------------------------------------------- */

static scant_data *data_of(const char *name, const char *labels) {
    scant_data *data;
    must(
        scant_data_open(ctx, path_of(name), &(scant_data_opts){.labels = labels}, &data));
    return data;
}

static scant_net *mlp(const char *bayes) {
    scant_net *net;
    must(scant_net_create(ctx, "mlp",
                          &(scant_net_opts){.shape = {D, 1, 1},
                                            .classes = C,
                                            .width = 8,
                                            .bayes = bayes,
                                            .draws = bayes ? 3 : 0},
                          &net));
    return net;
}

static void samples(void **state) {
    (void)state;
    static const char *const names[] = {"blue", "red"};
    scant_data *data;
    torture_open();
    TORTURE_UNDO(scant_data_open(ctx, path_of("table.csv"), NULL, &data),
                 scant_data_free(data));
    TORTURE(scant_data_renumber(data, names, 2));
    scant_data_free(data);
    torture_close();
}

/* With a new network each time, since a member cannot be taken out again. */
static void joining(void) {
    for (size_t at = 0;; at++) {
        scant_net *net = mlp(NULL), *member = mlp(NULL);
        torture_begin(at);
        scant_status s = scant_net_join(net, member);
        bool done = torture_end("scant_net_join()", s);
        if (s != SCANT_OK) scant_net_free(member);
        scant_net_free(net);
        if (done) break;
    }
}

static void networks(void **state) {
    (void)state;
    static const char *const names[] = {"a", "b", "c"};
    const float mean[] = {0.5f}, deviation[] = {0.25f};
    const scant_net_opts opts = {.shape = {D, 1, 1}, .classes = C, .width = 8};
    const scant_net_opts images = {.shape = {1, SIDE, SIDE}, .classes = C};
    scant_net *net, *other;
    size_t count;
    torture_open();
    scant_data *data = data_of("pixels.npy", NULL);
    TORTURE(scant_model_parameters(ctx, "mlp", &opts, &count));
    TORTURE_UNDO(scant_net_create(ctx, "mlp", &opts, &net), scant_net_free(net));
    TORTURE(scant_net_set_class_names(net, names));
    TORTURE(scant_net_save(net, path_of("net.safetensors")));
    TORTURE(scant_net_load(net, path_of("net.safetensors"), false));
    TORTURE(scant_net_reset(net, 3));
    TORTURE_UNDO(scant_net_open(ctx, path_of("net.safetensors"), NULL, NULL, &other),
                 scant_net_free(other));
    scant_net_free(other);
    TORTURE_UNDO(scant_net_start(ctx, path_of("net.safetensors"), NULL, &opts, &other),
                 scant_net_free(other));
    scant_net_free(other);
    joining();
    scant_net_free(net);
    must(scant_net_create(ctx, "mlp", &images, &net));
    TORTURE(scant_net_fit_scaling(net, data));
    TORTURE(scant_net_set_scaling(net, mean, deviation));
    scant_net_free(net);
    scant_data_free(data);
    torture_close();
}

static void training(void **state) {
    (void)state;
    scant_train_opts opts, resolved;
    scant_train_state at;
    scant_net *net;
    size_t steps, epochs, rows[N];
    torture_open();
    scant_data *data = data_of("x.npy", path_of("y.npy"));
    scant_train_defaults("fixmatch", NULL, &opts);
    opts.steps = 3;
    opts.batch = 4;
    opts.checkpoint = path_of("state.safetensors");
    resolved = opts;
    TORTURE(scant_train_resolve(ctx, data, &resolved, rows));
    net = mlp(NULL);
    TORTURE(scant_net_train(net, data, &opts, &at));
    TORTURE(scant_train_progress(ctx, opts.checkpoint, &steps, &epochs));
    scant_net_free(net);
    scant_recipe recipe = {
        .model = "mlp", .net = {.classes = C, .width = 8}, .members = 2};
    scant_train_defaults(NULL, NULL, &recipe.train);
    recipe.train.epochs = 2;
    TORTURE_UNDO(scant_recipe_make(ctx, data, &recipe, &net), scant_net_free(net));
    scant_net_free(net);
    TORTURE_UNDO(scant_learn(ctx, data, &recipe, &net, NULL), scant_net_free(net));
    scant_net_free(net);
    scant_data_free(data);
    torture_close();
}

static void outputs(void **state) {
    (void)state;
    static float logits[N * C];
    static double norms[N];
    scant_evaluation found;
    scant_calibration scaled;
    torture_open();
    scant_data *data = data_of("x.npy", path_of("y.npy"));
    scant_net *net = mlp("dropout"), *plain = mlp(NULL);
    const size_t rows[] = {0, 1, 2, 3, 4, 5};
    TORTURE(scant_net_predict(net, data, NULL, 0, &(scant_outputs){.logits = logits}));
    TORTURE(scant_net_write_draws(net, data, NULL, 0, path_of("draws.npy")));
    TORTURE(scant_net_evaluate(net, data, rows, 6, &found));
    TORTURE(scant_net_evaluate_at(net, data, rows, 6, 2, &found, &scaled));
    TORTURE(scant_net_gradients(plain, data, NULL, 0, NULL,
                                &(scant_gradients){.norms = norms}));
    scant_net_free(net);
    scant_net_free(plain);
    scant_data_free(data);
    torture_close();
}

/* ---- experiments and reports ------------------------------------------------------- */

static scant_status run_or_resume(scant_experiment *experiment) {
    bool begun = access(path_of("results/experiment.ini"), F_OK) == 0;
    return scant_experiment_run(
        experiment, &(scant_run_opts){.out = path_of("results"), .resume = begun});
}

static void experiments(void **state) {
    (void)state;
    static const scant_setting keys[] = {{"data.train", "moons"},
                                         {"data.test_size", "40"},
                                         {"data.pool", "40"},
                                         {"model.name", "mlp"},
                                         {"model.width", "4"},
                                         {"train.epochs", "1"},
                                         {"loop.initial", "4"},
                                         {"loop.batch", "2"},
                                         {"loop.rounds", "1"},
                                         {"loop.seeds", "0,1"},
                                         {"loop.strategies", "random,badge"}};
    scant_experiment *experiment;
    scant_comparison *compared;
    scant_trainings *trainings;
    void *bytes;
    size_t size;
    torture_open();
    TORTURE_UNDO(scant_experiment_open(ctx, NULL, keys, 11, &experiment),
                 scant_experiment_free(experiment));
    TORTURE_UNDO(scant_experiment_print(experiment, &bytes, &size),
                 scant_bytes_free(ctx, bytes));
    scant_bytes_free(ctx, bytes);
    TORTURE(run_or_resume(experiment));
    scant_experiment_free(experiment);
    char results_path[512];
    const char *const results = path_in(results_path, "results");
    TORTURE(scant_report(ctx, &results, 1, path_of("page")));
    TORTURE_UNDO(scant_compare(ctx, &results, 1, NULL, &compared),
                 scant_comparison_free(ctx, compared));
    scant_comparison_free(ctx, compared);
    TORTURE_UNDO(scant_trainings_read(ctx, &results, 1, &trainings),
                 scant_trainings_free(ctx, trainings));
    scant_trainings_free(ctx, trainings);
    torture_close();
}

/* ---- kernels ----------------------------------------------------------------------- */

static void kernels(void **state) {
    (void)state;
    enum { K = 12 };
    static double kernel[K * K], closed[N * N], targets[K * C], alpha[K * C], out[K * C];
    static int32_t labels[K];
    static size_t rows[K];
    scant_study *study;
    scant_lab *lab;
    void *bytes;
    size_t depth, size;
    for (size_t i = 0; i < K; i++) {
        rows[i] = i;
        labels[i] = (int32_t)classes[i];
        targets[i * C + i % C] = 1;
    }
    torture_open();
    scant_data *data = data_of("x.npy", path_of("y.npy"));
    scant_array *array = wrapped("x", x, SCANT_F32, N, D);
    scant_net *net = mlp(NULL);
    TORTURE(scant_net_kernel(net, data, rows, K, data, rows, K, false, false, kernel));
    TORTURE_UNDO(scant_study_kernel(ctx, kernel, K, labels, C, NULL, &study),
                 scant_study_free(ctx, study));
    scant_study_free(ctx, study);
    TORTURE(scant_ntk_kernel(ctx, array, NULL, 2, closed));
    TORTURE(scant_kernel_parse(ctx, "ntk:depth=3", &depth));
    TORTURE(scant_kernel_fit(ctx, kernel, K, targets, C, 0.1, alpha, NULL));
    TORTURE(scant_kernel_predict(ctx, kernel, K, K, alpha, C, out));
    const scant_lab_opts opts = {.net = net,
                                 .data = data,
                                 .rows = rows,
                                 .n = K,
                                 .all = K,
                                 .labels = labels,
                                 .classes = C,
                                 .steps = 2};
    TORTURE_UNDO(scant_lab_run(ctx, &opts, &lab), scant_lab_free(ctx, lab));
    TORTURE_UNDO(scant_lab_page(ctx, lab, "title", &bytes, &size),
                 scant_bytes_free(ctx, bytes));
    scant_bytes_free(ctx, bytes);
    scant_lab_free(ctx, lab);
    scant_net_free(net);
    scant_array_free(array);
    scant_data_free(data);
    torture_close();
}

static void every_call_was_tried(void **state) {
    (void)state;
    assert_all_called(HEADERS "/scant.h", SOURCE);
    assert_all_called(HEADERS "/train.h", SOURCE);
    assert_all_called(HEADERS "/study.h", SOURCE);
    report_torture("public calls on data, networks and kernels");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contexts),  cmocka_unit_test(arrays_and_files),
        cmocka_unit_test(selection), cmocka_unit_test(samples),
        cmocka_unit_test(networks),  cmocka_unit_test(training),
        cmocka_unit_test(outputs),   cmocka_unit_test(experiments),
        cmocka_unit_test(kernels),   cmocka_unit_test(every_call_was_tried),
    };
    return cmocka_run_group_tests(tests, make_inputs, remove_dir);
}
