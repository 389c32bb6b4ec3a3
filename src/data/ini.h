/* SPDX-License-Identifier: Apache-2.0
 *
 * INI text: "[section]" and "key = value" lines. A line that begins with a blank
 * continues the value of the line before, unless it reads "key = ..." (people indent
 * keys). Comments begin with ';' or '#', at the start of a line or after a blank.
 */
#ifndef SCANT_DATA_INI_H
#define SCANT_DATA_INI_H

#include "core/text.h"

/* Callbacks. A status other than SCANT_OK stops the reading and is returned. */
typedef struct scant__ini {
    /* Called for each "[section]", even if it has no keys; may be NULL. */
    scant_status (*on_section)(void *user, const char *section, size_t line);
    /* Called for each key, in the order of the file. line: the key's line number. */
    scant_status (*on_value)(void *user, const char *section, const char *key,
                             const char *value, size_t line);
    void *user;
} scant__ini;

/* Reads all of a text; messages begin with name. SCANT_EINPUT if the text has a zero
 * byte, more than a megabyte, a line of more than 190 bytes, or one that is neither a
 * section nor a key. */
scant_status scant__ini_read(scant_ctx *ctx, const char *name, const void *bytes,
                             size_t size, const scant__ini *ini);

/* Whether a value is the same after writing and reading: no control characters, nothing
 * that begins a comment, no blanks at its ends, and places to break it if it is long. */
bool scant__ini_fits(const char *value);
/* Adds "key = value", a long value on several lines. */
void scant__ini_write(scant__text *text, const char *key, const char *value);

#endif
