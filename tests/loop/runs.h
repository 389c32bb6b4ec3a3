/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a small experiment of one run, cancels it where a test wants, and reads what it
 * has left on disk. Collapses are planted: the linker replaces scant_net_train()
 * (tests/CMakeLists.txt).
 */
#ifndef SCANT_TESTS_LOOP_RUNS_H
#define SCANT_TESTS_LOOP_RUNS_H

#include <dirent.h>
#include <math.h>
#include <time.h>

#include "../data/support.h"
#include "planted.h"

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
static inline void plant(size_t i, uint64_t seed, size_t part) {
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
    bool cancelled, may_fail;
    char first[32];            /* phase reported */
    char last[32];             /* phase reported before it was cancelled */
    bool begins;               /* that was its first event; a slow machine reports more */
    size_t last_round, before; /* before: rounds of earlier calls */
    char said[4 * LINE];
} heard;

static inline void hear(void *user, const scant_run_event *event) {
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

static inline int cancel(void *user) { return ((const heard *)user)->cancelled; }

static inline void listen(void *user, scant_log_level level, const char *line) {
    heard *h = user;
    size_t at = strlen(h->said);
    (void)level;
    snprintf(h->said + at, sizeof h->said - at, "%s\n", line);
}

static inline scant_status run_experiment(const plan *p, const char *folder, bool resume,
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
    if (status != SCANT_OK && status != SCANT_ECANCELLED && !h->may_fail)
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

static inline kept read_kept(const plan *p, const char *folder) {
    kept k = {.ctx = ctx_threads(1)};
    scant__arena_init(&k.arena, k.ctx);
    assert_int_equal(loop_state_init(&k.arena, ROUNDS, 1000, &k.state), SCANT_OK);
    if (loop_state_read(k.ctx, file_of(folder, p->name, ".json"), p->run, ROUNDS, 1000,
                        &k.arena, &k.state) != SCANT_OK)
        fail_msg("%s", scant_ctx_errmsg(k.ctx));
    return k;
}

static inline void end_kept(kept *k) {
    scant__arena_end(&k->arena);
    scant_ctx_free(k->ctx);
}

/* Counts the files in runs/ whose names contain part; path: of the last one. */
static inline size_t count_files(const char *folder, const char *part,
                                 const char **path) {
    char runs[LINE];
    size_t found = 0;
    snprintf(runs, sizeof runs, "%s/runs", folder);
    if (path) *path = NULL;
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

static inline void assert_same(const plan *p, const char *folder, const char *other) {
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

/* Adds a setting to a plan. */
static inline void add_setting(plan *p, const char *key, const char *value) {
    size_t n = 0;
    while (p->more[n].key) n++;
    assert_true(n < MORE);
    p->more[n] = (scant_setting){key, value};
}

/* Their trainings collapse and are repeated. */
static const plan collapsing[] = {
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

#endif
