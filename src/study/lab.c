/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel laboratory: the kernel of some samples, its study, and measurements with it.
 * A full kernel has a row for each sample and output. A kernel that is not full has a row
 * for each sample: the mean over outputs.
 *
 * Regression: if a network is trained to convergence by small steps and its kernel does
 * not change, its outputs become f(x) + K(x, X) K^-1 (Y - f(X)), where f are the outputs
 * before training (0 without a network); a ridge has the effect of stopping earlier. Test
 * samples are read in blocks.
 */
#include <math.h>
#include <string.h>

#include "core/blas.h"
#include "core/clock.h"
#include "core/size.h"
#include "data/array.h"
#include "study/study.h"

typedef struct lab {
    scant_lab out; /* must be first: scant_lab_free() casts it */
    scant_ctx *ctx;
    const scant_lab_opts *o;
    scant_study *study;
    scant__arena arena;   /* holds the results */
    scant__arena scratch; /* freed at the end of the run */
    size_t outputs;       /* rows of the kernel for each sample */
    double *kernel;       /* kernel of the n samples */
    double *wide;         /* (all, all): mean over outputs, for all samples */
    float *features;      /* all samples, for the closed form; NULL: not read yet */
    float *start;         /* n x classes: outputs of the network; NULL: none */
} lab;

/* ---- the kernel -------------------------------------------------------------------- */

static size_t outputs_of(const scant_lab_opts *o) { return o->full ? o->classes : 1; }

/* Returns the number of features of a sample for the closed form, or 0 if the kernel is
 * the network's own. */
static size_t width_of(const scant_lab_opts *o) {
    return o->depth ? scant_net_features(o->reader) + (o->bias != 0) : 0;
}

static scant_status read_features(lab *l, const scant_data *data, const size_t *rows,
                                  size_t count, float *out) {
    size_t own = scant_net_features(l->o->reader), width = width_of(l->o);
    TRY(scant_net_predict(l->o->reader, data, rows, count,
                          &(scant_outputs){.features = out}));
    if (own == width) return SCANT_OK;
    for (size_t i = count; i-- > 0;) { /* backwards, because rows become longer */
        memmove(out + i * width, out + i * own, own * sizeof *out);
        out[i * width + own] = 1;
    }
    return SCANT_OK;
}

/* Computes the closed form between n rows of a and m rows of b (NULL: a itself). */
static scant_status closed_form(lab *l, const float *a, size_t n, const float *b,
                                size_t m, double *out) {
    size_t width = width_of(l->o);
    const size_t shape[] = {n, width}, other[] = {m, width};
    AUTO(scant_array_auto) scant_array *x = NULL, *y = NULL;
    TRY(scant_array_wrap(l->ctx, "features", a, SCANT_F32, 2, shape, &x));
    if (b) TRY(scant_array_wrap(l->ctx, "features", b, SCANT_F32, 2, other, &y));
    return scant_ntk_kernel(l->ctx, x, y, l->o->depth, out);
}

/* Computes the kernel of the first count samples; it has count * outputs rows if full. */
static scant_status square(lab *l, size_t count, bool full, double *out) {
    const scant_lab_opts *o = l->o;
    if (!o->depth)
        return scant_net_kernel(o->net, o->data, o->rows, count, o->data, o->rows, count,
                                o->last_layer, full, out);
    if (!l->features) {
        l->features = TRY_NEW(&l->scratch, float, size_mul(o->all, width_of(o)));
        TRY(read_features(l, o->data, o->rows, o->all, l->features));
    }
    return closed_form(l, l->features, count, NULL, 0, out);
}

/* Computes the kernel between count test samples and the n samples. room: a buffer for
 * the test samples' features. */
static scant_status between(lab *l, const size_t *rows, size_t count, float *room,
                            double *out) {
    const scant_lab_opts *o = l->o;
    if (!o->depth)
        return scant_net_kernel(o->net, o->test, rows, count, o->data, o->rows, o->n,
                                o->last_layer, l->outputs > 1, out);
    TRY(read_features(l, o->test, rows, count, room));
    return closed_form(l, room, count, l->features, o->n, out);
}

/* Computes the mean over outputs of a full kernel. */
static void reduce(const double *k, size_t n, size_t outputs, double *out) {
    size_t side = n * outputs;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = 0;
            for (size_t c = 0; c < outputs; c++)
                sum += k[(i * outputs + c) * side + j * outputs + c];
            out[i * n + j] = sum / (double)outputs;
        }
}

static scant_status make_kernel(lab *l) {
    const scant_lab_opts *o = l->o;
    size_t n = o->n, side = n * l->outputs;
    double *reduced = l->kernel = TRY_NEW(&l->arena, double, size_mul(side, side));
    if (o->all > n) {
        l->wide = TRY_NEW(&l->scratch, double, size_mul(o->all, o->all));
        TRY(square(l, o->all, false, l->wide));
    }
    for (size_t i = 0; l->wide && l->outputs == 1 && i < n; i++)
        memcpy(l->kernel + i * n, l->wide + i * o->all, n * sizeof *l->kernel);
    if (!l->wide || l->outputs > 1) TRY(square(l, n, l->outputs > 1, l->kernel));
    if (l->outputs > 1) {
        reduced = TRY_NEW(&l->arena, double, size_mul(n, n));
        reduce(l->kernel, n, l->outputs, reduced);
    }
    if (!l->wide) l->wide = reduced;
    l->out.kernel = l->kernel;
    l->out.k = reduced;
    return SCANT_OK;
}

/* Sets start to the network's outputs, unless the kernel is the network's own and there
 * are several posterior draws: then the kernel does not describe the averaged outputs. */
static scant_status read_outputs(lab *l) {
    const scant_lab_opts *o = l->o;
    if (!o->net || (!o->labels && !o->fit)) return SCANT_OK;
    if (!o->depth && scant_net_draws(o->net) > 1) return SCANT_OK;
    l->start = TRY_NEW(&l->scratch, float, size_mul(o->n, o->classes));
    return scant_net_predict(o->net, o->data, o->rows, o->n,
                             &(scant_outputs){.logits = l->start});
}

/* ---- measurements ------------------------------------------------------------------ */

static scant_status compare_sets(lab *l) {
    const scant_lab_opts *o = l->o;
    size_t *own = TRY_NEW(&l->scratch, size_t, o->n);
    for (size_t i = 0; i < o->n; i++) own[i] = i;
    return study_kernel_mmd(l->ctx, l->wide, o->all, o->against, o->n_against, own, o->n,
                            &l->out.mmd);
}

static scant_status agree(lab *l) {
    scant_agreement *agreement = TRY_NEW(&l->arena, scant_agreement, 1);
    l->out.agreement = agreement;
    return study_kernel_agreement(&l->arena, l->out.k, l->start, l->o, agreement);
}

/* Measures the largest change of an eigenvalue during descent, and the spectral norm of
 * the kernel's change, which bounds it (Weyl). */
static scant_status compare_kernels(lab *l) {
    size_t side = l->o->n * l->outputs;
    scant_study_opts opts = {.outputs = l->outputs};
    AUTO(study_end) scant_study *after = NULL, *change = NULL;
    double *end = TRY_NEW(&l->scratch, double, size_mul(side, side)), moved = 0;
    TRY(square(l, l->o->n, l->outputs > 1, end));
    TRY(scant_study_kernel(l->ctx, end, l->o->n, NULL, 0, &opts, &after));
    for (size_t i = 0; i < side; i++)
        moved = fmax(moved, fabs(after->values[i] - l->study->values[i]));
    for (size_t i = 0; i < side * side; i++) end[i] -= l->kernel[i];
    TRY(scant_study_kernel(l->ctx, end, l->o->n, NULL, 0, &opts, &change));
    l->out.eigenvalues_moved = moved;
    l->out.kernel_moved = fmax(fabs(change->values[0]), fabs(change->values[side - 1]));
    return SCANT_OK;
}

static scant_status compare_infinite(lab *l) {
    scant_infinite *infinite = TRY_NEW(&l->arena, scant_infinite, 1);
    l->out.infinite = infinite;
    return study_infinite(l->o, infinite);
}

/* If no rate is given, it is 1 / largest eigenvalue, provided that the kernel describes
 * all outputs: it is full, or that of the last layer (whose outputs are independent), or
 * there is only one output. For other kernels study_net_descend() computes the rate. */
static scant_status descend(lab *l) {
    const scant_lab_opts *o = l->o;
    const scant_study *s = l->study;
    bool whole = l->outputs > 1 || o->last_layer || o->classes == 1;
    scant_lab *out = &l->out;
    double *losses = TRY_NEW(&l->arena, double, o->steps + 1);
    double *predicted = TRY_NEW(&l->arena, double, o->steps + 1);
    out->rate = o->rate;
    if (!(o->rate > 0) && whole && s->largest > 0) out->rate = s->rate;
    TRY(study_net_descend(o, losses, &out->rate));
    out->smallest = s->rank == s->n_values ? s->smallest : 0;
    out->factor = 1 - out->rate * out->smallest;
    for (size_t t = 0; t <= o->steps; t++) {
        predicted[t] = scant_study_loss(s, out->rate, (double)t);
        out->steps_above += t && losses[t] > out->factor * losses[t - 1];
    }
    out->steps = o->steps;
    out->losses = losses;
    out->predicted = predicted;
    return compare_kernels(l);
}

/* ---- regression -------------------------------------------------------------------- */

typedef struct tally {
    double squares;
    size_t right, samples;
} tally;

/* Returns the target of output c: the number to predict, or 1 for the sample's class. */
static double target(const scant_data *data, size_t row, size_t c) {
    const float *numbers = scant_data_targets(data);
    return numbers ? (double)numbers[row] : scant_data_labels(data)[row] == (int32_t)c;
}

/* Adds the errors to t. If several outputs are largest, the first one is the predicted
 * class. */
static void count_errors(const scant_data *data, const size_t *rows, size_t count,
                         const double *outputs, size_t classes, tally *t) {
    for (size_t i = 0; i < count; i++, outputs += classes) {
        size_t best = 0;
        for (size_t c = 0; c < classes; c++) {
            double off = outputs[c] - target(data, rows[i], c);
            t->squares += off * off;
            if (outputs[c] > outputs[best]) best = c;
        }
        t->right += target(data, rows[i], best) > 0;
    }
    t->samples += count;
}

static void finish(const lab *l, const tally *t, double *accuracy, double *error) {
    double samples = (double)t->samples;
    *error = t->squares / samples / (double)l->o->classes;
    *accuracy = scant_data_targets(l->o->data) ? (double)NAN : (double)t->right / samples;
}

/* out (count, classes) = start + k alpha; k: the kernel between count samples
 * and the n samples. */
static scant_status predict(lab *l, const double *k, size_t count, const double *alpha,
                            const float *start, double *out) {
    size_t classes = l->o->classes;
    TRY(scant_kernel_predict(l->ctx, k, count * l->outputs, l->o->n * l->outputs, alpha,
                             classes / l->outputs, out));
    for (size_t i = 0; start && i < count * classes; i++) out[i] += (double)start[i];
    return SCANT_OK;
}

/* Returns the minimum number to add to the diagonal. A network's kernel has float
 * precision, and without this number a fit would amplify rounding errors. */
static double noise_of(const lab *l) {
    const scant_study *s = l->study;
    return !l->o->depth && s->rank < s->n_values ? s->tolerance * s->largest : 0;
}

static scant_status solve(lab *l, double *alpha, double *jitter) {
    const scant_lab_opts *o = l->o;
    size_t classes = o->classes;
    double noise = fmax(0, noise_of(l) - o->ridge);
    for (size_t i = 0; i < o->n; i++)
        for (size_t c = 0; c < classes; c++)
            alpha[i * classes + c] = target(o->data, o->rows[i], c) -
                                     (l->start ? (double)l->start[i * classes + c] : 0);
    TRY(scant_kernel_fit(l->ctx, l->kernel, o->n * l->outputs, alpha,
                         classes / l->outputs, o->ridge + noise, alpha, jitter));
    *jitter += noise;
    return SCANT_OK;
}

/* Returns the maximum number of test samples in a block: n, so that the block's kernel is
 * no larger than that of the n samples, but at least 64. */
static size_t block_of(const scant_lab_opts *o, size_t n) {
    return size_min(size_max(n, 64), o->n_test);
}

static scant_status test(lab *l, const double *alpha, double *out, tally *t) {
    const scant_lab_opts *o = l->o;
    size_t most = block_of(o, o->n), cells = size_mul(l->outputs, l->outputs);
    double *k = TRY_NEW(&l->scratch, double, size_mul(size_mul(most, o->n), cells));
    float *f = TRY_NEW(&l->scratch, float, size_mul(most, o->classes));
    float *room = TRY_NEW(&l->scratch, float, size_mul(most, width_of(o) + 1));
    for (size_t at = 0; at < o->n_test; at += most) {
        const size_t *rows = o->test_rows + at;
        size_t count = size_min(o->n_test - at, most);
        TRY(between(l, rows, count, room, k));
        if (o->net)
            TRY(scant_net_predict(o->net, o->test, rows, count,
                                  &(scant_outputs){.logits = f}));
        TRY(predict(l, k, count, alpha, o->net ? f : NULL, out));
        count_errors(o->test, rows, count, out, o->classes, t);
    }
    return SCANT_OK;
}

static scant_status fit(lab *l) {
    const scant_lab_opts *o = l->o;
    scant_regression *r = TRY_ZERO(&l->arena, scant_regression, 1);
    size_t most = size_max(o->n, block_of(o, o->n));
    double *alpha = TRY_NEW(&l->scratch, double, size_mul(o->n, o->classes));
    double *out = TRY_NEW(&l->scratch, double, size_mul(most, o->classes));
    tally own = {0}, others = {0};
    r->ridge = o->ridge;
    r->tests = o->n_test;
    TRY(solve(l, alpha, &r->jitter));
    TRY(predict(l, l->kernel, o->n, alpha, l->start, out));
    count_errors(o->data, o->rows, o->n, out, o->classes, &own);
    finish(l, &own, &r->train_accuracy, &r->train_error);
    TRY(test(l, alpha, out, &others));
    finish(l, &others, &r->test_accuracy, &r->test_error);
    l->out.regression = r;
    return SCANT_OK;
}

/* ---- running ----------------------------------------------------------------------- */

static scant_status sketch(lab *l) {
    scant_sketch_error *error = TRY_ZERO(&l->arena, scant_sketch_error, 1);
    l->out.sketch = error;
    return study_sketch(l->o, &l->study, error);
}

static scant_status measure(lab *l) {
    const scant_lab_opts *o = l->o;
    double begun = scant__now();
    scant_study_opts opts = {.outputs = l->outputs,
                             .rate = o->rate,
                             .noise = o->depth ? 0 : SCANT_KERNEL_NOISE};
    TRY(o->sketch ? sketch(l) : make_kernel(l));
    l->out.seconds = scant__now() - begun;
    if (o->sketch) return SCANT_OK;
    TRY(read_outputs(l));
    if (o->labels) opts.start = l->start;
    TRY(scant_study_kernel(l->ctx, l->kernel, o->n, o->labels, o->classes, &opts,
                           &l->study));
    if (o->n_against) TRY(compare_sets(l));
    if (o->sets) TRY(agree(l));
    if (o->infinite) TRY(compare_infinite(l));
    if (o->fit) TRY(fit(l));
    return o->steps ? descend(l) : SCANT_OK;
}

scant_status scant_lab_run(scant_ctx *ctx, const scant_lab_opts *opts, scant_lab **out) {
    *out = NULL;
    NEED(ctx);
    if (!opts || (!opts->net && !opts->depth))
        return scant__fail(ctx, SCANT_EUSAGE,
                           "opts->net is missing: the network whose kernel is measured");
    if (!opts->data || !opts->rows)
        return scant__fail(
            ctx, SCANT_EUSAGE,
            "opts->data or opts->rows is missing: the samples of a kernel");
    lab *l = scant__zalloc(ctx, 1, sizeof *l);
    if (!l) return SCANT_ENOMEM;
    *l = (lab){.out = {.labels = opts->labels,
                       .classes = opts->classes,
                       .against = opts->n_against},
               .ctx = ctx,
               .o = opts,
               .arena = {.ctx = ctx},
               .scratch = {.ctx = ctx},
               .outputs = outputs_of(opts)};
    scant_status status = scant__blas_begin_planned(ctx);
    if (status == SCANT_OK) status = measure(l);
    scant__arena_end(&l->scratch);
    l->out.study = l->study;
    if (status == SCANT_OK)
        *out = &l->out;
    else
        scant_lab_free(ctx, &l->out);
    return status;
}

void scant_lab_free(scant_ctx *ctx, scant_lab *result) {
    lab *l = (lab *)(void *)result;
    if (!l) return;
    scant_study_free(ctx, l->study);
    scant__arena_end(&l->arena);
    scant__free(ctx, l);
}

/* ---- memory ------------------------------------------------------------------------ */

/* Memory of a regression: solution, predictions, the study's lists, and a block of test
 * samples with the network's outputs. The factor of scant_kernel_fit() is not included:
 * it is freed before. */
static double bytes_to_fit(const scant_lab_opts *o, size_t n, double rooms) {
    double block = (double)block_of(o, n), outputs = (double)outputs_of(o);
    double side = (double)n * outputs, classes = (double)o->classes;
    double most = fmax((double)n, block);
    return 8 * ((double)n + most) * classes + 64 * side + rooms +
           block * (8 * outputs * side + 4 * (double)width_of(o) + 4 + 4 * classes);
}

double scant_lab_memory(const scant_ctx *ctx, const scant_lab_opts *o, size_t n) {
    enum { READER = 128 << 10 }; /* buffers that a network keeps after reading samples */
    /* if n is not o->n, all samples of `against` may be additional ones */
    size_t beside = n == o->n ? o->all - o->n : o->n_against, outputs = outputs_of(o);
    double side = (double)n * (double)outputs, all = (double)(n + beside);
    double matrices = side * side, start = (double)n * (double)o->classes * 4;
    double blas = (double)scant__blas_memory(ctx);
    if (o->sketch) return (double)study_sketch_memory(o, n) + blas;
    if (outputs > 1) matrices += (double)n * (double)n; /* the mean over outputs */
    if (beside) matrices += all * all;
    if (o->steps) matrices += side * side; /* the kernel after descent */
    double study = (double)scant_study_memory(n, o->labels ? o->classes : 0, outputs);
    double rooms = o->depth ? (double)scant_ntk_memory(ctx, width_of(o)) : 0;
    double features = 4 * all * (double)width_of(o);
    /* never in memory together; a fit's factor is below a study */
    double most = fmax(study, o->fit ? bytes_to_fit(o, n, rooms) : 0);
    if (o->infinite) most = fmax(most, study_infinite_memory(o, n));
    return (double)ctx->used + blas + READER + 8 * matrices + start + features +
           fmax(most, rooms);
}
