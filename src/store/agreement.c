/* SPDX-License-Identifier: Apache-2.0
 *
 * How often people agree. Pairs grow with the square of the number of people, so only the
 * MOST_PEOPLE with the most answers are compared, and the SCANT_AGREEMENTS pairs with the
 * most items in common are reported: two passes over the current answers, and memory for
 * a number per pair of these people and two per class of a reported pair.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scant/project.h"
#include "store/store_int.h"

enum { MOST_PEOPLE = 50, LEAST_ITEMS = 5, NO_PAIR = -1 };

typedef struct pair {
    size_t a, b; /* places in comparison.people, a < b */
    size_t items, agreed;
    uint32_t *of_a, *of_b; /* number of labels of each class, by person */
} pair;

typedef struct comparison {
    scant_project *project;
    size_t people[MOST_PEOPLE]; /* ascending */
    size_t n, classes;
    pair all[MOST_PEOPLE * MOST_PEOPLE]; /* pairs with a < b, then the best of them */
    size_t n_pairs;
    int place[MOST_PEOPLE][MOST_PEOPLE]; /* place of a pair in `all`; NO_PAIR */
} comparison;

/* The labels of one item by people who are compared. */
typedef struct item_labels {
    int64_t item;
    size_t n, of[MOST_PEOPLE], labels[MOST_PEOPLE];
} item_labels;

static void count_items(comparison *c, const item_labels *of) {
    for (size_t i = 0; i < of->n; i++)
        for (size_t j = i + 1; j < of->n; j++) {
            pair *p = &c->all[c->place[of->of[i]][of->of[j]]];
            p->items++;
            p->agreed += of->labels[i] == of->labels[j];
        }
}

static void count_classes(comparison *c, const item_labels *of) {
    for (size_t i = 0; i < of->n; i++)
        for (size_t j = i + 1; j < of->n; j++) {
            int place = c->place[of->of[i]][of->of[j]];
            if (place == NO_PAIR) continue;
            c->all[place].of_a[of->labels[i]]++;
            c->all[place].of_b[of->labels[j]]++;
        }
}

static size_t find_person(const comparison *c, size_t person) {
    size_t i = 0;
    while (i < c->n && c->people[i] != person) i++;
    return i;
}

/* Calls count() for every item. Rows are in the order of the table: by item and person,
 * so that people of an item are in ascending order. */
static scant_status each_item(comparison *c,
                              void (*count)(comparison *c, const item_labels *of)) {
    item_labels of = {.item = -1};
    STORE_EACH(row, c->project,
               "SELECT item, person, class FROM answers WHERE kind = " SQL_LABEL
               " ORDER BY item, person") {
        size_t label, person = find_person(c, store_count(row, 1));
        if (person == c->n) continue;
        TRY(store_index(row, 2, c->classes, &label));
        if (store_integer(row, 0) != of.item) {
            count(c, &of);
            of.n = 0;
            of.item = store_integer(row, 0);
        }
        if (of.n == MOST_PEOPLE)
            return store_damaged(c->project, "a person has two current answers");
        of.of[of.n] = person;
        of.labels[of.n++] = label;
    }
    count(c, &of);
    return SCANT_OK;
}

static scant_status read_people(comparison *c) {
    STORE_EACH(row, c->project,
               "SELECT person FROM (SELECT person FROM people WHERE answers > 0"
               " ORDER BY answers DESC, person LIMIT ?1) ORDER BY person",
               store_size(MOST_PEOPLE)) {
        if (c->n == MOST_PEOPLE) break;
        c->people[c->n++] = store_count(row, 0);
    }
    return SCANT_OK;
}

static void list_pairs(comparison *c) {
    for (size_t a = 0; a < c->n; a++)
        for (size_t b = a + 1; b < c->n; b++) {
            c->place[a][b] = (int)c->n_pairs;
            c->all[c->n_pairs++] = (pair){.a = a, .b = b};
        }
}

/* Most items first, then in the order of the people. */
static int by_items(const void *a, const void *b) {
    const pair *x = a, *y = b;
    if (x->items != y->items) return x->items > y->items ? -1 : 1;
    if (x->a != y->a) return x->a < y->a ? -1 : 1;
    return x->b < y->b ? -1 : x->b > y->b;
}

/* Keeps the pairs to report. */
static void choose(comparison *c) {
    size_t kept = 0;
    qsort(c->all, c->n_pairs, sizeof *c->all, by_items);
    for (size_t i = 0; i < c->n_pairs; i++) {
        const pair *p = &c->all[i];
        bool enough = kept < SCANT_AGREEMENTS && p->items >= LEAST_ITEMS;
        c->place[p->a][p->b] = enough ? (int)kept : NO_PAIR;
        kept += enough;
    }
    c->n_pairs = kept;
}

/* Cohen, "A coefficient of agreement for nominal scales", 1960. */
static double kappa(const comparison *c, const pair *p) {
    double chance = 0, items = (double)p->items, seen = (double)p->agreed / items;
    for (size_t i = 0; i < c->classes; i++)
        chance += p->of_a[i] / items * (p->of_b[i] / items);
    return chance < 1 ? (seen - chance) / (1 - chance) : (double)NAN;
}

static scant_status
give(const comparison *c, const pair *p,
     scant_status (*fn)(void *user, const scant_person_agreement *pair), void *user) {
    char name[STORE_PERSON + 1] = "";
    scant_project *project = c->project;
    TRY(store_person_name(project, c->people[p->a]));
    if (project->person) strncpy(name, project->person, STORE_PERSON);
    TRY(store_person_name(project, c->people[p->b]));
    if (!*name || !project->person) return store_damaged(project, "a person has no name");
    return fn(user,
              &(scant_person_agreement){.a = name,
                                        .b = project->person,
                                        .items = p->items,
                                        .agreed = (double)p->agreed / (double)p->items,
                                        .kappa = kappa(c, p)});
}

static scant_status compare(comparison *c, scant__arena *arena) {
    AUTO(store_tx_end) store_tx tx = TRY_BEGIN(c->project, STORE_READ);
    TRY(store_classes(c->project, &c->classes));
    TRY(read_people(c));
    list_pairs(c);
    if (c->n_pairs) TRY(each_item(c, count_items));
    choose(c);
    for (size_t i = 0; i < c->n_pairs; i++) {
        c->all[i].of_a = TRY_ZERO(arena, uint32_t, size_mul(2, c->classes));
        c->all[i].of_b = c->all[i].of_a + c->classes;
    }
    if (c->n_pairs) TRY(each_item(c, count_classes));
    return store_commit(&tx);
}

scant_status scant_project_agreements(
    scant_project *project,
    scant_status (*fn)(void *user, const scant_person_agreement *pair), void *user) {
    NEED(project);
    AUTO(scant__arena_end) scant__arena arena = {.ctx = project->ctx};
    comparison *c = TRY_ZERO(&arena, comparison, 1);
    c->project = project;
    TRY(compare(c, &arena));
    for (size_t i = 0; i < c->n_pairs; i++) TRY(give(c, &c->all[i], fn, user));
    return SCANT_OK;
}
