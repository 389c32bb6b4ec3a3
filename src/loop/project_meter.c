/* SPDX-License-Identifier: Apache-2.0
 *
 * The meter: the accuracy of models on audited items, and the stop rule.
 *
 * The audit set is the beginning of a random order that is fixed before anybody labels.
 * No model is trained on it and no strategy sees it, so its labelled items are an
 * independent sample of the project's items, whatever was picked: the accuracy of a model
 * is unbiased, and the interval of Clopper and Pearson is exact for each model by itself.
 * A model's verdicts on the audit set are stored when it is trained, so later labels also
 * evaluate earlier models. A model is evaluated on the items that existed then: items
 * added later take early places in the order, and while these have no label the labelled
 * ones behind them are a sample of the earlier items only.
 *
 * left_out counts items of the audit set that are unsure or disputed: they have no label,
 * and are probably the hard ones.
 *
 * per_ten compares the last model with the earliest one within the last stop_labels
 * labels, on the items that both have verdicts on: the mean difference per ten labels;
 * its interval is that of project_gain_of().
 */
#include <math.h>
#include <string.h>

#include "core/beta.h"
#include "loop/project.h"
#include "scant/project.h"

enum { LEAST_SPAN = 10 }; /* labels between two models that are compared */

/* ---- models ------------------------------------------------------------------------ */

typedef struct line {
    scant_model_point point;
    store_model model;
    size_t left_out;
} line;

typedef struct lines {
    scant_project *project;
    scant__arena *arena;
    line *all;
    size_t n, room;
} lines;

static scant_status count_model(void *user, const store_model *model) {
    (void)model;
    ++*(size_t *)user;
    return SCANT_OK;
}

static scant_status note_model(void *user, const store_model *model) {
    lines *l = user;
    if (l->n == l->room) return SCANT_OK; /* added in the meantime */
    char *file = scant__arena_strdup(l->arena, model->file);
    if (!file) return SCANT_ENOMEM;
    line *at = &l->all[l->n++];
    at->model = *model;
    at->model.file = file;
    at->point = (scant_model_point){.model = model->number,
                                    .at = model->at,
                                    .labels = model->labels,
                                    .accuracy = NAN,
                                    .low = NAN,
                                    .high = NAN,
                                    .agreement = model->agreement,
                                    .seconds = model->seconds,
                                    .file = file};
    return SCANT_OK;
}

static scant_status evaluate(lines *l, line *at) {
    scant__arena arena;
    store_judged j;
    scant__arena_init(&arena, store_ctx(l->project));
    scant_status status = store_verdicts(l->project, at->model.number, 0, &arena, &j);
    scant_model_point *p = &at->point;
    if (status == SCANT_OK) {
        for (size_t i = 0; i < j.n; i++) p->right += j.verdicts[i] == j.labels[i];
        p->audited = j.n;
        at->left_out = j.left_out;
    }
    if (p->audited) {
        scant__interval i = scant__share_interval(p->right, p->audited, 0.95);
        p->accuracy = (double)p->right / (double)p->audited;
        p->low = i.low;
        p->high = i.high;
    }
    scant__arena_end(&arena);
    return status;
}

/* A model's round: the last one picked by an earlier model, or by none. */
static scant_status note_round(void *user, const scant_round_point *round) {
    lines *l = user;
    for (size_t i = 0; i < l->n; i++)
        if (round->model < l->all[i].point.model) l->all[i].point.round = round->round;
    return SCANT_OK;
}

/* Evaluates the last `evaluated` models. */
static scant_status read_models(scant_project *project, scant__arena *arena,
                                size_t evaluated, lines *out) {
    size_t n = 0;
    *out = (lines){.project = project, .arena = arena};
    TRY(store_models(project, count_model, &n));
    out->all = scant__arena_alloc(arena, n + 1, sizeof *out->all);
    if (!out->all) return SCANT_ENOMEM;
    out->room = n;
    TRY(store_models(project, note_model, out));
    TRY(scant_project_rounds(project, note_round, out));
    for (size_t i = out->n - size_min(evaluated, out->n); i < out->n; i++)
        TRY(evaluate(out, &out->all[i]));
    return SCANT_OK;
}

scant_status scant_project_models(scant_project *project,
                                  scant_status (*fn)(void *user,
                                                     const scant_model_point *point),
                                  void *user) {
    scant__arena arena;
    lines l;
    scant__arena_init(&arena, store_ctx(project));
    scant_status status = read_models(project, &arena, SIZE_MAX, &l);
    for (size_t i = 0; i < l.n && status == SCANT_OK; i++)
        status = fn(user, &l.all[i].point);
    scant__arena_end(&arena);
    return status;
}

/* ---- the meter --------------------------------------------------------------------- */

/* Compares two models on the items that both have verdicts on, which are those of the
 * earlier model. Both lists are in the audit order. */
static scant_status compare(scant_project *project, const line *early, const line *late,
                            scant__arena *arena, project_gain *out) {
    store_judged a, b;
    size_t better = 0, worse = 0, n = 0, j = 0;
    TRY(store_verdicts(project, early->model.number, 0, arena, &a));
    TRY(store_verdicts(project, late->model.number, early->model.items, arena, &b));
    for (size_t i = 0; i < a.n; i++) {
        size_t k = j;
        while (k < b.n && b.items[k] != a.items[i]) k++;
        if (k == b.n) continue;
        j = k + 1;
        bool before = a.verdicts[i] == a.labels[i], after = b.verdicts[k] == b.labels[k];
        better += after && !before;
        worse += before && !after;
        n++;
    }
    *out = project_gain_of(better, worse, n);
    return SCANT_OK;
}

static scant_status measure_gain(scant_project *project, const lines *l,
                                 scant__arena *arena, scant_meter *out) {
    project_gain gain;
    const line *late = &l->all[l->n - 1], *early = NULL;
    double span = store_number(project, "stop_labels");
    for (size_t i = 0; i + 1 < l->n && !early; i++) {
        const line *at = &l->all[i];
        if (at->model.labels + LEAST_SPAN <= late->model.labels &&
            (double)at->model.labels + span >= (double)late->model.labels)
            early = at;
    }
    /* Rounds may be longer than the span: then take the latest model before. */
    for (size_t i = l->n - 1; i-- > 0 && !early;)
        if (l->all[i].model.labels + LEAST_SPAN <= late->model.labels) early = &l->all[i];
    if (!early) return SCANT_OK;
    TRY(compare(project, early, late, arena, &gain));
    double by = 10 / (double)(late->model.labels - early->model.labels);
    out->per_ten = by * gain.mean;
    out->per_ten_high = by * gain.high;
    return SCANT_OK;
}

static bool agree(const line *at, double enough) { return at->model.agreement >= enough; }

static void decide(scant_project *project, const lines *l, scant_meter *out) {
    double width = store_number(project, "stop_width");
    double gain = store_number(project, "stop_gain");
    double enough = store_number(project, "stop_agreement");
    const scant_model_point *p = &out->last;
    out->narrow = p->audited && p->high - p->low <= width;
    out->fading = out->per_ten < gain; /* false for NaN */
    out->agreeing =
        l->n >= 3 && agree(&l->all[l->n - 1], enough) && agree(&l->all[l->n - 2], enough);
    /* The conditions say nothing about items that were added since. */
    out->stop = out->narrow && out->fading && out->agreeing && !out->added;
}

static scant_status read_meter(scant_project *project, scant__arena *arena,
                               scant_meter *out) {
    lines l;
    size_t items;
    TRY(read_models(project, arena, 1, &l));
    if (!l.n) return SCANT_OK;
    const store_model *last = &l.all[l.n - 1].model;
    out->last = l.all[l.n - 1].point;
    out->left_out = l.all[l.n - 1].left_out;
    TRY(store_items(project, &items));
    out->added = items > last->items ? items - last->items : 0;
    out->over_random = last->over_random;
    out->over_random_low = last->over_random_low;
    out->over_random_high = last->over_random_high;
    out->over_random_labels = last->over_random_labels;
    TRY(measure_gain(project, &l, arena, out));
    decide(project, &l, out);
    return SCANT_OK;
}

scant_status scant_project_meter(scant_project *project, scant_meter *out) {
    scant__arena arena;
    *out = (scant_meter){0};
    out->last.accuracy = out->last.low = out->last.high = out->last.agreement = NAN;
    out->over_random = out->over_random_low = out->over_random_high = NAN;
    out->per_ten = out->per_ten_high = NAN;
    scant__arena_init(&arena, store_ctx(project));
    scant_status status = read_meter(project, &arena, out);
    if (status == SCANT_OK && out->last.file)
        status = project_note(project, &out->last.file);
    scant__arena_end(&arena);
    return status;
}
