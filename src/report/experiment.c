/* SPDX-License-Identifier: Apache-2.0 */
#include "report/experiment.h"

#include <ctype.h>
#include <string.h>

#include "report/markup.h"

enum { MOST_KEYS = 1000 }; /* that are compared: experiments have a hundred */

typedef struct piece {
    const char *text;
    size_t length;
} piece;

typedef struct ini {
    const char *at; /* the line that comes next */
    piece section, key, value;
} ini;

static bool is(piece a, const char *word) {
    return a.length == strlen(word) && memcmp(a.text, word, a.length) == 0;
}

static bool same(piece a, piece b) {
    return a.length == b.length && memcmp(a.text, b.text, a.length) == 0;
}

static piece trimmed(const char *from, const char *to) {
    while (from < to && strchr(" \t\r", *from)) from++;
    while (to > from && strchr(" \t\r", to[-1])) to--;
    return (piece){from, (size_t)(to - from)};
}

/* A name of a section or a key; nothing where it is none. */
static piece name_of(const char *from, const char *to) {
    piece name = trimmed(from, to);
    for (size_t i = 0; i < name.length; i++)
        if (!isalnum((unsigned char)name.text[i]) && !strchr("_.-", name.text[i]))
            name.length = 0;
    return name;
}

static piece key_of(const char *line, const char *end) {
    const char *equals = memchr(line, '=', (size_t)(end - line));
    return name_of(line, equals ? equals : line);
}

/* Whether a line goes on with the value before it. */
static bool goes_on(const char *line, const char *end) {
    return (*line == ' ' || *line == '\t') && trimmed(line, end).length &&
           !key_of(line, end).length;
}

/* The next key and its value, which may have line ends in it; false at the end. */
static bool next_value(ini *self) {
    while (*self->at) {
        const char *line = self->at, *end = line + strcspn(line, "\n");
        self->at = *end ? end + 1 : end;
        if (*line == '[') {
            const char *close = memchr(line, ']', (size_t)(end - line));
            self->section = name_of(line + 1, close ? close : end);
            continue;
        }
        self->key = key_of(line, end);
        if (!self->key.length) continue;
        const char *value = (const char *)memchr(line, '=', (size_t)(end - line)) + 1;
        while (goes_on(self->at, self->at + strcspn(self->at, "\n"))) {
            end = self->at + strcspn(self->at, "\n");
            self->at = *end ? end + 1 : end;
        }
        self->value = trimmed(value, end);
        return true;
    }
    return false;
}

bool report_experiment_value(const char *text, const char *section, const char *key,
                             char *out, size_t size) {
    ini file = {.at = text};
    while (next_value(&file)) {
        size_t n = 0;
        if (!is(file.section, section) || !is(file.key, key)) continue;
        for (size_t i = 0; i < file.value.length && n + 1 < size; i++) {
            const char *at = &file.value.text[i];
            if (*at == '\n') /* the next line is set off */
                i += strspn(at + 1, " \t");
            else if (*at != '\r')
                out[n++] = *at;
        }
        out[n] = 0;
        return n > 0;
    }
    return false;
}

/* ---- differences ------------------------------------------------------------------- */

/* Line ends and blanks do not count: a value may be broken elsewhere. */
static bool same_value(piece a, piece b) {
    size_t i = 0, j = 0;
    for (;; i++, j++) {
        while (i < a.length && isspace((unsigned char)a.text[i])) i++;
        while (j < b.length && isspace((unsigned char)b.text[j])) j++;
        if (i == a.length || j == b.length) return i == a.length && j == b.length;
        if (a.text[i] != b.text[j]) return false;
    }
}

/* The value of a key in another folder's experiment; its text is NULL: there is none. */
static piece find_value(const report_folder *folder, const ini *wanted) {
    ini file = {.at = folder->experiment ? folder->experiment : ""};
    for (size_t n = 0; n < MOST_KEYS && next_value(&file); n++)
        if (same(file.section, wanted->section) && same(file.key, wanted->key))
            return file.value;
    return (piece){0};
}

static bool may_differ(const ini *file) {
    return is(file->section, "loop") &&
           (is(file->key, "strategies") || is(file->key, "seeds"));
}

/* Keys that no folder before this one has, and a later one with another value. */
static void add_keys(const report_results *r, size_t folder, scant__text *out) {
    const char *text = r->folders[folder].experiment;
    ini file = {.at = text ? text : ""};
    for (size_t n = 0; n < MOST_KEYS && next_value(&file); n++) {
        bool known = may_differ(&file), differs = false;
        for (size_t i = 0; i < folder && !known; i++)
            known = find_value(&r->folders[i], &file).text;
        for (size_t i = folder + 1; i < r->n_folders && !known && !differs; i++) {
            piece value = find_value(&r->folders[i], &file);
            differs = value.text && !same_value(value, file.value);
        }
        if (!differs) continue;
        if (out->size) scant__text_add(out, ", ");
        scant__text_bytes(out, file.section.text, file.section.length);
        scant__text_add(out, ".");
        scant__text_bytes(out, file.key.text, file.key.length);
    }
}

scant_status report_experiments_differ(report_results *r, const char **keys) {
    scant__text text;
    char *bytes;
    size_t size;
    *keys = NULL;
    scant__text_init(&text, r->arena.ctx);
    for (size_t i = 0; i < r->n_folders; i++) add_keys(r, i, &text);
    bool any = text.size > 0;
    scant__text_bytes(&text, "", 1);
    TRY(scant__text_take(&text, &bytes, &size));
    if (any) *keys = scant__arena_strdup(&r->arena, bytes);
    scant__free(r->arena.ctx, bytes);
    return any && !*keys ? SCANT_ENOMEM : SCANT_OK;
}
