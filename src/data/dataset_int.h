/* SPDX-License-Identifier: Apache-2.0
 *
 * The struct behind scant_data, and the readers that fill it in.
 *
 * A reader gets a zeroed scant_data with context and name set. It sets count, shape, read
 * and whatever else it knows; if it fails, the caller frees the handle.
 */
#ifndef SCANT_DATA_DATASET_INT_H
#define SCANT_DATA_DATASET_INT_H

#include <limits.h>

#include "data/array.h"
#include "data/dataset.h"
#include "data/map.h"
#include "data/names.h"
#include "scant/train.h"

typedef scant_status scant__read_fn(const scant_data *data, size_t row, float *out,
                                    scant__fault *fault);

struct scant_data {
    scant_ctx *ctx;
    char *name;
    size_t count, shape[3];
    size_t classes;
    bool images;  /* not feature rows */
    bool files;   /* images in files: sample_names are their paths below name */
    bool numeric; /* some parts have values that were not bytes */
    bool parts;   /* it has a test part */
    bool own;     /* labels come with the samples: none may be given */
    int32_t *labels;
    float *targets;
    scant__names class_names, sample_names;
    scant__read_fn *read;
    /* For samples composed of others: the data set that holds *row; *row becomes the row
     * there. NULL: this one. */
    const scant_data *(*part)(const scant_data *data, size_t *row);
    scant_array *array; /* arrays and IDX */
    float *numbers;     /* count x width: CSV and synthetic data */
    void *store;        /* other formats */
    void (*end)(scant_data *data);
    float unit[256]; /* b / 255 for each byte b */
};

/* A handle with only context and name (copied) set; NULL with the error text set. */
scant_data *scant__data_create(scant_ctx *ctx, const char *name);

typedef scant_status scant__open_fn(scant_data *data, const char *spec,
                                    const scant_data_opts *opts);

scant__open_fn scant__data_open_array;      /* .npy, .npz:KEY */
scant__open_fn scant__data_open_idx;        /* an image file */
scant__open_fn scant__data_open_mnist;      /* a folder of IDX files */
scant__open_fn scant__data_open_cifar_file; /* a file of CIFAR records */
scant__open_fn scant__data_open_cifar;      /* a folder of such files */
scant__open_fn scant__data_open_folder;     /* any other folder */
scant__open_fn scant__data_open_csv;
scant__open_fn scant__data_open_moons, scant__data_open_blobs;
scant__open_fn scant__data_open_waves, scant__data_open_heavy;

/* Whether a folder has MNIST's file names. */
scant_status scant__is_mnist(scant_ctx *ctx, const char *folder, bool *out);
/* The same for CIFAR. */
scant_status scant__is_cifar(scant_ctx *ctx, const char *folder, bool *out);

/* Reads labels for samples whose count is known; sets labels and classes, or targets. */
scant_status scant__data_label(scant_data *data, const char *spec, bool regression);
scant_status scant__data_label_from(scant_data *data, const scant_array *array,
                                    bool regression);

/* Makes data a set of image files with the paths sample_names, resized to side x side (0:
 * the default). */
scant_status scant__data_set_files(scant_data *data, size_t side);
/* Path and contents of such a sample's file. */
scant_status scant__data_map_file(const scant_data *data, size_t row, char path[PATH_MAX],
                                  scant__map *map, scant__fault *fault);

/* Reads a row of data->numbers. */
scant__read_fn scant__data_read_numbers;

#endif
