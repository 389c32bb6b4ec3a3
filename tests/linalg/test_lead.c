/* SPDX-License-Identifier: Apache-2.0
 *
 * The leader against evaluating all rows, while R moves by a little or a lot beyond what
 * the lead is told.
 */
#include "linalg/lead.h"

#include <math.h>

#include "linalg/dense.h"
#include "matrix.h"

typedef struct shape {
    size_t n, d, c; /* c = 0: rows of H alone */
    double bias;
} shape;

/* All rows in the front, and fewer: from 1025 rows on. */
static const shape shapes[] = {{1, 1, 2, 1},    {5, 2, 3, 0},     {300, 1, 0, 0},
                               {256, 6, 0, 1},  {700, 5, 4, 1},   {600, 2, 7, 0.5},
                               {520, 3, 40, 1}, {300, 40, 35, 1}, {50, 150, 3, 1},
                               {1300, 4, 0, 1}, {2500, 9, 4, 0},  {3000, 24, 10, 1}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

typedef struct race {
    matrix h, a;
    la_view v;
    size_t size;
    double *r, *merit, *length, *dots, *g, step;
    bool *out;
    scant_ctx *ctx;
    scant__arena arena;
    la_work work, own; /* the lead's, of exactly its memory; the test's */
    la_lead lead;
} race;

/* copies: every row is one of three. */
static void race_begin(race *t, const shape *s, la_type type, bool copies, double share,
                       double slope, unsigned threads) {
    *t = (race){.ctx = ctx_threads(threads)};
    matrix_make(&t->h, 3, s->n, s->d, type, true);
    matrix_make(&t->a, 4, s->n, s->c ? s->c : 1, LA_F64, true);
    t->v = (la_view){.h = &t->h.rows, .a = s->c ? &t->a.rows : NULL};
    t->v.bias = s->bias, t->v.m = s->n;
    size_t bytes = la_rows_bytes(&t->h.rows);
    for (size_t i = 3; copies && i < s->n; i++) {
        memcpy((char *)t->h.data + i * bytes, (char *)t->h.data + i % 3 * bytes, bytes);
        memcpy((double *)t->a.data + i * t->a.rows.d,
               (double *)t->a.data + i % 3 * t->a.rows.d, t->a.rows.d * sizeof(double));
    }
    t->size = la_view_width(&t->v) * (s->c ? s->c : 1);
    t->r = malloc(t->size * sizeof(double)), t->g = malloc(t->size * sizeof(double));
    t->merit = malloc(s->n * sizeof(double)), t->length = malloc(s->n * sizeof(double));
    t->dots = malloc(s->n * sizeof(double)), t->out = calloc(s->n, sizeof *t->out);
    for (size_t k = 0; k < t->size; k++) t->r[k] = normal_at(5, k);
    for (size_t i = 0; i < s->n; i++) t->merit[i] = unit_at(6, copies ? i % 3 : i);
    scant__arena_init(&t->arena, t->ctx);
    assert_int_equal(la_work_init(&t->work, &t->arena, la_lead_work(&t->v, threads)),
                     SCANT_OK);
    size_t norms = la_kron_norms_memory(&t->v, threads);
    size_t dots = la_kron_dots_memory(&t->v, threads);
    size_t sum = la_kron_sum_memory(&t->v, threads);
    norms = norms > dots ? norms : dots;
    assert_int_equal(la_work_init(&t->own, &t->arena, norms > sum ? norms : sum),
                     SCANT_OK);
    assert_int_equal(la_kron_norms(&t->v, t->length, &t->own), SCANT_OK);
    for (size_t i = 0; i < s->n; i++) t->length[i] = sqrt(t->length[i]) / 4;
    t->lead = (la_lead){.view = &t->v,
                        .work = &t->work,
                        .share = share,
                        .slope = slope,
                        .merit = t->merit,
                        .length = t->length,
                        .longer = 4};
    assert_int_equal(la_lead_init(&t->lead, &t->arena), SCANT_OK);
}

static void race_end(race *t) {
    scant__arena_end(&t->arena);
    scant_ctx_destroy(t->ctx);
    matrix_end(&t->h);
    matrix_end(&t->a);
    free(t->r);
    free(t->g);
    free(t->merit);
    free(t->length);
    free(t->dots);
    free(t->out);
}

/* Evaluates all rows. */
static size_t leader(race *t) {
    size_t best = t->v.m;
    double top = 0;
    assert_int_equal(la_kron_dots(&t->v, t->r, t->dots, &t->own), SCANT_OK);
    for (size_t i = 0; i < t->v.m; i++) {
        double value = t->lead.share * t->merit[i] - t->lead.slope * t->dots[i];
        if (!t->out[i] && (best == t->v.m || value > top)) best = i, top = value;
    }
    return best;
}

static double step_at(const race *t, size_t turn) {
    return t->step * normal_at(8, turn) / t->length[0];
}

/* R += step g_row + beyond * noise; much more now and then. */
static void move(race *t, size_t row, double beyond, size_t turn) {
    la_view one = t->v;
    one.rows = &row, one.m = 1;
    if (turn % 23 == 22) beyond = 1;
    assert_int_equal(la_kron_sum(&one, NULL, t->g, &t->own), SCANT_OK);
    for (size_t k = 0; k < t->size; k++)
        t->r[k] += step_at(t, turn) * t->g[k] + beyond * normal_at(7, turn * t->size + k);
    t->out[row] = true;
}

enum { TURNS = 100 };

/* Follows the lead, and goes back where it says so; compares with all rows evaluated at
 * every turn. Returns how often it went back. */
static size_t run(race *t, double beyond) {
    size_t turns = t->v.m < TURNS ? t->v.m : TURNS, want[TURNS], got[TURNS], backs = 0;
    size_t bytes = t->size * sizeof *t->r, back;
    double *states = malloc((turns + 1) * bytes), dot;
    memcpy(states, t->r, bytes);
    for (size_t turn = 0; turn < turns; turn++) {
        want[turn] = leader(t);
        move(t, want[turn], beyond, turn);
    }
    memcpy(t->r, states, bytes);
    memset(t->out, 0, t->v.m * sizeof *t->out);
    for (size_t turn = 0;;) {
        size_t row = 0;
        memcpy(states + turn * t->size, t->r, bytes);
        if (turn < turns)
            assert_int_equal(la_lead_find(&t->lead, t->r, &row, &dot, &back), SCANT_OK);
        else
            assert_int_equal(la_lead_settle(&t->lead, &back), SCANT_OK);
        assert_true(back <= turn && back <= LA_LEAD_AHEAD);
        if (turn == turns && !back) break;
        backs += back > 0;
        if (back) {
            turn -= back;
            for (size_t i = 0; i < back; i++) t->out[got[turn + i]] = false;
            memcpy(t->r, states + turn * t->size, bytes);
            continue;
        }
        assert_int_equal(la_kron_dots(&t->v, t->r, t->dots, &t->own), SCANT_OK);
        assert_true(!t->out[row] && dot == t->dots[row]);
        got[turn] = row;
        move(t, row, beyond, turn);
        assert_int_equal(la_lead_take(&t->lead, row, step_at(t, turn)), SCANT_OK);
        turn++;
    }
    assert_memory_equal(got, want, turns * sizeof *got);
    free(states);
    return backs;
}

static void the_leaders_are_those_of_all_rows(void **state) {
    (void)state;
    static const double beyond[] = {0, 1e-12, 1e-4, 1e-2, 1}, steps[] = {.01, .3, 3};
    size_t backs = 0;
    for (size_t s = 0; s < SHAPES; s++)
        for (size_t how = 0; how < 15; how++) {
            race t;
            double share = how % 3 ? 2 : 0, slope = how == 4 ? 0 : 0.5;
            race_begin(&t, &shapes[s], how & 1 ? LA_F64 : LA_F32, how > 12, share, slope,
                       2);
            t.step = steps[how / 5];
            backs += run(&t, beyond[how % 5]);
            race_end(&t);
        }
    assert_true(backs > 10); /* it did go back, now and then */
}

/* What is told is followed: the passes from R itself are few. */
static void small_moves_are_followed(void **state) {
    (void)state;
    race t;
    race_begin(&t, &shapes[SHAPES - 1], LA_F32, false, 1, 0.5, 1);
    t.step = 0.01;
    for (size_t turn = 0; turn < 20; turn++) {
        size_t row, back;
        double dot;
        assert_int_equal(la_lead_find(&t.lead, t.r, &row, &dot, &back), SCANT_OK);
        assert_int_equal(back, 0);
        if (turn) assert_true(t.lead.radius > 0); /* it is 0 when all are known */
        move(&t, row, 1e-9, turn);
        assert_int_equal(la_lead_take(&t.lead, row, step_at(&t, turn)), SCANT_OK);
    }
    race_end(&t);
}

static void spectral_norms_are_bounded_from_above_and_closely(void **state) {
    (void)state;
    static const size_t sizes[][2] = {{1, 1},  {1, 9},  {9, 1},   {2, 3},    {3, 2},
                                      {10, 7}, {7, 90}, {32, 40}, {100, 32}, {40, 50}};
    for (size_t s = 0; s < 10; s++)
        for (int power = -200; power <= 200; power += 100) {
            size_t rows = sizes[s][0], columns = sizes[s][1];
            double *x = malloc(rows * columns * sizeof *x), largest;
            double *gram = calloc(rows * rows, sizeof *gram), length = 0;
            double *values = malloc(rows * sizeof *values);
            double *room = malloc(la_eigh_room(rows, false) * sizeof *room);
            for (size_t i = 0; i < rows * columns; i++) {
                x[i] = normal_at(s, i);
                length += x[i] * x[i];
            }
            for (size_t i = 0; i < rows; i++)
                for (size_t j = 0; j < rows; j++)
                    for (size_t k = 0; k < columns; k++)
                        gram[i * rows + j] += x[i * columns + k] * x[j * columns + k];
            assert_true(la_eigh(rows, gram, false, values, room));
            largest = ldexp(sqrt(values[rows - 1]), power);
            for (size_t i = 0; i < rows * columns; i++) x[i] = ldexp(x[i], power);
            double bound = la_spectral(x, rows, columns);
            assert_true(bound >= largest * (1 - 1e-12));
            /* the 16th root of 32 at most */
            if (rows <= 32 || columns <= 32) assert_true(bound <= largest * 1.25);
            assert_true(bound <= ldexp(sqrt(length), power) * (1 + 1e-12));
            free(x);
            free(gram);
            free(values);
            free(room);
        }
    const double zeros[12] = {0};
    assert_true(la_spectral(zeros, 3, 4) == 0);
}

static void memory_is_what_was_planned(void **state) {
    (void)state;
    for (size_t s = 0; s < SHAPES; s++) {
        race t;
        race_begin(&t, &shapes[s], LA_F32, false, 1, 1, 2);
        size_t held = scant_ctx_memory_peak(t.ctx);
        la_lead lead = t.lead;
        lead.work = NULL;
        assert_int_equal(la_lead_init(&lead, &t.arena), SCANT_OK);
        assert_true(scant_ctx_memory_peak(t.ctx) - held <= la_lead_memory(&t.v));
        t.step = 0.3;
        run(&t, 0.01); /* within the work's memory: products fail otherwise */
        race_end(&t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_leaders_are_those_of_all_rows),
        cmocka_unit_test(small_moves_are_followed),
        cmocka_unit_test(spectral_norms_are_bounded_from_above_and_closely),
        cmocka_unit_test(memory_is_what_was_planned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
