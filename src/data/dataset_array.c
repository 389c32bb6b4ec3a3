/* SPDX-License-Identifier: Apache-2.0
 *
 * Samples in rows of an array: .npy, .npz and IDX. Uncompressed files are mapped.
 *
 * An n x d array has feature rows, n x h x w has single-channel images, n x h x w x c has
 * images with channels last, as in NumPy and PIL. Reading converts them to planes.
 */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "data/dataset_int.h"
#include "data/unpack.h"

enum { CHUNK = 1024 };

/* Writes values first..first+n-1 of a sample, channels last, to out, which has one plane
 * of `pixels` values per channel. */
static void scatter(const float *in, size_t first, size_t n, size_t channels,
                    size_t pixels, float *out) {
    for (size_t i = 0; i < n; i++)
        out[(first + i) % channels * pixels + (first + i) / channels] = in[i];
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
    for (size_t i = 0; i < width; i++)
        if (!isfinite(out[i]))
            return scant__fault_set(fault, SCANT_EINPUT,
                                    "%s: sample %zu has a number that is not finite",
                                    data->name, row);
    return SCANT_OK;
}

/* Makes array the samples of data. Takes ownership of array, also on failure. */
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
        return scant__refuse(data->ctx, array->name,
                             "has samples of %s, expected uint8 (a byte per pixel), "
                             "float16, float32 or float64",
                             scant__dtype_name(array->dtype));
    }
    if (array->ndim < 2 || array->ndim > 4)
        return scant__refuse(
            data->ctx, array->name,
            "has %zu dimension%s, expected n x d, n x h x w or n x h x w x c",
            array->ndim, array->ndim == 1 ? "" : "s");
    data->count = shape[0];
    data->images = array->ndim > 2;
    data->shape[0] = array->ndim == 2 ? shape[1] : array->ndim == 4 ? shape[3] : 1;
    data->shape[1] = data->images ? shape[1] : 1;
    data->shape[2] = data->images ? shape[2] : 1;
    data->read = read_row;
    if (array->ndim == 4 && (shape[1] == 1 || shape[1] == 3) && shape[2] == shape[3] &&
        shape[3] > 4) /* looks like PyTorch's layout */
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

enum { MAX_DIMS = 4, MAX_HEADER = 4 + 4 * MAX_DIMS };

static const struct {
    unsigned char code;
    scant_dtype dtype;
} types[] = {{0x08, SCANT_U8},  {0x09, SCANT_I8},  {0x0b, SCANT_I16},
             {0x0c, SCANT_I32}, {0x0d, SCANT_F32}, {0x0e, SCANT_F64}};

static scant_dtype find_type(unsigned char code) {
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].code == code) return types[i].dtype;
    return 0;
}

bool scant__idx_magic(const unsigned char *bytes, size_t size) {
    return size >= 4 && !bytes[0] && !bytes[1] && find_type(bytes[2]) && bytes[3] >= 1 &&
           bytes[3] <= MAX_DIMS;
}

/* Sets type, shape and count from a complete header. */
static scant_status read_header(scant_ctx *ctx, const unsigned char *header,
                                scant_array *array) {
    array->dtype = find_type(header[2]);
    array->item = scant__dtype_size(array->dtype);
    array->swapped = array->item > 1 && SCANT__LITTLE_ENDIAN;
    array->ndim = header[3];
    for (size_t i = 0; i < array->ndim; i++) {
        const unsigned char *p = header + 4 + 4 * i;
        array->shape[i] =
            (size_t)p[0] << 24 | (size_t)p[1] << 16 | (size_t)p[2] << 8 | p[3];
    }
    if (!scant__shape_count(array->ndim, array->shape, array->item, &array->count))
        return scant__refuse(ctx, array->name,
                             "its header asks for more than can be addressed");
    return SCANT_OK;
}

static scant_status cut_short(scant_ctx *ctx, const char *name) {
    return scant__refuse(ctx, name, "its header is cut short");
}

static scant_status not_idx(scant_ctx *ctx, const char *name, const unsigned char *bytes,
                            size_t size) {
    if (!size) return scant__refuse(ctx, name, "is empty, not IDX");
    return scant__refuse(ctx, name, "is not an IDX file; it looks like %s",
                         scant__filetype_name(bytes, size));
}

static scant_status wrong_size(scant_ctx *ctx, const scant_array *array, size_t found,
                               const char *more) {
    return scant__refuse(ctx, array->name,
                         "%zu bytes of elements expected by its header, %zu%s found",
                         array->count * array->item, found, more);
}

static scant_status read_plain(scant_ctx *ctx, scant__source *source,
                               scant_array *array) {
    const unsigned char *bytes = source->bytes;
    if (!scant__idx_magic(bytes, source->size))
        return not_idx(ctx, array->name, bytes, source->size);
    size_t header = 4 + 4 * (size_t)bytes[3];
    if (source->size < header) return cut_short(ctx, array->name);
    TRY(read_header(ctx, bytes, array));
    if (source->size - header != array->count * array->item)
        return wrong_size(ctx, array, source->size - header, "");
    array->data = bytes + header;
    array->source = *source;
    *source = (scant__source){0}; /* taken over */
    return SCANT_OK;
}

static scant_status read_packed(scant_ctx *ctx, scant__unpack *u, scant_array *array) {
    unsigned char header[MAX_HEADER], beyond;
    size_t got, size;
    TRY(scant__unpack_read(u, header, 4, &got));
    if (!scant__idx_magic(header, got)) return not_idx(ctx, array->name, header, got);
    size = 4 * (size_t)header[3];
    TRY(scant__unpack_read(u, header + 4, size, &got));
    if (got < size) return cut_short(ctx, array->name);
    TRY(read_header(ctx, header, array));
    size = array->count * array->item;
    array->source.ctx = ctx;
    array->source.owned = scant__alloc(ctx, size, 1);
    if (!array->source.owned)
        return scant__fail(ctx, SCANT_ENOMEM,
                           "%s: unpacking needs %zu bytes of memory (%zu of %zu in use); "
                           "an uncompressed file needs none",
                           array->name, scant__alloc_cost(size), ctx->used, ctx->cap);
    array->data = array->source.owned;
    TRY(scant__unpack_read(u, array->source.owned, size, &got));
    if (got < size) return wrong_size(ctx, array, got, "");
    TRY(scant__unpack_read(u, &beyond, 1, &got));
    return got ? wrong_size(ctx, array, size, " and more") : SCANT_OK;
}

scant_status scant__idx_open(scant_ctx *ctx, const char *path, scant_array **out) {
    AUTO(scant__source_close) scant__source source = {0};
    AUTO(scant__unpack_auto) scant__unpack *u = NULL;
    *out = NULL;
    TRY(scant__source_open(ctx, path, &source));
    AUTO(scant_array_auto) scant_array *array = scant__array_create(ctx, path);
    if (!array) return SCANT_ENOMEM;
    if (scant__is_packed(source.bytes, source.size)) {
        TRY(scant__unpack_open(ctx, path, source.bytes, source.size, &u));
        TRY(read_packed(ctx, u, array));
    } else {
        TRY(read_plain(ctx, &source, array));
    }
    *out = TAKE(array);
    return SCANT_OK;
}

/* ---- MNIST ------------------------------------------------------------------------- */

static const char images[] = "images-idx3", labels[] = "labels-idx1";
_Static_assert(sizeof images == sizeof labels, "one name becomes the other in place");

/* Finds the first of the files STEM, STEM.gz and STEM.xz that is readable; *out is its
 * path in the arena, or NULL. */
static scant_status find_file(scant__arena *arena, const char *stem, size_t length,
                              const char **out) {
    static const char *const endings[] = {"", ".gz", ".xz"};
    *out = NULL;
    for (size_t i = 0; i < 3 && !*out; i++) {
        const char *path =
            scant__arena_format(arena, "%.*s%s", (int)length, stem, endings[i]);
        if (!path) return SCANT_ENOMEM;
        if (access(path, R_OK) == 0) *out = path;
    }
    return SCANT_OK;
}

/* Finds the label file of an image file, in the same folder; NULL: there is none. */
static scant_status find_labels(scant__arena *arena, const char *path, const char **out) {
    const char *slash = strrchr(path, '/'), *part = strstr(slash ? slash : path, images);
    *out = NULL;
    if (!part) return SCANT_OK;
    char *other = scant__arena_strdup(arena, path);
    if (!other) return SCANT_ENOMEM;
    memcpy(other + (part - path), labels, sizeof labels - 1);
    size_t length = strlen(other);
    if (length > 3 && (strcmp(other + length - 3, ".gz") == 0 ||
                       strcmp(other + length - 3, ".xz") == 0))
        length -= 3;
    return find_file(arena, other, length, out);
}

scant_status scant__data_open_idx(scant_data *data, const char *spec,
                                  const scant_data_opts *opts) {
    AUTO(scant__arena_end) scant__arena arena = {.ctx = data->ctx};
    scant_array *array;
    const char *beside;
    TRY(scant__idx_open(data->ctx, spec, &array));
    TRY(use(data, array));
    if (opts->labels) return SCANT_OK;
    TRY(find_labels(&arena, spec, &beside));
    return beside ? scant__data_label(data, beside, opts->regression) : SCANT_OK;
}

static const char *const parts[] = {"train", "t10k"};

/* Finds the image file of a part in a folder; NULL: there is none. */
static scant_status find_images(scant__arena *arena, const char *folder, const char *part,
                                const char **out) {
    const char *stem =
        scant__arena_format(arena, "%s/%s-images-idx3-ubyte", folder, part);
    return stem ? find_file(arena, stem, strlen(stem), out) : SCANT_ENOMEM;
}

scant_status scant__is_mnist(scant_ctx *ctx, const char *folder, bool *out) {
    AUTO(scant__arena_end) scant__arena arena = {.ctx = ctx};
    const char *path = NULL;
    for (size_t i = 0; i < 2 && !path; i++)
        TRY(find_images(&arena, folder, parts[i], &path));
    *out = path != NULL;
    return SCANT_OK;
}

scant_status scant__data_open_mnist(scant_data *data, const char *spec,
                                    const scant_data_opts *opts) {
    AUTO(scant__arena_end) scant__arena arena = {.ctx = data->ctx};
    const char *part = parts[opts->test ? 1 : 0], *path;
    TRY(find_images(&arena, spec, part, &path));
    if (!path)
        return scant__refuse(data->ctx, spec,
                             "has no %s-images-idx3-ubyte, plain, .gz or .xz", part);
    data->parts = true;
    return scant__data_open_idx(data, path, opts);
}
