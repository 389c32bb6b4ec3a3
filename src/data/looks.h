/* SPDX-License-Identifier: Apache-2.0
 *
 * What a file looks like, for the message that says it is not what was expected.
 */
#ifndef SCANT_DATA_LOOKS_H
#define SCANT_DATA_LOOKS_H

#include <stdbool.h>
#include <stddef.h>

/* "a gzip file", "text", ... A static string. */
const char *scant__looks_like(const unsigned char *bytes, size_t size);

/* Copies text of length bytes to out for a message: cut to fit, "?" for what a terminal
 * could take as a command. Returns out. */
const char *scant__printable(const unsigned char *text, size_t length, char *out,
                             size_t size);

#endif
