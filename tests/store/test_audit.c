/* SPDX-License-Identifier: Apache-2.0
 *
 * The audit set and its order: drawn uniformly, fixed by the first answer, extended by
 * the same rule when items are added, mixed into the items handed out; and the labels
 * that count for it.
 */
#include "people.h"
#include "scant/project.h"

static void audit_keys_are_uniform(void **state) {
    enum { CELLS = 64, N = 64000 };
    size_t keys[CELLS] = {0}, fill[CELLS] = {0}, both[8][8] = {{0}};
    double chi = 0, chi_fill = 0, chi_both = 0;
    (void)state;
    for (size_t i = 0; i < N; i++) { /* keys have 63 bits */
        size_t a = (size_t)(store_audit_key(11, i) >> 57);
        size_t b = (size_t)(store_fill_key(11, i) >> 57);
        assert_true(a < CELLS && b < CELLS);
        keys[a]++;
        fill[b]++;
        both[a / 8][b / 8]++; /* the two orders are independent */
    }
    for (size_t i = 0; i < CELLS; i++) {
        const double expected = (double)N / CELLS;
        double x = (double)keys[i] - expected, y = (double)fill[i] - expected;
        double z = (double)both[i / 8][i % 8] - expected;
        chi += x * x / expected;
        chi_fill += y * y / expected;
        chi_both += z * z / expected;
    }
    assert_true(chi < chi_square_limit(CELLS - 1));
    assert_true(chi_fill < chi_square_limit(CELLS - 1));
    assert_true(chi_both < chi_square_limit(CELLS - 1));
}

/* Counts over many seeds how often each item is in the audit set. */
static void every_item_is_withheld_equally_often(void **state) {
    enum { N = 50, SEEDS = 300 };
    size_t often[N] = {0};
    const char *rows = put_features("u.npy", N, 2, 1);
    char file[512];
    double chi = 0;
    (void)state;
    snprintf(file, sizeof file, "%s", rows);
    for (size_t seed = 0; seed < SEEDS; seed++) {
        scant_project *project;
        char name[32];
        scant__arena arena;
        size_t *items, n;
        int32_t *labels;
        snprintf(name, sizeof name, "u%zu", seed);
        OK(scant_project_create(ctx, path_of(name),
                                &(scant_project_opts){.source = {.features = file},
                                                      .classes = abc,
                                                      .n_classes = 3,
                                                      .seed = seed},
                                &project));
        scant__arena_init(&arena, ctx);
        OK(store_audit(project, &arena, &items, &labels, &n));
        assert_int_equal(n, N / 5);
        for (size_t i = 0; i < n; i++) often[items[i]]++;
        scant__arena_end(&arena);
        scant_project_free(project);
    }
    for (size_t i = 0; i < N; i++) {
        const double expected = SEEDS / 5.0;
        double x = (double)often[i] - expected;
        chi += x * x / (expected * 0.8); /* drawn without replacement */
    }
    assert_true(chi < chi_square_limit(N - 1));
}

static void settings_decide_the_size_of_the_audit_set(void **state) {
    scant_project *project = make_project("most", 100, NULL, 0);
    (void)state;
    assert_int_equal(info_of(project).withheld, 20);
    int64_t sum = ask(project, "SELECT sum(item) FROM items WHERE withheld = 1");
    OK(scant_project_set(project, "audit_most", "5"));
    assert_int_equal(info_of(project).withheld, 5);
    assert_int_equal(ask(project, "SELECT count(*) FROM queue WHERE kind = 0"), 95);
    OK(scant_project_set(project, "audit_most", "auto"));
    assert_int_equal(ask(project, "SELECT sum(item) FROM items WHERE withheld = 1"), sum);
    OK(scant_project_set(project, "audit_every", "0"));
    assert_int_equal(info_of(project).withheld, 0);
    assert_int_equal(ask(project, "SELECT count(*) FROM queue WHERE kind = 0"), 100);
    OK(scant_project_set(project, "audit_every", "7"));
    assert_int_equal(ask(project, "SELECT sum(item) FROM items WHERE withheld = 1"), sum);
    OK(scant_project_set(project, "audit_most", "1000"));
    assert_int_equal(info_of(project).withheld, 100);
    assert_counted(project);
    scant_project_free(project);
    project = make_project("few", 9, NULL, 0);
    assert_int_equal(info_of(project).withheld, 0);
    scant_project_free(project);
}

static void the_audit_set_is_fixed_from_the_first_answer_on(void **state) {
    static const struct {
        const char *key, *value;
        bool refused;
    } changes[] = {{"audit_every", "0", true},    {"audit_most", "41", true},
                   {"audit_most", "40", true},    {"audit_most", "0", true},
                   {"audit_most", "auto", false}, {"audit_every", "5", false},
                   {"audit_every", "1", false},   {"audit_every", "1000", false}};
    static const char marks[] = "SELECT sum(item * (withheld + 1)) FROM items";
    scant_project *project = make_project("decided", 200, NULL, 0);
    size_t ann = person(project, "ann");
    (void)state;
    OK(scant_project_add(
        project, &(scant_source){.features = put_features("more.npy", 600, 3, 9)}, NULL));
    int64_t withheld = ask(project, marks);
    OK(scant_project_set(project, "audit_every", "5")); /* before the first answer, too */
    assert_int_equal(ask(project, marks), withheld);
    OK(scant_project_set(project, "audit_most", "7"));
    assert_int_equal(info_of(project).withheld, 7);
    OK(scant_project_set(project, "audit_every", "0"));
    OK(scant_project_set(project, "audit_most", "auto"));
    OK(scant_project_set(project, "audit_every", "10"));
    assert_int_equal(info_of(project).withheld, 160); /* a fifth of the 800 items */
    scant_lease lease = next_lease(project, ann);
    OK(say(project, ann, &lease, SCANT_ANSWER_SKIP, 0));
    OK(scant_project_undo(project, ann, 0, NULL, NULL,
                          NULL)); /* undone, but it was an answer */
    OK(scant_project_add(
        project, &(scant_source){.features = put_features("yet.npy", 50, 3, 11)}, NULL));
    withheld = ask(project, marks);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        scant_setting two[] = {{"batch", "33"}, {changes[i].key, changes[i].value}};
        scant_status status = scant_project_set_all(project, two, 2);
        assert_int_equal(status, changes[i].refused ? SCANT_ECONFLICT : SCANT_OK);
        if (changes[i].refused) {
            assert_non_null(strstr(scant_ctx_errmsg(ctx), "drawn before the first "
                                                          "answer; create a new"));
            assert_string_equal(scant_project_get(project, "batch"), "20");
        }
        assert_int_equal(ask(project, marks), withheld);
        if (i == 0) assert_string_equal(scant_project_get(project, "audit_every"), "10");
    }
    assert_string_equal(scant_project_get(project, "audit_every"), "1000");
    assert_counted(project);
    scant_project_free(project);

    project = make_project("none", 50, no_audit, 1); /* nor can one be drawn later */
    ann = person(project, "ann");
    lease = next_lease(project, ann);
    OK(say(project, ann, &lease, SCANT_ANSWER_LABEL, 0));
    REFUSED(scant_project_set(project, "audit_every", "10"), SCANT_ECONFLICT,
            "drawn before the first answer");
    assert_int_equal(info_of(project).withheld, 0);
    scant_project_free(project);
}

/* Twenty items in groups of two. */
static void an_item_that_leaves_the_queue_loses_its_lease(void **state) {
    char manifest[600] = "id,row,group\n";
    scant_lease leases[40];
    scant_project *project;
    size_t n, kept;
    (void)state;
    for (size_t i = 0; i < 20; i++)
        snprintf(manifest + strlen(manifest), 20, "i%zu,%zu,g%zu\n", i, i, i / 2);
    scant_project_opts opts = {.source = {.features = put_features("g.npy", 20, 3, 7),
                                          .manifest = put_text("g.csv", manifest)},
                               .classes = abc,
                               .n_classes = 3,
                               .settings = no_audit,
                               .n_settings = 1};
    OK(scant_project_create(ctx, path_of("leaves"), &opts, &project));
    size_t ann = person(project, "ann");
    OK(scant_project_next(project, ann, 40, leases, &n));
    assert_int_equal(n, 20);
    OK(scant_project_set(project, "audit_every", "10"));
    assert_int_equal(info_of(project).withheld, 4);
    int64_t beside = ask(project, "SELECT count(*) FROM items WHERE withheld = 2");
    assert_true(beside > 0);
    assert_counted(project);
    OK(scant_project_renew(project, ann, NULL, 0, &kept));
    assert_int_equal(kept, 20 - (size_t)beside);
    scant_project_free(project);
}

/* One in audit_every, with several people who come and go, and in the audit order. */
static void one_item_in_audit_every_is_of_the_audit_set(void **state) {
    static const scant_setting five[] = {{"audit_every", "5"}};
    scant_project *project = make_project("mixed", 400, five, 1);
    size_t who[4], audits = 0, at_place[5] = {0};
    int64_t last = -1;
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        char name[] = {(char)('a' + (int)i), 0};
        who[i] = person(project, name);
    }
    for (size_t i = 0; i < 300; i++) {
        size_t me = who[(size_t)(4 * unit_at(3, i))];
        scant_lease lease = next_lease(project, me);
        if (lease.role == SCANT_ROLE_AUDIT) {
            char sql[100];
            snprintf(sql, sizeof sql, "SELECT audit FROM items WHERE item = %zu",
                     lease.item);
            assert_true(ask(project, sql) > last);
            last = ask(project, sql);
            audits++;
            at_place[i % 5]++;
        }
        OK(say(project, me, &lease, SCANT_ANSWER_LABEL, 0));
        if (i % 5 == 4) assert_int_equal(audits, (i + 1) / 5);
    }
    assert_int_equal(info_of(project).audited, 60);
    assert_int_equal(info_of(project).training, 240);
    for (size_t i = 0; i < 5; i++) assert_true(at_place[i] > 0); /* at any position */
    scant_project_free(project);
}

static void open_leases_count_towards_the_share_of_audit_items(void **state) {
    static const scant_setting five[] = {{"audit_every", "5"}};
    scant_project *project = make_project("open", 400, five, 1);
    scant_lease leases[10];
    size_t audits = 0, n;
    (void)state;
    for (size_t i = 0; i < 10; i++) {
        char name[] = {(char)('a' + (int)i), 0};
        OK(scant_project_next(project, person(project, name), 10, leases, &n));
        assert_int_equal(n, 10);
        for (size_t j = 0; j < 10; j++) audits += leases[j].role == SCANT_ROLE_AUDIT;
        assert_int_equal(audits, 2 * (i + 1));
    }
    scant_project_free(project);
}

static void all_items_are_handed_out_in_the_end(void **state) {
    scant_project *project = make_project("end", 50, NULL, 0);
    size_t ann = person(project, "ann"), n;
    scant_lease lease;
    (void)state;
    for (size_t i = 0; i < 50; i++) {
        lease = next_lease(project, ann);
        OK(say(project, ann, &lease, SCANT_ANSWER_LABEL, 0));
    }
    OK(scant_project_next(project, ann, 1, &lease, &n));
    assert_int_equal(n, 0);
    scant_project_info info = info_of(project);
    assert_int_equal(info.labelled, 50);
    assert_int_equal(info.audited, 10);
    assert_int_equal(info.training, 40);
    assert_counted(project);
    scant_project_free(project);
}

/* The audit set stays a uniform sample: it takes the same share of the new items. */
static void items_added_later_are_withheld_by_the_same_rule(void **state) {
    scant_project *project = make_project("later", 2000, NULL, 0);
    size_t added;
    (void)state;
    int64_t limit = ask(project, "SELECT max(audit) FROM items WHERE withheld = 1");
    OK(scant_project_add(
        project, &(scant_source){.features = put_features("late.npy", 4000, 3, 9)},
        &added));
    assert_int_equal(
        ask(project, "SELECT max(audit) FROM items WHERE withheld = 1") <= limit, 1);
    int64_t later =
        ask(project, "SELECT count(*) FROM items WHERE withheld = 1 AND item >= 2000");
    /* 400 of 2000 were drawn; of 4000 about 800, standard deviation about 44 */
    assert_true(later > 600 && later < 1000);
    assert_int_equal(ask(project, "SELECT count(*) FROM queue"), 6000);
    assert_counted(project);
    scant_project_free(project);
    project = make_project("grown", 5, NULL, 0); /* too few at first */
    assert_int_equal(info_of(project).withheld, 0);
    OK(scant_project_add(
        project, &(scant_source){.features = put_features("l2.npy", 45, 3, 9)}, &added));
    assert_int_equal(info_of(project).withheld, 10);
    assert_counted(project);
    scant_project_free(project);
}

static void labels_count_for_the_audit_only_in_audit_order(void **state) {
    scant_project *project = make_project("order", 100, NULL, 0);
    scant__arena arena;
    size_t *items, n, ann = person(project, "ann");
    int32_t *labels;
    store_predictions judged;
    (void)state;
    scant__arena_init(&arena, ctx);
    OK(store_audit(project, &arena, &items, &labels, &n));
    assert_int_equal(n, 20);
    for (size_t i = 1; i < n; i++)
        assert_true(store_audit_key(5, items[i - 1]) < store_audit_key(5, items[i]));
    /* an import labels the second and third item, perhaps because they are easy */
    char text[100];
    snprintf(text, sizeof text, "id,label\n%zu,a\n%zu,b\n", items[1], items[2]);
    OK(scant_project_import(project, put_text("some.csv", text), NULL, NULL));
    assert_int_equal(info_of(project).audited, 0);
    assert_int_equal(info_of(project).labelled, 2);
    OK(store_audit(project, &arena, &items, &labels, &n));
    for (size_t i = 0; i < n; i++) assert_int_equal(labels[i], -1);
    /* once the first is answered, three count */
    scant_lease lease;
    do {
        lease = next_lease(project, ann);
        OK(say(project, ann, &lease, SCANT_ANSWER_LABEL, 2));
    } while (lease.role != SCANT_ROLE_AUDIT);
    assert_int_equal(lease.item, items[0]);
    assert_int_equal(info_of(project).audited, 3);
    OK(store_audit(project, &arena, &items, &labels, &n));
    assert_int_equal(labels[0], 2);
    assert_int_equal(labels[1], 0);
    assert_int_equal(labels[2], 1);
    assert_int_equal(labels[3], -1);
    /* and a model is evaluated on those */
    size_t model;
    store_model trained = {.entry = 1, .labels = 5, .items = 100, .file = "models/1"};
    OK(store_model_add(project, &trained, items, (int32_t[]){2, 2, 1, 0}, 4, &model));
    assert_int_equal(model, 1);
    OK(store_predictions_read(project, model, 0, &arena, &judged));
    assert_int_equal(judged.n, 3);
    assert_int_equal(judged.items[2], items[2]);
    assert_int_equal(judged.predicted[0], 2);
    assert_int_equal(judged.predicted[1], 2);
    assert_int_equal(judged.labels[1], 0);
    assert_int_equal(judged.left_out, 0);
    scant__arena_end(&arena);
    scant_project_free(project);
}

static void training_and_candidates_exclude_the_audit_set(void **state) {
    scant_project *project = make_project("seen", 50, NULL, 0);
    scant__arena arena;
    size_t *items, n, ann = person(project, "ann"), given[50];
    int32_t *labels;
    int64_t entry, all[50], *candidates;
    (void)state;
    scant__arena_init(&arena, ctx);
    size_t learned = 0;
    for (size_t i = 0; i < 30; i++) {
        scant_lease lease = next_lease(project, ann);
        OK(say(project, ann, &lease, SCANT_ANSWER_LABEL, i % 3));
        if (lease.role != SCANT_ROLE_AUDIT) given[learned++] = lease.item;
    }
    OK(store_training(project, &arena, &items, &labels, &n, &entry));
    assert_int_equal(n, learned);
    assert_int_equal(entry, 30);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(items[i], given[i]); /* in the order of the answers */
    OK(store_candidates(project, &arena, &candidates, &n));
    assert_int_equal(n, 40 - learned);
    OK(scant_project_labels(project, all, 50));
    for (size_t i = 0; i < 50; i++)
        if (item_of(project, i).audit) assert_int_equal(all[i], -1);
    scant__arena_end(&arena);
    scant_project_free(project);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(audit_keys_are_uniform),
        cmocka_unit_test(every_item_is_withheld_equally_often),
        cmocka_unit_test(settings_decide_the_size_of_the_audit_set),
        cmocka_unit_test(the_audit_set_is_fixed_from_the_first_answer_on),
        cmocka_unit_test(an_item_that_leaves_the_queue_loses_its_lease),
        cmocka_unit_test(one_item_in_audit_every_is_of_the_audit_set),
        cmocka_unit_test(open_leases_count_towards_the_share_of_audit_items),
        cmocka_unit_test(all_items_are_handed_out_in_the_end),
        cmocka_unit_test(items_added_later_are_withheld_by_the_same_rule),
        cmocka_unit_test(labels_count_for_the_audit_only_in_audit_order),
        cmocka_unit_test(training_and_candidates_exclude_the_audit_set),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
