/* SPDX-License-Identifier: Apache-2.0
 *
 * A project's images as samples for networks, and feature rows from its files.
 */
#ifndef SCANT_STORE_SAMPLES_H
#define SCANT_STORE_SAMPLES_H

#include "scant/project.h"
#include "store/store.h"

/* All items as samples; item i is sample i. Images of files are scaled to side x side.
 * SCANT_EUSAGE for a project of features. *out is new: scant_data_free(). */
scant_status store_samples(scant_project *project, size_t side, scant_data **out);
/* Features of items first .. first + count - 1, as stored in the files: out
 * (count, width). */
scant_status store_features_width(scant_project *project, size_t *width);
scant_status store_features_read(scant_project *project, size_t first, size_t count,
                                 float *out);

/* ---- within the store ---- */

/* An array of images, which stays open with the handle until another source is read.
 * Borrowed. */
scant_status store_open_pictures(scant_project *project, const char *path,
                                 const scant_data **out);

#endif
