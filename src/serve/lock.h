/* SPDX-License-Identifier: Apache-2.0
 *
 * Locks that are released at the end of a block, and structs that begin with a mutex.
 */
#ifndef SCANT_SERVE_LOCK_H
#define SCANT_SERVE_LOCK_H

#include <pthread.h>
#include <stdlib.h>

#include "core/mem.h"

/* Holds the mutex until the end of the block. */
#define LOCK(mutex) AUTO(unlock) pthread_mutex_t *held_ = lock(mutex)

static inline pthread_mutex_t *lock(pthread_mutex_t *mutex) {
    pthread_mutex_lock(mutex);
    return mutex;
}

static inline void unlock(pthread_mutex_t **mutex) { pthread_mutex_unlock(*mutex); }

/* Returns a zeroed struct whose first member is an initialised mutex; NULL: no memory. */
static inline void *locked_create(size_t size) {
    pthread_mutex_t *mutex = calloc(1, size);
    if (mutex) pthread_mutex_init(mutex, NULL);
    return mutex;
}

static inline void locked_destroy(void *all) {
    if (all) pthread_mutex_destroy(all);
    free(all);
}

#endif
