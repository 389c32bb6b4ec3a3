/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant ntk --fit`: regression with the kernel, and how well it predicts other samples.
 *
 * Of a network that is trained to the end by small steps while its kernel stays, outputs
 * become f(x) + K(x, X) K^-1 (Y - f(X)), f being what it says before; a ridge stops that
 * short. Where no network is named f is 0. A full kernel has a row for each output, so
 * that outputs are fitted as one column; else each has its own.
 *
 * Samples to judge by are looked at in blocks, whose kernel is what memory goes to.
 */
#include <math.h>
#include <stdlib.h>

#include "cli/ntk.h"
#include "scant/study.h"

typedef struct tally {
    double squares;
    size_t right, samples;
} tally;

/* What output c is to be: a number to predict, or whether the sample is of the class. */
static double target(const scant_data *data, size_t row, size_t c) {
    const float *numbers = scant_data_targets(data);
    return numbers ? (double)numbers[row] : scant_data_labels(data)[row] == (int32_t)c;
}

/* Of equal outputs the first counts. */
static void judge(const ntk_job *job, const scant_data *data, const size_t *rows,
                  size_t count, const double *said, tally *t) {
    size_t classes = job->classes;
    for (size_t i = 0; i < count; i++, said += classes) {
        size_t best = 0;
        for (size_t c = 0; c < classes; c++) {
            double off = said[c] - target(data, rows[i], c);
            t->squares += off * off;
            if (said[c] > said[best]) best = c;
        }
        t->right += target(data, rows[i], best) > 0;
    }
    t->samples += count;
}

static double error_of(const ntk_job *job, const tally *t) {
    return t->squares / (double)t->samples / (double)job->classes;
}

static double accuracy_of(const ntk_job *job, const tally *t) {
    return scant_data_targets(job->data) ? (double)NAN
                                         : (double)t->right / (double)t->samples;
}

/* said (count, classes): the kernel of count samples with the n, times alpha, and f. */
static int predict(ntk_job *job, const double *k, size_t count, const double *alpha,
                   const float *f, double *said) {
    scant_status status =
        scant_kernel_predict(job->net.ctx, k, count * job->outputs, job->n * job->outputs,
                             alpha, job->classes / job->outputs, said);
    if (status != SCANT_OK) return net_failed(&job->net, status);
    for (size_t i = 0; f && i < count * job->classes; i++) said[i] += (double)f[i];
    return CLI_DONE;
}

/* A network's kernel is known in float precision. Where its least eigenvalues are no more
 * than noise, so much is added to all of them: a fit would make the most of noise. */
static double noise_of(const ntk_job *job) {
    const scant_study *s = job->study;
    return !job->depth && s->rank < s->n_values ? s->tolerance * s->largest : 0;
}

static int fit(ntk_job *job, double *alpha) {
    size_t classes = job->classes;
    double ridge = job->args.ridge, noise = fmax(0, noise_of(job) - ridge);
    for (size_t i = 0; i < job->n; i++)
        for (size_t c = 0; c < classes; c++)
            alpha[i * classes + c] = target(job->data, job->rows[i], c) -
                                     (job->f ? (double)job->f[i * classes + c] : 0);
    scant_status status = scant_kernel_fit(job->net.ctx, job->k, job->n * job->outputs,
                                           alpha, classes / job->outputs, ridge + noise,
                                           alpha, &job->fitted.jitter);
    job->fitted.jitter += noise;
    return status == SCANT_OK ? CLI_DONE : net_failed(&job->net, status);
}

static int judge_train(ntk_job *job, const double *alpha) {
    double *said = cli_calloc(job->n * job->classes, sizeof *said);
    tally t = {0};
    int status = predict(job, job->k, job->n, alpha, job->f, said);
    if (status == CLI_DONE) judge(job, job->data, job->rows, job->n, said, &t);
    job->fitted.train_accuracy = accuracy_of(job, &t);
    job->fitted.train_error = error_of(job, &t);
    free(said);
    return status;
}

static int judge_test(ntk_job *job, const double *alpha) {
    const net_test *test = &job->test;
    size_t most = ntk_block(job, job->n), outputs = job->outputs;
    double *k = cli_calloc(most * outputs * job->n * outputs, sizeof *k);
    double *said = cli_calloc(most * job->classes, sizeof *said);
    float *f = job->network ? cli_calloc(most * job->classes, sizeof *f) : NULL;
    tally t = {0};
    int status = CLI_DONE;
    for (size_t at = 0; at < test->n && status == CLI_DONE; at += most) {
        const size_t *rows = test->rows + at;
        size_t count = test->n - at < most ? test->n - at : most;
        status = ntk_between(job, test->data, rows, count, k);
        if (status == CLI_DONE && f) {
            scant_status read = scant_net_predict(job->network, test->data, rows, count,
                                                  &(scant_outputs){.logits = f});
            if (read != SCANT_OK) status = net_failed(&job->net, read);
        }
        if (status == CLI_DONE) status = predict(job, k, count, alpha, f, said);
        if (status == CLI_DONE) judge(job, test->data, rows, count, said, &t);
    }
    job->fitted.tests = test->n;
    job->fitted.test_accuracy = accuracy_of(job, &t);
    job->fitted.test_error = error_of(job, &t);
    free(k);
    free(said);
    free(f);
    return status;
}

int ntk_fit(ntk_job *job) {
    double *alpha = cli_calloc(job->n * job->classes, sizeof *alpha);
    job->fitted.ridge = job->args.ridge;
    int status = fit(job, alpha);
    if (status == CLI_DONE) status = judge_train(job, alpha);
    if (status == CLI_DONE) status = judge_test(job, alpha);
    free(alpha);
    return status;
}
