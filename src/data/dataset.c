/* SPDX-License-Identifier: Apache-2.0
 *
 * The data set handle, and the choice of a reader for a spec. Built-in names come first.
 * The reader of a folder depends on its contents. A file is tested in this order: the
 * first bytes of .npy and .npz, the endings .bin and .csv, the first bytes of IDX.
 */
#include "data/dataset_int.h"

#include <string.h>
#include <sys/stat.h>

#include "core/option.h"
#include "data/file.h"
#include "data/npy.h"
#include "data/unpack.h"

/* ---- choice of the reader ---------------------------------------------------------- */

/* Class names of Fashion-MNIST, whose files hold only class numbers. */
static const char *const fashion[] = {"T-shirt/top", "Trouser",   "Pullover", "Dress",
                                      "Coat",        "Sandal",    "Shirt",    "Sneaker",
                                      "Bag",         "Ankle boot"};

static scant_status open_fashion(scant_data *data, const char *spec,
                                 const scant_data_opts *opts) {
    static const char folder[] = "/usr/share/datasets/fashion-mnist";
    bool there;
    (void)spec;
    TRY(scant__is_mnist(data->ctx, folder, &there));
    if (!there)
        return scant__fail(data->ctx, SCANT_EINPUT,
                           "fashion-mnist: is not in %s: install the package "
                           "dataset-fashion-mnist",
                           folder);
    TRY(scant__data_open_mnist(data, folder, opts));
    if (opts->labels || opts->unlabelled || opts->regression) return SCANT_OK;
    for (size_t i = 0; i < sizeof fashion / sizeof *fashion; i++)
        TRY(scant__names_put(data->ctx, &data->class_names, fashion[i]));
    return SCANT_OK;
}

static const struct {
    const char *name;
    scant__open_fn *open;
} named[] = {{"fashion-mnist", open_fashion},
             {"moons", scant__data_open_moons},
             {"blobs", scant__data_open_blobs},
             {"waves", scant__data_open_waves},
             {"heavy", scant__data_open_heavy}};

static scant_status find_folder(scant_ctx *ctx, const char *spec, scant__open_fn **open) {
    bool found;
    TRY(scant__is_mnist(ctx, spec, &found));
    *open = scant__data_open_mnist;
    if (found) return SCANT_OK;
    TRY(scant__is_cifar(ctx, spec, &found));
    *open = found ? scant__data_open_cifar : scant__data_open_folder;
    return SCANT_OK;
}

/* Reads the first `want` bytes, decompressed if needed; a short file gives fewer. */
static scant_status peek(scant_ctx *ctx, const char *spec, const scant__source *source,
                         unsigned char *out, size_t want, size_t *got) {
    if (!scant__is_packed(source->bytes, source->size)) {
        *got = size_min(source->size, want);
        memcpy(out, source->bytes, *got);
        return SCANT_OK;
    }
    AUTO(scant__unpack_auto) scant__unpack *u = NULL;
    TRY(scant__unpack_open(ctx, spec, source->bytes, source->size, &u));
    return scant__unpack_read(u, out, want, got);
}

static scant_status find_file(scant_ctx *ctx, const char *spec,
                              const scant__source *source, scant__open_fn **open) {
    unsigned char first[512];
    size_t got;
    *open = scant__data_open_array;
    if (source->member || scant__npy_magic(source->bytes, source->size)) return SCANT_OK;
    if (!source->size) return scant__refuse(ctx, spec, "is empty");
    *open = scant__data_open_cifar_file;
    if (scant__ends_with_packed(spec, ".bin")) return SCANT_OK;
    *open = scant__data_open_csv;
    if (scant__ends_with_packed(spec, ".csv")) return SCANT_OK;
    TRY(peek(ctx, spec, source, first, sizeof first, &got));
    *open = scant__data_open_idx;
    if (scant__idx_magic(first, got)) return SCANT_OK;
    return scant__refuse(ctx, spec,
                         "expected samples (.npy, .npz, IDX, .csv or CIFAR records as "
                         ".bin); it looks like %s",
                         scant__filetype_name(first, got));
}

static scant_status find_reader(scant_ctx *ctx, const char *spec, scant__open_fn **open) {
    struct stat st;
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        *open = named[i].open;
        if (strcmp(spec, named[i].name) == 0) return SCANT_OK;
    }
    if (stat(spec, &st) == 0 && S_ISDIR(st.st_mode)) return find_folder(ctx, spec, open);
    AUTO(scant__source_close) scant__source source = {0};
    TRY(scant__source_open(ctx, spec, &source));
    return find_file(ctx, spec, &source, open);
}

/* ---- the handle -------------------------------------------------------------------- */

static void forget_labels(scant_data *data) {
    scant__free(data->ctx, data->labels);
    scant__free(data->ctx, data->targets);
    data->labels = NULL;
    data->targets = NULL;
    data->classes = 0;
    data->own = false;
    scant__names_end(&data->class_names);
}

static scant_status fill(scant_data *data, const char *spec,
                         const scant_data_opts *opts) {
    scant__open_fn *open;
    size_t width;
    TRY(find_reader(data->ctx, spec, &open));
    TRY(open(data, spec, opts));
    if (!data->count) return scant__refuse(data->ctx, spec, "has no samples");
    if (!scant__mul(data->shape[1], data->shape[2], &width) ||
        !scant__mul(width, data->shape[0], &width) || !width)
        return scant__refuse(data->ctx, spec, "has samples without values");
    if (opts->unlabelled) forget_labels(data);
    if (opts->labels && data->own)
        return scant__fail(data->ctx, SCANT_EUSAGE,
                           "%s: is given as labels, but %s has its own", opts->labels,
                           spec);
    if (!opts->labels) return SCANT_OK;
    return scant__data_label(data, opts->labels, opts->regression);
}

scant_data *scant__data_create(scant_ctx *ctx, const char *name) {
    size_t length = strlen(name) + 1;
    scant_data *data = scant__zalloc(ctx, sizeof *data + length, 1);
    if (!data) return NULL;
    data->ctx = ctx;
    data->name = memcpy(data + 1, name, length);
    for (size_t i = 0; i < 256; i++) data->unit[i] = (float)i / 255;
    return data;
}

scant_status scant_data_open(scant_ctx *ctx, const char *spec,
                             const scant_data_opts *opts, scant_data **out) {
    *out = NULL;
    NEED(ctx);
    const scant_data_opts none = {0};
    AUTO(scant_data_auto) scant_data *data = scant__data_create(ctx, spec);
    if (!data) return SCANT_ENOMEM;
    TRY(fill(data, spec, opts ? opts : &none));
    *out = TAKE(data);
    return SCANT_OK;
}

void scant_data_free(scant_data *data) {
    if (!data) return;
    if (data->end) data->end(data);
    scant_array_free(data->array);
    scant__names_end(&data->class_names);
    scant__names_end(&data->sample_names);
    scant__free(data->ctx, data->numbers);
    scant__free(data->ctx, data->labels);
    scant__free(data->ctx, data->targets);
    scant__free(data->ctx, data);
}

const char *scant_data_name(const scant_data *data) { return data->name; }
size_t scant_data_count(const scant_data *data) { return data->count; }
const int32_t *scant_data_labels(const scant_data *data) { return data->labels; }
const float *scant_data_targets(const scant_data *data) { return data->targets; }
size_t scant_data_classes(const scant_data *data) { return data->classes; }
bool scant__data_is_image(const scant_data *data) { return data->images; }
bool scant__data_bytes(const scant_data *data) {
    return !data->numeric && !data->numbers &&
           (!data->array || data->array->dtype == SCANT_U8);
}
bool scant_data_has_test(const scant_data *data) { return data->parts; }

void scant_data_shape(const scant_data *data, size_t shape[3]) {
    memcpy(shape, data->shape, sizeof data->shape);
}

const char *scant_data_class_name(const scant_data *data, size_t label) {
    return scant__names_name(&data->class_names, label);
}

const char *scant_data_sample_name(const scant_data *data, size_t sample) {
    if (sample >= data->count) return NULL;
    while (data->part) data = data->part(data, &sample);
    return scant__names_name(&data->sample_names, sample);
}

size_t scant__data_width(const scant_data *data) {
    return data->shape[0] * data->shape[1] * data->shape[2];
}

scant_status scant__data_read(const scant_data *data, size_t row, float *out,
                              scant__fault *fault) {
    if (row >= data->count)
        return scant__fault_set(fault, SCANT_EUSAGE, "%s: has no sample %zu, only %zu",
                                data->name, row, data->count);
    return data->read(data, row, out, fault);
}

scant_status scant__data_read_numbers(const scant_data *data, size_t row, float *out,
                                      scant__fault *fault) {
    size_t width = scant__data_width(data);
    (void)fault; /* the numbers were checked when they were set */
    memcpy(out, data->numbers + row * width, width * sizeof *out);
    return SCANT_OK;
}

/* ---- table of options -------------------------------------------------------------- */

#define AT(field) offsetof(scant_data_opts, field)

static const char samples[] = "Samples";

static const scant_option options[] = {
    OPT_ARRAY("labels", "FILE", AT(labels), samples,
              "labels of data that does not carry its own"),
    OPT_SWITCH("no_labels", NULL, AT(unlabelled), samples,
               "ignore the data's own labels; all columns of a CSV file are features"),
    OPT_SWITCH("regression", NULL, AT(regression), samples,
               "labels are numbers to predict, not classes"),
    OPT_COUNT("size", "PIXELS", "0", AT(side), 0, 8192, samples,
              "side that images of a folder are scaled to; 0: the model's usual "
              "size, else 224"),
    OPT_COUNT("count", "N", "0", AT(count), 0, 1e12, samples,
              "how many samples of moons, blobs, waves or heavy to draw; 0: 1000"),
};

const scant_option *scant_data_options(size_t *count) {
    *count = sizeof options / sizeof *options;
    return options;
}
