/* SPDX-License-Identifier: Apache-2.0
 *
 * NULL in every place where the headers speak of it: for a handle that a call needs, for
 * options that mean all defaults, and for what need not be given.
 */
#include <stddef.h>

#include "scant/project.h"
#include "scant/study.h"
#include "torture.h"

enum { N = 30, D = 4, C = 3, LABELLED = 20 };

#define REFUSED(call) assert_int_equal(call, SCANT_EUSAGE)
/* ... and there is no result that somebody would free. */
#define REFUSED_NEW(call, made)                                                          \
    do {                                                                                 \
        (made) = (void *)&nothing;                                                       \
        assert_int_equal(call, SCANT_EUSAGE);                                            \
        assert_null(made);                                                               \
    } while (0)

static max_align_t nothing;
static scant_array *array;
static scant_comparison *comparison;
static scant_data *data;
static scant_experiment *experiment;
static scant_hold *hold;
static scant_ids *ids;
static scant_lab *lab;
static scant_net *net;
static scant_picks *picks;
static scant_project *project;
static scant_selection *selection;
static scant_study *study;
static scant_trainings *trainings;
static scant_writer *writer;

/* ---- handles ----------------------------------------------------------------------- */

static void calls_of_scant(void **state) {
    (void)state;
    REFUSED_NEW(scant_array_open(NULL, NULL, &array), array);
    REFUSED_NEW(scant_array_wrap(NULL, NULL, NULL, 0, 0, NULL, &array), array);
    REFUSED(scant_array_integers(NULL, NULL, 0, 0, NULL));
    REFUSED(scant_array_floats(NULL, NULL, 0, 0, NULL));
    REFUSED(scant_array_encode(NULL, NULL, NULL, NULL));
    REFUSED(scant_file_write(NULL, NULL, NULL, 0));
    REFUSED_NEW(scant_writer_open(NULL, NULL, 0, 0, NULL, &writer), writer);
    REFUSED(scant_writer_append(NULL, NULL, 0));
    REFUSED(scant_writer_put(NULL, 0, NULL, 0));
    REFUSED(scant_writer_finish(NULL));
    REFUSED_NEW(scant_ids_open(NULL, NULL, &ids), ids);
    REFUSED(scant_select_inputs(NULL, NULL, NULL, 0, NULL, NULL));
    REFUSED_NEW(scant_select(NULL, NULL, NULL, 0, NULL, &picks), picks);
    REFUSED_NEW(scant_selection_open(NULL, NULL, NULL, 0, NULL, &selection), selection);
    REFUSED(scant_selection_plan(NULL, NULL));
    REFUSED_NEW(scant_selection_run(NULL, &picks), picks);
    REFUSED(scant_plot_picks(NULL, NULL, NULL, NULL, NULL));
    REFUSED(scant_plot_plan(NULL, NULL, 0, NULL));
}

static void calls_of_train(void **state) {
    (void)state;
    REFUSED_NEW(scant_data_open(NULL, NULL, NULL, &data), data);
    REFUSED(scant_data_renumber(NULL, NULL, 0));
    REFUSED(scant_model_parameters(NULL, NULL, NULL, NULL));
    REFUSED_NEW(scant_net_create(NULL, NULL, NULL, &net), net);
    REFUSED(scant_net_save(NULL, NULL));
    REFUSED(scant_net_load(NULL, NULL, false));
    REFUSED_NEW(scant_net_open(NULL, NULL, NULL, NULL, &net), net);
    REFUSED_NEW(scant_net_start(NULL, NULL, NULL, NULL, &net), net);
    REFUSED(scant_net_reset(NULL, 0));
    REFUSED(scant_net_join(NULL, NULL));
    REFUSED(scant_net_set_scaling(NULL, NULL, NULL));
    REFUSED(scant_net_fit_scaling(NULL, NULL));
    REFUSED(scant_net_set_class_names(NULL, NULL));
    REFUSED(scant_train_resolve(NULL, NULL, NULL, NULL));
    REFUSED(scant_net_train(NULL, NULL, NULL, NULL));
    REFUSED(scant_train_progress(NULL, NULL, NULL, NULL));
    REFUSED_NEW(scant_recipe_make(NULL, NULL, NULL, &net), net);
    REFUSED_NEW(scant_learn(NULL, NULL, NULL, &net, NULL), net);
    REFUSED(scant_net_predict(NULL, NULL, NULL, 0, NULL));
    REFUSED(scant_net_write_draws(NULL, NULL, NULL, 0, NULL));
    REFUSED(scant_net_evaluate(NULL, NULL, NULL, 0, NULL));
    REFUSED(scant_net_evaluate_at(NULL, NULL, NULL, 0, 0, NULL, NULL));
    REFUSED(scant_net_gradients(NULL, NULL, NULL, 0, NULL, NULL));
    REFUSED_NEW(scant_experiment_open(NULL, NULL, NULL, 0, &experiment), experiment);
    REFUSED(scant_experiment_print(NULL, NULL, NULL));
    REFUSED(scant_experiment_run(NULL, NULL));
    REFUSED(scant_report(NULL, NULL, 0, NULL));
    REFUSED_NEW(scant_compare(NULL, NULL, 0, NULL, &comparison), comparison);
    REFUSED_NEW(scant_trainings_read(NULL, NULL, 0, &trainings), trainings);
}

static void calls_of_study(void **state) {
    (void)state;
    REFUSED(scant_net_kernel(NULL, NULL, NULL, 0, NULL, NULL, 0, false, false, NULL));
    REFUSED_NEW(scant_study_kernel(NULL, NULL, 0, NULL, 0, NULL, &study), study);
    REFUSED(scant_ntk_kernel(NULL, NULL, NULL, 0, NULL));
    REFUSED(scant_kernel_parse(NULL, NULL, NULL));
    REFUSED(scant_kernel_fit(NULL, NULL, 0, NULL, 0, 0, NULL, NULL));
    REFUSED(scant_kernel_predict(NULL, NULL, 0, 0, NULL, 0, NULL));
    REFUSED_NEW(scant_lab_run(NULL, NULL, &lab), lab);
    REFUSED(scant_lab_page(NULL, NULL, NULL, NULL, NULL));
}

static void calls_of_project(void **state) {
    (void)state;
    REFUSED_NEW(scant_project_create(NULL, NULL, NULL, &project), project);
    REFUSED_NEW(scant_project_open(NULL, NULL, &project), project);
    REFUSED(scant_project_check(NULL));
    REFUSED(scant_project_add(NULL, NULL, NULL));
    REFUSED(scant_project_accept_changed(NULL, NULL));
    REFUSED(scant_project_file(NULL, NULL, NULL));
    REFUSED(scant_project_set(NULL, NULL, NULL));
    REFUSED(scant_project_set_all(NULL, NULL, 0));
    REFUSED(scant_project_info_get(NULL, NULL));
    REFUSED(scant_project_class_add(NULL, NULL, NULL));
    REFUSED(scant_project_items(NULL, 0, 0, NULL, NULL));
    REFUSED(scant_project_item(NULL, 0, NULL));
    REFUSED(scant_project_find(NULL, NULL, NULL));
    REFUSED(scant_project_labels(NULL, NULL, 0));
    REFUSED(scant_project_image(NULL, 0, 0, NULL, NULL, NULL));
    REFUSED(scant_project_image_cached(NULL, 0, 0, NULL, NULL, NULL));
    REFUSED(scant_project_person(NULL, NULL, NULL));
    REFUSED(scant_project_people(NULL, NULL, NULL));
    REFUSED(scant_project_next(NULL, 0, 0, NULL, NULL));
    REFUSED(scant_project_take(NULL, 0, NULL, 0, NULL, NULL));
    REFUSED(scant_project_renew(NULL, 0, NULL, 0, NULL));
    REFUSED(scant_project_release(NULL, 0, NULL, 0));
    REFUSED(scant_project_answer(NULL, 0, NULL, 0, NULL));
    REFUSED(scant_project_undo(NULL, 0, 0, NULL, NULL, NULL));
    REFUSED(scant_project_current_answer(NULL, 0, 0, NULL, NULL, NULL));
    REFUSED(scant_project_history(NULL, 0, 0, false, 0, NULL, NULL));
    REFUSED(scant_project_import(NULL, NULL, NULL, NULL));
    REFUSED(scant_project_agreements(NULL, NULL, NULL));
    REFUSED(scant_project_prepare(NULL));
    REFUSED(scant_project_train(NULL, NULL, NULL));
    REFUSED(scant_project_collapse(NULL, NULL));
    REFUSED_NEW(scant_project_query(NULL, NULL, &picks, NULL), picks);
    REFUSED(scant_project_audit(NULL, 0, NULL, NULL));
    REFUSED_NEW(scant_project_predict(NULL, &array, NULL), array);
    REFUSED_NEW(scant_project_predict_cached(NULL, &array, NULL), array);
    REFUSED_NEW(scant_project_features(NULL, &array), array);
    REFUSED(scant_project_models(NULL, NULL, NULL));
    REFUSED(scant_project_rounds(NULL, NULL, NULL));
    REFUSED(scant_project_picked(NULL, 0, NULL, NULL));
    REFUSED(scant_project_meter(NULL, NULL));
    REFUSED(scant_project_advice(NULL, NULL, NULL));
    REFUSED(scant_project_why(NULL, 0, NULL));
    REFUSED(scant_project_alike(NULL, 0, 0, NULL, NULL));
    REFUSED(scant_project_map(NULL, 0, NULL, NULL, NULL));
    REFUSED(scant_project_export(NULL, NULL, NULL, NULL));
    REFUSED(scant_project_events(NULL, 0, NULL, NULL));
    REFUSED(scant_project_event(NULL, NULL, NULL));
    REFUSED_NEW(scant_project_hold(NULL, NULL, NULL, &hold), hold);
}

/* Calls with two handles, of which only the second is missing. */
static void second_handles(void **state) {
    (void)state;
    scant_net *one;
    must(scant_net_create(ctx, "mlp", &(scant_net_opts){.shape = {D, 1, 1}, .classes = C},
                          &one));
    REFUSED(scant_array_integers(ctx, NULL, 0, 0, NULL));
    REFUSED(scant_array_floats(ctx, NULL, 0, 0, NULL));
    REFUSED(scant_array_encode(ctx, NULL, NULL, NULL));
    REFUSED(scant_net_join(one, NULL));
    REFUSED(scant_net_fit_scaling(one, NULL));
    REFUSED(scant_train_resolve(ctx, NULL, NULL, NULL));
    REFUSED(scant_net_train(one, NULL, NULL, NULL));
    REFUSED_NEW(scant_recipe_make(ctx, NULL, NULL, &net), net);
    REFUSED_NEW(scant_learn(ctx, NULL, NULL, &net, NULL), net);
    REFUSED(scant_net_predict(one, NULL, NULL, 0, NULL));
    REFUSED(scant_net_write_draws(one, NULL, NULL, 0, NULL));
    REFUSED(scant_net_evaluate(one, NULL, NULL, 0, NULL));
    REFUSED(scant_net_evaluate_at(one, NULL, NULL, 0, 0, NULL, NULL));
    REFUSED(scant_net_gradients(one, NULL, NULL, 0, NULL, NULL));
    REFUSED(scant_net_kernel(one, NULL, NULL, 0, NULL, NULL, 0, false, false, NULL));
    REFUSED(scant_lab_page(ctx, NULL, NULL, NULL, NULL));
    REFUSED(scant_ntk_kernel(ctx, NULL, NULL, 1, NULL));
    scant_net_free(one);
}

/* ---- options ------------------------------------------------------------------------
 */

static float x[N * D], probs[N * C];
static int64_t y[N];

static int make_inputs(void **state) {
    const size_t shape[] = {N, D};
    char labels[800] = "id,label\n";
    void *bytes;
    size_t size;
    if (make_dir(state) != 0) return -1;
    torture_open();
    for (size_t i = 0; i < N; i++) {
        for (size_t j = 0; j < D; j++)
            x[i * D + j] = (float)(normal_at(1, i * D + j) / 4 + 3 * (j == i % C));
        for (size_t c = 0; c < C; c++)
            probs[i * C + c] =
                (float)(c == i % C ? 0.4 + 0.01 * (double)i : 0.3 - 0.005 * (double)i);
        y[i] = (int64_t)(i % C);
        if (i < LABELLED) snprintf(labels + strlen(labels), 20, "%zu,c%zu\n", i, i % C);
    }
    must(scant_array_wrap(ctx, "y", y, SCANT_I64, 1, shape, &array));
    must(scant_array_encode(ctx, array, &bytes, &size));
    must(scant_file_write(ctx, path_of("y.npy"), bytes, size));
    scant_bytes_free(ctx, bytes);
    scant_array_free(array);
    put("labels.csv", labels, strlen(labels));
    must(scant_array_wrap(ctx, "x", x, SCANT_F32, 2, shape, &array));
    must(scant_array_encode(ctx, array, &bytes, &size));
    must(scant_file_write(ctx, path_of("x.npy"), bytes, size));
    scant_bytes_free(ctx, bytes);
    scant_array_free(array);
    return 0;
}

static int end(void **state) {
    torture_close();
    return remove_dir(state);
}

static void of_contexts(void **state) {
    (void)state;
    scant_ctx *plain, *zero;
    assert_int_equal(scant_ctx_create(NULL, &plain), SCANT_OK);
    assert_int_equal(scant_ctx_create(&(scant_ctx_opts){0}, &zero), SCANT_OK);
    assert_int_equal(scant_ctx_threads(plain), scant_ctx_threads(zero));
    scant_ctx_free(plain);
    scant_ctx_free(zero);
}

static void of_selections(void **state) {
    (void)state;
    const size_t shape[] = {N, C};
    unsigned used, missing;
    scant_picks *same;
    scant_array *p;
    must(scant_array_wrap(ctx, "p", probs, SCANT_F32, 2, shape, &p));
    const scant_evidence e = {.probs = p};
    must(scant_select_inputs(ctx, "margin", NULL, SCANT_PROBS, &used, &missing));
    assert_int_equal(used, SCANT_PROBS);
    must(scant_select(ctx, "margin", &e, 5, NULL, &picks));
    must(scant_select(ctx, "margin", &e, 5, &(scant_select_opts){0}, &same));
    assert_memory_equal(picks->items, same->items, 5 * sizeof *picks->items);
    scant_picks_free(ctx, same);
    must(scant_selection_open(ctx, "margin", &e, 5, NULL, &selection));
    must(scant_selection_run(selection, &same));
    assert_memory_equal(picks->items, same->items, 5 * sizeof *picks->items);
    scant_selection_free(selection);
    scant_picks_free(ctx, same);
    scant_picks_free(ctx, picks);
    scant_array_free(p);
}

/* What a network that is trained with opts predicts. */
static void trained(const scant_train_opts *opts, float *logits) {
    must(scant_net_create(ctx, "mlp",
                          &(scant_net_opts){.shape = {D, 1, 1}, .classes = C, .width = 4},
                          &net));
    must(scant_net_train(net, data, opts, NULL));
    must(scant_net_predict(net, data, NULL, 0, &(scant_outputs){.logits = logits}));
}

static void of_networks(void **state) {
    (void)state;
    static float by_null[N * C], by_defaults[N * C];
    static double norms[N], same[N];
    scant_train_opts defaults;
    size_t count;
    must(scant_data_open(ctx, "moons", NULL, &data));
    assert_int_equal(scant_data_classes(data), 2);
    scant_data_free(data);
    must(scant_data_open(ctx, path_of("x.npy"),
                         &(scant_data_opts){.labels = path_of("y.npy")}, &data));
    must(scant_model_parameters(ctx, "mlp", NULL, &count));
    must(scant_net_create(ctx, "mlp", NULL, &net));
    assert_int_equal(scant_net_parameters(net), count);
    scant_net_free(net);
    scant_train_defaults(NULL, NULL, &defaults);
    trained(&defaults, by_defaults);
    scant_net_free(net);
    trained(NULL, by_null);
    assert_memory_equal(by_null, by_defaults, sizeof by_null);
    must(scant_net_gradients(net, data, NULL, 0, NULL,
                             &(scant_gradients){.norms = norms}));
    must(scant_net_gradients(net, data, NULL, 0, &(scant_gradient_opts){0},
                             &(scant_gradients){.norms = same}));
    assert_memory_equal(norms, same, sizeof norms);
    must(scant_net_save(net, path_of("net.safetensors")));
    scant_net_free(net);
    must(scant_net_open(ctx, path_of("net.safetensors"), NULL, NULL, &net));
    assert_int_equal(scant_net_classes(net), C);
    scant_net_free(net);
    must(scant_net_start(ctx, path_of("net.safetensors"), NULL, NULL, &net));
    scant_net_free(net);
    scant_data_free(data);
}

static void of_studies(void **state) {
    (void)state;
    static const double kernel[] = {2, 1, 1, 2};
    static const int32_t labels[] = {0, 1};
    scant_study *same;
    must(scant_study_kernel(ctx, kernel, 2, labels, 2, NULL, &study));
    must(scant_study_kernel(ctx, kernel, 2, labels, 2, &(scant_study_opts){0}, &same));
    assert_float_equal(study->values[0], same->values[0], 0);
    scant_study_free(ctx, same);
    scant_study_free(ctx, study);
    REFUSED_NEW(scant_lab_run(ctx, NULL, &lab), lab); /* neither a network nor a depth */
}

static void of_experiments(void **state) {
    (void)state;
    static const scant_setting keys[] = {{"data.train", "moons"}};
    must(scant_experiment_open(ctx, NULL, keys, 1, &experiment));
    REFUSED(scant_experiment_run(experiment, NULL)); /* no folder for the results */
    scant_experiment_free(experiment);
}

static void of_projects(void **state) {
    (void)state;
    static const char *const names[] = {"c0", "c1", "c2"};
    scant_import imported;
    size_t model, round;
    REFUSED_NEW(scant_project_create(ctx, path_of("p"), NULL, &project),
                project); /* no data */
    assert_int_not_equal(access(path_of("p"), F_OK), 0);
    must(scant_project_create(
        ctx, path_of("p"),
        &(scant_project_opts){
            .source = {.features = path_of("x.npy")}, .classes = names, .n_classes = C},
        &project));
    must(scant_project_import(project, path_of("labels.csv"), NULL, &imported));
    assert_int_equal(imported.lines, LABELLED);
    must(scant_project_train(project, NULL, &model));
    must(scant_project_query(project, NULL, &picks, &round));
    scant_picks_free(ctx, picks);
    scant_project_free(project);
}

static void every_call_was_tried(void **state) {
    (void)state;
    assert_all_called(HEADERS "/scant.h", SOURCE);
    assert_all_called(HEADERS "/train.h", SOURCE);
    assert_all_called(HEADERS "/study.h", SOURCE);
    assert_all_called(HEADERS "/project.h", SOURCE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_of_scant), cmocka_unit_test(calls_of_train),
        cmocka_unit_test(calls_of_study), cmocka_unit_test(calls_of_project),
        cmocka_unit_test(second_handles), cmocka_unit_test(of_contexts),
        cmocka_unit_test(of_selections),  cmocka_unit_test(of_networks),
        cmocka_unit_test(of_studies),     cmocka_unit_test(of_experiments),
        cmocka_unit_test(of_projects),    cmocka_unit_test(every_call_was_tried),
    };
    return cmocka_run_group_tests(tests, make_inputs, end);
}
