/* SPDX-License-Identifier: Apache-2.0
 *
 * Initial weights have the moments and bounds of their law's formula. Fans are computed
 * here from the shapes of the tensors.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CTX_THREADS 1
#include "context.h"
#include "folder.h"

#include "nn/weights.h"
#include "pass.h"

/* What a tensor should hold: zeros if variance is 0. */
typedef struct expected {
    double variance;
    double bound; /* of a uniform law; 0: a normal one */
} expected;

static expected uniform(double bound) { return (expected){bound * bound / 3, bound}; }
static expected normal(double variance) { return (expected){.variance = variance}; }
static const expected zeros = {0};

typedef struct fans {
    double in, out;
} fans;

/* A tensor is outputs x inputs (of its group) x kernel. */
static fans fans_of(const nn_param *p) {
    double kernel = p->ndim == 4 ? (double)(p->dims[2] * p->dims[3]) : 1;
    return (fans){(double)p->dims[1] * kernel, (double)p->dims[0] * kernel};
}

/* The weights whose bias p is. */
static const nn_param *weights_of_bias(const nn_net *net, const nn_param *p) {
    for (size_t i = 0; i < net->n_params; i++)
        if (net->params[i].node == p->node && net->params[i].role == NN_WEIGHT)
            return &net->params[i];
    fail_msg("%s has no weights", p->name);
    return NULL;
}

/* Checks the mean, the variance and the bound of count numbers. The mean of n numbers
 * deviates by sigma / sqrt(n), their variance by at most sigma^2 sqrt(2/n) (normal; a
 * uniform law has less); 5 of them are one error in a million tensors. The largest of n
 * uniform numbers is above 1 - 15/n of the bound but once in 3 million. */
static void check(const char *what, const char *name, const float *w, size_t count,
                  expected law) {
    double sum = 0, squares = 0, most = 0, n = (double)count, sigma = sqrt(law.variance);
    for (size_t i = 0; i < count; i++) {
        sum += (double)w[i];
        squares += (double)w[i] * (double)w[i];
        most = fmax(most, fabs((double)w[i]));
    }
    double mean = sum / n, variance = squares / n;
    if (law.variance == 0) {
        if (most != 0) fail_msg("%s %s: %g, expected zeros", what, name, most);
        return;
    }
    if (fabs(mean) > 5 * sigma / sqrt(n))
        fail_msg("%s %s: the mean is %g, sigma %g", what, name, mean, sigma);
    if (fabs(variance - law.variance) > 5 * law.variance * sqrt(2 / n))
        fail_msg("%s %s: the variance is %g, expected %g", what, name, variance,
                 law.variance);
    if (law.bound == 0) return;
    if (most > law.bound * (1 + 1e-6) || most < law.bound * (1 - 15 / n))
        fail_msg("%s %s: the largest is %g, the bound %g", what, name, most, law.bound);
}

/* The law of a tensor; dense: dense layers of he-out: "torch", "small" or "glorot". */
static expected law_of(const char *init, const char *dense, bool is_dense, bool bias,
                       fans f) {
    bool out = strcmp(init, "he-out") == 0;
    if (out && is_dense) init = dense;
    if (strcmp(init, "torch") == 0) return uniform(1 / sqrt(f.in));
    if (bias) return zeros;
    if (strcmp(init, "he") == 0) return normal(2 / f.in);
    if (strcmp(init, "he-out") == 0) return normal(2 / f.out);
    if (strcmp(init, "small") == 0) return normal(1e-4);
    return out ? normal(2 / (f.in + f.out)) : uniform(sqrt(6 / (f.in + f.out)));
}

static void check_net(const char *model, const nn_net *net, const char *init,
                      const char *dense) {
    char what[64];
    float *w = malloc(net->n_floats * sizeof *w);
    size_t checked = 0;
    snprintf(what, sizeof what, "%s, %s:", model, init);
    nn_weights_draw(net, 7, w);
    for (size_t i = 0; i < net->n_params; i++) {
        const nn_param *p = &net->params[i];
        const float *at = w + p->offset;
        if (p->role == NN_WEIGHT || p->role == NN_BIAS) {
            bool bias = p->role == NN_BIAS;
            const nn_param *weights = bias ? weights_of_bias(net, p) : p;
            check(what, p->name, at, p->count,
                  law_of(init, dense, weights->ndim == 2, bias, fans_of(weights)));
            checked++;
            continue;
        }
        float wanted = p->role == NN_GAMMA || p->role == NN_VAR ? 1 : 0;
        for (size_t k = 0; k < p->count; k++)
            if (at[k] != wanted) fail_msg("%s %s is %g", what, p->name, (double)at[k]);
    }
    assert_true(checked >= 2);
    free(w);
}

/* Models, their default laws, and the law of their dense layers with he-out. */
static const struct model_law {
    const char *model, *init, *dense;
    scant_net_opts opts;
} models[] = {
    {"linear", "torch", "torch", {.classes = 10}},
    {"mlp", "torch", "torch", {.depth = 3}},
    {"lenet5", "torch", "torch", {.classes = 10}},
    {"cnn", "torch", "torch", {.classes = 10}},
    {"gapcnn", "torch", "torch", {.classes = 10}},
    {"gapcnn-nopool", "torch", "torch", {.classes = 10}},
    {"vgg11", "he-out", "small", {.norm = "none"}},
    {"resnet18", "he-out", "torch", {.classes = 10}},
    {"wrn-28-2", "he-out", "glorot", {.classes = 10}},
    {"mobilenetv2", "he-out", "small", {.classes = 100}},
};
enum { MODELS = sizeof models / sizeof *models, MANY = 500000 };

static void every_law_has_its_formulas_moments(void **state) {
    static const char *const laws[] = {NULL, "torch", "he", "he-out", "glorot"};
    (void)state;
    for (size_t m = 0; m < MODELS; m++)
        for (size_t l = 0; l < sizeof laws / sizeof *laws; l++) {
            scant_net_opts opts = models[m].opts;
            nn_net *net;
            opts.init = laws[l];
            must(nn_model_build(ctx, models[m].model, &opts, &net));
            /* large networks: their default law only, as a law takes a second of them */
            if (!laws[l] || net->n_floats < MANY)
                check_net(models[m].model, net, laws[l] ? laws[l] : models[m].init,
                          models[m].dense);
            nn_net_free(net);
        }
}

/* As in the paper on sample complexity: standard normal weights, and fixed random signs
 * behind them, divided by the square root of the width. */
static void onehidden_starts_as_in_the_theory(void **state) {
    enum { WIDTH = 512 };
    nn_net *net;
    (void)state;
    must(nn_model_build(ctx, "onehidden", &(scant_net_opts){.width = WIDTH}, &net));
    float *w = malloc(net->n_floats * sizeof *w);
    nn_weights_draw(net, 7, w);
    const nn_param *first = nn_net_find(net, "fc1.weight");
    const nn_param *last = nn_net_find(net, "out.weight");
    assert_int_equal(net->n_params, 2); /* neither layer has a bias */
    check("onehidden", first->name, w + first->offset, first->count, normal(1));
    check("onehidden", last->name, w + last->offset, last->count, normal(1));
    for (size_t i = 0; i < last->count; i++) assert_true(fabsf(w[last->offset + i]) == 1);
    assert_true(net->nodes[last->node].frozen);
    assert_true(fabs((double)net->nodes[last->node].scale * sqrt(WIDTH) - 1) < 1e-6);
    free(w);
    nn_net_free(net);
}

/* By hand: LeNet-5's first layer has 1 x 5 x 5 inputs and 6 outputs; a depthwise layer of
 * MobileNetV2 has 1 x 3 x 3 inputs for each of its 32 planes, and fan-out 32 x 9. */
static void fans_are_those_of_torch(void **state) {
    static const struct {
        const char *model, *name;
        size_t in, out;
    } cases[] = {
        {"lenet5", "conv1.weight", 25, 150},
        {"lenet5", "conv1.bias", 25, 150},
        {"mobilenetv2", "features.1.conv.0.0.weight", 9, 288},
        {"mobilenetv2", "features.0.0.weight", 27, 288},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        nn_net *net;
        must(nn_model_build(ctx, cases[i].model, &(scant_net_opts){0}, &net));
        const nn_param *p = nn_net_find(net, cases[i].name);
        assert_non_null(p);
        assert_int_equal(p->fan_in, cases[i].in);
        assert_int_equal(p->fan_out, cases[i].out);
        nn_net_free(net);
    }
}

/* The same numbers for every activation: a network does not change its law with it. */
static void weights_depend_on_the_law_and_the_seed_only(void **state) {
    nn_net *net, *other;
    (void)state;
    must(nn_model_build(ctx, "lenet5", &(scant_net_opts){.init = "torch"}, &net));
    must(nn_model_build(ctx, "lenet5", &(scant_net_opts){.activation = "leaky"}, &other));
    size_t size = net->n_floats * sizeof(float);
    float *a = malloc(size), *b = malloc(size);
    nn_weights_draw(net, 3, a);
    nn_weights_draw(other, 3, b);
    assert_memory_equal(a, b, size);
    nn_weights_draw(other, 4, b);
    assert_memory_not_equal(a, b, size);
    free(a), free(b);
    nn_net_free(net), nn_net_free(other);
}

static void an_unknown_law_is_refused_with_the_list(void **state) {
    nn_net *net;
    (void)state;
    assert_int_equal(
        nn_model_build(ctx, "mlp", &(scant_net_opts){.init = "xavier"}, &net),
        SCANT_EUSAGE);
    assert_non_null(strstr(scant_ctx_errmsg(ctx), "torch|he|he-out|glorot"));
    assert_int_equal(
        nn_model_build(ctx, "onehidden", &(scant_net_opts){.init = "he"}, &net),
        SCANT_EUSAGE);
    assert_non_null(strstr(scant_ctx_errmsg(ctx), "onehidden"));
}

/* A net file stores the law, so that layers that are added later follow it. */
static void the_law_is_stored_with_the_weights(void **state) {
    scant_net *net, *again;
    const char *path = path_of("law.safetensors");
    (void)state;
    must(scant_net_create(ctx, "lenet5", &(scant_net_opts){.init = "glorot"}, &net));
    must(scant_net_save(net, path));
    must(scant_net_open(ctx, path, NULL, NULL, &again));
    assert_string_equal(again->opts.init, "glorot");
    scant_net_free(net), scant_net_free(again);
    must(scant_net_create(ctx, "resnet18", NULL, &net));
    must(scant_net_save(net, path));
    must(scant_net_open(ctx, path, NULL, NULL, &again));
    assert_string_equal(again->opts.init, "he-out"); /* the model's own */
    scant_net_free(net), scant_net_free(again);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_law_has_its_formulas_moments),
        cmocka_unit_test(onehidden_starts_as_in_the_theory),
        cmocka_unit_test(fans_are_those_of_torch),
        cmocka_unit_test(weights_depend_on_the_law_and_the_seed_only),
        cmocka_unit_test(an_unknown_law_is_refused_with_the_list),
        cmocka_unit_test_setup_teardown(the_law_is_stored_with_the_weights, make_dir,
                                        remove_dir),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
