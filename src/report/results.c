/* SPDX-License-Identifier: Apache-2.0 */
#include "report/results.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/file.h"
#include "data/source.h"
#include "report/results_int.h"
#include "scant/train.h"

/* ---- folders ----------------------------------------------------------------------- */

char *report_path(scant__arena *arena, const char *folder, const char *name) {
    size_t length = strlen(folder);
    bool slash = length && folder[length - 1] == '/';
    return scant__arena_format(arena, "%s%s%s", folder, slash ? "" : "/", name);
}

bool report_file_exists(const char *path) { return access(path, F_OK) == 0; }

/* The last part of a path, without trailing slashes. */
static const char *last_part(scant__arena *arena, const char *path) {
    size_t end = strlen(path);
    while (end > 1 && path[end - 1] == '/') end--;
    size_t start = end;
    while (start > 0 && path[start - 1] != '/') start--;
    return scant__arena_format(arena, "%.*s", (int)(end - start), path + start);
}

static scant_status check_folder(report_loading *l, const char *path, struct stat *seen) {
    char why[SCANT__ERRNO_TEXT];
    struct stat *own = &seen[l->folder];
    if (stat(path, own) != 0)
        return scant__fail(l->ctx, SCANT_EINPUT, "%s: %s", path,
                           scant__errno_text(errno, why));
    if (!S_ISDIR(own->st_mode))
        return scant__fail(l->ctx, SCANT_EINPUT,
                           "%s: is not a folder; one that 'scant run --out' made is "
                           "expected",
                           path);
    for (size_t i = 0; i < l->folder; i++)
        if (seen[i].st_dev == own->st_dev && seen[i].st_ino == own->st_ino)
            return scant__fail(l->ctx, SCANT_EUSAGE, "%s: is given twice", path);
    return SCANT_OK;
}

static scant_status label_folders(report_results *r) {
    for (size_t i = 0; i < r->n_folders; i++) {
        r->folders[i].label = last_part(&r->arena, r->folders[i].path);
        if (!r->folders[i].label) return SCANT_ENOMEM;
    }
    for (size_t i = 0; i < r->n_folders; i++)
        for (size_t j = 0; j < r->n_folders; j++)
            if (i != j && strcmp(r->folders[i].label, r->folders[j].label) == 0) {
                for (size_t k = 0; k < r->n_folders; k++)
                    r->folders[k].label = r->folders[k].path;
                return SCANT_OK;
            }
    return SCANT_OK;
}

static scant_status read_folder(report_loading *l, report_folder *folder) {
    for (report_file i = 0; i < REPORT_FILES; i++) {
        AUTO(scant__source_close) scant__source source = {0};
        if (l->trainings && i != REPORT_CURVE && i != REPORT_TRAININGS) continue;
        char *path = report_path(&l->out->arena, folder->path, report_file_names[i]);
        if (!path) return SCANT_ENOMEM;
        l->file = path;
        if (i == REPORT_CURVE && !report_file_exists(path))
            return scant__fail(l->ctx, SCANT_EINPUT,
                               "%s: has no curve.csv, so it is not a folder of results",
                               folder->path);
        if (!report_file_exists(path)) continue;
        TRY(scant__source_map(l->ctx, path, &source));
        TRY(report_load_file(l, i, source.bytes, source.size));
    }
    return l->trainings ? SCANT_OK : report_folder_read(l->out, folder);
}

static scant_status read_folders(report_loading *l, const char *const *paths, size_t n) {
    report_results *r = l->out;
    struct stat *seen = TRY_NEW(&r->arena, struct stat, n);
    r->folders = TRY_ZERO(&r->arena, report_folder, n);
    r->n_folders = n;
    for (size_t i = 0; i < n; i++) {
        l->folder = (uint32_t)i;
        l->lost[0] = 0;
        r->folders[i].path = scant__arena_strdup(&r->arena, paths[i]);
        if (!r->folders[i].path) return SCANT_ENOMEM;
        TRY(check_folder(l, paths[i], seen));
        TRY(read_folder(l, &r->folders[i]));
    }
    TRY(label_folders(r));
    TRY(report_experiments_compare(r));
    return report_merge(l);
}

static scant_status parse(report_loading *l, const report_bytes bytes[REPORT_FILES]) {
    report_results *r = l->out;
    r->folders = TRY_ZERO(&r->arena, report_folder, 1);
    r->n_folders = 1;
    r->folders->path = r->folders->label = "results";
    for (report_file i = 0; i < REPORT_FILES; i++) {
        l->file = report_file_names[i];
        if (i == REPORT_CURVE || bytes[i].bytes)
            TRY(report_load_file(l, i, bytes[i].bytes, bytes[i].size));
    }
    return report_merge(l);
}

/* ---- opening and lookups ----------------------------------------------------------- */

static scant_status open_folders(scant_ctx *ctx, const char *const *paths, size_t n,
                                 bool trainings, report_results *out) {
    report_loading l = {.ctx = ctx, .out = out, .trainings = trainings};
    *out = (report_results){.arena = {.ctx = ctx}};
    scant_status status = read_folders(&l, paths, n);
    scant__names_end(&l.names);
    if (status != SCANT_OK) report_results_close(out);
    return status;
}

scant_status report_trainings_open(scant_ctx *ctx, const char *const *paths, size_t n,
                                   report_results *out) {
    return open_folders(ctx, paths, n, true, out);
}

scant_status report_results_open(scant_ctx *ctx, const char *const *paths, size_t n,
                                 report_results *out) {
    scant_status status = open_folders(ctx, paths, n, false, out);
    if (status == SCANT_OK && out->differ)
        scant__warn(
            ctx,
            "the experiments differ in %s: differences between their runs are not "
            "due to the strategies alone",
            out->differ);
    return status;
}

scant_status report_results_parse(scant_ctx *ctx, const report_bytes bytes[REPORT_FILES],
                                  report_results *out) {
    report_loading l = {.ctx = ctx, .out = out};
    *out = (report_results){.arena = {.ctx = ctx}};
    scant_status status = parse(&l, bytes);
    scant__names_end(&l.names);
    if (status != SCANT_OK) report_results_close(out);
    return status;
}

void report_results_close(report_results *r) {
    scant_ctx *ctx = r->arena.ctx;
    if (!ctx) return;
    for (size_t i = 0; i < r->n_folders; i++) scant__free(ctx, r->folders[i].thumbnails);
    scant__free(ctx, r->classes);
    scant__free(ctx, r->runs);
    scant__free(ctx, r->points);
    scant__free(ctx, r->picks);
    scant__free(ctx, r->bins);
    scant__arena_end(&r->arena);
    *r = (report_results){0};
}

double report_value(const report_results *r, const report_point *point) {
    return r->regression ? point->error : point->accuracy;
}

double report_unit(const report_results *r) { return r->regression ? 1 : 100; }
int report_decimals(const report_results *r) { return r->regression ? -1 : 2; }

const report_point *report_last(const report_run *run) {
    return &run->points[run->n_points - 1];
}

bool report_collapsed(const report_point *point) {
    return (point->signs & SCANT_SIGNS_COLLAPSED) != 0;
}

const report_point *report_point_before(const report_run *run, uint64_t labels) {
    size_t n = REPORT_COUNT_FIRST(run->n_points, i, run->points[i].labels <= labels);
    return n ? &run->points[n - 1] : NULL;
}

const report_point *report_point_at(const report_run *run, uint64_t labels) {
    const report_point *point = report_point_before(run, labels);
    return point && point->labels == labels ? point : NULL;
}

const report_bin *report_bins_of(const report_run *run, uint32_t round, uint32_t when,
                                 size_t *n) {
    const report_bin *bins = run->bins;
    size_t first = REPORT_COUNT_FIRST(
        run->n_bins, i,
        bins[i].round < round || (bins[i].round == round && bins[i].when < when));
    size_t end = first;
    while (end < run->n_bins && bins[end].round == round && bins[end].when == when) end++;
    *n = end - first;
    return *n ? &bins[first] : NULL;
}

size_t report_strategy_find(const report_results *r, const char *name) {
    for (size_t i = 0; i < r->n_strategies; i++)
        if (strcmp(r->strategies[i].name, name) == 0) return i;
    return r->n_strategies;
}

const char *report_class_name(const report_results *r, size_t label, char *out) {
    if (label < r->n_classes && r->classes[label].name) return r->classes[label].name;
    snprintf(out, 32, "%zu", label);
    return out;
}
