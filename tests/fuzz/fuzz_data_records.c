/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as CIFAR records, plain or compressed.
 */
#include "fuzz_data_samples.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    memfile f = fuzz_put("a.bin", data, size);
    fuzz_samples(fuzz_path, NULL);
    fuzz_remove(&f);
    return 0;
}
