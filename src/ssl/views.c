/* SPDX-License-Identifier: Apache-2.0
 *
 * A method's augmentation. Images are augmented as in data/augment_views.h; black and
 * white are 0 and 1, or the data's extremes if these are outside. Feature rows get noise
 * in units of each feature's deviation, and dropped features are replaced by their mean
 * (an extension; the papers treat images only).
 *
 * The statistics come from at most 10,000 evenly spaced training samples: deterministic,
 * and independent of held-out data.
 */
#include <math.h>
#include <string.h>

#include "scant/train.h"
#include "ssl/ssl.h"

enum { SAMPLES = 10000 };

typedef struct measured {
    size_t samples;
    float low, high;        /* range of all values */
    double *sums, *squares; /* per feature; NULL: not wanted */
} measured;

static scant_status measure(ssl_setup *s, measured *m) {
    size_t width = scant__data_width(s->data), all = scant_data_count(s->data), n = 0;
    for (size_t i = 0; i < all; i++) n += s->trains[i];
    size_t stride = (n + SAMPLES - 1) / SAMPLES, nth = 0;
    scant__fault fault = {{0}};
    float *row = TRY_NEW(s->arena, float, width);
    m->low = INFINITY;
    m->high = -INFINITY;
    for (size_t i = 0; i < all; i++) {
        if (!s->trains[i] || nth++ % stride) continue;
        m->samples++;
        scant_status status = scant__data_read(s->data, i, row, &fault);
        if (status != SCANT_OK) return scant__fail(s->ctx, status, "%s", fault.text);
        for (size_t k = 0; k < width; k++) {
            m->low = row[k] < m->low ? row[k] : m->low;
            m->high = row[k] > m->high ? row[k] : m->high;
            if (!m->sums) continue;
            m->sums[k] += (double)row[k];
            m->squares[k] += (double)row[k] * (double)row[k];
        }
    }
    return SCANT_OK;
}

static scant_status fit_images(ssl_setup *s) {
    measured m = {0};
    s->views.flip = strcmp(s->o.augment, "flip-crop") == 0;
    s->views.cut = s->o.ssl.cut;
    if (scant__data_bytes(s->data)) return SCANT_OK; /* black is 0, white 1 */
    TRY(measure(s, &m));
    if (m.low >= 0 && m.high <= 1) return SCANT_OK;
    s->views.low = m.low;
    s->views.high = m.high > m.low ? m.high : m.low + 1;
    return SCANT_OK;
}

static scant_status fit_features(ssl_setup *s) {
    size_t width = scant__data_width(s->data);
    measured m = {.sums = TRY_ZERO(s->arena, double, width),
                  .squares = TRY_ZERO(s->arena, double, width)};
    float *middle = TRY_NEW(s->arena, float, width);
    float *spread = TRY_NEW(s->arena, float, width);
    TRY(measure(s, &m));
    for (size_t k = 0; k < width; k++) {
        double mean = m.sums[k] / (double)m.samples;
        double variance = m.squares[k] / (double)m.samples - mean * mean;
        middle[k] = (float)mean;
        spread[k] = (float)sqrt(fmax(variance, 0));
    }
    s->views.middle = middle;
    s->views.spread = spread;
    s->views.noise = (float)s->o.ssl.noise;
    s->views.drop = (float)s->o.ssl.drop;
    return SCANT_OK;
}

scant_status ssl_views_fit(ssl_setup *s) {
    bool images = scant__data_is_image(s->data);
    const char *augment = s->o.augment;
    size_t shape[3];
    scant_data_shape(s->data, shape);
    s->views =
        (scant__views){.c = shape[0], .h = shape[1], .w = shape[2], .images = images};
    s->augmented = strcmp(augment, "none") != 0;
    bool known = images ? !strcmp(augment, "crop") || !strcmp(augment, "flip-crop")
                        : !strcmp(augment, "noise");
    if (s->augmented && !known)
        return scant__fail(s->ctx, SCANT_EUSAGE, "augment is %s for %s, not '%s'",
                           images ? "none, flip-crop or crop" : "none or noise",
                           images ? "images" : "rows of features", augment);
    if (!s->augmented) return SCANT_OK;
    return images ? fit_images(s) : fit_features(s);
}

/* ---- views ---- */

static void copy(const ssl_setup *s, const float *in, float *out) {
    memcpy(out, in, s->views.c * s->views.h * s->views.w * sizeof *out);
}

void ssl_weak(const ssl_setup *s, uint64_t draw, const float *in, float *out) {
    const scant__rng rng = {s->o.seed, SCANT__RNG_WEAK};
    if (s->augmented)
        scant__augment_weak(&s->views, &rng, draw, in, out);
    else
        copy(s, in, out);
}

void ssl_strong(const ssl_setup *s, uint64_t draw, const float *in, float *out,
                void *scratch) {
    const scant__rng rng = {s->o.seed, SCANT__RNG_STRONG};
    if (s->augmented)
        scant__augment_strong(&s->views, &rng, draw, in, out, scratch);
    else
        copy(s, in, out);
}
