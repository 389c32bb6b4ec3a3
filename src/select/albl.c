/* SPDX-License-Identifier: Apache-2.0
 *
 * albl: a bandit over two strategies, least confidence and coreset (Hsu & Lin, "Active
 * learning by learning", 2015), in the form that deep active-learning papers compare
 * with: one arm, drawn with the probability below, picks the whole batch,
 *
 *     p_k = (1 - K p_min) w_k / sum w + p_min,    K = 2, p_min = 1 / (10 K)
 *
 * and the next call rewards it with the model's accuracy r on the labelled rows, each
 * weighted by one over the probability of its pick:
 *
 *     w_k <- w_k exp(p_min/2 (r + sqrt(ln(K / 0.1) / K) / p_k)).
 *
 * The original algorithm differs: it picks one row at a time, updates all arms and mixes
 * their distributions. If the model fits its labels, r is near 1 for either arm, and the
 * bandit drifts to the arm that it happened to draw: do not expect it to adapt much.
 *
 * The state between calls is a JSON object: the weights (the largest is 1), the arm and
 * probability of the last call, the number of calls, and the probability of every picked
 * row. Labelled rows that albl did not pick count with probability 1.
 *
 * Cost: that of the arm, and one pass over probabilities and features. Memory: 8 bytes
 * per row, and the state's text.
 */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/json_read.h"
#include "core/number.h"
#include "core/rng.h"
#include "linalg/products.h"
#include "select/strategy.h"

enum { ARMS = 2, ENTRY = 64 /* bytes of "[row, probability], " at most */, HEAD = 256 };

#define MOST_CALLS 1000000000000 /* an upper bound that no project reaches */

static const double P_MIN = 1.0 / (10 * ARMS), DELTA = 0.1;

typedef struct bandit {
    double weight[ARMS];
    uint64_t calls;    /* number of calls so far */
    size_t arm;        /* arm of the last call */
    double p;          /* probability of that arm */
    double *picked_by; /* n: probability of each row's pick; 0 if not picked */
    size_t n_picked;
    double reward; /* reward measured in this call */
} bandit;

/* ---- the state as text ----------------------------------------------------------- */

static scant_status damaged(const scant_selection *sel, const char *what) {
    return scant__fail(sel->ctx, SCANT_EINPUT, "%s: not a state written by albl: %s",
                       sel->state_name, what);
}

static bool number_within(const json_t *value, double low, double high, double *out) {
    *out = json_number_value(value);
    return json_is_number(value) && *out >= low && *out <= high;
}

/* Reads [[row, probability], ...]. */
static scant_status read_picked(const scant_selection *sel, const json_t *list,
                                bandit *b) {
    if (!json_is_array(list)) return damaged(sel, "'picked' is not a list");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *pair = json_array_get(list, i), *row = json_array_get(pair, 0);
        json_int_t at = json_integer_value(row);
        double p;
        if (!json_is_integer(row) || json_array_size(pair) != 2 || at < 0 ||
            !number_within(json_array_get(pair, 1), P_MIN, 1, &p))
            return damaged(sel,
                           "'picked' has an entry that is not a row with a probability");
        if ((uint64_t)at >= sel->pool.n)
            return scant__fail(sel->ctx, SCANT_EINPUT,
                               "%s: names row %lld, but the pool has %zu rows: the state "
                               "belongs to another pool",
                               sel->state_name, (long long)at, sel->pool.n);
        b->n_picked += b->picked_by[at] == 0;
        b->picked_by[at] = p;
    }
    return SCANT_OK;
}

static scant_status read_state(const scant_selection *sel, const json_t *root,
                               bandit *b) {
    const json_t *kind = json_object_get(root, "state");
    const json_t *weights = json_object_get(root, "weights");
    const json_t *arm = json_object_get(root, "arm");
    const json_t *calls = json_object_get(root, "calls");
    if (!json_is_string(kind) || strcmp(json_string_value(kind), "scant albl 1") != 0)
        return damaged(sel, "'state' is not \"scant albl 1\"");
    if (json_array_size(weights) != ARMS)
        return damaged(sel, "'weights' is not a list of two numbers");
    double top = 0;
    for (size_t k = 0; k < ARMS; k++) {
        if (!number_within(json_array_get(weights, k), 0, 1, &b->weight[k]))
            return damaged(sel, "a weight is not a number from 0 to 1");
        top = fmax(top, b->weight[k]);
    }
    if (top != 1) return damaged(sel, "the largest weight is not 1");
    b->arm = (size_t)json_integer_value(arm);
    if (!json_is_integer(arm) || b->arm >= ARMS)
        return damaged(sel, "'arm' is not 0 or 1");
    if (!number_within(json_object_get(root, "probability"), P_MIN, 1, &b->p))
        return damaged(sel, "'probability' is out of range");
    if (!json_is_integer(calls) || json_integer_value(calls) < 1 ||
        json_integer_value(calls) > MOST_CALLS)
        return damaged(sel, "'calls' is not a count");
    b->calls = (uint64_t)json_integer_value(calls);
    return read_picked(sel, json_object_get(root, "picked"), b);
}

static scant_status parse_state(const scant_selection *sel, bandit *b) {
    AUTO(scant__json_tree_end) scant__json_tree tree = {0};
    if (!sel->state) return SCANT_OK;
    scant_status status = scant__json_read(sel->ctx, sel->state, sel->state_size,
                                           JSON_REJECT_DUPLICATES, NULL, &tree);
    if (status == SCANT_ENOMEM)
        return scant__fail(sel->ctx, status, "%s: reading it %s", sel->state_name,
                           tree.error.text);
    if (status != SCANT_OK)
        return scant__fail(sel->ctx, status, "%s: not valid JSON: line %d: %s",
                           sel->state_name, tree.error.line, tree.error.text);
    return read_state(sel, tree.root, b);
}

static scant_status write_state(scant_selection *sel, const bandit *b) {
    size_t room = size_add(HEAD, size_mul(b->n_picked, ENTRY)), used;
    char *text = scant__arena_alloc(sel->arena, room, 1), p[SCANT__NUMBER],
         w[ARMS][SCANT__NUMBER];
    if (!text) return SCANT_ENOMEM;
    scant__number_format(b->p, p);
    for (size_t k = 0; k < ARMS; k++) scant__number_format(b->weight[k], w[k]);
    used =
        (size_t)snprintf(text, room,
                         "{\"state\": \"scant albl 1\", \"calls\": %llu, \"weights\": "
                         "[%s, %s], \"arm\": %zu, \"probability\": %s,\n \"picked\": [",
                         (unsigned long long)b->calls, w[0], w[1], b->arm, p);
    const char *between = "";
    for (size_t i = 0; i < sel->pool.n; i++) {
        if (b->picked_by[i] == 0) continue;
        scant__number_format(b->picked_by[i], p);
        used += (size_t)snprintf(text + used, room - used, "%s[%zu, %s]", between, i, p);
        between = ", ";
    }
    used += (size_t)snprintf(text + used, room - used, "]}\n");
    sel->next_state = text;
    sel->next_state_size = used;
    return SCANT_OK;
}

/* ---- the bandit ------------------------------------------------------------------ */

/* Measures the importance-weighted accuracy on the labelled rows: the mean of correct
 * predictions, each divided by the probability of its row's pick. */
static scant_status measure(const scant_selection *sel, bandit *b) {
    const select_pool *pool = &sel->pool;
    la_rows probs;
    double sum = 0, *row = scant__arena_alloc(sel->arena, pool->c, sizeof *row);
    if (!row) return SCANT_ENOMEM;
    select_prob_rows(pool, SELECT_PROBS, &probs);
    for (size_t i = 0; i < pool->n; i++) {
        int64_t y = select_pool_label(pool, i);
        if (y < 0) continue;
        const double *p = la_rows_get(&probs, i, 1, row);
        if (la_argmax(p, pool->c) == (size_t)y)
            sum += 1 / (b->picked_by[i] > 0 ? b->picked_by[i] : 1);
    }
    b->reward = pool->labelled ? sum / (double)pool->labelled : 0;
    return SCANT_OK;
}

/* Updates the arm's weight. Then divides both weights by the larger one, so that they do
 * not grow without limit; only their ratio matters. */
static void reward(bandit *b) {
    double bonus = sqrt(log(ARMS / DELTA) / ARMS) / b->p, top = 0;
    b->weight[b->arm] *= exp(P_MIN / 2 * (b->reward + bonus));
    for (size_t k = 0; k < ARMS; k++) top = fmax(top, b->weight[k]);
    for (size_t k = 0; k < ARMS; k++) b->weight[k] /= top;
}

static void draw_arm(const scant_selection *sel, bandit *b) {
    const scant__rng rng = {sel->seed, SCANT__RNG_ARM};
    double p[ARMS], sum = b->weight[0] + b->weight[1];
    for (size_t k = 0; k < ARMS; k++)
        p[k] = (1 - ARMS * P_MIN) * b->weight[k] / sum + P_MIN;
    b->arm = scant__rng_unit(&rng, b->calls) < p[0] ? 0 : 1;
    b->p = p[b->arm];
    b->calls++;
}

/* ---- the arms -------------------------------------------------------------------- */

static const scant_strategy *const arms[ARMS] = {&select_strategy_confidence,
                                                 &select_strategy_coreset};

/* The same call, with only the evidence that one arm uses. */
static scant_selection call_of(const scant_selection *sel, size_t arm) {
    scant_selection call = *sel;
    call.strategy = arms[arm];
    call.used = arms[arm]->info.needs;
    if (!(call.used & SCANT_FEATURES)) call.pool.features = NULL, call.pool.d = 0;
    if (!(call.used & SCANT_PROBS)) call.pool.probs = NULL, call.pool.c = 0;
    return call;
}

/* The plan of one arm. The arms' options are switches, all off. */
static scant_plan plan_of(const scant_selection *sel, size_t arm,
                          const scant_plan *plan) {
    enum { MOST_OPTIONS = 4 };
    select_value values[MOST_OPTIONS] = {{0}};
    scant_selection call = call_of(sel, arm);
    scant_plan out = *plan;
    assert(arms[arm]->info.n_options <= MOST_OPTIONS);
    call.values = values;
    call.strategy->plan(&call, &out);
    return out;
}

static void albl_plan(const scant_selection *sel, scant_plan *plan) {
    const select_pool *pool = &sel->pool;
    unsigned threads = sel->ctx->threads;
    enum { BLOCKS = 8, OVERHEAD = 256, OPTION = 512 };
    size_t kept = BLOCKS * OVERHEAD + OPTION;
    kept = size_add(kept, size_mul(pool->n, sizeof(double)));
    kept = size_add(kept, size_mul(pool->c, sizeof(double)));
    /* A state has at most pool->n rows, each in at least sizeof "[0,1]" bytes of text.
     * The factor 2 is for the new state and the caller's copy. */
    size_t rows = size_add(sel->state_size / sizeof "[0,1]", plan->batch);
    rows = rows < pool->n ? rows : pool->n;
    kept = size_add(kept, 2 * size_add(HEAD, size_mul(rows, ENTRY)));
    plan->memory = size_add(plan->memory, kept);
    size_t check = select_features_memory(pool, threads);
    size_t check_p = select_probs_check_memory(pool, threads);
    check = plan->memory + (check > check_p ? check : check_p);
    scant_plan sure = plan_of(sel, 0, plan), far = plan_of(sel, 1, plan);
    size_t passes = far.passes;
    *plan = far.memory > sure.memory ? far : sure;
    plan->memory = plan->memory > check ? plan->memory : check;
    plan->passes = passes + 1;
}

static scant_status play(scant_selection *sel, const bandit *b) {
    scant_selection call = call_of(sel, b->arm);
    TRY(select_options_resolve(sel->arena, call.strategy, NULL, 0, false, &call.values));
    scant_plan base = {
        .rows = sel->pool.n, .batch = sel->batch, .memory = sel->ctx->used};
    call.plan = plan_of(&call, b->arm, &base);
    TRY(call.strategy->select(&call));
    sel->count = call.count;
    for (size_t i = 0; i < sel->count; i++) sel->picks[i].score = b->p;
    return SCANT_OK;
}

static scant_status albl_select(scant_selection *sel) {
    bandit b = {.weight = {1, 1}};
    select_features unused;
    b.picked_by = TRY_ZERO(sel->arena, double, sel->pool.n);
    TRY(parse_state(sel, &b));
    TRY(select_probs_check(sel->arena, &sel->pool));
    TRY(select_features_scan(sel->arena, &sel->pool, false, &unused));
    if (b.calls) {
        TRY(measure(sel, &b));
        reward(&b);
        select_figure(sel, "reward", b.reward);
    }
    draw_arm(sel, &b);
    TRY(play(sel, &b));
    for (size_t i = 0; i < sel->count; i++) {
        double *p = &b.picked_by[sel->picks[i].index];
        b.n_picked += *p == 0;
        *p = b.p;
    }
    select_figure(sel, "arm", (double)b.arm);
    select_figure(sel, "probability", b.p);
    select_figure(sel, "weight_confidence", b.weight[0]);
    select_figure(sel, "weight_coreset", b.weight[1]);
    return write_state(sel, &b);
}

static const scant_figure_info figures[] = {
    {"reward",
     "reward of the previous call's arm: the model's accuracy on the labelled rows, each "
     "weighted by one over the probability of its pick; absent in the first call"},
    {"arm", "arm that made the picks: 0 is confidence, 1 is coreset"},
    {"probability", "probability with which this arm was chosen; every pick's score"},
    {"weight_confidence", "weight of confidence; the larger of the two weights is 1"},
    {"weight_coreset", "weight of coreset"},
};

const scant_strategy select_strategy_albl = {
    .info = {.name = "albl",
             .summary = "a bandit that chooses between confidence and coreset and learns "
                        "from call to call",
             .use = "A baseline that hedges between the two; it adapts slowly.",
             .paper = "Hsu & Lin 2015, in the form that Ash et al. 2020 compare with",
             .score = "probability with which the arm was chosen",
             .needs = SCANT_PROBS | SCANT_FEATURES | SCANT_LABELS | SCANT_STATE,
             SELECT_FIGURES(figures)},
    .plan = albl_plan,
    .select = albl_select,
};
