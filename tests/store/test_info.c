/* SPDX-License-Identifier: Apache-2.0
 *
 * The calls that people wait for with every item cost the same in a project with many
 * labels. Cost is counted in steps of SQLite's virtual machine, not in seconds.
 */
#include "people.h"
#include "scant/project.h"

enum { ITEMS = 1200, BATCH = 200 };

/* Labels of items first .. last - 1 from a file, all of one class. */
static void import_labels(scant_project *project, size_t first, size_t last,
                          const char *name) {
    static char text[32 * ITEMS];
    size_t used = (size_t)snprintf(text, sizeof text, "id,label\n");
    for (size_t i = first; i < last; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%zu,%s\n", i, name);
    OK(scant_project_import(project, put_text("labels.csv", text), NULL, NULL));
}

static int64_t steps_of_info(scant_project *project, scant_project_info *info) {
    *info = info_of(project); /* prepares the statements */
    steps_taken(project);
    *info = info_of(project);
    return steps_taken(project);
}

/* Of leasing the next item and answering it. */
static int64_t steps_of_answer(scant_project *project, size_t who) {
    steps_taken(project);
    scant_lease lease = next_lease(project, who);
    OK(say(project, who, &lease, SCANT_ANSWER_LABEL, 1));
    return steps_taken(project);
}

/* Nearly all labels are of the first class: the worst case for finding a second class. */
static void counts_cost_the_same_with_many_labels(void **state) {
    scant_project *project = make_project("counts", ITEMS, NULL, 0);
    scant_project_info few, many;
    size_t ann = person(project, "ann");
    store_model model = {.classes = 3, .items = ITEMS, .file = "models/1"};
    (void)state;
    import_labels(project, 0, 100, "a");
    int64_t first = steps_of_info(project, &few);
    assert_false(few.learnable);
    for (size_t i = 0; i < 2; i++) steps_of_answer(project, ann);
    int64_t turn = steps_of_answer(project, ann);
    import_labels(project, 100, ITEMS - BATCH, "a");
    int64_t then = steps_of_info(project, &many);
    assert_true(many.untrained > 8 * few.untrained && many.labelled > ITEMS / 2);
    print_message("info: %lld steps, then %lld\n", (long long)first, (long long)then);
    assert_true(then <= first + 20); /* one class more */
    int64_t late = steps_of_answer(project, ann);
    print_message("next and answer: %lld steps, then %lld\n", (long long)turn,
                  (long long)late);
    assert_true(late < 2 * turn);
    assert_counted(project);
    /* a model is trained on all labels but the last */
    model.entry = ask(project, "SELECT max(entry) FROM labels");
    steps_of_answer(project, ann);
    OK(store_model_add(project, &model, NULL, NULL, 0, NULL));
    assert_true(info_of(project).untrained <= 1);
    assert_counted(project);
    scant_project_free(project);
}

/* Items that wait for a third person do not slow down the two who have answered them. */
static void second_opinions_that_were_given_are_skipped_only_once(void **state) {
    static const scant_setting three[] = {{"audit_every", "0"}, {"overlap", "3"}};
    scant_project *project = make_project("given", ITEMS, three, 2);
    size_t who[] = {person(project, "ann"), person(project, "bob")};
    int64_t first = 0, last = 0;
    (void)state;
    for (size_t i = 0; i < 400; i++) {
        int64_t steps = steps_of_answer(project, who[i % 2]);
        if (i >= 20 && i < 40) first += steps;
        if (i >= 380) last += steps;
    }
    print_message("20 answers: %lld steps, then %lld\n", (long long)first,
                  (long long)last);
    assert_true(last < first + first / 4);
    assert_counted(project);
    scant_project_free(project);
}

static scant_status add_person(void *user, const scant_person *p) {
    scant__text *text = user;
    scant__text_addf(text, "%zu %s %zu;", p->person, p->name, p->answers);
    return SCANT_OK;
}

static scant_status stop(void *user, const scant_person *p) {
    (void)user, (void)p;
    return SCANT_ECANCELLED;
}

static void current_answers_are_counted_per_person(void **state) {
    scant_project *project = make_project("people", 20, two_people, 2);
    size_t ann = person(project, "ann"), bob = person(project, "bob");
    scant__text text;
    (void)state;
    scant_lease a = next_lease(project, ann);
    OK(say(project, ann, &a, SCANT_ANSWER_LABEL, 1));
    OK(change(project, ann, a.item, SCANT_ANSWER_LABEL, 2)); /* replaces the first */
    a = next_lease(project, ann);
    OK(say(project, ann, &a, SCANT_ANSWER_SKIP, 0));
    a = next_lease(project, bob);
    OK(say(project, bob, &a, SCANT_ANSWER_UNSURE, 0));
    OK(scant_project_undo(project, bob, 0, NULL, NULL, NULL));
    import_labels(project, 3, 6, "b");
    person(project, "eve");
    scant__text_init(&text, ctx);
    OK(scant_project_people(project, add_person, &text));
    scant__text_bytes(&text, "", 1);
    assert_string_equal(text.data, "1 ann 2;2 bob 0;3 import 3;4 eve 0;");
    scant__text_end(&text);
    assert_int_equal(scant_project_people(project, stop, NULL), SCANT_ECANCELLED);
    assert_counted(project);
    scant_project_free(project);
}

typedef struct nested {
    scant_project *project;
    size_t outer, inner;
} nested;

static scant_status count_person(void *user, const scant_person *p) {
    (void)p;
    ++*(size_t *)user;
    return SCANT_OK;
}

/* Runs the same statement again, a write that is rolled back and one that is not. */
static scant_status use_within(void *user, const scant_person *p) {
    nested *n = user;
    scant_lease none = {.item = 0};
    n->outer++;
    OK(scant_project_people(n->project, count_person, &n->inner));
    assert_int_equal(scant_project_people(n->project, stop, NULL), SCANT_ECANCELLED);
    REFUSED(say(n->project, p->person, &none, SCANT_ANSWER_LABEL, 0), SCANT_ECONFLICT,
            "was not handed out");
    OK(scant_project_event(n->project, "seen", NULL));
    return SCANT_OK;
}

static void a_listing_continues_after_other_calls_in_its_callback(void **state) {
    nested n = {.project = make_project("nested", 5, no_audit, 1)};
    (void)state;
    for (const char *name = "abc"; *name; name++) person(n.project, (char[]){*name, 0});
    OK(scant_project_people(n.project, use_within, &n));
    assert_int_equal(n.outer, 3);
    assert_int_equal(n.inner, 9);
    assert_int_equal(ask(n.project, "SELECT count(*) FROM events WHERE kind = 'seen'"),
                     3);
    scant_project_free(n.project);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_cost_the_same_with_many_labels),
        cmocka_unit_test(second_opinions_that_were_given_are_skipped_only_once),
        cmocka_unit_test(current_answers_are_counted_per_person),
        cmocka_unit_test(a_listing_continues_after_other_calls_in_its_callback),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
