/* SPDX-License-Identifier: Apache-2.0
 *
 * Describes what a file looks like, for messages about unexpected files.
 */
#ifndef SCANT_DATA_FILETYPE_H
#define SCANT_DATA_FILETYPE_H

#include <stdbool.h>
#include <stddef.h>

/* "a gzip file", "text", ... A static string. */
const char *scant__filetype_name(const unsigned char *bytes, size_t size);

/* Copies text of length bytes to out for a message: truncated to fit, control characters
 * replaced by "?". Returns out. */
const char *scant__printable(const unsigned char *text, size_t length, char *out,
                             size_t size);

#endif
