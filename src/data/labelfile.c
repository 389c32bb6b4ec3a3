/* SPDX-License-Identifier: Apache-2.0
 *
 * CSV has a header with id and label, and optionally answer, annotator and time. A JSON
 * object, in a list or a line of JSONL, is one of:
 *
 * - a row with the same keys. The label may be Label Studio's {"choices": ["cat"]}; its
 *   key is the first of label, choice, choices, class and sentiment (names in Label
 *   Studio's templates) that has a value. created_at is accepted as time. A row with the
 *   key annotation_id is Label Studio's JSON-MIN, where a number in id is the task's: the
 *   item's id is the first of ref, id if it is a string, image and text, and answer is
 *   ignored, because it is user data;
 * - a row with the key answers, a list of {label, answer, annotator, time}, as `scant
 *   export` writes it. The list is read, and the row's own label is ignored;
 * - a Label Studio task with the key annotations (or completions), a list. The item's id
 *   is the first of id, ref, image and text in the object data. The label is the first
 *   result with choices of an annotation; cancelled annotations are skipped. Their author
 *   is the value of annotator (written by `scant export`) or else of completed_by.
 *
 * The value of answer is label (the default), skip or unsure; the last two exclude a
 * label. An annotator is a string, a number, or an object with email, username or id.
 */
#include "data/labelfile.h"

#include <stdio.h>
#include <string.h>

#include "data/fields.h"
#include "data/source.h"
#include "data/timestamp.h"
#include "scant/project.h"

enum { ID, LABEL, ANSWER, ANNOTATOR, TIME, FIELDS };
static const char *const names[FIELDS] = {"id", "label", "answer", "annotator", "time"};

enum { SHOWN = 80, NUMBER = 24 };

typedef scant_status label_fn(void *user, const scant__label_line *line);

typedef struct reader {
    scant_ctx *ctx;
    scant__fields fields;
    label_fn *fn;
    void *user;
    size_t labels; /* labels found so far */
    size_t objects;
    char id[NUMBER], label[NUMBER], person[NUMBER]; /* buffers for numbers as text */
} reader;

/* ---- errors ------------------------------------------------------------------------ */

/* The position for messages: "line 3", or in a list "task 3". */
static size_t where(const reader *r, const char **word) {
    bool list = r->fields.json && r->fields.objects.list;
    *word = list ? "task" : "line";
    return list ? r->fields.objects.count : r->fields.line;
}

static scant_status wrong(const reader *r, const char *value, const char *what) {
    char text[SHOWN];
    const char *word;
    size_t number = where(r, &word);
    return scant__refuse(r->ctx, r->fields.name, "%s %zu: '%s' %s", word, number,
                         scant__printable(value, strlen(value), text, SHOWN), what);
}

static scant_status wrong_row(const reader *r, const char *what) {
    const char *word;
    size_t number = where(r, &word);
    return scant__refuse(r->ctx, r->fields.name, "%s %zu %s", word, number, what);
}

/* ---- an answer --------------------------------------------------------------------- */

static const char no_time[] =
    "is not a time: expected ISO 8601 (2026-11-17T20:05:09Z) or milliseconds since 1970";

/* An answer as written in the file; missing strings are NULL. */
typedef struct answer_text {
    const char *label, *answer, *person;
    int64_t at;
    bool csv;
} answer_text;

static scant_status answer_kind(const reader *r, const answer_text *s,
                                scant_answer_kind *out) {
    *out = SCANT_ANSWER_LABEL;
    if (!s->answer || strcmp(s->answer, "label") == 0) return SCANT_OK;
    if (strcmp(s->answer, "skip") == 0)
        *out = SCANT_ANSWER_SKIP;
    else if (strcmp(s->answer, "unsure") == 0)
        *out = SCANT_ANSWER_UNSURE;
    else
        return wrong(r, s->answer, "is not an answer: expected label, skip or unsure");
    if (!s->label) return SCANT_OK;
    return wrong(r, s->answer,
                 "is the answer, but there is also a label: expected only one of them");
}

static scant_status give(reader *r, const char *id, const answer_text *s) {
    const char *word;
    scant__label_line line = {.line = where(r, &word),
                              .id = id,
                              .label = s->label,
                              .person = s->person,
                              .at = s->at,
                              .csv = s->csv};
    TRY(answer_kind(r, s, &line.answer));
    if (line.answer == SCANT_ANSWER_LABEL && !s->label) return SCANT_OK;
    if (!id)
        return wrong_row(r,
                         s->label ? "has a label but no id" : "has an answer but no id");
    r->labels++;
    return r->fn(r->user, &line);
}

static scant_status read_cells(reader *r) {
    const char *values[FIELDS];
    for (size_t i = 0; i < FIELDS; i++) TRY(scant__fields_get(&r->fields, i, &values[i]));
    if (values[ANNOTATOR]) values[ANNOTATOR] = scant__csv_unquoted(values[ANNOTATOR]);
    answer_text s = {values[LABEL], values[ANSWER], values[ANNOTATOR], -1, true};
    bool counts = s.label || s.answer;
    if (counts && values[TIME] && !scant__timestamp_parse(values[TIME], &s.at))
        return wrong(r, values[TIME], no_time);
    return give(r, values[ID], &s);
}

/* ---- values of JSON ---------------------------------------------------------------- */

/* Returns a non-empty string, or a whole number printed to room; else NULL. */
static const char *plain(const json_t *value, char room[NUMBER]) {
    if (json_is_integer(value)) {
        snprintf(room, NUMBER, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        return room;
    }
    return json_string_length(value) ? json_string_value(value) : NULL;
}

static bool is_nothing(const json_t *value) {
    return !value || json_is_null(value) ||
           (json_is_string(value) && !json_string_length(value));
}

static scant_status get_time(const reader *r, const json_t *value, int64_t *out) {
    char room[NUMBER];
    *out = -1;
    if (is_nothing(value)) return SCANT_OK;
    const char *text = plain(value, room);
    if (text && scant__timestamp_parse(text, out)) return SCANT_OK;
    return wrong(r, text ? text : "time", no_time);
}

static scant_status get_person(reader *r, const json_t *value, const char **out) {
    static const char *const keys[] = {"email", "username", "id"};
    *out = NULL;
    if (is_nothing(value)) return SCANT_OK;
    for (size_t i = 0; i < 3 && !*out && json_is_object(value); i++)
        *out = plain(json_object_get(value, keys[i]), r->person);
    if (!*out) *out = plain(value, r->person);
    if (*out) return SCANT_OK;
    return wrong(
        r, "annotator",
        "is neither a string, a number, nor an object with email, username or id");
}

/* Reads a class: a string, a number, a list with one of them, or {"choices": LIST}. */
static scant_status get_label(reader *r, const json_t *value, const char **out) {
    if (json_is_object(value)) value = json_object_get(value, "choices");
    *out = NULL;
    if (is_nothing(value)) return SCANT_OK;
    if (json_is_array(value)) {
        if (!json_array_size(value)) return SCANT_OK;
        if (json_array_size(value) > 1)
            return wrong_row(r, "has several choices, expected one class");
        value = json_array_get(value, 0);
    }
    *out = plain(value, r->label);
    return *out ? SCANT_OK : wrong(r, "label", "is neither a string nor a whole number");
}

/* Passes an answer to fn: a label if answer has no value. Without both, does nothing. */
static scant_status give_object(reader *r, const char *id, const json_t *label,
                                const json_t *answer, const json_t *person,
                                const json_t *time) {
    answer_text s = {0};
    TRY(get_label(r, label, &s.label));
    if (!is_nothing(answer) && !json_is_string(answer))
        return wrong(r, "answer", "is not a string: expected label, skip or unsure");
    if (!is_nothing(answer)) s.answer = json_string_value(answer);
    if (!s.label && !s.answer) return SCANT_OK;
    TRY(get_person(r, person, &s.person));
    TRY(get_time(r, time, &s.at));
    return give(r, id, &s);
}

/* The value of the first of n keys that has one. */
static const json_t *first_of(const json_t *object, const char *const *keys, size_t n) {
    const json_t *value = NULL;
    for (size_t i = 0; i < n && is_nothing(value); i++)
        value = json_object_get(object, keys[i]);
    return value;
}

/* ---- objects ----------------------------------------------------------------------- */

static const char *task_id(reader *r, const json_t *data) {
    static const char *const keys[] = {"id", "ref", "image", "text"};
    return plain(first_of(data, keys, 4), r->id);
}

static const char *row_id(reader *r, const json_t *row) {
    static const char *const keys[] = {"image", "text"};
    const json_t *id = json_object_get(row, "id"), *ref = json_object_get(row, "ref");
    if (!json_object_get(row, "annotation_id")) return plain(id, r->id);
    if (!is_nothing(ref)) return plain(ref, r->id);
    if (json_is_string(id)) return plain(id, r->id);
    return plain(first_of(row, keys, 2), r->id);
}

static scant_status read_annotation(reader *r, const char *id, const json_t *annotation) {
    static const char *const people[] = {"annotator", "completed_by"};
    const json_t *results = json_object_get(annotation, "result"), *choices = NULL;
    if (!json_is_object(annotation))
        return wrong_row(r, "has an annotation that is not an object");
    if (json_is_true(json_object_get(annotation, "was_cancelled"))) return SCANT_OK;
    for (size_t i = 0; i < json_array_size(results) && !choices; i++) {
        const json_t *value = json_object_get(json_array_get(results, i), "value");
        choices = json_object_get(value, "choices");
    }
    return give_object(r, id, choices, NULL, first_of(annotation, people, 2),
                       json_object_get(annotation, "created_at"));
}

static scant_status read_task(reader *r, const json_t *task, const json_t *annotations) {
    const char *id = task_id(r, json_object_get(task, "data"));
    for (size_t i = 0; i < json_array_size(annotations); i++)
        TRY(read_annotation(r, id, json_array_get(annotations, i)));
    return SCANT_OK;
}

static scant_status read_answers(reader *r, const json_t *row, const json_t *answers) {
    const char *id = row_id(r, row);
    for (size_t i = 0; i < json_array_size(answers); i++) {
        const json_t *answer = json_array_get(answers, i);
        if (!json_is_object(answer))
            return wrong_row(r, "has an answer that is not an object");
        TRY(give_object(
            r, id, json_object_get(answer, "label"), json_object_get(answer, "answer"),
            json_object_get(answer, "annotator"), json_object_get(answer, "time")));
    }
    return SCANT_OK;
}

static scant_status read_object(reader *r) {
    static const char *const labels[] = {"label", "choice", "choices", "class",
                                         "sentiment"};
    static const char *const times[] = {"time", "created_at"};
    const json_t *o = r->fields.object.root;
    const json_t *annotations = json_object_get(o, "annotations");
    const json_t *answers = json_object_get(o, "answers");
    if (!annotations) annotations = json_object_get(o, "completions");
    r->objects++;
    if (json_is_array(annotations)) return read_task(r, o, annotations);
    if (json_is_array(answers)) return read_answers(r, o, answers);
    bool theirs = json_object_get(o, "annotation_id") != NULL;
    return give_object(r, row_id(r, o), first_of(o, labels, 5),
                       theirs ? NULL : json_object_get(o, "answer"),
                       json_object_get(o, "annotator"), first_of(o, times, 2));
}

/* ---- whole file -------------------------------------------------------------------- */

static void end(reader *r) { scant__fields_end(&r->fields); }

static scant_status check_columns(const reader *r) {
    bool id = scant__fields_has(&r->fields, ID);
    if (id &&
        (scant__fields_has(&r->fields, LABEL) || scant__fields_has(&r->fields, ANSWER)))
        return SCANT_OK;
    return scant__refuse(r->ctx, r->fields.name,
                         "line %zu, its header, has no column '%s': expected id and "
                         "label, optionally answer, annotator and time",
                         r->fields.line, names[id ? LABEL : ID]);
}

scant_status scant__labelfile_read(scant_ctx *ctx, const char *path, label_fn *fn,
                                   void *user) {
    AUTO(end) reader r = {.ctx = ctx, .fn = fn, .user = user};
    bool there;
    TRY(scant__fields_open(&r.fields, ctx, path, names, FIELDS));
    TRY(check_columns(&r));
    for (;;) {
        TRY(scant__fields_next(&r.fields, &there));
        if (!there) break;
        TRY(r.fields.json ? read_object(&r) : read_cells(&r));
    }
    if (!r.labels)
        scant__warn(ctx, "%s: has no labels%s", path,
                    r.objects ? ": neither annotations with choices nor the keys id and "
                                "label were found"
                              : "");
    return SCANT_OK;
}
