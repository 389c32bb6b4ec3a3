/* SPDX-License-Identifier: Apache-2.0
 *
 * Names that a mistyped word is near to.
 */
#ifndef SCANT_CORE_NEAR_H
#define SCANT_CORE_NEAR_H

#include <stddef.h>

/* As scant_nearest(), but the nearest however far it is; NULL where there are no names.
 */
const char *scant__nearest(const char *word, const void *names, size_t count,
                           const char *(*name_at)(const void *names, size_t i));

#endif
