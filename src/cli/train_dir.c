/* SPDX-License-Identifier: Apache-2.0
 *
 * The folder of a training.
 *
 *   train.json            every flag with its default filled in, the samples, the network
 *   state.safetensors     the library's checkpoint, after epochs (once a second at most),
 *                         at Ctrl-C and in the end; it stays, so that a finished training
 *                         can be given more epochs
 *   log.jsonl             an event a line: "epoch" after an epoch, "end". Where epochs
 *                         are short and many, 200 of them have a line, and each that is
 *                         the best yet on the validation samples
 *   weights.safetensors   the network, in the end and at Ctrl-C
 *   result.json           the summary; there once the training is finished
 *
 * A folder with a state or weights holds a training and is not begun anew unasked. What
 * a training did after its last state when it was killed runs again: the log then drops
 * what it had of that.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/train.h"
#include "scant/train.h"

enum { MOST_JSON = 1 << 20, MOST_LOG = 1 << 30 };

char *train_path(const train_job *job, const char *name) {
    scant__text text = CLI_TEXT;
    scant__text_addf(&text, "%s/%s", job->args.out, name);
    char *path = cli_strndup(text.data, text.size);
    scant__text_end(&text);
    return path;
}

static bool holds(const train_job *job, const char *name) {
    char *path = train_path(job, name);
    bool there = access(path, F_OK) == 0;
    free(path);
    return there;
}

static int forget(const train_job *job, const char *name) {
    char *path = train_path(job, name);
    int status = CLI_DONE;
    if (unlink(path) != 0 && errno != ENOENT)
        status = cli_cannot_write(path, strerror(errno));
    free(path);
    return status;
}

/* ---- going on ---------------------------------------------------------------------- */

static bool is_one_of(const char *const *names, const char *name) {
    for (; *names; names++)
        if (strcmp(*names, name) == 0) return true;
    return false;
}

/* Of one call alone. */
static const char *const passing[] = {"out",   "resume",   "overwrite", "format",
                                      "quiet", "progress", "help",      NULL};
/* May be others when a training goes on: how far, and by what means. */
static const char *const changeable[] = {"epochs",  "steps",  "until", "patience",
                                         "threads", "memory", NULL};

/* A stored value as one would type it, in text where it is not in the JSON itself; NULL:
 * there is none. */
static const char *typed(const json_t *value, scant__text *text) {
    if (json_is_string(value)) return json_string_value(value);
    if (json_is_integer(value))
        scant__text_addf(text, "%lld", (long long)json_integer_value(value));
    else if (json_is_real(value))
        scant__text_json_number(text, json_real_value(value));
    else
        return json_is_true(value) ? "yes" : NULL;
    scant__text_bytes(text, "", 1);
    return text->data;
}

static bool same_text(const scant__text *a, const scant__text *b) {
    return a->size == b->size && (!a->size || memcmp(a->data, b->data, a->size) == 0);
}

/* A flag that was given both times: the same, or one that may be another. */
static int compare(train_job *job, const cli_flag *flag, const train_args *before) {
    scant__text was = CLI_TEXT, is = CLI_TEXT;
    cli_flag_json(&was, flag, before);
    cli_flag_json(&is, flag, &job->args);
    int status = CLI_DONE;
    if (!same_text(&was, &is)) {
        if (!is_one_of(changeable, flag->name))
            status = cli_usage(job->net.command,
                               "--%s is %.*s, but the training in %s was begun with %.*s",
                               flag->name, (int)is.size, is.data, job->args.out,
                               (int)was.size, was.data);
        else if (strcmp(flag->name, "memory") != 0 && strcmp(flag->name, "threads") != 0)
            job->extended = true;
    }
    scant__text_end(&was);
    scant__text_end(&is);
    return status;
}

static int recall_flag(train_job *job, size_t i, const cli_flag *flag,
                       const json_t *options, train_args *before, bool own_length) {
    scant__text text = CLI_TEXT;
    int status = CLI_DONE;
    if (is_one_of(passing, flag->name)) return CLI_DONE;
    bool length = !strcmp(flag->name, "epochs") || !strcmp(flag->name, "steps");
    const char *value = typed(json_object_get(options, flag->name), &text);
    if (value) status = cli_store(job->net.command, flag, value, before);
    if (status == CLI_DONE && job->seen[i])
        status = compare(job, flag, before);
    else if (status == CLI_DONE && value && !(length && own_length))
        status = cli_store(job->net.command, flag, value, &job->args);
    scant__text_end(&text);
    return status;
}

static int recall_options(train_job *job, const json_t *options) {
    const cli_command *command = job->net.command;
    train_args before = job->args; /* as it was begun */
    int status = CLI_DONE;
    bool own_length = false; /* --epochs or --steps is given: both stand as given */
    static const train_args none;
    cli_flag flag;
    for (size_t i = 0; cli_flag_at(command, i, &flag); i++) {
        if (!job->seen[i]) continue;
        own_length =
            own_length || !strcmp(flag.name, "epochs") || !strcmp(flag.name, "steps");
        /* what was not given then had no value */
        scant__option_copy(flag.row, (const char *)&none + flag.base,
                           (char *)&before + flag.base);
    }
    for (size_t i = 0; cli_flag_at(command, i, &flag) && status == CLI_DONE; i++)
        status = recall_flag(job, i, &flag, options, &before, own_length);
    return status;
}

static int recall(train_job *job, const char *path) {
    scant__text text = CLI_TEXT;
    json_error_t error;
    int status = cli_read_file(path, MOST_JSON, &text);
    if (status != CLI_DONE) return status;
    job->stored = json_loadb(text.data ? text.data : "", text.size, 0, &error);
    const json_t *options = json_object_get(job->stored, "options");
    if (json_is_object(options)) {
        status = recall_options(job, options);
    } else {
        cli_error("%s: is not what 'scant train' writes: %s", path,
                  job->stored ? "it has no options" : error.text);
        status = CLI_BAD_INPUT;
    }
    scant__text_end(&text);
    return status;
}

static bool is_own(const train_job *job, const char *file, const char *name) {
    struct stat given, own;
    char *path = train_path(job, name);
    bool same = stat(file, &given) == 0 && stat(path, &own) == 0 &&
                own.st_dev == given.st_dev && own.st_ino == given.st_ino;
    free(path);
    return same;
}

/* What --overwrite replaces is gone when a training that was killed begins anew or goes
 * on, and both open what it was begun with. */
static int check_replaced(const train_job *job) {
    const struct {
        const char *flag, *file;
    } given[] = {{"warm", job->args.train.warm}, {"weights", job->args.model.weights}};
    for (size_t i = 0; i < CLI_COUNT_OF(given); i++)
        if (given[i].file && (is_own(job, given[i].file, "state.safetensors") ||
                              is_own(job, given[i].file, "weights.safetensors")))
            return cli_usage(job->net.command,
                             "--%s is a file of the training that --overwrite replaces: "
                             "give another --out",
                             given[i].flag);
    return CLI_DONE;
}

int train_look(train_job *job) {
    struct stat info;
    if (stat(job->args.out, &info) == 0 && !S_ISDIR(info.st_mode))
        return cli_cannot_write(job->args.out,
                                "it is a file, and --out names a folder to fill");
    bool old = holds(job, "state.safetensors") || holds(job, "weights.safetensors");
    if (job->args.resume) {
        char *path = train_path(job, "train.json");
        int status = CLI_BAD_INPUT;
        if (cli_exists(path))
            status = recall(job, path);
        else
            cli_error("%s holds no training to go on with: there is no train.json in it",
                      job->args.out);
        free(path);
        return status;
    }
    if (old && job->args.overwrite) return check_replaced(job);
    if (!old) return CLI_DONE;
    return cli_usage(job->net.command,
                     "%s holds a training: --resume goes on with it, --overwrite begins "
                     "anew",
                     job->args.out);
}

/* ---- train.json -------------------------------------------------------------------- */

static void json_name(scant__text *text, const char *key, const char *value) {
    scant__text_addf(text, "%s: ", key);
    scant__text_json(text, value);
}

static void json_options(scant__text *text, const train_job *job) {
    const cli_command *command = job->net.command;
    train_args args = job->args;
    bool any = false;
    if (!args.train.loss) args.train.loss = args.samples.opts.regression ? "mse" : "ce";
    args.means.threads = scant_ctx_threads(job->net.ctx);
    scant__text_add(text, "\"options\": {");
    cli_flag flag;
    for (size_t i = 0; cli_flag_at(command, i, &flag); i++) {
        if (is_one_of(passing, flag.name)) continue;
        scant__text_addf(text, "%s\n  \"%s\": ", any ? "," : "", flag.name);
        cli_flag_json(text, &flag, &args);
        any = true;
    }
    scant__text_add(text, "}");
}

static void json_samples(scant__text *text, const char *key, const scant_data *data) {
    size_t shape[3];
    scant__text_addf(text, ",\n \"%s\": ", key);
    if (!data) {
        scant__text_add(text, "null");
        return;
    }
    scant_data_shape(data, shape);
    json_name(text, "{\"name\"", scant_data_name(data));
    scant__text_addf(
        text, ", \"samples\": %zu, \"shape\": [%zu, %zu, %zu], \"classes\": %zu}",
        scant_data_count(data), shape[0], shape[1], shape[2], scant_data_classes(data));
}

static int describe(train_job *job) {
    scant__text text = CLI_TEXT;
    json_name(&text, "{\"scant\"", scant_version());
    scant__text_add(&text, ",\n ");
    json_options(&text, job);
    json_samples(&text, "data", job->data);
    json_samples(&text, "test", job->test);
    scant__text_addf(&text, ",\n \"trained_on\": %zu, \"validated_on\": %zu",
                     job->rows ? job->n_rows : scant_data_count(job->data), job->n_valid);
    json_name(&text, ",\n \"model\": {\"name\"", job->args.model.name);
    scant__text_addf(&text,
                     ", \"parameters\": %zu, \"features\": %zu, \"classes\": %zu}}\n",
                     scant_net_parameters(job->network), scant_net_features(job->network),
                     scant_net_classes(job->network));
    int status = train_write(job, "train.json", &text);
    scant__text_end(&text);
    return status;
}

int train_write(train_job *job, const char *name, const scant__text *text) {
    char *path = train_path(job, name);
    scant_status status = scant_file_write(job->net.ctx, path, text->data, text->size);
    free(path);
    return status == SCANT_OK ? CLI_DONE : net_failed(&job->net, status);
}

/* ---- beginning --------------------------------------------------------------------- */

static int show_result(train_job *job) {
    scant__text text = CLI_TEXT;
    char *path = train_path(job, "result.json"), done[64] = "";
    if (job->done_epoch)
        snprintf(done, sizeof done, ": %zu epochs are done", job->done_epoch);
    int status = cli_read_file(path, MOST_JSON, &text);
    free(path);
    if (status == CLI_DONE && !job->net.ui.quiet)
        cli_note("%s is finished already%s; --resume with more --epochs goes on",
                 job->args.out, done);
    if (status == CLI_DONE && job->args.format && !strcmp(job->args.format, "json"))
        return cli_print(&text);
    scant__text_end(&text);
    return status;
}

/* What a safetensors file says of itself: its header's "__metadata__", borrowed from
 * *header, a new reference. NULL: there is none. */
static const json_t *metadata(const char *path, json_t **header) {
    unsigned char length[8];
    size_t size = 0;
    struct stat info;
    *header = NULL;
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode)) return NULL;
    FILE *file = fopen(path, "rbe");
    if (!file) return NULL;
    if (fread(length, 1, sizeof length, file) == sizeof length)
        for (size_t i = sizeof length; i-- > 0;)
            size = size > MOST_JSON ? size : size << 8 | length[i];
    if (size && size <= MOST_JSON) {
        char *text = cli_calloc(size, 1);
        if (fread(text, 1, size, file) == size) *header = json_loadb(text, size, 0, NULL);
        free(text);
    }
    fclose(file);
    return json_object_get(*header, "__metadata__");
}

static size_t count_in(const json_t *numbers, const char *key) {
    const char *text = json_string_value(json_object_get(numbers, key));
    double value = text ? strtod(text, NULL) : 0;
    return value >= 1 && value < 1e15 ? (size_t)value : 0;
}

/* Of the training that goes on: its log, and how far it is. That is the state's to say:
 * a log has epochs that came after it, or lacks some before it. What is wrong with a
 * state the library tells. */
static int look_back(train_job *job) {
    char *log = train_path(job, "log.jsonl");
    char *state = train_path(job, "state.safetensors");
    int status = CLI_DONE;
    json_t *header;
    if (cli_exists(log)) status = cli_read_file(log, MOST_LOG, &job->old_log);
    const json_t *numbers = metadata(state, &header);
    size_t per_epoch = count_in(numbers, "per_epoch");
    job->done_step = count_in(numbers, "step");
    if (per_epoch) job->done_epoch = job->done_step / per_epoch;
    json_decref(header);
    free(log);
    free(state);
    return status;
}

/* Whether no more is asked for than is done. */
static bool is_behind(const train_job *job) {
    const train_args *a = &job->args;
    if (!job->extended || !job->done_step) return false;
    return a->train.steps ? a->train.steps <= job->done_step
                          : a->train.epochs <= job->done_epoch;
}

static int say_behind(train_job *job, bool *finished) {
    *finished = holds(job, "result.json");
    if (*finished) return show_result(job);
    return cli_usage(job->net.command,
                     "%s: %zu epochs (%zu steps) are done already, which is no less than "
                     "what is asked for",
                     job->args.out, job->done_epoch, job->done_step);
}

/* What --overwrite replaces is set aside until the first step is done: a call that turns
 * out to be wrong costs nothing. */
static const char *const files[] = {"state.safetensors", "weights.safetensors",
                                    "result.json", "log.jsonl", "train.json"};

static char *old_path(const train_job *job, const char *name) {
    char old[64];
    snprintf(old, sizeof old, "%s.old", name);
    return train_path(job, old);
}

static int set_aside(train_job *job) {
    int status = CLI_DONE;
    for (size_t i = 0; i < CLI_COUNT_OF(files) && status == CLI_DONE; i++) {
        char *path = train_path(job, files[i]), *old = old_path(job, files[i]);
        if (rename(path, old) == 0)
            job->aside = true;
        else if (errno != ENOENT)
            status = cli_cannot_write(path, strerror(errno));
        free(path);
        free(old);
    }
    return status;
}

static void put_back(train_job *job) {
    for (size_t i = 0; i < CLI_COUNT_OF(files); i++) {
        char *path = train_path(job, files[i]), *old = old_path(job, files[i]);
        if (rename(old, path) != 0 && errno != ENOENT)
            cli_cannot_write(path, strerror(errno));
        free(path);
        free(old);
    }
    job->aside = false;
}

void train_forget_old(train_job *job) {
    if (!job->aside) return;
    for (size_t i = 0; i < CLI_COUNT_OF(files); i++) {
        char *old = old_path(job, files[i]);
        unlink(old);
        free(old);
    }
    job->aside = false;
}

int train_begin_dir(train_job *job, bool *finished) {
    int status = CLI_DONE;
    *finished = job->args.resume && !job->extended && holds(job, "result.json");
    if (*finished) return show_result(job);
    job->made = mkdir(job->args.out, 0777) == 0;
    if (!job->made && errno != EEXIST)
        return cli_cannot_write(job->args.out, strerror(errno));
    if (job->args.resume) {
        status = look_back(job);
        if (status == CLI_DONE && is_behind(job)) return say_behind(job, finished);
        if (status == CLI_DONE) status = forget(job, "result.json");
    } else {
        status = set_aside(job);
    }
    if (status == CLI_DONE) status = describe(job);
    if (status != CLI_DONE && job->aside) put_back(job);
    return status;
}

void train_undo_dir(train_job *job) {
    if (job->args.resume) return;
    if (job->log) fclose(job->log);
    job->log = NULL;
    forget(job, "train.json");
    forget(job, "log.jsonl");
    if (job->aside) put_back(job);
    if (job->made) rmdir(job->args.out);
}

/* ---- log.jsonl --------------------------------------------------------------------- */

/* Whether an epoch is the best yet, on the validation samples. */
static bool watch(train_job *job, size_t epoch, double loss, double accuracy) {
    bool better = job->args.samples.opts.regression ? loss < job->best.loss
                                                    : accuracy > job->best.accuracy;
    if (job->best.epoch && !better) return false;
    job->best.epoch = epoch;
    job->best.loss = loss;
    job->best.accuracy = accuracy;
    return true;
}

/* Whether a line of an old log still holds: it is not torn, nor of an epoch that runs
 * again now. */
static bool holds_still(train_job *job, const char *line, size_t size, size_t epoch) {
    json_t *event = json_loadb(line, size, 0, NULL);
    json_int_t number = json_integer_value(json_object_get(event, "epoch"));
    const json_t *loss = json_object_get(event, "valid_loss");
    bool keep = event && number < (json_int_t)epoch;
    if (keep && loss)
        watch(job, (size_t)number, json_number_value(loss),
              json_number_value(json_object_get(event, "valid_accuracy")));
    json_decref(event);
    return keep;
}

void train_open_log(train_job *job, size_t epoch) {
    scant__text kept = CLI_TEXT;
    const scant__text *old = &job->old_log;
    for (size_t at = 0; at < old->size;) {
        const char *end = memchr(old->data + at, '\n', old->size - at);
        size_t size = end ? (size_t)(end - old->data) - at + 1 : old->size - at;
        if (end && holds_still(job, old->data + at, size, epoch))
            scant__text_bytes(&kept, old->data + at, size);
        at += size;
    }
    char *path = train_path(job, "log.jsonl");
    if (train_write(job, "log.jsonl", &kept) == CLI_DONE) job->log = fopen(path, "ae");
    free(path);
    scant__text_end(&kept);
}

static void log_line(train_job *job, scant__text *line) {
    scant__text_add(line, "}\n");
    if (!job->log) return;
    fwrite(line->data, 1, line->size, job->log);
    if (fflush(job->log) != 0) cli_warning("log.jsonl: %s", strerror(errno));
}

static void number(scant__text *text, const char *key, double value) {
    scant__text_addf(text, ", \"%s\": ", key);
    scant__text_json_number(text, value);
}

static void log_epoch(train_job *job, const scant_train_state *s) {
    scant__text line = CLI_TEXT;
    scant__text_addf(&line, "{\"event\": \"epoch\", \"epoch\": %zu, \"step\": %zu",
                     s->epoch, s->step);
    number(&line, "loss", s->loss);
    if (!job->args.samples.opts.regression) number(&line, "accuracy", s->accuracy);
    number(&line, "lr", s->lr);
    if (s->unlabelled_loss >= 0) {
        number(&line, "unlabelled_loss", s->unlabelled_loss);
        number(&line, "kept", s->kept);
        number(&line, "balance", s->balance >= 0 ? s->balance : (double)NAN);
    }
    if (job->valid) number(&line, "valid_loss", s->valid_loss);
    if (job->valid && !job->args.samples.opts.regression)
        number(&line, "valid_accuracy", s->valid_accuracy);
    number(&line, "seconds", s->seconds);
    number(&line, "samples_per_second", s->samples_per_second);
    log_line(job, &line);
    scant__text_end(&line);
}

/* Counted in steps, not by the clock: the same call has the same log. */
static size_t spacing(const scant_train_state *s) {
    enum { LINES = 200, SHORT = 50 };
    if (s->steps / s->epochs >= SHORT) return 1;
    return (s->epochs + LINES - 1) / LINES;
}

bool train_log_epoch(train_job *job, const scant_train_state *s) {
    bool best = job->valid && watch(job, s->epoch, s->valid_loss, s->valid_accuracy);
    bool told = best || s->stopped || s->epoch % spacing(s) == 0;
    job->untold = told ? (scant_train_state){0} : *s;
    if (told) log_epoch(job, s);
    return told;
}

/* Where no step was made nothing of an old log is outdated. */
void train_log_end(train_job *job, const char *error) {
    scant__text line = CLI_TEXT;
    if (!job->reported && job->state.epoch) train_open_log(job, SIZE_MAX / 2);
    if (job->untold.epoch) log_epoch(job, &job->untold); /* how far it came */
    job->untold.epoch = 0;
    if (!job->log) return;
    scant__text_addf(&line, "{\"event\": \"end\", \"stopped\": \"%s\", \"step\": %zu",
                     error ? "failed" : train_stop_name(job->state.stopped),
                     job->state.step);
    if (error) json_name(&line, ", \"error\"", error);
    if (job->has_judged) {
        if (!job->args.samples.opts.regression)
            number(&line, "test_accuracy", job->judged.accuracy);
        number(&line, "test_loss", job->judged.loss);
    }
    log_line(job, &line);
    scant__text_end(&line);
}
