/* SPDX-License-Identifier: Apache-2.0
 *
 * Sessions: found only by their id, for one person each, limited in number.
 */
#include "support.h"

#include <stdio.h>

#include "serve/session.h"

static void a_session_is_found_by_its_id_alone(void **state) {
    (void)state;
    sessions *all = sessions_create();
    session one, two, found;
    assert_true(session_begin(all, true, 0, &one));
    assert_true(session_begin(all, false, 0, &two));
    assert_string_not_equal(one.id, two.id);
    assert_string_not_equal(one.id, one.csrf);
    assert_int_equal(strlen(one.id), 32);
    assert_true(session_find(all, two.id, 5, &found));
    assert_string_equal(found.csrf, two.csrf);
    assert_false(found.trusted || found.known);
    session in, left;
    assert_true(session_enter(all, two.id, 7, "ann", &in));
    assert_false(session_find(all, two.id, 5, &found)); /* others may know it */
    assert_string_not_equal(in.csrf, two.csrf);
    assert_true(session_find(all, in.id, 5, &found));
    assert_string_equal(found.csrf, in.csrf);
    assert_true(found.trusted && found.known);
    assert_int_equal(found.person, 7);
    assert_string_equal(found.name, "ann");
    assert_true(session_leave(all, in.id, false, &left));
    assert_false(session_find(all, in.id, 5, &found));
    assert_false(session_leave(all, in.id, false, &left));
    assert_false(session_enter(all, in.id, 7, "ann", &left));
    assert_true(session_find(all, left.id, 5, &found));
    assert_false(found.trusted || found.known);
    char wrong[SESSION_BYTES];
    snprintf(wrong, sizeof wrong, "%s", one.id);
    wrong[31] = wrong[31] == '0' ? '1' : '0';
    assert_false(session_find(all, wrong, 5, &found));
    assert_false(session_find(all, "", 5, &found));
    assert_false(session_find(all, NULL, 5, &found));
    assert_false(session_find(all, one.csrf, 5, &found));
    sessions_destroy(all);
}

static void an_unused_session_expires(void **state) {
    (void)state;
    const int64_t day = 24 * 3600 * 1000;
    sessions *all = sessions_create();
    session one, found;
    assert_true(session_begin(all, true, 0, &one));
    assert_true(session_find(all, one.id, 6 * day, &found)); /* which counts as use */
    assert_true(session_find(all, one.id, 12 * day, &found));
    assert_false(session_find(all, one.id, 20 * day, &found));
    sessions_destroy(all);
}

static void anonymous_sessions_do_not_evict_signed_in_people(void **state) {
    (void)state;
    sessions *all = sessions_create();
    session ann, found, other;
    assert_true(session_begin(all, true, 0, &ann));
    assert_true(session_enter(all, ann.id, 1, "ann", &ann));
    for (int i = 1; i <= 3 * SESSION_MOST; i++)
        assert_true(session_begin(all, true, i, &other));
    assert_true(session_find(all, ann.id, 5000, &found));
    assert_true(session_find(all, other.id, 5000, &found));
    sessions_destroy(all);
}

typedef struct listed {
    size_t n, busy;
    char names[200];
} listed;

static void list_person(void *user, const char *name, bool busy) {
    listed *h = user;
    h->n++;
    h->busy += busy;
    size_t used = strlen(h->names);
    snprintf(h->names + used, sizeof h->names - used, "%s ", name);
}

static void people_are_listed_once(void **state) {
    (void)state;
    sessions *all = sessions_create();
    session s;
    for (int i = 0; i < 3; i++) { /* three browsers of one person */
        assert_true(session_begin(all, true, i * 50000, &s));
        assert_true(session_enter(all, s.id, 1, "ann", &s));
    }
    assert_true(session_begin(all, true, 0, &s));
    assert_true(session_enter(all, s.id, 2, "bob", &s));
    assert_true(session_begin(all, true, 100000, &s)); /* not signed in */
    listed h = {0};
    sessions_people(all, 110000, 1000000, list_person, &h);
    assert_int_equal(h.n, 2);
    assert_int_equal(h.busy, 1); /* ann */
    h = (listed){0};
    sessions_people(all, 110000, 20000, list_person, &h);
    assert_string_equal(h.names, "ann ");
    sessions_destroy(all);
}

static void secrets_are_compared_whole(void **state) {
    (void)state;
    assert_true(session_same("0123456789abcdef", "0123456789abcdef"));
    assert_false(session_same("0123456789abcdee", "0123456789abcdef"));
    assert_false(session_same("0123456789abcde", "0123456789abcdef"));
    assert_false(session_same("0123456789abcdef0123456789abcdef", "0123456789abcdef"));
    assert_false(session_same("", "0123456789abcdef"));
    assert_false(session_same("a", ""));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_is_found_by_its_id_alone),
        cmocka_unit_test(an_unused_session_expires),
        cmocka_unit_test(anonymous_sessions_do_not_evict_signed_in_people),
        cmocka_unit_test(people_are_listed_once),
        cmocka_unit_test(secrets_are_compared_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
