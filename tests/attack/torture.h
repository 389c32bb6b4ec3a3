/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of the library in which each allocation fails in turn.
 */
#ifndef SCANT_TESTS_ATTACK_TORTURE_H
#define SCANT_TESTS_ATTACK_TORTURE_H

#include <stdio.h>

#include "../folder.h"

static memory mem;
static scant_ctx *ctx;
static size_t tortured; /* how many calls had a failing allocation */

static inline void torture_open(void) { ctx = ctx_counting(&mem); }

/* Everything has been freed: nothing leaked. */
static inline void torture_close(void) {
    scant_ctx_free(ctx);
    assert_int_equal(mem.live, 0);
}

/* The next allocation to fail: the first ones, then ever fewer. `make soak`: all. */
static inline size_t torture_next(size_t at) {
    return soaking() || at < 128 ? at + 1 : at + at / 16;
}

static inline void torture_begin(size_t at) { mem.fail_at = mem.calls + at; }

/* Returns whether the call succeeded without a failing allocation. */
static inline bool torture_end(const char *call, scant_status status) {
    bool failed = mem.calls > mem.fail_at;
    mem.fail_at = SIZE_MAX;
    tortured += failed;
    if (status == SCANT_OK) return !failed;
    if (!failed || status != SCANT_ENOMEM)
        fail_msg("%s: %s: %s", call, scant_status_name(status), scant_ctx_errmsg(ctx));
    if (!*scant_ctx_errmsg(ctx)) fail_msg("%s: there is no message", call);
    return false;
}

/* Repeats a call, with the first, second, ... allocation failing, until it makes fewer.
 * It fails with SCANT_ENOMEM or does without: `undo` frees what it then has made. */
#define TORTURE_UNDO(call, undo)                                                         \
    for (size_t at_ = 0;; at_ = torture_next(at_)) {                                     \
        torture_begin(at_);                                                              \
        scant_status status_ = call;                                                     \
        if (torture_end(#call, status_)) break;                                          \
        if (status_ == SCANT_OK) undo;                                                   \
    }
#define TORTURE(call) TORTURE_UNDO(call, (void)0)

static inline void must(scant_status status) {
    if (status != SCANT_OK) fail_msg("%s", scant_ctx_errmsg(ctx));
}

/* Reads a file to memory that the caller frees. */
static inline char *text_of(const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f) fail_msg("%s: cannot be opened", path);
    fseek(f, 0, SEEK_END);
    size_t size = (size_t)ftell(f);
    rewind(f);
    char *text = calloc(1, size + 1);
    assert_int_equal(fread(text, 1, size, f), size);
    fclose(f);
    return text;
}

/* Every function of a public header that can fail is called in the test's source. */
static inline void assert_all_called(const char *header, const char *source) {
    static const char api[] = "SCANT_API scant_status";
    char *declared = text_of(header), *code = text_of(source), name[80];
    for (char *at = declared; (at = strstr(at, api)); at++) {
        if (sscanf(at + sizeof api - 1, " %78[a-z0-9_](", name) != 1) continue;
        strcat(name, "(");
        if (!strstr(code, name)) fail_msg("%s is not called in %s", name, source);
    }
    free(declared);
    free(code);
}

static inline void report_torture(const char *what) {
    const char *figures = getenv("SCANT_FIGURES");
    char row[200];
    snprintf(row, sizeof row,
             "| failed allocations in %s | %zu | SCANT_ENOMEM with a message, or done "
             "without; nothing leaked |\n",
             what, tortured);
    printf("%s", row);
    FILE *f = figures ? fopen(figures, "a") : NULL;
    if (!f) return;
    fputs(row, f);
    fclose(f);
}

#endif
