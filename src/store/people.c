/* SPDX-License-Identifier: Apache-2.0
 *
 * Names and numbers of people, classes and items.
 */
#include <string.h>

#include "core/json.h"
#include "core/near.h"
#include "core/utf8.h"
#include "data/names.h"
#include "scant/project.h"
#include "store/store_int.h"

typedef struct range {
    uint32_t first, last;
} range;

static bool is_in(uint32_t code, const range *ranges, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (code >= ranges[i].first && code <= ranges[i].last) return true;
    return false;
}

/* Characters that are invisible at the ends of a name: Unicode's White_Space, and those
 * without width or shape. Inside a name some have a meaning. */
static bool is_blank(uint32_t code) {
    static const range blanks[] = {{0x09, 0x0d},     {0x20, 0x20},     {0x85, 0x85},
                                   {0xa0, 0xa0},     {0xad, 0xad},     {0x34f, 0x34f},
                                   {0x115f, 0x1160}, {0x1680, 0x1680}, {0x180e, 0x180e},
                                   {0x2000, 0x200d}, {0x2028, 0x2029}, {0x202f, 0x202f},
                                   {0x205f, 0x2064}, {0x2800, 0x2800}, {0x3000, 0x3000},
                                   {0x3164, 0x3164}, {0xfeff, 0xfeff}, {0xffa0, 0xffa0}};
    return is_in(code, blanks, sizeof blanks / sizeof *blanks);
}

/* Unicode's Bidi_Control: changes the writing direction of the following text. */
static bool is_bidi(uint32_t code) {
    static const range bidi[] = {
        {0x61c, 0x61c}, {0x200e, 0x200f}, {0x202a, 0x202e}, {0x2066, 0x2069}};
    return is_in(code, bidi, sizeof bidi / sizeof *bidi);
}

/* Control characters of ASCII and Latin 1, and Unicode's line and paragraph ends. */
static bool is_control(uint32_t code) {
    static const range controls[] = {{0, 0x1f}, {0x7f, 0x9f}, {0x2028, 0x2029}};
    return is_in(code, controls, sizeof controls / sizeof *controls);
}

const char *store_trim(const char *text, size_t *length) {
    const char *begin = NULL, *end = text;
    uint32_t code;
    for (const char *at = text; *at;) {
        size_t step = scant__utf8_next(at, SIZE_MAX, &code);
        bool blank = is_blank(code);
        if (!blank && !begin) begin = at;
        at += step;
        if (!blank) end = at;
    }
    *length = begin ? (size_t)(end - begin) : 0;
    return begin ? begin : text;
}

static scant_status check_text(scant_ctx *ctx, const char *what, size_t most,
                               const char *name) {
    size_t length;
    uint32_t code;
    if (!*name) return scant__fail(ctx, SCANT_EUSAGE, "%s is empty", what);
    if (strlen(name) > most)
        return scant__fail(ctx, SCANT_EUSAGE, "%s has %zu bytes; at most %zu are allowed",
                           what, strlen(name), most);
    for (const char *at = name; *at;) {
        at += scant__utf8_next(at, SIZE_MAX, &code);
        if (code == SCANT__UTF8_BAD)
            return scant__fail(ctx, SCANT_EUSAGE, "%s is not UTF-8", what);
        if (is_control(code))
            return scant__fail(ctx, SCANT_EUSAGE,
                               "%s must not contain a control character", what);
        if (is_bidi(code))
            return scant__fail(
                ctx, SCANT_EUSAGE,
                "%s must not contain a character that changes the direction of "
                "writing",
                what);
    }
    store_trim(name, &length);
    if (!length)
        return scant__fail(ctx, SCANT_EUSAGE, "%s consists of blanks only", what);
    if (length < strlen(name))
        return scant__fail(ctx, SCANT_EUSAGE,
                           "%s, '%s', must not begin or end with a blank", what, name);
    return SCANT_OK;
}

scant_status store_name_line(scant_ctx *ctx, const char *file, size_t line,
                             const char *what, scant_status status) {
    char why[SCANT__ERR_SIZE];
    if (status != SCANT_EUSAGE) return status;
    memcpy(why, ctx->err, sizeof why);
    return scant__fail(ctx, SCANT_EINPUT, "%s: line %zu: %s: %s", file, line, what, why);
}

/* ---- people ------------------------------------------------------------------------ */

scant_status store_person_check(scant_ctx *ctx, const char *name) {
    return check_text(ctx, "a person's name", STORE_PERSON, name);
}

/* Finds a person by name; 0: there is none. */
static scant_status find_person(scant_project *project, const char *name,
                                size_t *person) {
    *person = (size_t)TRY_ONE(project, 0, "SELECT person FROM people WHERE name = ?1",
                              store_text(name));
    return SCANT_OK;
}

scant_status store_person_put(scant_project *project, const char *name, size_t *person) {
    TRY(store_person_check(project->ctx, name));
    TRY(find_person(project, name, person));
    if (*person) return SCANT_OK;
    TRY(store_do(project, "INSERT INTO people (name) VALUES (?1)", store_text(name)));
    *person = (size_t)sqlite3_last_insert_rowid(project->db);
    return SCANT_OK;
}

scant_status scant_project_person(scant_project *project, const char *name,
                                  size_t *person) {
    NEED(project);
    TRY(store_person_check(project->ctx, name));
    TRY(find_person(project, name, person));
    if (*person) return SCANT_OK; /* the usual case needs no lock */
    AUTO(store_tx_end) store_tx tx = TRY_BEGIN(project, STORE_WRITE);
    TRY(store_person_put(project, name, person));
    return store_commit(&tx);
}

scant_status store_person_name(scant_project *project, size_t person) {
    scant__free(project->ctx, project->person);
    project->person = NULL;
    if (person > INT64_MAX) return SCANT_OK;
    STORE_EACH(row, project, "SELECT name FROM people WHERE person = ?1",
               store_size(person)) {
        project->person = store_strdup(project->ctx, store_name(row, 0));
        if (!project->person) return SCANT_ENOMEM;
    }
    return SCANT_OK;
}

const char *scant_project_person_name(scant_project *project, size_t person) {
    (void)store_person_name(project, person);
    return project->person;
}

scant_status scant_project_people(scant_project *project,
                                  scant_status (*fn)(void *user,
                                                     const scant_person *person),
                                  void *user) {
    NEED(project);
    STORE_EACH(row, project, "SELECT person, name, answers FROM people ORDER BY 1")
        TRY(fn(user, &(scant_person){.person = store_count(row, 0),
                                     .name = store_name(row, 1),
                                     .answers = store_count(row, 2)}));
    return SCANT_OK;
}

/* ---- classes ----------------------------------------------------------------------- */

scant_status store_class_check(scant_ctx *ctx, const char *name) {
    return check_text(ctx, "a class's name", STORE_CLASS, name);
}

scant_status store_class_find(scant_project *project, const char *name, bool *there,
                              size_t *label) {
    int64_t number = TRY_ONE(project, -1, "SELECT class FROM classes WHERE name = ?1",
                             store_text(name));
    *there = number >= 0;
    *label = *there ? (size_t)number : 0;
    return SCANT_OK;
}

static const char *name_at(const void *project, size_t i) {
    return (*(scant_project *const *)project)->classes[i];
}

const char *store_class_near(scant_project *project, const char *name) {
    size_t n;
    if (store_classes(project, &n) == SCANT_OK && n)
        scant_project_class(project, n - 1); /* reads all names */
    return scant__nearest(name, &project, project->n_classes, name_at);
}

scant_status store_class_put(scant_project *project, const char *name, size_t *label) {
    bool there;
    TRY(store_class_check(project->ctx, name));
    TRY(store_class_find(project, name, &there, label));
    if (there)
        return scant__fail(project->ctx, SCANT_ECONFLICT, "there is a class '%s' already",
                           name);
    TRY(store_classes(project, label));
    return store_do(project, "INSERT INTO classes (class, name) VALUES (?1, ?2)",
                    store_size(*label), store_text(name));
}

scant_status scant_project_class_add(scant_project *project, const char *name,
                                     size_t *label) {
    NEED(project);
    AUTO(scant__json_end) scant__json json = {.text.ctx = project->ctx};
    AUTO(store_tx_end) store_tx tx = TRY_BEGIN(project, STORE_WRITE);
    size_t number;
    TRY(store_class_put(project, name, &number));
    JSON_OBJECT(&json, NULL, MEMBER("label", number), MEMBER("name", name));
    TRY(store_event_add(project, "class", &json.text));
    TRY(store_commit(&tx));
    if (label) *label = number;
    return SCANT_OK;
}

/* Classes are only ever added, so cached names stay valid. */
static scant_status read_classes(scant_project *project) {
    STORE_EACH(row, project, "SELECT name FROM classes WHERE class >= ?1 ORDER BY class",
               store_size(project->n_classes)) {
        const char *name = scant__arena_strdup(&project->arena, store_name(row, 0));
        if (!name) return SCANT_ENOMEM;
        TRY_PUSH(project->ctx, project->classes, project->n_classes, project->class_room,
                 name);
    }
    return SCANT_OK;
}

const char *scant_project_class(scant_project *project, size_t label) {
    if (label >= project->n_classes && read_classes(project) != SCANT_OK) return NULL;
    return label < project->n_classes ? project->classes[label] : NULL;
}

/* ---- ids --------------------------------------------------------------------------- */

scant_status store_item_find(scant_project *project, const char *id, bool *there,
                             size_t *item) {
    int64_t number =
        TRY_ONE(project, -1, "SELECT item FROM items WHERE id = ?1", store_text(id));
    *there = number >= 0;
    *item = *there ? (size_t)number : 0;
    return SCANT_OK;
}

scant_status scant_project_find(scant_project *project, const char *id, size_t *item) {
    NEED(project);
    bool there;
    TRY(store_item_find(project, id, &there, item));
    if (there) return SCANT_OK;
    return scant__fail(project->ctx, SCANT_ENOTFOUND, "there is no item '%s'", id);
}
