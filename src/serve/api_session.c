/* SPDX-License-Identifier: Apache-2.0
 *
 * Sessions: signing in with a name and a token, signing out.
 */
#include <stdio.h>
#include <string.h>

#include "scant/project.h"
#include "serve/server.h"

enum {
    DELAYED_GUESSES = 8, /* most delayed replies to wrong tokens */
    GUESS_DELAY = 1000   /* milliseconds */
};

/* ---- sessions ---------------------------------------------------------------------- */

void write_classes(project_handle *h, scant__json *o) {
    scant__json_open(o, "classes", '[');
    const char *name;
    for (size_t i = 0; (name = scant_project_class(h->project, i)); i++) {
        scant__json_open(o, NULL, '{');
        scant__json_size(o, "label", i);
        scant__json_string(o, "name", name);
        scant__json_close(o, '}');
    }
    scant__json_close(o, ']');
}

static void write_strategies(scant__json *o) {
    size_t n;
    const scant_strategy_info *const *all = scant_strategies(&n);
    scant__json_open(o, "strategies", '[');
    for (size_t i = 0; i < n; i++) {
        scant__json_open(o, NULL, '{');
        scant__json_string(o, "name", all[i]->name);
        scant__json_string(o, "summary", all[i]->summary);
        scant__json_close(o, '}');
    }
    scant__json_close(o, ']');
}

static scant_status write_project(project_handle *h, scant__json *o) {
    scant_project_info info;
    scant_status status = scant_project_info_get(h->project, &info);
    if (status != SCANT_OK) return status;
    const char *name = scant_project_get(h->project, "name");
    scant__json_open(o, "project", '{');
    scant__json_string(o, "name", name && *name ? name : h->server->name);
    scant__json_string(o, "key", info.key);
    scant__json_string(o, "kind", info.kind);
    scant__json_size(o, "items", info.items);
    write_classes(h, o);
    scant__json_number(o, "batch", number_setting(h, "batch"));
    scant__json_number(o, "overlap", number_setting(h, "overlap"));
    scant__json_number(o, "lease_seconds", 60 * number_setting(h, "lease_minutes"));
    write_strategies(o);
    scant__json_close(o, '}');
    return SCANT_OK;
}

/* fresh: send a new cookie. */
static void reply_session(project_handle *h, request *r, const session *now, bool fresh) {
    scant__json o = {0};
    bool stranger = !now->trusted;
    scant_status status = SCANT_OK;
    scant__json_open(&o, NULL, '{');
    if (now->known) {
        scant__json_open(&o, "person", '{');
        scant__json_size(&o, "number", now->person);
        scant__json_string(&o, "name", now->name);
        scant__json_close(&o, '}');
    } else {
        scant__json_null(&o, "person");
    }
    scant__json_string(&o, "csrf", now->csrf);
    scant__json_bool(&o, "needs_token", stranger);
    if (!stranger) status = write_project(h, &o);
    reply_object(h, r, &o, status);
    if (fresh)
        snprintf(r->reply.cookie, sizeof r->reply.cookie,
                 "%s=%s; Path=/; HttpOnly; SameSite=Strict", h->server->cookie, now->id);
}

void api_session_get(project_handle *h, request *r) {
    server *s = h->server;
    session now = r->session;
    if (!r->has_session &&
        !session_begin(s->sessions, !s->opts->token, server_now(), &now)) {
        reply_error(r, 503, "the system provides no random numbers");
        return;
    }
    reply_session(h, r, &now, !r->has_session);
}

/* Replies to wrong tokens are delayed, a few at a time; right ones never wait. */
static bool token_is_right(project_handle *h, request *r) {
    server *s = h->server;
    if (!s->opts->token || r->session.trusted) return true;
    if (r->args.token && session_same(r->args.token, s->opts->token)) return true;
    size_t wrong = atomic_fetch_add(&s->wrong_tokens, 1) + 1;
    for (size_t n = 1; n <= wrong; n *= 10)
        if (n == wrong)
            server_log(s, SCANT_LOG_WARNING, "%zu wrong token%s so far", wrong,
                       wrong == 1 ? "" : "s");
    if (http_delayed(s) >= DELAYED_GUESSES)
        reply_error(r, 429, "too many wrong tokens: try again later");
    else
        reply_error(r, 403, "the token is wrong");
    r->reply.wait = GUESS_DELAY;
    return false;
}

void api_session_post(project_handle *h, request *r) {
    server *s = h->server;
    session now = r->session;
    if (!token_is_right(h, r)) return;
    scant_status status = scant_project_person(h->project, r->args.name, &now.person);
    if (status != SCANT_OK) {
        reply_failed(h, r, status);
        return;
    }
    const char *name = scant_project_person_name(h->project, now.person);
    if (!session_enter(s->sessions, r->session.id, now.person, name ? name : r->args.name,
                       &now)) {
        reply_error(r, 503, "the session has ended: try again");
        return;
    }
    events_touch(s);
    reply_session(h, r, &now, true);
}

void api_leave(project_handle *h, request *r) {
    server *s = h->server;
    session now;
    if (!session_leave(s->sessions, r->session.id, !s->opts->token, &now)) {
        reply_error(r, 503, "the session has ended: try again");
        return;
    }
    events_touch(s);
    reply_session(h, r, &now, true);
}
