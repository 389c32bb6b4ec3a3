/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a .npy file; an array that opens is written and must read back the same.
 */
#include "fuzz_data_memfile.h"

#include <string.h>

static void check_same(scant_ctx *ctx, const scant_array *array) {
    void *bytes;
    size_t size;
    scant_array *again;
    if (scant_array_encode(ctx, array, &bytes, &size) != SCANT_OK) return;
    memfile f = memfile_open(bytes, size);
    if (scant_array_open(ctx, f.path, &again) != SCANT_OK) abort();
    if (again->dtype != array->dtype || again->swapped != array->swapped ||
        again->ndim != array->ndim || again->count != array->count ||
        memcmp(again->shape, array->shape, sizeof again->shape) != 0 ||
        (array->count &&
         memcmp(again->data, array->data, array->count * array->item) != 0))
        abort();
    scant_array_free(again);
    close(f.fd);
    scant_bytes_free(ctx, bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    scant_ctx *ctx = fuzz_ctx();
    memfile f = memfile_open(data, size);
    scant_array *array;
    scant_status status = scant_array_open(ctx, f.path, &array);
    if (status == SCANT_OK) {
        read_all(array);
        check_same(ctx, array);
        scant_array_free(array);
    } else {
        check_failure(ctx, status, array);
    }
    close(f.fd);
    scant_ctx_free(ctx);
    return 0;
}
