/* SPDX-License-Identifier: Apache-2.0
 *
 * Allocation under the context's memory cap, and arenas.
 *
 * Every block counts against ctx's cap until it is freed. A call that returns NULL has
 * set the error text; the caller returns SCANT_ENOMEM. Any cap allows the first
 * SCANT__MEM_FLOOR bytes, so that inputs can be opened and the error can name the memory
 * that is needed.
 */
#ifndef SCANT_CORE_MEM_H
#define SCANT_CORE_MEM_H

#include <stdbool.h>
#include <stddef.h>

#include "core/ctx.h"
#include "core/size.h"

enum { SCANT__MEM_FLOOR = 64 << 10 };

/* count*size bytes, aligned to 64, not zeroed; NULL with the error text set. */
void *scant__alloc(scant_ctx *ctx, size_t count, size_t size);
void *scant__zalloc(scant_ctx *ctx, size_t count, size_t size); /* zeroed */
/* A block of size bytes that begins with the first `used` bytes of block, which ends.
 * NULL: block is unchanged. With a ctx of NULL these two are realloc() and free(). */
void *scant__realloc(scant_ctx *ctx, void *block, size_t used, size_t size);
void scant__free(scant_ctx *ctx, void *block); /* NULL is fine */
/* As scant__alloc(), but on any thread: the error text goes to fault. scant__free() may
 * be called on any thread. */
void *scant__worker_alloc(scant_ctx *ctx, size_t count, size_t size, scant__fault *fault);
/* Counts bytes that another library allocates, until scant__uncharge(). False, with fault
 * set, if they exceed the cap. */
bool scant__charge(scant_ctx *ctx, size_t bytes, scant__fault *fault);
void scant__uncharge(scant_ctx *ctx, size_t bytes);
/* What scant__alloc() counts for a block: its size and the bookkeeping. */
size_t scant__alloc_cost(size_t bytes);

/* Blocks that are freed together.
 */
typedef struct scant__arena {
    scant_ctx *ctx;
    struct scant__arena_block *head;
} scant__arena;

void scant__arena_init(scant__arena *arena, scant_ctx *ctx);
void *scant__arena_alloc(scant__arena *arena, size_t count, size_t size);
void *scant__arena_zalloc(scant__arena *arena, size_t count, size_t size);
char *scant__arena_strdup(scant__arena *arena, const char *text);
void scant__arena_end(scant__arena *arena); /* frees all; the arena can be used again */

/* For sizes from files: false on overflow, with *out unchanged. */
bool scant__mul(size_t a, size_t b, size_t *out);
bool scant__add(size_t a, size_t b, size_t *out);

#endif
