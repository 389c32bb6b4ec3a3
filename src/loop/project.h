/* SPDX-License-Identifier: Apache-2.0
 *
 * A project's models: training, predictions, picks and the meter.
 *
 * project_cache.c   files below cache/, arrays that stay mapped with a handle
 * project_features.c, project_samples.c   features of items; samples for networks
 * project_net.c, project_train.c   trains a network; a training from lock to database
 * project_predict.c   predictions of the last model
 * project_worth.c   the gain over random picks, by cross-validation
 * project_query.c   picks
 * project_meter.c, project_advice.c   accuracy and the stop rule, as numbers and in words
 * project_near.c   similar items, and why an item was picked
 *
 * Files in cache/ have the number of their model in the name and are renamed into place
 * complete, so that readers need no lock: features.npy (features of items),
 * probs-NNNN.npy and net-features-NNNN.npy (of a network that reads images). Files of the
 * model before the last are left for readers that are about to open them.
 */
#ifndef SCANT_LOOP_PROJECT_H
#define SCANT_LOOP_PROJECT_H

#include "data/array.h"
#include "scant/project.h"
#include "store/samples.h"
#include "store/store.h"

/* ---- project_cache.c ---- */

/* "DIR/cache/name"; makes the folder. New; NULL with the error message set. */
char *project_cache_path(scant_project *project, const char *name);
/* The same for "name-NNNN.npy". */
char *project_cache_of(scant_project *project, const char *name, size_t model);
/* Takes the lock for writing features ("cache") or predictions ("predict") to cache/.
 * With wait it waits for another holder; otherwise *out is NULL if the lock is held. */
scant_status project_hold(scant_project *project, const char *lock, bool wait,
                          scant_hold **out);

/* Arrays that stay mapped while the handle is open. */
typedef enum project_array_kind {
    PROJECT_FEATURES,
    PROJECT_PROBS,
    PROJECT_ARRAYS
} project_array_kind;
/* Maps a file, or returns the mapping if the file has not changed. Borrowed until the
 * next call, or until the project is closed; *out NULL: there is no such file, or it does
 * not contain float32 rows. */
scant_status project_array(scant_project *project, project_array_kind which,
                           const char *path, const scant_array **out);
/* 1 / deviation of each column of the last PROJECT_FEATURES; borrowed likewise. */
scant_status project_inverse(scant_project *project, const scant_array *features,
                             const float **out);
/* Replaces *text by a copy that is valid until the next call. */
scant_status project_note(scant_project *project, const char **text);

/* What a seed of a model or round is for. */
enum project_seed_use {
    PROJECT_SEED_WEIGHTS,
    PROJECT_SEED_TRAINING,
    PROJECT_SEED_FOLDS,
    PROJECT_SEED_PICKS,
    PROJECT_SEED_SAMPLE, /* a sample of items */
    PROJECT_SEED_USES
};
uint64_t project_seed(uint64_t seed, size_t number, enum project_seed_use use);

/* ---- project_features.c ---- */

/* Whether items have features, from files or a backbone. */
scant_status project_has_features(scant_project *project, bool *out);
/* Features of items, without waiting: missing rows of files are read unless another
 * program does so; a backbone or network only has its existing rows. Borrowed, as
 * project_array(); there may be fewer rows than items. */
scant_status project_features_now(scant_project *project, const scant_array **out);

/* ---- project_samples.c ---- */

typedef struct project_samples {
    scant_data *data; /* item i is sample i */
    size_t n;
    bool features; /* items' own; else pictures */
    bool files;    /* pictures that are decoded each time */
    /* Of features, by column: over all items, or an even sample. Of the arena. */
    float *mean, *deviation;
} project_samples;

/* side: of pictures in files. A picture that cannot be read is black: it is one of many,
 * and people see for themselves what it is not. */
scant_status project_samples_open(scant_project *project, size_t side,
                                  scant__arena *arena, project_samples *out);
void project_samples_close(project_samples *samples);
/* The same of pictures alone, for a backbone. *files: they are decoded each time. */
scant_status project_images_open(scant_project *project, size_t side, bool *files,
                                 scant_data **out);
/* A warning that names the pictures that could not be read, if there were some. */
void project_images_warn(scant_data *data);
/* Mean and deviation of each column of rows of features, over all or an even sample of
 * them; a column that does not change has 1. */
scant_status project_columns(scant_ctx *ctx, const scant_array *features, float *mean,
                             float *deviation);
/* Rows of data in memory, for a training that reads each many times; as many as rows. */
scant_status project_copy_open(scant_ctx *ctx, const scant_data *data, const size_t *rows,
                               size_t n, scant_data **out);

/* ---- project_net.c ---- */

/* The settings that say which network is trained and how; NULL and 0: the project's own
 * choice. */
typedef struct project_settings {
    const char *model, *method, *bayes;
    size_t side; /* that images in files are scaled to */
    size_t classes;
    size_t epochs;
    double lr;
    size_t draws; /* of bayes */
} project_settings;

/* Borrowed strings: until a setting is set. */
scant_status project_settings_read(scant_project *project, project_settings *out);
/* The size that images in files are scaled to. */
size_t project_side(const project_settings *settings);

/* A training: what it learns from. */
typedef struct project_training {
    const size_t *rows; /* labelled items */
    const int32_t *labels;
    size_t n;
    const int64_t *pool; /* items without a label that a semi-supervised method may use
                          * beside rows: none of the audit set */
    size_t n_pool;
    uint64_t seed; /* of weights and training */
    bool brief;    /* a fourth of the steps is enough */
    void *user;
    void (*report)(void *user, const scant_train_state *state);
} project_training;

/* Trains a network of the project's (scant_learn()). *out is new: scant_net_free(). */
scant_status project_learn(scant_project *project, const project_settings *settings,
                           const project_samples *samples,
                           const project_training *training, scant_net **out);

/* ---- project_predict.c ---- */

/* Predicts all items, into cache/, as the project's model of that number. */
scant_status project_predict_all(scant_project *project, scant_net *net,
                                 const project_samples *samples, size_t model);
/* Deletes files of models before the last but one. */
void project_predict_forget(scant_project *project, size_t model);
/* The last model's probabilities of all items, computed if cache/ does not have them.
 * Borrowed, as project_array(). *model 0 and *out NULL: there is no model. */
scant_status project_predicted(scant_project *project, const scant_array **out,
                               size_t *model);
/* The same, but only what cache/ has: *out may be NULL, or have fewer rows or columns. */
scant_status project_predicted_now(scant_project *project, const scant_array **out,
                                   size_t *model);
/* Opens the network of a model; SCANT_ENOTREADY if its weights are missing. */
scant_status project_net_open(scant_project *project, const store_model *model,
                              scant_net **out);

/* ---- project_worth.c ---- */

/* The temperature that fits the labelled set best, by networks trained without a fifth of
 * it each; 0: the set is too small. */
scant_status project_temperature(scant_project *project, const project_settings *settings,
                                 const project_samples *samples,
                                 const project_training *labelled, double *out);

typedef struct project_gain {
    double mean, low, high; /* of what is right, second less first; 95 % interval */
} project_gain;
/* Of pairs of which so many are right in the second alone, in the first alone, of n.
 * NaN where n is below two. */
project_gain project_gain_of(size_t second, size_t first, size_t n);
/* What picking is worth: the gain of the project's first labels, those that it began with
 * and those that a strategy picked, over as many random ones, on audited items that
 * neither has seen. origins: a store_origin for each label of training. *labels 0: not
 * known; that is so until half of the labels compared were picked. */
scant_status project_over_random(scant_project *project, const project_settings *settings,
                                 const project_samples *samples,
                                 const project_training *training,
                                 const unsigned char *origins,
                                 const project_training *audited, project_gain *out,
                                 size_t *labels);

#endif
