/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as the only image of a folder, read as a sample and as sent to a browser.
 */
#include "fuzz_data_samples.h"

#include "core/mem.h"
#include "data/dataset.h"
#include "scant/train.h"

static void show(size_t most) {
    scant_ctx *ctx = fuzz_ctx();
    scant_data *data;
    void *bytes;
    size_t size;
    const char *type;
    if (scant_data_open(ctx, fuzz_folder, NULL, &data) != SCANT_OK) abort();
    scant_status status = scant__data_image_file(data, 0, most, &bytes, &size, &type);
    if (status == SCANT_OK && (!bytes || !size)) abort();
    if (status != SCANT_OK) check_failure(ctx, status, bytes);
    scant__free(ctx, bytes);
    scant_data_free(data);
    if (ctx->used) abort();
    scant_ctx_free(ctx);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    memfile f = fuzz_put("a.png", data, size);
    fuzz_samples(fuzz_folder, &(scant_data_opts){.side = 8});
    show(8);
    show(256);
    fuzz_remove(&f);
    return 0;
}
