/* SPDX-License-Identifier: Apache-2.0
 *
 * Rounds: picks are handed out in their order, then the rest of the ranking, then other
 * items. Models are stored.
 */
#include <math.h>

#include "people.h"
#include "scant/project.h"

static const size_t ranking[] = {8, 3, 11, 5, 0, 14};

static size_t add_round(scant_project *project, size_t batch, size_t n) {
    scant_pick picks[6];
    size_t number;
    store_round round = {
        .strategy = "badge", .seed = UINT64_MAX, .batch = batch, .options = "{\"a\": 1}"};
    for (size_t i = 0; i < n; i++)
        picks[i] = (scant_pick){.index = ranking[i], .weight = 1, .score = NAN};
    OK(store_round_add(project, &round, picks, n, &number));
    return number;
}

static scant_status keep_last(void *user, const scant_round_point *point) {
    scant_round_point *out = user;
    *out = *point;
    assert_string_equal(point->strategy, "badge");
    return SCANT_OK;
}

static void picks_come_first_then_the_ranking_then_any_other(void **state) {
    scant_project *project = make_project("picks", 20, no_audit, 1);
    size_t ann = person(project, "ann"), bob = person(project, "bob"), n;
    scant_lease leases[8];
    (void)state;
    assert_int_equal(add_round(project, 3, 6), 1);
    assert_int_equal(info_of(project).picked, 3);
    assert_int_equal(info_of(project).waiting, 3);
    OK(scant_project_next(project, ann, 8, leases, &n));
    assert_int_equal(n, 8);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(leases[i].item, ranking[i]);
        assert_int_equal(leases[i].role, i < 3 ? SCANT_ROLE_PICK : SCANT_ROLE_FILL);
        assert_int_equal(leases[i].round, 1);
    }
    assert_int_equal(leases[6].round, 0);
    assert_int_equal(leases[6].role, SCANT_ROLE_FILL);
    OK(say(project, ann, &leases[0], SCANT_ANSWER_LABEL, 0));
    OK(say(project, ann, &leases[1], SCANT_ANSWER_SKIP, 0));
    assert_int_equal(info_of(project).waiting, 1);
    OK(scant_project_release(project, ann, NULL, 0));
    scant_round_point point;
    OK(scant_project_rounds(project, keep_last, &point));
    assert_int_equal(point.picked, 3);
    assert_int_equal(point.answered, 2);
    /* bob gets the item that ann skipped, in its place, but not the one she answered */
    OK(scant_project_next(project, bob, 2, leases, &n));
    assert_int_equal(leases[0].item, 3);
    assert_int_equal(leases[1].item, 11);
    assert_int_equal(ask(project, "SELECT start FROM rounds"), 1);
    OK(say(project, bob, &leases[0], SCANT_ANSWER_LABEL, 1));
    assert_int_equal(ask(project, "SELECT round FROM labels WHERE entry = 3"), 1);
    /* an undo puts the pick back into its place */
    OK(scant_project_undo(project, ann, 0, NULL, NULL, NULL));
    OK(scant_project_undo(project, ann, 0, NULL, NULL, NULL));
    OK(scant_project_release(project, ann, NULL, 0));
    OK(scant_project_next(project, bob, 3, leases, &n));
    assert_int_equal(leases[1].item, 8);
    /* a new round replaces the picks of the old one */
    assert_int_equal(add_round(project, 1, 1), 2);
    OK(scant_project_release(project, bob, NULL, 0));
    OK(scant_project_next(project, ann, 2, leases, &n));
    assert_int_equal(leases[0].item, 8);
    assert_int_equal(leases[0].round, 2);
    assert_int_equal(leases[1].round, 0);
    scant_project_free(project);
}

static void a_pick_that_joined_the_audit_set_is_no_longer_a_pick(void **state) {
    scant_project *project = make_project("moved", 20, no_audit, 1);
    size_t ann = person(project, "ann"), n;
    scant_lease leases[20];
    (void)state;
    add_round(project, 6, 6);
    OK(scant_project_set(project, "audit_every", "3"));
    OK(scant_project_set(project, "audit_most", "12"));
    OK(scant_project_next(project, ann, 20, leases, &n));
    assert_int_equal(n, 20);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(item_of(project, leases[i].item).audit,
                         leases[i].role == SCANT_ROLE_AUDIT);
    scant_project_free(project);
}

static void models_are_read_as_they_were_stored(void **state) {
    scant_project *project = make_project("models", 20, no_audit, 1);
    scant__arena arena;
    store_model *all, out,
        in = {.entry = 3,
              .seed = UINT64_MAX - 1,
              .labels = 7,
              .classes = 3,
              .items = 20,
              .file = "models/7.safetensors",
              .seconds = 1.5,
              .agreement = NAN,
              .over_random = 0.25,
              .over_random_low = -0.5,
              .over_random_high = NAN,
              .over_random_labels = 9};
    size_t number, n, ann = person(project, "ann");
    (void)state;
    scant__arena_init(&arena, ctx);
    OK(store_model_last(project, &arena, &out));
    assert_int_equal(out.number, 0);
    for (size_t i = 0; i < 5; i++) {
        scant_lease lease = next_lease(project, ann);
        OK(say(project, ann, &lease, SCANT_ANSWER_LABEL, 1));
    }
    OK(store_model_add(project, &in, NULL, NULL, 0, &number));
    OK(store_model_add(project, &in, NULL, NULL, 0, &number));
    assert_int_equal(number, 2);
    OK(store_model_last(project, &arena, &out));
    assert_int_equal(out.number, 2);
    assert_true(out.seed == in.seed && out.at > 0 && out.entry == 3);
    assert_true(isnan(out.agreement) && isnan(out.over_random_high));
    assert_true(out.over_random == 0.25 && out.over_random_low == -0.5);
    assert_string_equal(out.file, in.file);
    OK(store_models(project, &arena, &all, &n));
    assert_int_equal(n, 2);
    assert_int_equal(info_of(project).models, 2);
    assert_int_equal(info_of(project).untrained, 2); /* entries 4 and 5 */
    scant__arena_end(&arena);
    scant_project_free(project);
}

static void info_has_the_model_of_the_last_round(void **state) {
    scant_project *project = make_project("round_model", 20, no_audit, 1);
    store_model model = {.classes = 3, .items = 20, .file = "models/1.safetensors"};
    store_round round = {.strategy = "badge", .batch = 1};
    scant_pick pick = {.index = 3, .weight = 1};
    (void)state;
    assert_int_equal(info_of(project).round_model, 0); /* there is no round */
    OK(store_round_add(project, &round, &pick, 1, NULL));
    assert_int_equal(info_of(project).round_model, 0); /* picked without a model */
    for (size_t i = 0; i < 3; i++)
        OK(store_model_add(project, &model, NULL, NULL, 0, NULL));
    round.model = 2;
    OK(store_round_add(project, &round, &pick, 1, NULL));
    assert_int_equal(info_of(project).round_model, 2);
    assert_int_equal(info_of(project).models, 3);
    round.model = 0;
    OK(store_round_add(project, &round, &pick, 1, NULL));
    assert_int_equal(info_of(project).round_model, 0);
    scant_project_free(project);
}

static void sources_and_rows_are_read_in_item_order(void **state) {
    scant_project *project;
    scant__arena arena = {.ctx = ctx};
    store_source *sources;
    size_t n, sum = 0, rows[3];
    scant_project_opts o = {.source = {.features = put_features("s.npy", 5, 2, 1),
                                       .manifest = put_text("s.csv", "id,row\na,4\nb,0\n"
                                                                     "c,2\n")},
                            .classes = abc,
                            .n_classes = 3};
    (void)state;
    OK(scant_project_create(ctx, path_of("sources"), &o, &project));
    OK(scant_project_add(
        project, &(scant_source){.features = put_features("t.npy", 4, 2, 2)}, NULL));
    OK(store_sources(project, &arena, &sources, &n));
    assert_int_equal(n, 2);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(sources[i].first, sum);
        assert_int_equal(sources[i].kind, STORE_FEATURES);
        sum += sources[i].count;
    }
    assert_int_equal(sum, 7);
    scant__arena_end(&arena);
    OK(store_rows(project, 0, 3, rows));
    assert_int_equal(rows[0], 4);
    assert_int_equal(rows[1], 0);
    assert_int_equal(rows[2], 2);
    scant_project_free(project);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(picks_come_first_then_the_ranking_then_any_other),
        cmocka_unit_test(a_pick_that_joined_the_audit_set_is_no_longer_a_pick),
        cmocka_unit_test(models_are_read_as_they_were_stored),
        cmocka_unit_test(info_has_the_model_of_the_last_round),
        cmocka_unit_test(sources_and_rows_are_read_in_item_order),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
