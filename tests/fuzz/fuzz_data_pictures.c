/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as the one picture of a folder.
 */
#include "fuzz_data_samples.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    memfile f = fuzz_put("a.png", data, size);
    fuzz_samples(fuzz_folder, &(scant_data_opts){.side = 8});
    fuzz_take_away(&f);
    return 0;
}
