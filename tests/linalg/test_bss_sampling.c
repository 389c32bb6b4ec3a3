/* SPDX-License-Identifier: Apache-2.0
 *
 * The two-barrier process compared with its definition, evaluated slowly over all rows:
 * potentials, bounds and weights; the distribution of draws, by counting; the guarantees.
 */
#include <cblas.h>
#include <math.h>

#include "linalg/bss_sampling.h"
#include "slow.h"
#include "support.h"

enum { MOST_N = 600, MOST_D = 12 };

static void assert_near(double got, double want, double tolerance) {
    if (!(fabs(got - want) <= tolerance)) fail_msg("%.17g, expected %.17g", got, want);
}

typedef struct trial {
    scant_ctx *ctx;
    scant__arena arena;
    double *f;
    la_rows rows;
    la_view view;
    la_basis basis;
    la_bss barrier;
    size_t n, d;
    double v[MOST_N * MOST_D];
    /* by the definition, from the rows drawn so far: */
    double b[MOST_D * MOST_D], u, l, gamma, mid, beta, weight[MOST_N];
    double m[MOST_D * MOST_D], phi;
} trial;

/* Heavy-tailed: a few rows are very long, with leverage near the maximum. */
static double heavy(uint64_t seed, uint64_t index) {
    return normal_at(seed, index) / pow(0.001 + unit_at(seed + 1000, index), 0.7);
}

static trial *make(uint64_t seed, size_t n, size_t d, unsigned threads) {
    trial *t = calloc(1, sizeof *t);
    t->ctx = ctx_threads(threads);
    t->n = n, t->d = d;
    t->f = malloc(n * d * sizeof *t->f);
    for (size_t i = 0; i < n * d; i++) t->f[i] = heavy(seed, i);
    t->rows = (la_rows){.n = n, .d = d, .type = LA_F64, .base = t->f};
    t->view = (la_view){.h = &t->rows, .m = n};
    scant__arena_init(&t->arena, t->ctx);
    assert_int_equal(la_basis_build(&t->basis, &t->arena, &t->view, d), SCANT_OK);
    assert_int_equal(t->basis.dim, d);
    size_t before = t->ctx->used;
    assert_int_equal(la_bss_init(&t->barrier, &t->arena, &t->basis, seed), SCANT_OK);
    assert_true(t->ctx->used - before <= la_bss_memory(&t->basis.f, d));
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < d; k++)
            for (size_t j = 0; j < d; j++)
                t->v[i * d + k] += t->f[i * d + j] * t->basis.p[j * d + k];
    return t;
}

static void end(trial *t) {
    scant__arena_end(&t->arena);
    scant_ctx_free(t->ctx);
    free(t->f);
    free(t);
}

/* M and phi by inverting both matrices. */
static void slow_state(trial *t) {
    size_t d = t->d;
    long double a[MOST_D * MOST_D], inverse[MOST_D * MOST_D];
    memset(t->m, 0, sizeof t->m);
    t->phi = 0;
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < d * d; i++) {
            bool diagonal = i % (d + 1) == 0;
            a[i] = side ? t->b[i] - diagonal * t->l : diagonal * t->u - t->b[i];
        }
        slow_inverse(d, a, inverse);
        for (size_t i = 0; i < d * d; i++) t->m[i] += (double)inverse[i];
    }
    for (size_t i = 0; i < d; i++) t->phi += t->m[i * d + i];
}

static void slow_start(trial *t, double gamma) {
    memset(t->b, 0, sizeof t->b);
    memset(t->weight, 0, sizeof t->weight);
    t->gamma = gamma;
    t->u = 2 * (double)t->d / gamma;
    t->l = -t->u;
    t->mid = 4 * (double)t->d / gamma / (1 / (1 - gamma) - 1 / (1 + gamma));
    t->beta = 0;
    slow_state(t);
}

static double slow_q(const trial *t, size_t row) {
    const double *v = t->v + row * t->d;
    double q = 0;
    for (size_t i = 0; i < t->d; i++)
        for (size_t j = 0; j < t->d; j++) q += v[i] * t->m[i * t->d + j] * v[j];
    return q;
}

static void slow_take(trial *t, size_t row) {
    const double *v = t->v + row * t->d;
    double law = slow_q(t, row) / ((double)t->n * t->phi);
    double s = t->gamma / t->phi / (double)t->n / law, g = t->gamma, phi = t->phi;
    for (size_t i = 0; i < t->d; i++)
        for (size_t j = 0; j < t->d; j++) t->b[i * t->d + j] += s * v[i] * v[j];
    t->weight[row] += s / t->mid;
    t->beta += g / (phi * t->mid);
    t->u += g / (phi * (1 - g));
    t->l += g / (phi * (1 + g));
    slow_state(t);
}

/* The largest |v|^2 / q of all rows, times gamma / mid; an upper bound of `condition`,
 * which is over the proposed rows only. */
static double slow_condition(const trial *t) {
    double most = 0;
    for (size_t i = 0; i < t->n; i++) {
        double square = 0;
        for (size_t k = 0; k < t->d; k++) square += pow(t->v[i * t->d + k], 2);
        most = fmax(most, square / slow_q(t, i));
    }
    return most * t->gamma / t->mid;
}

/* ---- the state ----------------------------------------------------------------------
 */

/* Two inverses, eigenvalue gaps down to 1e-2 of u - l, some tens of updates. */
static const double NEAR = 1e-9;

static void check_state(trial *t) {
    la_bss *b = &t->barrier;
    double mean = 0, copy[MOST_D * MOST_D], values[MOST_D];
    assert_near(b->phi, t->phi, NEAR * t->phi);
    assert_near(b->upper, t->u, NEAR * t->u);
    assert_near(b->lower, t->l, NEAR * t->u);
    assert_near(b->beta, t->beta, NEAR);
    for (size_t i = 0; i < t->n; i++) {
        double q = la_bss_q(b, t->v + i * t->d);
        assert_near(q, slow_q(t, i), NEAR * (1 + slow_q(t, i)));
        mean += q / (double)t->n;
    }
    assert_near(mean, b->phi, NEAR * b->phi);
    memcpy(copy, t->m, sizeof copy);
    slow_eigenvalues(t->d, copy, values);
    /* at least the largest eigenvalue, and not so large that draws become expensive */
    assert_true(b->bound >= values[t->d - 1] * (1 - NEAR));
    assert_true(b->bound <= 3 * values[t->d - 1]);
}

static void the_state_matches_the_definition(void **state) {
    (void)state;
    static const double gammas[] = {0.11, 0.3, 0.5, 0.7};
    static const size_t dims[] = {1, 2, 5, 12};
    for (size_t g = 0; g < 4; g++)
        for (size_t k = 0; k < 4; k++) {
            trial *t = make(10 * g + k, 60, dims[k], 1);
            size_t row, distinct = 0;
            double condition = 0, g2 = gammas[g] * gammas[g];
            la_bss_start(&t->barrier, gammas[g]);
            slow_start(t, gammas[g]);
            assert_near(t->barrier.mid, t->mid, NEAR * t->mid);
            check_state(t);
            while (!la_bss_done(&t->barrier)) {
                condition = fmax(condition, slow_condition(t));
                assert_true(la_bss_draw(&t->barrier, &row));
                slow_take(t, row);
                if (t->barrier.draws % 7 < 2 || t->barrier.draws < 9) check_state(t);
            }
            assert_true(t->u - t->l >= 8 * (double)t->d / gammas[g] * (1 - NEAR));
            for (size_t i = 0; i < t->n; i++) {
                assert_near(t->barrier.weight[i], t->weight[i], NEAR * t->weight[i]);
                distinct += t->weight[i] > 0;
            }
            assert_int_equal(t->barrier.distinct, distinct);
            /* `condition` is a lower estimate; in one dimension it is exact */
            double least = dims[k] == 1 ? condition : 0.5 * condition;
            assert_true(condition <= g2 / (1 - g2) * (1 + NEAR));
            assert_true(t->barrier.condition <= condition * (1 + NEAR));
            assert_true(t->barrier.condition >= least * (1 - NEAR));
            end(t);
        }
}

/* ---- the distribution of draws ------------------------------------------------------
 */

static void check_law(const double *counted, const double *law, size_t cells,
                      double total) {
    double chi = 0, rest = 0, rest_counted = 0;
    size_t used = 0;
    for (size_t i = 0; i < cells; i++) {
        double expected = total * law[i];
        if (expected < 8) { /* too few for the approximation: pooled into one cell */
            rest += expected, rest_counted += counted[i];
            continue;
        }
        chi += pow(counted[i] - expected, 2) / expected;
        used++;
    }
    if (rest >= 8) chi += pow(rest_counted - rest, 2) / rest, used++;
    assert_true(used > 3);
    if (chi > chi_square_limit(used - 1))
        fail_msg("chi-square is %g over %zu cells", chi, used);
}

static void the_first_draw_is_by_leverage(void **state) {
    (void)state;
    enum { N = 40, D = 3, SEEDS = 20000 };
    trial *t = make(3, N, D, 1);
    double counted[N] = {0}, law[N];
    for (size_t i = 0; i < N; i++) {
        law[i] = 0;
        for (size_t k = 0; k < D; k++) law[i] += pow(t->v[i * D + k], 2) / (N * D);
    }
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        size_t row;
        t->barrier.seed = seed;
        la_bss_start(&t->barrier, 0.3);
        assert_int_equal(t->barrier.bound > 0, 1);
        assert_near(t->barrier.bound, 0.3 / D, 1e-15); /* accepts all proposals */
        assert_true(la_bss_draw(&t->barrier, &row));
        assert_int_equal(t->barrier.proposals, 1);
        counted[row]++;
    }
    check_law(counted, law, N, SEEDS);
    end(t);
}

/* So many draws can clearly distinguish the law from leverage scores. */
static void check_power(const double *law, const double *other, size_t cells,
                        double total) {
    double chi = 0;
    for (size_t i = 0; i < cells; i++) chi += total * pow(law[i] - other[i], 2) / law[i];
    if (chi < 4 * chi_square_limit(cells))
        fail_msg("too little power: chi-square %g", chi);
}

static double leverage(const trial *t, size_t row) {
    double sum = 0;
    for (size_t k = 0; k < t->d; k++) sum += pow(t->v[row * t->d + k], 2);
    return sum / (double)(t->n * t->d);
}

/* The first three draws from 6 rows. gamma is so large that each draw changes the law a
 * lot; beyond its end, the process continues in the same way. */
static void three_draws_follow_the_exact_law(void **state) {
    (void)state;
    enum { N = 6, D = 2, SEEDS = 40000, CELLS = N * N * N };
    static const double gamma = 0.85;
    trial *t = make(5, N, D, 1);
    double counted[CELLS] = {0}, law[CELLS], other[CELLS];
    for (size_t i = 0; i < CELLS; i++) {
        size_t rows[] = {i / N / N, i / N % N, i % N};
        law[i] = other[i] = 1;
        slow_start(t, gamma);
        for (size_t k = 0; k < 3; k++) {
            law[i] *= slow_q(t, rows[k]) / (N * t->phi);
            other[i] *= leverage(t, rows[k]);
            slow_take(t, rows[k]);
        }
    }
    check_power(law, other, CELLS, SEEDS);
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        size_t rows[3];
        t->barrier.seed = seed;
        la_bss_start(&t->barrier, gamma);
        for (size_t k = 0; k < 3; k++) assert_true(la_bss_draw(&t->barrier, &rows[k]));
        counted[(rows[0] * N + rows[1]) * N + rows[2]]++;
    }
    check_law(counted, law, CELLS, SEEDS);
    end(t);
}

static void replay(trial *t, uint64_t seed, double gamma, size_t draws, bool slowly) {
    size_t row;
    t->barrier.seed = seed;
    la_bss_start(&t->barrier, gamma);
    if (slowly) slow_start(t, gamma);
    for (size_t i = 0; i < draws; i++) {
        assert_true(la_bss_draw(&t->barrier, &row));
        if (slowly) slow_take(t, row);
    }
}

/* From one state, after `draws` draws, the next row is drawn many times. The state is
 * that of the seed whose law differs most from the initial one. */
static void check_late_law(size_t draws, double gamma) {
    enum { N = 30, D = 7, TIMES = 6000, STATES = 200 };
    trial *t = make(7, N, D, 1);
    double counted[N] = {0}, law[N], other[N], worst = 0;
    uint64_t chosen = 0;
    for (uint64_t seed = 0; seed < STATES; seed++) {
        replay(t, seed, gamma, draws, false);
        double spread = t->barrier.bound * D / t->barrier.phi;
        if (spread > worst) worst = spread, chosen = seed;
    }
    replay(t, chosen, gamma, draws, true);
    for (size_t i = 0; i < N; i++) {
        law[i] = slow_q(t, i) / (N * t->phi);
        other[i] = leverage(t, i);
    }
    check_power(law, other, N, TIMES);
    for (uint64_t time = 0; time < TIMES; time++) {
        size_t row;
        replay(t, chosen, gamma, draws, false);
        t->barrier.seed = 1000 + time; /* and discard proposals made in advance */
        t->barrier.next = LA_AHEAD;
        assert_true(la_bss_draw(&t->barrier, &row));
        counted[row]++;
    }
    check_law(counted, law, N, TIMES);
    end(t);
}

static void later_draws_follow_the_exact_law(void **state) {
    (void)state;
    check_late_law(40, 0.4);
    check_late_law(20, 0.6);
    check_late_law(23, 0.8);
}

/* ---- independent draws --------------------------------------------------------------
 */

/* The weighted sum of v v^T. */
static void slow_sum(const trial *t, double *sum) {
    size_t d = t->d;
    memset(sum, 0, d * d * sizeof *sum);
    for (size_t r = 0; r < t->n; r++)
        for (size_t i = 0; i < d; i++)
            for (size_t j = 0; j < d; j++)
                sum[i * d + j] +=
                    t->barrier.weight[r] * t->v[r * d + i] * t->v[r * d + j];
}

/* The weight of a row shows how often it was drawn. */
static void independent_draws_are_by_leverage_and_unbiased(void **state) {
    (void)state;
    enum { N = 40, D = 3, SEEDS = 4000, DRAWS = 7 };
    trial *t = make(3, N, D, 1);
    la_bss *b = &t->barrier;
    double counted[N] = {0}, law[N], mean[D * D] = {0}, square[D * D] = {0}, sum[D * D];
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        double all = 0, trace = 0;
        b->seed = seed;
        assert_int_equal(la_bss_run_plain(b, DRAWS, SIZE_MAX), SCANT_OK);
        assert_int_equal(b->draws, DRAWS);
        assert_near(b->beta, 1, 0);
        assert_near(b->condition, (double)D / DRAWS, 1e-15);
        for (size_t i = 0; i < N; i++) {
            double times = b->weight[i] * DRAWS * N * leverage(t, i);
            assert_near(times, round(times), 1e-9);
            counted[i] += round(times);
            all += round(times);
        }
        assert_near(all, DRAWS, 0);
        slow_sum(t, sum);
        for (size_t i = 0; i < D * D; i++) {
            mean[i] += sum[i] / SEEDS;
            square[i] += sum[i] * sum[i] / SEEDS;
            trace += i % (D + 1) ? 0 : sum[i];
        }
        assert_near(trace, D, 1e-9); /* for each seed, not only on average */
    }
    for (size_t i = 0; i < N; i++) law[i] = leverage(t, i);
    check_law(counted, law, N, SEEDS * DRAWS);
    for (size_t i = 0; i < D * D; i++) {
        double error = sqrt((square[i] - mean[i] * mean[i]) / SEEDS);
        assert_true(error < 0.02); /* small enough for the next test to be sensitive */
        assert_near(mean[i], i % (D + 1) ? 0 : 1, 4.5 * error);
    }
    end(t);
}

static void independent_draws_stop_at_the_limit_of_distinct_rows(void **state) {
    (void)state;
    static const size_t dims[] = {1, 4, 12};
    for (size_t k = 0; k < 3; k++) {
        trial *t = make(70 + k, 60, dims[k], 1);
        la_bss *b = &t->barrier;
        double sum[MOST_D * MOST_D], values[MOST_D], least, most;
        size_t d = dims[k];
        for (size_t distinct = 1; distinct < 30; distinct++) {
            size_t found = 0, draws;
            assert_int_equal(la_bss_run_plain(b, 3000, distinct), SCANT_OK);
            for (size_t i = 0; i < t->n; i++) found += b->weight[i] > 0;
            assert_int_equal(found, b->distinct);
            assert_true(found == distinct || b->draws == 3000);
            assert_int_equal(la_bss_band(b, &least, &most), SCANT_OK);
            slow_sum(t, sum);
            slow_eigenvalues(d, sum, values);
            assert_near(least, values[0], 1e-9 * values[d - 1]);
            assert_near(most, values[d - 1], 1e-9 * values[d - 1]);
            /* one more draw exceeds the limit */
            draws = b->draws;
            assert_int_equal(la_bss_run_plain(b, draws + 1, SIZE_MAX), SCANT_OK);
            assert_true(b->distinct == distinct + 1 || draws == 3000);
        }
        end(t);
    }
}

/* ---- guarantees ---------------------------------------------------------------------
 */

static void check_guarantees(trial *t, double gamma) {
    la_bss *b = &t->barrier;
    size_t d = t->d;
    double sum[MOST_D * MOST_D], values[MOST_D], least, most, mid, square;
    assert_int_equal(la_bss_run(b, gamma), SCANT_OK);
    assert_int_equal(la_bss_band(b, &least, &most), SCANT_OK);
    slow_sum(t, sum);
    slow_eigenvalues(d, sum, values);
    assert_near(least, values[0], NEAR);
    assert_near(most, values[d - 1], NEAR);
    mid = 2 * (double)d * (1 - gamma * gamma) / (gamma * gamma);
    square = 1 - gamma * gamma;
    assert_true(values[0] >= (1 - 2 * gamma) / square - NEAR);
    assert_true(values[d - 1] <= (1 + 2 * gamma) / square + 2 / (mid * (1 - gamma)));
    assert_true(b->beta >= 1 - NEAR && b->beta < 1 + 2 / mid);
    assert_true((double)b->draws >= mid / 2);
    if (gamma > 0.11) return;
    assert_true(values[0] >= 0.75 && values[d - 1] <= 1.25 && b->beta <= 1.25);
}

static void weighted_rows_are_nearly_orthonormal(void **state) {
    (void)state;
    static const double gammas[] = {0.05, 0.11, 0.2, 0.35, 0.5, 0.8};
    for (size_t d = 1; d <= 9; d += 2) {
        trial *t = make(20 + d, 400, d, 1);
        for (size_t g = 0; g < 6; g++)
            for (uint64_t seed = 0; seed < 4; seed++) {
                t->barrier.seed = seed;
                check_guarantees(t, gammas[g]);
            }
        end(t);
    }
}

/* The first draw moves the barriers apart by 2 gamma / (1 - gamma^2); 4 D / gamma end the
 * process. */
static void a_large_gamma_draws_once(void **state) {
    (void)state;
    for (size_t d = 1; d <= MOST_D; d++) {
        trial *t = make(40 + d, 50, d, 1);
        for (int more = 0; more < 2; more++) {
            double x = (more ? 0.51 : 0.49) / (double)d; /* 1/gamma^2 - 1 */
            assert_int_equal(la_bss_run(&t->barrier, 1 / sqrt(1 + x)), SCANT_OK);
            assert_int_equal(t->barrier.draws, 1 + more);
        }
        end(t);
    }
}

static void results_do_not_depend_on_the_thread_count(void **state) {
    (void)state;
    trial *one = make(50, 600, 10, 1);
    assert_int_equal(la_bss_run(&one->barrier, 0.2), SCANT_OK);
    assert_true(one->barrier.draws > one->barrier.distinct); /* with repeats */
    for (unsigned threads = 2; threads <= 4; threads++) {
        trial *more = make(50, 600, 10, threads);
        assert_int_equal(la_bss_run(&more->barrier, 0.2), SCANT_OK);
        assert_memory_equal(one->barrier.weight, more->barrier.weight, 600 * 8);
        end(more);
    }
    assert_int_equal(la_bss_run_plain(&one->barrier, 900, 300), SCANT_OK);
    for (unsigned threads = 2; threads <= 4; threads++) {
        trial *more = make(50, 600, 10, threads);
        assert_int_equal(la_bss_run_plain(&more->barrier, 900, 300), SCANT_OK);
        assert_memory_equal(one->barrier.weight, more->barrier.weight, 600 * 8);
        end(more);
    }
    end(one);
}

static int cancel_after_three(void *user) { return ++*(int *)user > 3; }

static void a_process_can_be_cancelled(void **state) {
    (void)state;
    trial *t = make(60, 300, 6, 1);
    int polled = 0;
    t->ctx->opts.user = &polled;
    t->ctx->opts.cancel = cancel_after_three;
    assert_int_equal(la_bss_run(&t->barrier, 0.01), SCANT_ECANCELLED);
    assert_true(t->barrier.draws < 100);
    polled = 0;
    assert_int_equal(la_bss_run_plain(&t->barrier, 100000, 300), SCANT_ECANCELLED);
    assert_true(t->barrier.draws < 100);
    end(t);
}

/* These tests draw outside of core/parfor.h, where BLAS would use threads for tiny
 * products and mostly wait. */
static int blas_threads;

static int one_blas_thread(void **state) {
    (void)state;
    blas_threads = openblas_get_num_threads();
    openblas_set_num_threads(1);
    return 0;
}

static int restore_blas_threads(void **state) {
    (void)state;
    openblas_set_num_threads(blas_threads);
    return 0;
}

#define ONE_BLAS_THREAD(test)                                                            \
    cmocka_unit_test_setup_teardown(test, one_blas_thread, restore_blas_threads)

int main(void) {
    const struct CMUnitTest tests[] = {
        ONE_BLAS_THREAD(the_state_matches_the_definition),
        ONE_BLAS_THREAD(the_first_draw_is_by_leverage),
        ONE_BLAS_THREAD(three_draws_follow_the_exact_law),
        ONE_BLAS_THREAD(later_draws_follow_the_exact_law),
        cmocka_unit_test(independent_draws_are_by_leverage_and_unbiased),
        cmocka_unit_test(independent_draws_stop_at_the_limit_of_distinct_rows),
        cmocka_unit_test(weighted_rows_are_nearly_orthonormal),
        cmocka_unit_test(a_large_gamma_draws_once),
        cmocka_unit_test(results_do_not_depend_on_the_thread_count),
        cmocka_unit_test(a_process_can_be_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
