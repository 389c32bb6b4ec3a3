/* SPDX-License-Identifier: Apache-2.0
 *
 * Per-sample gradients compared with one backward pass per sample, and those with finite
 * differences of the loss.
 */
#include "gradients.h"
#include "scant/train.h"

#define CTX_THREADS 1 /* small networks; one test below uses more */
#include "context.h"

enum { SKETCH = 64 };

/* Inputs and outputs of scant_net_gradients(). */
typedef struct results {
    double *norms, *products;
    float *sketches, *sum, *direction;
    int32_t *labels;
    struct place {
        uint32_t bucket;
        float sign;
    } * places; /* of each parameter in a sketch, from the documentation */
    scant_gradients all;
    scant_gradient_opts opts;
} results;

static results results_make(const fixture *f) {
    results r = {.norms = malloc(f->n * sizeof(double)),
                 .products = malloc(f->n * sizeof(double)),
                 .sketches = malloc(f->n * f->classes * SKETCH * sizeof(float)),
                 .sum = malloc(f->parameters * sizeof(float)),
                 .direction = malloc(f->parameters * sizeof(float)),
                 .labels = malloc(f->n * sizeof(int32_t)),
                 .places = malloc(f->parameters * sizeof(struct place))};
    for (size_t i = 0; i < f->parameters; i++)
        r.direction[i] = (float)(unit_at(9, i) - 0.5);
    for (size_t i = 0; i < f->n; i++)
        r.labels[i] = (int32_t)(unit_at(10, i) * (double)f->classes);
    r.all = (scant_gradients){
        .norms = r.norms, .products = r.products, .sketches = r.sketches, .sum = r.sum};
    r.opts = (scant_gradient_opts){
        .labels = r.labels, .direction = r.direction, .sketch = SKETCH, .seed = 11};
    for (size_t j = 0; j < f->parameters; j++) {
        uint64_t u = scant__rng_u64(&(scant__rng){11, SCANT__RNG_SKETCH}, j);
        r.places[j].bucket = (uint32_t)((double)(u >> 11) / 0x1p53 * SKETCH);
        r.places[j].sign = u & 1 ? -1 : 1;
    }
    return r;
}

static void results_free(results *r) {
    free(r->norms), free(r->products), free(r->sketches), free(r->sum);
    free(r->direction), free(r->labels), free(r->places);
}

static void sketch_of(const results *r, const float *g, size_t from, size_t to,
                      double *out) {
    for (size_t i = 0; i < SKETCH; i++) out[i] = 0;
    for (size_t j = from; j < to; j++)
        out[r->places[j].bucket] += (double)(r->places[j].sign * g[j]);
}

/* Compares the results for parameters from <= j < to with plain_loss(). */
static void check_all(fixture *f, const results *r, size_t from, size_t to) {
    size_t count = to - from;
    double *sum = calloc(count, sizeof *sum), sketch[SKETCH], sizes = 0;
    plain p = plain_open(f);
    for (size_t i = 0; i < f->n; i++) {
        plain_loss(f, &p, i, r->opts.labels ? r->labels[i] : -1);
        const float *g = p.gradient + from;
        double square = dot_of(g, g, count), size = sqrt(square);
        double v = sqrt(dot_of(r->direction, r->direction, count));
        assert_true(square > 0);
        assert_close(r->norms[i], square, square, 1e-4, "norm", i);
        /* relative to the typical product of random vectors of these lengths */
        assert_close(r->products[i], dot_of(g, r->direction, count),
                     size * v / sqrt((double)count) + 1e-3 * size, 1e-3, "product", i);
        sketch_of(r, p.gradient, from, to, sketch);
        for (size_t k = 0; k < SKETCH; k++)
            assert_close((double)r->sketches[i * SKETCH + k], sketch[k], size, 1e-4,
                         "sketch", k);
        for (size_t k = 0; k < count; k++) sum[k] += (double)g[k];
        sizes += size;
    }
    for (size_t k = 0; k < count; k++)
        assert_close((double)r->sum[k], sum[k], sizes, 1e-5, "sum", k);
    free(sum);
    plain_close(&p);
}

static void gradients_match_single_backward_passes(void **state) {
    (void)state;
    for (size_t m = 0; m < MODEL_CASES; m++) {
        fixture f = fixture_open(ctx, &model_cases[m]);
        results r = results_make(&f);
        must(scant_net_gradients(f.net, &f.data, NULL, 0, &r.opts, &r.all));
        check_all(&f, &r, 0, f.parameters);
        results_free(&r);
        fixture_close(&f);
    }
}

/* A single result uses other code than all together. */
static void each_result_alone_matches_all_together(void **state) {
    (void)state;
    for (size_t m = 0; m < FEW_CASES; m++) {
        fixture f = fixture_open(ctx, &model_cases[m]);
        results r = results_make(&f), all = results_make(&f);
        must(scant_net_gradients(f.net, &f.data, NULL, 0, &all.opts, &all.all));
        scant_gradients only[] = {
            {.norms = r.norms}, {.products = r.products}, {.sum = r.sum}};
        for (int k = 0; k < 3; k++)
            must(scant_net_gradients(f.net, &f.data, NULL, 0, &r.opts, &only[k]));
        for (size_t i = 0; i < f.n; i++) {
            double size = sqrt(all.norms[i]);
            assert_close(r.norms[i], all.norms[i], all.norms[i], 2e-5, "norm", i);
            assert_close(r.products[i], all.products[i], size, 1e-4, "product", i);
        }
        assert_memory_equal(r.sum, all.sum, f.parameters * sizeof(float));
        results_free(&all);
        results_free(&r);
        fixture_close(&f);
    }
}

static void without_labels_the_predicted_class_is_used(void **state) {
    (void)state;
    fixture f = fixture_open(ctx, &model_cases[0]);
    results r = results_make(&f);
    r.opts.labels = NULL;
    must(scant_net_gradients(f.net, &f.data, NULL, 0, &r.opts, &r.all));
    check_all(&f, &r, 0, f.parameters);
    results_free(&r);
    fixture_close(&f);
}

static void last_layer_gradients_match_their_part_of_all(void **state) {
    (void)state;
    for (size_t m = 0; m < FEW_CASES;
         m += 2) { /* not onehidden: its last layer is fixed */
        fixture f = fixture_open(ctx, &model_cases[m]);
        results r = results_make(&f);
        const nn_net *shape = f.net->net;
        const nn_node *last = &shape->nodes[shape->n_nodes - 1];
        r.opts.last_layer = true;
        must(scant_net_gradients(f.net, &f.data, NULL, 0, &r.opts, &r.all));
        check_all(&f, &r, shape->params[last->weight].offset, f.parameters);
        results_free(&r);
        fixture_close(&f);
    }
}

static void gradients_of_outputs_are_sketched_per_class(void **state) {
    (void)state;
    for (size_t m = 0; m < FEW_CASES; m++) {
        fixture f = fixture_open(ctx, &model_cases[m]);
        results r = results_make(&f);
        double sketch[SKETCH];
        plain p = plain_open(&f);
        r.opts.outputs = true;
        /* and norms of the loss gradients in the same call */
        must(scant_net_gradients(f.net, &f.data, NULL, 0, &r.opts, &r.all));
        for (size_t i = 0; i < f.n; i += 2) {
            for (size_t c = 0; c < f.classes; c++) {
                plain_output(&f, &p, i, c);
                double size = sqrt(dot_of(p.gradient, p.gradient, f.parameters));
                sketch_of(&r, p.gradient, 0, f.parameters, sketch);
                const float *got = r.sketches + (i * f.classes + c) * SKETCH;
                for (size_t k = 0; k < SKETCH; k++)
                    assert_close((double)got[k], sketch[k], size, 1e-4, "sketch", k);
            }
            plain_loss(&f, &p, i, r.labels[i]);
            double square = dot_of(p.gradient, p.gradient, f.parameters);
            assert_close(r.norms[i], square, square, 1e-4, "norm", i);
        }
        plain_close(&p);
        results_free(&r);
        fixture_close(&f);
    }
}

/* For all parameters and for the last layer's, compared with one backward pass per
 * class. */
static void lengths_are_expectations_over_all_classes(void **state) {
    (void)state;
    for (size_t m = 0; m < FEW_CASES; m++) {
        fixture f = fixture_open(ctx, &model_cases[m]);
        results r = results_make(&f);
        const nn_net *shape = f.net->net;
        const nn_node *last = &shape->nodes[shape->n_nodes - 1];
        double *lengths = malloc(f.n * sizeof *lengths);
        plain p = plain_open(&f);
        r.all.lengths = lengths;
        for (int part = 0; part <= (m % 2 == 0);
             part++) { /* odd m include onehidden, whose last layer is fixed */
            size_t from = part ? shape->params[last->weight].offset : 0;
            size_t count = f.parameters - from;
            r.opts.last_layer = part == 1;
            /* and all other results in the same call */
            must(scant_net_gradients(f.net, &f.data, NULL, 0, &r.opts, &r.all));
            for (size_t i = 0; i < f.n; i += 2) {
                double want = 0, sum = 0, square = 0;
                for (size_t c = 0; c < f.classes; c++) {
                    plain_loss(&f, &p, i, (int)c);
                    const float *g = p.gradient + from;
                    double chance = exp((double)p.logits[c]), s = dot_of(g, g, count);
                    sum += chance;
                    want += chance * sqrt(s);
                    if ((int32_t)c == r.labels[i]) square = s;
                }
                assert_close(lengths[i], want / sum, want / sum, 1e-4, "length", i);
                assert_close(r.norms[i], square, square, 1e-4, "norm", i);
            }
        }
        plain_close(&p);
        free(lengths);
        results_free(&r);
        fixture_close(&f);
    }
}

static void results_are_in_the_order_of_rows(void **state) {
    (void)state;
    fixture f = fixture_open(ctx, &model_cases[3]);
    results r = results_make(&f);
    double all[5], some[4];
    size_t rows[] = {4, 0, 0, 2};
    must(scant_net_gradients(f.net, &f.data, NULL, 0, NULL,
                             &(scant_gradients){.norms = all}));
    must(scant_net_gradients(f.net, &f.data, rows, 4, NULL,
                             &(scant_gradients){.norms = some}));
    for (size_t i = 0; i < 4; i++)
        assert_close(some[i], all[rows[i]], all[rows[i]], 1e-5, "norm", i);
    results_free(&r);
    fixture_close(&f);
}

/* ---- the backward pass itself ---- */

static double loss_at(fixture *f, plain *p, const float *weights, int label) {
    double sum = 0;
    assert_int_equal(nn_weights_set(f->net->weights, weights), SCANT_OK);
    plain_forward(f, p, 0);
    for (size_t c = 0; c < f->classes; c++) sum += exp((double)p->logits[c]);
    return log(sum) - (double)p->logits[label];
}

/* The slope of the loss along the unit vector g_t / |g_t| of a tensor's gradient is
 * |g_t|; an error of g_t in any direction changes that. Errors of the central difference
 * with steps +-h: the rounding of float passes (a few 1e-7 of a loss near 2) divided by
 * 2h, and h^2/6 times the third derivative, a few |g|. A kink (rectifier, pooling) within
 * the step adds some percent, hence smooth activations and the tolerance. */
static void gradients_match_finite_differences_of_the_loss(void **state) {
    (void)state;
    static const model_case cases[] = {
        {"mlp", {.shape = {1, 5, 5}, .classes = 3, .width = 8, .activation = "tanh"}, 1},
        {"onehidden", {.shape = {1, 4, 4}, .classes = 3, .activation = "tanh"}, 1},
        /* he: with smaller weights more maxima of the pooling change within the step */
        {"lenet5",
         {.shape = {1, 28, 28}, .classes = 3, .activation = "tanh", .init = "he"},
         1},
        {"gapcnn",
         {.shape = {2, 8, 8}, .classes = 3, .width = 4, .activation = "swish"},
         1},
        {"wrn-28-2", {.shape = {3, 8, 8}, .classes = 3, .activation = "tanh"}, 1},
    };
    for (size_t m = 0; m < sizeof cases / sizeof *cases; m++) {
        fixture f = fixture_open(ctx, &cases[m]);
        const nn_net *shape = f.net->net;
        plain p = plain_open(&f);
        float *w = malloc(shape->n_floats * sizeof *w);
        assert_int_equal(nn_weights_get(f.net->weights, w), SCANT_OK);
        plain_loss(&f, &p, 0, 1);
        double whole = sqrt(dot_of(p.gradient, p.gradient, f.parameters));
        for (size_t t = 0; t < shape->n_params; t++) {
            const nn_param *param = &shape->params[t];
            if (!param->trained || (t > 9 && t % 5)) continue; /* every fifth of many */
            const float *g = p.gradient + param->offset;
            double size = sqrt(dot_of(g, g, param->count)), loss[2], h = 0.01;
            if (size < 0.02 * whole) continue; /* too small compared with rounding */
            float *moved = malloc(shape->n_floats * sizeof *moved);
            for (int side = 0; side < 2; side++) {
                double by = (side ? -h : h) / size;
                memcpy(moved, w, shape->n_floats * sizeof *moved);
                for (size_t k = 0; k < param->count; k++)
                    moved[param->offset + k] += (float)(by * (double)g[k]);
                loss[side] = loss_at(&f, &p, moved, 1);
            }
            free(moved);
            double slope = (loss[0] - loss[1]) / (2 * h);
            if (fabs(slope - size) > 0.01 * size + 2e-4)
                fail_msg("%s %s: the slope is %g, the gradient's norm %g", cases[m].model,
                         param->name, slope, size);
        }
        free(w);
        plain_close(&p);
        fixture_close(&f);
    }
}

/* ---- the distribution of sketches ---- */

/* Over seeds, <Sx, Sy> has mean <x, y> and a variance of at most 2 |x|^2 |y|^2 / k. The
 * mean of 400 is off by more than 4.5 standard deviations once in 150,000 times; the mean
 * square exceeds 1.5 times the bound even less often. */
static void sketches_are_unbiased_and_within_the_variance_bound(void **state) {
    (void)state;
    enum { SEEDS = 400, K = 32 };
    static const model_case small = {
        "mlp", {.shape = {1, 3, 3}, .classes = 3, .width = 7}, 2};
    fixture f = fixture_open(ctx, &small);
    float sum[2][128], sketch[2 * K];
    int32_t labels[] = {1, 1};
    assert_true(f.parameters <= 128);
    for (size_t i = 0; i < 2; i++)
        must(scant_net_gradients(f.net, &f.data, &i, 1,
                                 &(scant_gradient_opts){.labels = labels},
                                 &(scant_gradients){.sum = sum[i]}));
    double xy = dot_of(sum[0], sum[1], f.parameters);
    double xx = dot_of(sum[0], sum[0], f.parameters);
    double yy = dot_of(sum[1], sum[1], f.parameters);
    double bound = 2 * xx * yy / K, mean = 0, square = 0, norm = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        scant_gradient_opts o = {.labels = labels, .sketch = K, .seed = seed};
        must(scant_net_gradients(f.net, &f.data, NULL, 0, &o,
                                 &(scant_gradients){.sketches = sketch}));
        double off = dot_of(sketch, sketch + K, K) - xy;
        mean += off / SEEDS;
        square += off * off / SEEDS;
        norm += (dot_of(sketch, sketch, K) - xx) / SEEDS;
    }
    assert_true(fabs(mean) < 4.5 * sqrt(bound / SEEDS));
    assert_true(fabs(norm) < 4.5 * sqrt(2 * xx * xx / K / SEEDS));
    assert_true(square < 1.5 * bound);
    assert_true(square > 0.05 * bound); /* and the sketch is not exact */
    fixture_close(&f);
}

/* ---- threads, errors, memory ---- */

/* oneDNN's results may depend on the thread count in the last bits, hence a tolerance. */
static void thread_counts_do_not_change_results(void **state) {
    (void)state;
    double norms[2][5], products[2][5];
    static float sketches[2][5 * SKETCH];
    for (unsigned k = 0; k < 2; k++) {
        scant_ctx *other = ctx_threads(k ? 3 : 1);
        fixture f = fixture_open(other, &model_cases[4]);
        results r = results_make(&f);
        scant_gradients out = {
            .norms = norms[k], .products = products[k], .sketches = sketches[k]};
        assert_int_equal(scant_net_gradients(f.net, &f.data, NULL, 0, &r.opts, &out),
                         SCANT_OK);
        results_free(&r);
        fixture_close(&f);
        scant_ctx_free(other);
    }
    for (size_t i = 0; i < 5; i++) {
        assert_close(norms[1][i], norms[0][i], norms[0][i], 1e-5, "norm", i);
        assert_close(products[1][i], products[0][i], sqrt(norms[0][i]), 1e-5, "product",
                     i);
        for (size_t k = 0; k < SKETCH; k++)
            assert_close((double)sketches[1][i * SKETCH + k],
                         (double)sketches[0][i * SKETCH + k], sqrt(norms[0][i]), 1e-5,
                         "sketch", k);
    }
}

static void assert_error(scant_status got, scant_status want, const char *words) {
    assert_int_equal(got, want);
    if (!strstr(scant_ctx_errmsg(ctx), words))
        fail_msg("message \"%s\" does not contain \"%s\"", scant_ctx_errmsg(ctx), words);
}

static void wrong_options_are_refused_with_a_message(void **state) {
    (void)state;
    fixture f = fixture_open(ctx, &model_cases[0]);
    results r = results_make(&f);
    scant_gradient_opts o = r.opts;
    o.sketch = 0;
    assert_error(scant_net_gradients(f.net, &f.data, NULL, 0, &o, &r.all), SCANT_EUSAGE,
                 "expected 1 to");
    o = r.opts, o.direction = NULL;
    assert_error(scant_net_gradients(f.net, &f.data, NULL, 0, &o, &r.all), SCANT_EUSAGE,
                 "products need a direction");
    r.labels[2] = 4;
    assert_error(scant_net_gradients(f.net, &f.data, NULL, 0, &r.opts, &r.all),
                 SCANT_EINPUT, "label 2 is 4, expected a class of the network, 0 to 3");
    r.labels[2] = -1;
    assert_error(scant_net_gradients(f.net, &f.data, NULL, 0, &r.opts, &r.all),
                 SCANT_EINPUT, "label 2 is -1");
    r.labels[2] = 0;
    size_t rows[] = {0, 37};
    assert_error(scant_net_gradients(f.net, &f.data, rows, 2, &r.opts, &r.all),
                 SCANT_EINPUT, "there is no sample 37");
    f.data.shape[2] = 7;
    assert_error(scant_net_gradients(f.net, &f.data, NULL, 0, &r.opts, &r.all),
                 SCANT_EINPUT, "samples of 1x6x7");
    f.data.shape[2] = 6;
    f.numbers[3 * 36 + 5] = INFINITY;
    assert_error(scant_net_gradients(f.net, &f.data, NULL, 0, &r.opts, &r.all),
                 SCANT_EINPUT, "outputs for sample 3 are not finite");
    f.numbers[3 * 36 + 5] = 0;
    size_t parameters = scant_net_parameters(f.net);
    float *huge = malloc(parameters * sizeof *huge);
    for (size_t i = 0; i < parameters; i++) huge[i] = INFINITY;
    r.opts.direction = huge;
    assert_error(scant_net_gradients(f.net, &f.data, NULL, 0, &r.opts,
                                     &(scant_gradients){.products = r.all.products}),
                 SCANT_EINPUT, "gradients for sample 0 are not finite");
    free(huge);
    results_free(&r);
    fixture_close(&f);
    f = fixture_open(ctx, &model_cases[1]);
    r = results_make(&f);
    r.opts.last_layer = true;
    assert_error(scant_net_gradients(f.net, &f.data, NULL, 0, &r.opts, &r.all),
                 SCANT_EINPUT, "last layer is not trained");
    results_free(&r);
    fixture_close(&f);
}

/* A failed call keeps no more memory than a successful one. */
static void fail_every_allocation(const model_case *small) {
    bool done = false;
    size_t usual = 0;
    for (size_t at = SIZE_MAX; !done && at != 2000; at++) { /* at SIZE_MAX none fails */
        memory m;
        scant_ctx *other = ctx_counting(&m);
        fixture f = fixture_open(other, small);
        results r = results_make(&f);
        double lengths[3];
        r.all.lengths = lengths;
        m.calls = 0;
        m.fail_at = at;
        scant_status s = scant_net_gradients(f.net, &f.data, NULL, 0, &r.opts, &r.all);
        done = m.calls <= at && usual;
        m.fail_at = SIZE_MAX;
        assert_true(s == SCANT_OK || s == SCANT_ENOMEM);
        if (s != SCANT_OK)
            assert_int_equal(
                scant_net_gradients(f.net, &f.data, NULL, 0, &r.opts, &r.all), SCANT_OK);
        if (!usual) usual = m.live;
        assert_int_equal(m.live, usual);
        if (at != SIZE_MAX && at > 50) at += 7; /* every eighth: plans allocate much */
        results_free(&r);
        fixture_close(&f);
        scant_ctx_free(other);
        assert_int_equal(m.live, 0);
    }
    assert_true(done);
}

static void failed_allocations_leak_nothing(void **state) {
    (void)state;
    fail_every_allocation(
        &(model_case){"gapcnn", {.shape = {1, 4, 4}, .classes = 2, .width = 2}, 3});
    fail_every_allocation(
        &(model_case){"cnn", {.shape = {1, 16, 16}, .classes = 2}, 3}); /* has a front */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_match_single_backward_passes),
        cmocka_unit_test(each_result_alone_matches_all_together),
        cmocka_unit_test(without_labels_the_predicted_class_is_used),
        cmocka_unit_test(last_layer_gradients_match_their_part_of_all),
        cmocka_unit_test(gradients_of_outputs_are_sketched_per_class),
        cmocka_unit_test(lengths_are_expectations_over_all_classes),
        cmocka_unit_test(results_are_in_the_order_of_rows),
        cmocka_unit_test(gradients_match_finite_differences_of_the_loss),
        cmocka_unit_test(sketches_are_unbiased_and_within_the_variance_bound),
        cmocka_unit_test(thread_counts_do_not_change_results),
        cmocka_unit_test(wrong_options_are_refused_with_a_message),
        cmocka_unit_test(failed_allocations_leak_nothing),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
