/* SPDX-License-Identifier: Apache-2.0
 *
 * The context: resolved options, the last error message, callbacks.
 */
#include "core/ctx.h"
#include "core/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/blas.h"
#include "core/parfor.h"

#define STRINGIFY_(x) #x
#define STRINGIFY(x) STRINGIFY_(x)

const char *scant_version(void) {
    return STRINGIFY(SCANT_VERSION_MAJOR) "." STRINGIFY(
        SCANT_VERSION_MINOR) "." STRINGIFY(SCANT_VERSION_PATCH);
}

static const struct {
    const char *name, *text;
} statuses[] = {
#define ROW(name, text) [SCANT_##name] = {#name, text},
    SCANT_STATUS_MAP(ROW)
#undef ROW
};

static size_t status_row(scant_status status) {
    size_t row = (size_t)status;
    return row < sizeof statuses / sizeof *statuses ? row : SCANT_EINTERNAL;
}

const char *scant_status_name(scant_status status) {
    return statuses[status_row(status)].name;
}

const char *scant_status_text(scant_status status) {
    return statuses[status_row(status)].text;
}

scant_status scant_ctx_create(const scant_ctx_opts *opts, scant_ctx **out) {
    scant_ctx_opts o = opts ? *opts : (scant_ctx_opts){0};
    *out = NULL;
    if (!o.allocate != !o.release) return SCANT_EUSAGE;
    scant_ctx *ctx = o.allocate ? o.allocate(o.user, sizeof *ctx) : malloc(sizeof *ctx);
    if (!ctx) return SCANT_ENOMEM;
    *ctx = (scant_ctx){.opts = o,
                       .lock = ATOMIC_FLAG_INIT,
                       .threads = o.threads ? o.threads : scant__threads_usual(),
                       .cap = o.memory ? o.memory : scant__machine_memory() / 2};
    *out = ctx;
    return SCANT_OK;
}

void scant_ctx_free(scant_ctx *ctx) {
    if (!ctx) return;
    scant__blas_end(ctx);
    if (ctx->opts.release)
        ctx->opts.release(ctx->opts.user, ctx);
    else
        free(ctx);
}

const char *scant_ctx_errmsg(const scant_ctx *ctx) { return ctx->err; }
unsigned scant_ctx_threads(const scant_ctx *ctx) { return ctx->threads; }
size_t scant_ctx_memory(const scant_ctx *ctx) { return ctx->cap; }
size_t scant_ctx_memory_peak(const scant_ctx *ctx) { return ctx->peak; }

scant_status scant__fail(scant_ctx *ctx, scant_status status, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    vsnprintf(ctx->err, sizeof ctx->err, fmt, args);
    va_end(args);
    return status;
}

scant_status scant__refuse(scant_ctx *ctx, const char *name, const char *fmt, ...) {
    va_list args;
    size_t used = (size_t)snprintf(ctx->err, sizeof ctx->err, "%s: ", name);
    va_start(args, fmt);
    if (used < sizeof ctx->err)
        vsnprintf(ctx->err + used, sizeof ctx->err - used, fmt, args);
    va_end(args);
    return SCANT_EINPUT;
}

scant_status scant__fault_set(scant__fault *fault, scant_status status, const char *fmt,
                              ...) {
    va_list args;
    va_start(args, fmt);
    vsnprintf(fault->text, sizeof fault->text, fmt, args);
    va_end(args);
    return status;
}

static void tell(scant_ctx *ctx, scant_log_level level, const char *fmt, va_list args) {
    char text[SCANT__ERR_SIZE];
    if (!ctx->opts.log) return;
    vsnprintf(text, sizeof text, fmt, args);
    ctx->opts.log(ctx->opts.user, level, text);
}

void scant__warn(scant_ctx *ctx, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    tell(ctx, SCANT_LOG_WARNING, fmt, args);
    va_end(args);
}

void scant__note(scant_ctx *ctx, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    tell(ctx, SCANT_LOG_INFO, fmt, args);
    va_end(args);
}

scant_status scant__tick(scant_ctx *ctx, const char *phase, size_t done, size_t total) {
    if (phase && ctx->opts.progress)
        ctx->opts.progress(ctx->opts.user, phase,
                           total ? (double)done / (double)total : 1.0);
    if (ctx->opts.cancel && ctx->opts.cancel(ctx->opts.user))
        return scant__fail(ctx, SCANT_ECANCELLED, "cancelled");
    return SCANT_OK;
}
