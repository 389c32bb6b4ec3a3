/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the tests of samples: opening, refusing, reading, failing allocations,
 * cancelling, compressed files.
 */
#ifndef SCANT_TESTS_DATA_SAMPLES_H
#define SCANT_TESTS_DATA_SAMPLES_H

#include <lzma.h>
#include <math.h>
#include <zlib.h>

#include "data/counting.h"

#include "core/mem.h"
#include "data/dataset.h"
#include "scant/train.h"

static inline scant_data *opened(const char *spec, scant_data_opts opts) {
    scant_data *data;
    if (scant_data_open(ctx, spec, &opts, &data) != SCANT_OK)
        fail_msg("%s", scant_ctx_errmsg(ctx));
    return data;
}

/* The message starts with name, maybe a file other than spec, and contains words. */
static inline void refuses_as(scant_status want, const char *spec, scant_data_opts opts,
                              const char *name, const char *words) {
    scant_data *data = (scant_data *)1;
    size_t used = ctx->used;
    assert_int_equal(scant_data_open(ctx, spec, &opts, &data), want);
    assert_null(data);
    assert_int_equal(ctx->used, used);
    assert_says(ctx, name, words);
}

static inline void refuses(const char *spec, scant_data_opts opts, const char *words) {
    refuses_as(SCANT_EINPUT, spec, opts, spec, words);
}

static inline void has_shape(const scant_data *data, size_t n, size_t c, size_t h,
                             size_t w) {
    size_t shape[3];
    scant_data_shape(data, shape);
    assert_int_equal(scant_data_count(data), n);
    assert_int_equal(shape[0], c);
    assert_int_equal(shape[1], h);
    assert_int_equal(shape[2], w);
    assert_int_equal(scant__data_width(data), c * h * w);
}

/* Sample `row` equals want exactly. */
static inline void reads(const scant_data *data, size_t row, const float *want) {
    size_t width = scant__data_width(data);
    scant__fault fault = {{0}};
    float *got = malloc(width * sizeof *got);
    assert_non_null(got);
    if (scant__data_read(data, row, got, &fault) != SCANT_OK) fail_msg("%s", fault.text);
    for (size_t i = 0; i < width; i++)
        if (got[i] != want[i])
            fail_msg("sample %zu, value %zu is %.9g, expected %.9g", row, i,
                     (double)got[i], (double)want[i]);
    free(got);
}

/* Opens spec and reads its first sample while each allocation fails in turn: the call
 * fails or does without, and nothing leaks. Returns the number of allocations. */
static inline size_t torture(const char *spec, scant_data_opts opts) {
    size_t live = mem.live, used = ctx->used, failed = 0;
    for (size_t k = 0;; k++) {
        scant_data *data;
        scant__fault fault = {{0}};
        mem.calls = 0;
        mem.fail_at = k;
        scant_status status = scant_data_open(ctx, spec, &opts, &data);
        assert_int_equal(status == SCANT_OK, data != NULL);
        if (status == SCANT_OK) {
            float *out = malloc(scant__data_width(data) * sizeof *out);
            status = scant__data_read(data, 0, out, &fault);
            if (status != SCANT_OK) assert_true(strlen(fault.text) > 0);
            free(out);
        } else {
            assert_true(strlen(scant_ctx_errmsg(ctx)) > 0);
        }
        bool reached = mem.calls > k;
        mem.fail_at = SIZE_MAX;
        scant_data_free(data);
        assert_int_equal(mem.live, live);
        assert_int_equal(ctx->used, used);
        if (!reached) {
            assert_int_equal(status, SCANT_OK);
            assert_true(k > 0 && failed > 0);
            return k;
        }
        if (status == SCANT_OK) continue;
        assert_int_equal(status, SCANT_ENOMEM);
        failed++;
    }
}

/* Cancels the opening of spec at each poll in turn: it returns SCANT_ECANCELLED and leaks
 * nothing. cancels() returns the number of polls. */
static size_t cancel_after, cancel_polls;

static inline int cancel_now(void *user) {
    (void)user;
    return cancel_polls++ == cancel_after;
}

static inline size_t cancels(const char *spec, scant_data_opts opts) {
    size_t used = ctx->used;
    ctx->opts.cancel = cancel_now;
    for (cancel_after = 0;; cancel_after++) {
        scant_data *data;
        cancel_polls = 0;
        scant_status status = scant_data_open(ctx, spec, &opts, &data);
        scant_data_free(data);
        assert_int_equal(ctx->used, used);
        if (cancel_polls <= cancel_after) {
            assert_int_equal(status, SCANT_OK);
            ctx->opts.cancel = NULL;
            return cancel_after;
        }
        assert_int_equal(status, SCANT_ECANCELLED);
    }
}

/* ---- compressed files -------------------------------------------------------------- */

static inline buffer gzip(const void *bytes, size_t size) {
    static buffer b;
    z_stream z = {0};
    assert_int_equal(
        deflateInit2(&z, 9, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (unsigned char *)(uintptr_t)bytes;
    z.avail_in = (uInt)size;
    z.next_out = b.bytes;
    z.avail_out = sizeof b.bytes;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    b.size = sizeof b.bytes - z.avail_out;
    deflateEnd(&z);
    return b;
}

static inline buffer xz(const void *bytes, size_t size) {
    static buffer b;
    b.size = 0;
    assert_int_equal(lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, NULL, bytes, size,
                                             b.bytes, &b.size, sizeof b.bytes),
                     LZMA_OK);
    return b;
}

#endif
