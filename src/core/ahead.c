/* SPDX-License-Identifier: Apache-2.0
 *
 * One lock guards all: an item takes some hundred microseconds, a lock less than one.
 */
#include "core/ahead.h"

#include <pthread.h>
#include <stdbool.h>

#include "core/mem.h"

enum { MOST_THREADS = 64 };

typedef struct slot {
    bool full;
    scant_status status;
    scant__fault fault;
} slot;

struct scant__ahead {
    scant_ctx *ctx;
    scant__ahead_job job;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t next;  /* item to begin */
    size_t taken; /* items handed out; the last of them is in use */
    bool stop;
    slot *slots;
    pthread_t ids[MOST_THREADS];
    unsigned started;
};

/* An item's slot is free once the item before in that slot was handed out and the caller
 * came back for another. */
static bool may_begin(const scant__ahead *a) {
    return a->next < a->job.last && a->next < a->taken + a->job.slots - 1;
}

/* With the lock held, which is let go while the item is filled. */
static void do_item(scant__ahead *a) {
    size_t item = a->next++, at = item % a->job.slots;
    slot *s = &a->slots[at];
    if (a->job.prepare) a->job.prepare(a->job.arg, item, at);
    pthread_mutex_unlock(&a->lock);
    scant_status status = a->job.fill(a->job.arg, item, at, &s->fault);
    pthread_mutex_lock(&a->lock);
    s->status = status;
    s->full = true;
    pthread_cond_broadcast(&a->changed);
}

static void *work(void *arg) {
    scant__ahead *a = arg;
    pthread_mutex_lock(&a->lock);
    while (!a->stop && a->next < a->job.last) {
        if (may_begin(a))
            do_item(a);
        else
            pthread_cond_wait(&a->changed, &a->lock);
    }
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

scant_status scant__ahead_start(scant_ctx *ctx, const scant__ahead_job *job,
                                scant__ahead **out) {
    *out = NULL;
    scant__ahead *a = scant__zalloc(ctx, 1, sizeof *a);
    slot *slots = scant__zalloc(ctx, job->slots, sizeof *slots);
    if (!a || !slots) {
        scant__free(ctx, a);
        scant__free(ctx, slots);
        return SCANT_ENOMEM;
    }
    a->ctx = ctx;
    a->job = *job;
    a->slots = slots;
    a->next = a->taken = job->first;
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->changed, NULL);
    for (; a->started < job->threads && a->started < MOST_THREADS; a->started++)
        if (pthread_create(&a->ids[a->started], NULL, work, a)) break;
    *out = a;
    return SCANT_OK;
}

scant_status scant__ahead_take(scant__ahead *a, size_t *out) {
    pthread_mutex_lock(&a->lock);
    size_t item = a->taken++, at = item % a->job.slots;
    if (item > a->job.first) a->slots[(item - 1) % a->job.slots].full = false;
    pthread_cond_broadcast(&a->changed);
    while (!a->slots[at].full) {
        if (!a->started && a->next <= item)
            do_item(a);
        else
            pthread_cond_wait(&a->changed, &a->lock);
    }
    scant_status status = a->slots[at].status;
    pthread_mutex_unlock(&a->lock);
    *out = at;
    if (status == SCANT_OK) return SCANT_OK;
    return scant__fail(a->ctx, status, "%s", a->slots[at].fault.text);
}

void scant__ahead_end(scant__ahead *a) {
    if (!a) return;
    pthread_mutex_lock(&a->lock);
    a->stop = true;
    pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&a->lock);
    for (unsigned i = 0; i < a->started; i++) pthread_join(a->ids[i], NULL);
    pthread_cond_destroy(&a->changed);
    pthread_mutex_destroy(&a->lock);
    scant_ctx *ctx = a->ctx;
    scant__free(ctx, a->slots);
    scant__free(ctx, a);
}
