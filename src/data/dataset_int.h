/* SPDX-License-Identifier: Apache-2.0
 *
 * The struct behind scant_data, and the readers that fill it in.
 *
 * A reader gets a zeroed scant_data with context and name set. It sets count, shape, read
 * and the members that its format needs. If it fails, the caller frees the handle.
 */
#ifndef SCANT_DATA_DATASET_INT_H
#define SCANT_DATA_DATASET_INT_H

#include <limits.h>

#include "data/array.h"
#include "data/dataset.h"
#include "data/names.h"
#include "scant/train.h"

typedef scant_status scant__read_fn(const scant_data *data, size_t row, float *out,
                                    scant__fault *fault);

struct scant_data {
    scant_ctx *ctx;
    char *name;
    size_t count, shape[3];
    size_t classes;
    bool images;  /* samples are images, not feature rows */
    bool files;   /* samples are image files; sample_names: below name or absolute */
    bool numeric; /* some parts have values that do not come from bytes */
    bool parts;   /* has a test part */
    bool own;     /* has its own labels: a label file is refused */
    int32_t *labels;
    float *targets;
    scant__names class_names, sample_names;
    scant__read_fn *read;
    /* For composed data sets: returns the part that holds *row and sets *row to the row
     * there. NULL: not composed. */
    const scant_data *(*part)(const scant_data *data, size_t *row);
    scant_array *array; /* for arrays and IDX */
    float *numbers;     /* count x width, for CSV and synthetic data */
    void *store;        /* for other formats */
    void (*end)(scant_data *data);
    float unit[256]; /* b / 255 for each byte b */
};

/* Creates a handle with context and name (copied) set. On failure returns NULL and sets
 * the message. */
scant_data *scant__data_create(scant_ctx *ctx, const char *name);

typedef scant_status scant__open_fn(scant_data *data, const char *spec,
                                    const scant_data_opts *opts);

scant__open_fn scant__data_open_array;      /* .npy, .npz:KEY */
scant__open_fn scant__data_open_idx;        /* an IDX file of images */
scant__open_fn scant__data_open_mnist;      /* a folder of IDX files */
scant__open_fn scant__data_open_cifar_file; /* a file of CIFAR records */
scant__open_fn scant__data_open_cifar;      /* a folder of CIFAR files */
scant__open_fn scant__data_open_folder;     /* any other folder */
scant__open_fn scant__data_open_csv;
scant__open_fn scant__data_open_moons, scant__data_open_blobs;
scant__open_fn scant__data_open_waves, scant__data_open_heavy;

/* ---- IDX, the format of MNIST: two zero bytes, the type, the number of dimensions, each
 * dimension as four bytes big-endian, then the elements, big-endian too ---- */

/* Whether the bytes start with an IDX header. */
bool scant__idx_magic(const unsigned char *bytes, size_t size);
/* Opens an IDX file like scant_array_open(): a plain one is mapped, gzip or xz unpacked.
 * Refuses a file whose size differs from what its header states, without unpacking the
 * excess. */
scant_status scant__idx_open(scant_ctx *ctx, const char *path, scant_array **out);

/* Sets *out to whether a folder has MNIST's file names. */
scant_status scant__is_mnist(scant_ctx *ctx, const char *folder, bool *out);
/* The same for CIFAR. */
scant_status scant__is_cifar(scant_ctx *ctx, const char *folder, bool *out);

/* Reads labels from a file, after count is set; sets labels and classes, or targets. */
scant_status scant__data_label(scant_data *data, const char *spec, bool regression);

/* Makes data a set of image files with the paths sample_names, resized to side x side (0:
 * the default). */
scant_status scant__data_set_files(scant_data *data, size_t side);
/* Sets path to the path of a sample's image file, and maps the file. */
scant_status scant__data_map_file(const scant_data *data, size_t row, char path[PATH_MAX],
                                  scant__map *map, scant__fault *fault);

/* Reads a row of data->numbers. */
scant__read_fn scant__data_read_numbers;

#endif
