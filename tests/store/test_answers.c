/* SPDX-License-Identifier: Apache-2.0
 *
 * The history: answers, replaced answers, undos, and the labels that follow from them.
 */
#include <math.h>

#include "people.h"
#include "scant/project.h"

static void an_answer_is_the_items_label(void **state) {
    scant_project *project = make_project("label", 20, no_audit, 1);
    size_t ann = person(project, "ann");
    (void)state;
    scant_lease lease = next_lease(project, ann);
    assert_int_equal(lease.role, SCANT_ROLE_FILL);
    OK(say(project, ann, &lease, SCANT_ANSWER_LABEL, 1));
    scant_item item = item_of(project, lease.item);
    assert_int_equal(item.label, 1);
    assert_int_equal(item.answers, 1);
    assert_int_equal(item.answer, SCANT_ANSWER_LABEL);
    assert_int_equal(ask(project, "SELECT spent FROM labels"), 1200);
    scant_project_info info = info_of(project);
    assert_int_equal(info.labelled, 1);
    assert_int_equal(info.training, 1);
    assert_int_equal(info.untrained, 1);
    assert_int_equal(info.entries, 1);
    assert_counted(project);
    scant_project_free(project);
}

static void a_skipped_item_goes_to_others_and_an_unsure_one_does_not(void **state) {
    scant_project *project = make_project("skip", 3, no_audit, 1);
    size_t ann = person(project, "ann"), bob = person(project, "bob"), n;
    scant_lease a, b, leases[3];
    (void)state;
    a = next_lease(project, ann);
    OK(say(project, ann, &a, SCANT_ANSWER_SKIP, 0));
    b = next_lease(project, ann);
    assert_int_not_equal(a.item, b.item);
    OK(say(project, ann, &b, SCANT_ANSWER_UNSURE, 0));
    scant_project_info info = info_of(project);
    assert_int_equal(info.skipped, 1);
    assert_int_equal(info.unsure, 1);
    assert_int_equal(info.labelled, 0);
    /* ann has seen both: one is left for her. bob may have the one she skipped. */
    OK(scant_project_next(project, ann, 3, leases, &n));
    assert_int_equal(n, 1);
    OK(scant_project_release(project, ann, NULL, 0));
    OK(scant_project_next(project, bob, 3, leases, &n));
    assert_int_equal(n, 2);
    assert_true(leases[0].item == a.item || leases[1].item == a.item);
    assert_true(leases[0].item != b.item && leases[1].item != b.item);
    assert_counted(project);
    scant_project_free(project);
}

static void only_its_author_may_replace_an_answer(void **state) {
    scant_project *project = make_project("replace", 20, no_audit, 1);
    size_t ann = person(project, "ann"), bob = person(project, "bob");
    (void)state;
    scant_lease lease = next_lease(project, ann);
    OK(say(project, ann, &lease, SCANT_ANSWER_LABEL, 1));
    OK(change(project, ann, lease.item, SCANT_ANSWER_LABEL, 2));
    assert_int_equal(item_of(project, lease.item).label, 2);
    assert_int_equal(item_of(project, lease.item).answers, 1);
    OK(say(project, ann, &lease, SCANT_ANSWER_UNSURE, 0)); /* with its used lease */
    assert_int_equal(item_of(project, lease.item).label, -1);
    assert_int_equal(info_of(project).entries, 3);
    REFUSED(change(project, bob, lease.item, SCANT_ANSWER_LABEL, 1), SCANT_ECONFLICT,
            "somebody else has answered it");
    REFUSED(change(project, bob, lease.item + 1 < 20 ? lease.item + 1 : 0,
                   SCANT_ANSWER_LABEL, 1),
            SCANT_ECONFLICT, "was not handed out");
    assert_counted(project);
    scant_project_free(project);
}

static void an_invalid_answer_is_refused_with_all_others_of_its_call(void **state) {
    scant_project *project = make_project("wrong", 20, no_audit, 1);
    size_t ann = person(project, "ann"), n;
    scant_lease l[3];
    char once[70];
    (void)state;
    OK(scant_project_next(project, ann, 3, l, &n));
    scant_answer good = {
        .item = l[0].item, .kind = SCANT_ANSWER_LABEL, .lease = l[0].key};
    scant_answer two[] = {good, good};
    two[1].item = l[1].item;
    two[1].lease = l[1].key + 1;
    REFUSED(scant_project_answer(project, ann, two, 2, NULL), SCANT_ECONFLICT,
            "this person has no such lease");
    two[1].lease = l[1].key;
    two[1].label = 3;
    REFUSED(scant_project_answer(project, ann, two, 2, NULL), SCANT_ENOTFOUND,
            "there is no class 3");
    two[1].label = 0;
    two[1].kind = SCANT_ANSWER_UNDO;
    REFUSED(scant_project_answer(project, ann, two, 2, NULL), SCANT_EUSAGE,
            "a label, a skip or unsure");
    two[1].kind = SCANT_ANSWER_LABEL;
    two[1].item = 20;
    REFUSED(scant_project_answer(project, ann, two, 2, NULL), SCANT_ENOTFOUND,
            "there is no item 20");
    two[1].item = SIZE_MAX;
    REFUSED(scant_project_answer(project, ann, two, 2, NULL), SCANT_ENOTFOUND,
            "there is no item");
    memset(once, 'x', sizeof once);
    once[65] = 0;
    two[1].item = l[1].item;
    two[1].once = once;
    REFUSED(scant_project_answer(project, ann, two, 2, NULL), SCANT_EUSAGE, "65 bytes");
    REFUSED(scant_project_answer(project, 99, &good, 1, NULL), SCANT_ENOTFOUND,
            "there is no person 99");
    assert_int_equal(info_of(project).entries, 0);
    assert_int_equal(ask(project, "SELECT count(*) FROM leases WHERE live = 1"), 3);
    once[64] = 0;
    OK(scant_project_answer(project, ann, two, 2, NULL));
    assert_int_equal(info_of(project).entries, 2);
    scant_project_free(project);
}

static void a_repeated_request_is_stored_once(void **state) {
    scant_project *project = make_project("once", 20, no_audit, 1);
    size_t ann = person(project, "ann"), bob = person(project, "bob");
    scant_receipt first, again;
    (void)state;
    scant_lease a = next_lease(project, ann), b = next_lease(project, bob), lease,
                lease_again;
    scant_answer answer = {.item = a.item,
                           .kind = SCANT_ANSWER_LABEL,
                           .label = 1,
                           .lease = a.key,
                           .once = "one"};
    OK(scant_project_answer(project, ann, &answer, 1, &first));
    OK(scant_project_answer(project, ann, &answer, 1, &again));
    assert_false(first.repeated);
    assert_true(again.repeated);
    assert_int_equal(first.entry, again.entry);
    answer.label = 2;
    REFUSED(scant_project_answer(project, ann, &answer, 1, NULL), SCANT_ECONFLICT,
            "was used for another answer");
    answer = (scant_answer){.item = b.item,
                            .kind = SCANT_ANSWER_LABEL,
                            .lease = b.key,
                            .once = "one"}; /* keys are per person */
    OK(scant_project_answer(project, bob, &answer, 1, &again));
    assert_false(again.repeated);

    int64_t taken, taken_again;
    OK(scant_project_undo(project, ann, 0, "back", &taken, &lease));
    OK(scant_project_undo(project, ann, 0, "back", &taken_again, &lease_again));
    assert_int_equal(taken, first.entry);
    assert_int_equal(taken_again, first.entry);
    assert_int_equal(lease.key, lease_again.key);
    OK(scant_project_release(project, ann, NULL,
                             0)); /* by a page that did not get the reply */
    OK(scant_project_undo(project, ann, 0, "back", &taken_again, &lease_again));
    assert_int_equal(lease_again.item, lease.item);
    assert_true(lease_again.key != 0 && lease_again.role == lease.role);
    assert_int_equal(info_of(project).entries, 3);
    REFUSED(scant_project_undo(project, ann, 0, "one", NULL, NULL), SCANT_ECONFLICT,
            "was used for another answer");
    assert_counted(project);
    scant_project_free(project);
}

static void a_project_is_learnable_with_labels_of_two_classes(void **state) {
    scant_project *project = make_project("learnable", 20, no_audit, 1);
    size_t ann = person(project, "ann");
    (void)state;
    static const struct {
        scant_answer_kind kind;
        size_t label;
        bool learnable;
    } said[] = {{SCANT_ANSWER_SKIP, 0, false},
                {SCANT_ANSWER_LABEL, 1, false},
                {SCANT_ANSWER_LABEL, 1, false},
                {SCANT_ANSWER_LABEL, 0, true},
                {SCANT_ANSWER_LABEL, 1, true}};
    assert_false(info_of(project).learnable);
    for (size_t i = 0; i < 5; i++) {
        scant_lease a = next_lease(project, ann);
        OK(say(project, ann, &a, said[i].kind, said[i].label));
        assert_int_equal(info_of(project).learnable, said[i].learnable);
    }
    OK(scant_project_undo(project, ann, 4, NULL, NULL, NULL));
    assert_false(info_of(project).learnable);
    scant_project_free(project);
}

static void an_undo_of_a_given_entry_undoes_that_entry_or_fails(void **state) {
    scant_project *project = make_project("which", 20, no_audit, 1);
    size_t ann = person(project, "ann"), bob = person(project, "bob");
    int64_t entry, said, label;
    scant_answer_kind kind;
    scant_lease back;
    (void)state;
    scant_lease a = next_lease(project, ann);
    OK(say(project, ann, &a, SCANT_ANSWER_LABEL, 1));
    scant_lease b = next_lease(project, ann);
    OK(say(project, ann, &b, SCANT_ANSWER_SKIP, 0));
    OK(scant_project_current_answer(project, ann, a.item, &said, &kind, &label));
    assert_int_equal(said, 1);
    assert_int_equal(kind, SCANT_ANSWER_LABEL);
    assert_int_equal(label, 1);
    OK(scant_project_current_answer(project, ann, b.item, &said, &kind, &label));
    assert_int_equal(said, 2);
    assert_int_equal(kind, SCANT_ANSWER_SKIP);
    assert_int_equal(label, -1);
    OK(scant_project_current_answer(project, bob, a.item, &said, &kind, &label));
    assert_int_equal(said, 0);
    REFUSED(scant_project_current_answer(project, ann, 99, &said, &kind, &label),
            SCANT_ENOTFOUND, "no item");
    REFUSED(scant_project_undo(project, bob, 1, NULL, NULL, NULL), SCANT_ENOTFOUND,
            "not a current answer of this person");
    OK(scant_project_undo(project, ann, 1, "u", &entry, &back));
    assert_int_equal(entry, 1);
    assert_int_equal(back.item, a.item);
    assert_int_not_equal(back.key, 0);
    OK(scant_project_undo(project, ann, 1, "u", &entry, NULL)); /* again */
    assert_int_equal(entry, 1);
    REFUSED(scant_project_undo(project, ann, 2, "u", NULL, NULL), SCANT_ECONFLICT,
            "was used for another answer");
    REFUSED(scant_project_undo(project, ann, 1, NULL, NULL, NULL), SCANT_ENOTFOUND,
            "not a current answer of this person");
    OK(scant_project_current_answer(project, ann, a.item, &said, &kind, &label));
    assert_int_equal(said, 0);
    OK(scant_project_current_answer(project, ann, b.item, &said, &kind, &label));
    assert_int_equal(said, 2);
    assert_counted(project);
    scant_project_free(project);
}

static void an_undo_is_an_entry_and_leases_the_item_again(void **state) {
    scant_project *project = make_project("undo", 20, no_audit, 1);
    size_t ann = person(project, "ann");
    int64_t entry;
    scant_lease back;
    (void)state;
    REFUSED(scant_project_undo(project, ann, 0, NULL, NULL, NULL), SCANT_ENOTFOUND,
            "nothing to undo");
    scant_lease a = next_lease(project, ann);
    OK(say(project, ann, &a, SCANT_ANSWER_LABEL, 1));
    scant_lease b = next_lease(project, ann);
    OK(say(project, ann, &b, SCANT_ANSWER_SKIP, 0));
    OK(scant_project_undo(project, ann, 0, NULL, &entry, &back));
    assert_int_equal(entry, 2);
    assert_int_equal(back.item, b.item);
    assert_int_not_equal(back.key, 0);
    OK(scant_project_undo(project, ann, 0, NULL, &entry, &back));
    assert_int_equal(entry, 1);
    assert_int_equal(back.item, a.item);
    assert_int_equal(item_of(project, a.item).label, -1);
    assert_int_equal(item_of(project, a.item).answer, 0);
    REFUSED(scant_project_undo(project, ann, 0, NULL, NULL, NULL), SCANT_ENOTFOUND,
            "nothing to undo");
    OK(say(project, ann, &back, SCANT_ANSWER_LABEL, 2));
    assert_int_equal(item_of(project, a.item).label, 2);
    assert_int_equal(info_of(project).entries, 5);
    assert_counted(project);
    scant_project_free(project);
}

static void the_history_cannot_be_changed(void **state) {
    scant_project *project = make_project("grows", 20, no_audit, 1);
    size_t ann = person(project, "ann");
    (void)state;
    scant_lease a = next_lease(project, ann);
    OK(say(project, ann, &a, SCANT_ANSWER_LABEL, 1));
    const char *const tries[] = {"UPDATE labels SET class = 0", "DELETE FROM labels",
                                 "UPDATE labels SET at = 0 WHERE entry = 1"};
    for (size_t i = 0; i < 3; i++) {
        assert_int_not_equal(sqlite3_exec(project->db, tries[i], NULL, NULL, NULL),
                             SQLITE_OK);
        assert_non_null(strstr(sqlite3_errmsg(project->db), "the history only grows"));
    }
    assert_int_equal(ask(project, "SELECT class FROM labels"), 1);
    scant_project_free(project);
}

/* ---- several people ---------------------------------------------------------------- */

static void the_majority_decides_and_a_tie_is_disputed(void **state) {
    static const scant_setting three[] = {{"audit_every", "0"}, {"overlap", "3"}};
    scant_project *project = make_project("three", 1, three, 2);
    size_t who[4];
    scant_lease lease;
    size_t n;
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        char name[] = {(char)('w' + (int)i), 0};
        who[i] = person(project, name);
    }
    lease = next_lease(project, who[0]);
    OK(say(project, who[0], &lease, SCANT_ANSWER_LABEL, 1));
    assert_int_equal(item_of(project, 0).label, 1);
    lease = next_lease(project, who[1]);
    assert_int_equal(lease.role, SCANT_ROLE_OVERLAP);
    OK(say(project, who[1], &lease, SCANT_ANSWER_LABEL, 2));
    assert_int_equal(item_of(project, 0).label, -1);
    assert_true(item_of(project, 0).disputed);
    assert_int_equal(info_of(project).disputed, 1);
    assert_int_equal(info_of(project).labelled, 0);
    lease = next_lease(project, who[2]);
    OK(say(project, who[2], &lease, SCANT_ANSWER_LABEL, 2));
    assert_int_equal(item_of(project, 0).label, 2);
    assert_false(item_of(project, 0).disputed);
    assert_int_equal(item_of(project, 0).answers, 3);
    OK(scant_project_next(project, who[3], 1, &lease, &n)); /* three answers are enough */
    assert_int_equal(n, 0);
    assert_counted(project);
    scant_project_free(project);
}

static void second_opinions_come_first_and_from_another_person(void **state) {
    scant_project *project = make_project("second", 6, two_people, 2);
    size_t ann = person(project, "ann"), bob = person(project, "bob"), n;
    scant_lease leases[6];
    (void)state;
    OK(scant_project_next(project, ann, 2, leases, &n));
    for (size_t i = 0; i < 2; i++)
        OK(say(project, ann, &leases[i], i ? SCANT_ANSWER_UNSURE : SCANT_ANSWER_LABEL,
               1));
    size_t first = leases[0].item, second = leases[1].item;
    OK(scant_project_next(project, ann, 6, leases, &n));
    assert_int_equal(n, 4);
    for (size_t i = 0; i < n; i++)
        assert_true(leases[i].item != first && leases[i].item != second);
    OK(scant_project_release(project, ann, NULL, 0));
    OK(scant_project_next(project, bob, 6, leases, &n));
    assert_int_equal(n, 6);
    assert_int_equal(leases[0].role, SCANT_ROLE_OVERLAP);
    assert_int_equal(leases[1].role, SCANT_ROLE_OVERLAP);
    assert_true(leases[0].item == first || leases[1].item == first);
    assert_int_equal(leases[2].role, SCANT_ROLE_FILL);
    /* with overlap = 1 second opinions are no longer due */
    OK(scant_project_release(project, bob, NULL, 0));
    OK(scant_project_set(project, "overlap", "1"));
    OK(scant_project_next(project, bob, 6, leases, &n));
    assert_int_equal(n, 4);
    scant_project_free(project);
}

static void a_late_answer_is_refused_if_somebody_else_has_the_item(void **state) {
    scant_project *project = make_project("late", 1, no_audit, 1);
    size_t ann = person(project, "ann"), bob = person(project, "bob");
    scant_lease lease;
    (void)state;
    scant_lease a = next_lease(project, ann);
    project->clock = store_now(project) + 6 * 60000; /* a lease lasts five minutes */
    scant_lease b = next_lease(project, bob);
    assert_int_equal(b.item, a.item);
    REFUSED(say(project, ann, &a, SCANT_ANSWER_LABEL, 1), SCANT_ECONFLICT,
            "leased to somebody else now");
    project->clock = store_now(project) + 6 * 60000; /* bob's lease has expired too */
    OK(say(project, ann, &a, SCANT_ANSWER_LABEL, 1));
    REFUSED(say(project, bob, &b, SCANT_ANSWER_LABEL, 2), SCANT_ECONFLICT,
            "somebody else has answered it");
    assert_int_equal(item_of(project, 0).label, 1);
    /* an undo gives ann no lease while bob has one */
    int64_t entry;
    OK(scant_project_undo(project, ann, 0, NULL, &entry, &lease));
    assert_int_not_equal(lease.key, 0);
    OK(say(project, ann, &lease, SCANT_ANSWER_SKIP, 0));
    b = next_lease(project, bob);
    OK(scant_project_undo(project, ann, 0, NULL, &entry, &lease));
    assert_int_equal(lease.key, 0);
    OK(say(project, bob, &b, SCANT_ANSWER_LABEL, 2));
    assert_counted(project);
    scant_project_free(project);
}

static void a_released_lease_still_allows_an_answer(void **state) {
    scant_project *project = make_project("given", 5, no_audit, 1);
    size_t ann = person(project, "ann"), kept;
    (void)state;
    scant_lease a = next_lease(project, ann);
    OK(scant_project_renew(project, ann, &a.key, 1, &kept));
    assert_int_equal(kept, 1);
    OK(scant_project_release(project, ann, &a.key, 1));
    OK(scant_project_renew(project, ann, &a.key, 1, &kept));
    assert_int_equal(kept, 0);
    OK(say(project, ann, &a, SCANT_ANSWER_LABEL, 1));
    scant_project_free(project);
}

static void a_second_opinion_may_come_late(void **state) {
    scant_project *project = make_project("opinion", 5, two_people, 2);
    size_t ann = person(project, "ann"), bob = person(project, "bob"), kept;
    char text[100];
    (void)state;
    /* an import labels ann's item: her lease ends, but her answer counts as the second */
    scant_lease a = next_lease(project, ann);
    snprintf(text, sizeof text, "id,label\n%zu,a\n", a.item);
    OK(scant_project_import(project, put_text("late.csv", text), NULL, NULL));
    OK(scant_project_renew(project, ann, &a.key, 1, &kept));
    assert_int_equal(kept, 0);
    assert_counted(project);
    OK(say(project, ann, &a, SCANT_ANSWER_LABEL, 1));
    assert_int_equal(item_of(project, a.item).answers, 2);
    assert_int_equal(ask(project, "SELECT role FROM labels ORDER BY entry DESC"),
                     SCANT_ROLE_FILL);
    /* overlap becomes 1 and then 2 again while bob has the item */
    a = next_lease(project, ann);
    OK(say(project, ann, &a, SCANT_ANSWER_LABEL, 1));
    scant_lease b = next_lease(project, bob);
    assert_int_equal(b.item, a.item);
    OK(scant_project_set(project, "overlap", "1"));
    REFUSED(say(project, bob, &b, SCANT_ANSWER_LABEL, 1), SCANT_ECONFLICT,
            "somebody else has answered it in the meantime");
    OK(scant_project_set(project, "overlap", "2"));
    OK(say(project, bob, &b, SCANT_ANSWER_LABEL, 1));
    assert_int_equal(item_of(project, a.item).answers, 2);
    assert_counted(project);
    scant_project_free(project);
}

/* With overlap = 3 the item stays due after ann's answer. */
static void nobody_gets_an_item_that_they_have_answered(void **state) {
    static const scant_setting three[] = {{"audit_every", "0"}, {"overlap", "3"}};
    scant_project *project = make_project("again", 1, three, 2);
    size_t ann = person(project, "ann"), bob = person(project, "bob"), n;
    scant_lease lease, none;
    (void)state;
    lease = next_lease(project, ann);
    OK(say(project, ann, &lease, SCANT_ANSWER_LABEL, 1));
    OK(scant_project_undo(project, ann, 0, "u", NULL, &lease));
    OK(say(project, ann, &lease, SCANT_ANSWER_LABEL, 2));
    OK(scant_project_undo(project, ann, 0, "u", NULL, &none)); /* a repeated request */
    assert_int_equal(none.key, 0);
    OK(scant_project_next(project, ann, 1, &none, &n));
    assert_int_equal(n, 0);
    assert_counted(project);
    /* bob's answer is imported while he has the lease: the item is free for others */
    lease = next_lease(project, bob);
    OK(scant_project_import(project, put_text("bob.csv", "id,label,annotator\n0,b,bob\n"),
                            NULL, NULL));
    OK(scant_project_next(project, bob, 1, &none, &n));
    assert_int_equal(n, 0);
    lease = next_lease(project, person(project, "eve"));
    assert_counted(project);
    scant_project_free(project);
}

/* ---- reading the history ----------------------------------------------------------- */

typedef struct lines {
    char text[400];
    size_t n;
} lines;

static scant_status write_line(void *user, const scant_entry *e) {
    static const char *const kinds[] = {"", "label", "skip", "unsure", "undo"};
    lines *l = user;
    l->n++;
    size_t used = strlen(l->text);
    snprintf(l->text + used, sizeof l->text - used, "%lld %s %s %s %d %lld;",
             (long long)e->entry, e->person, kinds[e->kind],
             e->class_name ? e->class_name : "-", e->stands, (long long)e->undoes);
    return SCANT_OK;
}

static void the_history_is_read_forwards_and_backwards(void **state) {
    scant_project *project = make_project("read", 20, no_audit, 1);
    size_t ann = person(project, "ann"), bob = person(project, "bob");
    lines l = {"", 0};
    (void)state;
    scant_lease a = next_lease(project, ann), b = next_lease(project, bob);
    OK(say(project, ann, &a, SCANT_ANSWER_LABEL, 1));
    OK(say(project, bob, &b, SCANT_ANSWER_LABEL, 0));
    OK(change(project, ann, a.item, SCANT_ANSWER_LABEL, 2));
    OK(scant_project_undo(project, ann, 0, NULL, NULL, NULL));
    OK(scant_project_history(project, SIZE_MAX, 0, false, SIZE_MAX, write_line, &l));
    assert_string_equal(l.text, "1 ann label b 0 0;2 bob label a 1 0;3 ann label c 0 0;"
                                "4 ann undo - 0 3;");
    l = (lines){"", 0};
    OK(scant_project_history(project, ann, 4, true, 1, write_line, &l));
    assert_string_equal(l.text, "3 ann label c 0 0;");
    l = (lines){"", 0};
    OK(scant_project_history(project, ann, 1, false, 5, write_line, &l));
    assert_int_equal(l.n, 2);
    OK(scant_project_history(project, 77, 0, true, 5, write_line, &l));
    OK(scant_project_history(project, ann, 0, true, 0, write_line, &l));
    assert_int_equal(l.n, 2);
    scant_project_free(project);
}

static scant_status keep_pair(void *user, const scant_person_agreement *pair) {
    scant_person_agreement *out = user;
    *out = *pair;
    assert_string_equal(pair->a, "ann");
    assert_string_equal(pair->b, "bob");
    return SCANT_OK;
}

/* By hand: both say a on 4 of 10 items and b on 3; ann says a and bob b on 2, the other
 * way round on 1. Observed agreement 0.7; by chance 0.6 x 0.5 + 0.4 x 0.5 = 0.5; kappa
 * (0.7 - 0.5) / (1 - 0.5) = 0.4. */
static void agreement_is_cohens_kappa(void **state) {
    scant_project *project = make_project("kappa", 11, two_people, 2);
    static const int said[10][2] = {{0, 0}, {0, 0}, {0, 0}, {0, 0}, {1, 1},
                                    {1, 1}, {1, 1}, {0, 1}, {0, 1}, {1, 0}};
    size_t ann = person(project, "ann"), bob = person(project, "bob"), n;
    scant_person_agreement pair = {0};
    scant_lease leases[10];
    (void)state;
    OK(scant_project_agreements(project, keep_pair, &pair));
    assert_int_equal(pair.items, 0);
    OK(scant_project_next(project, ann, 10, leases, &n));
    for (size_t i = 0; i < 10; i++)
        OK(say(project, ann, &leases[i], SCANT_ANSWER_LABEL, (size_t)said[i][0]));
    for (size_t i = 0; i < 10; i++) {
        scant_lease lease = next_lease(project, bob);
        for (size_t j = 0; j < 10; j++)
            if (leases[j].item == lease.item)
                OK(say(project, bob, &lease, SCANT_ANSWER_LABEL, (size_t)said[j][1]));
    }
    OK(scant_project_agreements(project, keep_pair, &pair));
    assert_int_equal(pair.items, 10);
    assert_float_equal(pair.agreed, 0.7, 1e-12);
    assert_float_equal(pair.kappa, 0.4, 1e-12);
    scant_project_free(project);
}

typedef struct agreements {
    size_t n, items;
} agreements;

static scant_status check_order(void *user, const scant_person_agreement *pair) {
    agreements *seen = user;
    assert_true(seen->n == 0 || pair->items <= seen->items);
    assert_true(pair->items >= 5);
    seen->items = pair->items;
    seen->n++;
    return SCANT_OK;
}

/* 300 people label 40 items, the first ones all of them: of 44850 pairs the 100 with the
 * most common items are reported. */
static void of_many_people_the_largest_pairs_are_compared(void **state) {
    enum { PEOPLE = 300, ITEMS = 40 };
    scant_project *project = make_project("many", ITEMS, no_audit, 1);
    scant__text text = {0};
    agreements seen = {0};
    (void)state;
    scant__text_add(&text, "id,label,annotator\n");
    for (size_t i = 0; i < PEOPLE; i++)
        for (size_t k = 0; k < (i < 40 ? ITEMS : 6); k++)
            scant__text_addf(&text, "%zu,%s,p%zu\n", k, k % 2 ? "a" : "b", i);
    assert_false(text.failed);
    OK(scant_project_import(project, put_text("many.csv", text.data), NULL, NULL));
    scant__text_end(&text);
    OK(scant_project_agreements(project, check_order, &seen));
    assert_int_equal(seen.n, SCANT_AGREEMENTS);
    assert_int_equal(seen.items, ITEMS);
    scant_project_free(project);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_is_the_items_label),
        cmocka_unit_test(a_skipped_item_goes_to_others_and_an_unsure_one_does_not),
        cmocka_unit_test(only_its_author_may_replace_an_answer),
        cmocka_unit_test(an_invalid_answer_is_refused_with_all_others_of_its_call),
        cmocka_unit_test(a_repeated_request_is_stored_once),
        cmocka_unit_test(a_project_is_learnable_with_labels_of_two_classes),
        cmocka_unit_test(an_undo_of_a_given_entry_undoes_that_entry_or_fails),
        cmocka_unit_test(an_undo_is_an_entry_and_leases_the_item_again),
        cmocka_unit_test(the_history_cannot_be_changed),
        cmocka_unit_test(the_majority_decides_and_a_tie_is_disputed),
        cmocka_unit_test(second_opinions_come_first_and_from_another_person),
        cmocka_unit_test(a_late_answer_is_refused_if_somebody_else_has_the_item),
        cmocka_unit_test(a_released_lease_still_allows_an_answer),
        cmocka_unit_test(a_second_opinion_may_come_late),
        cmocka_unit_test(nobody_gets_an_item_that_they_have_answered),
        cmocka_unit_test(the_history_is_read_forwards_and_backwards),
        cmocka_unit_test(agreement_is_cohens_kappa),
        cmocka_unit_test(of_many_people_the_largest_pairs_are_compared),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
