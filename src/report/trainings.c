/* SPDX-License-Identifier: Apache-2.0
 *
 * Trainings that collapsed or have signs that they fail, from trainings.csv.
 * Cost: one pass over the points; 88 bytes for each training that is listed.
 */
#include "report/measures.h"

/* Whether there is something to say about the training of a point. */
static bool is_listed(const report_point *p) { return p->signs || p->trainings > 1; }

static void count_point(scant_trainings *t, const report_point *p) {
    t->count += p->trainings > 0;
    t->repeated += p->trainings > 1;
    t->collapsed += report_collapsed(p);
    t->n_listed += is_listed(p);
}

static scant_training training_of(const report_results *r, const report_point *p) {
    const report_run *run = &r->runs[p->run];
    return (scant_training){.strategy = r->strategies[run->strategy].name,
                            .seed = run->seed,
                            .round = p->round,
                            .labels = p->labels,
                            .value = report_value(r, p),
                            .trainings = p->trainings,
                            .signs = p->signs,
                            .dead = p->dead,
                            .gradient_norm = p->gradient_norm};
}

scant_status report_measure_trainings(report_results *r, scant_trainings *out) {
    *out = (scant_trainings){.regression = r->regression};
    for (size_t i = 0; i < r->n_points; i++) count_point(out, &r->points[i]);
    scant_training *list = TRY_NEW(&r->arena, scant_training, out->n_listed + 1);
    size_t first = 0, then = out->collapsed;
    for (size_t i = 0; i < r->n_points; i++) {
        const report_point *p = &r->points[i];
        if (is_listed(p))
            list[report_collapsed(p) ? first++ : then++] = training_of(r, p);
    }
    out->listed = list;
    return SCANT_OK;
}

size_t scant_trainings_count(const scant_trainings *t, uint64_t sign) {
    size_t n = 0;
    for (size_t i = 0; i < t->n_listed; i++) n += (t->listed[i].signs & sign) != 0;
    return n;
}

/* ---- public functions -------------------------------------------------------------- */

/* Trainings, and the results whose arena holds their list. */
typedef struct opened {
    scant_trainings shown; /* must be first: scant_trainings_free() casts it */
    report_results results;
} opened;

scant_status scant_trainings_read(scant_ctx *ctx, const char *const *dirs, size_t n,
                                  scant_trainings **out) {
    *out = NULL;
    NEED(ctx);
    if (!n) return scant__fail(ctx, SCANT_EUSAGE, "no folder of results is given");
    opened *o = scant__zalloc(ctx, 1, sizeof *o);
    if (!o) return SCANT_ENOMEM;
    scant_status status = report_trainings_open(ctx, dirs, n, &o->results);
    if (status == SCANT_OK) status = report_measure_trainings(&o->results, &o->shown);
    if (status == SCANT_OK)
        *out = &o->shown;
    else
        scant_trainings_free(ctx, &o->shown);
    return status;
}

void scant_trainings_free(scant_ctx *ctx, scant_trainings *shown) {
    opened *o = (opened *)shown;
    if (!o) return;
    report_results_close(&o->results);
    scant__free(ctx, o);
}
