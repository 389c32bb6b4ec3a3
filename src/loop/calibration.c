/* SPDX-License-Identifier: Apache-2.0
 *
 * Reliability diagrams of a round's network on the test set, before and after scaling by
 * a temperature. The temperature is never fitted on the test set. It is fitted on the
 * validation set; without one it is that of the round's calibrated probabilities, where
 * the strategy needed them (choose.c); else there is no diagram after scaling.
 *
 * calibration.csv has the non-empty ones of 15 bins, counted from 1.
 */
#include <jansson.h>
#include <math.h>

#include "loop/loop.h"
#include "scant/train.h"

static bool is_known(const scant_calibration *c) {
    for (size_t b = 0; b < SCANT_CALIBRATION_BINS; b++)
        if (c->bins[b].count) return true;
    return false;
}

scant_status loop_calibrate_after(loop_run *run) {
    const loop_samples *s = &run->job->samples;
    scant_evaluation e;
    if (s->regression || run->split.n_valid || !(run->round.temperature > 0))
        return SCANT_OK;
    enum loop_time before = loop_clock(run, LOOP_TESTING);
    scant_status status = scant_net_evaluate_at(run->net, s->test, s->test_rows,
                                                s->n_test, run->round.temperature, &e,
                                                &run->round.calibration.when[LOOP_AFTER]);
    loop_clock(run, before);
    return status;
}

scant_status loop_calibrated_evaluate(loop_run *run, scant_net *net, scant_evaluation *e,
                                      loop_calibration *out) {
    const loop_samples *s = &run->job->samples;
    *out = (loop_calibration){0};
    if (run->split.n_valid && !s->regression) {
        double temperature;
        TRY(loop_fit_held_out(run, net, &temperature));
        TRY(scant_net_evaluate_at(net, s->test, s->test_rows, s->n_test, temperature, e,
                                  &out->when[LOOP_AFTER]));
    } else {
        TRY(scant_net_evaluate(net, s->test, s->test_rows, s->n_test, e));
    }
    scant_calibration *before = &out->when[LOOP_BEFORE];
    before->temperature = 1;
    before->error = e->calibration;
    for (size_t b = 0; b < SCANT_CALIBRATION_BINS; b++) before->bins[b] = e->bins[b];
    return SCANT_OK;
}

/* ---- in a state's file ------------------------------------------------------------- */

static void print_one(scant__text *text, const scant_calibration *c) {
    bool first = true;
    if (!is_known(c)) {
        scant__text_add(text, "null");
        return;
    }
    scant__text_add(text, "[");
    scant__text_number(text, c->temperature, 17);
    scant__text_add(text, ", ");
    scant__text_number(text, c->error, 17);
    scant__text_add(text, ", [");
    for (size_t b = 0; b < SCANT_CALIBRATION_BINS; b++) {
        const scant_calibration_bin *bin = &c->bins[b];
        if (!bin->count) continue;
        scant__text_addf(text, "%s[%zu, %zu, ", first ? "" : ", ", b + 1, bin->count);
        scant__text_number(text, bin->confidence, 17);
        scant__text_add(text, ", ");
        scant__text_number(text, bin->accuracy, 17);
        scant__text_add(text, "]");
        first = false;
    }
    scant__text_add(text, "]]");
}

void loop_calibration_print(scant__text *text, const loop_calibration *c) {
    scant__text_add(text, "[");
    print_one(text, &c->when[LOOP_BEFORE]);
    scant__text_add(text, ", ");
    print_one(text, &c->when[LOOP_AFTER]);
    scant__text_add(text, "]");
}

static bool number_in(const json_t *value, double least, double most, double *out) {
    *out = json_number_value(value);
    return json_is_number(value) && *out >= least && *out <= most;
}

static bool read_bin(const json_t *row, scant_calibration *c) {
    const json_t *place = json_array_get(row, 0), *count = json_array_get(row, 1);
    json_int_t b = json_integer_value(place), n = json_integer_value(count);
    if (json_array_size(row) != 4 || !json_is_integer(place) || !json_is_integer(count) ||
        b < 1 || b > SCANT_CALIBRATION_BINS || n < 1 || n > (json_int_t)1 << 53)
        return false;
    scant_calibration_bin *bin = &c->bins[b - 1];
    if (bin->count) return false; /* twice */
    bin->count = (size_t)n;
    return number_in(json_array_get(row, 2), 0, 1, &bin->confidence) &&
           number_in(json_array_get(row, 3), 0, 1, &bin->accuracy);
}

static bool read_one(const json_t *value, scant_calibration *c) {
    const json_t *bins = json_array_get(value, 2);
    if (json_is_null(value)) return true;
    if (json_array_size(value) != 3 ||
        !number_in(json_array_get(value, 0), 1e-100, 1e100, &c->temperature) ||
        !number_in(json_array_get(value, 1), 0, 1, &c->error) || !json_is_array(bins))
        return false;
    for (size_t i = 0; i < json_array_size(bins); i++)
        if (!read_bin(json_array_get(bins, i), c)) return false;
    return true;
}

bool loop_calibration_read(const json_t *value, loop_calibration *out) {
    *out = (loop_calibration){0};
    return json_array_size(value) == LOOP_WHENS &&
           read_one(json_array_get(value, 0), &out->when[LOOP_BEFORE]) &&
           read_one(json_array_get(value, 1), &out->when[LOOP_AFTER]);
}

/* ---- calibration.csv --------------------------------------------------------------- */

void loop_calibration_lines(loop_run *run, size_t round) {
    static const char *const names[LOOP_WHENS] = {"before", "after"};
    scant__text *text = &run->calibrations;
    for (size_t w = 0; w < LOOP_WHENS; w++) {
        const scant_calibration *c = &run->state.calibrations[round].when[w];
        for (size_t b = 0; b < SCANT_CALIBRATION_BINS; b++) {
            const scant_calibration_bin *bin = &c->bins[b];
            if (!bin->count) continue;
            loop_folder_name(run, round, text);
            scant__text_addf(text, "%s,", names[w]);
            scant__text_number(text, c->temperature, 9);
            scant__text_addf(text, ",%zu,%zu,", b + 1, bin->count);
            scant__text_number(text, bin->confidence, 9);
            scant__text_add(text, ",");
            scant__text_number(text, bin->accuracy, 9);
            scant__text_add(text, "\n");
        }
    }
}
