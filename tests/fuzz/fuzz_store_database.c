/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a project's database: opened, read by every function, and answered.
 * Nothing may crash, values that are read are within bounds, and every failure has a
 * message. The stored input is a project of twelve items, after PRAGMA page_size = 512;
 * VACUUM.
 */
#include "fuzz_data_memfile.h"

#include <fcntl.h>

#include "scant/project.h"
#include "store/store_int.h"

static char folder[64], file[96];

static void empty_folder(void) {
    static const char *const names[] = {"project.db", "project.db-wal", "project.db-shm",
                                        "project.db-journal", "serve.lock"};
    char path[128];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
}

static void remove_folder(void) {
    empty_folder();
    rmdir(folder);
}

/* In memory (/dev/shm) if possible. */
static void make_folder(void) {
    if (folder[0]) return;
    snprintf(folder, sizeof folder, "/dev/shm/scant-fuzz-XXXXXX");
    if (!mkdtemp(folder)) {
        snprintf(folder, sizeof folder, "/tmp/scant-fuzz-XXXXXX");
        if (!mkdtemp(folder)) abort();
    }
    snprintf(file, sizeof file, "%s/project.db", folder);
    atexit(remove_folder);
}

static scant_status check_item(void *user, const scant_item *item) {
    size_t *n = user;
    if (!item->id || item->label < -1 || item->item >= *n || item->copy_of >= *n) abort();
    return SCANT_OK;
}

static scant_status check_entry(void *user, const scant_entry *entry) {
    (void)user;
    if (!entry->id || !entry->person || (entry->label >= 0 && !entry->class_name))
        abort();
    return SCANT_OK;
}

static scant_status check_pair(void *user, const scant_person_agreement *pair) {
    (void)user;
    if (!pair->a || !pair->b || !(pair->agreed >= 0 && pair->agreed <= 1)) abort();
    return SCANT_OK;
}

static scant_status check_round(void *user, const scant_round_point *point) {
    (void)user;
    if (!point->strategy) abort();
    return SCANT_OK;
}

static scant_status check_event(void *user, const scant_event *event) {
    (void)user;
    if (!event->kind || !event->text) abort();
    return SCANT_OK;
}

static void check(const scant_ctx *ctx, scant_status status) {
    if (status == SCANT_EINTERNAL || (status != SCANT_OK && !scant_ctx_errmsg(ctx)[0]))
        abort();
}

static void check_list(const size_t *items, const int32_t *labels, size_t n, size_t all,
                       size_t classes) {
    for (size_t i = 0; i < n; i++)
        if (items[i] >= all || labels[i] < -1 || labels[i] >= (int32_t)classes) abort();
}

static void check_training_lists(scant_ctx *ctx, scant_project *project, size_t all) {
    scant__arena arena;
    store_source *sources;
    store_model *models;
    size_t *items, n, classes;
    int32_t *labels;
    store_predictions judged;
    int64_t *candidates, entry;
    scant__arena_init(&arena, ctx);
    scant_status status = store_classes(project, &classes);
    check(ctx, status);
    if (status != SCANT_OK) return;
    status = store_sources(project, &arena, &sources, &n);
    for (size_t i = 0; status == SCANT_OK && i < n; i++)
        if (!sources[i].path || sources[i].first + sources[i].count > all) abort();
    check(ctx, status);
    status = store_models(project, &arena, &models, &n);
    for (size_t i = 0; status == SCANT_OK && i < n; i++)
        if (!models[i].file) abort();
    check(ctx, status);
    status = store_training(project, &arena, &items, &labels, &n, &entry);
    if (status == SCANT_OK) check_list(items, labels, n, all, classes);
    check(ctx, status);
    status = store_audit(project, &arena, &items, &labels, &n);
    if (status == SCANT_OK) check_list(items, labels, n, all, classes);
    check(ctx, status);
    status = store_predictions_read(project, 1, 0, &arena, &judged);
    if (status == SCANT_OK)
        check_list(judged.items, judged.predicted, judged.n, all, classes);
    check(ctx, status);
    status = store_candidates(project, &arena, &candidates, &n);
    for (size_t i = 0; status == SCANT_OK && i < n; i++)
        if (candidates[i] < 0 || (size_t)candidates[i] >= all) abort();
    check(ctx, status);
    if (all < 100000) {
        int64_t *whole = scant__arena_alloc(&arena, all, sizeof *whole);
        if (whole) check(ctx, scant_project_labels(project, whole, all));
    }
    scant__arena_end(&arena);
}

static void answer(scant_ctx *ctx, scant_project *project) {
    scant_lease leases[3];
    size_t person, n = 0;
    scant_status status = scant_project_person(project, "ann", &person);
    check(ctx, status);
    if (status != SCANT_OK) return;
    check(ctx, scant_project_set(project, "audit_most", "3"));
    status = scant_project_next(project, person, 3, leases, &n);
    check(ctx, status);
    for (size_t i = 0; status == SCANT_OK && i < n; i++) {
        scant_answer said = {
            .item = leases[i].item, .kind = SCANT_ANSWER_LABEL, .lease = leases[i].key};
        check(ctx, scant_project_answer(project, person, &said, 1, NULL));
    }
    check(ctx, scant_project_undo(project, person, 0, NULL, NULL, leases));
    check(ctx, scant_project_set(project, "overlap", "2"));
    check(ctx, scant_project_class_add(project, "new", NULL));
}

static void use(scant_ctx *ctx, scant_project *project) {
    scant_project_info info;
    scant_collapse collapse;
    size_t n;
    scant_status status = store_items(project, &n);
    check(ctx, status);
    check(ctx, scant_project_info_get(project, &info));
    check(ctx, scant_project_collapse(project, &collapse));
    if (status == SCANT_OK) {
        check(ctx, scant_project_items(project, 0, SIZE_MAX, check_item, &n));
        check_training_lists(ctx, project, n);
    }
    check(ctx,
          scant_project_history(project, SIZE_MAX, 0, true, SIZE_MAX, check_entry, NULL));
    check(ctx, scant_project_agreements(project, check_pair, NULL));
    check(ctx, scant_project_rounds(project, check_round, NULL));
    check(ctx, scant_project_events(project, 0, check_event, NULL));
    size_t count;
    const scant_option *rows = scant_project_options(&count);
    for (size_t i = 0; i < count; i++)
        if (!scant_project_get(project, rows[i].key)) abort();
    answer(ctx, project);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    scant_project *project;
    make_folder();
    empty_folder();
    int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || (size && write(fd, data, size) != (ssize_t)size)) abort();
    close(fd);
    scant_ctx *ctx = fuzz_ctx();
    scant_status status = scant_project_open(ctx, folder, &project);
    check(ctx, status);
    if (status == SCANT_OK) use(ctx, project);
    scant_project_free(project);
    scant_ctx_free(ctx);
    return 0;
}
