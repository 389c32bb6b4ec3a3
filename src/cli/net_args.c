/* SPDX-License-Identifier: Apache-2.0
 *
 * The flags and checks that commands with a network share.
 */
#include "cli/net_args.h"

#include <math.h>

const scant_option net_data_rows[2] = {
    OPT_FILE("data", "SPEC", offsetof(net_args, data), NET_SAMPLES,
             "FILE.npy or FILE.npz:KEY (n x d, n x h x w or n x h x w x c), IDX, CIFAR "
             "records, CSV, a folder of these or of images, or fashion-mnist, moons, "
             "blobs, waves, heavy (required)"),
    OPT_ARRAY("indices", "FILE", offsetof(net_args, indices), NET_SAMPLES,
              "only these rows (integers, from 0), in this order"),
};

const scant_option net_open_rows[3] = {
    OPT_CHOICE("part", "train|test", NULL, offsetof(net_args, part), NET_SAMPLES,
               "which part to use, if the data has both (default train)"),
    OPT_FILE("from", "DIR", offsetof(net_args, from), NET_NETWORK,
             "the network that 'scant train' left in DIR"),
    OPT_FILE("weights", "FILE", offsetof(net_args, weights), NET_NETWORK,
             "the network's weights, a safetensors file (instead of --from)"),
};

const scant_option net_model_rows[3] = {
    OPT_SWITCH("no-hidden", NULL, offsetof(net_args, net.no_hidden), NET_NETWORK,
               "no dense layer before the last one"),
    OPT_TEXT("mean", "M[,M...]", NULL, offsetof(net_args, mean), NET_NETWORK,
             "subtracted from images, whose values are 0 to 1: one number, or one per "
             "channel (default: what --weights were saved with; ImageNet's, if another "
             "program wrote them for 3 channels)"),
    OPT_TEXT("deviation", "D[,D...]", NULL, offsetof(net_args, deviation), NET_NETWORK,
             "divides images after --mean is subtracted"),
};

const scant_option net_common_rows[5] = {
    OPT_SEED("seed", "S", offsetof(net_common, seed), NET_COMMON,
             "seed of every random choice (default 0)"),
    OPT_COUNT("threads", "T", NULL, offsetof(net_common, threads), 0, 1024, NET_COMMON,
              "threads; default and 0: all cores, or OMP_NUM_THREADS"),
    OPT_BYTES("memory", "SIZE", offsetof(net_common, memory), NET_COMMON,
              "limit on allocated memory, such as 512M or 4G (default: half of the "
              "machine's, or of the control group's limit)"),
    OPT_SWITCH("quiet", NULL, offsetof(net_common, quiet), NET_COMMON,
               "errors only: no warnings, no progress"),
    OPT_SWITCH("progress", NULL, offsetof(net_common, progress), NET_COMMON,
               "show progress even if standard error is not a terminal"),
};

/* ---- context and errors ------------------------------------------------------------ */

static void free_ctx(void *ctx) { scant_ctx_free(ctx); }

void net_begin(net_job *job, const cli_command *command, const net_common *common,
               void (*progress)(void *user, const char *phase, double fraction)) {
    job->command = command;
    cli_signals_begin();
    cli_ui_begin(&job->ui, common->quiet, common->progress);
    scant_ctx_opts opts = {
        .threads = (unsigned)common->threads,
        .memory = common->memory,
        .user = job,
        .log = cli_ui_log,
        .progress = progress ? progress : cli_ui_progress,
        .cancel = cli_ui_cancel,
    };
    scant_status status = scant_ctx_create(&opts, &job->ctx);
    if (status != SCANT_OK) cli_die(cli_exit_of(status), "%s", scant_status_text(status));
    cli_defer(free_ctx, job->ctx);
}

int net_failed(net_job *job, scant_status status) {
    cli_ui_clear(&job->ui);
    if (status == SCANT_ECANCELLED)
        cli_error("interrupted");
    else
        cli_error("%s", scant_ctx_errmsg(job->ctx));
    return cli_exit_of(status);
}

void net_try(net_job *job, scant_status status) {
    if (status != SCANT_OK) cli_exit(net_failed(job, status));
}

/* ---- checking flags ---------------------------------------------------------------- */

const char *net_option_of(const net_args *a) {
    return a->net.width        ? "width"
           : a->net.depth      ? "depth"
           : a->net.activation ? "activation"
           : a->net.norm       ? "norm"
           : a->net.stem       ? "stem"
           : a->net.head       ? "head"
           : a->net.init       ? "init"
           : a->net.prior > 0  ? "prior"
           : a->net.hidden     ? "hidden"
           : a->net.no_hidden  ? "no-hidden"
           : a->mean           ? "mean"
           : a->deviation      ? "deviation"
                               : NULL;
}

/* Reads "M" or "M,M,M" into n numbers; out NULL: only checks. False: malformed, or the
 * count is neither 1 nor n. */
static bool read_list(const char *text, bool positive, float *out, size_t n) {
    size_t count = 0;
    for (;; text++) {
        size_t length = strcspn(text, ",");
        char *number = cli_strndup(text, length);
        double value = 0;
        if (positive ? !cli_read_positive(number, &value)
                     : !cli_read_real(number, &value))
            return false;
        if (out && count == n) return false;
        if (out) out[count] = (float)value;
        count++;
        text += length;
        if (!*text) break;
    }
    if (!out || count == n) return true;
    for (size_t i = 1; i < n; i++) out[i] = out[0];
    return count == 1;
}

void net_check_args(const cli_command *command, const net_args *a) {
    if (a->from && (a->weights || a->model))
        cli_usage(command, "--from cannot be combined with --weights or --model: it "
                           "names a network");
    if (a->from && net_option_of(a))
        cli_usage(command,
                  "--%s cannot be combined with --from: the stored network already has a "
                  "value for it",
                  net_option_of(a));
    if (!a->mean != !a->deviation)
        cli_usage(command, "%s",
                  a->mean ? "--mean needs --deviation" : "--deviation needs --mean");
    if (a->mean && !read_list(a->mean, false, NULL, 0))
        cli_usage(command, "--mean is '%s', expected numbers separated by commas",
                  a->mean);
    if (a->mean && !read_list(a->deviation, true, NULL, 0))
        cli_usage(command,
                  "--deviation is '%s', expected numbers above 0 separated by commas",
                  a->deviation);
}

void net_check_outputs(const cli_command *command, const net_args *a,
                       const cli_path *outs, size_t n_outs, const cli_path *ins,
                       size_t n_ins) {
    static const char *const names[] = {"weights.safetensors", "state.safetensors",
                                        "train.json", "log.jsonl", "result.json"};
    const cli_path own[] = {{"data", a->data},
                            {"labels", a->data_opts.labels},
                            {"indices", a->indices},
                            {"weights", a->weights}};
    cli_check_overwrites(command, outs, n_outs, own, CLI_COUNT_OF(own));
    cli_check_overwrites(command, outs, n_outs, ins, n_ins);
    for (size_t i = 0; a->from && i < CLI_COUNT_OF(names); i++) {
        cli_path file = {"from", cli_format("%s/%s", a->from, names[i])};
        cli_check_overwrites(command, outs, n_outs, &file, 1);
    }
    for (size_t i = 0; i < n_outs; i++)
        if (outs[i].path) cli_check_file(outs[i].path);
}

static bool is_drawn(const char *spec) {
    return spec && scant__has_word("moons blobs waves heavy", spec);
}

/* Whether the data is a folder of images: only its samples have names. */
static bool is_folder(const scant_data *data) {
    return data && scant_data_sample_name(data, 0) != NULL;
}

void net_check_samples(const net_job *job, const net_args *a, const char *other,
                       const scant_data *data, const scant_data *other_data) {
    if (a->data_opts.side && !a->fitted && !is_folder(data) && !is_folder(other_data))
        cli_usage(job->command, "--size applies to folders of images, and %s is not one",
                  a->data);
    if (a->data_opts.count && !is_drawn(a->data) && !is_drawn(other))
        cli_usage(job->command,
                  "--count applies to moons, blobs, waves and heavy: --indices chooses "
                  "samples of %s",
                  a->data);
}

/* ---- networks ---------------------------------------------------------------------- */

/* Returns the means of the channels, then their deviations; NULL: not given. */
static float *read_scaling(const net_job *job, const net_args *a, size_t channels) {
    if (!a->mean) return NULL;
    float *mean = cli_calloc(2 * channels, sizeof *mean);
    if (!read_list(a->mean, false, mean, channels) ||
        !read_list(a->deviation, true, mean + channels, channels))
        cli_usage(job->command,
                  "--mean and --deviation have one number, or one per channel: the "
                  "samples have %zu channels",
                  channels);
    return mean;
}

scant_net *net_make(net_job *job, const net_args *a, const char *model,
                    const scant_data *data, size_t classes) {
    scant_recipe recipe = {.model = model, .weights = a->weights, .net = a->net};
    scant_net *network;
    bool quiet = job->ui.quiet;
    recipe.net.classes = classes;
    recipe.net.seed = a->common.seed;
    scant_data_shape(data, recipe.net.shape);
    recipe.mean = read_scaling(job, a, recipe.net.shape[0]);
    if (a->mean) recipe.deviation = recipe.mean + recipe.net.shape[0];
    job->ui.quiet = quiet || a->mean; /* --mean: no warning of an assumed scaling */
    net_try(job, scant_recipe_make(job->ctx, data, &recipe, &network));
    job->ui.quiet = quiet;
    return network;
}

scant_net *net_open(net_job *job, const net_args *a, const char *path,
                    const scant_data *data) {
    scant_net_opts opts = a->net;
    scant_net *network;
    bool quiet = job->ui.quiet;
    opts.seed = opts.draw_seed = a->common.seed;
    if (data) scant_data_shape(data, opts.shape);
    job->ui.quiet = quiet || a->mean; /* --mean: no warning of an assumed scaling */
    net_try(job, scant_net_open(job->ctx, path, a->model, &opts, &network));
    job->ui.quiet = quiet;
    scant_net_shape(network, opts.shape);
    float *mean = read_scaling(job, a, opts.shape[0]);
    if (mean) net_try(job, scant_net_set_scaling(network, mean, mean + opts.shape[0]));
    return network;
}

/* ---- evaluations ------------------------------------------------------------------- */

/* Writes [count, mean confidence, accuracy] per bin. The last two are null if the bin is
 * empty. */
static void json_bins(scant__json *json, const scant_calibration_bin *bins) {
    scant__json_open(json, "bins", '[');
    for (size_t b = 0; b < SCANT_CALIBRATION_BINS; b++) {
        scant__json_open(json, NULL, '[');
        scant__json_size(json, NULL, bins[b].count);
        scant__json_number(json, NULL, bins[b].count ? bins[b].confidence : (double)NAN);
        scant__json_number(json, NULL, bins[b].count ? bins[b].accuracy : (double)NAN);
        scant__json_close(json, ']');
    }
    scant__json_close(json, ']');
}

void net_json_evaluation(scant__json *json, const char *key, const scant_evaluation *e,
                         const scant_calibration *scaled, bool numbers) {
    double unknown = (double)NAN;
    scant__json_open(json, key, '{');
    scant__json_size(json, "samples", e->samples);
    scant__json_number(json, "accuracy", numbers ? unknown : e->accuracy);
    scant__json_number(json, "loss", e->loss);
    scant__json_number(json, "calibration", numbers ? unknown : e->calibration);
    scant__json_number(json, "temperature", numbers ? unknown : e->temperature);
    if (!numbers) json_bins(json, e->bins);
    if (!numbers && scaled) {
        scant__json_open(json, "scaled", '{');
        scant__json_number(json, "temperature", scaled->temperature);
        scant__json_number(json, "calibration", scaled->error);
        json_bins(json, scaled->bins);
        scant__json_close(json, '}');
    }
    scant__json_close(json, '}');
}
