/* SPDX-License-Identifier: Apache-2.0
 *
 * Stacks compared with plain loops in double, and their gradients with finite differences
 * of the loops' results, for every parameter and sample.
 */
#include "support.h"

#include <math.h>
#include <stdio.h>

#include "core/ctx.h"
#include "nn/stack_int.h"

enum { MOST_STAGES = 5, MOST_FLOATS = 20000 };

typedef struct net {
    const char *name;
    size_t n_stages;
    nn_stage s[MOST_STAGES];
    size_t params; /* filled in by stages_of() */
} net;

#define CONV(out, kh, kw, sy, sx, py, px, bias_, act_)                                   \
    {                                                                                    \
        .conv = true, .oc = out, .kernel = {kh, kw}, .stride = {sy, sx},                 \
        .pad = {py, px}, .bias = bias_, .act = act_, .slope = 0.1f                       \
    }
#define POOL(kh, kw, sy, sx, py, px)                                                     \
    {                                                                                    \
        .kernel = {kh, kw}, .stride = {sy, sx}, .pad = { py, px }                        \
    }
#define MAXPOOL(k) POOL(k, k, k, k, 0, 0)

/* The first stage holds only the shape of the input. */
#define INPUT(c, h, w)                                                                   \
    { .oc = c, .oh = h, .ow = w }

static const net nets[] = {
    {"one channel, like lenet5",
     3,
     {INPUT(1, 8, 8), CONV(6, 5, 5, 1, 1, 2, 2, true, NN_ACT_RELU), MAXPOOL(2)},
     0},
    {"two layers",
     5,
     {INPUT(3, 8, 9), CONV(5, 3, 3, 1, 1, 1, 1, true, NN_ACT_LEAKY), MAXPOOL(2),
      CONV(7, 3, 2, 1, 1, 0, 1, true, NN_ACT_SIGMOID), POOL(2, 2, 1, 2, 0, 1)},
     0},
    {"stride 2",
     4,
     {INPUT(2, 9, 7), CONV(4, 3, 3, 2, 2, 1, 1, false, NN_ACT_RELU6),
      CONV(3, 2, 3, 2, 1, 1, 2, true, NN_ACT_NONE),
      CONV(2, 1, 1, 1, 1, 0, 0, true, NN_ACT_TANH)},
     0},
    {"strides that leave columns unused",
     3,
     {INPUT(1, 8, 11), CONV(9, 3, 2, 2, 3, 0, 0, true, NN_ACT_RELU),
      CONV(1, 2, 2, 1, 1, 1, 0, true, NN_ACT_RELU)},
     0},
    {"1 x 1",
     4,
     {INPUT(3, 4, 5), CONV(4, 1, 1, 1, 1, 0, 0, true, NN_ACT_RELU),
      CONV(2, 1, 1, 2, 2, 0, 0, true, NN_ACT_NONE),
      CONV(1, 1, 1, 1, 1, 1, 2, false, NN_ACT_NONE)},
     0},
    {"kernel as large as the input",
     3,
     {INPUT(2, 5, 5), CONV(3, 5, 5, 1, 1, 0, 0, true, NN_ACT_TANH),
      CONV(4, 3, 3, 1, 1, 1, 1, true, NN_ACT_NONE)},
     0},
    {"overlapping windows and padding",
     5,
     {INPUT(1, 7, 8), POOL(3, 3, 1, 2, 1, 1),
      CONV(2, 3, 3, 1, 1, 2, 2, true, NN_ACT_LEAKY), POOL(3, 2, 2, 2, 1, 0),
      POOL(2, 2, 2, 2, 0, 0)},
     0},
    {"pooling first",
     4,
     {INPUT(2, 7, 6), POOL(3, 2, 2, 2, 1, 1),
      CONV(3, 2, 2, 1, 1, 0, 0, true, NN_ACT_SIGMOID), POOL(2, 2, 2, 2, 0, 0)},
     0},
    {"a tall kernel",
     2,
     {INPUT(1, 3, 12), CONV(2, 7, 1, 1, 1, 3, 0, true, NN_ACT_RELU)},
     0},
};
enum { NETS = sizeof nets / sizeof *nets };

static const size_t counts[] = {1, 7, 8, 9, 17};

/* The net's stages without the input, with all sizes and offsets set. */
static net stages_of(const net *from) {
    net out = {.name = from->name, .n_stages = from->n_stages - 1, .params = 3};
    for (size_t i = 0; i < out.n_stages; i++) {
        nn_stage *s = &out.s[i];
        const nn_stage *before = i ? s - 1 : &from->s[0];
        *s = from->s[i + 1];
        s->ic = before->oc;
        s->ih = before->oh;
        s->iw = before->ow;
        if (!s->conv) s->oc = s->ic;
        s->oh = (s->ih + 2 * s->pad[0] - s->kernel[0]) / s->stride[0] + 1;
        s->ow = (s->iw + 2 * s->pad[1] - s->kernel[1]) / s->stride[1] + 1;
        if (!s->conv) continue;
        /* biases before weights, with gaps: the caller chooses the offsets */
        s->bias_at = out.params;
        s->weight = s->bias_at + s->oc + 2;
        out.params = s->weight + s->oc * s->ic * s->kernel[0] * s->kernel[1] + 1;
    }
    assert_true(out.params < MOST_FLOATS);
    return out;
}

static size_t in_size(const net *t) { return t->s[0].ic * t->s[0].ih * t->s[0].iw; }
static size_t out_size(const net *t) {
    const nn_stage *s = &t->s[t->n_stages - 1];
    return s->oc * s->oh * s->ow;
}

/* ---- plain loops ------------------------------------------------------------------ */

static double act(double x, const nn_stage *s) {
    switch (s->act) {
    case NN_ACT_RELU:
        return x > 0 ? x : 0;
    case NN_ACT_LEAKY:
        return x > 0 ? x : (double)s->slope * x;
    case NN_ACT_RELU6:
        return x < 0 ? 0 : x > 6 ? 6 : x;
    case NN_ACT_TANH:
        return tanh(x);
    case NN_ACT_SIGMOID:
        return 1 / (1 + exp(-x));
    default:
        return x;
    }
}

/* The number at tap (ky, kx) of a window of plane c; `none` in the padding. */
static double tap_at(const nn_stage *s, const double *x, size_t c, size_t oy, size_t ox,
                     size_t ky, size_t kx, double none) {
    size_t y = oy * s->stride[0] + ky, z = ox * s->stride[1] + kx;
    if (y < s->pad[0] || z < s->pad[1]) return none;
    y -= s->pad[0];
    z -= s->pad[1];
    return y < s->ih && z < s->iw ? x[(c * s->ih + y) * s->iw + z] : none;
}

/* The stage's output at (o, oy, ox). */
static double output_at(const nn_stage *s, const double *p, const double *x, size_t o,
                        size_t oy, size_t ox) {
    size_t area = s->kernel[0] * s->kernel[1];
    double sum = !s->conv ? -INFINITY : 0;
    size_t first = s->conv ? 0 : o;
    size_t end = s->conv ? s->ic : o + 1;
    for (size_t i = first; i < end; i++)
        for (size_t k = 0; k < area; k++) {
            size_t ky = k / s->kernel[1], kx = k % s->kernel[1];
            if (!s->conv)
                sum = fmax(sum, tap_at(s, x, i, oy, ox, ky, kx, -INFINITY));
            else
                sum += p[s->weight + (o * s->ic + i) * area + k] *
                       tap_at(s, x, i, oy, ox, ky, kx, 0);
        }
    if (!s->conv) return sum;
    return act(sum + (s->bias ? p[s->bias_at + o] : 0), s);
}

/* One sample; out may be x. */
static void loops(const net *t, const double *p, const double *x, double *out) {
    static double planes[2][MOST_FLOATS];
    memcpy(planes[0], x, in_size(t) * sizeof *x);
    for (size_t i = 0; i < t->n_stages; i++) {
        const nn_stage *s = &t->s[i];
        const double *from = planes[i % 2];
        double *to = planes[(i + 1) % 2];
        for (size_t o = 0; o < s->oc; o++)
            for (size_t y = 0; y < s->oh; y++)
                for (size_t z = 0; z < s->ow; z++) *to++ = output_at(s, p, from, o, y, z);
    }
    memcpy(out, planes[t->n_stages % 2], out_size(t) * sizeof *out);
}

/* ---- a stack and its results ------------------------------------------------------ */

typedef struct work {
    net t;
    size_t n, in, out;
    float *p, *x, *y, *d;      /* parameters, rows, outputs, gradients by outputs */
    float *grads, *d_rows, *g; /* g (n, params): per sample */
    double *norms, *products;
    scant_ctx *ctx;
    nn_stack *stack;
} work;

static float *floats(size_t n) {
    float *x = calloc(n ? n : 1, sizeof *x);
    assert_non_null(x);
    return x;
}

static float *random_floats(uint64_t seed, size_t n, double scale) {
    float *x = floats(n);
    for (size_t i = 0; i < n; i++) x[i] = (float)(scale * normal_at(seed, i));
    return x;
}

static work work_open(const net *from, size_t n, size_t batch, unsigned threads) {
    work w = {.t = stages_of(from), .n = n, .ctx = ctx_threads(threads)};
    w.in = in_size(&w.t);
    w.out = out_size(&w.t);
    w.p = random_floats(1, w.t.params, 0.5);
    w.x = random_floats(2, n * w.in, 1);
    w.y = floats(n * w.out);
    w.d = random_floats(3, n * w.out, 1);
    w.grads = floats(w.t.params);
    w.d_rows = floats(n * w.in);
    w.g = floats(n * w.t.params);
    w.norms = calloc(n, sizeof *w.norms);
    w.products = calloc(n, sizeof *w.products);
    assert_int_equal(nn_stack_create(w.ctx, w.t.s, w.t.n_stages, batch, true, &w.stack),
                     SCANT_OK);
    return w;
}

static void work_close(work *w) {
    nn_stack_destroy(w->stack);
    scant_ctx_free(w->ctx);
    void *all[] = {w->p,      w->x, w->y,     w->d,       w->grads,
                   w->d_rows, w->g, w->norms, w->products};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

static void gather(void *arg, const nn_lane_grads *grads, unsigned worker) {
    work *w = arg;
    assert_true(worker < w->ctx->threads);
    assert_true(grads->first % NN_LANES == 0 && grads->samples <= NN_LANES);
    for (size_t lane = 0; lane < grads->samples; lane++)
        for (size_t i = 0; i < grads->count; i++)
            w->g[(grads->first + lane) * w->t.params + grads->at + i] +=
                grads->g[i * NN_LANES + lane];
}

/* The forward pass and all backward functions. */
static void run(work *w) {
    assert_int_equal(nn_stack_forward(w->stack, w->p, w->n, w->x, w->y), SCANT_OK);
    assert_int_equal(nn_stack_backward(w->stack, w->p, w->n, w->d, w->grads, w->d_rows),
                     SCANT_OK);
    assert_int_equal(nn_stack_visit(w->stack, w->p, w->n, w->d, gather, w), SCANT_OK);
    assert_int_equal(
        nn_stack_persample(w->stack, w->p, w->n, w->d, w->p, w->norms, w->products),
        SCANT_OK);
}

static void near(double got, double want, double scale, const work *w, const char *what,
                 size_t at) {
    if (fabs(got - want) <= scale * (1 + fabs(want))) return;
    fail_msg("%s, n = %zu: %s %zu is %.9g, expected %.9g", w->t.name, w->n, what, at, got,
             want);
}

static void assert_same_bits(const void *a, const void *b, size_t bytes) {
    assert_int_equal(memcmp(a, b, bytes), 0);
}

static double *doubles(const float *x, size_t n) {
    double *d = malloc(n * sizeof *d);
    for (size_t i = 0; i < n; i++) d[i] = (double)x[i];
    return d;
}

static void forward_matches_plain_loops(void **state) {
    (void)state;
    for (size_t i = 0; i < NETS; i++)
        for (size_t j = 0; j < sizeof counts / sizeof *counts; j++) {
            work w = work_open(&nets[i], counts[j], 17, 2);
            double *p = doubles(w.p, w.t.params), *x = doubles(w.x, w.n * w.in);
            double want[MOST_FLOATS];
            assert_int_equal(nn_stack_forward(w.stack, w.p, w.n, w.x, w.y), SCANT_OK);
            for (size_t row = 0; row < w.n; row++) {
                loops(&w.t, p, x + row * w.in, want);
                for (size_t k = 0; k < w.out; k++)
                    near((double)w.y[row * w.out + k], want[k], 3e-6, &w, "output", k);
            }
            free(p);
            free(x);
            work_close(&w);
        }
}

/* The loss of one sample: its outputs times d. */
static double loss(const work *w, const double *p, const double *x, size_t row) {
    double out[MOST_FLOATS], sum = 0;
    loops(&w->t, p, x + row * w->in, out);
    for (size_t k = 0; k < w->out; k++) sum += out[k] * (double)w->d[row * w->out + k];
    return sum;
}

/* The slope by *at, a number in p or x. The step is so small that maxima and signs do not
 * change. */
static double slope_of(const work *w, double *at, const double *p, const double *x,
                       size_t row) {
    const double step = 1e-6, was = *at;
    *at = was + step;
    double up = loss(w, p, x, row);
    *at = was - step;
    double down = loss(w, p, x, row);
    *at = was;
    return (up - down) / (2 * step);
}

static void gradients_match_finite_differences(void **state) {
    (void)state;
    for (size_t i = 0; i < NETS; i++) {
        work w = work_open(&nets[i], 9, 9, 2);
        double *p = doubles(w.p, w.t.params), *x = doubles(w.x, w.n * w.in);
        run(&w);
        for (size_t row = 0; row < w.n; row += i ? 4 : 1) {
            for (size_t k = 0; k < w.t.params; k++)
                near((double)w.g[row * w.t.params + k], slope_of(&w, p + k, p, x, row),
                     1e-5, &w, "gradient by parameter", k);
            for (size_t k = 0; k < w.in; k++)
                near((double)w.d_rows[row * w.in + k],
                     slope_of(&w, x + row * w.in + k, p, x, row), 1e-5, &w,
                     "gradient by input", k);
        }
        free(p);
        free(x);
        work_close(&w);
    }
}

static bool is_param(const net *t, size_t at) {
    for (size_t i = 0; i < t->n_stages; i++) {
        const nn_stage *s = &t->s[i];
        size_t weights = s->oc * s->ic * s->kernel[0] * s->kernel[1];
        if (!s->conv) continue;
        if (at >= s->weight && at < s->weight + weights) return true;
        if (s->bias && at >= s->bias_at && at < s->bias_at + s->oc) return true;
    }
    return false;
}

static void sums_match_per_sample_gradients_and_leave_gaps_unchanged(void **state) {
    (void)state;
    for (size_t i = 0; i < NETS; i++)
        for (size_t j = 0; j < sizeof counts / sizeof *counts; j++) {
            work w = work_open(&nets[i], counts[j], 30, 2);
            for (size_t k = 0; k < w.t.params; k++) w.grads[k] = 77;
            run(&w);
            for (size_t k = 0; k < w.t.params; k++) {
                double sum = 0;
                for (size_t row = 0; row < w.n; row++)
                    sum += (double)w.g[row * w.t.params + k];
                if (is_param(&w.t, k))
                    near((double)w.grads[k], sum, 1e-5, &w, "sum of gradients", k);
                else
                    assert_true(w.grads[k] == 77 && sum == 0);
            }
            work_close(&w);
        }
}

static void norms_and_products_match_one_sample_at_a_time(void **state) {
    (void)state;
    for (size_t i = 0; i < NETS; i++) {
        work w = work_open(&nets[i], 11, 11, 2);
        float *alone = floats(w.t.params);
        w.norms[0] = 1000; /* results are added */
        w.products[3] = -50;
        run(&w);
        for (size_t row = 0; row < w.n; row++) {
            double norm = row == 0 ? 1000 : 0, product = row == 3 ? -50 : 0;
            assert_int_equal(nn_stack_forward(w.stack, w.p, 1, w.x + row * w.in, w.y),
                             SCANT_OK);
            assert_int_equal(
                nn_stack_backward(w.stack, w.p, 1, w.d + row * w.out, alone, NULL),
                SCANT_OK);
            for (size_t k = 0; k < w.t.params; k++) {
                norm += (double)alone[k] * (double)alone[k];
                product += (double)alone[k] * (double)w.p[k];
            }
            near(w.norms[row], norm, 1e-10, &w, "squared norm", row);
            near(w.products[row], product, 1e-10, &w, "product", row);
        }
        free(alone);
        work_close(&w);
    }
}

static void either_of_norms_and_products_may_be_left_out(void **state) {
    (void)state;
    work w = work_open(&nets[1], 9, 9, 1);
    double norms[9] = {0}, products[9] = {0};
    run(&w);
    assert_int_equal(nn_stack_persample(w.stack, w.p, 9, w.d, NULL, norms, NULL),
                     SCANT_OK);
    assert_int_equal(nn_stack_persample(w.stack, w.p, 9, w.d, w.p, NULL, products),
                     SCANT_OK);
    assert_same_bits(norms, w.norms, sizeof norms);
    assert_same_bits(products, w.products, sizeof products);
    work_close(&w);
}

static void assert_same_results(const work *a, const work *b) {
    assert_same_bits(a->y, b->y, a->n * a->out * sizeof(float));
    assert_same_bits(a->grads, b->grads, a->t.params * sizeof(float));
    assert_same_bits(a->d_rows, b->d_rows, a->n * a->in * sizeof(float));
    assert_same_bits(a->g, b->g, a->n * a->t.params * sizeof(float));
    assert_same_bits(a->norms, b->norms, a->n * sizeof(double));
    assert_same_bits(a->products, b->products, a->n * sizeof(double));
}

static void results_do_not_depend_on_the_thread_count(void **state) {
    (void)state;
    /* 601: more blocks than parts of a sum */
    const size_t sizes[] = {17, 601};
    for (size_t i = 0; i < NETS; i++)
        for (size_t j = 0; j < (i == 4 ? 2 : 1); j++) {
            work a = work_open(&nets[i], sizes[j], sizes[j], 1);
            work b = work_open(&nets[i], sizes[j], sizes[j] + 100, 3);
            run(&a);
            run(&b);
            assert_same_results(&a, &b);
            work_close(&a);
            work_close(&b);
        }
}

static void results_do_not_depend_on_earlier_batches(void **state) {
    (void)state;
    for (size_t i = 0; i < NETS; i++) {
        work a = work_open(&nets[i], 3, 17, 1), b = work_open(&nets[i], 3, 17, 1);
        work large = work_open(&nets[i], 17, 17, 1);
        for (size_t k = 0; k < 17 * large.in; k++) large.x[k] *= 1e6f;
        nn_stack *own = large.stack;
        large.stack = b.stack;
        run(&large);
        large.stack = own;
        run(&a);
        run(&b);
        assert_same_results(&a, &b);
        work_close(&a);
        work_close(&b);
        work_close(&large);
    }
}

static void an_output_does_not_depend_on_other_samples(void **state) {
    (void)state;
    work w = work_open(&nets[1], 17, 17, 2);
    run(&w);
    for (size_t row = 0; row < w.n; row++) {
        float *y = floats(w.out);
        assert_int_equal(nn_stack_forward(w.stack, w.p, 1, w.x + row * w.in, y),
                         SCANT_OK);
        assert_same_bits(y, w.y + row * w.out, w.out * sizeof *y);
        free(y);
    }
    work_close(&w);
}

static void a_stack_without_training_gives_the_same_outputs(void **state) {
    (void)state;
    for (size_t i = 0; i < NETS; i++) {
        work w = work_open(&nets[i], 17, 17, 2);
        nn_stack *plain;
        float *y = floats(w.n * w.out);
        run(&w);
        assert_int_equal(nn_stack_create(w.ctx, w.t.s, w.t.n_stages, 40, false, &plain),
                         SCANT_OK);
        assert_int_equal(nn_stack_forward(plain, w.p, w.n, w.x, y), SCANT_OK);
        assert_same_bits(y, w.y, w.n * w.out * sizeof *y);
        nn_stack_destroy(plain);
        free(y);
        work_close(&w);
    }
}

static void vector_and_plain_kernels_match(void **state) {
    (void)state;
    for (size_t i = 0; i < NETS; i++) {
        work a = work_open(&nets[i], 9, 9, 1), b = work_open(&nets[i], 9, 9, 1);
        b.stack->kernels = nn_kernels_plain();
        run(&a);
        run(&b);
        for (size_t k = 0; k < a.n * a.out; k++)
            near((double)b.y[k], (double)a.y[k], 3e-6, &a, "output", k);
        for (size_t k = 0; k < a.t.params; k++)
            near((double)b.grads[k], (double)a.grads[k], 1e-5, &a, "gradient", k);
        for (size_t k = 0; k < a.n * a.in; k++)
            near((double)b.d_rows[k], (double)a.d_rows[k], 1e-5, &a, "by input", k);
        for (size_t k = 0; k < a.n; k++) {
            near(b.norms[k], a.norms[k], 1e-5, &a, "norm", k);
            near(b.products[k], a.products[k], 1e-5, &a, "product", k);
        }
        work_close(&a);
        work_close(&b);
    }
}

/* ---- hand-computed ---------------------------------------------------------------- */

/* Runs one stage on one sample; compares outputs and gradients by the input. */
static void check_stage(nn_stage s, const float *p, const float *x, const float *want,
                        const float *d, const float *want_dx) {
    net from = {"by hand", 2, {INPUT(0, 0, 0), s}, 0};
    float y[64], dx[64], grads[64];
    nn_stack *stack;
    scant_ctx *ctx = ctx_threads(1);
    from.s[0] = (nn_stage){.oc = s.ic, .oh = s.ih, .ow = s.iw};
    net t = stages_of(&from);
    t.s[0].weight = 0;
    t.s[0].bias_at = s.kernel[0] * s.kernel[1];
    assert_int_equal(nn_stack_create(ctx, t.s, 1, 1, true, &stack), SCANT_OK);
    assert_int_equal(nn_stack_forward(stack, p, 1, x, y), SCANT_OK);
    assert_int_equal(nn_stack_backward(stack, p, 1, d, grads, dx), SCANT_OK);
    for (size_t i = 0; i < out_size(&t); i++) assert_true(y[i] == want[i]);
    for (size_t i = 0; i < in_size(&t); i++) assert_true(dx[i] == want_dx[i]);
    nn_stack_destroy(stack);
    scant_ctx_free(ctx);
}

static void the_first_maximum_gets_the_gradient(void **state) {
    (void)state;
    /* 3 x 5: the last row and column are in no window */
    const float x[] = {1, 3, 7, 7, 90, 3, 2, 7, 7, 91, 92, 93, 94, 95, 96};
    const float dx[] = {0, 10, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    nn_stage s = MAXPOOL(2);
    s.ic = 1;
    s.ih = 3;
    s.iw = 5;
    check_stage(s, NULL, x, (const float[]){3, 7}, (const float[]){10, 20}, dx);
    /* windows over columns -1..1, 0..2, 1..3, 2..4, 3..5 */
    nn_stage wide = POOL(1, 3, 1, 1, 0, 1);
    wide.ic = 1;
    wide.ih = 1;
    wide.iw = 5;
    check_stage(wide, NULL, (const float[]){-1, -2, 5, 5, 4},
                (const float[]){-1, 5, 5, 5, 5}, (const float[]){1, 2, 4, 8, 16},
                (const float[]){1, 0, 14, 16, 0});
}

static void a_kernel_is_not_flipped(void **state) {
    (void)state;
    nn_stage s = CONV(1, 1, 3, 1, 1, 0, 1, true, NN_ACT_NONE);
    s.ic = 1;
    s.ih = 1;
    s.iw = 3;
    /* kernel 1 2 3, input 0 10 20 30 0 with padding */
    check_stage(s, (const float[]){1, 2, 3, 0.5f}, (const float[]){10, 20, 30},
                (const float[]){80.5f, 140.5f, 80.5f}, (const float[]){1, 10, 100},
                (const float[]){12, 123, 230});
}

static void tanh_is_within_two_units_in_the_last_place(void **state) {
    (void)state;
    enum { N = 4000 };
    static float x[N], y[N];
    const float p[] = {1};
    nn_stage s = CONV(1, 1, 1, 1, 1, 0, 0, false, NN_ACT_TANH);
    nn_stack *stack;
    scant_ctx *ctx = ctx_threads(1);
    s.ic = s.ih = s.oh = 1;
    s.iw = s.ow = N;
    for (size_t i = 0; i < N; i++) {
        x[i] = (float)((unit_at(5, i) - 0.5) * pow(10, 12 * unit_at(6, i) - 8));
        if (i < 100) x[i] = 0.63f + (float)((double)i - 50) * 6e-8f;
    }
    x[200] = 0;
    x[201] = INFINITY;
    x[202] = -INFINITY;
    x[203] = NAN;
    assert_int_equal(nn_stack_create(ctx, &s, 1, 1, false, &stack), SCANT_OK);
    for (int set = 0; set < 2; set++) {
        if (set) stack->kernels = nn_kernels_plain();
        assert_int_equal(nn_stack_forward(stack, p, 1, x, y), SCANT_OK);
        for (size_t i = 0; i < N; i++) {
            double want = tanh((double)x[i]);
            double unit = ldexp(1, ilogb(fmax(fabs(want), 1e-30)) - 23);
            if (i == 203)
                assert_true(isnan(y[i]));
            else if (!(fabs((double)y[i] - want) <= 2 * unit))
                fail_msg("tanh %.9g is %.9g, expected %.9g", (double)x[i], (double)y[i],
                         want);
        }
    }
    nn_stack_destroy(stack);
    scant_ctx_free(ctx);
}

static void nan_stays_nan(void **state) {
    (void)state;
    const nn_act acts[] = {NN_ACT_NONE,  NN_ACT_RELU, NN_ACT_LEAKY,
                           NN_ACT_RELU6, NN_ACT_TANH, NN_ACT_SIGMOID};
    for (size_t i = 0; i < 6; i++)
        for (size_t place = 0; place < 4; place++) {
            net from = {"nan",
                        3,
                        {INPUT(1, 2, 2), CONV(1, 1, 1, 1, 1, 0, 0, true, NN_ACT_NONE),
                         MAXPOOL(2)},
                        0};
            from.s[1].act = acts[i];
            work w = work_open(&from, 1, 1, 1);
            w.x[place] = NAN;
            run(&w);
            assert_true(isnan(w.y[0]));
            work_close(&w);
        }
}

/* Shapes of real networks; products of gradients with a direction. */
static void gradients_of_large_nets_match_finite_differences(void **state) {
    (void)state;
    const net large[] = {
        {"lenet5",
         5,
         {INPUT(1, 28, 28), CONV(6, 5, 5, 1, 1, 2, 2, true, NN_ACT_TANH), MAXPOOL(2),
          CONV(16, 5, 5, 1, 1, 0, 0, true, NN_ACT_RELU), MAXPOOL(2)},
         0},
        {"cnn",
         5,
         {INPUT(3, 32, 32), CONV(6, 5, 5, 1, 1, 0, 0, true, NN_ACT_RELU), MAXPOOL(2),
          CONV(16, 5, 5, 1, 1, 0, 0, true, NN_ACT_RELU), MAXPOOL(2)},
         0},
    };
    for (size_t i = 0; i < 2; i++) {
        work w = work_open(&large[i], 9, 128, 2);
        double *x = doubles(w.x, w.n * w.in), *p = doubles(w.p, w.t.params);
        float *v = random_floats(9, w.t.params, 1);
        const double step = 1e-7;
        assert_int_equal(nn_stack_forward(w.stack, w.p, w.n, w.x, w.y), SCANT_OK);
        assert_int_equal(nn_stack_persample(w.stack, w.p, w.n, w.d, v, NULL, w.products),
                         SCANT_OK);
        for (size_t row = 0; row < w.n; row += 4) {
            for (size_t k = 0; k < w.t.params; k++) p[k] += step * (double)v[k];
            double up = loss(&w, p, x, row);
            for (size_t k = 0; k < w.t.params; k++) p[k] -= 2 * step * (double)v[k];
            double down = loss(&w, p, x, row);
            for (size_t k = 0; k < w.t.params; k++) p[k] += step * (double)v[k];
            near(w.products[row], (up - down) / (2 * step), 1e-4, &w, "slope", row);
        }
        free(x);
        free(p);
        free(v);
        work_close(&w);
    }
}

/* ---- memory ----------------------------------------------------------------------- */

static void planes_beyond_memory_are_refused(void **state) {
    (void)state;
    nn_stage s = CONV(1, 1, 1, 1, 1, 0, 0, false, NN_ACT_NONE);
    scant_ctx *ctx = ctx_threads(1);
    nn_stack *stack;
    s.ih = s.oh = s.iw = s.ow = INT32_MAX;
    s.ic = 1;
    assert_int_equal(nn_stack_create(ctx, &s, 1, 8, true, &stack), SCANT_ENOMEM);
    s.ic = s.oc = SIZE_MAX / 2;
    assert_int_equal(nn_stack_create(ctx, &s, 1, 8, true, &stack), SCANT_ENOMEM);
    s.ih = s.oh = s.iw = s.ow = 1;
    s.ic = s.oc = 1;
    assert_int_equal(nn_stack_create(ctx, &s, 1, SIZE_MAX, true, &stack), SCANT_ENOMEM);
    scant_ctx_free(ctx);
}

static void failed_allocations_leak_nothing(void **state) {
    (void)state;
    memory m;
    scant_ctx *ctx = ctx_counting(&m);
    net t = stages_of(&nets[1]);
    size_t before = m.live, calls = m.calls;
    nn_stack *stack = NULL;
    for (size_t i = 0; !stack; i++) {
        m.fail_at = calls + i;
        m.calls = calls;
        if (nn_stack_create(ctx, t.s, t.n_stages, 20, true, &stack) == SCANT_OK) break;
        assert_null(stack);
        assert_int_equal(m.live, before);
        assert_true(i < 100);
    }
    assert_true(m.calls > calls + 5);
    calls = m.calls;
    float *x = random_floats(2, 20 * in_size(&t), 1), *y = floats(20 * out_size(&t));
    float *p = random_floats(1, t.params, 1), *g = floats(t.params);
    assert_int_equal(nn_stack_forward(stack, p, 20, x, y), SCANT_OK);
    assert_int_equal(nn_stack_backward(stack, p, 20, y, g, NULL), SCANT_OK);
    assert_int_equal(m.calls, calls); /* passes allocate nothing */
    free(x);
    free(y);
    free(p);
    free(g);
    nn_stack_destroy(stack);
    assert_int_equal(m.live, before);
    scant_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward_matches_plain_loops),
        cmocka_unit_test(gradients_match_finite_differences),
        cmocka_unit_test(sums_match_per_sample_gradients_and_leave_gaps_unchanged),
        cmocka_unit_test(norms_and_products_match_one_sample_at_a_time),
        cmocka_unit_test(either_of_norms_and_products_may_be_left_out),
        cmocka_unit_test(results_do_not_depend_on_the_thread_count),
        cmocka_unit_test(results_do_not_depend_on_earlier_batches),
        cmocka_unit_test(an_output_does_not_depend_on_other_samples),
        cmocka_unit_test(a_stack_without_training_gives_the_same_outputs),
        cmocka_unit_test(vector_and_plain_kernels_match),
        cmocka_unit_test(the_first_maximum_gets_the_gradient),
        cmocka_unit_test(a_kernel_is_not_flipped),
        cmocka_unit_test(tanh_is_within_two_units_in_the_last_place),
        cmocka_unit_test(nan_stays_nan),
        cmocka_unit_test(gradients_of_large_nets_match_finite_differences),
        cmocka_unit_test(planes_beyond_memory_are_refused),
        cmocka_unit_test(failed_allocations_leak_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
