/* SPDX-License-Identifier: Apache-2.0
 *
 * Workers take blocks in order from one counter. They are OpenMP threads, or POSIX ones
 * if SCANT_PTHREADS is defined (the thread sanitizer does not understand libgomp's
 * barriers). Inside a loop BLAS runs on one thread: OpenBLAS reads the setting of
 * omp_set_num_threads(), which belongs to the calling task.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getaffinity */
#endif
#include "core/parfor.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include <pthread.h>
#ifdef SCANT_PTHREADS
#include <sched.h>
#else
#include <omp.h>
#endif

#include "core/mem.h"

enum { STACK_SPARE = 1 << 20 }; /* what a thread maps besides its stack, and its guard */

typedef struct job {
    scant_ctx *ctx;
    const char *phase;
    size_t blocks;
    scant__block_fn fn;
    void *arg;
    atomic_size_t next, done;
    atomic_bool stop;
    atomic_flag lock; /* guards the three members below */
    size_t bad_block; /* lowest block that failed; SIZE_MAX: none */
    scant_status status;
    scant__fault *fault;
} job;

static void job_fail(job *j, size_t block, scant_status status,
                     const scant__fault *fault) {
    while (atomic_flag_test_and_set_explicit(&j->lock, memory_order_acquire)) continue;
    if (block < j->bad_block) {
        j->bad_block = block;
        j->status = status;
        *j->fault = *fault;
    }
    atomic_flag_clear_explicit(&j->lock, memory_order_release);
    atomic_store(&j->stop, true);
}

static void job_work(job *j, unsigned worker) {
    /* A block that was taken always runs. Blocks are taken in order, so all those below
     * a failing one run, and the lowest failure is found. */
    while (!atomic_load(&j->stop)) {
        size_t block = atomic_fetch_add(&j->next, 1);
        if (block >= j->blocks) return;
        scant__fault fault = {{0}};
        scant_status s = j->fn(j->arg, block, worker, &fault);
        if (s != SCANT_OK) job_fail(j, block, s, &fault);
        size_t done = atomic_fetch_add(&j->done, 1) + 1;
        if (worker == 0 && scant__tick(j->ctx, j->phase, done, j->blocks) != SCANT_OK) {
            scant__fault_set(&fault, SCANT_ECANCELLED, "cancelled");
            job_fail(j, j->blocks, SCANT_ECANCELLED, &fault);
        }
    }
}

#ifndef SCANT_PTHREADS
/* Returns how many threads can run, and starts them: libgomp ends the process if it
 * cannot start one, and keeps those that the calling thread used last. */
static unsigned startable(unsigned threads) {
    static _Thread_local unsigned running = 1;
    if (threads <= 1) return 1;
    if (threads > running) {
        pthread_attr_t attributes;
        size_t stack = 0;
        if (pthread_getattr_default_np(&attributes) ||
            pthread_attr_getstacksize(&attributes, &stack))
            stack = (size_t)8 << 20;
        while (threads > running &&
               !scant__map_begin((threads - running) * (stack + STACK_SPARE)))
            threads--;
        if (threads > running) {
#pragma omp parallel num_threads((int)threads)
            atomic_signal_fence(memory_order_seq_cst); /* no work */
            scant__map_end();
        }
    }
    return running = threads;
}
#endif

#ifdef SCANT_PTHREADS
enum { MAX_PTHREADS = 256 };

typedef struct start {
    job *j;
    unsigned worker;
} start;

static void *run_worker(void *arg) {
    start *s = arg;
    job_work(s->j, s->worker);
    return NULL;
}

static void job_run(job *j, unsigned threads) {
    pthread_t ids[MAX_PTHREADS];
    start starts[MAX_PTHREADS];
    unsigned started = 1; /* worker 0 is the caller */
    for (; started < threads && started < MAX_PTHREADS; started++) {
        starts[started] = (start){j, started};
        if (pthread_create(&ids[started], NULL, run_worker, &starts[started])) break;
    }
    job_work(j, 0);
    for (unsigned i = 1; i < started; i++) pthread_join(ids[i], NULL);
}

typedef struct share {
    void (*fn)(void *arg, size_t block);
    void *arg;
} share;

static scant_status share_block(void *arg, size_t block, unsigned worker,
                                scant__fault *fault) {
    (void)worker, (void)fault;
    const share *s = arg;
    s->fn(s->arg, block);
    return SCANT_OK;
}

void scant__loop(const scant_ctx *ctx, size_t blocks, void (*fn)(void *arg, size_t block),
                 void *arg) {
    scant_ctx quiet = {.threads =
                           ctx->threads}; /* no callbacks: it cannot be cancelled */
    scant__parfor(&quiet, NULL, blocks, share_block, &(share){fn, arg});
}

unsigned scant__threads_usual(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return (unsigned)CPU_COUNT(&set);
    return 1; /* more cores than a cpu_set_t holds */
}

int scant__threads_enter(const scant_ctx *ctx) { return (void)ctx, 0; }
void scant__threads_leave(int before) { (void)before; }
#else
static void job_run(job *j, unsigned threads) {
    threads = startable(threads);
#pragma omp parallel num_threads((int)threads)
    {
        int before = omp_get_max_threads();
        omp_set_num_threads(1);
        job_work(j, (unsigned)omp_get_thread_num());
        omp_set_num_threads(before);
    }
}

void scant__loop(const scant_ctx *ctx, size_t blocks, void (*fn)(void *arg, size_t block),
                 void *arg) {
    unsigned threads = ctx->threads < blocks ? ctx->threads : (unsigned)blocks;
    threads = startable(threads);
    if (threads <= 1) {
        for (size_t i = 0; i < blocks; i++) fn(arg, i);
        return;
    }
    atomic_size_t next = 0;
#pragma omp parallel num_threads((int)threads)
    for (;;) {
        size_t block = atomic_fetch_add_explicit(&next, 1, memory_order_relaxed);
        if (block >= blocks) break;
        fn(arg, block);
    }
}

/* A container or `taskset` may allow a process only some cores; more threads than cores
 * wait for each other and are very slow. */
unsigned scant__threads_usual(void) {
    int cores = omp_get_num_procs(), most = omp_get_max_threads();
    return (unsigned)(most < cores ? most : cores);
}

int scant__threads_enter(const scant_ctx *ctx) {
    int before = omp_get_max_threads();
    omp_set_num_threads((int)startable(ctx->threads));
    return before;
}

void scant__threads_leave(int before) { omp_set_num_threads(before); }
#endif

scant_status scant__parfor(scant_ctx *ctx, const char *phase, size_t blocks,
                           scant__block_fn fn, void *arg) {
    scant__fault fault = {{0}};
    job j = {.ctx = ctx,
             .phase = phase,
             .blocks = blocks,
             .fn = fn,
             .arg = arg,
             .lock = ATOMIC_FLAG_INIT,
             .bad_block = SIZE_MAX,
             .fault = &fault};
    if (blocks) {
        unsigned threads = ctx->threads < blocks ? ctx->threads : (unsigned)blocks;
        job_run(&j, threads);
    }
    if (j.bad_block == SIZE_MAX) return SCANT_OK;
    return scant__fail(ctx, j.status, "%s", fault.text);
}
