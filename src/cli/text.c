/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrapped text, and memory. A program may exit when memory runs out; a library may not.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "core/utf8.h"

void cli_no_memory(void) {
    cli_error("out of memory");
    exit(CLI_SYSTEM);
}

void *cli_calloc(size_t count, size_t size) {
    void *block = calloc(count ? count : 1, size ? size : 1);
    if (!block) cli_no_memory();
    return block;
}

void *cli_grow(void *block, size_t count, size_t size) {
    void *bigger = count <= SIZE_MAX / size ? realloc(block, count * size) : NULL;
    if (!bigger) cli_no_memory();
    return bigger;
}

char *cli_strndup(const char *text, size_t length) {
    char *copy = cli_calloc(length + 1, 1);
    memcpy(copy, text, length);
    return copy;
}

static size_t column_of(const scant__text *text) {
    size_t start = text->size;
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
    bool fresh = true; /* nothing of words on this line yet */
    while (*words) {
        if (*words == '\n') {
            scant__text_add(text, "\n");
            column = 0;
            fresh = true;
            words++;
            continue;
        }
        if (*words == ' ') {
            words++;
            continue;
        }
        size_t length = strcspn(words, " \n"), width = scant__utf8_count(words, length);
        if (!fresh && column + 1 + width > CLI_COLUMNS) {
            scant__text_add(text, "\n");
            column = 0;
            fresh = true;
        }
        if (fresh && column < indent) {
            for (; column < indent; column++) scant__text_add(text, " ");
        } else if (!fresh) {
            scant__text_add(text, " ");
            column++;
        }
        scant__text_bytes(text, words, length);
        column += width;
        fresh = false;
        words += length;
    }
    scant__text_add(text, "\n");
}
