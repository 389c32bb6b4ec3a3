/* SPDX-License-Identifier: Apache-2.0
 *
 * The joint distribution of the labels of picked rows under samples of a posterior, and
 * how much of what is not known yet the label of one more row would tell.
 *
 * A string is one label for each pick. While there are at most `limit` strings they are
 * all listed, with their probability under every sample: then everything is exact. After
 * that strings are drawn, as many from every sample, and weigh the same.
 *
 * Of a drawn string only the posterior is kept: how probable each sample is once these
 * labels are known. The information that a row's label adds is, given the string, the
 * entropy of the label under that posterior less the posterior's mean of the entropies
 * under each sample; the estimate is its mean over the strings. It has the expectation of
 * the textbook's (which takes the prior mean of the latter), never falls below 0, and
 * its noise ends with what is left to know. Likewise what the picks have told is ln m
 * less the mean entropy of the posteriors, which is never above ln m.
 *
 * Up to 8 picks all strings are drawn anew after each, so that no pick is measured on the
 * strings that it was chosen by. After that they are when the picks have doubled;
 * between, each string is given one label more, from the sample that it was drawn from.
 * It is then still drawn from the joint distribution, at the price of one draw instead of
 * all.
 *
 * Strings that have told the samples apart are dropped: a label can add no more to a
 * string than its posterior's entropy, and those of all dropped ones are together a
 * thousandth of all.
 *
 * The product of strings and a row's predictions is never stored (la_joint_bits): to
 * evaluate a row takes `strings` m C multiply-adds, and `strings` C logarithms. Many
 * listed strings are therefore merged into few, each into one with a like posterior: as
 * less is known of a model when it is not told which of several strings it was, gains on
 * merged strings are never below the true ones, and bound them at a small price.
 */
#ifndef SCANT_SELECT_JOINT_H
#define SCANT_SELECT_JOINT_H

#include "select/evidence.h"

enum { JOINT_PARTS = 130 }; /* at most */

typedef struct joint_set {
    size_t count;       /* of strings */
    double *weight;     /* (count, m): P(string, sample); drawn: P(sample | string) */
    size_t part, parts; /* strings a part, the last may be short; listed ones are one */
    double *share;      /* (parts, m): sums of weights */
    double known;       /* entropy of the strings; 0 where they are drawn */
} joint_set;

typedef struct joint {
    scant_ctx *ctx;
    const select_pool *pool;
    uint64_t seed;
    size_t limit, batch;
    size_t *picks, n_picks;
    size_t capacity; /* for strings */
    bool exact;      /* strings are listed, not drawn */
    joint_set all, merged;
    size_t *number;      /* a string: which of the drawn ones; into which it is merged */
    double *open;        /* a string: the entropy of its posterior; or its probability */
    size_t drawn;        /* how many were, of which all.count are left */
    size_t begun;        /* with how many picks they were drawn whole */
    double dropped;      /* entropies of posteriors of the others */
    double left;         /* of drawn strings: ln m less what the picks have told */
    const void **middle; /* strings that others are merged into */
    double *middle_size;
    double *row, *columns; /* one row's predictions */
    unsigned char *room;   /* the workers' */
} joint;

/* No picks yet: one string, which is empty. batch: picks at most. */
scant_status joint_init(joint *j, scant__arena *arena, const select_pool *pool,
                        uint64_t seed, size_t limit, size_t batch);
size_t joint_memory(const select_pool *pool, size_t limit, size_t batch,
                    unsigned threads);

/* Adds a row to the picks. gain: what joint_evaluate() said of it (used while exact). */
scant_status joint_add(joint *j, size_t row, double gain);

/* Merges listed strings, if there are so many that it helps: else merged.count is 0. */
scant_status joint_merge(joint *j);

/* What of the gain of rows[i] parts first..end-1 of a set hold: value[i * JOINT_PARTS +
 * part]. The gain, in nats, is the sum over all parts less `known`; where strings are
 * drawn, over their number. */
scant_status joint_evaluate(const joint *j, const joint_set *set, const size_t *rows,
                            size_t count, size_t first, size_t end, double *value);

#endif
