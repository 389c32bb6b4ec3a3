/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant label`: imports labels into a project.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/project_args.h"
#include "core/near.h"

typedef struct label_args {
    const char *import;
    bool partial, add_classes;
    const char *annotator;
    net_common common;
} label_args;

#define AT(field) offsetof(label_args, field)

static const char labels_group[] = "Labels";

static const scant_option flags[] = {
    OPT_FILE("import", "FILE", AT(import), labels_group,
             "CSV (id, label; answer, annotator, time), JSONL (the same keys), or Label "
             "Studio's JSON; -: standard input (required)"),
    OPT_SWITCH("partial", NULL, AT(partial), labels_group,
               "skip lines with an unknown id or class, instead of importing nothing"),
    OPT_SWITCH("add-classes", NULL, AT(add_classes), labels_group,
               "add unknown classes to the project"),
    OPT_TEXT("annotator", "NAME", NULL, AT(annotator), labels_group,
             "the annotator of lines that name none (default: import)"),
};

/* ---- standard input ---------------------------------------------------------------- */

/* Copies standard input to a temporary file and returns its path. */
static const char *copy_input(void) {
    static const char copy[] = "a copy of standard input";
    char bytes[1 << 14];
    FILE *file = tmpfile();
    if (!file) cli_cannot_write(copy, strerror(errno));
    for (ssize_t count; (count = read(STDIN_FILENO, bytes, sizeof bytes)) != 0;) {
        if (count < 0 && cli_interrupted())
            cli_die(CLI_INTERRUPTED, "interrupted; nothing was imported");
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) cli_cannot_read("standard input", strerror(errno));
        if (fwrite(bytes, 1, (size_t)count, file) != (size_t)count)
            cli_cannot_write(copy, strerror(errno));
    }
    if (fflush(file) != 0) cli_cannot_write(copy, strerror(errno));
    rewind(file);
    return cli_format("/dev/fd/%d", fileno(file)); /* closed when the program ends */
}

/* Prints the library's message, with "standard input" for the copy's path. */
static void print_failed(project_job *job, const char *copy, scant_status status) {
    const char *text = scant_ctx_errmsg(job->net.ctx);
    const char *at = copy ? strstr(text, copy) : NULL;
    cli_ui_clear(&job->net.ui);
    if (at && status != SCANT_ECANCELLED)
        cli_error("%.*sstandard input%s", (int)(at - text), text, at + strlen(copy));
    else
        net_failed(&job->net, status);
}

/* ---- unknown ids ------------------------------------------------------------------- */

typedef struct id_list {
    char **ids;
    size_t count;
} id_list;

static scant_status keep_id(void *user, const scant_item *item) {
    id_list *list = user;
    list->ids = project_more(list->ids, list->count, sizeof *list->ids);
    list->ids[list->count++] = cli_format("%s", item->id);
    return SCANT_OK;
}

static const char *id_at(const void *names, size_t i) {
    return ((const id_list *)names)->ids[i];
}

/* Suggests a known id for one of the first unknown ones: one example is enough. */
static void suggest_id(project_job *job, const scant_import *import) {
    enum { FIRST = 10 }; /* each is compared with all ids */
    id_list list = {0};
    scant_status got = scant_project_items(job->project, 0, SIZE_MAX, keep_id, &list);
    for (size_t i = 0; got == SCANT_OK && i < import->unknown && i < FIRST; i++) {
        const char *id = import->unknown_ids[i];
        const char *near = scant__nearest_typo(id, &list, list.count, id_at);
        if (!near) continue;
        cli_note("'%s' is not known; did you mean '%s'?", id, near);
        return;
    }
}

/* Prints the unknown ids, one per line. */
static void list_unknown(project_job *job, const scant_import *import) {
    for (size_t i = 0; i < import->unknown; i++) {
        const char *id = import->unknown_ids[i];
        for (; *id; id++)
            fputc((unsigned char)*id < 0x20 || *id == 0x7F ? '?' : *id, stderr);
        fputc('\n', stderr);
    }
    if (import->unknown) suggest_id(job, import);
}

/* ---- the command ------------------------------------------------------------------- */

static void print_result(project_job *job, const scant_import *import) {
    cli_ui_clear(&job->net.ui);
    if (job->net.ui.quiet) return;
    if (import->unknown) {
        const char *are = import->unknown == 1 ? "is" : "are";
        cli_warning("%zu id%s %s not in the project and %s left out:", import->unknown,
                    import->unknown == 1 ? "" : "s", are, are);
        list_unknown(job, import);
    }
    scant__text text = CLI_TEXT;
    size_t labels = import->stored - import->others;
    scant__text_addf(&text, "%s: %zu label%s stored", job->dir, labels,
                     labels == 1 ? "" : "s");
    if (import->others)
        scant__text_addf(&text, ", and %zu answer%s skip or unsure", import->others,
                         import->others == 1 ? " that is" : "s that are");
    if (import->repeated)
        scant__text_addf(&text, ", %zu already stored", import->repeated);
    if (import->older)
        scant__text_addf(&text, ", %zu older than %s annotator's current answer or undo",
                         import->older, import->older == 1 ? "its" : "their");
    size_t read = import->stored + import->repeated + import->older;
    if (import->lines > read)
        scant__text_addf(&text, ", %zu left out", import->lines - read);
    scant__text_add(&text, "\n");
    cli_print(&text);
}

static void run(const cli_call *call) {
    const label_args *args = call->args;
    if (!args->import)
        cli_usage(call->command, "--import is missing: a file of labels, or - for "
                                 "standard input");
    project_job *job = project_open(call, &args->common);
    const char *copy = strcmp(args->import, "-") == 0 ? copy_input() : NULL;
    scant_import_opts opts = {.person = args->annotator,
                              .partial = args->partial,
                              .add_classes = args->add_classes};
    scant_import import = {0};
    scant_status status =
        scant_project_import(job->project, copy ? copy : args->import, &opts, &import);
    if (status == SCANT_OK) {
        print_result(job, &import);
        return;
    }
    print_failed(job, copy, status);
    if (status == SCANT_EINPUT) list_unknown(job, &import);
    cli_exit(cli_exit_of(status));
}

const cli_command cli_cmd_label = {
    .name = "label",
    .synopsis = "DIR --import FILE [options]",
    .summary = "import labels into a project",
    .about =
        "Stores labels from a file, all or none: if an id or a class is unknown, nothing "
        "is imported, and the unknown ids are listed on standard error, one per line. "
        "--partial imports the rest. A label that the same person has given already is "
        "not stored again, so a file can be imported twice. Files of 'scant export' can "
        "be imported.\n\n"
        "For an item that nobody can label give the answer 'unsure' (or 'skip', to leave "
        "it to others) in a column 'answer', and no label. Items of the audit set should "
        "all be answered: a label counts only once every earlier item of the audit order "
        "has an answer.",
    PROJECT_COMMAND(label_args),
    .tables = {CLI_FLAGS(flags), PROJECT_MEMORY_FLAGS(label_args, common)},
    .examples =
        {
            {"answers.csv has the columns id and label:",
             "scant label birds --import answers.csv --annotator anna"},
            {"Labels of another program, without those of unknown items:",
             "./ask-people batch.csv | scant label birds --import - --partial"},
        },
    .run = run,
};
