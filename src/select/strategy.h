/* SPDX-License-Identifier: Apache-2.0
 *
 * What a strategy is: a row of a table. It sees evidence and returns picks; it never sees
 * a network, a file or a database.
 */
#ifndef SCANT_SELECT_STRATEGY_H
#define SCANT_SELECT_STRATEGY_H

#include "select/evidence.h"

typedef struct select_value { /* an option's, in the order of the strategy's table */
    double number; /* switch, count, number; of a choice: which word; -1: not settled */
    double param;  /* of a choice "word:K": K */
    const char *text; /* NULL: not settled */
} select_value;

typedef struct select_req {
    scant_ctx *ctx;
    scant__arena *arena; /* for all that ends with the call */
    const struct scant_strategy *strategy;
    select_pool pool;
    scant_plan plan; /* what was planned: block_rows is for the strategy to keep to */
    unsigned used;   /* evidence that is read: scant_evidence_kind bits */
    size_t asked;    /* rows that the call asked for, and */
    size_t batch;    /* rows to pick: at least 1, at most pool.available */
    uint64_t seed;
    const char *kernel; /* as it was given; NULL: none */
    size_t depth;       /* of the kernel of an infinitely wide network; 0: no kernel */
    select_value *values;
    /* what the strategy fills in: */
    scant_pick *picks; /* room for batch */
    size_t count;
    scant_figure *info; /* room for SELECT_INFO */
    size_t n_info;
    const char *state; /* from the call before; NULL: none */
    size_t state_size;
    const char *state_name; /* for messages */
    char *next_state;       /* for the next: in the arena; NULL: none */
    size_t next_state_size;
} select_req;

enum { SELECT_INFO = 16 };

typedef struct scant_strategy {
    scant_strategy_info info;
    /* Which of info.needs and info.or_needs a call goes by (optional: the first that is
     * given whole), and what more an option asks for. Knows options and `given`; may
     * settle options. */
    scant_status (*way)(select_req *req, unsigned given, unsigned *needs);
    /* Refuses what options, shapes and labels rule out (optional); before the plan. */
    scant_status (*check)(const select_req *req);
    /* Adds memory and passes to a plan that has rows, batch and memory before it; only
     * the shapes of req->pool are known, and batch may still be clipped. */
    void (*plan)(const select_req *req, scant_plan *plan);
    scant_status (*select)(select_req *req);
} scant_strategy;

/* Options that several strategies have. */
#define SELECT_OPTION_BIAS(default_)                                                     \
    {                                                                                    \
        .key = "bias", .kind = SCANT_OPTION_SWITCH, .value = default_,                   \
        .help = "append a 1 to the features, for the last layer's bias"                  \
    }
#define SELECT_OPTION_NORMALISE                                                          \
    {                                                                                    \
        .key = "normalise", .kind = SCANT_OPTION_SWITCH, .value = "0",                   \
        .help = "scale the features to unit length first"                                \
    }

/* The value of a strategy's own option; and the K of a choice "word:K". */
double select_option(const select_req *req, const char *key);
double select_option_param(const select_req *req, const char *key);
const char *select_option_text(const select_req *req, const char *key); /* as written */
/* Whether an option without a default was given, or settled. */
bool select_option_is_set(const select_req *req, const char *key);
/* Gives an option that has no default its value, as one would write it. */
scant_status select_option_settle(select_req *req, const char *key, const char *fmt, ...)
    SCANT__PRINTF(3, 4);
/* Fails, with the number that is needed, where the plan is above the cap. */
scant_status select_check_plan(const select_req *req, const scant_plan *plan);
/* Plans one pass over blocks of rows: as many as the cache likes, if a row is `width`
 * doubles, and fewer where memory is short. A worker's room: bytes, and bytes a row. */
void select_plan_blocks(const select_req *req, size_t width, size_t worker, size_t row,
                        scant_plan *plan);
void select_pick(select_req *req, size_t index, double weight, double score);
/* name: static, and listed in the strategy's info. */
void select_figure(select_req *req, const char *name, double value);

/* Fills up to the batch uniformly at random from rows that may be picked and are not
 * taken (n flags; NULL: none is), with the given score. */
scant_status select_fill(select_req *req, const bool *taken, double score);
size_t select_fill_memory(const select_req *req, size_t batch); /* what it allocates */

#endif
