/* SPDX-License-Identifier: Apache-2.0
 *
 * Gradient descent compared with updates from one backward pass per sample and class; and
 * kernels of sketches with the exact kernel.
 */
#include "../nn/gradients.h"

#include "linalg/dense.h"
#include "study/study.h"

#include "context.h"

static const model_case cases[] = {
    {"mlp", {.shape = {1, 4, 4}, .classes = 3, .width = 8, .depth = 1}, 9},
    {"lenet5", {.shape = {1, 28, 28}, .classes = 4}, 5},
    {"gapcnn", {.shape = {3, 8, 8}, .classes = 3, .width = 4, .activation = "tanh"}, 6},
    {"wrn-28-2", {.shape = {3, 8, 8}, .classes = 3}, 3},
};
enum { CASES = sizeof cases / sizeof *cases };

static double loss_of(fixture *f, const int32_t *labels, float *out) {
    double loss = 0;
    must(
        scant_net_predict(f->net, &f->data, NULL, f->n, &(scant_outputs){.logits = out}));
    for (size_t i = 0; i < f->n * f->classes; i++) {
        double off =
            (double)out[i] - (labels[i / f->classes] == (int32_t)(i % f->classes));
        loss += off * off / 2;
    }
    return loss;
}

/* One step with the gradients of single outputs. from: the first parameter that is
 * updated. */
static void plain_step(fixture *f, const int32_t *labels, const float *out, double rate,
                       size_t from) {
    const nn_net *shape = f->net->net;
    plain p = plain_open(f);
    double *sum = calloc(f->parameters, sizeof *sum);
    float *w = malloc(shape->n_floats * sizeof *w);
    for (size_t i = 0; i < f->n; i++)
        for (size_t c = 0; c < f->classes; c++) {
            double off = (double)out[i * f->classes + c] - (labels[i] == (int32_t)c);
            plain_output(f, &p, i, c);
            for (size_t j = from; j < f->parameters; j++)
                sum[j] += off * (double)p.gradient[j];
        }
    must(nn_weights_get(f->net->weights, w));
    for (size_t q = 0; q < shape->n_params; q++)
        for (size_t j = 0; shape->params[q].trained && j < shape->params[q].count; j++) {
            size_t at = shape->params[q].offset + j;
            w[at] = (float)((double)w[at] - rate * sum[at]);
        }
    must(nn_weights_set(f->net->weights, w));
    plain_close(&p);
    free(sum), free(w);
}

/* Options for all samples of a fixture. */
static scant_lab_opts lab_of(fixture *f, const int32_t *labels) {
    return (scant_lab_opts){.net = f->net, .data = &f->data, .n = f->n, .labels = labels};
}

static void steps_match_gradients_of_single_outputs(void **state) {
    (void)state;
    for (size_t m = 0; m < CASES; m++)
        for (int last = 0; last < 2; last++) {
            int32_t labels[16];
            float out[64];
            double losses[3], rate = 0;
            fixture a = fixture_open(ctx, &cases[m]), b = fixture_open(ctx, &cases[m]);
            const nn_net *shape = a.net->net;
            const nn_node *head = &shape->nodes[shape->head];
            size_t from = last ? shape->params[head->weight].offset : 0;
            for (size_t i = 0; i < a.n; i++) labels[i] = (int32_t)(i % a.classes);
            bool large = m == CASES - 1; /* finding its rate takes long */
            scant_lab_opts opts = lab_of(&a, labels);
            opts.last_layer = last, opts.steps = 2, rate = large ? 1e-6 : 0;
            must(study_net_descend(&opts, losses, &rate));
            assert_true(rate > 0);
            for (size_t t = 0; t < 3; t++) {
                double want = loss_of(&b, labels, out);
                assert_close(losses[t], want, want, 1e-3, "loss", t);
                if (t < 2) plain_step(&b, labels, out, rate, from);
            }
            assert_true(losses[1] < losses[0]);
            fixture_close(&a), fixture_close(&b);
        }
}

/* The default rate is 1 / the largest eigenvalue of the full kernel. */
static void the_default_rate_is_that_of_the_full_kernel(void **state) {
    (void)state;
    for (size_t m = 0; m < CASES - 1; m++) {
        int32_t labels[16] = {0};
        double losses[2], rate = 0, values[64];
        fixture f = fixture_open(ctx, &cases[m]);
        size_t side = f.n * f.classes;
        double *k = malloc(side * side * sizeof *k);
        double *room = malloc(la_eigh_room(side, false) * sizeof *room);
        must(scant_net_kernel(f.net, &f.data, NULL, 0, &f.data, NULL, 0, false, true, k));
        assert_true(la_eigh(side, k, false, values, room));
        scant_lab_opts opts = lab_of(&f, labels);
        opts.steps = 1;
        must(study_net_descend(&opts, losses, &rate));
        assert_true(rate * values[side - 1] > 0.999 && rate * values[side - 1] < 1.1);
        free(k), free(room);
        fixture_close(&f);
    }
}

static void wrong_options_are_refused(void **state) {
    (void)state;
    fixture f = fixture_open(ctx, &cases[0]);
    int32_t labels[16] = {0};
    double losses[200], rate = 0;
    scant_lab_opts opts = lab_of(&f, labels);
    opts.steps = 100;
    labels[3] = 3;
    assert_int_equal(study_net_descend(&opts, losses, &rate), SCANT_EINPUT);
    assert_non_null(strstr(scant_ctx_errmsg(ctx), "number 3 is 3"));
    labels[3] = 0, rate = 1e6;
    assert_int_equal(study_net_descend(&opts, losses, &rate),
                     SCANT_EINPUT); /* diverges */
    assert_non_null(strstr(scant_ctx_errmsg(ctx), "not finite"));
    fixture_close(&f);
}

/* ---- sketches ---- */

typedef struct both {
    scant_study *exact, *sketched;
    scant_sketch_error error;
} both;

static both both_of(fixture *f, const int32_t *labels, size_t numbers, bool full,
                    uint64_t seed) {
    both b;
    size_t outputs = full ? f->classes : 1, side = f->n * outputs;
    double *k = malloc(side * side * sizeof *k);
    float *out = malloc(f->n * f->classes * sizeof *out);
    scant_lab_opts opts = lab_of(f, labels);
    opts.sketch = numbers, opts.full = full, opts.seed = seed;
    must(scant_net_kernel(f->net, &f->data, NULL, 0, &f->data, NULL, 0, false, full, k));
    must(
        scant_net_predict(f->net, &f->data, NULL, f->n, &(scant_outputs){.logits = out}));
    must(scant_study_kernel(ctx, k, f->n, labels, f->classes,
                            &(scant_study_opts){.outputs = outputs, .start = out},
                            &b.exact));
    must(study_sketch(&opts, &b.sketched, &b.error));
    free(k), free(out);
    return b;
}

/* Eigenvalues are within the reported error, in the norm that bounds them (Hoffman and
 * Wielandt). Means of trace and alignment over seeds are within the expected error. */
static void sketches_are_within_the_reported_error(void **state) {
    (void)state;
    enum { SEEDS = 6, NUMBERS = 512 };
    model_case some = {"mlp", {.shape = {1, 5, 5}, .classes = 3, .width = 12}, 40};
    int32_t labels[40];
    for (size_t i = 0; i < 40; i++) labels[i] = (int32_t)(unit_at(4, i) * 3);
    for (int full = 0; full < 2; full++) {
        double trace = 0, alignment = 0, want_trace = 0, want_alignment = 0, spread = 0;
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            fixture f = fixture_open(ctx, &some);
            both b = both_of(&f, labels, NUMBERS, full, seed);
            double off = 0, all = 0;
            for (size_t i = 0; i < b.exact->n_values; i++) {
                double d = b.exact->values[i] - b.sketched->values[i];
                off += d * d;
                all += b.exact->values[i] * b.exact->values[i];
            }
            assert_int_equal(b.error.samples, 40);
            assert_true(sqrt(off / all) <= b.error.error * (1 + 1e-3));
            assert_true(b.error.error < 3 * b.error.expected);
            assert_true(b.error.error > 0 && b.error.second > 0);
            assert_true(b.error.error != b.error.second);
            trace += b.sketched->trace / SEEDS, want_trace = b.exact->trace;
            alignment += b.sketched->alignment / SEEDS;
            want_alignment = b.exact->alignment, spread = b.error.expected;
            double left = 0;
            for (size_t i = 0; i < b.sketched->n_values; i++)
                left += b.sketched->energy[i];
            assert_close(left + b.sketched->rest, 40, 40, 1e-9, "energy", seed);
            assert_close(scant_study_loss(b.sketched, 1, 0),
                         scant_study_loss(b.exact, 1, 0), 1, 1e-4, "loss", seed);
            assert_true(isnan(b.sketched->bound));
            scant_study_free(ctx, b.exact), scant_study_free(ctx, b.sketched);
            fixture_close(&f);
        }
        assert_close(trace, want_trace, want_trace, spread, "trace", 0);
        assert_close(alignment, want_alignment, want_alignment, spread, "alignment", 0);
    }
}

/* With fewer numbers than samples, the other eigenvalues are 0 and reported as such. */
static void short_sketches_have_zero_eigenvalues(void **state) {
    (void)state;
    model_case some = {"mlp", {.shape = {1, 5, 5}, .classes = 3, .width = 12}, 40};
    fixture f = fixture_open(ctx, &some);
    scant_study *s;
    scant_sketch_error error;
    scant_lab_opts opts = {.net = f.net, .data = &f.data, .sketch = 16};
    must(study_sketch(&opts, &s, &error));
    assert_int_equal(s->n_values, 16);
    assert_true(s->smallest == 0 && isinf(s->condition) && s->rank <= 16);
    scant_study_free(ctx, s);
    opts.sketch = 0;
    assert_int_equal(study_sketch(&opts, &s, &error), SCANT_EUSAGE);
    fixture_close(&f);
}

static void failed_allocations_leak_nothing(void **state) {
    (void)state;
    model_case small = {"gapcnn", {.shape = {1, 4, 4}, .classes = 2, .width = 2}, 3};
    const int32_t labels[] = {0, 1, 0};
    bool done = false;
    for (size_t at = 0; !done && at<3000; at += at> 20 ? 17 : 1) {
        memory m;
        scant_study *study = NULL;
        scant_sketch_error error;
        double losses[3], rate = 0;
        scant_ctx *other = ctx_counting(&m);
        fixture f = fixture_open(other, &small);
        scant_lab_opts opts = lab_of(&f, labels);
        opts.sketch = 20, opts.steps = 2;
        m.calls = 0, m.fail_at = at;
        scant_status s = study_sketch(&opts, &study, &error);
        if (s == SCANT_OK) s = study_net_descend(&opts, losses, &rate);
        m.fail_at = SIZE_MAX;
        done = s == SCANT_OK;
        assert_true(done || s == SCANT_ENOMEM);
        scant_study_free(other, study);
        fixture_close(&f);
        scant_ctx_free(other);
        assert_int_equal(m.live, 0);
    }
    assert_true(done);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_match_gradients_of_single_outputs),
        cmocka_unit_test(the_default_rate_is_that_of_the_full_kernel),
        cmocka_unit_test(wrong_options_are_refused),
        cmocka_unit_test(sketches_are_within_the_reported_error),
        cmocka_unit_test(short_sketches_have_zero_eigenvalues),
        cmocka_unit_test(failed_allocations_leak_nothing),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
