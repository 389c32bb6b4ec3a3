/* SPDX-License-Identifier: Apache-2.0
 *
 * Labelling: leases on items, answers, undo, a person's own answers, new classes.
 */
#include <stdlib.h>

#include "scant/project.h"
#include "serve/server.h"

enum { MOST_OF_PAGES = 500 /* leases of all tabs of one person */ };

/* ---- items handed out -------------------------------------------------------------- */

static scant_status write_lease(project_handle *h, scant__json *o, const char *key,
                                const scant_lease *lease) {
    scant_status status = write_item(h, o, key, lease->item);
    if (status != SCANT_OK) return status;
    if (lease->key) {
        scant__json_hex64(o, "lease", lease->key);
        scant__json_integer(o, "until", lease->until);
    } else { /* undone, but not leased again */
        scant__json_null(o, "lease");
        scant__json_null(o, "until");
    }
    scant__json_close(o, '}');
    return SCANT_OK;
}

static scant_status write_leases(project_handle *h, scant__json *o,
                                 const scant_lease *leases, size_t n) {
    scant_status status = SCANT_OK;
    scant__json_open(o, "items", '[');
    for (size_t i = 0; i < n && status == SCANT_OK; i++)
        status = write_lease(h, o, NULL, &leases[i]);
    scant__json_close(o, ']');
    return status;
}

static int64_t lease_lasts(project_handle *h) {
    return (int64_t)(60000 * number_setting(h, "lease_minutes"));
}

/* Keeps at most `most` leases that this page may show. */
static size_t for_page(project_handle *h, const request *r, scant_lease *leases, size_t n,
                       size_t most) {
    if (!r->args.page) return n < most ? n : most;
    return pages_keep(h->server->pages, r->args.page, server_now(), lease_lasts(h),
                      leases, n, most);
}

/* The library returns the person's open leases first, then new items. So ask for as many
 * more as other pages have; no more are leased than shown. */
static scant_status next_for_page(project_handle *h, const request *r,
                                  scant_lease *leases, size_t *n) {
    size_t asked = r->args.count, got = 0;
    for (*n = 0;;) {
        scant_status status =
            scant_project_next(h->project, r->session.person, asked, leases, &got);
        if (status != SCANT_OK) return status;
        *n = for_page(h, r, leases, got, r->args.count);
        if (*n >= r->args.count || got < asked || asked >= MOST_OF_PAGES) return SCANT_OK;
        asked += r->args.count - *n;
        if (asked > MOST_OF_PAGES) asked = MOST_OF_PAGES;
    }
}

void api_next(project_handle *h, request *r) {
    scant_lease leases[MOST_OF_PAGES];
    scant_project_info info;
    size_t n = 0;
    scant__json o = {0};
    scant_status status = next_for_page(h, r, leases, &n);
    scant__json_open(&o, NULL, '{');
    if (status == SCANT_OK) status = write_leases(h, &o, leases, n);
    if (status == SCANT_OK) status = scant_project_info_get(h->project, &info);
    if (status == SCANT_OK) {
        scant__json_open(&o, "left", '{');
        scant__json_size(&o, "picks", info.waiting);
        scant__json_size(&o, "audit", info.withheld - info.audited);
        scant__json_close(&o, '}');
    }
    reply_object(h, r, &o, status);
}

void api_alike(project_handle *h, request *r) {
    size_t items[REQUEST_MOST_NEXT], near = 0, n = 0;
    scant_lease leases[REQUEST_MOST_NEXT];
    scant__json o = {0};
    scant_status status =
        scant_project_alike(h->project, r->args.item, r->args.count, items, &near);
    if (status == SCANT_OK && near)
        status =
            scant_project_take(h->project, r->session.person, items, near, leases, &n);
    if (status == SCANT_OK) n = for_page(h, r, leases, n, n);
    scant__json_open(&o, NULL, '{');
    if (status == SCANT_OK) status = write_leases(h, &o, leases, n);
    reply_object(h, r, &o, status);
}

/* ---- answers ----------------------------------------------------------------------- */

/* The items that are leased to somebody else now. */
static void write_conflict(project_handle *h, scant__json *o, const request *r) {
    const request_args *a = &r->args;
    size_t lost = 0;
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
}

static void reply_conflict(project_handle *h, request *r) {
    char shown[500];
    scant__json o = {0};
    public_text(h->server, scant_ctx_errmsg(h->ctx), shown, sizeof shown);
    scant__json_open(&o, NULL, '{');
    scant__json_string(&o, "error", shown);
    write_conflict(h, &o, r);
    scant__json_close(&o, '}');
    reply_json(r, 409, &o);
}

void api_answers(project_handle *h, request *r) {
    const request_args *a = &r->args;
    scant_receipt receipts[REQUEST_MOST_ANSWERS];
    scant_project_info info;
    scant__json o = {0};
    scant_status status = scant_project_answer(h->project, r->session.person, a->answers,
                                               a->n_answers, receipts);
    if (status == SCANT_ECONFLICT) {
        reply_conflict(h, r);
        return;
    }
    if (status == SCANT_OK) events_touch(h->server), worker_wake(h->server);
    scant__json_open(&o, NULL, '{');
    scant__json_open(&o, "receipts", '[');
    for (size_t i = 0; i < a->n_answers && status == SCANT_OK; i++) {
        scant__json_open(&o, NULL, '{');
        scant__json_size(&o, "item", a->answers[i].item);
        scant__json_integer(&o, "entry", receipts[i].entry);
        scant__json_bool(&o, "repeated", receipts[i].repeated != 0);
        scant__json_close(&o, '}');
    }
    scant__json_close(&o, ']');
    if (status == SCANT_OK) status = scant_project_info_get(h->project, &info);
    if (status == SCANT_OK) scant__json_size(&o, "labels", info.labelled);
    reply_object(h, r, &o, status);
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

void api_undo(project_handle *h, request *r) {
    scant_lease lease;
    int64_t entry = 0;
    one_entry was = {.label = -1};
    scant__json o = {0};
    scant_status status = scant_project_undo(h->project, r->session.person, r->args.entry,
                                             r->args.once, &entry, &lease);
    if (status == SCANT_OK) {
        events_touch(h->server);
        worker_wake(h->server);
        if (lease.key) for_page(h, r, &lease, 1, 1);
        status = scant_project_history(h->project, SIZE_MAX, entry - 1, 0, 1, keep_entry,
                                       &was);
    }
    scant__json_open(&o, NULL, '{');
    scant__json_integer(&o, "entry", entry);
    if (status == SCANT_OK) status = write_lease(h, &o, "item", &lease);
    scant__json_open(&o, "was", '{');
    write_said(&o, was.kind, was.label);
    scant__json_close(&o, '}');
    reply_object(h, r, &o, status);
}

void api_renew(project_handle *h, request *r) {
    size_t kept = 0;
    scant__json o = {0};
    scant_status status = scant_project_renew(h->project, r->session.person, r->args.keys,
                                              r->args.n_keys, &kept);
    pages_renew(h->server->pages, r->args.keys, r->args.n_keys,
                server_now() + lease_lasts(h));
    scant__json_open(&o, NULL, '{');
    scant__json_size(&o, "kept", kept);
    reply_object(h, r, &o, status);
}

void api_release(project_handle *h, request *r) {
    scant__json o = {0};
    scant_status status = scant_project_release(h->project, r->session.person,
                                                r->args.keys, r->args.n_keys);
    pages_renew(h->server->pages, r->args.keys, r->args.n_keys, 0);
    scant__json_open(&o, NULL, '{');
    reply_object(h, r, &o, status);
}

/* ---- a person's answers ------------------------------------------------------------ */

typedef struct own_entry {
    int64_t entry, label, at, spent;
    size_t item;
    scant_answer_kind kind;
    bool stands;
} own_entry;

typedef struct own_entries {
    own_entry list[REQUEST_MOST_MINE];
    size_t n, most;
    int64_t last; /* the last entry that was read */
} own_entries;

static scant_status keep_own(void *user, const scant_entry *e) {
    own_entries *own = user;
    own->last = e->entry;
    if (e->kind != SCANT_ANSWER_UNDO && own->n < own->most)
        own->list[own->n++] =
            (own_entry){e->entry, e->label, e->at, e->spent, e->item, e->kind, e->stands};
    return SCANT_OK;
}

/* Undo entries are left out, so read on until there are enough answers. */
static scant_status read_own(project_handle *h, const request *r, own_entries *own) {
    scant_status status = SCANT_OK;
    own->last = r->args.before;
    own->most = r->args.count;
    while (status == SCANT_OK && own->n < own->most) {
        int64_t before = own->last;
        status = scant_project_history(h->project, r->session.person, before, 1,
                                       own->most - own->n, keep_own, own);
        if (own->last == before || own->last <= 1) break; /* no more */
    }
    return status;
}

void api_mine(project_handle *h, request *r) {
    own_entries *own = calloc(1, sizeof *own);
    scant__json o = {0};
    if (!own) {
        reply_error(r, 503, "out of memory");
        return;
    }
    scant_status status = read_own(h, r, own);
    scant__json_open(&o, NULL, '{');
    scant__json_open(&o, "entries", '[');
    for (size_t i = 0; i < own->n && status == SCANT_OK; i++) {
        const own_entry *e = &own->list[i];
        status = write_item(h, &o, NULL, e->item);
        if (status != SCANT_OK) break;
        scant__json_integer(&o, "entry", e->entry);
        write_said(&o, e->kind, e->label);
        scant__json_integer(&o, "at", e->at);
        write_optional(&o, "spent", e->spent);
        scant__json_bool(&o, "stands", e->stands);
        scant__json_close(&o, '}');
    }
    scant__json_close(&o, ']');
    free(own);
    reply_object(h, r, &o, status);
}

/* ---- classes ----------------------------------------------------------------------- */

void api_class(project_handle *h, request *r) {
    size_t label = 0;
    scant__json o = {0};
    scant_status status = scant_project_class_add(h->project, r->args.name, &label);
    if (status == SCANT_OK) events_touch(h->server);
    scant__json_open(&o, NULL, '{');
    scant__json_size(&o, "label", label);
    if (status == SCANT_OK) write_classes(h, &o);
    reply_object(h, r, &o, status);
}
