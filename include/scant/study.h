/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel laboratory: tangent kernels of networks, and the predictions of theory from
 * them (docs/kernels.md).
 */
#ifndef SCANT_STUDY_H
#define SCANT_STUDY_H

#include "scant/train.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Computes the empirical neural tangent kernel between samples a (n rows of data) and b
 * (m rows of other): <df_c(a)/dw, df_c'(b)/dw>, where w are the trained parameters, or
 * those of the last layer, and f the outputs before softmax. If full, out is n C x m C,
 * and output c of sample a has row a C + c (columns likewise for b); else out is n x m,
 * the mean over outputs c = c'. rows NULL: all. Exactly symmetric if both sides are the
 * same samples. Works in blocks, so memory stays below the cap for any n and m. */
SCANT_API scant_status scant_net_kernel(scant_net *net, const scant_data *data,
                                        const size_t *rows, size_t n,
                                        const scant_data *other, const size_t *other_rows,
                                        size_t m, bool last_layer, bool full,
                                        double *out);

/* ---- studies ----------------------------------------------------------------------- */

/* A study of a kernel K of n samples, as from scant_net_kernel(): its spectrum, and the
 * quantities that theorems about training use (docs/kernels.md). Y is n x classes: 1 for
 * a sample's class, else 0. The loss is L = 1/2 |f - Y|^2, summed over samples and
 * outputs. Gradient descent on it moves f by -rate K (f - Y), as long as the kernel is
 * constant.
 */
typedef struct scant_study_opts {
    /* Kernel rows per sample. 0 or 1: the kernel is the mean over classes, and is used
     * for every class. The number of classes: a full kernel, with row sample * classes +
     * c for class c. */
    size_t outputs;
    const float *start; /* n x classes: outputs before training; NULL: unknown */
    double rate;        /* learning rate of descent; 0: 1 / largest */
    double tolerance;   /* eigenvalues up to tolerance * largest count as 0; 0: 1e-10 */
    /* Error of a kernel entry, relative to the mean diagonal entry. Eigenvalues up to the
     * norm of a matrix of such errors also count as 0. 0: entries are exact. */
    double noise;
    SCANT_RESERVED;
} scant_study_opts;

/* The noise of scant_net_kernel(), which multiplies in float. */
#define SCANT_KERNEL_NOISE 5e-7

/* Numbers that need labels are NaN without labels. */
typedef struct scant_study {
    size_t samples, outputs; /* K has samples * outputs rows */
    size_t labelled;         /* number of samples with a class: Tr(Y^T Y) */
    /* The spectrum. */
    size_t n_values;
    const double *values; /* eigenvalues, largest first; negative: rounding error */
    double trace, largest, smallest;
    double positive;           /* smallest one above tolerance * largest; 0: K is 0 */
    double tolerance;          /* the one that was used; larger than asked if noise is */
    size_t rank;               /* number of eigenvalues above tolerance * largest */
    double condition;          /* largest / smallest; infinite if rank < n_values */
    double positive_condition; /* largest / positive */
    double dimension;          /* effective dimension: trace^2 / |K|^2 */
    /* Labels. energy: that of Y along each eigenvector v_i, which is the sum over classes
     * k of (v_i . Y^k)^2. start_energy: that of start - Y, if all samples have a class.
     * NULL: unknown. */
    const double *energy, *start_energy;
    double rest, start_rest; /* energy orthogonal to the listed eigenvectors (sketches) */
    double alignment;        /* A = Tr(Y^T K Y) */
    double alignment_part;   /* A / (labelled * largest): 0 to 1 */
    double jitter;           /* added to K's diagonal for B; 0: K is definite */
    double bound;            /* B = sqrt(2 Tr(Y^T (K + jitter I)^-1 Y) / n) */
    /* Theorem 2 of dynamicAL, for K + jitter I: half_square = (n/2) B^2 is between low
     * and factor * low, and by Kantorovich's inequality at most sharp_factor * low. */
    double half_square, low;
    double factor, sharp_factor;
    /* Descent. */
    double rate;
    double stable_rate;     /* 2 / largest: above it the loss grows */
    double mean_rate;       /* the same for the loss |f - Y|^2 / (n classes) */
    double sufficient_rate; /* positive / largest^2: sufficient in the theorems */
    double contraction;     /* worst factor of |f - Y| in one step, along eigenvectors
                             * whose eigenvalue is not 0 */
    /* tenth, hundredth: steps until E_t^2, the squared error after t steps from f = 0, is
     * this part of |Y|^2. start_tenth, start_hundredth: steps of the descent from `start`
     * until L is this part of its initial value; NaN without start. Infinite: never,
     * because K is 0 on a part of Y, or the rate is too high. */
    double tenth, hundredth, start_tenth, start_hundredth;
    double dynamics; /* G = Tr((start - Y)^T K (start - Y)), the initial decrease of L in
                      * gradient flow; NaN without start */
    SCANT_RESERVED;
} scant_study;

enum { SCANT_STUDY_ROWS = 30000 }; /* maximum number of rows of a kernel */

/* Studies the kernel k: (samples * outputs) squared, symmetric. A sample with label -1
 * has no class. labels NULL: no sample has a class, and classes is ignored. On SCANT_OK
 * *out is new: scant_study_free() ends it; else NULL. SCANT_EINPUT if k is not finite or
 * a label is too large. The same bits at any thread count. About 10 n^3 operations. */
SCANT_API scant_status scant_study_kernel(scant_ctx *ctx, const double *k, size_t samples,
                                          const int32_t *labels, size_t classes,
                                          const scant_study_opts *opts,
                                          scant_study **out);
SCANT_API void scant_study_free(scant_ctx *ctx, scant_study *study); /* NULL is fine */
/* Maximum memory of scant_study_kernel() in bytes, without k. classes 0: no labels. */
SCANT_API size_t scant_study_memory(size_t samples, size_t classes, size_t outputs);

/* left: E_t^2 = |f_t - Y|^2 after t steps from f = 0. low, high: its bounds by theorem 1
 * of dynamicAL, valid for t >= 1 and rates up to 1 / largest. NaN without labels. */
typedef struct scant_descent {
    double left, low, high;
} scant_descent;
SCANT_API scant_descent scant_study_descent(const scant_study *study, double rate,
                                            double t);
/* L after t steps from start, predicted by the kernel; NaN without start. */
SCANT_API double scant_study_loss(const scant_study *study, double rate, double t);

/* ---- closed form and regression ---------------------------------------------------- */

/* The tangent kernel of an infinitely wide, fully connected network with `depth` layers
 * of rectifiers (1 to 100) and no biases, in closed form (Arora et al., 2019), between
 * the rows of two arrays of the same width: out (n, m). b NULL: a itself, and out is
 * exactly symmetric. The value of a row with itself is (depth + 1) |x|^2. Relative error
 * about 1e-14; the same bits at any thread count. On failure out is unspecified. */
SCANT_API scant_status scant_ntk_kernel(scant_ctx *ctx, const scant_array *a,
                                        const scant_array *b, size_t depth, double *out);

/* Maximum memory of scant_ntk_kernel() in bytes, for rows of floats or doubles of that
 * width: a buffer for each thread, and a megabyte. */
SCANT_API size_t scant_ntk_memory(const scant_ctx *ctx, size_t width);

/* Reads the depth from "ntk:depth=K"; SCANT_EUSAGE for any other text. */
SCANT_API scant_status scant_kernel_parse(scant_ctx *ctx, const char *text,
                                          size_t *depth);

/* Kernel regression: alpha (n, c) = (K + ridge I)^-1 Y for targets Y (n, c) and a
 * symmetric K (n, n), of which only the lower triangle is used. If K + ridge I is
 * singular up to rounding (equal rows without ridge), a jitter is added to its
 * diagonal: 1.5e-8 times its largest diagonal entry, and ten times more until that
 * suffices. *jitter (may be NULL) is the amount added, or 0. Without ridge and jitter the
 * fit interpolates the targets. targets may be alpha. Needs n^2 doubles. On failure alpha
 * is unspecified. */
SCANT_API scant_status scant_kernel_fit(scant_ctx *ctx, const double *kernel, size_t n,
                                        const double *targets, size_t c, double ridge,
                                        double *alpha, double *jitter);
/* Predicts: out (m, c) = K alpha, for K (m, n) between new rows and those of the fit. */
SCANT_API scant_status scant_kernel_predict(scant_ctx *ctx, const double *kernel,
                                            size_t m, size_t n, const double *alpha,
                                            size_t c, double *out);

/* ---- the laboratory ---------------------------------------------------------------- */

/* One call computes a kernel between samples, its study, and measurements. */
typedef struct scant_lab_opts {
    scant_net *net; /* for kernel and outputs; NULL: outputs are 0 (closed form only) */
    scant_net *reader; /* closed form: computes the feature rows; otherwise unused */
    const scant_data *data;
    const size_t *rows; /* `all` rows of data: the first n are the samples, the rest are
                           only for `against` */
    size_t n, all;      /* n <= all */
    const int32_t *labels; /* classes of the n samples, -1: none; NULL: no labels */
    size_t classes;
    /* The kernel. */
    size_t depth;    /* layers of the closed form; 0: the network's own kernel */
    bool bias;       /* closed form: append a 1 to each feature row */
    bool last_layer; /* own kernel: of the last layer's parameters only */
    bool full;       /* own kernel: a row for each sample and output */
    size_t sketch;   /* own kernel: length of gradient sketches; 0: the exact matrix */
    double rate;     /* learning rate of descent; 0: 1 / largest eigenvalue */
    uint64_t seed;
    /* Measurements; 0: left out. All are left out with a sketch. */
    const size_t *against; /* indices into rows: the other set of the distance (MMD) */
    size_t n_against;
    size_t sets, start, draw; /* agreement: sets; rows of S (0: 500), of Q (0: 250) */
    size_t steps;             /* steps of gradient descent, which changes net */
    bool infinite;            /* compare with the kernel of infinite width */
    bool fit; /* kernel regression with ridge, evaluated on the test samples */
    double ridge;
    const scant_data *test;
    const size_t *test_rows;
    size_t n_test;
    SCANT_RESERVED;
} scant_lab_opts;

/* Whether alignment predicts the speed of training: both are computed for unions of S,
 * the first `start` rows of the kernel, and random sets Q of `draw` other rows. */
typedef struct scant_agreement {
    size_t sets, start, draw;
    double tau; /* Kendall's tau-b of alignment and dynamics; NaN: one is constant */
    double p;   /* p-value of tau, two-sided, normal approximation; or NaN */
    const double *dynamics, *alignment; /* sets each */
} scant_agreement;

/* The error of sketched inner products: Frobenius norm, relative to the kernel's. */
typedef struct scant_sketch_error {
    size_t samples; /* evenly spaced samples for which the exact kernel is computed */
    double error, second; /* error of the sketch, and of an independent one */
    double expected;      /* sqrt(2 / length) Tr(K) / |K|: bounds the root mean square */
} scant_sketch_error;

/* The difference between the kernel of a network of dense layers and that of infinite
 * width, both in the parametrisation of that theory. Weights must have the law of init
 * he, else the difference does not vanish with the width. */
typedef struct scant_infinite {
    size_t depth;     /* hidden layers */
    double frobenius; /* norm of the difference, relative to the infinite kernel's */
    double spectral;  /* likewise */
    double entry;     /* largest entry, relative to the infinite kernel's mean diagonal */
} scant_infinite;

/* Regression with a kernel. Accuracies are NaN if targets are numbers. */
typedef struct scant_regression {
    double ridge, jitter; /* added to the diagonal; jitter only if K is singular */
    double train_accuracy, train_error; /* error: mean square over samples and outputs */
    size_t tests;                       /* number of test samples */
    double test_accuracy, test_error;
} scant_regression;

/* Results; NULL and 0: not measured. */
typedef struct scant_lab {
    const scant_study *study;
    const double *kernel;  /* (samples * outputs) squared */
    const double *k;       /* mean of kernel over outputs, samples squared */
    const int32_t *labels; /* the caller's, borrowed */
    size_t classes;
    double seconds; /* time to compute the kernel or the sketch */
    const scant_sketch_error *sketch;
    const scant_agreement *agreement;
    const scant_infinite *infinite;
    /* Descent: steps + 1 measured and predicted losses; the rate; the smallest
     * eigenvalue, or 0 if it counts as 0; the theorem's bound 1 - rate smallest on the
     * ratio of successive losses; the number of steps above it; the largest change of an
     * eigenvalue, and the spectral norm of the kernel's change. */
    size_t steps;
    const double *losses, *predicted;
    double rate, smallest, factor;
    size_t steps_above;
    double eigenvalues_moved, kernel_moved;
    size_t against; /* number of samples of the other set */
    double mmd;
    const scant_regression *regression;
} scant_lab;

/* Of opts, only the array opts->labels is used after the call: it must outlive *out. On
 * SCANT_OK *out is new: scant_lab_free() ends it; else NULL. */
SCANT_API scant_status scant_lab_run(scant_ctx *ctx, const scant_lab_opts *opts,
                                     scant_lab **out);
SCANT_API void scant_lab_free(scant_ctx *ctx, scant_lab *lab); /* NULL is fine */
/* Maximum memory in bytes that ctx will hold for n samples; a double, so as not to
 * overflow. */
SCANT_API double scant_lab_memory(const scant_ctx *ctx, const scant_lab_opts *opts,
                                  size_t n);

/* Makes a self-contained HTML page: charts, and every number with its meaning. title: the
 * kernel's network and data. Less than a megabyte for any kernel. *bytes is new:
 * scant_bytes_free() ends it. */
SCANT_API scant_status scant_lab_page(scant_ctx *ctx, const scant_lab *lab,
                                      const char *title, void **bytes, size_t *size);

#ifdef __cplusplus
}
#endif

#endif
