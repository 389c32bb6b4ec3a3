/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant ntk`: what a network's tangent kernel says of training with samples. Everything
 * is computed before a file is written.
 */
#include "cli/ntk.h"

#include <stdlib.h>
#include <string.h>

#define AT(field) offsetof(ntk_args, field)
#define NTK_KERNEL "Kernel"
#define NTK_BESIDE "Measurements"

static const cli_flag flags[] = {
    NET_SAMPLES_FLAGS(ntk_args, samples),
    {"part", "train|test", CLI_CHOICE, AT(part), 0, 0, NET_SAMPLES,
     "of data that has two (default train)"},
    {"from", "DIR", CLI_FILE, AT(from), 0, 0, NET_NETWORK,
     "the network that 'scant train' left in DIR"},
    {"weights", "FILE", CLI_FILE, AT(model.weights), 0, 0, NET_NETWORK,
     "or a safetensors file"},
    {"model", "NAME", CLI_MODEL, AT(model.name), 0, 0, NET_NETWORK,
     "or an untrained network of that --seed; with --weights, which network they are of"},
    {"classes", "C", CLI_NUMBER, AT(classes), 1, 1 << 20, NET_NETWORK,
     "outputs of an untrained network (default: the data's classes)"},
    NET_MODEL_FLAGS(ntk_args, model),
    {"layers", "all|last", CLI_CHOICE, AT(layers), 0, 0, NTK_KERNEL,
     "by whose parameters (default all)"},
    {"full", NULL, CLI_SWITCH, AT(full), 0, 0, NTK_KERNEL,
     "a row for each sample and output, not their mean over outputs: exact for descent, "
     "but C times as many rows"},
    {"sketch", "K", CLI_NUMBER, AT(sketch), 16, 30000, NTK_KERNEL,
     "instead of the n x n matrix a K x K one of sketched gradients: for samples by the "
     "ten thousand; its error is measured and told"},
    {"lr", "ETA", CLI_POSITIVE, AT(rate), 0, 0, NTK_KERNEL,
     "rate of gradient descent on the summed loss |f - Y|^2 / 2 (default 1 / the largest "
     "eigenvalue)"},
    {"against", "IDX", CLI_ARRAY, AT(against), 0, 0, NTK_BESIDE,
     "rows of --data: how far the samples are from these, by the kernel (MMD)"},
    {"agreement", "M", CLI_NUMBER, AT(agreement), 2, 1 << 20, NTK_BESIDE,
     "Kendall's tau between alignment and training dynamics over M random sets"},
    {"start", "N", CLI_NUMBER, AT(start), 1, 1 << 20, NTK_BESIDE,
     "of --agreement: the first N samples are in all sets (default 500)"},
    {"draw", "Q", CLI_NUMBER, AT(draw), 1, 1 << 20, NTK_BESIDE,
     "and Q others are drawn for each (default 250)"},
    {"descend", "STEPS", CLI_NUMBER, AT(descend), 1, 1 << 20, NTK_BESIDE,
     "so many steps of gradient descent beside what the kernel predicts of them"},
    {"out", "STUDY.json", CLI_FILE, AT(out), 0, 0, NET_OUTPUT,
     "the numbers (default: standard output)"},
    {"page", "PAGE.html", CLI_FILE, AT(page), 0, 0, NET_OUTPUT,
     "the same as a page with charts and explanations"},
    {"kernel-out", "K.npy", CLI_FILE, AT(kernel_out), 0, 0, NET_OUTPUT,
     "the kernel matrix itself, as float64"},
    NET_MEANS_FLAGS(ntk_args, means),
};

static const cli_example examples[] = {
    {"Why do these labels train well? The kernel of a trained network:",
     "scant ntk --data pool.npy --labels y.npy --indices labelled.npy --from run --page "
     "kernel.html"},
    {"Before any training, with 20 steps of descent beside the prediction:",
     "scant ntk --data moons --count 200 --model mlp --full --descend 20 --page "
     "kernel.html"},
    {"Does alignment stand for training dynamics, as dynamicAL says?",
     "scant ntk --data fashion-mnist --indices first2000.npy --model cnn --agreement 150 "
     "--start 500 --draw 250"},
};

/* ---- the call ---------------------------------------------------------------------- */

static net_call call_of(ntk_job *job) {
    ntk_args *a = &job->args;
    return (net_call){&a->samples, &job->given, &a->model, &a->means, a->from, a->part};
}

static int check_call(ntk_job *job) {
    const ntk_args *a = &job->args;
    const cli_command *command = job->net.command;
    net_call call = call_of(job);
    if (!a->samples.spec)
        return cli_usage(command, "--data is missing: which samples the kernel is of");
    if (!a->from && !a->model.weights && !a->model.name)
        return cli_usage(command, "which network? --from DIR of a training, --weights "
                                  "FILE, or --model NAME for an untrained one");
    if (a->classes && (a->from || a->model.weights))
        return cli_usage(command,
                         "--classes is of an untrained network: this one is made "
                         "already");
    if (!a->agreement && (a->start || a->draw))
        return cli_usage(command, "--start and --draw are of --agreement, which is "
                                  "missing");
    if (a->sketch && (a->kernel_out || a->agreement || a->descend || a->against))
        return cli_usage(command,
                         "--%s needs the kernel matrix, which --sketch does "
                         "without",
                         a->kernel_out  ? "kernel-out"
                         : a->agreement ? "agreement"
                         : a->descend   ? "descend"
                                        : "against");
    return net_check_from(command, &call);
}

static int check_files(const ntk_job *job) {
    const ntk_args *a = &job->args;
    const cli_path outs[] = {
        {"out", a->out}, {"page", a->page}, {"kernel-out", a->kernel_out}};
    const cli_path ins[] = {{"data", a->samples.spec},
                            {"labels", a->samples.labels},
                            {"indices", a->samples.indices},
                            {"weights", a->model.weights},
                            {"against", a->against}};
    const cli_command *command = job->net.command;
    int status =
        cli_check_overwrites(command, outs, CLI_COUNT_OF(outs), ins, CLI_COUNT_OF(ins));
    if (status == CLI_DONE)
        status = net_check_training(command, a->from, outs, CLI_COUNT_OF(outs));
    for (size_t i = 0; i < CLI_COUNT_OF(outs) && status == CLI_DONE; i++)
        if (outs[i].path) status = cli_check_file(outs[i].path);
    return status;
}

/* ---- the network and the samples --------------------------------------------------- */

/* Scaled as a training would begin. */
static int make_network(ntk_job *job) {
    const ntk_args *a = &job->args;
    net_call call = call_of(job);
    int status = net_open_part(&job->net, &call, &job->data);
    if (status != CLI_DONE) return status;
    size_t classes = a->classes ? a->classes : scant_data_classes(job->data);
    if (!classes) {
        cli_error("%s has no labels, so --classes C must say how many outputs the "
                  "network has",
                  a->samples.spec);
        return CLI_BAD_INPUT;
    }
    scant_net_opts opts = net_options(&a->model, job->data, classes, a->means.seed);
    scant_status made =
        scant_net_create(job->net.ctx, a->model.name, &opts, &job->network);
    if (made != SCANT_OK) return net_failed(&job->net, made);
    status = net_set_scaling(&job->net, &a->model, job->network);
    if (status != CLI_DONE) return status;
    made = scant_net_fit_scaling(job->network, job->data);
    return made == SCANT_OK ? CLI_DONE : net_failed(&job->net, made);
}

/* Labels by the network's classes, where both have names. */
static int match_classes(ntk_job *job) {
    size_t n;
    const char **names = net_names(job->network, &n);
    scant_status status = names && scant_data_labels(job->data)
                              ? scant_data_renumber(job->data, names, n)
                              : SCANT_OK;
    free(names);
    return status == SCANT_OK ? CLI_DONE : net_failed(&job->net, status);
}

/* The samples that are studied, and behind them those of --against that are others. */
static int list_rows(ntk_job *job) {
    const ntk_args *a = &job->args;
    size_t *rows, *against, n_against, count = scant_data_count(job->data);
    int status = net_read_rows(&job->net, a->samples.indices, job->data, &rows, &job->n);
    if (status != CLI_DONE) {
        free(rows);
        return status;
    }
    if (!rows) {
        job->n = count;
        rows = cli_calloc(count + 1, sizeof *rows);
        for (size_t i = 0; i < count; i++) rows[i] = i;
    }
    job->rows = rows;
    job->all = job->n;
    status = net_read_rows(&job->net, a->against, job->data, &against, &n_against);
    if (status == CLI_DONE && against) {
        size_t *at = cli_calloc(count, sizeof *at); /* one more than the place */
        for (size_t i = 0; i < job->n; i++)
            if (!at[rows[i]]) at[rows[i]] = i + 1;
        job->rows = cli_grow(rows, job->n + n_against, sizeof *rows);
        job->places = cli_calloc(n_against, sizeof *job->places);
        job->n_against = n_against;
        for (size_t i = 0; i < n_against; i++) {
            if (!at[against[i]]) {
                job->rows[job->all++] = against[i];
                at[against[i]] = job->all;
            }
            job->places[i] = at[against[i]] - 1;
        }
        free(at);
    }
    free(against);
    return status;
}

static int read_labels(ntk_job *job) {
    const int32_t *labels = scant_data_labels(job->data);
    const ntk_args *a = &job->args;
    size_t labelled = 0;
    int status =
        net_check_labels(&a->samples, job->network, job->data, job->rows, job->n);
    if (status != CLI_DONE) return status;
    for (size_t i = 0; labels && i < job->n; i++) labelled += labels[job->rows[i]] >= 0;
    if (labelled < job->n && (a->descend || a->agreement)) {
        cli_error("%s: %zu of the %zu samples have no label, and --%s needs one of each",
                  a->samples.spec, job->n - labelled, job->n,
                  a->descend ? "descend" : "agreement");
        return CLI_BAD_INPUT;
    }
    if (!labelled) return CLI_DONE;
    job->labels = cli_calloc(job->n, sizeof *job->labels);
    for (size_t i = 0; i < job->n; i++) job->labels[i] = labels[job->rows[i]];
    return CLI_DONE;
}

static int open_all(ntk_job *job) {
    const ntk_args *a = &job->args;
    net_call call = call_of(job);
    int status = a->from || a->model.weights
                     ? net_open_both(&job->net, &call, &job->network, &job->data)
                     : make_network(job);
    if (status == CLI_DONE) status = match_classes(job);
    if (status == CLI_DONE) status = list_rows(job);
    if (status != CLI_DONE) return status;
    job->classes = scant_net_classes(job->network);
    job->outputs = a->full ? job->classes : 1;
    job->last_layer = a->layers && strcmp(a->layers, "last") == 0;
    return read_labels(job);
}

static int work(ntk_job *job) {
    int status = net_begin(&job->net, job->net.command, &job->args.means, NULL);
    if (status == CLI_DONE) status = check_files(job);
    if (status == CLI_DONE) status = open_all(job);
    if (status == CLI_DONE) status = ntk_check_memory(job);
    if (status == CLI_DONE) status = ntk_run(job);
    cli_ui_clear(&job->net.ui);
    if (status == CLI_DONE && job->args.kernel_out) status = ntk_write_kernel(job);
    if (status == CLI_DONE && job->args.page) status = ntk_write_page(job);
    return status == CLI_DONE ? ntk_write(job) : status;
}

static int run(const cli_command *command, int argc, char **argv) {
    ntk_job job = {.net = {.command = command}};
    cli_parsed parsed;
    int status = cli_parse(command, argc, argv, &job.args, &parsed);
    if (status == CLI_DONE && parsed.help) return cli_print_page(command);
    job.given = job.args.samples;
    if (status == CLI_DONE) status = check_call(&job);
    if (status == CLI_DONE) status = work(&job);
    ntk_run_end(&job);
    scant_net_destroy(job.network);
    scant_data_close(job.data);
    free(job.rows);
    free(job.places);
    free(job.labels);
    net_end(&job.net);
    return status;
}

const cli_command cli_cmd_ntk = {
    .name = "ntk",
    .synopsis = "--data SPEC --from DIR|--model NAME [options]",
    .summary = "what a network's tangent kernel says of training",
    .about =
        "Computes the neural tangent kernel of a network between samples (inner products "
        "of the outputs' gradients) and what theory reads from it: its spectrum, how "
        "well "
        "it is aligned with the labels, bounds of the error after training and of its "
        "course, rates of learning that are stable, and how many steps the loss takes to "
        "fall. With --descend and --agreement, the theory is measured beside.\n\n"
        "The numbers are JSON; docs/kernels.md says what each of them means. What needs "
        "labels is null where samples have none.",
    .operand = CLI_NOTHING,
    .flags = flags,
    .n_flags = CLI_COUNT_OF(flags),
    .examples = examples,
    .n_examples = CLI_COUNT_OF(examples),
    .run = run,
};
