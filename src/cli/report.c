/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant report DIR...`: the files that are computed from results, made anew.
 */
#include <string.h>

#include "cli/net.h"
#include "scant/train.h"

typedef struct report_args {
    const char *out;
    net_means means;
} report_args;

static const scant_option flags[] = {
    OPT_FILE(
        "out", "DIR", offsetof(report_args, out), "Output",
        "where the files go; needed for several folders (default: the folder itself)"),
    OPT_SWITCH("quiet", NULL, offsetof(report_args, means.quiet), "Output",
               "errors only"),
};

static int work(net_job *job, const report_args *args, const cli_parsed *parsed) {
    const char *out = args->out ? args->out : parsed->operand;
    int status = net_begin(job, job->command, &args->means, NULL);
    if (status != CLI_DONE) return status;
    scant_status made = scant_report(job->ctx, parsed->operands, parsed->n_operands, out);
    if (made != SCANT_OK) return net_failed(job, made);
    cli_ui_clear(&job->ui);
    size_t length = strlen(out);
    if (!args->means.quiet)
        cli_note("the report is %s%sreport.html", out,
                 length && out[length - 1] == '/' ? "" : "/");
    return CLI_DONE;
}

static int run(const cli_command *command, int argc, char **argv) {
    report_args args = {0};
    net_job job = {.command = command};
    cli_parsed parsed;
    int status = cli_parse(command, argc, argv, &args, &parsed);
    if (status == CLI_DONE && parsed.help) return cli_print_page(command);
    if (status != CLI_DONE) return status;
    if (!parsed.n_operands)
        return cli_usage(command, "which results? Give the folder that 'scant run --out' "
                                  "wrote");
    if (parsed.n_operands > 1 && !args.out)
        return cli_usage(command,
                         "%zu folders are put together in another: give --out "
                         "DIR",
                         parsed.n_operands);
    status = work(&job, &args, &parsed);
    net_end(&job);
    return status;
}

static const cli_example examples[] = {
    {"The page and tables of one experiment again, as far as it has come:",
     "scant report results"},
    {"Two experiments side by side:", "scant report monday tuesday --out both"},
};

const cli_command cli_cmd_report = {
    .name = "report",
    .synopsis = "DIR... [--out DIR]",
    .summary = "tables and a page of what an experiment found",
    .about =
        "Computes summary.csv, auc.csv, overlap.csv, report.html and charts/ from the "
        "curve.csv, picks.csv, calibration.csv and theory.csv of a folder of results, "
        "finished or "
        "not. Several "
        "folders are put together: runs of one strategy with different seeds are joined; "
        "where two folders have the same strategy with the same seed it is listed once a "
        "folder, as 'name (folder)'. A page is one file that needs no network.",
    .operand = CLI_FOLDERS,
    .tables = {CLI_FLAGS(flags)},
    .examples = examples,
    .n_examples = CLI_COUNT_OF(examples),
    .run = run,
};
