/* SPDX-License-Identifier: Apache-2.0
 *
 * A project over HTTP: the labelling page and the JSON interface behind it
 * (web/openapi.json). Thin: parse, call the library, serialise.
 */
#ifndef SCANT_SERVE_SERVE_H
#define SCANT_SERVE_SERVE_H

#include <stdbool.h>

#include "scant/scant.h"

typedef struct serve_opts {
    const char *dir;   /* of the project */
    const char *host;  /* an address to listen at; NULL: 127.0.0.1 */
    unsigned port;     /* 0: any that is free */
    const char *token; /* a password; required unless host is a loopback address */
    unsigned threads;  /* of training; 0: all cores but one */
    size_t memory;     /* cap of training, in bytes; 0: the library's default */
    bool no_training;  /* train and pick only on request */
    void *user;
    /* Called once it listens, with "http://127.0.0.1:8080/". */
    void (*ready)(void *user, const char *address);
    void (*log)(void *user, scant_log_level level, const char *text); /* any thread */
    int (*stop)(void *user); /* polled about ten times a second: non-zero ends it */
} serve_opts;

/* Serves until stop() says so. On failure message (size bytes) says why. */
scant_status serve_run(const serve_opts *opts, char *message, size_t size);

#endif
