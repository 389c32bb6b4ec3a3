/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant new`: pictures, rows or texts in, a project for people to label out.
 *
 * The project is made whole or not at all; then features are prepared, which may take a
 * while and can be left for later: whatever needs them goes on where it was left.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cli/project.h"
#include "scant/project.h"

typedef struct new_args {
    scant_source source;
    const char *classes, *classes_file;
    const char *backbone, *weights;
    cli_settings settings;
    net_means means;
} new_args;

#define AT(field) offsetof(new_args, field)

static const char classes_group[] = "Classes";
static const char model_group[] = "Model and settings";

static const scant_option flags[] = {
    OPT_TEXT("classes", "A,B,C", NULL, AT(classes), classes_group,
             "their names; more can be added later"),
    OPT_FILE("classes-file", "FILE", AT(classes_file), classes_group,
             "the same from a file, a name a line; names may then have commas"),
    OPT_NAME(
        "backbone", "NAME", cli_model_name, NULL, AT(backbone), model_group,
        "a model whose features pictures are read out as, once; a last layer on them is "
        "trained in a second (default: a small network is trained on the pixels)"),
    OPT_FILE("weights", "FILE", AT(weights), model_group, "safetensors of the backbone"),
    OPT_SETTINGS("set", "KEY=VALUE", AT(settings), model_group,
                 "a setting of the project; may be given again"),
    OPT_SEED("seed", "S", AT(means.seed), NET_MEANS,
             "decides every random choice, the audit among them (default 0)"),
};

static const cli_example examples[] = {
    {"A folder of photographs, with weights that know photographs:",
     "scant new birds --images photos/ --classes robin,wren,tit --backbone mobilenetv2 "
     "--weights imagenet.safetensors"},
    {"Texts with embeddings of your own; texts.csv has the columns id, row and text:",
     "scant new mails --features embeddings.npy --manifest texts.csv --classes spam,ham"},
    {"Clothes that everybody can have:",
     "scant new clothes --images fashion-mnist --classes "
     "t-shirt,trouser,pullover,dress,coat,sandal,shirt,sneaker,bag,boot"},
    {"Label in the browser, then:", "scant serve birds"},
};

/* ---- classes ----------------------------------------------------------------------- */

typedef struct class_list {
    char **names;
    size_t count;
} class_list;

static void classes_end(class_list *list) {
    for (size_t i = 0; i < list->count; i++) free(list->names[i]);
    free(list->names);
}

/* Without the blanks around it. CLI_USAGE where it is empty, or there already. */
static int add_class(const cli_command *command, class_list *list, const char *from,
                     const char *name, size_t length) {
    while (length > 0 && isspace((unsigned char)*name)) name++, length--;
    while (length > 0 && isspace((unsigned char)name[length - 1])) length--;
    if (length == 0)
        return cli_usage(command, "%s: class %zu has no name", from, list->count + 1);
    list->names = cli_grow(list->names, list->count + 1, sizeof *list->names);
    list->names[list->count] = cli_strndup(name, length);
    list->count++;
    for (size_t i = 0; i + 1 < list->count; i++)
        if (strcmp(list->names[i], list->names[list->count - 1]) == 0)
            return cli_usage(command,
                             "%s: two classes have the name '%s' (the %zu. and the "
                             "%zu.); each must have its own",
                             from, list->names[i], i + 1, list->count);
    return CLI_DONE;
}

static int split_classes(const cli_command *command, class_list *list, const char *from,
                         const char *text, const char *between) {
    int status = CLI_DONE;
    for (;;) {
        size_t length = strcspn(text, between);
        status = add_class(command, list, from, text, length);
        text += length;
        if (status != CLI_DONE || !*text) return status;
        text++;
    }
}

static int read_classes(const cli_command *command, class_list *list, const char *path) {
    enum { MOST = 1 << 24 };
    scant__text text = CLI_TEXT;
    int status = cli_read_file(path, MOST, &text);
    bool zero = text.size && memchr(text.data, '\0', text.size);
    while (text.size && isspace((unsigned char)text.data[text.size - 1])) text.size--;
    if (status == CLI_DONE && (zero || !text.size)) {
        cli_error("%s: has no names of classes, one a line", path);
        status = CLI_BAD_INPUT;
    }
    scant__text_bytes(&text, "", 1);
    if (status == CLI_DONE) status = split_classes(command, list, path, text.data, "\n");
    scant__text_end(&text);
    return status;
}

static int find_classes(const cli_command *command, const new_args *args,
                        class_list *list) {
    if (args->classes && args->classes_file)
        return cli_usage(command, "give --classes or --classes-file, not both");
    if (args->classes)
        return split_classes(command, list, "--classes", args->classes, ",");
    if (args->classes_file) return read_classes(command, list, args->classes_file);
    return cli_usage(command, "--classes is missing: what people choose from, as "
                              "--classes cat,dog");
}

/* ---- the work ---------------------------------------------------------------------- */

static int check_call(const cli_command *command, const new_args *args) {
    int status = project_check_source(command, &args->source);
    if (status != CLI_DONE) return status;
    if (args->backbone && args->source.features)
        return cli_usage(command, "--backbone reads pictures; rows of --features are "
                                  "features already");
    if (args->backbone && !args->weights)
        return cli_usage(command,
                         "--backbone %s needs --weights FILE: features of a "
                         "network that knows nothing are noise",
                         args->backbone);
    if (args->weights && !args->backbone)
        return cli_usage(command, "--weights needs --backbone NAME: which model they are "
                                  "of");
    for (size_t i = 0; i < args->settings.count && status == CLI_DONE; i++)
        status = project_check_key(command, args->settings.items[i].key);
    return status;
}

static int tell(project_job *job) {
    scant_project_info info;
    scant__text text = CLI_TEXT;
    scant_status got = scant_project_info_get(job->project, &info);
    if (got != SCANT_OK) return project_failed(job, got);
    scant__text_addf(&text, "%s: ", job->dir);
    project_add_items(&text, &info, info.items);
    if (info.copies)
        scant__text_addf(&text, ", %zu of them copies of others", info.copies);
    scant__text_addf(&text, "; %zu class%s; %zu withheld for the audit\n", info.classes,
                     info.classes == 1 ? "" : "es", info.withheld);
    if (info.labelled)
        scant__text_addf(&text, "%zu have a label already\n", info.labelled);
    if (job->net.ui.quiet) {
        scant__text_end(&text);
        return CLI_DONE;
    }
    cli_ui_clear(&job->net.ui);
    if (info.classes < 2)
        cli_note("a model learns to tell two classes apart at least: others can be added "
                 "on the page, or come with 'scant label --add-classes'");
    return cli_print(&text);
}

static int prepare(project_job *job) {
    scant_status prepared = scant_project_prepare(job->project);
    if (prepared == SCANT_ECANCELLED) {
        cli_ui_clear(&job->net.ui);
        cli_error("interrupted; the project is there, and what is not prepared is when "
                  "it is needed");
        return CLI_INTERRUPTED;
    }
    if (prepared != SCANT_OK) {
        int status = project_failed(job, prepared);
        cli_note("the project is there, but its features are not prepared");
        return status;
    }
    cli_ui_clear(&job->net.ui);
    if (!job->net.ui.quiet)
        cli_note("next: 'scant serve %s' to label in the browser, or 'scant query %s' "
                 "for what to label first",
                 job->dir, job->dir);
    return CLI_DONE;
}

static int make(project_job *job, const new_args *args, const class_list *list) {
    const scant_project_opts opts = {
        .source = args->source,
        .classes = (const char *const *)list->names,
        .n_classes = list->count,
        .backbone = args->backbone,
        .weights = args->weights,
        .seed = args->means.seed,
        .settings = args->settings.items,
        .n_settings = args->settings.count,
    };
    scant_status made =
        scant_project_create(job->net.ctx, job->dir, &opts, &job->project);
    if (made == SCANT_ECANCELLED) {
        cli_ui_clear(&job->net.ui);
        cli_error("interrupted; nothing was made");
        return CLI_INTERRUPTED;
    }
    if (made != SCANT_OK) return project_failed(job, made);
    int status = tell(job);
    return status == CLI_DONE ? prepare(job) : status;
}

static int run(const cli_command *command, int argc, char **argv) {
    new_args args = {0};
    class_list list = {0};
    project_job job = {0};
    cli_parsed parsed;
    bool over;
    int status = project_parse(command, argc, argv, &args, &parsed, &over);
    if (status == CLI_DONE && !over) {
        job.dir = parsed.operand;
        status = check_call(command, &args);
        if (status == CLI_DONE) status = find_classes(command, &args, &list);
        if (status == CLI_DONE) status = net_begin(&job.net, command, &args.means, NULL);
        if (status == CLI_DONE) status = make(&job, &args, &list);
        project_end(&job);
    }
    classes_end(&list);
    free(args.settings.items);
    return status;
}

const cli_command cli_cmd_new = {
    .name = "new",
    .synopsis = "DIR --images FOLDER|--features F.npy --classes A,B,C [options]",
    .summary = "make a project: what people label, and where their labels are kept",
    .about =
        "Makes a folder with a project in it: a database of the items, their ids, the "
        "classes and, from now on, every answer of everybody. The items themselves stay "
        "where they are. A random part of them is withheld for the audit: people label "
        "them among the others, models never learn from them, so that they tell how good "
        "a model is.\n\n"
        "Then features are prepared, where there is a backbone or a file of them. Ctrl-C "
        "leaves the rest for later.\n\n"
        "docs/projects.md is a tutorial.",
    .operand = CLI_PROJECT,
    .project = true,
    .tables = {CLI_FLAGS(flags), PROJECT_SOURCE_FLAGS(new_args, source),
               PROJECT_MEANS_FLAGS(new_args, means)},
    .examples = examples,
    .n_examples = CLI_COUNT_OF(examples),
    .run = run,
};
