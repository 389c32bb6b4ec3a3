/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant train`: samples in, a folder with a trained network out.
 *
 * The call is checked first, then the folder, then the samples; the folder is touched
 * only when all of them are fine. Ctrl-C ends a training between two steps: weights and
 * state are written, and --resume goes on to the same weights as if nothing had happened.
 */
#include "cli/train.h"
#include "scant/train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define AT(field) offsetof(train_args, field)

/* headings of the library's tables, which these rows join */
static const char training_group[] = "Training";
static const char method_group[] = "Unlabelled samples (docs/semi-supervised.md)";

static const scant_option flags[] = {
    OPT_FILE(
        "test", "SPEC", AT(test), NET_SAMPLES,
        "samples to evaluate the network on at the end (default: the data's own test "
        "part, if it has one)"),
    OPT_ARRAY("test-labels", "FILE", AT(test_labels), NET_SAMPLES, "labels of --test"),
    OPT_COUNT("validation", "N", NULL, AT(validation), 1, (size_t)1 << 40, NET_SAMPLES,
              "size of the validation set, drawn by the seed, held out of the training "
              "and evaluated after every epoch"),
    OPT_ARRAY("sample-weights", "W", AT(sample_weights), NET_SAMPLES,
              "a factor of 0 or more for the loss of each sample of --indices, else of "
              "--data"),
    OPT_FILE("picks", "P.csv", AT(picks), NET_SAMPLES,
             "rows and weights as written by 'scant select', instead of --indices and "
             "--sample-weights"),
    OPT_SWITCH("draw-by-weight", NULL, AT(draw), NET_SAMPLES,
               "draw samples with probability proportional to their weight, instead of "
               "weighting the loss"),
    OPT_NAME("model", "NAME", cli_model_name, NULL, AT(model.name), NET_NETWORK,
             "(required)"),
    OPT_FILE("weights", "FILE", AT(model.weights), NET_NETWORK,
             "safetensors to start from; a last layer of other classes starts anew"),
    OPT_FILE(
        "warm", "STATE", AT(train.warm), training_group,
        "start from the state.safetensors of a training of the same network, perhaps "
        "with other labels: its weights, their average, momentum and stored "
        "pseudo-labels"),
    OPT_ARRAY("unlabelled", "FILE", AT(unlabelled), method_group,
              "rows that train without labels (default: all without one; fixmatch: all "
              "samples)"),
    OPT_ARRAY("darp-target", "T", AT(darp_target), method_group,
              "the class distribution for --darp: a number per class (default: uniform)"),
    OPT_FILE("out", "DIR", AT(out), NET_OUTPUT,
             "folder for weights.safetensors, state.safetensors (the checkpoint), "
             "log.jsonl, train.json and result.json (required)"),
    OPT_SWITCH("resume", NULL, AT(resume), NET_OUTPUT,
               "continue the training in DIR; its flags need not be repeated, and "
               "--epochs, --steps, --until and --patience may change"),
    OPT_SWITCH("overwrite", NULL, AT(overwrite), NET_OUTPUT,
               "start over in a DIR that holds a training"),
    OPT_CHOICE("format", "text|json", NULL, AT(format), NET_OUTPUT,
               "of the summary on standard output"),
};

static const cli_example examples[] = {
    {"Two half circles of points, in a second:",
     "scant train --data moons --model mlp --epochs 40 --out moons"},
    {"A small convolutional network on Fashion-MNIST:",
     "scant train --data fashion-mnist --model lenet5 --epochs 5 --out run"},
    {"Photographs, starting from weights that know photographs:",
     "scant train --data photos/ --model mobilenetv2 --weights imagenet.safetensors "
     "--out run"},
    {"Ten labels in labels.npy, and -1 for the other samples:",
     "scant train --data images.npy --labels labels.npy --method fixmatch "
     "--model lenet5 --steps 2000 --batch 32 --out run"},
    {"A network that knows how little it knows, for bald and acs-fw:",
     "scant train --data fashion-mnist --model lenet5 --bayes variational "
     "--optimizer adam --epochs 5 --out run; scant embed --data fashion-mnist --from run "
     "--samples-out s.npy; scant select bald --batch 100 --samples s.npy"},
    {"On with it, after Ctrl-C or a power cut:", "scant train --resume --out run"},
    {"A model of what people have labelled so far:", "scant train birds"},
};

/* ---- the call ---------------------------------------------------------------------- */

static int check_given(const train_job *job) {
    const train_args *a = &job->args;
    const cli_command *command = job->net.command;
    if (!a->samples.spec)
        return cli_usage(command, "--data is missing: what to train on");
    if (!a->model.name)
        return cli_usage(command,
                         "--model is missing ('scant models' lists them; lenet5 is for "
                         "28x28 images, resnet18 for larger ones, mlp for feature rows)");
    if (!a->test && a->test_labels)
        return cli_usage(command, "--test-labels needs --test");
    if (a->picks && (a->samples.indices || a->sample_weights))
        return cli_usage(command, "--picks cannot be combined with --indices or "
                                  "--sample-weights: it names rows and weights");
    if (a->draw && !a->picks && !a->sample_weights)
        return cli_usage(command, "--draw-by-weight needs --sample-weights or --picks");
    if (a->train.patience && !a->validation)
        return cli_usage(command, "--patience needs --validation N: samples to watch");
    if (a->resume && a->overwrite)
        return cli_usage(command, "--resume and --overwrite contradict each other");
    return CLI_DONE;
}

static int check_options(const train_job *job) {
    const train_args *a = &job->args;
    const cli_command *command = job->net.command;
    const scant_net_opts *net = &a->model.opts;
    bool adam = strcmp(a->train.optimizer, "adam") == 0;
    bool momentum = train_given(job, "momentum");
    if (train_given(job, "steps") && train_given(job, "epochs"))
        return cli_usage(command, "give --epochs or --steps, not both");
    if (adam && (momentum || train_given(job, "nesterov")))
        return cli_usage(command, "--%s applies to sgd: adam has none",
                         momentum ? "momentum" : "nesterov");
    if (train_given(job, "decay-weights-only") && !(a->train.weight_decay > 0))
        return cli_usage(command, "--decay-weights-only needs --weight-decay");
    if (net->bayes && strcmp(net->bayes, "dropout") == 0 && train_given(job, "dropout") &&
        !(net->dropout > 0))
        return cli_usage(command, "--bayes dropout drops features: --dropout is above 0");
    if (net->hidden && net->no_hidden)
        return cli_usage(command, "--hidden and --no-hidden contradict each other");
    return train_check_method(job);
}

static int check_call(const train_job *job) {
    int status = check_given(job);
    if (status == CLI_DONE) status = check_options(job);
    if (status == CLI_DONE)
        status = net_check_scaling(job->net.command, &job->args.model);
    return status;
}

/* ---- the work ---------------------------------------------------------------------- */

/* A last layer that was trained for other classes is one to start from like any other,
 * but perhaps not what was meant. */
static void compare_classes(const train_job *job) {
    size_t n = scant_net_classes(job->network);
    for (size_t i = 0; i < n; i++) {
        const char *was = scant_net_class_name(job->network, i);
        const char *is = scant_data_class_name(job->data, i);
        if (!was || (is && strcmp(was, is) == 0)) continue;
        if (!is) {
            cli_warning("%s: its class %zu is called '%s'; the samples have no names for "
                        "theirs, so that these stay",
                        job->args.model.weights, i, was);
            return;
        }
        cli_warning(
            "%s: class %zu was '%s' there and is '%s' here: the last layer starts "
            "from what it learned of others",
            job->args.model.weights, i, was, is);
        return;
    }
}

static int make_network(train_job *job) {
    const train_args *a = &job->args;
    size_t classes = a->samples.opts.regression ? 1 : scant_data_classes(job->data);
    scant_net_opts opts = net_options(&a->model, job->data, classes, a->means.seed);
    if (a->model.weights) {
        int status = net_open_weights(&job->net, &a->model, a->model.weights, &opts, true,
                                      &job->network);
        if (status == CLI_DONE && !job->net.ui.quiet) compare_classes(job);
        return status;
    }
    scant_status status =
        scant_net_create(job->net.ctx, a->model.name, &opts, &job->network);
    if (status != SCANT_OK) return net_failed(&job->net, status);
    return net_set_scaling(&job->net, &a->model, job->network);
}

/* Before the training, not after it. */
static int check_test(const train_job *job) {
    const net_test test = {.labels = job->args.test_labels,
                           .data = job->test,
                           .rows = job->test_rows,
                           .n = job->n_test};
    if (!job->test) return CLI_DONE;
    return net_check_test(&test, job->network, scant_net_classes(job->network));
}

static void progress(void *user, const char *phase, double fraction) {
    train_job *job = user;
    if (!job->training) cli_ui_progress(&job->net.ui, phase, fraction);
}

static void report(void *user, const scant_train_state *state) {
    train_job *job = user;
    if (!job->reported) {
        job->first_step = state->step - 1;
        train_forget_old(job);
        train_open_log(job, state->epoch);
    }
    job->reported = true;
    bool told = state->epoch_ended && train_log_epoch(job, state);
    train_show(job, state, told);
}

static const char ending[] =
    "\nscant: finishing this step, then saving; Ctrl-C again quits without\n";

static scant_status train(train_job *job, const char *checkpoint) {
    const train_args *a = &job->args;
    scant_train_opts opts = a->train;
    opts.rows = job->rows;
    opts.n_rows = job->n_rows;
    opts.weights = job->weights;
    opts.draw = a->draw;
    opts.valid = job->valid ? job->data : NULL;
    opts.valid_rows = job->valid;
    opts.n_valid_rows = job->n_valid;
    opts.seed = a->means.seed;
    opts.checkpoint = checkpoint;
    opts.resume = a->resume;
    opts.user = job;
    opts.report = report;
    opts.unlabelled = job->unlabelled;
    opts.n_unlabelled = job->n_unlabelled;
    opts.ssl.darp_target = job->darp_target;
    job->training = true;
    if (!job->net.ui.quiet) cli_signals_say(job->net.ui.terminal ? ending : ending + 1);
    scant_status status = scant_net_train(job->network, job->data, &opts, &job->state);
    job->training = false;
    cli_signals_say(NULL);
    cli_ui_clear(&job->net.ui);
    return status;
}

static int save(train_job *job) {
    char *path = train_path(job, "weights.safetensors");
    scant_status status = scant_net_save(job->network, path);
    free(path);
    return status == SCANT_OK ? CLI_DONE : net_failed(&job->net, status);
}

/* Weights are saved first: an hour's work outlasts whatever comes after. */
/* By the test samples; calibrated, too, where there are others to fit a temperature to.
 */
static scant_status judge(train_job *job) {
    if (!job->n_valid || scant_data_targets(job->data))
        return scant_net_evaluate(job->network, job->test, job->test_rows, job->n_test,
                                  &job->judged);
    scant_evaluation valid;
    scant_status status =
        scant_net_evaluate(job->network, job->data, job->valid, job->n_valid, &valid);
    if (status == SCANT_OK)
        status =
            scant_net_evaluate_at(job->network, job->test, job->test_rows, job->n_test,
                                  valid.temperature, &job->judged, &job->scaled);
    job->has_scaled = status == SCANT_OK;
    return status;
}

static int finish(train_job *job, scant_status trained) {
    bool went =
        trained == SCANT_OK || job->state.step > 0; /* there is something to save */
    if (trained != SCANT_OK && trained != SCANT_ECANCELLED) {
        /* the last good weights; in the first epoch, those that were drawn */
        bool good = trained == SCANT_EINPUT ? job->state.epoch > 1 : job->state.step > 0;
        if (good) save(job);
        int status = net_failed(&job->net, trained);
        if (trained == SCANT_ENOMEM)
            cli_note("a smaller --batch (it is %zu) or a larger --memory helps",
                     job->args.train.batch);
        if (!job->state.step) train_undo_dir(job);
        return status;
    }
    if (!went && job->aside) { /* the training that was there is there again */
        train_undo_dir(job);
        cli_error("interrupted before the first step");
        return CLI_INTERRUPTED;
    }
    int status = went ? save(job) : CLI_DONE;
    if (trained == SCANT_ECANCELLED && status == CLI_DONE) {
        cli_error("interrupted after step %zu of %zu; 'scant train --resume --out %s' "
                  "goes on",
                  job->state.step, job->state.steps, job->args.out);
        return CLI_INTERRUPTED;
    }
    if (status != CLI_DONE) return status;
    if (job->test) {
        scant_status judged = judge(job);
        if (judged != SCANT_OK) return net_failed(&job->net, judged);
        cli_ui_clear(&job->net.ui);
        job->has_judged = true;
    }
    train_log_end(job, NULL);
    return train_print_result(job);
}

static int work(train_job *job) {
    bool finished = false;
    int status = net_begin(&job->net, job->net.command, &job->args.means, progress);
    if (status == CLI_DONE) status = train_open_samples(job);
    if (status == CLI_DONE) status = make_network(job);
    if (status == CLI_DONE) status = check_test(job);
    if (status == CLI_DONE) status = train_begin_dir(job, &finished);
    if (status != CLI_DONE || finished) return status;
    char *checkpoint = train_path(job, "state.safetensors");
    scant_status trained = train(job, checkpoint);
    free(checkpoint);
    if (trained == SCANT_ECANCELLED)
        train_log_end(job, NULL);
    else if (trained != SCANT_OK)
        train_log_end(job, scant_ctx_errmsg(job->net.ctx));
    return finish(job, trained);
}

static int run(const cli_command *command, int argc, char **argv) {
    train_job job = {
        .old_log = CLI_TEXT,
        .net = {.command = command},
        .seen = cli_calloc(cli_flag_find(command, ""), sizeof(bool)),
    };
    cli_parsed parsed;
    scant_train_defaults(NULL, NULL, &job.args.train);
    int status = cli_parse_seen(command, argc, argv, &job.args, &parsed, job.seen);
    if (status == CLI_DONE && parsed.help) {
        free(job.seen);
        return cli_print_page(command);
    }
    if (status == CLI_DONE && parsed.operand) {
        status = train_project(command, &job.args, job.seen, parsed.operand);
        free(job.seen);
        return status;
    }
    if (status == CLI_DONE && !job.args.out)
        status = cli_usage(command, "--out is missing: a folder for the training");
    if (status == CLI_DONE) status = train_look(&job);
    if (status == CLI_DONE) train_settle_method(&job);
    if (status == CLI_DONE) status = check_call(&job);
    if (status == CLI_DONE) status = work(&job);
    if (job.log) fclose(job.log);
    scant_net_free(job.network);
    scant_data_free(job.test);
    scant_data_free(job.data);
    free(job.rows);
    free(job.weights);
    free(job.valid);
    free(job.unlabelled);
    free(job.darp_target);
    free(job.test_rows);
    free(job.seen);
    json_decref(job.stored);
    scant__text_end(&job.old_log);
    net_end(&job.net);
    return status;
}

const cli_command cli_cmd_train = {
    .name = "train",
    .synopsis = "--data SPEC --model NAME --out DIR [options]",
    .also = "PROJECT [options]",
    .summary = "train a network, on labelled samples and with others that have none",
    .about =
        "Trains a network and keeps it in DIR. Where there are samples to test with, "
        "prints accuracy, loss and calibration error on them in the end. A line on "
        "standard error tells of every epoch, or of 200 where there are more and each is "
        "short; on a terminal it is rewritten in place.\n\n"
        "The same flags, seed and number of threads give the same weights, to the bit. "
        "Ctrl-C saves and stops (a second one quits at once); --resume goes on to the "
        "weights that an unbroken training would have given.\n\n"
        "With the folder of a project ('scant new') instead, trains a model on its "
        "labels "
        "and prints its accuracy on the audited items, with a 95% interval; --seed, "
        "--threads, --memory, --quiet, --progress and --format are the flags then. Exit "
        "status 10 where the stop rule holds: more labels would bring little.",
    .operand = CLI_PROJECT,
    .tables = {NET_SAMPLES_FLAGS(train_args, samples), CLI_FLAGS(flags),
               NET_MODEL_FLAGS(train_args, model),
               CLI_SHARED(scant_train_options, AT(train)),
               NET_MEANS_FLAGS(train_args, means)},
    .examples = examples,
    .n_examples = CLI_COUNT_OF(examples),
    .run = run,
};
