/* SPDX-License-Identifier: Apache-2.0 */
#include "nn/class_names.h"
#include "scant/train.h"

#include <string.h>

enum { MOST_TEXT = 1 << 20 };

static bool plain(unsigned char byte) {
    return byte > ' ' && byte < 0x7f && byte != ',' && byte != '%';
}

/* ---- writing ---- */

static size_t text_size(const scant__names *names) {
    size_t size = names->count;
    for (size_t i = 0; i < names->used; i++)
        size += plain((unsigned char)names->text[i]) ? 1 : 3;
    return size;
}

static char *put(char *at, const char *name) {
    static const char digits[] = "0123456789ABCDEF";
    for (; *name; name++) {
        unsigned char byte = (unsigned char)*name;
        if (plain(byte)) {
            *at++ = *name;
            continue;
        }
        *at++ = '%';
        *at++ = digits[byte >> 4];
        *at++ = digits[byte & 15];
    }
    return at;
}

scant_status nn_class_names_text(const scant_net *n, scant__arena *arena,
                                 const char **out) {
    const scant__names *names = &n->class_names;
    size_t size = text_size(names);
    *out = NULL;
    if (!names->count || size > MOST_TEXT) return SCANT_OK;
    char *text = scant__arena_alloc(arena, size + 1, 1), *at = text;
    if (!text) return SCANT_ENOMEM;
    for (size_t i = 0; i < names->count; i++) {
        if (i) *at++ = ',';
        at = put(at, scant__names_get(names, i));
    }
    *at = 0;
    *out = text;
    return SCANT_OK;
}

/* ---- reading ---- */

static int digit(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Decodes a name of length bytes into out, which has as much room; false if malformed. */
static bool get(const char *text, size_t length, char *out, size_t *size) {
    *size = 0;
    for (size_t i = 0; i < length; i++) {
        char byte = text[i];
        if (byte == '%') {
            if (length - i < 3 || digit(text[i + 1]) < 0 || digit(text[i + 2]) < 0)
                return false;
            byte = (char)(digit(text[i + 1]) * 16 + digit(text[i + 2]));
            i += 2;
        } else if (!plain((unsigned char)byte)) {
            return false;
        }
        if (!byte) return false;
        out[(*size)++] = byte;
    }
    return true;
}

static scant_status read_names(scant_ctx *ctx, const char *path, const char *text,
                               size_t n, char *room, scant__names *out) {
    for (;; text++) {
        size_t length = strcspn(text, ","), size;
        if (out->count == n || !get(text, length, room, &size)) break;
        TRY(scant__names_add(ctx, out, room, size));
        text += length;
        if (!*text && out->count == n) return SCANT_OK;
        if (!*text) break;
    }
    return scant__fail(ctx, SCANT_EINPUT,
                       "%s: scant.class_names is not a list of %zu names, one per class",
                       path, n);
}

scant_status nn_class_names_read(scant_ctx *ctx, const char *path, const char *text,
                                 size_t n, scant__names *out) {
    *out = (scant__names){0};
    char *room = scant__alloc(ctx, strlen(text) + 1, 1);
    if (!room) return SCANT_ENOMEM;
    scant_status s = read_names(ctx, path, text, n, room, out);
    scant__free(ctx, room);
    if (s != SCANT_OK) scant__names_end(ctx, out);
    return s;
}

/* ---- of a network ---- */

const char *scant_net_class_name(const scant_net *n, size_t label) {
    return scant__names_name(&n->class_names, label);
}

scant_status scant_net_set_class_names(scant_net *n, const char *const *names) {
    scant__names taken = {0};
    for (size_t i = 0; i < n->net->classes; i++) {
        const char *name = names[i] ? names[i] : "";
        scant_status s = scant__names_add(n->ctx, &taken, name, strlen(name));
        if (s == SCANT_OK) continue;
        scant__names_end(n->ctx, &taken);
        return s;
    }
    scant__names_end(n->ctx, &n->class_names);
    n->class_names = taken;
    return SCANT_OK;
}

scant_status nn_class_names_take(scant_net *n, const scant_data *data) {
    size_t classes = n->net->classes;
    bool any = false;
    if (scant_data_classes(data) != classes) return SCANT_OK;
    const char **names = scant__alloc(n->ctx, classes, sizeof *names);
    if (!names) return SCANT_ENOMEM;
    for (size_t i = 0; i < classes; i++) {
        names[i] = scant_data_class_name(data, i);
        any = any || names[i];
    }
    scant_status s = any ? scant_net_set_class_names(n, names) : SCANT_OK;
    scant__free(n->ctx, names);
    return s;
}
