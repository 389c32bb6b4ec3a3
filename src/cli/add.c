/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant add`: more items for a project.
 */
#include "cli/project_args.h"

typedef struct add_args {
    scant_source source;
    bool accept_changed;
    net_common common;
} add_args;

static const scant_option flags[] = {
    OPT_SWITCH("accept-changed", NULL, offsetof(add_args, accept_changed), PROJECT_ITEMS,
               "take sources whose content has changed since their items were added as "
               "they are now; without a source, nothing is added"),
};

static void accept_changed(project_job *job) {
    size_t changed;
    scant__text text = CLI_TEXT;
    project_try(job, scant_project_accept_changed(job->project, &changed));
    scant__text_addf(&text, "%s: %zu changed item%s accepted\n", job->dir, changed,
                     changed == 1 ? " is" : "s are");
    cli_ui_clear(&job->net.ui);
    cli_print(&text);
}

static void run(const cli_call *call) {
    const add_args *args = call->args;
    const scant_source *source = &args->source;
    bool any = source->images || source->features || source->manifest;
    if (any) project_check_source(call->command, source);
    project_job *job = project_open(call, &args->common);
    scant_project_info info;
    size_t added = 0;
    scant__text text = CLI_TEXT;
    if (args->accept_changed) accept_changed(job);
    if (any || !args->accept_changed)
        project_try(job, scant_project_add(job->project, any ? source : NULL, &added));
    project_try(job, scant_project_info_get(job->project, &info));
    scant__text_addf(&text, "%s: ", job->dir);
    if (added)
        scant__text_addf(&text, "%zu new, ", added);
    else
        scant__text_add(&text, "nothing new, ");
    project_add_items(&text, &info, info.items);
    scant__text_add(&text, " now\n");
    scant_status prepared =
        added || args->accept_changed ? scant_project_prepare(job->project) : SCANT_OK;
    cli_ui_clear(&job->net.ui);
    cli_print(&text);
    project_try_long(job, prepared,
                     "the items are added, and features are computed when they are "
                     "needed");
}

const cli_command cli_cmd_add = {
    .name = "add",
    .synopsis = "DIR [--images FOLDER|--features F.npy] [options]",
    .summary = "add items to a project",
    .about =
        "Adds items, in time proportional to the number of new ones. Without a source, "
        "or "
        "with a folder that the project already has, new files of the folder are added. "
        "If an id is in the project already, nothing is added. Some of the new items "
        "join the audit set, as in 'scant new'.\n\n"
        "A source whose content has changed since its items were added, such as a "
        "features file with its rows in another order, is refused by every command, "
        "because labels belong to the earlier content. --accept-changed takes it as it "
        "is: items keep their ids and labels, and cached features are computed anew. "
        "Files that were extended are not refused.",
    PROJECT_COMMAND(add_args),
    .tables = {PROJECT_SOURCE_FLAGS(add_args, source), CLI_FLAGS(flags),
               PROJECT_COMMON_FLAGS(add_args, common)},
    .examples =
        {
            {"New files in the project's folders:", "scant add birds"},
            {"After the features were computed anew, in the same order:",
             "scant add mails --accept-changed"},
            {"Another folder:", "scant add birds --images more-photos/"},
            {"More rows, with ids of their own:",
             "scant add mails --features tuesday.npy --manifest tuesday.csv"},
        },
    .run = run,
};
