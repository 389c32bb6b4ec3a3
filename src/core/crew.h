/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs side by side, each on a thread of its own, that call back to the thread which
 * started them. Where a context serves one thread at a time, each job makes its own.
 */
#ifndef SCANT_CORE_CREW_H
#define SCANT_CORE_CREW_H

#include <stdbool.h>

#include "core/ctx.h"

typedef struct scant__crew scant__crew;

/* seat is below the number of jobs that run at once, and no two of them share one. */
typedef void (*scant__crew_fn)(scant__crew *crew, void *arg, size_t job, unsigned seat);

/* Runs fn over jobs 0..jobs-1, `seats` of them at a time, begun in order; those that have
 * not begun when the crew is stopped are left out. ctx's cancel is asked some twenty
 * times a second and after each call of a job's; it stops the crew, and the call ends
 * with SCANT_ECANCELLED. */
scant_status scant__crew_run(scant_ctx *ctx, size_t jobs, unsigned seats,
                             scant__crew_fn fn, void *arg);

/* Of a job: has fn(arg) run by the thread that called scant__crew_run(), and waits. */
void scant__crew_ask(scant__crew *crew, void (*fn)(void *arg), void *arg);
/* No job is to begin, and those at work are to end. */
void scant__crew_stop(scant__crew *crew);
bool scant__crew_stopped(const scant__crew *crew);

#endif
