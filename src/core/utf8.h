/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading UTF-8 from any bytes.
 */
#ifndef SCANT_CORE_UTF8_H
#define SCANT_CORE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SCANT__UTF8_BAD = 0x110000 }; /* above the last code point */

/* Decodes the character at bytes and returns its length in bytes. For a malformed
 * sequence *code is SCANT__UTF8_BAD, and the length is that of the bytes that Unicode
 * replaces by one U+FFFD: the longest part that could begin a character. size must be at
 * least 1; for a string that ends in a zero it may be SIZE_MAX. */
size_t scant__utf8_next(const char *bytes, size_t size, uint32_t *code);
/* Counts the characters; each malformed sequence counts as one. */
size_t scant__utf8_count(const char *bytes, size_t size);
/* Whether a string that ends in a zero is UTF-8. */
bool scant__utf8_valid(const char *string);

#endif
