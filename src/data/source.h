/* SPDX-License-Identifier: Apache-2.0
 *
 * The bytes of an input: a mapped file, or a member of an .npz archive.
 */
#ifndef SCANT_DATA_SOURCE_H
#define SCANT_DATA_SOURCE_H

#include <stdbool.h>

#include "core/ctx.h"

/* A memory-mapped regular file. */
typedef struct scant__map {
    const unsigned char *bytes; /* never NULL after opening, even for an empty file */
    size_t size;
    void *map; /* NULL for an empty file */
} scant__map;

/* Maps a file; thread-safe. On failure (SCANT_EINPUT or SCANT_ENOMEM) sets fault, whose
 * text starts with name. The file must not shrink while mapped. */
scant_status scant__map_open(const char *path, const char *name, scant__map *out,
                             scant__fault *fault);
void scant__map_close(scant__map *map);

typedef struct scant__source {
    scant_ctx *ctx;
    const unsigned char *bytes; /* the file or member, in map or owned; not NULL */
    size_t size;
    bool member; /* is a member of an archive */
    scant__map map;
    void *owned; /* inflated bytes, from scant__alloc() */
} scant__source;

/* The ':' between FILE.npz and KEY; NULL: none. The last ".npz:" is used, so the path may
 * contain colons. */
const char *scant__npz_key(const char *spec);
/* Opens "FILE" or "FILE.npz:KEY". Archives are recognised by content; without KEY an
 * archive must have one array. An empty file has size 0. On failure (SCANT_EINPUT or
 * SCANT_ENOMEM; the message starts with spec) nothing needs closing. */
scant_status scant__source_open(scant_ctx *ctx, const char *spec, scant__source *out);
/* Maps the file at path without interpreting its name or content. */
scant_status scant__source_map(scant_ctx *ctx, const char *path, scant__source *out);
void scant__source_close(scant__source *source); /* {0} is fine */

/* ---- messages about unexpected input ---- */

/* The type of a file by its first bytes: "a gzip file", "text", ...; a static string. */
const char *scant__filetype_name(const unsigned char *bytes, size_t size);

/* Copies text of length bytes to out for a message: truncated to fit, control characters
 * replaced by "?". Returns out. */
const char *scant__printable(const void *text, size_t length, char *out, size_t size);

#endif
