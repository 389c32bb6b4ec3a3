/* SPDX-License-Identifier: Apache-2.0
 *
 * Items: their data and images, predictions, and why they were picked.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/argmax.h"
#include "scant/project.h"
#include "serve/server.h"

enum { LIKELIEST = 5 };

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
        write_optional(&o, "label", item.label);
        scant__json_size(&o, "answers", item.answers);
        scant__json_bool(&o, "disputed", item.disputed != 0);
        status = write_own(h, &o, r);
    }
    reply_object(h, r, &o, status);
}

void api_picture(project_handle *h, request *r) {
    void *bytes = NULL;
    size_t size = 0;
    const char *type = NULL;
    scant_status status = scant_project_picture(h->project, r->args.number, r->args.count,
                                                &bytes, &size, &type);
    if (status != SCANT_OK) {
        reply_failed(h, r, status);
        return;
    }
    reply_bytes(h, r, type, bytes, size);
    if (r->reply.status == 200) r->reply.cache = "private, max-age=86400";
}

/* ---- predictions ------------------------------------------------------------------ */

static void write_most_likely(scant__json *o, float *p, size_t n) {
    scant__json_open(o, "classes", '[');
    for (size_t i = 0; i < LIKELIEST && i < n; i++) {
        size_t best = scant__argmax(p, n);
        scant__json_open(o, NULL, '{');
        scant__json_size(o, "label", best);
        scant__json_number(o, "p", (double)p[best]);
        scant__json_close(o, '}');
        p[best] = -1; /* written */
    }
    scant__json_close(o, ']');
}

/* Writes the prediction for an item; *known false: there is none. */
static scant_status write_prediction(project_handle *h, scant__json *o, size_t item,
                                     size_t *model, bool *known) {
    scant_array *all = NULL;
    scant_status status = scant_project_predicted(h->project, &all, model);
    *known = status == SCANT_OK && all && item < scant_array_shape(all)[0];
    if (*known) {
        size_t n = scant_array_shape(all)[1];
        float *p = calloc(n ? n : 1, sizeof *p);
        status = p ? scant_array_floats(h->ctx, all, item * n, n, p) : SCANT_ENOMEM;
        scant__json_open(o, NULL, '{');
        scant__json_size(o, "model", *model);
        if (status == SCANT_OK) write_most_likely(o, p, n);
        free(p);
    }
    scant_array_free(all);
    return status;
}

void api_prediction(project_handle *h, request *r) {
    scant_item item;
    size_t model = 0;
    bool known = true;
    scant__json o = {0};
    scant_status status = scant_project_item(h->project, r->args.number, &item);
    if (status == SCANT_OK)
        status = write_prediction(h, &o, r->args.number, &model, &known);
    if (status == SCANT_OK && !known)
        reply_error(r, 404,
                    model ? "there is no prediction for this item yet"
                          : "there is no model yet");
    else
        reply_object(h, r, &o, status);
}

static scant_status write_neighbours(project_handle *h, scant__json *o,
                                     const scant_why *why) {
    scant__json_open(o, "neighbours", '[');
    for (size_t i = 0; i < why->n_neighbours; i++) {
        scant_item item;
        scant_status status = scant_project_item(h->project, why->neighbours[i], &item);
        if (status != SCANT_OK) return status;
        write_described(h, o, NULL, &item);
        write_optional(o, "label", item.label);
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
        write_model(&o, why.model);
        write_optional(&o, "class_1", why.class_1);
        scant__json_number(&o, "p_1", why.p_1);
        write_optional(&o, "class_2", why.class_2);
        scant__json_number(&o, "p_2", why.p_2);
        scant__json_number(&o, "entropy", why.entropy);
        scant__json_number(&o, "surer", why.surer);
        scant__json_number(&o, "novelty", why.novelty);
        scant__json_number(&o, "newer", why.newer);
        status = write_neighbours(h, &o, &why);
    }
    reply_object(h, r, &o, status);
}
