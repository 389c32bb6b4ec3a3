/* SPDX-License-Identifier: Apache-2.0
 *
 * A header before each block holds the allocator's pointer and the counted size, so that
 * the block can be aligned to a cache line. Decoders allocate on every thread, so a spin
 * lock guards the counters and the caller's allocator. malloc() needs no lock.
 */
#include "core/mem.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ALIGN = 64 };

typedef struct header {
    void *raw;
    size_t cost;
} header;

_Static_assert(sizeof(header) <= ALIGN, "the header fits in front of the block");

bool scant__mul(size_t a, size_t b, size_t *out) {
    if (b && a > SIZE_MAX / b) return false;
    *out = a * b;
    return true;
}

bool scant__add(size_t a, size_t b, size_t *out) {
    if (a > SIZE_MAX - b) return false;
    *out = a + b;
    return true;
}

size_t scant__alloc_cost(size_t bytes) {
    return bytes > SIZE_MAX - 2 * ALIGN ? SIZE_MAX : bytes + 2 * ALIGN;
}

static void lock(scant_ctx *ctx) {
    while (atomic_flag_test_and_set_explicit(&ctx->lock, memory_order_acquire)) continue;
}

static void unlock(scant_ctx *ctx) {
    atomic_flag_clear_explicit(&ctx->lock, memory_order_release);
}

/* charge() and get() write their error message to err, of SCANT__ERR_SIZE bytes. */
static bool charge(scant_ctx *ctx, size_t cost, char *err) {
    size_t cap = ctx->cap > SCANT__MEM_FLOOR ? ctx->cap : SCANT__MEM_FLOOR;
    lock(ctx);
    size_t used = ctx->used;
    bool fits = cost <= cap && used <= cap - cost;
    if (fits) ctx->used += cost;
    unlock(ctx);
    if (!fits)
        snprintf(err, SCANT__ERR_SIZE, "needs %zu bytes; %zu of %zu allowed are in use",
                 cost, used, ctx->cap);
    return fits;
}

static void give_back(scant_ctx *ctx, size_t cost) {
    lock(ctx);
    ctx->used -= cost;
    unlock(ctx);
}

/* Called after the allocation, so that failed ones do not count. */
static void note_peak(scant_ctx *ctx) {
    lock(ctx);
    if (ctx->used > ctx->peak) ctx->peak = ctx->used;
    unlock(ctx);
}

static void *get(scant_ctx *ctx, size_t count, size_t size, char *err);

static void *get_raw(scant_ctx *ctx, size_t cost, char *err) {
    void *raw;
    if (ctx->parent) return get(ctx->parent, cost, 1, err);
    if (ctx->opts.allocate) {
        lock(ctx);
        raw = ctx->opts.allocate(ctx->opts.user, cost);
        unlock(ctx);
    } else {
        raw = malloc(cost);
    }
    if (!raw) snprintf(err, SCANT__ERR_SIZE, "no memory for %zu bytes", cost);
    return raw;
}

static void *get(scant_ctx *ctx, size_t count, size_t size, char *err) {
    size_t bytes, cost;
    if (!scant__mul(count, size, &bytes) || !scant__add(bytes, 2 * ALIGN, &cost)) {
        snprintf(err, SCANT__ERR_SIZE,
                 "%zu items of %zu bytes are more than can be addressed", count, size);
        return NULL;
    }
    if (!charge(ctx, cost, err)) return NULL;
    void *raw = get_raw(ctx, cost, err);
    if (!raw) {
        give_back(ctx, cost);
        return NULL;
    }
    note_peak(ctx);
    /* the first multiple of ALIGN that leaves room for the header */
    unsigned char *block = (unsigned char *)raw + sizeof(header);
    block += (ALIGN - (uintptr_t)block % ALIGN) % ALIGN;
    memcpy(block - sizeof(header), &(header){raw, cost}, sizeof(header));
    return block;
}

void *scant__alloc(scant_ctx *ctx, size_t count, size_t size) {
    return get(ctx, count, size, ctx->err);
}

void *scant__worker_alloc(scant_ctx *ctx, size_t count, size_t size,
                          scant__fault *fault) {
    return get(ctx, count, size, fault->text);
}

bool scant__charge(scant_ctx *ctx, size_t bytes, scant__fault *fault) {
    if (!charge(ctx, bytes, fault->text)) return false;
    if (ctx->parent && !scant__charge(ctx->parent, bytes, fault)) {
        give_back(ctx, bytes);
        return false;
    }
    note_peak(ctx);
    return true;
}

void scant__uncharge(scant_ctx *ctx, size_t bytes) {
    give_back(ctx, bytes);
    if (ctx->parent) scant__uncharge(ctx->parent, bytes);
}

/* Of the process: a probe takes what another thread has been promised. */
static pthread_mutex_t mapping = PTHREAD_MUTEX_INITIALIZER;

bool scant__map_begin(size_t bytes) {
    pthread_mutex_lock(&mapping);
    void *probe =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (probe != MAP_FAILED && munmap(probe, bytes) == 0) return true;
    pthread_mutex_unlock(&mapping);
    return false;
}

void scant__map_end(void) { pthread_mutex_unlock(&mapping); }

bool scant__can_map(size_t bytes) {
    bool fits = scant__map_begin(bytes);
    if (fits) scant__map_end();
    return fits;
}

enum { RESERVE = 16 << 20 };
static _Atomic(void *) reserve;
static atomic_bool reserve_taken;

void scant__reserve_make(void) {
    void *none = NULL, *made = mmap(NULL, RESERVE, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made != MAP_FAILED && !atomic_compare_exchange_strong(&reserve, &none, made))
        munmap(made, RESERVE);
}

bool scant__reserve_give(void) {
    void *made = atomic_exchange(&reserve, NULL);
    if (!made) return false;
    atomic_store(&reserve_taken, true);
    return munmap(made, RESERVE) == 0;
}

bool scant__reserve_taken(void) {
    if (!atomic_exchange(&reserve_taken, false)) return false;
    scant__reserve_make();
    return true;
}

void *scant__zalloc(scant_ctx *ctx, size_t count, size_t size) {
    void *block = scant__alloc(ctx, count, size);
    if (block) memset(block, 0, count * size);
    return block;
}

void *scant__realloc(scant_ctx *ctx, void *block, size_t used, size_t size) {
    if (!ctx) return realloc(block, size);
    void *bigger = scant__alloc(ctx, size, 1);
    if (!bigger) return NULL;
    if (used) memcpy(bigger, block, used);
    scant__free(ctx, block);
    return bigger;
}

void *scant__grow(scant_ctx *ctx, void *items, size_t n, size_t *room, size_t size) {
    if (n < *room) return items;
    size_t more = size_max(16, size_add(*room, *room / 2));
    void *grown = scant__realloc(ctx, items, n * size, size_mul(more, size));
    if (grown) *room = more;
    return grown;
}

void scant__free(scant_ctx *ctx, void *block) {
    if (!ctx) free(block);
    if (!ctx || !block) return;
    header h;
    memcpy(&h, (unsigned char *)block - sizeof h, sizeof h);
    lock(ctx);
    ctx->used -= h.cost;
    bool released = ctx->opts.release && !ctx->parent;
    if (released) ctx->opts.release(ctx->opts.user, h.raw);
    unlock(ctx);
    if (ctx->parent)
        scant__free(ctx->parent, h.raw);
    else if (!released)
        free(h.raw);
}

/* An arena is a list of separate blocks, because most arenas hold few, large blocks. */
struct scant__arena_block {
    struct scant__arena_block *next;
};

void scant__arena_init(scant__arena *arena, scant_ctx *ctx) {
    *arena = (scant__arena){.ctx = ctx};
}

void *scant__arena_alloc(scant__arena *arena, size_t count, size_t size) {
    size_t bytes;
    if (!scant__mul(count, size, &bytes) || bytes > SIZE_MAX - ALIGN)
        bytes = SIZE_MAX - ALIGN; /* refused below */
    struct scant__arena_block *b = scant__alloc(arena->ctx, bytes + ALIGN, 1);
    if (!b) return NULL;
    b->next = arena->head;
    arena->head = b;
    return (unsigned char *)b + ALIGN;
}

void *scant__arena_zalloc(scant__arena *arena, size_t count, size_t size) {
    void *block = scant__arena_alloc(arena, count, size);
    if (block) memset(block, 0, count * size);
    return block;
}

char *scant__arena_strdup(scant__arena *arena, const char *text) {
    size_t size = strlen(text) + 1;
    char *copy = scant__arena_alloc(arena, size, 1);
    return copy ? memcpy(copy, text, size) : NULL;
}

char *scant__arena_format(scant__arena *arena, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    size_t room = (length > 0 ? (size_t)length : 0) + 1;
    char *text = scant__arena_zalloc(arena, room, 1);
    va_start(args, format);
    if (text) vsnprintf(text, room, format, args);
    va_end(args);
    return text;
}

void scant__arena_end(scant__arena *arena) {
    while (arena->head) {
        struct scant__arena_block *b = arena->head;
        arena->head = b->next;
        scant__free(arena->ctx, b);
    }
}
