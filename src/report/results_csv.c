/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the CSV files of a results folder. Numbers have all their digits, and a point in
 * any locale.
 */
#include <inttypes.h>
#include <math.h>

#include "report/measures.h"

void report_write_summary(scant__text *out, const report_results *r,
                          const report_measures *m) {
    scant__text_add(out, "strategy,labels,mean,std,runs\n");
    for (size_t s = 0; s < r->n_strategies; s++)
        for (size_t i = 0; i < m->curves[s].n; i++) {
            const report_level *level = &m->curves[s].levels[i];
            scant__text_csv(out, r->strategies[s].name);
            scant__text_addf(out, ",%" PRIu64 ",", level->labels);
            report_add_exact(out, level->mean);
            scant__text_add(out, ",");
            report_add_exact(out, level->std);
            scant__text_addf(out, ",%zu\n", level->runs);
        }
}

/* In percent; errors of regression as they are. */
void report_write_auc(scant__text *out, const report_results *r,
                      const report_measures *m) {
    double unit = r->regression ? 1 : 100;
    scant__text_add(out, "strategy,mean,std,runs\n");
    for (size_t s = 0; s < r->n_strategies; s++) {
        scant__text_csv(out, r->strategies[s].name);
        scant__text_add(out, ",");
        report_add_exact(out, unit * m->areas[s].mean);
        scant__text_add(out, ",");
        report_add_exact(out, unit * m->areas[s].std);
        scant__text_addf(out, ",%zu\n", m->areas[s].n);
    }
}

void report_write_overlap(scant__text *out, const report_results *r,
                          const report_measures *m) {
    scant__text_add(out, "labels,strategy_a,strategy_b,iou\n");
    for (size_t i = 0; i < m->n_overlaps; i++) {
        const report_overlap *o = &m->overlaps[i];
        scant__text_addf(out, "%" PRIu64 ",", o->labels);
        scant__text_csv(out, r->strategies[o->a].name);
        scant__text_add(out, ",");
        scant__text_csv(out, r->strategies[o->b].name);
        scant__text_add(out, ",");
        report_add_exact(out, o->iou);
        scant__text_add(out, "\n");
    }
}

static void add_numbers(scant__text *out, const double *numbers, size_t n) {
    for (size_t i = 0; i < n; i++) {
        scant__text_add(out, ",");
        report_add_exact(out, numbers[i]);
    }
}

void report_write_curve(scant__text *out, const report_results *r) {
    scant__text_add(out, "strategy,seed,round,labels,accuracy,loss,train_seconds,"
                         "select_seconds");
    scant__text_add(out, r->has_best ? ",best_accuracy" : "");
    scant__text_add(out, r->regression ? ",error\n" : "\n");
    for (size_t i = 0; i < r->n_runs; i++)
        for (size_t k = 0; k < r->runs[i].n_points; k++) {
            const report_run *run = &r->runs[i];
            const report_point *p = &run->points[k];
            scant__text_csv(out, r->strategies[run->strategy].name);
            scant__text_addf(out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, run->seed,
                             p->round, p->labels);
            add_numbers(
                out,
                (double[]){p->accuracy, p->loss, p->train_seconds, p->select_seconds}, 4);
            if (r->has_best) add_numbers(out, &p->best, 1);
            if (r->regression) add_numbers(out, &p->error, 1);
            scant__text_add(out, "\n");
        }
}

/* The columns that are read. */
void report_write_theory(scant__text *out, const report_results *r) {
    scant__text_add(out, "strategy,seed,round,labels,lambda,ratio,epochs\n");
    for (size_t i = 0; i < r->n_runs; i++)
        for (size_t k = 0; k < r->runs[i].n_points; k++) {
            const report_run *run = &r->runs[i];
            const report_point *p = &run->points[k];
            if (isnan(p->lambda) && isnan(p->ratio) && isnan(p->epochs)) continue;
            scant__text_csv(out, r->strategies[run->strategy].name);
            scant__text_addf(out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, run->seed,
                             p->round, p->labels);
            add_numbers(out, (double[]){p->lambda, p->ratio, p->epochs}, 3);
            scant__text_add(out, "\n");
        }
}

void report_write_picks(scant__text *out, const report_results *r) {
    scant__text_add(out, "strategy,seed,round,rank,index,weight,score,label\n");
    for (size_t i = 0; i < r->n_runs; i++)
        for (size_t k = 0; k < r->runs[i].n_picks; k++) {
            const report_run *run = &r->runs[i];
            const report_pick *p = &run->picks[k];
            scant__text_csv(out, r->strategies[run->strategy].name);
            scant__text_addf(out, ",%" PRIu64 ",%u,%u,%" PRIu64, run->seed, p->round,
                             p->rank, p->index);
            add_numbers(out, (double[]){p->weight, p->score, p->label}, 3);
            scant__text_add(out, "\n");
        }
}

void report_write_calibration(scant__text *out, const report_results *r) {
    static const char *const whens[REPORT_WHENS] = {"before", "after"};
    scant__text_add(out, "strategy,seed,round,when,temperature,bin,count,confidence,"
                         "accuracy\n");
    for (size_t i = 0; i < r->n_runs; i++)
        for (size_t k = 0; k < r->runs[i].n_bins; k++) {
            const report_run *run = &r->runs[i];
            const report_bin *b = &run->bins[k];
            scant__text_csv(out, r->strategies[run->strategy].name);
            scant__text_addf(out, ",%" PRIu64 ",%u,%s", run->seed, b->round,
                             whens[b->when]);
            add_numbers(out, &b->temperature, 1);
            scant__text_addf(out, ",%u,%.0f", b->bin + 1, b->count);
            add_numbers(out, (double[]){b->confidence, b->accuracy}, 2);
            scant__text_add(out, "\n");
        }
}
