/* SPDX-License-Identifier: Apache-2.0
 *
 * Replies, and parts of JSON that several handlers write.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scant/project.h"
#include "serve/server.h"

/* ---- errors ------------------------------------------------------------------------ */

/* Returns the length of the folder part of the absolute path at `text`. */
static size_t folders(const server *s, const char *text) {
    size_t n = strlen(s->dir), length = 0;
    if (n > 1 && strncmp(text, s->dir, n) == 0) /* the folder's name may have spaces */
        return text[n] == '/' ? n + 1 : (size_t)(strrchr(s->dir, '/') + 1 - s->dir);
    for (size_t i = 0; text[i] && !strchr(" :;,'\")\n", text[i]); i++)
        if (text[i] == '/') length = i + 1;
    return length > 1 || text[1] > ' ' ? length : 0; /* a slash alone is not a path */
}

void public_text(const server *s, const char *text, char *out, size_t size) {
    size_t used = 0;
    bool begins = true; /* at the beginning of a word */
    while (*text && used + 1 < size) {
        if (begins && *text == '/') text += folders(s, text);
        if (!*text) break;
        begins = strchr(" '\"(\n", *text) != NULL;
        out[used++] = *text++;
    }
    if (size) out[used] = '\0';
}

/* Returns the HTTP status for a library status and the route's flags. */
static int code_of(scant_status status, unsigned flags) {
    switch (status) {
    case SCANT_ENOTFOUND:
        return flags & ITEM_404 ? 404 : flags & VALUE_422 ? 422 : 409;
    case SCANT_EINPUT:
        return flags & ITEM_404 ? 404 : 422;
    case SCANT_EUSAGE:
    case SCANT_ECONFLICT:
        return flags & VALUE_422 ? 422 : 409;
    case SCANT_ENOTREADY:
        return 409;
    case SCANT_ENOMEM:
    case SCANT_ECANCELLED:
        return 503;
    case SCANT_EIO:
        return 507;
    default:
        return 500;
    }
}

static void reply_failed(project_handle *h, request *r, scant_status status) {
    int code = code_of(status, r->route->flags);
    const char *text = status == SCANT_ECANCELLED ? "the server is shutting down"
                                                  : scant_ctx_errmsg(h->ctx);
    char shown[500];
    if (code >= 500 && status != SCANT_ECANCELLED)
        server_log(h->server, SCANT_LOG_WARNING, "%s", text);
    if (status == SCANT_ENOMEM) text = "out of memory";
    public_text(h->server, text, shown, sizeof shown);
    reply_error(r, code, "%s", shown);
}

void reply_to(project_handle *h, request *r) {
    scant__json o = {0};
    scant__json_open(&o, NULL, '{');
    scant_status status = r->route->handler(h, r, &o);
    if (status != SCANT_OK) reply_failed(h, r, status);
    scant__json_close(&o, '}');
    if (r->replied)
        scant__json_end(&o);
    else
        reply_json(r, r->reply.status ? r->reply.status : 200, &o);
}

/* ---- bytes ------------------------------------------------------------------------- */

void reply_bytes(project_handle *h, request *r, const char *type, void *bytes,
                 size_t size) {
    void *copy = malloc(size ? size : 1); /* the context is not thread-safe */
    if (copy) {
        memcpy(copy, bytes, size);
        r->reply = (reply){.status = 200, .type = type, .bytes = copy, .size = size};
        r->replied = true;
    } else {
        reply_error(r, 503, "out of memory");
    }
    scant_bytes_free(h->ctx, bytes);
}

/* ---- settings and members ---------------------------------------------------------- */

scant__member model_member(size_t model) {
    return OPTIONAL("model", model ? (int64_t)model : -1);
}

double number_setting(project_handle *h, const char *key) {
    const char *text = scant_project_get(h->project, key);
    return text ? strtod(text, NULL) : 0;
}
