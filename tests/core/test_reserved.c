/* SPDX-License-Identifier: Apache-2.0
 *
 * Structs that the caller allocates keep their size, so that programs run with a newer
 * library: a new member takes its place from `reserved`, which stays the last one.
 */
#include "scant/project.h"
#include "scant/study.h"
#include "scant/train.h"
#include "support.h"

#define ROW(type, bytes)                                                                 \
    { #type, sizeof(type), bytes, offsetof(type, reserved) + sizeof((type *)0)->reserved }

static const struct row {
    const char *name;
    size_t size, expected, end;
} structs[] = {
    ROW(scant_ctx_opts, 128),
    ROW(scant_evidence, 168),
    ROW(scant_select_opts, 120),
    ROW(scant_picks, 152),
    ROW(scant_plan, 128),
    ROW(scant_data_opts, 104),
    ROW(scant_net_opts, 208),
    ROW(scant_train_state, 192),
    ROW(scant_ssl_opts, 160),
    ROW(scant_train_opts, 528),
    ROW(scant_recipe, 848),
    ROW(scant_outputs, 112),
    ROW(scant_evaluation, 464),
    ROW(scant_gradient_opts, 112),
    ROW(scant_gradients, 104),
    ROW(scant_experiment_key, 128),
    ROW(scant_run_opts, 104),
    ROW(scant_source, 88),
    ROW(scant_project_opts, 208),
    ROW(scant_project_info, 248),
    ROW(scant_import, 120),
    ROW(scant_import_opts, 80),
    ROW(scant_project_train_opts, 88),
    ROW(scant_project_query_opts, 112),
    ROW(scant_collapse, 1128),
    ROW(scant_model_point, 160),
    ROW(scant_item, 144),
    ROW(scant_calibration, 440),
    ROW(scant_meter, 296),
    ROW(scant_why, 240),
    ROW(scant_study_opts, 104),
    ROW(scant_study, 352),
    ROW(scant_lab_opts, 256),
};

static void structs_keep_their_size_on_64_bit_machines(void **state) {
    (void)state;
    if (sizeof(void *) != 8) skip();
    for (size_t i = 0; i < sizeof structs / sizeof *structs; i++) {
        const struct row *s = &structs[i];
        if (s->size != s->expected)
            fail_msg("%s has %zu bytes, expected %zu: take new members from reserved",
                     s->name, s->size, s->expected);
        if (s->end != s->size) fail_msg("%s: a member follows reserved", s->name);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(structs_keep_their_size_on_64_bit_machines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
