/* SPDX-License-Identifier: Apache-2.0
 *
 * `ctx`, the context of all tests of a program, with setup and teardown of the test
 * group. It has CTX_THREADS threads: 2 unless defined before this is included.
 */
#ifndef SCANT_TESTS_CONTEXT_H
#define SCANT_TESTS_CONTEXT_H

#include "support.h"

#ifndef CTX_THREADS
#define CTX_THREADS 2
#endif

static scant_ctx *ctx;

static inline int setup(void **state) {
    (void)state;
    ctx = ctx_threads(CTX_THREADS);
    return 0;
}

static inline int teardown(void **state) {
    (void)state;
    scant_ctx_free(ctx);
    return 0;
}

static inline void must(scant_status s) {
    if (s != SCANT_OK) fail_msg("%s", scant_ctx_errmsg(ctx));
}

#endif
