/* SPDX-License-Identifier: Apache-2.0
 *
 * The only place that starts threads.
 *
 * Work is a number of blocks, fixed by the problem and not by the thread count. A block
 * writes only what is its own (or its worker's scratch); whoever called reduces over
 * blocks in order. So the result does not depend on the thread count.
 */
#ifndef SCANT_CORE_PARFOR_H
#define SCANT_CORE_PARFOR_H

#include <stddef.h>

#include "core/ctx.h"

/* Where a block says what went wrong. */
typedef struct scant__fault {
    char text[SCANT__ERR_SIZE];
} scant__fault;

scant_status scant__fault_set(scant__fault *fault, scant_status status, const char *fmt,
                              ...) SCANT__PRINTF(3, 4);

/* worker is below ctx's thread count: an index for scratch. Must not call into ctx. */
typedef scant_status (*scant__block_fn)(void *arg, size_t block, unsigned worker,
                                        scant__fault *fault);

/* Runs fn over 0..blocks-1. Of several failures the lowest block's is reported. Polls
 * cancel and tells progress under the name phase (NULL: quietly). */
scant_status scant__parfor(scant_ctx *ctx, const char *phase, size_t blocks,
                           scant__block_fn fn, void *arg);

#endif
