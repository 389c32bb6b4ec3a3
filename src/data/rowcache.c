/* SPDX-License-Identifier: Apache-2.0
 *
 * The header reserves blanks for the row count, as NumPy's does, so its length is fixed
 * and rows never move: mappings in other processes stay valid.
 *
 * Rows are synced before the header that counts them. After a crash in between, the next
 * open truncates the uncounted rows. A damaged file is replaced by a new inode, so that
 * mappings of the old one stay valid.
 */
#include "data/rowcache.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/file.h"
#include "data/npy.h"

enum { TRIES = 100 };

struct scant__rowcache {
    scant_ctx *ctx;
    int fd;
    size_t width, rows, header; /* header: its size in bytes */
    char path[];
};

static scant_status cannot(const scant__rowcache *g, const char *what) {
    char why[SCANT__ERRNO_TEXT];
    return scant__fail(g->ctx, SCANT_EIO, "%s: %s: %s", g->path, what,
                       scant__errno_text(errno, why));
}

static size_t format_header(const scant__rowcache *g, size_t rows,
                            unsigned char out[SCANT__NPY_HEADER]) {
    scant_array array = {.dtype = SCANT_F32, .item = sizeof(float), .ndim = 2};
    array.shape[0] = rows;
    array.shape[1] = g->width;
    return scant__npy_format(&array, out);
}

static scant_status write_at(const scant__rowcache *g, const void *bytes, size_t size,
                             size_t at) {
    errno = scant__write_all(g->fd, bytes, size, at);
    return errno ? cannot(g, "cannot be written") : SCANT_OK;
}

static scant_status write_header(const scant__rowcache *g, size_t rows) {
    unsigned char bytes[SCANT__NPY_HEADER];
    return write_at(g, bytes, format_header(g, rows, bytes), 0);
}

/* Whether the file has this width, all rows that its header counts, and exactly the
 * header that format_header() gives for them. Sets g->rows if so. */
static bool is_valid(scant__rowcache *g) {
    unsigned char found[SCANT__NPY_HEADER], want[SCANT__NPY_HEADER];
    scant__npy npy = {.ndim = 0};
    const char *why;
    struct stat st;
    size_t at, bytes;
    if (fstat(g->fd, &st) != 0 || !S_ISREG(st.st_mode)) return false;
    if (pread(g->fd, found, g->header, 0) != (ssize_t)g->header) return false;
    if (!scant__npy_dict(found + 10, g->header - 10, &npy, &why, &at)) return false;
    if (npy.ndim != 2 || npy.shape[1] != g->width) return false;
    if (format_header(g, npy.shape[0], want) != g->header) return false;
    if (memcmp(found, want, g->header) != 0) return false;
    bytes = size_mul(npy.shape[0], g->width * sizeof(float));
    if (bytes > (size_t)st.st_size || g->header > (size_t)st.st_size - bytes)
        return false;
    g->rows = npy.shape[0];
    return true;
}

/* Opens or creates the file and locks it. Retries if another process replaced the file
 * before it was locked. */
static scant_status open_locked(scant__rowcache *g) {
    for (int i = 0; i < TRIES; i++) {
        struct stat mine, there;
        g->fd = open(g->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (g->fd < 0) return cannot(g, "cannot be opened for writing");
        if (flock(g->fd, LOCK_EX | LOCK_NB) != 0) {
            if (errno != EWOULDBLOCK) return cannot(g, "cannot be locked");
            return scant__fail(g->ctx, SCANT_EUSAGE,
                               "%s: is being written by another program", g->path);
        }
        if (fstat(g->fd, &mine) == 0 && stat(g->path, &there) == 0 &&
            mine.st_ino == there.st_ino && mine.st_dev == there.st_dev)
            return SCANT_OK;
        close(g->fd);
        g->fd = -1;
    }
    return scant__fail(g->ctx, SCANT_EIO, "%s: is replaced repeatedly by another program",
                       g->path);
}

/* Replaces the file. Keeps the lock on the old file until the new one is locked, so that
 * two processes do not replace the same damaged file. */
static scant_status recreate(scant__rowcache *g) {
    struct stat st;
    int old = g->fd;
    g->rows = 0;
    if (fstat(old, &st) == 0 && st.st_size == 0)
        return write_header(g, 0); /* newly created */
    if (unlink(g->path) != 0) return cannot(g, "cannot be replaced");
    scant_status status = open_locked(g);
    close(old);
    return status == SCANT_OK ? write_header(g, 0) : status;
}

static scant_status open_file(scant__rowcache *g) {
    TRY(open_locked(g));
    if (!is_valid(g)) return recreate(g);
    off_t size = (off_t)(g->header + g->rows * g->width * sizeof(float));
    return ftruncate(g->fd, size) == 0 ? SCANT_OK : cannot(g, "cannot be truncated");
}

scant_status scant__rowcache_open(scant_ctx *ctx, const char *path, size_t width,
                                  scant__rowcache **out, size_t *rows) {
    unsigned char bytes[SCANT__NPY_HEADER];
    size_t length = strlen(path) + 1, row;
    *out = NULL;
    if (!width || !scant__mul(width, sizeof(float), &row))
        return scant__fail(ctx, SCANT_EUSAGE, "%s: rows of %zu numbers cannot be stored",
                           path, width);
    AUTO(scant__rowcache_auto)
    scant__rowcache *g = scant__alloc(ctx, sizeof *g + length, 1);
    if (!g) return SCANT_ENOMEM;
    *g = (scant__rowcache){.ctx = ctx, .fd = -1, .width = width};
    memcpy(g->path, path, length);
    g->header = format_header(g, 0, bytes);
    TRY(open_file(g));
    *rows = g->rows;
    *out = TAKE(g);
    return SCANT_OK;
}

scant_status scant__rowcache_append(scant__rowcache *g, const float *rows, size_t n) {
    size_t row = g->width * sizeof(float), bytes;
    if (!scant__mul(n, row, &bytes))
        return scant__fail(g->ctx, SCANT_EUSAGE, "%s: %zu rows are too many", g->path, n);
    if (!n) return SCANT_OK;
    TRY(write_at(g, rows, bytes, g->header + g->rows * row));
    if (fdatasync(g->fd) != 0 && errno != EINVAL && errno != ENOSYS)
        return cannot(g, "cannot be written");
    TRY(write_header(g, g->rows + n));
    g->rows += n;
    return SCANT_OK;
}

void scant__rowcache_free(scant__rowcache *g) {
    if (!g) return;
    if (g->fd >= 0) close(g->fd);
    scant__free(g->ctx, g);
}
