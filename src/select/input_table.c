/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of a selection's inputs, one row each. The checks (pool.c), the program's
 * flags and messages and its documentation use it.
 */
#include <stddef.h>

#include "scant/scant.h"

#define BIT(dtype) (1U << (dtype))
#define AT(member) offsetof(scant_evidence, member)

enum {
    FLOAT = BIT(SCANT_F16) | BIT(SCANT_F32) | BIT(SCANT_F64),
    INTEGER = BIT(SCANT_U8) | BIT(SCANT_I8) | BIT(SCANT_U16) | BIT(SCANT_I16) |
              BIT(SCANT_U32) | BIT(SCANT_I32) | BIT(SCANT_U64) | BIT(SCANT_I64)
};

#define FEATURES FLOAT | BIT(SCANT_U8), "float16, float32, float64 or uint8"
#define FLOATS FLOAT, "float16, float32 or float64"
#define INTEGERS INTEGER, "an integer type"

static const scant_input table[] = {
    {"features", SCANT_FEATURES, "n x d", FEATURES, AT(features), {NULL}},
    {"probs", SCANT_PROBS, "n x C", FLOATS, AT(probs), {"logits"}},
    {"logits", SCANT_PROBS, "n x C", FLOATS, AT(logits), {NULL}},
    {"calibrated",
     SCANT_CALIBRATED,
     "n x C",
     FLOATS,
     AT(calibrated),
     {"logits", "temperature"}},
    {"calibrate-on", 0, "k", INTEGERS, AT(calibrate_on), {NULL}},
    {"gradients", SCANT_GRADIENTS, "n x k", FLOATS, AT(gradients), {NULL}},
    {"samples", SCANT_DRAWS, "m x n x C", FLOATS, AT(draws), {NULL}},
    {"labels", SCANT_LABELS, "n", INTEGERS, AT(labels), {NULL}},
    {"candidates", 0, "k", INTEGERS, AT(candidates), {NULL}},
    {"slopes", SCANT_SLOPES, "n x 2", FLOATS, AT(slopes), {NULL}},
    {"lengths", SCANT_LENGTHS, "n", FLOATS, AT(lengths), {NULL}},
    {"state", SCANT_STATE, NULL, 0, NULL, 0, {NULL}},
};

const scant_input *scant_inputs(size_t *count) {
    *count = sizeof table / sizeof *table;
    return table;
}
