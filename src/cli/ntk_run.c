/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant ntk`, what is computed: kernel, study, and the measurements beside it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ntk.h"
#include "scant/study.h"

static int failed(ntk_job *job, scant_status status) {
    return status == SCANT_OK ? CLI_DONE : net_failed(&job->net, status);
}

/* ---- the kernel -------------------------------------------------------------------- */

/* The mean over outputs of a full kernel. */
static double *reduce(const double *k, size_t n, size_t outputs) {
    double *out = cli_calloc(n * n, sizeof *out);
    size_t side = n * outputs;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = 0;
            for (size_t c = 0; c < outputs; c++)
                sum += k[(i * outputs + c) * side + j * outputs + c];
            out[i * n + j] = sum / (double)outputs;
        }
    return out;
}

/* The upper left corner of a matrix with more rows. */
static double *corner(const double *wide, size_t all, size_t n) {
    double *out = cli_calloc(n * n, sizeof *out);
    for (size_t i = 0; i < n; i++) memcpy(out + i * n, wide + i * all, n * sizeof *out);
    return out;
}

static int make_kernel(ntk_job *job) {
    size_t side = job->n * job->outputs;
    int status = CLI_DONE;
    if (job->all > job->n) {
        job->wide = cli_calloc(job->all * job->all, sizeof *job->wide);
        status = ntk_matrix(job, job->all, false, job->wide);
        if (status != CLI_DONE) return status;
        if (job->outputs == 1) job->k = corner(job->wide, job->all, job->n);
    }
    if (!job->k) {
        job->k = cli_calloc(side * side, sizeof *job->k);
        status = ntk_matrix(job, job->n, job->outputs > 1, job->k);
    }
    job->reduced = job->outputs > 1 ? reduce(job->k, job->n, job->outputs) : job->k;
    if (!job->wide) job->wide = job->reduced;
    return status;
}

/* What draws or members say on average is not what a network's own kernel is of. */
static int read_outputs(ntk_job *job) {
    if (!job->network || (!job->labels && !job->args.fit)) return CLI_DONE;
    if (!job->depth && scant_net_draws(job->network) > 1) return CLI_DONE;
    job->f = cli_calloc(job->n * job->classes, sizeof *job->f);
    return failed(job, scant_net_predict(job->network, job->data, job->rows, job->n,
                                         &(scant_outputs){.logits = job->f}));
}

static int study(ntk_job *job) {
    scant_study_opts opts = {.outputs = job->outputs,
                             .start = job->labels ? job->f : NULL,
                             .rate = job->args.rate,
                             .noise = job->depth ? 0 : SCANT_KERNEL_NOISE};
    return failed(job, scant_study_kernel(job->net.ctx, job->k, job->n, job->labels,
                                          job->classes, &opts, &job->study));
}

static int sketch(ntk_job *job) {
    scant_sketch_opts opts = ntk_sketch_opts(job);
    return failed(job, scant_study_sketch(job->network, job->data, job->rows, job->n,
                                          job->labels, &opts, &job->study, &job->sketch));
}

/* ---- measurements ------------------------------------------------------------------ */

static int compare_sets(ntk_job *job) {
    size_t *own = cli_calloc(job->n, sizeof *own);
    for (size_t i = 0; i < job->n; i++) own[i] = i;
    scant_status status = scant_kernel_mmd(job->net.ctx, job->wide, job->all, job->places,
                                           job->n_against, own, job->n, &job->mmd);
    free(own);
    return failed(job, status);
}

static int agree(ntk_job *job) {
    const ntk_args *a = &job->args;
    scant_agreement_opts opts = {
        .sets = a->agreement, .start = a->start, .draw = a->draw, .seed = a->means.seed};
    return failed(job,
                  scant_kernel_agreement(job->net.ctx, job->reduced, job->n, job->labels,
                                         job->classes, job->f, &opts, &job->agreed));
}

/* Eigenvalues of the kernel in the end beside those at the beginning, and the spectral
 * norm of the difference, which bounds how far any of them moved (Weyl). */
static int compare_kernels(ntk_job *job) {
    size_t side = job->n * job->outputs;
    scant_study_opts opts = {.outputs = job->outputs};
    scant_study *s = NULL;
    double *end = cli_calloc(side * side, sizeof *end);
    int status = ntk_matrix(job, job->n, job->outputs > 1, end);
    if (status == CLI_DONE)
        status = failed(
            job, scant_study_kernel(job->net.ctx, end, job->n, NULL, 0, &opts, &s));
    if (status == CLI_DONE) {
        for (size_t i = 0; i < side; i++)
            job->descent.moved =
                fmax(job->descent.moved, fabs(s->values[i] - job->study->values[i]));
        scant_study_free(job->net.ctx, s);
        s = NULL;
        for (size_t i = 0; i < side * side; i++) end[i] -= job->k[i];
        status = failed(
            job, scant_study_kernel(job->net.ctx, end, job->n, NULL, 0, &opts, &s));
    }
    if (status == CLI_DONE)
        job->descent.norm = fmax(fabs(s->values[0]), fabs(s->values[side - 1]));
    scant_study_free(job->net.ctx, s);
    free(end);
    return status;
}

/* Where the kernel is all there is to the outputs (full, or of the last layer, whose
 * outputs do not meet), its largest eigenvalue says which rate is stable. */
static int descend(ntk_job *job) {
    const ntk_args *a = &job->args;
    const scant_study *s = job->study;
    bool whole = job->outputs > 1 || job->last_layer || job->classes == 1;
    scant_net_descent_opts opts = {.last_layer = job->last_layer,
                                   .steps = a->descend,
                                   .rate = a->rate > 0               ? a->rate
                                           : whole && s->largest > 0 ? s->rate
                                                                     : 0};
    job->descent.losses = cli_calloc(a->descend + 1, sizeof *job->descent.losses);
    job->descent.predicted = cli_calloc(a->descend + 1, sizeof *job->descent.predicted);
    int status = failed(job, scant_net_descend(job->network, job->data, job->rows, job->n,
                                               job->labels, &opts, job->descent.losses,
                                               &job->descent.rate));
    if (status != CLI_DONE) return status;
    job->descent.least = s->rank == s->n_values ? s->smallest : 0;
    for (size_t t = 0; t <= a->descend; t++) {
        double shrink = 1 - job->descent.rate * job->descent.least;
        job->descent.predicted[t] = scant_study_loss(s, job->descent.rate, (double)t);
        if (t && job->descent.losses[t] > shrink * job->descent.losses[t - 1])
            job->descent.above++;
    }
    return compare_kernels(job);
}

int ntk_run(ntk_job *job) {
    const ntk_args *a = &job->args;
    double begun = cli_now();
    int status;
    if (a->sketch) {
        status = sketch(job);
        job->seconds = cli_now() - begun;
        return status;
    }
    status = make_kernel(job);
    job->seconds = cli_now() - begun;
    if (status == CLI_DONE) status = read_outputs(job);
    if (status == CLI_DONE) status = study(job);
    if (status == CLI_DONE && a->against) status = compare_sets(job);
    if (status == CLI_DONE && a->agreement) status = agree(job);
    if (status == CLI_DONE && a->fit) status = ntk_fit(job);
    if (status == CLI_DONE && a->descend) status = descend(job);
    return status;
}

void ntk_run_end(ntk_job *job) {
    if (job->wide != job->reduced) free(job->wide);
    if (job->reduced != job->k) free(job->reduced);
    free(job->k);
    free(job->f);
    free(job->features);
    free(job->descent.losses);
    free(job->descent.predicted);
    if (!job->net.ctx) return;
    scant_study_free(job->net.ctx, job->study);
    scant_agreement_free(job->net.ctx, job->agreed);
}
