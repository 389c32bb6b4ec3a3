/* SPDX-License-Identifier: Apache-2.0
 *
 * Picks of a project: which items may be picked, by which strategy, and that they are a
 * round.
 */
#include "projects.h"
#include "scant/project.h"

static const lab_opts plain = {.n = 200, .d = 5, .classes = 3, .noise = 0.6, .seed = 11};

static scant_picks *query(lab *l, scant_project_query_opts o, size_t *round) {
    scant_picks *picks;
    OK(scant_project_query(l->project, &o, &picks, round));
    return picks;
}

static scant_status note_withheld(void *user, const scant_item *item) {
    bool *barred = user;
    barred[item->item] = item->audit || item->answers || item->copy_of != item->item;
    return SCANT_OK;
}

static void assert_pickable(lab *l, const scant_picks *picks) {
    bool *barred = calloc(l->n, sizeof *barred);
    OK(scant_project_items(l->project, 0, SIZE_MAX, note_withheld, barred));
    for (size_t i = 0; i < picks->count; i++) {
        size_t item = picks->items[i].index;
        assert_true(item < l->n && !barred[item]);
        barred[item] = true; /* nor picked twice */
    }
    free(barred);
}

static void begin(lab *l, const char *name, scant_ctx *ctx, const scant_setting *settings,
                  size_t n) {
    lab_opts o = plain;
    o.settings = settings;
    o.n_settings = n;
    lab_make(l, ctx, name, o);
}

/* ---- before the first model -------------------------------------------------------- */

static size_t warnings, notes;

static void count_messages(void *user, scant_log_level level, const char *text) {
    (void)user;
    warnings += level == SCANT_LOG_WARNING;
    notes += level == SCANT_LOG_INFO && strstr(text, "no model yet") != NULL;
}

static void before_the_first_model_picks_are_random(void **state) {
    (void)state;
    scant_ctx *ctx;
    lab l;
    size_t round;
    assert_int_equal(
        scant_ctx_create(&(scant_ctx_opts){.threads = 2, .log = count_messages}, &ctx),
        SCANT_OK);
    begin(&l, "cold", ctx, NULL, 0);
    warnings = notes = 0;
    scant_picks *picks = query(&l, (scant_project_query_opts){0}, &round);
    assert_string_equal(picks->strategy, "random");
    assert_int_equal(picks->count, 20);
    assert_int_equal(round, 1);
    assert_int_equal(notes, 1); /* a note, not a warning */
    assert_int_equal(warnings, 0);
    assert_pickable(&l, picks);
    scant_picks_free(ctx, picks);
    /* fewer spare items than requested are no reason to warn either */
    picks = query(&l, (scant_project_query_opts){.batch = 20, .spare = 100000}, NULL);
    assert_int_equal(picks->count, 20);
    assert_int_equal(warnings, 0);
    scant_picks_free(ctx, picks);
    picks = query(&l, (scant_project_query_opts){.batch = 100000}, NULL);
    assert_int_equal(warnings, 1);
    scant_picks_free(ctx, picks);
    /* options of the strategy that is set are no error */
    const scant_setting option = {"bias", "1"};
    OK(scant_project_set(l.project, "strategy", "badge"));
    picks = query(&l, (scant_project_query_opts){.settings = &option, .n_settings = 0},
                  &round);
    assert_int_equal(round, 4);
    scant_picks_free(ctx, picks);
    lab_end(&l);
}

static void before_the_first_model_a_named_strategy_must_need_none(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(2);
    lab l;
    scant_picks *picks;
    const char *const fine[] = {"npc", "coreset", "random"};
    begin(&l, "named", ctx, NULL, 0);
    assert_int_equal(
        scant_project_query(l.project, &(scant_project_query_opts){.strategy = "margin"},
                            &picks, NULL),
        SCANT_ENOTREADY);
    assert_null(picks);
    assert_non_null(strstr(scant_ctx_errmsg(ctx), "margin needs a model"));
    for (size_t i = 0; i < 3; i++) {
        picks =
            query(&l, (scant_project_query_opts){.strategy = fine[i], .batch = 6}, NULL);
        assert_string_equal(picks->strategy, fine[i]);
        assert_int_equal(picks->count, 6);
        assert_pickable(&l, picks);
        scant_picks_free(ctx, picks);
    }
    lab_end(&l);
}

/* ---- by a model -------------------------------------------------------------------- */

static void train_some(lab *l) {
    lab_answer(l, 45, false);
    OK(scant_project_train(l->project, NULL, NULL));
}

/* Strategies that need posterior draws. */
static bool is_bayesian(const char *name) {
    return strcmp(name, "bald") == 0 || strcmp(name, "batchbald") == 0 ||
           strcmp(name, "acs-fw") == 0;
}

static void every_strategy_picks(void **state) {
    (void)state;
    const scant_setting bayes[] = {{"bayes", "dropout"}, {"samples", "5"}};
    scant_ctx *ctx = ctx_threads(2);
    size_t count;
    const scant_strategy_info *const *all = scant_strategies(&count);
    for (int draws = 0; draws < 2; draws++) {
        lab l;
        begin(&l, draws ? "all-bayes" : "all", ctx, bayes, draws ? 2 : 0);
        train_some(&l);
        for (size_t i = 0; i < count; i++) {
            scant_project_query_opts o = {
                .strategy = all[i]->name, .batch = 5, .spare = 7};
            scant_picks *picks;
            scant_status status = scant_project_query(l.project, &o, &picks, NULL);
            if (!draws && is_bayesian(all[i]->name)) {
                assert_int_equal(status, SCANT_ENOTREADY);
                assert_non_null(strstr(scant_ctx_errmsg(ctx), "set bayes to"));
                continue;
            }
            if (status != SCANT_OK)
                fail_msg("%s: %s", all[i]->name, scant_ctx_errmsg(ctx));
            assert_int_equal(picks->count, 5);
            assert_string_equal(picks->strategy, all[i]->name);
            assert_pickable(&l, picks);
            scant_picks_free(ctx, picks);
        }
        lab_close(&l);
    }
    scant_ctx_free(ctx);
}

static void picks_of(const char *name, unsigned threads, size_t out[10]) {
    scant_ctx *ctx = ctx_threads(threads);
    lab l;
    begin(&l, name, ctx, NULL, 0);
    train_some(&l);
    scant_picks *picks =
        query(&l, (scant_project_query_opts){.strategy = "badge", .batch = 10}, NULL);
    assert_int_equal(picks->count, 10);
    for (size_t i = 0; i < 10; i++) out[i] = picks->items[i].index;
    scant_picks_free(ctx, picks);
    lab_end(&l);
}

static void picks_are_the_same_on_any_number_of_threads(void **state) {
    (void)state;
    size_t a[10], b[10];
    picks_of("threads-1", 1, a);
    picks_of("threads-2", 2, b);
    assert_memory_equal(a, b, sizeof a);
}

static void labels_of_the_audit_set_do_not_change_picks(void **state) {
    (void)state;
    size_t picked[2][10];
    for (int wrong = 0; wrong < 2; wrong++) {
        scant_ctx *ctx = ctx_threads(2);
        lab l;
        begin(&l, wrong ? "poisoned" : "true", ctx, NULL, 0);
        lab_answer(&l, 45, wrong);
        OK(scant_project_train(l.project, NULL, NULL));
        scant_picks *picks = query(
            &l, (scant_project_query_opts){.strategy = "sparse-greedy", .batch = 10},
            NULL);
        for (size_t i = 0; i < 10; i++) picked[wrong][i] = picks->items[i].index;
        scant_picks_free(ctx, picks);
        lab_end(&l);
    }
    assert_memory_equal(picked[0], picked[1], sizeof picked[0]);
}

/* ---- rounds ------------------------------------------------------------------------ */

static scant_status last_round(void *user, const scant_round_point *round) {
    *(scant_round_point *)user = *round;
    return SCANT_OK;
}

static void picks_are_a_round_that_is_handed_out(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(2);
    lab l;
    size_t round, n, items[30], person;
    scant_lease lease;
    scant_round_point point;
    begin(&l, "round", ctx, NULL, 0);
    train_some(&l);
    scant_picks *picks =
        query(&l, (scant_project_query_opts){.strategy = "npc", .batch = 8, .spare = 8},
              &round);
    OK(scant_project_rounds(l.project, last_round, &point));
    assert_int_equal(point.round, round);
    assert_int_equal(point.picked, 8);
    assert_int_equal(point.model, 1);
    OK(scant_project_picked(l.project, 30, items, &n));
    assert_int_equal(n, 8);
    for (size_t i = 0; i < 8; i++) assert_int_equal(items[i], picks->items[i].index);
    OK(scant_project_person(l.project, "ann", &person));
    do { /* an audit item may come first */
        OK(scant_project_next(l.project, person, 1, &lease, &n));
        assert_int_equal(n, 1);
        scant_answer answer = {.item = lease.item,
                               .kind = SCANT_ANSWER_LABEL,
                               .label = (size_t)l.truth[lease.item],
                               .lease = lease.key};
        OK(scant_project_answer(l.project, person, &answer, 1, NULL));
    } while (lease.role == SCANT_ROLE_AUDIT);
    assert_int_equal(lease.role, SCANT_ROLE_PICK);
    assert_int_equal(lease.item, items[0]);
    scant_picks_free(ctx, picks);
    lab_end(&l);
}

static void a_batch_larger_than_the_pool_takes_all_and_the_next_none(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(2);
    lab l;
    size_t round = 9;
    const scant_setting settings[] = {{"audit_every", "0"}};
    lab_make(&l, ctx, "few",
             (lab_opts){.n = 12,
                        .d = 2,
                        .classes = 2,
                        .noise = 0.3,
                        .seed = 1,
                        .settings = settings,
                        .n_settings = 1});
    scant_picks *picks =
        query(&l, (scant_project_query_opts){.strategy = "random", .batch = 100}, &round);
    assert_int_equal(picks->count, 12);
    scant_picks_free(ctx, picks);
    assert_int_equal(lab_answer(&l, 100, false), 12);
    picks = query(&l, (scant_project_query_opts){.strategy = "random"}, &round);
    assert_null(picks);
    assert_int_equal(round, 0);
    lab_end(&l);
}

static void a_bandit_keeps_its_state_between_rounds(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(2);
    lab l;
    begin(&l, "bandit", ctx, NULL, 0);
    train_some(&l);
    double calls[3];
    for (size_t i = 0; i < 3; i++) {
        size_t size;
        lab_query(&l, "albl", 4);
        char *text = lab_read(&l, "cache/albl.json", &size);
        char *at = strstr(text, "\"calls\": ");
        assert_non_null(at);
        calls[i] = strtod(at + 9, NULL);
        free(text);
    }
    assert_true(calls[0] == 1 && calls[1] == 2 && calls[2] == 3);
    lab_remove(&l, "cache");
    lab_query(&l, "albl", 4);
    lab_end(&l);
}

static void a_failed_allocation_returns_no_picks(void **state) {
    (void)state;
    memory m;
    scant_ctx *ctx = ctx_counting(&m);
    lab l;
    size_t failed = 0;
    begin(&l, "memory", ctx, NULL, 0);
    train_some(&l);
    lab_query(&l, "badge", 5);
    for (size_t at = 0;; at++) {
        scant_picks *picks;
        m.calls = 0;
        m.fail_at = at;
        scant_status status = scant_project_query(
            l.project, &(scant_project_query_opts){.strategy = "badge", .batch = 5},
            &picks, NULL);
        bool done = m.calls <= at;
        m.fail_at = SIZE_MAX;
        if (status == SCANT_OK) {
            assert_int_equal(picks->count, 5);
            scant_picks_free(ctx, picks);
        } else {
            assert_int_equal(status, SCANT_ENOMEM);
            assert_null(picks);
            failed++;
        }
        if (done) break;
    }
    assert_true(failed > 10);
    lab_close(&l);
    ctx_end(ctx, &m);
}

/* ---- features that another program reads ------------------------------------------- */

typedef struct waiting {
    scant_hold *hold;
    size_t asked, warned;
    bool never; /* the lock is not released: the user cancels */
} waiting;

static int release_lock(void *user) {
    waiting *w = user;
    if (!w->warned) return 0;
    w->asked++;
    if (w->asked == 3 && !w->never) {
        scant_hold_free(w->hold);
        w->hold = NULL;
    }
    return w->asked == 5 && w->never;
}

static void hear_waiting(void *user, scant_log_level level, const char *text) {
    waiting *w = user;
    w->warned += level == SCANT_LOG_WARNING && strstr(text, "process 77") != NULL;
}

static void a_query_waits_while_another_program_reads_features(void **state) {
    (void)state;
    for (int never = 0; never < 2; never++) {
        waiting w = {.never = never};
        scant_ctx *ctx, *theirs = ctx_threads(1);
        scant_project *other;
        scant_picks *picks;
        lab l;
        assert_int_equal(scant_ctx_create(&(scant_ctx_opts){.threads = 1,
                                                            .log = hear_waiting,
                                                            .cancel = release_lock,
                                                            .user = &w},
                                          &ctx),
                         SCANT_OK);
        begin(&l, never ? "ended" : "waited", ctx, NULL, 0);
        OK(scant_project_open(theirs, l.dir, &other));
        OK(scant_project_hold(other, "cache", "process 77", &w.hold));
        scant_status status = scant_project_query(
            l.project, &(scant_project_query_opts){.strategy = "coreset", .batch = 3},
            &picks, NULL);
        assert_int_equal(status, never ? SCANT_ECANCELLED : SCANT_OK);
        assert_int_equal(w.warned, 1); /* once, however long it takes */
        if (!never) scant_picks_free(ctx, picks);
        scant_hold_free(w.hold);
        scant_project_free(other);
        scant_ctx_free(theirs);
        lab_end(&l);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(before_the_first_model_picks_are_random),
        cmocka_unit_test(before_the_first_model_a_named_strategy_must_need_none),
        cmocka_unit_test(every_strategy_picks),
        cmocka_unit_test(picks_are_the_same_on_any_number_of_threads),
        cmocka_unit_test(labels_of_the_audit_set_do_not_change_picks),
        cmocka_unit_test(picks_are_a_round_that_is_handed_out),
        cmocka_unit_test(a_batch_larger_than_the_pool_takes_all_and_the_next_none),
        cmocka_unit_test(a_bandit_keeps_its_state_between_rounds),
        cmocka_unit_test(a_failed_allocation_returns_no_picks),
        cmocka_unit_test(a_query_waits_while_another_program_reads_features),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
