/* SPDX-License-Identifier: Apache-2.0
 *
 * The known name closest to a mistyped word.
 */
#ifndef SCANT_CORE_NEAR_H
#define SCANT_CORE_NEAR_H

#include <stddef.h>

/* name_at() gives the i-th of count names. NULL: there are none. */
const char *scant__nearest(const char *word, const void *names, size_t count,
                           const char *(*name_at)(const void *names, size_t i));
/* The same, but NULL if word is too different to be a typo of any. */
const char *scant__nearest_typo(const char *word, const void *names, size_t count,
                                const char *(*name_at)(const void *names, size_t i));

#endif
