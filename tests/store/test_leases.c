/* SPDX-License-Identifier: Apache-2.0
 *
 * An item is never leased to two people at once: random operations of several people
 * through several handles, compared with a slow model in memory; and threads.
 */
#include <pthread.h>

#include "people.h"
#include "scant/project.h"

/* ---- a slow model of a project ----------------------------------------------------- */

enum { ITEMS = 40, PEOPLE = 4, HANDLES = 3, CLASSES = 3, MOST = 5, LEASES = 20000 };

typedef struct given {
    uint64_t key;
    size_t item, person;
    int64_t until;
    bool live, gone; /* gone: its person has answered; it is deleted */
} given;

typedef struct model {
    int kind[ITEMS][PEOPLE + 1]; /* of the current answer; 0: none */
    size_t label[ITEMS][PEOPLE + 1];
    size_t entry[ITEMS][PEOPLE + 1], entries;
    size_t overlap;
    int64_t now;
    given leases[LEASES];
    size_t n;
} model;

static model m;

static size_t opinions(size_t item, size_t but) {
    size_t n = 0;
    for (size_t p = 1; p <= PEOPLE; p++)
        n += p != but && m.kind[item][p] && m.kind[item][p] != SCANT_ANSWER_SKIP;
    return n;
}

static given *holder(size_t item) {
    for (size_t i = 0; i < m.n; i++)
        if (m.leases[i].item == item && m.leases[i].live && m.leases[i].until > m.now)
            return &m.leases[i];
    return NULL;
}

/* Whether an item may be handed out to a person as a new one. */
static bool may_have(size_t item, size_t person) {
    return !m.kind[item][person] && !holder(item) &&
           (opinions(item, 0) == 0 || opinions(item, 0) < m.overlap);
}

/* An expired lease stays the person's own until somebody else takes the item. */
static bool has(size_t item, size_t person) {
    for (size_t i = 0; i < m.n; i++)
        if (m.leases[i].live && m.leases[i].person == person && m.leases[i].item == item)
            return true;
    return false;
}

static size_t count_own(size_t person) {
    size_t n = 0;
    for (size_t i = 0; i < m.n; i++)
        n += m.leases[i].live && m.leases[i].person == person;
    return n;
}

static given *find(uint64_t key) {
    for (size_t i = 0; i < m.n; i++)
        if (m.leases[i].key == key && !m.leases[i].gone) return &m.leases[i];
    return NULL;
}

/* Records a lease from the project: the person's own, or of an item they may have. */
static void note_lease(size_t person, const scant_lease *lease, int64_t until) {
    given *known = find(lease->key);
    assert_int_not_equal(lease->key, 0);
    assert_true(lease->item < ITEMS);
    if (known) {
        assert_true(known->live && known->person == person && known->item == lease->item);
        known->until = until;
        return;
    }
    if (!may_have(lease->item, person)) fail_msg("item %zu is not free", lease->item);
    for (size_t i = 0; i < m.n; i++)
        if (m.leases[i].item == lease->item) m.leases[i].live = false;
    assert_true(m.n < LEASES);
    m.leases[m.n++] = (given){lease->key, lease->item, person, until, true, false};
}

/* All leases of an item end when it needs no more answers. Those of the person who
 * answered are deleted. */
static void after_answer(size_t item, size_t person) {
    bool done = opinions(item, 0) >= m.overlap;
    for (size_t i = 0; i < m.n; i++) {
        given *g = &m.leases[i];
        if (g->item != item || !(done || g->person == person)) continue;
        g->live = false;
        g->gone |= g->person == person;
    }
}

static bool may_answer(size_t item, size_t person, uint64_t key) {
    given *g = key ? find(key) : NULL, *other = holder(item);
    int before = m.kind[item][person];
    if (!before || before == SCANT_ANSWER_SKIP) {
        if (other && other->person != person) return false;
        if (opinions(item, person) >= m.overlap) return false;
    }
    return before || (g && g->item == item && g->person == person);
}

/* ---- random operations ------------------------------------------------------------- */

static scant_project *handles[HANDLES];
static size_t drawn;

static size_t draw(size_t n) { return (size_t)(unit_at(77, drawn++) * (double)n); }

static const int64_t MINUTES = 60000;
static int64_t until(void) { return m.now + 5 * MINUTES; }

/* Sets the clock of the model and of the project. It stands still between operations, so
 * that leases expire at the same millisecond in both. */
static void set_clock(int64_t now) {
    m.now = now;
    for (size_t i = 0; i < HANDLES; i++) handles[i]->clock = now;
}

static void do_next(scant_project *project, size_t person) {
    scant_lease leases[MOST];
    size_t count = 1 + draw(MOST), n, free_items = 0, mine = count_own(person),
           second = 0;
    for (size_t i = 0; i < ITEMS; i++) {
        bool new = may_have(i, person) && !has(i, person);
        free_items += new;
        second += new &&opinions(i, 0) > 0;
    }
    OK(scant_project_next(project, person, count, leases, &n));
    size_t expected = mine + free_items < count ? mine + free_items : count;
    if (n != expected) fail_msg("%zu were handed out, %zu expected", n, expected);
    for (size_t i = 0; i < n; i++) {
        bool new = !find(leases[i].key);
        if (new) assert_int_equal(leases[i].role == SCANT_ROLE_OVERLAP, second > 0);
        if (new &&second) second--;
        note_lease(person, &leases[i], until());
        for (size_t j = 0; j < i; j++)
            assert_int_not_equal(leases[i].item, leases[j].item);
    }
}

static void do_take(scant_project *project, size_t person) {
    size_t items[MOST], n;
    scant_lease leases[MOST];
    for (size_t i = 0; i < MOST; i++) items[i] = draw(ITEMS + 2);
    OK(scant_project_take(project, person, items, MOST, leases, &n));
    for (size_t i = 0; i < n; i++) {
        note_lease(person, &leases[i], until());
        assert_int_equal(opinions(leases[i].item, 0), 0);
    }
}

static void do_answer(scant_project *project, size_t person) {
    scant_answer answer = {.item = draw(ITEMS),
                           .label = draw(CLASSES),
                           .kind = (scant_answer_kind)(1 + draw(3))};
    if (m.n && draw(8)) { /* most answers use a recent lease */
        const given *g = &m.leases[m.n - 1 - draw(m.n < 30 ? m.n : 30)];
        answer.lease = g->key;
        answer.item = g->item;
        if (draw(8)) person = g->person;
    }
    bool may = may_answer(answer.item, person, answer.lease);
    scant_status status = scant_project_answer(project, person, &answer, 1, NULL);
    if ((status == SCANT_OK) != may)
        fail_msg("an answer should be %s: %s", may ? "accepted" : "refused",
                 scant_ctx_errmsg(ctx));
    if (!may) return;
    m.kind[answer.item][person] = (int)answer.kind;
    m.label[answer.item][person] = answer.label;
    m.entry[answer.item][person] = ++m.entries;
    after_answer(answer.item, person);
}

/* The last undo that was sent with a key, which makes it idempotent. */
static struct {
    size_t person, item;
    int64_t entry;
    char once[24];
} undone;

/* Sends it again, at any later time. */
static void do_undo_again(scant_project *project) {
    int64_t entry;
    scant_lease lease;
    if (!undone.person) return;
    bool mine = has(undone.item, undone.person);
    bool again = mine || may_have(undone.item, undone.person);
    OK(scant_project_undo(project, undone.person, 0, undone.once, &entry, &lease));
    assert_int_equal(entry, undone.entry);
    assert_int_equal(lease.item, undone.item);
    assert_int_equal(lease.key != 0, again);
    if (again) note_lease(undone.person, &lease, lease.until);
}

static void do_undo(scant_project *project, size_t person) {
    size_t last = 0, item = 0;
    int64_t entry;
    const char *once = NULL;
    scant_lease lease;
    for (size_t i = 0; i < ITEMS; i++)
        if (m.kind[i][person] && m.entry[i][person] > last)
            last = m.entry[i][person], item = i;
    if (last && !draw(3)) {
        undone.person = person;
        undone.item = item;
        undone.entry = (int64_t)last;
        snprintf(undone.once, sizeof undone.once, "u%zu", m.entries);
        once = undone.once;
    }
    scant_status status = scant_project_undo(project, person, 0, once, &entry, &lease);
    assert_int_equal(status, last ? SCANT_OK : SCANT_ENOTFOUND);
    if (!last) return;
    assert_int_equal(entry, last);
    assert_int_equal(lease.item, item);
    m.kind[item][person] = 0;
    m.entries++;
    bool again = may_have(item, person);
    assert_int_equal(lease.key != 0, again);
    if (again) note_lease(person, &lease, until());
}

static void do_leases(scant_project *project, size_t person) {
    uint64_t keys[3] = {1, 2, 3};
    size_t kept, expected = 0;
    bool renew = draw(2), all = !draw(4);
    for (size_t i = 0; i < 3 && m.n; i++)
        keys[i] = m.leases[m.n - 1 - draw(m.n < 20 ? m.n : 20)].key;
    for (size_t i = 0; i < m.n; i++) {
        given *g = &m.leases[i];
        bool named = all;
        for (size_t j = 0; j < 3; j++) named |= g->key == keys[j];
        if (!named || !g->live || g->person != person) continue;
        if (renew) g->until = until();
        g->live = renew;
        for (size_t j = 0; j < 3; j++) expected += !all && g->key == keys[j];
        expected += all;
    }
    if (renew) {
        OK(scant_project_renew(project, person, all ? NULL : keys, 3, &kept));
        assert_int_equal(kept, expected);
    } else {
        OK(scant_project_release(project, person, all ? NULL : keys, 3));
    }
}

/* ---- the project against the model ------------------------------------------------- */

static scant_status compare_item(void *user, const scant_item *item) {
    size_t votes[CLASSES] = {0}, best = 0, answers = 0;
    bool tie = false;
    (void)user;
    for (size_t p = 1; p <= PEOPLE; p++)
        if (m.kind[item->item][p] == SCANT_ANSWER_LABEL)
            votes[m.label[item->item][p]]++, answers++;
    for (size_t c = 1; c < CLASSES; c++)
        if (votes[c] > votes[best]) best = c;
    for (size_t c = 0; c < CLASSES; c++) tie |= c != best && votes[c] == votes[best];
    assert_int_equal(item->answers, answers);
    assert_int_equal(item->disputed, answers && tie);
    assert_int_equal(item->label, answers && !tie ? (int64_t)best : -1);
    return SCANT_OK;
}

static void compare_all(scant_project *project) {
    OK(scant_project_items(project, 0, SIZE_MAX, compare_item, NULL));
    assert_counted(project);
    assert_int_equal(info_of(project).entries, m.entries);
    assert_int_equal(ask(project, "SELECT count(*) FROM (SELECT item FROM leases"
                                  " WHERE live = 1 GROUP BY item HAVING count(*) > 1)"),
                     0);
}

static void add_round(scant_project *project) {
    scant_pick picks[12];
    size_t number;
    store_round round = {.strategy = "random", .batch = 6};
    for (size_t i = 0; i < 12; i++) picks[i] = (scant_pick){.index = draw(ITEMS)};
    OK(store_round_add(project, &round, picks, 12, &number));
}

static void random_operations_never_lease_an_item_twice_at_once(void **state) {
    const size_t rounds = soaking() ? 100000 : 8000;
    (void)state;
    m.overlap = 1;
    handles[0] = make_project("random", ITEMS, no_audit, 1);
    for (size_t i = 1; i < HANDLES; i++)
        OK(scant_project_open(ctx, path_of("random"), &handles[i]));
    for (size_t p = 1; p <= PEOPLE; p++) {
        char name[] = {(char)('a' + (int)p), 0};
        assert_int_equal(person(handles[0], name), p);
    }
    set_clock(1000000000000);
    for (size_t i = 0; i < rounds && m.n + 2 * MOST < LEASES; i++) {
        scant_project *project = handles[draw(HANDLES)];
        size_t who = 1 + draw(PEOPLE), what = draw(100);
        set_clock(m.now + 1);
        if (what < 30)
            do_next(project, who);
        else if (what < 65)
            do_answer(project, who);
        else if (what < 73)
            do_undo(project, who);
        else if (what < 75)
            do_undo_again(project);
        else if (what < 85)
            do_leases(project, who);
        else if (what < 92)
            do_take(project, who);
        else if (what < 95)
            set_clock(m.now + (int64_t)draw(10) * MINUTES);
        else if (what < 98)
            add_round(project);
        else if (i % 10 == 0) {
            char number[2] = {(char)('1' + (int)draw(3)), 0};
            m.overlap = (size_t)(number[0] - '0');
            OK(scant_project_set(project, "overlap", number));
            for (size_t j = 0; j < ITEMS; j++) /* these need no answers any more */
                if (opinions(j, 0) >= m.overlap) after_answer(j, 0);
        }
        if (i % 50 == 0) compare_all(project);
    }
    compare_all(handles[0]);
    print_message("%zu entries, %zu leases\n", m.entries, m.n);
    for (size_t i = 0; i < HANDLES; i++) scant_project_free(handles[i]);
}

/* ---- threads ----------------------------------------------------------------------- */

enum { WORKERS = 4, POOL = 200 };

typedef struct worker {
    pthread_t thread;
    char path[512], name[8];
    size_t answered;
    bool failed;
} worker;

/* Answers until nothing is left, with a handle and a context of its own. No assertions:
 * cmocka's work on the test's own thread only. */
static void *work(void *arg) {
    worker *w = arg;
    scant_ctx *own_ctx = NULL;
    scant_project *project = NULL;
    size_t me, n = 1;
    w->failed = scant_ctx_create(&(scant_ctx_opts){.threads = 1}, &own_ctx) != SCANT_OK ||
                scant_project_open(own_ctx, w->path, &project) != SCANT_OK ||
                scant_project_person(project, w->name, &me) != SCANT_OK;
    while (!w->failed && n) {
        scant_lease leases[3];
        w->failed = scant_project_next(project, me, 3, leases, &n) != SCANT_OK;
        for (size_t i = 0; !w->failed && i < n; i++) {
            scant_answer answer = {.item = leases[i].item,
                                   .kind = SCANT_ANSWER_LABEL,
                                   .label = me % 3,
                                   .lease = leases[i].key};
            w->failed = scant_project_answer(project, me, &answer, 1, NULL) != SCANT_OK;
            w->answered++;
        }
    }
    if (w->failed && own_ctx) print_message("%s\n", scant_ctx_errmsg(own_ctx));
    scant_project_free(project);
    scant_ctx_free(own_ctx);
    return NULL;
}

static void threads_with_handles_of_their_own_share_the_work(void **state) {
    static worker workers[WORKERS];
    size_t sum = 0;
    (void)state;
    scant_project *project = make_project("threads", POOL, NULL, 0);
    for (size_t i = 0; i < WORKERS; i++) {
        snprintf(workers[i].path, sizeof workers[i].path, "%s", path_of("threads"));
        snprintf(workers[i].name, sizeof workers[i].name, "w%zu", i);
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (size_t i = 0; i < WORKERS; i++) {
        pthread_join(workers[i].thread, NULL);
        assert_false(workers[i].failed);
        sum += workers[i].answered;
    }
    assert_int_equal(sum, POOL); /* each item once */
    assert_int_equal(info_of(project).labelled, POOL);
    assert_int_equal(info_of(project).entries, POOL);
    assert_counted(project);
    scant_project_free(project);
}

/* The clock was ten years ahead when ann got the only item. */
static void leases_of_a_clock_that_was_ahead_end(void **state) {
    const int64_t years = INT64_C(315360000000), now = 1700000000000;
    scant_project *project = make_project("ahead", 1, no_audit, 1);
    size_t ann = person(project, "ann"), bob = person(project, "bob"), n;
    scant_lease lease;
    (void)state;
    project->clock = now + years;
    assert_int_equal(next_lease(project, ann).item, 0);
    project->clock = now;
    OK(scant_project_next(project, bob, 1, &lease, &n));
    assert_int_equal(n, 0); /* it lasts as long as one that begins now */
    OK(scant_project_take(project, bob, (size_t[]){0}, 1, &lease, &n));
    assert_int_equal(n, 0);
    project->clock = now + 5 * 60 * 1000 + 1;
    OK(scant_project_next(project, bob, 1, &lease, &n));
    assert_int_equal(n, 1);
    scant_project_free(project);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_operations_never_lease_an_item_twice_at_once),
        cmocka_unit_test(leases_of_a_clock_that_was_ahead_end),
        cmocka_unit_test(threads_with_handles_of_their_own_share_the_work),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
