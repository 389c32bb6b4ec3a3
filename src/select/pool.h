/* SPDX-License-Identifier: Apache-2.0
 *
 * Checked evidence: the rows of the pool, which of them are available (may be picked),
 * and the matrices as rows in the number type that a strategy computes in.
 *
 * Shapes and types are checked when the pool is opened, numbers (NaN, Inf, rows that do
 * not sum to 1) in the first pass over the data.
 */
#ifndef SCANT_SELECT_POOL_H
#define SCANT_SELECT_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/mem.h"
#include "core/parfor.h"
#include "linalg/rows.h"
#include "scant/scant.h"

typedef struct select_pool {
    size_t n;
    size_t d;                      /* width of features; 0 if not used (also c, k, m) */
    size_t c;                      /* classes */
    size_t k;                      /* width of gradients */
    size_t m;                      /* posterior draws */
    const scant_array *features;   /* NULL if not used, like the other arrays */
    const scant_array *probs;      /* probabilities or logits */
    bool softmax;                  /* probs are logits */
    const scant_array *calibrated; /* calibrated probabilities, or logits */
    double temperature; /* temperature of these logits; 0 if they are probabilities */
    const scant_array *gradients, *draws;
    const scant_array *slopes, *lengths;
    const scant_array *labels, *candidates, *calibrate_on;
    uint64_t *allowed;  /* bits: rows listed as candidates; NULL for all */
    size_t labelled;    /* number of labelled rows */
    size_t available;   /* number of rows that may be picked */
    size_t barred;      /* number of candidates that are labelled */
    size_t input_bytes; /* bytes of all arrays that are read */
} select_pool;

/* Returns the kinds of evidence that are given: scant_evidence_kind bits. */
unsigned select_given(const scant_evidence *evidence);
/* Checks shapes and types of the inputs that `used` names, and of labels and candidates.
 * Reads no data. With SCANT_ROWS in `used`, all given arrays are checked, since they must
 * agree on n. who: the strategy, for messages. */
scant_status select_pool_open(scant_ctx *ctx, const scant_evidence *evidence,
                              unsigned used, const char *who, select_pool *pool);
/* Reads and checks labels and candidates; counts labelled and available rows. */
scant_status select_pool_read(scant__arena *arena, select_pool *pool);

/* Lists the available rows (pool->available), or the labelled ones (pool->labelled), in
 * ascending order. */
void select_pool_list_available(const select_pool *pool, size_t *rows);
void select_pool_list_labelled(const select_pool *pool, size_t *rows);
/* Returns the label of a row, or -1 if it has none. */
int64_t select_pool_label(const select_pool *pool, size_t row);

/* mask[i] = whether row first+i is available. count <= SELECT_MASK. */
enum { SELECT_MASK = 1024 };
void select_pool_mask(const select_pool *pool, size_t first, size_t count, bool *mask);
/* mask[i] = whether row first+i is labelled. count <= SELECT_MASK. */
void select_pool_labelled(const select_pool *pool, size_t first, size_t count,
                          bool *mask);
/* Calls visit for every row whose mask is `wanted`, in ascending order. */
typedef void (*select_mask_fn)(const select_pool *pool, size_t first, size_t count,
                               bool *mask);
void select_pool_visit(const select_pool *pool, select_mask_fn mask, bool wanted,
                       void (*visit)(void *self, size_t row), void *self);

/* Returns how many numbers a row of slopes or lengths has, whichever is used; 0 if
 * neither is. */
size_t select_measured_width(const select_pool *pool);
/* Reads and checks rows first..first+count-1 of slopes or lengths. */
scant_status select_measured_read(const select_pool *pool, size_t first, size_t count,
                                  double *out, scant__fault *fault);

/* ---- probabilities ------------------------------------------------------------- */

/* Returns the type that probabilities are computed in: float only if it holds them
 * exactly. */
la_type select_probs_type(const select_pool *pool);
/* Returns whether probabilities can be used in place, without a copy. */
bool select_probs_direct(const select_pool *pool);

typedef struct select_probs_block {
    la_type type;
    const void *rows; /* count x c */
    la_rowstat *stat; /* count: two largest or entropy, see select_measure */
} select_probs_block;

/* The statistic computed for each row while it is checked. */
typedef enum select_measure { SELECT_TOP, SELECT_ENTROPY } select_measure;

/* Reads and checks rows first..first+count-1. Buffers: rows of count*c numbers (unused if
 * direct), stat of count entries. */
scant_status select_probs_read(const select_pool *pool, select_measure measure,
                               size_t first, size_t count, void *rows, la_rowstat *stat,
                               select_probs_block *out, scant__fault *fault);

/* Provides rows a_i = p_i - e_y with y the first arg max of p_i, multiplied by a power of
 * two, which is returned. Valid while pool is; the numbers must have been checked. */
double select_residual_rows(const select_pool *pool, la_rows *out);

/* Reads and checks all probabilities that are used, calibrated ones and posterior draws
 * included. Call it before the functions below. */
scant_status select_probs_check(scant__arena *arena, const select_pool *pool);
size_t select_probs_check_memory(const select_pool *pool, unsigned threads);

/* Kinds of rows of C doubles, computed in double. */
typedef enum select_prob_kind {
    SELECT_PROBS,      /* p */
    SELECT_CALIBRATED, /* p~ */
    SELECT_RESIDUAL    /* p - e_y, y the label, or the first arg max of p */
} select_prob_kind;
/* out is valid while pool is. */
void select_prob_rows(const select_pool *pool, select_prob_kind kind, la_rows *out);

/* out (count, m, C) = all posterior draws of rows first..first+count-1. */
void select_draws_get(const select_pool *pool, size_t first, size_t count, double *out);

/* Fails unless all rows in pool->calibrate_on exist and have labels. Without calibrate_on
 * this and the fit do nothing. */
scant_status select_temperature_check(scant_ctx *ctx, const select_pool *pool);
size_t select_temperature_memory(const select_pool *pool, unsigned threads);
/* Fits pool->temperature by maximum likelihood. */
scant_status select_temperature_fit(scant__arena *arena, select_pool *pool);

/* ---- features ------------------------------------------------------------------ */

typedef struct select_features {
    const select_pool *pool;
    la_type type;
    bool normalise; /* rows are scaled to unit length, except zero rows */
    double scale;   /* a power of two that rows are multiplied by */
} select_features;

/* Computes the norms of rows first..first+count-1 in double, without overflow or
 * underflow. Fails on NaN and Inf. room: count*d doubles (unused if direct). */
scant_status select_features_norms(const select_pool *pool, size_t first, size_t count,
                                   void *room, double *norm, scant__fault *fault);
bool select_features_direct(const select_pool *pool);

/* Sets the type and scale that are expected before rows are read;
 * select_features_scan() may choose others. */
void select_features_guess(const select_pool *pool, bool normalise, select_features *f);
/* Reads all features once: checks them, and chooses type and scale so that squared
 * distances neither overflow nor vanish. */
scant_status select_features_scan(scant__arena *arena, const select_pool *pool,
                                  bool normalise, select_features *out);
size_t select_features_memory(const select_pool *pool,
                              unsigned threads); /* memory of the scan */
/* Returns the value of a constant that is appended to the features, in their scale.
 * Before that, sets a scale above 1 to 1 unless the constant is 0: next to a constant,
 * small features need not be enlarged. */
double select_features_constant(select_features *f, double constant);
/* out is valid while f is. */
void select_feature_rows(const select_features *f, la_rows *out);
/* Returns the same pool, with gradients in place of features. */
select_pool select_gradients_as_features(const select_pool *pool);

#endif
