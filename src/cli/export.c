/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant export`: writes the labels and the model of a project.
 */
#include <string.h>

#include "cli/project.h"
#include "scant/project.h"

typedef struct export_args {
    const char *format, *out, *model;
    net_means means;
} export_args;

#define AT(field) offsetof(export_args, field)

static const scant_option flags[] = {
    OPT_CHOICE("format", "csv|jsonl|label-studio|npy", NULL, AT(format), NET_OUTPUT,
               "default: what --out ends in (.csv, .jsonl, .json, .npy), else CSV"),
    OPT_FILE("out", "FILE", AT(out), NET_OUTPUT,
             "default - (standard output); whole or not at all"),
    OPT_FILE(
        "model", "FILE", AT(model), NET_OUTPUT,
        "the last model's weights as safetensors; alone, or beside the labels of --out"),
};

static const cli_example examples[] = {
    {"Every item, its label or what the model says, who, when:",
     "scant export birds --out birds.csv"},
    {"For Label Studio, and the model:",
     "scant export birds --out tasks.json --model birds.safetensors"},
    {"For NumPy, in the order of the items:", "scant export birds --out labels.npy"},
};

static const project_format formats[] = {
    {"csv", ".csv"}, {"jsonl", ".jsonl"}, {"label-studio", ".json"}, {"npy", ".npy"}};

static int export_labels(project_job *job, const export_args *args) {
    const char *format =
        project_format_of(formats, CLI_COUNT_OF(formats), args->format, args->out);
    void *bytes = NULL;
    size_t size = 0;
    scant_status made = scant_project_export(job->project, format, &bytes, &size);
    if (made != SCANT_OK) return project_failed(job, made);
    int status = project_write(job, args->out, bytes, size);
    scant_bytes_free(job->net.ctx, bytes);
    return status;
}

static scant_status keep_file(void *user, const scant_model_point *point) {
    scant__text *path = user;
    path->size = 0;
    scant__text_add(path, point->file);
    scant__text_bytes(path, "", 1);
    return SCANT_OK;
}

static int export_model(project_job *job, const char *out) {
    scant__text file = CLI_TEXT, path = CLI_TEXT, bytes = CLI_TEXT;
    int status = CLI_DONE;
    scant_status got = scant_project_models(job->project, keep_file, &file);
    if (got != SCANT_OK) {
        status = project_failed(job, got);
    } else if (!file.size) {
        status = cli_usage(job->net.command,
                           "there is no model yet: 'scant train %s' makes one", job->dir);
    } else {
        scant__text_addf(&path, "%s/%s", job->dir, file.data);
        scant__text_bytes(&path, "", 1);
        status = cli_read_file(path.data, SIZE_MAX / 4, &bytes);
        if (status == CLI_DONE) status = project_write(job, out, bytes.data, bytes.size);
    }
    scant__text_end(&file);
    scant__text_end(&path);
    scant__text_end(&bytes);
    return status;
}

static bool wants_labels(const export_args *args) {
    return args->out || args->format || !args->model;
}

static int check(const cli_command *command, const char *dir, const void *arg) {
    const export_args *args = arg;
    bool labels = wants_labels(args);
    int status = CLI_DONE;
    if (args->model && strcmp(args->model, "-") == 0 && labels &&
        project_to_stdout(args->out))
        return cli_usage(command, "labels and the model cannot both go to standard "
                                  "output");
    if (labels) status = project_check_out(command, dir, "out", args->out);
    if (status == CLI_DONE && args->model)
        status = project_check_out(command, dir, "model", args->model);
    if (status != CLI_DONE || !labels || !args->model) return status;
    const cli_path outs[] = {{"out", args->out}, {"model", args->model}};
    return cli_check_overwrites(command, outs, CLI_COUNT_OF(outs), NULL, 0);
}

static int work(project_job *job, const void *arg) {
    const export_args *args = arg;
    int status = wants_labels(args) ? export_labels(job, args) : CLI_DONE;
    return status == CLI_DONE && args->model ? export_model(job, args->model) : status;
}

static int run(const cli_command *command, int argc, char **argv) {
    export_args args = {0};
    return project_run(command, argc, argv, &args, &args.means, check, work);
}

const cli_command cli_cmd_export = {
    .name = "export",
    .synopsis = "DIR [--out FILE] [--format FORMAT] [--model FILE]",
    .summary = "export labels and the model of a project",
    .about =
        "Writes all items: their ids, labels, annotators and times; items without a "
        "label "
        "have the prediction of the last model and its confidence. csv and jsonl have "
        "one line per item; label-studio has the items with a label or a prediction, as "
        "Label Studio imports them; npy has one int64 per item, the class or -1. --model "
        "writes the last model.",
    .operand = CLI_PROJECT,
    .project = true,
    .tables = {CLI_FLAGS(flags), PROJECT_MEANS_FLAGS(export_args, means)},
    .examples = examples,
    .n_examples = CLI_COUNT_OF(examples),
    .run = run,
};
