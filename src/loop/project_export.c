/* SPDX-License-Identifier: Apache-2.0
 *
 * Exports a project for other programs, or to import it again: every item with its id,
 * its label, who gave it and when, and for unlabelled items the last model's prediction.
 *
 * In CSV, text that a spreadsheet would run as a formula gets a quote (') in front, which
 * the import removes; csv-raw has it as it is. CSV has one row for each item, with the
 * last of the answers that gave its label; the column `answer` is skip or unsure for
 * items that nobody could label. JSONL has the answers of all people. Label Studio's JSON
 * has their labels, and leaves out items with neither a label nor a prediction. A copy
 * has the label of its original. Ids that are not UTF-8 are exact only in CSV: JSON has a
 * replacement character.
 *
 * Label Studio rejects a file if completed_by is not one of its users. So the person is
 * stored as annotator, a key that it ignores and that our import reads. Choices are
 * called `choice`, of `image` or `text`, as in its templates.
 *
 * Answers and the written text are held in memory.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/argmax.h"
#include "core/json.h"
#include "data/array.h"
#include "data/names.h"
#include "data/timestamp.h"
#include "scant/project.h"
#include "store/store.h"

enum { TICK = 1024 };

/* A current answer. */
typedef struct given {
    size_t item, person; /* person: index in people */
    scant_answer_kind kind;
    int64_t label, at, spent, entry;
} given;

typedef struct exporting exporting;

typedef struct format {
    const char *name;
    const char *header;
    bool list; /* one JSON array of the items */
    void (*item)(exporting *x, const scant_item *item);
} format;

struct exporting {
    scant_project *project;
    scant_ctx *ctx;
    const format *format;
    void (*add_cell)(scant__text *text, const char *cell); /* CSV */
    size_t classes;
    scant__names people;
    scant__names ids; /* ids of the items so far; originals come before their copies */
    given *given;     /* by item, then by entry */
    size_t n, room;
    scant_array *p; /* NULL: no model */
    size_t model;
    float *row;       /* a row of p */
    scant__json json; /* CSV: its text only */
    size_t items;
    int64_t *labels; /* labels for npy */
    size_t label_room;
    /* data of the current item */
    const given *answers;
    size_t n_answers, n_labels; /* n_answers: of all kinds; n_labels: labels only */
    const given *last;     /* the last answer that has the item's label; NULL: none */
    const char *predicted; /* class; NULL: none */
    double confidence;
};

/* ---- reading answers and predictions ----------------------------------------------- */

/* NULL if label is -1, or newer than the list of classes. */
static const char *class_name(const exporting *x, int64_t label) {
    if (label < 0 || (uint64_t)label >= x->classes) return NULL;
    return scant_project_class(x->project, (size_t)label);
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
    given g = {.item = entry->item,
               .kind = entry->kind,
               .label = entry->label,
               .at = entry->at,
               .spent = entry->spent,
               .entry = entry->entry};
    if (!entry->stands) return SCANT_OK;
    TRY(find_person(x, entry->person, &g.person));
    TRY_PUSH(x->ctx, x->given, x->n, x->room, g);
    return SCANT_OK;
}

static int by_item(const void *a, const void *b) {
    const given *x = a, *y = b;
    if (x->item != y->item) return x->item < y->item ? -1 : 1;
    return x->entry < y->entry ? -1 : x->entry > y->entry;
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

static scant_status read_prediction(exporting *x, const scant_item *item) {
    x->predicted = NULL;
    if (item->label >= 0 || !x->p || item->item >= scant_array_shape(x->p)[0])
        return SCANT_OK;
    size_t classes = scant_array_shape(x->p)[1];
    TRY(scant_array_floats(x->ctx, x->p, item->item * classes, classes, x->row));
    size_t best = scant__argmax(x->row, classes);
    x->predicted = class_name(x, (int64_t)best);
    x->confidence = (double)x->row[best];
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
    TRY(read_prediction(x, item));
    x->format->item(x, item);
    return x->json.text.failed ? SCANT_ENOMEM : SCANT_OK;
}

/* The id of a copy's original; NULL: the item is not a copy. */
static const char *original_id(const exporting *x, const scant_item *item) {
    if (item->copy_of == item->item || item->copy_of >= x->ids.count) return NULL;
    return scant__names_get(&x->ids, item->copy_of);
}

static const char *person_name(const exporting *x, const given *g) {
    return scant__names_get(&x->people, g->person);
}

/* NULL: no answer. */
static const char *answer_name(scant_answer_kind kind) {
    static const char *const names[] = {NULL, "label", "skip", "unsure"};
    return kind <= SCANT_ANSWER_UNSURE ? names[kind] : NULL;
}

/* ---- CSV and JSONL ----------------------------------------------------------------- */

/* A column of CSV, a member of a JSON object. */
typedef struct cell {
    const char *name;
    enum { TEXT, NUMBER, SWITCH, ANSWERS } kind; /* ANSWERS: CSV has their number */
    const char *text;                            /* NULL: none */
    double number;                               /* NaN: none */
    int digits;
} cell;

enum { OF_ANSWER = 5, OF_CSV = 13, OF_JSONL = 16 };

static const char csv_header[] =
    "id,label,answer,annotator,time,seconds,answers,disputed,audit,copy_of,predicted,"
    "confidence,model\n";

static double seconds(const given *g) {
    return g && g->spent >= 0 ? (double)g->spent / 1000 : (double)NAN;
}

/* g: the answer, with its annotator and time; NULL: none. at: a buffer for the time. */
static void fill_answer(const exporting *x, int64_t label, scant_answer_kind kind,
                        const given *g, char at[SCANT__TIMESTAMP], cell out[OF_ANSWER]) {
    const cell cells[] = {
        {"label", .text = class_name(x, label)},
        {"answer", .text = answer_name(kind)},
        {"annotator", .text = g ? person_name(x, g) : NULL},
        {"time", .text = g ? scant__timestamp_format(g->at, at) : NULL},
        {"seconds", NUMBER, .number = seconds(g), .digits = 12},
    };
    memcpy(out, cells, sizeof cells);
}

static void fill_item(const exporting *x, const scant_item *item,
                      char at[SCANT__TIMESTAMP], cell out[OF_JSONL]) {
    const bool predicted = x->predicted != NULL;
    const double none = (double)NAN;
    const cell rest[] = {
        {"answers", ANSWERS, .number = (double)x->n_labels, .digits = 15},
        {"disputed", SWITCH, .number = item->disputed != 0, .digits = 1},
        {"audit", SWITCH, .number = item->audit != 0, .digits = 1},
        {"copy_of", .text = original_id(x, item)},
        {"predicted", .text = x->predicted},
        {"confidence", NUMBER, .number = predicted ? x->confidence : none, .digits = 6},
        {"model", NUMBER, .number = predicted ? (double)x->model : none, .digits = 15},
        {"text", .text = item->text},
        {"path", .text = item->path},
        {"group", .text = item->group},
    };
    out[0] = (cell){"id", .text = item->id};
    fill_answer(x, item->label, item->answer, x->last, at, out + 1);
    memcpy(out + 1 + OF_ANSWER, rest, sizeof rest);
}

static void write_csv(exporting *x, const scant_item *item) {
    scant__text *text = &x->json.text;
    char at[SCANT__TIMESTAMP];
    cell cells[OF_JSONL];
    fill_item(x, item, at, cells);
    for (const cell *c = cells; c < cells + OF_CSV; c++) {
        if (c > cells) scant__text_add(text, ",");
        if (c->kind != TEXT && !isnan(c->number))
            scant__text_number(text, c->number, c->digits);
        else if (c->text)
            x->add_cell(text, c->text);
    }
    scant__text_add(text, "\n");
}

static void write_object(exporting *x, const cell *cells, size_t n);

static void write_answers(exporting *x, const char *key) {
    char at[SCANT__TIMESTAMP];
    cell cells[OF_ANSWER];
    scant__json_open(&x->json, key, '[');
    for (size_t i = 0; i < x->n_answers; i++) {
        const given *g = &x->answers[i];
        fill_answer(x, g->label, g->kind, g, at, cells);
        write_object(x, cells, OF_ANSWER);
    }
    scant__json_close(&x->json, ']');
}

static void write_object(exporting *x, const cell *cells, size_t n) {
    scant__json_open(&x->json, NULL, '{');
    for (const cell *c = cells; c < cells + n; c++) {
        if (c->kind == ANSWERS)
            write_answers(x, c->name);
        else if (c->kind == SWITCH)
            scant__json_bool(&x->json, c->name, c->number > 0);
        else if (c->kind == NUMBER)
            scant__json_rounded(&x->json, c->name, c->number, c->digits);
        else
            scant__json_string(&x->json, c->name, c->text);
    }
    scant__json_close(&x->json, '}');
}

static void write_jsonl(exporting *x, const scant_item *item) {
    char at[SCANT__TIMESTAMP];
    cell cells[OF_JSONL];
    fill_item(x, item, at, cells);
    x->json.comma = false; /* each line is a JSON text of its own */
    write_object(x, cells, OF_JSONL);
    scant__text_add(&x->json.text, "\n");
}

/* ---- Label Studio ------------------------------------------------------------------ */

static void write_choice(scant__json *json, const scant_item *item, const char *class) {
    scant__json_open(json, "result", '[');
    scant__json_open(json, NULL, '{');
    JSON_MEMBERS(json, MEMBER("from_name", "choice"),
                 MEMBER("to_name", item->text ? "text" : "image"),
                 MEMBER("type", "choices"));
    scant__json_open(json, "value", '{');
    scant__json_open(json, "choices", '[');
    scant__json_string(json, NULL, class);
    scant__json_close(json, ']');
    scant__json_close(json, '}');
    scant__json_close(json, '}');
    scant__json_close(json, ']');
}

static void write_annotation(exporting *x, const scant_item *item, const given *g) {
    char at[SCANT__TIMESTAMP];
    const char *class = class_name(x, g->label);
    scant__json_open(&x->json, NULL, '{');
    write_choice(&x->json, item, class ? class : "");
    JSON_MEMBERS(&x->json, MEMBER("annotator", person_name(x, g)),
                 MEMBER("created_at", scant__timestamp_format(g->at, at)));
    if (g->spent >= 0) scant__json_rounded(&x->json, "lead_time", seconds(g), 12);
    scant__json_bool(&x->json, "ground_truth", false);
    scant__json_close(&x->json, '}');
}

static void write_prediction(exporting *x, const scant_item *item) {
    char model[24];
    snprintf(model, sizeof model, "%zu", x->model);
    scant__json_open(&x->json, NULL, '{');
    scant__json_string(&x->json, "model_version", model);
    scant__json_rounded(&x->json, "score", x->confidence, 6);
    write_choice(&x->json, item, x->predicted);
    scant__json_close(&x->json, '}');
}

static void write_task(exporting *x, const scant_item *item) {
    scant__json *json = &x->json;
    if (!x->n_labels && !x->predicted) return;
    scant__json_open(json, NULL, '{');
    scant__json_open(json, "data", '{');
    JSON_MEMBERS(json, MEMBER("id", item->id), MEMBER("ref", item->id));
    if (item->path) scant__json_string(json, "image", item->path);
    if (item->text) scant__json_string(json, "text", item->text);
    scant__json_close(json, '}');
    scant__json_open(json, "annotations", '[');
    for (size_t i = 0; i < x->n_answers; i++)
        if (x->answers[i].kind == SCANT_ANSWER_LABEL)
            write_annotation(x, item, &x->answers[i]);
    scant__json_close(json, ']');
    scant__json_open(json, "predictions", '[');
    if (x->predicted) write_prediction(x, item);
    scant__json_close(json, ']');
    scant__json_close(json, '}');
}

/* ---- .npy -------------------------------------------------------------------------- */

static scant_status keep_label(void *user, const scant_item *item) {
    exporting *x = user;
    TRY_PUSH(x->ctx, x->labels, x->items, x->label_room, item->label);
    return SCANT_OK;
}

static scant_status encode_labels(exporting *x, void **bytes, size_t *size) {
    AUTO(scant_array_auto) scant_array *array = NULL;
    const int64_t none = 0;
    TRY(scant_project_items(x->project, 0, SIZE_MAX, keep_label, x));
    TRY(scant_array_wrap(x->ctx, "labels", x->labels ? x->labels : &none, SCANT_I64, 1,
                         &x->items, &array));
    return scant_array_encode(x->ctx, array, bytes, size);
}

/* ---- formats and entry point ------------------------------------------------------- */

static const char raw[] = "csv-raw";

static const format formats[] = {{"csv", csv_header, false, write_csv},
                                 {raw, csv_header, false, write_csv},
                                 {"jsonl", "", false, write_jsonl},
                                 {"label-studio", "", true, write_task},
                                 {"npy", NULL, false, NULL}};

static scant_status write_items(exporting *x) {
    AUTO(store_tx_end) store_tx tx = TRY_BEGIN(x->project, STORE_READ);
    TRY(store_classes(x->project, &x->classes));
    if (x->classes && !scant_project_class(x->project, x->classes - 1))
        return SCANT_ENOMEM; /* it exists, but could not be read */
    TRY(scant_project_history(x->project, SIZE_MAX, 0, false, SIZE_MAX, keep_answer, x));
    if (x->n) qsort(x->given, x->n, sizeof *x->given, by_item);
    TRY(scant_project_items(x->project, 0, SIZE_MAX, write_item, x));
    return store_commit(&tx);
}

/* Predictions come first: they may take long. The rest is read in one transaction. */
static scant_status export_text(exporting *x, void **bytes, size_t *size) {
    char *text;
    TRY(open_predictions(x));
    scant__text_add(&x->json.text, x->format->header);
    if (x->format->list) {
        x->json.lines = 1;
        scant__json_open(&x->json, NULL, '[');
    }
    TRY(write_items(x));
    if (x->format->list) {
        scant__json_close(&x->json, ']');
        scant__text_add(&x->json.text, "\n");
    }
    TRY(scant__text_take(&x->json.text, &text, size));
    *bytes = text;
    return SCANT_OK;
}

static scant_status find_format(scant_ctx *ctx, const char *name, const format **out) {
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        *out = &formats[i];
        if (strcmp(name, formats[i].name) == 0) return SCANT_OK;
    }
    return scant__fail(
        ctx, SCANT_EUSAGE,
        "there is no format '%s': expected csv, csv-raw, jsonl, label-studio or npy",
        name);
}

static void exporting_end(exporting *x) {
    scant__names_end(&x->people);
    scant__names_end(&x->ids);
    scant__free(x->ctx, x->given);
    scant__free(x->ctx, x->row);
    scant__free(x->ctx, x->labels);
    scant_array_free(x->p);
    scant__json_end(&x->json);
}

scant_status scant_project_export(scant_project *project, const char *format_name,
                                  void **bytes, size_t *size) {
    NEED(project);
    scant_ctx *ctx = store_ctx(project);
    AUTO(exporting_end)
    exporting x = {.project = project, .ctx = ctx, .json.text.ctx = ctx};
    *bytes = NULL;
    *size = 0;
    TRY(find_format(ctx, format_name, &x.format));
    x.add_cell = x.format->name == raw ? scant__text_csv : scant__text_csv_quoted;
    return x.format->item ? export_text(&x, bytes, size) : encode_labels(&x, bytes, size);
}
