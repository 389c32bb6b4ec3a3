/* SPDX-License-Identifier: Apache-2.0
 *
 * For tests of readers that call back for each row: the rows as one text, refusals,
 * failing allocations.
 */
#ifndef SCANT_TESTS_DATA_ROWS_H
#define SCANT_TESTS_DATA_ROWS_H

#include "samples.h"

static char recorded[8192], warnings[2048];

static inline void record(const char *format, ...) __attribute__((format(printf, 1, 2)));
static inline void record(const char *format, ...) {
    va_list args;
    size_t used = strlen(recorded);
    va_start(args, format);
    int n = vsnprintf(recorded + used, sizeof recorded - used, format, args);
    va_end(args);
    assert_true(n >= 0 && (size_t)n < sizeof recorded - used);
}

static inline const char *or_dash(const char *text) { return text ? text : "-"; }

static inline void keep_warning(void *user, scant_log_level level, const char *text) {
    (void)user;
    assert_int_equal(level, SCANT_LOG_WARNING);
    snprintf(warnings + strlen(warnings), sizeof warnings - strlen(warnings), "%s|",
             text);
}

/* The test defines it: reads the file at path and record()s each row. */
static scant_status read_rows(const char *path);

static inline void assert_rows_bytes(const void *bytes, size_t size, const char *want) {
    const char *path = put("rows", bytes, size);
    recorded[0] = warnings[0] = 0;
    ctx->opts.log = keep_warning;
    scant_status status = read_rows(path);
    ctx->opts.log = NULL;
    if (status != SCANT_OK) fail_msg("%s", scant_ctx_errmsg(ctx));
    assert_string_equal(recorded, want);
    assert_int_equal(ctx->used, 0);
}

static inline void assert_rows(const char *text, const char *want) {
    assert_rows_bytes(text, strlen(text), want);
}

static inline void assert_refused_bytes(const void *bytes, size_t size,
                                        const char *words) {
    const char *path = put("rows", bytes, size);
    recorded[0] = 0;
    assert_int_equal(read_rows(path), SCANT_EINPUT);
    assert_says(ctx, path, words);
    assert_int_equal(ctx->used, 0);
}

static inline void assert_refused(const char *text, const char *words) {
    assert_refused_bytes(text, strlen(text), words);
}

/* Lets each allocation fail in turn. */
static inline void assert_survives_failing_memory(const char *text) {
    const char *path = put("rows", text, strlen(text));
    for (size_t k = 0;; k++) {
        recorded[0] = 0;
        mem.calls = 0;
        mem.fail_at = k;
        scant_status status = read_rows(path);
        mem.fail_at = SIZE_MAX;
        assert_int_equal(ctx->used, 0);
        if (status == SCANT_OK) {
            assert_true(mem.calls <= k);
            return;
        }
        assert_int_equal(status, SCANT_ENOMEM);
        assert_true(strlen(scant_ctx_errmsg(ctx)) > 0);
    }
}

#endif
