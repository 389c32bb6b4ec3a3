/* SPDX-License-Identifier: Apache-2.0
 *
 * The coverage of the meter's interval. Projects are simulated with correct answers, and
 * the test counts how often the 95 % interval contains the last model's true accuracy: on
 * new points, and on the project's own items that it was not trained on.
 *
 * 200 projects of made-up clouds. With a coverage of 95 %, fewer than 180 of 200 has a
 * probability of 0.002; seeds are fixed, so the result is the same each time. SCANT_SOAK:
 * also 200 projects on the pixels of fashion-mnist, each with 2000 images and evaluated
 * on 1000 test images (`SCANT_SOAK=2000 build/tests/loop_test_audit`).
 */
#include "projects.h"

#include "data/dataset.h"
#include "scant/project.h"

enum { ROUNDS = 4, BATCH = 25 };

typedef struct tally {
    size_t runs, outside, inside; /* intervals that cover: new points, own items */
    double width, accuracy;       /* sums */
} tally;

static double accuracy_of(const float *p, const int32_t *truth, const bool *skip,
                          size_t n, size_t classes) {
    size_t right = 0, all = 0;
    for (size_t i = 0; i < n; i++) {
        size_t best = 0;
        if (skip && skip[i]) continue;
        for (size_t c = 1; c < classes; c++)
            if (p[i * classes + c] > p[i * classes + best]) best = c;
        right += best == (size_t)truth[i];
        all++;
    }
    return (double)right / (double)all;
}

/* The accuracy of the last model on new points. */
static double accuracy_outside(const lab *l, const float *x, const int32_t *truth,
                               size_t n) {
    char path[500], weights[500];
    scant_net *net;
    scant_data *data;
    float *p = malloc(n * l->classes * sizeof *p);
    snprintf(path, sizeof path, "%s-outside.npy", l->dir);
    snprintf(weights, sizeof weights, "%s/models/%04d.safetensors", l->dir, ROUNDS);
    write_features(l->ctx, path, x, n, l->d);
    OK(scant_data_open(l->ctx, path, NULL, &data));
    OK(scant_net_open(l->ctx, weights, NULL, NULL, &net));
    OK(scant_net_predict(net, data, NULL, 0, &(scant_outputs){.probs = p}));
    double accuracy = accuracy_of(p, truth, NULL, n, l->classes);
    scant_net_free(net);
    scant_data_free(data);
    unlink(path);
    free(p);
    return accuracy;
}

static double accuracy_inside(const lab *l) {
    scant_array *p;
    size_t model;
    int64_t *labels = malloc(l->n * sizeof *labels);
    bool *skip = malloc(l->n * sizeof *skip);
    OK(scant_project_labels(l->project, labels, l->n)); /* none of the audit set */
    for (size_t i = 0; i < l->n; i++) skip[i] = labels[i] >= 0;
    OK(scant_project_predict(l->project, &p, &model));
    double accuracy =
        accuracy_of((const float *)p->data, l->truth, skip, l->n, l->classes);
    scant_array_free(p);
    free(labels);
    free(skip);
    return accuracy;
}

static bool covers(const scant_meter *m, double accuracy) {
    return m->last.low <= accuracy && accuracy <= m->last.high;
}

/* The first round is random; the others are picked. */
static void simulate(lab *l, const float *x, const int32_t *truth, size_t n, tally *t) {
    scant_meter m;
    for (size_t round = 1; round <= ROUNDS; round++) {
        if (round > 1) lab_query(l, "margin", BATCH);
        lab_answer(l, round == 1 ? 2 * BATCH : BATCH, false);
        OK(scant_project_train(l->project, NULL, NULL));
    }
    OK(scant_project_meter(l->project, &m));
    assert_true(m.last.audited >= 15);
    t->runs++;
    t->outside += covers(&m, accuracy_outside(l, x, truth, n));
    t->inside += covers(&m, accuracy_inside(l));
    t->width += m.last.high - m.last.low;
    t->accuracy += m.last.accuracy;
}

static const scant_setting cheap[] = {
    {"audit_every", "4"}, {"epochs", "150"}, {"audit_most", "100"}};

static void print_tally(const char *what, const tally *t) {
    double n = (double)t->runs;
    print_message("%s: of %zu intervals %zu (%.1f %%) cover the accuracy on new items, "
                  "%zu (%.1f %%) on the project's own; mean accuracy %.3f, width %.3f\n",
                  what, t->runs, t->outside, 100 * (double)t->outside / n, t->inside,
                  100 * (double)t->inside / n, t->accuracy / n, t->width / n);
}

static void check_coverage(const tally *t) {
    assert_true((double)t->outside >= 0.9 * (double)t->runs);
    assert_true((double)t->inside >= 0.9 * (double)t->runs);
}

static void the_interval_covers_the_true_accuracy(void **state) {
    (void)state;
    enum { N = 600, NEW = 2000, D = 8, CLASSES = 4 };
#ifdef SCANT_SANITIZED
    const size_t runs = 10;
#else
    const size_t runs = 200;
#endif
    tally t = {0};
    float *x = malloc(NEW * D * sizeof *x);
    int32_t *truth = malloc(NEW * sizeof *truth);
    for (size_t run = 0; run < runs; run++) {
        scant_ctx *ctx = ctx_threads(1);
        lab l;
        char name[32];
        /* error rates from nearly 0 to nearly a third */
        lab_opts o = {.n = N,
                      .d = D,
                      .classes = CLASSES,
                      .noise = 0.4 + 0.6 * (double)run / (double)runs,
                      .seed = 100 + 10000 * run,
                      .settings = cheap,
                      .n_settings = 3};
        snprintf(name, sizeof name, "clouds-%zu", run);
        lab_make(&l, ctx, name, o);
        for (size_t i = 0; i < NEW; i++) draw_point(&o, N + i, x + i * D, &truth[i]);
        simulate(&l, x, truth, NEW, &t);
        lab_end(&l);
    }
    print_tally("clouds", &t);
    check_coverage(&t);
    free(x);
    free(truth);
}

/* ---- fashion-mnist ----------------------------------------------------------------- */

enum { PIXELS = 784, POOL = 2000, TESTED = 1000 };

static void read_rows(const scant_data *data, const size_t *rows, size_t n, float *x,
                      int32_t *truth) {
    scant__fault fault;
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(scant__data_read(data, rows[i], x + i * PIXELS, &fault),
                         SCANT_OK);
        truth[i] = scant_data_labels(data)[rows[i]];
    }
}

static void the_interval_covers_on_fashion_mnist(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(2);
    scant_data *train, *test;
    tally t = {0};
    if (!soaking() || scant_data_open(ctx, "fashion-mnist", NULL, &train) != SCANT_OK) {
        scant_ctx_free(ctx);
        skip();
    }
    lab_ctx = ctx;
    OK(scant_data_open(ctx, "fashion-mnist", &(scant_data_opts){.test = 1}, &test));
    size_t *order = malloc(60000 * sizeof *order);
    float *x = malloc(TESTED * PIXELS * sizeof *x);
    int32_t *truth = malloc(TESTED * sizeof *truth);
    for (size_t run = 0; run < 200; run++) {
        lab l = {.ctx = ctx, .n = POOL, .d = PIXELS, .classes = 10};
        char name[32];
        l.x = malloc(POOL * PIXELS * sizeof *l.x);
        l.truth = malloc(POOL * sizeof *l.truth);
        scant__rng_shuffle(&(scant__rng){run, 1000}, 0, 60000, order);
        read_rows(train, order, POOL, l.x, l.truth);
        scant__rng_shuffle(&(scant__rng){run, 1001}, 0, 10000, order);
        read_rows(test, order, TESTED, x, truth);
        snprintf(name, sizeof name, "fashion-%zu", run);
        lab_open(&l, name, &(lab_opts){.seed = run, .settings = cheap, .n_settings = 3});
        simulate(&l, x, truth, TESTED, &t);
        lab_remove(&l, "");
        lab_close(&l);
    }
    print_tally("fashion-mnist", &t);
    check_coverage(&t);
    free(order);
    free(x);
    free(truth);
    scant_data_free(train);
    scant_data_free(test);
    scant_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_interval_covers_the_true_accuracy),
        cmocka_unit_test(the_interval_covers_on_fashion_mnist),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
