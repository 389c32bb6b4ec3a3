/* SPDX-License-Identifier: Apache-2.0
 *
 * Strings that grow, wrapped text, UTF-8. A program may die for want of memory, a library
 * may not; hence the allocation here ends the program.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static void die_without_memory(void) {
    cli_error("out of memory");
    exit(CLI_SYSTEM);
}

void *cli_calloc(size_t count, size_t size) {
    void *block = calloc(count ? count : 1, size ? size : 1);
    if (!block) die_without_memory();
    return block;
}

void *cli_grow(void *block, size_t count, size_t size) {
    void *bigger = count <= SIZE_MAX / size ? realloc(block, count * size) : NULL;
    if (!bigger) die_without_memory();
    return bigger;
}

char *cli_strndup(const char *text, size_t length) {
    char *copy = cli_calloc(length + 1, 1);
    memcpy(copy, text, length);
    return copy;
}

static void reserve(cli_text *text, size_t more) {
    if (text->room - text->size >= more) return;
    size_t room = text->room ? text->room : 256;
    while (room - text->size < more) {
        if (room > SIZE_MAX / 2) die_without_memory();
        room *= 2;
    }
    text->data = cli_grow(text->data, room, 1);
    text->room = room;
}

void cli_text_bytes(cli_text *text, const char *bytes, size_t count) {
    if (!count) return;
    reserve(text, count);
    memcpy(text->data + text->size, bytes, count);
    text->size += count;
}

void cli_text_add(cli_text *text, const char *string) {
    cli_text_bytes(text, string, strlen(string));
}

void cli_text_addf(cli_text *text, const char *format, ...) {
    va_list args;
    reserve(text, 128);
    va_start(args, format);
    int need = vsnprintf(text->data + text->size, text->room - text->size, format, args);
    va_end(args);
    if (need < 0) return; /* no format of ours can fail */
    if ((size_t)need >= text->room - text->size) {
        reserve(text, (size_t)need + 1);
        va_start(args, format);
        vsnprintf(text->data + text->size, text->room - text->size, format, args);
        va_end(args);
    }
    text->size += (size_t)need;
}

static size_t characters(const char *bytes, size_t size) {
    size_t count = 0;
    uint32_t code;
    for (size_t at = 0; at < size; count++) at += cli_utf8(bytes + at, size - at, &code);
    return count;
}

static size_t column_of(const cli_text *text) {
    size_t start = text->size;
    while (start > 0 && text->data[start - 1] != '\n') start--;
    return characters(text->data + start, text->size - start);
}

void cli_text_pad(cli_text *text, size_t column) {
    size_t at = column_of(text);
    if (at > 0 && at >= column) cli_text_add(text, " ");
    for (; at < column; at++) cli_text_add(text, " ");
}

void cli_text_wrap(cli_text *text, size_t indent, const char *words) {
    size_t column = column_of(text);
    bool fresh = true; /* nothing of words on this line yet */
    while (*words) {
        if (*words == '\n') {
            cli_text_add(text, "\n");
            column = 0;
            fresh = true;
            words++;
            continue;
        }
        if (*words == ' ') {
            words++;
            continue;
        }
        size_t length = strcspn(words, " \n"), width = characters(words, length);
        if (!fresh && column + 1 + width > CLI_COLUMNS) {
            cli_text_add(text, "\n");
            column = 0;
            fresh = true;
        }
        if (fresh && column < indent) {
            for (; column < indent; column++) cli_text_add(text, " ");
        } else if (!fresh) {
            cli_text_add(text, " ");
            column++;
        }
        cli_text_bytes(text, words, length);
        column += width;
        fresh = false;
        words += length;
    }
    cli_text_add(text, "\n");
}

void cli_text_end(cli_text *text) {
    free(text->data);
    *text = (cli_text){0};
}

/* Follows Unicode's table of well-formed sequences; a broken one is replaced as far as it
 * was good, as other programs do. */
size_t cli_utf8(const char *bytes, size_t size, uint32_t *code) {
    const unsigned char *b = (const unsigned char *)bytes;
    unsigned low = 0x80, high = 0xBF;
    size_t more;
    uint32_t value;
    *code = b[0];
    if (b[0] < 0x80) return 1;
    *code = 0xFFFD;
    if (b[0] >= 0xC2 && b[0] <= 0xDF) {
        more = 1;
        value = b[0] & 0x1Fu;
    } else if (b[0] >= 0xE0 && b[0] <= 0xEF) {
        more = 2;
        value = b[0] & 0x0Fu;
        if (b[0] == 0xE0) low = 0xA0;  /* overlong */
        if (b[0] == 0xED) high = 0x9F; /* surrogates */
    } else if (b[0] >= 0xF0 && b[0] <= 0xF4) {
        more = 3;
        value = b[0] & 0x07u;
        if (b[0] == 0xF0) low = 0x90;
        if (b[0] == 0xF4) high = 0x8F; /* above U+10FFFF */
    } else {
        return 1;
    }
    for (size_t i = 1; i <= more; i++) {
        if (i >= size || b[i] < low || b[i] > high) return i;
        value = value << 6 | (b[i] & 0x3Fu);
        low = 0x80;
        high = 0xBF;
    }
    *code = value;
    return more + 1;
}
