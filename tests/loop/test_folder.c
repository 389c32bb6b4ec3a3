/* SPDX-License-Identifier: Apache-2.0
 *
 * The results folder over several calls: what is written and when, with how many threads,
 * and next to other programs. This file defines its own rename() and flock(), to count
 * the files that are put in place and to act when the folder is locked.
 */
#include "../data/support.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/syscall.h>

#include "loop/loop.h"
#include "scant/train.h"

typedef struct replaced {
    size_t curves, picks, bins, reports;
    size_t shrunk; /* how often a table was replaced by a shorter one */
} replaced;

static replaced seen;
static void (*on_lock)(void);

static off_t size_of(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 ? st.st_size : 0;
}

static bool is_named(const char *path, const char *name) {
    const char *slash = strrchr(path, '/');
    return strcmp(slash ? slash + 1 : path, name) == 0;
}

int rename(const char *old, const char *new) {
    bool curve = is_named(new, "curve.csv"), picks = is_named(new, "picks.csv");
    bool bins = is_named(new, "calibration.csv"), theory = is_named(new, "theory.csv");
    seen.curves += curve;
    seen.picks += picks;
    seen.bins += bins;
    seen.reports += is_named(new, "report.html");
    seen.shrunk += (curve || picks || bins || theory) && size_of(old) < size_of(new);
    return (int)syscall(SYS_renameat, AT_FDCWD, old, AT_FDCWD, new);
}

int flock(int fd, int operation) {
    if (on_lock) on_lock();
    return (int)syscall(SYS_flock, fd, operation);
}

static const scant_setting moons[] = {
    {"data.train", "moons"}, {"data.test_size", "50"},
    {"model.name", "mlp"},   {"model.width", "8"},
    {"train.epochs", "3"},   {"loop.initial", "6"},
    {"loop.batch", "4"},     {"loop.rounds", "2"},
    {"loop.seeds", "0,1"},   {"loop.strategies", "random,margin,entropy"},
};
enum { SETTINGS = sizeof moons / sizeof *moons, RUNS = 6, ROUNDS = 3 };

static scant_status run_experiment(scant_ctx *ctx, scant_run_opts opts) {
    scant_experiment *e;
    TRY(scant_experiment_open(ctx, NULL, moons, SETTINGS, &e));
    seen = (replaced){0};
    scant_status status = scant_experiment_run(e, &opts);
    scant_experiment_free(e);
    return status;
}

static void each_round_is_written_once_and_each_run_reported_once(void **state) {
    scant_ctx *ctx = ctx_threads(1);
    scant_run_opts opts = {.out = path_of("once"), .threads = 1};
    (void)state;
    assert_int_equal(run_experiment(ctx, opts), SCANT_OK);
    assert_int_equal(seen.curves, 1 + RUNS * ROUNDS);
    assert_int_equal(seen.picks, 1 + RUNS * ROUNDS);
    assert_int_equal(seen.bins, 1 + RUNS * ROUNDS);
    assert_int_equal(seen.reports, RUNS);
    assert_int_equal(seen.shrunk, 0);
    opts.resume = true;
    assert_int_equal(run_experiment(ctx, opts), SCANT_OK);
    assert_int_equal(seen.curves, 1);
    assert_int_equal(seen.picks, 1);
    assert_int_equal(seen.reports, 1);
    assert_int_equal(seen.shrunk, 0);
    scant_ctx_free(ctx);
}

/* ---- threads ----------------------------------------------------------------------- */

static char warned[512];

static void remember(void *user, scant_log_level level, const char *text) {
    (void)user;
    if (level == SCANT_LOG_WARNING) snprintf(warned, sizeof warned, "%s", text);
}

/* The thread count of the last start in the log. */
static unsigned threads_of(const char *folder) {
    char path[600], line[4096];
    unsigned threads = 0;
    snprintf(path, sizeof path, "%s/log.jsonl", folder);
    FILE *log = fopen(path, "r");
    assert_non_null(log);
    while (fgets(line, sizeof line, log)) {
        const char *at = strstr(line, "\"threads\":");
        if (at) threads = (unsigned)strtoul(at + strlen("\"threads\":"), NULL, 10);
    }
    fclose(log);
    return threads;
}

static void a_resumed_experiment_keeps_its_thread_count(void **state) {
    static const struct {
        unsigned jobs, threads, expected;
        const char *warning;
    } calls[] = {
        {2, 0, 6, ""}, /* 12 for two runs side by side */
        {1, 0, 6, ""}, /* as before, though 12 are available */
        {0, 0, 6, ""}, /* likewise: 0 means 1 */
        {3, 0, 4, "have had 6 threads each and now have 4"}, /* 18 are too many */
        {3, 2, 2, "have had 4 threads each and now have 2"}, /* requested */
        {100, 0, 2, ""}, /* there are only six runs: 12 / 6, as before */
    };
    scant_ctx *ctx;
    scant_ctx_opts opts = {.threads = 12, .log = remember};
    (void)state;
    assert_int_equal(scant_ctx_create(&opts, &ctx), SCANT_OK);
    const char *folder = path_of("threads");
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        *warned = 0;
        scant_run_opts call = {.out = folder,
                               .resume = i > 0,
                               .jobs = calls[i].jobs,
                               .threads = calls[i].threads};
        assert_int_equal(run_experiment(ctx, call), SCANT_OK);
        assert_int_equal(threads_of(folder), calls[i].expected);
        if (*calls[i].warning ? !strstr(warned, calls[i].warning) : *warned)
            fail_msg("call %zu warned \"%s\"", i, warned);
    }
    scant_run_opts fresh = {.out = path_of("fresh"), .jobs = 100};
    assert_int_equal(run_experiment(ctx, fresh), SCANT_OK);
    assert_int_equal(threads_of(fresh.out), 2);
    scant_ctx_free(ctx);
}

/* ---- other programs ---------------------------------------------------------------- */

static void write_results(void) { put("raced/experiment.ini", "[data]\n", 7); }

/* Another program may finish between the first check and the lock. */
static void results_written_before_the_lock_are_not_overwritten(void **state) {
    scant_ctx *ctx = ctx_threads(1);
    char left[64] = "";
    (void)state;
    on_lock = write_results;
    scant_status status =
        run_experiment(ctx, (scant_run_opts){.out = path_of("raced"), .threads = 1});
    on_lock = NULL;
    assert_int_equal(status, SCANT_EUSAGE);
    assert_says(ctx, path_of("raced"), "holds results");
    FILE *file = fopen(path_of("raced/experiment.ini"), "r");
    assert_non_null(file);
    assert_non_null(fgets(left, sizeof left, file));
    fclose(file);
    assert_string_equal(left, "[data]\n");
    scant_ctx_free(ctx);
}

static void a_log_of_another_program_is_left_alone(void **state) {
    static const char *const theirs[] = {
        "no line end",
        "{\"event\": 1}\n{\"ha",
        "{\"times",
        "{\"time\": \"2026",
        "{\"time\":1700000000,\"level\":\"info\"}",
        "{\"time\":\"2026-11-18T10:00:00.000Z\",\"level\""};
    static const char *const ours[] = {"", "{\"ti", "{\"time\":\"2026",
                                       "{\"time\":\"2026-11-18T10:00:00.000Z\",\"ev",
                                       "\0\0\0"};
    scant_ctx *ctx = ctx_threads(1);
    (void)state;
    assert_int_equal(mkdir(path_of("theirs"), 0777), 0);
    for (size_t i = 0; i < sizeof theirs / sizeof *theirs; i++) {
        put("theirs/log.jsonl", theirs[i], strlen(theirs[i]));
        assert_int_equal(
            run_experiment(ctx, (scant_run_opts){.out = path_of("theirs"), .threads = 1}),
            SCANT_EUSAGE);
        assert_says(ctx, path_of("theirs/log.jsonl"), "not the log of an experiment");
        assert_int_equal(size_of(path_of("theirs/log.jsonl")), strlen(theirs[i]));
        assert_int_equal(size_of(path_of("theirs/experiment.ini")), 0);
    }
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) { /* what a kill leaves */
        char folder[32], log[64];
        snprintf(folder, sizeof folder, "ours%zu", i);
        snprintf(log, sizeof log, "%s/log.jsonl", folder);
        assert_int_equal(mkdir(path_of(folder), 0777), 0);
        put(log, ours[i], i < 4 ? strlen(ours[i]) : 3);
        assert_int_equal(
            run_experiment(ctx, (scant_run_opts){.out = path_of(folder), .threads = 1}),
            SCANT_OK);
        assert_int_equal(threads_of(path_of(folder)), 1);
    }
    scant_ctx_free(ctx);
}

/* ---- warnings ---------------------------------------------------------------------- */

static void every_warning_is_shown_once(void **state) {
    memory m;
    scant_ctx *ctx = ctx_counting(&m);
    loop_job job = {.ctx = ctx};
    char text[64];
    (void)state;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < 200; i++) {
            snprintf(text, sizeof text, "warning %d", i);
            assert_int_equal(loop_is_new_message(&job, text), pass == 0);
        }
    scant__free(ctx, job.messages);
    ctx_end(ctx, &m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_round_is_written_once_and_each_run_reported_once),
        cmocka_unit_test(a_resumed_experiment_keeps_its_thread_count),
        cmocka_unit_test(results_written_before_the_lock_are_not_overwritten),
        cmocka_unit_test(a_log_of_another_program_is_left_alone),
        cmocka_unit_test(every_warning_is_shown_once),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
