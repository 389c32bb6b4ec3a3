/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads JSON into a tree of bounded size. jansson needs up to a hundred times the memory
 * of the text ("{},{},{},..."), and takes it from malloc(). So the text is scanned first,
 * which needs no memory: the scan checks limits and finds an upper bound of the memory
 * that the tree needs, which counts against the context's cap as long as the tree lives.
 */
#ifndef SCANT_CORE_JSON_READ_H
#define SCANT_CORE_JSON_READ_H

#include <jansson.h>

#include "core/mem.h"

enum { SCANT__JSON_DEPTH = 1000 }; /* containers inside each other: the usual limit */

typedef struct scant__json_limits {
    size_t values; /* maximum number of values and keys; 0: any */
    size_t depth;  /* maximum depth, at most SCANT__JSON_DEPTH; 0: that */
} scant__json_limits;

typedef struct scant__json_tree {
    json_t *root;       /* NULL: nothing is read */
    json_error_t error; /* line, column and text of an error; position: bytes read */
    scant_ctx *ctx;
    size_t charged;
} scant__json_tree;

/* Reads one value; flags are those of json_loadb(). limits may be NULL. On failure root
 * is NULL, error is set, and the context's message is not: SCANT_EINPUT: not JSON, or
 * beyond the limits; SCANT_ENOMEM: no memory, or more than the cap allows. ctx may be
 * NULL: then only the limits hold. */
scant_status scant__json_read(scant_ctx *ctx, const char *text, size_t size, size_t flags,
                              const scant__json_limits *limits, scant__json_tree *out);
void scant__json_tree_end(scant__json_tree *tree); /* the tree can be used again */

/* For tests: an upper bound of the bytes that jansson allocates for the first value in
 * the text, up to its first error, if it is not nested deeper than SCANT__JSON_DEPTH. */
size_t scant__json_cost(const char *text, size_t size);

#endif
