/* SPDX-License-Identifier: Apache-2.0
 *
 * The dashboard: status, the map, settings, exports; and the files of the page.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/argmax.h"
#include "scant/project.h"
#include "serve/assets.h"
#include "serve/server.h"

/* ---- status ------------------------------------------------------------------------ */

static void write_info(scant__json *o, const scant_project_info *info) {
    const struct {
        const char *key;
        size_t value;
    } rows[] = {
        {"items", info->items},       {"copies", info->copies},
        {"labelled", info->labelled}, {"training", info->training},
        {"disputed", info->disputed}, {"skipped", info->skipped},
        {"unsure", info->unsure},     {"withheld", info->withheld},
        {"audited", info->audited},   {"rounds", info->rounds},
        {"models", info->models},     {"picked", info->picked},
        {"waiting", info->waiting},   {"untrained", info->untrained},
        {"people", info->people},     {"entries", info->entries},
    };
    scant__json_open(o, "info", '{');
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        scant__json_size(o, rows[i].key, rows[i].value);
    scant__json_close(o, '}');
}

static scant_status write_point(void *user, const scant_model_point *p) {
    scant__json *o = user;
    scant__json_open(o, NULL, '{');
    scant__json_size(o, "model", p->model);
    scant__json_size(o, "labels", p->labels);
    scant__json_integer(o, "at", p->at);
    scant__json_size(o, "audited", p->audited);
    scant__json_size(o, "right", p->right);
    scant__json_number(o, "accuracy", p->accuracy);
    scant__json_number(o, "low", p->low);
    scant__json_number(o, "high", p->high);
    scant__json_number(o, "agreement", p->agreement);
    scant__json_number(o, "seconds", p->seconds);
    scant__json_close(o, '}');
    return SCANT_OK;
}

static scant_status write_round(void *user, const scant_round_point *p) {
    scant__json *o = user;
    scant__json_open(o, NULL, '{');
    scant__json_size(o, "round", p->round);
    scant__json_string(o, "strategy", p->strategy);
    write_model(o, p->model);
    scant__json_integer(o, "at", p->at);
    scant__json_size(o, "picked", p->picked);
    scant__json_size(o, "answered", p->answered);
    scant__json_close(o, '}');
    return SCANT_OK;
}

static scant_status write_agreement(void *user, const scant_agreement_of *pair) {
    scant__json *o = user;
    scant__json_open(o, NULL, '{');
    scant__json_string(o, "a", pair->a);
    scant__json_string(o, "b", pair->b);
    scant__json_size(o, "items", pair->items);
    scant__json_number(o, "agreed", pair->agreed);
    scant__json_number(o, "kappa", pair->kappa);
    scant__json_close(o, '}');
    return SCANT_OK;
}

static void write_meter(scant__json *o, const scant_meter *m) {
    const scant_model_point *p = &m->last;
    scant__json_open(o, "meter", '{');
    write_model(o, p->model);
    scant__json_size(o, "labels", p->labels);
    scant__json_size(o, "audited", p->audited);
    scant__json_size(o, "right", p->right);
    const struct {
        const char *key;
        double value;
    } figures[] = {
        {"accuracy", p->accuracy},
        {"low", p->low},
        {"high", p->high},
        {"over_random", m->over_random},
        {"over_random_low", m->over_random_low},
        {"over_random_high", m->over_random_high},
        {"per_ten", m->per_ten},
        {"per_ten_high", m->per_ten_high},
        {"agreement", p->agreement},
    };
    for (size_t i = 0; i < sizeof figures / sizeof *figures;
         i++) /* null without a model */
        scant__json_number(o, figures[i].key, p->model ? figures[i].value : (double)NAN);
    scant__json_size(o, "left_out", m->left_out);
    scant__json_size(o, "added", m->added);
    scant__json_size(o, "over_random_labels", m->over_random_labels);
    scant__json_bool(o, "narrow", m->narrow != 0);
    scant__json_bool(o, "fading", m->fading != 0);
    scant__json_bool(o, "agreeing", m->agreeing != 0);
    scant__json_bool(o, "stop", m->stop != 0);
    scant__json_close(o, '}');
}

/* An array with one string per paragraph. */
static scant_status write_advice(project_handle *h, scant__json *o,
                                 const scant_meter *meter) {
    char *text = NULL;
    scant_status status = scant_project_advice(h->project, meter, &text);
    if (status != SCANT_OK) return status;
    scant__json_open(o, "advice", '[');
    for (char *from = text, *end; *from; from = end) {
        end = from + strcspn(from, "\n");
        char *next = end + strspn(end, "\n");
        *end = '\0';
        if (end > from) scant__json_string(o, NULL, from);
        end = next;
    }
    scant__json_close(o, ']');
    scant_bytes_free(h->ctx, text);
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
    scant_status status = scant_project_models(p, write_point, o);
    scant__json_close(o, ']');
    scant__json_open(o, "rounds", '[');
    if (status == SCANT_OK) status = scant_project_rounds(p, write_round, o);
    scant__json_close(o, ']');
    scant__json_open(o, "agreements", '[');
    if (status == SCANT_OK) status = scant_project_agreements(p, write_agreement, o);
    scant__json_close(o, ']');
    return status;
}

void api_status(project_handle *h, request *r) {
    server *s = h->server;
    scant_project_info info;
    scant_meter meter;
    scant__json o = {0};
    scant_status status = scant_project_info_get(h->project, &info);
    if (status == SCANT_OK) status = scant_project_meter(h->project, &meter);
    scant__json_open(&o, NULL, '{');
    if (status == SCANT_OK) {
        write_info(&o, &info);
        write_meter(&o, &meter);
        status = write_advice(h, &o, &meter);
    }
    if (status == SCANT_OK) status = write_lists(h, &o);
    if (status == SCANT_OK) status = statistics_balance(s->statistics, h, &info, &o);
    if (status == SCANT_OK) status = statistics_people(s->statistics, h, &o);
    worker_write(s, &o, "worker");
    write_settings(h, &o);
    reply_object(h, r, &o, status);
}

/* ---- the map ----------------------------------------------------------------------- */

typedef struct map {
    size_t n, n_items;
    size_t *items;
    float *xy;
    int64_t *labels;       /* of all items */
    unsigned char *picked; /* likewise */
    int32_t *predicted;    /* of the points; -1: unknown */
} map;

static bool map_rooms(map *m, size_t most) {
    m->items = calloc(most, sizeof *m->items);
    m->xy = calloc(2 * most, sizeof *m->xy);
    m->predicted = calloc(most, sizeof *m->predicted);
    m->labels = calloc(m->n_items ? m->n_items : 1, sizeof *m->labels);
    m->picked = calloc(m->n_items ? m->n_items : 1, 1);
    return m->items && m->xy && m->predicted && m->labels && m->picked;
}

static void map_end(map *m) {
    free(m->items);
    free(m->xy);
    free(m->predicted);
    free(m->labels);
    free(m->picked);
}

/* The predicted classes, as far as they are known; *model 0: there are none. */
static scant_status map_predict(project_handle *h, map *m, size_t *model) {
    scant_array *all = NULL;
    for (size_t i = 0; i < m->n; i++) m->predicted[i] = -1;
    scant_status status = scant_project_predicted(h->project, &all, model);
    if (!all) *model = 0;
    if (status != SCANT_OK || !all) return status;
    const size_t *shape = scant_array_shape(all);
    size_t classes = shape[1];
    float *p = calloc(classes ? classes : 1, sizeof *p);
    if (!p) *model = 0;
    for (size_t i = 0; p && i < m->n && status == SCANT_OK; i++) {
        if (m->items[i] >= shape[0]) continue;
        status = scant_array_floats(h->ctx, all, m->items[i] * classes, classes, p);
        if (status == SCANT_OK && classes)
            m->predicted[i] = (int32_t)scant__argmax(p, classes);
    }
    free(p);
    scant_array_free(all);
    return status;
}

/* Marks the picks of the last round. */
static scant_status map_picks(project_handle *h, map *m) {
    size_t n = 0;
    scant_status status = scant_project_picked(h->project, 0, NULL, &n);
    size_t *items = calloc(n ? n : 1, sizeof *items), room = n;
    if (items && status == SCANT_OK)
        status = scant_project_picked(h->project, room, items, &n);
    for (size_t i = 0; items && status == SCANT_OK && i < n && i < room; i++)
        if (items[i] < m->n_items) m->picked[items[i]] = 1;
    free(items);
    return status;
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

/* Scales both axes by the same factor into -1 to 1. */
static void map_scale(map *m) {
    float largest = 0;
    for (size_t i = 0; i < 2 * m->n; i++)
        if (fabsf(m->xy[i]) > largest) largest = fabsf(m->xy[i]);
    for (size_t i = 0; largest > 0 && i < 2 * m->n; i++) m->xy[i] /= largest;
}

void api_map(project_handle *h, request *r) {
    map m = {0};
    size_t model = 0;
    scant_project_info info;
    scant__json o = {0};
    scant_status status = scant_project_info_get(h->project, &info);
    m.n_items = status == SCANT_OK ? info.items : 0;
    if (status == SCANT_OK && !map_rooms(&m, r->args.count)) {
        map_end(&m);
        reply_error(r, 503, "out of memory");
        return;
    }
    if (status == SCANT_OK)
        status = scant_project_map(h->project, r->args.count, m.items, m.xy, &m.n);
    if (status == SCANT_ENOTREADY) status = SCANT_OK; /* no features yet: an empty map */
    if (status == SCANT_OK)
        status = scant_project_labels(h->project, m.labels, m.n_items);
    if (status == SCANT_OK) status = map_predict(h, &m, &model);
    if (status == SCANT_OK) status = map_picks(h, &m);
    if (status == SCANT_OK) {
        map_scale(&m);
        scant__json_open(&o, NULL, '{');
        write_points(&o, &m);
        write_model(&o, model);
    }
    map_end(&m);
    reply_object(h, r, &o, status);
}

/* ---- training and settings --------------------------------------------------------- */

void api_train(project_handle *h, request *r) {
    server *s = h->server;
    scant_project_info info;
    scant_status status = scant_project_info_get(h->project, &info);
    if (status != SCANT_OK) {
        reply_failed(h, r, status);
        return;
    }
    if (!info.learnable) {
        reply_error(
            r, 409,
            "a training needs labels of at least two classes: there %s %zu label%s "
            "to train on%s",
            info.training == 1 ? "is" : "are", info.training,
            info.training == 1 ? "" : "s", info.training > 1 ? ", all of one class" : "");
        return;
    }
    if (!worker_ask(s)) {
        reply_error(r, 409, "a model is being trained");
        return;
    }
    scant__json o = {0};
    scant__json_open(&o, NULL, '{');
    worker_write(s, &o, "worker");
    scant__json_close(&o, '}');
    reply_json(r, 202, &o);
}

void api_settings(project_handle *h, request *r) {
    scant_status status =
        scant_project_set_all(h->project, r->args.settings, r->args.n_settings);
    if (status != SCANT_OK) {
        reply_failed(h, r, status);
        return;
    }
    events_touch(h->server);
    worker_wake(h->server);
    scant__json o = {0};
    scant__json_open(&o, NULL, '{');
    write_settings(h, &o);
    reply_object(h, r, &o, SCANT_OK);
}

/* ---- files ------------------------------------------------------------------------- */

void api_export(project_handle *h, request *r) {
    static const struct {
        const char *format, *type, *ending;
    } kinds[] = {
        {"csv", "text/csv; charset=utf-8", "csv"},
        {"jsonl", "application/x-ndjson", "jsonl"},
        {"label-studio", "application/json", "json"},
        {"npy", "application/octet-stream", "npy"},
    };
    void *bytes = NULL;
    size_t size = 0, kind = 0;
    while (strcmp(kinds[kind].format, r->args.format) != 0) kind++;
    scant_status status = scant_project_export(h->project, r->args.format, &bytes, &size);
    if (status != SCANT_OK) {
        reply_failed(h, r, status);
        return;
    }
    reply_bytes(h, r, kinds[kind].type, bytes, size);
    if (r->reply.status == 200)
        snprintf(r->reply.disposition, sizeof r->reply.disposition,
                 "attachment; filename=\"labels.%s\"", kinds[kind].ending);
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

void api_openapi(project_handle *h, request *r) {
    (void)h;
    if (!reply_asset(r, "openapi.json")) reply_error(r, 404, "there is no such path");
}

void api_events(project_handle *h, request *r) {
    (void)h;
    r->reply.status = 200;
    r->reply.stream = r->replied = true;
}
