/* SPDX-License-Identifier: Apache-2.0
 *
 * Maps classes by name: each folder or table numbers its own classes, so the same number
 * may be another class elsewhere. O((n + m) log n) for n known names and m classes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "data/dataset_int.h"
#include "data/filetype.h"
#include "scant/train.h"

typedef struct known {
    const char *name;
    int32_t label;
} known;

/* By name; equal names in their original order. */
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
    return scant__fail(
        data->ctx, SCANT_EINPUT,
        "%s: sample %zu has the class '%s', which is not one of the %zu known: %s",
        data->name, sample,
        scant__printable((const unsigned char *)name, strlen(name), text, sizeof text), n,
        list);
}

/* The target of each class of data, -1 if it has none. */
static void map_classes(const scant_data *data, known *list, size_t n, int32_t *to) {
    qsort(list, n, sizeof *list, compare);
    for (size_t i = 0; i < data->class_names.count; i++)
        to[i] = look_up(list, n, scant__names_get(&data->class_names, i));
}

static scant_status renumber(scant_data *data, const char *const *names, size_t n,
                             const int32_t *to) {
    scant__names taken = {0};
    scant_status status = SCANT_OK;
    for (size_t i = 0; i < data->count; i++) {
        int32_t label = data->labels[i];
        if (label < 0) continue;
        bool named = (size_t)label < data->class_names.count;
        if (!named || to[label] < 0)
            return refuse(
                data, i, named ? scant__names_get(&data->class_names, (size_t)label) : "",
                names, n);
    }
    for (size_t i = 0; i < n && status == SCANT_OK; i++) {
        const char *name = names[i] ? names[i] : "";
        status = scant__names_add(data->ctx, &taken, name, strlen(name));
    }
    if (status != SCANT_OK) {
        scant__names_end(data->ctx, &taken);
        return status;
    }
    for (size_t i = 0; i < data->count; i++)
        if (data->labels[i] >= 0) data->labels[i] = to[data->labels[i]];
    scant__names_end(data->ctx, &data->class_names);
    data->class_names = taken;
    data->classes = n;
    return SCANT_OK;
}

scant_status scant_data_renumber(scant_data *data, const char *const *names, size_t n) {
    size_t own = data->class_names.count, named = 0;
    if (!data->labels || !own) return SCANT_OK;
    scant__arena arena;
    scant__arena_init(&arena, data->ctx);
    known *list = scant__arena_alloc(&arena, size_max(n, 1), sizeof *list);
    int32_t *to = scant__arena_alloc(&arena, own, sizeof *to);
    scant_status status = list && to ? SCANT_OK : SCANT_ENOMEM;
    if (status == SCANT_OK) {
        for (size_t i = 0; i < n; i++)
            if (names[i]) list[named++] = (known){names[i], (int32_t)i};
        map_classes(data, list, named, to);
        status = renumber(data, names, n, to);
    }
    scant__arena_end(&arena);
    return status;
}
