/* SPDX-License-Identifier: Apache-2.0
 *
 * People at the page and what they do: sessions, items handed out, answers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scant/project.h"
#include "serve/server.h"

enum {
    GUESSES = 8,
    GUESS_WAIT = 1000,  /* milliseconds */
    MOST_OF_PAGES = 500 /* leases that a person's tabs have together */
};

/* ---- sessions ---------------------------------------------------------------------- */

void write_classes(seat *here, out *o) {
    out_open(o, "classes", '[');
    const char *name;
    for (size_t i = 0; (name = scant_project_class(here->project, i)); i++) {
        out_open(o, NULL, '{');
        out_size(o, "label", i);
        out_string(o, "name", name);
        out_close(o, '}');
    }
    out_close(o, ']');
}

static void write_strategies(out *o) {
    size_t n;
    const scant_strategy_info *const *all = scant_strategies(&n);
    out_open(o, "strategies", '[');
    for (size_t i = 0; i < n; i++) {
        out_open(o, NULL, '{');
        out_string(o, "name", all[i]->name);
        out_string(o, "summary", all[i]->summary);
        out_close(o, '}');
    }
    out_close(o, ']');
}

static scant_status write_project(seat *here, out *o) {
    scant_project_info info;
    scant_status status = scant_project_info_get(here->project, &info);
    if (status != SCANT_OK) return status;
    const char *name = scant_project_get(here->project, "name");
    out_open(o, "project", '{');
    out_string(o, "name", name && *name ? name : here->server->name);
    out_string(o, "key", info.key);
    out_string(o, "kind", info.kind);
    out_size(o, "items", info.items);
    write_classes(here, o);
    out_real(o, "batch", number_setting(here, "batch"));
    out_real(o, "overlap", number_setting(here, "overlap"));
    out_real(o, "lease_seconds", 60 * number_setting(here, "lease_minutes"));
    write_strategies(o);
    out_close(o, '}');
    return SCANT_OK;
}

/* fresh: the cookie is to be another one. */
static void reply_session(seat *here, request *r, const session *now, bool fresh) {
    out o = {0};
    bool stranger = !now->trusted;
    scant_status status = SCANT_OK;
    out_open(&o, NULL, '{');
    if (now->known) {
        out_open(&o, "person", '{');
        out_size(&o, "number", now->person);
        out_string(&o, "name", now->name);
        out_close(&o, '}');
    } else {
        out_null(&o, "person");
    }
    out_string(&o, "csrf", now->csrf);
    out_bool(&o, "needs_token", stranger);
    if (!stranger) status = write_project(here, &o);
    out_close(&o, '}');
    if (status == SCANT_OK) {
        reply_json(r, 200, &o);
    } else {
        out_end(&o);
        reply_failed(here, r, status, 422);
    }
    if (fresh)
        snprintf(r->reply.cookie, sizeof r->reply.cookie,
                 "%s=%s; Path=/; HttpOnly; SameSite=Strict", here->server->cookie,
                 now->id);
}

void handle_session_get(seat *here, request *r) {
    server *s = here->server;
    session now = r->session;
    if (!r->has_session &&
        !session_begin(s->sessions, !s->opts->token, server_now(), &now)) {
        reply_error(r, 503, "the system has no random numbers");
        return;
    }
    reply_session(here, r, &now, !r->has_session);
}

/* Wrong ones wait, a few at a time; who has the right one waits for nobody. */
static bool token_is_right(seat *here, request *r) {
    server *s = here->server;
    if (!s->opts->token || r->session.trusted) return true;
    if (r->args.token && session_same(r->args.token, s->opts->token)) return true;
    size_t wrong = atomic_fetch_add(&s->wrong_tokens, 1) + 1;
    for (size_t n = 1; n <= wrong; n *= 10)
        if (n == wrong)
            server_log(s, SCANT_LOG_WARNING, "%zu wrong token%s so far", wrong,
                       wrong == 1 ? "" : "s");
    if (http_held(s) >= GUESSES)
        reply_error(r, 429, "too many wrong tokens: try again in a while");
    else
        reply_error(r, 403, "the token is wrong");
    r->reply.wait = GUESS_WAIT;
    return false;
}

void handle_session_post(seat *here, request *r) {
    server *s = here->server;
    session now = r->session;
    if (!token_is_right(here, r)) return;
    scant_status status = scant_project_person(here->project, r->args.name, &now.person);
    if (status == SCANT_EUSAGE) status = SCANT_EINPUT; /* it is no name */
    if (status != SCANT_OK) {
        reply_failed(here, r, status, 422);
        return;
    }
    const char *name = scant_project_person_name(here->project, now.person);
    if (!session_enter(s->sessions, r->session.id, now.person, name ? name : r->args.name,
                       &now)) {
        reply_error(r, 503, "the session has ended meanwhile: try again");
        return;
    }
    events_touch(s);
    reply_session(here, r, &now, true);
}

void handle_leave(seat *here, request *r) {
    server *s = here->server;
    session now;
    if (!session_leave(s->sessions, r->session.id, !s->opts->token, &now)) {
        reply_error(r, 503, "the session has ended meanwhile: try again");
        return;
    }
    events_touch(s);
    reply_session(here, r, &now, true);
}

/* ---- items handed out -------------------------------------------------------------- */

static scant_status write_lease(seat *here, out *o, const char *key,
                                const scant_lease *lease) {
    scant_status status = write_item(here, o, key, lease->item);
    if (status != SCANT_OK) return status;
    if (lease->key) {
        out_key64(o, "lease", lease->key);
        out_integer(o, "until", lease->until);
    } else { /* taken back, but not to be answered again */
        out_null(o, "lease");
        out_null(o, "until");
    }
    out_close(o, '}');
    return SCANT_OK;
}

static scant_status write_leases(seat *here, out *o, const scant_lease *leases,
                                 size_t n) {
    scant_status status = SCANT_OK;
    out_open(o, "items", '[');
    for (size_t i = 0; i < n && status == SCANT_OK; i++)
        status = write_lease(here, o, NULL, &leases[i]);
    out_close(o, ']');
    return status;
}

static int64_t lease_lasts(seat *here) {
    return (int64_t)(60000 * number_setting(here, "lease_minutes"));
}

/* Of the leases so many as this page may show, at most `most`. */
static size_t for_page(seat *here, const request *r, scant_lease *leases, size_t n,
                       size_t most) {
    if (!r->args.page) return n < most ? n : most;
    return pages_keep(here->server->pages, r->args.page, server_now(), lease_lasts(here),
                      leases, n, most);
}

/* The library hands out what the person has already, and then new items: as many more are
 * asked for as other pages have. No more are leased by it than are shown. */
static scant_status next_for_page(seat *here, const request *r, scant_lease *leases,
                                  size_t *n) {
    size_t asked = r->args.count, got = 0;
    for (*n = 0;;) {
        scant_status status =
            scant_project_next(here->project, r->session.person, asked, leases, &got);
        if (status != SCANT_OK) return status;
        *n = for_page(here, r, leases, got, r->args.count);
        if (*n >= r->args.count || got < asked || asked >= MOST_OF_PAGES) return SCANT_OK;
        asked += r->args.count - *n;
        if (asked > MOST_OF_PAGES) asked = MOST_OF_PAGES;
    }
}

void handle_next(seat *here, request *r) {
    scant_lease leases[MOST_OF_PAGES];
    scant_project_info info;
    size_t n = 0;
    out o = {0};
    scant_status status = next_for_page(here, r, leases, &n);
    out_open(&o, NULL, '{');
    if (status == SCANT_OK) status = write_leases(here, &o, leases, n);
    if (status == SCANT_OK) status = scant_project_info_get(here->project, &info);
    if (status == SCANT_OK) {
        out_open(&o, "left", '{');
        out_size(&o, "picks", info.waiting);
        out_size(&o, "audit", info.withheld - info.audited);
        out_close(&o, '}');
    }
    out_close(&o, '}');
    reply_out(here, r, &o, status, 422);
}

void handle_alike(seat *here, request *r) {
    size_t items[REQUEST_MOST_NEXT], near = 0, n = 0;
    scant_lease leases[REQUEST_MOST_NEXT];
    out o = {0};
    scant_status status =
        scant_project_alike(here->project, r->args.item, r->args.count, items, &near);
    if (status == SCANT_OK && near)
        status =
            scant_project_take(here->project, r->session.person, items, near, leases, &n);
    if (status == SCANT_OK) n = for_page(here, r, leases, n, n);
    out_open(&o, NULL, '{');
    if (status == SCANT_OK) status = write_leases(here, &o, leases, n);
    out_close(&o, '}');
    if (status == SCANT_EUSAGE && !item_exists(here, r->args.item)) status = SCANT_EINPUT;
    reply_out(here, r, &o, status, 404);
}

/* ---- answers ----------------------------------------------------------------------- */

/* Which items somebody else has by now: those whose lease is not the person's any more.
 */
static void write_conflict(seat *here, out *o, const request *r) {
    const request_args *a = &r->args;
    size_t lost = 0;
    out_open(o, "items", '[');
    for (size_t i = 0; i < a->n_answers; i++) {
        size_t kept = 0;
        scant_status status = a->answers[i].lease
                                  ? scant_project_renew(here->project, r->session.person,
                                                        &a->answers[i].lease, 1, &kept)
                                  : SCANT_OK;
        if (status == SCANT_OK && kept) continue;
        out_size(o, NULL, a->answers[i].item);
        lost++;
    }
    for (size_t i = 0; !lost && i < a->n_answers; i++)
        out_size(o, NULL, a->answers[i].item);
    out_close(o, ']');
}

/* An item or a class that is not there is the request's fault, not a conflict. */
static bool answers_exist(seat *here, request *r) {
    for (size_t i = 0; i < r->args.n_answers; i++) {
        const scant_answer *a = &r->args.answers[i];
        scant_item item;
        if (scant_project_item(here->project, a->item, &item) != SCANT_OK) {
            reply_error(r, 422, "'item': there is no item %zu", a->item);
            return false;
        }
        if (a->kind == SCANT_ANSWER_LABEL &&
            !scant_project_class(here->project, a->label)) {
            reply_error(r, 422, "'label': there is no class %zu", a->label);
            return false;
        }
    }
    return true;
}

static void reply_conflict(seat *here, request *r) {
    char told[500];
    out o = {0};
    public_text(here->server, scant_ctx_errmsg(here->ctx), told, sizeof told);
    out_open(&o, NULL, '{');
    out_string(&o, "error", told);
    write_conflict(here, &o, r);
    out_close(&o, '}');
    if (answers_exist(here, r))
        reply_json(r, 409, &o);
    else
        out_end(&o);
}

void handle_answers(seat *here, request *r) {
    const request_args *a = &r->args;
    scant_receipt receipts[REQUEST_MOST_ANSWERS];
    scant_project_info info;
    out o = {0};
    scant_status status = scant_project_answer(here->project, r->session.person,
                                               a->answers, a->n_answers, receipts);
    if (status == SCANT_EUSAGE) {
        reply_conflict(here, r);
        return;
    }
    if (status == SCANT_OK) events_touch(here->server), worker_wake(here->server);
    out_open(&o, NULL, '{');
    out_open(&o, "receipts", '[');
    for (size_t i = 0; i < a->n_answers && status == SCANT_OK; i++) {
        out_open(&o, NULL, '{');
        out_size(&o, "item", a->answers[i].item);
        out_integer(&o, "entry", receipts[i].entry);
        out_bool(&o, "repeated", receipts[i].repeated != 0);
        out_close(&o, '}');
    }
    out_close(&o, ']');
    if (status == SCANT_OK) status = scant_project_info_get(here->project, &info);
    if (status == SCANT_OK) out_size(&o, "labels", info.labelled);
    out_close(&o, '}');
    reply_out(here, r, &o, status, 422);
}

typedef struct one_entry {
    scant_answer_kind kind;
    int64_t label;
} one_entry;

static scant_status keep_entry(void *user, const scant_entry *entry) {
    one_entry *one = user;
    *one = (one_entry){entry->kind, entry->label};
    return SCANT_OK;
}

void handle_undo(seat *here, request *r) {
    scant_lease lease;
    int64_t entry = 0;
    one_entry was = {.label = -1};
    out o = {0};
    scant_status status = scant_project_undo(here->project, r->session.person,
                                             r->args.entry, r->args.once, &entry, &lease);
    if (status == SCANT_OK) {
        events_touch(here->server);
        worker_wake(here->server);
        if (lease.key) for_page(here, r, &lease, 1, 1);
        status = scant_project_history(here->project, SIZE_MAX, entry - 1, 0, 1,
                                       keep_entry, &was);
    }
    out_open(&o, NULL, '{');
    out_integer(&o, "entry", entry);
    if (status == SCANT_OK) status = write_lease(here, &o, "item", &lease);
    out_open(&o, "was", '{');
    write_said(&o, was.kind, was.label);
    out_close(&o, '}');
    out_close(&o, '}');
    reply_out(here, r, &o, status, 422);
}

void handle_renew(seat *here, request *r) {
    size_t kept = 0;
    out o = {0};
    scant_status status = scant_project_renew(here->project, r->session.person,
                                              r->args.keys, r->args.n_keys, &kept);
    pages_renew(here->server->pages, r->args.keys, r->args.n_keys,
                server_now() + lease_lasts(here));
    out_open(&o, NULL, '{');
    out_size(&o, "kept", kept);
    out_close(&o, '}');
    reply_out(here, r, &o, status, 422);
}

void handle_release(seat *here, request *r) {
    out o = {0};
    scant_status status = scant_project_release(here->project, r->session.person,
                                                r->args.keys, r->args.n_keys);
    pages_renew(here->server->pages, r->args.keys, r->args.n_keys, 0);
    out_open(&o, NULL, '{');
    out_close(&o, '}');
    reply_out(here, r, &o, status, 422);
}

/* ---- one's own answers ------------------------------------------------------------- */

typedef struct own_entry {
    int64_t entry, label, at, spent;
    size_t item;
    scant_answer_kind kind;
    bool stands;
} own_entry;

typedef struct own_entries {
    own_entry list[REQUEST_MOST_MINE];
    size_t n, most;
    int64_t last; /* looked at */
} own_entries;

static scant_status keep_own(void *user, const scant_entry *e) {
    own_entries *own = user;
    own->last = e->entry;
    if (e->kind != SCANT_ANSWER_UNDO && own->n < own->most)
        own->list[own->n++] =
            (own_entry){e->entry, e->label, e->at, e->spent, e->item, e->kind, e->stands};
    return SCANT_OK;
}

/* Undoing is no answer: what it leaves empty is filled from further back. */
static scant_status read_own(seat *here, const request *r, own_entries *own) {
    scant_status status = SCANT_OK;
    own->last = r->args.before;
    own->most = r->args.count;
    while (status == SCANT_OK && own->n < own->most) {
        int64_t before = own->last;
        status = scant_project_history(here->project, r->session.person, before, 1,
                                       own->most - own->n, keep_own, own);
        if (own->last == before || own->last <= 1) break; /* there are no more */
    }
    return status;
}

void handle_mine(seat *here, request *r) {
    own_entries *own = calloc(1, sizeof *own);
    out o = {0};
    if (!own) {
        reply_error(r, 503, "out of memory");
        return;
    }
    scant_status status = read_own(here, r, own);
    out_open(&o, NULL, '{');
    out_open(&o, "entries", '[');
    for (size_t i = 0; i < own->n && status == SCANT_OK; i++) {
        const own_entry *e = &own->list[i];
        status = write_item(here, &o, NULL, e->item);
        if (status != SCANT_OK) break;
        out_integer(&o, "entry", e->entry);
        write_said(&o, e->kind, e->label);
        out_integer(&o, "at", e->at);
        if (e->spent >= 0)
            out_integer(&o, "spent", e->spent);
        else
            out_null(&o, "spent");
        out_bool(&o, "stands", e->stands);
        out_close(&o, '}');
    }
    out_close(&o, ']');
    out_close(&o, '}');
    free(own);
    reply_out(here, r, &o, status, 422);
}

/* ---- classes ----------------------------------------------------------------------- */

void handle_class(seat *here, request *r) {
    size_t label = 0;
    out o = {0};
    scant_status status = scant_project_class_add(here->project, r->args.name, &label);
    if (status == SCANT_OK) events_touch(here->server);
    out_open(&o, NULL, '{');
    out_size(&o, "label", label);
    if (status == SCANT_OK) write_classes(here, &o);
    out_close(&o, '}');
    reply_out(here, r, &o, status, 422);
}
