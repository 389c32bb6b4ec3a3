/* SPDX-License-Identifier: Apache-2.0 */
#include "core/text.h"

#include <stdio.h>
#include <string.h>

#include "core/number.h"

enum { FIRST = 1024 };

void scant__text_init(scant__text *text, scant_ctx *ctx) {
    *text = (scant__text){.ctx = ctx};
}

/* Makes room for `more` bytes and a zero. */
static bool reserve(scant__text *text, size_t more) {
    if (text->failed) return false;
    size_t need = size_add(text->size, size_add(more, 1));
    if (text->room >= need) return true;
    size_t room = size_max(FIRST, size_max(size_mul(2, text->room), need));
    char *data = text->grow ? text->grow(text->data, room)
                            : scant__realloc(text->ctx, text->data, text->size, room);
    if (!data) return !(text->failed = true);
    text->data = data;
    text->room = room;
    return true;
}

void scant__text_bytes(scant__text *text, const char *bytes, size_t count) {
    if (!count || !reserve(text, count)) return;
    memcpy(text->data + text->size, bytes, count);
    text->size += count;
    text->data[text->size] = 0;
}

void scant__text_add(scant__text *text, const char *string) {
    scant__text_bytes(text, string, strlen(string));
}

void scant__text_addf(scant__text *text, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int size = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (size > 0 && reserve(text, (size_t)size)) {
        vsnprintf(text->data + text->size, (size_t)size + 1, format, again);
        text->size += (size_t)size;
    }
    va_end(again);
}

void scant__text_number(scant__text *text, double value, int digits) {
    char out[SCANT__NUMBER];
    scant__text_add(text, scant__number_round(value, digits, out));
}

static bool needs_quotes(const char *bytes, size_t size) {
    if (size && (memchr(" \t", bytes[0], 2) || memchr(" \t", bytes[size - 1], 2)))
        return true;
    for (size_t i = 0; i < size; i++)
        if (memchr(",\"\r\n", bytes[i], 4)) return true;
    return false;
}

void scant__text_csv_bytes(scant__text *text, const char *bytes, size_t size) {
    if (!needs_quotes(bytes, size)) {
        scant__text_bytes(text, bytes, size);
        return;
    }
    scant__text_add(text, "\"");
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] == '"') scant__text_add(text, "\"");
        scant__text_bytes(text, bytes + i, 1);
    }
    scant__text_add(text, "\"");
}

void scant__text_csv(scant__text *text, const char *string) {
    scant__text_csv_bytes(text, string, strlen(string));
}

/* Whether a spreadsheet runs the cell as a formula, not counting quotes before it. */
static bool is_formula(const char *cell) {
    cell += strspn(cell, "'");
    return *cell && strchr("=+-@\t\r", *cell);
}

void scant__text_csv_quoted(scant__text *text, const char *string) {
    if (!is_formula(string)) {
        scant__text_csv(text, string);
        return;
    }
    scant__text cell = {.ctx = text->ctx};
    scant__text_add(&cell, "'");
    scant__text_add(&cell, string);
    if (cell.failed)
        text->failed = true;
    else
        scant__text_csv(text, cell.data);
    scant__text_end(&cell);
}

const char *scant__csv_unquoted(const char *cell) {
    return *cell == '\'' && is_formula(cell) ? cell + 1 : cell;
}

scant_status scant__text_take(scant__text *text, char **bytes, size_t *size) {
    bool failed = !reserve(text, 0);
    *bytes = failed ? NULL : text->data;
    *size = failed ? 0 : text->size;
    if (!failed) {
        text->data[text->size] = 0;
        text->data = NULL;
    }
    scant__text_end(text);
    return failed ? SCANT_ENOMEM : SCANT_OK; /* the allocator set the message */
}

void scant__text_end(scant__text *text) {
    if (!text->grow) scant__free(text->ctx, text->data);
    *text = (scant__text){.ctx = text->ctx, .grow = text->grow};
}
