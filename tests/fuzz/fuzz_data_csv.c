/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a CSV file, with classes and with regression targets.
 */
#include "fuzz_data_samples.h"
#include "scant/train.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    memfile f = fuzz_put("a.csv", data, size);
    fuzz_samples(fuzz_path, NULL);
    fuzz_samples(fuzz_path, &(scant_data_opts){.regression = true});
    fuzz_remove(&f);
    return 0;
}
