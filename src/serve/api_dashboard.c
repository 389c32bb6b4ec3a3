/* SPDX-License-Identifier: Apache-2.0
 *
 * The dashboard: status, the map, settings, exports; and the files of the page.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/argmax.h"
#include "loop/project_json.h"
#include "scant/project.h"
#include "serve/assets.h"
#include "serve/server.h"

/* ---- status ------------------------------------------------------------------------ */

static scant_status write_point(void *o, const scant_model_point *p) {
    scant__json_open(o, NULL, '{');
    scant__json_model(o, p);
    scant__json_integer(o, "at", p->at);
    scant__json_close(o, '}');
    return SCANT_OK;
}

static scant_status write_round(void *o, const scant_round_point *p) {
    scant__json_open(o, NULL, '{');
    scant__json_round(o, p);
    JSON_MEMBERS(o, model_member(p->model), MEMBER("at", p->at));
    scant__json_close(o, '}');
    return SCANT_OK;
}

static scant_status write_meter(project_handle *h, scant__json *o) {
    scant_meter meter;
    char *text = NULL;
    TRY(scant_project_meter(h->project, &meter));
    const scant_model_point *last = &meter.last;
    scant__json_open(o, "meter", '{');
    scant__json_meter(o, &meter);
    JSON_MEMBERS(o, model_member(last->model), MEMBER("labels", last->labels),
                 MEMBER("audited", last->audited), MEMBER("right", last->right),
                 MEMBER("agreement", last->agreement));
    scant__json_close(o, '}');
    TRY(scant_project_advice(h->project, &meter, &text));
    scant__json_open(o, "advice", '['); /* an array of paragraphs */
    char *rest = NULL;
    for (char *part = strtok_r(text, "\n", &rest); part;
         part = strtok_r(NULL, "\n", &rest))
        scant__json_string(o, NULL, part);
    scant__json_close(o, ']');
    scant_bytes_free(h->ctx, text);
    return SCANT_OK;
}

static scant_status write_collapse(project_handle *h, scant__json *o) {
    scant_collapse collapse;
    TRY(scant_project_collapse(h->project, &collapse));
    if (!collapse.at) {
        scant__json_null(o, "collapsed");
        return SCANT_OK;
    }
    scant__json_open(o, "collapsed", '{');
    scant__json_collapse(o, &collapse);
    scant__json_integer(o, "at", collapse.at);
    scant__json_close(o, '}');
    return SCANT_OK;
}

static void write_settings(project_handle *h, scant__json *o) {
    scant__json_open(o, "settings", '{');
    size_t count;
    const scant_option *rows = scant_project_options(&count);
    for (size_t i = 0; i < count; i++)
        scant__json_string(o, rows[i].key, scant_project_get(h->project, rows[i].key));
    scant__json_close(o, '}');
}

static scant_status write_lists(project_handle *h, scant__json *o) {
    scant_project *p = h->project;
    scant__json_open(o, "models", '[');
    TRY(scant_project_models(p, write_point, o));
    scant__json_close(o, ']');
    scant__json_open(o, "rounds", '[');
    TRY(scant_project_rounds(p, write_round, o));
    scant__json_close(o, ']');
    return SCANT_OK;
}

scant_status api_status(project_handle *h, request *r, scant__json *o) {
    server *s = h->server;
    scant_project_info info;
    (void)r;
    TRY(scant_project_info_get(h->project, &info));
    scant__json_open(o, "info", '{');
    scant__json_counts(o, &info);
    JSON_MEMBERS(o, MEMBER("rounds", info.rounds), MEMBER("models", info.models),
                 MEMBER("people", info.people));
    scant__json_close(o, '}');
    TRY(write_collapse(h, o));
    TRY(write_meter(h, o));
    TRY(write_lists(h, o));
    TRY(statistics_pairs(s->statistics, h, &info, o));
    TRY(statistics_balance(s->statistics, h, &info, o));
    TRY(statistics_people(s->statistics, h, o));
    worker_write(s, o, "worker");
    write_settings(h, o);
    return SCANT_OK;
}

/* ---- the map ----------------------------------------------------------------------- */

typedef struct map {
    size_t n, n_items;
    size_t *items;
    float *xy;
    int64_t *labels;       /* labels of all items */
    unsigned char *picked; /* of all items: picked in the last round */
    int32_t *predicted;    /* predicted classes of the points; -1: unknown */
} map;

/* Reads the predicted classes, where known; *model is 0 if there are no predictions. */
static scant_status map_predict(project_handle *h, scant__arena *arena, map *m,
                                size_t *model) {
    AUTO(scant_array_auto) scant_array *all = NULL;
    for (size_t i = 0; i < m->n; i++) m->predicted[i] = -1;
    TRY(scant_project_predict_cached(h->project, &all, model));
    if (!all) {
        *model = 0;
        return SCANT_OK;
    }
    size_t rows = scant_array_shape(all)[0], classes = scant_array_shape(all)[1];
    float *p = TRY_NEW(arena, float, classes + 1);
    for (size_t i = 0; i < m->n; i++) {
        if (m->items[i] >= rows || !classes) continue;
        TRY(scant_array_floats(h->ctx, all, m->items[i] * classes, classes, p));
        m->predicted[i] = (int32_t)scant__argmax(p, classes);
    }
    return SCANT_OK;
}

/* Marks the picks of the last round. */
static scant_status map_picks(project_handle *h, scant__arena *arena, map *m) {
    size_t n = 0;
    TRY(scant_project_picked(h->project, 0, NULL, &n));
    size_t room = n, *items = TRY_NEW(arena, size_t, room);
    TRY(scant_project_picked(h->project, room, items, &n));
    for (size_t i = 0; i < n && i < room; i++)
        if (items[i] < m->n_items) m->picked[items[i]] = 1;
    return SCANT_OK;
}

static void write_points(scant__json *o, const map *m) {
    scant__json_open(o, "points", '[');
    for (size_t i = 0; i < m->n; i++) {
        size_t item = m->items[i];
        scant__json_open(o, NULL, '[');
        scant__json_size(o, NULL, item);
        /* three digits are enough for any screen */
        scant__json_number(o, NULL, round((double)m->xy[2 * i] * 1000) / 1000);
        scant__json_number(o, NULL, round((double)m->xy[2 * i + 1] * 1000) / 1000);
        scant__json_integer(o, NULL, item < m->n_items ? m->labels[item] : -1);
        scant__json_integer(o, NULL, item < m->n_items ? m->picked[item] : 0);
        scant__json_integer(o, NULL, m->predicted[i]);
        scant__json_close(o, ']');
    }
    scant__json_close(o, ']');
}

/* Scales both axes by the same factor, so that coordinates are from -1 to 1. */
static void map_scale(map *m) {
    float largest = 0;
    for (size_t i = 0; i < 2 * m->n; i++)
        if (fabsf(m->xy[i]) > largest) largest = fabsf(m->xy[i]);
    for (size_t i = 0; largest > 0 && i < 2 * m->n; i++) m->xy[i] /= largest;
}

scant_status api_map(project_handle *h, request *r, scant__json *o) {
    AUTO(scant__arena_end) scant__arena arena = {.ctx = h->ctx};
    size_t model = 0, most = r->args.count;
    scant_project_info info;
    TRY(scant_project_info_get(h->project, &info));
    map m = {.n_items = info.items};
    m.items = TRY_NEW(&arena, size_t, most);
    m.xy = TRY_NEW(&arena, float, 2 * most);
    m.predicted = TRY_NEW(&arena, int32_t, most);
    m.labels = TRY_NEW(&arena, int64_t, info.items);
    m.picked = TRY_ZERO(&arena, unsigned char, info.items);
    scant_status status = scant_project_map(h->project, most, m.items, m.xy, &m.n);
    if (status != SCANT_ENOTREADY) TRY(status); /* no features yet: an empty map */
    TRY(scant_project_labels(h->project, m.labels, m.n_items));
    TRY(map_predict(h, &arena, &m, &model));
    TRY(map_picks(h, &arena, &m));
    map_scale(&m);
    write_points(o, &m);
    JSON_MEMBERS(o, model_member(model));
    return SCANT_OK;
}

/* ---- training and settings --------------------------------------------------------- */

scant_status api_train(project_handle *h, request *r, scant__json *o) {
    server *s = h->server;
    scant_project_info info;
    TRY(scant_project_info_get(h->project, &info));
    if (!info.learnable)
        return reply_error(
            r, 409,
            "a training needs labels of at least two classes: there %s %zu label%s "
            "to train on%s",
            info.training == 1 ? "is" : "are", info.training,
            info.training == 1 ? "" : "s", info.training > 1 ? ", all of one class" : "");
    if (!worker_request(s))
        return reply_error(r, 409, "the worker is already training or picking");
    r->reply.status = 202;
    worker_write(s, o, "worker");
    return SCANT_OK;
}

scant_status api_settings(project_handle *h, request *r, scant__json *o) {
    TRY(scant_project_set_all(h->project, r->args.settings, r->args.n_settings));
    events_touch(h->server);
    worker_wake(h->server);
    write_settings(h, o);
    return SCANT_OK;
}

/* ---- files ------------------------------------------------------------------------- */

scant_status api_export(project_handle *h, request *r, scant__json *o) {
    static const struct {
        const char *format, *type, *ending;
    } kinds[] = {
        {"csv", "text/csv; charset=utf-8", "csv"},
        {"csv-raw", "text/csv; charset=utf-8", "csv"},
        {"jsonl", "application/x-ndjson", "jsonl"},
        {"label-studio", "application/json", "json"},
        {"npy", "application/octet-stream", "npy"},
    };
    void *bytes = NULL;
    size_t size = 0, kind = 0;
    (void)o;
    while (strcmp(kinds[kind].format, r->args.format) != 0) kind++;
    TRY(scant_project_export(h->project, r->args.format, &bytes, &size));
    reply_bytes(h, r, kinds[kind].type, bytes, size);
    if (r->reply.status == 200)
        snprintf(r->reply.disposition, sizeof r->reply.disposition,
                 "attachment; filename=\"labels.%s\"", kinds[kind].ending);
    return SCANT_OK;
}

static const char *type_of(const char *name) {
    static const struct {
        const char *ending, *type;
    } types[] = {
        {".html", "text/html; charset=utf-8"}, {".js", "text/javascript; charset=utf-8"},
        {".css", "text/css; charset=utf-8"},   {".svg", "image/svg+xml"},
        {".json", "application/json"},         {".png", "image/png"},
    };
    const char *ending = strrchr(name, '.');
    for (size_t i = 0; ending && i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].ending, ending) == 0) return types[i].type;
    return "application/octet-stream";
}

bool reply_asset(request *r, const char *name) {
    for (size_t i = 0; i < serve_n_assets; i++) {
        const serve_asset *a = &serve_assets[i];
        if (strcmp(a->name, name) != 0) continue;
        r->reply = (reply){.status = 200,
                           .type = type_of(name),
                           .fixed = a->bytes,
                           .size = a->size,
                           .cache = "no-cache"};
        snprintf(r->reply.etag, sizeof r->reply.etag, "\"%s\"", a->etag);
        r->replied = true;
        return true;
    }
    return false;
}

scant_status api_openapi(project_handle *h, request *r, scant__json *o) {
    (void)h, (void)o;
    return reply_asset(r, "openapi.json") ? SCANT_OK
                                          : reply_error(r, 404, "there is no such path");
}

scant_status api_events(project_handle *h, request *r, scant__json *o) {
    (void)h, (void)o;
    r->reply.status = 200;
    r->reply.stream = r->replied = true;
    return SCANT_OK;
}
