/* SPDX-License-Identifier: Apache-2.0
 *
 * The keys of an experiment: the tables below and the shared tables of data, model and
 * training options (scant_data_options() etc.). A row here replaces the shared row of the
 * same key. Options that only some training methods read have one key per method,
 * prefixed with its name: fixmatch_mu, pi_weight.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/option.h"
#include "loop/experiment.h"
#include "nn/train.h"
#include "scant/train.h"

#define AT(field) offsetof(loop_settings, field)
#define MANY 1e15

static const char *model_name(size_t i) {
    size_t count;
    const scant_model_info *const *list = scant_models(&count);
    return i < count ? list[i]->name : NULL;
}

static const scant_option data_rows[] = {
    OPT_TEXT("train", "SPEC", "", AT(train), NULL,
             "samples to choose from: .npy, IDX, CIFAR records, CSV, a folder of images, "
             "fashion-mnist, moons, blobs, waves or heavy"),
    OPT_TEXT("train_labels", "FILE", "", AT(train_labels), NULL,
             "labels of data that does not carry its own: .npy or IDX"),
    OPT_TEXT("test", "SPEC", "", AT(test), NULL,
             "the test set; default: the data's own test part, else test_size samples of "
             "train, held out by seed 0"),
    OPT_TEXT("test_labels", "FILE", "", AT(test_labels), NULL, "labels of the test set"),
    OPT_COUNT("pool", "N", "0", AT(pool), 0, MANY, NULL,
              "the pool is the first N of a shuffle by the run's seed; 0: all"),
    OPT_COUNT("test_size", "N", "0", AT(test_size), 0, MANY, NULL,
              "test on the first N of a shuffle by seed 0; 0: all"),
    OPT_COUNT("validation", "N", "0", AT(validation), 0, MANY, NULL,
              "size of the validation set, taken out of the pool by the run's seed, for "
              "calibration and early stopping; 0: none"),
    OPT_CHOICE("task", "classification|regression", "classification", AT(task), NULL,
               "regression: labels are numbers to predict"),
};

static const scant_option model_rows[] = {
    OPT_NAME("name", "model", model_name, "lenet5", AT(model), NULL,
             "'scant models' lists them"),
    OPT_TEXT("weights", "FILE", "", AT(weights), NULL, "safetensors to start from"),
    OPT_CHOICE(
        "bayes", "none|dropout|variational|ensemble", "none", AT(bayes), NULL,
        "source of posterior draws: dropout masks before the last layer, a trained "
        "distribution of its weights, or the members of an ensemble "
        "(docs/bayesian.md)"),
    OPT_COUNT("samples", "M", "0", AT(samples), 0, 1e6, NULL,
              "posterior draws (0: 100), or members of the ensemble (0: 5)"),
    OPT_NUMBER("prior", "V", "1", AT(prior), 0, INFINITY, SCANT_OPEN_BOTH, NULL,
               "variance of the weights' prior, for bayes = variational"),
    OPT_ROW("hidden", COUNT, "N", "own", AT(hidden), NULL,
            "width of a dense layer before the last one; 0: none; own: 256 with bayes = "
            "variational where features come from convolutions, else none",
            .max = 1 << 20, .choices = "own"),
};

static const scant_option train_rows[] = {
    OPT_ROW("lr", NUMBER, "RATE|auto", NULL, AT(training.lr), NULL,
            "learning rate (default " NN_LR_TEXT "; or the method's); auto: the "
            "default, scaled each round by the change of the smallest eigenvalue of the "
            "labelled samples' kernel",
            .otherwise = NN_LR_TEXT, .max = INFINITY, .open = SCANT_OPEN_BOTH,
            .choices = "auto"),
    OPT_SWITCH("reinit", "yes", AT(reinit), NULL,
               "new weights each round; no: continue from the last round's"),
    OPT_SWITCH("warm", "no", AT(warm), NULL,
               "continue from the last round's final state: weights, their "
               "average, optimizer state, stored pseudo-labels (implies reinit = no)"),
    OPT_CHOICE("use_weights", "yes|no|draw", "no", AT(use_weights), NULL,
               "use the weights that a strategy gives its picks: yes, as factors of the "
               "loss; draw, as probabilities of drawing a sample"),
    OPT_COUNT("initial_models", "K", "1", AT(initial_models), 1, 1000, NULL,
              "train the initial network K times and keep one of them (initial_keep)"),
    OPT_CHOICE("initial_keep", "median|best", "median", AT(initial_keep), NULL,
               "which of the initial_models is kept, by accuracy on the validation set, "
               "or on the test set if there is none"),
    OPT_TEXT(
        "darp_target", "FILE|labelled", "", AT(darp_target), NULL,
        "the class distribution for darp and align: .npy with a number per class, or "
        "labelled: that of the labels; default: uniform"),
};

static const scant_option loop_rows[] = {
    OPT_TEXT("strategies", "NAME,NAME,...", "random,badge", AT(strategies), NULL,
             "'scant strategies' lists them"),
    OPT_TEXT("seeds", "S,S,...", "0,1,2", AT(seeds), NULL,
             "one run per strategy and seed"),
    OPT_COUNT("initial", "N", "40", AT(initial), 0, MANY, NULL, "labels at the start"),
    OPT_CHOICE(
        "initial_how", "random|balanced|none", "random", AT(initial_how), NULL,
        "how the first labels are chosen; balanced: the same number per class; none: "
        "no first labels, the untrained network picks"),
    OPT_TEXT("initial_seed", "S", "", AT(initial_seed), NULL,
             "all runs have the pool, validation set, first labels and first network of "
             "this seed; default: of their own"),
    OPT_COUNT("batch", "N", "40", AT(query), 1, MANY, NULL, "labels per round"),
    OPT_COUNT("rounds", "N", "15", AT(rounds), 0, 1000000, NULL,
              "rounds of picking, labelling and training"),
    OPT_TEXT("query_seed", "S", "", AT(query_seed), NULL,
             "a second network, initialised from this seed and trained alongside, picks"),
    OPT_CHOICE("theory", "none|last|all", "last", AT(theory), NULL,
               "figures of every round in theory.csv, by the kernel of the last layer or "
               "of the whole network"),
    OPT_SWITCH("retry_collapsed", "yes", AT(retry_collapsed), NULL,
               "train a network whose training has collapsed once more, from another "
               "seed; networks that continue from the last round are not retried"),
    OPT_TEXT("preset", "NAME", "", AT(preset), NULL,
             "a paper's options for its strategies"),
};

/* Defaults of section train that differ from the shared table; those of a method take
 * precedence. */
static const scant_setting other_defaults[] = {{"epochs", "150"}, {"batch", "32"}};

/* ---- the list of keys -------------------------------------------------------------- */

#define ROWS(array) array, sizeof array / sizeof *array

enum { DATA, MODEL, TRAIN, LOOP, SECTIONS };
static const struct {
    const char *name;
    const scant_option *own;
    size_t n_own;
    const scant_option *(*shared)(size_t *count);
    size_t base;
} sections[SECTIONS] = {
    {"data", ROWS(data_rows), scant_data_options, AT(data)},
    {"model", ROWS(model_rows), scant_model_options, AT(net)},
    {"train", ROWS(train_rows), scant_train_options, AT(training)},
    {"loop", ROWS(loop_rows), NULL, 0},
};

static bool takes(const scant_method_info *method, const char *key) {
    return method->takes && scant__has_word(method->takes, key);
}

/* Whether a row of the shared table is a key. Of the data options only size is; the
 * others are set for train and test separately. */
static bool is_shared(size_t section, const char *key) {
    size_t count;
    const scant_method_info *const *methods = scant_methods(&count);
    if (scant__option_find(sections[section].own, sections[section].n_own, key))
        return false;
    if (section == DATA) return strcmp(key, "size") == 0;
    for (size_t i = 0; section == TRAIN && i < count; i++)
        if (takes(methods[i], key)) return false;
    return true;
}

static const char *find(const scant_setting *settings, size_t n, const char *key) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(settings[i].key, key) == 0) return settings[i].value;
    return NULL;
}

static const char *other_default(size_t section, const char *key) {
    return section == TRAIN ? find(ROWS(other_defaults), key) : NULL;
}

/* Writes a method's key: "pi" and "unlabelled_weight" give "pi_weight". For fixmatch the
 * weight is called lambda; darp options, which only fixmatch has, get no prefix. */
static void method_key(const char *method, const char *key, char *out, size_t size) {
    bool weight = strcmp(key, "unlabelled_weight") == 0;
    bool fixmatch = strcmp(method, "fixmatch") == 0;
    if (strncmp(key, "darp", 4) == 0)
        snprintf(out, size, "%s", key);
    else
        snprintf(out, size, "%s_%s", method,
                 !weight    ? key
                 : fixmatch ? "lambda"
                            : "weight");
    for (char *at = out; *at; at++)
        if (*at == '-') *at = '_';
}

/* method: the only method with this key, or NULL. */
static bool set_key(size_t section, const scant_option *row, size_t base,
                    const scant_method_info *method, loop_key *out) {
    const char *value = method ? find(method->defaults, method->n_defaults, row->key)
                               : other_default(section, row->key);
    *out = (loop_key){.section = sections[section].name,
                      .row = row,
                      .base = base,
                      .value = value ? value : row->value};
    snprintf(out->key, sizeof out->key, "%s", row->key);
    if (method) method_key(method->name, row->key, out->key, sizeof out->key);
    if (method) out->methods = method->name;
    /* an own row, because the value is the name of a file */
    if (strcmp(row->key, "darp_target") == 0)
        out->methods = "fixmatch freematch softmatch";
    return true;
}

bool loop_key_at(size_t i, loop_key *out) {
    size_t n_methods;
    const scant_method_info *const *methods = scant_methods(&n_methods);
    for (size_t s = 0; s < SECTIONS; s++) {
        size_t count = 0, base = sections[s].base;
        const scant_option *rows = sections[s].shared ? sections[s].shared(&count) : NULL;
        for (size_t k = 0; k < sections[s].n_own; k++)
            if (!i--) return set_key(s, &sections[s].own[k], 0, NULL, out);
        for (size_t k = 0; k < count; k++)
            if (is_shared(s, rows[k].key) && !i--)
                return set_key(s, &rows[k], base, NULL, out);
        for (size_t m = 0; s == TRAIN && m < n_methods; m++)
            for (size_t k = 0; k < count; k++)
                if (takes(methods[m], rows[k].key) && !i--)
                    return set_key(s, &rows[k], base, methods[m], out);
    }
    return false;
}

bool scant_experiment_key_at(size_t i, scant_experiment_key *out) {
    loop_key key;
    if (!loop_key_at(i, &key)) return false;
    *out = (scant_experiment_key){
        .section = key.section, .value = key.value ? key.value : "", .option = key.row};
    memcpy(out->key, key.key, sizeof out->key);
    return true;
}

size_t loop_key_find(const char *section, const char *key) {
    loop_key found;
    size_t i = 0;
    while (loop_key_at(i, &found) &&
           (strcmp(found.section, section) || strcmp(found.key, key)))
        i++;
    return i;
}

const char *loop_section_at(size_t i) { return i < SECTIONS ? sections[i].name : NULL; }

/* ---- values ------------------------------------------------------------------------ */

static scant_status parse_key(scant_experiment *e, size_t i, const loop_key *key) {
    char expected[SCANT__EXPECTED];
    scant__value value;
    scant_train_opts idle; /* receives keys of other methods: checked, not used */
    const char *text = e->texts[i];
    if (!text || (!*text && !key->value)) return SCANT_OK;
    void *base = (char *)&e->set + key->base;
    if (key->methods && key->base && !loop_key_counts(e, key)) base = &idle;
    bool on, word = key->row->kind == SCANT_OPTION_CHOICE && *text &&
                    scant__is_choice(key->row->choices, "yes") &&
                    scant__switch_read(text, &on);
    if (word) text = e->texts[i] = on ? "yes" : "no";
    if (!scant__option_read(key->row, text, &value))
        return loop_wrong(e, e->origins[i], "%s.%s is '%s', expected %s", key->section,
                          key->key, text,
                          scant__option_expected(key->row, text, expected));
    if (key->row->kind == SCANT_OPTION_SWITCH)
        e->texts[i] = value.number != 0 ? "yes" : "no";
    scant__option_store(key->row, text, &value, base);
    return SCANT_OK;
}

static const char *given(const scant_experiment *e, const char *key) {
    return e->texts[loop_key_find("train", key)];
}

/* The method's defaults take precedence over those of experiments (other_defaults), and
 * these over the shared table's. */
static void fill_defaults(scant_experiment *e) {
    const char *name = given(e, "method");
    const scant_method_info *method = scant_method_find(name ? name : "supervised");
    scant__value value;
    loop_key key;
    scant_train_defaults(name, given(e, "optimizer"), &e->set.training);
    e->set.usual_lr = e->set.training.lr;
    for (size_t i = 0; loop_key_at(i, &key); i++) {
        bool training = key.base == AT(training);
        bool other =
            other_default(TRAIN, key.row->key) &&
            !(method && find(method->defaults, method->n_defaults, key.row->key));
        if (!key.value || (training && (key.methods || !other))) continue;
        scant__option_read(key.row, key.value, &value);
        scant__option_store(key.row, key.value, &value, (char *)&e->set + key.base);
    }
}

/* Defaults that depend on other keys. */
static void fill_rest(scant_experiment *e) {
    loop_settings *s = &e->set;
    s->lr_auto = isnan(s->training.lr);
    if (s->lr_auto) s->training.lr = s->usual_lr;
    if (!s->training.loss)
        s->training.loss = strcmp(s->task, "regression") == 0 ? "mse" : "ce";
    if (!s->net.init && !*s->weights && scant_model_find(s->model))
        s->net.init = scant_model_find(s->model)->init;
    if (s->warm && !given(e, "reinit")) s->reinit = false;
    if (s->training.momentum == 0 && !given(e, "nesterov")) s->training.nesterov = false;
    loop_bayes_fill(e);
}

scant_status loop_parse(scant_experiment *e) {
    loop_key key;
    fill_defaults(e);
    for (size_t i = 0; loop_key_at(i, &key); i++) TRY(parse_key(e, i, &key));
    fill_rest(e);
    loop_method_warn(e);
    return SCANT_OK;
}
