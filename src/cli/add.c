/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant add`: more items for a project.
 */
#include "cli/project.h"
#include "scant/project.h"

typedef struct add_args {
    scant_source source;
    net_means means;
} add_args;

static const cli_example examples[] = {
    {"New files in the project's folders:", "scant add birds"},
    {"Another folder:", "scant add birds --images more-photos/"},
    {"More rows, with ids of their own:",
     "scant add mails --features tuesday.npy --manifest tuesday.csv"},
};

static int check(const cli_command *command, const char *dir, const void *args) {
    const scant_source *source = &((const add_args *)args)->source;
    (void)dir;
    return source->images && source->features ? project_check_source(command, source)
                                              : CLI_DONE;
}

static int work(project_job *job, const void *args) {
    const scant_source *source = &((const add_args *)args)->source;
    bool any = source->images || source->features || source->manifest;
    scant_project_info info;
    size_t added = 0;
    scant__text text = CLI_TEXT;
    scant_status done = scant_project_add(job->project, any ? source : NULL, &added);
    if (done == SCANT_OK) done = scant_project_info_get(job->project, &info);
    if (done != SCANT_OK) return project_failed(job, done);
    scant__text_addf(&text, "%s: ", job->dir);
    if (added)
        scant__text_addf(&text, "%zu new, ", added);
    else
        scant__text_add(&text, "nothing new, ");
    project_add_items(&text, &info, info.items);
    scant__text_add(&text, " now\n");
    if (added) done = scant_project_prepare(job->project);
    cli_ui_clear(&job->net.ui);
    int status = cli_print(&text);
    if (done == SCANT_ECANCELLED) {
        cli_error(
            "interrupted; the items are added, and features are computed when they are "
            "needed");
        return CLI_INTERRUPTED;
    }
    return done == SCANT_OK ? status : project_failed(job, done);
}

static int run(const cli_command *command, int argc, char **argv) {
    add_args args = {0};
    return project_run(command, argc, argv, &args, &args.means, check, work);
}

const cli_command cli_cmd_add = {
    .name = "add",
    .synopsis = "DIR [--images FOLDER|--features F.npy] [--manifest M.csv]",
    .summary = "add items to a project",
    .about =
        "Adds items, in time proportional to the number of new ones. Without a source, "
        "or "
        "with a folder that the project already has, new files of the folder are added. "
        "If an id is in the project already, nothing is added. Some of the new items "
        "join the audit set, as in 'scant new'.",
    .operand = CLI_PROJECT,
    .project = true,
    .tables = {PROJECT_SOURCE_FLAGS(add_args, source),
               PROJECT_MEANS_FLAGS(add_args, means)},
    .examples = examples,
    .n_examples = CLI_COUNT_OF(examples),
    .run = run,
};
