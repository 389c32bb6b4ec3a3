/* SPDX-License-Identifier: Apache-2.0
 *
 * What handlers answer with, and what several of them write.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scant/project.h"
#include "serve/server.h"

/* ---- sentences --------------------------------------------------------------------- */

/* The length of the folders that an absolute path at `text` begins with. */
static size_t folders(const server *s, const char *text) {
    size_t n = strlen(s->dir), length = 0;
    if (n > 1 && strncmp(text, s->dir, n) == 0) /* there may be spaces in it */
        return text[n] == '/' ? n + 1 : (size_t)(strrchr(s->dir, '/') + 1 - s->dir);
    for (size_t i = 0; text[i] && !strchr(" :;,'\")\n", text[i]); i++)
        if (text[i] == '/') length = i + 1;
    return length > 1 || text[1] > ' ' ? length : 0; /* a slash alone is none */
}

void public_text(const server *s, const char *text, char *told, size_t size) {
    size_t used = 0;
    bool begins = true; /* a word does */
    while (*text && used + 1 < size) {
        if (begins && *text == '/') text += folders(s, text);
        if (!*text) break;
        begins = strchr(" '\"(\n", *text) != NULL;
        told[used++] = *text++;
    }
    if (size) told[used] = '\0';
}

void reply_failed(project_handle *h, request *r, scant_status status, int input) {
    int code = status == SCANT_ENOTFOUND    ? (input == 404 ? 404 : 409)
               : status == SCANT_EUSAGE     ? 409
               : status == SCANT_ECONFLICT  ? 409
               : status == SCANT_ENOTREADY  ? 409
               : status == SCANT_EINPUT     ? input
               : status == SCANT_ENOMEM     ? 503
               : status == SCANT_EIO        ? 507
               : status == SCANT_ECANCELLED ? 503
                                            : 500;
    const char *text = status == SCANT_ECANCELLED ? "the server is being ended"
                                                  : scant_ctx_errmsg(h->ctx);
    char told[500];
    if (code >= 500 && status != SCANT_ECANCELLED)
        server_log(h->server, SCANT_LOG_WARNING, "%s", text);
    public_text(h->server, text, told, sizeof told);
    reply_error(r, code, "%s", told);
}

void reply_out(project_handle *h, request *r, scant__json *o, scant_status status,
               int input) {
    if (status == SCANT_OK) {
        reply_json(r, 200, o);
        return;
    }
    scant__json_end(o);
    reply_failed(h, r, status, input);
}

/* ---- bytes ------------------------------------------------------------------------- */

void reply_bytes(project_handle *h, request *r, const char *type, void *bytes,
                 size_t size) {
    void *copy = malloc(size ? size : 1); /* the context's are this thread's alone */
    if (copy) {
        memcpy(copy, bytes, size);
        r->reply = (reply){.status = 200, .type = type, .bytes = copy, .size = size};
        r->replied = true;
    } else {
        reply_error(r, 503, "out of memory");
    }
    scant_bytes_free(h->ctx, bytes);
}

/* ---- parts ------------------------------------------------------------------------- */

void write_said(scant__json *o, scant_answer_kind kind, int64_t label) {
    scant__json_string(o, "kind", request_kind(kind));
    if (label >= 0)
        scant__json_integer(o, "label", label);
    else
        scant__json_null(o, "label");
}

double number_setting(project_handle *h, const char *key) {
    const char *text = scant_project_get(h->project, key);
    return text ? strtod(text, NULL) : 0;
}
