/* SPDX-License-Identifier: Apache-2.0
 *
 * The buffers of OpenBLAS. It maps SCANT__BLAS_BUFFER bytes for each thread that calls it
 * and keeps them. Where it may not map them (`ulimit -v`, `ulimit -d`) it tries again for
 * ever. So they are mapped here, once it is known that they fit; its calls find them.
 *
 * BLAS is called in blocks of scant__blas_for() only, on one thread each. The buffers'
 * bytes count against the context's cap until the context is freed.
 */
#ifndef SCANT_CORE_BLAS_H
#define SCANT_CORE_BLAS_H

#include "core/parfor.h"

#define SCANT__BLAS_BUFFER ((size_t)128 << 20) /* of Debian's build for x86-64 */

/* scant__parfor() for blocks that call BLAS, after scant__blas_begin(). */
scant_status scant__blas_for(scant_ctx *ctx, const char *phase, size_t blocks,
                             scant__block_fn fn, void *arg);

/* Prepares ctx's threads for BLAS. If there is room for fewer threads, ctx gets fewer and
 * a warning says so; if there is room for none, fails with the number of bytes. Threads
 * but the first leave half of the free memory to the rest of the work. Idempotent. Call
 * it outside blocks, and before the sizes of other blocks of memory follow from what is
 * free. */
scant_status scant__blas_begin(scant_ctx *ctx);
/* The same for work whose memory is planned: takes what all threads need. */
scant_status scant__blas_begin_planned(scant_ctx *ctx);
/* Returns the bytes that scant__blas_begin() would add to those in use. */
size_t scant__blas_memory(const scant_ctx *ctx);
void scant__blas_end(scant_ctx *ctx); /* called by scant_ctx_free() */

/* Lets callers of BLAS use the buffers that OpenBLAS maps when it is loaded, one for each
 * core, for products that it divides among threads of its own. Only for a program that
 * does not use OpenBLAS besides, and before its first call. */
void scant__blas_release(void);

#endif
