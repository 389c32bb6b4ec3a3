/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as JSON: the scan accepts what jansson accepts, up to its depth, and counts
 * at least the memory that jansson allocates. The first byte chooses flags and limits.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../json_counting.h"
#include "core/json_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds) {
    if (!holds) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1) return 0;
    const char *text = (const char *)data + 1;
    size_t flags = (data[0] & 1 ? JSON_REJECT_DUPLICATES : 0) |
                   (data[0] & 2 ? JSON_DECODE_ANY : 0) |
                   (data[0] & 4 ? JSON_DISABLE_EOF_CHECK : 0);
    const scant__json_limits limits = {.values = data[0] >> 4, .depth = data[0] >> 5};
    scant__json_tree tree;
    json_error_t error;
    json_set_alloc_funcs(count_malloc, count_free);
    live = peak = 0;
    json_t *root = json_loadb(text, size - 1, flags, &error);
    size_t used = peak;
    scant_status status = scant__json_read(NULL, text, size - 1, flags, NULL, &tree);
    bool deep = status != SCANT_OK && strstr(tree.error.text, "nested deeper");
    check(deep || (status == SCANT_OK) == (root != NULL));
    check(deep || used <= scant__json_cost(text, size - 1));
    check(status == SCANT_OK || *tree.error.text);
    scant__json_tree_end(&tree);
    status = scant__json_read(NULL, text, size - 1, flags, &limits, &tree);
    check(status != SCANT_OK || root);
    scant__json_tree_end(&tree);
    json_decref(root);
    check(live == 0);
    return 0;
}
