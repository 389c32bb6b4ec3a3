/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCANT_CORE_CLOCK_H
#define SCANT_CORE_CLOCK_H

#include <time.h>

/* Seconds on a monotonic clock. */
static inline double scant__now(void) {
    struct timespec t = {0};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
