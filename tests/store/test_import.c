/* SPDX-License-Identifier: Apache-2.0
 *
 * Importing labels from files.
 */
#include "people.h"
#include "scant/project.h"

/* ---- helpers ----------------------------------------------------------------------- */

static int64_t entries(scant_project *project) {
    return ask(project, "SELECT count(*) FROM labels");
}

/* The class of a person's current answer to an item; -1: none. */
static int64_t said(scant_project *project, size_t item, const char *person) {
    char sql[300];
    snprintf(sql, sizeof sql,
             "SELECT coalesce((SELECT class FROM answers JOIN people USING (person)"
             " WHERE item = %zu AND name = '%s'), -1)",
             item, person);
    return ask(project, sql);
}

static scant_import imported(scant_project *project, const char *text,
                             scant_import_opts opts) {
    scant_import result;
    OK(scant_project_import(project, put_text("in", text), &opts, &result));
    return result;
}

/* ---- labels ------------------------------------------------------------------------ */

static void labels_are_stored_with_annotator_and_time(void **state) {
    scant_project *project = make_project("stored", 20, NULL, 0);
    (void)state;
    scant_import r = imported(project,
                              "id,label,annotator,time\n0,a,ann,1970-01-01T00:00:07Z\n"
                              "1,b,bob,\n2,c,,9000\n3,,ann,\n",
                              (scant_import_opts){0});
    assert_int_equal(r.lines, 3);
    assert_int_equal(r.stored, 3);
    assert_int_equal(r.repeated + r.unknown, 0);
    assert_int_equal(said(project, 0, "ann"), 0);
    assert_int_equal(said(project, 1, "bob"), 1);
    assert_int_equal(said(project, 2, "import"), 2);
    assert_int_equal(entries(project), 3);
    assert_int_equal(ask(project, "SELECT at FROM labels WHERE item = 0"), 7000);
    assert_int_equal(ask(project, "SELECT at FROM labels WHERE item = 2"), 9000);
    assert_true(ask(project, "SELECT at FROM labels WHERE item = 1") > 1600000000000);
    assert_int_equal(ask(project, "SELECT count(*) FROM labels WHERE role = 6"), 3);
    assert_int_equal(ask(project, "SELECT count(*) FROM events WHERE kind = 'imported'"),
                     1);
    r = imported(project, "{\"id\": \"4\", \"label\": \"a\"}",
                 (scant_import_opts){.person = "eve"});
    assert_int_equal(r.stored, 1);
    assert_int_equal(said(project, 4, "eve"), 0);
    scant_project_free(project);
}

static void importing_a_file_again_stores_nothing(void **state) {
    static const char text[] = "id,label,annotator\n0,a,ann\n1,b,ann\n0,b,bob\n0,c,ann\n";
    scant_project *project = make_project("once", 20, NULL, 0);
    (void)state;
    scant_import r = imported(project, text, (scant_import_opts){0});
    assert_int_equal(r.lines, 4);
    assert_int_equal(r.stored, 3); /* ann labels item 0 twice: the last one counts */
    assert_int_equal(said(project, 0, "ann"), 2);
    assert_int_equal(said(project, 0, "bob"), 1);
    r = imported(project, text, (scant_import_opts){0});
    assert_int_equal(r.stored, 0);
    assert_int_equal(r.repeated, 3);
    assert_int_equal(entries(project), 3);
    r = imported(project, "id,label,annotator\n0,a,ann\n", (scant_import_opts){0});
    assert_int_equal(r.stored, 1); /* another label from the same person replaces hers */
    assert_int_equal(said(project, 0, "ann"), 0);
    assert_int_equal(entries(project), 4);
    scant_project_free(project);
}

static void an_older_answer_does_not_replace_a_newer_one(void **state) {
    static const char week[] = "id,label,answer,annotator,time\n0,a,,ann,1000\n"
                               "1,a,,ann,1000\n2,,skip,ann,1000\n0,b,,bob,1000\n";
    scant_project *project = make_project("older", 20, NULL, 0);
    (void)state;
    scant_import r = imported(project, week, (scant_import_opts){0});
    assert_int_equal(r.stored, 4);
    r = imported(project,
                 "id,label,answer,annotator,time\n0,c,,ann,2000\n1,,unsure,ann,2000\n"
                 "2,b,,ann,2000\n",
                 (scant_import_opts){0});
    assert_int_equal(r.stored, 3);
    r = imported(project, week, (scant_import_opts){0}); /* again */
    assert_int_equal(r.lines, 4);
    assert_int_equal(r.stored, 0);
    assert_int_equal(r.older, 3);
    assert_int_equal(r.repeated, 1);
    assert_int_equal(r.others, 0);
    assert_int_equal(said(project, 0, "ann"), 2);
    assert_int_equal(said(project, 2, "ann"), 1);
    assert_int_equal(entries(project), 7);
    /* an answer with the same time, a later one or none replaces */
    r = imported(project,
                 "id,label,annotator,time\n0,a,ann,2000\n1,a,ann,2001\n2,a,ann,\n",
                 (scant_import_opts){0});
    assert_int_equal(r.stored, 3);
    assert_int_equal(r.older, 0);
    assert_int_equal(said(project, 0, "ann"), 0);
    scant_project_free(project);
}

static void an_older_file_does_not_restore_an_undone_answer(void **state) {
    static const char week[] = "id,label,annotator,time\n3,b,ann,1000\n3,b,bob,1000\n";
    scant_project *project = make_project("undone", 20, NULL, 0);
    scant_lease lease;
    int64_t entry;
    (void)state;
    imported(project, week, (scant_import_opts){0});
    OK(scant_project_undo(project, person(project, "ann"), 0, NULL, &entry, &lease));
    scant_import r = imported(project, week, (scant_import_opts){0});
    assert_int_equal(r.stored, 0);
    assert_int_equal(r.older, 1);    /* ann's */
    assert_int_equal(r.repeated, 1); /* bob's */
    assert_int_equal(said(project, 3, "ann"), -1);
    /* an answer without a time, or later than the undo, is new */
    r = imported(project, "id,label,annotator\n3,b,ann\n", (scant_import_opts){0});
    assert_int_equal(r.stored, 1);
    OK(scant_project_undo(project, person(project, "ann"), 0, NULL, &entry, &lease));
    r = imported(project, "id,label,annotator,time\n3,c,ann,2999-01-01T00:00:00Z\n",
                 (scant_import_opts){0});
    assert_int_equal(r.stored, 1);
    assert_int_equal(said(project, 3, "ann"), 2);
    scant_project_free(project);
}

static void blanks_around_names_are_ignored(void **state) {
    scant_project *project = make_project("blanks", 20, NULL, 0);
    (void)state;
    scant_import r = imported(project,
                              "id,label,annotator\n0,\" a\xc2\xa0\",\"ann \"\n"
                              "1,\xe2\x80\x8b"
                              "b,\xe3\x80\x80"
                              "ann\n"
                              "2,\" new \",\"  \"\n3,\" \",ann\n",
                              (scant_import_opts){.add_classes = true});
    assert_int_equal(r.lines, 3); /* item 3 has no label */
    assert_int_equal(r.stored, 3);
    assert_int_equal(said(project, 0, "ann"), 0);
    assert_int_equal(said(project, 1, "ann"), 1);
    assert_int_equal(said(project, 2, "import"), 3);
    assert_string_equal(scant_project_class(project, 3), "new");
    assert_int_equal(ask(project, "SELECT count(*) FROM people"), 2);
    REFUSED(scant_project_import(project, put_text("in", "id,label\n0,x\xe2\x80\xaey\n"),
                                 &(scant_import_opts){.add_classes = true}, &r),
            SCANT_EINPUT,
            "in: line 2: the label: a class's name must not contain a character that");
    REFUSED(scant_project_import(project, put_text("in", "id,label\n0,a\n"),
                                 &(scant_import_opts){.person = "ann "}, &r),
            SCANT_EUSAGE, "'ann ', must not begin or end with a blank");
    scant_project_free(project);
}

static void a_label_of_a_copy_goes_to_its_original(void **state) {
    const float rows[3][2] = {{1, 2}, {3, 4}, {1, 2}};
    scant_array *array;
    scant_project *project;
    void *bytes;
    size_t size;
    (void)state;
    OK(scant_array_wrap(ctx, "x", rows, SCANT_F32, 2, (size_t[]){3, 2}, &array));
    OK(scant_array_encode(ctx, array, &bytes, &size));
    scant_array_free(array);
    put("copies.npy", bytes, size);
    scant_bytes_free(ctx, bytes);
    OK(scant_project_create(
        ctx, path_of("copies"),
        &(scant_project_opts){.source = {.features = path_of("copies.npy")},
                              .classes = abc,
                              .n_classes = 3},
        &project));
    scant_import r = imported(project, "id,label\n2,b\n", (scant_import_opts){0});
    assert_int_equal(r.stored, 1);
    assert_int_equal(said(project, 0, "import"), 1);
    r = imported(project, "id,label\n0,b\n2,b\n", (scant_import_opts){0});
    assert_int_equal(r.stored, 0);
    assert_int_equal(r.repeated, 1);
    scant_project_free(project);
}

/* ---- unknown ids and classes, invalid names ---------------------------------------- */

static void unknown_ids_are_all_listed_and_nothing_is_stored(void **state) {
    scant_project *project = make_project("unknown", 20, NULL, 0);
    char text[4096] = "id,label\n0,a\n";
    scant_import r;
    (void)state;
    for (int i = 0; i < 30; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "no%02d,a\n", 29 - i);
    strncat(text, "no03,b\n1,b\n", sizeof text - strlen(text) - 1);
    REFUSED(scant_project_import(project, put_text("in", text), NULL, &r), SCANT_EINPUT,
            "nothing was imported: 30 ids are not in the project: 'no00', 'no01', "
            "'no02', 'no03', 'no04' and 25 more");
    assert_int_equal(r.unknown, 30);
    assert_int_equal(r.stored, 0);
    for (int i = 0; i < 30; i++) {
        char id[16];
        snprintf(id, sizeof id, "no%02d", i);
        assert_string_equal(r.unknown_ids[i], id);
    }
    assert_int_equal(entries(project), 0);
    assert_int_equal(ask(project, "SELECT count(*) FROM people"), 0);
    r = imported(project, text, (scant_import_opts){.partial = true});
    assert_int_equal(r.stored, 2);
    assert_int_equal(r.unknown, 30);
    assert_string_equal(r.unknown_ids[29], "no29");
    assert_int_equal(r.lines, 33);
    r = imported(project, "id,label\n0,a\n", (scant_import_opts){0});
    assert_int_equal(r.unknown, 0);
    assert_null(r.unknown_ids);
    scant_project_free(project);
}

static void unknown_classes_are_refused_left_out_or_added(void **state) {
    static const char text[] = "id,label\n0,a\n1,aa\n2,zebra\n";
    scant_project *project = make_project("classes", 20, NULL, 0);
    scant_import r;
    (void)state;
    REFUSED(
        scant_project_import(project, put_text("in", text), NULL, &r), SCANT_EINPUT,
        "in: line 3: nothing was imported: there is no class 'aa'; the nearest is 'a' "
        "(2 lines");
    assert_int_equal(entries(project), 0);
    r = imported(project, text, (scant_import_opts){.partial = true});
    assert_int_equal(r.stored, 1);
    assert_int_equal(ask(project, "SELECT count(*) FROM classes"), 3);
    r = imported(project, text, (scant_import_opts){.add_classes = true});
    assert_int_equal(r.stored, 2);
    assert_int_equal(r.repeated, 1);
    assert_string_equal(scant_project_class(project, 4), "zebra");
    assert_int_equal(said(project, 1, "import"), 3);
    scant_project_free(project);
}

static void invalid_names_are_reported_with_the_line(void **state) {
    scant_project *project = make_project("names", 20, NULL, 0);
    scant_import r;
    char text[400];
    (void)state;
    REFUSED(scant_project_import(
                project, put_text("in", "id,label,annotator\n0,a,ann\n1,a,\"x\ny\"\n"),
                NULL, &r),
            SCANT_EINPUT,
            "in: line 3: the annotator: a person's name must not contain a control");
    REFUSED(scant_project_import(project, put_text("in", "id,label\n0,\"\x01\"\n"),
                                 &(scant_import_opts){.add_classes = true}, &r),
            SCANT_EINPUT,
            "in: line 2: the label: a class's name must not contain a control");
    snprintf(text, sizeof text, "%0300d", 7);
    REFUSED(scant_project_import(project, put_text("in", "id,label\n0,a\n"),
                                 &(scant_import_opts){.person = text}, &r),
            SCANT_EUSAGE, "a person's name has 300 bytes");
    REFUSED(scant_project_import(project, path_of("none"), NULL, &r), SCANT_EINPUT,
            "there is no such file");
    REFUSED(scant_project_import(project, put_text("in", "id,label\n0\n"), NULL, NULL),
            SCANT_EINPUT, "line 2 has 1 cell");
    assert_int_equal(entries(project), 0);
    assert_int_equal(ask(project, "SELECT count(*) FROM people"), 0);
    scant_project_free(project);
}

/* ---- failures ---------------------------------------------------------------------- */

static int cancel_at;
static int cancelled(void *user) {
    (void)user;
    return cancel_at-- == 0;
}

static void a_cancelled_import_stores_nothing(void **state) {
    scant_project *project = make_project("cancelled", 5000, NULL, 0);
    FILE *f = fopen(path_of("many"), "wb");
    size_t asked = 0;
    (void)state;
    fprintf(f, "id,label\n");
    for (int i = 0; i < 3000; i++) fprintf(f, "%d,a\n", i);
    fclose(f);
    for (int i = 0;; i++, asked++) {
        cancel_at = i;
        ctx->opts.cancel = cancelled;
        scant_status status = scant_project_import(project, path_of("many"), NULL, NULL);
        ctx->opts.cancel = NULL;
        if (status == SCANT_OK) break;
        assert_int_equal(status, SCANT_ECANCELLED);
        assert_int_equal(entries(project), 0);
    }
    assert_true(asked >= 4);
    assert_int_equal(entries(project), 3000);
    scant_project_free(project);
}

static void an_import_whose_allocation_fails_stores_nothing(void **state) {
    scant_project *project = make_project("memory", 20, NULL, 0);
    const char *path = put_text("in", "id,label,annotator\n0,a,ann\nx,b,bob\n1,d,ann\n");
    const scant_import_opts opts = {.partial = true, .add_classes = true};
    size_t k = 0;
    (void)state;
    for (;; k++) {
        scant_import r;
        mem.calls = 0;
        mem.fail_at = k;
        scant_status status = scant_project_import(project, path, &opts, &r);
        mem.fail_at = SIZE_MAX;
        if (status == SCANT_OK) {
            assert_int_equal(r.stored, 2);
            break;
        }
        assert_int_equal(status, SCANT_ENOMEM);
        assert_int_equal(entries(project), 0);
    }
    assert_true(k > 5);
    scant_project_free(project);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_are_stored_with_annotator_and_time),
        cmocka_unit_test(importing_a_file_again_stores_nothing),
        cmocka_unit_test(an_older_answer_does_not_replace_a_newer_one),
        cmocka_unit_test(an_older_file_does_not_restore_an_undone_answer),
        cmocka_unit_test(blanks_around_names_are_ignored),
        cmocka_unit_test(a_label_of_a_copy_goes_to_its_original),
        cmocka_unit_test(unknown_ids_are_all_listed_and_nothing_is_stored),
        cmocka_unit_test(unknown_classes_are_refused_left_out_or_added),
        cmocka_unit_test(invalid_names_are_reported_with_the_line),
        cmocka_unit_test(a_cancelled_import_stores_nothing),
        cmocka_unit_test(an_import_whose_allocation_fails_stores_nothing),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
