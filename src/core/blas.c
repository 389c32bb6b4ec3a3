/* SPDX-License-Identifier: Apache-2.0
 *
 * The buffers belong to the process. So do the numbers here: how many OpenBLAS has mapped
 * and how many of them contexts have claimed. The functions that map them are not in
 * OpenBLAS' header. If they are missing, buffers are counted and probed for, but not
 * mapped ahead.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_DEFAULT */
#endif
#include "core/blas.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#include "core/mem.h"

/* Buffers mapped ahead; OpenBLAS warns above 2 for each CPU it was built for. */
enum { MOST = 120 };
#define REST ((size_t)64 << 20) /* bytes that all but one leave to the process */

static struct {
    atomic_flag lock;
    void *mapped[MOST];
    size_t n_mapped, claimed;
    size_t spare; /* mapped when OpenBLAS was loaded and released since */
} buffers = {.lock = ATOMIC_FLAG_INIT};

static void lock(void) {
    while (atomic_flag_test_and_set_explicit(&buffers.lock, memory_order_acquire))
        continue;
}

static void unlock(void) {
    atomic_flag_clear_explicit(&buffers.lock, memory_order_release);
}

/* Finds a function. dlsym() returns it as a void *. */
static bool find(const char *name, void *fn) {
    void *symbol = dlsym(RTLD_DEFAULT, name);
    memcpy(fn, &symbol, sizeof symbol);
    return symbol != NULL;
}

void scant__blas_release(void) {
    int (*threads)(void), (*end_threads)(void);
    if (!find("openblas_get_num_threads", &threads) ||
        !find("blas_thread_shutdown_", &end_threads))
        return;
    buffers.spare = (size_t)threads();
    end_threads();
}

static size_t room_for(size_t count) {
    bool first = buffers.n_mapped == 0 && count == 1;
    return count * SCANT__BLAS_BUFFER + (first ? 0 : REST);
}

static bool has_room(size_t count) { return scant__can_map(room_for(count)); }

static bool is_mapped(const void *buffer) {
    for (size_t i = 0; i < buffers.n_mapped; i++)
        if (buffers.mapped[i] == buffer) return true;
    return false;
}

/* Has OpenBLAS map up to `want` buffers, as many as fit. It hands out mapped ones first,
 * so all are taken before any is given back. */
static void map_up_to(size_t want) {
    void *(*blas_take)(int), (*blas_give)(void *);
    void *taken[2 * MOST];
    size_t n = 0;
    if (!find("blas_memory_alloc", &blas_take) || !find("blas_memory_free", &blas_give)) {
        size_t more = 0;
        while (buffers.n_mapped + more < want && has_room(more + 1)) more++;
        buffers.n_mapped += more;
        return;
    }
    while (buffers.n_mapped < want && n < 2 * MOST) {
        bool spare = n < buffers.spare;
        if (!spare && !scant__map_begin(room_for(1))) break;
        void *buffer = taken[n++] = blas_take(0);
        if (!spare) scant__map_end();
        if (!is_mapped(buffer)) buffers.mapped[buffers.n_mapped++] = buffer;
    }
    while (n > 0) blas_give(taken[--n]);
}

/* Claims up to `want` more buffers; returns how many. */
static size_t claim(size_t want) {
    lock();
    size_t most = buffers.claimed + want;
    if (most > buffers.n_mapped && buffers.n_mapped < MOST)
        map_up_to(most < MOST ? most : MOST);
    size_t free =
        buffers.n_mapped > buffers.claimed ? buffers.n_mapped - buffers.claimed : 0;
    /* more than MOST: OpenBLAS maps them when they are used */
    if (buffers.n_mapped == MOST && has_room(want)) free = want;
    size_t got = want < free ? want : free;
    buffers.claimed += got;
    unlock();
    return got;
}

static void unclaim(size_t count) {
    lock();
    buffers.claimed -= count;
    unlock();
}

size_t scant__blas_memory(const scant_ctx *ctx) {
    return ctx->threads > ctx->blas ? (ctx->threads - ctx->blas) * SCANT__BLAS_BUFFER : 0;
}

static size_t free_memory(const scant_ctx *ctx) {
    size_t least = SIZE_MAX;
    for (; ctx; ctx = ctx->parent)
        least = size_min(least, ctx->cap > ctx->used ? ctx->cap - ctx->used : 0);
    return least;
}

/* Counts the buffers of up to `want` threads. Returns for how many there is room. */
static size_t charge(scant_ctx *ctx, size_t want, size_t leave, scant__fault *fault) {
    size_t left = free_memory(ctx);
    size_t most = left > leave ? (left - leave) / SCANT__BLAS_BUFFER : 0;
    size_t count = want < most ? want : most;
    if (ctx->blas + count == 0) count = 1;
    /* other contexts of the same parent may take what was free a moment ago */
    while (!scant__charge(ctx, count * SCANT__BLAS_BUFFER, fault))
        if (--count == 0) return 0;
    return count;
}

static scant_status begin(scant_ctx *ctx, size_t leave) {
    scant__fault fault = {{0}};
    if (ctx->threads <= ctx->blas) return SCANT_OK;
    size_t want = ctx->threads - ctx->blas, allowed = charge(ctx, want, leave, &fault);
    size_t got = claim(allowed);
    scant__uncharge(ctx, (allowed - got) * SCANT__BLAS_BUFFER);
    ctx->blas += (unsigned)got;
    if (ctx->blas == 0 && !allowed)
        return scant__fail(ctx, SCANT_ENOMEM, "OpenBLAS %s (it maps %zu MB for a thread)",
                           fault.text, SCANT__BLAS_BUFFER >> 20);
    if (ctx->blas == 0)
        return scant__fail(ctx, SCANT_ENOMEM,
                           "OpenBLAS needs %zu bytes (%zu MB) for a thread, and the "
                           "system allows no more (see ulimit -v and -d)",
                           SCANT__BLAS_BUFFER, SCANT__BLAS_BUFFER >> 20);
    if (ctx->blas < ctx->threads) {
        scant__warn(ctx,
                    "%u of %u threads are used: OpenBLAS needs %zu MB for each thread, "
                    "and %s allows no more",
                    ctx->blas, ctx->threads, SCANT__BLAS_BUFFER >> 20,
                    got < allowed ? "the system (see ulimit -v and -d)"
                                  : "the limit on memory");
        ctx->threads = ctx->blas;
    }
    return SCANT_OK;
}

scant_status scant__blas_begin(scant_ctx *ctx) {
    return begin(ctx, free_memory(ctx) / 2);
}

scant_status scant__blas_begin_planned(scant_ctx *ctx) { return begin(ctx, 0); }

scant_status scant__blas_for(scant_ctx *ctx, const char *phase, size_t blocks,
                             scant__block_fn fn, void *arg) {
    if (blocks) TRY(scant__blas_begin(ctx));
    return scant__parfor(ctx, phase, blocks, fn, arg);
}

void scant__blas_end(scant_ctx *ctx) {
    if (ctx->blas) unclaim(ctx->blas);
    scant__uncharge(ctx, ctx->blas * SCANT__BLAS_BUFFER);
    ctx->blas = 0;
}
