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
 * other): <df_c(a)/dw, df_c'(b)/dw> by the trained parameters w, or the last layer's. f
 * are the outputs before softmax. full: n x C by m x C, row a*C + c; else the mean over
 * c = c' (the trace of a block, divided by C), n x m. rows NULL: all. Symmetric to the
 * bit where both sides name the same samples. Memory stays below the cap for any n and m:
 * they are worked on in blocks. Thread counts and failures as above. */
SCANT_API scant_status scant_net_kernel(scant_net *net, const scant_data *data,
                                        const size_t *rows, size_t n,
                                        const scant_data *other, const size_t *other_rows,
                                        size_t m, int last_layer, int full, double *out);

/* ---- kernels: what they say of training -------------------------------------------- */

/* A kernel K of n samples, as scant_net_kernel() gives it for samples with themselves, in
 * the light of labels: its spectrum, and the quantities that theorems about training are
 * about (docs/kernels.md). Y is n x classes: a one where a sample has its class, else 0.
 * The loss is L = 1/2 |f - Y|^2, summed over samples and outputs, and descent is by the
 * whole of it: f moves by -rate K (f - Y) while the kernel stays as it is. */
typedef struct scant_study_opts {
    /* Rows of the kernel a sample: of a full one its classes, row sample * classes + c
     * (1: the mean over classes, which stands for every class). */
    size_t outputs;
    const float *start; /* n x classes: what a network says before training (all 0) */
    double rate;        /* of descent (1 / largest) */
    double tolerance; /* eigenvalues up to this part of the largest count as 0 (1e-10) */
    /* How far the kernel's numbers may be off, as a part of its mean diagonal entry:
     * eigenvalues that n^2 such errors explain count as 0, too (0: they are exact). */
    double noise;
} scant_study_opts;

/* That of scant_net_kernel(), whose products are taken in float. */
#define SCANT_KERNEL_NOISE 5e-7

/* Numbers that need labels are NaN where there are none. */
typedef struct scant_study {
    size_t samples, outputs; /* a kernel of samples * outputs rows */
    size_t labelled;         /* samples that have a class: Tr(Y^T Y) */
    /* The spectrum. */
    size_t n_values;
    const double *values; /* eigenvalues, largest first; negative ones are rounding */
    double trace, largest, smallest;
    double positive;  /* the least above tolerance times the largest; 0: K is 0 */
    double tolerance; /* that, as it was used */
    size_t rank;      /* how many are above it */
    double condition; /* largest / smallest; infinite where rank is below n_values */
    double positive_condition; /* largest / positive */
    double dimension; /* trace^2 / |K|^2: directions that hold most of the trace */
    /* Labels. energy: of Y in the direction of each eigenvector, sum over classes of
     * (v_i . Y^k)^2; start_energy: of start - Y, where all samples have a class. NULL:
     * there is none. */
    const double *energy, *start_energy;
    double rest, start_rest; /* energy in no direction listed (sketches); else 0 */
    double alignment;        /* A = Tr(Y^T K Y) */
    double alignment_part;   /* A / (labelled largest): 0 to 1 */
    double jitter;           /* what is added to K's diagonal for B; 0: it is definite */
    double bound;            /* B = sqrt(2 Tr(Y^T (K + jitter I)^-1 Y) / n) */
    /* Theorem 2 of dynamicAL, of K + jitter I: (n/2) B^2 is between low and low times a
     * factor, the paper's or Kantorovich's, which is never more. */
    double half_square, low;
    double factor, sharp_factor;
    /* Descent. */
    double rate;
    double stable_rate;     /* 2 / largest: above it the loss grows */
    double mean_rate;       /* the same for the loss |f - Y|^2 / (n classes) */
    double sufficient_rate; /* positive / largest^2: of the theorems' kind */
    double contraction;     /* 1 - rate positive: what |f - Y| shrinks by at least, a
                             * step, in directions that count */
    /* Steps until E_t^2 is a tenth, a hundredth of |Y|^2, and L (from start) of L at the
     * start; infinite: never, as part of Y is where K is 0, or the rate is too high. */
    double tenth, hundredth, start_tenth, start_hundredth;
    double dynamics; /* G = Tr((start - Y)^T K (start - Y)): how fast L falls; NaN without
                      * start */
} scant_study;

enum { SCANT_STUDY_ROWS = 30000 }; /* of a kernel, at most */

/* k: samples * outputs squared, symmetric; read, not changed. labels: -1 is none; NULL:
 * there are none, and classes is of no matter. On SCANT_OK *out is new:
 * scant_study_free() ends it; else NULL. SCANT_EINPUT where k is not finite or a label
 * is none of classes. The same bits at any thread count. About 10 n^3 operations. */
SCANT_API scant_status scant_study_kernel(scant_ctx *ctx, const double *k, size_t samples,
                                          const int32_t *labels, size_t classes,
                                          const scant_study_opts *opts,
                                          scant_study **out);
SCANT_API void scant_study_free(scant_ctx *ctx, scant_study *study); /* NULL is fine */
/* Bytes that it takes at most, k itself not counted. classes 0: without labels. */
SCANT_API size_t scant_study_memory(size_t samples, size_t classes, size_t outputs);

/* E_t^2 = |f_t - Y|^2 after t steps from f = 0, and theorem 1's ends of it, which hold
 * for t >= 1 and rates up to 1 / largest. NaN without labels. */
typedef struct scant_descent {
    double left, low, high;
} scant_descent;
SCANT_API scant_descent scant_study_descent(const scant_study *study, double rate,
                                            double t);
/* L after t steps from start, as the kernel predicts it; NaN where start is not known. */
SCANT_API double scant_study_loss(const scant_study *study, double rate, double t);

/* How far apart two sets of rows of a kernel (n, n) are, as distributions: sqrt(max(0,
 * MMD^2)) by the unbiased statistic. Rows that are in both sets are not compared with
 * themselves; a set with itself is 0. Of sets of fewer than two rows it is not known:
 * NaN. */
SCANT_API scant_status scant_kernel_mmd(scant_ctx *ctx, const double *k, size_t n,
                                        const size_t *s0, size_t m, const size_t *s,
                                        size_t count, double *out);

/* Whether alignment stands for the speed of training: both for S and a random Q together,
 * many times. S is the first rows of the kernel, Q is drawn from the others. */
typedef struct scant_agreement_opts {
    size_t sets;  /* how many Q (150) */
    size_t start; /* rows of S (500) */
    size_t draw;  /* rows of each Q (250) */
    uint64_t seed;
} scant_agreement_opts;

typedef struct scant_agreement {
    size_t sets, start, draw;
    double tau; /* Kendall's tau-b of the two; NaN: one of them never changes */
    double p;   /* of tau, two-sided, by the normal approximation; NaN likewise */
    const double *dynamics, *alignment; /* sets each */
} scant_agreement;

/* k (n, n), with a label each; f: n x classes outputs. On SCANT_OK *out is new:
 * scant_agreement_free() ends it; else NULL. */
SCANT_API scant_status scant_kernel_agreement(scant_ctx *ctx, const double *k, size_t n,
                                              const int32_t *labels, size_t classes,
                                              const float *f,
                                              const scant_agreement_opts *opts,
                                              scant_agreement **out);
SCANT_API void scant_agreement_free(scant_ctx *ctx, scant_agreement *agreement);

/* A study of a network's kernel that is never formed: of the K x K matrix of sketched
 * gradients, which has the same eigenvalues where it is not 0, up to the sketch's error.
 * For samples by the ten thousand. */
typedef struct scant_sketch_opts {
    size_t numbers; /* of a sketch: K */
    int last_layer; /* as of scant_net_kernel() */
    int full;       /* likewise */
    uint64_t seed;  /* of the sketch */
    double rate;    /* as of a study */
    double tolerance;
} scant_sketch_opts;

/* How far inner products are off, in the Frobenius norm, as a part of the kernel's own.
 */
typedef struct scant_sketch_error {
    size_t samples;       /* spread evenly, whose kernel was computed exactly, too */
    double error, second; /* there: of the sketch, and of an independent one */
    double expected; /* sqrt(2 / K) Tr(K) / |K| there: above the mean square's root */
} scant_sketch_error;

/* rows NULL: all of data. What cannot be told of a kernel of rank K at most, where there
 * are more samples than that, is NaN: the bound B, and theorem 2. The start is what the
 * network says. K^2 numbers a row of the kernel are added up. */
SCANT_API scant_status scant_study_sketch(scant_net *net, const scant_data *data,
                                          const size_t *rows, size_t n,
                                          const int32_t *labels,
                                          const scant_sketch_opts *opts,
                                          scant_study **out, scant_sketch_error *error);
/* Bytes that it takes beside a pass of the network. */
SCANT_API size_t scant_study_sketch_memory(const scant_net *net, size_t n,
                                           const scant_sketch_opts *opts);

/* Gradient descent on L = 1/2 |f - Y|^2 over all samples at once, in evaluation mode (the
 * running statistics stay), without momentum: what a kernel's predictions are of. */
typedef struct scant_net_descent_opts {
    int last_layer; /* only that layer's parameters move */
    size_t steps;   /* (100) */
    double rate;    /* (1 / the largest eigenvalue of the full kernel, which is found by
                     * power iteration) */
} scant_net_descent_opts;

/* losses (steps + 1): L before the first step and after each. labels: one a sample. *rate
 * (may be NULL): what was used. net is left as it is after the last step; where L is no
 * longer finite, SCANT_EINPUT. */
SCANT_API scant_status scant_net_descend(scant_net *net, const scant_data *data,
                                         const size_t *rows, size_t n,
                                         const int32_t *labels,
                                         const scant_net_descent_opts *opts,
                                         double *losses, double *rate);

/* ---- kernels ----------------------------------------------------------------------- */

/* The tangent kernel of an infinitely wide network with `depth` layers of rectifiers (1
 * to 100), fully connected and without biases, in closed form (Arora et al., 2019),
 * between the rows of two arrays of features of the same width: out (n, m), the caller's.
 * b NULL: a itself, and out is symmetric to the bit. A row with itself has (depth + 1)
 * |x|^2. Right to some 1e-14 of (depth + 1) |x| |x'|; the same at any thread count. On
 * failure out is unspecified. */
SCANT_API scant_status scant_ntk_kernel(scant_ctx *ctx, const scant_array *a,
                                        const scant_array *b, size_t depth, double *out);

/* Bytes that it takes at most, beside what is the caller's, for rows of floats or doubles
 * of that width: a room for each thread, and a megabyte. */
SCANT_API size_t scant_ntk_memory(const scant_ctx *ctx, size_t width);

/* The depth of a kernel as people write it, "ntk:depth=K"; SCANT_EUSAGE where text is
 * none.
 */
SCANT_API scant_status scant_kernel_parse(scant_ctx *ctx, const char *text,
                                          size_t *depth);

/* Regression with a kernel: alpha (n, c) = (K + ridge I)^-1 Y for K (n, n), symmetric, of
 * which the lower triangle is read, and targets Y (n, c). Where that matrix is singular
 * to rounding (a row twice, and no ridge) 1.5e-8 of its largest diagonal number, or ten
 * times that, and so on, is added to its diagonal, too: *jitter (may be NULL) says what,
 * 0 if nothing was. With neither, predictions at the rows themselves are the targets.
 * targets may be alpha. Holds n^2 doubles meanwhile. On failure alpha is unspecified. */
SCANT_API scant_status scant_kernel_fit(scant_ctx *ctx, const double *kernel, size_t n,
                                        const double *targets, size_t c, double ridge,
                                        double *alpha, double *jitter);
/* out (m, c) = K alpha for K (m, n): new rows against those that alpha was fitted to. */
SCANT_API scant_status scant_kernel_predict(scant_ctx *ctx, const double *kernel,
                                            size_t m, size_t n, const double *alpha,
                                            size_t c, double *out);

/* What regression with a kernel is worth, on the samples it was fitted to and on others.
 */
typedef struct scant_regression {
    double ridge, jitter; /* added to the kernel's diagonal; jitter: as it was singular */
    double train_accuracy, train_error; /* mean square over samples and outputs */
    size_t tests;
    double test_accuracy, test_error; /* accuracies of numbers to predict are NaN */
} scant_regression;

/* What a page about a study shows; NULL and 0: not there. Borrowed. */
typedef struct scant_study_view {
    const char *title; /* what the kernel is of */
    const scant_study *study;
    const double *k; /* samples x samples, of one number a pair */
    const int32_t *labels;
    size_t classes;
    const scant_sketch_error *sketch;
    const scant_agreement *agreement;
    /* Descent: steps + 1 measured losses and predicted ones, its rate, the factor that a
     * step shrinks the loss by at most, by theorem; how far eigenvalues, and the kernel
     * (spectral norm), moved. */
    size_t steps;
    const double *losses, *predicted;
    double rate, factor, eigenvalues_moved, kernel_moved;
    size_t against; /* samples that mmd is to */
    double mmd;
    const scant_regression *regression;
} scant_study_view;

/* A page of HTML that needs nothing else: spectrum, kernel by classes, what is beside,
 * and the numbers with their meaning. Below a megabyte, whatever the size of the kernel.
 * *bytes is new: scant_bytes_free() ends it. */
SCANT_API scant_status scant_study_page(scant_ctx *ctx, const scant_study_view *view,
                                        void **bytes, size_t *size);

#ifdef __cplusplus
}
#endif

#endif
