/* SPDX-License-Identifier: Apache-2.0
 *
 * Distribution alignment (ReMixMatch; Berthelot et al. 2020): predictions are scaled so
 * that their running mean becomes a target distribution of classes,
 *     q_k <- q_k target_k / mean_k, then divided by the sum over k.
 *
 * Both target and mean are raised by 1e-6, as in the public code of SoftMatch, so that
 * no division by 0 occurs for a class that is never predicted. As there, the
 * running mean starts at the mean of the first batch. ReMixMatch averages the last 128
 * batches instead.
 */
#ifndef SCANT_SSL_ALIGN_H
#define SCANT_SSL_ALIGN_H

#include <stdbool.h>
#include <stddef.h>

/* Adds a batch of predictions (n x c) to their running mean (c numbers); `first`: it
 * becomes their mean. */
void ssl_align_average(size_t n, size_t c, const float *probs, double decay, bool first,
                       float *mean);

/* Aligns predictions in place. target: a weight per class, in any scale; NULL: uniform.
 */
void ssl_align(size_t n, size_t c, const double *target, const float *mean, float *probs);

#endif
