/* SPDX-License-Identifier: Apache-2.0
 *
 * Audit items of a batch: each is handed out once, and no more than their share.
 */
#include "projects.h"

#include "scant/project.h"
#include "store/store_int.h"

enum { BATCH = 10 };

static const scant_setting settings[] = {{"audit_every", "5"}, {"audit_most", "20"}};

static void begin(lab *l, const char *name) {
    lab_opts o = {.n = 200,
                  .d = 4,
                  .classes = 2,
                  .noise = 0.4,
                  .seed = 3,
                  .settings = settings,
                  .n_settings = 2};
    lab_make(l, ctx_threads(1), name, o);
}

/* Stores an answer to an item that was not handed out. */
static void answer(lab *l, size_t item, const char *name, scant_answer_kind kind,
                   size_t label) {
    store_entry e = {.item = item,
                     .kind = kind,
                     .label = label,
                     .at = -1,
                     .spent = -1,
                     .role = SCANT_ROLE_IMPORT};
    store_tx tx;
    int64_t number;
    OK(scant_project_person(l->project, name, &e.person));
    OK(store_begin(l->project, STORE_WRITE, &tx));
    OK(store_entry_add(l->project, &e, &number));
    OK(store_commit(&tx));
}

/* The audit set in its order. */
static size_t audit_order(lab *l, size_t items[20]) {
    scant__arena arena;
    size_t *order, n;
    int32_t *labels;
    scant__arena_init(&arena, l->ctx);
    OK(store_audit(l->project, &arena, &order, &labels, &n));
    assert_int_equal(n, 20);
    memcpy(items, order, n * sizeof *items);
    scant__arena_end(&arena);
    return n;
}

static void an_answered_item_is_not_handed_out_again(void **state) {
    (void)state;
    lab l;
    size_t order[20], items[2 * BATCH], n;
    begin(&l, "again");
    audit_order(&l, order);
    OK(scant_project_audit(l.project, BATCH, items, &n));
    assert_int_equal(n, 2); /* one in five of ten */
    assert_int_equal(items[0], order[0]);
    assert_int_equal(items[1], order[1]);
    /* a label out of order, unsure, a dispute: all are answers */
    answer(&l, order[1], "ann", SCANT_ANSWER_LABEL, 0);
    OK(scant_project_audit(l.project, BATCH, items, &n));
    assert_int_equal(n, 1);
    assert_int_equal(items[0], order[0]);
    answer(&l, order[0], "ann", SCANT_ANSWER_UNSURE, 0);
    OK(scant_project_audit(l.project, BATCH, items, &n));
    assert_int_equal(n, 0); /* (1 label + 10) / 5 - 2 */
    OK(scant_project_audit(l.project, 2 * BATCH, items, &n));
    assert_int_equal(n, 2);
    assert_int_equal(items[0], order[2]);
    answer(&l, order[2], "ann", SCANT_ANSWER_LABEL, 0);
    answer(&l, order[2], "bob", SCANT_ANSWER_LABEL, 1);
    OK(scant_project_audit(l.project, 2 * BATCH, items, &n));
    assert_int_equal(n, 1);
    assert_int_equal(items[0], order[3]);
    lab_end(&l);
}

static void a_skipped_item_comes_again_after_all_others(void **state) {
    (void)state;
    lab l;
    size_t order[20], items[400], n;
    begin(&l, "skipped");
    audit_order(&l, order);
    answer(&l, order[0], "ann", SCANT_ANSWER_SKIP, 0);
    OK(scant_project_audit(l.project, BATCH, items, &n));
    assert_int_equal(n, 1);
    assert_int_equal(items[0], order[1]);
    OK(scant_project_audit(l.project, 200, items, &n));
    assert_int_equal(n, 20);
    assert_int_equal(items[19], order[0]);
    for (size_t i = 1; i < 20; i++)
        answer(&l, order[i], "ann", SCANT_ANSWER_LABEL, i % 2);
    OK(scant_project_audit(l.project, 400, items, &n));
    assert_int_equal(n, 1);
    assert_int_equal(items[0], order[0]);
    answer(&l, order[0], "bob", SCANT_ANSWER_UNSURE, 0);
    OK(scant_project_audit(l.project, 400, items, &n));
    assert_int_equal(n, 0);
    lab_end(&l);
}

static void assert_advice(lab *l, const char *words) {
    scant_meter m;
    char *text;
    OK(scant_project_meter(l->project, &m));
    OK(scant_project_advice(l->project, &m, &text));
    if (!strstr(text, words))
        fail_msg("advice \"%s\" does not contain \"%s\"", text, words);
    scant_bytes_free(l->ctx, text);
}

static void advice_names_the_item_that_later_labels_wait_for(void **state) {
    (void)state;
    lab l;
    size_t order[20], number;
    int32_t verdicts[20] = {0};
    char words[100];
    begin(&l, "waiting");
    audit_order(&l, order);
    store_model model = {.classes = 2,
                         .items = l.n,
                         .file = "models/none.safetensors",
                         .agreement = NAN,
                         .over_random = NAN,
                         .over_random_low = NAN,
                         .over_random_high = NAN};
    OK(store_model_add(l.project, &model, order, verdicts, 20, &number));
    assert_advice(&l, "no item of the audit set has a label");
    answer(&l, order[2], "ann", SCANT_ANSWER_LABEL, 0);
    answer(&l, order[1], "ann", SCANT_ANSWER_LABEL, 0);
    snprintf(words, sizeof words,
             "2 items of the audit set have a label, but item '%zu' comes", order[0]);
    assert_advice(&l, words);
    answer(&l, order[0], "ann", SCANT_ANSWER_UNSURE, 0);
    assert_advice(&l, "evaluated on 2 items");
    lab_end(&l);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answered_item_is_not_handed_out_again),
        cmocka_unit_test(a_skipped_item_comes_again_after_all_others),
        cmocka_unit_test(advice_names_the_item_that_later_labels_wait_for),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
