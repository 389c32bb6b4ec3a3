/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant predict`: prints the predictions of a project's last model.
 */
#include <string.h>

#include "cli/project_args.h"
#include "core/argmax.h"

typedef struct predict_args {
    const char *format, *out;
    bool unlabelled;
    net_common common;
} predict_args;

#define AT(field) offsetof(predict_args, field)

static const scant_option flags[] = {
    OPT_SWITCH("unlabelled", NULL, AT(unlabelled), NET_OUTPUT,
               "only items that have no label"),
    OPT_FILE("out", "FILE", AT(out), NET_OUTPUT,
             "default - (standard output); .npy: the probabilities, items x classes; "
             ".jsonl: one object per item; anything else: CSV"),
    OPT_CHOICE("format", "csv|csv-raw|jsonl|npy", NULL, AT(format), NET_OUTPUT,
               "the format, regardless of the suffix of --out"),
};

static const project_format formats[] = {
    {"csv", ".csv"}, {"jsonl", ".jsonl"}, {"npy", ".npy"}};

typedef struct predict_job {
    project_job *project;
    bool unlabelled, json;
    void (*add_cell)(scant__text *text, const char *cell); /* CSV */
    scant_array *probs;
    size_t classes;
    float *row;
    scant__text text;
} predict_job;

static void json_line(predict_job *job, const char *id, size_t best) {
    scant__json json = {.text = job->text};
    scant__json_open(&json, NULL, '{');
    JSON_MEMBERS(&json, MEMBER("id", id),
                 MEMBER("class", project_class_name(job->project, best)),
                 MEMBER("confidence", (double)job->row[best]));
    scant__json_open(&json, "probabilities", '{');
    for (size_t c = 0; c < job->classes; c++)
        scant__json_number(&json, project_class_name(job->project, c),
                           (double)job->row[c]);
    scant__json_close(&json, '}');
    scant__json_close(&json, '}');
    scant__text_add(&json.text, "\n");
    job->text = json.text;
}

static scant_status add_line(void *user, const scant_item *item) {
    predict_job *job = user;
    if (job->unlabelled && item->label >= 0) return SCANT_OK;
    TRY(scant_array_floats(job->project->net.ctx, job->probs, item->item * job->classes,
                           job->classes, job->row));
    size_t best = scant__argmax(job->row, job->classes);
    if (job->json) {
        json_line(job, item->id, best);
        return SCANT_OK;
    }
    job->add_cell(&job->text, item->id);
    scant__text_add(&job->text, ",");
    job->add_cell(&job->text, project_class_name(job->project, best));
    scant__text_addf(&job->text, ",%.6g\n", (double)job->row[best]);
    return SCANT_OK;
}

static void write_lines(predict_job *job, const char *out) {
    project_job *project = job->project;
    job->classes = scant_array_shape(job->probs)[1];
    job->row = cli_calloc(job->classes, sizeof *job->row);
    if (!job->json) scant__text_add(&job->text, "id,class,confidence\n");
    /* items added in the meantime have no prediction */
    project_try(project,
                scant_project_items(project->project, 0, scant_array_shape(job->probs)[0],
                                    add_line, job));
    project_write(project, out, job->text.data, job->text.size);
}

static void run(const cli_call *call) {
    const predict_args *args = call->args;
    const char *format =
        project_format_of(formats, CLI_COUNT_OF(formats), args->format, args->out);
    bool npy = strcmp(format, "npy") == 0;
    size_t model;
    if (args->unlabelled && npy)
        cli_usage(call->command, "--unlabelled cannot be combined with npy, whose rows "
                                 "are all items in order; use csv or jsonl");
    project_check_out(args->out);
    predict_job job = {.project = project_open(call, &args->common),
                       .unlabelled = args->unlabelled,
                       .json = strcmp(format, "jsonl") == 0,
                       .add_cell = strcmp(format, "csv-raw") == 0
                                       ? scant__text_csv
                                       : scant__text_csv_quoted,
                       .text = CLI_TEXT};
    project_check_overwrites(job.project, "out", args->out);
    project_try(job.project,
                scant_project_predict(job.project->project, &job.probs, &model));
    if (npy)
        project_write_array(job.project, args->out, job.probs);
    else
        write_lines(&job, args->out);
    scant_array_free(job.probs);
    if (!args->common.quiet && !project_to_stdout(args->out))
        cli_note("%s: predictions of model %zu", args->out, model);
}

const cli_command cli_cmd_predict = {
    .name = "predict",
    .synopsis = "DIR [--unlabelled] [--out FILE] [--format FORMAT]",
    .summary = "print the predictions of a project's last model",
    .about = "Prints CSV with the columns id, class and confidence (the probability of "
             "that class), one line per item, including labelled items and the audit "
             "set. jsonl has all probabilities; npy has only them, items x classes, "
             "float32.",
    PROJECT_COMMAND(predict_args),
    .tables = {CLI_FLAGS(flags), PROJECT_COMMON_FLAGS(predict_args, common)},
    .examples =
        {
            {"Every item's class, and how sure the model is:",
             "scant predict birds --out predictions.csv"},
            {"What nobody has labelled, with all probabilities:",
             "scant predict birds --unlabelled --format jsonl"},
            {"Probabilities for a strategy of your own:",
             "scant predict birds --out probs.npy"},
        },
    .run = run,
};
