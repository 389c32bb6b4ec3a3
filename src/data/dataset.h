/* SPDX-License-Identifier: Apache-2.0
 *
 * Samples as trainers read them: any row, from any thread, as float planes. Each format's
 * reader fills in a scant_data; callers need not know the format.
 */
#ifndef SCANT_DATA_DATASET_H
#define SCANT_DATA_DATASET_H

#include <stdbool.h>

#include "core/parfor.h"
#include "scant/train.h"

/* Floats per sample: channels * height * width. */
size_t scant__data_width(const scant_data *data);

/* Writes a sample to out as planes (c, h, w): bytes as value / 255, other numbers
 * unchanged. Thread-safe. Fails only if an image file cannot be read or a number is not
 * finite; fault says which and why. */
scant_status scant__data_read(const scant_data *data, size_t row, float *out,
                              scant__fault *fault);

/* Whether samples are images (can be flipped and shifted), not feature rows. */
bool scant__data_is_image(const scant_data *data);
/* Whether values were bytes: multiples of 1/255 from 0 to 1. */
bool scant__data_bytes(const scant_data *data);

#endif
