/* SPDX-License-Identifier: Apache-2.0
 *
 * The rows of curve.csv, picks.csv, calibration.csv, theory.csv and trainings.csv.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/source.h"
#include "report/csv_table.h"
#include "report/results_int.h"
#include "scant/train.h"

enum { MOST_RUNS = 1 << 14 };

/* A row of any of the files. */
typedef struct csv_row {
    const char *strategy;
    uint64_t seed;
    report_point point;
    report_pick pick;
    report_bin bin;
    const char *when;         /* "before" or "after" */
    const char *signs;        /* "dead-units loss" */
    uint64_t number, samples; /* columns bin (from 1) and count */
} csv_row;

#define AT(member) offsetof(csv_row, member)

enum { COLUMN_BEST = 8, COLUMN_ERROR };
static const report_column curve_columns[] = {
    {"strategy", REPORT_WORD, false, AT(strategy)},
    {"seed", REPORT_SEED, false, AT(seed)},
    {"round", REPORT_SHORT, false, AT(point.round)},
    {"labels", REPORT_COUNT, false, AT(point.labels)},
    {"accuracy", REPORT_FRACTION, false, AT(point.accuracy)},
    {"loss", REPORT_NUMBER, false, AT(point.loss)},
    {"train_seconds", REPORT_AMOUNT, false, AT(point.train_seconds)},
    {"select_seconds", REPORT_AMOUNT, false, AT(point.select_seconds)},
    [COLUMN_BEST] = {"best_accuracy", REPORT_FRACTION, true, AT(point.best)},
    [COLUMN_ERROR] = {"error", REPORT_AMOUNT, true, AT(point.error)},
};

static const report_column pick_columns[] = {
    {"strategy", REPORT_WORD, false, AT(strategy)},
    {"seed", REPORT_SEED, false, AT(seed)},
    {"round", REPORT_SHORT, false, AT(pick.round)},
    {"rank", REPORT_SHORT, false, AT(pick.rank)},
    {"index", REPORT_COUNT, false, AT(pick.index)},
    {"weight", REPORT_NUMBER, false, AT(pick.weight)},
    {"score", REPORT_NUMBER, false, AT(pick.score)},
    {"label", REPORT_NUMBER, false, AT(pick.label)},
};

static const report_column bin_columns[] = {
    {"strategy", REPORT_WORD, false, AT(strategy)},
    {"seed", REPORT_SEED, false, AT(seed)},
    {"round", REPORT_SHORT, false, AT(bin.round)},
    {"when", REPORT_WORD, false, AT(when)},
    {"temperature", REPORT_AMOUNT, true, AT(bin.temperature)},
    {"bin", REPORT_COUNT, false, AT(number)},
    {"count", REPORT_COUNT, false, AT(samples)},
    {"confidence", REPORT_FRACTION, false, AT(bin.confidence)},
    {"accuracy", REPORT_FRACTION, false, AT(bin.accuracy)},
};

static const report_column theory_columns[] = {
    {"strategy", REPORT_WORD, false, AT(strategy)},
    {"seed", REPORT_SEED, false, AT(seed)},
    {"round", REPORT_SHORT, false, AT(point.round)},
    {"labels", REPORT_COUNT, true, AT(point.labels)},
    {"lambda", REPORT_AMOUNT, true, AT(point.lambda)},
    {"ratio", REPORT_NUMBER, true, AT(point.ratio)},
    {"epochs", REPORT_AMOUNT, true, AT(point.epochs)},
};

static const report_column training_columns[] = {
    {"strategy", REPORT_WORD, false, AT(strategy)},
    {"seed", REPORT_SEED, false, AT(seed)},
    {"round", REPORT_SHORT, false, AT(point.round)},
    {"trainings", REPORT_SHORT, false, AT(point.trainings)},
    {"signs", REPORT_WORDS, false, AT(signs)},
    {"dead", REPORT_FRACTION, true, AT(point.dead)},
    {"gradient_norm", REPORT_AMOUNT, true, AT(point.gradient_norm)},
};

static const char *const whens[REPORT_WHENS] = {"before", "after"};

/* ---- runs by name and seed --------------------------------------------------------- */

static bool is_called(const report_loading *l, const report_run *run) {
    return strcmp(scant__names_get(&l->names, run->strategy), l->row->strategy) == 0;
}

/* Sets *run to the run of the row; false: curve.csv does not have it. The search begins
 * at the run found last, since rows of a run are next to each other. */
static bool find_run(report_loading *l, uint32_t *run) {
    const report_results *r = l->out;
    if (l->lost_seed == l->row->seed && strcmp(l->lost, l->row->strategy) == 0)
        return false;
    for (size_t i = 0; i < r->n_runs; i++) {
        size_t at = (l->last + i) % r->n_runs;
        const report_run *other = &r->runs[at];
        if (other->seed != l->row->seed || other->folder != l->folder) continue;
        if (!is_called(l, other)) continue;
        *run = (uint32_t)(l->last = at);
        return true;
    }
    l->lost_seed = l->row->seed;
    snprintf(l->lost, sizeof l->lost, "%s", l->row->strategy);
    return false;
}

/* Adds the run of the row. */
static scant_status add_run(report_loading *l) {
    report_results *r = l->out;
    const char *strategy = l->row->strategy;
    report_run run = {.folder = l->folder, .seed = l->row->seed, .read = r->n_runs};
    l->lost[0] = 0;
    run.strategy = l->names.count;
    if (r->n_runs == MOST_RUNS)
        return scant__fail(l->ctx, SCANT_EINPUT, "%s: has more than %d runs", l->file,
                           MOST_RUNS);
    for (size_t i = 0; i < r->n_runs; i++) {
        if (!is_called(l, &r->runs[i])) continue;
        run.strategy = r->runs[i].strategy;
        if (r->runs[i].seed == run.seed) l->clash[run.strategy] = true;
    }
    if (run.strategy == REPORT_MOST_STRATEGIES)
        return scant__fail(l->ctx, SCANT_EINPUT, "%s: has more than %d strategies",
                           l->file, REPORT_MOST_STRATEGIES);
    if (run.strategy == l->names.count)
        TRY(scant__names_add(l->ctx, &l->names, strategy, strlen(strategy)));
    TRY_PUSH(l->ctx, r->runs, r->n_runs, l->runs_room, run);
    return SCANT_OK;
}

/* ---- reading ----------------------------------------------------------------------- */

static scant_status take_point(void *self, size_t line) {
    report_loading *l = self;
    report_point *point = &l->row->point;
    if (!find_run(l, &point->run)) {
        TRY(add_run(l));
        l->last = point->run = (uint32_t)l->out->n_runs - 1;
    }
    point->line = line;
    point->lambda = point->ratio = point->epochs = NAN;
    point->dead = point->gradient_norm = NAN;
    TRY_PUSH(l->ctx, l->out->points, l->out->n_points, l->points_room, *point);
    return SCANT_OK;
}

/* Picks of runs that have not finished a round are left out. */
static scant_status take_pick(void *self, size_t line) {
    report_loading *l = self;
    report_pick *pick = &l->row->pick;
    (void)line;
    if (find_run(l, &pick->run))
        TRY_PUSH(l->ctx, l->out->picks, l->out->n_picks, l->picks_room, *pick);
    return SCANT_OK;
}

static scant_status check_bin(const report_loading *l, size_t line) {
    const csv_row *row = l->row;
    if (row->bin.when == REPORT_WHENS)
        return scant__fail(l->ctx, SCANT_EINPUT,
                           "%s: line %zu, column 'when': before or after is expected",
                           l->file, line);
    if (row->number < 1 || row->number > SCANT_CALIBRATION_BINS)
        return scant__fail(
            l->ctx, SCANT_EINPUT,
            "%s: line %zu, column 'bin': a number from 1 to %d is expected", l->file,
            line, SCANT_CALIBRATION_BINS);
    if (row->samples && (isnan(row->bin.confidence) || isnan(row->bin.accuracy)))
        return scant__fail(l->ctx, SCANT_EINPUT,
                           "%s: line %zu: a bin with samples needs a confidence and an "
                           "accuracy",
                           l->file, line);
    return SCANT_OK;
}

/* Empty bins are left out. */
static scant_status take_bin(void *self, size_t line) {
    report_loading *l = self;
    report_bin *bin = &l->row->bin;
    bin->when = REPORT_BEFORE;
    while (bin->when < REPORT_WHENS && strcmp(l->row->when, whens[bin->when]) != 0)
        bin->when++;
    TRY(check_bin(l, line));
    bin->bin = (uint32_t)l->row->number - 1;
    bin->count = (double)l->row->samples;
    bin->line = line;
    if (find_run(l, &bin->run) && l->row->samples)
        TRY_PUSH(l->ctx, l->out->bins, l->out->n_bins, l->bins_room, *bin);
    return SCANT_OK;
}

static int point_order(const void *a, const void *b) {
    const report_point *p = a, *q = b;
    if (p->run != q->run) return p->run < q->run ? -1 : 1;
    if (p->round != q->round) return p->round < q->round ? -1 : 1;
    return (p->line > q->line) - (p->line < q->line);
}

/* Returns the point of the row's run and round; NULL: curve.csv does not have it. */
static report_point *find_point(report_loading *l) {
    size_t n = l->out->n_points - l->first_point;
    report_point wanted = {.round = l->row->point.round}; /* line 0: before all others */
    if (!n || !find_run(l, &wanted.run)) return NULL;
    report_point *points = l->out->points + l->first_point;
    size_t at = REPORT_COUNT_FIRST(n, i, point_order(&points[i], &wanted) < 0);
    bool found =
        at < n && points[at].run == wanted.run && points[at].round == wanted.round;
    return found ? &points[at] : NULL;
}

static scant_status take_theory(void *self, size_t line) {
    report_loading *l = self;
    const report_point *row = &l->row->point;
    report_point *p = find_point(l);
    (void)line;
    if (!p) return SCANT_OK;
    p->lambda = row->lambda;
    p->ratio = row->ratio;
    p->epochs = row->epochs;
    return SCANT_OK;
}

/* Unknown signs are refused, because a report without them could hide a collapse. */
static scant_status read_signs(const report_loading *l, size_t line, uint64_t *signs) {
    char names[SCANT_SIGNS_SIZE], text[64];
    const char *cell = l->row->signs;
    *signs = scant_train_signs_of(cell);
    if (strcmp(scant_train_sign_names(*signs, names), cell) == 0) return SCANT_OK;
    return scant__fail(l->ctx, SCANT_EINPUT,
                       "%s: line %zu, column 'signs': names of signs such as "
                       "'dead-units loss' are expected, not '%s'",
                       l->file, line,
                       scant__printable(cell, strlen(cell), text, sizeof text));
}

static scant_status take_training(void *self, size_t line) {
    report_loading *l = self;
    const report_point *row = &l->row->point;
    uint64_t signs;
    TRY(read_signs(l, line, &signs));
    if (!row->trainings)
        return scant__fail(
            l->ctx, SCANT_EINPUT,
            "%s: line %zu, column 'trainings': at least 1 is expected, not 0", l->file,
            line);
    report_point *p = find_point(l);
    if (!p) return SCANT_OK;
    if (p->trainings)
        return scant__fail(l->ctx, SCANT_EINPUT,
                           "%s: line %zu: round %u of %s with seed %" PRIu64
                           " occurs twice",
                           l->file, line, row->round, l->row->strategy, l->row->seed);
    p->trainings = row->trainings;
    p->signs = signs;
    p->dead = row->dead;
    p->gradient_norm = row->gradient_norm;
    return SCANT_OK;
}

/* The results are for regression if any row has an error, else for classification. For
 * regression every row needs an error, for classification every row needs an accuracy. */
static scant_status check_values(const report_loading *l) {
    report_results *r = l->out;
    bool errors = false;
    if (r->n_points == l->first_point) return SCANT_OK;
    for (size_t i = l->first_point; i < r->n_points; i++)
        errors = errors || !isnan(r->points[i].error);
    if (l->first_point && errors != r->regression)
        return scant__fail(
            l->ctx, SCANT_EINPUT,
            "%s: classification and regression cannot be compared, and the "
            "folders have both",
            l->file);
    r->regression = errors;
    for (size_t i = l->first_point; i < r->n_points; i++)
        if (isnan(report_value(r, &r->points[i])))
            return scant__fail(l->ctx, SCANT_EINPUT, "%s: line %zu: the %s is missing",
                               l->file, r->points[i].line, errors ? "error" : "accuracy");
    return SCANT_OK;
}

/* ---- files ------------------------------------------------------------------------- */

const char *const report_file_names[REPORT_FILES] = {
    "curve.csv", "picks.csv", "calibration.csv", "theory.csv", "trainings.csv"};

#define COLUMNS(list) .columns = list, .n_columns = sizeof list / sizeof *list
static const report_table files[REPORT_FILES] = {
    [REPORT_CURVE] = {COLUMNS(curve_columns), .take = take_point},
    [REPORT_PICKS] = {COLUMNS(pick_columns), .take = take_pick},
    [REPORT_CALIBRATION] = {COLUMNS(bin_columns), .take = take_bin},
    [REPORT_THEORY] = {COLUMNS(theory_columns), .take = take_theory},
    [REPORT_TRAININGS] = {COLUMNS(training_columns), .take = take_training},
};

scant_status report_load_file(report_loading *l, report_file file, const void *bytes,
                              size_t size) {
    csv_row row = {0};
    report_table table = files[file];
    table.row = l->row = &row;
    table.self = l;
    if (file == REPORT_CURVE) l->first_point = l->out->n_points;
    TRY(report_table_read(l->ctx, l->file, bytes, size, &table));
    if (file != REPORT_CURVE) return SCANT_OK;
    if (table.found >> COLUMN_BEST & 1) l->out->has_best = true;
    TRY(check_values(l));
    if (l->out->n_points > l->first_point)
        qsort(l->out->points + l->first_point, l->out->n_points - l->first_point,
              sizeof *l->out->points, point_order);
    return SCANT_OK;
}

/* ---- writing ----------------------------------------------------------------------- */

/* Sets the row to item i of a run; false: nothing to write. */
static bool set_row(csv_row *row, const report_run *run, report_file file, size_t i,
                    char signs[SCANT_SIGNS_SIZE]) {
    if (file == REPORT_PICKS) {
        row->pick = run->picks[i];
    } else if (file == REPORT_CALIBRATION) {
        row->bin = run->bins[i];
        row->when = whens[row->bin.when];
        row->number = row->bin.bin + 1;
        row->samples = (uint64_t)row->bin.count;
    } else {
        const report_point *p = &run->points[i];
        row->point = *p;
        row->signs = scant_train_sign_names(p->signs, signs);
        if (file == REPORT_TRAININGS) return p->trainings > 0;
        return file == REPORT_CURVE || !isnan(p->lambda) || !isnan(p->ratio) ||
               !isnan(p->epochs);
    }
    return true;
}

void report_write_file(scant__text *out, const report_results *r, report_file file) {
    csv_row row = {0};
    char signs[SCANT_SIGNS_SIZE];
    report_table table = files[file];
    table.row = &row;
    table.found = ~0u;
    if (file == REPORT_CURVE && !r->has_best) table.found &= ~(1u << COLUMN_BEST);
    if (file == REPORT_CURVE && !r->regression) table.found &= ~(1u << COLUMN_ERROR);
    report_table_head(out, &table);
    for (size_t i = 0; i < r->n_runs; i++) {
        const report_run *run = &r->runs[i];
        size_t n = file == REPORT_PICKS         ? run->n_picks
                   : file == REPORT_CALIBRATION ? run->n_bins
                                                : run->n_points;
        row.strategy = r->strategies[run->strategy].name;
        row.seed = run->seed;
        for (size_t k = 0; k < n; k++)
            if (set_row(&row, run, file, k, signs)) report_table_row(out, &table);
    }
}
