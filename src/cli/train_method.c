/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant train --method`: what a method uses where no flag says else, which flags belong
 * to which, and the samples that train without labels.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/train.h"
#include "scant/train.h"

bool train_by_method(const train_job *job) {
    return strcmp(job->args.train.method, "supervised") != 0;
}

bool train_given(const train_job *job, const char *name) {
    size_t i = cli_flag_find(job->net.command, name);
    return i < cli_flag_find(job->net.command, "") && job->seen[i];
}

/* ---- flags ------------------------------------------------------------------------- */

/* Whether methods but supervised read the option; takes: of one method. */
static bool belongs(const char *takes, const char *key) {
    return takes && (scant__has_word(takes, key) || strcmp(key, "unlabelled") == 0);
}

static int check_flag(const train_job *job, const cli_flag *flag) {
    size_t count;
    const cli_command *command = job->net.command;
    const scant_method_info *const *methods = scant_methods(&count);
    const char *method = job->args.train.method, *key = flag->row->key;
    bool some = false;
    if (strcmp(key, "darp-target") == 0) key = "darp_target";
    for (size_t i = 0; i < count; i++) some = some || belongs(methods[i]->takes, key);
    if (!some) return CLI_DONE;
    if (!train_by_method(job))
        return cli_usage(command,
                         "--%s needs a method that learns from unlabelled samples, such "
                         "as --method fixmatch",
                         flag->name);
    if (!belongs(scant_method_find(method)->takes, key))
        return cli_usage(command, "--%s does not apply to --method %s", flag->name,
                         method);
    if (strncmp(key, "darp_", 5) == 0 && !job->args.train.ssl.darp)
        return cli_usage(command, "--%s needs --darp", flag->name);
    return CLI_DONE;
}

int train_check_method(const train_job *job) {
    const train_args *a = &job->args;
    cli_flag flag;
    for (size_t i = 0; cli_flag_at(job->net.command, i, &flag); i++) {
        int status = job->seen[i] ? check_flag(job, &flag) : CLI_DONE;
        if (status != CLI_DONE) return status;
    }
    if (!train_by_method(job)) return CLI_DONE;
    if (a->samples.opts.regression)
        return cli_usage(job->net.command, "--method %s needs classes: no --regression",
                         a->train.method);
    if (a->train.loss && strcmp(a->train.loss, "ce") != 0)
        return cli_usage(job->net.command, "--method %s needs --loss ce",
                         a->train.method);
    return CLI_DONE;
}

/* Options that no flag gives are those of the method and the optimizer. A training that
 * is resumed has all of them in train.json. */
void train_settle_method(train_job *job) {
    scant_train_opts *o = &job->args.train, defaults;
    bool optimizer = train_given(job, "optimizer");
    cli_flag flag;
    size_t n;
    const scant_option *rows = scant_train_options(&n);
    if (job->args.resume) return;
    scant_train_defaults(o->method, optimizer ? o->optimizer : NULL, &defaults);
    for (size_t i = 0; cli_flag_at(job->net.command, i, &flag); i++)
        if (!job->seen[i] && flag.row >= rows && flag.row < rows + n)
            scant__option_copy(flag.row, &defaults, o);
    if (o->momentum == 0 && !train_given(job, "nesterov")) o->nesterov = false;
}

/* ---- samples ----------------------------------------------------------------------- */

/* All samples but those to watch; FixMatch learns from the labelled ones' pictures, too.
 */
static void take_rest(train_job *job) {
    size_t all = scant_data_count(job->data);
    bool *out = cli_calloc(all, sizeof *out);
    bool labelled = strcmp(job->args.train.method, "fixmatch") == 0;
    job->unlabelled = cli_calloc(all, sizeof *job->unlabelled);
    for (size_t i = 0; i < job->n_valid; i++) out[job->valid[i]] = true;
    for (size_t i = 0; i < job->n_rows && !labelled; i++) out[job->rows[i]] = true;
    for (size_t i = 0; i < all; i++)
        if (!out[i]) job->unlabelled[job->n_unlabelled++] = i;
    free(out);
}

static int read_target(train_job *job) {
    const char *path = job->args.darp_target;
    scant_array *array;
    if (!path) return CLI_DONE;
    scant_status status = scant_array_open(job->net.ctx, path, &array);
    if (status != SCANT_OK) return net_failed(&job->net, status);
    size_t n = scant_array_ndim(array) == 1 ? scant_array_shape(array)[0] : 0;
    size_t classes = scant_data_classes(job->data);
    float *numbers = cli_calloc(n, sizeof *numbers);
    job->darp_target = cli_calloc(n, sizeof *job->darp_target);
    if (n == classes) status = scant_array_floats(job->net.ctx, array, 0, n, numbers);
    for (size_t i = 0; i < n; i++) job->darp_target[i] = (double)numbers[i];
    free(numbers);
    scant_array_free(array);
    if (status != SCANT_OK) return net_failed(&job->net, status);
    if (n == classes) return CLI_DONE;
    cli_error("%s: is no list of %zu numbers, one for each class", path, classes);
    return CLI_BAD_INPUT;
}

int train_open_unlabelled(train_job *job) {
    train_args *a = &job->args;
    size_t shape[3];
    int status = CLI_DONE;
    if (!train_by_method(job)) return CLI_DONE;
    if (a->unlabelled)
        status = net_read_rows(&job->net, a->unlabelled, job->data, &job->unlabelled,
                               &job->n_unlabelled);
    else
        take_rest(job);
    if (status == CLI_DONE && !job->n_unlabelled) {
        cli_error("%s: no sample is without a label, and --method %s learns from such: "
                  "use --method supervised",
                  a->samples.spec, a->train.method);
        status = CLI_BAD_INPUT;
    }
    if (status == CLI_DONE) status = read_target(job);
    if (status != CLI_DONE) return status;
    if (strcmp(a->train.augment, "auto") == 0) {
        scant_data_shape(job->data, shape);
        a->train.augment = shape[1] * shape[2] > 1 ? "crop" : "noise";
    }
    if (!job->net.ui.quiet)
        cli_note("%zu samples train with their labels, %zu without", job->n_rows,
                 job->n_unlabelled);
    return CLI_DONE;
}
