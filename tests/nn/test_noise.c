/* SPDX-License-Identifier: Apache-2.0
 *
 * Variational last layers in training: the noise and its gradients, the divergence from
 * the prior, the layers of Bayesian networks, and that they train.
 */
#include <math.h>

#include "../data/support.h"

#include "nn/noise.h"
#include "pass.h"
#include "scant/train.h"
#include "train_opts.h"

static scant_net *net_of(scant_ctx *ctx, const char *model, scant_net_opts o) {
    scant_net *net;
    if (scant_net_create(ctx, model, &o, &net) != SCANT_OK)
        fail_msg("%s", scant_ctx_errmsg(ctx));
    return net;
}

/* Sets all numbers of one parameter, whether weights are packed or not. */
static void set_param(scant_net *net, const char *name, float value) {
    const nn_param *p = nn_net_find(net->net, name);
    float *all = malloc(net->net->n_floats * sizeof *all);
    assert_non_null(p);
    assert_int_equal(nn_weights_get(net->weights, all), SCANT_OK);
    for (size_t i = 0; i < p->count; i++) all[p->offset + i] = value;
    assert_int_equal(nn_weights_set(net->weights, all), SCANT_OK);
    free(all);
}

static double softplus_of(double x) { return log(1 + exp(x)); }

/* ---- the divergence ---- */

static scant_net *packed_net(scant_ctx *ctx, double prior) {
    scant_net *net = net_of(ctx, "mlp",
                            (scant_net_opts){.shape = {3, 1, 1},
                                             .classes = 5,
                                             .width = 7,
                                             .bayes = "variational",
                                             .prior = prior});
    nn_plan *plan;
    assert_int_equal(nn_network_plan(net, 2, NN_TRAIN, &plan), SCANT_OK);
    return net;
}

static void divergence_is_zero_only_at_the_prior(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(1);
    for (double prior = 0.25; prior < 5; prior *= 4) {
        scant_net *net = packed_net(ctx, prior);
        float rho = (float)log(exp(sqrt(prior)) - 1);
        set_param(net, "fc2.weight", 0);
        set_param(net, "fc2.weight_rho", rho);
        assert_true(fabs(nn_kl(net->weights)) < 1e-6);
        /* 35 means of 0.1: each adds 0.01 / (2 prior) */
        set_param(net, "fc2.weight", 0.1f);
        assert_true(fabs(nn_kl(net->weights) - 35 * 0.005 / prior) < 1e-6 / prior);
        /* twice the prior's deviation: (4 - 1 - ln 4) / 2 each */
        set_param(net, "fc2.weight", 0);
        set_param(net, "fc2.weight_rho", (float)log(exp(2 * sqrt(prior)) - 1));
        assert_true(fabs(nn_kl(net->weights) - 35 * (3 - log(4)) / 2) < 1e-4);
        scant_net_free(net);
    }
    scant_net *plain = net_of(ctx, "lenet5", (scant_net_opts){0});
    assert_true(nn_kl(plain->weights) == 0);
    scant_net_free(plain);
    scant_ctx_free(ctx);
}

static void divergence_gradient_matches_finite_differences(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(1);
    scant_net *net = packed_net(ctx, 0.5);
    nn_weights *w = net->weights;
    memset(w->grads, 0, w->n_trained * sizeof *w->grads);
    nn_kl_add(w, 0.125);
    const char *const names[] = {"fc2.weight", "fc2.weight_rho"};
    double total = 0;
    for (size_t i = 0; i < w->n_trained; i++) total += fabs((double)w->grads[i]);
    for (int k = 0; k < 2; k++) {
        int at = (int)(nn_net_find(net->net, names[k]) - net->net->params);
        size_t room = w->slices[at].room; /* with the padding of the kernels' layout */
        for (size_t i = 0; i < room; i += 3) {
            float *x = nn_weights_at(w, at) + i, before = *x;
            float up = before + 0.01f, down = before - 0.01f;
            *x = up;
            double change = nn_kl(w);
            *x = down;
            change -= nn_kl(w);
            *x = before;
            double slope = 0.125 * change / ((double)up - (double)down);
            double got = (double)nn_grads_at(w, at)[i];
            assert_true(fabs(got - slope) < 1e-4 * fmax(fabs(slope), 1e-2));
        }
        for (size_t i = 0; i < room; i++) total -= fabs((double)nn_grads_at(w, at)[i]);
    }
    assert_true(fabs(total) < 1e-5); /* other parameters have no gradient */
    /* where softplus underflows to 0, even in double, the gradient is still -1: wider */
    set_param(net, "fc2.weight_rho", -800);
    memset(w->grads, 0, w->n_trained * sizeof *w->grads);
    nn_kl_add(w, 1);
    int rho = (int)(nn_net_find(net->net, "fc2.weight_rho") - net->net->params);
    assert_true(fabsf(nn_grads_at(w, rho)[0] + 1) < 1e-6f);
    scant_net_free(net);
    scant_ctx_free(ctx);
}

/* ---- the noise ---- */

enum { ROWS = 20000, WIDTH = 6, CLASSES = 5 };

/* All samples are equal, so outputs differ by noise only. */
static void logits_have_the_mean_and_variance_of_the_formula(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(2);
    scant_net *net =
        net_of(ctx, "linear",
               (scant_net_opts){
                   .shape = {WIDTH, 1, 1}, .classes = CLASSES, .bayes = "variational"});
    float *x = malloc(ROWS * WIDTH * sizeof *x), w[2 * CLASSES * WIDTH + CLASSES];
    for (size_t i = 0; i < ROWS * WIDTH; i++) x[i] = (float)(i % WIDTH) - 1.5f;
    for (size_t i = 0; i < CLASSES * WIDTH; i++) {
        w[i] = (float)normal_at(1, i);
        w[CLASSES * WIDTH + CLASSES + i] = (float)(normal_at(2, i) - 1);
    }
    for (size_t k = 0; k < CLASSES; k++) w[CLASSES * WIDTH + k] = (float)k;
    assert_int_equal(nn_weights_set(net->weights, w), SCANT_OK);
    nn_plan *plan;
    assert_int_equal(nn_network_plan(net, ROWS, NN_TRAIN, &plan), SCANT_OK);
    memcpy(nn_plan_input(plan), x, ROWS * WIDTH * sizeof *x);
    double first = 0, second = 0, pairs = 0, pooled_mean = 0, pooled_square = 0;
    for (uint64_t step = 0; step < 4; step++) {
        assert_int_equal(nn_plan_forward(plan, 9, step), SCANT_OK);
        const float *z = nn_plan_logits(plan);
        for (size_t k = 0; k < CLASSES; k++) {
            double mean = (double)k, v = NN_NOISE_FLOOR, last = 0;
            for (size_t j = 0; j < WIDTH; j++) {
                double h = (double)j - 1.5;
                double s =
                    softplus_of((double)w[CLASSES * WIDTH + CLASSES + k * WIDTH + j]);
                mean += h * (double)w[k * WIDTH + j];
                v += h * h * s * s;
            }
            for (size_t i = 0; i < ROWS; i++) {
                double e = ((double)z[i * CLASSES + k] - mean) / sqrt(v);
                pooled_mean += e, pooled_square += e * e;
                pairs += e * last;
                last = e;
            }
        }
        if (step == 0) first = (double)z[0];
        if (step == 1) second = (double)z[0];
    }
    double n = 4.0 * ROWS * CLASSES;
    assert_true(fabs(pooled_mean / n) < 0.01);
    assert_true(fabs(pooled_square / n - 1) < 0.01);
    assert_true(fabs(pairs / n) < 0.01); /* each sample has its own noise */
    assert_true(first != second);        /* and each step */
    free(x);
    scant_net_free(net);
    scant_ctx_free(ctx);
}

static void noise_is_added_only_in_training(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(2);
    scant_net *net =
        net_of(ctx, "lenet5", (scant_net_opts){.bayes = "variational", .seed = 4});
    scant_net *plain = net_of(ctx, "lenet5", (scant_net_opts){.seed = 4});
    float *all = malloc(net->net->n_floats * sizeof *all);
    assert_int_equal(nn_weights_get(net->weights, all), SCANT_OK);
    /* rho is the last parameter; the others are those of the plain network */
    assert_int_equal(nn_net_find(net->net, "fc3.weight_rho")->offset,
                     plain->net->n_floats);
    assert_int_equal(nn_weights_set(plain->weights, all), SCANT_OK);
    enum { N = 5 };
    float x[N * 784];
    int32_t y[N] = {0, 1, 2, 3, 9};
    for (size_t i = 0; i < N * 784; i++) x[i] = (float)unit_at(3, i);
    pass a, b, c, d;
    assert_int_equal(pass_run(net, NN_TRACE, N, x, y, &a), SCANT_OK);
    assert_int_equal(pass_run(plain, NN_TRACE, N, x, y, &b), SCANT_OK);
    assert_memory_equal(a.logits, b.logits, N * 10 * sizeof(float));
    assert_memory_equal(a.embedding, b.embedding, N * 84 * sizeof(float));
    assert_memory_equal(a.grads, b.grads, plain->net->n_trained * sizeof(float));
    assert_int_equal(pass_run(net, NN_TRAIN, N, x, y, &c), SCANT_OK);
    for (size_t i = 0; i < N * 84; i++)
        assert_true(fabsf(c.embedding[i] - b.embedding[i]) < 1e-4f);
    for (size_t i = 0; i < N * 10; i++) assert_true(c.logits[i] != b.logits[i]);
    /* NN_TRACE does not keep training's gradient of rho */
    assert_int_equal(pass_run(net, NN_TRACE, N, x, y, &d), SCANT_OK);
    double moved = 0; /* inactive rectifiers have no gradient */
    for (size_t i = plain->net->n_trained; i < net->net->n_trained; i++) {
        moved += c.grads[i] != 0;
        assert_true(d.grads[i] == 0);
    }
    assert_true(moved > 200);
    pass_end(&a), pass_end(&b), pass_end(&c), pass_end(&d);
    free(all);
    scant_net_free(net);
    scant_net_free(plain);
    scant_ctx_free(ctx);
}

/* Weights change one by one under the same noise. The tolerance is the rounding of float
 * outputs, divided by the step. */
static void training_gradient_matches_finite_differences(void **state) {
    (void)state;
    enum { N = 9, IN = 2, WIDE = 4, OUT = 3 };
    scant_ctx *ctx = ctx_threads(2);
    scant_net *net = net_of(ctx, "mlp",
                            (scant_net_opts){.shape = {IN, 1, 1},
                                             .classes = OUT,
                                             .width = WIDE,
                                             .activation = "tanh",
                                             .bayes = "variational"});
    float x[N * IN];
    int32_t y[N];
    for (size_t i = 0; i < N * IN; i++) x[i] = (float)normal_at(5, i);
    for (size_t i = 0; i < N; i++) y[i] = (int32_t)(i % OUT);
    set_param(net, "fc2.weight_rho", -0.5f);
    pass p, up, down;
    assert_int_equal(pass_run(net, NN_TRAIN, N, x, y, &p), SCANT_OK);
    float *w = malloc(net->net->n_floats * sizeof *w);
    assert_int_equal(nn_weights_get(net->weights, w), SCANT_OK);
    double largest = 0, worst = 0;
    for (size_t i = 0; i < net->net->n_trained; i++) {
        float before = w[i], step = 0.02f;
        w[i] = before + step;
        assert_int_equal(nn_weights_set(net->weights, w), SCANT_OK);
        assert_int_equal(pass_run(net, NN_TRAIN, N, x, y, &up), SCANT_OK);
        w[i] = before - step;
        assert_int_equal(nn_weights_set(net->weights, w), SCANT_OK);
        assert_int_equal(pass_run(net, NN_TRAIN, N, x, y, &down), SCANT_OK);
        w[i] = before;
        double slope = (up.loss - down.loss) / (2 * (double)step);
        largest = fmax(largest, fabs(slope));
        worst = fmax(worst, fabs(slope - (double)p.grads[i]));
        pass_end(&up), pass_end(&down);
    }
    if (!(worst < 2e-3 * largest)) fail_msg("off by %g of %g", worst, largest);
    free(w);
    pass_end(&p);
    scant_net_free(net);
    scant_ctx_free(ctx);
}

static void noise_and_gradients_do_not_depend_on_the_thread_count(void **state) {
    (void)state;
    enum { N = 70, IN = 5, WIDE = 130, OUT = 4 };
    float *h = malloc(N * WIDE * sizeof *h), *out[2], *d_h[2], d_rho[2][OUT * WIDE];
    float rho[OUT * WIDE], z[N * OUT], work[N * OUT];
    for (size_t i = 0; i < N * WIDE; i++) h[i] = (float)normal_at(6, i);
    for (size_t i = 0; i < OUT * WIDE; i++) rho[i] = (float)normal_at(7, i) - 2;
    for (size_t i = 0; i < N * OUT; i++) z[i] = (float)normal_at(8, i);
    void *scratch = malloc(nn_noise_scratch(N, OUT, WIDE));
    nn_noise noise = {N, OUT, WIDE, h, rho, work, scratch};
    scant__rng rng = {5, SCANT__RNG_NOISE};
    for (unsigned t = 0; t < 2; t++) {
        scant_ctx *ctx = ctx_threads(t + 1);
        out[t] = malloc(N * OUT * sizeof(float));
        d_h[t] = malloc(N * WIDE * sizeof(float));
        assert_int_equal(nn_noise_forward(ctx, &noise, &rng, z, out[t]), SCANT_OK);
        assert_int_equal(nn_noise_back(ctx, &noise, out[t], d_h[t], d_rho[t]), SCANT_OK);
        scant_ctx_free(ctx);
    }
    assert_memory_equal(out[0], out[1], N * OUT * sizeof(float));
    assert_memory_equal(d_h[0], d_h[1], N * WIDE * sizeof(float));
    assert_memory_equal(d_rho[0], d_rho[1], sizeof d_rho[0]);
    for (int t = 0; t < 2; t++) free(out[t]), free(d_h[t]);
    free(h), free(scratch);
}

/* ---- layers and options ---- */

static void models_with_features_from_planes_get_a_hidden_layer(void **state) {
    (void)state;
    static const struct {
        const char *model;
        size_t side, features, plain; /* width of features: variational, and plain */
    } cases[] = {{"lenet5", 28, 84, 84},     {"gapcnn", 32, 256, 128},
                 {"resnet18", 32, 256, 512}, {"wrn-28-2", 32, 256, 128},
                 {"vgg11", 32, 256, 512},    {"mlp", 28, 256, 256},
                 {"linear", 3, 9, 9},        {"mobilenetv2", 64, 256, 1280}};
    scant_ctx *ctx = ctx_threads(1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t c = cases[i].side == 32 || cases[i].side == 64 ? 3 : 1;
        scant_net_opts o = {.shape = {c, cases[i].side, cases[i].side}, .classes = 10};
        size_t plain, variational;
        assert_int_equal(scant_model_parameters(ctx, cases[i].model, &o, &plain),
                         SCANT_OK);
        o.bayes = "variational";
        assert_int_equal(scant_model_parameters(ctx, cases[i].model, &o, &variational),
                         SCANT_OK);
        size_t extra = cases[i].features * 10; /* rho */
        if (cases[i].features != cases[i].plain)
            extra += (cases[i].plain + 1) * 256 + (256 * 10) - cases[i].plain * 10;
        assert_int_equal(variational - plain, extra);
        o.no_hidden = 1;
        assert_int_equal(scant_model_parameters(ctx, cases[i].model, &o, &variational),
                         SCANT_OK);
        assert_int_equal(variational - plain, cases[i].plain * 10);
        o = (scant_net_opts){
            .shape = {c, cases[i].side, cases[i].side}, .classes = 10, .hidden = 32};
        assert_int_equal(scant_model_parameters(ctx, cases[i].model, &o, &variational),
                         SCANT_OK);
        assert_int_equal(variational + cases[i].plain * 10,
                         plain + (cases[i].plain + 1) * 32 + 320);
    }
    scant_ctx_free(ctx);
}

static void dropout_is_before_the_last_layer_of_every_model(void **state) {
    (void)state;
    size_t count;
    const scant_model_info *const *models = scant_models(&count);
    scant_ctx *ctx = ctx_threads(1);
    for (size_t i = 0; i < count; i++) {
        scant_net_opts o = {.bayes = "dropout", .shape = {3, 64, 64}, .classes = 3};
        for (int k = 0; k < 2; k++) {
            if (k) o.dropout = 0.25;
            nn_net *n;
            assert_int_equal(nn_model_build(ctx, models[i]->name, &o, &n), SCANT_OK);
            const nn_node *last = &n->nodes[n->head];
            assert_int_equal(n->nodes[last->in[0]].kind, NN_DROPOUT);
            assert_true(n->nodes[last->in[0]].rate == (k ? 0.25f : 0.5f));
            size_t drops = 0;
            for (size_t v = 0; v < n->n_nodes; v++)
                drops += n->nodes[v].kind == NN_DROPOUT;
            assert_int_equal(drops, 1);
            nn_net_free(n);
        }
    }
    scant_ctx_free(ctx);
}

static void assert_refused(scant_ctx *ctx, const char *model, scant_net_opts o,
                           const char *part) {
    scant_net *net;
    assert_int_equal(scant_net_create(ctx, model, &o, &net), SCANT_EUSAGE);
    if (!strstr(scant_ctx_errmsg(ctx), part)) fail_msg("%s", scant_ctx_errmsg(ctx));
}

static void wrong_options_are_refused(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(1);
    assert_refused(ctx, "mlp", (scant_net_opts){.bayes = "laplace"},
                   "bayes is laplace, expected one of none|dropout|variational");
    assert_refused(ctx, "mlp", (scant_net_opts){.draws = 5}, "bayes=dropout");
    assert_refused(ctx, "mlp", (scant_net_opts){.bayes = "dropout", .prior = 2},
                   "needs bayes=variational");
    assert_refused(ctx, "mlp", (scant_net_opts){.bayes = "variational", .prior = -1},
                   "prior is -1, expected a number above 0");
    assert_refused(ctx, "mlp", (scant_net_opts){.bayes = "variational", .prior = NAN},
                   "expected a number above 0");
    assert_refused(ctx, "mlp", (scant_net_opts){.bayes = "variational", .prior = 1e13},
                   "a variance");
    assert_refused(ctx, "mlp",
                   (scant_net_opts){.bayes = "dropout", .draws = (size_t)1 << 40},
                   "samples is 1099511627776, expected a whole number from 0 to 1048576");
    assert_refused(ctx, "mlp", (scant_net_opts){.hidden = (size_t)1 << 40},
                   "expected a whole number from 1 to 1048576");
    assert_refused(ctx, "mlp", (scant_net_opts){.hidden = 4, .no_hidden = 1}, "not both");
    assert_refused(ctx, "onehidden", (scant_net_opts){.bayes = "variational"},
                   "not trained");
    assert_refused(ctx, "onehidden", (scant_net_opts){.hidden = 8}, "not trained");
    scant_ctx_free(ctx);
}

/* ---- training ---- */

typedef struct fixture {
    scant_ctx *ctx;
    scant_data *data;
    scant_net *net;
} fixture;

static fixture fixture_of(scant_net_opts o, unsigned threads) {
    fixture b = {.ctx = ctx_threads(threads)};
    scant_data_opts d = {.count = 300, .seed = 3};
    assert_int_equal(scant_data_open(b.ctx, "moons", &d, &b.data), SCANT_OK);
    scant_data_shape(b.data, o.shape);
    o.classes = 2;
    if (!o.width) o.width = 32;
    b.net = net_of(b.ctx, "mlp", o);
    return b;
}

static void fixture_free(fixture *b) {
    scant_net_free(b->net);
    scant_data_free(b->data);
    scant_ctx_free(b->ctx);
}

static void train(fixture *b, scant_train_opts o) {
    scant_train_state state;
    if (scant_net_train(b->net, b->data, &o, &state) != SCANT_OK)
        fail_msg("%s", scant_ctx_errmsg(b->ctx));
}

static float *param_of(fixture *b, const char *name) {
    float *all = malloc(b->net->net->n_floats * sizeof *all);
    const nn_param *p = nn_net_find(b->net->net, name);
    assert_int_equal(nn_weights_get(b->net->weights, all), SCANT_OK);
    memmove(all, all + p->offset, p->count * sizeof *all);
    return all;
}

static double mean_rho(fixture *b) {
    float *rho = param_of(b, "fc2.weight_rho");
    double sum = 0;
    for (size_t i = 0; i < 64; i++) sum += (double)rho[i];
    free(rho);
    return sum / 64;
}

/* Samples have a weight of almost 0, so the divergence dominates: after many steps the
 * posterior is the prior. */
static void without_data_the_posterior_converges_to_the_prior(void **state) {
    (void)state;
    fixture b = fixture_of((scant_net_opts){.bayes = "variational", .prior = 0.25}, 2);
    size_t rows[] = {0, 1};
    float weights[] = {1e-12f, 1e-12f};
    train(&b, TRAIN_OPTS(NULL, "adam", with.rows = rows, with.n_rows = 2,
                         with.weights = weights, with.lr = 0.02, with.steps = 600));
    float *mean = param_of(&b, "fc2.weight");
    for (size_t i = 0; i < 64; i++) assert_true(fabsf(mean[i]) < 0.02f);
    free(mean);
    assert_true(fabs(softplus_of(mean_rho(&b)) - 0.5) < 0.01);
    fixture_free(&b);
}

static void divergence_is_divided_by_the_number_of_samples(void **state) {
    (void)state;
    fixture b = fixture_of((scant_net_opts){.bayes = "variational", .prior = 0.5}, 2);
    size_t rows[] = {0, 1, 2, 3};
    float weights[] = {1e-12f, 1e-12f, 1e-12f, 1e-12f};
    float *before = param_of(&b, "fc2.weight");
    train(&b, TRAIN_OPTS(NULL, NULL, with.rows = rows, with.n_rows = 4,
                         with.weights = weights, with.batch = 2, with.lr = 1,
                         with.momentum = 0, with.steps = 1));
    float *after = param_of(&b, "fc2.weight"); /* w - w / (prior 4) */
    for (size_t i = 0; i < 64; i++)
        assert_true(fabsf(after[i] - 0.5f * before[i]) < 1e-6f);
    free(before), free(after);
    fixture_free(&b);
}

static void weight_decay_does_not_change_rho(void **state) {
    (void)state;
    double rho[2], before = 0;
    for (int k = 0; k < 2; k++) {
        fixture b = fixture_of((scant_net_opts){.bayes = "variational"}, 1);
        before = mean_rho(&b);
        /* lr * decay = 0.9 would reduce rho to a tenth */
        train(&b, TRAIN_OPTS(NULL, NULL, with.lr = 1e-3, with.momentum = 0,
                             with.weight_decay = k ? 900 : 0, with.batch = 300,
                             with.steps = 1));
        rho[k] = mean_rho(&b);
        fixture_free(&b);
    }
    assert_true(rho[0] != before);
    assert_true(rho[0] == rho[1]);
}

static void a_resumed_training_ends_with_the_same_bits(void **state) {
    (void)state;
    const char *path = path_of("variational.safetensors");
    scant_net_opts o = {.bayes = "variational"};
    fixture whole = fixture_of(o, 2), half = fixture_of(o, 2), rest = fixture_of(o, 2);
    scant_train_opts t = TRAIN_OPTS(NULL, NULL, with.batch = 64, with.warmup = 0,
                                    with.epochs = 4, with.seed = 2);
    train(&whole, t);
    t.checkpoint = path;
    t.epochs = 2;
    train(&half, t);
    t.epochs = 4;
    t.resume = true;
    train(&rest, t);
    float *a = param_of(&whole, "fc2.weight_rho"), *b = param_of(&rest, "fc2.weight_rho");
    assert_memory_equal(a, b, 64 * sizeof *a);
    free(a), free(b);
    /* a checkpoint of another prior is refused */
    o.prior = 2;
    fixture other = fixture_of(o, 2);
    assert_int_equal(scant_net_train(other.net, other.data, &t, NULL), SCANT_EINPUT);
    remove(path);
    fixture_free(&whole), fixture_free(&half), fixture_free(&rest), fixture_free(&other);
}

static void semi_supervised_methods_train_rho(void **state) {
    (void)state;
    static const char *const methods[] = {"fixmatch", "mean-teacher", "pi",
                                          "pseudo-label"};
    for (int k = 0; k < 4; k++) {
        fixture b = fixture_of((scant_net_opts){.bayes = "variational"}, 2);
        size_t rows[40];
        for (size_t i = 0; i < 40; i++) rows[i] = i;
        double before = mean_rho(&b);
        train(&b, TRAIN_OPTS(methods[k], NULL, with.rows = rows, with.n_rows = 40,
                             with.batch = 16, with.steps = 20));
        assert_true(mean_rho(&b) != before);
        fixture_free(&b);
    }
}

static void weights_and_options_survive_a_file(void **state) {
    (void)state;
    const char *path = path_of("variational.safetensors");
    scant_ctx *ctx = ctx_threads(1);
    static const struct {
        const char *model;
        scant_net_opts o;
    } cases[] = {
        {"gapcnn",
         {.width = 8,
          .bayes = "variational",
          .prior = 0.3,
          .draws = 7,
          .draw_seed = UINT64_MAX}},
        {"gapcnn", {.width = 8, .bayes = "variational", .no_hidden = 1}},
        {"gapcnn", {.width = 8, .hidden = 12}},
        {"mlp", {.bayes = "dropout"}},
        {"gapcnn", {.width = 8, .bayes = "dropout", .dropout = 0.2, .draws = 3}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scant_net *net = net_of(ctx, cases[i].model, cases[i].o), *back;
        assert_int_equal(scant_net_save(net, path), SCANT_OK);
        if (scant_net_open(ctx, path, NULL, NULL, &back) != SCANT_OK)
            fail_msg("%s", scant_ctx_errmsg(ctx));
        const nn_net *a = net->net, *b = back->net;
        assert_int_equal(a->n_nodes, b->n_nodes);
        assert_int_equal(a->n_floats, b->n_floats);
        assert_int_equal(a->bayes, b->bayes);
        assert_int_equal(a->hidden, b->hidden);
        assert_int_equal(a->draws, b->draws);
        assert_true(a->draw_seed == b->draw_seed);
        assert_true(a->prior == b->prior);
        assert_true(a->nodes[a->features].rate == b->nodes[b->features].rate);
        float *x = malloc(2 * a->n_floats * sizeof *x), *y = x + a->n_floats;
        assert_int_equal(nn_weights_get(net->weights, x), SCANT_OK);
        assert_int_equal(nn_weights_get(back->weights, y), SCANT_OK);
        assert_memory_equal(x, y, a->n_floats * sizeof *x);
        free(x);
        scant_net_free(net);
        scant_net_free(back);
    }
    /* the caller can change the number of draws */
    scant_net *net = net_of(ctx, "mlp", (scant_net_opts){.bayes = "dropout"}), *back;
    assert_int_equal(scant_net_save(net, path), SCANT_OK);
    assert_int_equal(
        scant_net_open(ctx, path, NULL, &(scant_net_opts){.draws = 9}, &back), SCANT_OK);
    assert_int_equal(back->net->draws, 9);
    scant_net_free(back);
    /* and open the file as a plain network */
    assert_int_equal(
        scant_net_open(ctx, path, NULL, &(scant_net_opts){.bayes = "none"}, &back),
        SCANT_OK);
    assert_int_equal(back->net->draws, 1);
    scant_net_free(back);
    scant_net_free(net);
    remove(path);
    scant_ctx_free(ctx);
}

/* The head may be new and have a hidden layer. */
static void variational_and_plain_networks_start_from_each_other(void **state) {
    (void)state;
    const char *path = path_of("variational.safetensors");
    scant_ctx *ctx = ctx_threads(1);
    scant_net *plain = net_of(ctx, "gapcnn", (scant_net_opts){.width = 8, .seed = 1});
    scant_net *variational, *back;
    assert_int_equal(scant_net_save(plain, path), SCANT_OK);
    scant_net_opts o = {.bayes = "variational", .classes = 10, .seed = 2};
    if (scant_net_start(ctx, path, NULL, &o, &variational) != SCANT_OK)
        fail_msg("%s", scant_ctx_errmsg(ctx));
    assert_int_equal(scant_net_features(variational), 256);
    float *a = malloc(plain->net->n_floats * sizeof *a);
    float *b = malloc(variational->net->n_floats * sizeof *b);
    assert_int_equal(nn_weights_get(plain->weights, a), SCANT_OK);
    assert_int_equal(nn_weights_get(variational->weights, b), SCANT_OK);
    size_t conv = nn_net_find(plain->net, "conv3.bias")->offset;
    assert_memory_equal(a, b, (conv + 16) * sizeof *a);
    /* scant_net_open() needs rho, which the file lacks */
    assert_int_equal(
        scant_net_open(ctx, path, NULL,
                       &(scant_net_opts){.bayes = "variational", .no_hidden = 1}, &back),
        SCANT_EINPUT);
    assert_non_null(strstr(scant_ctx_errmsg(ctx), "fc.weight_rho is missing"));
    /* a plain network starts from the means of a variational one */
    assert_int_equal(scant_net_save(variational, path), SCANT_OK);
    o = (scant_net_opts){.bayes = "none", .classes = 10};
    assert_int_equal(scant_net_start(ctx, path, NULL, &o, &back), SCANT_OK);
    assert_int_equal(scant_net_features(back), 256);
    float *c = malloc(back->net->n_floats * sizeof *c);
    assert_int_equal(nn_weights_get(back->weights, c), SCANT_OK);
    assert_memory_equal(b, c, back->net->n_floats * sizeof *c);
    free(a), free(b), free(c);
    scant_net_free(plain);
    scant_net_free(variational);
    scant_net_free(back);
    remove(path);
    scant_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(divergence_is_zero_only_at_the_prior),
        cmocka_unit_test(divergence_gradient_matches_finite_differences),
        cmocka_unit_test(logits_have_the_mean_and_variance_of_the_formula),
        cmocka_unit_test(noise_is_added_only_in_training),
        cmocka_unit_test(training_gradient_matches_finite_differences),
        cmocka_unit_test(noise_and_gradients_do_not_depend_on_the_thread_count),
        cmocka_unit_test(models_with_features_from_planes_get_a_hidden_layer),
        cmocka_unit_test(dropout_is_before_the_last_layer_of_every_model),
        cmocka_unit_test(wrong_options_are_refused),
        cmocka_unit_test(without_data_the_posterior_converges_to_the_prior),
        cmocka_unit_test(divergence_is_divided_by_the_number_of_samples),
        cmocka_unit_test(weight_decay_does_not_change_rho),
        cmocka_unit_test(a_resumed_training_ends_with_the_same_bits),
        cmocka_unit_test(semi_supervised_methods_train_rho),
        cmocka_unit_test(weights_and_options_survive_a_file),
        cmocka_unit_test(variational_and_plain_networks_start_from_each_other),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
