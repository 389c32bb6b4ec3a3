/* SPDX-License-Identifier: Apache-2.0
 *
 * A project over HTTP: the labelling page and the JSON interface behind it
 * (web/openapi.json). Thin: parse, call the library, serialise.
 */
#ifndef SCANT_SERVE_SERVE_H
#define SCANT_SERVE_SERVE_H

#include <stdbool.h>

#include "scant/scant.h"

enum { SERVE_LOG_ERROR = SCANT_LOG_WARNING + 1 }; /* beside scant_log_level */

typedef struct serve_opts {
    const char *dir;   /* the project's folder */
    const char *host;  /* address to listen at; NULL: 127.0.0.1 */
    unsigned port;     /* 0: any free port */
    const char *token; /* password; required unless host is a loopback address */
    unsigned threads;  /* number of training threads; 0: all cores but one */
    size_t memory;     /* memory cap of training, in bytes; 0: the library's default */
    bool no_training;  /* train and pick only on request */
    void *user;
    /* Called when the server listens, with "http://127.0.0.1:8080/". */
    void (*ready)(void *user, const char *address);
    void (*log)(void *user, int level, const char *text); /* any thread */
    int (*stop)(void *user); /* polled about twenty times a second; non-zero: end */
} serve_opts;

/* Serves until stop() returns non-zero. On failure writes an error to message. */
scant_status serve_run(const serve_opts *opts, char *message, size_t size);

#endif
