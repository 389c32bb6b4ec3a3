/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of data options: what scant_data_opts may hold, a row each.
 */
#include "core/option.h"
#include "scant/train.h"

#define AT(field) offsetof(scant_data_opts, field)

static const char samples[] = "Samples";

static const scant_option rows[] = {
    OPT_ARRAY("labels", "FILE", AT(labels), samples,
              "labels of data that does not carry its own"),
    OPT_SWITCH("no_labels", NULL, AT(unlabelled), samples,
               "ignore the data's own labels; all columns of a CSV file are features"),
    OPT_SWITCH("regression", NULL, AT(regression), samples,
               "labels are numbers to predict, not classes"),
    OPT_COUNT("size", "PIXELS", "0", AT(side), 0, 8192, samples,
              "side that images of a folder are scaled to; 0: 224, or what the model "
              "usually takes"),
    OPT_COUNT("count", "N", "0", AT(count), 0, 1e12, samples,
              "how many samples of moons, blobs, waves or heavy to draw; 0: 1000"),
};

const scant_option *scant_data_options(size_t *count) {
    *count = sizeof rows / sizeof *rows;
    return rows;
}
