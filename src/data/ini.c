/* SPDX-License-Identifier: Apache-2.0
 *
 * The library inih parses the text. It gets the lines one by one, so that messages can
 * name the line. Lines that are too long for its buffer are refused.
 */
#include "data/ini.h"

#include <ctype.h>
#include <ini.h>
#include <stdio.h>
#include <string.h>

#include "core/size.h"

enum { MOST_BYTES = 1 << 20, LONGEST = 190, WRAP = 150 };

typedef struct reader {
    scant_ctx *ctx;
    const scant__ini *ini;
    const char *name;
    const char *at, *end;
    size_t line;
    scant_status status;
    char section[64], key[64]; /* section and key of value; key "": no value yet */
    scant__text value;         /* lines of the value so far */
    size_t value_line;
    bool continued; /* the current line begins with a blank */
    bool valued;    /* the current section has a key */
} reader;

/* Whether a line reads "word = ...". */
static bool is_assignment(const char *line, const char *end) {
    while (line < end && (*line == ' ' || *line == '\t')) line++;
    const char *word = line;
    while (line < end && (isalnum((unsigned char)*line) || strchr("._-", *line))) line++;
    if (line == word) return false;
    while (line < end && (*line == ' ' || *line == '\t')) line++;
    return line < end && *line == '=';
}

/* Reports a section to on_section(): inih does not report sections without a key. */
static scant_status find_section(reader *r, const char *line, const char *end) {
    static const char mark[] = "\xEF\xBB\xBF"; /* the byte order mark of UTF-8 */
    char name[64];
    if (r->line == 1 && end - line >= 3 && memcmp(line, mark, 3) == 0) line += 3;
    if (r->continued && r->valued) return SCANT_OK;
    while (line < end && isspace((unsigned char)*line)) line++;
    if (line == end || *line != '[') return SCANT_OK;
    const char *close = memchr(line, ']', (size_t)(end - line));
    if (!close) return SCANT_OK; /* inih refuses it */
    r->valued = false;
    snprintf(name, sizeof name, "%.*s", (int)(close - line - 1), line + 1);
    return r->ini->on_section ? r->ini->on_section(r->ini->user, name, r->line)
                              : SCANT_OK;
}

/* For inih: copies the next line to out (size bytes); NULL at the end. */
static char *next_line(char *out, int size, void *stream) {
    reader *r = stream;
    if (r->at == r->end || r->status != SCANT_OK) return NULL;
    const char *stop = memchr(r->at, '\n', (size_t)(r->end - r->at));
    if (!stop) stop = r->end;
    const char *from = r->at, *to = stop;
    r->at = stop < r->end ? stop + 1 : stop;
    r->line++;
    bool blank = from < to && (*from == ' ' || *from == '\t');
    while (blank && is_assignment(from, to) && (*from == ' ' || *from == '\t')) from++;
    while (to > from && isspace((unsigned char)to[-1])) to--;
    r->continued = from < to && (*from == ' ' || *from == '\t');
    size_t length = (size_t)(to - from);
    if (length > LONGEST || length + 2 > (size_t)size) {
        r->status = scant__fail(r->ctx, SCANT_EINPUT,
                                "%s:%zu: the line is longer than %d bytes; a line that "
                                "begins with a blank continues the value before it",
                                r->name, r->line, LONGEST);
        return NULL;
    }
    r->status = find_section(r, from, to);
    if (r->status != SCANT_OK) return NULL;
    memcpy(out, from, length);
    out[length] = '\n';
    out[length + 1] = 0;
    return out;
}

/* Passes the complete value, if there is one, to on_value(). */
static scant_status flush(reader *r) {
    char *value;
    size_t size;
    if (!*r->key) return SCANT_OK;
    TRY(scant__text_take(&r->value, &value, &size));
    scant_status status =
        r->ini->on_value(r->ini->user, r->section, r->key, value, r->value_line);
    scant__free(r->ctx, value);
    *r->key = 0;
    return status;
}

/* Appends a line to the value, up to a comment. */
static void gather(reader *r, const char *piece) {
    size_t length = 0;
    while (piece[length] && !((piece[length] == '#' || piece[length] == ';') &&
                              (length == 0 || isspace((unsigned char)piece[length - 1]))))
        length++;
    while (length && isspace((unsigned char)piece[length - 1])) length--;
    scant__text_bytes(&r->value, piece, length);
}

static int on_value(void *user, const char *section, const char *key, const char *value) {
    reader *r = user;
    if (r->status != SCANT_OK) return 0;
    r->valued = true;
    if (!(r->continued && *r->key && strcmp(r->key, key) == 0)) {
        r->status = flush(r);
        if (r->status != SCANT_OK) return 0;
        snprintf(r->section, sizeof r->section, "%s", section);
        snprintf(r->key, sizeof r->key, "%s", key);
        r->value_line = r->line;
        if (!*r->key) snprintf(r->key, sizeof r->key, "(nothing)");
    }
    gather(r, value ? value : "");
    return 1;
}

static scant_status read_lines(reader *r) {
    int bad = ini_parse_stream(next_line, r, on_value, r);
    TRY(r->status);
    if (bad)
        return scant__fail(r->ctx, SCANT_EINPUT,
                           "%s:%d: is neither '[section]' nor 'key = value'", r->name,
                           bad > 0 ? bad : 1);
    return flush(r);
}

scant_status scant__ini_read(scant_ctx *ctx, const char *name, const void *bytes,
                             size_t size, const scant__ini *ini) {
    const char *text = bytes;
    if (size > MOST_BYTES)
        return scant__refuse(ctx, name, "has %zu bytes, expected at most %d", size,
                             MOST_BYTES);
    if (size && memchr(text, 0, size))
        return scant__refuse(ctx, name, "is not a text: it has a zero byte");
    reader r = {.ctx = ctx, .ini = ini, .name = name, .at = text, .end = text + size};
    scant__text_init(&r.value, ctx);
    scant_status status = read_lines(&r);
    scant__text_end(&r.value);
    return status;
}

/* ---- writing ----------------------------------------------------------------------- */

/* Returns the length of the first line of a long value, at most WRAP. The next line must
 * be read as its continuation, and no UTF-8 character be cut; 0 if that is impossible. */
static size_t break_at(const char *value, size_t length) {
    for (size_t i = WRAP; i > 1; i--) {
        const char *end = value + i + size_min(length - i, WRAP);
        bool blank = value[i] == ' ' || value[i - 1] == ' ';
        bool comment = value[i] == '#' || value[i] == ';';
        bool within = ((unsigned char)value[i] & 0xC0) == 0x80; /* inside a character */
        if (!blank && !comment && !within && !is_assignment(value + i, end)) return i;
    }
    return 0;
}

static bool breaks(const char *value, size_t length) {
    while (length > WRAP) {
        size_t piece = break_at(value, length);
        if (!piece) return false;
        value += piece;
        length -= piece;
    }
    return true;
}

bool scant__ini_fits(const char *value) {
    size_t length = strlen(value);
    for (size_t i = 0; i < length; i++) {
        bool comment = value[i] == '#' || value[i] == ';';
        if ((unsigned char)value[i] < 0x20 || value[i] == 0x7F) return false;
        if (comment && (i == 0 || value[i - 1] == ' ')) return false;
    }
    if (length && (value[0] == ' ' || value[length - 1] == ' ')) return false;
    return breaks(value, length);
}

void scant__ini_write(scant__text *text, const char *key, const char *value) {
    size_t length = strlen(value);
    scant__text_addf(text, "%s =%s", key, length ? " " : "");
    while (length > WRAP) {
        size_t piece = break_at(value, length); /* not 0, since scant__ini_fits() */
        scant__text_bytes(text, value, piece);
        scant__text_add(text, "\n    ");
        value += piece;
        length -= piece;
    }
    scant__text_bytes(text, value, length);
    scant__text_add(text, "\n");
}
