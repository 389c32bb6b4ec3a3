/* SPDX-License-Identifier: Apache-2.0
 *
 * `--plot`: the chart of a selection. It shows the features even if the strategy does
 * not use them; the picks do not depend on the chart. The chart is planned with the
 * selection and made before anything is written, so that errors show early.
 */
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "cli/select.h"

scant_evidence select_plot_evidence(const select_job *job) {
    return (scant_evidence){.features = job->arrays[IN_FEATURES],
                            .labels = job->arrays[IN_LABELS]};
}

void select_check_plot(const select_job *job) {
    const char *path = job->args->plot;
    size_t length = path ? strlen(path) : 0;
    struct stat info;
    if (!path) return;
    if (!job->args->inputs[IN_FEATURES])
        cli_usage(job->net.command, "--plot needs --features, which it draws");
    bool special = stat(path, &info) == 0 && !S_ISREG(info.st_mode);
    if (!special && (length < 4 || strcasecmp(path + length - 4, ".svg") != 0))
        cli_usage(job->net.command, "--plot is '%s', expected FILE.svg", path);
}

void select_draw(select_job *job) {
    scant_evidence evidence = select_plot_evidence(job);
    if (!job->args->plot) return;
    select_try(job, scant_plot_picks(job->net.ctx, &evidence, job->picks, &job->plot,
                                     &job->plot_size));
}
