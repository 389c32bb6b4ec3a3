/* SPDX-License-Identifier: Apache-2.0 */
#include "rows.h"

#include "data/labelfile.h"
#include "data/timestamp.h"
#include "scant/project.h"

static scant_status on_label(void *user, const scant__label_line *line) {
    (void)user;
    record("%zu:%s,%s,%s", line->line, line->id,
           line->answer == SCANT_ANSWER_SKIP     ? "(skip)"
           : line->answer == SCANT_ANSWER_UNSURE ? "(unsure)"
                                                 : line->label,
           or_dash(line->person));
    if (line->at >= 0) record(",%lld", (long long)line->at);
    record(";");
    return SCANT_OK;
}

static scant_status read_rows(const char *path) {
    return scant__labelfile_read(ctx, path, on_label, NULL);
}

/* ---- timestamps -------------------------------------------------------------------- */

static void assert_timestamp(const char *text, int64_t want) {
    int64_t at = -7;
    if (!scant__timestamp_parse(text, &at) || at != want)
        fail_msg("%s was read as %lld, expected %lld", text, (long long)at,
                 (long long)want);
}

/* The values are from `date -u -d TEXT +%s%3N`. */
static void timestamps_match_the_calendar(void **state) {
    (void)state;
    assert_timestamp("1970-01-01T00:00:00Z", 0);
    assert_timestamp("2000-02-29T23:59:59.999Z", 951868799999);
    assert_timestamp("2026-11-17T20:05:09.250Z", 1794945909250);
    assert_timestamp("2026-11-17 20:05:09.2509999", 1794945909250);
    assert_timestamp("2026-11-17T21:05:09,25+01:00", 1794945909250);
    assert_timestamp("2026-11-17T15:35:09.25-0430", 1794945909250);
    assert_timestamp("2026-11-17T21:05:09.25+01", 1794945909250);
    assert_timestamp("2026-11-17T20:05", 1794945900000);
    assert_timestamp("2026-11-17", 1794873600000);
    assert_timestamp("2100-03-01", 4107542400000); /* 2100 is not a leap year */
    assert_timestamp("9999-12-31T23:59:59.999Z", 253402300799999);
    assert_timestamp("0", 0);
    assert_timestamp("1794945909250", 1794945909250);
}

static void other_timestamps_are_refused(void **state) {
    static const char *const bad[] = {"",
                                      "today",
                                      "2026-13-01",
                                      "2026-00-01",
                                      "2026-02-29",
                                      "2100-02-29",
                                      "2026-11-17T24:00",
                                      "2026-11-17T20:60",
                                      "1969-12-31",
                                      "2026-11-17T20:05:09.Z",
                                      "2026-11-17T20",
                                      "-5",
                                      "1e9",
                                      "2026-11-17T20:05:09Zx",
                                      "2026-11-17T20:05:09+1",
                                      "999999999999999",
                                      "10000-01-01",
                                      "9999999999999999999999",
                                      "2026-11-17X20:05",
                                      "17.11.2026"};
    int64_t at;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (scant__timestamp_parse(bad[i], &at)) fail_msg("%s was accepted", bad[i]);
}

static void formatted_timestamps_parse_to_the_same_value(void **state) {
    char text[SCANT__TIMESTAMP];
    int64_t last = INT64_C(253402300799999);
    (void)state;
    assert_string_equal(scant__timestamp_format(0, text), "1970-01-01T00:00:00.000Z");
    assert_string_equal(scant__timestamp_format(last, text), "9999-12-31T23:59:59.999Z");
    for (int64_t day = 0; day < 200 * 366; day++) /* every day of two centuries */
        assert_timestamp(scant__timestamp_format(day * 86400000 + day % 86400000, text),
                         day * 86400000 + day % 86400000);
    for (uint64_t i = 0; i < 1000; i++) {
        int64_t at = (int64_t)(unit_at(3, i) * (double)last);
        assert_timestamp(scant__timestamp_format(at, text), at);
    }
}

/* ---- CSV and JSONL ----------------------------------------------------------------- */

static void tables_of_labels_are_read(void **state) {
    (void)state;
    assert_rows("id,label\na,cat\nb,dog\n", "2:a,cat,-;3:b,dog,-;");
    assert_rows("\xef\xbb\xbftime,extra,Annotator,label,id\r\n"
                "1970-01-01T00:00:01Z,x,ann,cat,\"a,\"\"1\"\"\"\r\n5000,,,dog,b\r\n\r\n",
                "2:a,\"1\",cat,ann,1000;3:b,dog,-,5000;");
    assert_string_equal(warnings, "");
}

static void rows_without_a_label_are_ignored(void **state) {
    (void)state;
    assert_rows("id,label,time\na,,never\nb,cat,\n", "3:b,cat,-;");
    assert_rows(
        "{\"id\": \"a\"}\n{\"id\": \"b\", \"label\": null}\n{\"id\": \"c\", \"label\": "
        "\"x\"}",
        "3:c,x,-;");
    assert_rows("id,label\na,\n", "");
    assert_non_null(strstr(warnings, "has no labels"));
}

static void answers_may_be_skip_or_unsure(void **state) {
    (void)state;
    assert_rows(
        "id,label,answer,annotator\na,,skip,ann\nb,,unsure,\nc,cat,label,\nd,dog,,\ne,,"
        ",\n",
        "2:a,(skip),ann;3:b,(unsure),-;4:c,cat,-;5:d,dog,-;");
    assert_rows("answer,id\nskip,a\n", "2:a,(skip),-;");
    assert_rows("{\"id\": \"a\", \"answer\": \"unsure\"}\n"
                "{\"id\": \"b\", \"answers\": [{\"label\": null, \"answer\": \"skip\"}, "
                "{\"label\": \"cat\", \"answer\": \"label\"}]}\n",
                "1:a,(unsure),-;2:b,(skip),-;2:b,cat,-;");
    /* in Label Studio's rows `answer` is user data, which is ignored */
    assert_rows(
        "[{\"annotation_id\": 1, \"ref\": \"a\", \"label\": \"x\", \"answer\": \"42\"}]",
        "1:a,x,-;");
}

static void jsonl_is_read(void **state) {
    (void)state;
    assert_rows(
        "{\"id\": \"a\", \"label\": \"cat\", \"annotator\": \"ann\", \"time\": 7}\n"
        "{\"label\": 3, \"id\": 12, \"time\": \"1970-01-01T00:00:00.009Z\"}\n",
        "1:a,cat,ann,7;2:12,3,-,9;");
    /* several answers of an item */
    assert_rows(
        "{\"id\": \"a\", \"label\": null, \"answers\": [{\"label\": \"cat\", "
        "\"annotator\": \"ann\", \"time\": 1}, {\"label\": \"dog\", \"annotator\": "
        "\"bob\", \"time\": 2}]}\n{\"id\": \"b\", \"label\": \"cat\", \"answers\": "
        "[]}\n{\"id\": \"c\", \"label\": \"dog\", \"answers\": 1}",
        "1:a,cat,ann,1;1:a,dog,bob,2;3:c,dog,-;");
}

static void errors_name_the_line(void **state) {
    (void)state;
    assert_refused("id,label,answer\na,,maybe\n",
                   "line 2: 'maybe' is not an answer: expected label");
    assert_refused("id,label,answer\na,cat,skip\n",
                   "line 2: 'skip' is the answer, but there is");
    assert_refused("id,label,answer\n,,skip\n", "line 2 has an answer but no id");
    assert_refused("{\"id\": 1, \"answer\": 3}", "line 1: 'answer' is not a string");
    assert_refused("id,class\na,b\n", "line 1, its header, has no column 'label'");
    assert_refused("name,label\na,b\n", "line 1, its header, has no column 'id'");
    assert_refused("id,label\na,cat\n,dog\n", "line 3 has a label but no id");
    assert_refused("id,label,time\na,cat,now\n",
                   "line 2: 'now' is not a time: expected ISO 8601");
    assert_refused("id,label\na\n", "line 2 has 1 cell");
    assert_refused("{\"label\": \"x\"}", "line 1 has a label but no id");
    assert_refused("{\"id\": 1, \"label\": 1.5}", "line 1: 'label' is neither");
    assert_refused("{\"id\": 1, \"label\": true}", "line 1: 'label' is neither");
    assert_refused("{\"id\": 1, \"label\": \"x\", \"time\": -4}",
                   "line 1: '-4' is not a time");
    assert_refused("{\"id\": 1, \"label\": \"x\", \"time\": 1.5}",
                   "line 1: 'time' is not a time");
    assert_refused("{\"id\": 1, \"label\": \"x\", \"annotator\": []}",
                   "line 1: 'annotator' is");
    assert_refused("{\"id\": 1, \"answers\": [3]}",
                   "line 1 has an answer that is not an object");
    assert_refused("[{\"id\": 1, \"label\": 2},\n\n{\"label\": 3}]",
                   "task 2 has a label but no id");
    assert_refused("", "is empty");
}

/* ---- Label Studio ------------------------------------------------------------------ */

/* An annotation with one choice, and other keys before it. */
#define ANNOTATION(keys, choice)                                                         \
    "{" keys "\"result\": [{\"from_name\": \"x\", \"type\": \"choices\", \"value\": "    \
    "{\"choices\": [\"" choice "\"]}}]}"
#define TASK(data, annotations)                                                          \
    "{\"data\": {" data "}, \"annotations\": [" annotations "]}"

static const char by_number[] = ANNOTATION("\"completed_by\": 5, \"created_at\": "
                                           "\"2026-11-17T20:05:09.250000Z\", ",
                                           "cat");
static const char by_mail[] =
    ANNOTATION("\"completed_by\": {\"id\": 9, \"email\": \"bob@x.org\"}, ", "dog");
static const char by_name[] =
    ANNOTATION("\"completed_by\": 3, \"annotator\": \"ann\", ", "cat");
static const char prediction[] = ANNOTATION("", "dog");

static void tasks_of_label_studio_are_read(void **state) {
    char text[2048];
    (void)state;
    snprintf(text, sizeof text,
             "[{\"id\": 901, \"data\": {\"id\": \"a\", \"image\": \"/x/a.jpg\"}, "
             "\"annotations\": [%s, %s]},\n{\"data\": {\"image\": \"b.jpg\"}, "
             "\"annotations\": [%s], \"predictions\": [%s]}]",
             by_number, by_mail, by_name, prediction);
    assert_rows(text, "1:a,cat,5,1794945909250;1:a,dog,bob@x.org;2:b.jpg,cat,ann;");
}

static void the_id_of_a_task_is_id_ref_image_or_text(void **state) {
    (void)state;
#define X ANNOTATION("", "x")
    assert_rows("[" TASK("\"text\": \"t\", \"ref\": \"r\", \"image\": \"i\"", X) "]",
                "1:r,x,-;");
    assert_rows("[" TASK("\"text\": \"t\", \"image\": \"i\"", X) "]", "1:i,x,-;");
    assert_rows("[" TASK("\"text\": \"t\"", X) "]", "1:t,x,-;");
    assert_rows("[" TASK("\"id\": 7, \"ref\": \"r\"", X) "]", "1:7,x,-;");
    assert_rows("[" TASK("\"id\": \"\", \"ref\": \"r\"", X) "]", "1:r,x,-;");
    assert_refused("[" TASK("\"video\": \"v\"", X) "]", "task 1 has a label but no id");
}

static void cancelled_annotations_and_those_without_a_choice_are_ignored(void **state) {
    (void)state;
    assert_rows(
        "[" TASK("\"id\": \"a\"", ANNOTATION("\"was_cancelled\": true, ", "x")) "]", "");
    assert_rows(
        "[" TASK("\"id\": \"a\"", ANNOTATION("\"was_cancelled\": false, ", "x")) "]",
        "1:a,x,-;");
    assert_rows("[" TASK("\"id\": \"a\"", "{\"result\": []}") "]", "");
    assert_rows("[" TASK("\"id\": \"a\"",
                         "{\"result\": [{\"value\": {\"text\": [\"a note\"]}}, "
                         "{\"value\": {\"choices\": [\"y\"]}}]}") "]",
                "1:a,y,-;");
    assert_rows("[" TASK("\"id\": \"b\"", "") "]", "");
    assert_refused(
        "[" TASK("\"id\": \"a\"",
                 "{\"result\": [{\"value\": {\"choices\": [\"x\", \"y\"]}}]}") "]",
        "task 1 has several choices");
    assert_refused("[" TASK("\"id\": \"a\"", "1") "]",
                   "task 1 has an annotation that is not an object");
}

static void json_min_is_read(void **state) {
    (void)state;
    assert_rows(
        "[{\"id\": 3, \"ref\": \"a\", \"image\": \"/x/a.jpg\", \"choice\": \"cat\", "
        "\"annotator\": 1, \"annotation_id\": 9, \"created_at\": "
        "\"1970-01-01T00:00:00.5Z\", \"lead_time\": 1.5},"
        "{\"id\": 4, \"text\": \"hello\", \"sentiment\": \"good\", \"annotation_id\": "
        "10},"
        "{\"id\": \"u\", \"image\": \"i\", \"label\": {\"choices\": [\"x\"]}, "
        "\"annotation_id\": 11},"
        "{\"id\": 8, \"label\": \"x\"}]",
        "1:a,cat,1,500;2:hello,good,-;3:u,x,-;4:8,x,-;");
    assert_rows("[{\"id\": 1, \"toppings\": \"x\", \"annotation_id\": 2}]", "");
    assert_non_null(strstr(warnings, "has no labels: neither"));
}

static void files_of_labels_survive_failing_memory(void **state) {
    (void)state;
    assert_survives_failing_memory("id,x,label\n\"a\"\"b\",1,cat\nc,2,dog\n");
    assert_survives_failing_memory("[" TASK("\"id\": \"a\"", X) "]");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timestamps_match_the_calendar),
        cmocka_unit_test(other_timestamps_are_refused),
        cmocka_unit_test(formatted_timestamps_parse_to_the_same_value),
        cmocka_unit_test(tables_of_labels_are_read),
        cmocka_unit_test(rows_without_a_label_are_ignored),
        cmocka_unit_test(jsonl_is_read),
        cmocka_unit_test(errors_name_the_line),
        cmocka_unit_test(tasks_of_label_studio_are_read),
        cmocka_unit_test(the_id_of_a_task_is_id_ref_image_or_text),
        cmocka_unit_test(cancelled_annotations_and_those_without_a_choice_are_ignored),
        cmocka_unit_test(answers_may_be_skip_or_unsure),
        cmocka_unit_test(json_min_is_read),
        cmocka_unit_test(files_of_labels_survive_failing_memory),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
