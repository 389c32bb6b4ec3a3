/* SPDX-License-Identifier: Apache-2.0
 *
 * Imports answers from a file, all or none.
 *
 * Ids and classes are looked up before the write transaction begins, so a file with
 * unknown ones does not block other writers. If a person has several answers to an item
 * or its copies, the last in the file counts: importing is idempotent. Answers older than
 * the person's current answer or undo are not stored: old exports revert nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/text.h"
#include "data/labelfile.h"
#include "data/source.h"
#include "scant/project.h"
#include "store/store_int.h"

enum { SHOWN = 80, SHOWN_IDS = 5, TICK = 1024 };

typedef struct given {
    /* indices into strings; SIZE_MAX: none */
    size_t id, label, person;
    scant_answer_kind answer;
    size_t line;
    int64_t at;
    bool csv;          /* of a CSV file */
    bool known;        /* to be stored: id and class are known, or the class is added */
    bool quoted_label; /* the label is the text without its first quote */
    size_t item, class, who;
} given;

typedef struct importing {
    scant_project *project;
    scant_ctx *ctx;
    const char *file;
    scant_import_opts opts;
    scant_import *out;
    scant__names strings;
    given *lines;
    size_t n, room;
    size_t bad_classes; /* lines with unknown classes */
    const given *bad;   /* the first of them */
} importing;

/* ---- reading ----------------------------------------------------------------------- */

/* Adds a name without blanks at its ends; *place stays unchanged if it is empty. */
static scant_status keep_name(importing *m, const char *text, size_t *place) {
    size_t length;
    if (!text) return SCANT_OK;
    text = store_trim(text, &length);
    if (!length) return SCANT_OK;
    *place = m->strings.count;
    return scant__names_add(m->ctx, &m->strings, text, length);
}

static scant_status keep_line(void *user, const scant__label_line *line) {
    importing *m = user;
    given g = {.label = SIZE_MAX,
               .person = SIZE_MAX,
               .answer = line->answer,
               .line = line->line,
               .at = line->at,
               .csv = line->csv,
               .id = m->strings.count};
    TRY(scant__names_add(m->ctx, &m->strings, line->id, strlen(line->id)));
    TRY(keep_name(m, line->label, &g.label));
    TRY(keep_name(m, line->person, &g.person));
    if (g.answer == SCANT_ANSWER_LABEL && g.label == SIZE_MAX)
        return SCANT_OK; /* no answer */
    TRY_PUSH(m->ctx, m->lines, m->n, m->room, g);
    return SCANT_OK;
}

static const char *string(const importing *m, size_t place) {
    return scant__names_get(&m->strings, place);
}

static const char *person_of(const importing *m, const given *g) {
    if (g->person != SIZE_MAX) return string(m, g->person);
    return m->opts.person ? m->opts.person : "import";
}

static const char *shown(const char *text, char out[SHOWN]) {
    return scant__printable((const unsigned char *)text, strlen(text), out, SHOWN);
}

/* ---- looking up -------------------------------------------------------------------- */

typedef scant_status finder(scant_project *project, const char *name, bool *there,
                            size_t *number);

/* Finds a name, or the name without a quote that an export has put in front: one of them
 * must be unknown. *quoted: it was that, or may be. */
static scant_status find(const importing *m, const given *g, finder *look,
                         const char *name, bool *there, size_t *number, bool *quoted) {
    const char *bare = g->csv ? scant__csv_unquoted(name) : name;
    bool bare_there;
    size_t bare_number;
    char text[SHOWN];
    TRY(look(m->project, name, there, number));
    *quoted = bare != name && !*there;
    if (bare == name) return SCANT_OK;
    TRY(look(m->project, bare, &bare_there, &bare_number));
    if (*there && bare_there)
        return scant__fail(
            m->ctx, SCANT_EINPUT,
            "%s: line %zu: nothing was imported: with and without its quote "
            "%s is a name of the project: import JSONL instead",
            m->file, g->line, shown(name, text));
    if (bare_there) *there = true, *number = bare_number;
    return SCANT_OK;
}

static const char *label_of(const importing *m, const given *g) {
    return string(m, g->label) + g->quoted_label;
}

static scant_status look_up_line(importing *m, given *g) {
    scant_project *project = m->project;
    const char *id = string(m, g->id);
    bool there, quoted, class_there = true;
    TRY(find(m, g, store_item_find, id, &there, &g->item, &quoted));
    if (!there) {
        id += quoted;
        TRY(scant__names_add(m->ctx, &project->unknown_ids, id, strlen(id)));
    }
    if (g->label != SIZE_MAX)
        TRY(find(m, g, store_class_find, string(m, g->label), &class_there, &g->class,
                 &g->quoted_label));
    if (!class_there && !m->opts.add_classes) {
        if (!m->bad) m->bad = g;
        m->bad_classes++;
    }
    g->known = there && (class_there || m->opts.add_classes);
    return SCANT_OK;
}

static scant_status look_up(importing *m) {
    AUTO(store_tx_end) store_tx tx = TRY_BEGIN(m->project, STORE_READ);
    for (size_t i = 0; i < m->n; i++) {
        if (i % TICK == 0) TRY(scant__tick(m->ctx, "looking up ids", i, m->n));
        TRY(look_up_line(m, &m->lines[i]));
    }
    return store_commit(&tx);
}

/* Lists each unknown id once, sorted by bytes, for the caller. */
static scant_status list_unknown(importing *m) {
    scant_project *project = m->project;
    scant__names *ids = &project->unknown_ids;
    size_t n = 0;
    if (!ids->count) return SCANT_OK;
    scant__names_sort(ids);
    project->unknown_list = scant__alloc(m->ctx, ids->count, sizeof(char *));
    if (!project->unknown_list) return SCANT_ENOMEM;
    for (size_t i = 0; i < ids->count; i++) {
        const char *id = scant__names_get(ids, i);
        if (!n || strcmp(id, project->unknown_list[n - 1]) != 0)
            project->unknown_list[n++] = id;
    }
    m->out->unknown = n;
    m->out->unknown_ids = project->unknown_list;
    return SCANT_OK;
}

static void forget_unknown(scant_project *project) {
    scant__names_end(&project->unknown_ids);
    scant__free(project->ctx, (void *)project->unknown_list);
    project->unknown_list = NULL;
}

/* ---- errors ------------------------------------------------------------------------ */

static scant_status refuse_ids(const importing *m) {
    AUTO(scant__text_end) scant__text list = {.ctx = m->ctx};
    char id[SHOWN];
    size_t n = m->out->unknown;
    for (size_t i = 0; i < n && i < SHOWN_IDS; i++)
        scant__text_addf(&list, "%s'%s'", i ? ", " : "",
                         shown(m->out->unknown_ids[i], id));
    if (n > SHOWN_IDS) scant__text_addf(&list, " and %zu more", n - SHOWN_IDS);
    if (list.failed) return SCANT_ENOMEM;
    return scant__fail(m->ctx, SCANT_EINPUT,
                       "%s: nothing was imported: %zu id%s not in the project: %s",
                       m->file, n, n == 1 ? " is" : "s are", list.data);
}

static scant_status refuse_class(const importing *m) {
    const char *name = label_of(m, m->bad);
    const char *near = store_class_near(m->project, name);
    char text[SHOWN];
    return scant__fail(
        m->ctx, SCANT_EINPUT,
        "%s: line %zu: nothing was imported: there is no class '%s'%s%s%s (%zu "
        "line%s with unknown classes)",
        m->file, m->bad->line, shown(name, text), near ? "; the nearest is '" : "",
        near ? near : "", near ? "'" : "", m->bad_classes,
        m->bad_classes == 1 ? "" : "s");
}

/* ---- people and classes ------------------------------------------------------------ */

static scant_status name_line(importing *m, given *g) {
    const char *label, *person = person_of(m, g);
    bool there;
    TRY(store_original(m->project, g->item, &g->item));
    scant_status status = store_person_put(m->project, person, &g->who);
    if (status != SCANT_OK && g->person == SIZE_MAX)
        return status; /* the name is the caller's, not in a line */
    if (status != SCANT_OK)
        return store_name_line(m->ctx, m->file, g->line, "the annotator", status);
    if (g->label == SIZE_MAX) return SCANT_OK;
    label = label_of(m, g);
    TRY(store_class_find(m->project, label, &there, &g->class));
    if (there) return SCANT_OK;
    return store_name_line(m->ctx, m->file, g->line, "the label",
                           store_class_put(m->project, label, &g->class));
}

/* ---- one answer per person and item ------------------------------------------------ */

typedef struct answer_key {
    size_t item, who, place;
} answer_key;

static int by_answer(const void *a, const void *b) {
    const answer_key *x = a, *y = b;
    if (x->item != y->item) return x->item < y->item ? -1 : 1;
    if (x->who != y->who) return x->who < y->who ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

/* Drops lines that a later line of the file replaces. */
static scant_status drop_replaced(importing *m) {
    AUTO(scant__arena_end) scant__arena arena = {.ctx = m->ctx};
    size_t n = 0;
    answer_key *keys = TRY_NEW(&arena, answer_key, size_max(m->n, 1));
    for (size_t i = 0; i < m->n; i++)
        if (m->lines[i].known)
            keys[n++] = (answer_key){m->lines[i].item, m->lines[i].who, i};
    qsort(keys, n, sizeof *keys, by_answer);
    for (size_t i = 1; i < n; i++)
        if (keys[i].item == keys[i - 1].item && keys[i].who == keys[i - 1].who)
            m->lines[keys[i - 1].place].known = false;
    return SCANT_OK;
}

/* ---- storing ----------------------------------------------------------------------- */

static scant_status add_event(const importing *m) {
    AUTO(scant__json_end) scant__json json = {.text.ctx = m->ctx};
    JSON_OBJECT(&json, NULL, MEMBER("file", m->file), MEMBER("lines", m->out->lines),
                MEMBER("stored", m->out->stored), MEMBER("repeated", m->out->repeated),
                MEMBER("older", m->out->older), MEMBER("unknown", m->out->unknown));
    return store_event_add(m->project, "imported", &json.text);
}

static scant_status store_all(importing *m) {
    AUTO(store_tx_end) store_tx tx = TRY_BEGIN(m->project, STORE_WRITE);
    for (size_t i = 0; i < m->n; i++)
        if (m->lines[i].known) TRY(name_line(m, &m->lines[i]));
    TRY(drop_replaced(m));
    for (size_t i = 0; i < m->n; i++) {
        const given *g = &m->lines[i];
        store_imported how;
        if (i % TICK == 0) TRY(scant__tick(m->ctx, "importing", i, m->n));
        if (!g->known) continue;
        TRY(store_import_put(m->project, g->item, g->who, g->answer, g->class, g->at,
                             &how));
        *(how == STORE_OLDER      ? &m->out->older
          : how == STORE_REPEATED ? &m->out->repeated
                                  : &m->out->stored) += 1;
        if (how == STORE_IMPORTED && g->answer != SCANT_ANSWER_LABEL) m->out->others++;
    }
    if (m->out->stored) TRY(add_event(m));
    return store_commit(&tx);
}

static scant_status import(importing *m) {
    TRY(scant__labelfile_read(m->ctx, m->file, keep_line, m));
    m->out->lines = m->n;
    TRY(look_up(m));
    TRY(list_unknown(m));
    if (!m->opts.partial && m->out->unknown) return refuse_ids(m);
    if (!m->opts.partial && m->bad) return refuse_class(m);
    scant_status status = store_all(m);
    if (status != SCANT_OK)
        m->out->stored = m->out->repeated = m->out->older = m->out->others = 0;
    return status;
}

static void importing_end(importing *m) {
    scant__names_end(&m->strings);
    scant__free(m->ctx, m->lines);
}

scant_status scant_project_import(scant_project *project, const char *path,
                                  const scant_import_opts *opts, scant_import *out) {
    NEED(project);
    scant_import unseen;
    AUTO(importing_end)
    importing m = {.project = project,
                   .ctx = project->ctx,
                   .file = path,
                   .out = out ? out : &unseen};
    if (opts) m.opts = *opts;
    *m.out = (scant_import){0};
    forget_unknown(project);
    if (m.opts.person) TRY(store_person_check(project->ctx, m.opts.person));
    return import(&m);
}
