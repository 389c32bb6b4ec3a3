/* SPDX-License-Identifier: Apache-2.0
 *
 * Bodies, queries, paths and hosts: what is accepted, and how the rest is refused.
 */
#include "support.h"

#include <stdio.h>

#include "core/json.h"
#include "scant/project.h"
#include "serve/request.h"

/* The HTTP status with which parser refuses body; 0: it accepts it. */
static int parse(request_parser *parser, const char *body, request_args *args,
                 request_why *why) {
    *args = (request_args){0};
    *why = (request_why){{0}};
    return parser(&(request_in){.body = body, .size = strlen(body)}, args, why);
}

typedef struct refusal {
    request_parser *parser;
    const char *body;
    int status;
    const char *says;
} refusal;

static const char long_once[] = /* 65 bytes */
    "{\"once\": \"0123456789012345678901234567890123456789012345678901234567890123X\"}";

static const refusal refusals[] = {
    {request_next, "", 400, "not JSON"},
    {request_next, "{", 400, "not JSON"},
    {request_next, "{\"count\": 1} x", 400, "not JSON"},
    {request_next, "{\"count\": 1, \"count\": 2}", 400, "duplicate"},
    {request_next, "{\"count\": 1e999}", 400, "not JSON"},
    {request_next, "{\"count\": 99999999999999999999}", 400, "not JSON"},
    {request_next, "[]", 400, "object"},
    {request_next, "3", 400, "object"},
    {request_next, "null", 400, "object"},
    {request_next, "{}", 422, "'count' is missing"},
    {request_next, "{\"count\": null}", 422, "'count' is missing"},
    {request_next, "{\"count\": 0}", 422, "'count'"},
    {request_next, "{\"count\": 51}", 422, "from 1 to 50"},
    {request_next, "{\"count\": -1}", 422, "'count'"},
    {request_next, "{\"count\": 1.5}", 422, "'count'"},
    {request_next, "{\"count\": \"1\"}", 422, "'count'"},
    {request_next, "{\"count\": true}", 422, "'count'"},
    {request_session, "{}", 422, "'name'"},
    {request_session, "{\"name\": \"\"}", 422, "'name'"},
    {request_session, "{\"name\": 3}", 422, "'name'"},
    {request_session, "{\"name\": \"a\\u0000b\"}", 400, "NUL"},
    {request_session, "{\"name\": \"\xff\"}", 400, "decode byte"},
    {request_session, "{\"name\": \"a\", \"token\": 5}", 422, "'token'"},
    {request_alike, "{\"count\": 3}", 422, "'item'"},
    {request_alike, "{\"item\": -1}", 422, "'item'"},
    {request_alike, "{\"item\": 1, \"count\": 0}", 422, "'count'"},
    {request_undo, "{}", 422, "'once'"},
    {request_undo, long_once, 422, "64 bytes"},
    {request_leases, "{\"leases\": []}", 422, "'leases'"},
    {request_leases, "{\"leases\": [12]}", 422, "of strings"},
    {request_leases, "{\"leases\": [\"0123456789abcdef\", {}]}", 422, "of strings"},
    {request_undo, "{\"once\": \"a\", \"entry\": 0}", 422, "'entry'"},
    {request_undo, "{\"once\": \"a\", \"entry\": \"1\"}", 422, "'entry'"},
    {request_leases, "{\"leases\": {}}", 422, "'leases'"},
    {request_class, "{\"name\": [\"x\"]}", 422, "'name'"},
    {request_settings, "{}", 422, "settings"},
    {request_settings, "{\"batch\": null}", 422, "'batch'"},
    {request_settings, "{\"batch\": [1]}", 422, "'batch'"},
    {request_answers, "{\"answers\": []}", 422, "'answers'"},
    {request_answers, "{\"answers\": [3]}", 422, "objects"},
    {request_answers, "{\"answers\": [{\"item\": 1, \"once\": \"a\"}]}", 422, "'kind'"},
    {request_answers,
     "{\"answers\": [{\"item\": 1, \"kind\": \"undo\", \"once\": \"a\"}]}", 422,
     "'kind'"},
    {request_answers, "{\"answers\": [{\"item\": 1, \"kind\": 1, \"once\": \"a\"}]}", 422,
     "'kind'"},
    {request_answers,
     "{\"answers\": [{\"item\": 1, \"kind\": \"label\", \"once\": \"a\"}]}", 422,
     "'label'"},
    {request_answers,
     "{\"answers\": [{\"item\": 1, \"kind\": \"skip\", \"label\": 2, \"once\": \"a\"}]}",
     422, "'label'"},
    {request_answers, "{\"answers\": [{\"item\": 1, \"kind\": \"skip\"}]}", 422,
     "'once'"},
    {request_answers,
     "{\"answers\": [{\"item\": 1, \"kind\": \"skip\", \"once\": \"a\", \"spent\": -4}]}",
     422, "'spent'"},
    {request_answers,
     "{\"answers\": [{\"item\": 1, \"kind\": \"skip\", \"once\": \"a\", \"lease\": 7}]}",
     422, "'lease'"},
    {request_answers,
     "{\"answers\": [{\"item\": 1, \"kind\": \"skip\", \"once\": \"a\"}, {\"item\": 1, "
     "\"kind\": \"skip\", \"once\": \"b\"}]}",
     422, "twice"},
    {request_answers,
     "{\"answers\": [{\"item\": 1, \"kind\": \"skip\", \"once\": \"a\"}, {\"item\": 2, "
     "\"kind\": \"skip\", \"once\": \"a\"}]}",
     422, "'once'"},
};

static void refusals_name_the_wrong_field(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        request_args args;
        request_why why;
        int status = parse(refusals[i].parser, refusals[i].body, &args, &why);
        if (status != refusals[i].status || !strstr(why.text, refusals[i].says))
            fail_msg("%s: %d, %s", refusals[i].body, status, why.text);
        request_args_end(&args);
    }
}

static void answers_are_parsed_as_sent(void **state) {
    (void)state;
    request_args args;
    request_why why;
    assert_int_equal(
        parse(
            request_answers,
            "{\"answers\": [{\"item\": 12, \"lease\": \"00000000000000FF\", \"kind\": "
            "\"label\", \"label\": 3, \"spent\": 1234, \"once\": \"x-1\", \"later\": 1},"
            "{\"item\": 4503599627370496, \"lease\": null, \"kind\": \"unsure\", "
            "\"label\": null, \"once\": \"\\u00e9\"}]}",
            &args, &why),
        0);
    assert_int_equal(args.n_answers, 2);
    const scant_answer *a = args.answers;
    assert_int_equal(a[0].item, 12);
    assert_int_equal(a[0].kind, SCANT_ANSWER_LABEL);
    assert_int_equal(a[0].label, 3);
    assert_int_equal(a[0].spent, 1234);
    assert_int_equal(a[0].lease, 255);
    assert_string_equal(a[0].once, "x-1");
    assert_int_equal(a[1].item, (size_t)1 << 52);
    assert_int_equal(a[1].kind, SCANT_ANSWER_UNSURE);
    assert_int_equal(a[1].lease, 0);
    assert_true(a[1].spent < 0);
    assert_string_equal(a[1].once, "\xc3\xa9");
    request_args_end(&args);
    assert_null(args.answers);
}

/* n answers, each with its own `item` and `once`. */
static char *many_answers(size_t n) {
    scant__json o = {0};
    scant__json_open(&o, NULL, '{');
    scant__json_open(&o, "answers", '[');
    for (size_t i = 0; i < n; i++) {
        char once[24];
        snprintf(once, sizeof once, "%zu", i);
        scant__json_open(&o, NULL, '{');
        scant__json_size(&o, "item", i);
        scant__json_string(&o, "kind", "skip");
        scant__json_string(&o, "once", once);
        scant__json_close(&o, '}');
    }
    scant__json_close(&o, ']');
    scant__json_close(&o, '}');
    assert_false(o.text.failed);
    return o.text.data;
}

static void at_most_a_hundred_answers_are_accepted(void **state) {
    (void)state;
    request_args args;
    request_why why;
    for (size_t n = REQUEST_MOST_ANSWERS; n <= REQUEST_MOST_ANSWERS + 1; n++) {
        char *text = many_answers(n);
        assert_int_equal(parse(request_answers, text, &args, &why),
                         n > REQUEST_MOST_ANSWERS ? 422 : 0);
        request_args_end(&args);
        free(text);
    }
}

static void very_deep_nesting_is_refused(void **state) {
    (void)state;
    enum { DEEP = 60000 };
    request_args args;
    request_why why;
    char *text = malloc(DEEP + 1);
    memset(text, '[', DEEP);
    text[DEEP] = '\0';
    assert_int_equal(parse(request_answers, text, &args, &why), 400);
    request_args_end(&args);
    free(text);
}

static void settings_may_be_numbers_and_booleans(void **state) {
    (void)state;
    request_args args;
    request_why why;
    assert_int_equal(parse(request_settings,
                           "{\"batch\": 30, \"stop_width\": 0.1, \"auto_train\": false, "
                           "\"strategy\": \"margin\"}",
                           &args, &why),
                     0);
    static const char *const pairs[][2] = {{"batch", "30"},
                                           {"stop_width", "0.1"},
                                           {"auto_train", "no"},
                                           {"strategy", "margin"}};
    assert_int_equal(args.n_settings, 4);
    for (size_t i = 0; i < 4; i++) {
        bool found = false;
        for (size_t j = 0; j < 4; j++)
            found = found || (strcmp(args.settings[j].key, pairs[i][0]) == 0 &&
                              strcmp(args.settings[j].value, pairs[i][1]) == 0);
        assert_true(found);
    }
    request_args_end(&args);
}

/* ---- queries ----------------------------------------------------------------------- */

typedef struct pair {
    const char *name, *value;
} pair;

static const char *value_of(void *user, const char *name) {
    const pair *p = user;
    return strcmp(p->name, name) == 0 ? p->value : NULL;
}

static int ask(request_parser *parser, const char *name, const char *value,
               request_args *args) {
    request_why why;
    pair p = {name, value};
    *args = (request_args){0};
    int status = parser(&(request_in){.query = value_of, .user = &p}, args, &why);
    return status;
}

static void queries_have_defaults_and_bounds(void **state) {
    (void)state;
    request_args args;
    assert_int_equal(ask(request_mine, "", "", &args), 0);
    assert_int_equal(args.count, 20);
    assert_int_equal(args.before, 0);
    assert_int_equal(ask(request_mine, "before", "77", &args), 0);
    assert_int_equal(args.before, 77);
    assert_int_equal(ask(request_image, "", "", &args), 0);
    assert_int_equal(args.count, 1024);
    assert_int_equal(ask(request_image, "size", "96", &args), 0);
    assert_int_equal(args.count, 96);
    assert_int_equal(ask(request_map, "most", "50000", &args), 0);
    assert_int_equal(ask(request_export, "format", "label-studio", &args), 0);
    assert_string_equal(args.format, "label-studio");
    static const char *const wrong[] = {
        "0",    "-1", "+1", "1 ", "", "01", "0x10", "1e3", "999999999999999999999",
        "\xff", "201"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(ask(request_mine, "count", wrong[i], &args), 400);
    assert_int_equal(ask(request_image, "size", "97", &args), 400);
    assert_int_equal(ask(request_image, "size", "4096", &args), 400);
    assert_int_equal(ask(request_export, "format", "CSV", &args), 400);
    assert_int_equal(ask(request_export, "", "", &args), 400);
}

/* ---- paths and hosts --------------------------------------------------------------- */

static void a_path_has_one_number_and_nothing_else(void **state) {
    (void)state;
    size_t n = 0;
    assert_true(request_path("/api/items/#/why", "/api/items/12/why", &n));
    assert_int_equal(n, 12);
    assert_true(request_path("/api/items/#", "/api/items/0", &n));
    assert_int_equal(n, 0);
    assert_true(request_path("/api/map", "/api/map", &n));
    static const char *const wrong[] = {
        "/api/items/",
        "/api/items/01",
        "/api/items/-1",
        "/api/items/1/",
        "/api/items/1/2",
        "/api/items/1a",
        "/api/items/../1",
        "/api/items//1",
        "/api/item/1",
        "/api/items/12345678901234567890",
        "/api/items/+1",
        "/api/items/1\xff",
        "",
        "/",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(request_path("/api/items/#", wrong[i], &n));
    assert_false(request_path("/api/map", "/api/map/", &n));
    assert_false(request_path("/api/map", "/api/ma", &n));
}

static void the_port_is_removed_from_a_host(void **state) {
    (void)state;
    static const char *const right[][2] = {
        {"localhost", "localhost"},
        {"localhost:8080", "localhost"},
        {"127.0.0.1:1", "127.0.0.1"},
        {"[::1]:8080", "::1"},
        {"[::1]", "::1"},
        {"a.example", "a.example"},
    };
    static const char *const wrong[] = {
        "",      ":80",
        "a:b",   "a:80:90",
        "[::1",  "[::1]x",
        "[]:80", "[::1]:x",
        "a:80 ", "0123456789012345678901234567890123456789"};
    char host[32];
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        assert_true(request_host(right[i][0], host, sizeof host));
        assert_string_equal(host, right[i][1]);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(request_host(wrong[i], host, sizeof host));
}

/* The strings are copied, so that the JSON is freed before the request waits. */
static void parsed_strings_outlive_the_json(void **state) {
    char body[] =
        "{\"answers\": [{\"item\": 1, \"kind\": \"label\", \"label\": 0, \"once\":"
        " \"first\"}, {\"item\": 2, \"kind\": \"skip\", \"once\": \"second\"}]}";
    char settings[] = "{\"name\": \"a \\u00e4\", \"batch\": 5, \"auto_train\": false}";
    request_args args = {0};
    request_why why;
    (void)state;
    assert_int_equal(request_parse(request_answers,
                                   &(request_in){.body = body, .size = strlen(body)},
                                   &args, &why),
                     0);
    assert_null(args.root);
    memset(body, 'x', sizeof body);
    assert_string_equal(args.answers[0].once, "first");
    assert_string_equal(args.answers[1].once, "second");
    request_args_end(&args);
    assert_int_equal(
        request_parse(request_settings,
                      &(request_in){.body = settings, .size = strlen(settings)}, &args,
                      &why),
        0);
    assert_null(args.root);
    assert_int_equal(args.n_settings, 3);
    assert_string_equal(args.settings[0].key, "name");
    assert_string_equal(args.settings[0].value, "a \xc3\xa4");
    assert_string_equal(args.settings[1].value, "5");
    assert_string_equal(args.settings[2].value, "no");
    request_args_end(&args);
}

static void bodies_have_limited_values_and_depth(void **state) {
    char body[40000] = "{\"count\": 1, \"x\": [";
    request_args args = {0};
    request_why why;
    (void)state;
    for (int i = 0; i < 5000; i++) strncat(body, "{},", sizeof body - strlen(body) - 1);
    strncat(body, "0]}", sizeof body - strlen(body) - 1);
    assert_int_equal(parse(request_next, body, &args, &why), 400);
    assert_non_null(strstr(why.text, "more than 4096 values"));
    request_args_end(&args);
    assert_int_equal(
        parse(request_next, "{\"count\": 1, \"x\": [[[[[[[[0]]]]]]]]}", &args, &why),
        400);
    assert_non_null(strstr(why.text, "nested deeper than 8"));
    request_args_end(&args);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusals_name_the_wrong_field),
        cmocka_unit_test(answers_are_parsed_as_sent),
        cmocka_unit_test(at_most_a_hundred_answers_are_accepted),
        cmocka_unit_test(very_deep_nesting_is_refused),
        cmocka_unit_test(settings_may_be_numbers_and_booleans),
        cmocka_unit_test(queries_have_defaults_and_bounds),
        cmocka_unit_test(a_path_has_one_number_and_nothing_else),
        cmocka_unit_test(the_port_is_removed_from_a_host),
        cmocka_unit_test(parsed_strings_outlive_the_json),
        cmocka_unit_test(bodies_have_limited_values_and_depth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
