/* SPDX-License-Identifier: Apache-2.0
 *
 * Samples and networks as flags name them.
 */
#include "cli/net.h"

#include <stdlib.h>
#include <string.h>

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
    scant_ctx_destroy(job->ctx);
}

int net_open_data(net_job *job, const net_samples *samples, const net_means *means,
                  bool test, scant_data **out) {
    scant_data_opts opts = {
        .labels = samples->labels,
        .test = test,
        .regression = samples->regression,
        .unlabelled = samples->unlabelled,
        .side = samples->side,
        .count = samples->count,
        .seed = means->seed,
    };
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
    scant_array_close(array);
    return result;
}

scant_net_opts net_options(const net_model *model, const scant_data *data, size_t classes,
                           uint64_t seed) {
    scant_net_opts opts = {
        .classes = classes,
        .width = model->width,
        .depth = model->depth,
        .activation = model->activation,
        .dropout = model->dropout,
        .norm = model->norm,
        .stem = model->stem,
        .head = model->head,
        .seed = seed,
    };
    if (data) scant_data_shape(data, opts.shape);
    return opts;
}
