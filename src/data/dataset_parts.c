/* SPDX-License-Identifier: Apache-2.0
 *
 * Data sets composed of others. Labels and class names stay with the parts; the composed
 * set has none.
 *
 * A sample is read by its part; in a concatenation a binary search finds the part. Only
 * lists of rows are copied.
 */
#include <string.h>

#include "data/dataset_int.h"

static scant_status read_part(const scant_data *data, size_t row, float *out,
                              scant__fault *fault) {
    const scant_data *part = data->part(data, &row);
    return part->read(part, row, out, fault);
}

/* ---- a list of files --------------------------------------------------------------- */

scant_status scant__data_open_files(scant_ctx *ctx, const char *folder,
                                    const scant__names *names, size_t side,
                                    scant_data **out) {
    *out = NULL;
    if (!names->count)
        return scant__fail(ctx, SCANT_EUSAGE, "%s: has no samples", folder);
    AUTO(scant_data_auto) scant_data *data = scant__data_create(ctx, folder);
    if (!data) return SCANT_ENOMEM;
    for (size_t i = 0; i < names->count; i++)
        TRY(scant__names_put(ctx, &data->sample_names, scant__names_get(names, i)));
    TRY(scant__data_set_files(data, side));
    *out = TAKE(data);
    return SCANT_OK;
}

/* ---- concatenation ----------------------------------------------------------------- */

typedef struct piece {
    size_t first; /* the part's first row in the joined data */
    scant_data *data;
} piece;

typedef struct joined {
    size_t n;
    piece parts[];
} joined;

static const scant_data *joined_part(const scant_data *data, size_t *row) {
    const joined *j = data->store;
    size_t low = 0, high = j->n;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (j->parts[middle].first <= *row)
            low = middle;
        else
            high = middle;
    }
    *row -= j->parts[low].first;
    return j->parts[low].data;
}

static void end_joined(scant_data *data) {
    joined *j = data->store;
    for (size_t i = 0; i < j->n; i++) scant_data_free(j->parts[i].data);
    scant__free(data->ctx, j);
}

static scant_status check_shapes(scant_ctx *ctx, scant_data *const *parts, size_t n) {
    const scant_data *a = parts[0];
    for (size_t i = 1; i < n; i++) {
        const scant_data *b = parts[i];
        if (memcmp(a->shape, b->shape, sizeof a->shape) == 0 && a->images == b->images)
            continue;
        return scant__refuse(
            ctx, b->name,
            "has samples of %zu x %zu x %zu, expected the shape of %s, %zu x %zu x %zu",
            b->shape[0], b->shape[1], b->shape[2], a->name, a->shape[0], a->shape[1],
            a->shape[2]);
    }
    return SCANT_OK;
}

/* Creates a handle that reads through its parts, with samples of the kind of `like` and a
 * store of `bytes` bytes. */
static scant_data *create_like(scant_ctx *ctx, const scant_data *like, size_t bytes) {
    AUTO(scant_data_auto) scant_data *data = scant__data_create(ctx, like->name);
    if (!data || !(data->store = scant__alloc(ctx, bytes, 1))) return NULL;
    memcpy(data->shape, like->shape, sizeof data->shape);
    data->images = like->images;
    data->read = read_part;
    return TAKE(data);
}

/* On SCANT_OK *out owns the parts. */
static scant_status join(scant_ctx *ctx, scant_data *const *parts, size_t n,
                         scant_data **out) {
    TRY(check_shapes(ctx, parts, n));
    size_t bytes = size_add(sizeof(joined), size_mul(n, sizeof(piece)));
    scant_data *data = create_like(ctx, parts[0], bytes);
    if (!data) return SCANT_ENOMEM;
    joined *j = data->store;
    j->n = n;
    for (size_t i = 0; i < n; i++) {
        j->parts[i] = (piece){data->count, parts[i]};
        data->count += parts[i]->count;
        data->numeric |= !scant__data_bytes(parts[i]);
    }
    data->part = joined_part;
    data->end = end_joined;
    *out = data;
    return SCANT_OK;
}

scant_status scant__data_join(scant_ctx *ctx, scant_data **parts, size_t n,
                              scant_data **out) {
    *out = NULL;
    if (!n) return scant__fail(ctx, SCANT_EUSAGE, "there are no samples to join");
    if (n == 1) {
        *out = parts[0];
        return SCANT_OK;
    }
    scant_status status = join(ctx, parts, n, out);
    for (size_t i = 0; i < n && status != SCANT_OK; i++) scant_data_free(parts[i]);
    return status;
}

/* ---- subsets ----------------------------------------------------------------------- */

typedef struct chosen {
    scant_data *of;
    size_t rows[];
} chosen;

static const scant_data *chosen_part(const scant_data *data, size_t *row) {
    const chosen *c = data->store;
    *row = c->rows[*row];
    return c->of;
}

static void end_chosen(scant_data *data) {
    chosen *c = data->store;
    scant_data_free(c->of);
    scant__free(data->ctx, c);
}

/* On SCANT_OK *out owns `of`. */
static scant_status choose(scant_ctx *ctx, scant_data *of, const size_t *rows, size_t n,
                           scant_data **out) {
    if (!n)
        return scant__fail(ctx, SCANT_EUSAGE, "%s: no samples are selected", of->name);
    for (size_t i = 0; i < n; i++)
        if (rows[i] >= of->count)
            return scant__fail(ctx, SCANT_EUSAGE, "%s: has no sample %zu, only %zu",
                               of->name, rows[i], of->count);
    size_t bytes = size_add(sizeof(chosen), size_mul(n, sizeof *rows));
    scant_data *data = create_like(ctx, of, bytes);
    if (!data) return SCANT_ENOMEM;
    chosen *c = data->store;
    c->of = of;
    memcpy(c->rows, rows, n * sizeof *rows);
    data->count = n;
    data->numeric = !scant__data_bytes(of);
    data->part = chosen_part;
    data->end = end_chosen;
    *out = data;
    return SCANT_OK;
}

scant_status scant__data_subset(scant_ctx *ctx, scant_data *data, const size_t *rows,
                                size_t n, scant_data **out) {
    *out = NULL;
    scant_status status = choose(ctx, data, rows, n, out);
    if (status != SCANT_OK) scant_data_free(data);
    return status;
}
