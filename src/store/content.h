/* SPDX-License-Identifier: Apache-2.0
 *
 * Hashes and comparison of items' content, to find copies; items about to be added.
 */
#ifndef SCANT_STORE_CONTENT_H
#define SCANT_STORE_CONTENT_H

#include <sys/types.h>

#include "scant/project.h"
#include "store/store_int.h"

/* ---- content.c ---- */

typedef struct store_content {
    scant_ctx *ctx;
    store_kind kind;
    char *path;         /* the source's; owned */
    scant_array *array; /* features; else NULL */
    scant_data *data;   /* images in an array; else NULL */
    /* The array whose numbers are compared as they are stored; NULL for files and for
     * images of bytes. Rows that are equal only as float32 are not copies. */
    const scant_array *numbers;
    size_t rows, width; /* of the array; 0 for files */
    char shape[64];     /* "float32, 200 x 8"; "" for files */
    double *row;        /* buffer of two rows */
    float *floats;      /* buffer of one row */
} store_content;

/* A zeroed store_content is closed. On failure *out is closed. */
scant_status store_content_open(scant_ctx *ctx, store_kind kind, const char *path,
                                store_content *out);
void store_content_close(store_content *content);
/* A 63-bit hash of an item's content: of its text, which may be NULL, and of the file at
 * path (absolute or below the source) or the row of the array. */
scant_status store_content_hash(store_content *content, size_t row, const char *path,
                                const char *text, int64_t *out);
/* Whether the images or rows of two items are equal: files byte for byte, rows number for
 * number. */
scant_status store_content_same(store_content *a, size_t row_a, const char *path_a,
                                store_content *b, size_t row_b, const char *path_b,
                                bool *same);

/* Reads up to size bytes at offset `at`; returns their number, or -1 and sets errno. */
ssize_t store_read_at(int fd, unsigned char *out, size_t size, size_t at);

/* ---- fingerprint.c ---- */

/* What tells quickly whether the file of an array (or the files of its folder) was
 * changed. size -1: a folder of images, built-in data, or there is no such file. */
typedef struct store_fingerprint {
    int64_t size, time, hash; /* bytes; of modification, in ns; of samples of the bytes */
} store_fingerprint;
scant_status store_fingerprint_take(scant_ctx *ctx, store_kind kind, const char *path,
                                    store_fingerprint *out);

/* ---- batch.c ---- */

/* A new item. Strings are indices into the batch's strings; SIZE_MAX: none. */
typedef struct store_new {
    size_t id, path, text, group, label;
    size_t row;  /* SIZE_MAX: none */
    size_t line; /* line of the manifest; 0: none */
    int64_t hash;
} store_new;

typedef struct store_batch {
    scant_ctx *ctx;
    store_fingerprint print; /* of the source, from before it was read */
    store_content content;
    scant__arena arena;
    const char *manifest; /* absolute, in the arena; NULL: none */
    scant__names strings;
    store_new *items;
    size_t n, room;
    bool texts; /* some items have a text */
} store_batch;

/* Lists the items of source, without hashes. Without a manifest, leaves out items that
 * project (may be NULL) already has from the same folder or array. */
scant_status store_batch_read(scant_ctx *ctx, scant_project *project,
                              const scant_source *source, store_batch *out);
/* Lists the images of a folder that are not in the project, without hashes. */
scant_status store_batch_folder(scant_project *project, const char *folder,
                                store_batch *out);
/* Hashes all items, which reads every file. */
scant_status store_batch_hash(store_batch *batch);
const char *store_batch_string(const store_batch *batch, size_t place); /* or NULL */
void store_batch_end(store_batch *batch);

/* ---- add.c: within a transaction ---- */

/* Stores a batch. Unknown labels become new classes if new_classes is set; if it is not,
 * they are SCANT_EINPUT. */
scant_status store_batch_put(scant_project *project, store_batch *batch,
                             bool new_classes);

#endif
