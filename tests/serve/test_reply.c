/* SPDX-License-Identifier: Apache-2.0
 *
 * What the library says, as it goes to pages.
 */
#include "support.h"

#include <stdio.h>

#include "serve/server.h"

static void told(const char *text, const char *expected) {
    static server s; /* it is large */
    char out_text[200];
    snprintf(s.dir, sizeof s.dir, "/home/ann b/birds");
    public_text(&s, text, out_text, sizeof out_text);
    assert_string_equal(out_text, expected);
}

static void pages_learn_of_files_but_not_where_they_are(void **state) {
    (void)state;
    told("", "");
    told("there are 1/2 of them, or 3 / 4", "there are 1/2 of them, or 3 / 4");
    told("/home/ann b/birds/project.db: the disk is full",
         "project.db: the disk is full");
    told("/home/ann b/birds: a model needs labels", "birds: a model needs labels");
    told("'/srv/pictures/a.png' (/srv/x/y): cannot be read",
         "'a.png' (y): cannot be read");
    told("cannot be moved to /", "cannot be moved to /");
}

static void a_sentence_is_cut_where_there_is_no_room(void **state) {
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
        cmocka_unit_test(pages_learn_of_files_but_not_where_they_are),
        cmocka_unit_test(a_sentence_is_cut_where_there_is_no_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
