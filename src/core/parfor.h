/* SPDX-License-Identifier: Apache-2.0
 *
 * Parallel loops. Apart from src/serve, only these, prefetch.h and jobpool.h start
 * threads.
 *
 * The number of blocks depends on the problem, not on the thread count. A block
 * writes only to its own memory (or its worker's scratch); the caller reduces over blocks
 * in order. So the result does not depend on the thread count.
 */
#ifndef SCANT_CORE_PARFOR_H
#define SCANT_CORE_PARFOR_H

#include <stddef.h>

#include "core/ctx.h"

/* worker is below ctx's thread count: an index for scratch. The function must not use
 * ctx, except for scant__worker_alloc() and scant__free(). */
typedef scant_status (*scant__block_fn)(void *arg, size_t block, unsigned worker,
                                        scant__fault *fault);

/* Runs fn for blocks 0..blocks-1. Returns the failure of the lowest block that failed.
 * Polls cancel and reports progress under the name phase (NULL: no report). */
scant_status scant__parfor(scant_ctx *ctx, const char *phase, size_t blocks,
                           scant__block_fn fn, void *arg);

/* The same without progress, cancelling or errors, for the inner loops of training. */
void scant__loop(const scant_ctx *ctx, size_t blocks, void (*fn)(void *arg, size_t block),
                 void *arg);

/* The default thread count: the number of cores that this process may use, or
 * OMP_NUM_THREADS if that is lower. */
unsigned scant__threads_usual(void);

/* Between enter() and leave(), libraries that use OpenMP run on ctx's thread count when
 * this thread calls them. leave() takes the result of enter(). */
int scant__threads_enter(const scant_ctx *ctx);
void scant__threads_leave(int before);

#endif
