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

/* Ways of training that learn from samples without labels, and the keys of each: in units
 * of scant_ssl_opts, but 0 is 0. A method does not have all of them. */
enum { LOOP_FIXMATCH, LOOP_MEAN_TEACHER, LOOP_PI, LOOP_PSEUDO_LABEL, LOOP_METHODS };

typedef struct loop_method {
    size_t mu, ramp, cut;
    double weight, threshold, noise, drop;
} loop_method;

/* Members of an ensemble at most; networks of a round at most, those of all ensembles. */
enum { LOOP_MEMBERS = 100, LOOP_PARTS = 1000 };

/* What the keys say. Strings are never NULL; "" is: not given. */
typedef struct loop_settings {
    /* data */
    const char *train, *train_labels, *test, *test_labels, *task;
    size_t pool, test_size, validation, size;
    /* model */
    const char *model, *weights, *activation, *norm, *stem, *head, *bayes;
    size_t width, depth, samples, hidden; /* hidden: SIZE_MAX is the model's own */
    double dropout, prior;
    /* train */
    const char *method, *optimizer, *schedule, *loss, *augment;
    bool lr_auto;    /* each round's own; lr is the usual one then */
    double usual_lr; /* of the optimizer or the method */
    double lr, momentum, weight_decay, clip, norm_momentum, ema, until;
    size_t batch, warmup, epochs, steps, patience, initial_models;
    bool nesterov, decay_weights_only, reinit, warm;
    const char *use_weights;
    loop_method methods[LOOP_METHODS];
    bool darp;
    const char *darp_target;
    double darp_alpha, darp_warmup;
    size_t darp_every;
    /* loop */
    const char *strategies, *seeds, *initial_how, *query_seed, *preset, *theory;
    size_t initial, query, rounds; /* query: labels a round */
} loop_settings;

typedef enum loop_kind {
    LOOP_TEXT = 1, /* const char * */
    LOOP_CHOICE,   /* const char *: one of "a|b|c"; "" where that is the default. One of
                    * "yes|no|..." may be written as a switch's */
    LOOP_MODEL,    /* const char * */
    LOOP_COUNT,    /* size_t within [min, max] */
    LOOP_OWN,      /* likewise, or "own": SIZE_MAX */
    LOOP_NUMBER,   /* double within [min, max]; open: neither of them */
    LOOP_SWITCH,   /* bool: yes or no */
    LOOP_RATE,     /* double: above 0, at most max */
    LOOP_LIST      /* const char *: words with commas between, read elsewhere */
} loop_kind;

typedef struct loop_key {
    scant_experiment_key info;
    loop_kind kind;
    size_t at; /* place in loop_settings */
    double min, max;
    const char *method; /* which it is of; NULL: all */
} loop_key;

enum { LOOP_KEYS = 78 };

const loop_key *loop_keys(void); /* LOOP_KEYS of them */
/* Which key; LOOP_KEYS: none. */
size_t loop_key_find(const char *section, const char *key);
bool loop_section_known(const char *section);
/* Of yes, no and their like; false: it is none. */
bool loop_read_switch(const char *text, bool *out);

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
    const char *texts[LOOP_KEYS];   /* values as written; NULL: not given yet */
    const char *origins[LOOP_KEYS]; /* where: "FILE:LINE", "--set" */
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

/* Whether the key is of the method that is chosen, or of all (method.c). */
bool loop_key_counts(const scant_experiment *e, size_t key);
/* What the method is usually trained with, where nothing was given; a warning of keys
 * that are another method's. Before other defaults. */
scant_status loop_method_fill(scant_experiment *e);
/* Whether the rest goes together with the method. */
scant_status loop_method_check(scant_experiment *e);
bool loop_supervised(const loop_settings *set);
/* Which of LOOP_METHODS; that number: supervised. */
size_t loop_method_find(const char *name);

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
/* A whole number in decimal digits. */
bool loop_read_seed(const char *text, uint64_t *out);
scant_status loop_check_option(scant_experiment *e, const char *name, const char *value,
                               const char *origin);

#endif
