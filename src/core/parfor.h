/* SPDX-License-Identifier: Apache-2.0
 *
 * The only place that starts threads, but for work done ahead of its need (ahead.h).
 *
 * Work is a number of blocks, fixed by the problem and not by the thread count. A block
 * writes only what is its own (or its worker's scratch); whoever called reduces over
 * blocks in order. So the result does not depend on the thread count.
 */
#ifndef SCANT_CORE_PARFOR_H
#define SCANT_CORE_PARFOR_H

#include <stddef.h>

#include "core/ctx.h"

/* worker is below ctx's thread count: an index for scratch. Must not call into ctx,
 * scant__worker_alloc() and scant__free() apart. */
typedef scant_status (*scant__block_fn)(void *arg, size_t block, unsigned worker,
                                        scant__fault *fault);

/* Runs fn over 0..blocks-1. Of several failures the lowest block's is reported. Polls
 * cancel and tells progress under the name phase (NULL: quietly). */
scant_status scant__parfor(scant_ctx *ctx, const char *phase, size_t blocks,
                           scant__block_fn fn, void *arg);

/* Runs fn over 0..blocks-1 on ctx's threads to the end, without a word: for the inner
 * loops of training, which cannot fail and are not left halfway. */
void scant__loop(const scant_ctx *ctx, size_t blocks, void (*fn)(void *arg, size_t block),
                 void *arg);

/* How many there are where nobody says: as many as the cores that the process may use,
 * or fewer where OMP_NUM_THREADS says so. */
unsigned scant__threads_usual(void);

/* Libraries that run OpenMP loops of their own take ctx's number of threads when this
 * thread calls them between the two. leave() takes what enter() gave. */
int scant__threads_enter(const scant_ctx *ctx);
void scant__threads_leave(int before);

#endif
