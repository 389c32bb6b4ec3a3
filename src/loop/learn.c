/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes networks by a recipe and trains them.
 *
 * A context serves one thread. So members that train side by side are copied: a copy has
 * its own context and starts with the member's weights; its trained weights are written
 * back at the end. It exists only during its training. Its messages and progress are
 * passed to the calling thread, the only one that uses the ensemble and its context.
 */
#include "loop/learn.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/clock.h"
#include "core/jobpool.h"
#include "core/mem.h"
#include "core/rng.h"

/* ---- networks ---------------------------------------------------------------------- */

scant_status learn_free_on_failure(scant_status status, scant_net **net) {
    if (status == SCANT_OK) return SCANT_OK;
    scant_net_free(*net);
    *net = NULL;
    return status;
}

bool learn_has_collapsed(scant_status status, const scant_train_state *state) {
    bool ended = status == SCANT_OK ||
                 (status == SCANT_EINPUT && state->signs & SCANT_SIGN_DIVERGED);
    return ended && (state->signs & SCANT_SIGNS_COLLAPSED) != 0;
}

void learn_warn_repeated(scant_ctx *ctx, const char *signs) {
    scant__warn(ctx,
                "the training has collapsed (%s): it is repeated once with another seed",
                signs);
}

learn_mute learn_mute_log(scant_ctx *ctx) {
    learn_mute mute = {ctx, ctx->opts.log};
    ctx->opts.log = NULL;
    return mute;
}

void learn_unmute(learn_mute *mute) { mute->ctx->opts.log = mute->log; }

static scant_status prepare(scant_net *net, const scant_recipe *r) {
    if (r->mean) TRY(scant_net_set_scaling(net, r->mean, r->deviation));
    return r->class_names ? scant_net_set_class_names(net, r->class_names) : SCANT_OK;
}

static scant_status make_one(scant_ctx *ctx, const scant_data *data,
                             const scant_recipe *r, uint64_t seed, scant_net **out) {
    scant_net_opts opts = r->net;
    opts.seed = seed;
    if (!opts.shape[0]) scant_data_shape(data, opts.shape);
    if (r->weights && *r->weights)
        TRY(scant_net_start(ctx, r->weights, r->model, &opts, out));
    else
        TRY(scant_net_create(ctx, r->model, &opts, out));
    return learn_free_on_failure(prepare(*out, r), out);
}

/* The seed of member i; member 0 has `seed`. */
static uint64_t member_seed(uint64_t seed, size_t i) {
    return i ? scant__rng_u64(&(scant__rng){seed, SCANT__RNG_MEMBER}, i) : seed;
}

static scant_status add_member(scant_net *net, const scant_data *data,
                               const scant_recipe *r, size_t i) {
    scant_net *member;
    TRY(make_one(net->ctx, data, r, member_seed(r->net.seed, i), &member));
    return learn_free_on_failure(scant_net_join(net, member), &member);
}

scant_status scant_recipe_make(scant_ctx *ctx, const scant_data *data,
                               const scant_recipe *r, scant_net **out) {
    *out = NULL;
    NEED(ctx && data);
    scant_status status = make_one(ctx, data, r, r->net.seed, out);
    for (size_t i = 1; i < r->members && status == SCANT_OK; i++)
        status = add_member(*out, data, r, i);
    return learn_free_on_failure(status, out);
}

/* ---- training one network ---------------------------------------------------------- */

static scant_status train(scant_net *net, const scant_data *data, learn_job *job,
                          scant_train_opts *opts) {
    scant_status status = scant_net_train(net, data, opts, &job->state);
    bool unread = job->start_over && opts->resume && !job->state.step &&
                  (status == SCANT_EINPUT || status == SCANT_EIO);
    if (!unread) return status;
    scant__warn(net->ctx, "%s; this training starts over", net->ctx->err);
    opts->resume = false;
    return scant_net_train(net, data, opts, &job->state);
}

/* ---- training side by side --------------------------------------------------------- */

static const double report_pause = 0.1; /* seconds */

/* All trainings of a call. */
typedef struct group {
    scant_net *net;
    const scant_data *data;
    const scant_recipe *recipe;
    learn_job *jobs;
    unsigned threads;    /* of each training */
    scant_status status; /* of the first failure other than a cancellation */
    char error[SCANT__ERR_SIZE];
} group;

/* A training in progress, on its own thread. */
typedef struct worker {
    group *group;
    learn_job *job;
    scant__jobpool *jobpool;
    scant_ctx *ctx;
    scant_net *net; /* the copy */
    float *weights; /* buffer to move weights between copy and member */
    double reported;
    scant_train_state state; /* of the next report */
    scant_log_level level;   /* level and text of a message */
    const char *text;
    scant_status status;
} worker;

/* These run on the caller's thread. */

static void set_status(worker *w, scant_status status) {
    w->status = status;
    if (status != SCANT_OK)
        memcpy(w->ctx->err, w->group->net->ctx->err, sizeof w->ctx->err);
}

static void get_weights(void *arg) {
    worker *w = arg;
    scant_net *member = scant_net_member(w->group->net, w->job->member);
    w->net->trained = member->trained;
    set_status(w, nn_weights_get(member->weights, w->weights));
}

static void put_weights(void *arg) {
    worker *w = arg;
    scant_net *member = scant_net_member(w->group->net, w->job->member);
    member->trained = w->net->trained;
    set_status(w, nn_weights_set(member->weights, w->weights));
}

/* The name of the dead layer is the copy's; the member has it too. */
static void keep_dead_layer(void *arg) {
    const worker *w = arg;
    const nn_net *own = scant_net_member(w->group->net, w->job->member)->net;
    scant_train_state *state = &w->job->state;
    const char *name = state->dead_layer;
    state->dead_layer = NULL;
    for (size_t i = 0; name && i < own->n_nodes; i++)
        if (strcmp(own->nodes[i].name, name) == 0) state->dead_layer = own->nodes[i].name;
}

static void note_failure(void *arg) {
    const worker *w = arg;
    group *g = w->group;
    const char *text = w->ctx ? w->ctx->err : "";
    scant__jobpool_stop(w->jobpool);
    if (w->status == SCANT_ECANCELLED || g->status != SCANT_OK) return;
    g->status = w->status;
    snprintf(g->error, sizeof g->error, "%s",
             *text ? text : scant_status_text(w->status));
}

static void pass_report(void *arg) {
    const worker *w = arg;
    w->job->opts.report(w->job->opts.user, &w->state);
}

static void pass_message(void *arg) {
    const worker *w = arg;
    const scant_ctx *ctx = w->group->net->ctx;
    if (ctx->opts.log) ctx->opts.log(ctx->opts.user, w->level, w->text);
}

/* These run on the worker's thread. */

static void on_message(void *user, scant_log_level level, const char *text) {
    worker *w = user;
    w->level = level;
    w->text = text;
    scant__jobpool_call(w->jobpool, pass_message, w);
}

static void on_step(void *user, const scant_train_state *state) {
    worker *w = user;
    double now = scant__now();
    bool last = state->step == state->steps || state->stopped;
    if (!w->job->opts.report || (!last && now - w->reported < report_pause)) return;
    w->reported = now;
    w->state = *state;
    scant__jobpool_call(w->jobpool, pass_report, w);
}

static int is_cancelled(void *user) {
    const worker *w = user;
    return scant__jobpool_stopped(w->jobpool);
}

static scant_status make_context(worker *w) {
    scant_ctx *caller = w->group->net->ctx;
    scant_ctx_opts opts = {.threads = w->group->threads,
                           .memory = caller->cap,
                           .user = w,
                           .log = on_message,
                           .cancel = is_cancelled};
    TRY(scant_ctx_create(&opts, &w->ctx));
    w->ctx->parent = caller->parent ? caller->parent : caller;
    return SCANT_OK;
}

static scant_status train_copy(worker *w) {
    const group *g = w->group;
    scant_train_opts opts = w->job->opts;
    opts.user = w;
    opts.report = on_step;
    TRY(make_context(w));
    TRY(make_one(w->ctx, g->data, g->recipe, 0, &w->net));
    w->weights = scant__alloc(w->ctx, w->net->net->n_floats, sizeof *w->weights);
    if (!w->weights) return SCANT_ENOMEM;
    scant__jobpool_call(w->jobpool, get_weights, w);
    TRY(w->status);
    TRY(nn_weights_set(w->net->weights, w->weights));
    TRY(train(w->net, g->data, w->job, &opts));
    TRY(nn_weights_get(w->net->weights, w->weights));
    scant__jobpool_call(w->jobpool, put_weights, w);
    return w->status;
}

static void work(scant__jobpool *jobpool, void *arg, size_t number, unsigned thread) {
    group *g = arg;
    worker w = {.group = g, .job = &g->jobs[number], .jobpool = jobpool};
    (void)thread;
    w.status = train_copy(&w);
    w.job->done = w.status == SCANT_OK;
    if (w.status != SCANT_OK) scant__jobpool_call(jobpool, note_failure, &w);
    scant__jobpool_call(jobpool, keep_dead_layer, &w);
    scant_net_free(w.net);
    if (w.ctx) scant__free(w.ctx, w.weights);
    scant_ctx_free(w.ctx);
}

static scant_status train_in_turn(scant_net *net, const scant_data *data, learn_job *jobs,
                                  size_t n) {
    for (size_t i = 0; i < n; i++) {
        scant_train_opts opts = jobs[i].opts;
        TRY(train(scant_net_member(net, jobs[i].member), data, &jobs[i], &opts));
        jobs[i].done = true;
    }
    return SCANT_OK;
}

scant_status learn_train(scant_net *net, const scant_data *data,
                         const scant_recipe *recipe, learn_job *jobs, size_t n) {
    scant_ctx *ctx = net->ctx;
    unsigned at_once = (unsigned)size_min(scant_net_members(net), ctx->threads);
    if (at_once == 1) return train_in_turn(net, data, jobs, n);
    group g = {.net = net,
               .data = data,
               .recipe = recipe,
               .jobs = jobs,
               .threads = ctx->threads / at_once};
    scant_status status = scant__jobpool_run(ctx, n, at_once, work, &g);
    if (g.status == SCANT_OK) return status;
    return scant__fail(ctx, g.status, "%s", g.error);
}

/* ---- make and train ---------------------------------------------------------------- */

/* Adds the signs of another member, with the numbers that describe them. */
static void add_signs(scant_train_state *s, const scant_train_state *other) {
    uint64_t added = other->signs & ~s->signs;
    s->signs |= added;
    if (other->dead > s->dead) {
        s->dead = other->dead;
        s->dead_layer = other->dead_layer;
    }
    s->gradient_norm = fmax(s->gradient_norm, other->gradient_norm);
    if (added & SCANT_SIGN_LOSS) {
        s->window_loss = other->window_loss;
        s->constant_loss = other->constant_loss;
    }
    if (added & SCANT_SIGN_MASK) s->window_kept = other->window_kept;
    if (added & SCANT_SIGN_CLASSES) {
        s->label_classes = other->label_classes;
        s->pseudo_classes = other->pseudo_classes;
    }
}

static scant_status train_all(scant_net *net, const scant_data *data,
                              const scant_recipe *r, scant_train_state *state) {
    AUTO(scant__arena_end) scant__arena arena = {.ctx = net->ctx};
    size_t n = scant_net_members(net);
    learn_job *jobs = TRY_NEW(&arena, learn_job, n);
    for (size_t i = 0; i < n; i++) {
        jobs[i] = (learn_job){.member = i, .opts = r->train};
        jobs[i].opts.seed = member_seed(r->train.seed, i);
    }
    scant_status status = learn_train(net, data, r, jobs, n);
    if (!state) return status;
    *state = jobs[0].state;
    for (size_t i = 1; i < n; i++)
        if (jobs[i].state.step || jobs[i].state.signs) add_signs(state, &jobs[i].state);
    if (status != SCANT_OK) state->dead_layer = NULL; /* the network will be freed */
    return status;
}

scant_status scant_learn(scant_ctx *ctx, const scant_data *data, const scant_recipe *r,
                         scant_net **out, scant_train_state *state) {
    *out = NULL;
    NEED(ctx && data);
    if (state) *state = (scant_train_state){0};
    TRY(scant_recipe_make(ctx, data, r, out));
    return learn_free_on_failure(train_all(*out, data, r, state), out);
}
