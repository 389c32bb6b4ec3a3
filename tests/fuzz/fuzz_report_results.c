/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as curve.csv, picks.csv, calibration.csv, theory.csv and trainings.csv,
 * separated by form feeds; results that parse are measured, compared, drawn and written,
 * and the written files parse.
 */
#include "fuzz_data_memfile.h"

#include <math.h>
#include <string.h>

#include "report/page.h"
#include "report/results.h"
#include "scant/train.h"

static void check_measures(const report_results *r, const report_measures *m) {
    for (size_t s = 0; s < r->n_strategies; s++) {
        if (!r->strategies[s].n_runs || !m->curves[s].n) abort();
        for (size_t i = 0; i < m->curves[s].n; i++)
            if (isnan(m->curves[s].levels[i].mean) || !m->curves[s].levels[i].runs)
                abort();
    }
    for (size_t i = 0; i < m->n_overlaps; i++)
        if (!(m->overlaps[i].iou >= 0 && m->overlaps[i].iou <= 1)) abort();
    for (size_t s = 0; s < r->n_strategies; s++)
        for (size_t w = 0; w < REPORT_WHENS; w++) {
            const report_spread *error = &m->reliability[s].error[w];
            if (error->n && !(error->mean >= 0 && error->mean <= 1 && error->std >= 0))
                abort();
        }
}

/* Trainings that collapsed come first, and only these; all that are listed have signs or
 * were repeated. */
static void check_trainings(const scant_trainings *t) {
    if (t->collapsed > t->n_listed || t->n_listed > t->count || t->repeated > t->n_listed)
        abort();
    if (scant_trainings_count(t, SCANT_SIGNS_COLLAPSED) != t->collapsed) abort();
    for (size_t i = 0; i < t->n_listed; i++) {
        const scant_training *one = &t->listed[i];
        if (((one->signs & SCANT_SIGNS_COLLAPSED) != 0) != (i < t->collapsed)) abort();
        if (!one->trainings || (!one->signs && one->trainings < 2)) abort();
        if (one->dead < 0 || one->dead > 1) abort();
    }
}

static void draw(report_results *r, const report_measures *m) {
    scant_ctx *ctx = r->arena.ctx;
    scant_pair *pairs = NULL;
    size_t n = 0, random = report_strategy_find(r, "random");
    if (r->n_runs > 64) return; /* slow to draw */
    if (random < r->n_strategies && report_compare(r, m, random, &pairs, &n) != SCANT_OK)
        return;
    report_view view = {r, m, random, pairs, n};
    scant__text text;
    scant__text_init(&text, ctx);
    static const chart_form forms[] = {CHART_WIDE, CHART_NARROW, CHART_FILE};
    for (size_t i = 0; i < 3; i++) {
        chart_form form = forms[i];
        if (report_has_curves(&view)) {
            report_chart_curves(&text, &view, form);
            report_chart_areas(&text, &view, form);
            report_chart_time(&text, &view, form);
        }
        if (report_has_differences(&view)) report_chart_differences(&text, &view, form);
        if (report_has_efficiency(&view)) report_chart_efficiency(&text, &view, form);
        if (report_has_overlap(&view)) report_chart_overlap(&text, &view, form);
        if (report_has_balance(&view)) report_chart_balance(&text, &view, form);
        if (report_has_calibration(&view)) report_chart_calibration(&text, &view, form);
        if (report_has_theory(&view)) report_chart_theory(&text, &view, form);
    }
    page_table_trainings(&text, &view);
    scant__text_end(&text);
}

/* The points with the same health after training; NaN is equal to NaN. */
static bool same_trainings(const report_results *a, const report_results *b) {
    for (size_t i = 0; i < a->n_points; i++) {
        const report_point *p = &a->points[i], *q = &b->points[i];
        if (p->trainings != q->trainings || p->signs != q->signs) return false;
        if (p->dead != q->dead && !(isnan(p->dead) && isnan(q->dead))) return false;
    }
    return true;
}

/* Written and parsed again, as many strategies, runs, points, picks and bins remain, and
 * the same trainings. */
static void read_back(report_results *r) {
    scant_ctx *ctx = r->arena.ctx;
    scant__text text[REPORT_FILES];
    report_bytes bytes[REPORT_FILES];
    report_results again;
    bool failed = false;
    for (report_file i = 0; i < REPORT_FILES; i++) {
        scant__text_init(&text[i], ctx);
        report_write_file(&text[i], r, i);
        bytes[i] = (report_bytes){text[i].data, text[i].size};
        failed = failed || text[i].failed;
    }
    if (!failed) {
        scant_status status = report_results_parse(ctx, bytes, &again);
        if (status == SCANT_OK) {
            if (again.n_strategies != r->n_strategies || again.n_runs != r->n_runs ||
                again.n_points != r->n_points || again.n_picks != r->n_picks ||
                again.n_bins != r->n_bins || !same_trainings(r, &again))
                abort();
            report_results_close(&again);
        } else if (status != SCANT_ENOMEM) {
            abort();
        }
    }
    for (size_t i = 0; i < REPORT_FILES; i++) scant__text_end(&text[i]);
}

/* Cuts off the next file: up to a form feed or the end; NULL: none left. */
static const uint8_t *next_file(const uint8_t **data, size_t *left, size_t *size) {
    const uint8_t *file = *data;
    const uint8_t *cut = *left ? memchr(file, '\f', *left) : NULL;
    *size = cut ? (size_t)(cut - file) : *left;
    *data = cut ? cut + 1 : NULL;
    *left = cut ? *left - *size - 1 : 0;
    return file;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    scant_ctx *ctx = fuzz_ctx();
    report_results r;
    report_measures m;
    report_bytes files[REPORT_FILES] = {0};
    for (size_t i = 0; i < REPORT_FILES; i++)
        files[i].bytes = next_file(&data, &size, &files[i].size);
    scant_status status = report_results_parse(ctx, files, &r);
    if (status == SCANT_OK) {
        if (report_measure(&r, &m) == SCANT_OK) {
            check_measures(&r, &m);
            check_trainings(&m.trainings);
            draw(&r, &m);
        }
        read_back(&r);
        report_results_close(&r);
    } else {
        check_failure(ctx, status, NULL);
    }
    if (ctx->used) abort();
    scant_ctx_free(ctx);
    return 0;
}
