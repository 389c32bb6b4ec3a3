/* SPDX-License-Identifier: Apache-2.0
 *
 * An experiment as the loop reads it: one table of keys (keys.c), what a file and
 * settings made of it (experiment.c, file.c), strategies and their options (options.c).
 *
 * Every value is kept as it was written, beside what it means, so that printing gives
 * back what was read and reading that gives the same bytes again.
 */
#ifndef SCANT_LOOP_EXPERIMENT_H
#define SCANT_LOOP_EXPERIMENT_H

#include <stdbool.h>

#include "core/mem.h"
#include "core/text.h"
#include "scant/train.h"

/* Members of an ensemble at most; networks of a round at most, those of all ensembles. */
enum { LOOP_MEMBERS = 100, LOOP_PARTS = 1000 };

/* What the keys say. Strings that have a key of their own are never NULL; "" is: not
 * given. Of the library's structs, only what the keys set is set. */
typedef struct loop_settings {
    /* data */
    const char *train, *train_labels, *test, *test_labels, *task;
    size_t pool, test_size, validation;
    scant_data_opts data; /* the size */
    /* model */
    const char *model, *weights, *bayes;
    size_t samples, hidden; /* hidden: SIZE_MAX is the model's own */
    double prior;
    scant_net_opts net;
    /* train */
    scant_train_opts training;
    bool lr_auto;    /* each round has its own learning rate */
    double usual_lr; /* the default of the method and optimizer */
    bool reinit, warm;
    const char *use_weights, *darp_target;
    size_t initial_models;
    /* loop */
    const char *strategies, *seeds, *initial_how, *query_seed, *preset, *theory;
    size_t initial, query, rounds; /* query: labels per round */
} loop_settings;

/* A key: an option's row, and where its struct stands in loop_settings. */
typedef struct loop_key {
    const char *section;
    char key[SCANT_EXPERIMENT_KEY];
    const scant_option *row;
    size_t base;
    const char *value;  /* the default; NULL: it depends on other keys */
    const char *method; /* the training method that it belongs to; NULL: all */
} loop_key;

/* The keys from i = 0 on, those of a section together; false: no more. */
bool loop_key_at(size_t i, loop_key *out);
/* The number of a key; the number of all keys if there is none. */
size_t loop_key_find(const char *section, const char *key);
const char *loop_section_at(size_t i); /* NULL: no more */

/* A strategy's option: its own, or one of the loop's that says how its evidence is made
 * ("layers", "kernel"). */
typedef struct loop_option {
    const char *strategy, *key, *value;
    const char *origin; /* NULL: a preset's or a default */
} loop_option;

/* A strategy that runs. */
typedef struct loop_arm {
    const scant_strategy_info *info;
    const scant_setting *settings; /* its own options, given or preset */
    size_t n_settings;
    bool whole; /* gradients of the whole network, not of the last layer */
    /* of an infinitely wide network, on the samples themselves; NULL: none */
    const char *kernel;
} loop_arm;

struct scant_experiment {
    scant_ctx *ctx;
    scant__arena arena;
    const char **texts;   /* a key each: the value as written; NULL: not given */
    const char **origins; /* where: "FILE:LINE", "--set" */
    size_t n_keys;
    loop_settings set;
    loop_option *options; /* given ones first, then what presets and defaults fill in */
    size_t n_options, room_options;
    loop_arm *arms;
    size_t n_arms;
    uint64_t *seeds;
    size_t n_seeds;
    uint64_t query_seed; /* where set.query_seed is not "" */
};

/* A value that is wrong: "FILE:LINE: ..." and SCANT_EINPUT, or "--set: ..." and
 * SCANT_EUSAGE. */
scant_status loop_wrong(scant_experiment *e, const char *origin, const char *format, ...)
    SCANT__PRINTF(3, 4);
extern const char loop_origin_set[]; /* "--set" */

/* One value, from origin (not copied). Twice from the same place is refused, unless
 * override. */
scant_status loop_assign(scant_experiment *e, const char *section, const char *key,
                         const char *value, const char *origin, bool override);

/* Whether the key belongs to the chosen method, or to all (method.c). */
bool loop_key_counts(const scant_experiment *e, const loop_key *key);
/* Warns of keys that are given and have no effect. */
void loop_method_warn(const scant_experiment *e);
/* Whether the rest goes together with the method. */
scant_status loop_method_check(scant_experiment *e);
bool loop_supervised(const loop_settings *set);

/* Likewise of Bayesian networks and ensembles (bayes.c). */
void loop_bayes_fill(scant_experiment *e);
scant_status loop_bayes_check(scant_experiment *e);
bool loop_is_bayesian(const loop_settings *set); /* it says several things of a sample */
bool loop_is_ensemble(const loop_settings *set);
size_t loop_members(const loop_settings *set); /* of no ensemble: 1 */

/* Texts into set (keys.c); defaults first. */
scant_status loop_parse(scant_experiment *e);
/* Strategies, seeds, options (options.c). */
scant_status loop_resolve(scant_experiment *e);
/* Whether "strategy.key" could be an option at all; says why not. */
scant_status loop_option_set(scant_experiment *e, const char *strategy, const char *key,
                             const char *value, const char *origin);
scant_status loop_check_option(scant_experiment *e, const char *name, const char *value,
                               const char *origin);

#endif
