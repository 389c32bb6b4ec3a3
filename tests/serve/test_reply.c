/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages of the library as they are shown on pages.
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_name_files_without_their_folders),
        cmocka_unit_test(a_message_is_cut_to_the_buffer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
