/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of training options: a row each, with its default. Flags of `scant train`,
 * keys of experiments, project settings, help, the manual and the metadata of a training
 * are generated from it. The learning rate's default depends on the optimizer: train.h
 * has both. A training method may have defaults of its own (src/ssl).
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "core/hash.h"
#include "core/option.h"
#include "nn/train.h"
#include "scant/train.h"

#define AT(field) offsetof(scant_train_opts, field)

static const char training[] = "Training";
static const char unlabelled[] = "Unlabelled samples (docs/semi-supervised.md)";

static const scant_option rows[] = {
    OPT_COUNT("epochs", "N", "10", AT(epochs), 1, 1 << 30, training,
              "passes over the training samples; methods other than supervised count "
              "passes over the unlabelled samples"),
    OPT_COUNT("steps", "N", "0", AT(steps), 0, 1e12, training,
              "batches to train on, instead of epochs; 0: train for the epochs"),
    OPT_COUNT("batch", "N", "128", AT(batch), 1, 1 << 20, training,
              "labelled samples per step"),
    OPT_CHOICE("optimizer", "sgd|adam", "sgd", AT(optimizer), training, "update rule"),
    OPT_ROW("lr", NUMBER, "RATE", NULL, AT(lr), training, "learning rate",
            .otherwise = NN_LR_TEXT, .max = INFINITY, .open = SCANT_OPEN_BOTH),
    OPT_NUMBER("momentum", "M", "0.9", AT(momentum), 0, 1, SCANT_OPEN_MAX, training,
               "momentum of sgd"),
    OPT_SWITCH("nesterov", "no", AT(nesterov), training, "Nesterov momentum"),
    OPT_NUMBER("beta2", "B", "0.999", AT(beta2), 0, 1, SCANT_OPEN_BOTH, training,
               "adam: decay of the mean of squared gradients"),
    OPT_NUMBER("weight_decay", "D", "0", AT(weight_decay), 0, INFINITY, SCANT_OPEN_MAX,
               training, "weight decay (L2 penalty)"),
    OPT_SWITCH("decay_weights_only", "no", AT(decay_weights_only), training,
               "no weight decay on biases and normalisation parameters"),
    OPT_CHOICE(
        "schedule", "constant|cosine|step|fixmatch|late", "constant", AT(schedule),
        training,
        "of the learning rate; step: a tenth at 1/2 and at 3/4; fixmatch: cos(7 pi t / "
        "16 T) at step t of T; late: a fifth at 4/5"),
    OPT_ROW("warmup", COUNT, "N|auto", "auto", AT(warmup), training,
            "steps over which the learning rate rises to its full value; auto: a tenth "
            "of the steps and at most " NN_WARMUP_TEXT
            " for networks with ReLU and without normalisation that start from initial "
            "weights, whose units may die in the first steps, else 0",
            .max = 1e12, .choices = "auto"),
    OPT_ROW("clip", NUMBER, "NORM|none", "none", AT(clip), training,
            "largest norm of the gradient", .max = INFINITY, .open = SCANT_OPEN_BOTH,
            .choices = "none"),
    OPT_NUMBER("norm_momentum", "M", "0.1", AT(norm_momentum), 0, 1, SCANT_OPEN_MIN,
               training,
               "weight of a batch in the running statistics of batch normalisation"),
    OPT_NUMBER("ema", "DECAY", "0", AT(ema), 0, 1, SCANT_OPEN_MAX, training,
               "decay of a moving average of the weights, which the network gets at the "
               "end; 0: no average"),
    OPT_NUMBER("until", "ACCURACY", "0", AT(until), 0, 1, 0, training,
               "stop after an epoch with this training accuracy; 0: never"),
    OPT_COUNT("until_extra", "N", "0", AT(until_extra), 0, 1 << 30, training,
              "epochs to train after the first one with the accuracy of until"),
    OPT_COUNT("patience", "N", "0", AT(patience), 0, 1 << 30, training,
              "stop after this many epochs without gain on the validation set and keep "
              "the best weights; 0: never"),
    OPT_ROW("loss", CHOICE, NULL, NULL, AT(loss), training,
            "cross-entropy or squared error; regression needs mse", .choices = "ce|mse",
            .otherwise = "ce; regression: mse"),
    OPT_CHOICE(
        "augment", "none|flip-crop|crop|noise|auto", "auto", AT(augment), training,
        "random changes of training samples: images are shifted (crop) and mirrored "
        "(flip-crop); feature rows get noise, with methods that use unlabelled "
        "samples; auto: none, with such methods crop or noise"),
    OPT_CHOICE(
        "method", "supervised|fixmatch|freematch|softmatch|mean-teacher|pi|pseudo-label",
        "supervised", AT(method), unlabelled,
        "training method; all but supervised learn from unlabelled samples too and "
        "have defaults of their own for the options above"),
    OPT_COUNT("mu", "N", "1", AT(ssl.mu), 1, 1 << 20, unlabelled,
              "unlabelled samples per labelled sample of a batch"),
    OPT_NUMBER("unlabelled_weight", "W", "1", AT(ssl.weight), 0, INFINITY, SCANT_OPEN_MAX,
               unlabelled, "weight of the loss of unlabelled samples"),
    OPT_NUMBER("threshold", "P", "0.95", AT(ssl.threshold), 0, 1, SCANT_OPEN_MIN,
               unlabelled, "least confidence of a pseudo-label that counts"),
    OPT_COUNT("ramp", "N", "0", AT(ssl.ramp), 0, 1e12, unlabelled,
              "steps over which unlabelled_weight rises; 0: 0.4 of all steps"),
    OPT_COUNT("cut", "PIXELS", "0", AT(ssl.cut), 0, 1 << 20, unlabelled,
              "side of the square that a strong view of an image hides; 0: half the "
              "image's side"),
    OPT_NUMBER("noise", "S", "0.3", AT(ssl.noise), 0, INFINITY, SCANT_OPEN_MAX,
               unlabelled, "noise added to feature rows, in standard deviations"),
    OPT_NUMBER("drop", "P", "0.2", AT(ssl.drop), 0, 1, SCANT_OPEN_MAX, unlabelled,
               "share of features that a strong view of a feature row loses"),
    OPT_SWITCH("align", "no", AT(ssl.align), unlabelled,
               "scale predictions for weak views so that their running mean becomes a "
               "given class distribution"),
    OPT_ROW("prediction_ema", NUMBER, "DECAY|auto", "auto", AT(ssl.prediction_ema),
            unlabelled,
            "decay of running means of predictions, which thresholds, weights and align "
            "follow; auto: 1 - 100 / steps, from 0.9 to 0.999",
            .max = 1, .open = SCANT_OPEN_MAX, .choices = "auto"),
    OPT_NUMBER("fairness", "W", "0.01", AT(ssl.fairness), 0, INFINITY, SCANT_OPEN_MAX,
               unlabelled, "weight of the fairness loss"),
    OPT_SWITCH("darp", "no", AT(ssl.darp), unlabelled,
               "refine pseudo-labels to a given class distribution (DARP)"),
    OPT_NUMBER("darp_alpha", "A", "2", AT(ssl.darp_alpha), 0, INFINITY, SCANT_OPEN_MAX,
               unlabelled,
               "entries that a class keeps, as a multiple of its count; 0: all"),
    OPT_COUNT("darp_every", "N", "10", AT(ssl.darp_every), 1, 1 << 30, unlabelled,
              "steps between refinements"),
    OPT_NUMBER("darp_warmup", "P", "0.4", AT(ssl.darp_warmup), 0, 1, 0, unlabelled,
               "share of all steps before the first refinement"),
};
enum { ROWS = sizeof rows / sizeof *rows };

const scant_option *scant_train_options(size_t *count) {
    *count = ROWS;
    return rows;
}

void nn_train_set(scant_train_opts *o, const char *key, const char *text) {
    const scant_option *row = scant__option_find(rows, ROWS, key);
    scant__value value;
    bool read = scant__option_read(row, text, &value);
    assert(read);
    if (read) scant__option_store(row, text, &value, o);
}

void nn_train_defaults(const char *optimizer, scant_train_opts *o) {
    *o = (scant_train_opts){0};
    for (size_t i = 0; i < ROWS; i++)
        if (rows[i].value) nn_train_set(o, rows[i].key, rows[i].value);
    if (optimizer) o->optimizer = optimizer;
    o->lr = strcmp(o->optimizer, "adam") == 0 ? NN_ADAM_LR : NN_SGD_LR;
}

uint64_t nn_train_hash(uint64_t hash, const scant_train_opts *o) {
    char number[SCANT__NUMBER];
    for (size_t i = 0; i < ROWS; i++) {
        if (scant__has_word("epochs steps until until_extra patience batch", rows[i].key))
            continue;
        const char *text = scant__option_text(&rows[i], o, number);
        hash = scant__hash(hash, text, strlen(text) + 1);
    }
    return hash;
}

scant_status nn_train_check(scant_ctx *ctx, const scant_train_opts *o) {
    if (!o->optimizer || !o->schedule) /* a zeroed struct */
        return scant__fail(ctx, SCANT_EUSAGE,
                           "the training options have no %s: fill them with "
                           "scant_train_defaults() first",
                           o->optimizer ? "schedule" : "optimizer");
    return scant__options_check(ctx, rows, ROWS, o);
}
