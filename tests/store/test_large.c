/* SPDX-License-Identifier: Apache-2.0
 *
 * A pool of two hundred thousand items: all of it is read, and the calls that people wait
 * for do not slow down with the pool. Times are printed but not checked, because a loaded
 * machine would fail at random.
 */
#include <time.h>

#include "scant/project.h"
#include "support.h"

enum { N = 200000, PEOPLE = 10, CALLS = 200 };

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void print_time(const char *what, double since, size_t calls) {
    print_message("%-28s %9.3f ms\n", what, 1e3 * (seconds() - since) / (double)calls);
}

static void answer_some(scant_project *project) {
    double next = 0, answer = 0;
    for (size_t i = 0; i < CALLS; i++) {
        scant_lease leases[3];
        scant_answer answers[3];
        size_t n, person;
        char name[16];
        snprintf(name, sizeof name, "p%zu", i % PEOPLE);
        OK(scant_project_person(project, name, &person));
        double start = seconds();
        OK(scant_project_next(project, person, 3, leases, &n));
        next += seconds() - start;
        assert_int_equal(n, 3);
        for (size_t j = 0; j < n; j++)
            answers[j] = (scant_answer){.item = leases[j].item,
                                        .kind = SCANT_ANSWER_LABEL,
                                        .label = j,
                                        .lease = leases[j].key};
        start = seconds();
        OK(scant_project_answer(project, person, answers, n, NULL));
        answer += seconds() - start;
    }
    print_message("%-28s %9.3f ms\n", "next, 3 items", 1e3 * next / CALLS);
    print_message("%-28s %9.3f ms\n", "answer, 3 items", 1e3 * answer / CALLS);
}

/* Imports labels sorted by class for a tenth of the pool (SCANT_SOAK: three quarters),
 * then times answers among them. */
static void answer_among_labels(scant_project *project) {
    const size_t n = soaking() ? N - N / 4 : N / 10;
    const size_t room = 16 * n + 16;
    char *text = malloc(room);
    assert_non_null(text);
    size_t used = (size_t)snprintf(text, room, "id,label\n");
    for (size_t i = 0; i < n; i++)
        used += (size_t)snprintf(text + used, room - used, "%zu,%s\n", i, abc[3 * i / n]);
    assert_true(used < room);
    put_text("labels.csv", text);
    free(text);
    double start = seconds();
    OK(scant_project_import(project, path_of("labels.csv"), NULL, NULL));
    print_message("%zu labels from a file\n", n);
    print_time("import", start, 1);
    answer_some(project);
    start = seconds();
    for (size_t i = 0; i < 100; i++) assert_true(info_of(project).labelled >= n);
    print_time("info", start, 100);
}

static scant_status count_item(void *user, const scant_item *item) {
    size_t *n = user;
    assert_int_equal(item->item, *n);
    ++*n;
    return SCANT_OK;
}

static void read_all(scant_project *project) {
    static int64_t labels[N];
    scant__arena arena;
    int64_t *candidates, entry;
    size_t n, *items, counted = 0;
    int32_t *learned;
    scant__arena_init(&arena, ctx);
    double start = seconds();
    OK(store_candidates(project, &arena, &candidates, &n));
    print_time("candidates", start, 1);
    assert_int_equal(n, N - 1000 -
                            ask(project, "SELECT count(*) FROM states JOIN items"
                                         " USING (item) WHERE withheld = 0"));
    start = seconds();
    OK(store_training(project, &arena, &items, &learned, &n, &entry));
    print_time("training", start, 1);
    start = seconds();
    OK(scant_project_labels(project, labels, N));
    print_time("labels", start, 1);
    start = seconds();
    OK(scant_project_items(project, 0, SIZE_MAX, count_item, &counted));
    print_time("all items", start, 1);
    assert_int_equal(counted, N);
    scant__arena_end(&arena);
}

static void a_large_pool_is_opened_read_and_answered(void **state) {
    const char *features = put_features("large.npy", N, 64, 3);
    scant_project_opts opts = {
        .source = {.features = features}, .classes = abc, .n_classes = 3};
    scant_project *project;
    (void)state;
    double start = seconds();
    OK(scant_project_create(ctx, path_of("large"), &opts, &project));
    print_time("create", start, 1);
    scant_project_free(project);
    start = seconds();
    OK(scant_project_open(ctx, path_of("large"), &project));
    print_time("open", start, 1);
    answer_some(project);
    start = seconds();
    for (size_t i = 0; i < 100; i++) assert_int_equal(info_of(project).items, N);
    print_time("info", start, 100);
    assert_int_equal(info_of(project).labelled, 3 * CALLS);
    read_all(project);
    answer_among_labels(project);
    scant_project_free(project);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_large_pool_is_opened_read_and_answered),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
