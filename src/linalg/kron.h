/* SPDX-License-Identifier: Apache-2.0
 *
 * Products with the Kronecker rows g_i = a_i x h_i+ of a view (linalg/products.h), such
 * as the last layer's gradients. Rows are not built: C + d+ numbers represent C d+.
 *
 *     |g_i|^2     = |a_i|^2 |h_i+|^2
 *     <g_i, g_j>  = (a_i . a_j) (h_i+ . h_j+)
 *     sum w_i g_i = A^T diag(w) H+      (C, d+)
 *     <g_i, R>    = a_i^T R h_i+
 *
 * Results are the same to the bit at any thread count; memory as in linalg/products.h. If
 * v->a is NULL, g_i is h_i+ and C is 1.
 */
#ifndef SCANT_LINALG_KRON_H
#define SCANT_LINALG_KRON_H

#include "linalg/products.h"

/* out (m) = |g_i|^2. C + d+ multiply-adds per row. */
scant_status la_kron_norms(const la_view *v, double *out, la_work *work);
size_t la_kron_norms_memory(const la_view *v, unsigned threads);

/* out (m, k) = <g_i, g_j> for the rows i of the view and the k rows j of its matrices
 * that `others` lists (0..k-1 if NULL). The view's rows are read once for every LA_BLOCK
 * others, so the view should be the longer list. C + d+ multiply-adds per pair; memory
 * for LA_BLOCK more rows. */
scant_status la_kron_pairs(const la_view *v, const size_t *others, size_t k, double *out,
                           la_work *work);
size_t la_kron_pairs_memory(const la_view *v, size_t k, unsigned threads);

/* out (C, d+) = sum of w_i g_i; w is indexed by row number; NULL means ones. Rows of
 * weight 0 are read too: if few weights are not 0, list those rows in the view. C d+
 * multiply-adds per row. */
scant_status la_kron_sum(const la_view *v, const double *w, double *out, la_work *work);
size_t la_kron_sum_memory(const la_view *v, unsigned threads);

/* out (m) = <g_i, r> with r (C, d+). C d+ multiply-adds per row. Equal rows have equal
 * values. */
scant_status la_kron_dots(const la_view *v, const double *r, double *out, la_work *work);
size_t la_kron_dots_memory(const la_view *v, unsigned threads);

/* out (m) = <g_i, r> with r the sum of t_j g_j over the k <= LA_BLOCK rows that `others`
 * lists. r is not built: k (C + d+) multiply-adds per row instead of C d+. */
scant_status la_kron_along(const la_view *v, const size_t *others, size_t k,
                           const double *t, double *out, la_work *work);
size_t la_kron_along_memory(const la_view *v, size_t k, unsigned threads);

/* out_i = scale <g_i, r> + by x_i (x by position in the view), and sum (C, d+) = sum of
 * out_i g_i. So one pass over the rows computes the gradient of a quadratic, out, and the
 * sum of rows weighted by it. 2 C d+ multiply-adds per row. */
scant_status la_kron_gradient(const la_view *v, const double *r, double scale,
                              const double *x, double by, double *out, double *sum,
                              la_work *work);
size_t la_kron_gradient_memory(const la_view *v, unsigned threads);

#endif
