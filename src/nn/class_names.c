/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "nn/network.h"

enum { MOST_TEXT = 1 << 20 };

static bool plain(unsigned char byte) {
    return byte > ' ' && byte < 0x7f && byte != ',' && byte != '%';
}

/* ---- writing ---- */

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
    *out = NULL;
    if (!names->count || names->used > MOST_TEXT) return SCANT_OK;
    char *text = TRY_NEW(arena, char, 3 * names->used + 1), *at = text;
    for (size_t i = 0; i < names->count; i++) {
        if (i) *at++ = ',';
        at = put(at, scant__names_get(names, i));
    }
    *at = 0;
    if (at - text < MOST_TEXT) *out = text;
    return SCANT_OK;
}

/* ---- reading ---- */

static int digit(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Decodes a name of length bytes into out (length bytes). False: malformed. */
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
    AUTO(scant__arena_end) scant__arena arena = {.ctx = ctx};
    *out = (scant__names){0};
    char *room = TRY_NEW(&arena, char, strlen(text) + 1);
    scant_status s = read_names(ctx, path, text, n, room, out);
    if (s != SCANT_OK) scant__names_end(out);
    return s;
}

/* ---- a network's class names ---- */

const char *scant_net_class_name(const scant_net *n, size_t label) {
    return scant__names_name(&n->class_names, label);
}

scant_status scant_net_set_class_names(scant_net *n, const char *const *names) {
    NEED(n);
    AUTO(scant__names_end) scant__names taken = {0};
    for (size_t i = 0; i < n->net->classes; i++)
        TRY(scant__names_put(n->ctx, &taken, names[i] ? names[i] : ""));
    scant__names old = n->class_names;
    n->class_names = taken;
    taken = old; /* freed now */
    return SCANT_OK;
}

scant_status nn_class_names_take(scant_net *n, const scant_data *data) {
    size_t classes = n->net->classes;
    bool any = false;
    if (scant_data_classes(data) != classes) return SCANT_OK;
    AUTO(scant__arena_end) scant__arena arena = {.ctx = n->ctx};
    const char **names = TRY_NEW(&arena, const char *, classes);
    for (size_t i = 0; i < classes; i++) {
        names[i] = scant_data_class_name(data, i);
        any = any || names[i];
    }
    return any ? scant_net_set_class_names(n, names) : SCANT_OK;
}
