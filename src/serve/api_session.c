/* SPDX-License-Identifier: Apache-2.0
 *
 * Sessions: signing in with a name and a token, signing out.
 */
#include <stdio.h>
#include <string.h>

#include "scant/project.h"
#include "serve/server.h"

void write_classes(project_handle *h, scant__json *o) {
    scant__json_open(o, "classes", '[');
    const char *name;
    for (size_t i = 0; (name = scant_project_class(h->project, i)); i++)
        JSON_OBJECT(o, NULL, MEMBER("label", i), MEMBER("name", name));
    scant__json_close(o, ']');
}

static void write_strategies(scant__json *o) {
    size_t n;
    const scant_strategy_info *const *all = scant_strategies(&n);
    scant__json_open(o, "strategies", '[');
    for (size_t i = 0; i < n; i++)
        JSON_OBJECT(o, NULL, MEMBER("name", all[i]->name),
                    MEMBER("summary", all[i]->summary));
    scant__json_close(o, ']');
}

static scant_status write_project(project_handle *h, scant__json *o) {
    scant_project_info info;
    TRY(scant_project_info_get(h->project, &info));
    const char *name = scant_project_get(h->project, "name");
    scant__json_open(o, "project", '{');
    JSON_MEMBERS(o, MEMBER("name", name && *name ? name : h->server->name),
                 MEMBER("key", info.key), MEMBER("kind", info.kind),
                 MEMBER("items", info.items), MEMBER("batch", number_setting(h, "batch")),
                 MEMBER("overlap", number_setting(h, "overlap")),
                 MEMBER("lease_seconds", 60 * number_setting(h, "lease_minutes")));
    write_classes(h, o);
    write_strategies(o);
    scant__json_close(o, '}');
    return SCANT_OK;
}

/* Writes the session; fresh: also sends a new cookie. */
static scant_status write_session(project_handle *h, request *r, scant__json *o,
                                  const session *now, bool fresh) {
    if (fresh)
        snprintf(r->reply.cookie, sizeof r->reply.cookie,
                 "%s=%s; Path=/; HttpOnly; SameSite=Strict", h->server->cookie, now->id);
    if (now->known)
        JSON_OBJECT(o, "person", MEMBER("number", now->person),
                    MEMBER("name", now->name));
    else
        scant__json_null(o, "person");
    JSON_MEMBERS(o, MEMBER("csrf", now->csrf),
                 MEMBER("needs_token", (bool)!now->trusted));
    return now->trusted ? write_project(h, o) : SCANT_OK;
}

scant_status api_session_get(project_handle *h, request *r, scant__json *o) {
    server *s = h->server;
    session now = r->session;
    if (!r->has_session && !session_begin(s->sessions, server_now(), &now))
        return reply_error(r, 503, "the system provides no random numbers");
    return write_session(h, r, o, &now, !r->has_session);
}

static bool needs_token(const server *s, const request *r) {
    return s->opts->token && !r->session.trusted;
}

/* Replies if the token is wrong, or if it is not compared because too many were wrong. */
static void check_token(server *s, request *r) {
    client_address from = client_from(r->client);
    int64_t now = server_now(), wait = client_guess_wait(s->clients, from, now);
    if (wait > 0) {
        int seconds = (int)((wait + 999) / 1000);
        reply_error(r, 429, "too many wrong tokens from this address: wait %d second%s",
                    seconds, seconds == 1 ? "" : "s");
        r->reply.retry = seconds;
        return;
    }
    if (r->args.token && session_same(r->args.token, s->opts->token)) return;
    client_guessed(s->clients, from, now);
    size_t wrong = atomic_fetch_add(&s->wrong_tokens, 1) + 1;
    for (size_t n = 1; n <= wrong; n *= 10)
        if (n == wrong)
            server_log(s, SCANT_LOG_WARNING, "%zu wrong token%s so far", wrong,
                       wrong == 1 ? "" : "s");
    reply_error(r, 403, "the token is wrong");
}

/* Replies with the changed session `now`; NULL: the session has ended. */
static scant_status change(project_handle *h, request *r, scant__json *o,
                           const session *now) {
    if (!now) return reply_error(r, 503, "the session has ended: try again");
    events_touch(h->server);
    return write_session(h, r, o, now, true);
}

scant_status api_session_post(project_handle *h, request *r, scant__json *o) {
    server *s = h->server;
    session now = r->session;
    if (needs_token(s, r)) check_token(s, r);
    if (r->replied) return SCANT_OK;
    TRY(scant_project_person(h->project, r->args.name, &now.person));
    const char *name = scant_project_person_name(h->project, now.person);
    bool entered = session_enter(s->sessions, r->session.id, now.person,
                                 name ? name : r->args.name, server_now(), &now);
    return change(h, r, o, entered ? &now : NULL);
}

scant_status api_leave(project_handle *h, request *r, scant__json *o) {
    server *s = h->server;
    session now;
    bool left = session_leave(s->sessions, r->session.id, server_now(), &now);
    return change(h, r, o, left ? &now : NULL);
}
