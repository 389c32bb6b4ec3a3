/* SPDX-License-Identifier: Apache-2.0
 *
 * A project's models: training, predictions, picks and the meter.
 *
 * project_cache.c   files below cache/, arrays that stay mapped with a handle
 * project_features.c, project_samples.c   features of items; samples for networks
 * project_net.c, project_train.c   trains a network; a training from lock to database
 * project_collapse.c   trainings that collapsed: recorded, read, in words
 * project_predict.c   predictions of the last model
 * project_gain.c   the gain over random picks, by cross-validation
 * project_query.c   picks
 * project_meter.c, project_advice.c   accuracy and the stop rule, as numbers and in words
 * project_near.c   similar items, and why an item was picked
 *
 * Files in cache/ are renamed into place when complete, so that readers need no lock:
 * features.npy (features of items), probs-NNNN.npy and, if the network reads images,
 * net-features-NNNN.npy, where NNNN is the number of the model. Files of the model before
 * the last are kept for readers that are about to open them.
 */
#ifndef SCANT_LOOP_PROJECT_H
#define SCANT_LOOP_PROJECT_H

#include <sys/stat.h>

#include "data/array.h"
#include "nn/network.h"
#include "scant/project.h"
#include "store/store.h"

/* ---- project_cache.c ---- */

/* "DIR/cache/name", in the arena; makes the folder. */
scant_status project_cache_path(scant_project *project, scant__arena *arena,
                                const char *name, const char **out);
/* Takes the lock for writing features ("cache") or predictions ("predict") to cache/.
 * If another process has the lock: waits if `wait` is set, else sets *out to NULL. */
scant_status project_hold(scant_project *project, const char *lock, bool wait,
                          scant_hold **out);

/* Arrays that stay mapped while the project is open. */
typedef enum project_array_kind {
    PROJECT_FEATURES,
    PROJECT_PROBS,
    PROJECT_ARRAYS
} project_array_kind;
/* The path of an array, in the arena: features.npy if model is 0, else net-features or
 * probabilities of that model. */
scant_status project_array_path(scant_project *project, scant__arena *arena,
                                project_array_kind which, size_t model, const char **out);
/* Maps the file, or returns the mapping if the file has not changed. Borrowed until the
 * next call, or until the project is closed; *out NULL: there is no such file, or it does
 * not contain float32 rows. */
scant_status project_array(scant_project *project, project_array_kind which, size_t model,
                           const scant_array **out);
/* Whether a file was neither replaced nor changed between two calls of stat(). */
bool project_same_file(const struct stat *a, const struct stat *b);
/* 1 / standard deviation of each column of features, which must be what project_array()
 * returned last for PROJECT_FEATURES. Borrowed for as long as that array. */
scant_status project_inverse(scant_project *project, const scant_array *features,
                             const float **out);
/* Replaces *text by a copy that is valid until the next call. */
scant_status project_note(scant_project *project, const char **text);

/* Uses of the seeds of a model or round. */
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

/* Whether the project has a source of this kind. */
scant_status project_has_kind(scant_project *project, store_kind kind, bool *out);
/* Whether items have features, from files or a backbone. */
scant_status project_has_features(scant_project *project, bool *out);
/* Features of items, without waiting. Missing rows of feature files are read, unless
 * another program is reading them; those of a backbone or network are not computed. So
 * there may be fewer rows than items. Borrowed, as project_array(). */
scant_status project_features_cached(scant_project *project, const scant_array **out);

/* ---- project_samples.c ---- */

typedef struct project_samples {
    scant_data *data; /* item i is sample i */
    size_t n;
    bool features; /* samples are the items' features; else images */
    bool files;    /* images in files, decoded each time */
    /* Of each feature column, over all items or an even sample; in the arena. NULL for
     * images. */
    float *mean, *deviation;
} project_samples;

/* side: size of images in files. An image that cannot be read is replaced by a black one,
 * so that it does not stop a training. *out must be zero before, and is to be closed also
 * on failure. */
scant_status project_samples_open(scant_project *project, size_t side,
                                  scant__arena *arena, project_samples *out);
void project_samples_close(project_samples *samples);
/* Opens the images of the items, for a backbone. *files: they are in files, and decoded
 * each time. */
scant_status project_images_open(scant_project *project, size_t side, bool *files,
                                 scant_data **out);
/* Warns about images that were replaced by black ones, if there are any. */
void project_images_warn(scant_data *data);
/* Mean and deviation of each feature column, over all rows or an even sample. The
 * deviation of a constant column is set to 1. */
scant_status project_columns(scant_ctx *ctx, const scant_array *features, float *mean,
                             float *deviation);
/* Copies n rows of data into memory, for a training that reads each many times. */
scant_status project_copy_open(scant_ctx *ctx, const scant_data *data, const size_t *rows,
                               size_t n, scant_data **out);

/* ---- project_net.c ---- */

/* The settings of the network and its training. NULL or 0: the default of
 * project_net.c. */
typedef struct project_settings {
    const char *model, *method, *bayes;
    size_t side; /* size of images in files */
    size_t classes;
    size_t epochs;
    double lr;
    size_t draws; /* posterior draws */
} project_settings;

/* Strings are borrowed until a setting is changed. */
scant_status project_settings_read(scant_project *project, project_settings *out);
/* The size that images in files are scaled to. */
size_t project_side(const project_settings *settings);

/* What a training learns from. */
typedef struct project_training {
    const size_t *rows; /* labelled items */
    const int32_t *labels;
    size_t n;
    const int64_t *pool; /* unlabelled items for a semi-supervised method; without the
                          * audit set */
    size_t n_pool;
    size_t n_items; /* of the project, at the latest when its pool was read */
    uint64_t seed;  /* seed of the initial weights and of the training */
    bool brief;     /* train for a quarter of the steps */
    void *user;
    void (*report)(void *user, const scant_train_state *state);
} project_training;

/* The signs of a training that ended. */
typedef struct project_signs {
    uint64_t signs;
    char found[SCANT_SIGNS_TEXT]; /* the signs in words */
} project_signs;

/* Trains a network by the project's recipe; if the training collapses, once more with
 * another seed. If that collapses too, *out is NULL, and *signs is what was found. Free
 * *out with scant_net_free(). */
scant_status project_learn(scant_project *project, const project_settings *settings,
                           const project_samples *samples,
                           const project_training *training, scant_net **out,
                           project_signs *signs);

/* ---- project_collapse.c ---- */

/* Records that the training of a model on these labels collapsed twice, and fails with
 * SCANT_ENOTREADY. last: number of the last model; 0: none. */
scant_status project_collapse_fail(scant_project *project,
                                   const project_settings *settings,
                                   const project_training *training,
                                   const project_signs *signs, size_t last);

/* ---- project_predict.c ---- */

/* Writes the predictions of all items to cache/, under this model number. */
scant_status project_predict_all(scant_project *project, scant_net *net,
                                 const project_samples *samples, size_t model);
/* Deletes the prediction files of model - 2: those of model - 1 may still be read. */
void project_predict_forget(scant_project *project, size_t model);
/* The last model's probabilities of all items, computed if cache/ does not have them.
 * Borrowed, as project_array(). *model 0 and *out NULL: there is no model. */
scant_status project_predictions(scant_project *project, const scant_array **out,
                                 size_t *model);
/* The last model's probabilities as they are in cache/, which are not computed: *out may
 * be NULL, or have fewer rows than items or fewer columns than classes. */
scant_status project_predictions_cached(scant_project *project, const scant_array **out,
                                        size_t *model);
/* Opens the network of a model; SCANT_ENOTREADY if its weights are missing. */
scant_status project_net_open(scant_project *project, const store_model *model,
                              scant_net **out);

/* ---- project_gain.c ---- */

/* The temperature, cross-fitted on the labelled set: each network is trained without a
 * fifth of it. 0: the set is too small, or a training collapsed. */
scant_status project_temperature(scant_project *project, const project_settings *settings,
                                 const project_samples *samples,
                                 const project_training *labelled, double *out);

typedef struct project_gain {
    double mean, low, high; /* difference of accuracy, second - first; 95 % interval */
} project_gain;
/* The gain over n pairs of predictions. second, first: the number of pairs of which only
 * the second, or only the first, prediction is right. NaN if n < 2. */
project_gain project_gain_of(size_t second, size_t first, size_t n);
/* The gain over random: accuracy with the project's first labels (initial and picked
 * ones) minus that with as many random labels, on audited items that neither model has
 * seen. origins: a store_origin for each label of training. *labels: the number of labels
 * that each model was trained on; 0: the gain is unknown. If a training collapsed, the
 * gain is NaN and *labels is not 0. */
scant_status project_over_random(scant_project *project, const project_settings *settings,
                                 const project_samples *samples,
                                 const project_training *training,
                                 const unsigned char *origins,
                                 const project_training *audited, project_gain *out,
                                 size_t *labels);

#endif
