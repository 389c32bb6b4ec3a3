/* SPDX-License-Identifier: Apache-2.0
 *
 * Connections: slow ones make room for others, and wrong tokens cost time.
 */
#include "support.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "serve/clients.h"

static client_address of(const char *text) {
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
        return client_address_of((struct sockaddr *)&v4);
    assert_int_equal(inet_pton(AF_INET6, text, &v6.sin6_addr), 1);
    return client_address_of((struct sockaddr *)&v6);
}

static bool same(const char *a, const char *b) {
    client_address x = of(a), y = of(b);
    return memcmp(&x, &y, sizeof x) == 0;
}

static void an_address_of_ipv6_is_its_network(void **state) {
    (void)state;
    assert_true(same("10.0.0.1", "::ffff:10.0.0.1"));
    assert_false(same("10.0.0.1", "10.0.0.2"));
    assert_true(same("2001:db8::1", "2001:db8::2:3"));
    assert_false(same("2001:db8:0:1::1", "2001:db8:0:2::1"));
}

/* Shutting down a descriptor that is not a socket does nothing. */
static client *connect_from(clients *all, const char *from, int64_t now) {
    if (!clients_admit(all, of(from), now)) return NULL;
    return client_begin(all, -1, of(from), now);
}

static void waiting_connections_of_one_address_make_room_for_each_other(void **state) {
    client *list[300];
    size_t n = 0;
    (void)state;
    clients *all = clients_create();
    while (n < 300 && (list[n] = connect_from(all, "10.0.0.1", 0))) n++;
    assert_true(n > 100 && n < 300);
    client *other = connect_from(all, "10.0.0.2", 0);
    assert_non_null(other);
    assert_null(connect_from(all, "10.0.0.1", 900)); /* all have just begun */
    client *late = connect_from(all, "10.0.0.1", 2000);
    assert_non_null(late); /* in the place of the first */
    client_end(all, list[0]);
    client_set(all, list[1], CLIENT_HANDLED, 2000); /* no longer waits */
    client *more = connect_from(all, "10.0.0.1", 2001);
    assert_non_null(more);
    for (size_t i = 1; i < n; i++) client_end(all, list[i]);
    client_end(all, late);
    client_end(all, more);
    client_end(all, other);
    clients_destroy(all);
}

static void places_are_kept_for_addresses_of_known_people(void **state) {
    client *list[CLIENTS_MOST + 1];
    size_t n = 0;
    char from[20];
    (void)state;
    clients *all = clients_create();
    client *ann = connect_from(all, "10.0.0.1", 0);
    client_known(all, ann, 0);
    do snprintf(from, sizeof from, "10.1.%zu.1", n / 50);
    while ((list[n] = connect_from(all, from, 100)) && ++n < CLIENTS_MOST);
    assert_true(n >= 300 && n < CLIENTS_MOST - 100);
    client *again = connect_from(all, "10.0.0.1", 100);
    assert_non_null(again);
    assert_null(connect_from(all, "10.2.0.1", 100));
    client *later = connect_from(all, "10.2.0.1", 1200); /* the others were slow */
    assert_non_null(later);
    for (size_t i = 0; i < n; i++) client_end(all, list[i]);
    client_end(all, ann);
    client_end(all, again);
    client_end(all, later);
    clients_destroy(all);
}

static void people_who_do_not_read_make_room_when_all_places_are_taken(void **state) {
    client *list[CLIENTS_MOST + 1];
    size_t n = 0;
    (void)state;
    clients *all = clients_create();
    while (n < CLIENTS_MOST && (list[n] = connect_from(all, "10.0.0.1", 0))) {
        client_known(all, list[n], 0);
        client_set(all, list[n++], CLIENT_SENDING, 0);
    }
    assert_true(n > 300);
    assert_null(connect_from(all, "10.0.0.2", 10000));
    client *later = connect_from(all, "10.0.0.2", 16000);
    assert_non_null(later);
    for (size_t i = 0; i < n; i++) client_end(all, list[i]);
    client_end(all, later);
    clients_destroy(all);
}

static void wrong_tokens_cost_time_of_their_address(void **state) {
    client_address eve = of("10.0.0.1"), ann = of("10.0.0.2");
    size_t guesses = 0;
    char from[20];
    (void)state;
    clients *all = clients_create();
    for (int64_t now = 1000; now < 101000; now += 10) {
        if (client_guess_wait(all, eve, now) > 0) continue;
        client_guessed(all, eve, now);
        guesses++;
    }
    assert_true(guesses >= 58 && guesses <= 61); /* 10, and one every two seconds */
    assert_int_equal(client_guess_wait(all, ann, 101000), 0);
    assert_in_range(client_guess_wait(all, eve, 101000), 0, 2000);
    assert_int_equal(client_guess_wait(all, eve, 200000), 0);
    /* the table of addresses is bounded, and the last ones are in it */
    for (int i = 0; i < 3000; i++) {
        snprintf(from, sizeof from, "10.%d.%d.1", 1 + i / 200, i % 200);
        for (int k = 0; k < 10; k++) client_guessed(all, of(from), 300000 + i);
    }
    assert_true(client_guess_wait(all, of(from), 303000) > 0);
    clients_destroy(all);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_of_ipv6_is_its_network),
        cmocka_unit_test(waiting_connections_of_one_address_make_room_for_each_other),
        cmocka_unit_test(places_are_kept_for_addresses_of_known_people),
        cmocka_unit_test(people_who_do_not_read_make_room_when_all_places_are_taken),
        cmocka_unit_test(wrong_tokens_cost_time_of_their_address),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
