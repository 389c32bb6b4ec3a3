/* SPDX-License-Identifier: Apache-2.0
 *
 * What a reader of a format fills in, and the readers there are.
 *
 * A reader is handed a scant_data that has its context and name and is zero else. It sets
 * count, shape, read and what else it knows; where it fails, the handle is ended by
 * whoever made it.
 */
#ifndef SCANT_DATA_SAMPLES_INT_H
#define SCANT_DATA_SAMPLES_INT_H

#include <limits.h>

#include "data/array.h"
#include "data/map.h"
#include "data/names.h"
#include "data/samples.h"
#include "scant/train.h"

typedef scant_status scant__read_fn(const scant_data *data, size_t row, float *out,
                                    scant__fault *fault);

struct scant_data {
    scant_ctx *ctx;
    char *name;
    size_t count, shape[3];
    size_t classes;
    bool pictures; /* not rows of features */
    bool files;    /* pictures in files: sample_names are their paths below name */
    bool numeric;  /* of parts: they have numbers that were no bytes */
    bool parts;    /* there is one to test with */
    bool own;      /* labels come with the samples: none may be given */
    int32_t *labels;
    float *targets;
    scant__names class_names, sample_names;
    scant__read_fn *read;
    /* Of samples that others are made of: whose sample *row is, *row becoming its row
     * there. NULL: its own. */
    const scant_data *(*part)(const scant_data *data, size_t *row);
    scant_array *array; /* of arrays and IDX */
    float *numbers;     /* count x width: of CSV and what is drawn */
    void *store;        /* of other formats */
    void (*end)(scant_data *data);
    float unit[256]; /* a byte's value: b / 255 */
};

/* One that has its context and its name, which is copied; NULL with the error text set.
 */
scant_data *scant__data_create(scant_ctx *ctx, const char *name);

typedef scant_status scant__open_fn(scant_data *data, const char *spec,
                                    const scant_data_opts *opts);

scant__open_fn scant__data_open_array;    /* .npy, .npz:KEY */
scant__open_fn scant__data_open_idx;      /* a file of images */
scant__open_fn scant__data_open_mnist;    /* a folder of IDX files */
scant__open_fn scant__data_open_records;  /* a file of CIFAR's records */
scant__open_fn scant__data_open_batches;  /* a folder of them */
scant__open_fn scant__data_open_pictures; /* a folder of other things */
scant__open_fn scant__data_open_csv;
scant__open_fn scant__data_open_moons, scant__data_open_blobs;
scant__open_fn scant__data_open_waves, scant__data_open_heavy;

/* Whether a folder has the files that make it MNIST's. */
scant_status scant__is_mnist(scant_ctx *ctx, const char *folder, bool *out);
/* Or CIFAR's. */
scant_status scant__is_batches(scant_ctx *ctx, const char *folder, bool *out);

/* The labels of samples whose count is known, from a file or an array; sets labels and
 * classes, or targets. */
scant_status scant__data_label(scant_data *data, const char *spec, bool regression);
scant_status scant__data_label_from(scant_data *data, const scant_array *array,
                                    bool regression);

/* Makes data one of pictures in the files that sample_names are the paths of, brought to
 * side x side (0: the default). */
scant_status scant__data_set_files(scant_data *data, size_t side);
/* The file of such a sample: its path, and its bytes. */
scant_status scant__data_map_file(const scant_data *data, size_t row, char path[PATH_MAX],
                                  scant__map *map, scant__fault *fault);

/* Reads a row of data->numbers. */
scant__read_fn scant__data_read_numbers;

#endif
