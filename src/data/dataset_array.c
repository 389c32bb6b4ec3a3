/* SPDX-License-Identifier: Apache-2.0
 *
 * Samples in rows of an array: .npy, .npz and IDX, mapped if the file allows it.
 *
 * n x d are feature rows, n x h x w single-channel images, n x h x w x c images with
 * channels last, as in NumPy and PIL; reading converts them to planes.
 */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "core/mem.h"
#include "data/dataset_int.h"
#include "data/idx.h"
#include "scant/train.h"

enum { CHUNK = 1024 };

/* Writes values first..first+n-1 of a sample to their places in out; with several
 * channels out is planes of `pixels`. */
static void scatter(const float *in, size_t first, size_t n, size_t channels,
                    size_t pixels, float *out) {
    for (size_t i = 0; i < n; i++)
        out[(first + i) % channels * pixels + (first + i) / channels] = in[i];
}

static scant_status check_finite(const scant_data *data, size_t row, const float *out,
                                 scant__fault *fault) {
    size_t width = scant__data_width(data);
    for (size_t i = 0; i < width; i++)
        if (!isfinite(out[i]))
            return scant__fault_set(fault, SCANT_EINPUT,
                                    "%s: sample %zu has a number that is not finite",
                                    data->name, row);
    return SCANT_OK;
}

static void read_bytes(const scant_data *data, const unsigned char *in, float *out) {
    size_t channels = data->shape[0], pixels = data->shape[1] * data->shape[2];
    if (pixels == 1) { /* features */
        for (size_t i = 0; i < channels; i++) out[i] = data->unit[in[i]];
        return;
    }
    for (size_t c = 0; c < channels; c++, out += pixels)
        for (size_t i = 0; i < pixels; i++) out[i] = data->unit[in[i * channels + c]];
}

static scant_status read_row(const scant_data *data, size_t row, float *out,
                             scant__fault *fault) {
    const scant_array *array = data->array;
    size_t width = scant__data_width(data), first = row * width;
    size_t channels = data->shape[0], pixels = data->shape[1] * data->shape[2];
    float chunk[CHUNK];
    if (array->dtype == SCANT_U8) {
        read_bytes(data, array->data + first, out);
        return SCANT_OK;
    }
    if (pixels == 1 || channels == 1)
        scant__array_read_f32(array, first, width, out);
    else
        for (size_t at = 0, n; at < width; at += n) {
            n = size_min(width - at, CHUNK);
            scant__array_read_f32(array, first + at, n, chunk);
            scatter(chunk, at, n, channels, pixels, out);
        }
    return check_finite(data, row, out, fault);
}

/* Takes array, also on failure. */
static scant_status use(scant_data *data, scant_array *array) {
    data->array = array;
    const size_t *shape = array->shape;
    switch (array->dtype) {
    case SCANT_U8:
    case SCANT_F16:
    case SCANT_F32:
    case SCANT_F64:
        break;
    default:
        return scant__fail(data->ctx, SCANT_EINPUT,
                           "%s: has samples of %s, expected uint8 (a byte per pixel), "
                           "float16, float32 or float64",
                           array->name, scant__dtype_name(array->dtype));
    }
    if (array->ndim < 2 || array->ndim > 4)
        return scant__fail(
            data->ctx, SCANT_EINPUT,
            "%s: has %zu dimension%s, expected n x d, n x h x w or n x h x w x c",
            array->name, array->ndim, array->ndim == 1 ? "" : "s");
    data->count = shape[0];
    data->images = array->ndim > 2;
    data->shape[0] = array->ndim == 2 ? shape[1] : array->ndim == 4 ? shape[3] : 1;
    data->shape[1] = data->images ? shape[1] : 1;
    data->shape[2] = data->images ? shape[2] : 1;
    data->read = read_row;
    if (array->ndim == 4 && (shape[1] == 1 || shape[1] == 3) && shape[2] == shape[3] &&
        shape[3] > 4) /* PyTorch's layout */
        scant__warn(data->ctx,
                    "%s: reads as images of %zux%zu pixels and %zu channels; channels "
                    "come last: arr.transpose(0, 2, 3, 1)",
                    array->name, shape[1], shape[2], shape[3]);
    return SCANT_OK;
}

scant_status scant__data_open_array(scant_data *data, const char *spec,
                                    const scant_data_opts *opts) {
    scant_array *array;
    (void)opts;
    TRY(scant_array_open(data->ctx, spec, &array));
    return use(data, array);
}

/* ---- IDX --------------------------------------------------------------------------- */

static const char images[] = "images-idx3", labels[] = "labels-idx1";
_Static_assert(sizeof images == sizeof labels, "one name becomes the other in place");
static const char *const endings[] = {"", ".gz", ".xz"};
enum { ENDINGS = sizeof endings / sizeof *endings, LONGEST = 3 };

/* Whether stem, plain or with an ending, is a readable file: appends the ending after
 * stem's length bytes. */
static bool find_ending(char *stem, size_t length) {
    for (size_t i = 0; i < ENDINGS; i++) {
        memcpy(stem + length, endings[i], strlen(endings[i]) + 1);
        if (access(stem, R_OK) == 0) return true;
    }
    return false;
}

/* The label file next to an image file: NULL and SCANT_OK if there is none. *out is new.
 * */
static scant_status find_labels(scant_ctx *ctx, const char *path, char **out) {
    const char *slash = strrchr(path, '/'), *part = strstr(slash ? slash : path, images);
    size_t length = strlen(path);
    *out = NULL;
    if (!part) return SCANT_OK;
    char *other = scant__alloc(ctx, length + LONGEST + 1, 1);
    if (!other) return SCANT_ENOMEM;
    memcpy(other, path, length + 1);
    memcpy(other + (part - path), labels, sizeof labels - 1);
    for (size_t i = 1; i < ENDINGS; i++)
        if (length > LONGEST && strcmp(other + length - LONGEST, endings[i]) == 0) {
            length -= LONGEST;
            break;
        }
    if (find_ending(other, length))
        *out = other;
    else
        scant__free(ctx, other);
    return SCANT_OK;
}

scant_status scant__data_open_idx(scant_data *data, const char *spec,
                                  const scant_data_opts *opts) {
    scant_array *array;
    char *beside;
    TRY(scant__idx_open(data->ctx, spec, &array));
    TRY(use(data, array));
    if (opts->labels) return SCANT_OK;
    TRY(find_labels(data->ctx, spec, &beside));
    if (!beside) return SCANT_OK;
    scant_status status = scant__data_label(data, beside, opts->regression);
    scant__free(data->ctx, beside);
    return status;
}

/* The path of a part's images in folder, or NULL; *status tells missing from out of
 * memory. */
static char *find_images(scant_ctx *ctx, const char *folder, const char *part,
                         scant_status *status) {
    static const char rest[] = "-images-idx3-ubyte";
    size_t length = strlen(folder), size = strlen(part);
    char *path = scant__alloc(ctx, length + 1 + size + sizeof rest + LONGEST, 1);
    *status = path ? SCANT_OK : SCANT_ENOMEM;
    if (!path) return NULL;
    memcpy(path, folder, length);
    path[length++] = '/';
    memcpy(path + length, part, size);
    memcpy(path + length + size, rest, sizeof rest - 1);
    if (find_ending(path, length + size + sizeof rest - 1)) return path;
    scant__free(ctx, path);
    return NULL;
}

static const char *const parts[] = {"train", "t10k"};

scant_status scant__is_mnist(scant_ctx *ctx, const char *folder, bool *out) {
    scant_status status = SCANT_OK;
    *out = false;
    for (size_t i = 0; i < 2 && status == SCANT_OK && !*out; i++) {
        char *path = find_images(ctx, folder, parts[i], &status);
        *out = path != NULL;
        scant__free(ctx, path);
    }
    return status;
}

scant_status scant__data_open_mnist(scant_data *data, const char *spec,
                                    const scant_data_opts *opts) {
    scant_status status;
    const char *part = parts[opts->test ? 1 : 0];
    char *path = find_images(data->ctx, spec, part, &status);
    if (!path && status == SCANT_OK)
        return scant__fail(data->ctx, SCANT_EINPUT,
                           "%s: has no %s-images-idx3-ubyte, plain, .gz or .xz", spec,
                           part);
    if (!path) return status;
    status = scant__data_open_idx(data, path, opts);
    scant__free(data->ctx, path);
    data->parts = true;
    return status;
}
