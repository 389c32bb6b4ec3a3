/* SPDX-License-Identifier: Apache-2.0
 *
 * The folder of a training.
 *
 *   train.json            every flag with its default, the samples, the network
 *   state.safetensors     the library's checkpoint: after epochs (once a second at most),
 *                         at Ctrl-C and at the end, so that a finished training can be
 *                         given more epochs
 *   log.jsonl             events, see train_log.c
 *   weights.safetensors   the network, at the end and at Ctrl-C
 *   result.json           the summary of a finished training
 *
 * A folder with a checkpoint or weights holds a training; only --overwrite replaces it.
 * If a training was killed, --resume repeats the steps after its last checkpoint.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/train.h"
#include "core/json_read.h"

enum { MOST_JSON = 1 << 20, MOST_LOG = 1 << 30 };

char *train_path(const train_job *job, const char *name) {
    return cli_format("%s/%s", job->args.out, name);
}

static bool holds(const train_job *job, const char *name) {
    return access(train_path(job, name), F_OK) == 0;
}

/* ---- resuming ---------------------------------------------------------------------- */

/* Flags that are not stored in train.json. */
static const char passing[] = "out resume overwrite format quiet progress help";
/* Flags that may change when a training is resumed. */
static const char lengths[] = "epochs steps until until-extra patience";
static const char limits[] = "threads memory";

/* Returns a stored value as typed on the command line; NULL: none. */
static const char *typed(const json_t *value) {
    scant__text text = CLI_TEXT;
    if (json_is_string(value)) return json_string_value(value);
    if (json_is_integer(value))
        return cli_format("%lld", (long long)json_integer_value(value));
    if (!json_is_real(value)) return json_is_true(value) ? "yes" : NULL;
    scant__text_json_number(&text, json_real_value(value));
    return text.data;
}

/* Compares a flag with its value in the earlier call. A difference is an error, unless
 * the flag may change. */
static void compare(train_job *job, const cli_flag *flag, const train_args *before) {
    scant__json was = CLI_JSON, is = CLI_JSON;
    cli_flag_json(&was, NULL, flag, before);
    cli_flag_json(&is, NULL, flag, &job->args);
    if (strcmp(was.text.data, is.text.data) == 0) return;
    if (scant__has_word(lengths, flag->name))
        job->extended = true;
    else if (!scant__has_word(limits, flag->name))
        cli_usage(job->net.command,
                  "--%s is %s, but the training in %s was begun with %s", flag->name,
                  is.text.data, job->args.out, was.text.data);
}

static void recall_flags(train_job *job, const json_t *options) {
    train_args before = {0};
    /* giving --epochs or --steps replaces both stored values */
    bool length = train_given(job, "epochs") || train_given(job, "steps");
    cli_flag flag;
    for (size_t i = 0; cli_flag_at(job->net.command, i, &flag); i++) {
        if (scant__has_word(passing, flag.name)) continue;
        const char *value = typed(json_object_get(options, flag.name));
        if (value) cli_store(job->net.command, &flag, value, &before);
        if (job->given[i])
            compare(job, &flag, &before);
        else if (value && !(length && scant__has_word("epochs steps", flag.name)))
            cli_store(job->net.command, &flag, value, &job->args);
    }
}

/* Reads the flags of the earlier call. args borrows strings from the parsed JSON. */
static void recall(train_job *job, const char *path) {
    scant__text text = CLI_TEXT;
    static const scant__json_limits few = {.values = 1000, .depth = 10};
    static scant__json_tree stored;
    cli_read_file(path, MOST_JSON, &text);
    scant__json_read(NULL, text.data ? text.data : "", text.size, 0, &few, &stored);
    const json_t *options = json_object_get(stored.root, "options");
    if (!json_is_object(options))
        cli_die(CLI_BAD_INPUT, "%s: was not written by 'scant train': %s", path,
                stored.root ? "it has no options" : stored.error.text);
    recall_flags(job, options);
}

void train_check_dir(train_job *job) {
    const train_args *a = &job->args;
    const cli_command *command = job->net.command;
    struct stat info;
    const char *path = train_path(job, "train.json");
    if (stat(a->out, &info) == 0 && !S_ISDIR(info.st_mode))
        cli_cannot_write(a->out, "it is a file, and --out names a folder");
    if (a->train.resume && !cli_exists(path))
        cli_die(CLI_BAD_INPUT, "%s holds no training to resume: it has no train.json",
                a->out);
    if (a->train.resume) {
        recall(job, path);
        return;
    }
    if (!holds(job, "state.safetensors") && !holds(job, "weights.safetensors")) return;
    if (!a->overwrite)
        cli_usage(command,
                  "%s holds a training: --resume continues it, --overwrite starts over",
                  a->out);
    /* --resume reads the initial weights again if a training was killed */
    const cli_path outs[] = {{"out", train_path(job, "state.safetensors")},
                             {"out", train_path(job, "weights.safetensors")}};
    const cli_path ins[] = {{"warm", a->train.warm}, {"weights", a->net.weights}};
    cli_check_overwrites(command, outs, CLI_COUNT_OF(outs), ins, CLI_COUNT_OF(ins));
}

/* ---- train.json -------------------------------------------------------------------- */

static void json_options(scant__json *json, const train_job *job) {
    train_args args = job->args;
    cli_flag flag;
    if (!args.train.loss) args.train.loss = train_has_accuracy(job) ? "ce" : "mse";
    args.net.common.threads = scant_ctx_threads(job->net.ctx);
    scant__json_open(json, "options", '{');
    for (size_t i = 0; cli_flag_at(job->net.command, i, &flag); i++)
        if (!scant__has_word(passing, flag.name))
            cli_flag_json(json, flag.name, &flag, &args);
    scant__json_close(json, '}');
}

static void json_samples(scant__json *json, const char *key, const scant_data *data) {
    size_t shape[3];
    if (!data) {
        scant__json_null(json, key);
        return;
    }
    scant_data_shape(data, shape);
    scant__json_open(json, key, '{');
    scant__json_string(json, "name", scant_data_name(data));
    scant__json_size(json, "samples", scant_data_count(data));
    scant__json_open(json, "shape", '[');
    for (size_t i = 0; i < 3; i++) scant__json_size(json, NULL, shape[i]);
    scant__json_close(json, ']');
    scant__json_size(json, "classes", scant_data_classes(data));
    scant__json_close(json, '}');
}

static void describe(train_job *job) {
    const train_args *a = &job->args;
    scant__json json = {.text = CLI_TEXT, .lines = 2};
    scant__json_open(&json, NULL, '{');
    scant__json_string(&json, "scant", scant_version());
    json_options(&json, job);
    json_samples(&json, "data", job->data);
    json_samples(&json, "test", a->test.data);
    scant__json_size(&json, "trained_on", a->train.n_rows);
    scant__json_size(&json, "validated_on", a->train.n_valid_rows);
    scant__json_open(&json, "model", '{');
    scant__json_string(&json, "name", a->net.model);
    scant__json_size(&json, "parameters", scant_net_parameters(job->network));
    scant__json_size(&json, "features", scant_net_features(job->network));
    scant__json_size(&json, "classes", scant_net_classes(job->network));
    scant__json_close(&json, '}');
    scant__json_close(&json, '}');
    scant__text_add(&json.text, "\n");
    train_write(job, "train.json", &json.text);
}

void train_write(train_job *job, const char *name, const scant__text *text) {
    net_try(&job->net, scant_file_write(job->net.ctx, train_path(job, name), text->data,
                                        text->size));
}

/* ---- preparing the folder ---------------------------------------------------------- */

static _Noreturn void show_result(train_job *job) {
    scant__text text = CLI_TEXT;
    cli_read_file(train_path(job, "result.json"), MOST_JSON, &text);
    if (!job->net.ui.quiet)
        cli_note("%s is finished already%s; --resume with more --epochs continues it",
                 job->args.out,
                 job->done_epoch ? cli_format(": %zu epochs are done", job->done_epoch)
                                 : "");
    if (net_is(job->args.format, "json")) cli_print(&text);
    cli_exit(CLI_DONE);
}

/* Progress is read from the checkpoint: the log may have later epochs, or lack some. If
 * the checkpoint cannot be read, the training fails later. */
static void resume(train_job *job) {
    const train_args *a = &job->args;
    const char *log = train_path(job, "log.jsonl");
    const char *result = train_path(job, "result.json");
    if (cli_exists(log)) cli_read_file(log, MOST_LOG, &job->old_log);
    scant_train_progress(job->net.ctx, train_path(job, "state.safetensors"),
                         &job->done_step, &job->done_epoch);
    bool less = a->train.steps ? a->train.steps <= job->done_step
                               : a->train.epochs <= job->done_epoch;
    if (job->extended && job->done_step && less) {
        if (holds(job, "result.json")) show_result(job);
        cli_usage(job->net.command,
                  "%s: %zu epochs (%zu steps) are already done: give a larger --epochs "
                  "or --steps",
                  a->out, job->done_epoch, job->done_step);
    }
    if (unlink(result) != 0 && errno != ENOENT) cli_cannot_write(result, strerror(errno));
    job->kept = true;
}

/* Files that --overwrite replaces. They are renamed until the first step is done, so that
 * nothing is lost if the training cannot begin. */
static const char *const files[] = {"state.safetensors", "weights.safetensors",
                                    "result.json", "log.jsonl", "train.json"};

static char *old_path(const train_job *job, const char *name) {
    return cli_format("%s/%s.old", job->args.out, name);
}

static void set_aside(train_job *job) {
    for (size_t i = 0; i < CLI_COUNT_OF(files); i++) {
        const char *path = train_path(job, files[i]);
        if (rename(path, old_path(job, files[i])) == 0)
            job->aside = true;
        else if (errno != ENOENT)
            cli_cannot_write(path, strerror(errno));
    }
    job->cleared = true;
}

static void restore(void *arg) {
    train_job *job = arg;
    if (job->kept) return;
    for (size_t i = 0; i < CLI_COUNT_OF(files); i++) {
        const char *path = train_path(job, files[i]);
        if (job->cleared) unlink(path);
        if (job->aside && rename(old_path(job, files[i]), path) != 0 && errno != ENOENT)
            cli_error("%s: cannot be written: %s", path, strerror(errno));
    }
    if (job->made) rmdir(job->args.out);
}

void train_discard_old(train_job *job) {
    for (size_t i = 0; i < CLI_COUNT_OF(files) && job->aside && !job->kept; i++)
        unlink(old_path(job, files[i]));
    job->kept = true;
}

/* Makes the folder's name durable. The folder is already there, so failure is ignored. */
static void sync_parent(const char *folder) {
    size_t n = strlen(folder);
    while (n > 1 && folder[n - 1] == '/') n--;
    while (n && folder[n - 1] != '/') n--;
    int fd =
        open(cli_format("%.*s.", (int)n, folder), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    fsync(fd);
    close(fd);
}

void train_begin_dir(train_job *job) {
    const train_args *a = &job->args;
    if (a->train.resume && !job->extended && holds(job, "result.json")) show_result(job);
    job->made = mkdir(a->out, 0777) == 0;
    if (!job->made && errno != EEXIST) cli_cannot_write(a->out, strerror(errno));
    if (job->made) sync_parent(a->out);
    cli_defer(restore, job);
    if (a->train.resume)
        resume(job);
    else
        set_aside(job);
    describe(job);
}
