/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant select`: arrays in, picks out. Checks run in this order: the call and its inputs
 * without opening a file, whether the output can be written, headers and the plan. Then
 * the selection runs. An error in a check or in the selection leaves all files unchanged.
 */
#include <math.h>

#include "cli/select.h"

enum { MOST_THREADS = 1024 };

#define INPUT(which) offsetof(select_args, inputs[which])
#define AT(field) offsetof(select_args, field)

static const char more_group[] = "More inputs";
static const char inputs_group[] = "Inputs (FILE.npy, or FILE.npz:KEY)";
static const char options_group[] = "Options";
static const char output_group[] = "Output";

static const scant_option flags[] = {
    OPT_ARRAY("features", "F", INPUT(IN_FEATURES), inputs_group,
              "n x d embeddings, one row per sample: float16, float32, float64 or uint8"),
    OPT_ARRAY("probs", "P", INPUT(IN_PROBS), inputs_group,
              "n x C class probabilities; each row sums to 1 within 1e-3"),
    OPT_ARRAY("logits", "Z", INPUT(IN_LOGITS), inputs_group,
              "n x C logits instead of --probs; softmax is applied"),
    OPT_ARRAY("calibrated", "Q", INPUT(IN_CALIBRATED), inputs_group,
              "n x C calibrated class probabilities; or --logits with --temperature"),
    OPT_ARRAY("calibrate-on", "IDX", INPUT(IN_CALIBRATE_ON), inputs_group,
              "for --temperature fit: labelled rows (counted from 0) that the model was "
              "not trained on"),
    OPT_ARRAY(
        "gradients", "G", INPUT(IN_GRADIENTS), inputs_group,
        "n x k gradient features, such as a sketch of the network's loss gradients: "
        "at the label of a labelled row, else at the predicted class"),
    OPT_ARRAY(
        "samples", "S", INPUT(IN_SAMPLES), inputs_group,
        "m x n x C class probabilities of m posterior draws (ensemble, MC dropout)"),
    OPT_ARRAY(
        "labels", "Y", INPUT(IN_LABELS), inputs_group,
        "n integers: the class of a labelled row, -1 of an unlabelled one (default: "
        "all unlabelled)"),
    OPT_ARRAY("candidates", "IDX", INPUT(IN_CANDIDATES), inputs_group,
              "only these rows (counted from 0) may be picked (default: all unlabelled "
              "ones)"),
    OPT_TEXT("temperature", "T|fit", NULL, AT(temperature), more_group,
             "calibrated class probabilities are softmax(logits / T); fit: the T that "
             "maximises the likelihood of the rows of --calibrate-on"),
    OPT_FILE("state", "FILE", AT(state), more_group,
             "for a strategy that learns from call to call: its state, as JSON; created "
             "if missing, replaced after the picks are written"),
    OPT_FILE("ids", "FILE", AT(ids), more_group,
             "your own ids of the rows, one per line, or a .npy of strings; the output "
             "then has them too"),
    OPT_COUNT("batch", "B", NULL, AT(batch), 1, INFINITY, options_group,
              "how many rows to pick (required)"),
    OPT_SEED("seed", "S", AT(common.seed), options_group,
             "seed of every random choice (default 0): same inputs, seed and options, "
             "same output"),
    OPT_TEXT("kernel", "ntk:depth=K", NULL, AT(kernel), options_group,
             "npc, crc and bss compare rows of --features by the tangent kernel of an "
             "infinitely wide network with K ReLU layers (1 to 100) instead of by inner "
             "products"),
    OPT_SETTINGS("opt", "KEY=VALUE", AT(settings), options_group,
                 "an option of the strategy, see 'scant strategies NAME'; repeatable"),
    OPT_COUNT("threads", "T", NULL, AT(common.threads), 0, MOST_THREADS, options_group,
              "threads; default and 0: all cores, or OMP_NUM_THREADS; the picks do not "
              "depend on it"),
    OPT_BYTES("memory", "SIZE", AT(common.memory), options_group,
              "limit on allocated memory, such as 512M or 4G (default: half of the "
              "machine's, or of the control group's limit)"),
    OPT_SWITCH("dry-run", NULL, AT(dry_run), options_group,
               "print inputs, passes and memory, and stop"),
    OPT_FILE(
        "out", "FILE", AT(out), output_group,
        "default - (standard output); .npy: the indices as int64; .json: one object; "
        "anything else: CSV"),
    OPT_CHOICE("format", "csv|json|npy", NULL, AT(format), output_group,
               "the format, regardless of the suffix of --out"),
    OPT_FILE("plot", "FILE.svg", AT(plot), output_group,
             "a chart of the pool, the labelled rows and the picks: --features, or "
             "their first two principal components"),
    OPT_SWITCH("quiet", NULL, AT(common.quiet), output_group,
               "errors only: no warnings, no progress"),
    OPT_SWITCH("progress", NULL, AT(common.progress), output_group,
               "show progress even if standard error is not a terminal"),
};

/* ---- the command ------------------------------------------------------------------- */

void select_try(select_job *job, scant_status status) {
    cli_ui_clear(&job->net.ui);
    if (status == SCANT_ECANCELLED)
        cli_die(CLI_INTERRUPTED, "interrupted; nothing was written");
    net_try(&job->net, status);
}

static void choose(select_job *job) {
    double begun = cli_now();
    scant_status status = scant_selection_run(job->selection, &job->picks);
    scant_selection_free(job->selection); /* makes room for the plot */
    job->seconds = cli_now() - begun;
    if (status == SCANT_OK && cli_interrupted()) status = SCANT_ECANCELLED;
    select_try(job, status);
}

static void run(const cli_call *call) {
    select_job *job = cli_calloc(1, sizeof *job);
    select_args *args = job->args = call->args;
    job->strategy = cli_strategy(call->command, call->operand);
    if (args->batch == 0)
        cli_usage(call->command, "--batch is missing: how many rows to pick");
    cli_check_options(call->command, job->strategy, &args->settings);
    job->opts = (scant_select_opts){
        .seed = args->common.seed,
        .settings = args->settings.items,
        .n_settings = args->settings.count,
        .kernel = args->kernel,
    };
    net_begin(&job->net, call->command, &args->common, NULL);
    select_check_plot(job);
    select_check_overwrites(job);
    select_check_inputs(job);
    select_check_targets(job);
    select_read_state(job);
    select_open_inputs(job);
    select_plan(job);
    if (args->dry_run) {
        select_print_plan(job);
        return;
    }
    choose(job);
    select_draw(job);
    select_write(job);
}

const cli_command cli_cmd_select = {
    .name = "select",
    .synopsis = "STRATEGY --batch B [inputs] [options]",
    .summary = "choose the rows to label next: arrays in, picks out",
    .about =
        "Reads a model's predictions on a pool of n rows and prints the B rows that are "
        "most worth labelling. Only unlabelled rows are picked, none twice. Arrays are "
        "NumPy's .npy in C order and memory-mapped: a pool may be larger than "
        "memory.\n\n"
        "Prints CSV with the columns rank, index (row of the input, from 0), id (with "
        "--ids), weight and score, best first.",
    .operand = CLI_STRATEGY,
    .tables = {CLI_FLAGS(flags)},
    .examples =
        {
            {"The 100 rows the model is least sure of, without those that have a label:",
             "scant select margin --batch 100 --probs probs.npy --labels y.npy"},
            {"A diverse batch from logits and embeddings in one archive, into a file:",
             "scant select badge --batch 100 --logits m.npz:z --features m.npz:h --out "
             "picks.csv"},
            {"The same, and a chart of what was picked:",
             "scant select badge --batch 20 --logits z.npy --features h.npy --plot "
             "picks.svg"},
            {"What would it take on a pool that is larger than memory?",
             "scant select coreset --batch 1000 --features h.npy --memory 2G --dry-run"},
        },
    .missing = "which strategy? ('scant strategies' lists them)",
    .args_size = sizeof(select_args),
    .run = run,
};
