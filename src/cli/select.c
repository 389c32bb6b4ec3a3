/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant select`: arrays in, picks out. Checks run in this order: the call and its inputs
 * without opening a file, whether the output can be written, headers and the plan. Then
 * the selection runs. After an error nothing is written.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
              "n x d embeddings, one row a sample: float16, float32, float64 or uint8"),
    OPT_ARRAY("probs", "P", INPUT(IN_PROBS), inputs_group,
              "n x C class probabilities; each row sums to 1 within 1e-3"),
    OPT_ARRAY("logits", "Z", INPUT(IN_LOGITS), inputs_group,
              "n x C logits instead of --probs; softmax is applied"),
    OPT_ARRAY("calibrated", "Q", INPUT(IN_CALIBRATED), inputs_group,
              "n x C calibrated class probabilities; or --logits with --temperature"),
    OPT_ARRAY("calibrate-on", "IDX", INPUT(IN_CALIBRATE_ON), inputs_group,
              "labelled rows (counted from 0) that the model was not trained on, for "
              "--temperature "
              "fit"),
    OPT_ARRAY("gradients", "G", INPUT(IN_GRADIENTS), inputs_group,
              "n x k gradient features, as a sketch of the network's loss gradients: at "
              "the label "
              "of "
              "a labelled row, at the predicted class of another"),
    OPT_ARRAY("samples", "S", INPUT(IN_SAMPLES), inputs_group,
              "m x n x C posterior predictive samples (ensemble, MC dropout): sample, "
              "row, class"),
    OPT_ARRAY("labels", "Y", INPUT(IN_LABELS), inputs_group,
              "n integers: the class of a labelled row, -1 of an unlabelled one; absent: "
              "nothing "
              "is labelled"),
    OPT_ARRAY(
        "candidates", "IDX", INPUT(IN_CANDIDATES), inputs_group,
        "only these rows (counted from 0) may be picked; absent: all unlabelled ones"),
    OPT_TEXT(
        "temperature", "T|fit", NULL, AT(temperature), more_group,
        "calibrated class probabilities are softmax(logits / T); fit: T of the greatest "
        "likelihood on the rows of --calibrate-on"),
    OPT_FILE("state", "FILE", AT(state), more_group,
             "for a strategy that learns from call to call: what it has learned, as "
             "JSON; made "
             "where it is missing, replaced after the picks are written"),
    OPT_FILE("ids", "FILE", AT(ids), more_group,
             "your own names of the rows, one a line, or a .npy of strings; the output "
             "then has "
             "them too"),
    OPT_COUNT("batch", "B", NULL, AT(batch), 1, INFINITY, options_group,
              "how many rows to pick (required)"),
    OPT_SEED("seed", "S", AT(seed), options_group,
             "decides every random choice: same inputs, seed and options, same output "
             "(default "
             "0)"),
    OPT_TEXT("kernel", "ntk:depth=K", NULL, AT(kernel), options_group,
             "npc, crc and bss compare rows of --features by the tangent kernel of an "
             "infinitely "
             "wide network with K layers of rectifiers (1 to 100) instead of by inner "
             "products"),
    OPT_SETTINGS(
        "opt", "KEY=VALUE", AT(settings), options_group,
        "an option of the strategy, see 'scant strategies NAME'; may be given again"),
    OPT_COUNT(
        "threads", "T", NULL, AT(threads), 0, MOST_THREADS, options_group,
        "default and 0: all cores, or OMP_NUM_THREADS; the picks do not depend on it"),
    OPT_BYTES("memory", "SIZE", AT(memory), options_group,
              "cap on what is allocated, as 512M or 4G (default: half of the machine's)"),
    OPT_SWITCH("dry-run", NULL, AT(dry_run), options_group,
               "print what would be read, held and done, and stop"),
    OPT_FILE(
        "out", "FILE", AT(out), output_group,
        "default - (standard output); .npy: the indices as int64; .json: one object; "
        "anything else: CSV"),
    OPT_CHOICE("format", "csv|json|npy", NULL, AT(format), output_group,
               "the format, whatever --out ends in"),
    OPT_FILE("plot", "FILE.svg", AT(plot), output_group,
             "a picture of the pool, the labelled rows and the picks: --features, or "
             "their first "
             "two principal components"),
    OPT_SWITCH("quiet", NULL, AT(quiet), output_group,
               "errors only: no warnings, no progress"),
    OPT_SWITCH("progress", NULL, AT(progress), output_group,
               "show progress even where standard error is no terminal"),
};

static const cli_example examples[] = {
    {"The 100 rows the model is least sure of, without those that have a label:",
     "scant select margin --batch 100 --probs probs.npy --labels y.npy"},
    {"A diverse batch from logits and embeddings in one archive, into a file:",
     "scant select badge --batch 100 --logits m.npz:z --features m.npz:h --out "
     "picks.csv"},
    {"The same, and a picture of what was picked:",
     "scant select badge --batch 20 --logits z.npy --features h.npy --plot picks.svg"},
    {"What would it take on a pool that is larger than memory?",
     "scant select coreset --batch 1000 --features h.npy --memory 2G --dry-run"},
};

/* ---- the call ---------------------------------------------------------------------- */

static int check_call(select_job *job, const char *strategy) {
    if (!strategy)
        return cli_usage(job->command, "which strategy? ('scant strategies' lists them)");
    job->strategy = scant_strategy_find(strategy);
    if (!job->strategy) return cli_unknown_strategy(job->command, strategy);
    if (job->args.batch == 0)
        return cli_usage(job->command, "--batch is missing: how many rows to pick");
    return cli_check_options(job->command, job->strategy, &job->args.settings);
}

/* ---- the work ---------------------------------------------------------------------- */

int select_failed(select_job *job, scant_status status) {
    cli_ui_clear(&job->ui);
    if (status == SCANT_ECANCELLED)
        cli_error("interrupted; nothing was written");
    else
        cli_error("%s", scant_ctx_errmsg(job->ctx));
    return cli_exit_of(status);
}

static int begin(select_job *job) {
    const select_args *args = &job->args;
    cli_signals_begin();
    cli_ui_begin(&job->ui, args->quiet, args->progress);
    scant_ctx_opts opts = {
        .threads = (unsigned)args->threads,
        .memory = args->memory,
        .user = &job->ui,
        .log = cli_ui_log,
        .progress = cli_ui_progress,
        .cancel = cli_ui_cancel,
    };
    scant_status status = scant_ctx_create(&opts, &job->ctx);
    if (status != SCANT_OK) cli_error("%s", scant_status_text(status));
    job->opts = (scant_select_opts){
        .seed = args->seed,
        .settings = args->settings.items,
        .n_settings = args->settings.count,
        .kernel = args->kernel,
    };
    return cli_exit_of(status);
}

static int plan(select_job *job) {
    scant_status opened = select_open_inputs(job);
    if (opened != SCANT_OK) return select_failed(job, opened);
    int status = select_plan(job);
    return status == CLI_DONE ? select_check_ids(job) : status;
}

static int choose(select_job *job) {
    double begun = cli_now();
    scant_status status = scant_selection_run(job->selection, &job->picks);
    scant_selection_free(job->selection); /* frees memory for the plot */
    job->selection = NULL;
    job->seconds = cli_now() - begun;
    cli_ui_clear(&job->ui);
    if (status == SCANT_OK && cli_interrupted()) status = SCANT_ECANCELLED;
    return status == SCANT_OK ? CLI_DONE : select_failed(job, status);
}

static int work(select_job *job) {
    int status = begin(job);
    if (status == CLI_DONE) status = select_check_plot(job);
    if (status == CLI_DONE) status = select_check_overwrites(job);
    if (status == CLI_DONE) status = select_check_inputs(job);
    if (status == CLI_DONE) status = select_check_targets(job);
    if (status == CLI_DONE) status = select_read_state(job);
    if (status == CLI_DONE) status = plan(job);
    if (status != CLI_DONE) return status;
    if (job->args.dry_run) return select_print_plan(job);
    status = choose(job);
    if (status == CLI_DONE) status = select_draw(job);
    return status == CLI_DONE ? select_write(job) : status;
}

static int help(const select_job *job, const char *strategy) {
    scant__text text = CLI_TEXT;
    if (!strategy) return cli_print_page(job->command);
    const scant_strategy_info *info = scant_strategy_find(strategy);
    if (!info) return cli_unknown_strategy(job->command, strategy);
    cli_page_strategy(&text, info);
    scant__text_add(&text, "\n'scant select --help' lists all flags.\n");
    return cli_print(&text);
}

static int run(const cli_command *command, int argc, char **argv) {
    select_job job = {.command = command, .state = CLI_TEXT};
    cli_parsed parsed;
    int status = cli_parse(command, argc, argv, &job.args, &parsed);
    if (status == CLI_DONE && parsed.help) return help(&job, parsed.operand);
    if (status == CLI_DONE) status = check_call(&job, parsed.operand);
    if (status == CLI_DONE) status = work(&job);
    scant_bytes_free(job.ctx, job.picture);
    scant_picks_free(job.ctx, job.picks);
    scant_selection_free(job.selection);
    select_close_inputs(&job);
    scant_ctx_free(job.ctx);
    scant__text_end(&job.state);
    free(job.args.settings.items);
    return status;
}

const cli_command cli_cmd_select = {
    .name = "select",
    .synopsis = "STRATEGY --batch B [inputs] [options]",
    .summary = "choose the rows to label next: arrays in, picks out",
    .about =
        "Reads what a model says of a pool of n rows and names the B rows that are most "
        "worth a label. Only unlabelled rows are picked, none twice. Arrays are NumPy's "
        ".npy in C order and memory-mapped: a pool may be larger than memory.\n\n"
        "Prints CSV with the columns rank, index (row of the input, from 0), id (with "
        "--ids), weight and score, best first.",
    .operand = CLI_STRATEGY,
    .tables = {CLI_FLAGS(flags)},
    .examples = examples,
    .n_examples = CLI_COUNT_OF(examples),
    .run = run,
};
