/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the files that are computed from curve.csv, picks.csv, calibration.csv,
 * theory.csv and trainings.csv. Each is written atomically, the page last.
 *
 * If the output folder is not an input folder, it also gets the merged curve.csv,
 * picks.csv, theory.csv, trainings.csv and (except for regression) calibration.csv, and
 * sources.txt, which marks it as merged: results of an experiment are never overwritten.
 * Charts of an earlier report that no longer apply are removed.
 */
#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "data/file.h"
#include "report/page.h"
#include "report/results_int.h"

typedef struct reporting {
    scant_ctx *ctx;
    report_results results;
    report_measures measures;
    report_view view;
    const char *out;
    bool elsewhere; /* out is not one of the folders that are read */
} reporting;

/* ---- output folder ----------------------------------------------------------------- */

static scant_status choose_folder(reporting *w, const char *const *dirs, size_t n,
                                  const char *out) {
    if (!n) return scant__fail(w->ctx, SCANT_EUSAGE, "no folder of results is given");
    if (!out && n > 1)
        return scant__fail(w->ctx, SCANT_EUSAGE,
                           "several folders are merged into another one, which must be "
                           "given");
    w->out = out ? out : dirs[0];
    w->elsewhere = true;
    for (size_t i = 0; i < n; i++)
        if (scant__same_file(dirs[i], w->out)) w->elsewhere = false;
    if (!w->elsewhere && n > 1)
        return scant__fail(w->ctx, SCANT_EUSAGE,
                           "%s: is one of the folders to merge; another one is needed",
                           w->out);
    return SCANT_OK;
}

static scant_status check_folder(reporting *w) {
    scant__arena *arena = &w->results.arena;
    char *curve = report_path(arena, w->out, "curve.csv");
    char *sources = report_path(arena, w->out, "sources.txt");
    if (!curve || !sources) return SCANT_ENOMEM;
    if (w->elsewhere && report_file_exists(curve) && !report_file_exists(sources))
        return scant__fail(
            w->ctx, SCANT_EUSAGE,
            "%s: holds results of its own, which would be lost; use another "
            "folder",
            w->out);
    return scant__folder_make(w->ctx, w->out);
}

/* ---- output files ------------------------------------------------------------------ */

static scant_status put_file(reporting *w, const char *name, const scant__text *text) {
    char *path = report_path(&w->results.arena, w->out, name);
    if (!path || text->failed) return SCANT_ENOMEM;
    return scant_file_write(w->ctx, path, text->data, text->size);
}

static scant_status write_merged(reporting *w) {
    const report_results *r = &w->results;
    AUTO(scant__text_end) scant__text sources = {.ctx = w->ctx};
    for (size_t i = 0; i < r->n_folders; i++)
        scant__text_addf(&sources, "%s\n", r->folders[i].path);
    TRY(put_file(w, "sources.txt", &sources));
    for (report_file i = 0; i < REPORT_FILES; i++) {
        AUTO(scant__text_end) scant__text text = {.ctx = w->ctx};
        if (i == REPORT_CALIBRATION && r->regression) continue;
        report_write_file(&text, r, i);
        TRY(put_file(w, report_file_names[i], &text));
    }
    return SCANT_OK;
}

void report_write_summary(scant__text *out, const report_results *r,
                          const report_measures *m) {
    scant__text_add(out, "strategy,labels,mean,std,runs\n");
    for (size_t s = 0; s < r->n_strategies; s++)
        for (size_t i = 0; i < m->curves[s].n; i++) {
            const report_level *l = &m->curves[s].levels[i];
            scant__text_csv(out, r->strategies[s].name);
            report_addf(out, ",%" PRIu64 ",%e,%e,%zu\n", l->labels, l->mean, l->std,
                        l->runs);
        }
}

void report_write_auc(scant__text *out, const report_results *r,
                      const report_measures *m) {
    double unit = report_unit(r);
    scant__text_add(out, "strategy,mean,std,runs\n");
    for (size_t s = 0; s < r->n_strategies; s++) {
        scant__text_csv(out, r->strategies[s].name);
        report_addf(out, ",%e,%e,%zu\n", unit * m->areas[s].mean, unit * m->areas[s].std,
                    m->areas[s].n);
    }
}

void report_write_overlap(scant__text *out, const report_results *r,
                          const report_measures *m) {
    scant__text_add(out, "labels,strategy_a,strategy_b,iou\n");
    for (size_t i = 0; i < m->n_overlaps; i++) {
        const report_overlap *o = &m->overlaps[i];
        report_addf(out, "%" PRIu64 ",", o->labels);
        scant__text_csv(out, r->strategies[o->a].name);
        scant__text_add(out, ",");
        scant__text_csv(out, r->strategies[o->b].name);
        report_addf(out, ",%e\n", o->iou);
    }
}

static scant_status write_tables(reporting *w) {
    static const struct {
        const char *name;
        void (*write)(scant__text *out, const report_results *results,
                      const report_measures *measures);
    } files[] = {{"summary.csv", report_write_summary},
                 {"auc.csv", report_write_auc},
                 {"overlap.csv", report_write_overlap}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        AUTO(scant__text_end) scant__text text = {.ctx = w->ctx};
        files[i].write(&text, &w->results, &w->measures);
        TRY(put_file(w, files[i].name, &text));
    }
    return SCANT_OK;
}

/* Removes a chart of an earlier report. */
static scant_status remove_chart(reporting *w, const char *name) {
    char why[SCANT__ERRNO_TEXT];
    char *path = report_path(&w->results.arena, w->out, name);
    if (!path) return SCANT_ENOMEM;
    if (unlink(path) == 0 || errno == ENOENT) return SCANT_OK;
    return scant__fail(w->ctx, SCANT_EIO,
                       "%s: belongs to an earlier report and cannot be removed: %s", path,
                       scant__errno_text(errno, why));
}

static scant_status write_charts(reporting *w) {
    scant__arena *arena = &w->results.arena;
    char *folder = report_path(arena, w->out, "charts");
    if (!folder) return SCANT_ENOMEM;
    TRY(scant__folder_make(w->ctx, folder));
    for (size_t i = 0; i < PAGE_SECTIONS; i++) {
        AUTO(scant__text_end) scant__text text = {.ctx = w->ctx};
        const page_section *section = &page_sections[i];
        char *name = scant__arena_format(arena, "charts/%s.svg", section->id);
        if (!name) return SCANT_ENOMEM;
        if (section->has(&w->view)) {
            section->draw(&text, &w->view, CHART_FILE);
            TRY(put_file(w, name, &text));
        } else {
            TRY(remove_chart(w, name));
        }
    }
    return SCANT_OK;
}

static scant_status write_page(reporting *w) {
    AUTO(scant__text_end) scant__text text = {.ctx = w->ctx};
    TRY(report_write_page(&text, &w->results, &w->view, w->out));
    return put_file(w, "report.html", &text);
}

static scant_status measure(reporting *w) {
    report_results *r = &w->results;
    scant_pair *pairs = NULL;
    size_t n_pairs = 0, random = report_strategy_find(r, "random");
    TRY(report_measure(r, &w->measures));
    if (random < r->n_strategies)
        TRY(report_compare(r, &w->measures, random, &pairs, &n_pairs));
    w->view = (report_view){r, &w->measures, random, pairs, n_pairs};
    return SCANT_OK;
}

static scant_status write_all(reporting *w) {
    TRY(measure(w));
    TRY(check_folder(w));
    if (w->elsewhere) TRY(write_merged(w));
    TRY(write_tables(w));
    TRY(write_charts(w));
    return write_page(w);
}

scant_status scant_report(scant_ctx *ctx, const char *const *dirs, size_t n,
                          const char *out) {
    NEED(ctx);
    reporting w = {.ctx = ctx};
    TRY(choose_folder(&w, dirs, n, out));
    TRY(report_results_open(ctx, dirs, n, &w.results));
    scant_status status = write_all(&w);
    report_results_close(&w.results);
    return status;
}
