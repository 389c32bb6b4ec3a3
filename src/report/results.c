/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the rows of curve.csv, picks.csv, calibration.csv and theory.csv, folder by
 * folder. results_merge.c makes runs of them.
 */
#include "report/results.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/file.h"
#include "data/names.h"
#include "data/source.h"
#include "report/experiment_ini.h"
#include "report/results_int.h"
#include "scant/train.h"

enum { MOST_STRATEGIES = 1024, MOST_RUNS = 1 << 14, SLOTS = 1 << 15 };

typedef struct curve_row {
    char strategy[REPORT_NAME];
    uint64_t seed;
    report_point point;
} curve_row;

typedef struct pick_row {
    char strategy[REPORT_NAME];
    uint64_t seed, round, rank, index;
    double weight, score, label;
} pick_row;

typedef struct bin_row {
    char strategy[REPORT_NAME], when[REPORT_NAME];
    uint64_t seed, round, bin, count;
    double confidence, accuracy, temperature;
} bin_row;

typedef struct theory_row {
    char strategy[REPORT_NAME];
    uint64_t seed, round;
    double lambda, ratio, epochs;
} theory_row;

typedef struct loading {
    scant_ctx *ctx;
    report_results *out;
    uint32_t folder;
    const char *file; /* being read */
    scant__names names;
    size_t last; /* the name found last: rows of a run are next to each other */
    report_raw raw;
    uint32_t *slots; /* a hash table: index of a run, plus 1; 0: empty */
    curve_row curve;
    pick_row pick;
    bin_row bin;
    theory_row theory;
    size_t first_point; /* of the folder */
    size_t next_point;  /* after the one that a theory row was found for, from there */
} loading;

enum { COLUMN_BEST = 8 };
static const report_column curve_columns[] = {
    {"strategy", REPORT_WORD, false, offsetof(curve_row, strategy)},
    {"seed", REPORT_SEED, false, offsetof(curve_row, seed)},
    {"round", REPORT_COUNT, false, offsetof(curve_row, point.round)},
    {"labels", REPORT_COUNT, false, offsetof(curve_row, point.labels)},
    {"accuracy", REPORT_FRACTION, false, offsetof(curve_row, point.accuracy)},
    {"loss", REPORT_NUMBER, false, offsetof(curve_row, point.loss)},
    {"train_seconds", REPORT_AMOUNT, false, offsetof(curve_row, point.train_seconds)},
    {"select_seconds", REPORT_AMOUNT, false, offsetof(curve_row, point.select_seconds)},
    [COLUMN_BEST] = {"best_accuracy", REPORT_FRACTION, true,
                     offsetof(curve_row, point.best)},
    {"error", REPORT_AMOUNT, true, offsetof(curve_row, point.error)},
};

static const report_column pick_columns[] = {
    {"strategy", REPORT_WORD, false, offsetof(pick_row, strategy)},
    {"seed", REPORT_SEED, false, offsetof(pick_row, seed)},
    {"round", REPORT_COUNT, false, offsetof(pick_row, round)},
    {"rank", REPORT_COUNT, false, offsetof(pick_row, rank)},
    {"index", REPORT_COUNT, false, offsetof(pick_row, index)},
    {"weight", REPORT_NUMBER, false, offsetof(pick_row, weight)},
    {"score", REPORT_NUMBER, false, offsetof(pick_row, score)},
    {"label", REPORT_NUMBER, false, offsetof(pick_row, label)},
};

static const report_column bin_columns[] = {
    {"strategy", REPORT_WORD, false, offsetof(bin_row, strategy)},
    {"seed", REPORT_SEED, false, offsetof(bin_row, seed)},
    {"round", REPORT_COUNT, false, offsetof(bin_row, round)},
    {"when", REPORT_WORD, false, offsetof(bin_row, when)},
    {"temperature", REPORT_AMOUNT, true, offsetof(bin_row, temperature)},
    {"bin", REPORT_COUNT, false, offsetof(bin_row, bin)},
    {"count", REPORT_COUNT, false, offsetof(bin_row, count)},
    {"confidence", REPORT_FRACTION, false, offsetof(bin_row, confidence)},
    {"accuracy", REPORT_FRACTION, false, offsetof(bin_row, accuracy)},
};

static const report_column theory_columns[] = {
    {"strategy", REPORT_WORD, false, offsetof(theory_row, strategy)},
    {"seed", REPORT_SEED, false, offsetof(theory_row, seed)},
    {"round", REPORT_COUNT, false, offsetof(theory_row, round)},
    {"lambda", REPORT_AMOUNT, true, offsetof(theory_row, lambda)},
    {"ratio", REPORT_NUMBER, true, offsetof(theory_row, ratio)},
    {"epochs", REPORT_AMOUNT, true, offsetof(theory_row, epochs)},
};

/* ---- lists ------------------------------------------------------------------------- */

void *report_list_add(scant_ctx *ctx, report_list *list, size_t size) {
    if (scant__grow(ctx, &list->items, &list->room, list->n + 1, size) != SCANT_OK)
        return NULL;
    return (char *)list->items + size * list->n++;
}

size_t report_count_before(size_t n,
                           bool (*before)(const void *items, size_t i, const void *key),
                           const void *items, const void *key) {
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (before(items, middle, key))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- runs by name and seed --------------------------------------------------------- */

/* The index of a name; the number of names if there is none. */
static size_t find_name(loading *l, const char *name) {
    size_t n = l->names.count;
    for (size_t i = 0; i < n; i++) {
        size_t at = (l->last + i) % n;
        if (strcmp(scant__names_get(&l->names, at), name) == 0) return l->last = at;
    }
    return n;
}

/* The slot of a run, or the empty one for it. (The hash ends as Murmur's.) */
static uint32_t *find_run(loading *l, size_t name, uint64_t seed) {
    uint64_t h = seed * 0x9E3779B97F4A7C15u + name * 0xC2B2AE3D27D4EB4Fu + l->folder;
    h = (h ^ h >> 33) * 0xFF51AFD7ED558CCDu;
    h ^= h >> 33;
    for (size_t i = h % SLOTS;; i = (i + 1) % SLOTS) {
        if (!l->slots[i]) return &l->slots[i];
        const report_raw_run *run =
            (report_raw_run *)l->raw.runs.items + (l->slots[i] - 1);
        if (run->seed == seed && run->name == name && run->folder == l->folder)
            return &l->slots[i];
    }
}

static scant_status add_name(loading *l, const char *name) {
    if (l->names.count == MOST_STRATEGIES)
        return scant__fail(l->ctx, SCANT_EINPUT, "%s: has more than %d strategies",
                           l->file, MOST_STRATEGIES);
    return scant__names_add(l->ctx, &l->names, name, strlen(name));
}

static scant_status add_run(loading *l, size_t name, uint64_t seed, uint32_t *slot) {
    if (l->raw.runs.n == MOST_RUNS)
        return scant__fail(l->ctx, SCANT_EINPUT, "%s: has more than %d runs", l->file,
                           MOST_RUNS);
    report_raw_run *run = report_list_add(l->ctx, &l->raw.runs, sizeof *run);
    if (!run) return SCANT_ENOMEM;
    *run = (report_raw_run){.name = (uint32_t)name, .folder = l->folder, .seed = seed};
    *slot = (uint32_t)l->raw.runs.n;
    return SCANT_OK;
}

/* The run of a row: its index plus 1; 0: curve.csv does not have it. */
static uint32_t run_of(loading *l, const char *strategy, uint64_t seed) {
    size_t name = find_name(l, strategy);
    return name == l->names.count ? 0 : *find_run(l, name, seed);
}

/* ---- rows -------------------------------------------------------------------------- */

static scant_status check_round(const loading *l, uint64_t round, size_t line) {
    if (round < UINT32_MAX) return SCANT_OK;
    return scant__fail(l->ctx, SCANT_EINPUT, "%s: line %zu: the round is too large",
                       l->file, line);
}

static scant_status take_point(void *self, size_t line) {
    loading *l = self;
    TRY(check_round(l, l->curve.point.round, line));
    size_t name = find_name(l, l->curve.strategy);
    if (name == l->names.count) TRY(add_name(l, l->curve.strategy));
    uint32_t *slot = find_run(l, name, l->curve.seed);
    if (!*slot) TRY(add_run(l, name, l->curve.seed, slot));
    report_raw_point *point = report_list_add(l->ctx, &l->raw.points, sizeof *point);
    if (!point) return SCANT_ENOMEM;
    *point = (report_raw_point){.point = l->curve.point, .run = *slot - 1, .line = line};
    point->point.lambda = point->point.ratio = point->point.epochs = NAN;
    return SCANT_OK;
}

/* Picks of runs that have not finished a round are left out. */
static scant_status take_pick(void *self, size_t line) {
    loading *l = self;
    const pick_row *row = &l->pick;
    TRY(check_round(l, row->round, line));
    if (row->rank > UINT32_MAX)
        return scant__fail(l->ctx, SCANT_EINPUT, "%s: line %zu: the rank is too large",
                           l->file, line);
    uint32_t run = run_of(l, row->strategy, row->seed);
    if (!run) return SCANT_OK;
    report_pick *pick = report_list_add(l->ctx, &l->raw.picks, sizeof *pick);
    if (!pick) return SCANT_ENOMEM;
    *pick = (report_pick){.index = row->index,
                          .run = run - 1,
                          .round = (uint32_t)row->round,
                          .rank = (uint32_t)row->rank,
                          .weight = row->weight,
                          .score = row->score,
                          .label = row->label};
    return SCANT_OK;
}

static scant_status check_bin(loading *l, size_t line, uint32_t *when) {
    static const char *const whens[REPORT_WHENS] = {"before", "after"};
    const bin_row *row = &l->bin;
    *when = REPORT_BEFORE;
    while (*when < REPORT_WHENS && strcmp(row->when, whens[*when]) != 0) ++*when;
    if (*when == REPORT_WHENS)
        return scant__fail(l->ctx, SCANT_EINPUT,
                           "%s: line %zu, column 'when': before or after is expected",
                           l->file, line);
    TRY(check_round(l, row->round, line));
    if (row->bin < 1 || row->bin > SCANT_CALIBRATION_BINS)
        return scant__fail(
            l->ctx, SCANT_EINPUT,
            "%s: line %zu, column 'bin': a number from 1 to %d is expected", l->file,
            line, SCANT_CALIBRATION_BINS);
    if (row->count && (isnan(row->confidence) || isnan(row->accuracy)))
        return scant__fail(l->ctx, SCANT_EINPUT,
                           "%s: line %zu: a bin with samples needs a confidence and an "
                           "accuracy",
                           l->file, line);
    return SCANT_OK;
}

/* Empty bins are left out. */
static scant_status take_bin(void *self, size_t line) {
    loading *l = self;
    const bin_row *row = &l->bin;
    uint32_t when;
    TRY(check_bin(l, line, &when));
    uint32_t run = run_of(l, row->strategy, row->seed);
    if (!run || !row->count) return SCANT_OK;
    report_bin *bin = report_list_add(l->ctx, &l->raw.bins, sizeof *bin);
    if (!bin) return SCANT_ENOMEM;
    *bin = (report_bin){.run = run - 1,
                        .round = (uint32_t)row->round,
                        .when = when,
                        .bin = (uint32_t)row->bin - 1,
                        .count = (double)row->count,
                        .confidence = row->confidence,
                        .accuracy = row->accuracy,
                        .temperature = row->temperature,
                        .line = line};
    return SCANT_OK;
}

/* Adds a row to its point. Rows mostly come in the order of points. */
static scant_status take_theory(void *self, size_t line) {
    loading *l = self;
    const theory_row *row = &l->theory;
    size_t n = l->raw.points.n - l->first_point;
    uint32_t run = run_of(l, row->strategy, row->seed);
    (void)line;
    for (size_t i = 0; run && i < n; i++) {
        size_t at = (l->next_point + i) % n;
        report_raw_point *p =
            (report_raw_point *)l->raw.points.items + l->first_point + at;
        if (p->run != run - 1 || p->point.round != row->round) continue;
        p->point.lambda = row->lambda;
        p->point.ratio = row->ratio;
        p->point.epochs = row->epochs;
        l->next_point = at + 1;
        break;
    }
    return SCANT_OK;
}

/* ---- files ------------------------------------------------------------------------- */

/* Results are of regression if rows have an error. Then every row needs one; otherwise
 * every row needs an accuracy. */
static scant_status check_values(loading *l) {
    const report_raw_point *points = l->raw.points.items;
    size_t first = l->first_point, n = l->raw.points.n;
    bool errors = false;
    if (n == first) return SCANT_OK;
    for (size_t i = first; i < n; i++) errors = errors || !isnan(points[i].point.error);
    if (first && errors != l->out->regression)
        return scant__fail(
            l->ctx, SCANT_EINPUT,
            "%s: classification and regression cannot be compared, and the "
            "folders have both",
            l->file);
    l->out->regression = errors;
    for (size_t i = first; i < n; i++)
        if (isnan(report_value(l->out, &points[i].point)))
            return scant__fail(l->ctx, SCANT_EINPUT, "%s: line %zu: the %s is missing",
                               l->file, points[i].line, errors ? "error" : "accuracy");
    return SCANT_OK;
}

#define COLUMNS(list) list, sizeof list / sizeof *list
static const struct {
    const char *name;
    const report_column *columns;
    size_t n_columns;
    size_t row; /* offset in loading */
    scant_status (*take)(void *self, size_t line);
} files[] = {
    {"curve.csv", COLUMNS(curve_columns), offsetof(loading, curve), take_point},
    {"picks.csv", COLUMNS(pick_columns), offsetof(loading, pick), take_pick},
    {"calibration.csv", COLUMNS(bin_columns), offsetof(loading, bin), take_bin},
    {"theory.csv", COLUMNS(theory_columns), offsetof(loading, theory), take_theory},
};
enum { CURVE, FILES = sizeof files / sizeof *files };

static scant_status read_rows(loading *l, size_t file, const void *bytes, size_t size) {
    report_table table = {.columns = files[file].columns,
                          .n_columns = files[file].n_columns,
                          .row = (char *)l + files[file].row,
                          .take = files[file].take,
                          .self = l};
    if (file == CURVE) {
        l->first_point = l->raw.points.n;
        l->next_point = 0;
    }
    TRY(report_table_read(l->ctx, l->file, bytes, size, &table));
    if (file != CURVE) return SCANT_OK;
    if (table.found >> COLUMN_BEST & 1) l->out->has_best = true;
    return check_values(l);
}

/* ---- folders ----------------------------------------------------------------------- */

char *report_path(scant__arena *arena, const char *folder, const char *name) {
    size_t length = strlen(folder), room = length + strlen(name) + 2;
    bool slash = length && folder[length - 1] == '/';
    char *path = scant__arena_alloc(arena, room, 1);
    if (path) snprintf(path, room, "%s%s%s", folder, slash ? "" : "/", name);
    return path;
}

bool report_file_exists(const char *path) { return access(path, F_OK) == 0; }

/* The last part of a path, without trailing slashes. */
static const char *last_part(scant__arena *arena, const char *path) {
    size_t end = strlen(path);
    while (end > 1 && path[end - 1] == '/') end--;
    size_t start = end;
    while (start > 0 && path[start - 1] != '/') start--;
    char *part = scant__arena_zalloc(arena, end - start + 1, 1);
    if (part) memcpy(part, path + start, end - start);
    return part;
}

static scant_status check_folder(loading *l, const char *path, struct stat *seen) {
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

static scant_status read_folder(loading *l, report_folder *folder) {
    for (size_t i = 0; i < FILES; i++) {
        scant__source source;
        char *path = report_path(&l->out->arena, folder->path, files[i].name);
        if (!path) return SCANT_ENOMEM;
        l->file = path;
        if (i == CURVE && !report_file_exists(path))
            return scant__fail(l->ctx, SCANT_EINPUT,
                               "%s: has no curve.csv, so it is not a folder of results",
                               folder->path);
        if (!report_file_exists(path)) continue;
        TRY(scant__source_map(l->ctx, path, &source));
        scant_status status = read_rows(l, i, source.bytes, source.size);
        scant__source_close(l->ctx, &source);
        if (status != SCANT_OK) return status;
    }
    return report_folder_read(l->out, folder);
}

static scant_status read_folders(loading *l, const char *const *paths, size_t n) {
    report_results *r = l->out;
    struct stat *seen = scant__arena_alloc(&r->arena, n, sizeof *seen);
    r->folders = scant__arena_zalloc(&r->arena, n, sizeof *r->folders);
    if (!seen || !r->folders) return SCANT_ENOMEM;
    r->n_folders = n;
    for (size_t i = 0; i < n; i++) {
        l->folder = (uint32_t)i;
        r->folders[i].path = scant__arena_strdup(&r->arena, paths[i]);
        if (!r->folders[i].path) return SCANT_ENOMEM;
        TRY(check_folder(l, paths[i], seen));
        TRY(read_folder(l, &r->folders[i]));
    }
    return label_folders(r);
}

/* ---- all --------------------------------------------------------------------------- */

static const char *name_at(const void *names, size_t i) {
    return scant__names_get(names, i);
}

static scant_status begin(scant_ctx *ctx, report_results *out, loading *l) {
    *out = (report_results){0};
    *l = (loading){.ctx = ctx, .out = out};
    scant__arena_init(&out->arena, ctx);
    l->slots = scant__zalloc(ctx, SLOTS, sizeof *l->slots);
    return l->slots ? SCANT_OK : SCANT_ENOMEM;
}

static scant_status end(loading *l, scant_status status) {
    if (status == SCANT_OK)
        status = report_merge(l->out, &l->raw, name_at, &l->names, l->names.count);
    scant__free(l->ctx, l->slots);
    scant__free(l->ctx, l->raw.runs.items);
    scant__free(l->ctx, l->raw.points.items);
    scant__free(l->ctx, l->raw.picks.items);
    scant__free(l->ctx, l->raw.bins.items);
    scant__names_end(l->ctx, &l->names);
    if (status != SCANT_OK) report_results_close(l->out);
    return status;
}

scant_status report_results_open(scant_ctx *ctx, const char *const *paths, size_t n,
                                 report_results *out) {
    loading l;
    scant_status status = begin(ctx, out, &l);
    if (status == SCANT_OK) status = read_folders(&l, paths, n);
    if (status == SCANT_OK) status = report_experiments_differ(out, &out->differ);
    status = end(&l, status);
    if (status == SCANT_OK && out->differ)
        scant__warn(
            ctx,
            "the experiments differ in %s: differences between their runs are not "
            "due to the strategies alone",
            out->differ);
    return status;
}

scant_status report_results_parse(scant_ctx *ctx, const report_bytes bytes[4],
                                  report_results *out) {
    loading l;
    scant_status status = begin(ctx, out, &l);
    if (status == SCANT_OK) {
        out->folders = scant__arena_zalloc(&out->arena, 1, sizeof *out->folders);
        if (!out->folders) status = SCANT_ENOMEM;
    }
    if (status == SCANT_OK) {
        out->n_folders = 1;
        out->folders->path = out->folders->label = "results";
    }
    for (size_t i = 0; i < FILES && status == SCANT_OK; i++) {
        l.file = files[i].name;
        if (i == CURVE || bytes[i].bytes)
            status = read_rows(&l, i, bytes[i].bytes, bytes[i].size);
    }
    return end(&l, status);
}

void report_results_close(report_results *r) {
    if (!r->arena.ctx) return;
    scant__free(r->arena.ctx, r->points);
    scant__free(r->arena.ctx, r->picks);
    scant__free(r->arena.ctx, r->bins);
    scant__arena_end(&r->arena);
    *r = (report_results){0};
}

double report_value(const report_results *r, const report_point *point) {
    return r->regression ? point->error : point->accuracy;
}

const report_point *report_last(const report_run *run) {
    return &run->points[run->n_points - 1];
}

static bool has_at_most(const void *points, size_t i, const void *labels) {
    return ((const report_point *)points)[i].labels <= *(const uint64_t *)labels;
}

const report_point *report_point_before(const report_run *run, uint64_t labels) {
    size_t n = report_count_before(run->n_points, has_at_most, run->points, &labels);
    return n ? &run->points[n - 1] : NULL;
}

const report_point *report_point_at(const report_run *run, uint64_t labels) {
    const report_point *point = report_point_before(run, labels);
    return point && point->labels == labels ? point : NULL;
}

static bool is_before_bin(const void *bins, size_t i, const void *key) {
    const report_bin *bin = (const report_bin *)bins + i, *other = key;
    return bin->round < other->round ||
           (bin->round == other->round && bin->when < other->when);
}

const report_bin *report_bins_of(const report_run *run, uint32_t round, uint32_t when,
                                 size_t *n) {
    report_bin key = {.round = round, .when = when};
    size_t first = report_count_before(run->n_bins, is_before_bin, run->bins, &key);
    size_t end = first;
    while (end < run->n_bins && run->bins[end].round == round &&
           run->bins[end].when == when)
        end++;
    *n = end - first;
    return *n ? &run->bins[first] : NULL;
}

size_t report_strategy_find(const report_results *r, const char *name) {
    for (size_t i = 0; i < r->n_strategies; i++)
        if (strcmp(r->strategies[i].name, name) == 0) return i;
    return r->n_strategies;
}

size_t report_longest(const report_results *r) {
    size_t most = 0;
    for (size_t i = 0; i < r->n_runs; i++) most = size_max(most, r->runs[i].n_points);
    return most;
}

const char *report_class_name(const report_results *r, size_t label, char *out) {
    if (label < r->n_classes && r->classes[label].name) return r->classes[label].name;
    snprintf(out, 32, "%zu", label);
    return out;
}
