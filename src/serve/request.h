/* SPDX-License-Identifier: Apache-2.0
 *
 * Parses requests: JSON bodies, values of the query, the number in a path. Independent of
 * connections and projects, so that it can be tested and fuzzed as plain functions.
 */
#ifndef SCANT_SERVE_REQUEST_H
#define SCANT_SERVE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scant/project.h"

enum {
    REQUEST_MOST_ANSWERS = 100,
    REQUEST_MOST_NEXT = 50,
    REQUEST_MOST_LEASES = 1000,
    REQUEST_MOST_MINE = 200,
    REQUEST_MOST_MAP = 50000,
    REQUEST_MOST_ONCE = 64,   /* bytes; also below */
    REQUEST_MOST_NAME = 100,  /* of a person */
    REQUEST_MOST_CLASS = 200, /* of a class's name */
    REQUEST_MOST_TOKEN = 1000,
    REQUEST_MOST_PAGE = 32,
    REQUEST_MOST_SETTINGS = 64
};

/* The input; borrowed. */
typedef struct request_in {
    const char *body; /* of size bytes, not ended by a zero */
    size_t size;
    /* A value of the query, or NULL. */
    const char *(*query)(void *user, const char *name);
    void *user;
} request_in;

/* The parsed request; the parsers below say which fields they set. Strings are valid as
 * long as the args. */
typedef struct request_args {
    void *root;    /* the JSON body, which strings point into */
    size_t number; /* of the path */
    size_t item, count;
    int64_t before, entry;
    const char *name, *token, *once, *format, *page;
    scant_answer *answers;
    size_t n_answers;
    uint64_t *keys; /* of leases, without malformed ones */
    size_t n_keys;
    scant_setting *settings;
    char *values; /* settings that were numbers point into it */
    size_t n_settings;
} request_args;

typedef struct request_why {
    char text[200]; /* an error message */
} request_why;

/* Returns 0, or the HTTP status of an error, with why. Call request_args_end() in any
 * case. */
typedef int request_parser(const request_in *in, request_args *args, request_why *why);

request_parser request_none;     /* no body, and no query */
request_parser request_empty;    /* {} */
request_parser request_session;  /* name, token or NULL */
request_parser request_next;     /* count, page or NULL */
request_parser request_alike;    /* item, count, page or NULL */
request_parser request_answers;  /* answers */
request_parser request_undo;     /* once, entry or 0, page or NULL */
request_parser request_leases;   /* keys */
request_parser request_mine;     /* count, before or 0 */
request_parser request_picture;  /* count: the longest side */
request_parser request_class;    /* name */
request_parser request_map;      /* count: the most points */
request_parser request_settings; /* settings */
request_parser request_export;   /* format */

void request_args_end(request_args *args);

const char *request_kind(scant_answer_kind kind); /* "label", ...; NULL: unknown */

/* Whether a path matches the pattern; # is a number without leading zeros. */
bool request_path(const char *pattern, const char *path, size_t *number);
/* 16 hexadecimal digits, not all zero. */
bool request_key64(const char *text, uint64_t *out);
/* The host of a Host header without its port: "[::1]:8080" is "::1". False if it is
 * malformed or too long. */
bool request_host(const char *header, char *host, size_t size);

#endif
