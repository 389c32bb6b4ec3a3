/* SPDX-License-Identifier: Apache-2.0
 *
 * The methods compared with a slow reference: softmax regression in double, written from
 * the formulas, on the mini-batches of the seed. It uses our DARP solver, which has its
 * own tests, but stores, refines and applies pseudo-labels by its own code.
 */
#include "fixture.h"

#include "data/dataset.h"
#include "scant/train.h"
#include "ssl/darp.h"
#include "train_opts.h"

enum { N = 90, C = 3, D = 2, STEPS = 29, MOST = 64 };

typedef struct reference {
    double w[C][D], b[C], vw[C][D], vb[C], aw[C][D], ab[C]; /* v: momentum, a: average */
    double loss, unlabelled, kept, seen;
    double counts[C];
    /* NULL: without DARP */
    ssl_darp *darp;
    bool begun;
    float stored[N * C], refined[N * C];
    size_t relabelled, added,
        removed; /* by DARP: other labels; now above the threshold; no longer */
} reference;

typedef struct history {
    size_t n;
    double loss[STEPS], unlabelled[STEPS], kept[STEPS], balance[STEPS];
} history;

static void record(void *user, const scant_train_state *s) {
    history *h = user;
    assert_true(h->n < STEPS);
    h->loss[h->n] = s->loss;
    h->unlabelled[h->n] = s->unlabelled_loss;
    h->kept[h->n] = s->kept;
    h->balance[h->n++] = s->balance;
}

/* ---- batches ---- */

static size_t shuffled_at(uint64_t seed, uint32_t purpose, size_t n, uint64_t place) {
    size_t order[N];
    scant__rng_shuffle(&(scant__rng){seed, purpose}, place / n * n, n, order);
    return order[place % n];
}

static void read_row(const fixture *b, size_t row, float out[D]) {
    scant__fault fault;
    assert_int_equal(scant__data_read(b->data, row, out, &fault), SCANT_OK);
}

static bool contains(size_t row, const size_t *rows, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (rows[i] == row) return true;
    return false;
}

/* Noise is relative to the spread of the training samples, each counted once. */
static scant__views views_of(const fixture *b, const scant_train_opts *o, float middle[D],
                             float spread[D]) {
    double sums[D] = {0}, squares[D] = {0}, n = 0;
    for (size_t i = 0; i < N; i++) {
        float x[D];
        if (!contains(i, o->rows, o->n_rows) &&
            !contains(i, o->unlabelled, o->n_unlabelled))
            continue;
        read_row(b, i, x);
        n++;
        for (size_t k = 0; k < D; k++)
            sums[k] += (double)x[k], squares[k] += (double)x[k] * (double)x[k];
    }
    for (size_t k = 0; k < D; k++) {
        double mean = sums[k] / n;
        middle[k] = (float)mean;
        spread[k] = (float)sqrt(squares[k] / n - mean * mean);
    }
    return (scant__views){.c = D,
                          .h = 1,
                          .w = 1,
                          .noise = 0.3f,
                          .drop = 0.2f,
                          .middle = middle,
                          .spread = spread};
}

/* ---- the network ---- */

static void probabilities(const double *w, const double *b, const float *x, double p[C]) {
    double sum = 0;
    for (size_t k = 0; k < C; k++) {
        p[k] = b[k];
        for (size_t j = 0; j < D; j++) p[k] += w[k * D + j] * (double)x[j];
    }
    for (size_t k = 0; k < C; k++) sum += p[k] = exp(p[k]);
    for (size_t k = 0; k < C; k++) p[k] /= sum;
}

static size_t best(const double p[C]) {
    size_t at = 0;
    for (size_t k = 1; k < C; k++)
        if (p[k] > p[at]) at = k;
    return at;
}

typedef struct gradient {
    double w[C][D], b[C];
} gradient;

static void add_gradient(gradient *g, const double dz[C], const float *x) {
    for (size_t k = 0; k < C; k++) {
        g->b[k] += dz[k];
        for (size_t j = 0; j < D; j++) g->w[k][j] += dz[k] * (double)x[j];
    }
}

static void cross_entropy(gradient *g, const double p[C], size_t label, const float *x,
                          double scale) {
    double dz[C];
    for (size_t k = 0; k < C; k++) dz[k] = scale * (p[k] - (k == label));
    add_gradient(g, dz, x);
}

static void consistency(reference *r, gradient *g, const double p[C], const double q[C],
                        const float *x, double scale, size_t n) {
    double dz[C], mean = 0;
    for (size_t k = 0; k < C; k++) {
        r->unlabelled += (p[k] - q[k]) * (p[k] - q[k]) / C / (double)n;
        mean += p[k] * (p[k] - q[k]);
    }
    for (size_t k = 0; k < C; k++) dz[k] = scale * 2 / C * p[k] * (p[k] - q[k] - mean);
    add_gradient(g, dz, x);
}

static double ramp_of(size_t step) { /* over 0.4 of all steps */
    double t = (double)step / (0.4 * STEPS);
    return t < 1 ? exp(-5 * (1 - t) * (1 - t)) : 1;
}

/* Replaces q, the prediction for the weak view, by the refined pseudo-label if any. */
static void use_refined(reference *r, size_t item, double threshold, double q[C]) {
    double x[C];
    if (!r->begun) return;
    for (size_t k = 0; k < C; k++) x[k] = (double)r->refined[item * C + k];
    bool was = q[best(q)] >= threshold, is = x[best(x)] >= threshold;
    r->relabelled += is && best(q) != best(x);
    r->added += is && !was;
    r->removed += was && !is;
    memcpy(q, x, sizeof x);
}

/* Adds the gradient of one unlabelled sample. */
static void add_unlabelled(reference *r, gradient *g, const char *method,
                           const scant__views *v, const scant_train_opts *o, size_t step,
                           uint64_t draw, size_t item, const float *in, size_t n) {
    float weak[D], strong[D];
    double p[C], q[C], scale = o->ssl.weight / (double)n;
    scant__rng stream = {o->seed, SCANT__RNG_WEAK}, hard = {o->seed, SCANT__RNG_STRONG};
    if (strcmp(method, "fixmatch") == 0) {
        scant__augment_weak(v, &stream, draw, in, weak);
        scant__augment_strong(v, &hard, draw, in, strong, NULL);
        probabilities(r->w[0], r->b, weak, q);
        use_refined(r, item, o->ssl.threshold, q);
        if (q[best(q)] < o->ssl.threshold) return;
        probabilities(r->w[0], r->b, strong, p);
        r->unlabelled -= log(p[best(q)]) / (double)n;
        cross_entropy(g, p, best(q), strong, scale);
    } else if (strcmp(method, "pseudo-label") == 0) {
        scant__augment_weak(v, &stream, draw, in, weak);
        probabilities(r->w[0], r->b, weak, q);
        if (q[best(q)] <= o->ssl.threshold) return;
        r->unlabelled -= log(q[best(q)]) / (double)n;
        cross_entropy(g, q, best(q), weak, scale * ramp_of(step));
    } else {
        bool teacher = strcmp(method, "mean-teacher") == 0;
        scant__augment_weak(v, &stream, 2 * draw, in, weak);
        scant__augment_weak(v, &stream, 2 * draw + 1, in, strong);
        probabilities(teacher ? r->aw[0] : r->w[0], teacher ? r->ab : r->b, strong, q);
        probabilities(r->w[0], r->b, weak, p);
        consistency(r, g, p, q, weak, scale * ramp_of(step), n);
    }
    r->kept++;
    r->counts[best(q)]++;
}

/* Stores the mini-batch's predictions for weak views. Refines all stored ones at the end
 * of the warm-up, and then at steps that are multiples of the interval. */
static void store_and_refine(const fixture *b, reference *r, const scant__views *v,
                             const scant_train_opts *o, const size_t *others,
                             size_t n_others, size_t step) {
    size_t more = o->batch * o->ssl.mu;
    double warmup = fmax(o->ssl.darp_warmup, 0);
    for (size_t i = 0; i < more; i++) {
        uint64_t draw = step * more + i;
        size_t item = shuffled_at(o->seed, SCANT__RNG_UNLABELLED, n_others, draw);
        float in[D], weak[D];
        double q[C];
        read_row(b, others[item], in);
        scant__augment_weak(v, &(scant__rng){o->seed, SCANT__RNG_WEAK}, draw, in, weak);
        probabilities(r->w[0], r->b, weak, q);
        for (size_t k = 0; k < C; k++) r->stored[item * C + k] = (float)q[k];
    }
    if (r->begun ? step % o->ssl.darp_every != 0 : (double)step < warmup * STEPS) return;
    r->begun = true;
    ssl_darp_refine(r->darp, r->stored, r->refined);
}

static void update_weight(double *w, double *v, double *a, double g, double lr,
                          double keep) {
    *v = 0.9 * *v + g;
    *w -= lr * (g + 0.9 * *v); /* Nesterov */
    *a = keep * *a + (1 - keep) * *w;
}

static void update(reference *r, const gradient *g, const scant_train_opts *o,
                   const char *method, size_t step) {
    bool grows = strcmp(method, "mean-teacher") == 0;
    double lr = o->lr * cos(7 * 3.14159265358979323846 * (double)step / (16 * STEPS));
    double keep = grows ? fmin(o->ema, 1 - 1 / (double)(step + 1)) : o->ema;
    for (size_t k = 0; k < C; k++) {
        for (size_t j = 0; j < D; j++)
            update_weight(&r->w[k][j], &r->vw[k][j], &r->aw[k][j],
                          g->w[k][j] + o->weight_decay * r->w[k][j], lr, keep);
        update_weight(&r->b[k], &r->vb[k], &r->ab[k], g->b[k], lr,
                      keep); /* biases do not decay */
    }
}

static double balance_of(const double counts[C]) {
    double sum = 0, h = 0;
    for (size_t k = 0; k < C; k++) sum += counts[k];
    if (sum == 0) return -1;
    for (size_t k = 0; k < C; k++)
        if (counts[k] > 0) h -= counts[k] / sum * log(counts[k] / sum);
    return h / log((double)C);
}

static void slow_training(const fixture *b, const char *method, const scant_train_opts *o,
                          const size_t *rows, size_t n_rows, const size_t *others,
                          size_t n_others, reference *r, history *h) {
    float middle[D], spread[D];
    scant__views v = views_of(b, o, middle, spread);
    size_t batch = o->batch, more = batch * o->ssl.mu;
    size_t per_epoch = (n_others + more - 1) / more;
    double loss = 0, unlabelled = 0, kept = 0, counts[C] = {0}, steps = 0;
    for (size_t step = 0; step < STEPS; step++) {
        gradient g = {0};
        r->loss = r->unlabelled = r->kept = 0;
        memset(r->counts, 0, sizeof r->counts);
        for (size_t i = 0; i < batch; i++) {
            uint64_t draw = step * batch + i;
            size_t row = rows[shuffled_at(o->seed, SCANT__RNG_EPOCH, n_rows, draw)];
            size_t label = (size_t)scant_data_labels(b->data)[row];
            float in[D], x[D];
            double p[C];
            read_row(b, row, in);
            scant__augment_weak(&v, &(scant__rng){o->seed, SCANT__RNG_AUGMENT}, draw, in,
                                x);
            probabilities(r->w[0], r->b, x, p);
            r->loss -= log(p[label]) / (double)batch;
            cross_entropy(&g, p, label, x, 1 / (double)batch);
        }
        if (r->darp) store_and_refine(b, r, &v, o, others, n_others, step);
        for (size_t i = 0; i < more; i++) {
            uint64_t draw = step * more + i;
            size_t item = shuffled_at(o->seed, SCANT__RNG_UNLABELLED, n_others, draw);
            float in[D];
            read_row(b, others[item], in);
            add_unlabelled(r, &g, method, &v, o, step, draw, item, in, more);
        }
        update(r, &g, o, method, step);
        if (step % per_epoch == 0) {
            loss = unlabelled = kept = steps = 0;
            memset(counts, 0, sizeof counts);
        }
        steps++;
        for (size_t k = 0; k < C; k++) counts[k] += r->counts[k];
        h->loss[step] = (loss += r->loss) / steps;
        h->unlabelled[step] = (unlabelled += r->unlabelled) / steps;
        h->kept[step] = (kept += r->kept) / (steps * (double)more);
        h->balance[step] = balance_of(counts);
    }
}

/* ---- the tests ---- */

static void near(const char *what, size_t step, double a, double b, double off) {
    if (!(fabs(a - b) <= off))
        fail_msg("%s, step %zu: %.9g, expected %.9g", what, step, a, b);
}

static void begin_darp(const scant_ssl_opts *o, size_t n, scant__arena *arena,
                       reference *r) {
    ssl_darp_opts d = {.target = o->darp_target, .alpha = o->darp_alpha};
    if (!o->darp) return;
    assert_int_equal(ssl_darp_create(arena, n, C, &d, &r->darp), SCANT_OK);
    for (size_t i = 0; i < n * C; i++) r->stored[i] = 1.0f / C;
}

/* Trains a network and the reference from the same weights, and compares. Returns the
 * reference. */
static reference compare_with_opts(const char *method, scant_ssl_opts ssl, bool mixed) {
    /* he: weights large enough for some confident predictions from the start */
    fixture b = fixture_of("blobs", N, "linear", (scant_net_opts){.init = "he"});
    bool thresholds = !strcmp(method, "fixmatch") || !strcmp(method, "pseudo-label");
    size_t rows[MOST], others[N], n_rows = rows_per_class(&b, 3, rows), n_others = 0;
    for (size_t i = 0; i < N; i++)
        if (i % 4 != 1) others[n_others++] = i;
    ssl.mu = 5; /* 20 of 67 samples: mini-batches span passes */
    history got = {0}, want = {0};
    scant_train_opts o = TRAIN_OPTS(
        method, "sgd", with.rows = rows, with.n_rows = n_rows, with.unlabelled = others,
        with.n_unlabelled = n_others, with.nesterov = 1, with.lr = 0.03,
        with.schedule = "fixmatch", with.weight_decay = 5e-4, with.decay_weights_only = 1,
        with.ema = 0.9, with.batch = 4, with.steps = STEPS, with.seed = 17,
        with.ssl = ssl, with.user = &got, with.report = record);
    float *w = weights_of(&b);
    static reference r;
    scant__arena arena;
    r = (reference){0};
    scant__arena_init(&arena, b.ctx);
    begin_darp(&ssl, n_others, &arena, &r);
    for (size_t k = 0; k < C; k++)
        for (size_t j = 0; j < D; j++) r.w[k][j] = r.aw[k][j] = (double)w[k * D + j];
    for (size_t k = 0; k < C; k++) r.b[k] = r.ab[k] = (double)w[C * D + k];
    free(w);
    slow_training(&b, method, &o, rows, n_rows, others, n_others, &r, &want);
    train_mixed(&b, o, mixed);
    assert_int_equal(got.n, STEPS);
    double kept = 0;
    for (size_t i = 0; i < STEPS; i++) {
        near("labelled loss", i, got.loss[i], want.loss[i], 1e-5);
        near("unlabelled loss", i, got.unlabelled[i], want.unlabelled[i], 1e-5);
        near("share kept", i, got.kept[i], want.kept[i], 1e-9);
        near("balance", i, got.balance[i], want.balance[i], 1e-9);
        kept += want.kept[i];
    }
    /* some samples pass the threshold, some do not */
    if (thresholds) assert_true(kept > 0.1 * STEPS && kept < 0.9 * STEPS);
    w = weights_of(&b);
    for (size_t k = 0; k < C; k++) {
        for (size_t j = 0; j < D; j++)
            near("average", k * D + j, (double)w[k * D + j], r.aw[k][j], 1e-5);
        near("average of bias", k, (double)w[C * D + k], r.ab[k], 1e-5);
    }
    free(w);
    scant__arena_end(&arena);
    fixture_free(&b);
    return r;
}

static scant_ssl_opts defaults_of(const char *method) {
    scant_train_opts o;
    scant_train_defaults(method, NULL, &o);
    return o.ssl;
}

static void compare(const char *method, double threshold, double weight, bool mixed) {
    scant_ssl_opts o = defaults_of(method);
    o.weight = weight;
    if (threshold > 0) o.threshold = threshold;
    compare_with_opts(method, o, mixed);
}

static void fixmatch_matches_the_reference(void **state) {
    (void)state;
    compare("fixmatch", 0.8, 1, false);
    compare("fixmatch", 0.9, 2.5, false);
}

static void fixmatch_in_one_pass_matches_the_reference(void **state) {
    (void)state;
    compare("fixmatch", 0.8, 1, true);
}

/* DARP begins within an interval, at once, or has another target; each with one pass and
 * with two. */
static void fixmatch_with_darp_matches_the_reference(void **state) {
    (void)state;
    const double target[C] = {1, 2, 4};
    for (int i = 0; i < 6; i++) {
        scant_ssl_opts o = defaults_of("fixmatch");
        o.threshold = 0.7;
        o.darp = true;
        o.darp_alpha = i / 2 == 2 ? 0 : 2;
        o.darp_every = 4;
        o.darp_warmup = i / 2 == 1 ? 0 : 0.2; /* step 6 */
        o.darp_target = i / 2 == 2 ? target : NULL;
        reference r = compare_with_opts("fixmatch", o, i % 2 == 1);
        assert_true(r.relabelled > 5 && r.added > 5 && r.removed > 5);
    }
}

static void mean_teacher_matches_the_reference(void **state) {
    (void)state;
    compare("mean-teacher", 0, 8, false);
}

static void pi_matches_the_reference(void **state) {
    (void)state;
    compare("pi", 0, 20, false);
}

static void pseudo_label_matches_the_reference(void **state) {
    (void)state;
    compare("pseudo-label", 0.8, 3, false);
}

/* ---- running statistics ---- */

/* The inputs of the first step's pass with gradients; returns their number. */
static size_t first_inputs(const fixture *b, const char *method,
                           const scant_train_opts *o, float out[][D]) {
    float middle[D], spread[D], in[D];
    scant__views v = views_of(b, o, middle, spread);
    scant__rng weak = {o->seed, SCANT__RNG_WEAK}, own = {o->seed, SCANT__RNG_AUGMENT},
               hard = {o->seed, SCANT__RNG_STRONG};
    bool fixmatch = strcmp(method, "fixmatch") == 0;
    bool two = strcmp(method, "pi") == 0 || strcmp(method, "mean-teacher") == 0;
    size_t n = 0, more = o->batch * o->ssl.mu;
    for (size_t i = 0; i < o->batch; i++) {
        read_row(b, o->rows[shuffled_at(o->seed, SCANT__RNG_EPOCH, o->n_rows, i)], in);
        scant__augment_weak(&v, &own, i, in, out[n++]);
    }
    for (size_t i = 0; i < more; i++) {
        size_t item = shuffled_at(o->seed, SCANT__RNG_UNLABELLED, o->n_unlabelled, i);
        read_row(b, o->unlabelled[item], in);
        scant__augment_weak(&v, &weak, two ? 2 * i : i, in, out[n++]);
        if (fixmatch) scant__augment_strong(&v, &hard, i, in, out[n++], NULL);
    }
    return n;
}

/* On images of 1x1 a 3x3 window reads only its middle, so the inputs of the first
 * normalisation are 16 sums over two features. */
static void statistics_include_all_inputs_with_gradients(void **state) {
    (void)state;
    static const char *const methods[] = {"fixmatch", "mean-teacher", "pi",
                                          "pseudo-label"};
    for (size_t i = 0; i < 4; i++) {
        fixture b = fixture_of("blobs", N, "wrn-28-2", (scant_net_opts){0});
        const nn_net *net = b.net->net;
        const size_t rows[] = {0, 1, 2, 3, 4, 5}, others[] = {20, 30, 40, 50, 60, 70, 80};
        scant_train_opts o = TRAIN_OPTS(
            methods[i], NULL, with.rows = rows, with.n_rows = 6, with.unlabelled = others,
            with.n_unlabelled = 7, with.batch = 4, with.steps = 1, with.seed = 11,
            with.norm_momentum = i % 2 ? 0.25 : 0.1, with.ssl.mu = 2);
        double by = i % 2 ? 0.25 : 0.1;
        float in[MOST][D], *before = weights_of(&b);
        const float *conv = before + nn_net_find(net, "conv1.weight")->offset;
        size_t n = first_inputs(&b, methods[i], &o, in);
        assert_int_equal(n, i == 0 ? 20 : 12);
        train(&b, o);
        float *after = weights_of(&b);
        for (size_t k = 0; k < 16; k++) {
            double sum = 0, squares = 0;
            for (size_t j = 0; j < n; j++) {
                double z = 0;
                for (size_t d = 0; d < D; d++)
                    z += (double)conv[(k * D + d) * 9 + 4] * (double)in[j][d];
                sum += z, squares += z * z;
            }
            double mean = sum / (double)n;
            double var = (squares - sum * mean) / (double)(n - 1);
            size_t at = nn_net_find(net, "block1.0.bn1.running_mean")->offset + k;
            near("running mean", k, (double)after[at], by * mean, 1e-5);
            at = nn_net_find(net, "block1.0.bn1.running_var")->offset + k;
            near("running variance", k, (double)after[at], 1 - by + by * var, 1e-5);
        }
        free(before), free(after);
        fixture_free(&b);
    }
}

static double weight_at(size_t step, size_t ramp, size_t steps) {
    ssl_setup setup = {.o.ssl = {.weight = 1, .ramp = ramp}};
    return ssl_weight(&setup, &(nn_unlabelled){.step = step, .steps = steps});
}

static void the_ramp_matches_hand_computed_values(void **state) {
    (void)state;
    assert_true(fabs(weight_at(0, 100, 1000) - exp(-5)) < 1e-15);
    assert_true(fabs(weight_at(50, 100, 1000) - exp(-1.25)) < 1e-15);
    assert_true(weight_at(100, 100, 1000) == 1);
    assert_true(weight_at(900, 100, 1000) == 1);
    assert_true(fabs(weight_at(200, 0, 1000) - exp(-1.25)) <
                1e-15); /* 0.4 of all steps */
    assert_true(weight_at(400, 0, 1000) == 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fixmatch_matches_the_reference),
        cmocka_unit_test(fixmatch_in_one_pass_matches_the_reference),
        cmocka_unit_test(fixmatch_with_darp_matches_the_reference),
        cmocka_unit_test(mean_teacher_matches_the_reference),
        cmocka_unit_test(pi_matches_the_reference),
        cmocka_unit_test(pseudo_label_matches_the_reference),
        cmocka_unit_test(statistics_include_all_inputs_with_gradients),
        cmocka_unit_test(the_ramp_matches_hand_computed_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
