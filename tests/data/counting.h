/* SPDX-License-Identifier: Apache-2.0
 *
 * `ctx`, whose allocations `mem` counts and can fail, and a temporary folder, with setup
 * and teardown of a test. The teardown fails if memory is still allocated.
 */
#ifndef SCANT_TESTS_DATA_COUNTING_H
#define SCANT_TESTS_DATA_COUNTING_H

#include "support.h"

static memory mem;
static scant_ctx *ctx;

static inline int setup(void **state) {
    ctx = ctx_counting(&mem);
    return make_dir(state);
}

static inline int teardown(void **state) {
    ctx_end(ctx, &mem);
    return remove_dir(state);
}

#endif
