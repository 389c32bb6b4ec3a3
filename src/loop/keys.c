/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of keys: what an experiment may say, its defaults and ranges. What a build
 * learns later is a row more here; until then it is an unknown key or value.
 */
#include <math.h>
#include <string.h>

#include "core/near.h"
#include "core/number.h"
#include "loop/experiment.h"
#include "scant/train.h"

#define AT(field) offsetof(loop_settings, field)
#define MANY 1e15

/* section, key, default, what a value is, help; kind, place, range */
#define ROW(section, key, value, choices, help, kind, field, min, max)                   \
    { {section, key, value, choices, help}, kind, AT(field), min, max, NULL }

/* of one way of training alone */
#define OWN(method, key, value, choices, help, kind, field, min, max)                    \
    { {"train", key, value, choices, help}, kind, AT(field), min, max, method }

/* what several of them have: their names, and where */
#define MU(method, key, value, at)                                                       \
    OWN(method, key "_mu", value, "N",                                                   \
        "samples without labels for each labelled one of a batch", LOOP_COUNT,           \
        methods[at].mu, 1, 1 << 20)
#define WEIGHT(method, key, value, at)                                                   \
    OWN(method, key, value, "W", "of the loss of samples without labels", LOOP_NUMBER,   \
        methods[at].weight, 0, 1e9)
#define THRESHOLD(method, key, at)                                                       \
    OWN(method, key "_threshold", "0.95", "P",                                           \
        "pseudo-labels count where the network is as sure as that", LOOP_RATE,           \
        methods[at].threshold, 0, 1)
#define RAMP(method, key, at)                                                            \
    OWN(method, key "_ramp", "0", "N",                                                   \
        "steps over which that weight grows; 0: 0.4 of them all", LOOP_COUNT,            \
        methods[at].ramp, 0, 1e12)
#define NOISE(method, key, at)                                                           \
    OWN(method, key "_noise", "0.3", "S", "of rows of features, in their deviations",    \
        LOOP_NUMBER, methods[at].noise, 0, 1e9)

static const loop_key keys[LOOP_KEYS] = {
    ROW("data", "train", "", "SPEC",
        "samples to choose from: .npy, IDX, CIFAR's records, CSV, a folder of pictures, "
        "fashion-mnist, moons, blobs, waves or heavy",
        LOOP_TEXT, train, 0, 0),
    ROW("data", "train_labels", "", "FILE",
        "their labels, where they have none with "
        "them: .npy or IDX",
        LOOP_TEXT, train_labels, 0, 0),
    ROW("data", "test", "", "SPEC",
        "samples to judge networks by (else the data's own part to test with; else "
        "test_size samples of train, held out by seed 0)",
        LOOP_TEXT, test, 0, 0),
    ROW("data", "test_labels", "", "FILE", "their labels", LOOP_TEXT, test_labels, 0, 0),
    ROW("data", "pool", "0", "N",
        "only the first N of a shuffle by the run's seed are the pool; 0: all",
        LOOP_COUNT, pool, 0, MANY),
    ROW("data", "test_size", "0", "N",
        "only the first N of a shuffle by seed 0 are tested with; 0: all", LOOP_COUNT,
        test_size, 0, MANY),
    ROW("data", "validation", "0", "N",
        "taken out of the pool by the run's seed, for calibration and early stopping; 0: "
        "none",
        LOOP_COUNT, validation, 0, MANY),
    ROW("data", "size", "0", "PIXELS",
        "side that pictures of folders are brought to; 0: what the model is usually "
        "given",
        LOOP_COUNT, size, 0, 4096),
    ROW("data", "task", "classification", "classification|regression",
        "regression: labels are numbers to predict", LOOP_CHOICE, task, 0, 0),

    ROW("model", "name", "lenet5", "NAME", "'scant models' lists them", LOOP_MODEL, model,
        0, 0),
    ROW("model", "weights", "", "FILE", "safetensors to start from", LOOP_TEXT, weights,
        0, 0),
    ROW("model", "width", "0", "N", "of models that have one; 0: the model's own",
        LOOP_COUNT, width, 0, 1 << 20),
    ROW("model", "depth", "0", "N", "likewise", LOOP_COUNT, depth, 0, 100),
    ROW("model", "activation", "", "relu|leaky|tanh|sigmoid|swish|relu6",
        "instead of the model's own", LOOP_CHOICE, activation, 0, 0),
    ROW("model", "dropout", "0", "P",
        "before the last layer (wrn: within blocks, but with bayes = dropout, where 0 is "
        "the rate that weights were saved with, or else 0.5)",
        LOOP_NUMBER, dropout, 0, 0.99),
    ROW("model", "norm", "", "batch|folded|none", "normalisation, of models that have it",
        LOOP_CHOICE, norm, 0, 0),
    ROW("model", "stem", "", "small|original", "first layers of resnet18", LOOP_CHOICE,
        stem, 0, 0),
    ROW("model", "head", "", "small|full", "last layers of vgg", LOOP_CHOICE, head, 0, 0),

    ROW("model", "bayes", "none", "none|dropout|variational|ensemble",
        "networks that say several things of a sample: by what the last layer drops, by "
        "a law of its weights, or by being several (docs/bayesian.md)",
        LOOP_CHOICE, bayes, 0, 0),
    ROW("model", "samples", "0", "M",
        "how many things: draws of the last layer (0: 100), or members of the ensemble "
        "(0: 5)",
        LOOP_COUNT, samples, 0, 1e6),
    ROW("model", "prior", "1", "V", "variance of the weights' prior, of variational",
        LOOP_RATE, prior, 0, 1e9),
    ROW("model", "hidden", "own", "N",
        "width of a dense layer before the last one; 0: none; own: of variational 256 "
        "where the model's features come from planes, else none",
        LOOP_OWN, hidden, 0, 1 << 20),

    ROW("train", "method", "supervised",
        "supervised|fixmatch|mean-teacher|pi|pseudo-label",
        "how networks are trained: by labels alone, or by the rest of the pool, too; "
        "optimizer, lr, nesterov, weight_decay, decay_weights_only, batch, schedule, ema "
        "and augment are then the method's own where they are not given",
        LOOP_CHOICE, method, 0, 0),
    ROW("train", "optimizer", "sgd", "sgd|adam", "what takes the steps", LOOP_CHOICE,
        optimizer, 0, 0),
    ROW("train", "lr", "", "RATE|auto",
        "learning rate (0.01; adam: 0.001); auto: that, or the method's, times how the "
        "smallest eigenvalue of the labelled samples' kernel changes from round to round",
        LOOP_RATE, lr, 0, 1e9),
    ROW("train", "momentum", "0.9", "M", "of sgd", LOOP_NUMBER, momentum, 0, 0.999999),
    ROW("train", "nesterov", "no", "yes|no", "Nesterov's momentum", LOOP_SWITCH, nesterov,
        0, 0),
    ROW("train", "weight_decay", "0", "D", "pull of weights to 0", LOOP_NUMBER,
        weight_decay, 0, 1e9),
    ROW("train", "decay_weights_only", "no", "yes|no",
        "no decay of biases and normalisation", LOOP_SWITCH, decay_weights_only, 0, 0),
    ROW("train", "batch", "32", "N", "samples a step", LOOP_COUNT, batch, 1, 1 << 20),
    ROW("train", "schedule", "constant", "constant|cosine|step|fixmatch|late",
        "of the learning rate", LOOP_CHOICE, schedule, 0, 0),
    ROW("train", "warmup", "0", "N", "steps over which it grows to its full", LOOP_COUNT,
        warmup, 0, MANY),
    ROW("train", "clip", "0", "NORM", "of the gradient at most; 0: any", LOOP_NUMBER,
        clip, 0, 1e9),
    ROW("train", "norm_momentum", "0.1", "M",
        "of a batch in running statistics, where the network normalises", LOOP_RATE,
        norm_momentum, 0, 1),
    ROW("train", "ema", "0", "DECAY", "of an average of the weights; 0: none",
        LOOP_NUMBER, ema, 0, 0.9999999),
    ROW("train", "patience", "0", "N",
        "epochs without gain on the validation set that end a training; 0: none",
        LOOP_COUNT, patience, 0, 1 << 30),
    ROW("train", "loss", "", "ce|mse", "(ce; of regression mse)", LOOP_CHOICE, loss, 0,
        0),
    ROW("train", "epochs", "150", "N",
        "passes over the labelled samples; of other methods than supervised, over those "
        "that train without labels",
        LOOP_COUNT, epochs, 1, 1 << 30),
    ROW("train", "steps", "0", "N", "batches to train on, instead of epochs; 0: epochs",
        LOOP_COUNT, steps, 0, 1e12),
    ROW("train", "until", "0", "ACCURACY",
        "of training that ends it, epochs being the limit; 0: none", LOOP_NUMBER, until,
        0, 1),
    ROW("train", "reinit", "yes", "yes|no",
        "new weights each round; no: on from the last round's", LOOP_SWITCH, reinit, 0,
        0),
    ROW("train", "warm", "no", "yes|no",
        "go on with all that the last round's training had: weights, their average, "
        "what the optimizer keeps, stored pseudo-labels (reinit is no then)",
        LOOP_SWITCH, warm, 0, 0),
    ROW("train", "use_weights", "no", "yes|no|draw",
        "train with the weights that a strategy gives its picks: yes, as factors of the "
        "loss; draw, samples come with a probability by their weight",
        LOOP_CHOICE, use_weights, 0, 0),
    ROW("train", "initial_models", "1", "K",
        "train the initial network K times and go on with the one of median accuracy",
        LOOP_COUNT, initial_models, 1, 1000),
    ROW("train", "augment", "none", "none|flip-crop|crop|noise|auto",
        "pictures are flipped and shifted at random; noise: rows of features, by methods "
        "that learn from samples without labels; auto: none, by such methods crop or "
        "noise, whichever the samples take",
        LOOP_CHOICE, augment, 0, 0),
    MU("fixmatch", "fixmatch", "7", LOOP_FIXMATCH),
    WEIGHT("fixmatch", "fixmatch_lambda", "1", LOOP_FIXMATCH),
    THRESHOLD("fixmatch", "fixmatch", LOOP_FIXMATCH),
    OWN("fixmatch", "fixmatch_cut", "0", "PIXELS",
        "side of the square that a strong view of a picture hides; 0: half of it",
        LOOP_COUNT, methods[LOOP_FIXMATCH].cut, 0, 4096),
    NOISE("fixmatch", "fixmatch", LOOP_FIXMATCH),
    OWN("fixmatch", "fixmatch_drop", "0.2", "P",
        "part of its features that a strong view of a row of them loses", LOOP_NUMBER,
        methods[LOOP_FIXMATCH].drop, 0, 0.99),
    OWN("fixmatch", "darp", "no", "yes|no",
        "pseudo-labels are refined to a distribution of classes", LOOP_SWITCH, darp, 0,
        0),
    OWN("fixmatch", "darp_target", "", "FILE",
        "that: .npy of a number for each class; none: as many of each", LOOP_TEXT,
        darp_target, 0, 0),
    OWN("fixmatch", "darp_alpha", "2", "A",
        "entries that a class keeps, in parts of its count; 0: all", LOOP_NUMBER,
        darp_alpha, 0, 1e9),
    OWN("fixmatch", "darp_every", "10", "N", "steps between two refinements", LOOP_COUNT,
        darp_every, 1, 1 << 30),
    OWN("fixmatch", "darp_warmup", "0.4", "P", "the part of all steps before the first",
        LOOP_NUMBER, darp_warmup, 0, 1),
    MU("mean-teacher", "mean_teacher", "1", LOOP_MEAN_TEACHER),
    WEIGHT("mean-teacher", "mean_teacher_weight", "8", LOOP_MEAN_TEACHER),
    RAMP("mean-teacher", "mean_teacher", LOOP_MEAN_TEACHER),
    NOISE("mean-teacher", "mean_teacher", LOOP_MEAN_TEACHER),
    MU("pi", "pi", "1", LOOP_PI),
    WEIGHT("pi", "pi_weight", "20", LOOP_PI),
    RAMP("pi", "pi", LOOP_PI),
    NOISE("pi", "pi", LOOP_PI),
    MU("pseudo-label", "pseudo_label", "1", LOOP_PSEUDO_LABEL),
    WEIGHT("pseudo-label", "pseudo_label_weight", "1", LOOP_PSEUDO_LABEL),
    THRESHOLD("pseudo-label", "pseudo_label", LOOP_PSEUDO_LABEL),
    RAMP("pseudo-label", "pseudo_label", LOOP_PSEUDO_LABEL),
    NOISE("pseudo-label", "pseudo_label", LOOP_PSEUDO_LABEL),

    ROW("loop", "strategies", "random,badge", "NAME,NAME,...",
        "'scant strategies' lists them", LOOP_LIST, strategies, 0, 0),
    ROW("loop", "seeds", "0,1,2", "S,S,...", "a run each, of every strategy", LOOP_LIST,
        seeds, 0, 0),
    ROW("loop", "initial", "40", "N", "labelled at the start", LOOP_COUNT, initial, 0,
        MANY),
    ROW("loop", "initial_how", "random", "random|balanced|none",
        "balanced: as many of each class; none: nothing is labelled, and the untrained "
        "network picks first",
        LOOP_CHOICE, initial_how, 0, 0),
    ROW("loop", "batch", "40", "N", "labels a round", LOOP_COUNT, query, 1, MANY),
    ROW("loop", "rounds", "15", "N", "of picking, labelling, training", LOOP_COUNT,
        rounds, 0, 1000000),
    ROW("loop", "query_seed", "", "S",
        "a network that starts from this seed, trained beside, does the picking",
        LOOP_LIST, query_seed, 0, 0),
    ROW("loop", "theory", "last", "none|last|all",
        "figures of every round, in theory.csv: by the last layer's kernel, or by the "
        "whole network's",
        LOOP_CHOICE, theory, 0, 0),
    ROW("loop", "preset", "", "NAME", "a paper's options of its strategies", LOOP_LIST,
        preset, 0, 0),
};

const loop_key *loop_keys(void) { return keys; }

const scant_experiment_key *scant_experiment_key_at(size_t i) {
    return i < LOOP_KEYS ? &keys[i].info : NULL;
}

size_t loop_key_find(const char *section, const char *key) {
    size_t i = 0;
    while (i < LOOP_KEYS &&
           (strcmp(keys[i].info.section, section) || strcmp(keys[i].info.key, key)))
        i++;
    return i;
}

bool loop_section_known(const char *section) {
    for (size_t i = 0; i < LOOP_KEYS; i++)
        if (strcmp(keys[i].info.section, section) == 0) return true;
    return false;
}

/* ---- values ------------------------------------------------------------------------ */

static bool is_choice(const char *choices, const char *word) {
    size_t length = strlen(word);
    while (length) {
        size_t span = strcspn(choices, "|");
        if (span == length && memcmp(choices, word, length) == 0) return true;
        if (!choices[span]) return false;
        choices += span + 1;
    }
    return false;
}

bool loop_read_switch(const char *text, bool *out) {
    static const char *const words[] = {"no", "yes", "false", "true",
                                        "0",  "1",   "off",   "on"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(text, words[i]) == 0) {
            *out = i % 2;
            return true;
        }
    return false;
}

static bool read_number(const loop_key *key, const char *text, double *out) {
    double value;
    if (!scant__number_parse(text, &value) || !isfinite(value)) return false;
    if (key->kind == LOOP_RATE && !(value > 0)) return false;
    bool whole = key->kind == LOOP_COUNT || key->kind == LOOP_OWN;
    if (whole && (floor(value) != value || strpbrk(text, ".eE+-"))) return false;
    if (value < key->min || value > key->max) return false;
    *out = value;
    return true;
}

static scant_status wrong_number(scant_experiment *e, size_t i) {
    const loop_key *key = &keys[i];
    const char *what = key->kind == LOOP_COUNT ? "a whole number"
                       : key->kind == LOOP_OWN ? "own or a whole number"
                                               : "a number";
    if (key->at == AT(lr))
        return loop_wrong(e, e->origins[i],
                          "%s.%s is '%s', expected auto or a number above 0",
                          key->info.section, key->info.key, e->texts[i]);
    if (key->kind == LOOP_RATE && key->max < 1e9)
        return loop_wrong(e, e->origins[i],
                          "%s.%s is '%s', expected a number above 0 and at most %g",
                          key->info.section, key->info.key, e->texts[i], key->max);
    if (key->kind == LOOP_RATE)
        return loop_wrong(e, e->origins[i], "%s.%s is '%s', expected a number above 0",
                          key->info.section, key->info.key, e->texts[i]);
    if (key->max >= MANY)
        return loop_wrong(e, e->origins[i], "%s.%s is '%s', expected %s of at least %g",
                          key->info.section, key->info.key, e->texts[i], what, key->min);
    return loop_wrong(e, e->origins[i], "%s.%s is '%s', expected %s from %g to %.9g",
                      key->info.section, key->info.key, e->texts[i], what, key->min,
                      key->max);
}

static scant_status wrong_choice(scant_experiment *e, size_t i) {
    return loop_wrong(e, e->origins[i], "%s.%s is '%s', expected one of %s",
                      keys[i].info.section, keys[i].info.key, e->texts[i],
                      keys[i].info.choices);
}

static const char *model_name(const void *names, size_t i) {
    return ((const scant_model_info *const *)names)[i]->name;
}

static scant_status check_model(scant_experiment *e, size_t i) {
    size_t count;
    const scant_model_info *const *list = scant_models(&count);
    for (size_t k = 0; k < count; k++)
        if (strcmp(list[k]->name, e->texts[i]) == 0) return SCANT_OK;
    return loop_wrong(e, e->origins[i],
                      "model.name is '%s', which is no model; the nearest is '%s'",
                      e->texts[i], scant__nearest(e->texts[i], list, count, model_name));
}

static bool is_auto(const loop_key *key, const char *text) {
    return key->at == AT(lr) && strcmp(text, "auto") == 0;
}

static scant_status parse_key(scant_experiment *e, size_t i) {
    const loop_key *key = &keys[i];
    void *at = (char *)&e->set + key->at;
    const char *text = e->texts[i];
    double value;
    bool on;
    switch (key->kind) {
    case LOOP_CHOICE:
        if (is_choice(key->info.choices, "yes") && loop_read_switch(text, &on))
            text = e->texts[i] = on ? "yes" : "no";
        if (!is_choice(key->info.choices, text) && (*text || *key->info.value))
            return wrong_choice(e, i);
        break;
    case LOOP_MODEL:
        TRY(check_model(e, i));
        break;
    case LOOP_OWN:
        if (strcmp(text, "own") == 0) {
            *(size_t *)at = SIZE_MAX;
            return SCANT_OK;
        }
        if (!read_number(key, text, &value)) return wrong_number(e, i);
        *(size_t *)at = (size_t)value;
        return SCANT_OK;
    case LOOP_COUNT:
        if (!read_number(key, text, &value)) return wrong_number(e, i);
        *(size_t *)at = (size_t)value;
        return SCANT_OK;
    case LOOP_RATE:
        if (is_auto(key, text)) {
            e->set.lr_auto = true;
            e->set.lr = e->set.usual_lr;
            return SCANT_OK;
        }
        if (!read_number(key, text, at)) return wrong_number(e, i);
        return SCANT_OK;
    case LOOP_NUMBER:
        if (!read_number(key, text, at)) return wrong_number(e, i);
        return SCANT_OK;
    case LOOP_SWITCH:
        if (!loop_read_switch(text, at)) return wrong_choice(e, i);
        e->texts[i] = *(bool *)at ? "yes" : "no";
        return SCANT_OK;
    case LOOP_TEXT:
    case LOOP_LIST:
        break;
    }
    *(const char **)at = text;
    return SCANT_OK;
}

/* Defaults that hang on other keys. */
static scant_status fill_in(scant_experiment *e) {
    TRY(loop_method_fill(e));
    loop_bayes_fill(e);
    size_t lr = loop_key_find("train", "lr"), loss = loop_key_find("train", "loss");
    const char *optimizer = e->texts[loop_key_find("train", "optimizer")];
    const char *task = e->texts[loop_key_find("data", "task")];
    for (size_t i = 0; i < LOOP_KEYS; i++)
        if (!e->texts[i]) e->texts[i] = keys[i].info.value;
    bool adam = optimizer && strcmp(optimizer, "adam") == 0;
    if (e->set.usual_lr == 0) e->set.usual_lr = adam ? 0.001 : 0.01;
    if (!*e->texts[lr]) e->texts[lr] = adam ? "0.001" : "0.01";
    if (!*e->texts[loss])
        e->texts[loss] = task && strcmp(task, "regression") == 0 ? "mse" : "ce";
    return SCANT_OK;
}

scant_status loop_parse(scant_experiment *e) {
    TRY(fill_in(e));
    for (size_t i = 0; i < LOOP_KEYS; i++) TRY(parse_key(e, i));
    return SCANT_OK;
}
