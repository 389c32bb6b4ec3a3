/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as an IDX file, plain or compressed: samples, or the labels of two samples.
 */
#include "fuzz_data_samples.h"
#include "scant/train.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    memfile f = fuzz_put("images", data, size);
    static const float two[] = {1, 2};
    static memfile array;
    static const char header[] =
        "\x93NUMPY\1\0\x3a\0{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1)}\n";
    if (!array.path[0]) { /* stays open: every input is tried as its labels */
        uint8_t bytes[128];
        memcpy(bytes, header, sizeof header - 1);
        memcpy(bytes + sizeof header - 1, two, sizeof two);
        array = memfile_open(bytes, sizeof header - 1 + sizeof two);
    }
    fuzz_samples(fuzz_path, NULL);
    fuzz_samples(array.path, &(scant_data_opts){.labels = fuzz_path});
    fuzz_samples(array.path, &(scant_data_opts){.labels = fuzz_path, .regression = true});
    fuzz_remove(&f);
    return 0;
}
