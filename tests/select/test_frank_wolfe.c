/* SPDX-License-Identifier: Apache-2.0
 *
 * Single Frank-Wolfe steps: what each guarantees, whichever row it goes to.
 */
#include "select/frank_wolfe.h"

#include <math.h>
#include <stdbool.h>

#include "support.h"

enum { N = 30, WIDTH = 7 };

typedef struct walked {
    select_walk w;
    double v[N * WIDTH], size[N], weight[N], sums[3 * WIDTH];
    size_t held[N];
} walked;

/* kinds > 0: vectors are copies of that many different ones. level: a common offset,
 * which moves the sum of all far from 0. */
static void begin(walked *t, uint64_t seed, size_t n, size_t kinds, double level) {
    *t = (walked){.w = {.n = n, .width = WIDTH, .size = t->size, .weight = t->weight}};
    select_walk *w = &t->w;
    w->held = t->held;
    w->goal = t->sums, w->fit = w->goal + WIDTH, w->rest = w->fit + WIDTH;
    for (size_t i = 0; i < n; i++) {
        double square = 1e-6;
        size_t like = kinds ? i % kinds : i;
        for (size_t s = 0; s < WIDTH; s++) {
            double x = level + normal_at(seed, like * WIDTH + s);
            t->v[i * WIDTH + s] = x;
            w->goal[s] += x;
            square += x * x;
        }
        w->all += w->size[i] = sqrt(square);
    }
    select_walk_begin(w);
}

static double inner(const double *x, const double *y) {
    double sum = 0;
    for (size_t s = 0; s < WIDTH; s++) sum += x[s] * y[s];
    return sum;
}

static size_t best(const walked *t) {
    size_t at = 0;
    double most = -INFINITY;
    for (size_t i = 0; i < t->w.n; i++) {
        double score = inner(t->w.rest, t->v + i * WIDTH) / t->size[i];
        if (score > most) most = score, at = i;
    }
    return at;
}

/* The fit is the weighted sum, held are the rows with weight, each once, and no weight
 * is below 0. */
static void check_invariants(const walked *t) {
    const select_walk *w = &t->w;
    double sum[WIDTH] = {0}, goal = select_walk_length(w, w->goal);
    size_t with = 0;
    bool held[N] = {false};
    for (size_t i = 0; i < w->n; i++) {
        assert_true(w->weight[i] >= 0);
        with += w->weight[i] > 0;
        for (size_t s = 0; s < WIDTH; s++) sum[s] += w->weight[i] * t->v[i * WIDTH + s];
    }
    for (size_t k = 0; k < w->n_held; k++) {
        assert_false(held[w->held[k]]);
        held[w->held[k]] = true;
        assert_true(w->weight[w->held[k]] > 0);
    }
    assert_int_equal(with, w->n_held);
    for (size_t s = 0; s < WIDTH; s++) {
        assert_true(fabs(sum[s] - w->fit[s]) < 1e-13 * (w->all + goal));
        assert_true(fabs(w->goal[s] - w->fit[s] - w->rest[s]) < 1e-14 * (w->all + goal));
    }
}

/* A step to any row: the rest never gets longer. Where the step is not clipped, the rest
 * is orthogonal to its direction, and both shorter and longer steps leave more. */
static void check_step(walked *t, size_t place, size_t *whole, size_t *none) {
    select_walk *w = &t->w;
    double way[WIDTH], before = select_walk_length(w, w->rest), spare = 0;
    double goal = select_walk_length(w, w->goal), rest[WIDTH];
    const double *v = t->v + place * WIDTH;
    double stride = select_walk_stride(w, place, v);
    assert_true(stride >= 0 && stride <= 1);
    *whole += stride == 1, *none += stride == 0;
    for (size_t s = 0; s < WIDTH; s++) {
        way[s] = w->all / w->size[place] * v[s] - w->fit[s];
        rest[s] = w->rest[s];
        spare += way[s] * way[s];
    }
    double along = inner(way, rest);
    select_walk_step(w, place, v, stride);
    double after = select_walk_length(w, w->rest), slack = 1e-15 * (goal + sqrt(spare));
    assert_true(after <= before + slack);
    if (stride > 0 && stride < 1)
        assert_true(fabs(inner(way, w->rest)) <= 1e-13 * sqrt(spare) * (goal + before));
    if (stride == 1) assert_true(along >= spare); /* further would be better still */
    if (stride == 0) assert_true(along <= 0 && after == before);
    for (double other = 0; other <= 1; other += 0.125) {
        double at[WIDTH];
        for (size_t s = 0; s < WIDTH; s++) at[s] = rest[s] - other * way[s];
        assert_true(after <= sqrt(inner(at, at)) + slack);
    }
    check_invariants(t);
}

static void no_step_makes_the_rest_longer(void **state) {
    (void)state;
    size_t whole = 0, none = 0, again = 0;
    for (uint64_t seed = 0; seed < 24; seed++) {
        walked t;
        begin(&t, seed, seed % 4 ? N : 1 + seed / 4, seed % 3 ? 0 : 4,
              seed % 2 ? 0 : 3.0);
        if (seed % 4 == 2)
            t.w.all /= 8; /* vertices that are too near: steps are clipped */
        for (size_t step = 0; step < 60; step++) {
            size_t chance = (size_t)(unit_at(seed + 99, step) * (double)t.w.n);
            size_t place = step % 5 == 4 ? chance : best(&t); /* not only good rows */
            again += t.w.weight[place] > 0;
            check_step(&t, place, &whole, &none);
        }
    }
    assert_true(again > 100 && whole > 4 && none > 20); /* all kinds were seen */
}

/* Weights times sizes sum to a part of all sizes that grows with every step. */
static void weights_times_sizes_are_a_growing_share_of_all_sizes(void **state) {
    (void)state;
    walked t;
    double left = 1;
    begin(&t, 3, N, 0, 1);
    for (size_t step = 0; step < 40; step++) {
        size_t place = best(&t);
        double stride = select_walk_stride(&t.w, place, t.v + place * WIDTH), sum = 0;
        select_walk_step(&t.w, place, t.v + place * WIDTH, stride);
        left *= 1 - stride;
        for (size_t i = 0; i < N; i++) sum += t.w.weight[i] * t.w.size[i];
        assert_true(fabs(sum - (1 - left) * t.w.all) < 1e-12 * t.w.all);
    }
}

/* Also the earlier weight of its own row. */
static void a_step_of_length_1_removes_all_earlier_weight(void **state) {
    (void)state;
    walked t;
    begin(&t, 5, N, 0, 1);
    select_walk_step(&t.w, 4, t.v + 4 * WIDTH, 0.5);
    select_walk_step(&t.w, 9, t.v + 9 * WIDTH, 0.25);
    assert_int_equal(t.w.n_held, 2);
    select_walk_step(&t.w, 4, t.v + 4 * WIDTH, 1);
    assert_int_equal(t.w.n_held, 1);
    assert_int_equal(t.w.held[0], 4);
    assert_true(t.w.weight[9] == 0 && t.w.weight[4] == t.w.all / t.w.size[4]);
    check_invariants(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_step_makes_the_rest_longer),
        cmocka_unit_test(weights_times_sizes_are_a_growing_share_of_all_sizes),
        cmocka_unit_test(a_step_of_length_1_removes_all_earlier_weight),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
