/* SPDX-License-Identifier: Apache-2.0
 *
 * A project's items as samples of a network: mapped feature rows, with the mean and
 * deviation of each column, or images.
 *
 * Images that cannot be read are replaced by black ones, with one warning for all: one
 * bad file among thousands should not stop a training. Threads only mark such images; for
 * the reason in the warning, the first one is read again.
 */
#include <stdatomic.h>
#include <string.h>

#include "data/dataset_int.h"
#include "loop/project.h"
#include "nn/input.h"
#include "scant/project.h"

/* ---- images that cannot be read ---------------------------------------------------- */

typedef struct tolerant {
    scant_data *inner;
    atomic_uchar bad[]; /* n flags */
} tolerant;

static scant_status read_tolerantly(const scant_data *data, size_t row, float *out,
                                    scant__fault *fault) {
    tolerant *p = data->store;
    scant_status status = scant__data_read(p->inner, row, out, fault);
    if (status != SCANT_EINPUT) return status;
    memset(out, 0, scant__data_width(data) * sizeof *out);
    atomic_store_explicit(&p->bad[row], 1, memory_order_relaxed);
    return SCANT_OK;
}

static void end_tolerant(scant_data *data) {
    tolerant *p = data->store;
    scant_data_free(p->inner);
    scant__free(data->ctx, p);
    data->sample_names = (scant__names){0}; /* borrowed from inner */
}

/* Takes ownership of inner, also on failure. */
static scant_status make_tolerant(scant_ctx *ctx, scant_data *inner, scant_data **out) {
    size_t n = scant_data_count(inner);
    scant_data *data = scant__zalloc(ctx, 1, sizeof *data);
    tolerant *p = scant__zalloc(ctx, 1, size_add(sizeof *p, n));
    if (!data || !p) {
        scant__free(ctx, data);
        scant__free(ctx, p);
        scant_data_free(inner);
        return SCANT_ENOMEM;
    }
    p->inner = inner;
    *data = (scant_data){.ctx = ctx,
                         .name = inner->name,
                         .count = n,
                         .images = inner->images,
                         .sample_names = inner->sample_names,
                         .read = read_tolerantly,
                         .store = p,
                         .end = end_tolerant};
    memcpy(data->shape, inner->shape, sizeof data->shape);
    memcpy(data->unit, inner->unit, sizeof data->unit);
    *out = data;
    return SCANT_OK;
}

scant_status project_images_open(scant_project *project, size_t side, bool *files,
                                 scant_data **out) {
    scant_data *inner;
    *out = NULL;
    TRY(project_has_kind(project, STORE_FILES, files));
    TRY(store_samples(project, side, &inner));
    if (*files) return make_tolerant(store_ctx(project), inner, out);
    *out = inner; /* only images in files can be unreadable one by one */
    return SCANT_OK;
}

void project_images_warn(scant_data *data) {
    tolerant *p = data->read == read_tolerantly ? data->store : NULL;
    size_t count = 0, first = 0;
    scant__fault fault = {""};
    if (!p) return;
    for (size_t i = data->count; i-- > 0;) {
        if (!atomic_load(&p->bad[i])) continue;
        count++;
        first = i;
    }
    if (!count) return;
    float *room = scant__alloc(data->ctx, scant__data_width(data), sizeof *room);
    if (room) scant__data_read(p->inner, first, room, &fault);
    scant__free(data->ctx, room);
    if (count == 1)
        scant__warn(data->ctx, "%s; a black image is used instead", fault.text);
    else
        scant__warn(data->ctx,
                    "%s; a black image is used instead, and for %zu other images that "
                    "cannot be read",
                    fault.text, count - 1);
}

/* ---- columns ----------------------------------------------------------------------- */

enum { SAMPLED = 10000, BLOCK = 250 };

typedef struct columns {
    const scant_array *array;
    size_t width, stride, rows;
    double *sums; /* blocks x 2 x width: sums and sums of squares of row - first row */
} columns;

static scant_status sum_block(void *arg, size_t block, unsigned worker,
                              scant__fault *fault) {
    (void)worker;
    (void)fault;
    const columns *c = arg;
    const float *x = (const float *)c->array->data;
    double *sums = c->sums + block * 2 * c->width, *squares = sums + c->width;
    size_t to = size_min((block + 1) * BLOCK, c->rows);
    for (size_t i = block * BLOCK; i < to; i++) {
        const float *row = x + i * c->stride * c->width;
        for (size_t j = 0; j < c->width; j++) {
            double v = (double)row[j] - (double)x[j];
            sums[j] += v;
            squares[j] += v * v;
        }
    }
    return SCANT_OK;
}

static void columns_end(const columns *c, size_t blocks, float *mean, float *deviation) {
    const float *first = (const float *)c->array->data;
    double n = (double)c->rows;
    for (size_t j = 0; j < c->width; j++) {
        double sum = 0, square = 0;
        for (size_t b = 0; b < blocks; b++) {
            sum += c->sums[b * 2 * c->width + j];
            square += c->sums[(b * 2 + 1) * c->width + j];
        }
        double mu = sum / n, var = square / n - mu * mu;
        mean[j] = (float)((double)first[j] + mu);
        deviation[j] = nn_input_deviation((double)first[j] + mu, var);
    }
}

scant_status project_columns(scant_ctx *ctx, const scant_array *features, float *mean,
                             float *deviation) {
    AUTO(scant__arena_end) scant__arena arena = {.ctx = ctx};
    size_t n = scant_array_shape(features)[0];
    columns c = {.array = features, .width = scant_array_shape(features)[1]};
    c.stride = (n + SAMPLED - 1) / SAMPLED;
    c.rows = (n + c.stride - 1) / c.stride;
    size_t blocks = (c.rows + BLOCK - 1) / BLOCK;
    c.sums = TRY_ZERO(&arena, double, size_mul(blocks, 2 * c.width));
    TRY(scant__parfor(ctx, NULL, blocks, sum_block, &c));
    columns_end(&c, blocks, mean, deviation);
    return SCANT_OK;
}

/* ---- samples ----------------------------------------------------------------------- */

static scant_status open_features(scant_project *project, scant__arena *arena,
                                  project_samples *out) {
    const scant_array *array;
    TRY(scant_project_prepare(project));
    TRY(project_features_cached(project, &array));
    if (!array)
        return scant__fail(store_ctx(project), SCANT_EIO,
                           "%s/cache/features.npy: was deleted while it was read",
                           store_dir(project));
    TRY(scant_data_open(store_ctx(project), scant_array_name(array),
                        &(scant_data_opts){.unlabelled = 1}, &out->data));
    size_t width = scant_array_shape(array)[1];
    out->n = scant_data_count(out->data);
    out->mean = TRY_NEW(arena, float, width);
    out->deviation = TRY_NEW(arena, float, width);
    return project_columns(store_ctx(project), array, out->mean, out->deviation);
}

scant_status project_samples_open(scant_project *project, size_t side,
                                  scant__arena *arena, project_samples *out) {
    TRY(project_has_features(project, &out->features));
    if (out->features) return open_features(project, arena, out);
    TRY(project_images_open(project, side, &out->files, &out->data));
    out->n = scant_data_count(out->data);
    return SCANT_OK;
}

void project_samples_close(project_samples *samples) { scant_data_free(samples->data); }

/* ---- copies in memory -------------------------------------------------------------- */

typedef struct copying {
    const scant_data *data;
    const size_t *rows;
    float *out;
    size_t width;
} copying;

static scant_status copy_row(void *arg, size_t block, unsigned worker,
                             scant__fault *fault) {
    (void)worker;
    const copying *c = arg;
    return scant__data_read(c->data, c->rows[block], c->out + block * c->width, fault);
}

scant_status project_copy_open(scant_ctx *ctx, const scant_data *data, const size_t *rows,
                               size_t n, scant_data **out) {
    size_t width = scant__data_width(data);
    *out = NULL;
    AUTO(scant_data_auto) scant_data *copy = scant__zalloc(ctx, 1, sizeof *copy);
    if (!copy) return SCANT_ENOMEM;
    *copy = (scant_data){.ctx = ctx,
                         .name = data->name,
                         .count = n,
                         .images = data->images,
                         .read = scant__data_read_numbers};
    memcpy(copy->shape, data->shape, sizeof copy->shape);
    float *numbers = scant__alloc(ctx, n, size_mul(width, sizeof *numbers));
    copy->numbers = numbers;
    if (!numbers) return SCANT_ENOMEM;
    TRY(scant__parfor(ctx, "reading images", n, copy_row,
                      &(copying){data, rows, numbers, width}));
    *out = copy;
    copy = NULL;
    return SCANT_OK;
}
