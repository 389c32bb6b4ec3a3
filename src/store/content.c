/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether two items are the same, byte for byte.
 *
 * An item's print is a hash of its numbers, or of its file's size, beginning and end, so
 * that large images are not read whole. Items with the same print are compared.
 */
#include "store/content.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/hash.h"
#include "data/dataset.h"
#include "data/file.h"
#include "data/paths.h"
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
    c->rows = shape[0];
    c->width = shape[1];
    return SCANT_OK;
}

static scant_status open_array(store_content *c) {
    TRY(scant_data_open(c->ctx, c->path, &(scant_data_opts){.unlabelled = 1}, &c->data));
    if (!scant__data_is_image(c->data))
        return scant__fail(c->ctx, SCANT_EINPUT,
                           "%s: contains feature rows, not images: give it as features",
                           c->path);
    c->rows = scant_data_count(c->data);
    c->width = scant__data_width(c->data);
    return SCANT_OK;
}

scant_status store_content_open(scant_ctx *ctx, store_kind kind, const char *path,
                                store_content *out) {
    scant_status status = SCANT_OK;
    *out = (store_content){.ctx = ctx, .kind = kind};
    out->path = store_strdup(ctx, path);
    if (!out->path) return SCANT_ENOMEM;
    if (kind == STORE_FEATURES) status = open_features(out);
    if (kind == STORE_ARRAY) status = open_array(out);
    if (status == SCANT_OK && kind != STORE_FILES) {
        out->row = scant__alloc(ctx, size_mul(2, out->width), sizeof *out->row);
        if (!out->row) status = SCANT_ENOMEM;
    }
    if (status != SCANT_OK) store_content_close(out);
    return status;
}

void store_content_close(store_content *content) {
    if (!content->ctx) return;
    scant_array_free(content->array);
    scant_data_free(content->data);
    scant__free(content->ctx, content->row);
    scant__free(content->ctx, content->path);
    *content = (store_content){0};
}

static scant_status read_row(store_content *c, size_t row, float *out) {
    scant__fault fault;
    if (c->kind == STORE_FEATURES)
        return scant_array_floats(c->ctx, c->array, row * c->width, c->width, out);
    scant_status status = scant__data_read(c->data, row, out, &fault);
    return status == SCANT_OK ? status : scant__fail(c->ctx, status, "%s", fault.text);
}

/* ---- files ------------------------------------------------------------------------- */

static scant_status cannot(store_content *c, const char *path, int number) {
    char why[SCANT__ERRNO_TEXT];
    return scant__fail(c->ctx, SCANT_EINPUT, "%s: cannot be read: %s", path,
                       scant__errno_text(number, why));
}

/* Opens a file below the source, or an absolute path. */
static scant_status open_file(store_content *c, const char *path, int *fd, size_t *size) {
    struct stat st;
    scant_status status = SCANT_OK;
    char *joined = *path == '/' ? store_strdup(c->ctx, path)
                                : scant__path_join(c->ctx, c->path, path);
    if (!joined) return SCANT_ENOMEM;
    *fd = open(joined, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* do not wait for a pipe */
    if (*fd < 0 || fstat(*fd, &st) != 0)
        status = cannot(c, joined, errno);
    else if (!S_ISREG(st.st_mode))
        status = scant__fail(c->ctx, SCANT_EINPUT, "%s: is not a file", joined);
    else
        *size = (size_t)st.st_size;
    if (status != SCANT_OK && *fd >= 0) close(*fd);
    scant__free(c->ctx, joined);
    return status;
}

/* Reads up to size bytes; returns how many, or -1 with errno. */
static ssize_t read_piece(int fd, unsigned char *out, size_t size, size_t at) {
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

static scant_status print_file(store_content *c, const char *path, uint64_t *hash) {
    unsigned char piece[PIECE];
    int fd;
    size_t size;
    TRY(open_file(c, path, &fd, &size));
    *hash = scant__hash(*hash, &size, sizeof size);
    ssize_t n = read_piece(fd, piece, sizeof piece, 0);
    if (n > 0) *hash = scant__hash(*hash, piece, (size_t)n);
    if (n >= 0 && size > PIECE) {
        size_t rest = size_min(size - PIECE, PIECE);
        n = read_piece(fd, piece, rest, size - rest);
        if (n > 0) *hash = scant__hash(*hash, piece, (size_t)n);
    }
    int number = errno;
    close(fd);
    return n < 0 ? cannot(c, path, number) : SCANT_OK;
}

static bool same_bytes(int a, int b, size_t size) {
    unsigned char x[PIECE], y[PIECE];
    for (size_t at = 0; at < size; at += PIECE) {
        size_t want = size_min(PIECE, size - at);
        if (read_piece(a, x, want, at) != (ssize_t)want ||
            read_piece(b, y, want, at) != (ssize_t)want || memcmp(x, y, want) != 0)
            return false;
    }
    return true;
}

static scant_status same_files(store_content *a, const char *path_a, store_content *b,
                               const char *path_b, bool *same) {
    int x, y;
    size_t size_x, size_y;
    if (open_file(a, path_a, &x, &size_x) != SCANT_OK)
        return SCANT_OK; /* the file is gone: not the same */
    scant_status status = open_file(b, path_b, &y, &size_y);
    if (status == SCANT_OK) {
        *same = size_x == size_y && same_bytes(x, y, size_x);
        close(y);
    }
    close(x);
    return status;
}

/* ---- prints ------------------------------------------------------------------------ */

scant_status store_content_print(store_content *content, size_t row, const char *path,
                                 const char *text, int64_t *print) {
    uint64_t hash = SCANT__HASH_FIRST;
    if (text) hash = scant__hash(hash, text, strlen(text) + 1);
    if (content->kind == STORE_FILES) {
        TRY(print_file(content, path, &hash));
    } else {
        TRY(read_row(content, row, content->row));
        hash = scant__hash(hash, content->row, content->width * sizeof *content->row);
    }
    *print = (int64_t)(hash >> 1);
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
