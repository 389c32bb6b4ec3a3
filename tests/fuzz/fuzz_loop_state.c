/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as the state of a run; one that is accepted is written and must read back.
 */
#include "fuzz_data_memfile.h"

#include "loop/loop.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const loop_run_name name = {"badge", 7};
    scant_ctx *ctx = fuzz_ctx();
    scant__arena arena;
    loop_state s, again;
    scant__arena_init(&arena, ctx);
    if (loop_state_init(&arena, 3, 20, &s) != SCANT_OK ||
        loop_state_init(&arena, 3, 20, &again) != SCANT_OK)
        abort();
    scant_status status = loop_state_parse(ctx, "state", (const char *)data, size, name,
                                           3, 100, &arena, &s);
    if (status == SCANT_OK) {
        char *bytes;
        size_t written;
        if (loop_state_picks(&s) > 20 || s.n_points > 4) abort();
        if (loop_state_print(ctx, name, &s, &bytes, &written) != SCANT_OK) abort();
        memfile f = memfile_open((const uint8_t *)bytes, written);
        scant__free(ctx, bytes);
        if (loop_state_read(ctx, f.path, name, 3, 100, &arena, &again) != SCANT_OK)
            abort();
        close(f.fd);
    } else {
        check_failure(ctx, status, NULL);
    }
    scant__arena_end(&arena);
    scant_ctx_free(ctx);
    return 0;
}
