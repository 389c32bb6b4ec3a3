/* SPDX-License-Identifier: Apache-2.0
 *
 * Networks give PyTorch's losses, logits, gradients and running statistics.
 * make_golden.py writes the files and describes them. Tensors agree to 1e-4, which is
 * what float32 allows if no activation is at a kink (see cases.py).
 */
#include <stdio.h>

#include "data/safetensors.h"
#include "golden.h"
#include "pass.h"
#include "scant/train.h"

#define CTX_THREADS 1 /* more would slow a busy machine */
#include "context.h"

enum { TEXT = 200 };

/* A case: its file, network and numbers. */
typedef struct golden {
    scant__tensors *file;
    char options[TEXT];
    scant_net_opts opts;
    size_t batch;
    uint64_t seed;
    scant_net *net;
    float *weights, *x;
    int32_t *y;
} golden;

static const char *meta(const golden *g, const char *key) {
    const char *value = scant__tensors_meta(g->file, key);
    if (!value) fail_msg("the file has no '%s'", key);
    return value;
}

static size_t number(const golden *g, const char *key) {
    return strtoul(meta(g, key), NULL, 10);
}

/* The file's tensor "MODE.NAME" (mode "": "NAME"), which has count numbers. */
static const double *wanted(const golden *g, const char *mode, const char *name,
                            size_t count) {
    static double out[4096];
    char key[TEXT];
    snprintf(key, sizeof key, "%s%s", mode, name);
    const scant__tensor *tensor = scant__tensors_find(g->file, key);
    if (!tensor) fail_msg("the file has no %s", key);
    assert_int_equal(tensor->dtype, SCANT_F64);
    assert_int_equal(tensor->count, count);
    assert_true(count <= sizeof out / sizeof *out);
    memcpy(out, tensor->bytes, count * sizeof *out);
    return out;
}

/* scale: a tensor that is zero except for rounding is compared relative to it. */
static void check_digest(const golden *g, const char *mode, const char *kind,
                         const char *name, const float *values, size_t count,
                         double scale) {
    char key[TEXT];
    double ours[DIGEST];
    snprintf(key, sizeof key, "%s%s", kind, name);
    const double *theirs = wanted(g, mode, key, DIGEST);
    digest(g->seed, name, values, count, ours);
    double norm = theirs[0] < 1e-10 * scale ? 1e-2 * scale : theirs[0];
    double limit = 1e-4 * norm + 1e-7;
    for (size_t i = 0; i < DIGEST; i++) {
        /* the signed sum of an error is about its norm, so allow three times that */
        double error = fabs(ours[i] - theirs[i]) / (i == 1 ? 3 * limit : limit);
        if (!(error <= 1))
            fail_msg("%s%s[%zu]: %.9g, expected %.9g (norm %.3g)", mode, key, i, ours[i],
                     theirs[i], theirs[0]);
    }
}

static double largest_gradient(const golden *g, const char *mode) {
    double most = 0;
    for (size_t i = 0; i < g->net->net->n_params; i++) {
        const nn_param *param = &g->net->net->params[i];
        char key[TEXT];
        snprintf(key, sizeof key, "grad.%s", param->name);
        if (param->trained) most = fmax(most, wanted(g, mode, key, DIGEST)[0]);
    }
    return most;
}

static void check_pass(const golden *g, const char *mode, const pass *p) {
    const nn_net *net = g->net->net;
    double loss = wanted(g, mode, "loss", 1)[0], error = 0, norm = 0;
    assert_true(fabs(p->loss - loss) <= 1e-5 * loss + 1e-7);
    const double *logits = wanted(g, mode, "logits", p->rows * p->classes);
    for (size_t i = 0; i < p->rows * p->classes; i++) {
        error += ((double)p->logits[i] - logits[i]) * ((double)p->logits[i] - logits[i]);
        norm += logits[i] * logits[i];
    }
    assert_true(sqrt(error) <= 1e-4 * sqrt(norm) + 1e-7);
    check_digest(g, mode, "", "embedding", p->embedding, p->rows * p->width, 0);
    double scale = largest_gradient(g, mode);
    for (size_t i = 0; i < net->n_params; i++) {
        const nn_param *param = &net->params[i];
        if (param->trained)
            check_digest(g, mode, "grad.", param->name, p->grads + param->offset,
                         param->count, scale);
        else if (strcmp(mode, "train.") == 0 && param->role >= NN_MEAN)
            check_digest(g, mode, "stat.", param->name, p->state + param->offset,
                         param->count, 0);
    }
}

/* Weights, inputs and labels are the numbers of formula.py. */
static void check_formula(const golden *g, size_t input) {
    const nn_net *net = g->net->net;
    double squares = 0, sum = 0, d[DIGEST];
    for (size_t i = 0; i < net->n_params; i++) {
        const nn_param *param = &net->params[i];
        digest(g->seed, param->name, g->weights + param->offset, param->count, d);
        squares += d[0] * d[0];
        sum += d[1];
    }
    const double *theirs = wanted(g, "", "weights", 2);
    assert_true(fabs(squares - theirs[0]) <= 1e-9 * squares);
    assert_true(fabs(sum - theirs[1]) <= 1e-9 * squares);
    digest(g->seed, "input", g->x, input, d);
    theirs = wanted(g, "", "input", DIGEST);
    for (size_t i = 0; i < DIGEST; i++)
        assert_true(fabs(d[i] - theirs[i]) <= 1e-9 * d[0]);
    theirs = wanted(g, "", "labels", g->batch);
    for (size_t i = 0; i < g->batch; i++) assert_true(theirs[i] == g->y[i]);
}

static void make_numbers(golden *g) {
    const nn_net *net = g->net->net;
    size_t input = g->batch * nn_shape_size(nn_net_input(net));
    g->weights = floats(net->n_floats);
    g->x = floats(input);
    g->y = malloc(g->batch * sizeof *g->y);
    for (size_t i = 0; i < net->n_params; i++)
        formula_param(g->seed, &net->params[i],
                      strcmp(net->params[i].name, "out.weight") == 0,
                      g->weights + net->params[i].offset);
    formula_inputs(g->seed, input, g->x);
    formula_labels(g->seed, g->batch, g->opts.classes, g->y);
    check_formula(g, input);
}

static golden golden_open(const char *name) {
    char path[1024];
    golden g = {.batch = 0};
    snprintf(path, sizeof path, "%s/%s.safetensors", SCANT_GOLDEN, name);
    must(scant__tensors_open(ctx, path, &g.file));
    assert_string_equal(meta(&g, "scant golden"), "1");
    g.opts.shape[0] = number(&g, "channels");
    g.opts.shape[1] = number(&g, "height");
    g.opts.shape[2] = number(&g, "width");
    g.opts.classes = number(&g, "classes");
    g.batch = number(&g, "batch");
    g.seed = number(&g, "seed");
    return g;
}

static void check_case(const char *name) {
    static const char *const modes[] = {"train.", "eval."};
    golden g = golden_open(name);
    size_t passes = 0;
    snprintf(g.options, sizeof g.options, "%s", meta(&g, "options"));
    assert_true(options_read(g.options, &g.opts));
    must(scant_net_create(ctx, meta(&g, "model"), &g.opts, &g.net));
    make_numbers(&g);
    for (size_t i = 0; i < 2; i++) {
        char key[TEXT];
        pass p;
        snprintf(key, sizeof key, "%sloss", modes[i]);
        if (!scant__tensors_find(g.file, key)) continue;
        must(nn_weights_set(g.net->weights, g.weights)); /* training changed statistics */
        must(pass_run(g.net, i == 0 ? NN_TRAIN : NN_TRACE, g.batch, g.x, g.y, &p));
        check_pass(&g, modes[i], &p);
        pass_end(&p);
        passes++;
    }
    assert_true(passes > 0);
    free(g.weights);
    free(g.x);
    free(g.y);
    scant_net_free(g.net);
    scant__tensors_close(g.file);
}

#define MATCHES_PYTORCH(function, name)                                                  \
    static void function(void **state) {                                                 \
        (void)state;                                                                     \
        check_case(name);                                                                \
    }

MATCHES_PYTORCH(linear_matches_pytorch, "linear")
MATCHES_PYTORCH(mlp_matches_pytorch, "mlp")
MATCHES_PYTORCH(deep_mlp_matches_pytorch, "mlp-deep")
MATCHES_PYTORCH(onehidden_matches_pytorch, "onehidden")
MATCHES_PYTORCH(lenet5_matches_pytorch, "lenet5")
MATCHES_PYTORCH(cnn_matches_pytorch, "cnn")
MATCHES_PYTORCH(gapcnn_matches_pytorch, "gapcnn")
MATCHES_PYTORCH(gapcnn_nopool_matches_pytorch, "gapcnn-nopool")
MATCHES_PYTORCH(vgg11_matches_pytorch, "vgg11")
MATCHES_PYTORCH(resnet18_matches_pytorch, "resnet18")
MATCHES_PYTORCH(wrn_28_2_matches_pytorch, "wrn-28-2")
MATCHES_PYTORCH(mobilenetv2_matches_pytorch, "mobilenetv2")
MATCHES_PYTORCH(mobilenetv2_with_tanh_matches_pytorch, "mobilenetv2-tanh")
MATCHES_PYTORCH(folded_mobilenetv2_matches_pytorch, "mobilenetv2-folded")

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear_matches_pytorch),
        cmocka_unit_test(mlp_matches_pytorch),
        cmocka_unit_test(deep_mlp_matches_pytorch),
        cmocka_unit_test(onehidden_matches_pytorch),
        cmocka_unit_test(lenet5_matches_pytorch),
        cmocka_unit_test(cnn_matches_pytorch),
        cmocka_unit_test(gapcnn_matches_pytorch),
        cmocka_unit_test(gapcnn_nopool_matches_pytorch),
        cmocka_unit_test(vgg11_matches_pytorch),
        cmocka_unit_test(resnet18_matches_pytorch),
        cmocka_unit_test(wrn_28_2_matches_pytorch),
        cmocka_unit_test(mobilenetv2_matches_pytorch),
        cmocka_unit_test(mobilenetv2_with_tanh_matches_pytorch),
        cmocka_unit_test(folded_mobilenetv2_matches_pytorch),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
