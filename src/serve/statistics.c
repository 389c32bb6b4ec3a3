/* SPDX-License-Identifier: Apache-2.0
 *
 * Statistics of all items and the whole history for the dashboard. Each update of the
 * answer times reads only new entries of the history. Classes and the agreement of people
 * are recounted only after changes, and so rarely that counting takes at most a twentieth
 * of the time.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/argmax.h"
#include "loop/project_json.h"
#include "scant/project.h"
#include "serve/server.h"

/* Answer times are counted in buckets, 16 per doubling of the time: the median is exact
 * to about 2 %. */
enum { STEPS = 16, BUCKETS = 28 * STEPS, MOST_PEOPLE = 1000, PATIENCE = 20 };

typedef struct person {
    size_t answers; /* number of current answers */
    int64_t last;
    size_t timed, times[BUCKETS];
    char name[];
} person;

struct statistics {
    pthread_mutex_t lock;
    int64_t entry; /* last entry counted */
    person *people[MOST_PEOPLE];
    size_t n_people;

    size_t *labelled, *predicted; /* number of items of each class */
    size_t n_classes;
    bool stale;                   /* the last count failed */
    size_t items, entries, model; /* values at the last count; model 0: no predictions */
    int64_t counted, took;        /* time and duration of the last count (milliseconds) */

    scant__text pairs;    /* "agreements": a JSON array */
    size_t pairs_entries; /* `entries` when they were counted; SIZE_MAX: never */
    int64_t pairs_at, pairs_took;
};

statistics *statistics_create(void) {
    statistics *t = locked_create(sizeof *t);
    if (t) t->pairs_entries = SIZE_MAX;
    return t;
}

void statistics_destroy(statistics *t) {
    if (!t) return;
    for (size_t i = 0; i < t->n_people; i++) free(t->people[i]);
    free(t->labelled);
    free(t->predicted);
    scant__text_end(&t->pairs);
    locked_destroy(t);
}

/* ---- people ------------------------------------------------------------------------ */

/* Finds or adds a person. NULL: no memory, or too many people. */
static person *find(statistics *t, const char *name) {
    for (size_t i = 0; i < t->n_people; i++)
        if (strcmp(t->people[i]->name, name) == 0) return t->people[i];
    if (t->n_people == MOST_PEOPLE) return NULL;
    person *p = calloc(1, sizeof *p + strlen(name) + 1);
    if (!p) return NULL;
    memcpy(p->name, name, strlen(name));
    return t->people[t->n_people++] = p;
}

static scant_status count_entry(void *user, const scant_entry *e) {
    statistics *t = user;
    person *p = e->person ? find(t, e->person) : NULL;
    t->entry = e->entry;
    if (!p) return SCANT_OK;
    p->last = e->at;
    if (e->kind != SCANT_ANSWER_UNDO && e->spent > 0) {
        size_t bucket = (size_t)(STEPS * log2((double)e->spent));
        p->times[bucket < BUCKETS ? bucket : BUCKETS - 1]++;
        p->timed++;
    }
    return SCANT_OK;
}

static scant_status count_current(void *user, const scant_person *of) {
    person *p = find(user, of->name);
    if (p) p->answers = of->answers;
    return SCANT_OK;
}

static double median_seconds(const person *p) {
    size_t seen = 0, i = 0;
    if (!p->timed) return NAN;
    while (seen + p->times[i] <= (p->timed - 1) / 2) seen += p->times[i++];
    return exp2(((double)i + 0.5) / STEPS) / 1000;
}

scant_status statistics_people(statistics *t, project_handle *h, scant__json *o) {
    LOCK(&t->lock);
    TRY(scant_project_history(h->project, SIZE_MAX, t->entry, false, SIZE_MAX,
                              count_entry, t));
    TRY(scant_project_people(h->project, count_current, t));
    scant__json_open(o, "people", '[');
    for (size_t i = 0; i < t->n_people; i++) {
        const person *p = t->people[i];
        JSON_OBJECT(o, NULL, MEMBER("name", p->name), MEMBER("answers", p->answers),
                    MEMBER("median_seconds", round(median_seconds(p) * 100) / 100),
                    MEMBER("last", p->last));
    }
    scant__json_close(o, ']');
    return SCANT_OK;
}

/* ---- agreement --------------------------------------------------------------------- */

static scant_status count_pairs(statistics *t, project_handle *h, size_t entries) {
    AUTO(scant__json_end) scant__json list = {0};
    int64_t now = server_now();
    bool never = t->pairs_entries == SIZE_MAX;
    if (t->pairs_entries == entries ||
        (!never && now - t->pairs_at < PATIENCE * t->pairs_took))
        return SCANT_OK;
    scant__json_open(&list, NULL, '[');
    TRY(scant_project_agreements(h->project, scant__json_agreement, &list));
    scant__json_close(&list, ']');
    if (list.text.failed) return SCANT_OK; /* no memory: keep the old ones */
    scant__text_end(&t->pairs);
    t->pairs = list.text;
    list.text = (scant__text){0};
    t->pairs_entries = entries;
    t->pairs_at = server_now();
    t->pairs_took = t->pairs_at - now;
    return SCANT_OK;
}

scant_status statistics_pairs(statistics *t, project_handle *h,
                              const scant_project_info *info, scant__json *o) {
    LOCK(&t->lock);
    TRY(count_pairs(t, h, info->entries));
    scant__json_raw(o, "agreements", t->pairs.data ? t->pairs.data : "[]");
    return SCANT_OK;
}

/* ---- classes ----------------------------------------------------------------------- */

static scant_status count_item(void *user, const scant_item *item) {
    statistics *t = user;
    if (item->label >= 0 && (size_t)item->label < t->n_classes &&
        item->copy_of == item->item)
        t->labelled[item->label]++;
    return SCANT_OK;
}

/* Reads blocks of rows, as all of them may not fit into memory. */
static scant_status count_predictions(statistics *t, project_handle *h) {
    enum { ROWS = 1024 };
    AUTO(scant__arena_end) scant__arena arena = {.ctx = h->ctx};
    AUTO(scant_array_auto) scant_array *all = NULL;
    size_t model = 0;
    t->model = 0;
    TRY(scant_project_predict_cached(h->project, &all, &model));
    if (!all) return SCANT_OK;
    size_t n = scant_array_shape(all)[0], classes = scant_array_shape(all)[1];
    float *rows = TRY_NEW(&arena, float, ROWS *(classes + 1));
    memset(t->predicted, 0, t->n_classes * sizeof *t->predicted);
    for (size_t at = 0; at < n; at += ROWS) {
        size_t count = n - at < ROWS ? n - at : ROWS;
        TRY(scant_array_floats(h->ctx, all, at * classes, count * classes, rows));
        for (size_t i = 0; i < count; i++) {
            size_t best = scant__argmax(rows + i * classes, classes);
            if (best < t->n_classes) t->predicted[best]++;
        }
    }
    t->model = classes ? model : 0;
    return SCANT_OK;
}

/* Makes room for counts of the classes. False: no memory. */
static bool make_room(statistics *t, size_t classes) {
    size_t *labelled = realloc(t->labelled, (classes + 1) * sizeof *labelled);
    if (labelled) t->labelled = labelled;
    size_t *predicted = realloc(t->predicted, (classes + 1) * sizeof *predicted);
    if (predicted) t->predicted = predicted;
    if (!labelled || !predicted) return false;
    if (classes != t->n_classes) t->model = 0;
    t->n_classes = classes;
    memset(t->labelled, 0, (classes + 1) * sizeof *t->labelled);
    return true;
}

static bool is_due(const statistics *t, const scant_project_info *info, int64_t now) {
    if (!t->labelled || t->stale || t->n_classes != info->classes) return true;
    bool same = t->items == info->items && t->entries == info->entries &&
                t->model == info->models;
    return !same && now - t->counted >= PATIENCE * t->took;
}

static scant_status count(statistics *t, project_handle *h,
                          const scant_project_info *info) {
    int64_t now = server_now();
    if (!is_due(t, info, now)) return SCANT_OK;
    if (!make_room(t, info->classes)) return SCANT_OK; /* keep the old count */
    scant_status status = scant_project_items(h->project, 0, SIZE_MAX, count_item, t);
    if (status == SCANT_OK && (t->model != info->models || t->items != info->items))
        status = count_predictions(t, h);
    t->items = info->items, t->entries = info->entries;
    t->counted = server_now();
    t->took = t->counted - now;
    t->stale = status != SCANT_OK;
    return status;
}

scant_status statistics_balance(statistics *t, project_handle *h,
                                const scant_project_info *info, scant__json *o) {
    LOCK(&t->lock);
    TRY(count(t, h, info));
    scant__json_open(o, "balance", '[');
    for (size_t i = 0; t->labelled && i < t->n_classes; i++)
        JSON_OBJECT(o, NULL, MEMBER("label", i),
                    MEMBER("name", scant_project_class(h->project, i)),
                    MEMBER("labelled", t->labelled[i]),
                    OPTIONAL("predicted", t->model ? (int64_t)t->predicted[i] : -1));
    scant__json_close(o, ']');
    return SCANT_OK;
}
