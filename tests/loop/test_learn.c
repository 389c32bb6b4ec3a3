/* SPDX-License-Identifier: Apache-2.0
 *
 * The learner: one network, ensembles whose members train side by side, cross-fitting.
 * test_partial has trainings that are cancelled and resumed.
 */
#include "../data/support.h"
#include "planted.h"

#include "core/rng.h"
#include "loop/crossfit.h"
#include "loop/loop.h"
#include "nn/network.h"
#include "scant/train.h"
#include "train_opts.h"

/* ---- the learner by itself --------------------------------------------------------- */

enum { WIDTH = 6, SAMPLES = 60 };

static scant_recipe small(size_t members) {
    return (scant_recipe){
        .model = "mlp",
        .net = {.classes = 2, .width = WIDTH, .seed = 5},
        .members = members,
        .train = TRAIN_OPTS(NULL, NULL, with.epochs = 3, with.batch = 8, with.seed = 9)};
}

static scant_data *open_moons(scant_ctx *ctx) {
    scant_data *data;
    const scant_data_opts opts = {.count = SAMPLES};
    assert_int_equal(scant_data_open(ctx, "moons", &opts, &data), SCANT_OK);
    return data;
}

static void weights_of(scant_net *net, size_t member, float out[200]) {
    scant_net *one = scant_net_member(net, member);
    assert_true(one->net->n_floats <= 200);
    assert_int_equal(nn_weights_get(one->weights, out), SCANT_OK);
}

static void learning_equals_creating_and_training(void **state) {
    scant_ctx *ctx = ctx_threads(1);
    scant_data *data = open_moons(ctx);
    scant_recipe recipe = small(0);
    scant_net_opts opts = recipe.net;
    scant_net *learned, *made, *created;
    scant_train_state end;
    float a[200] = {0}, b[200] = {0};
    (void)state;
    assert_int_equal(scant_learn(ctx, data, &recipe, &learned, &end), SCANT_OK);
    assert_int_equal(end.epoch, 3);
    scant_data_shape(data, opts.shape);
    assert_int_equal(scant_net_create(ctx, "mlp", &opts, &created), SCANT_OK);
    assert_int_equal(scant_recipe_make(ctx, data, &recipe, &made), SCANT_OK);
    weights_of(made, 0, a);
    weights_of(created, 0, b);
    assert_memory_equal(a, b, sizeof a);
    assert_int_equal(scant_net_train(created, data, &recipe.train, NULL), SCANT_OK);
    weights_of(learned, 0, a);
    weights_of(created, 0, b);
    assert_memory_equal(a, b, sizeof a);
    scant_net_free(learned);
    scant_net_free(made);
    scant_net_free(created);
    scant_data_free(data);
    scant_ctx_free(ctx);
}

typedef struct heard {
    size_t reports;
    bool cancel;
} heard;

static void hear_state(void *user, const scant_train_state *state) {
    heard *h = user;
    assert_true(state->step >= 1 && state->step <= state->steps);
    h->reports++;
}

/* Callbacks run on the caller's thread, so h needs no lock. */
static void an_ensemble_is_the_same_on_any_number_of_threads(void **state) {
    float first[3][200] = {{0}}, other[200] = {0};
    (void)state;
    for (unsigned threads = 1; threads <= 3; threads++) {
        scant_ctx *ctx = ctx_threads(threads);
        scant_data *data = open_moons(ctx);
        scant_recipe recipe = small(3);
        heard h = {0};
        scant_net *net;
        recipe.train.user = &h;
        recipe.train.report = hear_state;
        assert_int_equal(scant_learn(ctx, data, &recipe, &net, NULL), SCANT_OK);
        assert_int_equal(scant_net_members(net), 3);
        assert_true(h.reports >= 3);
        for (size_t i = 0; i < 3; i++) {
            weights_of(net, i, threads == 1 ? first[i] : other);
            if (threads > 1) assert_memory_equal(first[i], other, sizeof other);
        }
        scant_net_free(net);
        scant_data_free(data);
        scant_ctx_free(ctx);
    }
    assert_memory_not_equal(first[0], first[1], sizeof other);
    assert_memory_not_equal(first[1], first[2], sizeof other);
}

static int is_cancelled(void *user) { return ((heard *)user)->cancel; }

static void a_cancelled_training_gives_no_network(void **state) {
    (void)state;
    for (unsigned threads = 1; threads <= 2; threads++) {
        heard h = {.cancel = true};
        scant_ctx_opts opts = {.threads = threads, .user = &h, .cancel = is_cancelled};
        scant_ctx *ctx;
        assert_int_equal(scant_ctx_create(&opts, &ctx), SCANT_OK);
        h.cancel = false;
        scant_data *data = open_moons(ctx);
        scant_recipe recipe = small(2);
        scant_net *net;
        h.cancel = true;
        assert_int_equal(scant_learn(ctx, data, &recipe, &net, NULL), SCANT_ECANCELLED);
        assert_null(net);
        scant_data_free(data);
        scant_ctx_free(ctx);
    }
}

static void an_invalid_recipe_is_refused_with_a_reason(void **state) {
    scant_ctx *ctx = ctx_threads(1);
    scant_data *data = open_moons(ctx);
    scant_recipe recipe = small(1);
    scant_net *net;
    (void)state;
    recipe.model = "nothing";
    assert_int_equal(scant_learn(ctx, data, &recipe, &net, NULL), SCANT_EUSAGE);
    assert_null(net);
    assert_says(ctx, "there is no model", "nothing");
    recipe = small(1);
    recipe.weights = path_of("missing.safetensors");
    assert_int_not_equal(scant_learn(ctx, data, &recipe, &net, NULL), SCANT_OK);
    assert_null(net);
    assert_says(ctx, path_of("missing.safetensors"), "");
    recipe = small(1);
    recipe.train = (scant_train_opts){0};
    assert_int_equal(scant_learn(ctx, data, &recipe, &net, NULL), SCANT_EUSAGE);
    assert_null(net);
    assert_says(ctx, "the training options have no optimizer", "scant_train_defaults()");
    recipe.train.optimizer = "adam";
    assert_int_equal(scant_learn(ctx, data, &recipe, &net, NULL), SCANT_EUSAGE);
    assert_null(net);
    assert_says(ctx, "the training options have no schedule", "scant_train_defaults()");
    scant_data_free(data);
    scant_ctx_free(ctx);
}

/* ---- signs ------------------------------------------------------------------------- */

static void the_signs_are_those_of_all_members(void **state) {
    scant_ctx *ctx = ctx_threads(1);
    scant_data *data = open_moons(ctx);
    scant_recipe recipe = small(3);
    scant_net *net;
    scant_train_state sound, end;
    (void)state;
    recipe.train.lr = 0.1;
    recipe.train.epochs = 20;
    assert_int_equal(scant_learn(ctx, data, &recipe, &net, &sound), SCANT_OK);
    scant_net_free(net);
    assert_int_equal(sound.signs, 0);
    uint64_t seed = scant__rng_u64(&(scant__rng){9, SCANT__RNG_MEMBER}, 2);
    planted.collapsed[0] = seed;
    assert_int_equal(scant_learn(ctx, data, &recipe, &net, &end), SCANT_OK);
    scant_net_free(net);
    assert_int_equal(end.signs, SCANT_SIGN_LOSS);
    assert_true(end.window_loss != sound.window_loss); /* of the member with the sign */
    assert_true(end.loss == sound.loss);
    assert_true(end.accuracy == sound.accuracy);
    plant_nothing();
    planted.diverges[0] = seed;
    assert_int_equal(scant_learn(ctx, data, &recipe, &net, &end), SCANT_EINPUT);
    assert_true(end.signs & SCANT_SIGN_DIVERGED);
    plant_nothing();
    scant_data_free(data);
    scant_ctx_free(ctx);
}

/* The trainings of members side by side have networks of their own, which are freed. */
static void the_dead_layer_is_one_of_the_network(void **state) {
    (void)state;
    for (unsigned threads = 1; threads <= 2; threads++) {
        scant_ctx *ctx = ctx_threads(threads);
        scant_data *data = open_moons(ctx);
        scant_recipe recipe = small(2);
        scant_net *net;
        scant_train_state end;
        bool found = false;
        recipe.train.lr = 20;
        recipe.train.epochs = 10;
        assert_int_equal(scant_learn(ctx, data, &recipe, &net, &end), SCANT_OK);
        assert_true(end.signs & SCANT_SIGN_DEAD);
        for (size_t i = 0; i < 2; i++) {
            const nn_net *one = scant_net_member(net, i)->net;
            for (size_t k = 0; k < one->n_nodes; k++)
                found |= end.dead_layer == one->nodes[k].name;
        }
        assert_true(found);
        scant_net_free(net);
        scant_data_free(data);
        scant_ctx_free(ctx);
    }
}

/* ---- cross-fitting ----------------------------------------------------------------- */

/* Gives each sample its position as logits; no sample may be both kept and held out. */
static scant_status fit(void *user, size_t fold, const size_t *kept, size_t n_kept,
                        const size_t *held, size_t n_held, float *logits) {
    bool *seen = user;
    (void)fold;
    for (size_t i = 0; i < n_held; i++) {
        assert_false(seen[held[i]]);
        seen[held[i]] = true;
        logits[2 * i] = (float)held[i];
        logits[2 * i + 1] = -(float)held[i];
        for (size_t k = 0; k < n_kept; k++) assert_true(kept[k] != held[i]);
    }
    return SCANT_OK;
}

static void every_sample_is_held_out_once(void **state) {
    scant_ctx *ctx = ctx_threads(1);
    scant__arena arena;
    (void)state;
    scant__arena_init(&arena, ctx);
    for (size_t n = 2; n < 24; n++) {
        bool seen[24] = {false};
        const loop_crossfit c = {.n = n,
                                 .folds = n < LOOP_FOLDS ? n : LOOP_FOLDS,
                                 .classes = 2,
                                 .seed = n,
                                 .user = seen,
                                 .fit = fit};
        float *logits;
        size_t *places;
        assert_int_equal(loop_crossfit_logits(&c, &arena, &logits, &places), SCANT_OK);
        for (size_t i = 0; i < n; i++) {
            assert_true(seen[i]);
            assert_true(logits[2 * i] == (float)places[i]);
        }
    }
    scant__arena_end(&arena);
    scant_ctx_free(ctx);
}

/* ---- in experiments ---------------------------------------------------------------- */

/* Calibration trains ensembles of its own. */
static scant_status run_experiment(scant_ctx *ctx, const char *folder, unsigned threads,
                                   const char *lr, const char *rounds) {
    const scant_setting all[] = {
        {"data.train", "moons"},
        {"data.test_size", "20"},
        {"model.name", "mlp"},
        {"model.width", "8"},
        {"model.bayes", "ensemble"},
        {"model.samples", "3"},
        {"train.lr", lr},
        {"train.batch", "4"},
        {"train.epochs", "20"},
        {"train.warm", "yes"},
        {"loop.strategies", "sparse-greedy"},
        {"loop.sparse-greedy.source", "gradient"},
        {"loop.seeds", "8"},
        {"loop.initial", "8"},
        {"loop.batch", "4"},
        {"loop.rounds", rounds},
    };
    scant_experiment *e;
    scant_status status =
        scant_experiment_open(ctx, NULL, all, sizeof all / sizeof *all, &e);
    if (status == SCANT_OK)
        status = scant_experiment_run(
            e, &(scant_run_opts){.out = path_of(folder), .threads = threads});
    scant_experiment_free(e);
    return status;
}

static size_t read_member(const char *folder, int member, char *bytes, size_t room) {
    char name[128];
    int n = snprintf(name, sizeof name, "%s/runs/sparse-greedy-8.weights-2", folder);
    if (member) n += snprintf(name + n, sizeof name - (size_t)n, "-%d", member);
    snprintf(name + n, sizeof name - (size_t)n, ".safetensors");
    FILE *f = fopen(path_of(name), "rb");
    assert_non_null(f);
    size_t size = fread(bytes, 1, room, f);
    assert_true(size > 0 && size < room);
    fclose(f);
    return size;
}

/* Each member trains on one thread, however many there are. The run with one thread comes
 * first: it fills oneDNN's cache, which the thread sanitizer cannot follow. */
static void members_learn_the_same_on_any_number_of_threads(void **state) {
    static char a[1 << 16], b[1 << 16];
    const char *folders[] = {"one", "two", "three"};
    (void)state;
    for (unsigned threads = 1; threads <= 3; threads++) {
        const char *folder = folders[threads - 1];
        scant_ctx *ctx = ctx_threads(threads);
        assert_int_equal(run_experiment(ctx, folder, threads, "0.1", "2"), SCANT_OK);
        scant_ctx_free(ctx);
        for (int i = 0; i < 3; i++) {
            size_t n = read_member("one", i, a, sizeof a);
            assert_int_equal(read_member(folder, i, b, sizeof b), n);
            assert_memory_equal(a, b, n);
        }
    }
    /* and the members differ */
    size_t n = read_member("two", 0, a, sizeof a), m = read_member("two", 1, b, sizeof b);
    assert_true(n != m || memcmp(a, b, n) != 0);
}

/* The other members stop, too, and the run reports the error of that one. */
static void a_member_that_diverges_ends_the_run(void **state) {
    scant_ctx *ctx = ctx_threads(2);
    (void)state;
    assert_int_equal(run_experiment(ctx, "far", 2, "1e9", "2"), SCANT_EINPUT);
    assert_says(ctx, "sparse-greedy, seed 8, round 0", "loss");
    scant_ctx_free(ctx);
}

/* Allocations of one round fail in turn, and nothing leaks. Which one fails depends on
 * how the members' threads interleave. */
static void a_failed_allocation_leaks_nothing(void **state) {
    memory m;
    scant_ctx *ctx = ctx_counting(&m);
    size_t live = m.live, failed = 0;
    (void)state;
    for (size_t fail = 0;; fail += 1 + fail / 16) {
        char folder[32];
        snprintf(folder, sizeof folder, "short%zu", fail);
        m.fail_at = m.calls + fail;
        scant_status status = run_experiment(ctx, folder, 2, "0.1", "0");
        bool reached = m.calls > m.fail_at;
        m.fail_at = SIZE_MAX;
        assert_int_equal(m.live, live);
        if (status != SCANT_OK) assert_int_equal(status, SCANT_ENOMEM);
        failed += status != SCANT_OK;
        if (!reached) break;
    }
    assert_true(failed > 50);
    ctx_end(ctx, &m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(learning_equals_creating_and_training),
        cmocka_unit_test(an_ensemble_is_the_same_on_any_number_of_threads),
        cmocka_unit_test(a_cancelled_training_gives_no_network),
        cmocka_unit_test(an_invalid_recipe_is_refused_with_a_reason),
        cmocka_unit_test(the_signs_are_those_of_all_members),
        cmocka_unit_test(the_dead_layer_is_one_of_the_network),
        cmocka_unit_test(every_sample_is_held_out_once),
        cmocka_unit_test(members_learn_the_same_on_any_number_of_threads),
        cmocka_unit_test(a_member_that_diverges_ends_the_run),
        cmocka_unit_test(a_failed_allocation_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
