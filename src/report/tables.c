/* SPDX-License-Identifier: Apache-2.0
 *
 * The CSV files of a results folder. Numbers have all their digits and a point whatever
 * the locale is.
 */
#include <inttypes.h>

#include "report/measures.h"

void report_write_summary(report_text *out, const report_results *r,
                          const report_measures *m) {
    report_add(out, "strategy,labels,mean,std,runs\n");
    for (size_t s = 0; s < r->n_strategies; s++)
        for (size_t i = 0; i < m->curves[s].n; i++) {
            const report_level *level = &m->curves[s].levels[i];
            report_add_cell(out, r->strategies[s].name);
            report_addf(out, ",%" PRIu64 ",", level->labels);
            report_add_exact(out, level->mean);
            report_add(out, ",");
            report_add_exact(out, level->std);
            report_addf(out, ",%zu\n", level->runs);
        }
}

/* In percent, unless it is the error of numbers to predict. */
void report_write_auc(report_text *out, const report_results *r,
                      const report_measures *m) {
    double unit = r->regression ? 1 : 100;
    report_add(out, "strategy,mean,std,runs\n");
    for (size_t s = 0; s < r->n_strategies; s++) {
        report_add_cell(out, r->strategies[s].name);
        report_add(out, ",");
        report_add_exact(out, unit * m->areas[s].mean);
        report_add(out, ",");
        report_add_exact(out, unit * m->areas[s].std);
        report_addf(out, ",%zu\n", m->areas[s].n);
    }
}

void report_write_overlap(report_text *out, const report_results *r,
                          const report_measures *m) {
    report_add(out, "labels,strategy_a,strategy_b,iou\n");
    for (size_t i = 0; i < m->n_overlaps; i++) {
        const report_overlap *o = &m->overlaps[i];
        report_addf(out, "%" PRIu64 ",", o->labels);
        report_add_cell(out, r->strategies[o->a].name);
        report_add(out, ",");
        report_add_cell(out, r->strategies[o->b].name);
        report_add(out, ",");
        report_add_exact(out, o->iou);
        report_add(out, "\n");
    }
}

static void add_numbers(report_text *out, const double *numbers, size_t n) {
    for (size_t i = 0; i < n; i++) {
        report_add(out, ",");
        report_add_exact(out, numbers[i]);
    }
}

void report_write_curve(report_text *out, const report_results *r) {
    report_add(out, "strategy,seed,round,labels,accuracy,loss,train_seconds,"
                    "select_seconds");
    report_add(out, r->has_best ? ",best_accuracy" : "");
    report_add(out, r->regression ? ",error\n" : "\n");
    for (size_t i = 0; i < r->n_runs; i++)
        for (size_t k = 0; k < r->runs[i].n_points; k++) {
            const report_run *run = &r->runs[i];
            const report_point *p = &run->points[k];
            report_add_cell(out, r->strategies[run->strategy].name);
            report_addf(out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, run->seed, p->round,
                        p->labels);
            add_numbers(
                out,
                (double[]){p->accuracy, p->loss, p->train_seconds, p->select_seconds}, 4);
            if (r->has_best) add_numbers(out, &p->best, 1);
            if (r->regression) add_numbers(out, &p->error, 1);
            report_add(out, "\n");
        }
}

void report_write_picks(report_text *out, const report_results *r) {
    report_add(out, "strategy,seed,round,rank,index,weight,score,label\n");
    for (size_t i = 0; i < r->n_runs; i++)
        for (size_t k = 0; k < r->runs[i].n_picks; k++) {
            const report_run *run = &r->runs[i];
            const report_pick *p = &run->picks[k];
            report_add_cell(out, r->strategies[run->strategy].name);
            report_addf(out, ",%" PRIu64 ",%u,%u,%" PRIu64, run->seed, p->round, p->rank,
                        p->index);
            add_numbers(out, (double[]){p->weight, p->score, p->label}, 3);
            report_add(out, "\n");
        }
}
