/* SPDX-License-Identifier: Apache-2.0
 *
 * CIFAR's binary records: one label (CIFAR-10, 3073 bytes; SVHN uses it too) or a coarse
 * and a fine label (CIFAR-100, 3074 bytes, the fine one counts), then 32 x 32 pixels as
 * three planes.
 *
 * Plain files are mapped; compressed ones are unpacked into memory. The record size
 * follows from the file size; where both divide it, from the file's name or else from its
 * labels.
 */
#include <string.h>
#include <strings.h>

#include "core/mem.h"
#include "data/dataset_int.h"
#include "data/paths.h"
#include "data/source.h"
#include "data/unpack.h"
#include "scant/train.h"

enum {
    SIDE = 32,
    PIXELS = 3 * SIDE * SIDE,
    TEN = PIXELS + 1,     /* record with one label */
    HUNDRED = PIXELS + 2, /* record with two labels */
    COARSE = 20
};

typedef struct part { /* one file */
    scant__source source;
    size_t first, count; /* position of its records among all */
} part;

typedef struct records {
    size_t record; /* bytes per record */
    size_t n_parts, room;
    part *parts;
} records;

static scant_status read_record(const scant_data *data, size_t row, float *out,
                                scant__fault *fault) {
    const records *r = data->store;
    size_t low = 0, high = r->n_parts;
    (void)fault;
    while (high - low > 1) { /* the last part that begins at or before row */
        size_t middle = low + (high - low) / 2;
        if (r->parts[middle].first <= row)
            low = middle;
        else
            high = middle;
    }
    const part *p = &r->parts[low];
    const unsigned char *in =
        p->source.bytes + (row - p->first) * r->record + (r->record - PIXELS);
    for (size_t i = 0; i < PIXELS; i++) out[i] = data->unit[in[i]];
    return SCANT_OK;
}

static void end(scant_data *data) {
    records *r = data->store;
    for (size_t i = 0; i < r->n_parts; i++)
        scant__source_close(data->ctx, &r->parts[i].source);
    scant__free(data->ctx, r->parts);
    scant__free(data->ctx, r);
}

static scant_status begin(scant_data *data, const scant_data_opts *opts) {
    if (opts->regression)
        return scant__fail(data->ctx, SCANT_EUSAGE,
                           "%s: has classes, not regression targets", data->name);
    data->store = scant__zalloc(data->ctx, 1, sizeof(records));
    if (!data->store) return SCANT_ENOMEM;
    data->end = end;
    data->read = read_record;
    data->shape[0] = 3;
    data->shape[1] = data->shape[2] = SIDE;
    data->images = data->own = true;
    return SCANT_OK;
}

/* ---- record size ------------------------------------------------------------------- */

/* The first record whose labels are out of the format's range; count if none is. */
static size_t first_misfit(const unsigned char *bytes, size_t count, size_t record) {
    for (size_t i = 0; i < count; i++, bytes += record)
        if (record == TEN ? bytes[0] >= 10 : bytes[0] >= COARSE || bytes[1] >= 100)
            return i;
    return count;
}

static bool mentions(const char *path, const char *const *words, size_t n) {
    for (; *path; path++)
        for (size_t i = 0; i < n; i++)
            if (strncasecmp(path, words[i], strlen(words[i])) == 0) return true;
    return false;
}

/* The record size of a file whose size both divide; 0 if it is ambiguous. */
static size_t tell_apart(const char *path, const unsigned char *bytes, size_t size) {
    static const char *const hundred[] = {"cifar100", "cifar-100", "cifar_100"};
    static const char *const ten[] = {"cifar10", "cifar-10", "cifar_10", "svhn"};
    if (mentions(path, hundred, 3)) return HUNDRED;
    if (mentions(path, ten, 4)) return TEN;
    bool as_ten = first_misfit(bytes, size / TEN, TEN) == size / TEN;
    bool as_hundred = first_misfit(bytes, size / HUNDRED, HUNDRED) == size / HUNDRED;
    if (as_ten == as_hundred) return 0;
    return as_ten ? TEN : HUNDRED;
}

static scant_status record_size(scant_ctx *ctx, const char *path,
                                const scant__source *source, size_t *out) {
    size_t size = source->size;
    if (!size) return scant__fail(ctx, SCANT_EINPUT, "%s: has no records", path);
    if (size % TEN && size % HUNDRED)
        return scant__fail(ctx, SCANT_EINPUT,
                           "%s: %zu bytes are not a multiple of the record size, %d "
                           "(CIFAR-10) or %d (CIFAR-100)",
                           path, size, TEN, HUNDRED);
    *out = size % TEN ? HUNDRED : TEN;
    if (size % TEN == 0 && size % HUNDRED == 0)
        *out = tell_apart(path, source->bytes, size);
    if (!*out)
        return scant__fail(ctx, SCANT_EINPUT,
                           "%s: its records may have %d or %d bytes: put \"cifar10\" or "
                           "\"cifar100\" in its name",
                           path, TEN, HUNDRED);
    return SCANT_OK;
}

/* ---- files ------------------------------------------------------------------------- */

static scant_status append(scant_data *data, const char *path, part *p) {
    records *r = data->store;
    size_t record = 0, bad;
    TRY(scant__source_open(data->ctx, path, &p->source));
    TRY(scant__unpack_source(data->ctx, path, &p->source));
    TRY(record_size(data->ctx, path, &p->source, &record));
    if (r->record && r->record != record)
        return scant__fail(
            data->ctx, SCANT_EINPUT,
            "%s: has records of %zu bytes, expected %zu as in the files before it", path,
            record, r->record);
    r->record = record;
    p->first = data->count;
    p->count = p->source.size / record;
    bad = first_misfit(p->source.bytes, p->count, record);
    const unsigned char *at = p->source.bytes + bad * record;
    if (bad < p->count && record == TEN)
        return scant__fail(data->ctx, SCANT_EINPUT,
                           "%s: the label of record %zu is %d, expected 0 to 9", path,
                           bad, at[0]);
    if (bad < p->count)
        return scant__fail(data->ctx, SCANT_EINPUT,
                           "%s: the labels of record %zu are %d (coarse) and %d (fine), "
                           "expected 0 to 19 and 0 to 99",
                           path, bad, at[0], at[1]);
    data->count += p->count;
    return SCANT_OK;
}

static scant_status add_file(scant_data *data, const char *path) {
    records *r = data->store;
    void *parts = r->parts;
    scant_status status =
        scant__grow(data->ctx, &parts, &r->room, r->n_parts + 1, sizeof *r->parts);
    r->parts = parts;
    if (status != SCANT_OK) return status;
    r->parts[r->n_parts] = (part){0};
    return append(data, path, &r->parts[r->n_parts++]); /* end() closes it */
}

static scant_status set_labels(scant_data *data) {
    const records *r = data->store;
    size_t row = 0;
    data->labels = scant__alloc(data->ctx, data->count, sizeof *data->labels);
    if (!data->labels) return SCANT_ENOMEM;
    data->classes = r->record == TEN ? 10 : 100;
    for (size_t i = 0; i < r->n_parts; i++) {
        const part *p = &r->parts[i];
        for (size_t j = 0; j < p->count; j++) /* the byte before the pixels */
            data->labels[row++] = p->source.bytes[j * r->record + r->record - PIXELS - 1];
    }
    return SCANT_OK;
}

scant_status scant__data_open_cifar_file(scant_data *data, const char *spec,
                                         const scant_data_opts *opts) {
    TRY(begin(data, opts));
    TRY(add_file(data, spec));
    return set_labels(data);
}

/* ---- folders ----------------------------------------------------------------------- */

/* The part of a published batch file: 0 training, 1 test, -1 neither. */
static int part_of(const char *name) {
    if (!scant__ends_with_packed(name, ".bin")) return -1;
    size_t stem = strlen(name) - strlen(".bin");
    if (!scant__ends_with(name, ".bin")) stem -= strlen(".gz");
    if (strncmp(name, "data_batch_", 11) == 0) return 0;
    if (stem == 5 && strncmp(name, "train", 5) == 0) return 0;
    if (stem == 4 && strncmp(name, "test", 4) == 0) return 1;
    if (stem == 10 && strncmp(name, "test_batch", 10) == 0) return 1;
    return -1;
}

static bool any_batch(const scant__names *files, int which) {
    for (size_t i = 0; i < files->count; i++) {
        int found = part_of(scant__names_get(files, i));
        if (found >= 0 && (which < 0 || found == which)) return true;
    }
    return false;
}

scant_status scant__is_cifar(scant_ctx *ctx, const char *folder, bool *out) {
    scant__names files = {0};
    scant_status status = scant__folder_list(ctx, folder, &files, NULL);
    *out = status == SCANT_OK && any_batch(&files, -1);
    scant__names_end(ctx, &files);
    return status;
}

/* Reads the class names, which the published archives list one per line. A file that does
 * not look like that is ignored: names are optional. */
static scant_status read_names(scant_data *data, const char *path) {
    scant_ids *ids;
    scant_status status = scant_ids_open(data->ctx, path, &ids);
    if (status != SCANT_OK) return status == SCANT_ENOMEM ? status : SCANT_OK;
    size_t count = scant_ids_count(ids), length;
    for (; count > data->classes; count--) { /* trailing empty lines */
        scant_ids_get(ids, count - 1, &length);
        if (length) break;
    }
    for (size_t i = 0; count == data->classes && i < count && status == SCANT_OK; i++) {
        const char *text = scant_ids_get(ids, i, &length);
        status = scant__names_add(data->ctx, &data->class_names, text, length);
    }
    scant_ids_free(ids);
    return status;
}

static scant_status find_names(scant_data *data, const char *folder,
                               const scant__names *files) {
    const char *name = data->classes == 10 ? "batches.meta.txt" : "fine_label_names.txt";
    if (scant__names_find(files, name) == files->count) return SCANT_OK;
    char *path = scant__path_join(data->ctx, folder, name);
    if (!path) return SCANT_ENOMEM;
    scant_status status = read_names(data, path);
    scant__free(data->ctx, path);
    return status;
}

static scant_status add_batches(scant_data *data, const char *folder,
                                const scant__names *files, int which) {
    if (!any_batch(files, which))
        return scant__fail(data->ctx, SCANT_EINPUT, "%s: has no %s", folder,
                           which ? "test_batch.bin or test.bin to test with"
                                 : "data_batch_1.bin or train.bin to train with");
    for (size_t i = 0; i < files->count; i++) {
        const char *name = scant__names_get(files, i);
        if (part_of(name) != which) continue;
        char *path = scant__path_join(data->ctx, folder, name);
        if (!path) return SCANT_ENOMEM;
        scant_status status = add_file(data, path);
        scant__free(data->ctx, path);
        if (status != SCANT_OK) return status;
    }
    TRY(set_labels(data));
    return find_names(data, folder, files);
}

scant_status scant__data_open_cifar(scant_data *data, const char *spec,
                                    const scant_data_opts *opts) {
    scant__names files = {0};
    TRY(begin(data, opts));
    data->parts = true;
    scant_status status = scant__folder_list(data->ctx, spec, &files, NULL);
    if (status == SCANT_OK) status = add_batches(data, spec, &files, opts->test ? 1 : 0);
    scant__names_end(data->ctx, &files);
    return status;
}
