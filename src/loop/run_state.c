/* SPDX-License-Identifier: Apache-2.0
 *
 * A run's state, in memory and as a file of JSON:
 *
 *   {"scant run": 5, "strategy": "badge", "seed": "0", "over": false,
 *    "rounds": [[labels, accuracy, loss, best, train seconds, select seconds], ...],
 *    "picks": [[[index, weight, score], ...], ...], "memory": "...",
 *    "samples": "0123456789abcdef", "calibration": [[before, after], ...],
 *    "theory": [[lambda, ...], ...],
 *    "trainings": [[trainings, "signs", dead, gradient norm], ...],
 *    "checksum": "0123456789abcdef"}
 *
 * 5 is the version of this format. over is true if the run ended before its last round.
 * picks has a list for each round: the initial set, then the rows added before each
 * training. It is one longer than rounds, unless the run has ended. memory is the state
 * of the strategy, if it has one. samples is the hash of the samples that the run started
 * with. calibration has a pair of diagrams for each round. A diagram is null (unknown) or
 * [temperature, error, bins], with a [number from 1, count, confidence, accuracy] for
 * each non-empty bin. theory has the figures of each round (theory.c), trainings has a
 * loop_health for each. checksum is the hash of all bytes before it, so that a damaged
 * file is not resumed. Numbers that are not finite are null, "inf" or "-inf". "partial"
 * is present if a round was cancelled:
 *
 *   {"round": 3, "parts": "tta.", "query": ".", "models": [[accuracy, loss, best,
 *    score, horizon], ...], "best": [accuracy, loss, horizon], "seconds": [train, test],
 *    "calibration": [[before, after], ...], "epochs": [12, 9, 0, 0], "trainings": [...],
 *    "query training": [[...]]}
 *
 * parts and query: training states (loop.h). models and calibration: results of the
 * evaluated models. best: best test accuracy, smallest test loss and its epoch so far of
 * the model in training. epochs: number of epochs of each part's training; trainings: its
 * health. query training: that of the query network; it may be missing.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/hash.h"
#include "core/json_read.h"
#include "core/option.h"
#include "data/source.h"
#include "loop/loop.h"
#include "scant/train.h"

enum { VERSION = 5, EXACT = 17 }; /* EXACT: digits that give the same double */
#define MOST_EPOCHS ((size_t)1 << 53)

scant_status loop_state_init(scant__arena *arena, size_t rounds, size_t most_picks,
                             loop_state *out) {
    *out = (loop_state){.room_picks = most_picks};
    out->points = TRY_ZERO(arena, loop_point, rounds + 1);
    out->ends = TRY_ZERO(arena, size_t, rounds + 1);
    out->picks = TRY_ZERO(arena, loop_pick, most_picks + 1);
    out->calibrations = TRY_ZERO(arena, loop_calibration, rounds + 1);
    out->theories = TRY_NEW(arena, loop_theory, rounds + 1);
    out->healths = TRY_ZERO(arena, loop_health, rounds + 1);
    for (size_t i = 0; i <= rounds; i++) out->theories[i] = loop_theory_unknown();
    return SCANT_OK;
}

size_t loop_state_labels(const loop_state *state, size_t round) {
    return round < state->n_batches ? state->ends[round] : loop_state_picks(state);
}

size_t loop_state_picks(const loop_state *state) {
    return state->n_batches ? state->ends[state->n_batches - 1] : 0;
}

void loop_state_add(loop_state *state, const loop_pick *picks, size_t count) {
    size_t at = loop_state_picks(state);
    count = size_min(count, state->room_picks - at);
    if (count) memcpy(state->picks + at, picks, count * sizeof *picks);
    state->ends[state->n_batches++] = at + count;
}

/* ---- the checksum ------------------------------------------------------------------ */

#define CHECKSUM "checksum"

static uint64_t hash_of(const char *bytes, size_t size) {
    return bytes ? scant__hash(SCANT__HASH_FIRST, bytes, size) : 0;
}

/* Whether the last member is the checksum of the bytes before it and its comma. */
static bool is_whole(const char *bytes, size_t size) {
    static const char key[] = "\"" CHECKSUM "\":\"";
    const size_t length = sizeof key - 1, digits = 16;
    char want[24];
    for (size_t at = size; at-- > 0;) {
        if (size - at < length + digits || memcmp(bytes + at, key, length) != 0) continue;
        size_t end = at;
        while (end && strchr(", \n", bytes[end - 1])) end--;
        snprintf(want, sizeof want, "%016" PRIx64, hash_of(bytes, end));
        return memcmp(bytes + at + length, want, digits) == 0;
    }
    return false;
}

/* ---- writing ----------------------------------------------------------------------- */

static void add_number(scant__json *json, const char *key, double value) {
    if (isinf(value))
        scant__json_string(json, key, value > 0 ? "inf" : "-inf");
    else
        scant__json_rounded(json, key, value, EXACT);
}

static void add_numbers(scant__json *json, const char *key, const double *numbers,
                        size_t n) {
    scant__json_open(json, key, '[');
    for (size_t i = 0; i < n; i++) add_number(json, NULL, numbers[i]);
    scant__json_close(json, ']');
}

static void add_points(scant__json *json, const loop_state *s) {
    scant__json_open(json, "rounds", '[');
    for (const loop_point *p = s->points; p < s->points + s->n_points; p++)
        add_numbers(json, NULL,
                    (const double[]){(double)p->labels, p->accuracy, p->loss, p->best,
                                     p->train_seconds, p->select_seconds},
                    6);
    scant__json_close(json, ']');
}

static void add_picks(scant__json *json, const loop_state *s) {
    scant__json_open(json, "picks", '[');
    for (size_t round = 0, i = 0; round < s->n_batches; round++) {
        scant__json_open(json, NULL, '[');
        for (; i < s->ends[round]; i++) {
            const loop_pick *p = &s->picks[i];
            add_numbers(json, NULL,
                        (const double[]){(double)p->index, p->weight, p->score}, 3);
        }
        scant__json_close(json, ']');
    }
    scant__json_close(json, ']');
}

static void add_diagram(scant__json *json, const scant_calibration *c) {
    bool known = false;
    for (size_t b = 0; b < SCANT_CALIBRATION_BINS; b++) {
        const scant_calibration_bin *bin = &c->bins[b];
        if (!bin->count) continue;
        if (!known) {
            scant__json_open(json, NULL, '[');
            add_number(json, NULL, c->temperature);
            add_number(json, NULL, c->error);
            scant__json_open(json, NULL, '[');
        }
        known = true;
        add_numbers(json, NULL,
                    (const double[]){(double)(b + 1), (double)bin->count, bin->confidence,
                                     bin->accuracy},
                    4);
    }
    if (known)
        scant__json_close(json, ']'), scant__json_close(json, ']');
    else
        scant__json_null(json, NULL);
}

static void add_calibration(scant__json *json, const loop_calibration *c) {
    scant__json_open(json, NULL, '[');
    add_diagram(json, &c->when[LOOP_BEFORE]);
    add_diagram(json, &c->when[LOOP_AFTER]);
    scant__json_close(json, ']');
}

static void add_healths(scant__json *json, const char *key, const loop_health *healths,
                        size_t n) {
    scant__json_open(json, key, '[');
    for (size_t i = 0; i < n; i++) {
        const loop_health *h = &healths[i];
        char names[SCANT_SIGNS_SIZE];
        scant__json_open(json, NULL, '[');
        scant__json_size(json, NULL, h->trainings);
        scant__json_string(json, NULL, scant_train_sign_names(h->signs, names));
        add_number(json, NULL, h->dead);
        add_number(json, NULL, h->gradient_norm);
        scant__json_close(json, ']');
    }
    scant__json_close(json, ']');
}

static void add_partial(scant__json *json, const loop_partial *p) {
    scant__json_open(json, "partial", '{');
    scant__json_size(json, "round", p->round);
    scant__json_bytes(json, "parts", p->n_parts ? p->parts : "", p->n_parts);
    scant__json_bytes(json, "query", &p->query, 1);
    scant__json_open(json, "models", '[');
    for (size_t i = 0; i < p->n_tested; i++) {
        const loop_test_result *v = &p->results[i];
        add_numbers(
            json, NULL,
            (const double[]){v->accuracy, v->loss, v->best, v->score, (double)v->horizon},
            5);
    }
    scant__json_close(json, ']');
    add_numbers(json, "best", (const double[]){p->best, p->lowest, (double)p->horizon},
                3);
    add_numbers(json, "seconds", (const double[]){p->train_seconds, p->test_seconds}, 2);
    scant__json_open(json, "calibration", '[');
    for (size_t i = 0; i < p->n_tested; i++)
        add_calibration(json, &p->results[i].calibration);
    scant__json_close(json, ']');
    scant__json_open(json, "epochs", '[');
    for (size_t i = 0; i < p->n_parts; i++) scant__json_size(json, NULL, p->epochs[i]);
    scant__json_close(json, ']');
    add_healths(json, "trainings", p->healths, p->n_parts);
    add_healths(json, "query training", &p->query_health, 1);
    scant__json_close(json, '}');
}

scant_status loop_state_print(scant_ctx *ctx, loop_run_name name, const loop_state *s,
                              char **bytes, size_t *size) {
    scant__json json = {.text.ctx = ctx, .lines = 2}; /* a line for each round */
    char seed[24];
    snprintf(seed, sizeof seed, "%" PRIu64, name.seed);
    scant__json_open(&json, NULL, '{');
    JSON_MEMBERS(&json, MEMBER("scant run", (int64_t)VERSION),
                 MEMBER("strategy", name.strategy), MEMBER("seed", seed),
                 MEMBER("over", s->over));
    add_points(&json, s);
    add_picks(&json, s);
    if (s->partial.on_disk) add_partial(&json, &s->partial);
    if (s->strategy_state) scant__json_string(&json, "memory", s->strategy_state);
    scant__json_hex64(&json, "samples", s->samples);
    scant__json_open(&json, "calibration", '[');
    for (size_t i = 0; i < s->n_points; i++) add_calibration(&json, &s->calibrations[i]);
    scant__json_close(&json, ']');
    scant__json_open(&json, "theory", '[');
    for (size_t i = 0; i < s->n_points; i++)
        add_numbers(&json, NULL, s->theories[i].figures, LOOP_FIGURES);
    scant__json_close(&json, ']');
    add_healths(&json, "trainings", s->healths, s->n_points);
    scant__json_hex64(&json, CHECKSUM, hash_of(json.text.data, json.text.size));
    scant__json_close(&json, '}');
    scant__text_add(&json.text, "\n");
    return scant__text_take(&json.text, bytes, size);
}

scant_status loop_state_write(scant_ctx *ctx, const char *path, loop_run_name name,
                              const loop_state *s) {
    char *bytes;
    size_t size;
    TRY(loop_state_print(ctx, name, s, &bytes, &size));
    scant_status status = scant_file_write(ctx, path, bytes, size);
    scant__free(ctx, bytes);
    return status;
}

/* ---- reading ----------------------------------------------------------------------- */

typedef struct expected {
    scant_ctx *ctx;
    const char *path;
    loop_run_name name;
    size_t rounds, rows;
} expected;

static scant_status damaged(const expected *x, const char *what) {
    return scant__fail(x->ctx, SCANT_EINPUT,
                       "%s: not a valid state of this experiment's run: %s", x->path,
                       what);
}

static double number_of(const json_t *value) {
    const char *text = json_string_value(value);
    if (text && strcmp(text, "inf") == 0) return (double)INFINITY;
    if (text && strcmp(text, "-inf") == 0) return -(double)INFINITY;
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static bool count_of(const json_t *value, size_t most, size_t *out) {
    json_int_t n = json_integer_value(value);
    if (!json_is_integer(value) || n < 0 || (uint64_t)n > most) return false;
    *out = (size_t)n;
    return true;
}

static bool read_numbers(const json_t *row, size_t n, double *out) {
    for (size_t i = 0; i < n; i++) out[i] = number_of(json_array_get(row, i));
    return json_array_size(row) == n;
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
    if (bin->count) return false; /* the bin is listed twice */
    bin->count = (size_t)n;
    return number_in(json_array_get(row, 2), 0, 1, &bin->confidence) &&
           number_in(json_array_get(row, 3), 0, 1, &bin->accuracy);
}

static bool read_diagram(const json_t *value, scant_calibration *c) {
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

static bool calibration_of(const json_t *value, loop_calibration *out) {
    *out = (loop_calibration){0};
    return json_array_size(value) == LOOP_WHENS &&
           read_diagram(json_array_get(value, 0), &out->when[LOOP_BEFORE]) &&
           read_diagram(json_array_get(value, 1), &out->when[LOOP_AFTER]);
}

static scant_status read_points(const expected *x, const json_t *list, loop_state *s) {
    size_t n = json_array_size(list);
    if (!json_is_array(list) || n > x->rounds + 1)
        return damaged(x,
                       "\"rounds\" is not a list, or is longer than loop.rounds allows");
    for (size_t i = 0; i < n; i++) {
        const json_t *row = json_array_get(list, i);
        double v[6];
        size_t labels;
        if (!read_numbers(row, 6, v) ||
            !count_of(json_array_get(row, 0), s->room_picks, &labels))
            return damaged(x, "a round is not a list of six numbers");
        s->points[i] = (loop_point){labels, v[1], v[2], v[3], v[4], v[5]};
    }
    s->n_points = n;
    return SCANT_OK;
}

/* Reads entry i of a list that must have n entries. */
static scant_status read_calibration(const expected *x, const json_t *list, size_t n,
                                     size_t i, loop_calibration *out) {
    if (json_array_size(list) != n || !calibration_of(json_array_get(list, i), out))
        return damaged(x, "\"calibration\" does not have valid bins for each round");
    return SCANT_OK;
}

static scant_status read_theory(const expected *x, const json_t *list, loop_state *s) {
    bool fine = json_is_array(list) && json_array_size(list) == s->n_points;
    for (size_t i = 0; fine && i < s->n_points; i++) {
        const json_t *row = json_array_get(list, i);
        fine = read_numbers(row, LOOP_FIGURES, s->theories[i].figures);
        for (size_t k = 0; k < LOOP_FIGURES; k++)
            fine = fine && (json_is_number(json_array_get(row, k)) ||
                            json_is_null(json_array_get(row, k)));
    }
    return fine ? SCANT_OK
                : damaged(x, "\"theory\" does not have the figures of each round");
}

static scant_status read_healths(const expected *x, const json_t *list, size_t n,
                                 loop_health *out) {
    bool fine = json_array_size(list) == n;
    for (size_t i = 0; fine && i < n; i++) {
        const json_t *row = json_array_get(list, i);
        const char *names = json_string_value(json_array_get(row, 1));
        loop_health *h = &out[i];
        fine = json_array_size(row) == 4 && names &&
               count_of(json_array_get(row, 0), 2, &h->trainings) &&
               number_in(json_array_get(row, 2), -1, 1, &h->dead) &&
               number_in(json_array_get(row, 3), -1, INFINITY, &h->gradient_norm);
        if (fine) h->signs = scant_train_signs_of(names);
    }
    return fine ? SCANT_OK
                : damaged(x, "\"trainings\" does not have the figures of each training");
}

static scant_status read_batch(const expected *x, const json_t *list, bool *taken,
                               loop_state *s) {
    size_t at = loop_state_picks(s), n = json_array_size(list);
    if (!json_is_array(list) || n > s->room_picks - at)
        return damaged(x, "the picks of a round are not a list, or are too many");
    for (size_t i = 0; i < n; i++) {
        const json_t *row = json_array_get(list, i);
        double v[3];
        size_t index;
        if (!read_numbers(row, 3, v) || !x->rows ||
            !count_of(json_array_get(row, 0), x->rows - 1, &index))
            return damaged(x, "a pick is not a row number with weight and score");
        if (taken[index]) return damaged(x, "a row is picked twice");
        if (!isfinite(v[1]))
            return damaged(x, "the weight of a pick is not a finite number");
        taken[index] = true;
        s->picks[at + i] = (loop_pick){index, v[1], v[2]};
    }
    s->ends[s->n_batches++] = at + n;
    return SCANT_OK;
}

static scant_status read_picks(const expected *x, const json_t *list, loop_state *s) {
    size_t n = json_array_size(list);
    if (!json_is_array(list) || n > x->rounds + 1)
        return damaged(x,
                       "\"picks\" is not a list, or is longer than loop.rounds allows");
    AUTO(scant__arena_end) scant__arena arena = {.ctx = x->ctx};
    bool *taken = TRY_ZERO(&arena, bool, x->rows + 1);
    for (size_t i = 0; i < n; i++) TRY(read_batch(x, json_array_get(list, i), taken, s));
    return SCANT_OK;
}

static scant_status check_whole(const expected *x, const loop_state *s) {
    if (s->over && !s->n_points)
        return damaged(x, "\"over\" is true, but there are no rounds");
    size_t wanted = s->over ? s->n_points : size_min(s->n_points, x->rounds) + 1;
    if (s->n_batches != wanted)
        return damaged(x, "\"picks\" does not match \"rounds\" in length");
    for (size_t i = 0; i < s->n_points; i++)
        if (s->points[i].labels != s->ends[i])
            return damaged(
                x, "the number of labels of a round differs from the number of picks");
    return SCANT_OK;
}

static scant_status read_results(const expected *x, const json_t *root,
                                 scant__arena *arena, loop_partial *p) {
    const json_t *list = json_object_get(root, "models");
    const json_t *calibration = json_object_get(root, "calibration");
    size_t n = json_array_size(list);
    if (!json_is_array(list) || n > p->n_parts)
        return damaged(
            x, "\"models\" of \"partial\" is not a list, or is longer than its parts");
    p->n_tested = n;
    p->results = TRY_ZERO(arena, loop_test_result, p->n_parts + 1);
    for (size_t i = 0; i < n; i++) {
        const json_t *row = json_array_get(list, i);
        double v[5];
        size_t horizon;
        if (!read_numbers(row, 5, v) ||
            !count_of(json_array_get(row, 4), MOST_EPOCHS, &horizon))
            return damaged(x, "a model of \"partial\" is not a list of five numbers");
        p->results[i] = (loop_test_result){.accuracy = v[0],
                                           .loss = v[1],
                                           .best = v[2],
                                           .score = v[3],
                                           .horizon = horizon};
        TRY(read_calibration(x, calibration, n, i, &p->results[i].calibration));
    }
    return SCANT_OK;
}

/* The training states of parts; NULL: the value is not valid. */
static const char *parts_of(const json_t *value) {
    static const char known[] = {LOOP_NOT_BEGUN, LOOP_TRAINED, LOOP_COLLAPSED,
                                 LOOP_SLOT_A,    LOOP_SLOT_B,  0};
    const char *text = json_string_value(value);
    return text && !text[strspn(text, known)] ? text : NULL;
}

static scant_status read_epochs(const expected *x, const json_t *list,
                                scant__arena *arena, loop_partial *p) {
    p->epochs = TRY_ZERO(arena, size_t, p->n_parts + 1);
    bool fine = json_array_size(list) == p->n_parts;
    for (size_t i = 0; fine && i < p->n_parts; i++)
        fine = count_of(json_array_get(list, i), MOST_EPOCHS, &p->epochs[i]);
    return fine ? SCANT_OK
                : damaged(x, "\"partial\" does not have the epochs of each part");
}

static scant_status read_best(const expected *x, const json_t *row, loop_partial *p) {
    double v[3];
    if (!read_numbers(row, 3, v) || !isfinite(v[0]) ||
        !count_of(json_array_get(row, 2), MOST_EPOCHS, &p->horizon))
        return damaged(x, "\"best\" of \"partial\" is not a list of three numbers");
    p->best = v[0];
    p->lowest = v[1];
    return SCANT_OK;
}

static scant_status read_partial(const expected *x, const json_t *root,
                                 scant__arena *arena, loop_state *s) {
    const char *parts = parts_of(json_object_get(root, "parts"));
    const char *query = parts_of(json_object_get(root, "query"));
    const json_t *seconds = json_object_get(root, "seconds");
    loop_partial *p = &s->partial;
    if (!root) return SCANT_OK;
    p->on_disk = true;
    p->train_seconds = number_of(json_array_get(seconds, 0));
    p->test_seconds = number_of(json_array_get(seconds, 1));
    if (!count_of(json_object_get(root, "round"), x->rounds, &p->round) ||
        p->round != s->n_points || s->over || !isfinite(p->train_seconds) ||
        !isfinite(p->test_seconds))
        return damaged(x, "\"partial\" is not valid for the next round");
    TRY(read_best(x, json_object_get(root, "best"), p));
    if (!parts || strlen(parts) > LOOP_PARTS || !query || strlen(query) != 1)
        return damaged(
            x, "\"parts\" or \"query\" of \"partial\" is not a valid training state");
    p->n_parts = strlen(parts);
    p->parts = scant__arena_strdup(arena, parts);
    if (!p->parts) return SCANT_ENOMEM;
    p->query = *query;
    TRY(read_epochs(x, json_object_get(root, "epochs"), arena, p));
    p->healths = TRY_ZERO(arena, loop_health, p->n_parts + 1);
    TRY(read_healths(x, json_object_get(root, "trainings"), p->n_parts, p->healths));
    const json_t *training = json_object_get(root, "query training");
    p->query_health = (loop_health){.dead = -1, .gradient_norm = -1};
    if (training) TRY(read_healths(x, training, 1, &p->query_health));
    return read_results(x, root, arena, p);
}

static scant_status read_samples_hash(const expected *x, const json_t *value,
                                      loop_state *s) {
    const char *text = json_string_value(value);
    if (!text || strlen(text) != 16 || strspn(text, "0123456789abcdef") != 16)
        return damaged(x, "\"samples\" is not a hash of 16 hexadecimal digits");
    s->samples = strtoull(text, NULL, 16);
    return SCANT_OK;
}

static scant_status read_root(const expected *x, const json_t *root, scant__arena *arena,
                              loop_state *s) {
    const json_t *version = json_object_get(root, "scant run");
    const json_t *strategy = json_object_get(root, "strategy");
    const json_t *seed = json_object_get(root, "seed");
    const json_t *memory = json_object_get(root, "memory");
    uint64_t number;
    if (!json_is_integer(version))
        return damaged(x, "\"scant run\" is missing or not an integer");
    if (json_integer_value(version) != VERSION)
        return scant__fail(
            x->ctx, SCANT_EINPUT,
            "%s: was written by another version of scant (expected format %d): "
            "start the experiment in a new folder",
            x->path, VERSION);
    if (!json_is_string(strategy) ||
        strcmp(json_string_value(strategy), x->name.strategy) != 0 ||
        !json_is_string(seed) || !scant__uint_read(json_string_value(seed), &number) ||
        number != x->name.seed)
        return damaged(x, "it belongs to another strategy or seed");
    s->over = json_is_true(json_object_get(root, "over"));
    TRY(read_points(x, json_object_get(root, "rounds"), s));
    TRY(read_picks(x, json_object_get(root, "picks"), s));
    TRY(check_whole(x, s));
    const json_t *calibration = json_object_get(root, "calibration");
    for (size_t i = 0; i < s->n_points; i++)
        TRY(read_calibration(x, calibration, s->n_points, i, &s->calibrations[i]));
    TRY(read_theory(x, json_object_get(root, "theory"), s));
    TRY(read_healths(x, json_object_get(root, "trainings"), s->n_points, s->healths));
    TRY(read_partial(x, json_object_get(root, "partial"), arena, s));
    TRY(read_samples_hash(x, json_object_get(root, "samples"), s));
    if (!json_is_string(memory)) return SCANT_OK;
    s->strategy_state = scant__arena_strdup(arena, json_string_value(memory));
    if (!s->strategy_state) return SCANT_ENOMEM;
    s->strategy_state_size = strlen(s->strategy_state);
    return SCANT_OK;
}

scant_status loop_state_parse(scant_ctx *ctx, const char *path, const char *bytes,
                              size_t size, loop_run_name name, size_t rounds, size_t rows,
                              scant__arena *arena, loop_state *s) {
    const expected x = {ctx, path, name, rounds, rows};
    AUTO(scant__json_tree_end) scant__json_tree tree = {0};
    scant_status status =
        scant__json_read(ctx, bytes, size, JSON_REJECT_DUPLICATES, NULL, &tree);
    if (status == SCANT_ENOMEM)
        return scant__fail(ctx, status, "%s: reading it %s", path, tree.error.text);
    return status == SCANT_OK ? read_root(&x, tree.root, arena, s)
                              : damaged(&x, tree.error.text);
}

scant_status loop_state_read(scant_ctx *ctx, const char *path, loop_run_name name,
                             size_t rounds, size_t rows, scant__arena *arena,
                             loop_state *s) {
    AUTO(scant__source_close) scant__source source = {0};
    TRY(scant__source_map(ctx, path, &source));
    const char *bytes = (const char *)source.bytes;
    TRY(loop_state_parse(ctx, path, bytes, source.size, name, rounds, rows, arena, s));
    if (is_whole(bytes, source.size)) return SCANT_OK;
    return damaged(&(expected){.ctx = ctx, .path = path},
                   "it was changed or damaged: its checksum is wrong");
}
