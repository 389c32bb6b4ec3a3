/* SPDX-License-Identifier: Apache-2.0
 *
 * The context inside the library: error message, log, progress, cancel.
 */
#ifndef SCANT_CORE_CTX_H
#define SCANT_CORE_CTX_H

#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>

#include "scant/scant.h"

#if defined(__GNUC__)
#define SCANT__PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define SCANT__PRINTF(fmt, args)
#endif

enum { SCANT__ERR_SIZE = 1024 };

struct scant_ctx {
    scant_ctx_opts opts;
    unsigned threads;         /* resolved: at least 1 */
    unsigned blas;            /* threads that may call BLAS (core/blas.h) */
    size_t cap;               /* bytes */
    atomic_size_t used, peak; /* written under the lock, read by any thread */
    atomic_flag lock;         /* also held while the caller's allocator runs */
    scant_ctx *parent;        /* context whose memory this one uses; NULL: none */
    char err[SCANT__ERR_SIZE];
};

/* The error message of work on another thread, which must not write to ctx->err. */
typedef struct scant__fault {
    char text[SCANT__ERR_SIZE];
} scant__fault;

scant_status scant__fault_set(scant__fault *fault, scant_status status, const char *fmt,
                              ...) SCANT__PRINTF(3, 4);

/* Returns the status of a call if it failed. Variables that must then be freed are
 * declared with AUTO() (core/mem.h). */
#define TRY(call)                                                                        \
    do {                                                                                 \
        scant_status try_status_ = (call);                                               \
        if (try_status_ != SCANT_OK) return try_status_;                                 \
    } while (0)

/* Ends a public call that was given NULL for a handle it needs. There may be no context
 * to hold a message. */
#define NEED(handles)                                                                    \
    do {                                                                                 \
        if (!(handles)) return SCANT_EUSAGE;                                             \
    } while (0)

/* Sets the error message and returns status, so that a failure is one statement. */
scant_status scant__fail(scant_ctx *ctx, scant_status status, const char *fmt, ...)
    SCANT__PRINTF(3, 4);
/* Refuses an input: returns SCANT_EINPUT with the message "NAME: ...". */
scant_status scant__refuse(scant_ctx *ctx, const char *name, const char *fmt, ...)
    SCANT__PRINTF(3, 4);
void scant__warn(scant_ctx *ctx, const char *fmt, ...) SCANT__PRINTF(2, 3);
void scant__note(scant_ctx *ctx, const char *fmt, ...) SCANT__PRINTF(2, 3);
/* Reports progress, unless phase is NULL, and polls cancel (SCANT_ECANCELLED). total may
 * be 0. */
scant_status scant__tick(scant_ctx *ctx, const char *phase, size_t done, size_t total);

#endif
