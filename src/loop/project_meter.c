/* SPDX-License-Identifier: Apache-2.0
 *
 * The meter: the accuracy of models on audited items, and the stop rule.
 *
 * The audit set is the beginning of a random order that is fixed before anybody labels.
 * No model is trained on it and no strategy sees it, so its labelled items are an
 * independent sample of the project's items, whatever was picked: the accuracy of a model
 * is unbiased, and the interval of Clopper and Pearson is exact for each model by itself.
 * A model's predictions for the audit set are stored when it is trained, so later labels
 * also evaluate earlier models. A model is evaluated only on items that existed when it
 * was trained. Items added later may come early in the audit order; until they are
 * labelled, the labelled items after them are a random sample of the older items only.
 *
 * left_out counts items of the audit set that are skipped, unsure or disputed: they have
 * no label, and are probably harder than the others.
 *
 * per_ten compares the last model with the earliest one within the last stop_labels
 * labels: the difference of accuracy on the items that both have predicted, per ten
 * labels, with the interval of project_gain_of().
 */
#include <math.h>

#include "core/beta.h"
#include "loop/project.h"
#include "scant/project.h"

enum { LEAST_SPAN = 10 }; /* minimum number of labels between two compared models */

/* ---- models ------------------------------------------------------------------------ */

typedef struct model_list {
    store_model *models;
    scant_model_point *points;
    size_t n, left_out; /* left_out: of the last model */
} model_list;

static scant_status evaluate(scant_project *project, model_list *l, size_t i) {
    AUTO(scant__arena_end) scant__arena arena = {.ctx = store_ctx(project)};
    scant_model_point *p = &l->points[i];
    store_predictions j;
    TRY(store_predictions_read(project, p->model, 0, &arena, &j));
    for (size_t k = 0; k < j.n; k++) p->right += j.predicted[k] == j.labels[k];
    p->audited = j.n;
    l->left_out = j.left_out;
    if (!p->audited) return SCANT_OK;
    scant__interval interval = scant__binomial_interval(p->right, p->audited, 0.95);
    p->accuracy = (double)p->right / (double)p->audited;
    p->low = interval.low;
    p->high = interval.high;
    return SCANT_OK;
}

/* Sets each model's round: the last round that was picked by an earlier model, or without
 * a model. */
static scant_status note_round(void *user, const scant_round_point *round) {
    model_list *l = user;
    for (size_t i = 0; i < l->n; i++)
        if (round->model < l->points[i].model) l->points[i].round = round->round;
    return SCANT_OK;
}

/* Evaluates the last `evaluated` models. */
static scant_status read_models(scant_project *project, scant__arena *arena,
                                size_t evaluated, model_list *out) {
    *out = (model_list){0};
    TRY(store_models(project, arena, &out->models, &out->n));
    out->points = TRY_NEW(arena, scant_model_point, out->n);
    for (size_t i = 0; i < out->n; i++) {
        const store_model *m = &out->models[i];
        out->points[i] = (scant_model_point){.model = m->number,
                                             .at = m->at,
                                             .labels = m->labels,
                                             .accuracy = NAN,
                                             .low = NAN,
                                             .high = NAN,
                                             .agreement = m->agreement,
                                             .seconds = m->seconds,
                                             .file = m->file};
    }
    TRY(scant_project_rounds(project, note_round, out));
    for (size_t i = out->n - size_min(evaluated, out->n); i < out->n; i++)
        TRY(evaluate(project, out, i));
    return SCANT_OK;
}

scant_status scant_project_models(scant_project *project,
                                  scant_status (*fn)(void *user,
                                                     const scant_model_point *point),
                                  void *user) {
    NEED(project);
    AUTO(scant__arena_end) scant__arena arena = {.ctx = store_ctx(project)};
    model_list l;
    TRY(read_models(project, &arena, SIZE_MAX, &l));
    for (size_t i = 0; i < l.n; i++) TRY(fn(user, &l.points[i]));
    return SCANT_OK;
}

/* ---- the meter --------------------------------------------------------------------- */

/* Compares two models on the items that both have predicted, which are those of the
 * earlier model. Both lists are in the audit order. */
static scant_status compare(scant_project *project, const store_model *early,
                            const store_model *late, scant__arena *arena,
                            project_gain *out) {
    store_predictions a, b;
    size_t better = 0, worse = 0, n = 0, j = 0;
    TRY(store_predictions_read(project, early->number, 0, arena, &a));
    TRY(store_predictions_read(project, late->number, early->items, arena, &b));
    for (size_t i = 0; i < a.n; i++) {
        size_t k = j;
        while (k < b.n && b.items[k] != a.items[i]) k++;
        if (k == b.n) continue;
        j = k + 1;
        bool before = a.predicted[i] == a.labels[i],
             after = b.predicted[k] == b.labels[k];
        better += after && !before;
        worse += before && !after;
        n++;
    }
    *out = project_gain_of(better, worse, n);
    return SCANT_OK;
}

static scant_status measure_gain(scant_project *project, const model_list *l,
                                 scant__arena *arena, scant_meter *out) {
    project_gain gain;
    const store_model *late = &l->models[l->n - 1], *early = NULL;
    double span = store_number(project, "stop_labels");
    for (const store_model *at = l->models; at < late && !early; at++)
        if (at->labels + LEAST_SPAN <= late->labels &&
            (double)at->labels + span >= (double)late->labels)
            early = at;
    /* Rounds may be longer than stop_labels: then take the latest earlier model. */
    for (const store_model *at = late; at-- > l->models && !early;)
        if (at->labels + LEAST_SPAN <= late->labels) early = at;
    if (!early) return SCANT_OK;
    TRY(compare(project, early, late, arena, &gain));
    double by = 10 / (double)(late->labels - early->labels);
    out->per_ten = by * gain.mean;
    out->per_ten_high = by * gain.high;
    return SCANT_OK;
}

static void decide(scant_project *project, const model_list *l, scant_meter *out) {
    double width = store_number(project, "stop_width");
    double gain = store_number(project, "stop_gain");
    double enough = store_number(project, "stop_agreement");
    const scant_model_point *p = &out->last;
    out->narrow = p->audited && p->high - p->low <= width;
    out->fading = out->per_ten < gain; /* false for NaN */
    out->agreeing = l->n >= 3 && l->models[l->n - 1].agreement >= enough &&
                    l->models[l->n - 2].agreement >= enough;
    /* The conditions say nothing about items that were added since. */
    out->stop = out->narrow && out->fading && out->agreeing && !out->added;
}

scant_status scant_project_meter(scant_project *project, scant_meter *out) {
    NEED(project);
    AUTO(scant__arena_end) scant__arena arena = {.ctx = store_ctx(project)};
    model_list l;
    size_t items;
    *out = (scant_meter){0};
    out->last.accuracy = out->last.low = out->last.high = out->last.agreement = NAN;
    out->over_random = out->over_random_low = out->over_random_high = NAN;
    out->per_ten = out->per_ten_high = NAN;
    TRY(read_models(project, &arena, 1, &l));
    if (!l.n) return SCANT_OK;
    const store_model *last = &l.models[l.n - 1];
    out->last = l.points[l.n - 1];
    out->left_out = l.left_out;
    TRY(store_items(project, &items));
    out->added = items > last->items ? items - last->items : 0;
    out->over_random = last->over_random;
    out->over_random_low = last->over_random_low;
    out->over_random_high = last->over_random_high;
    out->over_random_labels = last->over_random_labels;
    TRY(measure_gain(project, &l, &arena, out));
    decide(project, &l, out);
    return project_note(project, &out->last.file);
}
