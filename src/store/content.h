/* SPDX-License-Identifier: Apache-2.0
 *
 * What items are made of, for the one question whether two are the same to the byte; and
 * items that are about to come into a project.
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
    scant_data *data;   /* of an array of pictures */
    size_t rows, width; /* 0 of files */
    float *row;         /* room for two of them */
} store_content;

/* Zero is closed. */
scant_status store_content_open(scant_ctx *ctx, store_kind kind, const char *path,
                                store_content *out);
void store_content_close(store_content *content);
/* A number of 63 bits that equal items share and others hardly do. path: of a file, below
 * the source; row: of the others. text may be NULL. */
scant_status store_content_print(store_content *content, size_t row, const char *path,
                                 const char *text, int64_t *print);
/* Whether two are the same, byte for byte. */
scant_status store_content_same(store_content *a, size_t row_a, const char *path_a,
                                store_content *b, size_t row_b, const char *path_b,
                                bool *same);

/* ---- batch.c ---- */

/* An item to come. Strings are places in the batch's; SIZE_MAX: none. */
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
    bool texts; /* some have one */
} store_batch;

/* Reads what source names, without the prints. project: whose items are there already,
 * and left out where a folder (or an array) is looked through again; NULL: none are. */
scant_status store_batch_read(scant_ctx *ctx, scant_project *project,
                              const scant_source *source, store_batch *out);
/* The pictures of a folder that are not in the project. */
scant_status store_batch_folder(scant_project *project, const char *folder,
                                store_batch *out);
/* Looks at all of them: this reads every item. */
scant_status store_batch_look(store_batch *batch);
const char *store_batch_string(const store_batch *batch, size_t place); /* or NULL */
void store_batch_end(store_batch *batch);

/* ---- add.c: within store_write() ---- */

/* new_classes: a label that is no class becomes one. */
scant_status store_batch_put(scant_project *project, store_batch *batch,
                             bool new_classes);

#endif
