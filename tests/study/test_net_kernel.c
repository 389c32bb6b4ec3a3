/* SPDX-License-Identifier: Apache-2.0
 *
 * The tangent kernel compared with inner products of gradients from one backward pass per
 * sample and class.
 */
#include "../nn/gradients.h"

#include "linalg/dense.h"
#include "scant/study.h"

#define CTX_THREADS 1
#include "context.h"

/* The gradients of all outputs, one row each. */
static float *jacobian(fixture *f) {
    float *rows = malloc(f->n * f->classes * f->parameters * sizeof *rows);
    plain p = plain_open(f);
    assert_non_null(rows);
    for (size_t i = 0; i < f->n; i++)
        for (size_t c = 0; c < f->classes; c++) {
            plain_output(f, &p, i, c);
            memcpy(rows + (i * f->classes + c) * f->parameters, p.gradient,
                   f->parameters * sizeof *rows);
        }
    plain_close(&p);
    return rows;
}

static double *kernel(fixture *f, const size_t *a, size_t n, const size_t *b, size_t m,
                      bool last_layer, bool full) {
    size_t each = full ? f->classes * f->classes : 1;
    double *k = malloc(n * m * each * sizeof *k);
    must(scant_net_kernel(f->net, &f->data, a, n, &f->data, b, m, last_layer, full, k));
    return k;
}

/* Compares entries with products of rows of the Jacobian; from: the first parameter. */
static void check(const fixture *f, const float *j, const double *full,
                  const double *reduced, const size_t *a, size_t n, const size_t *b,
                  size_t m, size_t from) {
    size_t c = f->classes, p = f->parameters - from;
    double sizes_of[64];
    assert_true(f->n * c <= 64);
    for (size_t i = 0; i < f->n * c; i++) {
        const float *x = j + i * f->parameters + from;
        sizes_of[i] = sqrt(dot_of(x, x, p));
    }
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < m; k++) {
            double trace = 0, sizes = 0;
            for (size_t e = 0; e < c * c; e++) {
                const float *x = j + (a[i] * c + e / c) * f->parameters + from;
                const float *y = j + (b[k] * c + e % c) * f->parameters + from;
                double want = dot_of(x, y, p);
                double size = sizes_of[a[i] * c + e / c] * sizes_of[b[k] * c + e % c];
                if (e / c == e % c) trace += want, sizes += size;
                if (!full) continue;
                double got = full[((i * c + e / c) * m + k) * c + e % c];
                assert_close(got, want, size, 1e-4, "entry", e);
            }
            assert_close(reduced[i * m + k], trace / (double)c, sizes / (double)c, 1e-4,
                         "reduced entry", i * m + k);
        }
}

static void entries_are_products_of_gradients(void **state) {
    (void)state;
    for (size_t m = 0; m < MODEL_CASES; m++) {
        model_case few = model_cases[m];
        if (few.n > 4) few.n = 4;
        fixture f = fixture_open(ctx, &few);
        size_t a[] = {0, 1, 2, 3}, b[] = {1, 0};
        float *j = jacobian(&f);
        double *full = kernel(&f, NULL, f.n, b, 2, false, true);
        double *reduced = kernel(&f, NULL, f.n, b, 2, false, false);
        check(&f, j, full, reduced, a, f.n, b, 2, 0);
        free(full), free(reduced), free(j);
        fixture_close(&f);
    }
}

static void the_last_layers_kernel_uses_only_its_gradients(void **state) {
    (void)state;
    for (size_t m = 0; m < 4; m += 3) {
        model_case few = model_cases[m];
        few.n = 3;
        fixture f = fixture_open(ctx, &few);
        const nn_net *shape = f.net->net;
        const nn_node *last = &shape->nodes[shape->n_nodes - 1];
        size_t a[] = {0, 1, 2};
        float *j = jacobian(&f);
        double *full = kernel(&f, a, 3, a, 3, true, true),
               *reduced = kernel(&f, a, 3, a, 3, true, false);
        check(&f, j, full, reduced, a, 3, a, 3, shape->params[last->weight].offset);
        free(full), free(reduced), free(j);
        fixture_close(&f);
    }
}

static void count(void *user, const char *phase, double done) {
    (void)done;
    if (strcmp(phase, "kernel") == 0) ++*(size_t *)user;
}

/* A low memory cap makes the blocks small. */
static void small_memory_gives_the_same_kernel(void **state) {
    (void)state;
    model_case some = {"gapcnn", {.shape = {3, 8, 8}, .classes = 3, .width = 6}, 23};
    double *wide = NULL, *crossed = NULL;
    size_t rows[] = {3, 1, 4, 1, 5, 9, 2, 6, 22, 20, 17};
    for (int small = 0; small < 2; small++) {
        scant_ctx *other;
        size_t ticks = 0; /* one per pair of blocks, plus one */
        scant_ctx_opts opts = {.threads = 1,
                               .memory = small ? SCANT__BLAS_BUFFER + (1 << 20) : 0,
                               .user = &ticks,
                               .progress = count};
        assert_int_equal(scant_ctx_create(&opts, &other), SCANT_OK);
        fixture f = fixture_open(other, &some);
        double *full = kernel(&f, NULL, 23, NULL, 23, false, true);
        assert_true(small ? ticks > 6 : ticks == 2);
        double *part = kernel(&f, rows, 11, NULL, 23, false, false);
        for (size_t i = 0; small && i < 23 * 3 * 23 * 3; i++) {
            size_t a = i / 69, b = i % 69;
            assert_close(full[i], wide[i], sqrt(wide[a * 70] * wide[b * 70]), 2e-5,
                         "entry", i);
        }
        for (size_t i = 0; small && i < 11 * 23; i++)
            assert_close(part[i], crossed[i], fabs(wide[0]), 2e-5, "entry", i);
        if (small) free(wide), free(crossed);
        wide = full, crossed = part;
        fixture_close(&f);
        scant_ctx_free(other);
    }
    free(wide), free(crossed);
}

/* The kernel of samples with themselves is symmetric to the bit and has no negative
 * eigenvalues beyond rounding. The reduced kernel is the mean of the blocks' diagonals.
 */
static void the_kernel_is_symmetric_and_positive(void **state) {
    (void)state;
    enum { N = 12, C = 3, SIZE = N * C };
    model_case some = {"gapcnn", {.shape = {3, 8, 8}, .classes = C, .width = 4}, N};
    fixture f = fixture_open(ctx, &some);
    double *full = kernel(&f, NULL, N, NULL, N, false, true);
    double *reduced = kernel(&f, NULL, N, NULL, N, false, false), values[SIZE];
    for (size_t i = 0; i < SIZE; i++)
        for (size_t j = 0; j < SIZE; j++)
            assert_true(full[i * SIZE + j] == full[j * SIZE + i]);
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++) {
            double trace = 0;
            for (size_t c = 0; c < C; c++)
                trace += full[(i * C + c) * SIZE + j * C + c] / C;
            assert_true(reduced[i * N + j] == reduced[j * N + i]);
            assert_close(reduced[i * N + j], trace,
                         sqrt(reduced[i * (N + 1)] * reduced[j * (N + 1)]), 1e-5, "trace",
                         i * N + j);
        }
    double *room = malloc(la_eigh_room(SIZE, false) * sizeof *room);
    assert_true(la_eigh(SIZE, full, false, values, room));
    assert_true(values[SIZE - 1] > 0);
    assert_true(values[0] > -1e-5 * values[SIZE - 1]);
    free(room), free(full), free(reduced);
    fixture_close(&f);
}

static void thread_counts_do_not_change_results(void **state) {
    (void)state;
    enum { N = 20 };
    model_case some = {"gapcnn", {.shape = {2, 7, 7}, .classes = 3, .width = 4}, N};
    double *one = NULL;
    for (unsigned threads = 1; threads <= 3; threads += 2) {
        scant_ctx *other = ctx_threads(threads);
        fixture f = fixture_open(other, &some);
        double *k = kernel(&f, NULL, N, NULL, N, false, false);
        for (size_t i = 0; one && i < N * N; i++)
            assert_close(k[i], one[i], sqrt(one[i / N * (N + 1)] * one[i % N * (N + 1)]),
                         1e-5, "entry", i);
        free(one);
        one = k;
        fixture_close(&f);
        scant_ctx_free(other);
    }
    free(one);
}

static void wrong_options_are_refused_with_a_message(void **state) {
    (void)state;
    model_case small = {"mlp", {.shape = {1, 3, 3}, .classes = 3, .width = 4}, 2};
    fixture f = fixture_open(ctx, &small);
    size_t rows[] = {0, 2};
    double k[4];
    assert_int_equal(
        scant_net_kernel(f.net, &f.data, rows, 2, &f.data, NULL, 0, false, false, k),
        SCANT_EINPUT);
    assert_non_null(strstr(scant_ctx_errmsg(ctx), "there is no sample 2"));
    assert_int_equal(
        scant_net_kernel(f.net, &f.data, NULL, 0, &f.data, rows, 2, false, false, k),
        SCANT_EINPUT);
    scant_data wide = f.data;
    wide.shape[2] = 4;
    assert_int_equal(
        scant_net_kernel(f.net, &f.data, NULL, 0, &wide, NULL, 0, false, false, k),
        SCANT_EINPUT);
    assert_non_null(strstr(scant_ctx_errmsg(ctx), "samples of 1x3x4"));
    f.numbers[9] = INFINITY;
    assert_int_equal(
        scant_net_kernel(f.net, &f.data, NULL, 0, &f.data, NULL, 0, false, false, k),
        SCANT_EINPUT);
    assert_non_null(strstr(scant_ctx_errmsg(ctx), "sample 1 are not finite"));
    fixture_close(&f);
}

static int cancelled(void *user) { return (*(int *)user)-- <= 0; }

static void the_kernel_can_be_cancelled(void **state) {
    (void)state;
    model_case small = {"mlp", {.shape = {1, 3, 3}, .classes = 3, .width = 4}, 2};
    scant_ctx *other;
    int left = 1 << 20;
    scant_ctx_opts opts = {.threads = 1, .user = &left, .cancel = cancelled};
    assert_int_equal(scant_ctx_create(&opts, &other), SCANT_OK);
    fixture f = fixture_open(other, &small);
    double k[4];
    bool done = false;
    for (int at = 0; !done; at++) {
        left = at;
        scant_status s =
            scant_net_kernel(f.net, &f.data, NULL, 0, &f.data, NULL, 0, false, false, k);
        done = s == SCANT_OK;
        assert_true(done || s == SCANT_ECANCELLED);
        assert_true(done ? at > 3 : true);
    }
    fixture_close(&f);
    scant_ctx_free(other);
}

static void failed_allocations_leak_nothing(void **state) {
    (void)state;
    model_case small = {"gapcnn", {.shape = {1, 4, 4}, .classes = 2, .width = 2}, 3};
    bool done = false;
    for (size_t at = 0; !done && at<2000; at += at> 50 ? 7 : 1) {
        memory m;
        double k[9];
        scant_ctx *other = ctx_counting(&m);
        fixture f = fixture_open(other, &small);
        m.calls = 0;
        m.fail_at = at;
        scant_status s =
            scant_net_kernel(f.net, &f.data, NULL, 0, &f.data, NULL, 0, false, false, k);
        m.fail_at = SIZE_MAX;
        done = s == SCANT_OK;
        assert_true(done || s == SCANT_ENOMEM);
        fixture_close(&f);
        scant_ctx_free(other);
        assert_int_equal(m.live, 0);
    }
    assert_true(done);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_are_products_of_gradients),
        cmocka_unit_test(the_last_layers_kernel_uses_only_its_gradients),
        cmocka_unit_test(small_memory_gives_the_same_kernel),
        cmocka_unit_test(the_kernel_is_symmetric_and_positive),
        cmocka_unit_test(thread_counts_do_not_change_results),
        cmocka_unit_test(wrong_options_are_refused_with_a_message),
        cmocka_unit_test(the_kernel_can_be_cancelled),
        cmocka_unit_test(failed_allocations_leak_nothing),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
