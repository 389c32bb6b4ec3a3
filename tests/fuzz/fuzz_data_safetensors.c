/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a safetensors file; one that opens is written and must read back the same.
 */
#include "fuzz_data_memfile.h"

#include <string.h>

#include "data/safetensors.h"

enum { MOST = 64, FLOATS = 4096 };

static void check_same(scant_ctx *ctx, const scant__tensors *tensors) {
    scant__tensor items[MOST];
    size_t count = scant__tensors_count(tensors);
    scant__tensors *again;
    if (count > MOST) return;
    for (size_t i = 0; i < count; i++) items[i] = *scant__tensors_get(tensors, i);
    char in_memory[] = "/dev/shm/scant-fuzz-XXXXXX";
    char other[] = P_tmpdir "/scant-fuzz-XXXXXX";
    const char *path = in_memory;
    int fd = mkstemp(in_memory);
    if (fd < 0) fd = mkstemp(other), path = other;
    if (fd < 0) abort();
    close(fd);
    if (scant__tensors_write(ctx, path, items, count, NULL, 0) != SCANT_OK) abort();
    if (scant__tensors_open(ctx, path, &again) != SCANT_OK) abort();
    unlink(path);
    if (scant__tensors_count(again) != count) abort();
    for (size_t i = 0; i < count; i++) {
        const scant__tensor *a = &items[i], *b = scant__tensors_find(again, a->name);
        size_t size = a->count * scant__tensor_item(a->dtype);
        if (!b || a->dtype != b->dtype || a->ndim != b->ndim || a->count != b->count ||
            memcmp(a->shape, b->shape, sizeof a->shape) != 0 ||
            (size && memcmp(a->bytes, b->bytes, size) != 0))
            abort();
    }
    scant__tensors_close(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static float out[FLOATS];
    scant_ctx *ctx = fuzz_ctx();
    memfile f = memfile_open(data, size);
    scant__tensors *tensors;
    scant_status status = scant__tensors_open(ctx, f.path, &tensors);
    if (status == SCANT_OK) {
        for (size_t i = 0; i < scant__tensors_count(tensors); i++) {
            const scant__tensor *x = scant__tensors_get(tensors, i);
            if (x->count * scant__tensor_item(x->dtype) > size) abort();
            if (x->count <= FLOATS) scant__tensor_floats(x, out);
        }
        scant__tensors_meta(tensors, "format");
        check_same(ctx, tensors);
        scant__tensors_close(tensors);
    } else {
        check_failure(ctx, status, tensors);
    }
    close(f.fd);
    scant_ctx_free(ctx);
    return 0;
}
