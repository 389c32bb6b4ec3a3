/* SPDX-License-Identifier: Apache-2.0
 *
 * Samples and networks as flags name them.
 */
#include "cli/net.h"
#include "scant/train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const scant_option net_sample_rows[2] = {
    OPT_FILE("data", "SPEC", offsetof(net_samples, spec), NET_SAMPLES,
             "FILE.npy or FILE.npz:KEY (n x d, n x h x w or n x h x w x c), IDX, CIFAR "
             "records, CSV, a folder of these or of images, or fashion-mnist, moons, "
             "blobs, waves, heavy (required)"),
    OPT_ARRAY("indices", "FILE", offsetof(net_samples, indices), NET_SAMPLES,
              "only these rows (integers, from 0), in this order"),
};

const scant_option net_model_rows[3] = {
    OPT_SWITCH("no-hidden", NULL, offsetof(net_model, opts.no_hidden), NET_NETWORK,
               "no dense layer before the last one"),
    OPT_TEXT("mean", "M[,M...]", NULL, offsetof(net_model, mean), NET_NETWORK,
             "subtracted from images, whose values are 0 to 1: one number, or one per "
             "channel (default: what --weights were saved with; ImageNet's, if another "
             "program wrote them for 3 channels)"),
    OPT_TEXT("deviation", "D[,D...]", NULL, offsetof(net_model, deviation), NET_NETWORK,
             "divides images after --mean is subtracted"),
};

const scant_option net_means_rows[5] = {
    OPT_SEED("seed", "S", offsetof(net_means, seed), NET_MEANS,
             "seed of every random choice (default 0)"),
    OPT_COUNT("threads", "T", NULL, offsetof(net_means, threads), 0, 1024, NET_MEANS,
              "threads; default and 0: all cores, or OMP_NUM_THREADS"),
    OPT_BYTES("memory", "SIZE", offsetof(net_means, memory), NET_MEANS,
              "limit on allocated memory, such as 512M or 4G (default: half of the "
              "machine's)"),
    OPT_SWITCH("quiet", NULL, offsetof(net_means, quiet), NET_MEANS,
               "errors only: no warnings, no progress"),
    OPT_SWITCH("progress", NULL, offsetof(net_means, progress), NET_MEANS,
               "show progress even if standard error is not a terminal"),
};

int net_begin(net_job *job, const cli_command *command, const net_means *means,
              void (*progress)(void *user, const char *phase, double fraction)) {
    job->command = command;
    cli_signals_begin();
    cli_ui_begin(&job->ui, means->quiet, means->progress);
    scant_ctx_opts opts = {
        .threads = (unsigned)means->threads,
        .memory = means->memory,
        .user = job,
        .log = cli_ui_log,
        .progress = progress ? progress : cli_ui_progress,
        .cancel = cli_ui_cancel,
    };
    scant_status status = scant_ctx_create(&opts, &job->ctx);
    if (status != SCANT_OK) cli_error("%s", scant_status_text(status));
    return cli_exit_of(status);
}

int net_failed(net_job *job, scant_status status) {
    cli_ui_clear(&job->ui);
    if (status == SCANT_ECANCELLED)
        cli_error("interrupted");
    else
        cli_error("%s", scant_ctx_errmsg(job->ctx));
    return cli_exit_of(status);
}

void net_end(net_job *job) {
    cli_ui_clear(&job->ui);
    scant_ctx_free(job->ctx);
}

int net_open_data(net_job *job, const net_samples *samples, const net_means *means,
                  bool test, scant_data **out) {
    scant_data_opts opts = samples->opts;
    opts.test = test;
    opts.seed = means->seed;
    scant_status status = scant_data_open(job->ctx, samples->spec, &opts, out);
    return status == SCANT_OK ? CLI_DONE : net_failed(job, status);
}

static int check_rows(const char *path, const int64_t *read, const scant_data *data,
                      size_t *rows, size_t count) {
    size_t all = scant_data_count(data);
    for (size_t i = 0; i < count; i++) {
        if (read[i] < 0 || (uint64_t)read[i] >= all) {
            cli_error("%s: row %zu names sample %lld, but %s has %zu (0 to %zu)", path, i,
                      (long long)read[i], scant_data_name(data), all, all - 1);
            return CLI_BAD_INPUT;
        }
        rows[i] = (size_t)read[i];
    }
    return CLI_DONE;
}

int net_read_rows(net_job *job, const char *path, const scant_data *data, size_t **rows,
                  size_t *count) {
    scant_array *array;
    *rows = NULL;
    *count = 0;
    if (!path) return CLI_DONE;
    scant_status status = scant_array_open(job->ctx, path, &array);
    if (status != SCANT_OK) return net_failed(job, status);
    size_t n = scant_array_ndim(array) == 1 ? scant_array_shape(array)[0] : 0;
    int64_t *read = cli_calloc(n + 1, sizeof *read);
    *rows = cli_calloc(n + 1, sizeof **rows);
    *count = n;
    int result = CLI_DONE;
    status = scant_array_integers(job->ctx, array, 0, n, read);
    if (status != SCANT_OK) {
        result = net_failed(job, status);
    } else if (n == 0) {
        cli_error("%s: is no list of rows, or an empty one", path);
        result = CLI_BAD_INPUT;
    } else {
        result = check_rows(path, read, data, *rows, n);
    }
    free(read);
    scant_array_free(array);
    return result;
}

scant_net_opts net_options(const net_model *model, const scant_data *data, size_t classes,
                           uint64_t seed) {
    scant_net_opts opts = model->opts;
    opts.classes = classes;
    opts.seed = seed;
    if (data) scant_data_shape(data, opts.shape);
    return opts;
}

/* ---- classes by name --------------------------------------------------------------- */

static const char **keep_names(const char **names, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (names[i]) return names;
    free(names);
    return NULL;
}

const char **net_data_names(const scant_data *data, size_t *n) {
    *n = scant_data_classes(data);
    const char **names = cli_calloc(*n + 1, sizeof *names);
    for (size_t i = 0; i < *n; i++) names[i] = scant_data_class_name(data, i);
    return keep_names(names, *n);
}

const char **net_names(const scant_net *network, size_t *n) {
    *n = scant_net_classes(network);
    const char **names = cli_calloc(*n + 1, sizeof *names);
    for (size_t i = 0; i < *n; i++) names[i] = scant_net_class_name(network, i);
    return keep_names(names, *n);
}

void net_names_json(scant__text *text, const scant_net *network) {
    size_t n;
    const char **names = net_names(network, &n);
    if (!names) {
        scant__text_add(text, "null");
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const char *name = names[i] ? names[i] : "";
        scant__text_add(text, i ? ", " : "[");
        scant__text_json(text, name);
    }
    scant__text_add(text, "]");
    free(names);
}

/* ---- what a network is worth ------------------------------------------------------- */

static void json_number(scant__text *text, const char *key, double value, bool known) {
    scant__text_addf(text, ", \"%s\": ", key);
    scant__text_json_number(text, known ? value : (double)NAN);
}

/* A list of [count, mean confidence, accuracy]; of an empty bin the two are null. */
static void json_bins(scant__text *text, const scant_calibration_bin *bins) {
    scant__text_add(text, ", \"bins\": [");
    for (size_t b = 0; b < SCANT_CALIBRATION_BINS; b++) {
        bool empty = !bins[b].count;
        scant__text_addf(text, "%s[%zu, ", b ? ", " : "", bins[b].count);
        scant__text_json_number(text, empty ? (double)NAN : bins[b].confidence);
        scant__text_add(text, ", ");
        scant__text_json_number(text, empty ? (double)NAN : bins[b].accuracy);
        scant__text_add(text, "]");
    }
    scant__text_add(text, "]");
}

void net_evaluation_json(scant__text *text, const scant_evaluation *e,
                         const scant_calibration *scaled, bool numbers) {
    scant__text_addf(text, "\"samples\": %zu", e->samples);
    json_number(text, "accuracy", e->accuracy, !numbers);
    json_number(text, "loss", e->loss, true);
    json_number(text, "calibration", e->calibration, !numbers);
    json_number(text, "temperature", e->temperature, !numbers);
    if (numbers) return;
    json_bins(text, e->bins);
    if (!scaled) return;
    scant__text_add(text, ", \"scaled\": {\"temperature\": ");
    scant__text_json_number(text, scaled->temperature);
    json_number(text, "calibration", scaled->error, true);
    json_bins(text, scaled->bins);
    scant__text_add(text, "}");
}

/* ---- flags that say nothing -------------------------------------------------------- */

static bool is_drawn(const char *spec) {
    static const char *const names[] = {"moons", "blobs", "waves", "heavy"};
    for (size_t i = 0; spec && i < sizeof names / sizeof *names; i++)
        if (strcmp(spec, names[i]) == 0) return true;
    return false;
}

/* Pictures of a folder are the only samples that have names. */
static bool is_folder(const scant_data *data) {
    return data && scant_data_sample_name(data, 0) != NULL;
}

int net_check_samples(const net_job *job, const net_samples *samples, const char *other,
                      const scant_data *data, const scant_data *other_data) {
    if (samples->opts.side && !is_folder(data) && !is_folder(other_data))
        return cli_usage(
            job->command,
            "--size is of pictures in a folder, and %s has none: its samples "
            "are of the size they are",
            samples->spec);
    if (samples->opts.count && !is_drawn(samples->spec) && !is_drawn(other))
        return cli_usage(
            job->command,
            "--count says how many moons, blobs and the like to draw; --indices chooses "
            "samples of %s",
            samples->spec);
    return CLI_DONE;
}

/* ---- scaling ----------------------------------------------------------------------- */

/* "M" or "M,M,M" into n numbers; NULL out: only whether it is a list of numbers. Where
 * there are neither one nor n, false. */
static bool read_list(const char *text, bool positive, float *out, size_t n) {
    size_t count = 0;
    for (;; text++) {
        size_t length = strcspn(text, ",");
        char *number = cli_strndup(text, length);
        double value = 0;
        bool fine =
            positive ? cli_read_positive(number, &value) : cli_read_real(number, &value);
        free(number);
        if (!fine || (out && count == n)) return false;
        if (out) out[count] = (float)value;
        count++;
        text += length;
        if (!*text) break;
    }
    if (!out || count == n) return true;
    for (size_t i = 1; i < n; i++) out[i] = out[0];
    return count == 1;
}

int net_check_scaling(const cli_command *command, const net_model *model) {
    if (!model->mean != !model->deviation)
        return cli_usage(command, "--mean and --deviation go together");
    if (!model->mean) return CLI_DONE;
    if (!read_list(model->mean, false, NULL, 0))
        return cli_usage(command, "--mean wants numbers with commas between, not '%s'",
                         model->mean);
    if (!read_list(model->deviation, true, NULL, 0))
        return cli_usage(command,
                         "--deviation wants numbers above 0 with commas between, not "
                         "'%s'",
                         model->deviation);
    return CLI_DONE;
}

int net_set_scaling(net_job *job, const net_model *model, scant_net *network) {
    size_t shape[3];
    if (!model->mean) return CLI_DONE;
    scant_net_shape(network, shape);
    float *mean = cli_calloc(2 * shape[0], sizeof *mean), *deviation = mean + shape[0];
    int status = CLI_DONE;
    if (!read_list(model->mean, false, mean, shape[0]) ||
        !read_list(model->deviation, true, deviation, shape[0])) {
        status = cli_usage(job->command,
                           "--mean and --deviation have one number, or one a channel: "
                           "here are %zu channels",
                           shape[0]);
    } else {
        scant_status set = scant_net_set_scaling(network, mean, deviation);
        if (set != SCANT_OK) status = net_failed(job, set);
    }
    free(mean);
    return status;
}

int net_open_weights(net_job *job, const net_model *model, const char *path,
                     const scant_net_opts *opts, bool train, scant_net **out) {
    bool quiet = job->ui.quiet;
    job->ui.quiet = quiet || model->mean;
    scant_status status = (train ? scant_net_start : scant_net_open)(
        job->ctx, path, model->name, opts, out);
    job->ui.quiet = quiet;
    if (status != SCANT_OK) return net_failed(job, status);
    return net_set_scaling(job, model, *out);
}
