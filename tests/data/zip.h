/* SPDX-License-Identifier: Apache-2.0
 *
 * Zip archives built field by field. The offsets of their records are kept, so that a
 * test can damage any field.
 */
#ifndef SCANT_TESTS_DATA_ZIP_H
#define SCANT_TESTS_DATA_ZIP_H

#include <zlib.h>

#include "support.h"

enum { STORED = 0, DEFLATED = 8, ZIP_MEMBERS = 32 };

typedef struct zip {
    buffer out, dir;
    size_t count;
    bool wide;        /* sizes and offsets in zip64 fields */
    bool descriptors; /* sizes after the data instead of in the local header */
    size_t local[ZIP_MEMBERS],
        central[ZIP_MEMBERS]; /* central: relative to the directory */
    size_t dir_at, end64_at, end_at;
} zip;

static inline buffer deflated(const buffer *data) {
    buffer b = {.size = 0};
    z_stream z = {.next_in = (Bytef *)(uintptr_t)data->bytes,
                  .avail_in = (uInt)data->size,
                  .next_out = b.bytes,
                  .avail_out = sizeof b.bytes};
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY),
                     Z_OK);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    b.size = z.total_out;
    deflateEnd(&z);
    return b;
}

static inline void zip_add(zip *z, const char *name, const buffer *data, int method) {
    buffer packed = method == DEFLATED ? deflated(data) : *data;
    uint32_t crc = (uint32_t)crc32(0, data->bytes, (uInt)data->size);
    uint64_t flags = z->descriptors ? 8 : 0, local = z->out.size;
    z->local[z->count] = z->out.size;
    z->central[z->count++] = z->dir.size;

    add(&z->out, "PK\3\4", 4);
    add_le(&z->out, z->wide ? 45 : 20, 2);
    add_le(&z->out, flags, 2);
    add_le(&z->out, (uint64_t)method, 2);
    add_le(&z->out, 0, 4); /* time, date */
    add_le(&z->out, z->descriptors ? 0 : crc, 4);
    add_le(&z->out, z->descriptors ? 0 : z->wide ? UINT32_MAX : packed.size, 4);
    add_le(&z->out, z->descriptors ? 0 : z->wide ? UINT32_MAX : data->size, 4);
    add_le(&z->out, strlen(name), 2);
    add_le(&z->out, z->wide ? 20 : 0, 2);
    add(&z->out, name, strlen(name));
    if (z->wide) {
        add_le(&z->out, 1, 2);
        add_le(&z->out, 16, 2);
        add_le(&z->out, data->size, 8);
        add_le(&z->out, packed.size, 8);
    }
    add(&z->out, packed.bytes, packed.size);
    if (z->descriptors) {
        add(&z->out, "PK\7\10", 4);
        add_le(&z->out, crc, 4);
        add_le(&z->out, packed.size, z->wide ? 8 : 4);
        add_le(&z->out, data->size, z->wide ? 8 : 4);
    }

    add(&z->dir, "PK\1\2", 4);
    add_le(&z->dir, 45, 2);
    add_le(&z->dir, z->wide ? 45 : 20, 2);
    add_le(&z->dir, flags, 2);
    add_le(&z->dir, (uint64_t)method, 2);
    add_le(&z->dir, 0, 4);
    add_le(&z->dir, crc, 4);
    add_le(&z->dir, z->wide ? UINT32_MAX : packed.size, 4);
    add_le(&z->dir, z->wide ? UINT32_MAX : data->size, 4);
    add_le(&z->dir, strlen(name), 2);
    add_le(&z->dir, z->wide ? 5 + 28 : 0, 2);
    add_le(&z->dir, 0, 2); /* comment */
    add_le(&z->dir, 0, 2); /* disk */
    add_le(&z->dir, 0, 6); /* attributes */
    add_le(&z->dir, z->wide ? UINT32_MAX : local, 4);
    add(&z->dir, name, strlen(name));
    if (z->wide) {
        add(&z->dir, "UT\1\0x", 5); /* another extra field before the zip64 one */
        add_le(&z->dir, 1, 2);
        add_le(&z->dir, 24, 2);
        add_le(&z->dir, data->size, 8);
        add_le(&z->dir, packed.size, 8);
        add_le(&z->dir, local, 8);
    }
}

static inline void zip_end(zip *z, const char *comment) {
    z->dir_at = z->out.size;
    add(&z->out, z->dir.bytes, z->dir.size);
    z->end64_at = z->out.size;
    if (z->wide) {
        add(&z->out, "PK\6\6", 4);
        add_le(&z->out, 44, 8);
        add_le(&z->out, 45, 2);
        add_le(&z->out, 45, 2);
        add_le(&z->out, 0, 8); /* disks */
        add_le(&z->out, z->count, 8);
        add_le(&z->out, z->count, 8);
        add_le(&z->out, z->dir.size, 8);
        add_le(&z->out, z->dir_at, 8);
        add(&z->out, "PK\6\7", 4);
        add_le(&z->out, 0, 4);
        add_le(&z->out, z->end64_at, 8);
        add_le(&z->out, 1, 4);
    }
    z->end_at = z->out.size;
    add(&z->out, "PK\5\6", 4);
    add_le(&z->out, 0, 4);
    add_le(&z->out, z->wide ? 0xffff : z->count, 2);
    add_le(&z->out, z->wide ? 0xffff : z->count, 2);
    add_le(&z->out, z->wide ? UINT32_MAX : z->dir.size, 4);
    add_le(&z->out, z->wide ? UINT32_MAX : z->dir_at, 4);
    add_le(&z->out, strlen(comment), 2);
    add(&z->out, comment, strlen(comment));
}

/* Overwrites a field. */
static inline void zip_set(zip *z, size_t at, uint64_t value, size_t size) {
    for (size_t i = 0; i < size; i++)
        z->out.bytes[at + i] = (unsigned char)(value >> (8 * i));
}

#endif
