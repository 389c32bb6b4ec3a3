/* SPDX-License-Identifier: Apache-2.0
 *
 * The leader compared with evaluating all rows, while R changes by a little or a lot more
 * than is passed to la_lazy_argmax_take(). Rows are direct, listed or fetched.
 */
#include "linalg/lazy_argmax.h"

#include <math.h>

#include "linalg/dense.h"
#include "matrix.h"

typedef struct shape {
    size_t n, d, c; /* c = 0: rows of H alone */
    double bias;
} shape;

#ifdef SCANT_SANITIZED
enum { HOW_STEP = 7, MANY = 1100, MORE = 1300 };
#else
enum { HOW_STEP = 1, MANY = 2500, MORE = 3000 };
#endif

/* The front holds all rows if there are at most 1024. */
static const shape shapes[] = {{1, 1, 2, 1},    {5, 2, 3, 0},     {300, 1, 0, 0},
                               {256, 6, 0, 1},  {700, 5, 4, 1},   {600, 2, 7, 0.5},
                               {520, 3, 40, 1}, {300, 40, 35, 1}, {50, 150, 3, 1},
                               {1300, 4, 0, 1}, {MANY, 9, 4, 0},  {MORE, 24, 10, 1}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

typedef enum storage { DIRECT, LISTED, FETCHED, LISTED_AND_FETCHED, STORAGES } storage;

/* The rows; a larger matrix that contains them; and the view of it that lead reads. */
typedef struct stored {
    matrix plain, all;
    la_rows rows;
} stored;

typedef struct race {
    stored h, a;
    size_t *list;
    la_view v, plain; /* of lead; the same rows, direct */
    size_t size;
    double *r, *merit, *length, *dots, *g, step;
    bool *out;
    scant_ctx *ctx;
    scant__arena arena;
    la_work work, own; /* of lead, of exactly its size; of the test */
    la_lazy_argmax lead;
} race;

/* Fetches rows: converts the matrix's doubles to its type. */
static void convert(const void *self, size_t first, size_t count, void *out) {
    const matrix *m = self;
    size_t d = m->direct.d;
    for (size_t i = 0; i < count * d; i++) {
        double x = m->value[first * d + i];
        if (m->direct.type == LA_F64)
            ((double *)out)[i] = x;
        else
            ((float *)out)[i] = (float)x;
    }
}

/* Ascending except at one place, with gaps between runs. */
static size_t listed_at(size_t i, size_t n) {
    size_t turned = (i + n / 3) % n;
    return turned + turned / 3;
}

static void set_row(matrix *m, size_t row, const matrix *from, size_t other) {
    size_t d = m->direct.d, bytes = la_rows_bytes(&m->direct);
    memcpy(m->value + row * d, from->value + other * d, d * sizeof *m->value);
    memcpy((char *)m->data + row * bytes, (char *)from->data + other * bytes, bytes);
}

/* copies: every row is a copy of one of the first three. */
static void stored_make(stored *m, uint64_t seed, size_t n, size_t d, la_type type,
                        bool copies, storage how, const size_t *list) {
    matrix_make(&m->plain, seed, n, d, type, true);
    for (size_t i = 3; copies && i < n; i++) set_row(&m->plain, i, &m->plain, i % 3);
    matrix_make(&m->all, seed + 100, 2 * n, d, type, true);
    bool by_list = how == LISTED || how == LISTED_AND_FETCHED;
    for (size_t i = 0; i < n; i++) set_row(&m->all, by_list ? list[i] : i, &m->plain, i);
    m->rows = m->all.direct;
    m->rows.n = n;
    if (by_list) m->rows.list = list;
    if (how == FETCHED || how == LISTED_AND_FETCHED)
        m->rows.base = NULL, m->rows.fetch = convert, m->rows.self = &m->all;
}

static void stored_end(stored *m) {
    matrix_end(&m->plain);
    matrix_end(&m->all);
}

static void race_begin(race *t, const shape *s, la_type type, bool copies, storage how,
                       double share, double slope, unsigned threads) {
    *t = (race){.ctx = ctx_threads(threads)};
    t->list = malloc(s->n * sizeof *t->list);
    for (size_t i = 0; i < s->n; i++) t->list[i] = listed_at(i, s->n);
    stored_make(&t->h, 3, s->n, s->d, type, copies, how, t->list);
    stored_make(&t->a, 4, s->n, s->c ? s->c : 1, LA_F64, copies, how, t->list);
    t->v = (la_view){.h = &t->h.rows, .a = s->c ? &t->a.rows : NULL};
    t->v.bias = s->bias, t->v.m = s->n;
    t->plain = t->v;
    t->plain.h = &t->h.plain.rows, t->plain.a = s->c ? &t->a.plain.rows : NULL;
    t->size = la_view_width(&t->v) * (s->c ? s->c : 1);
    t->r = malloc(t->size * sizeof(double)), t->g = malloc(t->size * sizeof(double));
    t->merit = malloc(s->n * sizeof(double)), t->length = malloc(s->n * sizeof(double));
    t->dots = malloc(s->n * sizeof(double)), t->out = calloc(s->n, sizeof *t->out);
    for (size_t k = 0; k < t->size; k++) t->r[k] = normal_at(5, k);
    for (size_t i = 0; i < s->n; i++) t->merit[i] = unit_at(6, copies ? i % 3 : i);
    scant__arena_init(&t->arena, t->ctx);
    assert_int_equal(
        la_work_init(&t->work, &t->arena, la_lazy_argmax_work(&t->v, threads)), SCANT_OK);
    size_t norms = la_kron_norms_memory(&t->plain, threads);
    size_t dots = la_kron_dots_memory(&t->plain, threads);
    size_t sum = la_kron_sum_memory(&t->plain, threads);
    norms = norms > dots ? norms : dots;
    assert_int_equal(la_work_init(&t->own, &t->arena, norms > sum ? norms : sum),
                     SCANT_OK);
    assert_int_equal(la_kron_norms(&t->plain, t->length, &t->own), SCANT_OK);
    for (size_t i = 0; i < s->n; i++) t->length[i] = sqrt(t->length[i]) / 4;
    t->lead = (la_lazy_argmax){.view = &t->v,
                               .work = &t->work,
                               .share = share,
                               .slope = slope,
                               .merit = t->merit,
                               .length = t->length,
                               .longer = 4};
    assert_int_equal(la_lazy_argmax_init(&t->lead, &t->arena), SCANT_OK);
}

static void race_end(race *t) {
    scant__arena_end(&t->arena);
    scant_ctx_free(t->ctx);
    stored_end(&t->h);
    stored_end(&t->a);
    free(t->list);
    free(t->r);
    free(t->g);
    free(t->merit);
    free(t->length);
    free(t->dots);
    free(t->out);
}

/* The leader, by evaluating all rows. */
static size_t leader(race *t) {
    size_t best = t->v.m;
    double top = 0;
    assert_int_equal(la_kron_dots(&t->plain, t->r, t->dots, &t->own), SCANT_OK);
    for (size_t i = 0; i < t->v.m; i++) {
        double value = t->lead.share * t->merit[i] - t->lead.slope * t->dots[i];
        if (!t->out[i] && (best == t->v.m || value > top)) best = i, top = value;
    }
    return best;
}

static double step_at(const race *t, size_t turn) {
    return t->step * normal_at(8, turn) / t->length[0];
}

enum { TURNS = 100, LARGE = 22 }; /* LARGE: the first turn that changes R a lot */

/* R += step g_row + beyond * noise; every 23rd turn, beyond is 1. */
static void move(race *t, size_t row, double beyond, size_t turn) {
    la_view one = t->plain;
    one.rows = &row, one.m = 1;
    if (turn % (LARGE + 1) == LARGE) beyond = 1;
    assert_int_equal(la_kron_sum(&one, NULL, t->g, &t->own), SCANT_OK);
    for (size_t k = 0; k < t->size; k++)
        t->r[k] += step_at(t, turn) * t->g[k] + beyond * normal_at(7, turn * t->size + k);
    t->out[row] = true;
}

/* `near` equals R up to rounding if R changed only by multiples of leaders, even after
 * leaders were withdrawn. */
static void check_near(const race *t) {
    double off = 0, length = la_frobenius(t->r, t->size);
    for (size_t k = 0; k < t->size; k++) off = fmax(off, fabs(t->lead.near[k] - t->r[k]));
    assert_true(off <= 1e-12 * length);
}

/* Follows the leaders and goes back when some are withdrawn; compares with evaluating all
 * rows at every turn. Returns how often it went back. */
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
            assert_int_equal(la_lazy_argmax_find(&t->lead, t->r, &row, &dot, &back),
                             SCANT_OK);
        else
            assert_int_equal(la_lazy_argmax_settle(&t->lead, &back), SCANT_OK);
        assert_true(back <= turn && back <= LA_LAZY_ARGMAX_UNDO);
        if (turn == turns && !back) break;
        backs += back > 0;
        if (back) {
            turn -= back;
            for (size_t i = 0; i < back; i++) t->out[got[turn + i]] = false;
            memcpy(t->r, states + turn * t->size, bytes);
            if (beyond == 0 && turn < LARGE) check_near(t);
            continue;
        }
        assert_int_equal(la_kron_dots(&t->plain, t->r, t->dots, &t->own), SCANT_OK);
        assert_true(!t->out[row] && dot == t->dots[row]);
        got[turn] = row;
        move(t, row, beyond, turn);
        assert_int_equal(la_lazy_argmax_take(&t->lead, row, step_at(t, turn)), SCANT_OK);
        turn++;
    }
    assert_memory_equal(got, want, turns * sizeof *got);
    free(states);
    return backs;
}

static void leaders_match_evaluating_all_rows(void **state) {
    (void)state;
    static const double beyond[] = {0, 1e-12, 1e-4, 1e-2, 1}, steps[] = {.01, .3, 3};
    size_t backs = 0;
    for (size_t s = 0; s < SHAPES; s++)
        for (size_t how = 0; how < 15; how += HOW_STEP) {
            race t;
            double share = how % 3 ? 2 : 0, slope = how == 4 ? 0 : 0.5;
            race_begin(&t, &shapes[s], how & 1 ? LA_F64 : LA_F32, how > 12, DIRECT, share,
                       slope, 2);
            t.step = steps[how / 5];
            backs += run(&t, beyond[how % 5]);
            race_end(&t);
        }
    assert_true(backs > 10 / HOW_STEP); /* it went back at times */
}

/* Listed and fetched rows, of shapes where the front holds only some of them. */
static void rows_may_be_listed_or_fetched(void **state) {
    (void)state;
    static const double beyond[] = {1e-12, 1e-2}, steps[] = {.01, .3};
    for (int how = LISTED; how < STORAGES; how++) {
        size_t backs = 0;
        for (size_t s = 0; s < SHAPES; s++)
            for (size_t k = 0; k < 4; k++) {
                race t;
                if (shapes[s].n <= 1024) continue;
                race_begin(&t, &shapes[s], k & 1 ? LA_F64 : LA_F32, false, (storage)how,
                           k % 3 ? 2 : 0, 0.5, 2);
                t.step = steps[k / 2];
                backs += run(&t, beyond[k % 2]);
                race_end(&t);
            }
        assert_true(backs > 1);
    }
}

/* Multiples of leaders and very small changes need no new pass over all rows. */
static void small_changes_need_no_full_pass(void **state) {
    (void)state;
    race t;
    race_begin(&t, &shapes[SHAPES - 1], LA_F32, false, DIRECT, 1, 0.5, 1);
    t.step = 0.01;
    for (size_t turn = 0; turn < 20; turn++) {
        size_t row, back;
        double dot;
        assert_int_equal(la_lazy_argmax_find(&t.lead, t.r, &row, &dot, &back), SCANT_OK);
        assert_int_equal(back, 0);
        if (turn) assert_true(t.lead.radius > 0); /* 0: recomputed from R */
        move(&t, row, 1e-9, turn);
        assert_int_equal(la_lazy_argmax_take(&t.lead, row, step_at(&t, turn)), SCANT_OK);
    }
    race_end(&t);
}

static void bounds_of_spectral_norms_are_tight(void **state) {
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
            /* too large by at most the 16th root of 32 */
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

static void memory_is_as_planned(void **state) {
    (void)state;
    for (size_t s = 0; s < 2 * SHAPES; s++) {
        race t;
        race_begin(&t, &shapes[s / 2], LA_F32, false, s % 2 ? LISTED_AND_FETCHED : DIRECT,
                   1, 1, 2);
        size_t held = scant_ctx_memory_peak(t.ctx);
        la_lazy_argmax lead = t.lead;
        lead.work = NULL;
        assert_int_equal(la_lazy_argmax_init(&lead, &t.arena), SCANT_OK);
        assert_true(scant_ctx_memory_peak(t.ctx) - held <= la_lazy_argmax_memory(&t.v));
        t.step = 0.3;
        run(&t, 0.01); /* products fail if they need more than the work space */
        race_end(&t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaders_match_evaluating_all_rows),
        cmocka_unit_test(rows_may_be_listed_or_fetched),
        cmocka_unit_test(small_changes_need_no_full_pass),
        cmocka_unit_test(bounds_of_spectral_norms_are_tight),
        cmocka_unit_test(memory_is_as_planned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
