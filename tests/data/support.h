/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the tests of arrays and files: a context that counts its allocations and can
 * fail them, and .npy files built byte by byte.
 */
#ifndef SCANT_TESTS_DATA_SUPPORT_H
#define SCANT_TESTS_DATA_SUPPORT_H

#include "../folder.h"

#include "data/array.h"

/* ---- context -------------------------------------------------------------------- */

static inline void ctx_end(scant_ctx *ctx, memory *m) {
    scant_ctx_free(ctx);
    assert_int_equal(m->live, 0);
}

/* The message starts with name, the file, and contains text. */
static inline void assert_says(scant_ctx *ctx, const char *name, const char *text) {
    const char *message = scant_ctx_errmsg(ctx);
    if (strncmp(message, name, strlen(name)) != 0 || !strstr(message, text))
        fail_msg("message \"%s\" should start with \"%s\" and contain \"%s\"", message,
                 name, text);
}

/* ---- bytes ---------------------------------------------------------------------- */

typedef struct buffer {
    unsigned char bytes[81920];
    size_t size;
} buffer;

static inline void add(buffer *b, const void *bytes, size_t size) {
    assert_true(b->size + size <= sizeof b->bytes);
    if (size) memcpy(b->bytes + b->size, bytes, size);
    b->size += size;
}

static inline void add_le(buffer *b, uint64_t value, size_t size) {
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)(value >> (8 * i));
        add(b, &byte, 1);
    }
}

/* A .npy file of the given version with exactly this header. */
static inline buffer npy(int version, const char *header, const void *data, size_t size) {
    buffer b = {.size = 0};
    add(&b, "\x93NUMPY", 6);
    add_le(&b, (uint64_t)version, 1);
    add_le(&b, 0, 1);
    add_le(&b, strlen(header), version == 1 ? 2 : 4);
    add(&b, header, strlen(header));
    add(&b, data, size);
    return b;
}

#define NPY(descr, shape)                                                                \
    "{'descr': '" descr "', 'fortran_order': False, 'shape': " shape ", }\n"

/* Writes a buffer to a file; returns its path. */
static inline const char *put_buffer(const char *name, const buffer *b) {
    return put(name, b->bytes, b->size);
}

/* The path of a file outside the repository; NULL: not available. */
static inline const char *shared_data(const char *name) {
    static char path[1024];
    const char *folder = getenv("SCANT_SHARED_DATA");
    if (folder) snprintf(path, sizeof path, "%s/%s", folder, name);
    if (folder && access(path, R_OK) == 0) return path;
    print_message("skipped: %s is not in SCANT_SHARED_DATA (%s)\n", name,
                  folder ? folder : "not set");
    return NULL;
}

#endif
