/* SPDX-License-Identifier: Apache-2.0
 *
 * Text in columns.
 */
#include <string.h>

#include "cli/cli.h"
#include "core/utf8.h"

static size_t column_of(const scant__text *text) {
    size_t start = text->size;
    if (!start) return 0;
    while (start > 0 && text->data[start - 1] != '\n') start--;
    return scant__utf8_count(text->data + start, text->size - start);
}

void cli_text_pad(scant__text *text, size_t column) {
    size_t at = column_of(text);
    if (at > 0 && at >= column) scant__text_add(text, " ");
    for (; at < column; at++) scant__text_add(text, " ");
}

void cli_text_wrap(scant__text *text, size_t indent, const char *words) {
    size_t column = column_of(text);
    bool fresh = true; /* this line has no word yet */
    while (*(words += strspn(words, " "))) {
        size_t length = strcspn(words, " \n"), width = scant__utf8_count(words, length);
        bool newline = *words == '\n';
        if (newline || (!fresh && column + 1 + width > CLI_COLUMNS)) {
            scant__text_add(text, "\n");
            column = 0;
            fresh = true;
        }
        if (newline) {
            words++;
            continue;
        }
        size_t blanks = !fresh ? 1 : column < indent ? indent - column : 0;
        scant__text_addf(text, "%*s%.*s", (int)blanks, "", (int)length, words);
        column += blanks + width;
        fresh = false;
        words += length;
    }
    scant__text_add(text, "\n");
}
