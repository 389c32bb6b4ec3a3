/* SPDX-License-Identifier: Apache-2.0
 *
 * The fuzzer's bytes as a file in memory that has a path.
 */
#ifndef SCANT_TESTS_FUZZ_DATA_MEMFILE_H
#define SCANT_TESTS_FUZZ_DATA_MEMFILE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "data/array.h"

enum { MEMORY_CAP = 64 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct memfile {
    int fd;
    char path[32];
} memfile;

static inline memfile memfile_open(const uint8_t *data, size_t size) {
    memfile f = {.fd = memfd_create("fuzz", MFD_CLOEXEC)};
    if (f.fd < 0 || (size && write(f.fd, data, size) != (ssize_t)size)) abort();
    snprintf(f.path, sizeof f.path, "/proc/self/fd/%d", f.fd);
    return f;
}

static inline scant_ctx *fuzz_ctx(void) {
    scant_ctx *ctx;
    if (scant_ctx_create(&(scant_ctx_opts){.threads = 1, .memory = MEMORY_CAP}, &ctx) !=
        SCANT_OK)
        abort();
    return ctx;
}

/* A failure is SCANT_EINPUT or SCANT_ENOMEM, has a message and returns no handle. */
static inline void check_failure(const scant_ctx *ctx, scant_status status,
                                 const void *handle) {
    if ((status != SCANT_EINPUT && status != SCANT_ENOMEM) || handle ||
        !scant_ctx_errmsg(ctx)[0])
        abort();
}

/* Reads every element as every type that it can be read as. */
static inline void read_all(const scant_array *array) {
    float f4[512];
    double f8[512];
    int64_t i8[512];
    for (size_t at = 0; at < array->count; at += 512) {
        size_t n = array->count - at < 512 ? array->count - at : 512;
        scant__array_read_f32(array, at, n, f4);
        scant__array_read_f64(array, at, n, f8);
        if (scant__dtype_is_integer(array->dtype))
            scant__array_read_i64(array, at, n, i8);
    }
}

#endif
