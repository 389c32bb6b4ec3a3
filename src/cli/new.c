/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant new`: creates a project of images, feature rows or texts.
 *
 * The project is created completely or not at all. Then features are computed, which may
 * take a while and can be interrupted: other commands compute those that are missing.
 */
#include <ctype.h>
#include <string.h>

#include "cli/project_args.h"

typedef struct new_args {
    scant_source source;
    const char *classes, *classes_file;
    const char *backbone, *weights;
    cli_settings settings;
    net_common common;
} new_args;

#define AT(field) offsetof(new_args, field)

static const char classes_group[] = "Classes";
static const char model_group[] = "Model and settings";

static const scant_option flags[] = {
    OPT_TEXT("classes", "A,B,C", NULL, AT(classes), classes_group,
             "names of the classes; more can be added later"),
    OPT_FILE("classes-file", "FILE", AT(classes_file), classes_group,
             "the same from a file with one name per line, which may contain commas"),
    OPT_NAME("backbone", "NAME", cli_model_name, NULL, AT(backbone), model_group,
             "a model that computes features of the images, once; only a last layer is "
             "trained, "
             "in about a second (default: a small network is trained on the pixels)"),
    OPT_FILE("weights", "FILE", AT(weights), model_group,
             "the backbone's weights: safetensors"),
    OPT_SETTINGS("set", "KEY=VALUE", AT(settings), model_group,
                 "a setting of the project; repeatable"),
    OPT_SEED("seed", "S", AT(common.seed), NET_COMMON,
             "seed of every random choice, such as the audit set (default 0)"),
};

/* ---- classes ----------------------------------------------------------------------- */

typedef struct class_list {
    char **names;
    size_t count;
} class_list;

/* Adds a name, trimmed of blanks. It must be new. */
static void add_class(const cli_command *command, class_list *list, const char *from,
                      const char *name, size_t length) {
    while (length > 0 && isspace((unsigned char)*name)) name++, length--;
    while (length > 0 && isspace((unsigned char)name[length - 1])) length--;
    if (length == 0)
        cli_usage(command, "%s: class %zu has no name", from, list->count + 1);
    char *class = cli_strndup(name, length);
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->names[i], class) == 0)
            cli_usage(command, "%s: classes %zu and %zu have the same name '%s'", from,
                      i + 1, list->count + 1, class);
    list->names = project_more(list->names, list->count, sizeof *list->names);
    list->names[list->count++] = class;
}

static void split_classes(const cli_command *command, class_list *list, const char *from,
                          const char *text, const char *between) {
    for (;; text++) {
        size_t length = strcspn(text, between);
        add_class(command, list, from, text, length);
        text += length;
        if (!*text) return;
    }
}

static void read_classes(const cli_command *command, class_list *list, const char *path) {
    enum { MOST = 1 << 24 };
    scant__text text = CLI_TEXT;
    cli_read_file(path, MOST, &text);
    bool zero = text.size && memchr(text.data, '\0', text.size);
    while (text.size && isspace((unsigned char)text.data[text.size - 1]))
        text.data[--text.size] = '\0';
    if (zero) cli_die(CLI_BAD_INPUT, "%s: has a zero byte, so it is not text", path);
    if (!text.size)
        cli_die(CLI_BAD_INPUT, "%s: has no class names, expected one per line", path);
    split_classes(command, list, path, text.data, "\n");
}

static class_list find_classes(const cli_command *command, const new_args *args) {
    class_list list = {0};
    if (args->classes && args->classes_file)
        cli_usage(command, "--classes cannot be combined with --classes-file");
    if (args->classes)
        split_classes(command, &list, "--classes", args->classes, ",");
    else if (args->classes_file)
        read_classes(command, &list, args->classes_file);
    else
        cli_usage(command, "--classes is missing: the names of the classes, such as "
                           "--classes cat,dog");
    return list;
}

/* ---- the command ------------------------------------------------------------------- */

static void check_call(const cli_command *command, const new_args *args) {
    project_check_source(command, &args->source);
    if (args->backbone && args->source.features)
        cli_usage(command, "--backbone computes features of images; rows of --features "
                           "are features already");
    if (args->backbone && !args->weights)
        cli_usage(command,
                  "--backbone %s needs --weights FILE: features of an untrained network "
                  "are noise",
                  args->backbone);
    if (args->weights && !args->backbone)
        cli_usage(command, "--weights needs --backbone NAME, the model of the weights");
    for (size_t i = 0; i < args->settings.count; i++)
        project_check_key(command, args->settings.items[i].key);
}

static void print_result(project_job *job) {
    scant_project_info info;
    scant__text text = CLI_TEXT;
    project_try(job, scant_project_info_get(job->project, &info));
    if (job->net.ui.quiet) return;
    scant__text_addf(&text, "%s: ", job->dir);
    project_add_items(&text, &info, info.items);
    if (info.copies)
        scant__text_addf(&text, ", %zu of them copies of others", info.copies);
    scant__text_addf(&text, "; %zu class%s; %zu in the audit set\n", info.classes,
                     info.classes == 1 ? "" : "es", info.withheld);
    if (info.labelled)
        scant__text_addf(&text, "%zu have a label already\n", info.labelled);
    cli_ui_clear(&job->net.ui);
    if (info.classes < 2)
        cli_note("a model needs at least two classes: add more on the page, or with "
                 "'scant label --add-classes'");
    cli_print(&text);
}

static void prepare(project_job *job) {
    scant_status prepared = scant_project_prepare(job->project);
    if (prepared != SCANT_OK && prepared != SCANT_ECANCELLED) {
        int status = net_failed(&job->net, prepared);
        cli_note("the project is created, but its features are not computed");
        cli_exit(status);
    }
    project_try_long(job, prepared,
                     "the project is created; missing features are computed when they "
                     "are needed");
    if (!job->net.ui.quiet)
        cli_note("next: 'scant serve %s' to label in the browser, or 'scant query %s' "
                 "for what to label first",
                 job->dir, job->dir);
}

static void run(const cli_call *call) {
    const new_args *args = call->args;
    check_call(call->command, args);
    class_list list = find_classes(call->command, args);
    project_job *job = project_begin(call, &args->common);
    const scant_project_opts opts = {
        .source = args->source,
        .classes = (const char *const *)list.names,
        .n_classes = list.count,
        .backbone = args->backbone,
        .weights = args->weights,
        .seed = args->common.seed,
        .settings = args->settings.items,
        .n_settings = args->settings.count,
    };
    project_try_long(job,
                     scant_project_create(job->net.ctx, job->dir, &opts, &job->project),
                     "nothing was created");
    print_result(job);
    prepare(job);
}

const cli_command cli_cmd_new = {
    .name = "new",
    .synopsis = "DIR --images FOLDER|--features F.npy --classes A,B,C [options]",
    .summary = "create a project: items to label, their classes and labels",
    .about =
        "Creates a folder with a project: a database of the items, their ids, the "
        "classes and every answer. The items themselves stay where they are. A random "
        "part of them is withheld as the audit set: people label them like the others, "
        "but models are not trained on them, so they measure a model's accuracy.\n\n"
        "Then features are computed, if there is a backbone or a file of features. "
        "Ctrl-C leaves the rest for later.\n\n"
        "docs/projects.md is a tutorial.",
    .operand = CLI_PROJECT,
    .project = true,
    .tables = {CLI_FLAGS(flags), PROJECT_SOURCE_FLAGS(new_args, source),
               PROJECT_COMMON_FLAGS(new_args, common)},
    .examples =
        {
            {"A folder of photographs, with a model trained on photographs:",
             "scant new birds --images photos/ --classes robin,wren,tit --backbone "
             "mobilenetv2 "
             "--weights imagenet.safetensors"},
            {"Texts with embeddings of your own; texts.csv has the columns id, row and "
             "text:",
             "scant new mails --features embeddings.npy --manifest texts.csv --classes "
             "spam,ham"},
            {"A dataset to try it with:",
             "scant new clothes --images fashion-mnist --classes "
             "t-shirt,trouser,pullover,dress,coat,sandal,shirt,sneaker,bag,boot"},
            {"Label in the browser, then:", "scant serve birds"},
        },
    .missing = "which project? Give a folder; it is created",
    .args_size = sizeof(new_args),
    .run = run,
};
