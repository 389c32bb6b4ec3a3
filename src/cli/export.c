/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant export`: writes the labels and the model of a project.
 */
#include <string.h>

#include "cli/project_args.h"

typedef struct export_args {
    const char *format, *out, *model;
    net_common common;
} export_args;

#define AT(field) offsetof(export_args, field)

static const scant_option flags[] = {
    OPT_CHOICE("format", "csv|csv-raw|jsonl|label-studio|npy", NULL, AT(format),
               NET_OUTPUT,
               "default: what --out ends in (.csv, .jsonl, .json, .npy), else CSV"),
    OPT_FILE("out", "FILE", AT(out), NET_OUTPUT,
             "default - (standard output); written completely or not at all"),
    OPT_FILE(
        "model", "FILE", AT(model), NET_OUTPUT,
        "the last model's weights as safetensors; alone, or beside the labels of --out"),
};

static const project_format formats[] = {
    {"csv", ".csv"}, {"jsonl", ".jsonl"}, {"label-studio", ".json"}, {"npy", ".npy"}};

static void export_labels(project_job *job, const export_args *args) {
    const char *format =
        project_format_of(formats, CLI_COUNT_OF(formats), args->format, args->out);
    void *bytes = NULL;
    size_t size = 0;
    project_try(job, scant_project_export(job->project, format, &bytes, &size));
    project_write(job, args->out, bytes, size);
    scant_bytes_free(job->net.ctx, bytes);
}

static void export_model(project_job *job, const char *out) {
    scant_meter meter;
    scant__text bytes = CLI_TEXT;
    project_try(job, scant_project_meter(job->project, &meter));
    if (!meter.last.model)
        cli_usage(job->net.command, "there is no model yet: 'scant train %s' makes one",
                  job->dir);
    cli_read_file(cli_format("%s/%s", job->dir, meter.last.file), SIZE_MAX / 4, &bytes);
    project_write(job, out, bytes.data, bytes.size);
}

static void run(const cli_call *call) {
    const export_args *args = call->args;
    bool labels = args->out || args->format || !args->model;
    const cli_path outs[] = {{"out", args->out}, {"model", args->model}};
    if (args->model && strcmp(args->model, "-") == 0 && labels &&
        project_to_stdout(args->out))
        cli_usage(call->command, "labels and the model cannot both go to standard "
                                 "output");
    if (labels) project_check_out(args->out);
    if (args->model) project_check_out(args->model);
    cli_check_overwrites(call->command, outs, CLI_COUNT_OF(outs), NULL, 0);
    project_job *job = project_open(call, &args->common);
    for (size_t i = 0; i < CLI_COUNT_OF(outs); i++)
        project_check_overwrites(job, outs[i].flag, outs[i].path);
    if (labels) export_labels(job, args);
    if (args->model) export_model(job, args->model);
}

const cli_command cli_cmd_export = {
    .name = "export",
    .synopsis = "DIR [--out FILE] [--format FORMAT] [--model FILE]",
    .summary = "export labels and the model of a project",
    .about =
        "Writes all items: their ids, labels, annotators and times; items without a "
        "label "
        "have the prediction of the last model and its confidence. csv and jsonl have "
        "one line per item. In csv, names and ids that start with = + - or @ get a ' in "
        "front, as a spreadsheet would run them as formulas ('scant label' removes it); "
        "csv-raw has them as they are; label-studio has the items with a label or a "
        "prediction, as "
        "Label Studio imports them; npy has one int64 per item, the class or -1. --model "
        "writes the last model.",
    PROJECT_COMMAND(export_args),
    .tables = {CLI_FLAGS(flags), PROJECT_COMMON_FLAGS(export_args, common)},
    .examples =
        {
            {"Every item, its label or prediction, annotator and time:",
             "scant export birds --out birds.csv"},
            {"For Label Studio, and the model:",
             "scant export birds --out tasks.json --model birds.safetensors"},
            {"For NumPy, in the order of the items:",
             "scant export birds --out labels.npy"},
        },
    .run = run,
};
