/* SPDX-License-Identifier: Apache-2.0
 *
 * Exports a project for other programs, or to import it again: every item with its id,
 * its label, who gave it and when, and for unlabelled items the last model's prediction.
 *
 * CSV has one row for each item: if several people agree, the last answer; `answer` marks
 * items that nobody could label. JSONL has the answers of all people, Label Studio's JSON
 * their labels. A copy has the label of its original. Ids that are not UTF-8 are exact
 * only in CSV: JSON has a replacement character.
 *
 * Label Studio rejects a file if completed_by is not one of its users. So the person is
 * stored as annotator, a key that it ignores and that our import reads. Choices are
 * called `choice`, of `image` or `text`, as in its templates.
 *
 * Answers and the written text are held in memory.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/argmax.h"
#include "core/json.h"
#include "core/text.h"
#include "data/names.h"
#include "data/timestamp.h"
#include "scant/project.h"
#include "store/store.h"

enum { TICK = 1024 };

/* A valid answer. */
typedef struct given {
    size_t item, person; /* person: index in people */
    scant_answer_kind kind;
    int64_t label, at, spent, entry;
} given;

typedef struct exporting exporting;

typedef struct format {
    const char *name;
    const char *begin, *end;
    void (*item)(exporting *x, const scant_item *item);
} format;

/* The last model's prediction for an item. */
typedef struct verdict {
    const char *class; /* NULL: none */
    double confidence;
} verdict;

struct exporting {
    scant_project *project;
    scant_ctx *ctx;
    const format *format;
    scant__names classes, people;
    scant__names ids; /* of items so far; originals come before their copies */
    given *given;     /* by item, then by entry */
    size_t n, room;
    scant_array *p; /* NULL: no model */
    size_t model;
    float *row; /* of p */
    scant__text out;
    size_t items, written;
    int64_t *labels; /* of npy */
    size_t label_room;
    /* of the current item */
    const given *answers;
    size_t n_answers, n_labels; /* of all kinds; labels alone */
    const given *last;          /* the one with the item's label; NULL: none */
    verdict verdict;
};

/* ---- what is read before ----------------------------------------------------------- */

static scant_status read_classes(exporting *x) {
    scant_project_info info;
    TRY(scant_project_info_get(x->project, &info));
    for (size_t i = 0; i < info.classes; i++) {
        const char *name = scant_project_class(x->project, i);
        if (!name) return SCANT_ENOMEM; /* it exists, but could not be read */
        TRY(scant__names_add(x->ctx, &x->classes, name, strlen(name)));
    }
    return SCANT_OK;
}

/* NULL if it is -1, or newer than the list of classes. */
static const char *class_name(const exporting *x, int64_t label) {
    if (label < 0 || (uint64_t)label >= x->classes.count) return NULL;
    return scant__names_get(&x->classes, (size_t)label);
}

/* A linear search: people are few, and their answers are mostly consecutive. */
static scant_status find_person(exporting *x, const char *name, size_t *place) {
    for (size_t i = x->people.count; i-- > 0;)
        if (strcmp(scant__names_get(&x->people, i), name) == 0) {
            *place = i;
            return SCANT_OK;
        }
    *place = x->people.count;
    return scant__names_add(x->ctx, &x->people, name, strlen(name));
}

static scant_status keep_answer(void *user, const scant_entry *entry) {
    exporting *x = user;
    void *block = x->given;
    given g = {.item = entry->item,
               .kind = entry->kind,
               .label = entry->label,
               .at = entry->at,
               .spent = entry->spent,
               .entry = entry->entry};
    if (!entry->stands) return SCANT_OK;
    TRY(find_person(x, entry->person, &g.person));
    scant_status status = scant__grow(x->ctx, &block, &x->room, x->n + 1, sizeof g);
    x->given = block;
    if (status == SCANT_OK) x->given[x->n++] = g;
    return status;
}

static int by_item(const void *a, const void *b) {
    const given *x = a, *y = b;
    if (x->item != y->item) return x->item < y->item ? -1 : 1;
    return x->entry < y->entry ? -1 : x->entry > y->entry;
}

static scant_status read_answers(exporting *x) {
    TRY(scant_project_history(x->project, SIZE_MAX, 0, 0, SIZE_MAX, keep_answer, x));
    if (x->n) qsort(x->given, x->n, sizeof *x->given, by_item);
    return SCANT_OK;
}

/* If predictions fail, labels are exported without them. */
static scant_status open_predictions(exporting *x) {
    char why[SCANT__ERR_SIZE];
    scant_project_info info;
    TRY(scant_project_info_get(x->project, &info));
    if (!info.models) return SCANT_OK;
    scant_status status = scant_project_predict(x->project, &x->p, &x->model);
    if (status == SCANT_ENOMEM || status == SCANT_ECANCELLED) return status;
    if (status != SCANT_OK) {
        memcpy(why, x->ctx->err, sizeof why);
        scant__warn(x->ctx, "exported without predictions: %s", why);
        x->p = NULL;
        return SCANT_OK;
    }
    if (!x->p) return SCANT_OK;
    x->row = scant__alloc(x->ctx, scant_array_shape(x->p)[1], sizeof *x->row);
    return x->row ? SCANT_OK : SCANT_ENOMEM;
}

/* ---- an item ----------------------------------------------------------------------- */

static scant_status judge(exporting *x, size_t item) {
    x->verdict = (verdict){.class = NULL};
    if (!x->p || item >= scant_array_shape(x->p)[0]) return SCANT_OK;
    size_t classes = scant_array_shape(x->p)[1];
    TRY(scant_array_floats(x->ctx, x->p, item * classes, classes, x->row));
    size_t best = scant__argmax(x->row, classes);
    x->verdict.class = class_name(x, (int64_t)best);
    x->verdict.confidence = (double)x->row[best];
    return SCANT_OK;
}

/* Finds the answers to an item, and the last one that has its label. */
static void find_answers(exporting *x, const scant_item *item) {
    size_t low = 0, high = x->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (x->given[middle].item < item->copy_of)
            low = middle + 1;
        else
            high = middle;
    }
    x->answers = x->n ? x->given + low : NULL;
    x->n_answers = x->n_labels = 0;
    x->last = NULL;
    for (size_t i = low; i < x->n && x->given[i].item == item->copy_of; i++) {
        const given *g = &x->given[i];
        x->n_answers++;
        x->n_labels += g->kind == SCANT_ANSWER_LABEL;
        if (g->kind == item->answer && g->label == item->label) x->last = g;
    }
}

static scant_status write_item(void *user, const scant_item *item) {
    exporting *x = user;
    if (x->items++ % TICK == 0) TRY(scant__tick(x->ctx, "exporting", 0, 0));
    TRY(scant__names_add(x->ctx, &x->ids, item->id, strlen(item->id)));
    find_answers(x, item);
    x->verdict = (verdict){.class = NULL};
    if (item->label < 0) TRY(judge(x, item->item));
    x->format->item(x, item);
    return x->out.failed ? SCANT_ENOMEM : SCANT_OK;
}

/* The id of its original; NULL if it is not a copy. */
static const char *original_id(const exporting *x, const scant_item *item) {
    if (item->copy_of == item->item || item->copy_of >= x->ids.count) return NULL;
    return scant__names_get(&x->ids, item->copy_of);
}

static const char *person_name(const exporting *x, const given *g) {
    return scant__names_get(&x->people, g->person);
}

/* NULL: none. */
static const char *answer_name(scant_answer_kind kind) {
    static const char *const names[] = {NULL, "label", "skip", "unsure"};
    return kind <= SCANT_ANSWER_UNSURE ? names[kind] : NULL;
}

static void add_seconds(exporting *x, int64_t spent) {
    scant__text_number(&x->out, (double)spent / 1000, 12);
}

/* ---- CSV --------------------------------------------------------------------------- */

static const char csv_header[] =
    "id,label,answer,annotator,time,seconds,answers,disputed,audit,copy_of,predicted,"
    "confidence,model\n";

static void add_cell(exporting *x, const char *text) {
    scant__text_add(&x->out, ",");
    if (text) scant__text_csv(&x->out, text);
}

static void write_csv(exporting *x, const scant_item *item) {
    char at[SCANT__TIMESTAMP];
    scant__text_csv(&x->out, item->id);
    add_cell(x, class_name(x, item->label));
    add_cell(x, answer_name(item->answer));
    add_cell(x, x->last ? person_name(x, x->last) : NULL);
    add_cell(x, x->last ? scant__timestamp_format(x->last->at, at) : NULL);
    add_cell(x, NULL);
    if (x->last && x->last->spent >= 0) add_seconds(x, x->last->spent);
    scant__text_addf(&x->out, ",%zu,%d,%d", x->n_labels, item->disputed != 0,
                     item->audit != 0);
    add_cell(x, original_id(x, item));
    add_cell(x, x->verdict.class);
    add_cell(x, NULL);
    if (x->verdict.class) scant__text_number(&x->out, x->verdict.confidence, 6);
    add_cell(x, NULL);
    if (x->verdict.class) scant__text_addf(&x->out, "%zu", x->model);
    scant__text_add(&x->out, "\n");
}

/* ---- JSON -------------------------------------------------------------------------- */

/* before: the text up to the value, with the key. */
static void add_string(exporting *x, const char *before, const char *text) {
    scant__text_add(&x->out, before);
    if (text)
        scant__text_json(&x->out, text);
    else
        scant__text_add(&x->out, "null");
}

static void add_spent(exporting *x, const char *before, const given *g) {
    scant__text_add(&x->out, before);
    if (g && g->spent >= 0)
        add_seconds(x, g->spent);
    else
        scant__text_add(&x->out, "null");
}

static void write_answer(exporting *x, const given *g) {
    char at[SCANT__TIMESTAMP];
    add_string(x, "{\"label\": ", class_name(x, g->label));
    add_string(x, ", \"answer\": ", answer_name(g->kind));
    add_string(x, ", \"annotator\": ", person_name(x, g));
    add_string(x, ", \"time\": ", scant__timestamp_format(g->at, at));
    add_spent(x, ", \"seconds\": ", g);
    scant__text_add(&x->out, "}");
}

static void write_jsonl(exporting *x, const scant_item *item) {
    char at[SCANT__TIMESTAMP];
    const given *last = x->last;
    add_string(x, "{\"id\": ", item->id);
    add_string(x, ", \"label\": ", class_name(x, item->label));
    add_string(x, ", \"answer\": ", answer_name(item->answer));
    add_string(x, ", \"annotator\": ", last ? person_name(x, last) : NULL);
    add_string(x, ", \"time\": ", last ? scant__timestamp_format(last->at, at) : NULL);
    add_spent(x, ", \"seconds\": ", last);
    scant__text_add(&x->out, ", \"answers\": [");
    for (size_t i = 0; i < x->n_answers; i++) {
        if (i) scant__text_add(&x->out, ", ");
        write_answer(x, &x->answers[i]);
    }
    scant__text_addf(&x->out, "], \"disputed\": %s, \"audit\": %s",
                     item->disputed ? "true" : "false", item->audit ? "true" : "false");
    add_string(x, ", \"copy_of\": ", original_id(x, item));
    add_string(x, ", \"predicted\": ", x->verdict.class);
    scant__text_add(&x->out, ", \"confidence\": ");
    if (x->verdict.class)
        scant__text_number(&x->out, x->verdict.confidence, 6);
    else
        scant__text_add(&x->out, "null");
    if (x->verdict.class)
        scant__text_addf(&x->out, ", \"model\": %zu", x->model);
    else
        scant__text_add(&x->out, ", \"model\": null");
    add_string(x, ", \"text\": ", item->text);
    add_string(x, ", \"path\": ", item->path);
    add_string(x, ", \"group\": ", item->group);
    scant__text_add(&x->out, "}\n");
}

/* ---- Label Studio ------------------------------------------------------------------ */

static void write_choice(exporting *x, const scant_item *item, const char *class) {
    scant__text_addf(&x->out,
                     "\"result\": [{\"from_name\": \"choice\", \"to_name\": \"%s\", "
                     "\"type\": \"choices\", \"value\": {\"choices\": [",
                     item->text ? "text" : "image");
    scant__text_json(&x->out, class);
    scant__text_add(&x->out, "]}}]");
}

static void write_annotation(exporting *x, const scant_item *item, const given *g) {
    char at[SCANT__TIMESTAMP];
    const char *class = class_name(x, g->label);
    scant__text_add(&x->out, "{");
    write_choice(x, item, class ? class : "");
    add_string(x, ", \"annotator\": ", person_name(x, g));
    add_string(x, ", \"created_at\": ", scant__timestamp_format(g->at, at));
    if (g->spent >= 0) add_spent(x, ", \"lead_time\": ", g);
    scant__text_add(&x->out, ", \"ground_truth\": false}");
}

static void write_task(exporting *x, const scant_item *item) {
    size_t written = 0;
    if (!x->n_labels && !x->verdict.class) return;
    scant__text_add(&x->out, x->written++ ? ",\n" : "\n");
    add_string(x, "{\"data\": {\"id\": ", item->id);
    add_string(x, ", \"ref\": ", item->id);
    if (item->path) add_string(x, ", \"image\": ", item->path);
    if (item->text) add_string(x, ", \"text\": ", item->text);
    scant__text_add(&x->out, "}, \"annotations\": [");
    for (size_t i = 0; i < x->n_answers; i++) {
        if (x->answers[i].kind != SCANT_ANSWER_LABEL) continue;
        if (written++) scant__text_add(&x->out, ", ");
        write_annotation(x, item, &x->answers[i]);
    }
    scant__text_add(&x->out, "], \"predictions\": [");
    if (x->verdict.class) {
        scant__text_addf(&x->out, "{\"model_version\": \"%zu\", \"score\": ", x->model);
        scant__text_number(&x->out, x->verdict.confidence, 6);
        scant__text_add(&x->out, ", ");
        write_choice(x, item, x->verdict.class);
        scant__text_add(&x->out, "}");
    }
    scant__text_add(&x->out, "]}");
}

/* ---- .npy -------------------------------------------------------------------------- */

static scant_status keep_label(void *user, const scant_item *item) {
    exporting *x = user;
    void *block = x->labels;
    scant_status status =
        scant__grow(x->ctx, &block, &x->label_room, x->items + 1, sizeof *x->labels);
    x->labels = block;
    if (status == SCANT_OK) x->labels[x->items++] = item->label;
    return status;
}

static scant_status encode_labels(exporting *x, void **bytes, size_t *size) {
    scant_array *array;
    const int64_t none = 0;
    TRY(scant_project_items(x->project, 0, SIZE_MAX, keep_label, x));
    TRY(scant_array_wrap(x->ctx, "labels", x->labels ? x->labels : &none, SCANT_I64, 1,
                         &x->items, &array));
    scant_status status = scant_array_encode(x->ctx, array, bytes, size);
    scant_array_free(array);
    return status;
}

/* ---- the whole --------------------------------------------------------------------- */

static const format formats[] = {{"csv", csv_header, "", write_csv},
                                 {"jsonl", "", "", write_jsonl},
                                 {"label-studio", "[", "\n]\n", write_task},
                                 {"npy", NULL, NULL, NULL}};

static scant_status write_items(scant_project *project, void *arg) {
    exporting *x = arg;
    TRY(read_classes(x));
    TRY(read_answers(x));
    return scant_project_items(project, 0, SIZE_MAX, write_item, x);
}

/* First, since predictions may take long, and the rest must be one consistent state. */
static scant_status export_text(exporting *x, void **bytes, size_t *size) {
    char *text;
    TRY(open_predictions(x));
    scant__text_add(&x->out, x->format->begin);
    TRY(store_read(x->project, write_items, x));
    scant__text_add(&x->out, x->format->end);
    TRY(scant__text_take(&x->out, &text, size));
    *bytes = text;
    return SCANT_OK;
}

static scant_status find_format(scant_ctx *ctx, const char *name, const format **out) {
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        *out = &formats[i];
        if (strcmp(name, formats[i].name) == 0) return SCANT_OK;
    }
    return scant__fail(ctx, SCANT_EUSAGE,
                       "there is no format '%s': csv, jsonl, label-studio and npy are",
                       name);
}

static void end(exporting *x) {
    scant__names_end(x->ctx, &x->classes);
    scant__names_end(x->ctx, &x->people);
    scant__names_end(x->ctx, &x->ids);
    scant__free(x->ctx, x->given);
    scant__free(x->ctx, x->row);
    scant__free(x->ctx, x->labels);
    scant_array_free(x->p);
    scant__text_end(&x->out);
}

scant_status scant_project_export(scant_project *project, const char *format_name,
                                  void **bytes, size_t *size) {
    exporting x = {.project = project, .ctx = store_ctx(project)};
    *bytes = NULL;
    *size = 0;
    scant__text_init(&x.out, x.ctx);
    TRY(find_format(x.ctx, format_name, &x.format));
    scant_status status =
        x.format->item ? export_text(&x, bytes, size) : encode_labels(&x, bytes, size);
    end(&x);
    return status;
}
