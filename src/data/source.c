/* SPDX-License-Identifier: Apache-2.0
 *
 * Opens inputs by mapping: a pool need not fit in memory, and unused pages are never
 * read. Hence only regular files work, and a file that shrinks while mapped kills the
 * process (SIGBUS).
 */
#include "data/source.h"

#include <string.h>

#include "core/mem.h"
#include "data/filetype.h"
#include "data/npz.h"

/* The ':' between FILE.npz and KEY, or NULL. The last ".npz:" counts, so the path may
 * contain colons. */
static const char *find_key(const char *spec) {
    const char *found = NULL, *p = spec;
    while ((p = strstr(p, ".npz:"))) {
        found = p + strlen(".npz");
        p = found;
    }
    return found;
}

static scant_status open_path(scant_ctx *ctx, const char *spec, const char *path,
                              scant__source *out) {
    scant__fault fault;
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
    if (!out->size)
        return scant__fail(ctx, SCANT_EINPUT, "%s: the archive is empty", spec);
    return scant__fail(ctx, SCANT_EINPUT, "%s: is not an .npz archive; it looks like %s",
                       spec, scant__filetype_name(out->bytes, out->size));
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
    scant__map_close(&source->map);
    scant__free(ctx, source->owned);
    *source = (scant__source){0};
}
