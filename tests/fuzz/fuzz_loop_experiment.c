/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as an experiment file; one that opens is printed, and the printed file opens
 * and prints the same.
 */
#include "fuzz_data_memfile.h"
#include "scant/train.h"

#include <string.h>

static void *print(scant_ctx *ctx, const char *path, size_t *size) {
    scant_experiment *e;
    void *bytes = NULL;
    scant_status status = scant_experiment_open(ctx, path, NULL, 0, &e);
    if (status == SCANT_OK) {
        if (scant_experiment_print(e, &bytes, size) != SCANT_OK) abort();
        scant_experiment_free(e);
    } else if (status != SCANT_EUSAGE) { /* options that contradict each other */
        check_failure(ctx, status, e);
    }
    return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    scant_ctx *ctx = fuzz_ctx();
    size_t first_size, second_size;
    memfile f = memfile_open(data, size);
    void *first = print(ctx, f.path, &first_size);
    close(f.fd);
    if (first) {
        f = memfile_open(first, first_size);
        void *second = print(ctx, f.path, &second_size);
        close(f.fd);
        if (!second || first_size != second_size || memcmp(first, second, first_size))
            abort();
        scant_bytes_free(ctx, second);
    }
    scant_bytes_free(ctx, first);
    scant_ctx_free(ctx);
    return 0;
}
