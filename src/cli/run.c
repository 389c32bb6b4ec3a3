/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant run`: an experiment in, a folder of results out.
 */
#include "cli/run.h"
#include "scant/train.h"

#include <stdlib.h>
#include <string.h>

#define AT(field) offsetof(run_args, field)

static const char what_group[] = "Experiment";

static const scant_option flags[] = {
    OPT_SETTINGS("set", "SECTION.KEY=VALUE", AT(settings), what_group,
                 "a key of the experiment, over what the file says; repeatable"),
    OPT_SWITCH("print", NULL, AT(print), what_group,
               "print the experiment with every default filled in, and run nothing"),
    OPT_SWITCH("skip-bad", NULL, AT(skip_bad), what_group,
               "leave out pictures that cannot be read"),
    OPT_FILE("out", "DIR", AT(out), NET_OUTPUT, "folder for the results (required)"),
    OPT_SWITCH(
        "resume", NULL, AT(resume), NET_OUTPUT,
        "go on with the experiment in DIR; without a file and --set it is the one of "
        "DIR/experiment.ini"),
    OPT_COUNT("jobs", "J", NULL, AT(jobs), 1, 256, NET_MEANS,
              "runs side by side (default 1)"),
    OPT_COUNT("threads", "T", NULL, AT(run_threads), 0, 1024, NET_MEANS,
              "of each run (default and 0: all cores, or OMP_NUM_THREADS, divided by "
              "--jobs; to "
              "go on: as before)"),
    OPT_BYTES("memory", "SIZE", AT(means.memory), NET_MEANS,
              "cap on what is allocated, as 512M or 4G (default: half of the machine's)"),
    OPT_SWITCH("quiet", NULL, AT(means.quiet), NET_MEANS,
               "errors only: no warnings, no progress"),
};

static const cli_example examples[] = {
    {"Random against badge on two moons, in a moment:",
     "scant run --set data.train=moons --set model.name=mlp --set train.epochs=30 --set "
     "loop.initial=4 --set loop.batch=4 --set loop.rounds=5 --out moons"},
    {"What a file says, four runs at a time:",
     "scant run experiment.ini --jobs 4 --out results"},
    {"On with it, after Ctrl-C or a power cut:", "scant run --resume --out results"},
    {"All keys and their values:", "scant run experiment.ini --print"},
};

static int print(run_job *job) {
    void *bytes;
    size_t size;
    scant_status status = scant_experiment_print(job->experiment, &bytes, &size);
    if (status != SCANT_OK) return net_failed(&job->net, status);
    int written = cli_write_stdout(bytes, size);
    scant_bytes_free(job->net.ctx, bytes);
    return written;
}

static const char ending[] =
    "\nscant: saving what is under way, then ending; Ctrl-C again quits at once\n";

/* How to go on; where nothing is there yet, that nothing is. */
static void say_interrupted(const run_args *a) {
    scant__text begun = CLI_TEXT, more = CLI_TEXT;
    scant__text_addf(&begun, "%s/experiment.ini", a->out);
    scant__text_bytes(&begun, "", 1);
    if (a->skip_bad) scant__text_add(&more, " --skip-bad");
    if (a->jobs) scant__text_addf(&more, " --jobs %zu", a->jobs);
    if (a->run_threads) scant__text_addf(&more, " --threads %zu", a->run_threads);
    scant__text_bytes(&more, "", 1);
    if (cli_exists(begun.data))
        cli_error("interrupted; 'scant run --resume --out %s%s' goes on", a->out,
                  more.data);
    else
        cli_error("interrupted; nothing was begun");
    scant__text_end(&begun);
    scant__text_end(&more);
}

static int play(run_job *job) {
    const run_args *a = &job->args;
    scant_run_opts opts = {.out = a->out,
                           .resume = a->resume,
                           .jobs = (unsigned)a->jobs,
                           .threads = (unsigned)a->run_threads,
                           .skip_bad = a->skip_bad,
                           .user = job,
                           .report = run_hear};
    if (!a->means.quiet) cli_signals_say(job->net.ui.terminal ? ending : ending + 1);
    scant_status status = scant_experiment_run(job->experiment, &opts);
    cli_signals_say(NULL);
    job->lines = status == SCANT_OK ? job->lines : 0; /* the last state stays */
    run_show_clear(job);
    if (status == SCANT_ECANCELLED) {
        say_interrupted(a);
        return CLI_INTERRUPTED;
    }
    /* runs that failed are no reason to hold back what others have found */
    int printed =
        status == SCANT_OK || run_all_over(job) ? run_print_table(job) : CLI_DONE;
    return status == SCANT_OK ? printed : net_failed(&job->net, status);
}

static void clear(void *user) { run_show_clear(user); }

static int open_and_run(run_job *job, const char *path) {
    const run_args *a = &job->args;
    scant__text own = CLI_TEXT;
    int status = net_begin(&job->net, job->net.command, &a->means, NULL);
    if (status != CLI_DONE) return status;
    job->net.ui.clear = clear;
    if (!path && a->resume && !a->settings.count) {
        scant__text_addf(&own, "%s/experiment.ini", a->out);
        scant__text_bytes(&own, "", 1);
        path = own.data;
    }
    scant_status opened = scant_experiment_open(job->net.ctx, path, a->settings.items,
                                                a->settings.count, &job->experiment);
    if (opened != SCANT_OK)
        status = net_failed(&job->net, opened);
    else
        status = a->print ? print(job) : play(job);
    scant__text_end(&own);
    return status;
}

static int run(const cli_command *command, int argc, char **argv) {
    run_job job = {.net = {.command = command}};
    cli_parsed parsed;
    int status = cli_parse(command, argc, argv, &job.args, &parsed);
    if (status == CLI_DONE && parsed.help) {
        free(job.args.settings.items);
        return cli_print_page(command);
    }
    if (status == CLI_DONE && !job.args.out && (!job.args.print || job.args.resume))
        status = cli_usage(command, "--out is missing: a folder for the results");
    if (status == CLI_DONE) status = open_and_run(&job, parsed.operand);
    run_show_end(&job);
    scant_experiment_free(job.experiment);
    free(job.args.settings.items);
    net_end(&job.net);
    return status;
}

const cli_command cli_cmd_run = {
    .name = "run",
    .synopsis = "[EXPERIMENT.ini] [--set SECTION.KEY=VALUE]... --out DIR [options]",
    .summary =
        "play active learning out on labels that are known, and compare strategies",
    .about =
        "Plays an experiment: every strategy begins with the same few labels, a network "
        "is trained on them, the strategy picks more, and so on for some rounds, with "
        "several seeds. DIR gets curve.csv (accuracy after every round), picks.csv (what "
        "was picked), calibration.csv (how far networks are to be believed), theory.csv "
        "(what theory says of each round), tables and report.html made of them, "
        "experiment.ini and log.jsonl.\n\n"
        "The experiment is an INI file; every key has a default and can be set with "
        "--set. State is on disk after every round: after Ctrl-C, a crash or a power cut "
        "--resume goes on, and ends with the same results.\n\n"
        "Presets of loop.preset are what the sparse-approximation paper used: mnist, "
        "svhn, cifar10-general with gradients, fashion-mnist, cifar10-bayes, cifar100 "
        "with samples of a posterior. NAME sets sparse-iht and sparse-greedy, NAME-iht "
        "and NAME-greedy one of them.",
    .operand = CLI_PATH,
    .tables = {CLI_FLAGS(flags)},
    .examples = examples,
    .n_examples = CLI_COUNT_OF(examples),
    .run = run,
};
