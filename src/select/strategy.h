/* SPDX-License-Identifier: Apache-2.0
 *
 * A strategy: a row of the registry's table. It turns evidence into picks and never sees
 * a network, a file or a database.
 */
#ifndef SCANT_SELECT_STRATEGY_H
#define SCANT_SELECT_STRATEGY_H

#include "core/option.h"
#include "select/pool.h"

typedef struct select_value { /* an option's value, in the order of the option table */
    double number;    /* switch, count, number or index of a choice; -1 if not set */
    double param;     /* K of a choice "word:K" */
    const char *text; /* NULL if not set */
} select_value;

/* A selection (scant.h) and what its strategy reads and fills in. */
struct scant_selection {
    scant_ctx *ctx;
    scant__arena *arena; /* memory that lives as long as the selection; copies share it */
    const struct scant_strategy *strategy;
    select_pool pool;
    scant_plan plan; /* the strategy must keep to plan.block_rows */
    unsigned used;   /* evidence that is read: scant_evidence_kind bits */
    size_t asked;    /* rows that the call asked for */
    size_t batch;    /* rows to pick: at least 1, at most pool.available */
    uint64_t seed;
    const char *kernel; /* the kernel's text, or NULL */
    size_t depth; /* depth of the infinitely wide network's kernel; 0 if no kernel */
    select_value *values;
    /* Filled in by the strategy: */
    scant_pick *picks; /* capacity: batch */
    size_t count;
    scant_figure *info; /* capacity: SELECT_INFO */
    size_t n_info;
    const char *state; /* state of the previous call, or NULL */
    size_t state_size;
    const char *state_name; /* name of the state's source, for messages */
    char *next_state;       /* state for the next call, in the arena, or NULL */
    size_t next_state_size;
    bool has_run;
    scant__arena memory; /* what arena points to */
};

enum { SELECT_INFO = 16 };

typedef struct scant_strategy {
    scant_strategy_info info;
    /* Optional. Chooses the inputs of a call, from its options and the given kinds; may
     * set options. Default: info.needs, or info.or_needs if all of or_needs are given but
     * not all of needs. */
    scant_status (*inputs)(scant_selection *sel, unsigned given, unsigned *needs);
    /* Optional. Fails if options, shapes and labels do not fit together; called before
     * plan. */
    scant_status (*check)(const scant_selection *sel);
    /* Completes a plan that holds rows, batch and the memory used so far: adds memory,
     * sets blocks and passes. Labels and candidates have been read, matrices have not. */
    void (*plan)(const scant_selection *sel, scant_plan *plan);
    scant_status (*select)(scant_selection *sel);
    bool blas; /* calls BLAS, whose buffers are part of the plan */
} scant_strategy;

/* Members of a strategy's info, from its static tables. */
#define SELECT_OPTIONS(table) .options = table, .n_options = sizeof table / sizeof *table
#define SELECT_FIGURES(table) .figures = table, .n_figures = sizeof table / sizeof *table

/* A row of a strategy's table of options. */
#define SELECT_OPTION(key, kind, value, help, ...)                                       \
    OPT_ROW(key, kind, NULL, value, 0, NULL, help, __VA_ARGS__)

/* Options that several strategies have. */
#define SELECT_OPTION_BIAS(default_)                                                     \
    {                                                                                    \
        .key = "bias", .kind = SCANT_OPTION_SWITCH, .value = default_,                   \
        .help = "append a 1 to the features, for the bias of the last layer"             \
    }
#define SELECT_OPTION_NORMALISE                                                          \
    {                                                                                    \
        .key = "normalise", .kind = SCANT_OPTION_SWITCH, .value = "0",                   \
        .help = "scale each feature row to unit length first"                            \
    }

/* Returns the value of a strategy's option. */
double select_option(const scant_selection *sel, const char *key);
/* Returns K of a choice "word:K". */
double select_option_param(const scant_selection *sel, const char *key);
const char *select_option_text(const scant_selection *sel,
                               const char *key); /* as given */
/* Returns whether an option without a default was given or set. */
bool select_option_is_set(const scant_selection *sel, const char *key);
/* Sets an option that has no default, from text. */
scant_status select_option_settle(scant_selection *sel, const char *key, const char *fmt,
                                  ...) SCANT__PRINTF(3, 4);
/* Fails if the plan exceeds the memory cap; the message names the memory needed. */
scant_status select_check_plan(const scant_selection *sel, const scant_plan *plan);
/* Plans one pass in blocks of rows. A block fits the cache at `width` doubles per row; it
 * is smaller if memory is short. Each thread needs `worker` bytes, and `row` bytes per
 * row of its block. */
void select_plan_blocks(const scant_selection *sel, size_t width, size_t worker,
                        size_t row, scant_plan *plan);
void select_pick(scant_selection *sel, size_t index, double weight, double score);
/* Reports a figure. name: static, and listed in the strategy's info. */
void select_figure(scant_selection *sel, const char *name, double value);

/* Fills the batch with available rows, drawn uniformly at random, with the given score.
 * taken: n flags of rows to leave out, or NULL. */
scant_status select_fill(scant_selection *sel, const bool *taken, double score);
size_t select_fill_memory(const scant_selection *sel, size_t batch); /* bytes allocated */

/* ---- all strategies (registry.c) --------------------------------------------------- */

/* To add a strategy, add a line here, in the order of listings, and a file that defines
 * select_strategy_NAME. */
#define SELECT_STRATEGIES(X)                                                             \
    X(random)                                                                            \
    X(confidence)                                                                        \
    X(margin)                                                                            \
    X(entropy)                                                                           \
    X(egl)                                                                               \
    X(coreset)                                                                           \
    X(badge)                                                                             \
    X(bald)                                                                              \
    X(batchbald)                                                                         \
    X(dynamic)                                                                           \
    X(npc)                                                                               \
    X(crc)                                                                               \
    X(sparse_greedy)                                                                     \
    X(sparse_iht)                                                                        \
    X(acs_fw)                                                                            \
    X(bss)                                                                               \
    X(albl)

#define SELECT_DECLARE(name) extern const scant_strategy select_strategy_##name;
SELECT_STRATEGIES(SELECT_DECLARE)
#undef SELECT_DECLARE

const scant_strategy *select_strategy_find(const char *name); /* or NULL */

/* ---- options of a call (options.c) ------------------------------------------------- */

/* Finds the value of each option of the strategy's table: from settings, or the default,
 * which may differ in a call with a kernel. */
scant_status select_options_resolve(scant__arena *arena, const scant_strategy *strategy,
                                    const scant_setting *settings, size_t n_settings,
                                    bool kernel, select_value **out);

/* Parses "ntk:depth=K". Fails for any other text or if the strategy takes no kernel. */
scant_status select_kernel_parse(scant_ctx *ctx, const scant_strategy *strategy,
                                 const char *text, size_t *depth);

#endif
