/* SPDX-License-Identifier: Apache-2.0
 *
 * What npc and crc share: the labelled rows as a base, rows that may be picked as sets,
 * and lambda(L + X) of linalg/lambda.h over features, or over the kernel that stands in
 * the place of their inner products (linalg/ntk.h). Rows of that kernel are independent
 * unless one is a multiple of another, however many they are: there is no rank, and N is
 * never above it.
 */
#ifndef SCANT_SELECT_LAMBDA_H
#define SCANT_SELECT_LAMBDA_H

#include "linalg/ntk.h"
#include "select/strategy.h"

typedef struct select_lambda {
    select_features features;
    la_rows h; /* features, or few numbers with their inner products */
    la_view view;
    la_ntk ntk; /* where the call has a kernel */
    la_kernel kernel;
    la_span span;
    size_t *base; /* labelled rows, those that count */
    la_lambda_task task;
    la_lambda *engine;
} select_lambda;

/* Reads and checks the features, finds their rank, prepares for `sets` sets of b rows of
 * open (pool.available rows, in any order). s must stay where it is. */
scant_status select_lambda_start(select_req *req, const size_t *open, size_t b,
                                 size_t sets, select_lambda *s);
/* Adds memory, blocks and passes to a plan: for the `want` best of sets of b rows. */
void select_lambda_plan(const select_req *req, size_t b, size_t sets, size_t want,
                        scant_plan *plan);
/* Memory of another engine beside it, for sets of one of `open` rows and a base of all
 * labelled rows and so many more. */
size_t select_lambda_another(const select_req *req, size_t more, size_t open);
/* A value of the engine as the user's features have it. */
static inline double select_lambda_value(const select_lambda *s, double lambda) {
    return lambda / s->features.scale / s->features.scale;
}
/* Figures that both tell; sets: what they compare. */
#define SELECT_LAMBDA_FIGURES(sets)                                                      \
    {"rank", "independent directions of all rows' features; absent with a kernel, "      \
             "which has no limit"},                                                      \
        {"evaluated", sets " whose lambda was computed; the others could not win"}, {    \
        "cap", "smallest eigenvalue of the labelled rows alone, which lambda cannot "    \
               "exceed; absent where there is no such bound"                             \
    }

/* A kernel reads features as they are. */
#define SELECT_LAMBDA_BIAS                                                               \
    {                                                                                    \
        .key = "bias", .kind = SCANT_OPTION_SWITCH, .value = "1", .kernel_value = "0",   \
        .help = "append a 1 to the features, for the last layer's bias, or, with a "     \
                "kernel, for the first's"                                                \
    }

/* Tells them; warns where the best is nothing (what: of which it is). */
void select_lambda_figures(select_req *req, const select_lambda *s, double best,
                           const char *what);
/* Refuses few rows of many columns where even they are too many. */
scant_status select_lambda_check(const select_req *req);

#endif
