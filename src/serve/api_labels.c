/* SPDX-License-Identifier: Apache-2.0
 *
 * Labelling: leases on items, answers, undo, a person's own answers, new classes.
 */
#include "scant/project.h"
#include "serve/server.h"

enum { MOST_LEASES = 500 /* maximum number of leases of all pages of one person */ };

/* Notifies pages and the worker that the project has changed. */
static void changed(server *s) {
    events_touch(s);
    worker_wake(s);
}

/* ---- leased items ------------------------------------------------------------------ */

static scant_status write_lease(project_handle *h, scant__json *o, const char *key,
                                const scant_lease *lease) {
    scant_item item;
    TRY(scant_project_item(h->project, lease->item, &item));
    scant__json_open(o, key, '{');
    write_item(h, o, &item);
    if (lease->key)
        scant__json_hex64(o, "lease", lease->key);
    else /* undone, but not leased again */
        scant__json_null(o, "lease");
    JSON_MEMBERS(o, OPTIONAL("until", lease->key ? lease->until : -1));
    scant__json_close(o, '}');
    return SCANT_OK;
}

static scant_status write_leases(project_handle *h, scant__json *o,
                                 const scant_lease *leases, size_t n) {
    scant__json_open(o, "items", '[');
    for (size_t i = 0; i < n; i++) TRY(write_lease(h, o, NULL, &leases[i]));
    scant__json_close(o, ']');
    return SCANT_OK;
}

static int64_t lease_lasts(project_handle *h) {
    return (int64_t)(60000 * number_setting(h, "lease_minutes"));
}

/* Moves up to `most` leases for this page to the front; returns their number. */
static size_t for_page(project_handle *h, const request *r, scant_lease *leases, size_t n,
                       size_t most) {
    if (!r->args.page) return n < most ? n : most;
    return pages_keep(h->server->pages, r->args.page, server_now(), lease_lasts(h),
                      leases, n, most);
}

/* Leases items for this page. The library returns the person's open leases first, then
 * new items: the request grows by the number of leases that other pages show. */
static scant_status next_for_page(project_handle *h, const request *r,
                                  scant_lease *leases, size_t *n) {
    size_t asked = r->args.count, got = 0;
    for (;;) {
        TRY(scant_project_next(h->project, r->session.person, asked, leases, &got));
        *n = for_page(h, r, leases, got, r->args.count);
        if (*n >= r->args.count || got < asked || asked >= MOST_LEASES) return SCANT_OK;
        asked += r->args.count - *n;
        if (asked > MOST_LEASES) asked = MOST_LEASES;
    }
}

scant_status api_next(project_handle *h, request *r, scant__json *o) {
    scant_lease leases[MOST_LEASES];
    scant_project_info info;
    size_t n = 0;
    TRY(next_for_page(h, r, leases, &n));
    TRY(write_leases(h, o, leases, n));
    TRY(scant_project_info_get(h->project, &info));
    JSON_OBJECT(o, "left", MEMBER("picks", info.waiting),
                MEMBER("audit", info.withheld - info.audited));
    return SCANT_OK;
}

scant_status api_alike(project_handle *h, request *r, scant__json *o) {
    size_t items[REQUEST_MOST_NEXT], near = 0, n = 0;
    scant_lease leases[REQUEST_MOST_NEXT];
    TRY(scant_project_alike(h->project, r->args.item, r->args.count, items, &near));
    if (near)
        TRY(scant_project_take(h->project, r->session.person, items, near, leases, &n));
    return write_leases(h, o, leases, for_page(h, r, leases, n, n));
}

/* ---- answers ----------------------------------------------------------------------- */

/* Replies with the items that the person does not hold a lease of, and renews the other
 * leases. Replies with all items if the person holds leases of all. */
static scant_status write_conflict(project_handle *h, request *r, scant__json *o) {
    const request_args *a = &r->args;
    char shown[500];
    size_t lost = 0;
    public_text(h->server, scant_ctx_errmsg(h->ctx), shown, sizeof shown);
    r->reply.status = 409;
    scant__json_string(o, "error", shown);
    scant__json_open(o, "items", '[');
    for (size_t i = 0; i < a->n_answers; i++) {
        size_t kept = 0;
        scant_status status = a->answers[i].lease
                                  ? scant_project_renew(h->project, r->session.person,
                                                        &a->answers[i].lease, 1, &kept)
                                  : SCANT_OK;
        if (status == SCANT_OK && kept) continue;
        scant__json_size(o, NULL, a->answers[i].item);
        lost++;
    }
    for (size_t i = 0; !lost && i < a->n_answers; i++)
        scant__json_size(o, NULL, a->answers[i].item);
    scant__json_close(o, ']');
    return SCANT_OK;
}

scant_status api_answers(project_handle *h, request *r, scant__json *o) {
    const request_args *a = &r->args;
    scant_receipt receipts[REQUEST_MOST_ANSWERS];
    scant_project_info info;
    scant_status status = scant_project_answer(h->project, r->session.person, a->answers,
                                               a->n_answers, receipts);
    if (status == SCANT_ECONFLICT) return write_conflict(h, r, o);
    TRY(status);
    changed(h->server);
    scant__json_open(o, "receipts", '[');
    for (size_t i = 0; i < a->n_answers; i++)
        JSON_OBJECT(o, NULL, MEMBER("item", a->answers[i].item),
                    MEMBER("entry", receipts[i].entry),
                    MEMBER("repeated", receipts[i].repeated));
    scant__json_close(o, ']');
    TRY(scant_project_info_get(h->project, &info));
    scant__json_size(o, "labels", info.labelled);
    return SCANT_OK;
}

static scant_status write_was(void *o, const scant_entry *entry) {
    JSON_OBJECT(o, "was", MEMBER("kind", scant_answer_name(entry->kind)),
                OPTIONAL("label", entry->label));
    return SCANT_OK;
}

scant_status api_undo(project_handle *h, request *r, scant__json *o) {
    scant_lease lease;
    int64_t entry = 0;
    TRY(scant_project_undo(h->project, r->session.person, (int64_t)r->args.entry,
                           r->args.once, &entry, &lease));
    changed(h->server);
    if (lease.key) for_page(h, r, &lease, 1, 1);
    scant__json_integer(o, "entry", entry);
    TRY(scant_project_history(h->project, SIZE_MAX, entry - 1, false, 1, write_was, o));
    return write_lease(h, o, "item", &lease);
}

scant_status api_renew(project_handle *h, request *r, scant__json *o) {
    size_t kept = 0;
    pages_renew(h->server->pages, r->args.keys, r->args.n_keys,
                server_now() + lease_lasts(h));
    TRY(scant_project_renew(h->project, r->session.person, r->args.keys, r->args.n_keys,
                            &kept));
    scant__json_size(o, "kept", kept);
    return SCANT_OK;
}

scant_status api_release(project_handle *h, request *r, scant__json *o) {
    (void)o;
    pages_renew(h->server->pages, r->args.keys, r->args.n_keys, 0);
    return scant_project_release(h->project, r->session.person, r->args.keys,
                                 r->args.n_keys);
}

/* ---- a person's answers ------------------------------------------------------------ */

typedef struct own_entries {
    scant_entry list[REQUEST_MOST_MINE]; /* the string members are not valid */
    size_t n, most;
    int64_t last; /* number of the last entry read */
} own_entries;

static scant_status keep_own(void *user, const scant_entry *e) {
    own_entries *own = user;
    own->last = e->entry;
    if (e->kind != SCANT_ANSWER_UNDO && own->n < own->most) own->list[own->n++] = *e;
    return SCANT_OK;
}

static scant_status write_entry(project_handle *h, scant__json *o, const scant_entry *e) {
    scant_item item;
    TRY(scant_project_item(h->project, e->item, &item));
    scant__json_open(o, NULL, '{');
    write_item(h, o, &item);
    JSON_MEMBERS(o, MEMBER("entry", e->entry), MEMBER("kind", scant_answer_name(e->kind)),
                 OPTIONAL("label", e->label), MEMBER("at", e->at),
                 OPTIONAL("spent", e->spent), MEMBER("stands", e->stands));
    scant__json_close(o, '}');
    return SCANT_OK;
}

scant_status api_mine(project_handle *h, request *r, scant__json *o) {
    AUTO(scant__arena_end) scant__arena arena = {.ctx = h->ctx};
    own_entries *own = TRY_ZERO(&arena, own_entries, 1);
    own->last = (int64_t)r->args.before;
    own->most = r->args.count;
    /* undo entries are left out, so read on until there are enough answers */
    for (int64_t before = -1; own->n < own->most && own->last != before;) {
        before = own->last;
        TRY(scant_project_history(h->project, r->session.person, before, true,
                                  own->most - own->n, keep_own, own));
        if (own->last <= 1) break; /* no more */
    }
    scant__json_open(o, "entries", '[');
    for (size_t i = 0; i < own->n; i++) TRY(write_entry(h, o, &own->list[i]));
    scant__json_close(o, ']');
    return SCANT_OK;
}

/* ---- classes ----------------------------------------------------------------------- */

scant_status api_class(project_handle *h, request *r, scant__json *o) {
    size_t label = 0;
    TRY(scant_project_class_add(h->project, r->args.name, &label));
    events_touch(h->server);
    scant__json_size(o, "label", label);
    write_classes(h, o);
    return SCANT_OK;
}
