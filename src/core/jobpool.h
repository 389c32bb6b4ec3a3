/* SPDX-License-Identifier: Apache-2.0
 *
 * A pool of threads that runs jobs and lets them call back to the thread that started
 * the pool. A context serves one thread at a time, so each job makes its own context.
 */
#ifndef SCANT_CORE_JOBPOOL_H
#define SCANT_CORE_JOBPOOL_H

#include <stdbool.h>

#include "core/ctx.h"

typedef struct scant__jobpool scant__jobpool;

/* worker: the number of the thread that runs the job, from 0. */
typedef void (*scant__jobpool_fn)(scant__jobpool *pool, void *arg, size_t job,
                                  unsigned worker);

/* Runs fn for jobs 0..jobs-1, started in order, on `workers` threads. ctx's cancel
 * callback is polled about twenty times a second and after each scant__jobpool_call();
 * cancelling stops the pool, and the result is SCANT_ECANCELLED. */
scant_status scant__jobpool_run(scant_ctx *ctx, size_t jobs, unsigned workers,
                                scant__jobpool_fn fn, void *arg);

/* For jobs: runs fn(arg) on the thread that called scant__jobpool_run(), and waits. */
void scant__jobpool_call(scant__jobpool *pool, void (*fn)(void *arg), void *arg);
/* Starts no more jobs; running ones should poll scant__jobpool_stopped() and return. */
void scant__jobpool_stop(scant__jobpool *pool);
bool scant__jobpool_stopped(const scant__jobpool *pool);

#endif
