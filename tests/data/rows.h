/* SPDX-License-Identifier: Apache-2.0
 *
 * What a reader of rows tells, as one text; refusing, and failing memory.
 */
#ifndef SCANT_TESTS_DATA_ROWS_H
#define SCANT_TESTS_DATA_ROWS_H

#include "samples.h"

static char told[8192], warned[2048];

static inline void tell(const char *format, ...) __attribute__((format(printf, 1, 2)));
static inline void tell(const char *format, ...) {
    va_list args;
    size_t used = strlen(told);
    va_start(args, format);
    int n = vsnprintf(told + used, sizeof told - used, format, args);
    va_end(args);
    assert_true(n >= 0 && (size_t)n < sizeof told - used);
}

static inline const char *or_dash(const char *text) { return text ? text : "-"; }

static inline void keep_warning(void *user, scant_log_level level, const char *text) {
    (void)user;
    assert_int_equal(level, SCANT_LOG_WARNING);
    snprintf(warned + strlen(warned), sizeof warned - strlen(warned), "%s|", text);
}

/* Reads the file at path, telling each row; the test's. */
static scant_status read_rows(const char *path);

static inline void tells_bytes(const void *bytes, size_t size, const char *want) {
    const char *path = put("rows", bytes, size);
    told[0] = warned[0] = 0;
    ctx->opts.log = keep_warning;
    scant_status status = read_rows(path);
    ctx->opts.log = NULL;
    if (status != SCANT_OK) fail_msg("%s", scant_ctx_errmsg(ctx));
    assert_string_equal(told, want);
    assert_int_equal(ctx->used, 0);
}

static inline void tells(const char *text, const char *want) {
    tells_bytes(text, strlen(text), want);
}

static inline void refused_bytes(const void *bytes, size_t size, const char *words) {
    const char *path = put("rows", bytes, size);
    told[0] = 0;
    assert_int_equal(read_rows(path), SCANT_EINPUT);
    assert_says(ctx, path, words);
    assert_int_equal(ctx->used, 0);
}

static inline void refused(const char *text, const char *words) {
    refused_bytes(text, strlen(text), words);
}

/* Every allocation fails once. */
static inline void survives(const char *text) {
    const char *path = put("rows", text, strlen(text));
    for (size_t k = 0;; k++) {
        told[0] = 0;
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
