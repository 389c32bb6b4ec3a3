/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of inputs: its order, which the program's list of arrays follows.
 */
#include "support.h"

#include "cli/select.h"

static void the_program_lists_arrays_in_the_order_of_the_table(void **state) {
    static const char *const names[N_INPUTS] = {[IN_FEATURES] = "features",
                                                [IN_PROBS] = "probs",
                                                [IN_LOGITS] = "logits",
                                                [IN_CALIBRATED] = "calibrated",
                                                [IN_CALIBRATE_ON] = "calibrate-on",
                                                [IN_GRADIENTS] = "gradients",
                                                [IN_SAMPLES] = "samples",
                                                [IN_LABELS] = "labels",
                                                [IN_CANDIDATES] = "candidates"};
    size_t count;
    const scant_input *inputs = scant_inputs(&count);
    (void)state;
    assert_true(N_INPUTS <= count);
    for (size_t i = 0; i < N_INPUTS; i++) assert_string_equal(inputs[i].name, names[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_program_lists_arrays_in_the_order_of_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
