/* SPDX-License-Identifier: Apache-2.0
 *
 * Samples that are made up: two moons and three blobs, in the plane, drawn from a seed.
 *
 * moons is what scikit-learn describes as make_moons: points at even distances on two
 * half circles that reach into each other, (cos t, sin t) and (1 - cos t, 1/2 - sin t),
 * shuffled, with normal noise of 0.1. blobs are three normal clouds of spread 1 about the
 * corners of a triangle on a circle of radius 4, which the seed turns. The part to test
 * with is another draw of the same law: the blobs' corners stay.
 */
#include <math.h>

#include "core/mem.h"
#include "core/rng.h"
#include "data/samples_int.h"

enum { DEFAULT_COUNT = 1000, BLOBS = 3 };
static const double pi = 3.14159265358979323846;
static const uint64_t test_part = (uint64_t)1 << 62, corners = (uint64_t)1 << 61;

static scant_status begin(scant_data *data, const scant_data_opts *opts, size_t classes) {
    if (opts->regression)
        return scant__fail(data->ctx, SCANT_EUSAGE,
                           "%s: has classes, not numbers to predict", data->name);
    data->count = opts->count ? opts->count : DEFAULT_COUNT;
    data->shape[0] = 2;
    data->shape[1] = data->shape[2] = 1;
    data->classes = classes;
    data->parts = data->own = true;
    data->read = scant__data_read_numbers;
    data->numbers = scant__alloc(data->ctx, data->count, 2 * sizeof *data->numbers);
    data->labels = scant__alloc(data->ctx, data->count, sizeof *data->labels);
    return data->numbers && data->labels ? SCANT_OK : SCANT_ENOMEM;
}

static void put(scant_data *data, size_t i, double x, double y, double noise,
                const scant__rng *rng, uint64_t index) {
    double n[2];
    scant__rng_normal_pair(rng, index, n);
    data->numbers[2 * i] = (float)(x + noise * n[0]);
    data->numbers[2 * i + 1] = (float)(y + noise * n[1]);
}

scant_status scant__data_open_moons(scant_data *data, const char *spec,
                                    const scant_data_opts *opts) {
    const scant__rng rng = {opts->seed, SCANT__RNG_POINTS};
    const uint64_t base = opts->test ? test_part : 0;
    (void)spec;
    TRY(begin(data, opts, 2));
    size_t n = data->count, outer = n / 2;
    size_t *places = scant__alloc(data->ctx, n, sizeof *places);
    if (!places) return SCANT_ENOMEM;
    scant__rng_shuffle(&(scant__rng){opts->seed, SCANT__RNG_SHUFFLE}, base + 1, n,
                       places);
    for (size_t i = 0; i < n; i++) {
        bool inner = places[i] >= outer;
        size_t step = inner ? places[i] - outer : places[i];
        size_t many = inner ? n - outer : outer;
        double t = many > 1 ? pi * (double)step / (double)(many - 1) : 0;
        data->labels[i] = inner;
        put(data, i, inner ? 1 - cos(t) : cos(t), inner ? .5 - sin(t) : sin(t), .1, &rng,
            base / 2 + i);
    }
    scant__free(data->ctx, places);
    return SCANT_OK;
}

scant_status scant__data_open_blobs(scant_data *data, const char *spec,
                                    const scant_data_opts *opts) {
    const scant__rng rng = {opts->seed, SCANT__RNG_POINTS};
    const uint64_t base = opts->test ? test_part : 0;
    (void)spec;
    TRY(begin(data, opts, BLOBS));
    double turn = 2 * pi * scant__rng_unit(&rng, corners);
    for (size_t i = 0; i < data->count; i++) {
        size_t blob = (size_t)scant__rng_below(
            &(scant__rng){opts->seed, SCANT__RNG_LABELS}, base + i, BLOBS);
        double angle = turn + 2 * pi * (double)blob / BLOBS;
        data->labels[i] = (int32_t)blob;
        put(data, i, 4 * cos(angle), 4 * sin(angle), 1, &rng, base / 2 + i);
    }
    return SCANT_OK;
}
