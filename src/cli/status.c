/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant status`: shows progress and whether to stop.
 */
#include "cli/status.h"
#include "scant/project.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct status_args {
    const char *format;
    net_means means;
} status_args;

static const cli_flag flags[] = {
    {"format", "text|json", CLI_CHOICE, offsetof(status_args, format), 0, 0, NET_OUTPUT,
     "for people (default) or for programs"},
    {"quiet", NULL, CLI_SWITCH, offsetof(status_args, means.quiet), 0, 0, NET_OUTPUT,
     "errors only"},
};

static const cli_example examples[] = {
    {"Progress and advice:", "scant status birds"},
    {"Stop in a script:", "scant status birds > /dev/null; [ $? -eq 10 ] && echo enough"},
};

static char *copy(const char *text) {
    return cli_strndup(text ? text : "", text ? strlen(text) : 0);
}

/* ---- gathering --------------------------------------------------------------------- */

static scant_status count_item(void *user, const scant_item *item) {
    status_job *job = user;
    bool counts = item->label >= 0 && item->copy_of == item->item;
    if (counts && (size_t)item->label < job->info.classes) job->labels[item->label]++;
    return SCANT_OK;
}

static scant_status count_classes(status_job *job) {
    size_t n = job->info.classes;
    job->classes = cli_calloc(n, sizeof *job->classes);
    job->labels = cli_calloc(n, sizeof *job->labels);
    for (size_t c = 0; c < n; c++)
        job->classes[c] = copy(scant_project_class(job->project->project, c));
    if (!job->info.entries) return SCANT_OK; /* there are no answers */
    return scant_project_items(job->project->project, 0, SIZE_MAX, count_item, job);
}

static void add_time(status_person *person, double seconds) {
    size_t n = person->n_times;
    if ((n & (n - 1)) == 0) /* there is room up to a power of two */
        person->times = cli_grow(person->times, n ? 2 * n : 1, sizeof *person->times);
    person->times[person->n_times++] = seconds;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Unlike the mean, the median ignores long pauses. */
static void find_median(status_person *person) {
    size_t n = person->n_times;
    person->median = (double)NAN;
    if (!n) return;
    qsort(person->times, n, sizeof *person->times, by_size);
    person->median = (person->times[(n - 1) / 2] + person->times[n / 2]) / 2;
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

static scant_status count_people(status_job *job) {
    scant_project *project = job->project->project;
    job->people = cli_calloc(job->info.people, sizeof *job->people);
    for (size_t i = 0; i <= job->info.people && job->n_people < job->info.people; i++) {
        const char *name = scant_project_person_name(project, i);
        if (name) job->people[job->n_people++].name = copy(name);
    }
    if (!job->n_people) return SCANT_OK;
    scant_status status =
        scant_project_history(project, SIZE_MAX, 0, 0, SIZE_MAX, count_entry, job);
    for (size_t i = 0; i < job->n_people; i++) find_median(&job->people[i]);
    return status;
}

static scant_status keep_pair(void *user, const scant_agreement_of *pair) {
    status_job *job = user;
    job->pairs = cli_grow(job->pairs, job->n_pairs + 1, sizeof *job->pairs);
    job->pairs[job->n_pairs++] = (status_pair){copy(pair->a), copy(pair->b), pair->items,
                                               pair->agreed, pair->kappa};
    return SCANT_OK;
}

static scant_status keep_model(void *user, const scant_model_point *point) {
    status_job *job = user;
    job->models = cli_grow(job->models, job->n_models + 1, sizeof *job->models);
    job->models[job->n_models] = *point;
    job->models[job->n_models++].file = copy(point->file);
    return SCANT_OK;
}

static scant_status keep_round(void *user, const scant_round_point *point) {
    status_job *job = user;
    job->rounds = cli_grow(job->rounds, job->n_rounds + 1, sizeof *job->rounds);
    job->rounds[job->n_rounds] = *point;
    job->rounds[job->n_rounds++].strategy = copy(point->strategy);
    return SCANT_OK;
}

static scant_status gather(status_job *job) {
    scant_project *project = job->project->project;
    scant_status status = scant_project_info_get(project, &job->info);
    if (status == SCANT_OK) status = count_classes(job);
    if (status == SCANT_OK) status = count_people(job);
    if (status == SCANT_OK) status = scant_project_agreements(project, keep_pair, job);
    if (status == SCANT_OK) status = scant_project_models(project, keep_model, job);
    if (status == SCANT_OK) status = scant_project_rounds(project, keep_round, job);
    if (status == SCANT_OK) status = scant_project_meter(project, &job->meter);
    return status;
}

static void forget(status_job *job) {
    for (size_t c = 0; c < job->info.classes && job->classes; c++) free(job->classes[c]);
    for (size_t i = 0; i < job->n_people; i++) {
        free(job->people[i].name);
        free(job->people[i].times);
    }
    for (size_t i = 0; i < job->n_pairs; i++) {
        free(job->pairs[i].a);
        free(job->pairs[i].b);
    }
    for (size_t i = 0; i < job->n_models; i++)
        free((char *)(uintptr_t)job->models[i].file);
    for (size_t i = 0; i < job->n_rounds; i++)
        free((char *)(uintptr_t)job->rounds[i].strategy);
    free(job->classes);
    free(job->labels);
    free(job->people);
    free(job->pairs);
    free(job->models);
    free(job->rounds);
}

/* ---- the call ---------------------------------------------------------------------- */

static int print(status_job *job, bool json) {
    scant_status got = gather(job);
    if (got != SCANT_OK) return project_failed(job->project, got);
    cli_ui_clear(&job->project->net.ui);
    int status = json ? status_print_json(job) : status_print_text(job);
    return status == CLI_DONE && job->meter.stop ? CLI_STOP : status;
}

static int work(project_job *project, const void *arg) {
    const status_args *args = arg;
    status_job job = {.project = project};
    int status = print(&job, args->format && strcmp(args->format, "json") == 0);
    forget(&job);
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
    .flags = flags,
    .n_flags = CLI_COUNT_OF(flags),
    .examples = examples,
    .n_examples = CLI_COUNT_OF(examples),
    .run = run,
};
