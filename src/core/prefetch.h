/* SPDX-License-Identifier: Apache-2.0
 *
 * Prefetching: threads fill a ring of slots with the next items while the caller uses
 * filled ones. The caller gets the items in order for any number of threads.
 */
#ifndef SCANT_CORE_PREFETCH_H
#define SCANT_CORE_PREFETCH_H

#include "core/parfor.h"

typedef struct scant__prefetch scant__prefetch;

typedef struct scant__prefetch_job {
    size_t first, last; /* items first .. last-1 */
    size_t slots;       /* 2 or more: item i goes to slot i % slots */
    unsigned threads;
    void *arg;
    /* Called for one item at a time, in order, for work that depends on the item before.
     * May be NULL. */
    void (*prepare)(void *arg, size_t item, size_t slot);
    /* Called after prepare(), for several items in parallel. */
    scant_status (*fill)(void *arg, size_t item, size_t slot, scant__fault *fault);
} scant__prefetch_job;

/* Starts the threads; scant__prefetch_end() ends them and frees *out. If no thread can be
 * started, scant__prefetch_take() fills the slots. */
scant_status scant__prefetch_start(scant_ctx *ctx, const scant__prefetch_job *job,
                                   scant__prefetch **out);
/* Waits for the next item; *slot is valid until the next call. Fails if fill() did. */
scant_status scant__prefetch_take(scant__prefetch *prefetch, size_t *slot);
void scant__prefetch_end(scant__prefetch *prefetch); /* NULL is fine */
static inline void scant__prefetch_auto(scant__prefetch **p) { scant__prefetch_end(*p); }

#endif
