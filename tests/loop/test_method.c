/* SPDX-License-Identifier: Apache-2.0
 *
 * Experiments with semi-supervised training: the defaults of each method, what it trains
 * on, and what no training may see.
 */
#include "../data/support.h"

#include "core/number.h"
#include "core/option.h"
#include "loop/loop.h"
#include "scant/train.h"

enum { MORE = 20, TEXT = 4096 };

static const char *const methods[] = {"fixmatch",     "freematch", "softmatch",
                                      "mean-teacher", "pi",        "pseudo-label"};
enum { METHODS = sizeof methods / sizeof *methods };

/* ---- defaults ---------------------------------------------------------------------- */

static char said[TEXT];

static void listen(void *user, scant_log_level level, const char *line) {
    (void)user;
    (void)level;
    size_t at = strlen(said);
    snprintf(said + at, sizeof said - at, "%s\n", line);
}

static scant_ctx *listening(void) {
    scant_ctx *ctx;
    said[0] = 0;
    assert_int_equal(
        scant_ctx_create(&(scant_ctx_opts){.threads = 1, .log = listen}, &ctx), SCANT_OK);
    return ctx;
}

static size_t count(const scant_setting *settings) {
    size_t n = 0;
    while (n < MORE && settings[n].key) n++;
    return n;
}

static scant_experiment *open_with(scant_ctx *ctx, const scant_setting *settings) {
    scant_experiment *e;
    if (scant_experiment_open(ctx, NULL, settings, count(settings), &e) != SCANT_OK)
        fail_msg("%s", scant_ctx_errmsg(ctx));
    return e;
}

static void print_to(scant_experiment *e, char text[TEXT]) {
    void *bytes;
    size_t size;
    assert_int_equal(scant_experiment_print(e, &bytes, &size), SCANT_OK);
    assert_true(size < TEXT);
    memcpy(text, bytes, size);
    text[size] = 0;
    scant_bytes_free(e->ctx, bytes);
}

static void defaults_are_those_of_scant_train(void **state) {
    scant_ctx *ctx = listening();
    size_t n, rows;
    const scant_method_info *const *infos = scant_methods(&n);
    const scant_option *row = scant_train_options(&rows);
    char got[SCANT__NUMBER], want[SCANT__NUMBER];
    (void)state;
    for (size_t i = 0; i < n; i++) {
        scant_train_opts o;
        scant_train_defaults(infos[i]->name, NULL, &o);
        scant_experiment *e =
            open_with(ctx, (scant_setting[MORE]){{"train.method", infos[i]->name}});
        if (i == 0) o.batch = 32; /* an experiment's default where the method has none */
        o.epochs = 150;
        o.loss = "ce";
        for (size_t k = 0; k < rows; k++)
            assert_string_equal(scant__option_text(&row[k], &e->set.training, got),
                                scant__option_text(&row[k], &o, want));
        scant_experiment_free(e);
    }
    assert_int_equal(n, METHODS + 1);
    assert_string_equal(said, "");
    scant_ctx_free(ctx);
}

static void defaults_are_printed_and_read_back(void **state) {
    scant_ctx *ctx = listening();
    char first[TEXT], second[TEXT];
    (void)state;
    for (size_t i = 0; i < METHODS; i++) {
        scant_experiment *e = open_with(
                             ctx, (scant_setting[MORE]){{"train.method", methods[i]}}),
                         *again;
        print_to(e, first);
        const char *path = put("printed.ini", first, strlen(first));
        assert_int_equal(scant_experiment_open(ctx, path, NULL, 0, &again), SCANT_OK);
        print_to(again, second);
        assert_string_equal(first, second);
        assert_true((strstr(first, "\nlr = 0.03\n") != NULL) == (i < 3));
        assert_true((strstr(first, "\nlr = 0.0003\n") != NULL) == (i >= 4));
        assert_true((strstr(first, "fixmatch_mu") != NULL) == (i == 0));
        assert_true((strstr(first, "pi_weight") != NULL) == (i == 4));
        scant_experiment_free(e);
        scant_experiment_free(again);
    }
    assert_string_equal(said, "");
    scant_ctx_free(ctx);
}

static void given_keys_override_the_defaults(void **state) {
    scant_ctx *ctx = listening();
    (void)state;
    scant_experiment *e =
        open_with(ctx, (scant_setting[MORE]){{"train.method", "fixmatch"},
                                             {"train.optimizer", "adam"},
                                             {"train.ema", "0"},
                                             {"train.weight_decay", "0"},
                                             {"train.fixmatch_mu", "3"}});
    const scant_train_opts *o = &e->set.training;
    assert_true(o->lr == 0.001 && o->ema == 0 && o->weight_decay == 0);
    assert_false(o->nesterov);
    assert_int_equal(o->ssl.mu, 3);
    scant_experiment_free(e);
    e = open_with(ctx, (scant_setting[MORE]){{"train.method", "fixmatch"},
                                             {"train.momentum", "0"},
                                             {"train.batch", "32"}});
    o = &e->set.training;
    assert_false(o->nesterov);
    assert_true(o->lr == 0.03 && o->batch == 32);
    scant_experiment_free(e);
    e = open_with(ctx, (scant_setting[MORE]){{"train.warm", "yes"}});
    assert_false(e->set.reinit);
    scant_experiment_free(e);
    assert_string_equal(said, "");
    scant_ctx_free(ctx);
}

/* Known values. FixMatch: sgd at 0.03 with Nesterov momentum, decay of weights only. */
static void the_learning_rate_and_nesterov_depend_on_the_optimizer(void **state) {
    scant_train_opts o;
    (void)state;
    scant_train_defaults("fixmatch", NULL, &o);
    assert_true(o.lr == 0.03 && o.nesterov && o.decay_weights_only && o.ema == 0.999);
    assert_true(o.momentum == 0.9 && o.batch == 64 && o.weight_decay == 5e-4);
    assert_true(o.ssl.mu == 7 && o.ssl.weight == 1 && o.ssl.drop == 0.2);
    assert_string_equal(o.optimizer, "sgd");
    assert_string_equal(o.schedule, "fixmatch");
    assert_string_equal(o.method, "fixmatch");
    scant_train_defaults("fixmatch", "adam", &o);
    assert_true(o.lr == 0.001 && !o.nesterov && o.batch == 64 && o.ssl.mu == 7);
    scant_train_defaults("pi", NULL, &o);
    assert_true(o.lr == 3e-4 && o.ema == 0 && o.ssl.weight == 20 && o.batch == 100);
    scant_train_defaults("mean-teacher", NULL, &o);
    assert_true(o.lr == 4e-4 && o.ema == 0.95 && o.ssl.weight == 8 && o.ssl.mu == 1);
    scant_train_defaults("pi", "sgd", &o);
    assert_true(o.lr == 0.01 && !o.nesterov);
    scant_train_defaults(NULL, NULL, &o);
    assert_true(o.lr == 0.01 && o.epochs == 10 && o.batch == 128 && o.momentum == 0.9);
    scant_train_defaults(NULL, "adam", &o);
    assert_true(o.lr == 0.001);
    assert_null(scant_method_find("fixmach"));
}

/* Whichever keys are given, an experiment fills in the library's defaults for the method
 * and optimizer. Without momentum, Nesterov momentum is off unless requested. */
static void defaults_are_filled_in_beside_any_given_keys(void **state) {
    static const scant_setting cases[][2] = {
        {{0}},
        {{"optimizer", "sgd"}},
        {{"optimizer", "adam"}},
        {{"momentum", "0.9"}},
        {{"momentum", "0"}},
        {{"optimizer", "sgd"}, {"momentum", "0.8"}},
        {{"lr", "0.07"}},
        {{"optimizer", "adam"}, {"lr", "0.07"}},
        {{"ema", "0.5"}},
        {{"nesterov", "no"}},
        {{"optimizer", "sgd"}, {"nesterov", "yes"}},
        {{"weight_decay", "0"}},
        {{"weight_decay", "0.01"}},
        {{"weight_decay", "0.01"}, {"decay_weights_only", "no"}},
    };
    enum { CASES = sizeof cases / sizeof *cases };
    scant_ctx *ctx = listening();
    size_t rows;
    const scant_option *row = scant_train_options(&rows);
    char got[SCANT__NUMBER], want[SCANT__NUMBER];
    (void)state;
    for (size_t i = 0; i < METHODS * CASES; i++) {
        const scant_setting *given = cases[i % CASES];
        const char *optimizer =
            given->key && !strcmp(given->key, "optimizer") ? given->value : NULL;
        scant_setting keys[MORE] = {{"train.method", methods[i / CASES]}};
        char names[2][64];
        scant_train_opts o;
        scant_train_defaults(methods[i / CASES], optimizer, &o);
        for (size_t k = 0; k < 2 && given[k].key; k++) {
            const scant_option *r = scant__option_find(row, rows, given[k].key);
            snprintf(names[k], sizeof names[k], "train.%s", given[k].key);
            keys[k + 1] = (scant_setting){names[k], given[k].value};
            scant__value value;
            assert_true(scant__option_read(r, given[k].value, &value));
            scant__option_store(r, given[k].value, &value, &o);
        }
        if (o.momentum == 0) o.nesterov = false;
        o.epochs = 150;
        o.loss = "ce";
        scant_experiment *e = open_with(ctx, keys);
        for (size_t k = 0; k < rows; k++) {
            const char *is = scant__option_text(&row[k], &e->set.training, got);
            const char *should = scant__option_text(&row[k], &o, want);
            if (strcmp(is, should) != 0)
                fail_msg("%s, case %zu: %s is %s, expected %s", methods[i / CASES],
                         i % CASES, row[k].key, is, should);
        }
        scant_experiment_free(e);
    }
    assert_string_equal(said, "");
    scant_ctx_free(ctx);
}

/* The option `method` lists every method, and methods set only options of the table. */
static void the_table_of_options_matches_the_methods(void **state) {
    size_t n, rows;
    const scant_method_info *const *infos = scant_methods(&n);
    const scant_option *row = scant_train_options(&rows);
    const scant_option *method = scant__option_find(row, rows, "method");
    char names[200] = "";
    (void)state;
    for (size_t i = 0; i < n; i++) {
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", i ? "|" : "", infos[i]->name);
        for (size_t k = 0; k < infos[i]->n_defaults; k++) {
            const scant_setting *s = &infos[i]->defaults[k];
            scant__value value;
            const scant_option *o = scant__option_find(row, rows, s->key);
            assert_non_null(o);
            assert_true(scant__option_read(o, s->value, &value));
        }
    }
    assert_string_equal(method->choices, names);
}

static void keys_of_another_method_are_ignored_with_a_message(void **state) {
    scant_ctx *ctx = listening();
    char with[TEXT], without[TEXT];
    scant_experiment *e;
    (void)state;
    e = open_with(ctx, (scant_setting[MORE]){{"train.method", "pi"},
                                             {"train.fixmatch_mu", "3"},
                                             {"train.darp", "yes"}});
    print_to(e, with);
    scant_experiment_free(e);
    assert_non_null(strstr(said, "fixmatch_mu, darp"));
    e = open_with(ctx, (scant_setting[MORE]){{"train.method", "pi"}});
    print_to(e, without);
    scant_experiment_free(e);
    assert_string_equal(with, without);
    /* but they must be valid */
    const scant_setting wrong = {"train.fixmatch_mu", "0"};
    assert_int_equal(scant_experiment_open(ctx, NULL, &wrong, 1, &e), SCANT_EUSAGE);
    said[0] = 0;
    e = open_with(ctx, (scant_setting[MORE]){{"train.method", "fixmatch"},
                                             {"train.darp_alpha", "3"}});
    scant_experiment_free(e);
    assert_non_null(strstr(said, "ignored because train.darp = no: darp_alpha"));
    said[0] = 0;
    e = open_with(ctx, (scant_setting[MORE]){{"train.method", "fixmatch"},
                                             {"train.darp", "no"},
                                             {"train.darp_alpha", "3"}});
    scant_experiment_free(e);
    assert_string_equal(said, "");
    scant_ctx_free(ctx);
}

static void contradictions_are_refused(void **state) {
    static const struct {
        scant_setting settings[MORE];
        const char *says;
    } cases[] = {
        {{{"train.method", "fixmach"}}, "fixmatch"},
        {{{"train.fixmatch_treshold", "0.9"}}, "nearest is train.fixmatch_threshold"},
        {{{"train.method", "pi"}, {"data.task", "regression"}}, "needs classes"},
        {{{"train.method", "pi"}, {"train.loss", "mse"}}, "need ce"},
        {{{"train.method", "mean-teacher"}, {"train.ema", "0"}}, "average"},
        {{{"train.method", "fixmatch"}, {"train.fixmatch_threshold", "0"}}, "above 0"},
        {{{"train.method", "fixmatch"}, {"train.fixmatch_threshold", "1.1"}},
         "at most 1"},
        {{{"train.norm_momentum", "0"}}, "expected a number above 0 and at most 1"},
        {{{"train.augment", "noise"}}, "unlabelled samples"},
        {{{"train.warm", "yes"}, {"train.reinit", "yes"}}, "contradict"},
    };
    scant_ctx *ctx = ctx_threads(1);
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scant_experiment *e;
        assert_int_equal(scant_experiment_open(ctx, NULL, cases[i].settings,
                                               count(cases[i].settings), &e),
                         SCANT_EUSAGE);
        assert_null(e);
        assert_says(ctx, "", cases[i].says);
    }
    scant_ctx_free(ctx);
}

/* ---- runs -------------------------------------------------------------------------- */

enum { ROWS = 120, TESTS = 60, MOST_ROUNDS = 4, MOST_PICKS = 400 };

typedef struct outcome {
    scant_status status;
    size_t n_points, n_batches, n_picks;
    loop_point points[MOST_ROUNDS + 1];
    loop_pick picks[MOST_PICKS];
    char error[SCANT__ERR_SIZE];
} outcome;

/* Runs one strategy with seed 0 in a folder of its own. */
static outcome run_experiment(const char *strategy, const char *folder,
                              const scant_setting *settings) {
    outcome out = {0};
    scant_ctx *ctx = listening();
    scant_experiment *e = open_with(ctx, settings);
    char name[128];
    out.status =
        scant_experiment_run(e, &(scant_run_opts){.out = path_of(folder), .threads = 1});
    snprintf(out.error, sizeof out.error, "%s", scant_ctx_errmsg(ctx));
    scant__arena arena;
    scant__arena_init(&arena, ctx);
    loop_state state;
    assert_int_equal(loop_state_init(&arena, e->set.rounds, MOST_PICKS, &state),
                     SCANT_OK);
    snprintf(name, sizeof name, "%s/runs/%s-0.json", folder, strategy);
    if (out.status == SCANT_OK) {
        if (loop_state_read(ctx, path_of(name), (loop_run_name){strategy, 0},
                            e->set.rounds, 1000, &arena, &state) != SCANT_OK)
            fail_msg("%s", scant_ctx_errmsg(ctx));
        out.n_points = state.n_points;
        out.n_picks = loop_state_picks(&state);
        memcpy(out.points, state.points, state.n_points * sizeof *state.points);
        memcpy(out.picks, state.picks, out.n_picks * sizeof *state.picks);
    }
    scant__arena_end(&arena);
    scant_experiment_free(e);
    scant_ctx_free(ctx);
    return out;
}

static void assert_ran(const outcome *out) {
    if (out->status != SCANT_OK) fail_msg("%s", out->error);
}

static bool same_points(const outcome *a, const outcome *b) {
    bool same = a->n_points == b->n_points;
    for (size_t i = 0; same && i < a->n_points; i++)
        same = a->points[i].accuracy == b->points[i].accuracy &&
               a->points[i].loss == b->points[i].loss;
    return same;
}

/* Two neighbouring classes in two dimensions. */
static float x[ROWS][2], x_test[TESTS][2];
static int32_t y[ROWS], y_test[TESTS];

static void put_npy(const char *name, const char *type, size_t rows, size_t columns,
                    const void *bytes, size_t size) {
    char head[128];
    const char *path = path_of(name);
    int used = snprintf(head + 10, sizeof head - 10,
                        columns ? "{'descr': '%s', 'fortran_order': False, 'shape': "
                                  "(%zu, %zu), }"
                                : "{'descr': '%s', 'fortran_order': False, 'shape': "
                                  "(%zu,), }",
                        type, rows, columns);
    memcpy(head, "\x93NUMPY\x01\x00\x76\x00", 10);
    memset(head + 10 + used, ' ', sizeof head - 11 - (size_t)used);
    head[sizeof head - 1] = '\n';
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(head, 1, sizeof head, f), sizeof head);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

static int draw_data(void **state) {
    if (make_dir(state) != 0) return -1;
    for (size_t i = 0; i < ROWS + TESTS; i++) {
        float *to = i < ROWS ? x[i] : x_test[i - ROWS];
        int32_t class = (int32_t)(unit_at(3, i) * 2);
        to[0] = (float)(normal_at(4, i) + 2 * class);
        to[1] = (float)(normal_at(5, i) - class);
        *(i < ROWS ? &y[i] : &y_test[i - ROWS]) = class;
    }
    put_npy("x.npy", "<f4", ROWS, 2, x, sizeof x);
    put_npy("y.npy", "<i4", ROWS, 0, y, sizeof y);
    put_npy("xt.npy", "<f4", TESTS, 2, x_test, sizeof x_test);
    put_npy("yt.npy", "<i4", TESTS, 0, y_test, sizeof y_test);
    return 0;
}

/* Settings: the data above, a small network, a method, and more. */
typedef struct spec {
    scant_setting all[MORE];
} spec;

static spec spec_of(const char *labels, const char *method, const scant_setting *more) {
    spec s = {{{"data.train", path_of("x.npy")},
               {"data.train_labels", path_of(labels)},
               {"data.test", path_of("xt.npy")},
               {"data.test_labels", path_of("yt.npy")},
               {"model.name", "mlp"},
               {"model.width", "8"},
               {"train.method", method},
               {"train.steps", "12"},
               {"train.batch", "8"}}};
    size_t n = count(s.all), extra = count(more);
    assert_true(n + extra <= MORE);
    memcpy(s.all + n, more, extra * sizeof *more);
    return s;
}

/* Unrevealed labels become random: a network that has seen one would differ. */
static void unrevealed_labels_are_not_seen(void **state) {
    static const scant_setting more[MORE] = {{"loop.strategies", "random"},
                                             {"loop.seeds", "0"},
                                             {"loop.initial", "10"},
                                             {"loop.rounds", "0"},
                                             {"train.use_weights", "no"}};
    (void)state;
    for (size_t i = 0; i < METHODS; i++) {
        char folder[32];
        int32_t other[ROWS];
        bool picked[ROWS] = {false};
        snprintf(folder, sizeof folder, "hidden%zu", i);
        spec s = spec_of("y.npy", methods[i], more);
        outcome a = run_experiment("random", folder, s.all);
        assert_ran(&a);
        assert_int_equal(a.n_picks, 10);
        for (size_t k = 0; k < a.n_picks; k++) picked[a.picks[k].index] = true;
        for (size_t k = 0; k < ROWS; k++)
            other[k] = picked[k] ? y[k] : (int32_t)(unit_at(9, k) * 2);
        assert_memory_not_equal(other, y, sizeof y);
        put_npy("hidden.npy", "<i4", ROWS, 0, other, sizeof other);
        snprintf(folder, sizeof folder, "shuffled%zu", i);
        s = spec_of("hidden.npy", methods[i], more);
        outcome b = run_experiment("random", folder, s.all);
        assert_ran(&b);
        assert_true(same_points(&a, &b));
        /* a revealed label is seen */
        other[a.picks[0].index] = !other[a.picks[0].index];
        put_npy("hidden.npy", "<i4", ROWS, 0, other, sizeof other);
        snprintf(folder, sizeof folder, "revealed%zu", i);
        outcome c = run_experiment("random", folder, s.all);
        assert_ran(&c);
        assert_false(same_points(&a, &c));
    }
}

/* Moving the validation samples must not change the training. */
static void validation_samples_are_not_trained_on(void **state) {
    static const scant_setting more[MORE] = {
        {"loop.strategies", "random"},
        {"loop.seeds", "0"},
        {"loop.initial", "10"},
        {"loop.rounds", "0"},
        {"data.validation", "30"},
        {"model.dropout", "0.5"}, /* so that two views of a sample differ */
    };
    scant_ctx *ctx = listening();
    bool pool[ROWS] = {false};
    (void)state;
    for (size_t i = 0; i < METHODS; i++) {
        char folder[32];
        spec s = spec_of("y.npy", methods[i], more);
        if (strcmp(methods[i], "pseudo-label") == 0) /* else none passes it yet */
            s.all[count(s.all)] = (scant_setting){"train.pseudo_label_threshold", "0.5"};
        snprintf(folder, sizeof folder, "valid%zu", i);
        outcome a = run_experiment("random", folder, s.all);
        assert_ran(&a);
        /* find the validation samples and the pool */
        scant__arena arena;
        loop_samples samples;
        loop_split split;
        scant_experiment *e = open_with(ctx, s.all);
        scant__arena_init(&arena, ctx);
        assert_int_equal(loop_samples_open(e, false, &arena, &samples), SCANT_OK);
        assert_int_equal(loop_split_make(&arena, &e->set, &samples, 0, &split), SCANT_OK);
        assert_int_equal(split.n_valid, 30);
        memset(pool, 0, sizeof pool);
        float other[ROWS][2], spoiled[ROWS][2];
        memcpy(other, x, sizeof x);
        memcpy(spoiled, x, sizeof x);
        for (size_t k = 0; k < split.n_valid; k++) other[split.valid[k]][0] += 50;
        for (size_t k = 0; k < split.n_pool; k++) pool[split.pool[k]] = true;
        for (size_t k = 0; k < 10; k++) pool[split.initial[k]] = false;
        for (size_t k = 0; k < ROWS; k++)
            if (pool[k]) spoiled[k][0] += 1;
        loop_samples_close(&samples);
        scant__arena_end(&arena);
        scant_experiment_free(e);
        put_npy("x2.npy", "<f4", ROWS, 2, other, sizeof other);
        s.all[0].value = path_of("x2.npy");
        snprintf(folder, sizeof folder, "moved%zu", i);
        outcome b = run_experiment("random", folder, s.all);
        assert_ran(&b);
        assert_true(same_points(&a, &b));
        /* moving the pool's samples changes it */
        put_npy("x2.npy", "<f4", ROWS, 2, spoiled, sizeof spoiled);
        snprintf(folder, sizeof folder, "spoilt%zu", i);
        outcome c = run_experiment("random", folder, s.all);
        assert_ran(&c);
        assert_false(same_points(&a, &c));
    }
    scant_ctx_free(ctx);
}

/* An average that hardly moves is still the untrained network. */
static void networks_are_evaluated_by_their_average(void **state) {
    static const scant_setting more[MORE] = {
        {"loop.strategies", "random"}, {"loop.seeds", "0"}, {"loop.initial", "10"},
        {"loop.rounds", "0"},          {"train.lr", "0.1"}, {"train.ema", "0.9999999"}};
    scant_setting none[MORE], quick[MORE];
    (void)state;
    memcpy(none, more, sizeof more);
    memcpy(quick, more, sizeof more);
    none[2] = (scant_setting){"loop.initial_how", "none"};
    quick[5].value = "0.1";
    spec s = spec_of("y.npy", "fixmatch", none);
    outcome untrained = run_experiment("random", "untrained", s.all);
    s = spec_of("y.npy", "fixmatch", more);
    outcome slow = run_experiment("random", "slow", s.all);
    s = spec_of("y.npy", "fixmatch", quick);
    outcome soon = run_experiment("random", "soon", s.all);
    assert_ran(&untrained);
    assert_ran(&slow);
    assert_ran(&soon);
    double off = slow.points[0].loss - untrained.points[0].loss;
    assert_true(off * off < 1e-8);
    assert_true(untrained.points[0].loss - soon.points[0].loss > 0.01);
    assert_true(soon.points[0].best == soon.points[0].accuracy);
}

/* ---- initial sets ------------------------------------------------------------------ */

static void every_method_starts_from_every_initial_set(void **state) {
    static const scant_setting zero[MORE] = {{"loop.strategies", "crc"},
                                             {"loop.seeds", "0"},
                                             {"loop.initial_how", "none"},
                                             {"loop.batch", "8"},
                                             {"loop.rounds", "2"}};
    static const scant_setting single[MORE] = {
        {"loop.strategies", "crc"},   {"loop.seeds", "0"},
        {"loop.initial", "4"},        {"loop.batch", "8"},
        {"loop.rounds", "1"},         {"loop.initial_how", "balanced"},
        {"train.initial_models", "3"}};
    static const scant_setting other[MORE] = {
        {"loop.strategies", "crc"}, {"loop.seeds", "0"},      {"loop.initial", "4"},
        {"loop.batch", "4"},        {"loop.query_seed", "7"}, {"loop.rounds", "2"}};
    (void)state;
    for (size_t i = 0; i < METHODS; i++) {
        char folder[32];
        snprintf(folder, sizeof folder, "zero%zu", i);
        spec s = spec_of("y.npy", methods[i], zero);
        outcome a = run_experiment("crc", folder, s.all);
        assert_ran(&a);
        assert_int_equal(a.n_points, 3);
        assert_true(a.points[0].labels == 0 && a.points[1].labels == 8);
        snprintf(folder, sizeof folder, "single%zu", i);
        s = spec_of("y.npy", methods[i], single);
        outcome b = run_experiment("crc", folder, s.all);
        assert_ran(&b);
        assert_true(b.n_points == 2 && b.points[1].labels == 12);
        snprintf(folder, sizeof folder, "other%zu", i);
        s = spec_of("y.npy", methods[i], other);
        outcome c = run_experiment("crc", folder, s.all);
        assert_ran(&c);
        assert_true(c.n_points == 3 && c.points[2].labels == 12);
        /* without a query network the picks differ */
        size_t n = count(s.all);
        s.all[n - 2] = s.all[n - 1];
        s.all[n - 1] = (scant_setting){NULL, NULL};
        snprintf(folder, sizeof folder, "own%zu", i);
        outcome d = run_experiment("crc", folder, s.all);
        assert_ran(&d);
        assert_memory_equal(c.picks, d.picks, 4 * sizeof *c.picks);
        assert_memory_not_equal(c.picks, d.picks, c.n_picks * sizeof *c.picks);
        assert_true(c.points[0].loss == d.points[0].loss);
    }
}

static void a_fully_labelled_pool_is_trained_on_its_labels_alone(void **state) {
    scant_setting more[MORE] = {{"loop.strategies", "random"}, {"loop.seeds", "0"},
                                {"data.pool", "20"},           {"loop.initial", "12"},
                                {"loop.batch", "8"},           {"loop.rounds", "1"}};
    (void)state;
    for (size_t i = 0; i < METHODS; i++) {
        char folder[32];
        snprintf(folder, sizeof folder, "used%zu", i);
        spec s = spec_of("y.npy", methods[i], more);
        outcome a = run_experiment("random", folder, s.all);
        assert_ran(&a);
        assert_int_equal(a.points[1].labels, 20);
        assert_true((strstr(said, "training is supervised") != NULL) == (i >= 3));
    }
    more[3].value = "20"; /* all labelled from the start */
    spec s = spec_of("y.npy", "pi", more);
    outcome a = run_experiment("random", "full", s.all);
    assert_int_equal(a.status, SCANT_EINPUT);
    assert_non_null(strstr(a.error, "supervised"));
}

/* ---- warm starts ------------------------------------------------------------------- */

static void a_warm_start_continues_with_more_than_the_weights(void **state) {
    static const scant_setting cold[MORE] = {
        {"loop.strategies", "random"}, {"loop.seeds", "0"},  {"loop.initial", "6"},
        {"loop.batch", "4"},           {"loop.rounds", "2"}, {"train.reinit", "no"},
        {"train.ema", "0.9"}};
    scant_setting warm[MORE], anew[MORE];
    (void)state;
    memcpy(warm, cold, sizeof cold);
    memcpy(anew, cold, sizeof cold);
    warm[5] = (scant_setting){"train.warm", "yes"};
    anew[5].value = "yes";
    for (size_t i = 0; i < METHODS; i++) {
        char folder[32];
        snprintf(folder, sizeof folder, "cold%zu", i);
        spec s = spec_of("y.npy", methods[i], cold);
        outcome a = run_experiment("random", folder, s.all);
        snprintf(folder, sizeof folder, "warm%zu", i);
        s = spec_of("y.npy", methods[i], warm);
        outcome b = run_experiment("random", folder, s.all);
        snprintf(folder, sizeof folder, "anew%zu", i);
        s = spec_of("y.npy", methods[i], anew);
        outcome c = run_experiment("random", folder, s.all);
        assert_ran(&a);
        assert_ran(&b);
        assert_ran(&c);
        assert_true(a.points[0].loss == b.points[0].loss);
        assert_true(a.points[1].loss != b.points[1].loss);
        assert_true(c.points[1].loss != b.points[1].loss);
        /* only the last round's checkpoint is kept */
        char name[64];
        snprintf(name, sizeof name, "warm%zu/runs/random-0.warm-%d.safetensors", i, 2);
        assert_int_equal(access(path_of(name), R_OK), 0);
        snprintf(name, sizeof name, "warm%zu/runs/random-0.warm-%d.safetensors", i, 1);
        assert_int_not_equal(access(path_of(name), R_OK), 0);
        snprintf(name, sizeof name, "warm%zu/runs/random-0.left-2-0.safetensors", i);
        assert_int_not_equal(access(path_of(name), R_OK), 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_those_of_scant_train),
        cmocka_unit_test(defaults_are_printed_and_read_back),
        cmocka_unit_test(given_keys_override_the_defaults),
        cmocka_unit_test(defaults_are_filled_in_beside_any_given_keys),
        cmocka_unit_test(the_table_of_options_matches_the_methods),
        cmocka_unit_test(the_learning_rate_and_nesterov_depend_on_the_optimizer),
        cmocka_unit_test(keys_of_another_method_are_ignored_with_a_message),
        cmocka_unit_test(contradictions_are_refused),
        cmocka_unit_test(unrevealed_labels_are_not_seen),
        cmocka_unit_test(validation_samples_are_not_trained_on),
        cmocka_unit_test(networks_are_evaluated_by_their_average),
        cmocka_unit_test(every_method_starts_from_every_initial_set),
        cmocka_unit_test(a_fully_labelled_pool_is_trained_on_its_labels_alone),
        cmocka_unit_test(a_warm_start_continues_with_more_than_the_weights),
    };
    return cmocka_run_group_tests(tests, draw_data, remove_dir);
}
