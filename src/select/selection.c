/* SPDX-License-Identifier: Apache-2.0
 *
 * A selection: checks the call, reads labels and candidates, plans, runs the strategy and
 * copies the picks for the caller.
 */
#include <assert.h>
#include <string.h>

#include "data/array.h"
#include "select/strategy.h"

struct scant_selection {
    scant__arena arena; /* memory of the selection's lifetime */
    select_req req;
    bool has_run;
};

/* Chooses the inputs; by default info.needs, or or_needs if only those are all given. */
static scant_status choose_inputs(select_req *req, unsigned given) {
    const scant_strategy_info *info = &req->strategy->info;
    if (req->strategy->inputs) return req->strategy->inputs(req, given, &req->used);
    bool other = (info->needs & ~given) && info->or_needs && !(info->or_needs & ~given);
    req->used = other ? info->or_needs : info->needs;
    return SCANT_OK;
}

static scant_status begin(scant__arena *arena, const char *name,
                          const scant_select_opts *opts, unsigned given,
                          select_req *req) {
    scant_select_opts o = opts ? *opts : (scant_select_opts){0};
    const scant_strategy *strategy = select_strategy_find(name);
    if (!strategy)
        return scant__fail(arena->ctx, SCANT_EUSAGE, "unknown strategy '%s'", name);
    *req = (select_req){.ctx = arena->ctx,
                        .arena = arena,
                        .strategy = strategy,
                        .seed = o.seed,
                        .kernel = o.kernel,
                        .state = o.state,
                        .state_size = o.state_size,
                        .state_name = o.state_name ? o.state_name : "the state"};
    if (o.kernel) TRY(select_kernel_parse(arena->ctx, strategy, o.kernel, &req->depth));
    TRY(select_options_resolve(arena, strategy, o.settings, o.n_settings, o.kernel,
                               &req->values));
    return choose_inputs(req, given);
}

scant_status scant_select_inputs(scant_ctx *ctx, const char *strategy,
                                 const scant_select_opts *opts, unsigned given,
                                 unsigned *used, unsigned *missing) {
    AUTO(scant__arena_end) scant__arena arena = {.ctx = ctx};
    select_req req;
    *used = *missing = 0;
    TRY(begin(&arena, strategy, opts, given, &req));
    *used = (req.used | req.strategy->info.uses) & given;
    *missing = req.used & ~given;
    return SCANT_OK;
}

/* Checks the call and shapes, reads labels and candidates; reads no matrices. */
static scant_status prepare(scant__arena *arena, const char *name,
                            const scant_evidence *evidence, size_t batch,
                            const scant_select_opts *opts, select_req *req) {
    if (batch < 1)
        return scant__fail(arena->ctx, SCANT_EUSAGE,
                           "the batch is 0, expected at least 1");
    TRY(begin(arena, name, opts, select_given(evidence), req));
    TRY(select_pool_open(arena->ctx, evidence, req->used, name, &req->pool));
    TRY(select_pool_read(arena, &req->pool));
    req->asked = batch;
    req->batch = batch < req->pool.available ? batch : req->pool.available;
    if (!req->strategy->check || !req->batch) return SCANT_OK;
    return req->strategy->check(req);
}

/* Memory besides the strategy's own: picks and their copy, options, figures, and the
 * selection itself, which is part of ctx->used already. */
static size_t common_memory(const select_req *req) {
    enum { SMALL = 16 << 10 };
    return SMALL - scant__alloc_cost(sizeof(scant_selection)) +
           2 * scant__alloc_cost(req->batch * sizeof(scant_pick));
}

static void plan(select_req *req) {
    req->plan = (scant_plan){.rows = req->pool.n,
                             .batch = req->batch,
                             .memory = req->ctx->used + common_memory(req),
                             .used = req->used,
                             .input_bytes = req->pool.input_bytes};
    if (req->batch) req->strategy->plan(req, &req->plan);
}

scant_status select_check_plan(const select_req *req, const scant_plan *plan) {
    scant_ctx *ctx = req->ctx;
    if (plan->memory <= ctx->cap) return SCANT_OK;
    return scant__fail(
        ctx, SCANT_ENOMEM,
        "%s needs %zu bytes (%zu MB) for %zu rows, but only %zu (%zu MB) are "
        "allowed",
        req->strategy->info.name, plan->memory, (plan->memory >> 20) + 1, plan->rows,
        ctx->cap, ctx->cap >> 20);
}

scant_status scant_selection_open(scant_ctx *ctx, const char *strategy,
                                  const scant_evidence *evidence, size_t batch,
                                  const scant_select_opts *opts, scant_selection **out) {
    scant_selection *s = scant__zalloc(ctx, 1, sizeof *s);
    *out = NULL;
    if (!s) return SCANT_ENOMEM;
    scant__arena_init(&s->arena, ctx);
    scant_status status = prepare(&s->arena, strategy, evidence, batch, opts, &s->req);
    if (status != SCANT_OK) {
        scant_selection_free(s);
        return status;
    }
    plan(&s->req);
    *out = s;
    return SCANT_OK;
}

void scant_selection_free(scant_selection *selection) {
    if (!selection) return;
    scant_ctx *ctx = selection->arena.ctx;
    scant__arena_end(&selection->arena);
    scant__free(ctx, selection);
}

scant_status scant_selection_plan(const scant_selection *selection, scant_plan *plan) {
    *plan = selection->req.plan;
    return select_check_plan(&selection->req, plan);
}

void select_figure(select_req *req, const char *name, double value) {
    const scant_strategy_info *info = &req->strategy->info;
    size_t k = 0;
    while (k < info->n_figures && strcmp(info->figures[k].name, name)) k++;
    assert(k < info->n_figures && req->n_info < SELECT_INFO);
    req->info[req->n_info++] = (scant_figure){name, value};
}

void select_pick(select_req *req, size_t index, double weight, double score) {
    req->picks[req->count++] = (scant_pick){index, weight, score};
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

/* Copies bytes and appends a zero. False: out of memory. */
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

static scant_status box_fill(const select_req *req, picks_box *box) {
    const scant_strategy_info *info = &req->strategy->info;
    scant__arena *arena = &box->arena;
    scant_picks *p = &box->picks;
    scant_setting *settings = TRY_ZERO(arena, scant_setting, info->n_options + 1);
    *p = (scant_picks){.strategy = info->name,
                       .count = req->count,
                       .rows = req->pool.n,
                       .n_settings = info->n_options,
                       .settings = settings,
                       .n_info = req->n_info,
                       .state_size = req->next_state_size};
    for (size_t k = 0; k < info->n_options; k++) {
        settings[k].key = info->options[k].key;
        if (!copy_text(arena, req->values[k].text, &settings[k].value))
            return SCANT_ENOMEM;
    }
    bool copied = copy(arena, req->picks, req->count * sizeof *req->picks, &p->items) &&
                  copy(arena, req->info, req->n_info * sizeof *req->info, &p->info) &&
                  copy_text(arena, req->kernel, &p->kernel) &&
                  (!req->next_state ||
                   copy(arena, req->next_state, req->next_state_size, &p->state));
    return copied ? SCANT_OK : SCANT_ENOMEM;
}

static scant_status hand_out(const select_req *req, scant_picks **out) {
    picks_box *box = scant__zalloc(req->ctx, 1, sizeof *box);
    if (!box) return SCANT_ENOMEM;
    scant__arena_init(&box->arena, req->ctx);
    scant_status s = box_fill(req, box);
    if (s == SCANT_OK)
        *out = &box->picks;
    else
        scant_picks_free(req->ctx, &box->picks);
    return s;
}

static void warn(const select_req *req, size_t asked) {
    const select_pool *pool = &req->pool;
    if (pool->barred)
        scant__warn(req->ctx, "%s: %zu of the candidates %s labelled and left out",
                    scant_array_name(pool->candidates), pool->barred,
                    pool->barred == 1 ? "is" : "are");
    if (req->batch == 0)
        scant__warn(req->ctx, "no row is left to pick");
    else if (asked > req->batch)
        scant__warn(req->ctx, "%zu rows were asked for, but only %zu can be picked",
                    asked, req->batch);
}

static scant_status run(select_req *req) {
    req->picks = TRY_NEW(req->arena, scant_pick, req->batch + 1);
    req->info = TRY_NEW(req->arena, scant_figure, SELECT_INFO);
    return req->batch ? req->strategy->select(req) : SCANT_OK;
}

scant_status scant_selection_run(scant_selection *selection, scant_picks **out) {
    select_req *req = &selection->req;
    *out = NULL;
    if (selection->has_run)
        return scant__fail(req->ctx, SCANT_EUSAGE, "a selection can run only once");
    TRY(select_check_plan(req, &req->plan));
    selection->has_run = true;
    warn(req, req->asked);
    TRY(run(req));
    return hand_out(req, out);
}

scant_status scant_select(scant_ctx *ctx, const char *strategy,
                          const scant_evidence *evidence, size_t batch,
                          const scant_select_opts *opts, scant_picks **out) {
    scant_selection *selection;
    *out = NULL;
    TRY(scant_selection_open(ctx, strategy, evidence, batch, opts, &selection));
    scant_status status = scant_selection_run(selection, out);
    scant_selection_free(selection);
    return status;
}
