/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as CIFAR's records, plain or packed.
 */
#include "fuzz_data_samples.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    memfile f = fuzz_put("a.bin", data, size);
    fuzz_samples(fuzz_path, NULL);
    fuzz_take_away(&f);
    return 0;
}
