/* SPDX-License-Identifier: Apache-2.0
 *
 * The schema: databases of other versions, of other programs, and damaged ones.
 */
#include "people.h"
#include "scant/project.h"

static void assert_refused(const char *name, const char *words) {
    scant_project *project = (scant_project *)1;
    REFUSED(scant_project_open(ctx, path_of(name), &project), SCANT_EINPUT, words);
    assert_null(project);
}

static void make_database(const char *name, const char *sql) {
    sqlite3 *db;
    char file[100];
    mkdir(path_of(name), 0777);
    snprintf(file, sizeof file, "%s/project.db", name);
    assert_int_equal(sqlite3_open(path_of(file), &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s", sqlite3_errmsg(db));
    sqlite3_close(db);
}

/* ---- versions ---------------------------------------------------------------------- */

static size_t read_file(const char *path, unsigned char *out, size_t room) {
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t n = fread(out, 1, room, f);
    fclose(f);
    return n;
}

static void a_project_has_a_key_of_its_own(void **state) {
    char first[40];
    scant_project *project = make_project("key", 12, NULL, 0), *other;
    (void)state;
    snprintf(first, sizeof first, "%s", info_of(project).key);
    assert_int_equal(strlen(first), 32);
    other = make_project("key2", 12, NULL, 0);
    assert_string_not_equal(info_of(other).key, first);
    scant_project_free(other);
    OK(scant_project_open(ctx, path_of("key"), &other));
    assert_string_equal(info_of(other).key, first);
    scant_project_free(other);
    OK(store_script(project, "DELETE FROM meta WHERE key = 'key'"));
    scant_project_free(project);
    assert_refused("key", "meta has no kind or no key");
}

static void other_versions_are_refused_with_what_to_do(void **state) {
    scant_project *project = make_project("version", 12, NULL, 0);
    (void)state;
    assert_int_equal(ask(project, "PRAGMA user_version"), STORE_VERSION);
    OK(store_script(project, "PRAGMA user_version = 1"));
    assert_refused(
        "version",
        "an earlier version of scant (the database has version 1, this program reads 3): "
        "export its labels with that version");
    OK(store_script(project, "PRAGMA user_version = 9"));
    assert_refused("version",
                   "a later version of scant (the database has version 9, this");
    OK(store_script(project, "PRAGMA user_version = 3"));
    scant_project_free(project);
    OK(scant_project_open(ctx, path_of("version"), &project));
    assert_int_equal(info_of(project).items, 12);
    scant_project_free(project);
}

/* A database of version 0.2.0, which later versions must open. ann and bob have answered
 * some of its twelve items: 1 is labelled and needs a second opinion, 4, 5 and 6 are
 * disputed, 10 is skipped. */
static void a_stored_project_of_this_version_opens(void **state) {
    static unsigned char bytes[60000];
    static const char schema[] =
        "SELECT count(*) FROM sqlite_schema s JOIN pragma_table_info(s.name)";
    scant_project *project, *today = make_project("today", 12, NULL, 0);
    scant_lease lease;
    (void)state;
    size_t size = read_file(CORPUS "/store_database/small.db", bytes, sizeof bytes);
    assert_true(size > 4096 && size < sizeof bytes);
    mkdir(path_of("stored"), 0777);
    put("stored/project.db", bytes, size);
    OK(scant_project_open(ctx, path_of("stored"), &project));
    assert_int_equal(ask(project, schema), ask(today, schema));
    assert_counted(project);
    assert_int_equal(info_of(project).training, 1);
    assert_int_equal(info_of(project).untrained, 1);
    assert_int_equal(info_of(project).learnable, 0);
    assert_int_equal(ask(project, "SELECT learned FROM classes WHERE name = 'b'"), 1);
    assert_int_equal(ask(project, "SELECT answers FROM people WHERE name = 'ann'"), 5);
    lease = next_lease(project, person(project, "bob"));
    assert_int_equal(lease.item, 1);
    assert_int_equal(lease.role, SCANT_ROLE_OVERLAP);
    OK(say(project, person(project, "bob"), &lease, SCANT_ANSWER_LABEL, 1));
    for (size_t i = 0; i < 4; i++) {
        size_t ann = person(project, "ann");
        lease = next_lease(project, ann);
        OK(say(project, ann, &lease, SCANT_ANSWER_LABEL, i % 3));
        assert_counted(project);
    }
    scant_project_free(today);
    scant_project_free(project);
}

/* ---- other files ------------------------------------------------------------------- */

static void other_files_are_refused_and_not_changed(void **state) {
    struct stat before, after;
    (void)state;
    assert_refused("nowhere", "is not a project");
    put_text("file", "text");
    assert_refused("file", "expected a folder");
    mkdir(path_of("bare"), 0777);
    assert_refused("bare", "contains no project.db");
    mkdir(path_of("text"), 0777);
    put_text("text/project.db", "this is no database, but it is quite long, longer than a"
                                " header of one hundred bytes, so that it is looked at");
    assert_refused("text", "is not the database of a project");
    make_database("foreign", "CREATE TABLE mine (x); INSERT INTO mine VALUES (1)");
    assert_int_equal(stat(path_of("foreign/project.db"), &before), 0);
    assert_refused("foreign", "of another program");
    assert_int_equal(stat(path_of("foreign/project.db"), &after), 0);
    assert_int_equal(before.st_size, after.st_size);
    assert_int_equal(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
    mkdir(path_of("empty"), 0777);
    put_text("empty/project.db", "");
    assert_refused("empty", "of another program");
    mkdir(path_of("dir"), 0777);
    mkdir(path_of("dir/project.db"), 0777);
    assert_refused("dir", "is not a file");
    make_database("hollow",
                  "PRAGMA application_id = 0x5363616e; PRAGMA user_version = 3");
    assert_refused("hollow", "is damaged");
    make_database("later",
                  "PRAGMA application_id = 0x5363616e; PRAGMA user_version = 99");
    assert_refused("later", "later version");
}

/* ---- damage ------------------------------------------------------------------------ */

static scant_status pass_item(void *user, const scant_item *item) {
    (void)user, (void)item;
    return SCANT_OK;
}

static scant_status pass_entry(void *user, const scant_entry *entry) {
    (void)user, (void)entry;
    return SCANT_OK;
}

/* Calls everything that reads; returns the first failure. */
static scant_status read_everything(scant_project *project) {
    scant_project_info info;
    scant__arena arena;
    size_t *items, n;
    int32_t *labels;
    int64_t *candidates, entry, all[40];
    scant__arena_init(&arena, ctx);
    scant_status status = scant_project_info_get(project, &info);
    if (status == SCANT_OK)
        status = scant_project_items(project, 0, SIZE_MAX, pass_item, NULL);
    if (status == SCANT_OK)
        status = scant_project_history(project, SIZE_MAX, 0, false, SIZE_MAX, pass_entry,
                                       NULL);
    if (status == SCANT_OK)
        status = store_training(project, &arena, &items, &labels, &n, &entry);
    if (status == SCANT_OK) status = store_audit(project, &arena, &items, &labels, &n);
    if (status == SCANT_OK) status = store_candidates(project, &arena, &candidates, &n);
    if (status == SCANT_OK) status = scant_project_labels(project, all, 40);
    scant__arena_end(&arena);
    return status;
}

/* Random bytes are overwritten, or the end is cut off: the calls fail with a message or
 * still work. */
static void damage_is_reported(void **state) {
    static unsigned char whole[400000], bytes[400000];
    size_t told = 0;
    (void)state;
    scant_project *project = make_project("hurt", 40, NULL, 0);
    size_t ann = person(project, "ann");
    for (size_t i = 0; i < 20; i++) {
        scant_lease lease = next_lease(project, ann);
        OK(say(project, ann, &lease, SCANT_ANSWER_LABEL, i % 3));
    }
    scant_project_free(project);
    size_t size = read_file(path_of("hurt/project.db"), whole, sizeof whole);
    assert_true(size > 4096 && size < sizeof whole);
    for (size_t i = 0; i < 300; i++) {
        size_t kept = i % 3 ? size : (size_t)(unit_at(1, i) * (double)size);
        memcpy(bytes, whole, size);
        for (size_t j = 0; j < 30; j++) {
            size_t at = (size_t)(unit_at(2, 30 * i + j) * (double)size);
            if (i % 3) bytes[at] = (unsigned char)(256 * unit_at(3, 30 * i + j));
        }
        put("hurt/project.db", bytes, kept);
        scant_status status = scant_project_open(ctx, path_of("hurt"), &project);
        if (status == SCANT_OK) {
            scant_lease lease;
            size_t n;
            status = read_everything(project);
            if (status == SCANT_OK &&
                scant_project_next(project, ann, 1, &lease, &n) == SCANT_OK && n)
                say(project, ann, &lease, SCANT_ANSWER_LABEL, 0);
            scant_project_free(project);
        }
        told += status != SCANT_OK;
        if (status != SCANT_OK) assert_true(*scant_ctx_errmsg(ctx));
        if (status != SCANT_OK) assert_int_not_equal(status, SCANT_EUSAGE);
        if (status != SCANT_OK) assert_int_not_equal(status, SCANT_ENOTFOUND);
        unlink(path_of("hurt/project.db-wal"));
        unlink(path_of("hurt/project.db-shm"));
    }
    assert_true(told > 50);
    print_message("%zu of 300 damaged files were reported\n", told);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_project_has_a_key_of_its_own),
        cmocka_unit_test(other_versions_are_refused_with_what_to_do),
        cmocka_unit_test(a_stored_project_of_this_version_opens),
        cmocka_unit_test(other_files_are_refused_and_not_changed),
        cmocka_unit_test(damage_is_reported),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
