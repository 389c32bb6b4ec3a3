/* SPDX-License-Identifier: Apache-2.0
 *
 * scant_select() as a C program calls it: the guarantees of every strategy (memory,
 * failures, threads, what may be picked). tests/cli compares the results of the
 * strategies with an independent reference.
 */
#include "planned.h"
#include "random_evidence.h"

#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#if defined SCANT_SANITIZED && !defined __SANITIZE_THREAD__
enum { MOST_THREADS = 2, BATCH_STEP = 699 };
#else
enum { MOST_THREADS = 5, BATCH_STEP = 233 };
#endif
/* Under sanitizers small batches and few memory caps find as much as large and many.
 * NEXT_: the next cap in percent of the last. */
#ifdef SCANT_SANITIZED
enum { SOME_PICKS = 25, MANY_PICKS = 100, NEXT_CAP = 70, NEXT_CLOSE = 95 };
#else
enum { SOME_PICKS = 100, MANY_PICKS = 300, NEXT_CAP = 90, NEXT_CLOSE = 99 };
#endif

/* One way to call a strategy. */
typedef struct called {
    const char *name;
    unsigned uses, drop;
    extra set;
} called;

/* Options and kernels that make a strategy work in another way. */
static const struct {
    const char *strategy;
    extra set;
    unsigned needs; /* 0: what the strategy lists, either alternative */
} variants[] = {
    {"sparse-greedy", {{"terms", "variance"}, NULL}, 0},
    {"acs-fw", {{"inner", "fisher"}, NULL}, SCANT_DRAWS | SCANT_FEATURES},
    {"npc", {{NULL, NULL}, "ntk:depth=2"}, 0},
    {"npc", {{"refine", "3"}, "ntk:depth=1"}, 0},
    {"crc", {{NULL, NULL}, "ntk:depth=1"}, 0},
    {"bss", {{NULL, NULL}, "ntk:depth=2"}, SCANT_FEATURES},
};
enum { VARIANTS = sizeof variants / sizeof *variants };

/* Evidence that replaces all that a strategy lists. */
static const called measured[] = {
    {"dynamic", SCANT_SLOPES, SCANT_LENGTHS, {{NULL, NULL}, NULL}},
    {"egl", SCANT_LENGTHS, SCANT_SLOPES, {{NULL, NULL}, NULL}}};
enum { MEASURED = sizeof measured / sizeof *measured };

enum { MOST_CALLS = 100 };

static size_t all_calls(called *out) {
    size_t n, count = 0;
    for (; count < MEASURED; count++) out[count] = measured[count];
    const scant_strategy_info *const *all = scant_strategies(&n);
    for (size_t s = 0; s < n + VARIANTS; s++) {
        bool plain = s < n;
        const scant_strategy_info *info =
            plain ? all[s] : scant_strategy_find(variants[s - n].strategy);
        extra set = plain ? (extra){0} : variants[s - n].set;
        assert_true(count + 2 <= MOST_CALLS);
        unsigned needs = info->needs, or_needs = info->or_needs;
        if (!plain && variants[s - n].needs) needs = variants[s - n].needs;
        unsigned not = SCANT_SLOPES | SCANT_LENGTHS;
        out[count++] = (called){info->name, needs, or_needs | not, set};
        if (or_needs && !set.kernel) /* a kernel uses features */
            out[count++] = (called){info->name, or_needs, needs | not, set};
    }
    return count;
}

/* Variants are slow with large batches, and small ones test as much. */
enum { FEW_PICKS = 10 };
static bool is_variant(const extra *set) { return set->option.key || set->kernel; }
static bool too_many(const called *c, size_t batch) {
    return is_variant(&c->set) && batch > FEW_PICKS;
}

static scant_select_opts opts_of(const fixture *f) {
    return (scant_select_opts){.settings = &f->set.option,
                               .n_settings = f->set.option.key != NULL,
                               .kernel = f->set.kernel};
}

/* A whole selection as one call that may fail at any step. */
static scant_status whole_call(scant_ctx *ctx, const fixture *f, const char *strategy,
                               size_t batch, size_t candidates, scant_picks **out) {
    inputs in;
    scant_status s = open_inputs(ctx, f, candidates, &in);
    if (s != SCANT_OK) return s;
    scant_select_opts opts = opts_of(f);
    if (is_variant(&f->set) && batch > FEW_PICKS) batch = FEW_PICKS;
    s = scant_select(ctx, strategy, &in.evidence, batch, &opts, out);
    close_inputs(&in);
    return s;
}

/* Strategies whose picks have weights; and the one that may pick fewer rows than
 * requested. */
static bool weights(const char *strategy) {
    return !strncmp(strategy, "sparse-", 7) || !strcmp(strategy, "acs-fw") ||
           !strcmp(strategy, "bss");
}

static bool may_stop_short(const char *strategy) { return !strcmp(strategy, "bss"); }

/* Whether the strategy's description lists every figure. */
static bool figures_are_listed(const scant_picks *picks) {
    const scant_strategy_info *info = scant_strategy_find(picks->strategy);
    for (size_t i = 0; i < picks->n_info; i++) {
        size_t k = 0;
        while (k < info->n_figures && strcmp(info->figures[k].name, picks->info[i].name))
            k++;
        if (k == info->n_figures) return false;
    }
    return true;
}

static void picks_are_distinct_unlabelled_candidates(void **state) {
    (void)state;
    fixture *f = make();
    scant_ctx *ctx = ctx_threads(2);
    called all[MOST_CALLS];
    size_t n_calls = all_calls(all);
    for (size_t s = 0; s < n_calls; s++)
        for (size_t batch = 1; batch < 1000; batch = batch * 3 + 1)
            for (size_t k = 0; k < 2; k++) {
                f->drop = all[s].drop, f->set = all[s].set;
                if (too_many(&all[s], batch)) continue;
                size_t candidates = k ? 200 : 0, open = 0;
                int allowed[N] = {0};
                scant_picks *picks;
                for (size_t i = 0; i < (k ? candidates : N); i++) {
                    size_t row = k ? (size_t)f->candidates[i] : i;
                    if (f->labels[row] < 0) allowed[row] = 1, open++;
                }
                assert_int_equal(
                    whole_call(ctx, f, all[s].name, batch, candidates, &picks), SCANT_OK);
                assert_int_equal(picks->rows, N);
                assert_true(figures_are_listed(picks));
                size_t most = batch < open ? batch : open;
                if (may_stop_short(all[s].name))
                    assert_true(picks->count >= 1 && picks->count <= most);
                else
                    assert_int_equal(picks->count, most);
                for (size_t i = 0; i < picks->count; i++) {
                    assert_true(picks->items[i].index < N);
                    assert_true(allowed[picks->items[i].index]);
                    allowed[picks->items[i].index] = 0;
                    double weight = picks->items[i].weight;
                    assert_true(weights(all[s].name) ? weight >= 0 && isfinite(weight)
                                                     : weight == 1);
                    assert_true(isfinite(picks->items[i].score));
                }
                scant_picks_free(ctx, picks);
            }
    scant_ctx_free(ctx);
    free(f);
}

static void thread_counts_change_nothing(void **state) {
    (void)state;
    fixture *f = make();
    called all[MOST_CALLS];
    size_t n_calls = all_calls(all);
    for (size_t s = 0; s < n_calls; s++) {
        f->drop = all[s].drop, f->set = all[s].set;
        scant_picks *first = NULL;
        scant_ctx *first_ctx = ctx_threads(1);
        assert_int_equal(whole_call(first_ctx, f, all[s].name, MANY_PICKS, 0, &first),
                         SCANT_OK);
        for (unsigned threads = 2; threads <= MOST_THREADS; threads++) {
            scant_ctx *ctx = ctx_threads(threads);
            scant_picks *picks;
            assert_int_equal(whole_call(ctx, f, all[s].name, MANY_PICKS, 0, &picks),
                             SCANT_OK);
            assert_int_equal(picks->count, first->count);
            assert_memory_equal(picks->items, first->items,
                                picks->count * sizeof *picks->items);
            scant_picks_free(ctx, picks);
            scant_ctx_free(ctx);
        }
        scant_picks_free(first_ctx, first);
        scant_ctx_free(first_ctx);
    }
    free(f);
}

/* The picks of a batch begin with those of half of it. */
static void ranked_strategies_pick_the_same_first_rows_for_any_batch(void **state) {
    (void)state;
    fixture *f = make();
    scant_ctx *ctx = ctx_threads(2);
    called all[MOST_CALLS];
    size_t n_calls = all_calls(all), ranked = 0;
    for (size_t s = 0; s < n_calls; s++) {
        if (!scant_strategy_find(all[s].name)->ranked) continue;
        ranked++;
        f->drop = all[s].drop, f->set = all[s].set;
        for (size_t batch = 1; batch <= SOME_PICKS; batch *= 5) {
            scant_picks *half, *whole;
            assert_int_equal(whole_call(ctx, f, all[s].name, batch, 0, &half), SCANT_OK);
            assert_int_equal(whole_call(ctx, f, all[s].name, 2 * batch, 0, &whole),
                             SCANT_OK);
            assert_int_equal(whole->count, 2 * half->count);
            if (memcmp(whole->items, half->items, batch * sizeof *half->items) != 0)
                fail_msg("%s: %zu picks differ from the first of %zu", all[s].name, batch,
                         2 * batch);
            scant_picks_free(ctx, half);
            scant_picks_free(ctx, whole);
        }
    }
    assert_int_equal(ranked, 13); /* ten strategies, some with either of two inputs */
    scant_ctx_free(ctx);
    free(f);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    fixture *f = make();
    called all[MOST_CALLS];
    size_t n_calls = all_calls(all);
    for (size_t s = 0; s < n_calls; s++) {
        f->drop = all[s].drop, f->set = all[s].set;
        memory m;
        scant_ctx *ctx = ctx_counting(&m);
        scant_picks *picks = NULL;
        scant_status status = SCANT_ENOMEM;
        size_t steps = 0;
        for (; status != SCANT_OK; steps++) {
            m.calls = 0, m.fail_at = steps;
            status = whole_call(ctx, f, all[s].name, SOME_PICKS, 300, &picks);
            if (status == SCANT_OK) break;
            assert_int_equal(status, SCANT_ENOMEM);
            assert_null(picks);
            assert_int_equal(m.live, 1); /* the context alone */
            assert_true(strlen(scant_ctx_errmsg(ctx)) > 0);
        }
        assert_true(steps > 8); /* it did fail, many times */
        scant_picks_free(ctx, picks);
        assert_int_equal(m.live, 1);
        scant_ctx_free(ctx);
    }
    free(f);
}

static void selections_keep_to_the_plan(void **state) {
    (void)state;
    fixture *f = make();
    called all[MOST_CALLS];
    size_t n_calls = all_calls(all);
    for (size_t s = 0; s < n_calls; s++)
        for (size_t batch = 1; batch <= N; batch += BATCH_STEP) {
            if (too_many(&all[s], batch)) continue;
            scant_ctx *ctx = ctx_threads(2);
            inputs in;
            scant_plan plan;
            scant_picks *picks;
            f->drop = all[s].drop, f->set = all[s].set;
            assert_int_equal(open_inputs(ctx, f, 300, &in), SCANT_OK);
            scant_select_opts opts = opts_of(f);
            assert_int_equal(planned(ctx, all[s].name, &in.evidence, batch, &opts, &plan),
                             SCANT_OK);
            assert_int_equal(
                scant_select(ctx, all[s].name, &in.evidence, batch, &opts, &picks),
                SCANT_OK);
            assert_true(scant_ctx_memory_peak(ctx) <= plan.memory);
            assert_int_equal(plan.rows, N);
            assert_true(plan.passes >= 1 && plan.block_rows >= 1);
            assert_true(plan.block_rows * plan.blocks >= N);
            scant_picks_free(ctx, picks);
            close_inputs(&in);
            scant_ctx_free(ctx);
        }
    free(f);
}

/* Under any cap: the same picks, or a refusal that names the smallest sufficient cap. */
static void check_caps(const fixture *f, const char *strategy, size_t batch) {
    scant_ctx *free_ctx = ctx_threads(2);
    scant_picks *want;
    assert_int_equal(whole_call(free_ctx, f, strategy, batch, 0, &want), SCANT_OK);
    size_t cap = scant_ctx_memory_peak(free_ctx) * 4, refused = 0, granted = 0, named = 0;
    for (; cap > 5000; cap = cap * NEXT_CAP / 100) {
        scant_ctx *ctx;
        scant_plan plan;
        scant_picks *picks = NULL;
        inputs in;
        if (named) cap = named; /* the number of the last refusal */
        assert_int_equal(
            scant_ctx_create(&(scant_ctx_opts){.threads = 2, .memory = cap}, &ctx),
            SCANT_OK);
        assert_int_equal(open_inputs(ctx, f, 0, &in), SCANT_OK);
        scant_select_opts opts = opts_of(f);
        scant_status s = planned(ctx, strategy, &in.evidence, batch, &opts, &plan);
        scant_status done =
            scant_select(ctx, strategy, &in.evidence, batch, &opts, &picks);
        assert_int_equal(s, done); /* the plan predicts the result */
        assert_true(scant_ctx_memory_peak(ctx) <= cap);
        if (s == SCANT_OK) {
            granted++;
            assert_true(scant_ctx_memory_peak(ctx) <= plan.memory);
            assert_memory_equal(picks->items, want->items,
                                want->count * sizeof *want->items);
            if (named) cap /= 2, named = 0;
        } else {
            refused++;
            assert_int_equal(s, SCANT_ENOMEM);
            assert_non_null(strstr(scant_ctx_errmsg(ctx), "needs"));
            assert_int_equal(named, 0); /* it was enough */
            named = refused == 1 ? plan.memory : 0;
        }
        scant_picks_free(ctx, picks);
        close_inputs(&in);
        scant_ctx_free(ctx);
    }
    assert_true(granted > 1 && refused > 1);
    scant_picks_free(free_ctx, want);
    scant_ctx_free(free_ctx);
}

static void a_tight_cap_gives_the_same_picks_or_names_a_sufficient_cap(void **state) {
    (void)state;
    fixture *f = make();
    called all[MOST_CALLS];
    size_t n_calls = all_calls(all);
    for (size_t s = 0; s < n_calls; s++)
        for (size_t batch = 1; batch <= N; batch += BATCH_STEP) {
            if (too_many(&all[s], batch)) continue;
            f->drop = all[s].drop, f->set = all[s].set;
            check_caps(f, all[s].name, batch);
        }
    free(f);
}

/* Features that turn out to need double precision take more memory than planned: the same
 * picks under the cap, or a refusal that names a cap that is enough. */
static void check_extreme(const fixture *f, const char *strategy) {
    enum { BATCH = 100 };
    scant_ctx *ctx = ctx_threads(2);
    scant_picks *want, *picks;
    assert_int_equal(whole_call(ctx, f, strategy, BATCH, 0, &want), SCANT_OK);
    size_t cap = scant_ctx_memory_peak(ctx) * 5 / 4, refused = 0, granted = 0;
    for (; refused < 12; cap = cap * NEXT_CLOSE / 100) {
        scant_ctx *tight;
        scant_ctx_opts opts = {.threads = 2, .memory = cap};
        assert_int_equal(scant_ctx_create(&opts, &tight), SCANT_OK);
        scant_status status = whole_call(tight, f, strategy, BATCH, 0, &picks);
        assert_true(scant_ctx_memory_peak(tight) <= cap);
        if (status == SCANT_OK) {
            granted++;
            assert_int_equal(picks->count, want->count);
            assert_memory_equal(picks->items, want->items,
                                want->count * sizeof *want->items);
        } else {
            unsigned long long named = 0;
            assert_int_equal(status, SCANT_ENOMEM);
            const char *number = strstr(scant_ctx_errmsg(tight), "needs ");
            assert_true(number && sscanf(number, "needs %llu", &named) == 1);
            assert_true(named > cap);
            assert_true(refused != 1 || granted); /* the number was enough */
            if (!refused++)
                cap = named * 100 / NEXT_CLOSE + 100, granted = 0; /* is tried next */
        }
        scant_picks_free(tight, picks);
        scant_ctx_free(tight);
    }
    scant_picks_free(ctx, want);
    scant_ctx_free(ctx);
}

static void features_of_extreme_size_keep_to_the_cap(void **state) {
    (void)state;
    fixture *f = make();
    called all[MOST_CALLS];
    size_t n_calls = all_calls(all), count = 0;
    f->d = 150; /* rows take more than a plan has in reserve */
    f->features = malloc(N * f->d * sizeof *f->features);
    for (size_t i = 0; i < N * f->d; i++) f->features[i] = 1e18F * (float)normal_at(9, i);
    for (size_t s = 0; s < n_calls; s++) {
        if (!(all[s].uses & SCANT_FEATURES)) continue;
        f->drop = all[s].drop, f->set = all[s].set;
        check_extreme(f, all[s].name);
        count++;
    }
    assert_true(count > 8);
    free(f->features);
    free(f);
}

/* With a kernel the default of bias is 0: features are used as they are. Without one it
 * is 1. */
static void the_bias_that_was_used_is_reported(void **state) {
    (void)state;
    static const char *const names[] = {"npc", "crc", "bss"};
    fixture *f = make();
    scant_ctx *ctx = ctx_threads(1);
    for (size_t s = 0; s < 3; s++)
        for (int k = 0; k < 3; k++) {
            scant_picks *picks;
            f->set = (extra){.kernel = k ? "ntk:depth=3" : NULL};
            if (k == 2) f->set.option = (scant_setting){"bias", "1"};
            assert_int_equal(whole_call(ctx, f, names[s], 10, 0, &picks), SCANT_OK);
            size_t at = 0;
            while (strcmp(picks->settings[at].key, "bias") != 0) at++;
            assert_string_equal(picks->settings[at].value, k == 1 ? "0" : "1");
            if (k)
                assert_string_equal(picks->kernel, "ntk:depth=3");
            else
                assert_null(picks->kernel);
            scant_picks_free(ctx, picks);
        }
    scant_ctx_free(ctx);
    free(f);
}

static void same_settings(const scant_picks *a, const scant_picks *b) {
    assert_int_equal(a->n_settings, b->n_settings);
    for (size_t i = 0; i < a->n_settings; i++) {
        assert_string_equal(a->settings[i].key, b->settings[i].key);
        const char *x = a->settings[i].value, *y = b->settings[i].value;
        assert_true(x == y || (x && y && !strcmp(x, y)));
    }
}

/* In a locale with a decimal comma, numbers in options still have a point. */
static void the_locale_does_not_matter(void **state) {
    (void)state;
    if (!setlocale(LC_NUMERIC, "de_DE.UTF-8")) {
        print_message("there is no locale de_DE.UTF-8 here\n");
        skip();
    }
    fixture *f = make();
    scant_ctx *ctx = ctx_threads(2);
    called all[MOST_CALLS];
    size_t n_calls = all_calls(all);
    for (size_t s = 0; s < n_calls; s++) {
        scant_picks *want, *picks;
        inputs in;
        setlocale(LC_NUMERIC, "C");
        f->drop = all[s].drop, f->set = all[s].set;
        assert_int_equal(whole_call(ctx, f, all[s].name, 20, 0, &want), SCANT_OK);
        setlocale(LC_NUMERIC, "de_DE.UTF-8");
        assert_string_equal(localeconv()->decimal_point, ",");
        assert_int_equal(whole_call(ctx, f, all[s].name, 20, 0, &picks), SCANT_OK);
        assert_memory_equal(picks->items, want->items, want->count * sizeof *want->items);
        same_settings(picks, want);
        assert_int_equal(picks->state_size, want->state_size);
        if (want->state) assert_memory_equal(picks->state, want->state, want->state_size);
        scant_picks_free(ctx, picks);
        scant_picks_free(ctx, want);
        if (strcmp(all[s].name, "sparse-greedy")) continue;
        assert_int_equal(open_inputs(ctx, f, 0, &in), SCANT_OK);
        scant_select_opts opts = {.settings = &(scant_setting){"beta", "0.25"},
                                  .n_settings = 1};
        assert_int_equal(scant_select(ctx, all[s].name, &in.evidence, 20, &opts, &picks),
                         SCANT_OK);
        scant_picks_free(ctx, picks);
        assert_refused(ctx, all[s].name, &in.evidence, 20,
                       &(scant_setting){"beta", "0,25"}, SCANT_EUSAGE, "0,25");
        close_inputs(&in);
    }
    assert_string_equal(localeconv()->decimal_point, ","); /* the locale is unchanged */
    setlocale(LC_NUMERIC, "C");
    scant_ctx_free(ctx);
    free(f);
}

typedef struct cancelling {
    memory m; /* comes first: the allocator's user */
    size_t polls, at;
} cancelling;

/* Returns 1 only once: callers must remember it. */
static int cancel_at(void *user) {
    cancelling *c = user;
    return ++c->polls == c->at;
}

/* Cancels at the first poll, the fourth, the twelfth and so on, until the call ends
 * before. */
static void check_cancel(const fixture *f, const char *strategy,
                         const scant_picks *want) {
    cancelling c = {.m.fail_at = SIZE_MAX};
    scant_ctx *ctx;
    scant_ctx_opts opts = {.threads = 2,
                           .user = &c,
                           .allocate = memory_allocate,
                           .release = memory_release,
                           .cancel = cancel_at};
    scant_picks *picks;
    scant_status status = SCANT_ECANCELLED;
    size_t cancelled = 0;
    assert_int_equal(scant_ctx_create(&opts, &ctx), SCANT_OK);
    for (size_t at = 1; status != SCANT_OK; at = at * 3 + at % 2) {
        c.polls = 0, c.at = at;
        status = whole_call(ctx, f, strategy, SOME_PICKS, 300, &picks);
        if (status == SCANT_OK) break;
        assert_int_equal(status, SCANT_ECANCELLED);
        assert_null(picks);
        assert_int_equal(c.m.live, 1); /* the context alone */
        assert_true(strlen(scant_ctx_errmsg(ctx)) > 0);
        cancelled++;
    }
    assert_true(cancelled > 0 && c.polls < c.at);
    assert_int_equal(picks->count, want->count);
    assert_memory_equal(picks->items, want->items, want->count * sizeof *want->items);
    scant_picks_free(ctx, picks);
    assert_int_equal(c.m.live, 1);
    scant_ctx_free(ctx);
}

static void a_cancelled_call_ends_and_leaks_nothing(void **state) {
    (void)state;
    fixture *f = make();
    scant_ctx *ctx = ctx_threads(2);
    called all[MOST_CALLS];
    size_t n_calls = all_calls(all);
    for (size_t s = 0; s < n_calls; s++) {
        scant_picks *want;
        f->drop = all[s].drop, f->set = all[s].set;
        assert_int_equal(whole_call(ctx, f, all[s].name, SOME_PICKS, 300, &want),
                         SCANT_OK);
        check_cancel(f, all[s].name, want);
        scant_picks_free(ctx, want);
    }
    scant_ctx_free(ctx);
    free(f);
}

static void more_rows_than_any_machine_can_look_at_are_refused(void **state) {
    (void)state;
    const size_t wrong[] = {SIZE_MAX, SIZE_MAX - 1, SIZE_MAX / 2 + 1,
                            ((size_t)1 << 40) + 1};
    scant_ctx *ctx;
    scant_picks *picks;
    scant_selection *sel;
    scant_plan plan;
    assert_int_equal(scant_ctx_create(NULL, &ctx), SCANT_OK);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(scant_select(ctx, "random", &(scant_evidence){.rows = wrong[i]},
                                      5, NULL, &picks),
                         SCANT_EUSAGE);
        assert_non_null(strstr(scant_ctx_errmsg(ctx), "at most 1099511627776"));
    }
    const scant_evidence most = {.rows = (size_t)1 << 40};
    assert_int_equal(scant_selection_open(ctx, "random", &most, 5, NULL, &sel), SCANT_OK);
    assert_int_equal(scant_selection_plan(sel, &plan), SCANT_OK);
    assert_int_equal(plan.rows, most.rows);
    scant_selection_free(sel);
    scant_ctx_free(ctx);
}

/* OpenBLAS' buffers are 128 MB for each thread. */
static void a_plan_for_fewer_threads_leaves_the_context_its_own(void **state) {
    (void)state;
    static float x[200 * 4];
    for (size_t i = 0; i < 200 * 4; i++) x[i] = (float)normal_at(5, i);
    const size_t shape[] = {200, 4}, cap = (size_t)330 << 20;
    scant_ctx *ctx;
    scant_array *h;
    scant_selection *a, *b;
    scant_picks *picks;
    scant_plan plan;
    assert_int_equal(
        scant_ctx_create(&(scant_ctx_opts){.threads = 4, .memory = cap}, &ctx), SCANT_OK);
    assert_int_equal(scant_array_wrap(ctx, "x", x, SCANT_F32, 2, shape, &h), SCANT_OK);
    const scant_evidence e = {.features = h};
    assert_int_equal(scant_selection_open(ctx, "npc", &e, 3, NULL, &a), SCANT_OK);
    assert_int_equal(scant_selection_open(ctx, "npc", &e, 3, NULL, &b), SCANT_OK);
    assert_int_equal(scant_selection_plan(a, &plan), SCANT_OK);
    assert_int_equal(plan.threads, 2);
    assert_int_equal(scant_selection_run(a, &picks), SCANT_OK);
    assert_int_equal(scant_ctx_threads(ctx), 4);
    scant_picks_free(ctx, picks);
    scant_selection_free(a);
    scant_selection_free(b);
    assert_int_equal(scant_ctx_threads(ctx), 4);
    scant_array_free(h);
    scant_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_for_fewer_threads_leaves_the_context_its_own),
        cmocka_unit_test(more_rows_than_any_machine_can_look_at_are_refused),
        cmocka_unit_test(picks_are_distinct_unlabelled_candidates),
        cmocka_unit_test(thread_counts_change_nothing),
        cmocka_unit_test(ranked_strategies_pick_the_same_first_rows_for_any_batch),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(selections_keep_to_the_plan),
        cmocka_unit_test(a_tight_cap_gives_the_same_picks_or_names_a_sufficient_cap),
        cmocka_unit_test(features_of_extreme_size_keep_to_the_cap),
        cmocka_unit_test(the_bias_that_was_used_is_reported),
        cmocka_unit_test(the_locale_does_not_matter),
        cmocka_unit_test(a_cancelled_call_ends_and_leaks_nothing),
    };
#ifdef __SANITIZE_THREAD__
    cmocka_set_test_filter("thread_*"); /* the others are slow and not about threads */
#endif
    return cmocka_run_group_tests(tests, NULL, NULL);
}
