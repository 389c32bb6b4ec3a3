/* SPDX-License-Identifier: Apache-2.0
 *
 * Items: what they are, their pictures, what the model says of them and why they might
 * be asked about.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scant/project.h"
#include "serve/server.h"

enum { LIKELIEST = 5 };

static void out_label(scant__json *o, const char *key, int64_t label) {
    if (label >= 0)
        scant__json_integer(o, key, label);
    else
        scant__json_null(o, key);
}

static void write_picture(project_handle *h, scant__json *o, const scant_item *item) {
    char text[48];
    snprintf(text, sizeof text, "/api/items/%zu/picture", item->item);
    scant__json_string(o, "picture", item->path || h->server->pictures ? text : NULL);
}

static void write_described(project_handle *h, scant__json *o, const char *key,
                            const scant_item *item) {
    scant__json_open(o, key, '{');
    scant__json_size(o, "item", item->item);
    scant__json_string(o, "id", item->id);
    scant__json_string(o, "text", item->text);
    write_picture(h, o, item);
}

scant_status write_item(project_handle *h, scant__json *o, const char *key,
                        size_t number) {
    scant_item item;
    scant_status status = scant_project_item(h->project, number, &item);
    if (status == SCANT_OK) write_described(h, o, key, &item);
    return status;
}

/* What the library cannot tell of an item that is there waits for a model, or for
 * features: 409. */
static void finish(project_handle *h, request *r, scant__json *o, scant_status status) {
    if (status == SCANT_ENOTFOUND) {
        scant__json_end(o);
        reply_error(r, 404, "there is no item %zu", r->args.number);
        return;
    }
    reply_out(h, r, o, status, 404);
}

/* ---- one item ---------------------------------------------------------------------- */

static scant_status write_own(project_handle *h, scant__json *o, const request *r) {
    scant_answer_kind kind = SCANT_ANSWER_LABEL;
    int64_t entry = 0, label = -1;
    scant_status status = SCANT_OK;
    if (r->has_session && r->session.known)
        status = scant_project_said(h->project, r->session.person, r->args.number, &entry,
                                    &kind, &label);
    if (status != SCANT_OK || !entry) {
        scant__json_null(o, "mine");
        return status;
    }
    scant__json_open(o, "mine", '{');
    write_said(o, kind, label);
    scant__json_integer(o, "entry", entry);
    scant__json_close(o, '}');
    return SCANT_OK;
}

void api_item(project_handle *h, request *r) {
    scant_item item;
    scant__json o = {0};
    scant_status status = scant_project_item(h->project, r->args.number, &item);
    if (status == SCANT_OK) {
        write_described(h, &o, NULL, &item);
        out_label(&o, "label", item.label);
        scant__json_size(&o, "answers", item.answers);
        scant__json_bool(&o, "disputed", item.disputed != 0);
        status = write_own(h, &o, r);
        scant__json_close(&o, '}');
    }
    finish(h, r, &o, status);
}

void api_picture(project_handle *h, request *r) {
    void *bytes = NULL;
    size_t size = 0;
    const char *type = NULL;
    scant_status status = scant_project_picture(h->project, r->args.number, r->args.count,
                                                &bytes, &size, &type);
    if (status != SCANT_OK) {
        finish(h, r, &(scant__json){0}, status);
        return;
    }
    reply_bytes(h, r, type, bytes, size);
    if (r->reply.status == 200) r->reply.cache = "private, max-age=86400";
}

/* ---- what the model says ----------------------------------------------------------- */

static void write_likeliest(scant__json *o, float *p, size_t n) {
    scant__json_open(o, "classes", '[');
    for (size_t i = 0; i < LIKELIEST && i < n; i++) {
        size_t best = scant_likeliest(p, n);
        scant__json_open(o, NULL, '{');
        scant__json_size(o, "label", best);
        scant__json_number(o, "p", (double)p[best]);
        scant__json_close(o, '}');
        p[best] = -1; /* told */
    }
    scant__json_close(o, ']');
}

void api_prediction(project_handle *h, request *r) {
    scant_array *all = NULL;
    scant_item item;
    size_t model = 0;
    float *p = NULL;
    scant__json o = {0};
    scant_status status = scant_project_item(h->project, r->args.number, &item);
    if (status == SCANT_OK) status = scant_project_predicted(h->project, &all, &model);
    if (status == SCANT_OK && (!all || r->args.number >= scant_array_shape(all)[0])) {
        reply_error(r, 404,
                    model ? "the model has not been asked about this item yet"
                          : "there is no model yet");
        scant_array_free(all);
        return;
    }
    if (status == SCANT_OK) {
        size_t n = scant_array_shape(all)[1];
        p = calloc(n ? n : 1, sizeof *p);
        if (!p) {
            reply_error(r, 503, "out of memory");
            scant_array_free(all);
            return;
        }
        status = scant_array_floats(h->ctx, all, r->args.number * n, n, p);
        scant__json_open(&o, NULL, '{');
        scant__json_size(&o, "model", model);
        write_likeliest(&o, p, n);
        scant__json_close(&o, '}');
    }
    free(p);
    scant_array_free(all);
    finish(h, r, &o, status);
}

static scant_status write_neighbours(project_handle *h, scant__json *o,
                                     const scant_why *why) {
    scant__json_open(o, "neighbours", '[');
    for (size_t i = 0; i < why->n_neighbours; i++) {
        scant_item item;
        scant_status status = scant_project_item(h->project, why->neighbours[i], &item);
        if (status != SCANT_OK) return status;
        write_described(h, o, NULL, &item);
        out_label(o, "label", item.label);
        scant__json_number(o, "distance", why->distances[i]);
        scant__json_close(o, '}');
    }
    scant__json_close(o, ']');
    return SCANT_OK;
}

void api_why(project_handle *h, request *r) {
    scant_why why;
    scant__json o = {0};
    scant_status status = scant_project_why(h->project, r->args.number, &why);
    if (status == SCANT_OK) {
        scant__json_open(&o, NULL, '{');
        if (why.model)
            scant__json_size(&o, "model", why.model);
        else
            scant__json_null(&o, "model");
        out_label(&o, "class_1", why.class_1);
        scant__json_number(&o, "p_1", why.p_1);
        out_label(&o, "class_2", why.class_2);
        scant__json_number(&o, "p_2", why.p_2);
        scant__json_number(&o, "entropy", why.entropy);
        scant__json_number(&o, "surer", why.surer);
        scant__json_number(&o, "novelty", why.novelty);
        scant__json_number(&o, "newer", why.newer);
        status = write_neighbours(h, &o, &why);
        scant__json_close(&o, '}');
    }
    finish(h, r, &o, status);
}
