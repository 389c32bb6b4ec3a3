/* SPDX-License-Identifier: Apache-2.0
 *
 * The history: what is answered, replaced, taken back, and what follows from it.
 */
#include "support.h"

static const scant_setting no_audit[] = {{"audit_every", "0"}};
static const scant_setting two_people[] = {{"audit_every", "0"}, {"overlap", "2"}};

static size_t person(scant_project *project, const char *name) {
    size_t number;
    OK(scant_project_person(project, name, &number));
    return number;
}

static scant_lease one(scant_project *project, size_t who) {
    scant_lease lease;
    size_t n;
    OK(scant_project_next(project, who, 1, &lease, &n));
    assert_int_equal(n, 1);
    return lease;
}

static scant_status say(scant_project *project, size_t who, const scant_lease *lease,
                        scant_answer_kind kind, size_t label) {
    scant_answer answer = {.item = lease->item,
                           .kind = kind,
                           .label = label,
                           .spent = 1200,
                           .lease = lease->key};
    return scant_project_answer(project, who, &answer, 1, NULL);
}

static scant_item item_of(scant_project *project, size_t item) {
    scant_item out;
    OK(scant_project_item(project, item, &out));
    return out;
}

static void an_answer_is_the_items_label(void **state) {
    scant_project *project = make_project("label", 20, no_audit, 1);
    size_t ann = person(project, "ann");
    (void)state;
    scant_lease lease = one(project, ann);
    assert_int_equal(lease.role, SCANT_ROLE_FILL);
    OK(say(project, ann, &lease, SCANT_ANSWER_LABEL, 1));
    scant_item item = item_of(project, lease.item);
    assert_int_equal(item.label, 1);
    assert_int_equal(item.answers, 1);
    assert_string_equal(item.person, "ann");
    assert_int_equal(item.spent, 1200);
    scant_project_info info = info_of(project);
    assert_int_equal(info.labelled, 1);
    assert_int_equal(info.training, 1);
    assert_int_equal(info.untrained, 1);
    assert_int_equal(info.entries, 1);
    scant_project_close(project);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_is_the_items_label),
    };
    (void)two_people;
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
