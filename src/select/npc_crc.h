/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by npc and crc: the labelled rows as a base, sets of available rows, and
 * lambda(L + X) of linalg/lambda.h over inner products of features or over a kernel
 * (linalg/ntk.h). Rows are independent under that kernel unless one is a multiple of
 * another, so its rank is unlimited.
 */
#ifndef SCANT_SELECT_NPC_CRC_H
#define SCANT_SELECT_NPC_CRC_H

#include "linalg/ntk.h"
#include "select/strategy.h"

typedef struct select_lambda {
    select_features features;
    la_rows h; /* features, or shorter rows with the same inner products */
    la_view view;
    la_ntk ntk; /* used if the call has a kernel */
    la_kernel kernel;
    la_span span;
    size_t *base; /* labelled rows, without those that depend on others */
    la_lambda_task task;
    la_lambda *engine;
} select_lambda;

/* Reads and checks the features, finds their rank, prepares for `sets` sets of b rows of
 * open (pool.available rows, in any order). *s must not move. */
scant_status select_lambda_start(scant_selection *sel, const size_t *open, size_t b,
                                 size_t sets, select_lambda *s);
/* Adds memory, blocks and passes to a plan, for finding the `want` best of `sets` sets of
 * b rows. */
void select_lambda_plan(const scant_selection *sel, size_t b, size_t sets, size_t want,
                        scant_plan *plan);
/* Returns the memory of a second engine with all labelled rows and `more` others as base,
 * and `open` sets of one row each. */
size_t select_lambda_another(const scant_selection *sel, size_t more, size_t open);
/* Converts a value of the engine to the units of the user's features. */
static inline double select_lambda_value(const select_lambda *s, double lambda) {
    return lambda / s->features.scale / s->features.scale;
}
/* Figures of both strategies; sets: the name of what they compare, for the help text. */
#define SELECT_LAMBDA_FIGURES(sets)                                                      \
    {"rank",                                                                             \
     "rank of the features of all rows; absent with a kernel, whose rank is unlimited"}, \
        {"evaluated",                                                                    \
         "number of " sets " whose lambda was computed; the others could not win"},      \
    {                                                                                    \
        "cap", "smallest eigenvalue of the labelled rows alone, an upper bound on "      \
               "lambda; absent if there is no such bound"                                \
    }

/* With a kernel, no 1 is appended by default. */
#define SELECT_LAMBDA_BIAS                                                               \
    {                                                                                    \
        .key = "bias", .kind = SCANT_OPTION_SWITCH, .value = "1", .kernel_value = "0",   \
        .help = "append a 1 to the features, for the bias of the last layer (with a "    \
                "kernel: of the first layer)"                                            \
    }

/* Reports the figures; warns if the best lambda is 0. what: "batch" or "group", for the
 * warning. */
void select_lambda_figures(scant_selection *sel, const select_lambda *s, double best,
                           const char *what);
/* Fails if a pool with more columns than rows has too many rows for eigenvectors. */
scant_status select_lambda_check(const scant_selection *sel);

#endif
