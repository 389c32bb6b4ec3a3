/* SPDX-License-Identifier: Apache-2.0
 *
 * Labels from a file of their own: .npy, .npz:KEY or IDX. Class -1 means unlabelled.
 */
#include <math.h>

#include "core/mem.h"
#include "data/dataset_int.h"
#include "data/idx.h"
#include "data/npy.h"
#include "data/source.h"
#include "data/unpack.h"
#include "scant/train.h"

/* A network has one output per class; a larger number is surely a mistake. */
enum { MAX_CLASSES = 1000000, UNLABELLED = -1 };

static scant_status read_classes(scant_data *data, const scant_array *array) {
    data->labels = scant__alloc(data->ctx, data->count, sizeof *data->labels);
    if (!data->labels) return SCANT_ENOMEM;
    data->classes = 0;
    for (size_t i = 0; i < data->count; i++) {
        int64_t label;
        scant__array_read_i64(array, i, 1, &label);
        if (label < UNLABELLED || label >= MAX_CLASSES)
            return scant__fail(data->ctx, SCANT_EINPUT,
                               "%s: the label of sample %zu is %lld; classes are "
                               "numbered from 0 to below %d, and -1 means unlabelled",
                               array->name, i, (long long)label, MAX_CLASSES);
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
            return scant__fail(data->ctx, SCANT_EINPUT,
                               "%s: the target of sample %zu is not finite", array->name,
                               i);
    return SCANT_OK;
}

scant_status scant__data_label_from(scant_data *data, const scant_array *array,
                                    bool regression) {
    if (array->ndim != 1 && (array->ndim != 2 || array->shape[1] != 1))
        return scant__fail(data->ctx, SCANT_EINPUT,
                           "%s: has %zu dimensions, expected 1 for a list of labels",
                           array->name, array->ndim);
    if (array->count != data->count)
        return scant__fail(data->ctx, SCANT_EINPUT,
                           "%s: has %zu labels, but %s has %zu samples", array->name,
                           array->count, data->name, data->count);
    if (regression) return read_targets(data, array);
    if (!scant__dtype_is_integer(array->dtype))
        return scant__fail(data->ctx, SCANT_EINPUT,
                           "%s: has labels of %s, expected integers for classes: save "
                           "arr.astype('int64'), or ask for regression",
                           array->name, scant__dtype_name(array->dtype));
    return read_classes(data, array);
}

scant_status scant__data_label(scant_data *data, const char *spec, bool regression) {
    scant__source source;
    scant_array *array;
    TRY(scant__source_open(data->ctx, spec, &source));
    bool idx = !source.member && (scant__is_packed(source.bytes, source.size) ||
                                  scant__idx_magic(source.bytes, source.size));
    scant__source_close(data->ctx, &source);
    TRY((idx ? scant__idx_open : scant_array_open)(data->ctx, spec, &array));
    scant_status status = scant__data_label_from(data, array, regression);
    scant_array_free(array);
    return status;
}
