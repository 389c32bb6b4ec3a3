/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a file of ids; no id may contain a zero byte.
 */
#include "fuzz_data_memfile.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    scant_ctx *ctx = fuzz_ctx();
    memfile f = memfile_open(data, size);
    scant_ids *ids;
    scant_status status = scant_ids_open(ctx, f.path, &ids);
    if (status == SCANT_OK) {
        for (size_t i = 0; i < scant_ids_count(ids); i++) {
            size_t length;
            const char *text = scant_ids_get(ids, i, &length);
            if (length && memchr(text, 0, length)) abort();
        }
        scant_ids_free(ids);
    } else {
        check_failure(ctx, status, ids);
    }
    close(f.fd);
    scant_ctx_free(ctx);
    return 0;
}
