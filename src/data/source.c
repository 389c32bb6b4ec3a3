/* SPDX-License-Identifier: Apache-2.0
 *
 * Inputs are memory-mapped: a pool need not fit in memory, and unused pages are never
 * read. So inputs must be regular files, and a file that shrinks while mapped kills the
 * process (SIGBUS).
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
#include "data/unpack.h"

/* ---- mapping ----------------------------------------------------------------------- */

static const char *odd_kind(mode_t mode) {
    if (S_ISDIR(mode)) return "is a directory";
    if (S_ISFIFO(mode))
        return "is a pipe, which cannot be mapped: save it to a file first";
    if (S_ISSOCK(mode))
        return "is a socket, which cannot be mapped: save it to a file first";
    return "is a device, which cannot be mapped: save it to a file first";
}

/* Sets fault to "NAME: WHAT: WHY", where WHY is the text of errno. */
static scant_status cannot(scant__fault *fault, scant_status status, const char *name,
                           const char *what) {
    char why[SCANT__ERRNO_TEXT];
    return scant__fault_set(fault, status, "%s: %s: %s", name, what,
                            scant__errno_text(errno, why));
}

static scant_status map_file(int fd, const char *name, scant__map *out,
                             scant__fault *fault) {
    struct stat st;
    if (fstat(fd, &st) != 0) return cannot(fault, SCANT_EINPUT, name, "cannot be read");
    if (!S_ISREG(st.st_mode))
        return scant__fault_set(fault, SCANT_EINPUT, "%s: %s", name,
                                odd_kind(st.st_mode));
    if ((uintmax_t)st.st_size > PTRDIFF_MAX)
        return scant__fault_set(fault, SCANT_EINPUT, "%s: is too large to address", name);
    if (!st.st_size) return SCANT_OK; /* mmap() refuses an empty file */
    void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map == MAP_FAILED)
        return cannot(fault, errno == ENOMEM ? SCANT_ENOMEM : SCANT_EINPUT, name,
                      "cannot be mapped");
    *out = (scant__map){map, (size_t)st.st_size, map};
    return SCANT_OK;
}

scant_status scant__map_open(const char *path, const char *name, scant__map *out,
                             scant__fault *fault) {
    *out = (scant__map){.bytes = (const unsigned char *)""};
    /* O_NONBLOCK: do not wait for a pipe's writer; pipes are refused below */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 && errno == ENOENT)
        return scant__fault_set(fault, SCANT_EINPUT, "%s: there is no such file", name);
    if (fd < 0) return cannot(fault, SCANT_EINPUT, name, "cannot be opened");
    scant_status status = map_file(fd, name, out, fault);
    close(fd);
    return status;
}

void scant__map_close(scant__map *map) {
    if (map->map) munmap(map->map, map->size);
    *map = (scant__map){.bytes = (const unsigned char *)""};
}

/* ---- sources ----------------------------------------------------------------------- */

const char *scant__npz_key(const char *spec) {
    const char *found = NULL;
    for (const char *p = spec; (p = strstr(p, ".npz:")); found = p) p += strlen(".npz");
    return found;
}

static scant_status open_path(scant_ctx *ctx, const char *spec, const char *path,
                              scant__source *out) {
    scant__fault fault;
    *out = (scant__source){.ctx = ctx};
    scant_status status = scant__map_open(path, spec, &out->map, &fault);
    if (status != SCANT_OK) return scant__fail(ctx, status, "%s", fault.text);
    out->bytes = out->map.bytes;
    out->size = out->map.size;
    return SCANT_OK;
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
    scant__map_close(&out->map);
    return SCANT_OK;
}

static scant_status resolve(scant_ctx *ctx, const char *spec, const char *path,
                            const char *key, scant__source *out) {
    TRY(open_path(ctx, spec, path, out));
    if (scant__npz_magic(out->bytes, out->size)) return open_member(ctx, spec, key, out);
    if (!key) return SCANT_OK;
    if (!out->size) return scant__refuse(ctx, spec, "the archive is empty");
    return scant__refuse(ctx, spec, "is not an .npz archive; it looks like %s",
                         scant__filetype_name(out->bytes, out->size));
}

scant_status scant__source_open(scant_ctx *ctx, const char *spec, scant__source *out) {
    const char *colon = scant__npz_key(spec);
    AUTO(scant__arena_end) scant__arena arena = {.ctx = ctx};
    *out = (scant__source){0};
    char *path = scant__arena_strdup(&arena, spec);
    if (!path) return SCANT_ENOMEM;
    if (colon) path[colon - spec] = 0;
    scant_status status = resolve(ctx, spec, path, colon ? colon + 1 : NULL, out);
    if (status != SCANT_OK) scant__source_close(out);
    return status;
}

scant_status scant__source_map(scant_ctx *ctx, const char *path, scant__source *out) {
    return open_path(ctx, path, path, out);
}

void scant__source_close(scant__source *source) {
    scant__map_close(&source->map);
    scant__free(source->ctx, source->owned);
    *source = (scant__source){0};
}

/* ---- detecting file types for messages --------------------------------------------- */

/* First bytes of file types that users may pass instead of NumPy arrays. */
static const struct {
    const char *bytes;
    size_t size;
    const char *what;
} starts[] = {
#define START(bytes, what)                                                               \
    { bytes, sizeof(bytes) - 1, what }
    START("\x93NUMPY", "a .npy file"),
    START("PK\x03\x04", "a zip archive"),
    START("PK\x05\x06", "an empty zip archive"),
    START("\x1f\x8b", "a gzip file (unpack it first)"),
    START("\x28\xb5\x2f\xfd", "a zstd file (unpack it first)"),
    START("\xfd"
          "7zXZ",
          "an xz file (unpack it first)"),
    START("BZh", "a bzip2 file (unpack it first)"),
    START("\x89HDF\r\n", "an HDF5 file (save the array with np.save)"),
    START("\x80\x02", "a Python pickle (save the array with np.save)"),
    START("\x80\x03", "a Python pickle (save the array with np.save)"),
    START("\x80\x04", "a Python pickle (save the array with np.save)"),
    START("\x80\x05", "a Python pickle (save the array with np.save)"),
    START("MATLAB", "a MATLAB file (save the array with np.save)"),
    START("PAR1", "a Parquet file (save the array with np.save)"),
    START("ARROW1", "an Arrow file (save the array with np.save)"),
    START("SQLite format 3", "an SQLite database"),
    START("\x89PNG", "a PNG image"),
    START("\xff\xd8\xff", "a JPEG image"),
    START("\x7f"
          "ELF",
          "a program"),
#undef START
};

const char *scant__filetype_name(const unsigned char *bytes, size_t size) {
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (size >= starts[i].size && memcmp(bytes, starts[i].bytes, starts[i].size) == 0)
            return starts[i].what;
    if (size > 10 && bytes[8] == '{' && bytes[9] == '"')
        return "a safetensors file (save the array with np.save)";
    size_t some = size < 512 ? size : 512;
    for (size_t i = 0; i < some; i++)
        if ((bytes[i] < 0x20 && !(bytes[i] && strchr("\t\n\r\f", bytes[i]))) ||
            bytes[i] == 0x7f)
            return "raw bytes (save the array with np.save)";
    return "text (save the array with np.save)";
}

const char *scant__printable(const void *text, size_t length, char *out, size_t size) {
    const unsigned char *in = text;
    size_t n = length < size - 1 ? length : size - 1;
    for (size_t i = 0; i < n; i++)
        out[i] = in[i] < 0x20 || in[i] == 0x7f ? '?' : (char)in[i];
    out[n] = 0;
    return out;
}
