/* SPDX-License-Identifier: Apache-2.0
 *
 * Posterior draws of a Bayesian network's last layer: their distribution, that they are
 * the same for all samples, and their predictions.
 */
#include "bayes.h"

#include "nn/draws.h"
#include "nn/kernels.h"
#include "scant/train.h"

static void set_param(scant_net *net, const char *name, float value) {
    const nn_param *p = nn_net_find(net->net, name);
    float *all = floats_of(net->net->n_floats);
    assert_non_null(p);
    assert_int_equal(nn_weights_get(net->weights, all), SCANT_OK);
    for (size_t i = 0; i < p->count; i++) all[p->offset + i] = value;
    assert_int_equal(nn_weights_set(net->weights, all), SCANT_OK);
    free(all);
}

static const scant_net_opts variational = {
    .classes = 4, .bayes = "variational", .draws = 30};

/* ---- the kernel ---- */

static void check_kernel(const nn_kernels *kernels, size_t c, size_t draws, size_t live,
                         double spread) {
    float *z = floats_of(c * draws), *was = floats_of(c * draws), *bias = floats_of(c);
    double tolerance = 1e-6 * (1 + spread); /* logits are floats */
    double *sums = malloc(c * sizeof *sums), *expected = malloc(c * sizeof *expected);
    for (size_t i = 0; i < c * draws; i++)
        was[i] = z[i] = (float)(spread * normal_at(21, i));
    for (size_t k = 0; k < c; k++) {
        bias[k] = (float)normal_at(22, k);
        sums[k] = expected[k] = 5;
    }
    kernels->draws(z, c, draws, live, bias, sums);
    for (size_t s = 0; s < draws; s++) {
        double total = 0, top = -INFINITY;
        for (size_t k = 0; k < c; k++)
            top = fmax(top, (double)(was[k * draws + s] + bias[k]));
        for (size_t k = 0; k < c; k++)
            total += exp((double)(was[k * draws + s] + bias[k]) - top);
        for (size_t k = 0; k < c; k++) {
            double p = exp((double)(was[k * draws + s] + bias[k]) - top) / total;
            double got = (double)z[k * draws + s];
            if (s >= live) p = 0;
            expected[k] += p;
            if (!(fabs(got - p) <= tolerance * p + 1e-37))
                fail_msg("%.9g, expected %.9g", got, p);
        }
    }
    for (size_t k = 0; k < c; k++) assert_true(fabs(sums[k] - expected[k]) < 1e-4);
    free(z), free(was), free(bias), free(sums), free(expected);
}

static void kernel_computes_the_softmax_of_each_draw(void **state) {
    (void)state;
    const nn_kernels *kernels[] = {nn_kernels_best(), nn_kernels_plain()};
    for (int i = 0; i < 2; i++) {
        check_kernel(kernels[i], 2, 8, 8, 1);
        check_kernel(kernels[i], 10, 104, 100, 5);
        check_kernel(kernels[i], 3, 128, 121, 60);
        check_kernel(kernels[i], 1001, 8, 1, 2);
        float z[16] = {0}, bias[2] = {0};
        double sums[2] = {0};
        z[3] = NAN;
        kernels[i]->draws(z, 2, 8, 8, bias, sums);
        assert_true(isnan(sums[0]) && isnan(sums[1]) && isnan(z[11]));
        assert_true(fabsf(z[2] - 0.5f) < 1e-6f);
    }
}

static void panel_products_do_not_depend_on_other_rows(void **state) {
    (void)state;
    enum { N = 11, D = 37 };
    const nn_kernels *kernels[] = {nn_kernels_best(), nn_kernels_plain()};
    for (size_t columns = 8; columns <= 64; columns += 8)
        for (int i = 0; i < 2; i++) {
            float h[N * D], z[N * 64], one[64], *w = floats_of(D * columns);
            for (size_t k = 0; k < N * D; k++) h[k] = (float)normal_at(41, k);
            for (size_t k = 0; k < D * columns; k++) w[k] = (float)normal_at(42, k);
            kernels[i]->panels(h, N, D, w, columns, z);
            for (size_t r = 0; r < N; r++) {
                kernels[i]->panels(h + r * D, 1, D, w, columns, one);
                assert_memory_equal(one, z + r * columns, columns * sizeof *one);
                for (size_t k = 0; k < columns; k++) {
                    size_t at = k / 24 * 24, wide = columns - at < 24 ? columns - at : 24;
                    double sum = 0;
                    for (size_t j = 0; j < D; j++)
                        sum +=
                            (double)h[r * D + j] * (double)w[at * D + j * wide + k - at];
                    assert_true(fabs(sum - (double)one[k]) < 1e-4);
                }
            }
            free(w);
        }
}

/* ---- the distribution of draws ---- */

static void drawn_weights_have_the_posteriors_mean_and_variance(void **state) {
    (void)state;
    enum { WIDTH = 6, CLASSES = 5, M = 30000 };
    scant_ctx *ctx = ctx_of(2, 0);
    scant_net *net = net_of(ctx, "linear",
                            (scant_net_opts){.shape = {WIDTH, 1, 1},
                                             .classes = CLASSES,
                                             .bayes = "variational",
                                             .draws = M});
    float w[2 * CLASSES * WIDTH + CLASSES] = {0};
    float *mean = w, *rho = w + CLASSES * WIDTH + CLASSES;
    for (size_t i = 0; i < CLASSES * WIDTH; i++) {
        mean[i] = (float)normal_at(1, i);
        rho[i] = (float)normal_at(2, i) - 1;
    }
    assert_int_equal(nn_weights_set(net->weights, w), SCANT_OK);
    const nn_draws *d;
    OK(nn_draws_of(net, &d));
    double first = 0, second = 0, crossed = 0, h[WIDTH] = {1, -2, 0.5, 3, -1, 0.25};
    double other[WIDTH] = {1, -2, 0.5, 3, 1, 0.25}, shared = 0;
    for (size_t s = 0; s < M; s++) {
        double before = 0;
        for (size_t k = 0; k < CLASSES; k++) {
            size_t at = s / d->group * d->group, in = (M - at + 7) / 8 * 8;
            if (in > d->group) in = d->group;
            size_t column = k * in + (s - at), panel = column / 24 * 24;
            size_t apart = CLASSES * in - panel < 24 ? CLASSES * in - panel : 24;
            const float *w_s = d->w + (at * CLASSES + panel) * WIDTH + column - panel;
            double z = 0, mu = 0, v = 0, y = 0, nu = 0, u = 0, both = 0;
            for (size_t j = 0; j < WIDTH; j++) {
                double sd = log(1 + exp((double)rho[k * WIDTH + j]));
                z += h[j] * (double)w_s[j * apart],
                    mu += h[j] * (double)mean[k * WIDTH + j];
                y += other[j] * (double)w_s[j * apart];
                nu += other[j] * (double)mean[k * WIDTH + j];
                v += h[j] * h[j] * sd * sd, u += other[j] * other[j] * sd * sd;
                both += h[j] * other[j] * sd * sd;
            }
            double e = (z - mu) / sqrt(v);
            first += e, second += e * e;
            shared += (z - mu) * (y - nu) / both; /* both samples share W */
            crossed += e * before;
            before = e;
        }
    }
    double n = (double)M * CLASSES;
    assert_true(fabs(first / n) < 0.01);
    assert_true(fabs(second / n - 1) < 0.01);
    assert_true(fabs(crossed / n) < 0.01); /* classes are independent */
    assert_true(fabs(shared / n - 1) < 0.02);
    scant_net_free(net);
    scant_ctx_free(ctx);
}

/* The reference uses features, weights and the keys of draws, in double. */
static void dropout_draws_match_a_slow_reference(void **state) {
    (void)state;
    enum { N = 41, WIDTH = 19, HIDDEN = 33, M = 21, C = 4 };
    scant_ctx *ctx = ctx_of(2, 0);
    scant_data *data = data_of(ctx, N, 0, WIDTH);
    scant_net *net = net_of(ctx, "mlp",
                            (scant_net_opts){.shape = {WIDTH, 1, 1},
                                             .classes = C,
                                             .width = HIDDEN,
                                             .dropout = 0.3,
                                             .bayes = "dropout",
                                             .draws = M,
                                             .draw_seed = 8});
    float *all = floats_of(net->net->n_floats);
    set_param(net, "fc2.bias", 0.25f);
    assert_int_equal(nn_weights_get(net->weights, all), SCANT_OK);
    const float *w = all + nn_net_find(net->net, "fc2.weight")->offset;
    predictions s = predict(net, data);
    size_t dropped = 0;
    for (size_t draw = 0; draw < M; draw++) {
        scant__rng keys = {8, SCANT__RNG_POSTERIOR};
        scant__rng rng = {scant__rng_u64(&keys, draw), SCANT__RNG_POSTERIOR};
        for (size_t j = 0; j < HIDDEN; j++) dropped += scant__rng_unit(&rng, j) < 0.3;
        for (size_t i = 0; i < N; i++) {
            double z[C], total = 0;
            for (size_t k = 0; k < C; k++) {
                z[k] = 0.25;
                for (size_t j = 0; j < HIDDEN; j++)
                    if (scant__rng_unit(&rng, j) >= 0.3)
                        z[k] += (double)s.features[i * HIDDEN + j] *
                                (double)w[k * HIDDEN + j] / 0.7;
                total += exp(z[k]);
            }
            for (size_t k = 0; k < C; k++)
                assert_true(fabs((double)s.samples[(draw * N + i) * C + k] -
                                 exp(z[k]) / total) < 1e-5);
        }
    }
    double share = (double)dropped / (M * HIDDEN);
    assert_true(share > 0.2 && share < 0.4);
    predictions_free(&s);
    free(all);
    scant_net_free(net);
    scant_data_free(data);
    scant_ctx_free(ctx);
}

/* ---- predictions ---- */

static void predictions_are_the_mean_over_draws(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_of(2, 0);
    scant_data *data = data_of(ctx, 300, 0, 12);
    scant_net_opts o = variational;
    o.shape[0] = 12, o.shape[1] = o.shape[2] = 1;
    scant_net *net = net_of(ctx, "mlp", o);
    set_param(net, "fc2.weight_rho", 0.5f); /* draws far apart */
    predictions s = predict(net, data);
    double disagree = 0;
    for (size_t i = 0; i < s.n; i++) {
        double sum = 0, norm = 0;
        for (size_t k = 0; k < s.c; k++) {
            double mean = 0;
            for (size_t m = 0; m < s.m; m++)
                mean += (double)s.samples[(m * s.n + i) * s.c + k] / (double)s.m;
            assert_true(fabs(mean - (double)s.probs[i * s.c + k]) < 1e-6);
            disagree += fabs((double)s.samples[i * s.c + k] - mean);
            sum += (double)s.probs[i * s.c + k];
            norm += exp((double)s.logits[i * s.c + k]);
        }
        assert_true(fabs(sum - 1) < 1e-5);
        for (size_t k = 0; k < s.c; k++)
            assert_true(fabs(exp((double)s.logits[i * s.c + k]) / norm -
                             (double)s.probs[i * s.c + k]) < 1e-6);
    }
    assert_true(disagree / (double)s.n > 0.1);
    /* other outputs of the same call change nothing */
    float *probs = floats_of(s.n * s.c);
    OK(scant_net_predict(net, data, NULL, 0, &(scant_outputs){.probs = probs}));
    assert_memory_equal(probs, s.probs, s.n * s.c * sizeof *probs);
    free(probs);
    predictions_free(&s);
    scant_net_free(net);
    scant_data_free(data);
    scant_ctx_free(ctx);
}

/* The largest BALD score: entropy of the mean minus mean of the entropies. */
static double bald(const predictions *s) {
    double most = 0;
    for (size_t i = 0; i < s->n; i++) {
        double whole = 0, each = 0;
        for (size_t k = 0; k < s->c; k++) {
            double p = (double)s->probs[i * s->c + k];
            whole -= p * log(p);
            for (size_t m = 0; m < s->m; m++) {
                p = (double)s->samples[(m * s->n + i) * s->c + k];
                each -= p * log(p) / (double)s->m;
            }
        }
        most = fmax(most, whole - each);
    }
    return most;
}

static void a_narrow_posterior_is_the_plain_network_and_has_no_bald_score(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_of(2, 0);
    scant_data *data = data_of(ctx, 70, 0, 12);
    scant_net_opts o = variational;
    o.shape[0] = 12, o.shape[1] = o.shape[2] = 1;
    scant_net *net = net_of(ctx, "mlp", o);
    o.bayes = NULL, o.draws = 0;
    scant_net *plain = net_of(ctx, "mlp", o);
    float *all = floats_of(net->net->n_floats);
    assert_int_equal(nn_weights_get(net->weights, all), SCANT_OK);
    assert_int_equal(nn_weights_set(plain->weights, all), SCANT_OK);
    predictions wide = predict(net, data), narrow, one = predict(plain, data);
    set_param(net, "fc2.weight_rho", -40);
    narrow = predict(net, data);
    assert_near(narrow.probs, one.probs, one.n * one.c, 1e-6);
    assert_near(narrow.features, one.features, one.n * one.d, 0);
    for (size_t m = 0; m < narrow.m; m++)
        assert_near(narrow.samples + m * one.n * one.c, one.probs, one.n * one.c, 1e-6);
    assert_true(fabs(bald(&narrow)) < 1e-5);
    assert_true(bald(&wide) > 1e-5);
    assert_near(one.samples, one.probs, one.n * one.c,
                0); /* a plain network has one draw: its prediction */
    predictions_free(&wide), predictions_free(&narrow), predictions_free(&one);
    free(all);
    scant_net_free(net);
    scant_net_free(plain);
    scant_data_free(data);
    scant_ctx_free(ctx);
}

/* Equal samples get the same bits in every draw, wherever they are in a batch. */
static void duplicates_have_identical_rows(void **state) {
    (void)state;
    static const char *const kinds[] = {"variational", "dropout"};
    enum { N = 101 };
    scant_ctx *ctx = ctx_of(2, 0);
    scant_data *data = data_of(ctx, 40, 28, 0);
    size_t rows[N];
    for (size_t i = 0; i < N; i++) rows[i] = i * 7 % 40;
    for (int k = 0; k < 2; k++) {
        scant_net *net =
            net_of(ctx, "lenet5", (scant_net_opts){.bayes = kinds[k], .draws = 12});
        size_t c = 10, m = scant_net_draws(net);
        float *samples = floats_of(m * N * c), *probs = floats_of(N * c);
        OK(scant_net_predict(net, data, rows, N,
                             &(scant_outputs){.probs = probs, .draws = samples}));
        for (size_t i = 40; i < N; i++) {
            size_t first = i % 40;
            assert_int_equal(rows[i], rows[first]);
            assert_memory_equal(probs + i * c, probs + first * c, c * sizeof *probs);
            for (size_t s = 0; s < m; s++)
                assert_memory_equal(samples + (s * N + i) * c,
                                    samples + (s * N + first) * c, c * sizeof *samples);
        }
        free(samples), free(probs);
        scant_net_free(net);
    }
    scant_data_free(data);
    scant_ctx_free(ctx);
}

static void draws_depend_on_the_weights_and_the_seed(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_of(2, 0);
    scant_data *data = data_of(ctx, 9, 0, 12);
    scant_net_opts o = variational;
    o.shape[0] = 12, o.shape[1] = o.shape[2] = 1;
    scant_net *net = net_of(ctx, "mlp", o);
    predictions a = predict(net, data), b = predict(net, data);
    assert_near(a.samples, b.samples, a.m * a.n * a.c, 0);
    const char *const names[] = {"fc2.weight_rho", "fc2.weight", "fc2.bias"};
    for (int i = 0; i < 3; i++) {
        set_param(net, names[i], 0.75f);
        predictions_free(&b);
        b = predict(net, data);
        assert_true(memcmp(a.samples, b.samples, a.m * a.n * a.c * sizeof(float)) != 0 ||
                    i == 2); /* a bias that is equal for all classes changes nothing */
        predictions_free(&a);
        a = predict(net, data);
    }
    /* a saved network has the same draws; another draw_seed gives others */
    OK(scant_net_save(net, path_of("w.safetensors")));
    scant_net *back;
    OK(scant_net_open(ctx, path_of("w.safetensors"), NULL, NULL, &back));
    predictions c = predict(back, data);
    assert_near(a.samples, c.samples, a.m * a.n * a.c, 0);
    scant_net_free(back);
    OK(scant_net_open(ctx, path_of("w.safetensors"), NULL,
                      &(scant_net_opts){.draw_seed = 1}, &back));
    predictions d = predict(back, data);
    assert_true(memcmp(a.samples, d.samples, a.m * a.n * a.c * sizeof(float)) != 0);
    scant_net_free(back);
    predictions_free(&a), predictions_free(&b), predictions_free(&c),
        predictions_free(&d);
    scant_net_free(net);
    scant_data_free(data);
    scant_ctx_free(ctx);
}

static void results_do_not_depend_on_the_thread_count(void **state) {
    (void)state;
    enum { N = 75, WIDTH = 20, C = 7, M = 300 };
    float *h = floats_of(N * WIDTH), *samples[2];
    double *sums[2];
    for (size_t i = 0; i < N * WIDTH; i++) h[i] = (float)normal_at(31, i);
    for (unsigned t = 0; t < 2; t++) {
        scant_ctx *ctx = ctx_of(t + 1, 0);
        scant_net *net = net_of(ctx, "linear",
                                (scant_net_opts){.shape = {WIDTH, 1, 1},
                                                 .classes = C,
                                                 .bayes = "variational",
                                                 .draws = M});
        const nn_draws *d;
        OK(nn_draws_of(net, &d));
        float *room = floats_of(nn_draws_room(ctx, C));
        samples[t] = floats_of(M * N * C);
        sums[t] = calloc(N * C, sizeof *sums[t]);
        OK(nn_draws_add(ctx, d, h, N, sums[t], samples[t], N * C, room));
        free(room);
        scant_net_free(net);
        scant_ctx_free(ctx);
    }
    assert_memory_equal(samples[0], samples[1], M * N * C * sizeof(float));
    assert_memory_equal(sums[0], sums[1], N * C * sizeof(double));
    for (int t = 0; t < 2; t++) free(samples[t]), free(sums[t]);
    free(h);
}

/* Regression. */
static void a_single_output_is_averaged_without_softmax(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_of(1, 0);
    scant_data *data = data_of(ctx, 33, 0, 5);
    scant_net *net = net_of(
        ctx, "linear",
        (scant_net_opts){
            .shape = {5, 1, 1}, .classes = 1, .bayes = "variational", .draws = 40});
    set_param(net, "fc.bias", 2);
    set_param(net, "fc.weight", 0.5f);
    predictions s = predict(net, data);
    for (size_t i = 0; i < s.n; i++) {
        double mean = 0, plain = 2;
        for (size_t m = 0; m < s.m; m++) mean += (double)s.samples[m * s.n + i] / 40;
        for (size_t j = 0; j < 5; j++) plain += 0.5 * (double)s.features[i * 5 + j];
        assert_true(fabs(mean - (double)s.logits[i]) < 1e-5);
        assert_true(fabs(mean - plain) < 0.1); /* standard deviations are about 0.02 */
    }
    assert_int_equal(scant_net_write_draws(net, data, NULL, 0, path_of("s.npy")),
                     SCANT_EINPUT);
    assert_non_null(strstr(scant_ctx_errmsg(ctx), "one output"));
    predictions_free(&s);
    scant_net_free(net);
    scant_data_free(data);
    scant_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernel_computes_the_softmax_of_each_draw),
        cmocka_unit_test(panel_products_do_not_depend_on_other_rows),
        cmocka_unit_test(drawn_weights_have_the_posteriors_mean_and_variance),
        cmocka_unit_test(dropout_draws_match_a_slow_reference),
        cmocka_unit_test(predictions_are_the_mean_over_draws),
        cmocka_unit_test(a_narrow_posterior_is_the_plain_network_and_has_no_bald_score),
        cmocka_unit_test(duplicates_have_identical_rows),
        cmocka_unit_test(draws_depend_on_the_weights_and_the_seed),
        cmocka_unit_test(results_do_not_depend_on_the_thread_count),
        cmocka_unit_test(a_single_output_is_averaged_without_softmax),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
