/* SPDX-License-Identifier: Apache-2.0
 *
 * An experiment file in memory: the table of keys (keys.c), values from a file and from
 * settings (experiment.c), strategies and their options (strategy_options.c).
 *
 * Every value is also kept as written, so that printing an experiment and reading it
 * again gives the same bytes.
 */
#ifndef SCANT_LOOP_EXPERIMENT_H
#define SCANT_LOOP_EXPERIMENT_H

#include <stdbool.h>

#include "core/mem.h"
#include "core/text.h"
#include "scant/train.h"

/* Limits: members of an ensemble; networks of a round, over all ensembles. */
enum { LOOP_MEMBERS = 100, LOOP_PARTS = 1000 };

/* Parsed values of the keys. Strings declared here are never NULL; "": not given. In the
 * library's structs only members that have a key are set. */
typedef struct loop_settings {
    /* data */
    const char *train, *train_labels, *test, *test_labels, *task;
    size_t pool, test_size, validation;
    scant_data_opts data; /* only the image size is set */
    /* model */
    const char *model, *weights, *bayes;
    size_t samples, hidden; /* hidden: SIZE_MAX is the model's default */
    double prior;
    scant_net_opts net;
    /* train */
    scant_train_opts training;
    bool lr_auto;    /* each round has its own learning rate */
    double usual_lr; /* the default of the method and optimizer */
    bool reinit, warm;
    const char *use_weights, *darp_target, *initial_keep;
    size_t initial_models;
    /* loop */
    const char *strategies, *seeds, *initial_how, *initial_seed, *query_seed, *preset,
        *theory;
    size_t initial, query, rounds; /* query: labels per round */
    bool retry_collapsed;
} loop_settings;

/* A key: its option, and the offset of the option's struct in loop_settings. */
typedef struct loop_key {
    const char *section;
    char key[SCANT_EXPERIMENT_KEY];
    const scant_option *row;
    size_t base;
    const char *value;   /* the default; NULL: it depends on other keys */
    const char *methods; /* the training methods that read it; NULL: all do */
} loop_key;

/* Gets key i, ordered by section. False: there is no such key. */
bool loop_key_at(size_t i, loop_key *out);
/* The index of a key; the number of keys if there is none. */
size_t loop_key_find(const char *section, const char *key);
const char *loop_section_at(size_t i); /* NULL: there is no section i */

/* An option of a strategy. Besides the strategy's own options, the loop adds one that
 * sets how the evidence is computed ("layers" or "kernel"). */
typedef struct loop_option {
    const char *strategy, *key, *value;
    const char *origin; /* where it was given; NULL: from a preset or default */
} loop_option;

/* A strategy of the experiment, with its options. */
typedef struct loop_strategy {
    const scant_strategy_info *info;
    const scant_setting *settings; /* values of its options, without the loop's */
    size_t n_settings;
    bool all_layers; /* gradients of the whole network instead of the last layer */
    /* kernel of an infinitely wide network, on the samples; NULL: none */
    const char *kernel;
} loop_strategy;

struct scant_experiment {
    scant_ctx *ctx;
    scant__arena arena;
    const char **texts;   /* for each key: the value as written; NULL: not given */
    const char **origins; /* for each key: "FILE:LINE" or "--set" */
    size_t n_keys;
    loop_settings set;
    loop_option *options; /* given ones, then presets and defaults; not in the arena */
    size_t n_options, room_options;
    loop_strategy *strategies;
    size_t n_strategies;
    uint64_t *seeds;
    size_t n_seeds;
    uint64_t query_seed;   /* valid if set.query_seed is not "" */
    uint64_t initial_seed; /* likewise */
};

/* Fails for a wrong value with "FILE:LINE: ..." (SCANT_EINPUT) or "--set: ..."
 * (SCANT_EUSAGE). */
scant_status loop_wrong(scant_experiment *e, const char *origin, const char *format, ...)
    SCANT__PRINTF(3, 4);
extern const char loop_origin_set[]; /* "--set" */
/* Calls loop_wrong() for the value of a key; name is "section.key". The message begins
 * with the name: "FILE:LINE: section.key ...". */
scant_status loop_refuse(scant_experiment *e, const char *name, const char *format, ...)
    SCANT__PRINTF(3, 4);

/* Sets the value of a key; origin is not copied. Fails if the key already has a value and
 * `override` is false. */
scant_status loop_assign(scant_experiment *e, const char *section, const char *key,
                         const char *value, const char *origin, bool override);

DEFINE_AUTO(scant_experiment, scant_experiment)
/* Adds the text of scant_experiment_print(). */
void loop_print(const scant_experiment *e, scant__text *text);

/* Whether the chosen training method reads the key (method.c). */
bool loop_key_counts(const scant_experiment *e, const loop_key *key);
/* Warns about given keys that have no effect. */
void loop_method_warn(const scant_experiment *e);
/* Checks that the values of other keys suit the method. */
scant_status loop_method_check(scant_experiment *e);
bool loop_supervised(const loop_settings *set);

/* Bayesian networks and ensembles (bayes.c): fill in defaults, and check the keys. */
void loop_bayes_fill(scant_experiment *e);
scant_status loop_bayes_check(scant_experiment *e);
bool loop_is_bayesian(const loop_settings *set); /* several posterior draws */
bool loop_is_ensemble(const loop_settings *set);
size_t loop_members(const loop_settings *set); /* 1 without an ensemble */

/* Fills in defaults and parses the texts into set (keys.c). */
scant_status loop_parse(scant_experiment *e);
/* Reads strategies, seeds and options (strategy_options.c). */
scant_status loop_resolve(scant_experiment *e);
/* Number and names of a strategy's options: its own, then that of the loop, if any. */
size_t loop_option_count(const scant_strategy_info *info);
const char *loop_option_name(const void *info, size_t i);
/* The option's value so far; NULL: none. */
loop_option *loop_option_find(const scant_experiment *e, const char *strategy,
                              const char *key);
scant_status loop_option_set(scant_experiment *e, const char *strategy, const char *key,
                             const char *value, const char *origin);
/* Checks that the option exists and accepts the value. */
scant_status loop_check_option(scant_experiment *e, const char *strategy, const char *key,
                               const char *value, const char *origin);

#endif
