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
    return strcmp(job->args.method, "supervised") != 0;
}

bool train_given(const train_job *job, const char *name) {
    const cli_command *command = job->net.command;
    for (size_t i = 0; i < command->n_flags; i++)
        if (strcmp(command->flags[i].name, name) == 0) return job->seen[i];
    return false;
}

/* ---- flags ------------------------------------------------------------------------- */

#define FIXMATCH "fixmatch"
#define PSEUDO "pseudo-label"
#define RAMPED "mean-teacher pi " PSEUDO
#define ANY FIXMATCH " " RAMPED

static const struct {
    const char *flag, *methods;
    bool darp; /* needs --darp */
} belongs[] = {
    {"unlabelled", ANY, false},
    {"mu", ANY, false},
    {"unlabelled-weight", ANY, false},
    {"threshold", FIXMATCH " " PSEUDO, false},
    {"ramp", RAMPED, false},
    {"cut", FIXMATCH, false},
    {"noise", ANY, false},
    {"drop", FIXMATCH, false},
    {"darp", FIXMATCH, false},
    {"darp-target", FIXMATCH, true},
    {"darp-alpha", FIXMATCH, true},
    {"darp-every", FIXMATCH, true},
    {"darp-warmup", FIXMATCH, true},
};

static bool has_word(const char *words, const char *word) {
    size_t length = strlen(word);
    for (const char *at = words; (at = strstr(at, word)); at += length)
        if ((at == words || at[-1] == ' ') && (!at[length] || at[length] == ' '))
            return true;
    return false;
}

int train_check_method(const train_job *job) {
    const cli_command *command = job->net.command;
    const train_args *a = &job->args;
    for (size_t i = 0; i < CLI_COUNT_OF(belongs); i++) {
        if (!train_given(job, belongs[i].flag)) continue;
        if (!train_by_method(job))
            return cli_usage(command,
                             "--%s is of methods that learn from samples without labels: "
                             "give --method, such as fixmatch",
                             belongs[i].flag);
        if (!has_word(belongs[i].methods, a->method))
            return cli_usage(command, "--%s is not of --method %s", belongs[i].flag,
                             a->method);
        if (belongs[i].darp && !a->darp)
            return cli_usage(command, "--%s needs --darp", belongs[i].flag);
    }
    if (train_by_method(job) && a->samples.regression)
        return cli_usage(command, "--method %s needs classes: no --regression",
                         a->method);
    if (train_by_method(job) && a->loss && strcmp(a->loss, "ce") != 0)
        return cli_usage(command, "--method %s needs --loss ce", a->method);
    return CLI_DONE;
}

/* A flag's value as the library's options have it: 0 is not given, -1 a zero. */
static double amount(const train_job *job, const char *flag, double value) {
    return train_given(job, flag) ? scant_or_none(value) : 0;
}

static const char *word(const train_job *job, const char *flag, const char *value) {
    return train_given(job, flag) ? value : NULL;
}

static scant_ssl_opts given_own(const train_job *job) {
    const train_args *a = &job->args;
    return (scant_ssl_opts){
        .mu = a->mu,
        .weight = amount(job, "unlabelled-weight", a->unlabelled_weight),
        .threshold = a->threshold,
        .darp_alpha = amount(job, "darp-alpha", a->darp_alpha),
        .darp_every = a->darp_every,
        .darp_warmup = amount(job, "darp-warmup", a->darp_warmup),
        .noise = amount(job, "noise", a->noise),
        .drop = amount(job, "drop", a->drop),
    };
}

static scant_train_opts given_options(const train_job *job) {
    const train_args *a = &job->args;
    return (scant_train_opts){
        .optimizer = word(job, "optimizer", a->optimizer),
        .lr = a->lr,
        .momentum = amount(job, "momentum", a->momentum),
        .nesterov = a->nesterov,
        .weight_decay = amount(job, "weight-decay", a->weight_decay),
        .decay_weights_only = a->decay_weights_only,
        .schedule = word(job, "schedule", a->schedule),
        .ema = amount(job, "ema", a->ema),
        .batch = train_given(job, "batch") ? a->batch : 0,
        .ssl = given_own(job),
    };
}

static double or_zero(double value) { return value > 0 ? value : 0; }

static void take_own(train_args *a, const scant_ssl_opts *o) {
    a->mu = o->mu;
    a->unlabelled_weight = or_zero(o->weight);
    a->threshold = o->threshold;
    a->darp_alpha = or_zero(o->darp_alpha);
    a->darp_every = o->darp_every;
    a->darp_warmup = or_zero(o->darp_warmup);
    a->noise = or_zero(o->noise);
    a->drop = or_zero(o->drop);
}

/* A training that goes on has all of it in train.json. */
void train_settle_method(train_job *job) {
    train_args *a = &job->args;
    if (!train_by_method(job) || a->resume) return;
    scant_train_opts o = given_options(job);
    scant_method_fill(scant_method_find(a->method), &o);
    a->optimizer = o.optimizer;
    a->lr = o.lr;
    a->nesterov = o.nesterov > 0;
    a->weight_decay = or_zero(o.weight_decay);
    a->decay_weights_only = o.decay_weights_only > 0;
    a->schedule = o.schedule;
    a->ema = or_zero(o.ema);
    a->batch = o.batch;
    take_own(a, &o.ssl);
}

/* ---- samples ----------------------------------------------------------------------- */

/* All samples but those to watch; FixMatch learns from the labelled ones' pictures, too.
 */
static void take_rest(train_job *job) {
    size_t all = scant_data_count(job->data);
    bool *out = cli_calloc(all, sizeof *out);
    bool labelled = strcmp(job->args.method, "fixmatch") == 0;
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
                  a->samples.spec, a->method);
        status = CLI_BAD_INPUT;
    }
    if (status == CLI_DONE) status = read_target(job);
    if (status != CLI_DONE) return status;
    if (!train_given(job, "augment") && !a->resume) {
        scant_data_shape(job->data, shape);
        a->augment = shape[1] * shape[2] > 1 ? "crop" : "noise";
    }
    if (!job->net.ui.quiet)
        cli_note("%zu samples train with their labels, %zu without", job->n_rows,
                 job->n_unlabelled);
    return CLI_DONE;
}

void train_method_options(const train_job *job, scant_train_opts *opts) {
    const train_args *a = &job->args;
    opts->method = a->method;
    opts->warm = a->warm;
    if (!train_by_method(job)) return;
    opts->weight_decay = scant_or_none(a->weight_decay);
    opts->ema = scant_or_none(a->ema);
    opts->unlabelled = job->unlabelled;
    opts->n_unlabelled = job->n_unlabelled;
    opts->ssl = (scant_ssl_opts){.mu = a->mu,
                                 .weight = scant_or_none(a->unlabelled_weight),
                                 .threshold = a->threshold,
                                 .ramp = a->ramp,
                                 .darp = a->darp,
                                 .darp_target = job->darp_target,
                                 .darp_alpha = scant_or_none(a->darp_alpha),
                                 .darp_every = a->darp_every,
                                 .darp_warmup = scant_or_none(a->darp_warmup),
                                 .cut = a->cut,
                                 .noise = scant_or_none(a->noise),
                                 .drop = scant_or_none(a->drop)};
}
