/* SPDX-License-Identifier: Apache-2.0
 *
 * OpenBLAS' buffers: counted, mapped before they are used, as many as fit.
 */
#include <cblas.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/mem.h"
#include "support.h"

#define BUFFER SCANT__BLAS_BUFFER

static char warned[SCANT__ERR_SIZE];

static void on_log(void *user, scant_log_level level, const char *text) {
    (void)user, (void)level;
    snprintf(warned, sizeof warned, "%s", text);
}

static scant_ctx *ctx_of(unsigned threads, size_t cap) {
    scant_ctx *ctx;
    scant_ctx_opts opts = {.threads = threads, .memory = cap, .log = on_log};
    assert_int_equal(scant_ctx_create(&opts, &ctx), SCANT_OK);
    warned[0] = 0;
    return ctx;
}

static void buffers_count_against_the_cap_once(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_of(2, 8 * BUFFER);
    assert_int_equal(scant__blas_memory(ctx), 2 * BUFFER);
    assert_int_equal(scant__blas_begin(ctx), SCANT_OK);
    assert_int_equal(ctx->used, 2 * BUFFER);
    assert_int_equal(scant__blas_memory(ctx), 0);
    assert_int_equal(scant__blas_begin(ctx), SCANT_OK);
    assert_int_equal(scant_ctx_memory_peak(ctx), 2 * BUFFER);
    assert_string_equal(warned, "");
    scant_ctx_free(ctx);
}

static void a_smaller_cap_allows_fewer_threads(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_of(4, 4 * BUFFER);
    assert_int_equal(scant__blas_begin(ctx), SCANT_OK); /* half is left to the rest */
    assert_int_equal(scant_ctx_threads(ctx), 2);
    assert_non_null(strstr(warned, "2 of 4 threads"));
    scant_ctx_free(ctx);
    ctx = ctx_of(4, 4 * BUFFER);
    assert_int_equal(scant__blas_begin_planned(ctx), SCANT_OK);
    assert_int_equal(scant_ctx_threads(ctx), 4);
    scant_ctx_free(ctx);
    ctx = ctx_of(4, BUFFER + 10);
    assert_int_equal(scant__blas_begin(ctx), SCANT_OK);
    assert_int_equal(scant_ctx_threads(ctx), 1);
    scant_ctx_free(ctx);
}

static void a_cap_below_one_buffer_is_an_error_with_the_number(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_of(2, BUFFER - 1);
    assert_int_equal(scant__blas_begin(ctx), SCANT_ENOMEM);
    assert_non_null(strstr(scant_ctx_errmsg(ctx), "134217728"));
    assert_int_equal(ctx->used, 0);
    assert_int_equal(scant_ctx_threads(ctx), 2);
    scant_ctx_free(ctx);
}

/* A child process with room for `buffers` more than it has; returns its exit status. */
static int with_room_for(size_t buffers, int (*fn)(void)) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        struct rlimit limit;
        size_t pages = 0;
        FILE *file = fopen("/proc/self/statm", "r");
        if (!file || fscanf(file, "%*u %*u %*u %*u %*u %zu", &pages) != 1) _exit(99);
        limit.rlim_cur = limit.rlim_max =
            pages * (size_t)sysconf(_SC_PAGESIZE) + buffers * BUFFER + BUFFER / 4 * 3;
        if (setrlimit(RLIMIT_DATA, &limit)) _exit(99);
        alarm(60); /* a hang ends here */
        _exit(fn());
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* A product that is large enough for OpenBLAS to need its buffer. */
static scant_status multiply(void *arg, size_t block, unsigned worker,
                             scant__fault *fault) {
    enum { N = 100 };
    double *x = arg, *out = x + N * N + block * N * N;
    (void)worker, (void)fault;
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, N, N, N, 1, x, N, x, N, 0, out,
                N);
    return SCANT_OK;
}

/* Returns how many threads a context gets that asks for more than there can be, and uses
 * them; 0: an error with a sentence. */
static int threads_granted(void) {
    scant_ctx *ctx = ctx_of(100 + (unsigned)openblas_get_num_threads(), SIZE_MAX);
    scant_status status = scant__blas_begin(ctx);
    int threads = status == SCANT_OK ? (int)scant_ctx_threads(ctx) : 0;
    static double x[17 * 100 * 100];
    if (status == SCANT_OK && scant__blas_for(ctx, NULL, 16, multiply, x) != SCANT_OK)
        threads = -1;
    if (status == SCANT_OK && !strstr(warned, "ulimit")) threads = -2;
    if (status != SCANT_OK &&
        (status != SCANT_ENOMEM || !strstr(scant_ctx_errmsg(ctx), "134217728")))
        threads = -3;
    scant_ctx_free(ctx);
    return threads;
}

static void the_system_may_allow_fewer(void **state) {
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* the sanitizers' own mappings exceed any limit */
#endif
    /* what the tests before this one mapped stays */
    int none = with_room_for(0, threads_granted), one = with_room_for(1, threads_granted);
    assert_in_range(none, 0, openblas_get_num_threads()); /* mapped at the start */
    assert_int_equal(one, none + 1);
    assert_int_equal(with_room_for(5, threads_granted), none + 5);
}

static void contexts_give_their_buffers_back(void **state) {
    (void)state;
    for (int turn = 0; turn < 500; turn++) { /* 128 TB if they did not */
        scant_ctx *ctx = ctx_of(2, 8 * BUFFER);
        assert_int_equal(scant__blas_begin(ctx), SCANT_OK);
        assert_int_equal(scant_ctx_threads(ctx), 2);
        scant_ctx_free(ctx);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_system_may_allow_fewer),
        cmocka_unit_test(buffers_count_against_the_cap_once),
        cmocka_unit_test(a_smaller_cap_allows_fewer_threads),
        cmocka_unit_test(a_cap_below_one_buffer_is_an_error_with_the_number),
        cmocka_unit_test(contexts_give_their_buffers_back),
    };
    scant__blas_release(); /* as the program does */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
