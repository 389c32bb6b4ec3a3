/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel laboratory: tangent kernels of networks and what theory reads from them
 * (docs/kernels.md).
 */
#ifndef SCANT_STUDY_H
#define SCANT_STUDY_H

#include "scant/train.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The empirical neural tangent kernel between samples a (n rows of data) and b (m rows of
 * other): <df_c(a)/dw, df_c'(b)/dw>, where w are the trained parameters, or the last
 * layer's, and f the outputs before softmax. full: n x C by m x C, row a*C + c; otherwise
 * the mean over c = c', n x m. rows NULL: all. Exactly symmetric if both sides are the
 * same samples. Works in blocks, so memory stays below the cap for any n and m. */
SCANT_API scant_status scant_net_kernel(scant_net *net, const scant_data *data,
                                        const size_t *rows, size_t n,
                                        const scant_data *other, const size_t *other_rows,
                                        size_t m, int last_layer, int full, double *out);

/* ---- studies ----------------------------------------------------------------------- */

/* The study of a kernel K of n samples, as from scant_net_kernel(): its spectrum, and the
 * quantities in theorems about training (docs/kernels.md). Y is n x classes: 1 for a
 * sample's class, else 0. The loss is L = 1/2 |f - Y|^2, summed over samples and outputs.
 * Gradient descent on it moves f by -rate K (f - Y), as long as the kernel is constant.
 */
typedef struct scant_study_opts {
    /* Rows of the kernel for each sample: the number of classes if it is full, row sample
     * * classes + c (1: the mean over classes, used for every class). */
    size_t outputs;
    const float *start; /* n x classes: outputs before training (all 0) */
    double rate;        /* of descent (1 / largest) */
    double tolerance;   /* eigenvalues up to tolerance * largest count as 0 (1e-10) */
    /* Error of the kernel's numbers, relative to its mean diagonal entry: eigenvalues
     * that n^2 such errors can explain count as 0 as well (0: the numbers are exact). */
    double noise;
} scant_study_opts;

/* The noise of scant_net_kernel(), whose products are in float. */
#define SCANT_KERNEL_NOISE 5e-7

/* Numbers that need labels are NaN without labels. */
typedef struct scant_study {
    size_t samples, outputs; /* a kernel of samples * outputs rows */
    size_t labelled;         /* samples that have a class: Tr(Y^T Y) */
    /* The spectrum. */
    size_t n_values;
    const double *values; /* eigenvalues, largest first; negative ones are rounding */
    double trace, largest, smallest;
    double positive;           /* the least above tolerance * largest; 0: K is 0 */
    double tolerance;          /* the one that was used */
    size_t rank;               /* eigenvalues above tolerance * largest */
    double condition;          /* largest / smallest; infinite if rank < n_values */
    double positive_condition; /* largest / positive */
    double dimension; /* trace^2 / |K|^2: directions that hold most of the trace */
    /* Labels. energy: of Y along each eigenvector, the sum over classes of (v_i . Y^k)^2;
     * start_energy: of start - Y, if all samples have a class. NULL: not known. */
    const double *energy, *start_energy;
    double rest, start_rest; /* energy outside the listed eigenvectors (sketches) */
    double alignment;        /* A = Tr(Y^T K Y) */
    double alignment_part;   /* A / (labelled largest): 0 to 1 */
    double jitter;           /* added to K's diagonal for B; 0: K is definite */
    double bound;            /* B = sqrt(2 Tr(Y^T (K + jitter I)^-1 Y) / n) */
    /* Theorem 2 of dynamicAL, for K + jitter I: (n/2) B^2 is between low and low times a
     * factor, the paper's or Kantorovich's, which is never larger. */
    double half_square, low;
    double factor, sharp_factor;
    /* Descent. */
    double rate;
    double stable_rate;     /* 2 / largest: above it the loss grows */
    double mean_rate;       /* the same for the loss |f - Y|^2 / (n classes) */
    double sufficient_rate; /* positive / largest^2: sufficient in the theorems */
    double contraction;     /* of |f - Y| in one step, at worst, along eigenvectors whose
                             * eigenvalue is not 0 */
    /* Steps until E_t^2 is a tenth, a hundredth of |Y|^2, and L (from start) of its first
     * value; infinite: never, since part of Y is where K is 0, or the rate is too high.
     */
    double tenth, hundredth, start_tenth, start_hundredth;
    double dynamics; /* G = Tr((start - Y)^T K (start - Y)), the speed at which L falls;
                      * NaN without start */
} scant_study;

enum { SCANT_STUDY_ROWS = 30000 }; /* of a kernel, at most */

/* k: samples * outputs squared, symmetric. labels: -1: none; NULL: no labels, and classes
 * is ignored. On SCANT_OK *out is new: scant_study_free() ends it; else NULL.
 * SCANT_EINPUT if k is not finite or a label is not below classes. The same bits at any
 * thread count. About 10 n^3 operations. */
SCANT_API scant_status scant_study_kernel(scant_ctx *ctx, const double *k, size_t samples,
                                          const int32_t *labels, size_t classes,
                                          const scant_study_opts *opts,
                                          scant_study **out);
SCANT_API void scant_study_free(scant_ctx *ctx, scant_study *study); /* NULL is fine */
/* Bytes that it needs at most, without k. classes 0: without labels. */
SCANT_API size_t scant_study_memory(size_t samples, size_t classes, size_t outputs);

/* left: E_t^2 = |f_t - Y|^2 after t steps from f = 0. low, high: its bounds by theorem 1,
 * which hold for t >= 1 and rates up to 1 / largest. NaN without labels. */
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

/* Bytes that it needs at most for rows of floats or doubles of that width: a buffer for
 * each thread, and a megabyte. */
SCANT_API size_t scant_ntk_memory(const scant_ctx *ctx, size_t width);

/* Reads the depth from "ntk:depth=K"; SCANT_EUSAGE for any other text. */
SCANT_API scant_status scant_kernel_parse(scant_ctx *ctx, const char *text,
                                          size_t *depth);

/* Regression with a kernel: alpha (n, c) = (K + ridge I)^-1 Y for K (n, n), symmetric
 * (the lower triangle is read), and targets Y (n, c). If that matrix is singular up to
 * rounding (a row occurs twice, and there is no ridge), 1.5e-8 times its largest diagonal
 * number, or ten times that, and so on, is added to its diagonal; *jitter (may be NULL)
 * is set to it, or to 0. Without ridge and jitter the fit meets the targets. targets may
 * be alpha. Needs n^2 doubles. On failure alpha is unspecified. */
SCANT_API scant_status scant_kernel_fit(scant_ctx *ctx, const double *kernel, size_t n,
                                        const double *targets, size_t c, double ridge,
                                        double *alpha, double *jitter);
/* out (m, c) = K alpha for K (m, n), between new rows and those of the fit. */
SCANT_API scant_status scant_kernel_predict(scant_ctx *ctx, const double *kernel,
                                            size_t m, size_t n, const double *alpha,
                                            size_t c, double *out);

/* ---- the laboratory ---------------------------------------------------------------- */

/* One call for all of it: a kernel between samples, its study, and measurements. */
typedef struct scant_lab_opts {
    scant_net *net; /* whose kernel and outputs; NULL: outputs of 0 (closed form only) */
    scant_net *reader; /* closed form: its features are the rows; otherwise unused */
    const scant_data *data;
    const size_t *rows;    /* of data: n samples, then all - n others of `against` */
    size_t n, all;         /* n <= all */
    const int32_t *labels; /* of the n samples, -1: none; NULL: no sample has one */
    size_t classes;
    /* The kernel. */
    size_t depth;   /* of the closed form; 0: the network's own kernel */
    int bias;       /* closed form: a 1 after each row of features */
    int last_layer; /* of the network's own kernel: of the last layer's parameters only */
    int full;       /* likewise: a row for each sample and output */
    size_t sketch;  /* likewise: sketched gradients of so many numbers; 0: the matrix */
    double rate;    /* of descent (1 / largest eigenvalue) */
    uint64_t seed;
    /* Measurements; each needs the matrix. 0: left out. */
    const size_t *against; /* places in rows, for the distance between two sets (MMD) */
    size_t n_against;
    size_t sets, start, draw; /* agreement: how many sets, and (500, 250) of their rows */
    size_t steps;             /* of gradient descent, which changes net */
    int fit;                  /* regression, with ridge, evaluated on the test samples */
    double ridge;
    const scant_data *test;
    const size_t *test_rows;
    size_t n_test;
} scant_lab_opts;

/* Whether alignment predicts the speed of training: both for S and a random set Q
 * together, many times. S is the first rows of the kernel, Q is drawn from the others. */
typedef struct scant_agreement {
    size_t sets, start, draw;
    double tau; /* Kendall's tau-b of the two; NaN: one of them never changes */
    double p;   /* of tau, two-sided, by the normal approximation; NaN likewise */
    const double *dynamics, *alignment; /* sets each */
} scant_agreement;

/* The error of sketched inner products, in the Frobenius norm, relative to the kernel's.
 */
typedef struct scant_sketch_error {
    size_t samples;       /* evenly spaced, whose exact kernel it is compared with */
    double error, second; /* of the sketch, and of an independent one */
    double expected;      /* sqrt(2 / K) Tr(K) / |K|: above the root mean square error */
} scant_sketch_error;

/* Regression with a kernel. Accuracies are NaN if targets are numbers. */
typedef struct scant_regression {
    double ridge, jitter; /* added to the diagonal; jitter: because K was singular */
    double train_accuracy, train_error; /* mean square over samples and outputs */
    size_t tests;                       /* test samples */
    double test_accuracy, test_error;
} scant_regression;

/* Results; NULL and 0: not measured. */
typedef struct scant_lab {
    const scant_study *study;
    const double *kernel;  /* (samples * outputs) squared */
    const double *k;       /* its mean over outputs, samples squared */
    const int32_t *labels; /* the caller's */
    size_t classes;
    double seconds; /* for the kernel or the sketch */
    const scant_sketch_error *sketch;
    const scant_agreement *agreement;
    /* Descent: steps + 1 measured and predicted losses; the rate; the smallest eigenvalue
     * that counts; the factor 1 - rate smallest, by which each step shrinks the loss at
     * least according to the theorem; steps that shrank it by less; the largest move of
     * an eigenvalue, and the spectral norm of the kernel's change. */
    size_t steps;
    const double *losses, *predicted;
    double rate, smallest, factor;
    size_t steps_above;
    double eigenvalues_moved, kernel_moved;
    size_t against; /* samples of the other set */
    double mmd;
    const scant_regression *regression;
} scant_lab;

/* opts is used during the call only, but for labels. On SCANT_OK *out is new:
 * scant_lab_free() ends it; else NULL. */
SCANT_API scant_status scant_lab_run(scant_ctx *ctx, const scant_lab_opts *opts,
                                     scant_lab **out);
SCANT_API void scant_lab_free(scant_ctx *ctx, scant_lab *lab); /* NULL is fine */
/* Bytes that ctx will hold at most if rows are n samples; a double, which cannot
 * overflow.
 */
SCANT_API double scant_lab_memory(const scant_ctx *ctx, const scant_lab_opts *opts,
                                  size_t n);

/* A page of HTML that needs no other file: charts, and every number with its meaning.
 * title: what the kernel is of. Less than a megabyte for any kernel. *bytes is new:
 * scant_bytes_free() ends it. */
SCANT_API scant_status scant_lab_page(scant_ctx *ctx, const scant_lab *lab,
                                      const char *title, void **bytes, size_t *size);

#ifdef __cplusplus
}
#endif

#endif
