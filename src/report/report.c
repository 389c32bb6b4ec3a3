/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the files that are computed from curve.csv and picks.csv. Each is written
 * atomically, the page last.
 *
 * A folder that several others are merged into also gets curve.csv, picks.csv and
 * theory.csv (and calibration.csv, except for regression), and sources.txt, which marks
 * it as merged: results of an experiment are never overwritten. Charts of an earlier
 * report that no longer apply are removed.
 */
#include <errno.h>
#include <unistd.h>

#include "data/file.h"
#include "report/compare.h"
#include "report/page.h"
#include "report/results_int.h"
#include "scant/train.h"

typedef struct reporting {
    scant_ctx *ctx;
    report_results results;
    report_measures measures;
    report_view view;
    const char *out;
    bool elsewhere; /* out is not one of the folders that are read */
} reporting;

/* ---- the folder -------------------------------------------------------------------- */

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

/* ---- its files --------------------------------------------------------------------- */

static scant_status put_file(reporting *w, const char *name, scant__text *text) {
    char *bytes;
    size_t size;
    TRY(scant__text_take(text, &bytes, &size));
    char *path = report_path(&w->results.arena, w->out, name);
    scant_status status =
        path ? scant_file_write(w->ctx, path, bytes, size) : SCANT_ENOMEM;
    scant__free(w->ctx, bytes);
    return status;
}

static void write_sources(scant__text *out, const report_results *r) {
    for (size_t i = 0; i < r->n_folders; i++) {
        scant__text_add(out, r->folders[i].path);
        scant__text_add(out, "\n");
    }
}

static scant_status write_merged(reporting *w) {
    static const struct {
        const char *name;
        void (*write)(scant__text *out, const report_results *results);
    } files[] = {{"sources.txt", write_sources},
                 {"curve.csv", report_write_curve},
                 {"picks.csv", report_write_picks},
                 {"theory.csv", report_write_theory},
                 {"calibration.csv", report_write_calibration}};
    size_t n = sizeof files / sizeof *files - w->results.regression;
    for (size_t i = 0; i < n; i++) {
        scant__text text;
        scant__text_init(&text, w->ctx);
        files[i].write(&text, &w->results);
        TRY(put_file(w, files[i].name, &text));
    }
    return SCANT_OK;
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
        scant__text text;
        scant__text_init(&text, w->ctx);
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
    static const struct {
        const char *name;
        bool (*has)(const report_view *view);
        report_chart draw;
    } charts[] = {
        {"charts/curves.svg", report_has_curves, report_chart_curves},
        {"charts/areas.svg", report_has_curves, report_chart_areas},
        {"charts/differences.svg", report_has_differences, report_chart_differences},
        {"charts/efficiency.svg", report_has_efficiency, report_chart_efficiency},
        {"charts/overlap.svg", report_has_overlap, report_chart_overlap},
        {"charts/balance.svg", report_has_balance, report_chart_balance},
        {"charts/calibration.svg", report_has_calibration, report_chart_calibration},
        {"charts/theory.svg", report_has_theory, report_chart_theory},
        {"charts/time.svg", report_has_curves, report_chart_time}};
    char *folder = report_path(&w->results.arena, w->out, "charts");
    if (!folder) return SCANT_ENOMEM;
    TRY(scant__folder_make(w->ctx, folder));
    for (size_t i = 0; i < sizeof charts / sizeof *charts; i++) {
        scant__text text;
        if (!charts[i].has(&w->view)) {
            TRY(remove_chart(w, charts[i].name));
            continue;
        }
        scant__text_init(&text, w->ctx);
        charts[i].draw(&text, &w->view, CHART_FILE);
        TRY(put_file(w, charts[i].name, &text));
    }
    return SCANT_OK;
}

static scant_status write_page(reporting *w) {
    scant__text text;
    scant__text_init(&text, w->ctx);
    scant_status status = report_write_page(&text, &w->results, &w->view, w->out);
    if (status == SCANT_OK) return put_file(w, "report.html", &text);
    scant__text_end(&text);
    return status;
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
    reporting w = {.ctx = ctx};
    TRY(choose_folder(&w, dirs, n, out));
    TRY(report_results_open(ctx, dirs, n, &w.results));
    scant_status status = write_all(&w);
    report_results_close(&w.results);
    return status;
}
