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
    REQUEST_MOST_ONCE = 64,   /* maximum length in bytes; the next four, too */
    REQUEST_MOST_NAME = 100,  /* a person's name */
    REQUEST_MOST_CLASS = 200, /* a class name */
    REQUEST_MOST_TOKEN = 1000,
    REQUEST_MOST_PAGE = 32,
    REQUEST_MOST_SETTINGS = 64,
    REQUEST_MOST_VALUES = 4096, /* values and keys of a body */
    REQUEST_MOST_DEPTH = 8      /* of a body */
};

/* The input; borrowed. */
typedef struct request_in {
    const char *body; /* size bytes, without a terminating zero */
    size_t size;
    /* Returns a value of the query, or NULL. */
    const char *(*query)(void *user, const char *name);
    void *user;
} request_in;

/* The parsed request; the parsers below say which fields they set. Strings are valid as
 * long as the args. */
typedef struct request_args {
    void *root;    /* the JSON body; strings point into it, if not into text */
    char *text;    /* storage of the strings */
    size_t number; /* the number in the path */
    size_t item, count, before, entry;
    const char *name, *token, *once, *format, *page;
    scant_answer *answers;
    size_t n_answers;
    uint64_t *keys; /* keys of leases, without malformed ones */
    size_t n_keys;
    scant_setting *settings;
    char *values; /* storage of settings that were numbers or booleans */
    size_t n_settings;
} request_args;

typedef struct request_why {
    char text[200]; /* an error message */
} request_why;

/* Returns 0, or the HTTP status of an error and sets why. Call request_args_end() in both
 * cases. */
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
request_parser request_image;    /* count: the longest side */
request_parser request_class;    /* name */
request_parser request_map;      /* count: the maximum number of points */
request_parser request_settings; /* settings */
request_parser request_export;   /* format */

/* Calls the parser, then copies the strings and frees the parsed JSON, which needs far
 * more memory. */
int request_parse(request_parser *parser, const request_in *in, request_args *args,
                  request_why *why);
void request_args_end(request_args *args);

/* Whether path matches pattern, where # is a number without leading zeros. */
bool request_path(const char *pattern, const char *path, size_t *number);
/* Reads 16 hexadecimal digits, not all zero. */
bool request_key64(const char *text, uint64_t *out);
/* Gets the host of a Host header without its port: "::1" of "[::1]:8080". False:
 * malformed or too long. */
bool request_host(const char *header, char *host, size_t size);

#endif
