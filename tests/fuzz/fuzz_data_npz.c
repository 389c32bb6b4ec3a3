/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as an .npz archive, without a key and with one.
 */
#include "fuzz_data_memfile.h"

#include "core/mem.h"
#include "data/unpack.h"

/* The path does not end in .npz, so the functions that find a key are called directly. */
static void find_by_key(scant_ctx *ctx, const uint8_t *data, size_t size) {
    scant__npz_member member;
    volatile uint8_t sum = 0;
    void *inflated = NULL;
    scant_status status = scant__npz_find(ctx, "fuzz", "a", data, size, &member);
    if (status == SCANT_OK && member.deflated)
        status = scant__npz_inflate(ctx, "fuzz", &member, &inflated);
    if (status == SCANT_OK) {
        const uint8_t *bytes = member.deflated ? inflated : member.bytes;
        for (size_t i = 0; i < member.size; i++) sum = (uint8_t)(sum + bytes[i]);
    } else {
        check_failure(ctx, status, inflated);
    }
    scant__free(ctx, inflated);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    scant_ctx *ctx = fuzz_ctx();
    memfile f = memfile_open(data, size);
    scant_array *array;
    scant_status status = scant_array_open(ctx, f.path, &array);
    if (status == SCANT_OK) {
        read_all(array);
        scant_array_free(array);
    } else {
        check_failure(ctx, status, array);
    }
    find_by_key(ctx, data, size);
    close(f.fd);
    scant_ctx_free(ctx);
    return 0;
}
