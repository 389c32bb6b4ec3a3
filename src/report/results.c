/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of curve.csv, picks.csv, calibration.csv and theory.csv, of one folder after the
 * other. How they become runs of strategies is in results_merge.c.
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
#include "report/experiment.h"
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
    const char *file; /* the one that is read */
    scant__names names;
    size_t last; /* the name that was found last: rows of a run stand together */
    report_raw raw;
    uint32_t *slots; /* runs by their hash, plus 1; 0: none */
    curve_row curve;
    pick_row pick;
    bin_row bin;
    theory_row theory;
    size_t first_point, next_point; /* of the folder; after the one found last */
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
enum { CURVE_COLUMNS = sizeof curve_columns / sizeof *curve_columns };

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
enum { PICK_COLUMNS = sizeof pick_columns / sizeof *pick_columns };

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
enum { BIN_COLUMNS = sizeof bin_columns / sizeof *bin_columns };

static const report_column theory_columns[] = {
    {"strategy", REPORT_WORD, false, offsetof(theory_row, strategy)},
    {"seed", REPORT_SEED, false, offsetof(theory_row, seed)},
    {"round", REPORT_COUNT, false, offsetof(theory_row, round)},
    {"lambda", REPORT_AMOUNT, true, offsetof(theory_row, lambda)},
    {"ratio", REPORT_NUMBER, true, offsetof(theory_row, ratio)},
    {"epochs", REPORT_AMOUNT, true, offsetof(theory_row, epochs)},
};
enum { THEORY_COLUMNS = sizeof theory_columns / sizeof *theory_columns };

/* ---- runs by name and seed --------------------------------------------------------- */

/* The place of a name in the list of them, or its count. */
static size_t find_name(loading *l, const char *name) {
    size_t n = l->names.count;
    for (size_t i = 0; i < n; i++) {
        size_t at = (l->last + i) % n;
        if (strcmp(scant__names_get(&l->names, at), name) == 0) return l->last = at;
    }
    return n;
}

/* The slot of a run, or the empty one where it would stand. (Murmur's last steps.) */
static uint32_t *find_run(loading *l, size_t name, uint64_t seed) {
    uint64_t h = seed * 0x9E3779B97F4A7C15u + name * 0xC2B2AE3D27D4EB4Fu + l->folder;
    h = (h ^ h >> 33) * 0xFF51AFD7ED558CCDu;
    h ^= h >> 33;
    for (size_t i = h % SLOTS;; i = (i + 1) % SLOTS) {
        if (!l->slots[i]) return &l->slots[i];
        const report_raw_run *run = &l->raw.runs[l->slots[i] - 1];
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
    report_raw *raw = &l->raw;
    void *block = raw->runs;
    if (raw->n_runs == MOST_RUNS)
        return scant__fail(l->ctx, SCANT_EINPUT, "%s: has more than %d runs", l->file,
                           MOST_RUNS);
    scant_status status =
        scant__grow(l->ctx, &block, &raw->runs_room, raw->n_runs + 1, sizeof *raw->runs);
    raw->runs = block;
    if (status != SCANT_OK) return status;
    raw->runs[raw->n_runs++] =
        (report_raw_run){.name = (uint32_t)name, .folder = l->folder, .seed = seed};
    *slot = (uint32_t)raw->n_runs;
    return SCANT_OK;
}

/* ---- rows -------------------------------------------------------------------------- */

static scant_status take_point(void *self, size_t line) {
    loading *l = self;
    report_raw *raw = &l->raw;
    void *block = raw->points;
    if (l->curve.point.round >= UINT32_MAX)
        return scant__fail(l->ctx, SCANT_EINPUT, "%s: line %zu: the round is too large",
                           l->file, line);
    size_t name = find_name(l, l->curve.strategy);
    if (name == l->names.count) TRY(add_name(l, l->curve.strategy));
    uint32_t *slot = find_run(l, name, l->curve.seed);
    if (!*slot) TRY(add_run(l, name, l->curve.seed, slot));
    scant_status status = scant__grow(l->ctx, &block, &raw->points_room,
                                      raw->n_points + 1, sizeof *raw->points);
    raw->points = block;
    if (status != SCANT_OK) return status;
    report_raw_point *point = &raw->points[raw->n_points++];
    *point = (report_raw_point){.point = l->curve.point, .run = *slot - 1, .line = line};
    point->point.lambda = point->point.ratio = point->point.epochs = NAN;
    return SCANT_OK;
}

static scant_status take_pick(void *self, size_t line) {
    loading *l = self;
    report_raw *raw = &l->raw;
    const pick_row *row = &l->pick;
    void *block = raw->picks;
    if (row->round >= UINT32_MAX || row->rank > UINT32_MAX)
        return scant__fail(l->ctx, SCANT_EINPUT,
                           "%s: line %zu: the round or the rank is too large", l->file,
                           line);
    size_t name = find_name(l, row->strategy);
    if (name == l->names.count) return SCANT_OK; /* not trained with yet */
    uint32_t *slot = find_run(l, name, row->seed);
    if (!*slot) return SCANT_OK;
    scant_status status = scant__grow(l->ctx, &block, &raw->picks_room, raw->n_picks + 1,
                                      sizeof *raw->picks);
    raw->picks = block;
    if (status != SCANT_OK) return status;
    raw->picks[raw->n_picks++] = (report_pick){.index = row->index,
                                               .run = *slot - 1,
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
    if (row->round >= UINT32_MAX)
        return scant__fail(l->ctx, SCANT_EINPUT, "%s: line %zu: the round is too large",
                           l->file, line);
    if (row->bin < 1 || row->bin > SCANT_CALIBRATION_BINS)
        return scant__fail(
            l->ctx, SCANT_EINPUT,
            "%s: line %zu, column 'bin': a number from 1 to %d is expected", l->file,
            line, SCANT_CALIBRATION_BINS);
    if (row->count && (isnan(row->confidence) || isnan(row->accuracy)))
        return scant__fail(l->ctx, SCANT_EINPUT,
                           "%s: line %zu: a bin with samples has a confidence and an "
                           "accuracy",
                           l->file, line);
    return SCANT_OK;
}

static scant_status take_bin(void *self, size_t line) {
    loading *l = self;
    report_raw *raw = &l->raw;
    const bin_row *row = &l->bin;
    void *block = raw->bins;
    uint32_t when;
    TRY(check_bin(l, line, &when));
    size_t name = find_name(l, row->strategy);
    if (name == l->names.count || !row->count) return SCANT_OK;
    uint32_t *slot = find_run(l, name, row->seed);
    if (!*slot) return SCANT_OK;
    scant_status status =
        scant__grow(l->ctx, &block, &raw->bins_room, raw->n_bins + 1, sizeof *raw->bins);
    raw->bins = block;
    if (status != SCANT_OK) return status;
    raw->bins[raw->n_bins++] = (report_bin){.run = *slot - 1,
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

/* Belongs to a point of the folder; most come in the order of those. */
static scant_status take_theory(void *self, size_t line) {
    loading *l = self;
    const theory_row *row = &l->theory;
    size_t name = find_name(l, row->strategy), n = l->raw.n_points - l->first_point;
    const uint32_t *slot = name < l->names.count ? find_run(l, name, row->seed) : NULL;
    (void)line;
    for (size_t i = 0; slot && *slot && i < n; i++) {
        size_t at = (l->next_point + i) % n;
        report_raw_point *p = &l->raw.points[l->first_point + at];
        if (p->run != *slot - 1 || p->point.round != row->round) continue;
        p->point.lambda = row->lambda;
        p->point.ratio = row->ratio;
        p->point.epochs = row->epochs;
        l->next_point = at + 1;
        break;
    }
    return SCANT_OK;
}

/* ---- what counts ------------------------------------------------------------------- */

/* The error of numbers to predict counts where it is told, else accuracy does; every row
 * must have the one that counts. */
static scant_status choose_measure(loading *l, size_t first) {
    report_raw *raw = &l->raw;
    bool errors = false;
    for (size_t i = first; i < raw->n_points; i++)
        errors = errors || !isnan(raw->points[i].point.error);
    if (raw->n_points == first) return SCANT_OK;
    if (first && errors != l->out->regression)
        return scant__fail(l->ctx, SCANT_EINPUT,
                           "%s: classes cannot be compared with numbers to predict, and "
                           "the folders have both",
                           l->file);
    l->out->regression = errors;
    for (size_t i = first; i < raw->n_points; i++)
        if (isnan(report_value(l->out, &raw->points[i].point)))
            return scant__fail(l->ctx, SCANT_EINPUT, "%s: line %zu: the %s is missing",
                               l->file, raw->points[i].line,
                               errors ? "error" : "accuracy");
    return SCANT_OK;
}

static scant_status read_curve(loading *l, const void *bytes, size_t size) {
    report_table table = {.columns = curve_columns,
                          .n_columns = CURVE_COLUMNS,
                          .row = &l->curve,
                          .take = take_point,
                          .self = l};
    size_t first = l->first_point = l->raw.n_points;
    l->next_point = 0;
    TRY(report_table_read(l->ctx, l->file, bytes, size, &table));
    if (table.found >> COLUMN_BEST & 1) l->out->has_best = true;
    return choose_measure(l, first);
}

static scant_status read_picks(loading *l, const void *bytes, size_t size) {
    report_table table = {.columns = pick_columns,
                          .n_columns = PICK_COLUMNS,
                          .row = &l->pick,
                          .take = take_pick,
                          .self = l};
    return report_table_read(l->ctx, l->file, bytes, size, &table);
}

static scant_status read_bins(loading *l, const void *bytes, size_t size) {
    report_table table = {.columns = bin_columns,
                          .n_columns = BIN_COLUMNS,
                          .row = &l->bin,
                          .take = take_bin,
                          .self = l};
    return report_table_read(l->ctx, l->file, bytes, size, &table);
}

static scant_status read_theory(loading *l, const void *bytes, size_t size) {
    report_table table = {.columns = theory_columns,
                          .n_columns = THEORY_COLUMNS,
                          .row = &l->theory,
                          .take = take_theory,
                          .self = l};
    return report_table_read(l->ctx, l->file, bytes, size, &table);
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

static scant_status read_file(loading *l, const char *folder, const char *name,
                              scant_status (*read)(loading *l, const void *bytes,
                                                   size_t size)) {
    scant__source source;
    char *path = report_path(&l->out->arena, folder, name);
    if (!path) return SCANT_ENOMEM;
    l->file = path;
    TRY(scant__source_map(l->ctx, path, &source));
    scant_status status = read(l, source.bytes, source.size);
    scant__source_close(l->ctx, &source);
    return status;
}

/* The last part of a path, without slashes behind it. */
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
                           "%s: is no folder; what 'scant run --out' made is expected",
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
    static const struct {
        const char *name;
        scant_status (*read)(loading *l, const void *bytes, size_t size);
    } files[] = {{"curve.csv", read_curve},
                 {"picks.csv", read_picks},
                 {"calibration.csv", read_bins},
                 {"theory.csv", read_theory}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char *path = report_path(&l->out->arena, folder->path, files[i].name);
        if (!path) return SCANT_ENOMEM;
        if (report_file_exists(path))
            TRY(read_file(l, folder->path, files[i].name, files[i].read));
        else if (i == 0)
            return scant__fail(l->ctx, SCANT_EINPUT,
                               "%s: has no curve.csv, so it is no folder of results",
                               folder->path);
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
    scant__free(l->ctx, l->raw.runs);
    scant__free(l->ctx, l->raw.points);
    scant__free(l->ctx, l->raw.picks);
    scant__free(l->ctx, l->raw.bins);
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
        scant__warn(ctx,
                    "the folders' experiments differ in %s: what is told of their runs "
                    "together is not of the strategies alone",
                    out->differ);
    return status;
}

scant_status report_results_parse(scant_ctx *ctx, const report_bytes *files,
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
        l.file = "curve.csv";
        status = read_curve(&l, files->curve, files->curve_size);
    }
    if (status == SCANT_OK && files->picks) {
        l.file = "picks.csv";
        status = read_picks(&l, files->picks, files->picks_size);
    }
    if (status == SCANT_OK && files->calibration) {
        l.file = "calibration.csv";
        status = read_bins(&l, files->calibration, files->calibration_size);
    }
    if (status == SCANT_OK && files->theory) {
        l.file = "theory.csv";
        status = read_theory(&l, files->theory, files->theory_size);
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

const report_point *report_point_before(const report_run *run, uint64_t labels) {
    size_t low = 0, high = run->n_points; /* the first with more labels */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (run->points[middle].labels <= labels)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? &run->points[low - 1] : NULL;
}

const report_point *report_point_at(const report_run *run, uint64_t labels) {
    const report_point *point = report_point_before(run, labels);
    return point && point->labels == labels ? point : NULL;
}

/* The first bin of a run that is not before a round's. */
static size_t first_bin(const report_run *run, uint32_t round, uint32_t when) {
    size_t low = 0, high = run->n_bins;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const report_bin *bin = &run->bins[middle];
        if (bin->round < round || (bin->round == round && bin->when < when))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const report_bin *report_bins_of(const report_run *run, uint32_t round, uint32_t when,
                                 size_t *n) {
    size_t first = first_bin(run, round, when), end = first;
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
