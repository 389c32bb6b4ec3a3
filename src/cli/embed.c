/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant embed`: what a trained network says of samples, as .npy files for `scant select`
 * or anybody else. All files are opened before the work, and none appears before its end.
 */
#include "cli/embed.h"
#include "scant/train.h"

#include <stdlib.h>
#include <string.h>

#define AT(field) offsetof(embed_args, field)

static const scant_option flags[] = {
    OPT_CHOICE("part", "train|test", NULL, AT(part), NET_SAMPLES,
               "of data that has two (default train)"),
    OPT_FILE("from", "DIR", AT(from), NET_NETWORK,
             "the network that 'scant train' left in DIR"),
    OPT_FILE("weights", "FILE", AT(model.weights), NET_NETWORK, "or a safetensors file"),
    OPT_FILES(
        "member", "DIR|FILE", AT(members), NET_NETWORK,
        "a further network, as --from or --weights would name it, of an ensemble, whose "
        "predictions are averaged (repeatable)"),
    OPT_NAME("model", "NAME", cli_model_name, NULL, AT(model.name), NET_NETWORK,
             "which network --weights are of, where another program wrote them"),
    OPT_FILE("out", "H.npy", AT(arrays[EMBED_FEATURES]), NET_OUTPUT,
             "n x d features: what goes into the last layer"),
    OPT_FILE("probs", "P.npy", AT(arrays[EMBED_PROBS]), NET_OUTPUT,
             "n x C class probabilities"),
    OPT_FILE("logits", "Z.npy", AT(arrays[EMBED_LOGITS]), NET_OUTPUT, "n x C logits"),
    OPT_FILE("calibrated", "Q.npy", AT(arrays[EMBED_CALIBRATED]), NET_OUTPUT,
             "n x C class probabilities softmax(logits / T), with --temperature"),
    OPT_TEXT("temperature", "T|fit", NULL, AT(temperature), NET_OUTPUT,
             "of --calibrated and, too, of --evaluate; fit: T of the greatest likelihood "
             "on the "
             "samples of "
             "--calibrate-on"),
    OPT_ARRAY("calibrate-on", "IDX", AT(calibrate_on), NET_OUTPUT,
              "labelled samples (rows of --data, counted from 0) that the network was "
              "not trained "
              "on, for --temperature fit"),
    OPT_FILE("gradients", "G.npy", AT(arrays[EMBED_GRADIENTS]), NET_OUTPUT,
             "n x K sketches of the loss's gradients, at the class predicted"),
    OPT_COUNT(
        "sketch", "K", NULL, AT(sketch), 1, 1 << 24, NET_OUTPUT,
        "numbers a sketch (default 512): inner products are right to about 1/sqrt(K)"),
    OPT_CHOICE("layers", "all|last", NULL, AT(layers), NET_OUTPUT,
               "whose gradients (default all)"),
    OPT_FILE(
        "samples-out", "S.npy", AT(arrays[EMBED_SAMPLES]), NET_OUTPUT,
        "m x n x C class probabilities, under each draw of --samples and of each member: "
        "what bald, batchbald and acs-fw read"),
    OPT_ARRAY("labelled", "IDX", AT(labelled), NET_OUTPUT,
              "samples whose labels are known: their gradients are taken at the label"),
    OPT_FILE("labels-out", "Y.npy", AT(labels_out), NET_OUTPUT, "n labels, as int64"),
    OPT_FILE("ids-out", "FILE", AT(ids_out), NET_OUTPUT,
             "the samples' names, one a line (of pictures: their files)"),
    OPT_FILE("classes-out", "C.csv", AT(classes_out), NET_OUTPUT,
             "which column is which class: label,name"),
    OPT_SWITCH(
        "evaluate", NULL, AT(evaluate), NET_OUTPUT,
        "print loss, accuracy and calibration error on the samples that have labels"),
    OPT_CHOICE("format", "text|json", NULL, AT(format), NET_OUTPUT,
               "of what --evaluate prints"),
    OPT_COUNT("batch", "N", NULL, AT(batch), 1, 1 << 20, NET_MEANS,
              "samples read, run and written at a time, at most (default 1024)"),
};

static const cli_example examples[] = {
    {"What a training of 'scant train' says of its samples, and then which to label:",
     "scant embed --data pool.npy --from run --out h.npy --probs p.npy; "
     "scant select badge --batch 100 --features h.npy --probs p.npy"},
    {"Photographs through a pretrained network, with their names:",
     "scant embed --data photos/ --model mobilenetv2 --weights imagenet.safetensors "
     "--out h.npy --ids-out names.txt"},
    {"Five networks, trained with five seeds, that may disagree:",
     "scant embed --data pool.npy --from run1 --member run2 --member run3 --member run4 "
     "--member run5 --samples-out s.npy"},
    {"How good a trained network is on other samples:",
     "scant embed --data test.npy --labels y.npy --from run --evaluate"},
};

/* ---- the call ---------------------------------------------------------------------- */

static net_call call_of(embed_job *job) {
    embed_args *a = &job->args;
    return (net_call){&a->samples, &job->given, &a->model, &a->means, a->from, a->part};
}

static bool writes(const embed_args *a) {
    bool any = a->labels_out || a->ids_out || a->classes_out;
    for (int i = 0; i < EMBED_ARRAYS; i++) any = any || a->arrays[i];
    return any;
}

/* What is of an output that is missing, or missing to one that is there. */
static int check_outputs(const embed_job *job) {
    const embed_args *a = &job->args;
    const cli_command *command = job->net.command;
    bool fit = a->temperature && strcmp(a->temperature, "fit") == 0;
    if (!writes(a) && !a->evaluate)
        return cli_usage(command, "nothing to write: give --out, --probs, --logits or "
                                  "another output, or --evaluate");
    if (!a->arrays[EMBED_GRADIENTS] && (a->sketch || a->layers || a->labelled))
        return cli_usage(command, "--sketch, --layers and --labelled are of --gradients, "
                                  "which is missing");
    if (!a->arrays[EMBED_CALIBRATED] != !a->temperature &&
        !(a->temperature && a->evaluate))
        return cli_usage(command, "--calibrated and --temperature go together");
    if (fit != (a->calibrate_on != NULL))
        return cli_usage(command, "--temperature fit and --calibrate-on go together");
    if (a->format && !a->evaluate)
        return cli_usage(command, "--format is of what --evaluate prints");
    return CLI_DONE;
}

static int check_call(embed_job *job) {
    const embed_args *a = &job->args;
    const cli_command *command = job->net.command;
    if (!a->samples.spec)
        return cli_usage(command, "--data is missing: what to read out");
    if (!a->from && !a->model.weights)
        return cli_usage(command, "which network? --from DIR of a training, or --weights "
                                  "FILE with --model NAME");
    net_call call = call_of(job);
    int status = net_check_from(command, &call);
    return status == CLI_DONE ? check_outputs(job) : status;
}

static int check_files(const embed_job *job) {
    const embed_args *a = &job->args;
    const cli_path outs[] = {{"out", a->arrays[EMBED_FEATURES]},
                             {"probs", a->arrays[EMBED_PROBS]},
                             {"logits", a->arrays[EMBED_LOGITS]},
                             {"gradients", a->arrays[EMBED_GRADIENTS]},
                             {"labels-out", a->labels_out},
                             {"ids-out", a->ids_out},
                             {"classes-out", a->classes_out},
                             {"calibrated", a->arrays[EMBED_CALIBRATED]},
                             {"samples-out", a->arrays[EMBED_SAMPLES]}};
    const cli_path ins[] = {
        {"data", a->samples.spec},       {"labels", a->samples.opts.labels},
        {"indices", a->samples.indices}, {"weights", a->model.weights},
        {"labelled", a->labelled},       {"calibrate-on", a->calibrate_on}};
    int status = cli_check_overwrites(job->net.command, outs, CLI_COUNT_OF(outs), ins,
                                      CLI_COUNT_OF(ins));
    if (status == CLI_DONE)
        status = net_check_training(job->net.command, a->from, outs, CLI_COUNT_OF(outs));
    for (size_t i = 0; i < CLI_COUNT_OF(outs) && status == CLI_DONE; i++)
        if (outs[i].path) status = cli_check_file(outs[i].path);
    return status;
}

/* ---- the network and the samples --------------------------------------------------- */

/* Further networks join the first. */
static int open_members(embed_job *job) {
    const cli_files *members = &job->args.members;
    net_call call = call_of(job);
    int status = CLI_DONE;
    for (size_t i = 0; i < members->count && status == CLI_DONE; i++) {
        scant_net *member = NULL;
        char *path = net_weights_of(members->items[i]);
        status = net_open_network(&job->net, &call, path, job->data, &member);
        free(path);
        if (status != CLI_DONE) break;
        scant_status joined = scant_net_join(job->network, member);
        if (joined == SCANT_OK) continue;
        scant_net_free(member);
        status = net_failed(&job->net, joined);
    }
    return status;
}

static int open_all(embed_job *job) {
    const embed_args *a = &job->args;
    net_call call = call_of(job);
    int status = net_open_both(&job->net, &call, &job->network, &job->data);
    if (status == CLI_DONE) status = open_members(job);
    if (status != CLI_DONE) return status;
    status = net_read_rows(&job->net, a->samples.indices, job->data, &job->rows, &job->n);
    if (!job->rows) job->n = scant_data_count(job->data);
    return status;
}

/* One output is a number, and softmax of it 1 whatever it is. */
static int check_network(const embed_job *job) {
    const embed_args *a = &job->args;
    const char *flag = a->arrays[EMBED_PROBS]        ? "probs"
                       : a->arrays[EMBED_CALIBRATED] ? "calibrated"
                       : a->arrays[EMBED_GRADIENTS]  ? "gradients"
                       : a->arrays[EMBED_SAMPLES]    ? "samples-out"
                                                     : NULL;
    if (a->classes_out && !embed_has_names(job)) return CLI_BAD_INPUT;
    if (a->arrays[EMBED_SAMPLES] && scant_net_draws(job->network) == 1) {
        cli_error("--samples-out: nothing can disagree, as the network says one thing of "
                  "a sample: it wants one trained with --bayes, and --samples 2 or more, "
                  "or an ensemble (--member)");
        return CLI_BAD_INPUT;
    }
    if (!flag || scant_net_classes(job->network) > 1) return CLI_DONE;
    cli_error("--%s is of classes, and the network has one output, a number it predicts: "
              "--logits writes that",
              flag);
    return CLI_BAD_INPUT;
}

/* Which samples' labels may be looked at, for gradients. */
static int read_labelled(embed_job *job) {
    size_t *rows, count;
    int status = net_read_rows(&job->net, job->args.labelled, job->data, &rows, &count);
    if (status == CLI_DONE)
        status =
            net_check_labels(&job->args.samples, job->network, job->data, rows, count);
    job->labelled = cli_calloc(scant_data_count(job->data), sizeof *job->labelled);
    for (size_t i = 0; status == CLI_DONE && i < count; i++)
        job->labelled[rows[i]] = true;
    free(rows);
    return status;
}

/* What outputs need of the samples. */
static int check_samples(embed_job *job) {
    const embed_args *a = &job->args;
    bool labels = scant_data_labels(job->data) != NULL;
    const char *flag = a->labels_out     ? "labels-out"
                       : a->labelled     ? "labelled"
                       : a->calibrate_on ? "calibrate-on"
                                         : NULL;
    if (a->labels_out && scant_data_targets(job->data)) {
        cli_error("--labels-out writes classes, and the labels of %s are numbers to "
                  "predict",
                  a->samples.spec);
        return CLI_BAD_INPUT;
    }
    if (!flag && a->evaluate && !scant_data_targets(job->data)) flag = "evaluate";
    if (flag && !labels) {
        cli_error("%s has no labels: --%s needs --labels FILE", a->samples.spec, flag);
        return CLI_BAD_INPUT;
    }
    if (a->ids_out && !scant_data_sample_name(job->data, 0)) {
        cli_error("%s: its samples have no names for --ids-out", a->samples.spec);
        return CLI_BAD_INPUT;
    }
    int status = embed_match(job);
    return status == CLI_DONE && a->labelled ? read_labelled(job) : status;
}

static int work(embed_job *job) {
    int status = net_begin(&job->net, job->net.command, &job->args.means, embed_progress);
    if (status == CLI_DONE) status = check_files(job);
    if (status == CLI_DONE) status = open_all(job);
    if (status == CLI_DONE) status = check_network(job);
    if (status == CLI_DONE) status = check_samples(job);
    if (status == CLI_DONE && job->args.temperature) status = embed_fit(job);
    if (status == CLI_DONE && writes(&job->args)) status = embed_run(job);
    if (status == CLI_DONE && job->args.evaluate) status = embed_judge(job);
    return status;
}

static int run(const cli_command *command, int argc, char **argv) {
    embed_job job = {.net = {.command = command}};
    cli_parsed parsed;
    int status = cli_parse(command, argc, argv, &job.args, &parsed);
    if (status == CLI_DONE && parsed.help) return cli_print_page(command);
    job.given = job.args.samples;
    if (status == CLI_DONE) status = check_call(&job);
    if (status == CLI_DONE) status = work(&job);
    embed_run_end(&job);
    scant_net_free(job.network);
    scant_data_free(job.data);
    free(job.rows);
    free(job.labelled);
    free(job.fitted);
    free(job.args.members.items);
    net_end(&job.net);
    return status;
}

const cli_command cli_cmd_embed = {
    .name = "embed",
    .synopsis = "--data SPEC --from DIR --out H.npy [options]",
    .summary = "read out a network's features, probabilities or gradients",
    .about =
        "Runs a trained network over samples and writes what it says of each as .npy "
        "files of float32, one row a sample, in the order of the data (or of "
        "--indices). Samples are read, run and written block by block, so neither they "
        "nor the files need fit in memory. Every file appears whole, in the end, or not "
        "at all.\n\n"
        "--evaluate judges the network by the samples' labels. Where both the network "
        "and "
        "the samples have names for their classes (folders, tables), labels are matched "
        "by name.",
    .operand = CLI_NOTHING,
    .tables = {NET_SAMPLES_FLAGS(embed_args, samples), CLI_FLAGS(flags),
               NET_MODEL_FLAGS(embed_args, model), NET_MEANS_FLAGS(embed_args, means)},
    .examples = examples,
    .n_examples = CLI_COUNT_OF(examples),
    .run = run,
};
