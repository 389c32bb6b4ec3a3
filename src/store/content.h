/* SPDX-License-Identifier: Apache-2.0
 *
 * The content of items, to find copies; and items about to be added to a project.
 */
#ifndef SCANT_STORE_CONTENT_H
#define SCANT_STORE_CONTENT_H

#include "scant/project.h"
#include "store/store_int.h"

/* ---- content.c ---- */

typedef struct store_content {
    scant_ctx *ctx;
    store_kind kind;
    char *path;         /* of the source; ours */
    scant_array *array; /* of features */
    scant_data *data;   /* of an array of images */
    size_t rows, width; /* 0 for files */
    float *row;         /* room for two rows */
} store_content;

/* All zero: closed. */
scant_status store_content_open(scant_ctx *ctx, store_kind kind, const char *path,
                                store_content *out);
void store_content_close(store_content *content);
/* A 63-bit hash of an item. path: of a file, below the source; row: of an array. text may
 * be NULL. */
scant_status store_content_print(store_content *content, size_t row, const char *path,
                                 const char *text, int64_t *print);
/* Whether two items are the same, byte for byte. */
scant_status store_content_same(store_content *a, size_t row_a, const char *path_a,
                                store_content *b, size_t row_b, const char *path_b,
                                bool *same);

/* ---- batch.c ---- */

/* A new item. Strings are indices into the batch's strings; SIZE_MAX: none. */
typedef struct store_new {
    size_t id, path, text, group, label;
    size_t row;  /* SIZE_MAX: none */
    size_t line; /* of the manifest; 0: none */
    int64_t print;
} store_new;

typedef struct store_batch {
    scant_ctx *ctx;
    store_content content;
    char *manifest; /* absolute; NULL: none */
    scant__names strings;
    store_new *items;
    size_t n, room;
    bool texts; /* some items have a text */
} store_batch;

/* Lists the items of source, without hashes. Items that project (may be NULL) already has
 * from the same folder or array are left out. */
scant_status store_batch_read(scant_ctx *ctx, scant_project *project,
                              const scant_source *source, store_batch *out);
/* The images of a folder that are not in the project. */
scant_status store_batch_folder(scant_project *project, const char *folder,
                                store_batch *out);
/* Hashes all items: this reads every file. */
scant_status store_batch_look(store_batch *batch);
const char *store_batch_string(const store_batch *batch, size_t place); /* or NULL */
void store_batch_end(store_batch *batch);

/* ---- add.c: within store_write() ---- */

/* new_classes: an unknown label becomes a new class. */
scant_status store_batch_put(scant_project *project, store_batch *batch,
                             bool new_classes);

#endif
