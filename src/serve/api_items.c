/* SPDX-License-Identifier: Apache-2.0
 *
 * Items: their data and images, predictions, and why they were picked.
 */
#include <stdio.h>

#include "core/argmax.h"
#include "scant/project.h"
#include "serve/server.h"

enum { LIKELIEST = 5 };

void write_item(project_handle *h, scant__json *o, const scant_item *item) {
    char text[48];
    snprintf(text, sizeof text, "/api/items/%zu/picture", item->item);
    JSON_MEMBERS(o, MEMBER("item", item->item), MEMBER("id", item->id),
                 MEMBER("text", item->text),
                 MEMBER("picture", item->path || h->server->images ? text : NULL));
}

/* ---- one item ---------------------------------------------------------------------- */

/* Writes the member "mine", the person's own answer. */
static scant_status write_own(project_handle *h, scant__json *o, const request *r) {
    scant_answer_kind kind = SCANT_ANSWER_LABEL;
    int64_t entry = 0, label = -1;
    if (r->has_session && r->session.known)
        TRY(scant_project_current_answer(h->project, r->session.person, r->args.number,
                                         &entry, &kind, &label));
    if (entry)
        JSON_OBJECT(o, "mine", MEMBER("kind", scant_answer_name(kind)),
                    OPTIONAL("label", label), MEMBER("entry", entry));
    else
        scant__json_null(o, "mine");
    return SCANT_OK;
}

scant_status api_item(project_handle *h, request *r, scant__json *o) {
    scant_item item;
    TRY(scant_project_item(h->project, r->args.number, &item));
    write_item(h, o, &item);
    JSON_MEMBERS(o, OPTIONAL("label", item.label), MEMBER("answers", item.answers),
                 MEMBER("disputed", item.disputed));
    return write_own(h, o, r);
}

scant_status api_image(project_handle *h, request *r, scant__json *o) {
    void *bytes = NULL;
    size_t size = 0;
    const char *type = NULL;
    (void)o;
    TRY((r->decodes ? scant_project_image : scant_project_image_cached)(
        h->project, r->args.number, r->args.count, &bytes, &size, &type));
    if (!bytes) {
        r->decodes = true; /* continues in QUEUE_DECODES */
        return SCANT_OK;
    }
    reply_bytes(h, r, type, bytes, size);
    if (r->reply.status == 200) r->reply.cache = "private, max-age=86400";
    return SCANT_OK;
}

/* ---- predictions ------------------------------------------------------------------ */

scant_status api_prediction(project_handle *h, request *r, scant__json *o) {
    AUTO(scant__arena_end) scant__arena arena = {.ctx = h->ctx};
    AUTO(scant_array_auto) scant_array *all = NULL;
    scant_item item;
    size_t model = 0;
    TRY(scant_project_item(h->project, r->args.number, &item));
    TRY(scant_project_predict_cached(h->project, &all, &model));
    if (!all || item.item >= scant_array_shape(all)[0])
        return reply_error(r, 404,
                           model ? "there is no prediction for this item yet"
                                 : "there is no model yet");
    size_t n = scant_array_shape(all)[1];
    float *p = TRY_NEW(&arena, float, n + 1);
    TRY(scant_array_floats(h->ctx, all, item.item * n, n, p));
    scant__json_size(o, "model", model);
    scant__json_open(o, "classes", '[');
    for (size_t i = 0; i < LIKELIEST && i < n; i++) {
        size_t best = scant__argmax(p, n);
        JSON_OBJECT(o, NULL, MEMBER("label", best), MEMBER("p", (double)p[best]));
        p[best] = -1; /* already written */
    }
    scant__json_close(o, ']');
    return SCANT_OK;
}

scant_status api_why(project_handle *h, request *r, scant__json *o) {
    scant_why why;
    TRY(scant_project_why(h->project, r->args.number, &why));
    JSON_MEMBERS(o, model_member(why.model), OPTIONAL("class_1", why.class_1),
                 MEMBER("p_1", why.p_1), OPTIONAL("class_2", why.class_2),
                 MEMBER("p_2", why.p_2), MEMBER("entropy", why.entropy),
                 MEMBER("surer", why.more_certain), MEMBER("novelty", why.novelty),
                 MEMBER("newer", why.more_novel));
    scant__json_open(o, "neighbours", '[');
    for (size_t i = 0; i < why.n_neighbours; i++) {
        scant_item item;
        TRY(scant_project_item(h->project, why.neighbours[i], &item));
        scant__json_open(o, NULL, '{');
        write_item(h, o, &item);
        JSON_MEMBERS(o, OPTIONAL("label", item.label),
                     MEMBER("distance", why.distances[i]));
        scant__json_close(o, '}');
    }
    scant__json_close(o, ']');
    return SCANT_OK;
}
