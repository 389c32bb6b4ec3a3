/* SPDX-License-Identifier: Apache-2.0
 *
 * Picks by gradients of all layers, and the theory figures of a round, compared with one
 * backward pass per sample, full matrices, and the definitions.
 *
 * With train.reinit = no the weights of a round are on disk while its results are
 * reported: they are copied then, and everything is computed again.
 */
#include "../data/support.h"
#include "../nn/gradients.h"
#include "../select/pools.h"

#include "loop/loop.h"
#include "scant/train.h"

enum {
    INITIAL = 8,
    BATCH = 4,
    LABELS = INITIAL + BATCH,
    WIDTH = 8,
    POOL = 1000,
    ROUNDS = 2
};
enum { SEED = 3, NAME = 160, LINE = 512 };

/* ---- an experiment, with the weights of its rounds --------------------------------- */

static void copy_file(const char *from, const char *to) {
    static char bytes[1 << 18];
    FILE *f = fopen(from, "rb");
    assert_non_null(f);
    size_t size = fread(bytes, 1, sizeof bytes, f);
    assert_true(size && size < sizeof bytes);
    fclose(f);
    put(to, bytes, size);
}

static void keep_weights(void *user, const scant_run_event *event) {
    char from[NAME], to[NAME];
    if (event->kind != SCANT_RUN_ROUND) return;
    snprintf(from, sizeof from, "%s/runs/%s-%d.weights-%zu.safetensors",
             (const char *)user, event->strategy, SEED, event->round);
    snprintf(to, sizeof to, "%s-%zu", event->strategy, event->round);
    copy_file(path_of(from), to);
}

static scant_status run_experiment(scant_ctx *ctx, const char *folder,
                                   const char *strategy, const char *theory,
                                   const scant_setting *more, size_t n_more) {
    scant_setting all[24] = {
        {"data.train", "moons"}, {"data.test_size", "20"},      {"model.name", "mlp"},
        {"model.width", "8"},    {"train.batch", "4"},          {"train.epochs", "15"},
        {"train.reinit", "no"},  {"loop.strategies", strategy}, {"loop.seeds", "3"},
        {"loop.initial", "8"},   {"loop.batch", "4"},           {"loop.rounds", "2"},
        {"loop.theory", theory}};
    size_t n = 13;
    for (size_t i = 0; i < n_more; i++) all[n++] = more[i];
    scant_experiment *e;
    char name[NAME];
    snprintf(name, sizeof name, "%s", folder);
    scant_status status = scant_experiment_open(ctx, NULL, all, n, &e);
    if (status == SCANT_OK)
        status = scant_experiment_run(e, &(scant_run_opts){.out = path_of(folder),
                                                           .threads = 1,
                                                           .user = name,
                                                           .report = keep_weights});
    scant_experiment_free(e);
    return status;
}

typedef struct picked {
    size_t index;
    double score;
} picked;

/* Reads the picks of a round in order; returns how many. */
static size_t read_picks(const char *folder, size_t round, picked *out, size_t room) {
    char name[NAME], line[LINE];
    snprintf(name, sizeof name, "%s/picks.csv", folder);
    FILE *f = fopen(path_of(name), "r");
    size_t n = 0, of, rank, index;
    double weight, score;
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        const char *rest = strchr(line, ',');
        if (sscanf(rest, ",%*u,%zu,%zu,%zu,%lf,%lf", &of, &rank, &index, &weight,
                   &score) != 5 ||
            of != round)
            continue;
        assert_true(n < room && rank == n + 1);
        out[n++] = (picked){index, score};
    }
    fclose(f);
    return n;
}

/* A field of theory.csv; NaN: empty. */
static double figure(const char *folder, size_t round, const char *column) {
    char name[NAME], head[LINE], line[LINE], *h = head, *l = line;
    snprintf(name, sizeof name, "%s/theory.csv", folder);
    FILE *f = fopen(path_of(name), "r");
    assert_non_null(f);
    assert_non_null(fgets(head, sizeof head, f));
    for (size_t i = 0; i <= round; i++) assert_non_null(fgets(line, sizeof line, f));
    fclose(f);
    head[strcspn(head, "\n")] = line[strcspn(line, "\n")] = 0;
    for (;;) {
        const char *field = strsep(&h, ","), *value = strsep(&l, ",");
        assert_true(field && value);
        if (!strcmp(field, column)) return *value ? strtod(value, NULL) : (double)NAN;
    }
}

/* ---- everything computed again ----------------------------------------------------- */

typedef struct again {
    fixture f;
    scant_data *data;
    plain p;
    size_t rows[LABELS + BATCH], n, n_batch; /* labelled S, then batch Q */
    float *g;                                /* a gradient for each of them */
    size_t from;                             /* the first parameter of the last layer */
} again;

static again open_again(scant_ctx *ctx, const char *weights) {
    again a = {.f = {.ctx = ctx, .classes = 2, .n = POOL}};
    assert_int_equal(scant_data_open(ctx, "moons", NULL, &a.data), SCANT_OK);
    scant_net_opts opts = {.classes = 2, .width = WIDTH};
    scant_data_shape(a.data, opts.shape);
    opts.seed = loop_seed(SEED, 0, 0, LOOP_SEED_WEIGHTS);
    assert_int_equal(scant_net_create(ctx, "mlp", &opts, &a.f.net), SCANT_OK);
    if (weights)
        assert_int_equal(scant_net_load(a.f.net, path_of(weights), false), SCANT_OK);
    assert_false(a.f.net->scaled); /* samples are not scaled */
    const nn_net *shape = a.f.net->net;
    a.from = shape->params[shape->nodes[shape->n_nodes - 1].weight].offset;
    a.f.parameters = scant_net_parameters(a.f.net);
    a.f.data = *a.data;
    a.f.numbers = a.data->numbers;
    a.p = plain_open(&a.f);
    return a;
}

static void close_again(again *a) {
    plain_close(&a->p);
    scant_net_free(a->f.net);
    scant_data_free(a->data);
    free(a->g);
}

/* Reads S and Q of a round and computes their gradients. */
static void take_sets(again *a, const char *folder, size_t round) {
    picked picks[POOL];
    a->n = a->n_batch = 0;
    for (size_t r = 0; r <= round + 1; r++) {
        size_t n = read_picks(folder, r, picks, POOL);
        for (size_t i = 0; i < n; i++) a->rows[a->n + a->n_batch++] = picks[i].index;
        if (r <= round) a->n += a->n_batch, a->n_batch = 0;
    }
    assert_int_equal(a->n, INITIAL + round * BATCH);
    size_t all = a->n + a->n_batch, size = a->f.parameters;
    a->g = realloc(a->g, all * size * sizeof *a->g);
    assert_non_null(a->g);
    for (size_t i = 0; i < all; i++) {
        plain_loss(&a->f, &a->p, a->rows[i],
                   i < a->n ? (int)a->data->labels[a->rows[i]] : -1);
        memcpy(a->g + i * size, a->p.gradient, size * sizeof *a->g);
    }
}

/* G: |sum of g over some rows|^2, of the parameters from `from` on. */
static double speed_of(const again *a, size_t from, const size_t *list, size_t n) {
    double sum = 0;
    for (size_t k = from; k < a->f.parameters; k++) {
        double at = 0;
        for (size_t i = 0; i < n; i++) at += (double)a->g[list[i] * a->f.parameters + k];
        sum += at * at;
    }
    return sum;
}

/* ---- picks ------------------------------------------------------------------------- */

typedef struct scored {
    double score;
    size_t row;
} scored;

static int better(const void *x, const void *y) {
    const scored *a = x, *b = y;
    return a->score < b->score ? 1 : a->score > b->score ? -1 : 0;
}

/* The batch is the best of the pool by scores, and the file has the same scores. */
static void check_batch(const char *folder, const again *a, const double *scores) {
    static scored all[POOL];
    picked got[BATCH];
    size_t n = 0;
    for (size_t row = 0; row < POOL; row++) {
        bool labelled = false;
        for (size_t i = 0; i < a->n; i++) labelled = labelled || a->rows[i] == row;
        if (!labelled) all[n++] = (scored){scores[row], row};
    }
    qsort(all, n, sizeof *all, better);
    assert_int_equal(read_picks(folder, 1, got, BATCH), BATCH);
    for (size_t i = 0; i < BATCH; i++) {
        assert_int_equal(got[i].index, all[i].row);
        assert_close(got[i].score, all[i].score, fabs(all[0].score), 1e-4, "score", i);
    }
}

/* With g_S of all layers: G(S u {x}) - G(S), and the variants of it. */
static void dynamic_ranks_by_gradients_of_all_layers(void **state) {
    (void)state;
    static const struct {
        const char *gamma;
        double norm, dot;
    } rules[] = {{"2", 1, 2}, {"0", 1, 0}, {"1", 1, 1}, {"inf", 0, 1}};
    static double scores[POOL];
    scant_ctx *ctx = ctx_threads(1);
    for (size_t r = 0; r < 4; r++) {
        const scant_setting more[] = {{"loop.dynamic.layers", "all"},
                                      {"loop.dynamic.gamma", rules[r].gamma}};
        char folder[32];
        snprintf(folder, sizeof folder, "gamma-%s", rules[r].gamma);
        assert_int_equal(run_experiment(ctx, folder, "dynamic", "none", more, 2),
                         SCANT_OK);
        again a = open_again(ctx, "dynamic-0");
        take_sets(&a, folder, 0);
        size_t size = a.f.parameters;
        float *sum = calloc(size, sizeof *sum);
        for (size_t i = 0; i < a.n; i++)
            for (size_t k = 0; k < size; k++) sum[k] += a.g[i * size + k];
        for (size_t row = 0; row < POOL; row++) {
            plain_loss(&a.f, &a.p, row, -1);
            scores[row] = rules[r].norm * dot_of(a.p.gradient, a.p.gradient, size) +
                          rules[r].dot * dot_of(a.p.gradient, sum, size);
        }
        check_batch(folder, &a, scores);
        free(sum);
        close_again(&a);
    }
    scant_ctx_free(ctx);
}

static void egl_ranks_by_gradients_of_all_layers(void **state) {
    (void)state;
    static double scores[POOL];
    scant_ctx *ctx = ctx_threads(1);
    assert_int_equal(run_experiment(ctx, "egl", "egl", "none",
                                    &(scant_setting){"loop.egl.layers", "all"}, 1),
                     SCANT_OK);
    again a = open_again(ctx, "egl-0");
    take_sets(&a, "egl", 0);
    for (size_t row = 0; row < POOL; row++) {
        double sum = 0, length = 0;
        for (int c = 0; c < 2; c++) {
            plain_loss(&a.f, &a.p, row, c);
            double chance = exp((double)a.p.logits[c]);
            sum += chance;
            length += chance * sqrt(dot_of(a.p.gradient, a.p.gradient, a.f.parameters));
        }
        scores[row] = length / sum;
    }
    check_batch("egl", &a, scores);
    close_again(&a);
    scant_ctx_free(ctx);
}

/* ---- figures ----------------------------------------------------------------------- */

/* Eigenvalues by Jacobi's rotations, ascending. */
static void jacobi(double *a, size_t n, double *values) {
    for (int sweep = 0; sweep < 60; sweep++)
        for (size_t p = 0; p < n; p++)
            for (size_t q = p + 1; q < n; q++) {
                if (a[p * n + q] == 0) continue;
                double angle = atan2(2 * a[p * n + q], a[q * n + q] - a[p * n + p]) / 2;
                double c = cos(angle), s = sin(angle);
                for (size_t k = 0; k < n; k++) {
                    double x = a[k * n + p], y = a[k * n + q];
                    a[k * n + p] = c * x - s * y, a[k * n + q] = s * x + c * y;
                }
                for (size_t k = 0; k < n; k++) {
                    double x = a[p * n + k], y = a[q * n + k];
                    a[p * n + k] = c * x - s * y, a[q * n + k] = s * x + c * y;
                }
            }
    for (size_t i = 0; i < n; i++) values[i] = a[i * n + i];
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n; k++)
            if (values[k] < values[i]) {
                double t = values[i];
                values[i] = values[k], values[k] = t;
            }
}

/* h+ . h+', or the mean over outputs of the inner products of their gradients. */
static void kernel_of(again *a, bool whole, double *k) {
    size_t n = a->n, d = scant_net_features(a->f.net), size = a->f.parameters;
    float *x = calloc(n * 2 * (size + d), sizeof *x);
    size_t width = whole ? 2 * size : d + 1;
    if (!whole) {
        float *h = malloc(n * d * sizeof *h);
        assert_int_equal(scant_net_predict(a->f.net, a->data, a->rows, n,
                                           &(scant_outputs){.features = h}),
                         SCANT_OK);
        for (size_t i = 0; i < n; i++) {
            memcpy(x + i * width, h + i * d, d * sizeof *h);
            x[i * width + d] = 1;
        }
        free(h);
    }
    for (size_t i = 0; whole && i < n; i++)
        for (size_t c = 0; c < 2; c++) {
            plain_output(&a->f, &a->p, a->rows[i], c);
            memcpy(x + i * width + c * size, a->p.gradient, size * sizeof *x);
        }
    for (size_t i = 0; i < n * n; i++)
        k[i] = dot_of(x + i / n * width, x + i % n * width, width) / (whole ? 2 : 1);
    free(x);
}

static double mmd_of(const double *k, size_t m, size_t n) {
    double a = 0, b = 0, c = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            if (i == j) continue;
            if (i < m && j < m) a += k[i * n + j];
            if (i < m) c += k[i * n + j];
            b += k[i * n + j];
        }
    double dm = (double)m, dn = (double)n;
    double square = a / (dm * (dm - 1)) + b / (dn * (dn - 1)) - 2 * c / (dm * (dn - 1));
    return square > 0 ? sqrt(square) : 0;
}

/* sqrt(2 Tr(Y^T K^-1 Y) / n) by elimination, a class at a time. */
static double bound_of(const again *a, const double *k) {
    size_t n = a->n;
    double sum = 0;
    for (int32_t c = 0; c < 2; c++) {
        double m[LABELS * (LABELS + 1)], y[LABELS];
        for (size_t i = 0; i < n; i++) {
            memcpy(m + i * (n + 1), k + i * n, n * sizeof *k);
            m[i * (n + 1) + n] = y[i] = a->data->labels[a->rows[i]] == c;
        }
        for (size_t p = 0; p < n; p++)
            for (size_t i = 0; i < n; i++) {
                if (i == p) continue;
                double by = m[i * (n + 1) + p] / m[p * (n + 1) + p];
                for (size_t j = p; j <= n; j++)
                    m[i * (n + 1) + j] -= by * m[p * (n + 1) + j];
            }
        for (size_t i = 0; i < n; i++)
            sum += y[i] * m[i * (n + 1) + n] / m[i * (n + 1) + i];
    }
    return sqrt(2 * sum / (double)n);
}

static double relative_error(double a, double b) { return fabs(a - b) / fabs(b); }

static void check_spectrum(again *a, const char *folder, size_t round, bool whole) {
    double k[LABELS * LABELS], copy[LABELS * LABELS], values[LABELS], alignment = 0;
    size_t n = a->n, rank = 0;
    kernel_of(a, whole, k);
    memcpy(copy, k, sizeof copy);
    jacobi(copy, n, values);
    double tolerance = whole ? 1e-6 : 1e-10; /* products of all layers are in float */
    for (size_t i = 0; i < n; i++) rank += values[i] > tolerance * values[n - 1];
    assert_true(figure(folder, round, "rank") == (double)rank);
    if (!whole && round) assert_true(rank <= WIDTH + 1 && rank < n); /* K is singular */
    assert_true(relative_error(figure(folder, round, "largest"), values[n - 1]) < 1e-4);
    assert_close(figure(folder, round, "lambda"), values[n - rank], values[n - 1], 1e-6,
                 "lambda", round);
    assert_true(relative_error(figure(folder, round, "lambda"), values[n - rank]) < 0.02);
    for (size_t i = 0; i < n * n; i++)
        if (a->data->labels[a->rows[i / n]] == a->data->labels[a->rows[i % n]])
            alignment += k[i];
    assert_true(relative_error(figure(folder, round, "alignment"), alignment) < 1e-4);
    assert_close(figure(folder, round, "mmd"), mmd_of(k, INITIAL, n), sqrt(values[n - 1]),
                 1e-4, "mmd", round);
    if (rank == n && values[0] > 1e-4 * values[n - 1])
        assert_true(relative_error(figure(folder, round, "bound"), bound_of(a, k)) <
                    0.01);
    else
        assert_true(figure(folder, round, "bound") > 0);
}

/* By the definitions: what each row of Q adds to G(S), and what all add together. */
static void check_dynamics(again *a, const char *folder, size_t round, bool whole) {
    size_t from = whole ? 0 : a->from, list[LABELS + BATCH], all = a->n + a->n_batch;
    for (size_t i = 0; i < all; i++) list[i] = i;
    double before = speed_of(a, from, list, a->n), alone = 0;
    double together = speed_of(a, from, list, all) - before;
    for (size_t u = a->n; u < all; u++) {
        list[a->n] = u;
        alone += speed_of(a, from, list, a->n + 1) - before;
    }
    assert_true(relative_error(figure(folder, round, "dynamics"), before) < 1e-3);
    if (round == ROUNDS)
        assert_true(isnan(figure(folder, round, "ratio")));
    else
        assert_true(relative_error(figure(folder, round, "ratio"), alone / together) <
                    1e-3);
}

static void figures_are_those_of_explicit_gradients_and_kernels(void **state) {
    (void)state;
    static const char *const layers[] = {"last", "all"};
    scant_ctx *ctx = ctx_threads(1);
    for (int whole = 0; whole < 2; whole++) {
        const char *folder = layers[whole];
        assert_int_equal(run_experiment(ctx, folder, "badge", layers[whole], NULL, 0),
                         SCANT_OK);
        for (size_t round = 0; round < ROUNDS; round++) {
            char weights[32];
            snprintf(weights, sizeof weights, "badge-%zu", round);
            again a = open_again(ctx, weights);
            take_sets(&a, folder, round);
            check_spectrum(&a, folder, round, whole);
            check_dynamics(&a, folder, round, whole);
            assert_true(figure(folder, round, "epochs") == 15);
            close_again(&a);
        }
        assert_true(figure(folder, 0, "mmd") == 0); /* S is S0 */
        assert_true(isnan(figure(folder, ROUNDS, "ratio")));
    }
    scant_ctx_free(ctx);
}

static double lambda_per_label(again *a) {
    double k[LABELS * LABELS], values[LABELS];
    size_t n = a->n, rank = 0;
    kernel_of(a, false, k);
    jacobi(k, n, values);
    for (size_t i = 0; i < n; i++) rank += values[i] > 1e-10 * values[n - 1];
    return values[n - rank] / (double)n;
}

/* lambda/n under the weights that the round starts from, which are the last round's,
 * divided by that of the initial set under the initial weights. */
static void the_learning_rate_follows_the_smallest_eigenvalue(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(1);
    assert_int_equal(run_experiment(ctx, "auto", "badge", "last",
                                    &(scant_setting){"train.lr", "auto"}, 1),
                     SCANT_OK);
    assert_true(figure("auto", 0, "lr_advice") == 0.01); /* the default of sgd */
    again first = open_again(ctx, NULL), then = open_again(ctx, "badge-0");
    take_sets(&first, "auto", 0);
    take_sets(&then, "auto", 1);
    double ratio = lambda_per_label(&then) / lambda_per_label(&first);
    assert_true(ratio > 0.1 && ratio < 10); /* else the test says nothing */
    assert_true(relative_error(figure("auto", 1, "lr_advice"), 0.01 * ratio) < 0.02);
    close_again(&first);
    close_again(&then);
    scant_ctx_free(ctx);
}

/* ---- the ratio --------------------------------------------------------------------- */

/* In the fixture of the specification, rows 0 and 3 against the two labelled ones. */
static void the_ratio_is_the_specified_one(void **state) {
    (void)state;
    double g[3][9] = {{0}}, sum[9] = {0}, norms = 0, products = 0, both = 0, cross = 0;
    static const size_t rows[] = {0, 3, 6, 7}, at[] = {0, 1, 2, 2};
    double speed = 0;
    for (size_t i = 0; i < 4; i++) {
        const double *z = fixture_z + 3 * rows[i], *h = fixture_h + 2 * rows[i];
        double p[3], whole = 0;
        size_t top = 0;
        for (size_t c = 0; c < 3; c++) whole += p[c] = exp(z[c]);
        for (size_t c = 0; c < 3; c++) p[c] /= whole;
        for (size_t c = 1; c < 3; c++)
            if (p[c] > p[top]) top = c;
        p[fixture_y[rows[i]] >= 0 ? (size_t)fixture_y[rows[i]] : top] -= 1;
        for (size_t c = 0; c < 3; c++)
            for (size_t k = 0; k < 3; k++)
                g[at[i]][3 * c + k] += p[c] * (k < 2 ? h[k] : 1);
    }
    for (size_t k = 0; k < 9; k++) {
        sum[k] = g[0][k] + g[1][k];
        speed += g[2][k] * g[2][k];
        norms += g[0][k] * g[0][k] + g[1][k] * g[1][k];
        products += sum[k] * g[2][k];
        both += sum[k] * sum[k];
        cross += sum[k] * g[2][k];
    }
    assert_true(fabs(speed - 2.38625) < 6e-7);
    assert_true(fabs(both + 2 * cross - .124257) < 6e-7);
    assert_true(fabs(loop_theory_ratio(norms, products, both, cross) - 2.121676) < 2e-5);
}

static void a_ratio_of_orthogonal_gradients_is_one(void **state) {
    (void)state;
    /* (3, 0, 0), (0, 4, 0) against (1, -2, 5): 9 + 16, 3 - 8; their sum is (3, 4, 0) */
    assert_true(loop_theory_ratio(25, -5, 25, -5) == 1);
    assert_true(loop_theory_ratio(2, 0, 4, 0) == 0.5);  /* two equal ones */
    assert_true(loop_theory_ratio(2, 1, 4, -4) == -1);  /* any value is possible */
    assert_true(isnan(loop_theory_ratio(2, 1, 4, -2))); /* together they add 0 */
    assert_true(isnan(loop_theory_ratio(0, 0, 0, 0)));
    assert_true(isnan(loop_theory_ratio((double)NAN, 0, 0, 0)));
}

/* ---- limits ------------------------------------------------------------------------ */

static scant_status check_labels(size_t cap, const char *theory, size_t initial,
                                 size_t n_pool, char *said, size_t room) {
    scant_ctx *ctx;
    scant_experiment *e;
    assert_int_equal(
        scant_ctx_create(&(scant_ctx_opts){.threads = 1, .memory = cap}, &ctx), SCANT_OK);
    const scant_setting all[] = {{"loop.theory", theory}, {"loop.rounds", "200"}};
    assert_int_equal(scant_experiment_open(ctx, NULL, all, 2, &e), SCANT_OK);
    e->set.initial = initial;
    scant_status s = loop_theory_check(&(loop_job){.e = e, .ctx = ctx}, n_pool);
    snprintf(said, room, "%s", scant_ctx_errmsg(ctx));
    scant_experiment_free(e);
    scant_ctx_free(ctx);
    return s;
}

static void too_many_labels_for_kernels_are_refused(void **state) {
    (void)state;
    enum { MB = 1 << 20 };
    char said[LINE]; /* 200 rounds of 40 */
    assert_int_equal(check_labels(4096UL * MB, "all", 0, 4000, said, LINE), SCANT_OK);
    assert_int_equal(check_labels(4096UL * MB, "last", 0, 9000, said, LINE), SCANT_OK);
    assert_int_equal(check_labels(4096UL * MB, "all", 8, 9000, said, LINE), SCANT_EUSAGE);
    assert_non_null(strstr(said, "there will be 8008: at most 4000 are possible"));
    /* three matrices in a quarter of 32 MB: 3 * 8 * 591^2 */
    assert_int_equal(check_labels(32 * MB, "all", 0, 591, said, LINE), SCANT_OK);
    assert_int_equal(check_labels(32 * MB, "all", 0, 592, said, LINE), SCANT_EUSAGE);
    assert_non_null(strstr(
        said, "there will be 592: with the allowed memory, at most 591 are possible"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dynamic_ranks_by_gradients_of_all_layers),
        cmocka_unit_test(egl_ranks_by_gradients_of_all_layers),
        cmocka_unit_test(figures_are_those_of_explicit_gradients_and_kernels),
        cmocka_unit_test(the_learning_rate_follows_the_smallest_eigenvalue),
        cmocka_unit_test(the_ratio_is_the_specified_one),
        cmocka_unit_test(a_ratio_of_orthogonal_gradients_is_one),
        cmocka_unit_test(too_many_labels_for_kernels_are_refused),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
