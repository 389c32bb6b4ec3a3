/* SPDX-License-Identifier: Apache-2.0
 *
 * Connections and the addresses that they come from (clients.c). Times are those of
 * server_now(). Any thread may call these functions.
 */
#ifndef SCANT_SERVE_CLIENTS_H
#define SCANT_SERVE_CLIENTS_H

#include <stdbool.h>
#include <stdint.h>

struct sockaddr;

enum { CLIENTS_MOST = 800 };

typedef struct client client;
typedef struct clients clients;
typedef struct client_address {
    unsigned char bytes[16];
} client_address;

typedef enum client_state {
    CLIENT_ARRIVING, /* its next request is expected */
    CLIENT_HANDLED,  /* its request waits for a thread, or gets events */
    CLIENT_SENDING   /* the reply is being sent */
} client_state;

clients *clients_create(void); /* NULL: no memory */
void clients_destroy(clients *all);
client_address client_address_of(const struct sockaddr *from);
/* Whether another connection may be accepted; may close one to make room. */
bool clients_admit(clients *all, client_address from, int64_t now);
client *client_begin(clients *all, int socket, client_address from, int64_t now);
void client_end(clients *all, client *c);
/* c may be NULL: its connection has no limits, for want of memory. */
void client_set(clients *all, client *c, client_state state, int64_t now);
/* A request on it came from somebody who may use the project. */
void client_known(clients *all, client *c, int64_t now);
client_address client_from(const client *c);
/* Closes connections that are too slow. */
void clients_tick(clients *all, int64_t now);

/* Milliseconds until a token of this address is compared; 0: now. The first ten wrong
 * ones are free, later ones cost two seconds each. */
int64_t client_guess_wait(clients *all, client_address from, int64_t now);
void client_guessed(clients *all, client_address from, int64_t now); /* wrongly */

#endif
