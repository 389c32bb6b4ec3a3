/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant ntk`: a tangent kernel and its predictions about training. The kernel is a
 * network's own, or the closed form for infinitely wide networks. Nothing is written
 * before everything is computed.
 */
#include "cli/ntk.h"

#include <math.h>

#define AT(field) offsetof(ntk_args, field)
#define NTK_KERNEL "Kernel"
#define NTK_MEASUREMENTS "Measurements"
#define NTK_FIT "Regression"

static const scant_option flags[] = {
    OPT_NAME("model", "NAME", cli_model_name, NULL, AT(net.model), NET_NETWORK,
             "an untrained network with random weights (--seed); with --weights: the "
             "model of that file"),
    OPT_COUNT(
        "classes", "C", NULL, AT(lab.classes), 1, 1 << 20, NET_NETWORK,
        "outputs of an untrained network (default: the data's classes; regression: 1)"),
    OPT_TEXT(
        "kernel", "ntk:depth=K", NULL, AT(kernel), NTK_KERNEL,
        "the kernel of an infinitely wide network with K layers of rectifiers (1 to "
        "100), "
        "in closed form, over the features of the named network, else over the samples"),
    OPT_SWITCH(
        "bias", NULL, AT(bias), NTK_KERNEL,
        "with --kernel: append a 1 to each feature row, which gives the first layer "
        "biases"),
    OPT_CHOICE("layers", "all|last", NULL, AT(layers), NTK_KERNEL,
               "the parameters of the gradients (default all)"),
    OPT_SWITCH("full", NULL, AT(full), NTK_KERNEL,
               "a row for each sample and output, not the mean over outputs: exact for "
               "descent, but C times as many rows"),
    OPT_COUNT(
        "sketch", "K", NULL, AT(lab.sketch), 16, 30000, NTK_KERNEL,
        "a K x K matrix of sketched gradients instead of the n x n matrix, for tens "
        "of thousands of samples; the error is measured"),
    OPT_NUMBER("lr", "ETA", NULL, AT(lab.rate), 0, INFINITY, SCANT_OPEN_BOTH, NTK_KERNEL,
               "rate of gradient descent on the summed loss |f - Y|^2 / 2 (default 1 / "
               "the largest eigenvalue)"),
    OPT_ARRAY(
        "against", "IDX", AT(against), NTK_MEASUREMENTS,
        "rows of --data: the distance of the samples from these by the kernel (MMD)"),
    OPT_SWITCH("infinite", NULL, AT(infinite), NTK_MEASUREMENTS,
               "compare the kernel of an mlp with that of the infinitely wide one; its "
               "weights must be those of --init he"),
    OPT_COUNT("agreement", "M", NULL, AT(lab.sets), 2, 1 << 20, NTK_MEASUREMENTS,
              "Kendall's tau between alignment and training dynamics over M random sets"),
    OPT_COUNT("start", "N", NULL, AT(lab.start), 1, 1 << 20, NTK_MEASUREMENTS,
              "with --agreement: the first N samples are in all sets (default 500)"),
    OPT_COUNT("draw", "Q", NULL, AT(lab.draw), 1, 1 << 20, NTK_MEASUREMENTS,
              "with --agreement: Q others are drawn for each set (default 250)"),
    OPT_COUNT("descend", "STEPS", NULL, AT(lab.steps), 1, 1 << 20, NTK_MEASUREMENTS,
              "steps of gradient descent, compared with the kernel's prediction"),
    OPT_SWITCH("fit", NULL, AT(fit), NTK_FIT,
               "fit the labels with the kernel, and evaluate the fit on test samples"),
    OPT_NUMBER("ridge", "R", NULL, AT(lab.ridge), 0, INFINITY, SCANT_OPEN_MAX, NTK_FIT,
               "added to the kernel's diagonal (default 0: the fit meets every label)"),
    OPT_FILE("test", "SPEC", AT(test.spec), NTK_FIT,
             "the test samples (default: the data's own test part)"),
    OPT_ARRAY("test-labels", "FILE", AT(test.labels), NTK_FIT, "labels of --test"),
    OPT_FILE("out", "STUDY.json", AT(out), NET_OUTPUT,
             "the numbers (default: standard output)"),
    OPT_FILE("page", "PAGE.html", AT(page), NET_OUTPUT,
             "the same as a page with charts and explanations"),
    OPT_FILE("kernel-out", "K.npy", AT(kernel_out), NET_OUTPUT,
             "the kernel matrix itself, as float64"),
};

/* ---- checking flags ---------------------------------------------------------------- */

static bool names_network(const ntk_args *a) {
    return a->net.from || a->net.weights || a->net.model;
}

/* Checks that flags of the network's own kernel are not combined with --kernel. */
static void check_kernel(const cli_command *command, const ntk_args *a) {
    const char *flag = a->layers       ? "layers"
                       : a->full       ? "full"
                       : a->lab.sketch ? "sketch"
                       : a->lab.steps  ? "descend"
                       : a->infinite   ? "infinite"
                                       : NULL;
    if (!a->kernel && a->bias) cli_usage(command, "--bias needs --kernel");
    if (!a->kernel) return;
    if (flag)
        cli_usage(command,
                  "--%s cannot be combined with --kernel: that kernel has no layers and "
                  "no weights, and one row per sample",
                  flag);
    if (names_network(a)) return;
    if (a->lab.sets)
        cli_usage(command, "--agreement needs a network: without one all outputs are 0, "
                           "and dynamics and alignment are the same number");
    flag = a->lab.classes     ? "classes"
           : a->net.net.bayes ? "bayes"
           : a->net.net.draws ? "samples"
                              : net_option_of(&a->net);
    if (flag && !net_is(flag, "mean") && !net_is(flag, "deviation"))
        cli_usage(command, "--%s needs a network: --from, --weights or --model", flag);
}

static void check_fit(const cli_command *command, const ntk_args *a) {
    const char *flag = a->test.spec       ? "test"
                       : a->test.labels   ? "test-labels"
                       : a->lab.ridge > 0 ? "ridge"
                                          : NULL;
    if (!a->fit && flag) cli_usage(command, "--%s needs --fit", flag);
    if (a->test.labels && !a->test.spec) cli_usage(command, "--test-labels needs --test");
    bool same = !a->test.spec || net_is(a->test.spec, a->net.data);
    if (a->fit && same && net_is(a->net.part, "test"))
        cli_usage(command, "--part test would fit the samples that it is evaluated on: "
                           "name others with --test");
}

/* Returns the first flag that needs the kernel matrix; NULL: none. */
static const char *needs_matrix(const ntk_args *a) {
    return a->kernel_out  ? "kernel-out"
           : a->lab.sets  ? "agreement"
           : a->lab.steps ? "descend"
           : a->against   ? "against"
           : a->infinite  ? "infinite"
           : a->fit       ? "fit"
                          : NULL;
}

static void check_call(const cli_command *command, const ntk_args *a) {
    if (!a->net.data) cli_usage(command, "--data is missing: the samples of the kernel");
    if (!names_network(a) && !a->kernel)
        cli_usage(command, "which network? --from DIR of a training, --weights FILE, or "
                           "--model NAME for an untrained one; --kernel ntk:depth=K "
                           "needs none");
    if (a->lab.classes && (a->net.from || a->net.weights))
        cli_usage(command, "--classes applies to an untrained network only");
    if (!a->lab.sets && (a->lab.start || a->lab.draw))
        cli_usage(command, "--start and --draw need --agreement");
    check_kernel(command, a);
    if (a->infinite && a->net.model && !a->net.weights && !net_is(a->net.net.init, "he"))
        cli_usage(command, "--infinite needs --init he: other initial weights have "
                           "another limit");
    if (a->lab.sketch && needs_matrix(a))
        cli_usage(command,
                  "--%s needs the kernel matrix, which --sketch does not compute",
                  needs_matrix(a));
    check_fit(command, a);
    net_check_args(command, &a->net);
}

static void check_files(const cli_command *command, const ntk_args *a) {
    const cli_path outs[] = {
        {"out", a->out}, {"page", a->page}, {"kernel-out", a->kernel_out}};
    const cli_path ins[] = {
        {"against", a->against}, {"test", a->test.spec}, {"test-labels", a->test.labels}};
    net_check_outputs(command, &a->net, outs, CLI_COUNT_OF(outs), ins, CLI_COUNT_OF(ins));
}

/* ---- the network and the samples --------------------------------------------------- */

/* Makes an untrained network, with the input scaling that training would use. Without
 * --model, a linear one, whose features are the samples themselves. */
static void make_network(ntk_job *job) {
    ntk_args *a = &job->args;
    const char *model = a->net.model ? a->net.model : "linear";
    job->data = net_open_part(&job->net, &a->net);
    if (!a->lab.classes)
        a->lab.classes =
            scant_data_targets(job->data) ? 1 : scant_data_classes(job->data);
    if (a->net.model && !a->lab.classes)
        cli_die(CLI_BAD_INPUT,
                "%s has no labels: give the number of outputs with --classes C",
                a->net.data);
    a->lab.reader =
        net_make(&job->net, &a->net, model, job->data, a->net.model ? a->lab.classes : 1);
    net_try(&job->net, scant_net_fit_scaling(a->lab.reader, job->data));
    if (a->net.model) a->lab.net = a->lab.reader;
}

/* Lists the samples to study, then those of --against that are not among them. */
static void list_rows(ntk_job *job) {
    scant_lab_opts *lab = &job->args.lab;
    size_t n, n_against, count = scant_data_count(job->data);
    size_t *given = net_read_rows(&job->net, job->args.net.indices, job->data, &n);
    size_t *against = net_read_rows(&job->net, job->args.against, job->data, &n_against);
    if (!given) n = count;
    size_t *rows = cli_calloc(n + n_against, sizeof *rows);
    size_t *places = cli_calloc(n_against, sizeof *places);
    size_t *at = cli_calloc(count, sizeof *at); /* index in rows + 1; 0: not listed */
    lab->n = lab->all = n;
    for (size_t i = 0; i < n; i++) {
        rows[i] = given ? given[i] : i;
        if (!at[rows[i]]) at[rows[i]] = i + 1;
    }
    for (size_t i = 0; i < n_against; i++) {
        if (!at[against[i]]) {
            rows[lab->all++] = against[i];
            at[against[i]] = lab->all;
        }
        places[i] = at[against[i]] - 1;
    }
    lab->rows = rows;
    lab->against = against ? places : NULL;
    lab->n_against = n_against;
}

/* Returns the first flag that uses the network's outputs; NULL: none. */
static const char *uses_outputs(const ntk_args *a) {
    return a->lab.steps ? "descend" : a->lab.sets ? "agreement" : a->fit ? "fit" : NULL;
}

/* The kernel is computed at the mean weights: it cannot predict posterior draws. */
static void check_draws(const ntk_job *job) {
    const ntk_args *a = &job->args;
    const char *flag = uses_outputs(a);
    if (!a->kernel && flag && scant_net_draws(a->lab.net) > 1)
        cli_usage(
            job->net.command,
            "--%s does not work with posterior draws (--bayes): the network predicts "
            "with %zu draws, but its kernel is computed at the mean weights",
            flag, scant_net_draws(a->lab.net));
}

static void read_labels(ntk_job *job) {
    const int32_t *labels = scant_data_labels(job->data);
    ntk_args *a = &job->args;
    scant_lab_opts *lab = &a->lab;
    size_t labelled = 0;
    bool needed = lab->steps || lab->sets || (a->fit && !scant_data_targets(job->data));
    if (lab->net)
        net_check_labels(net_labels_file(&a->net), "the network has", lab->classes,
                         job->data, lab->rows, lab->n);
    for (size_t i = 0; labels && i < lab->n; i++) labelled += labels[lab->rows[i]] >= 0;
    if (labelled < lab->n && needed)
        cli_die(CLI_BAD_INPUT,
                "%s: %zu of the %zu samples have no label, but --%s needs a label for "
                "each sample",
                a->net.data, lab->n - labelled, lab->n, uses_outputs(a));
    if (!labelled) return;
    int32_t *own = cli_calloc(lab->n, sizeof *own);
    for (size_t i = 0; i < lab->n; i++) own[i] = labels[lab->rows[i]];
    lab->labels = own;
}

/* Opens the test samples of --fit. */
static void open_test(ntk_job *job) {
    ntk_args *a = &job->args;
    bool numbers = scant_data_targets(job->data) != NULL;
    if (numbers && a->lab.classes != 1)
        cli_die(CLI_BAD_INPUT,
                "%s has one target for each sample, but the network has %zu outputs",
                a->net.data, a->lab.classes);
    net_open_test(&job->net, &a->net, job->data, &a->test);
    if (!a->test.data)
        cli_die(CLI_BAD_INPUT,
                "%s has no test part: name the test samples of --fit with --test SPEC",
                a->net.data);
    if (numbers != (scant_data_targets(a->test.data) != NULL))
        cli_die(CLI_BAD_INPUT,
                "%s has %s, but %s has %s: both need the same kind of labels",
                a->test.spec, numbers ? "classes" : "numbers to predict", a->net.data,
                numbers ? "numbers to predict" : "classes");
    net_check_test(&a->test, a->lab.reader, a->lab.classes);
    a->lab.test = a->test.data;
    a->lab.test_rows = a->test.rows;
    a->lab.n_test = a->test.n;
}

static void open_all(ntk_job *job) {
    ntk_args *a = &job->args;
    scant_lab_opts *lab = &a->lab;
    if (a->net.from || a->net.weights) {
        net_open_both(&job->net, &a->net, &lab->net, &job->data);
        lab->reader = lab->net;
        lab->classes = scant_net_classes(lab->net);
    } else {
        make_network(job);
    }
    if (lab->net) net_try(&job->net, net_match(lab->net, NULL, job->data));
    list_rows(job);
    check_draws(job);
    read_labels(job);
    if (a->fit) open_test(job);
    lab->data = job->data;
    lab->bias = a->bias;
    lab->full = a->full;
    lab->fit = a->fit;
    lab->infinite = a->infinite;
    lab->last_layer = net_is(a->layers, "last");
    lab->seed = a->net.common.seed;
}

/* ---- the run ----------------------------------------------------------------------- */

/* Returns how many samples fit into cap bytes of memory, by bisection. */
static size_t most_samples(const ntk_job *job, double cap) {
    size_t low = 0, high = job->args.lab.n; /* invariant: low fits, high does not */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (scant_lab_memory(job->net.ctx, &job->args.lab, middle) <= cap)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void check_memory(const ntk_job *job) {
    const ntk_args *a = &job->args;
    const scant_lab_opts *lab = &a->lab;
    const scant_ctx *ctx = job->net.ctx;
    const double mega = 1 << 20;
    double cap = (double)scant_ctx_memory(ctx), need = scant_lab_memory(ctx, lab, lab->n);
    size_t most = SCANT_STUDY_ROWS / (a->full ? lab->classes : 1);
    const char *all = a->full && lab->classes > 1 ? " and all their outputs" : "";
    const char *instead =
        a->kernel || needs_matrix(a) ? "" : ", or use --sketch, which needs no matrix";
    if (!lab->sketch && lab->n > most)
        cli_die(CLI_SYSTEM,
                "a kernel can have at most %d rows (%zu samples%s), but there are %zu "
                "samples: "
                "choose some with --indices%s",
                SCANT_STUDY_ROWS, most, all, lab->n, instead);
    if (need <= cap) return;
    if (lab->sketch)
        cli_die(CLI_SYSTEM,
                "a sketch of %zu numbers needs %.0f MB, and --memory allows %.0f: use "
                "fewer numbers",
                lab->sketch, need / mega, cap / mega);
    size_t fit = most_samples(job, cap);
    if (!fit)
        cli_die(CLI_SYSTEM,
                "the kernel of one sample%s needs %.0f MB, and --memory allows %.0f: "
                "allow more, or use fewer --threads",
                all, scant_lab_memory(ctx, lab, 1) / mega, cap / mega);
    cli_die(CLI_SYSTEM,
            "the kernel of %zu samples%s needs %.0f MB, and --memory allows %.0f: %zu "
            "samples fit; choose them with --indices%s",
            lab->n, all, need / mega, cap / mega, fit, instead);
}

static void run(const cli_call *call) {
    ntk_job *job = cli_calloc(1, sizeof *job);
    ntk_args *a = &job->args;
    *a = *(const ntk_args *)call->args;
    check_call(call->command, a);
    net_begin(&job->net, call->command, &a->net.common, NULL);
    if (a->kernel)
        net_try(&job->net, scant_kernel_parse(job->net.ctx, a->kernel, &a->lab.depth));
    check_files(call->command, a);
    open_all(job);
    check_memory(job);
    net_try(&job->net, scant_lab_run(job->net.ctx, &a->lab, &job->lab));
    cli_ui_clear(&job->net.ui);
    if (a->kernel_out) ntk_write_kernel(job);
    if (a->page) ntk_write_page(job);
    ntk_write(job);
}

const cli_command cli_cmd_ntk = {
    .name = "ntk",
    .synopsis = "--data SPEC --from DIR|--model NAME|--kernel ntk:depth=K [options]",
    .summary = "study a network's tangent kernel and its predictions about training",
    .about =
        "Computes the neural tangent kernel of a network between samples (inner products "
        "of the outputs' gradients) and what theory derives from it: its spectrum, its "
        "alignment with the labels, bounds on the error during and after training, "
        "stable learning rates, and the number of steps until the loss has fallen. "
        "--descend and --agreement measure how well the theory predicts training. "
        "--kernel uses the kernel of an infinitely wide network instead; --fit predicts "
        "with either.\n\n"
        "The numbers are JSON; docs/kernels.md explains each of them. Numbers that need "
        "labels are null if samples have none.",
    .operand = CLI_NOTHING,
    .tables = {NET_DATA_FLAGS(ntk_args, net), NET_OPEN_FLAGS(ntk_args, net),
               CLI_FLAGS(flags), NET_MODEL_FLAGS(ntk_args, net),
               NET_COMMON_FLAGS(ntk_args, net.common)},
    .examples =
        {
            {"Why do these labels train well? The kernel of a trained network:",
             "scant ntk --data pool.npy --labels y.npy --indices labelled.npy --from run "
             "--page "
             "kernel.html"},
            {"Before any training, with 20 steps of descent and their prediction:",
             "scant ntk --data moons --count 200 --model mlp --full --descend 20 --page "
             "kernel.html"},
            {"Does alignment predict training dynamics, as dynamicAL claims?",
             "scant ntk --data fashion-mnist --indices first2000.npy --model cnn "
             "--agreement 150 "
             "--start 500 --draw 250"},
            {"What would an infinitely wide network learn from 200 labels?",
             "scant ntk --data moons --count 200 --kernel ntk:depth=2 --bias --fit"},
        },
    .args_size = sizeof(ntk_args),
    .run = run,
};
