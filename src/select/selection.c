/* SPDX-License-Identifier: Apache-2.0
 *
 * A selection: checks the call, reads labels and candidates, plans, runs the strategy and
 * copies the picks for the caller.
 */
#include <assert.h>
#include <string.h>

#include "core/blas.h"
#include "core/near.h"
#include "data/array.h"
#include "select/strategy.h"

/* Chooses the inputs. Default: info.needs, or info.or_needs if all of or_needs are given
 * but not all of needs. */
static scant_status choose_inputs(scant_selection *sel, unsigned given) {
    const scant_strategy_info *info = &sel->strategy->info;
    if (sel->strategy->inputs) return sel->strategy->inputs(sel, given, &sel->used);
    bool other = (info->needs & ~given) && info->or_needs && !(info->or_needs & ~given);
    sel->used = other ? info->or_needs : info->needs;
    return SCANT_OK;
}

static const char *name_at(const void *strategies, size_t i) {
    return ((const scant_strategy_info *const *)strategies)[i]->name;
}

/* Names the nearest strategy if the name may be a typo. */
static scant_status fail_unknown(scant_ctx *ctx, const char *name) {
    size_t count;
    const scant_strategy_info *const *list = scant_strategies(&count);
    const char *near = scant__nearest_typo(name, list, count, name_at);
    return scant__fail(ctx, SCANT_EUSAGE, "unknown strategy '%s'%s%s%s", name,
                       near ? "; the nearest is '" : "", near ? near : "",
                       near ? "'" : "");
}

/* Checks options and chooses inputs. sel must be zeroed. The caller ends sel->arena, also
 * on failure. */
static scant_status begin(scant_ctx *ctx, const char *name, const scant_select_opts *opts,
                          unsigned given, scant_selection *sel) {
    scant_select_opts o = opts ? *opts : (scant_select_opts){0};
    sel->ctx = ctx;
    sel->arena = &sel->memory;
    scant__arena_init(sel->arena, ctx);
    sel->strategy = select_strategy_find(name);
    if (!sel->strategy) return fail_unknown(ctx, name);
    sel->seed = o.seed;
    sel->kernel = o.kernel;
    sel->state = o.state;
    sel->state_size = o.state_size;
    sel->state_name = o.state_name ? o.state_name : "the state";
    if (o.kernel) TRY(select_kernel_parse(ctx, sel->strategy, o.kernel, &sel->depth));
    TRY(select_options_resolve(sel->arena, sel->strategy, o.settings, o.n_settings,
                               o.kernel, &sel->values));
    return choose_inputs(sel, given);
}

scant_status scant_select_inputs(scant_ctx *ctx, const char *strategy,
                                 const scant_select_opts *opts, unsigned given,
                                 unsigned *used, unsigned *missing) {
    NEED(ctx);
    scant_selection sel = {0};
    *used = *missing = 0;
    scant_status status = begin(ctx, strategy, opts, given, &sel);
    scant__arena_end(sel.arena);
    if (status != SCANT_OK) return status;
    *used = (sel.used | sel.strategy->info.uses) & given;
    *missing = sel.used & ~given;
    return SCANT_OK;
}

/* Checks the call and shapes, reads labels and candidates; reads no matrices. */
static scant_status prepare(scant_ctx *ctx, const char *name,
                            const scant_evidence *evidence, size_t batch,
                            const scant_select_opts *opts, scant_selection *sel) {
    TRY(begin(ctx, name, opts, select_given(evidence), sel));
    TRY(select_pool_open(ctx, evidence, sel->used, name, &sel->pool));
    TRY(select_pool_read(sel->arena, &sel->pool));
    sel->asked = batch;
    sel->batch = batch < sel->pool.available ? batch : sel->pool.available;
    if (!sel->strategy->check || !sel->batch) return SCANT_OK;
    return sel->strategy->check(sel);
}

/* Memory besides the strategy's own: picks and their copy, options, figures, and the
 * selection itself, which is part of ctx->used already. */
static size_t common_memory(const scant_selection *sel) {
    enum { SMALL = 16 << 10 };
    return SMALL - scant__alloc_cost(sizeof(scant_selection)) +
           2 * scant__alloc_cost(sel->batch * sizeof(scant_pick));
}

static void plan_once(scant_selection *sel) {
    size_t blas = sel->batch && sel->strategy->blas ? scant__blas_memory(sel->ctx) : 0;
    sel->plan = (scant_plan){
        .rows = sel->pool.n,
        .batch = sel->batch,
        .memory = size_add(sel->ctx->used + common_memory(sel), blas),
        .used = sel->used,
        .input_bytes = sel->pool.input_bytes,
        .blas = blas,
        .threads = sel->ctx->threads,
    };
    if (sel->batch) sel->strategy->plan(sel, &sel->plan);
}

/* OpenBLAS' buffers may be most of the memory. They are as many as threads, so fewer
 * threads are planned for if that is enough. */
static void plan(scant_selection *sel) {
    unsigned given = sel->ctx->threads;
    plan_once(sel);
    while (sel->plan.blas && sel->plan.memory > sel->ctx->cap && sel->ctx->threads > 1) {
        sel->ctx->threads--;
        plan_once(sel);
    }
    sel->ctx->threads = given;
}

scant_status select_check_plan(const scant_selection *sel, const scant_plan *plan) {
    scant_ctx *ctx = sel->ctx;
    if (plan->memory <= ctx->cap) return SCANT_OK;
    return scant__fail(
        ctx, SCANT_ENOMEM,
        "%s needs %zu bytes (%zu MB) for %zu rows, but only %zu (%zu MB) are "
        "allowed",
        sel->strategy->info.name, plan->memory, (plan->memory >> 20) + 1, plan->rows,
        ctx->cap, ctx->cap >> 20);
}

scant_status scant_selection_open(scant_ctx *ctx, const char *strategy,
                                  const scant_evidence *evidence, size_t batch,
                                  const scant_select_opts *opts, scant_selection **out) {
    *out = NULL;
    NEED(ctx);
    if (batch < 1)
        return scant__fail(ctx, SCANT_EUSAGE, "the batch is 0, expected at least 1");
    scant_selection *sel = scant__zalloc(ctx, 1, sizeof *sel);
    if (!sel) return SCANT_ENOMEM;
    scant_status status = prepare(ctx, strategy, evidence, batch, opts, sel);
    if (status != SCANT_OK) {
        scant_selection_free(sel);
        return status;
    }
    plan(sel);
    *out = sel;
    return SCANT_OK;
}

void scant_selection_free(scant_selection *sel) {
    if (!sel) return;
    scant__arena_end(sel->arena);
    scant__free(sel->ctx, sel);
}

scant_status scant_selection_plan(const scant_selection *sel, scant_plan *plan) {
    NEED(sel);
    *plan = sel->plan;
    return select_check_plan(sel, plan);
}

void select_figure(scant_selection *sel, const char *name, double value) {
    const scant_strategy_info *info = &sel->strategy->info;
    size_t k = 0;
    while (k < info->n_figures && strcmp(info->figures[k].name, name)) k++;
    assert(k < info->n_figures && sel->n_info < SELECT_INFO);
    sel->info[sel->n_info++] = (scant_figure){name, value};
}

void select_pick(scant_selection *sel, size_t index, double weight, double score) {
    sel->picks[sel->count++] = (scant_pick){index, weight, score};
}

/* The caller's picks and the arena that holds their memory. */
typedef struct picks_box {
    scant_picks picks; /* first, so that its address is the box's */
    scant__arena arena;
} picks_box;

void scant_picks_free(scant_ctx *ctx, scant_picks *picks) {
    if (!picks) return;
    picks_box *box = (picks_box *)picks;
    scant__arena_end(&box->arena);
    scant__free(ctx, box);
}

/* Copies bytes and appends a zero. Returns false if out of memory. */
static bool copy(scant__arena *arena, const void *from, size_t bytes, void *out) {
    char *block = scant__arena_alloc(arena, bytes + 1, 1);
    if (!block) return false;
    if (bytes) memcpy(block, from, bytes);
    block[bytes] = 0;
    memcpy(out, &block, sizeof block);
    return true;
}

static bool copy_text(scant__arena *arena, const char *from, const char **out) {
    return !from || copy(arena, from, strlen(from), out);
}

static scant_status box_fill(const scant_selection *sel, picks_box *box) {
    const scant_strategy_info *info = &sel->strategy->info;
    scant__arena *arena = &box->arena;
    scant_picks *p = &box->picks;
    scant_setting *settings = TRY_ZERO(arena, scant_setting, info->n_options + 1);
    *p = (scant_picks){.strategy = info->name,
                       .count = sel->count,
                       .rows = sel->pool.n,
                       .n_settings = info->n_options,
                       .settings = settings,
                       .n_info = sel->n_info,
                       .state_size = sel->next_state_size};
    for (size_t k = 0; k < info->n_options; k++) {
        settings[k].key = info->options[k].key;
        if (!copy_text(arena, sel->values[k].text, &settings[k].value))
            return SCANT_ENOMEM;
    }
    bool copied = copy(arena, sel->picks, sel->count * sizeof *sel->picks, &p->items) &&
                  copy(arena, sel->info, sel->n_info * sizeof *sel->info, &p->info) &&
                  copy_text(arena, sel->kernel, &p->kernel) &&
                  (!sel->next_state ||
                   copy(arena, sel->next_state, sel->next_state_size, &p->state));
    return copied ? SCANT_OK : SCANT_ENOMEM;
}

static scant_status hand_out(const scant_selection *sel, scant_picks **out) {
    picks_box *box = scant__zalloc(sel->ctx, 1, sizeof *box);
    if (!box) return SCANT_ENOMEM;
    scant__arena_init(&box->arena, sel->ctx);
    scant_status s = box_fill(sel, box);
    if (s == SCANT_OK)
        *out = &box->picks;
    else
        scant_picks_free(sel->ctx, &box->picks);
    return s;
}

static void warn(const scant_selection *sel) {
    const select_pool *pool = &sel->pool;
    if (pool->barred)
        scant__warn(sel->ctx, "%s: %zu of the candidates %s labelled and left out",
                    scant_array_name(pool->candidates), pool->barred,
                    pool->barred == 1 ? "is" : "are");
    if (sel->batch == 0)
        scant__warn(sel->ctx, "no row is left to pick");
    else if (sel->asked > sel->batch)
        scant__warn(sel->ctx, "%zu rows were asked for, but only %zu can be picked",
                    sel->asked, sel->batch);
}

static scant_status run(scant_selection *sel) {
    if (sel->plan.blas) TRY(scant__blas_begin_planned(sel->ctx));
    sel->picks = TRY_NEW(sel->arena, scant_pick, sel->batch + 1);
    sel->info = TRY_NEW(sel->arena, scant_figure, SELECT_INFO);
    return sel->batch ? sel->strategy->select(sel) : SCANT_OK;
}

scant_status scant_selection_run(scant_selection *sel, scant_picks **out) {
    *out = NULL;
    NEED(sel);
    if (sel->has_run)
        return scant__fail(sel->ctx, SCANT_EUSAGE, "a selection can run only once");
    TRY(select_check_plan(sel, &sel->plan));
    sel->has_run = true;
    warn(sel);
    unsigned given = sel->ctx->threads;
    sel->ctx->threads = sel->plan.threads;
    scant_status status = run(sel);
    sel->ctx->threads = given;
    return status == SCANT_OK ? hand_out(sel, out) : status;
}

scant_status scant_select(scant_ctx *ctx, const char *strategy,
                          const scant_evidence *evidence, size_t batch,
                          const scant_select_opts *opts, scant_picks **out) {
    *out = NULL;
    NEED(ctx);
    scant_selection *sel;
    TRY(scant_selection_open(ctx, strategy, evidence, batch, opts, &sel));
    scant_status status = scant_selection_run(sel, out);
    scant_selection_free(sel);
    return status;
}
