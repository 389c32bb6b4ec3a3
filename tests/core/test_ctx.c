/* SPDX-License-Identifier: Apache-2.0
 *
 * The context: statuses, defaults, error text, callbacks.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_setaffinity */
#endif
#include <sched.h>
#include <stdio.h>

#include "core/ctx.h"
#include "support.h"

static void every_status_has_its_name_and_text(void **state) {
    (void)state;
#define CHECK(name, text)                                                                \
    assert_string_equal(scant_status_name(SCANT_##name), #name);                         \
    assert_string_equal(scant_status_text(SCANT_##name), text);
    SCANT_STATUS_MAP(CHECK)
#undef CHECK
    assert_int_equal(SCANT_OK, 0);
}

static void a_status_that_does_not_exist_still_has_a_name(void **state) {
    (void)state;
    assert_non_null(scant_status_name((scant_status)1000));
    assert_non_null(scant_status_text((scant_status)-1));
}

static void the_library_has_the_version_of_its_header(void **state) {
    (void)state;
    char expected[64];
    snprintf(expected, sizeof expected, "%d.%d.%d", SCANT_VERSION_MAJOR,
             SCANT_VERSION_MINOR, SCANT_VERSION_PATCH);
    assert_string_equal(scant_version(), expected);
}

static void a_process_limited_to_one_core_gets_one_thread(void **state) {
    (void)state;
    scant_ctx *ctx;
    cpu_set_t all, one;
    size_t core = 0;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    while (!CPU_ISSET(core, &all)) core++;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(scant_ctx_create(NULL, &ctx), SCANT_OK);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    assert_int_equal(scant_ctx_threads(ctx), 1);
    scant_ctx_free(ctx);
}

static void defaults_come_from_the_machine(void **state) {
    (void)state;
    scant_ctx *ctx;
    assert_int_equal(scant_ctx_create(NULL, &ctx), SCANT_OK);
    assert_true(scant_ctx_threads(ctx) >= 1);
    assert_true(scant_ctx_memory(ctx) > 1 << 20);
    assert_int_equal(scant_ctx_memory_peak(ctx), 0);
    assert_string_equal(scant_ctx_errmsg(ctx), "");
    scant_ctx_free(ctx);
    scant_ctx_free(NULL);
}

static void options_override_the_defaults(void **state) {
    (void)state;
    scant_ctx *ctx;
    const scant_ctx_opts opts = {.threads = 3, .memory = 12345};
    assert_int_equal(scant_ctx_create(&opts, &ctx), SCANT_OK);
    assert_int_equal(scant_ctx_threads(ctx), 3);
    assert_int_equal(scant_ctx_memory(ctx), 12345);
    scant_ctx_free(ctx);
}

static void *allocate_nothing(void *user, size_t bytes) {
    (void)user, (void)bytes;
    return NULL;
}

static void release_nothing(void *user, void *block) { (void)user, (void)block; }

static void allocate_without_release_is_refused_and_vice_versa(void **state) {
    (void)state;
    scant_ctx *ctx = (scant_ctx *)&ctx;
    assert_int_equal(
        scant_ctx_create(&(scant_ctx_opts){.allocate = allocate_nothing}, &ctx),
        SCANT_EUSAGE);
    assert_null(ctx);
    assert_int_equal(
        scant_ctx_create(&(scant_ctx_opts){.release = release_nothing}, &ctx),
        SCANT_EUSAGE);
    assert_null(ctx);
}

static void create_fails_without_memory_for_the_context(void **state) {
    (void)state;
    scant_ctx *ctx = (scant_ctx *)&ctx;
    const scant_ctx_opts opts = {.allocate = allocate_nothing,
                                 .release = release_nothing};
    assert_int_equal(scant_ctx_create(&opts, &ctx), SCANT_ENOMEM);
    assert_null(ctx);
}

static void fail_stores_the_message_and_returns_the_status(void **state) {
    (void)state;
    scant_ctx *a, *b;
    assert_int_equal(scant_ctx_create(NULL, &a), SCANT_OK);
    assert_int_equal(scant_ctx_create(NULL, &b), SCANT_OK);
    assert_int_equal(scant__fail(a, SCANT_EINPUT, "row %d of %s", 7, "p.npy"),
                     SCANT_EINPUT);
    assert_string_equal(scant_ctx_errmsg(a), "row 7 of p.npy");
    assert_string_equal(scant_ctx_errmsg(b), ""); /* contexts share nothing */
    scant__fail(a, SCANT_EIO, "the last one counts");
    assert_string_equal(scant_ctx_errmsg(a), "the last one counts");
    scant_ctx_free(b);
    scant_ctx_free(a);
}

static void a_long_message_is_cut(void **state) {
    (void)state;
    char text[3 * SCANT__ERR_SIZE];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = 0;
    scant_ctx *ctx;
    assert_int_equal(scant_ctx_create(NULL, &ctx), SCANT_OK);
    scant__fail(ctx, SCANT_EINPUT, "%s", text);
    size_t length = strlen(scant_ctx_errmsg(ctx));
    assert_in_range(length, SCANT__ERR_SIZE / 2, SCANT__ERR_SIZE - 1);
    scant_ctx_free(ctx);
}

typedef struct recorded {
    int logs, polls, reports;
    scant_log_level level;
    char text[128], phase[32];
    double fraction;
    int cancel;
} recorded;

static void record_log(void *user, scant_log_level level, const char *text) {
    recorded *h = user;
    h->logs++;
    h->level = level;
    snprintf(h->text, sizeof h->text, "%s", text);
}

static void record_progress(void *user, const char *phase, double fraction) {
    recorded *h = user;
    h->reports++;
    h->fraction = fraction;
    snprintf(h->phase, sizeof h->phase, "%s", phase);
}

static int record_cancel(void *user) {
    recorded *h = user;
    h->polls++;
    return h->cancel;
}

static void a_warning_reaches_the_log(void **state) {
    (void)state;
    recorded h = {0};
    scant_ctx *ctx, *without_log;
    assert_int_equal(
        scant_ctx_create(&(scant_ctx_opts){.user = &h, .log = record_log}, &ctx),
        SCANT_OK);
    assert_int_equal(scant_ctx_create(NULL, &without_log), SCANT_OK);
    scant__warn(ctx, "only %d rows", 3);
    scant__warn(without_log, "nobody listens");
    assert_int_equal(h.logs, 1);
    assert_int_equal(h.level, SCANT_LOG_WARNING);
    assert_string_equal(h.text, "only 3 rows");
    assert_string_equal(scant_ctx_errmsg(ctx), ""); /* a warning is not an error */
    scant_ctx_free(without_log);
    scant_ctx_free(ctx);
}

static void tick_reports_progress_and_polls_cancel(void **state) {
    (void)state;
    recorded h = {0};
    const scant_ctx_opts opts = {
        .user = &h, .progress = record_progress, .cancel = record_cancel};
    scant_ctx *ctx;
    assert_int_equal(scant_ctx_create(&opts, &ctx), SCANT_OK);
    assert_int_equal(scant__tick(ctx, "reading", 1, 4), SCANT_OK);
    assert_string_equal(h.phase, "reading");
    assert_true(h.fraction == 0.25);
    assert_int_equal(scant__tick(ctx, "reading", 0, 0), SCANT_OK);
    assert_true(h.fraction >= 0 && h.fraction <= 1); /* not 0/0 */
    assert_int_equal(scant__tick(ctx, NULL, 1, 4), SCANT_OK);
    assert_int_equal(h.reports, 2); /* without a phase: no report, but a poll */
    assert_int_equal(h.polls, 3);
    h.cancel = 1;
    assert_int_equal(scant__tick(ctx, NULL, 1, 4), SCANT_ECANCELLED);
    assert_true(strlen(scant_ctx_errmsg(ctx)) > 0);
    scant_ctx_free(ctx);
}

static scant_status try_both(scant_status first, scant_status second, int *reached) {
    *reached = 0;
    TRY(first);
    *reached = 1;
    TRY(second);
    *reached = 2;
    return SCANT_OK;
}

static void try_returns_the_first_failure(void **state) {
    (void)state;
    int reached;
    assert_int_equal(try_both(SCANT_OK, SCANT_OK, &reached), SCANT_OK);
    assert_int_equal(reached, 2);
    assert_int_equal(try_both(SCANT_OK, SCANT_EIO, &reached), SCANT_EIO);
    assert_int_equal(reached, 1);
    assert_int_equal(try_both(SCANT_EINPUT, SCANT_EIO, &reached), SCANT_EINPUT);
    assert_int_equal(reached, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_status_has_its_name_and_text),
        cmocka_unit_test(a_status_that_does_not_exist_still_has_a_name),
        cmocka_unit_test(the_library_has_the_version_of_its_header),
        cmocka_unit_test(defaults_come_from_the_machine),
        cmocka_unit_test(a_process_limited_to_one_core_gets_one_thread),
        cmocka_unit_test(options_override_the_defaults),
        cmocka_unit_test(allocate_without_release_is_refused_and_vice_versa),
        cmocka_unit_test(create_fails_without_memory_for_the_context),
        cmocka_unit_test(fail_stores_the_message_and_returns_the_status),
        cmocka_unit_test(a_long_message_is_cut),
        cmocka_unit_test(a_warning_reaches_the_log),
        cmocka_unit_test(tick_reports_progress_and_polls_cancel),
        cmocka_unit_test(try_returns_the_first_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
