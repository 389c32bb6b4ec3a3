/* SPDX-License-Identifier: Apache-2.0
 *
 * A confirmed answer is stored, exactly once, even if the writer is killed or the disk is
 * full.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "people.h"
#include "scant/project.h"

enum { ITEMS = 5000, WRITERS = 2 }; /* enough items per kill for a fast disk */

/* ---- killed ------------------------------------------------------------------------ */

/* Labels until it is killed and writes each confirmed answer to the pipe. */
static void label_forever(const char *path, const char *name, int told) {
    scant_ctx *own;
    scant_project *project;
    size_t me, n;
    if (scant_ctx_create(&(scant_ctx_opts){.threads = 1}, &own) != SCANT_OK ||
        scant_project_open(own, path, &project) != SCANT_OK ||
        scant_project_person(project, name, &me) != SCANT_OK)
        _exit(1);
    for (size_t i = 0;; i++) {
        scant_lease lease;
        scant_receipt receipt;
        if (scant_project_next(project, me, 1, &lease, &n) != SCANT_OK || !n) _exit(2);
        scant_answer answer = {.item = lease.item,
                               .kind = SCANT_ANSWER_LABEL,
                               .label = lease.item % 3,
                               .lease = lease.key};
        if (scant_project_answer(project, me, &answer, 1, &receipt) != SCANT_OK) _exit(3);
        int64_t line[2] = {receipt.entry, (int64_t)lease.item};
        if (write(told, line, sizeof line) != sizeof line) _exit(4);
    }
}

static size_t check_confirmed(scant_project *project, int told, size_t *seen) {
    int64_t line[2];
    size_t n = 0;
    while (read(told, line, sizeof line) == sizeof line) {
        char sql[160];
        snprintf(sql, sizeof sql,
                 "SELECT count(*) FROM labels WHERE entry = %lld AND item = %lld"
                 " AND class = %lld",
                 (long long)line[0], (long long)line[1], (long long)line[1] % 3);
        if (ask(project, sql) != 1)
            fail_msg("entry %lld was confirmed but is missing", (long long)line[0]);
        assert_int_equal(seen[line[1]]++, 0); /* an item is confirmed once */
        n++;
    }
    return n;
}

static void confirmed_answers_survive_kill_9(void **state) {
    const size_t kills = soaking() ? 200 : 20, items = kills * ITEMS / 20;
    size_t *seen = calloc(items, sizeof *seen);
    size_t confirmed = 0;
    char path[512];
    (void)state;
    scant_project *project = make_project("killed", items, NULL, 0);
    assert_non_null(seen);
    snprintf(path, sizeof path, "%s", path_of("killed"));
    for (size_t kill_at = 0; kill_at < kills; kill_at++) {
        pid_t pids[WRITERS];
        int told[2];
        scant_project_free(project); /* a connection must not cross a fork */
        assert_int_equal(pipe(told), 0);
        for (size_t i = 0; i < WRITERS; i++) {
            char name[8];
            snprintf(name, sizeof name, "w%zu", i);
            pids[i] = fork();
            assert_true(pids[i] >= 0);
            if (!pids[i]) label_forever(path, name, told[1]);
        }
        close(told[1]);
        /* every other kill may come before anything is stored */
        if (kill_at % 2)
            poll(&(struct pollfd){.fd = told[0], .events = POLLIN}, 1, 10000);
        nanosleep(&(struct timespec){.tv_nsec = (long)(3e7 * unit_at(9, kill_at))}, NULL);
        for (size_t i = 0; i < WRITERS; i++) kill(pids[i], SIGKILL);
        for (size_t i = 0; i < WRITERS; i++) {
            int how;
            assert_int_equal(waitpid(pids[i], &how, 0), pids[i]);
            if (!WIFSIGNALED(how)) fail_msg("a writer ended by itself: %d", how);
        }
        OK(scant_project_open(ctx, path, &project));
        confirmed += check_confirmed(project, told[0], seen);
        close(told[0]);
    }
    /* A kill may leave one answer of each writer that is stored but not confirmed. */
    size_t entries = info_of(project).entries;
    assert_true(confirmed >= kills / 2);
    assert_true(entries >= confirmed && entries <= confirmed + kills * WRITERS);
    assert_int_equal(ask(project, "SELECT count(*) - count(DISTINCT item) FROM labels"),
                     0);
    assert_int_equal(ask(project, "SELECT quick_check = 'ok' FROM pragma_quick_check"),
                     1);
    assert_int_equal(ask(project, "SELECT integrity_check = 'ok' FROM"
                                  " pragma_integrity_check"),
                     1);
    assert_int_equal(ask(project, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
    assert_counted(project);
    print_message("%zu kills: %zu answers confirmed, %zu stored, integrity ok\n", kills,
                  confirmed, entries);
    free(seen);
    scant_project_free(project);
}

/* PRAGMA synchronous: 2 (FULL) waits for the disk at every commit, 1 (NORMAL) does not.
 */
static void answers_wait_for_the_disk_and_leases_do_not(void **state) {
    scant_project *project = make_project("waits", 20, NULL, 0);
    assert_int_equal(ask(project, "PRAGMA synchronous"), 2);
    size_t ann = person(project, "ann");
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        scant_lease lease = next_lease(project, ann);
        assert_int_equal(ask(project, "PRAGMA synchronous"), 1);
        OK(say(project, ann, &lease, SCANT_ANSWER_LABEL, 1));
        assert_int_equal(ask(project, "PRAGMA synchronous"), 2);
        next_lease(project, ann);
        OK(scant_project_undo(project, ann, 0, NULL, NULL, NULL));
        assert_int_equal(ask(project, "PRAGMA synchronous"), 2);
        OK(scant_project_renew(project, ann, NULL, 0, NULL));
        OK(scant_project_set(project, "batch", "5"));
        assert_int_equal(ask(project, "PRAGMA synchronous"), 2);
    }
    scant_project_free(project);
}

/* ---- a full disk ------------------------------------------------------------------- */

static void a_full_disk_refuses_answers_and_loses_none(void **state) {
    struct rlimit old, small;
    size_t stored = 0;
    (void)state;
    scant_project *project = make_project("full", 2000, no_audit, 1);
    size_t ann = person(project, "ann"), n;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    struct stat wal;
    assert_int_equal(stat(path_of("full/project.db-wal"), &wal), 0);
    small = old;
    small.rlim_cur = (rlim_t)wal.st_size + 400000; /* no file grows beyond this */
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    scant_lease lease;
    scant_status status = SCANT_OK;
    while (status == SCANT_OK && stored < 1000) {
        status = scant_project_next(project, ann, 1, &lease, &n);
        if (status == SCANT_OK) status = say(project, ann, &lease, SCANT_ANSWER_LABEL, 1);
        stored += status == SCANT_OK;
    }
    char why[1024];
    snprintf(why, sizeof why, "%s", scant_ctx_errmsg(ctx));
    scant_status again = say(project, ann, &lease, SCANT_ANSWER_LABEL, 2);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(status, SCANT_EIO);
    assert_int_equal(again, SCANT_EIO);
    assert_non_null(strstr(why, "cannot be written"));
    assert_true(stored > 0 && stored < 1000);
    /* refused answers are not stored, and the handle stays usable */
    assert_int_equal(info_of(project).entries, stored);
    lease = next_lease(project, ann);
    OK(say(project, ann, &lease, SCANT_ANSWER_LABEL, 1));
    scant_project_free(project);
    OK(scant_project_open(ctx, path_of("full"), &project));
    assert_int_equal(info_of(project).entries, stored + 1);
    assert_int_equal(ask(project, "SELECT integrity_check = 'ok' FROM"
                                  " pragma_integrity_check"),
                     1);
    assert_counted(project);
    scant_project_free(project);
}

static void a_project_that_does_not_fit_on_the_disk_is_not_created(void **state) {
    struct rlimit old, small;
    scant_project *project;
    scant_project_opts o = {.source = {.features = put_features("big.npy", 20000, 2, 1)},
                            .classes = abc,
                            .n_classes = 3};
    struct stat st;
    (void)state;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = old;
    small.rlim_cur = 300000;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    mkdir(path_of("parent"), 0777);
    scant_status status = scant_project_create(ctx, path_of("big"), &o, &project);
    scant_status below =
        scant_project_create(ctx, path_of("parent/deep/er/big/"), &o, &project);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(status, SCANT_EIO);
    assert_int_not_equal(stat(path_of("big"), &st), 0);
    /* no parents are left, either */
    assert_int_equal(below, SCANT_EIO);
    assert_int_not_equal(stat(path_of("parent/deep"), &st), 0);
    assert_int_equal(stat(path_of("parent"), &st), 0);
}

/* ---- a lost database --------------------------------------------------------------- */

/* Runs a shell command in the tests' folder. (The process must not open the database by
 * itself: closing it would release SQLite's locks.) */
static void shell(const char *command) {
    char line[1024];
    snprintf(line, sizeof line, "cd '%s' && %s", path_of("."), command);
    if (system(line) != 0) fail_msg("%s", line);
}

static void answers_to_a_lost_database_are_refused(void **state) {
    static const struct {
        const char *lose, *restore, *says;
    } ways[] = {
        {"mv lost away", "mv away lost", "was removed"},
        {"mv lost away && cp -r away lost", "rm -r lost && mv away lost", "was replaced"},
        {"mv lost/project.db away", "mv away lost/project.db", "was removed"},
        {"mv lost/project.db-wal away", "mv away lost/project.db-wal", "was removed"},
        {"cp lost/project.db away && truncate -s 8192 lost/project.db",
         "dd if=away of=lost/project.db conv=notrunc status=none && rm away",
         "was cut short"},
        {"cp lost/project.db-wal away && truncate -s 0 lost/project.db-wal",
         "cp away lost/project.db-wal && rm away", "was cut short"},
        {"cp lost/project.db-wal away && truncate -s -100 lost/project.db-wal",
         "cp away lost/project.db-wal && rm away", "was cut short"},
        {"cp lost/project.db-wal away &&"
         " dd if=/dev/zero of=lost/project.db-wal bs=32 count=1 conv=notrunc status=none",
         "cp away lost/project.db-wal && rm away", "was overwritten"},
    };
    (void)state;
    scant_project *project = make_project("lost", 100, no_audit, 1);
    size_t ann = person(project, "ann");
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        scant_lease lease = next_lease(project, ann);
        OK(scant_project_check(project));
        shell(ways[i].lose);
        char once[16];
        snprintf(once, sizeof once, "way %zu", i);
        scant_answer answer = {.item = lease.item,
                               .kind = SCANT_ANSWER_LABEL,
                               .label = 1,
                               .lease = lease.key,
                               .once = once};
        for (size_t again = 0; again < 2; again++) {
            assert_int_equal(scant_project_answer(project, ann, &answer, 1, NULL),
                             SCANT_EIO);
            if (!strstr(scant_ctx_errmsg(ctx), ways[i].says))
                fail_msg("'%s': %s", ways[i].lose, scant_ctx_errmsg(ctx));
        }
        assert_int_equal(scant_project_set(project, "batch", "5"), SCANT_EIO);
        assert_int_equal(scant_project_check(project), SCANT_EIO);
        shell(ways[i].restore);
        OK(scant_project_answer(project, ann, &answer, 1, NULL));
    }
    scant_project_free(project);
    OK(scant_project_open(ctx, path_of("lost"), &project));
    assert_int_equal(info_of(project).entries, sizeof ways / sizeof *ways);
    assert_int_equal(ask(project, "SELECT integrity_check = 'ok' FROM"
                                  " pragma_integrity_check"),
                     1);
    scant_project_free(project);
}

static void a_log_that_goes_before_the_first_write_is_noticed(void **state) {
    size_t ann;
    (void)state;
    scant_project *project = make_project("first", 10, no_audit, 1), *second;
    shell("rm first/project.db-wal");
    REFUSED(scant_project_person(project, "ann", &ann), SCANT_EIO, "was removed");
    REFUSED(scant_project_check(project), SCANT_EIO, "was removed");
    /* another handle makes another log */
    OK(scant_project_open(ctx, path_of("first"), &second));
    OK(scant_project_person(second, "ann", &ann));
    REFUSED(scant_project_check(project), SCANT_EIO, "was replaced");
    scant_project_free(second);
    scant_project_free(project);
}

static void answer_times(scant_project *project, size_t ann, size_t n) {
    for (size_t i = 0; i < n; i++) {
        scant_lease lease = next_lease(project, ann);
        OK(say(project, ann, &lease, SCANT_ANSWER_LABEL, i % 3));
    }
}

/* An older copy of the log has the same salts and may have the same size. */
static void older_copies_written_over_the_files_are_noticed(void **state) {
    (void)state;
    scant_project *project = make_project("over", 1000, no_audit, 1);
    size_t ann = person(project, "ann");
    answer_times(project, ann, 50);
    sqlite3_wal_checkpoint_v2(project->db, NULL, SQLITE_CHECKPOINT_RESTART, NULL, NULL);
    answer_times(project, ann, 2); /* at the beginning of a longer file */
    shell("cp over/project.db-wal old");
    answer_times(project, ann, 2);
    shell("cp over/project.db-wal new; cp old over/project.db-wal");
    REFUSED(scant_project_set(project, "batch", "5"), SCANT_EIO, "was overwritten");
    shell("cp new over/project.db-wal");
    sqlite3_wal_checkpoint_v2(project->db, NULL, SQLITE_CHECKPOINT_FULL, NULL, NULL);
    shell("cp over/project.db old");
    answer_times(project, ann, 200); /* enough for new pages */
    sqlite3_wal_checkpoint_v2(project->db, NULL, SQLITE_CHECKPOINT_FULL, NULL, NULL);
    OK(scant_project_check(project));
    shell("cp over/project.db new; cp old over/project.db");
    REFUSED(scant_project_set(project, "batch", "5"), SCANT_EIO, "project.db: was cut");
    shell("truncate -s \"$(stat -c %s new)\" old; cp old over/project.db");
    REFUSED(scant_project_set(project, "batch", "5"), SCANT_EIO, "project.db: was overw");
    shell("cp new over/project.db");
    answer_times(project, ann, 2);
    scant_project_free(project);
}

/* Starts this program as another one that runs SQL, times times. */
static pid_t run_sql(const char *path, const char *sql, const char *times) {
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid) return pid;
    execl("/proc/self/exe", "test_durable", path, sql, times, (char *)NULL);
    _exit(127);
}

static int sql_main(char **argv) {
    sqlite3 *db;
    if (sqlite3_open(argv[1], &db) != SQLITE_OK) return 1;
    sqlite3_busy_timeout(db, 60000);
    for (long i = strtol(argv[3], NULL, 10); i > 0; i--) {
        int code = sqlite3_exec(db, argv[2], NULL, NULL, NULL);
        if (code != SQLITE_OK && code != SQLITE_BUSY && code != SQLITE_LOCKED) return 2;
    }
    return sqlite3_close(db) == SQLITE_OK ? 0 : 3;
}

static void check_ended(pid_t pid) {
    int how;
    assert_int_equal(waitpid(pid, &how, 0), pid);
    assert_true(WIFEXITED(how));
    assert_int_equal(WEXITSTATUS(how), 0);
}

#define GROW "INSERT INTO events (at, kind, text) VALUES (1, 'x', hex(zeroblob(200000)));"
#define SHRINK "DELETE FROM events WHERE kind = 'x'; VACUUM;"
#define TRUNCATE "PRAGMA wal_checkpoint(TRUNCATE);"

static void other_writers_and_checkpoints_are_no_alarm(void **state) {
    static const char *const sql[] = {TRUNCATE,
                                      GROW,
                                      "PRAGMA wal_checkpoint(RESTART);",
                                      GROW TRUNCATE,
                                      SHRINK,
                                      SHRINK TRUNCATE,
                                      "PRAGMA wal_checkpoint(FULL);",
                                      GROW SHRINK TRUNCATE GROW};
    const size_t n = sizeof sql / sizeof *sql;
    char path[512];
    (void)state;
    scant_project *project = make_project("alarm", 5000, no_audit, 1), *other;
    size_t ann = person(project, "ann");
    OK(scant_project_open(ctx, path_of("alarm"), &other));
    sqlite3_wal_autocheckpoint(project->db, 7);
    snprintf(path, sizeof path, "%s", path_of("alarm/project.db"));
    for (size_t i = 0; i < 3 * n; i++) { /* in turn */
        if (i < 2 * n) check_ended(run_sql(path, sql[i * (i < n ? 1 : 3) % n], "1"));
        OK(scant_project_check(project));
        if (i % 2) OK(scant_project_check(other));
        answer_times(project, ann, 5);
    }
    answer_times(other, ann, 100);
    answer_times(project, ann, 100);
    pid_t pids[] = {run_sql(path, GROW TRUNCATE SHRINK, soaking() ? "400" : "40"),
                    run_sql(path, GROW TRUNCATE, soaking() ? "1000" : "100")};
    for (size_t i = 0; i < sizeof pids / sizeof *pids; i++) { /* at the same time */
        siginfo_t ended = {0};
        while (!ended.si_pid) {
            for (size_t j = 0; j < 100; j++) OK(scant_project_check(other));
            OK(scant_project_set(project, "batch", i ? "5" : "6"));
            assert_int_equal(
                waitid(P_PID, (id_t)pids[i], &ended, WEXITED | WNOHANG | WNOWAIT), 0);
        }
        check_ended(pids[i]);
    }
    answer_times(project, ann, 10);
    assert_int_equal(ask(project, "SELECT integrity_check = 'ok' FROM"
                                  " pragma_integrity_check"),
                     1);
    scant_project_free(other);
    scant_project_free(project);
}

static int lose_at_commit(void *command) {
    shell(command);
    return 0;
}

/* The check after the commit: the folder goes away while the answer is stored. */
static void an_answer_that_is_lost_during_its_commit_is_not_confirmed(void **state) {
    static char lose[] = "mv during away";
    (void)state;
    scant_project *project = make_project("during", 10, no_audit, 1);
    size_t ann = person(project, "ann");
    scant_lease lease = next_lease(project, ann);
    sqlite3_commit_hook(project->db, lose_at_commit, lose);
    assert_int_equal(say(project, ann, &lease, SCANT_ANSWER_LABEL, 1), SCANT_EIO);
    sqlite3_commit_hook(project->db, NULL, NULL);
    shell("mv away during");
    lease = next_lease(project, ann);
    OK(say(project, ann, &lease, SCANT_ANSWER_LABEL, 1));
    scant_project_free(project);
}

/* ---- a long write transaction ------------------------------------------------------ */

static void readers_do_not_wait_for_writers(void **state) {
    scant_project *project = make_project("wait", 100, NULL, 0), *other;
    size_t ann = person(project, "ann");
    (void)state;
    OK(scant_project_open(ctx, path_of("wait"), &other));
    scant_lease lease = next_lease(project, ann);
    OK(say(project, ann, &lease, SCANT_ANSWER_LABEL, 1));
    assert_int_equal(
        sqlite3_exec(other->db, "BEGIN IMMEDIATE; DELETE FROM queue", NULL, NULL, NULL),
        SQLITE_OK);
    assert_int_equal(info_of(project).labelled, 1);
    assert_int_equal(item_of(project, lease.item).label, 1);
    assert_int_equal(sqlite3_exec(other->db, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    scant_project_free(other);
    scant_project_free(project);
}

int main(int argc, char **argv) {
    if (argc == 4) return sql_main(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(confirmed_answers_survive_kill_9),
        cmocka_unit_test(answers_wait_for_the_disk_and_leases_do_not),
        cmocka_unit_test(a_full_disk_refuses_answers_and_loses_none),
        cmocka_unit_test(a_project_that_does_not_fit_on_the_disk_is_not_created),
        cmocka_unit_test(answers_to_a_lost_database_are_refused),
        cmocka_unit_test(a_log_that_goes_before_the_first_write_is_noticed),
        cmocka_unit_test(older_copies_written_over_the_files_are_noticed),
        cmocka_unit_test(other_writers_and_checkpoints_are_no_alarm),
        cmocka_unit_test(an_answer_that_is_lost_during_its_commit_is_not_confirmed),
        cmocka_unit_test(readers_do_not_wait_for_writers),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
