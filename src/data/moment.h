/* SPDX-License-Identifier: Apache-2.0
 *
 * Points in time, in milliseconds since 1970 (UTC, no leap seconds), as ISO 8601 writes
 * them.
 */
#ifndef SCANT_DATA_MOMENT_H
#define SCANT_DATA_MOMENT_H

#include <stdbool.h>
#include <stdint.h>

enum { SCANT__MOMENT = 32 };

/* 2026-11-17T20:05:09.250Z: date; hours and minutes behind a T or a blank; seconds;
 * fractions of them (digits beyond the third are dropped); Z or an offset as +01:00,
 * +0100 or +01. What is left out is zero, an offset that is left out is UTC. Digits alone
 * are milliseconds. False where it is none of these, or before 1970 or after 9999. */
bool scant__moment_parse(const char *text, int64_t *out);
/* 2026-11-17T20:05:09.250Z, so that parsing gives the same. Of 0 and above. Returns out.
 */
const char *scant__moment_format(int64_t at, char out[SCANT__MOMENT]);

#endif
