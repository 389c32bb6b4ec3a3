/* SPDX-License-Identifier: Apache-2.0
 *
 * Cancelled rounds: wherever a round is cancelled, its training is kept, and resuming it
 * gives the same results. The callback that reports phases cancels, so that the place is
 * known. Collapses are planted: the linker replaces scant_net_train()
 * (tests/CMakeLists.txt).
 */
#include <dirent.h>
#include <math.h>
#include <time.h>

#include "../data/support.h"
#include "planted.h"

#include "core/clock.h"
#include "loop/loop.h"
#include "scant/train.h"

enum { BASE = 9, MORE = 11, ROUNDS = 2, ROOM = 60, LINE = 256 };

/* Training evaluates on the test set at times: a fifth of 3 x 8 labels x 20 epochs is
 * four times its size. */
static const scant_setting base[BASE] = {
    {"data.train", "moons"}, {"data.test_size", "20"}, {"model.name", "mlp"},
    {"model.width", "8"},    {"train.lr", "0.1"},      {"train.batch", "4"},
    {"loop.initial", "8"},   {"loop.batch", "4"},      {"loop.rounds", "2"},
};

/* Plants the collapse of the first training of a part in round 0. */
static void plant(size_t i, uint64_t seed, size_t part) {
    planted.collapsed[i] = loop_seed(seed, 0, part, LOOP_SEED_TRAINING);
}

/* An experiment of one run. */
typedef struct plan {
    const char *name; /* of the run: strategy-seed */
    loop_run_name run;
    scant_setting more[MORE];
    unsigned threads;
} plan;

typedef struct heard {
    size_t events;     /* phases, and progress in them */
    size_t cancel_at;  /* cancel at this one; 0: never */
    const char *phase; /* or at the first one of this phase in round */
    size_t round;
    double pause; /* seconds that the callback sleeps */
    bool cancelled;
    char first[32];            /* phase reported */
    char last[32];             /* phase reported before it was cancelled */
    bool begins;               /* that was its first event; a slow machine reports more */
    size_t last_round, before; /* before: rounds of earlier calls */
    char said[4 * LINE];
} heard;

static void hear(void *user, const scant_run_event *event) {
    heard *h = user;
    h->before += event->before && event->kind == SCANT_RUN_ROUND;
    if (event->kind != SCANT_RUN_PROGRESS) return;
    if (h->pause > 0) {
        struct timespec t = {.tv_nsec = (long)(h->pause * 1e9)};
        nanosleep(&t, NULL);
    }
    h->events++;
    if (!*h->first) snprintf(h->first, sizeof h->first, "%s", event->phase);
    if (h->cancelled) return;
    h->begins = event->round != h->last_round || strcmp(event->phase, h->last) != 0;
    snprintf(h->last, sizeof h->last, "%s", event->phase);
    h->last_round = event->round;
    h->cancelled = h->events == h->cancel_at || (h->phase && event->round == h->round &&
                                                 strcmp(event->phase, h->phase) == 0);
}

static int cancel(void *user) { return ((const heard *)user)->cancelled; }

static void listen(void *user, scant_log_level level, const char *line) {
    heard *h = user;
    size_t at = strlen(h->said);
    (void)level;
    snprintf(h->said + at, sizeof h->said - at, "%s\n", line);
}

static scant_status run_experiment(const plan *p, const char *folder, bool resume,
                                   heard *h) {
    scant_setting all[BASE + MORE];
    size_t n = BASE;
    unsigned threads = p->threads;
    scant_ctx *ctx;
    scant_experiment *e;
    memcpy(all, base, sizeof base);
    for (size_t i = 0; i < MORE && p->more[i].key; i++) {
        size_t at = 0; /* of the same key, which it replaces */
        while (at < n && strcmp(all[at].key, p->more[i].key) != 0) at++;
        all[at] = p->more[i];
        n = size_max(n, at + 1);
    }
    scant_ctx_opts opts = {
        .threads = threads, .user = h, .log = listen, .cancel = cancel};
    assert_int_equal(scant_ctx_create(&opts, &ctx), SCANT_OK);
    assert_int_equal(scant_experiment_open(ctx, NULL, all, n, &e), SCANT_OK);
    scant_status status =
        scant_experiment_run(e, &(scant_run_opts){.out = path_of(folder),
                                                  .resume = resume,
                                                  .threads = threads,
                                                  .user = h,
                                                  .report = hear});
    if (status != SCANT_OK && status != SCANT_ECANCELLED)
        fail_msg("%s", scant_ctx_errmsg(ctx));
    scant_experiment_free(e);
    scant_ctx_free(ctx);
    return status;
}

/* ---- what is on disk --------------------------------------------------------------- */

typedef struct kept {
    scant_ctx *ctx;
    scant__arena arena;
    loop_state state;
} kept;

static const char *file_of(const char *folder, const char *name, const char *ending) {
    char path[LINE];
    snprintf(path, sizeof path, "%.40s/runs/%.150s%.20s", folder, name, ending);
    return path_of(path);
}

static kept read_kept(const plan *p, const char *folder) {
    kept k = {.ctx = ctx_threads(1)};
    scant__arena_init(&k.arena, k.ctx);
    assert_int_equal(loop_state_init(&k.arena, ROUNDS, 1000, &k.state), SCANT_OK);
    if (loop_state_read(k.ctx, file_of(folder, p->name, ".json"), p->run, ROUNDS, 1000,
                        &k.arena, &k.state) != SCANT_OK)
        fail_msg("%s", scant_ctx_errmsg(k.ctx));
    return k;
}

static void end_kept(kept *k) {
    scant__arena_end(&k->arena);
    scant_ctx_free(k->ctx);
}

/* Counts the files in runs/ whose names contain part; path: of the last one. */
static size_t count_files(const char *folder, const char *part, const char **path) {
    char runs[LINE];
    size_t found = 0;
    snprintf(runs, sizeof runs, "%s/runs", folder);
    DIR *files = opendir(path_of(runs));
    assert_non_null(files);
    for (struct dirent *file; (file = readdir(files));) {
        if (!strstr(file->d_name, part)) continue;
        found++;
        if (path) *path = file_of(folder, file->d_name, "");
    }
    closedir(files);
    return found;
}

static void assert_same(const plan *p, const char *folder, const char *other) {
    kept a = read_kept(p, folder), b = read_kept(p, other);
    assert_int_equal(a.state.n_points, ROUNDS + 1);
    assert_int_equal(b.state.n_points, ROUNDS + 1);
    for (size_t i = 0; i <= ROUNDS; i++) {
        const loop_point *x = &a.state.points[i], *y = &b.state.points[i];
        assert_true(x->accuracy == y->accuracy && x->loss == y->loss &&
                    x->best == y->best);
        assert_int_equal(a.state.ends[i], b.state.ends[i]);
    }
    assert_memory_equal(a.state.picks, b.state.picks,
                        loop_state_picks(&a.state) * sizeof *a.state.picks);
    assert_true(a.state.calibrations->when[LOOP_BEFORE].temperature == 1);
    assert_memory_equal(a.state.calibrations, b.state.calibrations,
                        (ROUNDS + 1) * sizeof *a.state.calibrations);
    for (size_t i = 0; i <= ROUNDS; i++) /* also the epochs of finished trainings */
        for (size_t k = 0; k < LOOP_FIGURES; k++) {
            double x = a.state.theories[i].figures[k], y = b.state.theories[i].figures[k];
            assert_true(x == y || (isnan(x) && isnan(y)));
            if (k != LOOP_RATIO && k != LOOP_HORIZON) assert_true(isfinite(x));
        }
    assert_memory_equal(a.state.healths, b.state.healths,
                        (ROUNDS + 1) * sizeof *a.state.healths);
    assert_int_equal(count_files(folder, "train", NULL), 0);
    assert_int_equal(count_files(folder, "left", NULL), 0);
    assert_int_equal(count_files(folder, ".npy", NULL), 0);
    end_kept(&a);
    end_kept(&b);
}

/* ---- cancelled anywhere ------------------------------------------------------------ */

static const plan plans[] = {
    {"sparse-greedy-3",
     {"sparse-greedy", 3},
     {{"loop.strategies", "sparse-greedy"},
      {"loop.seeds", "3"},
      {"train.epochs", "20"},
      {"train.initial_models", "3"},
      {"loop.query_seed", "3"}},
     1},
    {"badge-1",
     {"badge", 1},
     {{"loop.strategies", "badge"},
      {"loop.seeds", "1"},
      {"train.epochs", "20"},
      {"train.reinit", "no"},
      {"loop.query_seed", "5"},
      {"data.validation", "15"},
      {"train.patience", "18"}},
     1},
    {"albl-2",
     {"albl", 2},
     {{"loop.strategies", "albl"},
      {"loop.seeds", "2"},
      {"train.epochs", "20"},
      {"train.use_weights", "yes"},
      {"train.initial_models", "2"},
      {"loop.initial_seed", "9"},
      {"data.validation", "15"}},
     1},
    {"crc-4",
     {"crc", 4},
     {{"loop.strategies", "crc"},
      {"loop.seeds", "4"},
      {"data.pool", "60"},
      {"train.method", "fixmatch"},
      {"train.darp", "yes"},
      {"train.warm", "yes"},
      {"train.steps", "30"},
      {"train.ema", "0.9"},
      {"train.initial_models", "2"},
      {"train.initial_keep", "best"},
      {"loop.query_seed", "4"}},
     1},
    {"bald-5",
     {"bald", 5},
     {{"loop.strategies", "bald"},
      {"loop.seeds", "5"},
      {"train.epochs", "5"},
      {"train.warm", "yes"},
      {"train.initial_models", "2"},
      {"model.bayes", "ensemble"},
      {"model.samples", "2"}},
     1},
    {"acs-fw-6",
     {"acs-fw", 6},
     {{"loop.strategies", "acs-fw"},
      {"loop.seeds", "6"},
      {"train.epochs", "5"},
      {"train.reinit", "no"},
      {"loop.query_seed", "6"},
      {"model.bayes", "variational"},
      {"model.samples", "8"}},
     1},
    {"bald-7",
     {"bald", 7},
     {{"loop.strategies", "bald"},
      {"loop.seeds", "7"},
      {"train.epochs", "2"},
      {"train.reinit", "no"},
      {"model.bayes", "ensemble"},
      {"model.samples", "2"}},
     1},
    {"sparse-greedy-8",
     {"sparse-greedy", 8},
     {{"loop.strategies", "sparse-greedy"},
      {"loop.seeds", "8"},
      {"loop.sparse-greedy.source", "gradient"}, /* also trains ensembles to calibrate */
      {"train.epochs", "20"},
      {"train.warm", "yes"},
      {"train.initial_models", "2"},
      {"model.bayes", "ensemble"},
      {"model.samples", "3"}},
     2},
    /* trainings that collapse and are repeated */
    {"random-9",
     {"random", 9},
     {{"loop.strategies", "random"},
      {"loop.seeds", "9"},
      {"train.epochs", "20"},
      {"train.lr", "20"},
      {"train.initial_models", "2"}},
     1},
    {"bald-10",
     {"bald", 10},
     {{"loop.strategies", "bald"},
      {"loop.seeds", "10"},
      {"train.epochs", "12"},
      {"train.lr", "10"},
      {"model.bayes", "ensemble"},
      {"model.samples", "2"}},
     1},
};
enum { WARM_ENSEMBLE = 4, ENSEMBLE = 6, COLLAPSES = 8 };

/* The first phase reported when a round that was cancelled in `phase` is resumed. */
static const char *resumed_phase(const char *phase) {
    return strcmp(phase, "calibrating") && strcmp(phase, "picking")
               ? phase
               : "computing predictions";
}

static void a_round_cancelled_anywhere_is_resumed_there(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        const plan *p = &plans[i];
        char whole[32], cut[32];
        heard h = {0};
        snprintf(whole, sizeof whole, "whole%zu", i);
        assert_int_equal(run_experiment(p, whole, false, &h), SCANT_OK);
        size_t events = size_min(h.events, ROOM);
        assert_true(events > 3 * ROUNDS);
        for (size_t at = 1; at <= events; at++) {
            heard first = {.cancel_at = at}, second = {.cancel_at = 2}, rest = {0};
            snprintf(cut, sizeof cut, "cut%zu-%zu", i, at);
            scant_status status = run_experiment(p, cut, false, &first);
            if (!first.cancelled) break; /* a slow machine reported more events before */
            if (status != SCANT_ECANCELLED) assert_int_equal(first.last_round, ROUNDS);
            run_experiment(p, cut, true, &second);
            /* a round without another cancellation check was finished instead */
            if (second.before == first.last_round && first.begins)
                assert_string_equal(second.first, resumed_phase(first.last));
            else if (first.begins)
                assert_int_equal(second.before, first.last_round + 1);
            assert_int_equal(run_experiment(p, cut, true, &rest), SCANT_OK);
            assert_same(p, cut, whole);
        }
    }
}

/* Adds a setting to a plan. */
static void add_setting(plan *p, const char *key, const char *value) {
    size_t n = 0;
    while (p->more[n].key) n++;
    assert_true(n < MORE);
    p->more[n] = (scant_setting){key, value};
}

/* ---- collapsed trainings ----------------------------------------------------------- */

static void a_collapsed_training_is_repeated_once_unless_told_otherwise(void **state) {
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        plan p = plans[COLLAPSES + i / 2];
        bool retry = i % 2 == 0;
        heard h = {0};
        char folder[32];
        snprintf(folder, sizeof folder, "collapsed%zu", i);
        add_setting(&p, "loop.retry_collapsed", retry ? "yes" : "no");
        assert_int_equal(run_experiment(&p, folder, false, &h), SCANT_OK);
        kept k = read_kept(&p, folder);
        size_t repeated = 0;
        for (size_t round = 0; round <= ROUNDS; round++)
            repeated += k.state.healths[round].trainings == 2;
        assert_true(retry ? repeated > 0 : repeated == 0);
        assert_true((strstr(h.said, "repeated once") != NULL) == retry);
        end_kept(&k);
    }
}

/* Members 0 and 2 of 3 collapse. Every step is reported, because the callback sleeps
 * longer than the interval of reports. */
static void a_repetition_is_not_lost_by_a_cancellation(void **state) {
    enum { STEPS = 4 };
    static const size_t cancelled_at[] = {
        STEPS + 2,     /* the first member has collapsed, the second is in training */
        3 * STEPS,     /* the last step of the first trainings */
        3 * STEPS + 2, /* the first repetition */
        4 * STEPS + 2, /* the second one */
    };
    static const char *const parts[] = {"ca.", "ctc", "ctc", "ttc"};
    const plan p = {"bald-11",
                    {"bald", 11},
                    {{"loop.strategies", "bald"},
                     {"loop.seeds", "11"},
                     {"train.epochs", "4"},
                     {"train.batch", "8"},
                     {"model.bayes", "ensemble"},
                     {"model.samples", "3"}},
                    1};
    heard h = {0};
    (void)state;
    plant(0, 11, 0);
    plant(1, 11, 2);
    assert_int_equal(run_experiment(&p, "repeated", false, &h), SCANT_OK);
    for (size_t i = 0; i < sizeof cancelled_at / sizeof *cancelled_at; i++) {
        heard first = {.pause = 0.11, .cancel_at = cancelled_at[i]}, rest = {0};
        char folder[32];
        snprintf(folder, sizeof folder, "repeated%zu", i);
        assert_int_equal(run_experiment(&p, folder, false, &first), SCANT_ECANCELLED);
        kept k = read_kept(&p, folder);
        assert_memory_equal(k.state.partial.parts, parts[i], 4);
        end_kept(&k);
        assert_int_equal(run_experiment(&p, folder, true, &rest), SCANT_OK);
        assert_same(&p, folder, "repeated");
    }
    kept k = read_kept(&p, "repeated");
    assert_int_equal(k.state.healths[0].trainings, 2);
    assert_int_equal(k.state.healths[1].trainings, 1);
    end_kept(&k);
    plant_nothing();
}

/* The first training ends after one or two of its four steps. */
static void a_repetition_after_a_divergence_can_be_cancelled(void **state) {
    const plan p = {"random-15",
                    {"random", 15},
                    {{"loop.strategies", "random"},
                     {"loop.seeds", "15"},
                     {"train.epochs", "4"},
                     {"train.batch", "8"}},
                    1};
    heard h = {0}, first = {.pause = 0.11, .cancel_at = 4}, rest = {0};
    (void)state;
    planted.diverges[0] = loop_seed(15, 0, 0, LOOP_SEED_TRAINING);
    assert_int_equal(run_experiment(&p, "far", false, &h), SCANT_OK);
    assert_int_equal(run_experiment(&p, "far-cut", false, &first), SCANT_ECANCELLED);
    kept k = read_kept(&p, "far-cut");
    assert_memory_equal(k.state.partial.parts, "c", 2);
    assert_true(k.state.partial.healths->signs & SCANT_SIGN_DIVERGED);
    end_kept(&k);
    assert_int_equal(run_experiment(&p, "far-cut", true, &rest), SCANT_OK);
    assert_same(&p, "far-cut", "far");
    plant_nothing();
}

static void a_norm_that_overflows_is_unknown(void **state) {
    (void)state;
    loop_health h = loop_health_of(
        &(scant_train_state){.gradient_norm = INFINITY, .dead = 0.5, .signs = 1}, 2);
    assert_true(h.gradient_norm == -1 && h.dead == 0.5 && h.signs == 1);
    h = loop_health_of(&(scant_train_state){.gradient_norm = -1}, 1);
    assert_true(h.gradient_norm == -1 && h.dead == -1);
}

/* The repetition leaves its initial weights as they are, so all its evaluations equal the
 * last one. */
static void the_best_accuracy_is_that_of_the_second_network(void **state) {
    const plan p = {
        "random-14",
        {"random", 14},
        {{"loop.strategies", "random"}, {"loop.seeds", "14"}, {"train.epochs", "20"}},
        1};
    heard h = {0};
    (void)state;
    assert_int_equal(run_experiment(&p, "best-first", false, &h), SCANT_OK);
    plant(0, 14, 0);
    planted.still = loop_seed(14, 0, 0, LOOP_SEED_RETRY_TRAINING);
    assert_int_equal(run_experiment(&p, "best-second", false, &h), SCANT_OK);
    plant_nothing();
    kept first = read_kept(&p, "best-first"), second = read_kept(&p, "best-second");
    const loop_point *point = second.state.points;
    assert_true(point->accuracy < first.state.points->accuracy);
    assert_true(point->best == point->accuracy);
    end_kept(&first);
    end_kept(&second);
}

/* The query network's collapse is repeated, and counts in the round's health, also if the
 * round is cancelled later. */
static void a_collapsed_query_network_is_repeated(void **state) {
    static const char *const phases[] = {"training the query network",
                                         "computing predictions"};
    const plan p = {"margin-13",
                    {"margin", 13},
                    {{"loop.strategies", "margin"},
                     {"loop.seeds", "13"},
                     {"train.epochs", "6"},
                     {"loop.query_seed", "13"}},
                    1};
    heard h = {0};
    (void)state;
    assert_int_equal(run_experiment(&p, "query-sound", false, &h), SCANT_OK);
    planted.collapsed[0] = loop_seed(13, 0, 0, LOOP_SEED_QUERY_TRAINING);
    planted.collapsed[1] = loop_seed(13, 1, 0, LOOP_SEED_QUERY_TRAINING);
    planted.collapsed[2] = loop_seed(13, 1, LOOP_QUERY, LOOP_SEED_RETRY_TRAINING);
    assert_int_equal(run_experiment(&p, "query", false, &h), SCANT_OK);
    assert_non_null(strstr(h.said, "repeated once"));
    kept sound = read_kept(&p, "query-sound"), k = read_kept(&p, "query");
    assert_memory_not_equal(k.state.picks + 8, sound.state.picks + 8,
                            4 * sizeof *k.state.picks);
    for (size_t round = 0; round <= ROUNDS; round++) {
        assert_int_equal(k.state.healths[round].trainings, round < 2 ? 2 : 1);
        assert_int_equal(k.state.healths[round].signs, round == 1 ? SCANT_SIGN_LOSS : 0);
    }
    end_kept(&sound);
    end_kept(&k);
    for (size_t i = 0; i < 4; i++) {
        heard first = {.phase = phases[i / 2], .round = i % 2}, rest = {0};
        char folder[32];
        snprintf(folder, sizeof folder, "query%zu", i);
        assert_int_equal(run_experiment(&p, folder, false, &first), SCANT_ECANCELLED);
        assert_int_equal(run_experiment(&p, folder, true, &rest), SCANT_OK);
        assert_same(&p, folder, "query");
    }
    plant_nothing();
}

/* From round 1 on there are no other first weights. */
static void a_training_that_continues_is_not_repeated(void **state) {
    static const scant_setting ways[] = {{"train.reinit", "no"}, {"train.warm", "yes"}};
    (void)state;
    plant(0, 9, 0);
    plant(1, 9, 1);
    for (size_t i = 0; i < 2; i++) {
        plan p = plans[COLLAPSES];
        heard h = {0};
        const char *folder = i ? "warm" : "continued";
        add_setting(&p, ways[i].key, ways[i].value);
        assert_int_equal(run_experiment(&p, folder, false, &h), SCANT_OK);
        kept k = read_kept(&p, folder);
        assert_true(k.state.healths[1].signs & SCANT_SIGNS_COLLAPSED);
        for (size_t round = 0; round <= ROUNDS; round++)
            assert_int_equal(k.state.healths[round].trainings, round ? 1 : 2);
        end_kept(&k);
    }
    plant_nothing();
}

/* ---- damaged files ----------------------------------------------------------------- */

static void spoil(const char *path, bool lost) {
    assert_int_equal(unlink(path), 0);
    if (lost) return;
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs("none", f) > 0);
    assert_int_equal(fclose(f), 0);
}

static void an_unreadable_file_costs_only_time(void **state) {
    static const struct {
        size_t plan;
        const char *phase, *file;
    } cases[] = {
        {0, "training", "training-1-0-a"},
        {0, "training the query network", "trained-1-0"},
        {0, "training the query network", "training-1-query-a"},
        {0, "computing predictions", "trained-1-query"},
        /* the first member, already loaded, goes back to the last round's weights */
        {ENSEMBLE, "evaluating", "trained-1-1"}};
    (void)state;
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        const plan *p = &plans[cases[i / 2].plan];
        heard h = {0};
        char unspoiled[32];
        snprintf(unspoiled, sizeof unspoiled, "unspoiled%zu", cases[i / 2].plan);
        if (!i || cases[i / 2].plan != cases[(i - 1) / 2].plan)
            assert_int_equal(run_experiment(p, unspoiled, false, &h), SCANT_OK);
        heard first = {.phase = cases[i / 2].phase, .round = 1}, rest = {0};
        const char *path;
        char folder[32];
        snprintf(folder, sizeof folder, "spoiled%zu", i);
        assert_int_equal(run_experiment(p, folder, false, &first), SCANT_ECANCELLED);
        assert_int_equal(count_files(folder, cases[i / 2].file, &path), 1);
        spoil(path, i % 2);
        assert_int_equal(run_experiment(p, folder, true, &rest), SCANT_OK);
        assert_non_null(strstr(rest.said, cases[i / 2].file));
        assert_same(p, folder, unspoiled);
    }
}

/* A repetition draws new weights; a network that continues must not lose its own. */
static void a_state_cannot_demand_a_repetition_that_is_off(void **state) {
    const plan p = {
        "random-16",
        {"random", 16},
        {{"loop.strategies", "random"}, {"loop.seeds", "16"}, {"train.reinit", "no"}},
        1};
    heard h = {0}, first = {.phase = "evaluating", .round = 1}, rest = {0};
    (void)state;
    assert_int_equal(run_experiment(&p, "continues", false, &h), SCANT_OK);
    assert_int_equal(run_experiment(&p, "demands", false, &first), SCANT_ECANCELLED);
    kept k = read_kept(&p, "demands");
    assert_memory_equal(k.state.partial.parts, "t", 2);
    char *parts = scant__arena_strdup(&k.arena, "c");
    assert_non_null(parts);
    k.state.partial.parts = parts;
    assert_int_equal(
        loop_state_write(k.ctx, file_of("demands", p.name, ".json"), p.run, &k.state),
        SCANT_OK);
    end_kept(&k);
    assert_int_equal(run_experiment(&p, "demands", true, &rest), SCANT_OK);
    assert_same(&p, "demands", "continues");
}

/* lost: the unfinished training starts again from the weights that it started from. Every
 * step is reported, because the callback sleeps longer than the interval of reports. */
static void a_second_member_is_resumed_or_starts_again(void **state) {
    const plan *p = &plans[ENSEMBLE];
    heard h = {0};
    (void)state;
    assert_int_equal(run_experiment(p, "both", false, &h), SCANT_OK);
    for (size_t lost = 0; lost < 2; lost++) {
        heard first = {.pause = 0.11, .cancel_at = 6}, rest = {0};
        const char *folder = lost ? "second1" : "second0", *path;
        assert_int_equal(run_experiment(p, folder, false, &first), SCANT_ECANCELLED);
        kept k = read_kept(p, folder);
        assert_memory_equal(k.state.partial.parts, "ta", 3);
        end_kept(&k);
        assert_int_equal(count_files(folder, "training-0-1", &path), 1);
        if (lost) spoil(path, true);
        assert_int_equal(run_experiment(p, folder, true, &rest), SCANT_OK);
        assert_same(p, folder, "both");
    }
}

/* One file per member, and none of the round before. */
static void members_are_kept_for_the_next_round(void **state) {
    heard h = {0};
    (void)state;
    assert_int_equal(run_experiment(&plans[WARM_ENSEMBLE], "members", false, &h),
                     SCANT_OK);
    assert_int_equal(count_files("members", ".weights-2", NULL), 2);
    assert_int_equal(count_files("members", ".warm-2", NULL), 2);
    assert_int_equal(count_files("members", ".safetensors", NULL), 4);
}

/* Killed after writing a checkpoint and before the state that refers to it. */
static void a_new_checkpoint_does_not_overwrite_the_current_one(void **state) {
    const plan *p = &plans[1];
    heard h = {0}, first = {.phase = "training", .round = 1}, second = first, rest = {0};
    const char *old, *new;
    (void)state;
    assert_int_equal(run_experiment(p, "unkilled", false, &h), SCANT_OK);
    assert_int_equal(run_experiment(p, "killed", false, &first), SCANT_ECANCELLED);
    assert_int_equal(count_files("killed", "training-1-0", &old), 1);
    const char *json = file_of("killed", p->name, ".json");
    assert_int_equal(link(old, path_of("checkpoint")), 0);
    assert_int_equal(link(json, path_of("json")), 0);
    assert_int_equal(run_experiment(p, "killed", true, &second), SCANT_ECANCELLED);
    assert_int_equal(count_files("killed", "training-1-0", &new), 1);
    assert_string_not_equal(old, new);
    assert_int_equal(rename(path_of("checkpoint"), old), 0);
    assert_int_equal(rename(path_of("json"), json), 0);
    assert_int_equal(run_experiment(p, "killed", true, &rest), SCANT_OK);
    assert_same(p, "killed", "unkilled");
}

/* ---- time -------------------------------------------------------------------------- */

static void seconds_add_up_and_none_is_negative(void **state) {
    const plan *p = &plans[0];
    heard first = {.phase = "evaluating"}, second = first, rest = {0};
    char text[1 << 14] = "";
    (void)state;
    assert_int_equal(run_experiment(p, "added", false, &first), SCANT_ECANCELLED);
    kept a = read_kept(p, "added");
    assert_true(a.state.partial.train_seconds > 0);
    assert_true(a.state.partial.test_seconds > 0); /* there were evaluations */
    assert_int_equal(run_experiment(p, "added", true, &second), SCANT_ECANCELLED);
    kept b = read_kept(p, "added");
    assert_true(b.state.partial.train_seconds > a.state.partial.train_seconds);
    assert_true(b.state.partial.test_seconds > a.state.partial.test_seconds);
    assert_int_equal(run_experiment(p, "added", true, &rest), SCANT_OK);
    kept c = read_kept(p, "added");
    assert_true(c.state.points[0].train_seconds > b.state.partial.train_seconds);
    FILE *log = fopen(path_of("added/log.jsonl"), "r");
    assert_non_null(log);
    assert_true(fread(text, 1, sizeof text - 1, log) > 0);
    fclose(log);
    assert_non_null(strstr(text, "\"judge_seconds\":"));
    assert_null(strstr(text, "_seconds\":-"));
    end_kept(&a);
    end_kept(&b);
    end_kept(&c);
}

/* Time in the caller's callback is not counted as work: work and pauses together fit into
 * the elapsed time. */
static void time_in_the_callers_callback_is_not_work(void **state) {
    const plan *p = &plans[0];
    heard h = {.pause = 0.03};
    double seconds = 0, begun = scant__now();
    (void)state;
    assert_int_equal(run_experiment(p, "slow", false, &h), SCANT_OK);
    double whole = scant__now() - begun, paused = h.pause * (double)h.events;
    kept k = read_kept(p, "slow");
    for (size_t i = 0; i <= ROUNDS; i++)
        seconds += k.state.points[i].train_seconds + k.state.points[i].select_seconds;
    if (!(seconds > 0 && seconds + paused <= whole))
        fail_msg("%g s of work and %g s of pauses in %g s", seconds, paused, whole);
    end_kept(&k);
}

static double test_seconds_of(const char *folder, const char *epochs) {
    const plan p = {
        "random-0",
        {"random", 0},
        {{"loop.strategies", "random"}, {"loop.seeds", "0"}, {"train.epochs", epochs}},
        1};
    heard h = {.phase = "computing predictions"};
    run_experiment(&p, folder, false, &h);
    kept k = read_kept(&p, folder);
    assert_true(k.state.partial.on_disk);
    double seconds = k.state.partial.test_seconds;
    end_kept(&k);
    return seconds;
}

/* 4 epochs have no evaluation in between; 1000 have 240. */
static void evaluations_during_training_count_as_test_time(void **state) {
    double one = INFINITY;
    (void)state;
    for (int i = 0; i < 5; i++) {
        char folder[32];
        snprintf(folder, sizeof folder, "blind%d", i);
        one = fmin(one, test_seconds_of(folder, "4"));
    }
    double many = test_seconds_of("looking", "1000");
    if (!(many > 10 * one)) fail_msg("one evaluation %g s, 241 of them %g s", one, many);
}

/* ---- seeds, models, steps ---------------------------------------------------------- */

static void the_query_network_differs_even_with_the_same_seed(void **state) {
    plan p = {"margin-5",
              {"margin", 5},
              {{"loop.strategies", "margin"}, {"loop.seeds", "5"}, {"train.epochs", "6"}},
              1};
    heard h = {0};
    (void)state;
    assert_int_equal(run_experiment(&p, "own", false, &h), SCANT_OK);
    p.more[3] = (scant_setting){"loop.query_seed", "5"};
    assert_int_equal(run_experiment(&p, "other", false, &h), SCANT_OK);
    kept a = read_kept(&p, "own"), b = read_kept(&p, "other");
    size_t n = loop_state_picks(&a.state);
    assert_true(a.state.points[0].loss == b.state.points[0].loss);
    assert_memory_equal(a.state.picks, b.state.picks, 8 * sizeof *a.state.picks);
    assert_memory_not_equal(a.state.picks, b.state.picks, n * sizeof *a.state.picks);
    end_kept(&a);
    end_kept(&b);
}

/* The validation set chooses among five initial models; the test set would often choose
 * another. */
static void the_validation_set_chooses_the_initial_model(void **state) {
    size_t differ = 0;
    (void)state;
    for (unsigned seed = 0; seed < 6; seed++) {
        char name[32], number[8], folder[32];
        snprintf(name, sizeof name, "badge-%u", seed);
        snprintf(number, sizeof number, "%u", seed);
        snprintf(folder, sizeof folder, "valid%u", seed);
        const plan p = {name,
                        {"badge", seed},
                        {{"loop.strategies", "badge"},
                         {"loop.seeds", number},
                         {"train.epochs", "3"},
                         {"train.initial_models", "5"},
                         {"data.validation", "37"}},
                        1};
        heard first = {.phase = "computing predictions"}, rest = {0};
        loop_test_result by_test[5];
        assert_int_equal(run_experiment(&p, folder, false, &first), SCANT_ECANCELLED);
        kept k = read_kept(&p, folder);
        const loop_partial *partial = &k.state.partial;
        assert_int_equal(partial->n_tested, 5);
        for (size_t i = 0; i < 5; i++) {
            double right = partial->results[i].score * 37;
            assert_true(fabs(right - round(right)) < 1e-9);
            by_test[i] = partial->results[i];
            by_test[i].score = by_test[i].accuracy;
        }
        size_t chosen = loop_median(partial->results, 5);
        differ += partial->results[chosen].loss !=
                  partial->results[loop_median(by_test, 5)].loss;
        assert_int_equal(run_experiment(&p, folder, true, &rest), SCANT_OK);
        kept done = read_kept(&p, folder);
        assert_true(done.state.points[0].loss == partial->results[chosen].loss);
        end_kept(&k);
        end_kept(&done);
    }
    assert_true(differ > 0);
}

static void the_median_is_the_lower_one_of_two(void **state) {
    const loop_test_result v[] = {
        {.score = 4}, {.score = 1}, {.score = 3}, {.score = 3}, {.score = 9}};
    (void)state;
    assert_int_equal(loop_median(v, 1), 0);
    assert_int_equal(loop_median(v, 2), 1);
    assert_int_equal(loop_median(v, 3), 2);
    assert_int_equal(loop_median(v, 4), 2);
    assert_int_equal(loop_median(v, 5), 3);
}

static void the_first_best_model_is_kept_on_request(void **state) {
    const loop_test_result v[] = {
        {.score = -4}, {.score = 1}, {.score = 0}, {.score = 1}};
    const loop_settings best = {.initial_keep = "best"},
                        median = {.initial_keep = "median"};
    (void)state;
    assert_int_equal(loop_kept(&best, v, 1), 0);
    assert_int_equal(loop_kept(&best, v, 4), 1);
    assert_int_equal(loop_kept(&median, v, 4), loop_median(v, 4));
}

static void short_trainings_have_their_share_of_steps(void **state) {
    const size_t most = 1000000000000, epochs = (size_t)1 << 30;
    (void)state;
    assert_int_equal(loop_steps(0, 3, 7), 0);
    assert_int_equal(loop_steps(100, 10, 40), 25);
    assert_int_equal(loop_steps(10, 3, 7), 4); /* 30 / 7 */
    assert_int_equal(loop_steps(1, 1, 1000), 1);
    assert_int_equal(loop_steps(most, epochs, epochs), most);
    assert_int_equal(loop_steps(most, epochs / 4, epochs), most / 4);
}

/* ---- an early end ------------------------------------------------------------------ */

static void a_strategy_that_picks_nothing_is_reported(void **state) {
    static const scant_strategy_info info = {.name = "bss"};
    scant_experiment e = {.set = {.rounds = 9}};
    loop_job job = {.e = &e};
    size_t ends[] = {8, 12};
    loop_run run = {.job = &job,
                    .strategy = &(loop_strategy){.info = &info},
                    .split = {.n_pool = 50},
                    .state = {.ends = ends, .n_batches = 2, .n_points = 2, .over = true}};
    heard h = {0};
    scant_ctx *ctx;
    (void)state;
    scant_ctx_opts opts = {.threads = 1, .user = &h, .log = listen};
    assert_int_equal(scant_ctx_create(&opts, &ctx), SCANT_OK);
    loop_warn_ended(&run, ctx);
    assert_string_equal(h.said, "bss, seed 0: it picked none of the 38 samples that are "
                                "left after round 1 of 9; the run ends there\n");
    *h.said = 0;
    run.split.n_pool = 12;
    loop_warn_ended(&run, ctx);
    assert_string_equal(h.said,
                        "bss, seed 0: the pool is used up after round 1 of 9; the "
                        "run ends there\n");
    scant_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_round_cancelled_anywhere_is_resumed_there),
        cmocka_unit_test(a_collapsed_training_is_repeated_once_unless_told_otherwise),
        cmocka_unit_test(a_repetition_is_not_lost_by_a_cancellation),
        cmocka_unit_test(a_repetition_after_a_divergence_can_be_cancelled),
        cmocka_unit_test(a_norm_that_overflows_is_unknown),
        cmocka_unit_test(the_best_accuracy_is_that_of_the_second_network),
        cmocka_unit_test(a_collapsed_query_network_is_repeated),
        cmocka_unit_test(a_training_that_continues_is_not_repeated),
        cmocka_unit_test(an_unreadable_file_costs_only_time),
        cmocka_unit_test(a_state_cannot_demand_a_repetition_that_is_off),
        cmocka_unit_test(a_second_member_is_resumed_or_starts_again),
        cmocka_unit_test(members_are_kept_for_the_next_round),
        cmocka_unit_test(a_new_checkpoint_does_not_overwrite_the_current_one),
        cmocka_unit_test(seconds_add_up_and_none_is_negative),
        cmocka_unit_test(time_in_the_callers_callback_is_not_work),
        cmocka_unit_test(evaluations_during_training_count_as_test_time),
        cmocka_unit_test(the_query_network_differs_even_with_the_same_seed),
        cmocka_unit_test(the_validation_set_chooses_the_initial_model),
        cmocka_unit_test(the_median_is_the_lower_one_of_two),
        cmocka_unit_test(the_first_best_model_is_kept_on_request),
        cmocka_unit_test(short_trainings_have_their_share_of_steps),
        cmocka_unit_test(a_strategy_that_picks_nothing_is_reported),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
