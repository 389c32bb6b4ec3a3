/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant run`: an experiment in, a folder of results out.
 */
#include "cli/run.h"

#define AT(field) offsetof(run_args, field)

static const char what_group[] = "Experiment";

static const scant_option flags[] = {
    OPT_SETTINGS("set", "SECTION.KEY=VALUE", AT(settings), what_group,
                 "sets a key of the experiment, overriding the file; repeatable"),
    OPT_SWITCH("print", NULL, AT(print), what_group,
               "print the experiment with every default filled in, and run nothing"),
    OPT_SWITCH("skip-bad", NULL, AT(skip_bad), what_group,
               "leave out images that cannot be read"),
    OPT_FILE("out", "DIR", AT(out), NET_OUTPUT, "folder for the results (required)"),
    OPT_SWITCH("resume", NULL, AT(resume), NET_OUTPUT,
               "continue the experiment in DIR; without a file and --set, "
               "DIR/experiment.ini is read"),
    OPT_COUNT("jobs", "J", NULL, AT(jobs), 1, 256, NET_COMMON,
              "runs at the same time (default 1)"),
    OPT_COUNT(
        "threads", "T", NULL, AT(run_threads), 0, 1024, NET_COMMON,
        "threads of each run (default and 0: all cores, or OMP_NUM_THREADS, divided by "
        "--jobs; with --resume: as before)"),
    OPT_BYTES("memory", "SIZE", AT(common.memory), NET_COMMON,
              "limit on allocated memory, such as 512M or 4G (default: half of the "
              "machine's, or of the control group's limit)"),
    OPT_SWITCH("quiet", NULL, AT(common.quiet), NET_COMMON,
               "errors only: no warnings, no progress"),
};

static const char ending[] =
    "\nscant: saving the current state, then stopping; Ctrl-C again quits at once\n";

/* Ends the program; says how to continue if there is anything to continue. */
static _Noreturn void end_interrupted(const run_args *a) {
    scant__text more = CLI_TEXT;
    scant__text_add(&more, a->skip_bad ? " --skip-bad" : "");
    if (a->jobs) scant__text_addf(&more, " --jobs %zu", a->jobs);
    if (a->run_threads) scant__text_addf(&more, " --threads %zu", a->run_threads);
    if (!cli_exists(cli_format("%s/experiment.ini", a->out)))
        cli_die(CLI_INTERRUPTED, "interrupted; nothing was started");
    cli_die(CLI_INTERRUPTED, "interrupted; 'scant run --resume --out %s%s' continues",
            a->out, more.data);
}

static void run_experiment(run_job *job) {
    const run_args *a = job->args;
    scant_run_opts opts = {.out = a->out,
                           .resume = a->resume,
                           .jobs = (unsigned)a->jobs,
                           .threads = (unsigned)a->run_threads,
                           .skip_bad = a->skip_bad,
                           .user = job,
                           .report = run_on_event};
    cli_signals_allow_saving();
    if (!a->common.quiet)
        cli_signals_set_message(job->net.ui.terminal ? ending : ending + 1);
    scant_status status = scant_experiment_run(job->experiment, &opts);
    cli_signals_set_message(NULL);
    if (status != SCANT_OK) job->lines = 0; /* the last state stays on the screen */
    run_show_clear(job);
    if (status == SCANT_ECANCELLED) end_interrupted(a);
    if (status == SCANT_OK || run_all_ended(job)) run_print_table(job);
    net_try(&job->net, status);
}

static void clear(void *user) { run_show_clear(user); }

static void close_experiment(void *experiment) { scant_experiment_free(experiment); }

static void run(const cli_call *call) {
    run_job *job = cli_calloc(1, sizeof *job);
    const run_args *a = job->args = call->args;
    const char *path = call->operand;
    if (!a->out && (!a->print || a->resume))
        cli_usage(call->command, "--out is missing: a folder for the results");
    net_begin(&job->net, call->command, &a->common, NULL);
    job->net.ui.clear = clear;
    if (!path && a->resume && !a->settings.count)
        path = cli_format("%s/experiment.ini", a->out);
    net_try(&job->net, scant_experiment_open(job->net.ctx, path, a->settings.items,
                                             a->settings.count, &job->experiment));
    cli_defer(close_experiment, job->experiment);
    if (a->print) {
        void *bytes;
        size_t size;
        net_try(&job->net, scant_experiment_print(job->experiment, &bytes, &size));
        cli_write_stdout(bytes, size);
        scant_bytes_free(job->net.ctx, bytes);
    } else {
        run_experiment(job);
    }
}

const cli_command cli_cmd_run = {
    .name = "run",
    .synopsis = "[EXPERIMENT.ini] [--set SECTION.KEY=VALUE]... --out DIR [options]",
    .summary = "simulate active learning on known labels, and compare strategies",
    .about =
        "Runs an experiment: every strategy starts from the same few labels, a network "
        "is trained on them, the strategy picks more, and so on for some rounds, with "
        "several seeds. DIR gets curve.csv (accuracy after every round), picks.csv "
        "(what was picked), calibration.csv (how reliable the probabilities are), "
        "theory.csv (what theory predicts for each round), trainings.csv (how each "
        "round's training went), tables and report.html made from them, experiment.ini "
        "and log.jsonl.\n\n"
        "The experiment is an INI file; every key has a default and can be set with "
        "--set. State is on disk after every round: after Ctrl-C, a crash or a power cut "
        "--resume continues, and ends with the same results.\n\n"
        "Presets of loop.preset are those of the sparse-approximation paper: mnist, "
        "svhn, cifar10-general with gradients, fashion-mnist, cifar10-bayes, cifar100 "
        "with posterior draws. NAME sets sparse-iht and sparse-greedy, NAME-iht and "
        "NAME-greedy one of them.",
    .operand = CLI_PATH,
    .tables = {CLI_FLAGS(flags)},
    .examples =
        {
            {"Random against badge on two moons, in a second:",
             "scant run --set data.train=moons --set model.name=mlp --set "
             "train.epochs=30 --set "
             "loop.initial=4 --set loop.batch=4 --set loop.rounds=5 --out moons"},
            {"An experiment file, four runs at a time:",
             "scant run experiment.ini --jobs 4 --out results"},
            {"Continue after Ctrl-C or a power cut:", "scant run --resume --out results"},
            {"All keys and their values:", "scant run experiment.ini --print"},
        },
    .args_size = sizeof(run_args),
    .run = run,
};
