/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as the state of albl; if accepted, the state that it returns must be, too.
 */
#include "fuzz_data_memfile.h"

static const float features[] = {0, 1, 2, 3, 4, 5};
static const float probs[] = {.5F, .5F, .1F, .9F, .2F, .8F, .3F, .7F, 1, 0, 0, 1};
static const signed char labels[] = {0, 1, -1, -1, -1, 1};

static const scant_array *wrap(scant_ctx *ctx, const char *name, const void *data,
                               scant_dtype dtype, size_t columns, scant_array **out) {
    size_t shape[] = {6, columns};
    if (scant_array_wrap(ctx, name, data, dtype, columns ? 2 : 1, shape, out) != SCANT_OK)
        abort();
    return *out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    scant_ctx *ctx = fuzz_ctx();
    scant_array *h, *p, *y;
    scant_evidence e = {.features = wrap(ctx, "features", features, SCANT_F32, 1, &h),
                        .probs = wrap(ctx, "probs", probs, SCANT_F32, 2, &p),
                        .labels = wrap(ctx, "labels", labels, SCANT_I8, 0, &y)};
    scant_select_opts opts = {.state = (const char *)data, .state_size = size};
    scant_picks *picks, *again;
    scant_status status = scant_select(ctx, "albl", &e, 2, &opts, &picks);
    if (status == SCANT_OK) {
        opts.state = picks->state, opts.state_size = picks->state_size;
        if (scant_select(ctx, "albl", &e, 2, &opts, &again) != SCANT_OK) abort();
        scant_picks_free(ctx, again);
        scant_picks_free(ctx, picks);
    } else {
        check_failure(ctx, status, picks);
    }
    scant_array_free(h);
    scant_array_free(p);
    scant_array_free(y);
    scant_ctx_free(ctx);
    return 0;
}
