/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant embed`: writes a trained network's outputs for samples as .npy files. Whether
 * files can be written is checked before the work; none appears before its end.
 */
#include "cli/embed.h"

#include <sys/stat.h>

#define AT(field) offsetof(embed_args, field)

static const scant_option flags[] = {
    OPT_FILES("member", "DIR|FILE", AT(members), NET_NETWORK,
              "another network, named as for --from or --weights: predictions are those "
              "of the ensemble (repeatable)"),
    OPT_NAME("model", "NAME", cli_model_name, NULL, AT(net.model), NET_NETWORK,
             "the model of --weights, if another program wrote them"),
    OPT_FILE("out", "H.npy", AT(arrays[EMBED_FEATURES]), NET_OUTPUT,
             "n x d features: the input of the last layer"),
    OPT_FILE("probs", "P.npy", AT(arrays[EMBED_PROBS]), NET_OUTPUT,
             "n x C class probabilities"),
    OPT_FILE("logits", "Z.npy", AT(arrays[EMBED_LOGITS]), NET_OUTPUT, "n x C logits"),
    OPT_FILE("calibrated", "Q.npy", AT(arrays[EMBED_CALIBRATED]), NET_OUTPUT,
             "n x C class probabilities softmax(logits / T), with --temperature"),
    OPT_TEXT("temperature", "T|fit", NULL, AT(temperature), NET_OUTPUT,
             "the temperature of --calibrated and --evaluate; fit: the T that maximises "
             "the likelihood of the samples of --calibrate-on"),
    OPT_ARRAY(
        "calibrate-on", "IDX", AT(calibrate_on), NET_OUTPUT,
        "labelled samples (rows of --data, from 0) that the network was not trained "
        "on, for --temperature fit"),
    OPT_FILE("gradients", "G.npy", AT(arrays[EMBED_GRADIENTS]), NET_OUTPUT,
             "n x K sketches of the gradients of the loss at the predicted class; of a "
             "regression: of the output"),
    OPT_COUNT(
        "sketch", "K", NULL, AT(sketch), 1, 1 << 24, NET_OUTPUT,
        "numbers per sketch (default 512): inner products are right to about 1/sqrt(K)"),
    OPT_CHOICE("layers", "all|last", NULL, AT(layers), NET_OUTPUT,
               "the layers of --gradients (default all)"),
    OPT_FILE("samples-out", "S.npy", AT(arrays[EMBED_SAMPLES]), NET_OUTPUT,
             "m x n x C class probabilities of each posterior draw (--samples) and "
             "member, for "
             "bald, batchbald and acs-fw"),
    OPT_ARRAY("labelled", "IDX", AT(labelled), NET_OUTPUT,
              "samples whose gradients are taken at their label"),
    OPT_FILE("labels-out", "Y.npy", AT(labels_out), NET_OUTPUT, "n labels, as int64"),
    OPT_FILE("ids-out", "FILE", AT(ids_out), NET_OUTPUT,
             "the samples' names, one per line (of images: their files)"),
    OPT_FILE("classes-out", "C.csv", AT(classes_out), NET_OUTPUT,
             "the class of each column: label,name"),
    OPT_SWITCH(
        "evaluate", NULL, AT(evaluate), NET_OUTPUT,
        "print loss, accuracy and calibration error on the samples that have labels"),
    OPT_CHOICE("format", "text|json", NULL, AT(format), NET_OUTPUT,
               "of the output of --evaluate"),
    OPT_COUNT("batch", "N", NULL, AT(batch), 1, 1 << 20, NET_COMMON,
              "samples per block at most (default 1024)"),
};

/* ---- checking flags ---------------------------------------------------------------- */

static bool writes(const embed_args *a) {
    bool any = a->labels_out || a->ids_out || a->classes_out;
    for (int i = 0; i < EMBED_ARRAYS; i++) any = any || a->arrays[i];
    return any;
}

static void check_call(const cli_command *command, const embed_args *a) {
    if (!a->net.data) cli_usage(command, "--data is missing: the samples");
    if (!a->net.from && !a->net.weights)
        cli_usage(command, "which network? --from DIR of a training, or --weights FILE "
                           "with --model NAME");
    net_check_args(command, &a->net);
    if (!writes(a) && !a->evaluate)
        cli_usage(command, "nothing to write: give --out, --probs, --logits or another "
                           "output, or --evaluate");
    if (!a->arrays[EMBED_GRADIENTS] && (a->sketch || a->layers || a->labelled))
        cli_usage(command, "--sketch, --layers and --labelled need --gradients");
    if (a->arrays[EMBED_CALIBRATED] && !a->temperature)
        cli_usage(command, "--calibrated needs --temperature");
    if (a->temperature && !a->arrays[EMBED_CALIBRATED] && !a->evaluate)
        cli_usage(command, "--temperature needs --calibrated or --evaluate");
    if (net_is(a->temperature, "fit") && !a->calibrate_on)
        cli_usage(command, "--temperature fit needs --calibrate-on");
    if (a->calibrate_on && !net_is(a->temperature, "fit"))
        cli_usage(command, "--calibrate-on needs --temperature fit");
    if (a->format && !a->evaluate) cli_usage(command, "--format needs --evaluate");
}

static void check_files(const embed_job *job) {
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
    const cli_path ins[] = {{"labelled", a->labelled}, {"calibrate-on", a->calibrate_on}};
    net_check_outputs(job->net.command, &a->net, outs, CLI_COUNT_OF(outs), ins,
                      CLI_COUNT_OF(ins));
}

/* ---- the network and the samples --------------------------------------------------- */

static void open_members(embed_job *job) {
    const cli_files *members = &job->args.members;
    struct stat info;
    for (size_t i = 0; i < members->count; i++) {
        const char *path = members->items[i];
        if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
            path = cli_format("%s/weights.safetensors", path);
        scant_net *member = net_open(&job->net, &job->args.net, path, job->data);
        scant_status joined = scant_net_join(job->network, member);
        if (joined != SCANT_OK) scant_net_free(member);
        net_try(&job->net, joined);
    }
}

static void check_network(const embed_job *job) {
    const embed_args *a = &job->args;
    size_t n;
    const char *flag = a->arrays[EMBED_PROBS]        ? "probs"
                       : a->arrays[EMBED_CALIBRATED] ? "calibrated"
                       : a->arrays[EMBED_SAMPLES]    ? "samples-out"
                                                     : NULL;
    if (a->classes_out && !net_class_names(job->network, NULL, &n))
        cli_die(CLI_BAD_INPUT, "--classes-out: the network's classes have no names, as "
                               "the samples that it was trained on had none");
    if (a->arrays[EMBED_SAMPLES] && scant_net_draws(job->network) == 1)
        cli_die(CLI_BAD_INPUT,
                "--samples-out needs a network with several posterior draws (trained "
                "with --bayes; --samples 2 or more) or an ensemble (--member)");
    if (flag && scant_net_classes(job->network) == 1)
        cli_die(CLI_BAD_INPUT,
                "--%s needs classes, but the network has one output, the number that it "
                "predicts: --logits writes that",
                flag);
    if (a->labelled && scant_net_classes(job->network) == 1)
        cli_die(CLI_BAD_INPUT, "--labelled needs classes: the gradients of a regression "
                               "are those of its output, which no label changes");
}

/* Marks the samples of --labelled. */
static void read_labelled(embed_job *job) {
    const net_args *a = &job->args.net;
    size_t count, *rows = net_read_rows(&job->net, job->args.labelled, job->data, &count);
    if (!rows) return;
    net_check_labels(net_labels_file(a), "the network has",
                     scant_net_classes(job->network), job->data, rows, count);
    job->labelled = cli_calloc(scant_data_count(job->data), sizeof *job->labelled);
    for (size_t i = 0; i < count; i++) job->labelled[rows[i]] = true;
}

static void check_samples(const embed_job *job) {
    const embed_args *a = &job->args;
    bool numbers = scant_data_targets(job->data) != NULL;
    const char *flag = a->labels_out             ? "labels-out"
                       : a->labelled             ? "labelled"
                       : a->calibrate_on         ? "calibrate-on"
                       : a->evaluate && !numbers ? "evaluate"
                                                 : NULL;
    if (a->labels_out && numbers)
        cli_die(CLI_BAD_INPUT,
                "--labels-out needs classes, but the labels of %s are numbers to predict",
                a->net.data);
    if (flag && !scant_data_labels(job->data))
        cli_die(CLI_BAD_INPUT, "%s has no labels: --%s needs --labels FILE", a->net.data,
                flag);
    if (a->ids_out && !scant_data_sample_name(job->data, 0))
        cli_die(CLI_BAD_INPUT, "%s: its samples have no names for --ids-out",
                a->net.data);
}

static void run(const cli_call *call) {
    embed_job *job = cli_calloc(1, sizeof *job);
    embed_args *a = &job->args;
    *a = *(const embed_args *)call->args;
    check_call(call->command, a);
    net_begin(&job->net, call->command, &a->net.common, embed_progress);
    check_files(job);
    net_open_both(&job->net, &a->net, &job->network, &job->data);
    open_members(job);
    job->rows = net_read_rows(&job->net, a->net.indices, job->data, &job->n);
    if (!job->rows) job->n = scant_data_count(job->data);
    check_network(job);
    check_samples(job);
    embed_match(job);
    read_labelled(job);
    if (a->temperature) embed_fit(job);
    if (writes(a)) embed_run(job);
    if (a->evaluate) embed_evaluate(job);
}

const cli_command cli_cmd_embed = {
    .name = "embed",
    .synopsis = "--data SPEC --from DIR --out H.npy [options]",
    .summary = "write a network's features, probabilities or gradients",
    .about =
        "Runs a trained network over samples and writes its outputs as .npy files of "
        "float32, one row per sample, in the order of the data (or of --indices). "
        "Samples are read and written block by block, so neither they nor the files "
        "need fit in memory. Files appear at the end, complete, or not at all.\n\n"
        "--evaluate compares the network with the samples' labels. If both the network "
        "and the samples have class names (folders, tables), labels are matched by "
        "name.",
    .operand = CLI_NOTHING,
    .tables = {NET_DATA_FLAGS(embed_args, net), NET_OPEN_FLAGS(embed_args, net),
               CLI_FLAGS(flags), NET_MODEL_FLAGS(embed_args, net),
               NET_COMMON_FLAGS(embed_args, net.common)},
    .examples =
        {
            {"The outputs of a network that 'scant train' trained, and what to label "
             "next:",
             "scant embed --data pool.npy --from run --out h.npy --probs p.npy; "
             "scant select badge --batch 100 --features h.npy --probs p.npy"},
            {"Photographs through a pretrained network, with their names:",
             "scant embed --data photos/ --model mobilenetv2 --weights "
             "imagenet.safetensors "
             "--out h.npy --ids-out names.txt"},
            {"An ensemble of five networks, trained with different seeds:",
             "scant embed --data pool.npy --from run1 --member run2 --member run3 "
             "--member run4 "
             "--member run5 --samples-out s.npy"},
            {"How good a trained network is on other samples:",
             "scant embed --data test.npy --labels y.npy --from run --evaluate"},
        },
    .args_size = sizeof(embed_args),
    .run = run,
};
