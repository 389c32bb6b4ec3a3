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

static const cli_flag flags[] = {
    PROJECT_SOURCE_FLAGS(add_args, source),
    PROJECT_MEANS_FLAGS(add_args, means),
};

static const cli_example examples[] = {
    {"What has come into the project's folders since:", "scant add birds"},
    {"Another folder:", "scant add birds --images more-photos/"},
    {"More rows, with ids of their own:",
     "scant add mails --features tuesday.npy --manifest tuesday.csv"},
};

static int work(project_job *job, const scant_source *source) {
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
        cli_error("interrupted; the items are there, and what is not prepared is when it "
                  "is needed");
        return CLI_INTERRUPTED;
    }
    return done == SCANT_OK ? status : project_failed(job, done);
}

static int run(const cli_command *command, int argc, char **argv) {
    add_args args = {0};
    project_job job = {0};
    cli_parsed parsed;
    bool over;
    int status = project_parse(command, argc, argv, &args, &parsed, &over);
    if (status != CLI_DONE || over) return status;
    if (args.source.images && args.source.features)
        return project_check_source(command, &args.source);
    status = project_open(&job, command, parsed.operand, &args.means);
    if (status == CLI_DONE) status = work(&job, &args.source);
    project_end(&job);
    return status;
}

const cli_command cli_cmd_add = {
    .name = "add",
    .synopsis = "DIR [--images FOLDER|--features F.npy] [--manifest M.csv]",
    .summary = "add items to a project",
    .about =
        "Adds items, in time proportional to what is new. Without a source, and with "
        "a folder that the project has already, what is new in the folder is added. "
        "Ids that are there already are an error, and nothing is added then. Some "
        "of what is new is withheld for the audit, as in 'scant new'.",
    .operand = CLI_PROJECT,
    .project = true,
    .flags = flags,
    .n_flags = CLI_COUNT_OF(flags),
    .examples = examples,
    .n_examples = CLI_COUNT_OF(examples),
    .run = run,
};
