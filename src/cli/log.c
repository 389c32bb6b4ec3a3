/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant log`: prints the history of a project, newest last, with answers that were
 * undone or replaced.
 *
 * The history is read from its end, so that the last lines of a long one are quick, and
 * so that an undo is seen before the entry it undoes.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/project.h"
#include "scant/project.h"

typedef struct log_args {
    const char *format, *person;
    bool events;
    size_t count;
    net_means means;
} log_args;

#define AT(field) offsetof(log_args, field)

static const char what_group[] = "What";

static const scant_option flags[] = {
    OPT_SWITCH("events", NULL, AT(events), what_group,
               "trainings, rounds, imports and changes of settings, rather than answers"),
    OPT_TEXT("person", "NAME", NULL, AT(person), what_group, "answers of one person"),
    OPT_COUNT("count", "N", NULL, AT(count), 1, INFINITY, what_group,
              "only the last N (default: all)"),
    OPT_CHOICE("format", "text|json", NULL, AT(format), NET_OUTPUT,
               "for people (default), or a list for programs"),
    OPT_SWITCH("quiet", NULL, AT(means.quiet), NET_OUTPUT, "errors only"),
};

static const cli_example examples[] = {
    {"The last twenty answers:", "scant log birds --count 20"},
    {"What anna said, for a program:", "scant log birds --person anna --format json"},
    {"When was what trained and picked?", "scant log birds --events"},
};

/* Lines in the order they are read, one after the other in text. */
typedef struct log_lines {
    bool json;
    scant__text text;
    size_t *starts;
    size_t count;
    int64_t *undone; /* entries with an undo */
    size_t n_undone;
} log_lines;

static void *grow_by_one(void *block, size_t count, size_t size) {
    if ((count & (count - 1)) != 0) return block; /* there is room up to a power of two */
    return cli_grow(block, count ? 2 * count : 1, size);
}

static void begin_line(log_lines *lines) {
    lines->starts = grow_by_one(lines->starts, lines->count, sizeof *lines->starts);
    lines->starts[lines->count++] = lines->text.size;
}

/* ---- answers ----------------------------------------------------------------------- */

static const char *const kinds[] = {
    [SCANT_ANSWER_LABEL] = "label",
    [SCANT_ANSWER_SKIP] = "skip",
    [SCANT_ANSWER_UNSURE] = "unsure",
    [SCANT_ANSWER_UNDO] = "undo",
};

static bool is_undone(const log_lines *lines, int64_t entry) {
    for (size_t i = lines->n_undone; i-- > 0;)
        if (lines->undone[i] == entry) return true;
    return false;
}

static void json_entry(scant__text *text, const scant_entry *e, bool undone) {
    scant__json json = {.text = CLI_TEXT};
    scant__json_open(&json, NULL, '{');
    scant__json_integer(&json, "entry", e->entry);
    project_json_time(&json, "time", e->at);
    scant__json_string(&json, "person", e->person);
    scant__json_string(&json, "kind", kinds[e->kind]);
    scant__json_size(&json, "index", e->item);
    scant__json_string(&json, "id", e->id);
    scant__json_string(&json, "label", e->class_name);
    scant__json_number(&json, "seconds",
                       e->spent >= 0 ? (double)e->spent / 1000 : (double)NAN);
    scant__json_string(&json, "role", scant_role_name(e->role));
    scant__json_size(&json, "round", e->round);
    scant__json_size(&json, "model", e->model);
    scant__json_integer(&json, "undoes", e->undoes);
    scant__json_bool(&json, "stands", e->stands != 0);
    scant__json_bool(&json, "undone", undone);
    scant__json_close(&json, '}');
    scant__text_bytes(text, json.text.data, json.text.size);
    scant__json_end(&json);
}

/* An id may contain control characters, which must not reach the terminal. */
static void add_id(scant__text *text, const char *id) {
    for (; id && *id; id++)
        scant__text_addf(text, "%c",
                         (unsigned char)*id < 0x20 || *id == 0x7F ? '?' : *id);
}

static void text_entry(scant__text *text, const scant_entry *e, bool undone) {
    project_add_time(text, e->at);
    scant__text_addf(text, "  %-10s ", e->person ? e->person : "");
    add_id(text, e->id);
    if (e->kind == SCANT_ANSWER_LABEL)
        scant__text_addf(text, " = %s", e->class_name ? e->class_name : "");
    else
        scant__text_addf(text, ": %s", kinds[e->kind]);
    if (e->spent >= 0) scant__text_addf(text, "  %.1f s", (double)e->spent / 1000);
    if (e->role && e->kind != SCANT_ANSWER_UNDO)
        scant__text_addf(text, "  %s", scant_role_name(e->role));
    if (undone)
        scant__text_add(text, "  (undone)");
    else if (!e->stands && e->kind != SCANT_ANSWER_UNDO)
        scant__text_add(text, "  (replaced)");
}

static scant_status add_entry(void *user, const scant_entry *entry) {
    log_lines *lines = user;
    bool undone = !entry->stands && is_undone(lines, entry->entry);
    if (entry->undoes > 0) {
        lines->undone =
            grow_by_one(lines->undone, lines->n_undone, sizeof *lines->undone);
        lines->undone[lines->n_undone++] = entry->undoes;
    }
    begin_line(lines);
    (lines->json ? json_entry : text_entry)(&lines->text, entry, undone);
    return SCANT_OK;
}

/* ---- events ------------------------------------------------------------------------ */

static scant_status add_event(void *user, const scant_event *event) {
    log_lines *lines = user;
    scant__text *text = &lines->text;
    begin_line(lines);
    if (lines->json) {
        scant__text_addf(text, "{\"event\": %lld, \"time\": \"", (long long)event->event);
        project_add_time(text, event->at);
        scant__text_addf(text, "\", \"kind\": \"%s\", \"text\": %s}", event->kind,
                         event->text && *event->text ? event->text : "null");
        return SCANT_OK;
    }
    project_add_time(text, event->at);
    scant__text_addf(text, "  %-10s %s", event->kind, event->text ? event->text : "");
    return SCANT_OK;
}

/* ---- people ------------------------------------------------------------------------ */

typedef struct name_list {
    const char *wanted;
    size_t person; /* SIZE_MAX: not found */
    char **names;
    size_t count;
} name_list;

static const char *name_at(const void *names, size_t i) {
    return ((char *const *)names)[i];
}

static scant_status keep_name(void *user, const scant_person *person) {
    name_list *list = user;
    list->names = cli_grow(list->names, list->count + 1, sizeof *list->names);
    list->names[list->count++] = cli_strndup(person->name, strlen(person->name));
    if (strcmp(person->name, list->wanted) == 0) list->person = person->person;
    return SCANT_OK;
}

static int find_person(project_job *job, const char *name, size_t *person) {
    name_list list = {.wanted = name, .person = SIZE_MAX};
    scant_status got = scant_project_people(job->project, keep_name, &list);
    int status = got == SCANT_OK ? CLI_DONE : project_failed(job, got);
    if (status == CLI_DONE && list.person == SIZE_MAX) {
        char *hint = cli_suggest(name, "", list.names, list.count, name_at);
        status = cli_usage(job->net.command, "there is no annotator '%s'%s", name, hint);
        free(hint);
    }
    for (size_t i = 0; i < list.count; i++) free(list.names[i]);
    free(list.names);
    *person = list.person;
    return status;
}

/* ---- the work ---------------------------------------------------------------------- */

/* Line i of those that are shown, from 0, oldest first. */
static void add_line(scant__text *out, const log_lines *lines, size_t i) {
    size_t end = i + 1 < lines->count ? lines->starts[i + 1] : lines->text.size;
    scant__text_bytes(out, lines->text.data + lines->starts[i], end - lines->starts[i]);
}

static int print(const log_lines *lines, bool newest_first, size_t most) {
    size_t shown = most && most < lines->count ? most : lines->count;
    scant__text out = CLI_TEXT;
    if (lines->json) scant__text_add(&out, "[");
    for (size_t k = 0; k < shown; k++) {
        if (lines->json && k) scant__text_add(&out, ",\n ");
        add_line(&out, lines, newest_first ? shown - 1 - k : lines->count - shown + k);
        if (!lines->json) scant__text_add(&out, "\n");
    }
    if (lines->json) scant__text_add(&out, "]\n");
    return cli_print(&out);
}

static int work(project_job *job, const void *arg) {
    const log_args *args = arg;
    log_lines lines = {.json = args->format && strcmp(args->format, "json") == 0,
                       .text = CLI_TEXT};
    size_t person = SIZE_MAX;
    scant_status got;
    int status = args->person ? find_person(job, args->person, &person) : CLI_DONE;
    if (status != CLI_DONE) return status;
    if (args->events)
        got = scant_project_events(job->project, 0, add_event, &lines);
    else
        got = scant_project_history(job->project, person, 0, 1,
                                    args->count ? args->count : SIZE_MAX, add_entry,
                                    &lines);
    status = got == SCANT_OK ? print(&lines, !args->events, args->count)
                             : project_failed(job, got);
    scant__text_end(&lines.text);
    free(lines.starts);
    free(lines.undone);
    return status;
}

static int check(const cli_command *command, const char *dir, const void *arg) {
    const log_args *args = arg;
    (void)dir;
    return args->events && args->person
               ? cli_usage(command, "--person cannot be combined with --events")
               : CLI_DONE;
}

static int run(const cli_command *command, int argc, char **argv) {
    log_args args = {0};
    return project_run(command, argc, argv, &args, &args.means, check, work);
}

const cli_command cli_cmd_log = {
    .name = "log",
    .synopsis = "DIR [--events] [--person NAME] [--count N] [--format text|json]",
    .summary = "print the history of a project",
    .about =
        "Prints every answer, newest last: when (UTC), who, which item, what, how "
        "long it took, and why the item was asked about (pick, audit, overlap, fill, "
        "alike, import). Answers that were undone or replaced are marked as such.",
    .operand = CLI_PROJECT,
    .project = true,
    .tables = {CLI_FLAGS(flags)},
    .examples = examples,
    .n_examples = CLI_COUNT_OF(examples),
    .run = run,
};
