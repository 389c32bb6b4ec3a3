/* SPDX-License-Identifier: Apache-2.0
 *
 * Exports of a project for other programs, and importing them again.
 */
#include "../store/support.h"
#include "scant/project.h"

#include <jansson.h>

/* ---- projects ---------------------------------------------------------------------- */

/* Six items, most with ids that need quoting, and "copy", a copy of "plain". */
static const char manifest[] = "id,row,text,group\n"
                               "plain,0,\"some \"\"text\"\"\",\n"
                               "\"a,comma\",1,,g\n"
                               "\"a \"\"quote\"\"\",2,,\n"
                               "\"two\nlines\",3,,\n"
                               "\" blanks \",4,,\n"
                               "\xc3\xa4\xff,5,,\n"
                               "copy,6,\"some \"\"text\"\"\",\n";

static scant_project *awkward(const char *name) {
    static const float rows[7][2] = {{0, 0}, {1, 1}, {2, 0}, {0, 2}, {5, 5}, {3, 3}};
    scant_array *array;
    scant_project *project;
    void *bytes;
    size_t size;
    const scant_setting none = {"audit_every", "0"};
    OK(scant_array_wrap(ctx, "x", rows, SCANT_F32, 2, (size_t[]){7, 2}, &array));
    OK(scant_array_encode(ctx, array, &bytes, &size));
    scant_array_free(array);
    put("rows.npy", bytes, size);
    scant_bytes_free(ctx, bytes);
    scant_project_opts opts = {.source = {.features = path_of("rows.npy"),
                                          .manifest = put_text("rows.csv", manifest)},
                               .classes = (const char *const[]){"cat", "a, \"b\""},
                               .n_classes = 2,
                               .settings = &none,
                               .n_settings = 1};
    OK(scant_project_create(ctx, path_of(name), &opts, &project));
    return project;
}

static void give_labels(scant_project *project) {
    OK(scant_project_import(
        project,
        put_text("labels",
                 "id,label,annotator,time\n"
                 "plain,cat,ann,1000\n"
                 "\"a,comma\",\"a, \"\"b\"\"\",\"O'Hara, Bob\",2026-11-17T20:05:09.25Z\n"
                 "\"a \"\"quote\"\"\",cat,ann,3000\n"
                 "\"a \"\"quote\"\"\",\"a, \"\"b\"\"\",bob,4000\n"
                 "\"two\nlines\",cat,ann,5000\n"
                 "\"two\nlines\",cat,bob,6000\n"
                 "\xc3\xa4\xff,cat,ann,7000\n"),
        NULL, NULL));
}

static char *exported(scant_project *project, const char *format, size_t *size) {
    static void *bytes;
    OK(scant_project_export(project, format, &bytes, size));
    return bytes;
}

/* ---- CSV --------------------------------------------------------------------------- */

static void csv_has_a_quoted_row_per_item(void **state) {
    static const char want[] =
        "id,label,answer,annotator,time,seconds,answers,disputed,audit,copy_of,predicted,"
        "confidence,model\n"
        "plain,cat,label,ann,1970-01-01T00:00:01.000Z,,1,0,0,,,,\n"
        "\"a,comma\",\"a, \"\"b\"\"\",label,\"O'Hara, "
        "Bob\",2026-11-17T20:05:09.250Z,,1,0,0,,,,"
        "\n"
        "\"a \"\"quote\"\"\",,,,,,2,1,0,,,,\n"
        "\"two\nlines\",cat,label,bob,1970-01-01T00:00:06.000Z,,2,0,0,,,,\n"
        "\" blanks \",,,,,,0,0,0,,,,\n"
        "\xc3\xa4\xff,cat,label,ann,1970-01-01T00:00:07.000Z,,1,0,0,,,,\n"
        "copy,cat,label,ann,1970-01-01T00:00:01.000Z,,1,0,0,plain,,,\n";
    size_t size;
    (void)state;
    scant_project *project = awkward("table");
    give_labels(project);
    char *text = exported(project, "csv", &size);
    assert_int_equal(size, strlen(text));
    assert_string_equal(text, want);
    scant_bytes_free(ctx, text);
    scant_project_free(project);
}

/* Not somebody who gave another answer later. */
static void the_annotator_is_who_gave_the_label(void **state) {
    scant_project *project = make_project("annotator", 4, NULL, 0);
    size_t person, n, size;
    scant_lease leases[4];
    (void)state;
    OK(scant_project_set(project, "overlap", "2"));
    OK(scant_project_person(project, "ann", &person));
    OK(scant_project_next(project, person, 1, leases, &n));
    size_t item = leases[0].item;
    OK(scant_project_answer(project, person,
                            &(scant_answer){.item = item,
                                            .kind = SCANT_ANSWER_LABEL,
                                            .label = 1,
                                            .spent = 1234,
                                            .lease = leases[0].key},
                            1, NULL));
    OK(scant_project_person(project, "bob", &person));
    OK(scant_project_next(project, person, 1, leases, &n));
    assert_int_equal(leases[0].item, item); /* a second opinion */
    OK(scant_project_answer(project, person,
                            &(scant_answer){.item = item,
                                            .kind = SCANT_ANSWER_UNSURE,
                                            .spent = -1,
                                            .lease = leases[0].key},
                            1, NULL));
    char *text = exported(project, "csv", &size), start[32];
    snprintf(start, sizeof start, "\n%zu,b,label,ann,2", item);
    char *row = strstr(text, start);
    assert_non_null(row);
    assert_non_null(strstr(row, "Z,1.234,1,0,"));
    scant_bytes_free(ctx, text);
    scant_project_free(project);
}

/* ---- JSON -------------------------------------------------------------------------- */

static json_t *parsed(const char *text, size_t size) {
    json_error_t why;
    json_t *json = json_loadb(text, size, JSON_REJECT_DUPLICATES, &why);
    if (!json) fail_msg("line %d: %s", why.line, why.text);
    return json;
}

static const char *text_at(const json_t *object, const char *key) {
    return json_string_value(json_object_get(object, key));
}

static void jsonl_has_the_answers_of_everybody(void **state) {
    static const size_t answers[] = {1, 1, 2, 2, 0, 1, 1};
    size_t size, n = 0;
    (void)state;
    scant_project *project = awkward("lines");
    give_labels(project);
    char *text = exported(project, "jsonl", &size);
    for (char *line = text, *next; *line; line = next + 1, n++) {
        next = strchr(line, '\n');
        assert_non_null(next);
        json_t *row = parsed(line, (size_t)(next - line));
        const json_t *list = json_object_get(row, "answers");
        assert_int_equal(json_array_size(list), answers[n]);
        assert_int_equal(json_object_size(row), 16);
        if (n == 0) {
            assert_string_equal(text_at(row, "id"), "plain");
            assert_string_equal(text_at(row, "text"), "some \"text\"");
            assert_true(json_is_null(json_object_get(row, "path")));
            assert_true(json_is_null(json_object_get(row, "model")));
        }
        if (n == 1) assert_string_equal(text_at(row, "group"), "g");
        if (n == 2) {
            assert_true(json_is_true(json_object_get(row, "disputed")));
            assert_true(json_is_null(json_object_get(row, "label")));
            assert_string_equal(text_at(json_array_get(list, 1), "annotator"), "bob");
            assert_string_equal(text_at(json_array_get(list, 1), "label"), "a, \"b\"");
        }
        if (n == 6) assert_string_equal(text_at(row, "copy_of"), "plain");
        json_decref(row);
    }
    assert_int_equal(n, 7);
    scant_bytes_free(ctx, text);
    scant_project_free(project);
}

static void tasks_have_the_format_of_label_studio(void **state) {
    size_t size;
    (void)state;
    scant_project *project = awkward("tasks");
    give_labels(project);
    char *text = exported(project, "label-studio", &size);
    json_t *tasks = parsed(text, size);
    assert_int_equal(json_array_size(tasks), 6); /* items without answers are left out */
    for (size_t i = 0; i < 6; i++) {
        const json_t *task = json_array_get(tasks, i), *annotation;
        const json_t *data = json_object_get(task, "data");
        size_t k;
        assert_string_equal(text_at(data, "id"), text_at(data, "ref"));
        json_array_foreach(json_object_get(task, "annotations"), k, annotation) {
            const json_t *result =
                json_array_get(json_object_get(annotation, "result"), 0);
            assert_null(json_object_get(annotation, "completed_by"));
            assert_string_equal(text_at(result, "type"), "choices");
            assert_string_equal(text_at(result, "from_name"), "choice");
            assert_string_equal(text_at(result, "to_name"), i % 5 ? "image" : "text");
            assert_non_null(text_at(annotation, "created_at"));
        }
        assert_int_equal(k, i == 2 || i == 3 ? 2 : 1);
    }
    json_decref(tasks);
    scant_bytes_free(ctx, text);
    scant_project_free(project);
    project = awkward("no-tasks");
    text = exported(project, "label-studio", &size);
    tasks = parsed(text, size);
    assert_int_equal(json_array_size(tasks), 0);
    json_decref(tasks);
    scant_bytes_free(ctx, text);
    scant_project_free(project);
}

/* ---- round trips ------------------------------------------------------------------- */

static void list_by(scant_project *project, const char *sql, char *out, size_t size) {
    sqlite3_stmt *s;
    assert_int_equal(sqlite3_prepare_v2(project->db, sql, -1, &s, NULL), SQLITE_OK);
    out[0] = 0;
    while (sqlite3_step(s) == SQLITE_ROW)
        snprintf(out + strlen(out), size - strlen(out), "%s\n",
                 (const char *)sqlite3_column_text(s, 0));
    sqlite3_finalize(s);
}

/* A line for every current answer (people) or label, in the order of items and people. */
static void list_answers(scant_project *project, bool people, char *out, size_t size) {
    const char *sql =
        "SELECT a.item || ' ' || p.name || ' ' || a.class || ' ' || l.at FROM answers a"
        " JOIN people p USING (person) JOIN labels l USING (entry)"
        " ORDER BY a.item, p.name";
    if (!people)
        sql = "SELECT item || ' ' || label FROM states WHERE label >= 0 ORDER BY item";
    list_by(project, sql, out, size);
}

static void exports_can_be_imported(void **state) {
    static const char *const formats[] = {"csv", "jsonl", "label-studio"};
    static char want[4096], got[4096];
    (void)state;
    scant_project *from = awkward("from");
    give_labels(from);
    for (size_t i = 0; i < 3; i++) {
        char name[32];
        size_t size;
        snprintf(name, sizeof name, "to-%s", formats[i]);
        scant_project *to = awkward(name);
        char *text = exported(from, formats[i], &size);
        put("exported", text, size);
        /* JSON cannot hold the id that is not UTF-8; CSV has one annotator per item */
        const scant_import_opts opts = {.partial = i > 0};
        scant_import r;
        OK(scant_project_import(to, path_of("exported"), &opts, &r));
        assert_int_equal(r.unknown, i > 0);
        if (i > 0) assert_string_equal(r.unknown_ids[0], "\xc3\xa4\xef\xbf\xbd");
        if (i > 0)
            OK(scant_project_import(
                to,
                put_text("rest", "id,label,annotator,time\n\xc3\xa4\xff,cat,ann,7000"),
                NULL, NULL));
        list_answers(from, i > 0, want, sizeof want);
        list_answers(to, i > 0, got, sizeof got);
        assert_true(strlen(want) > 10);
        assert_string_equal(got, want);
        OK(scant_project_import(to, path_of("exported"), &opts, &r));
        assert_int_equal(r.stored, 0);
        scant_bytes_free(ctx, text);
        scant_project_free(to);
    }
    scant_project_free(from);
}

static void skip_and_unsure_are_exported_and_read_back(void **state) {
    static const char *const formats[] = {"csv", "jsonl"};
    static char want[4096], got[4096];
    static const char sql[] = "SELECT a.item || p.name || a.kind || coalesce(a.class, "
                              "'-') || l.at FROM answers a"
                              " JOIN people p USING (person) JOIN labels l USING (entry)"
                              " ORDER BY a.item, p.name";
    size_t size;
    (void)state;
    scant_project *from = awkward("unsure");
    scant_import r;
    OK(scant_project_import(
        from,
        put_text("in", "id,label,answer,annotator,time\nplain,,unsure,ann,1000\n"
                       "\"a,comma\",,skip,bob,2000\n\" blanks \",cat,label,ann,3000\n"),
        NULL, &r));
    assert_int_equal(r.stored, 3);
    assert_int_equal(r.others, 2);
    assert_int_equal(info_of(from).unsure, 1);
    assert_int_equal(info_of(from).skipped, 1);
    assert_int_equal(info_of(from).labelled, 1);
    char *text = exported(from, "csv", &size);
    assert_non_null(
        strstr(text, "\nplain,,unsure,ann,1970-01-01T00:00:01.000Z,,0,0,0,,,,\n"));
    assert_non_null(
        strstr(text, "\n\"a,comma\",,skip,bob,1970-01-01T00:00:02.000Z,,0,0,0,,,,\n"));
    /* a copy's answer is its original's */
    assert_non_null(strstr(text, "\ncopy,,unsure,ann,"));
    scant_bytes_free(ctx, text);
    text = exported(from, "label-studio", &size);
    json_t *tasks = parsed(text, size);
    assert_int_equal(json_array_size(tasks), 1);
    json_decref(tasks);
    scant_bytes_free(ctx, text);
    for (size_t i = 0; i < 2; i++) {
        char name[32];
        snprintf(name, sizeof name, "sure-%s", formats[i]);
        scant_project *to = awkward(name);
        text = exported(from, formats[i], &size);
        put("exported", text, size);
        scant_bytes_free(ctx, text);
        OK(scant_project_import(to, path_of("exported"),
                                &(scant_import_opts){.partial = true}, &r));
        list_by(from, sql, want, sizeof want);
        list_by(to, sql, got, sizeof got);
        assert_true(strlen(want) > 20);
        assert_string_equal(got, want);
        OK(scant_project_import(to, path_of("exported"),
                                &(scant_import_opts){.partial = true}, &r));
        assert_int_equal(r.stored, 0);
        scant_project_free(to);
    }
    scant_project_free(from);
}

/* ---- arrays, the audit set, predictions -------------------------------------------- */

static void an_array_has_the_class_of_every_item(void **state) {
    static const int64_t want[] = {0, 1, -1, 0, -1, 0, 0};
    size_t size;
    scant_array *array;
    int64_t got[7];
    (void)state;
    scant_project *project = awkward("array");
    give_labels(project);
    char *bytes = exported(project, "npy", &size);
    put("labels.npy", bytes, size);
    scant_bytes_free(ctx, bytes);
    OK(scant_array_open(ctx, path_of("labels.npy"), &array));
    assert_int_equal(scant_array_dtype(array), SCANT_I64);
    assert_int_equal(scant_array_ndim(array), 1);
    assert_int_equal(scant_array_shape(array)[0], 7);
    OK(scant_array_integers(ctx, array, 0, 7, got));
    assert_memory_equal(got, want, sizeof want);
    scant_array_free(array);
    scant_project_free(project);
}

static void the_audit_set_is_exported_too(void **state) {
    size_t size, rows = 0, audited = 0;
    (void)state;
    scant_project *project = make_project("withheld", 50, NULL, 0);
    char *text = exported(project, "csv", &size);
    for (char *line = strchr(text, '\n') + 1; *line; line = strchr(line, '\n') + 1) {
        unsigned id;
        int audit;
        assert_int_equal(sscanf(line, "%u,,,,,,0,0,%d,,,,\n", &id, &audit), 2);
        assert_int_equal(id, rows++);
        audited += (size_t)audit;
    }
    assert_int_equal(rows, 50);
    assert_int_equal(audited, info_of(project).withheld);
    assert_true(audited > 0);
    scant_bytes_free(ctx, text);
    scant_project_free(project);
}

/* Two clouds, some of each labelled: the model predicts the rest. */
static void unlabelled_items_have_the_models_prediction(void **state) {
    enum { N = 60 };
    float rows[N][2];
    char labels[512] = "id,label\n";
    scant_array *array;
    scant_project *project;
    void *bytes;
    size_t size, model;
    const scant_setting none = {"audit_every", "0"};
    (void)state;
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < 2; j++)
            rows[i][j] = (float)(i % 2 ? 4 : -4) + (float)unit_at(3, 2 * i + j);
    OK(scant_array_wrap(ctx, "x", rows, SCANT_F32, 2, (size_t[]){N, 2}, &array));
    OK(scant_array_encode(ctx, array, &bytes, &size));
    scant_array_free(array);
    put("clouds.npy", bytes, size);
    scant_bytes_free(ctx, bytes);
    OK(scant_project_create(
        ctx, path_of("clouds"),
        &(scant_project_opts){.source = {.features = path_of("clouds.npy")},
                              .classes = abc,
                              .n_classes = 2,
                              .settings = &none,
                              .n_settings = 1},
        &project));
    for (int i = 0; i < 20; i++)
        snprintf(labels + strlen(labels), sizeof labels - strlen(labels), "%d,%s\n", i,
                 i % 2 ? "b" : "a");
    OK(scant_project_import(project, put_text("some", labels), NULL, NULL));
    OK(scant_project_train(project, NULL, &model));
    char *text = exported(project, "csv", &size);
    size_t said = 0, row = 0;
    for (char *line = strchr(text, '\n') + 1; *line; line = strchr(line, '\n') + 1) {
        char class;
        double confidence;
        unsigned id, by;
        if (sscanf(line, "%u,,,,,,0,0,0,,%c,%lf,%u\n", &id, &class, &confidence, &by) ==
            4) {
            assert_int_equal(id, row);
            assert_int_equal(class, id % 2 ? 'b' : 'a');
            assert_true(confidence > .5 && confidence <= 1);
            assert_int_equal(by, model);
            said++;
        }
        row++;
    }
    assert_int_equal(row, N);
    assert_int_equal(said, N - 20);
    scant_bytes_free(ctx, text);
    text = exported(project, "label-studio", &size);
    json_t *tasks = parsed(text, size);
    assert_int_equal(json_array_size(tasks), N);
    const json_t *task = json_array_get(tasks, N - 1);
    assert_int_equal(json_array_size(json_object_get(task, "annotations")), 0);
    const json_t *guess = json_array_get(json_object_get(task, "predictions"), 0);
    assert_true(json_real_value(json_object_get(guess, "score")) > .5);
    assert_string_equal(text_at(guess, "model_version"), "1");
    json_decref(tasks);
    scant_bytes_free(ctx, text);
    scant_project_free(project);
}

/* ---- failures ---------------------------------------------------------------------- */

static void other_formats_are_refused(void **state) {
    void *bytes;
    size_t size;
    (void)state;
    scant_project *project = make_project("formats", 3, NULL, 0);
    REFUSED(
        scant_project_export(project, "xml", &bytes, &size), SCANT_EUSAGE,
        "there is no format 'xml': expected csv, csv-raw, jsonl, label-studio or npy");
    assert_null(bytes);
    scant_project_free(project);
}

static void a_failed_allocation_of_an_export_is_reported(void **state) {
    static const char *const formats[] = {"csv", "jsonl", "label-studio", "npy"};
    (void)state;
    scant_project *project = awkward("memory");
    give_labels(project);
    for (size_t i = 0; i < 4; i++) {
        size_t k = 0;
        for (scant_status status = SCANT_ENOMEM; status != SCANT_OK; k++) {
            void *bytes;
            size_t size, live = mem.live;
            mem.calls = 0;
            mem.fail_at = k;
            status = scant_project_export(project, formats[i], &bytes, &size);
            mem.fail_at = SIZE_MAX;
            assert_true(status == SCANT_OK || status == SCANT_ENOMEM);
            assert_int_equal(status == SCANT_OK, bytes != NULL);
            scant_bytes_free(ctx, bytes);
            /* the handle may keep the names of the classes */
            assert_true(mem.live <= live + 3);
        }
        assert_true(k > 1);
    }
    scant_project_free(project);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(csv_has_a_quoted_row_per_item),
        cmocka_unit_test(the_annotator_is_who_gave_the_label),
        cmocka_unit_test(jsonl_has_the_answers_of_everybody),
        cmocka_unit_test(tasks_have_the_format_of_label_studio),
        cmocka_unit_test(exports_can_be_imported),
        cmocka_unit_test(skip_and_unsure_are_exported_and_read_back),
        cmocka_unit_test(an_array_has_the_class_of_every_item),
        cmocka_unit_test(the_audit_set_is_exported_too),
        cmocka_unit_test(unlabelled_items_have_the_models_prediction),
        cmocka_unit_test(other_formats_are_refused),
        cmocka_unit_test(a_failed_allocation_of_an_export_is_reported),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
