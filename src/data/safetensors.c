/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads untrusted safetensors files, and writes them.
 *
 * The file is mapped and its header parsed once; names, shapes and metadata are copied
 * from the JSON tree. Opening reads the header only. A valid file is refused if a tensor
 * has more than SCANT__TENSOR_DIMS dimensions or a dtype that the table below lacks, such
 * as 8-bit floats, or if the header has more than SCANT__TENSOR_HEADER bytes. Unknown
 * keys of a tensor are ignored, as in the reference reader.
 */
#include "data/safetensors.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/json_read.h"
#include "core/utf8.h"
#include "data/array.h"
#include "data/file.h"
#include "data/source.h"

enum { LENGTH_SIZE = 8, ALIGNMENT = 8, SHOWN = 80 };

static const char meta_name[] = "__metadata__";

static const struct {
    scant_dtype dtype;
    const char *name;
    size_t item;
} dtypes[] = {
    {SCANT_F32, "F32", 4},
    {SCANT_F16, "F16", 2},
    {SCANT_F64, "F64", 8},
    {(scant_dtype)SCANT__BF16, "BF16", 2},
    {SCANT_U8, "U8", 1},
    {SCANT_I8, "I8", 1},
    {SCANT_U16, "U16", 2},
    {SCANT_I16, "I16", 2},
    {SCANT_U32, "U32", 4},
    {SCANT_I32, "I32", 4},
    {SCANT_U64, "U64", 8},
    {SCANT_I64, "I64", 8},
    {(scant_dtype)SCANT__BOOL, "BOOL", 1},
};

enum { DTYPES = sizeof dtypes / sizeof *dtypes };

typedef struct entry {
    scant__tensor tensor;
    size_t begin, end; /* offsets in the data */
} entry;

struct scant__tensors {
    scant_ctx *ctx;
    const char *path; /* set only while the header is parsed */
    scant__source source;
    scant__arena arena;
    char *text;     /* next free byte of a buffer for all strings of the header */
    entry *entries; /* in file order */
    const scant__tensor **by_name;
    size_t count;
    scant_setting *meta;
    size_t n_meta;
};

const char *scant__tensor_dtype_name(scant_dtype dtype) {
    for (size_t i = 0; i < DTYPES; i++)
        if (dtypes[i].dtype == dtype) return dtypes[i].name;
    return NULL;
}

size_t scant__tensor_item(scant_dtype dtype) {
    for (size_t i = 0; i < DTYPES; i++)
        if (dtypes[i].dtype == dtype) return dtypes[i].item;
    return 0;
}

/* ---- the header -------------------------------------------------------------------- */

static const char *shown(const char *text, char out[SHOWN]) {
    return scant__printable(text, strlen(text), out, SHOWN);
}

static scant_status wrong(const scant__tensors *t, const char *name, const char *why) {
    char text[SHOWN];
    return scant__refuse(t->ctx, t->path, "tensor '%s': %s", shown(name, text), why);
}

static const char *keep_text(scant__tensors *t, const char *text) {
    size_t size = strlen(text) + 1;
    const char *kept = memcpy(t->text, text, size);
    t->text += size;
    return kept;
}

static bool size_value(const json_t *value, size_t *out) {
    json_int_t number = json_integer_value(value);
    if (!json_is_integer(value) || number < 0 || (uintmax_t)number > SIZE_MAX)
        return false;
    *out = (size_t)number;
    return true;
}

static scant_status read_dtype(const scant__tensors *t, const json_t *value,
                               scant__tensor *out) {
    const char *text = json_string_value(value);
    char dtype[SHOWN], name[SHOWN];
    if (!text) return wrong(t, out->name, "'dtype' is not a string");
    for (size_t i = 0; i < DTYPES; i++)
        if (strcmp(text, dtypes[i].name) == 0) {
            out->dtype = dtypes[i].dtype;
            return SCANT_OK;
        }
    return scant__refuse(t->ctx, t->path,
                         "tensor '%s': dtype '%s' cannot be read; floats (F16, BF16, "
                         "F32, F64) and whole numbers can",
                         shown(out->name, name), shown(text, dtype));
}

static scant_status read_shape(const scant__tensors *t, const json_t *list,
                               scant__tensor *out) {
    if (!json_is_array(list)) return wrong(t, out->name, "'shape' is not a list");
    if (json_array_size(list) > SCANT__TENSOR_DIMS)
        return wrong(t, out->name, "'shape' has more than 8 dimensions");
    out->ndim = json_array_size(list);
    for (size_t i = 0; i < out->ndim; i++)
        if (!size_value(json_array_get(list, i), &out->shape[i]))
            return wrong(t, out->name, "'shape' has an entry that is not a whole number");
    if (!scant__shape_count(out->ndim, out->shape, scant__tensor_item(out->dtype),
                            &out->count))
        return wrong(t, out->name, "'shape' has more elements than can be addressed");
    return SCANT_OK;
}

static scant_status read_entry(scant__tensors *t, const char *name, const json_t *info,
                               size_t data_size, entry *out) {
    const json_t *offsets = json_object_get(info, "data_offsets");
    char text[SHOWN];
    out->tensor.name = keep_text(t, name);
    if (!json_is_object(info))
        return wrong(t, name, "expected an object with dtype, shape and data_offsets");
    TRY(read_dtype(t, json_object_get(info, "dtype"), &out->tensor));
    TRY(read_shape(t, json_object_get(info, "shape"), &out->tensor));
    if (json_array_size(offsets) != 2 ||
        !size_value(json_array_get(offsets, 0), &out->begin) ||
        !size_value(json_array_get(offsets, 1), &out->end))
        return wrong(t, name, "'data_offsets' are not two whole numbers");
    if (out->begin > out->end || out->end > data_size)
        return scant__refuse(t->ctx, t->path,
                             "tensor '%s': claims bytes %zu to %zu of %zu; the file is "
                             "cut short or damaged",
                             shown(name, text), out->begin, out->end, data_size);
    size_t needed = out->tensor.count * scant__tensor_item(out->tensor.dtype);
    if (out->end - out->begin != needed)
        return scant__refuse(t->ctx, t->path,
                             "tensor '%s': has %zu bytes, but its shape needs %zu",
                             shown(name, text), out->end - out->begin, needed);
    return SCANT_OK;
}

static scant_status read_meta(scant__tensors *t, json_t *object) {
    const char *key;
    json_t *value;
    char text[SHOWN];
    if (!json_is_object(object))
        return scant__refuse(t->ctx, t->path, "'%s' is not an object", meta_name);
    t->meta = TRY_NEW(&t->arena, scant_setting, size_max(json_object_size(object), 1));
    json_object_foreach(object, key, value) {
        if (!json_is_string(value))
            return scant__refuse(t->ctx, t->path, "'%s': '%s' is not a string", meta_name,
                                 shown(key, text));
        t->meta[t->n_meta].key = keep_text(t, key);
        t->meta[t->n_meta++].value = keep_text(t, json_string_value(value));
    }
    return SCANT_OK;
}

/* Orders by offset, and empty tensors at the same offset by name. */
static int by_bytes(const void *a, const void *b) {
    const entry *x = a, *y = b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    if (x->end != y->end) return x->end < y->end ? -1 : 1;
    return strcmp(x->tensor.name, y->tensor.name);
}

static int by_name(const void *a, const void *b) {
    const scant__tensor *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

static scant_status check_cover(const scant__tensors *t, size_t data_size) {
    size_t at = 0;
    for (size_t i = 0; i < t->count; i++) {
        const entry *e = &t->entries[i];
        if (e->begin < at)
            return wrong(t, e->tensor.name, "its bytes overlap another tensor");
        if (e->begin > at)
            return wrong(t, e->tensor.name, "the bytes before it belong to no tensor");
        at = e->end;
    }
    if (at != data_size)
        return scant__refuse(t->ctx, t->path,
                             "the last %zu of %zu bytes of data belong to no tensor",
                             data_size - at, data_size);
    return SCANT_OK;
}

static scant_status read_tree(scant__tensors *t, json_t *root, size_t text_size,
                              size_t data_size) {
    const char *name;
    json_t *info;
    size_t most = size_max(json_object_size(root), 1);
    if (!json_is_object(root))
        return scant__refuse(t->ctx, t->path, "the header is not a JSON object");
    t->text = TRY_NEW(&t->arena, char, text_size);
    t->entries = TRY_ZERO(&t->arena, entry, most);
    t->by_name = TRY_NEW(&t->arena, const scant__tensor *, most);
    json_object_foreach(root, name, info) {
        if (strcmp(name, meta_name) == 0)
            TRY(read_meta(t, info));
        else
            TRY(read_entry(t, name, info, data_size, &t->entries[t->count++]));
    }
    qsort(t->entries, t->count, sizeof *t->entries, by_bytes);
    for (size_t i = 0; i < t->count; i++) t->by_name[i] = &t->entries[i].tensor;
    qsort(t->by_name, t->count, sizeof *t->by_name, by_name);
    return check_cover(t, data_size);
}

static scant_status read_header(scant__tensors *t, const char *header, size_t size,
                                size_t data_size) {
    AUTO(scant__json_tree_end) scant__json_tree tree = {0};
    char text[SHOWN];
    scant_status status =
        scant__json_read(t->ctx, header, size, JSON_REJECT_DUPLICATES, NULL, &tree);
    if (status == SCANT_ENOMEM)
        return scant__fail(t->ctx, status, "%s: the header %s", t->path, tree.error.text);
    if (status != SCANT_OK)
        return scant__refuse(t->ctx, t->path, "the header is not JSON: at byte %d: %s",
                             tree.error.position, shown(tree.error.text, text));
    return read_tree(t, tree.root, size, data_size);
}

/* ---- the file ---------------------------------------------------------------------- */

/* Fails with a message that names the file's type, without the advice about arrays that
 * scant__filetype_name() may add. */
static scant_status not_safetensors(const scant__tensors *t) {
    const char *what = scant__filetype_name(t->source.bytes, t->source.size);
    const char *hint = strstr(what, " (save");
    return scant__refuse(t->ctx, t->path,
                         "is not a safetensors file; it looks like %.*s (save PyTorch "
                         "weights with safetensors.torch.save_file)",
                         (int)(hint ? (size_t)(hint - what) : strlen(what)), what);
}

static scant_status read_file(scant__tensors *t) {
    const unsigned char *bytes = t->source.bytes;
    size_t size = t->source.size;
    if (!size) return scant__refuse(t->ctx, t->path, "is empty");
    if (size <= LENGTH_SIZE || bytes[LENGTH_SIZE] != '{') return not_safetensors(t);
    uint64_t length = 0;
    for (size_t i = LENGTH_SIZE; i-- > 0;) length = length << 8 | bytes[i];
    if (length > size - LENGTH_SIZE)
        return scant__refuse(t->ctx, t->path,
                             "its header claims %llu bytes, but %zu are left; the file "
                             "is cut short or not a safetensors file",
                             (unsigned long long)length, size - LENGTH_SIZE);
    if (length > SCANT__TENSOR_HEADER)
        return scant__refuse(t->ctx, t->path,
                             "its header has %llu bytes, at most %d are allowed",
                             (unsigned long long)length, SCANT__TENSOR_HEADER);
    const unsigned char *data = bytes + LENGTH_SIZE + length;
    TRY(read_header(t, (const char *)bytes + LENGTH_SIZE, (size_t)length,
                    size - LENGTH_SIZE - (size_t)length));
    for (size_t i = 0; i < t->count; i++)
        t->entries[i].tensor.bytes = data + t->entries[i].begin;
    return SCANT_OK;
}

scant_status scant__tensors_open(scant_ctx *ctx, const char *path, scant__tensors **out) {
    *out = NULL;
    AUTO(scant__tensors_auto) scant__tensors *t = scant__alloc(ctx, 1, sizeof *t);
    if (!t) return SCANT_ENOMEM;
    *t = (scant__tensors){.ctx = ctx, .path = path, .arena.ctx = ctx};
    TRY(scant__source_map(ctx, path, &t->source));
    TRY(read_file(t));
    t->path = NULL;
    *out = TAKE(t);
    return SCANT_OK;
}

void scant__tensors_close(scant__tensors *tensors) {
    if (!tensors) return;
    scant__arena_end(&tensors->arena);
    scant__source_close(&tensors->source);
    scant__free(tensors->ctx, tensors);
}

/* ---- contents ---------------------------------------------------------------------- */

size_t scant__tensors_count(const scant__tensors *tensors) { return tensors->count; }

const scant__tensor *scant__tensors_get(const scant__tensors *tensors, size_t i) {
    return &tensors->entries[i].tensor;
}

const scant__tensor *scant__tensors_find(const scant__tensors *tensors,
                                         const char *name) {
    const scant__tensor wanted = {.name = name}, *key = &wanted;
    const scant__tensor *const *found =
        bsearch(&key, tensors->by_name, tensors->count, sizeof key, by_name);
    return found ? *found : NULL;
}

const char *scant__tensors_meta(const scant__tensors *tensors, const char *key) {
    for (size_t i = 0; i < tensors->n_meta; i++)
        if (strcmp(tensors->meta[i].key, key) == 0) return tensors->meta[i].value;
    return NULL;
}

/* bfloat16 is the upper half of a float. */
static float bfloat(const unsigned char bytes[2]) {
    uint32_t bits = (uint32_t)bytes[0] << 16 | (uint32_t)bytes[1] << 24;
    float out;
    memcpy(&out, &bits, sizeof out);
    return out;
}

void scant__tensor_floats(const scant__tensor *tensor, float *out) {
    const unsigned char *bytes = tensor->bytes;
    if (tensor->dtype == (scant_dtype)SCANT__BF16) {
        for (size_t i = 0; i < tensor->count; i++) out[i] = bfloat(bytes + 2 * i);
    } else if (tensor->dtype == (scant_dtype)SCANT__BOOL) {
        for (size_t i = 0; i < tensor->count; i++) out[i] = bytes[i] ? 1.0f : 0.0f;
    } else {
        scant_array array = {.data = bytes,
                             .dtype = tensor->dtype,
                             .swapped = !SCANT__LITTLE_ENDIAN,
                             .item = scant__tensor_item(tensor->dtype),
                             .count = tensor->count};
        scant__array_read_f32(&array, 0, tensor->count, out);
    }
}

/* ---- writing ----------------------------------------------------------------------- */

/* Checks the header as a reader would, so that no file is written that cannot be read. */
static scant_status check_header(scant_ctx *ctx, const char *path, const char *header,
                                 size_t size, size_t data_size) {
    scant__tensors t = {.ctx = ctx, .path = path, .arena.ctx = ctx};
    scant_status status = read_header(&t, header, size, data_size);
    scant__arena_end(&t.arena);
    return status;
}

static void add_meta(scant__json *out, const scant_setting *meta, size_t n_meta) {
    scant__json_open(out, meta_name, '{');
    for (size_t i = 0; i < n_meta; i++)
        scant__json_string(out, meta[i].key, meta[i].value);
    scant__json_close(out, '}');
}

static void add_tensor(scant__json *out, const scant__tensor *item, size_t begin,
                       size_t end) {
    scant__json_open(out, item->name, '{');
    scant__json_string(out, "dtype", scant__tensor_dtype_name(item->dtype));
    scant__json_open(out, "shape", '[');
    for (size_t i = 0; i < item->ndim; i++) scant__json_size(out, NULL, item->shape[i]);
    scant__json_close(out, ']');
    scant__json_open(out, "data_offsets", '[');
    scant__json_size(out, NULL, begin);
    scant__json_size(out, NULL, end);
    scant__json_close(out, ']');
    scant__json_close(out, '}');
}

/* Writes the header as JSON; pieces[1], pieces[2], ... are the tensors' bytes. */
static void add_header(scant__json *out, const scant__tensor *items,
                       const scant__piece *pieces, size_t count,
                       const scant_setting *meta, size_t n_meta) {
    size_t at = 0;
    scant__json_open(out, NULL, '{');
    if (n_meta) add_meta(out, meta, n_meta);
    for (size_t i = 0; i < count; i++) {
        add_tensor(out, &items[i], at, at + pieces[i + 1].size);
        at += pieces[i + 1].size;
    }
    scant__json_close(out, '}');
    static const char blanks[ALIGNMENT + 1] = "        ";
    scant__text_bytes(&out->text, blanks,
                      (ALIGNMENT - out->text.size % ALIGNMENT) % ALIGNMENT);
}

/* Refuses malformed UTF-8: the JSON writer would replace it, and the tensor could not be
 * found by its name. */
static scant_status check_names(scant_ctx *ctx, const char *path,
                                const scant__tensor *items, size_t count,
                                const scant_setting *meta, size_t n_meta) {
    for (size_t i = 0; i < count; i++)
        if (!scant__utf8_valid(items[i].name))
            return scant__refuse(ctx, path, "the name of tensor %zu is not UTF-8", i);
    for (size_t i = 0; i < n_meta; i++)
        if (!scant__utf8_valid(meta[i].key) || !scant__utf8_valid(meta[i].value))
            return scant__refuse(ctx, path, "entry %zu of the metadata is not UTF-8", i);
    return SCANT_OK;
}

static scant_status measure(scant_ctx *ctx, const char *path, const scant__tensor *items,
                            size_t count, scant__piece *pieces, size_t *total) {
    *total = 0;
    for (size_t i = 0; i < count; i++) {
        size_t item = scant__tensor_item(items[i].dtype), elements;
        if (!item || items[i].ndim > SCANT__TENSOR_DIMS)
            return scant__fail(
                ctx, SCANT_EUSAGE,
                "%s: tensor %zu: its dtype or number of dimensions is invalid", path, i);
        if (!scant__shape_count(items[i].ndim, items[i].shape, item, &elements) ||
            !scant__add(*total, elements * item, total) || *total > PTRDIFF_MAX)
            return scant__fail(ctx, SCANT_EUSAGE,
                               "%s: tensor %zu: more bytes than can be addressed", path,
                               i);
        pieces[i + 1] = (scant__piece){items[i].bytes, elements * item};
    }
    return SCANT_OK;
}

scant_status scant__tensors_write(scant_ctx *ctx, const char *path,
                                  const scant__tensor *items, size_t count,
                                  const scant_setting *meta, size_t n_meta) {
    AUTO(scant__arena_end) scant__arena arena = {.ctx = ctx};
    AUTO(scant__json_end) scant__json header = {.text = {.ctx = ctx}};
    scant__piece *pieces = TRY_NEW(&arena, scant__piece, size_add(count, 1));
    size_t data_size;
    TRY(measure(ctx, path, items, count, pieces, &data_size));
    TRY(check_names(ctx, path, items, count, meta, n_meta));
    scant__text_bytes(&header.text, (const char[LENGTH_SIZE]){0}, LENGTH_SIZE);
    add_header(&header, items, pieces, count, meta, n_meta);
    if (header.text.failed) return SCANT_ENOMEM;
    char *block = header.text.data;
    size_t size = header.text.size - LENGTH_SIZE;
    for (size_t i = 0; i < LENGTH_SIZE; i++)
        block[i] = (char)(unsigned char)((uint64_t)size >> (8 * i));
    if (size > SCANT__TENSOR_HEADER)
        return scant__refuse(ctx, path,
                             "the header has %zu bytes, at most %d are allowed", size,
                             SCANT__TENSOR_HEADER);
    TRY(check_header(ctx, path, block + LENGTH_SIZE, size, data_size));
    pieces[0] = (scant__piece){block, header.text.size};
    return scant__file_write_pieces(ctx, path, pieces, count + 1);
}
