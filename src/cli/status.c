/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant status`: shows progress and whether to stop.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/project_args.h"

typedef struct status_args {
    const char *format;
    net_common common;
} status_args;

static const scant_option flags[] = {
    OPT_CHOICE("format", "text|json", NULL, offsetof(status_args, format), NET_OUTPUT,
               "for people (default) or for programs"),
    OPT_SWITCH("quiet", NULL, offsetof(status_args, common.quiet), NET_OUTPUT,
               "errors only"),
};

/* ---- counting ---------------------------------------------------------------------- */

typedef struct status_person {
    char *name;
    size_t answers, labels; /* numbers of current answers and labels */
    double *times;          /* seconds per answer, where known */
    size_t n_times;
} status_person;

typedef struct status_job {
    project_job *project;
    scant_project_info info;
    scant_meter meter;
    scant_collapse collapse;
    char *advice;
    size_t *labels; /* number of labels of each class */
    status_person *people;
    size_t n_people;
    size_t n_models;  /* models counted so far */
    scant__text text; /* the output */
} status_job;

static scant_status count_item(void *user, const scant_item *item) {
    status_job *job = user;
    bool counts = item->label >= 0 && item->copy_of == item->item;
    if (counts && (size_t)item->label < job->info.classes) job->labels[item->label]++;
    return SCANT_OK;
}

static scant_status add_person(void *user, const scant_person *person) {
    status_job *job = user;
    job->people = project_more(job->people, job->n_people, sizeof *job->people);
    job->people[job->n_people++] =
        (status_person){.name = cli_format("%s", person->name)};
    return SCANT_OK;
}

static void add_time(status_person *person, double seconds) {
    person->times = project_more(person->times, person->n_times, sizeof *person->times);
    person->times[person->n_times++] = seconds;
}

static scant_status count_entry(void *user, const scant_entry *entry) {
    status_job *job = user;
    if (!entry->stands || entry->kind == SCANT_ANSWER_UNDO) return SCANT_OK;
    for (size_t i = 0; i < job->n_people; i++) {
        status_person *person = &job->people[i];
        if (!entry->person || strcmp(person->name, entry->person) != 0) continue;
        person->answers++;
        person->labels += entry->kind == SCANT_ANSWER_LABEL;
        if (entry->spent >= 0) add_time(person, (double)entry->spent / 1000);
        break;
    }
    return SCANT_OK;
}

static void count(status_job *job) {
    scant_project *project = job->project->project;
    project_try(job->project, scant_project_info_get(project, &job->info));
    job->labels = cli_calloc(job->info.classes, sizeof *job->labels);
    if (job->info.entries)
        project_try(job->project,
                    scant_project_items(project, 0, SIZE_MAX, count_item, job));
    project_try(job->project, scant_project_people(project, add_person, job));
    if (job->n_people)
        project_try(job->project, scant_project_history(project, SIZE_MAX, 0, false,
                                                        SIZE_MAX, count_entry, job));
    project_try(job->project, scant_project_meter(project, &job->meter));
    project_try(job->project, scant_project_collapse(project, &job->collapse));
    project_try(job->project, scant_project_advice(project, &job->meter, &job->advice));
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Returns the median seconds per answer, as pauses distort the mean. NaN: unknown. */
static double median(const status_person *person) {
    size_t n = person->n_times;
    if (!n) return (double)NAN;
    qsort(person->times, n, sizeof *person->times, by_size);
    return (person->times[(n - 1) / 2] + person->times[n / 2]) / 2;
}

/* ---- text output ------------------------------------------------------------------- */

enum { COLUMN = 11, BAR = 30, LAST_MODELS = 10 };

static void entry(scant__text *text, const char *name) {
    scant__text_add(text, name);
    cli_text_pad(text, COLUMN);
}

static void text_counts(status_job *job) {
    const scant_project_info *i = &job->info;
    scant__text *text = &job->text;
    scant__text_addf(text, "%s: ", job->project->dir);
    project_add_items(text, i, i->items);
    if (i->copies) scant__text_addf(text, " (%zu copies of others)", i->copies);
    scant__text_addf(text, ", %zu class%s\n\n", i->classes, i->classes == 1 ? "" : "es");
    entry(text, "labelled");
    scant__text_addf(text, "%zu: %zu for training, %zu audited", i->labelled, i->training,
                     i->audited);
    if (i->disputed) scant__text_addf(text, "; %zu disputed", i->disputed);
    if (i->skipped) scant__text_addf(text, "; %zu skipped", i->skipped);
    if (i->unsure) scant__text_addf(text, "; %zu unsure", i->unsure);
    scant__text_add(text, "\n");
    entry(text, "withheld");
    scant__text_addf(text, "%zu in the audit set\n", i->withheld);
    entry(text, "rounds");
    scant__text_addf(text, "%zu", i->rounds);
    if (i->rounds)
        scant__text_addf(text,
                         "; %zu of the %zu picks of the last round are not answered",
                         i->waiting, i->picked);
    scant__text_add(text, "\n");
    entry(text, "models");
    scant__text_addf(text, "%zu", i->models);
    if (i->untrained)
        scant__text_addf(text, "; %zu label%s since the last", i->untrained,
                         i->untrained == 1 ? "" : "s");
    if (job->collapse.at) scant__text_add(text, "; the last training failed");
    scant__text_add(text, "\n");
}

static void text_classes(status_job *job) {
    scant__text *text = &job->text;
    size_t most = 1, width = COLUMN - 1;
    for (size_t c = 0; c < job->info.classes; c++) {
        size_t length = strlen(project_class_name(job->project, c));
        most = job->labels[c] > most ? job->labels[c] : most;
        width = length > width && length < 30 ? length : width;
    }
    scant__text_add(text, "\nCLASS");
    cli_text_pad(text, width + 1);
    scant__text_add(text, "LABELS\n");
    for (size_t c = 0; c < job->info.classes; c++) {
        size_t n = job->labels[c];
        scant__text_add(text, project_class_name(job->project, c));
        cli_text_pad(text, width + 1);
        scant__text_addf(text, n ? "%6zu  " : "%6zu", n);
        for (size_t k = 0; k < (n * BAR + most - 1) / most; k++)
            scant__text_add(text, "#");
        scant__text_add(text, "\n");
    }
}

static void text_people(status_job *job) {
    scant__text *text = &job->text;
    if (job->n_people) scant__text_add(text, "\nPERSON     ANSWERS\n");
    for (size_t i = 0; i < job->n_people; i++) {
        const status_person *person = &job->people[i];
        double seconds = median(person);
        entry(text, person->name);
        scant__text_addf(text, "%7zu", person->answers);
        if (!isnan(seconds)) scant__text_addf(text, "  %.1f s each", seconds);
        scant__text_add(text, "\n");
    }
    scant__text_add(text, "\n");
}

static scant_status text_pair(void *user, const scant_person_agreement *pair) {
    scant__text *text = &((status_job *)user)->text;
    scant__text_addf(text, "%s and %s agree on %.0f%% of %zu items", pair->a, pair->b,
                     100 * pair->agreed, pair->items);
    if (!isnan(pair->kappa)) scant__text_addf(text, " (Cohen's kappa %.2f)", pair->kappa);
    scant__text_add(text, "\n");
    return SCANT_OK;
}

static scant_status text_model(void *user, const scant_model_point *point) {
    status_job *job = user;
    scant__text *text = &job->text;
    if (job->n_models++ + LAST_MODELS < job->info.models) return SCANT_OK;
    scant__text_addf(text, "%5zu  %6zu  ", point->model, point->labels);
    project_add_accuracy(text, point);
    scant__text_add(text, "\n");
    return SCANT_OK;
}

static void write_text(status_job *job) {
    scant_project *project = job->project->project;
    scant__text *text = &job->text;
    text_counts(job);
    text_classes(job);
    text_people(job);
    size_t before = text->size;
    project_try(job->project, scant_project_agreements(project, text_pair, job));
    if (text->size > before) scant__text_add(text, "\n");
    if (job->info.models) scant__text_add(text, "MODEL  LABELS  ACCURACY\n");
    project_try(job->project, scant_project_models(project, text_model, job));
    if (job->info.models) scant__text_add(text, "\n");
    size_t size = strlen(job->advice);
    while (size && job->advice[size - 1] == '\n') job->advice[--size] = '\0';
    cli_text_wrap(text, 0, job->advice);
}

/* ---- JSON output ------------------------------------------------------------------- */

static void json_counts(scant__json *json, const status_job *job) {
    const scant_project_info *i = &job->info;
    JSON_MEMBERS(json, MEMBER("dir", job->project->dir), MEMBER("kind", i->kind),
                 MEMBER("created", project_time(i->created)));
    scant__json_counts(json, i);
    scant__json_open(json, "classes", '[');
    for (size_t c = 0; c < i->classes; c++)
        JSON_OBJECT(json, NULL, MEMBER("name", project_class_name(job->project, c)),
                    MEMBER("labels", job->labels[c]));
    scant__json_close(json, ']');
    scant__json_open(json, "people", '[');
    for (size_t k = 0; k < job->n_people; k++) {
        const status_person *p = &job->people[k];
        JSON_OBJECT(json, NULL, MEMBER("name", p->name), MEMBER("answers", p->answers),
                    MEMBER("labels", p->labels), MEMBER("median_seconds", median(p)));
    }
    scant__json_close(json, ']');
}

static scant_status json_round(void *json, const scant_round_point *round) {
    scant__json_open(json, NULL, '{');
    scant__json_round(json, round);
    JSON_MEMBERS(json, MEMBER("time", project_time(round->at)),
                 MEMBER("model", round->model));
    scant__json_close(json, '}');
    return SCANT_OK;
}

static scant_status json_model(void *json, const scant_model_point *point) {
    scant__json_open(json, NULL, '{');
    project_json_model(json, point);
    scant__json_close(json, '}');
    return SCANT_OK;
}

static void json_collapse(scant__json *json, const scant_collapse *collapse) {
    if (!collapse->at) {
        scant__json_null(json, "collapsed");
        return;
    }
    scant__json_open(json, "collapsed", '{');
    scant__json_string(json, "time", project_time(collapse->at));
    scant__json_collapse(json, collapse);
    scant__json_close(json, '}');
}

static void write_json(status_job *job) {
    project_job *p = job->project;
    scant__json json = CLI_JSON;
    scant__json_open(&json, NULL, '{');
    json_counts(&json, job);
    scant__json_open(&json, "agreements", '[');
    project_try(p, scant_project_agreements(p->project, scant__json_agreement, &json));
    scant__json_close(&json, ']');
    scant__json_open(&json, "rounds", '[');
    project_try(p, scant_project_rounds(p->project, json_round, &json));
    scant__json_close(&json, ']');
    scant__json_open(&json, "models", '[');
    project_try(p, scant_project_models(p->project, json_model, &json));
    scant__json_close(&json, ']');
    json_collapse(&json, &job->collapse);
    project_json_meter(&json, &job->meter);
    JSON_MEMBERS(&json, MEMBER("advice", job->advice), MEMBER("stop", job->meter.stop));
    scant__json_close(&json, '}');
    scant__text_add(&json.text, "\n");
    job->text = json.text;
}

/* ---- the command ------------------------------------------------------------------- */

static void run(const cli_call *call) {
    const status_args *args = call->args;
    status_job job = {.project = project_open(call, &args->common), .text = CLI_TEXT};
    count(&job);
    (project_is_json(args->format) ? write_json : write_text)(&job);
    scant_bytes_free(job.project->net.ctx, job.advice);
    cli_ui_clear(&job.project->net.ui);
    cli_print(&job.text);
    if (job.meter.stop) cli_exit(CLI_STOP);
}

const cli_command cli_cmd_status = {
    .name = "status",
    .synopsis = "DIR [--format text|json]",
    .summary = "show progress and whether to stop",
    .about =
        "Prints items and labels, classes and their number of labels, people and their "
        "agreement, models with their accuracy on the audited items, and advice. Exit "
        "status 10 if the stop rule holds: more labels are unlikely to help.",
    PROJECT_COMMAND(status_args),
    .tables = {CLI_FLAGS(flags)},
    .examples =
        {
            {"Progress and advice:", "scant status birds"},
            {"Stop in a script:",
             "scant status birds > /dev/null; [ $? -eq 10 ] && echo stop"},
        },
    .run = run,
};
