/* SPDX-License-Identifier: Apache-2.0
 *
 * Work done ahead of the one who needs it: threads fill a ring of slots, item after item,
 * while the caller uses those that are full. Items come out in order, whatever the number
 * of threads.
 */
#ifndef SCANT_CORE_AHEAD_H
#define SCANT_CORE_AHEAD_H

#include "core/parfor.h"

typedef struct scant__ahead scant__ahead;

typedef struct scant__ahead_job {
    size_t first, last; /* items first .. last-1 */
    size_t slots;       /* 2 or more: item i goes to slot i % slots */
    unsigned threads;
    void *arg;
    /* Called for the items in order, one at a time: what depends on the one before. May
     * be NULL. */
    void (*prepare)(void *arg, size_t item, size_t slot);
    /* Then this, for several items at once. */
    scant_status (*fill)(void *arg, size_t item, size_t slot, scant__fault *fault);
} scant__ahead_job;

/* On SCANT_OK *out is new and its threads are at work: scant__ahead_end() ends them.
 * Where no thread can be had, scant__ahead_take() does the work itself. */
scant_status scant__ahead_start(scant_ctx *ctx, const scant__ahead_job *job,
                                scant__ahead **out);
/* Waits for the next item; *slot is the caller's until the next call. Fails with what
 * fill() said of it. */
scant_status scant__ahead_take(scant__ahead *ahead, size_t *slot);
void scant__ahead_end(scant__ahead *ahead); /* NULL is fine */

#endif
