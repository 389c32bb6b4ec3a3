/* SPDX-License-Identifier: Apache-2.0
 *
 * Allocation under the context's memory cap, and arenas.
 *
 * Every block counts against ctx's cap until it is freed. A call that returns NULL has
 * set the error message; the caller returns SCANT_ENOMEM. Any cap allows the first
 * SCANT__MEM_FLOOR bytes, so that inputs can be opened and the message can name the
 * memory that is needed.
 */
#ifndef SCANT_CORE_MEM_H
#define SCANT_CORE_MEM_H

#include <stdbool.h>
#include <stddef.h>

#include "core/ctx.h"
#include "core/size.h"

enum { SCANT__MEM_FLOOR = 64 << 10 };

/* Allocates count * size bytes, aligned to 64, not zeroed. On failure returns NULL and
 * sets the error message. */
void *scant__alloc(scant_ctx *ctx, size_t count, size_t size);
void *scant__zalloc(scant_ctx *ctx, size_t count, size_t size); /* zeroed */
/* Copies the first `used` bytes of block to a new block of `size` bytes and frees the old
 * one. If it returns NULL, block is unchanged. If ctx is NULL, scant__realloc() and
 * scant__free() are realloc() and free(). */
void *scant__realloc(scant_ctx *ctx, void *block, size_t used, size_t size);
void scant__free(scant_ctx *ctx, void *block); /* NULL is fine */
/* Like scant__alloc(), but may be called on any thread, because the error message goes to
 * fault. scant__free() may be called on any thread too. */
void *scant__worker_alloc(scant_ctx *ctx, size_t count, size_t size, scant__fault *fault);
/* Counts bytes that another library allocates, until scant__uncharge(). Returns false and
 * sets fault if they exceed the cap. */
bool scant__charge(scant_ctx *ctx, size_t bytes, scant__fault *fault);
void scant__uncharge(scant_ctx *ctx, size_t bytes);
/* Whether this process may map that many more bytes: `ulimit -v` and `ulimit -d`, and the
 * machine's memory if it does not overcommit. */
bool scant__can_map(size_t bytes);
/* For libraries that crash or hang where they may not map what they need. If so many
 * bytes more could be mapped, returns true: no other thread then gets an answer to this
 * question until scant__map_end(). */
bool scant__map_begin(size_t bytes);
void scant__map_end(void);

/* For libraries that end the process where they find no memory, unless a handler finds
 * some: the program keeps a reserve, which its handler gives up (false: there is none).
 * The next call of scant__reserve_taken() returns true, and makes a new one. */
void scant__reserve_make(void);
bool scant__reserve_give(void);
bool scant__reserve_taken(void);
/* The number of bytes that scant__alloc() counts for a block: its size and overhead. */
size_t scant__alloc_cost(size_t bytes);

/* Blocks that are freed together. */
typedef struct scant__arena {
    scant_ctx *ctx;
    struct scant__arena_block *head;
} scant__arena;

void scant__arena_init(scant__arena *arena, scant_ctx *ctx);
void *scant__arena_alloc(scant__arena *arena, size_t count, size_t size);
void *scant__arena_zalloc(scant__arena *arena, size_t count, size_t size);
char *scant__arena_strdup(scant__arena *arena, const char *text);
/* snprintf() into a new string of the right size. */
char *scant__arena_format(scant__arena *arena, const char *format, ...)
    SCANT__PRINTF(2, 3);
void scant__arena_end(scant__arena *arena); /* frees all; the arena can be used again */

/* Allocates an array; if memory runs out the calling function returns SCANT_ENOMEM:
 *     float *row = TRY_NEW(arena, float, width);
 * TRY_ZERO() zeroes it. */
#define TRY_NEW(arena, type, count) TRY_NEW_BY(scant__arena_alloc, arena, type, count)
#define TRY_ZERO(arena, type, count) TRY_NEW_BY(scant__arena_zalloc, arena, type, count)
#define TRY_NEW_BY(alloc, arena, type, count)                                            \
    __extension__({                                                                      \
        type *try_new_ = alloc(arena, count, sizeof(type));                              \
        if (!try_new_) return SCANT_ENOMEM;                                              \
        try_new_;                                                                        \
    })

/* Appends a value to the array items (NULL at first, freed by scant__free()) with n
 * elements in use and room for `room`. If memory runs out the calling function returns
 * SCANT_ENOMEM; the array is then unchanged. */
#define TRY_PUSH(ctx, items, n, room, ...)                                               \
    do {                                                                                 \
        void *try_push_ = scant__grow(ctx, items, n, &(room), sizeof *(items));          \
        if (!try_push_) return SCANT_ENOMEM;                                             \
        (items) = try_push_;                                                             \
        (items)[n] = __VA_ARGS__;                                                        \
        (n)++;                                                                           \
    } while (0)
/* For TRY_PUSH(): returns the array, reallocated if it was full. */
void *scant__grow(scant_ctx *ctx, void *items, size_t n, size_t *room, size_t size);

/* Calls fn(&variable) when the variable goes out of scope, so that TRY() can be used with
 * things that must be freed:
 *     AUTO(scant__arena_end) scant__arena arena = {.ctx = ctx};
 *     AUTO(scant_array_auto) scant_array *array = NULL;
 * `unused` silences clang's warning about a variable that is only cleaned up. */
#define AUTO(fn) __attribute__((cleanup(fn), unused))
/* Defines NAME_auto() for AUTO(), from NAME_free(). */
#define DEFINE_AUTO(type, name)                                                          \
    static inline void name##_auto(type **p) { name##_free(*p); }

/* Returns a pointer and sets the variable to NULL: passes ownership from an AUTO()
 * variable to the caller. */
#define TAKE(pointer)                                                                    \
    __extension__({                                                                      \
        __typeof__(pointer) taken_ = (pointer);                                          \
        (pointer) = NULL;                                                                \
        taken_;                                                                          \
    })

/* For sizes from files: false on overflow, with *out unchanged. */
bool scant__mul(size_t a, size_t b, size_t *out);
bool scant__add(size_t a, size_t b, size_t *out);

#endif
