/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant log`: prints the history of a project, newest last, including answers that were
 * undone or replaced.
 *
 * Answers are read newest first: --count N reads only N of them, and an undo is seen
 * before the entry that it undoes.
 */
#include <math.h>
#include <string.h>

#include "cli/project_args.h"

typedef struct log_args {
    const char *format, *person;
    bool events;
    size_t count;
    net_common common;
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
    OPT_SWITCH("quiet", NULL, AT(common.quiet), NET_OUTPUT, "errors only"),
};

/* Output lines, in the order they are read. */
typedef struct log_lines {
    bool json;
    scant__text *lines;
    size_t count;
    int64_t *undone; /* numbers of the undone entries */
    size_t n_undone;
} log_lines;

static void add_line(log_lines *lines, scant__text text) {
    lines->lines = project_more(lines->lines, lines->count, sizeof *lines->lines);
    lines->lines[lines->count++] = text;
}

/* ---- answers ----------------------------------------------------------------------- */

static bool is_undone(const log_lines *lines, int64_t entry) {
    for (size_t i = lines->n_undone; i-- > 0;)
        if (lines->undone[i] == entry) return true;
    return false;
}

static scant__text json_entry(const scant_entry *e, bool undone) {
    scant__json json = CLI_JSON;
    double seconds = e->spent >= 0 ? (double)e->spent / 1000 : (double)NAN;
    JSON_OBJECT(
        &json, NULL, MEMBER("entry", e->entry), MEMBER("time", project_time(e->at)),
        MEMBER("person", e->person), MEMBER("kind", scant_answer_name(e->kind)),
        MEMBER("index", e->item), MEMBER("id", e->id), MEMBER("label", e->class_name),
        MEMBER("seconds", seconds), MEMBER("role", scant_role_name(e->role)),
        MEMBER("round", e->round), MEMBER("model", e->model), MEMBER("undoes", e->undoes),
        MEMBER("stands", e->stands), MEMBER("undone", undone));
    return json.text;
}

/* An id may contain control characters, which must not reach the terminal. */
static void add_id(scant__text *text, const char *id) {
    for (; id && *id; id++)
        scant__text_addf(text, "%c",
                         (unsigned char)*id < 0x20 || *id == 0x7F ? '?' : *id);
}

static scant__text text_entry(const scant_entry *e, bool undone) {
    scant__text text = CLI_TEXT;
    scant__text_addf(&text, "%s  %-10s ", project_time(e->at),
                     e->person ? e->person : "");
    add_id(&text, e->id);
    if (e->kind == SCANT_ANSWER_LABEL)
        scant__text_addf(&text, " = %s", e->class_name ? e->class_name : "");
    else
        scant__text_addf(&text, ": %s", scant_answer_name(e->kind));
    if (e->spent >= 0) scant__text_addf(&text, "  %.1f s", (double)e->spent / 1000);
    if (e->role && e->kind != SCANT_ANSWER_UNDO)
        scant__text_addf(&text, "  %s", scant_role_name(e->role));
    if (undone)
        scant__text_add(&text, "  (undone)");
    else if (!e->stands && e->kind != SCANT_ANSWER_UNDO)
        scant__text_add(&text, "  (replaced)");
    return text;
}

static scant_status add_entry(void *user, const scant_entry *entry) {
    log_lines *lines = user;
    bool undone = !entry->stands && is_undone(lines, entry->entry);
    if (entry->undoes > 0) {
        lines->undone =
            project_more(lines->undone, lines->n_undone, sizeof *lines->undone);
        lines->undone[lines->n_undone++] = entry->undoes;
    }
    add_line(lines, (lines->json ? json_entry : text_entry)(entry, undone));
    return SCANT_OK;
}

/* ---- events ------------------------------------------------------------------------ */

static scant__text json_event(const scant_event *event) {
    scant__json json = CLI_JSON;
    scant__json_open(&json, NULL, '{');
    JSON_MEMBERS(&json, MEMBER("event", event->event),
                 MEMBER("time", project_time(event->at)), MEMBER("kind", event->kind));
    scant__json_raw(&json, "text", event->text && *event->text ? event->text : "null");
    scant__json_close(&json, '}');
    return json.text;
}

static scant__text text_event(const scant_event *event) {
    scant__text text = CLI_TEXT;
    scant__text_addf(&text, "%s  %-10s %s", project_time(event->at), event->kind,
                     event->text ? event->text : "");
    return text;
}

static scant_status add_event(void *user, const scant_event *event) {
    log_lines *lines = user;
    add_line(lines, (lines->json ? json_event : text_event)(event));
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
    list->names = project_more(list->names, list->count, sizeof *list->names);
    list->names[list->count++] = cli_format("%s", person->name);
    if (strcmp(person->name, list->wanted) == 0) list->person = person->person;
    return SCANT_OK;
}

static size_t find_person(project_job *job, const char *name) {
    name_list list = {.wanted = name, .person = SIZE_MAX};
    project_try(job, scant_project_people(job->project, keep_name, &list));
    if (list.person == SIZE_MAX)
        cli_usage(job->net.command, "there is no annotator '%s'%s", name,
                  cli_suggest(name, "", list.names, list.count, name_at));
    return list.person;
}

/* ---- the command ------------------------------------------------------------------- */

static void print(const log_lines *lines, bool newest_first, size_t most) {
    size_t shown = most && most < lines->count ? most : lines->count;
    scant__text out = CLI_TEXT;
    if (lines->json) scant__text_add(&out, "[");
    for (size_t k = 0; k < shown; k++) {
        size_t i = newest_first ? shown - 1 - k : lines->count - shown + k;
        if (lines->json && k) scant__text_add(&out, ",\n ");
        scant__text_bytes(&out, lines->lines[i].data, lines->lines[i].size);
        if (!lines->json) scant__text_add(&out, "\n");
    }
    if (lines->json) scant__text_add(&out, "]\n");
    cli_print(&out);
}

static void run(const cli_call *call) {
    const log_args *args = call->args;
    log_lines lines = {.json = project_is_json(args->format)};
    size_t most = args->count ? args->count : SIZE_MAX;
    if (args->events && args->person)
        cli_usage(call->command, "--person cannot be combined with --events");
    project_job *job = project_open(call, &args->common);
    size_t person = args->person ? find_person(job, args->person) : SIZE_MAX;
    project_try(job, args->events
                         ? scant_project_events(job->project, 0, add_event, &lines)
                         : scant_project_history(job->project, person, 0, true, most,
                                                 add_entry, &lines));
    print(&lines, !args->events, args->count);
}

const cli_command cli_cmd_log = {
    .name = "log",
    .synopsis = "DIR [--events] [--person NAME] [--count N] [--format text|json]",
    .summary = "print the history of a project",
    .about =
        "Prints every answer, newest last: when (UTC), who, which item, what, how "
        "long it took, and why the item was asked about (pick, audit, overlap, fill, "
        "alike, import). Answers that were undone or replaced are marked as such.",
    PROJECT_COMMAND(log_args),
    .tables = {CLI_FLAGS(flags)},
    .examples =
        {
            {"The last twenty answers:", "scant log birds --count 20"},
            {"What anna said, for a program:",
             "scant log birds --person anna --format json"},
            {"What was trained and picked, and when:", "scant log birds --events"},
        },
    .run = run,
};
