/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant ntk`, where the kernel comes from: a network's gradients, or the closed form
 * over features. These are what goes into the last layer of the network that is named;
 * where none is, into that of a `linear` one: the samples as a network sees them.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ntk.h"
#include "scant/study.h"

/* ---- the closed form --------------------------------------------------------------- */

/* Numbers a sample that the closed form is over; 0: the kernel is another. */
static size_t width_of(const ntk_job *job) {
    return job->depth ? scant_net_features(job->reader) + job->args.bias : 0;
}

/* count samples' features, maybe with a 1 after each; *out is new: free(). */
static scant_status read_features(ntk_job *job, const scant_data *data,
                                  const size_t *rows, size_t count, float **out) {
    size_t own = scant_net_features(job->reader), width = width_of(job);
    float *features = *out = cli_calloc(count * width, sizeof *features);
    scant_status status = scant_net_predict(job->reader, data, rows, count,
                                            &(scant_outputs){.features = features});
    if (status != SCANT_OK || own == width) return status;
    for (size_t i = count; i-- > 0;) { /* from the end: rows move apart */
        memmove(features + i * width, features + i * own, own * sizeof *features);
        features[i * width + own] = 1;
    }
    return SCANT_OK;
}

/* Between n rows of a and m of b (NULL: a itself). */
static scant_status closed_form(ntk_job *job, const float *a, size_t n, const float *b,
                                size_t m, double *out) {
    scant_ctx *ctx = job->net.ctx;
    size_t width = width_of(job);
    const size_t shape[] = {n, width}, other[] = {m, width};
    scant_array *x, *y = NULL;
    scant_status status = scant_array_wrap(ctx, "features", a, SCANT_F32, 2, shape, &x);
    if (status == SCANT_OK && b)
        status = scant_array_wrap(ctx, "features", b, SCANT_F32, 2, other, &y);
    if (status == SCANT_OK) status = scant_ntk_kernel(ctx, x, y, job->depth, out);
    scant_array_free(x);
    scant_array_free(y);
    return status;
}

static scant_status closed_matrix(ntk_job *job, size_t count, double *out) {
    scant_status status = SCANT_OK;
    if (!job->features)
        status = read_features(job, job->data, job->rows, job->all, &job->features);
    return status == SCANT_OK ? closed_form(job, job->features, count, NULL, 0, out)
                              : status;
}

static scant_status closed_between(ntk_job *job, const scant_data *data,
                                   const size_t *rows, size_t count, double *out) {
    float *features;
    scant_status status = read_features(job, data, rows, count, &features);
    if (status == SCANT_OK)
        status = closed_form(job, features, count, job->features, job->n, out);
    free(features);
    return status;
}

/* ---- the matrix -------------------------------------------------------------------- */

int ntk_between(ntk_job *job, const scant_data *data, const size_t *rows, size_t count,
                double *out) {
    scant_status status =
        job->depth
            ? closed_between(job, data, rows, count, out)
            : scant_net_kernel(job->network, data, rows, count, job->data, job->rows,
                               job->n, job->last_layer, job->outputs > 1, out);
    return status == SCANT_OK ? CLI_DONE : net_failed(&job->net, status);
}

int ntk_matrix(ntk_job *job, size_t count, bool full, double *out) {
    scant_status status =
        job->depth
            ? closed_matrix(job, count, out)
            : scant_net_kernel(job->network, job->data, job->rows, count, job->data,
                               job->rows, count, job->last_layer, full, out);
    return status == SCANT_OK ? CLI_DONE : net_failed(&job->net, status);
}

/* ---- memory ------------------------------------------------------------------------ */

scant_sketch_opts ntk_sketch_opts(const ntk_job *job) {
    return (scant_sketch_opts){.numbers = job->args.sketch,
                               .last_layer = job->last_layer,
                               .full = job->args.full,
                               .seed = job->args.means.seed,
                               .rate = job->args.rate};
}

size_t ntk_block(const ntk_job *job, size_t n) {
    size_t rows = n > 64 ? n : 64; /* a block's kernel is no larger than that of the n */
    return rows < job->test.n ? rows : job->test.n;
}

static double bytes_of_rooms(const ntk_job *job) {
    return job->depth ? (double)scant_ntk_memory(job->net.ctx, width_of(job)) : 0;
}

/* Regression's own: solution, predictions, what is left of the study, and a block of
 * others with what the network says of them. The factor was let go before. */
static double bytes_to_fit(const ntk_job *job, size_t n) {
    double block = (double)ntk_block(job, n), outputs = (double)job->outputs;
    double side = (double)n * outputs, classes = (double)job->classes;
    return 16 * (double)n * classes + 64 * side + bytes_of_rooms(job) +
           block * (8 * outputs * side + 4 * (double)width_of(job) + 12 * classes);
}

/* Bytes for n samples and so many beside them; doubles, to be added up without end. */
static double bytes_for(const ntk_job *job, size_t n) {
    const ntk_args *a = &job->args;
    /* of other samples than the n all of --against may be others */
    size_t beside = n == job->n ? job->all - job->n : job->n_against;
    double side = (double)n * (double)job->outputs, all = (double)(n + beside);
    double matrices = side * side, f = (double)n * (double)job->classes * 4;
    if (a->sketch) {
        scant_sketch_opts o = ntk_sketch_opts(job);
        return (double)scant_study_sketch_memory(job->network, n, &o);
    }
    if (job->outputs > 1) matrices += (double)n * (double)n; /* its mean over outputs */
    if (beside) matrices += all * all;
    if (a->descend) matrices += side * side; /* the kernel in the end */
    double study =
        (double)scant_study_memory(n, job->labels ? job->classes : 0, job->outputs);
    double features = 4 * all * (double)width_of(job);
    /* one after the other; a fit's factor is no larger than what a study holds */
    double most = fmax(study, a->fit ? bytes_to_fit(job, n) : 0);
    return 8 * matrices + f + features + fmax(most, bytes_of_rooms(job));
}

/* What else can be done; not where something is asked for that needs the matrix. */
static const char *instead(const ntk_job *job) {
    const ntk_args *a = &job->args;
    bool needed = a->kernel_out || a->agreement || a->descend || a->against || a->fit;
    return job->depth || needed ? "" : ", or --sketch does without the matrix";
}

int ntk_check_memory(ntk_job *job) {
    double cap = (double)scant_ctx_memory(job->net.ctx), need = bytes_for(job, job->n);
    const double mega = 1 << 20;
    size_t most = SCANT_STUDY_ROWS / job->outputs;
    const char *all = job->outputs > 1 ? " and all their outputs" : "";
    if (!job->args.sketch && job->n > most) {
        cli_error("a kernel has %d rows at most, so %zu samples%s, and here are %zu: "
                  "--indices chooses some%s",
                  SCANT_STUDY_ROWS, most, all, job->n, instead(job));
        return CLI_SYSTEM;
    }
    if (need <= cap) return CLI_DONE;
    size_t low = 0, high = job->n; /* low fits, high does not */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (bytes_for(job, middle) <= cap)
            low = middle;
        else
            high = middle;
    }
    if (job->args.sketch)
        cli_error("a sketch of %zu numbers takes %.0f MB, and --memory allows %.0f: take "
                  "fewer numbers",
                  job->args.sketch, need / mega, cap / mega);
    else if (!low)
        cli_error("the kernel of one sample%s takes %.0f MB already, and --memory allows "
                  "%.0f: allow more%s",
                  all, bytes_for(job, 1) / mega, cap / mega,
                  job->depth ? ", or fewer --threads" : "");
    else
        cli_error("the kernel of %zu samples%s takes %.0f MB, and --memory allows %.0f: "
                  "%zu samples fit (--indices chooses them)%s",
                  job->n, all, need / mega, cap / mega, low, instead(job));
    return CLI_SYSTEM;
}

/* ---- the matrix as a file ---------------------------------------------------------- */

int ntk_write_kernel(ntk_job *job) {
    size_t side = job->n * job->outputs, shape[] = {side, side};
    scant_writer *writer;
    scant_status status = scant_writer_open(job->net.ctx, job->args.kernel_out, SCANT_F64,
                                            2, shape, &writer);
    if (status != SCANT_OK) return net_failed(&job->net, status);
    status = scant_writer_append(writer, job->k, side * side * sizeof *job->k);
    if (status == SCANT_OK) {
        status = scant_writer_finish(writer);
    } else {
        scant_writer_free(writer);
    }
    return status == SCANT_OK ? CLI_DONE : net_failed(&job->net, status);
}
