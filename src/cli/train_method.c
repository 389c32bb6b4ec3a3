/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant train --method`: the options of methods that learn from unlabelled samples, and
 * those samples.
 */
#include "cli/train.h"

bool train_by_method(const train_job *job) {
    return strcmp(job->args.train.method, "supervised") != 0;
}

bool train_given(const train_job *job, const char *name) {
    size_t i = cli_flag_find(job->net.command, name);
    return i < cli_flag_find(job->net.command, "") && job->given[i];
}

/* ---- flags ------------------------------------------------------------------------- */

/* Whether the method has the option. */
static bool takes(const scant_method_info *method, const char *key) {
    return method->takes &&
           (scant__has_word(method->takes, key) || strcmp(key, "unlabelled") == 0);
}

static void check_flag(const train_job *job, const cli_flag *flag) {
    size_t count;
    const cli_command *command = job->net.command;
    const scant_method_info *const *methods = scant_methods(&count);
    const char *method = job->args.train.method, *key = flag->row->key;
    bool some = false;
    if (strcmp(key, "darp-target") == 0) key = "darp_target";
    if (strcmp(key, "no-align") == 0) key = "align";
    for (size_t i = 0; i < count; i++) some = some || takes(methods[i], key);
    if (!some) return;
    if (!train_by_method(job))
        cli_usage(command,
                  "--%s needs a method that learns from unlabelled samples, such as "
                  "--method fixmatch",
                  flag->name);
    if (!takes(scant_method_find(method), key))
        cli_usage(command, "--%s does not apply to --method %s", flag->name, method);
    bool target = strcmp(key, "darp_target") == 0;
    const scant_ssl_opts *o = &job->args.train.ssl;
    if (strncmp(key, "darp_", 5) == 0 && !o->darp && !(target && o->align))
        cli_usage(command, "--%s needs --darp%s", flag->name,
                  target ? " or --align" : "");
}

void train_check_method(const train_job *job) {
    const train_args *a = &job->args;
    cli_flag flag;
    for (size_t i = 0; cli_flag_at(job->net.command, i, &flag); i++)
        if (job->given[i]) check_flag(job, &flag);
    if (!train_by_method(job)) return;
    if (!train_has_accuracy(job))
        cli_usage(job->net.command, "--method %s needs classes: no --regression",
                  a->train.method);
    if (train_given(job, "align") && a->no_align)
        cli_usage(job->net.command, "--align cannot be combined with --no-align");
    if (a->train.ssl.darp && a->train.ssl.align)
        cli_usage(job->net.command, "--darp cannot be combined with --align: both move "
                                    "predictions to a class distribution");
    if (a->train.loss && strcmp(a->train.loss, "ce") != 0)
        cli_usage(job->net.command, "--method %s needs --loss ce", a->train.method);
}

/* A resumed training has all options in train.json. */
void train_set_defaults(train_job *job) {
    scant_train_opts *o = &job->args.train, defaults;
    cli_flag flag;
    size_t n;
    const scant_option *rows = scant_train_options(&n);
    if (o->resume) return;
    scant_train_defaults(o->method, train_given(job, "optimizer") ? o->optimizer : NULL,
                         &defaults);
    for (size_t i = 0; cli_flag_at(job->net.command, i, &flag); i++)
        if (!job->given[i] && flag.row >= rows && flag.row < rows + n)
            scant__option_copy(flag.row, &defaults, o);
    if (job->args.no_align) o->ssl.align = false;
    if (o->momentum == 0 && !train_given(job, "nesterov")) o->nesterov = false;
}

/* ---- samples ----------------------------------------------------------------------- */

static void read_target(train_job *job) {
    const char *path = job->args.darp_target;
    scant_ssl_opts *o = &job->args.train.ssl;
    size_t classes = scant_data_classes(job->data);
    o->labelled_target = path && strcmp(path, "labelled") == 0;
    if (!path || o->labelled_target) return;
    float *numbers = net_read_floats(&job->net, path, classes, "class");
    double *target = cli_calloc(classes, sizeof *target);
    for (size_t i = 0; i < classes; i++) target[i] = (double)numbers[i];
    o->darp_target = target;
}

void train_open_unlabelled(train_job *job) {
    train_args *a = &job->args;
    scant_train_opts *o = &a->train;
    size_t *rest = NULL;
    if (!train_by_method(job)) return;
    if (a->unlabelled)
        o->unlabelled =
            net_read_rows(&job->net, a->unlabelled, job->data, &o->n_unlabelled);
    else
        rest = cli_calloc(scant_data_count(job->data), sizeof *rest);
    net_try(&job->net, scant_train_resolve(job->net.ctx, job->data, o, rest));
    if (!o->n_unlabelled)
        cli_die(CLI_BAD_INPUT,
                "%s: all samples have a label, and --method %s learns from unlabelled "
                "ones: use --method supervised",
                a->net.data, o->method);
    read_target(job);
    if (!job->net.ui.quiet)
        cli_note("%zu samples train with their labels, %zu without", o->n_rows,
                 o->n_unlabelled);
}
