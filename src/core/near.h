/* SPDX-License-Identifier: Apache-2.0
 *
 * The known name closest to a mistyped word.
 */
#ifndef SCANT_CORE_NEAR_H
#define SCANT_CORE_NEAR_H

#include <stddef.h>

/* Returns the closest of count names, the i-th being name_at(names, i); NULL if count is
 * 0. */
const char *scant__nearest(const char *word, const void *names, size_t count,
                           const char *(*name_at)(const void *names, size_t i));
/* The same, but NULL if word is too different from every name to be a typo. */
const char *scant__nearest_typo(const char *word, const void *names, size_t count,
                                const char *(*name_at)(const void *names, size_t i));

#endif
