/* SPDX-License-Identifier: Apache-2.0
 *
 * Errors of the library as replies: their messages and HTTP statuses.
 */
#include "support.h"

#include <stdio.h>

#include "serve/server.h"

static void assert_public(const char *text, const char *expected) {
    static server s; /* too large for the stack */
    char out_text[200];
    snprintf(s.dir, sizeof s.dir, "/home/ann b/birds");
    public_text(&s, text, out_text, sizeof out_text);
    assert_string_equal(out_text, expected);
}

static void messages_name_files_without_their_folders(void **state) {
    (void)state;
    assert_public("", "");
    assert_public("there are 1/2 of them, or 3 / 4", "there are 1/2 of them, or 3 / 4");
    assert_public("/home/ann b/birds/project.db: the disk is full",
                  "project.db: the disk is full");
    assert_public("/home/ann b/birds: a model needs labels",
                  "birds: a model needs labels");
    assert_public("'/srv/pictures/a.png' (/srv/x/y): cannot be read",
                  "'a.png' (y): cannot be read");
    assert_public("cannot be moved to /", "cannot be moved to /");
}

static void a_message_is_cut_to_the_buffer(void **state) {
    (void)state;
    static server s;
    char small[5];
    public_text(&s, "/a/bcdefgh", small, sizeof small);
    assert_string_equal(small, "bcde");
    public_text(&s, "", small, 1);
    assert_string_equal(small, "");
}

static scant_status given; /* returned by fail_as_given() */

static scant_status fail_as_given(project_handle *h, request *r, scant__json *o) {
    (void)h, (void)r, (void)o;
    return given;
}

static int code_of(scant_status status, unsigned flags) {
    static const serve_opts opts;
    static server s;
    s.opts = &opts;
    project_handle h = {.server = &s, .ctx = ctx_threads(1)};
    const route failing = {.flags = flags, .handler = fail_as_given};
    request r = {.route = &failing};
    given = status;
    reply_to(&h, &r);
    assert_true(r.replied);
    free(r.reply.bytes);
    scant_ctx_free(h.ctx);
    return r.reply.status;
}

/* web/openapi.json lists the statuses of each route. */
static void the_http_status_follows_from_the_error_and_the_route(void **state) {
    static const struct {
        scant_status status;
        int item, value, other;
    } rows[] = {
        {SCANT_ENOTFOUND, 404, 422, 409},  {SCANT_EINPUT, 404, 503, 422},
        {SCANT_EUSAGE, 409, 422, 409},     {SCANT_ECONFLICT, 409, 422, 409},
        {SCANT_ENOTREADY, 409, 409, 409},  {SCANT_ENOMEM, 503, 503, 503},
        {SCANT_ECANCELLED, 503, 503, 503}, {SCANT_EIO, 507, 507, 507},
        {SCANT_EINTERNAL, 500, 500, 500},  {(scant_status)99, 500, 500, 500},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(code_of(rows[i].status, ITEM_404), rows[i].item);
        assert_int_equal(code_of(rows[i].status, NEEDS_PERSON | VALUE_422),
                         rows[i].value);
        assert_int_equal(code_of(rows[i].status, NEEDS_PERSON), rows[i].other);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_name_files_without_their_folders),
        cmocka_unit_test(a_message_is_cut_to_the_buffer),
        cmocka_unit_test(the_http_status_follows_from_the_error_and_the_route),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
