/* SPDX-License-Identifier: Apache-2.0
 *
 * Optimisers compared with torch's; schedules and averages with hand-computed values.
 */
#include "support.h"

#include <math.h>

#include "nn/optim.h"

enum { N = 6, STEPS = 3 };

static const float start[N] = {0.5f, -1.25f, 2, 0.0625f, -3, 0.75f};
static const float gradients[STEPS][N] = {{0.1f, -0.2f, 0.3f, -0.4f, 0.5f, 1},
                                          {0.05f, 0.25f, -0.75f, 0.1f, -0.125f, 0.2f},
                                          {-1, 0.5f, 0.0625f, 2, 0.3f, -0.7f}};

static void near(double got, double want, double tolerance) {
    if (!(fabs(got - want) <= tolerance))
        fail_msg("%.9g, expected %.9g within %g", got, want, tolerance);
}

/* The six weights of torch 1.13 after three steps. The first four are in a parameter
 * group with weight decay, the last two in one without. */
typedef struct reference {
    const char *name;
    nn_optim_opts o;
    double lr;
    double want[N];
} reference;

static const reference table[] = {
    {"sgd",
     {.kind = NN_SGD},
     0.1,
     {0.585000038, -1.30499995, 2.03875017, -0.107500002, -3.06749988, 0.699999988}},
    {"decay",
     {.kind = NN_SGD, .weight_decay = 0.05},
     0.1,
     {0.57766223, -1.28641808, 2.00882411, -0.108781822, -3.06749988, 0.699999988}},
    {"momentum",
     {.kind = NN_SGD, .weight_decay = 0.05, .momentum = 0.9},
     0.1,
     {0.549649715, -1.25864184, 1.99928403, -0.0505546406, -3.1417501, 0.510999978}},
    {"nesterov",
     {.kind = NN_SGD, .weight_decay = 0.05, .momentum = 0.9, .nesterov = true},
     0.1,
     {0.622714341, -1.29467237, 2.00859451, -0.211405843, -3.19507504, 0.484899998}},
    {"clipped",
     {.kind = NN_SGD, .weight_decay = 0.05, .momentum = 0.9, .clip = 0.5},
     0.1,
     {0.49023807, -1.23227501, 1.99577975, 0.0512013137, -3.04636478, 0.632832825}},
    {"adam",
     {.kind = NN_ADAM, .momentum = 0.9},
     0.01,
     {0.486226916, -1.24768615, 1.99733722, 0.0716699138, -3.02104616, 0.730470896}},
    {"adam with decay",
     {.kind = NN_ADAM, .momentum = 0.9, .weight_decay = 0.05},
     0.01,
     {0.485662639, -1.24352145, 1.99364436, 0.0715563521, -3.02104616, 0.730470896}},
    {"adam with other options",
     {.kind = NN_ADAM,
      .momentum = 0.8,
      .beta2 = 0.95,
      .epsilon = 1e-3,
      .weight_decay = 0.05},
     0.01,
     {0.486553818, -1.24491179, 1.99433243, 0.0703948438, -3.02045155, 0.731645942}},
};

static void steps_match_torch(void **state) {
    scant_ctx *ctx = ctx_threads(2);
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const reference *r = &table[i];
        float w[N], m[N] = {0}, v[N] = {0};
        bool keeps = r->o.momentum > 0;
        /* two adjacent spans, equal to one */
        const nn_span decays[] = {{0, 1}, {1, 4}};
        memcpy(w, start, sizeof w);
        for (size_t step = 0; step < STEPS; step++)
            nn_optim_step(ctx, &r->o, step + 1, r->lr, N, w, gradients[step],
                          keeps ? m : NULL, v, decays, 2);
        for (size_t k = 0; k < N; k++)
            /* one or two units in the last place; torch adds 1e-6 to the norm when
             * clipping */
            if (!(fabs((double)w[k] - r->want[k]) <= 5e-7))
                fail_msg("%s: weight %zu is %.9g, expected %.9g", r->name, k,
                         (double)w[k], r->want[k]);
    }
    scant_ctx_free(ctx);
}

/* In floats, 1 - 0.999 has a relative error of 1e-5. */
static void adams_moments_have_float_precision(void **state) {
    scant_ctx *ctx = ctx_threads(1);
    const nn_optim_opts o = {.kind = NN_ADAM, .momentum = 0.9};
    float w = 1, g = 2, m = 0, v = 0;
    (void)state;
    nn_optim_step(ctx, &o, 1, 0.5, 1, &w, &g, &m, &v, NULL, 0);
    near((double)m, 0.2, 2e-8);
    near((double)v, 0.004, 4e-10);
    near((double)w, 0.5, 1e-6); /* the first step has length lr */
    scant_ctx_free(ctx);
}

enum { LONG = 200000 };

/* Sets out to LONG weights after two steps. */
static void long_run(const nn_optim_opts *o, unsigned threads, const nn_span *decays,
                     size_t n_decays, float *out) {
    scant_ctx *ctx = ctx_threads(threads);
    float *g = malloc(LONG * sizeof *g), *m = calloc(LONG, sizeof *m);
    float *v = calloc(LONG, sizeof *v);
    for (size_t i = 0; i < LONG; i++) {
        out[i] = (float)unit_at(1, i) - 0.5f;
        g[i] = (float)unit_at(2, i) - 0.5f;
    }
    for (size_t step = 1; step <= 2; step++)
        nn_optim_step(ctx, o, step, 0.01, LONG, out, g, m, v, decays, n_decays);
    free(g);
    free(m);
    free(v);
    scant_ctx_free(ctx);
}

static void results_do_not_depend_on_the_thread_count(void **state) {
    const nn_optim_opts kinds[] = {
        {.kind = NN_SGD, .momentum = 0.9, .weight_decay = 0.1, .clip = 1},
        {.kind = NN_ADAM, .momentum = 0.9, .weight_decay = 0.1, .clip = 1}};
    const nn_span decays[] = {{10, 70000}, {150001, LONG}};
    float *one = malloc(LONG * sizeof *one), *three = malloc(LONG * sizeof *three);
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        long_run(&kinds[i], 1, decays, 2, one);
        long_run(&kinds[i], 3, decays, 2, three);
        assert_memory_equal(one, three, LONG * sizeof *one);
    }
    free(one);
    free(three);
}

/* Spans begin and end inside blocks and at their edges, and cover several blocks. */
static void only_weights_in_spans_decay(void **state) {
    const nn_span decays[] = {
        {0, 1}, {5, 16384}, {16385, 16386}, {40000, 90000}, {199999, LONG}};
    const nn_optim_opts o = {.kind = NN_SGD, .weight_decay = 0.5};
    scant_ctx *ctx = ctx_threads(2);
    float *w = malloc(LONG * sizeof *w), *g = calloc(LONG, sizeof *g);
    (void)state;
    for (size_t i = 0; i < LONG; i++) w[i] = 1;
    nn_optim_step(ctx, &o, 1, 1, LONG, w, g, NULL, NULL, decays, 5);
    for (size_t i = 0; i < LONG; i++) {
        bool in = false;
        for (size_t k = 0; k < 5; k++) in |= i >= decays[k].from && i < decays[k].to;
        assert_true(w[i] == (in ? 0.5f : 1));
    }
    free(w);
    free(g);
    scant_ctx_free(ctx);
}

/* All gradients are 1, so their norm sqrt(200000) is clipped to 2. */
static void clipping_uses_the_norm_of_all_gradients(void **state) {
    const nn_optim_opts o = {.kind = NN_SGD, .clip = 2};
    scant_ctx *ctx = ctx_threads(2);
    float *w = calloc(LONG, sizeof *w), *g = malloc(LONG * sizeof *g);
    double sum = 0;
    (void)state;
    for (size_t i = 0; i < LONG; i++) g[i] = 1;
    nn_optim_step(ctx, &o, 1, 1, LONG, w, g, NULL, NULL, NULL, 0);
    for (size_t i = 0; i < LONG; i++) sum += (double)w[i] * (double)w[i];
    near(sqrt(sum), 2, 1e-6);
    for (size_t i = 0; i < LONG; i++) assert_true(w[i] == w[0]);
    w[0] = 0;
    g[0] = 1.5f; /* a norm below the limit stays */
    nn_optim_step(ctx, &o, 1, 1, 1, w, g, NULL, NULL, NULL, 0);
    assert_true(w[0] == -1.5f);
    free(w);
    free(g);
    scant_ctx_free(ctx);
}

static void averages_converge_to_the_weights(void **state) {
    scant_ctx *ctx = ctx_threads(2);
    float w[] = {1, -2}, average[] = {0, 10};
    (void)state;
    nn_optim_average(ctx, 0.75, 2, w, average);
    assert_true(average[0] == 0.25f && average[1] == 7);
    for (int i = 0; i < 100; i++) nn_optim_average(ctx, 0.75, 2, w, average);
    near((double)average[0], 1, 1e-6);
    near((double)average[1], -2, 1e-6);
    scant_ctx_free(ctx);
}

static void vectors_of_several_blocks_are_swapped(void **state) {
    enum { MANY = 40001 };
    static float a[MANY], b[MANY];
    scant_ctx *ctx = ctx_threads(3);
    (void)state;
    for (size_t i = 0; i < MANY; i++) a[i] = (float)i, b[i] = -1 - (float)i;
    nn_optim_swap(ctx, MANY - 1, a, b);
    for (size_t i = 0; i < MANY - 1; i++)
        assert_true(a[i] == -1 - (float)i && b[i] == (float)i);
    assert_true(a[MANY - 1] == MANY - 1 && b[MANY - 1] == -MANY);
    scant_ctx_free(ctx);
}

static void schedules_match_hand_computed_values(void **state) {
    (void)state;
    near(nn_schedule("constant", 999, 1000, 0), 1, 0);
    near(nn_schedule("cosine", 0, 1000, 0), 1, 0);
    near(nn_schedule("cosine", 500, 1000, 0), 0.5, 1e-12);
    near(nn_schedule("cosine", 1000, 1000, 0), 0, 1e-12);
    near(nn_schedule("step", 499, 1000, 0), 1, 0);
    near(nn_schedule("step", 500, 1000, 0), 0.1, 1e-15);
    near(nn_schedule("step", 750, 1000, 0), 0.01, 1e-15);
    near(nn_schedule("fixmatch", 0, 1000, 0), 1, 0);
    near(nn_schedule("fixmatch", 1000, 1000, 0), 0.195090322, 1e-9);
    near(nn_schedule("constant", 0, 1000, 4), 0.25, 0);
    near(nn_schedule("constant", 3, 1000, 4), 1, 0);
    near(nn_schedule("constant", 4, 1000, 4), 1, 0);
    near(nn_schedule("cosine", 0, 0, 0), 1, 0); /* no steps */
    near(nn_schedule("late", 799, 1000, 0), 1, 0);
    near(nn_schedule("late", 800, 1000, 0), 0.2, 1e-15);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_match_torch),
        cmocka_unit_test(adams_moments_have_float_precision),
        cmocka_unit_test(results_do_not_depend_on_the_thread_count),
        cmocka_unit_test(only_weights_in_spans_decay),
        cmocka_unit_test(clipping_uses_the_norm_of_all_gradients),
        cmocka_unit_test(averages_converge_to_the_weights),
        cmocka_unit_test(vectors_of_several_blocks_are_swapped),
        cmocka_unit_test(schedules_match_hand_computed_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
