/* SPDX-License-Identifier: Apache-2.0
 *
 * The output of `scant status`, as text and as JSON.
 */
#include <math.h>
#include <string.h>

#include "cli/status.h"
#include "scant/project.h"

/* ---- for people -------------------------------------------------------------------- */

enum { COLUMN = 11, BAR = 30, LAST_MODELS = 10 };

static void entry(scant__text *text, const char *name) {
    scant__text_add(text, name);
    cli_text_pad(text, COLUMN);
}

static void add_counts(scant__text *text, const status_job *job) {
    const scant_project_info *i = &job->info;
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

static void add_classes(scant__text *text, const status_job *job) {
    size_t most = 1, width = COLUMN - 1;
    for (size_t c = 0; c < job->info.classes; c++) {
        size_t length = strlen(job->classes[c]);
        most = job->labels[c] > most ? job->labels[c] : most;
        width = length > width && length < 30 ? length : width;
    }
    scant__text_add(text, "\nCLASS");
    cli_text_pad(text, width + 1);
    scant__text_add(text, "LABELS\n");
    for (size_t c = 0; c < job->info.classes; c++) {
        size_t n = job->labels[c];
        scant__text_add(text, job->classes[c]);
        cli_text_pad(text, width + 1);
        scant__text_addf(text, n ? "%6zu  " : "%6zu", n);
        for (size_t k = 0; k < (n * BAR + most - 1) / most; k++)
            scant__text_add(text, "#");
        scant__text_add(text, "\n");
    }
}

static void add_people(scant__text *text, const status_job *job) {
    if (job->n_people) scant__text_add(text, "\nPERSON     ANSWERS\n");
    for (size_t i = 0; i < job->n_people; i++) {
        const status_person *person = &job->people[i];
        scant__text_add(text, person->name);
        cli_text_pad(text, COLUMN);
        scant__text_addf(text, "%7zu", person->answers);
        if (!isnan(person->median))
            scant__text_addf(text, "  %.1f s each", person->median);
        scant__text_add(text, "\n");
    }
    if (job->n_pairs) scant__text_add(text, "\n");
    for (size_t i = 0; i < job->n_pairs; i++) {
        const status_pair *pair = &job->pairs[i];
        scant__text_addf(text, "%s and %s agree on %.0f%% of %zu items", pair->a, pair->b,
                         100 * pair->agreed, pair->items);
        if (!isnan(pair->kappa))
            scant__text_addf(text, " (Cohen's kappa %.2f)", pair->kappa);
        scant__text_add(text, "\n");
    }
}

static void add_models(scant__text *text, const status_job *job) {
    size_t first = job->n_models > LAST_MODELS ? job->n_models - LAST_MODELS : 0;
    if (!job->n_models) return;
    scant__text_add(text, "\nMODEL  LABELS  ACCURACY\n");
    for (size_t i = first; i < job->n_models; i++) {
        const scant_model_point *point = &job->models[i];
        scant__text_addf(text, "%5zu  %6zu  ", point->model, point->labels);
        project_add_accuracy(text, point);
        scant__text_add(text, "\n");
    }
}

int status_print_text(status_job *job) {
    scant__text text = CLI_TEXT;
    add_counts(&text, job);
    add_classes(&text, job);
    add_people(&text, job);
    add_models(&text, job);
    scant__text_add(&text, "\n");
    int status = project_add_advice(job->project, &text, &job->meter);
    if (status == CLI_DONE) return cli_print(&text);
    scant__text_end(&text);
    return status;
}

/* ---- for programs ------------------------------------------------------------------ */

static void json_counts(scant__text *text, const status_job *job) {
    const scant_project_info *i = &job->info;
    scant__text_add(text, "{\"dir\": ");
    scant__text_json(text, job->project->dir);
    scant__text_add(text, ", \"kind\": ");
    scant__text_json(text, i->kind);
    scant__text_add(text, ", \"created\": \"");
    project_add_time(text, i->created);
    scant__text_addf(text,
                     "\",\n \"items\": %zu, \"copies\": %zu, \"withheld\": %zu, "
                     "\"labelled\": %zu, \"training\": %zu, \"audited\": %zu, "
                     "\"disputed\": %zu, \"skipped\": %zu, \"unsure\": %zu, "
                     "\"entries\": %zu, \"picked\": %zu, \"waiting\": %zu, "
                     "\"untrained\": %zu,\n",
                     i->items, i->copies, i->withheld, i->labelled, i->training,
                     i->audited, i->disputed, i->skipped, i->unsure, i->entries,
                     i->picked, i->waiting, i->untrained);
}

static void json_classes(scant__text *text, const status_job *job) {
    scant__text_add(text, " \"classes\": [");
    for (size_t c = 0; c < job->info.classes; c++) {
        scant__text_add(text, c ? ", {\"name\": " : "{\"name\": ");
        scant__text_json(text, job->classes[c]);
        scant__text_addf(text, ", \"labels\": %zu}", job->labels[c]);
    }
    scant__text_add(text, "],\n");
}

static void json_people(scant__text *text, const status_job *job) {
    scant__text_add(text, " \"people\": [");
    for (size_t i = 0; i < job->n_people; i++) {
        const status_person *person = &job->people[i];
        scant__text_add(text, i ? ", {\"name\": " : "{\"name\": ");
        scant__text_json(text, person->name);
        scant__text_addf(text,
                         ", \"answers\": %zu, \"labels\": %zu, \"median_seconds\": ",
                         person->answers, person->labels);
        scant__text_json_number(text, person->median);
        scant__text_add(text, "}");
    }
    scant__text_add(text, "],\n \"agreements\": [");
    for (size_t i = 0; i < job->n_pairs; i++) {
        const status_pair *pair = &job->pairs[i];
        scant__text_add(text, i ? ", {\"a\": " : "{\"a\": ");
        scant__text_json(text, pair->a);
        scant__text_add(text, ", \"b\": ");
        scant__text_json(text, pair->b);
        scant__text_addf(text, ", \"items\": %zu, \"agreed\": ", pair->items);
        scant__text_json_number(text, pair->agreed);
        scant__text_add(text, ", \"kappa\": ");
        scant__text_json_number(text, pair->kappa);
        scant__text_add(text, "}");
    }
    scant__text_add(text, "],\n");
}

static void json_rounds(scant__text *text, const status_job *job) {
    scant__text_add(text, " \"rounds\": [");
    for (size_t i = 0; i < job->n_rounds; i++) {
        const scant_round_point *round = &job->rounds[i];
        scant__text_addf(text, "%s{\"round\": %zu, \"time\": \"", i ? ", " : "",
                         round->round);
        project_add_time(text, round->at);
        scant__text_add(text, "\", \"strategy\": ");
        scant__text_json(text, round->strategy);
        scant__text_addf(text, ", \"model\": %zu, \"picked\": %zu, \"answered\": %zu}",
                         round->model, round->picked, round->answered);
    }
    scant__text_add(text, "],\n \"models\": [");
    for (size_t i = 0; i < job->n_models; i++) {
        if (i) scant__text_add(text, ", ");
        project_model_json(text, &job->models[i]);
    }
    scant__text_add(text, "],\n");
}

int status_print_json(status_job *job) {
    scant__text text = CLI_TEXT;
    char *advice = NULL;
    scant_status said = scant_project_advice(job->project->project, &job->meter, &advice);
    if (said != SCANT_OK) return project_failed(job->project, said);
    json_counts(&text, job);
    json_classes(&text, job);
    json_people(&text, job);
    json_rounds(&text, job);
    scant__text_add(&text, " \"meter\": ");
    project_meter_json(&text, &job->meter);
    scant__text_add(&text, ",\n \"advice\": ");
    scant__text_json(&text, advice);
    scant__text_addf(&text, ", \"stop\": %s}\n", job->meter.stop ? "true" : "false");
    scant_bytes_free(job->project->net.ctx, advice);
    return cli_print(&text);
}
