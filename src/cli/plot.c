/* SPDX-License-Identifier: Apache-2.0
 *
 * `--plot`: the chart of a selection. It shows the features even if the strategy does
 * not use them; the picks do not depend on it. It is planned with the selection and made
 * before anything is written, so that errors show early.
 */
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "cli/select.h"

static scant_evidence shown(const select_job *job) {
    return (scant_evidence){.features = job->arrays[IN_FEATURES],
                            .labels = job->arrays[IN_LABELS]};
}

void select_check_plot(const select_job *job) {
    const char *path = job->args->plot;
    size_t length = path ? strlen(path) : 0;
    struct stat info;
    if (!path) return;
    if (!job->args->inputs[IN_FEATURES])
        cli_usage(job->net.command, "--plot shows the features: give --features");
    bool special = stat(path, &info) == 0 && !S_ISREG(info.st_mode);
    if (!special && (length < 4 || strcasecmp(path + length - 4, ".svg") != 0))
        cli_usage(job->net.command, "--plot is '%s', expected FILE.svg", path);
}

/* If both the plot and the selection need too much memory, the message names the larger
 * number. The plot is planned before the selection holds memory. */
void select_plan(select_job *job) {
    const scant_array *features = job->args->plot ? job->arrays[IN_FEATURES] : NULL;
    scant_ctx *ctx = job->net.ctx;
    scant_evidence evidence = shown(job);
    size_t memory = 0;
    scant_status drawn =
        features ? scant_plot_plan(ctx, &evidence, job->args->batch, &memory) : SCANT_OK;
    const char *why = cli_format("%s", scant_ctx_errmsg(ctx));
    select_try(job, scant_selection_open(ctx, job->strategy->name, &job->evidence,
                                         job->args->batch, &job->opts, &job->selection));
    scant_status planned = scant_selection_plan(job->selection, &job->plan);
    if (drawn != SCANT_OK && (drawn != SCANT_ENOMEM || memory > job->plan.memory))
        cli_die(cli_exit_of(drawn), "%s", why);
    select_try(job, planned);
    if (memory > job->plan.memory) job->plan.memory = memory;
    if (features && scant_array_shape(features)[0] != job->plan.rows)
        cli_die(CLI_BAD_INPUT, "%s: has %zu rows, but the other inputs have %zu",
                scant_array_name(features), scant_array_shape(features)[0],
                job->plan.rows);
    if (job->ids && scant_ids_count(job->ids) != job->plan.rows)
        cli_die(CLI_BAD_INPUT, "%s has %zu ids, but the inputs have %zu rows",
                job->args->ids, scant_ids_count(job->ids), job->plan.rows);
}

void select_draw(select_job *job) {
    scant_evidence evidence = shown(job);
    if (!job->args->plot) return;
    select_try(job, scant_plot_picks(job->net.ctx, &evidence, job->picks, &job->plot,
                                     &job->plot_size));
}
