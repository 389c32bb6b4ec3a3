/* SPDX-License-Identifier: Apache-2.0
 *
 * A network that is there, from a folder or file of weights, and samples for it.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/net.h"
#include "scant/train.h"

const char *net_option_of(const net_model *model) {
    return model->opts.width        ? "width"
           : model->opts.depth      ? "depth"
           : model->opts.activation ? "activation"
           : model->opts.norm       ? "norm"
           : model->opts.stem       ? "stem"
           : model->opts.head       ? "head"
           : model->opts.prior > 0  ? "prior"
           : model->opts.hidden     ? "hidden"
           : model->opts.no_hidden  ? "no-hidden"
           : model->mean            ? "mean"
           : model->deviation       ? "deviation"
                                    : NULL;
}

int net_check_from(const cli_command *command, const net_call *call) {
    const net_model *model = call->model;
    if (call->from && (model->weights || model->name))
        return cli_usage(command, "--from names a network already: no --weights, no "
                                  "--model");
    if (call->from && net_option_of(model))
        return cli_usage(command,
                         "--%s: the network that --from names is made already, and "
                         "says itself what it is",
                         net_option_of(model));
    return net_check_scaling(command, model);
}

int net_check_training(const cli_command *command, const char *from, const cli_path *outs,
                       size_t n_outs) {
    static const char *const names[] = {"weights.safetensors", "state.safetensors",
                                        "train.json", "log.jsonl", "result.json"};
    int status = CLI_DONE;
    if (!from) return CLI_DONE;
    for (size_t i = 0; i < CLI_COUNT_OF(names) && status == CLI_DONE; i++) {
        scant__text path = CLI_TEXT;
        scant__text_addf(&path, "%s/%s", from, names[i]);
        scant__text_bytes(&path, "", 1);
        status = cli_check_overwrites(command, outs, n_outs,
                                      &(cli_path){"from", path.data}, 1);
        scant__text_end(&path);
    }
    return status;
}

int net_open_part(net_job *job, const net_call *call, scant_data **out) {
    bool test = call->part && strcmp(call->part, "test") == 0;
    int status = net_open_data(job, call->samples, call->means, test, out);
    if (status != CLI_DONE) return status;
    if (!test || scant_data_has_test(*out))
        return net_check_samples(job, call->given, NULL, *out, NULL);
    cli_error("%s has no part to test with", call->samples->spec);
    return CLI_BAD_INPUT;
}

int net_open_network(net_job *job, const net_call *call, const char *path,
                     const scant_data *data, scant_net **out) {
    scant_net_opts opts = net_options(call->model, data, 0, call->means->seed);
    opts.draw_seed = call->means->seed;
    return net_open_weights(job, call->model, path, &opts, false, out);
}

/* A file of scant's own says what it takes, and pictures are brought to that size; of
 * another's the samples say what it is to take. */
static int open_at(net_job *job, const net_call *call, const char *path,
                   scant_net **network, scant_data **data) {
    size_t shape[3];
    int status;
    if (call->model->name) {
        status = net_open_part(job, call, data);
        if (status != CLI_DONE) return status;
        return net_open_network(job, call, path, *data, network);
    }
    status = net_open_network(job, call, path, NULL, network);
    if (status != CLI_DONE) return status;
    scant_net_shape(*network, shape);
    if (!call->samples->opts.side && shape[1] == shape[2] && shape[1] > 1)
        call->samples->opts.side = shape[1];
    if (scant_net_classes(*network) == 1) call->samples->opts.regression = true;
    return net_open_part(job, call, data);
}

int net_open_both(net_job *job, const net_call *call, scant_net **network,
                  scant_data **data) {
    scant__text path = CLI_TEXT;
    scant__text_addf(&path, "%s%s", call->from ? call->from : call->model->weights,
                     call->from ? "/weights.safetensors" : "");
    scant__text_bytes(&path, "", 1);
    int status = open_at(job, call, path.data, network, data);
    scant__text_end(&path);
    return status;
}

char *net_weights_of(const char *path) {
    scant__text text = CLI_TEXT;
    struct stat info;
    bool folder = stat(path, &info) == 0 && S_ISDIR(info.st_mode);
    scant__text_addf(&text, "%s%s", path, folder ? "/weights.safetensors" : "");
    scant__text_bytes(&text, "", 1);
    return text.data;
}

int net_check_labels(const net_samples *samples, const scant_net *network,
                     const scant_data *data, const size_t *rows, size_t count) {
    const int32_t *labels = scant_data_labels(data);
    size_t classes = scant_net_classes(network);
    for (size_t i = 0; labels && i < count; i++) {
        size_t row = rows ? rows[i] : i;
        int32_t label = labels[row];
        if (label < 0 || (size_t)label < classes) continue;
        cli_error("%s: sample %zu has label %d, but the network has %zu classes (0 to "
                  "%zu)",
                  samples->opts.labels ? samples->opts.labels : samples->spec, row,
                  (int)label, classes, classes - 1);
        return CLI_BAD_INPUT;
    }
    return CLI_DONE;
}
