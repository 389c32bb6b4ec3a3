/* SPDX-License-Identifier: Apache-2.0
 *
 * v is a matrix product: squares of h times squares of s. Forward needs this one product,
 * backward two, besides those of the dense layer.
 */
#include "nn/noise.h"

#include <math.h>

#include "core/blas.h"
#include "core/parfor.h"
#include "core/size.h"
#include "linalg/gemm_f32.h"

enum {
    ROWS = 32,        /* samples per block */
    COLUMNS = 64,     /* inputs per block, for sums over samples */
    NUMBERS = 1 << 12 /* weights per block */
};

double nn_softplus(double x) { return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x)); }

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

size_t nn_noise_scratch(size_t n, size_t classes, size_t width) {
    size_t numbers = size_add(size_mul(n, width), size_mul(classes, width));
    return size_mul(size_add(numbers, size_mul(n, classes)), sizeof(float));
}

typedef struct job {
    const nn_noise *of;
    const scant__rng *rng;
    const float *z, *d;
    float *out, *d_h, *d_rho;
    float *squares;   /* squares of h */
    float *variances; /* variances of the weights */
    float *q;         /* gradient by v */
} job;

static job begin(const nn_noise *of) {
    float *squares = of->scratch;
    float *variances = squares + of->n * of->width;
    return (job){.of = of,
                 .squares = squares,
                 .variances = variances,
                 .q = variances + of->classes * of->width};
}

static size_t blocks_of(size_t n, size_t each) { return (n + each - 1) / each; }

static void variances_block(void *arg, size_t block) {
    const job *j = arg;
    size_t n = j->of->classes * j->of->width, to = size_min((block + 1) * NUMBERS, n);
    for (size_t i = block * NUMBERS; i < to; i++) {
        double s = nn_softplus((double)j->of->rho[i]);
        j->variances[i] = (float)(s * s);
    }
}

static void find_variances(scant_ctx *ctx, job *j) {
    size_t n = j->of->classes * j->of->width;
    scant__loop(ctx, blocks_of(n, NUMBERS), variances_block, j);
}

static void square(const job *j, size_t from, size_t to) {
    for (size_t i = from * j->of->width; i < to * j->of->width; i++)
        j->squares[i] = j->of->h[i] * j->of->h[i];
}

static scant_status forward_rows(void *arg, size_t block, unsigned worker,
                                 scant__fault *fault) {
    const job *j = arg;
    const nn_noise *of = j->of;
    size_t from = block * ROWS, to = size_min(from + ROWS, of->n), c = of->classes;
    (void)worker, (void)fault;
    square(j, from, to);
    la_snt(to - from, c, of->width, j->squares + from * of->width, of->width,
           j->variances, of->width, of->work + from * c, c);
    for (size_t i = from * c; i < to * c; i++) {
        double e = scant__rng_normal(j->rng, i);
        double root = sqrt((double)of->work[i] + NN_NOISE_FLOOR);
        j->out[i] = (float)((double)j->z[i] + e * root);
        of->work[i] = (float)(e / (2 * root)); /* derivative of the output by v */
    }
    return SCANT_OK;
}

scant_status nn_noise_forward(scant_ctx *ctx, const nn_noise *of, const scant__rng *rng,
                              const float *z, float *out) {
    job j = begin(of);
    j.rng = rng;
    j.z = z;
    j.out = out;
    find_variances(ctx, &j);
    return scant__blas_for(ctx, NULL, blocks_of(of->n, ROWS), forward_rows, &j);
}

static scant_status back_rows(void *arg, size_t block, unsigned worker,
                              scant__fault *fault) {
    const job *j = arg;
    const nn_noise *of = j->of;
    size_t from = block * ROWS, to = size_min(from + ROWS, of->n), c = of->classes;
    float *d_h = j->d_h;
    (void)worker, (void)fault;
    square(j, from, to);
    for (size_t i = from * c; i < to * c; i++) j->q[i] = j->d[i] * of->work[i];
    la_snn(to - from, of->width, c, j->q + from * c, c, j->variances, of->width,
           d_h + from * of->width, of->width);
    for (size_t i = from * of->width; i < to * of->width; i++) d_h[i] *= 2 * of->h[i];
    return SCANT_OK;
}

static scant_status back_columns(void *arg, size_t block, unsigned worker,
                                 scant__fault *fault) {
    const job *j = arg;
    const nn_noise *of = j->of;
    size_t from = block * COLUMNS, to = size_min(from + COLUMNS, of->width);
    (void)worker, (void)fault;
    la_stn(of->classes, to - from, of->n, j->q, of->classes, j->squares + from, of->width,
           j->d_rho + from, of->width);
    for (size_t k = 0; k < of->classes; k++)
        for (size_t i = k * of->width + from; i < k * of->width + to; i++) {
            double rho = (double)of->rho[i];
            j->d_rho[i] *= (float)(2 * nn_softplus(rho) * sigmoid(rho));
        }
    return SCANT_OK;
}

scant_status nn_noise_back(scant_ctx *ctx, const nn_noise *of, const float *d, float *d_h,
                           float *d_rho) {
    job j = begin(of);
    j.d = d;
    j.d_h = d_h;
    j.d_rho = d_rho;
    find_variances(ctx, &j);
    TRY(scant__blas_for(ctx, NULL, blocks_of(of->n, ROWS), back_rows, &j));
    return scant__blas_for(ctx, NULL, blocks_of(of->width, COLUMNS), back_columns, &j);
}

/* ---- divergence from the prior ---- */

typedef struct gaussian {
    const float *mean, *rho;
    size_t n_mean, n_rho; /* n_mean includes the packed layout's padding, which is 0 */
    float *d_mean, *d_rho;
} gaussian;

static bool gaussian_of(nn_weights *w, gaussian *out) {
    const nn_net *net = w->net;
    if (!nn_is_variational(net)) return false;
    int mean = net->nodes[net->head].weight, rho = net->nodes[net->n_nodes - 1].rho;
    *out = (gaussian){.mean = nn_weights_at(w, mean),
                      .rho = nn_weights_at(w, rho),
                      .n_mean = w->slices[mean].room,
                      .n_rho = net->params[rho].count,
                      .d_mean = nn_grads_at(w, mean),
                      .d_rho = nn_grads_at(w, rho)};
    return true;
}

double nn_kl(nn_weights *w) {
    gaussian l;
    if (!gaussian_of(w, &l)) return 0;
    double sum = 0, prior = w->net->prior;
    for (size_t i = 0; i < l.n_mean; i++)
        sum += (double)l.mean[i] * (double)l.mean[i] / prior;
    for (size_t i = 0; i < l.n_rho; i++) {
        double s = nn_softplus((double)l.rho[i]), part = s * s / prior;
        sum += part - 1 - log(part);
    }
    return sum / 2;
}

void nn_kl_add(nn_weights *w, double by) {
    gaussian l;
    if (!gaussian_of(w, &l)) return;
    double prior = w->net->prior;
    for (size_t i = 0; i < l.n_mean; i++)
        l.d_mean[i] += (float)(by * (double)l.mean[i] / prior);
    for (size_t i = 0; i < l.n_rho; i++) {
        double rho = (double)l.rho[i], s = nn_softplus(rho), slope = sigmoid(rho);
        double falls = rho < -30 ? 1 : slope / s; /* for small rho s underflows */
        l.d_rho[i] += (float)(by * (s * slope / prior - falls));
    }
}
