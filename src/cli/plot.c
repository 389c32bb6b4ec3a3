/* SPDX-License-Identifier: Apache-2.0
 *
 * `--plot`: the picture of a selection. It shows the features, whether the strategy uses
 * them or not; the picks do not depend on it. It is planned with the selection and made
 * before anything is written, so that what is wrong with it shows early.
 */
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "cli/select.h"

static scant_evidence shown(const select_job *job) {
    return (scant_evidence){.features = job->arrays[IN_FEATURES],
                            .labels = job->arrays[IN_LABELS]};
}

int select_check_plot(const select_job *job) {
    const char *path = job->args.plot;
    size_t length = path ? strlen(path) : 0;
    struct stat info;
    if (!path) return CLI_DONE;
    if (!job->args.inputs[IN_FEATURES])
        return cli_usage(job->command, "--plot needs --features: they are what it shows");
    bool special = stat(path, &info) == 0 && !S_ISREG(info.st_mode);
    if (!special && (length < 4 || strcasecmp(path + length - 4, ".svg") != 0))
        return cli_usage(job->command, "--plot writes SVG: FILE.svg, not '%s'", path);
    return CLI_DONE;
}

static scant_status plan_plot(const select_job *job, size_t *memory) {
    scant_evidence evidence = shown(job);
    *memory = 0;
    if (!job->args.plot) return SCANT_OK;
    return scant_plot_plan(job->ctx, &evidence, job->args.batch, memory);
}

/* The plot is planned before the selection holds memory. Where both need too much, the
 * message names the larger number. */
static scant_status plan_both(select_job *job) {
    size_t memory;
    scant_status drawn = plan_plot(job, &memory);
    scant_status status =
        scant_selection_open(job->ctx, job->strategy->name, &job->evidence,
                             job->args.batch, &job->opts, &job->selection);
    if (status != SCANT_OK) return status;
    status = scant_selection_plan(job->selection, &job->plan);
    if (drawn != SCANT_OK && (drawn != SCANT_ENOMEM || memory > job->plan.memory)) {
        scant_selection_free(job->selection);
        job->selection = NULL;
        return plan_plot(job, &memory); /* for its message */
    }
    if (memory > job->plan.memory) job->plan.memory = memory;
    return status;
}

int select_plan(select_job *job) {
    scant_status status = plan_both(job);
    if (status != SCANT_OK) return select_failed(job, status);
    const scant_array *features = job->args.plot ? job->arrays[IN_FEATURES] : NULL;
    if (!features || scant_array_shape(features)[0] == job->plan.rows) return CLI_DONE;
    cli_error("%s: has %zu rows, but the other inputs have %zu",
              scant_array_name(features), scant_array_shape(features)[0], job->plan.rows);
    return CLI_BAD_INPUT;
}

int select_draw(select_job *job) {
    scant_evidence evidence = shown(job);
    if (!job->args.plot) return CLI_DONE;
    scant_status status = scant_plot_picks(job->ctx, &evidence, job->picks, &job->picture,
                                           &job->picture_size);
    cli_ui_clear(&job->ui);
    return status == SCANT_OK ? CLI_DONE : select_failed(job, status);
}
