/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant train --method`: what a method uses where no flag says else, which flags belong
 * to which, and the samples that train without labels.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/train.h"

static const scant_method_info *find(const char *name) {
    size_t n;
    const scant_method_info *const *all = scant_methods(&n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(all[i]->name, name) == 0) return all[i];
    return NULL;
}

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

/* A training that goes on has all of it in train.json. */
void train_settle_method(train_job *job) {
    train_args *a = &job->args;
    const scant_method_info *info = find(a->method);
    if (!info || !train_by_method(job) || job->args.resume) return;
    const scant_train_opts *usual = &info->usual;
    bool own = strcmp(a->optimizer, usual->optimizer) == 0;
    if (!train_given(job, "optimizer")) {
        own = true;
        a->optimizer = usual->optimizer;
        if (!train_given(job, "momentum") && usual->nesterov) a->nesterov = true;
    }
    if (!train_given(job, "lr") && own) a->lr = usual->lr;
    if (!train_given(job, "schedule")) a->schedule = usual->schedule;
    if (!train_given(job, "batch")) a->batch = usual->batch;
    if (!train_given(job, "ema")) a->ema = usual->ema > 0 ? usual->ema : 0;
    if (!train_given(job, "weight-decay"))
        a->weight_decay = usual->weight_decay > 0 ? usual->weight_decay : 0;
    if (usual->decay_weights_only && a->weight_decay > 0) a->decay_weights_only = true;
    if (!train_given(job, "mu")) a->mu = usual->ssl.mu;
    if (!train_given(job, "unlabelled-weight")) a->unlabelled_weight = usual->ssl.weight;
    if (!train_given(job, "threshold")) a->threshold = usual->ssl.threshold;
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
    scant_array_close(array);
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

/* Where a training's own zero is meant, the library wants less than that. */
static double or_none(double value) { return value > 0 ? value : -1; }

void train_method_options(const train_job *job, scant_train_opts *opts) {
    const train_args *a = &job->args;
    opts->method = a->method;
    opts->warm = a->warm;
    if (!train_by_method(job)) return;
    opts->weight_decay = or_none(a->weight_decay);
    opts->ema = or_none(a->ema);
    opts->unlabelled = job->unlabelled;
    opts->n_unlabelled = job->n_unlabelled;
    opts->ssl = (scant_ssl_opts){.mu = a->mu,
                                 .weight = or_none(a->unlabelled_weight),
                                 .threshold = a->threshold,
                                 .ramp = a->ramp,
                                 .darp = a->darp,
                                 .darp_target = job->darp_target,
                                 .darp_alpha = or_none(a->darp_alpha),
                                 .darp_every = a->darp_every,
                                 .darp_warmup = or_none(a->darp_warmup),
                                 .cut = a->cut,
                                 .noise = or_none(a->noise),
                                 .drop = or_none(a->drop)};
}
