/* SPDX-License-Identifier: Apache-2.0
 *
 * Plans compared with the reference: every layer, forward and backward, in every mode;
 * and the reference compared with central differences.
 *
 * Tolerances: kernels sum some thousand float products, each rounded to 6e-8. The error
 * stays below 1e-4 of a tensor's norm for a few layers, and below 5e-4 for fifty layers
 * normalised by the statistics of eight samples. A relu whose input is within rounding
 * error of zero may switch. In a deep network with 100,000 of them one sometimes does and
 * changes gradients by up to some percent. Deep networks therefore have a tolerance of
 * 5e-4 with smooth activations, and of 0.1 with their own.
 */
#include "reference.h"

#include "nn/network.h"
#include "scant/train.h"

#include "context.h"

/* A network and its reference, with the same weights, input and output gradient. */
typedef struct pair {
    scant_net *net;
    reference o;
    nn_plan *plan;
} pair;

/* Sets plan and reference to a mode, and their inputs. */
static void pair_mode(pair *p, nn_mode mode) {
    p->o.train = mode == NN_TRAIN;
    if (nn_network_plan(p->net, p->o.n, mode, &p->plan) != SCANT_OK)
        fail_msg("%s: %s", p->o.net->model, scant_ctx_errmsg(ctx));
    for (size_t k = 0; k < reference_size(&p->o, 0); k++) {
        nn_plan_input(p->plan)[k] = (float)(2 * unit_at(8, k) - 1);
        p->o.value[0][k] = (double)nn_plan_input(p->plan)[k];
    }
}

static pair pair_of(const char *model, scant_net_opts opts, size_t n, nn_mode mode) {
    pair p;
    if (scant_net_create(ctx, model, &opts, &p.net) != SCANT_OK)
        fail_msg("%s: %s", model, scant_ctx_errmsg(ctx));
    const nn_net *net = p.net->net;
    float *plain = malloc(net->n_floats * sizeof *plain);
    p.o = reference_new(net, n, mode == NN_TRAIN);
    assert_int_equal(nn_weights_get(p.net->weights, plain), SCANT_OK);
    for (size_t i = 0; i < net->n_params; i++) {
        const nn_param *w = &net->params[i];
        for (size_t k = w->offset; k < w->offset + w->count; k++) {
            /* so that biases, shifts and statistics are not 0 or 1 */
            if (w->role != NN_WEIGHT) plain[k] += (float)(0.4 * (unit_at(7, k) - 0.5));
            p.o.params[k] = (double)plain[k];
        }
    }
    assert_int_equal(nn_weights_set(p.net->weights, plain), SCANT_OK);
    free(plain);
    pair_mode(&p, mode);
    return p;
}

static void pair_end(pair *p) {
    reference_free(&p->o);
    scant_net_free(p->net);
}

static double tolerance = 1e-4;

/* least: the rounding error of sums whose terms cancel (a shift before a normalisation
 * has no effect, so its gradient is 0). */
static void expect_near(const char *what, const float *got, const double *want, size_t n,
                        double least) {
    double off = 0, size = 0;
    for (size_t i = 0; i < n; i++) {
        assert_true(isfinite(got[i]));
        off += ((double)got[i] - want[i]) * ((double)got[i] - want[i]);
        size += want[i] * want[i];
    }
    if (sqrt(off) > tolerance * sqrt(size) + least)
        fail_msg("%s: off by %g of %g", what, sqrt(off), sqrt(size));
}

static void forward_both(pair *p) {
    size_t last = p->o.net->n_nodes - 1, n = reference_size(&p->o, (int)last);
    assert_int_equal(nn_plan_forward(p->plan, 1, 1), SCANT_OK);
    reference_forward(&p->o);
    expect_near("logits", nn_plan_logits(p->plan), p->o.value[last], n, 1e-6);
    int features = p->o.net->features;
    expect_near("features", nn_plan_features(p->plan), p->o.value[features],
                reference_size(&p->o, features), 1e-6);
}

static void backward_both(pair *p) {
    const nn_net *net = p->o.net;
    size_t last = net->n_nodes - 1, n = reference_size(&p->o, (int)last);
    for (size_t k = 0; k < n; k++) {
        p->o.grad[last][k] = 2 * unit_at(9, k) - 1;
        nn_plan_d_logits(p->plan)[k] = (float)p->o.grad[last][k];
    }
    assert_int_equal(nn_plan_backward(p->plan), SCANT_OK);
    reference_backward(&p->o);
    float *plain = calloc(net->n_floats, sizeof *plain);
    nn_weights *w = p->net->weights;
    assert_int_equal(nn_weights_unpack(w, w->grads, true, plain), SCANT_OK);
    double all = 0;
    for (size_t k = 0; k < net->n_trained; k++) all += p->o.grads[k] * p->o.grads[k];
    for (size_t i = 0; i < net->n_params; i++) {
        const nn_param *q = &net->params[i];
        if (q->trained)
            expect_near(q->name, plain + q->offset, p->o.grads + q->offset, q->count,
                        1e-6 * sqrt(all));
    }
    free(plain);
}

static void check_model(const char *model, scant_net_opts opts, size_t n) {
    pair p = pair_of(model, opts, n, NN_TRAIN);
    forward_both(&p);
    backward_both(&p);
    pair_mode(&p, NN_TRACE);
    forward_both(&p);
    backward_both(&p);
    pair_mode(&p, NN_PREDICT);
    assert_int_equal(nn_plan_forward(p.plan, 1, 1), SCANT_OK);
    size_t last =
        p.o.net->n_nodes - 1; /* the reference has the same logits as for NN_TRACE */
    expect_near("logits", nn_plan_logits(p.plan), p.o.value[last],
                reference_size(&p.o, (int)last), 1e-6);
    pair_end(&p);
}

#ifdef SCANT_SANITIZED /* fewer: they test the reference only */
enum { SLOPES = 4 };
#else
enum { SLOPES = 25 };
#endif

static void the_reference_matches_central_differences(void **state) {
    (void)state;
    /* every kind of layer: wrn-28-2 has normalisation, residual sums and shortcuts;
     * gapcnn has max pooling, averages and swish */
    const char *models[] = {"wrn-28-2", "gapcnn"};
    for (int m = 0; m < 2; m++) {
        scant_net_opts opts = {.shape = {2, 4, 4},
                               .classes = 3,
                               .width = m ? 3 : 0,
                               .activation = m ? "swish" : "tanh"};
        pair p = pair_of(models[m], opts, 3, NN_TRAIN);
        reference *o = &p.o;
        size_t last = o->net->n_nodes - 1, n = reference_size(o, (int)last);
        reference_forward(o);
        for (size_t k = 0; k < n; k++) o->grad[last][k] = unit_at(3, k) - 0.5;
        reference_backward(o);
        double *grads = malloc(o->net->n_trained * sizeof *grads);
        memcpy(grads, o->grads, o->net->n_trained * sizeof *grads);
        for (int t = 0; t < SLOPES; t++) {
            size_t k = (size_t)(unit_at(4, (uint64_t)t) * (double)o->net->n_trained);
            double keep = o->params[k], h = 1e-6, loss[2] = {0, 0};
            for (int side = 0; side < 2; side++) {
                o->params[k] = keep + (side ? h : -h);
                reference_forward(o);
                for (size_t j = 0; j < n; j++)
                    loss[side] += o->value[last][j] * (unit_at(3, j) - 0.5);
            }
            o->params[k] = keep;
            /* errors of the difference are of order h^2 and 1e-16/h */
            assert_true(fabs((loss[1] - loss[0]) / (2 * h) - grads[k]) <
                        1e-6 * (1 + fabs(grads[k])));
        }
        free(grads);
        pair_end(&p);
    }
}

static void small_networks_match_the_reference(void **state) {
    (void)state;
    check_model("linear", (scant_net_opts){.shape = {5, 1, 1}, .classes = 3}, 4);
    check_model(
        "mlp", (scant_net_opts){.shape = {7, 1, 1}, .classes = 3, .width = 5, .depth = 3},
        9);
    check_model("mlp", (scant_net_opts){.shape = {2, 3, 3}, .classes = 2, .width = 9}, 1);
    check_model("onehidden",
                (scant_net_opts){.shape = {6, 1, 1}, .classes = 2, .width = 10}, 5);
    check_model("lenet5", (scant_net_opts){.shape = {1, 28, 28}, .classes = 10}, 1);
    check_model("lenet5", (scant_net_opts){.shape = {1, 28, 28}, .classes = 10}, 9);
    check_model("lenet5", (scant_net_opts){.shape = {3, 20, 23}, .classes = 4}, 3);
    check_model("cnn", (scant_net_opts){.shape = {3, 32, 32}, .classes = 10}, 5);
    check_model("gapcnn", (scant_net_opts){.shape = {3, 8, 8}, .classes = 10, .width = 8},
                3);
    /* too few channels for a vector */
    check_model("gapcnn", (scant_net_opts){.shape = {1, 9, 7}, .classes = 3, .width = 5},
                3);
    check_model("gapcnn",
                (scant_net_opts){.shape = {2, 4, 4}, .classes = 1000, .width = 20}, 2);
    check_model("gapcnn-nopool",
                (scant_net_opts){.shape = {3, 6, 5}, .classes = 10, .width = 8}, 3);
}

static void every_activation_matches_the_reference(void **state) {
    (void)state;
    const char *acts[] = {"relu", "leaky", "tanh", "sigmoid", "swish", "relu6", "square"};
    for (size_t a = 0; a < sizeof acts / sizeof *acts; a++) {
        scant_net_opts o = {.shape = {1, 8, 8}, .classes = 3, .activation = acts[a]};
        o.width = 5;
        check_model("gapcnn", o, 3);
        check_model("mlp", o, 3);
        o.width = 0;
        o.shape[1] = o.shape[2] = 16;
        check_model("lenet5", o, 2);
        if (o.activation[0] == 'r') continue; /* in deep_networks_match_the_reference */
        /* squares of squares multiply rounding errors beyond the tolerance */
        if (!strcmp(o.activation, "square")) continue;
#ifdef SCANT_SANITIZED /* only leaky, the network's own activation */
        if (o.activation[0] != 'l') continue;
#endif
        o.shape[1] = o.shape[2] = 4;
        check_model("wrn-28-2", o, 8);
    }
}

/* Eight samples, because normalisation by the statistics of two or three values
 * multiplies rounding errors by a thousand. */
static void deep_networks_match_the_reference(void **state) {
    (void)state;
#ifdef SCANT_SANITIZED /* takes minutes; small networks use the same code */
    skip();
#endif
    scant_net_opts resnet = {.shape = {3, 4, 4}, .classes = 4};
    scant_net_opts original = {.shape = {3, 20, 17}, .classes = 2, .stem = "original"};
    scant_net_opts folded = {.shape = {1, 4, 4}, .classes = 2, .norm = "folded"};
    scant_net_opts mobile = {.shape = {3, 16, 16}, .classes = 5};
    resnet.activation = original.activation = folded.activation = "tanh";
    mobile.activation = "swish";
    tolerance = 5e-4;
    check_model("resnet18", resnet, 8);
    check_model("resnet18", original, 8);
    check_model("resnet18", folded, 2);
    check_model("mobilenetv2", mobile, 8);
    mobile.norm = "folded";
    check_model("mobilenetv2", mobile, 2);
    /* their own activations, whose kinks rounding may cross; test_golden compares those
     * with PyTorch */
    mobile.activation = mobile.norm = NULL;
    tolerance = 0.1;
    check_model("mobilenetv2", mobile, 8);
    check_model("wrn-28-2", (scant_net_opts){.shape = {3, 4, 4}, .classes = 10}, 8);
    tolerance = 1e-4;
}

static void a_step_allocates_nothing(void **state) {
    (void)state;
    const char *models[] = {"lenet5", "wrn-28-2"};
    for (int m = 0; m < 2; m++) {
        memory mem;
        scant_ctx *counting = ctx_counting(&mem);
        scant_net *net;
        scant_net_opts opts = {.shape = {1, 16, 16}, .classes = 3};
        assert_int_equal(scant_net_create(counting, models[m], &opts, &net), SCANT_OK);
        nn_plan *plan;
        assert_int_equal(nn_network_plan(net, 4, NN_TRAIN, &plan), SCANT_OK);
        size_t before = mem.calls;
        for (uint64_t s = 0; s < 3; s++) {
            assert_int_equal(nn_plan_forward(plan, 0, s), SCANT_OK);
            assert_int_equal(nn_plan_backward(plan), SCANT_OK);
            nn_plan_keep_statistics(plan, 0.1);
        }
        assert_int_equal(mem.calls, before);
        scant_net_free(net);
        scant_ctx_free(counting);
        assert_int_equal(mem.live, 0);
    }
}

static void running_statistics_are_updated_as_in_torch(void **state) {
    (void)state;
    pair p = pair_of("resnet18", (scant_net_opts){.shape = {1, 4, 4}, .classes = 2}, 8,
                     NN_TRAIN);
    forward_both(&p);
    nn_plan_keep_statistics(p.plan, 0.25);
    float *plain = malloc(p.o.net->n_floats * sizeof *plain);
    assert_int_equal(nn_weights_get(p.net->weights, plain), SCANT_OK);
    for (size_t i = 0; i < p.o.net->n_nodes; i++) {
        const nn_node *v = &p.o.net->nodes[i];
        if (v->kind != NN_NORM) continue;
        double m = (double)(p.o.n * v->shape.h * v->shape.w);
        for (size_t c = 0; c < v->shape.c; c += 7) {
            double mean, var;
            reference_moments(&p.o, (int)i, c, &mean, &var);
            double was_mean = reference_param(&p.o, p.o.params, v->mean)[c];
            double was_var = reference_param(&p.o, p.o.params, v->var)[c];
            double got_mean = (double)plain[p.o.net->params[v->mean].offset + c];
            double got_var = (double)plain[p.o.net->params[v->var].offset + c];
            assert_true(fabs(got_mean - (0.75 * was_mean + 0.25 * mean)) < 1e-4);
            double want = 0.75 * was_var + 0.25 * var * m / (m - 1);
            assert_true(fabs(got_var - want) < 1e-4 * (1 + want));
        }
    }
    free(plain);
    pair_end(&p);
}

static void dropout_keeps_the_mean_and_depends_on_seed_and_step(void **state) {
    (void)state;
    scant_net *net;
    scant_net_opts o = {.shape = {1, 1, 1}, .classes = 1, .width = 4000, .dropout = 0.3};
    assert_int_equal(scant_net_create(ctx, "mlp", &o, &net), SCANT_OK);
    float *plain = calloc(net->net->n_floats, sizeof *plain);
    for (size_t i = 0; i < net->net->n_floats; i++) plain[i] = 1; /* hidden units are 2 */
    assert_int_equal(nn_weights_set(net->weights, plain), SCANT_OK);
    nn_plan *plan;
    assert_int_equal(nn_network_plan(net, 1, NN_TRAIN, &plan), SCANT_OK);
    double sum = 0, first = 0;
    for (uint64_t step = 0; step < 20; step++) {
        nn_plan_input(plan)[0] = 1;
        assert_int_equal(nn_plan_forward(plan, 5, step), SCANT_OK);
        const float *h = nn_plan_features(plan);
        size_t kept = 0;
        for (size_t i = 0; i < 4000; i++) {
            assert_true(h[i] == 0 || fabs((double)h[i] - 2 / 0.7) < 1e-5);
            kept += h[i] != 0;
        }
        /* binomial: six standard deviations of sqrt(4000 * .21) = 29 */
        assert_true(fabs((double)kept - 2800) < 6 * 29);
        if (step == 0) first = (double)nn_plan_logits(plan)[0];
        if (step == 1) assert_true((double)nn_plan_logits(plan)[0] != first);
        sum += (double)nn_plan_logits(plan)[0] - 1;
        /* dropped units get no gradient: the biases' gradient is the mask */
        nn_plan_d_logits(plan)[0] = 1;
        float mask[4000];
        memcpy(mask, h, sizeof mask);
        assert_int_equal(nn_plan_backward(plan), SCANT_OK);
        float *grads = calloc(net->net->n_floats, sizeof *grads);
        assert_int_equal(
            nn_weights_unpack(net->weights, net->weights->grads, true, grads), SCANT_OK);
        const float *bias = grads + nn_net_find(net->net, "fc1.bias")->offset;
        for (size_t i = 0; i < 4000; i++)
            assert_true(mask[i] == 0 ? bias[i] == 0
                                     : fabs((double)bias[i] - 1 / 0.7) < 1e-5);
        free(grads);
    }
    assert_true(fabs(sum / 20 / 8000 - 1) < 0.02);
    nn_plan_input(plan)[0] = 1;
    assert_int_equal(nn_plan_forward(plan, 5, 0), SCANT_OK);
    assert_true((double)nn_plan_logits(plan)[0] == first);
    free(plain);
    scant_net_free(net);
}

/* After a failure the network still works. */
static void every_failed_allocation_is_reported(void **state) {
    (void)state;
    for (size_t at = 0; at < 10000; at++) {
        memory mem;
        scant_ctx *counting = ctx_counting(&mem);
        scant_net *net = NULL;
        nn_plan *plan;
        scant_net_opts o = {.shape = {1, 12, 12}, .classes = 2};
        mem.fail_at = mem.calls + at;
        scant_status s = scant_net_create(counting, "lenet5", &o, &net);
        if (s == SCANT_OK) s = nn_network_plan(net, 2, NN_TRAIN, &plan);
        if (s == SCANT_OK) s = nn_network_plan(net, 2, NN_TRACE, &plan);
        bool failed = mem.calls > mem.fail_at;
        mem.fail_at = SIZE_MAX;
        assert_true(s == SCANT_OK || (failed && s == SCANT_ENOMEM));
        if (net) {
            assert_int_equal(nn_network_plan(net, 2, NN_TRAIN, &plan), SCANT_OK);
            assert_int_equal(nn_plan_forward(plan, 0, 0), SCANT_OK);
        }
        scant_net_free(net);
        scant_ctx_free(counting);
        assert_int_equal(mem.live, 0);
        if (!failed) return;
    }
    fail_msg("more than 10000 allocations");
}

static void old_plans_are_freed_if_memory_is_short(void **state) {
    (void)state;
    scant_net_opts o = {.shape = {3, 32, 32}, .classes = 2, .width = 16};
    size_t cap = 0;
    for (int round = 0; round < 2; round++) { /* the first measures what a plan needs */
        scant_ctx *capped;
        scant_net *net;
        nn_plan *plan;
        assert_int_equal(
            scant_ctx_create(&(scant_ctx_opts){.threads = 1, .memory = cap}, &capped),
            SCANT_OK);
        assert_int_equal(scant_net_create(capped, "gapcnn", &o, &net), SCANT_OK);
        assert_int_equal(nn_network_plan(net, 32, NN_PREDICT, &plan), SCANT_OK);
        cap = scant_ctx_memory_peak(capped);
        for (size_t batch = 31; round && batch > 28; batch--) {
            assert_int_equal(nn_network_plan(net, batch, NN_PREDICT, &plan), SCANT_OK);
            assert_int_equal(nn_plan_batch(plan), batch);
            assert_int_equal(nn_plan_forward(plan, 0, 0), SCANT_OK);
        }
        if (round) /* a plan that cannot fit is refused */
            assert_int_equal(nn_network_plan(net, 64, NN_PREDICT, &plan), SCANT_ENOMEM);
        scant_net_free(net);
        scant_ctx_free(capped);
    }
}

/* Convolution, dropout, dense. The dropout exists in training only. */
static nn_net *net_with_dropout(void) {
    nn_builder b = {.status = SCANT_OK};
    assert_int_equal(nn_net_create(ctx, "made up", (nn_shape){1, 8, 8}, &b.net),
                     SCANT_OK);
    int at = nn_add_conv(&b, 0, "conv", 16, (nn_window){3, 1, 1}, 1, true);
    at = nn_add_dropout(&b, nn_add_act(&b, at, NN_ACT_RELU), 0.5f);
    nn_add_dense(&b, at, "fc", 3, true);
    assert_int_equal(nn_net_end(&b, at), SCANT_OK);
    return b.net;
}

static void modes_share_the_layout_of_weights(void **state) {
    (void)state;
    float logits[2][4 * 3];
    for (int first = 0; first < 2; first++) {
        nn_net *net = net_with_dropout();
        nn_backend *backend;
        nn_weights *weights;
        nn_plan *train = NULL, *predict;
        assert_int_equal(nn_backend_open(ctx, &backend), SCANT_OK);
        assert_int_equal(nn_weights_create(net, backend, 1, &weights), SCANT_OK);
        if (first)
            assert_int_equal(nn_plan_create(weights, 4, NN_TRAIN, &train), SCANT_OK);
        assert_int_equal(nn_plan_create(weights, 4, NN_PREDICT, &predict), SCANT_OK);
        for (size_t i = 0; i < 4 * 64; i++)
            nn_plan_input(predict)[i] = (float)unit_at(12, i);
        assert_int_equal(nn_plan_forward(predict, 0, 0), SCANT_OK);
        memcpy(logits[first], nn_plan_logits(predict), sizeof logits[first]);
        nn_plan_destroy(train);
        nn_plan_destroy(predict);
        nn_weights_destroy(weights);
        nn_backend_close(backend);
        nn_net_free(net);
    }
    for (size_t i = 0; i < 4 * 3; i++)
        assert_true(fabs((double)logits[0][i] - (double)logits[1][i]) < 1e-4);
}

static void the_larger_side_decides_the_stem(void **state) {
    (void)state;
    const struct {
        size_t h, w, kernel;
    } cases[] = {{64, 64, 3}, {32, 65, 7}, {65, 32, 7}, {224, 224, 7}};
    for (size_t i = 0; i < 4; i++) {
        scant_net_opts o = {.shape = {3, cases[i].h, cases[i].w}, .classes = 2};
        nn_net *net;
        assert_int_equal(nn_model_build(ctx, "resnet18", &o, &net), SCANT_OK);
        assert_int_equal(net->nodes[1].kernel[0], cases[i].kernel);
        nn_net_free(net);
    }
}

static void unsuitable_options_and_shapes_are_refused(void **state) {
    (void)state;
    const struct {
        const char *model;
        scant_net_opts opts;
        const char *says;
    } cases[] = {
        {"lenet9", {.classes = 2}, "there is no model 'lenet9'"},
        {"lenet5", {.shape = {1, 3, 28}}, "cannot take images of 3x28"},
        {"vgg16", {.shape = {3, 16, 16}}, "cannot take images of 16x16"},
        {"vgg16", {.shape = {3, 40, 16}}, "; 32x32 would work"},
        {"vgg11", {.shape = {3, 64, 64}, .head = "full"}, "224x224"},
        {"resnet18",
         {.stem = "tiny"},
         "resnet18: stem is tiny, expected one of small|original"},
        {"mlp", {.activation = "step"}, "activation is"},
        {"mlp", {.dropout = 1}, "dropout"},
        {"mlp", {.dropout = 0.99999999}, "not 0.99999999"}, /* 1 as a float */
        {"gapcnn", {.shape = {1 << 24, 1 << 24, 1 << 24}}, "too large to address"},
        {"gapcnn", {.shape = {1, 1 << 20, 1 << 20}, .width = 1 << 20}, "to address"},
        {"lenet5", {.width = 3}, "lenet5 has no option width"},
        {"wrn-28-2", {.norm = "folded"}, "no option norm"},
        {"linear", {.classes = (size_t)1 << 40}, "classes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scant_net *net;
        scant_status s = scant_net_create(ctx, cases[i].model, &cases[i].opts, &net);
        assert_true(s == SCANT_EUSAGE || s == SCANT_EINPUT);
        assert_null(net);
        if (!strstr(scant_ctx_errmsg(ctx), cases[i].says))
            fail_msg("message '%s' does not contain '%s'", scant_ctx_errmsg(ctx),
                     cases[i].says);
        if (strstr(cases[i].says, "address")) /* no hint for shapes that are too large */
            assert_null(strstr(scant_ctx_errmsg(ctx), "would work"));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_reference_matches_central_differences),
        cmocka_unit_test(small_networks_match_the_reference),
        cmocka_unit_test(every_activation_matches_the_reference),
        cmocka_unit_test(deep_networks_match_the_reference),
        cmocka_unit_test(a_step_allocates_nothing),
        cmocka_unit_test(running_statistics_are_updated_as_in_torch),
        cmocka_unit_test(dropout_keeps_the_mean_and_depends_on_seed_and_step),
        cmocka_unit_test(every_failed_allocation_is_reported),
        cmocka_unit_test(old_plans_are_freed_if_memory_is_short),
        cmocka_unit_test(modes_share_the_layout_of_weights),
        cmocka_unit_test(the_larger_side_decides_the_stem),
        cmocka_unit_test(unsuitable_options_and_shapes_are_refused),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
