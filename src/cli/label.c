/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant label`: imports labels into a project.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/project.h"
#include "core/near.h"
#include "scant/project.h"

typedef struct label_args {
    const char *import;
    bool partial, add_classes;
    const char *annotator;
    net_means means;
} label_args;

#define AT(field) offsetof(label_args, field)

static const char labels_group[] = "Labels";

static const scant_option flags[] = {
    OPT_FILE("import", "FILE", AT(import), labels_group,
             "CSV (id, label; answer, annotator, time), JSONL (the same keys), or Label "
             "Studio's "
             "JSON; "
             "-: standard input (required)"),
    OPT_SWITCH(
        "partial", NULL, AT(partial), labels_group,
        "leave out lines whose id or class is not known, rather than import nothing"),
    OPT_SWITCH("add-classes", NULL, AT(add_classes), labels_group,
               "a class that is not known is a new one"),
    OPT_TEXT("annotator", "NAME", NULL, AT(annotator), labels_group,
             "who labelled what names nobody (default: import)"),
    OPT_SWITCH("quiet", NULL, AT(means.quiet), NET_OUTPUT, "errors only"),
};

static const cli_example examples[] = {
    {"answers.csv has the columns id and label:",
     "scant label birds --import answers.csv --annotator anna"},
    {"What another program finds, as far as it is known here:",
     "./ask-people batch.csv | scant label birds --import - --partial"},
};

/* ---- standard input ---------------------------------------------------------------- */

/* A temporary copy of standard input that can be opened by name. */
typedef struct label_input {
    FILE *file;
    char path[32];
} label_input;

static int copy_input(label_input *input) {
    char bytes[1 << 14];
    input->file = tmpfile();
    if (!input->file)
        return cli_cannot_write("a copy of standard input", strerror(errno));
    for (;;) {
        ssize_t count = read(STDIN_FILENO, bytes, sizeof bytes);
        if (count == 0) break;
        if (count < 0 && errno == EINTR && !cli_interrupted()) continue;
        if (count < 0) {
            if (cli_interrupted()) {
                cli_error("interrupted; nothing was imported");
                return CLI_INTERRUPTED;
            }
            return cli_cannot_read("standard input", strerror(errno));
        }
        if (fwrite(bytes, 1, (size_t)count, input->file) != (size_t)count)
            return cli_cannot_write("a copy of standard input", strerror(errno));
    }
    if (fflush(input->file) != 0)
        return cli_cannot_write("a copy of standard input", strerror(errno));
    rewind(input->file);
    snprintf(input->path, sizeof input->path, "/dev/fd/%d", fileno(input->file));
    return CLI_DONE;
}

/* Prints the library's message, with "standard input" for the temporary file. */
static int say_failed(project_job *job, const label_input *input, scant_status status) {
    const char *text = scant_ctx_errmsg(job->net.ctx);
    const char *at = input->file ? strstr(text, input->path) : NULL;
    if (!at || status == SCANT_ECANCELLED) return project_failed(job, status);
    cli_ui_clear(&job->net.ui);
    cli_error("%.*sstandard input%s", (int)(at - text), text, at + strlen(input->path));
    return cli_exit_of(status);
}

/* ---- unknown ids ------------------------------------------------------------------- */

typedef struct id_list {
    char **ids;
    size_t count;
} id_list;

static scant_status keep_id(void *user, const scant_item *item) {
    id_list *list = user;
    if ((list->count & (list->count - 1)) == 0)
        list->ids =
            cli_grow(list->ids, list->count ? 2 * list->count : 1, sizeof *list->ids);
    list->ids[list->count++] = cli_strndup(item->id, strlen(item->id));
    return SCANT_OK;
}

static const char *id_at(const void *names, size_t i) {
    return ((const id_list *)names)->ids[i];
}

/* Suggests a known id for one of the first unknown ones: one example is enough. */
static void suggest_id(project_job *job, const scant_import *import) {
    enum { FIRST = 10 }; /* each is compared with all ids */
    id_list list = {0};
    const char *near = NULL;
    scant_status got = scant_project_items(job->project, 0, SIZE_MAX, keep_id, &list);
    for (size_t i = 0; got == SCANT_OK && !near && i < import->unknown && i < FIRST;
         i++) {
        near = scant__nearest_typo(import->unknown_ids[i], &list, list.count, id_at);
        if (near)
            cli_note("'%s' is not known; did you mean '%s'?", import->unknown_ids[i],
                     near);
    }
    for (size_t i = 0; i < list.count; i++) free(list.ids[i]);
    free(list.ids);
}

/* Lists them, one per line. */
static void list_unknown(project_job *job, const scant_import *import) {
    for (size_t i = 0; i < import->unknown; i++) {
        const char *id = import->unknown_ids[i];
        for (; *id; id++)
            fputc((unsigned char)*id < 0x20 || *id == 0x7F ? '?' : *id, stderr);
        fputc('\n', stderr);
    }
    if (import->unknown) suggest_id(job, import);
}

/* ---- the work ---------------------------------------------------------------------- */

static int tell(project_job *job, const scant_import *import) {
    cli_ui_clear(&job->net.ui);
    if (job->net.ui.quiet) return CLI_DONE;
    if (import->unknown) {
        cli_warning("left out: %zu id%s not in the project:", import->unknown,
                    import->unknown == 1 ? " is" : "s are");
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
        scant__text_addf(&text, ", %zu there already", import->repeated);
    if (import->older)
        scant__text_addf(&text, ", %zu older than %s annotator's current answer or undo",
                         import->older, import->older == 1 ? "its" : "their");
    size_t read = import->stored + import->repeated + import->older;
    if (import->lines > read)
        scant__text_addf(&text, ", %zu left out", import->lines - read);
    scant__text_add(&text, "\n");
    return cli_print(&text);
}

static int work(project_job *job, const void *arg) {
    const label_args *args = arg;
    const scant_import_opts opts = {.person = args->annotator,
                                    .partial = args->partial,
                                    .add_classes = args->add_classes};
    label_input input = {0};
    scant_import import = {0};
    bool piped = strcmp(args->import, "-") == 0;
    int status = piped ? copy_input(&input) : CLI_DONE;
    if (status == CLI_DONE) {
        scant_status done = scant_project_import(
            job->project, piped ? input.path : args->import, &opts, &import);
        if (done == SCANT_OK) {
            status = tell(job, &import);
        } else {
            status = say_failed(job, &input, done);
            if (done == SCANT_EINPUT) list_unknown(job, &import);
        }
    }
    if (input.file) fclose(input.file);
    return status;
}

static int check(const cli_command *command, const char *dir, const void *args) {
    (void)dir;
    if (((const label_args *)args)->import) return CLI_DONE;
    return cli_usage(command, "--import is missing: a file of labels, or - for standard "
                              "input");
}

static int run(const cli_command *command, int argc, char **argv) {
    label_args args = {0};
    return project_run(command, argc, argv, &args, &args.means, check, work);
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
    .operand = CLI_PROJECT,
    .project = true,
    .tables = {CLI_FLAGS(flags)},
    .examples = examples,
    .n_examples = CLI_COUNT_OF(examples),
    .run = run,
};
