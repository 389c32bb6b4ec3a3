/* SPDX-License-Identifier: Apache-2.0 */
#include "rows.h"

#include "data/manifest.h"

static scant_status on_row(void *user, const scant__manifest_row *row) {
    (void)user;
    record("%zu:%s,%s,%s,%s,%s", row->line, or_dash(row->id), or_dash(row->path),
           or_dash(row->text), or_dash(row->label), or_dash(row->group));
    if (row->has_row) record(",%zu", row->row);
    record(";");
    return SCANT_OK;
}

static scant_status read_rows(const char *path) {
    return scant__manifest_read(ctx, path, on_row, NULL);
}

static void columns_may_come_in_any_order(void **state) {
    (void)state;
    assert_rows("id,path\na,x.jpg\nb,y.jpg\n", "2:a,x.jpg,-,-,-;3:b,y.jpg,-,-,-;");
    assert_rows("Label, group ,ROW,Id\ncat,g1,0,a\n,,17,b\n",
                "2:a,-,-,cat,g1,0;3:b,-,-,-,-,17;");
    assert_rows("text\nhello\n", "2:-,-,hello,-,-;");
    assert_string_equal(warnings, "");
}

static void paths_may_have_dots_in_names(void **state) {
    (void)state;
    assert_rows("path\na..b/..c/d..\n/x/...\n",
                "2:-,a..b/..c/d..,-,-,-;3:-,/x/...,-,-,-;");
}

static void quotes_byte_order_marks_and_line_ends_are_handled(void **state) {
    (void)state;
    assert_rows(
        "\xef\xbb\xbfid,text\r\n\"a,1\",\"say \"\"hi\"\"\nand go\"\r\nb,c\r\n\r\n\n",
        "2:a,1,-,say \"hi\"\nand go,-,-;4:b,-,c,-,-;");
    assert_rows("id\n a \n\" b \"",
                "2:a,-,-,-,-;3: b ,-,-,-,-;");            /* quotes keep blanks */
    assert_rows("id\n\xff\xfe\n", "2:\xff\xfe,-,-,-,-;"); /* paths may be any bytes */
}

static void jsonl_and_json_arrays_are_read(void **state) {
    (void)state;
    assert_rows(
        "{\"id\": \"a\", \"row\": 3, \"text\": null}\n\n"
        "{\"id\": 12, \"path\": \"\", \"row\": \"4\", \"label\": \"c\\u00e4t\"}\r\n\n",
        "1:a,-,-,-,-,3;3:12,-,-,c\xc3\xa4t,-,4;");
    assert_rows("\xef\xbb\xbf[{\"id\": \"a\"},\n {\"id\":\n\"b\", \"group\": \"g\"}]\n",
                "1:a,-,-,-,-;2:b,-,-,-,g;");
}

static void compressed_files_are_read(void **state) {
    static const char text[] = "id,row\na,0\n";
    (void)state;
    buffer gz = gzip(text, sizeof text - 1), x = xz(text, sizeof text - 1);
    assert_rows_bytes(gz.bytes, gz.size, "2:a,-,-,-,-,0;");
    assert_rows_bytes(x.bytes, x.size, "2:a,-,-,-,-,0;");
}

static void unused_columns_are_reported_once(void **state) {
    (void)state;
    assert_rows("split,id,cost\ntrain,a,1\ntest,b,2\n", "2:a,-,-,-,-;3:b,-,-,-,-;");
    assert_non_null(strstr(warnings, "'split', 'cost'|"));
    assert_rows(
        "{\"id\": \"a\", \"split\": 1}\n{\"id\": \"b\", \"split\": [], \"x\": {}}",
        "1:a,-,-,-,-;2:b,-,-,-,-;");
    assert_non_null(strstr(warnings, "'split', 'x'|"));
}

static void errors_name_the_line(void **state) {
    (void)state;
    assert_refused("", "is empty");
    assert_refused("\n\n", "is empty");
    assert_refused("id,path\n", "has no rows");
    assert_refused("[]", "has no rows");
    assert_refused("name,label\na,b\n", "line 1 is not a manifest header");
    assert_refused("id,ID\na,b\n", "line 1: two columns are called 'id'");
    assert_refused("id,path\na,b\n\nc\n",
                   "line 4 has 1 cell, expected 2 as in the header");
    assert_refused("id,path\na,b,c\n", "line 2 has 3 cells, expected 2 as in the header");
    assert_refused("id,path\na,\"b\n", "the quote that line 2 opens is never closed");
    assert_refused("id,row\na,-1\n",
                   "line 2: '-1' is not a row: expected a whole number");
    assert_refused("id,row\na,1.5\n", "line 2: '1.5' is not a row");
    assert_refused("id,row\na,99999999999999999999\n", "is not a row");
    assert_refused("id,label\n,cat\n", "line 2 names no item");
    assert_refused("id,path\na,../x.png\n", "line 2: '../x.png' contains '..'");
    assert_refused("id,path\na,x/..\n", "line 2: 'x/..' contains '..'");
    assert_refused("path\n/x/../y\n", "contains '..'");
    assert_refused_bytes("id\na\0b\n", 7, "has a zero byte");
    assert_string_equal(recorded, "");
}

static void json_errors_name_the_line(void **state) {
    (void)state;
    assert_refused("{\"id\": \"a\"}\n{\"id\": }\n", "line 2: not valid JSON");
    assert_refused("{\"id\": \"a\"}\nhello\n", "line 2: found 'h', expected an object");
    assert_refused("{\"id\": \"a\"}\n[1]\n", "line 2: found '[', expected an object");
    assert_refused("{\"id\": \"a\", \"id\": \"b\"}", "line 1: not valid JSON: duplicate");
    assert_refused("{\"id\": true}",
                   "line 1: 'id' is neither a string nor a whole number");
    assert_refused("{\"id\": 1.5}",
                   "line 1: 'id' is neither a string nor a whole number");
    assert_refused("{\"id\": \"a\", \"row\": -2}", "line 1: '-2' is not a row");
    assert_refused("{\"id\": \"\xff\"}", "line 1: not valid JSON");
    assert_refused("{\"id\": \"a\\u0000b\"}", "line 1: not valid JSON");
    assert_refused("{}", "line 1 names no item");
    assert_refused("[{\"id\": \"a\"}", "ends in line 1, expected ',' or ']'");
    assert_refused("[{\"id\": \"a\"},\n]", "line 2: found ']', expected an object");
    assert_refused("[{\"id\": \"a\"}]\nx", "line 2: found 'x', expected the end");
    assert_refused("[{\"id\": \"a\"} {\"id\": \"b\"}]", "expected ',' or ']'");
    char deep[5000];
    memset(deep, '[', sizeof deep);
    memcpy(deep, "{\"id\":", 6);
    assert_refused_bytes(deep, sizeof deep, "line 1: not valid JSON: nested deeper");
}

static scant_status stop(void *user, const scant__manifest_row *row) {
    size_t *calls = user;
    (void)row;
    ++*calls;
    return scant__fail(ctx, SCANT_EUSAGE, "enough");
}

static void an_error_of_the_callback_stops_reading(void **state) {
    size_t calls = 0;
    (void)state;
    const char *path = put("rows", "id\na\nb\n", 7);
    assert_int_equal(scant__manifest_read(ctx, path, stop, &calls), SCANT_EUSAGE);
    assert_int_equal(calls, 1);
    assert_string_equal(scant_ctx_errmsg(ctx), "enough");
    path = put("rows", "{\"id\": 1}{\"id\": 2}", 18);
    assert_int_equal(scant__manifest_read(ctx, path, stop, &calls), SCANT_EUSAGE);
    assert_int_equal(calls, 2);
    assert_int_equal(ctx->used, 0);
}

static void missing_files_are_reported(void **state) {
    (void)state;
    assert_int_equal(read_rows(path_of("none.csv")), SCANT_EINPUT);
    assert_says(ctx, path_of("none.csv"), "there is no such file");
}

static void manifests_survive_failing_memory(void **state) {
    (void)state;
    assert_survives_failing_memory(
        "id,x,\"te\"\"xt\",text\n\"a\"\"b\",1,2,\"long \"\"text\"\"\"\nc,2,3,d\n");
    assert_survives_failing_memory(
        "{\"id\": \"a\", \"x\": 1}\n{\"id\": \"b\", \"y\": 2}\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_may_come_in_any_order),
        cmocka_unit_test(paths_may_have_dots_in_names),
        cmocka_unit_test(quotes_byte_order_marks_and_line_ends_are_handled),
        cmocka_unit_test(jsonl_and_json_arrays_are_read),
        cmocka_unit_test(compressed_files_are_read),
        cmocka_unit_test(unused_columns_are_reported_once),
        cmocka_unit_test(errors_name_the_line),
        cmocka_unit_test(json_errors_name_the_line),
        cmocka_unit_test(an_error_of_the_callback_stops_reading),
        cmocka_unit_test(missing_files_are_reported),
        cmocka_unit_test(manifests_survive_failing_memory),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
