/* SPDX-License-Identifier: Apache-2.0
 *
 * Sessions: found only by their id, for one person each, limited in number.
 */
#include "support.h"

#include <stdio.h>

#include "serve/session.h"

static void a_session_is_found_by_its_id_alone(void **state) {
    (void)state;
    sessions *all = sessions_create(false), *others = sessions_create(false);
    session one, two, found;
    assert_true(session_begin(all, 0, &one));
    assert_true(session_begin(all, 0, &two));
    assert_string_not_equal(one.id, two.id);
    assert_string_not_equal(one.csrf, two.csrf);
    assert_string_not_equal(one.id, one.csrf);
    assert_int_equal(strlen(one.id), 32);
    assert_true(session_find(all, two.id, 5, &found));
    assert_string_equal(found.csrf, two.csrf);
    assert_false(found.trusted || found.known);
    assert_false(session_find(others, two.id, 5, &found)); /* of another server */
    session in, left;
    assert_true(session_enter(all, two.id, 7, "ann", 5, &in));
    assert_string_not_equal(in.id, two.id); /* others may know it */
    assert_string_not_equal(in.csrf, two.csrf);
    assert_true(session_find(all, two.id, 5, &found));
    assert_false(found.trusted || found.known);
    assert_true(session_find(all, in.id, 5, &found));
    assert_string_equal(found.csrf, in.csrf);
    assert_true(found.trusted && found.known);
    assert_int_equal(found.person, 7);
    assert_string_equal(found.name, "ann");
    assert_true(session_leave(all, in.id, 5, &left));
    assert_false(session_find(all, in.id, 5, &found));
    assert_false(session_leave(all, in.id, 5, &left));
    assert_false(session_enter(all, in.id, 7, "ann", 5, &left));
    assert_true(session_find(all, left.id, 5, &found));
    assert_false(found.trusted || found.known);
    char wrong[SESSION_BYTES];
    for (size_t i = 0; i < 32; i++) {
        snprintf(wrong, sizeof wrong, "%s", one.id);
        wrong[i] = wrong[i] == '0' ? '1' : '0';
        assert_false(session_find(all, wrong, 5, &found));
        assert_false(session_enter(all, wrong, 7, "ann", 5, &found));
    }
    assert_false(session_find(all, "", 5, &found));
    assert_false(session_find(all, NULL, 5, &found));
    assert_false(session_find(all, one.csrf, 5, &found));
    sessions_destroy(all);
    sessions_destroy(others);
}

/* Of a server without a token. */
static session enter(sessions *all, size_t person, const char *name, int64_t now) {
    session s;
    assert_true(session_begin(all, now, &s));
    assert_true(s.trusted && !s.known);
    assert_true(session_enter(all, s.id, person, name, now, &s));
    return s;
}

static void an_unused_session_expires(void **state) {
    (void)state;
    const int64_t day = 24 * 3600 * 1000;
    sessions *all = sessions_create(true);
    session ann = enter(all, 1, "ann", 0), found;
    assert_true(session_find(all, ann.id, 6 * day, &found)); /* which counts as use */
    assert_true(session_find(all, ann.id, 12 * day, &found));
    assert_false(session_find(all, ann.id, 20 * day, &found));
    sessions_destroy(all);
}

static void nobody_ends_the_sessions_of_others(void **state) {
    (void)state;
    sessions *all = sessions_create(true);
    session ann = enter(all, 1, "ann", 0), bob, found, other;
    assert_true(session_begin(all, 0, &bob)); /* bob is about to sign in */
    for (int i = 1; i <= 3 * SESSION_MOST; i++)
        assert_true(session_begin(all, i, &other));
    assert_true(session_find(all, other.id, 5000, &found));
    for (int i = 1; i <= 3 * SESSION_MOST; i++) other = enter(all, 3, "eve", i);
    assert_true(session_find(all, other.id, 5000, &found));
    assert_true(session_find(all, ann.id, 5000, &found));
    assert_true(session_enter(all, bob.id, 2, "bob", 5000, &bob));
    assert_true(session_find(all, bob.id, 5000, &found));
    /* with many people the longest unused one is dropped */
    for (size_t i = 10; i < 10 + SESSION_MOST; i++) enter(all, i, "x", 6000);
    assert_false(session_find(all, bob.id, 6000, &found));
    sessions_destroy(all);
}

/* The vectors of SipHash's authors for the key 00 01 02 ... 0f: of 00 01 ... 07. */
static void the_code_is_siphash(void **state) {
    const uint64_t key[2] = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
    (void)state;
    assert_true(session_code(key, 0x0706050403020100) == 0x93f5f5799a932462);
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
    sessions *all = sessions_create(true);
    session s;
    for (int i = 0; i < 3; i++) enter(all, 1, "ann", i * 50000); /* three browsers */
    enter(all, 2, "bob", 0);
    assert_true(session_begin(all, 100000, &s)); /* not signed in */
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
        cmocka_unit_test(nobody_ends_the_sessions_of_others),
        cmocka_unit_test(the_code_is_siphash),
        cmocka_unit_test(people_are_listed_once),
        cmocka_unit_test(secrets_are_compared_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
