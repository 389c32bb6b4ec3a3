/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant ntk`: a tangent kernel and its predictions about training. The kernel is a
 * network's own, or the closed form for infinitely wide networks. Nothing is written
 * before everything is computed.
 */
#include "cli/ntk.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define AT(field) offsetof(ntk_args, field)
#define NTK_KERNEL "Kernel"
#define NTK_BESIDE "Measurements"
#define NTK_FIT "Regression"

static const scant_option flags[] = {
    OPT_CHOICE("part", "train|test", NULL, AT(part), NET_SAMPLES,
               "of data that has two (default train)"),
    OPT_FILE("from", "DIR", AT(from), NET_NETWORK,
             "the network that 'scant train' left in DIR"),
    OPT_FILE("weights", "FILE", AT(model.weights), NET_NETWORK, "or a safetensors file"),
    OPT_NAME("model", "NAME", cli_model_name, NULL, AT(model.name), NET_NETWORK,
             "or an untrained network of that --seed; with --weights, which network they "
             "are of"),
    OPT_COUNT(
        "classes", "C", NULL, AT(classes), 1, 1 << 20, NET_NETWORK,
        "outputs of an untrained network (default: the data's classes; of numbers 1)"),
    OPT_TEXT(
        "kernel", "ntk:depth=K", NULL, AT(kernel), NTK_KERNEL,
        "instead of the network's own that of an infinitely wide one with K layers of "
        "rectifiers (1 to 100), in closed form, over the network's features; where no "
        "network is named, over the samples themselves"),
    OPT_SWITCH(
        "bias", NULL, AT(bias), NTK_KERNEL,
        "of --kernel: a 1 after each row of features, which gives that network's first "
        "layer biases; without, its outputs double where a row does"),
    OPT_CHOICE("layers", "all|last", NULL, AT(layers), NTK_KERNEL,
               "by whose parameters (default all)"),
    OPT_SWITCH("full", NULL, AT(full), NTK_KERNEL,
               "a row for each sample and output, not their mean over outputs: exact for "
               "descent, "
               "but C times as many rows"),
    OPT_COUNT("sketch", "K", NULL, AT(sketch), 16, 30000, NTK_KERNEL,
              "instead of the n x n matrix a K x K one of sketched gradients: for "
              "samples by the "
              "ten thousand; its error is measured and told"),
    OPT_NUMBER("lr", "ETA", NULL, AT(rate), 0, INFINITY, SCANT_OPEN_BOTH, NTK_KERNEL,
               "rate of gradient descent on the summed loss |f - Y|^2 / 2 (default 1 / "
               "the largest "
               "eigenvalue)"),
    OPT_ARRAY("against", "IDX", AT(against), NTK_BESIDE,
              "rows of --data: how far the samples are from these, by the kernel (MMD)"),
    OPT_COUNT("agreement", "M", NULL, AT(agreement), 2, 1 << 20, NTK_BESIDE,
              "Kendall's tau between alignment and training dynamics over M random sets"),
    OPT_COUNT("start", "N", NULL, AT(start), 1, 1 << 20, NTK_BESIDE,
              "of --agreement: the first N samples are in all sets (default 500)"),
    OPT_COUNT("draw", "Q", NULL, AT(draw), 1, 1 << 20, NTK_BESIDE,
              "and Q others are drawn for each (default 250)"),
    OPT_COUNT(
        "descend", "STEPS", NULL, AT(descend), 1, 1 << 20, NTK_BESIDE,
        "so many steps of gradient descent beside what the kernel predicts of them"),
    OPT_SWITCH(
        "fit", NULL, AT(fit), NTK_FIT,
        "fit the labels with the kernel, and tell how well that predicts other samples"),
    OPT_NUMBER("ridge", "R", NULL, AT(ridge), 0, INFINITY, SCANT_OPEN_MAX, NTK_FIT,
               "added to the kernel's diagonal (default 0: every label is met)"),
    OPT_FILE("test", "SPEC", AT(test), NTK_FIT,
             "the other samples (default: the data's own part to test with)"),
    OPT_ARRAY("test-labels", "FILE", AT(test_labels), NTK_FIT, "labels of --test"),
    OPT_FILE("out", "STUDY.json", AT(out), NET_OUTPUT,
             "the numbers (default: standard output)"),
    OPT_FILE("page", "PAGE.html", AT(page), NET_OUTPUT,
             "the same as a page with charts and explanations"),
    OPT_FILE("kernel-out", "K.npy", AT(kernel_out), NET_OUTPUT,
             "the kernel matrix itself, as float64"),
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

static int failed(ntk_job *job, scant_status status) {
    return status == SCANT_OK ? CLI_DONE : net_failed(&job->net, status);
}

static net_call call_of(ntk_job *job) {
    ntk_args *a = &job->args;
    return (net_call){&a->samples, &job->given, &a->model, &a->means, a->from, a->part};
}

static bool names_network(const ntk_args *a) {
    return a->from || a->model.weights || a->model.name;
}

/* --kernel replaces the network's own kernel, and the options of that. */
static int check_kernel(const ntk_job *job) {
    const ntk_args *a = &job->args;
    const cli_command *command = job->net.command;
    const char *flag = a->layers    ? "layers"
                       : a->full    ? "full"
                       : a->sketch  ? "sketch"
                       : a->descend ? "descend"
                                    : NULL;
    if (!a->kernel && a->bias) return cli_usage(command, "--bias needs --kernel");
    if (!a->kernel) return CLI_DONE;
    if (flag)
        return cli_usage(command,
                         "--%s cannot be combined with --kernel, whose kernel has no "
                         "layers, one row for each sample and no weights",
                         flag);
    if (names_network(a)) return CLI_DONE;
    if (a->agreement)
        return cli_usage(command, "--agreement needs a network: from outputs of 0 the "
                                  "dynamics equal the alignment");
    flag = a->classes              ? "classes"
           : a->model.opts.bayes   ? "bayes"
           : a->model.opts.samples ? "samples"
                                   : net_option_of(&a->model);
    if (flag && strcmp(flag, "mean") && strcmp(flag, "deviation"))
        return cli_usage(command, "--%s needs a network: --from, --weights or --model",
                         flag);
    return CLI_DONE;
}

static int check_fit(const ntk_job *job) {
    const ntk_args *a = &job->args;
    const cli_command *command = job->net.command;
    if (!a->fit && (a->test || a->test_labels || a->ridge > 0))
        return cli_usage(command, "--%s needs --fit",
                         a->test          ? "test"
                         : a->test_labels ? "test-labels"
                                          : "ridge");
    if (a->test_labels && !a->test)
        return cli_usage(command, "--test-labels needs --test");
    bool same = !a->test || (a->samples.spec && strcmp(a->test, a->samples.spec) == 0);
    if (a->fit && same && a->part && strcmp(a->part, "test") == 0)
        return cli_usage(command,
                         "--part test would fit the samples that it is evaluated "
                         "on: name others with --test");
    return CLI_DONE;
}

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
                     "--%s needs the kernel matrix, which --sketch does not compute",
                     flag);
}

static int check_call(ntk_job *job) {
    const ntk_args *a = &job->args;
    const cli_command *command = job->net.command;
    net_call call = call_of(job);
    if (!a->samples.spec)
        return cli_usage(command, "--data is missing: the samples of the kernel");
    if (!names_network(a) && !a->kernel)
        return cli_usage(command, "which network? --from DIR of a training, --weights "
                                  "FILE, or --model NAME for an untrained one; --kernel "
                                  "ntk:depth=K needs none");
    if (a->classes && (a->from || a->model.weights))
        return cli_usage(command,
                         "--classes is for an untrained network, and this one has its "
                         "classes");
    if (!a->agreement && (a->start || a->draw))
        return cli_usage(command, "--start and --draw need --agreement");
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
        {"data", a->samples.spec},       {"labels", a->samples.opts.labels},
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

/* An untrained network for the samples, with the input scaling of a training. */
static int create(ntk_job *job, const char *model, size_t classes, scant_net **out) {
    const ntk_args *a = &job->args;
    scant_net_opts opts = net_options(&a->model, job->data, classes, a->means.seed);
    scant_status made = scant_net_create(job->net.ctx, model, &opts, out);
    if (made != SCANT_OK) return net_failed(&job->net, made);
    int status = net_set_scaling(&job->net, &a->model, *out);
    if (status != CLI_DONE) return status;
    made = scant_net_fit_scaling(*out, job->data);
    return failed(job, made);
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

/* Numbers labels by the network's classes if both have names. */
static int match_classes(ntk_job *job) {
    size_t n;
    if (!job->network) return CLI_DONE;
    const char **names = net_names(job->network, &n);
    scant_status status = names && scant_data_labels(job->data)
                              ? scant_data_renumber(job->data, names, n)
                              : SCANT_OK;
    free(names);
    return failed(job, status);
}

/* Lists the samples to study, and after them the others of --against. */
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
        size_t *at = cli_calloc(count, sizeof *at); /* place + 1 */
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

/* The kernel is of the mean weights, so it does not predict outputs of posterior draws.
 */
static int check_draws(const ntk_job *job) {
    const ntk_args *a = &job->args;
    const char *flag = a->descend     ? "descend"
                       : a->agreement ? "agreement"
                       : a->fit       ? "fit"
                                      : NULL;
    if (a->kernel || !job->network || scant_net_draws(job->network) == 1 || !flag)
        return CLI_DONE;
    return cli_usage(
        job->net.command,
        "--%s uses the network's outputs, and this network has %zu posterior draws "
        "(--bayes), while its kernel is of the mean weights",
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

/* Opens the test samples of --fit. */
static int open_test(ntk_job *job) {
    const ntk_args *a = &job->args;
    bool numbers = scant_data_targets(job->data) != NULL;
    if (!a->fit) return CLI_DONE;
    if (numbers && job->classes != 1) {
        cli_error("%s has one target for each sample, but the network has %zu outputs",
                  a->samples.spec, job->classes);
        return CLI_BAD_INPUT;
    }
    job->test = (net_test){.spec = a->test, .labels = a->test_labels};
    int status = net_open_test(&job->net, &a->samples, &a->means, job->data, &job->test);
    if (status != CLI_DONE) return status;
    if (!job->test.data) {
        cli_error("%s has no test part: name the test samples of --fit with --test SPEC",
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
    status = check_draws(job);
    if (status == CLI_DONE) status = read_labels(job);
    return status == CLI_DONE ? open_test(job) : status;
}

/* ---- the run ----------------------------------------------------------------------- */

static int set_options(ntk_job *job) {
    const ntk_args *a = &job->args;
    job->opts =
        (scant_lab_opts){.net = job->network,
                         .reader = job->reader,
                         .data = job->data,
                         .rows = job->rows,
                         .n = job->n,
                         .all = job->all,
                         .labels = job->labels,
                         .classes = job->classes,
                         .bias = a->bias,
                         .last_layer = a->layers && strcmp(a->layers, "last") == 0,
                         .full = a->full,
                         .sketch = a->sketch,
                         .rate = a->rate,
                         .seed = a->means.seed,
                         .against = job->places,
                         .n_against = job->n_against,
                         .sets = a->agreement,
                         .start = a->start,
                         .draw = a->draw,
                         .steps = a->descend,
                         .fit = a->fit,
                         .ridge = a->ridge,
                         .test = job->test.data,
                         .test_rows = job->test.rows,
                         .n_test = job->test.n};
    if (!a->kernel) return CLI_DONE;
    return failed(job, scant_kernel_parse(job->net.ctx, a->kernel, &job->opts.depth));
}

/* An alternative to suggest, unless the call needs the matrix. */
static const char *instead(const ntk_job *job) {
    const ntk_args *a = &job->args;
    bool needed = a->kernel_out || a->agreement || a->descend || a->against || a->fit;
    return a->kernel || needed ? "" : ", or use --sketch, which needs no matrix";
}

/* The most samples that fit into the memory. */
static size_t most_samples(const ntk_job *job, double cap) {
    size_t low = 0, high = job->n; /* low fits, high does not */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (scant_lab_memory(job->net.ctx, &job->opts, middle) <= cap)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static int check_memory(const ntk_job *job) {
    const ntk_args *a = &job->args;
    scant_ctx *ctx = job->net.ctx;
    double cap = (double)scant_ctx_memory(ctx);
    double need = scant_lab_memory(ctx, &job->opts, job->n);
    const double mega = 1 << 20;
    size_t most = SCANT_STUDY_ROWS / (a->full ? job->classes : 1);
    const char *all = a->full && job->classes > 1 ? " and all their outputs" : "";
    if (!a->sketch && job->n > most) {
        cli_error("a kernel has at most %d rows, that is %zu samples%s, and there are "
                  "%zu: choose some with --indices%s",
                  SCANT_STUDY_ROWS, most, all, job->n, instead(job));
        return CLI_SYSTEM;
    }
    if (need <= cap) return CLI_DONE;
    size_t fit = most_samples(job, cap);
    if (a->sketch)
        cli_error("a sketch of %zu numbers needs %.0f MB, and --memory allows %.0f: use "
                  "fewer numbers",
                  a->sketch, need / mega, cap / mega);
    else if (!fit)
        cli_error("the kernel of one sample%s needs %.0f MB, and --memory allows %.0f: "
                  "allow more%s",
                  all, scant_lab_memory(ctx, &job->opts, 1) / mega, cap / mega,
                  a->kernel ? ", or use fewer --threads" : "");
    else
        cli_error("the kernel of %zu samples%s needs %.0f MB, and --memory allows %.0f: "
                  "%zu samples fit; choose them with --indices%s",
                  job->n, all, need / mega, cap / mega, fit, instead(job));
    return CLI_SYSTEM;
}

static int work(ntk_job *job) {
    int status = net_begin(&job->net, job->net.command, &job->args.means, NULL);
    size_t depth;
    if (status == CLI_DONE && job->args.kernel) /* before the samples are read */
        status = failed(job, scant_kernel_parse(job->net.ctx, job->args.kernel, &depth));
    if (status == CLI_DONE) status = check_files(job);
    if (status == CLI_DONE) status = open_all(job);
    if (status == CLI_DONE) status = set_options(job);
    if (status == CLI_DONE) status = check_memory(job);
    if (status == CLI_DONE)
        status = failed(job, scant_lab_run(job->net.ctx, &job->opts, &job->lab));
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
    if (job.lab) scant_lab_free(job.net.ctx, job.lab);
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
    .summary = "study a network's tangent kernel, and what it predicts of training",
    .about =
        "Computes the neural tangent kernel of a network between samples (inner products "
        "of the outputs' gradients) and what theory derives from it: its spectrum, its "
        "alignment with the labels, bounds on the error during and after training, "
        "stable "
        "learning rates, and the number of steps until the loss has fallen. --descend "
        "and "
        "--agreement measure how well the theory predicts training. --kernel uses the "
        "kernel of an infinitely wide network instead; --fit predicts with either.\n\n"
        "The numbers are JSON; docs/kernels.md explains each of them. Numbers that need "
        "labels are null if samples have none.",
    .operand = CLI_NOTHING,
    .tables = {NET_SAMPLES_FLAGS(ntk_args, samples), CLI_FLAGS(flags),
               NET_MODEL_FLAGS(ntk_args, model), NET_MEANS_FLAGS(ntk_args, means)},
    .examples = examples,
    .n_examples = CLI_COUNT_OF(examples),
    .run = run,
};
