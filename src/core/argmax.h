/* SPDX-License-Identifier: Apache-2.0
 *
 * The most likely class of a row. Every part of the program uses this function, so that
 * ties are broken in the same way everywhere.
 */
#ifndef SCANT_CORE_ARGMAX_H
#define SCANT_CORE_ARGMAX_H

#include <stddef.h>

/* The index of the largest of n >= 1 values; on a tie, the lowest index. */
static inline size_t scant__argmax(const float *row, size_t n) {
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        if (row[i] > row[best]) best = i;
    return best;
}

#endif
