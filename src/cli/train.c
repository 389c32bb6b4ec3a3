/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant train`: samples in, a folder with a trained network out.
 *
 * The folder is checked first, then the flags, then the samples; the folder changes only
 * if all checks succeed. Ctrl-C ends a training between two steps: weights and
 * checkpoint are written, and --resume continues to the same weights as without the
 * interruption.
 */
#include "cli/train.h"

#define AT(field) offsetof(train_args, field)

/* groups of the library's tables: --help lists the flags below in the same groups */
static const char training_group[] = "Training";
static const char method_group[] = "Unlabelled samples (docs/semi-supervised.md)";

static const scant_option flags[] = {
    OPT_FILE(
        "test", "SPEC", AT(test.spec), NET_SAMPLES,
        "samples to evaluate the network on at the end (default: the data's own test "
        "part, if it has one)"),
    OPT_ARRAY("test-labels", "FILE", AT(test.labels), NET_SAMPLES, "labels of --test"),
    OPT_COUNT("validation", "N", NULL, AT(validation), 1, (size_t)1 << 40, NET_SAMPLES,
              "size of the validation set, drawn by the seed, held out of the training "
              "and evaluated after every epoch"),
    OPT_ARRAY("sample-weights", "W", AT(sample_weights), NET_SAMPLES,
              "a factor of 0 or more for the loss of each sample of --indices, else of "
              "--data"),
    OPT_FILE("picks", "P.csv", AT(picks), NET_SAMPLES,
             "rows and weights as written by 'scant select', instead of --indices and "
             "--sample-weights"),
    OPT_SWITCH("draw-by-weight", NULL, AT(train.draw), NET_SAMPLES,
               "draw samples with probability proportional to their weight, instead of "
               "weighting the loss"),
    OPT_NAME("model", "NAME", cli_model_name, NULL, AT(net.model), NET_NETWORK,
             "(required)"),
    OPT_FILE("weights", "FILE", AT(net.weights), NET_NETWORK,
             "safetensors to start from; a last layer with other classes gets new random "
             "weights"),
    OPT_FILE(
        "warm", "STATE", AT(train.warm), training_group,
        "start from the state.safetensors of a training of the same network, perhaps "
        "with other labels: its weights, their average, momentum and stored "
        "pseudo-labels"),
    OPT_ARRAY("unlabelled", "FILE", AT(unlabelled), method_group,
              "rows that train without labels (default: all without one; fixmatch, "
              "freematch, softmatch: all samples)"),
    OPT_SWITCH("no-align", NULL, AT(no_align), method_group,
               "no alignment, which softmatch has by default"),
    OPT_ARRAY("darp-target", "T", AT(darp_target), method_group,
              "the class distribution for --darp and --align: a number per class, or "
              "'labelled': that of the labels (default: uniform)"),
    OPT_FILE("out", "DIR", AT(out), NET_OUTPUT,
             "folder for weights.safetensors, state.safetensors (the checkpoint), "
             "log.jsonl, train.json and result.json (required)"),
    OPT_SWITCH("resume", NULL, AT(train.resume), NET_OUTPUT,
               "continue the training in DIR; its flags need not be repeated, and "
               "--epochs, --steps, --until and --patience may change"),
    OPT_SWITCH("overwrite", NULL, AT(overwrite), NET_OUTPUT,
               "start over in a DIR that holds a training"),
    OPT_CHOICE("format", "text|json", NULL, AT(format), NET_OUTPUT,
               "of the summary on standard output"),
};

/* ---- checking flags ---------------------------------------------------------------- */

static void check_given(const train_job *job) {
    const train_args *a = &job->args;
    const cli_command *command = job->net.command;
    if (!a->net.data) cli_usage(command, "--data is missing: the samples to train on");
    if (!a->net.model)
        cli_usage(command,
                  "--model is missing ('scant models' lists them; lenet5 is for 28x28 "
                  "images, resnet18 for larger ones, mlp for feature rows)");
    if (!a->test.spec && a->test.labels) cli_usage(command, "--test-labels needs --test");
    if (a->picks && (a->net.indices || a->sample_weights))
        cli_usage(command, "--picks cannot be combined with --indices or "
                           "--sample-weights: it names rows and weights");
    if (a->train.draw && !a->picks && !a->sample_weights)
        cli_usage(command, "--draw-by-weight needs --sample-weights or --picks");
    if (a->train.patience && !a->validation)
        cli_usage(command,
                  "--patience needs --validation N, the size of the validation set");
    if (a->train.resume && a->overwrite)
        cli_usage(command, "--resume cannot be combined with --overwrite");
}

static void check_options(const train_job *job) {
    const train_args *a = &job->args;
    const cli_command *command = job->net.command;
    const scant_net_opts *net = &a->net.net;
    bool momentum = train_given(job, "momentum");
    if (train_given(job, "steps") && train_given(job, "epochs"))
        cli_usage(command, "--epochs cannot be combined with --steps");
    if (net_is(a->train.optimizer, "adam") && (momentum || train_given(job, "nesterov")))
        cli_usage(command, "--%s applies to sgd: adam has none",
                  momentum ? "momentum" : "nesterov");
    if (train_given(job, "decay-weights-only") && !(a->train.weight_decay > 0))
        cli_usage(command, "--decay-weights-only needs --weight-decay");
    if (net_is(net->bayes, "dropout") && train_given(job, "dropout") &&
        !(net->dropout > 0))
        cli_usage(command, "--bayes dropout needs a --dropout above 0");
    if (net->hidden && net->no_hidden)
        cli_usage(command, "--hidden cannot be combined with --no-hidden");
}

/* ---- the command ------------------------------------------------------------------- */

/* Warns if the last layer of --weights was trained for other classes. */
static void compare_classes(const train_job *job) {
    const char *file = job->args.net.weights;
    for (size_t i = 0; i < scant_net_classes(job->network); i++) {
        const char *was = scant_net_class_name(job->network, i);
        const char *is = scant_data_class_name(job->data, i);
        if (!was || net_is(is, was)) continue;
        if (is)
            cli_warning("%s: class %zu is '%s' in the file and '%s' in the data: the "
                        "last layer starts with weights trained for other classes",
                        file, i, was, is);
        else
            cli_warning(
                "%s: class %zu is named '%s' there, and the samples have no class "
                "names: the names of the file are kept",
                file, i, was);
        return;
    }
}

static void make_network(train_job *job) {
    const train_args *a = &job->args;
    size_t classes = train_has_accuracy(job) ? scant_data_classes(job->data) : 1;
    job->network = net_make(&job->net, &a->net, a->net.model, job->data, classes);
    if (a->net.weights && !job->net.ui.quiet) compare_classes(job);
    if (a->net.net.init && a->train.warm && !job->net.ui.quiet)
        cli_warning("--init is ignored: %s has all weights (--warm)", a->train.warm);
    if (a->test.data)
        net_check_test(&a->test, job->network, scant_net_classes(job->network));
}

static void progress(void *user, const char *phase, double fraction) {
    train_job *job = user;
    if (!job->training) cli_ui_progress(&job->net.ui, phase, fraction);
}

static void report(void *user, const scant_train_state *state) {
    train_job *job = user;
    if (!job->reported) {
        job->first_step = state->step - 1;
        train_discard_old(job);
        train_open_log(job, state->epoch);
    }
    job->reported = true;
    train_show(job, state, state->epoch_ended && train_log_epoch(job, state));
}

static const char ending[] =
    "\nscant: finishing this step, then saving; Ctrl-C again quits without saving\n";

static scant_status train(train_job *job) {
    scant_train_opts *o = &job->args.train;
    o->seed = job->args.net.common.seed;
    o->checkpoint = train_path(job, "state.safetensors");
    o->user = job;
    o->report = report;
    job->training = true;
    cli_signals_allow_saving();
    if (!job->net.ui.quiet)
        cli_signals_set_message(job->net.ui.terminal ? ending : ending + 1);
    scant_status status = scant_net_train(job->network, job->data, o, &job->state);
    job->training = false;
    cli_signals_set_message(NULL);
    cli_ui_clear(&job->net.ui);
    return status;
}

static scant_status save(train_job *job) {
    return scant_net_save(job->network, train_path(job, "weights.safetensors"));
}

/* Saves the last good weights, unless they are the initial ones, and ends the program. */
static _Noreturn void fail(train_job *job, scant_status trained) {
    const scant_train_state *s = &job->state;
    train_log_end(job, scant_ctx_errmsg(job->net.ctx));
    int status = net_failed(&job->net, trained);
    if (trained == SCANT_ENOMEM)
        cli_note("a smaller --batch (it is %zu) or a larger --memory helps",
                 job->args.train.batch);
    if (s->step) train_discard_old(job);
    bool good = trained == SCANT_EINPUT ? s->epoch > 1 : s->step > 0;
    scant_status saved = good ? save(job) : SCANT_OK;
    if (saved != SCANT_OK) net_failed(&job->net, saved);
    cli_exit(status);
}

static _Noreturn void stop(train_job *job) {
    const scant_train_state *s = &job->state;
    train_log_end(job, NULL);
    if (!s->step && job->aside) /* the earlier training will be restored */
        cli_die(CLI_INTERRUPTED, "interrupted before the first step");
    train_discard_old(job);
    if (s->step) net_try(&job->net, save(job));
    cli_die(
        CLI_INTERRUPTED,
        "interrupted after step %zu of %zu; 'scant train --resume --out %s' continues",
        s->step, s->steps, job->args.out);
}

/* Evaluates on the test set; with a validation set, also at the temperature fitted to
 * that set. */
static void evaluate(train_job *job) {
    const scant_train_opts *o = &job->args.train;
    const net_test *test = &job->args.test;
    scant_evaluation valid;
    if (!test->data) return;
    job->evaluated = true;
    job->calibrated = o->n_valid_rows && !scant_data_targets(job->data);
    if (!job->calibrated) {
        net_try(&job->net, scant_net_evaluate(job->network, test->data, test->rows,
                                              test->n, &job->evaluation));
    } else {
        net_try(&job->net, scant_net_evaluate(job->network, job->data, o->valid_rows,
                                              o->n_valid_rows, &valid));
        net_try(&job->net,
                scant_net_evaluate_at(job->network, test->data, test->rows, test->n,
                                      valid.temperature, &job->evaluation, &job->scaled));
    }
    cli_ui_clear(&job->net.ui);
}

static void defaults(void *args) {
    scant_train_defaults(NULL, NULL, &((train_args *)args)->train);
}

static void run(const cli_call *call) {
    train_job *job = cli_calloc(1, sizeof *job);
    job->net.command = call->command;
    job->old_log = CLI_TEXT;
    job->given = call->given;
    job->args = *(const train_args *)call->args;
    if (call->operand) {
        train_project(call);
        return;
    }
    if (!job->args.out)
        cli_usage(call->command, "--out is missing: a folder for the training");
    train_check_dir(job);
    train_set_defaults(job);
    check_given(job);
    check_options(job);
    train_check_method(job);
    net_check_args(call->command, &job->args.net);
    net_begin(&job->net, call->command, &job->args.net.common, progress);
    train_open_samples(job);
    make_network(job);
    train_begin_dir(job);
    scant_status trained = train(job);
    if (trained == SCANT_ECANCELLED) stop(job);
    if (trained != SCANT_OK) fail(job, trained);
    net_try(&job->net, save(job)); /* before anything else can fail */
    evaluate(job);
    train_log_end(job, NULL);
    train_print_result(job);
}

const cli_command cli_cmd_train = {
    .name = "train",
    .synopsis = "--data SPEC --model NAME --out DIR [options]",
    .also = "PROJECT [options]",
    .summary = "train a network on labelled and, if wanted, unlabelled samples",
    .about =
        "Trains a network and writes it to DIR. If there are test samples, prints "
        "accuracy, loss and calibration error on them at the end. Standard error has a "
        "line for each epoch, or for 200 of them if there are more and each is short; on "
        "a terminal it is rewritten in place.\n\n"
        "The same flags, seed and number of threads give the same weights, to the bit. "
        "Ctrl-C saves and stops (a second one quits at once); --resume continues to the "
        "weights that an uninterrupted training would have given.\n\n"
        "With the folder of a project ('scant new'), trains a model on its labels and "
        "prints its accuracy on the audit set, with a 95% interval; only --seed, "
        "--threads, --memory, --quiet, --progress and --format apply. The exit status is "
        "10 if the stop rule holds: more labels are unlikely to help.",
    .operand = CLI_PROJECT,
    .tables = {NET_DATA_FLAGS(train_args, net), CLI_FLAGS(flags),
               NET_MODEL_FLAGS(train_args, net),
               CLI_SHARED(scant_train_options, AT(train)),
               NET_COMMON_FLAGS(train_args, net.common)},
    .examples =
        {
            {"Two half circles of points, in a second:",
             "scant train --data moons --model mlp --epochs 40 --out moons"},
            {"A small convolutional network on Fashion-MNIST:",
             "scant train --data fashion-mnist --model lenet5 --epochs 5 --out run"},
            {"Photographs, starting from pretrained weights:",
             "scant train --data photos/ --model mobilenetv2 --weights "
             "imagenet.safetensors "
             "--out run"},
            {"Ten labels in labels.npy, and -1 for the other samples:",
             "scant train --data images.npy --labels labels.npy --method fixmatch "
             "--model lenet5 --steps 2000 --batch 32 --out run"},
            {"A Bayesian network, for bald and acs-fw:",
             "scant train --data fashion-mnist --model lenet5 --bayes variational "
             "--optimizer adam --epochs 5 --out run; scant embed --data fashion-mnist "
             "--from run "
             "--samples-out s.npy; scant select bald --batch 100 --samples s.npy"},
            {"Continue after Ctrl-C or a power cut:", "scant train --resume --out run"},
            {"A model of a project's labels so far:", "scant train birds"},
        },
    .args_size = sizeof(train_args),
    .defaults = defaults,
    .run = run,
};
