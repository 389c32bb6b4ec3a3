/* SPDX-License-Identifier: Apache-2.0
 *
 * Timestamps in milliseconds since 1970 (UTC, no leap seconds) and their ISO 8601 form.
 */
#ifndef SCANT_DATA_TIMESTAMP_H
#define SCANT_DATA_TIMESTAMP_H

#include <stdbool.h>
#include <stdint.h>

enum { SCANT__TIMESTAMP = 32 };

/* Parses 2026-11-17T20:05:09.250Z: a date; optionally hours and minutes after a T or
 * blank, seconds, fractions (digits after the third are dropped), and Z or an offset like
 * +01:00, +0100 or +01. Missing parts are zero, a missing offset is UTC. Digits alone are
 * milliseconds. Returns false for other texts and for times before 1970 or after 9999. */
bool scant__timestamp_parse(const char *text, int64_t *out);
/* Prints `at`, which must not be negative, as 2026-11-17T20:05:09.250Z. Parsing the text
 * gives `at` again. Returns out. */
const char *scant__timestamp_format(int64_t at, char out[SCANT__TIMESTAMP]);

#endif
