/* SPDX-License-Identifier: Apache-2.0
 *
 * Cross-entropy by log-sum-exp in double: a batch has few logits, and training depends on
 * the loss. Costs n*c exponentials.
 */
#include "nn/loss.h"

#include <math.h>
#include <string.h>

#include "core/argmax.h"
#include "core/size.h"
#include "linalg/newton.h"
#include "scant/train.h"

/* sum exp((z - top) / temperature) */
static double exp_sum(const float *z, size_t c, double top, double temperature) {
    double sum = 0;
    for (size_t k = 0; k < c; k++) sum += exp(((double)z[k] - top) / temperature);
    return sum;
}

static double cross_entropy(const nn_targets *w, size_t i, size_t c, const float *z,
                            double scale, float *d, size_t *best) {
    *best = scant__argmax(z, c);
    double top = (double)z[*best], norm = top + log(exp_sum(z, c, top, 1)), loss = 0;
    if (w->labels)
        loss = norm - (double)z[w->labels[i]];
    else
        for (size_t k = 0; k < c; k++)
            loss += (double)w->soft[i * c + k] * (norm - (double)z[k]);
    for (size_t k = 0; d && k < c; k++) {
        double want = w->labels ? k == (size_t)w->labels[i] : (double)w->soft[i * c + k];
        d[k] = (float)(scale * (exp((double)z[k] - norm) - want));
    }
    return loss;
}

/* The mean squared error over a sample's outputs, as in torch. */
static double squared_error(const float *target, size_t c, const float *z, double scale,
                            float *d) {
    double loss = 0;
    for (size_t k = 0; k < c; k++) {
        double off = (double)z[k] - (double)target[k];
        loss += off * off / (double)c;
        if (d) d[k] = (float)(scale * 2 * off / (double)c);
    }
    return loss;
}

nn_score nn_loss(const nn_targets *w, size_t n, size_t c, const float *logits, float *d) {
    nn_score score = {.finite = 1};
    double divide = w->divide > 0 ? w->divide : (double)n;
    for (size_t i = 0; i < n; i++) {
        const float *z = logits + i * c;
        float *di = d ? d + i * c : NULL;
        double weight = w->weights ? (double)w->weights[i] : 1;
        size_t best = 0;
        for (size_t k = 0; k < c; k++) score.finite &= isfinite(z[k]) != 0;
        double loss = w->targets
                          ? squared_error(w->targets + i * c, c, z, weight / divide, di)
                          : cross_entropy(w, i, c, z, weight / divide, di, &best);
        score.loss += weight * loss / divide;
        if (w->labels) score.correct += best == (size_t)w->labels[i];
    }
    return score;
}

void nn_softmax(size_t n, size_t c, const float *logits, double temperature,
                float *probs) {
    for (size_t i = 0; i < n; i++) {
        const float *z = logits + i * c;
        double top = (double)z[scant__argmax(z, c)];
        double norm = log(exp_sum(z, c, top, temperature));
        for (size_t k = 0; k < c; k++)
            probs[i * c + k] = (float)exp(((double)z[k] - top) / temperature - norm);
    }
}

double nn_confidence(const float *logits, size_t c) {
    double top = (double)logits[scant__argmax(logits, c)];
    return exp(top - (top + log(exp_sum(logits, c, top, 1))));
}

typedef struct fit {
    const float *logits;
    const int32_t *labels;
    size_t n, c;
} fit;

/* Derivatives of the mean loss by s = 1/T: E[z] - z_y, and the variance of z. */
static scant_status slope_at(void *arg, double s, la_slope *out) {
    const fit *f = arg;
    *out = (la_slope){0};
    for (size_t i = 0; i < f->n; i++) {
        const float *z = f->logits + i * f->c;
        double top = (double)z[scant__argmax(z, f->c)], total = 0, mean = 0, square = 0;
        for (size_t k = 0; k < f->c; k++) {
            double x = (double)z[k] - top, p = exp(s * x);
            total += p, mean += p * x, square += p * x * x;
        }
        mean /= total;
        out->first += mean - ((double)z[f->labels[i]] - top);
        out->second += fmax(0, square / total - mean * mean);
    }
    return SCANT_OK;
}

double nn_temperature(const float *logits, const int32_t *labels, size_t n, size_t c) {
    double s = 1;
    la_convex_minimum(slope_at, &(fit){logits, labels, n, c}, 1e-2, 1e2, 1, &s);
    return 1 / s;
}

/* The bin of a confidence. Bins include their upper border, as in the paper; slack
 * absorbs the rounding of float logits. */
static size_t bin_of(double confidence) {
    static const double slack = 1e-6;
    double at = ceil(confidence * SCANT_CALIBRATION_BINS - slack);
    return at < 1 ? 0 : size_min((size_t)at, SCANT_CALIBRATION_BINS) - 1;
}

double nn_calibration(const float *logits, const int32_t *labels, size_t n, size_t c,
                      double temperature, scant_calibration_bin *bins) {
    double error = 0;
    memset(bins, 0, SCANT_CALIBRATION_BINS * sizeof *bins);
    for (size_t i = 0; i < n; i++) { /* sums */
        const float *z = logits + i * c;
        size_t best = scant__argmax(z, c);
        double sum = exp_sum(z, c, (double)z[best], temperature);
        scant_calibration_bin *bin = &bins[bin_of(1 / sum)];
        bin->count++;
        bin->confidence += 1 / sum;
        bin->accuracy += best == (size_t)labels[i];
    }
    for (size_t b = 0; b < SCANT_CALIBRATION_BINS; b++) {
        scant_calibration_bin *bin = &bins[b];
        if (!bin->count) continue;
        error += fabs(bin->confidence - bin->accuracy);
        bin->confidence /= (double)bin->count;
        bin->accuracy /= (double)bin->count;
    }
    return n ? error / (double)n : 0;
}
