/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant status`: shows progress and whether to stop.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/project.h"
#include "core/json.h"
#include "scant/project.h"

typedef struct status_args {
    const char *format;
    net_means means;
} status_args;

static const scant_option flags[] = {
    OPT_CHOICE("format", "text|json", NULL, offsetof(status_args, format), NET_OUTPUT,
               "for people (default) or for programs"),
    OPT_SWITCH("quiet", NULL, offsetof(status_args, means.quiet), NET_OUTPUT,
               "errors only"),
};

static const cli_example examples[] = {
    {"Progress and advice:", "scant status birds"},
    {"Stop in a script:", "scant status birds > /dev/null; [ $? -eq 10 ] && echo enough"},
};

/* ---- counting ---------------------------------------------------------------------- */

typedef struct status_person {
    char *name;
    size_t answers, labels; /* current ones */
    double *times;          /* seconds per answer, as far as known */
    size_t n_times;
} status_person;

typedef struct status_job {
    project_job *project;
    scant_project_info info;
    scant_meter meter;
    size_t *labels; /* of each class */
    status_person *people;
    size_t n_people;
    size_t n_models;  /* printed so far */
    scant__text text; /* the output for people, */
    scant__json json; /* or for programs */
} status_job;

static scant_status count_item(void *user, const scant_item *item) {
    status_job *job = user;
    bool counts = item->label >= 0 && item->copy_of == item->item;
    if (counts && (size_t)item->label < job->info.classes) job->labels[item->label]++;
    return SCANT_OK;
}

static scant_status add_person(void *user, const scant_person *person) {
    status_job *job = user;
    job->people = cli_grow(job->people, job->n_people + 1, sizeof *job->people);
    job->people[job->n_people++] =
        (status_person){.name = cli_strndup(person->name, strlen(person->name))};
    return SCANT_OK;
}

static void add_time(status_person *person, double seconds) {
    size_t n = person->n_times;
    if ((n & (n - 1)) == 0) /* full at a power of two */
        person->times = cli_grow(person->times, n ? 2 * n : 1, sizeof *person->times);
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

static scant_status count(status_job *job) {
    scant_project *project = job->project->project;
    scant_status status = scant_project_info_get(project, &job->info);
    if (status != SCANT_OK) return status;
    job->labels = cli_calloc(job->info.classes, sizeof *job->labels);
    if (job->info.entries)
        status = scant_project_items(project, 0, SIZE_MAX, count_item, job);
    if (status == SCANT_OK) status = scant_project_people(project, add_person, job);
    if (status == SCANT_OK && job->n_people)
        status =
            scant_project_history(project, SIZE_MAX, 0, 0, SIZE_MAX, count_entry, job);
    return status == SCANT_OK ? scant_project_meter(project, &job->meter) : status;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Seconds per answer; unlike the mean, the median ignores long pauses. NaN: unknown. */
static double median(const status_person *person) {
    size_t n = person->n_times;
    if (!n) return (double)NAN;
    qsort(person->times, n, sizeof *person->times, by_size);
    return (person->times[(n - 1) / 2] + person->times[n / 2]) / 2;
}

/* ---- for people -------------------------------------------------------------------- */

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
    scant__text_addf(text, "%zu: %zu to learn from, %zu audited", i->labelled,
                     i->training, i->audited);
    if (i->disputed) scant__text_addf(text, "; %zu disputed", i->disputed);
    if (i->skipped) scant__text_addf(text, "; %zu skipped", i->skipped);
    if (i->unsure) scant__text_addf(text, "; %zu unsure", i->unsure);
    scant__text_add(text, "\n");
    entry(text, "withheld");
    scant__text_addf(text, "%zu for the audit\n", i->withheld);
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
    scant__text_add(text, "\n");
}

static const char *class_name(const status_job *job, size_t class) {
    const char *name = scant_project_class(job->project->project, class);
    return name ? name : "";
}

static void text_classes(status_job *job) {
    scant__text *text = &job->text;
    size_t most = 1, width = COLUMN - 1;
    for (size_t c = 0; c < job->info.classes; c++) {
        size_t length = strlen(class_name(job, c));
        most = job->labels[c] > most ? job->labels[c] : most;
        width = length > width && length < 30 ? length : width;
    }
    scant__text_add(text, "\nCLASS");
    cli_text_pad(text, width + 1);
    scant__text_add(text, "LABELS\n");
    for (size_t c = 0; c < job->info.classes; c++) {
        size_t n = job->labels[c];
        scant__text_add(text, class_name(job, c));
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

static scant_status text_pair(void *user, const scant_agreement_of *pair) {
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

static int print_text(status_job *job) {
    scant_project *project = job->project->project;
    scant__text *text = &job->text;
    text_counts(job);
    text_classes(job);
    text_people(job);
    size_t before = text->size;
    scant_status got = scant_project_agreements(project, text_pair, job);
    if (text->size > before) scant__text_add(text, "\n");
    if (job->info.models) scant__text_add(text, "MODEL  LABELS  ACCURACY\n");
    if (got == SCANT_OK) got = scant_project_models(project, text_model, job);
    if (got != SCANT_OK) return project_failed(job->project, got);
    if (job->info.models) scant__text_add(text, "\n");
    int status = project_add_advice(job->project, text, &job->meter);
    return status == CLI_DONE ? cli_print(text) : status;
}

/* ---- for programs ------------------------------------------------------------------ */

static void json_counts(status_job *job) {
    const scant_project_info *i = &job->info;
    scant__json *json = &job->json;
    const struct {
        const char *key;
        size_t value;
    } counts[] = {
        {"items", i->items},         {"copies", i->copies},     {"withheld", i->withheld},
        {"labelled", i->labelled},   {"training", i->training}, {"audited", i->audited},
        {"disputed", i->disputed},   {"skipped", i->skipped},   {"unsure", i->unsure},
        {"entries", i->entries},     {"picked", i->picked},     {"waiting", i->waiting},
        {"untrained", i->untrained},
    };
    scant__json_string(json, "dir", job->project->dir);
    scant__json_string(json, "kind", i->kind);
    project_json_time(json, "created", i->created);
    for (size_t k = 0; k < CLI_COUNT_OF(counts); k++)
        scant__json_size(json, counts[k].key, counts[k].value);
    scant__json_open(json, "classes", '[');
    for (size_t c = 0; c < i->classes; c++) {
        scant__json_open(json, NULL, '{');
        scant__json_string(json, "name", class_name(job, c));
        scant__json_size(json, "labels", job->labels[c]);
        scant__json_close(json, '}');
    }
    scant__json_close(json, ']');
}

static void json_people(status_job *job) {
    scant__json *json = &job->json;
    scant__json_open(json, "people", '[');
    for (size_t i = 0; i < job->n_people; i++) {
        scant__json_open(json, NULL, '{');
        scant__json_string(json, "name", job->people[i].name);
        scant__json_size(json, "answers", job->people[i].answers);
        scant__json_size(json, "labels", job->people[i].labels);
        scant__json_number(json, "median_seconds", median(&job->people[i]));
        scant__json_close(json, '}');
    }
    scant__json_close(json, ']');
}

static scant_status json_pair(void *user, const scant_agreement_of *pair) {
    scant__json *json = &((status_job *)user)->json;
    scant__json_open(json, NULL, '{');
    scant__json_string(json, "a", pair->a);
    scant__json_string(json, "b", pair->b);
    scant__json_size(json, "items", pair->items);
    scant__json_number(json, "agreed", pair->agreed);
    scant__json_number(json, "kappa", pair->kappa);
    scant__json_close(json, '}');
    return SCANT_OK;
}

static scant_status json_round(void *user, const scant_round_point *round) {
    scant__json *json = &((status_job *)user)->json;
    scant__json_open(json, NULL, '{');
    scant__json_size(json, "round", round->round);
    project_json_time(json, "time", round->at);
    scant__json_string(json, "strategy", round->strategy);
    scant__json_size(json, "model", round->model);
    scant__json_size(json, "picked", round->picked);
    scant__json_size(json, "answered", round->answered);
    scant__json_close(json, '}');
    return SCANT_OK;
}

static scant_status json_model(void *user, const scant_model_point *point) {
    scant__json *json = &((status_job *)user)->json;
    scant__json_open(json, NULL, '{');
    project_json_model(json, point);
    scant__json_close(json, '}');
    return SCANT_OK;
}

static scant_status json_lists(status_job *job) {
    scant_project *project = job->project->project;
    scant__json *json = &job->json;
    scant__json_open(json, "agreements", '[');
    scant_status status = scant_project_agreements(project, json_pair, job);
    scant__json_close(json, ']');
    scant__json_open(json, "rounds", '[');
    if (status == SCANT_OK) status = scant_project_rounds(project, json_round, job);
    scant__json_close(json, ']');
    scant__json_open(json, "models", '[');
    if (status == SCANT_OK) status = scant_project_models(project, json_model, job);
    scant__json_close(json, ']');
    return status;
}

static int print_json(status_job *job) {
    scant__json *json = &job->json;
    char *advice = NULL;
    scant__json_open(json, NULL, '{');
    json_counts(job);
    json_people(job);
    scant_status got = json_lists(job);
    if (got == SCANT_OK)
        got = scant_project_advice(job->project->project, &job->meter, &advice);
    if (got != SCANT_OK) return project_failed(job->project, got);
    project_json_meter(json, &job->meter);
    scant__json_string(json, "advice", advice);
    scant__json_bool(json, "stop", job->meter.stop != 0);
    scant__json_close(json, '}');
    scant__text_add(&json->text, "\n");
    scant_bytes_free(job->project->net.ctx, advice);
    return cli_print(&json->text);
}

/* ---- the command ------------------------------------------------------------------- */

static int print(status_job *job, bool json) {
    scant_status got = count(job);
    if (got != SCANT_OK) return project_failed(job->project, got);
    cli_ui_clear(&job->project->net.ui);
    int status = json ? print_json(job) : print_text(job);
    return status == CLI_DONE && job->meter.stop ? CLI_STOP : status;
}

static int work(project_job *project, const void *arg) {
    const status_args *args = arg;
    status_job job = {.project = project, .text = CLI_TEXT, .json.text = CLI_TEXT};
    int status = print(&job, args->format && strcmp(args->format, "json") == 0);
    for (size_t i = 0; i < job.n_people; i++) {
        free(job.people[i].name);
        free(job.people[i].times);
    }
    free(job.people);
    free(job.labels);
    scant__text_end(&job.text);
    scant__json_end(&job.json);
    return status;
}

static int run(const cli_command *command, int argc, char **argv) {
    status_args args = {0};
    return project_run(command, argc, argv, &args, &args.means, NULL, work);
}

const cli_command cli_cmd_status = {
    .name = "status",
    .synopsis = "DIR [--format text|json]",
    .summary = "show progress and whether to stop",
    .about =
        "Prints items and labels, classes and their number of labels, people and their "
        "agreement, models with their accuracy on the audited items, and advice. Exit "
        "status 10 if the stop rule holds: more labels are unlikely to help.",
    .operand = CLI_PROJECT,
    .project = true,
    .tables = {CLI_FLAGS(flags)},
    .examples = examples,
    .n_examples = CLI_COUNT_OF(examples),
    .run = run,
};
