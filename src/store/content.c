/* SPDX-License-Identifier: Apache-2.0
 *
 * Compares the content of items: files byte for byte, rows number for number.
 *
 * An item's hash covers its text and its row of numbers, or its text and its file's size,
 * first and last PIECE bytes: large images are not read whole. Items with equal hashes
 * are compared in full.
 */
#include "store/content.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/hash.h"
#include "data/dataset_int.h"
#include "data/file.h"
#include "scant/train.h"

enum { PIECE = 32 << 10 };

/* ---- sources ----------------------------------------------------------------------- */

static scant_status open_features(store_content *c) {
    TRY(scant_array_open(c->ctx, c->path, &c->array));
    const size_t *shape = scant_array_shape(c->array);
    if (scant_array_ndim(c->array) != 2 || !shape[1])
        return scant__fail(c->ctx, SCANT_EINPUT,
                           "%s: has %zu dimensions; features are n x d", c->path,
                           scant_array_ndim(c->array));
    c->numbers = c->array;
    c->rows = shape[0];
    c->width = shape[1];
    snprintf(c->shape, sizeof c->shape, "%s, %zu x %zu",
             scant__dtype_name(c->array->dtype), c->rows, c->width);
    return SCANT_OK;
}

static scant_status open_array(store_content *c) {
    TRY(scant_data_open(c->ctx, c->path, &(scant_data_opts){.unlabelled = 1}, &c->data));
    if (!scant__data_is_image(c->data))
        return scant__fail(c->ctx, SCANT_EINPUT,
                           "%s: contains feature rows, not images: give it as features",
                           c->path);
    const scant_array *array = c->data->array;
    if (array && !scant__dtype_is_integer(array->dtype)) c->numbers = array;
    c->rows = scant_data_count(c->data);
    c->width = scant__data_width(c->data);
    const size_t *shape = c->data->shape;
    snprintf(c->shape, sizeof c->shape, "%zu images of %zu x %zu x %zu", c->rows,
             shape[0], shape[1], shape[2]);
    return SCANT_OK;
}

static scant_status open_content(store_content *c, const char *path) {
    c->path = store_strdup(c->ctx, path);
    if (!c->path) return SCANT_ENOMEM;
    if (c->kind == STORE_FILES) return SCANT_OK;
    TRY(c->kind == STORE_FEATURES ? open_features(c) : open_array(c));
    c->row = scant__alloc(c->ctx, size_mul(2, c->width), sizeof *c->row);
    c->floats = scant__alloc(c->ctx, c->width, sizeof *c->floats);
    return c->row && c->floats ? SCANT_OK : SCANT_ENOMEM;
}

scant_status store_content_open(scant_ctx *ctx, store_kind kind, const char *path,
                                store_content *out) {
    *out = (store_content){.ctx = ctx, .kind = kind};
    scant_status status = open_content(out, path);
    if (status != SCANT_OK) store_content_close(out);
    return status;
}

void store_content_close(store_content *content) {
    if (!content->ctx) return;
    scant_array_free(content->array);
    scant_data_free(content->data);
    scant__free(content->ctx, content->row);
    scant__free(content->ctx, content->floats);
    scant__free(content->ctx, content->path);
    *content = (store_content){0};
}

/* Reads a row as floats, which checks it. */
static scant_status read_floats(store_content *c, size_t row) {
    scant__fault fault;
    if (c->kind == STORE_FEATURES)
        return scant_array_floats(c->ctx, c->array, row * c->width, c->width, c->floats);
    scant_status status = scant__data_read(c->data, row, c->floats, &fault);
    return status == SCANT_OK ? status : scant__fail(c->ctx, status, "%s", fault.text);
}

static scant_status read_row(store_content *c, size_t row, double *out) {
    TRY(read_floats(c, row));
    if (c->numbers)
        scant__array_read_f64(c->numbers, row * c->width, c->width, out);
    else
        for (size_t i = 0; i < c->width; i++) out[i] = (double)c->floats[i];
    return SCANT_OK;
}

/* ---- files ------------------------------------------------------------------------- */

static scant_status cannot(store_content *c, const char *path, int number) {
    char why[SCANT__ERRNO_TEXT];
    return scant__fail(c->ctx, SCANT_EINPUT, "%s: cannot be read: %s", path,
                       scant__errno_text(number, why));
}

typedef struct open_file {
    int fd; /* 0: none */
    size_t size;
} open_file;

static void file_close(open_file *file) {
    if (file->fd > 0) close(file->fd);
}

/* Opens a file below the source, or an absolute path. */
static scant_status file_open(store_content *c, const char *path, open_file *out) {
    AUTO(scant__arena_end) scant__arena arena = {.ctx = c->ctx};
    struct stat st;
    if (*path != '/') path = scant__arena_format(&arena, "%s/%s", c->path, path);
    if (!path) return SCANT_ENOMEM;
    out->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe must not block */
    if (out->fd < 0 || fstat(out->fd, &st) != 0) return cannot(c, path, errno);
    if (!S_ISREG(st.st_mode))
        return scant__fail(c->ctx, SCANT_EINPUT, "%s: is not a file", path);
    out->size = (size_t)st.st_size;
    return SCANT_OK;
}

ssize_t store_read_at(int fd, unsigned char *out, size_t size, size_t at) {
    size_t got = 0;
    while (got < size) {
        ssize_t n = pread(fd, out + got, size - got, (off_t)(at + got));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return -1;
        if (n == 0) break;
        got += (size_t)n;
    }
    return (ssize_t)got;
}

static scant_status hash_file(store_content *c, const char *path, uint64_t *hash) {
    AUTO(file_close) open_file file = {0};
    unsigned char piece[PIECE];
    TRY(file_open(c, path, &file));
    *hash = scant__hash(*hash, &file.size, sizeof file.size);
    ssize_t n = store_read_at(file.fd, piece, sizeof piece, 0);
    if (n > 0) *hash = scant__hash(*hash, piece, (size_t)n);
    if (n >= 0 && file.size > PIECE) {
        size_t rest = size_min(file.size - PIECE, PIECE);
        n = store_read_at(file.fd, piece, rest, file.size - rest);
        if (n > 0) *hash = scant__hash(*hash, piece, (size_t)n);
    }
    return n < 0 ? cannot(c, path, errno) : SCANT_OK;
}

static bool same_bytes(int a, int b, size_t size) {
    unsigned char x[PIECE], y[PIECE];
    for (size_t at = 0; at < size; at += PIECE) {
        size_t want = size_min(PIECE, size - at);
        if (store_read_at(a, x, want, at) != (ssize_t)want ||
            store_read_at(b, y, want, at) != (ssize_t)want || memcmp(x, y, want) != 0)
            return false;
    }
    return true;
}

static scant_status same_files(store_content *a, const char *path_a, store_content *b,
                               const char *path_b, bool *same) {
    AUTO(file_close) open_file x = {0}, y = {0};
    if (file_open(a, path_a, &x) != SCANT_OK)
        return SCANT_OK; /* the file is gone: not the same */
    TRY(file_open(b, path_b, &y));
    *same = x.size == y.size && same_bytes(x.fd, y.fd, x.size);
    return SCANT_OK;
}

/* ---- hashes ------------------------------------------------------------------------ */

scant_status store_content_hash(store_content *content, size_t row, const char *path,
                                const char *text, int64_t *out) {
    uint64_t hash = SCANT__HASH_FIRST;
    if (text) hash = scant__hash(hash, text, strlen(text) + 1);
    if (content->kind == STORE_FILES) {
        TRY(hash_file(content, path, &hash));
    } else {
        TRY(read_row(content, row, content->row));
        hash = scant__hash(hash, content->row, content->width * sizeof *content->row);
    }
    *out = (int64_t)(hash >> 1);
    return SCANT_OK;
}

scant_status store_content_same(store_content *a, size_t row_a, const char *path_a,
                                store_content *b, size_t row_b, const char *path_b,
                                bool *same) {
    *same = false;
    if (a->kind != b->kind || a->width != b->width) return SCANT_OK;
    if (b->kind == STORE_FILES) {
        if (!path_a || !path_b) return SCANT_OK;
        return same_files(a, path_a, b, path_b, same);
    }
    if (row_a >= a->rows || row_b >= b->rows) return SCANT_OK;
    TRY(read_row(a, row_a, b->row));
    TRY(read_row(b, row_b, b->row + b->width));
    *same = memcmp(b->row, b->row + b->width, b->width * sizeof *b->row) == 0;
    return SCANT_OK;
}
