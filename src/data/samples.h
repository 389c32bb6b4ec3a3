/* SPDX-License-Identifier: Apache-2.0
 *
 * Samples as the trainers read them: any row, by any thread, as planes of float.
 *
 * A reader of a format fills in one scant_data; nothing above this file knows of formats.
 */
#ifndef SCANT_DATA_SAMPLES_H
#define SCANT_DATA_SAMPLES_H

#include <stdbool.h>

#include "core/parfor.h"
#include "scant/train.h"

/* Floats of one sample: channels * height * width. */
size_t scant__data_width(const scant_data *data);

/* Writes sample row to out as planes (c, h, w): bytes as value / 255, other numbers as
 * they are. Any thread may call it. Fails only where a picture's file does, or where a
 * number is not finite: fault says which and why. */
scant_status scant__data_read(const scant_data *data, size_t row, float *out,
                              scant__fault *fault);

/* Whether samples are pictures (they can be flipped and shifted), not rows of features.
 */
bool scant__data_pictures(const scant_data *data);
/* Whether their numbers were bytes: multiples of 1/255 from 0 to 1. */
bool scant__data_bytes(const scant_data *data);

#endif
