/* SPDX-License-Identifier: Apache-2.0
 *
 * Synthetic data sets drawn from a seed: moons and blobs for classification in the plane;
 * waves and heavy for regression.
 *
 * moons is scikit-learn's make_moons: evenly spaced points on two interleaving half
 * circles, (cos t, sin t) and (1 - cos t, 1/2 - sin t), shuffled, with normal noise of
 * 0.1. blobs are three normal clouds of deviation 1 around the corners of a triangle on a
 * circle of radius 4, rotated by the seed. The test part is another draw from the same
 * distribution: the corners are the same.
 *
 * waves and heavy have x in the unit ball, as the theory of importance sampling assumes,
 * and y = 0 at x = 0 except for noise.
 *
 * waves: with u uniform on the square [-1, 1)^2, x = u / sqrt(2) and y = sin(pi u_1)
 * cos(pi u_2 / 2) plus normal noise of 0.05.
 *
 * heavy: x in 8 dimensions has a uniform direction and the length min(1, a / U), U
 * uniform on (0, 1] and a = 0.02: P(|x| > r) = a / r for a <= r < 1, so half of the rows
 * are shorter than 0.04 and one in fifty has length 1. y = sin(pi x_1) + 2 x_2 x_3 plus
 * normal noise of 0.02. The 4 % of rows longer than 1/2 account for six tenths of the
 * variance of y.
 */
#include <math.h>

#include "core/rng.h"
#include "data/dataset_int.h"

enum { DEFAULT_COUNT = 1000, PLANE = 2, BLOBS = 3, HEAVY = 8 };
static const double pi = 3.14159265358979323846;
static const uint64_t test_part = (uint64_t)1 << 62, corners = (uint64_t)1 << 61;

/* Allocates samples with labels, or with regression targets if classes is 0. */
static scant_status begin(scant_data *data, const scant_data_opts *opts, size_t width,
                          size_t classes) {
    if (opts->regression && classes)
        return scant__fail(data->ctx, SCANT_EUSAGE,
                           "%s: has classes, not regression targets", data->name);
    if (!opts->regression && !classes && !opts->unlabelled)
        return scant__fail(data->ctx, SCANT_EUSAGE,
                           "%s: has regression targets, not classes: ask for regression",
                           data->name);
    data->count = opts->count ? opts->count : DEFAULT_COUNT;
    data->shape[0] = width;
    data->shape[1] = data->shape[2] = 1;
    data->classes = classes;
    data->parts = data->own = true;
    data->read = scant__data_read_numbers;
    data->numbers = scant__alloc(data->ctx, data->count, width * sizeof *data->numbers);
    if (!data->numbers) return SCANT_ENOMEM;
    if (classes)
        data->labels = scant__alloc(data->ctx, data->count, sizeof *data->labels);
    else
        data->targets = scant__alloc(data->ctx, data->count, sizeof *data->targets);
    return data->labels || data->targets ? SCANT_OK : SCANT_ENOMEM;
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
    TRY(begin(data, opts, PLANE, 2));
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
    TRY(begin(data, opts, PLANE, BLOBS));
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

/* The noise of target i, from the random stream that labels use. */
static double noise_of(const scant_data_opts *opts, size_t i) {
    const scant__rng rng = {opts->seed, SCANT__RNG_LABELS};
    return scant__rng_normal(&rng, (opts->test ? test_part : 0) / 2 + i);
}

scant_status scant__data_open_waves(scant_data *data, const char *spec,
                                    const scant_data_opts *opts) {
    const scant__rng rng = {opts->seed, SCANT__RNG_POINTS};
    const uint64_t base = opts->test ? test_part : 0;
    (void)spec;
    TRY(begin(data, opts, PLANE, 0));
    for (size_t i = 0; i < data->count; i++) {
        double u[PLANE];
        for (size_t j = 0; j < PLANE; j++) {
            u[j] = 2 * scant__rng_unit(&rng, base + PLANE * i + j) - 1;
            data->numbers[PLANE * i + j] = (float)(u[j] * sqrt(.5));
        }
        double y = sin(pi * u[0]) * cos(pi * u[1] / 2);
        data->targets[i] = (float)(y + .05 * noise_of(opts, i));
    }
    return SCANT_OK;
}

scant_status scant__data_open_heavy(scant_data *data, const char *spec,
                                    const scant_data_opts *opts) {
    enum {
        PAIRS = HEAVY / 2, /* pairs of normal numbers per row */
        USED = PAIRS + 1   /* pairs of the random stream per row; the last one gives u */
    };
    const double shortest = .02;
    const scant__rng rng = {opts->seed, SCANT__RNG_POINTS};
    const uint64_t base = (opts->test ? test_part : 0) / 2;
    (void)spec;
    TRY(begin(data, opts, HEAVY, 0));
    for (size_t i = 0; i < data->count; i++) {
        uint64_t at = base + USED * i;
        double x[HEAVY], square = 0, u = 1 - scant__rng_unit(&rng, 2 * (at + PAIRS));
        for (size_t j = 0; j < PAIRS; j++)
            scant__rng_normal_pair(&rng, at + j, x + 2 * j);
        for (size_t j = 0; j < HEAVY; j++) square += x[j] * x[j];
        double scale = fmin(1, shortest / u) / sqrt(square);
        for (size_t j = 0; j < HEAVY; j++) {
            x[j] *= scale;
            data->numbers[HEAVY * i + j] = (float)x[j];
        }
        double y = sin(pi * x[0]) + 2 * x[1] * x[2];
        data->targets[i] = (float)(y + .02 * noise_of(opts, i));
    }
    return SCANT_OK;
}
