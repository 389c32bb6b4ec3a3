/* SPDX-License-Identifier: Apache-2.0
 *
 * CIFAR's binary records. A CIFAR-10 record (3073 bytes; also used for SVHN) begins with
 * one label. A CIFAR-100 record (3074 bytes) begins with a coarse and a fine label, of
 * which the fine one is used. Then follow 32 x 32 pixels as three planes.
 *
 * Plain files are mapped; compressed ones are unpacked into memory. The record size
 * follows from the file size. If both record sizes divide it, the file's name decides, or
 * else the range of the labels.
 */
#include <string.h>
#include <strings.h>

#include "data/dataset_int.h"
#include "data/file.h"
#include "data/unpack.h"

enum {
    SIDE = 32,
    PIXELS = 3 * SIDE * SIDE,
    TEN = PIXELS + 1,     /* record with one label */
    HUNDRED = PIXELS + 2, /* record with two labels */
    COARSE = 20
};

typedef struct records {
    size_t record; /* bytes per record */
    size_t n_files, room;
    scant__source *files;
    const unsigned char **pixels; /* (count): the pixels of each record */
} records;

static scant_status read_record(const scant_data *data, size_t row, float *out,
                                scant__fault *fault) {
    const records *r = data->store;
    const unsigned char *in = r->pixels[row];
    (void)fault;
    for (size_t i = 0; i < PIXELS; i++) out[i] = data->unit[in[i]];
    return SCANT_OK;
}

static void end(scant_data *data) {
    records *r = data->store;
    for (size_t i = 0; i < r->n_files; i++) scant__source_close(&r->files[i]);
    scant__free(data->ctx, r->files);
    scant__free(data->ctx, r->pixels);
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

/* Returns the first record with a label out of the format's range; count: none. */
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

/* Returns the record size of a file whose size is a multiple of both record sizes: by the
 * file's name, then by the range of the labels. Returns 0 if neither decides. */
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
    if (!size) return scant__refuse(ctx, path, "has no records");
    if (size % TEN && size % HUNDRED)
        return scant__refuse(ctx, path,
                             "%zu bytes are not a multiple of the record size, %d "
                             "(CIFAR-10) or %d (CIFAR-100)",
                             size, TEN, HUNDRED);
    *out = size % TEN ? HUNDRED : TEN;
    if (size % TEN == 0 && size % HUNDRED == 0)
        *out = tell_apart(path, source->bytes, size);
    if (!*out)
        return scant__refuse(ctx, path,
                             "its records may have %d or %d bytes: put \"cifar10\" or "
                             "\"cifar100\" in its name",
                             TEN, HUNDRED);
    return SCANT_OK;
}

/* ---- files ------------------------------------------------------------------------- */

static scant_status add_file(scant_data *data, const char *path) {
    records *r = data->store;
    size_t record = 0;
    TRY_PUSH(data->ctx, r->files, r->n_files, r->room, (scant__source){0});
    scant__source *file = &r->files[r->n_files - 1]; /* end() closes it */
    TRY(scant__source_open(data->ctx, path, file));
    TRY(scant__unpack_source(data->ctx, path, file));
    TRY(record_size(data->ctx, path, file, &record));
    if (r->record && r->record != record)
        return scant__refuse(
            data->ctx, path,
            "has records of %zu bytes, expected %zu as in the files before it", record,
            r->record);
    r->record = record;
    size_t count = file->size / record, bad = first_misfit(file->bytes, count, record);
    const unsigned char *at = file->bytes + bad * record;
    if (bad < count && record == TEN)
        return scant__refuse(data->ctx, path,
                             "the label of record %zu is %d, expected 0 to 9", bad,
                             at[0]);
    if (bad < count)
        return scant__refuse(data->ctx, path,
                             "the labels of record %zu are %d (coarse) and %d (fine), "
                             "expected 0 to 19 and 0 to 99",
                             bad, at[0], at[1]);
    data->count += count;
    return SCANT_OK;
}

/* Sets the pixels and labels of all records, after all files are added. */
static scant_status set_labels(scant_data *data) {
    records *r = data->store;
    size_t row = 0;
    r->pixels = scant__alloc(data->ctx, data->count, sizeof *r->pixels);
    data->labels = scant__alloc(data->ctx, data->count, sizeof *data->labels);
    if (!r->pixels || !data->labels) return SCANT_ENOMEM;
    data->classes = r->record == TEN ? 10 : 100;
    for (size_t i = 0; i < r->n_files; i++)
        for (size_t end = r->record; end <= r->files[i].size; end += r->record) {
            r->pixels[row] = r->files[i].bytes + end - PIXELS;
            data->labels[row] = r->pixels[row][-1];
            row++;
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

/* The part that a file of this name has in the published archives: 0 training, 1 test,
 * -1 neither. */
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
    AUTO(scant__names_end) scant__names files = {0};
    TRY(scant__folder_list(ctx, folder, &files, NULL));
    *out = any_batch(&files, -1);
    return SCANT_OK;
}

/* Reads class names, one per line, as in the published archives. Names are optional, so a
 * file that does not have this form is ignored. */
static scant_status read_names(scant_data *data, const char *path) {
    AUTO(scant_ids_auto) scant_ids *ids = NULL;
    scant_status status = scant_ids_open(data->ctx, path, &ids);
    if (status != SCANT_OK) return status == SCANT_ENOMEM ? status : SCANT_OK;
    size_t count = scant_ids_count(ids), length;
    for (; count > data->classes; count--) { /* trailing empty lines */
        scant_ids_get(ids, count - 1, &length);
        if (length) break;
    }
    for (size_t i = 0; count == data->classes && i < count; i++) {
        const char *text = scant_ids_get(ids, i, &length);
        TRY(scant__names_add(data->ctx, &data->class_names, text, length));
    }
    return SCANT_OK;
}

/* Calls fn with the path of a file in the folder. */
static scant_status with_path(scant_data *data, const char *folder, const char *name,
                              scant_status (*fn)(scant_data *data, const char *path)) {
    AUTO(scant__arena_end) scant__arena arena = {.ctx = data->ctx};
    const char *path = scant__path_in(&arena, folder, name);
    return path ? fn(data, path) : SCANT_ENOMEM;
}

scant_status scant__data_open_cifar(scant_data *data, const char *spec,
                                    const scant_data_opts *opts) {
    AUTO(scant__names_end) scant__names files = {0};
    int which = opts->test ? 1 : 0;
    TRY(begin(data, opts));
    data->parts = true;
    TRY(scant__folder_list(data->ctx, spec, &files, NULL));
    if (!any_batch(&files, which))
        return scant__refuse(data->ctx, spec, "has no %s",
                             which ? "test_batch.bin or test.bin to test with"
                                   : "data_batch_1.bin or train.bin to train with");
    for (size_t i = 0; i < files.count; i++) {
        const char *name = scant__names_get(&files, i);
        if (part_of(name) == which) TRY(with_path(data, spec, name, add_file));
    }
    TRY(set_labels(data));
    const char *names = data->classes == 10 ? "batches.meta.txt" : "fine_label_names.txt";
    if (scant__names_find(&files, names) == files.count) return SCANT_OK;
    return with_path(data, spec, names, read_names);
}
