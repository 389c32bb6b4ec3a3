/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant ntk`: what a tangent kernel says of training with samples: a network's own, or
 * the closed form of infinitely wide ones. Everything is computed before a file is
 * written.
 */
#include "cli/ntk.h"
#include "scant/study.h"

#include <stdlib.h>
#include <string.h>

#define AT(field) offsetof(ntk_args, field)
#define NTK_KERNEL "Kernel"
#define NTK_BESIDE "Measurements"
#define NTK_FIT "Regression"

static const cli_flag flags[] = {
    NET_SAMPLES_FLAGS(ntk_args, samples),
    {"regression", NULL, CLI_SWITCH, AT(samples.regression), 0, 0, NET_SAMPLES,
     "labels are numbers, not classes (with --from, the network says so)"},
    {"part", "train|test", CLI_CHOICE, AT(part), 0, 0, NET_SAMPLES,
     "of data that has two (default train)"},
    {"from", "DIR", CLI_FILE, AT(from), 0, 0, NET_NETWORK,
     "the network that 'scant train' left in DIR"},
    {"weights", "FILE", CLI_FILE, AT(model.weights), 0, 0, NET_NETWORK,
     "or a safetensors file"},
    {"model", "NAME", CLI_MODEL, AT(model.name), 0, 0, NET_NETWORK,
     "or an untrained network of that --seed; with --weights, which network they are of"},
    {"classes", "C", CLI_NUMBER, AT(classes), 1, 1 << 20, NET_NETWORK,
     "outputs of an untrained network (default: the data's classes; of numbers 1)"},
    NET_MODEL_FLAGS(ntk_args, model),
    {"kernel", "ntk:depth=K", CLI_WORD, AT(kernel), 0, 0, NTK_KERNEL,
     "instead of the network's own that of an infinitely wide one with K layers of "
     "rectifiers (1 to 100), in closed form, over the network's features; where no "
     "network is named, over the samples themselves"},
    {"bias", NULL, CLI_SWITCH, AT(bias), 0, 0, NTK_KERNEL,
     "of --kernel: a 1 after each row of features, which gives that network's first "
     "layer biases; without, its outputs double where a row does"},
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
    {"fit", NULL, CLI_SWITCH, AT(fit), 0, 0, NTK_FIT,
     "fit the labels with the kernel, and tell how well that predicts other samples"},
    {"ridge", "R", CLI_AMOUNT, AT(ridge), 0, SIZE_MAX, NTK_FIT,
     "added to the kernel's diagonal (default 0: every label is met)"},
    {"test", "SPEC", CLI_FILE, AT(test), 0, 0, NTK_FIT,
     "the other samples (default: the data's own part to test with)"},
    {"test-labels", "FILE", CLI_ARRAY, AT(test_labels), 0, 0, NTK_FIT,
     "labels of --test"},
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
    {"What would an infinitely wide network learn from 200 labels?",
     "scant ntk --data moons --count 200 --kernel ntk:depth=2 --bias --fit"},
};

/* ---- the call ---------------------------------------------------------------------- */

static net_call call_of(ntk_job *job) {
    ntk_args *a = &job->args;
    return (net_call){&a->samples, &job->given, &a->model, &a->means, a->from, a->part};
}

static bool names_network(const ntk_args *a) {
    return a->from || a->model.weights || a->model.name;
}

/* --kernel is of no network: what is done with a network's gradients is not there. */
static int check_kernel(const ntk_job *job) {
    const ntk_args *a = &job->args;
    const cli_command *command = job->net.command;
    const char *flag = a->layers    ? "layers"
                       : a->full    ? "full"
                       : a->sketch  ? "sketch"
                       : a->descend ? "descend"
                                    : NULL;
    if (!a->kernel && a->bias)
        return cli_usage(command, "--bias is of --kernel, which is missing");
    if (!a->kernel) return CLI_DONE;
    if (flag)
        return cli_usage(command,
                         "--%s is of a network's own kernel, and --kernel takes another "
                         "one, which has no layers, one row a sample and no weights",
                         flag);
    if (names_network(a)) return CLI_DONE;
    if (a->agreement)
        return cli_usage(command, "--agreement is of a network: from outputs of 0 "
                                  "dynamics are the alignment itself");
    flag = a->classes         ? "classes"
           : a->model.bayes   ? "bayes"
           : a->model.samples ? "samples"
                              : net_option_of(&a->model);
    if (flag && strcmp(flag, "mean") && strcmp(flag, "deviation"))
        return cli_usage(command, "--%s is of a network, and none is named", flag);
    return CLI_DONE;
}

static int check_fit(const ntk_job *job) {
    const ntk_args *a = &job->args;
    const cli_command *command = job->net.command;
    if (!a->fit && (a->test || a->test_labels || a->ridge > 0))
        return cli_usage(command, "--%s is of --fit, which is missing",
                         a->test          ? "test"
                         : a->test_labels ? "test-labels"
                                          : "ridge");
    if (a->test_labels && !a->test)
        return cli_usage(command, "--test-labels are those of --test, which is missing");
    bool same = !a->test || (a->samples.spec && strcmp(a->test, a->samples.spec) == 0);
    if (a->fit && same && a->part && strcmp(a->part, "test") == 0)
        return cli_usage(command, "--part test fits the samples that it would be judged "
                                  "by: --test names others");
    return CLI_DONE;
}

/* --sketch is instead of a matrix. */
static int check_sketch(const ntk_job *job) {
    const ntk_args *a = &job->args;
    const char *flag = a->kernel_out  ? "kernel-out"
                       : a->agreement ? "agreement"
                       : a->descend   ? "descend"
                       : a->against   ? "against"
                       : a->fit       ? "fit"
                                      : NULL;
    if (!a->sketch || !flag) return CLI_DONE;
    return cli_usage(job->net.command,
                     "--%s needs the kernel matrix, which --sketch does without", flag);
}

static int check_call(ntk_job *job) {
    const ntk_args *a = &job->args;
    const cli_command *command = job->net.command;
    net_call call = call_of(job);
    if (!a->samples.spec)
        return cli_usage(command, "--data is missing: which samples the kernel is of");
    if (!names_network(a) && !a->kernel)
        return cli_usage(command, "which network? --from DIR of a training, --weights "
                                  "FILE, or --model NAME for an untrained one; --kernel "
                                  "ntk:depth=K needs none");
    if (a->classes && (a->from || a->model.weights))
        return cli_usage(command,
                         "--classes is of an untrained network: this one is made "
                         "already");
    if (!a->agreement && (a->start || a->draw))
        return cli_usage(command, "--start and --draw are of --agreement, which is "
                                  "missing");
    int status = check_kernel(job);
    if (status == CLI_DONE) status = check_sketch(job);
    if (status == CLI_DONE) status = check_fit(job);
    return status == CLI_DONE ? net_check_from(command, &call) : status;
}

static int check_files(const ntk_job *job) {
    const ntk_args *a = &job->args;
    const cli_path outs[] = {
        {"out", a->out}, {"page", a->page}, {"kernel-out", a->kernel_out}};
    const cli_path ins[] = {
        {"data", a->samples.spec},       {"labels", a->samples.labels},
        {"indices", a->samples.indices}, {"weights", a->model.weights},
        {"against", a->against},         {"test", a->test},
        {"test-labels", a->test_labels}};
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

/* An untrained network for the samples, scaled as a training would begin. */
static int create(ntk_job *job, const char *model, size_t classes, scant_net **out) {
    const ntk_args *a = &job->args;
    scant_net_opts opts = net_options(&a->model, job->data, classes, a->means.seed);
    scant_status made = scant_net_create(job->net.ctx, model, &opts, out);
    if (made != SCANT_OK) return net_failed(&job->net, made);
    int status = net_set_scaling(&job->net, &a->model, *out);
    if (status != CLI_DONE) return status;
    made = scant_net_fit_scaling(*out, job->data);
    return made == SCANT_OK ? CLI_DONE : net_failed(&job->net, made);
}

static int make_network(ntk_job *job) {
    const ntk_args *a = &job->args;
    net_call call = call_of(job);
    int status = net_open_part(&job->net, &call, &job->data);
    if (status != CLI_DONE) return status;
    size_t classes = a->classes                      ? a->classes
                     : scant_data_targets(job->data) ? 1
                                                     : scant_data_classes(job->data);
    if (!a->model.name) {
        job->classes = classes;
        return create(job, "linear", 1, &job->reader);
    }
    if (!classes) {
        cli_error("%s has no labels, so --classes C must say how many outputs the "
                  "network has",
                  a->samples.spec);
        return CLI_BAD_INPUT;
    }
    return create(job, a->model.name, classes, &job->network);
}

/* Labels by the network's classes, where both have names. */
static int match_classes(ntk_job *job) {
    size_t n;
    if (!job->network) return CLI_DONE;
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

/* Of draws the kernel says nothing: it is of the network without them. */
static int check_draws(const ntk_job *job) {
    const ntk_args *a = &job->args;
    const char *flag = a->descend     ? "descend"
                       : a->agreement ? "agreement"
                       : a->fit       ? "fit"
                                      : NULL;
    if (job->depth || !job->network || scant_net_draws(job->network) == 1 || !flag)
        return CLI_DONE;
    return cli_usage(
        job->net.command,
        "--%s goes by what a network says, and this one says %zu things of a "
        "sample (--bayes), while its kernel is of the weights' means",
        flag, scant_net_draws(job->network));
}

static int read_labels(ntk_job *job) {
    const int32_t *labels = scant_data_labels(job->data);
    const ntk_args *a = &job->args;
    size_t labelled = 0;
    int status = job->network ? net_check_labels(&a->samples, job->network, job->data,
                                                 job->rows, job->n)
                              : CLI_DONE;
    bool fits = a->fit && !scant_data_targets(job->data);
    if (status != CLI_DONE) return status;
    for (size_t i = 0; labels && i < job->n; i++) labelled += labels[job->rows[i]] >= 0;
    if (labelled < job->n && (a->descend || a->agreement || fits)) {
        cli_error("%s: %zu of the %zu samples have no label, and --%s needs one of each",
                  a->samples.spec, job->n - labelled, job->n,
                  a->descend     ? "descend"
                  : a->agreement ? "agreement"
                                 : "fit");
        return CLI_BAD_INPUT;
    }
    if (!labelled) return CLI_DONE;
    job->labels = cli_calloc(job->n, sizeof *job->labels);
    for (size_t i = 0; i < job->n; i++) job->labels[i] = labels[job->rows[i]];
    return CLI_DONE;
}

/* What regression is judged by. */
static int open_test(ntk_job *job) {
    const ntk_args *a = &job->args;
    bool numbers = scant_data_targets(job->data) != NULL;
    if (!a->fit) return CLI_DONE;
    if (numbers && job->classes != 1) {
        cli_error("%s has one number to predict a sample, but the network %zu outputs",
                  a->samples.spec, job->classes);
        return CLI_BAD_INPUT;
    }
    job->test = (net_test){.spec = a->test, .labels = a->test_labels};
    int status = net_open_test(&job->net, &a->samples, &a->means, job->data, &job->test);
    if (status != CLI_DONE) return status;
    if (!job->test.data) {
        cli_error("%s has no part to test with: --test SPEC names samples that --fit is "
                  "judged by",
                  a->samples.spec);
        return CLI_BAD_INPUT;
    }
    if (numbers != (scant_data_targets(job->test.data) != NULL)) {
        cli_error("%s has %s, but %s %s", a->test, numbers ? "classes" : "numbers",
                  a->samples.spec, numbers ? "numbers" : "classes");
        return CLI_BAD_INPUT;
    }
    return net_check_test(&job->test, job->network ? job->network : job->reader,
                          job->classes);
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
    if (job->network) job->classes = scant_net_classes(job->network);
    if (!job->reader) job->reader = job->network;
    job->outputs = a->full ? job->classes : 1;
    job->last_layer = a->layers && strcmp(a->layers, "last") == 0;
    status = check_draws(job);
    if (status == CLI_DONE) status = read_labels(job);
    return status == CLI_DONE ? open_test(job) : status;
}

static int read_kernel(ntk_job *job) {
    if (!job->args.kernel) return CLI_DONE;
    scant_status status = scant_kernel_parse(job->net.ctx, job->args.kernel, &job->depth);
    return status == SCANT_OK ? CLI_DONE : net_failed(&job->net, status);
}

static int work(ntk_job *job) {
    int status = net_begin(&job->net, job->net.command, &job->args.means, NULL);
    if (status == CLI_DONE) status = read_kernel(job);
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
    if (job.reader != job.network) scant_net_free(job.reader);
    scant_net_free(job.network);
    scant_data_free(job.data);
    scant_data_free(job.test.data);
    free(job.test.rows);
    free(job.rows);
    free(job.places);
    free(job.labels);
    net_end(&job.net);
    return status;
}

const cli_command cli_cmd_ntk = {
    .name = "ntk",
    .synopsis = "--data SPEC --from DIR|--model NAME|--kernel ntk:depth=K [options]",
    .summary = "what a network's tangent kernel says of training",
    .about =
        "Computes the neural tangent kernel of a network between samples (inner products "
        "of the outputs' gradients) and what theory reads from it: its spectrum, how "
        "well it is aligned with the labels, bounds of the error after training and of "
        "its course, rates of learning that are stable, and how many steps the loss "
        "takes to fall. With --descend and --agreement, the theory is measured beside. "
        "--kernel takes the kernel of an infinitely wide network instead; --fit predicts "
        "with either.\n\n"
        "The numbers are JSON; docs/kernels.md says what each of them means. What needs "
        "labels is null where samples have none.",
    .operand = CLI_NOTHING,
    .flags = flags,
    .n_flags = CLI_COUNT_OF(flags),
    .examples = examples,
    .n_examples = CLI_COUNT_OF(examples),
    .run = run,
};
