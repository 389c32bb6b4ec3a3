/* SPDX-License-Identifier: Apache-2.0
 *
 * What a row of probabilities or logits says. One function, so that all who ask, and
 * meet two that are equally likely, have the same answer.
 */
#include "scant/train.h"

size_t scant_likeliest(const float *row, size_t classes) {
    size_t best = 0;
    for (size_t i = 1; i < classes; i++)
        if (row[i] > row[best]) best = i;
    return best;
}
