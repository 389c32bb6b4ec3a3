/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads untrusted zip archives.
 *
 * They are parsed from the end: the end record (followed by a comment of up to 64 KB),
 * its zip64 form if needed, the central directory, the member's local header. Sizes come
 * from the central directory, so data descriptors do not matter. Every offset is checked
 * against the file and the directory before use.
 *
 * Refused are members that overlap, encryption, methods other than stored and deflate,
 * archives in several parts, and archives with other bytes before them.
 */
#include "data/unpack.h"

#include <stdio.h>
#include <string.h>

#include "data/source.h"

enum {
    LOCAL_SIZE = 30,
    CENTRAL_SIZE = 46,
    END_SIZE = 22,
    END64_SIZE = 56,
    LOCATOR64_SIZE = 20,
    MAX_COMMENT = 65535,
    MAX_LISTED = 20
};

static const unsigned char local_magic[4] = {'P', 'K', 3, 4};
static const unsigned char central_magic[4] = {'P', 'K', 1, 2};
static const unsigned char end_magic[4] = {'P', 'K', 5, 6};
static const unsigned char end64_magic[4] = {'P', 'K', 6, 6};
static const unsigned char locator64_magic[4] = {'P', 'K', 6, 7};

typedef struct archive {
    scant_ctx *ctx;
    const char *name;
    const unsigned char *bytes;
    size_t size;
    size_t dir, dir_end; /* begin and end of the central directory */
    struct entry *entries;
    size_t n, room;
} archive;

/* One record of the central directory. */
typedef struct entry {
    const unsigned char *name;
    size_t name_size;
    unsigned flags, method;
    uint32_t crc;
    uint64_t packed, size, offset; /* offset of the local header */
} entry;

static unsigned u16(const unsigned char *p) { return p[0] | (unsigned)p[1] << 8; }

static uint32_t u32(const unsigned char *p) {
    return (uint32_t)u16(p) | (uint32_t)u16(p + 2) << 16;
}

static uint64_t u64(const unsigned char *p) {
    return (uint64_t)u32(p) | (uint64_t)u32(p + 4) << 32;
}

static bool is(const unsigned char *p, const unsigned char magic[4]) {
    return memcmp(p, magic, 4) == 0;
}

static scant_status damaged(const archive *a, const char *what) {
    return scant__refuse(a->ctx, a->name, "the archive is damaged: %s", what);
}

bool scant__npz_magic(const unsigned char *bytes, size_t size) {
    return size >= 4 && (is(bytes, local_magic) || is(bytes, end_magic));
}

/* ---- the directory ----------------------------------------------------------------- */

static bool find_end(const archive *a, size_t *at) {
    if (a->size < END_SIZE) return false;
    size_t last = a->size - END_SIZE;
    size_t stop = last > MAX_COMMENT ? last - MAX_COMMENT : 0;
    for (size_t i = last + 1; i-- > stop;)
        if (is(a->bytes + i, end_magic) && u16(a->bytes + i + 20) <= last - i) {
            *at = i;
            return true;
        }
    return false;
}

static scant_status find_dir(archive *a) {
    size_t at;
    if (!find_end(a, &at)) return damaged(a, "it has no end record (is it cut short?)");
    const unsigned char *end = a->bytes + at;
    uint64_t size = u32(end + 12), dir = u32(end + 16);
    bool parts = u16(end + 4) != u16(end + 6) || (u16(end + 4) && u16(end + 4) != 0xffff);
    bool wide = u16(end + 10) == 0xffff || size == UINT32_MAX || dir == UINT32_MAX;
    if (wide && at >= LOCATOR64_SIZE && is(end - LOCATOR64_SIZE, locator64_magic)) {
        uint64_t at64 = u64(end - LOCATOR64_SIZE + 8);
        if (at64 > at || at - at64 < END64_SIZE || !is(a->bytes + at64, end64_magic))
            return damaged(a, "its zip64 end record is not where it should be");
        at = (size_t)at64;
        end = a->bytes + at;
        size = u64(end + 40);
        dir = u64(end + 48);
        parts = u32(end + 16) || u32(end + 20);
    }
    if (parts)
        return scant__refuse(a->ctx, a->name, "multi-part archives are not supported");
    if (dir > at || size > at - dir)
        return damaged(a, "its directory lies outside of the file");
    a->dir = (size_t)dir;
    a->dir_end = (size_t)(dir + size);
    return SCANT_OK;
}

/* Reads the sizes and the offset that do not fit in 32 bits; they are in extra field 1,
 * in this order: size, packed, offset. */
static bool read_zip64(const unsigned char *extra, size_t left, entry *e) {
    uint64_t *wide[3];
    size_t n = 0;
    if (e->size == UINT32_MAX) wide[n++] = &e->size;
    if (e->packed == UINT32_MAX) wide[n++] = &e->packed;
    if (e->offset == UINT32_MAX) wide[n++] = &e->offset;
    while (n && left >= 4) {
        size_t length = u16(extra + 2);
        if (length > left - 4) return false;
        if (u16(extra) == 1) {
            if (length < 8 * n) return false;
            for (size_t i = 0; i < n; i++) *wide[i] = u64(extra + 4 + 8 * i);
            return true;
        }
        extra += 4 + length;
        left -= 4 + length;
    }
    return true; /* 0xffffffff may be the true size */
}

/* Reads the record at *at and advances *at. */
static scant_status read_entry(archive *a, size_t *at) {
    const unsigned char *p = a->bytes + *at;
    size_t left = a->dir_end - *at;
    if (left < CENTRAL_SIZE || !is(p, central_magic))
        return damaged(a, "its directory has an invalid record");
    size_t name = u16(p + 28), extra = u16(p + 30), comment = u16(p + 32);
    size_t total = CENTRAL_SIZE + name + extra + comment;
    if (total > left) return damaged(a, "its directory ends within a record");
    entry e = {.name = p + CENTRAL_SIZE,
               .name_size = name,
               .flags = u16(p + 8),
               .method = u16(p + 10),
               .crc = u32(p + 16),
               .packed = u32(p + 20),
               .size = u32(p + 24),
               .offset = u32(p + 42)};
    if (!read_zip64(p + CENTRAL_SIZE + name, extra, &e))
        return damaged(a, "its directory has a zip64 field that is cut short");
    *at += total;
    TRY_PUSH(a->ctx, a->entries, a->n, a->room, e);
    return SCANT_OK;
}

/* ---- keys -------------------------------------------------------------------------- */

static bool is_npy(const entry *e) {
    return e->name_size >= 4 && memcmp(e->name + e->name_size - 4, ".npy", 4) == 0;
}

static bool matches(const entry *e, const char *key) {
    size_t length = strlen(key);
    if (e->name_size == length) return memcmp(e->name, key, length) == 0;
    return e->name_size == length + 4 && is_npy(e) && memcmp(e->name, key, length) == 0;
}

static scant_status list_keys(const archive *a, const char *what) {
    char list[SCANT__ERR_SIZE / 2] = "", key[64];
    size_t used = 0, listed = 0;
    for (size_t i = 0; i < a->n; i++) {
        const entry *e = &a->entries[i];
        if (!is_npy(e)) continue;
        scant__printable(e->name, e->name_size - 4, key, sizeof key);
        if (listed == MAX_LISTED || used + strlen(key) + 8 > sizeof list) {
            snprintf(list + used, sizeof list - used, ", ...");
            break;
        }
        int n =
            snprintf(list + used, sizeof list - used, "%s%s", listed ? ", " : "", key);
        used += n > 0 ? (size_t)n : 0;
        listed++;
    }
    if (!listed)
        return scant__refuse(a->ctx, a->name,
                             "the archive has no .npy member (write it with np.savez)");
    return scant__refuse(a->ctx, a->name, "%s; its keys are: %s", what, list);
}

static scant_status find_entry(const archive *a, const char *key, const entry **found) {
    size_t hits = 0;
    for (size_t i = 0; i < a->n; i++)
        if (key ? matches(&a->entries[i], key) : is_npy(&a->entries[i])) {
            *found = &a->entries[i];
            hits++;
        }
    if (key && !hits) return list_keys(a, "there is no such key in the archive");
    if (!key && hits != 1)
        return list_keys(a, "the archive has several arrays, choose one as FILE.npz:KEY");
    return SCANT_OK;
}

/* ---- the member -------------------------------------------------------------------- */

static scant_status check_method(const archive *a, const entry *e) {
    if (e->flags & (1u | 1u << 6 | 1u << 13))
        return scant__refuse(a->ctx, a->name, "the member is encrypted");
    if (e->method != 0 && e->method != 8)
        return scant__refuse(a->ctx, a->name,
                             "the member uses zip method %u; expected stored or deflated "
                             "(np.savez, np.savez_compressed)",
                             e->method);
    if (e->method == 0 && e->packed != e->size)
        return damaged(a, "a stored member's packed and unpacked sizes differ");
    return SCANT_OK;
}

static scant_status locate(const archive *a, const entry *e, scant__npz_member *out) {
    TRY(check_method(a, e));
    if (e->offset > a->dir || a->dir - e->offset < LOCAL_SIZE)
        return damaged(a, "the member lies outside of the file");
    const unsigned char *local = a->bytes + e->offset;
    if (!is(local, local_magic))
        return damaged(a, "the member is not where it should be");
    size_t name = u16(local + 26), extra = u16(local + 28);
    uint64_t start = e->offset + LOCAL_SIZE + name + extra;
    if (start > a->dir || e->packed > a->dir - start)
        return damaged(a, "the member reaches beyond the data");
    if (name != e->name_size || memcmp(local + LOCAL_SIZE, e->name, name) != 0)
        return damaged(a, "the member's two names differ");
    /* deflate compresses at most 1032:1, so a larger size must not be allocated */
    if (e->method == 8 && e->size / 1032 > e->packed)
        return damaged(a, "the member claims to be larger than it can be");
    /* as in Python, overlapping members are refused: they are how zip bombs work */
    for (size_t i = 0; i < a->n; i++)
        if (a->entries[i].offset > e->offset && a->entries[i].offset < start + e->packed)
            return damaged(a, "the member overlaps another");
    *out = (scant__npz_member){.bytes = a->bytes + start,
                               .packed = (size_t)e->packed,
                               .size = (size_t)e->size,
                               .crc = e->crc,
                               .deflated = e->method == 8};
    return SCANT_OK;
}

static void end(archive *a) { scant__free(a->ctx, a->entries); }

scant_status scant__npz_find(scant_ctx *ctx, const char *name, const char *key,
                             const unsigned char *bytes, size_t size,
                             scant__npz_member *out) {
    AUTO(end) archive a = {.ctx = ctx, .name = name, .bytes = bytes, .size = size};
    const entry *e = NULL;
    TRY(find_dir(&a));
    for (size_t at = a.dir; at < a.dir_end;) TRY(read_entry(&a, &at));
    TRY(find_entry(&a, key, &e));
    return locate(&a, e, out);
}
