/* SPDX-License-Identifier: Apache-2.0
 *
 * Labels from a separate file: .npy, .npz:KEY or IDX. Class -1 means unlabelled.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/dataset_int.h"
#include "data/unpack.h"

/* A network has one output per class; a larger class number must be a mistake. */
enum { MAX_CLASSES = 1000000, UNLABELLED = -1 };

static scant_status read_classes(scant_data *data, const scant_array *array) {
    data->labels = scant__alloc(data->ctx, data->count, sizeof *data->labels);
    if (!data->labels) return SCANT_ENOMEM;
    data->classes = 0;
    for (size_t i = 0; i < data->count; i++) {
        int64_t label;
        scant__array_read_i64(array, i, 1, &label);
        if (label < UNLABELLED || label >= MAX_CLASSES)
            return scant__refuse(data->ctx, array->name,
                                 "the label of sample %zu is %lld; classes are numbered "
                                 "from 0 to below %d, and -1 means unlabelled",
                                 i, (long long)label, MAX_CLASSES);
        data->labels[i] = (int32_t)label;
        if (label != UNLABELLED)
            data->classes = size_max(data->classes, (size_t)label + 1);
    }
    return SCANT_OK;
}

static scant_status read_targets(scant_data *data, const scant_array *array) {
    data->targets = scant__alloc(data->ctx, data->count, sizeof *data->targets);
    if (!data->targets) return SCANT_ENOMEM;
    scant__array_read_f32(array, 0, data->count, data->targets);
    for (size_t i = 0; i < data->count; i++)
        if (!isfinite(data->targets[i]))
            return scant__refuse(data->ctx, array->name,
                                 "the target of sample %zu is not finite", i);
    return SCANT_OK;
}

static scant_status use_labels(scant_data *data, const scant_array *array,
                               bool regression) {
    if (array->ndim != 1 && (array->ndim != 2 || array->shape[1] != 1))
        return scant__refuse(data->ctx, array->name,
                             "has %zu dimensions, expected 1 for a list of labels",
                             array->ndim);
    if (array->count != data->count)
        return scant__refuse(data->ctx, array->name,
                             "has %zu labels, but %s has %zu samples", array->count,
                             data->name, data->count);
    if (regression) return read_targets(data, array);
    if (!scant__dtype_is_integer(array->dtype))
        return scant__refuse(data->ctx, array->name,
                             "has labels of %s, expected integers for classes: save "
                             "arr.astype('int64'), or ask for regression",
                             scant__dtype_name(array->dtype));
    return read_classes(data, array);
}

scant_status scant__data_label(scant_data *data, const char *spec, bool regression) {
    AUTO(scant__source_close) scant__source source = {0};
    AUTO(scant_array_auto) scant_array *array = NULL;
    TRY(scant__source_open(data->ctx, spec, &source));
    bool idx = !source.member && (scant__is_packed(source.bytes, source.size) ||
                                  scant__idx_magic(source.bytes, source.size));
    scant__source_close(&source);
    TRY((idx ? scant__idx_open : scant_array_open)(data->ctx, spec, &array));
    return use_labels(data, array, regression);
}

/* ---- renumbering by name ----------------------------------------------------------- */

/* Each folder or table numbers its own classes, so two of them may give a class different
 * numbers. The lookups cost O((n + m) log n) for n known names and m classes. */

typedef struct known {
    const char *name;
    int32_t label;
} known;

/* Orders by name; equal names stay in their original order. */
static int compare(const void *a, const void *b) {
    const known *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : (x->label > y->label) - (x->label < y->label);
}

static int32_t look_up(const known *list, size_t n, const char *name) {
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(list[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && strcmp(list[low].name, name) == 0 ? list[low].label : -1;
}

enum { SHOWN = 41, LISTED = 5 };

static scant_status refuse(const scant_data *data, size_t sample, const char *name,
                           const char *const *names, size_t n) {
    char text[SHOWN], list[LISTED * (SHOWN + 4) + 8] = "";
    size_t at = 0;
    for (size_t i = 0; i < n && i < LISTED; i++) {
        const char *one = names[i] ? names[i] : "";
        at += (size_t)snprintf(
            list + at, sizeof list - at, "%s'%s'", i ? ", " : "",
            scant__printable((const unsigned char *)one, strlen(one), text, sizeof text));
    }
    if (n > LISTED) snprintf(list + at, sizeof list - at, ", ...");
    return scant__refuse(
        data->ctx, data->name,
        "sample %zu has the class '%s', which is not one of the %zu known: %s", sample,
        scant__printable((const unsigned char *)name, strlen(name), text, sizeof text), n,
        list);
}

scant_status scant_data_renumber(scant_data *data, const char *const *names, size_t n) {
    NEED(data);
    size_t own = data->class_names.count, named = 0;
    if (!data->labels || !own) return SCANT_OK;
    AUTO(scant__arena_end) scant__arena arena = {.ctx = data->ctx};
    AUTO(scant__names_end) scant__names taken = {0};
    known *list = TRY_NEW(&arena, known, size_max(n, 1));
    int32_t *to = TRY_NEW(&arena, int32_t, own); /* new number of each class; -1: none */
    for (size_t i = 0; i < n; i++)
        if (names[i]) list[named++] = (known){names[i], (int32_t)i};
    qsort(list, named, sizeof *list, compare);
    for (size_t i = 0; i < own; i++)
        to[i] = look_up(list, named, scant__names_get(&data->class_names, i));
    for (size_t i = 0; i < data->count; i++) {
        int32_t label = data->labels[i];
        if (label < 0 || ((size_t)label < own && to[label] >= 0)) continue;
        const char *name = scant__names_name(&data->class_names, (size_t)label);
        return refuse(data, i, name ? name : "", names, n);
    }
    for (size_t i = 0; i < n; i++)
        TRY(scant__names_put(data->ctx, &taken, names[i] ? names[i] : ""));
    for (size_t i = 0; i < data->count; i++)
        if (data->labels[i] >= 0) data->labels[i] = to[data->labels[i]];
    scant__names_end(&data->class_names);
    data->class_names = taken;
    taken = (scant__names){0};
    data->classes = n;
    return SCANT_OK;
}
