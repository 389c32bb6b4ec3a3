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

/* Returns the HTTP status for a library status. It depends on the route as well, because
 * the contract (web/openapi.json) does: SCANT_ENOTFOUND is 404 for the item that a
 * request is about, 422 for an item or class of an answer, 409 for an undo without an
 * answer. */
static int code_of(scant_status status, unsigned flags) {
    static const struct {
        int other, item, value; /* item: with ITEM_404; value: with VALUE_422 */
    } codes[] = {
        [SCANT_EUSAGE] = {409, 409, 422},
        /* 404: an image that cannot be read; 503: the database is damaged, and a page
         * must not drop its answers */
        [SCANT_EINPUT] = {422, 404, 503},
        [SCANT_ENOTFOUND] = {409, 404, 422},
        [SCANT_ECONFLICT] = {409, 409, 422}, /* 422: a setting; api_answers() gives 409 */
        [SCANT_ENOTREADY] = {409, 409, 409},
        [SCANT_ENOMEM] = {503, 503, 503},
        [SCANT_ECANCELLED] = {503, 503, 503},
        [SCANT_EIO] = {507, 507, 507},
    };
    size_t i = (size_t)status;
    if (i >= sizeof codes / sizeof *codes || !codes[i].other) return 500;
    if (flags & ITEM_404) return codes[i].item;
    return flags & VALUE_422 ? codes[i].value : codes[i].other;
}

static void reply_failed(project_handle *h, request *r, scant_status status) {
    int code = code_of(status, r->route->flags);
    bool lost =
        status == SCANT_EIO && h->project && scant_project_check(h->project) != SCANT_OK;
    if (lost) code = 503; /* the disk is not full: answers wait for the file to return */
    const char *text = status == SCANT_ECANCELLED ? "the server is shutting down"
                                                  : scant_ctx_errmsg(h->ctx);
    char shown[500];
    if (code >= 500 && status != SCANT_ECANCELLED)
        server_log(h->server, lost ? SERVE_LOG_ERROR : SCANT_LOG_WARNING, "%s", text);
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
    if (r->replied || (r->decodes && !r->reply.status))
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
