/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant report DIR...`: computes tables and a page from results.
 */
#include <string.h>

#include "cli/net_args.h"
#include "cli/trainings.h"
#include "scant/train.h"

typedef struct report_args {
    const char *out, *format;
    net_common common;
} report_args;

static const scant_option flags[] = {
    OPT_FILE("out", "DIR", offsetof(report_args, out), "Output",
             "folder for the files; required for several folders (default: the folder "
             "itself)"),
    OPT_CHOICE("format", "text|json", NULL, offsetof(report_args, format), "Output",
               "for people (default) or for programs"),
    OPT_SWITCH("quiet", NULL, offsetof(report_args, common.quiet), "Output",
               "errors only"),
};

static void print_json(const char *page, const scant_trainings *trainings) {
    scant__json json = CLI_JSON;
    scant__json_open(&json, NULL, '{');
    scant__json_string(&json, "report", page);
    trainings_json(&json, trainings);
    scant__json_close(&json, '}');
    scant__text_add(&json.text, "\n");
    cli_print(&json.text);
}

static void run(const cli_call *call) {
    const report_args *args = call->args;
    const char *out = args->out ? args->out : call->operand;
    net_job *job = cli_calloc(1, sizeof *job);
    scant_trainings *trainings;
    size_t length = strlen(out);
    if (call->n_operands > 1 && !args->out)
        cli_usage(call->command, "to combine %zu folders give --out DIR",
                  call->n_operands);
    net_begin(job, call->command, &args->common, NULL);
    net_try(job, scant_report(job->ctx, call->operands, call->n_operands, out));
    net_try(job,
            scant_trainings_read(job->ctx, call->operands, call->n_operands, &trainings));
    cli_ui_clear(&job->ui);
    const char *page =
        cli_format("%s%sreport.html", out, length && out[length - 1] == '/' ? "" : "/");
    const char *collapsed = trainings_text(trainings, "the figures of the report");
    if (!args->common.quiet) cli_note("the report is %s", page);
    if (!args->common.quiet && collapsed) cli_warning("%s", collapsed);
    if (net_is(args->format, "json")) print_json(page, trainings);
    scant_trainings_free(job->ctx, trainings);
}

const cli_command cli_cmd_report = {
    .name = "report",
    .synopsis = "DIR... [--out DIR] [--format text|json]",
    .summary = "make tables and a page from the results of an experiment",
    .about =
        "Computes summary.csv, auc.csv, overlap.csv, report.html and charts/ from the "
        "curve.csv, picks.csv, calibration.csv, theory.csv and trainings.csv of a "
        "results folder, finished or not. A warning says which trainings collapsed; "
        "--format json prints all of them that did, were repeated or have signs. "
        "Several folders are combined: runs of one strategy with "
        "different seeds are joined; if two folders have the same strategy with the same "
        "seed, it is listed once for each folder, as 'name (folder)'. The page is one "
        "file that needs no network.",
    .operand = CLI_FOLDERS,
    .tables = {CLI_FLAGS(flags)},
    .examples =
        {
            {"The page and tables of one experiment, finished or not:",
             "scant report results"},
            {"Two experiments side by side:", "scant report monday tuesday --out both"},
        },
    .missing = "which results? Give the folder that 'scant run --out' wrote",
    .args_size = sizeof(report_args),
    .run = run,
};
