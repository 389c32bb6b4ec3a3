/* SPDX-License-Identifier: Apache-2.0
 *
 * Opening inputs. A file is mapped, never read: a pool need not fit in memory, and pages
 * that no strategy looks at are never fetched. Hence only regular files will do, and one
 * that shrinks meanwhile ends the process (SIGBUS).
 */
#include "data/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/mem.h"
#include "data/file.h"
#include "data/looks.h"
#include "data/npz.h"

/* The ':' between FILE.npz and KEY, or NULL. The last ".npz:" counts, so a colon
 * elsewhere in the path does no harm. */
static const char *find_key(const char *spec) {
    const char *found = NULL, *p = spec;
    while ((p = strstr(p, ".npz:"))) {
        found = p + strlen(".npz");
        p = found;
    }
    return found;
}

static const char *odd_kind(mode_t mode) {
    if (S_ISDIR(mode)) return "is a directory";
    if (S_ISFIFO(mode))
        return "is a pipe, and inputs are mapped: save it to a file first";
    if (S_ISSOCK(mode))
        return "is a socket, and inputs are mapped: save it to a file first";
    return "is a device, and inputs are mapped: save it to a file first";
}

static scant_status map_file(scant_ctx *ctx, const char *spec, int fd,
                             scant__source *out) {
    struct stat st;
    char why[SCANT__ERRNO_TEXT];
    if (fstat(fd, &st) != 0)
        return scant__fail(ctx, SCANT_EINPUT, "%s: cannot be read: %s", spec,
                           scant__errno_text(errno, why));
    if (!S_ISREG(st.st_mode))
        return scant__fail(ctx, SCANT_EINPUT, "%s: %s", spec, odd_kind(st.st_mode));
    if ((uintmax_t)st.st_size > PTRDIFF_MAX)
        return scant__fail(ctx, SCANT_EINPUT, "%s: is too large to address", spec);
    out->bytes = (const unsigned char *)"";
    if (!st.st_size) return SCANT_OK; /* an empty mapping is an error */
    void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map == MAP_FAILED)
        return scant__fail(ctx, errno == ENOMEM ? SCANT_ENOMEM : SCANT_EINPUT,
                           "%s: cannot be mapped: %s", spec,
                           scant__errno_text(errno, why));
    out->map = map;
    out->map_size = (size_t)st.st_size;
    out->bytes = map;
    out->size = out->map_size;
    return SCANT_OK;
}

static scant_status open_path(scant_ctx *ctx, const char *spec, const char *path,
                              scant__source *out) {
    char why[SCANT__ERRNO_TEXT];
    /* not to wait for a pipe's other end: it is refused anyway */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 && errno == ENOENT)
        return scant__fail(ctx, SCANT_EINPUT, "%s: there is no such file", spec);
    if (fd < 0)
        return scant__fail(ctx, SCANT_EINPUT, "%s: cannot be opened: %s", spec,
                           scant__errno_text(errno, why));
    scant_status status = map_file(ctx, spec, fd, out);
    close(fd);
    return status;
}

static scant_status open_member(scant_ctx *ctx, const char *spec, const char *key,
                                scant__source *out) {
    scant__npz_member member;
    TRY(scant__npz_find(ctx, spec, key, out->bytes, out->size, &member));
    out->member = true;
    out->bytes = member.bytes;
    out->size = member.size;
    if (!member.deflated) return SCANT_OK;
    TRY(scant__npz_inflate(ctx, spec, &member, &out->owned));
    out->bytes = out->owned;
    munmap(out->map, out->map_size);
    out->map = NULL;
    out->map_size = 0;
    return SCANT_OK;
}

static scant_status resolve(scant_ctx *ctx, const char *spec, const char *path,
                            const char *key, scant__source *out) {
    TRY(open_path(ctx, spec, path, out));
    if (scant__npz_magic(out->bytes, out->size)) return open_member(ctx, spec, key, out);
    if (!key) return SCANT_OK;
    if (!out->size)
        return scant__fail(ctx, SCANT_EINPUT, "%s: the archive is empty", spec);
    return scant__fail(ctx, SCANT_EINPUT, "%s: is not an .npz archive; it looks like %s",
                       spec, scant__looks_like(out->bytes, out->size));
}

scant_status scant__source_open(scant_ctx *ctx, const char *spec, scant__source *out) {
    const char *colon = find_key(spec);
    size_t length = colon ? (size_t)(colon - spec) : strlen(spec);
    *out = (scant__source){0};
    char *path = scant__alloc(ctx, length + 1, 1);
    if (!path) return SCANT_ENOMEM;
    memcpy(path, spec, length);
    path[length] = 0;
    scant_status status = resolve(ctx, spec, path, colon ? colon + 1 : NULL, out);
    if (status != SCANT_OK) scant__source_close(ctx, out);
    scant__free(ctx, path);
    return status;
}

scant_status scant__source_map(scant_ctx *ctx, const char *path, scant__source *out) {
    *out = (scant__source){0};
    return open_path(ctx, path, path, out);
}

void scant__source_close(scant_ctx *ctx, scant__source *source) {
    if (source->map) munmap(source->map, source->map_size);
    scant__free(ctx, source->owned);
    *source = (scant__source){0};
}
