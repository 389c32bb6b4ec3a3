/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of routes, and that web/openapi.json agrees with it.
 */
#include "support.h"

#include <jansson.h>
#include <stdio.h>

#include "serve/assets.h"
#include "serve/server.h"

static json_t *load_openapi(void) {
    for (size_t i = 0; i < serve_n_assets; i++)
        if (strcmp(serve_assets[i].name, "openapi.json") == 0)
            return json_loadb((const char *)serve_assets[i].bytes, serve_assets[i].size,
                              0, NULL);
    return NULL;
}

/* "/api/items/#/why" becomes "/api/items/{number}/why". */
static void openapi_path(const char *pattern, char *path, size_t size) {
    const char *hash = strchr(pattern, '#');
    if (hash)
        snprintf(path, size, "%.*s{number}%s", (int)(hash - pattern), pattern, hash + 1);
    else
        snprintf(path, size, "%s", pattern);
}

static void every_route_is_described_and_no_other(void **state) {
    (void)state;
    json_t *root = load_openapi(), *paths = json_object_get(root, "paths"), *methods;
    const char *path;
    size_t described = 0;
    assert_non_null(paths);
    json_object_foreach(paths, path, methods) described += json_object_size(methods);
    assert_int_equal(described, n_routes);
    for (size_t i = 0; i < n_routes; i++) {
        char name[100], method[8] = "";
        openapi_path(routes[i].path, name, sizeof name);
        for (size_t j = 0; routes[i].method[j]; j++)
            method[j] = (char)(routes[i].method[j] + 32);
        json_t *one = json_object_get(json_object_get(paths, name), method);
        if (!one) fail_msg("%s %s is not in openapi.json", routes[i].method, name);
        assert_true(json_is_string(json_object_get(one, "summary")));
        assert_true(!!json_object_get(one, "requestBody") == (routes[i].body > 0));
        assert_true(json_object_size(json_object_get(one, "responses")) > 1);
    }
    json_decref(root);
}

/* Every "$ref" resolves. */
static void check_references(json_t *root, json_t *value) {
    const char *key;
    json_t *member;
    size_t i;
    json_array_foreach(value, i, member) check_references(root, member);
    json_object_foreach(value, key, member) {
        if (strcmp(key, "$ref") == 0) {
            char name[100];
            snprintf(name, sizeof name, "%s", json_string_value(member));
            json_t *at = root;
            for (char *part = strtok(name + 2, "/"); part; part = strtok(NULL, "/"))
                at = json_object_get(at, part);
            if (!at) fail_msg("%s does not resolve", json_string_value(member));
        }
        check_references(root, member);
    }
}

static void references_resolve(void **state) {
    (void)state;
    json_t *root = load_openapi();
    check_references(root, root);
    json_decref(root);
}

static void a_post_has_a_body_and_a_get_has_none(void **state) {
    (void)state;
    for (size_t i = 0; i < n_routes; i++) {
        bool post = strcmp(routes[i].method, "POST") == 0;
        assert_true(post || strcmp(routes[i].method, "GET") == 0);
        assert_true(post == (routes[i].body > 0));
        assert_true(routes[i].parse && routes[i].handler);
    }
}

static void find_returns_the_route_or_the_allowed_methods(void **state) {
    (void)state;
    size_t number = 0;
    char allow[40];
    const route *found = route_find("GET", "/api/items/31/why", &number, allow, 40);
    assert_ptr_equal(found->handler, api_why);
    assert_int_equal(number, 31);
    assert_ptr_equal(route_find("POST", "/api/session", &number, allow, 40)->handler,
                     api_session_post);
    assert_null(route_find("DELETE", "/api/session", &number, allow, 40));
    assert_string_equal(allow, "GET, POST");
    assert_null(route_find("POST", "/api/items/31/why", &number, allow, 40));
    assert_string_equal(allow, "GET");
    assert_null(route_find("GET", "/api/nothing", &number, allow, 40));
    assert_string_equal(allow, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_route_is_described_and_no_other),
        cmocka_unit_test(references_resolve),
        cmocka_unit_test(a_post_has_a_body_and_a_get_has_none),
        cmocka_unit_test(find_returns_the_route_or_the_allowed_methods),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
