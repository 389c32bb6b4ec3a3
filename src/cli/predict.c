/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant predict`: prints the predictions of a project's last model.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/project.h"
#include "core/argmax.h"
#include "scant/project.h"

typedef struct predict_args {
    const char *format, *out;
    bool unlabelled;
    net_means means;
} predict_args;

#define AT(field) offsetof(predict_args, field)

static const scant_option flags[] = {
    OPT_SWITCH("unlabelled", NULL, AT(unlabelled), NET_OUTPUT,
               "only items that have no label"),
    OPT_FILE("out", "FILE", AT(out), NET_OUTPUT,
             "default - (standard output); .npy: the probabilities, items x classes; "
             ".jsonl: an "
             "object an item; anything else: CSV"),
    OPT_CHOICE("format", "csv|jsonl|npy", NULL, AT(format), NET_OUTPUT,
               "the format, whatever --out ends in"),
};

static const cli_example examples[] = {
    {"Every item's class, and how sure the model is:",
     "scant predict birds --out predictions.csv"},
    {"What nobody has labelled, with all probabilities:",
     "scant predict birds --unlabelled --format jsonl"},
    {"Probabilities for a strategy of your own:", "scant predict birds --out probs.npy"},
};

static const project_format formats[] = {
    {"csv", ".csv"}, {"jsonl", ".jsonl"}, {"npy", ".npy"}};

static const char *format_of(const predict_args *args) {
    return project_format_of(formats, CLI_COUNT_OF(formats), args->format, args->out);
}

typedef struct predict_job {
    project_job *project;
    const predict_args *args;
    scant_array *probs;
    size_t model, classes;
    float *row;
    bool json;
    scant__text text;
} predict_job;

static const char *class_name(const predict_job *job, size_t class) {
    const char *name = scant_project_class(job->project->project, class);
    return name ? name : "";
}

static void json_line(predict_job *job, const char *id, size_t best) {
    scant__json json = {.text = CLI_TEXT};
    scant__json_open(&json, NULL, '{');
    scant__json_string(&json, "id", id);
    scant__json_string(&json, "class", class_name(job, best));
    scant__json_number(&json, "confidence", (double)job->row[best]);
    scant__json_open(&json, "probabilities", '{');
    for (size_t c = 0; c < job->classes; c++)
        scant__json_number(&json, class_name(job, c), (double)job->row[c]);
    scant__json_close(&json, '}');
    scant__json_close(&json, '}');
    scant__text_bytes(&job->text, json.text.data, json.text.size);
    scant__text_add(&job->text, "\n");
    scant__json_end(&json);
}

static scant_status add_line(void *user, const scant_item *item) {
    predict_job *job = user;
    if (job->args->unlabelled && item->label >= 0) return SCANT_OK;
    scant_status status =
        scant_array_floats(job->project->net.ctx, job->probs, item->item * job->classes,
                           job->classes, job->row);
    if (status != SCANT_OK) return status;
    size_t best = scant__argmax(job->row, job->classes);
    if (job->json) {
        json_line(job, item->id, best);
        return SCANT_OK;
    }
    scant__text_csv(&job->text, item->id);
    scant__text_add(&job->text, ",");
    scant__text_csv(&job->text, class_name(job, best));
    scant__text_addf(&job->text, ",%.6g\n", (double)job->row[best]);
    return SCANT_OK;
}

static scant_status add_lines(predict_job *job) {
    scant_project *project = job->project->project;
    job->classes = scant_array_shape(job->probs)[1];
    job->row = cli_calloc(job->classes, sizeof *job->row);
    if (!job->json) scant__text_add(&job->text, "id,class,confidence\n");
    /* items added in the meantime have no prediction */
    return scant_project_items(project, 0, scant_array_shape(job->probs)[0], add_line,
                               job);
}

static scant_status encode(predict_job *job) {
    void *bytes = NULL;
    size_t size = 0;
    scant_status status =
        scant_array_encode(job->project->net.ctx, job->probs, &bytes, &size);
    if (status == SCANT_OK) scant__text_bytes(&job->text, bytes, size);
    scant_bytes_free(job->project->net.ctx, bytes);
    return status;
}

static int print(predict_job *job) {
    project_job *project = job->project;
    const char *out = job->args->out, *format = format_of(job->args);
    job->json = strcmp(format, "jsonl") == 0;
    scant_status made = scant_project_predict(project->project, &job->probs, &job->model);
    if (made == SCANT_OK)
        made = strcmp(format, "npy") == 0 ? encode(job) : add_lines(job);
    if (made != SCANT_OK) return project_failed(project, made);
    int status = project_write(project, out, job->text.data, job->text.size);
    if (status == CLI_DONE && !project->net.ui.quiet && !project_to_stdout(out))
        cli_note("%s: predictions of model %zu", out, job->model);
    return status;
}

static int work(project_job *project, const void *args) {
    predict_job job = {.project = project, .args = args, .text = CLI_TEXT};
    int status = print(&job);
    free(job.row);
    scant__text_end(&job.text);
    scant_array_free(job.probs);
    return status;
}

static int check(const cli_command *command, const char *dir, const void *arg) {
    const predict_args *args = arg;
    if (args->unlabelled && strcmp(format_of(args), "npy") == 0)
        return cli_usage(command, "--unlabelled cannot be combined with npy, whose rows "
                                  "are all items in order; use csv or jsonl");
    return project_check_out(command, dir, "out", args->out);
}

static int run(const cli_command *command, int argc, char **argv) {
    predict_args args = {0};
    return project_run(command, argc, argv, &args, &args.means, check, work);
}

const cli_command cli_cmd_predict = {
    .name = "predict",
    .synopsis = "DIR [--unlabelled] [--out FILE] [--format csv|jsonl|npy]",
    .summary = "print the predictions of a project's last model",
    .about = "Prints CSV with the columns id, class and confidence (the probability of "
             "that class), one line per item, including labelled items and the audit "
             "set. jsonl has all probabilities; npy has only them, items x classes, "
             "float32.",
    .operand = CLI_PROJECT,
    .project = true,
    .tables = {CLI_FLAGS(flags), PROJECT_MEANS_FLAGS(predict_args, means)},
    .examples = examples,
    .n_examples = CLI_COUNT_OF(examples),
    .run = run,
};
