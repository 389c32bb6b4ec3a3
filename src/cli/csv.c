/* SPDX-License-Identifier: Apache-2.0
 *
 * The little CSV that the program writes.
 */
#include <string.h>

#include "cli/cli.h"

/* RFC 4180, and quotes where a reader might trim blanks. */
void cli_csv_field(cli_text *text, const char *bytes, size_t size) {
    bool quote = size > 0 && (strchr(" \t", bytes[0]) || strchr(" \t", bytes[size - 1]));
    for (size_t i = 0; i < size && !quote; i++)
        quote = bytes[i] && strchr(",\"\r\n", bytes[i]);
    if (!quote) {
        cli_text_bytes(text, bytes, size);
        return;
    }
    cli_text_add(text, "\"");
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] == '"') cli_text_add(text, "\"");
        cli_text_bytes(text, bytes + i, 1);
    }
    cli_text_add(text, "\"");
}
