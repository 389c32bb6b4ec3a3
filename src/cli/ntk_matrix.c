/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant ntk`, where the kernel comes from: a network's gradients. Another kernel would
 * be another branch of ntk_matrix() and nothing else.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/ntk.h"

int ntk_matrix(ntk_job *job, size_t count, bool full, double *out) {
    scant_status status =
        scant_net_kernel(job->network, job->data, job->rows, count, job->data, job->rows,
                         count, job->last_layer, full, out);
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

/* Bytes for n samples and so many beside them; doubles, to be added up without end. */
static double bytes_for(const ntk_job *job, size_t n) {
    const ntk_args *a = &job->args;
    double side = (double)n * (double)job->outputs, all = (double)(job->all - job->n + n);
    double matrices = side * side, f = (double)n * (double)job->classes * 4;
    if (a->sketch) {
        scant_sketch_opts o = ntk_sketch_opts(job);
        return (double)scant_study_sketch_memory(job->network, n, &o);
    }
    if (job->outputs > 1) matrices += (double)n * (double)n; /* its mean over outputs */
    if (job->all > job->n) matrices += all * all;
    if (a->descend) matrices += side * side; /* the kernel in the end */
    return 8 * matrices + f +
           (double)scant_study_memory(n, job->labels ? job->classes : 0, job->outputs);
}

int ntk_check_memory(ntk_job *job) {
    double cap = (double)scant_ctx_memory(job->net.ctx), need = bytes_for(job, job->n);
    const double mega = 1 << 20;
    size_t most = SCANT_STUDY_ROWS / job->outputs;
    if (!job->args.sketch && job->n > most) {
        cli_error("a kernel has %d rows at most, so %zu samples%s, and here are %zu: "
                  "--indices chooses some, and --sketch does without the matrix",
                  SCANT_STUDY_ROWS, most,
                  job->outputs > 1 ? " and all their outputs" : "", job->n);
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
    else
        cli_error("the kernel of %zu samples%s takes %.0f MB, and --memory allows %.0f: "
                  "%zu samples fit (--indices chooses them), or --sketch does without "
                  "the matrix",
                  job->n, job->outputs > 1 ? " and all their outputs" : "", need / mega,
                  cap / mega, low);
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
        status = scant_writer_close(writer);
    } else {
        scant_writer_abandon(writer);
    }
    return status == SCANT_OK ? CLI_DONE : net_failed(&job->net, status);
}
