/* SPDX-License-Identifier: Apache-2.0
 *
 * One lock is enough: filling an item takes some 100 microseconds, locking less than one.
 */
#include "core/prefetch.h"

#include <pthread.h>
#include <stdbool.h>

#include "core/mem.h"

enum { MOST_THREADS = 64 };

typedef struct slot {
    bool full;
    scant_status status;
    scant__fault fault;
} slot;

struct scant__prefetch {
    scant_ctx *ctx;
    scant__prefetch_job job;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t next;  /* next item to fill */
    size_t taken; /* next item to take; the caller uses the one before */
    bool stop;
    pthread_t ids[MOST_THREADS];
    unsigned started;
    slot slots[];
};

/* A slot is free again when the caller takes the item after the one in the slot. */
static bool may_begin(const scant__prefetch *p) {
    return p->next < p->job.last && p->next < p->taken + p->job.slots - 1;
}

/* The caller holds the lock; it is released while the item is filled. */
static void do_item(scant__prefetch *p) {
    size_t item = p->next++, at = item % p->job.slots;
    slot *s = &p->slots[at];
    if (p->job.prepare) p->job.prepare(p->job.arg, item, at);
    pthread_mutex_unlock(&p->lock);
    scant_status status = p->job.fill(p->job.arg, item, at, &s->fault);
    pthread_mutex_lock(&p->lock);
    s->status = status;
    s->full = true;
    pthread_cond_broadcast(&p->changed);
}

static void *work(void *arg) {
    scant__prefetch *p = arg;
    pthread_mutex_lock(&p->lock);
    while (!p->stop && p->next < p->job.last) {
        if (may_begin(p))
            do_item(p);
        else
            pthread_cond_wait(&p->changed, &p->lock);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

scant_status scant__prefetch_start(scant_ctx *ctx, const scant__prefetch_job *job,
                                   scant__prefetch **out) {
    *out = NULL;
    size_t bytes = size_add(sizeof(scant__prefetch), size_mul(job->slots, sizeof(slot)));
    scant__prefetch *p = scant__zalloc(ctx, bytes, 1);
    if (!p) return SCANT_ENOMEM;
    p->ctx = ctx;
    p->job = *job;
    p->next = p->taken = job->first;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->changed, NULL);
    for (; p->started < job->threads && p->started < MOST_THREADS; p->started++)
        if (pthread_create(&p->ids[p->started], NULL, work, p)) break;
    *out = p;
    return SCANT_OK;
}

scant_status scant__prefetch_take(scant__prefetch *p, size_t *out) {
    pthread_mutex_lock(&p->lock);
    size_t item = p->taken++, at = item % p->job.slots;
    if (item > p->job.first) p->slots[(item - 1) % p->job.slots].full = false;
    pthread_cond_broadcast(&p->changed);
    while (!p->slots[at].full) {
        if (!p->started && p->next <= item)
            do_item(p);
        else
            pthread_cond_wait(&p->changed, &p->lock);
    }
    scant_status status = p->slots[at].status;
    pthread_mutex_unlock(&p->lock);
    *out = at;
    if (status == SCANT_OK) return SCANT_OK;
    return scant__fail(p->ctx, status, "%s", p->slots[at].fault.text);
}

void scant__prefetch_end(scant__prefetch *p) {
    if (!p) return;
    pthread_mutex_lock(&p->lock);
    p->stop = true;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
    for (unsigned i = 0; i < p->started; i++) pthread_join(p->ids[i], NULL);
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->lock);
    scant__free(p->ctx, p);
}
