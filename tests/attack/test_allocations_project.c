/* SPDX-License-Identifier: Apache-2.0
 *
 * Every call of scant/project.h that can fail, with each of its allocations failing in
 * turn. One project lives through all of them: a call that failed has changed nothing, so
 * that it can be repeated. (SQLite's own allocations:
 * tests/attack/test_failing_calls.py.)
 */
#include "scant/project.h"
#include "torture.h"

enum { N = 60, D = 4, C = 3, ANSWERS = 20 };

static float x[N * D];
static const char *const names[] = {"red", "green", "blue"};
static scant_project *project;

static int make_inputs(void **state) {
    const size_t shape[] = {N, D};
    scant_array *array;
    void *bytes;
    size_t size;
    if (make_dir(state) != 0) return -1;
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < D; j++)
            x[i * D + j] = (float)(normal_at(1, i * D + j) / 4 + 3 * (j == i % C));
    torture_open();
    must(scant_array_wrap(ctx, "x", x, SCANT_F32, 2, shape, &array));
    must(scant_array_encode(ctx, array, &bytes, &size));
    must(scant_file_write(ctx, path_of("x.npy"), bytes, size));
    scant_bytes_free(ctx, bytes);
    scant_array_free(array);
    static const char labels[] = "id,label\n50,green\n51,red\n52,blue\n";
    put("labels.csv", labels, sizeof labels - 1);
    put("more.csv", "id,row\nm1,1\nm2,2\n", 17);
    return 0;
}

static int end(void **state) {
    scant_project_free(project);
    torture_close();
    return remove_dir(state);
}

/* ---- creating and settings --------------------------------------------------------- */

static scant_status create(scant_project **out) {
    char command[600];
    snprintf(command, sizeof command, "rm -rf '%s'", path_of("project"));
    assert_int_equal(system(command), 0);
    const scant_project_opts opts = {.source = {.features = path_of("x.npy")},
                                     .classes = names,
                                     .n_classes = C,
                                     .seed = 1};
    return scant_project_create(ctx, path_of("project"), &opts, out);
}

static void creating(void **state) {
    (void)state;
    static const scant_setting several[] = {{"batch", "6"}, {"audit_every", "5"}};
    char features[512], manifest[512]; /* path_of() uses its results again */
    const scant_source source = {.features = path_in(features, "x.npy"),
                                 .manifest = path_in(manifest, "more.csv")};
    scant_project_info info;
    const char *what;
    size_t label, added;
    TORTURE_UNDO(create(&project), scant_project_free(project));
    scant_project_free(project);
    TORTURE_UNDO(scant_project_open(ctx, path_of("project"), &project),
                 scant_project_free(project));
    TORTURE(scant_project_set(project, "batch", "7"));
    TORTURE(scant_project_set_all(project, several, 2));
    TORTURE(scant_project_info_get(project, &info));
    TORTURE(scant_project_class_add(project, "more", &label));
    TORTURE(scant_project_add(project, &source, &added));
    assert_int_equal(added, 2);
    TORTURE(scant_project_prepare(project));
    TORTURE(scant_project_check(project));
    TORTURE(scant_project_accept_changed(project, &added));
    TORTURE(scant_project_file(project, path_of("x.npy"), &what));
    assert_non_null(what);
}

/* ---- people ------------------------------------------------------------------------ */

static scant_status ignore_item(void *user, const scant_item *item) {
    (void)user, (void)item;
    return SCANT_OK;
}

static scant_status ignore_person(void *user, const scant_person *person) {
    (void)user, (void)person;
    return SCANT_OK;
}

static scant_status ignore_entry(void *user, const scant_entry *entry) {
    (void)user, (void)entry;
    return SCANT_OK;
}

static scant_status ignore_pair(void *user, const scant_person_agreement *pair) {
    (void)user, (void)pair;
    return SCANT_OK;
}

static void answering(void **state) {
    (void)state;
    scant_lease leases[ANSWERS], again;
    scant_answer answers[ANSWERS];
    scant_receipt receipts[ANSWERS];
    scant_answer_kind kind;
    scant_import imported;
    size_t person, n, kept;
    int64_t entry, label;
    TORTURE(scant_project_person(project, "ann", &person));
    TORTURE(scant_project_next(project, person, ANSWERS, leases, &n));
    assert_int_equal(n, ANSWERS);
    TORTURE(scant_project_renew(project, person, NULL, 0, &kept));
    for (size_t i = 0; i < n; i++)
        answers[i] = (scant_answer){.item = leases[i].item,
                                    .kind = SCANT_ANSWER_LABEL,
                                    .label = leases[i].item % C,
                                    .lease = leases[i].key};
    TORTURE(scant_project_answer(project, person, answers, n, receipts));
    TORTURE(scant_project_undo(project, person, receipts[n - 1].entry, "undo", &entry,
                               &again));
    TORTURE(scant_project_take(project, person, &answers[n - 1].item, 1, leases, &n));
    TORTURE(scant_project_release(project, person, NULL, 0));
    TORTURE(scant_project_current_answer(project, person, answers[0].item, &entry, &kind,
                                         &label));
    assert_int_equal(entry, receipts[0].entry);
    TORTURE(scant_project_import(project, path_of("labels.csv"), NULL, &imported));
    assert_int_equal(imported.lines, 3);
}

static void reading(void **state) {
    (void)state;
    scant_item item;
    size_t found;
    int64_t labels[N + 2];
    void *bytes;
    size_t size;
    const char *type;
    TORTURE(scant_project_items(project, 0, SIZE_MAX, ignore_item, NULL));
    TORTURE(scant_project_item(project, 3, &item));
    TORTURE(scant_project_find(project, "7", &found));
    TORTURE(scant_project_labels(project, labels, N + 2));
    TORTURE(scant_project_people(project, ignore_person, NULL));
    TORTURE(scant_project_history(project, SIZE_MAX, 0, true, 100, ignore_entry, NULL));
    TORTURE(scant_project_agreements(project, ignore_pair, NULL));
    /* feature rows have no images; tests/data/test_thumbnail.c reads some */
    assert_int_equal(scant_project_image(project, 0, 64, &bytes, &size, &type),
                     SCANT_EINPUT);
    assert_int_equal(scant_project_image_cached(project, 0, 64, &bytes, &size, &type),
                     SCANT_EINPUT);
}

/* ---- models and rounds ------------------------------------------------------------- */

static scant_status ignore_model(void *user, const scant_model_point *point) {
    (void)user, (void)point;
    return SCANT_OK;
}

static scant_status ignore_round(void *user, const scant_round_point *point) {
    (void)user, (void)point;
    return SCANT_OK;
}

static scant_status ignore_event(void *user, const scant_event *event) {
    (void)user, (void)event;
    return SCANT_OK;
}

static void learning(void **state) {
    (void)state;
    scant_collapse collapse;
    scant_picks *picks;
    scant_array *array;
    size_t model, round, n, items[N];
    TORTURE(scant_project_train(project, NULL, &model));
    TORTURE(scant_project_collapse(project, &collapse));
    TORTURE_UNDO(scant_project_query(project, NULL, &picks, &round),
                 scant_picks_free(ctx, picks));
    scant_picks_free(ctx, picks);
    TORTURE(scant_project_audit(project, 10, items, &n));
    TORTURE_UNDO(scant_project_predict(project, &array, &model), scant_array_free(array));
    scant_array_free(array);
    TORTURE_UNDO(scant_project_predict_cached(project, &array, &model),
                 scant_array_free(array));
    scant_array_free(array);
    TORTURE_UNDO(scant_project_features(project, &array), scant_array_free(array));
    scant_array_free(array);
    TORTURE(scant_project_models(project, ignore_model, NULL));
    TORTURE(scant_project_rounds(project, ignore_round, NULL));
    TORTURE(scant_project_picked(project, N, items, &n));
}

static void judging(void **state) {
    (void)state;
    scant_meter meter;
    scant_why why;
    scant_hold *hold;
    char *text;
    void *bytes;
    size_t n, size, items[N];
    float xy[2 * N];
    TORTURE(scant_project_meter(project, &meter));
    TORTURE_UNDO(scant_project_advice(project, &meter, &text),
                 scant_bytes_free(ctx, text));
    scant_bytes_free(ctx, text);
    TORTURE(scant_project_why(project, 2, &why));
    TORTURE(scant_project_alike(project, 2, 5, items, &n));
    TORTURE(scant_project_map(project, N, items, xy, &n));
    static const char *const formats[] = {"csv", "jsonl", "label-studio", "npy"};
    for (size_t i = 0; i < 4; i++) {
        TORTURE_UNDO(scant_project_export(project, formats[i], &bytes, &size),
                     scant_bytes_free(ctx, bytes));
        scant_bytes_free(ctx, bytes);
    }
    TORTURE(scant_project_event(project, "served", "{}"));
    TORTURE(scant_project_events(project, 0, ignore_event, NULL));
    TORTURE_UNDO(scant_project_hold(project, "serve", "a test", &hold),
                 scant_hold_free(hold));
    scant_hold_free(hold);
}

static void every_call_was_tried(void **state) {
    (void)state;
    assert_all_called(HEADERS "/project.h", SOURCE);
    report_torture("public calls on projects");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(creating), cmocka_unit_test(answering),
        cmocka_unit_test(reading),  cmocka_unit_test(learning),
        cmocka_unit_test(judging),  cmocka_unit_test(every_call_was_tried),
    };
    return cmocka_run_group_tests(tests, make_inputs, end);
}
