/* SPDX-License-Identifier: Apache-2.0
 *
 * The joint distribution of the labels of picked rows under posterior draws, and the
 * information that the label of one more row would add.
 *
 * A string is one label for each pick. Up to `limit` strings are enumerated, with their
 * probability under every draw: then everything is exact. Beyond that, strings are
 * sampled, equally many from every posterior draw and with equal weight.
 *
 * Only the posterior of a sampled string is stored: the probability of each draw given
 * these labels. Given the string, a row's label adds the entropy of the label under that
 * posterior minus the posterior mean of its entropies under each draw; the estimate is
 * the mean over strings. It has the same expectation as the textbook estimator (which
 * uses the prior mean of the entropies), is never negative, and its noise vanishes with
 * the remaining information. Likewise the information of the picks is ln m minus the mean
 * entropy of the posteriors, never above ln m.
 *
 * Up to 8 picks, all strings are resampled after each, so that no pick is scored on the
 * strings that chose it. After that they are resampled when the picks have doubled; in
 * between, each string gets one more label from the posterior draw that it was sampled
 * from. The longer string still follows the joint distribution, at the cost of one random
 * number.
 *
 * Strings whose posterior has almost no entropy left are dropped: a label can add at most
 * that entropy. The strings dropped after a pick hold at most a thousandth of the entropy
 * of all strings at that time.
 *
 * The product of strings and a row's predictions is never stored (la_joint_bits):
 * evaluating a row takes `strings` m C multiply-adds and `strings` C logarithms. Many
 * enumerated strings are therefore merged into few with similar posteriors: merging loses
 * information about the model, so gains on merged strings are cheap upper bounds of the
 * true ones.
 */
#ifndef SCANT_SELECT_JOINT_H
#define SCANT_SELECT_JOINT_H

#include "select/pool.h"

enum { JOINT_PARTS = 130 }; /* maximum number of parts */

typedef struct joint_set {
    size_t count;       /* number of strings */
    double *weight;     /* (count, m): P(string, draw); sampled: P(draw | string) */
    size_t part, parts; /* strings per part, the last may be short; enumerated strings are
                         * one part */
    double *share;      /* (parts, m): sums of weights per part */
    double known;       /* entropy of the strings; 0 if they are sampled */
} joint_set;

typedef struct joint {
    scant_ctx *ctx;
    const select_pool *pool;
    uint64_t seed;
    size_t limit, batch;
    size_t *picks, n_picks;
    size_t capacity; /* number of strings */
    bool exact;      /* strings are enumerated, not sampled */
    joint_set all, merged;
    size_t *number;        /* per string: its number when it was sampled; enumerated: the
                            * index of the merged string it belongs to */
    double *open;          /* per string: the entropy of its posterior; enumerated: its
                            * probability */
    size_t drawn;          /* number of sampled strings; all.count of them are left */
    size_t begun;          /* number of picks when strings were last resampled */
    double dropped;        /* sum of the dropped strings' entropies */
    double left;           /* sampled strings: ln m minus the information of the picks */
    const void **middle;   /* strings that others are merged into */
    double *middle_size;   /* squared lengths of these strings' posteriors */
    double *row, *columns; /* predictions of one row */
    unsigned char *room;   /* buffers of the workers */
} joint;

/* Starts without picks, with one empty string. batch: the largest number of picks. */
scant_status joint_init(joint *j, scant__arena *arena, const select_pool *pool,
                        uint64_t seed, size_t limit, size_t batch);
size_t joint_memory(const select_pool *pool, size_t limit, size_t batch,
                    unsigned threads);

/* Adds a row to the picks. gain: its gain by joint_evaluate() (used while exact). */
scant_status joint_add(joint *j, size_t row, double gain);

/* Merges enumerated strings if there are enough of them; else merged.count is 0. */
scant_status joint_merge(joint *j);

/* The contributions of parts first..end-1 of a set to the gain of rows[i]: value[i *
 * JOINT_PARTS + part]. The gain in nats is the sum over all parts minus `known`, divided
 * by the number of strings if they are sampled. */
scant_status joint_evaluate(const joint *j, const joint_set *set, const size_t *rows,
                            size_t count, size_t first, size_t end, double *value);

#endif
